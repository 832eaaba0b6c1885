//! Scores of a trained model, by length and by position.

mod scores;
mod sums;

use std::f64::consts::LN_2;

use burn::tensor::activation::{log_softmax, softmax};
use burn::tensor::{Device, Int, Tensor};

pub use scores::{DEPTHS, DepthScore, Keep, LengthScore, PositionScore, RowOutcomes};

use sums::{mean, score};

use super::batch::TensorBatch;
use super::model::Model;
use crate::ask::PositionSource;
use crate::error::LabError;
use crate::task::{Measure, Readout, Sample, Score, Task};

/// The most sequences per forward pass.
const CHUNK: usize = 128;

/// The most pairs of tokens per forward pass. Attention computes a score for every pair, so this bounds
/// its memory: sequences of more than 128 tokens go through in smaller batches.
const PAIRS: usize = CHUNK * 128 * 128;

/// The most scores of classes per forward pass, 256 MiB of them. This bounds the memory of a large vocabulary, which has a score of each
/// entry at each token.
const SCORES: usize = 1 << 26;

/// How many sequences of `tokens` tokens go through the model at once.
pub(super) fn chunk(tokens: usize, classes: usize) -> usize {
    let pairs = PAIRS / (tokens * tokens).max(1);
    pairs.min(with_room(tokens, classes)).clamp(1, CHUNK)
}

/// How many sequences of `tokens` tokens have scores of at most 256 MiB; 1 if none has.
pub(super) fn with_room(tokens: usize, classes: usize) -> usize {
    (SCORES / tokens.saturating_mul(classes).max(1)).max(1)
}

/// The batches of a test set, in its order, for answers of this many classes. A scheme whose encoding changes with the length
/// gets batches of one length, so that what the model says of a row does not depend on the padding that longer rows beside it
/// bring.
fn batches<'a>(
    model: &Model,
    set: &'a [Sample],
    classes: usize,
) -> impl Iterator<Item = &'a [Sample]> + use<'a> {
    let longest = set.iter().map(|sample| sample.input.len()).max();
    let rows = chunk(longest.unwrap_or(0), classes);
    let follows_length = model.scheme().encoding.follows_length();
    let alike = move |a: &Sample, b: &Sample| !follows_length || a.input.len() == b.input.len();
    let of_lengths = set.chunk_by(alike);
    of_lengths.flat_map(move |set| set.chunks(rows))
}

/// Tests a trained model on every test set of a task.
///
/// A scheme with random positions is scored at several draws of them, and the mean counts: see
/// [`Scheme::for_test`](crate::ask::Scheme::for_test).
///
/// # Errors
///
/// [`LabError::Trial`] when the answers cannot be read back from the device.
pub fn evaluate(
    model: &Model,
    task: &dyn Task,
    device: &Device,
    keep: Keep,
) -> Result<Vec<LengthScore>, LabError> {
    task.test_lengths()
        .into_iter()
        .map(|length| evaluate_at(model, task, length, device, keep))
        .collect()
}

/// Tests a trained model on the test set of one length.
pub(super) fn evaluate_at(
    model: &Model,
    task: &dyn Task,
    length: usize,
    device: &Device,
    keep: Keep,
) -> Result<LengthScore, LabError> {
    let set = task.test_set(length);
    let grid = task.grid_at(length);
    let fitted = model.at_resolution(task.grid(), grid)?;
    let scores = model.scheme().for_test(length).map(|source| {
        let mut source = source.on(grid);
        let outcomes = outcomes(&fitted, task, &set, &mut source, device)?;
        Ok(score(task, length, &set, &outcomes, keep))
    });
    Ok(mean(scores.collect::<Result<Vec<_>, LabError>>()?))
}

/// The mean score of all answers of some samples of one length, over all draws of random positions.
pub(super) fn mean_over_draws(
    model: &Model,
    task: &dyn Task,
    length: usize,
    set: &[Sample],
    device: &Device,
) -> Result<Score, LabError> {
    let means = model.scheme().for_test(length).map(|mut source| {
        let outcomes = outcomes(model, task, set, &mut source, device)?;
        Ok(outcomes.iter().sum::<f64>() / outcomes.len().max(1) as f64)
    });
    let means = means.collect::<Result<Vec<f64>, LabError>>()?;
    Ok(task
        .measure()
        .score(means.iter().sum::<f64>() / means.len() as f64))
}

