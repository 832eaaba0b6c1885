//! xPos: RoPE with a decay.

use alloc::format;

use burn::module::Module;
use burn::tensor::{DType, Device, Tensor};

use super::turn::{rotate, rotate_heads};
use super::{Rotate, ToTurn, Turned, lookup, packed};
use crate::config::{config, module};
use crate::error::{PositionError, check_number};
use crate::layout::{Layout, Turn, check_rotary_dim};
use crate::positions::{Lookup, Positions};
use crate::spectrum::buffer::{DEFAULT_MAX_LEN, RowBuffer, RowSource};
use crate::spectrum::{DEFAULT_BASE, Spectrum};
use crate::tensor::compute_dtype;

/// γ of §3.2 of the paper: the decay of the slowest pairs relative to the fastest.
const GAMMA: f64 = 0.4;

/// The exponent x up to which e^x, e^−x and sums of several of them are finite and not 0: in `f32` and
/// types of its range, and in `f16`.
const MAX_EXPONENT: f64 = 80.0;
const MAX_EXPONENT_F16: f64 = 9.0;

config! {
    /// The configuration of an [`XPosPositionalEncoding`].
    pub struct XPosPositionalEncodingConfig {
        /// The width of a head, at least 2.
        d_head: usize,
    }

    /// The paper's encoding for heads of width `d_head`; every option at its default.
    new;

    /// The number of rows that the buffers start with, at least 1; they grow when they are used past them.
    /// Default: 5000.
    max_len: usize = DEFAULT_MAX_LEN,
    with_max_len;

    /// The wavelengths go from 2π to 2π · base; finite and greater than 1. Default: 10 000.
    base: f64 = DEFAULT_BASE,
    with_base;

    /// Which columns make a pair. Default: interleaved.
    layout: Layout = Layout::default(),
    with_layout;

    /// The number of positions in which the fastest pairs decay to γ/(1 + γ) = 0.29; above 0.
    /// Default: 512.
    scale_base: f64 = 512.0,
    with_scale_base;

    /// The number of columns of a head that are rotated and decay, which are the first ones: even, from 2 to `d_head`; ζ and
    /// the wavelengths are those of a head of this width. Default: all of them, for which `d_head` must be even.
    #[serde(skip_serializing_if = "Option::is_none")]
    rotary_dim: Option<usize> = None,
    /// Sets the number of columns of a head that are rotated and decay.
    ///
    /// ```
    /// use pe_burn::XPosPositionalEncodingConfig;
    ///
    /// // Toto 2 (Datadog, 2026): half of a head of 64 columns, with a decay of its own.
    /// let config = XPosPositionalEncodingConfig::new(64).with_rotary_dim(32).with_scale_base(256.0);
    /// # config.init(&burn::tensor::Device::flex());
    /// ```
    with_rotary_dim: usize;
}

impl XPosPositionalEncodingConfig {
    fn rotary_dim(&self) -> usize {
        self.rotary_dim.unwrap_or(self.d_head)
    }

    /// Builds the module and its buffers on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a number of this configuration that is out of bounds, and
    /// [`Overflow`](PositionError::Overflow) or [`TooLarge`](PositionError::TooLarge) when `max_len` is
    /// more than there are positions, or the buffers do not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<XPosPositionalEncoding, PositionError> {
        let rotary_dim = self.rotary_dim();
        check_rotary_dim(rotary_dim, self.d_head)?;
        // For a subnormal `scale_base` the rates would be infinite.
        let fits = self.scale_base > 0.0 && self.scale_base.is_normal();
        let bound = "a normal number above 0";
        check_number(fits, "scale_base", self.scale_base, bound)?;
        // Past the last position no row is ever used.
        let max_len = self
            .max_len
            .min((self.reach(MAX_EXPONENT) as usize).saturating_add(1));
        let spectrum = Spectrum::new(rotary_dim, self.base)?.with_layout(Layout::Halves);
        let rows = |sign: f64| {
            let rates = self.logarithms().map(|log| sign * log / self.scale_base);
            let rows = RowSource::from(spectrum.clone()).growing(rates.collect());
            RowBuffer::new(rows, max_len, device)
        };
        Ok(XPosPositionalEncoding {
            of_queries: rows(1.0)?,
            of_keys: rows(-1.0)?,
            config: self.clone(),
        })
    }

    /// ln ζ_i of every pair, smallest first.
    fn logarithms(&self) -> impl Iterator<Item = f64> {
        let pairs = self.rotary_dim() / 2;
        (0..pairs).map(move |i| libm::log((i as f64 / pairs as f64 + GAMMA) / (1.0 + GAMMA)))
    }

    /// The distance from 0 at which the exponent reaches a bound.
    fn reach(&self, exponent: f64) -> f64 {
        let steepest = self.logarithms().next().unwrap_or(0.0).abs();
        exponent * self.scale_base / steepest
    }

    /// Refuses positions at which a factor is infinite or 0 in a type.
    fn check_reach(&self, lookup: &Lookup, dtype: DType) -> Result<(), PositionError> {
        let last = self.reach(match dtype {
            DType::F16 => MAX_EXPONENT_F16,
            _ => MAX_EXPONENT,
        });
        let position = lookup.farthest_beyond((last as usize).saturating_add(1));
        if position > last {
            let bound = format!(
                "at most {} for xPos in {} with scale_base {}",
                last as usize,
                dtype.name(),
                self.scale_base
            );
            return Err(PositionError::number("the position", position, bound));
        }
        Ok(())
    }
}

