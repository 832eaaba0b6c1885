//! What a model reads: tokens of a vocabulary, or vectors of numbers.

/// One sequence as a model reads it.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Tokens, each an index into the vocabulary of the task.
    Tokens(Vec<usize>),
    /// Vectors, such as the patches of an image or the values of a series.
    Vectors {
        /// How many numbers a vector has: [`Task::vector_width`](super::Task::vector_width).
        width: usize,
        /// The numbers, vector by vector.
        values: Vec<f32>,
    },
}

impl Input {
    /// The number of tokens or of vectors.
    pub fn len(&self) -> usize {
        match self {
            Self::Tokens(tokens) => tokens.len(),
            Self::Vectors { width, values } => values.len() / (*width).max(1),
        }
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tokens.
    ///
    /// # Panics
    ///
    /// For vectors.
    #[track_caller]
    pub fn tokens(&self) -> &[usize] {
        match self {
            Self::Tokens(tokens) => tokens,
            Self::Vectors { .. } => panic!("this input is made of vectors, not of tokens"),
        }
    }
}

impl From<Vec<usize>> for Input {
    fn from(tokens: Vec<usize>) -> Self {
        Self::Tokens(tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_vectors_are_counted() {
        let tokens = Input::from(vec![3, 1, 4]);
        assert_eq!((tokens.len(), tokens.tokens()), (3, &[3, 1, 4][..]));
        let vectors = |width, numbers| Input::Vectors {
            width,
            values: vec![0.5; numbers],
        };
        assert_eq!((vectors(4, 12).len(), vectors(1, 12).len()), (3, 12));
        assert!(vectors(4, 0).is_empty() && !vectors(4, 4).is_empty());
    }

    #[test]
    #[should_panic(expected = "made of vectors")]
    fn vectors_have_no_tokens() {
        let width = 1;
        let values = vec![0.5];
        let _ = Input::Vectors { width, values }.tokens();
    }
}
