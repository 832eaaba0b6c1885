//! A trial: one task, one scheme, one seed. A pure function of its spec.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use burn::module::Module;
use serde::{Deserialize, Serialize};

use crate::data::DataSpec;
use crate::device;
use crate::error::LabError;
use crate::evaluate::{LengthScore, evaluate};
use crate::files::write_csv;
use crate::model::{Model, ModelSpec};
use crate::scheme::Scheme;
use crate::task::Task;
use crate::train::{Job, Recipe, Watch, train};

/// The version of Burn in the lock file; Burn itself does not say.
const BURN: &str = "0.22.1";

/// The file of a trained encoding, and the most rows of it.
const ENCODING: &str = "encoding.csv";
const ENCODING_ROWS: usize = 512;

/// Points of a learning curve.
const CURVE_POINTS: usize = 100;

/// Everything that determines the numbers of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialSpec {
    /// The task's name.
    pub task: String,
    /// The user's data, where the task is made of it.
    pub data: Option<DataSpec>,
    /// The positional scheme.
    pub scheme: Scheme,
    /// The seed of the initial weights and of the data stream.
    pub seed: u64,
    /// Optimizer steps.
    pub steps: usize,
    /// How to train.
    pub recipe: Recipe,
    /// The sizes of the model.
    pub model: ModelSpec,
    /// The device's name.
    pub device: String,
}

impl TrialSpec {
    /// A name for the trial that is unique in its study and fit for a folder.
    pub fn id(&self) -> String {
        format!("{}-{}-{}", self.task, self.scheme.name, self.seed)
    }

    /// Its folder in the folder of its study.
    pub fn folder(&self, study: &Path) -> PathBuf {
        study.join("trials").join(self.id())
    }
}

/// What came of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialResult {
    /// What was run.
    pub spec: TrialSpec,
    /// How it ended.
    pub outcome: Outcome,
    /// The versions that ran it.
    pub versions: Versions,
}

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was trained and tested.
    Finished(Measures),
    /// It has no scores, for this reason.
    Failed(String),
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// The scores, by length.
    pub scores: Vec<LengthScore>,
    /// Parameters of the whole model.
    pub parameters: usize,
    /// Parameters of the positional scheme.
    pub position_parameters: usize,
    /// The training loss, averaged over stretches of steps.
    pub curve: Vec<CurvePoint>,
    /// How long it took. The one part that differs from run to run.
    pub timing: Timing,
}

impl Measures {
    /// Why these cannot be the measures of a task: a file may have been edited by hand.
    pub fn damage(&self, task: &dyn Task) -> Option<String> {
        let lengths: Vec<usize> = self.scores.iter().map(|score| score.length).collect();
        if lengths != task.test_lengths() {
            return Some(format!(
                "it has scores at the lengths {lengths:?}, and the task is tested at {:?}",
                task.test_lengths()
            ));
        }
        let bad = self.scores.iter().find(|score| {
            !(0.0..=1.0).contains(&score.accuracy) || !(0.0..1.0).contains(&score.floor)
        })?;
        Some(format!(
            "at length {} it has the accuracy {} and the floor {}; both are shares from 0 to 1",
            bad.length, bad.accuracy, bad.floor
        ))
    }
}

/// The mean loss of a stretch of steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The last step of the stretch.
    pub step: usize,
    /// The mean loss.
    pub loss: f64,
}

/// How long a trial took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Milliseconds per training step.
    pub ms_per_step: f64,
    /// Input tokens trained on per second.
    pub tokens_per_second: f64,
    /// Threads the trial was given, where that was set.
    pub threads: Option<usize>,
}

/// Versions of what ran a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// The laboratory.
    pub pe_lab: String,
    /// The framework.
    pub burn: String,
}

impl Versions {
    /// Those of this program.
    pub fn current() -> Self {
        Self {
            pe_lab: env!("CARGO_PKG_VERSION").into(),
            burn: BURN.into(),
        }
    }
}

impl TrialResult {
    /// The measures, unless the trial failed.
    pub fn measures(&self) -> Option<&Measures> {
        match &self.outcome {
            Outcome::Finished(measures) => Some(measures),
            Outcome::Failed(_) => None,
        }
    }
}

