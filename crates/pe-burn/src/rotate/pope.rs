//! PoPE: polar coordinate position embedding.

use alloc::vec;

use burn::module::{Initializer, Module, Param};
use burn::tensor::activation::log_sigmoid;
use burn::tensor::{Device, FloatDType, Tensor};

use super::{Rotate, ToTurn, Turned, lookup};
#[cfg(feature = "flex")]
use crate::backend::flex;
use crate::backend::memory::check_room;
use crate::config::{config, module};
use crate::error::{PositionError, check_size, check_width};
use crate::layout::Layout;
use crate::positions::Positions;
use crate::spectrum::buffer::{DEFAULT_MAX_LEN, RowBuffer};
use crate::spectrum::{DEFAULT_BASE, Spectrum};
use crate::tensor::{cast, check_parameter, compute_dtype, dequantized, matrix, within};

config! {
    /// The configuration of a [`Pope`].
    pub struct PopeConfig {
        /// The width of a head, at least 1. Every column turns on its own, so it may be odd.
        d_head: usize,
        /// The number of heads of the keys, each of which has phases of its own. Queries may have other numbers of heads.
        heads: usize,
    }

    /// The paper's embedding of `heads` heads of keys, each `d_head` wide; every option at its default.
    new;

    /// The wavelengths go from 2π to nearly 2π · base; finite and greater than 1. Default: 10 000.
    base: f64 = DEFAULT_BASE,
    with_base;

    /// How many rows the buffer has from the start. It grows when more are needed. Default: 5000.
    max_len: usize = DEFAULT_MAX_LEN,
    with_max_len;

    /// The initial phases, in radians. Default: 0, with which the paper's models extrapolate best; its other choice is
    /// uniform from −2π to 0.
    init: Initializer = Initializer::Zeros,
    with_init;
}

impl PopeConfig {
    /// The frequencies of the columns, highest first: `base^(−c/d_head)`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a `d_head` of 0 and a base out of bounds.
    pub fn spectrum(&self) -> Result<Spectrum, PositionError> {
        check_size("d_head", self.d_head)?;
        // Twice as wide, since a spectrum has a frequency for every two columns.
        let width = self.d_head.saturating_mul(2);
        Ok(Spectrum::new(width, self.base)?.with_layout(Layout::Halves))
    }

    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a number that is out of bounds, and [`TooLarge`](PositionError::TooLarge) when the phases
    /// or the rows do not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<Pope, PositionError> {
        let spectrum = self.spectrum()?;
        check_size("heads", self.heads)?;
        check_room::<f32>(self.heads, self.d_head)?;
        Ok(Pope {
            phases: matrix(&self.init, [self.heads, self.d_head], device),
            rows: RowBuffer::new(spectrum.into(), self.max_len, device)?,
            config: self.clone(),
        })
    }
}

module!(PopeConfig => Pope { d_head, heads, base, max_len });

/// PoPE, polar coordinate position embedding: each column of a query or a key becomes a vector. The column gives its
/// length, and the position alone gives its direction. In RoPE the direction of a pair depends on its content too.
/// Gopalakrishnan et al., [*Decoupling the
/// "What" and "Where" With Polar Coordinate Positional Embeddings*](https://arxiv.org/abs/2509.10534), 2025, §3:
///
/// ```text
/// θ_c = base^(−c/d_head)                                              for each column c
/// score(t, s) = Σ_c softplus(q_c) softplus(k_c) cos((s − t) θ_c + δ_c)       δ_c in [−2π, 0], trained
/// ```
///
/// Made by [`PopeConfig`].
///
/// ```
/// use burn::tensor::module::attention;
/// use burn::tensor::ops::AttentionModuleOptions;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::rotary::PopeConfig;
/// use pe_burn::{Positions, Rotate};
///
/// let device = Device::flex();
/// let pope = PopeConfig::new(64, 8).init(&device);
/// let [q, k, v] = [(); 3].map(|()| Tensor::<4>::random([2, 8, 100, 64], Distribution::Default, &device));
/// let (q, k) = pope.rotate(q, k, &Positions::default()); // [batch, heads, seq, 2 · d_head]
/// assert_eq!(q.dims(), [2, 8, 100, 128]);
///
/// // The scores are divided by √d_head, not by the root of the width that attention sees.
/// let options = AttentionModuleOptions { scale: Some(1.0 / 8.0), ..Default::default() };
/// let y = attention(q, k, v, None, None, options);
/// assert_eq!(y.dims(), [2, 8, 100, 64]);
/// ```
///
/// - **Twice as wide.** A column becomes two, its cosine and its sine: the cosines of all columns stand before the sines. A
///   cache of keys takes twice the memory.
/// - **Sides.** With phases of 0 a score is the same for a key to the left and one as far to the right; trained phases tell
///   them apart. An encoder, which sees both sides, may start from random ones: [`PopeConfig::with_init`].
/// - **Not a rotation.** With phases of 0, products of tokens at the same position are never negative, and the sign of a
///   column is lost: a model that was trained with RoPE cannot take PoPE without training.
/// - **Weights.** `phases` is `bias` of `PoPE` in the package PoPE-pytorch. Values outside −2π to 0 count as the nearer end.
///   Their gradient passes, so that training can bring them back: the default, 0, is such an end.
/// - **Types.** It computes in the type of the phases, and returns the type of its input.
/// - **Exact.** Sines and cosines are within 3.0e-8 of their true values at every position.
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "PoPE")]
#[doc(alias = "polar")]
pub struct Pope {
    /// The phases δ of the keys in radians, `[heads, d_head]`.
    pub phases: Param<Tensor<2>>,
    rows: RowBuffer,
    #[module(skip)]
    config: PopeConfig,
}

