//! How what is computed for each head of each sequence is divided between threads, and the gradients of what they share.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::take;
use core::ops::Range;

use crate::backend::threads;

/// The number of tokens whose products are in the cache together.
pub(super) const BLOCK: usize = 32;

/// Up to so many multiplications one thread is faster than several.
const SMALL: usize = 1 << 20;

/// The number of parts of which a gradient is the sum; one for each head where there are more of them.
const PARTS: usize = 16;

/// The blocks of so many tokens.
pub(super) fn blocks(tokens: usize) -> impl Iterator<Item = Range<usize>> {
    let firsts = (0..tokens).step_by(BLOCK);
    firsts.map(move |first| first..(first + BLOCK).min(tokens))
}

/// A head of a sequence, with its part of some memory.
pub(super) struct Unit<'a, T, const N: usize> {
    /// Which sequence and which head.
    pub of: [usize; 2],
    pub memory: [&'a mut [T]; N],
}

/// Every head of every sequence, those of the first head first.
pub(super) fn units<'a, T, const N: usize>(
    [batch, heads]: [usize; 2],
    mut memory: [&'a mut [T]; N],
) -> Vec<Unit<'a, T, N>> {
    let count = batch * heads;
    let lens = memory.each_ref().map(|memory| memory.len() / count);
    let unit = |unit| {
        let mut lens = lens.iter();
        let memory = memory.each_mut().map(|memory| {
            let (part, rest) = take(memory).split_at_mut(*lens.next().expect("N lengths"));
            *memory = rest;
            part
        });
        let of = [unit / heads, unit % heads];
        Unit { of, memory }
    };
    let mut units: Vec<_> = (0..count).map(unit).collect();
    units.sort_by_key(|unit| unit.of[1]);
    units
}

/// Calls `work` with every unit, on several threads where there are many multiplications.
pub(super) fn for_each<T: Send, const N: usize>(
    mut units: Vec<Unit<T, N>>,
    multiplications: usize,
    work: impl Fn(&mut Unit<T, N>) + Sync,
) {
    let at_a_time = at_a_time(units.len(), 8 * PARTS, multiplications);
    threads::for_each(units.chunks_mut(at_a_time), |units| {
        units.iter_mut().for_each(&work);
    });
}

/// How many units a thread takes at a time: all where there is little to do, else those of one of so many parts.
fn at_a_time(units: usize, parts: usize, multiplications: usize) -> usize {
    match multiplications <= SMALL {
        true => units,
        false => units.div_ceil(parts),
    }
}

/// The sums of what the units of a part add to gradients that they share.
pub(super) struct Part<const M: usize> {
    /// The head of all its units.
    head: usize,
    sums: [Vec<f32>; M],
}

/// As [`for_each`], where the units of a head add to gradients of these lengths. Which units are a part does not depend on the
/// number of threads.
pub(super) fn parts_of<const N: usize, const M: usize>(
    mut units: Vec<Unit<f32, N>>,
    multiplications: usize,
    lens: [usize; M],
    work: impl Fn(&mut Unit<f32, N>, &mut [Vec<f32>; M]) + Sync,
) -> Vec<Part<M>> {
    let parts_of_head = PARTS.div_ceil(units.last().map_or(1, |unit| unit.of[1] + 1));
    let mut parts = Vec::new();
    for units in units.chunk_by_mut(|a, b| a.of[1] == b.of[1]) {
        let head = units[0].of[1];
        let at_a_time = at_a_time(units.len(), parts_of_head, multiplications);
        for units in units.chunks_mut(at_a_time) {
            let sums = [(); M].map(|()| Vec::new());
            parts.push((units, Part { head, sums }));
        }
    }
    threads::for_each(parts.iter_mut(), |(units, part)| {
        part.sums = lens.map(|len| vec![0.0; len]);
        units.iter_mut().for_each(|unit| work(unit, &mut part.sums));
    });
    parts.into_iter().map(|(_, part)| part).collect()
}

/// The gradient of a table, or of one for each head, from its parts in their order.
pub(super) fn summed<const M: usize>(parts: &[Part<M>], which: usize, tables: usize) -> Vec<f32> {
    let len = parts[0].sums[which].len();
    let mut sums = vec![0.0_f32; tables * len];
    for part in parts {
        let sums = &mut sums[part.head % tables * len..][..len];
        for (sum, part) in sums.iter_mut().zip(&part.sums[which]) {
            *sum += part;
        }
    }
    sums
}
