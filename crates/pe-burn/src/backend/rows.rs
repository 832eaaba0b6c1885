//! Rows of sines and cosines in new memory, made on several threads.
//!
//! Memory is written in blocks of rows, from the middle of a block to both ends. A block that fits into the first-level
//! cache is zeroed first, in order, which makes the writing faster: a table of 131,072 × 128 took 3.5 ms, and 4.9
//! without. For a larger block zeroing is slower, since its memory would have left that cache before it is written: 5,000
//! × 512 took 0.31 ms, and takes 0.23 (two threads of an AMD EPYC, memory that was used before).

use alloc::vec::Vec;
use core::mem::{MaybeUninit, take};

use multiversion::multiversion;

use super::memory::{check_room, use_large_pages};
use super::threads;
use crate::error::PositionError;
use crate::layout::Layout;

/// The type of the elements of a row: `f32` or `f64`. It cannot be implemented elsewhere: it is not
/// exported.
pub trait Entry: Copy + Default + Send {
    /// The nearest value of this type.
    fn round(exact: f64) -> Self;
}

impl Entry for f32 {
    fn round(exact: f64) -> Self {
        exact as f32
    }
}

impl Entry for f64 {
    fn round(exact: f64) -> Self {
        exact
    }
}

/// `rows × width` elements, made on several threads. A thread's writer gets the index of a row, and the rows to write
/// from there on: first `first` rows, then `rows_per_task` at a time, or what is left.
pub(crate) fn rows<T: Entry, W: FnMut(usize, &mut NewRows<T>)>(
    rows: usize,
    width: usize,
    [first, rows_per_task]: [usize; 2],
    writer: impl Fn() -> W + Sync,
) -> Result<Vec<T>, PositionError> {
    check_room::<T>(rows, width)?;
    let len = rows * width;
    let mut memory = Vec::with_capacity(len);
    let rest = &mut memory.spare_capacity_mut()[..len];
    use_large_pages(rest);
    if width > 0 {
        let first = first.min(rows);
        let (head, rest) = rest.split_at_mut(first * width);
        let mut tasks = Vec::from([(0, head)]);
        let rest = rest.chunks_mut(rows_per_task * width).enumerate();
        tasks.extend(rest.map(|(i, rest)| (first + i * rows_per_task, rest)));
        threads::for_each_by(tasks.into_iter(), || {
            let mut write = writer();
            move |(start, rest)| {
                let mut rows = NewRows { rest, width };
                write(start, &mut rows);
                zero(rows.rest); // those that were not taken
            }
        });
    }
    // SAFETY: the tasks cover all `len` elements. A block initializes all of its rows, and those that are in no block are
    // initialized after it. A panic leaves this function before the length is set.
    unsafe { memory.set_len(len) };
    Ok(memory)
}

/// The number of bytes of a block that is zeroed before it is written.
const ZEROED_BEFORE: usize = 1 << 15;

/// The number of bytes that are zeroed at once: from 2 KiB on the C library takes slower instructions.
const ZEROED_AT_ONCE: usize = 1 << 10;

fn zero<T: Entry>(memory: &mut [MaybeUninit<T>]) {
    for some in memory.chunks_mut(ZEROED_AT_ONCE / size_of::<T>()) {
        some.fill(MaybeUninit::new(T::default()));
    }
}

/// New rows, which are written block by block.
pub(crate) struct NewRows<'a, T> {
    rest: &'a mut [MaybeUninit<T>],
    width: usize,
}

impl<T: Entry> NewRows<'_, T> {
    /// The number of rows that are left.
    pub fn len(&self) -> usize {
        self.rest.len() / self.width
    }

    /// Writes the next `count` rows, at most 64, with `write`. Rows that `write` leaves out are zeroed.
    ///
    /// # Panics
    ///
    /// When there are not so many rows, or more than 64 are asked for.
    pub fn block(&mut self, count: usize, write: impl FnOnce(&mut Block<T>)) {
        assert!(count <= 64, "a block of {count} rows, of which it knows 64");
        let (memory, rest) = take(&mut self.rest).split_at_mut(count * self.width);
        self.rest = rest;
        let width = self.width;
        let written = match size_of_val(memory) <= ZEROED_BEFORE {
            true => {
                zero(memory);
                u64::MAX
            }
            false => 0,
        };
        let mut block = Block {
            memory,
            width,
            written,
        };
        write(&mut block);
        for (i, row) in block.memory.chunks_exact_mut(width).enumerate() {
            if block.written & (1 << i) == 0 {
                zero(row);
            }
        }
    }
}

