//! Layer normalization, alone and of the sum of a residual connection.
//!
//! A thread holds its columns of a row, so that every number is read once.

use burn::tensor::Shape;
use burn_cubecl::cubecl;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::memory::{new, rows_of};
use super::threads::{addresses, groups_of, sum_of_threads, sums_of_threads, threads_for};

/// The number of rows whose gradients one workgroup computes. It adds up the gradients of γ, of β and of a bias over
/// these rows, so that the sums are at most a twelfth of what it reads and writes.
const ROWS: usize = 24;

/// The number of groups of rows in which the gradients of γ and β are added up.
pub fn row_groups(rows: usize) -> usize {
    rows.div_ceil(ROWS)
}

/// What is known when a kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    width: usize,
    threads: usize,
    /// The columns of a thread.
    columns: usize,
}

impl Plan {
    fn new(width: usize) -> Self {
        let threads = threads_for(width);
        Self {
            width,
            threads,
            columns: width.div_ceil(threads),
        }
    }
}

/// Writes the normalized row of the numbers `own`, and its moments.
#[cube]
fn normalize_row(
    own: &mut Array<f32>,
    gamma: &Tensor<f32>,
    beta: &Tensor<f32>,
    y: &mut Tensor<f32>,
    moments: &mut Tensor<f32>,
    row: usize,
    epsilon: f32,
    #[comptime] plan: Plan,
) {
    let thread = UNIT_POS as usize;
    let count = f32::cast_from(comptime!(plan.width as u32));
    let mut sum = 0.0f32;
    #[unroll]
    for n in 0..plan.columns {
        sum += own[n];
    }
    let mean = sum_of_threads(sum, plan.threads) / count;
    let mut squares = 0.0f32;
    #[unroll]
    for n in 0..plan.columns {
        if thread + comptime!(n * plan.threads) < plan.width {
            own[n] -= mean;
            squares += own[n] * own[n];
        }
    }
    let variance = sum_of_threads(squares, plan.threads) / count;
    let scale = 1.0f32 / (variance + epsilon).sqrt();
    #[unroll]
    for n in 0..plan.columns {
        let column = thread + comptime!(n * plan.threads);
        if column < plan.width {
            y[row * plan.width + column] = own[n] * scale * gamma[column] + beta[column];
        }
    }
    if thread == 0 {
        moments[2 * row] = mean;
        moments[2 * row + 1] = scale;
    }
}

/// Reads `x` and writes `y`, two numbers for each element.
#[cube(launch_unchecked, address_type = "dynamic")]
fn normalize(
    x: &Tensor<f32>,
    gamma: &Tensor<f32>,
    beta: &Tensor<f32>,
    y: &mut Tensor<f32>,
    moments: &mut Tensor<f32>,
    rows: usize,
    epsilon: f32,
    #[comptime] plan: Plan,
) {
    let row = CUBE_POS;
    if row >= rows {
        terminate!();
    }
    let mut own = Array::<f32>::new(plan.columns);
    #[unroll]
    for n in 0..plan.columns {
        let column = UNIT_POS as usize + comptime!(n * plan.threads);
        own[n] = 0.0f32;
        if column < plan.width {
            own[n] = x[row * plan.width + column];
        }
    }
    normalize_row(&mut own, gamma, beta, y, moments, row, epsilon, plan);
}

/// Reads `x` and `part`, writes their sum and `y`: four numbers for each element.
#[cube(launch_unchecked, address_type = "dynamic")]
fn add_and_normalize(
    x: &Tensor<f32>,
    part: &Tensor<f32>,
    bias: &Tensor<f32>,
    gamma: &Tensor<f32>,
    beta: &Tensor<f32>,
    sum: &mut Tensor<f32>,
    y: &mut Tensor<f32>,
    moments: &mut Tensor<f32>,
    rows: usize,
    epsilon: f32,
    #[comptime] plan: Plan,
) {
    let row = CUBE_POS;
    if row >= rows {
        terminate!();
    }
    let mut own = Array::<f32>::new(plan.columns);
    #[unroll]
    for n in 0..plan.columns {
        let column = UNIT_POS as usize + comptime!(n * plan.threads);
        own[n] = 0.0f32;
        if column < plan.width {
            let at = row * plan.width + column;
            own[n] = x[at] + (part[at] + bias[column]);
            sum[at] = own[n];
        }
    }
    normalize_row(&mut own, gamma, beta, y, moments, row, epsilon, plan);
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
    let plan = Plan::new(width);
    let client = x.client.clone();
    let (count, dim) = groups_of(&client, rows, plan.threads);
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
            plan,
        );
    }
    (y, moments)
}

