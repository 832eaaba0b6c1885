//! Tables of measurements, made here, as data of one's own.

mod tables;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use crate::common::{self, Says, smallest, temporary};

use burn::tensor::Device;
use pe_lab::ask::{ModelSpec, Scheme};
use pe_lab::data::DataTask;
use pe_lab::learn::{InputTensor, Keep, Model, TensorBatch, evaluate};
use pe_lab::task::{Input, Score};
use tempfile::TempDir;

/// A table in a folder of its own.
fn table(text: &str) -> (TempDir, PathBuf) {
    let (folder, path) = temporary("series.csv");
    fs::write(&path, text).unwrap();
    (folder, path)
}

/// A table whose column `y` is to be predicted.
fn read(text: &str, settings: &str) -> Result<DataTask, String> {
    let (_folder, file) = table(text);
    common::data(&file, &format!("target = 'y'; {settings}"))
}

/// What is said of what was found.
fn tells(data: &DataTask) -> String {
    data.describe().join("\n")
}

/// `rows` rows of time, another number, and the number itself: a wave around a rising line.
fn waves(rows: usize) -> String {
    let mut text = String::from("t,x,y\n");
    for row in 0..rows {
        let wave = (row as f64 * 0.7).sin() + 0.01 * row as f64;
        writeln!(text, "{row},{},{wave}", row % 7).unwrap();
    }
    text
}

const ALONE: &str = "columns = ['y']";
const TIMED: &str = "time = 't'";

#[test]
fn a_forecast_is_scored_against_the_last_value() {
    let text = waves(400);
    let data = read(&text, ALONE).unwrap();
    let task = data.task();
    assert_eq!((task.classes(), task.vector_width()), (1, Some(1)));
    assert_eq!(task.train_lengths(), 16..=32);
    // 80 rows of the test: windows of 48 leave 32 of them, those of 64 too few.
    assert_eq!(task.test_lengths(), [16, 32, 48]);
    assert!(data.labels().is_empty());
    tells(&data).says_all(&[
        "400 rows of a series",
        "the next number of `y`",
        "the first 320 rows to train on, in windows of 16 to 32; the last 80 are the test",
        "predicted in the test: 32 rows, from windows of 16, 32, 48 rows; the test is too short",
        "the mean absolute error of repeating the last value",
    ]);
    let y: Vec<f64> = text
        .lines()
        .skip(1)
        .map(|line| line.rsplit(',').next().unwrap().parse().unwrap())
        .collect();
    // The first row that is predicted is 48 after the first of the test, at every length.
    let naive = (368..400)
        .map(|row| (y[row] - y[row - 1]).abs())
        .sum::<f64>()
        / 32.0;
    for length in task.test_lengths() {
        assert!((task.floor(length) - naive).abs() < 1e-12);
        let set = task.test_set(length);
        assert_eq!(set.len(), 32);
        let unit = task.unit();
        for (row, sample) in (368..).zip(&set) {
            let Input::Vectors { width: 1, values } = &sample.input else {
                panic!("{sample:?}")
            };
            assert_eq!(
                (values.len(), sample.answers[0].position),
                (length, length - 1)
            );
            for (value, at) in values.iter().zip(row - length..) {
                let expected = (y[at] - y[row - 1]) / unit;
                assert!((f64::from(*value) - expected).abs() < 1e-5, "{row} {at}");
            }
            let expected = (y[row] - y[row - 1]) / unit;
            assert!((f64::from(sample.numbers[0]) - expected).abs() < 1e-5);
            assert_eq!(sample.times, None);
        }
    }
}

/// A model that always says 0 repeats the last value, so its skill is exactly 0.
#[test]
fn repeating_the_last_value_has_no_skill() {
    let task = read(&waves(400), ALONE).unwrap().task();
    let device = Device::flex();
    let spec = smallest();
    let scheme = Scheme::by_name("sinusoidal", &spec, 64).unwrap();
    let model = Model::init(&spec, task.as_ref(), &scheme, 1, &device).unwrap();
    let scores = evaluate(&model, task.as_ref(), &device, Keep::Rows).unwrap();
    let set = task.test_set(32);
    let batch = TensorBatch::new(&set, task.readout(), &device);
    assert!(matches!(batch.input, InputTensor::Vectors(_)));
    let said = model.forward(batch.input, None, &batch.positions, batch.read);
    let said = said.into_data().try_to_vec::<f32>().unwrap();
    let errors = said
        .iter()
        .zip(&set)
        .map(|(said, sample)| f64::from((said - sample.numbers[0]).abs()) * task.unit());
    let mean = errors.sum::<f64>() / set.len() as f64;
    let Score::Error(error) = scores[1].score else {
        panic!("{scores:?}")
    };
    assert!((error - mean).abs() < 1e-6 * mean, "{error} {mean}");
    let naive = set
        .iter()
        .map(|sample| f64::from(sample.numbers[0].abs()) * task.unit());
    let naive = naive.sum::<f64>() / set.len() as f64;
    assert!((scores[1].floor - naive).abs() < 1e-5 * naive);
    assert!((scores[1].normalized() - (1.0 - error / scores[1].floor)).abs() < 1e-12);
}

