//! The learned table of positions.

use alloc::{vec, vec::Vec};

use burn::config::Config;
use burn::module::{Content, DisplaySettings, Module, ModuleDisplay, Param, ParamId};
use burn::nn::{Dropout, DropoutConfig, Initializer};
use burn::tensor::module::embedding;
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::display::on_one_line;
use crate::encoding::Encoding;
use crate::error::{PositionError, expect};
use crate::index::{ids_on, index_tensor, mask_on};
use crate::input::{self, InputScale, check_dropout, check_input, dequantized};
use crate::memory::check_room;
use crate::positions::{Place, Positions};
use crate::spectrum::{DEFAULT_BASE, Spectrum};

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

/// The configuration of a [`LearnedPositionalEmbedding`].
///
/// As data (JSON, TOML) only `d_model` and `max_len` are required, and an unknown field is an
/// error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedPositionalEmbeddingConfig {
    /// The width of the embeddings, at least 1.
    pub d_model: usize,
    /// The number of positions, at least 1. It is a hard limit: there is no row past it.
    pub max_len: usize,
    /// What the rows start as. Default: N(0, 0.02), for token embeddings of that size. Beside
    /// Burn's own, which start at N(0, 1), so small a table is hardly seen: give it their size.
    #[serde(default)]
    pub init: TableInit,
    /// The probability, in `[0, 1)`, of zeroing an entry of the sum in training. Default: 0.
    #[serde(default)]
    pub dropout: f64,
    /// What the input is multiplied by first. Default: nothing.
    #[serde(default)]
    pub input_scale: InputScale,
    /// The row that the padded tokens of a mask use. Default: none, they share that of position 0.
    ///
    /// As in fairseq and RoBERTa: this row starts as zeros and is never trained, and position `p`
    /// uses row `padding_index + 1 + p`, so that the table has `max_len + padding_index + 1` rows,
    /// of which those before the padding row are never used.
    #[serde(default)]
    pub padding_index: Option<usize>,
}

impl Config for LearnedPositionalEmbeddingConfig {}

impl LearnedPositionalEmbeddingConfig {
    /// `max_len` trainable rows of width `d_model`; every option at its default.
    pub fn new(d_model: usize, max_len: usize) -> Self {
        Self {
            d_model,
            max_len,
            init: TableInit::default(),
            dropout: 0.0,
            input_scale: InputScale::default(),
            padding_index: None,
        }
    }

    /// Sets what the rows start as: a [`TableInit`] or one of Burn's initializers.
    pub fn with_init(self, init: impl Into<TableInit>) -> Self {
        Self {
            init: init.into(),
            ..self
        }
    }

    /// Sets the dropout probability, in `[0, 1)`.
    pub fn with_dropout(self, dropout: f64) -> Self {
        Self { dropout, ..self }
    }

    /// Sets what the input is multiplied by before the embedding is added.
    pub fn with_input_scale(self, input_scale: InputScale) -> Self {
        Self {
            input_scale,
            ..self
        }
    }

    /// Sets the row that padded tokens use.
    pub fn with_padding_index(self, padding_index: Option<usize>) -> Self {
        Self {
            padding_index,
            ..self
        }
    }

    /// Builds the module on `device`. The table is made at its first use, as Burn's own are,
    /// unless it starts as a sinusoid or has a padding row.
    ///
    /// # Panics
    ///
    /// Where [`try_init`](Self::try_init) returns an error.
    pub fn init(&self, device: &Device) -> LearnedPositionalEmbedding {
        expect(self.try_init(device))
    }

    /// As [`init`](Self::init).
    ///
    /// # Errors
    ///
    /// [`PositionError::ZeroDModel`], [`ZeroMaxLen`](PositionError::ZeroMaxLen),
    /// [`Dropout`](PositionError::Dropout), [`NotFinite`](PositionError::NotFinite) (the input
    /// scale), and [`Overflow`](PositionError::Overflow) or
    /// [`TooLarge`](PositionError::TooLarge) for more rows than there are positions or memory.
    pub fn try_init(&self, device: &Device) -> Result<LearnedPositionalEmbedding, PositionError> {
        let offset = self.check()?;
        Ok(self.with_weight(self.table(offset, device)?))
    }

    /// The row of position 0, where the configuration makes sense.
    pub(crate) fn check(&self) -> Result<usize, PositionError> {
        if self.d_model == 0 {
            return Err(PositionError::ZeroDModel);
        }
        if self.max_len == 0 {
            return Err(PositionError::ZeroMaxLen);
        }
        check_dropout(self.dropout)?;
        self.input_scale.check()?;
        let offset = self
            .padding_index
            .map_or(0, |index| index.saturating_add(1));
        Positions::from(offset).check(None, self.max_len)?;
        check_room::<f32>(offset + self.max_len, self.d_model)?;
        Ok(offset)
    }

