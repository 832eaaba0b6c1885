//! Exact rows of a [`Spectrum`], for any run of positions.
//!
//! The entry is `sin(ω p)`, with ω known to 100 bits and the angle reduced before it is rounded.
//! Taking that for every entry would cost a sine each. So a position is written in three digits,
//! p = 1024 s + 32 m + r, and the angle addition formulas
//!
//! ```text
//! sin(a + b) = sin a cos b + cos a sin b        cos(a + b) = cos a cos b − sin a sin b
//! ```
//!
//! put an entry together, in `f64`, from the exact sines and cosines of the three parts. Each of
//! the two sums adds at most 2.4e-16, so an `f64` entry stays within 1e-15 of the exact value and
//! an `f32` entry within 3.0e-8, of which 2.98e-8 is the rounding to `f32` itself. The digits
//! belong to the position and not to the run: a row has the same bits wherever the run starts.

use alloc::{vec, vec::Vec};
use core::mem::MaybeUninit;
use core::ops::Range;

use multiversion::multiversion;

use crate::double::Double;
use crate::error::{PositionError, expect};
use crate::spectrum::{Layout, MAX_POSITION, Spectrum};

/// A number that rows can be made of: `f32` or `f64`.
pub trait Entry: Copy + private::Sealed {
    /// The nearest number of this type.
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

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

impl Spectrum {
    /// The encodings of a run of positions, row by row: `positions.len() × d_model` entries.
    ///
    /// An `f32` entry is within 3.0e-8 of the exact value below position 2^24 and beyond, an `f64`
    /// entry within 1e-15 below 2^20. A row's bits do not depend on where the run starts.
    ///
    /// # Panics
    ///
    /// Where [`try_rows`](Self::try_rows) returns an error.
    ///
    /// ```
    /// let spectrum = pe_burn::Spectrum::new(4, 100.0);
    /// let rows: Vec<f32> = spectrum.rows(0..2);
    /// let (sin, cos) = (|x: f64| x.sin() as f32, |x: f64| x.cos() as f32);
    /// assert_eq!(rows, [0.0, 1.0, 0.0, 1.0, sin(1.0), cos(1.0), sin(0.1), cos(0.1)]);
    /// ```
    pub fn rows<T: Entry>(&self, positions: Range<usize>) -> Vec<T> {
        expect(self.try_rows(positions))
    }

    /// As [`rows`](Self::rows).
    ///
    /// # Errors
    ///
    /// [`PositionError::Overflow`] when the run goes past [`MAX_POSITION`];
    /// [`PositionError::TooLarge`] when there is no memory for so many rows.
    pub fn try_rows<T: Entry>(&self, positions: Range<usize>) -> Result<Vec<T>, PositionError> {
        if !positions.is_empty() && positions.end - 1 > MAX_POSITION {
            return Err(PositionError::Overflow {
                start: positions.start,
                seq: positions.len(),
                max: MAX_POSITION,
            });
        }
        Rotor::new(self).rows(positions)
    }

    /// The encodings of chosen positions, in their order: `positions.len() × d_model` entries with
    /// the same bits that [`rows`](Self::rows) gives these positions. Sorted positions are fastest.
    ///
    /// # Panics
    ///
    /// Where [`try_rows_at`](Self::try_rows_at) returns an error.
    pub fn rows_at<T: Entry>(&self, positions: &[usize]) -> Vec<T> {
        expect(self.try_rows_at(positions))
    }

    /// As [`rows_at`](Self::rows_at).
    ///
    /// # Errors
    ///
    /// [`PositionError::Overflow`] when a position is past [`MAX_POSITION`];
    /// [`PositionError::TooLarge`] when there is no memory for so many rows.
    pub fn try_rows_at<T: Entry>(&self, positions: &[usize]) -> Result<Vec<T>, PositionError> {
        match positions.iter().find(|&&position| position > MAX_POSITION) {
            Some(&start) => Err(PositionError::Overflow {
                start,
                seq: 1,
                max: MAX_POSITION,
            }),
            None => Rotor::new(self).rows(positions.iter().copied()),
        }
    }
}

/// How many values each of the two lower digits of a position has.
const DIGIT: usize = 32;

/// Puts rows together, and remembers the parts that neighbouring rows share.
struct Rotor<'a> {
    spectrum: &'a Spectrum,
    /// The angles of `ω · r` and of `ω · 32 m`, taken when first asked for.
    fine: Digit,
    middle: Digit,
    /// The angles of `ω · 1024 s` for the last `s`, and of the last block of 32 rows.
    segment: (Option<usize>, Angles),
    block: (Option<usize>, Angles),
}

/// `sin(ω_i a)` and `cos(ω_i a)` of one angle per frequency.
struct Angles {
    sin: Vec<f64>,
    cos: Vec<f64>,
}

/// The angles of `ω · unit · digit` for each value of a digit.
struct Digit {
    unit: usize,
    angles: [Option<Angles>; DIGIT],
}

impl<'a> Rotor<'a> {
    fn new(spectrum: &'a Spectrum) -> Self {
        let pairs = spectrum.doubles().len();
        Self {
            spectrum,
            fine: Digit::new(1),
            middle: Digit::new(DIGIT),
            segment: (None, Angles::zeros(pairs)),
            block: (None, Angles::zeros(pairs)),
        }
    }

