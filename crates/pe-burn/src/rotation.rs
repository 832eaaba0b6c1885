//! Pairs of columns turned by angles: what rotary encodings do to queries and keys.
//!
//! ```text
//! (a, b) → (a cos − b sin, a sin + b cos)
//! ```
//!
//! Burn takes seven passes over memory for that. On Flex, with the feature `flex`, it is one pass of
//! our own on all threads, in place where nobody else holds the input, and recorded as one operation
//! whose derivative is the rotation back.

use alloc::vec;

use burn::tensor::Tensor;

use crate::spectrum::Layout;

/// Which way to turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Forth,
    /// By the opposite angles, which is the way of gradients too.
    Back,
}

/// The input with its first columns, as many as `rows` has, turned.
///
/// # Shapes
///
/// - `x`: `[batch, heads, seq, d_head]`, `f32` or `f64`; some numbers
/// - `rows`: `[1 or batch, seq, width]`, all sines before all cosines, of the type of `x`
/// - output: as `x`
pub(crate) fn rotate(x: Tensor<4>, rows: Tensor<3>, layout: Layout, turn: Turn) -> Tensor<4> {
    #[cfg(feature = "flex")]
    if flex::runs(&x) {
        return flex::rotate(x, rows, layout, turn);
    }
    let [batch, heads, seq, d_head] = x.dims();
    let [rows_batch, _, width] = rows.dims();
    let pairs = width / 2;
    let rows = rows.reshape([rows_batch, 1, seq, width]);
    let (sin, cos) = (
        rows.clone().narrow(3, 0, pairs),
        rows.narrow(3, pairs, pairs),
    );
    let sin = match turn {
        Turn::Forth => sin,
        Turn::Back => -sin,
    };
    let turned = |a: Tensor<4>, b: Tensor<4>| {
        let first = a.clone() * cos.clone() - b.clone() * sin.clone();
        (first, a * sin + b * cos)
    };
    let rest = (width < d_head).then(|| x.clone().narrow(3, width, d_head - width));
    let mut parts = match layout {
        Layout::Halves => {
            let (a, b) = turned(x.clone().narrow(3, 0, pairs), x.narrow(3, pairs, pairs));
            vec![a, b]
        }
        Layout::Interleaved => {
            let side_by_side = x.narrow(3, 0, width).reshape([batch, heads, seq, pairs, 2]);
            let column = |i| {
                let column = side_by_side.clone().narrow(4, i, 1);
                column.reshape([batch, heads, seq, pairs])
            };
            let (a, b) = turned(column(0), column(1));
            vec![Tensor::stack::<5>(vec![a, b], 4).reshape([batch, heads, seq, width])]
        }
    };
    parts.extend(rest);
    match parts.len() {
        1 => parts.remove(0),
        _ => Tensor::cat(parts, 3),
    }
}

#[cfg(feature = "flex")]
mod flex {
    use alloc::vec::Vec;

    use super::*;

    use burn::backend::flex::{FlexTensor, Layout as Strides};
    use burn::backend::{DispatchDevice, Flex};
    use burn::tensor::GradientCheckpointingStrategy::Disabled;
    use burn::tensor::{DType, TensorData};
    use multiversion::multiversion;
    use rayon::prelude::*;

    use crate::graph::{Operand, Operation, apply};

    /// Numbers that pay for a thread of their own.
    const PIECE: usize = 1 << 15;

    /// Whether the input is one for the kernel: 32-bit numbers on Flex, and derivatives, if any,
    /// that are not found by running the way forth again.
    pub fn runs(x: &Tensor<4>) -> bool {
        let device = x.device();
        x.dtype() == DType::F32
            && matches!(
                device.gradient_checkpointing_strategy(),
                None | Some(Disabled)
            )
            && matches!(device.inner().as_dispatch(), DispatchDevice::Flex(_))
    }

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
            0..=PIECE => (0..blocks).for_each(work),
            _ => (0..blocks).into_par_iter().for_each(work),
        };

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
        let x = match strides.strides()[3] {
            1 => x,
            _ => x.to_contiguous(),
        };
        let (numbers, strides) = (x.storage::<f32>(), x.layout());
        let mut out: Vec<f32> = Vec::with_capacity(batch * heads * seq * d_head);
        let fresh = Numbers(out.as_mut_ptr());
        for_each(&|i| {
            let (index, angles) = block(i);
            let [b, h, first, _] = index;
            let target = ((b * heads + h) * seq + first) * d_head;
            for row in 0..angles.len() / width {
                let from = strides.index(&[b, h, first + row, 0]);
                let source = &numbers[from..from + d_head];
                // SAFETY: every row of `out` is written once, from another memory.
                unsafe {
                    let row = fresh.from(target + row * d_head);
                    row.copy_from_nonoverlapping(source.as_ptr(), d_head);
                }
            }
            // SAFETY: these rows have just been written.
            unsafe {
                let first = fresh.from(target);
                turn_rows(first, d_head as isize, width, angles, layout, turn);
            }
        });
        // SAFETY: the blocks are all rows, and each was written.
        unsafe { out.set_len(batch * heads * seq * d_head) };
        FlexTensor::from_data(TensorData::new(out, [batch, heads, seq, d_head]))
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

    /// Whether the rows are whole and no two of them share a number.
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
        by[3] == 1 || d_head == 1
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
}

