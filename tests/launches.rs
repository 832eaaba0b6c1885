//! How many kernels a graphics card is asked to launch. Counted where Burn issues them, so that a card is
//! not needed. A process of its own: the observer sees the launches of all threads.
#![recursion_limit = "256"]

use std::sync::{Arc, Mutex};

use burn::tensor::{Device, Distribution, FloatDType, Tensor};
use burn_cubecl::cubecl::logging::{LaunchObservation, LaunchObserver};
use pe_burn::{Layout, Positions, RotaryPositionalEncodingConfig, Rotate};

#[derive(Default)]
struct Launches(Mutex<Vec<&'static str>>);

impl LaunchObserver for Launches {
    fn launched(&self, kernel: &'static str) {
        self.0.lock().unwrap().push(kernel);
    }
}

/// The kernels that `work` launches, and by how many bytes the memory in use grows meanwhile.
fn launches<T>(device: &Device, work: impl FnOnce() -> T) -> (Vec<&'static str>, i64) {
    let in_use = || {
        device.sync().unwrap();
        device.memory_pool_usage().unwrap().bytes_in_use as i64
    };
    let before = in_use();
    let seen = Arc::new(Launches::default());
    let watching = LaunchObservation::new(seen.clone());
    let held = work();
    let grown = in_use() - before;
    drop(watching);
    drop(held);
    let seen = seen.0.lock().unwrap().clone();
    (seen, grown)
}

/// Queries and keys together take one launch and no new memory, each of their gradients one more.
fn rotation(device: &Device) {
    let autodiff = device.clone().autodiff();
    for dtype in [FloatDType::F32, FloatDType::F16] {
        if !device.supports_dtype(dtype) {
            continue;
        }
        for layout in [Layout::Interleaved, Layout::Halves] {
            for width in [64, 16] {
                let config = RotaryPositionalEncodingConfig::new(64)
                    .with_rotary_dim(width)
                    .with_layout(layout);
                let random = |heads, device: &Device| {
                    let shape = [2, heads, 32, 64];
                    let x = Tensor::<4>::random(shape, Distribution::Default, device).cast(dtype);
                    device.sync().unwrap();
                    x
                };
                let rope = config.init(device);
                let at = Positions::from(5);
                drop(rope.rotate(random(4, device), random(2, device), &at));
                let (q, k) = (random(4, device), random(2, device));
                let (seen, grown) = launches(device, || rope.rotate(q, k, &at));
                assert_eq!(seen.len(), 1, "{device:?} {dtype:?} {layout:?}: {seen:?}");
                assert!(seen[0].contains("turn_both"), "{seen:?}");
                assert_eq!(grown, 0, "{device:?} {dtype:?} {layout:?}");

                let rope = config.init(&autodiff);
                let q = random(4, &autodiff).require_grad();
                let k = random(2, &autodiff).require_grad();
                let (turned_q, turned_k) = rope.rotate(q.clone(), k.clone(), &at);
                device.sync().unwrap();
                let (seen, _) = launches(device, || {
                    let of_q = turned_q.backward();
                    let of_k = turned_k.backward();
                    (q.grad(&of_q), k.grad(&of_k))
                });
                let turns = seen.iter().filter(|name| name.contains("turn_one"));
                assert_eq!(
                    turns.count(),
                    2,
                    "{device:?} {dtype:?} {layout:?}: {seen:?}"
                );
            }
        }
    }
}

#[test]
fn kernels_are_launched_as_often_as_promised() {
    let mut cards = pe_tests::devices();
    cards.retain(|device| device.memory_pool_usage().is_some());
    assert!(
        !cards.is_empty(),
        "no device in this build is a graphics card"
    );
    for device in cards {
        rotation(&device);
    }
}
