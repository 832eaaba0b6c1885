//! Answers that are written token by token after a prompt.

use super::sample::{Answer, Sample, hash};

/// A sample as a decoder has it: what it reads, and what it is to write after that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompted {
    /// The tokens of the prompt.
    pub prompt: Vec<usize>,
    /// The classes of the answer in the order in which they are written, without the end.
    pub answer: Vec<usize>,
}

/// What a task says of the answers that a model writes, one class after the other.
pub trait Generation: Send + Sync {
    /// The class that ends an answer.
    fn end(&self) -> usize;

    /// The token that the model reads for a class that it has written.
    fn token(&self, class: usize) -> usize;

    /// An answer as text.
    fn text(&self, answer: &[usize]) -> String;

    /// The class of all that is outside of the vocabulary, if there is one. A model never writes it, so an answer that
    /// holds it cannot be right.
    fn unknown(&self) -> Option<usize> {
        None
    }
}

impl Prompted {
    /// The prompt and the answer in a row. At the last token of the prompt and at each token of the answer the next class
    /// of the answer is asked for; at the last token that is the end.
    pub fn sample(&self, how: &dyn Generation) -> Sample {
        let written = self.answer.iter().map(|class| how.token(*class));
        let input: Vec<usize> = self.prompt.iter().copied().chain(written).collect();
        let classes = self.answer.iter().copied().chain([how.end()]);
        let answers = (self.prompt.len().saturating_sub(1)..).zip(classes);
        let answers = answers.map(|(position, class)| Answer { position, class });
        let answers = answers.collect();
        Sample::new(input, answers)
    }

    /// The hash of a sample of the prompt alone.
    pub fn hash(&self) -> u64 {
        hash(&Sample::new(self.prompt.clone(), Vec::new()))
    }

    /// The prompt and the answer of such a sample.
    pub fn of(sample: &Sample) -> Self {
        let first = sample.answers.first().map_or(0, |answer| answer.position);
        let classes = sample.answers.iter().map(|answer| answer.class);
        let mut answer: Vec<usize> = classes.collect();
        answer.pop();
        Self {
            prompt: sample.input.tokens()[..=first].to_vec(),
            answer,
        }
    }
}
