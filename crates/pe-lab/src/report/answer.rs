//! The answer of a study for a person without statistics, as values. `verdict/found` finds them, each a claim that the tests
//! of a study allow, and `sentences` says them.

use serde::Serialize;

use super::comparison::{Part, Reason};

/// What the first line of a report says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    NoScore,
    /// No seed of any scheme has a score on every task.
    NotCompared,
    /// This scheme alone has a seed with a score on every task, inside or beyond.
    Alone(String),
    /// So few seeds prove nothing.
    FewSeeds {
        /// The fewest seeds of a scheme.
        seeds: usize,
        /// The fewest that can prove anything.
        fewest: usize,
        /// The number of seeds that shows a clear difference.
        enough: usize,
        /// The scheme with the highest mean, if it has learned anything and no other has the same.
        highest: Option<(String, Achieved)>,
    },
    /// Nothing is claimed before the first planned look, at so many seeds.
    BeforeFirstLook(usize),
    TooShort,
    Found {
        /// Whether positions are needed.
        positions: Option<Positions>,
        /// Which schemes are best, inside and beyond the training lengths.
        parts: Vec<Standing>,
        /// Whether many trainings had not converged, so that this ranks how fast schemes learn.
        ranks_speed: bool,
    },
}

/// What the control without positions achieves, and what the leader does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Positions {
    pub part: Part,
    /// What the tests say of the two.
    pub found: Need,
    /// The score of the control.
    pub without: Achieved,
    /// The score of the leader.
    pub with: Achieved,
    /// Where the two are level: the tasks that no scheme has learned, which say nothing about the need of positions.
    pub unlearned: Vec<String>,
}

/// Whether positions are needed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// The leader is above the control, which has less than half of its score.
    Needed,
    /// The leader is above the control.
    Helpful,
    /// The leader is level with the control.
    Level,
    /// Neither is established.
    Unclear(Reason),
}

/// Which schemes are best in one part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    pub part: Part,
    pub top: Top,
}

/// Which schemes are best.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Top {
    /// No scheme got above the floor.
    Floor,
    /// Too little was learned to name a best scheme. The number is the highest score.
    Unlearned(f64),
    Best(String),
    /// Several are level, or have the same score in every run, and all others are below them.
    Shared {
        /// The leader and those that are level with it.
        level: Vec<String>,
        /// Those with the same score as the leader in every run.
        same: Vec<String>,
        /// Those that are proven below the leader.
        below: Vec<String>,
    },
    /// It is not established which of these is best.
    Open {
        /// The leader and those that are not proven below it.
        open: Vec<String>,
        /// Those that are proven below the leader.
        below: Vec<String>,
        /// Why the pair with the leader is undecided for that one of these, if it is undecided, whose mean is furthest below the
        /// leader's.
        why: Reason,
    },
}

/// A score, as a person reads it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Achieved {
    /// This share of the answers of a task is right.
    Right(f64, String),
    /// This loss, in the unit of its task.
    Loss(f64, String),
    /// The mean over tasks of the normalized scores: 0 takes no skill, 1 is perfect.
    Score(f64),
    /// A score that was computed elsewhere, whose floor is not known.
    Given(f64),
}

impl Achieved {
    /// The number alone.
    pub fn value(&self) -> f64 {
        match self {
            Self::Right(value, _)
            | Self::Loss(value, _)
            | Self::Score(value)
            | Self::Given(value) => *value,
        }
    }
}
