mod trainings;

use super::*;
use crate::ask::Grown;
use crate::data::{DataSpec, FileSpec, Format, Reading};
use crate::learn::{CurvePoint, RowOutcomes};
use crate::report::data::{Data, Look};
use crate::report::synthetic::Synthetic;
use crate::task::Score;

/// Schemes on one task: normalized scores inside, one a seed.
fn study(schemes: &[(&str, &[f64])]) -> Synthetic {
    let names: Vec<&str> = schemes.iter().map(|of| of.0).collect();
    let mut study = Synthetic::new(&["mine"], &names, schemes[0].1.len() as u64);
    for (scheme, scores) in schemes {
        for (i, normalized) in scores.iter().enumerate() {
            let at = [(10, 0.25 + 0.75 * normalized)];
            study = study.score("mine", scheme, i as u64 + 1, &at);
        }
    }
    study
}

fn verdict(study: &Synthetic) -> Vec<String> {
    of_data(&study.data())
}

/// Without the answer, whose values have tests of their own, and without the line about tuning, which is the last one of every study with scores.
fn of_data(data: &Data<'_>) -> Vec<String> {
    let mut lines = judged(Summary::of(data)).verdict;
    if data.runs.iter().any(|run| run.outcome.is_ok()) {
        lines.remove(0);
        let last = lines.pop().unwrap_or_default();
        assert!(last.starts_with("No scheme was tuned"), "{last}");
    }
    lines
}

const HIGH: &[f64] = &[0.90, 0.93, 0.91, 0.92, 0.89];

const LOW: &[f64] = &[0.50, 0.46, 0.52, 0.49, 0.51];

#[test]
fn the_best_of_several_is_said_with_its_nearest() {
    let said = verdict(&study(&[
        ("b", LOW),
        ("a", HIGH),
        ("c", &[0.1, 0.12, 0.09, 0.11, 0.1]),
    ]));
    // scipy.stats.ttest_ind(HIGH, LOW, equal_var=False): p = 4.9e-9, 95 % 0.3845 to 0.4435.
    assert_eq!(
        said,
        [
            "On held-out data: a is best of the three on mine (nearest: b, +0.41, 95 % 0.38 to 0.44, \
          p < 0.0001; 5 seeds)."
        ]
    );
}

#[test]
fn what_is_not_established_is_called_so_and_the_others_are_sorted() {
    let near: Vec<f64> = HIGH.iter().rev().map(|score| score - 0.01).collect();
    let said = verdict(&study(&[("a", HIGH), ("near", &near), ("low", LOW)]));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with(
            "On held-out data: a is highest of the three on mine (0.91 of 1), but that it is best is not \
             established (nearest: near, +0.01, 95 % -0.02 to 0.04, p 0.4"
        ),
        "{said:?}"
    );
    assert!(
        said[0].ends_with("5 seeds). Proven below it: low (+0.41). Undecided: near (+0.01, since the runs of near score from 0.88 to 0.92)."),
        "{said:?}"
    );
}

#[test]
fn the_best_is_said_with_the_pairs_that_are_not_proven() {
    let near: Vec<f64> = HIGH.iter().rev().map(|score| score - 0.036).collect();
    let low = ["c", "d", "e", "f"].map(|name| (name, LOW));
    let study = study(&[&[("a", HIGH), ("near", &near)], &low[..]].concat());
    let said = verdict(&study);
    assert!(
        said[0].contains("a is best of the six on mine (nearest: near"),
        "{said:?}"
    );
    assert!(
        said[0].ends_with("). Not proven below it as single pairs: near."),
        "{said:?}"
    );
}

