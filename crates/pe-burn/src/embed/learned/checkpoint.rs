//! Learned tables in the files of other frameworks: safetensors and PyTorch's.

use std::format;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::string::{String, ToString};
use std::vec::Vec;

use burn::module::Param;
use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_store::{ModuleSnapshot, ModuleStore, PytorchStore, SafetensorsStore, bridge};

use super::{LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig};
use crate::error::PositionError;

/// Why a table could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file cannot be read, or is of neither format.
    #[error("cannot read {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        reason: String,
    },

    /// The file cannot be written.
    #[error("cannot write {}: {reason}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        reason: String,
    },

    /// The file has no tensor of this name.
    #[error("{} has no tensor \"{name}\"; it has: {}", path.display(), names.join(", "))]
    Name {
        /// The file.
        path: PathBuf,
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        names: Vec<String>,
    },

    /// The tensor has another shape than the configuration needs.
    #[error(
        "\"{name}\" has shape {got:?}, but this configuration needs {expected:?}: max_len and {} rows before position 0, and d_model",
        expected[0] - max_len
    )]
    Shape {
        /// The name of the tensor.
        name: String,
        /// Its shape.
        got: Vec<usize>,
        /// `[rows, d_model]` that the configuration needs.
        expected: [usize; 2],
        /// The positions among the rows.
        max_len: usize,
    },

    /// The tensor does not hold floats.
    #[error("\"{name}\" holds {}, but a table holds floats (f64, f32, f16 or bf16)", dtype.name())]
    DType {
        /// The name of the tensor.
        name: String,
        /// What it holds.
        dtype: DType,
    },

    /// The configuration is out of bounds.
    #[error(transparent)]
    Config(#[from] PositionError),
}

impl LearnedPositionalEmbeddingConfig {
    /// Builds the module with the table of a trained model, from a safetensors file or a PyTorch one
    /// (`.bin`, `.pt`, `.pth`); the content tells which. The configuration's `init` is not used.
    ///
    /// | model | name at Hugging Face | `padding_index` |
    /// |---|---|---|
    /// | GPT-2 | `wpe.weight` or `transformer.wpe.weight` | none |
    /// | BERT | `embeddings.position_embeddings.weight`, with `bert.` in front in a larger model | none |
    /// | RoBERTa | as for BERT, with `roberta.` in front | 1 |
    /// | BART | `encoder.embed_positions.weight` and `decoder.…`, with `model.` in front | 1 |
    /// | OPT | `decoder.embed_positions.weight`, with `model.` in front | 1 |
    /// | ViT | `embeddings.position_embeddings`; the class token is position 0 | none |
    ///
    /// A `padding_index` of 1 is these models' offset of 2: `max_len` counts the positions, and the
    /// table has two rows more. A tensor `[1, rows, d_model]`, as ViT's, is read as
    /// `[rows, d_model]`. The elements are converted to the default float type of the device.
    ///
    /// ```no_run
    /// use burn::tensor::Device;
    /// use pe_burn::LearnedPositionalEmbeddingConfig;
    ///
    /// # fn main() -> Result<(), pe_burn::CheckpointError> {
    /// let device = Device::flex();
    /// let gpt2 = LearnedPositionalEmbeddingConfig::new(768, 1024)
    ///     .init_from_file("gpt2/model.safetensors", "wpe.weight", &device)?;
    /// let opt = LearnedPositionalEmbeddingConfig::new(768, 2048)
    ///     .with_padding_index(1)
    ///     .init_from_file("opt/pytorch_model.bin", "model.decoder.embed_positions.weight", &device)?;
    /// # let _ = (gpt2, opt);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CheckpointError::Read`]; [`Name`](CheckpointError::Name), which lists the names that there
    /// are; [`Shape`](CheckpointError::Shape) and [`DType`](CheckpointError::DType) for a table that does
    /// not fit this configuration; [`Config`](CheckpointError::Config) for what
    /// [`try_init`](Self::try_init) refuses.
    pub fn init_from_file(
        &self,
        path: impl AsRef<Path>,
        name: &str,
        device: &Device,
    ) -> Result<LearnedPositionalEmbedding, CheckpointError> {
        let offset = self.check()?;
        let path = path.as_ref();
        let table = read(path, name)?;
        if !table.dtype().is_float() {
            return Err(CheckpointError::DType {
                name: name.to_string(),
                dtype: table.dtype(),
            });
        }
        let expected = [offset + self.max_len, self.d_model];
        let shape = match table.shape().as_slice() {
            [1, rows, d_model] | [rows, d_model] => [*rows, *d_model],
            _ => [0, 0],
        };
        if shape != expected {
            return Err(CheckpointError::Shape {
                name: name.to_string(),
                got: table.shape().to_vec(),
                expected,
                max_len: self.max_len,
            });
        }
        let dtype: DType = device.settings().float_dtype.into();
        let table = Tensor::<1>::from_data(
            TensorData::new(
                table.iter::<f64>().collect::<Vec<f64>>(),
                [expected[0] * expected[1]],
            ),
            (device, dtype),
        );
        Ok(self.with_weight(Param::from_tensor(table.reshape(expected).detach())))
    }
}

