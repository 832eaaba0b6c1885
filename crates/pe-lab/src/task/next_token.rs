//! Predict the next token of a long text: the task of a causal language model.

use std::fmt::Debug;
use std::io::{Error, ErrorKind, Result, Write};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use super::{Answer, Measure, Readout, Sample, Stream, Task, TestRows, Windows};
use crate::rng::{RngExt, generator};

/// The tested lengths as multiples of the training length.
const TIMES: [usize; 4] = [1, 2, 4, 8];
/// The most windows tested per length, and the fewest: a length with fewer is left out.
const MOST_WINDOWS: usize = 256;
const FEWEST_WINDOWS: usize = 8;
/// The shortest training window.
pub const MIN_TRAIN_LENGTH: usize = 8;
/// The most tokens of the training part that are counted for the floor.
const COUNTED: usize = 1 << 24;
const STEPS: usize = 1500;

/// What is said of a text, and how its tokens are written.
#[derive(Clone, Debug)]
pub struct About {
    /// The name of the task.
    pub name: String,
    /// One line that says what is to be predicted from what.
    pub about: String,
    /// Where the text comes from.
    pub source: String,
    /// What a token is, such as `character`.
    pub token: String,
    /// How tokens are written.
    pub alphabet: Alphabet,
}

/// How tokens are written as text.
#[derive(Clone, Debug)]
pub enum Alphabet {
    /// A character for each token; any other token is unknown.
    Characters(Vec<char>),
    /// Bytes, as UTF-8.
    Bytes,
    /// Numbers.
    Ids,
    /// As a tokenizer writes them.
    Tokenizer(Arc<dyn Decode>),
}

/// Writes tokens as text.
pub trait Decode: Debug + Send + Sync {
    /// The tokens as text.
    fn text(&self, tokens: &[usize]) -> String;
}

/// Predict the next token of a text at every position of a window, seeing only the tokens before it.
///
/// The first nine tenths of the text are for training and the rest is for the test, so no window contains
/// both. A training window starts anywhere in its part and has the training length L. A test window has 1, 2, 4
/// or 8 times L tokens. There are up to 256 test windows. They end at the same places whatever their length,
/// and only their last L / 2 tokens are scored, so every length is scored on the same tokens. There is neither
/// BOS nor EOS.
///
/// The score is in bits per token. The floor is that of a model that knows only how often each token occurs in
/// training, each counted once more than it occurs (Laplace), so that a token that never occurs has a
/// probability too.
#[derive(Debug)]
pub struct NextToken {
    about: About,
    tokens: Stream,
    /// The number of tokens for training; those after them are held out.
    train: usize,
    vocabulary: usize,
    train_length: usize,
    lengths: Vec<usize>,
    /// The lengths that the held-out part is too short for.
    left_out: Vec<usize>,
    /// Where each test window ends: the index of its last answer.
    ends: Vec<usize>,
    floor: f64,
}

/// The held-out part is too short for windows of the training length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooShort {
    /// The tokens of the text.
    pub tokens: usize,
    /// The fewest tokens that would be enough.
    pub needed: usize,
    /// The longest training length for which the tokens are enough, if there is one.
    pub longest: Option<usize>,
}

/// The fewest tokens of a text for windows of this length.
pub fn fewest_tokens(train_length: usize) -> usize {
    10 * (train_length + 1 + (FEWEST_WINDOWS - 1) * (train_length / 2))
}

impl NextToken {
    /// The task of a text whose tokens are below `vocabulary`, with windows of `train_length` tokens.
    ///
    /// # Errors
    ///
    /// When the tokens cannot be read. The inner error is that the text is too short.
    pub fn new(
        about: About,
        tokens: Stream,
        vocabulary: usize,
        train_length: usize,
    ) -> Result<std::result::Result<Self, TooShort>> {
        let all = tokens.len();
        let train = all - all / 10;
        let scored = train_length / 2;
        // How many windows of a length fit, each with targets of its own: the last answer of each is `scored` after that of
        // the one before.
        let windows = |length: usize| {
            (all / 10)
                .checked_sub(length + 1)
                .map(|left| left / scored + 1)
        };
        let fits = |length: &usize| windows(*length).is_some_and(|n| n >= FEWEST_WINDOWS);
        let (lengths, left_out): (Vec<usize>, Vec<usize>) = TIMES
            .map(|times| times * train_length)
            .into_iter()
            .partition(fits);
        let Some(longest) = lengths.last().copied() else {
            let mut shorter = (MIN_TRAIN_LENGTH..train_length).rev();
            return Ok(Err(TooShort {
                tokens: all,
                needed: fewest_tokens(train_length),
                longest: shorter.find(|length| fewest_tokens(*length) <= all),
            }));
        };
        let count = windows(longest).unwrap_or(1).min(MOST_WINDOWS);
        let (first, last) = (train + longest, all - 1);
        let ends = (0..count).map(|nth| first + nth * (last - first) / (count - 1));
        let mut task = Self {
            about,
            tokens,
            train,
            vocabulary,
            train_length,
            lengths,
            left_out,
            ends: ends.collect(),
            floor: 0.0,
        };
        task.floor = task.bits_of_frequencies()?;
        Ok(Ok(task))
    }