/// Some new rows, which may be written in any order.
pub(crate) struct Block<'a, T> {
    memory: &'a mut [MaybeUninit<T>],
    width: usize,
    /// Bit i says whether row i is initialized.
    written: u64,
}

impl<T: Entry> Block<'_, T> {
    /// Writes a row: the sines and cosines of a + b, or of a − b if `opposite`. A column without a frequency is 0.
    ///
    /// # Panics
    ///
    /// When the block has no such row.
    pub fn sum(&mut self, row: usize, layout: Layout, terms: Terms, opposite: bool) {
        let memory = &mut self.memory[row * self.width..][..self.width];
        write_row(columns(memory, terms), layout, terms, opposite);
        self.written |= 1 << row;
    }

    /// Writes the rows on both sides of `row`, at the distances 1 to `sides`. The row after it gets a + b and the row
    /// before it a − b, or the reverse if `opposite`; `terms` gives the angles for a distance. Both rows need the same
    /// products, so this is faster than two calls of [`sum`](Self::sum).
    ///
    /// # Panics
    ///
    /// When the block has no such rows.
    pub fn sums_around<'t>(
        &mut self,
        row: usize,
        sides: usize,
        layout: Layout,
        terms: impl Fn(usize) -> Terms<'t>,
        opposite: bool,
    ) {
        let width = self.width;
        let (before, behind) = self.memory.split_at_mut(row * width);
        let before = before[(row - sides) * width..].rchunks_exact_mut(width);
        let behind = behind[width..][..sides * width].chunks_exact_mut(width);
        for ((before, behind), distance) in before.zip(behind).zip(1..) {
            let terms = terms(distance);
            let (plus, minus) = match opposite {
                false => (behind, before),
                true => (before, behind),
            };
            write_rows(columns(plus, terms), columns(minus, terms), layout, terms);
            self.written |= 1 << (row - distance) | 1 << (row + distance);
        }
    }
}

/// The columns of a row that have a frequency. The others are zeroed.
fn columns<'a, T: Entry>(row: &'a mut [MaybeUninit<T>], terms: Terms) -> &'a mut [MaybeUninit<T>] {
    let columns = row.len().min(2 * terms.sin_a.len());
    let (row, rest) = row.split_at_mut(columns);
    if !rest.is_empty() {
        zero(rest);
    }
    row
}

/// The sines and cosines of two angles, a and b, for each frequency.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub sin_a: &'a [f64],
    pub cos_a: &'a [f64],
    pub sin_b: &'a [f64],
    pub cos_b: &'a [f64],
}

impl Terms<'_> {
    /// These terms cut to one length that the compiler knows, so that indexing needs no bounds checks. (Iterator adapters
    /// are not inlined into functions that `multiversion` compiles for other instruction sets.)
    #[inline(always)]
    pub fn first(self, pairs: usize) -> Self {
        Self {
            sin_a: &self.sin_a[..pairs],
            cos_a: &self.cos_a[..pairs],
            sin_b: &self.sin_b[..pairs],
            cos_b: &self.cos_b[..pairs],
        }
    }

    /// `(sin, cos)` of a + b, or of a − b where `sign` is −1.
    #[inline(always)]
    pub fn sum(&self, i: usize, sign: f64) -> (f64, f64) {
        let (sin_a, cos_a) = (self.sin_a[i], self.cos_a[i]);
        let (sin_b, cos_b) = (self.sin_b[i], self.cos_b[i]);
        (
            sin_a * cos_b + sign * (cos_a * sin_b),
            cos_a * cos_b - sign * (sin_a * sin_b),
        )
    }
}

pub(crate) fn sign(opposite: bool) -> f64 {
    if opposite { -1.0 } else { 1.0 }
}

