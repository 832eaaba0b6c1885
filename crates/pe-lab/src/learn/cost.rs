//! What a scheme costs at one length: the time of a training step, of a forward pass and of decoding, and memory.

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use burn::tensor::{Device, Int, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::batch::TensorBatch;
use super::model::Model;
use super::training::{median, optimizer, train_step};
use crate::ask::{ModelSpec, Recipe, Scheme};
use crate::error::LabError;
use crate::task::{Answer, Input, Sample, Task};

/// Each measurement is repeated at least this often, and for at least this long. Tests compare no times, so they and builds
/// with debug assertions measure for a shorter time.
const REPEATS: usize = if cfg!(test) { 1 } else { 3 };
const TIME: Duration = Duration::from_millis(match (cfg!(test), cfg!(debug_assertions)) {
    (true, _) => 0,
    (false, true) => 20,
    (false, false) => 400,
});
/// Tokens that are decoded one by one.
const DECODED: usize = 16;

/// What a scheme costs at one length. Times are medians over repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Tokens of a sequence, BOS and EOS included.
    pub tokens: usize,
    /// Sequences of a training step.
    pub batch_size: usize,
    /// Milliseconds of a training step: forward, backward and the optimizer.
    pub step_ms: f64,
    /// Milliseconds of a forward pass over one sequence, without gradients.
    pub prefill_ms: f64,
    /// Milliseconds to decode one token near the end of such a sequence, with the keys and values before it in a cache.
    /// Only of a causal task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_ms: Option<f64>,
    /// The most memory, in bytes, that the process held during the training steps. Only on Linux.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// How many processor cores other programs kept busy meanwhile. Only on Linux.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
}

impl Cost {
    /// Input tokens per second of training.
    pub fn trained_per_second(&self) -> f64 {
        (self.tokens * self.batch_size) as f64 * 1e3 / self.step_ms
    }

    /// Tokens per second of a forward pass over one sequence.
    pub fn prefilled_per_second(&self) -> f64 {
        self.tokens as f64 * 1e3 / self.prefill_ms
    }

    /// Tokens per second of decoding.
    pub fn decoded_per_second(&self) -> Option<f64> {
        self.decode_ms.map(|ms| 1e3 / ms)
    }
}

/// The lengths at which a task's costs are measured: the longest tested inside the training lengths, and of the
/// longer ones each that is at least twice the one before.
pub fn cost_lengths(task: &dyn Task) -> Vec<usize> {
    let tested = task.test_lengths();
    let inside = tested.iter().copied().filter(|of| task.is_inside(*of));
    let Some(first) = inside.max().or(tested.first().copied()) else {
        return Vec::new();
    };
    let mut lengths = vec![first];
    for length in tested {
        if lengths.last().is_some_and(|last| length >= 2 * last) {
            lengths.push(length);
        }
    }
    lengths
}

/// Measures what a scheme costs on a task at one of its tested lengths, on this process's threads.
///
/// # Errors
///
/// [`LabError::Usage`] when the task has no test set of this length; when the model cannot be built or the device
/// fails.
pub fn measure_cost(
    sizes: &ModelSpec,
    recipe: &Recipe,
    scheme: &Scheme,
    task: &dyn Task,
    length: usize,
    device: &Device,
) -> Result<Cost, LabError> {
    let tested = match task.test_lengths().contains(&length) {
        true => task.test_set(length),
        false => Vec::new(),
    };
    let Some(first) = tested.first() else {
        return Err(LabError::Usage(format!(
            "{} is tested at {:?}, not at {length}",
            task.name(),
            task.test_lengths()
        )));
    };
    let scheme = &of_length(scheme, sizes, task, length)?;
    let batch_size = batch_size(recipe, task, length);
    let samples = tested.iter().cycle().take(batch_size);
    let samples: Vec<Sample> = samples
        .map(|sample| trained(sample.clone(), task))
        .collect();
    let trains = device.clone().autodiff();
    let mut model = Some(Model::init(sizes, task, scheme, 1, &trains)?);
    let clock = Clock::start();
    let batch = at_positions(&samples, scheme, task, &trains)?;
    let tokens = batch.input.dims()[1];
    let mut optimizer = optimizer(recipe);
    forget_peak();
    let step_ms = median_ms(&trains, || {
        // The rate does not change the time, and at 0 the weights stay finite however often it is repeated.
        let step = |model| train_step(model, batch.clone(), &mut optimizer, 0.0.into()).0;
        model = model.take().map(step);
    })?;
    let peak_bytes = peak();

    let one = [trained(first.clone(), task)];
    let model = Model::init(sizes, task, scheme, 1, device)?;
    let batch = at_positions(&one, scheme, task, device)?;
    let prefill_ms = median_ms(device, || {
        let batch = batch.clone();
        black_box(model.forward(batch.input, batch.padding, &batch.positions, batch.read));
    })?;
    let decode_ms = match (&first.input, task.causal()) {
        (Input::Tokens(tokens), true) => decode_ms(&model, tokens, device)?,
        _ => None,
    };
    Ok(Cost {
        tokens,
        batch_size,
        step_ms,
        prefill_ms,
        decode_ms,
        peak_bytes,
        others: clock.others(),
    })
}

