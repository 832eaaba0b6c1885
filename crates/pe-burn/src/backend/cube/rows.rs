//! Rows of sines and cosines, for positions that no buffer holds: one thread per pair of columns.
//!
//! Sines of graphics cards are coarse, and many cards have no `f64`. Angles are therefore whole numbers here: a position times
//! the step of a frequency, of 128 bits (`Spectrum::turns`), is the fraction of a turn, and the sine and the cosine of an
//! eighth of it are polynomials of 64 bits, within 3e-18. Only the result is rounded to `f32`. Whole numbers are the same on every
//! card, so the bits are. They are those of the processor but in two cases: where the exact value lies as close to the middle
//! between two `f32` as the processor's rows are to the exact value (4e-16, and 3e-14 from position 2^32 on), and for
//! sines below 1e-10, in whose `f32` an error of 3e-18 shows.

use alloc::vec::Vec;

use burn::tensor::DType;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use cubecl::calculate_cube_count_elemwise;
use cubecl::prelude::*;

/// What is known of rows when their kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowForm {
    /// The number of columns. One that is left over is 0.
    pub width: usize,
    /// The number of frequencies.
    pub pairs: usize,
    pub interleaved: bool,
    pub cos_first: bool,
    /// Whether rows are multiplied by an amplitude.
    pub scaled: bool,
}

impl RowForm {
    /// The number of threads of a row.
    fn threads(&self) -> usize {
        self.width.div_ceil(2)
    }
}

/// (π/4)^k / k! for odd k, the series of the sine of an eighth of a turn: fractions of 2^64, the high word first.
const SINE: [(u32, u32); 9] = [
    (0xc90f_daa2, 0x2168_c235),
    (0x14ab_bce6, 0x25be_52bf),
    (0x00a3_35e3, 0x3bad_570f),
    (0x0002_65a5, 0x99cc_57b1),
    (0x0000_0541, 0xe0d2_1fba),
    (0x0000_0007, 0x8c1d_3f7a),
    (0x0000_0000, 0x07a3_d0d3),
    (0x0000_0000, 0x0005_beb7),
    (0x0000_0000, 0x0000_0356),
];

/// (π/4)^k / k! for even k from 2 on: what the cosine lacks to 1.
const COSINE: [(u32, u32); 8] = [
    (0x4ef4_f326, 0xf917_7969),
    (0x040f_07c2, 0x06d6_b0ed),
    (0x0015_5d3c, 0x7e3c_bffa),
    (0x0000_3c3e, 0xa0d1_2375),
    (0x0000_0069, 0xb47c_a881),
    (0x0000_0000, 0x7e74_e28e),
    (0x0000_0000, 0x006d_b894),
    (0x0000_0000, 0x0000_4832),
];

/// The sum of two words, and what it carries.
#[cube]
fn sum(a: u32, b: u32) -> (u32, u32) {
    let sum = a + b;
    (sum, u32::cast_from(sum < a))
}

/// The product of two fractions of 2^64, at most 3 below the exact one.
#[cube]
fn product(a_high: u32, a_low: u32, b_high: u32, b_low: u32) -> (u32, u32) {
    let (low, first) = sum(a_high * b_high, a_high.mul_hi(b_low));
    let (low, second) = sum(low, a_low.mul_hi(b_high));
    (a_high.mul_hi(b_high) + first + second, low)
}

/// A coefficient less a product of the square and of the series behind it.
#[cube]
fn term(
    square_high: u32,
    square_low: u32,
    high: u32,
    low: u32,
    #[comptime] coefficient: (u32, u32),
) -> (u32, u32) {
    let (high, low) = product(square_high, square_low, high, low);
    let (own_high, own_low) = comptime!(coefficient);
    let borrowed = u32::cast_from(low > own_low);
    (own_high - high - borrowed, own_low - low)
}

/// The alternating sum of coefficients times powers of the square, from the last one on.
#[cube]
fn series(
    square_high: u32,
    square_low: u32,
    #[comptime] coefficients: Vec<(u32, u32)>,
) -> (u32, u32) {
    let last = comptime!(coefficients.len() - 1);
    let mut high = comptime!(coefficients[last].0).runtime();
    let mut low = comptime!(coefficients[last].1).runtime();
    #[unroll]
    for i in 0..last {
        let coefficient = comptime!(coefficients[last - 1 - i]);
        let (next_high, next_low) = term(square_high, square_low, high, low, coefficient);
        high = next_high;
        low = next_low;
    }
    (high, low)
}

/// The sine of a fraction of an eighth of a turn.
#[cube]
fn sine(high: u32, low: u32) -> (u32, u32) {
    let (square_high, square_low) = product(high, low, high, low);
    let (sum_high, sum_low) = series(square_high, square_low, comptime!(SINE.to_vec()));
    product(high, low, sum_high, sum_low)
}

