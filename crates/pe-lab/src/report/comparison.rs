//! Two schemes compared, by name.

use serde::Serialize;

use super::summary::TaskSummary;
use crate::stats::{Answer, Bounds, EQUAL, Finding, Interval, OtherRows, Pair, Why, seed_means};

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

    /// The names of both parts in a table: of lengths, or of resolutions of images.
    pub fn names(resolutions: bool) -> [&'static str; 2] {
        match resolutions {
            true => ["trained size", "other sizes"],
            false => ["inside", "beyond"],
        }
    }

    /// The part in words: of lengths, or of resolutions of images.
    pub fn in_words(self, resolutions: bool) -> &'static str {
        match (self, resolutions) {
            (Self::Inside, false) => "at the training lengths",
            (Self::Beyond, false) => "beyond the training lengths",
            (Self::Inside, true) => "at the resolution of the training",
            (Self::Beyond, true) => "at other resolutions",
        }
    }
}

/// The answer to "which scheme is best?" in one part.
#[derive(Clone, Debug, Serialize)]
pub struct Headline {
    pub part: Part,
    /// The tasks with a score.
    pub tasks: Vec<String>,
    /// The schemes that are compared, the highest mean first.
    pub order: Vec<String>,
    /// The largest p of the first against any other, uncorrected.
    pub p: Option<f64>,
    /// Whether the first is best: `p` is below the headline's error, or every pair with it is proven.
    pub best: bool,
    /// Whether the top is known: the first is best, or the others are proven below it or level with it.
    pub decided: bool,
    /// The comparison without one of the tasks, for each task if there are three or more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// The answer to the question of a [`Headline`] if one task is left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    pub task: String,
    /// The scheme with the highest mean over the other tasks.
    pub highest: String,
    /// By how much its mean is above the next one.
    pub ahead: f64,
    /// Whether it is best, by the tests of the whole study.
    pub best: bool,
}

/// What is said of a finding: in the table of pairs, and before the names of the schemes to which it applies. Each test
/// has a word of its own.
pub const FINDINGS: [(Finding, &str, &str); 6] = [
    (Finding::Proven, "proven", "Proven below it"),
    (Finding::Best, "best", "Not proven below it as single pairs"),
    (Finding::Undecided, "undecided", "Undecided"),
    (Finding::FewSeeds, "too few seeds", "Too few seeds"),
    (Finding::Level, "level", "Level"),
    (Finding::Same, "equal in every run", "Equal in every run"),
];

/// Two schemes compared on the mean over tasks of the normalized score.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub part: Part,
    /// The scheme with the higher mean.
    pub higher: String,
    /// The scheme with the lower mean.
    pub lower: String,
    /// The number of seeds of each.
    pub seeds: [usize; 2],
    /// The difference of the means.
    pub difference: f64,
    /// Its 95 % interval.
    pub interval: Option<Interval>,
    /// The two-sided p of "they are equally good".
    pub p: Option<f64>,
    /// `p` after Holm's correction for all pairs.
    pub p_holm: Option<f64>,
    /// The p of "they differ by the margin or more", after Holm's correction for all pairs.
    pub p_level: Option<f64>,
    /// What that shows.
    pub finding: Finding,
    /// Why nothing more is established, if the pair is undecided or has too few seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Reason>,
    /// Whether other test rows would say the same. Only for a person's own data, and for pairs with the leader.
    pub other_rows: Option<OtherRows>,
}

/// Why a pair is undecided: a [`Why`] with names, and where the scores of seeds lie.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The scheme with fewer seeds has so many, which prove nothing.
    FewSeeds(usize),
    /// No run of either varies, and so few seeds may be alike by chance.
    Alike,
    /// The scores of this scheme of the two range from the first number to the second.
    Spread(String, f64, f64),
    /// The runs of the two hardly vary, but the scores of this other scheme range from the first number to the second.
    Others(String, f64, f64),
    /// Among so many pairs, a difference as large as this may be chance.
    ManyPairs(usize),
}

impl Reason {
    /// The reason of a pair. `scores` are those of every scheme, by task and seed, and `pairs` are compared in all.
    fn of(pair: &Pair, names: &[&str], scores: &[Vec<Vec<f64>>], pairs: usize) -> Option<Self> {
        let named = |scheme: usize| {
            let [low, high] = range_of_runs(&scores[scheme]);
            (names[scheme].to_string(), low, high)
        };
        Some(match pair.why? {
            Why::FewSeeds => Self::FewSeeds(pair.difference.seeds.into_iter().min()?),
            Why::Alike => Self::Alike,
            Why::ManyPairs => Self::ManyPairs(pairs),
            Why::Spread(scheme) => {
                let (name, low, high) = named(scheme);
                Self::Spread(name, low, high)
            }
            Why::Others(scheme) => {
                let (name, low, high) = named(scheme);
                Self::Others(name, low, high)
            }
        })
    }
}

/// From where to where the scores of a scheme range: the means over tasks of its seeds, or, where these hardly differ, the
/// scores on the task on which they differ most.
fn range_of_runs(scores: &[Vec<f64>]) -> [f64; 2] {
    let range = |runs: &[f64]| {
        let low = runs.iter().copied().fold(f64::INFINITY, f64::min);
        let high = runs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        [low, high]
    };
    let width = |[low, high]: &[f64; 2]| high - low;
    let of_means = range(&seed_means(scores));
    let of_tasks = scores.iter().map(|runs| range(runs));
    let widest = of_tasks.max_by(|a, b| width(a).total_cmp(&width(b)));
    widest
        .filter(|_| width(&of_means) < 0.01)
        .unwrap_or(of_means)
}

impl Comparison {
    /// A pair of the schemes with these names and these scores, by task and seed; `pairs` are compared in all.
    pub fn of(
        (part, bounds): (Part, Bounds),
        (names, scores): (&[&str], &[Vec<Vec<f64>>]),
        pair: &Pair,
        pairs: usize,
    ) -> Self {
        Self {
            part,
            higher: names[pair.higher].to_string(),
            lower: names[pair.lower].to_string(),
            seeds: pair.difference.seeds,
            difference: pair.difference.value,
            interval: pair.difference.interval(bounds),
            p: pair.p,
            p_holm: pair.p_holm,
            p_level: pair.p_level,
            finding: pair.finding,
            why: Reason::of(pair, names, scores, pairs),
            other_rows: None,
        }
    }

    /// Whether both have the same mean, but for rounding.
    pub fn is_tie(&self) -> bool {
        self.difference.abs() < EQUAL
    }

    /// Whether these two schemes are compared, in any order.
    pub fn is_of(&self, one: &str, other: &str) -> bool {
        (self.higher == one && self.lower == other) || (self.higher == other && self.lower == one)
    }
}

impl Headline {
    /// The answer about the schemes with these names.
    pub fn of(part: Part, tasks: &[&TaskSummary], names: &[&str], answer: &Answer) -> Self {
        let order = answer.order.iter().map(|scheme| names[*scheme].to_string());
        Self {
            part,
            tasks: tasks.iter().map(|task| task.name.clone()).collect(),
            order: order.collect(),
            p: answer.p,
            best: answer.best,
            decided: answer.decided(),
            left_out: Vec::new(),
        }
    }
}
