//! What attention and feed-forward networks return.

use burn::nn::Linear;
use burn::tensor::Tensor;

/// What attention or a feed-forward network adds to the stream.
pub(crate) enum Part<'a> {
    /// A tensor.
    Whole(Tensor<3>),
    /// Its last layer, which has yet to run on this input.
    Last(Tensor<3>, &'a Linear),
    /// The same of an input that is one sequence. It is divided again into as many as there are.
    #[cfg(feature = "cube")]
    OneSequence(Tensor<3>, &'a Linear, usize),
}
