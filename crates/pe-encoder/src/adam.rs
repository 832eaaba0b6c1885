//! The optimizer Adam.

use burn::grad_clipping::GradientClippingConfig;
use burn::optim::{AdamConfig, AdamState, Optimizer};
use burn::tensor::{Device, Tensor};

use crate::Kernels;
use crate::kernels::check;
#[cfg(any(feature = "cube", feature = "flex", feature = "tch"))]
use crate::kernels::rates::Rates;

/// Adam (Kingma and Ba, [*Adam: A Method for Stochastic Optimization*](https://arxiv.org/abs/1412.6980),
/// 2014, algorithm 1) with gradients clipped by norm.
///
/// It computes what Burn's Adam and its clipping by norm do. For each parameter, Burn runs 13 operations for the step and
/// 8 for the norm, and starting an operation on a small tensor takes longer than running it. So one kernel does all of it
/// for `f32`: on Flex, with the feature `flex`, on the CPU of LibTorch, with `tch`, and on graphics cards, with a feature
/// for one (two launches from 1,025 elements on, where gradients are clipped; [`ModuleAdam`](crate::ModuleAdam) steps all
/// parameters of a module together). On other devices Burn's operations run. On Flex every bit is the same as Burn's,
/// except where a gradient is clipped, since its norm is added up in `f64`.
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
///     weight_decay: 0.0,
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
    /// ε, what is added to the square root of the mean of the squared gradients. At least 0.
    pub epsilon: f32,
    /// The largest norm of the gradient of a parameter: a gradient with a larger norm is scaled down
    /// to it, each parameter by itself. At least 0; `None` clips nothing.
    pub clip_norm: Option<f32>,
    /// Weight decay as in AdamW (Loshchilov and Hutter 2019): besides the update by its gradient, each step makes a
    /// weight smaller by this share of itself times the learning rate. It is for parameters of two and more axes, and so
    /// for no bias and no normalization. At least 0.
    pub weight_decay: f32,
    /// Whether the kernel may be used.
    pub kernels: Kernels,
}

#[cfg(any(feature = "cube", feature = "flex", feature = "tch"))]
impl Adam {
    /// What a kernel takes for the step after this state.
    pub(crate) fn rates<const D: usize>(&self, rate: f64, state: Option<&AdamState<D>>) -> Rates {
        let time = state.map_or(1, |state| state.momentum.time + 1) as i32;
        let root = (1.0 - self.beta_2.powi(time)).sqrt();
        Rates {
            most: self.clip_norm,
            keep: [self.beta_1, self.beta_2],
            correction: root / (1.0 - self.beta_1.powi(time)),
            epsilon: self.epsilon * root,
            rate: rate as f32,
        }
    }
}

impl Adam {
    /// Panics when a number is out of bounds.
    pub(crate) fn check_numbers(&self) {
        for (name, beta) in [("beta_1", self.beta_1), ("beta_2", self.beta_2)] {
            let fits = (0.0..1.0).contains(&beta);
            assert!(fits, "{name} must be at least 0 and below 1; got {beta}");
        }
        let most = self.clip_norm.unwrap_or(0.0);
        assert!(most >= 0.0, "clip_norm must be at least 0; got {most}");
        let others = [
            ("epsilon", self.epsilon),
            ("weight_decay", self.weight_decay),
        ];
        for (name, number) in others {
            let fits = (0.0..f32::INFINITY).contains(&number);
            assert!(fits, "{name} must be finite and at least 0; got {number}");
        }
    }

    /// Panics when a number is out of bounds, and when the gradient or a moment does not fit to the parameter.
    pub(crate) fn check<const D: usize>(
        &self,
        parameter: &Tensor<D>,
        gradient: &Tensor<D>,
        state: Option<&AdamState<D>>,
    ) {
        self.check_numbers();
        let moments = state.map(|state| &state.momentum);
        let others = [
            ("the gradient", Some(gradient)),
            ("the first moment", moments.map(|of| &of.moment_1)),
            ("the second moment", moments.map(|of| &of.moment_2)),
        ];
        for (name, other) in others {
            if let Some(other) = other {
                check::shape(name, other, parameter.dims());
                check::alike(name, other, "the parameter", parameter);
            }
        }
    }