/// The cosine of a fraction of an eighth of a turn. 1 is no fraction; the next lower number stands for it, and is
/// rounded to it.
#[cube]
fn cosine(high: u32, low: u32) -> (u32, u32) {
    let (square_high, square_low) = product(high, low, high, low);
    let (sum_high, sum_low) = series(square_high, square_low, comptime!(COSINE.to_vec()));
    let (below_high, below_low) = product(square_high, square_low, sum_high, sum_low);
    (u32::MAX - below_high, u32::MAX - below_low)
}

/// The nearest `f32` of a fraction of 2^64. Rounded as a whole number, since cards convert large ones differently.
#[cube]
fn rounded(high: u32, low: u32) -> f32 {
    let mut first = high;
    let mut second = low;
    let mut unit = comptime!(1.0f32 / 36_028_797_018_963_968.0f32).runtime(); // 2^-55
    if high == 0u32 {
        first = low;
        second = 0u32;
        unit *= comptime!(1.0f32 / 4_294_967_296.0f32);
    }
    let mut zeros = first.leading_zeros();
    if zeros > 31u32 {
        zeros = 31u32;
    }
    // The highest bits, of which 24 are kept; the next one rounds up.
    let highest = (first << zeros) | ((second >> 1u32) >> (31u32 - zeros));
    let whole = (highest >> 8u32) + ((highest >> 7u32) & 1u32);
    f32::cast_from(whole) * (f32::cast_from(1u32 << (31u32 - zeros)) * unit)
}

/// Writes the sine and the cosine of one frequency at one position, given as its low and high word.
// Longer than a screen: one calculation in whole numbers, whose steps share all of their variables.
#[cube]
#[allow(clippy::too_many_arguments)]
fn write_pair(
    turns: &Tensor<u32>,
    rows: &mut Tensor<f32>,
    low: u32,
    high: u32,
    row: usize,
    pair: usize,
    amplitude_high: u32,
    amplitude_low: u32,
    unit: f32,
    #[comptime] form: RowForm,
) {
    let at = row * comptime!(form.width);
    if pair < comptime!(form.pairs) {
        // The first three words of the product of the position and the step, which has four.
        let step = 4 * pair;
        let (a, b) = (turns[step], turns[step + 1]);
        let (c, d) = (turns[step + 2], turns[step + 3]);
        let (third, of_1) = sum(low.mul_hi(d), low * c);
        let (third, of_2) = sum(third, high * d);
        let (second, of_3) = sum(of_1 + of_2, low.mul_hi(c));
        let (second, of_4) = sum(second, low * b);
        let (second, of_5) = sum(second, high.mul_hi(d));
        let (second, of_6) = sum(second, high * c);
        let carried = of_3 + of_4 + of_5 + of_6;
        let turn = low.mul_hi(b) + low * a + high.mul_hi(c) + high * b + carried;
        // The eighth of the turn, and how far into it. Every second eighth is a mirror image.
        let eighth = turn >> 29u32;
        let mut part_high = (turn << 3u32) | (second >> 29u32);
        let mut part_low = (second << 3u32) | (third >> 29u32);
        if (eighth & 1u32) == 1u32 {
            part_high = u32::MAX - part_high;
            part_low = u32::MAX - part_low;
        }
        let (mut sin_high, mut sin_low) = sine(part_high, part_low);
        let (mut cos_high, mut cos_low) = cosine(part_high, part_low);
        if comptime!(form.scaled) {
            let (high, low) = product(sin_high, sin_low, amplitude_high, amplitude_low);
            sin_high = high;
            sin_low = low;
            let (high, low) = product(cos_high, cos_low, amplitude_high, amplitude_low);
            cos_high = high;
            cos_low = low;
        }
        let of_sin = rounded(sin_high, sin_low) * unit;
        let of_cos = rounded(cos_high, cos_low) * unit;
        let is_swapped = ((eighth + 1u32) & 2u32) == 2u32;
        let mut sin = select(is_swapped, of_cos, of_sin);
        let mut cos = select(is_swapped, of_sin, of_cos);
        if eighth >= 4u32 {
            sin = -sin;
        }
        if ((eighth + 2u32) & 4u32) == 4u32 {
            cos = -cos;
        }
        let mut place = pair;
        let mut other = pair + comptime!(form.pairs);
        if comptime!(form.interleaved) {
            place = 2 * pair;
            other = place + 1;
        }
        let (first, second) = if comptime!(form.cos_first) {
            (cos, sin)
        } else {
            (sin, cos)
        };
        rows[at + place] = first;
        if other < comptime!(form.width) {
            rows[at + other] = second;
        }
    } else {
        rows[at + 2 * pair] = 0.0f32;
    }
}

