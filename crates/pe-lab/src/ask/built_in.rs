//! The schemes, tasks and networks that every laboratory has. To add one, add an entry here.

use burn::module::Initializer;
use burn::tensor::Device;
use pe_burn::RopeScaling;
use pe_burn::content::{InklingConfig, TupeConfig};
use pe_burn::embedding::{Gain, Time2VecConfig};
use pe_burn::gates::FoxConfig;
use pe_burn::rotary::FopeConfig;
use pe_burn::weights::ErpeConfig;
use pe_burn::{
    AlibiShape, Axes, Formula, PositionError, PositionalConfig, PositionalScheme,
    RotaryPositionalEncodingConfig, SinusoidalPositionalEncodingConfig, T5RelativeBiasConfig,
};
use pe_encoder::Encoder;

use super::encoding::SchemeConfig;
use super::lab::{Lab, PositionsFrom, SchemeEntry};
use super::network::ENCODER;
use super::scaling::{Lengths, SCALINGS, with_factor, with_original};
use super::sizes::Sizes;
use crate::data::{co2, digits_32};
use crate::task::{
    Addition, AdditionReversed, BucketSort, Counting, Digits, FirstEqLast, IndirectIndexing,
    Majority, MissingDuplicate, ModularArithmetic, Mqar, OddsFirst, Passkey, PosMod4,
    PrevOccurrence, Reverse, SelectiveCopy, Shift3, Sort50, text,
};

/// The name of each scheme, what it does and where it comes from.
const SCHEMES: [(&str, &str); 28] = [
    (
        "none",
        "no positions at all: the control of every comparison",
    ),
    (
        "sinusoidal",
        "a fixed pattern of sines and cosines, added (Vaswani et al. 2017)",
    ),
    (
        "learned",
        "a trained vector for every position, added (Gehring et al. 2017; BERT, GPT-2)",
    ),
    (
        "rotary",
        "queries and keys rotated by their position (RoPE; Su et al. 2021; Llama)",
    ),
    (
        "xpos",
        "as rotary, and fading with distance (Sun et al. 2022; Toto 2 on half of a head)",
    ),
    (
        "pope",
        "content says how long, positions say in which direction (PoPE; Gopalakrishnan et al. 2025)",
    ),
    (
        "fox",
        "scores fall at each token by a gate of its hidden state, for causal tasks (FoX; Lin et al. 2025)",
    ),
    (
        "fox_rotary",
        "as fox and rotary together, for causal tasks (Lin et al. 2025)",
    ),
    (
        "inkling",
        "each token mixes trained scores of the distances to the left, by its hidden state (Inkling, Thinking Machines 2026)",
    ),
    (
        "alibi",
        "scores fall linearly with distance (ALiBi; Press et al. 2021)",
    ),
    (
        "t5",
        "a trained score for every range of distances, on each side (Raffel et al. 2020)",
    ),
    (
        "kerple",
        "scores fall along a trained function of distance, the same on both sides (Chi et al. 2022)",
    ),
    (
        "fire",
        "scores from a small network of distance, the same on both sides (Li et al. 2023)",
    ),
    (
        "scaled_sinusoidal",
        "as sinusoidal, times a trained number (Vaswani et al. 2017; Transformer-TTS)",
    ),
    (
        "randomized_sinusoidal",
        "as sinusoidal, at random positions in ascending order (Ruoss et al. 2023)",
    ),
    (
        "randomized_rotary",
        "as rotary, at random positions in ascending order (Ruoss et al. 2023)",
    ),
    (
        "sinusoidal_2d",
        "as sinusoidal, half of it for the row and half for the column of a grid",
    ),
    (
        "rotary_2d",
        "as rotary, half of it by the row and half by the column of a grid",
    ),
    (
        "shaw",
        "queries against a trained vector for each of the nearest distances (Shaw et al. 2018)",
    ),
    (
        "transformer_xl",
        "queries against projected sinusoids of the distance (Dai et al. 2019; Conformer)",
    ),
    (
        "deberta",
        "queries and keys against trained vectors of ranges of distances (He et al. 2020)",
    ),
    (
        "fope",
        "as rotary, and pairs turn by random mixtures of frequencies (FoPE; Hua et al. 2024)",
    ),
    (
        "cope",
        "distances that count what a query looks at, to the left alone (Golovneva et al. 2024)",
    ),
    (
        "tape",
        "as sinusoidal, its frequencies times width / training length (tAPE; Foumani et al. 2023)",
    ),
    (
        "tupe",
        "words against words and trained positions against positions, apart (TUPE-A; Ke et al. 2021)",
    ),
    (
        "tupe_r",
        "as tupe, and a trained score for every range of distances (TUPE-R; Ke et al. 2021)",
    ),
    (
        "erpe",
        "a trained number for every distance, added to the weights after the softmax (eRPE; Foumani et al. 2023)",
    ),
    (
        "time2vec",
        "trained waves of the time and one line, added (Kazemi et al. 2019); time counts in training lengths",
    ),
];

