//! Files of which no study can be made.

use super::*;

#[test]
fn a_file_that_cannot_be_used_is_refused_with_the_reason_and_nothing_starts() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut broken = rows("\n").into_bytes();
    let place = broken.windows(4).position(|w| w == b"good").unwrap();
    broken[place] = 0xff;
    let long = format!("{}good,{}\n", rows("\n"), "word ".repeat(200_000));
    let one_word = format!("{}good,{}\n", rows("\n"), "x".repeat(1_000_000));
    for (name, content, said) in [
        ("empty.csv", Vec::new(), "is empty"),
        ("blank.csv", b"\r\n\r\n".to_vec(), "is empty"),
        (
            "one.csv",
            rows("\n").replace("bad,", "good,").into_bytes(),
            "good",
        ),
        (
            "bytes.csv",
            broken,
            "line 2: byte 1 of the line, 0xff, is not UTF-8",
        ),
        ("long.csv", long.into_bytes(), "line 82: "),
        ("word.csv", one_word.into_bytes(), "line 82: "),
        (
            "header.csv",
            rows("\n").replacen("label", "class", 1).into_bytes(),
            "`label`",
        ),
        (
            "hole.csv",
            format!("{}good,\n", rows("\n")).into_bytes(),
            "line 82: ",
        ),
        // As scikit-learn writes its flowers, and as others do: a count, a title, no header.
        (
            "iris.csv",
            format!("80,3,good,bad\n{}", "1,2,3,0\n4,5,6,1\n".repeat(40)).into_bytes(),
            "is no header",
        ),
        (
            "title.csv",
            format!("Reviews of 1999\n{}", rows("\n")).into_bytes(),
            "`Reviews of 1999`, is no header: it has 1 cell, and most lines have more",
        ),
        (
            "bare.csv",
            "1.5,2.5,x\n2.5,3.5,y\n2.0,1.5,x\n".repeat(20).into_bytes(),
            "`1.5,2.5,x`, is read as the names of the columns, and looks like a row",
        ),
        ("bad.jsonl", b"{\"label\": 1,\n".to_vec(), "line 1: "),
        ("short.txt", b"abc".to_vec(), "3 characters, too few"),
        ("cut.csv.gz", vec![0x1f, 0x8b, 8, 0], "ends too early"),
        (
            "cut.fastq",
            b"@a x\nACGT\n".to_vec(),
            "line 1: the file ends",
        ),
        (
            "reviews",
            rows("\n").into_bytes(),
            "2 columns separated by `,` (`label`, `text`)",
        ),
        ("table.xlsx", b"PK".to_vec(), ".csv"),
        (
            "id.csv",
            rows("\n")
                .replace("label,text", "label,text,id")
                .replace(",not", ",not x,1")
                .replace(",bad", ",bad x,2")
                .into_bytes(),
            "--text",
        ),
        ("list.json", b"[{}]".to_vec(), "one object per line"),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, content).unwrap();
        let (code, stdout, stderr) = compare(&file, &out);
        assert_eq!(code, 2, "{name}: {stderr}");
        assert!(
            stderr.contains(said) && stderr.contains(name),
            "{name}: {stderr}"
        );
        assert!(stderr.len() < 2_000, "{name}: {} bytes", stderr.len());
        assert_eq!(stdout, "", "{name}");
        assert!(!out.exists(), "{name}");
    }
    for (path, said) in [
        (folder.path().join("none.csv"), "No such file"),
        (folder.path().to_path_buf(), "holds no folder"),
    ] {
        refused(compare(&path, &out), 2, &[said]);
    }
}
