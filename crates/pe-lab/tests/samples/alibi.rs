use burn::tensor::Device;
use pe_burn::{Alibi, AlibiConfig, AlibiShape, PositionError};

/// Biases of attention scores: `alibi.bias((&positions, queries), (&positions, keys))`.
pub fn bias(device: &Device) -> Result<Alibi, PositionError> {
    AlibiConfig::new(4)
        .with_shape(AlibiShape::HalfStep)
        .try_init(device)
}
