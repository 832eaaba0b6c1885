use super::*;
use burn::module::{ModuleVisitor, Param, ParamGroup, Quantizer};
use burn::nn::LayerNormConfig;
use burn::nn::activation::ActivationConfig;
use burn::nn::attention::generate_autoregressive_mask;
use burn::nn::transformer::{
    TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput, TransformerEncoderLayer,
};
use burn::tensor::quantization::{Calibration, QuantValue};
use burn::tensor::{Distribution, Gradients};
use pe_burn::{PositionalConfig, PositionalScheme};

use crate::testing::{difference, padding_of_rows, random, refused, values};

mod burns;

const D_MODEL: usize = 24;
const HEADS: usize = 3;

fn config() -> EncoderConfig {
    EncoderConfig::new(D_MODEL, 40, HEADS, 2)
}

fn no_positions(device: &Device) -> PositionalScheme {
    PositionalConfig::None {}.init(device)
}

fn leaf<const D: usize>(x: Tensor<D>) -> Param<Tensor<D>> {
    Param::from_tensor(x.detach())
}

fn gradient<const D: usize>(of: &Param<Tensor<D>>, gradients: &Gradients) -> Vec<f32> {
    values(of.val().grad(gradients).unwrap())
}

/// The generator belongs to the whole process, so which elements are dropped is not looked at here.
#[test]
fn dropout_changes_the_output_in_training_alone() {
    let training = Device::flex().autodiff();
    let dropping = config().with_dropout(0.5).init(&training);
    let plain = Encoder {
        dropout: DropoutConfig::new(0.0).init(),
        ..dropping.clone()
    };
    let x = Tensor::<3>::random([2, 5, D_MODEL], Distribution::Default, &training);
    let none = no_positions(&training);
    let run = |encoder: &Encoder, x: &Tensor<3>| {
        values(encoder.forward(x.clone(), None, &none, &Positions::default()))
    };
    let without = run(&plain, &x);
    assert_ne!(run(&dropping, &x), without);
    let x = x.without_autodiff();
    assert_eq!(run(&dropping.valid(), &x), without);
}

/// Kernels take no quantized weights: Burn's operations run them, for normalizations before and after.
#[test]
fn quantized_weights_are_taken() {
    let device = Device::flex();
    for norm in [Norm::Pre, Norm::Post] {
        let encoder = config().with_norm(norm).init(&device);
        let x = random([2, 5, D_MODEL], &device);
        let none = no_positions(&device);
        let run = |encoder: &Encoder| {
            values(encoder.forward(x.clone(), None, &none, &Positions::default()))
        };
        let scheme = device.settings().quantization.scheme;
        let scheme = scheme.with_value(QuantValue::Q8S);
        let quantizer = || Quantizer::new(Calibration::MinMax, scheme);
        let all = encoder.clone().quantize_weights(&mut quantizer());
        let inner = ParamGroup::from_path("layers.0.inner.weight");
        let one = encoder
            .clone()
            .quantize_weights_group(&mut quantizer(), inner);
        let expected = run(&encoder);
        for (quantized, bound) in [(all, 0.1), (one, 0.02)] {
            let apart = difference(&expected, &run(&quantized));
            assert!(apart > 0.0 && apart < bound, "{apart}");
        }
    }
}

