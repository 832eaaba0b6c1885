//! The schemes as the laboratory compares them: an encoding, and where its positions come from.

use burn::module::Initializer;
use pe_burn::{
    AlibiShape, Axes, Gain, Grid, PositionalConfig, Positions, RandomizedPositions,
    RotaryPositionalEncodingConfig, SinusoidalPositionalEncodingConfig,
};
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::rng::HostRng;
use crate::task::Task;

/// From how many positions randomized ones are drawn, as in the paper (Ruoss et al. 2023), which
/// trains on up to 40 tokens and tests on up to 500.
const MAX_POSITION: usize = 2_048;

/// Every scheme: its name, and a line about it.
const ALL: &[(&str, &str)] = &[
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
        "queries and keys turned by their position (Su et al. 2021; Llama)",
    ),
    ("xpos", "as rotary, fading with distance (Sun et al. 2022)"),
    (
        "alibi",
        "scores lowered evenly with distance, half a step more to the right (Press et al. 2021)",
    ),
    (
        "t5",
        "a trained score for every range of distances, on each side (Raffel et al. 2020)",
    ),
    (
        "kerple",
        "scores lowered by a trained kernel of distance, the same to both sides (Chi et al. 2022)",
    ),
    (
        "fire",
        "scores from a small network of distance, the same to both sides (Li et al. 2023)",
    ),
    (
        "scaled_sinusoidal",
        "as sinusoidal, times a trained number (Vaswani et al. 2017; Transformer-TTS)",
    ),
    (
        "randomized_sinusoidal",
        "as sinusoidal, at random positions in the right order (Ruoss et al. 2023)",
    ),
    (
        "randomized_rotary",
        "as rotary, at random positions in the right order (Ruoss et al. 2023)",
    ),
    (
        "sinusoidal_2d",
        "as sinusoidal, half of it for the row and half for the column of a grid",
    ),
    (
        "rotary_2d",
        "as rotary, half of it by the row and half by the column of a grid",
    ),
];

/// The names of the schemes that can be compared.
pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

/// A line about a scheme.
pub fn about(name: &str) -> &'static str {
    let found = ALL.iter().find(|(known, _)| *known == name);
    found.map_or("", |(_, about)| about)
}

/// An encoding, and where its positions come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// What it is called: one of [`names`].
    pub name: String,
    /// The encoding.
    pub encoding: PositionalConfig,
    /// From how many positions those of each sequence are drawn anew, in training and in the test.
    /// Without it they are 0, 1, 2, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_position: Option<usize>,
    /// The grid that its positions are on. Without it they are on a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<Grid>,
}

impl Scheme {
    /// Whether its positions have to be on a grid.
    pub fn needs_grid(&self) -> bool {
        self.encoding.axes().is_some()
    }

    /// The same on the grid of a task, where it needs one.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] when the task has none.
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

    /// Positions of sequences of these lengths, padded to `seq`.
    ///
    /// # Errors
    ///
    /// [`LabError::Position`] when a sequence is longer than there are positions.
    pub fn positions(
        &self,
        lengths: &[usize],
        seq: usize,
        rng: &mut HostRng,
    ) -> Result<Positions, LabError> {
        if let Some(grid) = self.grid {
            return Ok(Positions::from(grid));
        }
        let Some(max_position) = self.max_position else {
            return Ok(Positions::default());
        };
        if max_position == 0 {
            let reason = "max_position is 0: there is nothing to draw positions from";
            return Err(LabError::Usage(reason.into()));
        }
        let source = RandomizedPositions::new(max_position);
        Ok(source.try_draw(lengths, seq, rng)?)
    }

    /// How often a test set is scored: a drawing says little about the others.
    pub fn draws(&self) -> usize {
        match self.max_position {
            Some(_) => 8,
            None => 1,
        }
    }
}