/// The sequences of a training step at a length: at the first of the [`cost_lengths`] those of the recipe, and at longer
/// ones as many as have no more tokens in total. A whole batch of long sequences would take gigabytes with a scheme that
/// has a number for every pair of tokens of every sequence.
fn batch_size(recipe: &Recipe, task: &dyn Task, length: usize) -> usize {
    let tokens = |length: usize| task.tokens_of(length);
    let first = cost_lengths(task).first().copied().unwrap_or(length);
    match length > first {
        true => (recipe.batch_size * tokens(first) / tokens(length)).max(1),
        false => recipe.batch_size,
    }
}

/// The scheme as a training on inputs of this length has it. Images of another resolution have a grid of their own,
/// and a trained table has a row for each of its patches.
fn of_length(
    scheme: &Scheme,
    sizes: &ModelSpec,
    task: &dyn Task,
    length: usize,
) -> Result<Scheme, LabError> {
    let Some(grid) = task.grid_at(length) else {
        return Ok(scheme.clone());
    };
    let positions = grid.tokens().max(task.positions());
    Ok(Scheme {
        grid: scheme.grid.map(|_| grid),
        ..Scheme::by_name(&scheme.name, sizes, positions)?
    })
}

/// The sample as it is in training, where a language model is asked for an answer at every token.
fn trained(mut sample: Sample, task: &dyn Task) -> Sample {
    if task.causal() && task.generation().is_none() {
        let answer = |position| Answer { position, class: 0 };
        sample.answers = (0..sample.input.len()).map(answer).collect();
    }
    sample
}

fn at_positions(
    samples: &[Sample],
    scheme: &Scheme,
    task: &dyn Task,
    device: &Device,
) -> Result<TensorBatch, LabError> {
    let longest = samples.iter().map(|sample| sample.input.len()).max();
    let mut source = scheme.first_for_test(longest.unwrap_or(0));
    TensorBatch::new(samples, task.readout(), device).at(samples, &mut source)
}

/// The median time of one of the last tokens of a sequence, decoded one by one from a cache. `None` without caches.
fn decode_ms(model: &Model, tokens: &[usize], device: &Device) -> Result<Option<f64>, LabError> {
    let row = |tokens: &[usize]| {
        let ids: Vec<i32> = tokens.iter().map(|token| *token as i32).collect();
        let length = ids.len();
        Tensor::<2, Int>::from_data(TensorData::new(ids, [1, length]), device)
    };
    let (prompt, rest) = tokens.split_at(tokens.len().saturating_sub(DECODED));
    let Some(mut caches) = model.caches() else {
        return Ok(None);
    };
    if !prompt.is_empty() {
        black_box(model.decode(row(prompt), &mut caches));
    }
    let mut times = Vec::with_capacity(rest.len());
    for token in rest {
        let start = Instant::now();
        black_box(model.decode(row(&[*token]), &mut caches));
        synchronized(device)?;
        times.push(start.elapsed());
    }
    Ok(Some(ms(median(times))))
}

/// The median time of `run`, after one call that is not counted.
fn median_ms(device: &Device, mut run: impl FnMut()) -> Result<f64, LabError> {
    run();
    synchronized(device)?;
    let begin = Instant::now();
    let mut times = Vec::new();
    while times.len() < REPEATS || begin.elapsed() < TIME {
        let start = Instant::now();
        run();
        synchronized(device)?;
        times.push(start.elapsed());
    }
    Ok(ms(median(times)))
}

