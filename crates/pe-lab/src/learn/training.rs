//! Training on `burn-train`.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use burn::module::Module;
use burn::optim::ModuleOptimizer;
use burn::tensor::{Device, ExecutionError, Tensor};
use burn::train::checkpoint::KeepLastNCheckpoints;
use burn::train::metric::{Adaptor, LearningRateMetric, LossInput, LossMetric};
use burn::train::{
    InferenceStep, Interrupter, ItemLazy, Learner, SupervisedTraining, TrainOutput, TrainStep,
};
use pe_encoder::{Adam, Kernels};

use super::batch::TensorBatch;
use super::checkpoints::{Checkpoints, EPOCH, Part, stored_losses};
use super::loader::{Batches, HeldOut};
use super::losses::{CurvePoint, LossLog, Losses, OnHeldOut, OnStep};
use super::model::Model;
use super::schedule::schedule;
use super::silent::SilentRenderer;
use crate::ask::Recipe;
use crate::error::LabError;
use crate::folder::{TrialFolder, make_folder};
use crate::task::Task;

/// The result of a training.
pub struct Trained {
    /// The model, ready for evaluation.
    pub model: Model,
    /// The loss of every step.
    pub losses: Vec<f64>,
    /// The loss on held-out sequences of the training lengths: before the first step, and after about every tenth of the
    /// steps.
    pub held_out: Vec<CurvePoint>,
    /// The number of steps run now. Steps before the checkpoint that it went on from do not count.
    pub steps: usize,
    /// The number of input tokens in these steps.
    pub tokens: usize,
    /// From the start of the first step to the end of the last, without the held-out sequences.
    pub elapsed: Duration,
}

/// What a model is trained on, how, and where.
pub struct Job<'a> {
    /// The task.
    pub task: Arc<dyn Task>,
    /// The seed of the training data.
    pub seed: u64,
    /// Optimizer steps.
    pub steps: usize,
    /// How to train.
    pub recipe: &'a Recipe,
    /// The folder for the files of the training.
    pub folder: &'a TrialFolder,
    /// The device, with autodiff.
    pub device: &'a Device,
}

/// How a training reports its progress, whether it writes checkpoints, and what can stop it.
pub struct Watch {
    /// Called after every step.
    pub on_step: OnStep,
    /// Called after every test on held-out sequences.
    pub on_held_out: OnHeldOut,
    /// Whether to draw Burn's dashboard. Without a terminal Burn prints lines of its own instead.
    pub dashboard: bool,
    /// Whether to write checkpoints, and from which one to go on.
    pub checkpoints: Checkpoints,
    /// Stops the training from another thread.
    pub interrupter: Interrupter,
}

impl Watch {
    /// Calls `on_step` after every step. No dashboard, no checkpoints.
    pub fn steps(on_step: impl FnMut(usize, f64) + Send + 'static) -> Self {
        Self {
            on_step: Box::new(on_step),
            on_held_out: Box::new(|_| {}),
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
/// [`LabError::Trial`] when the loss is not finite, [`LabError::Machine`] when a step fails or a checkpoint
/// cannot be written, [`LabError::Stopped`] when the interrupter stopped the training, [`LabError::File`] when
/// the losses cannot be written.
pub fn train(model: Model, job: Job<'_>, watch: Watch) -> Result<Trained, LabError> {
    let Job {
        task,
        seed,
        steps,
        recipe,
        folder,
        device,
    } = job;
    let interrupter = watch.interrupter;
    let (first, losses) = match watch.checkpoints {
        Checkpoints::None | Checkpoints::After(0) => (0, Losses::default()),
        Checkpoints::After(epochs) => (epochs * EPOCH, stored_losses(folder)?),
    };
    let mut losses = losses.up_to(first);
    let unwritten = Arc::new(Mutex::new(None));
    let tokens = Arc::new(AtomicUsize::new(0));
    let next_step = Arc::new(AtomicUsize::new(first));
    let testing = Arc::new(AtomicU64::new(0));
    let held_out = Arc::new(HeldOut::new(
        task.clone(),
        model.scheme().clone(),
        steps,
        next_step.clone(),
        testing.clone(),
        device,
    ));
    let started = Instant::now();
    let mut on_held_out = watch.on_held_out;
    if first == 0
        && let Some(loss) = held_out.loss_before(&model.valid())?
    {
        losses.held_out.push(CurvePoint { step: 0, loss });
        on_held_out(&losses.held_out);
    }
    let losses = Arc::new(Mutex::new(losses));
    let training = Arc::new(Batches {
        task,
        scheme: model.scheme().clone(),
        batch_size: recipe.batch_size,
        steps,
        seed,
        device: device.clone(),
        next_step,
        tokens: tokens.clone(),
    });
    let optimizer = optimizer(recipe);
    let schedule = schedule(recipe, steps)?;

    let mut training = SupervisedTraining::new(folder.path(), training, held_out)
        .metric_train_numeric(LossMetric::new())
        .metric_valid_numeric(LossMetric::new())
        .with_metric_logger(LossLog {
            losses: losses.clone(),
            testing: Vec::new(),
            unwritten: unwritten.clone(),
            loss: None,
            file: (watch.checkpoints != Checkpoints::None).then(|| folder.losses()),
            on_step: watch.on_step,
            on_held_out,
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
        let places = folder.checkpoints();
        make_folder(&places)?;
        let [model, optimizer, schedule] = Part::all(folder);
        training = training
            .with_custom_checkpointers(model, optimizer, schedule)
            .with_checkpointing_strategy(KeepLastNCheckpoints::new(2));
        if epochs > 0 {
            training = training.checkpoint(epochs);
        }
    }
    let result = training.launch(Learner::new(model, optimizer, schedule));
    let testing = Duration::from_nanos(testing.load(Ordering::Relaxed));
    let elapsed = started.elapsed().saturating_sub(testing);

    if let Some(error) = result.error {
        return Err(LabError::Machine(error.to_string()));
    }
    let mut unwritten = unwritten.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = unwritten.take() {
        return Err(error);
    }
    let mut kept = losses.lock().unwrap_or_else(PoisonError::into_inner);
    let Losses {
        training: losses,
        held_out,
    } = std::mem::take(&mut *kept);
    if let Some(index) = losses.iter().position(|loss| !loss.is_finite()) {
        let (loss, step) = (losses[index], index + 1);
        let reason = format!("diverged: the loss is {loss} at step {step}");
        return Err(LabError::Trial(reason));
    }
    if let Some(point) = held_out.iter().find(|point| !point.loss.is_finite()) {
        let CurvePoint { step, loss } = point;
        let reason =
            format!("diverged: the loss on held-out sequences is {loss} after step {step}");
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
        held_out,
        steps: steps - first,
        tokens: tokens.load(Ordering::Relaxed),
        elapsed,
    })
}

/// The optimizer of a recipe.
pub(super) fn optimizer(recipe: &Recipe) -> ModuleOptimizer {
    ModuleOptimizer::from(Adam {
        beta_1: 0.9,
        beta_2: recipe.beta_2,
        epsilon: 1e-8,
        clip_norm: Some(recipe.clip_norm),
        weight_decay: recipe.weight_decay,
        kernels: Kernels::Auto,
    })
}

/// The loss of a step: the only output that `burn-train` sees.
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
