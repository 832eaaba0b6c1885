//! The best accuracy that a model without positions can reach.
//!
//! Without positions, attention does not see order: the output of a transformer at a token depends on
//! that token and on the bag (the multiset) of all tokens. The best answer is the most likely class given
//! these two, so the best accuracy is `E[max_y P(y | bag, own token)]`. Each function here computes it for
//! one kind of question, over sequences of `n` independent, equally likely symbols. The results are exact
//! up to rounding. Only [`most_frequent`] and [`most_frequent_share`] count given answers.

use std::collections::BTreeMap;

/// How many of some answers are the most frequent one, and how many there are.
pub fn most_frequent<T: Ord>(answers: impl Iterator<Item = T>) -> (usize, usize) {
    let mut counts = BTreeMap::new();
    for answer in answers {
        *counts.entry(answer).or_insert(0_usize) += 1;
    }
    let all = counts.values().sum();
    (counts.into_values().max().unwrap_or(0), all)
}

/// The share of the most frequent of some answers; 0 if there are none.
pub fn most_frequent_share<T: Ord>(answers: impl Iterator<Item = T>) -> f64 {
    let (most, all) = most_frequent(answers);
    most as f64 / all.max(1) as f64
}

/// `P(k successes in t trials)` for every `t ≤ n`, as `table[t][k]`.
pub fn binomial(n: usize, p: f64) -> Vec<Vec<f64>> {
    let mut table = vec![vec![1.0]];
    for t in 1..=n {
        let before = &table[t - 1];
        let row = (0..=t).map(|k| {
            let missed = if k < t { before[k] * (1.0 - p) } else { 0.0 };
            let hit = if k > 0 { before[k - 1] * p } else { 0.0 };
            missed + hit
        });
        let row = row.collect();
        table.push(row);
    }
    table
}

/// How often symbols occur in up to `n` draws.
///
/// The last of `v` equally likely symbols takes `k` of `t` draws with binomial probability at
/// `1/v`, and the others share the rest evenly. So `F_v(t)`, the probability that no symbol occurs
/// more than `cap` times, is `Σ_{k ≤ cap} Binomial(k; t, 1/v) · F_{v−1}(t − k)`.
struct Counts {
    n: usize,
    /// For `v = 1, 2, …` the binomial table at `1/v`.
    shares: Vec<Vec<Vec<f64>>>,
}

impl Counts {
    fn new(n: usize, symbols: usize) -> Self {
        Self {
            n,
            shares: (1..=symbols).map(|v| binomial(n, 1.0 / v as f64)).collect(),
        }
    }

    /// For every `t ≤ n`, the probability that `t` draws among `symbols` hold none of them more
    /// than `cap` times.
    fn capped(&self, cap: usize, symbols: usize) -> Vec<f64> {
        let mut within = vec![0.0; self.n + 1];
        within[0] = 1.0;
        for share in &self.shares[..symbols] {
            within = (0..=self.n)
                .map(|t| (0..=t.min(cap)).map(|k| share[t][k] * within[t - k]).sum())
                .collect();
        }
        within
    }

    /// `P(a given symbol occurs k times)` in all `n` draws.
    fn of_one(&self, k: usize) -> f64 {
        self.shares.last().map_or(0.0, |share| share[self.n][k])
    }

    /// The expected count of the most frequent symbol: `Σ_m P(maximum > m)`.
    fn expected_maximum(&self) -> f64 {
        let symbols = self.shares.len();
        (0..self.n)
            .map(|cap| 1.0 - self.capped(cap, symbols)[self.n])
            .sum()
    }
}

/// The expected count of the most frequent of `symbols` equally likely symbols in `n` draws,
/// divided by `n`: the token accuracy of always answering the mode of the input's bag of tokens.
///
/// It is the best accuracy without positions if the answer is the token at a place that is equally likely
/// to be any place, the model's own place included.
pub fn expected_mode_share(n: usize, symbols: usize) -> f64 {
    if n == 0 || symbols == 0 {
        return 0.0;
    }
    Counts::new(n, symbols).expected_maximum() / n as f64
}