#[cube(launch_unchecked, address_type = "dynamic")]
#[allow(clippy::too_many_arguments)]
fn rows_of_run(
    turns: &Tensor<u32>,
    rows: &mut Tensor<f32>,
    threads: usize,
    start_low: u32,
    start_high: u32,
    amplitude_high: u32,
    amplitude_low: u32,
    unit: f32,
    #[comptime] form: RowForm,
) {
    if ABSOLUTE_POS < threads {
        let row = ABSOLUTE_POS / comptime!(form.threads());
        let pair = ABSOLUTE_POS % comptime!(form.threads());
        let low = start_low + u32::cast_from(row);
        let mut high = start_high;
        if low < start_low {
            high += 1u32;
        }
        write_pair(
            turns,
            rows,
            low,
            high,
            row,
            pair,
            amplitude_high,
            amplitude_low,
            unit,
            form,
        );
    }
}

#[cube(launch_unchecked, address_type = "dynamic")]
#[allow(clippy::too_many_arguments)]
fn rows_of_positions(
    turns: &Tensor<u32>,
    positions: &Tensor<u32>,
    rows: &mut Tensor<f32>,
    threads: usize,
    amplitude_high: u32,
    amplitude_low: u32,
    unit: f32,
    #[comptime] form: RowForm,
) {
    if ABSOLUTE_POS < threads {
        let row = ABSOLUTE_POS / comptime!(form.threads());
        let pair = ABSOLUTE_POS % comptime!(form.threads());
        let low = positions[2 * row];
        let high = positions[2 * row + 1];
        write_pair(
            turns,
            rows,
            low,
            high,
            row,
            pair,
            amplitude_high,
            amplitude_low,
            unit,
            form,
        );
    }
}

/// Whether rows can have this amplitude: its power of two, and what it multiplies, have to be numbers of `f32` on every
/// card, and some cards have no numbers below 2^-126.
pub(super) fn takes(amplitude: f64) -> bool {
    (1e-18..1e18).contains(&amplitude.abs())
}

/// An amplitude as a fraction of 2^64, the high word first, and a power of two with its sign. 1 needs no fraction.
fn amplitude(of: f64) -> (u32, u32, f32) {
    if of == 1.0 {
        return (0, 0, 1.0);
    }
    let (fraction, exponent) = libm::frexp(of);
    let whole = libm::ldexp(fraction.abs(), 64) as u64;
    let sign = if of < 0.0 { -1.0 } else { 1.0 };
    (
        (whole >> 32) as u32,
        whole as u32,
        libm::ldexpf(sign, exponent),
    )
}

/// The rows of a run of positions, `[rows, width]`.
pub(super) fn of_run(
    turns: CubeTensor,
    start: u64,
    rows: usize,
    by: f64,
    form: RowForm,
) -> CubeTensor {
    let out = empty(&turns, rows, form);
    let threads = rows * form.threads();
    let client = turns.client.clone();
    let dim = CubeDim::new(&client, threads);
    let (amplitude_high, amplitude_low, unit) = amplitude(by);
    // SAFETY: a thread writes the columns of its pair in one of `rows` rows, those that are less than the width, and reads the
    // four words of its frequency, if its number is less than that of the frequencies. `turns` has four for each (`cube::rows`).
    unsafe {
        rows_of_run::launch_unchecked(
            &client,
            calculate_cube_count_elemwise(&client, threads, dim),
            dim,
            out.required_address_type(),
            turns.into_tensor_arg(),
            out.clone().into_tensor_arg(),
            threads,
            start as u32,
            (start >> 32) as u32,
            amplitude_high,
            amplitude_low,
            unit,
            form,
        );
    }
    out
}

/// The rows of positions, which are `[rows, 2]`: the low word of each, and its high word.
pub(super) fn of_positions(
    turns: CubeTensor,
    positions: CubeTensor,
    by: f64,
    form: RowForm,
) -> CubeTensor {
    // CUDA and ROCm leave gaps between rows of two numbers that come from the host.
    let positions = into_contiguous(positions);
    let rows = positions.meta.shape()[0];
    let out = empty(&turns, rows, form);
    let threads = rows * form.threads();
    let client = turns.client.clone();
    let dim = CubeDim::new(&client, threads);
    let (amplitude_high, amplitude_low, unit) = amplitude(by);
    // SAFETY: as in `of_run`; `positions` is `[rows, 2]`.
    unsafe {
        rows_of_positions::launch_unchecked(
            &client,
            calculate_cube_count_elemwise(&client, threads, dim),
            dim,
            out.required_address_type(),
            turns.into_tensor_arg(),
            positions.into_tensor_arg(),
            out.clone().into_tensor_arg(),
            threads,
            amplitude_high,
            amplitude_low,
            unit,
            form,
        );
    }
    out
}

fn empty(turns: &CubeTensor, rows: usize, form: RowForm) -> CubeTensor {
    let (client, device) = (turns.client.clone(), turns.device.clone());
    let shape = [rows, form.width].into();
    empty_device_contiguous_dtype(client, device, shape, DType::F32)
}
