//! The arithmetic of CoPE's gates, on lines of keys.

use multiversion::multiversion;

use crate::backend::exp::sigmoid;

/// The number of lines that are summed at the same time. In a single line every addition would wait for the one before.
pub const ABREAST: usize = 4;

/// Whether no sum continues from this key to the next.
pub fn is_last(ends: Option<&[u32]>, key: usize) -> bool {
    ends.is_some_and(|ends| ends[key] as usize == key + 1)
}

/// Cumulative sums along lines of `keys` numbers, in the order of `order`, which start again where `starts` is true.
/// Calls `put` with each index and the sum up to it.
pub fn cumulate(
    keys: usize,
    order: impl Iterator<Item = usize> + Clone,
    starts: impl Fn(usize) -> bool,
    lines: &[f32],
    mut put: impl FnMut(usize, f64),
) {
    if lines.len() == ABREAST * keys {
        return sum_up::<ABREAST>(keys, order, starts, lines, put);
    }
    for (line, numbers) in lines.chunks(keys).enumerate() {
        let put = |at, sum| put(line * keys + at, sum);
        sum_up::<1>(keys, order.clone(), &starts, numbers, put);
    }
}

#[inline(always)]
fn sum_up<const N: usize>(
    keys: usize,
    order: impl Iterator<Item = usize>,
    starts: impl Fn(usize) -> bool,
    lines: &[f32],
    mut put: impl FnMut(usize, f64),
) {
    let mut sums = [0.0_f64; N];
    for key in order {
        if starts(key) {
            sums = [0.0; N];
        }
        for line in 0..N {
            let at = line * keys + key;
            sums[line] += f64::from(lines[at]);
            put(at, sums[line]);
        }
    }
}

/// Limits positions to `last`, and divides each into its whole part and the rest.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
pub fn divide(sums: &[f64], last: f64, below: &mut [u32], rest: &mut [f32]) {
    // Adding 1.5 · 2^52 rounds to an integer, which is then in the low bits of the sum. A cast takes three times as long.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let (below, rest) = (&mut below[..sums.len()], &mut rest[..sums.len()]);
    for at in 0..sums.len() {
        // Not `min`, which would lose NaN.
        let position = if sums[at] > last { last } else { sums[at] };
        let number = if position >= 0.0 { position } else { 0.0 };
        let rounded = number + ROUND;
        let is_above = rounded - ROUND > number;
        below[at] = (rounded.to_bits() as u32).wrapping_sub(u32::from(is_above));
        let whole = rounded - ROUND - if is_above { 1.0 } else { 0.0 };
        rest[at] = (position - whole) as f32;
    }
}

/// Replaces scores by their gates `σ(score)`. The gate of a hidden key is 0.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
pub fn open(scores: &mut [f32], hidden: &[bool]) {
    let hidden = &hidden[..scores.len()];
    for key in 0..hidden.len() {
        let gate = sigmoid(scores[key]);
        scores[key] = if hidden[key] { 0.0 } else { gate };
    }
}