/// The best accuracy without positions if the answer is the token at a place that is equally likely to be
/// any place *except* the model's own.
///
/// With counts `k_c` in the bag and maximum `M`, a token `s` knows that it is not asked about
/// itself, so class `c` has probability `(k_c − [c = s]) / (n − 1)`. A token that is not the
/// only mode finds another with probability `M / (n − 1)`; one that is, `(M − 1) / (n − 1)`.
/// Weighted with how many tokens are which, a bag with one mode gives `M / n` and a bag with
/// several `M / (n − 1)`: the mode share and `E[M; several modes] / (n (n − 1))` more. `E[M; one
/// mode]` is `Σ_m m · symbols · P(one given symbol m times, each other less)`.
pub fn best_other_share(n: usize, symbols: usize) -> f64 {
    if n < 2 || symbols == 0 {
        return 0.0;
    }
    let counts = Counts::new(n, symbols);
    let maximum = counts.expected_maximum();
    let alone: f64 = (1..=n)
        .map(|m| {
            let others_less = counts.capped(m - 1, symbols - 1)[n - m];
            (m * symbols) as f64 * counts.of_one(m) * others_less
        })
        .sum();
    let n = n as f64;
    maximum / n + (maximum - alone) / (n * (n - 1.0))
}

/// The best accuracy without positions if the answer at a token is the token after the last earlier
/// occurrence of the same symbol, or "none" if there is no earlier occurrence.
///
/// Take a token `s` that occurs `k` times in a bag with counts `k_c` and maximum `M`. It is the
/// first of its kind with probability `1/k`: "none". Otherwise the answer is what follows one of
/// the first `k − 1` occurrences. Of the `k k_c / n` expected places where `c ≠ s` follows `s`, the
/// `s` is the last one in a share `1/k` (the pair, glued, is exchangeable with the other `s`),
/// which leaves `(k − 1) k_c / n`; and `s` follows `s` in `k (k − 1) / n` places, never after the
/// last. Divided among the `k` tokens, class `c` has probability `(k − 1) k_c / (k n)`, `s` itself
/// included. So the best answer is "none" or the mode, right with probability `max(1, (k − 1) M /
/// n) / k`, and the `k` tokens of each symbol that occurs add `max(1, (k − 1) M / n)`:
///
/// `E[Σ_{s: k_s > 0} max(1, (k_s − 1) M / n)] / n`.
///
/// Every symbol is like the first, so the sum is `symbols` times the first one's, over the joint
/// distribution of its count and the maximum.
pub fn previous_occurrence_share(n: usize, symbols: usize) -> f64 {
    if n == 0 || symbols == 0 {
        return 0.0;
    }
    let counts = Counts::new(n, symbols);
    let mut others_below = counts.capped(0, symbols - 1);
    let mut right = 0.0;
    for maximum in 1..=n {
        let others = counts.capped(maximum, symbols - 1);
        for k in 1..=maximum {
            let mut joint = others[n - k];
            if k < maximum {
                joint -= others_below[n - k];
            }
            let gain = ((k - 1) * maximum) as f64 / n as f64;
            right += counts.of_one(k) * joint * gain.max(1.0);
        }
        others_below = others;
    }
    symbols as f64 * right / n as f64
}

