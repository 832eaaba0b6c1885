//! The step of Adam, for many parameters in few launches.
//!
//! A kernel takes only so many tensors. So the values of all parameters lie in one buffer after the first step, both moments in
//! another, and a launch takes as many gradients as fit beside them.
//!
//! The update reads parameter, gradient and both moments and writes all but the gradient once. The norm of a gradient is known
//! after all of it has been read: where it is clipped and fills more than one workgroup, it is read a second time.

use burn_cubecl::cubecl;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::memory::{MOST_TENSORS, alignment, apart, in_place, new, sequence, starts, together};
use super::threads::{addresses, groups_of, sum_of_threads};
use crate::kernels::rates::Rates;

const THREADS: usize = 256;

/// The elements of a workgroup.
const BLOCK: usize = 4 * THREADS;

/// The sums of squares that the gradient of more than one block is divided into: one for each thread.
const PARTS: usize = THREADS;

/// What is known when a kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    parameters: usize,
    /// The number of parameters with more than one block. They come first.
    large: usize,
    clips: bool,
    /// The parameters that decay, a bit for each.
    decaying: u32,
    /// Every parameter begins at a multiple of this many elements.
    alignment: usize,
}

/// The sums of squares of gradients, `[gradients, PARTS]`: a workgroup for each.
#[cube(launch_unchecked, address_type = "dynamic")]
fn parts_of_norms(
    gradients: &Sequence<OwnedTensor<f32>>,
    parts: &mut Tensor<f32>,
    to: usize,
    #[comptime] count: usize,
) {
    let which = CUBE_POS / PARTS;
    let first = (CUBE_POS % PARTS) * THREADS + UNIT_POS as usize;
    let mut sum = 0.0f32;
    #[unroll]
    for n in 0..count {
        if which == n {
            let gradient = gradients.index(n);
            let mut i = first;
            while i < gradient.len() {
                sum += gradient[i] * gradient[i];
                i += comptime!(PARTS * THREADS);
            }
        }
    }
    let sum = sum_of_threads(sum, THREADS);
    if which < count && UNIT_POS == 0 {
        parts[to + CUBE_POS] = sum;
    }
}

/// This thread's part of the sum of squares of one of the gradients.
#[cube]
fn squares_of(
    gradients: &Sequence<OwnedTensor<f32>>,
    parts: &Tensor<f32>,
    which: usize,
    start_of_parts: usize,
    #[comptime] plan: Plan,
) -> f32 {
    let thread = UNIT_POS as usize;
    let mut squares = 0.0f32;
    #[unroll]
    for n in 0..plan.parameters {
        if which == n {
            if comptime!(n < plan.large) {
                squares = parts[start_of_parts + comptime!(n * PARTS) + thread];
            } else {
                let gradient = gradients.index(n);
                let mut i = thread;
                while i < gradient.len() {
                    squares += gradient[i] * gradient[i];
                    i += THREADS;
                }
            }
        }
    }
    squares
}

/// By what a gradient with this sum of squares is multiplied.
#[cube]
fn clipping(squares: f32, most: f32) -> f32 {
    let factor = most / (squares.sqrt() + 1.1754944e-38f32);
    let mut clip = factor;
    // A NaN in the gradient must not be hidden, and some cards say that NaN is larger than 1.
    if factor > 1.0f32 && !factor.is_nan() {
        clip = 1.0f32;
    }
    clip
}

