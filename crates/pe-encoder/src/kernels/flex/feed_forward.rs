//! The feed-forward network `gelu(x W₁ + b₁) W₂ + b₂` (Vaswani et al. 2017, section 3.3, with the
//! activation of Hendrycks and Gimpel 2016), and its gradients; of `x` as it is, or normalized.
//!
//! A block of rows goes through both layers while it is in the processor's cache. The backward pass
//! needs `h = x W₁ + b₁`, which is stored, and `gelu(h)`, which is faster to compute again than to
//! read from memory.

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;
use multiversion::multiversion;
use pe_burn::autodiff::{Operand, Operation, apply};
use pe_burn::threads;

use super::few::{self, FEW};
use super::layer_norm::{Read, Rows};
use super::linear::affine;
use super::math::gelu;
use super::products::{
    Matrix, New, both_initialized, column_sums, initialized, product, products_of_chunks,
    rows_at_a_time, rows_per_chunk, set_product, sums_of,
};
use super::{contiguous, elements};

/// A linear layer: its weight and its bias.
type Layer = (Tensor<2>, Tensor<1>);

/// As [`plain::feed_forward`](crate::plain::feed_forward): `x` is `[batch, seq, d_model]`, the
/// weights and biases are `[d_model, d_ff]`, `[d_ff]`, `[d_ff, d_model]` and `[d_model]`.
pub fn feed_forward(x: Tensor<3>, (w1, b1): Layer, (w2, b2): Layer) -> Tensor<3> {
    let ([w1, w2], [b1, b2]) = ([w1, w2].map(Operand::of), [b1, b2].map(Operand::of));
    let inputs = [Operand::of(x), w1, b1, w2, b2];
    apply(inputs, |inputs| {
        let [x, weights @ ..] = inputs.map(contiguous);
        run(Read::plain(x), weights)
    })
    .tensor()
}

/// [`feed_forward`] of the normalization of `x` by γ, β and ε.
pub fn normed_feed_forward(
    x: Tensor<3>,
    (gamma, beta, epsilon): (Tensor<1>, Tensor<1>, f64),
    (w1, b1): Layer,
    (w2, b2): Layer,
) -> Tensor<3> {
    let [w1, w2] = [w1, w2].map(Operand::of);
    let [gamma, beta, b1, b2] = [gamma, beta, b1, b2].map(Operand::of);
    let inputs = [Operand::of(x), gamma, beta, w1, b1, w2, b2];
    apply(inputs, |inputs| {
        let [x, gamma, beta, weights @ ..] = inputs.map(contiguous);
        run(Read::normalized(x, gamma, beta, epsilon), weights)
    })
    .tensor()
}

/// The output, of the shape of what is read, and what the backward pass needs.
fn run(read: Read, weights: [FlexTensor; 4]) -> (FlexTensor, FeedForward) {
    let [y, h] = forward(read.rows(), Weights::of(&weights));
    (read.tensor_like(y), FeedForward { read, weights, h })
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct FeedForward {
    read: Read,
    /// W₁, b₁, W₂, b₂.
    weights: [FlexTensor; 4],
    h: Vec<f32>,
}

/// The inputs are `x`, γ and β where `x` is normalized, and the weights and biases.
impl<const N: usize> Operation<Flex, N> for FeedForward {
    fn backward(self, dy: FlexTensor) -> [FlexTensor; N] {
        let Self { read, weights, h } = self;
        let dy = contiguous(dy);
        let (of_read, of_weights) = backward(read.rows(), Weights::of(&weights), &h, elements(&dy));
        read.gradients(of_read, of_weights, &weights)
    }
}

/// The elements of the weights and biases.
#[derive(Clone, Copy)]
struct Weights<'a> {
    w1: &'a [f32],
    b1: &'a [f32],
    w2: &'a [f32],
    b2: &'a [f32],
}

impl<'a> Weights<'a> {
    fn of(weights: &'a [FlexTensor; 4]) -> Self {
        let [w1, b1, w2, b2] = weights.each_ref().map(elements);
        Self { w1, b1, w2, b2 }
    }

    /// `[d_model, d_ff]`.
    fn sizes(self) -> [usize; 2] {
        [self.b2.len(), self.b1.len()]
    }

    /// The number of rows of `x`, `[rows, d_model]`.
    ///
    /// # Panics
    ///
    /// When `x`, W₁ and W₂ do not fit to the biases, by which their elements are taken.
    fn rows(self, x: Rows) -> usize {
        let [d_model, d_ff] = self.sizes();
        let rows = x.len() / d_model;
        let lens = [x.len(), self.w1.len(), self.w2.len()];
        let expected = [rows * d_model, d_model * d_ff, d_ff * d_model];
        assert_eq!(
            lens, expected,
            "rows of x, and weights between widths {d_model} and {d_ff}"
        );
        rows
    }
}

