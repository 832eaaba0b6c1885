//! The reference model: a small transformer encoder around one positional scheme.

use std::borrow::Cow;
use std::sync::Mutex;

use burn::module::{Module, ModuleVisitor, Param};
use burn::nn::loss::CrossEntropyLossConfig;

use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::store::ModuleRecord;
use burn::tensor::{Bool, Bytes, Device, Int, Tensor};
use pe_burn::{
    Grid, LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig, Positional, Positions,
};
use pe_encoder::Cache;

use super::batch::{InputTensor, TensorBatch};
use crate::ask::{AtResolution, ModelSpec, Network, Scheme, normal};
use crate::data::digest;
use crate::erased::Erased;
use crate::error::LabError;
use crate::folder::{Entry, write_whole};
use crate::rng::stream_of;
use crate::task::Task;

/// The standard deviation of the initial token embeddings. It is smaller than what a scheme adds to
/// them, so that attention can tell positions apart from the first step on.
pub const TOKEN_STD: f64 = 0.2;

/// Tokens → embedding (vectors → linear projection) → positional scheme → pre-norm encoder → readout. The
/// encoder of a causal task is a decoder: a token sees only itself and the tokens before it.
///
/// The token embeddings start at N(0, [`TOKEN_STD`]), the weights of the encoder at N(0, 1 / √inputs). Burn's own defaults
/// are N(0, 1) for embeddings, and for weights a third of the variance above. With them `reverse` needs a learning rate of
/// 4e-3, and at that rate `first_eq_last` is not learned in 1,500 steps.
///
/// With a dropout, training draws random numbers from Burn's generator, which each step of the training seeds.
#[derive(Module, Debug)]
pub struct Model {
    /// The embedding of tokens, where inputs are tokens.
    tokens: Option<Embedding>,
    /// The projection of vectors, where inputs are vectors. It is a field apart from that of tokens, because stored weights
    /// have the names of fields.
    vectors: Option<Linear>,
    /// The weights of the scheme.
    scheme: Erased<dyn Positional>,
    /// What stands between embeddings and readout: the encoder, or a person's own network.
    encoder: Erased<dyn Network>,
    readout: Linear,
    /// The scheme itself, which makes the positions of every batch.
    #[module(skip)]
    spec: Scheme,
    /// Whether training draws random numbers.
    #[module(skip)]
    drops: bool,
}

/// Burn's random generator is global to the process, so only one model is built at a time.
static GENERATOR: Mutex<()> = Mutex::new(());

impl Model {
    /// Builds the model for a task.
    ///
    /// At one seed, everything but the scheme starts with the same values for every scheme: each part
    /// is seeded separately, and its values are drawn before the next part is seeded. The task's name goes
    /// into the seed, so the values of one task say nothing about those of another.
    ///
    /// # Errors
    ///
    /// [`LabError::Position`] when the configuration of the scheme is wrong, [`LabError::Usage`] when the model has
    /// too few layers for it.
    pub fn init(
        spec: &ModelSpec,
        task: &dyn Task,
        scheme: &Scheme,
        seed: u64,
        device: &Device,
    ) -> Result<Self, LabError> {
        let _alone = GENERATOR
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let stream = stream_of(task.name(), seed);
        let seeded = |part: u64| device.seed(stream.wrapping_add(part));

        seeded(1);
        let (tokens, vectors) = match task.vector_width() {
            None => {
                let tokens = EmbeddingConfig::new(task.vocabulary(), spec.d_model);
                let tokens = tokens.with_initializer(normal(TOKEN_STD)).init(device);
                (Some(drawn(tokens)), None)
            }
            Some(width) => {
                // Standardized vectors are projected to embeddings as large as those of tokens.
                let std = TOKEN_STD / (width as f64).sqrt();
                let vectors = LinearConfig::new(width, spec.d_model);
                let vectors = vectors.with_initializer(normal(std)).init(device);
                (None, Some(drawn(vectors)))
            }
        };
        seeded(4);
        let weights = drawn(scheme.init(device)?);
        seeded(2);
        let encoder = drawn(scheme.network(spec, &*weights, task.causal(), device)?);
        seeded(3);
        let readout = drawn(LinearConfig::new(spec.d_model, task.classes()).init(device));
        Ok(Self {
            tokens,
            vectors,
            scheme: weights,
            encoder,
            readout,
            spec: scheme.clone(),
            drops: spec.dropout > 0.0,
        })
    }

    /// Writes the weights to a file of Burn's own format, whole or not at all, and returns the SHA-256 of its bytes.
    ///
    /// # Errors
    ///
    /// [`LabError::File`] when the file cannot be written, [`LabError::Machine`] when the weights cannot be read from
    /// the device.
    pub fn save(&self, file: &Entry) -> Result<String, LabError> {
        let bytes = self.clone().into_record().into_bytes();
        let bytes = bytes.map_err(|error| LabError::Machine(error.to_string()))?;
        write_whole(file, &bytes)?;
        Ok(digest(&bytes))
    }

