//! Rotating queries, against other libraries and against a plain loop.
//!
//! ```text
//! cargo bench -p pe-benches -p pe-lab --bench rotary
//! ```

use std::hint::black_box;

use burn::nn::{RotaryEncoding, RotaryEncodingConfig};
use burn::tensor::{Device, Tensor};
use pe_benches::{Comparison, Owned, Peers, Target, cores, json};
use pe_burn::{
    Layout, Positions, RotaryPositionalEncoding, RotaryPositionalEncodingConfig, Rotate,
};
use rayon::prelude::*;

type Shape = [usize; 4];

/// Against the module of Burn, and against PyTorch's three kernels.
const BURN: Option<Target> = Some(Target::Faster(5.0));
const PYTORCH: Option<Target> = Some(Target::Within(1.0));

fn main() {
    let peers = Peers::start();
    for shape in [[8, 8, 512, 64], [32, 12, 128, 64]] {
        for layout in [Layout::Halves, Layout::Interleaved] {
            owned(&peers, shape, layout);
            shared(&peers, shape, layout);
        }
    }
    for layout in [Layout::Halves, Layout::Interleaved] {
        decoding(&peers, [1, 32, 1, 128], layout);
    }
    far_decoding([1, 32, 1, 128], Layout::Halves);
}

fn name(layout: Layout) -> &'static str {
    match layout {
        Layout::Halves => "halves",
        Layout::Interleaved => "interleaved",
    }
}

fn titled(what: &str, layout: Layout, shape: Shape) -> String {
    format!("{what}, {} {shape:?}", name(layout))
}

fn modules(
    [_, _, seq, d_head]: Shape,
    layout: Layout,
) -> (RotaryPositionalEncoding, RotaryEncoding) {
    let device = Device::flex();
    let rows = seq.max(64);
    let ours = RotaryPositionalEncodingConfig::new(d_head).with_layout(layout);
    (
        ours.with_max_len(rows).init(&device),
        RotaryEncodingConfig::new(rows, d_head).init(&device),
    )
}

fn zeros(shape: Shape) -> Tensor<4> {
    Tensor::zeros(shape, &Device::flex())
}

/// What a peer is asked for.
fn case(layout: Layout, shape: Shape) -> impl Fn(&str) -> serde_json::Value {
    move |with| json!({"case": "rotary", "layout": name(layout), "with": with, "shape": shape})
}

/// Pairs rotated in a slice, on one thread or on all.
struct Plain {
    x: Vec<f32>,
    /// For every position all cosines, then all sines.
    rows: Vec<f32>,
    d_head: usize,
    layout: Layout,
}

impl Plain {
    fn new([batch, heads, seq, d_head]: Shape, layout: Layout) -> Self {
        Self {
            x: vec![0.0; batch * heads * seq * d_head],
            rows: vec![0.5; seq * d_head],
            d_head,
            layout,
        }
    }

    fn on_one_thread(&mut self) {
        for head in self.x.chunks_mut(self.rows.len()) {
            turn(head, &self.rows, self.d_head, self.layout);
        }
        black_box(&mut self.x);
    }

    fn on_all_threads(&mut self) {
        let (rows, d_head, layout) = (&self.rows, self.d_head, self.layout);
        let heads = self.x.par_chunks_mut(rows.len());
        heads.for_each(|head| turn(head, rows, d_head, layout));
        black_box(&mut self.x);
    }

    fn turned(&self) -> Vec<f32> {
        let mut y = self.x.clone();
        for head in y.chunks_mut(self.rows.len()) {
            turn(head, &self.rows, self.d_head, self.layout);
        }
        y
    }
}

fn turn(head: &mut [f32], rows: &[f32], d_head: usize, layout: Layout) {
    for (x, row) in head.chunks_exact_mut(d_head).zip(rows.chunks_exact(d_head)) {
        let (cos, sin) = row.split_at(d_head / 2);
        let angles = cos.iter().zip(sin);
        match layout {
            Layout::Halves => {
                let (a, b) = x.split_at_mut(d_head / 2);
                for ((a, b), (cos, sin)) in a.iter_mut().zip(b).zip(angles) {
                    (*a, *b) = (*a * cos - *b * sin, *a * sin + *b * cos);
                }
            }
            Layout::Interleaved => {
                for (pair, (cos, sin)) in x.as_chunks_mut::<2>().0.iter_mut().zip(angles) {
                    let [a, b] = *pair;
                    *pair = [a * cos - b * sin, a * sin + b * cos];
                }
            }
        }
    }
}

