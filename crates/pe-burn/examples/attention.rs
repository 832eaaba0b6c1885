//! One attention layer that takes every scheme that has a name, read at once and token by token.
//!
//! Burn's module `MultiHeadAttention` has no place for a rotation or a bias, so a model that wants more than
//! embeddings writes these fifty lines. The scheme enters at the four
//! numbered calls, and nowhere else.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::module::attention;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Device, Distribution, Tensor};
use pe_burn::{Embed, PositionalConfig, PositionalScheme, Positions, Rotate};

const D_MODEL: usize = 64;
const HEADS: usize = 4;
const D_HEAD: usize = D_MODEL / HEADS;

#[derive(Module, Debug)]
struct Attention {
    positions: PositionalScheme,
    qkv: Linear,
    output: Linear,
}

/// Keys and values of the tokens so far, `[batch, heads, tokens, d_head]`.
#[derive(Default)]
struct Cache(Option<(Tensor<4>, Tensor<4>)>);

impl Attention {
    fn new(scheme: &str, device: &Device) -> Self {
        let scheme = PositionalConfig::by_name(scheme, D_MODEL, HEADS, 512).expect("a known name");
        Self {
            positions: scheme.init(device),
            qkv: LinearConfig::new(D_MODEL, 3 * D_MODEL).init(device),
            output: LinearConfig::new(D_MODEL, D_MODEL).init(device),
        }
    }

    /// Causal attention of the next tokens, `[batch, seq, d_model]`, to those of the cache and to
    /// each other.
    fn forward(&self, x: Tensor<3>, cache: &mut Cache) -> Tensor<3> {
        let [batch, seq, _] = x.dims();
        let past = cache.0.as_ref().map_or(0, |(keys, _)| keys.dims()[2]);
        let positions = Positions::from(past);

        let x = self.positions.embed(x, &positions); // 1
        let qkv = self.qkv.forward(x);
        let [q, k, v] = [0, D_MODEL, 2 * D_MODEL].map(|from| {
            let part = qkv.clone().narrow(2, from, D_MODEL);
            part.reshape([batch, seq, HEADS, D_HEAD]).swap_dims(1, 2)
        });
        let (q, k) = self.positions.rotate(q, k, &positions); // 2
        // The simplest cache: it copies all keys at every token. That of `pe-encoder` has room for more.
        let (k, v) = match cache.0.take() {
            Some((keys, values)) => (
                Tensor::cat(vec![keys, k], 2),
                Tensor::cat(vec![values, v], 2),
            ),
            None => (k, v),
        };
        cache.0 = Some((k.clone(), v.clone()));
        let all = Positions::default();
        let bias = self.positions.score_bias((&q, &positions), (&k, &all)); // 3

        let future = Tensor::<2>::ones([seq, past + seq], &q.device()).triu(past as i64 + 1);
        let mask = future.bool().expand([batch, HEADS, seq, past + seq]);
        let added = self
            .positions
            .weight_bias((&positions, seq), (&all, past + seq)); // 4
        let options = AttentionModuleOptions {
            // Not by the root of the width of `q`: PoPE makes queries and keys wider.
            scale: Some(1.0 / (D_HEAD as f64).sqrt()),
            ..Default::default()
        };
        let mut y = attention(q, k, v.clone(), Some(mask.clone()), bias, options);
        if let Some(added) = added {
            y = y + added.mask_fill(mask.narrow(0, 0, 1), 0.0).matmul(v);
        }
        let y = y.swap_dims(1, 2).reshape([batch, seq, D_MODEL]);
        self.output.forward(y)
    }
}

fn main() {
    let device = Device::flex();
    device.seed(0);
    let x = Tensor::<3>::random([2, 20, D_MODEL], Distribution::Normal(0.0, 1.0), &device);
    println!("scheme        read at once and token by token, the outputs differ by");
    for name in PositionalConfig::NAMES {
        let layer = Attention::new(name, &device);
        let at_once = layer.forward(x.clone(), &mut Cache::default());
        let mut cache = Cache::default();
        let tokens = (0..20).map(|i| layer.forward(x.clone().narrow(1, i, 1), &mut cache));
        let one_by_one = Tensor::cat(tokens.collect(), 1);
        let apart = (at_once - one_by_one).abs().max().into_scalar::<f32>();
        println!("{name:12}  {apart:.1e}");
        assert!(apart < 1e-5, "only by rounding");
    }
}