    /// The module with a table of the rows that this configuration has.
    pub(crate) fn with_weight(&self, weight: Param<Tensor<2>>) -> LearnedPositionalEmbedding {
        LearnedPositionalEmbedding {
            weight,
            dropout: DropoutConfig::new(self.dropout).init(),
            config: self.clone(),
        }
    }

    /// The table of `offset` rows that are not positions and `max_len` that are.
    fn table(&self, offset: usize, device: &Device) -> Result<Param<Tensor<2>>, PositionError> {
        let shape = [offset + self.max_len, self.d_model];
        match &self.init {
            TableInit::Values(values) => {
                let table = values.init_with(shape, Some(shape[0]), Some(shape[1]), device);
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
                let spectrum = Spectrum::try_new(self.d_model, DEFAULT_BASE)?;
                rows.extend(spectrum.try_rows::<f64>(0..self.max_len)?);
                Ok(Param::from_data(TensorData::new(rows, shape), device))
            }
        }
    }
}

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
/// use pe_burn::LearnedPositionalEmbeddingConfig;
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
/// let error = pe.try_forward(long).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "position 128 is past the end: this encoding has positions 0 to 127 (max_len 128)"
/// );
/// ```
///
/// - **Parameters.** `max_len × d_model`, under the name `weight` in the record; with a padding
///   row `(max_len + padding_index + 1) × d_model`.
/// - **Gradients** reach only the rows that a batch uses.
/// - **Any float type.** The sum is computed in `f32` (`f64` for `f64` inputs) and rounded once to
///   the type of the input.
/// - **Trained elsewhere.** With the feature `checkpoint` the `init_from_file` of the configuration
///   reads the table of a model, and `save_to_file` writes one; [`crop`](Self::crop),
///   [`extend`](Self::extend) and [`resize`](Self::resize) fit it to other lengths.
/// - A model that is trained with gradient checkpointing is built on that device, this module with
///   the rest, and not sent through `valid().train()`: Burn panics when two checkpointing
///   strategies meet in one graph, and `train()` gives parameters the default one.
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct LearnedPositionalEmbedding {
    /// The table, `[max_len, d_model]`, with `padding_index + 1` rows in front where there is one.
    pub weight: Param<Tensor<2>>,
    dropout: Dropout,
    #[module(skip)]
    config: LearnedPositionalEmbeddingConfig,
}

impl LearnedPositionalEmbedding {
    /// The same with another table in the place of this one, of as many rows before position 0: a
    /// parameter of its own, trained if this one is. What was trained beside the table (LoRA) becomes
    /// a part of it.
    pub(crate) fn map_table(self, change: impl FnOnce(Tensor<2>) -> Tensor<2>) -> Self {
        let offset = self.offset();
        let (_, table, state) = self.weight.materialize().consume();
        let trained = table.is_require_grad();
        let mut table = change(dequantized(table).detach()).detach();
        if trained {
            table = table.require_grad();
        }
        let [rows, d_model] = table.dims();
        Self {
            weight: Param::from_mapped_value(ParamId::new(), table, state),
            dropout: self.dropout,
            config: LearnedPositionalEmbeddingConfig {
                d_model,
                max_len: rows - offset,
                ..self.config
            },
        }
    }

