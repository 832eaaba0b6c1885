//! One step of Adam, as one pass over the elements of a parameter, in its own memory where nothing else holds it.

use burn::backend::flex::FlexTensor;
use burn::backend::{DispatchDevice, Flex};
use burn::optim::AdamState;
use burn::tensor::{DType, Tensor};
use multiversion::multiversion;
use pe_burn::threads;

use super::products::each;
use super::{contiguous, elements};
use crate::kernels::adam::squares;
use crate::kernels::rates::{Rates, after, before};

/// The elements that a thread takes at a time. Parameters of less than two such parts stay on one thread: starting another takes
/// about as long as their step.
const PART: usize = 1 << 14;

/// Whether the parameter is one that [`step`] can take: `f32` on Flex.
pub fn runs_on<const D: usize>(parameter: &Tensor<D>) -> bool {
    let device = parameter.device();
    matches!(device.as_dispatch(), DispatchDevice::Flex(_)) && parameter.dtype() == DType::F32
}

/// A step of Adam for a parameter: its new values, and the new state.
pub fn step<const D: usize>(
    rates: Rates,
    parameter: Tensor<D>,
    gradient: Tensor<D>,
    state: Option<AdamState<D>>,
) -> (Tensor<D>, Option<AdamState<D>>) {
    let inner = |x: Tensor<D>| {
        let x = x.try_into_primitive::<Flex>();
        contiguous(x.expect("a tensor on the device of the parameter"))
    };
    let (time, [first, second]) = before(state, &parameter);
    let mut all = [parameter, first, second].map(inner);
    run(&mut all, elements(&inner(gradient)), rates);
    let [parameter, moments @ ..] = all.map(Tensor::from_primitive::<Flex>);
    (parameter, Some(after(time, moments)))
}

/// Replaces a parameter and its two moments by what they are after the step.
fn run(all: &mut [FlexTensor; 3], gradient: &[f32], rates: Rates) {
    let len = gradient.len();
    let clip = rates.clip(|| match len < 2 * PART {
        true => squares(gradient),
        false => {
            // Added in order, so that the sum does not depend on the number of threads.
            each(gradient.chunks(PART), squares).iter().sum()
        }
    });
    // All are as long as the parameter: `Adam::step` compared their shapes. Memory that others hold too is copied first.
    let [parameter, first, second] = all.each_mut().map(|x| &mut x.storage_mut::<f32>()[..len]);
    if len < 2 * PART {
        return update([parameter, first, second], gradient, rates, clip);
    }
    let parts = parameter
        .chunks_mut(PART)
        .zip(first.chunks_mut(PART))
        .zip(second.chunks_mut(PART))
        .zip(gradient.chunks(PART));
    threads::for_each(parts, |(((parameter, first), second), gradient)| {
        update([parameter, first, second], gradient, rates, clip);
    });
}

/// The step of a parameter, whose gradient is multiplied by `clip`, and of its two moments.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn update(all: [&mut [f32]; 3], gradient: &[f32], rates: Rates, clip: f32) {
    let len = gradient.len();
    let [parameter, first, second] = all.map(|values| &mut values[..len]);
    for i in 0..len {
        let moments = [first[i], second[i]];
        [parameter[i], first[i], second[i]] = rates.step(parameter[i], gradient[i] * clip, moments);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kernels;
    use crate::testing::{adam, difference, random, values};
    use burn::optim::Optimizer;
    use burn::tensor::Device;

    /// Of sizes that one thread takes and several, with gradients above the limit and below it, transposed too. Without
    /// clipping every bit is Burn's.
    #[test]
    fn steps_are_those_of_burns_adam() {
        let device = Device::flex();
        for (shape, clip_norm) in [
            ([37, 130], None),
            ([37, 130], Some(1.0)),
            ([301, 257], None),
            ([301, 257], Some(1.0)),
            ([1, 1], Some(1.0)),
        ] {
            let [ours, burns] =
                [Kernels::Auto, Kernels::Off].map(|kernels| adam(clip_norm, 0.0, kernels));
            let start = random(shape, &device);
            let (mut by_kernel, mut by_burn) = ((start.clone(), None), (start, None));
            for step in 0..12 {
                let gradient = random(shape, &device) * [1e-4, 1.0, 1e3][step % 3];
                let gradient = match step % 2 {
                    0 => gradient,
                    _ => gradient
                        .transpose()
                        .reshape([shape[1], shape[0]])
                        .transpose(),
                };
                by_kernel = ours.step(1e-2, by_kernel.0, gradient.clone(), by_kernel.1);
                by_burn = burns.step(1e-2, by_burn.0, gradient, by_burn.1);
                let [found, expected] = [&by_kernel.0, &by_burn.0].map(|x| values(x.clone()));
                match clip_norm {
                    None => assert_eq!(found, expected, "{shape:?}, step {step}"),
                    Some(_) => assert!(difference(&expected, &found) < 1e-6, "step {step}"),
                }
            }
            let momentum = by_kernel.1.unwrap().momentum;
            assert_eq!(momentum.time, 12);
        }
    }

    #[test]
    fn what_others_hold_stays_as_it_is() {
        let device = Device::flex();
        let adam = adam(Some(1.0), 0.0, Kernels::Auto);
        let parameter = random([9, 5], &device);
        let (held, before) = (parameter.clone(), values(parameter.clone()));
        let gradient = random([9, 5], &device);
        let (first, state) = adam.step(0.1, parameter, gradient.clone(), None);
        let (of_first, moment) = (
            first.clone(),
            state.as_ref().unwrap().momentum.moment_1.clone(),
        );
        let [was, moment_was] = [&first, &moment].map(|x| values(x.clone()));
        let (second, _) = adam.step(0.1, first, gradient, state);
        assert_eq!(
            [values(held), values(of_first), values(moment)],
            [before, was.clone(), moment_was]
        );
        assert_ne!(values(second), was);
    }

    #[test]
    fn a_nan_in_the_gradient_reaches_every_element() {
        let adam = adam(Some(1.0), 0.0, Kernels::Auto);
        let device = Device::flex();
        let gradient = Tensor::<2>::from_data([[f32::NAN, 1e6, 0.0]], &device);
        let (after, _) = adam.step(1e-2, Tensor::<2>::ones([1, 3], &device), gradient, None);
        assert!(values(after).iter().all(|x| x.is_nan()));
    }

    #[test]
    fn the_step_does_not_depend_on_the_number_of_threads() {
        let device = Device::flex();
        let adam = adam(Some(1.0), 0.0, Kernels::Auto);
        let (parameter, gradient) = (random([300, 700], &device), random([300, 700], &device));
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let step = || values(adam.step(0.1, parameter.clone(), gradient.clone(), None).0);
            pool.unwrap().install(step)
        };
        assert_eq!(on(1), on(3));
    }
}
