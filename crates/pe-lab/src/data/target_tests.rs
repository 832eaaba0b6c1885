//! Rows of which a number is predicted: what makes labels numbers, how they are scored, and what becomes of them.

use std::fs;
use std::path::PathBuf;

use super::limits::NAME;
use super::{DataTask, Objective, Source, TokenKind, Truth, prepared_task};
use crate::data::testing::{Says, reading};
use crate::task::{Measure, Task};

/// Rows of words whose number is that of the word `up` in them, and a half.
fn words(rows: usize, number: impl Fn(usize) -> String) -> String {
    let row = |row: usize| {
        let ups = row % 5;
        let words: Vec<&str> = (0..6)
            .map(|i| if i < ups { "up" } else { "flat" })
            .collect();
        format!("{},{} {row}\n", number(ups), words.join(" "))
    };
    let rows: String = (0..rows).map(row).collect();
    format!("height,text\n{rows}")
}

fn halves(ups: usize) -> String {
    format!("{}", ups as f64 + 0.5)
}

struct File {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn file(name: &str, text: &str) -> File {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    File {
        _folder: folder,
        path,
    }
}

fn read(file: &File, objective: Option<Objective>) -> Result<DataTask, String> {
    let source = Source {
        reading: reading(|r| {
            r.label = Some("height".into());
            r.text = Some("text".into());
            r.objective = objective;
        }),
        ..Source::from(file.path.as_path())
    };
    DataTask::read(&source).map_err(|error| error.to_string())
}

/// The numbers that a task asks in its tests, in the unit of the data, given the mean of the training.
fn asked(task: &dyn Task, mean: f64) -> Vec<f64> {
    let tests = task.test_lengths().into_iter();
    let samples = tests.flat_map(|length| task.test_set(length));
    samples
        .map(|sample| f64::from(sample.numbers[0]) * task.unit() + mean)
        .collect()
}

#[test]
fn labels_that_are_measurements_are_numbers_to_be_predicted() {
    let file = file("a.csv", &words(100, halves));
    let data = read(&file, None).unwrap();
    let task = data.task();
    assert_eq!(
        task.measure(),
        Measure::Error {
            unit: "height".into()
        }
    );
    assert_eq!((task.classes(), data.labels().len()), (1, 0));
    let said = data.describe().join("\n");
    said.says("a number is to be predicted of each, `height`: from 0.5 to 4.5");
    said.says("floor, the mean absolute error of the mean of the training");
    let new = data.to_predict(NAME, &file.path).unwrap();
    let mean = new.from.as_ref().unwrap()[0];
    let numbers = asked(task.as_ref(), mean);
    assert_eq!(numbers.len(), 20);
    for number in &numbers {
        let nearest = (number - 0.5).round() + 0.5;
        assert!((number - nearest).abs() < 1e-6, "{number}");
    }
    let error = numbers.iter().map(|number| (number - mean).abs());
    let floor = error.sum::<f64>() / numbers.len() as f64;
    let length = task.test_lengths()[0];
    assert!((task.floor(length) - floor).abs() < 1e-6);
    assert_eq!(new.truth[3], Some(Truth::Number(3.5)));
}

#[test]
fn whole_labels_are_classes_until_it_is_said_that_they_are_numbers() {
    let file = file("a.csv", &words(100, |ups| format!("{ups}")));
    let by = |objective| read(&file, objective).unwrap().task().measure();
    assert_eq!(by(None), Measure::Accuracy);
    let number = Measure::Error {
        unit: "height".into(),
    };
    assert_eq!(by(Some(Objective::Number)), number);
    let file = self::file("a.csv", &words(100, halves));
    let data = read(&file, Some(Objective::Class)).unwrap();
    assert_eq!(data.task().measure(), Measure::Accuracy);
    assert_eq!(data.labels().len(), 5);
}

#[test]
fn many_whole_labels_are_refused_with_the_way_out() {
    let number = |row: usize| format!("{row},{} {}\n", ["a", "b"][row % 2], row);
    let text: String = (0..500).map(number).collect();
    let file = file("a.csv", &format!("height,text\n{text}"));
    let error = read(&file, None).unwrap_err();
    assert!(error.contains("--objective number"), "{error}");
    let task = read(&file, Some(Objective::Number)).unwrap().task();
    assert_eq!(asked(task.as_ref(), 0.0).len(), 100);
}

#[test]
fn a_label_that_is_no_number_is_named_with_its_line() {
    let text = words(50, halves).replacen("3.5,", "tall,", 1);
    let file = file("a.csv", &text);
    let error = read(&file, Some(Objective::Number)).unwrap_err();
    error.says("line 5: the number to be predicted is `tall`");
    for bad in ["inf", "nan", "1e999"] {
        let file = self::file("a.csv", &text.replacen("tall", bad, 1));
        let error = read(&file, Some(Objective::Number)).unwrap_err();
        assert!(error.contains(bad), "{error}");
    }
    let far = self::file("a.csv", &text.replacen("tall", "1e300", 1));
    // It is in training or in the test: either way no model can say it.
    let said = read(&far, Some(Objective::Number));
    assert!(said.is_ok() || said.unwrap_err().contains("too large for f32"));
}

#[test]
fn folds_groups_and_tests_take_numbers() {
    let file = file("a.csv", &words(100, halves));
    let mut source = Source::from(file.path.as_path());
    source.reading.label = Some("height".into());
    source.reading.text = Some("text".into());
    source.folds = Some(4);
    let folds = DataTask::read(&source).unwrap().tasks();
    let tested = folds.iter().map(|task| asked(task.as_ref(), 0.0).len());
    assert_eq!(tested.sum::<usize>(), 100);

    let of_group: String = (0..100)
        .map(|row| format!("{},g{},a b {row}\n", halves(row % 5), row % 10))
        .collect();
    let grouped = self::file("a.csv", &format!("height,who,text\n{of_group}"));
    let mut source = Source::from(grouped.path.as_path());
    source.reading.label = Some("height".into());
    source.reading.text = Some("text".into());
    source.reading.group = Some("who".into());
    assert_eq!(
        asked(DataTask::read(&source).unwrap().task().as_ref(), 0.0).len(),
        20
    );

    let other = self::file("b.csv", "height,text\n9.25,up up\n-1,flat\n");
    let mut source = Source::from(file.path.as_path());
    source.reading.label = Some("height".into());
    source.reading.text = Some("text".into());
    source.test = Some(other.path.clone());
    let task = DataTask::read(&source).unwrap().task();
    let mut numbers = asked(task.as_ref(), 2.5);
    numbers.sort_by(f64::total_cmp);
    assert!((numbers[0] + 1.0).abs() < 1e-6 && (numbers[1] - 9.25).abs() < 1e-6);
}

#[test]
fn series_have_numbers_and_a_prepared_file_keeps_them() {
    let series = |row: usize| {
        let steps: Vec<String> = (0..8).map(|i| format!("{}", (row * i) % 7)).collect();
        format!("{}:{}\n", steps.join(","), row as f64 / 4.0)
    };
    let rows: String = (0..60).map(series).collect();
    let text = format!(
        "@problemName Slow\n@univariate true\n@classLabel false\n@targetLabel true\n@data\n{rows}"
    );
    let file = file("a.ts", &text);
    let data = DataTask::load(&file.path).unwrap();
    assert!(
        data.describe()
            .join("\n")
            .contains("the number to be predicted is the last field")
    );
    let task = data.task();
    assert_eq!(
        task.measure(),
        Measure::Error {
            unit: "target".into()
        }
    );
    let mut out = Vec::new();
    data.write_prepared("it", &mut out).unwrap();
    let prepared = file.path.with_extension("prepared");
    fs::write(&prepared, out).unwrap();
    let entry = crate::door::Entry::named(&prepared);
    let again = prepared_task(&entry, "it", data.spec(), NAME).unwrap();
    assert_eq!(
        (again.unit(), again.measure()),
        (task.unit(), task.measure())
    );
    for length in task.test_lengths() {
        assert_eq!(again.test_set(length), task.test_set(length));
        assert_eq!(again.floor(length), task.floor(length));
    }
    let open = self::file("new.ts", &text.replacen(":0\n", ":?\n", 1));
    let new = data.to_predict(NAME, &open.path).unwrap();
    assert_eq!((new.truth[0].as_ref(), new.truth.len()), (None, 60));
}

#[test]
fn what_has_no_labels_refuses_to_predict_a_number() {
    for (name, text) in [
        ("a.txt", "a plain text of some words ".repeat(80)),
        ("a.bin", "0".repeat(4000)),
    ] {
        let file = file(name, &text);
        let source = Source {
            reading: reading(|r| r.objective = Some(Objective::Number)),
            ..Source::from(file.path.as_path())
        };
        let error = DataTask::read(&source).unwrap_err().to_string();
        assert!(error.contains("--objective number"), "{name}: {error}");
    }
    let numbers = file("a.csv", "label,a,b\n1.5,1,2\n");
    let source = Source {
        reading: reading(|r| {
            r.objective = Some(Objective::Number);
            r.tokens = Some(TokenKind::Bytes);
        }),
        ..Source::from(numbers.path.as_path())
    };
    assert!(DataTask::read(&source).is_err());
}