/// Initializes a row.
///
/// Compiled for vectors of 128, 256 and 512 bits. The version for the processor is chosen at run time.
/// Without fused multiply-add, so that the bits are the same on every processor.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2"))]
fn write_row<T: Entry>(row: &mut [MaybeUninit<T>], layout: Layout, terms: Terms, opposite: bool) {
    write_sums([row], [sign(opposite)], layout, terms);
}

/// Initializes two rows of one length.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2"))]
fn write_rows<T: Entry>(
    plus: &mut [MaybeUninit<T>],
    minus: &mut [MaybeUninit<T>],
    layout: Layout,
    terms: Terms,
) {
    write_sums([plus, minus], [1.0, -1.0], layout, terms);
}

/// Initializes every element of rows of equal length.
#[inline(always)]
fn write_sums<T: Entry, const N: usize>(
    rows: [&mut [MaybeUninit<T>]; N],
    signs: [f64; N],
    layout: Layout,
    terms: Terms,
) {
    let width = rows[0].len();
    let (pairs, full) = (width.div_ceil(2), width / 2);
    let terms = terms.first(pairs);
    match layout {
        Layout::Interleaved => {
            let mut rows = rows.map(|row| row[..width].as_chunks_mut::<2>());
            for i in 0..full {
                for n in 0..N {
                    let (sin, cos) = terms.sum(i, signs[n]);
                    let (row, _) = &mut rows[n];
                    row[i][0].write(T::round(sin));
                    row[i][1].write(T::round(cos));
                }
            }
            for n in 0..N {
                if let [last] = rows[n].1 {
                    last.write(T::round(terms.sum(full, signs[n]).0));
                }
            }
        }
        Layout::Halves => {
            let mut rows = rows.map(|row| row[..width].split_at_mut(pairs));
            for i in 0..full {
                for n in 0..N {
                    let (sin, cos) = terms.sum(i, signs[n]);
                    let (sines, cosines) = &mut rows[n];
                    sines[i].write(T::round(sin));
                    cosines[i].write(T::round(cos));
                }
            }
            if full < pairs {
                for n in 0..N {
                    rows[n].0[full].write(T::round(terms.sum(full, signs[n]).0));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::vec;

    /// One frequency: the angle 0, and an angle with this sine and cosine.
    fn terms(of: &[[f64; 1]; 2]) -> Terms<'_> {
        Terms {
            sin_a: &[0.0],
            cos_a: &[1.0],
            sin_b: &of[0],
            cos_b: &of[1],
        }
    }

    /// Rows that a block leaves out, rows outside of any block, and columns without a frequency; in blocks that are
    /// zeroed first and in larger ones.
    #[test]
    fn what_is_not_written_is_zero() {
        for width in [3, ZEROED_BEFORE] {
            let row = |first: &[f32]| {
                let mut row = vec![0.0; width];
                row[..first.len()].copy_from_slice(first);
                row
            };
            let write = |start, rows: &mut NewRows<f32>| {
                if start == 0 {
                    rows.block(4, |block| {
                        let terms = |_| terms(&[[3.0], [4.0]]);
                        block.sums_around(1, 1, Layout::Interleaved, terms, false);
                    });
                }
            };
            let written = rows(7, width, [5, 1], || write).unwrap();
            let mut expected = vec![row(&[]); 7];
            (expected[0], expected[2]) = (row(&[-3.0, 4.0]), row(&[3.0, 4.0]));
            assert!(written == expected.concat(), "width {width}");
        }
    }

    #[test]
    fn every_row_is_given_once() {
        for (count, tasks) in [
            (0, [0, 1]),
            (1, [0, 1]),
            (7, [3, 2]),
            (7, [9, 1]),
            (8, [8, 8]),
        ] {
            let write = |start: usize, rows: &mut NewRows<f64>| {
                for i in 0..rows.len() {
                    let number = [[(start + i) as f64], [0.0]];
                    rows.block(1, |block| {
                        block.sum(0, Layout::Halves, terms(&number), false)
                    });
                }
            };
            let expected: Vec<f64> = (0..count).map(f64::from).collect();
            assert_eq!(
                rows(count as usize, 1, tasks, || write).unwrap(),
                expected,
                "{tasks:?}"
            );
        }
        let none = rows(3, 0, [1, 1], || |_, _: &mut NewRows<f32>| ()).unwrap();
        assert!(none.is_empty());
    }
}
