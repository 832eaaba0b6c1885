//! Training on `burn-train`: the task as a data loader, the model as a learner, the losses as a log.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use burn::data::dataloader::{DataLoader, DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;
use burn::lr_scheduler::LrSchedulerConfig;
use burn::lr_scheduler::LrSchedulerRecord;
use burn::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
use burn::lr_scheduler::linear::LinearLrSchedulerConfig;
use burn::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::lr_scheduler::sequential::SequentialLrSchedulerConfig;
use burn::optim::{ModuleOptimizer, OptimizerRecord};
use burn::store::ModuleRecord;
use burn::tensor::{Device, ExecutionError, Tensor};
use burn::train::checkpoint::{Checkpoint, KeepLastNCheckpoints};
use burn::train::logger::MetricLogger;
use burn::train::metric::store::NumericMetricUpdate;
use burn::train::metric::store::{EpochSummary, MetricsUpdate, Split};
use burn::train::metric::{
    Adaptor, LearningRateMetric, LossInput, LossMetric, Metric, MetricDefinition, MetricId,
    NumericEntry,
};
use burn::train::{
    InferenceStep, Interrupter, ItemLazy, Learner, SupervisedTraining, TrainOutput, TrainStep,
};

use pe_encoder::{Adam, Kernels};
use serde::{Deserialize, Serialize};

use crate::batch::TensorBatch;
use crate::error::LabError;
use crate::files::{read_json, write_json};
use crate::model::Model;
use crate::rng::generator;
use crate::scheme::Scheme;
use crate::silent::SilentRenderer;
use crate::task::Task;

/// Steps between two checkpoints, which is what `burn-train` calls an epoch.
pub const EPOCH: usize = 50;

/// More sequences per step than any of the tasks has use for.
const MAX_BATCH: usize = 65_536;

/// How every model of a study is trained.
///
/// Adam with a learning rate that grows evenly over the warm-up and then falls along half a cosine
/// to a hundredth of its peak, with β₂ = 0.98 as for the original transformer, and with the gradient
/// of each parameter scaled down to a norm of at most 1. It was chosen on seeds that no preset reports (101 to 103), as
/// one with which both the sinusoidal and the learned encoding solve the tasks inside the training
/// lengths in the steps that each is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recipe {
    /// Sequences per step.
    pub batch_size: usize,
    /// The learning rate at its peak.
    pub learning_rate: f64,
    /// Steps until the peak.
    pub warmup_steps: usize,
    /// Adam's memory of squared gradients.
    pub beta_2: f32,
    /// The norm down to which a parameter's gradient is scaled where it is longer.
    pub clip_norm: f32,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            batch_size: 64,
            learning_rate: 1.5e-3,
            warmup_steps: 100,
            beta_2: 0.98,
            clip_norm: 1.0,
        }
    }
}

impl Recipe {
    /// Refuses values that cannot train anything.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] with the value and its bounds.
    pub fn check(&self) -> Result<(), LabError> {
        let wrong = |what: &str, value: &dyn std::fmt::Display, bounds: &str| {
            Err(LabError::Usage(format!(
                "{what} is {value}; it must be {bounds}"
            )))
        };
        if !(1..=MAX_BATCH).contains(&self.batch_size) {
            let bounds = format!("from 1 to {MAX_BATCH}");
            return wrong("batch_size", &self.batch_size, &bounds);
        }
        if !(self.learning_rate > 0.0 && self.learning_rate <= 1.0) {
            return wrong(
                "learning_rate",
                &self.learning_rate,
                "above 0 and at most 1",
            );
        }
        if !(0.0..1.0).contains(&self.beta_2) {
            return wrong("beta_2", &self.beta_2, "at least 0 and below 1");
        }
        if !(self.clip_norm > 0.0 && self.clip_norm.is_finite()) {
            return wrong("clip_norm", &self.clip_norm, "above 0 and finite");
        }
        Ok(())
    }

    /// The learning rate of every step.
    fn schedule(&self, steps: usize) -> Result<ModuleLrScheduler, LabError> {
        // A run shorter than the warm-up still gets to see the peak.
        let rise = self.warmup_steps.min(steps / 2).max(1);
        let fall = steps.saturating_sub(rise).max(1);
        let peak = self.learning_rate;
        let up = LinearLrSchedulerConfig::new(peak / rise as f64, peak, rise);
        let down = CosineAnnealingLrSchedulerConfig::new(peak, fall).with_min_lr(peak / 100.0);
        let phases = vec![
            LrSchedulerConfig::Linear(up),
            LrSchedulerConfig::Cosine(down),
        ];
        SequentialLrSchedulerConfig::new(phases, vec![rise])
            .init()
            .map_err(LabError::Usage)
    }
}