fn synchronized(device: &Device) -> Result<(), LabError> {
    device
        .sync()
        .map_err(|error| LabError::Machine(error.to_string()))
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Resets the system's record of the peak memory, where it has one.
fn forget_peak() {
    // If this fails, the record covers the whole life of the process, whose peak is not lower.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The most memory that this process held since [`forget_peak`], in bytes.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

/// The use of the processor since a start, in the ticks that Linux counts in.
struct Clock {
    start: Instant,
    /// The ticks at the start: those of all programs, and those of this one.
    ticks: Option<(u64, u64)>,
}

/// Ticks per second, of every Linux in use.
const TICKS: f64 = 100.0;

impl Clock {
    fn start() -> Self {
        Self {
            start: Instant::now(),
            ticks: ticks(),
        }
    }

    /// The cores that other programs kept busy.
    fn others(&self) -> Option<f64> {
        let ((all, own), (all_before, own_before)) = (ticks()?, self.ticks?);
        let others = (all - all_before) as f64 - (own - own_before) as f64;
        let seconds = self.start.elapsed().as_secs_f64();
        (seconds > 0.0).then(|| (others / TICKS / seconds).max(0.0))
    }
}

/// The ticks that all programs and this one used so far.
fn ticks() -> Option<(u64, u64)> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let all: Vec<u64> = stat
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .filter_map(|ticks| ticks.parse().ok())
        .collect();
    // user, nice, system, idle, waiting, interrupts, soft interrupts.
    let busy = [0, 1, 2, 5, 6].iter().filter_map(|at| all.get(*at)).sum();
    let own = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in brackets, may hold spaces.
    let fields: Vec<&str> = own.rsplit_once(')')?.1.split_whitespace().collect();
    let (user, system): (u64, u64) = (fields.get(11)?.parse().ok()?, fields.get(12)?.parse().ok()?);
    Some((busy, user + system))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::Says;
    use crate::data::{co2, digits_32};
    use crate::task::{Digits, Reverse, text, text_with};

    fn measured(task: &dyn Task, scheme: &str, length: usize) -> Result<Cost, LabError> {
        measured_in(&ModelSpec::default(), task, scheme, length)
    }

    fn measured_in(
        sizes: &ModelSpec,
        task: &dyn Task,
        scheme: &str,
        length: usize,
    ) -> Result<Cost, LabError> {
        let recipe = Recipe {
            batch_size: 2,
            ..Recipe::default()
        };
        let scheme = Scheme::by_name(scheme, sizes, task.positions())?;
        let scheme = scheme.on(task)?;
        measure_cost(sizes, &recipe, &scheme, task, length, &Device::flex())
    }

    #[test]
    fn a_cost_has_times_of_what_was_asked() {
        let cost = measured(&Reverse, "learned", 20).unwrap();
        assert_eq!((cost.tokens, cost.batch_size), (22, 2));
        assert!(cost.prefill_ms > 0.0, "{cost:?}");
        assert!(cost.step_ms > cost.prefill_ms, "{cost:?}");
        assert_eq!(cost.decode_ms, None);
        let tokens = cost.trained_per_second() * cost.step_ms / 1e3;
        assert!((tokens - 44.0).abs() < 1e-9, "{tokens}");
        #[cfg(target_os = "linux")]
        assert!(
            cost.peak_bytes.unwrap() > 1 << 20 && cost.others.is_some(),
            "{cost:?}"
        );
        // At most as many tokens as in two sequences of 22.
        let longer = measured(&Reverse, "learned", 80).unwrap();
        assert_eq!((longer.tokens, longer.batch_size), (82, 1));
        let error = measured(&Reverse, "learned", 41).unwrap_err();
        error.says("not at 41");
    }

    #[test]
    fn a_causal_task_is_decoded() {
        let task = text();
        let [first, ..] = cost_lengths(task.as_ref())[..] else {
            panic!("no lengths")
        };
        let cost = measured(task.as_ref(), "rotary", first).unwrap();
        let decoded = cost.decode_ms.unwrap();
        assert!(decoded > 0.0 && decoded < cost.step_ms, "{cost:?}");
    }

    /// Tokens, images at other resolutions, a series with times, and a text that is decoded.
    #[test]
    fn every_scheme_has_a_cost_on_every_kind_of_data() {
        let sizes = ModelSpec {
            layers: 1,
            d_model: 16,
            heads: 2,
            d_ff: 16,
            ..ModelSpec::default()
        };
        let text = text_with(16).unwrap();
        let (images, series) = (digits_32(), co2());
        let tasks: [&dyn Task; 5] = [&Reverse, &Digits, &*images, &*series, &*text];
        for task in tasks {
            let lengths = cost_lengths(task);
            let last = *lengths.last().unwrap();
            for scheme in Scheme::names_for(task, &sizes) {
                for length in [lengths[0], last] {
                    let cost = measured_in(&sizes, task, scheme, length).unwrap();
                    assert_eq!(cost.tokens, length + task.framing(), "{scheme}");
                    assert_eq!(cost.decode_ms.is_some(), task.causal(), "{scheme}");
                }
            }
        }
    }

    #[test]
    fn lengths_double() {
        assert_eq!(cost_lengths(&Reverse), [20, 40, 80]);
    }
}
