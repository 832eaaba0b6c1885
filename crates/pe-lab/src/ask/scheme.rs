//! The positional schemes that a study can compare.

use burn::module::Initializer;
use burn::tensor::Device;
use pe_burn::embedding::Gain;
use pe_burn::{
    AlibiShape, Axes, Grid, PositionalConfig, PositionalScheme, Positions, RandomizedPositions,
    RotaryPositionalEncodingConfig, SinusoidalPositionalEncodingConfig,
};
use serde::{Deserialize, Serialize};

use super::layers::LayerRecipe;
use super::resolution::interpolated;
use super::settings::Named;
use crate::error::LabError;
use crate::rng::{HostRng, generator};
use crate::task::Task;

/// The range from which randomized positions are drawn, as in the paper (Ruoss et al. 2023), which
/// trains on up to 40 tokens and tests on up to 500.
const MAX_POSITION: usize = 2_048;

/// How often a test set is scored when positions are random.
const TEST_DRAWS: usize = 8;

/// One scheme of the table below.
struct Entry {
    name: &'static str,
    /// What it does and where it comes from.
    about: &'static str,
    /// How it differs here from the paper, or from the library's defaults.
    here: Option<&'static str>,
    /// The name of its encoding in `pe-burn`.
    encoding: &'static str,
    source: Source,
    /// Changes the library's default configuration.
    adapt: fn(PositionalConfig) -> PositionalConfig,
}

/// Where the positions of a scheme come from.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    /// 0, 1, 2, …
    InOrder,
    /// Drawn at random, sorted, for each sequence.
    Randomized,
    /// The rows and columns of the task's grid.
    Grid,
}

/// Every scheme. To add one, add an entry here.
const SCHEMES: &[Entry] = &[
    Entry {
        name: "none",
        about: "no positions at all: the control of every comparison",
        here: None,
        encoding: "none",
        source: Source::InOrder,
        adapt: unchanged,
    },
    Entry {
        name: "sinusoidal",
        about: "a fixed pattern of sines and cosines, added (Vaswani et al. 2017)",
        here: None,
        encoding: "sinusoidal",
        source: Source::InOrder,
        adapt: unchanged,
    },
    Entry {
        name: "learned",
        about: "a trained vector for every position, added (Gehring et al. 2017; BERT, GPT-2)",
        here: Some("it starts at N(0, 0.7), as large as the sinusoidal values"),
        encoding: "learned",
        source: Source::InOrder,
        adapt: as_large_as_sinusoidal,
    },
    Entry {
        name: "rotary",
        about: "queries and keys rotated by their position (RoPE; Su et al. 2021; Llama)",
        here: None,
        encoding: "rotary",
        source: Source::InOrder,
        adapt: unchanged,
    },
    Entry {
        name: "xpos",
        about: "as rotary, and fading with distance (Sun et al. 2022)",
        here: None,
        encoding: "xpos",
        source: Source::InOrder,
        adapt: unchanged,
    },
    Entry {
        name: "alibi",
        about: "scores fall linearly with distance (ALiBi; Press et al. 2021)",
        here: Some(
            "a variant, not the paper's own: a key to the right counts as half a step farther \
             away, so that the encoder can tell left from right",
        ),
        encoding: "alibi",
        source: Source::InOrder,
        adapt: half_a_step_farther_on_the_right,
    },
    Entry {
        name: "t5",
        about: "a trained score for every range of distances, on each side (Raffel et al. 2020)",
        here: Some("the scores start at N(0, 1), since these trainings are short"),
        encoding: "t5",
        source: Source::InOrder,
        adapt: large_enough_for_few_steps,
    },
    Entry {
        name: "kerple",
        about: "scores fall along a trained function of distance, the same on both sides (Chi et \
                al. 2022)",
        here: None,
        encoding: "kerple",
        source: Source::InOrder,
        adapt: unchanged,
    },
    Entry {
        name: "fire",
        about: "scores from a small network of distance, the same on both sides (Li et al. 2023)",
        here: None,
        encoding: "fire",
        source: Source::InOrder,
        adapt: unchanged,
    },
    Entry {
        name: "scaled_sinusoidal",
        about: "as sinusoidal, times a trained number (Vaswani et al. 2017; Transformer-TTS)",
        here: None,
        encoding: "sinusoidal",
        source: Source::InOrder,
        adapt: with_a_trained_gain,
    },
    Entry {
        name: "randomized_sinusoidal",
        about: "as sinusoidal, at random positions in ascending order (Ruoss et al. 2023)",
        here: None,
        encoding: "sinusoidal",
        source: Source::Randomized,
        adapt: unchanged,
    },
    Entry {
        name: "randomized_rotary",
        about: "as rotary, at random positions in ascending order (Ruoss et al. 2023)",
        here: None,
        encoding: "rotary",
        source: Source::Randomized,
        adapt: unchanged,
    },
    Entry {
        name: "sinusoidal_2d",
        about: "as sinusoidal, half of it for the row and half for the column of a grid",
        here: None,
        encoding: "sinusoidal",
        source: Source::Grid,
        adapt: on_rows_and_columns,
    },
    Entry {
        name: "rotary_2d",
        about: "as rotary, half of it by the row and half by the column of a grid",
        here: None,
        encoding: "rotary",
        source: Source::Grid,
        adapt: on_rows_and_columns,
    },
    Entry {
        name: "shaw",
        about: "queries against a trained vector for each of the nearest distances (Shaw et al. 2018)",
        here: None,
        encoding: "shaw",
        source: Source::InOrder,
        adapt: unchanged,
    },
    Entry {
        name: "transformer_xl",
        about: "queries against projected sinusoids of the distance (Dai et al. 2019; Conformer)",
        here: None,
        encoding: "transformer_xl",
        source: Source::InOrder,
        adapt: unchanged,
    },
    Entry {
        name: "deberta",
        about: "queries and keys against trained vectors of ranges of distances (He et al. 2020)",
        here: None,
        encoding: "deberta",
        source: Source::InOrder,
        adapt: unchanged,
    },
    Entry {
        name: "cope",
        about: "distances that count what a query looks at, to the left alone (Golovneva et al. 2024)",
        here: None,
        encoding: "cope",
        source: Source::InOrder,
        adapt: unchanged,
    },
];

