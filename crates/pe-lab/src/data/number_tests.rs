//! Rows of numbers become vectors: cells of a table, lists of JSON lines, and series of `.ts` files.

use std::fmt::Write as _;

use super::*;
use crate::data::testing::{Says, file, load, read, source, tested, tested_on, vectors};

/// Rows of three numbers, rising or falling, with a class.
fn table(rows: usize) -> String {
    let mut text = String::from("a,b,c,label\n");
    for row in 0..rows {
        let (base, rises) = (row as f64 * 0.37, row % 2 == 0);
        let [first, last] = if rises { [0.5, 2.5] } else { [2.5, 0.5] };
        let label = if rises { "up" } else { "down" };
        let (first, last) = (base + first, base + last);
        writeln!(text, "{first:.3},{base:.3},{last:.3},{label}").unwrap();
    }
    text
}

/// A file of series that rise or fall, with two channels, the second of them constant.
fn series(rows: usize, first: usize) -> String {
    let mut text =
        String::from("@problemName Slopes\n@dimensions 2\n@classLabel true up down\n@data\n");
    for row in first..first + rows {
        let steps = 3 + row % 3;
        let slope = if row % 2 == 0 { 0.5 } else { -0.5 };
        let of = |number: &dyn Fn(usize) -> f64| {
            let all = (0..steps).map(|step| format!("{:.2}", number(step)));
            all.collect::<Vec<_>>().join(",")
        };
        let label = if row % 2 == 0 { "up" } else { "down" };
        let rising = of(&|step| row as f64 + slope * step as f64);
        writeln!(text, "{rising}:{}:{label}", of(&|_| 7.0)).unwrap();
    }
    text
}

#[test]
fn cells_that_are_numbers_are_read_as_numbers() {
    let data = read("a.csv", table(60), "").unwrap();
    data.says("a token is a cell, read as a number");
    data.says("read as numbers: one for each token");
    let task = data.task();
    assert_eq!((task.vocabulary(), task.vector_width()), (0, Some(2)));
    let set = task.test_set(3);
    let (_, values) = vectors(&set[0].input);
    // BOS, three numbers, EOS.
    let edges: Vec<f32> = values.iter().skip(1).step_by(2).copied().collect();
    assert_eq!(edges, [-1.0, 0.0, 0.0, 0.0, 1.0]);
    assert!(values.iter().all(|value| value.abs() < 4.0), "{values:?}");
}

#[test]
fn decimal_commas_and_columns_between_blanks_are_read_as_points_and_commas_are() {
    let batch = |text: &str, said: &str| {
        let data = read("a.csv", text, "").unwrap();
        data.says(said);
        (data.labels().to_vec(), data.task().train_batch(1, 0, 16))
    };
    let plain = table(60);
    let with_commas = |text: &str| {
        text.replace(',', ";")
            .replace('.', ",")
            .replacen("0,500", "0,5", 1)
    };
    let (commas, numbers) = (
        with_commas(&plain),
        plain.replace("up", "1.5").replace("down", "2.5"),
    );
    let of_commas = with_commas(&numbers);
    let aligned = plain.replace(',', "   ").replace('\n', "\n  ");
    assert_eq!(
        batch(
            &commas,
            "numbers with decimal commas, such as `0,5` in line 2: in `a`, `b`, `c`"
        ),
        batch(&plain, "columns separated by a comma")
    );
    assert_eq!(
        batch(&of_commas, "in `a`, `b`, `c`, `label`"),
        batch(&numbers, "a number is to be predicted")
    );
    assert_eq!(
        batch(&aligned, "columns separated by blanks"),
        batch(&plain, "read as numbers")
    );
    // Three digits behind the comma of each may be thousands, unless a 0 stands first.
    let in_threes = commas.replacen("0,5", "0,500", 1);
    batch(&in_threes, "such as `0,500` in line 2: in `a`, `b`, `c`");
    let wrong = read("a.csv", in_threes.replace("0,", "1,"), "").unwrap_err();
    wrong.says("line 2: `a` is `1,500`, whose comma may be a decimal comma or mark thousands");
}