/// The sum of `x`, `part` and the bias of its columns, and what [`forward`] returns for it.
pub fn forward_of_sum(
    [x, part, bias]: [CubeTensor; 3],
    [gamma, beta]: [CubeTensor; 2],
    epsilon: f32,
) -> (CubeTensor, CubeTensor, CubeTensor) {
    let (x, part) = (into_contiguous(x), into_contiguous(part));
    let (rows, width) = rows_of(&x);
    let [sum, y] = [(); 2].map(|()| new(&x, x.meta.shape().clone()));
    let moments = new(&x, Shape::new([rows, 2]));
    let plan = Plan::new(width);
    let client = x.client.clone();
    let (count, dim) = groups_of(&client, rows, plan.threads);
    // SAFETY: as in `forward`. The part has the shape of x, and the bias `width` elements of `f32` (`kernels::stream`).
    unsafe {
        add_and_normalize::launch_unchecked(
            &client,
            count,
            dim,
            addresses(&[&x]),
            x.into_tensor_arg(),
            part.into_tensor_arg(),
            into_contiguous(bias).into_tensor_arg(),
            into_contiguous(gamma).into_tensor_arg(),
            into_contiguous(beta).into_tensor_arg(),
            sum.clone().into_tensor_arg(),
            y.clone().into_tensor_arg(),
            moments.clone().into_tensor_arg(),
            rows,
            epsilon,
            plan,
        );
    }
    (sum, y, moments)
}

/// What the backward pass does beside the gradients of x, γ and β.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extra {
    /// Whether the gradient of x gets an addend: that of a residual connection.
    pub added: bool,
    /// Whether the columns of the gradient of x are added up: the gradient of a bias that is part of x.
    pub summed: bool,
}

impl Extra {
    /// The rows of sums: of γ, of β, and of the columns.
    pub fn sums(self) -> usize {
        2 + usize::from(self.summed)
    }
}

/// What a thread has added up of its columns.
#[derive(CubeType)]
struct Sums {
    of_gamma: Array<f32>,
    of_beta: Array<f32>,
    of_columns: Array<f32>,
}

/// The output does not change when `x` is shifted or scaled, so the gradient has no part along ones or along `x`.
#[cube]
#[allow(clippy::too_many_arguments)]
fn gradients_of_row(
    x: &Tensor<f32>,
    gamma: &Tensor<f32>,
    moments: &Tensor<f32>,
    dy: &Tensor<f32>,
    addend: &Tensor<f32>,
    dx: &mut Tensor<f32>,
    sums: &mut Sums,
    row: usize,
    #[comptime] plan: Plan,
    #[comptime] extra: Extra,
) {
    let thread = UNIT_POS as usize;
    let count = f32::cast_from(comptime!(plan.width as u32));
    let mean = moments[2 * row];
    let scale = moments[2 * row + 1];
    let mut unit = Array::<f32>::new(plan.columns);
    let mut slope = Array::<f32>::new(plan.columns);
    let mut along = Array::<f32>::new(2usize);
    along[0] = 0.0f32;
    along[1] = 0.0f32;
    #[unroll]
    for n in 0..plan.columns {
        let column = thread + comptime!(n * plan.threads);
        if column < plan.width {
            let at = row * plan.width + column;
            let dy = dy[at];
            unit[n] = (x[at] - mean) * scale;
            slope[n] = dy * gamma[column];
            sums.of_gamma[n] += dy * unit[n];
            sums.of_beta[n] += dy;
            along[0] += slope[n];
            along[1] += slope[n] * unit[n];
        }
    }
    sums_of_threads(&mut along, plan.threads);
    #[unroll]
    for n in 0..plan.columns {
        let column = thread + comptime!(n * plan.threads);
        if column < plan.width {
            let at = row * plan.width + column;
            let mut of_x = scale * (slope[n] - along[0] / count - unit[n] * (along[1] / count));
            if comptime!(extra.added) {
                of_x += addend[at];
            }
            dx[at] = of_x;
            sums.of_columns[n] += of_x;
        }
    }
}

