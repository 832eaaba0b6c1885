//! A trained bias for each entry of a table, and the map from a query and a key to an entry.

#[cfg(feature = "checkpoint")]
use std::path::Path;

use core::fmt::Debug;

use burn::module::{Content, DisplaySettings, Initializer, Module, ModuleDisplay, Param};
use burn::tensor::{Device, Int, Tensor};

use super::resize::{Resampling, resized};
use super::window::{Pairs, check_window, offsets};
use crate::bias::Bias;
use crate::bias::distances::of_pairs;
use crate::bias::table::gather;
#[cfg(feature = "checkpoint")]
use crate::checkpoint::{CheckpointError, parameter};
use crate::config::one_line;
use crate::error::{PositionError, check_size};
use crate::positions::Tokens;
use crate::tensor::{check_parameter, dequantized};

/// The configuration of a [`TableBias`].
pub trait TableConfig: Clone + Debug + Send + Sync + 'static {
    /// The name that the module is shown by.
    const NAME: &'static str;

    /// What the table is like.
    fn table(&self) -> Table<'_>;
}

/// A [`TableConfig`] whose table can be fitted to another window: one with [`Entries::Offsets`].
pub trait Resize: TableConfig {
    /// This configuration for another window.
    fn with_window(self, window: [usize; 2]) -> Self;
}

/// What the table of a scheme is like.
pub struct Table<'a> {
    /// The number of heads.
    pub heads: usize,
    /// The height and the width of the window: no query and key may be farther apart than its tokens.
    pub window: [usize; 2],
    /// How many times as coarse the grid of the queries is as that of the keys; `None` where both are on one
    /// grid.
    pub stride: Option<usize>,
    /// Which entries each head has.
    pub entries: Entries,
    /// The initial biases.
    pub init: &'a Initializer,
}

/// Which entries a table has for each head.
#[derive(Clone, Copy)]
pub enum Entries {
    /// One for each offset of two tokens of the window, row by row. In checkpoints the table is
    /// `[entries, heads]`.
    Offsets {
        /// Whether three more follow: from a prefix token to a token of the grid, from a token of the grid to
        /// a prefix token, and between prefix tokens.
        prefix: bool,
    },
    /// One for each distance of two tokens of the window, row by row, whichever token comes first. In
    /// checkpoints the table is `[heads, entries]`.
    Distances,
}

impl Entries {
    /// The number of entries that follow those of the window.
    fn extra(self) -> usize {
        match self {
            Self::Offsets { prefix: true } => 3,
            Self::Offsets { prefix: false } | Self::Distances => 0,
        }
    }
}

impl Table<'_> {
    /// Refuses sizes that are out of bounds.
    fn check(&self) -> Result<(), PositionError> {
        check_size("heads", self.heads)?;
        check_size("stride", self.stride.unwrap_or(1))?;
        check_window("window", self.window, self.heads)
    }

    /// The number of entries for each head. The sizes are checked.
    fn entries(&self) -> usize {
        let [height, width] = self.window;
        match self.entries {
            Entries::Offsets { .. } => offsets(self.window) + self.entries.extra(),
            Entries::Distances => height * width,
        }
    }

    /// The shape of the table in checkpoints. The sizes are checked.
    fn shape(&self) -> [usize; 2] {
        match self.entries {
            Entries::Offsets { .. } => [self.entries(), self.heads],
            Entries::Distances => [self.heads, self.entries()],
        }
    }

    /// The entry of each query and key, `[rows, queries, keys]`.
    fn entry_of(&self, pairs: &Pairs, device: &Device) -> Result<Tensor<3, Int>, PositionError> {
        if self.entries.extra() == 0 {
            pairs.check_no_prefix()?;
        }
        pairs.check_within(self.window)?;
        if let Entries::Distances = self.entries {
            let apart = |axis| pairs.apart(axis, device).abs();
            return Ok(apart(0) * self.window[1] as i64 + apart(1));
        }
        let entries = pairs.entries(self.window, device);
        let Some([query, key]) = pairs.prefix(device) else {
            return Ok(entries);
        };
        let (shape, last) = (entries.dims(), self.entries() as i64 - 1);
        let (query, key) = (query.expand(shape), key.expand(shape));
        Ok(entries
            .mask_fill(query.clone(), last - 2)
            .mask_fill(key.clone(), last - 1)
            .mask_fill(query.bool_and(key), last))
    }
}

