//! Data files become tasks, or errors.

use super::*;
use crate::task::Sample;

/// Loads a file of this name and content.
fn load(name: &str, content: impl AsRef<[u8]>) -> Result<DataTask, DataError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    DataTask::load(&path)
}

fn good(name: &str, content: impl AsRef<[u8]>) -> DataTask {
    load(name, content).unwrap_or_else(|error| panic!("{error}"))
}

/// What is said about a bad file, without its folder.
fn refused(name: &str, content: impl AsRef<[u8]>) -> String {
    let error = load(name, content).expect_err("a bad file was accepted");
    let message = error.to_string();
    let start = message.find(name).unwrap();
    message[start..].to_string()
}

fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

/// Rows whose label is the first of two tokens, all different.
fn rows(count: usize) -> Vec<(&'static str, Vec<String>)> {
    (0..count)
        .map(|row| {
            let label = ["x", "y"][row % 2];
            let tokens = [format!("first_{label}"), "then".into(), format!("n{row}")];
            (label, tokens.to_vec())
        })
        .collect()
}

fn csv_of(rows: &[(&str, Vec<String>)]) -> String {
    let lines = rows
        .iter()
        .map(|(label, tokens)| format!("{label},{}\n", tokens.join(" ")));
    format!("label,text\n{}", lines.collect::<String>())
}

/// Everything that a study sees of a task.
fn everything(data: &DataTask) -> impl PartialEq + std::fmt::Debug + use<> {
    let task = data.task();
    let tests: Vec<_> = task
        .test_lengths()
        .into_iter()
        .map(|length| (length, task.floor(length), task.test_set(length)))
        .collect();
    let batches: Vec<_> = (0..5).map(|step| task.train_batch(1, step, 16)).collect();
    (
        (tests, batches, data.describe().to_vec()),
        (task.vocabulary(), task.classes(), task.train_lengths()),
    )
}

#[test]
fn the_same_rows_make_the_same_task_in_every_format() {
    let rows = rows(40);
    let text = good("a.csv", csv_of(&rows));
    let task = text.task();
    assert_eq!((task.classes(), task.name()), (2, NAME));

    // A column for each token, the label in the middle, and quotes that are not needed.
    let columns = rows
        .iter()
        .map(|(label, t)| format!("\"{}\",{label},{},{}\n", t[0], t[1], t[2]));
    let columns = format!("t1,label,t2,t3\n{}", columns.collect::<String>());
    assert_eq!(everything(&text), everything(&good("a.csv", &columns)));

    let line = |row: &(&str, Vec<String>)| serde_json::json!({"label": row.0, "tokens": row.1});
    let lines: String = rows.iter().map(|row| format!("{}\n", line(row))).collect();
    for name in ["a.jsonl", "a.ndjson", "A.NDJSON"] {
        let lines = good(name, &lines);
        assert_eq!(lines.spec().format, Format::JsonLines);
        assert_eq!(everything(&text), everything(&lines));
    }
    let line = |row: &(&str, Vec<String>)| serde_json::json!({"id": 7, "text": row.1.join("  "), "label": row.0});
    let lines: String = rows.iter().map(|row| format!("{}\n", line(row))).collect();
    assert_eq!(everything(&text), everything(&good("a.jsonl", &lines)));
}

#[test]
fn line_ends_byte_order_marks_and_blank_lines_change_the_digest_and_nothing_else() {
    let json = rows(40)
        .iter()
        .map(|(label, tokens)| {
            format!(
                "{{\"label\":\"{label}\",\"text\":\"{}\"}}\n",
                tokens.join(" ")
            )
        })
        .collect::<String>();
    let prose = (0..400)
        .map(|i| format!("line {i}\n\n"))
        .collect::<String>();
    for (name, unix) in [
        ("a.csv", csv_of(&rows(40))),
        ("a.jsonl", json),
        ("a.txt", prose),
    ] {
        let task = good(name, &unix);
        let windows = unix.replace('\n', "\r\n");
        let mut others = vec![windows.clone(), format!("\u{feff}{unix}")];
        if name != "a.txt" {
            others.push(unix.trim_end().to_string());
            others.push(windows.trim_end().to_string());
            others.push(format!("{unix}\n\n  \n"));
            others.push(format!("\u{feff}\r\n{windows}\r\n\r\n"));
        }
        for other in others {
            let other = good(name, &other);
            assert_eq!(everything(&task), everything(&other), "{name}");
            assert_ne!(task.spec().sha256, other.spec().sha256);
        }
        assert_eq!(task.spec(), good(name, &unix).spec());
    }
}