    /// Adds the rows of positions 0, 1, 2, … to `x`.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`, any float type; `batch` and `seq` may be 0
    /// - output: as `x`
    ///
    /// # Panics
    ///
    /// Where [`try_forward`](Self::try_forward) returns an error.
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        expect(self.try_forward(x))
    }

    /// As [`forward`](Self::forward).
    ///
    /// # Errors
    ///
    /// As [`try_forward_at`](Self::try_forward_at).
    pub fn try_forward(&self, x: Tensor<3>) -> Result<Tensor<3>, PositionError> {
        self.try_forward_at(x, &Positions::default())
    }

    /// Adds the rows of `positions` to `x`.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`, any float type; `batch` and `seq` may be 0
    /// - output: as `x`
    ///
    /// # Panics
    ///
    /// Where [`try_forward_at`](Self::try_forward_at) returns an error.
    pub fn forward_at(&self, x: Tensor<3>, positions: &Positions) -> Tensor<3> {
        expect(self.try_forward_at(x, positions))
    }

    /// As [`forward_at`](Self::forward_at).
    ///
    /// # Errors
    ///
    /// [`PositionError::TooLong`] from position `max_len` on,
    /// [`Overflow`](PositionError::Overflow) past [`MAX_POSITION`](crate::MAX_POSITION),
    /// [`DModel`](PositionError::DModel) when `x` is of another width,
    /// [`Device`](PositionError::Device) when it is elsewhere,
    /// [`Quantized`](PositionError::Quantized) when it is, and
    /// [`Shape`](PositionError::Shape) or [`Starts`](PositionError::Starts) when the positions are
    /// for another shape.
    pub fn try_forward_at(
        &self,
        x: Tensor<3>,
        positions: &Positions,
    ) -> Result<Tensor<3>, PositionError> {
        let [max_len, width] = self.size();
        let [batch, seq] = check_input(&x, positions, width, &self.weight.lazy_device())?;
        positions.check_whole("a learned table")?;
        positions.check_limit(seq, max_len)?;
        if batch * seq == 0 {
            return Ok(x);
        }
        let rows = self.rows(positions, seq);
        let rows = input::cast(rows, input::sum_dtype(x.dtype().into()));
        let scale = self.config.input_scale.factor(width);
        let numbers = batch * seq * width;
        let rows = Encoding::Whole(rows);
        Ok(input::add(x, rows, scale, &self.dropout, numbers))
    }

    /// The rows of `positions` alone, in the type of the table, or that of its scales where it was
    /// quantized.
    ///
    /// # Shapes
    ///
    /// - output: `[1, seq, d_model]` where every row of a batch has the same positions, else
    ///   `[batch, seq, d_model]`
    ///
    /// # Panics
    ///
    /// Where [`try_encode`](Self::try_encode) returns an error.
    pub fn encode(&self, positions: &Positions, seq: usize) -> Tensor<3> {
        expect(self.try_encode(positions, seq))
    }

    /// As [`encode`](Self::encode).
    ///
    /// # Errors
    ///
    /// [`PositionError::Shape`] when the positions are not for `seq` tokens,
    /// [`TooLong`](PositionError::TooLong) from position `max_len` on, and
    /// [`Overflow`](PositionError::Overflow) past [`MAX_POSITION`](crate::MAX_POSITION).
    pub fn try_encode(
        &self,
        positions: &Positions,
        seq: usize,
    ) -> Result<Tensor<3>, PositionError> {
        let [max_len, d_model] = self.size();
        positions.check(None, seq)?;
        positions.check_whole("a learned table")?;
        positions.check_limit(seq, max_len)?;
        let shape = [positions.rows(), seq, d_model];
        if shape.contains(&0) {
            let dtype = dequantized(self.weight.val()).dtype();
            return Ok(Tensor::empty(shape, (&self.weight.lazy_device(), dtype)));
        }
        Ok(self.rows(positions, seq))
    }

    /// The configuration that this module was made from.
    pub fn config(&self) -> &LearnedPositionalEmbeddingConfig {
        &self.config
    }

    /// `[max_len, d_model]` of the table as it is: it may have been replaced by another.
    pub(crate) fn size(&self) -> [usize; 2] {
        let [rows, d_model] = self.weight.lazy_shape().dims();
        [rows.saturating_sub(self.offset()), d_model]
    }

    /// The row of position 0.
    pub(crate) fn offset(&self) -> usize {
        self.config.padding_index.map_or(0, |index| index + 1)
    }

    /// The rows of at least one token at checked positions.
    fn rows(&self, positions: &Positions, seq: usize) -> Tensor<3> {
        let weight = dequantized(self.weight.val());
        let device = weight.device().without_autodiff();
        let padding_index = self.config.padding_index;
        let offset = self.offset();
        match positions.place(seq) {
            Place::Run(start) => {
                let first = offset + start;
                weight.slice(first..first + seq).unsqueeze()
            }
            Place::Host(ids) => {
                let rows: Vec<usize> = ids.iter().map(|id| id + offset).collect();
                embedding(weight, index_tensor(&rows, seq, &device))
            }
            Place::Times(_) => unreachable!("times were refused"),
            Place::Device(ids, padding) => {
                let ids = ids_on(ids, &device).add_scalar(offset as i64);
                let (Some(index), Some(padding)) = (padding_index, padding) else {
                    return embedding(weight, ids);
                };
                let padding = mask_on(padding, &device);
                let ids = ids.mask_fill(padding.clone(), index as i64);
                let rows = embedding(weight, ids);
                // The padding row is used as it is, but no gradient reaches it.
                let [batch, seq, d_model] = rows.dims();
                let padding = padding.unsqueeze_dim::<3>(2).expand([batch, seq, d_model]);
                rows.clone().mask_where(padding, rows.detach())
            }
        }
    }
}

impl ModuleDisplay for LearnedPositionalEmbedding {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        on_one_line()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        content
            .add("d_model", &self.config.d_model)
            .add("max_len", &self.config.max_len)
            .add_debug_attribute("init", &self.config.init)
            .add("dropout", &self.config.dropout)
            .add_debug_attribute("input_scale", &self.config.input_scale)
            .add_debug_attribute("padding_index", &self.config.padding_index)
            .optional()
    }
}
