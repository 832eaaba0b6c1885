//! What a table of a series says, and what is wrong with it.

use super::*;
use crate::common::rows;

/// Waves with another row of this number, from 1.
fn with(row: usize, cells: &str) -> String {
    let text = waves(400);
    let mut lines: Vec<&str> = text.lines().collect();
    lines[row] = cells;
    lines.join("\n") + "\n"
}

#[test]
fn a_number_that_f32_cannot_hold_is_refused_with_its_row_and_column() {
    // In the test, and in the training: far outside of the deviation, and where the mean itself overflows.
    for (row, cells, column) in [
        (390, "390,1e308,0.5", "x"),
        (390, "390,-1e200,0.5", "x"),
        (7, "7,1.7e308,0.5", "x"),
        (390, "390,3,1e39", "y"),
        (7, "7,3,-1e308", "y"),
    ] {
        let error = read(&with(row, cells), "").unwrap_err();
        let place = format!("row {row}: `{column}` is ");
        assert!(error.contains(&place), "{error}");
        assert!(error.contains("too large for f32"), "{error}");
    }
    let far = with(400, "1e308,3,0.5").replace("\n0,", "\n-1e308,");
    let error = read(&far, TIMED).unwrap_err();
    error.says("-1e308 to 1e308 are too far apart");
    // What f32 holds is read.
    assert!(read(&with(390, "390,1e30,0.5"), "").is_ok());
}

#[test]
fn words_are_classes_and_other_columns_are_standardized() {
    let mut text = String::from("a,b,y\n");
    for row in 0..400 {
        let is_on = row / 9 % 3 == 0;
        writeln!(text, "{},5,{}", row % 11, if is_on { "on" } else { "off" }).unwrap();
    }
    let data = read(&text, "").unwrap();
    let task = data.task();
    assert_eq!(data.labels(), ["off", "on"]);
    assert_eq!((task.classes(), task.vector_width()), (2, Some(2)));
    let set = task.test_set(32);
    // The first row with 48 rows of the test up to itself; the window ends with it.
    for (row, sample) in (367..).zip(&set) {
        let is_on = row / 9 % 3 == 0;
        assert_eq!(sample.answers[0].class, usize::from(is_on), "{row}");
        let Input::Vectors { values, .. } = &sample.input else {
            panic!("{sample:?}")
        };
        let train: Vec<f64> = (0..320).map(|row| (row % 11) as f64).collect();
        let mean = train.iter().sum::<f64>() / 320.0;
        let deviation = (train.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / 320.0).sqrt();
        let last = ((row % 11) as f64 - mean) / deviation;
        assert!((f64::from(values[62]) - last).abs() < 1e-5);
        assert_eq!(values[63], 0.0);
    }
    let on = (367..400).filter(|row| row / 9 % 3 == 0).count() as f64 / 33.0;
    assert_eq!(set.len(), 33);
    assert!((task.floor(16) - on.max(1.0 - on)).abs() < 1e-12);
}

#[test]
fn times_are_positions_in_units_of_the_middle_step() {
    // Every third step is twice as long.
    let mut time = 0.0;
    let rows: String = (0..400)
        .map(|row| {
            time += if row % 3 == 0 { 20.0 } else { 10.0 };
            format!("{time},{}\n", row % 13)
        })
        .collect();
    let task = read(&format!("t,y\n{rows}"), TIMED).unwrap().task();
    assert!(task.has_times());
    let sample = &task.test_set(16)[0];
    let times = sample.times.clone().unwrap();
    // The window begins with row 352; the steps to the rows 354, 357 and so on are the long ones.
    assert_eq!(times[..6], [0.0, 1.0, 3.0, 4.0, 5.0, 7.0]);
    let device = Device::flex();
    let positions = |name: &str| {
        let model = smallest();
        let scheme = Scheme::by_name(name, &model, 64).unwrap();
        let model = Model::init(&model, task.as_ref(), &scheme, 1, &device).unwrap();
        let evaluated = evaluate(&model, task.as_ref(), &device, Keep::Scores).unwrap();
        assert_eq!(evaluated.len(), 3, "{name}");
        let batch = TensorBatch::new(&task.test_set(16), task.readout(), &device);
        let mut source = scheme.for_test(16).next().unwrap();
        let batch = batch.at(&task.test_set(16), &mut source).unwrap();
        // Whole positions can be told as rows of numbers, times cannot.
        batch.positions.to_rows(16).is_err()
    };
    for name in Scheme::names_for(task.as_ref(), &ModelSpec::default()) {
        let scheme = Scheme::by_name(name, &ModelSpec::default(), 64).unwrap();
        assert_eq!(positions(name), scheme.takes_times(), "{name}");
    }
}

#[test]
fn what_is_missing_or_out_of_order_is_named_by_its_line() {
    for [row, said] in rows(
        "
        9,1,       | line 11: `y` is missing
        9,,0.5     | line 11: `x` is missing
        9,1,NA     | line 11: `y` is missing: it is `NA`
        9,one,0.5  | line 11: `x` is `one`, and series are made of numbers
        8,1,0.5    | line 11: the time `8` is that of the row before
        7,1,0.5    | line 11: the time `7` lies before that of the row before
        soon,1,0.5 | line 11: `t` is `soon`, and the other times are numbers
        9,1,0.5,4  | line 11: 4 fields
        ",
    ) {
        let text = with(10, row);
        let message = read(&text, TIMED).unwrap_err();
        message.says_all(&[said, "--skip-bad 1"]);
        let data = read(&text, &format!("{TIMED}; skip_bad = 1")).unwrap();
        tells(&data).says_all(&["399 rows", "lines left out: 1, such as line 11"]);
    }
}

#[test]
fn what_cannot_be_a_series_is_refused() {
    let text = waves(400);
    for (settings, said) in [
        ("time = 'u'", "--time names `u`"),
        ("time = 'y'", "--time and --target both name `y`"),
        ("label = 'x'", "--label is not about a series"),
        ("objective = 'next'", "--objective is not about a series"),
        ("train_length = 16", "--train-length is not about"),
        ("max_len = 1", "--max-len is 1"),
    ] {
        read(&text, settings).unwrap_err().says(said);
    }
    let (_folder, file) = table(&text);
    let no_column = "--target names `z`, and there is no such column";
    for (settings, said) in [
        ("target = 'z'", no_column),
        ("", "`label`"),
        (TIMED, "--time is about series"),
    ] {
        common::data(&file, settings).unwrap_err().says(said);
    }
    let flat = "y\n".to_string() + &"3\n".repeat(400);
    let message = read(&flat, "").unwrap_err();
    message.says("does not change in the test");
}
