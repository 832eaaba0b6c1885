//! Data files become tasks, or errors.

use std::fs::File;

use super::spec::short_enough;
use super::*;
use crate::task::{Measure, Prompted, Sample};

/// Loads a file of this name and content.
fn load(name: &str, content: impl AsRef<[u8]>) -> Result<DataTask, DataError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    DataTask::load(&path)
}

/// Loads a file of this name and content, read as a person says.
fn load_as(name: &str, content: impl AsRef<[u8]>, reading: Reading) -> Result<DataTask, DataError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, content).unwrap();
    DataTask::read(&Source {
        reading,
        ..Source::from(file.as_path())
    })
}

/// What is said about a bad file, read as a person says.
fn refused_as(name: &str, content: impl AsRef<[u8]>, reading: Reading) -> String {
    load_as(name, content, reading).unwrap_err().to_string()
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
    // Where the tokens were found is another place in each format.
    let described = data.describe().iter();
    let described =
        described.filter(|line| !line.starts_with("label from") && !line.contains("not read"));
    (
        (tests, batches, described.cloned().collect::<Vec<_>>()),
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
    let cells = Reading {
        columns: Some(["t1", "t2", "t3"].map(String::from).to_vec()),
        ..Reading::default()
    };
    let cells = load_as("a.csv", &columns, cells).unwrap();
    assert_eq!(everything(&text), everything(&cells));

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
        test: None,
        folds: None,
        reading: Reading::default(),
        vocabulary: None,
        tokenizer: None,
        labels: None,
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
                let length = sample.input.len() - task.framing();
                assert!(task.train_lengths().contains(&length));
            }
        }
        for length in task.test_lengths() {
            let set = task.test_set(length);
            let longest = set.iter().map(|sample| sample.input.len()).max();
            assert_eq!(longest, Some(length + task.framing()));
            let floor = task.floor(length);
            assert!(floor > 0.0 && floor < 1.0, "floor {floor}");
            sets.push(set);
        }
        for sample in sets.iter().flatten() {
            assert!(sample.input.len() <= task.max_tokens());
            assert!(
                sample
                    .input
                    .tokens()
                    .iter()
                    .all(|token| *token < task.vocabulary())
            );
            assert!(!sample.answers.is_empty());
            for answer in &sample.answers {
                assert!(answer.class < task.classes());
                assert!(answer.position < sample.input.len());
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
    let key = |sample: &Sample| sample.input.tokens().to_vec();
    seen.sort_by_key(key);
    // 40 rows less a fifth, all of them different.
    seen.dedup();
    assert_eq!(seen.len(), 32);
    let next = task.train_batch(9, 4, 8);
    assert!(next.iter().all(|sample| seen.contains(sample)));
    assert_eq!(task.steps(), 200);
}

/// The words of a row as the description shows it.
fn shown_row(data: &DataTask, row: usize) -> String {
    let start = format!("row {row} as read: ");
    let line = data
        .describe()
        .iter()
        .find_map(|line| line.strip_prefix(&start));
    line.unwrap().to_string()
}

#[test]
fn an_empty_cell_is_a_token_of_its_own_and_shifts_nothing() {
    let mut text = String::from("t1,t2,t3,label\n1,,2,y\n,1,2,n\n");
    for row in 0..20 {
        text.push_str(&format!("{},1,2,y\n2,{},1,n\n", row % 3, row % 4));
    }
    let data = good("a.csv", &text);
    assert_eq!(
        shown_row(&data, 1),
        "BOS 1 <empty> 2 EOS (3 tokens), label `y`"
    );
    assert_eq!(
        shown_row(&data, 2),
        "BOS <empty> 1 2 EOS (3 tokens), label `n`"
    );
    assert_eq!(data.task().train_lengths(), 3..=3);
    let lines = data.describe().join("\n");
    assert_says(
        &lines,
        &["2 rows with empty cells: an empty cell is a token of its own"],
    );
    // The two rows differ in the numbers that a model reads, too.
    let Made::Rows(tasks) = &data.made else {
        panic!()
    };
    let row = |words: [&str; 3]| tasks[0].encode(&words).unwrap();
    assert_ne!(row(["1", "", "2"]), row(["", "1", "2"]));
    // A file that says so with words in one column has no cells to lose.
    let words = text.replacen("t1,t2,t3,label", "a,b,c,label", 1);
    good("a.csv", words);
}

#[test]
fn a_row_ends_at_its_last_cell_that_is_not_empty_and_that_is_said() {
    let mut text = String::from("t1,t2,t3,label\n");
    for row in 0..20 {
        text.push_str(&format!("a,b,{},x\na,{},,y\n", row % 3, row % 4));
    }
    let data = good("a.csv", &text);
    assert_eq!(data.task().train_lengths(), 2..=3);
    assert_says(
        &data.describe().join("\n"),
        &["20 rows with empty cells at the end: there the row ends"],
    );
    // A row with fewer fields than the header ends early.
    let mut text = String::from("label,t1,t2,t3\n");
    for row in 0..20 {
        text.push_str(&format!("x,a,{}\ny,b,d,{}\n", row % 3, row % 4));
    }
    let data = good("a.csv", &text);
    assert_eq!(data.task().train_lengths(), 2..=3);
    assert!(!data.describe().join("\n").contains("empty cells"));
}

/// A table with a column of row numbers, one of words, and a label that is called otherwise.
fn reviews() -> String {
    let rows = (0..40).map(|i| {
        let label = ["good", "bad"][i % 2];
        format!(
            "{},2024-01-{:02},{label} it is so {},{label}\n",
            100 + i,
            1 + i % 28,
            i % 5
        )
    });
    format!("id,date,text,Class\n{}", rows.collect::<String>())
}

#[test]
fn columns_that_are_no_tokens_are_asked_about_with_the_flags() {
    let label = |name: &str| Reading {
        label: Some(name.into()),
        ..Reading::default()
    };
    assert_says(
        &refused("a.csv", reviews()),
        &[
            "no columns of the header (line 1) are called `label`",
            "--label Class",
        ],
    );
    assert_says(
        &refused_as("a.csv", reviews(), label("Class")),
        &[
            "`id` sounds like no token",
            "`date` sounds like no token",
            "`text` holds several words beside other columns",
            "--text text (the words of one column), or --columns A,B",
            "--tokens cells, words or characters",
        ],
    );
    let text = Reading {
        text: Some("text".into()),
        ..label("class")
    };
    let data = load_as("a.csv", reviews(), text.clone()).unwrap();
    assert_eq!(
        shown_row(&data, 2),
        "BOS bad it is so 1 EOS (5 tokens), label `bad`"
    );
    assert_says(
        &data.describe().join("\n"),
        &[
            "label from column `Class`; tokens from column `text`; a token is a word",
            "columns not read: `id`, `date`",
        ],
    );
    let characters = Reading {
        tokens: Some(TokenKind::Characters),
        ..text
    };
    let data = load_as("a.csv", reviews(), characters).unwrap();
    assert_says(&shown_row(&data, 1), &["BOS g o o d \u{2423} i t"]);
    // A column of row numbers without a telling name.
    let numbers = (0..40).map(|i| format!("r{i},{},{},{}\n", i % 3, i % 5, i % 2));
    let numbers = format!("row,a,b,label\n{}", numbers.collect::<String>());
    assert_says(
        &refused("a.csv", &numbers),
        &["`row` differs in every row, as the name of a row does"],
    );
    let columns = |names: &[&str]| Reading {
        columns: Some(names.iter().map(|name| name.to_string()).collect()),
        ..Reading::default()
    };
    let data = load_as("a.csv", &numbers, columns(&["b", "a"])).unwrap();
    assert_eq!(shown_row(&data, 2), "BOS 1 1 EOS (2 tokens), label `1`");
    let data = load_as("a.csv", &numbers, columns(&["a..b"])).unwrap();
    assert_says(&data.describe().join("\n"), &["columns not read: `row`"]);
    for (named, said) in [
        (
            columns(&["c"]),
            "--columns names `c`, and there is no such column; the columns are: `row`",
        ),
        (columns(&["b..a"]), "`b` comes after `a` in the file"),
        (
            columns(&["label"]),
            "--columns names `label`, which is the column of the label",
        ),
        (
            label("klass"),
            "--label names `klass`, and there is no such column",
        ),
        (
            label("2"),
            "if the first line is a row like the others, say --no-header",
        ),
    ] {
        assert_says(&refused_as("a.csv", &numbers, named), &[said]);
    }
}

#[test]
fn tables_of_other_names_delimiters_and_headers_are_read_or_answered_with_the_flag() {
    let rows = csv_of(&rows(40));
    let plain = everything(&good("a.csv", &rows));
    for (name, text) in [
        ("a.tsv", rows.replace(',', "\t")),
        ("a.csv", rows.replace(',', ";")),
        ("a.csv", rows.replace(',', "|")),
        ("a.csv", rows.replace(',', "\t")),
        ("a.csv", rows.replacen("label", "Label", 1)),
        ("a.data", rows.replacen("label", "LABEL", 1)),
    ] {
        assert_eq!(everything(&good(name, &text)), plain, "{name}: {text:.30}");
    }
    // Between tabs a quote is a character like any other.
    let quoted = format!("{}x\t\"first_x then n0 and more\n", rows.replace(',', "\t"));
    good("a.tsv", quoted);
    // Without a header, and under the name of a plain text.
    let bare = rows.replacen("label,text\n", "", 1);
    let no_header = Reading {
        no_header: true,
        ..Reading::default()
    };
    assert_says(
        &refused_as("a.csv", &bare, no_header.clone()),
        &["the columns are called 1 to 2", "--label 2"],
    );
    let first = Reading {
        label: Some("1".into()),
        ..no_header
    };
    for name in ["a.csv", "a.txt", "a.log", "a"] {
        let data = load_as(name, &bare, first.clone()).unwrap();
        assert_eq!(everything(&data), plain, "{name}");
    }
    let delimiter = |delimiter| Reading {
        delimiter: Some(delimiter),
        ..Reading::default()
    };
    let bars = load_as("a.csv", rows.replace(',', "#"), delimiter('#')).unwrap();
    assert_eq!(everything(&bars), plain);
    assert_says(
        &refused_as("a.csv", &rows, delimiter('é')),
        &["one ASCII character"],
    );
    assert_says(&refused("a.json", "[]"), &["one object per line", ".jsonl"]);
    // A log is plain text, and what is about rows is refused for it.
    let log = "12:00 started\n12:01 stopped\n".repeat(100);
    let characters = Reading {
        tokens: Some(TokenKind::Characters),
        ..Reading::default()
    };
    good("a.log", &log);
    assert_says(
        &refused_as("a.log", &log, characters),
        &[
            "--tokens is for a text of which the next token is predicted",
            "--objective masked",
        ],
    );
}

#[test]
fn other_keys_of_json_are_understood_or_named() {
    let lines = |label: &str, key: &str, sequence: fn(usize) -> String| -> String {
        let line = |i| {
            format!(
                "{{\"id\": {i}, \"{label}\": {}, \"{key}\": {}}}\n",
                i % 2,
                sequence(i)
            )
        };
        (0..40).map(line).collect()
    };
    let list = |i: usize| format!("[101, {}, {}, 102]", i % 7, i % 5);
    let words = |i: usize| format!("\"so {} is {}\"", i % 7, i % 5);
    let ids = good("a.jsonl", lines("label", "input_ids", list));
    assert_eq!(
        shown_row(&ids, 2),
        "BOS 101 1 1 102 EOS (4 tokens), label `1`"
    );
    assert_says(
        &ids.describe().join("\n"),
        &[
            "label from key `label`; tokens from `input_ids`",
            "keys not read: `id`",
        ],
    );
    let sentence = good("a.jsonl", lines("label", "sentence", words));
    assert_eq!(
        shown_row(&sentence, 2),
        "BOS so 1 is 1 EOS (4 tokens), label `1`"
    );
    assert_says(
        &refused("a.jsonl", lines("label", "review", words)),
        &[
            "no key is called `tokens`, `input_ids`, `text`, `sentence`",
            "`id`, `review`",
            "--text KEY",
        ],
    );
    assert_says(
        &refused("a.jsonl", lines("stars", "text", words)),
        &["no key is called `label`", "`id`, `stars`", "--label KEY"],
    );
    let named = |label: &str, text: &str| Reading {
        label: Some(label.into()),
        text: Some(text.into()),
        ..Reading::default()
    };
    for sequence in [list, words] {
        let text = lines("stars", "review", sequence);
        load_as("a.jsonl", text, named("stars", "review")).unwrap();
    }
    let both = lines("label", "text", words).replace("\"id\": ", "\"tokens\": [1, 2], \"id\": ");
    assert_says(
        &refused("a.jsonl", &both),
        &["has both `tokens` and `text`", "--text tokens"],
    );
    load_as("a.jsonl", &both, named("label", "text")).unwrap();
    let header = Reading {
        no_header: true,
        ..Reading::default()
    };
    assert_says(
        &refused_as("a.jsonl", both, header),
        &["--no-header is for tables"],
    );
}

#[test]
fn long_sequences_are_cut_and_bad_lines_left_out_as_asked_and_it_is_said() {
    let mut text = csv_of(&rows(30));
    text.push_str(&format!("x,{}\nx,\n,y\n", "first_x ".repeat(600)));
    let reading = |max_len, skip_bad| Reading {
        max_len,
        skip_bad,
        ..Reading::default()
    };
    assert_says(
        &refused("a.csv", &text),
        &[
            "3 bad lines",
            "600 tokens",
            "--max-len 512",
            "To leave them out, say --skip-bad 3",
        ],
    );
    assert_says(
        &refused_as("a.csv", &text, reading(None, 2)),
        &["3 bad lines"],
    );
    let data = load_as("a.csv", &text, reading(None, 3)).unwrap();
    assert_eq!(data.describe()[0], "30 rows of labelled sequences");
    assert_says(
        &data.describe().join("\n"),
        &[
            "3 bad lines left out, since --skip-bad allows 3: line 32: a sequence of 600 tokens",
            "; line 33: has no tokens",
        ],
    );
    let data = load_as("a.csv", &text, reading(Some(3), 2)).unwrap();
    assert_eq!(data.task().max_tokens(), 5);
    assert_says(
        &data.describe().join("\n"),
        &[
            "1 row cut after 3 tokens, as --max-len says",
            "2 bad lines left out",
        ],
    );
    for wrong in [0, 1, 513] {
        assert_says(
            &refused_as("a.csv", &text, reading(Some(wrong), 3)),
            &[&format!("--max-len is {wrong}; it takes from 2 to 512")],
        );
    }
}

#[test]
fn tokens_that_training_never_sees_and_rows_of_one_token_are_refused_with_the_remedy() {
    let numbers = (0..60).map(|i| {
        let cell = |k: usize| format!("0.{:05}", (i * 7919 + k * 104_729) % 100_000);
        format!("{},{},{},{}\n", cell(1), cell(2), cell(3), i % 2)
    });
    let numbers = format!("a,b,c,label\n{}", numbers.collect::<String>());
    let cells = Reading {
        tokens: Some(TokenKind::Cells),
        ..Reading::default()
    };
    assert_says(
        &refused_as("a.csv", &numbers, cells),
        &[
            "100 % of the tokens of the test do not occur in training, such as `0.",
            "read numbers as numbers with --tokens numbers",
            "--tokens characters",
        ],
    );
    let characters = Reading {
        tokens: Some(TokenKind::Characters),
        ..Reading::default()
    };
    load_as("a.csv", &numbers, characters.clone()).unwrap();
    let genes = (0..60).map(|i| {
        format!(
            "{},{}\n",
            i % 2,
            ["acgt", "ttga", "cca"][i % 3].repeat(3 + i % 4)
        )
    });
    let genes = format!("label,gene\n{}", genes.collect::<String>());
    assert_says(
        &refused("a.csv", &genes),
        &["60 of 60 rows have only one token", "--tokens characters"],
    );
    let data = load_as("a.csv", &genes, characters).unwrap();
    assert_says(&shown_row(&data, 1), &["BOS a c g t a c g t"]);
    // The end of a text in another alphabet.
    let text = "abc ".repeat(900) + &"\u{3b1}\u{3b2}\u{3b3} ".repeat(100);
    assert_says(
        &refused("a.txt", text),
        &["75 % of the characters of the last tenth"],
    );
}

/// 200 rows of 3 to 22 tokens.
fn mixed_lengths() -> String {
    let rows = (0..200).map(|i: usize| {
        let words = (0..3 + i % 20).map(|k| format!("w{}", (i * (k + 1)) % 11));
        format!(
            "{},{}\n",
            ["x", "y"][i % 2],
            words.collect::<Vec<_>>().join(" ")
        )
    });
    format!("label,text\n{}", rows.collect::<String>())
}

#[test]
fn the_longest_rows_stay_in_training_if_asked() {
    let beyond = |data: &DataTask| {
        let task = data.task();
        let inside = task.train_lengths();
        task.test_lengths()
            .iter()
            .filter(|n| !inside.contains(n))
            .count()
    };
    let usual = good("a.csv", mixed_lengths());
    assert!(beyond(&usual) > 0 && *usual.task().train_lengths().end() < 22);
    let all = Reading {
        no_beyond: true,
        ..Reading::default()
    };
    let all = load_as("a.csv", mixed_lengths(), all).unwrap();
    assert_eq!((beyond(&all), all.task().train_lengths()), (0, 3..=22));
    assert_says(
        &all.describe().join("\n"),
        &["no test beyond the training lengths: --no-beyond keeps the longest rows in training"],
    );
}

#[test]
fn with_folds_no_row_is_left_out_as_too_long() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.csv");
    std::fs::write(&file, mixed_lengths()).unwrap();
    let data = DataTask::read(&Source {
        folds: Some(4),
        ..Source::from(file.as_path())
    });
    let data = data.unwrap();
    let Made::Rows(folds) = &data.made else {
        panic!()
    };
    let tested: usize = folds.iter().map(|fold| fold.tested_rows().len()).sum();
    assert_eq!(tested, 200);
    for task in data.tasks() {
        assert_eq!(task.train_lengths(), 3..=22);
    }
    assert_says(
        &data.describe().join("\n"),
        &["with --folds every row is tested once, the longest ones too"],
    );
    let test = Source {
        test: Some(file.clone()),
        reading: Reading {
            no_beyond: true,
            ..Reading::default()
        },
        ..Source::from(file.as_path())
    };
    let message = DataTask::read(&test).unwrap_err().to_string();
    assert_says(&message, &["--no-beyond", "leave it out with --test"]);
}

