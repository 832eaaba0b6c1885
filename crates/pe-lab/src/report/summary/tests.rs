use super::rows::rows_of;
use super::*;
use crate::report::synthetic::Synthetic;
use crate::run::Measures;
use crate::stats::{Bounds, intervals};

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

#[test]
fn a_row_that_is_tested_at_several_lengths_counts_once() {
    use crate::learn::{LengthScore, RowOutcomes};
    use crate::task::Score;

    let at = |length, right: &[u32]| LengthScore {
        length,
        inside: length == 4,
        samples: right.len(),
        score: Score::Accuracy(0.5),
        exact: Some(0.5),
        floor: 0.5,
        by_position: Vec::new(),
        by_depth: Vec::new(),
        rows: Some(RowOutcomes::Right {
            right: right.to_vec(),
            asked: 1,
        }),
    };
    let measures = Measures {
        scores: vec![at(2, &[1, 0, 1]), at(4, &[1, 1, 1]), at(9, &[1, 0, 0])],
        ..Measures::default()
    };
    let rows = |part, repeated| rows_of(&measures, part, repeated).unwrap();
    // Normalized, a right answer is 1 and a wrong one −1.
    assert_eq!(rows(Part::Beyond, true), [1.0, -1.0, 0.0]);
    assert_eq!(rows(Part::Beyond, false), [1.0, -1.0, 1.0, 1.0, -1.0, -1.0]);
    assert_eq!(rows(Part::Inside, true), [1.0; 3]);
}

#[test]
fn means_seeds_and_failures_are_kept_apart() {
    let learned = [(10, 1.0), (20, 0.98), (80, 0.19)];
    let study = Synthetic::new(&["reverse"], &["none", "learned"], 2)
        .score("reverse", "none", 1, &[(10, 0.30), (20, 0.20), (80, 0.19)])
        .score("reverse", "none", 2, &[(10, 0.30), (20, 0.30), (80, 0.17)])
        .score("reverse", "learned", 1, &learned)
        .fail("reverse", "learned", 2, "diverged");
    let summary = Summary::of(&study.data());
    assert_eq!((summary.trials, summary.finished), (4, 3));
    let task = &summary.tasks[0];
    assert_eq!(task.lengths, [vec![10, 20], vec![80]]);
    assert_eq!(task.train_lengths, Some(4..=20));
    let [none, learned] = &task.schemes[..] else {
        panic!("two schemes")
    };
    let inside = none.inside.as_ref().unwrap();
    close(inside.mean, 0.275);
    close(inside.seeds[1].score.value(), 0.30);
    assert_eq!(none.unsolved_inside, [1, 2]);
    assert!(learned.unsolved_inside.is_empty());
    assert_eq!(learned.failed, [(2, "diverged".to_string())]);
    // The failed training scores the floor, which is 0.25 inside and 0.2 beyond.
    let inside = learned.inside.as_ref().unwrap();
    let seeds = inside.seeds.iter().map(|s| (s.score.value(), s.failed));
    assert_eq!(seeds.collect::<Vec<_>>(), [(0.99, false), (0.25, true)]);
    close(inside.normalized, (0.99 - 0.25) / 0.75 / 2.0);
    close(none.beyond.as_ref().unwrap().mean, 0.18);
    // Finished runs are below the floor beyond, and the failed one gains nothing by failing.
    let beyond = learned.beyond.as_ref().unwrap();
    close(beyond.seeds[1].normalized, (0.17 - 0.2) / 0.8);
    close(beyond.seeds[1].score.value(), 0.17);
    let mut pairs = summary.comparisons.iter();
    let pair = pairs.find(|pair| pair.part == Part::Inside).unwrap();
    assert_eq!((pair.seeds, pair.higher.as_str()), ([2, 2], "learned"));
    assert_eq!((summary.schemes[1].failed, summary.schemes[1].lost), (1, 0));
}

