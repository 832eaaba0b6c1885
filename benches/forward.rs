//! Adding the encoding to a batch, against other libraries and against a plain loop.
//!
//! ```text
//! cargo bench -p pe-benches -p pe-lab --bench forward
//! ```

use std::hint::black_box;

use burn::nn::{EmbeddingConfig, PositionalEncodingConfig};
use burn::tensor::{Device, Distribution, Int, Tensor};
use pe_benches::{Comparison, Owned, Peers, Target, cores, json};
use pe_burn::embedding::InputScale;
use pe_burn::{
    Embed, LearnedPositionalEmbeddingConfig, Positions, SinusoidalPositionalEncodingConfig,
};
use rayon::prelude::*;

type Shape = [usize; 3];

fn main() {
    let peers = Peers::start();
    for shape in [[8, 128, 64], [32, 512, 512], [64, 1_024, 512]] {
        owned(&peers, shape);
        shared(&peers, shape);
    }
    for shape in [[1, 1, 512], [32, 1, 512]] {
        decoding(&peers, shape);
    }
    options([32, 512, 512]);
    learned(&peers, [32, 512, 512]);
}

fn zeros(shape: Shape, device: &Device) -> Owned<Tensor<3>> {
    Owned::new(Tensor::zeros(shape, device))
}

/// `x[b][i] += pe[i]` over plain memory, on one thread or on all.
struct Plain {
    x: Vec<f32>,
    pe: Vec<f32>,
}

impl Plain {
    fn new([batch, seq, d_model]: Shape) -> Self {
        Self {
            x: vec![0.0; batch * seq * d_model],
            pe: vec![0.5; seq * d_model],
        }
    }

    fn on_one_thread(&mut self) {
        for row in self.x.chunks_mut(self.pe.len()) {
            add(row, &self.pe);
        }
        black_box(&self.x);
    }

    fn on_all_threads(&mut self) {
        let pe = &self.pe;
        self.x.par_chunks_mut(pe.len()).for_each(|row| add(row, pe));
        black_box(&self.x);
    }

    fn summed(&self) -> Vec<f32> {
        let mut sum = Vec::with_capacity(self.x.len());
        for row in self.x.chunks(self.pe.len()) {
            sum.extend(row.iter().zip(&self.pe).map(|(x, pe)| x + pe));
        }
        sum
    }
}

fn add(row: &mut [f32], pe: &[f32]) {
    row.iter_mut().zip(pe).for_each(|(x, pe)| *x += pe);
}

/// The number of rounds, and of calls in a turn, for an input of this shape.
fn effort([batch, seq, d_model]: Shape) -> (usize, usize) {
    match batch * seq * d_model {
        0..100_000 => (40, 200),
        100_000..10_000_000 => (40, 4),
        _ => (15, 2),
    }
}

/// The number of threads that a sum of this shape runs on.
fn threads([batch, seq, d_model]: Shape) -> usize {
    match batch * seq * d_model {
        0..=262_144 => 1,
        _ => cores(),
    }
}

fn named(what: &str, shape: Shape) -> String {
    format!("{what} {shape:?}")
}

fn owned(peers: &Peers, shape: Shape) {
    let device = Device::flex();
    let ours = SinusoidalPositionalEncodingConfig::new(shape[2]).init(&device);
    let burn = PositionalEncodingConfig::new(shape[2]).init(&device);
    let (a, b) = (zeros(shape, &device), zeros(shape, &device));
    let (mut one, mut all) = (Plain::new(shape), Plain::new(shape));
    let (rounds, repeat) = effort(shape);
    let case = json!({"case": "add", "with": "x += pe", "shape": shape});
    let within = Some(Target::Within(1.1));
    Comparison::new(named("forward, owned input", shape), rounds)
        .repeat(repeat)
        .way("pe-burn", threads(shape), None, || {
            a.pass(|x| ours.forward(x))
        })
        .way("burn::nn::PositionalEncoding", 1, None, || {
            b.pass(|x| burn.forward(x));
        })
        .peer(peers, "PyTorch, x += pe", None, case)
        .way("plain loop in place, one thread", 1, within, || {
            one.on_one_thread();
        })
        .way("plain loop in place, all threads", cores(), within, || {
            all.on_all_threads();
        })
        .run();
}

fn shared(peers: &Peers, shape: Shape) {
    let device = Device::flex();
    let ours = SinusoidalPositionalEncodingConfig::new(shape[2]).init(&device);
    let burn = PositionalEncodingConfig::new(shape[2]).init(&device);
    let x = Tensor::<3>::zeros(shape, &device);
    let plain = Plain::new(shape);
    let (rounds, repeat) = effort(shape);
    let case = |with: &str| json!({"case": "add", "with": with, "shape": shape});
    Comparison::new(named("forward, shared input", shape), rounds)
        .repeat(repeat)
        .way("pe-burn", threads(shape), None, || {
            drop(black_box(ours.forward(x.clone())));
        })
        .way("burn::nn::PositionalEncoding", 1, None, || {
            drop(black_box(burn.forward(x.clone())));
        })
        .peer(
            peers,
            "PyTorch, x + pe",
            Some(Target::Within(1.1)),
            case("x + pe"),
        )
        .peer(peers, "PyTorch, torch.compile", None, case("torch.compile"))
        .way("plain loop into fresh memory", 1, None, || {
            drop(black_box(plain.summed()));
        })
        .run();
}

