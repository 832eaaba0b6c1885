//! The angular frequencies of a sinusoidal encoding, in `f64`, without a tensor in sight.

use alloc::{vec, vec::Vec};

use crate::double::Double;
use crate::error::{PositionError, expect};
use crate::layout::Layout;
use crate::memory::room;

/// The largest position: 2^52 − 1, up to which the angle of a position can be reduced.
pub const MAX_POSITION: usize = if usize::BITS > 52 {
    ((1_u64 << 52) - 1) as usize
} else {
    usize::MAX - 1_024 // room for sums with small numbers
};

/// The base of the original paper: wavelengths from 2π to 10 000 · 2π.
pub const DEFAULT_BASE: f64 = 10_000.0;

pub(crate) fn default_base() -> f64 {
    DEFAULT_BASE
}

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
/// let spectrum = Spectrum::new(512, 10_000.0);
/// assert_eq!(spectrum.frequencies()[0], 1.0); // radians per position
/// assert_eq!(spectrum.wavelengths()[0], core::f64::consts::TAU); // positions per turn
/// // How alike the encodings of two positions are depends on their distance alone.
/// assert!((spectrum.similarity(8) - 0.7225201).abs() < 1e-7);
/// ```
///
/// Other libraries space their frequencies otherwise: [`Spectrum::of`] has theirs.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    d_model: usize,
    base: f64,
    layout: Layout,
    cos_first: bool,
    amplitude: f64,
    /// What is added to every position.
    offset: usize,
    /// ⌊d_model/2⌋ or ⌈d_model/2⌉ of them.
    frequencies: Vec<Double>,
}

impl Spectrum {
    /// The paper's spectrum of a width and a base (the paper's is [`DEFAULT_BASE`]), interleaved.
    ///
    /// # Panics
    ///
    /// Where [`try_new`](Self::try_new) returns an error.
    pub fn new(d_model: usize, base: f64) -> Self {
        expect(Self::try_new(d_model, base))
    }

    /// As [`new`](Self::new).
    ///
    /// # Errors
    ///
    /// [`PositionError::ZeroDModel`]; [`PositionError::Base`] when `base` is not finite or not
    /// greater than 1, so that the frequencies would not decrease; and
    /// [`TooLarge`](PositionError::TooLarge) for more frequencies than there is memory for.
    pub fn try_new(d_model: usize, base: f64) -> Result<Self, PositionError> {
        if d_model == 0 {
            return Err(PositionError::ZeroDModel);
        }
        if !base.is_finite() || base <= 1.0 {
            return Err(PositionError::Base { base });
        }
        let ratio = Double::quotient(-2.0, d_model as f64)
            .mul(Double::ln(base))
            .exp();
        let pairs = d_model.div_ceil(2);
        let mut frequencies = room(1, pairs)?;
        let powers = core::iter::successors(Some(Double::ONE), |last| Some(last.mul(ratio)));
        frequencies.extend(powers.take(pairs));
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

    /// ω_i = first · e^(−log_range · i/steps), for so many `pairs`.
    pub(crate) fn geometric(
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

    /// The same with every frequency, by its number, replaced by another.
    pub(crate) fn map(self, frequency: impl Fn(usize, Double) -> Double) -> Self {
        let number = self.frequencies.iter().copied().enumerate();
        let frequencies = number.map(|(i, omega)| frequency(i, omega)).collect();
        Self {
            frequencies,
            ..self
        }
    }

    /// The same frequencies with another layout of the columns.
    pub fn with_layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// The same rows times a number.
    pub(crate) fn with_amplitude(self, amplitude: f64) -> Self {
        Self { amplitude, ..self }
    }

    /// The same with every cosine where its sine was, and the other way round.
    pub(crate) fn with_cos_first(self, cos_first: bool) -> Self {
        Self { cos_first, ..self }
    }

    /// The same with the row of position `p + offset` at `p`.
    pub(crate) fn with_offset(self, offset: usize) -> Self {
        Self { offset, ..self }
    }

    /// The width of a row.
    pub fn d_model(&self) -> usize {
        self.d_model
    }

    /// The base of the powers in ω_i = ω_0 · base^(−2i/d_model), before any scaling.
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

    /// What every sine and cosine is multiplied by: 1 but for formulas that scale their encoding
    /// and for a module's fixed gain.
    pub fn amplitude(&self) -> f64 {
        self.amplitude
    }

    /// What is added to a position before it is multiplied by the frequencies: 0 but for
    /// [`Formula::Fairseq`](crate::Formula::Fairseq).
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The largest position whose angles can be reduced: [`MAX_POSITION`], or less where a
    /// frequency is above 1.
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
            (_, max) => Err(PositionError::Offset { offset, max }),
        }
    }

    /// ω_i in radians per position, highest first; ⌈d_model/2⌉ of them, or ⌊d_model/2⌋ where a
    /// formula ends an odd width in a column of zeros.
    pub fn frequencies(&self) -> Vec<f64> {
        self.frequencies.iter().map(|omega| omega.hi).collect()
    }

