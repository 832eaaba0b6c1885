//! The rotation of [`crate::rotate::turn`]: one thread per vector of columns.

use burn::backend::TensorMetadata;
use burn::tensor::DType;
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use cubecl::calculate_cube_count_elemwise;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::FastDivmod;

use super::angles::Angles;
use super::element::{element, element_of_ids};
use super::plan::Plan;
use crate::layout::{Layout, Turn};

/// Where the row of angles of a token starts.
#[cube]
fn start_of_row<I: Int, L: Size>(
    rows: &Tensor<Vector<f32, L>>,
    ids: ComptimeOption<&Tensor<I>>,
    batch: usize,
    token: usize,
    #[comptime] shared: bool,
) -> usize {
    #[comptime]
    match ids {
        ComptimeOption::Some(ids) => {
            let mut at = token * ids.stride(1);
            if comptime!(!shared) {
                at += batch * ids.stride(0);
            }
            usize::cast_from(ids[at]) * rows.stride(1)
        }
        ComptimeOption::None => {
            let mut start = token * rows.stride(1);
            if comptime!(!shared) {
                start += batch * rows.stride(0);
            }
            start
        }
    }
}

/// Rotates the columns of one thread.
// Longer than a screen: one kernel, whose branches are chosen when it is compiled for the card.
#[cube]
fn turn_columns<E: Float, I: Int, N: Size, L: Size>(
    x: &Tensor<Vector<E, N>>,
    rows: &Tensor<Vector<f32, L>>,
    ids: ComptimeOption<&Tensor<I>>,
    y: &mut Tensor<Vector<E, N>>,
    thread: usize,
    heads: FastDivmod<usize>,
    seq: FastDivmod<usize>,
    #[comptime] plan: Plan,
) {
    let n = comptime!(plan.vector);
    let (lanes, parts) = comptime!((plan.lanes(), plan.pairs_of_thread() / plan.lanes()));
    let (pairs, turned, threads) = comptime!((plan.pairs, plan.turned(), plan.threads()));
    let row = thread / threads;
    let column = thread % threads;
    let (batch, head, token) = if comptime!(plan.first_heads.is_some()) {
        let (token_row, head) = heads.div_mod(row);
        let (batch, token) = seq.div_mod(token_row);
        (batch, head, token)
    } else {
        let (head_row, token) = seq.div_mod(row);
        let (batch, head) = heads.div_mod(head_row);
        (batch, head, token)
    };
    let turns = head < comptime!(plan.first_heads.unwrap_or(i32::MAX as usize));
    let from = (batch * x.stride(0) + head * x.stride(1) + token * x.stride(2)) / n;
    let to = (batch * y.stride(0) + head * y.stride(1) + token * y.stride(2)) / n;
    let row = start_of_row::<I, L>(rows, ids, batch, token, comptime!(plan.shared));
    let first_sine = row / lanes + column * parts;
    if !turns {
        if comptime!(plan.within()) {
            y[to + column] = x[from + column];
        } else if column < turned {
            y[to + column] = x[from + column];
            y[to + column + comptime!(pairs / n)] = x[from + column + comptime!(pairs / n)];
        } else {
            let at = column + comptime!(pairs / n);
            y[to + at] = x[from + at];
        }
    } else if column < turned {
        // The vectors with the first and with the second column of the pairs.
        let mut at_a = column;
        let mut at_b = column;
        if comptime!(!plan.within() && plan.interleaved) {
            at_a = 2 * column;
            at_b = at_a + 1;
        } else if comptime!(!plan.within()) {
            at_b += comptime!(pairs / n);
        }
        let in_a = x[from + at_a];
        let in_b = if comptime!(plan.within()) {
            in_a
        } else {
            x[from + at_b]
        };
        let mut out_a = Vector::<E, N>::empty();
        let mut out_b = Vector::<E, N>::empty();
        #[unroll]
        for part in 0..parts {
            let mut sines = rows[first_sine + part];
            let cosines = rows[first_sine + part + comptime!(pairs / lanes)];
            if comptime!(plan.inverse) {
                sines = -sines;
            }
            #[unroll]
            for lane in 0..lanes {
                let (sin, cos) = (sines.extract(lane), cosines.extract(lane));
                let (i, j) = comptime!(plan.columns(part * lanes + lane));
                let a = f32::cast_from(in_a.extract(i));
                let b = f32::cast_from(in_b.extract(j));
                out_a.insert(i, E::cast_from(a * cos - b * sin));
                if comptime!(plan.within()) {
                    out_a.insert(j, E::cast_from(a * sin + b * cos));
                } else {
                    out_b.insert(j, E::cast_from(a * sin + b * cos));
                }
            }
        }
        y[to + at_a] = out_a;
        if comptime!(!plan.within()) {
            y[to + at_b] = out_b;
        }
    } else {
        let at = column - turned + comptime!(2 * pairs / n);
        y[to + at] = x[from + at];
    }
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn turn_one<E: Float, I: Int, N: Size, L: Size>(
    x: &Tensor<Vector<E, N>>,
    rows: &Tensor<Vector<f32, L>>,
    ids: ComptimeOption<&Tensor<I>>,
    y: &mut Tensor<Vector<E, N>>,
    threads: usize,
    heads: FastDivmod<usize>,
    seq: FastDivmod<usize>,
    #[comptime] plan: Plan,
    #[define(E, I)] _dtypes: [ElemType; 2],
) {
    if ABSOLUTE_POS < threads {
        turn_columns::<E, I, N, L>(x, rows, ids, y, ABSOLUTE_POS, heads, seq, plan);
    }
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn turn_both<E: Float, I: Int, N: Size, L: Size>(
    q: &Tensor<Vector<E, N>>,
    k: &Tensor<Vector<E, N>>,
    rows: &Tensor<Vector<f32, L>>,
    ids: ComptimeOption<&Tensor<I>>,
    turned_q: &mut Tensor<Vector<E, N>>,
    turned_k: &mut Tensor<Vector<E, N>>,
    threads_of_q: usize,
    threads: usize,
    heads_of_q: FastDivmod<usize>,
    heads_of_k: FastDivmod<usize>,
    seq: FastDivmod<usize>,
    #[comptime] plan_of_q: Plan,
    #[comptime] plan_of_k: Plan,
    #[define(E, I)] _dtypes: [ElemType; 2],
) {
    if ABSOLUTE_POS < threads_of_q {
        turn_columns::<E, I, N, L>(
            q,
            rows,
            ids,
            turned_q,
            ABSOLUTE_POS,
            heads_of_q,
            seq,
            plan_of_q,
        );
    } else if ABSOLUTE_POS < threads {
        let thread = ABSOLUTE_POS - threads_of_q;
        turn_columns::<E, I, N, L>(k, rows, ids, turned_k, thread, heads_of_k, seq, plan_of_k);
    }
}

/// A tensor to be rotated, in a form that the kernel takes.
struct Side {
    x: CubeTensor,
    /// The columns of a head.
    d_head: usize,
    in_place: bool,
}

impl Side {
    fn new(x: CubeTensor) -> Self {
        let x = match x.meta.strides()[3] == 1 || x.meta.shape()[3] == 1 {
            true => x,
            false => into_contiguous(x),
        };
        let in_place = x.can_mut() && x.is_nonoverlapping();
        let d_head = x.meta.shape()[3];
        Self {
            x,
            d_head,
            in_place,
        }
    }

    /// The most columns that a thread can read at a time, so that no vector holds both rotated and other columns.
    fn vector(&self, width: usize, layout: Layout) -> usize {
        let part = match layout {
            Layout::Interleaved => width,
            Layout::Halves => width / 2,
        };
        let (shape, strides) = (self.x.meta.shape(), self.x.meta.strides());
        let fits = |n: &usize| {
            let outer = (0..3).filter(|axis| shape[*axis] > 1);
            let aligned = outer
                .map(|axis| strides[axis])
                .all(|s| s.is_multiple_of(*n));
            aligned && part.is_multiple_of(*n) && self.d_head.is_multiple_of(*n)
        };
        let sizes = self.x.client.io_optimized_vector_sizes(self.x.elem_size());
        sizes.filter(fits).max().unwrap_or(1)
    }

    fn plan(&self, rows: &Rows, vector: usize, layout: Layout, turn: Turn) -> Plan {
        let width = rows.width();
        Plan {
            vector,
            pairs: width / 2,
            copied: match self.in_place {
                true => 0,
                false => self.d_head - width,
            },
            interleaved: layout == Layout::Interleaved,
            inverse: turn == Turn::Inverse,
            shared: rows.batch() == 1,
            first_heads: None,
        }
    }

    /// The number of threads that a plan needs.
    fn threads(&self, plan: &Plan) -> usize {
        self.x.meta.shape()[..3].iter().product::<usize>() * plan.threads()
    }

    /// The tensor that the kernel writes to, and its argument. `position` is the index of the input among the arguments.
    fn output(&self, position: usize) -> (CubeTensor, TensorArg) {
        match self.in_place {
            true => (self.x.clone(), self.x.as_tensor_alias(position)),
            false => {
                let x = &self.x;
                let (client, device) = (x.client.clone(), x.device.clone());
                let y = empty_device_contiguous_dtype(client, device, x.shape(), x.dtype);
                (y.clone(), y.into_tensor_arg())
            }
        }
    }

    /// Rotates `heads` heads of this side alone.
    fn launch(
        self,
        rows: Rows,
        addresses: AddressType,
        output: TensorArg,
        heads: usize,
        plan: Plan,
    ) {
        let [batch, _, seq, _] = self.x.meta.shape().dims();
        let threads = batch * heads * seq * plan.threads();
        let client = self.x.client.clone();
        let cube_dim = CubeDim::new(&client, threads);
        let rows = rows.aligned_to(plan.lanes());
        let dtypes = [element(self.x.dtype), rows.type_of_ids()];
        // SAFETY: a thread reads and writes one vector of columns, or the two of its pairs, of one of batch · heads · seq rows,
        // and no other thread does. The columns are inside the `d_head` of a row, as the width of the angles is at most that;
        // there is a row of angles for each token, in each sequence or in one for all (`check_rotation`), or the id of one
        // that the table has (`Angles::new`).
        unsafe {
            turn_one::launch_unchecked(
                &client,
                calculate_cube_count_elemwise(&client, threads, cube_dim),
                cube_dim,
                addresses,
                plan.vector,
                plan.lanes(),
                self.x.into_tensor_arg(),
                rows.table.into_tensor_arg(),
                rows.ids.map(CubeTensor::into_tensor_arg).into(),
                output,
                threads,
                heads,
                seq,
                plan,
                dtypes,
            );
        }
    }
}

/// Angles as the kernels take them.
struct Rows {
    /// `[1 or batch, seq, width]`, or with ids `[1, rows, width]`; the columns of a row lie side by side.
    table: CubeTensor,
    /// `[1 or batch, seq]`
    ids: Option<CubeTensor>,
}

impl Rows {
    /// The rows, and the address type that reaches all elements of the rows, the inputs and the outputs.
    fn new(angles: Angles<CubeBackend>, sides: &[&Side]) -> (Self, AddressType) {
        let (table, ids) = match angles {
            Angles::Rows { rows } => (rows, None),
            Angles::ById { table, ids } => (table, Some(ids)),
        };
        let table = match table.meta.strides()[2] == 1 {
            true => table,
            false => into_contiguous(table),
        };
        let all = sides.iter().map(|side| &side.x).chain([&table]).chain(&ids);
        let addresses = all.map(CubeTensor::required_address_type);
        // An expanded input has fewer elements in memory than its output.
        let outputs = sides.iter().map(|side| side.x.meta.num_elements());
        let addresses = addresses.chain(outputs.map(AddressType::from_len)).max();
        (Self { table, ids }, addresses.unwrap_or_default())
    }

    /// These rows, each beginning at a multiple of `lanes` columns.
    fn aligned_to(mut self, lanes: usize) -> Self {
        let strides = &self.table.meta.strides()[..2];
        if !strides.iter().all(|stride| stride.is_multiple_of(lanes)) {
            self.table = into_contiguous(self.table);
        }
        self
    }

    fn width(&self) -> usize {
        self.table.meta.shape()[2]
    }

    fn batch(&self) -> usize {
        self.ids.as_ref().unwrap_or(&self.table).meta.shape()[0]
    }

    fn type_of_ids(&self) -> ElemType {
        element_of_ids(self.ids.as_ref().map_or(DType::I32, |ids| ids.dtype))
    }
}

pub(super) fn one(
    x: CubeTensor,
    angles: Angles<CubeBackend>,
    layout: Layout,
    turn: Turn,
) -> CubeTensor {
    let side = Side::new(x);
    let (rows, addresses) = Rows::new(angles, &[&side]);
    let vector = side.vector(rows.width(), layout);
    let plan = side.plan(&rows, vector, layout, turn);
    let [_, heads, _, _] = side.x.meta.shape().dims();
    let (y, output) = side.output(0);
    side.launch(rows, addresses, output, heads, plan);
    y
}

pub(super) fn both(
    q: CubeTensor,
    k: CubeTensor,
    angles: Angles<CubeBackend>,
    layout: Layout,
    turn: Turn,
) -> (CubeTensor, CubeTensor) {
    let (q, k) = (Side::new(q), Side::new(k));
    let (rows, addresses) = Rows::new(angles, &[&q, &k]);
    let width = rows.width();
    let vector = q.vector(width, layout).min(k.vector(width, layout));
    let plan_of_q = q.plan(&rows, vector, layout, turn);
    let plan_of_k = k.plan(&rows, vector, layout, turn);
    let rows = rows.aligned_to(plan_of_q.lanes());
    let threads_of_q = q.threads(&plan_of_q);
    let threads = threads_of_q + k.threads(&plan_of_k);
    let client = q.x.client.clone();
    let cube_dim = CubeDim::new(&client, threads);
    let [_, heads_of_q, seq, _] = q.x.meta.shape().dims();
    let [_, heads_of_k, _, _] = k.x.meta.shape().dims();
    let (turned_q, output_q) = q.output(0);
    let (turned_k, output_k) = k.output(1);
    let dtypes = [element(q.x.dtype), rows.type_of_ids()];
    // SAFETY: as in `Side::launch`: the angles fit to queries and to keys, each with its own heads, and both have the tokens
    // of the angles. The memory of queries and keys that are written is not shared.
    unsafe {
        turn_both::launch_unchecked(
            &client,
            calculate_cube_count_elemwise(&client, threads, cube_dim),
            cube_dim,
            addresses,
            vector,
            plan_of_q.lanes(),
            q.x.into_tensor_arg(),
            k.x.into_tensor_arg(),
            rows.table.into_tensor_arg(),
            rows.ids.map(CubeTensor::into_tensor_arg).into(),
            output_q,
            output_k,
            threads_of_q,
            threads,
            heads_of_q,
            heads_of_k,
            seq,
            plan_of_q,
            plan_of_k,
            dtypes,
        );
    }
    (turned_q, turned_k)
}

/// The rotation of the first `heads` heads of `x`, which is `[batch, seq, heads, d_head]`.
pub(super) fn first_heads(
    x: CubeTensor,
    angles: Angles<CubeBackend>,
    heads: usize,
    layout: Layout,
    turn: Turn,
) -> CubeTensor {
    let mut side = Side::new(x);
    let (rows, addresses) = Rows::new(angles, &[&side]);
    let (y, mut output) = side.output(0);
    // From here on as `[batch, heads, seq, d_head]`.
    side.x.meta.swap(1, 2);
    match &mut output {
        TensorArg::Alias { strides, shape, .. } => {
            strides.swap(1, 2);
            shape.swap(1, 2);
        }
        TensorArg::Handle { handle } => {
            handle.strides.swap(1, 2);
            handle.shape.swap(1, 2);
        }
    }
    let vector = side.vector(rows.width(), layout);
    let plan = Plan {
        first_heads: Some(heads),
        ..side.plan(&rows, vector, layout, turn)
    };
    let [_, all, _, _] = side.x.meta.shape().dims();
    let heads = if side.in_place { heads } else { all };
    side.launch(rows, addresses, output, heads, plan);
    y
}
