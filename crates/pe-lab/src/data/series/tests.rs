//! Tables as programs and people write them.

mod times;

use std::fmt::Write as _;

use chrono::{Datelike, Days, NaiveDate};

use super::super::testing::{self, Says, rows, vectors};
use super::super::{DataError, DataTask};
use crate::task::Measure;

const TIMED: &str = "time = 't'";

/// A file whose column `y` is to be predicted.
fn read_as(name: &str, text: &str, settings: &str) -> Result<DataTask, DataError> {
    testing::read(name, text, &format!("target = 'y'; {settings}"))
}

fn read(text: &str, settings: &str) -> Result<DataTask, DataError> {
    read_as("a.csv", text, settings)
}

/// A table of these times and of numbers.
fn at(times: &[String]) -> String {
    let rows = times.iter().enumerate();
    let rows = rows.map(|(row, time)| format!("{time};{}\n", row * row % 17));
    format!("t;y\n{}", rows.collect::<String>())
}

/// Days, months and years of so many rows from 1999-12-29 on, a week apart.
fn weeks(rows: u32) -> impl Iterator<Item = (u32, u32, u32)> {
    let first = NaiveDate::from_ymd_opt(1999, 12, 29).unwrap();
    let dates = (0..rows).map(move |week| first + Days::new(7 * u64::from(week)));
    dates.map(|date| (date.day(), date.month(), date.year() as u32))
}

/// Rows of a number and of a target that the function writes.
fn target(write: impl Fn(usize) -> String) -> String {
    let rows = (0..300).map(|row| format!("{};{}\n", row % 5, write(row)));
    format!("x;y\n{}", rows.collect::<String>())
}

#[test]
fn a_dash_among_numbers_makes_no_classes() {
    for dashes in [1, 2, 200] {
        let text = target(|row| match row % 300 < dashes {
            true => "-".into(),
            false => (row % 40).to_string(),
        });
        let wrong = read(&text, "").unwrap_err();
        wrong.says("line 2: `y` is missing: it is `-`");
        wrong.says(&format!("--skip-bad {dashes}"));
        if dashes < 200 {
            let data = read(&text, &format!("skip_bad = {dashes}")).unwrap();
            assert!(matches!(data.task().measure(), Measure::Error { .. }));
            data.says("lines left out: ");
            data.says(&format!("line {}: `y` is missing: it is `-`", dashes + 1));
        }
    }
    // A class may be called as a missing number is elsewhere.
    let text = target(|row| ["none", "fault"][row / 3 % 2].to_string());
    assert_eq!(read(&text, "").unwrap().labels(), ["fault", "none"]);
    // Words that differ, and more of them than numbers, are classes, and the numbers among them are reported.
    let text = target(|row| ["a", "b", "7", "c"][row / 3 % 4].to_string());
    let data = read(&text, "").unwrap();
    assert_eq!(data.labels(), ["7", "a", "b", "c"]);
    data.says("`y` holds fewer numbers than words, such as `a` in line 2");
    // A class that only the test has is reported; where most rows of the test have such a class, there is nothing to
    // learn.
    let late = |from: usize| {
        let names = |row: usize| {
            if row < from {
                ["a", "b"]
            } else {
                ["new", "odd"]
            }
        };
        target(|row| names(row)[row % 2].to_string())
    };
    let data = read(&late(290), "").unwrap();
    data.says("10 of the 60 rows of the test are of a class that no row before the test has, such as `new`");
    let wrong = read(&late(246), "").unwrap_err();
    wrong.says("such as `new`, so no model can have learned it");
    // A column that holds words, and no series.
    let words = target(|row| format!("{row}")).replace("x;y\n0;", "x;y\none;");
    let words = words.lines().map(|line| match line.split_once(';') {
        Some(("x", _)) | None => format!("{line}\n"),
        Some((_, y)) => format!("word;{y}\n"),
    });
    let wrong = read(&words.collect::<String>(), "").unwrap_err();
    wrong.says("`x` holds no number, and series are made of numbers: it is `word` in line 2");
}

