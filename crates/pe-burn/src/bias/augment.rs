//! A bias that is the sum of a number of the query and a number of the key, as extra columns of both.
//!
//! ```text
//! −m (i − j) = (−m i) · 1 + m · j                 ALiBi
//! c_i − c_j  = c_i · 1 + 1 · (−c_j)               forget gates
//! ```
//!
//! With two more columns each, the product of a query and a key includes this bias.
//!
//! A number of half precision has only 11 or 8 bits. The bias then takes more columns: the rounded value of a number, the
//! rounded rest, and so on.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};

use super::distances::on_a_line;
use crate::error::{PositionError, check_size, check_width};
use crate::positions::Lookup;
use crate::tensor::{cast, check_device, compute_dtype};

/// The width is made a multiple of this, which fast attention kernels ask for.
const STEP: usize = 16;

/// Positions are divided by this before they become columns, and slopes are multiplied by it: both then stay
/// in the range of `f16`.
const UNIT: f64 = 2048.0;

/// The largest number of `f16`.
const MOST: f64 = 65_504.0;

/// How many columns of a type stand for one number.
fn parts(dtype: FloatDType) -> usize {
    match dtype {
        FloatDType::F16 => 2,
        FloatDType::BF16 => 3,
        _ => 1,
    }
}

/// The parts of numbers, the largest first: their sum has at least 22 bits.
fn split(numbers: Tensor<4>, dtype: FloatDType) -> Vec<Tensor<4>> {
    let wide = numbers.dtype().into();
    let mut rest = numbers;
    let mut all = Vec::new();
    for _ in 0..parts(dtype) {
        let part = rounded(rest.clone(), dtype);
        rest = rest - cast(part.clone(), wide);
        all.push(part);
    }
    all
}

/// The number rounded to `dtype`, also where Burn fuses the cast into a larger kernel.
fn rounded(x: Tensor<4>, dtype: FloatDType) -> Tensor<4> {
    let part = cast(x, dtype);
    #[cfg(feature = "cube")]
    if parts(dtype) > 1 && crate::backend::cube::supports(&part) {
        return crate::backend::cube::stored(part);
    }
    part
}

/// Refuses queries and keys without columns, of different widths or types, or on another device.
pub(crate) fn check_sides(
    q: &Tensor<4>,
    k: &Tensor<4>,
    device: &Device,
) -> Result<(), PositionError> {
    let ([_, _, _, d_head], [_, _, _, width]) = (q.dims(), k.dims());
    check_size("d_head", d_head)?;
    check_width("d_head", d_head, width)?;
    check_device(q, device)?;
    check_device(k, device)?;
    match q.dtype() == k.dtype() {
        true => Ok(()),
        false => Err(PositionError::config(
            "queries and keys must have one float type",
        )),
    }
}

/// Queries and keys with more columns, so that the scores of attention, which divides products by the root of the new
/// width, are those of before plus `of_queries + of_keys`.
///
/// # Shapes
///
/// - `q`, `k`: `[batch, heads, seq, d_head]`, of one float type
/// - `of_queries`, `of_keys`: `[batch, heads, seq, 1]`, in the type that sums are computed in
pub(crate) fn augment_by_sum(
    (q, of_queries): (Tensor<4>, Tensor<4>),
    (k, of_keys): (Tensor<4>, Tensor<4>),
) -> (Tensor<4>, Tensor<4>) {
    let (dtype, d_head) = (FloatDType::from(q.dtype()), q.dims()[3]);
    let parts = parts(dtype);
    let width = (d_head + 2 * parts).next_multiple_of(STEP);
    let root = libm::sqrt(width as f64);
    let columns = |numbers: Tensor<4>| split(numbers.mul_scalar(root / UNIT), dtype);
    let device = q.device().without_autodiff();
    let unit = Tensor::full([1, 1, 1, 1], UNIT, (&device, DType::from(dtype)));
    let (mut more_q, mut more_k) = (columns(of_queries), vec![unit.clone(); parts]);
    more_q.resize(2 * parts, unit);
    more_k.extend(columns(of_keys));
    let q = rescaled(q, width);
    (widened(q, more_q, width), widened(k, more_k, width))
}

