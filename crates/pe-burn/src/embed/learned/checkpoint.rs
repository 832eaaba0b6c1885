//! Learned tables in the files of other frameworks: safetensors and PyTorch's.

use std::format;
use std::path::Path;
use std::string::ToString;

use burn::tensor::Device;
use burn_store::{ModuleSnapshot, SafetensorsStore};

use super::{LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig};
use crate::checkpoint::{CheckpointError, parameter};

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
    /// [`CheckpointError`], with what is wrong in the file, or with what [`try_init`](Self::try_init) refuses.
    pub fn init_from_file(
        &self,
        path: impl AsRef<Path>,
        name: &str,
        device: &Device,
    ) -> Result<LearnedPositionalEmbedding, CheckpointError> {
        let offset = self.check()?;
        let shape = [offset + self.max_len, self.d_model];
        let meaning = format!("max_len and {offset} rows before position 0, and d_model");
        let weight = parameter(path.as_ref(), name, shape, &meaning, device)?;
        Ok(self.with_weight(weight))
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
