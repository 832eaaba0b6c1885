mod trainings;

use super::*;
use crate::ask::Grown;
use crate::data::DataSpec;
use crate::data::testing::{Says, rows};
use crate::learn::RowOutcomes;
use crate::report::data::{Data, Look};
use crate::report::synthetic::{Synthetic, own_data};
use crate::task::Score;

/// Schemes on one task: normalized scores inside, one a seed.
fn study(schemes: &[(&str, &[f64])]) -> Synthetic {
    Synthetic::of_scores("mine", schemes)
}

fn verdict(study: &Synthetic) -> Vec<String> {
    of_data(&study.data())
}

/// Without the answer, whose values have tests of their own, and without the line about tuning, which is the last one of every study with scores.
fn of_data(data: &Data<'_>) -> Vec<String> {
    let mut lines = judged(Summary::of(data)).verdict;
    lines.remove(0);
    begins(&lines.pop().unwrap(), "No scheme was tuned");
    lines
}

#[track_caller]
fn begins(sentence: &str, part: &str) {
    assert!(sentence.starts_with(part), "{part}: {sentence}");
}

#[track_caller]
fn ends(sentence: &str, part: &str) {
    assert!(sentence.ends_with(part), "{part}: {sentence}");
}

const HIGH: &[f64] = &[0.90, 0.93, 0.91, 0.92, 0.89];

const LOW: &[f64] = &[0.50, 0.46, 0.52, 0.49, 0.51];

/// [`HIGH`] lowered by this much, with the scores in reverse order of the seeds.
fn lower(by: f64) -> Vec<f64> {
    HIGH.iter().rev().map(|score| score - by).collect()
}

#[test]
fn one_sentence_says_which_scheme_is_best_and_how_sure_that_is() {
    let a = ("a", HIGH);
    let (near, close) = (lower(0.01), lower(0.036));
    for (schemes, begin, end) in [
        // scipy.stats.ttest_ind(HIGH, LOW, equal_var=False): p = 4.9e-9, 95 % 0.3845 to 0.4435.
        (
            vec![("b", LOW), a, ("c", &[0.1, 0.12, 0.09, 0.11, 0.1])],
            "a is best of the three on mine (nearest: b, +0.41, 95 % 0.38 to 0.44, p < 0.0001; 5 seeds).",
            "",
        ),
        // A leader that is not established as best is called so, and the others are sorted by what was found.
        (
            vec![a, ("near", &near), ("low", LOW)],
            "a is highest of the three on mine (0.91 of 1), but that it is best is not established (nearest: near, +0.01, \
             95 % -0.02 to 0.04, p 0.4",
            "5 seeds). Proven below it: low (+0.41). Undecided: near (+0.01, since the runs of near score from 0.88 to 0.92).",
        ),
        // A best scheme is named with the pairs that are not proven.
        (
            [
                &[a, ("near", &close)],
                &["c", "d", "e", "f"].map(|name| (name, LOW))[..],
            ]
            .concat(),
            "a is best of the six on mine (nearest: near",
            "). Not proven below it as single pairs: near.",
        ),
        (
            vec![("a", &[0.9]), ("b", &[0.5])],
            "a is highest of the two on mine (0.90 of 1; next: b (+0.40)). One seed cannot tell that from chance.",
            "",
        ),
        (
            vec![("a", &[0.9, 0.91]), ("b", &[0.1, 0.11])],
            "a is highest of the two",
            "Two seeds cannot tell that from chance.",
        ),
        (
            vec![("a", &[0.01, 0.0]), ("b", &[-0.02, 0.0])],
            "no scheme is clearly above the floor on mine (that takes a score of 0.05).",
            "0.05).",
        ),
        // What the tests find among such low scores is said too.
        (
            vec![("a", &[0.041, 0.040, 0.042]), ("b", &[0.001, 0.0, 0.002])],
            "no scheme is clearly above the floor on mine (that takes a score of 0.05).",
            "0.05). Among these low scores the tests still find a best.",
        ),
        (
            vec![
                ("a", &[0.041, 0.040, 0.042]),
                ("b", &[0.042, 0.041, 0.040]),
                ("c", &[0.001, 0.0, 0.002]),
            ],
            "no scheme is clearly above the floor on mine (that takes a score of 0.05).",
            "Among these low scores it is still proven: a above c (+0.04) and b above c (+0.04).",
        ),
        (
            vec![("a", &[1.0; 5]), ("b", &[1.0; 5])],
            "a and b have the same mean on mine (1.00 of 1).",
            "Equal in every run: b.",
        ),
        (
            vec![("a", &[0.9, 0.91]), ("b", &[0.91, 0.9]), ("c", &[0.1, 0.1])],
            "a and b have the same mean on mine (0.91 of 1), the highest of the three.",
            "",
        ),
    ] {
        let said = verdict(&study(&schemes));
        assert_eq!(said.len(), 1, "{said:?}");
        begins(&said[0], &format!("On held-out data: {begin}"));
        ends(&said[0], end);
    }
}

