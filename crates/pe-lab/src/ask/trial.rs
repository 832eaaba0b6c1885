//! What one trial runs.

use serde::{Deserialize, Serialize};

use super::model::ModelSpec;
use super::recipe::Recipe;
use super::scaling::TestScaling;
use super::scheme::Scheme;
use super::steps::{steps_id, trainings};
use crate::data::DataSpec;

/// Everything that determines the numbers of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialSpec {
    /// The task's name.
    pub task: String,
    /// The user's data, if the task is made of it.
    pub data: Option<DataSpec>,
    /// The positional scheme.
    pub scheme: Scheme,
    /// The seed of the initial weights and of the training data.
    pub seed: u64,
    /// Optimizer steps; with `auto_from`, the most that one training may take.
    pub steps: usize,
    /// The steps of the first training of a trial that goes on until it has converged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_from: Option<usize>,
    /// How to train.
    pub recipe: Recipe,
    /// The sizes of the model.
    pub model: ModelSpec,
    /// The scalings that a language model is tested with and not trained with; without it the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_scalings: Option<Vec<TestScaling>>,
    /// The device's name.
    pub device: String,
    /// Whether it helps to choose a learning rate: then it is tested on examples held out of its training data
    /// (see [`Tuning`](crate::task::Tuning)), and its scores are reported nowhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tuning: bool,
}

/// What the names of trials that help to choose a learning rate have before it.
pub const CHOOSING: &str = "-rate-";

impl TrialSpec {
    /// A name for the trial that no other trial of its study has: `TASK-SCHEME-SEED`, and
    /// `TASK-SCHEME-SEED-rate-RATE` for one that helps to choose a learning rate.
    pub fn id(&self) -> String {
        let id = format!("{}-{}-{}", self.task, self.scheme.name, self.seed);
        match self.tuning {
            true => format!("{id}{CHOOSING}{}", self.recipe.learning_rate),
            false => id,
        }
    }

    /// The steps of the trainings that it may run, one after the other, each from its start.
    ///
    /// Where the steps are fixed, that is one training. A trial with `--steps auto` trains on a part of the examples until
    /// a training has converged, or all of them were run. It then trains once more, with as many steps, on all examples. A
    /// trial that chooses a learning rate leaves this last training out.
    pub fn trainings(&self) -> Vec<usize> {
        trainings(self.auto_from, self.steps)
    }

    /// What it chooses on examples that are held out of the training, in words. `None` where it chooses nothing.
    pub fn chooses(&self) -> Option<&'static str> {
        match self.trainings().len() {
            _ if self.tuning => Some("a learning rate"),
            0 | 1 => None,
            _ => Some("a number of steps"),
        }
    }

    /// The most steps that it may take: those of all its trainings.
    pub fn most_steps(&self) -> usize {
        self.trainings().iter().sum()
    }

    /// The fewest steps that it may take: those of its only training, or of the first one twice, or once if it chooses a
    /// learning rate.
    pub fn least_steps(&self) -> usize {
        match &self.trainings()[..] {
            [first, _, ..] if self.tuning => *first,
            [first, _, ..] => 2 * first,
            _ => self.steps,
        }
    }

    /// A name for its number of steps: the number, or `auto-FIRST-LIMIT`.
    pub fn steps_id(&self) -> String {
        steps_id(self.auto_from, self.steps)
    }
}
