//! The optimizer of every study: Adam behind clipped gradients.

use burn::grad_clipping::GradientClippingConfig;
use burn::optim::{AdamConfig, AdamState, Optimizer};
use burn::tensor::{Device, Tensor};

/// Kingma and Ba, [*Adam: A Method for Stochastic Optimization*](https://arxiv.org/abs/1412.6980),
/// 2014, algorithm 1, as Burn has it: with the corrections of both moments in one factor. Before it
/// the gradient of each parameter may be scaled down to a largest norm.
///
/// Burn takes 13 operations for a parameter, and 8 for its norm. On LibTorch, where an operation of
/// few numbers takes longer to start than to run, it is one pass here.
///
/// ```
/// use burn::optim::ModuleOptimizer;
/// use pe_lab::adam::Adam;
///
/// let adam = Adam { beta_1: 0.9, beta_2: 0.98, epsilon: 1e-8, clip_norm: Some(1.0) };
/// let optimizer = ModuleOptimizer::from(adam);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Adam {
    /// How much of the mean of gradients a step keeps.
    pub beta_1: f32,
    /// How much of the mean of their squares a step keeps.
    pub beta_2: f32,
    /// What is added to the root of that mean.
    pub epsilon: f32,
    /// The largest norm that the gradient of a parameter keeps.
    pub clip_norm: Option<f32>,
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
        #[cfg(feature = "tch")]
        if crate::kernel::on_libtorchs_processor(&parameter) {
            return crate::kernel::torch_adam(self, rate, parameter, gradient, state);
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

#[cfg(all(test, feature = "tch"))]
mod tests {
    use super::*;

    use burn::tensor::Distribution;

    fn values(x: Tensor<2>) -> Vec<f32> {
        x.into_data().try_to_vec().unwrap()
    }

    /// On LibTorch what it is on flex, by Burn: gradients in rows and in columns, larger and smaller
    /// than the norm, and a parameter that somebody else holds.
    #[test]
    #[allow(deprecated)] // Burn discourages LibTorch; this project still offers it.
    fn it_is_burns_adam_on_libtorch() {
        let (flex, torch) = (Device::flex(), Device::libtorch());
        for clip_norm in [None, Some(1.0)] {
            let (beta_1, beta_2, epsilon) = (0.9, 0.98, 1e-8);
            let adam = Adam {
                beta_1,
                beta_2,
                epsilon,
                clip_norm,
            };
            let shape = [37, 130];
            let start = Tensor::<2>::random(shape, Distribution::Normal(0.0, 1.0), &flex);
            let (mut burns, mut burns_state) = (start.clone(), None);
            let (mut ours, mut state) = (start.clone().to_device(&torch), None);
            for step in 0..20 {
                let size = [1e-4, 1.0, 1e3][step % 3];
                let gradient = Tensor::<2>::random(shape, Distribution::Normal(0.0, size), &flex);
                (burns, burns_state) = adam.step(1e-2, burns, gradient.clone(), burns_state);
                let gradient = match step % 2 {
                    0 => gradient.to_device(&torch),
                    _ => gradient.transpose().to_device(&torch).transpose(),
                };
                let (held, before) = (ours.clone(), values(ours.clone()));
                (ours, state) = adam.step(1e-2, ours, gradient, state);
                assert_eq!(values(held), before);
                let apart = (values(burns.clone()).iter())
                    .zip(values(ours.clone()))
                    .map(|(burns, ours)| (burns - ours).abs())
                    .fold(0.0, f32::max);
                assert!(apart < 1e-5, "step {step}, {clip_norm:?}: {apart}");
            }
            assert_eq!(state.unwrap().momentum.time, 20);
        }
    }

    /// What is not a number must not look like one.
    #[test]
    #[allow(deprecated)] // Burn discourages LibTorch; this project still offers it.
    fn a_norm_that_is_not_a_number_clips_to_none_on_libtorch() {
        let adam = Adam {
            beta_1: 0.9,
            beta_2: 0.98,
            epsilon: 1e-8,
            clip_norm: Some(1.0),
        };
        let device = Device::libtorch();
        let gradient = Tensor::<2>::from_data([[f32::NAN, 1e6, 0.0]], &device);
        let (after, _) = adam.step(1e-2, Tensor::<2>::ones([1, 3], &device), gradient, None);
        assert!(values(after).iter().all(|x| x.is_nan()));
    }
}
