//! FoPE: Fourier position embedding.

use alloc::vec;
use alloc::vec::Vec;

use burn::module::{Module, Param};
use burn::tensor::{Device, Distribution, FloatDType, Tensor};

use super::turn::rotate_by;
use super::{Rotate, ToTurn, Turned, each_side, lookup};
use crate::backend::memory::check_room;
use crate::config::{config, module};
use crate::error::{PositionError, check_number, check_size, check_width};
use crate::layout::Layout;
use crate::positions::Positions;
use crate::spectrum::buffer::{DEFAULT_MAX_LEN, RowBuffer};
use crate::spectrum::{DEFAULT_BASE, Spectrum};
use crate::tensor::{cast, check_parameter, compute_dtype, dequantized};

config! {
    /// The configuration of a [`Fope`].
    pub struct FopeConfig {
        /// The width of a head, even and at least 4.
        d_head: usize,
        /// The number of heads of queries and of keys, each of which has coefficients of its own.
        heads: usize,
        /// The length of the inputs in training, at least 7. Frequencies that do not complete a turn within it
        /// are left out.
        trained_len: usize,
    }

    /// The paper's embedding of heads of width `d_head`, for inputs of `trained_len` tokens in training; every
    /// option at its default.
    new;

    /// The wavelengths go from 2π to 2π · base; finite and greater than 1. Default: 10 000.
    base: f64 = DEFAULT_BASE,
    with_base;

    /// Which columns make a pair. Default: halves, as in the code of the paper.
    layout: Layout = Layout::Halves,
    with_layout;

    /// The size of the random part of the coefficients, at least 0: the gain of a Xavier normal distribution. With 0 each
    /// pair picks one frequency. Default: 0.3. The paper has 0.3, 0.4 and 0.6 for models of 60, 180 and 1200 million
    /// parameters.
    gain: f64 = 0.3,
    with_gain;

    /// Whether the coefficients are trained. Default: false, as in the paper's models, where they keep the
    /// random values that they start with.
    learned: bool = false,
    with_learned;
}

impl FopeConfig {
    /// The frequencies that complete a turn within the trained length, highest first.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a number of this configuration that is out of bounds.
    pub fn spectrum(&self) -> Result<Spectrum, PositionError> {
        let fits = self.d_head >= 4 && self.d_head.is_multiple_of(2);
        check_number(fits, "d_head", self.d_head, "even and at least 4")?;
        let bound = "at least 7, so that the fastest pair completes a turn of 2π positions";
        let length = self.trained_len;
        check_number(length >= 7, "trained_len", length, bound)?;
        let all = Spectrum::new(self.d_head, self.base)?.with_layout(Layout::Halves);
        let slowest = core::f64::consts::TAU / length as f64;
        let turns = |omega: &&f64| **omega >= slowest;
        let kept = all.frequencies().iter().filter(turns).count();
        Ok(all.pick(&(0..kept).collect::<Vec<usize>>()))
    }

    /// Builds the module on `device`, with random coefficients.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a number that is out of bounds, and
    /// [`TooLarge`](PositionError::TooLarge) when the coefficients do not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<Fope, PositionError> {
        let spectrum = self.spectrum()?;
        check_size("heads", self.heads)?;
        let fits = (self.gain as f32).is_finite() && self.gain >= 0.0;
        check_number(fits, "gain", self.gain, "finite and at least 0")?;
        let frequencies = spectrum.d_model() / 2;
        let turned = frequencies.min(self.d_head / 4);
        check_room::<f32>(self.heads.saturating_mul(frequencies), turned)?;
        // torch's Xavier normal distribution of a tensor [heads, frequencies, turned].
        let fan = ((frequencies + self.heads) * turned) as f64;
        let deviation = self.gain * libm::sqrt(2.0 / fan);
        // Every pair starts near one frequency. These are picked from the highest on, in equal steps as large as
        // possible.
        let mut picks = vec![0.0_f32; frequencies * turned];
        let step = frequencies.div_ceil(turned);
        for pair in 0..turned.min(frequencies.div_ceil(step)) {
            picks[pair * step * turned + pair] = 1.0;
        }
        let shape = [self.heads, frequencies, turned];
        let picks =
            Tensor::<1>::from_data(picks.as_slice(), device).reshape([1, frequencies, turned]);
        let coefficients = || {
            let noise = Distribution::Normal(0.0, deviation);
            let start = match deviation > 0.0 {
                true => Tensor::<3>::random(shape, noise, device) + picks.clone(),
                false => picks.clone().expand(shape),
            };
            Param::from_tensor(start).set_require_grad(self.learned)
        };
        Ok(Fope {
            sines: coefficients(),
            cosines: coefficients(),
            rows: RowBuffer::new(
                spectrum.into(),
                self.trained_len.min(DEFAULT_MAX_LEN),
                device,
            )?,
            config: self.clone(),
        })
    }
}