/// The scheme of a name for a model of width `d_model` with so many heads, and inputs of up to
/// `max_tokens`.
///
/// Every option is at its default, as the paper of a scheme has it, but these:
///
/// - A learned table starts as large as the sinusoidal pattern, whose mean square is ½, at
///   N(0, 0.7). Neither then has an advantage of size over the other, and both stand out from the
///   smaller token embeddings (see [`crate::model::Model`]). From N(0, 0.2), as large as the tokens,
///   `reverse` was learned more slowly: to 0.46 at 20 symbols, where N(0, 0.7) came to 0.96 (seed
///   101, 1,500 steps at a peak of 1e-3). It has a row for every position up to the longest test, so
///   that its rows beyond the training lengths exist, and are as random as on the first day.
/// - ALiBi counts half a step more to the right: the encoder sees both sides, and could not tell
///   them apart.
/// - T5's biases start at N(0, 1), since Adam takes them hardly further than that in these few steps:
///   of `reverse` at 20 symbols 0.27 is right from N(0, 0.02) (seed 1), from N(0, 1) 0.95 (seed 1)
///   and 0.93 (seed 101).
/// - Randomized positions come from as many as the longest test needs, where 2,048 are too few.
///
/// # Errors
///
/// [`LabError::UnknownScheme`], which lists the names there are; [`LabError::Position`] when the
/// encoding does not suit the sizes.
pub fn config(
    name: &str,
    d_model: usize,
    heads: usize,
    max_tokens: usize,
) -> Result<Scheme, LabError> {
    if !names().any(|known| known == name) {
        return Err(LabError::UnknownScheme {
            name: name.to_string(),
            known: names().map(str::to_string).collect(),
        });
    }
    let (encoding, max_position) = match name.strip_prefix("randomized_") {
        Some(encoding) => (encoding, Some(MAX_POSITION.max(max_tokens))),
        None => (name, None),
    };
    let rows = max_position.unwrap_or(max_tokens);
    let (encoding, axes) = match encoding.strip_suffix("_2d") {
        Some(encoding) => (encoding, Some(Axes::HeightWidth)),
        None => (encoding, None),
    };
    let encoding = PositionalConfig::by_name(
        match encoding {
            "scaled_sinusoidal" => "sinusoidal",
            other => other,
        },
        d_model,
        heads,
        rows,
    )?;
    let encoding = match encoding {
        PositionalConfig::Sinusoidal(table) if axes.is_some() => {
            PositionalConfig::Sinusoidal(SinusoidalPositionalEncodingConfig { axes, ..table })
        }
        PositionalConfig::Rotary(rotary) => {
            PositionalConfig::Rotary(RotaryPositionalEncodingConfig { axes, ..rotary })
        }
        PositionalConfig::Learned(table) => {
            let like_sinusoidal = Initializer::Normal {
                mean: 0.0,
                std: 0.7,
            };
            PositionalConfig::Learned(table.with_init(like_sinusoidal))
        }
        PositionalConfig::Alibi(alibi) => {
            PositionalConfig::Alibi(alibi.with_shape(AlibiShape::HalfStep))
        }
        PositionalConfig::T5(bias) => PositionalConfig::T5(bias.with_init(Initializer::Normal {
            mean: 0.0,
            std: 1.0,
        })),
        PositionalConfig::Sinusoidal(table) if name == "scaled_sinusoidal" => {
            PositionalConfig::Sinusoidal(table.with_gain(Gain::Learned(1.0)))
        }
        other => other,
    };
    Ok(Scheme {
        name: name.to_string(),
        encoding,
        max_position,
        grid: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::generator;
    use crate::task::{Digits, Reverse};

    #[test]
    fn every_scheme_has_a_configuration_and_a_line_about_it() {
        for name in names() {
            let scheme = config(name, 64, 4, 22).unwrap();
            assert_eq!(scheme.name, name);
            assert!(!about(name).is_empty(), "{name}");
            let json = serde_json::to_string(&scheme).unwrap();
            assert_eq!(serde_json::from_str::<Scheme>(&json).unwrap(), scheme);
        }
        let known: Vec<&str> = names().collect();
        for name in PositionalConfig::NAMES {
            assert!(known.contains(name), "{name}");
        }
        let message = config("cosine", 64, 4, 22).unwrap_err().to_string();
        assert!(message.contains("none, sinusoidal, learned"), "{message}");
    }

    #[test]
    fn a_grid_is_that_of_the_task() {
        for name in ["sinusoidal_2d", "rotary_2d"] {
            let scheme = config(name, 64, 4, 64).unwrap();
            let on_digits = scheme.clone().on(&Digits).unwrap();
            assert_eq!(on_digits.grid, Some(Grid::image(8, 8)));
            let message = scheme.on(&Reverse).unwrap_err().to_string();
            assert!(message.contains("the task reverse has none"), "{message}");
        }
        let line = config("rotary", 64, 4, 64).unwrap();
        assert_eq!(line.clone().on(&Digits).unwrap(), line);
    }

    #[test]
    fn randomized_positions_are_drawn_for_each_sequence_as_long_as_it_is() {
        let scheme = config("randomized_rotary", 64, 4, 22).unwrap();
        let draw = |seed| {
            let mut rng = generator("positions", seed, 3);
            scheme
                .positions(&[22, 5], 22, &mut rng)
                .unwrap()
                .to_rows(22)
        };
        let rows = draw(1);
        assert!(rows[0].is_sorted_by(|a, b| a < b) && rows[0][21] < 2_048);
        assert!(rows[1][..5].is_sorted_by(|a, b| a < b));
        assert_eq!(rows[1][5..], [0; 17]);
        assert_eq!(rows, draw(1));
        assert_ne!(rows, draw(2));

        let plain = config("rotary", 64, 4, 22).unwrap();
        let mut rng = generator("positions", 1, 3);
        let positions = plain.positions(&[22, 5], 22, &mut rng).unwrap();
        assert_eq!(positions.to_rows(3), [[0, 1, 2]]);
        // A longer test than there are positions gets more of them.
        let longest = config("randomized_rotary", 64, 4, 5_000).unwrap();
        assert_eq!(longest.max_position, Some(5_000));
    }
}
