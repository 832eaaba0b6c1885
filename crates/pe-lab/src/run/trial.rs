//! One trial: build the model, train it, test it. Its numbers depend on its spec alone.

use std::fmt::Display;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Instant;

use burn::module::Module;
use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::machine::Machine;
use crate::ask::{TestScaling, TrialSpec, Versions, code};
use crate::data::digest;
use crate::device;
use crate::error::LabError;
use crate::folder::{Entry, TrialFolder, of_digest, read_sealed, write_csv, write_sealed};
use crate::learn::{
    CurvePoint, Job, Keep, LanguageScores, LengthScore, Model, Trained, Watch, evaluate,
    evaluate_language, forecast, has_converged, train,
};
use crate::task::{Task, TestRows, Tuning};

/// The most rows of a stored encoding.
const ENCODING_ROWS: usize = 512;

/// The most bytes of weights.
pub const MOST_BYTES: u64 = 4 << 30;

/// The most bytes of a stored encoding, enough for [`ENCODING_ROWS`] rows of the widest model.
const MOST_OF_ENCODING: u64 = 64 << 20;

/// The most points of a learning curve.
const CURVE_POINTS: usize = 100;

/// The result of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialResult {
    /// What was run.
    pub spec: TrialSpec,
    /// How it ended.
    pub outcome: Outcome,
    /// The versions that computed it.
    pub versions: Versions,
    /// The [`code`] that computed it.
    pub code: String,
    /// The SHA-256 of the weights beside it, where they are kept. Weights are stored with ids that are drawn anew each time, so it differs when the trial is run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
    /// The SHA-256 of the `encoding.csv` beside it, if the scheme adds something to the embeddings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

/// How a trial ended.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every outcome is the large one"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was trained and tested.
    Finished(Measures),
    /// It has no scores, for this reason.
    Failed(String),
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// The scores, by length.
    pub scores: Vec<LengthScore>,
    /// The number of parameters of the whole model.
    pub parameters: usize,
    /// The number of parameters of the positional scheme.
    pub position_parameters: usize,
    /// The training loss, averaged over groups of consecutive steps; `step` is the last of a group.
    pub curve: Vec<CurvePoint>,
    /// The loss on held-out sequences of the training lengths, at a few steps.
    #[serde(default)]
    pub held_out: Vec<CurvePoint>,
    /// What else was measured of a language model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<LanguageScores>,
    /// The numbers that it forecasts in the test, from windows of the longest training length: see [`Task::forecast`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predicted: Vec<f64>,
    /// How long it took. Only this differs when the trial is run again.
    pub timing: Timing,
}

impl Measures {
    /// Whether a trial that goes on until it has converged reached its limit first: whether its last training, of `limit`
    /// steps, had not [converged](has_converged), or was too short to tell.
    pub fn met_limit(&self, limit: usize) -> bool {
        self.steps() == limit && has_converged(&self.held_out) != Some(true)
    }

    /// The steps of the training that was tested: its last point.
    pub fn steps(&self) -> usize {
        self.curve.last().map_or(0, |point| point.step)
    }

    /// The mean of `pick` over the lengths for which `belongs` is true, where every sequence has the same weight.
    pub fn mean_of(
        &self,
        belongs: impl Fn(&LengthScore) -> bool,
        pick: impl Fn(&LengthScore) -> f64,
    ) -> Option<f64> {
        let of_group = || self.scores.iter().filter(|score| belongs(score));
        let samples: usize = of_group().map(|score| score.samples).sum();
        let sum: f64 = of_group().map(|s| pick(s) * s.samples as f64).sum();
        (samples > 0).then(|| sum / samples as f64)
    }

    /// Why these cannot be the measures of a trial of this task, for example because the file was edited.
    /// `None` when they can be.
    pub fn damage(&self, task: &dyn Task) -> Option<String> {
        let lengths: Vec<usize> = self.scores.iter().map(|score| score.length).collect();
        if lengths != task.test_lengths() {
            return Some(format!(
                "it has scores at the lengths {lengths:?}, and the task is tested at {:?}",
                task.test_lengths()
            ));
        }
        let forecast = task.forecast().map_or(0, |of| of.actual.len());
        if self.predicted.len() != forecast {
            return Some(format!(
                "it has {} forecasts, and the task tests {forecast}",
                self.predicted.len()
            ));
        }
        self.scores.iter().find_map(|score| {
            let reason = match score.score == task.measure().score(score.score.value()) {
                true => score.score.damage(score.floor)?,
                false => format!(
                    "{}, and the task is scored in {}",
                    score.score.measure().name(),
                    task.measure().name()
                ),
            };
            Some(format!("at length {} it has {reason}", score.length))
        })
    }
}

