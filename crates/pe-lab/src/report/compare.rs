//! Pairs of schemes, compared seed by seed.

use serde::Serialize;

use crate::stats::{self, Interval, RESAMPLES};

/// A Holm-adjusted p below this is called a difference.
pub const LEVEL: f64 = 0.05;

/// A mean difference smaller than this, on the normalized scale, is not worth a word.
const NEGLIGIBLE: f64 = 0.005;

/// Inside or beyond the training lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Lengths that training saw, or the held-out data of a task with one length.
    Inside,
    /// Lengths beyond training.
    Beyond,
}

impl Part {
    /// Both, in the order of a report.
    pub const ALL: [Part; 2] = [Part::Inside, Part::Beyond];
}

/// Two schemes compared on the normalized score, paired by seed.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Where they are compared.
    pub part: Part,
    /// The one with the higher mean.
    pub higher: String,
    /// The other.
    pub lower: String,
    /// Seeds that both have a score for.
    pub seeds: usize,
    /// Seeds at which `higher` is above `lower`.
    pub above: usize,
    /// Seeds at which `higher` is below `lower`.
    pub below: usize,
    /// The mean difference of the normalized scores.
    pub difference: Option<f64>,
    /// Its 95 % interval over seeds.
    pub interval: Option<Interval>,
    /// The two-sided p of the sign-flip test.
    pub p: Option<f64>,
    /// The same after Holm's correction for every comparison of the family.
    pub p_holm: Option<f64>,
    /// The smallest p that this many seeds can give.
    pub smallest_p: f64,
}

/// What a comparison allows to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The two have no seed in common.
    Nothing,
    /// One seed.
    OneSeed,
    /// A difference that chance alone would rarely make.
    Different,
    /// Every seed agrees, and there are too few of them.
    Agreeing,
    /// No difference worth a word was seen.
    Same,
    /// The seeds disagree, or not clearly enough.
    Unclear,
}

impl Comparison {
    /// Compares two schemes. `paired` gives the difference `a − b` of every seed that both have.
    fn of(part: Part, [a, b]: [&str; 2], mut paired: Vec<f64>) -> Self {
        let mut names = [a, b];
        if paired.iter().sum::<f64>() < 0.0 {
            names.reverse();
            paired.iter_mut().for_each(|d| *d = -*d);
        }
        // A difference of rounding is none.
        let tiny = 1e-12;
        Self {
            part,
            higher: names[0].to_string(),
            lower: names[1].to_string(),
            seeds: paired.len(),
            above: paired.iter().filter(|d| **d > tiny).count(),
            below: paired.iter().filter(|d| **d < -tiny).count(),
            difference: stats::mean(paired.iter().copied()),
            interval: stats::mean_interval(&paired, RESAMPLES),
            p: stats::sign_flip(&paired),
            p_holm: None,
            smallest_p: stats::smallest_p(paired.len()),
        }
    }

    /// What may be said.
    pub fn finding(&self) -> Finding {
        let Some(difference) = self.difference else {
            return Finding::Nothing;
        };
        if self.p_holm.is_some_and(|p| p < LEVEL) {
            return Finding::Different;
        }
        match self.seeds {
            _ if difference < NEGLIGIBLE => Finding::Same,
            1 => Finding::OneSeed,
            seeds if self.above == seeds => Finding::Agreeing,
            _ => Finding::Unclear,
        }
    }

    /// Whether the comparison is of these two, in any order.
    pub fn is_of(&self, one: &str, other: &str) -> bool {
        (self.higher == one && self.lower == other) || (self.higher == other && self.lower == one)
    }
}

/// Compares every pair of schemes. `difference` gives `a − b` of every seed that both have.
///
/// All comparisons together are the family that Holm's correction is for.
pub fn family(
    schemes: &[String],
    parts: &[Part],
    difference: impl Fn(Part, &str, &str) -> Vec<f64>,
) -> Vec<Comparison> {
    let mut family = Vec::new();
    for &part in parts {
        for (i, a) in schemes.iter().enumerate() {
            for b in &schemes[i + 1..] {
                family.push(Comparison::of(part, [a, b], difference(part, a, b)));
            }
        }
    }
    let tested: Vec<f64> = family
        .iter()
        .filter_map(|comparison| comparison.p)
        .collect();
    let mut adjusted = stats::holm(&tested).into_iter();
    for comparison in family
        .iter_mut()
        .filter(|comparison| comparison.p.is_some())
    {
        comparison.p_holm = adjusted.next();
    }
    family
}

/// The fewest seeds with which a family of `tests` can show any difference at all.
pub fn seeds_needed(tests: usize) -> usize {
    (1..20)
        .find(|n| stats::smallest_p(*n) * (tests.max(1) as f64) < LEVEL)
        .unwrap_or(20)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schemes(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn the_one_with_the_higher_mean_comes_first() {
        let family = family(&schemes(&["a", "b"]), &[Part::Inside], |_, _, _| {
            vec![-0.2, -0.4, 0.1]
        });
        let [pair] = &family[..] else { panic!() };
        assert_eq!((pair.higher.as_str(), pair.lower.as_str()), ("b", "a"));
        assert_eq!((pair.seeds, pair.above, pair.below), (3, 2, 1));
        assert!((pair.difference.unwrap() - 0.5 / 3.0).abs() < 1e-12);
        // Of the 8 patterns of signs, −0.2 −0.4 ±0.1 and their mirror images: 4 are as extreme.
        assert_eq!(pair.p, Some(0.5));
        assert_eq!(pair.smallest_p, 0.25);
        assert_eq!(pair.finding(), Finding::Unclear);
    }

    #[test]
    fn what_may_be_said_grows_with_the_seeds() {
        let finding = |differences: &[f64]| {
            let pair = family(&schemes(&["a", "b"]), &[Part::Inside], |_, _, _| {
                differences.to_vec()
            });
            pair[0].finding()
        };
        assert_eq!(finding(&[]), Finding::Nothing);
        assert_eq!(finding(&[0.5]), Finding::OneSeed);
        assert_eq!(finding(&[0.5, 0.4]), Finding::Agreeing);
        assert_eq!(finding(&[0.5, 0.4, 0.5, 0.6, 0.5]), Finding::Agreeing);
        assert_eq!(finding(&[0.5, 0.4, 0.5, 0.6, 0.5, 0.3]), Finding::Different);
        assert_eq!(finding(&[0.0, 0.0]), Finding::Same);
        assert_eq!(finding(&[0.5, -0.1]), Finding::Unclear);
        assert_eq!(finding(&[0.5, 0.0]), Finding::Unclear);
    }

    #[test]
    fn the_correction_is_for_the_whole_family_and_leaves_out_what_was_not_tested() {
        let names = schemes(&["a", "b", "c"]);
        let all_agree = family(&names, &Part::ALL, |_, _, b| match b {
            "c" => vec![0.1; 6],
            _ => Vec::new(),
        });
        assert_eq!(all_agree.len(), 6);
        let tested: Vec<_> = all_agree.iter().filter(|c| c.p.is_some()).collect();
        assert_eq!(tested.len(), 4);
        for pair in tested {
            assert_eq!(pair.p, Some(0.03125));
            assert_eq!(pair.p_holm, Some(0.125));
            assert_eq!(pair.finding(), Finding::Agreeing);
        }
    }

    #[test]
    fn more_comparisons_need_more_seeds() {
        assert_eq!(seeds_needed(1), 6);
        assert_eq!(seeds_needed(3), 7);
        assert_eq!(seeds_needed(6), 8);
        assert_eq!(seeds_needed(90), 12);
    }
}
