//! Why a pair is undecided, although its means may be far apart.

use serde::Serialize;

use super::describe::{seed_means, variance};
use super::welch::Difference;

/// Why it is established neither that two schemes differ nor that they are level. Schemes are numbered as they were
/// given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// One of them has fewer than [`FEWEST_SEEDS`](super::FEWEST_SEEDS), which prove nothing.
    FewSeeds,
    /// No run of either varies, and so few seeds may be alike by chance.
    Alike,
    /// The runs of this one of the two vary too much for this number of seeds.
    Spread(usize),
    /// The runs of the pair hardly vary, but those of this other scheme do: so few runs of the pair may be alike by
    /// chance.
    Others(usize),
    /// By itself this pair would count as different. Among so many pairs, a difference as large as this may be chance.
    ManyPairs,
}

impl Why {
    /// Why a pair of schemes, whose [`spreads`] are these, is undecided: the higher one and the lower one, with
    /// their difference. Below the p value `error` the pair would count as different by itself. `by_others` tells that only the
    /// spread of other schemes keeps it from that, or from counting as level.
    pub(super) fn of(
        [higher, lower]: [usize; 2],
        difference: &Difference,
        spreads: &[f64],
        (error, by_others): (f64, bool),
    ) -> Self {
        let Some(p) = difference.p() else {
            return Self::FewSeeds;
        };
        let pair_of = [higher, lower];
        let others = (0..spreads.len()).filter(|of| !pair_of.contains(of));
        let by_spread = |a: &usize, b: &usize| spreads[*a].total_cmp(&spreads[*b]);
        match others.max_by(by_spread) {
            _ if p < error => Self::ManyPairs,
            Some(other) if by_others => Self::Others(other),
            _ if !difference.own_varies() => Self::Alike,
            _ => Self::Spread(pair_of.into_iter().max_by(by_spread).unwrap_or(higher)),
        }
    }
}

/// How much the mean of each scheme varies, of `scores[task][seed]` of each.
pub(super) fn spreads(schemes: &[Vec<Vec<f64>>]) -> Vec<f64> {
    schemes.iter().map(|scores| spread(scores)).collect()
}

/// How much the mean over tasks of a scheme varies: the larger of its two variances, by seed and by task.
fn spread(scores: &[Vec<f64>]) -> f64 {
    let of_mean = |runs: &[f64]| variance(runs).unwrap_or(0.0) / runs.len().max(1) as f64;
    let by_task: f64 = scores.iter().map(|runs| of_mean(runs)).sum();
    of_mean(&seed_means(scores)).max(by_task / scores.len().max(1).pow(2) as f64)
}

#[cfg(test)]
mod tests {
    use super::super::{Errors, MARGIN, judge};
    use super::*;

    /// Why the first scheme and the second are undecided.
    fn why(runs: &[&[f64]]) -> Option<Why> {
        let schemes: Vec<Vec<Vec<f64>>> = runs.iter().map(|runs| vec![runs.to_vec()]).collect();
        let answers = judge(&[schemes], Errors::default(), MARGIN);
        let pair = &answers[0].pairs[0];
        assert_eq!((pair.higher, pair.lower), (0, 1));
        pair.why
    }

    #[test]
    fn every_reason_is_told() {
        let high = [0.90, 0.93, 0.91, 0.92, 0.89];
        let low = [0.10, 0.12, 0.09, 0.11, 0.13];
        // A pair that is proven to differ, and one that is level, has no reason.
        assert_eq!(why(&[&high, &low]), None);
        let tight = [0.9000, 0.9010, 0.9005, 0.9002, 0.9008];
        assert_eq!(why(&[&tight, &tight.map(|score| 1.8009 - score)]), None);
        assert_eq!(why(&[&high[..2], &low]), Some(Why::FewSeeds));
        // Three runs each that do not vary: p is 0.1.
        assert_eq!(why(&[&[1.0; 3], &[0.4; 3]]), Some(Why::Alike));
        let wild = [0.98, 0.05, 0.97, 0.06, 0.95];
        assert_eq!(why(&[&wild, &low]), Some(Why::Spread(0)));
        let other = [0.85, 0.05, 0.86, 0.06, 0.84];
        assert_eq!(why(&[&high, &other]), Some(Why::Spread(1)));
        let mixed = [0.98, 0.05, 0.97, 0.06, 0.96];
        let steady: [&[f64]; 2] = [&[0.62, 0.60, 0.61], &[0.30, 0.31, 0.29]];
        let others = [&steady[..], &[&mixed[..3]; 3]].concat();
        assert!(matches!(why(&others), Some(Why::Others(2..))));
        assert_eq!(why(&[&[0.6; 5], &[0.3; 5], &mixed]), Some(Why::Others(2)));
        // The pair is level by its own runs, and not by the spread of all.
        let tight = [0.9000, 0.9010, 0.9005, 0.9002, 0.9008];
        let same = tight.map(|score| 1.8009 - score);
        assert_eq!(why(&[&tight, &same, &mixed]), Some(Why::Others(2)));
        // p is 0.007, and there are fifteen pairs.
        let near: Vec<f64> = high.iter().rev().map(|score| score - 0.036).collect();
        let close: Vec<f64> = high.iter().map(|score| score - 0.001).collect();
        let many: Vec<&[f64]> = vec![&high, &near, &close, &low, &low, &low];
        assert_eq!(why(&many), Some(Why::ManyPairs));
    }
}