#[test]
fn folds_test_every_row_once_and_equal_rows_together() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.csv");
    let rows: String = (0..60)
        .map(|i: usize| {
            format!(
                "{},{} {} {}\n",
                ["x", "y", "y"][i % 3],
                i % 7,
                i % 5,
                i % 11
            )
        })
        .collect();
    // Each row twice.
    std::fs::write(&file, format!("label,text\n{rows}{rows}")).unwrap();
    let of = |folds| {
        DataTask::read(&Source {
            folds: Some(folds),
            ..Source::from(file.as_path())
        })
    };
    let data = of(5).unwrap();
    let tasks = data.tasks();
    let names: Vec<&str> = tasks.iter().map(|task| task.name()).collect();
    assert_eq!(
        names,
        [
            "data-fold-1",
            "data-fold-2",
            "data-fold-3",
            "data-fold-4",
            "data-fold-5"
        ]
    );
    assert!(names.iter().all(|name| is_own(name)) && !is_own("digits"));
    let Made::Rows(folds) = &data.made else {
        panic!()
    };
    let mut tested = Vec::new();
    for fold in folds {
        let held_out = fold.tested_rows();
        assert!((18..=30).contains(&held_out.len()), "{}", held_out.len());
        for row in &held_out {
            // The other of two equal rows.
            assert!(held_out.contains(&((row + 60) % 120)), "{row}");
        }
        tested.extend(held_out);
    }
    tested.sort_unstable();
    assert_eq!(tested, (0..120).collect::<Vec<_>>());
    for wrong in [0, 1, 21] {
        let message = of(wrong).unwrap_err().to_string();
        assert_says(
            &message,
            &[&format!("--folds is {wrong}; it takes from 2 to 20")],
        );
    }
}