impl LearnedPositionalEmbedding {
    /// Writes the table to a safetensors file, as a tensor `[rows, d_model]` of this name, the rows
    /// before position 0 included. PyTorch loads it with `safetensors.torch.load_file`, into an
    /// `nn.Embedding` called `wpe` for the name `wpe.weight`.
    ///
    /// The same table gives the same bytes. To write a whole model, use `burn-store`: the name of
    /// this parameter in it is `weight`, as in PyTorch.
    ///
    /// # Errors
    ///
    /// [`CheckpointError::Write`]: when there is such a file already, among others.
    pub fn save_to_file(&self, path: impl AsRef<Path>, name: &str) -> Result<(), CheckpointError> {
        let path = path.as_ref();
        // One metadata entry, since the order of several is not fixed. Hugging Face's loaders need this one.
        let mut store = SafetensorsStore::from_file(path)
            .clear_metadata()
            .metadata("format", "pt")
            .with_key_remapping("^weight$", name.replace('$', "$$"));
        // A LoRA adapter is merged, and a quantized table dequantized.
        self.clone()
            .map_table(|table| table)
            .save_into(&mut store)
            .map_err(|error| CheckpointError::Write {
                path: path.to_path_buf(),
                reason: error.to_string(),
            })
    }
}

/// The elements of a tensor in a file.
fn read(path: &Path, name: &str) -> Result<TensorData, CheckpointError> {
    let unreadable = |reason: String| CheckpointError::Read {
        path: path.to_path_buf(),
        reason,
    };
    // A safetensors file is a length and then JSON; no file of PyTorch's has a brace there.
    let mut start = [0; 9];
    let mut file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    file.read_exact(&mut start)
        .map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => unreadable("it is too short to hold a tensor".to_string()),
            _ => unreadable(error.to_string()),
        })?;
    match start[8] {
        b'{' => tensor(&mut SafetensorsStore::from_file(path), path, name),
        // By default Burn's reader renumbers the layers of a list; names must be those of the file.
        _ => {
            let mut store = PytorchStore::from_file(path).map_indices_contiguous(false);
            tensor(&mut store, path, name)
        }
    }
}

fn tensor<S: ModuleStore>(
    store: &mut S,
    path: &Path,
    name: &str,
) -> Result<TensorData, CheckpointError>
where
    S::Error: core::fmt::Display,
{
    let unreadable = |reason: String| CheckpointError::Read {
        path: path.to_path_buf(),
        reason,
    };
    let tensors = store
        .get_all_tensors()
        .map_err(|error| unreadable(error.to_string()))?;
    match tensors.get(name) {
        Some(tensor) => bridge::to_data(tensor).map_err(|error| unreadable(format!("{error:?}"))),
        None => Err(CheckpointError::Name {
            path: path.to_path_buf(),
            name: name.to_string(),
            names: tensors.keys().cloned().collect(),
        }),
    }
}