#[test]
fn other_files_have_the_decimal_commas_of_the_study() {
    let folder = tempfile::tempdir().unwrap();
    let commas = |text: &str| text.replace(',', ";").replace('.', ",");
    let study = commas(&table(60)).replacen("0,500", "0,5", 1);
    let data = source(folder.path(), "a.csv", &study, "");
    let data = DataTask::read(&data).unwrap();
    // All of these may mark thousands.
    let new = "a,b,c,label\n4.123,3.623,6.123,up\n6.123,3.623,4.123,down\n";
    let samples = |name: &str, text: &str| {
        let new = file(folder.path(), name, text);
        data.to_predict(NAME, &new).unwrap().samples
    };
    assert_eq!(samples("b.csv", &commas(new)), samples("c.csv", new));
    let on = |test: String| {
        let data = tested_on(("a.csv", &study), ("b.csv", test), "").unwrap();
        tested(data.task().as_ref())
    };
    assert_eq!(on(commas(new)), on(new.into()));
    // Where the study has points, they may still be thousands.
    let points = source(folder.path(), "p.csv", table(60), "");
    let points = DataTask::read(&points).unwrap();
    let new = file(folder.path(), "b.csv", commas(new));
    let wrong = points.to_predict(NAME, &new).unwrap_err();
    wrong.says("line 2: `a` is `4,123`, whose comma may be a decimal comma or mark thousands");
}

#[test]
fn columns_of_a_study_that_are_called_by_numbers_are_found_without_a_label() {
    // The wavenumbers of a spectrum in the infrared.
    let names = |text: &str| text.replacen("a,b,c", "4000,3996,3991", 1);
    let folder = tempfile::tempdir().unwrap();
    let data = source(folder.path(), "a.csv", names(&table(60)), "");
    let data = DataTask::read(&data).unwrap();
    let open = names(&table(60).replace(",label", ""));
    let open = open.replace(",up", "").replace(",down", "");
    let new = |name: &str, text: &str| {
        let file = file(folder.path(), name, text);
        data.to_predict(NAME, &file).map_err(|why| why.to_string())
    };
    let found = new("new.csv", &open).unwrap();
    assert_eq!(found.samples.len(), 60);
    assert!(!found.notes.join("\n").contains("--no-header"));
    // Without the names it is a row like the others.
    let (_, rows) = open.split_once('\n').unwrap();
    let wrong = new("bare.csv", rows).unwrap_err();
    wrong.says("looks like a row as those below it");
}

#[test]
fn whole_numbers_are_symbols_unless_one_says_otherwise() {
    let whole = table(60).replace('.', "");
    let as_found = read("a.csv", &whole, "");
    assert!(as_found.map_or(true, |data| data.task().vector_width().is_none()));
    let data = read("a.csv", &whole, "tokens = 'numbers'").unwrap();
    assert_eq!(data.task().vector_width(), Some(2));
    // With this setting numbers are symbols, of which hardly any occurs twice.
    let error = read("a.csv", table(60), "tokens = 'cells'").unwrap_err();
    error.says("do not occur in training");
}

#[test]
fn a_missing_number_is_marked_and_never_moved() {
    let text = table(60).replacen("0.500,0.000,2.500", "0.500,,2.500", 1);
    let data = read("a.csv", &text, "").unwrap();
    data.says("an empty cell is a missing value");
    let task = data.task();
    assert_eq!(task.vector_width(), Some(3));
    let trained = (0..4).flat_map(|step| task.train_batch(1, step, 16));
    let all: Vec<_> = trained.chain(task.test_set(3)).collect();
    let marks = |sample: &Sample| -> Vec<f32> {
        let (width, values) = vectors(&sample.input);
        values.iter().skip(1).step_by(width).copied().collect()
    };
    let mut missing: Vec<_> = all.iter().map(marks).collect();
    missing.retain(|marks| marks.contains(&1.0));
    assert!(!missing.is_empty());
    let third = [0.0, 0.0, 1.0, 0.0, 0.0];
    assert!(missing.iter().all(|marks| *marks == third));
}