#[test]
fn a_test_file_is_tested_and_all_rows_of_the_other_are_trained_on() {
    let folder = tempfile::tempdir().unwrap();
    let (file, test) = (folder.path().join("a.csv"), folder.path().join("b.tsv"));
    std::fs::write(&file, mixed_lengths()).unwrap();
    let source = Source {
        test: Some(test.clone()),
        ..Source::from(file.as_path())
    };
    let of = |rows: &str| {
        std::fs::write(&test, format!("label\ttext\n{rows}")).unwrap();
        DataTask::read(&source)
    };
    let long = "w1 ".repeat(30);
    let some: String = (0..25)
        .map(|i| format!("{}\tw{} w2\n", ["x", "y"][i % 2], i % 9))
        .collect();
    let longer: String = (0..30)
        .map(|i| format!("{}\t{long}w{}\n", ["x", "y"][i % 2], i % 9))
        .collect();
    let data = of(&format!("{some}{longer}")).unwrap();
    let task = data.task();
    // The shortest row is of the test file.
    assert_eq!(
        (task.train_lengths(), task.test_lengths()),
        (2..=22, vec![2, 31])
    );
    assert_eq!((task.test_set(2).len(), task.test_set(31).len()), (25, 30));
    assert_eq!(data.spec().test.as_ref().unwrap().file, "b.tsv");
    assert_says(
        &data.describe().join("\n"),
        &[
            "200 rows to train on, 55 held out",
            "tested on the rows of b.tsv",
            "b.tsv: label from column `label`",
        ],
    );
    // A few longer ones have no test of their own, and one sequence is known by heart.
    let data = of(&format!("{some}y\t{long}\nx\tw0 w0 w0\n")).unwrap();
    assert_eq!(data.task().train_lengths(), 2..=30);
    assert_says(
        &data.describe().join("\n"),
        &[
            "1 rows of the test file are longer than those in training",
            "whose sequence is also in training: 1;",
        ],
    );
    for (rows, said) in [
        (
            "z\tw1 w2\nx\tw1 w2\n",
            "the label `z` is only in the test file",
        ),
        ("x\tw1 w2\nx\tw3 w2\n", "a score needs rows of two labels"),
        ("x\t\n", "1 bad line"),
        ("", "has no row of data"),
    ] {
        let message = of(rows).unwrap_err().to_string();
        assert_says(&message, &["b.tsv", said]);
    }
    let unknown: String = (0..25)
        .map(|i| format!("{}\tq{} r{}\n", ["x", "y"][i % 2], i % 9, i % 4))
        .collect();
    assert_says(
        &of(&unknown).unwrap_err().to_string(),
        &["100 % of the tokens of the test"],
    );
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
    says(
        folder.path(),
        &["holds no folder; it takes one folder for each class"],
    );
    let names = [".csv", ".jsonl", ".ndjson", ".txt"];
    assert_says(&refused("a.xlsx", "x"), &names);
    assert_says(&refused("data", "x"), &names);
    let large = folder.path().join("large.csv");
    let file = File::create(&large).unwrap();
    file.set_len(MAX_BYTES + 1).unwrap(); // a sparse file: nothing is written
    says(&large, &["268,435,457 bytes", "268,435,456"]);
}

