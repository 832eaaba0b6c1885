//! Facts that a report states: where, on what and in which unit.

use super::charts;
use super::comparison::{Headline, Part};
use super::data::Data;
use super::encodings::Encodings;
use super::summary::Summary;
use super::synthetic::{Synthetic, file, own_data, page};
use super::{Report, Results, table};
use crate::data::testing::Says;
use crate::task::{Measure, Score};

/// Two schemes on a task with these accuracies above a floor of 0.25, three seeds each.
fn study(task: &str, scores: [(&str, f64); 2]) -> Synthetic {
    Synthetic::each(&[task], &scores.map(|of| of.0), 3, |_, scheme, seed| {
        let own = scores.iter().find(|of| of.0 == scheme).unwrap();
        [(20, own.1 + 0.001 * seed as f64)]
    })
}

/// The same schemes, tested on a person's own data.
fn own_study(scores: [(&str, f64); 2]) -> Synthetic {
    let mut study = study("data", scores);
    study.spec.data = Some(own_data("a.csv"));
    study
}

#[track_caller]
fn has_not(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(!text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_file_that_was_tested_is_named() {
    let mut study = own_study([("rotary", 0.9), ("alibi", 0.5)]);
    let rows = |study: &Synthetic| {
        let said = study.judged().verdict;
        let rows = said.iter().find(|of| of.contains("All seeds")).cloned();
        (rows.unwrap(), said.join("\n"))
    };
    rows(&study).0.says("rows of a.csv");
    study.spec.data.as_mut().unwrap().test = Some(file("b.csv"));
    let (rows, said) = rows(&study);
    rows.says("rows of b.csv");
    has_not(&said.replace("(trained on a.csv)", ""), &["a.csv"]);
    assert_eq!(study.judged().tasks[0].title, "b.csv (trained on a.csv)");
}

#[test]
fn where_little_was_learned_no_scheme_leads() {
    // 0.33 and 0.28 above a floor of 0.25.
    let summary = own_study([("rotary", 0.33), ("alibi", 0.28)]).judged();
    summary.verdict[1]
        .says("On held-out data: not solved on a.csv. The highest score is 0.11 of 1");
    has_not(&summary.verdict.join("\n"), &["rotary is"]);
    assert!(summary.leaders().is_empty() && summary.tasks[0].leaders().is_empty());
    // The same scores are enough where the measure is an error, as there may be no more to learn.
    let mut task = summary.tasks[0].clone();
    task.measure = Measure::Error { unit: "ppm".into() };
    assert_eq!(task.leaders(), ["rotary"]);
}

#[test]
fn none_does_not_stand_alone_in_a_sentence() {
    let said = |scores| study("reverse", scores).judged().verdict;
    let control_leads = said([("none", 0.9), ("alibi", 0.5)]);
    control_leads[0].says("`none` (no positions) is ");
    let control_is_below = said([("alibi", 0.9), ("none", 0.5)]);
    control_is_below[1].says("`none` (no positions), +0.53");
}

#[test]
fn images_are_tested_at_other_resolutions_and_not_beyond() {
    let schemes = ["none", "rotary_2d"];
    let study = Synthetic::each(&["digits_32"], &schemes, 2, |_, scheme, _| {
        let accuracy = if scheme == "none" { 0.5 } else { 0.8 };
        [20, 64, 144].map(|length| (length, accuracy))
    });
    let summary = study.judged();
    assert!(summary.resolutions());
    let said = summary.verdict.join(" ") + &table::render(&summary);
    said.says("At the resolution of the training: ");
    said.says("At other resolutions: ");
    let data = study.data();
    let figures = charts::of_task(&data, &data.tasks[0]).unwrap().scores;
    let drawn: String = figures.into_iter().map(|of| of.svg).collect();
    let wrong = ["Beyond", "beyond", "sequence length", "training lengths"];
    has_not(&(said + &drawn), &wrong);
    study
        .page(Vec::new())
        .says("images of 64 patches; tested on images of the same size, and of");
    assert_eq!(Part::Beyond.in_words(true), "at other resolutions");
}

#[test]
fn the_loss_of_a_forecast_is_an_absolute_error_in_the_unit_of_the_data() {
    let study = study("reverse", [("none", 0.9), ("alibi", 0.5)]);
    let mut data = study.data();
    let drawn = |data: &Data<'_>| -> String {
        let figures = charts::of_task(data, &data.tasks[0]).unwrap();
        let losses = figures.losses.into_iter();
        losses.map(|of| of.caption + &of.svg).collect()
    };
    let of_classes = drawn(&data);
    of_classes.says_all(&["The cross-entropy on", "nats per answer"]);
    data.tasks[0].measure = Measure::Error { unit: "Ppm".into() };
    data.tasks[0].unit = 1e4;
    let of_numbers = drawn(&data);
    has_not(&of_numbers, &["cross-entropy", "nats"]);
    // The training losses fall from about 2.1, which is 21,000 Ppm.
    of_numbers.says_all(&["mean absolute error (Ppm)", "\n20,000\n"]);
    has_not(&of_classes, &["\n20,000\n"]);
}

#[test]
fn tables_are_sorted_by_score_and_mark_the_highest() {
    let study = study("reverse", [("none", 0.5), ("alibi", 0.9)]);
    let text = table::render(&study.judged());
    let at = |name: &str| text.find(name).unwrap_or_else(|| panic!("{name}: {text}"));
    assert!(at("  alibi *") < at("  none "), "{text}");
    let page = study.page(Vec::new());
    let row = |scheme: &str| page.find(&format!("<tr><th scope=\"row\">{scheme}<"));
    assert!(row("alibi").unwrap() < row("none").unwrap());
    let marks = page.matches("highest</span></th>").count();
    assert_eq!(marks, 1, "of one task there is one table");
}

#[test]
fn one_task_has_no_heat_map_and_capitals_stay() {
    let study = own_study([("none", 0.5), ("alibi", 0.9)]);
    let heat_map = "Normalized score of every scheme on every task";
    has_not(&study.page(Vec::new()), &[heat_map]);
    let study = study.change(|_, _, measures| measures.scores[0].score = Score::Bits(1.5));
    // The title of a chart.
    let title = "a.csv: bits per token after 1500 steps";
    study.page(Vec::new()).says(title);
    let mut summary = study.judged();
    let unit = "CO2 in PPM".into();
    summary.tasks[0].measure = Measure::Error { unit };
    let page = page(&study.data(), &summary, &Encodings::default());
    page.says(">Error in CO2 in PPM, held-out<");
}

/// What is read of a table of scores.
fn read(name: &str, text: &str) -> Results {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, text).unwrap();
    Results::read(&file).unwrap()
}