#[test]
fn settings_out_of_bounds_are_refused() {
    let kinds = vec![LayerKind::new(); 3];
    for (config, words) in [
        (
            config().with_dropout(1.0),
            "dropout is 1; it must be at least 0 and below 1",
        ),
        (
            config().with_epsilon(f64::NAN),
            "epsilon is NaN; it must be finite and above 0",
        ),
        (
            EncoderConfig::new(8, 0, 2, 1),
            "d_ff is 0; it must be at least 1",
        ),
        (config().with_kinds(kinds), "3 kinds of layers for 2 layers"),
    ] {
        let said = refused(|| config.init(&Device::flex()));
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn the_switch_reaches_every_layer() {
    let device = Device::flex();
    let on = config().init(&device);
    for encoder in [
        on.clone().with_kernels(Kernels::Off),
        config().with_kernels(Kernels::Off).init(&device),
    ] {
        assert_eq!(encoder.kernels, Kernels::Off);
        for layer in &encoder.layers {
            assert_eq!(layer.attention.kernels, Kernels::Off);
        }
    }
    assert_eq!(on.kernels, Kernels::Auto);
}

/// A record is read by these names, so they must not change.
#[test]
fn parameters_have_the_names_that_records_use() {
    #[derive(Default)]
    struct Names {
        path: Vec<String>,
        found: Vec<String>,
    }
    impl ModuleVisitor for Names {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.path.push(name.to_string());
        }
        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.pop();
        }
        fn visit_float<const D: usize>(&mut self, _: &Param<Tensor<D>>) {
            self.found.push(self.path.join("."));
        }
    }
    let encoder = EncoderConfig::new(8, 16, 2, 1).init(&Device::flex());
    let mut names = Names::default();
    encoder.visit(&mut names);
    assert_eq!(
        names.found,
        [
            "layers.0.attention_norm.gamma",
            "layers.0.attention_norm.beta",
            "layers.0.attention.qkv.weight",
            "layers.0.attention.qkv.bias",
            "layers.0.attention.output.weight",
            "layers.0.attention.output.bias",
            "layers.0.feed_forward_norm.gamma",
            "layers.0.feed_forward_norm.beta",
            "layers.0.inner.weight",
            "layers.0.inner.bias",
            "layers.0.outer.weight",
            "layers.0.outer.bias",
            "norm.gamma",
            "norm.beta",
        ]
    );
}

/// Every scheme, for heads of width 8.
fn schemes(device: &Device) -> impl Iterator<Item = (&'static str, PositionalScheme)> {
    PositionalConfig::NAMES.iter().map(|name| {
        let config = PositionalConfig::by_name(name, D_MODEL, HEADS, 64).unwrap();
        device.seed(5);
        let mut scheme = config.init(device);
        // It starts with zeros, which do nothing.
        if let PositionalScheme::Erpe(erpe) = &mut scheme {
            erpe.table = leaf(erpe.table.val().random_like(Distribution::Default));
        }
        (*name, scheme)
    })
}

#[test]
fn every_scheme_gives_the_same_with_kernels_and_without() {
    same_with_kernels_and_without(config());
}

/// A layer with positions and a window of three tokens, and one without positions that is global.
fn local_then_global() -> EncoderConfig {
    let local = LayerKind::new().with_window(Some(3));
    config().with_kinds(vec![local, LayerKind::new().with_positions(false)])
}

#[test]
fn layers_that_differ_give_the_same_with_kernels_and_without() {
    same_with_kernels_and_without(local_then_global());
}

fn same_with_kernels_and_without(config: EncoderConfig) {
    let device = Device::flex().autodiff();
    let kernels = config.init(&device);
    let plain = kernels.clone().with_kernels(Kernels::Off);
    for [batch, seq] in [[2, 5], [3, 33]] {
        device.seed(3);
        let x = Tensor::<3>::random([batch, seq, D_MODEL], Distribution::Default, &device);
        let padding = Tensor::arange(0..seq as i64, &device)
            .reshape([1, seq])
            .greater_equal_elem(seq as i64 - 2)
            .expand([batch, seq]);
        let starts = (0..batch).map(|row| 3 * row).collect::<Vec<_>>();
        for positions in [Positions::default(), Positions::from_starts(starts)] {
            for padding in [None, Some(&padding)] {
                for (name, scheme) in schemes(&device) {
                    let scheme = well_conditioned(scheme);
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
                        // Together, because some of them are 0 but for rounding.
                        let of_scheme = gradients_of_scheme(&scheme, &gradients).concat();
                        all.extend((!of_scheme.is_empty()).then_some(of_scheme));
                        all
                    };
                    let (with, without) = (run(&kernels), run(&plain));
                    assert_eq!(with.len(), without.len());
                    for (part, (with, without)) in with.iter().zip(&without).enumerate() {
                        let apart = difference(without, with);
                        let case = format!("{name}, {batch} × {seq}, part {part}");
                        // FIRE's gradients were up to 3e-5 apart in 200 inputs that were tried.
                        let bound = if name == "fire" { 1e-4 } else { 2e-5 };
                        assert!(apart < bound, "{case}: {apart} apart");
                    }
                }
            }
        }
    }
}