/// The score of every answer of a test set, in order: 1 or 0 for a correct or a wrong class, the bits of the correct class,
/// or the absolute error of a number.
pub(super) fn outcomes(
    model: &Model,
    task: &dyn Task,
    set: &[Sample],
    source: &mut PositionSource<'_>,
    device: &Device,
) -> Result<Vec<f64>, LabError> {
    let mut outcomes = Vec::new();
    let measure = task.measure();
    for chunk in batches(model, set, task.classes()) {
        let batch = TensorBatch::new(chunk, task.readout(), device).at(chunk, source)?;
        let logits: Tensor<2> =
            model.forward(batch.input, batch.padding, &batch.positions, batch.read);
        match &measure {
            Measure::Accuracy | Measure::ExactMatch => {
                let classes = likeliest(logits, task).into_data();
                let correct = chunk.iter().flat_map(|sample| &sample.answers);
                let hits = classes.iter::<i64>().zip(correct);
                outcomes.extend(
                    hits.map(|(class, answer)| f64::from(u8::from(class as usize == answer.class))),
                );
            }
            Measure::Bits { .. } => {
                let nats = log_softmax(logits, 1).gather(1, batch.targets.unsqueeze_dim(1));
                let nats = nats.into_data();
                outcomes.extend(nats.iter::<f32>().map(|nats| -f64::from(nats) / LN_2));
            }
            Measure::Given => {
                return Err(LabError::Trial(format!(
                    "{} is scored by another program, and not here",
                    task.name()
                )));
            }
            Measure::Error { unit } => {
                let Some(numbers) = batch.numbers else {
                    return Err(LabError::Trial(format!(
                        "an error in {unit} is of a number, and the answers of {} are classes",
                        task.name()
                    )));
                };
                let errors = (logits.squeeze_dim(1) - numbers).abs().into_data();
                let errors = errors.iter::<f32>().map(f64::from);
                outcomes.extend(errors.map(|error| error * task.unit()));
            }
        }
    }
    let count = set.iter().map(|sample| sample.answers.len()).sum::<usize>();
    match outcomes.len() == count {
        true => Ok(outcomes),
        false => Err(LabError::Trial(format!(
            "the model gave {} answers to {count} questions",
            outcomes.len()
        ))),
    }
}

/// The likeliest class of each row of logits, `[rows, 1]`. The class of unknown tokens is never chosen.
pub(super) fn likeliest(logits: Tensor<2>, task: &dyn Task) -> Tensor<2, Int> {
    let unknown = task.generation().and_then(|how| how.unknown());
    let rows = logits.dims()[0];
    match unknown {
        Some(class) => logits.slice_fill([0..rows, class..class + 1], f32::NEG_INFINITY),
        None => logits,
    }
    .argmax(1)
}

/// The probability of every class for each sample with one answer. Where positions are random, it is the
/// mean over several draws of them, as in a test.
///
/// # Errors
///
/// [`LabError::Trial`] when the answers cannot be read back from the device.
pub fn probabilities(
    model: &Model,
    readout: Readout,
    samples: &[Sample],
    device: &Device,
) -> Result<Vec<Vec<f32>>, LabError> {
    outputs(model, readout, samples, device, |logits| softmax(logits, 1))
}

/// The number that the model says for each sample with one answer, in the unit of the task: as [`probabilities`].
///
/// # Errors
///
/// As [`probabilities`].
pub fn numbers(
    model: &Model,
    readout: Readout,
    samples: &[Sample],
    device: &Device,
) -> Result<Vec<f32>, LabError> {
    let all = outputs(model, readout, samples, device, |numbers| numbers)?;
    Ok(all.into_iter().flatten().collect())
}

/// The numbers that a trained model forecasts in the test, in the unit of the data, from windows of the longest training
/// length. None for a task that forecasts none.
///
/// # Errors
///
/// As [`probabilities`].
pub fn forecast(model: &Model, task: &dyn Task, device: &Device) -> Result<Vec<f64>, LabError> {
    let Some(of) = task.forecast() else {
        return Ok(Vec::new());
    };
    let set = task.test_set(*task.train_lengths().end());
    let differences = numbers(model, task.readout(), &set, device)?;
    let all = of.last.iter().zip(differences);
    Ok(all
        .map(|(last, difference)| last + f64::from(difference) * task.unit())
        .collect())
}

/// What the model says for each sample with one answer.
fn outputs(
    model: &Model,
    readout: Readout,
    samples: &[Sample],
    device: &Device,
    of: fn(Tensor<2>) -> Tensor<2>,
) -> Result<Vec<Vec<f32>>, LabError> {
    // Random positions are drawn for each sample alone, so that what it gets does not depend on the others.
    if model.scheme().max_position.is_some() && samples.len() > 1 {
        let alone = samples.chunks(1);
        let all = alone.map(|sample| outputs(model, readout, sample, device, of));
        return Ok(all.collect::<Result<Vec<_>, _>>()?.concat());
    }
    let longest = samples.iter().map(|s| s.input.len()).max().unwrap_or(0);
    let mut mean: Vec<Vec<f32>> = Vec::new();
    let sources: Vec<_> = model.scheme().for_test(longest).collect();
    let share = 1.0 / sources.len() as f32;
    for mut source in sources {
        let mut done = 0;
        // One answer for each sequence has few scores, whatever the number of classes.
        for chunk in batches(model, samples, 1) {
            let batch = TensorBatch::new(chunk, readout, device).at(chunk, &mut source)?;
            let logits: Tensor<2> =
                model.forward(batch.input, batch.padding, &batch.positions, batch.read);
            let classes = logits.dims()[1];
            let values = of(logits).into_data().try_to_vec::<f32>();
            let values = values.map_err(|error| LabError::Trial(error.to_string()))?;
            for row in values.chunks(classes.max(1)) {
                if mean.len() == done {
                    mean.push(vec![0.0; classes]);
                }
                for (sum, value) in mean[done].iter_mut().zip(row) {
                    *sum += share * value;
                }
                done += 1;
            }
        }
    }
    Ok(mean)
}

#[cfg(test)]
mod tests;