fn owned(peers: &Peers, shape: Shape, layout: Layout) {
    let ((ours, burn), case) = (modules(shape, layout), case(layout, shape));
    let [a, b] = [(); 2].map(|()| Owned::new(zeros(shape)));
    let [mut one, mut all] = [(); 2].map(|()| Plain::new(shape, layout));
    let at = Positions::default();
    Comparison::new(titled("rotary, owned input", layout, shape), 20)
        .repeat(2)
        .note("burn::nn pairs neighbouring columns alone; PyTorch writes into fresh memory.")
        .way("pe-burn", cores(), None, || {
            a.pass(|x| ours.rotate_queries(x, &at))
        })
        .way("burn::nn::RotaryEncoding", cores(), BURN, || {
            b.pass(|x| burn.forward(x));
        })
        .peer(peers, "PyTorch, eager", PYTORCH, case("torch"))
        .way("plain loop in place, one thread", 1, None, || {
            one.on_one_thread();
        })
        .way("plain loop in place, all threads", cores(), None, || {
            all.on_all_threads();
        })
        .run();
}

fn shared(peers: &Peers, shape: Shape, layout: Layout) {
    let ((ours, burn), case) = (modules(shape, layout), case(layout, shape));
    let x = zeros(shape);
    let plain = Plain::new(shape, layout);
    let at = Positions::default();
    Comparison::new(titled("rotary, shared input", layout, shape), 20)
        .repeat(2)
        .way("pe-burn", cores(), None, || {
            drop(black_box(ours.rotate_queries(x.clone(), &at)));
        })
        .way("burn::nn::RotaryEncoding", cores(), BURN, || {
            drop(black_box(burn.forward(x.clone())));
        })
        .peer(peers, "PyTorch, eager", PYTORCH, case("torch"))
        .peer(peers, "PyTorch, torch.compile", None, case("torch.compile"))
        .way("plain loop over a copy", 1, None, || {
            drop(black_box(plain.turned()));
        })
        .run();
}

/// A token for each head, at a position of the buffer.
fn decoding(peers: &Peers, shape: Shape, layout: Layout) {
    let ((ours, burn), case) = (modules(shape, layout), case(layout, shape));
    let [a, b] = [(); 2].map(|()| Owned::new(zeros(shape)));
    let mut plain = Plain::new(shape, layout);
    let at = Positions::from(7);
    Comparison::new(titled("rotary, decoding step", layout, shape), 40)
        .repeat(500)
        .way("pe-burn", 1, None, || {
            a.pass(|x| ours.rotate_queries(x, &at))
        })
        .way("burn::nn::RotaryEncoding", 1, BURN, || {
            b.pass(|x| burn.apply(x, 7));
        })
        .peer(peers, "PyTorch, eager", PYTORCH, case("torch"))
        .way("plain loop in place, one thread", 1, None, || {
            plain.on_one_thread();
        })
        .run();
}

/// Queries and keys of one token, far past the rows that the buffer started with.
fn far_decoding(shape: Shape, layout: Layout) {
    let (ours, _) = modules(shape, layout);
    let [near_q, near_k, far_q, far_k] = [(); 4].map(|()| Owned::new(zeros(shape)));
    let (near, far) = (Positions::from(7), Positions::from(100_000));
    let step = |q: &Owned<Tensor<4>>, k: &Owned<Tensor<4>>, at: &Positions| {
        q.pass(|x| {
            let mut rotated = None;
            k.pass(|y| {
                let (x, y) = ours.rotate(x, y, at);
                rotated = Some(x);
                y
            });
            rotated.expect("the queries were rotated")
        });
    };
    Comparison::new(
        titled(
            "rotary, decoding step of q and k at position 100,000",
            layout,
            shape,
        ),
        40,
    )
    .repeat(500)
    .note("The buffer started with 64 rows and has grown.")
    .way("pe-burn", 1, None, || step(&far_q, &far_k, &far))
    .way(
        "pe-burn at position 7",
        1,
        Some(Target::Within(1.1)),
        || {
            step(&near_q, &near_k, &near);
        },
    )
    .run();
}
