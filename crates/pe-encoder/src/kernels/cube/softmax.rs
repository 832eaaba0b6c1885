//! The softmax of attention scores, a workgroup for each query.
//!
//! Lengths are arguments and not constants of the kernels: a text that grows by a token needs no new kernel.

use burn_cubecl::cubecl;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::memory::{in_place, new, rows_of};
use super::threads::{addresses, groups_of, largest_of_threads, sum_of_threads, threads_for};
use crate::plain::{LEAST, MASKED};

/// A score, scaled, with its bias, or that of a masked key.
#[cube]
fn score(
    scores: &Tensor<f32>,
    bias: &Tensor<f32>,
    first: usize,
    first_bias: usize,
    key: usize,
    last: usize,
    scale: f32,
    #[comptime] plan: Plan,
) -> f32 {
    let mut score = scores[first + key] * scale;
    if comptime!(plan.biased) {
        score += bias[first_bias + key * bias.stride(3)];
    }
    if comptime!(plan.causal) {
        if key > last {
            score = f32::new(MASKED);
        }
    }
    // A bias may lower the score further, down to -∞. A query that sees nothing else would then have no weight at all,
    // and divide 0 by 0. A NaN stays a NaN.
    if score < f32::new(LEAST) {
        score = f32::new(LEAST);
    }
    score
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn weights_of_keys(
    scores: &Tensor<f32>,
    bias: &Tensor<f32>,
    weights: &mut Tensor<f32>,
    rows: usize,
    heads: usize,
    queries: usize,
    keys: usize,
    scale: f32,
    #[comptime] plan: Plan,
    #[comptime] threads: usize,
) {
    let row = CUBE_POS;
    if row >= rows {
        terminate!();
    }
    let first = row * keys;
    let thread = UNIT_POS as usize;
    let query = row % queries;
    // The queries belong to the last keys.
    let last = query + keys - queries;
    // Where the biases of this query begin. A bias that serves several rows has a stride of 0.
    let mut first_bias = 0usize;
    if comptime!(plan.biased) {
        let head_row = row / queries;
        let head = head_row % heads;
        let batch = head_row / heads;
        first_bias = batch * bias.stride(0) + head * bias.stride(1) + query * bias.stride(2);
    }
    let mut largest = f32::new(LEAST);
    let mut key = thread;
    while key < keys {
        let score = score(scores, bias, first, first_bias, key, last, scale, plan);
        if score > largest {
            largest = score;
        }
        key += threads;
    }
    let largest = largest_of_threads(largest, threads);
    let mut sum = 0.0f32;
    let mut key = thread;
    while key < keys {
        let score = score(scores, bias, first, first_bias, key, last, scale, plan);
        let weight = (score - largest).exp();
        weights[first + key] = weight;
        sum += weight;
        key += threads;
    }
    let sum = sum_of_threads(sum, threads);
    let mut key = thread;
    while key < keys {
        // Every thread reads what it has written itself.
        let weight = weights[first + key];
        weights[first + key] = weight / sum;
        key += threads;
    }
}

/// What is known of the scores when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    biased: bool,
    causal: bool,
}

