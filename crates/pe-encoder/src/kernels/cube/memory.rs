//! Tensors for what a kernel computes, and many tensors in one buffer.

use burn::tensor::Shape;
use burn_cubecl::cubecl::{self, calculate_cube_count_elemwise};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use cubecl::server::Handle;

use super::threads::addresses;

/// The most tensors of a launch, also where a card takes more: the kernel has code for each.
pub const MOST_TENSORS: usize = 32;

/// A new tensor of the type of `x` on its device, not yet written.
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

/// Where tensors begin that lie in one buffer, in elements: each at a multiple of the alignment that kernels need, so that a
/// kernel can read it alone too. And the length of the buffer.
pub fn starts(lengths: impl Iterator<Item = usize>, alignment: usize) -> (Vec<usize>, usize) {
    let mut end = 0;
    let starts = lengths.map(|length| {
        let start = end;
        end += length.next_multiple_of(alignment);
        start
    });
    (starts.collect(), end)
}

/// The number of elements that the start of every tensor of one buffer is a multiple of.
pub fn alignment(x: &CubeTensor) -> usize {
    let bytes = x.client.properties().memory.alignment as usize;
    bytes.div_ceil(x.dtype.size())
}

/// The buffer that these tensors lie in, one after the other, `[elements]`: the one that [`apart`] divided, or a new one.
pub fn together(tensors: Vec<CubeTensor>) -> CubeTensor {
    let tensors: Vec<_> = tensors.into_iter().map(into_contiguous).collect();
    let alignment = alignment(&tensors[0]);
    let lengths = tensors.iter().map(|x| x.meta.num_elements());
    let (starts, end) = starts(lengths, alignment);
    let first = &tensors[0].handle;
    let size = tensors[0].dtype.size();
    let are_together = first.size() == (end * size) as u64
        && tensors.iter().zip(&starts).all(|(x, start)| {
            let own = &x.handle;
            own.memory.descriptor() == first.memory.descriptor()
                && own.offset_start.unwrap_or(0) == (start * size) as u64
        });
    if !are_together {
        return copied(&tensors, end);
    }
    let mut handle = first.clone();
    (handle.offset_start, handle.offset_end) = (None, None);
    of_buffer(&tensors[0], [end].into(), handle)
}

/// A tensor of the type of `x` on its device, in the memory of `handle`.
fn of_buffer(x: &CubeTensor, shape: Shape, handle: Handle) -> CubeTensor {
    CubeTensor::new_contiguous(x.client.clone(), x.device.clone(), shape, handle, x.dtype)
}

/// The elements of every tensor, at the place where [`together`] expects it. Each is read and written once.
#[cube(launch_unchecked, address_type = "dynamic")]
fn copy_each(
    from: &Sequence<OwnedTensor<f32>>,
    to: &mut Tensor<f32>,
    start: usize,
    #[comptime] count: usize,
    #[comptime] alignment: usize,
) {
    let mut before = 0usize;
    #[unroll]
    for n in 0..count {
        let tensor = from.index(n);
        let elements = tensor.len();
        if ABSOLUTE_POS >= before && ABSOLUTE_POS < before + elements {
            to[start + ABSOLUTE_POS] = tensor[ABSOLUTE_POS - before];
        }
        before += elements.div_ceil(alignment) * alignment;
    }
}

/// Contiguous tensors one after the other in a new buffer of `end` elements.
fn copied(tensors: &[CubeTensor], end: usize) -> CubeTensor {
    let whole = new(&tensors[0], [end].into());
    let (client, alignment) = (whole.client.clone(), alignment(&whole));
    let bindings = client.properties().hardware.max_bindings as usize;
    let most = (bindings - 1).min(MOST_TENSORS);
    let mut start = 0;
    for of in tensors.chunks(most) {
        let lengths = of.iter().map(|x| x.meta.num_elements());
        let (_, elements) = starts(lengths, alignment);
        let dim = CubeDim::new(&client, elements);
        let count = calculate_cube_count_elemwise(&client, elements, dim);
        // SAFETY: every thread reads an element within the length of a tensor. `starts` counts in the same way as the kernel, and
        // `end` is where it ends, so that every element that is written is one of the buffer.
        unsafe {
            copy_each::launch_unchecked(
                &client,
                count,
                dim,
                addresses(&[&whole]),
                sequence(of),
                whole.clone().into_tensor_arg(),
                start,
                of.len(),
                alignment,
            );
        }
        start += elements;
    }
    whole
}

/// Tensors as one argument.
pub fn sequence(of: &[CubeTensor]) -> SequenceArg<OwnedTensor<f32>> {
    of.iter().map(|x| x.clone().into_tensor_arg()).collect()
}

/// The tensors of these shapes that lie in one buffer, one after the other.
pub fn apart(whole: &CubeTensor, shapes: impl Iterator<Item = Shape> + Clone) -> Vec<CubeTensor> {
    let lengths = shapes.clone().map(|shape| shape.num_elements());
    let (starts, end) = starts(lengths, alignment(whole));
    let bytes = |elements: usize| (elements * whole.dtype.size()) as u64;
    let part = |(shape, start): (Shape, usize)| {
        let rest = end - start - shape.num_elements();
        let handle = whole.handle.clone();
        let handle = handle.offset_start(bytes(start)).offset_end(bytes(rest));
        of_buffer(whole, shape, handle)
    };
    shapes.zip(starts).map(part).collect()
}