/// Trains and tests. `folder` is the trial's: it gets `encoding.csv`, and what `watch` asks for.
///
/// A training that diverges is a result like any other.
///
/// # Errors
///
/// When the spec names a device or a scheme that does not exist, when a file cannot be written, or
/// when the training was stopped from outside.
pub fn run(
    spec: &TrialSpec,
    task: &Arc<dyn Task>,
    folder: &Path,
    watch: Watch,
) -> Result<TrialResult, LabError> {
    let plain = device::open(&spec.device)?;
    let device = plain.clone().autodiff();
    let model = Model::init(&spec.model, task.as_ref(), &spec.scheme, spec.seed, &device)?;
    let (parameters, position_parameters) = (model.num_params(), model.position_parameters());
    let job = Job {
        task: task.clone(),
        scheme: &spec.scheme,
        seed: spec.seed,
        steps: spec.steps,
        recipe: &spec.recipe,
        folder,
        device: &device,
    };
    let outcome = match train(model, job, watch) {
        Ok(trained) => {
            let seconds = trained.elapsed.as_secs_f64();
            let scores = evaluate(&trained.model, task.as_ref(), &spec.scheme, &plain)?;
            write_encoding(&trained.model, &spec.scheme, task.max_tokens(), folder)?;
            Outcome::Finished(Measures {
                scores,
                parameters,
                position_parameters,
                curve: curve(&trained.losses),
                timing: Timing {
                    ms_per_step: seconds * 1e3 / trained.steps.max(1) as f64,
                    tokens_per_second: trained.tokens as f64 / seconds,
                    threads: std::env::var("RAYON_NUM_THREADS")
                        .ok()
                        .and_then(|n| n.parse().ok()),
                },
            })
        }
        Err(LabError::Trial(reason)) => Outcome::Failed(reason),
        Err(error) => return Err(error),
    };
    Ok(TrialResult {
        spec: spec.clone(),
        outcome,
        versions: Versions::current(),
    })
}

/// Writes what the trained model adds to its tokens into `encoding.csv`: a row per position, a
/// column per dimension. A model that adds nothing leaves no file.
fn write_encoding(
    model: &Model,
    scheme: &Scheme,
    positions: usize,
    folder: &Path,
) -> Result<(), LabError> {
    let rows = model.encoding(scheme, positions.min(ENCODING_ROWS))?;
    if rows.iter().flatten().all(|value| *value == 0.0) {
        return Ok(());
    }
    write_csv(&folder.join(ENCODING), rows)
}

/// The encoding that a finished trial left in its folder: a row per position. `None` when it left
/// none, or when the file is damaged: it is an illustration, and no number depends on it.
pub fn read_encoding(folder: &Path) -> Option<Vec<Vec<f32>>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_path(folder.join(ENCODING))
        .ok()?;
    let rows: Vec<Vec<f32>> = reader.deserialize().collect::<Result<_, _>>().ok()?;
    let whole = rows.iter().flatten().all(|value| value.is_finite());
    (whole && !rows.is_empty()).then_some(rows)
}

fn curve(losses: &[f64]) -> Vec<CurvePoint> {
    let stretch = losses.len().div_ceil(CURVE_POINTS).max(1);
    losses
        .chunks(stretch)
        .enumerate()
        .map(|(i, part)| CurvePoint {
            step: i * stretch + part.len(),
            loss: part.iter().sum::<f64>() / part.len() as f64,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_version_of_burn_is_the_locked_one() {
        // Cargo runs tests in the folder of their package.
        let lock = std::fs::read_to_string("../../Cargo.lock").unwrap();
        let lock = lock.replace("\r\n", "\n");
        let entry = format!("name = \"burn\"\nversion = \"{BURN}\"\n");
        assert!(
            lock.contains(&entry),
            "set BURN to the version in Cargo.lock"
        );
    }

    #[test]
    fn a_curve_has_at_most_a_hundred_points_and_keeps_the_mean() {
        let losses: Vec<f64> = (0..250).map(f64::from).collect();
        let points = curve(&losses);
        assert_eq!(points.len(), 84);
        assert_eq!(points[0], CurvePoint { step: 3, loss: 1.0 });
        assert_eq!(
            points[83],
            CurvePoint {
                step: 250,
                loss: 249.0
            }
        );
        assert_eq!(curve(&losses[..7]).len(), 7);
    }
}