/// The scores of a study as another program would write them: its normalized scores.
fn as_table(summary: &Summary) -> Results {
    let mut text = String::from("task,scheme,seed,part,score\n");
    for task in &summary.tasks {
        for scheme in &task.schemes {
            for (part, group) in [("inside", &scheme.inside), ("beyond", &scheme.beyond)] {
                for seed in group.iter().flat_map(|group| &group.seeds) {
                    let (task, scheme, score) = (&task.name, &scheme.scheme, seed.normalized);
                    text += &format!("{task},{scheme},{},{part},{score:?}\n", seed.seed);
                }
            }
        }
    }
    read("theirs.csv", &text)
}

#[test]
fn scores_of_others_are_judged_as_those_of_a_study() {
    let own = Synthetic::large(5).judged();
    let results = as_table(&own);
    let report = Report::of_results(&results);
    let theirs = &report.summary;
    let pairs = |of: &Summary| -> Vec<String> {
        let pairs = of.comparisons.iter().map(|of| {
            let numbers = (of.difference, of.p, of.p_holm, of.p_level);
            let schemes = (of.part, &of.higher, &of.lower, of.finding);
            format!("{schemes:?} {numbers:.9?}")
        });
        pairs.collect()
    };
    assert_eq!(pairs(theirs), pairs(&own));
    // How low a score of others can be is not known, so the difference of two has no bound.
    for (theirs, own) in theirs.comparisons.iter().zip(&own.comparisons) {
        let [theirs, own] = [theirs, own].map(|of| of.interval.unwrap());
        let is_within = theirs.low < own.low + 1e-9 && own.high < theirs.high;
        assert!(is_within, "{own:?} {theirs:?}");
    }
    let best = |of: &Summary| -> Vec<(Part, Vec<String>, bool, bool)> {
        let headline = |of: &Headline| (of.part, of.order.clone(), of.best, of.decided);
        of.headlines.iter().map(headline).collect()
    };
    assert_eq!(best(theirs), best(&own));
    // What only a study knows is neither claimed nor shown.
    let said = theirs.verdict.join(" ");
    said.says("The scores are taken as they are in theirs.csv: 1 is the highest. What the file does not tell: ");
    let page = page(&report.data, theirs, &Encodings::default());
    for text in [&said, &report.table(), &page] {
        let unknown =
            "floor|tuned|learning rate of|ms/step|tokens per s|parameters|adam|steps|normalized";
        let unknown: Vec<&str> = unknown.split('|').collect();
        has_not(&text.to_lowercase(), &unknown);
    }
    page.says_all(&["Where the scores are from", "theirs.csv"]);
    let json = report.json().unwrap();
    json.says("\"results\"");
    has_not(&json, &["\"recipe\"", "\"steps\""]);
    // A part of the scores.
    let mut fewer = as_table(&own);
    fewer.runs.truncate(100);
    let said = Report::of_results(&fewer).summary.verdict.join(" ");
    let missing = "350 of 450 combinations of scheme, task and seed have no score in theirs.csv";
    said.says(missing);
}

#[test]
fn scores_of_others_may_be_low_and_still_have_a_leader() {
    let rows = (1..=4).map(|seed| {
        let spread = f64::from(seed) / 1000.0;
        let (a, b) = (0.04 + spread, -0.3 + spread);
        format!("a,x,{seed},{a}\nb,x,{seed},{b}\n")
    });
    let rows: String = rows.collect();
    let results = read("low.csv", &format!("scheme,task,seed,score\n{rows}"));
    let said = Report::of_results(&results).summary.verdict.join(" ");
    said.says("a is best of the two on x");
}
