//! `y = x W + b` for every row of `x`, and its gradients; of `x` as it is, or normalized.

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;
use pe_burn::autodiff::{Operand, Operation, apply};
use pe_burn::threads;

use super::few::{self, FEW};
use super::layer_norm::{Read, Rows};
use super::products::{
    Matrix, New, add_product, column_sums, initialized, products_of_chunks, rows_at_a_time,
    rows_per_chunk, set_product, sums_of,
};
use super::{contiguous, elements, tensor};

/// As [`plain::linear`](crate::plain::linear): `x` is `[batch, seq, inputs]`, `weight` is
/// `[inputs, outputs]`, `bias` is `[outputs]`.
pub fn linear(x: Tensor<3>, weight: Tensor<2>, bias: Tensor<1>) -> Tensor<3> {
    let shape = [x.dims()[0], x.dims()[1], bias.dims()[0]];
    let inputs = [Operand::of(x), Operand::of(weight), Operand::of(bias)];
    apply(inputs, |inputs| {
        let [x, weights @ ..] = inputs.map(contiguous);
        run(Read::plain(x), weights, shape)
    })
    .tensor()
}

/// [`linear`] of the normalization of `x` by γ, β and ε.
pub fn normed_linear(
    x: Tensor<3>,
    (gamma, beta, epsilon): (Tensor<1>, Tensor<1>, f64),
    weight: Tensor<2>,
    bias: Tensor<1>,
) -> Tensor<3> {
    let shape = [x.dims()[0], x.dims()[1], bias.dims()[0]];
    let [gamma, beta, bias] = [gamma, beta, bias].map(Operand::of);
    let inputs = [Operand::of(x), gamma, beta, Operand::of(weight), bias];
    apply(inputs, |inputs| {
        let [x, gamma, beta, weights @ ..] = inputs.map(contiguous);
        run(Read::normalized(x, gamma, beta, epsilon), weights, shape)
    })
    .tensor()
}

/// The output, of this shape, and what the backward pass needs.
fn run(read: Read, weights: [FlexTensor; 2], shape: [usize; 3]) -> (FlexTensor, Linear) {
    let [weight, bias] = weights.each_ref().map(elements);
    let y = forward(read.rows(), weight, bias);
    (tensor(y, shape), Linear { read, weights })
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct Linear {
    read: Read,
    /// W, b.
    weights: [FlexTensor; 2],
}

/// The inputs are `x`, γ and β where `x` is normalized, the weight and the bias.
impl<const N: usize> Operation<Flex, N> for Linear {
    fn backward(self, dy: FlexTensor) -> [FlexTensor; N] {
        let Self { read, weights } = self;
        let dy = contiguous(dy);
        let [weight, bias] = weights.each_ref().map(elements);
        let (of_read, of_weights) = backward(read.rows(), weight, bias.len(), elements(&dy));
        read.gradients(of_read, of_weights, &weights)
    }
}

/// `y`, `[rows, outputs]`, from `x`, `[rows, inputs]`, and `weight`, `[inputs, outputs]`.
fn forward(x: Rows, weight: &[f32], bias: &[f32]) -> Vec<f32> {
    let outputs = bias.len();
    let inputs = weight.len() / outputs;
    let rows = x.len() / inputs;
    let some = rows_at_a_time(rows, inputs.max(outputs), 0);
    assert_eq!(x.len(), rows * inputs, "whole rows of x");
    let write = |y: New<'_>| {
        if rows <= FEW {
            few::affine(y, &x.read(), weight, bias);
            return;
        }
        let chunks = y.chunks_mut(some * outputs).zip(x.chunks(some * inputs));
        threads::for_each(chunks, |(y, x)| {
            affine(y, &x.read(), weight, bias);
        });
    };
    // SAFETY: `x` has `rows * inputs` elements, so there is a chunk of it for each chunk of `y`, and each `affine` initializes
    // all that it is given.
    unsafe { initialized(rows * outputs, write) }
}

/// Writes `x W + b` to `y`, and returns `y` as initialized.
///
/// # Panics
///
/// When `y` has no whole rows, and when `x` and W do not fit to them.
pub fn affine<'a>(y: New<'a>, x: &[f32], weight: &[f32], bias: &[f32]) -> &'a mut [f32] {
    for row in y.chunks_exact_mut(bias.len()) {
        row.write_copy_of_slice(bias);
    }
    assert!(y.len().is_multiple_of(bias.len()));
    // SAFETY: the loop wrote every row of `bias.len()` elements, and `y` is a multiple of them.
    let y = unsafe { y.assume_init_mut() };
    let inputs = weight.len() / bias.len();
    add_product(
        y,
        Matrix::dense(x, inputs),
        Matrix::dense(weight, bias.len()),
    );
    y
}

/// The gradients of `x`, and of γ and β where it is normalized; and those of W and b. From `dy`, that of the output.
fn backward(x: Rows, weight: &[f32], outputs: usize, dy: &[f32]) -> ([Vec<f32>; 2], [Vec<f32>; 2]) {
    let inputs = weight.len() / outputs;
    let rows = x.len() / inputs;
    let chunk = rows_per_chunk(rows);
    let (mut dw, mut norm) = (Vec::new(), Vec::new());
    let sizes = [weight.len(), x.len(), dy.len()];
    assert_eq!(
        sizes,
        [inputs * outputs, rows * inputs, rows * outputs],
        "whole rows"
    );
    let write = |dx: New<'_>| {
        let lens = [weight.len(), x.sums()];
        let some = rows_at_a_time(rows, inputs.max(outputs), lens.iter().sum());
        let chunks = dx
            .chunks_mut(some * inputs)
            .zip(x.chunks(some * inputs))
            .zip(dy.chunks(some * outputs));
        [dw, norm] = sums_of(chunks, lens, |((dx, x), dy)| {
            let weight = Matrix::dense(weight, outputs).t();
            let write =
                |of: New<'_>| set_product(of, inputs, 1.0, Matrix::dense(dy, outputs), weight);
            // SAFETY: `dx` has as many elements as the rows of `x`, and the product is all of them.
            let (read, norms) = unsafe { x.backward(dx, chunk * inputs, write) };
            let dw = products_of_chunks(chunk, (&read, inputs), (dy, outputs));
            dw.zip(norms).map(|(dw, norm)| [dw, norm]).collect()
        });
    };
    // SAFETY: `x` has `rows * inputs` elements and `dy` has `rows * outputs`, so a piece of `dx` and its piece of `dy` have
    // the same rows, and the product of that with the transposed W, `[outputs, inputs]`, is as long as the first.
    let dx = unsafe { initialized(x.len(), write) };
    ([dx, norm], [dw, column_sums(dy, outputs)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::compare;
    use burn::tensor::Device;

    #[test]
    fn output_and_gradients_are_those_of_burns_operations() {
        compare::linear(&Device::flex().autodiff(), linear);
        compare::normed_linear(&Device::flex().autodiff(), normed_linear);
    }
}
