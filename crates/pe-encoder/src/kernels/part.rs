//! What attention and feed-forward networks read and return.

use burn::nn::Linear;
use burn::tensor::Tensor;

use crate::norm::LayerNorm;

/// What attention or a feed-forward network reads, `[batch, seq, d_model]`.
#[derive(Clone)]
pub(crate) enum Input<'a> {
    /// A tensor.
    Whole(Tensor<3>),
    /// The normalization of a tensor, which has yet to run.
    Normalized(Tensor<3>, &'a LayerNorm),
}

impl Input<'_> {
    /// The tensor, or that of which it is the normalization. Both have the same shape.
    pub(crate) fn rows(&self) -> &Tensor<3> {
        let (Self::Whole(x) | Self::Normalized(x, _)) = self;
        x
    }
}

/// What attention or a feed-forward network adds to the residual stream.
pub(crate) enum Part<'a> {
    /// A tensor.
    Whole(Tensor<3>),
    /// The input of the last layer, and the layer, which has yet to run.
    Last(Tensor<3>, &'a Linear),
    /// As `Last`, with the whole batch as one sequence. The output is divided again into this number of sequences.
    #[cfg(feature = "cube")]
    OneSequence(Tensor<3>, &'a Linear, usize),
}

impl Part<'_> {
    /// The tensor, or the input of the last layer.
    pub(crate) fn rows(&self) -> &Tensor<3> {
        match self {
            Self::Whole(x) | Self::Last(x, _) => x,
            #[cfg(feature = "cube")]
            Self::OneSequence(x, ..) => x,
        }
    }
}

/// What is added to scores, and by what these are multiplied before.
pub(crate) struct Added {
    /// 1, unless [`Kernels::take_all_forms`](super::Kernels::take_all_forms) says that it may be another.
    pub factor: f64,
    /// `[1 or batch, heads, seq, seq]`
    pub bias: Option<Tensor<4>>,
}