/// Each of these took gigabytes before it was refused.
#[test]
fn lines_columns_and_different_tokens_have_bounds() {
    let header = "label,".repeat(40 << 20);
    assert_says(
        &refused("a.csv", &header),
        &["line 1 has 251,658,240 bytes", "16,777,216"],
    );
    let long = format!("{{\"label\": 1, \"text\": [{}", "0,".repeat(MAX_LINE));
    assert_says(
        &refused("a.jsonl", format!("{{}}\n{long}")),
        &["line 2 has 33,554,4", "16,777,216"],
    );
    let columns = |count: usize| format!("label{}\nx,1\n", ",c".repeat(count - 1));
    assert_says(
        &refused("a.csv", columns(MAX_COLUMNS + 1)),
        &["line 1 has 10,001 columns, more than 10,000"],
    );
    assert!(!refused("a.csv", columns(MAX_COLUMNS)).contains("columns, more than"));
    assert!(refused("a.csv", "x".repeat(MAX_LINE)).contains("no columns of the header"));
    // 400 different tokens in a row.
    let row = |row: usize| {
        let tokens = (0..400).map(|token| format!(" {:x}", row * 400 + token));
        format!("{},{}\n", row % 2, tokens.collect::<String>())
    };
    let text: String = (0..MAX_WORDS / 400 + 2).map(row).collect();
    assert_says(
        &refused("a.csv", format!("label,text\n{text}")),
        &[
            "more than 4,000,000 different tokens up to line 10,003",
            "--tokens characters",
        ],
    );
}

