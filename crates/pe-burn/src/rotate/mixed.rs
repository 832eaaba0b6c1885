//! RoPE with learned frequencies, of several axes at once.

use alloc::format;
use alloc::vec::Vec;

use burn::module::{Module, Param};
use burn::tensor::{Device, Distribution, Tensor};

use super::turn::rotate_by;
use super::{Rotate, ToTurn, Turned, each_side, lookup};
use crate::backend::memory::check_room;
use crate::config::{config, module};
use crate::error::{PositionError, check_number, check_size, check_width};
use crate::layout::Layout;
use crate::positions::{Axes, Positions};
use crate::tensor::{cast, check_parameter, compute_dtype, dequantized};

config! {
    /// The configuration of a [`MixedRotary`].
    pub struct MixedRotaryConfig {
        /// The width of a head: even, and with two axes a multiple of 4.
        d_head: usize,
        /// The number of heads, each of which has frequencies of its own.
        heads: usize,
    }

    /// The paper's rotation of images; every option at its default.
    new;

    /// The number of coordinates of a token, 1 or 2. With 1, positions are on a line. Default: 2.
    axes: usize = 2,
    with_axes;

    /// The base of the initial frequencies, finite and greater than 1. Default: 10, as for images.
    base: f64 = 10.0,
    with_base;

    /// Which columns make a pair. Default: interleaved.
    layout: Layout = Layout::default(),
    with_layout;
}

impl MixedRotaryConfig {
    /// Builds the module on `device`, with random directions of the frequencies of each head.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a number that is out of bounds, and
    /// [`TooLarge`](PositionError::TooLarge) when the frequencies do not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<MixedRotary, PositionError> {
        let (axes, pairs) = (self.axes, self.d_head / 2);
        let is_even = self.d_head >= 2 && self.d_head.is_multiple_of(2);
        check_number(is_even, "d_head", self.d_head, "even and at least 2")?;
        check_size("heads", self.heads)?;
        check_number((1..=2).contains(&axes), "axes", axes, "1 or 2")?;
        if !pairs.is_multiple_of(axes) {
            let bound = format!("a multiple of {}", 2 * axes);
            return Err(PositionError::number("d_head", self.d_head, bound));
        }
        let fits = self.base.is_finite() && self.base > 1.0;
        check_number(fits, "base", self.base, "finite and greater than 1")?;
        check_room::<f32>(self.heads.saturating_mul(axes), pairs)?;
        // base^(−2i/d) for every pair, with the pairs of each axis starting anew.
        let speeds: Vec<f32> = (0..pairs)
            .map(|i| (i % (pairs / axes)) as f64 * 2.0 * axes as f64 / self.d_head as f64)
            .map(|power| libm::pow(self.base, -power) as f32)
            .collect();
        let speeds = Tensor::<1>::from_data(speeds.as_slice(), device).reshape([1, 1, pairs]);
        let frequencies = match axes {
            1 => speeds.expand([1, self.heads, pairs]),
            _ => {
                // A direction for each head, and the one at a right angle to it.
                let turn = Distribution::Uniform(0.0, core::f64::consts::TAU);
                let angle = Tensor::<3>::random([1, self.heads, 1], turn, device);
                let (sin, cos) = (angle.clone().sin(), angle.cos());
                let half = |first: Tensor<3>, second: Tensor<3>| {
                    let of = [first, second].map(|x| x.expand([1, self.heads, pairs / 2]));
                    Tensor::cat(of.to_vec(), 2)
                };
                let rows = half(cos.clone(), -sin.clone());
                let columns = half(sin, cos);
                Tensor::cat([rows, columns].to_vec(), 0) * speeds
            }
        };
        Ok(MixedRotary {
            frequencies: Param::from_tensor(frequencies),
            config: self.clone(),
        })
    }
}

module!(MixedRotaryConfig => MixedRotary { d_head, heads, axes, base, layout });

