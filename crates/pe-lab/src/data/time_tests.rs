//! Whole series with times: those of long tables and of `.ts` files become positions where they tell more than the order.

use std::fmt::Write as _;

use chrono::{Datelike, Days, NaiveDate};

use super::*;
use crate::data::testing::{self, Says, file, read, source, tested};

/// The times of the steps of a series: the class is how they are spaced, and nothing else.
fn days(series: usize) -> Vec<f64> {
    let gap = |step: usize| match (series % 2, step % 2) {
        (0, 0) | (1, 1) => 1.0,
        _ => 3.0 + (series % 5) as f64 / 4.0,
    };
    let mut at = 10.0 * series as f64;
    let rest = (0..3 + series % 3).map(|step| {
        at += gap(step);
        at
    });
    std::iter::once(10.0 * series as f64).chain(rest).collect()
}

/// These series as a long table. Each has the same numbers.
fn visits(series: std::ops::Range<usize>) -> String {
    let mut text = String::from("patient,day,x,outcome\n");
    for of in series {
        for (step, day) in days(of).iter().enumerate() {
            let outcome = ["ill", "well"][of % 2];
            writeln!(text, "p{of},{day},{step}.5,{outcome}").unwrap();
        }
    }
    text
}

/// These series as lines of a `.ts` file.
fn stamped(series: std::ops::Range<usize>) -> String {
    let mut text =
        String::from("@timeStamps true\n@univariate true\n@classLabel true ill well\n@data\n");
    for of in series {
        let step = |(step, day): (usize, &f64)| format!("({day},{step}.5)");
        let steps: Vec<String> = days(of).iter().enumerate().map(step).collect();
        writeln!(text, "{}:{}", steps.join(","), ["ill", "well"][of % 2]).unwrap();
    }
    text
}

const BY_PATIENT: &str = "id = 'patient'; time = 'day'; label = 'outcome'";

/// The gaps between the times of a sample, but for those at BOS and EOS, which are 1.
fn gaps(sample: &Sample) -> Vec<f64> {
    let times = sample.times.as_ref().unwrap();
    assert_eq!(times.len(), sample.input.len());
    assert_eq!(times[..2], [0.0, 1.0]);
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (end, gaps) = gaps.split_last().unwrap();
    assert!((end - 1.0).abs() < 1e-12, "{end}");
    gaps[1..].to_vec()
}

#[test]
fn uneven_times_of_both_forms_are_positions() {
    let of_table = read("a.csv", visits(0..60), BY_PATIENT).unwrap();
    let of_stamps = read("a.ts", stamped(0..60), "").unwrap();
    for (data, name) in [
        (&of_table, "the times of `day`"),
        (&of_stamps, "the time stamps"),
    ] {
        assert!(data.task().has_times());
        // Steps are 1, or 3 to 4. A series has 3 to 5 of them; in one class those at 0, 2 and 4 are the short ones.
        data.says(&format!(
            "positions are {name}, from the start of each series, in units of their median step in training; \
             schemes that take only whole positions get 0, 1, 2, …"
        ));
        data.says("times are numbers; steps of time: 3 (the shortest 1, the longest 4)");
        data.says("lengths 4 to 6 tokens");
        let task = data.task();
        let train = (0..20).flat_map(|step| task.train_batch(1, step, 8));
        for sample in train.chain(tested(task.as_ref())) {
            let gaps = gaps(&sample);
            assert!((3..=5).contains(&gaps.len()), "{gaps:?}");
            let is_short = |place: usize| gaps[place] < gaps[1 - place];
            let class = usize::from(is_short(1));
            assert_eq!(sample.answers[0].class, class, "{gaps:?}");
        }
    }
    let samples = |data: &DataTask| tested(data.task().as_ref());
    assert_eq!(samples(&of_table), samples(&of_stamps));
}

