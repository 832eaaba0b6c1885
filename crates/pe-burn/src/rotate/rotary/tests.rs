use super::*;
use crate::rotate::scaling::RopeScaling;

use std::prelude::rust_2024::*;
use std::vec;

use crate::MAX_POSITION;
use crate::rotate::scaling::{Dynamic, Linear, Longrope, Ntk};
use crate::testing::{distance, random, refusal, refused, values};

/// Queries and keys share rows only where both need them, in the same type.
#[test]
fn queries_and_keys_are_rotated_as_each_would_be_alone() {
    let device = Device::flex();
    let rope = RotaryPositionalEncodingConfig::new(8).init(&device);
    let starts = Positions::from_starts([3, 70]);
    for positions in [Positions::from(5), starts] {
        for (heads_of_q, heads_of_k) in [(4, 2), (0, 2), (4, 0)] {
            let q = random([2, heads_of_q, 6, 8], &device);
            let k = random([2, heads_of_k, 6, 8], &device);
            let (both_q, both_k) = rope.rotate(q.clone(), k.clone(), &positions);
            let alone_q = rope.rotate_queries(q, &positions);
            let alone_k = rope.rotate_keys(k, &positions);
            both_q.into_data().assert_eq(&alone_q.into_data(), true);
            both_k.into_data().assert_eq(&alone_k.into_data(), true);
        }
    }
}

/// Frequencies that depend on the length follow from the positions of the call alone.
#[test]
fn a_call_does_not_change_the_frequencies_of_the_next() {
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
            random([1, 2, 16, 16], &device),
            random([1, 2, 17, 16], &device),
        );
        let positions = Positions::default();
        let before = rope.rotate_queries(short.clone(), &positions);
        let far = rope.rotate_queries(long.clone(), &positions);
        let after = rope.rotate_queries(short.clone(), &positions);
        assert_eq!(distance(before.clone(), after), 0.0);

        let plain = config.init(&device).rotate_queries(short, &positions);
        let sharpened = before.div_scalar(scaling.attention_factor());
        // The trained length is as trained.
        assert!(distance(sharpened, plain) < 1e-6);
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
        let x = random([1, 2, 34, 16], &device);
        let last = x.clone().narrow(2, 18, 16);
        let apart = distance(
            rope.rotate_queries(x, &padded).narrow(2, 18, 16),
            rope.rotate_queries(last, &Positions::default()),
        );
        assert!(apart < 1e-6, "{apart}");
    }
}

#[test]
fn a_bad_configuration_is_refused_with_its_value_and_bound() {
    let config = RotaryPositionalEncodingConfig::new(8);
    refused! {
        RotaryPositionalEncodingConfig::new(7) =>
            "rotary_dim (d_head, unless it is set) must be even, from 2 to d_head 7; got 7",
        RotaryPositionalEncodingConfig::new(0) => "d_head must be at least 2; got 0",
        RotaryPositionalEncodingConfig::new(1) => "d_head must be at least 2; got 1",
        config.clone().with_rotary_dim(10) => "… from 2 to d_head 8; got 10",
        config.clone().with_rotary_dim(0) => "… got 0",
        config.clone().with_max_len(0) => "max_len must be at least 1; got 0",
        config.clone().with_base(1.0) => "… decrease; got 1",
        config.clone().with_scaling(Linear::new(-0.5)) =>
            "factor must be finite and above 0; got -0.5",
        RotaryPositionalEncodingConfig::new(2).with_scaling(Ntk::new(2.0)) =>
            "… since the exponent d/(d - 2) has to exist; got 2",
    }
}

