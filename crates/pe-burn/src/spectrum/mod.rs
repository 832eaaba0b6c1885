//! The angular frequencies of a sinusoidal encoding, in `f64`. Only `buffer` and `axis_rows`
//! have tensors.

pub(crate) mod axis_rows;
pub(crate) mod buffer;
pub(crate) mod double;
mod formula;
mod rows;

pub use formula::Formula;

use alloc::format;
use alloc::{vec, vec::Vec};
use core::f64::consts::TAU;

use crate::error::{PositionError, check_size};
use crate::layout::Layout;
use crate::positions::MAX_POSITION;
use double::Double;

/// The base of the original paper: wavelengths from 2π to 10 000 · 2π.
pub const DEFAULT_BASE: f64 = 10_000.0;

/// The largest frequency that may be given, in radians per position: 2^20. With it, angles are reduced
/// exactly at all positions below 2^32.
const MAX_FREQUENCY: f64 = 1_048_576.0;

/// The angular frequencies ω_i = base^(−2i/d_model), `i` from 0 to ⌈d_model/2⌉ − 1, and the
/// layout of their sines and cosines in a row of width `d_model`.
///
/// The encoding of position `p` is the row of all `sin(ω_i p)` and `cos(ω_i p)`: §3.5 of Vaswani
/// et al., [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762), 2017. The frequencies
/// are held to about 100 bits, so that the rows made from them ([`rows`](Self::rows)) are exact at
/// far positions too.
///
/// ```
/// use pe_burn::Spectrum;
///
/// let spectrum = Spectrum::new(512, 10_000.0)?;
/// assert_eq!(spectrum.frequencies()[0], 1.0); // radians per position
/// assert_eq!(spectrum.wavelengths()[0], core::f64::consts::TAU); // positions per turn
/// // The similarity of the encodings of two positions depends on their distance alone.
/// assert!((spectrum.similarity(8)? - 0.7225201).abs() < 1e-7);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
///
/// Other libraries space their frequencies differently; a [`Formula`] in place of the base gives
/// theirs:
///
/// ```
/// use pe_burn::{Formula, Layout, Spectrum};
///
/// let fairseq = Spectrum::new(512, Formula::FAIRSEQ)?;
/// assert_eq!((fairseq.layout(), fairseq.offset()), (Layout::Halves, 2));
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    d_model: usize,
    base: f64,
    layout: Layout,
    cos_first: bool,
    amplitude: f64,
    /// Added to every position.
    offset: usize,
    /// ⌊d_model/2⌋ or ⌈d_model/2⌉ of them.
    frequencies: Vec<Double>,
}

impl Spectrum {
    /// ω_i = base^(−2i/d_model), interleaved.
    fn of_base(d_model: usize, base: f64) -> Result<Self, PositionError> {
        if !base.is_finite() || base <= 1.0 {
            let bound =
                "finite and greater than 1, so that the frequencies base^(-2i/d_model) decrease";
            return Err(PositionError::number("base", base, bound));
        }
        let ratio = Double::quotient(-2.0, d_model as f64)
            .mul(Double::ln(base))
            .exp();
        let powers = core::iter::successors(Some(Double::ONE), |last| Some(last.mul(ratio)));
        let frequencies = powers.take(d_model.div_ceil(2)).collect();
        Ok(Self::with_frequencies(d_model, base, frequencies))
    }

    fn with_frequencies(d_model: usize, base: f64, frequencies: Vec<Double>) -> Self {
        Self {
            d_model,
            base,
            layout: Layout::default(),
            cos_first: false,
            amplitude: 1.0,
            offset: 0,
            frequencies,
        }
    }

    /// ω_i = first · e^(−log_range · i/steps), for `pairs` frequencies.
    fn geometric(
        d_model: usize,
        pairs: usize,
        first: Double,
        log_range: Double,
        steps: f64,
    ) -> Self {
        let power = |i: usize| log_range.mul(Double::quotient(-(i as f64), steps)).exp();
        let frequencies = (0..pairs).map(|i| first.mul(power(i))).collect();
        let base = libm::exp(log_range.hi * d_model as f64 / (2.0 * steps));
        Self::with_frequencies(d_model, base, frequencies)
    }

    /// This spectrum with every frequency ω_i replaced by `frequency(i, ω_i)`.
    pub(crate) fn map(self, frequency: impl Fn(usize, Double) -> Double) -> Self {
        let number = self.frequencies.iter().copied().enumerate();
        let frequencies = number.map(|(i, omega)| frequency(i, omega)).collect();
        Self {
            frequencies,
            ..self
        }
    }

