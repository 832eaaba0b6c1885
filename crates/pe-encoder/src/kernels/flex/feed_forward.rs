//! The feed-forward network `gelu(x W₁ + b₁) W₂ + b₂` (Vaswani et al. 2017, section 3.3, with the
//! activation of Hendrycks and Gimpel 2016), and its gradients.
//!
//! A block of rows goes through both layers while it is in the processor's cache. The backward pass
//! needs `h = x W₁ + b₁`, which is stored, and `gelu(h)`, which is faster to compute again than to
//! read from memory.

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;
use multiversion::multiversion;
use pe_burn::autodiff::{Operand, Operation, apply};
use rayon::prelude::*;

use super::linear::affine;
use super::math::gelu;
use super::products::{
    Matrix, New, both_initialized, column_sums, initialized, product, rows_per_chunk, set_product,
    sums_of,
};
use super::{contiguous, elements, tensor_like};

/// As [`plain::feed_forward`](crate::plain::feed_forward): `x` is `[batch, seq, d_model]`, the
/// weights and biases are `[d_model, d_ff]`, `[d_ff]`, `[d_ff, d_model]` and `[d_model]`.
pub fn feed_forward(
    x: Tensor<3>,
    (w1, b1): (Tensor<2>, Tensor<1>),
    (w2, b2): (Tensor<2>, Tensor<1>),
) -> Tensor<3> {
    let inputs = [
        Operand::of(x),
        Operand::of(w1),
        Operand::of(b1),
        Operand::of(w2),
        Operand::of(b2),
    ];
    apply(inputs, |inputs| {
        let [x, w1, b1, w2, b2] = inputs.map(contiguous);
        let weights = [w1, b1, w2, b2];
        let [y, h] = forward(elements(&x), Weights::of(&weights));
        (tensor_like(y, &x), FeedForward { x, weights, h })
    })
    .tensor()
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct FeedForward {
    x: FlexTensor,
    /// W₁, b₁, W₂, b₂.
    weights: [FlexTensor; 4],
    h: Vec<f32>,
}

impl Operation<Flex, 5> for FeedForward {
    fn backward(self, dy: FlexTensor) -> [FlexTensor; 5] {
        let Self { x, weights, h } = self;
        let dy = contiguous(dy);
        let gradients = backward(elements(&x), Weights::of(&weights), &h, elements(&dy));
        let [w1, b1, w2, b2] = &weights;
        [
            tensor_like(gradients.x, &x),
            tensor_like(gradients.w1, w1),
            tensor_like(gradients.b1, b1),
            tensor_like(gradients.w2, w2),
            tensor_like(gradients.b2, b2),
        ]
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
    fn of([w1, b1, w2, b2]: &'a [FlexTensor; 4]) -> Self {
        Self {
            w1: elements(w1),
            b1: elements(b1),
            w2: elements(w2),
            b2: elements(b2),
        }
    }
}

impl Weights<'_> {
    /// `[d_model, d_ff]`.
    fn sizes(self) -> [usize; 2] {
        [self.b2.len(), self.b1.len()]
    }

    /// The number of rows of `x`, `[rows, d_model]`.
    ///
    /// # Panics
    ///
    /// When `x`, W₁ and W₂ do not fit to the biases, by which their elements are taken.
    fn rows(self, x: &[f32]) -> usize {
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
fn forward(x: &[f32], weights: Weights) -> [Vec<f32>; 2] {
    let Weights { w1, b1, w2, b2 } = weights;
    let ([d_model, d_ff], rows) = (weights.sizes(), weights.rows(x));
    let chunk = rows_per_chunk(rows);
    let write = |y: New<'_>, h: New<'_>| {
        y.par_chunks_mut(chunk * d_model)
            .zip(h.par_chunks_mut(chunk * d_ff))
            .zip(x.par_chunks(chunk * d_model))
            .for_each(|((y, h), x)| {
                let mut activated = affine(h, x, w1, b1).to_vec();
                activate(&mut activated);
                affine(y, &activated, w2, b2);
            });
    };
    // SAFETY: `y` and `x` have `rows * d_model` elements and `h` has `rows * d_ff`, so there are as many chunks of each, and
    // `affine` initializes all of its target.
    unsafe { both_initialized([x.len(), rows * d_ff], write) }
}

/// The gradients with respect to `x` and the weights.
struct Gradients {
    x: Vec<f32>,
    w1: Vec<f32>,
    b1: Vec<f32>,
    w2: Vec<f32>,
    b2: Vec<f32>,
}

/// The gradients of the inputs, from `dy`, the gradient of the output.
fn backward(x: &[f32], weights: Weights, h: &[f32], dy: &[f32]) -> Gradients {
    let Weights { w1, w2, .. } = weights;
    let ([d_model, d_ff], rows) = (weights.sizes(), weights.rows(x));
    let chunk = rows_per_chunk(rows);
    let mut sums = [const { Vec::new() }; 3];
    assert_eq!(
        [h.len(), dy.len()],
        [rows * d_ff, x.len()],
        "rows of h and of the gradient"
    );
    let write = |dx: New<'_>| {
        let chunks = dx
            .chunks_mut(chunk * d_model)
            .zip(x.chunks(chunk * d_model))
            .zip(h.chunks(chunk * d_ff))
            .zip(dy.chunks(chunk * d_model));
        sums = sums_of(chunks, [w1.len(), d_ff, w2.len()], |(((dx, x), h), dy)| {
            let dy = Matrix::dense(dy, d_model);
            let mut dh = product(dy, Matrix::dense(w2, d_model).t());
            let mut activated = h.to_vec();
            activate_backward(&mut activated, &mut dh);
            let dw2 = product(Matrix::dense(&activated, d_ff).t(), dy);
            let dh_rows = Matrix::dense(&dh, d_ff);
            set_product(dx, d_model, 1.0, dh_rows, Matrix::dense(w1, d_ff).t());
            let dw1 = product(Matrix::dense(x, d_model).t(), dh_rows);
            [dw1, column_sums(&dh, d_ff), dw2]
        });
    };
    // SAFETY: `dx`, `x` and `dy` have `rows * d_model` elements and `h` has `rows * d_ff`, so there are as many chunks of each;
    // the product of the rows of `dh` with the transposed W₁, `[d_ff, d_model]`, is all of a chunk of `dx`.
    let dx = unsafe { initialized(x.len(), write) };
    let [w1, b1, w2] = sums;
    Gradients {
        x: dx,
        w1,
        b1,
        w2,
        b2: column_sums(dy, d_model),
    }
}

/// Replaces every element by its GELU.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn activate(h: &mut [f32]) {
    for i in 0..h.len() {
        h[i] = gelu(h[i]).0;
    }
}

/// Replaces every element of `h` by its GELU, and multiplies `gradient` by the slope of the GELU
/// there.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn activate_backward(h: &mut [f32], gradient: &mut [f32]) {
    let gradient = &mut gradient[..h.len()];
    for i in 0..h.len() {
        let (value, slope) = gelu(h[i]);
        h[i] = value;
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
    }
}
