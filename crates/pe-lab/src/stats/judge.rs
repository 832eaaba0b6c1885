//! The procedure: which scheme is best, which pairs differ, which are level.

use serde::{Deserialize, Serialize};

use super::holm::holm;
use super::welch::{Difference, Pooled, compare};
use super::why::{Why, spreads};

/// Two schemes are level if their means differ by less than this normalized score. It is fixed before any
/// study is run.
pub const MARGIN: f64 = 0.02;

/// Scores that differ by less are equal, but for rounding.
pub const EQUAL: f64 = 1e-12;

/// In a study that stops when it is decided, a level pair counts as decided only from this number of seeds on: with
/// fewer, a scheme that fails now and then has often not failed yet.
pub const LEVEL_SEEDS: usize = 8;

/// This many seeds prove a clear difference where the runs of a scheme lie close together: see the table of differences
/// of 0.5 in `docs/statistics-tables.md`.
pub const ENOUGH_SEEDS: usize = 5;

/// The largest shares of studies that make a false claim.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    /// Of each headline: "the leader is best".
    pub headline: f64,
    /// Of all pairs together: "these two differ".
    pub pairs: f64,
    /// Of all pairs together: "these two are level".
    pub level: f64,
}

impl Default for Errors {
    /// Two headlines, inside and beyond, and the pairs make 5 % of false differences in all.
    fn default() -> Self {
        Self {
            headline: 0.0125,
            pairs: 0.025,
            level: 0.05,
        }
    }
}

impl Errors {
    /// The errors that each of several looks at a study may use. All looks together then make false claims at most as
    /// often as one look with the whole errors, however the looks depend on each other.
    pub fn divided(self, looks: usize) -> Self {
        let share = |error: f64| error / looks.max(1) as f64;
        Self {
            headline: share(self.headline),
            pairs: share(self.pairs),
            level: share(self.level),
        }
    }
}

/// What a pair of schemes shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The higher one is better, after the correction for all pairs.
    Proven,
    /// The higher one is best of all, by the test of the headline; among all pairs this one is not proven.
    Best,
    /// They differ by less than the margin, after the correction for all pairs.
    Level,
    /// On each task every run of both has the same score.
    Same,
    /// Neither is established.
    Undecided,
    /// One of them has fewer than [`FEWEST_SEEDS`](super::FEWEST_SEEDS), which prove nothing.
    FewSeeds,
}

/// A pair of schemes. They are numbered as they were given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The scheme with the higher mean, or the first of two equal ones.
    pub higher: usize,
    /// The other.
    pub lower: usize,
    /// The higher minus the lower.
    pub difference: Difference,
    /// The p of "they are equally good", see [`Difference::p`].
    pub p: Option<f64>,
    /// `p` after Holm's correction for all pairs of all questions.
    pub p_holm: Option<f64>,
    /// The p of "they differ by the margin or more", after Holm's correction for all pairs.
    pub p_level: Option<f64>,
    /// What that shows.
    pub finding: Finding,
    /// Why nothing more is established, if the pair is undecided or has too few seeds.
    pub why: Option<Why>,
}

/// The answer to one question: which scheme is best.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The schemes, the highest mean first.
    pub order: Vec<usize>,
    /// Every pair.
    pub pairs: Vec<Pair>,
    /// The largest p of the leader against any other, uncorrected. `None` if a p is missing, or if there is
    /// no other scheme.
    pub p: Option<f64>,
    /// Whether the leader is best: `p` is below the headline's error, or every pair with it is proven.
    pub best: bool,
}

impl Answer {
    /// The pairs of the leader with every other scheme, in the order of their means.
    pub fn of_leader(&self) -> impl Iterator<Item = &Pair> {
        let leader = self.order.first().copied();
        let others = self.order.iter().skip(1);
        others.filter_map(move |other| {
            let is_of = |pair: &&Pair| Some(pair.higher) == leader && pair.lower == *other;
            self.pairs.iter().find(is_of)
        })
    }

    /// Whether the top is known: the leader is best, or every other scheme is proven below it or, at
    /// [`LEVEL_SEEDS`] or more, level with it.
    pub fn decided(&self) -> bool {
        let known = |pair: &Pair| match pair.finding {
            Finding::Proven => true,
            Finding::Level => pair.difference.seeds.iter().all(|n| *n >= LEVEL_SEEDS),
            Finding::Best | Finding::Same | Finding::Undecided | Finding::FewSeeds => false,
        };
        self.best || (self.order.len() > 1 && self.of_leader().all(known))
    }
}

