//! Labelled token sequences as a task: predict the label of a sequence.

use std::collections::HashMap;
use std::iter;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use super::error::Problem;
use super::limits::MAX_VOCABULARY;
use super::quote::{grouped, shorten};
use super::rows::{Row, Rows};
use super::split::{Bin, Split};
use crate::rng::{generator, permutation};
use crate::task::{Answer, Readout, Sample, Task};

/// The token that stands for every token outside of the vocabulary.
const UNKNOWN: u32 = 0;
const EPOCHS: usize = 10;
const USUAL_BATCH: usize = 64;
/// The description warns if fewer rows than this are tested.
const FEW: usize = 50;
/// The description names this many labels and counts the rest.
const NAMED: usize = 10;

/// Predict the label of a sequence, from the mean over all its tokens.
///
/// The vocabulary holds the tokens of the training rows, the most frequent first. A batch mixes lengths.
/// BOS and EOS stand around each row: without them an encoding that only sees distances could not tell a
/// row from its mirror image. Each epoch goes through all training rows in a new order.
#[derive(Debug)]
pub(super) struct Labelled {
    /// The rows, with their tokens as indices into the vocabulary.
    rows: Vec<Row>,
    classes: usize,
    /// The size of the vocabulary without BOS and EOS, which come after it.
    words: usize,
    split: Split,
    about: String,
    source: String,
    order: Mutex<Option<Order>>,
}

/// The order of the rows in one epoch at one seed. It is kept because the next batch needs it again.
#[derive(Clone, Debug)]
struct Order {
    seed: u64,
    epoch: usize,
    order: Arc<Vec<usize>>,
}

impl Labelled {
    /// The task, and a description of the data.
    ///
    /// # Errors
    ///
    /// The errors of [`Split::new`].
    pub fn new(data: Rows, file: &str) -> Result<(Self, Vec<String>), Problem> {
        let split = Split::new(&data)?;
        let (numbers, words) = vocabulary(&data, &split.train);
        let description = describe(&data, &split, &numbers, words);
        let Rows {
            mut rows, labels, ..
        } = data;
        for token in rows.iter_mut().flat_map(|row| &mut row.tokens) {
            *token = numbers[*token as usize];
        }
        let task = Self {
            about: format!(
                "your data: which of {} labels a sequence has",
                grouped(labels.len())
            ),
            source: format!("{file}, {} rows", grouped(rows.len())),
            classes: labels.len(),
            words: numbers.iter().max().map_or(1, |most| *most as usize + 1),
            rows,
            split,
            order: Mutex::new(None),
        };
        Ok((task, description))
    }

    fn bins(&self) -> impl Iterator<Item = &Bin> {
        self.split
            .inside
            .iter()
            .chain(self.split.beyond.iter().flatten())
    }

    fn sample(&self, row: usize) -> Sample {
        let row = &self.rows[row];
        Sample {
            tokens: iter::once(self.words)
                .chain(row.tokens.iter().map(|token| *token as usize))
                .chain([self.words + 1])
                .collect(),
            answers: vec![Answer {
                position: 0,
                class: row.label,
            }],
        }
    }

    /// The order in which an epoch goes through the training rows at one seed.
    fn order(&self, seed: u64, epoch: usize) -> Arc<Vec<usize>> {
        let mut kept = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.as_ref() {
            Some(kept) if (kept.seed, kept.epoch) == (seed, epoch) => kept.order.clone(),
            _ => {
                let mut rng = generator("data/train", seed, epoch as u64);
                let order = Arc::new(permutation(self.split.train.len(), &mut rng));
                *kept = Some(Order {
                    seed,
                    epoch,
                    order: order.clone(),
                });
                order
            }
        }
    }
}

/// The index in the vocabulary for every word of the data, and the number of different words in training.
/// The most frequent word of the training rows gets index 1. Of equally frequent words, the first in the
/// file comes first.
fn vocabulary(data: &Rows, train: &[usize]) -> (Vec<u32>, usize) {
    let mut counts = vec![0_usize; data.words.len()];
    for row in train {
        for token in &data.rows[*row].tokens {
            counts[*token as usize] += 1;
        }
    }
    let mut words: Vec<usize> = (0..counts.len()).filter(|word| counts[*word] > 0).collect();
    words.sort_by_key(|word| std::cmp::Reverse(counts[*word]));
    let mut numbers = vec![UNKNOWN; counts.len()];
    for (number, word) in (1..).zip(words.iter().take(MAX_VOCABULARY)) {
        numbers[*word] = number;
    }
    (numbers, words.len())
}

/// The number of rows in some bins, and how many of them have the most frequent label.
fn most_frequent(rows: &[Row], bins: &[Bin]) -> (usize, usize) {
    let mut counts = HashMap::new();
    for row in bins.iter().flat_map(|bin| &bin.rows) {
        *counts.entry(rows[*row].label).or_insert(0) += 1;
    }
    (
        counts.values().sum(),
        counts.into_values().max().unwrap_or(0),
    )
}