    /// λ_i = 2π/ω_i, the positions in one turn, shortest first.
    pub fn wavelengths(&self) -> Vec<f64> {
        let turn = |omega: &Double| core::f64::consts::TAU / omega.hi;
        self.frequencies.iter().map(turn).collect()
    }

    /// The cosine between the encodings of two positions that are `offset` apart, in closed form:
    /// the mean of `cos(ω_i · offset)`, in \[−1, 1\].
    ///
    /// It follows from cos(a − b) = cos a cos b + sin a sin b. An odd
    /// `d_model` lacks the last cosine; it is counted as if it were there, since without it the
    /// value would depend on the positions and not on their distance alone.
    ///
    /// # Panics
    ///
    /// Where [`try_similarity`](Self::try_similarity) returns an error.
    pub fn similarity(&self, offset: isize) -> f64 {
        expect(self.try_similarity(offset))
    }

    /// As [`similarity`](Self::similarity).
    ///
    /// # Errors
    ///
    /// [`PositionError::Offset`] when the angles of positions so far apart cannot be reduced.
    pub fn try_similarity(&self, offset: isize) -> Result<f64, PositionError> {
        let distance = self.distance(offset)?;
        let sum: f64 = self
            .frequencies
            .iter()
            .map(|omega| omega.sin_cos_of_multiple(distance).1)
            .sum();
        Ok(sum / self.frequencies.len() as f64)
    }

    /// The linear map that takes PE(p) to PE(p + k), the same for every `p`: §3.5 of the paper
    /// gives it as the reason for sines and cosines. A negative `k` shifts back.
    ///
    /// # Panics
    ///
    /// Where [`try_shift`](Self::try_shift) returns an error.
    ///
    /// ```
    /// let spectrum = pe_burn::Spectrum::new(4, 10_000.0);
    /// let (here, there) = (spectrum.rows::<f64>(3..4), spectrum.rows::<f64>(10..11));
    /// for (shifted, exact) in spectrum.shift(7).apply(&here).iter().zip(&there) {
    ///     assert!((shifted - exact).abs() < 1e-15);
    /// }
    /// ```
    pub fn shift(&self, k: isize) -> Shift {
        expect(self.try_shift(k))
    }

    /// As [`shift`](Self::shift).
    ///
    /// # Errors
    ///
    /// [`PositionError::OddDModel`]: the last sine of an odd width has no cosine to turn with;
    /// [`PositionError::Offset`] when the angles of positions so far apart cannot be reduced.
    pub fn try_shift(&self, k: isize) -> Result<Shift, PositionError> {
        if 2 * self.frequencies.len() > self.d_model {
            return Err(PositionError::OddDModel {
                d_model: self.d_model,
            });
        }
        let distance = self.distance(k)?;
        let turns = self.frequencies.iter().map(|omega| {
            let (sin, cos) = omega.sin_cos_of_multiple(distance);
            (if (k < 0) == self.cos_first { sin } else { -sin }, cos)
        });
        Ok(Shift {
            d_model: self.d_model,
            layout: self.layout,
            turns: turns.collect(),
        })
    }

    pub(crate) fn doubles(&self) -> &[Double] {
        &self.frequencies
    }
}

/// The linear map from PE(p) to PE(p + k): every (sin, cos) pair turned by its own angle ω_i k.
///
/// From [`Spectrum::shift`].
#[derive(Clone, Debug, PartialEq)]
pub struct Shift {
    d_model: usize,
    layout: Layout,
    /// `(sin ω_i k, cos ω_i k)`, of −k where the cosines come first
    turns: Vec<(f64, f64)>,
}

impl Shift {
    /// The row that this map makes of `row`, both of width `d_model`.
    ///
    /// # Panics
    ///
    /// Where [`try_apply`](Self::try_apply) returns an error.
    pub fn apply(&self, row: &[f64]) -> Vec<f64> {
        expect(self.try_apply(row))
    }

    /// As [`apply`](Self::apply).
    ///
    /// # Errors
    ///
    /// [`PositionError::DModel`] when `row` is of another width.
    pub fn try_apply(&self, row: &[f64]) -> Result<Vec<f64>, PositionError> {
        let d_model = self.d_model;
        if row.len() != d_model {
            return Err(PositionError::DModel {
                expected: d_model,
                got: row.len(),
            });
        }
        let mut out = row.to_vec(); // with the column of zeros, where there is one
        for (i, (sin, cos)) in self.turns.iter().enumerate() {
            let (s, c) = self.layout.columns(i, 2 * self.turns.len());
            out[s] = row[s] * cos + row[c] * sin;
            out[c] = row[c] * cos - row[s] * sin;
        }
        Ok(out)
    }