/// Queries scaled so that scores stay the same when attention divides by the root of `width`, not of `d_head`.
fn rescaled(q: Tensor<4>, width: usize) -> Tensor<4> {
    let (dtype, d_head) = (FloatDType::from(q.dtype()), q.dims()[3]);
    let scale = libm::sqrt(width as f64 / d_head as f64);
    cast(cast(q, compute_dtype(dtype)).mul_scalar(scale), dtype)
}

/// Queries and keys with more columns, so that the scores of attention, which divides products by the root of the new
/// width, are those of before plus `slope · (key − query)`.
///
/// # Shapes
///
/// - `q`, `k`: `[batch, heads, seq, d_head]`, of one float type
/// - `slopes`: `[heads of q]`, in `f32`, at most 1
pub(super) fn augment(
    (q, of_q): (Tensor<4>, &Lookup),
    (k, of_k): (Tensor<4>, &Lookup),
    slopes: Tensor<1>,
) -> Result<(Tensor<4>, Tensor<4>), PositionError> {
    let device = q.device().without_autodiff();
    let (dtype, d_head) = (FloatDType::from(q.dtype()), q.dims()[3]);
    let parts = parts(dtype);
    let more = parts * (parts + 1) / 2 + parts;
    let width = (d_head + more).next_multiple_of(STEP);
    let root = libm::sqrt(width as f64);

    let (at_q, at_k) = (on_a_line(of_q)?, on_a_line(of_k)?);
    let all = || at_q.iter().chain(&at_k).copied();
    // Small numbers lose less when they are rounded.
    let origin = all().fold(f64::INFINITY, f64::min);
    if dtype == FloatDType::F16 {
        let most = MOST * UNIT / root;
        let far = all().fold(f64::NEG_INFINITY, f64::max) - origin;
        if far > most {
            let bound = format!("at most {most:.0}, the reach of f16");
            let name = "the distance of positions";
            return Err(PositionError::number(name, far, bound));
        }
    }
    let places = |at: &[f64], of: &Lookup| {
        let from_origin: Vec<f32> = at.iter().map(|place| (place - origin) as f32).collect();
        let data = TensorData::new(from_origin, [of.batch, 1, of.seq, 1]);
        Tensor::<4>::from_data(data, (&device, DType::F32))
    };
    let (i, j) = (places(&at_q, of_q), places(&at_k, of_k));

    let slopes = slopes.without_autodiff();
    let slopes = slopes.reshape([1, -1, 1, 1]).mul_scalar(root);
    let of_queries = split(-(i * slopes.clone()).div_scalar(UNIT), dtype);
    let of_keys = split(j.div_scalar(UNIT), dtype);
    let slopes = split(slopes.mul_scalar(UNIT), dtype);
    // Only the products of parts that are large enough to matter.
    let products = (0..parts).flat_map(|m| (0..parts - m).map(move |j| (m, j)));
    let (mut more_q, mut more_k): (Vec<_>, Vec<_>) = products
        .map(|(m, j)| (slopes[m].clone(), of_keys[j].clone()))
        .unzip();
    let unit = Tensor::full([1, 1, 1, 1], UNIT, (&device, DType::from(dtype)));
    more_q.extend(of_queries);
    more_k.resize(more_q.len(), unit);

    let q = rescaled(q, width);
    Ok((widened(q, more_q, width), widened(k, more_k, width)))
}

/// Queries or keys with more columns behind their own, and zeros up to a width.
fn widened(x: Tensor<4>, columns: Vec<Tensor<4>>, width: usize) -> Tensor<4> {
    let [batch, heads, seq, d_head] = x.dims();
    let (device, dtype) = (x.device().without_autodiff(), x.dtype());
    let zeros = |width| Tensor::zeros([batch, heads, seq, width], (&device, dtype));
    if batch * heads * seq == 0 {
        return zeros(width);
    }
    let left = width - d_head - columns.len();
    let columns = columns.into_iter();
    let mut all = vec![x];
    all.extend(columns.map(|column| column.expand([batch, heads, seq, 1])));
    if left > 0 {
        all.push(zeros(left));
    }
    Tensor::cat(all, 3)
}
