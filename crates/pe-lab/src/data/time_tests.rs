//! Whole series with times: those of long tables and of `.ts` files become positions where they tell more than the order.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::*;
use crate::data::testing::{Says, read, reading};
use crate::door::Entry;

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

/// The same as lines of a `.ts` file.
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

fn by_patient() -> Reading {
    reading(|r| {
        r.id = Some("patient".into());
        r.time = Some("day".into());
        r.label = Some("outcome".into());
    })
}

fn write(folder: &Path, name: &str, text: &str) -> Source {
    let file = folder.join(name);
    fs::write(&file, text).unwrap();
    Source::from(file.as_path())
}

/// Every sample that is tested.
fn tested(task: &dyn Task) -> Vec<Sample> {
    let lengths = task.test_lengths().into_iter();
    lengths.flat_map(|length| task.test_set(length)).collect()
}

fn said(data: &DataTask) -> String {
    data.describe().join("\n")
}

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
    let of_table = read("a.csv", visits(0..60), by_patient()).unwrap();
    let of_stamps = read("a.ts", stamped(0..60), Reading::default()).unwrap();
    for (data, name) in [
        (&of_table, "the times of `day`"),
        (&of_stamps, "the time stamps"),
    ] {
        assert!(data.task().has_times());
        let text = said(data);
        // Steps of 1 and of 3 to 4; of 3 to 5 steps of a series, those at 0, 2 and 4 are short in one class.
        for line in [
            &format!(
                "positions are {name}, from the start of each series, in units of the middle one of their steps in training; \
                 schemes that take whole numbers alone get 0, 1, 2, …"
            ),
            "times are numbers; steps of time: 3 (the shortest 1, the longest 4)",
            "lengths 4 to 6 tokens",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        let task = data.task();
        let train = (0..20).flat_map(|step| task.train_batch(1, step, 8));
        for sample in tested(task.as_ref())
            .iter()
            .chain(&train.collect::<Vec<_>>())
        {
            let gaps = gaps(sample);
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
    let data = read("a.csv", even(&|_| 2), by_patient()).unwrap();
    assert!(!data.task().has_times());
    let line =
        "the times of `day` rise by 2 in every series, so positions are the numbers of steps";
    assert!(said(&data).contains(line), "{}", said(&data));
    assert!(
        tested(data.task().as_ref())
            .iter()
            .all(|sample| sample.times.is_none())
    );

    let data = read("a.csv", even(&|of| 1 + of % 2), by_patient()).unwrap();
    assert!(data.task().has_times());
    for sample in tested(data.task().as_ref()) {
        let gaps = gaps(&sample);
        assert!(
            gaps == [1.0; 3] || gaps == [2.0; 3] || gaps == [0.5; 3],
            "{gaps:?}"
        );
    }
}

#[test]
fn dates_missing_values_patches_and_cuts_keep_their_times() {
    let dates = |day: f64| {
        let minutes = (day * 60.0).round() as u64;
        format!(
            "2024-03-{:02} {:02}:{:02}",
            1 + minutes / 1440,
            minutes / 60 % 24,
            minutes % 60
        )
    };
    let mut text = String::from("patient,day,x,outcome\n");
    for of in 0..60 {
        for (step, day) in days(of).iter().enumerate() {
            let x = if step == 1 { "" } else { "0.5" };
            writeln!(
                text,
                "p{of},{},{x},{}",
                dates(day - 10.0 * of as f64),
                ["ill", "well"][of % 2]
            )
            .unwrap();
        }
    }
    let data = read("a.csv", &text, by_patient()).unwrap();
    let line = "times are dates; steps of time: 3 hours (the shortest 1 hour, the longest 4 hours)";
    assert!(said(&data).contains(line), "{}", said(&data));
    for sample in tested(data.task().as_ref()) {
        assert!((3..=5).contains(&gaps(&sample).len()));
    }
    // Two tokens of two steps; the time from one to the next is that of two steps, 4 hours at least.
    let cut = Reading {
        patch: Some(2),
        max_len: Some(2),
        no_beyond: true,
        ..by_patient()
    };
    let data = read("a.csv", &text, cut).unwrap();
    data.says("steps of time: 4.5 hours (the shortest 4 hours");
    for sample in tested(data.task().as_ref()) {
        let gaps = gaps(&sample);
        assert!(gaps.len() == 1 && (0.8..1.2).contains(&gaps[0]), "{gaps:?}");
    }
}

#[test]
fn equal_numbers_at_other_times_are_other_rows() {
    // Each series twice: the same gaps on other days are one sequence, and other gaps are not.
    let twice = visits(0..60)
        + &visits(0..60)
            .replace("\np", "\nq")
            .lines()
            .skip(1)
            .collect::<Vec<_>>()
            .join("\n");
    let data = read("a.csv", &twice, by_patient()).unwrap();
    let text = said(&data);
    // The gaps repeat after 2 · 5 · 3 = 30 series, so 30 of 120 are different.
    text.says("rows with the sequence of an earlier one: 90");
    assert!(!text.contains("sequences under more than one"), "{text}");
}

#[test]
fn folds_a_test_file_and_the_prepared_form_have_the_same_times() {
    let folder = tempfile::tempdir().unwrap();
    let folded = Source {
        folds: Some(3),
        reading: by_patient(),
        ..write(folder.path(), "a.csv", &visits(0..60))
    };
    write(folder.path(), "b_TEST.ts", &stamped(60..100));
    let beside = write(folder.path(), "b_TRAIN.ts", &stamped(0..60));
    for (place, source) in [folded, beside].iter().enumerate() {
        let data = DataTask::read(source).unwrap();
        let file = folder.path().join(format!("prepared-{place}"));
        let mut out = Vec::new();
        data.write_prepared("it", &mut out).unwrap();
        fs::write(&file, out).unwrap();
        for task in data.tasks() {
            let again =
                prepared_task(&Entry::named(&file), "it", data.spec(), task.name()).unwrap();
            assert!(task.has_times() && again.has_times());
            assert_eq!(tested(again.as_ref()), tested(task.as_ref()));
            assert_eq!(again.train_batch(1, 2, 16), task.train_batch(1, 2, 16));
            tested(task.as_ref())
                .iter()
                .for_each(|sample| drop(gaps(sample)));
        }
    }
}

#[test]
fn others_are_predicted_in_the_unit_of_the_study() {
    let folder = tempfile::tempdir().unwrap();
    let source = Source {
        reading: by_patient(),
        ..write(folder.path(), "a.csv", &visits(0..60))
    };
    let data = DataTask::read(&source).unwrap();
    // Equal steps, which are no unit of their own, and one step alone.
    let new = "patient,day,x\nn,0,0.5\nn,6,1.5\nn,12,2.5\none,99,0.5\n";
    let file = write(folder.path(), "new.csv", new).file;
    let new = data.to_predict(NAME, &file).unwrap();
    let times: Vec<_> = new
        .samples
        .iter()
        .map(|sample| sample.times.clone().unwrap())
        .collect();
    let unit = 6.0 / (times[0][2] - 1.0);
    assert!((1.0..=4.0).contains(&unit), "{unit}");
    assert_eq!(
        times[0],
        [
            0.0,
            1.0,
            1.0 + 6.0 / unit,
            1.0 + 12.0 / unit,
            2.0 + 12.0 / unit
        ]
    );
    assert_eq!(times[1], [0.0, 1.0, 2.0]);
    let refused = |text: &str| {
        let file = write(folder.path(), "other.csv", text).file;
        data.to_predict(NAME, &file)
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    let dates = refused("patient,day,x\nn,2024-01-01,0.5\nn,2024-01-03,1.5\n");
    dates.says("the times of `day` are dates, and those of the study numbers");
    let far = refused("patient,day,x\nn,0,0.5\nn,9e999,1.5\n");
    assert!(far.contains("the time `day` is `9e999`"), "{far}");

    let stamps = DataTask::read(&write(folder.path(), "a.ts", &stamped(0..60))).unwrap();
    let plain = "@univariate true\n@classLabel true ill well\n@data\n0.5,1.5\n";
    let file = write(folder.path(), "plain.ts", plain).file;
    let without = stamps
        .to_predict(NAME, &file)
        .map(drop)
        .unwrap_err()
        .to_string();
    without.says("its series have no times, and those of the study have");
}

#[test]
fn a_study_of_equal_steps_predicts_series_of_other_steps_by_their_order() {
    let folder = tempfile::tempdir().unwrap();
    // Numbers that differ, so that rows differ without times too.
    let row = |of: usize| {
        let steps = (0..4).map(|step| format!("({step},{step}.{of})"));
        format!(
            "{}:{}\n",
            steps.collect::<Vec<_>>().join(","),
            ["ill", "well"][of % 2]
        )
    };
    let text = stamped(0..0) + &(0..40).map(row).collect::<String>();
    let source = write(folder.path(), "even.ts", &text);
    let study = DataTask::read(&source).unwrap();
    assert!(!study.task().has_times());
    let uneven = write(folder.path(), "uneven.ts", &stamped(40..50));
    let others = study.to_predict(NAME, &uneven.file).unwrap();
    let said = "they say the order alone, as in the study, and each counts as one step";
    assert!(
        others.notes.iter().any(|note| note.contains(said)),
        "{:?}",
        others.notes
    );
    assert!(others.samples.iter().all(|sample| sample.times.is_none()));
}

#[test]
fn times_that_do_not_fit_those_of_the_training_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let tested_on = |test: &str| {
        let source = Source {
            test: Some(write(folder.path(), "test.ts", test).file),
            ..write(folder.path(), "train.ts", &stamped(0..40))
        };
        DataTask::read(&source).unwrap_err().to_string()
    };
    let plain = "@univariate true\n@classLabel true ill well\n@data\n0.5,1.5:ill\n";
    let error = tested_on(plain);
    assert!(
        error.contains("test.ts")
            && error.contains(
                "its series have no times, and those of the first file times that are numbers"
            ),
        "{error}"
    );
    let dates = plain.replace("@univariate", "@timeStamps true\n@univariate");
    let error = tested_on(&dates.replace("0.5,1.5", "(2024-01-01,0.5),(2024-01-03,1.5)"));
    assert!(error.contains("times that are dates"), "{error}");
    let far = stamped(0..40).replacen("(0,0.5)", "(-1e16,0.5)", 1);
    let error = read("a.ts", &far, Reading::default())
        .map(drop)
        .unwrap_err();
    error.says("line 5: the time stamp of step 1 is `-1e16`, and from 2^53 on");
}
