//! Two schemes compared, seed by seed.

use serde::Serialize;

use super::stats::{self, Interval, RESAMPLES};

/// A Holm-adjusted p below this counts as a difference.
pub const LEVEL: f64 = 0.05;

/// A mean difference of normalized scores below this counts as none.
const NEGLIGIBLE: f64 = 0.005;

/// A difference that amounts to fewer tested sequences than this proves nothing, whatever the seeds say.
/// If two models differ on five sequences, all in favour of one model, a sign test on the sequences gives
/// p = 0.0625; on six it gives 0.031.
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
    /// Where they are compared: inside or beyond the training lengths.
    pub part: Part,
    /// The scheme with the higher mean.
    pub higher: String,
    /// The scheme with the lower mean.
    pub lower: String,
    /// The number of seeds at which both have a score.
    pub seeds: usize,
    /// The number of seeds at which `higher` scored above `lower`.
    pub above: usize,
    /// The number of seeds at which `higher` scored below `lower`.
    pub below: usize,
    /// The mean difference of the normalized scores.
    pub difference: Option<f64>,
    /// Its 95 % interval over seeds.
    pub interval: Option<Interval>,
    /// The two-sided p of the sign-flip test.
    pub p: Option<f64>,
    /// The p after Holm's correction for all comparisons of the family.
    pub p_holm: Option<f64>,
    /// The smallest p that is possible with this many seeds.
    pub smallest_p: f64,
    /// The number of tested sequences that the mean difference amounts to. `None` over several tasks, and
    /// if a sequence has several answers.
    pub sequences: Option<f64>,
}

/// The scores of scheme `a` minus those of scheme `b`, seed by seed.
#[derive(Clone, Debug, Default)]
pub struct Paired {
    /// The difference of the normalized scores at every seed at which both have one.
    pub differences: Vec<f64>,
    /// The number of tested sequences that the mean difference amounts to.
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

/// What a comparison shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// There is no seed at which both have a score.
    Nothing,
    /// There is one such seed.
    OneSeed,
    /// A difference that is hardly ever due to chance.
    Different,
    /// Every seed agrees, but there are too few seeds to rule out chance.
    Agreeing,
    /// The seeds agree, but the difference amounts to fewer than [`FEWEST`] tested sequences.
    Few,
    /// The higher scheme has failed runs, which the comparison leaves out. A comparison does not know of
    /// them; only the verdict makes this finding.
    Failing,
    /// The difference is negligible.
    Same,
    /// The seeds disagree.
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
        // Rounding may leave differences of this size where there are none.
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

    /// What the comparison shows.
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

    /// Whether these two schemes are compared, in any order.
    pub fn is_of(&self, one: &str, other: &str) -> bool {
        (self.higher == one && self.lower == other) || (self.higher == other && self.lower == one)
    }
}

/// Compares every pair of schemes in every part. `paired` gives the scores of one scheme minus those of
/// another. Holm's correction is for all these comparisons together.
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

/// The smallest number of seeds with which a family of `tests` comparisons can show any difference.
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
    fn more_seeds_show_more() {
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
    fn a_difference_of_a_few_tested_sequences_proves_nothing() {
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
    fn the_correction_is_for_all_comparisons_that_have_a_p() {
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
