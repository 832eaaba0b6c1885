use burn::tensor::Device;
use pe_burn::scaling::Longrope;
use pe_burn::{Layout, PositionError, RotaryPositionalEncoding, RotaryPositionalEncodingConfig};

/// Rotates queries and keys, [batch, heads, seq, 32]: `rotation.rotate(q, k, &positions)`.
pub fn rotation(device: &Device) -> Result<RotaryPositionalEncoding, PositionError> {
    RotaryPositionalEncodingConfig::new(32)
        .with_base(500.0)
        .with_layout(Layout::Interleaved)
        .with_rotary_dim(16)
        .with_scaling(Longrope::new(
            vec![1.0; 8],
            (0..8).map(|i| 2.5_f64.powf(i as f64 / 7.0)).collect(),
            64,
            2.5,
        ))
        .try_init(device)
}
