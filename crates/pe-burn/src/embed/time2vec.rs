//! Time2Vec: learned waves of the time, and one straight line.

use core::f64::consts::FRAC_PI_2;

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use super::{Embed, lookup, scaled_sum};
use crate::backend::Addend;
use crate::backend::memory::{check_room, check_shape_on};
use crate::config::{config, module};
use crate::error::{PositionError, check_positive, check_size};
use crate::positions::{Lookup, Positions};
use crate::tensor::{cast, check_parameter, compute_dtype, dequantized};

config! {
    /// The configuration of a [`Time2Vec`].
    pub struct Time2VecConfig {
        /// The width of the embeddings, at least 1.
        d_model: usize,
        /// How far apart the first and the last time of a sequence are, in the unit of the times: for positions 0, 1, 2, … the
        /// number of tokens. At least `step`, and finite in `f32`.
        span: f64,
    }

    /// Time2Vec for times within `span`, with neighbouring times 1 apart.
    new;

    /// How far apart neighbouring times are, in the same unit, above 0. Default: 1.
    step: f64 = 1.0,
    with_step;
}

impl Time2VecConfig {
    /// Builds the module on `device`. The initial ω and φ are described at [`Time2Vec`].
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a `d_model` of 0, a `step` that is not above 0, and a `span` below `step` or not
    /// finite; [`TooLarge`](PositionError::TooLarge) when ω does not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<Time2Vec, PositionError> {
        check_size("d_model", self.d_model)?;
        check_positive("step", self.step)?;
        check_positive("span", self.span)?;
        if self.span < self.step {
            let bound = format!("at least the step, {}", self.step);
            return Err(PositionError::number("span", self.span, bound));
        }
        check_room::<f32>(self.d_model, 1)?;
        let waves = self.d_model - 1;
        let (mut omega, mut phi) = (vec![1.0], vec![0.0]);
        omega.extend((0..waves).map(|wave| self.speed(wave / 2, waves.div_ceil(2)) as f32));
        phi.extend((0..waves).map(|wave| (wave % 2) as f32 * FRAC_PI_2 as f32));
        let vector = |values: Vec<f32>| Param::from_data(values.as_slice(), device);
        Ok(Time2Vec {
            omega: vector(omega),
            phi: vector(phi),
            config: self.clone(),
        })
    }

    /// The initial ω of a pair of waves: 1 radian per step for the first pair, 1 radian per span for the last, and between
    /// them evenly on a logarithmic scale.
    fn speed(&self, pair: usize, pairs: usize) -> f64 {
        let share = 1.0 - pair as f64 / pairs.saturating_sub(1).max(1) as f64;
        libm::pow(self.span / self.step, share)
    }
}

module!(Time2VecConfig => Time2Vec { d_model, span, step });

/// Time2Vec: adds a learned line of the time and learned waves of it to token embeddings. Kazemi et al., [*Time2Vec: Learning
/// a Vector Representation of Time*](https://arxiv.org/abs/1907.05321), 2019, eq. 1:
///
/// ```text
/// t2v(τ)[0] = ω[0] τ + φ[0]
/// t2v(τ)[i] = sin(ω[i] τ + φ[i])        i = 1 .. d_model − 1
/// forward(x) = x + t2v(time / span)
/// ```
///
/// Times are real numbers ([`Positions::from_times`]) or positions. Made by [`Time2VecConfig`].
///
/// ```
/// use burn::module::Module;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::embedding::Time2VecConfig;
/// use pe_burn::{Embed, Positions};
///
/// let device = Device::flex();
/// let t2v = Time2VecConfig::new(64, 3600.0).with_step(10.0).init(&device); // an hour, about every 10 seconds
/// assert_eq!(t2v.num_params(), 2 * 64);
///
/// let times = Positions::from_time_rows(&[[0.0, 9.5, 21.0, 30.25]])?; // seconds since the first
/// let x = Tensor::<3>::random([8, 4, 64], Distribution::Default, &device);
/// assert_eq!(t2v.embed(x, &times).dims(), [8, 4, 64]);
/// assert_eq!(t2v.encode(&times, 4)?.dims(), [1, 4, 64]);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
///
/// - **Added, not concatenated.** The paper appends t2v(τ) to the features of a model, or puts it in the place of the time.
///   Here it is as wide as the embeddings and is added to them, as in every [`Embed`]. A linear layer after the paper's
///   vector gives the same if its weights for the time are the identity. To append it, take [`encode`](Self::encode).
/// - **τ = time / `span`**, from 0 to 1 where times begin at 0. The paper says nothing of units. A step of an optimizer moves
///   each ω by about its learning rate, and the argument of a sine by that times τ: with times of hundreds all waves would
///   change at once.
/// - **Start.** ω\[0\] = 1 and φ\[0\] = 0, so that the line is τ itself. The waves start as a sinusoidal encoding: a sine
///   and a cosine (φ = 0 and φ = π/2) of each frequency, from 1 radian per `step` to 1 radian per `span`. The paper leaves
///   this open too.
/// - **Learned**, so waves are computed on the device, in the type of ω (`f32` if it is narrower), and times enter them in
///   `f32`: take the time since the first one, and not since 1970.
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "t2v")]
pub struct Time2Vec {
    /// ω, `[d_model]`: first that of the line, then those of the waves, in radians per span.
    pub omega: Param<Tensor<1>>,
    /// φ, `[d_model]`, likewise, in radians.
    pub phi: Param<Tensor<1>>,
    #[module(skip)]
    config: Time2VecConfig,
}

