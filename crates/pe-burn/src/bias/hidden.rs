//! What is added to attention scores, computed from the hidden states of a layer.

use burn::tensor::Tensor;

use crate::error::{PositionError, expect};
use crate::positions::{Positions, Tokens};

/// A scheme that adds to attention scores a bias that is computed from the hidden state of the query and from positions,
/// as Inkling does ([`Inkling`](crate::content::Inkling)). It is computed in each layer.
pub trait HiddenBias {
    /// What is added to the score of every query and key, in one layer.
    ///
    /// # Shapes
    ///
    /// - `layer`: the index of the layer in its model, from 0
    /// - queries: `[batch, queries, d_model]`, what the layer projects to queries, and their positions
    /// - keys: their positions, and how many they are
    /// - output: `[batch, heads, queries, keys]` in the type of the queries, to be added to `q · k / √d_head`
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a layer that the scheme has no weights for, [`Width`](PositionError::Width) for another
    /// `d_model` than the module's, [`Config`](PositionError::Config) for a parameter of another shape than the module's, and those of [`ScoreBias::try_score_bias`](crate::ScoreBias::try_score_bias).
    fn try_hidden_bias(
        &self,
        layer: usize,
        queries: (&Tensor<3>, &Positions),
        keys: Tokens,
    ) -> Result<Tensor<4>, PositionError>;

    /// The panicking form of [`try_hidden_bias`](Self::try_hidden_bias).
    ///
    /// # Panics
    ///
    /// Where [`try_hidden_bias`](Self::try_hidden_bias) returns an error, with its message.
    #[track_caller]
    fn hidden_bias(
        &self,
        layer: usize,
        queries: (&Tensor<3>, &Positions),
        keys: Tokens,
    ) -> Tensor<4> {
        expect(self.try_hidden_bias(layer, queries, keys))
    }
}