/// The output at each of nine tokens when one token of the input is another, and whether it changed.
fn changed(encoder: &Encoder, scheme: &PositionalScheme, token: usize) -> Vec<usize> {
    let device = Device::flex();
    let x = Tensor::<3>::random([1, 9, D_MODEL], Distribution::Default, &device);
    let other = x
        .clone()
        .slice_fill([0..1, token..token + 1, 0..D_MODEL], 0.5);
    let run = |x| values(encoder.forward(x, None, scheme, &Positions::default()));
    let (before, after) = (run(x), run(other));
    let rows = before.chunks(D_MODEL).zip(after.chunks(D_MODEL));
    let differs = rows.enumerate().filter(|(_, (a, b))| a != b);
    differs.map(|(row, _)| row).collect()
}

#[test]
fn a_window_bounds_what_a_token_sees() {
    let device = Device::flex();
    // The second adds to weights after the softmax, at the keys of the window alone.
    let erpe = schemes(&device).find(|(name, _)| *name == "erpe");
    for scheme in [no_positions(&device), erpe.expect("it has a name").1] {
        for kernels in [Kernels::Auto, Kernels::Off] {
            for causal in [false, true] {
                let of = |windows: [Option<usize>; 2]| {
                    let kinds = windows.map(|window| LayerKind::new().with_window(window));
                    let config = config().with_causal(causal).with_kernels(kernels);
                    config.with_kinds(kinds.to_vec()).init(&device)
                };
                let seen = |low: usize, high: usize| -> Vec<usize> {
                    (if causal { 4 } else { low }..=high).collect()
                };
                // A window of 2 reaches one token farther with every layer.
                for (windows, expected) in [
                    ([Some(1), Some(1)], seen(4, 4)),
                    ([Some(2), Some(1)], seen(3, 5)),
                    ([Some(2), Some(2)], seen(2, 6)),
                    ([Some(2), None], seen(0, 8)),
                    ([Some(100), None], seen(0, 8)),
                ] {
                    let case = format!("{windows:?}, {kernels:?}, causal {causal}");
                    assert_eq!(changed(&of(windows), &scheme, 4), expected, "{case}");
                }
            }
        }
    }
}

#[test]
fn a_window_as_wide_as_the_row_changes_nothing() {
    let device = Device::flex();
    let encoder = config().init(&device);
    let mut wide = encoder.clone();
    for layer in &mut wide.layers {
        layer.attention.window = Some(17);
    }
    let x = Tensor::<3>::random([2, 17, D_MODEL], Distribution::Default, &device);
    for (name, scheme) in schemes(&device) {
        let run = |encoder: &Encoder| {
            values(encoder.forward(x.clone(), None, &scheme, &Positions::default()))
        };
        let apart = difference(&run(&encoder), &run(&wide));
        assert!(apart < 2e-6, "{name}: {apart} apart");
    }
}

#[test]
fn a_layer_without_positions_computes_as_with_the_scheme_of_none() {
    let device = Device::flex();
    let alike = |positions: bool| {
        device.seed(11);
        let kind = LayerKind::new().with_positions(positions);
        config().with_kinds(vec![kind.clone(), kind]).init(&device)
    };
    let (with, without) = (alike(true), alike(false));
    let x = Tensor::<3>::random([2, 6, D_MODEL], Distribution::Default, &device);
    let at = Positions::default();
    let none = no_positions(&device);
    for (name, scheme) in schemes(&device) {
        let run = |encoder: &Encoder, scheme| values(encoder.forward(x.clone(), None, scheme, &at));
        assert_eq!(run(&without, &scheme), run(&without, &none), "{name}");
    }
    // One of two layers has positions: the result is neither that of both nor that of none.
    let rotary = PositionalConfig::by_name("rotary", D_MODEL, HEADS, 64).unwrap();
    let rotary = rotary.init(&device);
    let mut one = with.clone();
    one.layers[1].positions = false;
    let run = |encoder: &Encoder| values(encoder.forward(x.clone(), None, &rotary, &at));
    assert!(difference(&run(&one), &run(&with)) > 1e-3);
    assert!(difference(&run(&one), &run(&without)) > 1e-3);
}

/// The scheme with parameters whose gradients rounding changes little.
fn well_conditioned(mut scheme: PositionalScheme) -> PositionalScheme {
    match &mut scheme {
        // CoPE interpolates between the embeddings of whole positions, so its slope jumps where a position
        // passes a whole number. With embeddings on a line the slope is the same on both sides.
        PositionalScheme::Cope(cope) => {
            let [d_head, positions] = cope.embeddings.dims();
            let step = cope.embeddings.val().narrow(1, 0, 1);
            let times = Tensor::arange(0..positions as i64, &step.device()).float();
            let line = step.expand([d_head, positions]) * times.reshape([1, positions]);
            cope.embeddings = leaf(line);
        }
        // FIRE's bias is nearly constant before training, and the gradients of the scores of a query sum
        // to 0, so the gradients of its parameters are small differences of larger numbers.
        PositionalScheme::Fire(fire) => fire.outer.weight = leaf(fire.outer.weight.val() * 5),
        _ => {}
    }
    scheme
}