/// How long a trial took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Milliseconds of a training step, the median: first steps, in which a graphics card compiles its kernels, do not count.
    pub ms_per_step: f64,
    /// Input tokens per second at this speed.
    pub tokens_per_second: f64,
    /// Seconds of the whole trial: its trainings, its tests, and what a graphics card compiles.
    pub seconds: f64,
    /// The number of threads that the trial was given, if it was set.
    pub threads: Option<usize>,
    /// The machine it ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

impl TrialResult {
    /// Reads a result.
    ///
    /// # Errors
    ///
    /// [`LabError::File`] when it cannot be read, [`LabError::Content`] when it holds no result or was changed later.
    pub fn read(file: &Entry) -> Result<Self, LabError> {
        read_sealed(file)
    }

    /// Writes the result with a digest, whole or not at all.
    ///
    /// # Errors
    ///
    /// [`LabError::File`] when the folder cannot be written.
    pub fn write(&self, file: &Entry) -> Result<(), LabError> {
        write_sealed(file, self)
    }

    /// The measures, unless the trial failed.
    pub fn measures(&self) -> Option<&Measures> {
        match &self.outcome {
            Outcome::Finished(measures) => Some(measures),
            Outcome::Failed(_) => None,
        }
    }
}

/// The weights that a finished trial left in its folder; `None` if it left none. `named` is the digest in its result.
///
/// # Errors
///
/// [`LabError::File`] when they cannot be read, [`LabError::Content`] when they are not those that the result names.
pub fn read_weights(
    folder: &TrialFolder,
    named: Option<&str>,
) -> Result<Option<Vec<u8>>, LabError> {
    bytes_beside(folder, &folder.weights(), named, MOST_BYTES)
}

/// The bytes of a file beside a result, which names their digest; `None` where there is no file.
fn bytes_beside(
    folder: &TrialFolder,
    file: &Entry,
    named: Option<&str>,
    most: u64,
) -> Result<Option<Vec<u8>>, LabError> {
    match of_digest(file, named, most) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::InvalidData => Err(beside(folder, file, &error)),
        bytes => bytes.map(Some).map_err(LabError::file(file)),
    }
}

/// Runs a trial. `folder` gets its `encoding.csv`.
///
/// For a trial that goes on until it has converged, the number of steps is chosen first, on examples that are held out of
/// the training ([`Tuning`]): it is trained without them from its start with the steps of each of
/// [`TrialSpec::trainings`], until one [has converged](has_converged) or only the last is left. Then it is trained with as
/// many steps on all examples, and that training is tested: the result is number for number that of a trial of as many
/// steps, and no test set has a part in the choice. The step number that `watch` gets continues through all trainings.
///
/// A training that diverges is no error: its outcome is [`Outcome::Failed`].
///
/// # Errors
///
/// When the spec names a device or a scheme that does not exist, when a file cannot be written, or
/// [`LabError::Stopped`] when `watch` stopped the training.
pub fn run_trial(
    spec: &TrialSpec,
    task: &Arc<dyn Task>,
    folder: &TrialFolder,
    watch: Watch<'_>,
) -> Result<TrialResult, LabError> {
    let held_out: Option<Arc<dyn Task>> = match spec.chooses() {
        None => None,
        Some(what) => {
            let held_out = Tuning::of(task.clone()).ok_or_else(|| too_few(task.as_ref(), what))?;
            Some(Arc::new(held_out))
        }
    };
    let task: &Arc<dyn Task> = match &held_out {
        Some(held_out) if spec.tuning => held_out,
        _ => task,
    };
    let started = Instant::now();
    let result = |outcome, weights, encoding| TrialResult {
        spec: spec.clone(),
        outcome,
        versions: Versions::current(),
        code: code().into(),
        weights,
        encoding,
    };
    let plain = device::open(&spec.device)?;
    let choosing = held_out.as_ref().unwrap_or(task);
    let trained = match train_on(spec, task, choosing, watch, &plain.clone().autodiff()) {
        Err(LabError::Trial(reason)) => return Ok(result(Outcome::Failed(reason), None, None)),
        trained => trained?,
    };
    let keep = match spec.data {
        Some(_) if task.test_rows() != TestRows::Neighbours => Keep::Rows,
        _ => Keep::Scores,
    };
    let scores = evaluate(&trained.model, task.as_ref(), &plain, keep)?;
    let mut each = scores.iter();
    if let Some(of) = each.find(|of| !of.score.value().is_finite()) {
        let (score, length) = (of.score.value(), of.length);
        let reason = format!("diverged: the score at length {length} is {score}");
        return Ok(result(Outcome::Failed(reason), None, None));
    }
    let measures = measures(spec, task.as_ref(), &trained, scores, &plain, started)?;
    let encoding = write_encoding(&trained.model, task.positions(), folder)?;
    let weights = match spec.data {
        Some(_) => Some(trained.model.save(&folder.weights())?),
        None => None,
    };
    Ok(result(Outcome::Finished(measures), weights, encoding))
}