/// RoPE with learned frequencies, in which each pair of each head turns by a mixture of all coordinates.
/// Heo et al., [*Rotary Position Embedding for Vision
/// Transformer*](https://arxiv.org/abs/2403.13298), 2024, §3.2 (RoPE-Mixed):
///
/// ```text
/// angle(head, i, p) = Σ_axis ω[axis, head, i] · p[axis]
/// ```
///
/// Made by [`MixedRotaryConfig`]. Give each layer a module of its own, as the paper does. With one axis it
/// is RoPE on a line with learned frequencies.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use pe_burn::rotary::MixedRotaryConfig;
/// use pe_burn::{Grid, Positions, Rotate};
///
/// let device = Device::flex();
/// let rope = MixedRotaryConfig::new(64, 12).init(&device);
/// let positions = Positions::from(Grid::image(14, 16).with_prefix(1));
/// let q = Tensor::<4>::ones([2, 12, 225, 64], &device);
/// let (q, k) = rope.rotate(q.clone(), q, &positions); // [batch, heads, seq, d_head]
/// # assert_eq!((q.dims(), k.dims()), ([2, 12, 225, 64], [2, 12, 225, 64]));
/// ```
///
/// - **Learned**, so angles are computed on the device, in `f32` (`f64` for an input of that type): they are off by up to 6e-8 of their own
///   size, which is little for the coordinates of an image and much for positions far out on a line.
/// - **Heads.** Queries and keys both have `heads` heads.
/// - **Weights.** `frequencies` is `[axes, heads, d_head / 2]`, rows of the grid before columns. timm keeps
///   one parameter `[2, layers, heads, d_head / 2]` for all layers, with columns before rows unless its
///   `grid_indexing` is `ij`.
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "RoPE-Mixed")]
pub struct MixedRotary {
    /// `[axes, heads, d_head / 2]`, in radians per step of a coordinate.
    pub frequencies: Param<Tensor<3>>,
    #[module(skip)]
    config: MixedRotaryConfig,
}

impl MixedRotary {
    fn side(&self, x: Tensor<4>, positions: &Positions) -> Result<Tensor<4>, PositionError> {
        let frequencies = dequantized(self.frequencies.val());
        let device = frequencies.device();
        let lookup = lookup(&x, positions, self.config.d_head, &device)?;
        let [_, heads, _, _] = x.dims();
        check_width("heads", self.config.heads, heads)?;
        let shape = [self.config.axes, heads, self.config.d_head / 2];
        check_parameter("frequencies", frequencies.dims(), shape)?;
        let has_one = self.config.axes == 1;
        lookup.check_axes((!has_one).then_some(&Axes::HEIGHT_WIDTH))?;
        if x.shape().num_elements() == 0 {
            return Ok(x);
        }
        let dtype = compute_dtype(x.dtype().into());
        let pairs = self.config.d_head / 2;
        let numbers = lookup.numbers(self.config.axes, dtype, &device);
        let frequencies = cast(frequencies, dtype);
        let angles = (0..self.config.axes).map(|axis| {
            let along = numbers.clone().narrow(2, axis, 1).unsqueeze_dim::<4>(1);
            let speeds = frequencies.clone().narrow(0, axis, 1);
            along * speeds.reshape([1, heads, 1, pairs])
        });
        let angles = angles.reduce(|sum, next| sum + next);
        let angles = angles.expect("at least one axis");
        let (sin, cos) = (angles.clone().sin(), angles.cos());
        Ok(rotate_by(x, sin, cos, self.config.layout))
    }
}

