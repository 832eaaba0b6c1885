use burn::module::Param;
use burn::tensor::{Device, Tensor};
use pe_burn::{Kerple, KerpleConfig, KerpleShape, PositionError};

/// Biases of attention scores: `kerple.bias((&positions, queries), (&positions, keys))`. Both numbers are
/// trained further.
pub fn bias(device: &Device) -> Result<Kerple, PositionError> {
    let mut kerple = KerpleConfig::new(1)
        .with_shape(KerpleShape::Power)
        .try_init(device)?;
    kerple.r1 = Param::from_tensor(Tensor::from_floats([0.25], device));
    kerple.r2 = Param::from_tensor(Tensor::from_floats([1.5], device));
    Ok(kerple)
}