/// All measures of a finished trial, whose scores are given. `started` is the time when it began.
fn measures(
    spec: &TrialSpec,
    task: &dyn Task,
    trained: &Trained,
    scores: Vec<LengthScore>,
    device: &Device,
    started: Instant,
) -> Result<Measures, LabError> {
    let model = &trained.model;
    let scalings = spec.test_scalings.clone();
    let scalings = scalings.unwrap_or_else(TestScaling::usual);
    let seconds = trained.step_time.as_secs_f64();
    Ok(Measures {
        scores,
        parameters: model.num_params(),
        position_parameters: model.position_parameters(),
        curve: curve(&trained.losses),
        held_out: trained.held_out.clone(),
        predicted: forecast(model, task, device)?,
        language: evaluate_language(model, task, &scalings, device)?,
        timing: Timing {
            ms_per_step: seconds * 1e3,
            tokens_per_second: per_second(trained.tokens, seconds * trained.steps as f64),
            seconds: started.elapsed().as_secs_f64(),
            threads: std::env::var("RAYON_NUM_THREADS")
                .ok()
                .and_then(|n| n.parse().ok()),
            machine: Some(Machine::with(device)),
        },
    })
}

/// A number per second. Where a clock was set back no time has passed, and the result is zero: JSON has no number for
/// infinity.
fn per_second(count: usize, seconds: f64) -> f64 {
    match seconds > 0.0 {
        true => count as f64 / seconds,
        false => 0.0,
    }
}

/// The error of a task that has too few different training examples to choose `what` on some of them.
pub(super) fn too_few(task: &dyn Task, what: &str) -> LabError {
    LabError::Usage(format!(
        "{} has too few different training examples to hold some out for choosing {what}",
        task.name()
    ))
}

/// Runs the trainings of a trial, and returns the last. `choosing` is the task without the examples on which the number of
/// steps is chosen; for a trial that chooses a learning rate both are the same task.
fn train_on(
    spec: &TrialSpec,
    task: &Arc<dyn Task>,
    choosing: &Arc<dyn Task>,
    mut watch: Watch<'_>,
    device: &Device,
) -> Result<Trained, LabError> {
    let run = |task: &Arc<dyn Task>, steps: usize, watch: Watch<'_>| {
        let model = Model::init(&spec.model, task.as_ref(), &spec.scheme, spec.seed, device)?;
        let job = Job {
            task: task.as_ref(),
            seed: spec.seed,
            steps,
            recipe: &spec.recipe,
            device,
        };
        train(model, job, watch)
    };
    let trainings = spec.trainings();
    let (last, before) = match trainings.split_last() {
        None => return run(task, spec.steps, watch),
        Some((last, [])) => return run(task, *last, watch),
        Some(_) if watch.checkpoints.is_some() => {
            return Err(LabError::Usage(format!(
                "{} goes on until it has converged, and has no checkpoints",
                spec.id()
            )));
        }
        Some(more) => more,
    };
    let mut done = 0;
    let mut run_next = |task: &Arc<dyn Task>, steps: usize| {
        let before = done;
        done += steps;
        let watch = Watch {
            on_step: Box::new(|step, loss| (watch.on_step)(before + step, loss)),
            // The losses are those of the current training alone.
            on_held_out: Box::new(|points| (watch.on_held_out)(points)),
            checkpoints: None,
            stop: watch.stop.clone(),
        };
        run(task, steps, watch)
    };
    for steps in before {
        let trained = run_next(choosing, *steps)?;
        if has_converged(&trained.held_out) == Some(true) {
            return match spec.tuning {
                true => Ok(trained),
                false => run_next(task, *steps),
            };
        }
    }
    run_next(task, *last)
}