#[test]
fn decimal_commas_are_numbers_and_that_is_told() {
    let point = target(|row| format!("{}.{}", row % 40, row % 7));
    let comma = point.replace('.', ",");
    let [point, comma] = [point, comma].map(|text| read(&text, "").unwrap());
    assert_eq!(comma.task().test_set(16), point.task().test_set(16));
    assert!(comma.labels().is_empty());
    comma.says("numbers with decimal commas, such as `0,0` in line 2: in `y`");
    assert!(!point.text().contains("decimal"));
    let quoted = target(|row| format!("\"{},{}\"", row % 40, row % 7)).replace(';', ",");
    let quoted = read(&quoted, "").unwrap();
    assert_eq!(quoted.task().test_set(16), point.task().test_set(16));
    // 1,234 may be one and a bit, or more than a thousand.
    let thousands = target(|row| format!("1,{}", 100 + row));
    let wrong = read(&thousands, "").unwrap_err();
    wrong.says("line 2: `y` is `1,100`, whose comma may be a decimal comma or mark thousands");
    // A decimal comma among decimal points: it is the comma that is bad.
    let both = target(|row| match row {
        7 => "1,5".into(),
        _ => format!("{row}.5"),
    });
    let wrong = read(&both, "").unwrap_err();
    wrong.says("line 9: `y` is `1,5`");
}

#[test]
fn times_with_decimal_commas_are_numbers_too() {
    let text = |uneven: usize| {
        let time = |row: usize| format!("{}.5", row + uneven * (row / 100));
        at(&(0..300).map(time).collect::<Vec<_>>())
    };
    // Times that are named, and times that are found by their equal steps.
    for (uneven, settings) in [(1, TIMED), (0, "")] {
        let point = read(&text(uneven), settings).unwrap();
        let comma = read(&text(uneven).replace('.', ","), settings).unwrap();
        assert_eq!(comma.task().test_set(16), point.task().test_set(16));
        assert!(comma.task().has_times());
        comma.says("numbers with decimal commas, such as `0,5` in line 2: in `t`");
    }
}

#[test]
fn other_tables_have_the_decimal_commas_of_the_study() {
    let folder = tempfile::tempdir().unwrap();
    let study = target(|row| format!("{},{}", row % 40, row % 7));
    let source = testing::source(folder.path(), "a.csv", study, "target = 'y'");
    let data = DataTask::read(&source).unwrap();
    let samples = |write: fn(usize) -> String| {
        let new = testing::file(folder.path(), "b.csv", target(write));
        data.to_predict("data", &new).unwrap().samples
    };
    let points = samples(|row| format!("1.{}", 100 + row));
    assert_eq!(samples(|row| format!("1,{}", 100 + row)), points);
}

#[test]
fn short_series_have_shorter_windows_down_to_eight() {
    let rows = |rows: usize| {
        let rows = (0..rows).map(|row| format!("{}\n", row * row % 17));
        format!("y\n{}", rows.collect::<String>())
    };
    for (count, window, held_out, tested) in [
        (56, 8, 18, 10),
        (60, 8, 20, 12),
        (100, 14, 33, 19),
        (144, 20, 40, 20),
        (224, 32, 52, 20),
        (260, 32, 52, 20),
    ] {
        let data = read(&rows(count), "").unwrap();
        let task = data.task();
        assert_eq!(task.train_lengths(), window / 2..=window, "{count}");
        assert_eq!(task.test_lengths(), [window / 2, window], "{count}");
        assert_eq!(task.test_set(window).len(), tested, "{count}");
        data.says(&format!("the last {held_out} are the test"));
        let note = format!("has {window} rows, a seventh of so short a series");
        assert_eq!(data.text().contains(&note), window < 32, "{count}");
        for sample in task.test_set(window) {
            assert_eq!(vectors(&sample.input).1.len(), window);
        }
    }
    let wrong = read(&rows(55), "").unwrap_err();
    wrong.says("has 55 rows, too few for a series: it takes at least 56");
    assert!(!wrong.text().contains("--max-len"), "{wrong}");
    let of = |max_len| read(&rows(100), &format!("max_len = {max_len}"));
    let wrong = of(24).unwrap_err();
    wrong.says("has 100 rows, too few for windows of 24: they take at least 102");
    wrong.says("--max-len is at most 23");
    assert_eq!(of(23).unwrap().task().test_set(23).len(), 10);
}