/// Judges one or more questions, such as "inside" and "beyond". Each holds the scores of every scheme as
/// `scores[task][seed]`, see [`compare`]. Holm's correction is for the pairs of all questions together.
///
/// The leader of a question is the scheme with the highest mean. It is called best if its largest p against
/// the others is below the headline's error. That needs no correction for the number of schemes: for Gaussian
/// means the two-sided test against the scheme with the smallest standardized difference is enough (Gutmann
/// and Maymin 1987; Hung and Fithian, arXiv:1610.03944; Sood, arXiv:2503.01065). It is also best if every pair with it is proven, which
/// the errors of the pairs cover.
pub fn judge(questions: &[Vec<Vec<Vec<f64>>>], errors: Errors, margin: f64) -> Vec<Answer> {
    let mut answers: Vec<Answer> = questions.iter().map(|schemes| unjudged(schemes)).collect();
    let pairs = |answers: &mut Vec<Answer>, p: fn(&Pair) -> Option<f64>| {
        let all = answers.iter().flat_map(|answer| &answer.pairs);
        holm(&all.filter_map(p).collect::<Vec<_>>()).into_iter()
    };
    for pair in answers.iter_mut().flat_map(|answer| &mut answer.pairs) {
        pair.p_level = pair.difference.p_level(margin);
    }
    let mut different = pairs(&mut answers, |pair| pair.p);
    // A pair of which it cannot be known whether it is level is one of all pairs too.
    let mut level = pairs(&mut answers, |pair| {
        pair.p.map(|_| pair.p_level.unwrap_or(1.0))
    });
    for (answer, schemes) in answers.iter_mut().zip(questions) {
        for pair in &mut answer.pairs {
            pair.p_holm = pair.p.and_then(|_| different.next());
            let corrected = pair.p.and_then(|_| level.next());
            pair.p_level = pair.p_level.and(corrected);
            pair.finding = match pair.p {
                None => Finding::FewSeeds,
                _ if below(pair.p_holm, errors.pairs) => Finding::Proven,
                _ if same_in_every_run(schemes, pair) => Finding::Same,
                _ if below(pair.p_level, errors.level) => Finding::Level,
                _ => Finding::Undecided,
            };
        }
        let p: Option<Vec<f64>> = answer.of_leader().map(|pair| pair.p).collect();
        answer.p = p.and_then(|p| p.into_iter().reduce(f64::max));
        let is_proven = |pair: &Pair| pair.finding == Finding::Proven;
        let proven = answer.p.is_some() && answer.of_leader().all(is_proven);
        answer.best = below(answer.p, errors.headline) || proven;
        let leader = answer.order.first().filter(|_| answer.best).copied();
        let spreads = spreads(schemes);
        for pair in &mut answer.pairs {
            if Some(pair.higher) == leader && pair.finding == Finding::Undecided {
                pair.finding = Finding::Best;
            }
            let is_open = matches!(pair.finding, Finding::Undecided | Finding::FewSeeds);
            let of_pair = [pair.higher, pair.lower];
            let by_others = || is_open_by_others(&pair.difference, errors, margin);
            pair.why = is_open.then(|| {
                let of_tests = (errors.pairs, by_others());
                Why::of(of_pair, &pair.difference, &spreads, of_tests)
            });
        }
    }
    answers
}

/// Whether a p is known and below an error.
fn below(p: Option<f64>, error: f64) -> bool {
    p.is_some_and(|p| p < error)
}

/// Whether a pair would count as different, or as level, by the tests that take the runs of its two schemes alone, and does
/// not by those that take the spread of all schemes.
fn is_open_by_others(difference: &Difference, errors: Errors, margin: f64) -> bool {
    let different = below(difference.own_p(), errors.pairs) && !below(difference.p(), errors.pairs);
    let level = below(difference.own_p_level(margin), errors.level)
        && !below(difference.p_level(margin), errors.level);
    different || level
}

/// Whether on each task every run of both schemes of a pair has the same score, but for rounding.
fn same_in_every_run(schemes: &[Vec<Vec<f64>>], pair: &Pair) -> bool {
    let tasks = schemes[pair.higher].iter().zip(&schemes[pair.lower]);
    tasks.into_iter().all(|(higher, lower)| {
        let mut runs = higher.iter().chain(lower);
        runs.all(|run| (run - higher[0]).abs() < EQUAL)
    })
}