/// A trained bias per head for each entry of a table, by the rows and columns between query and key: what
/// [`SwinRelativeBias`](super::SwinRelativeBias), [`BeitRelativeBias`](super::BeitRelativeBias) and
/// [`LevitRelativeBias`](super::LevitRelativeBias) have in common. The configuration `C` says what the table is
/// like.
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct TableBias<C: TableConfig> {
    /// `[entries, heads]`; `[heads, entries]` for LeViT. As in the checkpoints of the models.
    pub weight: Param<Tensor<2>>,
    #[module(skip)]
    config: C,
}

impl<C: TableConfig> TableBias<C> {
    /// A new table.
    pub(super) fn new(config: &C, device: &Device) -> Result<Self, PositionError> {
        let table = config.table();
        table.check()?;
        let (entries, heads) = (Some(table.entries()), Some(table.heads));
        Ok(Self {
            weight: (table.init).init_with(table.shape(), entries, heads, device),
            config: config.clone(),
        })
    }

    /// A table from a file; `meaning` says what its two sizes are.
    #[cfg(feature = "checkpoint")]
    pub(super) fn from_file(
        config: &C,
        (path, name): (&Path, &str),
        meaning: &str,
        device: &Device,
    ) -> Result<Self, CheckpointError> {
        let table = config.table();
        table.check()?;
        Ok(Self {
            weight: parameter(path, name, table.shape(), meaning, device)?,
            config: config.clone(),
        })
    }

    /// The configuration that this module was made from.
    pub fn config(&self) -> &C {
        &self.config
    }

    /// What the table is like; an error where the parameter was replaced by one of another shape.
    fn table(&self) -> Result<Table<'_>, PositionError> {
        let table = self.config.table();
        let shape = self.weight.lazy_shape().dims();
        check_parameter("weight", shape, table.shape())?;
        Ok(table)
    }
}

impl<C: Resize> TableBias<C> {
    /// This module for a window of another `[height, width]`: the table is a new parameter, trained if this
    /// one is.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a window that is out of bounds; [`Config`](PositionError::Config) when the table is not
    /// that of the configuration's window; [`TooLarge`](PositionError::TooLarge) when the new one does not fit into memory.
    pub fn resize(self, window: [usize; 2], how: Resampling) -> Result<Self, PositionError> {
        check_window("window", window, self.config.table().heads)?;
        let table = self.table()?;
        let (old, extra) = (table.window, table.entries.extra());
        let weight = match window == old {
            true => self.weight,
            false => resized(self.weight, old, window, extra, how),
        };
        let config = self.config.with_window(window);
        Ok(Self { weight, config })
    }
}

impl<C: TableConfig> Bias for TableBias<C> {
    fn try_bias(&self, queries: Tokens, keys: Tokens) -> Result<Tensor<4>, PositionError> {
        let table = self.table()?;
        let weight = dequantized(self.weight.val());
        let own = (&weight.device(), weight.dtype());
        of_pairs(queries, keys, table.heads, own, |queries, keys| {
            let pairs = Pairs::new(queries, keys, table.stride.unwrap_or(1))?;
            let entries = table.entry_of(&pairs, &weight.device())?;
            Ok(match table.entries {
                Entries::Offsets { .. } => gather(weight, entries),
                Entries::Distances => gather(weight.transpose(), entries),
            })
        })
    }
}

impl<C: TableConfig> ModuleDisplay for TableBias<C> {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        one_line()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        let table = self.config.table();
        let content = content
            .set_top_level_type(C::NAME)
            .add("heads", &table.heads)
            .add_debug_attribute("window", &table.window);
        match table.stride {
            Some(stride) => content.add("stride", &stride).optional(),
            None => content.optional(),
        }
    }
}