    fn rows<T: Entry>(
        &mut self,
        positions: impl ExactSizeIterator<Item = usize>,
    ) -> Result<Vec<T>, PositionError> {
        let d_model = self.spectrum.d_model();
        let too_large = PositionError::TooLarge {
            rows: positions.len(),
            d_model,
        };
        let mut rows = Vec::new();
        // Zeroing the memory first would be a pass of its own, as long as the arithmetic.
        match positions.len().checked_mul(d_model) {
            Some(len) => rows.try_reserve_exact(len).map_err(|_| too_large)?,
            None => return Err(too_large),
        }
        let mut written = 0;
        let out = rows.spare_capacity_mut().chunks_exact_mut(d_model);
        for (row, position) in out.zip(positions) {
            self.turn_to_block(position / DIGIT);
            let step = self.fine.get(self.spectrum, position % DIGIT);
            write_row(row, self.spectrum.layout(), &self.block.1, step);
            written += row.len();
        }
        // SAFETY: the loop wrote every entry of `written / d_model` rows that lie one after the
        // other from the start of the spare capacity.
        unsafe { rows.set_len(written) };
        Ok(rows)
    }

    /// Makes `self.block` the angles of the first of 32 rows.
    fn turn_to_block(&mut self, block: usize) {
        if self.block.0 == Some(block) {
            return;
        }
        let segment = block / DIGIT;
        if self.segment.0 != Some(segment) {
            self.segment = (
                Some(segment),
                Angles::of(self.spectrum, segment * DIGIT * DIGIT),
            );
        }
        let middle = self.middle.get(self.spectrum, block % DIGIT);
        self.block.1.set_sum(&self.segment.1, middle);
        self.block.0 = Some(block);
    }
}

impl Digit {
    fn new(unit: usize) -> Self {
        Self {
            unit,
            angles: [const { None }; DIGIT],
        }
    }

    fn get(&mut self, spectrum: &Spectrum, value: usize) -> &Angles {
        self.angles[value].get_or_insert_with(|| Angles::of(spectrum, value * self.unit))
    }
}

impl Angles {
    fn zeros(pairs: usize) -> Self {
        Self {
            sin: vec![0.0; pairs],
            cos: vec![0.0; pairs],
        }
    }

    /// The exact angles of one position.
    fn of(spectrum: &Spectrum, position: usize) -> Self {
        let frequencies = spectrum.doubles();
        let mut angles = Self::zeros(frequencies.len());
        fill(&mut angles, frequencies, position as f64);
        angles
    }

    fn set_sum(&mut self, a: &Self, b: &Self) {
        let out = self.sin.iter_mut().zip(&mut self.cos);
        for ((sin, cos), (a, b)) in out.zip(a.pairs().zip(b.pairs())) {
            (*sin, *cos) = sum(a, b);
        }
    }

    fn pairs(&self) -> impl Iterator<Item = (f64, f64)> {
        self.sin.iter().copied().zip(self.cos.iter().copied())
    }
}

/// `(sin, cos)` of the sum of two angles.
#[inline(always)]
fn sum((sin_a, cos_a): (f64, f64), (sin_b, cos_b): (f64, f64)) -> (f64, f64) {
    (sin_a * cos_b + cos_a * sin_b, cos_a * cos_b - sin_a * sin_b)
}

/// Sets the exact angles of one position.
#[multiversion(targets("x86_64+avx2"))]
fn fill(angles: &mut Angles, frequencies: &[Double], position: f64) {
    let out = angles.sin.iter_mut().zip(&mut angles.cos);
    for ((sin, cos), omega) in out.zip(frequencies) {
        (*sin, *cos) = omega.sin_cos_of_multiple(position);
    }
}

/// Writes the row of the sum of two angles.
///
/// Compiled twice where the processor is only known at run time, the second time for 256-bit
/// vectors. No fused multiply-add: the bits are the same on every processor.
#[multiversion(targets("x86_64+avx2"))]
fn write_row<T: Entry>(row: &mut [MaybeUninit<T>], layout: Layout, a: &Angles, b: &Angles) {
    // Plain indices into slices of one known length: iterator adapters would not be inlined into
    // a function compiled for other instructions than theirs.
    let (pairs, full) = (row.len().div_ceil(2), row.len() / 2);
    let (sin_a, cos_a) = (&a.sin[..pairs], &a.cos[..pairs]);
    let (sin_b, cos_b) = (&b.sin[..pairs], &b.cos[..pairs]);
    match layout {
        Layout::Interleaved => {
            let (out, last) = row.as_chunks_mut::<2>();
            for i in 0..full {
                let (sin, cos) = sum((sin_a[i], cos_a[i]), (sin_b[i], cos_b[i]));
                out[i][0].write(T::round(sin));
                out[i][1].write(T::round(cos));
            }
            if let [last] = last {
                let (sin, _) = sum((sin_a[full], cos_a[full]), (sin_b[full], cos_b[full]));
                last.write(T::round(sin));
            }
        }
        Layout::Halves => {
            let (sines, cosines) = row.split_at_mut(pairs);
            for i in 0..full {
                let (sin, cos) = sum((sin_a[i], cos_a[i]), (sin_b[i], cos_b[i]));
                sines[i].write(T::round(sin));
                cosines[i].write(T::round(cos));
            }
            if let Some(last) = sines.get_mut(full) {
                let (sin, _) = sum((sin_a[full], cos_a[full]), (sin_b[full], cos_b[full]));
                last.write(T::round(sin));
            }
        }
    }
}
