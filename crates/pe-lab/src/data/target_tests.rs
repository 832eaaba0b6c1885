//! Rows of which a number is predicted: what makes labels numbers, how they are scored, and what becomes of them.

use super::limits::NAME;
use super::{DataTask, Truth};
use crate::data::testing::{self, Says, folded, read, source, tested, tested_on};
use crate::task::{Measure, Sample, Task};

/// Settings for a table of heights: without an objective, and with one.
const HEIGHT: &str = "label = 'height'; text = 'text'";
const NUMBER: &str = "label = 'height'; text = 'text'; objective = 'number'";
const CLASS: &str = "label = 'height'; text = 'text'; objective = 'class'";

/// Rows of six words; the label is `number` of how many of them are `up`.
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

fn error_of(unit: &str) -> Measure {
    Measure::Error { unit: unit.into() }
}

/// The numbers that a task asks in its tests, in the unit of the data, given the mean of the training.
fn asked(task: &dyn Task, mean: f64) -> Vec<f64> {
    let number = |sample: &Sample| f64::from(sample.numbers[0]) * task.unit() + mean;
    tested(task).iter().map(number).collect()
}

#[test]
fn labels_that_are_measurements_are_numbers_to_be_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path(), "a.csv", words(100, halves), HEIGHT);
    let data = DataTask::read(&source).unwrap();
    let task = data.task();
    assert_eq!(task.measure(), error_of("height"));
    assert_eq!((task.classes(), data.labels().len()), (1, 0));
    data.says("a number is to be predicted of each, `height`: from 0.5 to 4.5");
    data.says("floor, the mean absolute error of the mean or the median of the training");
    let new = data.to_predict(NAME, &source.file).unwrap();
    let mean = new.from.as_ref().unwrap()[0];
    let numbers = asked(task.as_ref(), mean);
    assert_eq!(numbers.len(), 20);
    for number in &numbers {
        let nearest = (number - 0.5).round() + 0.5;
        assert!((number - nearest).abs() < 1e-6, "{number}");
    }
    let error = |of: f64| {
        let errors = numbers.iter().map(|number| (number - of).abs());
        errors.sum::<f64>() / numbers.len() as f64
    };
    let floor = task.floor(task.test_lengths()[0]);
    let of_medians = [0.5, 1.5, 2.5, 3.5, 4.5].map(error);
    let mut of_constants = of_medians.into_iter().chain([error(mean)]);
    assert!(of_constants.any(|error| (floor - error).abs() < 1e-6));
    assert!(floor < error(mean) + 1e-6);
    assert_eq!(new.truth[3], Some(Truth::Number(3.5)));
}

#[test]
fn whole_labels_are_classes_until_it_is_said_that_they_are_numbers() {
    let whole = words(100, |ups| format!("{ups}"));
    let by = |settings| read("a.csv", &whole, settings).unwrap().task().measure();
    assert_eq!(by(HEIGHT), Measure::Accuracy);
    assert_eq!(by(NUMBER), error_of("height"));
    let data = read("a.csv", words(100, halves), CLASS).unwrap();
    assert_eq!(data.task().measure(), Measure::Accuracy);
    assert_eq!(data.labels().len(), 5);
}

#[test]
fn many_whole_labels_are_refused_with_the_way_out() {
    let number = |row: usize| format!("{row},{} {}\n", ["a", "b"][row % 2], row);
    let text = format!("height,text\n{}", (0..500).map(number).collect::<String>());
    let error = read("a.csv", &text, HEIGHT).unwrap_err();
    error.says("--objective number");
    let task = read("a.csv", &text, NUMBER).unwrap().task();
    assert_eq!(asked(task.as_ref(), 0.0).len(), 100);
}

#[test]
fn a_label_that_is_no_number_is_named_with_its_line() {
    let of = |label: &str| {
        let text = words(50, halves).replacen("3.5,", &format!("{label},"), 1);
        read("a.csv", text, NUMBER)
    };
    for (bad, said) in [
        ("tall", "line 5: the number to be predicted is `tall`"),
        ("inf", "inf"),
        ("nan", "nan"),
        ("1e999", "1e999"),
    ] {
        of(bad).unwrap_err().says(said);
    }
    // A number that is too large may be in training or in the test. In both cases the error names it.
    for far in ["1e300", "-1e308"] {
        let said = format!("the number `{far}` is too large for f32, … which ends at 3.4e38");
        of(far).unwrap_err().says(&said);
    }
}

