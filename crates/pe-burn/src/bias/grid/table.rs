//! A trained bias for each entry of a table, and the map from a query and a key to an entry.

#[cfg(feature = "checkpoint")]
use std::path::Path;

use core::fmt::Debug;

use alloc::format;

use burn::module::{Content, DisplaySettings, Initializer, Module, ModuleDisplay, Param};
use burn::tensor::{Device, Int, Tensor};

use super::resize::{Resampling, resized};
use super::window::{Pairs, check_window};
use crate::bias::Bias;
use crate::bias::distances::of_pairs;
use crate::bias::table::{check_table, gather};
#[cfg(feature = "checkpoint")]
use crate::checkpoint::{CheckpointError, parameter};
use crate::display::one_line;
use crate::error::{PositionError, check_size};
use crate::positions::Positions;
use crate::tensor::dequantized;

/// The configuration of a [`TableBias`]: its sizes, and which entry of the table a query and a key have.
pub trait TableGeometry: Clone + Debug + Send + Sync + 'static {
    /// The name that the module is shown by.
    const NAME: &'static str;

    /// The number of heads.
    fn heads(&self) -> usize;

    /// The height and the width that no query and key may be farther apart than.
    fn window(&self) -> [usize; 2];

    /// The number of entries that each head has.
    fn entries(&self) -> usize;

    /// The initial biases.
    fn initializer(&self) -> &Initializer;

    /// Refuses sizes that are out of bounds.
    fn check(&self) -> Result<(), PositionError> {
        check_size("heads", self.heads())?;
        check_window("window", self.window(), self.heads())
    }

    /// The shape of the table in checkpoints: entries first, unless a scheme has the heads first.
    fn shape(&self) -> [usize; 2] {
        [self.entries(), self.heads()]
    }

    /// The table as `[entries, heads]`.
    fn by_entry(table: Tensor<2>) -> Tensor<2> {
        table
    }

    /// How many times as coarse the grid of the queries is as that of the keys.
    fn stride(&self) -> usize {
        1
    }

    /// The entry of each query and key, `[rows, queries, keys]`.
    fn entry_of(&self, pairs: &Pairs, device: &Device) -> Result<Tensor<3, Int>, PositionError>;

    /// Adds the sizes that the module shows.
    fn show(&self, content: Content) -> Content {
        content
            .add("heads", &self.heads())
            .add_debug_attribute("window", &self.window())
    }
}

/// A [`TableGeometry`] with an entry for each offset of two tokens of a window, row by row, and `EXTRA` entries
/// after them.
pub trait Offsets: TableGeometry {
    /// The number of entries that are not of offsets.
    const EXTRA: usize;

    /// The same for another window.
    fn with_window(self, window: [usize; 2]) -> Self;
}

/// A trained bias per head for each entry of a table, by the rows and columns between query and key: what
/// [`SwinRelativeBias`](super::SwinRelativeBias), [`BeitRelativeBias`](super::BeitRelativeBias) and
/// [`LevitRelativeBias`](super::LevitRelativeBias) have in common. The configuration `G` says which entry a
/// query and a key have.
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct TableBias<G: TableGeometry> {
    /// `[entries, heads]`; `[heads, entries]` for LeViT. As in the checkpoints of the models.
    pub weight: Param<Tensor<2>>,
    #[module(skip)]
    config: G,
}

impl<G: TableGeometry> TableBias<G> {
    /// A new table.
    pub(super) fn new(config: &G, device: &Device) -> Result<Self, PositionError> {
        config.check()?;
        let (entries, heads) = (Some(config.entries()), Some(config.heads()));
        let init = config.initializer();
        Ok(Self {
            weight: init.init_with(config.shape(), entries, heads, device),
            config: config.clone(),
        })
    }

    /// A table from a file; `meaning` says what its two sizes are.
    #[cfg(feature = "checkpoint")]
    pub(super) fn from_file(
        config: &G,
        (path, name): (&Path, &str),
        meaning: &str,
        device: &Device,
    ) -> Result<Self, CheckpointError> {
        config.check()?;
        Ok(Self {
            weight: parameter(path, name, config.shape(), meaning, device)?,
            config: config.clone(),
        })
    }

    /// The configuration that this module was made from.
    pub fn config(&self) -> &G {
        &self.config
    }

    /// Refuses a table that was put in place for other sizes.
    fn check(&self) -> Result<(), PositionError> {
        check_table(&self.weight, self.config.shape(), || {
            let ([height, width], heads) = (self.config.window(), self.config.heads());
            format!("a window of {height} × {width} and {heads} heads")
        })
    }
}

impl<G: Offsets> TableBias<G> {
    /// The same for a window of another `[height, width]`: the table is a new parameter, trained if this
    /// one is.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a window that is out of bounds, and when the table is not that of the
    /// configuration's window; [`TooLarge`](PositionError::TooLarge) when the new one does not fit into
    /// memory.
    pub fn resize(self, window: [usize; 2], how: Resampling) -> Result<Self, PositionError> {
        check_window("window", window, self.config.heads())?;
        self.check()?;
        let old = self.config.window();
        let config = self.config.with_window(window);
        let weight = match window == old {
            true => self.weight,
            false => resized(self.weight, old, window, G::EXTRA, how),
        };
        Ok(Self { weight, config })
    }
}

impl<G: TableGeometry> Bias for TableBias<G> {
    fn try_bias(
        &self,
        queries: (&Positions, usize),
        keys: (&Positions, usize),
    ) -> Result<Tensor<4>, PositionError> {
        self.check()?;
        let weight = dequantized(self.weight.val());
        let own = (&weight.device(), weight.dtype());
        of_pairs(queries, keys, self.config.heads(), own, |queries, keys| {
            let pairs = Pairs::new(queries, keys, self.config.stride())?;
            let entries = self.config.entry_of(&pairs, &weight.device())?;
            Ok(gather(G::by_entry(weight), entries))
        })
    }
}

impl<G: TableGeometry> ModuleDisplay for TableBias<G> {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        one_line()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        let content = content.set_top_level_type(G::NAME);
        self.config.show(content).optional()
    }
}
