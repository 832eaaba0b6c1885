//! The learned table of positions.

#[cfg(feature = "checkpoint")]
mod checkpoint;
mod resize;

pub use resize::Extension;

use alloc::{vec, vec::Vec};

use burn::module::{Module, Param};
use burn::nn::{Dropout, DropoutConfig, Initializer};
use burn::tensor::module::embedding;
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::{Embed, InputScale, add, check_dropout, lookup};
use crate::backend::Addend;
use crate::backend::memory::check_room;
use crate::config::{config, module};
use crate::error::{PositionError, check_size};
use crate::positions::{Lookup, Positions, Rows};
use crate::spectrum::{DEFAULT_BASE, Spectrum};
use crate::tensor::{cast, changed, compute_dtype, dequantized, ids_on, indices_in, matrix};

/// What the rows of a learned table start as.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableInit {
    /// Values from any of Burn's initializers.
    Values(Initializer),
    /// The fixed sinusoidal encoding of the same positions, base 10 000, interleaved.
    Sinusoidal,
}

impl Default for TableInit {
    /// N(0, 0.02), as Hugging Face starts the table of GPT-2.
    fn default() -> Self {
        Self::Values(Initializer::Normal {
            mean: 0.0,
            std: 0.02,
        })
    }
}

config! {
    /// The configuration of a [`LearnedPositionalEmbedding`].
    pub struct LearnedPositionalEmbeddingConfig {
        /// The width of the embeddings, at least 1.
        d_model: usize,
        /// The number of positions, at least 1. It is a hard limit: there is no row past it.
        max_len: usize,
    }

    /// `max_len` trainable rows of width `d_model`; every option at its default.
    new;

    /// What the rows start as. Default: N(0, 0.02), for token embeddings that start at the same size. Burn's `Embedding`
    /// starts at N(0, 1), beside which the default has little effect: then start the table at N(0, 1) too.
    init: TableInit = TableInit::default(),
    /// Sets what the rows start as: a [`TableInit`] or one of Burn's initializers.
    with_init: impl Into<TableInit>;

    /// The probability, in `[0, 1)`, of zeroing an entry of the sum in training. Default: 0.
    dropout: f64 = 0.0,
    with_dropout;

    /// The factor of the input. Default: none.
    input_scale: InputScale = InputScale::default(),
    with_input_scale;

    /// The row that padded tokens use. Default: none; they use the row of position 0.
    ///
    /// As in fairseq and RoBERTa: this row starts as zeros and is never trained, and position `p`
    /// uses row `padding_index + 1 + p`. The table has `max_len + padding_index + 1` rows, of which
    /// those before the padding row are never used.
    padding_index: Option<usize> = None,
    with_padding_index: usize;
}

impl LearnedPositionalEmbeddingConfig {
    /// Builds the module on `device`. The table is made when it is first used, as Burn's parameters
    /// are, unless it starts as a sinusoid or has a padding row.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a number of this configuration that is out of bounds, and
    /// [`Overflow`](PositionError::Overflow) or [`TooLarge`](PositionError::TooLarge) when `max_len` is
    /// more than there are positions, or the table does not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<LearnedPositionalEmbedding, PositionError> {
        let offset = self.check()?;
        Ok(self.with_weight(self.table(offset, device)?))
    }

    /// Checks the configuration, and returns the row of position 0.
    fn check(&self) -> Result<usize, PositionError> {
        check_size("d_model", self.d_model)?;
        check_size("max_len", self.max_len)?;
        check_dropout(self.dropout)?;
        self.input_scale.check()?;
        let offset = self
            .padding_index
            .map_or(0, |index| index.saturating_add(1));
        Positions::from(offset).lookup(None, self.max_len)?;
        check_room::<f32>(offset + self.max_len, self.d_model)?;
        Ok(offset)
    }

    /// The module with a table, which has the number of rows that this configuration asks for.
    fn with_weight(&self, weight: Param<Tensor<2>>) -> LearnedPositionalEmbedding {
        LearnedPositionalEmbedding {
            weight,
            dropout: DropoutConfig::new(self.dropout).init(),
            config: self.clone(),
        }
    }

    /// A new table, with `offset` rows before that of position 0.
    fn table(&self, offset: usize, device: &Device) -> Result<Param<Tensor<2>>, PositionError> {
        let shape = [offset + self.max_len, self.d_model];
        match &self.init {
            TableInit::Values(values) => {
                let table = matrix(values, shape, device);
                let Some(index) = self.padding_index else {
                    return Ok(table);
                };
                let zeros = Tensor::zeros([1, self.d_model], device);
                let table = table.into_value().set_require_grad(false);
                Ok(Param::from_tensor(
                    table.slice_assign([index..index + 1, 0..self.d_model], zeros),
                ))
            }
            TableInit::Sinusoidal => {
                let mut rows = vec![0.0; offset * self.d_model];
                let spectrum = Spectrum::new(self.d_model, DEFAULT_BASE)?;
                rows.extend(spectrum.rows::<f64>(0..self.max_len)?);
                Ok(Param::from_data(TensorData::new(rows, shape), device))
            }
        }
    }
}

