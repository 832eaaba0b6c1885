//! FoX, the forgetting transformer.

use alloc::format;
use alloc::vec::Vec;

use burn::module::{Initializer, Module};
use burn::nn::Linear;
use burn::tensor::activation::log_sigmoid;
use burn::tensor::{Device, Tensor, s};

use super::ForgetGate;
use crate::backend::memory::check_room;
use crate::bias::augment::{augment_by_sum, check_sides};
use crate::bias::table::small;
use crate::config::{config, module};
use crate::error::{PositionError, check_size, check_width, of_layer};
use crate::layout::share_of_heads;
use crate::positional::Positional;
use crate::rotate::{RotaryPositionalEncoding, RotaryPositionalEncodingConfig, Rotate};
use crate::tensor::{cast, check_device, check_linear, compute_dtype, dequantized, matrix};

config! {
    /// The configuration of a [`Fox`].
    pub struct FoxConfig {
        /// The width of a token's vector, a multiple of `heads`.
        d_model: usize,
        /// The number of heads, each of which has a gate.
        heads: usize,
        /// The number of layers of the model, each of which has gates of its own.
        layers: usize,
    }

    /// The paper's gates for `layers` layers; every option at its default.
    new;

    /// The initial weights of the gates. Default: N(0, 0.02), as in the authors' code. Their biases start at 0, so that
    /// half of what came before is forgotten at each token.
    init: Initializer = small(),
    with_init;

    /// A rotation of queries and keys in addition to the gates. Default: none, with which the paper's models are best.
    #[serde(skip_serializing_if = "Option::is_none")]
    rotary: Option<RotaryPositionalEncodingConfig> = None,
    /// Sets a rotation of queries and keys in addition to the gates. The authors' models with RoPE have a base of 500 000
    /// and the layout of [halves](crate::Layout::Halves).
    with_rotary: RotaryPositionalEncodingConfig;
}

impl FoxConfig {
    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a number that is out of bounds, such as the width of a head that the rotation is for where it is not
    /// `d_model / heads`, [`TooLarge`](PositionError::TooLarge) when the weights do not fit into
    /// memory, and the errors of the rotation's configuration.
    pub fn try_init(&self, device: &Device) -> Result<Fox, PositionError> {
        let Self { d_model, heads, .. } = *self;
        let d_head = share_of_heads("d_model", d_model, heads)?;
        check_size("d_model", d_model)?;
        check_size("layers", self.layers)?;
        check_room::<f32>(self.layers.saturating_mul(heads), d_model.saturating_add(1))?;
        let rotary = match &self.rotary {
            Some(rotary) => {
                if rotary.d_head != d_head {
                    let bound = format!("{d_head}, d_model / heads");
                    return Err(PositionError::number("rotary.d_head", rotary.d_head, bound));
                }
                Some(rotary.try_init(device)?)
            }
            None => None,
        };
        let layer = |_| Linear {
            weight: matrix(&self.init, [d_model, heads], device),
            bias: Some(Initializer::Zeros.init([heads], device)),
        };
        Ok(Fox {
            layers: (0..self.layers).map(layer).collect(),
            rotary,
            config: self.clone(),
        })
    }
}

module!(FoxConfig => Fox { d_model, heads, layers });

/// FoX, the forgetting transformer: each head forgets, at each token, a share of all that came before it. Lin et al.,
/// [*Forgetting Transformer: Softmax Attention with a Forget Gate*](https://arxiv.org/abs/2503.02130), 2025, §3:
///
/// ```text
/// f_t = σ(w · x_t + b)                        for each head of each layer
/// score of query i and key j ≤ i:  q_i · k_j / √d_head + Σ_{t = j+1..i} ln f_t
/// ```
///
/// It is for causal attention, and needs no other positions: the paper's models are best without RoPE, which can be added
/// ([`FoxConfig::with_rotary`]). Made by [`FoxConfig`]; one module serves all layers of a model.
///
/// ```
/// use burn::tensor::module::attention;
/// use burn::tensor::ops::AttentionModuleOptions;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::ForgetGate;
/// use pe_burn::gates::{FoxConfig, augment};
///
/// let device = Device::flex();
/// let fox = FoxConfig::new(512, 8, 6).init(&device); // d_model, heads, layers
/// let x = Tensor::<3>::random([2, 100, 512], Distribution::Default, &device);
/// let sums = fox.log_gates(0, x).cumsum(2); // of layer 0, up to each token: [batch, heads, seq]
///
/// let [q, k, v] = [(); 3].map(|()| Tensor::<4>::random([2, 8, 100, 64], Distribution::Default, &device));
/// let (q, k) = augment(q, k, sums)?; // or add the differences of the sums to the scores
/// let causal = AttentionModuleOptions { is_causal: true, ..Default::default() };
/// let y = attention(q, k, v, None, None, causal);
/// assert_eq!(y.dims(), [2, 8, 100, 64]);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
///
/// - **Weights.** `layers` has `fgate_proj` of every layer of the authors' code, its weight transposed: `[d_model, heads]`.
/// - **Types.** Gates are computed in the type of the weights, and in `f32` where that is half precision.
/// - **Decoding.** Store the sum up to every token together with its key, as `pe-encoder` does.
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "FoX")]
#[doc(alias = "Forgetting Transformer")]
pub struct Fox {
    /// The gates of each layer of the model, `d_model` → `heads`.
    pub layers: Vec<Linear>,
    rotary: Option<RotaryPositionalEncoding>,
    #[module(skip)]
    config: FoxConfig,
}