/// What training leaves behind.
pub struct Trained {
    /// The model, ready for evaluation.
    pub model: Model,
    /// The loss of every step.
    pub losses: Vec<f64>,
    /// The steps that were run now, and not before a checkpoint.
    pub steps: usize,
    /// Input tokens trained on in these steps.
    pub tokens: usize,
    /// From the start of the first step to the end of the last.
    pub elapsed: Duration,
}

/// The data a model is trained on, and where.
pub struct Job<'a> {
    /// The task.
    pub task: Arc<dyn Task>,
    /// Where the positions of a batch come from.
    pub scheme: &'a Scheme,
    /// The seed of the data stream.
    pub seed: u64,
    /// Optimizer steps.
    pub steps: usize,
    /// How to train.
    pub recipe: &'a Recipe,
    /// A folder for files of the training.
    pub folder: &'a Path,
    /// The device, with autodiff.
    pub device: &'a Device,
}

/// Told after every step: how many are done, and the loss of the last.
pub type OnStep = Box<dyn FnMut(usize, f64) + Send>;

/// What is seen of a training while it runs, and what is kept for going on later.
pub struct Watch {
    /// Told about every step.
    pub on_step: OnStep,
    /// Whether to draw Burn's dashboard. Without a terminal Burn prints lines of its own instead.
    pub dashboard: bool,
    /// Whether to write checkpoints, and where to go on.
    pub checkpoints: Checkpoints,
    /// Stops the training from outside.
    pub interrupter: Interrupter,
}

/// Whether a training leaves checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoints {
    /// None: a trial of a study is short, and is run again.
    None,
    /// One every [`EPOCH`] steps, of which the last two are kept; starts after this many epochs.
    After(usize),
}

impl Watch {
    /// Nothing but the steps.
    pub fn steps(on_step: impl FnMut(usize, f64) + Send + 'static) -> Self {
        Self {
            on_step: Box::new(on_step),
            dashboard: false,
            checkpoints: Checkpoints::None,
            interrupter: Interrupter::new(),
        }
    }
}

/// Trains a model.
///
/// # Errors
///
/// [`LabError::Trial`] when the loss is no longer a number, or when a step fails;
/// [`LabError::Stopped`] when it was stopped from outside.
pub fn train(model: Model, job: Job<'_>, watch: Watch) -> Result<Trained, LabError> {
    let Job {
        task,
        scheme,
        seed,
        steps,
        recipe,
        folder,
        device,
    } = job;
    let interrupter = watch.interrupter;
    let (first, mut losses) = match watch.checkpoints {
        Checkpoints::None | Checkpoints::After(0) => (0, Vec::new()),
        Checkpoints::After(epochs) => (epochs * EPOCH, stored_losses(folder)?),
    };
    losses.truncate(first);
    let losses = Arc::new(Mutex::new(Losses {
        values: losses,
        unwritten: None,
    }));
    let tokens = Arc::new(AtomicUsize::new(0));
    let training = Arc::new(Batches {
        task,
        scheme: scheme.clone(),
        batch_size: recipe.batch_size,
        steps,
        seed,
        device: device.clone(),
        next_step: Arc::new(AtomicUsize::new(first)),
        tokens: tokens.clone(),
    });
    let optimizer = ModuleOptimizer::from(Adam {
        beta_1: 0.9,
        beta_2: recipe.beta_2,
        epsilon: 1e-8,
        clip_norm: Some(recipe.clip_norm),
        kernels: Kernels::Auto,
    });
    let schedule = recipe.schedule(steps)?;

    let mut training = SupervisedTraining::new(folder, training, Arc::new(NoBatches))
        .metric_train_numeric(LossMetric::new())
        .with_metric_logger(LossLog {
            losses: losses.clone(),
            loss: None,
            file: (watch.checkpoints != Checkpoints::None).then(|| losses_file(folder)),
            on_step: watch.on_step,
            interrupter: interrupter.clone(),
        })
        .with_application_logger(None)
        .with_interrupter(interrupter)
        .num_epochs(steps.div_ceil(EPOCH));
    training = match watch.dashboard {
        true => training.metric_train_numeric(LearningRateMetric::new()),
        false => training.renderer(Box::new(SilentRenderer)),
    };
    if let Checkpoints::After(epochs) = watch.checkpoints {
        training = training
            .with_default_checkpointers()
            .with_checkpointing_strategy(KeepLastNCheckpoints::new(2));
        if epochs > 0 {
            training = training.checkpoint(epochs);
        }
    }
    let started = Instant::now();
    let result = training.launch(Learner::new(model, optimizer, schedule));
    let elapsed = started.elapsed();

    if let Some(error) = result.error {
        return Err(LabError::Trial(error.to_string()));
    }
    let mut kept = losses.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = kept.unwritten.take() {
        return Err(error);
    }
    let losses = std::mem::take(&mut kept.values);
    if let Some(index) = losses.iter().position(|loss| !loss.is_finite()) {
        let (loss, step) = (losses[index], index + 1);
        let reason = format!("diverged: the loss is {loss} at step {step}");
        return Err(LabError::Trial(reason));
    }
    if losses.len() < steps {
        return Err(LabError::Stopped {
            done: losses.len(),
            steps,
        });
    }
    Ok(Trained {
        model: result.model,
        losses,
        steps: steps - first,
        tokens: tokens.load(Ordering::Relaxed),
        elapsed,
    })
}