fn unjudged(schemes: &[Vec<Vec<f64>>]) -> Answer {
    let mut pairs = Vec::new();
    let pooled = Pooled::of(schemes);
    for (a, of_a) in schemes.iter().enumerate() {
        for (b, of_b) in schemes.iter().enumerate().skip(a + 1) {
            let difference = compare(of_a, of_b, &pooled);
            let (higher, lower, difference) = match difference.value >= 0.0 {
                true => (a, b, difference),
                false => (b, a, difference.reversed()),
            };
            pairs.push(Pair {
                higher,
                lower,
                p: difference.p(),
                difference,
                p_holm: None,
                p_level: None,
                finding: Finding::FewSeeds,
                why: None,
            });
        }
    }
    // Sorted by the number of schemes that each one is above, so that the order agrees with the pairs.
    let above = |scheme: usize| pairs.iter().filter(|pair| pair.higher == scheme).count();
    let mut order: Vec<usize> = (0..schemes.len()).collect();
    order.sort_by_key(|scheme| std::cmp::Reverse(above(*scheme)));
    Answer {
        order,
        pairs,
        p: None,
        best: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_task(runs: &[&[f64]]) -> Vec<Vec<Vec<f64>>> {
        runs.iter().map(|seeds| vec![seeds.to_vec()]).collect()
    }

    fn judged(runs: &[&[f64]]) -> Answer {
        let mut answers = judge(&[one_task(runs)], Errors::default(), MARGIN);
        answers.remove(0)
    }

    const HIGH: &[f64] = &[0.90, 0.93, 0.91, 0.92, 0.89];
    const MIDDLE: &[f64] = &[0.70, 0.73, 0.71, 0.75, 0.69];
    const LOW: &[f64] = &[0.10, 0.12, 0.09, 0.11, 0.13];

    #[test]
    fn three_clear_schemes_are_ordered_and_proven_at_five_seeds() {
        let answer = judged(&[MIDDLE, LOW, HIGH]);
        assert_eq!(answer.order, [2, 0, 1]);
        assert!(answer.best && answer.decided());
        let is_proven = |pair: &Pair| pair.finding == Finding::Proven;
        assert!(answer.pairs.iter().all(is_proven));
        // The headline's p is the largest p of the leader's pairs: that of the pair with the nearest scheme.
        let nearest = answer.of_leader().next().unwrap();
        assert_eq!((nearest.lower, nearest.p), (0, answer.p));
    }

    #[test]
    fn the_margin_decides_what_is_level() {
        let a = [0.90, 0.91, 0.92, 0.90, 0.91, 0.92, 0.90, 0.92];
        let b: Vec<f64> = a.iter().rev().map(|score| score - 0.003).collect();
        let finding = |margin| {
            let runs = one_task(&[&a, &b]);
            judge(&[runs], Errors::default(), margin)[0].pairs[0].finding
        };
        assert_eq!(finding(0.02), Finding::Level);
        assert_eq!(finding(0.005), Finding::Undecided);
    }

    #[test]
    fn the_pairs_of_both_questions_are_corrected_together() {
        let questions = [one_task(&[HIGH, MIDDLE]), one_task(&[MIDDLE, LOW, HIGH])];
        let answers = judge(&questions, Errors::default(), MARGIN);
        let mut all: Vec<&Pair> = answers.iter().flat_map(|answer| &answer.pairs).collect();
        all.sort_by(|a, b| a.p.unwrap().total_cmp(&b.p.unwrap()));
        assert_eq!(all.len(), 4);
        assert_eq!(all[0].p_holm, Some(4.0 * all[0].p.unwrap()));
    }

    #[test]
    fn one_scheme_has_no_rival() {
        let alone = judged(&[HIGH]);
        assert_eq!((alone.p, alone.best, alone.decided()), (None, false, false));
        assert!(judged(&[]).order.is_empty());
    }

    #[test]
    fn the_same_mean_from_other_tasks_is_not_the_same_in_every_run() {
        let finding = |a: [f64; 2], b: [f64; 2]| {
            let runs = |of: [f64; 2]| of.map(|score| vec![score; 5]).to_vec();
            let pair = judge(&[vec![runs(a), runs(b)]], Errors::default(), MARGIN)[0].pairs[0];
            (pair.finding, pair.why)
        };
        assert_eq!(finding([0.9, 0.5], [0.9, 0.5]), (Finding::Same, None));
        let swapped = finding([0.9, 0.5], [0.5, 0.9]);
        assert_eq!(swapped, (Finding::Undecided, Some(Why::Alike)));
    }

    #[test]
    fn a_pair_that_cannot_be_level_is_one_of_the_pairs_that_are_corrected_for() {
        let near: Vec<f64> = HIGH.iter().rev().map(|score| score - 0.001).collect();
        let level = |runs: &[&[f64]]| judged(runs).pairs[0].p_level.unwrap();
        let raw = |runs: &[&[f64]]| judged(runs).pairs[0].difference.p_level(MARGIN).unwrap();
        // One test of the pair of two steady schemes sees no run vary.
        let three: [&[f64]; 3] = [HIGH, &near, LOW];
        let four: [&[f64]; 4] = [HIGH, &near, &[0.5; 5], &[0.4; 5]];
        assert_eq!(judged(&four).pairs[5].p_level, None);
        assert!((level(&three) - 3.0 * raw(&three)).abs() < 1e-15);
        assert!((level(&four) - (6.0 * raw(&four)).min(1.0)).abs() < 1e-15);
    }

    #[test]
    fn the_errors_of_several_looks_add_up_to_those_of_one() {
        let each = Errors::default().divided(4);
        let each = [each.headline, each.pairs, each.level];
        assert_eq!(each, [0.003_125, 0.006_25, 0.0125]);
    }
}