#[test]
fn equal_steps_stay_the_order_and_other_series_with_other_steps_make_them_times() {
    let even = |step: &dyn Fn(usize) -> usize| {
        let mut text = String::from("patient,day,x,outcome\n");
        for of in 0..40 {
            for at in 0..4 {
                let (day, outcome) = (7 + at * step(of), ["ill", "well"][of % 2]);
                writeln!(text, "p{of},{day},{}.5,{outcome}", of * at % 9).unwrap();
            }
        }
        text
    };
    let data = read("a.csv", even(&|_| 2), BY_PATIENT).unwrap();
    assert!(!data.task().has_times());
    data.says(
        "the times of `day` rise by 2 in every series, so positions are the numbers of steps",
    );
    let tests = tested(data.task().as_ref());
    assert!(tests.iter().all(|sample| sample.times.is_none()));

    let data = read("a.csv", even(&|of| 1 + of % 2), BY_PATIENT).unwrap();
    assert!(data.task().has_times());
    for sample in tested(data.task().as_ref()) {
        let gaps = gaps(&sample);
        let is_even = [0.5, 1.0, 2.0].iter().any(|gap| gaps == [*gap; 3]);
        assert!(is_even, "{gaps:?}");
    }
}

#[test]
fn dates_missing_values_patches_and_cuts_keep_their_times() {
    let dates = |day: f64| {
        let minutes = (day * 60.0).round() as u64;
        let (day, hour, minute) = (1 + minutes / 1440, minutes / 60 % 24, minutes % 60);
        format!("2024-03-{day:02} {hour:02}:{minute:02}")
    };
    let mut text = String::from("patient,day,x,outcome\n");
    for of in 0..60 {
        for (step, day) in days(of).iter().enumerate() {
            let x = if step == 1 { "" } else { "0.5" };
            let (day, outcome) = (dates(day - 10.0 * of as f64), ["ill", "well"][of % 2]);
            writeln!(text, "p{of},{day},{x},{outcome}").unwrap();
        }
    }
    let data = read("a.csv", &text, BY_PATIENT).unwrap();
    data.says("times are dates; steps of time: 3 hours (the shortest 1 hour, the longest 4 hours)");
    for sample in tested(data.task().as_ref()) {
        assert!((3..=5).contains(&gaps(&sample).len()));
    }
    // Two tokens of two steps; the time from one to the next is that of two steps, 4 hours at least.
    let cut = format!("patch = 2; max_len = 2; no_beyond = true; {BY_PATIENT}");
    let data = read("a.csv", &text, &cut).unwrap();
    data.says("steps of time: 4.5 hours (the shortest 4 hours");
    for sample in tested(data.task().as_ref()) {
        let gaps = gaps(&sample);
        assert!(gaps.len() == 1 && (0.8..1.2).contains(&gaps[0]), "{gaps:?}");
    }
}

#[test]
fn equal_numbers_at_other_times_are_other_rows() {
    // Each series twice: the same gaps on other days are one sequence, and other gaps are not.
    let once = visits(0..60);
    let again = once
        .replace("\np", "\nq")
        .replacen("patient,day,x,outcome\n", "", 1);
    let data = read("a.csv", once + &again, BY_PATIENT).unwrap();
    let text = data.text();
    // The gaps repeat after 2 · 5 · 3 = 30 series, so 30 of 120 are different.
    text.says("rows with the sequence of an earlier one: 90");
    assert!(!text.contains("sequences under more than one"), "{text}");
}

#[test]
fn folds_and_a_test_file_have_times() {
    let folds = testing::folded("a.csv", visits(0..60), BY_PATIENT, 3);
    let (train, test) = (("b_TRAIN.ts", stamped(0..60)), stamped(60..100));
    let tested_on = testing::tested_on(train, ("b_TEST.ts", test), "");
    for data in [folds.unwrap(), tested_on.unwrap()] {
        for task in data.tasks() {
            assert!(task.has_times());
            let tests = tested(task.as_ref());
            tests.iter().for_each(|sample| drop(gaps(sample)));
        }
    }
}