    /// The tokens `from..from + count`, each in the vocabulary.
    fn window(&self, from: usize, count: usize) -> Result<Vec<usize>> {
        let known = |token: u64| match usize::try_from(token) {
            Ok(token) if token < self.vocabulary => Ok(token),
            _ => Err(Error::new(
                ErrorKind::InvalidData,
                format!(
                    "there is a token {token} in a vocabulary of {}",
                    self.vocabulary
                ),
            )),
        };
        let window = self.tokens.window(from, count)?;
        window.into_iter().map(known).collect()
    }

    /// The bits per scored token of a model that knows the frequencies of tokens in training.
    fn bits_of_frequencies(&self) -> Result<f64> {
        let mut counts = vec![1_u64; self.vocabulary];
        let counted = self.train.min(COUNTED);
        const PART: usize = 1 << 16;
        for from in (0..counted).step_by(PART) {
            for token in self.window(from, PART.min(counted - from))? {
                counts[token] += 1;
            }
        }
        let all = (counted + self.vocabulary) as f64;
        let (mut bits, mut asked) = (0.0, 0);
        for end in &self.ends {
            for token in self.window(end + 1 - self.scored(), self.scored())? {
                bits -= (counts[token] as f64 / all).log2();
                asked += 1;
            }
        }
        Ok(bits / f64::from(asked))
    }

    /// What is read, trained on and tested, in lines for a person.
    pub fn describe(&self) -> Vec<String> {
        let token = &self.about.token;
        let list = |lengths: &[usize]| {
            let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
            lengths.join(", ")
        };
        let held_out = self.tokens.len() - self.train;
        let mut lines = vec![
            format!(
                "{} {token}s of text; predict the next {token}, one of {}",
                self.tokens.len(),
                self.vocabulary
            ),
            format!(
                "the first {} to train on, in windows of {}; the last {held_out} held out",
                self.train, self.train_length
            ),
            format!(
                "tested in {} windows of each of the lengths {}; scored on the last {} {token}s of each window, \
                 which are the same at every length",
                self.ends.len(),
                list(&self.lengths),
                self.scored()
            ),
        ];
        if !self.left_out.is_empty() {
            lines.push(format!(
                "not tested at {}: the held-out part is too short for {FEWEST_WINDOWS} such windows",
                list(&self.left_out)
            ));
        }
        lines.push(format!(
            "floor, what the frequencies of {token}s in training need: {:.3} bits per {token}",
            self.floor
        ));
        lines
    }

    /// How tokens are written as text.
    pub fn alphabet(&self) -> &Alphabet {
        &self.about.alphabet
    }

    /// Writes all tokens as numbers of four bytes, the lowest byte first.
    ///
    /// # Errors
    ///
    /// When the tokens cannot be read or written.
    pub fn write(&self, to: &mut impl Write) -> Result<()> {
        const PART: usize = 1 << 16;
        for from in (0..self.tokens.len()).step_by(PART) {
            for token in self
                .tokens
                .window(from, PART.min(self.tokens.len() - from))?
            {
                to.write_all(&(token as u32).to_le_bytes())?;
            }
        }
        Ok(())
    }

    /// A window of `length` tokens whose last answer is token number `end`, with an answer at each of its last
    /// `asked` positions.
    fn sample(&self, end: usize, length: usize, asked: usize) -> Sample {
        let mut read = match self.window(end - length, length + 1) {
            Ok(read) => read,
            Err(error) => panic!(
                "the tokens of {} cannot be read: {error}",
                self.about.source
            ),
        };
        let answers = (length - asked..length).map(|position| Answer {
            position,
            class: read[position + 1],
        });
        let answers = answers.collect();
        read.truncate(length);
        Sample::new(read, answers)
    }

