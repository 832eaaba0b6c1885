//! What flex gives, every backend gives: bit for bit where the device adds two numbers and rounds
//! once, within a bound that has a reason where it does more.

use burn::module::Module;
use burn::tensor::{Bool, Device, FloatDType, Int, Tensor, TensorData};
use pe_burn::embedding::{Gain, InputScale};
use pe_burn::{
    Embed, LearnedPositionalEmbeddingConfig, Positions, SinusoidalPositionalEncodingConfig,
};
use pe_tests::devices;

use crate::{types, wide};

/// Rows of the buffer; positions below and above are asked for.
const MAX_LEN: usize = 40;
const SHAPE: [usize; 2] = [2, 6];

/// One rounding to f32 is off by at most this share of the result.
const ROUNDING: f64 = 1.0 / (1 << 24) as f64;

/// Sevenths, which no type holds exactly.
fn input(device: &Device, d_model: usize, dtype: FloatDType) -> Tensor<3> {
    let [batch, seq] = SHAPE;
    let entries: Vec<f32> = (0..batch * seq * d_model)
        .map(|i| ((i * 37 % 101) as f32 - 50.0) / 7.0)
        .collect();
    let data = TensorData::new(entries, [batch, seq, d_model]);
    Tensor::from_data(data, (device, dtype.into()))
}

/// Every source of positions, in the buffer, past its end and across it.
fn sinusoidal_positions(device: &Device) -> Vec<Positions> {
    let ids = Tensor::<2, Int>::from_ints([[5, 5, 0, 39, 3, 8], [2, 39, 1, 0, 0, 7]], device);
    let far = Tensor::<2, Int>::from_ints([[900_000, 1, 2, 3, 4, 5]; 2], device);
    let mut positions = learned_positions(device);
    positions.extend([
        Positions::from(MAX_LEN - 2),
        Positions::from(10_000_000),
        Positions::from_starts([3, 4_000_000]),
        Positions::from_id_rows(&[[7, 70, 700, 7_000, 70_000, 700_000]]).unwrap(),
        Positions::from_ids(ids).unwrap(),
        Positions::from_ids(far).unwrap(),
    ]);
    positions
}

/// Every source of positions, within [`MAX_LEN`].
fn learned_positions(device: &Device) -> Vec<Positions> {
    let mask = [[false, false, true, true, true, true], [true; 6]];
    let segments = [[1, 1, 2, 2, 2, 3], [4, 4, 4, 4, 5, 5]];
    vec![
        Positions::default(),
        Positions::from(9),
        Positions::from_starts([3, 30]),
        Positions::from_id_rows(&[[5, 5, 0, 39, 3, 8]]).unwrap(),
        Positions::from_token_mask(Tensor::<2, Bool>::from_data(mask, device)),
        Positions::from_segment_ids(Tensor::<2, Int>::from_ints(segments, device)),
    ]
}

/// Fails at the first entry that is not the same, its sign of zero included.
fn assert_same(got: Tensor<3>, expected: Tensor<3>, what: &str) {
    assert_eq!(got.dtype(), expected.dtype(), "{what}");
    let (got, expected) = (wide(got), wide(expected));
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (got, expected)) in got.iter().zip(&expected).enumerate() {
        assert!(
            got.to_bits() == expected.to_bits(),
            "{what}: entry {i} is {got:e}, on flex {expected:e}"
        );
    }
}

/// Fails at the first entry that is further from flex's than its bound.
fn assert_within(got: Tensor<3>, expected: Tensor<3>, bounds: &[f64], what: &str) {
    let (got, expected) = (wide(got), wide(expected));
    assert_eq!((got.len(), bounds.len()), (expected.len(), expected.len()));
    for (i, ((got, expected), bound)) in got.iter().zip(&expected).zip(bounds).enumerate() {
        assert!(
            (got - expected).abs() <= *bound,
            "{what}: entry {i} is {got:e}, on flex {expected:e}, further than {bound:e}"
        );
    }
}

/// The largest distance of two values of `a · b + c` of which one may be computed in one step (a
/// fused multiply-add, rounded once) and the other in two: a rounding of the product, and one of
/// the sum each.
fn product_and_sum(product: &[f64], sum: &[f64]) -> Vec<f64> {
    let pairs = product.iter().zip(sum);
    pairs
        .map(|(product, sum)| ROUNDING * 1.001 * (product.abs() + 2.0 * sum.abs()))
        .collect()
}

/// The rows are computed on the host, and a fixed gain goes into them there; dropout is off outside
/// of training. One addition is left.
#[test]
fn a_sinusoidal_sum_is_the_same_bit_for_bit() {
    let flex = Device::flex();
    for device in devices().into_iter().skip(1) {
        for (d_model, gain) in [(64, 1.0), (7, 0.3)] {
            let config = SinusoidalPositionalEncodingConfig::new(d_model)
                .with_max_len(MAX_LEN)
                .with_dropout(0.1)
                .with_gain(Gain::Fixed(gain));
            let (here, there) = (config.init(&flex), config.init(&device));
            for dtype in types(&device) {
                let places = sinusoidal_positions(&flex)
                    .into_iter()
                    .zip(sinusoidal_positions(&device));
                for (on_flex, on_device) in places {
                    let what = format!("{device:?} {d_model} {dtype:?} {on_device:?}");
                    let expected = here.embed(input(&flex, d_model, dtype), &on_flex);
                    let got = there.embed(input(&device, d_model, dtype), &on_device);
                    assert_same(got, expected, &what);
                    let expected = here.encode_as(&on_flex, SHAPE[1], dtype).unwrap();
                    assert_same(
                        there.encode_as(&on_device, SHAPE[1], dtype).unwrap(),
                        expected,
                        &what,
                    );
                }
            }
        }
    }
}