fn unchanged(encoding: PositionalConfig) -> PositionalConfig {
    encoding
}

/// The mean square of the sinusoidal values is ½, so N(0, 0.7) is as large, and neither scheme has
/// an advantage of size. Both are larger than the initial token embeddings.
///
/// With N(0, 0.2), as large as the token embeddings, the model learned `reverse` more slowly: an
/// accuracy of 0.46 at 20 symbols, against 0.96 with N(0, 0.7) (seed 101, 1,500 steps, a peak
/// learning rate of 1e-3).
fn as_large_as_sinusoidal(encoding: PositionalConfig) -> PositionalConfig {
    match encoding {
        PositionalConfig::Learned(table) => PositionalConfig::Learned(table.with_init(normal(0.7))),
        other => other,
    }
}

/// The model is an encoder, which sees both sides. With the paper's symmetric distances it could not
/// tell them apart.
fn half_a_step_farther_on_the_right(encoding: PositionalConfig) -> PositionalConfig {
    match encoding {
        PositionalConfig::Alibi(alibi) => {
            PositionalConfig::Alibi(alibi.with_shape(AlibiShape::HalfStep))
        }
        other => other,
    }
}

/// In these short trainings Adam moves a bias by little more than 1. On `reverse` at 20 symbols the
/// accuracy was 0.27 from N(0, 0.02) (seed 1), and from N(0, 1) 0.95 (seed 1) and 0.93 (seed 101).
fn large_enough_for_few_steps(encoding: PositionalConfig) -> PositionalConfig {
    match encoding {
        PositionalConfig::T5(bias) => PositionalConfig::T5(bias.with_init(normal(1.0))),
        other => other,
    }
}

fn with_a_trained_gain(encoding: PositionalConfig) -> PositionalConfig {
    match encoding {
        PositionalConfig::Sinusoidal(table) => {
            PositionalConfig::Sinusoidal(table.with_gain(Gain::Learned(1.0)))
        }
        other => other,
    }
}

fn on_rows_and_columns(encoding: PositionalConfig) -> PositionalConfig {
    let axes = Some(Axes::HEIGHT_WIDTH);
    match encoding {
        PositionalConfig::Sinusoidal(table) => {
            PositionalConfig::Sinusoidal(SinusoidalPositionalEncodingConfig { axes, ..table })
        }
        PositionalConfig::Rotary(rotary) => {
            PositionalConfig::Rotary(RotaryPositionalEncodingConfig { axes, ..rotary })
        }
        other => other,
    }
}

fn normal(std: f64) -> Initializer {
    Initializer::Normal { mean: 0.0, std }
}

