//! Self-attention with any positional scheme.
//!
//! The scheme comes in at two places: it turns queries and keys, and it adds a bias to their scores.
//! What no layer changes, the bias first of all, is found out once for all of them, as a [`Pass`].

use burn::config::Config;
use burn::module::{Initializer, Module};
use burn::nn::{Dropout, DropoutConfig, Linear, LinearConfig};
use burn::tensor::{Bool, Device, Tensor};
use pe_burn::{PositionalScheme, Positions};

use crate::kernel::{attention, join, linear, mask_of_keys, split, weights};

/// The sizes of an [`Attention`].
#[derive(Config, Debug)]
pub struct AttentionConfig {
    /// Numbers per token.
    pub d_model: usize,
    /// Attention heads, of which `d_model` is a multiple.
    pub heads: usize,
    /// The share of attention weights that training drops.
    #[config(default = 0.0)]
    pub dropout: f64,
    /// Whether a token attends to itself and to tokens before it only.
    #[config(default = false)]
    pub causal: bool,
}

impl AttentionConfig {
    /// The attention. Its weights and biases start at N(0, 1 / √inputs).
    ///
    /// # Panics
    ///
    /// When the heads cannot share the width.
    pub fn init(&self, device: &Device) -> Attention {
        let Self { d_model, heads, .. } = *self;
        assert!(
            heads > 0 && d_model.is_multiple_of(heads),
            "d_model {d_model} is not a multiple of the number of heads, {heads}"
        );
        Attention {
            qkv: lecun(self.d_model, 3 * self.d_model, device),
            output: lecun(self.d_model, self.d_model, device),
            dropout: DropoutConfig::new(self.dropout).init(),
            heads: self.heads,
            causal: self.causal,
        }
    }
}

/// A projection that starts at N(0, 1 / √inputs) (LeCun et al. 1998, *Efficient BackProp*).
pub(crate) fn lecun(inputs: usize, outputs: usize, device: &Device) -> Linear {
    let init = Initializer::KaimingNormal {
        gain: 1.0,
        fan_out_only: false,
    };
    let config = LinearConfig::new(inputs, outputs).with_initializer(init);
    config.init(device)
}

/// `softmax(q kᵀ / √d_head + bias) v` in several heads between two projections, with queries and
/// keys turned and the scores biased by a scheme.
///
/// With one that does neither it computes what Burn's
/// [`MultiHeadAttention`](burn::nn::attention::MultiHeadAttention) does.
#[derive(Module, Debug)]
pub struct Attention {
    /// Queries, keys and values, one after the other.
    pub(crate) qkv: Linear,
    pub(crate) output: Linear,
    pub(crate) dropout: Dropout,
    pub(crate) heads: usize,
    pub(crate) causal: bool,
}

/// What all layers of a model have in common when tokens go through it.
pub struct Pass<'a> {
    scheme: &'a PositionalScheme,
    /// Of the tokens that go through.
    positions: Positions,
    padding: Option<&'a Tensor<2, Bool>>,
    bias: Option<Tensor<4>>,
}

impl<'a> Pass<'a> {
    /// `seq` tokens a row, at `positions`. Where `padding`, `[batch, seq]`, is true there is none:
    /// nothing attends there.
    ///
    /// # Panics
    ///
    /// When the scheme refuses the positions.
    pub fn new(
        seq: usize,
        padding: Option<&'a Tensor<2, Bool>>,
        scheme: &'a PositionalScheme,
        positions: &Positions,
    ) -> Self {
        Self {
            bias: scheme.bias((positions, seq), (positions, seq)),
            scheme,
            positions: positions.clone(),
            padding,
        }
    }

    /// `seq` more tokens a row, behind the `seen` ones of a cache.
    ///
    /// # Panics
    ///
    /// When the scheme refuses their positions.
    pub fn after(seen: usize, seq: usize, scheme: &'a PositionalScheme) -> Self {
        let (positions, all) = (Positions::from(seen), Positions::default());
        Self {
            bias: scheme.bias((&positions, seq), (&all, seen + seq)),
            scheme,
            positions,
            padding: None,
        }
    }
}

/// The keys and values of the tokens that have gone through one [`Attention`], for decoding.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    /// `[batch, heads, tokens, d_head]`, the keys turned by their positions.
    keys_and_values: Option<[Tensor<4>; 2]>,
}

impl Cache {
    /// How many tokens a row have gone through.
    pub fn tokens(&self) -> usize {
        let cached = self.keys_and_values.as_ref();
        cached.map_or(0, |[keys, _]| keys.dims()[2])
    }

    /// Adds keys and values of further tokens, and gives those of all.
    fn extend(&mut self, more: [Tensor<4>; 2]) -> [Tensor<4>; 2] {
        let all = match self.keys_and_values.take() {
            None => more,
            Some([k, v]) => {
                let [more_k, more_v] = more;
                [
                    Tensor::cat(vec![k, more_k], 2),
                    Tensor::cat(vec![v, more_v], 2),
                ]
            }
        };
        self.keys_and_values.insert(all).clone()
    }
}

