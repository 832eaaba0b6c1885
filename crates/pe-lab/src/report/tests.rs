//! Facts that a report states: where, on what and in which unit.

use super::charts;
use super::comparison::Part;
use super::encodings::Encodings;
use super::html::{self, Charts};
use super::summary::Summary;
use super::synthetic::Synthetic;
use super::{table, verdict};
use crate::data::{DataSpec, FileSpec, Format, Reading};
use crate::task::{Measure, Score};

fn own_data() -> DataSpec {
    DataSpec {
        file: "a.csv".into(),
        format: Format::Csv,
        sha256: String::new(),
        bytes: 1,
        test: None,
        folds: None,
        reading: Reading::default(),
        vocabulary: None,
        tokenizer: None,
    }
}

/// Two schemes on a task with these accuracies above a floor of 0.25, three seeds each.
fn study(task: &str, scores: [(&str, f64); 2]) -> Synthetic {
    let mut study = Synthetic::new(&[task], &scores.map(|of| of.0), 3);
    for (scheme, accuracy) in scores {
        for seed in 1..=3 {
            study = study.score(task, scheme, seed, &[(20, accuracy + 0.001 * seed as f64)]);
        }
    }
    study
}

fn judged(study: &Synthetic) -> Summary {
    verdict::judged(Summary::of(&study.data()))
}

fn page(study: &Synthetic) -> String {
    let data = study.data();
    let summary = judged(study);
    let charts = Charts::draw(&data, &summary).unwrap();
    html::render(&data, &summary, &charts, &Encodings::default()).unwrap()
}

#[test]
fn the_file_that_was_tested_is_named() {
    let mut study = study("data", [("rotary", 0.9), ("alibi", 0.5)]);
    study.spec.data = Some(own_data());
    let said = judged(&study).verdict;
    let of = |said: &[String]| said.iter().find(|of| of.contains("All seeds")).cloned();
    assert!(of(&said).unwrap().contains("rows of a.csv"), "{said:?}");
    study.spec.data.as_mut().unwrap().test = Some(FileSpec {
        file: "b.csv".into(),
        sha256: String::new(),
        bytes: 1,
    });
    let said = judged(&study).verdict;
    assert!(of(&said).unwrap().contains("rows of b.csv"), "{said:?}");
}

#[test]
fn where_little_was_learned_no_scheme_leads() {
    // 0.33 and 0.28 above a floor of 0.25.
    let mut study = study("data", [("rotary", 0.33), ("alibi", 0.28)]);
    study.spec.data = Some(own_data());
    let summary = judged(&study);
    assert!(
        summary.verdict[1]
            .starts_with("On held-out data: not solved on a.csv. The highest score is 0.11 of 1"),
        "{:?}",
        summary.verdict
    );
    assert!(
        !summary
            .verdict
            .iter()
            .any(|said| said.contains("rotary is"))
    );
    assert!(summary.leaders().is_empty() && summary.tasks[0].leaders().is_empty());
    // As much is enough for an error, of which there may be no more to learn.
    let mut task = summary.tasks[0].clone();
    task.measure = Measure::Error { unit: "ppm".into() };
    assert_eq!(task.leaders(), ["rotary"]);
}

#[test]
fn no_positions_are_not_called_none_in_a_sentence() {
    let said = judged(&study("reverse", [("none", 0.9), ("alibi", 0.5)])).verdict;
    assert!(said[0].contains("no positions (`none`) is "), "{said:?}");
    let said = judged(&study("reverse", [("alibi", 0.9), ("none", 0.5)])).verdict;
    assert!(said[1].contains("no positions (`none`), +0.53"), "{said:?}");
}

