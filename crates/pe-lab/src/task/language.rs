//! What a language model is asked beyond the scores of its test sets.

use super::Sample;

/// A task of predicting the next token of a text.
///
/// Each test window ends at a place that does not depend on its length, and its score is that of its last
/// tokens alone. So the windows of every length are scored on the same tokens, with more or less text before
/// them.
pub trait Language: Send + Sync {
    /// The tokens of a training window.
    fn train_length(&self) -> usize;

    /// How many of the last answers of a test window are scored. The earlier ones are there for the curve by
    /// position.
    fn scored(&self) -> usize;

    /// Windows of the training length whose last `stride` answers are scored: one after the other they cover
    /// what is scored in each test window, in order. `stride` divides [`scored`](Self::scored). A smaller one
    /// gives every token more context, and costs more passes through the model.
    fn sliding(&self, stride: usize) -> Vec<Sample>;

    /// The beginning of a text for the model to continue, from the held-out part.
    fn prompt(&self) -> Vec<usize>;

    /// Tokens as text.
    fn text(&self, tokens: &[usize]) -> String;
}