fn losses_file(folder: &Path) -> PathBuf {
    folder.join("losses.json")
}

fn stored_losses(folder: &Path) -> Result<Vec<f64>, LabError> {
    read_json(&losses_file(folder))
}

/// The number of epochs after which a training of so many steps can go on: that of its newest
/// checkpoint that is whole, as a kill may leave one that is not, and has a step left to time.
pub fn last_checkpoint(folder: &Path, steps: usize) -> usize {
    let checkpoints = folder.join("checkpoint");
    let names = fs::read_dir(&checkpoints).into_iter().flatten().flatten();
    let mut epochs: Vec<usize> = names
        .filter_map(|entry| {
            let name = entry.file_name();
            let name = name.to_str()?;
            name.strip_prefix("scheduler-")?
                .strip_suffix(".bpk")?
                .parse()
                .ok()
        })
        .collect();
    epochs.sort_unstable();
    let losses = stored_losses(folder).map_or(0, |losses| losses.len());
    let whole = |epoch: usize| {
        let file = |part: &str| checkpoints.join(format!("{part}-{epoch}.bpk"));
        epoch * EPOCH <= losses
            && epoch * EPOCH < steps
            && <ModuleRecord as Checkpoint>::load(file("model")).is_ok()
            && <OptimizerRecord as Checkpoint>::load(file("optim")).is_ok()
            && <LrSchedulerRecord as Checkpoint>::load(file("scheduler")).is_ok()
    };
    epochs
        .into_iter()
        .rev()
        .find(|epoch| whole(*epoch))
        .unwrap_or(0)
}

/// The loss of a step, which is all that `burn-train` needs to see.
pub struct StepLoss(Tensor<1>);

impl ItemLazy for StepLoss {
    fn sync(self) -> Result<Self, ExecutionError> {
        self.0.device().flush()?;
        Ok(Self(self.0.without_autodiff()))
    }
}

impl Adaptor<LossInput> for StepLoss {
    fn adapt(&self) -> LossInput {
        LossInput::new(self.0.clone())
    }
}

impl TrainStep for Model {
    type Input = TensorBatch;
    type Output = StepLoss;

    fn step(&self, batch: TensorBatch) -> TrainOutput<StepLoss> {
        let loss = self.loss(batch);
        TrainOutput::new(self, loss.backward(), StepLoss(loss))
    }
}

impl InferenceStep for Model {
    type Input = TensorBatch;
    type Output = StepLoss;

    fn step(&self, batch: TensorBatch) -> StepLoss {
        StepLoss(self.loss(batch))
    }
}

/// The batches of a task, an epoch at a time.
#[derive(Clone)]
struct Batches {
    task: Arc<dyn Task>,
    scheme: Scheme,
    batch_size: usize,
    steps: usize,
    seed: u64,
    device: Device,
    next_step: Arc<AtomicUsize>,
    tokens: Arc<AtomicUsize>,
}

struct Epoch<'a> {
    batches: &'a Batches,
    done: usize,
    total: usize,
}

impl Iterator for Epoch<'_> {
    type Item = Result<TensorBatch, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done == self.total {
            return None;
        }
        self.done += 1;
        let Batches {
            task,
            scheme,
            seed,
            batch_size,
            device,
            next_step,
            tokens,
            ..
        } = self.batches;
        let step = next_step.fetch_add(1, Ordering::Relaxed);
        let samples = task.train_batch(*seed, step, *batch_size);
        tokens.fetch_add(
            samples.iter().map(|s| s.tokens.len()).sum(),
            Ordering::Relaxed,
        );
        // A stream of its own: the data are the same whatever a scheme draws.
        let mut rng = generator("positions", *seed, step as u64);
        let batch = TensorBatch::new(&samples, task.readout(), device);
        let batch = batch.at(&samples, scheme, &mut rng);
        Some(batch.map_err(DatasetError::new))
    }
}

