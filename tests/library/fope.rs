//! FoPE against the code of its paper: `tests/peers/values/fope.json`.

use burn::module::Param;
use burn::tensor::{Device, Distribution, Tensor};
use pe_burn::rotary::FopeConfig;
use pe_burn::{PositionalConfig, Positions, Rotate};
use pe_tests::devices;
use serde::Deserialize;

use crate::{assert_close, assert_within, cases, distance, tensor, values};

#[derive(Deserialize)]
struct Case {
    peer: String,
    config: FopeConfig,
    start: usize,
    x: Vec<f32>,
    weights: Vec<f32>,
    sines: Vec<f32>,
    cosines: Vec<f32>,
    frequencies: usize,
    rotated: Vec<f64>,
    /// Of a weighted sum, for the input and the coefficients of sines and cosines.
    gradients: [Vec<f64>; 3],
}

#[test]
fn fope_as_in_the_code_of_its_paper() {
    let cases: Vec<Case> = cases(include_str!("../peers/values/fope.json"));
    assert_eq!(cases.len(), 4);
    for case in cases {
        for device in devices() {
            let device = device.autodiff();
            let FopeConfig { d_head, heads, .. } = case.config;
            let tokens = case.x.len() / heads / d_head;
            let by_head = |numbers: &[f32]| tensor(numbers, [1, heads, tokens, d_head], &device);
            let mut fope = case.config.clone().with_learned(true).init(&device);
            let shape = fope.sines.val().dims();
            assert_eq!(shape[1], case.frequencies);
            let coefficients =
                |numbers: &[f32]| Param::from_tensor(tensor(numbers, shape, &device));
            fope.sines = coefficients(&case.sines);
            fope.cosines = coefficients(&case.cosines);

            let x = by_head(&case.x).require_grad();
            let y = fope.rotate_queries(x.clone(), &Positions::from(case.start));
            let about = format!("{device:?} {} from {}", case.peer, case.start);
            assert_close(&values(y.clone()), &case.rotated, 1e-6, &about);
            let gradients = (y * by_head(&case.weights)).sum().backward();
            let ours = [
                values(x.grad(&gradients).unwrap()),
                values(fope.sines.val().grad(&gradients).unwrap()),
                values(fope.cosines.val().grad(&gradients).unwrap()),
            ];
            for (ours, theirs) in ours.iter().zip(&case.gradients) {
                assert_close(ours, theirs, 2e-6, &about);
            }
        }
    }
}

/// Decoding, rows of a batch with their own positions, real-valued positions, and other data types.
#[test]
fn fope_at_any_positions() {
    let device = Device::flex();
    let json = r#"{"kind": "fope", "d_head": 16, "heads": 3, "trained_len": 64}"#;
    let config: PositionalConfig = serde_json::from_str(json).unwrap();
    let scheme = config.init(&device);
    assert!(scheme.rotates());
    let x = Tensor::<4>::random([2, 3, 9, 16], Distribution::Default, &device);
    let starts = [5, 1_000_000];
    let all = scheme.rotate_queries(x.clone(), &Positions::from_starts(starts));
    for (row, start) in starts.into_iter().enumerate() {
        for token in 0..9 {
            let one = |x: &Tensor<4>| x.clone().narrow(0, row, 1).narrow(2, token, 1);
            let step = scheme.rotate_keys(one(&x), &Positions::from(start + token));
            assert!(distance(step, one(&all)) < 1e-6);
        }
    }
    let times: Vec<Vec<f64>> = starts
        .iter()
        .map(|start| {
            (*start..start + 9)
                .map(|position| position as f64)
                .collect()
        })
        .collect();
    let times = Positions::from_time_rows(&times).unwrap();
    let same = scheme.rotate_queries(x.clone(), &times);
    assert!(distance(all.clone(), same) < 1e-6);
    let half = x.cast(burn::tensor::FloatDType::F16);
    let half = scheme.rotate_queries(half, &Positions::from_starts(starts));
    assert_eq!(half.dtype(), burn::tensor::DType::F16);
    let all = values(all);
    let largest = all.iter().fold(0.0_f32, |most, y| most.max(y.abs()));
    assert_within(&values(half), &all, f64::from(2e-3 * largest), "in f16");
}