fn describe(data: &Rows, split: &Split, numbers: &[u32], words: usize) -> Vec<String> {
    let rows = &data.rows;
    let mut by_label = vec![0; data.labels.len()];
    for row in rows {
        by_label[row.label] += 1;
    }
    let mut labels: Vec<usize> = (0..by_label.len()).collect();
    labels.sort_by_key(|label| std::cmp::Reverse(by_label[*label]));
    let mut named: Vec<String> = labels
        .iter()
        .take(NAMED)
        .map(|label| {
            format!(
                "{} {}",
                shorten(&data.labels[*label]),
                grouped(by_label[*label])
            )
        })
        .collect();
    if labels.len() > NAMED {
        named.push(format!("and {} more", grouped(labels.len() - NAMED)));
    }

    let mut lengths: Vec<usize> = rows.iter().map(|row| row.tokens.len()).collect();
    lengths.sort_unstable();
    let (shortest, longest) = (lengths[0], lengths[lengths.len() - 1]);

    let tested = || {
        let bins = split.inside.iter().chain(split.beyond.iter().flatten());
        bins.flat_map(|bin| &bin.rows)
    };
    let tokens = || tested().flat_map(|row| &rows[*row].tokens);
    let unknown = tokens().filter(|token| numbers[**token as usize] == UNKNOWN);
    let unknown = unknown.count() as f64 / tokens().count() as f64;

    let (tested, most) = most_frequent(rows, &split.inside);

    let mut lines = vec![
        format!("{} rows of labelled sequences", grouped(rows.len())),
        format!("{} labels: {}", grouped(labels.len()), named.join(", ")),
        if shortest == longest {
            format!("all sequences have {longest} tokens")
        } else {
            format!(
                "lengths {shortest} to {longest} tokens, half of them up to {}",
                lengths[(lengths.len() - 1) / 2]
            )
        },
        format!(
            "vocabulary: {} of the {} different tokens in training; of the tokens tested, \
             {:.1} % are unknown",
            if words > MAX_VOCABULARY {
                format!("the {} most frequent", grouped(MAX_VOCABULARY))
            } else {
                "all".into()
            },
            grouped(words),
            100.0 * unknown
        ),
        format!(
            "{} rows to train on, {} held out, drawn once from each label{}",
            grouped(split.train.len()),
            grouped(split.held_out),
            match split.held_out - tested {
                0 => String::new(),
                _ => format!(", {} of them tested", grouped(tested)),
            }
        ),
        format!(
            "{} steps of {USUAL_BATCH} rows, unless --steps says otherwise: {:.1} epochs of the \
             training rows",
            grouped(steps(split.train.len())),
            (steps(split.train.len()) * USUAL_BATCH) as f64 / split.train.len() as f64
        ),
        format!(
            "tested inside the training lengths: {}",
            bins(&split.inside)
        ),
        match &split.beyond {
            Ok(beyond) => format!(
                "tested beyond the training lengths, which end at {}: {}",
                split.train_lengths.1,
                bins(beyond)
            ),
            Err(why) => format!("no test beyond the training lengths: {why}"),
        },
    ];
    if tested < FEW {
        lines.push(format!(
            "few rows: one of the {tested} held-out rows is {:.0} % of the score inside, at every seed",
            100.0 / tested as f64
        ));
    }
    if tested - most < FEW / 5 {
        lines.push(format!(
            "few rows: {} of the {} held-out rows have another label than most; one of them is {:.0} % \
             of the normalized score inside, at every seed",
            tested - most,
            grouped(tested),
            100.0 / (tested - most) as f64
        ));
    }
    if split.repeated > 0 {
        lines.push(format!(
            "rows with the sequence of an earlier one: {}; equal sequences are all in training or all \
             in the test",
            grouped(split.repeated)
        ));
    }
    if split.contradictory > 0 {
        lines.push(format!(
            "sequences under more than one label: {}; not all of their answers can be correct",
            grouped(split.contradictory)
        ));
    }
    lines
}

fn bins(bins: &[Bin]) -> String {
    let each = bins.iter().map(|bin| {
        format!(
            "{} rows of up to {} tokens",
            grouped(bin.rows.len()),
            bin.length
        )
    });
    each.collect::<Vec<_>>().join(", ")
}

