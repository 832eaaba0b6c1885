//! What a model scores, by length, by position and by depth.

use serde::{Deserialize, Serialize};

use crate::task::Score;

/// The score on the test set of one length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LengthScore {
    /// The length of the sequences, without BOS and EOS. If lengths are mixed, that of the longest.
    pub length: usize,
    /// Whether this length is inside the training lengths.
    pub inside: bool,
    /// The number of sequences tested.
    pub samples: usize,
    /// The mean over the answers, in what the task measures.
    #[serde(flatten)]
    pub score: Score,
    /// The share of sequences with every answer correct. `None` where the score is a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact: Option<f64>,
    /// The score that takes no skill: see [`Task::floor`](crate::task::Task::floor).
    pub floor: f64,
    /// The score by the position at which answers are read. Empty under mean pooling.
    pub by_position: Vec<PositionScore>,
    /// The score by the depth of what answers ask for, see [`Task::depths`](crate::task::Task::depths). Empty for a task without depths; a
    /// fifth at which nothing was asked is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_depth: Vec<DepthScore>,
    /// What every row scored, kept for a person's own data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<RowOutcomes>,
}

/// Depths are counted in this many parts of the sequence.
pub const DEPTHS: usize = 5;

/// The score of the answers that ask for something in one fifth of the sequence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DepthScore {
    /// Which fifth: from 0 at the beginning to 4 at the end.
    pub fifth: usize,
    /// The number of answers.
    pub asked: usize,
    /// The mean over them, in what the task measures.
    #[serde(flatten)]
    pub score: Score,
}

/// What a model answers to every row of a test set, in the order of the set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RowOutcomes {
    /// Where the score is a share of correct answers.
    Right {
        /// The correct answers of each row, over all draws of positions.
        right: Vec<u32>,
        /// The answers that each row was asked for, over all draws of positions.
        asked: u32,
    },
    /// Where it is a loss.
    Loss {
        /// The mean loss of each row.
        loss: Vec<f64>,
    },
}

impl RowOutcomes {
    /// The score of each row, of the same measure as `like`.
    pub fn scores(&self, like: Score) -> Vec<Score> {
        match self {
            Self::Right { right, asked } => {
                let share = |right: &u32| f64::from(*right) / f64::from((*asked).max(1));
                right.iter().map(|right| like.with(share(right))).collect()
            }
            Self::Loss { loss } => loss.iter().map(|loss| like.with(*loss)).collect(),
        }
    }
}

/// What is kept of a test beyond its scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The scores alone.
    Scores,
    /// The correct answers of every row too.
    Rows,
}

/// The score at one position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PositionScore {
    /// The index into the input. With a BOS, the first real token has index 1.
    pub position: usize,
    /// The mean over the answers read there.
    #[serde(flatten)]
    pub score: Score,
}

impl LengthScore {
    /// The skill: 0 at the floor, 1 for a perfect score. See [`Score::over`].
    pub fn normalized(&self) -> f64 {
        self.score.over(self.floor)
    }
}
