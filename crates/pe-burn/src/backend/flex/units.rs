//! Divides the work on the heads of all sequences between threads, and sums the gradients of tables that they share.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::take;
use core::ops::Range;

use crate::backend::threads;

/// The number of tokens whose products are in the cache together.
pub(super) const BLOCK: usize = 32;

/// Up to this many multiplications, one thread is faster than several.
const SMALL: usize = 1 << 20;

/// The number of partial sums that a shared gradient is made of; one for each head where there are more heads.
const PARTS: usize = 16;

/// The tokens `0..tokens` in blocks.
pub(super) fn blocks(tokens: usize) -> impl Iterator<Item = Range<usize>> {
    let firsts = (0..tokens).step_by(BLOCK);
    firsts.map(move |first| first..(first + BLOCK).min(tokens))
}

/// One head of one sequence, with its part of the memory.
pub(super) struct Unit<'a, T, const N: usize> {
    /// `[sequence, head]`.
    pub of: [usize; 2],
    pub memory: [&'a mut [T]; N],
}

/// All heads of all sequences, sorted by head.
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

/// How many units a thread takes at a time: all of them for little work, otherwise one of `parts` equal shares.
fn at_a_time(units: usize, parts: usize, multiplications: usize) -> usize {
    match multiplications <= SMALL {
        true => units,
        false => units.div_ceil(parts),
    }
}

/// What some units of one head add to the gradients that they share.
pub(super) struct Part<const M: usize> {
    /// The head of all its units.
    head: usize,
    sums: [Vec<f32>; M],
}

/// As [`for_each`], for units that also add to shared gradients of the lengths `lens`. How units are grouped into parts
/// does not depend on the number of threads.
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

/// The gradient of one table, or of one table for each head: the sum of the parts in their order.
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
