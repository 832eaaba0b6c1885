//! Kernels for graphics cards, written once with CubeCL. One launch does the work of many of Burn's launches, and with a
//! small model most of the time is spent on starting them.
//!
//! The products of matrices are Burn's, but for those of short heads.
//!
//! | module | |
//! |---|---|
//! | `stream` | layer normalization, and the residual sum before it; its kernels are in `layer_norm` |
//! | `linear` | linear layers |
//! | `attention` | attention; its kernels are in `heads` and `softmax` |
//! | `steps` | the step of Adam; its kernels are in `adam` |

mod adam;
mod attention;
mod heads;
mod layer_norm;
mod linear;
mod memory;
mod softmax;
mod steps;
mod stream;
mod threads;

use burn::backend::Cube;
use burn::backend::tensor::FloatTensor;
use burn::tensor::Tensor;

pub use attention::{attention, cached_attention};
pub use linear::{linear, product};
pub use steps::{Stepped, Waiting, step, step_all, takes};
pub use stream::{Stream, add, layer_norm, open};

/// The tensor of a primitive, without autodiff.
fn tensor<const D: usize>(x: FloatTensor<Cube>) -> Tensor<D> {
    Tensor::from_primitive::<Cube>(x)
}

/// The primitive of a tensor without autodiff.
fn primitive<const D: usize>(x: Tensor<D>) -> FloatTensor<Cube> {
    let x = x.try_into_primitive::<Cube>();
    x.expect("a tensor on the device of the input")
}

#[cfg(test)]
mod tests {
    use super::*;

    use burn::module::{Module, ModuleVisitor, Param};
    use burn::optim::{GradientsParams, ModuleOptimizer, Optimizer};
    use burn::tensor::{Bool, Device, DeviceKind, Distribution};
    use pe_burn::{PositionalConfig, Positions};

    use crate::kernels::compare;
    use crate::plain::{self, Mask};
    use crate::testing::{adam, difference, gradients_of, padding_of_rows, random, values};
    use crate::{Activation, Encoder, EncoderConfig, Kernels, ModuleAdam, Norm};

    /// The graphics cards of this build, or those that `PE_TEST_DEVICES` names.
    fn cards() -> Vec<Device> {
        let only = std::env::var("PE_TEST_DEVICES").ok();
        let named = |name: &str| {
            only.iter()
                .all(|only| only.split(',').any(|one| one == name))
        };
        let mut cards = Vec::new();
        #[cfg(feature = "wgpu")]
        if named("wgpu") {
            cards.push(Device::wgpu(DeviceKind::DefaultDevice));
        }
        #[cfg(feature = "vulkan")]
        if named("vulkan") {
            cards.push(Device::vulkan(DeviceKind::DefaultDevice));
        }
        #[cfg(feature = "cuda")]
        if named("cuda") {
            cards.push(Device::cuda(0));
        }
        assert!(
            !cards.is_empty(),
            "{only:?} names no graphics card of this build"
        );
        cards
    }

    #[test]
    fn cards_normalize_layers_as_burns_operations_do() {
        for card in cards() {
            compare::layer_norm(&card.autodiff(), layer_norm);
        }
    }

    #[test]
    fn cards_sum_groups_of_rows() {
        for card in cards() {
            for rows in [1, 256, 513, 2_048] {
                let x = random([1, rows, 7], &card);
                let sums = values(linear::sum_of_rows(x.clone()));
                let apart = difference(&sums, &values(x.sum_dim(1)));
                assert!(apart < 1e-3, "{rows}: {apart}");
            }
        }
    }

