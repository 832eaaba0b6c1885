//! PoPE's columns in one pass: the softplus of each number, times a cosine and times a sine.

use alloc::vec;
use core::mem::MaybeUninit;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;
use multiversion::multiversion;

use super::matrix::{Matrix, in_rows};
use super::units::{for_each, parts_of, summed, units};
use super::{filled_by, tensor};
use crate::backend::autodiff::{Operand, Operation, apply};
use crate::backend::exp::{exp, sigmoid};

/// About how much work one number takes, in multiplications.
const WORK: usize = 32;

/// Every column as a length in a direction: `softplus(x) cos` in the first half, `softplus(x) sin` in the second.
///
/// # Shapes
///
/// - `x`: `[batch, heads, seq, d]`
/// - cosines and sines: `[1, 1 or heads, seq, d]`
/// - output: `[batch, heads, seq, 2 · d]`
///
/// Nothing is empty.
pub(crate) fn polar(x: Tensor<4>, directions: [Tensor<4>; 2]) -> Tensor<4> {
    let shape = x.dims();
    let [cos, sin] = directions.map(Operand::of);
    let learns = [&cos, &sin]
        .iter()
        .any(|table| matches!(table, Operand::Tracked(table) if table.is_tracked()));
    apply(
        [Operand::of(x), cos, sin],
        |[x, cos, sin]: [FlexTensor; 3]| {
            let kept = Polar {
                shape,
                x: in_rows(x),
                directions: [cos, sin].map(|table| table.to_contiguous()),
                learns,
            };
            (kept.columns(), kept)
        },
    )
    .tensor()
}

#[derive(Clone, Debug)]
struct Polar {
    /// `[batch, heads, seq, d]`.
    shape: [usize; 4],
    x: FlexTensor,
    /// Cosines and sines.
    directions: [FlexTensor; 2],
    /// Whether the cosines and sines need a gradient.
    learns: bool,
}

impl Polar {
    fn work(&self) -> usize {
        WORK * self.shape.iter().product::<usize>()
    }

    /// The cosines and sines of a head.
    fn directions(&self, head: usize) -> [&[f32]; 2] {
        let [_, _, seq, d] = self.shape;
        self.directions.each_ref().map(|table| {
            let all = table.as_slice::<f32>().expect("contiguous");
            &all[head * seq * d % all.len()..][..seq * d]
        })
    }

    fn columns(&self) -> FlexTensor {
        let [batch, heads, seq, d] = self.shape;
        let write = |out: &mut [MaybeUninit<f32>]| {
            for_each(units([batch, heads], [out]), self.work(), |unit| {
                let [out] = &mut unit.memory;
                let x = Matrix::of_head(&self.x, unit.of);
                let [cos, sin] = self.directions(unit.of[1]);
                for (token, out) in out.chunks_exact_mut(2 * d).enumerate() {
                    let at = token * d..(token + 1) * d;
                    write_row(out, x.row(token), &cos[at.clone()], &sin[at]);
                }
            });
        };
        // SAFETY: the units are all of the memory, and `write_row` writes each row.
        unsafe { filled_by([batch, heads, seq, 2 * d], write) }
    }
}

impl Operation<Flex, 3> for Polar {
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 3] {
        let [batch, heads, seq, d] = self.shape;
        let gradient = in_rows(gradient);
        let mut of_x = vec![0.0_f32; batch * heads * seq * d];
        let units = units([batch, heads], [&mut of_x[..]]);
        let lens = [if self.learns { seq * d } else { 0 }; 2];
        let parts = parts_of(units, self.work(), lens, |unit, of_directions| {
            let [of_x] = &mut unit.memory;
            let (x, gradient) = (
                Matrix::of_head(&self.x, unit.of),
                Matrix::of_head(&gradient, unit.of),
            );
            let [cos, sin] = self.directions(unit.of[1]);
            for (token, of_x) in of_x.chunks_exact_mut(d).enumerate() {
                let at = token * d..(token + 1) * d;
                let (x, gradient) = (x.row(token), gradient.row(token));
                write_gradient(of_x, x, gradient, &cos[at.clone()], &sin[at.clone()]);
                if self.learns {
                    let of_directions = of_directions.each_mut();
                    add_row(of_directions.map(|all| &mut all[at.clone()]), x, gradient);
                }
            }
        });
        let of_directions = [0, 1].map(|which| {
            let table = &self.directions[which];
            match self.learns {
                true => {
                    let [_, tables, ..] = table.layout().shape().dims::<4>();
                    tensor(summed(&parts, which, tables), [1, tables, seq, d])
                }
                // These tables need no gradient, so nothing reads what is returned here.
                false => table.clone(),
            }
        });
        let [of_cos, of_sin] = of_directions;
        [tensor(of_x, [batch, heads, seq, d]), of_cos, of_sin]
    }
}