#[test]
fn bad_input_is_refused_with_its_value_and_bound() {
    let device = Device::flex();
    let rope = RotaryPositionalEncodingConfig::new(8).init(&device);
    let x = |d_head| Tensor::<4>::zeros([2, 3, 4, d_head], &device);
    refused! {
        |bad| {
            let (input, positions) = bad;
            let turned = rope.try_rotate_queries(input.clone(), &positions);
            let error = rope.invert(input, &positions).unwrap_err();
            turned.inspect_err(|turned| assert_eq!(*turned, error))
        };
        (x(6), Positions::default()) =>
            "the input has d_head 6, but this module was built for d_head 8",
        (x(8), Positions::from_starts([1, 2, 3])) => "there are 3 starts for a batch of 2 rows",
        (x(8), Positions::from_id_rows(&[[1, 2]]).unwrap()) =>
            "the tensor of position ids has shape [1, 2], but the input needs [2, 4]",
        (x(8), Positions::from(MAX_POSITION - 2)) =>
            "start 4503599627370493 + seq 4 goes past the largest position, 4503599627370495",
    }
}

/// nanochat: y1 = x1 cos + x2 sin, y2 = x2 cos − x1 sin, with halves. The other direction is the inverse of the usual
/// one, bit for bit, through every method.
#[test]
fn the_opposite_direction_is_the_inverse_rotation() {
    let device = Device::flex();
    for layout in [Layout::Halves, Layout::Interleaved] {
        let config = RotaryPositionalEncodingConfig::new(8).with_layout(layout);
        let config = config.with_rotary_dim(6);
        let rope = config.clone().init(&device);
        let opposite = config.with_opposite(true).init(&device);
        let (q, k) = (
            random([2, 3, 40, 8], &device),
            random([2, 3, 40, 8], &device),
        );
        let at = Positions::from(17);
        let inverse = |x: &Tensor<4>| values(rope.invert(x.clone(), &at).unwrap());
        let (turned_q, turned_k) = opposite.rotate(q.clone(), k.clone(), &at);
        assert_eq!(values(turned_q.clone()), inverse(&q));
        assert_eq!(values(turned_k), inverse(&k));
        assert_eq!(values(opposite.rotate_queries(q.clone(), &at)), inverse(&q));
        let back = opposite.invert(turned_q, &at).unwrap();
        assert!(distance(back, q.clone()) < 1e-6);
        let of_both = Tensor::cat(vec![q.clone(), k.clone(), k.clone()], 1).swap_dims(1, 2);
        let packed = opposite.rotate_packed(of_both.reshape([2, 40, 72]), [3, 3], &at);
        let packed = packed.reshape([2, 40, 9, 8]).swap_dims(1, 2);
        assert_eq!(values(packed.clone().narrow(1, 0, 3)), inverse(&q));
        assert_eq!(values(packed.narrow(1, 3, 3)), inverse(&k));
    }
    let by_hand = RotaryPositionalEncodingConfig::new(2).with_opposite(true);
    let x = Tensor::<4>::from_floats([[[[3.0, 5.0]]]], &device);
    let y = values(by_hand.init(&device).rotate_queries(x, &Positions::from(2)));
    let (sin, cos) = 2.0_f32.sin_cos();
    let expected = [3.0 * cos + 5.0 * sin, 5.0 * cos - 3.0 * sin];
    assert!(
        y.iter().zip(expected).all(|(y, x)| (y - x).abs() < 1e-6),
        "{y:?}"
    );
    let tiled = RotaryPositionalEncodingConfig::new(8).with_tiled_angles(true);
    let message = refusal(tiled.with_opposite(true).try_init(&device));
    assert!(message.contains("the other way"), "{message}");
}

/// The input is a part of larger memory, which the result then has too: nothing was copied.
#[test]
#[cfg(feature = "flex")]
fn heads_side_by_side_are_rotated_in_place() {
    use burn::backend::Flex;

    let device = Device::flex();
    let rope = RotaryPositionalEncodingConfig::new(8).init(&device);
    for seq in [1, 40] {
        let part = |heads_of: usize| random([3, seq, heads_of, 8], &device).narrow(0, 0, 2);
        let (q, k) = rope.rotate_bshd(part(4), part(2), &Positions::from(3));
        for (x, heads_of) in [(q, 4), (k, 2)] {
            assert_eq!(x.dims(), [2, seq, heads_of, 8]);
            let x = x.try_into_primitive::<Flex>().expect("a tensor on Flex");
            assert!(x.is_contiguous());
            assert_eq!(x.storage::<f32>().len(), 3 * seq * heads_of * 8);
        }
    }
}
