//! Which rows are trained on, which are tested, and which are left out.

use super::*;
use crate::data::testing::{folded, tasks_of_rows, tested_on};

#[test]
fn long_sequences_are_cut_and_bad_lines_left_out_as_asked_and_it_is_said() {
    let mut text = csv_of(&rows(30));
    text.push_str(&format!("x,{}\nx,\n,y\n", "first_x ".repeat(600)));
    refused("a.csv", &text)
        .says("3 bad lines … 600 tokens … --max-len 512 … To leave them out, say --skip-bad 3");
    refused_as("a.csv", &text, "skip_bad = 2").says("3 bad lines");
    let data = read("a.csv", &text, "skip_bad = 3").unwrap();
    assert_eq!(data.describe()[0], "30 rows of labelled sequences");
    data.says(
        "3 bad lines left out, since --skip-bad allows 3: line 32: a sequence of 600 tokens … ; line 33: has no tokens",
    );
    let data = read("a.csv", &text, "max_len = 3; skip_bad = 2").unwrap();
    assert_eq!(data.task().max_tokens(), 5);
    data.says("2 bad lines left out … 1 row cut after 3 tokens, as --max-len says");
    for wrong in [0, 1, 513] {
        let settings = format!("max_len = {wrong}; skip_bad = 3");
        refused_as("a.csv", &text, &settings)
            .says(&format!("--max-len is {wrong}; it takes from 2 to 512"));
    }
}

#[test]
fn tokens_that_training_never_sees_and_rows_of_one_token_are_refused_with_the_remedy() {
    let numbers = (0..60).map(|i| {
        let cell = |k: usize| format!("0.{:05}", (i * 7919 + k * 104_729) % 100_000);
        format!("{},{},{},{}\n", cell(1), cell(2), cell(3), i % 2)
    });
    let numbers = format!("a,b,c,label\n{}", numbers.collect::<String>());
    refused_as("a.csv", &numbers, "tokens = 'cells'").says(
        "100 % of the tokens of the test do not occur in training, such as `0. … \
         read numbers with --tokens numbers, read smaller tokens with --tokens words or characters, or leave",
    );
    // A setting that is there already is not advised.
    refused_as("a.csv", &numbers, "tokens = 'words'")
        .says("--tokens numbers, read smaller tokens with --tokens characters, or leave");
    let thousands = numbers.replace("0.", "1.234,");
    refused_as(
        "a.csv",
        thousands.replace(',', ";").replace("1.234;", "1.234,"),
        "tokens = 'words'",
    )
    .says("write numbers without separators of thousands, read smaller tokens");
    let characters = "tokens = 'characters'";
    read("a.csv", &numbers, characters).unwrap();
    let genes = (0..60).map(|i| {
        let gene = ["acgt", "ttga", "cca"][i % 3];
        format!("{},{}\n", i % 2, gene.repeat(3 + i % 4))
    });
    let genes = format!("label,gene\n{}", genes.collect::<String>());
    refused("a.csv", &genes).says(
        "60 of 60 rows have only one token … --tokens characters … --tokens words … separate tokens by spaces",
    );
    let data = read("a.csv", &genes, characters).unwrap();
    shown_row(&data, 1).says("BOS a c g t a c g t");
    // The end of a text in another alphabet.
    let text = "abc ".repeat(900) + &"\u{3b1}\u{3b2}\u{3b3} ".repeat(100);
    refused("a.txt", text).says("75 % of the characters of the last tenth");
}

