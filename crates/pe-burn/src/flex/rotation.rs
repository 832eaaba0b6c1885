//! As [`crate::rotation`], in one pass.

use core::mem::MaybeUninit;

use burn::backend::Flex;
use burn::backend::flex::{FlexTensor, Layout as Strides};
use burn::tensor::Tensor;
use multiversion::multiversion;

use super::{MANY, PIECE, fresh};
use crate::graph::{Operand, Operation, apply};
use crate::layout::Layout;
use crate::rotation::Turn;
use crate::threads;

/// See [`crate::rotation::rotate`].
pub fn rotate(x: Tensor<4>, rows: Tensor<3>, layout: Layout, turn: Turn) -> Tensor<4> {
    let found = "a constant on the device of what it turns";
    let rows = rows.without_autodiff().try_into_primitive::<Flex>();
    let rows = rows.expect(found).to_contiguous();
    apply([Operand::of(x)], |[x]: [FlexTensor; 1]| {
        let y = turned(x, &rows, layout, turn);
        (y, Rotation { rows, layout, turn })
    })
    .tensor()
}

#[derive(Clone, Debug)]
struct Rotation {
    rows: FlexTensor,
    layout: Layout,
    turn: Turn,
}

impl Operation<Flex, 1> for Rotation {
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 1] {
        let turn = match self.turn {
            Turn::Forth => Turn::Back,
            Turn::Back => Turn::Forth,
        };
        [turned(gradient, &self.rows, self.layout, turn)]
    }
}

/// The tensor turned where it lies, if nobody else holds it, and else a turned copy.
fn turned(mut x: FlexTensor, rows: &FlexTensor, layout: Layout, turn: Turn) -> FlexTensor {
    let angles: &[f32] = rows.as_slice().expect("rows one after the other");
    let [angles_batch, seq, width] = rows.layout().shape().dims();
    let [batch, heads, _, d_head] = x.layout().shape().dims();
    // What one thread takes at a time: so many rows of one head of one sequence.
    let rows_at_a_time = (PIECE / d_head).clamp(1, seq);
    let per_head = seq.div_ceil(rows_at_a_time);
    let block = |i: usize| {
        let (head, first) = (i / per_head, i % per_head * rows_at_a_time);
        let count = rows_at_a_time.min(seq - first);
        let from = (head / heads % angles_batch * seq + first) * width;
        let angles = &angles[from..from + count * width];
        ([head / heads, head % heads, first, 0], angles)
    };
    let blocks = batch * heads * per_head;
    let for_each = |work: &(dyn Fn(usize) + Sync)| match batch * heads * seq * d_head {
        0..=MANY => (0..blocks).for_each(work),
        // Rows of one head may be few.
        _ => {
            let at_a_time = (PIECE / (rows_at_a_time * d_head)).max(1);
            threads::for_each((0..blocks).step_by(at_a_time), |first| {
                (first..blocks.min(first + at_a_time)).for_each(work);
            });
        }
    };

    if x.layout().strides()[3] != 1 {
        x = x.to_contiguous();
    }
    let strides = x.layout().clone();
    let stride = strides.strides()[2];
    if apart(&strides)
        && let Some(numbers) = x.try_storage_mut::<f32>()
    {
        let numbers = Numbers(numbers.as_mut_ptr());
        for_each(&|i| {
            let (index, angles) = block(i);
            // SAFETY: the rows lie in the storage and apart from each other, and nobody else
            // holds it.
            unsafe {
                let first = numbers.from(strides.index(&index));
                turn_rows(first, stride, width, angles, layout, turn);
            }
        });
        return x;
    }
    let (numbers, strides) = (x.storage::<f32>(), x.layout());
    let write = |out: &mut [MaybeUninit<f32>]| {
        let out = Numbers(out.as_mut_ptr().cast());
        for_each(&|i| {
            let (index, angles) = block(i);
            let [b, h, first, _] = index;
            let target = ((b * heads + h) * seq + first) * d_head;
            for row in 0..angles.len() / width {
                let from = strides.index(&[b, h, first + row, 0]);
                let source = &numbers[from..from + d_head];
                // SAFETY: every row of `out` is written once, from another memory.
                unsafe {
                    let row = out.from(target + row * d_head);
                    row.copy_from_nonoverlapping(source.as_ptr(), d_head);
                }
            }
            // SAFETY: these rows have just been written.
            unsafe {
                let first = out.from(target);
                turn_rows(first, d_head as isize, width, angles, layout, turn);
            }
        });
    };
    // SAFETY: the blocks are all rows, and each is written.
    unsafe { fresh([batch, heads, seq, d_head], write) }
}

/// The start of numbers whose parts several threads write.
struct Numbers(*mut f32);

// SAFETY: each thread goes to rows of its own.
unsafe impl Send for Numbers {}
// SAFETY: as above.
unsafe impl Sync for Numbers {}

impl Numbers {
    /// # Safety
    ///
    /// There are more numbers than `index`.
    unsafe fn from(&self, index: usize) -> *mut f32 {
        // SAFETY: so the caller has promised.
        unsafe { self.0.add(index) }
    }
}

/// Whether no two of the rows, each in one piece, share a number.
fn apart(strides: &Strides) -> bool {
    let [batch, heads, seq, d_head] = strides.shape().dims();
    let by = strides.strides();
    let mut outer = [(batch, by[0]), (heads, by[1]), (seq, by[2])];
    outer.sort_unstable_by_key(|(_, stride)| *stride);
    let mut extent = d_head as isize;
    for (size, stride) in outer.into_iter().filter(|(size, _)| *size > 1) {
        if stride < extent {
            return false;
        }
        extent += (size as isize - 1) * stride;
    }
    true
}

/// Turns the first `width` numbers of rows that are `stride` apart, one for each row of angles.
///
/// # Safety
///
/// From `first` on there are so many rows, initialized, that nobody else reads or writes.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
unsafe fn turn_rows(
    first: *mut f32,
    stride: isize,
    width: usize,
    angles: &[f32],
    layout: Layout,
    turn: Turn,
) {
    let pairs = width / 2;
    let sign = match turn {
        Turn::Forth => 1.0,
        Turn::Back => -1.0,
    };
    let mut at = 0;
    while at < angles.len() {
        // SAFETY: so the caller has promised.
        let row = unsafe {
            let start = first.offset((at / width) as isize * stride);
            core::slice::from_raw_parts_mut(start, width)
        };
        let (sin, cos) = angles[at..at + width].split_at(pairs);
        let (sin, cos) = (&sin[..pairs], &cos[..pairs]);
        match layout {
            Layout::Halves => {
                let (a, b) = row.split_at_mut(pairs);
                let (a, b) = (&mut a[..pairs], &mut b[..pairs]);
                for i in 0..pairs {
                    let sin = sin[i] * sign;
                    let turned = (a[i] * cos[i] - b[i] * sin, a[i] * sin + b[i] * cos[i]);
                    (a[i], b[i]) = turned;
                }
            }
            Layout::Interleaved => {
                let (row, _) = row.as_chunks_mut::<2>();
                let row = &mut row[..pairs];
                for i in 0..pairs {
                    let (sin, [a, b]) = (sin[i] * sign, row[i]);
                    row[i] = [a * cos[i] - b * sin, a * sin + b * cos[i]];
                }
            }
        }
        at += width;
    }
}