impl Attention {
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`
    /// - output: as `x`
    pub fn forward(&self, x: Tensor<3>, pass: &Pass<'_>) -> Tensor<3> {
        if x.shape().num_elements() == 0 {
            return x; // Burn 0.22.1 reads beyond the memory of a product without rows.
        }
        let qkv = linear(x, &self.qkv);
        let dropping = self.dropout.prob > 0.0 && qkv.device().is_autodiff();
        let y = if self.causal || dropping {
            let [q, k, v] = self.turned(qkv, pass);
            let padding = pass.padding.map(mask_of_keys);
            self.step_by_step(q, [k, v], pass, padding, self.causal)
        } else {
            let qkv = match pass.scheme.rotates() {
                true => {
                    let d_model = qkv.dims()[2] / 3;
                    let v = qkv.clone().narrow(2, 2 * d_model, d_model);
                    let [q, k, _] = self.turned(qkv, pass);
                    Tensor::cat(vec![join(q), join(k), v], 2)
                }
                false => qkv,
            };
            attention(qkv, pass.padding, pass.bias.clone(), self.heads)
        };
        linear(y, &self.output)
    }

    /// As [`forward`](Self::forward) with a causal attention, for tokens behind those of a cache,
    /// which take their places in it. [`Pass::after`] makes the pass.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`, with the batch of the tokens before
    /// - output: as `x`
    pub fn forward_cached(&self, x: Tensor<3>, pass: &Pass<'_>, cache: &mut Cache) -> Tensor<3> {
        if x.shape().num_elements() == 0 {
            return x;
        }
        let [q, k, v] = self.turned(linear(x, &self.qkv), pass);
        let y = self.step_by_step(q, cache.extend([k, v]), pass, None, true);
        linear(y, &self.output)
    }

    /// Queries, keys and values, `[batch, heads, seq, d_head]`, where they belong.
    fn turned(&self, qkv: Tensor<3>, pass: &Pass<'_>) -> [Tensor<4>; 3] {
        let [q, k, v] = split(qkv, self.heads);
        let (q, k) = pass.scheme.rotate(q, k, &pass.positions);
        [q, k, v]
    }

    /// Attention by Burn's own operations: to any number of keys, of which the last belong to the
    /// queries.
    fn step_by_step(
        &self,
        q: Tensor<4>,
        [k, v]: [Tensor<4>; 2],
        pass: &Pass<'_>,
        padding: Option<Tensor<4, Bool>>,
        causal: bool,
    ) -> Tensor<3> {
        let ([_, _, queries, _], [_, _, keys, _]) = (q.dims(), k.dims());
        let later = causal.then(|| {
            let before = (keys - queries) as i64;
            Tensor::<2, Bool>::tril_mask([queries, keys], before, &q.device())
                .reshape([1, 1, queries, keys])
        });
        let masks = padding.into_iter().chain(later);
        let weights = weights(q, k, pass.bias.clone(), masks);
        join(self.dropout.forward(weights).matmul(v))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::module::Param;
    use burn::nn::attention::{MhaInput, MultiHeadAttention, MultiHeadAttentionConfig};
    use burn::tensor::Distribution;
    use pe_burn::PositionalConfig;

    const D_MODEL: usize = 24;
    const HEADS: usize = 3;

    fn values(x: Tensor<3>) -> Vec<f32> {
        x.into_data().try_to_vec().unwrap()
    }

    fn apart_of(a: &[f32], b: &[f32]) -> f32 {
        assert_eq!(a.len(), b.len());
        let apart = a.iter().zip(b).map(|(x, y)| (x - y).abs());
        apart.fold(0.0, f32::max)
    }

    /// Burn's attention with our weights.
    fn burns(ours: &Attention, device: &Device) -> MultiHeadAttention {
        let mut burns = MultiHeadAttentionConfig::new(D_MODEL, HEADS).init(device);
        let bias = ours.qkv.bias.as_ref().unwrap().val();
        let parts = [&mut burns.query, &mut burns.key, &mut burns.value];
        for (which, part) in parts.into_iter().enumerate() {
            let from = which * D_MODEL;
            let weight = ours.qkv.weight.val().narrow(1, from, D_MODEL);
            part.weight = Param::from_tensor(weight);
            part.bias = Some(Param::from_tensor(bias.clone().narrow(0, from, D_MODEL)));
        }
        burns.output = ours.output.clone();
        burns
    }

    #[test]
    fn without_positions_it_is_burns_attention() {
        let device = Device::flex();
        let ours = AttentionConfig::new(D_MODEL, HEADS).init(&device);
        let burns = burns(&ours, &device);
        let x = Tensor::random([4, 33, D_MODEL], Distribution::Default, &device);
        let none = PositionalConfig::None {}.init(&device);
        let pass = Pass::new(33, None, &none, &Positions::default());
        let theirs = burns.forward(MhaInput::self_attn(x.clone())).context;
        let apart = apart_of(&values(theirs), &values(ours.forward(x, &pass)));
        assert!(apart < 2e-6, "{apart}");
    }

    #[test]
    fn dropout_is_for_training() {
        let device = Device::flex().autodiff();
        let without = AttentionConfig::new(D_MODEL, HEADS).init(&device);
        let mut with = without.clone();
        with.dropout = DropoutConfig::new(0.5).init();
        let x = Tensor::random([2, 9, D_MODEL], Distribution::Default, &device);
        let scheme = PositionalConfig::by_name("alibi", D_MODEL, HEADS, 9);
        let scheme = scheme.unwrap().init(&device);
        let pass = Pass::new(9, None, &scheme, &Positions::default());
        let expected = values(without.forward(x.clone(), &pass));
        let dropped = values(with.forward(x.clone(), &pass));
        assert!(apart_of(&dropped, &expected) > 0.01);

        let plain = Device::flex();
        let (with, x) = (with.valid(), Tensor::from_data(x.into_data(), &plain));
        let scheme = scheme.valid();
        let pass = Pass::new(9, None, &scheme, &Positions::default());
        let tested = values(with.forward(x, &pass));
        assert!(apart_of(&tested, &expected) < 2e-6);
    }
}
