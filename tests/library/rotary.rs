//! Rotary encodings, on every backend in the build.

use burn::module::Module;
use burn::tensor::{Bool, DType, Device, Distribution, FloatDType, Tensor};
use pe_burn::scaling::{Longrope, Yarn};
use pe_burn::{
    Layout, Positions, RopeScaling, RotaryPositionalEncoding, RotaryPositionalEncodingConfig,
    Rotate, XPosPositionalEncodingConfig, convert_heads,
};
use pe_tests::devices;

use crate::{LAYOUTS, distance, random, types, values};

/// A token is rotated by its position, whatever the positions were made from.
#[test]
fn every_kind_of_positions_means_the_same() {
    for device in devices() {
        for layout in LAYOUTS {
            let rope = RotaryPositionalEncodingConfig::new(8)
                .with_layout(layout)
                .with_rotary_dim(6)
                .with_max_len(20)
                .init(&device);
            let x = random([2, 3, 4, 8], &device);
            let at = |row: usize, token: usize, position: usize| {
                let token = x
                    .clone()
                    .slice([row..row + 1, 0..3, token..token + 1, 0..8]);
                rope.rotate_queries(token, &Positions::from(position))
            };
            let mask = [[true, true, true, true], [false, true, false, true]];
            let mask = Tensor::<2, Bool>::from_data(mask, &device);
            for (positions, expected) in [
                (Positions::default(), [[0, 1, 2, 3], [0, 1, 2, 3]]),
                (Positions::from(18), [[18, 19, 20, 21], [18, 19, 20, 21]]), // past the buffer
                (
                    Positions::from_starts([5, 100]),
                    [[5, 6, 7, 8], [100, 101, 102, 103]],
                ),
                (
                    Positions::from_id_rows(&[[3, 3, 0, 9], [7, 1_000_000, 2, 2]]).unwrap(),
                    [[3, 3, 0, 9], [7, 1_000_000, 2, 2]],
                ),
                (
                    Positions::from_token_mask(mask),
                    [[0, 1, 2, 3], [0, 0, 0, 1]],
                ),
            ] {
                let rotated = rope.rotate_queries(x.clone(), &positions);
                let back = rope.invert(rotated.clone(), &positions).unwrap();
                assert!(distance(back, x.clone()) < 1e-5);
                // Columns past `rotary_dim` stay as they are.
                let rest = |x: Tensor<4>| x.narrow(3, 6, 2);
                assert_eq!(distance(rest(rotated.clone()), rest(x.clone())), 0.0);
                for (row, ids) in expected.iter().enumerate() {
                    for (token, position) in ids.iter().enumerate() {
                        let got =
                            rotated
                                .clone()
                                .slice([row..row + 1, 0..3, token..token + 1, 0..8]);
                        let apart = distance(got, at(row, token, *position));
                        assert!(apart < 1e-6, "{device:?} {layout:?} {position}: {apart}");
                    }
                }
            }
        }
    }
}

/// A rotation multiplies by the attention factor, and so does its inverse.
#[test]
fn invert_leaves_the_square_of_the_attention_factor() {
    for device in devices() {
        let scaling = RopeScaling::from(Yarn::new(16.0, 4_096));
        let square = scaling.attention_factor().powi(2);
        let config = RotaryPositionalEncodingConfig::new(64).with_scaling(scaling);
        let rope = config.init(&device);
        let x = random([2, 3, 9, 64], &device);
        for positions in [Positions::default(), Positions::from(999_990)] {
            let turned = rope.rotate_queries(x.clone(), &positions);
            let back = rope.invert(turned, &positions).unwrap() / square;
            let off = distance(back, x.clone());
            assert!(off <= 2e-6, "{device:?} {positions:?}: {off}");
        }
    }
}