module!(FopeConfig => Fope { d_head, heads, trained_len, base, layout, gain, learned });

/// FoPE, Fourier position embedding: RoPE in which each pair turns by a mixture of frequencies, and pairs that
/// would not complete a turn in training do not turn at all. Hua et al., [*Fourier Position Embedding: Enhancing
/// Attention's Periodic Extension for Length Generalization*](https://arxiv.org/abs/2412.17739), 2024, §4, by
/// [its code](https://github.com/TsinghuaC3I/Fourier-Position-Embedding):
///
/// ```text
/// ω_j = base^(−2j/d_head), those with ω_j ≥ 2π/trained_len
/// s_i = Σ_j S[head, j, i] sin(ω_j p),  c_i = Σ_j C[head, j, i] cos(ω_j p)   for i < d_head/4
/// s_i = c_i = 1                                                           for the other pairs
/// (a, b)_i → (a c_i − b s_i,  a s_i + b c_i)
/// ```
///
/// Made by [`FopeConfig`]. Give each layer a module of its own, as the paper does.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::rotary::FopeConfig;
/// use pe_burn::{Positions, Rotate};
///
/// let device = Device::flex();
/// let fope = FopeConfig::new(64, 8, 512).init(&device);
/// let q = Tensor::<4>::random([2, 8, 100, 64], Distribution::Default, &device);
/// let (q, k) = fope.rotate(q.clone(), q, &Positions::default()); // [batch, heads, seq, d_head]
/// # assert_eq!((q.dims(), k.dims()), ([2, 8, 100, 64], [2, 8, 100, 64]));
/// ```
///
/// - **At most half of the pairs turn**: `d_head / 4` of `d_head / 2`, or as many as there are frequencies. The
///   others become `(a − b, a + b)` at every position, so that their share of a score is doubled and depends on no
///   position: the paper's code sets their sines to 1, as it does their cosines.
/// - **Not a rotation.** Norms change, and products depend on more than the distance.
/// - **Heads.** Queries and keys both have `heads` heads.
/// - **Weights.** `sines` and `cosines` are `sin_coef` and `cos_coef` of the paper's code. They are in the record,
///   trained or not.
/// - **Exact.** Sines and cosines of the frequencies are within 3.0e-8 of their true values at every position.
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "FoPE")]
#[doc(alias = "Fourier position embedding")]
pub struct Fope {
    /// The coefficients of the sines, `[heads, frequencies, turned pairs]`.
    pub sines: Param<Tensor<3>>,
    /// The coefficients of the cosines, `[heads, frequencies, turned pairs]`.
    pub cosines: Param<Tensor<3>>,
    rows: RowBuffer,
    #[module(skip)]
    config: FopeConfig,
}

impl Fope {
    fn side(&self, x: Tensor<4>, positions: &Positions) -> Result<Tensor<4>, PositionError> {
        let config = &self.config;
        let lookup = lookup(&x, positions, config.d_head, &self.rows.device())?;
        check_width("heads", config.heads, x.dims()[1])?;
        lookup.check_axes(None)?;
        if x.shape().num_elements() == 0 {
            return Ok(x);
        }
        let dtype = compute_dtype(x.dtype().into());
        let rows = self.rows.rows(&lookup, dtype)?;
        let frequencies = rows.dims()[2] / 2;
        let shape = [
            config.heads,
            frequencies,
            frequencies.min(config.d_head / 4),
        ];
        check_parameter("sines", self.sines.lazy_shape().dims(), shape)?;
        check_parameter("cosines", self.cosines.lazy_shape().dims(), shape)?;
        let [sin, cos] = [(0, &self.sines), (frequencies, &self.cosines)].map(|(first, of)| {
            let rows = rows.clone().narrow(2, first, frequencies);
            self.mixed(rows, of, dtype)
        });
        Ok(rotate_by(x, sin, cos, config.layout))
    }

