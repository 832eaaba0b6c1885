//! The optimizer Adam.

use burn::grad_clipping::GradientClippingConfig;
use burn::optim::{AdamConfig, AdamState, Optimizer};
use burn::tensor::{Device, Tensor};

use crate::Kernels;
use crate::kernels::check;

/// Adam (Kingma and Ba, [*Adam: A Method for Stochastic Optimization*](https://arxiv.org/abs/1412.6980),
/// 2014, algorithm 1) with gradients clipped by norm.
///
/// It computes what Burn's Adam and its clipping by norm do. For each parameter, Burn runs 13
/// operations for the step and 8 for the norm. On LibTorch and on a graphics card starting an operation on a
/// small tensor takes longer than running it. So one kernel does it all for `f32` on the CPU of LibTorch,
/// with the feature `tch`, and on graphics cards, with a feature for one (two launches from 32 769 elements
/// on, where gradients are clipped). On other devices it is Burn's.
///
/// A step panics when the gradient or a moment does not have the shape of the parameter, and, where a kernel takes it, when one
/// of them is not `f32` on the device of the parameter.
///
/// ```
/// use burn::optim::ModuleOptimizer;
/// use pe_encoder::{Adam, Kernels};
///
/// let adam = Adam {
///     beta_1: 0.9,
///     beta_2: 0.98,
///     epsilon: 1e-8,
///     clip_norm: Some(1.0),
///     kernels: Kernels::Auto,
/// };
/// let optimizer = ModuleOptimizer::from(adam);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Adam {
    /// β₁, the decay rate of the mean of the gradients. In [0, 1).
    pub beta_1: f32,
    /// β₂, the decay rate of the mean of the squared gradients. In [0, 1).
    pub beta_2: f32,
    /// ε, what is added to the square root of the mean of the squared gradients.
    pub epsilon: f32,
    /// The largest norm of the gradient of a parameter: a gradient with a larger norm is scaled down
    /// to it, each parameter by itself. `None` clips nothing.
    pub clip_norm: Option<f32>,
    /// Whether the kernel may be used.
    pub kernels: Kernels,
}

#[cfg(any(feature = "cube", feature = "tch"))]
impl Adam {
    /// The bias corrections of both moments in one factor, √(1 − β₂ᵗ) / (1 − β₁ᵗ), and ε √(1 − β₂ᵗ), so that it
    /// is ε beside the corrected root.
    pub(crate) fn corrections(&self, time: usize) -> [f32; 2] {
        let time = time as i32;
        let root = (1.0 - self.beta_2.powi(time)).sqrt();
        [root / (1.0 - self.beta_1.powi(time)), self.epsilon * root]
    }
}

impl Optimizer for Adam {
    type State<const D: usize> = AdamState<D>;

    fn step<const D: usize>(
        &self,
        rate: f64,
        parameter: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<AdamState<D>>,
    ) -> (Tensor<D>, Option<AdamState<D>>) {
        let moments = state.as_ref().map(|state| &state.momentum);
        let others = [
            ("the gradient", Some(&gradient)),
            ("the first moment", moments.map(|of| &of.moment_1)),
            ("the second moment", moments.map(|of| &of.moment_2)),
        ];
        for (name, other) in others {
            if let Some(other) = other {
                check::shape(name, other, parameter.dims());
                check::alike(name, other, "the parameter", &parameter);
            }
        }
        #[cfg(feature = "cube")]
        if self.kernels == Kernels::Auto && crate::kernels::cube::takes(&parameter) {
            return crate::kernels::cube::step(self, rate, parameter, gradient, state);
        }
        #[cfg(feature = "tch")]
        if self.kernels == Kernels::Auto && crate::kernels::torch::adam::runs_on(&parameter) {
            return crate::kernels::torch::adam::step(self, rate, parameter, gradient, state);
        }
        let gradient = match self.clip_norm {
            Some(norm) => {
                let clipping = GradientClippingConfig::Norm(norm).init();
                clipping.clip_gradient(gradient)
            }
            None => gradient,
        };
        let burns = AdamConfig::new()
            .with_beta_1(self.beta_1)
            .with_beta_2(self.beta_2)
            .with_epsilon(self.epsilon);
        burns.build().step(rate, parameter, gradient, state)
    }

    fn to_device<const D: usize>(state: AdamState<D>, device: &Device) -> AdamState<D> {
        burn::optim::Adam::to_device(state, device)
    }
}