/// Words that other programs write for a missing number. Among classes they may be names.
#[test]
fn words_for_a_missing_number_are_numbers() {
    let with =
        |cell: &str| table(60).replacen("0.500,0.000,2.500", &format!("0.500,{cell},2.500"), 1);
    let empty = read("a.csv", with(""), "").unwrap().task();
    for cell in ["None", "-", "NaT", "missing", "nan", "#VALUE!"] {
        let data = read("a.csv", with(cell), "").unwrap();
        assert_eq!(
            data.task().train_batch(1, 0, 16),
            empty.train_batch(1, 0, 16),
            "{cell}"
        );
    }
    for class in ["none", "-", "missing"] {
        let classes = read("a.csv", table(60).replace("up", class), "").unwrap();
        assert_eq!(classes.labels().len(), 2);
        assert!(classes.labels().contains(&class.to_string()), "{class}");
    }
}

/// One column of words makes symbols of all others, which is said.
#[test]
fn numbers_beside_words_are_symbols_and_that_is_said() {
    let row = |row: usize| {
        let (kind, label) = (["red", "blue"][row % 2], ["up", "down"][row / 2 % 2]);
        format!("{kind},{}.5,{}.25,{label}\n", row % 3, row % 5)
    };
    let text = format!("kind,a,b,label\n{}", (0..60).map(row).collect::<String>());
    let said = "since `kind` holds words, such as `red` in line 2; --columns a,b reads numbers";
    read("a.csv", &text, "").unwrap().says(said);
    // Whoever says what a token is needs no hint.
    let asked = read("a.csv", &text, "tokens = 'cells'").unwrap();
    assert!(!asked.describe().join("\n").contains("are read as symbols"));
}

#[test]
fn what_is_no_number_is_named() {
    let of = |cell: &str| {
        let text = table(60).replacen("0.500,", &format!("{cell},"), 1);
        read("a.csv", &text, "tokens = 'numbers'").unwrap_err()
    };
    for cell in ["x", "inf", "1e999"] {
        of(cell).says(&format!("line 2: `{cell}` is no number"));
    }
    of("1e300").says("`1e300` is too large for f32");
    let json = r#"{"label": "x", "tokens": [0.5, "y"]}"#;
    let error = read("a.jsonl", json, "tokens = 'numbers'").unwrap_err();
    error.says("line 1: `y` is no number");
}

#[test]
fn series_are_rows_of_steps_with_all_channels() {
    let data = read("a.ts", series(60, 0), "").unwrap();
    data.says("`Slopes`: series of 2 channels");
    data.says("read as numbers: 2 for each token");
    let task = data.task();
    assert_eq!((data.labels().len(), task.vector_width()), (2, Some(3)));
    assert_eq!(*task.train_lengths().start(), 3);
    let error = read("a.ts", series(60, 0), "label = 'x'").unwrap_err();
    error.says("--label is not about a file of labelled series");
}

