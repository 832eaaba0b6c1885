//! How well a trained model does, length by length and position by position.

use std::collections::BTreeMap;

use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use crate::batch::TensorBatch;
use crate::error::LabError;
use crate::model::Model;
use crate::rng::{HostRng, generator};
use crate::scheme::Scheme;
use crate::task::{Readout, Sample, Task};

/// Sequences per forward pass, at most.
const CHUNK: usize = 128;

/// Pairs of tokens in a forward pass, at most: attention has a score for each of them and head, so
/// that long sequences go through in smaller groups. No sequence up to 128 tokens is concerned.
const PAIRS: usize = CHUNK * 128 * 128;

/// How many sequences of `tokens` tokens go through the model at once.
fn chunk(tokens: usize) -> usize {
    (PAIRS / (tokens * tokens).max(1)).clamp(1, CHUNK)
}

/// The score on the test set of one length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LengthScore {
    /// Length of the sequences, without BOS and EOS; of the longest, where lengths are mixed.
    pub length: usize,
    /// Whether training saw this length.
    pub inside: bool,
    /// Sequences tested.
    pub samples: usize,
    /// Share of right answers.
    pub accuracy: f64,
    /// Share of sequences with every answer right.
    pub exact: f64,
    /// What takes no skill: see [`Task::floor`].
    pub floor: f64,
    /// Share of right answers by the position at which they are read. Empty under mean pooling.
    pub by_position: Vec<PositionScore>,
}

/// The score at one position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PositionScore {
    /// Index into the input; with a BOS, the first real token is 1.
    pub position: usize,
    /// Share of right answers.
    pub accuracy: f64,
}

impl LengthScore {
    /// The accuracy on a scale from the floor (0) to perfect (1).
    pub fn normalized(&self) -> f64 {
        (self.accuracy - self.floor) / (1.0 - self.floor)
    }
}

/// Tests a model (in its evaluation form) on every test set of a task. Where positions are drawn,
/// each set is scored at several drawings, the same for every model, and the score is their mean.
///
/// # Errors
///
/// [`LabError::Trial`] when the device fails to give its answers back.
pub fn evaluate(
    model: &Model,
    task: &dyn Task,
    scheme: &Scheme,
    device: &Device,
) -> Result<Vec<LengthScore>, LabError> {
    task.test_lengths()
        .into_iter()
        .map(|length| {
            let set = task.test_set(length);
            let scores = (0..scheme.draws()).map(|drawing| {
                let mut rng = generator("test positions", drawing as u64, length as u64);
                let predicted = answers(model, task, scheme, &set, &mut rng, device)?;
                Ok(score(task, length, &set, &predicted))
            });
            Ok(mean(scores.collect::<Result<Vec<_>, LabError>>()?))
        })
        .collect()
}

/// The answers of a model to a test set, one after the other.
fn answers(
    model: &Model,
    task: &dyn Task,
    scheme: &Scheme,
    set: &[Sample],
    rng: &mut HostRng,
    device: &Device,
) -> Result<Vec<usize>, LabError> {
    let mut predicted = Vec::new();
    let longest = set.iter().map(|s| s.tokens.len()).max().unwrap_or(0);
    for chunk in set.chunks(chunk(longest)) {
        let batch = TensorBatch::new(chunk, task.readout(), device).at(chunk, scheme, rng)?;
        let logits: Tensor<2> =
            model.forward(batch.tokens, batch.padding, &batch.positions, batch.read);
        let classes = logits.argmax(1).into_data();
        predicted.extend(classes.iter::<i64>().map(|class| class as usize));
    }
    let count = set.iter().map(|sample| sample.answers.len()).sum::<usize>();
    match predicted.len() == count {
        true => Ok(predicted),
        false => Err(LabError::Trial(format!(
            "{} answers came back for {count} questions",
            predicted.len()
        ))),
    }
}

/// The mean of scores on one test set.
fn mean(scores: Vec<LengthScore>) -> LengthScore {
    let of = |part: &dyn Fn(&LengthScore) -> f64| {
        scores.iter().map(part).sum::<f64>() / scores.len() as f64
    };
    let (accuracy, exact) = (of(&|score| score.accuracy), of(&|score| score.exact));
    let by_position = (0..scores[0].by_position.len())
        .map(|i| of(&|score| score.by_position[i].accuracy))
        .collect::<Vec<_>>();
    let mut all = scores[0].clone();
    (all.accuracy, all.exact) = (accuracy, exact);
    for (place, accuracy) in all.by_position.iter_mut().zip(by_position) {
        place.accuracy = accuracy;
    }
    all
}

/// Compares predictions, in the order of the answers, with what is right.
fn score(task: &dyn Task, length: usize, set: &[Sample], predicted: &[usize]) -> LengthScore {
    let mut predictions = predicted.iter();
    let (mut right, mut asked, mut exact) = (0, 0, 0);
    let mut by_position: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for sample in set {
        let mut all_right = true;
        for (answer, predicted) in sample.answers.iter().zip(predictions.by_ref()) {
            let hit = answer.class == *predicted;
            let place = by_position.entry(answer.position).or_default();
            place.0 += usize::from(hit);
            place.1 += 1;
            right += usize::from(hit);
            asked += 1;
            all_right &= hit;
        }
        exact += usize::from(all_right);
    }
    let share = |part: usize, of: usize| part as f64 / of.max(1) as f64;
    let by_position = by_position
        .into_iter()
        .map(|(position, (right, asked))| PositionScore {
            position,
            accuracy: share(right, asked),
        })
        .collect();
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Reverse;

    #[test]
    fn memory_stays_bounded_and_short_sequences_go_through_as_ever() {
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
        let score = score(&Reverse, 10, &set, &predicted);
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
    fn drawings_are_averaged() {
        let set: Vec<Sample> = Reverse.test_set(10).into_iter().take(2).collect();
        let right: Vec<usize> = set
            .iter()
            .flat_map(|s| &s.answers)
            .map(|a| a.class)
            .collect();
        let mut wrong = right.clone();
        wrong[3] = (wrong[3] + 1) % 8;
        let scores = [right, wrong].map(|predicted| score(&Reverse, 10, &set, &predicted));
        let [best, other] = scores.clone();
        let both = mean(scores.to_vec());
        assert_eq!((both.accuracy, both.exact), (0.975, 0.75));
        assert_eq!((both.length, both.samples, both.floor), (10, 2, best.floor));
        let places = best.by_position.iter().zip(&other.by_position);
        for (mean, (a, b)) in both.by_position.iter().zip(places) {
            assert_eq!(mean.accuracy, (a.accuracy + b.accuracy) / 2.0);
        }
        assert_eq!(mean(vec![other.clone()]), other);
    }
}