/// Writes what the trained scheme adds to the token embeddings: a row per position, a column per
/// dimension. A scheme that adds nothing leaves no file.
fn write_encoding(
    model: &Model,
    positions: usize,
    folder: &TrialFolder,
) -> Result<Option<String>, LabError> {
    let rows = model.encoding(positions.min(ENCODING_ROWS))?;
    match rows.iter().flatten().all(|value| *value == 0.0) {
        true => Ok(None),
        false => Ok(Some(digest(&write_csv(&folder.encoding(), rows)?))),
    }
}

/// The encoding that a finished trial left in its folder, a row per position; `None` if it left none. `named` is the
/// digest in its result.
///
/// # Errors
///
/// [`LabError::File`] when it cannot be read, [`LabError::Content`] when it is not the one that the result names, or no
/// table of numbers.
pub fn read_encoding(
    folder: &TrialFolder,
    named: Option<&str>,
) -> Result<Option<Vec<Vec<f32>>>, LabError> {
    let wrong = |reason: &dyn Display| Err(beside(folder, &folder.encoding(), reason));
    let Some(bytes) = encoding_bytes(folder, named)? else {
        return Ok(None);
    };
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(&bytes[..]);
    let rows: Result<Vec<Vec<f32>>, _> = reader.deserialize().collect();
    match rows {
        Ok(rows) if rows.iter().flatten().all(|value| value.is_finite()) && !rows.is_empty() => {
            Ok(Some(rows))
        }
        Ok(_) => wrong(&"it holds no rows of finite numbers"),
        Err(error) => wrong(&error),
    }
}

/// The bytes of `encoding.csv`, see [`read_encoding`].
pub(super) fn encoding_bytes(
    folder: &TrialFolder,
    named: Option<&str>,
) -> Result<Option<Vec<u8>>, LabError> {
    let file = folder.encoding();
    match bytes_beside(folder, &file, named, MOST_OF_ENCODING)? {
        None if named.is_some() => Err(beside(folder, &file, &"it is gone")),
        bytes => Ok(bytes),
    }
}

/// The error of a file beside a result. Without its result the trial is run again and writes the file, so the result
/// is what is to be deleted.
fn beside(folder: &TrialFolder, file: &Entry, reason: &dyn Display) -> LabError {
    let file = file.file_name().unwrap_or_default().display();
    LabError::content(&folder.result())(format!("of the {file} beside it, {reason}"))
}

/// The losses of every step as at most [`CURVE_POINTS`] means of consecutive steps.
fn curve(losses: &[f64]) -> Vec<CurvePoint> {
    let group = losses.len().div_ceil(CURVE_POINTS).max(1);
    losses
        .chunks(group)
        .enumerate()
        .map(|(i, part)| CurvePoint {
            step: i * group + part.len(),
            loss: part.iter().sum::<f64>() / part.len() as f64,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_gives_times_that_can_be_read_again() {
        assert_eq!((per_second(10, 2.0), per_second(10, 0.0)), (5.0, 0.0));
    }

    #[test]
    fn a_curve_has_at_most_a_hundred_points_and_keeps_the_mean() {
        let losses: Vec<f64> = (0..250).map(f64::from).collect();
        let points = curve(&losses);
        assert_eq!(points.len(), 84);
        assert_eq!(points[0], (3, 1.0).into());
        assert_eq!(points[83], (250, 249.0).into());
        assert_eq!(curve(&losses[..7]).len(), 7);
    }
}