    /// This model with the weights in the bytes of a file.
    ///
    /// # Errors
    ///
    /// [`LabError::Content`] when the bytes hold no weights.
    pub fn with_weights(self, file: &Entry, bytes: Vec<u8>) -> Result<Self, LabError> {
        let record = ModuleRecord::from_bytes(Bytes::from_bytes_vec(bytes));
        Ok(self.load_record(record.map_err(LabError::content(file))?))
    }

    /// This model with another scheme, which must have no trained weights: the weights of the old one are dropped.
    ///
    /// # Errors
    ///
    /// [`LabError::Position`] when the configuration of the scheme is wrong.
    pub fn with_scheme(mut self, scheme: Scheme, device: &Device) -> Result<Self, LabError> {
        self.scheme = scheme.init(device)?;
        self.spec = scheme;
        Ok(self)
    }

    /// The scheme it was built with.
    pub fn scheme(&self) -> &Scheme {
        &self.spec
    }

    /// The logits of every answer, `[answers, classes]`, in the order of the batch.
    ///
    /// `input` is `[rows, seq]` tokens or `[rows, seq, width]` vectors. `padding` (`[rows, seq]`, see [`TensorBatch::padding`]) is true where
    /// there is no token: nothing attends to it and the mean leaves it out, so a padded row gets the
    /// same logits as the row alone. `read` is [`TensorBatch::read`].
    ///
    /// # Panics
    ///
    /// For vectors in a model of tokens, and for tokens in a model of vectors.
    pub fn forward(
        &self,
        input: impl Into<InputTensor>,
        padding: Option<Tensor<2, Bool>>,
        positions: &Positions,
        read: Option<Tensor<1, Int>>,
    ) -> Tensor<2> {
        let x = match (input.into(), &self.tokens, &self.vectors) {
            (InputTensor::Tokens(tokens), Some(embedding), _) => embedding.forward(tokens),
            (InputTensor::Vectors(vectors), _, Some(projection)) => projection.forward(vectors),
            (InputTensor::Tokens(_), ..) => panic!("this model reads vectors, not tokens"),
            (InputTensor::Vectors(_), ..) => panic!("this model reads tokens, not vectors"),
        };
        let x = self.embedded(x, positions);
        let shape = x.dims();
        let x = self
            .encoder
            .forward(x, padding.as_ref(), &*self.scheme, positions);
        assert_eq!(
            x.dims(),
            shape,
            "what the network gives has the shape of its input"
        );
        let [rows, seq, d_model] = shape;
        let read_from = match (read, padding) {
            (Some(flat), _) => x.reshape([rows * seq, d_model]).select(0, flat),
            (None, None) => x.mean_dim(1).reshape([rows, d_model]),
            (None, Some(padding)) => mean_of_tokens(x, padding),
        };
        self.readout.forward(read_from)
    }

    /// Embeddings with what the scheme adds to them.
    ///
    /// # Panics
    ///
    /// When the code of the scheme gives another shape, or gives it on another device.
    fn embedded(&self, x: Tensor<3>, positions: &Positions) -> Tensor<3> {
        let Some(scheme) = self.scheme.as_embed() else {
            return x;
        };
        let before = (x.dims(), x.device());
        let x = scheme.embed(x, positions);
        let name = &self.spec.name;
        assert_eq!(
            x.dims(),
            before.0,
            "the shape of embeddings with the scheme {name}, and without it"
        );
        assert_eq!(
            x.device(),
            before.1,
            "the device of embeddings with the scheme {name}, and without it"
        );
        x
    }

    /// An empty cache for each layer, to begin decoding with. `None` where the network has none.
    pub fn caches(&self) -> Option<Vec<Cache>> {
        self.encoder.caches()
    }

    /// Takes new tokens through a causal model of tokens, and appends them to the caches. They are at the
    /// positions after those of the caches.
    ///
    /// `tokens` is `[rows, seq]`; the result is the logits of the last token of each row, `[rows, classes]`, which
    /// are those of [`forward`](Self::forward) for the whole sequence.
    ///
    /// # Panics
    ///
    /// For a model that is not causal, and for a model of vectors.
    pub fn decode(&self, tokens: Tensor<2, Int>, caches: &mut [Cache]) -> Tensor<2> {
        let embedding = self.tokens.as_ref();
        let x = embedding.expect("a model of tokens").forward(tokens);
        let before = caches.first().map_or(0, Cache::tokens);
        let x = self.embedded(x, &Positions::from(before));
        let x = self.encoder.forward_cached(x, &*self.scheme, caches);
        let [_, seq, _] = x.dims();
        self.readout
            .forward(x.slice_dim(1, seq - 1..seq).squeeze_dim(1))
    }

