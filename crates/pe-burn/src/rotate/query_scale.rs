//! A factor of the queries that grows with their position.

use alloc::vec::Vec;

use burn::tensor::{FloatDType, Tensor, TensorData};

use crate::error::{PositionError, check_finite, check_size};
use crate::positions::Positions;
use crate::tensor::{cast, check_float, compute_dtype};

/// A factor of the queries that grows with their position, so that attention over many keys stays as
/// sharp as over few:
///
/// ```text
/// factor(p) = 1 + beta · ln(1 + ⌊(p + shift) / length⌋)
/// ```
///
/// Llama 4 has it in the layers that do not rotate (`shift` 1), Ministral 3 in all layers (`shift` 0).
/// `HfConfig::layers` of the crate `pe-models` gives it for each layer.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use pe_burn::Positions;
/// use pe_burn::rotary::QueryScale;
///
/// let scale = QueryScale { beta: 0.1, length: 8_192, shift: 1 };
/// assert_eq!((scale.factor(0), scale.factor(8_191)), (1.0, 1.0 + 0.1 * 2.0_f64.ln()));
/// let q = Tensor::<4>::ones([2, 8, 10, 64], &Device::flex());
/// let q = scale.scale(q, &Positions::from(100_000))?; // [batch, heads, seq, d_head]
/// # assert_eq!(q.dims(), [2, 8, 10, 64]);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
#[doc(alias = "attn_temperature_tuning")]
#[doc(alias = "llama_4_scaling_beta")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryScale {
    /// How strongly the factor grows; finite.
    pub beta: f64,
    /// The factor grows whenever the position passes a multiple of this number, at least 1.
    pub length: usize,
    /// Added to the position.
    pub shift: usize,
}

impl QueryScale {
    /// The factor of a query at a position.
    pub fn factor(&self, position: usize) -> f64 {
        let steps = position.saturating_add(self.shift) / self.length.max(1);
        1.0 + self.beta * libm::log(1.0 + steps as f64)
    }

    /// Multiplies each query by the factor of its position. Positions that are on a device are read back.
    ///
    /// # Shapes
    ///
    /// - `q`: `[batch, heads, seq, d_head]`
    /// - output: as `q`
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a `length` of 0 and a `beta` that is not finite, [`Shape`](PositionError::Shape) or
    /// [`Batch`](PositionError::Batch) when the positions are for another shape, [`Overflow`](PositionError::Overflow) past [`MAX_POSITION`](crate::MAX_POSITION),
    /// [`NotWhole`](PositionError::NotWhole) for times, [`Grid`](PositionError::Grid) for coordinates, and
    /// [`Quantized`](PositionError::Quantized) for quantized queries.
    pub fn scale(&self, q: Tensor<4>, positions: &Positions) -> Result<Tensor<4>, PositionError> {
        check_float(&q)?;
        check_finite("beta", self.beta)?;
        check_size("length", self.length)?;
        let [batch, _, seq, _] = q.dims();
        let rows = positions.to_rows(seq)?;
        if rows.len() != 1 && rows.len() != batch {
            return Err(PositionError::Batch {
                what: "rows of positions",
                expected: batch,
                got: rows.len(),
            });
        }
        let factors: Vec<f64> = rows.iter().flatten().map(|&p| self.factor(p)).collect();
        if factors.iter().all(|factor| *factor == 1.0) {
            return Ok(q);
        }
        let data = TensorData::new(factors, [rows.len(), 1, seq, 1]);
        let own = FloatDType::from(q.dtype());
        let dtype = compute_dtype(own);
        let options = (&q.device().without_autodiff(), dtype.into());
        let factors = Tensor::<4>::from_data(data, options);
        Ok(cast(cast(q, dtype) * factors, own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use burn::tensor::{DType, Device};
    use std::prelude::rust_2024::*;

    use crate::testing::{refusal, values};

    #[test]
    fn each_query_is_multiplied_by_the_factor_of_its_position() {
        let scale = QueryScale {
            beta: 0.5,
            length: 4,
            shift: 0,
        };
        let q = Tensor::<4>::ones([2, 3, 6, 2], &Device::flex());
        let scaled = scale
            .scale(q.clone(), &Positions::from_starts([0, 100]))
            .unwrap();
        let expected: Vec<f32> = [0, 100]
            .into_iter()
            .flat_map(|start| {
                let row = (start..start + 6).flat_map(|p| [scale.factor(p) as f32; 2]);
                row.collect::<Vec<_>>().repeat(3)
            })
            .collect();
        assert_eq!(values(scaled), expected);
        assert_eq!(
            refusal(scale.scale(q, &Positions::from_starts([1, 2, 3]))),
            "there are 3 rows of positions for a batch of 2 rows"
        );
        for (wrong, words) in [
            (
                QueryScale { length: 0, ..scale },
                "length must be at least 1; got 0",
            ),
            (
                QueryScale {
                    beta: f64::NAN,
                    ..scale
                },
                "beta must be finite in f32; got NaN",
            ),
        ] {
            let q = Tensor::ones([1, 1, 1, 2], &Device::flex());
            assert_eq!(refusal(wrong.scale(q, &Positions::from(9))), words);
        }
        // In a short type the product is rounded, and not the factor before it.
        let one = Tensor::<4>::full([1, 1, 1, 1], 1.5, (&Device::flex(), DType::BF16));
        let scaled = scale.scale(one, &Positions::from(9)).unwrap();
        let options = (&Device::flex(), DType::BF16);
        let expected = Tensor::<4>::full([1, 1, 1, 1], 1.5 * scale.factor(9), options);
        assert_eq!(values(scaled), values(expected));
        assert_eq!(scale.factor(3), 1.0);
        assert_eq!(
            scale.factor(usize::MAX),
            1.0 + 0.5 * (usize::MAX as f64 / 4.0).ln()
        );
    }
}