impl Lab {
    /// The built-in schemes, tasks and networks.
    #[must_use]
    pub fn built_in() -> Self {
        Self::default()
            .with_schemes()
            .with_tasks()
            .network::<Encoder>(
                ENCODER,
                "a pre-norm transformer encoder, or decoder where a task is causal",
            )
            .all_built_in()
    }

    fn with_schemes(self) -> Self {
        SCHEMES.iter().fold(self, |lab, (name, about)| {
            let mut entry = SchemeEntry::new(name, about, |sizes| configuration(name, sizes));
            if let Some(here) = here(name) {
                entry = entry.with_here(here);
            }
            if name.starts_with("randomized") {
                entry = entry.with_positions(PositionsFrom::Draws);
            }
            lab.scheme_entry(entry)
        })
    }

    /// Apart are a text, which takes longer than all others together; a forecast, whose error has no bound, so that a mean
    /// over tasks would be about it; and the digits a second time.
    fn with_tasks(self) -> Self {
        self.task(Digits)
            .task(Reverse)
            .task(BucketSort)
            .task(FirstEqLast)
            .task(Shift3)
            .task(PrevOccurrence)
            .task(PosMod4)
            .task(Majority)
            .task(MissingDuplicate)
            .task(Mqar)
            .task(Passkey)
            .task(Addition)
            .task(AdditionReversed)
            .task(OddsFirst)
            .task(SelectiveCopy)
            .task(Counting)
            .task(IndirectIndexing)
            .task(ModularArithmetic)
            .task(Sort50)
            .task_apart("text", text)
            .task_apart("co2", co2)
            .task_apart("digits_32", digits_32)
    }
}

/// How a scheme differs here from its source.
fn here(name: &str) -> Option<&'static str> {
    Some(match name {
        "learned" => "it starts at N(0, 0.7), as large as the sinusoidal values",
        "alibi" => {
            "a variant, not the paper's own: a key to the right counts as half a step farther away, so that the \
             encoder can tell left from right"
        }
        "pope" => {
            "phases start anywhere from −2π to 0, the paper's other choice: with phases of 0 the encoder could not tell left \
             from right"
        }
        "inkling" => {
            "keys farther away than the training length get no score, as those beyond 1,024 tokens there"
        }
        "t5" => "the scores start at N(0, 1), since these trainings are short",
        "fope" => {
            "frequencies are left out that make no whole turn in 7 tokens, where training has fewer"
        }
        "tupe_r" => "the scores of distances start at N(0, 1), since these trainings are short",
        _ => return None,
    })
}

/// The configuration of a scheme: that of the library's scheme of the same name, unless another is named here.
fn configuration(name: &str, sizes: &Sizes) -> Result<PositionalConfig, PositionError> {
    use PositionalConfig::{Alibi, Erpe, Learned, Pope, Rotary, Sinusoidal, T5, Tupe};
    let of_library = match name {
        "inkling" => return Ok(distances_of_training(sizes)),
        "fox" => return Ok(PositionalConfig::Fox(gates(sizes))),
        "fox_rotary" => return Ok(rotated_gates(sizes)),
        "fope" => return Ok(whole_turns_in_training(sizes)),
        "tape" => return Ok(scaled_to_training(sizes)),
        "time2vec" => return Ok(waves_of_training(sizes)),
        "scaled_sinusoidal" | "randomized_sinusoidal" | "sinusoidal_2d" => "sinusoidal",
        "randomized_rotary" | "rotary_2d" => "rotary",
        "tupe_r" => "tupe",
        name => name,
    };
    let axes = Some(Axes::HEIGHT_WIDTH);
    // The tables of TUPE and eRPE are not interpolated, so they have rows for the patches of higher resolutions too.
    let max_len = sizes.max_len.max(sizes.tested_len);
    Ok(match (name, sizes.library(of_library)?) {
        // The mean square of the sinusoidal values is ½, so N(0, 0.7) is as large, and neither scheme has an advantage of
        // size. Both are larger than the initial token embeddings. With N(0, 0.2), as large as the token embeddings, the
        // model learned `reverse` more slowly: an accuracy of 0.46 at 20 symbols, against 0.96 with N(0, 0.7) (seed 101,
        // 1,500 steps, a peak learning rate of 1e-3).
        ("learned", Learned(table)) => Learned(table.with_init(normal(0.7))),
        // The model is an encoder, which sees both sides. With the paper's symmetric distances, or phases of 0, it
        // could not tell them apart.
        ("alibi", Alibi(alibi)) => Alibi(alibi.with_shape(AlibiShape::HalfStep)),
        ("pope", Pope(pope)) => Pope(pope.with_init(any_phase())),
        // In these short trainings Adam moves a bias by little more than 1. On `reverse` at 20 symbols the accuracy was 0.27
        // from N(0, 0.02) (seed 1), and from N(0, 1) 0.95 (seed 1) and 0.93 (seed 101).
        ("t5", T5(bias)) => T5(bias.with_init(normal(1.0))),
        ("scaled_sinusoidal", Sinusoidal(table)) => Sinusoidal(table.with_gain(Gain::Learned(1.0))),
        ("sinusoidal_2d", Sinusoidal(table)) => {
            Sinusoidal(SinusoidalPositionalEncodingConfig { axes, ..table })
        }
        ("rotary_2d", Rotary(rotary)) => Rotary(RotaryPositionalEncodingConfig { axes, ..rotary }),
        ("tupe", Tupe(tupe)) => Tupe(TupeConfig { max_len, ..tupe }),
        ("tupe_r", Tupe(tupe)) => {
            let ranges = T5RelativeBiasConfig::new(tupe.heads).with_init(normal(1.0));
            Tupe(TupeConfig { max_len, ..tupe }.with_relative(ranges))
        }
        ("erpe", Erpe(erpe)) => Erpe(ErpeConfig { max_len, ..erpe }),
        (_, config) => config,
    })
}

