//! Tensors for what a kernel computes.

use burn::tensor::Shape;
use burn_cubecl::cubecl::prelude::TensorArg;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;

/// A new tensor beside `x`, not yet written.
pub fn new(x: &CubeTensor, shape: Shape) -> CubeTensor {
    empty_device_contiguous_dtype(x.client.clone(), x.device.clone(), shape, x.dtype)
}

/// A tensor for what is computed from `x` element by element, and the argument that stands for it: the memory
/// of `x` where nothing else reads it. `position` is that of `x` among the arguments.
pub fn in_place(x: &CubeTensor, position: usize) -> (CubeTensor, TensorArg) {
    match x.can_mut() && x.is_nonoverlapping() {
        true => (x.clone(), x.as_tensor_alias(position)),
        false => {
            let y = new(x, x.meta.shape().clone());
            (y.clone(), y.into_tensor_arg())
        }
    }
}

/// The number of rows of `x`, and their width.
pub fn rows_of(x: &CubeTensor) -> (usize, usize) {
    let shape = x.meta.shape();
    let width = shape[shape.num_dims() - 1];
    (shape.num_elements() / width, width)
}