#[test]
fn others_are_predicted_in_the_unit_of_the_study() {
    let folder = tempfile::tempdir().unwrap();
    let of = source(folder.path(), "a.csv", visits(0..60), BY_PATIENT);
    let data = DataTask::read(&of).unwrap();
    // A series of equal steps, which are counted in the unit of the study, and a series of one row.
    let new = "patient,day,x\nn,0,0.5\nn,6,1.5\nn,12,2.5\none,99,0.5\n";
    let new = file(folder.path(), "new.csv", new);
    let new = data.to_predict(NAME, &new).unwrap().samples;
    assert_eq!(new.len(), 2);
    let times = [0, 1].map(|row| new[row].times.clone().unwrap());
    let unit = 6.0 / (times[0][2] - 1.0);
    assert!((1.0..=4.0).contains(&unit), "{unit}");
    let (second, third) = (1.0 + 6.0 / unit, 1.0 + 12.0 / unit);
    assert_eq!(times[0], [0.0, 1.0, second, third, 2.0 + 12.0 / unit]);
    assert_eq!(times[1], [0.0, 1.0, 2.0]);
    let refused = |data: &DataTask, name: &str, text: &str, said: &str| {
        let file = file(folder.path(), name, text);
        let wrong = data.to_predict(NAME, &file).map(drop).unwrap_err();
        wrong.says(said);
    };
    let dates = "patient,day,x\nn,2024-01-01,0.5\nn,2024-01-03,1.5\n";
    let said = "the times of `day` are dates, and those of the study numbers";
    refused(&data, "other.csv", dates, said);
    let far = "patient,day,x\nn,0,0.5\nn,9e999,1.5\n";
    refused(&data, "other.csv", far, "the time `day` is `9e999`");

    let stamps = read("a.ts", stamped(0..60), "").unwrap();
    let plain = "@univariate true\n@classLabel true ill well\n@data\n0.5,1.5\n";
    let said = "its series have no times, and those of the study have";
    refused(&stamps, "plain.ts", plain, said);
}

#[test]
fn a_study_of_equal_steps_predicts_series_of_other_steps_by_their_order() {
    let folder = tempfile::tempdir().unwrap();
    // Numbers that differ, so that rows differ without times too.
    let row = |of: usize| {
        let steps = [0, 1, 2, 3].map(|step| format!("({step},{step}.{of})"));
        format!("{}:{}\n", steps.join(","), ["ill", "well"][of % 2])
    };
    let text = stamped(0..0) + &(0..40).map(row).collect::<String>();
    let study = read("even.ts", &text, "").unwrap();
    assert!(!study.task().has_times());
    let uneven = file(folder.path(), "uneven.ts", stamped(40..50));
    let others = study.to_predict(NAME, &uneven).unwrap();
    let notes = others.notes.join("\n");
    notes.says("they say the order alone, as in the study, and each counts as one step");
    assert!(others.samples.iter().all(|sample| sample.times.is_none()));
}

#[test]
fn times_that_do_not_fit_those_of_the_training_file_are_refused() {
    let tested_on = |test: &str| {
        let train = ("train.ts", stamped(0..40));
        testing::tested_on(train, ("test.ts", test), "").unwrap_err()
    };
    let plain = "@univariate true\n@classLabel true ill well\n@data\n0.5,1.5:ill\n";
    tested_on(plain).says(
        "test.ts … its series have no times, and those of the first file times that are numbers",
    );
    let dates = plain.replace("@univariate", "@timeStamps true\n@univariate");
    let dates = dates.replace("0.5,1.5", "(2024-01-01,0.5),(2024-01-03,1.5)");
    tested_on(&dates).says("times that are dates");
    let far = stamped(0..40).replacen("(0,0.5)", "(-1e16,0.5)", 1);
    let error = read("a.ts", &far, "").unwrap_err();
    error.says("line 5: the time stamp of step 1 is `-1e16`, and from 2^53 on");
}

/// So many days after the first of 2024, and the hour, in this format.
fn written(days: f64, format: &str) -> String {
    let first = NaiveDate::from_ymd_opt(2024, 1, 1).unwrap();
    let date = first + Days::new(days as u64);
    let minutes = (days.fract() * 1440.0).round() as u32;
    let [day, month] = [date.day(), date.month()].map(|part| format!("{part:02}"));
    let date = format.replace('D', &day).replace('M', &month);
    format!("{date} {:02}:{:02}", minutes / 60, minutes % 60)
}

const AMERICAN: &str = "M/D/2024";
const EUROPEAN: &str = "D/M/2024";
const ISO: &str = "2024-M-D";

/// What is told of dates that are read in another order than those of the study.
const OTHER_ORDER: &str = "dates such as `13/01/2024 00:00`, the day before the month, and the file that was trained on has dates with \
                           the month before the day";

/// The times of a series in a format, so many days later than [`days`] of the first one.
fn dates(series: usize, from: f64, format: &str) -> Vec<String> {
    let since = |at: &f64| written(from + at - 10.0 * series as f64, format);
    days(series).iter().map(since).collect()
}

