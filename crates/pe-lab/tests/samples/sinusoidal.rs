use burn::tensor::Device;
use pe_burn::{Formula, Layout, PositionError, Spectrum};
use pe_burn::{SinusoidalPositionalEncoding, SinusoidalPositionalEncodingConfig};

const FORMULA: Formula = Formula::Diffusers {
    flip_sin_to_cos: false,
    downscale_freq_shift: 1.0,
    scale: 1.0,
    max_period: 300.0,
};

/// Adds positions to embeddings, [batch, seq, 24].
pub fn encoding(device: &Device) -> Result<SinusoidalPositionalEncoding, PositionError> {
    SinusoidalPositionalEncodingConfig::new(24)
        .with_formula(FORMULA)
        .with_layout(Layout::Interleaved)
        .try_init(device)
}

/// The rows of the picture, one behind the other: 5 × 24 numbers.
pub fn rows() -> Result<Vec<f32>, PositionError> {
    let positions: Vec<usize> = (7..).step_by(3).take(5).collect();
    Spectrum::new(24, FORMULA)?
        .with_layout(Layout::Interleaved)
        .rows_at(&positions)
}
