//! Plain text as a task: predict the masked characters.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};

use super::describe::vocabulary;
use super::error::Problem;
use super::limits::{MAX_ALPHABET, MIN_CHARACTERS};
use super::quote::{counted, grouped};
use crate::rng::{HostRng, RngExt, generator, permutation};
use crate::task::floor::most_frequent_share;
use crate::task::{Answer, Readout, Sample, Task, TestRows, Windows};

const TRAIN_LENGTHS: RangeInclusive<usize> = 16..=64;
/// Two lengths inside and three beyond. The longest fits into the last tenth of a text with
/// [`MIN_CHARACTERS`].
const TEST_LENGTHS: [usize; 5] = [32, 64, 80, 128, 192];
/// The most windows tested per length.
const TEST_WINDOWS: usize = 512;
const MASKED_PERCENT: usize = 15;
const STEPS: usize = 1500;

/// Predict masked characters: in a window of the text, 15 % of the characters are replaced by a mask
/// token and are to be predicted (Devlin et al. 2019, arXiv:1810.04805, use the same share).
///
/// Characters are Unicode scalar values. The first nine tenths of the text are for training and the rest
/// is for the test, so no window contains both. The input is BOS, the window, EOS; only the masked
/// positions are scored. A training window starts anywhere in the text, and each batch has one length,
/// drawn from 16..=64 with equal probability. A test window has 32 or 64 characters (inside), or 80, 128
/// or 192 (beyond). There are up to 512 test windows per length, at evenly spaced starts. In a short text
/// they overlap, and there are only as many as there are different starts.
///
/// The floor is the share of the most frequent answer of a test, which is the score of the best constant
/// answer.
#[derive(Debug)]
pub(super) struct MaskedText {
    /// All characters, and how many of them are for training; those after them are held out.
    characters: Vec<u16>,
    train: usize,
    /// The number of characters in the vocabulary. After them come the unknown character, MASK, BOS and EOS.
    known: usize,
    /// The test sets, one for each of [`TEST_LENGTHS`].
    tests: Vec<Vec<Sample>>,
    source: String,
}

impl MaskedText {
    /// The task, and a description of the text. Line ends must be `\n`.
    ///
    /// # Errors
    ///
    /// [`Problem::Other`] for too few characters, if most characters of the test are not in training, or if all answers of a test
    /// are the same.
    pub fn new(text: &str, file: &str) -> Result<(Self, Vec<String>), Problem> {
        let characters = text.chars().count();
        if characters < MIN_CHARACTERS {
            return Err(Problem::Other(format!(
                "has {}, too few to train on some and test on others; it takes at least {}",
                counted(characters, "character"),
                grouped(MIN_CHARACTERS)
            )));
        }
        let read = Characters::of(text)?;
        let note = read.describe("tested");
        let Characters { known, numbers, .. } = read;
        let count = numbers.len();
        let mut task = Self {
            characters: numbers,
            train: to_train(count),
            known: known.len(),
            tests: Vec::new(),
            source: format!("{file}, {} characters", grouped(count)),
        };
        for length in TEST_LENGTHS {
            let test = task.draw_test(length);
            let mut answers = test.iter().flat_map(|sample| &sample.answers);
            let first = answers.next().map(|answer| answer.class);
            if answers.all(|answer| Some(answer.class) == first) {
                let character = first.and_then(|number| known.get(number));
                let character = character.map_or("unknown".into(), char::to_string);
                return Err(Problem::Other(format!(
                    "nothing is left to guess in the last tenth of the text, which is kept for the test: every character asked for at \
                     length {length} is {character:?}"
                )));
            }
            task.tests.push(test);
        }
        let mut description = task.describe(note);
        description.extend(first_windows(text));
        Ok((task, description))
    }

    fn held_out(&self) -> usize {
        self.characters.len() - self.train
    }

