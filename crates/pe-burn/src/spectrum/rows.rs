//! Exact rows of a [`Spectrum`], for any run of positions.
//!
//! An element is `sin(ω p)` or `cos(ω p)`, with ω known to 100 bits and the angle reduced modulo 2π
//! before it is rounded. That costs an exact sine, too much for every element. So a position is written
//! in three digits,
//! p = 1024 s + 32 m + r with −16 ≤ m, r < 16, and the angle addition formulas
//!
//! ```text
//! sin(a + b) = sin a cos b + cos a sin b        cos(a + b) = cos a cos b − sin a sin b
//! ```
//!
//! put an element together, in `f64`, from the exact sines and cosines of the three parts. Each of
//! the two sums adds at most 2.4e-16, so an `f64` element stays within 1e-15 of the exact value and
//! an `f32` element within 3.0e-8, of which 2.98e-8 is the rounding to `f32` itself. The digits
//! belong to the position and not to the run: a row has the same bits wherever the run starts, and
//! whichever thread writes it.

use alloc::{vec, vec::Vec};
use core::ops::Range;

use multiversion::multiversion;

use super::Spectrum;
use super::double::Double;
use crate::backend::memory::check_room;
use crate::backend::rows::{Block, Entry, NewRows, Terms, rows, sign};
use crate::backend::threads;
use crate::error::PositionError;

impl Spectrum {
    /// The encodings of consecutive positions, row by row: `positions.len() × d_model` elements of type
    /// `f32` or `f64`.
    ///
    /// An `f32` element is the exact value rounded, within 3.0e-8 at every position; an `f64` element is within 1e-15 of it
    /// below position 2^20. Where the [`amplitude`](Self::amplitude) is not 1, it multiplies both before they are rounded: an `f32`
    /// element is then within 6.0e-8 times the amplitude. The bits of a row do not depend on where the range starts.
    ///
    /// # Errors
    ///
    /// [`PositionError::Overflow`] when the range goes past [`max_position`](Self::max_position);
    /// [`PositionError::TooLarge`] when the rows do not fit into memory.
    ///
    /// ```
    /// let spectrum = pe_burn::Spectrum::new(4, 100.0)?;
    /// let rows: Vec<f32> = spectrum.rows(0..2)?;
    /// let (sin, cos) = (|x: f64| x.sin() as f32, |x: f64| x.cos() as f32);
    /// assert_eq!(rows, [0.0, 1.0, 0.0, 1.0, sin(1.0), cos(1.0), sin(0.1), cos(0.1)]);
    /// # Ok::<(), pe_burn::PositionError>(())
    /// ```
    pub fn rows<T: Entry>(&self, positions: Range<usize>) -> Result<Vec<T>, PositionError> {
        let (start, seq, max) = (positions.start, positions.len(), self.max_position());
        if seq > 0 && start.saturating_add(seq - 1) > max {
            return Err(PositionError::Overflow { start, seq, max });
        }
        rows_of(self, seq, |i| start + i)
    }

    /// The encodings of given positions, in their order: `positions.len() × d_model` elements, with the
    /// same bits that [`rows`](Self::rows) gives. Sorted positions are fastest.
    ///
    /// # Errors
    ///
    /// [`PositionError::Overflow`] when a position is past [`max_position`](Self::max_position);
    /// [`PositionError::TooLarge`] when the rows do not fit into memory.
    pub fn rows_at<T: Entry>(&self, positions: &[usize]) -> Result<Vec<T>, PositionError> {
        let max = self.max_position();
        if let Some(&start) = positions.iter().find(|position| **position > max) {
            return Err(PositionError::Overflow { start, seq: 1, max });
        }
        rows_of(self, positions.len(), |i| positions[i])
    }

    /// The encodings of real-valued positions, in their order: `times.len() × d_model` elements. Every
    /// sine is computed; for whole positions [`rows_at`](Self::rows_at) is many times as fast.
    ///
    /// # Errors
    ///
    /// [`PositionError::TimeOutOfRange`] when a time is not a number or farther than
    /// [`max_position`](Self::max_position) from 0; [`PositionError::TooLarge`] when the rows do not
    /// fit into memory.
    pub fn rows_at_times<T: Entry>(&self, times: &[f64]) -> Result<Vec<T>, PositionError> {
        let max = self.max_position() as f64;
        if let Some(i) = times.iter().position(|time| !(-max..=max).contains(time)) {
            return Err(PositionError::TimeOutOfRange {
                time: times[i],
                axis: None,
                row: 0,
                token: i,
                max: self.max_position(),
            });
        }
        let pairs = self.doubles().len();
        let zero = Angles::of(self, 0);
        let all = [times.len(), 1];
        let write = |_, rows: &mut NewRows<T>| {
            let mut angles = Angles::zeros(pairs);
            for time in times {
                let time = time + self.offset() as f64;
                fill(&mut angles, self.doubles(), time.abs());
                if time < 0.0 {
                    angles.both_mut().0.iter_mut().for_each(|sin| *sin = -*sin);
                }
                self.finish(&mut angles);
                rows.block(1, |block| self.write(block, 0, [&angles, &zero], false));
            }
        };
        rows(times.len(), self.d_model(), all, || write)
    }