    /// The tokens of a training window.
    pub fn train_length(&self) -> usize {
        self.train_length
    }

    /// How many of the last answers of a test window are scored. The earlier ones are there for the curve by
    /// position.
    pub fn scored(&self) -> usize {
        self.train_length / 2
    }

    /// Windows of the training length whose last `stride` answers are scored: one after the other they cover
    /// what is scored in each test window, in order. `stride` divides [`scored`](Self::scored). A smaller one
    /// gives every token more context, and costs more passes through the model.
    pub fn sliding(&self, stride: usize) -> Vec<Sample> {
        let of_end = |end: &usize| {
            let (end, first) = (*end, end - self.scored() + stride);
            (first..=end)
                .step_by(stride)
                .map(move |end| self.sample(end, self.train_length, stride))
                .collect::<Vec<_>>()
        };
        self.ends.iter().flat_map(of_end).collect()
    }

    /// The beginning of a text for the model to continue, from the held-out part.
    pub fn prompt(&self) -> Vec<usize> {
        self.sample(self.train + self.scored(), self.scored(), 1)
            .input
            .tokens()
            .to_vec()
    }

    /// Tokens as text.
    pub fn text(&self, tokens: &[usize]) -> String {
        match &self.about.alphabet {
            Alphabet::Characters(known) => {
                let written = |token: &usize| known.get(*token).copied().unwrap_or('\u{fffd}');
                tokens.iter().map(written).collect()
            }
            Alphabet::Bytes => {
                let bytes: Vec<u8> = tokens.iter().map(|token| *token as u8).collect();
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Alphabet::Ids => {
                let ids: Vec<String> = tokens.iter().map(usize::to_string).collect();
                ids.join(" ")
            }
            Alphabet::Tokenizer(tokenizer) => tokenizer.text(tokens),
        }
    }
}

impl Windows for NextToken {
    fn rows(&self) -> usize {
        self.train
    }

    fn batch_within(&self, part: Range<usize>, seed: u64, step: usize, size: usize) -> Vec<Sample> {
        let mut rng = generator("next token/train", seed, step as u64);
        let length = self.train_length;
        (0..size)
            .map(|_| {
                let end = rng.random_range(part.start + length..part.end);
                self.sample(end, length, length)
            })
            .collect()
    }
}

impl Task for NextToken {
    fn name(&self) -> &str {
        &self.about.name
    }

    fn about(&self) -> &str {
        &self.about.about
    }

    fn source(&self) -> &str {
        &self.about.source
    }

    fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    fn classes(&self) -> usize {
        self.vocabulary
    }

    fn readout(&self) -> Readout {
        Readout::PerToken
    }

    /// Windows of one text: they overlap, or end at the same places whatever their length.
    fn test_rows(&self) -> TestRows {
        TestRows::Neighbours
    }

    fn measure(&self) -> Measure {
        Measure::Bits {
            token: self.about.token.clone(),
        }
    }

    fn causal(&self) -> bool {
        true
    }

    fn language(&self) -> Option<&Self> {
        Some(self)
    }

    fn train_lengths(&self) -> RangeInclusive<usize> {
        self.train_length..=self.train_length
    }

    fn test_lengths(&self) -> Vec<usize> {
        self.lengths.clone()
    }

    fn train_batch(&self, seed: u64, step: usize, size: usize) -> Vec<Sample> {
        self.batch_within(0..self.train, seed, step, size)
    }

    fn windows(&self) -> Option<&dyn Windows> {
        Some(self)
    }

    fn test_set(&self, length: usize) -> Vec<Sample> {
        match self.lengths.contains(&length) {
            true => self
                .ends
                .iter()
                .map(|end| self.sample(*end, length, length))
                .collect(),
            false => Vec::new(),
        }
    }

    fn floor(&self, _length: usize) -> f64 {
        self.floor
    }

    fn floor_about(&self) -> &str {
        "the bits of a model that knows only how often each token occurs in training"
    }

    fn solved_at(&self) -> Option<f64> {
        None
    }

    fn steps(&self) -> usize {
        STEPS
    }
}

#[cfg(test)]
mod tests;