    /// The matrix R(k), `[d_model][d_model]`, with PE(p + k) = R(k) · PE(p): 2×2 rotations on the
    /// diagonal in the interleaved layout.
    pub fn matrix(&self) -> Vec<Vec<f64>> {
        let d_model = self.d_model;
        let paired = 2 * self.turns.len();
        let mut matrix = vec![vec![0.0; d_model]; d_model];
        (paired..d_model).for_each(|last| matrix[last][last] = 1.0);
        for (i, (sin, cos)) in self.turns.iter().enumerate() {
            let (s, c) = self.layout.columns(i, 2 * self.turns.len());
            (matrix[s][s], matrix[s][c]) = (*cos, *sin);
            (matrix[c][c], matrix[c][s]) = (*cos, -sin);
        }
        matrix
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Formula;

    #[test]
    fn frequencies_and_wavelengths_follow_the_formula() {
        let spectrum = Spectrum::new(7, 500.0);
        assert_eq!(spectrum.frequencies().len(), 4);
        for (i, (omega, lambda)) in spectrum
            .frequencies()
            .iter()
            .zip(spectrum.wavelengths())
            .enumerate()
        {
            let power = libm::pow(500.0, 2.0 * i as f64 / 7.0);
            assert!((omega * power - 1.0).abs() < 1e-14);
            assert!((lambda / (core::f64::consts::TAU * power) - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn similarity_of_the_write_ups() {
        // Cosine of positions 2 and 10 at d = 512; base 1e8 is what a doubled exponent computes.
        assert!((Spectrum::new(512, 1e4).similarity(8) - 0.722_520_1).abs() < 5e-8);
        assert!((Spectrum::new(512, 1e8).similarity(-8) - 0.860_001_3).abs() < 5e-8);
        assert_eq!(Spectrum::new(3, 1e4).similarity(0), 1.0);
    }

    #[test]
    fn similarity_is_the_cosine_of_two_rows() {
        let spectrum = Spectrum::new(64, 1e4);
        let rows: Vec<f64> = spectrum.rows(5..30);
        let (a, b) = (&rows[..64], &rows[24 * 64..]);
        let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        assert!((dot / 32.0 - spectrum.similarity(24)).abs() < 1e-14);
    }

    #[test]
    fn shift_matrix_equals_apply_in_both_layouts() {
        for layout in [Layout::Interleaved, Layout::Halves] {
            let spectrum = Spectrum::new(6, 1e4).with_layout(layout);
            let row: Vec<f64> = spectrum.rows(1_000..1_001);
            let shift = spectrum.shift(-400);
            let applied = shift.apply(&row);
            let exact: Vec<f64> = spectrum.rows(600..601);
            for (j, line) in shift.matrix().iter().enumerate() {
                let product: f64 = line.iter().zip(&row).map(|(m, x)| m * x).sum();
                assert!((product - applied[j]).abs() < 1e-15);
                assert!((applied[j] - exact[j]).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn a_shift_keeps_a_column_of_zeros_and_knows_cosines_first() {
        for formula in [
            Formula::FAIRSEQ,
            Formula::Diffusers {
                flip_sin_to_cos: true,
                downscale_freq_shift: 0.0,
                scale: 2.0,
                max_period: 100.0,
            },
        ] {
            let spectrum = Spectrum::of(formula, 7);
            let row: Vec<f64> = spectrum.rows(20..21);
            for k in [-13, 5] {
                let exact: Vec<f64> =
                    spectrum.rows(20_usize.strict_add_signed(k)..40)[..7].to_vec();
                let shift = spectrum.shift(k);
                for (j, line) in shift.matrix().iter().enumerate() {
                    let product: f64 = line.iter().zip(&row).map(|(m, x)| m * x).sum();
                    assert!((product - exact[j]).abs() < 1e-14, "{formula:?} {k} {j}");
                    assert!((shift.apply(&row)[j] - exact[j]).abs() < 1e-14);
                }
            }
        }
    }

    /// Where frequencies are above 1, angles that can be reduced end sooner.
    #[test]
    fn no_distance_goes_beyond_the_angles_that_can_be_reduced() {
        let fast = Spectrum::of(
            Formula::Diffusers {
                flip_sin_to_cos: false,
                downscale_freq_shift: 1.0,
                scale: 1000.0,
                max_period: 1e4,
            },
            4,
        );
        let last = 4_503_599_627_370;
        assert!(fast.similarity(last).abs() <= 1.0);
        let max = last as usize;
        let offset = last + 1;
        let error = PositionError::Offset { offset, max };
        assert_eq!(fast.try_similarity(offset), Err(error.clone()));
        assert_eq!(fast.try_shift(offset), Err(error));
    }

    #[test]
    fn bad_input_is_refused_with_its_numbers() {
        assert_eq!(Spectrum::try_new(0, 1e4), Err(PositionError::ZeroDModel));
        for base in [1.0, 0.5, 0.0, -3.0, f64::INFINITY] {
            assert_eq!(
                Spectrum::try_new(4, base),
                Err(PositionError::Base { base })
            );
        }
        assert!(matches!(
            Spectrum::try_new(4, f64::NAN),
            Err(PositionError::Base { .. })
        ));
        assert_eq!(
            Spectrum::new(3, 1e4).try_shift(1),
            Err(PositionError::OddDModel { d_model: 3 })
        );
    }
}
