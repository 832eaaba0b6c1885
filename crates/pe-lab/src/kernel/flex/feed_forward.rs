//! The position-wise feed-forward part `gelu(x W₁ + b₁) W₂ + b₂` (Vaswani et al. 2017, section 3.3,
//! with the activation of Hendrycks and Gimpel 2016), and its gradients.
//!
//! A block of rows goes through both layers while it is in the cache. What is kept for the way back
//! is `h = x W₁ + b₁`: the activation is cheaper to take again than to fetch.

use multiversion::multiversion;
use rayon::prelude::*;

use super::linear::{affine, transposed_product};
use super::math::gelu;
use super::products::{Matrix, column_sums, rows_at_a_time, set_product, total, written};

/// The weights: `[d_model, d_ff]`, `[d_ff]`, `[d_ff, d_model]`, `[d_model]`.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    pub w1: &'a [f32],
    pub b1: &'a [f32],
    pub w2: &'a [f32],
    pub b2: &'a [f32],
}

/// The result for `x`, `[rows, d_model]`, and `h`, `[rows, d_ff]`.
pub fn forward(x: &[f32], weights: Weights) -> (Vec<f32>, Vec<f32>) {
    let Weights { w1, b1, w2, b2 } = weights;
    let (d_model, d_ff) = (b2.len(), b1.len());
    let rows = x.len() / d_model;
    let chunk = rows_at_a_time(rows);
    let mut h = Vec::new();
    // SAFETY: the chunks cover both targets, and `affine` initializes each.
    let y = unsafe {
        written(x.len(), |y| {
            h = written(rows * d_ff, |h| {
                y.par_chunks_mut(chunk * d_model)
                    .zip(h.par_chunks_mut(chunk * d_ff))
                    .zip(x.par_chunks(chunk * d_model))
                    .for_each(|((y, h), x)| {
                        let mut activated = affine(h, x, w1, b1).to_vec();
                        activate(&mut activated);
                        affine(y, &activated, w2, b2);
                    });
            });
        })
    };
    (y, h)
}

/// The gradients of a loss with respect to x and the weights.
pub struct Gradients {
    pub x: Vec<f32>,
    pub w1: Vec<f32>,
    pub b1: Vec<f32>,
    pub w2: Vec<f32>,
    pub b2: Vec<f32>,
}

/// The gradients, from that with respect to the result.
pub fn backward(x: &[f32], weights: Weights, h: &[f32], dy: &[f32]) -> Gradients {
    let Weights { w1, b1, w2, b2 } = weights;
    let (d_model, d_ff) = (b2.len(), b1.len());
    let rows = x.len() / d_model;
    let chunk = rows_at_a_time(rows);
    let mut parts: Vec<[Vec<f32>; 3]> = Vec::new();
    // SAFETY: the chunks cover the target, and `set_product` initializes each.
    let dx = unsafe {
        written(x.len(), |dx| {
            dx.par_chunks_mut(chunk * d_model)
                .zip(x.par_chunks(chunk * d_model))
                .zip(h.par_chunks(chunk * d_ff))
                .zip(dy.par_chunks(chunk * d_model))
                .map(|(((dx, x), h), dy)| {
                    let dy = Matrix::dense(dy, d_model);
                    let mut dh = written(h.len(), |dh| {
                        set_product(dh, d_ff, 1.0, dy, Matrix::dense(w2, d_model).t());
                    });
                    let mut activated = h.to_vec();
                    activate_back(&mut activated, &mut dh);
                    let dw2 = transposed_product(&activated, d_ff, dy, d_model);
                    let dh_rows = Matrix::dense(&dh, d_ff);
                    set_product(dx, d_model, 1.0, dh_rows, Matrix::dense(w1, d_ff).t());
                    let dw1 = transposed_product(x, d_model, dh_rows, d_ff);
                    [dw1, column_sums(&dh, d_ff), dw2]
                })
                .collect_into_vec(&mut parts);
        })
    };
    let [w1, b1, w2] =
        [0, 1, 2].map(|i| total(parts.iter_mut().map(|part| std::mem::take(&mut part[i]))));
    Gradients {
        x: dx,
        w1,
        b1,
        w2,
        b2: column_sums(dy, d_model),
    }
}

/// Replaces every number by its activation.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn activate(h: &mut [f32]) {
    for i in 0..h.len() {
        h[i] = gelu(h[i]).0;
    }
}

/// Replaces every number by its activation, and multiplies a gradient by the slope there.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn activate_back(h: &mut [f32], gradient: &mut [f32]) {
    let gradient = &mut gradient[..h.len()];
    for i in 0..h.len() {
        let (value, slope) = gelu(h[i]);
        h[i] = value;
        gradient[i] *= slope;
    }
}