#[test]
fn a_missing_label_among_numbers_is_an_error_and_no_class() {
    for missing in ["NA", "n/a", "nan", "?"] {
        let text = words(50, halves).replacen("3.5,", &format!("{missing},"), 1);
        let error = read("a.csv", &text, HEIGHT).unwrap_err();
        error.says(&format!(
            "line 5: the label is `{missing}` … 1 row … --objective number --skip-bad 1"
        ));
        let left_out = read("a.csv", &text, &format!("{NUMBER}; skip_bad = 1"));
        assert_eq!(left_out.unwrap().task().measure(), error_of("height"));
    }
    // Among whole numbers it is a class like the others.
    let whole = words(100, |ups| {
        if ups == 3 {
            "NA".into()
        } else {
            format!("{ups}")
        }
    });
    let data = read("a.csv", &whole, HEIGHT).unwrap();
    assert!(data.labels().contains(&"NA".into()));
}

#[test]
fn folds_groups_and_tests_take_numbers() {
    let folds = folded("a.csv", words(100, halves), HEIGHT, 4);
    let folds = folds.unwrap().tasks();
    let tested = folds.iter().map(|task| asked(task.as_ref(), 0.0).len());
    assert_eq!(tested.sum::<usize>(), 100);

    let row = |row: usize| format!("{},g{},a b {row}\n", halves(row % 5), row % 10);
    let grouped = (0..100).map(row).collect::<String>();
    let grouped = format!("height,who,text\n{grouped}");
    let by_who = format!("{HEIGHT}; group = 'who'");
    let task = read("a.csv", grouped, &by_who).unwrap().task();
    assert_eq!(asked(task.as_ref(), 0.0).len(), 20);

    let other = ("b.csv", "height,text\n9.25,up up\n-1,flat\n");
    let task = tested_on(("a.csv", words(100, halves)), other, HEIGHT);
    let task = task.unwrap().task();
    let mut numbers = asked(task.as_ref(), 2.5);
    numbers.sort_by(f64::total_cmp);
    assert!((numbers[0] + 1.0).abs() < 1e-6 && (numbers[1] - 9.25).abs() < 1e-6);
}

#[test]
fn series_have_numbers_to_predict() {
    let series = |row: usize| {
        let steps: Vec<String> = (0..8).map(|i| format!("{}", (row * i) % 7)).collect();
        format!("{}:{}\n", steps.join(","), row as f64 / 4.0)
    };
    let rows: String = (0..60).map(series).collect();
    let text = format!(
        "@problemName Slow\n@univariate true\n@classLabel false\n@targetLabel true\n@data\n{rows}"
    );
    let data = read("a.ts", &text, "").unwrap();
    data.says("the number to be predicted is the last field");
    assert_eq!(data.task().measure(), error_of("target"));
    let folder = tempfile::tempdir().unwrap();
    let open = testing::file(folder.path(), "new.ts", text.replacen(":0\n", ":?\n", 1));
    let new = data.to_predict(NAME, &open).unwrap();
    assert_eq!((new.truth[0].as_ref(), new.truth.len()), (None, 60));
}

#[test]
fn what_has_no_labels_refuses_to_predict_a_number() {
    for (name, text) in [
        ("a.txt", "a plain text of some words ".repeat(80)),
        ("a.bin", "0".repeat(4000)),
    ] {
        let error = read(name, text, "objective = 'number'").unwrap_err();
        error.says("--objective number");
    }
    let settings = "objective = 'number'; tokens = 'bytes'";
    assert!(read("a.csv", "label,a,b\n1.5,1,2\n", settings).is_err());
}

#[test]
fn a_word_for_a_missing_value_is_no_label_to_predict_unless_the_study_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let truths = |text: String, settings: &str, new: &str| {
        let study = source(folder.path(), "a.csv", text, settings);
        let new = testing::file(folder.path(), "new.csv", new);
        let new = DataTask::read(&study).unwrap().to_predict(NAME, &new);
        new.unwrap().truth
    };
    let label = |label: &str| Some(Truth::Label(label.into()));
    let new = "height,text\nNA,up\n?,up up\n,flat\n1.5,up flat\n";
    let found = truths(words(100, halves), HEIGHT, new);
    assert_eq!(found, [None, None, None, Some(Truth::Number(1.5))]);
    let found = truths(words(100, halves), CLASS, new);
    assert_eq!(found, [None, None, None, label("1.5")]);
    // Classes of the study are labels, whatever they are called.
    let classes = |ups: usize| ["?", "NA", "c", "d", "e"][ups].to_string();
    let found = truths(words(100, classes), HEIGHT, new);
    assert_eq!(found, [label("NA"), label("?"), None, label("1.5")]);
}
