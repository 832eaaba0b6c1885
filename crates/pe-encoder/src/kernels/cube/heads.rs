//! Attention of heads that fit into the memory of a workgroup: one launch forward and one backward, a workgroup for each head.
//!
//! A thread holds a row: a query, and in the second half of the backward pass a key. The rows that threads read of each other
//! lie in the memory of the workgroup. So every number of the projection and of its gradient is read and written once, and
//! scores and weights never. Beside these there are two moments for every query, which is 2 / (4 · d_head) of the bytes forward
//! and 2 / (7 · d_head) backward, and a bias: it is read by two passes forward, by the second from the cache, and by three
//! backward.

use burn_cubecl::cubecl;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::memory::new;
use super::threads::{addresses, groups_of};
use crate::plain::{LEAST, MASKED};

/// The most tokens: every workgroup has as many threads.
const MOST_ROWS: usize = 256;

/// The widest heads: a thread holds four rows.
const WIDEST: usize = 64;

/// What is known of the heads when an operation is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    pub heads: usize,
    pub d_head: usize,
    pub biased: bool,
    pub causal: bool,
}

/// What is known when a kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    /// The threads of a workgroup: a multiple of 32, so that a text that grows by a token needs no new kernel.
    rows: usize,
    d_head: usize,
    biased: bool,
    causal: bool,
}

impl Plan {
    fn new(form: Form, seq: usize) -> Self {
        Self {
            rows: threads_of(seq),
            d_head: form.d_head,
            biased: form.biased,
            causal: form.causal,
        }
    }
}

fn threads_of(seq: usize) -> usize {
    seq.next_multiple_of(32)
}

/// Whether heads of `seq` tokens fit into this many bytes: two rows and three numbers for each thread.
pub fn fit(seq: usize, d_head: usize, bytes: usize) -> bool {
    let rows = threads_of(seq);
    rows <= MOST_ROWS && d_head <= WIDEST && rows * (2 * d_head + 3) * size_of::<f32>() <= bytes
}

/// The product of a row that a thread holds, and of one of the workgroup.
#[cube]
fn product(own: &Array<f32>, others: &Shared<[f32]>, row: usize, #[comptime] d_head: usize) -> f32 {
    let mut sum = 0.0f32;
    #[unroll]
    for i in 0..d_head {
        sum += own[i] * others[row * d_head + i];
    }
    sum
}

/// A score from the product of query and key. `first` is where the biases of this head begin.
#[cube]
fn score(
    product: f32,
    bias: &Tensor<f32>,
    first: usize,
    query: usize,
    key: usize,
    scale: f32,
    #[comptime] plan: Plan,
) -> f32 {
    let mut score = product * scale;
    if comptime!(plan.biased) {
        score += bias[first + query * bias.stride(2) + key * bias.stride(3)];
    }
    if comptime!(plan.causal) {
        if key > query {
            score = f32::new(MASKED);
        }
    }
    // A bias may lower the score further, down to -∞. A query that sees nothing else would then have no weight at all,
    // and divide 0 by 0. A NaN stays a NaN.
    if score < f32::new(LEAST) {
        score = f32::new(LEAST);
    }
    score
}