#[test]
fn a_name_that_grows_in_utf_8_is_cut() {
    let long = "\u{fffd}".repeat(251);
    let cut = short_enough(format!("{long}.csv"));
    assert_eq!(cut, format!("{}.csv", "\u{fffd}".repeat(83)));
    assert_eq!(short_enough(long).len(), 255);
    for name in ["a.csv", "", "x", &"y".repeat(255)] {
        assert_eq!(short_enough(name.to_string()), name);
    }
    assert_eq!(short_enough(format!("a.{}", "z".repeat(300))).len(), 255);
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
    assert_says(&header("label,text,label"), &["2 columns of the header"]);
    assert_says(
        &header("label"),
        &["line 2, `label`, is no header: it has 1 cell"],
    );
    assert_says(
        &refused("a.csv", "label\nx\ny\n"),
        &["no column beside `label`", "--delimiter tab"],
    );
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
         and 2 more\n\
         To leave them out, say --skip-bad 7"
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
        &["`label` is a list, expected a string, a number, true or false"],
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
        &["list, expected a token"],
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
            "30 of 30 rows have only one token",
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

/// Rows with a prompt and an answer: each of `rows` numbers, and the words of its digits.
fn answers(rows: usize) -> String {
    let digit =
        |digit: char| ["zero", "one", "two", "three", "four"][digit as usize - '0' as usize];
    let row = |nth: usize| {
        let number = format!("{:o}", nth).replace(['5', '6', '7'], "4");
        let words: Vec<&str> = number.chars().map(digit).collect();
        format!(
            r#"{{"prompt": "{nth} say {} {number}", "answer": "{}"}}"#,
            "very ".repeat(nth % 15),
            words.join(" ")
        )
    };
    (0..rows).map(row).collect::<Vec<_>>().join("\n")
}

fn as_answers(text: &str, name: &str, change: impl Fn(&mut Reading)) -> Result<DataTask, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let mut source = Source::from(path.as_path());
    source.reading.objective = Some(Objective::Answer);
    change(&mut source.reading);
    DataTask::read(&source).map_err(|error| error.to_string())
}