#[test]
fn the_test_beside_the_training_is_used_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let train = file(folder.path(), "Slopes_TRAIN.ts", series(40, 0));
    let test = file(folder.path(), "Slopes_TEST.ts", series(30, 40));
    let data = DataTask::load(&train).unwrap();
    data.says("tested on the rows of Slopes_TEST.ts, which lies beside it");
    let tested = tested(data.task().as_ref());
    assert_eq!(tested.len(), 30);
    let new = data.to_predict("data", &test).unwrap();
    let answers = new.truth.iter().flatten().count();
    assert_eq!((new.samples.len(), answers), (30, 30));
    // The rows to predict are read as those of the test, but without their answers.
    for sample in tested {
        assert!(new.samples.iter().any(|other| other.input == sample.input));
    }
    // A plain text has no test file. The description says that this one looks like rows, and how it is read as rows.
    let blanks = |rows| table(rows).split_once('\n').unwrap().1.replace(',', "   ");
    let train = file(folder.path(), "Slopes_TRAIN.txt", blanks(200));
    file(folder.path(), "Slopes_TEST.txt", blanks(40));
    DataTask::load(&train).unwrap().says(
        "it is read as a plain text, and looks like a table of 4 columns separated by blanks … --label COLUMN, and --no-header",
    );
    let rows = load(&train, "no_header = true; label = '4'").unwrap();
    rows.says("tested on the rows of Slopes_TEST.txt");
}

#[test]
fn a_patch_of_steps_is_one_token() {
    // Series of 3, 4 and 5 steps with two channels: two or three tokens of four numbers.
    let data = read("a.ts", series(60, 0), "patch = 2").unwrap();
    data.says_all(&[
        "a token is a patch of 2 steps; the last one of a series is filled with missing values",
        "read as numbers: 4 for each token",
        "lengths 2 to 3 tokens",
        "row 1 as read: BOS 0 7 0.5 7; 1 7 ? ? EOS",
    ]);
    // Four numbers, whether each is missing, and the edge.
    assert_eq!(data.task().vector_width(), Some(9));

    // A series that is too long for 512 tokens is not too long in patches of 4.
    let steps = |row: usize| {
        let all = (0..1_460).map(|step| format!("{}.5", (step * (row % 2 + 1)) % 9));
        all.collect::<Vec<_>>().join(",")
    };
    let label = |row: usize| ["up", "down"][row % 2];
    let rows: String = (0..40)
        .map(|row| format!("{},{row}.5:{}\n", steps(row), label(row)))
        .collect();
    let long =
        format!("@problemName Long\n@univariate true\n@classLabel true up down\n@data\n{rows}");
    let refused = read("a.ts", &long, "").unwrap_err();
    refused.says("a sequence of 1,461 tokens");
    let data = read("a.ts", &long, "patch = 4").unwrap();
    data.says("all sequences have 366 tokens");
}

#[test]
fn patches_of_what_has_no_steps_are_refused() {
    let symbols: String = (0..40)
        .map(|row| format!("{},a,b{},c\n", ["x", "y"][row % 2], row % 7))
        .collect();
    let symbols = format!("label,p,q,r\n{symbols}");
    let words = table(60).replace("up", "x").replacen("0.500", "half", 1);
    let (text, dna) = ("words ".repeat(500), ">a x\nACGT\n".to_string());
    for (name, text, steps, what) in [
        ("a.csv", symbols, 2, "--patch joins steps of numbers"),
        (
            "a.csv",
            words,
            2,
            "`a` holds numbers, but for `half` in line 2",
        ),
        (
            "a.csv",
            table(60),
            60,
            "have only one token … if a row is one patch, make it smaller",
        ),
        ("a.csv", table(60), 65, "--patch is 65"),
        ("a.csv", table(60), 1, "it takes from 2 to 64 steps"),
        ("a.txt", text, 2, "--patch is about images"),
        ("a.fasta", dna, 2, "--patch is about images"),
    ] {
        let error = read(name, &text, &format!("patch = {steps}")).unwrap_err();
        error.says(what);
    }
}

#[test]
fn other_files_are_predicted_in_the_same_patches() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path(), "a.ts", series(60, 0), "patch = 2");
    let other = file(folder.path(), "b.ts", series(5, 60));
    let data = DataTask::read(&source).unwrap();
    let new = data.to_predict(NAME, &other).unwrap();
    let (width, values) = vectors(&new.samples[0].input);
    assert_eq!((width, values.len()), (9, 9 * 4)); // two patches, BOS and EOS
}

