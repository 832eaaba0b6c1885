//! One step of Adam on the CPU, as one pass over the elements of a parameter.

use std::mem::MaybeUninit;

use burn::backend::libtorch::{LibTorchDevice, TchTensor};
use burn::backend::{DispatchDevice, LibTorch};
use burn::optim::AdamState;
use burn::tensor::{DType, Tensor};
use multiversion::multiversion;
use tch::Kind;

use crate::kernels::adam::squares;
use crate::kernels::rates::{Rates, after, before};

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
    let (time, [first, second]) = before(state, &parameter);
    let old = [parameter, gradient, first, second].map(inner);
    let new = [(); 3].map(|()| old[0].empty_like());
    // SAFETY: these tensors are new, so nothing else refers to their memory.
    let to = new.each_ref().map(|x| unsafe { elements_mut(x) });
    let from = old.each_ref().map(elements);
    // All are as long as the parameter: `Adam::step` compared their shapes.
    update(to, from, rates, rates.clip(|| squares(from[1])));
    let [parameter, moments @ ..] =
        new.map(|x| Tensor::from_primitive::<LibTorch>(TchTensor::new(x)));
    (parameter, Some(after(time, moments)))
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
    for i in 0..len {
        let moments = [first[i], second[i]];
        let new = rates.step(parameter[i], gradient[i] * clip, moments);
        to[i].write(new[0]);
        to_first[i].write(new[1]);
        to_second[i].write(new[2]);
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
            let [adam, of_burn] =
                [Kernels::Auto, Kernels::Off].map(|kernels| adam(clip_norm, 0.0, kernels));
            let shape = [37, 130];
            let start = Tensor::<2>::random(shape, Distribution::Normal(0.0, 1.0), &flex);
            let (mut burns, mut burns_state) = (start.clone(), None);
            let (mut ours, mut state) = (start.clone().to_device(&torch), None);
            for step in 0..20 {
                let size = [1e-4, 1.0, 1e3][step % 3];
                let gradient = Tensor::<2>::random(shape, Distribution::Normal(0.0, size), &flex);
                (burns, burns_state) = of_burn.step(1e-2, burns, gradient.clone(), burns_state);
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