#[test]
fn the_least_certain_pair_comes_where_it_is_not_the_nearest() {
    let wild: &[f64] = &[0.95, 0.40, 0.88, 0.45, 0.90];
    let apart: Vec<f64> = HIGH.iter().map(|score| score - 0.15).collect();
    let said = verdict(&study(&[("a", HIGH), ("near", &apart), ("wild", wild)]));
    said[0].says_all(&[
        "(nearest: near, +0.15, 95 % ",
        "; least certain: wild, +0.19",
    ]);
}

#[test]
fn a_scheme_alone_is_compared_with_nothing() {
    let only_a = Synthetic::new(&["mine"], &["a", "b"], 1).score("mine", "a", 1, &[(10, 0.925)]);
    let said = "On held-out data: only a has scores (0.90 of 1 on mine).";
    assert_eq!(verdict(&only_a)[0], said);
}

#[test]
fn what_was_added_is_said() {
    let mut study = study(&[("a", HIGH), ("b", LOW)]);
    let grown = |seeds, schemes| Grown {
        seeds,
        schemes,
        tasks: 1,
        steps: Vec::new(),
    };
    let mut longer = grown(4, 2);
    longer.steps.clone_from(&study.spec.tasks);
    study.spec.grown = vec![grown(3, 1), longer];
    begins(
        &verdict(&study)[1],
        "The study was added to or changed after it had begun, when it had 3 seeds, 1 scheme and 1 task; then 4 seeds, \
         2 schemes and 1 task, with 1500 steps on mine.",
    );
}

#[test]
fn real_data_of_the_laboratory_have_one_set_of_rows() {
    let of = |task| {
        let study = Synthetic::new(&["reverse", task], &["a"], 1);
        let study = study.score("reverse", "a", 1, &[(10, 0.9)]);
        verdict(&study.score(task, "a", 1, &[(10, 0.9)]))
    };
    let rows =
        "All seeds are tested on the same sequences of digits: what others would say is not known.";
    assert_eq!(of("digits")[1], rows);
    assert!(!of("shift3").iter().any(|said| said.contains("All seeds")));
}

#[test]
fn level_decides_from_eight_seeds_on() {
    let a = [
        0.9000, 0.9010, 0.9005, 0.9002, 0.9008, 0.9003, 0.9007, 0.9004,
    ];
    let b = a.map(|score| 1.8008 - score);
    let low = a.map(|score| score - 0.4);
    let names = "Proven below it: low (+0.40). Level within 0.02: b.";
    for (seeds, top) in [
        (8, ", and level with one other. "),
        (5, ", but that it is best is not established ("),
    ] {
        let schemes = [
            ("a", &a[..seeds]),
            ("b", &b[..seeds]),
            ("low", &low[..seeds]),
        ];
        let said = verdict(&study(&schemes));
        let highest = "On held-out data: a is highest of the three on mine (0.90 of 1)";
        begins(&said[0], &format!("{highest}{top}"));
        ends(&said[0], names);
    }
}

#[test]
fn inside_and_beyond_are_two_answers_each_on_its_own_tasks() {
    let mut study = Synthetic::new(&["x", "y"], &["a", "b"], 5);
    for seed in 1..=5 {
        for (scheme, inside, beyond) in [("a", HIGH, LOW), ("b", LOW, HIGH)] {
            let inside = 0.25 + 0.75 * inside[seed as usize - 1];
            let beyond = 0.2 + 0.8 * beyond[seed as usize - 1];
            study = study.score("x", scheme, seed, &[(10, inside)]);
            study = study.score("y", scheme, seed, &[(10, inside), (40, beyond)]);
        }
    }
    let said = verdict(&study);
    let mean = "Inside the training lengths: a is best of the two on the mean over x and y (";
    begins(&said[0], mean);
    begins(&said[1], "Beyond: b is best of the two on y (");
}

