use std::fs;
use std::path::Path;

use super::*;
use crate::data::testing::{check_prepared, folded, read, tested_on};

fn rows(count: usize) -> String {
    let row = |i: usize| {
        let words: Vec<String> = (0..3 + i * i % 40)
            .map(|k| format!("w{}", (i * k) % 97))
            .collect();
        format!("l{},{}\n", i % 3, words.join(" "))
    };
    "label,text\n".to_string() + &(0..count).map(row).collect::<String>()
}

#[test]
fn a_prepared_form_gives_the_same_tasks() {
    let rows_300 = rows(300);
    let lines = rows_300.lines().skip(1).map(|row| {
        let (label, text) = row.split_once(',').unwrap();
        format!("{{\"label\": \"{label}\", \"text\": \"{text}\"}}\n")
    });
    let lines: &str = &lines.collect::<String>();
    let letter = |i: u32| char::from_u32(0xe0 + i * i % 59).unwrap();
    let text: &str = &(0..9_000).map(letter).collect::<String>();
    let row = |i: u32| {
        let height = (f64::from(i) / 9.0).sin();
        format!(
            "{},{height:.3},{},{}\n",
            i * i + i,
            i % 2,
            ["up", "down"][i as usize % 2]
        )
    };
    let table = (0..900).map(row).collect::<String>();
    let table: &str = &format!("when,height,side,way\n{table}");
    let answers = "objective = 'answer'; label = 'label'; text = 'text'";
    let timed = "target = 'height'; columns = ['height', 'side']; time = 'when'";
    for (name, text, settings) in [
        ("a.csv", &rows(400)[..], ""),
        ("a.jsonl", lines, "max_len = 20"),
        ("b.jsonl", lines, answers),
        ("a.txt", text, "objective = 'next'"),
        ("a.txt", text, "objective = 'masked'"),
        ("s.csv", table, timed),
        ("s.csv", table, "target = 'height'; columns = ['side']"),
        ("s.csv", table, "target = 'way'; columns = ['height']"),
    ] {
        check_prepared(&read(name, text, settings).unwrap());
    }
    let tested = tested_on(("a.csv", rows_300), ("test.csv", rows(120)), "");
    check_prepared(&tested.unwrap());
    let folds = folded("a.csv", rows(400), "", 4).unwrap();
    assert_eq!(folds.tasks().len(), 4);
    check_prepared(&folds);
}

/// A whole prepared file, the data that it is of, and where it lies.
fn whole(folder: &Path) -> (Vec<u8>, DataSpec, Entry) {
    let data = read("a.csv", rows(60), "").unwrap();
    let mut bytes = Vec::new();
    data.write_prepared("these", &mut bytes).unwrap();
    let path = Entry::inside(folder, "prepared");
    (bytes, data.spec().clone(), path)
}

#[test]
fn a_file_that_was_changed_is_refused_whatever_was_changed() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, spec, path) = whole(folder.path());
    let said = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        task(&path, "these", &spec, "data").map(drop).unwrap_err()
    };
    for place in (0..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        assert!(said(&changed).starts_with("it "), "{place}");
    }
    for cut in [0, 1, 63, 64, 100, bytes.len() / 2, bytes.len() - 1] {
        said(&bytes[..cut]);
    }
    let longer = [&bytes[..], b"0"].concat();
    assert!(said(&longer).contains("not as many numbers"));
    fs::write(&path, &bytes).unwrap();
    assert!(task(&path, "these", &spec, "data").is_ok());
    let other = task(&path, "others", &spec, "data").map(drop);
    assert!(other.unwrap_err().contains("of other data"));
    let other = task(&path, "these", &spec, "data-fold-1").map(drop);
    assert!(other.unwrap_err().contains("no task `data-fold-1`"));
}

#[test]
fn numbers_that_do_not_fit_are_refused_though_the_digest_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, spec, path) = whole(folder.path());
    let mut rest = bytes[MAGIC.len()..].split_inclusive(|byte| *byte == b'\n');
    let line = rest.next().unwrap();
    let head: Head = serde_json::from_slice(line).unwrap();
    let start = MAGIC.len() + line.len();
    let place_of = |name: &str| {
        let before = head.parts.iter().take_while(|part| part.name != name);
        start + before.map(|part| part.width * part.count).sum::<usize>()
    };
    for name in ["ends", "labels", "numbers of data", "train of data"] {
        let mut changed = bytes[..bytes.len() - DIGITS as usize].to_vec();
        changed[place_of(name) + 3] = 0x7f;
        let digest = super::super::digest(&changed);
        fs::write(&path, [&changed, digest.as_bytes()].concat()).unwrap();
        let said = task(&path, "these", &spec, "data").map(drop).unwrap_err();
        assert!(!said.contains("digest"), "{name}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn only_a_regular_file_of_a_possible_size_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, spec, path) = whole(folder.path());
    let said = || task(&path, "these", &spec, "data").map(drop).unwrap_err();
    let real = folder.path().join("real");
    fs::write(&real, &bytes).unwrap();
    for target in [real.as_path(), Path::new("/dev/zero")] {
        std::os::unix::fs::symlink(target, &path).unwrap();
        assert_eq!(said(), "it is no file but a link");
        fs::remove_file(&path).unwrap();
    }
    assert!(said().contains("it cannot be read"));
    File::create(&path).unwrap().set_len(MOST + 1).unwrap();
    assert!(said().contains("it has 4294967297 bytes"));
    // As many numbers as it says, if the product could be counted in 64 bits.
    let head = format!(
        "{}{{\"of\":\"these\",\"about\":{{\"masked\":{{\"known\":3}}}},\"parts\":[{{\"name\":\"tokens\",\"width\":2,\"count\":{}}}]}}\n",
        String::from_utf8_lossy(MAGIC),
        1_u64 << 63
    );
    fs::write(&path, head + &"0".repeat(64)).unwrap();
    assert!(said().contains("not as many numbers"));
}

/// The tokens stay in the file, which somebody may write to after it was checked.
#[test]
fn a_file_that_is_changed_while_it_is_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, spec, path) = whole(folder.path());
    fs::write(&path, &bytes).unwrap();
    let task = task(&path, "these", &spec, "data").unwrap();
    assert!(!task.train_batch(1, 0, 4).is_empty());
    let mut changed = bytes;
    let middle = changed.len() / 2;
    changed[middle..].fill(0xff);
    fs::write(&path, changed).unwrap();
    let read = || (0..50).for_each(|step| drop(task.train_batch(1, step, 64)));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_err();
    let said = panic.downcast_ref::<String>().unwrap();
    let end = "its file was changed while it was read";
    assert!(said.ends_with(end), "{said}");
}