module!(XPosPositionalEncodingConfig => XPosPositionalEncoding {
    d_head, max_len, base, layout, scale_base, rotary_dim,
});

/// xPos: rotates queries and keys as RoPE does, and lets their products decay with the distance. Sun et
/// al., [*A Length-Extrapolatable Transformer*](https://arxiv.org/abs/2212.10554), 2022, §3.2:
///
/// ```text
/// ζ_i = (2i/rotary_dim + γ) / (1 + γ), γ = 0.4
/// query pair i at p:  rotated, times ζ_i^(p/scale_base)
/// key pair i at p:    rotated, times ζ_i^(−p/scale_base)
/// ```
///
/// so that pair `i` of a query at `m` and a key at `n` has the factor ζ_i^((m − n)/scale_base). It is
/// made for causal attention, where `m ≥ n`: towards the future the factors grow. Made by
/// [`XPosPositionalEncodingConfig`].
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::{Positions, Rotate, XPosPositionalEncodingConfig};
///
/// let device = Device::flex();
/// let xpos = XPosPositionalEncodingConfig::new(64).init(&device);
/// let q = Tensor::<4>::random([2, 8, 100, 64], Distribution::Default, &device);
/// let k = Tensor::<4>::random([2, 8, 100, 64], Distribution::Default, &device);
/// let (q, k) = xpos.rotate(q, k, &Positions::default()); // [batch, heads, seq, d_head]
/// # assert_eq!((q.dims(), k.dims()), ([2, 8, 100, 64], [2, 8, 100, 64]));
/// ```
///
/// The factors depend on positions and not on distances, so they leave the range of a float type at
/// some position: 32 695 with the default `scale_base` (3 678 in `f16`), and in proportion to it. Past
/// it is an error. Code that counts positions from the middle of the input, as Toto 2's does, has the same scores.
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct XPosPositionalEncoding {
    of_queries: RowBuffer,
    of_keys: RowBuffer,
    #[module(skip)]
    config: XPosPositionalEncodingConfig,
}

impl XPosPositionalEncoding {
    fn rotate_side(
        &self,
        side: ToTurn,
        rows: &RowBuffer,
    ) -> Result<Option<Tensor<4>>, PositionError> {
        let Some((x, positions)) = side else {
            return Ok(None);
        };
        let lookup = lookup(&x, positions, self.config.d_head, &rows.device())?;
        if x.shape().num_elements() == 0 {
            return Ok(Some(x));
        }
        self.config.check_reach(&lookup, x.dtype())?;
        let rows = rows.addend(&lookup, compute_dtype(x.dtype().into()))?;
        Ok(Some(rotate(x, rows, self.config.layout, Turn::Forward)))
    }
}

impl Rotate for XPosPositionalEncoding {
    fn try_rotate_sides(&self, queries: ToTurn, keys: ToTurn) -> Result<Turned, PositionError> {
        Ok([
            self.rotate_side(queries, &self.of_queries)?,
            self.rotate_side(keys, &self.of_keys)?,
        ])
    }

