//! Scores of a trained model, by length and by position.

use std::collections::BTreeMap;

use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::batch::TensorBatch;
use super::model::Model;
use crate::ask::PositionSource;
use crate::error::LabError;
use crate::task::{Readout, Sample, Task};

/// The most sequences per forward pass.
const CHUNK: usize = 128;

/// The most pairs of tokens per forward pass. Attention computes a score for every pair, so this bounds
/// its memory: sequences of more than 128 tokens go through in smaller batches.
const PAIRS: usize = CHUNK * 128 * 128;

/// How many sequences of `tokens` tokens go through the model at once.
fn chunk(tokens: usize) -> usize {
    (PAIRS / (tokens * tokens).max(1)).clamp(1, CHUNK)
}

/// The score on the test set of one length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LengthScore {
    /// The length of the sequences, without BOS and EOS. If lengths are mixed, that of the longest.
    pub length: usize,
    /// Whether this length is inside the training lengths.
    pub inside: bool,
    /// The number of sequences tested.
    pub samples: usize,
    /// The share of correct answers.
    pub accuracy: f64,
    /// The share of sequences with every answer correct.
    pub exact: f64,
    /// The accuracy that takes no skill: see [`Task::floor`].
    pub floor: f64,
    /// The share of correct answers by the position at which they are read. Empty under mean pooling.
    pub by_position: Vec<PositionScore>,
    /// The share of correct answers by the depth of what they ask for, see [`Task::depths`]. Empty for a task
    /// without depths; a fifth at which nothing was asked is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_depth: Vec<DepthScore>,
    /// The correct answers of every row, kept for a person's own data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<RowsRight>,
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
    /// The share of correct ones.
    pub accuracy: f64,
}

/// What a model answers to every row of a test set, in the order of the set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowsRight {
    /// The correct answers of each row, over all draws of positions.
    pub right: Vec<u32>,
    /// The answers that each row was asked for, over all draws of positions.
    pub asked: u32,
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
    /// The share of correct answers.
    pub accuracy: f64,
}

impl LengthScore {
    /// The accuracy on a scale from the floor (0) to perfect (1).
    pub fn normalized(&self) -> f64 {
        (self.accuracy - self.floor) / (1.0 - self.floor)
    }
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
        .map(|length| {
            let set = task.test_set(length);
            let scores = model.scheme().for_test(length).map(|mut source| {
                let predicted = answers(model, task, &set, &mut source, device)?;
                Ok(score(task, length, &set, &predicted, keep))
            });
            Ok(mean(scores.collect::<Result<Vec<_>, LabError>>()?))
        })
        .collect()
}

