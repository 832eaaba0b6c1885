//! Data files become tasks, or errors.

mod columns;
mod parts;
mod refused;
mod written;

use std::fs::File;

use super::spec::short_enough;
use super::*;
use crate::data::testing::{self, Says, read, tasks_of_rows};
use crate::task::tests::check_contract;
use crate::task::{Measure, Prompted, Sample};

fn good(name: &str, content: impl AsRef<[u8]>) -> DataTask {
    read(name, content, "").unwrap()
}

/// What is said about a bad file, without its folder.
fn refused(name: &str, content: impl AsRef<[u8]>) -> String {
    refused_as(name, content, "")
}

/// What is said about a bad file that is read with these settings.
fn refused_as(name: &str, content: impl AsRef<[u8]>, settings: &str) -> String {
    let error = read(name, content, settings).expect_err("a bad file was accepted");
    let message = error.to_string();
    let start = message.find(name).unwrap();
    message[start..].to_string()
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

/// The same rows as JSON lines.
fn json_of(rows: &[(&str, Vec<String>)]) -> String {
    let line = |(label, tokens): &(&str, Vec<String>)| {
        format!(
            "{{\"label\":\"{label}\",\"text\":\"{}\"}}\n",
            tokens.join(" ")
        )
    };
    rows.iter().map(line).collect()
}

/// Everything that a study sees of data, wherever its tokens were found.
fn everything(data: &DataTask) -> impl PartialEq + std::fmt::Debug + use<> {
    let described = data.describe().iter();
    let described =
        described.filter(|line| !line.starts_with("label from") && !line.contains("not read"));
    let described: Vec<String> = described.cloned().collect();
    (testing::everything(data.task().as_ref()), described)
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
    let cells = read("a.csv", &columns, "columns = ['t1', 't2', 't3']").unwrap();
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
    let prose = (0..400)
        .map(|i| format!("line {i}\n\n"))
        .collect::<String>();
    for (name, unix) in [
        ("a.csv", csv_of(&rows(40))),
        ("a.jsonl", json_of(&rows(40))),
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
    let file = FileSpec {
        file: "some text.txt".into(),
        sha256: "e79ac225ade85aa61c0cde755065d0abe08d3461a99a9b2f2ae97527022f4d35".into(),
        bytes: 2000,
    };
    let spec = DataSpec::new(file, Format::Text, &Reading::default());
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
        check_contract(task.as_ref());
        let mut floors = task
            .test_lengths()
            .into_iter()
            .map(|length| task.floor(length));
        assert!(floors.all(|floor| floor < 1.0));
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
    let mut lines = data.describe().iter();
    let line = lines.find_map(|line| line.strip_prefix(&start));
    line.unwrap().to_string()
}

#[test]
fn an_empty_cell_is_a_token_of_its_own_and_shifts_nothing() {
    let mut text = String::from("t1,t2,t3,label\n1,,2,y\n,1,2,n\n");
    for row in 0..20 {
        text.push_str(&format!("{},1,2,y\n2,{},1,n\n", row % 3, row % 4));
    }
    let data = good("a.csv", &text);
    let shown = [1, 2].map(|row| shown_row(&data, row));
    assert_eq!(shown[0], "BOS 1 <empty> 2 EOS (3 tokens), label `y`");
    assert_eq!(shown[1], "BOS <empty> 1 2 EOS (3 tokens), label `n`");
    assert_eq!(data.task().train_lengths(), 3..=3);
    data.says("2 rows with empty cells: an empty cell is a token of its own");
    // The two rows differ in the numbers that a model reads, too.
    let row = |words: [&str; 3]| tasks_of_rows(&data)[0].encode(&words).unwrap();
    assert_ne!(row(["1", "", "2"]), row(["", "1", "2"]));
    // The columns may have other names.
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
    data.says("20 rows with empty cells at the end: there the row ends");
    // A row with fewer fields than the header ends early.
    let mut text = String::from("label,t1,t2,t3\n");
    for row in 0..20 {
        text.push_str(&format!("x,a,{}\ny,b,d,{}\n", row % 3, row % 4));
    }
    let data = good("a.csv", &text);
    assert_eq!(data.task().train_lengths(), 2..=3);
    assert!(!data.describe().join("\n").contains("empty cells"));
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
    task.describe()[1].says("2 labels: `3` 20, `true` 20");
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
    lines.says(
        "301 rows of labelled sequences … 2 labels: `x` 151, `y` 150 … lengths 3 to 22 tokens, half of them up to 13 … \
         of the tokens tested,  … tested beyond the training lengths, which end at 20: 30 rows of up to 22 tokens … \
         rows with the sequence of an earlier one: 201;  … sequences under more than one label: 1; ",
    );
}