#[test]
fn no_window_of_the_training_reaches_into_the_test() {
    // Numbers tell their row: each is its square, so differences are all different.
    let rows: String = (0..300).map(|row| format!("{}\n", row * row)).collect();
    let task = read(&format!("y\n{rows}"), "").unwrap().task();
    let unit = task.unit();
    let (mut least, mut most) = (f64::MAX, 0.0_f64);
    for step in 0..40 {
        for sample in task.train_batch(1, step, 32) {
            // (r² − (r − 1)²) = 2r − 1 tells the row r that is predicted.
            let row = (f64::from(sample.numbers[0]) * unit + 1.0) / 2.0;
            (least, most) = (least.min(row - sample.input.len() as f64), most.max(row));
        }
    }
    assert!(
        least > -0.01 && (most - 239.0).abs() < 0.01,
        "{least} {most}"
    );
    assert_eq!(task.train_batch(3, 4, 8), task.train_batch(3, 4, 8));
}

#[test]
fn a_study_of_a_series_from_end_to_end() {
    let (folder, _) = table(&waves(500));
    let run = |line: &str| common::good_in(folder.path(), line).1;
    let said = run(
        "compare --data series.csv --target y --time t --columns y --max-len 16 --schemes none,learned,sinusoidal --seeds 1, --steps 120 --out study",
    );
    assert!(said.contains("positions are the times of `t`"), "{said}");
    // A wave is easier to go on with than to repeat its last value.
    let study = folder.path().join("study");
    let skill = common::scored(&study, "sinusoidal", "16", "normalized");
    assert!(skill.len() == 1 && skill[0] > 0.5, "{skill:?}");
    // Every row says what its error is in.
    let table = fs::read_to_string(study.join("results.csv")).unwrap();
    let says_it = |row: &str| row.split(',').any(|cell| cell == "error in y");
    assert!(table.lines().skip(1).all(says_it), "{table}");
    let plan = fs::read_to_string(folder.path().join("study/study.toml")).unwrap();
    plan.says_all(&["target = \"y\"", "time = \"t\""]);
    fs::remove_file(folder.path().join("series.csv")).unwrap();
    run("compare --out study --quiet");
    // The page can be made again from what is there.
    run("report study --quiet");
}

/// A hundred and forty-four months of passengers, as many files of others hold them: no flag beside the target is needed.
#[test]
fn the_time_and_the_window_of_a_short_series_are_found() {
    let of = |time: fn(usize) -> String, foot: &str| {
        let rows =
            (0..144).map(|row| format!("{},{}\n", time(row), 100 + 3 * row + row * row % 17));
        format!("Date,y\n{}{foot}", rows.collect::<String>())
    };
    let month = |row: usize| format!("{}-{:02}", 1949 + row / 12, row % 12 + 1);
    let other = |row: usize| format!("{}M{:02}", 1949 + row / 12, row % 12 + 1);
    let years = |row: usize| format!("{:.3}", 1949.0 + row as f64 / 12.0);
    for (text, found) in [
        (of(month, ""), "dates"),
        (of(other, ""), "dates"),
        (of(|row| row.to_string(), ""), "equal steps of 1"),
        (of(years, ""), "equal steps of 0.084"),
    ] {
        let found = format!("time: column `Date`, found by its {found};");
        let data = read(&text, "").unwrap();
        let window =
            "the longest window of the training has 20 rows, a seventh of so short a series";
        tells(&data).says_all(&[&found, window]);
        assert!(data.task().has_times());
        assert_eq!(data.task().vector_width(), Some(1));
        // A length that is named stays.
        let wrong = read(&text, "max_len = 64").unwrap_err();
        wrong.says("too few for windows of 64: they take at least 222");
    }
    // A line at the end that says where the numbers are from is the one bad line.
    let wrong = read(&of(month, "Source: the office,\n"), "").unwrap_err();
    assert!(wrong.contains("1 bad line\n  line 146: "), "{wrong}");
    // Two clocks, neither of which is a date.
    let two = (0..144).map(|row| format!("{row},{},{}\n", 5 * row, row * row % 17));
    let two = format!("t,u,y\n{}", two.collect::<String>());
    let wrong = read(&two, "").unwrap_err();
    wrong.says(
        "the cells of `t` and of `u` rise by equal steps; say which are the times with --time",
    );
    let chosen = read(&two, TIMED).unwrap();
    assert_eq!(chosen.task().vector_width(), Some(2));
    let steps = of(|row| (row * row).to_string(), "");
    assert!(!read(&steps, "").unwrap().task().has_times());
}

/// The series of the laboratory needs no file, and is in a study only if it is named.
#[test]
fn the_series_of_the_laboratory_is_a_task() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| common::good_in(folder.path(), line);
    let small = "--d-model 16 --heads 2 --layers 1 --steps 2";
    let flags = "--details --tasks co2 --schemes none,rotary,learned --seeds 1, --out study";
    let (table, _) = run(&format!("compare {flags} {small}"));
    table.says_all(&[
        "co2 (real data: the next month's mean of carbon dioxide in the air; 2 steps)",
        "tested on 200 sequences inside and 200 beyond",
    ]);
    assert!(table.contains("average"), "the unit: {table}");
    let floors = common::column(&folder.path().join("study"), "floor", |_| true);
    assert_eq!(floors.len(), 3 * 4, "{floors:?}");
    assert!(
        floors.iter().all(|floor| (floor - 1.1614).abs() < 1e-9),
        "{floors:?}"
    );
    let (tasks, _) = run("tasks");
    assert!(tasks.contains("\nco2 "), "{tasks}");
    let shard = common::NO_TRIAL;
    let all = format!("compare --tasks all --schemes none --dry-run --shard {shard} {small}");
    let (_, said) = run(&all);
    assert!(
        said.contains("odds_first for 2 steps") && !said.contains("co2"),
        "{said}"
    );
}
