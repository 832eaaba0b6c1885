use burn::tensor::Device;
use pe_burn::scaling::Yarn;
use pe_burn::{Layout, PositionError, RotaryPositionalEncoding, RotaryPositionalEncodingConfig};

/// Rotates queries and keys, [batch, heads, seq, 32]: `rotation.rotate(q, k, &positions)`.
pub fn rotation(device: &Device) -> Result<RotaryPositionalEncoding, PositionError> {
    RotaryPositionalEncodingConfig::new(32)
        .with_base(500.0)
        .with_layout(Layout::Halves)
        .with_rotary_dim(16)
        .with_scaling(Yarn::new(2.5, 64))
        .try_init(device)
}