impl Pope {
    /// Every column of `x` as a vector: its length from the column, its direction from the position and, if given, the
    /// phases. Computed in `dtype`.
    ///
    /// # Shapes
    ///
    /// - `phases`: `[heads, d_head]`
    /// - output: `[batch, heads, seq, 2 · d_head]`
    fn side(
        &self,
        x: Tensor<4>,
        positions: &Positions,
        dtype: FloatDType,
        phases: Option<Tensor<2>>,
    ) -> Result<Tensor<4>, PositionError> {
        let d_head = self.config.d_head;
        let lookup = lookup(&x, positions, d_head, &self.rows.device())?;
        lookup.check_axes(None)?;
        if x.shape().num_elements() == 0 {
            return Ok(Tensor::cat(vec![x; 2], 3));
        }
        let own = x.dtype();
        let rows: Tensor<4> = self.rows.rows(&lookup, dtype)?.unsqueeze_dim(1);
        let (mut sin, mut cos) = (
            rows.clone().narrow(3, 0, d_head),
            rows.narrow(3, d_head, d_head),
        );
        if let Some(phases) = phases {
            let phases = within(cast(phases, dtype), (-core::f64::consts::TAU, 0.0));
            let phases = phases.reshape([1, self.config.heads, 1, d_head]);
            let (s, c) = (phases.clone().sin(), phases.cos());
            (sin, cos) = (
                sin.clone() * c.clone() + cos.clone() * s.clone(),
                cos * c - sin * s,
            );
        }
        Ok(cast(columns(cast(x, dtype), [cos, sin]), own.into()))
    }
}

/// Every column as a vector of length `softplus(x)`, in the direction with these cosines and sines.
fn columns(x: Tensor<4>, directions: [Tensor<4>; 2]) -> Tensor<4> {
    #[cfg(feature = "flex")]
    if flex::supports(&x)
        && directions
            .iter()
            .all(|table| flex::supports(table) && table.dims()[0] == 1)
    {
        return flex::polar(x, directions);
    }
    // softplus(x), without the overflow of e^x.
    let length = -log_sigmoid(-x);
    Tensor::cat(directions.map(|table| length.clone() * table).into(), 3)
}

impl Rotate for Pope {
    fn width(&self, d_head: usize) -> usize {
        2 * d_head
    }