/// `softplus(x) = ln(1 + e^x)`, and its slope, `σ(x)`. The softplus has a relative error below 4e-7, and is 0 below −87.
///
/// `max(x, 0) + ln(1 + e^−|x|)`, where `ln(1 + u)` is 2 artanh(u / (2 + u)), by its Taylor series up to degree 17.
#[inline(always)]
fn softplus(x: f32) -> [f32; 2] {
    let small = exp(-x.abs());
    let s = small / (2.0 + small);
    let square = s * s;
    let mut series = 1.0 / 17.0;
    series = series * square + 1.0 / 15.0;
    series = series * square + 1.0 / 13.0;
    series = series * square + 1.0 / 11.0;
    series = series * square + 1.0 / 9.0;
    series = series * square + 1.0 / 7.0;
    series = series * square + 1.0 / 5.0;
    series = series * square + 1.0 / 3.0;
    series = series * square + 1.0;
    let positive = if x < 0.0 { 0.0 } else { x };
    [positive + 2.0 * s * series, sigmoid(x)]
}

/// Writes a row of the output: the cosine columns, then the sine columns.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn write_row(out: &mut [MaybeUninit<f32>], x: &[f32], cos: &[f32], sin: &[f32]) {
    let (of_cos, of_sin) = out.split_at_mut(x.len());
    let (of_sin, cos, sin) = (&mut of_sin[..x.len()], &cos[..x.len()], &sin[..x.len()]);
    for c in 0..x.len() {
        let [length, _] = softplus(x[c]);
        of_cos[c].write(length * cos[c]);
        of_sin[c].write(length * sin[c]);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn write_gradient(of_x: &mut [f32], x: &[f32], gradient: &[f32], cos: &[f32], sin: &[f32]) {
    let (of_cos, of_sin) = gradient.split_at(x.len());
    let (of_x, of_sin) = (&mut of_x[..x.len()], &of_sin[..x.len()]);
    let (cos, sin) = (&cos[..x.len()], &sin[..x.len()]);
    for c in 0..x.len() {
        let [_, slope] = softplus(x[c]);
        of_x[c] = slope * (of_cos[c] * cos[c] + of_sin[c] * sin[c]);
    }
}

/// Adds a token's gradients to those of the cosines and sines.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn add_row(of_directions: [&mut [f32]; 2], x: &[f32], gradient: &[f32]) {
    let [cos, sin] = of_directions;
    let (of_cos, of_sin) = gradient.split_at(x.len());
    let (cos, sin, of_sin) = (&mut cos[..x.len()], &mut sin[..x.len()], &of_sin[..x.len()]);
    for c in 0..x.len() {
        let [length, _] = softplus(x[c]);
        cos[c] += length * of_cos[c];
        sin[c] += length * of_sin[c];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softplus_has_the_stated_relative_error() {
        for i in -86_000..=100_000 {
            let x = i as f32 / 1_000.0;
            let wide = f64::from(x);
            let exact = wide.max(0.0) + libm::log1p(libm::exp(-wide.abs()));
            let [found, slope] = softplus(x).map(f64::from);
            assert!((found - exact).abs() < 4e-7 * exact, "{x}: {found} {exact}");
            let of_exact = 1.0 / (1.0 + libm::exp(-wide));
            assert!((slope - of_exact).abs() < 4e-7 * of_exact, "{x}: {slope}");
        }
        assert_eq!(softplus(-1e30), [0.0, 0.0]);
        assert_eq!(softplus(1e30), [1e30, 1.0]);
        assert!(softplus(f32::NAN).iter().all(|x| x.is_nan()));
    }
}