impl DataLoaderIterator<TensorBatch> for Epoch<'_> {
    fn progress(&self) -> Progress {
        Progress::new(self.done, self.total, Some("steps".into()))
    }
}

impl DataLoader<TensorBatch> for Batches {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<TensorBatch> + 'a> {
        let left = self.steps - self.next_step.load(Ordering::Relaxed).min(self.steps);
        Box::new(Epoch {
            batches: self,
            done: 0,
            total: left.min(EPOCH),
        })
    }

    fn num_items(&self) -> usize {
        self.steps.min(EPOCH)
    }

    fn to_device(&self, device: &Device) -> Arc<dyn DataLoader<TensorBatch>> {
        Arc::new(Self {
            device: device.clone(),
            ..self.clone()
        })
    }

    /// The stream is one: there is nothing to divide between devices.
    fn slice(&self, _start: usize, _end: usize) -> Arc<dyn DataLoader<TensorBatch>> {
        Arc::new(self.clone())
    }
}

/// No validation while training: test sets are for afterwards.
struct NoBatches;

struct Nothing;

impl Iterator for Nothing {
    type Item = Result<TensorBatch, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        None
    }
}

impl DataLoaderIterator<TensorBatch> for Nothing {
    fn progress(&self) -> Progress {
        Progress::new(0, 0, None)
    }
}

impl DataLoader<TensorBatch> for NoBatches {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<TensorBatch> + 'a> {
        Box::new(Nothing)
    }

    fn num_items(&self) -> usize {
        0
    }

    fn to_device(&self, _device: &Device) -> Arc<dyn DataLoader<TensorBatch>> {
        Arc::new(NoBatches)
    }

    fn slice(&self, _start: usize, _end: usize) -> Arc<dyn DataLoader<TensorBatch>> {
        Arc::new(NoBatches)
    }
}

/// The losses of a training, and why they could not be written, if so.
struct Losses {
    values: Vec<f64>,
    unwritten: Option<LabError>,
}

/// Keeps the loss of every step, and stops the training when it is no longer a number.
struct LossLog {
    losses: Arc<Mutex<Losses>>,
    /// Which of the metrics is the loss.
    loss: Option<MetricId>,
    /// Where the losses are kept beside the checkpoints.
    file: Option<PathBuf>,
    on_step: OnStep,
    interrupter: Interrupter,
}

impl MetricLogger for LossLog {
    fn log(&mut self, update: MetricsUpdate, _epoch: usize, _split: &Split) {
        let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        let of_loss =
            |entry: &&NumericMetricUpdate| Some(&entry.entry.metric_id) == self.loss.as_ref();
        for entry in update.entries_numeric.iter().filter(of_loss) {
            if let Some(
                NumericEntry::Value(loss)
                | NumericEntry::Aggregated {
                    aggregated_value: loss,
                    ..
                },
            ) = entry.numeric_entry
            {
                losses.values.push(loss);
                (self.on_step)(losses.values.len(), loss);
                if !loss.is_finite() {
                    self.interrupter.stop(Some("the loss is not a number"));
                }
            }
        }
    }

    fn read_numeric(
        &mut self,
        _name: &str,
        _epoch: usize,
        _split: &Split,
    ) -> Result<Vec<NumericEntry>, String> {
        Ok(Vec::new())
    }

    fn log_metric_definition(&mut self, definition: MetricDefinition) {
        if *definition.name == LossMetric::new().name().as_str() {
            self.loss = Some(definition.metric_id);
        }
    }

    fn log_epoch_summary(&mut self, _summary: EpochSummary) {
        if let Some(file) = &self.file {
            let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = write_json(file, &losses.values) {
                losses.unwritten = Some(error);
                self.interrupter
                    .stop(Some("the losses could not be written"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(steps: usize) -> Vec<f64> {
        let mut schedule = Recipe::default().schedule(steps).unwrap();
        (0..steps).map(|_| schedule.step().base()).collect()
    }

    #[test]
    fn the_rate_rises_to_its_peak_and_falls_to_a_hundredth() {
        let rates = rates(1000);
        let peak = Recipe::default().learning_rate;
        assert!(rates[0] < peak / 50.0);
        assert!((rates[99] - peak).abs() < peak * 0.02, "{}", rates[99]);
        assert!(rates[..99].is_sorted() && rates[101..].is_sorted_by(|a, b| a >= b));
        assert!(rates[999] < peak * 0.011, "{}", rates[999]);
        assert!(
            rates
                .iter()
                .all(|rate| *rate > 0.0 && *rate <= peak * 1.000_001)
        );
    }

    #[test]
    fn short_runs_have_a_schedule_too() {
        for steps in 1..5 {
            assert!(rates(steps).iter().all(|rate| *rate > 0.0), "{steps} steps");
        }
    }
}
