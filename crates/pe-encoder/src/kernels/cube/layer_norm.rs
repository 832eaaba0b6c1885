//! Layer normalization, a workgroup for each row.

use burn::tensor::Shape;
use burn_cubecl::cubecl;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::memory::{new, rows_of};
use super::threads::{addresses, groups_of, sum_of_threads, threads_for};

/// The number of rows whose gradients of γ and β one workgroup adds up.
const ROWS: usize = 256;

/// The number of columns that it adds up.
const COLUMNS: usize = 32;

/// The threads of a column.
const LANES: usize = 8;

/// The number of groups of rows in which the gradients of γ and β are added up.
pub fn row_groups(rows: usize) -> usize {
    rows.div_ceil(ROWS)
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn normalize(
    x: &Tensor<f32>,
    gamma: &Tensor<f32>,
    beta: &Tensor<f32>,
    y: &mut Tensor<f32>,
    moments: &mut Tensor<f32>,
    rows: usize,
    epsilon: f32,
    #[comptime] width: usize,
    #[comptime] threads: usize,
) {
    let row = CUBE_POS;
    if row >= rows {
        terminate!();
    }
    let first = row * width;
    let thread = UNIT_POS as usize;
    let count = f32::cast_from(width as u32);
    let mut sum = 0.0f32;
    let mut i = thread;
    while i < width {
        sum += x[first + i];
        i += threads;
    }
    let mean = sum_of_threads(sum, threads) / count;
    let mut squares = 0.0f32;
    let mut i = thread;
    while i < width {
        let apart = x[first + i] - mean;
        squares += apart * apart;
        i += threads;
    }
    let variance = sum_of_threads(squares, threads) / count;
    let scale = 1.0f32 / (variance + epsilon).sqrt();
    let mut i = thread;
    while i < width {
        y[first + i] = (x[first + i] - mean) * scale * gamma[i] + beta[i];
        i += threads;
    }
    if thread == 0 {
        moments[2 * row] = mean;
        moments[2 * row + 1] = scale;
    }
}

/// The output, and for every row its mean and the inverse of its standard deviation, `[rows, 2]`.
pub fn forward(
    x: CubeTensor,
    gamma: CubeTensor,
    beta: CubeTensor,
    epsilon: f32,
) -> (CubeTensor, CubeTensor) {
    let x = into_contiguous(x);
    let (rows, width) = rows_of(&x);
    let y = new(&x, x.meta.shape().clone());
    let moments = new(&x, Shape::new([rows, 2]));
    let threads = threads_for(width);
    let client = x.client.clone();
    let (count, dim) = groups_of(&client, rows, threads);
    // SAFETY: every workgroup reads and writes the row of its number, of which x and y have `rows` of `width` elements; there are
    // two moments for each, and γ and β have `width` elements of `f32` (`kernels::layer_norm`).
    unsafe {
        normalize::launch_unchecked(
            &client,
            count,
            dim,
            addresses(&[&x]),
            x.into_tensor_arg(),
            into_contiguous(gamma).into_tensor_arg(),
            into_contiguous(beta).into_tensor_arg(),
            y.clone().into_tensor_arg(),
            moments.clone().into_tensor_arg(),
            rows,
            epsilon,
            width,
            threads,
        );
    }
    (y, moments)
}

/// The output does not change when `x` is shifted or scaled, so the gradient has no part along ones or
/// along `x`.
#[cube(launch_unchecked, address_type = "dynamic")]
fn gradient_of_x(
    x: &Tensor<f32>,
    gamma: &Tensor<f32>,
    moments: &Tensor<f32>,
    dy: &Tensor<f32>,
    dx: &mut Tensor<f32>,
    rows: usize,
    #[comptime] width: usize,
    #[comptime] threads: usize,
) {
    let row = CUBE_POS;
    if row >= rows {
        terminate!();
    }
    let first = row * width;
    let thread = UNIT_POS as usize;
    let count = f32::cast_from(width as u32);
    let mean = moments[2 * row];
    let scale = moments[2 * row + 1];
    let mut along_ones = 0.0f32;
    let mut along_x = 0.0f32;
    let mut i = thread;
    while i < width {
        let slope = dy[first + i] * gamma[i];
        along_ones += slope;
        along_x += slope * (x[first + i] - mean) * scale;
        i += threads;
    }
    let along_ones = sum_of_threads(along_ones, threads) / count;
    let along_x = sum_of_threads(along_x, threads) / count;
    let mut i = thread;
    while i < width {
        let slope = dy[first + i] * gamma[i];
        let unit = (x[first + i] - mean) * scale;
        dx[first + i] = scale * (slope - along_ones - unit * along_x);
        i += threads;
    }
}

/// The gradients of γ and β, added up over groups of rows.
#[cube(launch_unchecked, address_type = "dynamic")]
fn gradient_of_affine(
    x: &Tensor<f32>,
    moments: &Tensor<f32>,
    dy: &Tensor<f32>,
    sums: &mut Tensor<f32>,
    rows: usize,
    #[comptime] width: usize,
    #[comptime] groups: usize,
) {
    let blocks = comptime!(width.div_ceil(COLUMNS));
    let group = CUBE_POS / blocks;
    if group >= groups {
        terminate!();
    }
    let thread = UNIT_POS as usize;
    let lane = thread / COLUMNS;
    let column = (CUBE_POS % blocks) * COLUMNS + thread % COLUMNS;
    let mut of_gamma = 0.0f32;
    let mut of_beta = 0.0f32;
    if column < width {
        let mut end = (group + 1) * ROWS;
        if end > rows {
            end = rows;
        }
        let mut row = group * ROWS + lane;
        while row < end {
            let slope = dy[row * width + column];
            of_gamma += slope * (x[row * width + column] - moments[2 * row]) * moments[2 * row + 1];
            of_beta += slope;
            row += LANES;
        }
    }
    let mut shared = Shared::<[f32]>::new_slice(comptime!(2 * COLUMNS * LANES));
    shared[thread] = of_gamma;
    shared[thread + comptime!(COLUMNS * LANES)] = of_beta;
    sync_cube();
    if lane == 0 && column < width {
        let mut sum_of_gamma = 0.0f32;
        let mut sum_of_beta = 0.0f32;
        #[unroll]
        for i in 0..LANES {
            sum_of_gamma += shared[thread + comptime!(i * COLUMNS)];
            sum_of_beta += shared[thread + comptime!((i + LANES) * COLUMNS)];
        }
        sums[group * comptime!(2 * width) + column] = sum_of_gamma;
        sums[group * comptime!(2 * width) + width + column] = sum_of_beta;
    }
}

/// The gradient of `x`, and those of γ and β, added up over groups of rows: `[row groups, 2, width]`.
pub fn backward(
    x: CubeTensor,
    gamma: CubeTensor,
    moments: CubeTensor,
    dy: CubeTensor,
) -> (CubeTensor, CubeTensor) {
    let (x, dy) = (into_contiguous(x), into_contiguous(dy));
    let (rows, width) = rows_of(&x);
    let dx = new(&x, x.meta.shape().clone());
    let groups = row_groups(rows);
    let sums = new(&x, Shape::new([groups, 2, width]));
    let threads = threads_for(width);
    let client = x.client.clone();
    let addresses = addresses(&[&x]);
    let (count, dim) = groups_of(&client, rows, threads);
    // SAFETY: as in `forward`, whose γ and moments these are; dy has the shape of its output, which is that of x, and so has dx.
    unsafe {
        gradient_of_x::launch_unchecked(
            &client,
            count,
            dim,
            addresses,
            x.clone().into_tensor_arg(),
            into_contiguous(gamma).into_tensor_arg(),
            moments.clone().into_tensor_arg(),
            dy.clone().into_tensor_arg(),
            dx.clone().into_tensor_arg(),
            rows,
            width,
            threads,
        );
    }
    let blocks = groups * width.div_ceil(COLUMNS);
    let (count, dim) = groups_of(&client, blocks, COLUMNS * LANES);
    // SAFETY: as above. Rows and columns are checked, and every workgroup writes columns of its own, of its group of `groups` in
    // `sums`, which has two rows of `width` elements for each.
    unsafe {
        gradient_of_affine::launch_unchecked(
            &client,
            count,
            dim,
            addresses,
            x.into_tensor_arg(),
            moments.into_tensor_arg(),
            dy.into_tensor_arg(),
            sums.clone().into_tensor_arg(),
            rows,
            width,
            groups,
        );
    }
    (dx, sums)
}
