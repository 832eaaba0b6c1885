//! `y = x W + b` for every row, and its gradients.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::products::{
    Matrix, add_product, column_sums, rows_at_a_time, set_product, total, written,
};

/// `y`, `[rows, outputs]`, of `x`, `[rows, inputs]`, and `weight`, `[inputs, outputs]`.
pub fn forward(x: &[f32], weight: &[f32], bias: &[f32]) -> Vec<f32> {
    let outputs = bias.len();
    let inputs = weight.len() / outputs;
    let rows = x.len() / inputs;
    let chunk = rows_at_a_time(rows);
    // SAFETY: the chunks cover the target, and `affine` initializes each.
    unsafe {
        written(rows * outputs, |y| {
            y.par_chunks_mut(chunk * outputs)
                .zip(x.par_chunks(chunk * inputs))
                .for_each(|(y, x)| {
                    affine(y, x, weight, bias);
                });
        })
    }
}

/// Sets `y` to `x W + b`, and gives it back initialized.
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
    // SAFETY: the loop wrote every row.
    let y = unsafe { y.assume_init_mut() };
    let inputs = weight.len() / bias.len();
    add_product(
        y,
        Matrix::dense(x, inputs),
        Matrix::dense(weight, bias.len()),
    );
    y
}

/// The gradients of a loss with respect to x, W and b.
pub struct Gradients {
    pub x: Vec<f32>,
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
}

/// The gradients, from that with respect to `y`.
pub fn backward(x: &[f32], weight: &[f32], outputs: usize, dy: &[f32]) -> Gradients {
    let inputs = weight.len() / outputs;
    let rows = x.len() / inputs;
    let chunk = rows_at_a_time(rows);
    let mut parts = Vec::new();
    // SAFETY: the chunks cover the target, and `set_product` initializes each.
    let dx = unsafe {
        written(x.len(), |dx| {
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
        weight: total(parts),
        bias: column_sums(dy, outputs),
    }
}

/// `xᵀ dy`, the part of a weight's gradient that some rows give.
pub fn transposed_product(x: &[f32], inputs: usize, dy: Matrix, outputs: usize) -> Vec<f32> {
    // SAFETY: a product initializes all of its target.
    unsafe {
        written(inputs * outputs, |out| {
            set_product(out, outputs, 1.0, Matrix::dense(x, inputs).t(), dy);
        })
    }
}