/// The classes that a model predicts for a test set, in the order of its answers.
fn answers(
    model: &Model,
    task: &dyn Task,
    set: &[Sample],
    source: &mut PositionSource<'_>,
    device: &Device,
) -> Result<Vec<usize>, LabError> {
    let mut predicted = Vec::new();
    let longest = set.iter().map(|s| s.tokens.len()).max().unwrap_or(0);
    for chunk in set.chunks(chunk(longest)) {
        let batch = TensorBatch::new(chunk, task.readout(), device).at(chunk, source)?;
        let logits: Tensor<2> =
            model.forward(batch.tokens, batch.padding, &batch.positions, batch.read);
        let classes = logits.argmax(1).into_data();
        predicted.extend(classes.iter::<i64>().map(|class| class as usize));
    }
    let count = set.iter().map(|sample| sample.answers.len()).sum::<usize>();
    match predicted.len() == count {
        true => Ok(predicted),
        false => Err(LabError::Trial(format!(
            "the model gave {} answers to {count} questions",
            predicted.len()
        ))),
    }
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
    let longest = samples.iter().map(|s| s.tokens.len()).max().unwrap_or(0);
    let mut mean: Vec<Vec<f32>> = Vec::new();
    let sources: Vec<_> = model.scheme().for_test(longest).collect();
    let share = 1.0 / sources.len() as f32;
    for mut source in sources {
        let mut done = 0;
        for chunk in samples.chunks(chunk(longest)) {
            let batch = TensorBatch::new(chunk, readout, device).at(chunk, &mut source)?;
            let logits: Tensor<2> =
                model.forward(batch.tokens, batch.padding, &batch.positions, batch.read);
            let classes = logits.dims()[1];
            let values = softmax(logits, 1).into_data().try_to_vec::<f32>();
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

/// The mean of several scores on one test set.
fn mean(scores: Vec<LengthScore>) -> LengthScore {
    let of = |part: &dyn Fn(&LengthScore) -> f64| {
        scores.iter().map(part).sum::<f64>() / scores.len() as f64
    };
    let (accuracy, exact) = (of(&|score| score.accuracy), of(&|score| score.exact));
    let by_position = (0..scores[0].by_position.len())
        .map(|i| of(&|score| score.by_position[i].accuracy))
        .collect::<Vec<_>>();
    let by_depth = (0..scores[0].by_depth.len())
        .map(|i| of(&|score| score.by_depth[i].accuracy))
        .collect::<Vec<_>>();
    let mut all = scores[0].clone();
    for (cell, accuracy) in all.by_depth.iter_mut().zip(by_depth) {
        cell.accuracy = accuracy;
    }
    (all.accuracy, all.exact) = (accuracy, exact);
    for (place, accuracy) in all.by_position.iter_mut().zip(by_position) {
        place.accuracy = accuracy;
    }
    for other in &scores[1..] {
        if let (Some(sum), Some(rows)) = (&mut all.rows, &other.rows) {
            sum.asked += rows.asked;
            for (sum, right) in sum.right.iter_mut().zip(&rows.right) {
                *sum += right;
            }
        }
    }
    all
}

/// Compares predictions with the correct classes. Both are in the order of the answers.
fn score(
    task: &dyn Task,
    length: usize,
    set: &[Sample],
    predicted: &[usize],
    keep: Keep,
) -> LengthScore {
    let mut predictions = predicted.iter();
    let (mut right, mut asked, mut exact) = (0, 0, 0);
    let mut by_position: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    let mut by_depth = [(0, 0); DEPTHS];
    let mut rows = Vec::new();
    for sample in set {
        let mut depths = task.depths(sample).into_iter();
        let mut all_right = true;
        let before = right;
        for (answer, predicted) in sample.answers.iter().zip(predictions.by_ref()) {
            let hit = answer.class == *predicted;
            let place = by_position.entry(answer.position).or_default();
            place.0 += usize::from(hit);
            place.1 += 1;
            if let Some(depth) = depths.next() {
                let cell = &mut by_depth[((depth * DEPTHS as f64) as usize).min(DEPTHS - 1)];
                cell.0 += usize::from(hit);
                cell.1 += 1;
            }
            right += usize::from(hit);
            asked += 1;
            all_right &= hit;
        }
        exact += usize::from(all_right);
        rows.push((right - before) as u32);
    }
    let share = |part: usize, of: usize| part as f64 / of.max(1) as f64;
    let by_position = by_position
        .into_iter()
        .map(|(position, (right, asked))| PositionScore {
            position,
            accuracy: share(right, asked),
        })
        .collect();
    let by_depth = by_depth.into_iter().enumerate();
    let by_depth = by_depth
        .filter(|(_, (_, asked))| *asked > 0)
        .map(|(fifth, (right, asked))| DepthScore {
            fifth,
            asked,
            accuracy: share(right, asked),
        });
    LengthScore {
        length,
        inside: task.train_lengths().contains(&length),
        samples: set.len(),
        accuracy: share(right, asked),
        exact: share(exact, set.len()),
        floor: task.floor(length),
        by_position: match task.readout() {
            Readout::PerToken => by_position,
            Readout::MeanPooled => Vec::new(),
        },
        by_depth: by_depth.collect(),
        rows: (keep == Keep::Rows).then(|| RowsRight {
            right: rows,
            asked: set.first().map_or(0, |sample| sample.answers.len() as u32),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{Passkey, Reverse};

    #[test]
    fn long_sequences_go_through_in_smaller_batches() {
        assert_eq!((chunk(1), chunk(82), chunk(128)), (128, 128, 128));
        assert_eq!((chunk(129), chunk(512), chunk(10_000)), (126, 8, 1));
    }

    #[test]
    fn a_score_counted_by_hand() {
        let set: Vec<Sample> = Reverse.test_set(10).into_iter().take(2).collect();
        let mut predicted: Vec<usize> = set
            .iter()
            .flat_map(|s| &s.answers)
            .map(|a| a.class)
            .collect();
        predicted[3] = (predicted[3] + 1) % 8;
        let score = score(&Reverse, 10, &set, &predicted, Keep::Rows);
        let rows = score.rows.clone().unwrap();
        assert_eq!((rows.right, rows.asked), (vec![9, 10], 10));
        assert_eq!((score.accuracy, score.exact, score.samples), (0.95, 0.5, 2));
        assert!(score.inside);
        assert_eq!(score.by_position.len(), 10);
        for place in &score.by_position {
            let expected = if place.position == 4 { 0.5 } else { 1.0 };
            assert_eq!(place.accuracy, expected);
        }
        let normalized = (0.95 - score.floor) / (1.0 - score.floor);
        assert_eq!(score.normalized(), normalized);
    }

    #[test]
    fn scores_by_depth_are_those_of_the_answers_that_ask_there() {
        let set = Passkey.test_set(20);
        // Wrong where the mark is in the last fifth: at one of the last places of 14, from the twelfth on.
        let predicted: Vec<usize> = set
            .iter()
            .flat_map(|sample| {
                let mark = sample.tokens.iter().position(|t| *t == 8).unwrap() - 1;
                let wrong = usize::from(mark >= 11);
                sample.answers.iter().map(move |a| (a.class + wrong) % 8)
            })
            .collect();
        let one = score(&Passkey, 20, &set, &predicted, Keep::Scores);
        let cells = one.by_depth.iter().map(|cell| (cell.fifth, cell.accuracy));
        let expected = [(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0), (4, 0.0)];
        assert!(cells.eq(expected), "{:?}", one.by_depth);
        let asked: usize = one.by_depth.iter().map(|cell| cell.asked).sum();
        assert_eq!(asked, 512 * 3);
        let right: Vec<usize> = set
            .iter()
            .flat_map(|s| &s.answers)
            .map(|a| a.class)
            .collect();
        let both = mean(vec![one, score(&Passkey, 20, &set, &right, Keep::Scores)]);
        assert_eq!(both.by_depth[4].accuracy, 0.5);
        // Other tasks have none, and their results are written as before there were depths.
        let set: Vec<Sample> = Reverse.test_set(10).into_iter().take(2).collect();
        let none = score(&Reverse, 10, &set, &[0; 20], Keep::Scores);
        let text = serde_json::to_string(&none).unwrap();
        assert!(
            none.by_depth.is_empty() && !text.contains("by_depth"),
            "{text}"
        );
    }

    #[test]
    fn drawings_are_averaged() {
        let set: Vec<Sample> = Reverse.test_set(10).into_iter().take(2).collect();
        let right: Vec<usize> = set
            .iter()
            .flat_map(|s| &s.answers)
            .map(|a| a.class)
            .collect();
        let mut wrong = right.clone();
        wrong[3] = (wrong[3] + 1) % 8;
        let scores =
            [right, wrong].map(|predicted| score(&Reverse, 10, &set, &predicted, Keep::Rows));
        let [best, other] = scores.clone();
        let both = mean(scores.to_vec());
        assert_eq!((both.accuracy, both.exact), (0.975, 0.75));
        assert_eq!((both.length, both.samples, both.floor), (10, 2, best.floor));
        let places = best.by_position.iter().zip(&other.by_position);
        for (mean, (a, b)) in both.by_position.iter().zip(places) {
            assert_eq!(mean.accuracy, (a.accuracy + b.accuracy) / 2.0);
        }
        let rows = both.rows.unwrap();
        assert_eq!((rows.right, rows.asked), (vec![19, 20], 20));
        assert_eq!(mean(vec![other.clone()]), other);
    }
}