#[test]
fn answers_are_written_after_their_prompts() {
    let data = as_answers(&answers(300), "numbers.jsonl", |_| {}).unwrap();
    let task = data.task();
    assert_eq!(task.measure(), Measure::ExactMatch);
    let how = task.generation().unwrap();
    let lines = data.describe().join("\n");
    for words in [
        "300 rows of prompts and answers",
        "a decoder writes them",
        "answer from key `answer`; tokens from `prompt`",
        "of the most frequent answer",
    ] {
        assert!(lines.contains(words), "{words}: {lines}");
    }
    let (inside, beyond): (Vec<usize>, Vec<usize>) = task
        .test_lengths()
        .into_iter()
        .partition(|n| task.train_lengths().contains(n));
    assert!(!inside.is_empty() && !beyond.is_empty(), "{lines}");
    // A tested prompt is not trained on, and every sample is a prompt, its answer and the end.
    let mut tested = std::collections::BTreeSet::new();
    for length in task.test_lengths() {
        for sample in task.test_set(length) {
            assert!(sample.input.len() <= task.tokens_of(length));
            let prompted = Prompted::of(&sample);
            assert_eq!(prompted.sample(how), sample);
            tested.insert(prompted.prompt);
        }
    }
    for step in 0..30 {
        for sample in task.train_batch(1, step, 16) {
            let prompted = Prompted::of(&sample);
            assert!(!tested.contains(&prompted.prompt));
            assert!(
                prompted
                    .answer
                    .iter()
                    .all(|class| Some(*class) != how.unknown())
            );
            let words = how.text(&prompted.answer);
            assert!(
                words
                    .split(' ')
                    .all(|word| "zero one two three four".contains(word)),
                "{words}"
            );
        }
    }
}

