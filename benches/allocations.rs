//! Counts the large allocations of a call: none where the input is owned, one where it is
//! shared, and never the table.
//!
//! ```text
//! cargo bench -p pe-benches -p pe-lab --bench allocations
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use burn::tensor::{Device, Tensor};
use pe_benches::{Measured, Row, Target, Unit};
use pe_burn::embedding::InputScale;
use pe_burn::{
    Embed, Positions, RotaryPositionalEncodingConfig, Rotate, SinusoidalPositionalEncodingConfig,
};

/// The system's allocator, counting the allocations of at least [`LARGE`] bytes.
struct Counting;

static LARGE: AtomicUsize = AtomicUsize::new(usize::MAX);
static COUNT: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(size: usize) {
    if size >= LARGE.load(Relaxed) {
        COUNT.fetch_add(1, Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator with its arguments unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        unsafe { System.dealloc(memory, layout) }
    }
}

/// The number of allocations of at least `bytes` bytes that a call makes.
fn large_allocations(bytes: usize, call: impl FnOnce()) -> f64 {
    COUNT.store(0, Relaxed);
    LARGE.store(bytes, Relaxed);
    call();
    LARGE.store(usize::MAX, Relaxed);
    COUNT.load(Relaxed) as f64
}

fn main() {
    let device = Device::flex();
    let own = |what: &str, shape: &[usize], number: f64, at_most: f64| {
        Row {
            bench: format!("allocations of the output's size, {what} {shape:?}"),
            unit: Unit::Count,
            rounds: 1,
            ways: vec![Measured::exact(
                "pe-burn",
                1,
                Some(Target::AtMost(at_most)),
                number,
            )],
            missing: Vec::new(),
            note: None,
        }
        .print();
    };

    for shape in [[8, 128, 64], [32, 512, 512], [64, 1_024, 512]] {
        let bytes = shape.iter().product::<usize>() * size_of::<f32>();
        let zeros = || Tensor::<3>::zeros(shape, &device);
        let config = SinusoidalPositionalEncodingConfig::new(shape[2]);
        let pe = config.init(&device);
        let forward = |x: Tensor<3>| large_allocations(bytes, || drop(black_box(pe.forward(x))));
        own("owned input", &shape, forward(zeros()), 0.0);
        let kept = zeros();
        own("shared input", &shape, forward(kept.clone()), 1.0);

        let scaled = config.with_input_scale(InputScale::SqrtDModel);
        let scaled = scaled.init(&device);
        let x = zeros();
        let number = large_allocations(bytes, || drop(black_box(scaled.forward(x))));
        own("owned input, input scale", &shape, number, 0.0);

        let starts = Positions::from_starts((0..shape[0]).collect::<Vec<_>>());
        let x = zeros();
        let number = large_allocations(bytes, || drop(black_box(pe.embed(x, &starts))));
        own("owned input, a start per row", &shape, number, 1.0);
    }

    // Queries or keys with their heads side by side in each token: the rotation takes them as a view and stays in their memory.
    for shape in [[8, 512, 8, 64], [1, 1, 8, 64]] {
        let bytes = shape.iter().product::<usize>() * size_of::<f32>();
        let rope = RotaryPositionalEncodingConfig::new(64).init(&device);
        let [q, k] = [(); 2].map(|()| Tensor::<4>::zeros(shape, &device));
        let at = Positions::from(7);
        let number = large_allocations(bytes, || drop(black_box(rope.rotate_bshd(q, k, &at))));
        own("rotate_bshd, owned input", &shape, number, 0.0);
    }

    // A decoding step is so small that a copy of its table's rows, or of the table, would show as
    // anything that is as large as one row.
    for batch in [1, 32] {
        let shape = [batch, 1, 512];
        let pe = SinusoidalPositionalEncodingConfig::new(512).init(&device);
        let (x, at) = (Tensor::<3>::zeros(shape, &device), Positions::from(7));
        let row = 512 * size_of::<f32>();
        let number = large_allocations(row, || drop(black_box(pe.embed(x, &at))));
        own("or of a row, decoding step", &shape, number, 0.0);
    }
}