#[test]
fn images_are_tested_at_other_resolutions_and_not_beyond() {
    let mut study = Synthetic::new(&["digits_32"], &["none", "rotary_2d"], 2);
    for (scheme, accuracy) in [("none", 0.5), ("rotary_2d", 0.8)] {
        for seed in [1, 2] {
            let at = [(20, accuracy), (64, accuracy), (144, accuracy)];
            study = study.score("digits_32", scheme, seed, &at);
        }
    }
    let summary = judged(&study);
    assert!(summary.resolutions());
    let said = summary.verdict.join(" ") + &table::render(&summary);
    assert!(
        said.contains("At the resolution of the training: "),
        "{said}"
    );
    assert!(said.contains("At other resolutions: "), "{said}");
    let data = study.data();
    let figures = charts::of_task(&data, &data.tasks[0], None).unwrap();
    let drawn = figures.scores.iter().map(|of| of.svg.as_str());
    for wrong in ["Beyond", "beyond", "sequence length", "training lengths"] {
        assert!(!said.contains(wrong), "{wrong}: {said}");
        assert!(!drawn.clone().any(|svg| svg.contains(wrong)), "{wrong}");
    }
    assert!(
        page(&study).contains("images of 64 patches; tested on images of the same size, and of")
    );
    assert_eq!(Part::Beyond.in_words(true), "at other resolutions");
}

#[test]
fn the_loss_of_a_forecast_is_an_absolute_error_in_the_unit_of_the_data() {
    let study = study("reverse", [("none", 0.9), ("alibi", 0.5)]);
    let mut data = study.data();
    let drawn = |data: &super::data::Data<'_>| {
        let figures = charts::of_task(data, &data.tasks[0], None).unwrap();
        figures
            .losses
            .into_iter()
            .map(|of| of.caption + &of.svg)
            .collect::<String>()
    };
    let of_classes = drawn(&data);
    assert!(of_classes.contains("The cross-entropy on") && of_classes.contains("nats per answer"));
    data.tasks[0].measure = Measure::Error { unit: "Ppm".into() };
    data.tasks[0].unit = 1e4;
    let of_numbers = drawn(&data);
    assert!(!of_numbers.contains("cross-entropy") && !of_numbers.contains("nats"));
    assert!(of_numbers.contains("mean absolute error (Ppm)"));
    // The training losses fall from about 2.1, which is 21,000 Ppm.
    let has = |svg: &str, tick: &str| svg.lines().any(|line| line == tick);
    assert!(has(&of_numbers, "20,000") && !has(&of_classes, "20,000"));
}

#[test]
fn tables_are_sorted_by_score_and_mark_the_highest() {
    let study = study("reverse", [("none", 0.5), ("alibi", 0.9)]);
    let summary = judged(&study);
    let text = table::render(&summary);
    let at = |name: &str| text.find(name).unwrap_or_else(|| panic!("{name}: {text}"));
    assert!(at("  alibi *") < at("  none "), "{text}");
    let page = page(&study);
    let row = |scheme: &str| {
        page.find(&format!("<tr><th scope=\"row\">{scheme}<"))
            .unwrap()
    };
    assert!(row("alibi") < row("none"));
    assert_eq!(
        page.matches("highest</span></th>").count(),
        1,
        "of one task there is one table"
    );
}

#[test]
fn one_task_has_no_heat_map_and_capitals_stay() {
    let mut study = study("data", [("none", 0.5), ("alibi", 0.9)]);
    study.spec.data = Some(own_data());
    assert!(!page(&study).contains("Normalized score of every scheme on every task"));
    for scheme in ["none", "alibi"] {
        for seed in 1..=3 {
            let mut measures = study.measures("data", scheme, seed).clone();
            measures.scores[0].score = Score::Bits(1.5);
            study = study.replace("data", scheme, seed, measures);
        }
    }
    let page = page(&study);
    assert!(
        page.contains("a.csv: bits per token after 1500 steps"),
        "the title of a chart"
    );
    let data = study.data();
    let mut summary = judged(&study);
    summary.tasks[0].measure = Measure::Error {
        unit: "CO2 in PPM".into(),
    };
    let charts = Charts::draw(&data, &summary).unwrap();
    let page = html::render(&data, &summary, &charts, &Encodings::default()).unwrap();
    assert!(page.contains(">Error in CO2 in PPM, held-out<"));
}
