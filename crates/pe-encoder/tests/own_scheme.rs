//! Schemes of another crate in the attention and the encoder: each against the formula in `f64`.
//!
//! The schemes are in `own_scheme/schemes.rs`, with public types of `pe-burn` alone.

mod own_scheme {
    pub mod formula;
    mod refused;
    pub mod schemes;
}

use std::cell::RefCell;

use burn::tensor::{Bool, Device, Distribution, Int, Tensor};
use pe_burn::{
    ForgetGate, NoPositions, PositionError, Positional, Positions, RotaryPositionalEncodingConfig,
};
use pe_encoder::{Attention, AttentionConfig, Encoder, EncoderConfig, Kernels, LayerKind};

use own_scheme::formula::{Case, Formula};
use own_scheme::schemes::{
    AfterSoftmax, All, ByHand, ByRows, Content, DigitPlaces, Fox, Pope, Ramp, RotateAndBias,
    TwoBiases,
};

const D_MODEL: usize = 24;
const HEADS: usize = 3;
const D_HEAD: usize = D_MODEL / HEADS;

fn values<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().try_to_vec().expect("f32")
}

/// The largest difference between elements, relative to the largest element of `expected`.
fn difference(expected: &[f64], found: &[f32]) -> f64 {
    assert_eq!(expected.len(), found.len());
    assert!(found.iter().all(|x| x.is_finite()));
    let largest = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    assert!(largest > 0.0, "nothing but zeros to compare with");
    let apart = expected.iter().zip(found);
    let apart = apart.map(|(x, y)| (x - f64::from(*y)).abs());
    apart.fold(0.0, f64::max) / largest
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|x| f64::from(*x)).collect()
}

fn random<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), device)
}

/// A scheme of each kind, with its formula.
trait Scheme: Positional + Formula {}

impl<S: Positional + Formula> Scheme for S {}

/// The name, whether it is for causal attention alone, and the scheme.
fn schemes(device: &Device) -> Vec<(&'static str, bool, Box<dyn Scheme>)> {
    device.seed(7);
    let (fox, pope) = (Fox::init(2, device), Pope::init(device));
    let all = All {
        rotation: ByRows,
        fox: fox.clone(),
    };
    let all_wide = All {
        rotation: pope.clone(),
        fox: fox.clone(),
    };
    vec![
        ("rotation by rows", false, Box::new(ByRows)),
        ("rotation by Burn's operations", false, Box::new(ByHand)),
        ("bias", false, Box::new(Ramp)),
        ("score bias", false, Box::new(Content)),
        ("rotation and bias", false, Box::new(RotateAndBias)),
        ("bias and score bias", false, Box::new(TwoBiases)),
        ("weight bias", false, Box::new(AfterSoftmax)),
        ("forget gate", true, Box::new(fox)),
        ("two columns for each", false, Box::new(pope)),
        ("everything", true, Box::new(all)),
        ("everything, two columns for each", true, Box::new(all_wide)),
    ]
}

fn attention(causal: bool, device: &Device) -> Attention {
    device.seed(3);
    let config = AttentionConfig::new(D_MODEL, HEADS).with_causal(causal);
    config.with_layer(1).init(device)
}

