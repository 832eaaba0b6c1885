//! Files of which no study can be made.

use super::*;

#[test]
fn a_file_that_cannot_be_used_is_refused_with_the_reason_and_nothing_starts() {
    let (folder, out) = temporary("out");
    let mut broken = rows().into_bytes();
    let place = broken.windows(4).position(|w| w == b"good").unwrap();
    broken[place] = 0xff;
    let long = format!("{}good,{}\n", rows(), "word ".repeat(200_000));
    let one_word = format!("{}good,{}\n", rows(), "x".repeat(1_000_000));
    let title = format!("Reviews of 1999\n{}", rows());
    let no_utf8 = "line 2: byte 1 of the line, 0xff, is not UTF-8";
    let no_header = "`Reviews of 1999`, is no header: it has 1 cell, and most lines have more";
    for (name, content, said) in [
        ("empty.csv", &b""[..], "is empty"),
        ("bytes.csv", &broken, no_utf8),
        ("long.csv", long.as_bytes(), "line 82: "),
        ("word.csv", one_word.as_bytes(), "line 82: "),
        ("title.csv", title.as_bytes(), no_header),
        ("bad.jsonl", b"{\"label\": 1,\n", "line 1: "),
        ("short.txt", b"abc", "3 characters, too few"),
        ("cut.csv.gz", b"\x1f\x8b\x08\0", "ends too early"),
        ("cut.fastq", b"@a x\nACGT\n", "line 1: the file ends"),
        ("table.xlsx", b"PK", ".csv"),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, content).unwrap();
        let (code, stdout, stderr) = compare(&file, &out);
        assert_eq!(code, 2, "{name}: {stderr}");
        stderr.says_all(&[said, name]);
        assert!(stderr.len() < 2_000, "{name}: {} bytes", stderr.len());
        assert_eq!(stdout, "", "{name}");
        assert!(!out.exists(), "{name}");
    }
    for (path, said) in [
        (folder.path().join("none.csv"), "No such file"),
        (folder.path().to_path_buf(), "holds no folder"),
    ] {
        failed(compare(&path, &out), 2).says(said);
    }
}