impl Time2Vec {
    /// Adds t2v of positions 0, 1, 2, … to `x`. For other positions see [`embed`](Embed::embed).
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`, any float type; `batch` and `seq` may be 0
    /// - output: as `x`
    ///
    /// # Panics
    ///
    /// Where [`try_embed`](Embed::try_embed) returns an error.
    #[track_caller]
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        self.embed(x, &Positions::default())
    }

    /// t2v of `positions` alone, in the type of ω.
    ///
    /// # Shapes
    ///
    /// - output: `[1, seq, d_model]` where all rows of a batch have the same positions, else `[batch, seq, d_model]`
    ///
    /// # Errors
    ///
    /// Those of [`try_embed`](Embed::try_embed) about positions.
    pub fn encode(&self, positions: &Positions, seq: usize) -> Result<Tensor<3>, PositionError> {
        let vectors = self.vectors(&positions.lookup(None, seq)?)?;
        Ok(cast(vectors, dequantized(self.omega.val()).dtype().into()))
    }

    /// t2v of a lookup in the type of ω, or in `f32` if ω is narrower, whatever the type of the input: Vulkan drivers
    /// have no sine of `f64`.
    fn vectors(&self, lookup: &Lookup) -> Result<Tensor<3>, PositionError> {
        lookup.check_axes(None)?;
        let d_model = self.config.d_model;
        let omega = dequantized(self.omega.val());
        let computed = compute_dtype(omega.dtype().into());
        let omega = cast(omega, computed);
        let (device, dtype) = (omega.device(), omega.dtype().into());
        let phi = cast(dequantized(self.phi.val()), dtype);
        check_parameter("omega", omega.dims(), [d_model])?;
        check_parameter("phi", phi.dims(), [d_model])?;
        let shape = [lookup.batch, lookup.seq, d_model];
        if shape.contains(&0) {
            return Ok(Tensor::empty(shape, (&device, omega.dtype())));
        }
        check_shape_on(&device, shape)?;
        let tau = lookup.numbers(1, dtype, &device) / self.config.span;
        let arguments = tau * omega.unsqueeze() + phi.unsqueeze();
        if d_model == 1 {
            return Ok(arguments);
        }
        let line = arguments.clone().narrow(2, 0, 1);
        let waves = arguments.narrow(2, 1, d_model - 1).sin();
        Ok(Tensor::cat(vec![line, waves], 2))
    }
}

impl Embed for Time2Vec {
    fn try_embed(&self, x: Tensor<3>, positions: &Positions) -> Result<Tensor<3>, PositionError> {
        let d_model = self.config.d_model;
        let (lookup, batch) = lookup(&x, positions, d_model, &self.omega.lazy_device())?;
        let (own, dtype) = (x.dtype(), compute_dtype(x.dtype().into()));
        let vectors = cast(self.vectors(&lookup)?, dtype);
        let len = batch * lookup.seq * d_model;
        if len == 0 {
            return Ok(x);
        }
        let sum = scaled_sum(cast(x, dtype), Addend::Tensor(vectors), None, len);
        Ok(cast(sum, own.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use burn::tensor::FloatDType;

    use crate::testing::{refused, values};

    #[test]
    fn settings_out_of_bounds_are_refused() {
        refused! {
            Time2VecConfig::new(0, 1.0) => "d_model must be at least 1; got 0",
            Time2VecConfig::new(4, f64::NAN) => "span must be above 0 and finite in f32; got NaN",
            Time2VecConfig::new(4, 9.0).with_step(0.0) =>
                "step must be above 0 and finite in f32; got 0",
            Time2VecConfig::new(4, 9.0).with_step(10.0) =>
                "span must be at least the step, 10; got 9",
            Time2VecConfig::new(1 << 62, 9.0) =>
                "4611686018427387904 rows of width 1 do not fit into memory",
        }
    }

    #[test]
    fn it_starts_as_a_line_and_a_sinusoidal_encoding() {
        let device = Device::flex();
        let t2v = Time2VecConfig::new(7, 400.0).with_step(4.0).init(&device);
        assert_eq!(
            values(t2v.omega.val()),
            [1.0, 100.0, 100.0, 10.0, 10.0, 1.0, 1.0]
        );
        let quarter = FRAC_PI_2 as f32;
        assert_eq!(
            values(t2v.phi.val()),
            [0.0, 0.0, quarter, 0.0, quarter, 0.0, quarter]
        );
        // Without a last pair, and of the smallest widths.
        for (d_model, omega) in [(1, &[1.0][..]), (2, &[1.0, 9.0]), (3, &[1.0, 9.0, 9.0])] {
            let t2v = Time2VecConfig::new(d_model, 9.0).init(&device);
            assert_eq!(values(t2v.omega.val()), omega);
            let rows = t2v.encode(&Positions::default(), 3).unwrap();
            assert_eq!(rows.dims(), [1, 3, d_model]);
        }
    }

    /// A time of 70,000 is infinite in `f16`, and its sine is no number.
    #[test]
    fn times_enter_a_half_precision_module_in_f32() {
        let device = Device::flex();
        // ω are 1, 64, 8 and 1, which `f16` has exactly.
        let config = Time2VecConfig::new(7, 81_920.0).with_step(1_280.0);
        let mut t2v = config.init(&device);
        let times = Tensor::from_data([[0.0, 3_001.0, 70_000.0]], &device);
        let times = Positions::from_times(times).unwrap();
        let exact = t2v.encode(&times, 3).unwrap();
        t2v.omega = t2v.omega.map(|omega| omega.cast(FloatDType::F16));
        let half = t2v.encode(&times, 3).unwrap();
        assert_eq!(half.dtype(), FloatDType::F16.into());
        for (half, exact) in values(half).iter().zip(values(exact)) {
            assert!((half - exact).abs() < 6e-4, "{half} and {exact}");
        }
    }
}