    /// The mean over the answers of a batch: of the cross-entropy of classes, or of the absolute error of
    /// numbers.
    pub fn loss(&self, batch: TensorBatch) -> Tensor<1> {
        let device = batch.targets.device();
        if let Some(seed) = batch.dropout_seed.filter(|_| self.drops) {
            device.seed(seed);
        }
        let logits = self.forward(batch.input, batch.padding, &batch.positions, batch.read);
        match batch.numbers {
            Some(numbers) => (logits.squeeze_dim(1) - numbers).abs().mean(),
            None => CrossEntropyLossConfig::new()
                .init(&device)
                .forward(logits, batch.targets),
        }
    }

    /// This model for images of another resolution: where the scheme adds a table of rows for a line of patches, the table
    /// is interpolated like an image. Elsewhere it is the same model; see [`AtResolution`].
    ///
    /// # Errors
    ///
    /// [`LabError::Position`] when the table does not have a row for each patch of `trained`.
    pub fn at_resolution(
        &self,
        trained: Option<Grid>,
        tested: Option<Grid>,
    ) -> Result<Cow<'_, Self>, LabError> {
        let (Some(from), Some(to)) = (trained, tested) else {
            return Ok(Cow::Borrowed(self));
        };
        if from == to || AtResolution::of(&self.spec) != AtResolution::Rows {
            return Ok(Cow::Borrowed(self));
        }
        // What the scheme adds, as a table that can be resized.
        let weight = self.readout.weight.val();
        let [d_model, _] = weight.dims();
        let zeros = Tensor::zeros([1, from.tokens(), d_model], &weight.device());
        let rows = self.embedded(zeros, &Positions::default());
        let config = LearnedPositionalEmbeddingConfig::new(d_model, from.tokens());
        let mut table = config.try_init(&weight.device())?;
        table.weight = Param::from_tensor(rows.squeeze_dim(0));
        let table = table.resize(from, to)?;
        let scheme: Erased<dyn Positional> = Erased::new(table, |table| {
            let table: Option<&LearnedPositionalEmbedding> = table.downcast_ref();
            table.expect("a module keeps its type")
        });
        Ok(Cow::Owned(Self {
            scheme,
            ..self.clone()
        }))
    }

    /// What the scheme adds to the token embeddings: a row for each position of `0..positions`, or for
    /// each token of its grid.
    ///
    /// # Errors
    ///
    /// [`LabError::Trial`] when the values cannot be read back from the device.
    pub fn encoding(&self, positions: usize) -> Result<Vec<Vec<f32>>, LabError> {
        let weight = self.readout.weight.val();
        let d_model = weight.dims()[0];
        let (positions, seq) = self.spec.all_positions(positions);
        let zeros = Tensor::zeros([1, seq, d_model], &weight.device());
        let rows = self.embedded(zeros, &positions);
        let values = rows
            .into_data()
            .convert::<f32>()
            .try_to_vec::<f32>()
            .map_err(|error| LabError::Trial(error.to_string()))?;
        Ok(values.chunks(d_model.max(1)).map(<[f32]>::to_vec).collect())
    }

    /// The embeddings of all tokens, `[vocabulary, d_model]`, without positions. `None` in a model of
    /// vectors.
    pub fn tokens(&self) -> Option<Tensor<2>> {
        self.tokens.as_ref().map(|tokens| tokens.weight.val())
    }

    /// The number of parameters of the positional scheme alone.
    pub fn position_parameters(&self) -> usize {
        self.scheme.num_params()
    }
}

/// The mean over the tokens of each row of `x`, `[rows, seq, d_model]`, padding left out.
fn mean_of_tokens(x: Tensor<3>, padding: Tensor<2, Bool>) -> Tensor<2> {
    let [rows, seq, d_model] = x.dims();
    let tokens = padding.clone().bool_not().float().sum_dim(1);
    let sum = x
        .mask_fill(padding.reshape([rows, seq, 1]), 0.0)
        .sum_dim(1)
        .reshape([rows, d_model]);
    sum / tokens
}

/// Makes Burn draw the initial values now. Otherwise it draws a parameter's values when they are first used.
fn drawn<M: Module>(module: M) -> M {
    struct Touch;
    impl ModuleVisitor for Touch {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            drop(param.val());
        }
    }
    module.visit(&mut Touch);
    module
}

/// The values of a module's parameters as bits, in the order in which Burn visits them.
pub fn parameter_bits<M: Module>(module: &M) -> Vec<Vec<u32>> {
    struct Bits(Vec<Vec<u32>>);
    impl ModuleVisitor for Bits {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let values = param.val().into_data().convert::<f32>();
            self.0
                .push(values.iter::<f32>().map(f32::to_bits).collect());
        }
    }
    let mut bits = Bits(Vec::new());
    module.visit(&mut bits);
    bits.0
}

#[cfg(test)]
mod tests;