impl Rotate for MixedRotary {
    fn try_rotate_sides(&self, queries: ToTurn, keys: ToTurn) -> Result<Turned, PositionError> {
        each_side(queries, keys, |x, positions| self.side(x, positions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use burn::tensor::{DType, TensorData};

    use crate::positions::Grid;
    use crate::testing::{distance, refused, values};

    /// One axis, whose frequency is 1: a time, and a position that `f32` cannot represent.
    #[test]
    fn coordinates_are_not_rounded_to_f32_for_f64() {
        let device = Device::flex();
        let rope = MixedRotaryConfig::new(2, 1).with_axes(1).init(&device);
        for at in [0.1, 16_777_217.0] {
            let x = Tensor::<4>::from_data([[[[1.0_f64, 0.0]]]], (&device, DType::F64));
            let positions = Positions::from_time_rows(&[[at]]).unwrap();
            let y = rope.rotate_queries(x, &positions).into_data();
            let sine = y.iter::<f64>().nth(1).unwrap();
            assert!((sine - libm::sin(at)).abs() < 1e-12, "{at}: {sine}");
        }
    }

    #[test]
    fn frequencies_of_a_head_are_at_right_angles() {
        let device = Device::flex();
        let rope = MixedRotaryConfig::new(16, 3).init(&device);
        let all = values(rope.frequencies.val());
        let at = |axis: usize, head: usize, i: usize| f64::from(all[(axis * 3 + head) * 8 + i]);
        for head in 0..3 {
            for i in 0..4 {
                let speed = 10_f64.powf(-(i as f64) / 4.0);
                let (a, b) = (
                    [at(0, head, i), at(1, head, i)],
                    [at(0, head, i + 4), at(1, head, i + 4)],
                );
                assert!((a[0].hypot(a[1]) - speed).abs() < 1e-6);
                assert!((b[0].hypot(b[1]) - speed).abs() < 1e-6);
                assert!((a[0] * b[0] + a[1] * b[1]).abs() < 1e-6);
            }
        }
        assert!((at(0, 0, 0) - at(0, 1, 0)).abs() > 1e-4);
    }

    /// On a line, before any training, it is RoPE.
    #[test]
    fn on_a_line_it_starts_as_rope() {
        let device = Device::flex();
        let mixed = MixedRotaryConfig::new(8, 2)
            .with_axes(1)
            .with_base(100.0)
            .init(&device);
        let rope = crate::RotaryPositionalEncodingConfig::new(8)
            .with_base(100.0)
            .init(&device);
        let x = Tensor::<4>::random([2, 2, 9, 8], Distribution::Default, &device);
        let real = Tensor::from_data([[true; 9], [false; 9]], &device);
        for positions in [
            Positions::from(7),
            Positions::from_starts([3, 40]),
            Positions::from_token_mask(real),
            Positions::from_time_rows(&[[0.5; 9]]).unwrap(),
            Positions::from(Grid::image(3, 3)),
        ] {
            let (a, b) = (
                mixed.rotate_queries(x.clone(), &positions),
                rope.rotate_queries(x.clone(), &positions),
            );
            assert!(distance(a, b) < 1e-5);
        }
    }

    #[test]
    fn gradients_reach_frequencies_queries_and_keys() {
        let device = Device::flex().autodiff();
        let rope = MixedRotaryConfig::new(8, 2).init(&device);
        let x = Tensor::<4>::random([1, 2, 6, 8], Distribution::Default, &device).require_grad();
        let positions = Positions::from(Grid::image(2, 3));
        let weights = Tensor::<4>::random([1, 2, 6, 8], Distribution::Default, &device);
        let loss = |rope: &MixedRotary, x: Tensor<4>| {
            (rope.rotate_queries(x, &positions) * weights.clone()).sum()
        };
        let gradients = loss(&rope, x.clone()).backward();
        let of_x = values(x.grad(&gradients).unwrap());
        assert!(of_x.iter().all(|g| g.is_finite()) && of_x.iter().any(|g| g.abs() > 0.1));
        let of_frequencies = values(rope.frequencies.val().grad(&gradients).unwrap());
        // Against differences of the loss itself.
        for i in [0, 3, 5, 9, 12, 15] {
            let shifted = |by: f32| {
                let mut all = values(rope.frequencies.val());
                all[i] += by;
                let all = Tensor::from_data(TensorData::new(all, [2, 2, 4]), &device);
                let moved = MixedRotary {
                    frequencies: Param::from_tensor(all),
                    config: rope.config.clone(),
                };
                f64::from(values(loss(&moved, x.clone()))[0])
            };
            let slope = (shifted(1e-2) - shifted(-1e-2)) / 2e-2;
            assert!(
                (slope - f64::from(of_frequencies[i])).abs() < 2e-3,
                "{i}: {slope}"
            );
        }
    }

    #[test]
    fn bad_input_is_refused() {
        let device = Device::flex();
        refused! {
            MixedRotaryConfig::new(6, 2) => "d_head must be a multiple of 4; got 6",
            MixedRotaryConfig::new(7, 2) => "d_head must be even and at least 2; got 7",
            MixedRotaryConfig::new(64, 1 << 48) => "… do not fit into memory",
            MixedRotaryConfig::new(8, 0) => "heads must be at least 1; got 0",
            MixedRotaryConfig::new(8, 2).with_axes(3) => "axes must be 1 or 2; got 3",
            MixedRotaryConfig::new(8, 2).with_base(1.0) => "base must be finite and greater than 1; got 1",
        }
        let rope = MixedRotaryConfig::new(8, 2).init(&device);
        refused! {
            |bad| rope.try_rotate_queries(Tensor::ones([1, bad.0, 6, 8], &device), &bad.1);
            (3, Positions::from(Grid::image(2, 3))) =>
                "the input has heads 3, but this module was built for heads 2",
            (2, Positions::default()) => "… but got positions on a line",
        }
        let empty = rope.rotate_queries(
            Tensor::ones([0, 2, 6, 8], &device),
            &Grid::image(2, 3).into(),
        );
        assert_eq!(empty.dims(), [0, 2, 6, 8]);
    }
}