/// Where the biases of a head begin. A bias that serves several heads or sequences has a stride of 0.
#[cube]
fn biases_of(bias: &Tensor<f32>, batch: usize, head: usize, #[comptime] plan: Plan) -> usize {
    let mut first = 0usize;
    if comptime!(plan.biased) {
        first = batch * bias.stride(0) + head * bias.stride(1);
    }
    first
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn attend(
    qkv: &Tensor<f32>,
    bias: &Tensor<f32>,
    y: &mut Tensor<f32>,
    moments: &mut Tensor<f32>,
    groups: usize,
    heads: usize,
    seq: usize,
    scale: f32,
    #[comptime] plan: Plan,
) {
    if CUBE_POS >= groups {
        terminate!();
    }
    let d_head = comptime!(plan.d_head);
    let head = CUBE_POS % heads;
    let batch = CUBE_POS / heads;
    let width = heads * d_head;
    let row = UNIT_POS as usize;
    let own = (batch * seq + row) * 3 * width + head * d_head;
    let mut keys = Shared::<[f32]>::new_slice(comptime!(plan.rows * plan.d_head));
    let mut values = Shared::<[f32]>::new_slice(comptime!(plan.rows * plan.d_head));
    let mut query = Array::<f32>::new(d_head);
    if row < seq {
        #[unroll]
        for i in 0..d_head {
            query[i] = qkv[own + i];
            keys[row * d_head + i] = qkv[own + width + i];
            values[row * d_head + i] = qkv[own + 2 * width + i];
        }
    }
    sync_cube();
    if row < seq {
        let biases = biases_of(bias, batch, head, plan);
        let mut largest = f32::new(LEAST);
        let mut key = 0usize;
        while key < seq {
            let of_key = product(&query, &keys, key, d_head);
            let score = score(of_key, bias, biases, row, key, scale, plan);
            if score > largest {
                largest = score;
            }
            key += 1;
        }
        let mut out = Array::<f32>::new(d_head);
        #[unroll]
        for i in 0..d_head {
            out[i] = 0.0f32;
        }
        let mut sum = 0.0f32;
        let mut key = 0usize;
        while key < seq {
            let of_key = product(&query, &keys, key, d_head);
            let score = score(of_key, bias, biases, row, key, scale, plan);
            let weight = (score - largest).exp();
            sum += weight;
            #[unroll]
            for i in 0..d_head {
                out[i] += weight * values[key * d_head + i];
            }
            key += 1;
        }
        let to = (batch * seq + row) * width + head * d_head;
        #[unroll]
        for i in 0..d_head {
            y[to + i] = out[i] / sum;
        }
        let at = 2 * (CUBE_POS * seq + row);
        moments[at] = largest;
        moments[at + 1] = sum;
    }
}

/// The bias as an argument, with a stride of 0 where it is repeated.
fn repeated(mut bias: CubeTensor) -> TensorArg {
    for axis in 0..bias.meta.num_dims() {
        if bias.meta.shape()[axis] == 1 {
            bias.meta.strides_mut()[axis] = 0;
        }
    }
    bias.into_tensor_arg()
}

fn scale(form: Form) -> f32 {
    1.0 / (form.d_head as f32).sqrt()
}

/// The output, `[batch, seq, d_model]`, and for every query its largest score and the sum of its exponentials,
/// `[batch, heads, seq, 2]`.
///
/// - `qkv`: `[batch, seq, 3 · d_model]`
/// - `bias`: broadcasts to `[batch, heads, seq, seq]`; not read unless `form.biased`
pub fn forward(qkv: CubeTensor, bias: CubeTensor, form: Form) -> (CubeTensor, CubeTensor) {
    let qkv = into_contiguous(qkv);
    let [batch, seq, width] = qkv.meta.shape().dims();
    let y = new(&qkv, [batch, seq, width / 3].into());
    let moments = new(&qkv, [batch, form.heads, seq, 2].into());
    let groups = batch * form.heads;
    let client = qkv.client.clone();
    let (count, dim) = groups_of(&client, groups, threads_of(seq));
    // SAFETY: every thread reads and writes the row of its number in the sequence and head of its workgroup, of which there are
    // `groups` in the projection, in the output and in the moments, each of `seq` rows. A bias has for each of batch, heads,
    // queries and keys as many as the scores or one, whose stride is 0 (`kernels::check_bias`, and the padding).
    unsafe {
        attend::launch_unchecked(
            &client,
            count,
            dim,
            addresses(&[&qkv, &bias]),
            qkv.into_tensor_arg(),
            repeated(bias),
            y.clone().into_tensor_arg(),
            moments.clone().into_tensor_arg(),
            groups,
            form.heads,
            seq,
            scale(form),
            Plan::new(form, seq),
        );
    }
    (y, moments)
}

/// The gradient of a query from its own thread: `query` and `dy` are its row and that of the gradient of its output. It writes the
/// gradient, and the sum of the gradients of its weights along the weights, which it returns.
#[cube]
#[allow(clippy::too_many_arguments)]
fn of_query(
    query: &Array<f32>,
    dy: &Array<f32>,
    keys: &Shared<[f32]>,
    values: &Shared<[f32]>,
    bias: &Tensor<f32>,
    biases: usize,
    dqkv: &mut Tensor<f32>,
    to: usize,
    largest: f32,
    sum: f32,
    seq: usize,
    scale: f32,
    #[comptime] plan: Plan,
) -> f32 {
    let row = UNIT_POS as usize;
    let mut along = 0.0f32;
    let mut key = 0usize;
    while key < seq {
        let of_key = product(query, keys, key, plan.d_head);
        let score = score(of_key, bias, biases, row, key, scale, plan);
        let weight = (score - largest).exp() / sum;
        along += weight * product(dy, values, key, plan.d_head);
        key += 1;
    }
    let mut dquery = Array::<f32>::new(plan.d_head);
    #[unroll]
    for i in 0..plan.d_head {
        dquery[i] = 0.0f32;
    }
    let mut key = 0usize;
    while key < seq {
        let of_key = product(query, keys, key, plan.d_head);
        let score = score(of_key, bias, biases, row, key, scale, plan);
        let weight = (score - largest).exp() / sum;
        let slope = weight * (product(dy, values, key, plan.d_head) - along) * scale;
        #[unroll]
        for i in 0..plan.d_head {
            dquery[i] += slope * keys[key * plan.d_head + i];
        }
        key += 1;
    }
    #[unroll]
    for i in 0..plan.d_head {
        dqkv[to + i] = dquery[i];
    }
    along
}

/// The gradients of a key and its value from their own thread, which it writes: of the key to `to`, of the value `width` after it.
/// `of_queries` has for every query its largest score, the sum of its exponentials, and what [`of_query`] returned.
#[cube]
#[allow(clippy::too_many_arguments)]
fn of_key(
    key: &Array<f32>,
    value: &Array<f32>,
    queries: &Shared<[f32]>,
    dys: &Shared<[f32]>,
    of_queries: &Shared<[f32]>,
    bias: &Tensor<f32>,
    biases: usize,
    dqkv: &mut Tensor<f32>,
    dbias: &mut Tensor<f32>,
    to: usize,
    width: usize,
    seq: usize,
    scale: f32,
    #[comptime] plan: Plan,
    #[comptime] of_bias: bool,
) {
    let row = UNIT_POS as usize;
    let mut dkey = Array::<f32>::new(plan.d_head);
    let mut dvalue = Array::<f32>::new(plan.d_head);
    #[unroll]
    for i in 0..plan.d_head {
        dkey[i] = 0.0f32;
        dvalue[i] = 0.0f32;
    }
    let mut query = 0usize;
    while query < seq {
        let of_query = product(key, queries, query, plan.d_head);
        let score = score(of_query, bias, biases, query, row, scale, plan);
        let weight = (score - of_queries[3 * query]).exp() / of_queries[3 * query + 1];
        let along = of_queries[3 * query + 2];
        let slope = weight * (product(value, dys, query, plan.d_head) - along);
        if comptime!(of_bias) {
            dbias[(CUBE_POS * seq + query) * seq + row] = slope;
        }
        let scaled = slope * scale;
        #[unroll]
        for i in 0..plan.d_head {
            dkey[i] += scaled * queries[query * plan.d_head + i];
            dvalue[i] += weight * dys[query * plan.d_head + i];
        }
        query += 1;
    }
    #[unroll]
    for i in 0..plan.d_head {
        dqkv[to + i] = dkey[i];
        dqkv[to + width + i] = dvalue[i];
    }
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn attend_backward(
    qkv: &Tensor<f32>,
    bias: &Tensor<f32>,
    moments: &Tensor<f32>,
    dy: &Tensor<f32>,
    dqkv: &mut Tensor<f32>,
    dbias: &mut Tensor<f32>,
    groups: usize,
    heads: usize,
    seq: usize,
    scale: f32,
    #[comptime] plan: Plan,
    #[comptime] of_bias: bool,
) {
    if CUBE_POS >= groups {
        terminate!();
    }
    let d_head = comptime!(plan.d_head);
    let head = CUBE_POS % heads;
    let batch = CUBE_POS / heads;
    let width = heads * d_head;
    let row = UNIT_POS as usize;
    let own = (batch * seq + row) * 3 * width + head * d_head;
    let biases = biases_of(bias, batch, head, plan);
    // Keys and values, and then queries and the gradients of their outputs.
    let mut one = Shared::<[f32]>::new_slice(comptime!(plan.rows * plan.d_head));
    let mut two = Shared::<[f32]>::new_slice(comptime!(plan.rows * plan.d_head));
    let mut of_queries = Shared::<[f32]>::new_slice(comptime!(3 * plan.rows));
    // The rows of a thread: first of a query, then of a key.
    let mut a = Array::<f32>::new(d_head);
    let mut b = Array::<f32>::new(d_head);
    if row < seq {
        let from = (batch * seq + row) * width + head * d_head;
        #[unroll]
        for i in 0..d_head {
            a[i] = qkv[own + i];
            b[i] = dy[from + i];
            one[row * d_head + i] = qkv[own + width + i];
            two[row * d_head + i] = qkv[own + 2 * width + i];
        }
    }
    sync_cube();
    if row < seq {
        let at = 2 * (CUBE_POS * seq + row);
        let largest = moments[at];
        let sum = moments[at + 1];
        of_queries[3 * row] = largest;
        of_queries[3 * row + 1] = sum;
        of_queries[3 * row + 2] = of_query(
            &a, &b, &one, &two, bias, biases, dqkv, own, largest, sum, seq, scale, plan,
        );
    }
    sync_cube();
    if row < seq {
        // No other thread reads these rows before the next barrier.
        #[unroll]
        for i in 0..d_head {
            let key = one[row * d_head + i];
            let value = two[row * d_head + i];
            one[row * d_head + i] = a[i];
            two[row * d_head + i] = b[i];
            a[i] = key;
            b[i] = value;
        }
    }
    sync_cube();
    if row < seq {
        let to = own + width;
        of_key(
            &a,
            &b,
            &one,
            &two,
            &of_queries,
            bias,
            biases,
            dqkv,
            dbias,
            to,
            width,
            seq,
            scale,
            plan,
            of_bias,
        );
    }
}

/// The gradient of the projection, and where `of_bias` that of the scores, `[batch, heads, seq, seq]`.
///
/// `qkv`, `bias` and `form` are those of [`forward`], `moments` what it returned, and `dy` is the gradient of its output.
pub fn backward(
    [qkv, bias, moments, dy]: [CubeTensor; 4],
    form: Form,
    of_bias: bool,
) -> (CubeTensor, CubeTensor) {
    let (qkv, dy) = (into_contiguous(qkv), into_contiguous(dy));
    let [batch, seq, _] = qkv.meta.shape().dims();
    let dqkv = new(&qkv, qkv.meta.shape().clone());
    let dbias = match of_bias {
        true => new(&qkv, [batch, form.heads, seq, seq].into()),
        false => new(&qkv, [1].into()),
    };
    let groups = batch * form.heads;
    let client = qkv.client.clone();
    let (count, dim) = groups_of(&client, groups, threads_of(seq));
    // SAFETY: as in `forward`. The gradients have the shapes of what they are gradients of; that of the bias has one number for
    // each pair of tokens of every sequence and head where it is written.
    unsafe {
        attend_backward::launch_unchecked(
            &client,
            count,
            dim,
            addresses(&[&qkv, &bias, &dbias]),
            qkv.into_tensor_arg(),
            repeated(bias),
            moments.into_tensor_arg(),
            dy.into_tensor_arg(),
            dqkv.clone().into_tensor_arg(),
            dbias.clone().into_tensor_arg(),
            groups,
            form.heads,
            seq,
            scale(form),
            Plan::new(form, seq),
            of_bias,
        );
    }
    (dqkv, dbias)
}
