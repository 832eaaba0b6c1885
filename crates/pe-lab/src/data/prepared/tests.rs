use std::fs;
use std::path::Path;

use super::super::{Objective, Source};
use super::*;
use crate::data::testing::reading;

/// The tasks of a file, and those of its prepared form.
fn both(folder: &Path, name: &str, text: &str, source: Source) -> [Vec<Arc<dyn Task>>; 2] {
    let file = folder.join(name);
    fs::write(&file, text).unwrap();
    let data = DataTask::read(&Source { file, ..source }).unwrap();
    // Each in a file of its own, since its tokens are read from there later.
    let count = fs::read_dir(folder).unwrap().count();
    let path = Entry::inside(folder, format!("prepared-{count}"));
    let mut out = File::create_new(&path).unwrap();
    let digest = data.write_prepared("these", &mut out).unwrap();
    assert_eq!(super::digest(&path, "these"), Ok(digest));
    let named = data.tasks().into_iter().map(|own| {
        let task = task(&path, "these", data.spec(), own.name());
        task.unwrap_or_else(|reason| panic!("{name}: {reason}"))
    });
    [data.tasks(), named.collect()]
}

fn check_equal(own: &dyn Task, prepared: &dyn Task) {
    let about = |task: &dyn Task| {
        (
            [task.name(), task.about(), task.source(), task.floor_about()].map(String::from),
            [
                task.vocabulary(),
                task.classes(),
                task.steps(),
                task.framing(),
            ],
            (
                task.train_lengths(),
                task.test_lengths(),
                task.vector_width(),
            ),
            (
                task.measure(),
                task.unit(),
                task.has_times(),
                task.mixes_lengths(),
            ),
            (
                task.max_tokens(),
                task.test_rows(),
                task.causal(),
                task.solved_at(),
            ),
        )
    };
    assert_eq!(about(own), about(prepared));
    for length in own.test_lengths() {
        assert_eq!(own.test_set(length), prepared.test_set(length), "{length}");
        assert!(!own.test_set(length).is_empty());
        assert_eq!(own.floor(length), prepared.floor(length), "{length}");
    }
    for (seed, step) in [(1, 0), (1, 1), (7, 40)] {
        let of = |task: &dyn Task| task.train_batch(seed, step, 16);
        assert_eq!(of(own), of(prepared), "{seed} {step}");
    }
    let text = |task: &dyn Task| {
        let language = task.language()?;
        let prompt = language.prompt();
        Some((language.text(&prompt), language.sliding(4).len(), prompt))
    };
    assert_eq!(text(own), text(prepared));
}

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
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let of = |change: fn(&mut Source)| {
        let mut source = Source::default();
        change(&mut source);
        source
    };
    let lines: String = rows(300)
        .lines()
        .skip(1)
        .map(|row| {
            let (label, text) = row.split_once(',').unwrap();
            format!("{{\"label\": \"{label}\", \"text\": \"{text}\"}}\n")
        })
        .collect();
    let test = folder.join("test.csv");
    fs::write(&test, rows(120)).unwrap();
    let tested = Source {
        test: Some(test),
        ..Source::default()
    };
    let text: String = (0..9_000_u32)
        .map(|i| char::from_u32(0xe0 + i * i % 59).unwrap())
        .collect();
    let table: String = (0..900)
        .map(|i| {
            format!(
                "{},{:.3},{}\n",
                i * i + i,
                (f64::from(i) / 9.0).sin(),
                i % 2
            )
        })
        .collect();
    let table = format!("when,height,side\n{table}");
    let made = [
        both(folder, "a.csv", &rows(400), Source::default()),
        both(
            folder,
            "a.csv",
            &rows(400),
            of(|source| source.folds = Some(4)),
        ),
        both(folder, "a.csv", &rows(300), tested),
        both(
            folder,
            "a.jsonl",
            &lines,
            of(|source| source.reading.max_len = Some(20)),
        ),
        both(
            folder,
            "a.txt",
            &text,
            of(|source| source.reading.objective = Some(Objective::Next)),
        ),
        both(
            folder,
            "b.jsonl",
            &lines,
            of(|source| {
                source.reading = reading(|r| {
                    r.objective = Some(Objective::Answer);
                    r.label = Some("label".into());
                    r.text = Some("text".into());
                });
            }),
        ),
        both(
            folder,
            "b.txt",
            &text,
            of(|source| source.reading.objective = Some(Objective::Masked)),
        ),
        both(
            folder,
            "s.csv",
            &table,
            of(|source| {
                source.reading = reading(|r| {
                    r.target = Some("height".into());
                    r.time = Some("when".into());
                });
            }),
        ),
        both(
            folder,
            "s.csv",
            &table,
            of(|source| {
                source.reading = reading(|r| {
                    r.target = Some("height".into());
                    r.columns = Some(vec!["side".into()]);
                });
            }),
        ),
    ];
    assert_eq!(made[1][0].len(), 4);
    for [own, prepared] in &made {
        assert_eq!(own.len(), prepared.len());
        for (own, prepared) in own.iter().zip(prepared) {
            check_equal(own.as_ref(), prepared.as_ref());
        }
    }
}

#[test]
fn a_series_of_classes_and_no_times_is_prepared_too() {
    let folder = tempfile::tempdir().unwrap();
    let table: String = (0..900)
        .map(|i| {
            format!(
                "{:.3},{}\n",
                f64::from(i * i % 101),
                ["up", "down"][i as usize % 2]
            )
        })
        .collect();
    let source = Source {
        reading: reading(|r| r.target = Some("way".into())),
        ..Source::default()
    };
    let table = format!("height,way\n{table}");
    let [own, prepared] = both(folder.path(), "s.csv", &table, source);
    check_equal(own[0].as_ref(), prepared[0].as_ref());
}

/// A whole prepared file, the data that it is of, and where it lies.
fn whole(folder: &Path) -> (Vec<u8>, DataSpec, Entry) {
    let file = folder.join("a.csv");
    fs::write(&file, rows(60)).unwrap();
    let data = DataTask::load(&file).unwrap();
    let mut bytes = Vec::new();
    data.write_prepared("these", &mut bytes).unwrap();
    (
        bytes,
        data.spec().clone(),
        Entry::inside(folder, "prepared"),
    )
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
    let line = MAGIC.len()
        + bytes[MAGIC.len()..]
            .iter()
            .position(|b| *b == b'\n')
            .unwrap()
        + 1;
    let head: Head = serde_json::from_slice(&bytes[MAGIC.len()..line]).unwrap();
    let place_of = |name: &str| {
        let before = head.parts.iter().take_while(|part| part.name != name);
        line + before.map(|part| part.width * part.count).sum::<usize>()
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
    assert!(
        said.ends_with("its file was changed while it was read"),
        "{said}"
    );
}