#[test]
fn normalized_scores_are_averaged_over_lengths_then_seeds() {
    // The floors of the synthetic tasks are 0.25 inside and 0.2 beyond.
    let study = Synthetic::new(&["mine"], &["a"], 2)
        .score("mine", "a", 1, &[(10, 1.0), (20, 0.625), (40, 0.2)])
        .score("mine", "a", 2, &[(10, 0.25), (20, 0.625), (40, 0.6)]);
    let summary = Summary::of(&study.data());
    let scheme = &summary.tasks[0].schemes[0];
    let inside = scheme.inside.as_ref().unwrap();
    close(inside.seeds[0].normalized, 0.75);
    close(inside.seeds[1].normalized, 0.25);
    close(inside.normalized, 0.5);
    let interval = inside.interval.unwrap();
    // Between no right answer, which is 0.25 / 0.75 below the floor, and all right.
    let runs = [vec![0.75, 0.25]];
    let expected = intervals(&[&runs], Bounds::Between(-1.0 / 3.0, 1.0))[0].unwrap();
    close(interval.low, expected.low);
    close(interval.high, expected.high);
    close(scheme.beyond.as_ref().unwrap().normalized, 0.25);
    // A task that is not known takes its floors from the results, and has no bound for "solved".
    assert!(scheme.unsolved_inside.is_empty());
    assert_eq!(summary.tasks[0].floors, [Some(0.25), Some(0.2)]);
}

#[test]
fn a_seed_counts_if_it_has_a_score_on_every_task() {
    // Normalized scores are (accuracy − 0.25) / 0.75.
    let at = |normalized: f64| [(10, 0.25 + 0.75 * normalized)];
    let mut study = Synthetic::new(&["t", "u"], &["a", "b"], 4);
    for (seed, [ta, ua, tb, ub]) in [
        (1, [0.8, 0.4, 0.6, 0.4]),
        (2, [0.9, 0.5, 0.6, 0.2]),
        (3, [1.0, 0.6, 0.6, 0.0]),
    ] {
        study = study
            .score("t", "a", seed, &at(ta))
            .score("u", "a", seed, &at(ua))
            .score("t", "b", seed, &at(tb))
            .score("u", "b", seed, &at(ub));
    }
    // Seed 4 has no `u` for `b`, so it counts for `a` alone.
    let study = study
        .score("t", "a", 4, &at(0.8))
        .score("u", "a", 4, &at(0.6))
        .score("t", "b", 4, &at(0.7));
    let summary = Summary::of(&study.data());
    let a = summary.schemes[0].inside.as_ref().unwrap();
    close(a.mean, (0.875 + 0.525) / 2.0);
    // 0.4 0.5 | 0.6 0.6 0.8 0.8 | 0.9 1.0
    close(a.iqm, 0.7);
    assert_eq!((a.tasks, a.runs, a.seeds.len()), (2, 8, 4));
    close(a.seeds[3].normalized, 0.7);
    let b = summary.schemes[1].inside.as_ref().unwrap();
    assert_eq!((b.runs, b.seeds.len()), (6, 3));
    let [pair] = &summary.comparisons[..] else {
        panic!("one pair, nothing beyond")
    };
    assert_eq!((pair.higher.as_str(), pair.seeds), ("a", [4, 3]));
    close(pair.difference, 0.7 - 0.4);
    assert!(summary.schemes[0].beyond.is_none());
    let [headline] = &summary.headlines[..] else {
        panic!("one part")
    };
    assert_eq!((headline.order[0].as_str(), headline.p), ("a", pair.p));
}

#[test]
fn beyond_is_told_apart_up_to_one_and_a_half_times_and_further() {
    let at = [(20, 1.0), (21, 1.0), (30, 0.6), (31, 0.2), (80, 0.2)];
    let study = Synthetic::new(&["reverse"], &["a"], 1).score("reverse", "a", 1, &at);
    let summary = Summary::of(&study.data());
    let scheme = &summary.schemes[0];
    let mean = |of: &Option<Aggregate>| of.as_ref().unwrap().mean;
    // The floor beyond is 0.2.
    close(mean(&scheme.near), (1.0 + 0.5) / 2.0);
    close(mean(&scheme.far), 0.0);
    close(mean(&scheme.beyond), 1.5 / 4.0);
}