    fn describe(&self, of_vocabulary: String) -> Vec<String> {
        let windows = TEST_LENGTHS.iter().zip(&self.tests);
        let windows: Vec<String> = windows
            .map(|(length, test)| format!("{} windows of {length}", test.len()))
            .collect();
        let inside = TEST_LENGTHS
            .iter()
            .filter(|n| TRAIN_LENGTHS.contains(n))
            .count();
        vec![
            format!(
                "{} characters of plain text; {MASKED_PERCENT} % of a window are masked and to be \
                 predicted",
                grouped(self.characters.len())
            ),
            of_vocabulary,
            format!(
                "the first {} characters to train on, in windows of {} to {}; the last {} held out",
                grouped(self.train),
                TRAIN_LENGTHS.start(),
                TRAIN_LENGTHS.end(),
                grouped(self.held_out())
            ),
            format!(
                "tested inside the training lengths: {}",
                windows[..inside].join(", ")
            ),
            format!(
                "tested beyond the training lengths: {}",
                windows[inside..].join(", ")
            ),
            format!(
                "floor, the share of the most frequent masked character: {}",
                TEST_LENGTHS
                    .map(|length| format!("{:.3} at {length}", self.floor(length)))
                    .join(", ")
            ),
        ]
    }

    /// Windows of the held-out text at evenly spaced starts, each masked at random.
    fn draw_test(&self, length: usize) -> Vec<Sample> {
        let starts = self.held_out() - length + 1;
        let count = starts.min(TEST_WINDOWS);
        let mut rng = generator("data/text/test", 0, length as u64);
        (0..count)
            .map(|window| {
                let start = window * starts / count;
                self.sample(self.train + start, length, &mut rng)
            })
            .collect()
    }

    /// Masks characters of a window at random. Windows of one length have the same number of masks.
    fn sample(&self, from: usize, length: usize, rng: &mut HostRng) -> Sample {
        let window = &self.characters[from..from + length];
        let [mask, bos, eos] = [1, 2, 3].map(|nth| self.known + nth);
        let mut tokens = vec![bos];
        tokens.extend(window.iter().map(|character| usize::from(*character)));
        tokens.push(eos);
        let mut masked = permutation(length, rng);
        masked.truncate(masked_of(length));
        masked.sort_unstable();
        let answers = masked.into_iter().map(|place| Answer {
            position: place + 1,
            class: std::mem::replace(&mut tokens[place + 1], mask),
        });
        let answers = answers.collect();
        Sample::new(tokens, answers)
    }
}

/// The first windows of the text as they are read, before characters are masked.
fn first_windows(text: &str) -> impl Iterator<Item = String> {
    (1..=2).map(|number| {
        let window = text.chars().skip((number - 1) * TRAIN_LENGTHS.end());
        let window: String = window.take(*TRAIN_LENGTHS.end()).collect();
        format!("window {number} as read: BOS {window:?} EOS")
    })
}

/// How many of `length` characters are masked: 15 %, rounded, and at least one.
fn masked_of(length: usize) -> usize {
    ((length * MASKED_PERCENT + 50) / 100).max(1)
}

/// How many of so many characters are for training. The last tenth is held out.
fn to_train(characters: usize) -> usize {
    characters - characters / 10
}

/// The characters of a text as numbers.
pub(super) struct Characters {
    /// The characters in the vocabulary, in the order of their numbers. The number after them is for unknown characters.
    pub known: Vec<char>,
    /// All characters of the text.
    pub numbers: Vec<u16>,
    /// The number of different characters in training.
    found: usize,
    /// The share of the held-out characters that are unknown.
    unknown: f64,
}

impl Characters {
    /// # Errors
    ///
    /// [`Problem::Other`] if most of the held-out characters are not in training.
    pub fn of(text: &str) -> Result<Self, Problem> {
        let train = to_train(text.chars().count());
        let alphabet = alphabet(text.chars().take(train));
        let found = alphabet.len();
        let known: Vec<char> = alphabet.into_iter().take(MAX_ALPHABET).collect();
        let by_character: HashMap<char, u16> = known.iter().copied().zip(0..).collect();
        // There are at most MAX_ALPHABET of them.
        let other = known.len() as u16;
        let number = |character| by_character.get(&character).copied().unwrap_or(other);
        let numbers: Vec<u16> = text.chars().map(number).collect();
        let held_out = &numbers[train..];
        let unknown = held_out.iter().filter(|number| **number == other).count();
        let unknown = unknown as f64 / held_out.len().max(1) as f64;
        let mut held_out = text.chars().skip(train);
        if unknown > 0.5
            && let Some(example) = held_out.find(|character| number(*character) == other)
        {
            return Err(Problem::Other(format!(
                "{:.0} % of the characters of the last tenth of the text, which is kept for the test, do not occur before it, such as \
                 {example:?}; the end of the file is another text",
                100.0 * unknown
            )));
        }
        Ok(Self {
            known,
            numbers,
            found,
            unknown,
        })
    }

