//! The positional schemes that a study can compare.

use burn::tensor::Device;
use pe_burn::{Grid, Positional, Positions, RandomizedPositions};
use pe_encoder::{EncoderConfig, LayerKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::encoding::Encoding;
use super::interpolated::interpolated;
use super::lab::PositionsFrom;
use super::layers::LayerRecipe;
use super::model::ModelSpec;
use super::network::Network;
use super::registry::{network, scheme_entry, schemes};
use super::scaling::Lengths;
use super::settings::Named;
use super::sizes::Sizes;
use crate::erased::Erased;
use crate::error::LabError;
use crate::rng::{HostRng, RngExt, generator};
use crate::task::{Input, Sample, Task};

/// The range from which randomized positions are drawn, as in the paper (Ruoss et al. 2023), which
/// trains on up to 40 tokens and tests on up to 500.
const MAX_POSITION: usize = 2_048;

/// How often a test set is scored when positions are random.
const TEST_DRAWS: usize = 8;

/// A positional scheme as a study runs it: its encoding, and where its positions come from.
///
/// It makes the weights of the encoding ([`init`](Self::init)) and the positions of every batch
/// ([`for_training`](Self::for_training), [`for_test`](Self::for_test)), so nothing else has to know
/// which scheme it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Scheme {
    /// Its name: one of [`names`](Self::names), with its settings if there are any.
    pub name: String,
    /// The configuration of its encoding.
    pub encoding: Encoding,
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

/// A scheme as it is stored in a file. Its name determines the type of its encoding.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    name: String,
    encoding: Value,
    #[serde(default)]
    max_position: Option<usize>,
    #[serde(default)]
    grid: Option<Grid>,
    #[serde(default)]
    layers: Option<LayerRecipe>,
}

impl TryFrom<Stored> for Scheme {
    type Error = LabError;

    fn try_from(stored: Stored) -> Result<Self, LabError> {
        let encoding = match scheme_entry(Named::read("scheme", &stored.name)?.name) {
            Ok(entry) => (entry.read)(stored.encoding)?,
            // An unknown scheme is no error here, but only where it is used.
            Err(_) => Encoding::unknown(stored.encoding),
        };
        Ok(Self {
            encoding,
            name: stored.name,
            max_position: stored.max_position,
            grid: stored.grid,
            layers: stored.layers,
        })
    }
}