/// One table, moved to the device; picking rows and adding them is all there is to do.
#[test]
fn a_learned_sum_is_the_same_bit_for_bit() {
    let flex = Device::flex();
    for device in devices().into_iter().skip(1) {
        for d_model in [64, 7] {
            let here = LearnedPositionalEmbeddingConfig::new(d_model, MAX_LEN)
                .with_padding_index(1)
                .init(&flex);
            let there = here.clone().fork(&device);
            for dtype in types(&device) {
                let places = learned_positions(&flex)
                    .into_iter()
                    .zip(learned_positions(&device));
                for (on_flex, on_device) in places {
                    let what = format!("{device:?} {d_model} {dtype:?} {on_device:?}");
                    let expected = here.embed(input(&flex, d_model, dtype), &on_flex);
                    let got = there.embed(input(&device, d_model, dtype), &on_device);
                    assert_same(got, expected, &what);
                }
            }
        }
    }
}

/// A device may multiply and add in one step.
#[test]
fn a_scaled_input_is_the_same_but_for_the_rounding_of_the_product() {
    let flex = Device::flex();
    for device in devices().into_iter().skip(1) {
        let config = SinusoidalPositionalEncodingConfig::new(64).with_max_len(MAX_LEN);
        let scaled = |scale| {
            let config = config.clone().with_input_scale(scale);
            (config.init(&flex), config.init(&device))
        };
        // The square root of 64 is a power of two, by which a product is exact.
        let (here, there) = scaled(InputScale::SqrtDModel);
        assert_same(
            there.forward(input(&device, 64, FloatDType::F32)),
            here.forward(input(&flex, 64, FloatDType::F32)),
            &format!("{device:?} sqrt"),
        );

        let (here, there) = scaled(InputScale::Factor(0.3));
        let x = input(&flex, 64, FloatDType::F32);
        let product = wide(x.clone() * 0.3);
        let expected = here.forward(x);
        let bounds = product_and_sum(&product, &wide(expected.clone()));
        let got = there.forward(input(&device, 64, FloatDType::F32));
        assert_within(got, expected, &bounds, &format!("{device:?} 0.3"));
    }
}

/// As a scaled input: the product is the encoding's.
#[test]
fn a_learned_gain_is_the_same_but_for_the_rounding_of_the_product() {
    let flex = Device::flex();
    for device in devices().into_iter().skip(1) {
        let config = SinusoidalPositionalEncodingConfig::new(64)
            .with_max_len(MAX_LEN)
            .with_gain(Gain::Learned(0.3));
        let (here, there) = (config.init(&flex), config.init(&device));
        let product = wide(here.encode(&Positions::default(), SHAPE[1]).unwrap());
        let expected = here.forward(input(&flex, 64, FloatDType::F32));
        let bounds = product_and_sum(&product.repeat(SHAPE[0]), &wide(expected.clone()));
        let got = there.forward(input(&device, 64, FloatDType::F32));
        assert_within(got, expected, &bounds, &format!("{device:?}"));
    }
}

/// The gradient of a row is the sum over its uses, in whatever order the device takes them: each
/// addition is off by at most a rounding of the sum of magnitudes.
#[test]
fn a_learned_gradient_is_the_same_but_for_the_order_of_its_sums() {
    let flex = Device::flex();
    let ids = [[0, 0, 5, 5, 5, 1], [5, 1, 0, 0, 2, 5]];
    let gradient = |device: &Device, weigh: fn(Tensor<3>) -> Tensor<3>| {
        let device = device.clone().autodiff();
        let pe = LearnedPositionalEmbeddingConfig::new(7, MAX_LEN).init(&device);
        let positions = Positions::from_ids(Tensor::from_ints(ids, &device)).unwrap();
        let x = input(&device, 7, FloatDType::F32);
        let y = pe.embed(x.clone(), &positions) * weigh(x);
        let gradients = y.sum().backward();
        pe.weight.grad(&gradients).unwrap().unsqueeze::<3>()
    };
    let expected = gradient(&flex, |x| x);
    // At most five uses of a row: four additions on either side.
    let magnitudes = wide(gradient(&flex, Tensor::abs));
    let bounds: Vec<f64> = magnitudes
        .iter()
        .map(|m| 8.0 * ROUNDING * 1.001 * m)
        .collect();
    for device in devices().into_iter().skip(1) {
        let got = gradient(&device, |x| x);
        assert_within(got, expected.clone(), &bounds, &format!("{device:?}"));
    }
}