/// [`visits`] with [`dates`] in the place of days.
fn dated_visits(series: std::ops::Range<usize>, from: f64, format: &str) -> String {
    let mut text = visits(0..0);
    for of in series {
        for (step, at) in dates(of, from, format).iter().enumerate() {
            writeln!(text, "p{of},{at},{step}.5,{}", ["ill", "well"][of % 2]).unwrap();
        }
    }
    text
}

/// [`stamped`] with [`dates`] in the place of days.
fn dated_stamps(series: std::ops::Range<usize>, from: f64, format: &str) -> String {
    let mut text = stamped(0..0);
    for of in series {
        let all = dates(of, from, format);
        let step = |(step, at): (usize, &String)| format!("({at},{step}.5)");
        let steps: Vec<String> = all.iter().enumerate().map(step).collect();
        writeln!(text, "{}:{}", steps.join(","), ["ill", "well"][of % 2]).unwrap();
    }
    text
}

#[test]
fn other_files_have_the_order_of_day_and_month_of_the_study() {
    type Write = fn(std::ops::Range<usize>, f64, &str) -> String;
    let forms: [(&str, &str, Write); 2] =
        [("csv", BY_PATIENT, dated_visits), ("ts", "", dated_stamps)];
    let folder = tempfile::tempdir().unwrap();
    for (end, settings, write) in forms {
        let train = write(0..60, 20.0, AMERICAN);
        let named = format!("study.{end}");
        let study = DataTask::read(&source(folder.path(), &named, &train, settings)).unwrap();
        // All days up to the twelfth may as well be months.
        let others = |from: f64, format: &str| write(60..66, from, format);
        let times = |text: String| {
            let new = file(folder.path(), &format!("new.{end}"), text);
            let new = study
                .to_predict(NAME, &new)
                .map_err(|why| why.to_string())?;
            let times = new.samples.into_iter().map(|sample| sample.times.unwrap());
            Ok::<_, String>(times.collect::<Vec<_>>())
        };
        let found = times(others(0.0, AMERICAN)).unwrap();
        assert_eq!(found, times(others(0.0, ISO)).unwrap(), "{end}");
        times(others(11.0, EUROPEAN)).unwrap_err().says(OTHER_ORDER);

        let tested_on = |test: String| {
            let other = format!("other.{end}");
            testing::tested_on((&named[..], &train), (&other[..], test), settings)
        };
        let samples = |format| {
            let data = tested_on(others(0.0, format)).unwrap();
            tested(data.task().as_ref())
        };
        assert_eq!(samples(AMERICAN), samples(ISO), "{end}");
        let wrong = tested_on(others(11.0, EUROPEAN)).unwrap_err();
        wrong.says(OTHER_ORDER);
    }
}

#[test]
fn the_rows_of_a_forecast_have_the_order_and_the_kind_of_times_of_the_study() {
    let folder = tempfile::tempdir().unwrap();
    let text = |rows: usize, time: &dyn Fn(usize) -> String| {
        let row = |row: usize| format!("{},{}.5,{}\n", time(row), row % 7, row % 5);
        format!("t,x,y\n{}", (0..rows).map(row).collect::<String>())
    };
    let dates = |rows: usize, format: &str| text(rows, &|row| written(row as f64, format));
    let numbers = |rows: usize| text(rows, &|row| row.to_string());
    let study = |text: String| {
        let settings = "target = 'y'; time = 't'; max_len = 16";
        DataTask::read(&source(folder.path(), "study.csv", text, settings)).unwrap()
    };
    let times = |study: &DataTask, text: String| {
        let new = file(folder.path(), "new.csv", text);
        let new = study
            .to_predict(NAME, &new)
            .map_err(|why| why.to_string())?;
        let times = new.samples.into_iter().map(|sample| sample.times.unwrap());
        Ok::<_, String>(times.collect::<Vec<_>>())
    };
    let american = study(dates(200, AMERICAN));
    let found = times(&american, dates(12, AMERICAN)).unwrap();
    assert_eq!(found, times(&american, dates(12, ISO)).unwrap());
    let wrong = times(&american, dates(20, EUROPEAN)).unwrap_err();
    wrong.says(OTHER_ORDER);
    let wrong = times(&american, numbers(20)).unwrap_err();
    wrong.says("the times of `t` are numbers, and those of the study dates");
    let wrong = times(&study(numbers(200)), dates(20, ISO)).unwrap_err();
    wrong.says("the times of `t` are dates, and those of the study numbers");
}
