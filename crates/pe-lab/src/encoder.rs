//! A pre-norm transformer encoder out of as few operations as it can have.
//!
//! What [`burn::nn::transformer::TransformerEncoder`] computes with `norm_first` and without dropout,
//! with one projection for queries, keys and values instead of three, on the operations of
//! the module `kernel`. A last norm is part of it: the residual stream of pre-norm layers
//! leaves them unnormalized.

use burn::config::Config;
use burn::module::Module;
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::{Bool, Device, Tensor};
use pe_burn::{PositionalScheme, Positions};

use crate::attention::{Attention, AttentionConfig, Cache, Pass, lecun};
use crate::kernel::{EPSILON, feed_forward, layer_norm};

/// The sizes of an [`Encoder`].
///
/// Its weights and biases start at N(0, 1 / √inputs), as those of an [`Attention`].
#[derive(Config, Debug)]
pub struct EncoderConfig {
    /// Numbers per token.
    pub d_model: usize,
    /// Width of the feed-forward part.
    pub d_ff: usize,
    /// Attention heads, of which `d_model` is a multiple.
    pub heads: usize,
    /// Layers.
    pub layers: usize,
    /// Whether a token attends to itself and to tokens before it only.
    #[config(default = false)]
    pub causal: bool,
}

impl EncoderConfig {
    /// The encoder.
    pub fn init(&self, device: &Device) -> Encoder {
        let norm = || {
            let norm = LayerNormConfig::new(self.d_model).with_epsilon(EPSILON);
            norm.init(device)
        };
        let attention = AttentionConfig::new(self.d_model, self.heads).with_causal(self.causal);
        let layer = |_| Layer {
            attention_norm: norm(),
            attention: attention.init(device),
            feed_forward_norm: norm(),
            inner: lecun(self.d_model, self.d_ff, device),
            outer: lecun(self.d_ff, self.d_model, device),
        };
        Encoder {
            layers: (0..self.layers).map(layer).collect(),
            norm: norm(),
        }
    }
}

/// A stack of layers and a last norm.
#[derive(Module, Debug)]
pub struct Encoder {
    layers: Vec<Layer>,
    norm: LayerNorm,
}

/// `x + attention(norm(x))`, and then `x + feed_forward(norm(x))`.
#[derive(Module, Debug)]
pub struct Layer {
    attention_norm: LayerNorm,
    attention: Attention,
    feed_forward_norm: LayerNorm,
    inner: Linear,
    outer: Linear,
}

