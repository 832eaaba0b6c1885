//! The arithmetic of a rotation, over rows wherever they lie in memory.

use multiversion::multiversion;

use crate::layout::Layout;

/// Rotates `heads` rows of each token by the row of angles of that token, which is `width` long. The strides are those
/// between tokens and between the heads of a token. A token's sines and cosines are read once for all its heads.
///
/// # Safety
///
/// As for [`rotate_rows`].
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
pub unsafe fn rotate_heads_of_tokens(
    first: *mut f32,
    [of_token, of_head]: [isize; 2],
    heads: usize,
    (angles, width): (&[f32], usize),
    layout: Layout,
    sign: f32,
) {
    let pairs = width / 2;
    for token in 0..angles.len() / width {
        let (sin, cos) = angles[token * width..][..width].split_at(pairs);
        // SAFETY: the caller promises that all rows have `2 * pairs` initialized elements, which nothing else uses; the three
        // parts are pairs of their own, up to the last one.
        unsafe {
            let first = first.offset(token as isize * of_token);
            let rows = Rows {
                first,
                stride: of_head,
                count: heads,
                pairs,
            };
            let pair = turn::<16, 32>(rows, 0, [sin, cos], layout, sign);
            let pair = turn::<4, 8>(rows, pair, [sin, cos], layout, sign);
            turn::<1, 2>(rows, pair, [sin, cos], layout, sign);
        }
    }
}

/// Rows that all turn by the same angles.
#[derive(Clone, Copy)]
struct Rows {
    first: *mut f32,
    stride: isize,
    count: usize,
    pairs: usize,
}

/// Rotates `N` pairs at a time from `pair` on, while `N` or more are left, and returns the next pair. `BOTH` is twice
/// `N`.
///
/// # Safety
///
/// Every row has `2 * pairs` initialized elements, which nothing else uses.
#[inline(always)]
unsafe fn turn<const N: usize, const BOTH: usize>(
    rows: Rows,
    mut pair: usize,
    [sines, cosines]: [&[f32]; 2],
    layout: Layout,
    sign: f32,
) -> usize {
    let (sines, cosines) = (&sines[..rows.pairs], &cosines[..rows.pairs]);
    while pair + N <= rows.pairs {
        let (mut sin, mut cos) = ([0.0; N], [0.0; N]);
        for i in 0..N {
            sin[i] = sines[pair + i] * sign;
            cos[i] = cosines[pair + i];
        }
        // SAFETY: the pairs `pair..pair + N` are within the row.
        unsafe {
            match layout {
                Layout::Halves => turn_halves(rows, pair, [sin, cos]),
                Layout::Interleaved => turn_neighbours::<N, BOTH>(rows, pair, [sin, cos]),
            }
        }
        pair += N;
    }
    pair
}

/// Rotates `N` columns of every row together with the `N` columns that are half the rotated width away.
///
/// # Safety
///
/// As for [`turn`], of the `N` pairs from `pair` on.
#[inline(always)]
unsafe fn turn_halves<const N: usize>(rows: Rows, pair: usize, [sin, cos]: [[f32; N]; 2]) {
    for row in 0..rows.count {
        // SAFETY: the caller promises that this row has initialized elements there, which nothing else uses.
        unsafe {
            let a = rows.first.offset(row as isize * rows.stride).add(pair);
            let (a, b) = (a.cast::<[f32; N]>(), a.add(rows.pairs).cast::<[f32; N]>());
            let (mut x, mut y) = (*a, *b);
            for i in 0..N {
                let turned = x[i] * cos[i] - y[i] * sin[i];
                y[i] = x[i] * sin[i] + y[i] * cos[i];
                x[i] = turned;
            }
            (*a, *b) = (x, y);
        }
    }
}

/// Rotates pairs of neighbouring columns of every row: each column times cos, plus the other one times −sin (first
/// column) or sin (second).
///
/// # Safety
///
/// As for [`turn`], of the `N` pairs from `pair` on.
#[inline(always)]
unsafe fn turn_neighbours<const N: usize, const BOTH: usize>(
    rows: Rows,
    pair: usize,
    [sin, cos]: [[f32; N]; 2],
) {
    const { assert!(BOTH == 2 * N) };
    let (mut own, mut other) = ([0.0; BOTH], [0.0; BOTH]);
    for i in 0..N {
        (own[2 * i], own[2 * i + 1]) = (cos[i], cos[i]);
        (other[2 * i], other[2 * i + 1]) = (-sin[i], sin[i]);
    }
    for row in 0..rows.count {
        // SAFETY: as in `turn_halves`.
        unsafe {
            let both = rows.first.offset(row as isize * rows.stride).add(2 * pair);
            let both = both.cast::<[f32; BOTH]>();
            let x = *both;
            let mut swapped = [0.0; BOTH];
            for i in 0..N {
                (swapped[2 * i], swapped[2 * i + 1]) = (x[2 * i + 1], x[2 * i]);
            }
            let mut turned = [0.0; BOTH];
            for i in 0..BOTH {
                turned[i] = x[i] * own[i] + swapped[i] * other[i];
            }
            *both = turned;
        }
    }
}

/// Rotates the first `width` elements of rows that are `stride` elements apart, each by a row of angles of its own.
///
/// # Safety
///
/// `first` is the start of the first row, every row is initialized, and nothing else reads or writes
/// them during the call.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
pub unsafe fn rotate_rows(
    first: *mut f32,
    stride: isize,
    width: usize,
    angles: &[f32],
    layout: Layout,
    sign: f32,
) {
    let pairs = width / 2;
    for row in 0..angles.len() / width {
        // SAFETY: the caller promises that this row is initialized and used by nothing else.
        let numbers = unsafe {
            let start = first.offset(row as isize * stride);
            core::slice::from_raw_parts_mut(start, width)
        };
        let (sin, cos) = angles[row * width..][..width].split_at(pairs);
        let (sin, cos) = (&sin[..pairs], &cos[..pairs]);
        match layout {
            Layout::Halves => {
                let (a, b) = numbers.split_at_mut(pairs);
                let (a, b) = (&mut a[..pairs], &mut b[..pairs]);
                for i in 0..pairs {
                    let sin = sin[i] * sign;
                    let turned = (a[i] * cos[i] - b[i] * sin, a[i] * sin + b[i] * cos[i]);
                    (a[i], b[i]) = turned;
                }
            }
            Layout::Interleaved => {
                let (numbers, _) = numbers.as_chunks_mut::<2>();
                let numbers = &mut numbers[..pairs];
                for i in 0..pairs {
                    let (sin, [a, b]) = (sin[i] * sign, numbers[i]);
                    numbers[i] = [a * cos[i] - b * sin, a * sin + b * cos[i]];
                }
            }
        }
    }
}
