//! What every scaling of RoPE provides, and what is checked of several.

use alloc::string::String;

use crate::error::{PositionError, check_number};
use crate::rotate::scaling::fields::{Fields, ORIGINAL};
use crate::spectrum::Spectrum;

/// What every scaling of RoPE provides.
pub(crate) trait Scaling {
    /// The names of its fields.
    fn fields() -> &'static [&'static str]
    where
        Self: Sized;

    /// Reads its fields. The error says what it needs, as in "needs `factor`".
    fn read(fields: &Fields) -> Result<Self, String>
    where
        Self: Sized;

    /// Refuses settings that the scaling cannot work with, for a spectrum of `pairs` frequencies.
    fn check(&self, pairs: usize) -> Result<(), PositionError>;

    /// The spectrum for inputs of `seq` tokens. [`check`](Self::check) has passed.
    fn apply(&self, spectrum: Spectrum, seq: usize) -> Result<Spectrum, PositionError>;

    /// What queries and keys are both multiplied by.
    fn attention_factor(&self) -> f64 {
        1.0
    }

    /// The length beyond which the frequencies depend on the length of the input; `None` if they
    /// never do.
    fn changes_beyond(&self) -> Option<usize> {
        None
    }

    /// Whether it sets frequencies to 0, for which there is no rotation.
    fn stops_frequencies(&self) -> bool {
        false
    }

    /// Whether the frequencies beyond that length differ from one length to the next. If not, all
    /// longer inputs share the same ones, so that their rows can be buffered.
    fn varies_with_length(&self) -> bool {
        false
    }
}

/// Refuses a factor that is no ratio of lengths. One below 1 is for shorter inputs than in training.
pub(super) fn check_factor(factor: f64) -> Result<(), PositionError> {
    let fits = factor.is_finite() && factor > 0.0;
    check_number(fits, "factor", factor, "finite and above 0")
}

/// Refuses a trained length whose logarithm is 0 or less.
pub(super) fn check_original(length: usize) -> Result<(), PositionError> {
    check_number(length >= 2, ORIGINAL, length, "at least 2")
}