    /// More rows than one workgroup adds up, and more columns than it has threads.
    #[test]
    fn cards_normalize_many_wide_rows() {
        for card in cards() {
            let device = card.autodiff();
            let x = random([3, 200, 700], &device);
            let (gamma, beta) = (random([700], &device), random([700], &device));
            let weights = Tensor::<3>::random(x.dims(), Distribution::Default, &device);
            let run = |of: &dyn Fn(Tensor<3>, Tensor<1>, Tensor<1>) -> Tensor<3>| {
                let leaves = (x.clone().require_grad(), gamma.clone().require_grad());
                let beta = beta.clone().require_grad();
                let y = of(leaves.0.clone(), leaves.1.clone(), beta.clone());
                // Weights above 0, so that no sum of a column cancels.
                let gradients = (y.clone() * weights.clone()).sum().backward();
                let of_x = values(leaves.0.grad(&gradients).unwrap());
                let of_gamma = values(leaves.1.grad(&gradients).unwrap());
                [
                    values(y),
                    of_x,
                    of_gamma,
                    values(beta.grad(&gradients).unwrap()),
                ]
            };
            let kernel = run(&|x, gamma, beta| layer_norm(x, gamma, beta, 1e-5));
            let burns =
                run(&|x, gamma, beta| burn::tensor::module::layer_norm(x, gamma, Some(beta), 1e-5));
            for (one, other) in burns.into_iter().zip(kernel) {
                let apart = difference(&one, &other);
                assert!(apart < 2e-6, "{apart}");
            }
        }
    }

    #[test]
    fn cards_run_linear_layers_as_burns_operations_do() {
        for card in cards() {
            compare::linear(&card.autodiff(), linear);
        }
    }

    #[test]
    fn cards_attend_as_burns_operations_do() {
        for card in cards() {
            compare::attention(&card.autodiff(), &attention);
        }
    }

    /// Of short heads and of long ones, whose scores are in memory.
    #[test]
    fn cards_make_no_nan_where_a_bias_hides_every_key() {
        for card in cards() {
            for seq in [4, 300] {
                for lowest in [f32::MIN, f32::NEG_INFINITY] {
                    let bias = Tensor::<1>::from_data(&*vec![lowest; seq], &card);
                    let bias = bias.reshape([1, 1, 1, seq]).expand([1, 1, seq, seq]);
                    let mask = Mask {
                        padding: None,
                        causal: false,
                        window: None,
                    };
                    let y = attention(random([1, seq, 24], &card), mask, Some(bias), 1);
                    assert!(values(y).iter().all(|y| y.is_finite()), "{seq}, {lowest}");
                }
            }
        }
    }

    /// The score of the token that is padding is 282,843, and that of the others 0.
    #[test]
    fn cards_leave_padding_out_whatever_its_score() {
        for card in cards() {
            for seq in [4, 300] {
                let token = |t: usize| {
                    let key = if t == 1 { 1e3 } else { 0.0 };
                    [[100.0; 8], [key; 8], [t as f32; 8]].concat()
                };
                let qkv: Vec<f32> = (0..seq).flat_map(token).collect();
                let qkv = Tensor::<1>::from_data(&*qkv, &card).reshape([1, seq, 24]);
                let padding: Vec<bool> = (0..seq).map(|t| t == 1).collect();
                let padding = Tensor::<1, Bool>::from_data(&*padding, &card).unsqueeze();
                let mask = Mask {
                    padding: Some(&padding),
                    causal: false,
                    window: None,
                };
                let y = attention(qkv, mask, None, 1);
                let mean = (seq * (seq - 1) / 2 - 1) as f32 / (seq - 1) as f32;
                let apart = difference(&vec![mean; seq * 8], &values(y));
                assert!(apart < 1e-5, "{seq}: {apart}");
            }
        }
    }

    /// One token and several after others, without a bias and with one for all sequences or for each.
    #[test]
    fn cards_attend_to_a_cache_as_burns_operations_do() {
        for card in cards() {
            for [queries, keys] in [[1, 1], [1, 40], [5, 70], [30, 300]] {
                let of = |rows| random([2, 3, rows, 8], &card);
                let (q, cache) = (of(queries), [of(keys), of(keys)]);
                let bias = |biases| random([biases, 3, queries, keys], &card);
                for bias in [None, Some(bias(1)), Some(bias(2))] {
                    let burns = crate::plain::cached_attention(
                        q.clone(),
                        cache.clone(),
                        bias.clone(),
                        None,
                    );
                    let kernel = cached_attention(q.clone(), cache.clone(), bias);
                    let apart = difference(&values(burns), &values(kernel));
                    assert!(apart < 2e-6, "{queries} of {keys}: {apart}");
                }
            }
        }
    }

