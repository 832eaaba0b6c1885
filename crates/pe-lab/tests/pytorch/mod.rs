//! A training whose weights, data and positions follow from formulas, so that a program in another language has the same ones:
//! `tests/peers/training.py` does the same in PyTorch and writes its losses.

use std::ops::RangeInclusive;

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{DType, Device, Tensor, TensorData};
use pe_lab::ask::{ModelSpec, Recipe, Scheme};
use pe_lab::learn::{Job, Model, Watch, train};
use pe_lab::task::{Answer, Readout, Sample, Task};
use serde::Deserialize;

const STEPS: usize = 100;
const VOCABULARY: usize = 12;
const CLASSES: usize = 5;
const ROWS: usize = 8;

/// One training in PyTorch.
#[derive(Deserialize)]
struct Peer {
    scheme: String,
    /// Whether the tokens are at positions that the data give, as random positions are, and not at 0, 1, 2, …
    given: bool,
    /// Whether an answer is read from the mean over a row, some of whose tokens are padding, and not from each token.
    pooled: bool,
    /// The loss of each step.
    losses: Vec<f64>,
}

/// Trains as PyTorch did, with weights of this type. No loss may differ by more than the `bound` of the scheme.
pub fn compare(device: &Device, of: DType, bound: impl Fn(&str) -> f64) {
    let text = include_str!("../../../../tests/peers/values/training.json");
    let peers: Vec<Peer> = serde_json::from_str(text).unwrap();
    assert_eq!(peers.len(), 22);
    for peer in peers {
        let losses = losses(&peer, device, of);
        assert_eq!((losses.len(), peer.losses.len()), (STEPS, STEPS));
        let Peer { scheme, given, .. } = &peer;
        for (step, (ours, theirs)) in losses.iter().zip(&peer.losses).enumerate() {
            // No comparison is true of a number that is none.
            assert!(
                (ours - theirs).abs() <= bound(scheme),
                "{scheme}, positions given: {given}, step {step}: {ours} and {theirs}"
            );
        }
    }
}

fn losses(peer: &Peer, device: &Device, of: DType) -> Vec<f64> {
    let spec = ModelSpec {
        d_model: 16,
        layers: 2,
        heads: 2,
        d_ff: 32,
        ..ModelSpec::default()
    };
    let task = Formulas {
        given: peer.given,
        pooled: peer.pooled,
    };
    let scheme = Scheme::by_name(&peer.scheme, &spec, 16).unwrap();
    let device = device.clone().autodiff();
    let model = Model::init(&spec, &task, &scheme, 1, &device).unwrap();
    let mut weights = Weights {
        path: Vec::new(),
        of,
    };
    let recipe = Recipe {
        batch_size: ROWS,
        learning_rate: 4e-3,
        warmup_steps: 10,
        ..Recipe::default()
    };
    let job = Job {
        task: &task,
        seed: 1,
        steps: STEPS,
        recipe: &recipe,
        device: &device,
    };
    train(model.map(&mut weights), job, Watch::steps(|_, _| {}))
        .unwrap()
        .losses
}

/// A number that follows from another, as if it were random (SplitMix64).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The weights of the parameter of a name: multiples of 2^-24, which `f32` has exactly too.
fn weights_of(path: &str, count: usize) -> Vec<f64> {
    // FNV-1a.
    let start = path.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let last = path.rsplit('.').next().unwrap();
    let (center, width) = match last {
        "gamma" | "r1" | "r2" | "c" | "threshold" => (1.0, 0.5),
        // The phases of PoPE are from -2π to 0.
        "phases" => (-2.0, 4.0),
        _ => (0.0, 1.0),
    };
    let unit = |nth| (mixed(start.wrapping_add(nth)) >> 40) as f64 / 2f64.powi(24) - 0.5;
    let weights = (0..count as u64).map(unit);
    weights.map(|unit| center + width * unit).collect()
}

struct Weights {
    path: Vec<String>,
    of: DType,
}

impl ModuleMapper for Weights {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_string());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (path, of) = (self.path.join("."), self.of);
        param.map(|tensor| {
            let dims = tensor.dims();
            let weights = weights_of(&path, dims.iter().product());
            let data = TensorData::new(weights, dims);
            Tensor::from_data(data, (&tensor.device(), of)).require_grad()
        })
    }
}

/// Tokens, lengths, times and classes by formulas.
struct Formulas {
    given: bool,
    pooled: bool,
}

impl Formulas {
    fn sample(&self, step: usize, row: usize) -> Sample {
        let drawn = |what: usize, below: usize| {
            let number = ((step * ROWS + row) * 64 + what) as u64;
            (mixed(number) % below as u64) as usize
        };
        // Without padding all rows of a step are as long.
        let longest = 5 + step % 5;
        let length = if self.pooled {
            2 + drawn(63, longest - 1)
        } else {
            longest
        };
        let tokens: Vec<usize> = (0..length).map(|at| drawn(at, VOCABULARY)).collect();
        let class = |at: usize| (tokens[at] + 2 * tokens[length - 1 - at]) % CLASSES;
        let answers = match self.pooled {
            true => vec![Answer {
                position: 0,
                class: class(0),
            }],
            false => (0..length)
                .map(|position| Answer {
                    position,
                    class: class(position),
                })
                .collect(),
        };
        let mut position = 0;
        let times = (0..length).map(|at| {
            position += 1 + drawn(32 + at, 40);
            position as f64
        });
        let times = self.given.then(|| times.collect());
        Sample {
            times,
            ..Sample::new(tokens, answers)
        }
    }
}

impl Task for Formulas {
    fn name(&self) -> &str {
        "formulas"
    }

    fn about(&self) -> &str {
        "a class that follows from two tokens"
    }

    fn source(&self) -> &str {
        "a formula"
    }

    fn vocabulary(&self) -> usize {
        VOCABULARY
    }

    fn classes(&self) -> usize {
        CLASSES
    }

    fn readout(&self) -> Readout {
        match self.pooled {
            true => Readout::MeanPooled,
            false => Readout::PerToken,
        }
    }

    fn floor(&self, _length: usize) -> f64 {
        1.0 / CLASSES as f64
    }

    fn floor_about(&self) -> &str {
        "guessing"
    }

    fn steps(&self) -> usize {
        STEPS
    }

    fn train_lengths(&self) -> RangeInclusive<usize> {
        2..=9
    }

    fn test_lengths(&self) -> Vec<usize> {
        Vec::new()
    }

    fn train_batch(&self, _seed: u64, step: usize, size: usize) -> Vec<Sample> {
        (0..size).map(|row| self.sample(step, row)).collect()
    }

    fn test_set(&self, _length: usize) -> Vec<Sample> {
        Vec::new()
    }
}
