//! The numbers that well-known tutorials print for this encoding.

use std::collections::HashSet;

use burn::tensor::{Device, Tensor};
use pe_burn::{Positions, SinusoidalPositionalEncodingConfig, Spectrum};

use crate::{distance, random, values};

/// "I am a robot": n = 100, d = 4, four positions.
#[test]
fn i_am_a_robot() {
    let expected = [
        [0.0, 1.0, 0.0, 1.0],
        [0.841_470_98, 0.540_302_31, 0.099_833_42, 0.995_004_17],
        [0.909_297_43, -0.416_146_84, 0.198_669_33, 0.980_066_58],
        [0.141_120_01, -0.989_992_5, 0.295_520_21, 0.955_336_49],
    ];
    let rows: Vec<f64> = Spectrum::new(4, 100.0).unwrap().rows(0..4).unwrap();
    for (entry, expected) in rows.iter().zip(expected.as_flattened()) {
        assert!((entry - expected).abs() < 5.1e-9, "{entry} {expected}");
    }
}

#[test]
fn a_table_of_100_by_512() {
    let pe = SinusoidalPositionalEncodingConfig::new(512).init(&Device::flex());
    let table = pe.encode(&Positions::default(), 100).unwrap();
    assert_eq!(table.dims(), [1, 100, 512]);
    let table = values(table);
    assert!(table.iter().all(|entry| (-1.0..=1.0).contains(entry)));
    let rows: HashSet<Vec<u32>> = table
        .chunks(512)
        .map(|row| row.iter().map(|entry| entry.to_bits()).collect())
        .collect();
    assert_eq!(rows.len(), 100);
}

/// The module of the PyTorch tutorials computes its table in f32:
/// `div = exp(arange(0, d, 2) * (-ln(10000) / d))`, `pe[:, 0::2] = sin(position * div)`.
#[test]
fn the_pytorch_module() {
    let (max_len, d_model) = (5_000, 128);
    let step = -(10_000_f64.ln() as f32) / d_model as f32;
    let mut table = vec![0.0_f32; max_len * d_model];
    for (p, row) in table.chunks_mut(d_model).enumerate() {
        for (i, pair) in row.chunks_mut(2).enumerate() {
            let angle = p as f32 * (2.0 * i as f32 * step).exp();
            (pair[0], pair[1]) = (angle.sin(), angle.cos());
        }
    }
    let device = Device::flex();
    let pytorch =
        Tensor::<1>::from_floats(table.as_slice(), &device).reshape([1, max_len, d_model]);
    let pe = SinusoidalPositionalEncodingConfig::new(d_model)
        .with_dropout(0.1)
        .init(&device);
    let x = random([2, max_len, d_model], &device);
    assert!(distance(pe.forward(x.clone()), x + pytorch) < 5e-4);
}