    /// The spectrum of given frequencies, in radians per position: those of a checkpoint (`inv_freq`), or
    /// of a formula that is not here. Interleaved; rows are `2 · frequencies.len()` wide.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for an empty list, and for a frequency that is negative, not finite or
    /// above 2^20.
    pub fn from_frequencies(frequencies: &[f64]) -> Result<Self, PositionError> {
        check_size("the number of frequencies", frequencies.len())?;
        let is_out = |omega: &&f64| !(0.0..=MAX_FREQUENCY).contains(*omega);
        if let Some(bad) = frequencies.iter().find(is_out) {
            let bound = format!("from 0 to {MAX_FREQUENCY}");
            return Err(PositionError::number("a frequency", *bad, bound));
        }
        let exact = |omega: &f64| Double {
            hi: *omega,
            lo: 0.0,
        };
        let frequencies: Vec<Double> = frequencies.iter().map(exact).collect();
        let width = 2 * frequencies.len();
        Ok(Self::with_frequencies(width, DEFAULT_BASE, frequencies))
    }

    /// Some of the pairs: the frequencies with these indices, in this order.
    pub(crate) fn pick(&self, pairs: &[usize]) -> Self {
        Self {
            d_model: 2 * pairs.len(),
            frequencies: pairs.iter().map(|pair| self.frequencies[*pair]).collect(),
            ..self.clone()
        }
    }

    /// This spectrum behind `pairs` pairs of frequency 0, which are not rotated.
    pub(crate) fn behind_unturned(mut self, pairs: usize) -> Self {
        self.frequencies.splice(0..0, vec![Double::ZERO; pairs]);
        self.d_model += 2 * pairs;
        self
    }

    /// This spectrum with every frequency multiplied by a factor.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] where a frequency would be above [`MAX_FREQUENCY`].
    pub(crate) fn sped_up(self, factor: f64) -> Result<Self, PositionError> {
        let sped_up = self.map(|_, omega| omega.times(factor));
        let mut numbers = sped_up.frequencies.iter().map(|omega| omega.hi);
        match numbers.find(|omega| *omega > MAX_FREQUENCY) {
            Some(fast) => {
                let name = "a frequency times the scale of its axis";
                let bound = format!("at most {MAX_FREQUENCY}");
                Err(PositionError::number(name, fast, bound))
            }
            None => Ok(sped_up),
        }
    }

    /// This spectrum with another layout of the columns.
    pub fn with_layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// This spectrum with its rows multiplied by a factor.
    pub(crate) fn with_amplitude(self, amplitude: f64) -> Self {
        Self { amplitude, ..self }
    }

    /// This spectrum with every cosine in the column of its sine, and every sine in that of its cosine.
    fn with_cos_first(self, cos_first: bool) -> Self {
        Self { cos_first, ..self }
    }

    /// This spectrum with the row of position `p + offset` at position `p`.
    fn with_offset(self, offset: usize) -> Self {
        Self { offset, ..self }
    }

    /// The width of a row.
    pub fn d_model(&self) -> usize {
        self.d_model
    }

    /// The base of the powers in ω_i = ω_0 · base^(−2i/d_model), before any scaling; the paper's where the
    /// frequencies were given.
    pub fn base(&self) -> f64 {
        self.base
    }

    /// Which column holds which sine and cosine.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Whether each pair has its cosine before its sine.
    pub fn cos_first(&self) -> bool {
        self.cos_first
    }

    /// The factor of every sine and cosine: 1, except for formulas that scale their encoding and for
    /// the fixed gain of a module.
    pub fn amplitude(&self) -> f64 {
        self.amplitude
    }

    /// Added to a position before it is multiplied by the frequencies: 0, except for
    /// [`Formula::Fairseq`].
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The largest position whose angles can be reduced modulo 2π exactly: [`MAX_POSITION`], or less
    /// where a frequency is above 1.
    pub fn max_position(&self) -> usize {
        self.reach().saturating_sub(self.offset)
    }

    /// The largest number of positions whose angles can be reduced.
    fn reach(&self) -> usize {
        let frequencies = self.frequencies.iter().map(|omega| omega.hi);
        let highest = frequencies.fold(1.0, f64::max);
        (MAX_POSITION as f64 / highest) as usize
    }

    fn distance(&self, offset: isize) -> Result<f64, PositionError> {
        match (offset.unsigned_abs(), self.reach()) {
            (distance, max) if distance <= max => Ok(distance as f64),
            (_, max) => {
                let bound = format!("at most {max}, the largest distance of two positions");
                Err(PositionError::number("offset", offset, bound))
            }
        }
    }

    /// ω_i in radians per position, highest first unless they were given otherwise; ⌈d_model/2⌉ of them, or ⌊d_model/2⌋ where a
    /// formula ends an odd width in a column of zeros.
    pub fn frequencies(&self) -> Vec<f64> {
        self.frequencies.iter().map(|omega| omega.hi).collect()
    }

