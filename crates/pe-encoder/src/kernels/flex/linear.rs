//! `y = x W + b` for every row of `x`, and its gradients.

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;
use pe_burn::autodiff::{Operand, Operation, apply};
use rayon::prelude::*;

use super::products::{
    Matrix, New, add_product, column_sums, initialized, product, rows_per_chunk, set_product,
    sums_of,
};
use super::{contiguous, elements, tensor, tensor_like};

/// As [`plain::linear`](crate::plain::linear): `x` is `[batch, seq, inputs]`, `weight` is
/// `[inputs, outputs]`, `bias` is `[outputs]`.
pub fn linear(x: Tensor<3>, weight: Tensor<2>, bias: Tensor<1>) -> Tensor<3> {
    let [batch, seq, _] = x.dims();
    let [_, outputs] = weight.dims();
    let inputs = [Operand::of(x), Operand::of(weight), Operand::of(bias)];
    apply(inputs, |inputs| {
        let [x, weight, bias] = inputs.map(contiguous);
        let y = forward(elements(&x), elements(&weight), elements(&bias));
        (tensor(y, [batch, seq, outputs]), Linear { x, weight, bias })
    })
    .tensor()
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct Linear {
    x: FlexTensor,
    weight: FlexTensor,
    bias: FlexTensor,
}

impl Operation<Flex, 3> for Linear {
    fn backward(self, dy: FlexTensor) -> [FlexTensor; 3] {
        let Self { x, weight, bias } = self;
        let dy = contiguous(dy);
        let outputs = elements(&bias).len();
        let gradients = backward(elements(&x), elements(&weight), outputs, elements(&dy));
        [
            tensor_like(gradients.x, &x),
            tensor_like(gradients.weight, &weight),
            tensor_like(gradients.bias, &bias),
        ]
    }
}

/// `y`, `[rows, outputs]`, from `x`, `[rows, inputs]`, and `weight`, `[inputs, outputs]`.
fn forward(x: &[f32], weight: &[f32], bias: &[f32]) -> Vec<f32> {
    let outputs = bias.len();
    let inputs = weight.len() / outputs;
    let rows = x.len() / inputs;
    let chunk = rows_per_chunk(rows);
    assert_eq!(x.len(), rows * inputs, "whole rows of x");
    let write = |y: New<'_>| {
        y.par_chunks_mut(chunk * outputs)
            .zip(x.par_chunks(chunk * inputs))
            .for_each(|(y, x)| {
                affine(y, x, weight, bias);
            });
    };
    // SAFETY: `x` has `rows * inputs` elements, so there is a chunk of it for each chunk of `y`, and `affine` initializes
    // all of that.
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

/// The gradients with respect to `x`, W and b.
struct Gradients {
    x: Vec<f32>,
    weight: Vec<f32>,
    bias: Vec<f32>,
}

/// The gradients of the inputs, from `dy`, the gradient of the output.
fn backward(x: &[f32], weight: &[f32], outputs: usize, dy: &[f32]) -> Gradients {
    let inputs = weight.len() / outputs;
    let rows = x.len() / inputs;
    let chunk = rows_per_chunk(rows);
    let mut dw = Vec::new();
    let sizes = [weight.len(), x.len(), dy.len()];
    assert_eq!(
        sizes,
        [inputs * outputs, rows * inputs, rows * outputs],
        "whole rows"
    );
    let write = |dx: New<'_>| {
        let chunks = dx
            .chunks_mut(chunk * inputs)
            .zip(x.chunks(chunk * inputs))
            .zip(dy.chunks(chunk * outputs));
        [dw] = sums_of(chunks, [weight.len()], |((dx, x), dy)| {
            let dy = Matrix::dense(dy, outputs);
            set_product(dx, inputs, 1.0, dy, Matrix::dense(weight, outputs).t());
            [product(Matrix::dense(x, inputs).t(), dy)]
        });
    };
    // SAFETY: `x` has `rows * inputs` elements and `dy` has `rows * outputs`, so a chunk of `dx` and its chunk of `dy` have
    // the same rows, and the product of that with the transposed W, `[outputs, inputs]`, is all of the first.
    let dx = unsafe { initialized(x.len(), write) };
    Gradients {
        x: dx,
        weight: dw,
        bias: column_sums(dy, outputs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::compare;
    use burn::tensor::Device;

    #[test]
    fn output_and_gradients_are_those_of_burns_operations() {
        compare::linear(&Device::flex().autodiff(), linear);
    }
}