impl Scheme {
    /// The names of all schemes, in the order in which they are listed.
    pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
        schemes().iter().map(|entry| entry.name.as_str())
    }

    /// The names of the schemes that can be trained on a task: forget gates are a decoder's, for example, and rows and columns
    /// need a grid.
    pub fn names_for(task: &dyn Task, model: &ModelSpec) -> impl Iterator<Item = &'static str> {
        Self::names().filter(|name| Self::check_fits(name, task, model).is_ok())
    }

    /// Checks that a scheme can be trained on a task.
    pub(super) fn check_fits(
        name: &str,
        task: &dyn Task,
        model: &ModelSpec,
    ) -> Result<(), LabError> {
        let scheme = Self::by_name(name, model, 1)?;
        if task.generation().is_some() && scheme.encoding.follows_length() {
            return Err(LabError::Usage(format!(
                "the scheme {name} turns all keys anew each time the input grows, and {} is written token by token; take a \
                 scaling that does not depend on the length, such as scaling=yarn",
                task.name()
            )));
        }
        let (scheme, device) = (scheme.on(task)?, Device::flex());
        let weights = scheme.init(&device)?;
        let network = scheme.network(model, &*weights, task.causal(), &device);
        network.map(|_| ())
    }

    /// What a scheme does, where it comes from, and how it differs here from its source. Empty for a
    /// name that does not exist.
    pub fn description(name: &str) -> String {
        let Ok(named) = Named::read("scheme", name) else {
            return String::new();
        };
        let Ok(entry) = scheme_entry(named.name) else {
            return String::new();
        };
        let here = entry.here.as_ref();
        let here = here.map_or(String::new(), |here| format!("; here {here}"));
        let with = match named.about() {
            none if none.is_empty() => none,
            about => format!("; with {about}"),
        };
        format!("{}{here}{with}", entry.about)
    }

    /// The scheme with this name, for a model of these sizes and inputs of up to `max_tokens` tokens. Its field `name` has
    /// the canonical spelling: without spaces, and with the settings in a fixed order.
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
    /// | `share` | `rotary`, `randomized_rotary` | the share of the columns of a head that are rotated |
    /// | `scaling`, `factor`, `original` | `rotary`, `randomized_rotary` | a scaling of RoPE, which the training has too |
    /// | `nope_every` | schemes that act in the layers | every n-th layer has no positions |
    /// | `window` | all | layers attend to tokens fewer than this many places away |
    /// | `global_every` | all, with `window` | every n-th layer attends to all tokens |
    /// | others | schemes of other crates | see [`SchemeConfig::settings`](super::SchemeConfig::settings) |
    ///
    /// ```
    /// use pe_lab::ask::{ModelSpec, Scheme};
    ///
    /// let scheme = Scheme::by_name("rotary(share=0.25, nope_every=4)", &ModelSpec::default(), 82)?;
    /// assert_eq!(scheme.name, "rotary(share=0.25,nope_every=4)");
    /// assert_eq!(scheme.layers.unwrap().nope_every, Some(4));
    /// # Ok::<(), pe_lab::error::LabError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LabError::Unknown`] lists the names that exist; [`LabError::Usage`] when the scheme does not have
    /// a setting, does not take its value, or does not fit the sizes.
    pub fn by_name(name: &str, model: &ModelSpec, max_tokens: usize) -> Result<Self, LabError> {
        Self::for_lengths(name, model, max_tokens.into())
    }

    /// The scheme with this name, as [`by_name`](Self::by_name), where inputs of the training are shorter than the longest ones:
    /// scalings of RoPE, FoPE, tAPE and Time2Vec depend on both lengths.
    ///
    /// # Errors
    ///
    /// As [`by_name`](Self::by_name).
    pub fn for_lengths(name: &str, model: &ModelSpec, lengths: Lengths) -> Result<Self, LabError> {
        let max_tokens = lengths.longest;
        let named = Named::read("scheme", name)?;
        let entry = scheme_entry(named.name)?;
        let max_position = match entry.positions {
            PositionsFrom::Order => None,
            PositionsFrom::Draws => Some(MAX_POSITION.max(max_tokens)),
        };
        let sizes = Sizes {
            d_model: model.d_model,
            heads: model.heads,
            layers: model.layers,
            max_len: max_position.unwrap_or(max_tokens),
            trained_len: lengths.trained,
            tested_len: lengths.tested,
        };
        let mut scheme = Self {
            name: String::new(),
            encoding: entry.make(&sizes)?,
            max_position,
            grid: None,
            layers: None,
        };
        scheme.name = named.apply(&mut scheme.encoding, &mut scheme.layers, &sizes)?;
        Ok(scheme)
    }

    /// What each of `layers` layers does: whether it has positions, and the window of its attention. Empty where
    /// layers do not differ.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] when the model has too few layers for them to differ as the scheme says.
    pub fn kinds_of_layers(&self, layers: usize) -> Result<Vec<(bool, Option<usize>)>, LabError> {
        let of = |recipe: &LayerRecipe| recipe.kinds(layers);
        self.layers.as_ref().map_or(Ok(Vec::new()), of)
    }

    /// Whether its positions may be real numbers, such as times. A table with a row for each whole position or distance has
    /// no values between them, a grid has rows and columns, and random positions are drawn as whole numbers.
    pub fn takes_times(&self) -> bool {
        self.encoding.takes_times() && !self.needs_grid() && self.max_position.is_none()
    }

    /// Whether its positions lie on a grid.
    pub fn needs_grid(&self) -> bool {
        self.encoding.axes().is_some()
    }

    /// This scheme with the grid of a task, if it needs one.
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
    /// As [`Encoding::init`], with the name of the scheme.
    pub fn init(&self, device: &Device) -> Result<Erased<dyn Positional>, LabError> {
        self.encoding.init(device).map_err(|error| match error {
            LabError::Usage(_) | LabError::Position(_) => {
                LabError::Usage(format!("the scheme {}: {error}", self.name))
            }
            other => other,
        })
    }

    /// The network of a model with this scheme. `weights` is the module of the scheme.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] when there is no such network, when it does not take the scheme, and when the model has too few
    /// layers for it.
    pub fn network(
        &self,
        model: &ModelSpec,
        weights: &dyn Positional,
        causal: bool,
        device: &Device,
    ) -> Result<Erased<dyn Network>, LabError> {
        let kinds = self.kinds_of_layers(model.layers)?.into_iter();
        let kinds = kinds.map(|(positions, window)| LayerKind { positions, window });
        let config = EncoderConfig::new(model.d_model, model.d_ff, model.heads, model.layers)
            .with_causal(causal)
            .with_norm(model.norm)
            .with_activation(model.activation)
            .with_dropout(model.dropout)
            .with_kinds(kinds.collect());
        let network = network(&model.network, &config, device)?;
        network.takes(weights).map_err(|reason| {
            LabError::Usage(format!(
                "the network {} does not take the scheme {}: {reason}",
                model.network, self.name
            ))
        })?;
        Ok(network)
    }

    /// The most tokens of an input, if the encoding has a last position.
    pub fn longest(&self) -> Option<usize> {
        self.encoding.longest()
    }

    /// The positions of training step number `step`. Random ones come from a random stream of their
    /// own, so that the training data are the same for every scheme.
    pub fn for_training(&self, seed: u64, step: usize) -> PositionSource<'_> {
        PositionSource {
            scheme: self,
            rng: generator("positions", seed, step as u64),
            is_training: true,
            grid: self.grid,
        }
    }

    /// The positions for the test set of one length. The test set is scored once with each source, and the scores are
    /// averaged: one draw of random positions says little about other draws. The draws are the same for every model.
    pub fn for_test(&self, length: usize) -> impl Iterator<Item = PositionSource<'_>> {
        let draws = match self.max_position {
            Some(_) => TEST_DRAWS,
            None => 1,
        };
        (0..draws as u64).map(move |draw| self.draw_for_test(draw, length))
    }

    /// The first of the sources [`for_test`](Self::for_test), where one draw is enough.
    pub fn first_for_test(&self, length: usize) -> PositionSource<'_> {
        self.draw_for_test(0, length)
    }

    fn draw_for_test(&self, draw: u64, length: usize) -> PositionSource<'_> {
        PositionSource {
            scheme: self,
            rng: generator("test positions", draw, length as u64),
            is_training: false,
            grid: self.grid,
        }
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
    is_training: bool,
    /// The grid of the inputs.
    grid: Option<Grid>,
}

