//! `y = x W + b` for every row of `x`, and its gradients.

use std::mem::MaybeUninit;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;
use pe_burn::autodiff::{Operand, Operation, apply};
use rayon::prelude::*;

use super::products::{
    Matrix, add_product, column_sums, initialized, rows_per_chunk, set_product, sum_of,
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
    // SAFETY: the chunks cover the whole target, and `affine` initializes each.
    unsafe {
        initialized(rows * outputs, |y| {
            y.par_chunks_mut(chunk * outputs)
                .zip(x.par_chunks(chunk * inputs))
                .for_each(|(y, x)| {
                    affine(y, x, weight, bias);
                });
        })
    }
}

/// Writes `x W + b` to `y`, and returns `y` as initialized.
pub fn affine<'a>(
    y: &'a mut [MaybeUninit<f32>],
    x: &[f32],
    weight: &[f32],
    bias: &[f32],
) -> &'a mut [f32] {
    for row in y.chunks_exact_mut(bias.len()) {
        row.write_copy_of_slice(bias);
    }
    assert!(y.len().is_multiple_of(bias.len()));
    // SAFETY: the loop wrote every row, and the rows are all of `y`.
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
    let mut parts = Vec::new();
    // SAFETY: the chunks cover the whole target, and `set_product` initializes each.
    let dx = unsafe {
        initialized(x.len(), |dx| {
            dx.par_chunks_mut(chunk * inputs)
                .zip(x.par_chunks(chunk * inputs))
                .zip(dy.par_chunks(chunk * outputs))
                .map(|((dx, x), dy)| {
                    let dy = Matrix::dense(dy, outputs);
                    set_product(dx, inputs, 1.0, dy, Matrix::dense(weight, outputs).t());
                    transposed_product(x, inputs, dy, outputs)
                })
                .collect_into_vec(&mut parts);
        })
    };
    Gradients {
        x: dx,
        weight: sum_of(parts),
        bias: column_sums(dy, outputs),
    }
}

/// `xᵀ dy`: what some rows contribute to the gradient of a weight.
pub fn transposed_product(x: &[f32], inputs: usize, dy: Matrix, outputs: usize) -> Vec<f32> {
    // SAFETY: a product initializes its whole target.
    unsafe {
        initialized(inputs * outputs, |out| {
            set_product(out, outputs, 1.0, Matrix::dense(x, inputs).t(), dy);
        })
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