    /// What is said of the vocabulary. `held_out` says what becomes of the characters that are not for training.
    pub fn describe(&self, held_out: &str) -> String {
        let others = format!("characters {held_out}");
        vocabulary(
            "characters",
            self.found,
            MAX_ALPHABET,
            &others,
            self.unknown,
        )
    }
}

/// The different characters, the most frequent first. Of equally frequent ones, the first in the text comes
/// first.
fn alphabet(text: impl Iterator<Item = char>) -> Vec<char> {
    let mut counts: HashMap<char, (usize, usize)> = HashMap::new();
    for (place, character) in text.enumerate() {
        counts.entry(character).or_insert((0, place)).0 += 1;
    }
    let mut alphabet: Vec<_> = counts.into_iter().collect();
    alphabet.sort_unstable_by_key(|(_, (count, first))| (std::cmp::Reverse(*count), *first));
    alphabet
        .into_iter()
        .map(|(character, _)| character)
        .collect()
}

impl Windows for MaskedText {
    fn rows(&self) -> usize {
        self.train
    }

    fn batch_within(&self, part: Range<usize>, seed: u64, step: usize, size: usize) -> Vec<Sample> {
        let mut rng = generator("data/text/train", seed, step as u64);
        let length = rng.random_range(TRAIN_LENGTHS);
        (0..size)
            .map(|_| {
                let start = rng.random_range(part.start..=part.end - length);
                self.sample(start, length, &mut rng)
            })
            .collect()
    }
}

impl Task for MaskedText {
    fn name(&self) -> &str {
        super::limits::NAME
    }

    fn about(&self) -> &str {
        "your data: predict the masked characters of a text"
    }

    fn source(&self) -> &str {
        &self.source
    }

    fn vocabulary(&self) -> usize {
        self.known + 4
    }

    /// The characters of the vocabulary, and the unknown one.
    fn classes(&self) -> usize {
        self.known + 1
    }

    fn readout(&self) -> Readout {
        Readout::PerToken
    }

    fn train_lengths(&self) -> RangeInclusive<usize> {
        TRAIN_LENGTHS
    }

    fn test_lengths(&self) -> Vec<usize> {
        TEST_LENGTHS.to_vec()
    }

    fn framing(&self) -> usize {
        2
    }

    fn train_batch(&self, seed: u64, step: usize, size: usize) -> Vec<Sample> {
        self.batch_within(0..self.train, seed, step, size)
    }

    fn windows(&self) -> Option<&dyn Windows> {
        Some(self)
    }

    fn test_set(&self, length: usize) -> Vec<Sample> {
        let place = TEST_LENGTHS.iter().position(|tested| *tested == length);
        place.map_or_else(Vec::new, |place| self.tests[place].clone())
    }

    /// Windows of one text: they overlap, or end at the same places whatever their length.
    fn test_rows(&self) -> TestRows {
        TestRows::Neighbours
    }

    fn floor(&self, length: usize) -> f64 {
        let test = self.test_set(length);
        let answers = test.iter().flat_map(|sample| &sample.answers);
        most_frequent_share(answers.map(|answer| answer.class))
    }

    fn floor_about(&self) -> &str {
        "always the most frequent character"
    }

    fn solved_at(&self) -> Option<f64> {
        None
    }

