//! `x W + b` for a few rows of `x`, as in decoding.
//!
//! It takes as long as reading W. So all threads read it, each some of its rows, from the first column to the last.

use multiversion::multiversion;

use super::products::{New, each};

/// The most rows of `x` that go this way. Beyond it a matrix product that keeps blocks in the cache is faster.
pub const FEW: usize = 8;

/// The fewest elements of a part of W. To read a part takes about as long as to wake a thread.
const PART: usize = 1 << 16;

/// Writes `x W + b` to `y`, and returns `y` as initialized.
///
/// The number of parts that W is cut into does not depend on the number of threads. Products are added in the order of
/// the parts.
///
/// # Panics
///
/// When `y` has no whole rows, and when `x` and W do not fit to them.
pub fn affine<'a>(y: New<'a>, x: &[f32], weight: &[f32], bias: &[f32]) -> &'a mut [f32] {
    let outputs = bias.len();
    let inputs = weight.len() / outputs;
    let rows = y.len() / outputs;
    let sizes = [y.len(), x.len(), weight.len()];
    let expected = [rows * outputs, rows * inputs, inputs * outputs];
    assert_eq!(sizes, expected, "whole rows");
    for row in y.chunks_exact_mut(outputs) {
        row.write_copy_of_slice(bias);
    }
    // SAFETY: the loop wrote every row of `outputs` elements, and `y` has no others.
    let y = unsafe { y.assume_init_mut() };
    let part = inputs.div_ceil(parts_of(weight.len()));
    if part == inputs {
        add_product(y, outputs, x, 0, weight);
        return y;
    }
    let parts = weight.chunks(part * outputs).enumerate();
    let sums = each(parts, |(nth, weight)| {
        let mut sum = vec![0.0; rows * outputs];
        add_product(&mut sum, outputs, x, nth * part, weight);
        sum
    });
    for sum in &sums {
        y.iter_mut().zip(sum).for_each(|(y, x)| *y += x);
    }
    y
}

/// The number of parts for `len` elements: a power of two up to eight.
fn parts_of(len: usize) -> usize {
    1 << (len / PART).clamp(1, 8).ilog2()
}

/// Adds the product of some rows of W with as many columns of `x`, from column `first` on, to the rows of `y`. Four rows
/// of W are read at a time, so that `y` is read and written less often.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn add_product(y: &mut [f32], outputs: usize, x: &[f32], first: usize, weight: &[f32]) {
    let rows = y.len() / outputs;
    let inputs = x.len() / rows;
    let count = weight.len() / outputs;
    let fours = count / 4 * 4;
    for i in (0..fours).step_by(4) {
        let of = |nth: usize| &weight[(i + nth) * outputs..][..outputs];
        let (w0, w1, w2, w3) = (of(0), of(1), of(2), of(3));
        for row in 0..rows {
            let x = &x[row * inputs + first + i..][..4];
            let (x0, x1, x2, x3) = (x[0], x[1], x[2], x[3]);
            let y = &mut y[row * outputs..][..outputs];
            for j in 0..outputs {
                y[j] = y[j] + x0 * w0[j] + x1 * w1[j] + x2 * w2[j] + x3 * w3[j];
            }
        }
    }
    for i in fours..count {
        let w = &weight[i * outputs..][..outputs];
        for row in 0..rows {
            let x = x[row * inputs + first + i];
            let y = &mut y[row * outputs..][..outputs];
            for j in 0..outputs {
                y[j] += x * w[j];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::products::initialized;
    use super::*;

    /// Sizes of one part and of eight, which do not divide them, and rows of W that are no multiple of four.
    #[test]
    fn it_is_the_sum_of_the_products() {
        for (rows, inputs, outputs) in [(1, 1, 1), (1, 7, 5), (3, 383, 700), (8, 1_001, 600)] {
            let of = |n: usize, by: usize| (0..n).map(move |i| (i * by % 17) as f32 - 8.0);
            let x: Vec<f32> = of(rows * inputs, 5).collect();
            let weight: Vec<f32> = of(inputs * outputs, 7).collect();
            let bias: Vec<f32> = of(outputs, 3).collect();
            let write = |y: New<'_>| {
                affine(y, &x, &weight, &bias);
            };
            // SAFETY: `affine` initializes all of `y`.
            let y = unsafe { initialized(rows * outputs, write) };
            for (at, y) in y.iter().enumerate() {
                let (row, column) = (at / outputs, at % outputs);
                // Whole numbers, which have no rounding error.
                let terms = (0..inputs).map(|i| x[row * inputs + i] * weight[i * outputs + column]);
                assert_eq!(*y, bias[column] + terms.sum::<f32>(), "{rows} × {inputs}");
            }
        }
    }

    #[test]
    fn a_weight_that_is_soon_read_is_one_part() {
        let cases = [(0, 1), (PART, 1), (147_456, 2), (442_368, 4), (589_824, 8)];
        for (len, parts) in cases {
            assert_eq!(parts_of(len), parts, "{len} elements");
        }
    }
}