    /// Prepares exact angles for [`write`](Self::write): multiplies their sines and cosines by the
    /// amplitude, and swaps the two where cosines come first (that is the angle π/2 − a). The sum of two
    /// angles is linear in the sines and cosines of each, so this is needed for one in 32 rows only.
    fn finish(&self, angles: &mut Angles) {
        let amplitude = self.amplitude();
        if amplitude != 1.0 {
            angles
                .numbers
                .iter_mut()
                .for_each(|entry| *entry *= amplitude);
        }
        if self.cos_first() {
            core::mem::swap(&mut angles.sin, &mut angles.cos);
        }
    }

    /// Writes a row: the sum of finished angles and a step, or their difference if `opposite`.
    fn write<T: Entry>(&self, block: &mut Block<T>, row: usize, sum: [&Angles; 2], opposite: bool) {
        // Where cosines come first the angles are π/2 − a, so the step has the other sign.
        let opposite = opposite != self.cos_first();
        block.sum(row, self.layout(), terms(sum), opposite);
    }
}

/// The number of values of each of the two lower digits of a position; half of them are negative.
const DIGIT: usize = 32;

const HALF: usize = DIGIT / 2;

/// Added to a position, so that its lower digits are not negative: each is the signed digit plus
/// [`HALF`].
const DIGIT_OFFSET: usize = HALF * (DIGIT + 1);

/// The number of elements that a thread takes at a time: half a megabyte, 30 µs of work.
const ELEMENTS_PER_TASK: usize = 1 << 17;

/// The rows of `len` positions.
fn rows_of<T: Entry>(
    spectrum: &Spectrum,
    len: usize,
    position: impl Fn(usize) -> usize + Sync,
) -> Result<Vec<T>, PositionError> {
    let d_model = spectrum.d_model();
    let position = |i| position(i) + spectrum.offset();
    check_room::<T>(len, d_model)?; // before the loop over all positions

    let (mut fine, mut middle) = ([false; HALF + 1], [false; HALF + 1]);
    for i in 0..len {
        let shifted = position(i) + DIGIT_OFFSET;
        fine[(shifted % DIGIT).abs_diff(HALF)] = true;
        middle[(shifted / DIGIT % DIGIT).abs_diff(HALF)] = true;
    }
    let (fine, middle) = threads::join(
        len * d_model > ELEMENTS_PER_TASK,
        || Digit::new(spectrum, 1, fine),
        || Digit::new(spectrum, DIGIT, middle),
    );
    let rows_per_task = ELEMENTS_PER_TASK.div_ceil(d_model).next_multiple_of(DIGIT);
    let first = match len > rows_per_task {
        // Of consecutive positions every task but the first begins with a whole block.
        true => rows_per_task - (position(0) + DIGIT_OFFSET) % DIGIT,
        false => len,
    };
    let tasks = [first, rows_per_task];
    rows(len, d_model, tasks, || {
        // A thread keeps its angles of 1024 rows from task to task.
        let mut rotor = Rotor::new(spectrum, &fine, &middle);
        let position = &position;
        move |start, rows: &mut NewRows<T>| {
            let end = start + rows.len();
            let mut i = start;
            while i < end {
                // The rows up to the end of a block of consecutive positions.
                let first = position(i);
                let left = DIGIT - (first + DIGIT_OFFSET) % DIGIT;
                let follows = |n: &usize| i + n < end && position(i + n) == first + n;
                let run = (1..left).take_while(follows).count() + 1;
                rows.block(run, |block| rotor.write(first, run, block));
                i += run;
            }
        }
    })
}

/// `sin(ω_i a)` and `cos(ω_i a)` of one angle per frequency, in one piece of memory.
struct Angles {
    numbers: Vec<f64>,
    sin: Range<usize>,
    cos: Range<usize>,
}

/// The exact angles `ω · unit · magnitude` of a lower digit, for the magnitudes that are needed.
struct Digit([Option<Angles>; HALF + 1]);

/// Writes rows as sums of three angles.
struct Rotor<'a> {
    spectrum: &'a Spectrum,
    fine: &'a Digit,
    middle: &'a Digit,
    /// The angles of `ω · 1024 s` for the latest `s`, and those of the latest block of 32 rows.
    segment: (Option<usize>, Angles),
    block: (Option<usize>, Angles),
}

impl Digit {
    fn new(spectrum: &Spectrum, unit: usize, needed: [bool; HALF + 1]) -> Self {
        let mut angles = [const { None }; HALF + 1];
        for (magnitude, _) in needed.iter().enumerate().filter(|(_, needed)| **needed) {
            angles[magnitude] = Some(Angles::of(spectrum, magnitude * unit));
        }
        Self(angles)
    }

    #[inline]
    fn get(&self, magnitude: usize) -> &Angles {
        let angles = self.0[magnitude].as_ref();
        angles.expect("the digits of every position are needed")
    }
}