/// A distance that no training has would have a score that nothing has trained.
fn distances_of_training(sizes: &Sizes) -> PositionalConfig {
    let logits = InklingConfig::new(sizes.d_model, sizes.heads, sizes.layers);
    let extent = sizes.trained_len.clamp(1, logits.extent);
    PositionalConfig::Inkling(logits.with_extent(extent))
}

fn gates(sizes: &Sizes) -> FoxConfig {
    FoxConfig::new(sizes.d_model, sizes.heads, sizes.layers)
}

fn rotated_gates(sizes: &Sizes) -> PositionalConfig {
    let rotary = RotaryPositionalEncodingConfig::new(sizes.d_head()).with_max_len(sizes.max_len);
    PositionalConfig::Fox(gates(sizes).with_rotary(rotary))
}

/// FoPE leaves out what makes no whole turn within the training length, and with fewer than 7 tokens nothing would be left.
fn whole_turns_in_training(sizes: &Sizes) -> PositionalConfig {
    PositionalConfig::Fope(FopeConfig::new(
        sizes.d_head(),
        sizes.heads,
        sizes.trained_len.max(7),
    ))
}

fn scaled_to_training(sizes: &Sizes) -> PositionalConfig {
    let table = SinusoidalPositionalEncodingConfig::new(sizes.d_model).with_max_len(sizes.max_len);
    PositionalConfig::Sinusoidal(table.with_formula(Formula::tape(sizes.trained_len)))
}

/// In a longer test the line goes on past 1.
fn waves_of_training(sizes: &Sizes) -> PositionalConfig {
    PositionalConfig::Time2Vec(Time2VecConfig::new(sizes.d_model, sizes.trained_len as f64))
}

/// The schemes of `pe-burn` that no name makes here, and why.
pub const REFUSED: [(&str, &str); 9] = [
    ("swin", A_WINDOW),
    ("swin_v2", A_WINDOW),
    ("beit", A_WINDOW),
    ("levit", A_WINDOW),
    ("decomposed", A_WINDOW),
    (
        "wav2vec2",
        "it adds what a convolution of 128 tokens gives, to both sides: more than these inputs have",
    ),
    (
        "peg",
        "it adds what a convolution over neighbouring patches gives, and a test at another resolution has patches between them",
    ),
    (
        "mixed_rotary",
        "each layer has frequencies of its own, and one scheme serves all layers here",
    ),
    (
        "dual_chunk",
        "it extends a model that was trained with rotary positions, and trains nothing itself",
    ),
];

const A_WINDOW: &str = "its table is for the rows and columns of one window, and images are tested at several resolutions";

fn any_phase() -> Initializer {
    Initializer::Uniform {
        min: -std::f64::consts::TAU,
        max: 0.0,
    }
}

fn normal(std: f64) -> Initializer {
    Initializer::Normal { mean: 0.0, std }
}

impl SchemeConfig for PositionalConfig {
    type Scheme = PositionalScheme;

    fn init(&self, device: &Device) -> Result<PositionalScheme, PositionError> {
        self.try_init(device)
    }

    fn settings(&self) -> Vec<String> {
        let names: &[&str] = match self {
            Self::Rotary(rotary) if rotary.axes.is_none() => {
                &["base", "share", "scaling", "factor", "original"]
            }
            Self::Sinusoidal(_) | Self::Rotary(_) | Self::XPos(_) | Self::Pope(_) => &["base"],
            Self::Fox(fox) if fox.rotary.is_some() => &["base"],
            _ => &[],
        };
        names.iter().map(|name| name.to_string()).collect()
    }

