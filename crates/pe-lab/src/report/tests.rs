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
    let kept = FileSpec {
        file: "a.csv".into(),
        sha256: String::new(),
        bytes: 1,
    };
    DataSpec::new(kept, Format::Csv, &Reading::default())
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
    let text = said.join("\n").replace("(trained on a.csv)", "");
    assert!(
        text.contains("b.csv") && !text.contains("a.csv"),
        "{said:?}"
    );
    assert_eq!(judged(&study).tasks[0].title, "b.csv (trained on a.csv)");
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
    let figures = charts::of_task(&data, &data.tasks[0]).unwrap();
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
        let figures = charts::of_task(data, &data.tasks[0]).unwrap();
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

/// The scores of a study as another program would write them: its normalized scores.
fn as_table(study: &Synthetic) -> super::Results {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("theirs.csv");
    let mut text = String::from("task,scheme,seed,part,score\n");
    let summary = judged(study);
    for task in &summary.tasks {
        for scheme in &task.schemes {
            for (part, group) in [("inside", &scheme.inside), ("beyond", &scheme.beyond)] {
                for seed in group.iter().flat_map(|group| &group.seeds) {
                    let (task, scheme) = (&task.name, &scheme.scheme);
                    text += &format!(
                        "{task},{scheme},{},{part},{:?}\n",
                        seed.seed, seed.normalized
                    );
                }
            }
        }
    }
    std::fs::write(&file, text).unwrap();
    super::Results::read(&file).unwrap()
}

#[test]
fn scores_of_others_are_judged_as_those_of_a_study() {
    let study = Synthetic::large(5);
    let own = judged(&study);
    let results = as_table(&study);
    let report = super::Report::of_results(&results);
    let theirs = &report.summary;
    let pairs = |of: &Summary| -> Vec<String> {
        let pairs = of.comparisons.iter().map(|pair| {
            let numbers = (
                pair.difference,
                pair.interval,
                pair.p,
                pair.p_holm,
                pair.p_level,
            );
            format!(
                "{:?} {} {} {:?} {numbers:.9?}",
                pair.part, pair.higher, pair.lower, pair.finding
            )
        });
        pairs.collect()
    };
    assert_eq!(pairs(theirs), pairs(&own));
    let best = |of: &Summary| -> Vec<(Part, Vec<String>, bool, bool)> {
        let headlines = of.headlines.iter();
        headlines
            .map(|of| (of.part, of.order.clone(), of.best, of.decided))
            .collect()
    };
    assert_eq!(best(theirs), best(&own));
    // What only a study knows is neither claimed nor shown.
    let said = theirs.verdict.join(" ");
    assert!(
        said.contains("The scores are taken as they are in theirs.csv"),
        "{said}"
    );
    let page = {
        let charts = Charts::draw(&report.data, theirs).unwrap();
        html::render(&report.data, theirs, &charts, &Encodings::default()).unwrap()
    };
    let text = report.table();
    for wrong in [
        "floor",
        "converged (",
        "tuned",
        "learning rate of",
        "ms/step",
        "Tokens per s",
        "parameters",
        "Adam",
        "steps",
        "normalized",
    ] {
        for (what, text) in [("verdict", &said), ("table", &text), ("page", &page)] {
            let found = text.to_lowercase().find(&wrong.to_lowercase());
            // The last sentence of the verdict names what is not known.
            assert!(
                found.is_none() || wrong == "converged (",
                "{wrong} in the {what}: {}",
                &text[found.unwrap_or(0)..]
                    .chars()
                    .take(200)
                    .collect::<String>()
            );
        }
    }
    assert!(page.contains("Where the scores are from") && page.contains("theirs.csv"));
    let json = report.json().unwrap();
    assert!(
        json.contains("\"results\"") && !json.contains("\"recipe\"") && !json.contains("\"steps\""),
        "{json}"
    );
    // A part of the scores.
    let mut fewer = as_table(&study);
    fewer.runs.truncate(100);
    let said = super::Report::of_results(&fewer).summary.verdict.join(" ");
    assert!(
        said.contains(
            "350 of 450 combinations of scheme, task and seed have no score in theirs.csv"
        ),
        "{said}"
    );
}

#[test]
fn scores_of_others_may_be_low_and_still_have_a_leader() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("low.csv");
    let rows = (1..=4).map(|seed| {
        let spread = f64::from(seed) / 1000.0;
        format!(
            "a,x,{seed},{}\nb,x,{seed},{}\n",
            0.04 + spread,
            -0.3 + spread
        )
    });
    std::fs::write(
        &file,
        format!("scheme,task,seed,score\n{}", rows.collect::<String>()),
    )
    .unwrap();
    let results = super::Results::read(&file).unwrap();
    let report = super::Report::of_results(&results);
    let said = report.summary.verdict.join(" ");
    assert!(said.contains("a is best of the two on x"), "{said}");
}