#[test]
fn a_spec_is_the_name_the_format_and_the_bytes() {
    let text = "abc ".repeat(500);
    let task = good("some text.txt", &text);
    // printf 'abc %.0s' {1..500} | sha256sum
    let spec = DataSpec {
        file: "some text.txt".into(),
        format: Format::Text,
        sha256: "e79ac225ade85aa61c0cde755065d0abe08d3461a99a9b2f2ae97527022f4d35".into(),
        bytes: 2000,
    };
    assert_eq!(*task.spec(), spec);
    let stored = serde_json::to_string(&spec).unwrap();
    assert!(stored.contains(r#""format":"text""#), "{stored}");
    assert_eq!(serde_json::from_str::<DataSpec>(&stored).unwrap(), spec);
}

#[test]
fn what_the_rest_of_the_laboratory_relies_on_holds_for_data_too() {
    let mixed: Vec<_> = (0..300)
        .map(|row| {
            let tokens = (0..1 + row % 30).map(|i| format!("t{}", (row * i) % 17));
            (["x", "y", "z"][row % 3], tokens.collect::<Vec<_>>())
        })
        .collect();
    let prose: String = (0..3000)
        .map(|i| char::from(b'a' + (i * i % 11) as u8))
        .collect();
    for task in [
        good("a.csv", csv_of(&rows(40))),
        good("a.csv", csv_of(&mixed)),
        good("a.txt", prose),
    ] {
        let task = task.task();
        assert_eq!(task.train_batch(1, 5, 8), task.train_batch(1, 5, 8));
        assert_ne!(task.train_batch(1, 5, 8), task.train_batch(2, 5, 8));
        assert_ne!(task.train_batch(1, 5, 8), task.train_batch(1, 6, 8));
        assert!(task.test_lengths().is_sorted_by(|a, b| a < b));
        let mut sets: Vec<_> = (0..20).map(|step| task.train_batch(3, step, 16)).collect();
        for batch in &sets {
            assert_eq!(batch.len(), 16);
            for sample in batch {
                let length = sample.tokens.len() - task.framing();
                assert!(task.train_lengths().contains(&length));
            }
        }
        for length in task.test_lengths() {
            let set = task.test_set(length);
            let longest = set.iter().map(|sample| sample.tokens.len()).max();
            assert_eq!(longest, Some(length + task.framing()));
            let floor = task.floor(length);
            assert!(floor > 0.0 && floor < 1.0, "floor {floor}");
            sets.push(set);
        }
        for sample in sets.iter().flatten() {
            assert!(sample.tokens.len() <= task.max_tokens());
            assert!(sample.tokens.iter().all(|token| *token < task.vocabulary()));
            assert!(!sample.answers.is_empty());
            for answer in &sample.answers {
                assert!(answer.class < task.classes());
                assert!(answer.position < sample.tokens.len());
            }
        }
        assert!(task.test_set(7777).is_empty());
    }
}

#[test]
fn an_epoch_shows_every_training_row_once() {
    let data = good("a.csv", csv_of(&rows(40)));
    let task = data.task();
    let mut seen: Vec<_> = (0..4)
        .flat_map(|step| task.train_batch(9, step, 8))
        .collect();
    let key = |sample: &Sample| sample.tokens.clone();
    seen.sort_by_key(key);
    // 40 rows less a fifth, all of them different.
    seen.dedup();
    assert_eq!(seen.len(), 32);
    let next = task.train_batch(9, 4, 8);
    assert!(next.iter().all(|sample| seen.contains(sample)));
    assert_eq!(task.steps(), 200);
}

#[test]
fn a_row_may_end_early_and_fields_may_be_empty() {
    let mut text = String::from("t1,t2,t3,label\n");
    for row in 0..20 {
        text.push_str(&format!("a{row},,b c,x\nb{row},\"d\ne\",,y\n"));
    }
    let data = good("a.csv", &text);
    assert_eq!(data.task().train_lengths(), 3..=3);
    let mut text = String::from("label,t1,t2,t3\n");
    for row in 0..20 {
        text.push_str(&format!("x,a{row}\ny,b{row},d,e\n"));
    }
    assert_eq!(good("a.csv", &text).task().train_lengths(), 1..=3);
}

#[test]
fn labels_and_tokens_of_json_may_be_numbers_and_labels_true_or_false() {
    let lines: String = (0..20)
        .map(|row| {
            format!(
                "{{\"label\": true, \"tokens\": [{row}, 1.5, \"a b\"]}}\n\
                 {{\"label\": 3, \"tokens\": [-{row}, 1.5, \"c\"]}}\n"
            )
        })
        .collect();
    let task = good("a.jsonl", lines);
    assert_says(&task.describe()[1], &["2 labels: `3` 20, `true` 20"]);
    assert_eq!(task.task().train_lengths(), 3..=3);
}

#[test]
fn what_was_found_is_described() {
    let mut rows = rows(300);
    for (row, (_, tokens)) in rows.iter_mut().enumerate() {
        tokens.truncate(2);
        tokens.push(format!("n{}", row % 100));
        tokens.extend((0..row % 20).map(|_| "and".to_string()));
    }
    let again = rows[17].1.clone();
    rows.push(("x", again)); // row 17 is a y
    let lines = good("a.csv", csv_of(&rows)).describe().join("\n");
    assert_says(
        &lines,
        &[
            "301 rows of labelled sequences",
            "2 labels: `x` 151, `y` 150",
            "lengths 3 to 22 tokens, half of them up to 13",
            "of the tokens tested, ",
            "tested beyond the training lengths, which end at 20: 30 rows of up to 22 tokens",
            "rows with the sequence of an earlier one: 201; ",
            "sequences under more than one label: 1; ",
        ],
    );
}

#[test]
fn a_file_that_is_none_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let says = |path: &Path, parts: &[&str]| {
        let message = DataTask::load(path).err().unwrap().to_string();
        assert!(
            message.starts_with(&path.display().to_string()),
            "{message}"
        );
        assert_says(&message, parts);
    };
    says(
        &folder.path().join("no.csv"),
        &["cannot be read", "check the path"],
    );
    says(folder.path(), &["is not a file; name the file"]);
    let names = [".csv", ".jsonl", ".ndjson", ".txt"];
    assert_says(&refused("a.xlsx", "x"), &names);
    assert_says(&refused("data", "x"), &names);
    let large = folder.path().join("large.csv");
    let file = File::create(&large).unwrap();
    file.set_len(MAX_BYTES + 1).unwrap(); // a sparse file: nothing is written
    says(&large, &["268,435,457 bytes", "268,435,456"]);
}

#[test]
fn a_file_with_nothing_in_it_is_refused() {
    for name in ["a.csv", "a.jsonl", "a.txt"] {
        for content in ["", "\n\r\n \n", "\u{feff}"] {
            assert_eq!(refused(name, content), format!("{name}: is empty"));
        }
    }
    for header in ["label,text", "label,text\n", "label,text\r\n\r\n"] {
        assert_says(
            &refused("a.csv", header),
            &["no row of data", "at least 20"],
        );
    }
}

#[test]
fn a_header_needs_one_label_and_tokens() {
    let header = |line: &str| refused("a.csv", format!("\n{line}\nx,a b\n"));
    assert_says(
        &header("text,class"),
        &["no columns of the header (line 2)", "`text`, `class`"],
    );
    assert_says(
        &header("label;text"),
        &["separated by commas", "`label;text`"],
    );
    assert_says(&header("label,text,label"), &["2 columns of the header"]);
    assert_says(&header("label"), &["no column beside `label`"]);
    assert_says(&header("a,b,c,d,e,f,g,h,i,j"), &["`h`, and 2 more"]);
    good("a.csv", csv_of(&rows(40)).replacen("label", " label ", 1));
}

#[test]
fn bad_rows_are_listed_with_their_lines_up_to_five() {
    let mut text = csv_of(&rows(20));
    text.push_str("\n\n,no label\nx,\nx,a,b\ny,  \n \n,\nx,a b\n,1\n,2\n");
    let message = refused("a.csv", &text);
    assert_eq!(
        message,
        "a.csv: 7 bad lines\n  \
         line 24: has no label; write one, or delete the row\n  \
         line 25: has no tokens beside the label `x`; write some, or delete the row\n  \
         line 26: 3 fields, but the header has 2; the first one too many is `b`; put a field \
         that holds a comma in double quotes\n  \
         line 27: has no tokens beside the label `y`; write some, or delete the row\n  \
         line 29: has no label; write one, or delete the row\n  \
         and 2 more"
    );
    // Lines are counted alike with Windows line ends, and after rows of several lines.
    assert_eq!(refused("a.csv", text.replace('\n', "\r\n")), message);
    let text = csv_of(&rows(20)) + "x,\"a\nb\nc\"\n,d\n";
    assert_says(
        &refused("a.csv", text),
        &["1 bad line\n", "line 25: has no label"],
    );
}

#[test]
fn a_quote_that_is_not_closed_swallows_no_row_in_silence() {
    let text = csv_of(&rows(20)) + "x,\"a b\ny,c d\ny,e f\n";
    assert_says(
        &refused("a.csv", text),
        &[
            "line 22: a double quote is not closed",
            "goes on to line 24",
        ],
    );
    // A closed one with a blank behind it is a row of two lines.
    for row in ["x,\"p\nq\" \n", "\"x\" ,\"p\nq\"\n"] {
        let text = csv_of(&rows(20)) + row;
        assert_eq!(
            good("a.csv", text).describe()[0],
            "21 rows of labelled sequences"
        );
    }
    // Two quotes that are not closed are as many as one that is.
    let text = csv_of(&rows(20)) + "x,\"hello\ny,\"world\ny,e f\n";
    assert_says(
        &refused("a.csv", text),
        &[
            "line 22: a double quote is not closed",
            "goes on to line 23",
        ],
    );
}

#[test]
fn bad_json_is_listed_with_line_and_column() {
    let good_lines: String = rows(30)
        .iter()
        .map(|(label, tokens)| {
            format!(
                "{{\"label\":\"{label}\",\"text\":\"{}\"}}\n",
                tokens.join(" ")
            )
        })
        .collect();
    let says = |line: &str, parts: &[&str]| {
        let message = refused("a.jsonl", format!("{good_lines}\n{line}\n"));
        assert_says(&message, &["1 bad line\n  line 32: "]);
        assert_says(&message, parts);
    };
    says(
        r#"{"label": "x", "tokens": ["a"}"#,
        &["column 30", r#"{"label": "x", "tokens": ["a", "b"]}"#],
    );
    says(r#"["x", ["a"]]"#, &["`[\"x\", [\"a\"]]` is no JSON object"]);
    says(r#"{"tokens": ["a"]}"#, &["has no label"]);
    says(r#"{"label": null, "tokens": ["a"]}"#, &["has no label"]);
    says(r#"{"label": " ", "tokens": ["a"]}"#, &["has no label"]);
    says(
        r#"{"label": "x", "label": "y", "text": "a"}"#,
        &["duplicate field `label`"],
    );
    says(
        r#"{"label": ["x"], "text": "a"}"#,
        &["expected a label: a string, a number"],
    );
    says(r#"{"label": "x"}"#, &["has no tokens beside the label `x`"]);
    says(r#"{"label": "x", "tokens": []}"#, &["has no tokens"]);
    says(
        r#"{"label": "x", "text": 3}"#,
        &["invalid type: integer `3`, expected a string"],
    );
    says(
        r#"{"label": "x", "tokens": "a b"}"#,
        &["expected a list of tokens"],
    );
    says(
        r#"{"label": "x", "tokens": ["a", null]}"#,
        &["null, expected a token"],
    );
    says(
        r#"{"label": "x", "tokens": ["a", true]}"#,
        &["boolean `true`, expected a token"],
    );
    says(
        r#"{"label": "x", "tokens": ["a", ["b"]]}"#,
        &["sequence, expected a token"],
    );
    says(
        r#"{"label": "x", "tokens": ["a", ""]}"#,
        &["token 2 is empty"],
    );
    says(
        r#"{"label": "x", "tokens": ["a"], "text": "a"}"#,
        &["both `tokens` and `text`"],
    );
}

#[test]
fn a_byte_that_is_not_utf8_is_found_on_its_line() {
    let mut csv = csv_of(&rows(30)).into_bytes();
    csv.extend(b"x,caf\xe9 a\ny,\xffb\n");
    let message = refused("a.csv", &csv);
    assert_says(
        &message,
        &[
            "2 bad lines",
            "line 32: byte 6 of the line, 0xe9, is not UTF-8; save the file as UTF-8",
            "line 33: byte 3 of the line, 0xff",
        ],
    );
    for name in ["a.jsonl", "a.txt"] {
        assert_says(&refused(name, &csv), &["line 32: byte 6"]);
    }
    assert_says(&refused("a.csv", b"\xff\xfel\0a\0"), &["UTF-16", "UTF-8"]);
}

#[test]
fn a_line_of_a_million_characters_is_an_error_in_a_few_words() {
    let many = "ab ".repeat(350_000);
    let one = "a".repeat(1_000_000);
    let csv = |text: &str| refused("a.csv", csv_of(&rows(30)) + "x," + text + "\n");
    let message = csv(&many);
    assert!(message.len() < 400, "{} bytes", message.len());
    assert_says(
        &message,
        &[
            "line 32: a sequence of 350,000 tokens",
            "at most 512",
            "square of the length",
        ],
    );
    let message = csv(&one);
    assert!(message.len() < 400, "{} bytes", message.len());
    assert_says(
        &message,
        &[
            "line 32: `aaaa",
            "…` is one label or token of more than 1,000",
        ],
    );
    let tokens = format!(r#"{{"label": 1, "tokens": [{}1]}}"#, "1,".repeat(499_999));
    assert_says(
        &refused("a.jsonl", tokens),
        &["line 1: a sequence of 500,000 tokens"],
    );
    let text = format!(r#"{{"label": 1, "text": "{many}"}}"#);
    assert_says(
        &refused("a.jsonl", text),
        &["line 1: a sequence of 350,000 tokens"],
    );
    let deep = format!(r#"{{"label": 1, "x": {}"#, "[".repeat(1_000_000));
    assert_says(
        &refused("a.jsonl", deep),
        &["line 1: EOF while parsing a list (column 1000018 of"],
    );
    // The longest sequence there may be is one.
    good(
        "a.csv",
        csv_of(&rows(30)) + "x," + &"ab ".repeat(512) + "\n",
    );
    // A text may be all on one line.
    good("a.txt", "abc ".repeat(250_000));
}

#[test]
fn too_few_rows_one_class_and_too_many_are_refused() {
    assert_says(
        &refused("a.csv", csv_of(&rows(19))),
        &["has 19 rows", "at least 20"],
    );
    good("a.csv", csv_of(&rows(20)));
    let mut one = rows(25);
    one.iter_mut().for_each(|row| row.0 = "same");
    assert_says(
        &refused("a.csv", csv_of(&one)),
        &["all 25 rows have the label `same`"],
    );
    let numbers: String = (0..2002)
        .map(|row| format!("{},a b {row}\n", row / 2))
        .collect();
    assert_says(
        &refused("a.csv", format!("label,text\n{numbers}")),
        &["has 1,001 different labels, more than 1,000"],
    );
    let rest = numbers
        .rsplit_once("1000,")
        .unwrap()
        .0
        .rsplit_once("1000,")
        .unwrap()
        .0;
    assert_eq!(
        good("a.csv", format!("label,text\n{rest}"))
            .task()
            .classes(),
        1000
    );
}

#[test]
fn a_class_that_cannot_be_on_both_sides_is_named() {
    let text = csv_of(&rows(30)) + "rare,a b\ntwin,c d\ntwin,c d\nalso,first_x then n0\n";
    assert_eq!(
        refused("a.csv", text),
        "a.csv: every label needs two different sequences, one to train on and one to test on; \
         add rows for these, or leave them out\n  \
         `also`: 1 row, 0 sequences of its own\n  \
         `rare`: 1 row, 1 sequence of its own\n  \
         `twin`: 2 rows, 1 sequence of its own"
    );
}

#[test]
fn sequences_of_one_token_have_no_order() {
    let text: String = (0..30).map(|row| format!("{},w{row}\n", row % 2)).collect();
    assert_says(
        &refused("a.csv", format!("label,text\n{text}")),
        &[
            "no row has more than one token",
            "separate tokens by spaces",
        ],
    );
}

#[test]
fn a_text_that_says_too_little_is_refused() {
    assert_says(
        &refused("a.txt", "ab ".repeat(666)),
        &["has 1998 characters", "at least 2,000"],
    );
    for text in ["a".repeat(3000), "ab".repeat(2000) + &"c".repeat(1000)] {
        assert_says(
            &refused("a.txt", text),
            &["nothing is left to guess", "length 32"],
        );
    }
}
