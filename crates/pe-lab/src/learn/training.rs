//! The training loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use burn::lr_scheduler::module_lr_scheduler::ModuleLearningRate;
use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use pe_encoder::{Adam, Kernels, ModuleAdam};

use super::batch::TensorBatch;
use super::checkpoints::{Checkpoints, EPOCH};
use super::held_out::HeldOut;
use super::losses::{CurvePoint, Losses, read_loss};
use super::model::Model;
use super::schedule::schedule;
use crate::ask::{Recipe, Scheme};
use crate::error::LabError;
use crate::rng::stream_of;
use crate::task::Task;

/// The number of tests on held-out sequences along a training of enough steps.
const TESTS: usize = 10;

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
    /// The median time of a step: from drawing a batch to its loss, without held-out sequences and checkpoints. A graphics
    /// card compiles its kernels in the first steps, which would distort a mean.
    pub step_time: Duration,
}

/// What a model is trained on, how, and where.
pub struct Job<'a> {
    /// The task.
    pub task: &'a dyn Task,
    /// The seed of the training data.
    pub seed: u64,
    /// Optimizer steps.
    pub steps: usize,
    /// How to train.
    pub recipe: &'a Recipe,
    /// The device, with autodiff.
    pub device: &'a Device,
}

/// Called after every test on held-out sequences with the losses of all of them so far.
pub type OnHeldOut<'a> = Box<dyn FnMut(&[CurvePoint]) + 'a>;

/// How a training reports its progress, whether it writes checkpoints, and what can stop it.
pub struct Watch<'a> {
    /// Called after every step with the number of steps done and the loss of the last one.
    pub on_step: Box<dyn FnMut(usize, f64) + 'a>,
    /// Called after every test on held-out sequences.
    pub on_held_out: OnHeldOut<'a>,
    /// The checkpoints to write, and the one to go on from. A trial of a study has none: it is short, and is run again if it
    /// is stopped.
    pub checkpoints: Option<Checkpoints<'a>>,
    /// Stops the training before its next step, once it is true.
    pub stop: Arc<AtomicBool>,
}

impl<'a> Watch<'a> {
    /// Calls `on_step` after every step. No checkpoints.
    pub fn steps(on_step: impl FnMut(usize, f64) + 'a) -> Self {
        Self {
            on_step: Box::new(on_step),
            on_held_out: Box::new(|_| {}),
            checkpoints: None,
            stop: Arc::default(),
        }
    }
}

/// Trains a model.
///
/// # Errors
///
/// [`LabError::Trial`] when a loss is not finite, [`LabError::Machine`] when the device fails, [`LabError::Stopped`] when the
/// training was stopped, [`LabError::File`] when a checkpoint cannot be written or read.
pub fn train(mut model: Model, job: Job<'_>, mut watch: Watch<'_>) -> Result<Trained, LabError> {
    let steps = job.steps;
    let (mut optimizer, mut losses) = (optimizer(job.recipe), Losses::default());
    if let Some(checkpoints) = &watch.checkpoints {
        (model, optimizer, losses) = checkpoints.start(model, optimizer)?;
    }
    let first = losses.training.len();
    let mut schedule = schedule(job.recipe, steps)?;
    for _ in 0..first {
        schedule.step();
    }
    let scheme = model.scheme().clone();
    let held_out = HeldOut::new(job.task, job.device.clone().inner());
    if first == 0 {
        test(&held_out, &model, 0, &mut losses, &mut watch)?;
    }
    let (mut tokens, mut times) = (0, Vec::with_capacity(steps - first));
    for step in first..steps {
        let done = step + 1;
        if watch.stop.load(Ordering::Relaxed) {
            return Err(LabError::Stopped { done: step, steps });
        }
        let started = Instant::now();
        let (batch, of_batch) = job.batch(&scheme, step)?;
        let loss;
        (model, loss) = train_step(model, batch, &mut optimizer, schedule.step());
        let loss = read_loss(loss)?;
        tokens += of_batch;
        times.push(started.elapsed());
        losses.training.push(loss);
        (watch.on_step)(done, loss);
        if !loss.is_finite() {
            return Err(diverged(format!("the loss is {loss} at step {done}")));
        }
        if is_tested(done, steps) {
            test(&held_out, &model, done, &mut losses, &mut watch)?;
        }
        if let Some(checkpoints) = &watch.checkpoints
            && done.is_multiple_of(EPOCH)
            && done < steps
        {
            checkpoints.write(done / EPOCH, &model, &optimizer, &losses)?;
        }
    }
    Ok(Trained {
        model: model.valid(),
        losses: losses.training,
        held_out: losses.held_out,
        steps: steps - first,
        tokens,
        step_time: median(times),
    })
}

/// The median, or zero if there are no times.
pub(super) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

impl Job<'_> {
    /// The batch of a step, and the number of its tokens. They depend on the number of the step alone, so that a training that
    /// goes on from a checkpoint has the same ones.
    fn batch(&self, scheme: &Scheme, step: usize) -> Result<(TensorBatch, usize), LabError> {
        let seed = stream_of(self.task.name(), self.seed);
        let samples = self.task.train_batch(seed, step, self.recipe.batch_size);
        let tokens = samples.iter().map(|sample| sample.input.len()).sum();
        let batch = TensorBatch {
            dropout_seed: Some(stream_of("dropout", seed.wrapping_add(step as u64))),
            ..TensorBatch::new(&samples, self.task.readout(), self.device)
        };
        let batch = batch.at(&samples, &mut scheme.for_training(seed, step))?;
        Ok((batch, tokens))
    }
}

/// One step: forward, backward and the optimizer.
pub(super) fn train_step(
    model: Model,
    batch: TensorBatch,
    optimizer: &mut ModuleAdam,
    rate: ModuleLearningRate,
) -> (Model, Tensor<1>) {
    let loss = model.loss(batch);
    let gradients = GradientsParams::from_grads(loss.backward(), &model);
    (optimizer.step(rate, model, gradients), loss)
}

/// The optimizer of a recipe.
pub(super) fn optimizer(recipe: &Recipe) -> ModuleAdam {
    ModuleAdam::new(Adam {
        beta_1: 0.9,
        beta_2: recipe.beta_2,
        epsilon: 1e-8,
        clip_norm: Some(recipe.clip_norm),
        weight_decay: recipe.weight_decay,
        kernels: Kernels::Auto,
    })
}

/// Tests on held-out sequences after some steps.
fn test(
    held_out: &HeldOut<'_>,
    model: &Model,
    step: usize,
    losses: &mut Losses,
    watch: &mut Watch<'_>,
) -> Result<(), LabError> {
    let Some(loss) = held_out.loss(model)? else {
        return Ok(());
    };
    losses.held_out.push(CurvePoint { step, loss });
    (watch.on_held_out)(&losses.held_out);
    match loss.is_finite() {
        true => Ok(()),
        false => {
            let when = match step {
                0 => "before the first step".to_string(),
                step => format!("after step {step}"),
            };
            Err(diverged(format!(
                "the loss on held-out sequences is {loss} {when}"
            )))
        }
    }
}

/// Whether there is a test on held-out sequences after this many steps.
fn is_tested(done: usize, steps: usize) -> bool {
    let epochs = steps.div_ceil(EPOCH).div_ceil(TESTS);
    done == steps || done.is_multiple_of(epochs * EPOCH)
}

fn diverged(how: String) -> LabError {
    LabError::Trial(format!("diverged: {how}"))
}
