//! What operations need of their inputs, whether kernels run them or Burn.
//!
//! A kernel reads and writes memory by the sizes of one of its inputs, as `f32`, and Burn's operations repeat a tensor of
//! one element. But parameters can be replaced by others of another shape or type, by a `ModuleMapper` for example, and
//! so can what an optimizer is given. So all of them are compared here before an operation starts, once and in the same
//! way on every device.

use std::fmt::Display;

use burn::nn::Linear;
use burn::tensor::Tensor;

/// Panics unless `x` has this shape.
pub fn shape<const D: usize>(what: impl Display, x: &Tensor<D>, expected: [usize; D]) {
    let got = x.dims();
    assert!(
        got == expected,
        "{what} has shape {got:?}, and needs {expected:?}"
    );
}

/// Panics unless `x` is of the type of another tensor and on its device.
pub fn alike<const D: usize, const E: usize>(
    what: impl Display,
    x: &Tensor<D>,
    of_other: impl Display,
    other: &Tensor<E>,
) {
    let [(dtype, device), (other_dtype, other_device)] = [
        (x.dtype(), x.device().inner()),
        (other.dtype(), other.device().inner()),
    ];
    assert!(
        dtype == other_dtype && device == other_device,
        "{what} is {dtype:?} on {device:?}, and {of_other} is {other_dtype:?} on {other_device:?}"
    );
}

/// Panics unless a linear layer takes this many inputs, and has a bias for each of its outputs, of which it returns the
/// number.
pub fn linear(what: &str, layer: &Linear, inputs: usize) -> usize {
    let [_, outputs] = layer.weight.dims();
    let weight = format_args!("the weight of {what}");
    shape(weight, &layer.weight, [inputs, outputs]);
    if let Some(bias) = &layer.bias {
        shape(format_args!("the bias of {what}"), bias, [outputs]);
    }
    outputs
}

/// Whether the weight or the bias of a layer is quantized, which kernels do not take.
pub fn is_quantized(layer: &Linear) -> bool {
    let bias = layer.bias.as_ref().map(|bias| bias.val().dtype());
    let dtypes = [Some(layer.weight.val().dtype()), bias];
    dtypes.into_iter().flatten().any(|dtype| !dtype.is_float())
}

#[cfg(test)]
mod tests {
    use burn::module::{Module, ModuleMapper, Param};
    use burn::optim::{AdamState, AdaptiveMomentumState, Optimizer};
    use burn::tensor::{Device, FloatDType};
    use pe_burn::{PositionalConfig, Positions};

    use super::*;
    use crate::testing::{adam, refused};
    use crate::{Encoder, EncoderConfig, Kernels};

    /// As Burn's optimizers keep it, of moments of these shapes.
    fn state(moments: [usize; 2], device: &Device) -> AdamState<1> {
        let [moment_1, moment_2] = moments.map(|len| Tensor::zeros([len], device));
        AdamState::new(AdaptiveMomentumState::new(1, moment_1, moment_2))
    }

    /// Gives the `nth` parameter of rank `D` another shape, filled with ones.
    struct Reshape<const D: usize> {
        nth: usize,
        shape: [usize; D],
    }

    impl ModuleMapper for Reshape<1> {
        fn map_float<const E: usize>(&mut self, parameter: Param<Tensor<E>>) -> Param<Tensor<E>> {
            self.change(parameter)
        }
    }

    impl ModuleMapper for Reshape<2> {
        fn map_float<const E: usize>(&mut self, parameter: Param<Tensor<E>>) -> Param<Tensor<E>> {
            self.change(parameter)
        }
    }

    impl<const D: usize> Reshape<D> {
        fn change<const E: usize>(&mut self, parameter: Param<Tensor<E>>) -> Param<Tensor<E>> {
            if D != E {
                return parameter;
            }
            let Some(left) = self.nth.checked_sub(1) else {
                self.nth = usize::MAX;
                let shape: [usize; E] = std::array::from_fn(|axis| self.shape[axis]);
                return parameter.map(|x| Tensor::ones(shape, &x.device()));
            };
            self.nth = left;
            parameter
        }
    }

    /// One layer of width 24 and inner width 40.
    fn encoder() -> Encoder {
        EncoderConfig::new(24, 40, 3, 1).init(&Device::flex())
    }

    /// 62 tokens: with 23 columns in place of 24 they are 64 rows and a part of one more, so that blocks of 64 rows leave this
    /// part out.
    fn run(encoder: &Encoder) -> Tensor<3> {
        let device = Device::flex();
        let none = PositionalConfig::None {}.init(&device);
        let x = Tensor::ones([1, 62, 24], &device);
        encoder.forward(x, None, &none, &Positions::default())
    }