#[test]
fn answers_of_a_table_in_characters_and_by_other_names() {
    let rows: String = (10..90).map(|n| format!("{n}+1,{},x\n", n + 1)).collect();
    let data = as_answers(
        &format!("prompt,answer,note\n{rows}"),
        "sums.csv",
        |reading| {
            reading.tokens = Some(TokenKind::Characters);
        },
    );
    let data = data.unwrap();
    let task = data.task();
    // Ten digits, a plus sign, what is unknown, BOS and EOS; and all of these but BOS and EOS and an end are classes.
    assert_eq!((task.vocabulary(), task.classes()), (14, 13));
    assert_eq!(task.max_tokens(), 4 + 2 + 2);
    let how = task.generation().unwrap();
    let sample = Prompted::of(&task.test_set(4)[0]);
    assert_eq!(how.text(&sample.answer).len(), 2);
    let number = |of: &[usize]| how.text(of).parse::<u32>().unwrap();
    assert_eq!(number(&sample.prompt[1..3]) + 1, number(&sample.answer));
    let named = format!("q,a\n{}", rows.replace(",x", ""));
    let by_name = as_answers(&named, "sums.csv", |reading| {
        reading.text = Some("q".into());
        reading.label = Some("a".into());
        reading.tokens = Some(TokenKind::Characters);
    });
    assert_eq!(by_name.unwrap().task().test_set(4), task.test_set(4));
    let said = as_answers(&named, "sums.csv", |_| {}).unwrap_err();
    for words in [
        "`prompt`",
        "`answer`",
        "`q`, `a`",
        "--text COLUMN and --label COLUMN",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let said = as_answers(r#"{"question": "x", "answer": "y"}"#, "a.jsonl", |_| {}).unwrap_err();
    assert!(said.contains("no key is called `prompt`"), "{said}");
    for (answer, kind) in [(r#"["y"]"#, "list"), (r#"{"y": 1}"#, "map")] {
        let line = format!(r#"{{"prompt": "x", "answer": {answer}}}"#);
        let said = as_answers(&line, "a.jsonl", |_| {}).unwrap_err();
        let words = format!("`answer` is a {kind}, expected a string, a number, true or false");
        assert!(said.contains(&words), "{said}");
        assert!(!said.contains("label"), "{said}");
    }
    let said = as_answers("a text\nof lines", "a.txt", |_| {}).unwrap_err();
    assert!(said.contains("--objective answer"), "{said}");
}

/// A word that no training row has cannot be written, so an answer with it is never right, whatever the model says.
#[test]
fn an_answer_with_an_unknown_word_is_said_to_be_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let row =
        |prompt: &str, answer: &str| format!(r#"{{"prompt": "{prompt}", "answer": "{answer}"}}"#);
    let train: Vec<String> = (0..40)
        .map(|n| row(&format!("w{} x{}", n % 8, n % 5), ["yes", "no"][n % 2]))
        .collect();
    std::fs::write(path("train.jsonl"), train.join("\n")).unwrap();
    let test: Vec<String> = (0..30)
        .map(|n| {
            row(
                &format!("w{} x{}", n % 8, n % 5),
                if n == 7 { "never seen" } else { "yes" },
            )
        })
        .collect();
    std::fs::write(path("test.jsonl"), test.join("\n")).unwrap();
    let mut source = Source::from(path("train.jsonl").as_path());
    source.test = Some(path("test.jsonl"));
    source.reading.objective = Some(Objective::Answer);
    let data = DataTask::read(&source).unwrap();
    let lines = data.describe().join("\n");
    assert!(
        lines.contains("1 of the tested answers hold a token that training does not have"),
        "{lines}"
    );
    let task = data.task();
    let how = task.generation().unwrap();
    let set = task.test_set(2);
    let unknown = set.iter().filter(|sample| {
        sample
            .answers
            .iter()
            .any(|answer| Some(answer.class) == how.unknown())
    });
    assert_eq!(unknown.count(), 1);
}

/// What the test holds is said of its file.
#[test]
fn a_test_of_other_tokens_is_refused_with_the_name_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let rows = |word: &str| -> String {
        let row = |n: usize| format!("{},{word}{} {word}{}\n", n % 2, n % 7, n % 5);
        format!("label,text\n{}", (0..60).map(row).collect::<String>())
    };
    std::fs::write(path("a.csv"), rows("w")).unwrap();
    std::fs::write(path("b.csv"), rows("z")).unwrap();
    let mut source = Source::from(path("a.csv").as_path());
    source.test = Some(path("b.csv"));
    let said = DataTask::read(&source).unwrap_err().to_string();
    let begin = format!(
        "{}: 100 % of the tokens of the test",
        path("b.csv").display()
    );
    assert!(said.starts_with(&begin), "{said}");
}
