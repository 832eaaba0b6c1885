//! PoPE against the package PoPE-pytorch: `tests/peers/values/pope.json`.

use burn::module::Param;
use pe_burn::rotary::PopeConfig;
use pe_burn::{Positions, Rotate};
use pe_tests::devices;
use serde::Deserialize;

use crate::{apart, assert_close, cases, random, tensor, values};

#[derive(Deserialize)]
struct Case {
    peer: String,
    config: PopeConfig,
    start: usize,
    q: Vec<f32>,
    k: Vec<f32>,
    phases: Vec<f32>,
    weights: Vec<f32>,
    queries: Vec<f64>,
    keys: Vec<f64>,
    /// Of a weighted sum of the keys, for the keys and the phases.
    gradients: [Vec<f64>; 2],
}

#[test]
fn pope_as_in_the_package() {
    let cases: Vec<Case> = cases(include_str!("../peers/values/pope.json"));
    assert_eq!(cases.len(), 4);
    for case in cases {
        for device in devices() {
            let device = device.autodiff();
            let PopeConfig { d_head, heads, .. } = case.config;
            let tokens = case.q.len() / heads / d_head;
            let by_head =
                |numbers: &[f32], width: usize| tensor(numbers, [1, heads, tokens, width], &device);
            let mut pope = case.config.clone().init(&device);
            let phases = tensor(&case.phases, [heads, d_head], &device);
            pope.phases = Param::from_tensor(phases);

            let (q, k) = (
                by_head(&case.q, d_head),
                by_head(&case.k, d_head).require_grad(),
            );
            let (q, turned) = pope.rotate(q, k.clone(), &Positions::from(case.start));
            let about = format!("{device:?} {} from {}", case.peer, case.start);
            assert_close(&values(q), &case.queries, 2e-6, &about);
            assert_close(&values(turned.clone()), &case.keys, 2e-6, &about);
            let gradients = (turned * by_head(&case.weights, 2 * d_head))
                .sum()
                .backward();
            let ours = [
                values(k.grad(&gradients).unwrap()),
                values(pope.phases.val().grad(&gradients).unwrap()),
            ];
            // The package has no gradient for phases outside of their range, which so stay there.
            let inside = |of: usize| (-core::f32::consts::TAU..=0.0).contains(&case.phases[of]);
            let [mut keys, mut phases] = case.gradients.clone();
            for (of, theirs) in phases.iter_mut().enumerate().filter(|(of, _)| !inside(*of)) {
                assert_eq!(*theirs, 0.0, "{about}");
                *theirs = f64::from(ours[1][of]);
            }
            for (ours, theirs) in ours.iter().zip([&mut keys, &mut phases]) {
                assert_close(ours, theirs, 1e-5, &about);
            }
        }
    }
}

/// Scores depend on the distance alone, however far the positions are.
#[test]
fn scores_of_pope_depend_on_the_distance() {
    for device in devices() {
        let pope = PopeConfig::new(8, 2).init(&device);
        let (q, k) = (random([1, 2, 3, 8], &device), random([1, 2, 3, 8], &device));
        let scores = |start: usize| {
            let (q, k) = pope.rotate(q.clone(), k.clone(), &Positions::from(start));
            values(q.matmul(k.transpose()))
        };
        let near = scores(0);
        let most = near.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        for start in [1, 5_000, 1 << 40] {
            let apart = apart(&near, &scores(start)) / most;
            assert!(apart < 1e-6, "{device:?} from {start}: {apart}");
        }
    }
}
