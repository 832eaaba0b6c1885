//! Schemes, a task and a network as a person writes them: with the public interface alone.

use burn::config::Config;
use burn::module::{Initializer, Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::activation::log_sigmoid;
use burn::tensor::{Bool, Device, Tensor};
use pe_burn::{
    Bias, Embed, ForgetGate, LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig,
    PositionError, Positional, Positions, Rotate,
};
use pe_encoder::EncoderConfig;
use pe_lab::task::{Answer, Toy};
use pe_lab::{Lab, Network, SchemeConfig};

/// All of them.
pub fn added_to(lab: Lab) -> Lab {
    lab.scheme(
        "slope",
        "scores fall with distance by trained slopes",
        |sizes| Ok(SlopeConfig::new(sizes.heads)),
    )
    .scheme(
        "flip",
        "queries and keys are doubled, and the second copy changes its sign at odd positions",
        |_| Ok(FlipConfig::new()),
    )
    .scheme(
        "abacus",
        "a trained vector for the place of a digit in its number",
        |sizes| Ok(AbacusConfig::new(sizes.d_model, sizes.max_len)),
    )
    .scheme(
        "own_fox",
        "each token forgets what came before it, by a gate from its hidden state",
        |sizes| Ok(FoxConfig::new(sizes.d_model, sizes.heads, sizes.layers)),
    )
    .scheme("broken", "fails as its setting says", |_| {
        Ok(BrokenConfig::new())
    })
    .task(Copy)
    .network::<Mean>("mean", "adds the mean of all tokens to each")
}

/// A bias with a parameter, and with two settings of which one is a whole number.
#[derive(Config, Debug)]
pub struct SlopeConfig {
    heads: usize,
    #[config(default = 0.5)]
    alpha: f64,
    #[config(default = 100)]
    most: usize,
}

#[derive(Module, Debug)]
pub struct Slope {
    /// `[heads]`
    slopes: Param<Tensor<1>>,
    most: usize,
}

impl SchemeConfig for SlopeConfig {
    type Scheme = Slope;

    fn init(&self, device: &Device) -> Result<Slope, PositionError> {
        if self.alpha < 0.0 {
            return Err(PositionError::Config {
                reason: format!("alpha is {}; it must be at least 0", self.alpha).into(),
            });
        }
        let slopes = Initializer::Constant { value: self.alpha }.init([self.heads], device);
        Ok(Slope {
            slopes,
            most: self.most,
        })
    }
}

impl Positional for Slope {
    fn as_bias(&self) -> Option<&dyn Bias> {
        Some(self)
    }
}

impl Bias for Slope {
    fn try_bias(
        &self,
        queries: (&Positions, usize),
        keys: (&Positions, usize),
    ) -> Result<Tensor<4>, PositionError> {
        let [q, k] = [queries, keys].map(|(positions, count)| positions.to_rows(count));
        let (q, k) = (&q?[0], &k?[0]);
        let distances = q
            .iter()
            .flat_map(|q| k.iter().map(|k| q.abs_diff(*k).min(self.most) as f32));
        let distances: Vec<f32> = distances.collect();
        let distances = Tensor::<1>::from_floats(&distances[..], &self.slopes.device());
        let [heads] = self.slopes.dims();
        let slopes = self.slopes.val().reshape([1, heads, 1, 1]);
        Ok(-slopes * distances.reshape([1, 1, q.len(), k.len()]))
    }
}

/// A rotation that knows Burn's operations alone, and makes queries and keys twice as wide.
#[derive(Config, Debug)]
pub struct FlipConfig {}

#[derive(Module, Debug)]
pub struct Flip {}

impl SchemeConfig for FlipConfig {
    type Scheme = Flip;

    fn init(&self, _: &Device) -> Result<Flip, PositionError> {
        Ok(Flip {})
    }
}

impl Positional for Flip {
    fn as_rotate(&self) -> Option<&dyn Rotate> {
        Some(self)
    }
}

impl Rotate for Flip {
    fn width(&self, d_head: usize) -> usize {
        2 * d_head
    }

    fn try_rotate_sides(
        &self,
        queries: Option<(Tensor<4>, &Positions)>,
        keys: Option<(Tensor<4>, &Positions)>,
    ) -> Result<[Option<Tensor<4>>; 2], PositionError> {
        let side = |side: Option<(Tensor<4>, &Positions)>| {
            side.map(|(x, positions)| {
                let [_, _, seq, _] = x.dims();
                let rows = positions.to_rows(seq)?;
                let signs: Vec<f32> = rows[0]
                    .iter()
                    .map(|p| if p % 2 == 0 { 1.0 } else { -1.0 })
                    .collect();
                let signs =
                    Tensor::<1>::from_floats(&signs[..], &x.device()).reshape([1, 1, seq, 1]);
                Ok(Tensor::cat(vec![x.clone(), x * signs], 3))
            })
            .transpose()
        };
        Ok([side(queries)?, side(keys)?])
    }
}

/// Positions that follow from the tokens: a number is a run of tokens below `digits`.
#[derive(Config, Debug)]
pub struct AbacusConfig {
    d_model: usize,
    max_len: usize,
    #[config(default = 2)]
    digits: usize,
}

#[derive(Module, Debug)]
pub struct Abacus {
    table: LearnedPositionalEmbedding,
}

impl SchemeConfig for AbacusConfig {
    type Scheme = Abacus;

    fn init(&self, device: &Device) -> Result<Abacus, PositionError> {
        let table = LearnedPositionalEmbeddingConfig::new(self.d_model, self.max_len + 8)
            .try_init(device)?;
        Ok(Abacus { table })
    }

    fn token_positions(&self, tokens: &[usize], draw: u64) -> Option<Vec<usize>> {
        let first = 1 + (draw % 8) as usize;
        let mut next = first;
        let place = |token: &usize| match *token < self.digits {
            true => {
                next += 1;
                next - 1
            }
            false => {
                next = first;
                0
            }
        };
        Some(tokens.iter().map(place).collect())
    }
}

impl Positional for Abacus {
    fn as_embed(&self) -> Option<&dyn Embed> {
        Some(&self.table)
    }
}

/// The forget gates of FoX (Lin et al. 2025): a linear layer for each layer of the model.
#[derive(Config, Debug)]
pub struct FoxConfig {
    d_model: usize,
    heads: usize,
    layers: usize,
}

#[derive(Module, Debug)]
pub struct Fox {
    gates: Vec<Linear>,
}

impl SchemeConfig for FoxConfig {
    type Scheme = Fox;

    fn init(&self, device: &Device) -> Result<Fox, PositionError> {
        let gate = |_| LinearConfig::new(self.d_model, self.heads).init(device);
        Ok(Fox {
            gates: (0..self.layers).map(gate).collect(),
        })
    }
}

impl Positional for Fox {
    fn as_forget_gate(&self) -> Option<&dyn ForgetGate> {
        Some(self)
    }
}

impl ForgetGate for Fox {
    fn try_log_gates(&self, layer: usize, x: Tensor<3>) -> Result<Tensor<3>, PositionError> {
        Ok(log_sigmoid(self.gates[layer].forward(x)).swap_dims(1, 2))
    }
}

/// Fails in one of several ways.
#[derive(Config, Debug)]
pub struct BrokenConfig {
    #[config(default = 1)]
    way: usize,
}

#[derive(Module, Debug)]
pub struct Broken {
    way: usize,
}

impl SchemeConfig for BrokenConfig {
    type Scheme = Broken;

    fn init(&self, _: &Device) -> Result<Broken, PositionError> {
        assert!(self.way != 0, "there is no way 0");
        Ok(Broken { way: self.way })
    }
}

impl Positional for Broken {
    fn as_embed(&self) -> Option<&dyn Embed> {
        Some(self)
    }
}

impl Embed for Broken {
    fn try_embed(&self, x: Tensor<3>, _: &Positions) -> Result<Tensor<3>, PositionError> {
        Ok(match self.way {
            1 => panic!("a mistake in the formula"),
            2 => x * f32::NAN,
            3 => x.narrow(1, 0, 1),
            4 => x.to_device(&elsewhere().autodiff()),
            way => panic!("there is no way {way}"),
        })
    }
}

/// A device that no training here runs on.
#[allow(deprecated)] // Burn's advice is for programs; these tests need a second device.
fn elsewhere() -> Device {
    Device::ndarray()
}

/// A task: each token again.
#[derive(Clone, Copy, Debug)]
pub struct Copy;

impl Toy for Copy {
    const NAME: &'static str = "copy";
    const ABOUT: &'static str = "toy: each of two symbols again";
    const SOURCE: &'static str = "this test";
    const TOKENS: usize = 2;
    const CLASSES: usize = 2;
    const TEST_LENGTHS: &'static [usize] = &[10, 20, 40];
    const STEPS: usize = 4;
    const FLOOR_ABOUT: &'static str = "a guess";

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        let places = tokens.iter().enumerate();
        places
            .map(|(place, token)| Answer {
                position: place + 1,
                class: *token,
            })
            .collect()
    }

    fn floor_at(_: usize) -> f64 {
        0.5
    }
}

/// A network without attention.
#[derive(Module, Debug)]
pub struct Mean {
    weight: Param<Tensor<2>>,
}

impl Network for Mean {
    fn init(config: &EncoderConfig, device: &Device) -> Result<Self, String> {
        let weight = Initializer::KaimingNormal {
            gain: 1.0,
            fan_out_only: false,
        };
        let weight = weight.init_with(
            [config.d_model; 2],
            Some(config.d_model),
            Some(config.d_model),
            device,
        );
        Ok(Self { weight })
    }

    fn takes(&self, scheme: &dyn Positional) -> Result<(), String> {
        match scheme.acts_in_layers() {
            true => Err("it has no attention".into()),
            false => Ok(()),
        }
    }

    fn forward(
        &self,
        x: Tensor<3>,
        _: Option<&Tensor<2, Bool>>,
        _: &dyn Positional,
        _: &Positions,
    ) -> Tensor<3> {
        let mean = x.clone().mean_dim(1).matmul(self.weight.val().unsqueeze());
        x + mean
    }
}