/// It reads `x`, `dy` and the addend, and writes `dx`: three or four numbers for each element.
#[cube(launch_unchecked, address_type = "dynamic")]
fn gradients(
    x: &Tensor<f32>,
    gamma: &Tensor<f32>,
    moments: &Tensor<f32>,
    dy: &Tensor<f32>,
    addend: &Tensor<f32>,
    dx: &mut Tensor<f32>,
    to_sums: &mut Tensor<f32>,
    rows: usize,
    #[comptime] plan: Plan,
    #[comptime] extra: Extra,
) {
    let first = CUBE_POS * ROWS;
    if first >= rows {
        terminate!();
    }
    let mut sums = Sums {
        of_gamma: Array::<f32>::new(plan.columns),
        of_beta: Array::<f32>::new(plan.columns),
        of_columns: Array::<f32>::new(plan.columns),
    };
    #[unroll]
    for n in 0..plan.columns {
        sums.of_gamma[n] = 0.0f32;
        sums.of_beta[n] = 0.0f32;
        sums.of_columns[n] = 0.0f32;
    }
    let mut end = first + ROWS;
    if end > rows {
        end = rows;
    }
    let mut row = first;
    while row < end {
        gradients_of_row(
            x, gamma, moments, dy, addend, dx, &mut sums, row, plan, extra,
        );
        row += 1;
    }
    let to = CUBE_POS * comptime!(plan.width * extra.sums());
    #[unroll]
    for n in 0..plan.columns {
        let column = UNIT_POS as usize + comptime!(n * plan.threads);
        if column < plan.width {
            to_sums[to + column] = sums.of_gamma[n];
            to_sums[to + plan.width + column] = sums.of_beta[n];
            if comptime!(extra.summed) {
                to_sums[to + 2 * plan.width + column] = sums.of_columns[n];
            }
        }
    }
}

/// The gradient of `x`, and those of γ, of β and where asked of a bias, added up over groups of rows:
/// `[row groups, 2 or 3, width]`. `addend` is not read unless asked.
pub fn backward(
    [x, gamma, moments, dy, addend]: [CubeTensor; 5],
    extra: Extra,
) -> (CubeTensor, CubeTensor) {
    let [x, dy, addend] = [x, dy, addend].map(into_contiguous);
    let (rows, width) = rows_of(&x);
    let dx = new(&x, x.meta.shape().clone());
    let groups = row_groups(rows);
    let sums = new(&x, Shape::new([groups, extra.sums(), width]));
    let plan = Plan::new(width);
    let client = x.client.clone();
    let (count, dim) = groups_of(&client, groups, plan.threads);
    // SAFETY: as in `forward`, whose γ and moments these are; dy has the shape of its output, which is that of x, and so have the
    // addend and dx. Every workgroup writes the sums of its number, of which there are `groups`, each of `extra.sums()` rows.
    unsafe {
        gradients::launch_unchecked(
            &client,
            count,
            dim,
            addresses(&[&x]),
            x.into_tensor_arg(),
            into_contiguous(gamma).into_tensor_arg(),
            moments.into_tensor_arg(),
            dy.into_tensor_arg(),
            addend.into_tensor_arg(),
            dx.clone().into_tensor_arg(),
            sums.clone().into_tensor_arg(),
            rows,
            plan,
            extra,
        );
    }
    (dx, sums)
}