#[cfg(test)]
mod tests {
    use super::*;

    use burn::tensor::{Device, Distribution, Tolerance};

    use crate::Spectrum;

    /// The definition, number by number.
    fn by_hand(x: Tensor<4>, rows: Tensor<3>, layout: Layout, turn: Turn) -> alloc::vec::Vec<f32> {
        let [_, heads, seq, d_head] = x.dims();
        let [angles_batch, _, width] = rows.dims();
        let rows: alloc::vec::Vec<f32> = rows.into_data().iter().collect();
        let mut x: alloc::vec::Vec<f32> = x.into_data().iter().collect();
        for (i, row) in x.chunks_exact_mut(d_head).enumerate() {
            let (batch, token) = (i / (heads * seq), i % seq);
            let angles = &rows[(batch % angles_batch * seq + token) * width..][..width];
            for pair in 0..width / 2 {
                let (a, b) = match layout {
                    Layout::Interleaved => (2 * pair, 2 * pair + 1),
                    Layout::Halves => (pair, pair + width / 2),
                };
                let (mut sin, cos) = (angles[pair], angles[pair + width / 2]);
                if turn == Turn::Back {
                    sin = -sin;
                }
                (row[a], row[b]) = (row[a] * cos - row[b] * sin, row[a] * sin + row[b] * cos);
            }
        }
        x
    }

    fn angles(batch: usize, seq: usize, width: usize, device: &Device) -> Tensor<3> {
        let spectrum = Spectrum::new(width, 100.0).with_layout(Layout::Halves);
        let rows: alloc::vec::Vec<f32> = spectrum.rows(7..7 + batch * seq);
        Tensor::<1>::from_data(rows.as_slice(), device).reshape([batch, seq, width])
    }

    /// Every way in which queries come: fresh, shared, as a view of a projection with the heads
    /// inside, as a part of one, turned around, and the same memory for every row.
    #[test]
    fn it_is_the_definition_wherever_the_numbers_lie() {
        let plain = Device::flex();
        // Without the kernel.
        let checkpointing = Device::flex().autodiff().gradient_checkpointing();
        for device in [plain.clone(), plain.clone().autodiff(), checkpointing] {
            for (batch, heads, seq, d_head, width) in [
                (1, 1, 1, 2, 2),
                (2, 3, 5, 8, 8),
                (3, 2, 7, 10, 6),
                (2, 4, 300, 64, 64),
            ] {
                let random = |shape: [usize; 4]| {
                    Tensor::<4>::random(shape, Distribution::Normal(0.0, 1.0), &device)
                };
                let inputs = [
                    random([batch, heads, seq, d_head]),
                    random([batch, seq, heads, d_head]).swap_dims(1, 2),
                    random([batch, seq, 3 * heads, d_head])
                        .swap_dims(1, 2)
                        .narrow(1, heads, heads),
                    random([batch, heads, d_head, seq]).swap_dims(2, 3),
                    random([batch, heads, seq, d_head]).flip([0, 2]),
                    random([1, heads, 1, d_head]).expand([batch, heads, seq, d_head]),
                ];
                for (i, x) in inputs.into_iter().enumerate() {
                    for angles_batch in [1, batch] {
                        let rows = angles(angles_batch, seq, width, &plain);
                        for layout in [Layout::Interleaved, Layout::Halves] {
                            for turn in [Turn::Forth, Turn::Back] {
                                let expected = by_hand(x.clone(), rows.clone(), layout, turn);
                                let held = x.clone();
                                let before: alloc::vec::Vec<f32> = x.to_data().iter().collect();
                                let shared = rotate(x.clone(), rows.clone(), layout, turn);
                                let after: alloc::vec::Vec<f32> = held.into_data().iter().collect();
                                assert_eq!(before, after, "a shared input was changed");
                                // A copy of nobody else's, in the same order of memory for a view.
                                let own = match i {
                                    1 => (x.clone().swap_dims(1, 2) + 0.0).swap_dims(1, 2),
                                    _ => x.clone() + 0.0,
                                };
                                let owned = rotate(own, rows.clone(), layout, turn);
                                for turned in [shared, owned] {
                                    assert_eq!(turned.dims(), [batch, heads, seq, d_head]);
                                    for (a, b) in turned.into_data().iter::<f32>().zip(&expected) {
                                        assert!((a - b).abs() < 1e-6, "input {i}: {a} {b}");
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_gradient_is_turned_back() {
        let device = Device::flex().autodiff();
        let rows = angles(1, 40, 8, &Device::flex());
        for layout in [Layout::Interleaved, Layout::Halves] {
            let x = Tensor::<4>::random([2, 3, 40, 10], Distribution::Default, &device);
            let weights = Tensor::<4>::random([2, 3, 40, 10], Distribution::Default, &device);
            let x = x.require_grad();
            let y = rotate(x.clone(), rows.clone(), layout, Turn::Forth);
            let gradient = x.grad(&(y * weights.clone()).sum().backward()).unwrap();
            let expected = by_hand(weights, rows.clone(), layout, Turn::Back);
            let expected = burn::tensor::TensorData::new(expected, [2, 3, 40, 10]);
            let tolerance = Tolerance::<f32>::absolute(1e-6);
            gradient.into_data().assert_approx_eq(&expected, tolerance);
        }
    }
}