    fn with_setting(&self, name: &str, value: f64) -> Result<Self, String> {
        match name {
            "share" => return with_share(self, value),
            "scaling" => return Err(format!("one of {}", SCALINGS.join(", "))),
            "factor" => return with_scaling_of(self, |scaling| with_factor(scaling, value)),
            "original" => return with_scaling_of(self, |scaling| with_original(scaling, value)),
            _ => {}
        }
        if !(value.is_finite() && value > 1.0) {
            return Err("a number above 1".into());
        }
        Ok(match self.clone() {
            Self::Sinusoidal(table) => {
                let formula = match table.formula {
                    Formula::Tape { length, .. } => Formula::Tape {
                        length,
                        base: value,
                    },
                    _ => Formula::from(value),
                };
                Self::Sinusoidal(table.with_formula(formula))
            }
            Self::Rotary(rotary) => Self::Rotary(rotary.with_base(value)),
            Self::XPos(xpos) => Self::XPos(xpos.with_base(value)),
            Self::Pope(pope) => Self::Pope(pope.with_base(value)),
            Self::Fox(fox) => Self::Fox(FoxConfig {
                rotary: fox.rotary.map(|rotary| rotary.with_base(value)),
                ..fox
            }),
            other => other,
        })
    }

    fn with_word(&self, name: &str, word: &str, sizes: &Sizes) -> Result<Self, String> {
        let (Self::Rotary(rotary), "scaling") = (self, name) else {
            return Err("a number".into());
        };
        let lengths = Lengths {
            trained: sizes.trained_len,
            longest: sizes.max_len,
            tested: sizes.max_len,
        };
        Ok(Self::Rotary(
            rotary.clone().with_scaling(lengths.scaling(word)?),
        ))
    }

    fn follows_length(&self) -> bool {
        let Self::Rotary(rotary) = self else {
            return false;
        };
        matches!(
            rotary.scaling,
            Some(RopeScaling::Dynamic(_) | RopeScaling::Longrope(_))
        )
    }

    fn axes(&self) -> Option<Axes> {
        Self::axes(self)
    }

    /// A table with a row for each position or distance has none between them.
    fn takes_times(&self) -> bool {
        !matches!(
            self,
            Self::Learned(_)
                | Self::T5(_)
                | Self::Shaw(_)
                | Self::Deberta(_)
                | Self::Tupe(_)
                | Self::Erpe(_)
                | Self::Inkling(_)
        )
    }

    fn longest(&self) -> Option<usize> {
        match self {
            Self::Learned(table) => Some(table.max_len),
            Self::Tupe(tupe) => Some(tupe.max_len),
            Self::Erpe(erpe) => Some(erpe.max_len),
            _ => None,
        }
    }

    fn with_scaling(&self, scaling: RopeScaling) -> Option<Self> {
        match self {
            Self::Rotary(rotary) if rotary.scaling.is_none() && rotary.axes.is_none() => {
                Some(Self::Rotary(rotary.clone().with_scaling(scaling)))
            }
            _ => None,
        }
    }
}

/// A rotary scheme with another number in its scaling.
fn with_scaling_of(
    config: &PositionalConfig,
    with: impl FnOnce(RopeScaling) -> Result<RopeScaling, String>,
) -> Result<PositionalConfig, String> {
    match config {
        PositionalConfig::Rotary(RotaryPositionalEncodingConfig {
            scaling: Some(scaling),
            ..
        }) => {
            let PositionalConfig::Rotary(rotary) = config.clone() else {
                return Ok(config.clone());
            };
            Ok(PositionalConfig::Rotary(
                rotary.with_scaling(with(scaling.clone())?),
            ))
        }
        _ => Err("given with a scaling, such as scaling=yarn".into()),
    }
}

/// The columns that turn make pairs, so their number is even.
fn with_share(config: &PositionalConfig, share: f64) -> Result<PositionalConfig, String> {
    let PositionalConfig::Rotary(rotary) = config else {
        return Ok(config.clone());
    };
    let columns = share * rotary.d_head as f64;
    if !(share > 0.0 && share <= 1.0 && columns % 2.0 == 0.0) {
        return Err(format!(
            "above 0 and at most 1, such that pairs of the {} columns of a head turn: a multiple of {}",
            rotary.d_head,
            2.0 / rotary.d_head as f64
        ));
    }
    let rotary_dim = Some(columns as usize);
    Ok(PositionalConfig::Rotary(RotaryPositionalEncodingConfig {
        rotary_dim,
        ..rotary.clone()
    }))
}