module!(LearnedPositionalEmbeddingConfig => LearnedPositionalEmbedding {
    d_model, max_len, init, dropout, input_scale, padding_index,
});

impl From<Initializer> for TableInit {
    fn from(initializer: Initializer) -> Self {
        Self::Values(initializer)
    }
}

/// Adds a trained row per position to token embeddings:
///
/// ```text
/// forward(x) = dropout(scale · x + weight[position])
/// ```
///
/// Gehring et al., [*Convolutional Sequence to Sequence
/// Learning*](https://arxiv.org/abs/1705.03122), 2017, §3.1; the variant that Vaswani et al. 2017
/// (table 3, row E) compare with the sinusoidal one, and the one that BERT and GPT-2 use. Made by
/// [`LearnedPositionalEmbeddingConfig`].
///
/// ```
/// use burn::module::Module;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::{Embed, LearnedPositionalEmbeddingConfig, Positions};
///
/// let device = Device::flex();
/// let pe = LearnedPositionalEmbeddingConfig::new(512, 128).init(&device);
/// assert_eq!(pe.num_params(), 128 * 512);
///
/// let embeddings = Tensor::<3>::random([8, 100, 512], Distribution::Default, &device);
/// let x = pe.forward(embeddings); // [8, 100, 512]
/// assert_eq!(x.dims(), [8, 100, 512]);
///
/// // There is no row past the last one.
/// let long = Tensor::<3>::zeros([8, 129, 512], &device);
/// let error = pe.try_embed(long, &Positions::default()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "position 128 is past the end: this module has positions 0 to 127 (max_len 128)"
/// );
/// ```
///
/// - **Parameters.** `max_len × d_model`, under the name `weight` in the record; with a padding
///   row `(max_len + padding_index + 1) × d_model`.
/// - **Gradients** reach only the rows that a batch uses.
/// - **Any float type.** The sum is computed in `f32` (`f64` for `f64` inputs) and rounded once to
///   the type of the input.
/// - **Pretrained tables.** With the feature `checkpoint`, `init_from_file` of the configuration reads
///   the table of a model from its file, and `save_to_file` writes one; [`crop`](Self::crop),
///   [`extend`](Self::extend) and [`resize`](Self::resize) fit it to other lengths.
/// - **Gradient checkpointing.** Build the model on the checkpointing device, this module with the
///   rest, and do not call `valid().train()`: Burn panics when two checkpointing strategies meet in
///   one graph, and `train()` gives parameters the default one.
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct LearnedPositionalEmbedding {
    /// The table, `[max_len, d_model]`; with a padding index, `padding_index + 1` more rows come first.
    pub weight: Param<Tensor<2>>,
    dropout: Dropout,
    #[module(skip)]
    config: LearnedPositionalEmbeddingConfig,
}

impl LearnedPositionalEmbedding {
    /// This module with its table replaced by a changed one, which is a new parameter, trained if this one
    /// is. An adapter that was trained beside the table (LoRA) is merged into it.
    fn map_table(self, change: impl FnOnce(Tensor<2>) -> Tensor<2>) -> Self {
        let offset = self.offset();
        let weight = changed(self.weight, change);
        let [rows, d_model] = weight.lazy_shape().dims();
        Self {
            weight,
            dropout: self.dropout,
            config: LearnedPositionalEmbeddingConfig {
                d_model,
                max_len: rows - offset,
                ..self.config
            },
        }
    }

