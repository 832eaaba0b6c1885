//! What the threads of a workgroup do together. (CubeCL calls a workgroup a cube.)

use burn_cubecl::cubecl::{self, calculate_cube_count_elemwise};
use burn_cubecl::tensor::CubeTensor;
use cubecl::client::Client;
use cubecl::prelude::*;

/// The most threads of a workgroup. Every card has at least as many.
const MOST: usize = 256;

/// The number of threads for rows of this many elements: a power of two.
pub fn threads_for(elements: usize) -> usize {
    elements.next_power_of_two().clamp(32, MOST)
}

/// One workgroup for each of `groups`, or a few more.
pub fn groups_of(client: &Client, groups: usize, threads: usize) -> (CubeCount, CubeDim) {
    let dim = CubeDim::new_1d(threads as u32);
    let count = calculate_cube_count_elemwise(client, groups * threads, dim);
    (count, dim)
}

/// The size of the addresses that reach every element.
pub fn addresses(tensors: &[&CubeTensor]) -> AddressType {
    let sizes = tensors.iter().map(|x| x.required_address_type());
    sizes.max().unwrap_or_default()
}

/// The sum of one value of each thread, which all threads get. The order of the sum is always the same.
#[cube]
pub fn sum_of_threads(value: f32, #[comptime] threads: usize) -> f32 {
    let mut shared = Shared::<[f32]>::new_slice(threads);
    let thread = UNIT_POS as usize;
    shared[thread] = value;
    sync_cube();
    #[unroll]
    for i in 0..comptime!(threads.ilog2() as usize) {
        let half = comptime!(threads >> (i + 1));
        if thread < half {
            let other = shared[thread + half];
            shared[thread] += other;
        }
        sync_cube();
    }
    shared[0]
}

/// The sums of two values of each thread, which all threads get in their place.
#[cube]
pub fn sums_of_threads(values: &mut Array<f32>, #[comptime] threads: usize) {
    let mut shared = Shared::<[f32]>::new_slice(comptime!(2 * threads));
    let thread = UNIT_POS as usize;
    shared[thread] = values[0];
    shared[thread + threads] = values[1];
    sync_cube();
    #[unroll]
    for i in 0..comptime!(threads.ilog2() as usize) {
        let half = comptime!(threads >> (i + 1));
        if thread < half {
            let other = shared[thread + half];
            shared[thread] += other;
            let other = shared[thread + half + threads];
            shared[thread + threads] += other;
        }
        sync_cube();
    }
    values[0] = shared[0];
    values[1] = shared[threads];
    // A loop may come here again, and no thread may write before all have read.
    sync_cube();
}

/// The largest of one value of each thread, which all threads get.
#[cube]
pub fn largest_of_threads(value: f32, #[comptime] threads: usize) -> f32 {
    let mut shared = Shared::<[f32]>::new_slice(threads);
    let thread = UNIT_POS as usize;
    shared[thread] = value;
    sync_cube();
    #[unroll]
    for i in 0..comptime!(threads.ilog2() as usize) {
        let half = comptime!(threads >> (i + 1));
        if thread < half {
            let other = shared[thread + half];
            if other > shared[thread] {
                shared[thread] = other;
            }
        }
        sync_cube();
    }
    shared[0]
}