/// A positional scheme as a study runs it: its encoding, and where its positions come from.
///
/// It makes the weights of the encoding ([`init`](Self::init)) and the positions of every batch
/// ([`for_training`](Self::for_training), [`for_test`](Self::for_test)), so nothing else has to know
/// which scheme it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// Its name: one of [`names`](Self::names), with its settings if there are any.
    pub name: String,
    /// The configuration of its encoding.
    pub encoding: PositionalConfig,
    /// For random positions: the number of positions to draw from. Without it the positions are 0, 1,
    /// 2, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_position: Option<usize>,
    /// The grid on which its positions lie. Without it they lie on a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<Grid>,
    /// How layers differ. Without it every layer has positions and attends to all tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<LayerRecipe>,
}

impl Scheme {
    /// The names of all schemes, in the order in which they are listed.
    pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
        SCHEMES.iter().map(|entry| entry.name)
    }

    /// What a scheme does, where it comes from, and how it differs here from its source. Empty for a
    /// name that does not exist.
    pub fn description(name: &str) -> String {
        let Ok(named) = Named::read(name) else {
            return String::new();
        };
        let Some(entry) = SCHEMES.iter().find(|entry| entry.name == named.name) else {
            return String::new();
        };
        let here = entry
            .here
            .map_or(String::new(), |here| format!("; here {here}"));
        let with = match named.about() {
            none if none.is_empty() => none,
            about => format!("; with {about}"),
        };
        format!("{}{here}{with}", entry.about)
    }

    /// The one way to write a name with settings: without spaces, and with the settings in a fixed order.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] when it is not written as `NAME(SETTING=NUMBER, …)`, or a setting does not exist.
    pub fn canonical(name: &str) -> Result<String, LabError> {
        Ok(Named::read(name)?.to_string())
    }

    /// The scheme with this name, for a model of width `d_model` with `heads` attention heads and
    /// inputs of up to `max_tokens` tokens.
    ///
    /// Its options are the library's defaults, which follow the scheme's paper, except for what
    /// [`description`](Self::description) says after "here". A learned table has a row for every
    /// position up to `max_tokens`, so that the rows beyond the training lengths exist: they keep
    /// their random initial values. Random positions are drawn from 2,048, or from `max_tokens` if that
    /// is more.
    ///
    /// Settings can stand behind the name, such as `rotary(base=500000, share=0.25)`:
    ///
    /// | setting | of | what it sets |
    /// |---|---|---|
    /// | `base` | sinusoidal and rotary schemes, xPos | the base of the wavelengths |
    /// | `share` | rotary schemes on a line | the share of the columns of a head that are rotated |
    /// | `nope_every` | schemes that act in the layers | every n-th layer has no positions |
    /// | `window` | all | layers attend to tokens fewer than this many places away |
    /// | `global_every` | all, with `window` | every n-th layer attends to all tokens |
    ///
    /// ```
    /// use pe_lab::ask::Scheme;
    ///
    /// let scheme = Scheme::by_name("rotary(share=0.25, nope_every=4)", 64, 4, 82)?;
    /// assert_eq!(scheme.name, "rotary(share=0.25,nope_every=4)");
    /// assert_eq!(scheme.layers.unwrap().nope_every, Some(4));
    /// # Ok::<(), pe_lab::error::LabError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LabError::UnknownScheme`] lists the names that exist; [`LabError::Usage`] when the scheme does not have
    /// a setting, or does not take its value; [`LabError::Position`] when the encoding does not fit the sizes.
    pub fn by_name(
        name: &str,
        d_model: usize,
        heads: usize,
        max_tokens: usize,
    ) -> Result<Self, LabError> {
        let named = Named::read(name)?;
        let Some(entry) = SCHEMES.iter().find(|entry| entry.name == named.name) else {
            return Err(LabError::UnknownScheme {
                name: named.name.to_string(),
                known: Self::names().map(str::to_string).collect(),
            });
        };
        let max_position =
            (entry.source == Source::Randomized).then_some(MAX_POSITION.max(max_tokens));
        let rows = max_position.unwrap_or(max_tokens);
        let encoding = PositionalConfig::by_name(entry.encoding, d_model, heads, rows)?;
        named.apply(Self {
            name: String::new(),
            encoding: (entry.adapt)(encoding),
            max_position,
            grid: None,
            layers: None,
        })
    }

    /// What each of `layers` layers does: whether it has positions, and the window of its attention. Empty where
    /// layers do not differ.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] when the model has too few layers for them to differ as the scheme says.
    pub fn kinds_of_layers(&self, layers: usize) -> Result<Vec<(bool, Option<usize>)>, LabError> {
        let of = |recipe: &LayerRecipe| recipe.of(layers);
        self.layers.as_ref().map_or(Ok(Vec::new()), of)
    }

    /// Whether its positions may be real numbers, such as times. A table with a row for each position or distance
    /// has none between them, a grid has rows and columns, and random positions are drawn as whole numbers.
    pub fn takes_times(&self) -> bool {
        let is_table = matches!(
            self.encoding,
            PositionalConfig::Learned(_)
                | PositionalConfig::T5(_)
                | PositionalConfig::Shaw(_)
                | PositionalConfig::Deberta(_)
        );
        !is_table && !self.needs_grid() && self.max_position.is_none()
    }

    /// Whether its positions lie on a grid.
    pub fn needs_grid(&self) -> bool {
        self.encoding.axes().is_some()
    }

    /// The same scheme with the grid of a task, if it needs one.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] when it needs a grid and the task has none.
    pub fn on(self, task: &dyn Task) -> Result<Self, LabError> {
        let grid = task.grid().filter(|_| self.needs_grid());
        if self.needs_grid() && grid.is_none() {
            return Err(LabError::Usage(format!(
                "the scheme {} needs rows and columns, and the task {} has none; digits has",
                self.name,
                task.name()
            )));
        }
        Ok(Self { grid, ..self })
    }

    /// The encoding with its initial weights.
    ///
    /// # Errors
    ///
    /// [`LabError::Position`] when the configuration is wrong.
    pub fn init(&self, device: &Device) -> Result<PositionalScheme, LabError> {
        Ok(self.encoding.try_init(device)?)
    }

    /// Whether the encoding is a table with a trained row for each position.
    pub fn is_trained_table(&self) -> bool {
        matches!(self.encoding, PositionalConfig::Learned(_))
    }

    /// The most tokens of an input, if the encoding is a table that ends.
    pub fn longest(&self) -> Option<usize> {
        match &self.encoding {
            PositionalConfig::Learned(table) => Some(table.max_len),
            _ => None,
        }
    }

    /// The positions of training step number `step`. Random ones come from a random stream of their
    /// own, so that the training data are the same for every scheme.
    pub fn for_training(&self, seed: u64, step: usize) -> PositionSource<'_> {
        PositionSource {
            scheme: self,
            rng: generator("positions", seed, step as u64),
            grid: self.grid,
        }
    }

    /// The positions for the test set of one length. The test set is scored once with each source,
    /// and the scores are averaged: one draw of random positions says little about other draws. They
    /// are the same for every model.
    pub fn for_test(&self, length: usize) -> impl Iterator<Item = PositionSource<'_>> {
        let draws = match self.max_position {
            Some(_) => TEST_DRAWS,
            None => 1,
        };
        (0..draws as u64).map(move |draw| PositionSource {
            scheme: self,
            rng: generator("test positions", draw, length as u64),
            grid: self.grid,
        })
    }

    /// Every position of the grid, or `0..count` without one, and how many they are.
    pub fn all_positions(&self, count: usize) -> (Positions, usize) {
        match self.grid {
            Some(grid) => (Positions::from(grid), grid.tokens()),
            None => (Positions::default(), count),
        }
    }
}

