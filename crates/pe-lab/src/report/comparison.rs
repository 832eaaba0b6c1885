//! Pairs of schemes, compared seed by seed.

use serde::Serialize;

use super::stats::{self, Interval, RESAMPLES};

/// A Holm-adjusted p below this is called a difference.
pub const LEVEL: f64 = 0.05;

/// A mean difference smaller than this, on the normalized scale, is not worth a word.
const NEGLIGIBLE: f64 = 0.005;

/// A difference of fewer tested sequences than this is none that the next ones need to confirm,
/// whatever the seeds: where two models differ on five, all in favour of one, a sign test on the
/// sequences gives a p of 0.0625, and on six 0.031.
pub const FEWEST: f64 = 6.0;

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
    /// To how many of the tested sequences the mean difference amounts; on several tasks together,
    /// to none.
    pub sequences: Option<f64>,
}

/// What two schemes have in common, `a − b`.
#[derive(Clone, Debug, Default)]
pub struct Paired {
    /// The difference of the normalized scores at every seed that both have.
    pub differences: Vec<f64>,
    /// To how many of the tested sequences they amount on average.
    pub sequences: Option<f64>,
}

impl From<Vec<f64>> for Paired {
    fn from(differences: Vec<f64>) -> Self {
        Self {
            differences,
            sequences: None,
        }
    }
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
    /// The seeds agree, on a difference of fewer than [`FEWEST`] of the tested sequences.
    Few,
    /// Ahead where it has scores, and it has failed runs, which are left out. Two schemes do not say
    /// that by themselves: the verdict does.
    Failing,
    /// No difference worth a word was seen.
    Same,
    /// The seeds disagree, or not clearly enough.
    Unclear,
}

impl Comparison {
    fn of(part: Part, [a, b]: [&str; 2], paired: Paired) -> Self {
        let Paired {
            differences: mut paired,
            sequences,
        } = paired;
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
            sequences: sequences.map(f64::abs),
        }
    }

    /// What may be said.
    pub fn finding(&self) -> Finding {
        let Some(difference) = self.difference else {
            return Finding::Nothing;
        };
        let finding = match self.seeds {
            _ if difference < NEGLIGIBLE => return Finding::Same,
            _ if self.p_holm.is_some_and(|p| p < LEVEL) => Finding::Different,
            1 => Finding::OneSeed,
            seeds if self.above == seeds => Finding::Agreeing,
            _ => return Finding::Unclear,
        };
        match self.sequences {
            Some(sequences) if sequences < FEWEST => Finding::Few,
            _ => finding,
        }
    }

    /// Whether the comparison is of these two, in any order.
    pub fn is_of(&self, one: &str, other: &str) -> bool {
        (self.higher == one && self.lower == other) || (self.higher == other && self.lower == one)
    }
}

/// Compares every pair of schemes. `paired` gives `a − b`.
///
/// All comparisons together are the family that Holm's correction is for.
pub fn family(
    schemes: &[String],
    parts: &[Part],
    paired: impl Fn(Part, &str, &str) -> Paired,
) -> Vec<Comparison> {
    let mut family = Vec::new();
    for &part in parts {
        for (i, a) in schemes.iter().enumerate() {
            for b in &schemes[i + 1..] {
                family.push(Comparison::of(part, [a, b], paired(part, a, b)));
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
    use crate::ask::{Names, Plan};

    fn schemes(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn the_one_with_the_higher_mean_comes_first() {
        let family = family(&schemes(&["a", "b"]), &[Part::Inside], |_, _, _| {
            vec![-0.2, -0.4, 0.1].into()
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
                differences.to_vec().into()
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
        // However sure the seeds are of it.
        assert_eq!(finding(&[0.004; 8]), Finding::Same);
    }

    #[test]
    fn a_difference_of_a_few_tested_sequences_is_none() {
        let finding = |differences: &[f64], sequences: f64| {
            let paired = |_, _: &str, _: &str| Paired {
                differences: differences.to_vec(),
                sequences: Some(sequences),
            };
            family(&schemes(&["a", "b"]), &[Part::Inside], paired)[0].finding()
        };
        for sequences in [5.9, -1.0] {
            assert_eq!(finding(&[0.5; 6], sequences), Finding::Few);
            assert_eq!(finding(&[0.5; 3], sequences), Finding::Few);
            assert_eq!(finding(&[0.5], sequences), Finding::Few);
            assert_eq!(finding(&[0.5, -0.1], sequences), Finding::Unclear);
            assert_eq!(finding(&[0.001; 6], sequences), Finding::Same);
        }
        assert_eq!(finding(&[0.5; 6], 6.0), Finding::Different);
        assert_eq!(finding(&[-0.5; 6], -6.0), Finding::Different);
    }

    #[test]
    fn the_correction_is_for_the_whole_family_and_leaves_out_what_was_not_tested() {
        let names = schemes(&["a", "b", "c"]);
        let all_agree = family(&names, &Part::ALL, |_, _, b| match b {
            "c" => vec![0.1; 6].into(),
            _ => Paired::default(),
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
    fn the_full_preset_can_prove_a_difference() {
        let plan = Plan::preset("full").unwrap();
        let schemes = match plan.schemes {
            Some(Names::These(schemes)) => schemes.len(),
            other => panic!("{other:?}"),
        };
        let comparisons = Part::ALL.len() * schemes * (schemes - 1) / 2;
        let seeds = plan.seeds.unwrap().list().unwrap().len();
        assert!(
            seeds >= seeds_needed(comparisons),
            "{seeds} for {comparisons}"
        );
    }

    #[test]
    fn more_comparisons_need_more_seeds() {
        assert_eq!(seeds_needed(1), 6);
        assert_eq!(seeds_needed(3), 7);
        assert_eq!(seeds_needed(6), 8);
        assert_eq!(seeds_needed(90), 12);
    }
}