#[test]
fn what_was_added_is_said() {
    let mut study = study(&[("a", HIGH), ("b", LOW)]);
    let grown = |seeds, schemes| Grown {
        seeds,
        schemes,
        tasks: 1,
    };
    study.spec.grown = vec![grown(3, 1), grown(4, 2)];
    let said = verdict(&study);
    assert!(
        said[1].starts_with(
            "The study was added to after it had begun, when it had 3 seeds, 1 scheme and 1 task; then 4 seeds, \
             2 schemes and 1 task."
        ),
        "{said:?}"
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
fn the_least_certain_pair_is_said_where_it_is_not_the_nearest() {
    let wild = [0.95, 0.40, 0.88, 0.45, 0.90];
    let near: Vec<f64> = HIGH.iter().map(|score| score - 0.15).collect();
    let said = verdict(&study(&[("a", HIGH), ("near", &near), ("wild", &wild)]));
    assert!(
        said[0].contains("(nearest: near, +0.15, 95 % ")
            && said[0].contains("; least certain: wild, +0.19"),
        "{said:?}"
    );
}

#[test]
fn level_and_equal_are_told_apart_and_level_decides_from_eight_seeds_on() {
    let a = [
        0.9000, 0.9010, 0.9005, 0.9002, 0.9008, 0.9003, 0.9007, 0.9004,
    ];
    let b = a.map(|score| 1.8008 - score);
    let low = a.map(|score| score - 0.4);
    let said = |seeds| {
        verdict(&study(&[
            ("a", &a[..seeds]),
            ("b", &b[..seeds]),
            ("low", &low[..seeds]),
        ]))
    };
    let names = "Proven below it: low (+0.40). Level within 0.02: b.";
    let eight = said(8);
    assert_eq!(
        eight,
        [format!(
            "On held-out data: a is highest of the three on mine (0.90 of 1), and it shares the top. {names}"
        )]
    );
    let five = said(5);
    assert!(
        five[0].contains("that it is best is not established") && five[0].ends_with(names),
        "{five:?}"
    );
    let said = verdict(&study(&[("a", &[1.0; 5]), ("b", &[1.0; 5])]));
    assert!(said[0].ends_with("Equal in every run: b."), "{said:?}");
    assert!(said[0].contains("not established"), "{said:?}");
}

#[test]
fn one_seed_is_one_observation() {
    assert_eq!(
        verdict(&study(&[("a", &[0.9]), ("b", &[0.5])])),
        [
            "On held-out data: a is highest of the two on mine (0.90 of 1; next: b (+0.40)). One seed cannot \
          tell that from chance."
        ]
    );
    let two = verdict(&study(&[("a", &[0.9, 0.91]), ("b", &[0.1, 0.11])]));
    assert!(
        two[0].ends_with("Two seeds cannot tell that from chance."),
        "{two:?}"
    );
    let only_a = Synthetic::new(&["mine"], &["a", "b"], 1).score("mine", "a", 1, &[(10, 0.925)]);
    assert_eq!(
        verdict(&only_a)[0],
        "On held-out data: only a has scores (0.90 of 1 on mine)."
    );
}

#[test]
fn a_floor_is_called_a_floor() {
    assert_eq!(
        verdict(&study(&[("a", &[0.01, 0.0]), ("b", &[-0.02, 0.0])])),
        ["On held-out data: no scheme got above the floor on mine."]
    );
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
    assert!(
        said[0].starts_with(
            "Inside the training lengths: a is best of the two on the mean over x and y ("
        ),
        "{said:?}"
    );
    assert!(
        said[1].starts_with("Beyond: b is best of the two on y ("),
        "{said:?}"
    );
}

#[test]
fn a_scheme_with_one_seed_is_named_beside_others_with_many() {
    let mut study = study(&[("a", HIGH), ("b", LOW)]);
    study.spec.schemes.push("c".into());
    let study = study.score("mine", "c", 1, &[(10, 0.5)]);
    let said = verdict(&study);
    let said = said
        .iter()
        .find(|said| said.contains("is highest of the"))
        .unwrap();
    assert!(
        said.contains("Fewer than 3 seeds of c cannot tell that from chance"),
        "{said}"
    );
}

#[test]
fn looks_share_the_errors_and_say_when_it_is_decided() {
    // p is 0.0070: below 0.0125, and above a quarter of every error.
    let near: Vec<f64> = HIGH.iter().rev().map(|score| score - 0.036).collect();
    let study = study(&[("a", HIGH), ("b", &near)]);
    assert!(verdict(&study)[0].contains("a is best"));
    let looked = |reached| Data {
        look: Some(Look {
            planned: vec![3, 5, 8, 12],
            reached,
        }),
        ..study.data()
    };
    let said = of_data(&looked(Some(5)));
    assert!(said[0].contains("not established"), "{said:?}");
    assert_eq!(
        said[1],
        "Not decided after 5 of up to 12 seeds; each of the 4 planned looks (3, 5, 8 and 12 seeds) has an \
         equal share of the errors."
    );
    let said = of_data(&looked(None));
    assert!(said[0].contains("not established"), "{said:?}");
    assert!(
        said[1].starts_with("Before the first planned look, at 3 seeds"),
        "{said:?}"
    );
    let clear = self::study(&[("a", HIGH), ("b", LOW)]);
    let said = of_data(&Data {
        look: looked(Some(5)).look,
        ..clear.data()
    });
    assert!(said[0].contains("a is best"), "{said:?}");
    assert!(
        said[1].starts_with("Decided after 5 of up to 12 seeds"),
        "{said:?}"
    );
}

#[test]
fn a_persons_file_is_named_and_its_rows_are_asked() {
    // Every seed agrees; 30 rows of 100 speak for a, and `against` rows for b.
    let said = |against: usize, folds: Option<usize>| {
        let tasks: &[&str] = match folds {
            None => &["mine"],
            Some(_) => &["mine-1", "mine-2"],
        };
        let mut study = Synthetic::new(tasks, &["a", "b"], 5);
        let kept = FileSpec {
            file: "reviews.csv".into(),
            sha256: String::new(),
            bytes: 1,
        };
        study.spec.data = Some(DataSpec {
            folds,
            ..DataSpec::new(kept, Format::Csv, &Reading::default())
        });
        for (scheme, rows) in [("a", 30..30 + against), ("b", 0..30)] {
            for seed in 1..=5 {
                // One row differs between seeds.
                let right: Vec<u32> = (0..100)
                    .map(|row| u32::from(!rows.contains(&row) && row != 90 + seed as usize))
                    .collect();
                for (task, right) in tasks.iter().zip(right.chunks(100 / tasks.len())) {
                    let samples = right.len();
                    let accuracy = right.iter().sum::<u32>() as f64 / samples as f64;
                    study = study.score(task, scheme, seed, &[(10, accuracy)]);
                    let mut measures = study.measures(task, scheme, seed).clone();
                    let score = &mut measures.scores[0];
                    (score.score, score.exact, score.samples) =
                        (Score::Accuracy(accuracy), Some(accuracy), samples);
                    let right = right.to_vec();
                    score.rows = Some(RowOutcomes::Right { right, asked: 1 });
                    study = study.replace(task, scheme, seed, measures);
                }
            }
        }
        verdict(&study)
    };
    let clear = said(2, None);
    assert!(
        clear[0].contains("a is highest of the two on reviews.csv")
            || clear[0].contains("a is best of the two on reviews.csv"),
        "{clear:?}"
    );
    assert!(
        clear[1].starts_with(
            "All seeds are tested on the same 100 rows of reviews.csv; other rows like these would also put \
             a first (a against b: 0.37"
        ) && clear[1].contains("on 30 rows, and less often on 2)"),
        "{clear:?}"
    );
    let parts = said(2, Some(2));
    assert!(
        parts[1].starts_with(
            "Every seed is tested once on each of 100 rows of reviews.csv, in 2 parts; other rows"
        ) && parts[1].contains("on 30 rows, and less often on 2)"),
        "{parts:?}"
    );
    let close = said(24, None);
    assert!(
        close[1].contains(
            "rows of reviews.csv: that other rows like these would put a first is not established"
        ) && close[1].contains("on 30 rows, and less often on 24)"),
        "{close:?}"
    );
}

#[test]
fn failing_inside_is_told_apart_from_failing_beyond() {
    let study = Synthetic::new(&["reverse"], &["none", "learned"], 1)
        .score("reverse", "none", 1, &[(10, 0.3), (40, 0.2)])
        .score("reverse", "learned", 1, &[(10, 1.0), (40, 0.2)]);
    let said = verdict(&study);
    assert!(
        said[0].starts_with("Inside the training lengths: learned is highest"),
        "{said:?}"
    );
    assert_eq!(said[1], "Beyond: no scheme got above the floor on reverse.");
    assert!(
        said[2].starts_with(
            "Not solved even inside the training lengths: no positions (`none`) on reverse (every seed)."
        ),
        "{said:?}"
    );
}

#[test]
fn a_study_without_scores_has_a_verdict() {
    let nothing = ["No trial has a score, so nothing can be said."];
    assert_eq!(
        verdict(&Synthetic::new(&["reverse", "mine"], &["a", "b"], 3)),
        nothing
    );
    let failed = Synthetic::new(&["mine"], &["a"], 2).fail("mine", "a", 1, "diverged");
    assert_eq!(verdict(&failed), nothing);
}
