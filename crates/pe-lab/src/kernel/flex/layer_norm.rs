//! Layer normalization `γ (x − mean) / √(variance + ε) + β` over each row (Ba et al. 2016), and its
//! gradients.

use std::mem::MaybeUninit;

use multiversion::multiversion;
use rayon::prelude::*;

use super::math::sum;
use super::products::{rows_at_a_time, total, written};

/// The normalized rows of `x`, each as long as `gamma`.
pub fn forward(x: &[f32], gamma: &[f32], beta: &[f32], epsilon: f32) -> Vec<f32> {
    let chunk = rows_at_a_time(x.len() / gamma.len()) * gamma.len();
    // SAFETY: the chunks cover the target, and `normalize` initializes each.
    unsafe {
        written(x.len(), |y| {
            y.par_chunks_mut(chunk)
                .zip(x.par_chunks(chunk))
                .for_each(|(y, x)| normalize(y, x, gamma, beta, epsilon));
        })
    }
}

/// The gradients of a loss with respect to x, γ and β.
pub struct Gradients {
    pub x: Vec<f32>,
    pub gamma: Vec<f32>,
    pub beta: Vec<f32>,
}

/// The gradients, from that with respect to the normalized rows.
pub fn backward(x: &[f32], gamma: &[f32], epsilon: f32, dy: &[f32]) -> Gradients {
    let width = gamma.len();
    let chunk = rows_at_a_time(x.len() / width) * width;
    let mut parts: Vec<Vec<f32>> = Vec::new();
    // SAFETY: the chunks cover the target, and `normalize_back` initializes each.
    let dx = unsafe {
        written(x.len(), |dx| {
            dx.par_chunks_mut(chunk)
                .zip(x.par_chunks(chunk))
                .zip(dy.par_chunks(chunk))
                .map(|((dx, x), dy)| {
                    let mut sums = vec![0.0; 2 * width];
                    normalize_back(dx, x, gamma, epsilon, dy, &mut sums);
                    sums
                })
                .collect_into_vec(&mut parts);
        })
    };
    let mut gamma = total(parts);
    let beta = gamma.split_off(width);
    Gradients { x: dx, gamma, beta }
}

/// The mean of a row and one by its standard deviation.
#[inline(always)]
fn moments(row: &[f32], epsilon: f32) -> (f32, f32) {
    let n = row.len() as f32;
    let mean = sum(row.len(), |i| row[i]) / n;
    let variance = sum(row.len(), |i| (row[i] - mean) * (row[i] - mean)) / n;
    (mean, 1.0 / (variance + epsilon).sqrt())
}

#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn normalize(y: &mut [MaybeUninit<f32>], x: &[f32], gamma: &[f32], beta: &[f32], epsilon: f32) {
    let width = gamma.len();
    let beta = &beta[..width];
    let mut start = 0;
    while start < x.len() {
        let (x, y) = (&x[start..start + width], &mut y[start..start + width]);
        let (mean, scale) = moments(x, epsilon);
        for i in 0..width {
            y[i].write((x[i] - mean) * scale * gamma[i] + beta[i]);
        }
        start += width;
    }
}

/// Writes dx, and adds to the sums of dγ and dβ, which lie one after the other.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn normalize_back(
    dx: &mut [MaybeUninit<f32>],
    x: &[f32],
    gamma: &[f32],
    epsilon: f32,
    dy: &[f32],
    sums: &mut [f32],
) {
    let width = gamma.len();
    let n = width as f32;
    let (dgamma, dbeta) = sums.split_at_mut(width);
    let (dgamma, dbeta) = (&mut dgamma[..width], &mut dbeta[..width]);
    let mut start = 0;
    while start < x.len() {
        let (x, dy) = (&x[start..start + width], &dy[start..start + width]);
        let dx = &mut dx[start..start + width];
        let (mean, scale) = moments(x, epsilon);
        let along_ones = sum(width, |i| dy[i] * gamma[i]) / n;
        let along_x = sum(width, |i| dy[i] * gamma[i] * (x[i] - mean)) * scale / n;
        for i in 0..width {
            let unit = (x[i] - mean) * scale;
            dgamma[i] += dy[i] * unit;
            dbeta[i] += dy[i];
            dx[i].write((dy[i] * gamma[i] - along_ones - unit * along_x) * scale);
        }
        start += width;
    }
}