impl ForgetGate for Fox {
    fn try_log_gates(&self, layer: usize, x: Tensor<3>) -> Result<Tensor<3>, PositionError> {
        let [batch, seq, width] = x.dims();
        let gates = of_layer(&self.layers, layer, "gates")?;
        let FoxConfig { d_model, heads, .. } = self.config;
        check_linear("layers", gates, [d_model, heads])?;
        check_width("d_model", d_model, width)?;
        let weight = gates.weight.val();
        check_device(&x, &weight.device())?;
        let weight = dequantized(weight);
        let dtype = compute_dtype(weight.dtype().into());
        if batch * seq == 0 {
            return Ok(Tensor::zeros([batch, heads, seq], &x.device()));
        }
        let mut logits = cast(x, dtype).matmul(cast(weight, dtype).unsqueeze());
        if let Some(bias) = &gates.bias {
            logits = logits + cast(dequantized(bias.val()), dtype).unsqueeze();
        }
        Ok(log_sigmoid(logits).swap_dims(1, 2))
    }
}

impl Positional for Fox {
    fn as_rotate(&self) -> Option<&dyn Rotate> {
        let rotary = self.rotary.as_ref();
        rotary.map(|rotary| rotary as &dyn Rotate)
    }

    fn as_forget_gate(&self) -> Option<&dyn ForgetGate> {
        Some(self)
    }
}

/// Returns queries and keys with extra columns, whose products add the forget gates to the scores, so that **causal**
/// attention forgets without a bias argument. Fast attention kernels take no bias: Burn's kernel on graphics cards, for
/// one, runs only without.
///
/// ```text
/// Σ_{t = j+1..i} ln f_t = c_i − c_j = c_i · 1 + 1 · (−c_j)           c_i = Σ_{t ≤ i} ln f_t
/// ```
///
/// Keys after a query would get a bias above 0, so they must be masked. Pass the result to attention as it is, without a
/// scale of your own: attention divides by the root of the new width, and the queries are already scaled so that their
/// products with keys come out as before. Values keep their width.
///
/// # Shapes
///
/// - `q`: `[batch, heads, queries, d_head]`, the queries of the last tokens that have keys; `k`:
///   `[batch, heads, keys, d_head]`, in the float type of the queries
/// - `sums`: `[batch, heads, keys]`, what [`log_gates`](ForgetGate::log_gates) gives, summed up to each key (`cumsum(2)`), any
///   float type, but half precision has too few digits for a sum of many numbers
/// - output: as queries and keys, with the smallest width that is a multiple of 16 and at least `d_head + 2`
///   (`d_head + 4` in `f16`, `d_head + 6` in `bf16`, where a number takes several columns)
///
/// Scores differ from those with a bias by at most 2^-21 times the largest sum. In half precision the queries are rounded
/// once more. In `f16` a sum may go to −134 million divided by the root of the width. Gradients go to the sums too.
///
/// # Errors
///
/// [`PositionError::Number`] when the keys or the sums have another number of heads than the queries, when there are fewer keys
/// than queries, and when the sums are not as many as the keys; [`Width`](PositionError::Width) when the keys have another
/// `d_head`; [`Batch`](PositionError::Batch) when keys or sums have another batch size;
/// [`Config`](PositionError::Config) when the keys have another float type; [`Device`](PositionError::Device) and
/// [`Quantized`](PositionError::Quantized) as for other schemes.
pub fn augment(
    q: Tensor<4>,
    k: Tensor<4>,
    sums: Tensor<3>,
) -> Result<(Tensor<4>, Tensor<4>), PositionError> {
    let ([batch, heads, queries, _], [_, _, keys, _]) = (q.dims(), k.dims());
    check_sides(&q, &k, &q.device())?;
    check_device(&sums, &q.device())?;
    for (what, of_heads, [rows, got, _]) in [
        ("rows of keys", "the heads of the keys", first_three(&k)),
        ("rows of sums", "the heads of the sums", sums.dims()),
    ] {
        if got != heads {
            let bound = format!("{heads}, those of the queries: repeat keys that heads share");
            return Err(PositionError::number(of_heads, got, bound));
        }
        if rows != batch {
            return Err(PositionError::Batch {
                what,
                expected: batch,
                got: rows,
            });
        }
    }
    if queries > keys {
        let bound = format!("at most {keys}, the number of keys");
        return Err(PositionError::number(
            "the number of queries",
            queries,
            bound,
        ));
    }
    let of_sums = sums.dims()[2];
    if of_sums != keys {
        let bound = format!("{keys}, one for each key");
        return Err(PositionError::number("the number of sums", of_sums, bound));
    }
    let dtype = compute_dtype(q.dtype().into());
    let sums = cast(sums, dtype).unsqueeze_dim::<4>(3);
    let of_queries = sums.clone().slice(s![.., .., keys - queries.., ..]);
    Ok(augment_by_sum((q, of_queries), (k, -sums)))
}