/// Gives the batches of one training step or of one test their positions.
pub struct PositionSource<'a> {
    scheme: &'a Scheme,
    rng: HostRng,
    /// The grid of the inputs.
    grid: Option<Grid>,
}

impl PositionSource<'_> {
    /// The same for inputs on another grid than that of the training. A scheme of rows and columns gives the
    /// same place the same position; see [`AtResolution`](super::AtResolution).
    #[must_use]
    pub fn on(self, grid: Option<Grid>) -> Self {
        let grid = grid.filter(|_| self.scheme.grid.is_some());
        Self {
            grid: grid.or(self.grid),
            ..self
        }
    }

    /// Positions at these times, one row per sequence and all of one length. `None` where the scheme takes no
    /// times.
    ///
    /// # Errors
    ///
    /// [`LabError::Position`] for a time that is not finite, and for rows of several lengths.
    pub fn at_times(&self, times: &[&[f64]]) -> Result<Option<Positions>, LabError> {
        if times.is_empty() || !self.scheme.takes_times() {
            return Ok(None);
        }
        Ok(Some(Positions::from_time_rows(times)?))
    }

    /// Positions for the next batch: for sequences with these numbers of tokens, padded to `seq`.
    ///
    /// # Errors
    ///
    /// [`LabError::Position`] when a sequence is longer than the range of positions to draw from.
    pub fn positions(&mut self, lengths: &[usize], seq: usize) -> Result<Positions, LabError> {
        match (self.scheme.grid, self.grid) {
            (Some(trained), Some(grid)) if grid != trained => {
                return Ok(Positions::from(interpolated(trained, grid)?));
            }
            (Some(grid), _) => return Ok(Positions::from(grid)),
            (None, _) => {}
        }
        let Some(max_position) = self.scheme.max_position else {
            return Ok(Positions::default());
        };
        if max_position == 0 {
            let reason = "max_position is 0: there is nothing to draw positions from";
            return Err(LabError::Usage(reason.into()));
        }
        let source = RandomizedPositions::new(max_position)?;
        Ok(source.draw(lengths, seq, &mut self.rng)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{Digits, Reverse};

    #[test]
    fn every_scheme_has_a_configuration_and_a_description() {
        for name in Scheme::names() {
            let scheme = Scheme::by_name(name, 64, 4, 22).unwrap();
            assert_eq!(scheme.name, name);
            assert!(!Scheme::description(name).is_empty(), "{name}");
            let json = serde_json::to_string(&scheme).unwrap();
            assert_eq!(serde_json::from_str::<Scheme>(&json).unwrap(), scheme);
        }
        let known: Vec<&str> = Scheme::names().collect();
        for name in PositionalConfig::NAMES {
            assert!(known.contains(name), "{name}");
        }
        let message = Scheme::by_name("cosine", 64, 4, 22)
            .unwrap_err()
            .to_string();
        assert!(message.contains("none, sinusoidal, learned"), "{message}");
    }

    #[test]
    fn a_scheme_that_differs_from_the_library_default_of_its_name_says_so() {
        for name in PositionalConfig::NAMES {
            let default = PositionalConfig::by_name(name, 64, 4, 22).unwrap();
            let ours = Scheme::by_name(name, 64, 4, 22).unwrap().encoding;
            let says_so = Scheme::description(name).contains("; here ");
            assert_eq!(says_so, ours != default, "{name}");
        }
    }

    #[test]
    fn alibi_says_that_it_is_a_variant() {
        let alibi = Scheme::by_name("alibi", 64, 4, 22).unwrap();
        let PositionalConfig::Alibi(config) = &alibi.encoding else {
            panic!("{alibi:?}")
        };
        assert_eq!(config.shape, AlibiShape::HalfStep);
        let description = Scheme::description("alibi");
        assert!(
            description.contains("here a variant, not the paper's own")
                && description.contains("half a step farther"),
            "{description}"
        );
    }

    #[test]
    fn a_grid_is_that_of_the_task() {
        for name in ["sinusoidal_2d", "rotary_2d"] {
            let scheme = Scheme::by_name(name, 64, 4, 64).unwrap();
            let on_digits = scheme.clone().on(&Digits).unwrap();
            assert_eq!(on_digits.grid, Some(Grid::image(8, 8)));
            let message = scheme.on(&Reverse).unwrap_err().to_string();
            assert!(message.contains("the task reverse has none"), "{message}");
        }
        let line = Scheme::by_name("rotary", 64, 4, 64).unwrap();
        assert_eq!(line.clone().on(&Digits).unwrap(), line);
    }

    #[test]
    fn randomized_positions_are_drawn_for_each_sequence_as_long_as_it_is() {
        let scheme = Scheme::by_name("randomized_rotary", 64, 4, 22).unwrap();
        let draw = |seed| {
            let mut source = scheme.for_training(seed, 3);
            source.positions(&[22, 5], 22).unwrap().to_rows(22).unwrap()
        };
        let rows = draw(1);
        assert!(rows[0].is_sorted_by(|a, b| a < b) && rows[0][21] < 2_048);
        assert!(rows[1][..5].is_sorted_by(|a, b| a < b));
        assert_eq!(rows[1][5..], [0; 17]);
        assert_eq!(rows, draw(1));
        assert_ne!(rows, draw(2));

        let plain = Scheme::by_name("rotary", 64, 4, 22).unwrap();
        let positions = plain.for_training(1, 3).positions(&[22, 5], 22).unwrap();
        assert_eq!(positions.to_rows(3).unwrap(), [[0, 1, 2]]);
        // A longer test than there are positions gets more of them.
        let longest = Scheme::by_name("randomized_rotary", 64, 4, 5_000).unwrap();
        assert_eq!(longest.max_position, Some(5_000));
    }

    #[test]
    fn only_random_positions_are_tested_more_than_once() {
        let draws = |name| {
            let scheme = Scheme::by_name(name, 64, 4, 22).unwrap();
            scheme.for_test(10).count()
        };
        assert_eq!((draws("rotary"), draws("randomized_rotary")), (1, 8));
    }
}