/// The best accuracy without positions if the answer is the token at another place for all but a share
/// `fixed` of the places, at which it is the own token.
///
/// With counts `k_c` in the bag, the answer at a token `s` is `s` itself with probability `fixed + (1 − fixed)
/// (k_s − 1) / (n − 1)`, and another symbol `c` with probability `(1 − fixed) k_c / (n − 1)`. The best answer
/// is `s` or the most frequent other symbol; the sum is over the joint distribution of `k_s` and the
/// maximum `m` of the other counts.
pub fn partly_fixed_share(n: usize, symbols: usize, fixed: f64) -> f64 {
    if n < 2 || symbols == 0 {
        return if n == 0 || symbols == 0 { 0.0 } else { 1.0 };
    }
    let counts = Counts::new(n, symbols);
    let others = (n - 1) as f64;
    let mut right = 0.0;
    let mut below = vec![0.0; n + 1];
    for maximum in 0..n {
        let capped = counts.capped(maximum, symbols - 1);
        for k in 1..=n {
            let joint = counts.of_one(k) * (capped[n - k] - below[n - k]);
            let own = fixed + (1.0 - fixed) * (k - 1) as f64 / others;
            let other = (1.0 - fixed) * maximum as f64 / others;
            right += joint * k as f64 * own.max(other);
        }
        below = capped;
    }
    symbols as f64 * right / n as f64
}

/// The best accuracy without positions for the question "are the first and the last of `n` bits equal?".
///
/// With `d` ones more than zeros, the two ends are any two of the `n` bits, equal with probability
/// `1/2 + (d² − n) / (2 n (n − 1))`. So the best answer is right with probability `1/2 + E|d² − n|
/// / (2 n (n − 1))`, a sum over the binomial distribution: about `1/2 + 0.48 / (n − 1)`.
pub fn equal_ends_share(n: usize) -> f64 {
    if n < 2 {
        return 1.0;
    }
    let length = n as f64;
    let ones = &binomial(n, 0.5)[n];
    let spread: f64 = ones
        .iter()
        .enumerate()
        .map(|(k, p)| p * ((2.0 * k as f64 - length).powi(2) - length).abs())
        .sum();
    0.5 + spread / (2.0 * length * (length - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(measured: f64, expected: f64) {
        let error = (measured - expected).abs();
        assert!(error < 1e-12, "{measured} against {expected}");
    }

    /// The expected values were computed in another way: as a sum over all partitions of `n` into at most
    /// eight counts, each with its multinomial weight.
    #[test]
    fn eight_symbols_as_a_sum_over_partitions() {
        for (n, mode, other, previous) in [
            (4, 0.412109375, 0.453125, 0.8354492188),
            (6, 0.3631896973, 0.3864746094, 0.7391967773),
            (10, 0.3019823655, 0.3117887378, 0.5972519994),
            (20, 0.2472959352, 0.2507233240, 0.3819627049),
            (40, 0.2096677824, 0.2108012765, 0.2235054836),
            (80, 0.1839100718, 0.1842969090, 0.1679340192),
        ] {
            for (computed, expected) in [
                (expected_mode_share(n, 8), mode),
                (best_other_share(n, 8), other),
                (previous_occurrence_share(n, 8), previous),
            ] {
                let error = (computed - expected).abs();
                assert!(error < 1e-10, "n = {n}: {computed} against {expected}");
            }
        }
    }

    #[test]
    fn long_sequences_neither_overflow_nor_lose_the_sum() {
        // Half of the draws, and √(n / 2π) more, for two symbols.
        let n = 400.0_f64;
        let expected = 0.5 + (1.0 / (2.0 * std::f64::consts::PI * n)).sqrt();
        assert!((expected_mode_share(400, 2) - expected).abs() < 1e-4);
        close(binomial(400, 0.3)[400].iter().sum(), 1.0);
    }

    #[test]
    fn fixed_places_lie_between_the_known_cases() {
        for n in [4, 10, 21, 80] {
            // No place is fixed: another token. A share of 1/n: any token, the own one too.
            close(partly_fixed_share(n, 8, 0.0), best_other_share(n, 8));
            let one = 1.0 / n as f64;
            close(partly_fixed_share(n, 8, one), expected_mode_share(n, 8));
            close(partly_fixed_share(n, 8, 1.0), 1.0);
        }
    }
}