    /// Small parameters, and large ones, whose norm has a launch of its own; clipped and not.
    #[test]
    fn cards_step_as_burns_adam_does() {
        for card in cards() {
            for elements in [1, 300, 70_000] {
                for clip_norm in [None, Some(0.5), Some(1e6)] {
                    let adam = |kernels| adam(clip_norm, 0.0, kernels);
                    let start = random([elements], &card);
                    let gradients: Vec<Tensor<1>> =
                        (0..4).map(|_| random([elements], &card)).collect();
                    let run = |kernels| {
                        let (mut parameter, mut state) = (start.clone(), None);
                        for gradient in gradients.clone() {
                            let step = adam(kernels).step(1e-2, parameter, gradient, state);
                            (parameter, state) = step;
                        }
                        values(parameter)
                    };
                    let (burns, kernel) = (run(Kernels::Off), run(Kernels::Auto));
                    let apart = difference(&burns, &kernel);
                    assert!(apart < 2e-6, "{elements}, {clip_norm:?}: {apart}");
                }
            }
        }
    }

    #[test]
    fn cards_hide_no_nan_of_a_gradient() {
        for card in cards() {
            let adam = adam(Some(1.0), 0.0, Kernels::Auto);
            let gradient = Tensor::<1>::from_data([1.0, f32::NAN, 2.0], &card);
            let (parameter, _) = adam.step(1e-2, random([3], &card), gradient, None);
            assert!(values(parameter).iter().all(|x| x.is_nan()));
        }
    }