#[cube(launch_unchecked, address_type = "dynamic")]
#[allow(clippy::too_many_arguments)]
fn update(
    values: &Tensor<f32>,
    moments: &Tensor<f32>,
    gradients: &Sequence<OwnedTensor<f32>>,
    parts: &Tensor<f32>,
    to_values: &mut Tensor<f32>,
    to_moments: &mut Tensor<f32>,
    start: usize,
    start_of_seconds: usize,
    start_of_parts: usize,
    most: f32,
    keep_first: f32,
    keep_second: f32,
    correction: f32,
    epsilon: f32,
    rate: f32,
    decay: f32,
    #[comptime] plan: Plan,
) {
    let thread = UNIT_POS as usize;
    // The parameter of this workgroup, where it begins, and the block in it.
    let mut which = plan.parameters.runtime();
    let mut first = 0usize;
    let mut block = 0usize;
    let mut before = 0usize;
    let mut next = start;
    #[unroll]
    for n in 0..plan.parameters {
        let elements = gradients.index(n).len();
        let after = before + elements.div_ceil(BLOCK);
        if CUBE_POS >= before && CUBE_POS < after {
            which = n.runtime();
            first = next;
            block = CUBE_POS - before;
        }
        before = after;
        next += elements.div_ceil(plan.alignment) * plan.alignment;
    }
    let mut clip = 1.0f32;
    if comptime!(plan.clips) {
        let squares = squares_of(gradients, parts, which, start_of_parts, plan);
        clip = clipping(sum_of_threads(squares, THREADS), most);
    }
    #[unroll]
    for n in 0..plan.parameters {
        if which == n {
            let gradient = gradients.index(n);
            let mut i = block * BLOCK + thread;
            let mut end = (block + 1) * BLOCK;
            if end > gradient.len() {
                end = gradient.len();
            }
            while i < end {
                let at = first + i;
                let slope = gradient[i] * clip;
                let mean = moments[at] * keep_first + slope * (1.0f32 - keep_first);
                let old = moments[start_of_seconds + at] * keep_second;
                let square = old + slope * slope * (1.0f32 - keep_second);
                let step = mean * correction / (square.sqrt() + epsilon);
                let mut value = values[at];
                if comptime!((plan.decaying >> n) & 1 == 1) {
                    value *= decay;
                }
                to_values[at] = value - step * rate;
                to_moments[at] = mean;
                to_moments[start_of_seconds + at] = square;
                i += THREADS;
            }
        }
    }
}

/// What a step takes of a parameter.
pub struct Inputs {
    /// Its values, both of its moments, and its gradient, of as many elements.
    pub tensors: [CubeTensor; 4],
    pub decays: bool,
}

/// The new values of a parameter and of its two moments.
pub type Outputs = [CubeTensor; 3];

fn elements(x: &CubeTensor) -> usize {
    x.meta.num_elements()
}

/// The gradient of a parameter, and whether the parameter decays.
type Gradient = (CubeTensor, bool);

fn is_large(gradient: &Gradient) -> bool {
    elements(&gradient.0) > BLOCK
}

/// The new values of parameters and of their moments, in the memory of the old ones where nothing else reads it. Those that
/// decay are multiplied by `decay` before.
pub fn step(all: Vec<Inputs>, rates: Rates, decay: f32) -> Vec<Outputs> {
    let mut all: Vec<(usize, Inputs)> = all.into_iter().enumerate().collect();
    all.sort_by_key(|(_, of)| elements(&of.tensors[3]) <= BLOCK);
    let (places, all): (Vec<usize>, Vec<Inputs>) = all.into_iter().unzip();
    let (mut values, mut firsts, mut seconds) = (Vec::new(), Vec::new(), Vec::new());
    let mut gradients = Vec::new();
    for Inputs { tensors, decays } in all {
        let [value, first, second, gradient] = tensors;
        values.push(value);
        firsts.push(first);
        seconds.push(second);
        gradients.push((into_contiguous(gradient), decays));
    }
    firsts.append(&mut seconds);
    let old = [together(values), together(firsts)];
    let [values, moments] = launch(old, &gradients, rates, decay);
    let shapes = gradients.iter().map(|(x, _)| x.meta.shape().clone());
    let values = apart(&values, shapes.clone());
    let mut firsts = apart(&moments, shapes.clone().chain(shapes));
    let seconds = firsts.split_off(values.len());
    let parts = values.into_iter().zip(firsts).zip(seconds);
    let parts = parts.map(|((value, first), second)| [value, first, second]);
    let mut outputs: Vec<(usize, Outputs)> = places.into_iter().zip(parts).collect();
    outputs.sort_by_key(|(place, _)| *place);
    outputs.into_iter().map(|(_, of)| of).collect()
}