    fn steps(&self) -> usize {
        STEPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::Says;

    fn task(text: &str) -> MaskedText {
        MaskedText::new(text, "a.txt").unwrap().0
    }

    #[test]
    fn the_alphabet_is_sorted_by_frequency_and_first_occurrence() {
        assert_eq!(alphabet("cabbac b".chars()), ['b', 'c', 'a', ' ']);
    }

    #[test]
    fn fifteen_percent_are_masked_and_at_least_one() {
        let counts = [1, 3, 10, 16, 32, 64, 80, 128, 192].map(masked_of);
        // 0.15 → 1, 0.45 → 1, 1.5 → 2, 2.4, 4.8, 9.6, 12, 19.2, 28.8
        assert_eq!(counts, [1, 1, 2, 2, 5, 10, 12, 19, 29]);
    }

    #[test]
    fn a_sample_is_a_window_with_holes_and_what_was_in_them() {
        // 0..=9 in a circle: every character says which ones stand beside it.
        let text: String = (0..3000)
            .map(|i| char::from(b'0' + (i % 10) as u8))
            .collect();
        let task = task(&text);
        assert_eq!(
            (task.known, task.vocabulary(), task.classes()),
            (10, 14, 11)
        );
        let (mask, bos, eos) = (11, 12, 13);
        let mut batches: Vec<Vec<Sample>> = (0..30).map(|i| task.train_batch(5, i, 8)).collect();
        let mut lengths: Vec<usize> = batches.iter().map(|b| b[0].input.len() - 2).collect();
        batches.extend(TEST_LENGTHS.map(|length| task.test_set(length)));
        for sample in batches.iter().flatten() {
            let mut tokens = sample.input.tokens().to_vec();
            assert_eq!((tokens[0], tokens[tokens.len() - 1]), (bos, eos));
            let holes = tokens.iter().filter(|token| **token == mask).count();
            assert_eq!(holes, masked_of(tokens.len() - 2));
            assert_eq!(holes, sample.answers.len());
            assert!(sample.answers.is_sorted_by_key(|answer| answer.position));
            for answer in &sample.answers {
                assert_eq!(tokens[answer.position], mask);
                tokens[answer.position] = answer.class;
            }
            let window = &tokens[1..tokens.len() - 1];
            assert!(window.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 10));
        }
        lengths.sort_unstable();
        lengths.dedup();
        assert!(lengths.len() > 10 && lengths[0] >= 16 && *lengths.last().unwrap() <= 64);
    }

    #[test]
    fn the_last_tenth_is_tested_and_its_new_characters_are_unknown() {
        let text = "ab".repeat(900) + &"ac".repeat(100);
        let (task, description) = MaskedText::new(&text, "a.txt").unwrap();
        assert_eq!((task.train, task.held_out()), (1800, 200));
        assert_eq!(task.known, 2);
        let (train, test) = task.characters.split_at(1800);
        assert!(train.iter().all(|character| *character < 2));
        assert_eq!(test[..4], [0, 2, 0, 2]);
        description[1].says("50.0 % are unknown");
        // As many windows as there are starts, where there are fewer than 512.
        let counts = TEST_LENGTHS.map(|length| task.test_set(length).len());
        assert_eq!(counts, [169, 137, 121, 73, 9]);
        for length in TEST_LENGTHS {
            let test = task.test_set(length);
            let answers: Vec<usize> = test
                .iter()
                .flat_map(|s| &s.answers)
                .map(|a| a.class)
                .collect();
            let a = answers.iter().filter(|class| **class == 0).count();
            let floor = a.max(answers.len() - a) as f64 / answers.len() as f64;
            assert_eq!(task.floor(length), floor);
        }
    }

    #[test]
    fn a_long_text_is_tested_from_end_to_end() {
        let text: String = (0..60_000_u32)
            .map(|i| char::from(b'a' + (i * i % 23) as u8))
            .collect();
        let task = task(&text);
        assert!(
            TEST_LENGTHS
                .iter()
                .all(|length| task.test_set(*length).len() == 512)
        );
    }

    #[test]
    fn rare_characters_share_a_token() {
        // 1,500 different characters, the first 999 of them and `a` more often than the others.
        let rare = |from: u32, to: u32| (from..to).filter_map(|i| char::from_u32(0x4e00 + i));
        let mut text: String = rare(0, 999).chain(rare(0, 1500)).collect();
        text.push_str(&"a".repeat(100));
        text.extend(rare(0, 500));
        let (task, description) = MaskedText::new(&text, "a.txt").unwrap();
        assert_eq!((task.known, task.vocabulary()), (1000, 1004));
        description[1].says("the 1,000 most frequent of the 1,501");
        let trained = &task.characters[..task.train];
        assert!(trained.iter().filter(|c| **c == 1000).count() == 501);
    }
}