#[test]
fn json_lines_are_read_as_a_table_is() {
    let mut table = String::from("t,x,y\n");
    let mut lines = String::new();
    for row in 0..300 {
        let (x, y) = (row % 5, row * row % 17);
        writeln!(table, "{row},{x}.5,{y}").unwrap();
        writeln!(lines, r#"{{"t": {row}, "x": {x}.5, "y": {y}}}"#).unwrap();
        writeln!(lines).unwrap();
    }
    let json = |text: &str, settings: &str| read_as("a.jsonl", text, settings);
    let data = json(&lines, TIMED).unwrap();
    let table = read(&table, TIMED).unwrap();
    assert_eq!(data.task().test_set(16), table.task().test_set(16));
    data.says("a token is a row: `y`, `x`");
    for [line, words] in rows(
        r#"
        [1, 2]                           | line 3: invalid type: sequence, expected an object of numbers and texts
        {"t": 1, "x": [1], "y": 2}       | line 3: `x` is a list, expected a string, a number, true or false
        {"t": 1, "x": 1, "x": 2, "y": 2} | line 3: duplicate field `x`
        {"t": 1, "x": null, "y": 2}      | line 3: `x` is missing
        {"t": 1, "y": 2}                 | line 3: `x` is missing
        "#,
    ) {
        let second = r#"{"t": 1, "x": 1.5, "y": 1}"#;
        let wrong = json(&lines.replacen(second, line, 1), TIMED).unwrap_err();
        wrong.says(words);
        wrong.says("--skip-bad 1");
    }
    let wrong = json("x,y\n1,2\n", "").unwrap_err();
    wrong.says(r#"a line looks like {"date": "2024-05-17", "sales": 12.5}"#);
    assert!(!wrong.text().contains("--skip-bad"), "{wrong}");
    let wrong = json(&lines, "no_header = true").unwrap_err();
    wrong.says("--no-header is for tables, and this file holds JSON lines");
    let wrong = testing::read("a.jsonl", &lines, "target = 'z'").unwrap_err();
    wrong.says("--target names `z`, and there is no such column; the columns are: `t`, `x`, `y`");
    let wrong = read_as("a.json", &lines, "").unwrap_err();
    wrong.says("one object per line");
}

#[test]
fn a_range_of_columns_leaves_the_target_and_the_time_out() {
    let row = |row: usize| {
        let (a, b, c) = (row % 3, row % 5, row % 7);
        format!("{a},{row},{b},{},{c}\n", row * row % 17)
    };
    let text = format!("a,t,b,y,c\n{}", (0..300).map(row).collect::<String>());
    let of = |columns: &str| read(&text, &format!("{TIMED}; columns = [{columns}]"));
    for (columns, read) in [
        ("'a..c'", "`y`, `a`, `b`, `c`"),
        ("'b..y', 'a'", "`y`, `b`, `a`"),
    ] {
        of(columns)
            .unwrap()
            .says(&format!("a token is a row: {read}"));
    }
    for (columns, said) in [
        ("'c..a'", "`c` comes after `a` in the file"),
        ("'a..z'", "--columns names `z`"),
        ("'a', 't'", "which is the column of the times"),
    ] {
        of(columns).unwrap_err().says(said);
    }
}

#[test]
fn no_advice_is_given_that_cannot_help() {
    // All rows are bad.
    let text = target(|_| String::new());
    let wrong = read(&text, "").unwrap_err();
    wrong.says("300 bad lines");
    assert!(!wrong.text().contains("--skip-bad"), "{wrong}");
    let text = target(|row| row.to_string());
    let wrong = testing::read("a.csv", &text, "target = '7'; no_header = true").unwrap_err();
    assert!(!wrong.text().contains("--no-header"), "{wrong}");
    // No rows, and rows without times.
    let wrong = read("t,y\n", TIMED).unwrap_err();
    wrong.says("has no row of data");
    let wrong = read("t,y\n,1\n,2\n", TIMED).unwrap_err();
    wrong.says("line 2: `t` is ``");
    // Cells that are no times.
    let soon = text.replace("x;y", "t;y").replace("\n0;", "\nsoon;");
    let wrong = read(&soon, "").unwrap_err();
    wrong.says("line 2: `t` is `soon`, and series are made of numbers");
    let words = at(&vec!["soon".to_string(); 300]);
    let wrong = read(&words, TIMED).unwrap_err();
    wrong.says(
        "--time names `t`, which holds neither numbers nor dates such as 2024-05-17 … it holds `",
    );
    // Where too few rows would be left, --skip-bad is no help.
    let back = at(&(0..300)
        .rev()
        .map(|row| row.to_string())
        .collect::<Vec<_>>());
    let wrong = read(&back, TIMED).unwrap_err();
    wrong.says("299 bad lines");
    assert!(!wrong.text().contains("--skip-bad"), "{wrong}");
}

#[test]
fn a_table_of_times_without_labels_is_told_how_series_are_read() {
    let asked = |text: &str| testing::read("a.csv", text, "").unwrap_err();
    let dates: Vec<String> = weeks(300)
        .map(|(d, m, y)| format!("{y}-{m:02}-{d:02}"))
        .collect();
    asked(&at(&dates)).says("such as --target y --time t; the columns are");
    // With names as a shell takes them, and columns of numbers alone.
    let words = at(&dates)
        .replace('\n', ";sun\n")
        .replacen("t;y;sun", "t;a b;weather", 1);
    asked(&words).says("such as --target 'a b' --time t --columns 'a b'");
    let labels = words.replacen("a b;weather", "label;label", 1);
    asked(&labels)
        .says("2 columns of the header … give the others another name … --target label --time t");
    let again = [dates.clone(), dates.clone()].concat();
    asked(&at(&again)).says("the steps of several series … --id COLUMN --label COLUMN --time t");
    let years = at(&(0..300).map(|year| year.to_string()).collect::<Vec<_>>());
    asked(&years.replacen('t', "Year", 1)).says("such as --target y --time Year");
    assert!(!asked(&years).text().contains("--target"));
    let lines: String = dates
        .iter()
        .map(|day| format!("{{\"t\": \"{day}\", \"y\": 1.5}}\n"))
        .collect();
    let told = testing::read("a.jsonl", &lines, "").unwrap_err();
    told.says("the other keys are `t`, `y`; name it with --label KEY; lines that are measurements");
    told.says("take --target KEY, and --time KEY");
}

#[test]
fn a_column_that_may_be_the_time_is_asked_about() {
    // A day is missing, and the steps are not equal.
    let days: Vec<String> = (0..301)
        .filter(|day| *day != 150)
        .map(|day| day.to_string())
        .collect();
    let data = testing::read("a.csv", at(&days), "target = 'y'").unwrap();
    data.says("no times: `t` rises by unequal steps … say so with --time t");
    let timed = testing::read("a.csv", at(&days), "target = 'y'; time = 't'").unwrap();
    assert!(!timed.text().contains("no times"));
    // Numbers with separators of thousands are no numbers.
    let prices: String = (0..300)
        .map(|row| format!("{row};1,{:03}.5\n", row % 999))
        .collect();
    let wrong = testing::read("a.csv", format!("t;y\n{prices}"), "target = 'y'").unwrap_err();
    wrong.says("is read as classes, since `1,000.5` in line 2 is no number");
}

#[test]
fn files_that_are_no_text_are_told_what_they_are() {
    let excel = "is a spreadsheet of Excel";
    let (parquet, arrow) = match cfg!(feature = "parquet") {
        true => (
            "is a Parquet file that is broken",
            "is an Arrow file that is broken",
        ),
        false => (
            "is a Parquet file, which is not read; build pe-lab with --features parquet, or write it as a table",
            "is an Arrow or Feather file, which is not read; build pe-lab with --features parquet, or",
        ),
    };
    let (zip, gzip) = (
        "is a ZIP archive or a spreadsheet",
        "is a gzip stream that is broken or ends too early",
    );
    for (name, bytes, what) in [
        ("a.parquet", &b"PAR1\x15\x04\x15\x20"[..], parquet),
        ("a.feather", b"ARROW1\0\0\xff\xff", arrow),
        ("a.xlsx", b"PK\x03\x04\x14\0\x06", zip),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1", excel),
        ("a.csv.gz", b"\x1f\x8b\x08\0\0", gzip),
        ("a.csv", b"\x1f\x8b\x08\0\0", "is packed by gzip"),
        ("a.npy", b"\x93NUMPY\x01\0v\0", "is an array of NumPy"),
    ] {
        for settings in ["target = 'y'", "label = 'y'"] {
            testing::read(name, bytes, settings).unwrap_err().says(what);
        }
    }
    // Without a flag too.
    let said = testing::read("a.parquet", b"PAR1\x15\x04", "").unwrap_err();
    said.says("is a Parquet file");
    // A column may have the name `PAR1`.
    let rows = (0..300).map(|row| format!("{},{}\n", row % 5, row * row % 17));
    let text = format!("PAR1,y\n{}", rows.collect::<String>());
    assert!(read(&text, "").is_ok());
}