fn first_three(x: &Tensor<4>) -> [usize; 3] {
    let [batch, heads, seq, _] = x.dims();
    [batch, heads, seq]
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_says, refusal, refused};

    use super::*;

    #[test]
    fn bad_input_is_refused_with_its_value_and_bound() {
        let device = Device::flex();
        let rotary = RotaryPositionalEncodingConfig::new(6);
        refused! {
            FoxConfig::new(8, 0, 1) => "heads must be at least 1; got 0",
            FoxConfig::new(8, 2, 0) => "layers must be at least 1; got 0",
            FoxConfig::new(0, 2, 1) => "d_model must be at least 1; got 0",
            FoxConfig::new(9, 2, 1) =>
                "d_model must be a multiple of the number of heads, 2; got 9",
            FoxConfig::new(8, 2, 1).with_rotary(rotary) =>
                "rotary.d_head must be 4, d_model / heads; got 6",
        }
        let fox = FoxConfig::new(8, 2, 3).init(&device);
        refused! {
            |bad| fox.try_log_gates(bad.0, Tensor::zeros([1, 5, bad.1], &device));
            (3, 8) => "layer must be below 3, the layers that have gates; got 3",
            (2, 9) => "… d_model 9, …",
        }
        let empty = fox.log_gates(2, Tensor::zeros([0, 5, 8], &device));
        assert_eq!(empty.dims(), [0, 2, 5]);
    }

    #[test]
    fn what_has_no_columns_is_refused() {
        let device = Device::flex();
        let x = |[batch, heads, seq, width]: [usize; 4]| {
            Tensor::<4>::zeros([batch, heads, seq, width], &device)
        };
        let of = |k: [usize; 4], sums: [usize; 3]| {
            let sums = Tensor::zeros(sums, &device);
            augment(x([2, 4, 3, 8]), x(k), sums).map(|(q, k)| (q.dims(), k.dims()))
        };
        refused! {
            |bad| of(bad.0, bad.1);
            ([2, 4, 5, 9], [2, 4, 5]) => "… d_head 9 …",
            ([2, 2, 5, 8], [2, 4, 5]) => "… the heads of the keys must be 4 …",
            ([2, 4, 5, 8], [2, 2, 5]) => "… the heads of the sums must be 4 …",
            ([1, 4, 5, 8], [2, 4, 5]) => "… rows of keys …",
            ([2, 4, 5, 8], [1, 4, 5]) => "… rows of sums …",
            ([2, 4, 2, 8], [2, 4, 2]) => "… the number of queries must be at most 2 …",
            ([2, 4, 5, 8], [2, 4, 4]) => "… the number of sums must be 5 …",
        }
        let shapes = of([2, 4, 5, 8], [2, 4, 5]).unwrap();
        assert_eq!(shapes, ([2, 4, 3, 16], [2, 4, 5, 16]));
        let of_none = augment(
            x([2, 4, 0, 8]),
            x([2, 4, 5, 8]),
            Tensor::zeros([2, 4, 5], &device),
        );
        assert_eq!(of_none.unwrap().0.dims(), [2, 4, 0, 16]);
        let half = x([2, 4, 5, 8]).cast(burn::tensor::FloatDType::F16);
        let sums = Tensor::zeros([2, 4, 5], &device);
        let result = augment(x([2, 4, 3, 8]), half, sums);
        assert_says(&refusal(result), "… one float type …");
    }
}