#[test]
fn half_precision_is_rotated_in_f32_and_rounded_once() {
    for device in devices() {
        for (d_head, width) in [(8, 8), (12, 4), (64, 64)] {
            for layout in LAYOUTS {
                let rope = RotaryPositionalEncodingConfig::new(d_head)
                    .with_rotary_dim(width)
                    .with_layout(layout)
                    .init(&device);
                for dtype in types(&device) {
                    let x = random([1, 2, 5, d_head], &device).cast(dtype);
                    let positions = Positions::from(100_000);
                    let rotated = rope.rotate_queries(x.clone(), &positions);
                    assert_eq!(rotated.dtype(), DType::from(dtype));
                    let exact = rope.rotate_queries(x.cast(FloatDType::F32), &positions);
                    let apart = distance(rotated, exact.cast(dtype));
                    let bound = if dtype == FloatDType::F64 { 1e-6 } else { 0.0 };
                    assert!(apart <= bound, "{device:?} {dtype:?} {layout:?}: {apart}");
                }
            }
        }
    }
}

/// Vectors with ones in the first column of each pair and zeros in the second: rotated, they are the
/// cosines and sines themselves.
pub fn units(seq: usize, d_head: usize, device: &Device) -> Tensor<4> {
    let ones = Tensor::<4>::ones([1, 1, seq, d_head / 2], device);
    Tensor::cat(vec![ones.clone(), ones.zeros_like()], 3)
}

/// The rotated [`units`] at these positions, from the exact rows.
fn exact_units(config: &RotaryPositionalEncodingConfig, start: usize, seq: usize) -> Vec<f32> {
    // The amplitude of the spectrum is the attention factor.
    let spectrum = config.spectrum(start + seq).unwrap();
    let half = spectrum.d_model() / 2;
    let rows: Vec<f32> = spectrum.rows(start..start + seq).unwrap();
    // A row has the sines first. The first column of a pair becomes the cosine, the second the sine.
    let rows = rows.chunks(2 * half);
    rows.flat_map(|row| [&row[half..], &row[..half]].concat())
        .collect()
}

/// The buffer grows when a call goes past it. Every form of the module gives the exact rows before and
/// after, on its own device and on others, with autodiff and without.
#[test]
fn rows_past_the_start_of_the_buffer_are_exact_wherever_the_module_goes() {
    let longrope = Longrope::new(vec![1.0; 4], vec![1.5, 2.0, 3.0, 4.0], 64, 4.0);
    let plain = RotaryPositionalEncodingConfig::new(8)
        .with_layout(Layout::Halves)
        .with_max_len(16);
    let configs = [plain.clone(), plain.with_scaling(longrope)];
    for config in &configs {
        let steps = [
            (0, 3),
            (15, 1),
            (16, 1),
            (60, 4),
            (64, 1),
            (500, 7),
            (100_000, 1),
        ];
        let check = |rope: &RotaryPositionalEncoding, device: &Device, about: &str| {
            for (start, seq) in steps {
                let x = units(seq, 8, device);
                let y = rope.rotate_queries(x, &Positions::from(start));
                let expected = exact_units(config, start, seq);
                assert_eq!(values(y), expected, "{about}, {seq} from {start}");
            }
        };
        for from in devices() {
            for training in [from.clone(), from.clone().autodiff()] {
                let rope = config.init(&training);
                let clone = rope.clone();
                let before = [rope.valid(), rope.clone().train()];
                check(&rope, &training, "as made");
                check(&clone, &from, "its clone, made before it grew");
                for rope in &before {
                    check(rope, &from, "valid and train before it grew");
                }
                for rope in [rope.valid(), rope.clone().train(), rope.valid().train()] {
                    check(&rope, &from, "valid and train after it grew");
                    check(
                        &rope,
                        &training,
                        "valid and train after it grew, with autodiff",
                    );
                }
                for to in devices() {
                    check(&rope.clone().to_device(&to), &to, "moved after it grew");
                    check(&rope.clone().fork(&to), &to, "forked after it grew");
                    let back = rope.clone().to_device(&to).to_device(&training);
                    check(&back, &training, "moved there and back");
                }
            }
        }
    }
    // Positions on a device.
    for device in devices() {
        let rope = configs[0].init(&device);
        let mask = Tensor::<2, Bool>::from_data([[true; 40]], &device);
        let y = rope.rotate_queries(units(40, 8, &device), &Positions::from_token_mask(mask));
        assert_eq!(values(y), exact_units(&configs[0], 0, 40));
    }
}