    /// λ_i = 2π/ω_i, the positions in one turn, in the order of the frequencies; infinite where a pair does not
    /// turn.
    pub fn wavelengths(&self) -> Vec<f64> {
        let turn = |omega: &Double| TAU / omega.hi;
        self.frequencies.iter().map(turn).collect()
    }

    /// The cosine similarity of the encodings of two positions that are `offset` apart, in closed
    /// form: the mean of `cos(ω_i · offset)`, in \[−1, 1\].
    ///
    /// It follows from cos(a − b) = cos a cos b + sin a sin b. An odd `d_model` lacks the last cosine;
    /// it is counted as if it were there, since the similarity would otherwise depend on the positions
    /// and not on their distance alone.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for an `offset` larger than any distance of two positions.
    pub fn similarity(&self, offset: isize) -> Result<f64, PositionError> {
        let distance = self.distance(offset)?;
        let sum: f64 = self
            .frequencies
            .iter()
            .map(|omega| omega.sin_cos_of_multiple(distance).1)
            .sum();
        Ok(sum / self.frequencies.len() as f64)
    }

    /// The matrix R(k), `[d_model][d_model]`, with PE(p + k) = R(k) · PE(p) for every `p`: §3.5 of the
    /// paper names it as the reason for sines and cosines. Every (sin, cos) pair is rotated by its own
    /// angle ω_i k. A negative `k` shifts back.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for an odd `d_model`, whose last sine has no cosine to rotate with,
    /// and for a `k` larger than any distance of two positions.
    ///
    /// ```
    /// let spectrum = pe_burn::Spectrum::new(4, 10_000.0)?;
    /// let (here, there) = (spectrum.rows::<f64>(3..4)?, spectrum.rows::<f64>(10..11)?);
    /// for (line, exact) in spectrum.shift_matrix(7)?.iter().zip(&there) {
    ///     let shifted: f64 = line.iter().zip(&here).map(|(r, x)| r * x).sum();
    ///     assert!((shifted - exact).abs() < 1e-15);
    /// }
    /// # Ok::<(), pe_burn::PositionError>(())
    /// ```
    pub fn shift_matrix(&self, k: isize) -> Result<Vec<Vec<f64>>, PositionError> {
        let (d_model, paired) = (self.d_model, 2 * self.frequencies.len());
        if paired > d_model {
            let bound = "even, since the last sine of an odd width has no cosine";
            return Err(PositionError::number("d_model", d_model, bound));
        }
        let distance = self.distance(k)?;
        let mut matrix = vec![vec![0.0; d_model]; d_model];
        // A column of zeros, where there is one, stays.
        (paired..d_model).for_each(|last| matrix[last][last] = 1.0);
        for (i, omega) in self.frequencies.iter().enumerate() {
            let (sin, cos) = omega.sin_cos_of_multiple(distance);
            let sin = if (k < 0) == self.cos_first { sin } else { -sin };
            let (s, c) = self.layout.columns(i, paired);
            (matrix[s][s], matrix[s][c]) = (cos, sin);
            (matrix[c][c], matrix[c][s]) = (cos, -sin);
        }
        Ok(matrix)
    }

