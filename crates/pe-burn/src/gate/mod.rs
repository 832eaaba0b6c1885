//! Forget gates: how much of the earlier tokens remains after each token.

mod fox;

pub use fox::{Fox, FoxConfig, augment};

use burn::tensor::Tensor;

use crate::error::{PositionError, expect};

/// A scheme in which every token lets each head forget a part of what came before, by a gate that is computed from the
/// token's hidden state. Lin et al., [*Forgetting Transformer: Softmax Attention with a Forget
/// Gate*](https://arxiv.org/abs/2503.02130), 2025, §3 (FoX):
///
/// ```text
/// f_t = σ(w · x_t + b)                        for each head
/// score of query i and key j ≤ i:  q_i · k_j / √d_head + Σ_{t = j+1..i} ln f_t
/// ```
///
/// It is for causal attention, in which no key comes after its query. The sums are over the tokens of a row in their
/// order, whatever their positions are. [`Fox`] is the scheme of the paper, and another one may have gates of its own:
///
/// ```
/// use burn::module::Module;
/// use burn::nn::{Linear, LinearConfig};
/// use burn::tensor::activation::log_sigmoid;
/// use burn::tensor::{Device, Tensor};
/// use pe_burn::{ForgetGate, PositionError, Positional};
///
/// /// Gates from a linear layer `d_model` → `heads` for each layer of the model.
/// #[derive(Module, Debug)]
/// struct Gates {
///     layers: Vec<Linear>,
/// }
///
/// impl ForgetGate for Gates {
///     fn try_log_gates(&self, layer: usize, x: Tensor<3>) -> Result<Tensor<3>, PositionError> {
///         let linear = self.layers.get(layer).ok_or(PositionError::Config {
///             reason: format!("there are no gates for layer {layer}").into(),
///         })?;
///         Ok(log_sigmoid(linear.forward(x)).swap_dims(1, 2)) // [batch, heads, seq]
///     }
/// }
///
/// impl Positional for Gates {
///     fn as_forget_gate(&self) -> Option<&dyn ForgetGate> {
///         Some(self)
///     }
/// }
///
/// let device = Device::flex();
/// let layers = (0..2).map(|_| LinearConfig::new(64, 4).init(&device)).collect();
/// let gates = Gates { layers }.log_gates(1, Tensor::zeros([8, 100, 64], &device));
/// # assert_eq!(gates.dims(), [8, 4, 100]);
/// ```
#[doc(alias = "FoX")]
#[doc(alias = "Forgetting Transformer")]
pub trait ForgetGate {
    /// The natural logarithm of the gate of every token in every head, for one layer.
    ///
    /// # Shapes
    ///
    /// - `layer`: the index of the layer in its model, from 0
    /// - `x`: `[batch, seq, d_model]`, what the layer projects to queries, keys and values; not empty
    /// - output: `[batch, heads, seq]`, finite and at most 0, any float type
    ///
    /// # Errors
    ///
    /// [`PositionError::Width`] for another `d_model` than the module's, and whatever else the scheme cannot do, such as
    /// a layer that it has no weights for.
    fn try_log_gates(&self, layer: usize, x: Tensor<3>) -> Result<Tensor<3>, PositionError>;

    /// The panicking form of [`try_log_gates`](Self::try_log_gates).
    ///
    /// # Panics
    ///
    /// Where [`try_log_gates`](Self::try_log_gates) returns an error, with its message.
    #[track_caller]
    fn log_gates(&self, layer: usize, x: Tensor<3>) -> Tensor<3> {
        expect(self.try_log_gates(layer, x))
    }
}