    fn try_rotate_packed(
        &self,
        qkv: Tensor<3>,
        [heads, kv_heads]: [usize; 2],
        positions: &Positions,
    ) -> Result<Tensor<3>, PositionError> {
        let mut x = packed::by_heads(qkv, [heads, kv_heads])?;
        let by_heads = x.clone().swap_dims(1, 2);
        let lookup = lookup(
            &by_heads,
            positions,
            self.config.d_head,
            &self.of_queries.device(),
        )?;
        drop(by_heads); // or the projection's memory is shared
        if x.shape().num_elements() > 0 {
            self.config.check_reach(&lookup, x.dtype())?;
            let dtype = compute_dtype(x.dtype().into());
            let sides = [
                (&self.of_queries, 0..heads),
                (&self.of_keys, heads..heads + kv_heads),
            ];
            for (rows, heads) in sides {
                let rows = rows.addend(&lookup, dtype)?;
                x = rotate_heads(x, rows, heads, self.config.layout, Turn::Forward);
            }
        }
        Ok(packed::side_by_side(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::prelude::rust_2024::*;

    use burn::tensor::{Distribution, FloatDType};

    use crate::MAX_POSITION;
    use crate::rotate::apart_from_values;
    use crate::testing::{refused, values};

    #[test]
    fn bad_input_is_refused_with_its_value_and_bound() {
        let device = Device::flex();
        let x = |d_head| Tensor::<4>::zeros([2, 3, 4, d_head], &device);
        let xpos = XPosPositionalEncodingConfig::new(8).init(&device);
        let from = |start: usize, dtype| {
            let x = x(8).cast(dtype);
            xpos.try_rotate(x.clone(), x, &Positions::from(start))
        };
        assert!(from(32_692, FloatDType::F32).is_ok());
        assert!(from(3_675, FloatDType::F16).is_ok());
        refused! {
            |bad| from(bad.0, bad.1);
            (32_693, FloatDType::F32) =>
                "the position must be at most 32695 for xPos in f32 with scale_base 512; got 32696",
            (3_676, FloatDType::F16) =>
                "the position must be at most 3678 for xPos in f16 with scale_base 512; got 3679",
        }
        // What counts is where tokens are, and not how many places a packed row has.
        let documents = (0..40_000).map(|i| i / 4).collect::<Vec<i32>>();
        let documents = Tensor::<1, burn::tensor::Int>::from_ints(documents.as_slice(), &device);
        let packed = Positions::from_segment_ids(documents.unsqueeze());
        let long = Tensor::<4>::ones([1, 1, 40_000, 8], &device);
        let (rotated, _) = xpos.rotate(long.clone(), long, &packed);
        assert!(values(rotated).iter().all(|value| value.is_finite()));
        // A buffer ends where positions do.
        let steep = XPosPositionalEncodingConfig::new(8)
            .with_scale_base(2.0)
            .init(&device);
        assert!(steep.try_rotate(x(8), x(8), &Positions::from(120)).is_ok());
        assert!(steep.try_rotate(x(8), x(8), &Positions::from(130)).is_err());
        refused! {
            XPosPositionalEncodingConfig::new(8).with_rotary_dim(10) =>
                "rotary_dim must be even, from 2 to d_head 8; got 10",
            XPosPositionalEncodingConfig::new(8).with_scale_base(0.0) =>
                "scale_base must be a normal number above 0; got 0",
        }
    }

    /// In their projection, with the gradient.
    #[test]
    fn a_projection_turns_as_its_queries_and_keys_apart() {
        let device = Device::flex().autodiff();
        let random = || Tensor::<3>::random([2, 5, 64], Distribution::Default, &device);
        for layout in [Layout::Interleaved, Layout::Halves] {
            let xpos = XPosPositionalEncodingConfig::new(8).with_layout(layout);
            let xpos = xpos.with_rotary_dim(6).init(&device);
            let (qkv, weights) = (random().require_grad(), random());
            let at = Positions::from(3);
            let run = |turn: &dyn Fn(Tensor<3>) -> Tensor<3>| {
                let y = turn(qkv.clone() * 1.0);
                let gradients = (y.clone() * weights.clone()).sum().backward();
                [values(y), values(qkv.grad(&gradients).unwrap())]
            };
            let apart = run(&|qkv| apart_from_values(&xpos, qkv, [4, 2], &at).unwrap());
            assert_eq!(run(&|qkv| xpos.rotate_packed(qkv, [4, 2], &at)), apart);
        }
    }

    /// With next to no decay no position is too far.
    #[test]
    fn a_large_scale_base_reaches_every_position() {
        let device = Device::flex();
        for scale_base in [1e18, 1e307] {
            let xpos = XPosPositionalEncodingConfig::new(8).with_scale_base(scale_base);
            let xpos = xpos.with_max_len(4).init(&device);
            let x = Tensor::<4>::ones([1, 1, 2, 8], &device);
            let (q, _) = xpos.rotate(x.clone(), x, &Positions::from(MAX_POSITION - 2));
            assert!(values(q).into_iter().all(f32::is_finite));
        }
    }
}