#[test]
fn columns_may_be_aligned_by_blanks() {
    // A table as the first release of the UCR archive has it.
    let row = |row: usize| {
        let (class, row) = (row % 2 + 1, row % 7);
        format!("   {class}.0000000e+00  -{row}.5e-01   {class}.25e+00 -1.0\r\n")
    };
    let text: String = (0..40).map(row).collect();
    let settings = "delimiter = ' '; no_header = true; label = '1'";
    let data = read("a.txt", &text, settings).unwrap();
    data.says("read as numbers: one for each token");
    data.says("all sequences have 3 tokens");
    // A file of settings takes the same words as the flag.
    let by_word = read("a.txt", &text, &settings.replace("' '", "'space'")).unwrap();
    assert_eq!(by_word.describe(), data.describe());
    let error = toml::from_str::<Reading>("delimiter = 'blank'").unwrap_err();
    error.says("one of the words tab and space");
    let error = read("a.txt", format!("{text}1 2 3 4 5\n"), settings).unwrap_err();
    error.says("line 41: 5 fields");
}

/// The rows of the table as lists of JSON lines.
fn lists(rows: usize) -> String {
    let table = table(rows);
    let line = |row: &str| {
        let (numbers, label) = row.rsplit_once(',').unwrap();
        format!("{{\"label\": \"{label}\", \"tokens\": [{numbers}]}}\n")
    };
    table.lines().skip(1).map(line).collect()
}

#[test]
fn lists_of_numbers_are_decided_as_tables_are() {
    let of = |text: &str| read("a.jsonl", text, "");
    let data = of(&lists(60)).unwrap();
    data.says("a token is a number of a list (--tokens words reads symbols)");
    data.says("read as numbers: one for each token");
    let table = read("a.csv", table(60), "").unwrap();
    let batch = |data: &DataTask| data.task().train_batch(1, 0, 8);
    assert_eq!(batch(&data), batch(&table));
    // A missing one is null, or a text that says so; it is marked.
    for missing in ["null", "\"NaN\"", "\"?\"", "\"None\""] {
        let with = lists(60).replacen("[0.500,", &format!("[{missing},"), 1);
        of(&with).unwrap().says("a missing value is marked as such");
    }
    // A study that read numbers reads whole ones as numbers too.
    let folder = tempfile::tempdir().unwrap();
    let more = r#"{"label": "up", "tokens": [1, 2, 3]}"#;
    let more = file(folder.path(), "more.jsonl", more);
    let more = data.to_predict("data", &more).unwrap();
    assert_eq!(vectors(&more.samples[0].input).0, 2);
}

#[test]
fn lists_of_symbols_stay_symbols() {
    let of = |text: &str| read("a.jsonl", text, "");
    // Read as symbols, hardly any number occurs twice.
    for word in ["\"0.500\"", "\"x\""] {
        let error = of(&lists(60).replacen("[0.500,", &format!("[{word},"), 1)).unwrap_err();
        error.says("do not occur in training");
    }
    let whole = |i: usize| {
        let (class, number) = (i % 2, i % 5);
        format!("{{\"label\": {class}, \"tokens\": [{class}, {number}, 7]}}\n")
    };
    let whole: String = (0..60).map(whole).collect();
    let hint = "numbers in quotation marks are read as symbols (--tokens numbers reads numbers)";
    of(&whole.replace("7]", "\"7.5\"]")).unwrap().says(hint);
    let names = of(&whole.replace("7]", "\"7.5\", \"x\"]")).unwrap();
    assert!(!names.describe().iter().any(|line| line == hint));
    for text in [&whole, &whole.replace("7]", "7.0]")] {
        let data = of(text).unwrap();
        assert_eq!(data.task().vector_width(), None);
        data.says("of a text, a token is a word");
    }
    let null = of(&whole.replacen("7]", "null]", 1)).unwrap_err();
    null.says("line 1: token 3 of `tokens` is null");
}