fn decoding(peers: &Peers, shape: Shape) {
    let device = Device::flex();
    let ours = SinusoidalPositionalEncodingConfig::new(shape[2]).init(&device);
    let burn = PositionalEncodingConfig::new(shape[2]).init(&device);
    let [a, b, c] = [(); 3].map(|()| zeros(shape, &device));
    let at = Positions::from(7);
    Comparison::new(named("decoding step", shape), 60)
        .repeat(2_000)
        .note("burn::nn can only add the row of position 0.")
        .way("pe-burn, at position 7", 1, None, || {
            a.pass(|x| ours.embed(x, &at));
        })
        .way("pe-burn, at position 0", 1, None, || {
            c.pass(|x| ours.forward(x));
        })
        .way(
            "burn::nn::PositionalEncoding",
            1,
            Some(Target::Within(1.0)),
            || b.pass(|x| burn.forward(x)),
        )
        .peer(
            peers,
            "PyTorch, x += pe",
            None,
            json!({"case": "add", "with": "x += pe", "shape": shape}),
        )
        .run();
}

/// Each option against the plain forward of the same input.
fn options(shape: Shape) {
    let [batch, seq, d_model] = shape;
    let device = Device::flex();
    let config = SinusoidalPositionalEncodingConfig::new(d_model);
    let plain = config.init(&device);
    let scaled = config.clone().with_input_scale(InputScale::SqrtDModel);
    let scaled = scaled.init(&device);
    let starts = Positions::from_starts((0..batch).collect::<Vec<_>>());
    let ids: Vec<Vec<usize>> = (0..batch).map(|row| (row..row + seq).collect()).collect();
    let ids = Positions::from_id_rows(&ids).unwrap();
    let [a, b, c, d, e] = [(); 5].map(|()| zeros(shape, &device));
    let off = config.clone().with_dropout(0.1).init(&device);
    Comparison::new(named("options of the forward, owned input", shape), 20)
        .repeat(2)
        .note("Passes over the input, and those that the arithmetic needs: each of them 1 of 1.")
        .way("plain", threads(shape), None, || {
            a.pass(|x| plain.forward(x))
        })
        .way("dropout off", threads(shape), None, || {
            b.pass(|x| off.forward(x));
        })
        .way("input scale", threads(shape), None, || {
            c.pass(|x| scaled.forward(x))
        })
        .way("a start per row", threads(shape), None, || {
            d.pass(|x| plain.embed(x, &starts));
        })
        .way("ids", threads(shape), None, || {
            e.pass(|x| plain.embed(x, &ids))
        })
        .run();

    let training = Device::flex().autodiff();
    let x = Tensor::<3>::zeros(shape, &training);
    let without = config.init(&training);
    let with = config.with_dropout(0.1).init(&training);
    Comparison::new(named("dropout in training, shared input", shape), 20)
        .note(
            "Passes over the input: without 1 of 1; with dropout 4 of 3 (the sum, the random mask, \
             their product, and Burn's product with 1/(1 − p)).",
        )
        .way("with dropout", 1, None, || {
            drop(black_box(with.forward(x.clone())));
        })
        .way("without", threads(shape), None, || {
            drop(black_box(without.forward(x.clone())));
        })
        .way("Burn's random mask alone", 1, None, || {
            let kept = Distribution::Bernoulli(0.9);
            drop(black_box(Tensor::<3>::random(shape, kept, &training)));
        })
        .run();
}

/// A training step's share of learned positions: the sum and the gradient of the table.
fn learned(peers: &Peers, shape: Shape) {
    let [_, seq, d_model] = shape;
    let max_len = 1_024;
    let device = Device::flex().autodiff();
    let ours = LearnedPositionalEmbeddingConfig::new(d_model, max_len).init(&device);
    let burn = EmbeddingConfig::new(max_len, d_model).init(&device);
    let x = Tensor::<3>::zeros(shape, &device);
    let ids = Tensor::<1, Int>::arange(0..seq as i64, &device).unsqueeze::<2>();
    Comparison::new(named("learned, forward and backward", shape), 15)
        .way("pe-burn", 1, None, || {
            drop(black_box(ours.forward(x.clone()).sum().backward()));
        })
        .way(
            "burn::nn::Embedding on the same positions",
            1,
            Some(Target::Within(1.0)),
            || {
                let rows = burn.forward(ids.clone());
                drop(black_box((x.clone() + rows).sum().backward()));
            },
        )
        .peer(
            peers,
            "PyTorch, x + Embedding(positions)",
            None,
            json!({"case": "learned", "shape": shape, "max_len": max_len}),
        )
        .run();
}