/// `softmax(scores · scale + bias)` over the keys, in the memory of the scores where nothing else reads it.
///
/// - `scores`: `[batch, heads, queries, keys]`
/// - `bias`: broadcasts to that; not read unless `biased`
pub fn forward(
    scores: CubeTensor,
    bias: CubeTensor,
    biased: bool,
    causal: bool,
    scale: f32,
) -> CubeTensor {
    let scores = into_contiguous(scores);
    let shape = scores.meta.shape().clone();
    let [_, heads, queries, keys] = shape.dims();
    // A single query belongs to the last key, so that no key comes after it.
    let causal = causal && queries > 1;
    let plan = Plan { biased, causal };
    let (rows, _) = rows_of(&scores);
    let threads = threads_for(keys);
    let client = scores.client.clone();
    let (count, dim) = groups_of(&client, rows, threads);
    let addresses = addresses(&[&scores, &bias]);
    let (weights, output) = in_place(&scores, 0);
    let mut bias_arg = bias;
    for axis in 0..bias_arg.meta.num_dims() {
        if bias_arg.meta.shape()[axis] == 1 {
            bias_arg.meta.strides_mut()[axis] = 0;
        }
    }
    // SAFETY: every workgroup reads and writes the row of its number, of which scores and weights have `rows` of `keys`
    // elements, and reads the biases of that row. A bias has for each of batch, heads, queries and keys as many as the
    // scores or one, whose stride is 0 (`kernels::check_bias`, and the padding, `[batch, 1, 1, keys]`).
    unsafe {
        weights_of_keys::launch_unchecked(
            &client,
            count,
            dim,
            addresses,
            scores.into_tensor_arg(),
            bias_arg.into_tensor_arg(),
            output,
            rows,
            heads,
            queries,
            keys,
            scale,
            plan,
            threads,
        );
    }
    weights
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn gradient_of_scores(
    dweights: &Tensor<f32>,
    weights: &Tensor<f32>,
    dscores: &mut Tensor<f32>,
    rows: usize,
    keys: usize,
    factor: f32,
    #[comptime] threads: usize,
) {
    let row = CUBE_POS;
    if row >= rows {
        terminate!();
    }
    let first = row * keys;
    let thread = UNIT_POS as usize;
    let mut sum = 0.0f32;
    let mut key = thread;
    while key < keys {
        sum += weights[first + key] * dweights[first + key];
        key += threads;
    }
    let sum = sum_of_threads(sum, threads);
    let mut key = thread;
    while key < keys {
        let at = first + key;
        dscores[at] = weights[at] * (dweights[at] - sum) * factor;
        key += threads;
    }
}

/// The gradient of the scores times `factor`, in the memory of `dweights` where nothing else reads it.
pub fn backward(weights: CubeTensor, dweights: CubeTensor, factor: f32) -> CubeTensor {
    let (weights, dweights) = (into_contiguous(weights), into_contiguous(dweights));
    let (rows, keys) = rows_of(&weights);
    let threads = threads_for(keys);
    let client = weights.client.clone();
    let (count, dim) = groups_of(&client, rows, threads);
    let addresses = addresses(&[&weights, &dweights]);
    let (dscores, output) = in_place(&dweights, 0);
    // SAFETY: every workgroup reads and writes the row of its number, of which there are `rows` of `keys` elements in the
    // weights, and as many in their gradient, which has their shape.
    unsafe {
        gradient_of_scores::launch_unchecked(
            &client,
            count,
            dim,
            addresses,
            dweights.into_tensor_arg(),
            weights.into_tensor_arg(),
            output,
            rows,
            keys,
            factor,
            threads,
        );
    }
    dscores
}

/// Queries, keys and values side by side: `[batch, heads, seq, d_head]` each, to
/// `[batch, seq, 3 · heads · d_head]`.
#[cube(launch_unchecked, address_type = "dynamic")]
fn side_by_side(
    q: &Tensor<f32>,
    k: &Tensor<f32>,
    v: &Tensor<f32>,
    out: &mut Tensor<f32>,
    elements: usize,
    seq: usize,
    #[comptime] heads: usize,
    #[comptime] d_head: usize,
) {
    if ABSOLUTE_POS >= elements {
        terminate!();
    }
    let column = ABSOLUTE_POS % d_head;
    let rest = ABSOLUTE_POS / d_head;
    let head = rest % heads;
    let rest = rest / heads;
    let part = rest % 3;
    let rest = rest / 3;
    let token = rest % seq;
    let batch = rest / seq;
    if part == 0 {
        let row = batch * q.stride(0) + head * q.stride(1) + token * q.stride(2);
        out[ABSOLUTE_POS] = q[row + column * q.stride(3)];
    } else if part == 1 {
        let row = batch * k.stride(0) + head * k.stride(1) + token * k.stride(2);
        out[ABSOLUTE_POS] = k[row + column * k.stride(3)];
    } else {
        let row = batch * v.stride(0) + head * v.stride(1) + token * v.stride(2);
        out[ABSOLUTE_POS] = v[row + column * v.stride(3)];
    }
}

/// See [`side_by_side`].
pub fn join(q: CubeTensor, k: CubeTensor, v: CubeTensor) -> CubeTensor {
    let [batch, heads, seq, d_head] = q.meta.shape().dims();
    let out = new(&q, [batch, seq, 3 * heads * d_head].into());
    let elements = out.meta.num_elements();
    let client = q.client.clone();
    let dim = CubeDim::new(&client, elements);
    let count = cubecl::calculate_cube_count_elemwise(&client, elements, dim);
    let addresses = addresses(&[&q, &k, &v, &out]);
    // SAFETY: every thread writes the element of its number, of which there are `elements`, and reads one inside the shape of q,
    // which is that of k and v too.
    unsafe {
        side_by_side::launch_unchecked(
            &client,
            count,
            dim,
            addresses,
            q.into_tensor_arg(),
            k.into_tensor_arg(),
            v.into_tensor_arg(),
            out.clone().into_tensor_arg(),
            elements,
            seq,
            heads,
            d_head,
        );
    }
    out
}
