//! What a model that cannot see positions can reach at best.

/// The expected count of the most frequent of `symbols` equally likely symbols in `n` draws,
/// divided by `n`: the token accuracy of always answering the mode of the input's bag of tokens.
///
/// Exact up to rounding. With `c(m)` the number of sequences in which no symbol occurs more than
/// `m` times, `c(m) = n! · [xⁿ] (Σ_{k≤m} x^k / k!)^symbols`, and the expected maximum is
/// `Σ_m (1 − c(m) / symbolsⁿ)`. Dividing by `symbolsⁿ` is folded into the series as the Poisson
/// weights `(1 / symbols)^k / k!`, which keeps every number in range.
pub fn expected_mode_share(n: usize, symbols: usize) -> f64 {
    if n == 0 || symbols == 0 {
        return 0.0;
    }
    let factorial: f64 = (1..=n).map(|k| k as f64).product();
    let mut expected_maximum = 0.0;
    for most in 0..n {
        let mut weights = vec![1.0];
        for k in 1..=most {
            weights.push(weights[k - 1] / (k * symbols) as f64);
        }
        let mut series = vec![0.0; n + 1];
        series[0] = 1.0;
        for _ in 0..symbols {
            let mut next = vec![0.0; n + 1];
            for (i, a) in series.iter().enumerate() {
                for (k, w) in weights.iter().enumerate().take(n + 1 - i) {
                    next[i + k] += a * w;
                }
            }
            series = next;
        }
        expected_maximum += 1.0 - factorial * series[n];
    }
    expected_maximum / n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{RngExt, generator};

    #[test]
    fn small_cases_counted_by_hand() {
        assert_eq!(expected_mode_share(1, 8), 1.0);
        // Two draws of two symbols: aa, bb have a maximum of 2, ab, ba of 1.
        assert!((expected_mode_share(2, 2) - 0.75).abs() < 1e-15);
        // Three draws of two symbols: 2 of 8 have a maximum of 3, the others 2.
        assert!((expected_mode_share(3, 2) - (2.0 * 3.0 + 6.0 * 2.0) / 8.0 / 3.0).abs() < 1e-15);
        assert_eq!(expected_mode_share(5, 1), 1.0);
    }

    #[test]
    fn the_published_floors_of_eight_symbols() {
        for (n, floor) in [(10, 0.31), (20, 0.25), (80, 0.18)] {
            let exact = expected_mode_share(n, 8);
            assert!((exact - floor).abs() < 0.01, "n = {n}: {exact}");
        }
    }

    #[test]
    fn simulation_agrees() {
        let mut rng = generator("floor", 1, 0);
        for n in [4, 20, 80] {
            let draws = 20_000;
            let mut total = 0;
            for _ in 0..draws {
                let mut counts = [0; 8];
                for _ in 0..n {
                    counts[rng.random_range(0..8)] += 1;
                }
                total += counts.iter().max().copied().unwrap_or(0);
            }
            let simulated = total as f64 / (draws * n) as f64;
            let exact = expected_mode_share(n, 8);
            assert!(
                (simulated - exact).abs() < 0.003,
                "n = {n}: {simulated} against {exact}"
            );
        }
    }
}