impl Task for Labelled {
    fn name(&self) -> &str {
        super::limits::NAME
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn source(&self) -> &str {
        &self.source
    }

    fn vocabulary(&self) -> usize {
        self.words + self.framing()
    }

    fn classes(&self) -> usize {
        self.classes
    }

    fn readout(&self) -> Readout {
        Readout::MeanPooled
    }

    /// From the shortest row to the longest row that may be in training.
    fn train_lengths(&self) -> RangeInclusive<usize> {
        let (shortest, longest) = self.split.train_lengths;
        shortest..=longest
    }

    fn test_lengths(&self) -> Vec<usize> {
        self.bins().map(|bin| bin.length).collect()
    }

    fn mixes_lengths(&self) -> bool {
        self.bins()
            .any(|bin| self.rows[bin.rows[0]].tokens.len() < bin.length)
    }

    fn framing(&self) -> usize {
        2
    }

    fn train_batch(&self, seed: u64, step: usize, size: usize) -> Vec<Sample> {
        let train = &self.split.train;
        (step * size..(step + 1) * size)
            .map(|drawn| {
                let order = self.order(seed, drawn / train.len());
                self.sample(train[order[drawn % train.len()]])
            })
            .collect()
    }

    fn test_set(&self, length: usize) -> Vec<Sample> {
        let bin = self.bins().find(|bin| bin.length == length);
        let rows = bin.into_iter().flat_map(|bin| &bin.rows);
        rows.map(|row| self.sample(*row)).collect()
    }

    /// The share of the most frequent label among all rows tested inside the training lengths, or among
    /// all those tested beyond. The share in a single bin of lengths could be so close to 1 that one row
    /// would change the normalized score by a half.
    fn floor(&self, length: usize) -> f64 {
        let parts = [Some(&self.split.inside), self.split.beyond.as_ref().ok()];
        let mut parts = parts.into_iter().flatten();
        let part = parts.find(|part| part.iter().any(|bin| bin.length == length));
        part.map_or(0.0, |part| {
            let (tested, most) = most_frequent(&self.rows, part);
            most as f64 / tested as f64
        })
    }

    fn floor_about(&self) -> &str {
        "always the most frequent label"
    }

    fn solved_at(&self) -> Option<f64> {
        None
    }

    fn steps(&self) -> usize {
        steps(self.split.train.len())
    }
}

/// Ten epochs in batches of 64, but at least 200 steps, so that a small file gets enough training, and at
/// most 3,000, so that a large file does not take forever.
fn steps(rows: usize) -> usize {
    (rows * EPOCHS).div_ceil(USUAL_BATCH).clamp(200, 3000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(rows: Vec<(usize, Vec<u32>)>, words: usize) -> Rows {
        Rows {
            rows: rows
                .into_iter()
                .map(|(label, tokens)| Row { tokens, label })
                .collect(),
            words: (0..words).map(|word| format!("w{word}")).collect(),
            labels: vec!["no".into(), "yes".into()],
        }
    }

    #[test]
    fn the_vocabulary_is_that_of_training_by_frequency() {
        // Words 3 and 1 twice, 3 first in the file's numbering of words; 2 once; 0 in the test only.
        let rows = data(
            vec![(0, vec![1, 3]), (1, vec![2, 3, 1]), (0, vec![0, 0, 0])],
            4,
        );
        assert_eq!(vocabulary(&rows, &[0, 1]), (vec![0, 1, 3, 2], 3));
    }

    #[test]
    fn rare_words_are_one_beyond_ten_thousand() {
        let rows: Vec<_> = (0..400_u32)
            .map(|row| (row as usize % 2, (0..40).map(|i| row * 40 + i).collect()))
            .collect();
        let (task, description) = Labelled::new(data(rows, 16_000), "a.csv").unwrap();
        // And BOS and EOS.
        assert_eq!(task.vocabulary(), MAX_VOCABULARY + 3);
        assert!(
            description[3].contains("the 10,000 most frequent of the 12,800 different tokens"),
            "{description:?}"
        );
        // No word occurs twice, so none of those tested is known.
        assert!(description[3].contains("100.0 % are unknown"));
        let test = task.test_set(40);
        let (bos, eos) = (MAX_VOCABULARY + 1, MAX_VOCABULARY + 2);
        let framed = [&[bos][..], &[0; 40], &[eos]].concat();
        assert!(test.iter().all(|sample| sample.tokens == framed));
        assert_eq!((test.len(), task.floor(40)), (80, 0.5));
    }

    #[test]
    fn steps_are_ten_epochs_within_bounds() {
        let steps = |rows: u32| {
            let rows: Vec<_> = (0..rows)
                .map(|row| (row as usize % 2, vec![row, 0]))
                .collect();
            let words = rows.len();
            Labelled::new(data(rows, words), "a.csv").unwrap().0.steps()
        };
        // 80 % of the rows, ten times, by 64.
        assert_eq!([steps(100), steps(4000), steps(40_000)], [200, 500, 3000]);
    }

    #[test]
    fn an_order_that_is_kept_is_that_of_its_seed_and_epoch() {
        let rows: Vec<_> = (0..100)
            .map(|row| (row as usize % 2, vec![row, 0]))
            .collect();
        let (task, _) = Labelled::new(data(rows, 100), "a.csv").unwrap();
        let fresh = task.order(1, 0);
        assert_ne!(fresh, task.order(1, 1));
        assert_ne!(fresh, task.order(2, 0));
        assert_eq!(fresh, task.order(1, 0));
        assert_eq!(*fresh, permutation(80, &mut generator("data/train", 1, 0)));
    }
}