    pub(crate) fn doubles(&self) -> &[Double] {
        &self.frequencies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::string::ToString;

    use crate::testing::{assert_says, refusal, refused};

    fn product(matrix: &[Vec<f64>], row: &[f64]) -> Vec<f64> {
        let dot = |line: &Vec<f64>| line.iter().zip(row).map(|(m, x)| m * x).sum();
        matrix.iter().map(dot).collect()
    }

    #[test]
    fn frequencies_and_wavelengths_follow_the_formula() {
        let spectrum = Spectrum::new(7, 500.0).unwrap();
        assert_eq!(spectrum.frequencies().len(), 4);
        let waves = spectrum
            .frequencies()
            .into_iter()
            .zip(spectrum.wavelengths());
        for (i, (omega, lambda)) in waves.enumerate() {
            let power = libm::pow(500.0, 2.0 * i as f64 / 7.0);
            assert!((omega * power - 1.0).abs() < 1e-14);
            assert!((lambda / (TAU * power) - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn similarity_has_the_published_values() {
        let similarity = |d_model, base, offset| {
            let spectrum = Spectrum::new(d_model, base).unwrap();
            spectrum.similarity(offset).unwrap()
        };
        // Positions 2 and 10 at d = 512; base 1e8 is what a doubled exponent computes.
        assert!((similarity(512, 1e4, 8) - 0.722_520_1).abs() < 5e-8);
        assert!((similarity(512, 1e8, -8) - 0.860_001_3).abs() < 5e-8);
        assert_eq!(similarity(3, 1e4, 0), 1.0);
    }

    #[test]
    fn similarity_is_the_cosine_of_two_rows() {
        let spectrum = Spectrum::new(64, 1e4).unwrap();
        let rows: Vec<f64> = spectrum.rows(5..30).unwrap();
        let (a, b) = (&rows[..64], &rows[24 * 64..]);
        let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        assert!((dot / 32.0 - spectrum.similarity(24).unwrap()).abs() < 1e-14);
    }

    #[test]
    fn the_shift_matrix_takes_a_row_to_the_shifted_row() {
        let cosines_first = Formula::Diffusers {
            flip_sin_to_cos: true,
            downscale_freq_shift: 0.0,
            scale: 2.0,
            max_period: 100.0,
        };
        for (spectrum, tolerance) in [
            (Spectrum::new(6, 1e4), 1e-15),
            (Spectrum::new(6, Formula::Marian {}), 1e-15),
            // An odd width that ends in a column of zeros.
            (Spectrum::new(7, Formula::FAIRSEQ), 1e-14),
            (Spectrum::new(7, cosines_first), 1e-14),
        ] {
            let spectrum = spectrum.unwrap();
            for (from, k) in [(1_000_usize, -400), (20, -13), (20, 5)] {
                let to = from.strict_add_signed(k);
                let row: Vec<f64> = spectrum.rows(from..from + 1).unwrap();
                let exact: Vec<f64> = spectrum.rows(to..to + 1).unwrap();
                let shifted = product(&spectrum.shift_matrix(k).unwrap(), &row);
                for (shifted, exact) in shifted.iter().zip(exact) {
                    assert!((shifted - exact).abs() < tolerance, "{spectrum:?} {k}");
                }
            }
        }
    }

    /// With frequencies above 1 the angles of far positions cannot be reduced.
    #[test]
    fn offsets_beyond_the_largest_distance_are_refused() {
        let fast = Formula::Diffusers {
            flip_sin_to_cos: false,
            downscale_freq_shift: 1.0,
            scale: 1000.0,
            max_period: 1e4,
        };
        let fast = Spectrum::new(4, fast).unwrap();
        let last = 4_503_599_627_370;
        assert!(fast.similarity(last).unwrap().abs() <= 1.0);
        let error = fast.similarity(last + 1).unwrap_err();
        let words = "offset must be at most 4503599627370, the largest distance of two positions; \
                     got 4503599627371";
        assert_says(&error.to_string(), words);
        assert_eq!(fast.shift_matrix(last + 1), Err(error));
    }

    #[test]
    fn bad_input_is_refused_with_its_value_and_bound() {
        for base in [1.0, 0.5, 0.0, -3.0, f64::INFINITY, f64::NAN] {
            let words = format!(
                "base must be finite and greater than 1, so that the frequencies \
                 base^(-2i/d_model) decrease; got {base}"
            );
            assert_says(&refusal(Spectrum::new(4, base)), &words);
        }
        refused! {
            |result| result;
            Spectrum::new(0, 1e4) => "d_model must be at least 1; got 0",
            // The last of the wavelengths 2π · base^(2i/d_model) is more than an f64 holds.
            Spectrum::new(65_536, 1e308) =>
                "a frequency must be finite and above 0, as its wavelength 2π / frequency; got …",
            Spectrum::new(3, 1e4).unwrap().shift_matrix(1) =>
                "d_model must be even, since the last sine of an odd width has no cosine; got 3",
        }
        Spectrum::new(65_536, 2.8e307).unwrap();
    }

    #[test]
    fn offsets_and_positions_past_the_largest_position_are_refused() {
        let spectrum = Spectrum::new(8, 1e4).unwrap();
        let far = MAX_POSITION as isize;
        assert!((-1.0..=1.0).contains(&spectrum.similarity(far).unwrap()));
        for offset in [far + 1, -far - 1, isize::MAX, isize::MIN] {
            let error = PositionError::Number {
                name: "offset".into(),
                value: offset.to_string(),
                bound: "at most 4503599627370495, the largest distance of two positions".into(),
            };
            assert_eq!(spectrum.similarity(offset), Err(error.clone()));
            assert_eq!(spectrum.shift_matrix(offset), Err(error));
        }
        let error = spectrum.rows_at::<f32>(&[3, MAX_POSITION + 1]).unwrap_err();
        assert!(
            matches!(error, PositionError::Overflow { start, seq: 1, .. } if start == MAX_POSITION + 1)
        );
    }

    #[test]
    fn a_short_wavelength_brings_the_last_position_nearer() {
        let fast = Formula::Wavelengths {
            min: 0.5,
            max: 100.0,
        };
        let fast = Spectrum::new(4, fast).unwrap();
        let last = fast.max_position();
        assert_eq!(last, 358_385_071_201_416);
        assert!(fast.rows::<f64>(last..last + 1).is_ok());
        assert!(fast.rows::<f64>(last..last + 2).is_err());
        assert!(fast.rows_at_times::<f64>(&[-(last as f64) - 1.0]).is_err());
    }
}
