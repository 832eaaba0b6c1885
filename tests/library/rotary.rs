//! Rotary encodings, on every backend in the build.

use burn::module::Module;
use burn::tensor::{Bool, DType, Device, Distribution, FloatDType, Tensor};
use pe_burn::scaling::{Dynamic, Linear, Longrope, Ntk};
use pe_burn::{
    Layout, MAX_POSITION, Positions, RopeScaling, RotaryPositionalEncoding,
    RotaryPositionalEncodingConfig, Rotate, XPosPositionalEncodingConfig, convert_heads,
};
use pe_tests::devices;

use crate::{distance, values};

fn heads(shape: [usize; 4], device: &Device) -> Tensor<4> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), device)
}

const LAYOUTS: [Layout; 2] = [Layout::Interleaved, Layout::Halves];

/// On the device of each backend, whatever the positions are made of, the rotation of a token is
/// that of its position.
#[test]
fn every_kind_of_positions_means_the_same() {
    for device in devices() {
        for layout in LAYOUTS {
            let rope = RotaryPositionalEncodingConfig::new(8)
                .with_layout(layout)
                .with_rotary_dim(6)
                .with_max_len(20)
                .init(&device);
            let x = heads([2, 3, 4, 8], &device);
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
                // The columns that are not rotated.
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

#[test]
fn half_precision_is_rotated_in_f32_and_rounded_once() {
    for device in devices() {
        let rope = RotaryPositionalEncodingConfig::new(64).init(&device);
        for dtype in [FloatDType::F16, FloatDType::BF16, FloatDType::F64] {
            if !device.supports_dtype(dtype) {
                continue;
            }
            let x = heads([1, 2, 5, 64], &device).cast(dtype);
            let positions = Positions::from(100_000);
            let rotated = rope.rotate_queries(x.clone(), &positions);
            assert_eq!(rotated.dtype(), DType::from(dtype));
            let exact = rope.rotate_queries(x.cast(FloatDType::F32), &positions);
            let apart = distance(
                rotated.cast(FloatDType::F32),
                exact.cast(dtype).cast(FloatDType::F32),
            );
            let bound = if dtype == FloatDType::F64 { 1e-6 } else { 0.0 };
            assert!(apart <= bound, "{device:?} {dtype:?}: {apart}");
        }
    }
}

/// The frequencies of a call follow from its own positions, never from calls before.
#[test]
fn dynamic_scaling_keeps_nothing() {
    let device = Device::flex();
    let pairs = vec![1.0; 8];
    for scaling in [
        RopeScaling::from(Dynamic::new(2.0, 16)),
        RopeScaling::from(Longrope::new(
            pairs.clone(),
            pairs.iter().map(|factor| factor * 3.0).collect(),
            16,
            4.0,
        )),
    ] {
        let config = RotaryPositionalEncodingConfig::new(16);
        let rope = config.clone().with_scaling(scaling.clone()).init(&device);
        let (short, long) = (
            heads([1, 2, 16, 16], &device),
            heads([1, 2, 17, 16], &device),
        );
        let positions = Positions::default();
        let before = rope.rotate_queries(short.clone(), &positions);
        let far = rope.rotate_queries(long.clone(), &positions);
        assert_eq!(
            distance(
                before.clone(),
                rope.rotate_queries(short.clone(), &positions)
            ),
            0.0
        );

        let plain = config.init(&device).rotate_queries(short, &positions);
        let sharpened = before.div_scalar(scaling.attention_factor());
        assert!(
            distance(sharpened, plain) < 1e-6,
            "the trained length is as trained"
        );
        let spectrum = rope.config().spectrum(17).unwrap();
        let trained = rope.config().spectrum(16).unwrap();
        assert_ne!(spectrum.frequencies(), trained.frequencies());
        let token = values(far.slice([0..1, 0..1, 16..17, 0..16]));
        let x = values(long.slice([0..1, 0..1, 16..17, 0..16]));
        for (i, omega) in spectrum.frequencies().iter().enumerate() {
            let (sin, cos) = (16.0 * omega).sin_cos();
            let (a, b) = (f64::from(x[2 * i]), f64::from(x[2 * i + 1]));
            let first = (a * cos - b * sin) * scaling.attention_factor();
            assert!((f64::from(token[2 * i]) - first).abs() < 1e-6);
        }
        // The bound of positions on a device is their number; what counts is the last of them.
        let half = (0..34).map(|i| i >= 18).collect::<Vec<_>>();
        let data = burn::tensor::TensorData::new(half, [1, 34]);
        let padded = Positions::from_token_mask(Tensor::from_data(data, &device));
        let x = heads([1, 2, 34, 16], &device);
        let last = x.clone().narrow(2, 18, 16);
        let apart = distance(
            rope.rotate_queries(x, &padded).narrow(2, 18, 16),
            rope.rotate_queries(last, &Positions::default()),
        );
        assert!(apart < 1e-6, "{apart}");
    }
}

/// Vectors with ones in the first column of each pair and zeros in the second: rotated, they are the
/// cosines and sines themselves.
fn units(seq: usize, d_head: usize, device: &Device) -> Tensor<4> {
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
            let x = heads([1, 2, 3, 8], &device).require_grad();
            let weight = heads([1, 2, 3, 8], &device);
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
fn nothing_stays_nothing_and_nothing_is_saved() {
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

#[test]
fn bad_input_is_refused_with_its_numbers() {
    let device = Device::flex();
    let config = RotaryPositionalEncodingConfig::new(8);
    let longrope = |short_factor| Longrope::new(short_factor, vec![1.0; 4], 16, 1.0);
    for (bad, words) in [
        (
            RotaryPositionalEncodingConfig::new(7),
            "must be even, from 2 to d_head 7; got 7",
        ),
        (
            RotaryPositionalEncodingConfig::new(0),
            "from 2 to d_head 0; got 0",
        ),
        (
            config.clone().with_rotary_dim(10),
            "from 2 to d_head 8; got 10",
        ),
        (config.clone().with_rotary_dim(0), "got 0"),
        (
            config.clone().with_max_len(0),
            "max_len must be at least 1; got 0",
        ),
        (config.clone().with_base(1.0), "decrease; got 1"),
        (
            config.clone().with_scaling(Linear::new(0.5)),
            "factor must be a finite number of at least 1; got 0.5",
        ),
        (config.clone().with_scaling(Linear::new(f64::NAN)), "got NaN"),
        (
            config.clone().with_scaling(longrope(vec![1.0; 3])),
            "the number of entries of short_factor must be 4, one per frequency; got 3",
        ),
        (
            config
                .clone()
                .with_scaling(longrope(vec![1.0, 1.0, 0.0, 1.0])),
            "every entry of short_factor must be above 0 and finite; got 0",
        ),
        (
            config.clone().with_scaling(
                serde_json::from_str::<RopeScaling>(
                    r#"{"rope_type": "longrope", "short_factor": [1, 1, 1, 1], "long_factor": [1, 1, 1, 1],
                        "original_max_position_embeddings": 16}"#,
                )
                .unwrap(),
            ),
            "longrope needs a factor, which is max_position_embeddings / original_max_position_embeddings, or an attention_factor",
        ),
        (
            RotaryPositionalEncodingConfig::new(2)
                .with_scaling(Ntk::new(2.0)),
            "since the exponent d/(d - 2) has to exist; got 2",
        ),
    ] {
        let message = bad.try_init(&device).unwrap_err().to_string();
        assert!(message.ends_with(words), "{message}");
    }

    let rope = config.init(&device);
    let x = |d_head| Tensor::<4>::zeros([2, 3, 4, d_head], &device);
    for (input, positions, words) in [
        (
            x(6),
            Positions::default(),
            "the input has d_head 6, but this module was built for d_head 8",
        ),
        (
            x(8),
            Positions::from_starts([1, 2, 3]),
            "there are 3 starts for a batch of 2 rows",
        ),
        (
            x(8),
            Positions::from_id_rows(&[[1, 2]]).unwrap(),
            "the tensor of position ids has shape [1, 2], but the input needs [2, 4]",
        ),
        (
            x(8),
            Positions::from(MAX_POSITION - 2),
            "start 4503599627370493 + seq 4 goes past the largest position, 4503599627370495",
        ),
    ] {
        let error = rope
            .try_rotate_queries(input.clone(), &positions)
            .unwrap_err();
        assert_eq!(error.to_string(), words);
        assert_eq!(rope.invert(input, &positions).unwrap_err(), error);
    }

    let xpos = XPosPositionalEncodingConfig::new(8).init(&device);
    assert!(
        xpos.try_rotate(x(8), x(8), &Positions::from(32_692))
            .is_ok()
    );
    let error = xpos
        .try_rotate(x(8), x(8), &Positions::from(32_693))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the position must be at most 32695 for xPos in f32 with scale_base 512; got 32696"
    );
    let half = |positions: Positions| {
        let x = || x(8).cast(FloatDType::F16);
        xpos.try_rotate(x(), x(), &positions).map(|_| ())
    };
    assert!(half(Positions::from(3_675)).is_ok());
    let message = half(Positions::from(3_676)).unwrap_err().to_string();
    assert_eq!(
        message,
        "the position must be at most 3678 for xPos in f16 with scale_base 512; got 3679"
    );
    // What counts is where tokens are, and not how many places a packed row has.
    let documents = (0..40_000).map(|i| i / 4).collect::<Vec<i32>>();
    let documents = Tensor::<1, burn::tensor::Int>::from_ints(documents.as_slice(), &device);
    let packed = Positions::from_segment_ids(documents.unsqueeze());
    let long = Tensor::<4>::ones([1, 1, 40_000, 8], &device);
    let (rotated, _) = xpos.rotate(long.clone(), long, &packed);
    assert!(values(rotated).iter().all(|value| value.is_finite()));
    // A buffer ends where positions do.
    let steep = XPosPositionalEncodingConfig::new(8)
        .with_scale_base(2.0)
        .init(&device);
    assert!(steep.try_rotate(x(8), x(8), &Positions::from(120)).is_ok());
    assert!(steep.try_rotate(x(8), x(8), &Positions::from(130)).is_err());
    let bad = XPosPositionalEncodingConfig::new(8).with_scale_base(0.0);
    assert_eq!(
        bad.try_init(&device).unwrap_err().to_string(),
        "scale_base must be finite and above 0; got 0"
    );
}

/// As models have it in their `config.json`, and what is said where something is missing or too much.
#[test]
fn scalings_as_models_have_them() {
    let read = |json: &str| serde_json::from_str::<RopeScaling>(json);
    let yarn =
        read(r#"{"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}"#);
    let yarn = yarn.unwrap();
    for json in [
        r#"{"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}"#,
        r#"{"type": "yarn", "rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 32768}"#,
        r#"{"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 32768,
            "beta_fast": 32, "beta_slow": 1, "truncate": true, "mscale": null}"#,
    ] {
        assert_eq!(read(json).unwrap(), yarn, "{json}");
    }
    for scaling in [yarn, Linear::new(2.0).into()] {
        let written = serde_json::to_string(&scaling).unwrap();
        assert_eq!(read(&written).unwrap(), scaling, "{written}");
    }
    for (json, words) in [
        (r#"{"factor": 2}"#, "missing field `rope_type`"),
        (
            r#"{"type": "linear", "rope_type": "ntk", "factor": 2}"#,
            "rope_type is \"ntk\", but type is \"linear\"",
        ),
        (r#"{"rope_type": "linear"}"#, "linear needs `factor`"),
        (
            r#"{"type": "longrope", "short_factor": [1], "long_factor": [1]}"#,
            "longrope needs `original_max_position_embeddings`: some models have it beside \
             rope_scaling, others only as max_position_embeddings",
        ),
        (
            r#"{"rope_type": "linear", "factor": 2, "beta_fast": 3}"#,
            "linear has no field `beta_fast`",
        ),
        (
            r#"{"rope_type": "linear", "factor": 2, "rope_theta": 1e4}"#,
            "linear has no field `rope_theta`",
        ),
        (
            r#"{"rope_type": "linear", "factor": 2, "theta": 1e4}"#,
            "linear has no field `theta`",
        ),
        (r#"{"rope_type": "default"}"#, "leave it out"),
        (
            r#"{"rope_type": "mrope"}"#,
            "there is no rope_type \"mrope\"; there are: linear, ntk, dynamic, yarn, longrope, llama3",
        ),
    ] {
        let message = read(json).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
}