impl Encoder {
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`, the scheme already in it where it is added to embeddings
    /// - `padding`: `[batch, seq]`, true where there is no token: nothing attends there
    /// - output: `[batch, seq, d_model]`
    ///
    /// # Panics
    ///
    /// When the scheme refuses the positions.
    pub fn forward(
        &self,
        x: Tensor<3>,
        padding: Option<&Tensor<2, Bool>>,
        scheme: &PositionalScheme,
        positions: &Positions,
    ) -> Tensor<3> {
        if x.shape().num_elements() == 0 {
            return x; // Burn 0.22.1 reads beyond the memory of a product without rows.
        }
        let pass = Pass::new(x.dims()[1], padding, scheme, positions);
        let through = |x, layer: &Layer| layer.forward(x, |at, x| at.forward(x, &pass));
        layer_norm(self.layers.iter().fold(x, through), &self.norm)
    }

    /// What decoding starts from: an empty cache for every layer.
    pub fn caches(&self) -> Vec<Cache> {
        vec![Cache::default(); self.layers.len()]
    }

    /// As [`forward`](Self::forward) of a causal encoder, for tokens behind those of the caches: at
    /// the positions from their number on.
    ///
    /// # Panics
    ///
    /// When the scheme refuses the positions, or the caches are not those of this encoder.
    pub fn forward_cached(
        &self,
        x: Tensor<3>,
        scheme: &PositionalScheme,
        caches: &mut [Cache],
    ) -> Tensor<3> {
        assert_eq!(caches.len(), self.layers.len(), "a cache for every layer");
        if x.shape().num_elements() == 0 {
            return x;
        }
        let seen = caches.first().map_or(0, Cache::tokens);
        let pass = Pass::after(seen, x.dims()[1], scheme);
        let layers = self.layers.iter().zip(caches);
        let through = |x, (layer, cache): (&Layer, &mut Cache)| {
            layer.forward(x, |at, x| at.forward_cached(x, &pass, cache))
        };
        layer_norm(layers.fold(x, through), &self.norm)
    }
}

impl Layer {
    fn forward(
        &self,
        x: Tensor<3>,
        attend: impl FnOnce(&Attention, Tensor<3>) -> Tensor<3>,
    ) -> Tensor<3> {
        let normed = layer_norm(x.clone(), &self.attention_norm);
        let x = x + attend(&self.attention, normed);
        let normed = layer_norm(x.clone(), &self.feed_forward_norm);
        x + feed_forward(normed, &self.inner, &self.outer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::module::{ModuleVisitor, Param};
    use burn::nn::attention::generate_autoregressive_mask;
    use burn::nn::transformer::{
        TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
    };
    use burn::nn::{DropoutConfig, Linear};
    use burn::tensor::{Distribution, Gradients};
    use pe_burn::PositionalConfig;

    const D_MODEL: usize = 24;
    const HEADS: usize = 3;

    fn burns(device: &Device) -> TransformerEncoder {
        device.seed(7);
        TransformerEncoderConfig::new(D_MODEL, 40, HEADS, 2)
            .with_norm_first(true)
            .with_dropout(0.0)
            .init(device)
    }

    fn no_positions(device: &Device) -> PositionalScheme {
        PositionalConfig::None {}.init(device)
    }

    /// Our encoder with the weights of Burn's.
    fn ours(burns: &TransformerEncoder, norm: &LayerNorm, causal: bool) -> Encoder {
        let layer = |layer: &burn::nn::transformer::TransformerEncoderLayer| {
            let parts = [&layer.mha.query, &layer.mha.key, &layer.mha.value];
            let side_by_side = Linear {
                weight: leaf(Tensor::cat(parts.map(|p| p.weight.val()).to_vec(), 1)),
                bias: Some(leaf(Tensor::cat(
                    parts.map(|p| p.bias.as_ref().unwrap().val()).to_vec(),
                    0,
                ))),
            };
            Layer {
                attention_norm: layer.norm_2.clone(),
                attention: Attention {
                    qkv: side_by_side,
                    output: layer.mha.output.clone(),
                    dropout: DropoutConfig::new(0.0).init(),
                    heads: HEADS,
                    causal,
                },
                feed_forward_norm: layer.norm_1.clone(),
                inner: layer.pwff.linear_inner.clone(),
                outer: layer.pwff.linear_outer.clone(),
            }
        };
        Encoder {
            layers: burns.layers.iter().map(layer).collect(),
            norm: norm.clone(),
        }
    }

    fn leaf<const D: usize>(x: Tensor<D>) -> Param<Tensor<D>> {
        Param::from_tensor(x.detach())
    }

    fn values<const D: usize>(x: Tensor<D>) -> Vec<f32> {
        x.into_data().try_to_vec().unwrap()
    }

    /// The largest difference, as a part of the largest value.
    fn difference(a: &[f32], b: &[f32]) -> f32 {
        assert_eq!(a.len(), b.len());
        let largest = a.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        let apart = a.iter().zip(b).map(|(x, y)| (x - y).abs());
        assert!(largest > 0.0);
        apart.fold(0.0, f32::max) / largest
    }

    fn gradient<const D: usize>(of: &Param<Tensor<D>>, gradients: &Gradients) -> Vec<f32> {
        values(of.val().grad(gradients).unwrap())
    }

    fn compare(device: &Device, [batch, seq]: [usize; 2], padding: bool, causal: bool) {
        let burns = burns(device);
        let norm = LayerNormConfig::new(D_MODEL).init(device);
        let ours = ours(&burns, &norm, causal);
        let x = Tensor::<3>::random([batch, seq, D_MODEL], Distribution::Default, device) - 0.3;
        let weights = Tensor::<3>::random([batch, seq, D_MODEL], Distribution::Default, device);
        let padding = padding.then(|| {
            let lengths =
                Tensor::arange(0..batch as i64, device).reshape([batch, 1]) % seq as i64 + 1;
            Tensor::arange(0..seq as i64, device)
                .reshape([1, seq])
                .expand([batch, seq])
                .greater_equal(lengths.expand([batch, seq]))
        });
        let (left, right) = (x.clone().require_grad(), x.require_grad());

        let mut input = TransformerEncoderInput::new(left.clone());
        if let Some(padding) = &padding {
            input = input.mask_pad(padding.clone());
        }
        if causal {
            input = input.mask_attn(generate_autoregressive_mask(batch, seq, device));
        }
        let theirs = norm.forward(burns.forward(input));
        let (none, positions) = (no_positions(device), Positions::default());
        let mine = ours.forward(right.clone(), padding.as_ref(), &none, &positions);
        let apart = difference(&values(theirs.clone()), &values(mine.clone()));
        assert!(apart < 2e-6, "{batch} × {seq}: outputs {apart} apart");

        let theirs = (theirs * weights.clone()).sum().backward();
        let mine = (mine * weights).sum().backward();
        let grad = |x: &Tensor<3>, gradients| values(x.grad(gradients).unwrap());
        let mut pairs = vec![(grad(&left, &theirs), grad(&right, &mine))];
        for (burns, ours) in burns.layers.iter().zip(&ours.layers) {
            let projections = [&burns.mha.query, &burns.mha.key, &burns.mha.value];
            let side_by_side = |bias: bool| -> Vec<f32> {
                let parts = projections.map(|p| match bias {
                    true => gradient(p.bias.as_ref().unwrap(), &theirs),
                    false => gradient(&p.weight, &theirs),
                });
                let rows = parts[0].len() / D_MODEL;
                (0..rows)
                    .flat_map(|row| {
                        parts
                            .iter()
                            .map(move |p| p[row * D_MODEL..][..D_MODEL].to_vec())
                    })
                    .flatten()
                    .collect()
            };
            let bias = |layer: &Linear, of| gradient(layer.bias.as_ref().unwrap(), of);
            pairs.push((
                side_by_side(false),
                gradient(&ours.attention.qkv.weight, &mine),
            ));
            // The gradient of the keys' biases is 0 but for rounding, so the three are one.
            pairs.push((side_by_side(true), bias(&ours.attention.qkv, &mine)));
            for (a, b) in [
                (&burns.mha.output, &ours.attention.output),
                (&burns.pwff.linear_inner, &ours.inner),
                (&burns.pwff.linear_outer, &ours.outer),
            ] {
                pairs.push((gradient(&a.weight, &theirs), gradient(&b.weight, &mine)));
                pairs.push((bias(a, &theirs), bias(b, &mine)));
            }
            for (a, b) in [
                (&burns.norm_1, &ours.feed_forward_norm),
                (&burns.norm_2, &ours.attention_norm),
            ] {
                pairs.push((gradient(&a.gamma, &theirs), gradient(&b.gamma, &mine)));
                let beta = |norm: &LayerNorm, of| gradient(norm.beta.as_ref().unwrap(), of);
                pairs.push((beta(a, &theirs), beta(b, &mine)));
            }
        }
        for (i, (theirs, mine)) in pairs.iter().enumerate() {
            let apart = difference(theirs, mine);
            assert!(apart < 2e-5, "{batch} × {seq}: gradient {i} {apart} apart");
        }
    }

    #[test]
    fn it_is_burns_encoder_with_kernels() {
        let device = Device::flex().autodiff();
        // One token, fewer than a vector holds, more rows than one thread takes, odd sizes.
        for (batch, seq) in [(1, 1), (2, 5), (3, 17), (5, 64), (9, 33)] {
            compare(&device, [batch, seq], false, false);
            compare(&device, [batch, seq], true, false);
            compare(&device, [batch, seq], false, true);
            compare(&device, [batch, seq], true, true);
        }
    }

    #[cfg(feature = "tch")]
    #[test]
    #[allow(deprecated)] // Burn discourages LibTorch; this project still offers it.
    fn it_is_burns_encoder_on_libtorch() {
        let device = Device::libtorch().autodiff();
        for (batch, seq) in [(1, 1), (2, 5), (5, 64)] {
            compare(&device, [batch, seq], false, false);
            compare(&device, [batch, seq], true, false);
        }
    }

    #[test]
    fn it_is_burns_encoder_without_kernels() {
        let device = Device::flex().autodiff().gradient_checkpointing();
        compare(&device, [3, 17], false, false);
        compare(&device, [3, 17], true, false);
    }

    /// Every scheme, for 3 heads of 8.
    fn schemes(device: &Device) -> impl Iterator<Item = (&'static str, PositionalScheme)> {
        PositionalConfig::NAMES.iter().map(|name| {
            let config = PositionalConfig::by_name(name, D_MODEL, HEADS, 64).unwrap();
            device.seed(5);
            (*name, config.init(device))
        })
    }

    #[test]
    fn with_kernels_every_scheme_is_what_it_is_without() {
        let device = Device::flex().autodiff();
        let kernels = EncoderConfig::new(D_MODEL, 40, HEADS, 2).init(&device);
        // Attention with dropout is Burn's own operations. This drops nothing.
        let mut plain = kernels.clone();
        for layer in &mut plain.layers {
            layer.attention.dropout = DropoutConfig::new(1e-30).init();
        }
        for (batch, seq) in [(2, 5), (3, 33)] {
            device.seed(3);
            let x = Tensor::<3>::random([batch, seq, D_MODEL], Distribution::Default, &device);
            let padding = Tensor::arange(0..seq as i64, &device)
                .reshape([1, seq])
                .greater_equal_elem(seq as i64 - 2)
                .expand([batch, seq]);
            let several = (0..batch).map(|row| 3 * row).collect::<Vec<_>>();
            for positions in [Positions::default(), Positions::from_starts(several)] {
                for padding in [None, Some(&padding)] {
                    for (name, scheme) in schemes(&device) {
                        let run = |encoder: &Encoder| {
                            let x = x.clone().require_grad();
                            let y = encoder.forward(x.clone(), padding, &scheme, &positions);
                            let gradients = (y.clone() * y.clone() * y.clone()).sum().backward();
                            let qkv = &encoder.layers[0].attention.qkv.weight;
                            let mut all = vec![
                                values(y),
                                values(x.grad(&gradients).unwrap()),
                                gradient(qkv, &gradients),
                            ];
                            // As one: some of them are 0 but for rounding.
                            let of_scheme = gradients_of(&scheme, &gradients).concat();
                            all.extend((!of_scheme.is_empty()).then_some(of_scheme));
                            all
                        };
                        let (ours, burns) = (run(&kernels), run(&plain));
                        assert_eq!(ours.len(), burns.len());
                        for (part, (ours, burns)) in ours.iter().zip(&burns).enumerate() {
                            let apart = difference(burns, ours);
                            let case = format!("{name}, {batch} × {seq}, part {part}");
                            // FIRE's bias hardly varies before it is trained, and the gradients of
                            // the scores of a query sum to 0: what reaches its parameters is what
                            // is left of larger numbers, of 30 inputs up to 4e-5 apart.
                            let bound = if name == "fire" { 1e-4 } else { 2e-5 };
                            assert!(apart < bound, "{case}: {apart} apart");
                        }
                    }
                }
            }
        }
    }

    /// The gradients of the parameters that attention sees.
    fn gradients_of(scheme: &PositionalScheme, gradients: &Gradients) -> Vec<Vec<f32>> {
        struct Found<'a>(&'a Gradients, Vec<Vec<f32>>);
        impl ModuleVisitor for Found<'_> {
            fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
                self.1.extend(param.val().grad(self.0).map(values));
            }
        }
        let mut found = Found(gradients, Vec::new());
        scheme.visit(&mut found);
        found.1
    }

    #[test]
    fn decoding_with_a_cache_is_the_causal_pass() {
        let device = Device::flex();
        device.seed(3);
        let config = EncoderConfig::new(D_MODEL, 40, HEADS, 2).with_causal(true);
        let encoder = config.init(&device);
        let x = Tensor::<3>::random([2, 19, D_MODEL], Distribution::Default, &device);
        for (name, scheme) in schemes(&device) {
            let whole = encoder.forward(x.clone(), None, &scheme, &Positions::default());
            let mut caches = encoder.caches();
            // A prompt of 7 tokens, one token at a time, and several at once.
            let mut from = 0;
            let parts = [7, 1, 1, 1, 5, 4].map(|count| {
                let part = x.clone().narrow(1, from, count);
                from += count;
                encoder.forward_cached(part, &scheme, &mut caches)
            });
            assert_eq!((from, caches[0].tokens(), caches[1].tokens()), (19, 19, 19));
            let cached = values(Tensor::cat(parts.to_vec(), 1));
            let apart = difference(&values(whole.clone()), &cached);
            assert!(apart < 2e-6, "{name}: {apart} apart");
            // What comes later makes no difference to what was before.
            let first = x.clone().narrow(1, 0, 7);
            let alone = encoder.forward(first, None, &scheme, &Positions::default());
            let apart = difference(&values(alone), &values(whole.narrow(1, 0, 7)));
            assert!(
                apart < 2e-6,
                "{name}: {apart} apart from its beginning alone"
            );
        }
    }

    #[test]
    fn every_number_of_threads_gives_the_same_bits() {
        let device = Device::flex().autodiff();
        let encoder = EncoderConfig::new(D_MODEL, 40, HEADS, 2).init(&device);
        let x = Tensor::<3>::random([13, 29, D_MODEL], Distribution::Default, &device);
        for (name, scheme) in schemes(&device) {
            let run = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                pool.unwrap().install(|| {
                    let x = x.clone().require_grad();
                    let y = encoder.forward(x.clone(), None, &scheme, &Positions::default());
                    let gradients = (y.clone() * y.clone()).sum().backward();
                    let layer = &encoder.layers[0];
                    let mut all = vec![
                        values(y),
                        values(x.grad(&gradients).unwrap()),
                        gradient(&layer.inner.weight, &gradients),
                        gradient(&layer.attention.qkv.weight, &gradients),
                        gradient(&layer.attention_norm.gamma, &gradients),
                    ];
                    all.extend(gradients_of(&scheme, &gradients));
                    all
                })
            };
            let one = run(1);
            assert_eq!(one, run(2), "{name}");
            assert_eq!(one, run(5), "{name}");
        }
    }

    #[test]
    fn nothing_goes_through_as_nothing() {
        let device = Device::flex();
        let encoder = EncoderConfig::new(D_MODEL, 40, HEADS, 2).init(&device);
        for shape in [[0, 4, D_MODEL], [3, 0, D_MODEL]] {
            let x = Tensor::<3>::zeros(shape, &device);
            let at = Positions::default();
            assert_eq!(
                encoder.forward(x, None, &no_positions(&device), &at).dims(),
                shape
            );
        }
    }
}