    /// Adds the rows of positions 0, 1, 2, … to `x`. For other positions see
    /// [`embed`](Embed::embed).
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`, any float type; `batch` and `seq` may be 0
    /// - output: as `x`
    ///
    /// # Panics
    ///
    /// Where [`try_embed`](Embed::try_embed) returns an error: past `max_len` among others.
    #[track_caller]
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        self.embed(x, &Positions::default())
    }

    /// The rows of `positions` alone, in the type of the table, or in that of its scales if it was
    /// quantized.
    ///
    /// # Shapes
    ///
    /// - output: `[1, seq, d_model]` where all rows of a batch have the same positions, else
    ///   `[batch, seq, d_model]`
    ///
    /// # Errors
    ///
    /// Those of [`try_embed`](Embed::try_embed) about positions.
    pub fn encode(&self, positions: &Positions, seq: usize) -> Result<Tensor<3>, PositionError> {
        let [max_len, d_model] = self.size();
        let lookup = positions.lookup(None, seq)?;
        lookup.check_whole("a learned table")?;
        lookup.check_limit(max_len)?;
        let shape = [lookup.batch, seq, d_model];
        if shape.contains(&0) {
            let dtype = dequantized(self.weight.val()).dtype();
            return Ok(Tensor::empty(shape, (&self.weight.lazy_device(), dtype)));
        }
        Ok(self.rows(&lookup))
    }

    /// `[max_len, d_model]` of the table, which may have been replaced since `init`.
    fn size(&self) -> [usize; 2] {
        let [rows, d_model] = self.weight.lazy_shape().dims();
        [rows.saturating_sub(self.offset()), d_model]
    }

    /// The row of position 0.
    fn offset(&self) -> usize {
        self.config.padding_index.map_or(0, |index| index + 1)
    }

    /// The rows of at least one token.
    fn rows(&self, lookup: &Lookup) -> Tensor<3> {
        let weight = dequantized(self.weight.val());
        let device = weight.device().without_autodiff();
        let offset = self.offset();
        let padding = (self.config.padding_index)
            .and_then(|index| lookup.padding(&device).map(|padding| (index, padding)));
        let ids = match &lookup.rows {
            Rows::Run(start) if padding.is_none() => {
                let first = offset + start;
                return weight.slice(first..first + lookup.seq).unsqueeze();
            }
            Rows::Run(start) => {
                let ids: Vec<usize> = (offset + start..offset + start + lookup.seq).collect();
                indices_in(&ids, [1, lookup.seq], &device)
            }
            Rows::Ids(ids) => {
                let ids: Vec<usize> = ids.iter().map(|id| id + offset).collect();
                indices_in(&ids, [lookup.batch, lookup.seq], &device)
            }
            Rows::Device(ids) => ids_on(&ids.ids, &device).add_scalar(offset as i64),
            Rows::Times(_) | Rows::Coordinates { .. } => unreachable!("refused before"),
        };
        let Some((index, padding)) = padding else {
            return embedding(weight, ids);
        };
        let shape = [lookup.padded_batch(), lookup.seq];
        let padding = padding.expand(shape);
        let ids = ids.expand(shape).mask_fill(padding.clone(), index as i64);
        let rows = embedding(weight, ids);
        // The padding row is added as it is, but it gets no gradient.
        let padding = padding.unsqueeze_dim::<3>(2).expand(rows.dims());
        rows.clone().mask_where(padding, rows.detach())
    }
}

impl Embed for LearnedPositionalEmbedding {
    fn try_embed(&self, x: Tensor<3>, positions: &Positions) -> Result<Tensor<3>, PositionError> {
        let [max_len, d_model] = self.size();
        let (lookup, batch) = lookup(&x, positions, d_model, &self.weight.lazy_device())?;
        lookup.check_whole("a learned table")?;
        lookup.check_limit(max_len)?;
        let seq = lookup.seq;
        if batch * seq == 0 {
            return Ok(x);
        }
        let rows = cast(self.rows(&lookup), compute_dtype(x.dtype().into()));
        let scale = self.config.input_scale.factor(d_model);
        let len = batch * seq * d_model;
        Ok(add(x, Addend::Tensor(rows), scale, &self.dropout, len))
    }
}

#[cfg(test)]
mod tests;