    /// The parameters of rank 1 are, in this order: γ and β of the first normalization, the biases of the two projections of the
    /// attention, γ and β of the second, the two biases of the feed-forward network, γ and β of the last.
    #[test]
    fn an_encoder_whose_vectors_were_changed_is_refused() {
        let cases = [
            (0, 12, "γ of a layer normalization", 24),
            (1, 1, "β of a layer normalization", 24),
            (1, 48, "β of a layer normalization", 24),
            (2, 36, "the bias of a linear layer", 72),
            (3, 1, "the bias of a linear layer", 24),
            (6, 20, "the bias of the inner layer", 40),
            (7, 23, "the bias of the outer layer", 24),
        ];
        for kernels in [Kernels::Auto, Kernels::Off] {
            for (nth, len, name, needed) in cases {
                let expected = format!("{name} has shape [{len}], and needs [{needed}]");
                let mut mapper = Reshape { nth, shape: [len] };
                let encoder = encoder().with_kernels(kernels).map(&mut mapper);
                assert_eq!(refused(|| run(&encoder)), expected, "{kernels:?}");
            }
        }
    }

    /// The weights are those of the two projections of the attention, and of the two layers of the feed-forward network.
    #[test]
    fn an_encoder_whose_matrices_were_changed_is_refused() {
        for (nth, shape, name, needed) in [
            (1, [12, 24], "a linear", [24, 24]),
            (1, [48, 12], "a linear", [24, 12]),
            (2, [20, 40], "the inner", [24, 40]),
            (3, [24, 40], "the outer", [40, 40]),
        ] {
            let expected = format!("has shape {shape:?}, and needs {needed:?}");
            let expected = format!("the weight of {name} layer {expected}");
            let encoder = encoder().map(&mut Reshape { nth, shape });
            assert_eq!(refused(|| run(&encoder)), expected);
        }
        let (nth, shape) = (2, [24, 80]);
        let encoder = encoder().map(&mut Reshape { nth, shape });
        let expected = "the bias of the inner layer has shape [40], and needs [80]";
        assert_eq!(refused(|| run(&encoder)), expected);
    }

    /// Both parameters of the outer layer, so that they fit to each other but not to the input. Of the output of 62 tokens, 64
    /// rows of 23 columns were written and 16 elements were not.
    #[test]
    fn a_feed_forward_network_with_other_outputs_is_refused() {
        let encoder = encoder()
            .map(&mut Reshape {
                nth: 3,
                shape: [40, 23],
            })
            .map(&mut Reshape {
                nth: 7,
                shape: [23],
            });
        let expected = "the weight of the outer layer has shape [40, 23], and needs [40, 24]";
        assert_eq!(refused(|| run(&encoder)), expected);
    }

    #[test]
    fn parameters_of_another_type_than_the_input_are_refused() {
        struct Halve;
        impl ModuleMapper for Halve {
            fn map_float<const D: usize>(&mut self, of: Param<Tensor<D>>) -> Param<Tensor<D>> {
                of.map(|x| x.cast(FloatDType::F16))
            }
        }
        let said = refused(|| run(&encoder().map(&mut Halve)));
        let expected = "γ of a layer normalization is F16 on ";
        assert!(
            said.starts_with(expected) && said.contains("its input is F32 on "),
            "{said}"
        );
    }

    #[test]
    fn adam_takes_a_gradient_and_moments_of_the_shape_of_the_parameter_alone() {
        let device = Device::flex();
        for kernels in [Kernels::Auto, Kernels::Off] {
            let adam = adam(None, 0.0, kernels);
            let step = |gradient: usize, state: Option<AdamState<1>>| {
                let zeros = |len| Tensor::<1>::zeros([len], &device);
                refused(|| adam.step(1e-2, zeros(1000), zeros(gradient), state))
            };
            let expected = "the gradient has shape [1], and needs [1000]";
            assert_eq!(step(1, None), expected);
            let expected = "the first moment has shape [1], and needs [1000]";
            assert_eq!(step(1000, Some(state([1, 1000], &device))), expected);
            let expected = "the second moment has shape [2000], and needs [1000]";
            assert_eq!(step(1000, Some(state([1000, 2000], &device))), expected);
            let half = Tensor::<1>::zeros([1000], &device).cast(FloatDType::F16);
            let said = refused(|| adam.step(1e-2, Tensor::zeros([1000], &device), half, None));
            assert!(said.starts_with("the gradient is F16 on "), "{said}");
        }
    }
}
