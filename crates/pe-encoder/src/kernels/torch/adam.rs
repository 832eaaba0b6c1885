//! One step of Adam on the CPU, as one pass over the elements of a parameter.

use std::mem::MaybeUninit;

use burn::backend::libtorch::{LibTorchDevice, TchTensor};
use burn::backend::{DispatchDevice, LibTorch};
use burn::optim::{AdamState, AdaptiveMomentumState};
use burn::tensor::{DType, Tensor};
use multiversion::multiversion;
use tch::Kind;

use crate::kernels::rates::Rates;

/// Whether the parameter is one that [`step`] can take: `f32` in the memory of the CPU, held by
/// LibTorch.
pub fn runs_on<const D: usize>(parameter: &Tensor<D>) -> bool {
    let device = parameter.device();
    let on_cpu = matches!(
        device.as_dispatch(),
        DispatchDevice::LibTorch(LibTorchDevice::Cpu)
    );
    on_cpu && parameter.dtype() == DType::F32
}

/// A step of Adam for a parameter: its new values, and the new state.
pub fn step<const D: usize>(
    rates: Rates,
    parameter: Tensor<D>,
    gradient: Tensor<D>,
    state: Option<AdamState<D>>,
) -> (Tensor<D>, Option<AdamState<D>>) {
    let inner = |x: Tensor<D>| {
        let x = x.try_into_primitive::<LibTorch>();
        x.expect("a tensor on the device of the parameter")
            .tensor
            .contiguous()
    };
    let (parameter, gradient) = (inner(parameter), inner(gradient));
    let (time, [first, second]) = match state {
        Some(AdamState { momentum }) => {
            let moments = [momentum.moment_1, momentum.moment_2];
            (momentum.time + 1, moments.map(inner))
        }
        None => (1, [(); 2].map(|()| parameter.zeros_like())),
    };
    let new = [(); 3].map(|()| parameter.empty_like());
    // SAFETY: these tensors are new, so nothing else refers to their memory.
    let to = new.each_ref().map(|x| unsafe { elements_mut(x) });
    let before = [&parameter, &gradient, &first, &second].map(elements);
    // All are as long as the parameter: `Adam::step` compared their shapes.
    update(to, before, rates, clip(rates.most, before[1]));
    let [parameter, moment_1, moment_2] =
        new.map(|x| Tensor::from_primitive::<LibTorch>(TchTensor::new(x)));
    let momentum = AdaptiveMomentumState::new(time, moment_1, moment_2);
    (parameter, Some(AdamState::new(momentum)))
}

/// The factor that clips a gradient to a norm of at most `most`, if there is a bound.
fn clip(most: Option<f32>, gradient: &[f32]) -> f32 {
    most.map_or(1.0, |most| {
        let factor = most / (squares(gradient).sqrt() as f32 + f32::MIN_POSITIVE);
        // Not `factor.min(1.0)`, which is 1 for NaN: a NaN in the gradient must not be hidden.
        if factor > 1.0 { 1.0 } else { factor }
    })
}

/// The sum of squares, as eight partial sums that the processor can add at the same time.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn squares(values: &[f32]) -> f64 {
    let (blocks, rest) = values.as_chunks::<8>();
    let mut sums = [0.0_f64; 8];
    for block in blocks {
        for i in 0..8 {
            sums[i] += f64::from(block[i]) * f64::from(block[i]);
        }
    }
    let rest = rest.iter().map(|x| f64::from(*x) * f64::from(*x));
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}

/// Writes the new values of a parameter and of its two moments to `to`. `from` is the parameter, its
/// gradient, which is multiplied by `clip`, and the two moments.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn update(to: [&mut [MaybeUninit<f32>]; 3], from: [&[f32]; 4], rates: Rates, clip: f32) {
    let len = from[0].len();
    let ([parameter, gradient, first, second], [to, to_first, to_second]) = (
        from.map(|values| &values[..len]),
        to.map(|values| &mut values[..len]),
    );
    let Rates {
        keep,
        correction,
        epsilon,
        rate,
        ..
    } = rates;
    let add = keep.map(|keep| 1.0 - keep);
    for i in 0..len {
        let gradient = gradient[i] * clip;
        let mean = first[i] * keep[0] + gradient * add[0];
        let square = second[i] * keep[1] + gradient * gradient * add[1];
        let step = mean * correction / (square.sqrt() + epsilon);
        to[i].write(parameter[i] - step * rate);
        to_first[i].write(mean);
        to_second[i].write(square);
    }
}

/// The elements of a contiguous `f32` tensor in the memory of the CPU.
fn elements(x: &tch::Tensor) -> &[f32] {
    assert!(is_contiguous_on_cpu(x));
    match x.numel() {
        0 => &[],
        // SAFETY: LibTorch keeps `len` elements of `f32` there, one after the other, as long as the tensor lives.
        len => unsafe { std::slice::from_raw_parts(x.data_ptr().cast(), len) },
    }
}

/// The memory of a contiguous `f32` tensor in the memory of the CPU, not yet initialized.
///
/// # Safety
///
/// Nothing else refers to the memory of this tensor.
#[allow(clippy::mut_from_ref)] // a LibTorch tensor is a pointer
unsafe fn elements_mut(x: &tch::Tensor) -> &mut [MaybeUninit<f32>] {
    assert!(is_contiguous_on_cpu(x));
    match x.numel() {
        0 => &mut [],
        // SAFETY: LibTorch keeps `len` elements of `f32` there, one after the other, and the caller says that nothing else
        // refers to them.
        len => unsafe { std::slice::from_raw_parts_mut(x.data_ptr().cast(), len) },
    }
}

fn is_contiguous_on_cpu(x: &tch::Tensor) -> bool {
    x.is_contiguous() && x.kind() == Kind::Float && x.device() == tch::Device::Cpu
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kernels;
    use crate::testing::{adam, values};
    use burn::optim::Optimizer;
    use burn::tensor::{Device, Distribution};

    /// Against Burn's on Flex: contiguous and transposed gradients, with norms above and below the
    /// limit, and a parameter whose memory is shared.
    #[test]
    fn steps_are_those_of_burns_adam_on_libtorch() {
        let (flex, torch) = (Device::flex(), Device::libtorch());
        for clip_norm in [None, Some(1.0)] {
            let adam = adam(clip_norm, 0.0, Kernels::Auto);
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
                for (burns, ours) in values(burns.clone()).iter().zip(values(ours.clone())) {
                    let apart = (burns - ours).abs();
                    assert!(apart < 1e-5, "step {step}, {clip_norm:?}: {apart}");
                }
            }
            assert_eq!(state.unwrap().momentum.time, 20);
        }
    }

    #[test]
    fn a_nan_in_the_gradient_reaches_every_element_on_libtorch() {
        let adam = adam(Some(1.0), 0.0, Kernels::Auto);
        let device = Device::libtorch();
        let gradient = Tensor::<2>::from_data([[f32::NAN, 1e6, 0.0]], &device);
        let (after, _) = adam.step(1e-2, Tensor::<2>::ones([1, 3], &device), gradient, None);
        assert!(values(after).iter().all(|x| x.is_nan()));
    }
}