/// The output for `x`, `[rows, d_model]`, and `h`, `[rows, d_ff]`.
fn forward(x: Rows, weights: Weights) -> [Vec<f32>; 2] {
    let Weights { w1, b1, w2, b2 } = weights;
    let ([d_model, d_ff], rows) = (weights.sizes(), weights.rows(x));
    let some = rows_at_a_time(rows, d_ff.max(d_model), 0);
    let write = |y: New<'_>, h: New<'_>| {
        if rows <= FEW {
            let h = few::affine(h, &x.read(), w1, b1);
            few::affine(y, &activated(h), w2, b2);
            return;
        }
        let chunks = y
            .chunks_mut(some * d_model)
            .zip(h.chunks_mut(some * d_ff))
            .zip(x.chunks(some * d_model));
        threads::for_each(chunks, |((y, h), x)| {
            let h = affine(h, &x.read(), w1, b1);
            affine(y, &activated(h), w2, b2);
        });
    };
    // SAFETY: `y` and `x` have `rows * d_model` elements and `h` has `rows * d_ff`, so there are as many chunks of each, and
    // each `affine` initializes all of its target.
    unsafe { both_initialized([x.len(), rows * d_ff], write) }
}

/// The gradients of `x`, and of γ and β where it is normalized; and those of W₁, b₁, W₂ and b₂. From `dy`, that of the output.
fn backward(x: Rows, weights: Weights, h: &[f32], dy: &[f32]) -> ([Vec<f32>; 2], [Vec<f32>; 4]) {
    let Weights { w1, w2, .. } = weights;
    let ([d_model, d_ff], rows) = (weights.sizes(), weights.rows(x));
    let chunk = rows_per_chunk(rows);
    let mut sums = [const { Vec::new() }; 4];
    assert_eq!(
        [h.len(), dy.len()],
        [rows * d_ff, x.len()],
        "rows of h and of the gradient"
    );
    let write = |dx: New<'_>| {
        let lens = [w1.len(), d_ff, w2.len(), x.sums()];
        let some = rows_at_a_time(rows, d_ff.max(d_model), lens.iter().sum());
        let chunks = dx
            .chunks_mut(some * d_model)
            .zip(x.chunks(some * d_model))
            .zip(h.chunks(some * d_ff))
            .zip(dy.chunks(some * d_model));
        sums = sums_of(chunks, lens, |(((dx, x), h), dy)| {
            let mut dh = product(Matrix::dense(dy, d_model), Matrix::dense(w2, d_model).t());
            // SAFETY: it initializes as many elements as there are of `h`.
            let activated =
                unsafe { initialized(h.len(), |out| activate_backward(out, h, &mut dh)) };
            let dw2 = products_of_chunks(chunk, (&activated, d_ff), (dy, d_model));
            let dw2: Vec<_> = dw2.collect();
            drop(activated);
            let w1 = Matrix::dense(w1, d_ff).t();
            let write = |of: New<'_>| set_product(of, d_model, 1.0, Matrix::dense(&dh, d_ff), w1);
            // SAFETY: `dx` has as many elements as the rows of `x`, and the product is all of them.
            let (read, norms) = unsafe { x.backward(dx, chunk * d_model, write) };
            let dw1 = products_of_chunks(chunk, (&read, d_model), (&dh, d_ff));
            let db1 = dh.chunks(chunk * d_ff).map(|dh| column_sums(dh, d_ff));
            let parts = dw1.zip(db1).zip(dw2).zip(norms);
            parts
                .map(|(((dw1, db1), dw2), norm)| [dw1, db1, dw2, norm])
                .collect()
        });
    };
    // SAFETY: `dx`, `x` and `dy` have `rows * d_model` elements and `h` has `rows * d_ff`, so there are as many chunks of each;
    // the product of the rows of `dh` with the transposed W₁, `[d_ff, d_model]`, is as long as a chunk of `dx`.
    let dx = unsafe { initialized(x.len(), write) };
    let [w1, b1, w2, norm] = sums;
    ([dx, norm], [w1, b1, w2, column_sums(dy, d_model)])
}

/// The GELU of every element.
fn activated(h: &[f32]) -> Vec<f32> {
    // SAFETY: `activate` initializes as many elements as there are of `h`.
    unsafe { initialized(h.len(), |out| activate(out, h)) }
}

/// Writes the GELU of every element of `h` to `out`, which is as long.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn activate(out: New, h: &[f32]) {
    let out = &mut out[..h.len()];
    for i in 0..h.len() {
        out[i].write(gelu(h[i]).0);
    }
}

/// Writes the GELU of every element of `h` to `out`, which is as long, and multiplies `gradient` by the slope of the GELU
/// there.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn activate_backward(out: New, h: &[f32], gradient: &mut [f32]) {
    let out = &mut out[..h.len()];
    let gradient = &mut gradient[..h.len()];
    for i in 0..h.len() {
        let (value, slope) = gelu(h[i]);
        out[i].write(value);
        gradient[i] *= slope;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::compare;
    use burn::tensor::Device;

    #[test]
    fn output_and_gradients_are_those_of_burns_operations() {
        compare::feed_forward(&Device::flex().autodiff(), feed_forward);
        compare::normed_feed_forward(&Device::flex().autodiff(), normed_feed_forward);
    }
}