    /// The gradients of every parameter of a module, in order.
    struct OfParameters<'a>(&'a GradientsParams, Vec<Vec<f32>>);

    impl ModuleVisitor for OfParameters<'_> {
        fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
            let gradient = self.0.get::<D>(parameter.id).expect("a gradient");
            self.1.push(values(gradient));
        }
    }

    /// Output and gradients, those of the input and of every parameter: normalized before and after, with every activation, with
    /// more rows than one workgroup adds up, with padding, and with heads too long for a workgroup.
    #[test]
    fn cards_encode_as_burns_operations_do() {
        for card in cards() {
            let device = card.autodiff();
            for (norm, activation, [batch, seq]) in [
                (Norm::Pre, Activation::Gelu, [3, 19]),
                (Norm::Pre, Activation::Silu, [1, 5]),
                (Norm::Post, Activation::Gelu, [3, 19]),
                (Norm::Pre, Activation::Relu, [1, 270]),
                (Norm::Pre, Activation::Gelu, [4, 150]), // gradients of groups of rows
            ] {
                let config = EncoderConfig::new(24, 40, 3, 2).with_norm(norm);
                let encoder = config.with_activation(activation).init(&device);
                let scheme = PositionalConfig::by_name("rotary", 24, 3, 512).unwrap();
                let scheme = scheme.init(&device);
                let x = random([batch, seq, 24], &device);
                let padding = padding_of_rows([batch, seq], &device);
                let run = |kernels, padding| {
                    let encoder = encoder.clone().with_kernels(kernels);
                    let x = x.clone().require_grad();
                    let y = encoder.forward(x.clone(), padding, &scheme, &Positions::default());
                    let mut gradients = gradients_of(y.clone());
                    let of_x = values(x.grad(&gradients).unwrap());
                    let gradients = GradientsParams::from_module(&mut gradients, &encoder);
                    let mut parts = OfParameters(&gradients, vec![values(y), of_x]);
                    encoder.visit(&mut parts);
                    parts.1
                };
                for padding in [None, Some(&padding)] {
                    let burns = run(Kernels::Off, padding);
                    let kernels = run(Kernels::Auto, padding);
                    for (nth, (burns, kernels)) in burns.iter().zip(&kernels).enumerate() {
                        let apart = difference(burns, kernels);
                        assert!(apart < 1e-5, "{norm:?} {activation:?}, {nth}: {apart}");
                    }
                }
            }
        }
    }

    /// The gradient of GELU is that of the formula, as on Flex, where Burn's own takes the approximation by tanh.
    #[test]
    fn cards_have_the_exact_gradient_of_gelu() {
        let x: Vec<f32> = (-300..300).map(|x| x as f32 * 0.3).collect();
        let gradient = |device: &Device| {
            let x = Tensor::<1>::from_floats(&x[..], device).reshape([1, 60, 10]);
            let x = x.require_grad();
            let y = plain::activated(x.clone(), Activation::Gelu);
            values(x.grad(&y.sum().backward()).unwrap())
        };
        let exact = gradient(&Device::flex().autodiff());
        for card in cards() {
            let apart = difference(&exact, &gradient(&card.autodiff()));
            assert!(apart < 1e-5, "{apart}");
        }
    }

    /// Only some parameters get gradients.
    #[test]
    fn cards_train_a_part_of_an_encoder() {
        for card in cards() {
            let device = card.autodiff();
            let encoder = EncoderConfig::new(24, 40, 3, 2).init(&device);
            let none = PositionalConfig::None {}.init(&device);
            let x = random([2, 7, 24], &device);
            let frozen = encoder.clone().no_grad();
            let with_x = x.clone().require_grad();
            let of_x = |encoder: &Encoder| {
                let y = encoder.forward(with_x.clone(), None, &none, &Positions::default());
                values(with_x.grad(&gradients_of(y)).unwrap())
            };
            assert_eq!(of_x(&encoder), of_x(&frozen));
        }
    }

    /// Steps of a module are those of its parameters one by one, with weight decay and without; also from a record, and where
    /// something else still reads the old values. Its parameters are more than a launch takes, small and large.
    #[test]
    fn cards_step_modules_as_burns_adam_does() {
        for card in cards() {
            let device = card.autodiff();
            for (weight_decay, clip_norm) in [(0.0, Some(0.5)), (0.3, None)] {
                let adam = |kernels| adam(clip_norm, weight_decay, kernels);
                let start = EncoderConfig::new(24, 200, 3, 2).init(&device);
                let none = PositionalConfig::None {}.init(&device);
                let x = random([2, 7, 24], &device);
                let gradients = |encoder: &Encoder| {
                    let y = encoder.forward(x.clone(), None, &none, &Positions::default());
                    GradientsParams::from_grads(gradients_of(y), encoder)
                };
                let mut burns = start.clone();
                let mut one_by_one = ModuleOptimizer::from(adam(Kernels::Off));
                let mut kernels = start;
                let mut together = ModuleAdam::new(adam(Kernels::Auto));
                let mut held = Vec::new();
                for step in 0..4 {
                    // The same gradients for both, since Adam amplifies small differences.
                    let of_burns = gradients(&burns);
                    let again = gradients(&burns);
                    burns = one_by_one.step(1e-2, burns, of_burns);
                    if step == 2 {
                        held.push(kernels.clone());
                        let record = together.to_record();
                        together = ModuleAdam::new(adam(Kernels::Auto)).load_record(record);
                    }
                    kernels = together.step(1e-2, kernels, again);
                }
                let of = |encoder: &Encoder| {
                    let mut all = Values(Vec::new());
                    encoder.visit(&mut all);
                    all.0
                };
                for (nth, (burns, kernels)) in of(&burns).iter().zip(of(&kernels)).enumerate() {
                    let apart = difference(burns, &kernels);
                    assert!(apart < 2e-6, "{weight_decay} {clip_norm:?}, {nth}: {apart}");
                }
            }
        }
    }

    /// The values of every parameter, in order.
    struct Values(Vec<Vec<f32>>);

    impl ModuleVisitor for Values {
        fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
            self.0.push(values(parameter.val()));
        }
    }
}
