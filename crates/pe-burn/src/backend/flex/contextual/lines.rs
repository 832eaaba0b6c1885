//! The arithmetic of CoPE's gates, on lines of keys.

use multiversion::multiversion;

use crate::backend::exp::sigmoid;

/// How many lines are summed up together. One alone would wait for each of its sums before the next.
pub const ABREAST: usize = 4;

/// Whether no sum goes from this key on to the next.
pub fn is_last(ends: Option<&[u32]>, key: usize) -> bool {
    ends.is_some_and(|ends| ends[key] as usize == key + 1)
}

/// Calls `put` with every place in some lines of `keys` numbers and the sum of the numbers of its line up to it, in the order of
/// `order`. Sums start again at some keys.
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

/// Divides positions, none of them above `last`, into whole ones and what is left.
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

/// Makes of scores their gates `σ(score)`, which are 0 for a key that is hidden.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
pub fn open(scores: &mut [f32], hidden: &[bool]) {
    let hidden = &hidden[..scores.len()];
    for key in 0..hidden.len() {
        let gate = sigmoid(scores[key]);
        scores[key] = if hidden[key] { 0.0 } else { gate };
    }
}
