//! A pre-norm transformer encoder out of as few operations as it can have.
//!
//! What [`burn::nn::transformer::TransformerEncoder`] computes with `norm_first` and without dropout,
//! with one projection for queries, keys and values instead of three, on the operations of
//! the module `kernel`. A last norm is part of it: the residual stream of pre-norm layers
//! leaves them unnormalized.

use burn::config::Config;
use burn::module::{Initializer, Module};
use burn::nn::{LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::tensor::{Bool, Device, Tensor};

use crate::kernel::{EPSILON, attention, feed_forward, layer_norm, linear};

/// The sizes of an [`Encoder`].
///
/// Its weights and biases start at N(0, 1 / √inputs) (LeCun et al. 1998, *Efficient BackProp*).
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
}

impl EncoderConfig {
    /// The encoder.
    pub fn init(&self, device: &Device) -> Encoder {
        let norm = || {
            let norm = LayerNormConfig::new(self.d_model).with_epsilon(EPSILON);
            norm.init(device)
        };
        let linear = |inputs, outputs| {
            LinearConfig::new(inputs, outputs)
                .with_initializer(Initializer::KaimingNormal {
                    gain: 1.0,
                    fan_out_only: false,
                })
                .init(device)
        };
        let layer = |_| Layer {
            attention_norm: norm(),
            qkv: linear(self.d_model, 3 * self.d_model),
            output: linear(self.d_model, self.d_model),
            feed_forward_norm: norm(),
            inner: linear(self.d_model, self.d_ff),
            outer: linear(self.d_ff, self.d_model),
            heads: self.heads,
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
    /// Queries, keys and values, one after the other.
    qkv: Linear,
    output: Linear,
    feed_forward_norm: LayerNorm,
    inner: Linear,
    outer: Linear,
    heads: usize,
}

impl Encoder {
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`
    /// - `padding`: `[batch, seq]`, true where there is no token: nothing attends there
    /// - output: `[batch, seq, d_model]`
    pub fn forward(&self, x: Tensor<3>, padding: Option<&Tensor<2, Bool>>) -> Tensor<3> {
        if x.shape().num_elements() == 0 {
            return x; // Burn 0.22.1 reads beyond the memory of a product without rows.
        }
        let through = |x, layer: &Layer| layer.forward(x, padding);
        layer_norm(self.layers.iter().fold(x, through), &self.norm)
    }
}

impl Layer {
    fn forward(&self, x: Tensor<3>, padding: Option<&Tensor<2, Bool>>) -> Tensor<3> {
        let qkv = linear(layer_norm(x.clone(), &self.attention_norm), &self.qkv);
        let x = x + linear(attention(qkv, padding, self.heads), &self.output);
        let normed = layer_norm(x.clone(), &self.feed_forward_norm);
        x + feed_forward(normed, &self.inner, &self.outer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::module::Param;
    use burn::nn::transformer::{
        TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
    };
    use burn::tensor::{Distribution, Gradients};

    const D_MODEL: usize = 24;
    const HEADS: usize = 3;

    fn burns(device: &Device) -> TransformerEncoder {
        device.seed(7);
        TransformerEncoderConfig::new(D_MODEL, 40, HEADS, 2)
            .with_norm_first(true)
            .with_dropout(0.0)
            .init(device)
    }

    /// Our encoder with the weights of Burn's.
    fn ours(burns: &TransformerEncoder, norm: &LayerNorm) -> Encoder {
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
                qkv: side_by_side,
                output: layer.mha.output.clone(),
                feed_forward_norm: layer.norm_1.clone(),
                inner: layer.pwff.linear_inner.clone(),
                outer: layer.pwff.linear_outer.clone(),
                heads: HEADS,
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

    fn compare(device: &Device, batch: usize, seq: usize, padding: bool) {
        let burns = burns(device);
        let norm = LayerNormConfig::new(D_MODEL).init(device);
        let ours = ours(&burns, &norm);
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

        let input = TransformerEncoderInput::new(left.clone());
        let theirs = norm.forward(burns.forward(match &padding {
            Some(padding) => input.mask_pad(padding.clone()),
            None => input,
        }));
        let mine = ours.forward(right.clone(), padding.as_ref());
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
            pairs.push((side_by_side(false), gradient(&ours.qkv.weight, &mine)));
            // The gradient of the keys' biases is 0 but for rounding, so the three are one.
            pairs.push((side_by_side(true), bias(&ours.qkv, &mine)));
            for (a, b) in [
                (&burns.mha.output, &ours.output),
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
            compare(&device, batch, seq, false);
            compare(&device, batch, seq, true);
        }
    }

    #[cfg(feature = "tch")]
    #[test]
    #[allow(deprecated)] // Burn discourages LibTorch; this project still offers it.
    fn it_is_burns_encoder_on_libtorch() {
        let device = Device::libtorch().autodiff();
        for (batch, seq) in [(1, 1), (2, 5), (5, 64)] {
            compare(&device, batch, seq, false);
            compare(&device, batch, seq, true);
        }
    }

    #[test]
    fn it_is_burns_encoder_without_kernels() {
        let device = Device::flex().autodiff().gradient_checkpointing();
        compare(&device, 3, 17, false);
        compare(&device, 3, 17, true);
    }

    #[test]
    fn every_number_of_threads_gives_the_same_bits() {
        let device = Device::flex().autodiff();
        let encoder = EncoderConfig::new(D_MODEL, 40, HEADS, 2).init(&device);
        let x = Tensor::<3>::random([13, 29, D_MODEL], Distribution::Default, &device);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap().install(|| {
                let x = x.clone().require_grad();
                let y = encoder.forward(x.clone(), None);
                let gradients = (y.clone() * y.clone()).sum().backward();
                let layer = &encoder.layers[0];
                [
                    values(y),
                    values(x.grad(&gradients).unwrap()),
                    gradient(&layer.inner.weight, &gradients),
                    gradient(&layer.qkv.weight, &gradients),
                    gradient(&layer.attention_norm.gamma, &gradients),
                ]
            })
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(5));
    }

    #[test]
    fn nothing_goes_through_as_nothing() {
        let device = Device::flex();
        let encoder = EncoderConfig::new(D_MODEL, 40, HEADS, 2).init(&device);
        for shape in [[0, 4, D_MODEL], [3, 0, D_MODEL]] {
            let x = Tensor::<3>::zeros(shape, &device);
            assert_eq!(encoder.forward(x, None).dims(), shape);
        }
    }
}