/// The parts of the norms of the large gradients, which come first.
fn norms(gradients: &[Gradient], most: usize) -> CubeTensor {
    let large = gradients.iter().take_while(|x| is_large(x));
    let large: Vec<CubeTensor> = large.map(|(x, _)| x.clone()).collect();
    let parts = new(&gradients[0].0, [large.len().max(1) * PARTS].into());
    let client = parts.client.clone();
    for (nth, of) in large.chunks(most).enumerate() {
        let (count, dim) = groups_of(&client, of.len() * PARTS, THREADS);
        // SAFETY: every workgroup reads one of the gradients within its length and writes the part of its number, of which there
        // are `PARTS` for each of the large gradients.
        unsafe {
            parts_of_norms::launch_unchecked(
                &client,
                count,
                dim,
                addresses(&of.iter().collect::<Vec<_>>()),
                sequence(of),
                parts.clone().into_tensor_arg(),
                nth * most * PARTS,
                of.len(),
            );
        }
    }
    parts
}

/// The new values and moments of all parameters, from the old ones. Those of the large ones come first.
fn launch(
    [values, moments]: [CubeTensor; 2],
    gradients: &[Gradient],
    rates: Rates,
    decay: f32,
) -> [CubeTensor; 2] {
    let client = values.client.clone();
    // Besides gradients, a launch takes values, moments and parts, and it may write values and moments to other memory.
    let most = (client.properties().hardware.max_bindings as usize).saturating_sub(5);
    let most = most.clamp(1, MOST_TENSORS);
    let parts = match rates.most {
        Some(_) => norms(gradients, most),
        None => new(&values, [1].into()),
    };
    let (new_values, _) = in_place(&values, 0);
    let (new_moments, _) = in_place(&moments, 1);
    let (mut start, mut done) = (0, 0);
    for of in gradients.chunks(most) {
        let (plan, blocks) = plan_of(of, rates);
        let (count, dim) = groups_of(&client, blocks, THREADS);
        let of: Vec<CubeTensor> = of.iter().map(|(x, _)| x.clone()).collect();
        // SAFETY: every thread reads and writes elements within the length of the gradient of its workgroup's parameter, whose
        // values lie from its start on, and whose moments lie there and as far after the middle (`together`). `parts` has `PARTS`
        // elements, one for each thread, for every parameter where they are read.
        unsafe {
            update::launch_unchecked(
                &client,
                count,
                dim,
                addresses(&[&moments]),
                values.clone().into_tensor_arg(),
                moments.clone().into_tensor_arg(),
                sequence(&of),
                parts.clone().into_tensor_arg(),
                argument(&values, &new_values, 0),
                argument(&moments, &new_moments, 1),
                start,
                elements(&moments) / 2,
                done * PARTS,
                rates.most.unwrap_or(0.0),
                rates.keep[0],
                rates.keep[1],
                rates.correction,
                rates.epsilon,
                rates.rate,
                decay,
                plan,
            );
        }
        done += of.len();
        let (_, end) = starts(of.iter().map(elements), plan.alignment);
        start += end;
    }
    [new_values, new_moments]
}

/// What the kernel knows of the parameters of a launch, and the number of their blocks.
fn plan_of(gradients: &[Gradient], rates: Rates) -> (Plan, usize) {
    let decaying = gradients.iter().enumerate();
    let decaying = decaying.map(|(n, (_, decays))| u32::from(*decays) << n);
    let plan = Plan {
        parameters: gradients.len(),
        large: gradients.iter().take_while(|x| is_large(x)).count(),
        clips: rates.most.is_some(),
        decaying: decaying.sum(),
        alignment: alignment(&gradients[0].0),
    };
    let blocks = gradients.iter().map(|(x, _)| elements(x).div_ceil(BLOCK));
    (plan, blocks.sum())
}

/// The argument for `to`: an alias of the input at `position`, if both are the same memory.
fn argument(from: &CubeTensor, to: &CubeTensor, position: usize) -> TensorArg {
    match from.handle.memory.descriptor() == to.handle.memory.descriptor() {
        true => from.as_tensor_alias(position),
        false => to.clone().into_tensor_arg(),
    }
}