#[test]
fn the_output_is_that_of_the_formula() {
    for device in [Device::flex(), Device::flex().autodiff()] {
        let x = random([2, 9, D_MODEL], &device);
        let ids = [[4, 0, 1, 2, 9, 3, 5, 5, 7], [0, 1, 2, 0, 1, 0, 1, 2, 3]];
        for (name, only_causal, scheme) in schemes(&device) {
            for causal in [true, false] {
                if only_causal && !causal {
                    continue;
                }
                let attention = attention(causal, &device);
                let case = Case::of(&attention, &x, causal);
                let by_row: Vec<usize> = (0..9).collect();
                for (positions, rows) in [
                    (Positions::default(), [&by_row[..], &by_row]),
                    (
                        Positions::from_id_rows(&ids).unwrap(),
                        [&ids[0][..], &ids[1]],
                    ),
                ] {
                    let expected = case.output(&*scheme, &rows);
                    for kernels in [Kernels::Auto, Kernels::Off] {
                        let attention = attention.clone().with_kernels(kernels);
                        let y = attention.forward(x.clone(), None, &*scheme, &positions);
                        let apart = difference(&expected, &values(y));
                        assert!(
                            apart < 3e-6,
                            "{name}, causal {causal}, {kernels:?}: {apart}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn decoding_with_a_cache_gives_the_causal_output() {
    for device in [Device::flex(), Device::flex().autodiff()] {
        let decoder = encoder(true, &device);
        let x = random([2, 80, D_MODEL], &device);
        for (name, _, scheme) in schemes(&device) {
            let whole = decoder.forward(x.clone(), None, &*scheme, &Positions::default());
            for kernels in [Kernels::Auto, Kernels::Off] {
                let decoder = decoder.clone().with_kernels(kernels);
                let mut caches = decoder.caches();
                // Past the room that a cache begins with, which is 64 tokens.
                let parts = [5, 1, 1, 60, 1, 12].map(|count| {
                    let part = x.clone().narrow(1, caches[0].tokens(), count);
                    decoder.forward_cached(part, &*scheme, &mut caches)
                });
                let parts = values(Tensor::cat(parts.to_vec(), 1));
                let apart = difference(&wide(&values(whole.clone())), &parts);
                assert!(apart < 5e-6, "{name}, {kernels:?}: {apart}");
            }
        }
    }
}

fn encoder(causal: bool, device: &Device) -> Encoder {
    device.seed(3);
    EncoderConfig::new(D_MODEL, 40, HEADS, 2)
        .with_causal(causal)
        .init(device)
}

/// Padding on the right, a window, and positions that the rows start at.
#[test]
fn kernels_and_burns_operations_give_the_same_output_and_gradients() {
    let device = Device::flex().autodiff();
    device.seed(3);
    let window = |window| LayerKind::new().with_window(window);
    let encoder = EncoderConfig::new(D_MODEL, 40, HEADS, 2)
        .with_causal(true)
        .with_kinds(vec![window(Some(4)), window(None)])
        .init(&device);
    let x = random([2, 33, D_MODEL], &device);
    let lengths = Tensor::<2, Int>::from_data([[33], [20]], &device);
    let tokens = Tensor::arange(0..33, &device).reshape([1, 33]);
    let padding = tokens
        .expand([2, 33])
        .greater_equal(lengths.expand([2, 33]));
    let positions = Positions::from_starts([0, 40]);
    for (name, _, scheme) in schemes(&device) {
        let run = |kernels| {
            let x = x.clone().require_grad();
            let encoder = encoder.clone().with_kernels(kernels);
            let y = encoder.forward(x.clone(), Some(&padding), &*scheme, &positions);
            let y = y.mask_fill(padding.clone().unsqueeze_dim(2), 0.0);
            let gradients = (y.clone() * y.clone() * y.clone()).sum().backward();
            [values(y), values(x.grad(&gradients).expect("a gradient"))]
        };
        let (with, without) = (run(Kernels::Auto), run(Kernels::Off));
        for (with, without) in with.iter().zip(&without) {
            let apart = difference(&wide(without), with);
            assert!(apart < 2e-5, "{name}: {apart}");
        }
    }
}

/// Against differences of the formula in `f64`.
#[test]
fn weights_of_a_scheme_get_their_gradients() {
    let device = Device::flex().autodiff();
    device.seed(7);
    let (fox, pope) = (Fox::init(2, &device), Pope::init(&device));
    let attention = attention(true, &device);
    let x = random([2, 9, D_MODEL], &device);
    let case = Case::of(&attention, &x, true);
    let row: Vec<usize> = (0..9).collect();
    let loss_of = |formula: &dyn Formula| {
        let y = case.output(formula, &[&row[..], &row]);
        let weighted = y
            .iter()
            .enumerate()
            .map(|(i, y)| y * (i as f64 * 0.7).sin());
        weighted.sum::<f64>()
    };
    let gradients = |kernels, scheme: &dyn Positional| {
        let attention = attention.clone().with_kernels(kernels);
        let y = attention.forward(x.clone(), None, scheme, &Positions::default());
        let weights = Tensor::arange(0..2 * 9 * D_MODEL as i64, &device).float() * 0.7;
        (y * weights.sin().reshape([2, 9, D_MODEL]))
            .sum()
            .backward()
    };
    let check = |name: &str, found: Vec<f32>, shifted: &dyn Fn(usize, f64) -> f64| {
        let steps = (0..found.len()).step_by(5);
        let expected: Vec<f64> = steps
            .clone()
            .map(|i| (shifted(i, 1e-4) - shifted(i, -1e-4)) / 2e-4)
            .collect();
        let found: Vec<f32> = steps.map(|i| found[i]).collect();
        let apart = difference(&expected, &found);
        assert!(apart < 2e-5, "{name}: {apart}");
    };
    for kernels in [Kernels::Auto, Kernels::Off] {
        let of = gradients(kernels, &fox);
        let weight = fox.layers[1].weight.val();
        check(
            "forget gate",
            values(weight.grad(&of).expect("a gradient")),
            &|i, by| {
                let mut all = values(weight.clone());
                all[i] = 0.0;
                loss_of(&fox.shifted(i, by))
            },
        );
        let of = gradients(kernels, &pope);
        let delta = pope.delta.val().grad(&of).expect("a gradient");
        check("phases of PoPE", values(delta), &|i, by| {
            loss_of(&pope.shifted(i, by))
        });
    }
}

/// The rows are turned by the kernels that turn our own, so that no bit differs.
#[test]
fn rows_give_the_bits_of_our_rope() {
    let device = Device::flex().autodiff();
    let ours = RotaryPositionalEncodingConfig::new(D_HEAD).init(&device);
    let decoder = encoder(true, &device);
    let x = random([2, 9, D_MODEL], &device);
    let run = |scheme: &dyn Positional| {
        let x = x.clone().require_grad();
        let y = decoder.forward(x.clone(), None, scheme, &Positions::from(3));
        let gradients = (y.clone() * y.clone()).sum().backward();
        let mut caches = decoder.caches();
        let decoded = [4, 1, 4].map(|count| {
            let part = x.clone().narrow(1, caches[0].tokens(), count);
            values(decoder.forward_cached(part, scheme, &mut caches))
        });
        (
            values(y),
            values(x.grad(&gradients).expect("a gradient")),
            decoded,
        )
    };
    assert_eq!(run(&ours), run(&ByRows));
}

/// The projection is a part of larger memory, which the result then has too. Burn's operations write to memory of its own size.
#[test]
#[cfg(feature = "flex")]
fn a_projection_is_rotated_by_rows_in_place() {
    use burn::backend::Flex;
    use pe_burn::Rotate;
    let at = Positions::from(3);
    let floats_of = |scheme: &dyn Rotate| {
        let qkv = random([3, 9, 3 * D_MODEL], &Device::flex()).narrow(0, 0, 2);
        let turned = scheme.rotate_packed(qkv, [HEADS; 2], &at);
        let turned = turned
            .try_into_primitive::<Flex>()
            .expect("a tensor on Flex");
        turned.storage::<f32>().len()
    };
    let ours = RotaryPositionalEncodingConfig::new(D_HEAD).init(&Device::flex());
    assert_eq!(floats_of(&ours), 3 * 9 * 3 * D_MODEL);
    assert_eq!(floats_of(&ByRows), 3 * 9 * 3 * D_MODEL);
    assert_eq!(floats_of(&ByHand), 2 * 9 * 3 * D_MODEL);
}

/// A gate of zeros, which forgets nothing, that writes down what it is asked.
#[derive(Default)]
struct Asked(RefCell<Vec<(usize, Vec<f32>)>>);

impl ForgetGate for Asked {
    fn try_log_gates(&self, layer: usize, x: Tensor<3>) -> Result<Tensor<3>, PositionError> {
        let [batch, seq, _] = x.dims();
        let gates = Tensor::zeros([batch, HEADS, seq], &x.device());
        self.0.borrow_mut().push((layer, values(x)));
        Ok(gates)
    }
}

impl Positional for Asked {
    fn as_forget_gate(&self) -> Option<&dyn ForgetGate> {
        Some(self)
    }
}

#[test]
fn a_gate_sees_its_layer_and_what_the_layer_projects() {
    let device = Device::flex();
    let kinds = [true, false, true].map(|positions| LayerKind::new().with_positions(positions));
    let decoder = EncoderConfig::new(D_MODEL, 40, HEADS, 3)
        .with_causal(true)
        .with_kinds(kinds.to_vec())
        .init(&device);
    let x = random([2, 9, D_MODEL], &device) * 5 + 2;
    let asked = Asked::default();
    let y = decoder.forward(x.clone(), None, &asked, &Positions::default());
    let none = decoder.forward(x.clone(), None, &NoPositions {}, &Positions::default());
    assert_eq!(values(y), values(none));
    decoder.forward_cached(x, &asked, &mut decoder.caches());
    let asked = asked.0.into_inner();
    let layers: Vec<usize> = asked.iter().map(|(layer, _)| *layer).collect();
    assert_eq!(layers, [0, 2, 0, 2]);
    // A layer projects what it has normalized.
    for row in asked.iter().flat_map(|(_, x)| x.chunks(D_MODEL)) {
        let mean = row.iter().sum::<f32>() / D_MODEL as f32;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / D_MODEL as f32;
        assert!(mean.abs() < 1e-5 && (variance - 1.0).abs() < 1e-3);
    }
}

/// The gates of tokens that are not there take no part: a padded row gives what it gives alone.
#[test]
fn padding_on_the_left_forgets_nothing() {
    let device = Device::flex();
    let decoder = encoder(true, &device);
    let fox = Fox::init(2, &device);
    let x = random([1, 9, D_MODEL], &device);
    let padding = Tensor::<2, Bool>::from_data(
        [[true, true, true, false, false, true, false, false, false]],
        &device,
    );
    let at = Positions::default();
    let padded = decoder.forward(x.clone(), Some(&padding), &fox, &at);
    let real = [3..5, 6..9].map(|part| x.clone().slice_dim(1, part));
    let alone = decoder.forward(Tensor::cat(real.to_vec(), 1), None, &fox, &at);
    let found = [3..5, 6..9].map(|part| padded.clone().slice_dim(1, part));
    let found = values(Tensor::cat(found.to_vec(), 1));
    assert!(difference(&wide(&values(alone)), &found) < 2e-6);
}

/// Abacus: the positions are the places of digits in their numbers, which the tokens say.
#[test]
fn positions_follow_from_the_tokens() {
    const PLUS: usize = 10;
    let device = Device::flex();
    let (words, table) = (
        random([11, D_MODEL], &device),
        random([6, D_MODEL], &device),
    );
    let scheme = DigitPlaces {
        table: table.clone(),
    };
    let decoder = encoder(true, &device);
    let tokens = [
        [7, 2, 1, PLUS, 3, 8, PLUS, 4],
        [1, PLUS, 9, 9, 9, 9, PLUS, PLUS],
    ];
    let places = [[1, 2, 3, 0, 1, 2, 0, 1], [1, 0, 1, 2, 3, 4, 0, 0]];
    let rows = |table: &Tensor<2>, ids: &[usize]| {
        let ids: Vec<i64> = ids.iter().map(|id| *id as i64).collect();
        table
            .clone()
            .select(0, Tensor::from_ints(&ids[..], &device))
    };
    // Each row alone, with the rows of both tables.
    let at = Positions::default();
    let expected = [0, 1].map(|row| {
        let x = rows(&words, &tokens[row]) + rows(&table, &places[row]);
        let none = &NoPositions {};
        decoder.forward(x.unsqueeze(), None, none, &at)
    });
    let expected = wide(&values(Tensor::cat(expected.to_vec(), 0)));

    let embedded = |range: std::ops::Range<usize>| {
        let ids = tokens.map(|row| DigitPlaces::places(&row)[range.clone()].to_vec());
        let x = tokens.map(|row| rows(&words, &row[range.clone()]).unsqueeze());
        let positions = Positions::from_id_rows(&ids).unwrap();
        let scheme = (&scheme as &dyn Positional).as_embed().expect("it embeds");
        (
            scheme.embed(Tensor::cat(x.to_vec(), 0), &positions),
            positions,
        )
    };
    let (x, positions) = embedded(0..8);
    let whole = decoder.forward(x, None, &scheme, &positions);
    assert!(difference(&expected, &values(whole)) < 2e-6);
    let mut caches = decoder.caches();
    let parts = [0..3, 3..4, 4..8]
        .map(|range| decoder.forward_cached(embedded(range).0, &scheme, &mut caches));
    assert!(difference(&expected, &values(Tensor::cat(parts.to_vec(), 1))) < 2e-6);
}