/// A gradient passes through a rotation by rows of a buffer that has grown.
#[test]
fn gradients_pass_through_a_grown_buffer() {
    for device in devices() {
        let device = device.autodiff();
        let rope = RotaryPositionalEncodingConfig::new(8)
            .with_max_len(4)
            .init(&device);
        for start in [0, 100, 100_000] {
            let x = random([1, 2, 3, 8], &device).require_grad();
            let weight = random([1, 2, 3, 8], &device);
            let y = rope.rotate_queries(x.clone(), &Positions::from(start));
            let gradients = (y * weight.clone()).sum().backward();
            let gradient = x.grad(&gradients).unwrap();
            let expected = rope.invert(weight, &Positions::from(start)).unwrap();
            let apart = distance(gradient, expected.inner());
            assert!(apart < 1e-6, "{device:?} from {start}: {apart}");
        }
    }
}

/// Weights made for one layout give the same scores in the other after their conversion.
#[test]
fn converted_weights_give_the_same_scores() {
    let device = Device::flex();
    let (n, d_head, d_model) = (3, 10, 12);
    let x = Tensor::<3>::random([2, 7, d_model], Distribution::Default, &device);
    let weights: [Tensor<2>; 2] =
        [(); 2].map(|()| Tensor::random([d_model, n * d_head], Distribution::Default, &device));
    for rotary_dim in [10, 6] {
        let scores = |weights: [Tensor<2>; 2], layout| {
            let rope = RotaryPositionalEncodingConfig::new(d_head)
                .with_layout(layout)
                .with_rotary_dim(rotary_dim)
                .init(&device);
            let [q, k] = weights.map(|weight| {
                let y = x.clone().matmul(weight.unsqueeze());
                let y = y.reshape([2, 7, n, d_head]).swap_dims(1, 2);
                rope.rotate_queries(y, &Positions::from(50))
            });
            q.matmul(k.transpose())
        };
        for (from, to) in [(LAYOUTS[0], LAYOUTS[1]), (LAYOUTS[1], LAYOUTS[0])] {
            let convert =
                |weight: Tensor<2>| convert_heads(weight, n, rotary_dim, from, to).unwrap();
            let converted = weights.clone().map(convert);
            let apart = distance(scores(weights.clone(), from), scores(converted.clone(), to));
            assert!(apart < 1e-4, "{apart}");
            assert!(distance(scores(weights.clone(), from), scores(weights.clone(), to)) > 1e-2);
            let [there, _] = converted;
            let back = convert_heads(there, n, rotary_dim, to, from).unwrap();
            assert_eq!(distance(back, weights[0].clone()), 0.0);
        }
    }
}

#[test]
fn an_empty_input_stays_empty_and_there_are_no_parameters() {
    for device in devices() {
        let rope = RotaryPositionalEncodingConfig::new(8).init(&device);
        let xpos = XPosPositionalEncodingConfig::new(8).init(&device);
        assert_eq!(rope.num_params() + xpos.num_params(), 0);
        for shape in [[0, 2, 3, 8], [2, 0, 3, 8], [2, 3, 0, 8]] {
            let x = Tensor::<4>::zeros(shape, &device);
            let k = rope.rotate_queries(x.clone(), &Positions::default());
            let (q, k) = xpos.rotate(x, k, &Positions::default());
            assert_eq!((q.dims(), k.dims()), (shape, shape));
        }
    }
}
