//! Building the table, against other libraries and against writing the same memory.
//!
//! ```text
//! cargo bench -p pe-benches -p pe-lab --bench table
//! ```

use std::hint::black_box;
use std::mem::MaybeUninit;

use burn::nn::PositionalEncodingConfig;
use burn::tensor::{Device, Tensor};
use pe_benches::blocks::{ALWAYS_NEW, Blocks};
use pe_benches::{Comparison, Measured, Peers, Row, Target, Unit, cores, json};
use pe_burn::{Positions, SinusoidalPositionalEncodingConfig, Spectrum};
use rayon::prelude::*;

#[global_allocator]
static BLOCKS: Blocks = Blocks::new();

fn main() {
    let sizes = [(5_000, 512), (8_192, 1_024), (131_072, 128)];
    // First, while no memory that was freed is left over.
    for (rows, d_model) in sizes {
        floor(rows, d_model);
    }
    let peers = Peers::start();
    for (rows, d_model) in sizes {
        // As glibc gives it, which PyTorch and NumPy have.
        BLOCKS.give_warm(rows * d_model * size_of::<f32>() <= ALWAYS_NEW);
        speed(&peers, rows, d_model);
        accuracy(&peers, rows, d_model);
    }
}

fn ours(rows: usize, d_model: usize) -> SinusoidalPositionalEncodingConfig {
    SinusoidalPositionalEncodingConfig::new(d_model).with_max_len(rows)
}

/// Burn insists on a base of at least as many as there are rows.
fn burn_base(rows: usize) -> usize {
    rows.max(10_000)
}

fn burn(rows: usize, d_model: usize) -> PositionalEncodingConfig {
    PositionalEncodingConfig::new(d_model)
        .with_max_sequence_size(rows)
        .with_max_timescale(burn_base(rows))
}

fn speed(peers: &Peers, rows: usize, d_model: usize) {
    let device = Device::flex();
    let (ours, burn) = (ours(rows, d_model), burn(rows, d_model));
    let entries = rows * d_model;
    let bytes = vec![1.5_f32; entries];
    let case =
        |with: &str| json!({"case": "table", "with": with, "rows": rows, "d_model": d_model});

    let small = entries < 5_000_000;
    let faster = small.then_some(Target::Faster(40.0));
    Comparison::new(
        format!("table {rows} × {d_model}"),
        if small { 40 } else { 12 },
    )
    .way("pe-burn, module", cores(), None, || {
        drop(black_box(ours.init(&device)));
    })
    .way("pe-burn, rows alone", cores(), None, || {
        drop(black_box(
            Spectrum::new(d_model, 1e4)
                .unwrap()
                .rows::<f32>(0..rows)
                .unwrap(),
        ));
    })
    .way("burn::nn::PositionalEncoding", 1, faster, || {
        drop(black_box(burn.init(&device)));
    })
    .peer(peers, "PyTorch, eager", faster, case("torch"))
    .peer(peers, "PyTorch, torch.compile", None, case("torch.compile"))
    .peer(peers, "NumPy", faster, case("numpy"))
    .way(
        "memcpy of as many bytes",
        1,
        small.then_some(Target::Within(4.0)),
        || drop(black_box(bytes.clone())),
    )
    .run();
}

/// The time of writing as many bytes, with as many threads: to memory that is new, which is what a program pays once,
/// and to memory that is warm. The library asks for large pages, of which new memory needs fewer; the writing does not.
fn floor(rows: usize, d_model: usize) {
    let device = Device::flex();
    let ours = ours(rows, d_model);
    for (memory, warm) in [("new", false), ("warm", true)] {
        BLOCKS.give_warm(warm);
        let title = format!("table {rows} × {d_model}, {memory} memory");
        let within = (!warm).then_some(Target::Within(1.5));
        Comparison::new(title, 40)
            .way("pe-burn, module", cores(), None, || {
                drop(black_box(ours.init(&device)));
            })
            .way("writing as many bytes", cores(), within, || {
                drop(black_box(written(rows * d_model)));
            })
            .run();
    }
}

/// So many numbers, written by all threads.
fn written(entries: usize) -> Vec<f32> {
    let mut numbers = Vec::with_capacity(entries);
    let value = black_box(1.5_f32);
    let room = &mut numbers.spare_capacity_mut()[..entries];
    room.par_chunks_mut(entries.div_ceil(cores()))
        .for_each(|part| part.fill(MaybeUninit::new(value)));
    // SAFETY: the parts are all of the room.
    unsafe { numbers.set_len(entries) };
    numbers
}

/// The largest error of each table, against rows in f64, which the tests hold within 1e-15 of
/// 60-digit arithmetic.
fn accuracy(peers: &Peers, rows: usize, d_model: usize) {
    let device = Device::flex();
    let exact: Vec<f64> = Spectrum::new(d_model, 1e4).unwrap().rows(0..rows).unwrap();
    let table = ours(rows, d_model).init(&device);
    let table = table.encode(&Positions::default(), rows).unwrap();
    let mut ways = vec![Measured::exact(
        "pe-burn",
        cores(),
        Some(Target::AtMost(3.0e-8)),
        largest_error(values(&table), &exact),
    )];

    let theirs = burn(rows, d_model).init(&device);
    let theirs = theirs.forward(Tensor::zeros([1, rows, d_model], &device));
    let base = burn_base(rows) as f64;
    let exact_burn: Vec<f64> = Spectrum::new(d_model, base).unwrap().rows(0..rows).unwrap();
    let error = largest_error(values(&theirs), &exact_burn);
    ways.push(Measured::exact(
        "burn::nn::PositionalEncoding",
        1,
        None,
        error,
    ));

    let mut missing = Vec::new();
    for (name, with) in [("PyTorch, eager", "torch"), ("NumPy", "numpy")] {
        let path = std::env::temp_dir().join(format!("pe-burn-{}.f32", std::process::id()));
        let request = json!({
            "case": "save", "with": with, "rows": rows, "d_model": d_model, "path": path,
        });
        if let Err(reason) = peers.ask(&request) {
            missing.push(format!("{name}: {reason}"));
            continue;
        }
        let bytes = std::fs::read(&path).expect("the table that was saved");
        std::fs::remove_file(&path).expect("a file of this process");
        let (entries, _) = bytes.as_chunks::<4>();
        let entries = entries.iter().map(|bytes| f32::from_le_bytes(*bytes));
        let error = largest_error(entries.collect(), &exact);
        ways.push(Measured::exact(name, 1, None, error));
    }
    Row {
        bench: format!("largest error of a table {rows} × {d_model}"),
        unit: Unit::Error,
        rounds: 1,
        ways,
        missing,
        note: None,
    }
    .print();
}

fn values(table: &Tensor<3>) -> Vec<f32> {
    table.to_data().try_to_vec().expect("a table of f32")
}

fn largest_error(table: Vec<f32>, exact: &[f64]) -> f64 {
    assert_eq!(table.len(), exact.len());
    let errors = table.iter().zip(exact);
    errors
        .map(|(entry, exact)| (f64::from(*entry) - exact).abs())
        .fold(0.0, f64::max)
}