    /// The mixtures of sines or cosines for every pair, 1 where it does not turn.
    ///
    /// # Shapes
    ///
    /// - `rows`: `[1 or batch, seq, frequencies]`
    /// - output: `[1 or batch, heads, seq, d_head / 2]`
    fn mixed(
        &self,
        rows: Tensor<3>,
        coefficients: &Param<Tensor<3>>,
        dtype: FloatDType,
    ) -> Tensor<4> {
        let coefficients = cast(dequantized(coefficients.val()), dtype);
        let ([batch, seq, frequencies], [heads, _, turned]) = (rows.dims(), coefficients.dims());
        let side_by_side = coefficients
            .swap_dims(0, 1)
            .reshape([frequencies, heads * turned]);
        let mixed = rows
            .reshape([batch * seq, frequencies])
            .matmul(side_by_side)
            .reshape([batch, seq, heads, turned])
            .swap_dims(1, 2);
        let device = mixed.device().without_autodiff();
        let still = [batch, heads, seq, self.config.d_head / 2 - turned];
        let ones = cast(Tensor::<4>::ones(still, &device), dtype);
        Tensor::cat(vec![mixed, ones], 3)
    }
}

impl Rotate for Fope {
    fn try_rotate_sides(&self, queries: ToTurn, keys: ToTurn) -> Result<Turned, PositionError> {
        each_side(queries, keys, |x, positions| self.side(x, positions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::rotate::RotaryPositionalEncodingConfig;
    use crate::testing::{distance, refused, values};

    #[test]
    fn slow_frequencies_are_left_out() {
        for (d_head, trained_len) in [(64, 512), (64, 7), (16, 100_000)] {
            let kept = FopeConfig::new(d_head, 1, trained_len).spectrum().unwrap();
            let all = Spectrum::new(d_head, 10_000.0).unwrap();
            let turns = |omega: &f64| omega * trained_len as f64 >= core::f64::consts::TAU;
            let expected: Vec<f64> = all.frequencies().into_iter().filter(turns).collect();
            assert!(!expected.is_empty());
            assert_eq!(kept.frequencies(), expected);
        }
    }

    /// With a gain of 0 every pair picks a frequency: the first pairs are those of RoPE.
    #[test]
    fn without_noise_the_first_pairs_are_plain_rope() {
        let device = Device::flex();
        for layout in [Layout::Halves, Layout::Interleaved] {
            // As many frequencies as pairs that turn.
            let config = FopeConfig::new(64, 2, 512)
                .with_layout(layout)
                .with_gain(0.0);
            let fope = config.init(&device);
            assert_eq!(fope.sines.val().dims(), [2, 16, 16]);
            let rope = RotaryPositionalEncodingConfig::new(64)
                .with_layout(layout)
                .init(&device);
            let x = Tensor::<4>::random([2, 2, 9, 64], Distribution::Default, &device);
            let positions = Positions::from_starts([0, 123_456]);
            let (ours, plain) = (
                fope.rotate_queries(x.clone(), &positions),
                rope.rotate_queries(x.clone(), &positions),
            );
            let first = |x: Tensor<4>| match layout {
                Layout::Interleaved => x.narrow(3, 0, 32),
                Layout::Halves => {
                    Tensor::cat(vec![x.clone().narrow(3, 0, 16), x.narrow(3, 32, 16)], 3)
                }
            };
            assert!(distance(first(ours.clone()), first(plain)) < 1e-6);
            let (ours, x) = (values(ours), values(x));
            let [a, b] = match layout {
                Layout::Interleaved => [32, 33],
                Layout::Halves => [16, 48],
            };
            for (row, x) in ours.chunks(64).zip(x.chunks(64)) {
                assert!((row[a] - (x[a] - x[b])).abs() < 1e-6);
                assert!((row[b] - (x[a] + x[b])).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn every_turned_pair_starts_near_a_frequency_of_its_own() {
        let device = Device::flex();
        for (config, [frequencies, turned]) in [
            (FopeConfig::new(64, 3, 4096), [23, 16]),
            (FopeConfig::new(32, 3, 16), [2, 2]),
            (FopeConfig::new(128, 3, 1 << 20), [64, 32]),
        ] {
            let fope = config.with_gain(0.0).init(&device);
            assert_eq!(fope.sines.val().dims(), [3, frequencies, turned]);
            let step = frequencies.div_ceil(turned);
            for coefficients in [fope.sines.val(), fope.cosines.val()] {
                for (i, number) in values(coefficients).iter().enumerate() {
                    let (j, pair) = (i / turned % frequencies, i % turned);
                    let expected = if j == pair * step { 1.0 } else { 0.0 };
                    assert_eq!(*number, expected, "{j} {pair}");
                }
            }
        }
    }

    /// 0.3 · √(2 / ((16 + 8) · 16)), and other numbers for sines than for cosines.
    #[test]
    fn coefficients_start_at_random() {
        let device = Device::flex();
        let fope = FopeConfig::new(64, 8, 512).init(&device);
        let picks = FopeConfig::new(64, 8, 512).with_gain(0.0).init(&device);
        let noise = |a: &Param<Tensor<3>>, b: &Param<Tensor<3>>| values(a.val() - b.val());
        let sines = noise(&fope.sines, &picks.sines);
        let cosines = noise(&fope.cosines, &picks.cosines);
        let expected = 0.3 * (2.0_f64 / 384.0).sqrt();
        for numbers in [&sines, &cosines] {
            let squares: f64 = numbers.iter().map(|x| f64::from(*x).powi(2)).sum();
            let deviation = (squares / numbers.len() as f64).sqrt();
            // 2048 numbers: the standard error is 1.6 %.
            assert!((deviation / expected - 1.0).abs() < 0.1, "{deviation}");
        }
        assert_ne!(sines, cosines);
    }

    #[test]
    fn coefficients_have_gradients_where_they_are_learned() {
        let device = Device::flex().autodiff();
        for learned in [false, true] {
            let config = FopeConfig::new(16, 2, 64).with_learned(learned);
            let fope = config.init(&device);
            let x =
                Tensor::<4>::random([1, 2, 5, 16], Distribution::Default, &device).require_grad();
            let y = fope.rotate_queries(x.clone(), &Positions::from(3));
            let gradients = y.powi_scalar(2).sum().backward();
            assert!(x.grad(&gradients).is_some());
            assert_eq!(fope.sines.val().grad(&gradients).is_some(), learned);
            assert_eq!(fope.cosines.val().grad(&gradients).is_some(), learned);
        }
    }

    #[test]
    fn bad_input_is_refused_with_its_value_and_bound() {
        let device = Device::flex();
        let config = FopeConfig::new(16, 2, 64);
        refused! {
            FopeConfig::new(7, 2, 64) => "d_head must be even and at least 4; got 7",
            FopeConfig::new(2, 2, 64) => "d_head must be even and at least 4; got 2",
            FopeConfig::new(16, 0, 64) => "heads must be at least 1; got 0",
            FopeConfig::new(16, 2, 6) => "… a turn of 2π positions; got 6",
            config.clone().with_base(1.0) => "… decrease; got 1",
            config.clone().with_gain(-1.0) => "gain must be finite and at least 0; got -1",
            config.clone().with_gain(f64::NAN) => "… at least 0; got NaN",
        }
        let fope = config.init(&device);
        refused! {
            |bad| fope.try_rotate_queries(Tensor::zeros(bad.0, &device), &bad.1);
            ([1, 3, 4, 16], Positions::default()) =>
                "the input has heads 3, but this module was built for heads 2",
            ([1, 2, 4, 8], Positions::default()) =>
                "the input has d_head 8, but this module was built for d_head 16",
            ([1, 2, 4, 16], Positions::from_starts([1, 2, 3])) =>
                "there are 3 starts for a batch of 1 rows",
        }
        let empty = Tensor::<4>::zeros([1, 2, 0, 16], &device);
        let rotated = fope.rotate_queries(empty, &Positions::default());
        assert_eq!(rotated.dims(), [1, 2, 0, 16]);
    }
}