    /// By what a parameter of rank `D` is multiplied before its step, if it decays.
    pub(crate) fn decay<const D: usize>(&self, rate: f64) -> Option<f64> {
        let decays = self.weight_decay > 0.0 && D > 1;
        decays.then(|| 1.0 - rate * f64::from(self.weight_decay))
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
        self.check(&parameter, &gradient, state.as_ref());
        let parameter = match self.decay::<D>(rate) {
            Some(decay) => parameter.mul_scalar(decay),
            None => parameter,
        };
        #[cfg(feature = "cube")]
        if self.kernels == Kernels::Auto && crate::kernels::cube::takes(&parameter) {
            let rates = self.rates(rate, state.as_ref());
            return crate::kernels::cube::step(rates, parameter, gradient, state);
        }
        #[cfg(feature = "tch")]
        if self.kernels == Kernels::Auto && crate::kernels::torch::adam::runs_on(&parameter) {
            let rates = self.rates(rate, state.as_ref());
            return crate::kernels::torch::adam::step(rates, parameter, gradient, state);
        }
        #[cfg(feature = "flex")]
        if self.kernels == Kernels::Auto && crate::kernels::flex::adam::runs_on(&parameter) {
            let rates = self.rates(rate, state.as_ref());
            return crate::kernels::flex::adam::step(rates, parameter, gradient, state);
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

#[cfg(test)]
mod tests {
    use burn::optim::AdamWConfig;
    use burn::tensor::Distribution;

    use super::*;
    use crate::ModuleAdam;
    use crate::testing::{adam, difference, refused, values};

    #[test]
    fn decayed_weights_are_those_of_burns_adam_w() {
        let device = Device::flex();
        let random = || Tensor::<2>::random([4, 5], Distribution::Default, &device);
        let burns = AdamWConfig::new()
            .with_beta_1(0.9)
            .with_beta_2(0.98)
            .with_epsilon(1e-8)
            .with_weight_decay(0.1)
            .build();
        let start = random();
        let (mut ours, mut theirs) = ((start.clone(), None), (start, None));
        for _ in 0..5 {
            let gradient = random() - 0.5;
            ours = adam(None, 0.1, Kernels::Auto).step(0.3, ours.0, gradient.clone(), ours.1);
            theirs = burns.step(0.3, theirs.0, gradient, theirs.1);
        }
        let apart = difference(&values(ours.0), &values(theirs.0));
        assert!(apart < 1e-6, "{apart}");
    }

    #[test]
    fn a_bias_does_not_decay_and_no_decay_changes_no_bit() {
        let device = Device::flex();
        let bias = Tensor::<1>::random([7], Distribution::Default, &device);
        let step = |decay| {
            let adam = adam(None, decay, Kernels::Auto);
            values(adam.step(0.3, bias.clone(), bias.clone(), None).0)
        };
        assert_eq!(step(0.5), step(0.0));
    }

    #[test]
    fn numbers_out_of_bounds_are_refused() {
        let usual = adam(None, 0.0, Kernels::Auto);
        let of = |clip_norm| Adam {
            clip_norm: Some(clip_norm),
            ..usual
        };
        for (adam, words) in [
            (of(-1.0), "clip_norm must be at least 0; got -1"),
            (of(f32::NAN), "clip_norm must be at least 0; got NaN"),
            (
                Adam {
                    beta_1: 1.0,
                    ..usual
                },
                "beta_1 must be at least 0 and below 1; got 1",
            ),
            (
                Adam {
                    beta_2: -0.5,
                    ..usual
                },
                "beta_2 must be at least 0 and below 1; got -0.5",
            ),
            (
                Adam {
                    weight_decay: -0.1,
                    ..usual
                },
                "weight_decay must be finite and at least 0; got -0.1",
            ),
            (
                Adam {
                    epsilon: f32::INFINITY,
                    ..usual
                },
                "epsilon must be finite and at least 0; got inf",
            ),
        ] {
            assert_eq!(refused(|| ModuleAdam::new(adam)), words);
            let one = Tensor::<1>::ones([1], &Device::flex());
            assert_eq!(refused(|| adam.step(0.1, one.clone(), one, None)), words);
        }
    }
}
