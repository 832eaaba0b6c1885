//! Parameters in the files of other frameworks: safetensors and PyTorch's.

use std::format;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::string::{String, ToString};
use std::vec::Vec;

use burn::module::Param;
use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_store::{ModuleStore, PytorchStore, SafetensorsStore, bridge};

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
    #[error("\"{name}\" has shape {got:?}, but this configuration needs {expected:?}: {meaning}")]
    Shape {
        /// The name of the tensor.
        name: String,
        /// Its shape.
        got: Vec<usize>,
        /// The shape that the configuration needs.
        expected: Vec<usize>,
        /// What these sizes are.
        meaning: String,
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

/// A parameter of a shape from a file: see [`tensor`].
pub(crate) fn parameter<const D: usize>(
    path: &Path,
    name: &str,
    shape: [usize; D],
    meaning: &str,
    device: &Device,
) -> Result<Param<Tensor<D>>, CheckpointError> {
    Ok(Param::from_tensor(tensor(
        path, name, shape, meaning, device,
    )?))
}

/// A tensor of a shape from a file, in the default float type of the device. Leading axes of length 1 that the file has
/// in addition are removed. `meaning` says in an error what the sizes are.
pub(crate) fn tensor<const D: usize>(
    path: &Path,
    name: &str,
    shape: [usize; D],
    meaning: &str,
    device: &Device,
) -> Result<Tensor<D>, CheckpointError> {
    let data = read(path, name)?;
    if !data.dtype().is_float() {
        return Err(CheckpointError::DType {
            name: name.to_string(),
            dtype: data.dtype(),
        });
    }
    let got = data.shape().to_vec();
    let before = got.len().saturating_sub(D);
    if got[..before].iter().any(|len| *len != 1) || got[before..] != shape {
        return Err(CheckpointError::Shape {
            name: name.to_string(),
            got,
            expected: shape.to_vec(),
            meaning: meaning.to_string(),
        });
    }
    let dtype: DType = device.settings().float_dtype.into();
    let numbers: Vec<f64> = data.iter().collect();
    Ok(Tensor::from_data(
        TensorData::new(numbers, shape),
        (device, dtype),
    ))
}

/// The elements of a tensor in a file.
fn read(path: &Path, name: &str) -> Result<TensorData, CheckpointError> {
    let unreadable = |reason: String| CheckpointError::Read {
        path: path.to_path_buf(),
        reason,
    };
    // A safetensors file begins with a length and then a JSON object; no PyTorch file has a brace there.
    let mut start = [0; 9];
    let mut file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    file.read_exact(&mut start)
        .map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => unreadable("it is too short to hold a tensor".to_string()),
            _ => unreadable(error.to_string()),
        })?;
    match start[8] {
        b'{' => find(&mut SafetensorsStore::from_file(path), path, name),
        // By default Burn's reader renumbers the layers of a list; names must be those of the file.
        _ => {
            let mut store = PytorchStore::from_file(path).map_indices_contiguous(false);
            find(&mut store, path, name)
        }
    }
}

fn find<S: ModuleStore>(
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
