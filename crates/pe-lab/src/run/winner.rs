//! The scheme that scored highest in a study, and the best model that was trained with it.

use serde::{Deserialize, Serialize};

use super::study::Outcomes;
use super::trial::{Measures, TrialResult};
use crate::ask::{ModelSpec, Scheme, Versions};

/// The scheme with the highest mean score of a study, which is not to say that it is proven better than the
/// others: that is what the report is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Winner {
    /// The scheme. Its `encoding` is a configuration of `pe-burn` (`PositionalConfig`).
    pub scheme: Scheme,
    /// Its mean normalized score inside the training lengths, as in the report.
    pub score: f64,
    /// The trial whose model scored highest, among those of this scheme.
    pub trial: String,
    /// The task of that trial.
    pub task: String,
    /// The seed of that trial.
    pub seed: u64,
    /// The normalized score of that trial inside the training lengths. It is the best of several, which with folds have
    /// different tests, so it tends to be a little higher than what the model reaches on other data.
    pub trial_score: f64,
    /// The sizes of the model.
    pub model: ModelSpec,
    /// The versions that computed that trial.
    pub versions: Versions,
    /// The SHA-256 of that trial's weights, as its result names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
}

impl Winner {
    /// The winner of a study. `scheme` is the one with the highest mean inside the training lengths, and `score` that mean.
    /// `None` if no trial of it has a score.
    pub fn of(outcomes: &Outcomes, scheme: &str, score: f64) -> Option<Self> {
        let of_scheme = outcomes.results.iter();
        let of_scheme = of_scheme.filter(|result| result.spec.scheme.name == scheme);
        let scored = of_scheme.filter_map(|result| Some((result, inside(result.measures()?))));
        let (best, trial_score): (&TrialResult, f64) =
            scored.reduce(|best, next| if next.1 > best.1 { next } else { best })?;
        Some(Self {
            scheme: best.spec.scheme.clone(),
            score,
            trial: best.spec.id(),
            task: best.spec.task.clone(),
            seed: best.spec.seed,
            trial_score,
            model: best.spec.model.clone(),
            versions: best.versions.clone(),
            weights: best.weights.clone(),
        })
    }
}

/// The mean normalized score inside the training lengths.
fn inside(measures: &Measures) -> f64 {
    let mean = measures.mean_of(|score| score.inside, |score| score.normalized());
    mean.unwrap_or(0.0)
}
