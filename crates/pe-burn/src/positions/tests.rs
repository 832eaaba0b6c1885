use super::*;

use alloc::format;
use alloc::vec;

use burn::tensor::Device;

use crate::testing::{assert_says, refusal, refused};

#[test]
fn the_largest_position_on_a_device_is_read_back_once_for_all_clones() {
    let mask = Tensor::<2, Bool>::from_data([[false, true, true]], &Device::flex());
    let positions = Positions::from_token_mask(mask);
    let clone = positions.clone();
    let end_of = |positions: &Positions| match &positions.kind {
        Kind::Device(ids) => ids.end.load(Ordering::Relaxed),
        _ => unreachable!("made from a mask"),
    };
    assert_eq!(end_of(&positions), UNKNOWN);
    // Nothing is read back while the bound, seq, is within the limit.
    assert_eq!(positions.lookup(None, 3).unwrap().end_beyond(3), 3);
    assert_eq!(end_of(&positions), UNKNOWN);
    assert_eq!(positions.lookup(None, 3).unwrap().end_beyond(1), 2);
    assert_eq!((end_of(&positions), end_of(&clone)), (2, 2));
}

#[test]
fn ids_out_of_range_are_refused() {
    let device = Device::flex();
    refused! {
        |ids| Positions::from_ids(Tensor::from_ints(ids, &device));
        [[0, 1], [4, -3]] =>
            "position id -3 at row 1, token 1 is out of range: ids go from 0 to 4503599627370495",
        [[-1]] =>
            "position id -1 at row 0, token 0 is out of range: ids go from 0 to 4503599627370495",
    }
    let error = Positions::from_id_rows(&[[0, 1 << 60]]).unwrap_err();
    assert!(
        matches!(error, PositionError::IdOutOfRange { id, row: 0, token: 1, .. } if id == 1 << 60)
    );
    let error = Positions::from_id_rows(&[[usize::MAX]]).unwrap_err();
    let expected = usize::MAX as i128;
    assert!(matches!(error, PositionError::IdOutOfRange { id, .. } if id == expected));
    let huge = Tensor::<2, Int>::from_data([[0, u64::MAX]], (&device, DType::U64));
    let error = Positions::from_ids(huge).unwrap_err();
    assert!(matches!(error, PositionError::IdOutOfRange { id, token: 1, .. } if id == expected));
    let error = Positions::from_id_rows(&[vec![0, 1], vec![2]]).unwrap_err();
    let (row, expected, got) = (1, 2, 1);
    assert_eq!(error, PositionError::Ragged { row, expected, got });
    // Memory for as many rows as long as the first, 80 TB, is not asked for.
    let mut rows = vec![vec![]; 1_000_000];
    rows[0] = vec![0; 10_000_000];
    let error = Positions::from_id_rows(&rows).unwrap_err();
    let (expected, got) = (10_000_000, 0);
    assert_eq!(error, PositionError::Ragged { row, expected, got });
}

#[test]
fn numbers_that_are_no_times_are_refused() {
    let past = 2_f64.powi(52);
    for (bad, said) in [
        (f64::NAN, "NaN"),
        (f64::INFINITY, "inf"),
        (past, "4503599627370496"),
    ] {
        let words = format!(
            "time {said} at row 1, token 1 is out of range: times go from -4503599627370495 to 4503599627370495"
        );
        let times = Positions::from_time_rows(&[[0.0, 1.0], [2.0, bad]]);
        assert_says(&refusal(times), &words);
    }
    let words = "row 1 has 1 positions, but row 0 has 2: every row needs the same number";
    let ragged = Positions::from_time_rows(&[vec![0.0, 1.0], vec![2.0]]);
    assert_says(&refusal(ragged), words);
}

/// Dynamic scaling asks how long an input is. The layers of a model, and queries and keys, share the answer.
#[test]
fn dynamic_scaling_reads_the_length_of_a_mask_back_once() {
    use crate::rotate::{RotaryPositionalEncodingConfig, Rotate};
    use crate::scaling::Dynamic;

    let device = Device::flex();
    let config = RotaryPositionalEncodingConfig::new(8).with_scaling(Dynamic::new(2.0, 16));
    let layers = [config.init(&device), config.init(&device)];
    let mask = Tensor::<2, Bool>::from_data([[true; 20]], &device);
    let positions = Positions::from_token_mask(mask);
    let Kind::Device(ids) = &positions.kind else {
        unreachable!("made from a mask");
    };
    let x = Tensor::<4>::ones([1, 1, 20, 8], &device);
    let rotated = |rope: &crate::RotaryPositionalEncoding, positions: &Positions| {
        let (q, k) = rope.rotate(x.clone(), x.clone(), positions);
        assert_eq!(crate::testing::distance(q.clone(), k), 0.0);
        crate::testing::values(q)
    };
    let of_length = |length: usize| {
        let source = crate::spectrum::buffer::RowSource::from(config.spectrum(length).unwrap());
        let lookup = Lookup::run(0, 20);
        let rows = source.rows(&lookup, burn::tensor::FloatDType::F32, &device);
        let turned = crate::rotate::turn::rotate(
            x.clone(),
            rows.unwrap().into(),
            config.layout,
            crate::layout::Turn::Forward,
        );
        crate::testing::values(turned)
    };
    assert_eq!(ids.end.load(Ordering::Relaxed), UNKNOWN);
    assert_eq!(rotated(&layers[0], &positions), of_length(20));
    assert_eq!(ids.end.load(Ordering::Relaxed), 20);
    // Another length in its place shows that nothing reads the mask back again.
    ids.end.store(40, Ordering::Relaxed);
    assert_ne!(of_length(40), of_length(20));
    for layer in &layers {
        assert_eq!(rotated(layer, &positions), of_length(40));
        assert_eq!(rotated(layer, &positions.clone()), of_length(40));
    }
}