/// 200 rows of 3 to 22 tokens.
fn mixed_lengths() -> String {
    let rows = (0..200).map(|i: usize| {
        let words = (0..3 + i % 20).map(|k| format!("w{}", (i * (k + 1)) % 11));
        let words: Vec<String> = words.collect();
        format!("{},{}\n", ["x", "y"][i % 2], words.join(" "))
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
    let all = read("a.csv", mixed_lengths(), "no_beyond = true").unwrap();
    assert_eq!((beyond(&all), all.task().train_lengths()), (0, 3..=22));
    all.says("no test beyond the training lengths: --no-beyond keeps the longest rows in training");
}

#[test]
fn with_folds_no_row_is_left_out_as_too_long() {
    let data = folded("a.csv", mixed_lengths(), "", 4).unwrap();
    let folds = tasks_of_rows(&data).iter();
    let tested: usize = folds.map(|fold| fold.tested_rows().len()).sum();
    assert_eq!(tested, 200);
    for task in data.tasks() {
        assert_eq!(task.train_lengths(), 3..=22);
    }
    data.says("with --folds every row is tested once, the longest ones too");
    let (rows, test) = (("a.csv", mixed_lengths()), ("b.csv", mixed_lengths()));
    let error = tested_on(rows, test, "no_beyond = true").unwrap_err();
    error.says("--no-beyond … leave it out with --test");
}

#[test]
fn folds_test_every_row_once_and_equal_rows_together() {
    let row = |i: usize| {
        let label = ["x", "y", "y"][i % 3];
        format!("{label},{} {} {}\n", i % 7, i % 5, i % 11)
    };
    let rows: String = (0..60).map(row).collect();
    // Each row twice.
    let twice = format!("label,text\n{rows}{rows}");
    let of = |folds: usize| folded("a.csv", &twice, "", folds);
    let data = of(5).unwrap();
    let tasks = data.tasks();
    let names: Vec<&str> = tasks.iter().map(|task| task.name()).collect();
    assert_eq!(
        names,
        [1, 2, 3, 4, 5].map(|fold| format!("data-fold-{fold}"))
    );
    assert!(names.iter().all(|name| is_own(name)) && !is_own("digits"));
    let mut tested = Vec::new();
    for fold in tasks_of_rows(&data) {
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
        let error = of(wrong).unwrap_err();
        error.says(&format!("--folds is {wrong}; it takes from 2 to 20"));
    }
}

#[test]
fn a_test_file_is_tested_and_all_rows_of_the_other_are_trained_on() {
    let of = |rows: &str| {
        let test = ("b.tsv", format!("label\ttext\n{rows}"));
        tested_on(("a.csv", mixed_lengths()), test, "")
    };
    let long = "w1 ".repeat(30);
    let lines = |count: usize, tokens: &dyn Fn(usize) -> String| -> String {
        let line = |i| format!("{}\t{}\n", ["x", "y"][i % 2], tokens(i));
        (0..count).map(line).collect()
    };
    let some = lines(25, &|i| format!("w{} w2", i % 9));
    let longer = lines(30, &|i| format!("{long}w{}", i % 9));
    let data = of(&format!("{some}{longer}")).unwrap();
    let task = data.task();
    // The shortest rows are in the test file. They count as inside, though no row to train on is as short.
    assert_eq!(task.train_lengths(), 3..=22);
    assert_eq!([2, 31].map(|length| task.is_inside(length)), [true, false]);
    data.says("25 rows of the test file are shorter than the shortest row to train on (3 tokens); they count as inside");
    assert_eq!(task.test_lengths(), [2, 31]);
    assert_eq!((task.test_set(2).len(), task.test_set(31).len()), (25, 30));
    assert_eq!(data.spec().test.as_ref().unwrap().file, "b.tsv");
    data.says("200 rows to train on, 55 held out … tested on the rows of b.tsv … b.tsv: label from column `label`");
    // A few longer rows have no test of their own and count as inside; the sequence of one row is also in training.
    let data = of(&format!("{some}y\t{long}\nx\tw0 w0 w0\n")).unwrap();
    assert_eq!(data.task().train_lengths(), 3..=22);
    assert!(data.task().is_inside(30));
    data.says("the test file has 1 row longer than any in training, too few for a test; it counts as inside … whose sequence is also in training: 1;");
    let unknown = lines(25, &|i| format!("q{} r{}", i % 9, i % 4));
    for (rows, said) in [
        (
            "x\tw1 w2\nz\tw1 w2\n",
            "the label `z` of row 2 is only in the test file",
        ),
        (
            "x\tw1 w2\nx\tw3 w2\n",
            "has 2 rows of one label, and a score needs rows of two",
        ),
        ("x\t\n", "1 bad line"),
        ("", "has no row of data"),
        (&unknown, ": 100 % of the tokens of the test"),
    ] {
        of(rows).unwrap_err().says(&format!("b.tsv … {said}"));
    }
}

/// Columns of a test file belong to those of the first by their names, wherever they stand.
#[test]
fn columns_of_a_test_file_are_found_by_their_names() {
    let table = |columns: &[&str], rows: std::ops::Range<usize>| {
        let cell = |column: &&str, row: usize| match *column {
            "label" => ["well", "ill"][row % 2].to_string(),
            name => format!("{name}{}", row * row % (7 + name.len())),
        };
        let line = |row: usize| {
            columns
                .iter()
                .map(|column| cell(column, row))
                .collect::<Vec<_>>()
                .join(",")
        };
        let header = columns.join(",");
        std::iter::once(header)
            .chain(rows.map(line))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let first = || table(&["a", "bb", "ccc", "label"], 0..60);
    let of =
        |columns: &[&str]| tested_on(("a.csv", first()), ("b.csv", table(columns, 60..90)), "");
    let as_it_stands = of(&["a", "bb", "ccc", "label"]).unwrap().task();
    for columns in [
        &["ccc", "label", "bb", "a"][..],
        &["dddd", "a", "bb", "label", "ccc"],
    ] {
        let other = of(columns).unwrap().task();
        assert_eq!(other.test_set(3), as_it_stands.test_set(3), "{columns:?}");
    }
    let said = of(&["label", "bb", "ccc"]).unwrap_err();
    said.says(
        "it has no column `a`, and the first file has one; its columns are `label`, `bb`, `ccc`",
    );
    let lacking = of(&["a", "bb", "label"]).unwrap_err();
    lacking.says("it has no column `ccc`");
    // A column more at the end is not read, as one elsewhere.
    let more = of(&["a", "bb", "ccc", "dddd", "label"]).unwrap().task();
    assert_eq!(more.test_set(3), as_it_stands.test_set(3));
    // Where names only count the columns, rows with fewer of them are shorter.
    let numbered = |columns: usize, rows: std::ops::Range<usize>| {
        let names = (1..=columns)
            .map(|at| format!("x{at},"))
            .collect::<String>();
        let row = |row: usize| "ab,".repeat(columns) + ["left", "right"][row % 2];
        let rows = rows.map(row).collect::<Vec<_>>().join("\n");
        format!("{names}label\n{rows}\n")
    };
    let shorter = tested_on(
        ("a.csv", numbered(3, 0..60)),
        ("b.csv", numbered(2, 60..90)),
        "",
    );
    assert_eq!(shorter.unwrap().task().test_set(2).len(), 30);
    let noted = numbered(2, 60..90).replacen("label", "note,label", 1);
    let noted = noted
        .replace(",left", ",seen,left")
        .replace(",right", ",seen,right");
    let noted = tested_on(("a.csv", numbered(2, 0..60)), ("b.csv", noted), "");
    assert_eq!(noted.unwrap().task().test_set(2).len(), 30);
}