#[test]
fn a_scheme_with_one_seed_is_named_beside_others_with_many() {
    let mut study = study(&[("a", HIGH), ("b", LOW)]);
    study.spec.schemes.push("c".into());
    let said = verdict(&study.score("mine", "c", 1, &[(10, 0.5)])).join("\n");
    let few = "Too few seeds: c (+0.58, since one seed of a scheme proves nothing).";
    said.says_all(&["is highest of the", "Proven below it: b (+0.41).", few]);
}

#[test]
fn looks_share_the_errors_and_say_when_it_is_decided() {
    // p is 0.0070: below 0.0125, and above a quarter of every error.
    let close = study(&[("a", HIGH), ("b", &lower(0.036))]);
    let clear = study(&[("a", HIGH), ("b", LOW)]);
    verdict(&close)[0].says("a is best");
    let undecided = "Not decided after 5 of up to 12 seeds; each of the 4 planned looks (3, 5, 8 and 12 seeds) has an equal share \
                     of the errors.";
    let early = "Before the first planned look, at 3 seeds";
    let decided = "Decided after 5 of up to 12 seeds";
    for (study, reached, evidence, look) in [
        (&close, Some(5), "not established", undecided),
        (&close, None, "not established", early),
        (&clear, Some(5), "a is best", decided),
    ] {
        let said = of_data(&Data {
            look: Some(Look {
                planned: vec![3, 5, 8, 12],
                reached,
            }),
            ..study.data()
        });
        said[0].says(evidence);
        begins(&said[1], look);
    }
}

/// Two schemes on 100 rows: `a`, with five seeds, is better on 30 rows, and `b` on `against` rows, at every seed.
fn of_rows(against: usize, folds: Option<usize>, seeds_of_b: u64) -> Vec<String> {
    let tasks: &[&str] = match folds {
        None => &["mine"],
        Some(_) => &["mine-1", "mine-2"],
    };
    let mut study = Synthetic::new(tasks, &["a", "b"], 5);
    study.spec.data = Some(DataSpec {
        folds,
        ..own_data("reviews.csv")
    });
    for (scheme, rows, seeds) in [("a", 30..30 + against, 5), ("b", 0..30, seeds_of_b)] {
        for seed in 1..=seeds {
            // One row differs between seeds.
            let right: Vec<u32> = (0..100)
                .map(|row| u32::from(!rows.contains(&row) && row != 90 + seed as usize))
                .collect();
            for (task, right) in tasks.iter().zip(right.chunks(100 / tasks.len())) {
                let accuracy = f64::from(right.iter().sum::<u32>()) / right.len() as f64;
                study = study.score(task, scheme, seed, &[(10, accuracy)]);
                let score = &mut study.measures(task, scheme, seed).scores[0];
                (score.score, score.exact) = (Score::Accuracy(accuracy), Some(accuracy));
                score.samples = right.len();
                let right = right.to_vec();
                score.rows = Some(RowOutcomes::Right { right, asked: 1 });
            }
        }
    }
    verdict(&study)
}

#[test]
fn a_persons_file_is_named_and_its_rows_are_asked() {
    for [against, folds, begin] in rows(
        "
        2  |   | All seeds are tested on the same 100 rows of reviews.csv; other rows like these would also put a first (a against b: 0.37
        2  | 2 | Every seed is tested once on each of 100 rows of reviews.csv, in 2 parts; other rows
        24 |   | All seeds are tested on the same 100 rows of reviews.csv: that other rows like these would put a first is not established
        ",
    ) {
        let said = of_rows(against.parse().unwrap(), folds.parse().ok(), 5);
        said[0].says("of the two on reviews.csv");
        begins(&said[1], begin);
        ends(&said[1], &format!("on 30 rows, and worse on {against})."));
    }
    // Two seeds claim nothing of other rows either.
    let said = of_rows(2, None, 2);
    assert_eq!(
        said[1],
        "All seeds are tested on the same 100 rows of reviews.csv: what other rows would say is not known."
    );
}

#[test]
fn failing_inside_is_told_apart_from_failing_beyond() {
    let study = Synthetic::new(&["reverse"], &["none", "learned"], 1)
        .score("reverse", "none", 1, &[(10, 0.3), (40, 0.2)])
        .score("reverse", "learned", 1, &[(10, 1.0), (40, 0.2)]);
    let said = verdict(&study);
    begins(&said[0], "Inside the training lengths: learned is highest");
    assert_eq!(
        said[1],
        "Beyond: no scheme is clearly above the floor on reverse (that takes a score of 0.05)."
    );
    begins(
        &said[2],
        "Not solved even inside the training lengths: `none` (no positions) on reverse (every seed).",
    );
}