    fn try_rotate_sides(&self, queries: ToTurn, keys: ToTurn) -> Result<Turned, PositionError> {
        let phases = dequantized(self.phases.val());
        // In the type of the phases: drivers of Vulkan have no exponential and no sine of f64.
        let dtype = compute_dtype(phases.dtype().into());
        let shape = [self.config.heads, self.config.d_head];
        check_parameter("phases", phases.dims(), shape)?;
        let queries = queries.map(|(q, positions)| self.side(q, positions, dtype, None));
        let keys = keys.map(|(k, positions)| {
            check_width("heads", self.config.heads, k.dims()[1])?;
            self.side(k, positions, dtype, Some(phases))
        });
        Ok([queries.transpose()?, keys.transpose()?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::testing::{refusal, refused, values};

    #[test]
    fn a_column_has_the_frequency_of_its_place() {
        let frequencies = PopeConfig::new(3, 1).spectrum().unwrap().frequencies();
        for (column, frequency) in frequencies.into_iter().enumerate() {
            let expected = libm::pow(1e4, -(column as f64) / 3.0);
            assert!((frequency - expected).abs() < 1e-15, "{column}");
        }
    }

    /// With columns of any size, and phases past their ends.
    #[test]
    fn lengths_are_finite_and_phases_stay_within_a_turn() {
        let device = Device::flex();
        let mut pope = PopeConfig::new(3, 1).init(&device);
        let x = || Tensor::<4>::from_floats([[[[-1e30, 0.0, 1e30]]]], &device);
        let q = values(pope.rotate_queries(x(), &Positions::default()));
        assert_eq!(q, [0.0, core::f32::consts::LN_2, 1e30, 0.0, 0.0, 0.0]);
        for (phase, end) in [(3.0, 0.0), (-9.0, -core::f32::consts::TAU)] {
            let turned = |pope: &Pope| values(pope.rotate_keys(x(), &Positions::from(5)));
            pope.phases = Param::from_tensor(Tensor::full([1, 3], phase, &device));
            let past = turned(&pope);
            pope.phases = Param::from_tensor(Tensor::full([1, 3], end, &device));
            assert_eq!(past, turned(&pope));
        }
    }

    /// The kernel in `f32` against the operations in `f64`: columns, and the gradients of the input and of the directions, which are
    /// one for all heads or one for each.
    #[cfg(feature = "flex")]
    #[test]
    fn one_pass_equals_the_operations() {
        use crate::testing::random;

        let device = Device::flex().autodiff();
        for (shape @ [batch, heads, seq, d], of_heads, learns) in [
            ([1, 1, 1, 1], 1, true),
            ([3, 2, 5, 7], 2, true),
            ([2, 3, 5, 17], 3, false),
            ([2, 4, 300, 16], 1, true),
        ] {
            let input = random([batch, seq, heads, d], &device);
            let directions = [(); 2].map(|()| random([1, of_heads, seq, d], &device));
            let weights = random([batch, heads, seq, 2 * d], &device);
            let run = |dtype: FloatDType, is_kernel: bool, all_alike: bool| {
                let leaf = |x: &Tensor<4>| x.clone().detach().cast(dtype).require_grad();
                let x = leaf(&input);
                let tables = directions.each_ref().map(|table| match learns {
                    true => leaf(table),
                    false => table.clone().without_autodiff().cast(dtype),
                });
                // As an encoder has them: the heads of a token lie side by side.
                let (of_x, of_tables) = (x.clone().swap_dims(1, 2), tables.clone());
                let y = match is_kernel {
                    true => flex::polar(of_x, of_tables),
                    false => columns(of_x, of_tables),
                };
                assert_eq!(y.dims(), [batch, heads, seq, 2 * d]);
                let loss = match all_alike {
                    true => y.clone().sum(), // whose gradient is one number that all share
                    false => (y.clone() * weights.clone().cast(dtype)).sum(),
                };
                let gradients = loss.backward();
                let numbers = |x: Tensor<4>| x.into_data().iter().collect::<alloc::vec::Vec<f64>>();
                let mut all = vec![numbers(y), numbers(x.grad(&gradients).unwrap())];
                if learns {
                    all.extend(tables.map(|table| numbers(table.grad(&gradients).unwrap())));
                }
                all
            };
            for all_alike in [false, true] {
                let found = run(FloatDType::F32, true, all_alike);
                let expected = run(FloatDType::F64, false, all_alike);
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(&expected) {
                    assert_eq!(found.len(), expected.len());
                    let largest = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
                    for (found, expected) in found.iter().zip(expected) {
                        let error = (found - expected).abs() / largest;
                        assert!(error < 2e-6, "{shape:?}: {found} {expected}");
                    }
                }
            }
        }
    }

    /// At the default, which is an end of the range, a phase that moves upwards is past it.
    #[test]
    fn a_phase_past_its_end_has_the_gradient_that_brings_it_back() {
        let device = Device::flex().autodiff();
        let mut pope = PopeConfig::new(1, 1).init(&device);
        let gradient = |pope: &Pope| {
            let k = pope.rotate_keys(Tensor::ones([1, 1, 1, 1], &device), &Positions::from(1));
            let gradients = k.sum().backward();
            values(pope.phases.val().grad(&gradients).unwrap())[0]
        };
        // softplus(1) (cos(1 + δ) + sin(1 + δ)) at δ = 0
        let expected = libm::log1p(core::f64::consts::E) * (libm::cos(1.0) - libm::sin(1.0));
        for phase in [0.0, 0.5] {
            pope.phases = Param::from_tensor(Tensor::full([1, 1], phase, &device));
            assert!(
                (f64::from(gradient(&pope)) - expected).abs() < 1e-6,
                "{phase}"
            );
        }
    }

    #[test]
    fn bad_input_is_refused_with_its_value_and_bound() {
        let device = Device::flex();
        refused! {
            PopeConfig::new(0, 2) => "d_head must be at least 1; got 0",
            PopeConfig::new(4, 0) => "heads must be at least 1; got 0",
            PopeConfig::new(4, 2).with_base(1.0) => "… decrease; got 1",
            PopeConfig::new(4, 2).with_max_len(0) => "max_len must be at least 1; got 0",
        }
        let pope = PopeConfig::new(4, 2).init(&device);
        let zeros = |dims| Tensor::<4>::zeros(dims, &device);
        let at = Positions::default();
        let words = "the input has heads 3, but this module was built for heads 2";
        assert_eq!(
            refusal(pope.try_rotate_keys(zeros([1, 3, 5, 4]), &at)),
            words
        );
        // Of queries there may be more.
        let turned = pope.try_rotate_queries(zeros([1, 6, 5, 4]), &at).unwrap();
        assert_eq!(turned.dims(), [1, 6, 5, 8]);
        let empty = pope.rotate_keys(zeros([0, 2, 5, 4]), &at);
        assert_eq!(empty.dims(), [0, 2, 5, 8]);
        let packed = Tensor::<3>::zeros([1, 5, 24], &device);
        assert!(pope.try_rotate_packed(packed, [2, 2], &at).is_err());
    }
}
