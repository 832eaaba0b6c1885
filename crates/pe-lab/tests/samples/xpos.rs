use burn::tensor::Device;
use pe_burn::{Layout, PositionError, XPosPositionalEncoding, XPosPositionalEncodingConfig};

/// Rotates queries and keys, [batch, heads, seq, 32]: `xpos.rotate(q, k, &positions)`.
pub fn rotation(device: &Device) -> Result<XPosPositionalEncoding, PositionError> {
    XPosPositionalEncodingConfig::new(32)
        .with_base(500.0)
        .with_layout(Layout::Halves)
        .with_scale_base(64.0)
        .try_init(device)
}
