//! The trait that a model takes: any scheme, whatever places of a transformer it acts at.

use burn::module::Module;

use crate::bias::{Bias, HiddenBias, ScoreBias, WeightBias};
use crate::embed::Embed;
use crate::gate::ForgetGate;
use crate::rotate::Rotate;

/// A positional scheme as a model sees it: the places of a transformer at which it acts.
///
/// Each method returns the scheme as the trait of one place, or `None` where the scheme does nothing there. A scheme may
/// act at several places; what it adds to scores through several of these traits is summed. (A type that implements
/// [`Bias`] gets [`ScoreBias`] from that, so a scheme that adds both needs two types.) All schemes of this crate
/// implement this trait, [`PositionalScheme`](crate::PositionalScheme) too, and a scheme of another crate that does can
/// be used wherever they can:
///
/// ```
/// use burn::tensor::{Device, FloatDType, Tensor};
/// use pe_burn::{Embed, Positional, PositionError, Positions};
///
/// /// Adds a ramp from 0 to 1 over the sequence.
/// struct Ramp;
///
/// impl Embed for Ramp {
///     fn try_embed(&self, x: Tensor<3>, positions: &Positions) -> Result<Tensor<3>, PositionError> {
///         let [_, seq, _] = x.dims();
///         let ramp = positions.to_tensor(seq, &x.device())? / seq as f64; // [1 or batch, seq]
///         Ok(x.clone() + ramp.unsqueeze_dim(2).cast(FloatDType::from(x.dtype())))
///     }
/// }
///
/// impl Positional for Ramp {
///     fn as_embed(&self) -> Option<&dyn Embed> {
///         Some(self)
///     }
/// }
///
/// let scheme: &dyn Positional = &Ramp;
/// let x = Tensor::<3>::zeros([2, 4, 8], &Device::flex());
/// let x = scheme.as_embed().map_or(x.clone(), |ramp| ramp.embed(x, &Positions::default()));
/// assert_eq!(x.max().into_scalar::<f32>(), 0.75);
/// assert!(scheme.as_rotate().is_none());
/// ```
pub trait Positional {
    /// What it adds to token embeddings, once before the first layer.
    fn as_embed(&self) -> Option<&dyn Embed> {
        None
    }

    /// How it rotates queries and keys, in every layer.
    fn as_rotate(&self) -> Option<&dyn Rotate> {
        None
    }

    /// What it adds to attention scores by positions alone. It is computed once for all layers.
    fn as_bias(&self) -> Option<&dyn Bias> {
        None
    }

    /// What it adds to attention scores by the content of queries and keys, in every layer.
    fn as_score_bias(&self) -> Option<&dyn ScoreBias> {
        None
    }

    /// What it adds to attention scores by the hidden states of queries and by positions, in every layer.
    fn as_hidden_bias(&self) -> Option<&dyn HiddenBias> {
        None
    }

    /// What it adds to attention weights, after the softmax, by positions alone. It is computed once for all layers.
    fn as_weight_bias(&self) -> Option<&dyn WeightBias> {
        None
    }

    /// What a token forgets of the tokens before it, by its hidden state, in every layer of causal attention.
    fn as_forget_gate(&self) -> Option<&dyn ForgetGate> {
        None
    }

    /// Whether it acts inside of the layers of a model: at any place but the embeddings.
    fn acts_in_layers(&self) -> bool {
        self.as_rotate().is_some()
            || self.as_bias().is_some()
            || self.as_score_bias().is_some()
            || self.as_hidden_bias().is_some()
            || self.as_weight_bias().is_some()
            || self.as_forget_gate().is_some()
    }
}

/// A model without positions: it sees its input as a bag of tokens.
#[derive(Module, Debug)]
pub struct NoPositions {}

impl Positional for NoPositions {}

/// Implements [`Positional`] for a module that acts at one place.
macro_rules! acts_at {
    ($module:ty, Embed) => {
        acts_at!($module, as_embed, Embed);
    };
    ($module:ty, Rotate) => {
        acts_at!($module, as_rotate, Rotate);
    };
    ($module:ty, Bias) => {
        acts_at!($module, as_bias, Bias);
    };
    ($module:ty, ScoreBias) => {
        acts_at!($module, as_score_bias, ScoreBias);
    };
    ($module:ty, HiddenBias) => {
        acts_at!($module, as_hidden_bias, HiddenBias);
    };
    ($module:ty, WeightBias) => {
        acts_at!($module, as_weight_bias, WeightBias);
    };
    // The file of the module implements it, since the module may rotate too.
    ($module:ty, ForgetGate) => {};
    ($module:ty, $method:ident, $hook:ident) => {
        impl Positional for $module {
            fn $method(&self) -> Option<&dyn $hook> {
                Some(self)
            }
        }
    };
}
pub(crate) use acts_at;
