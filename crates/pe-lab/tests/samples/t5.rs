use burn::tensor::Device;
use pe_burn::{PositionError, T5RelativeBias, T5RelativeBiasConfig};

/// Biases of attention scores: `t5.bias((&positions, queries), (&positions, keys))`. The table is trained, or
/// set: `t5.weight`, [16, 2].
pub fn bias(device: &Device) -> Result<T5RelativeBias, PositionError> {
    T5RelativeBiasConfig::new(2)
        .with_buckets(16)
        .with_max_distance(40)
        .with_bidirectional(false)
        .try_init(device)
}