/// The gradients of those parameters of the scheme that the encoder uses.
fn gradients_of_scheme(scheme: &PositionalScheme, gradients: &Gradients) -> Vec<Vec<f32>> {
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

/// The output for 19 tokens, decoded with caches.
fn decoded(encoder: &Encoder, x: &Tensor<3>, scheme: &PositionalScheme) -> Vec<f32> {
    let mut caches = encoder.caches();
    // A prompt of 7 tokens, then one token at a time, then several at once.
    let mut from = 0;
    let parts = [7, 1, 1, 1, 5, 4].map(|count| {
        let part = x.clone().narrow(1, from, count);
        from += count;
        encoder.forward_cached(part, scheme, &mut caches)
    });
    assert_eq!(from, 19);
    assert!(caches.iter().all(|cache| cache.tokens() == 19));
    values(Tensor::cat(parts.to_vec(), 1))
}

#[test]
fn decoding_with_a_cache_gives_the_causal_output() {
    gives_the_causal_output(config());
}

#[test]
fn decoding_with_layers_that_differ_gives_the_causal_output() {
    gives_the_causal_output(local_then_global());
}

fn gives_the_causal_output(config: EncoderConfig) {
    let device = Device::flex();
    device.seed(3);
    let encoder = config.with_causal(true).init(&device);
    let x = Tensor::<3>::random([2, 19, D_MODEL], Distribution::Default, &device);
    for (name, scheme) in schemes(&device) {
        let whole = encoder.forward(x.clone(), None, &scheme, &Positions::default());
        let cached = decoded(&encoder, &x, &scheme);
        let apart = difference(&values(whole.clone()), &cached);
        assert!(apart < 2e-6, "{name}: {apart} apart");
        // Later tokens do not change the output of earlier ones.
        let first = x.clone().narrow(1, 0, 7);
        let alone = encoder.forward(first, None, &scheme, &Positions::default());
        let apart = difference(&values(alone), &values(whole.narrow(1, 0, 7)));
        assert!(apart < 2e-6, "{name}: the first 7 tokens {apart} apart");
    }
}

#[test]
#[cfg(feature = "flex")]
fn results_do_not_depend_on_the_number_of_threads() {
    let device = Device::flex().autodiff();
    let encoder = config().init(&device);
    // 377, 580 and 783 rows: one chunk at a time, and several.
    let every = |of: (_, PositionalScheme)| [13, 20, 27].map(|batch| (of.clone(), batch));
    for ((name, scheme), batch) in schemes(&device).flat_map(every) {
        let x = Tensor::<3>::random([batch, 29, D_MODEL], Distribution::Default, &device);
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
                all.extend(gradients_of_scheme(&scheme, &gradients));
                all
            })
        };
        let one = run(1);
        assert_eq!(one, run(2), "{name}");
        assert_eq!(one, run(5), "{name}");
    }
}

#[test]
fn an_empty_input_gives_an_empty_output() {
    let device = Device::flex();
    let encoder = config().init(&device);
    for shape in [[0, 4, D_MODEL], [3, 0, D_MODEL]] {
        let x = Tensor::<3>::zeros(shape, &device);
        let at = Positions::default();
        let y = encoder.forward(x, None, &no_positions(&device), &at);
        assert_eq!(y.dims(), shape);
    }
}

#[test]
#[should_panic(expected = "the width of x must be d_model")]
fn an_input_of_another_width_is_refused() {
    let device = Device::flex();
    let x = Tensor::zeros([1, 2, 2 * D_MODEL], &device);
    let encoder = config().init(&device);
    encoder.forward(x, None, &no_positions(&device), &Positions::default());
}

#[test]
#[should_panic(expected = "a cache is for causal attention")]
fn a_cache_of_an_encoder_that_is_not_causal_is_refused() {
    let device = Device::flex();
    let encoder = config().init(&device);
    let x = Tensor::zeros([1, 1, D_MODEL], &device);
    encoder.forward_cached(x, &no_positions(&device), &mut encoder.caches());
}
