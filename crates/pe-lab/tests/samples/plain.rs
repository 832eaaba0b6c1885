use burn::tensor::Device;
use pe_burn::{Formula, PositionError, Spectrum};
use pe_burn::{SinusoidalPositionalEncoding, SinusoidalPositionalEncodingConfig};

const FORMULA: Formula = Formula::Paper { base: 10000.0 };

/// Adds positions to embeddings, [batch, seq, 64].
pub fn encoding(device: &Device) -> Result<SinusoidalPositionalEncoding, PositionError> {
    SinusoidalPositionalEncodingConfig::new(64)
        .with_formula(FORMULA)
        .try_init(device)
}

/// The rows of the picture, one behind the other: 100 × 64 numbers.
pub fn rows() -> Result<Vec<f32>, PositionError> {
    let positions: Vec<usize> = (0..).step_by(1).take(100).collect();
    Spectrum::new(64, FORMULA)?
        .rows_at(&positions)
}
