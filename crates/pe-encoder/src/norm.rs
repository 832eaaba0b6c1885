//! Layer normalization.

use burn::module::{Initializer, Module, Param};
use burn::tensor::{Device, Tensor};

/// Layer normalization `γ (x − mean) / √(variance + ε) + β` over each row (Ba et al. 2016).
///
/// Burn's own [`LayerNorm`](burn::nn::LayerNorm) keeps its ε private, and the kernels need it.
/// The parameters have the same names in a record as those of Burn's module.
#[derive(Module, Debug)]
pub struct LayerNorm {
    /// The scale γ, `[d_model]`.
    pub gamma: Param<Tensor<1>>,
    /// The shift β, `[d_model]`.
    pub beta: Param<Tensor<1>>,
    /// What is added to the variance, so that a constant row does not divide by 0.
    pub epsilon: f64,
}

impl LayerNorm {
    /// Starts at γ = 1 and β = 0.
    pub fn new(d_model: usize, epsilon: f64, device: &Device) -> Self {
        Self {
            gamma: Initializer::Ones.init([d_model], device),
            beta: Initializer::Zeros.init([d_model], device),
            epsilon,
        }
    }
}
