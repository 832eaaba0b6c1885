//! Dropping into Burn's own transformer, unchanged, and into an attention with all four hooks.

use burn::module::{Initializer, Module};
use burn::nn::transformer::{
    TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::module::attention;
use burn::tensor::{Device, Tensor};
use pe_burn::{Embed, PositionalConfig, PositionalScheme, Positions, Rotate};
use pe_encoder::EncoderConfig;
use pe_tests::{devices, is_card};

use crate::{distance, random, scheme, values};

const EMBEDDED: [&str; 4] = ["none", "sinusoidal", "learned", "time2vec"];
const HEADS: usize = 2;

/// What schemes that only embed need: nothing new.
fn burns(scheme: &PositionalScheme, encoder: &TransformerEncoder, x: Tensor<3>) -> Tensor<3> {
    let x = scheme.embed(x, &Positions::default());
    encoder.forward(TransformerEncoderInput::new(x))
}

/// One layer of attention that takes any scheme.
#[derive(Module, Debug)]
struct Model {
    positions: PositionalScheme,
    qkv: Linear,
    output: Linear,
}

impl Model {
    fn new(name: &str, device: &Device) -> Self {
        Self {
            positions: scheme(name, [16, HEADS, 32], device),
            qkv: LinearConfig::new(16, 48).init(device),
            output: LinearConfig::new(16, 16).init(device),
        }
    }

    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let [batch, seq, _] = x.dims();
        let positions = Positions::default();
        let x = self.positions.embed(x, &positions);
        let qkv = self.qkv.forward(x.clone());
        let [q, k, v] = [0, 16, 32].map(|from| {
            let part = qkv.clone().narrow(2, from, 16);
            part.reshape([batch, seq, HEADS, 16 / HEADS])
                .swap_dims(1, 2)
        });
        let (q, k) = self.positions.rotate(q, k, &positions);
        let bias = self
            .positions
            .score_bias((&q, &positions), (&k, &positions));
        let mut y = attention(q, k, v.clone(), None, bias, Default::default());
        if let Some(bias) = (self.positions).weight_bias((&positions, seq), (&positions, seq)) {
            y = y + bias.matmul(v);
        }
        x + self
            .output
            .forward(y.swap_dims(1, 2).reshape([batch, seq, 16]))
    }
}

/// Without positions an encoder cannot tell an order; with them it can. A bias that counts steps
/// to the left and to the right alike (FIRE does, before its threshold, and PoPE with phases of 0) sees no direction. CoPE counts
/// keys to the left alone.
#[test]
fn order_is_seen_only_with_positions() {
    for device in devices() {
        let change = |forward: &dyn Fn(Tensor<3>) -> Tensor<3>, order: &[i64]| {
            let x = random([2, 6, 16], &device);
            let order = Tensor::<1, burn::tensor::Int>::from_data(order, &device);
            let mixed = forward(x.clone().select(1, order.clone()));
            distance(forward(x).select(1, order), mixed)
        };
        let (backwards, mixed) = ([5, 4, 3, 2, 1, 0], [0, 3, 1, 5, 2, 4]);
        let encoder = TransformerEncoderConfig::new(16, 32, HEADS, 1).with_dropout(0.0);
        let encoder = encoder.init(&device);
        for name in EMBEDDED {
            let scheme = scheme(name, [16, HEADS, 32], &device);
            let change = change(&|x| burns(&scheme, &encoder, x), &backwards);
            match name {
                "none" => assert!(change < 1e-4, "{device:?}: {change}"),
                _ => assert!(change > 1e-3, "{device:?} {name}: {change}"),
            }
        }
        for name in PositionalConfig::NAMES {
            let model = Model::new(name, &device);
            let forward = |x| model.forward(x);
            let (backwards, mixed) = (change(&forward, &backwards), change(&forward, &mixed));
            let blind = |change: f32| assert!(change < 1e-4, "{device:?} {name}: {change}");
            let sees = |change: f32| assert!(change > 1e-4, "{device:?} {name}: {change}");
            match *name {
                // eRPE starts with zeros.
                "none" | "erpe" => (blind(backwards), blind(mixed)),
                "alibi" | "kerple" | "fire" | "pope" => (blind(backwards), sees(mixed)),
                _ => (sees(backwards), sees(mixed)),
            };
        }
    }
}

/// A model trains, on every device in the build, and its record loads into another.
#[test]
fn trains_and_reloads() {
    for device in devices() {
        let device = device.autodiff();
        for scheme in PositionalConfig::NAMES {
            let mut model = Model::new(scheme, &device);
            let (x, y) = (random([4, 6, 16], &device), random([4, 6, 16], &device));
            let mut optimizer = AdamConfig::new().init();
            let mut losses = vec![];
            for _ in 0..30 {
                let loss = (model.forward(x.clone()) - y.clone()).powi_scalar(2).mean();
                losses.push(values(loss.clone())[0]);
                let gradients = GradientsParams::from_grads(loss.backward(), &model);
                model = optimizer.step(1e-2, model, gradients);
            }
            assert!(
                losses[29] < 0.7 * losses[0],
                "{device:?} {scheme}: {losses:?}"
            );
            let trained = model.forward(x.clone());
            let reloaded = Model::new(scheme, &device).load_record(model.into_record());
            let bound = if is_card(&device) { 1e-6 } else { 0.0 };
            let apart = distance(reloaded.forward(x), trained);
            assert!(apart <= bound, "{device:?} {scheme}: {apart}");
        }
    }
}

/// A prompt, single tokens and several at once, past the end of a cache's room, as the whole sequence.
#[test]
fn an_encoder_decodes_as_in_one_go() {
    for device in devices() {
        let x = random([2, 110, 16], &device);
        for name in ["rotary", "alibi", "cope", "erpe"] {
            let config = PositionalConfig::by_name(name, 16, HEADS, 110).unwrap();
            let scheme = match config {
                PositionalConfig::Erpe(erpe) => {
                    let (mean, std) = (0.0, 0.3);
                    let erpe = erpe.with_init(Initializer::Normal { mean, std });
                    PositionalConfig::Erpe(erpe).init(&device)
                }
                other => other.init(&device),
            };
            let encoder = EncoderConfig::new(16, 32, HEADS, 2).with_causal(true);
            let encoder = encoder.init(&device);
            let whole = encoder.forward(x.clone(), None, &scheme, &Positions::default());
            let mut caches = encoder.caches();
            let mut from = 0;
            let parts = [60, 1, 1, 1, 1, 1, 30, 1, 14].map(|tokens| {
                let part = x.clone().narrow(1, from, tokens);
                from += tokens;
                encoder.forward_cached(part, &scheme, &mut caches)
            });
            let apart = distance(whole, Tensor::cat(parts.to_vec(), 1));
            assert!(apart < 2e-5, "{device:?} {name}: {apart}");
        }
    }
}
