//! The arithmetic of the statistics is that of SciPy. The values are in `tests/peers` of the repository, with
//! the script that wrote them.

use pe_lab::stats::{Bounds, Estimate, Pooled, compare, intervals, quantile, two_sided};
use serde::Deserialize;

#[derive(Deserialize)]
struct Values {
    pairs: Vec<Pair>,
    tails: Vec<Tail>,
    intervals: Vec<Intervals>,
}

#[derive(Deserialize)]
struct Pair {
    a: Vec<Vec<f64>>,
    b: Vec<Vec<f64>>,
    others: Vec<Vec<Vec<f64>>>,
    margin: f64,
    difference: f64,
    by_seed: Test,
    by_task: Test,
    pooled_by_seed: Test,
    pooled_by_task: Test,
}

#[derive(Deserialize)]
struct Test {
    t: f64,
    df: f64,
    p: f64,
    low: f64,
    high: f64,
    p_level: f64,
}

#[derive(Deserialize)]
struct Tail {
    t: f64,
    df: f64,
    p: f64,
}

#[derive(Deserialize)]
struct Intervals {
    schemes: Vec<Vec<Vec<f64>>>,
    low: f64,
    found: Vec<(f64, f64)>,
}

fn values() -> Values {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/peers/values/statistics.json"
    );
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

#[track_caller]
fn close(value: f64, expected: f64) {
    let within = 1e-9 * expected.abs().max(1e-3);
    let is_close = (value - expected).abs() <= within;
    assert!(is_close, "{value} is not {expected}");
}

#[test]
fn all_four_tests_are_those_of_scipy() {
    let values = values();
    assert_eq!(values.pairs.len(), 10);
    for pair in values.pairs {
        let schemes = [vec![pair.a.clone(), pair.b.clone()], pair.others].concat();
        let difference = compare(&pair.a, &pair.b, &Pooled::of(&schemes));
        close(difference.value, pair.difference);
        let check = |estimate: Estimate, test: &Test| {
            close(estimate.value / estimate.error, test.t);
            close(estimate.df, test.df);
            close(two_sided(test.t, estimate.df), test.p);
            let half = quantile(0.05, estimate.df) * estimate.error;
            close(estimate.value - half, test.low);
            close(estimate.value + half, test.high);
        };
        let tests = [
            &pair.by_seed,
            &pair.by_task,
            &pair.pooled_by_seed,
            &pair.pooled_by_task,
        ];
        for (estimate, test) in difference.estimates.unwrap().into_iter().zip(tests) {
            check(estimate, test);
        }
        // The procedure takes the largest p and the widest interval.
        let largest = |p: fn(&Test) -> f64| tests.iter().map(|test| p(test)).fold(0.0, f64::max);
        close(difference.p().unwrap(), largest(|test| test.p));
        close(
            difference.p_level(pair.margin).unwrap(),
            largest(|test| test.p_level),
        );
        // Without bounds the interval is Student's.
        let interval = difference.interval(Bounds::UpTo(1.0)).unwrap();
        close(
            interval.high - interval.low,
            largest(|test| test.high - test.low),
        );
        let reversed = difference.reversed();
        assert_eq!(reversed.p(), difference.p());
        close(
            reversed.interval(Bounds::UpTo(1.0)).unwrap().high,
            -interval.low,
        );
    }
}

#[test]
fn students_tails_are_those_of_scipy() {
    for tail in values().tails {
        let p = two_sided(tail.t, tail.df);
        let Tail { t, df, p: expected } = tail;
        let is_close = (p - expected).abs() <= 1e-11 * expected;
        assert!(is_close, "t {t}, df {df}: {p} is not {expected}");
        assert_eq!(two_sided(-tail.t, tail.df), p);
    }
}

#[test]
fn the_intervals_of_schemes_end_where_scipy_finds_it() {
    let values = values().intervals;
    assert_eq!(values.len(), 4);
    for of in values {
        let schemes: Vec<&[Vec<f64>]> = of.schemes.iter().map(Vec::as_slice).collect();
        let found = intervals(&schemes, Bounds::Between(of.low, 1.0));
        assert_eq!(found.len(), of.found.len());
        for (interval, (low, high)) in found.into_iter().zip(of.found) {
            let interval = interval.unwrap();
            close(interval.low, low);
            close(interval.high, high);
        }
    }
}

#[test]
fn without_a_spread_the_smallest_p_is_that_of_a_permutation() {
    let compare = |a: &[f64], b: &[f64]| {
        let schemes = [vec![a.to_vec()], vec![b.to_vec()]];
        compare(&schemes[0], &schemes[1], &Pooled::of(&schemes))
    };
    let p = |a: &[f64], b: &[f64]| compare(a, b).p();
    // 2 / C(6, 3), 2 / C(10, 5), 2 / C(7, 3).
    assert_eq!(p(&[1.0; 3], &[0.9; 3]), Some(0.1));
    close(p(&[1.0; 5], &[0.9; 5]).unwrap(), 2.0 / 252.0);
    close(p(&[1.0; 4], &[0.9; 3]).unwrap(), 2.0 / 35.0);
    assert_eq!(p(&[1.0; 5], &[1.0; 5]), Some(1.0));
    // Two seeds prove nothing, also where all runs of a scheme are equal.
    assert_eq!(p(&[1.0; 2], &[0.9; 12]), None);
    let still = compare(&[0.3; 5], &[0.1; 5]);
    assert_eq!(
        (still.interval(Bounds::SHARE), still.p_level(0.5)),
        (None, None)
    );
}

/// The means over tasks do not vary, and those of each task do: the first test says 0.1, and no interval says less.
#[test]
fn where_one_test_sees_no_spread_there_is_no_interval() {
    let a = [vec![1.0; 3], vec![1.0; 3]];
    let b = [vec![0.6, 0.7, 0.8], vec![0.8, 0.7, 0.6]];
    let difference = compare(&a, &b, &Pooled::of(&[a.to_vec(), b.to_vec()]));
    assert_eq!(difference.p(), Some(0.1));
    assert_eq!(difference.interval(Bounds::SHARE), None);
}
