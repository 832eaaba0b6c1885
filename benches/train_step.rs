//! A training step of `pe-encoder`, against PyTorch and against Burn's own modules.
//!
//! ```text
//! cargo bench -p pe-benches -p pe-lab --bench train_step
//! ```
//!
//! With `--features pe-benches/tch` on LibTorch instead of flex, after `. scripts/backends-env`.
//!
//! A step goes forward, takes the cross-entropy of every answer, goes backward, lets Adam move the
//! parameters and reads the loss back. Those of `reverse` and `digits` also clip the gradient of
//! each parameter by its norm, as studies do. The batch is on the device already.

#[path = "language/steps.rs"]
mod steps;

use std::ops::RangeInclusive;

use burn::grad_clipping::GradientClippingConfig;
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::transformer::{
    TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::nn::{Embedding, EmbeddingConfig, LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::optim::AdamConfig;
use burn::tensor::{Device, Tensor};
use pe_benches::{Comparison, Peers, Target, cores, join_kernels, json};
use pe_burn::{Embed, PositionalConfig, PositionalScheme, Positions};
use pe_encoder::{Adam, Kernels};
use pe_lab::ask::{ModelSpec, Scheme};
use pe_lab::learn::{InputTensor, Model, TensorBatch};
use pe_lab::task::{Answer, Digits, Readout, Reverse, Sample, Task};
use steps::steps;

/// The allocator of the program that trains.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    join_kernels();
    let peers = Peers::start();
    for (size, setup) in [
        (
            "batch 32, seq 64, every position",
            Setup::new(&Every, 32, false),
        ),
        ("reverse: batch 64, seq 22", Setup::new(&Reverse, 64, true)),
        ("digits: batch 64, seq 64", Setup::new(&Digits, 64, true)),
    ] {
        let (name, device, most) = device();
        let case = |with: &str| json!({"case": "train_step", "with": with, "size": size});
        let within = Some(Target::Within(most));
        Comparison::new(format!("training step, {name}, {size}"), 40)
            .way("pe-encoder", cores(), None, ours(&setup, &device))
            .way("burn::nn modules", cores(), None, burns(&setup, &device))
            .peer(&peers, "PyTorch, eager", within, case("eager"))
            .peer(&peers, "PyTorch, compiled", None, case("compiled"))
            .run();
    }
}

/// The device, and how many times PyTorch's time a step may take there.
#[cfg(not(feature = "tch"))]
fn device() -> (&'static str, Device, f64) {
    ("flex", Device::flex().autodiff(), 1.0)
}

#[cfg(feature = "tch")]
fn device() -> (&'static str, Device, f64) {
    let device = pe_lab::device::open("tch").expect("the processor");
    ("tch", device.autodiff(), 1.05)
}

/// What is trained on.
struct Setup {
    task: &'static dyn Task,
    samples: Vec<Sample>,
    clipped: bool,
}

impl Setup {
    /// A batch of the longest sequences that the task trains on.
    fn new(task: &'static dyn Task, batch: usize, clipped: bool) -> Self {
        let longest = *task.train_lengths().end() + task.framing();
        let samples = (0..)
            .map(|step| task.train_batch(1, step, batch))
            .find(|samples| samples[0].input.len() == longest)
            .expect("one of them comes up");
        Self {
            task,
            samples,
            clipped,
        }
    }

    fn batch(&self, device: &Device) -> TensorBatch {
        TensorBatch::new(&self.samples, self.task.readout(), device)
    }
}

fn ours(setup: &Setup, device: &Device) -> impl FnMut() + use<> {
    let task = setup.task;
    let scheme = Scheme::by_name("sinusoidal", &ModelSpec::default(), 64).expect("a known name");
    let model = Model::init(&ModelSpec::default(), task, &scheme, 1, device).expect("known sizes");
    let adam = Adam {
        beta_1: 0.9,
        beta_2: 0.999,
        epsilon: 1e-5,
        clip_norm: setup.clipped.then_some(1.0),
        weight_decay: 0.0,
        kernels: Kernels::Auto,
    };
    steps(model, setup.batch(device), Model::loss, adam.into())
}

fn burns(setup: &Setup, device: &Device) -> impl FnMut() + use<> {
    let task = setup.task;
    let scheme = PositionalConfig::by_name("sinusoidal", 64, 4, 64).expect("a known name");
    let model = BurnModel {
        tokens: EmbeddingConfig::new(task.vocabulary(), 64).init(device),
        scheme: scheme.try_init(device).expect("known sizes"),
        encoder: TransformerEncoderConfig::new(64, 256, 4, 2)
            .with_norm_first(true)
            .with_dropout(0.0)
            .init(device),
        norm: LayerNormConfig::new(64).init(device),
        readout: LinearConfig::new(64, task.classes()).init(device),
    };
    let clipping = setup.clipped.then_some(GradientClippingConfig::Norm(1.0));
    let adam = AdamConfig::new().with_grad_clipping(clipping).init();
    steps(model, setup.batch(device), BurnModel::loss, adam)
}

/// The same model out of the modules that Burn has.
#[derive(Module, Debug)]
struct BurnModel {
    tokens: Embedding,
    scheme: PositionalScheme,
    encoder: TransformerEncoder,
    norm: LayerNorm,
    readout: Linear,
}

impl BurnModel {
    fn loss(&self, batch: TensorBatch) -> Tensor<1> {
        let InputTensor::Tokens(tokens) = batch.input else {
            unreachable!("the tasks of this bench are made of tokens")
        };
        let device = tokens.device();
        let x = self.tokens.forward(tokens);
        let x = self.scheme.embed(x, &Positions::default());
        let x = self.encoder.forward(TransformerEncoderInput::new(x));
        let x = self.norm.forward(x);
        let [rows, seq, d_model] = x.dims();
        let read_from = match batch.read {
            Some(flat) => x.reshape([rows * seq, d_model]).select(0, flat),
            None => x.mean_dim(1).reshape([rows, d_model]),
        };
        let logits = self.readout.forward(read_from);
        CrossEntropyLossConfig::new()
            .init(&device)
            .forward(logits, batch.targets)
    }
}

/// 64 tokens of 16, and an answer of 16 asked for at each.
struct Every;

impl Task for Every {
    fn name(&self) -> &str {
        "every"
    }

    fn about(&self) -> &str {
        "an answer at every position"
    }

    fn source(&self) -> &str {
        "this bench"
    }

    fn vocabulary(&self) -> usize {
        16
    }

    fn classes(&self) -> usize {
        16
    }

    fn readout(&self) -> Readout {
        Readout::PerToken
    }

    fn train_lengths(&self) -> RangeInclusive<usize> {
        64..=64
    }

    fn test_lengths(&self) -> Vec<usize> {
        vec![64]
    }

    fn train_batch(&self, _seed: u64, _step: usize, size: usize) -> Vec<Sample> {
        let class = |row: usize, position: usize| (row * 31 + position * position) % 16;
        let sample = |row| {
            let tokens: Vec<usize> = (0..64).map(|position| (row + position * 7) % 16).collect();
            let answer = |position| Answer {
                position,
                class: class(row, position),
            };
            Sample::new(tokens, (0..64).map(answer).collect())
        };
        (0..size).map(sample).collect()
    }

    fn test_set(&self, _length: usize) -> Vec<Sample> {
        Vec::new()
    }

    fn floor(&self, _length: usize) -> f64 {
        0.0
    }

    fn floor_about(&self) -> &str {
        "none"
    }

    fn solved_at(&self) -> Option<f64> {
        None
    }

    fn steps(&self) -> usize {
        0
    }
}