impl<'a> Rotor<'a> {
    fn new(spectrum: &'a Spectrum, fine: &'a Digit, middle: &'a Digit) -> Self {
        let pairs = spectrum.doubles().len();
        Self {
            spectrum,
            fine,
            middle,
            segment: (None, Angles::zeros(pairs)),
            block: (None, Angles::zeros(pairs)),
        }
    }

    /// Writes the rows of `count` positions, all of them with the same two upper digits.
    fn write<T: Entry>(&mut self, position: usize, count: usize, rows: &mut Block<T>) {
        let shifted = position + DIGIT_OFFSET;
        self.turn_to_block(shifted / DIGIT);
        let block = &self.block.1;
        let first = shifted % DIGIT;
        let end = first + count;
        // The number of rows on both sides of the middle of the block, which are written in pairs.
        let sides = HALF.saturating_sub(first).min(end.saturating_sub(HALF + 1));
        let (below, above) = (HALF - sides, (HALF + 1 + sides).max(first));
        let middle = HALF.max(first)..(HALF + 1).min(end);
        for digit in (first..below.min(end)).chain(middle).chain(above..end) {
            let sum = [block, self.fine.get(digit.abs_diff(HALF))];
            self.spectrum.write(rows, digit - first, sum, digit < HALF);
        }
        if sides > 0 {
            // Where cosines come first the angles are π/2 − a, as in `Spectrum::write`.
            let (layout, opposite) = (self.spectrum.layout(), self.spectrum.cos_first());
            let sum = |magnitude| terms([block, self.fine.get(magnitude)]);
            rows.sums_around(HALF - first, sides, layout, sum, opposite);
        }
    }

    /// Makes `self.block` the angles of a block of 32 rows.
    fn turn_to_block(&mut self, block: usize) {
        if self.block.0 == Some(block) {
            return;
        }
        let segment = block / DIGIT;
        if self.segment.0 != Some(segment) {
            let angles = Angles::of(self.spectrum, segment * DIGIT * DIGIT);
            self.segment = (Some(segment), angles);
        }
        let digit = block % DIGIT;
        let middle = self.middle.get(digit.abs_diff(HALF));
        add(&mut self.block.1, &self.segment.1, middle, digit < HALF);
        self.spectrum.finish(&mut self.block.1);
        self.block.0 = Some(block);
    }
}

impl Angles {
    /// Sines and cosines each start where a cache line (64 bytes, as the widest vector registers) does: loading a vector that
    /// lies across two lines takes twice as long.
    fn zeros(pairs: usize) -> Self {
        const LINE: usize = 64 / size_of::<f64>();
        let apart = pairs.next_multiple_of(LINE);
        let numbers = vec![0.0_f64; 2 * apart + LINE - 1];
        // The start only matters for speed, so it is no error when `align_offset` knows none.
        let start = numbers.as_ptr().align_offset(64).min(LINE - 1);
        Self {
            numbers,
            sin: start..start + pairs,
            cos: start + apart..start + apart + pairs,
        }
    }

    /// The exact angles of one position.
    fn of(spectrum: &Spectrum, position: usize) -> Self {
        let frequencies = spectrum.doubles();
        let mut angles = Self::zeros(frequencies.len());
        match position {
            0 => angles.both_mut().1.fill(1.0),
            _ => fill(&mut angles, frequencies, position as f64),
        }
        angles
    }

    #[inline(always)]
    fn sin(&self) -> &[f64] {
        &self.numbers[self.sin.clone()]
    }

    #[inline(always)]
    fn cos(&self) -> &[f64] {
        &self.numbers[self.cos.clone()]
    }

    /// The sines and the cosines.
    #[inline(always)]
    fn both_mut(&mut self) -> (&mut [f64], &mut [f64]) {
        let ranges = [self.sin.clone(), self.cos.clone()];
        let [sin, cos] = self.numbers.get_disjoint_mut(ranges).expect("apart");
        (sin, cos)
    }
}

/// Sets the exact angles of one position.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2"))]
fn fill(angles: &mut Angles, frequencies: &[Double], position: f64) {
    let pairs = frequencies.len();
    let (sin, cos) = angles.both_mut();
    let (sin, cos) = (&mut sin[..pairs], &mut cos[..pairs]);
    for i in 0..pairs {
        (sin[i], cos[i]) = frequencies[i].sin_cos_of_multiple(position);
    }
}

/// Sets the sums of two angles, or of one and the opposite of the other.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2"))]
fn add(out: &mut Angles, a: &Angles, b: &Angles, opposite: bool) {
    let (sin, cos) = out.both_mut();
    let pairs = sin.len();
    let cos = &mut cos[..pairs];
    let terms = terms([a, b]).first(pairs);
    for i in 0..pairs {
        (sin[i], cos[i]) = terms.sum(i, sign(opposite));
    }
}

#[inline(always)]
fn terms<'a>([a, b]: [&'a Angles; 2]) -> Terms<'a> {
    Terms {
        sin_a: a.sin(),
        cos_a: a.cos(),
        sin_b: b.sin(),
        cos_b: b.cos(),
    }
}

#[cfg(test)]
mod tests;
