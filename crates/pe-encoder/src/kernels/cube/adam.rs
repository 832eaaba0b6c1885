//! The step of Adam for one parameter.

use burn_cubecl::cubecl;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::memory::{in_place, new};
use super::threads::{addresses, groups_of, sum_of_threads};
use crate::kernels::rates::Rates;

const THREADS: usize = 256;

/// Up to this many elements every workgroup computes the norm of the whole gradient by itself, which saves
/// a launch; a gradient of this size is read from the cache.
const ALONE: usize = 1 << 15;

/// The number of sums of squares that a larger gradient is divided into.
const PARTS: usize = 256;

/// The sum of squares of every `step`-th element from `first` on, over all threads.
#[cube]
fn squares(values: &Tensor<f32>, first: usize, step: usize, elements: usize) -> f32 {
    let mut sum = 0.0f32;
    let mut i = first;
    while i < elements {
        sum += values[i] * values[i];
        i += step;
    }
    sum_of_threads(sum, THREADS)
}

/// One part of the sum of squares per workgroup.
#[cube(launch_unchecked, address_type = "dynamic")]
fn parts_of_norm(gradient: &Tensor<f32>, parts: &mut Tensor<f32>, elements: usize) {
    if CUBE_POS >= PARTS {
        terminate!();
    }
    let first = CUBE_POS * THREADS + UNIT_POS as usize;
    let sum = squares(gradient, first, comptime!(PARTS * THREADS), elements);
    if UNIT_POS == 0 {
        parts[CUBE_POS] = sum;
    }
}

#[cube(launch_unchecked, address_type = "dynamic")]
#[allow(clippy::too_many_arguments)]
fn update(
    parameter: &Tensor<f32>,
    first: &Tensor<f32>,
    second: &Tensor<f32>,
    gradient: &Tensor<f32>,
    parts: &Tensor<f32>,
    to: &mut Tensor<f32>,
    to_first: &mut Tensor<f32>,
    to_second: &mut Tensor<f32>,
    elements: usize,
    most: f32,
    keep_first: f32,
    keep_second: f32,
    correction: f32,
    epsilon: f32,
    rate: f32,
    #[comptime] clips: bool,
    #[comptime] alone: bool,
) {
    let thread = UNIT_POS as usize;
    let mut clip = 1.0f32;
    if comptime!(clips) {
        let sum = if comptime!(alone) {
            squares(gradient, thread, THREADS, elements)
        } else {
            sum_of_threads(parts[thread], THREADS)
        };
        let factor = most / (sum.sqrt() + 1.1754944e-38f32);
        clip = factor;
        // A NaN in the gradient must not be hidden, and some cards say that NaN is larger than 1.
        if factor > 1.0f32 && !factor.is_nan() {
            clip = 1.0f32;
        }
    }
    let i = CUBE_POS * THREADS + thread;
    if i < elements {
        let slope = gradient[i] * clip;
        let mean = first[i] * keep_first + slope * (1.0f32 - keep_first);
        let square = second[i] * keep_second + slope * slope * (1.0f32 - keep_second);
        let step = mean * correction / (square.sqrt() + epsilon);
        to[i] = parameter[i] - step * rate;
        to_first[i] = mean;
        to_second[i] = square;
    }
}

/// The new values of a parameter and of its two moments, in the memory of the old ones where nothing else
/// reads it. The last launch is the update, the one before it the norm of a large gradient.
// Longer than a screen: the twenty arguments of a kernel, one a line.
pub fn step(
    parameter: CubeTensor,
    gradient: CubeTensor,
    first: CubeTensor,
    second: CubeTensor,
    rates: Rates,
) -> (CubeTensor, CubeTensor, CubeTensor) {
    let [parameter, gradient, first, second] =
        [parameter, gradient, first, second].map(into_contiguous);
    let elements = parameter.meta.num_elements();
    let client = parameter.client.clone();
    let addresses = addresses(&[&parameter, &gradient]);
    let (clips, alone) = (rates.most.is_some(), elements <= ALONE);
    let parts = match clips && !alone {
        false => new(&gradient, [1].into()),
        true => {
            let parts = new(&gradient, [PARTS].into());
            let (count, dim) = groups_of(&client, PARTS, THREADS);
            // SAFETY: the gradient has `elements` elements of `f32`, as the parameter has (`Adam::step`), and every workgroup
            // writes the part of its number, of which there are `PARTS`.
            unsafe {
                parts_of_norm::launch_unchecked(
                    &client,
                    count,
                    dim,
                    addresses,
                    gradient.clone().into_tensor_arg(),
                    parts.clone().into_tensor_arg(),
                    elements,
                );
            }
            parts
        }
    };
    let (new_parameter, to) = in_place(&parameter, 0);
    let (new_first, to_first) = in_place(&first, 1);
    let (new_second, to_second) = in_place(&second, 2);
    let (count, dim) = groups_of(&client, elements.div_ceil(THREADS), THREADS);
    // SAFETY: every thread reads and writes the element of its number, of which parameter, gradient and both moments have
    // `elements` of `f32` (`Adam::step`). `parts` has `PARTS` elements, one for each thread, where they are read.
    unsafe {
        update::launch_unchecked(
            &client,
            count,
            dim,
            addresses,
            parameter.into_tensor_arg(),
            first.into_tensor_arg(),
            second.into_tensor_arg(),
            gradient.into_tensor_arg(),
            parts.into_tensor_arg(),
            to,
            to_first,
            to_second,
            elements,
            rates.most.unwrap_or(0.0),
            rates.keep[0],
            rates.keep[1],
            rates.correction,
            rates.epsilon,
            rates.rate,
            clips,
            alone,
        );
    }
    (new_parameter, new_first, new_second)
}
