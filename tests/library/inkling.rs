//! Inkling's relative logits against their formula: `tests/peers/values/inkling.json`.

use burn::module::Param;
use burn::tensor::Tensor;
use pe_burn::content::{Inkling, InklingConfig};
use pe_burn::{HiddenBias, Positions};
use pe_encoder::EncoderConfig;
use pe_tests::devices;
use serde::Deserialize;

use crate::{assert_close, cases, distance, in_both_types, numbers, random, wide};

#[derive(Deserialize)]
struct Case {
    config: InklingConfig,
    start: usize,
    x: Vec<f64>,
    mix: Vec<f64>,
    profiles: Vec<f64>,
    weights: Vec<f64>,
    bias: Vec<f64>,
    /// Of a weighted sum of the bias, for `x`, `mix` and `profiles`.
    gradients: [Vec<f64>; 3],
}

#[test]
fn relative_logits_as_in_transformers() {
    let cases: Vec<Case> = cases(include_str!("../peers/values/inkling.json"));
    assert_eq!(cases.len(), 3);
    for (device, dtype, bound) in in_both_types(4e-6) {
        for case in &cases {
            let InklingConfig {
                d_model,
                heads,
                d_rel,
                extent,
                ..
            } = case.config;
            let queries = case.x.len() / d_model;
            let keys = case.start + queries;
            let numbers = |of: &[f64]| numbers(of, &device, dtype);
            let x = numbers(&case.x).reshape([1, queries, d_model]);
            let x = x.require_grad();
            let mut inkling: Inkling = case.config.init(&device);
            let layer = &mut inkling.layers[1];
            let mix = numbers(&case.mix).reshape([d_model, heads * d_rel]);
            layer.mix = Param::from_tensor(mix);
            let profiles = numbers(&case.profiles).reshape([d_rel, extent]);
            layer.profiles = Param::from_tensor(profiles);

            let (at, all) = (Positions::from(case.start), Positions::default());
            let bias = inkling.hidden_bias(1, (&x, &at), (&all, keys));
            let weights = numbers(&case.weights).reshape([1, heads, queries, keys]);
            let of = (bias.clone() * weights).sum().backward();
            let layer = &inkling.layers[1];
            let [of_x, of_mix, of_profiles] = &case.gradients;
            let near = |ours: Vec<f64>, theirs: &[f64], what: &str| {
                assert_close(
                    &ours,
                    theirs,
                    bound,
                    &format!("{device:?} {dtype:?} {what}"),
                );
            };
            near(wide(bias), &case.bias, "bias");
            near(wide(x.grad(&of).unwrap()), of_x, "x");
            let of_ours = |x: Tensor<2>| wide(x.grad(&of).unwrap());
            near(of_ours(layer.mix.val()), of_mix, "mix");
            near(of_ours(layer.profiles.val()), of_profiles, "profiles");
        }
    }
}

/// A decoder with it decodes from a cache as in one go, past its extent and past the room of a cache.
#[test]
fn a_decoder_with_relative_logits_decodes_as_in_one_go() {
    for device in devices() {
        let mut config = InklingConfig::new(16, 2, 2).with_extent(20);
        config.init = burn::module::Initializer::Normal {
            mean: 0.0,
            std: 0.5,
        };
        let inkling = config.init(&device);
        let decoder = EncoderConfig::new(16, 32, 2, 2).with_causal(true);
        let decoder = decoder.init(&device);
        let x = random([2, 90, 16], &device);
        let whole = decoder.forward(x.clone(), None, &inkling, &Positions::default());
        let mut caches = decoder.caches();
        let parts = [30, 1, 1, 50, 8].map(|count| {
            let part = x.clone().narrow(1, caches[0].tokens(), count);
            decoder.forward_cached(part, &inkling, &mut caches)
        });
        let decoded = Tensor::cat(parts.to_vec(), 1);
        assert!(distance(decoded, whole.clone()) < 1e-5, "{device:?}");
        let none = pe_burn::NoPositions {};
        let without = decoder.forward(x, None, &none, &Positions::default());
        assert!(distance(without, whole) > 1e-2, "{device:?}");
    }
}
