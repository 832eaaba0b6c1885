//! Attention biases by distance, spread over all pairs of queries and keys: one thread per vector of keys, and for the
//! gradient one per distance. The lengths are arguments, so that no new length compiles a new kernel.

use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use cubecl::calculate_cube_count_elemwise;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::FastDivmod;

use super::element::element;

#[cube(launch_unchecked, address_type = "dynamic")]
fn spread_over_pairs<E: Float, N: Size>(
    strip: &Tensor<E>,
    bias: &mut Tensor<Vector<E, N>>,
    vectors: usize,
    queries: FastDivmod<usize>,
    vectors_of_row: FastDivmod<usize>,
    #[comptime] vector: usize,
    #[define(E)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= vectors {
        terminate!();
    }
    let (rest, keys) = vectors_of_row.div_mod(ABSOLUTE_POS);
    let (head, query) = queries.div_mod(rest);
    let distance = bias.shape(2) - 1 - query + keys * vector;
    let first = head * strip.shape(3) + distance;
    let mut out = Vector::<E, N>::empty();
    #[unroll]
    for i in 0..vector {
        out.insert(i, strip[first + i]);
    }
    bias[ABSOLUTE_POS] = out;
}

/// The sum of the gradients of all pairs at a distance, in `f32`.
#[cube(launch_unchecked, address_type = "dynamic")]
fn sums_of_distances<E: Float>(
    gradient: &Tensor<E>,
    sums: &mut Tensor<E>,
    distances: usize,
    queries: usize,
    keys: usize,
    #[define(E)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= distances {
        terminate!();
    }
    let strip = queries + keys - 1;
    let distance = ABSOLUTE_POS % strip;
    let head = ABSOLUTE_POS / strip;
    // Counted back from the last query: the first one that has a key at this distance.
    let mut back = 0usize;
    if distance >= keys {
        back = distance - (keys - 1);
    }
    let mut end = distance + 1;
    if end > queries {
        end = queries;
    }
    let mut sum = 0.0f32;
    while back < end {
        let query = queries - 1 - back;
        let row = (head * queries + query) * keys;
        sum += f32::cast_from(gradient[row + distance - back]);
        back += 1;
    }
    sums[ABSOLUTE_POS] = E::cast_from(sum);
}

/// Row `i` of a head is `strip[queries − 1 − i ..]`, `keys` elements long.
pub(super) fn spread(strip: CubeTensor, queries: usize, keys: usize) -> CubeTensor {
    let strip = into_contiguous(strip);
    let heads = strip.meta.num_elements() / (queries + keys - 1);
    let shape = [1, heads, queries, keys].into();
    let (client, device) = (strip.client.clone(), strip.device.clone());
    let bias = empty_device_contiguous_dtype(client.clone(), device, shape, strip.dtype);
    let sizes = client.io_optimized_vector_sizes(strip.dtype.size());
    let vector = sizes.filter(|n| keys.is_multiple_of(*n)).max().unwrap_or(1);
    let vectors = heads * queries * keys / vector;
    let dim = CubeDim::new(&client, vectors);
    let dtype = element(strip.dtype);
    // SAFETY: every thread writes the vector of its number, of which there are heads · queries · keys / vector, and reads the elements
    // of its distances, of which a head of the strip has queries + keys − 1 (`Distances::spread`).
    unsafe {
        spread_over_pairs::launch_unchecked(
            &client,
            calculate_cube_count_elemwise(&client, vectors, dim),
            dim,
            bias.required_address_type(),
            vector,
            strip.into_tensor_arg(),
            bias.clone().into_tensor_arg(),
            vectors,
            queries,
            keys / vector,
            vector,
            dtype,
        );
    }
    bias
}

/// The gradient of the strip: for every element, the sum of the gradients of the pairs at its distance.
pub(super) fn gather(gradient: CubeTensor) -> CubeTensor {
    let gradient = into_contiguous(gradient);
    let [_, heads, queries, keys] = gradient.meta.shape().dims();
    let strip = queries + keys - 1;
    let shape = [1, heads, 1, strip].into();
    let (client, device) = (gradient.client.clone(), gradient.device.clone());
    let sums = empty_device_contiguous_dtype(client.clone(), device, shape, gradient.dtype);
    let dim = CubeDim::new(&client, heads * strip);
    let dtype = element(gradient.dtype);
    // SAFETY: every thread writes the distance of its number, of which there are heads · (queries + keys − 1), and reads the
    // pairs that have it: the sizes are those of the gradient.
    unsafe {
        sums_of_distances::launch_unchecked(
            &client,
            calculate_cube_count_elemwise(&client, heads * strip, dim),
            dim,
            gradient.required_address_type(),
            gradient.into_tensor_arg(),
            sums.clone().into_tensor_arg(),
            heads * strip,
            queries,
            keys,
            dtype,
        );
    }
    sums
}
