//! Weights that transformers saved, by their names, and the layers that they belong to.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use burn::tensor::module::linear;
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;

/// A result whose error is any error.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A size in `config.json`.
pub fn size(config: &Value, name: &str) -> Result<usize> {
    let missing = || format!("config.json has no {name}").into();
    let size = config[name].as_u64().ok_or_else(missing);
    size.map(|size| size as usize)
}

/// What `config.json` says of `name`, or `usual` if nothing; an error where that is none of `known`.
pub fn word<'a>(config: &'a Value, name: &str, usual: &'a str, known: &[&str]) -> Result<&'a str> {
    let word = config[name].as_str().unwrap_or(usual);
    match known.contains(&word) {
        true => Ok(word),
        false => Err(format!(
            "{name} is {word}, and this example reads {}",
            known.join(", ")
        )
        .into()),
    }
}

/// The weights of a model by their names.
pub struct Weights {
    data: HashMap<String, TensorData>,
    device: Device,
}

impl Weights {
    /// The numbers in a file of a model. `prefix` is taken off names that begin with it: files of a whole model have it, those of its
    /// base class alone do not.
    pub fn read(path: &Path, prefix: &str, device: &Device) -> Result<Self> {
        let file = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut data = HashMap::new();
        for (name, view) in SafeTensors::deserialize(&file)?.tensors() {
            let dtype = match view.dtype() {
                Dtype::F32 => DType::F32,
                Dtype::F16 => DType::F16,
                Dtype::BF16 => DType::BF16,
                Dtype::F64 => DType::F64,
                // A mask or ids, which are no weights.
                Dtype::BOOL | Dtype::U8 | Dtype::I32 | Dtype::I64 => continue,
                other => return Err(format!("{name} is {other:?}").into()),
            };
            let name = name.strip_prefix(prefix).unwrap_or(&name);
            // As the first files of BERT name them.
            let name = name.replace("LayerNorm.gamma", "LayerNorm.weight");
            let name = name.replace("LayerNorm.beta", "LayerNorm.bias");
            let bytes = view.data().to_vec();
            let numbers = TensorData::from_bytes_vec(bytes, view.shape().to_vec(), dtype);
            data.insert(name, numbers.convert::<f32>());
        }
        let device = device.clone();
        Ok(Self { data, device })
    }

    pub fn find<const D: usize>(&self, name: &str) -> Option<Tensor<D>> {
        let data = self.data.get(name)?;
        Some(Tensor::from_data(data.clone(), &self.device))
    }

    pub fn get<const D: usize>(&self, name: &str) -> Result<Tensor<D>> {
        let missing = || format!("there is no weight {name}").into();
        self.find(name).ok_or_else(missing)
    }

    pub fn linear(&self, name: &str) -> Result<Linear> {
        Ok(Linear {
            weight: self.get::<2>(&format!("{name}.weight"))?.transpose(),
            bias: self.find(&format!("{name}.bias")),
        })
    }

    /// A normalization by mean and variance.
    pub fn layer_norm(&self, name: &str, epsilon: f64) -> Result<Norm> {
        Ok(Norm {
            weight: self.get(&format!("{name}.weight"))?,
            bias: Some(self.get(&format!("{name}.bias"))?),
            epsilon,
            is_centered: true,
        })
    }

    /// Projections under names of their own, or cut out of one under the name `fused`, in columns of these
    /// widths.
    pub fn linears(&self, fused: &str, own: &[String], widths: &[usize]) -> Result<Vec<Linear>> {
        let Some(weight) = self.find::<2>(&format!("{fused}.weight")) else {
            return own.iter().map(|name| self.linear(name)).collect();
        };
        let parts = weight
            .transpose()
            .split_with_sizes(widths.to_vec(), 1)
            .into_iter();
        let bias = self.find::<1>(&format!("{fused}.bias"));
        let mut biases = bias.map(|bias| bias.split_with_sizes(widths.to_vec(), 0).into_iter());
        let own_bias = || biases.as_mut().and_then(Iterator::next);
        Ok(parts
            .zip(std::iter::repeat_with(own_bias))
            .map(|(weight, bias)| Linear { weight, bias })
            .collect())
    }
}

/// Normalization of the last axis: by mean and variance, or by the root mean square alone.
pub struct Norm {
    pub weight: Tensor<1>,
    pub bias: Option<Tensor<1>>,
    pub epsilon: f64,
    /// Whether the mean is taken off first.
    pub is_centered: bool,
}

impl Norm {
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let x = match self.is_centered {
            true => x.clone() - x.mean_dim(D - 1),
            false => x,
        };
        let square = x.clone().square().mean_dim(D - 1);
        let x = x / (square + self.epsilon).sqrt() * self.weight.clone().unsqueeze();
        match &self.bias {
            Some(bias) => x + bias.clone().unsqueeze(),
            None => x,
        }
    }
}

/// The rows of a table for tokens, `[batch, seq]` to `[batch, seq, width]`.
pub fn embed(table: &Tensor<2>, tokens: Tensor<2, Int>) -> Tensor<3> {
    let [batch, seq] = tokens.dims();
    let rows = table.clone().select(0, tokens.flatten(0, 1));
    rows.reshape([batch, seq, table.dims()[1]])
}

pub struct Linear {
    /// `[inputs, outputs]`.
    pub weight: Tensor<2>,
    pub bias: Option<Tensor<1>>,
}

impl Linear {
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        linear(x, self.weight.clone(), self.bias.clone())
    }
}