impl PositionSource<'_> {
    /// Positions that follow from the tokens of some samples, padded to `seq`. `None` where the scheme derives no positions
    /// from tokens, or the inputs are not tokens.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] when the scheme does not give a position to each token.
    pub fn of_tokens(&self, samples: &[Sample], seq: usize) -> Result<Option<Positions>, LabError> {
        // A copy of the generator, so that positions drawn later do not depend on whether this was called.
        let mut rng = self.rng.clone();
        let mut rows = Vec::with_capacity(samples.len());
        for sample in samples {
            let Input::Tokens(tokens) = &sample.input else {
                return Ok(None);
            };
            let draw = match self.is_training {
                true => rng.random::<u64>(),
                false => 0,
            };
            let Some(mut row) = self.scheme.encoding.token_positions(tokens, draw) else {
                return Ok(None);
            };
            if row.len() != tokens.len() {
                return Err(LabError::Usage(format!(
                    "the scheme {} gave {} positions to {} tokens",
                    self.scheme.name,
                    row.len(),
                    tokens.len()
                )));
            }
            row.resize(seq, 0);
            rows.push(row);
        }
        match rows.is_empty() {
            true => Ok(None),
            false => Ok(Some(Positions::from_id_rows(&rows)?)),
        }
    }

    /// Positions for inputs on another grid than that of the training. A scheme of rows and columns gives the
    /// same place the same position; see [`AtResolution`](super::AtResolution).
    #[must_use]
    pub fn on(self, grid: Option<Grid>) -> Self {
        let grid = grid.filter(|_| self.scheme.grid.is_some());
        Self {
            grid: grid.or(self.grid),
            ..self
        }
    }

    /// Positions at these times, one row per sequence, padded to `seq` with the last time of each. `None` where the scheme takes
    /// no times.
    ///
    /// # Errors
    ///
    /// [`LabError::Position`] for a time that is not finite, and for a row of more than `seq` times.
    pub fn at_times(&self, times: &[&[f64]], seq: usize) -> Result<Option<Positions>, LabError> {
        if times.is_empty() || !self.scheme.takes_times() {
            return Ok(None);
        }
        let padded = times.iter().map(|row| {
            let last = row.last().copied().unwrap_or(0.0);
            let filled = seq.saturating_sub(row.len());
            [row, &vec![last; filled][..]].concat()
        });
        let padded: Vec<Vec<f64>> = padded.collect();
        Ok(Some(Positions::from_time_rows(&padded)?))
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
mod tests;
