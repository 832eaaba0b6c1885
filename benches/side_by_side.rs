//! Times several ways of doing one thing in turn, so that a ratio holds when the machine drifts.
//!
//! The usual harnesses time one way after the other; what matters here is the ratio between two.

use std::time::{Duration, Instant};

/// One way of doing the thing: a name and the code to time.
pub type Way<'a> = (&'a str, Box<dyn FnMut() + 'a>);

/// Runs every way `rounds` times, one after the other in each round, after one round that is not
/// counted, and prints their medians and the ratio of each to that of the first.
pub fn compare(title: &str, rounds: usize, mut ways: Vec<Way>) {
    println!("\n{title} (medians of {rounds} rounds, in turn)");
    println!(
        "{:44} {:>11} {:>11} {:>11} {:>9}",
        "", "median", "fastest", "slowest", "ratio"
    );
    let mut times = vec![Vec::with_capacity(rounds); ways.len()];
    for round in 0..=rounds {
        // There and back again: what a way leaves in the caches is not always the same one's gain.
        let mut order: Vec<usize> = (0..ways.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for way in order {
            let start = Instant::now();
            (ways[way].1)();
            if round > 0 {
                times[way].push(start.elapsed());
            }
        }
    }
    let mut first = None;
    for ((name, _), mut times) in ways.into_iter().zip(times) {
        times.sort();
        let median = times[times.len() / 2];
        let ratio = median.as_secs_f64() / first.get_or_insert(median).as_secs_f64();
        println!(
            "{name:44} {:>11} {:>11} {:>11} {ratio:>8.2}x",
            millis(median),
            millis(times[0]),
            millis(times[times.len() - 1])
        );
    }
}

fn millis(time: Duration) -> String {
    format!("{:.4} ms", time.as_secs_f64() * 1e3)
}
