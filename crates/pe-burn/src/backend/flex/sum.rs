//! `scale · x + encoding`.
//!
//! Burn's addition on Flex runs on one thread, and a scale takes a pass of its own before it.

use alloc::vec;
use core::mem::MaybeUninit;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::backend::ops::FloatTensorOps;
use burn::tensor::{Tensor, TensorData};
use multiversion::multiversion;

use super::{CHUNK, PARALLEL_FROM, filled_by, supports};
use crate::backend::Addend;
use crate::backend::autodiff::{Operand, Operation, apply};
use crate::backend::threads;

/// Whether [`add`] takes this sum and is faster than Burn. `len` is the number of elements of `x`.
#[inline] // keeps a decoding step fast
pub(crate) fn adds(x: &Tensor<3>, encoding: &Addend, len: usize) -> bool {
    match encoding {
        // For few elements Burn is as fast.
        Addend::Tensor(encoding)
        | Addend::GatherOnDevice {
            table: encoding, ..
        } => len > PARALLEL_FROM && supports(x) && supports(encoding),
        Addend::Slice { .. } | Addend::Gather { .. } => supports(x),
    }
}

/// `scale · x + encoding`, where [`adds`] is true.
///
/// # Shapes
///
/// - `x`: `[batch, seq, d_model]`
/// - output: as `x`
pub(crate) fn add(x: Tensor<3>, encoding: Addend, scale: Option<f64>) -> Tensor<3> {
    let scale = scale.unwrap_or(1.0) as f32;
    if let Addend::Tensor(encoding) = &encoding {
        let (shape @ [batch, ..], expected @ [all, ..]) = (encoding.dims(), x.dims());
        assert!(
            (batch == 1 || batch == all) && shape[1..] == expected[1..],
            "an encoding of shape {shape:?} for an input of shape {expected:?}"
        );
    }
    match encoding {
        Addend::Tensor(encoding) if encoding.device().is_autodiff() => {
            let shared = encoding.dims()[0] < x.dims()[0];
            let inputs = [Operand::of(x), Operand::of(encoding)];
            apply(inputs, |[x, encoding]: [FlexTensor; 2]| {
                let encoding = encoding.to_contiguous();
                let rows = Added::Slice(elements(&encoding));
                (sum(x, rows, scale), SumOfBoth { scale, shared })
            })
            .tensor()
        }
        Addend::Tensor(encoding) => {
            let encoding = constant(encoding).to_contiguous();
            add_constant(x, Added::Slice(elements(&encoding)), scale)
        }
        Addend::Slice { table, start, seq } => {
            let [_, _, d_model] = x.dims();
            let table = constant(table);
            let rows = &elements(&table)[start * d_model..][..seq * d_model];
            add_constant(x, Added::Slice(rows), scale)
        }
        ids @ Addend::GatherOnDevice { .. } => {
            let rows = constant(ids.into_tensor()).to_contiguous();
            add_constant(x, Added::Slice(elements(&rows)), scale)
        }
        Addend::Gather { table, ids, .. } => {
            let [_, _, width] = x.dims();
            let table = constant(table);
            let rows = Added::Gather {
                table: elements(&table),
                ids: &ids,
                width,
            };
            add_constant(x, rows, scale)
        }
    }
}

fn add_constant(x: Tensor<3>, rows: Added, scale: f32) -> Tensor<3> {
    apply([Operand::of(x)], |[x]: [FlexTensor; 1]| {
        (sum(x, rows, scale), Sum { scale })
    })
    .tensor()
}

fn constant(encoding: Tensor<3>) -> FlexTensor {
    let found = "an encoding on the device of the input";
    encoding.try_into_primitive::<Flex>().expect(found)
}

fn elements(encoding: &FlexTensor) -> &[f32] {
    encoding.as_slice().expect("contiguous rows")
}

/// The rows to add. They repeat until the end of the input, whose length is a multiple of theirs.
#[derive(Clone, Copy)]
enum Added<'a> {
    Slice(&'a [f32]),
    Gather {
        table: &'a [f32],
        ids: &'a [usize],
        width: usize,
    },
}

impl<'a> Added<'a> {
    /// The contiguous numbers to add to the input from element `at` on.
    #[inline(always)]
    fn from(self, at: usize) -> &'a [f32] {
        match self {
            Self::Slice(rows) => &rows[at % rows.len()..],
            Self::Gather { table, ids, width } => {
                let row = &table[ids[at / width % ids.len()] * width..][..width];
                &row[at % width..]
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Sum {
    scale: f32,
}

impl Operation<Flex, 1> for Sum {
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 1] {
        [scaled(gradient, self.scale)]
    }
}

/// As [`Sum`], where the encoding has a gradient too.
#[derive(Clone, Debug)]
struct SumOfBoth {
    scale: f32,
    /// Whether one encoding was added to all sequences of the batch.
    shared: bool,
}

impl Operation<Flex, 2> for SumOfBoth {
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 2] {
        let of_encoding = match self.shared {
            true => over_sequences(&gradient),
            false => gradient.clone(),
        };
        [scaled(gradient, self.scale), of_encoding]
    }
}

fn scaled(gradient: FlexTensor, scale: f32) -> FlexTensor {
    match scale {
        1.0 => gradient,
        scale => Flex::float_mul_scalar(gradient, scale.into()),
    }
}

/// The sum over the sequences of a batch, `[1, seq, d_model]`, in the order of the batch.
fn over_sequences(gradient: &FlexTensor) -> FlexTensor {
    let [_, seq, d_model] = gradient.layout().shape().dims();
    let gradient = gradient.to_contiguous();
    let numbers: &[f32] = gradient.as_slice().expect("made contiguous");
    let mut sums = vec![0.0_f32; seq * d_model];
    let pieces = sums.chunks_mut(CHUNK / 8).enumerate();
    threads::for_each(pieces, |(i, sums)| {
        for sequence in numbers.chunks_exact(seq * d_model) {
            let piece = &sequence[i * (CHUNK / 8)..][..sums.len()];
            for (sum, number) in sums.iter_mut().zip(piece) {
                *sum += number;
            }
        }
    });
    FlexTensor::from_data(TensorData::new(sums, [1, seq, d_model]))
}

/// The sum, in place where the memory of `x` is not shared, and else in a new tensor.
fn sum(mut x: FlexTensor, rows: Added, scale: f32) -> FlexTensor {
    if !x.is_contiguous() {
        x = x.to_contiguous();
    }
    let (start, end) = x.layout().contiguous_offsets().expect("made contiguous");
    // For few elements, waking another thread takes longer than adding them.
    let piece = match end - start {
        0..=PARALLEL_FROM => PARALLEL_FROM,
        _ => CHUNK,
    };
    if let Some(numbers) = x.try_storage_mut::<f32>() {
        let pieces = numbers[start..end].chunks_mut(piece).enumerate();
        threads::for_each(pieces, |(i, numbers)| {
            add_to(numbers, rows, i * piece, scale);
        });
        return x;
    }
    let numbers = &x.storage::<f32>()[start..end];
    let shape = x.layout().shape().clone();
    let write_all = |out: &mut [MaybeUninit<f32>]| {
        let pieces = out.chunks_mut(piece).zip(numbers.chunks(piece));
        threads::for_each(pieces.enumerate(), |(i, (out, numbers))| {
            write(out, numbers, rows, i * piece, scale);
        });
    };
    // SAFETY: the memory has as many elements as `numbers`, so their chunks are as long as each other, and `write` fills as many
    // elements as it has of `x`.
    unsafe { filled_by(shape, write_all) }
}

/// The number of elements before the first boundary of a cache line (64 bytes). The widest vector
/// registers are as wide, and loading one across two lines takes twice as long.
#[inline(always)]
fn to_line<T>(numbers: &[T]) -> usize {
    numbers.as_ptr().align_offset(64).min(numbers.len())
}

/// `x = scale · x + rows`, where `x` starts at element `at` of the input.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn add_to(x: &mut [f32], rows: Added, at: usize, scale: f32) {
    let mut done = 0;
    while done < x.len() {
        let row = rows.from(at + done);
        let len = (x.len() - done).min(row.len());
        let (x, row) = (&mut x[done..done + len], &row[..len]);
        let head = to_line(x);
        let ((first, x), (first_row, row)) = (x.split_at_mut(head), row.split_at(head));
        for i in 0..head {
            first[i] = first[i] * scale + first_row[i];
        }
        for i in 0..len - head {
            x[i] = x[i] * scale + row[i];
        }
        done += len;
    }
}

/// As [`add_to`], into other memory than that of `x`.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn write(out: &mut [MaybeUninit<f32>], x: &[f32], rows: Added, at: usize, scale: f32) {
    let mut done = 0;
    while done < x.len() {
        let row = rows.from(at + done);
        let len = (x.len() - done).min(row.len());
        let (x, row) = (&x[done..done + len], &row[..len]);
        let out = &mut out[done..done + len];
        let head = to_line(out);
        let (first_out, out) = out.split_at_mut(head);
        let ((first, x), (first_row, row)) = (x.split_at(head), row.split_at(head));
        for i in 0..head {
            first_out[i].write(first[i] * scale + first_row[i]);
        }
        for i in 0..len - head {
            out[i].write(x[i] * scale + row[i]);
        }
        done += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::borrow::Cow;
    use alloc::vec::Vec;

    use burn::tensor::Device;

    use crate::testing::{apart, random, values};

    fn encoded<'a>(encoding: &Tensor<3>) -> Addend<'a> {
        Addend::Tensor(encoding.clone())
    }

    /// Chunks that end within a row, at the end of a sequence and past it; inputs that are shared, not shared, and views.
    #[test]
    fn it_equals_burns_sum() {
        let device = Device::flex();
        for [batch, seq, d_model] in [[3, 1_000, 37], [70, 7, 129], [2, 1, 40_000]] {
            let shape = [batch, seq, d_model];
            for encodings in [1, batch] {
                let encoding = random([encodings, seq, d_model], &device);
                for scale in [None, Some(3.0)] {
                    for device in [device.clone(), device.clone().autodiff()] {
                        let whole = random([batch + 2, seq, d_model], &device);
                        for x in [
                            random(shape, &device),
                            whole.narrow(0, 1, batch),
                            random([batch, d_model, seq], &device).swap_dims(1, 2),
                        ] {
                            let before = values(x.clone());
                            let scaled = match scale {
                                Some(factor) => x.clone().mul_scalar(factor),
                                None => x.clone(),
                            };
                            let expected = values(scaled.add(encoding.clone()));
                            let shared = add(x.clone(), encoded(&encoding), scale);
                            assert_eq!(values(x.clone()), before, "a shared input was changed");
                            let owned = add(x + 0.0, encoded(&encoding), scale);
                            assert_eq!((shared.dims(), owned.dims()), (shape, shape));
                            for sum in [shared, owned] {
                                for (a, b) in values(sum).iter().zip(&expected) {
                                    assert!((a - b).abs() < 1e-6, "{a} {b}");
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Few and many rows, for shared inputs and for others.
    #[test]
    fn rows_read_in_place_from_a_table_give_the_same_sum() {
        let plain = Device::flex();
        for [batch, seq, d_model] in [[1, 1, 8], [3, 5, 37], [70, 7, 129], [9, 300, 130]] {
            let table = random([1, seq + 5, d_model], &plain);
            for (start, scale) in [(0, None), (4, Some(3.0)), (5, None)] {
                let rows = table.clone().slice([0..1, start..start + seq]);
                for device in [plain.clone(), plain.clone().autodiff()] {
                    let x = random([batch, seq, d_model], &device);
                    let before = values(x.clone());
                    let scaled = x.clone().mul_scalar(scale.unwrap_or(1.0));
                    let expected = values(scaled.add(rows.clone()));
                    let slice = || Addend::Slice {
                        table: table.clone(),
                        start,
                        seq,
                    };
                    let shared = add(x.clone(), slice(), scale);
                    assert_eq!(values(x.clone()), before, "a shared input was changed");
                    let one: Vec<usize> = (start..start + seq).collect();
                    let all = one.repeat(batch);
                    let gather = |ids| Addend::Gather {
                        table: table.clone(),
                        ids: Cow::Borrowed(ids),
                        seq,
                    };
                    let sums = [
                        shared,
                        add(x.clone(), gather(&one), scale),
                        add(x.clone(), gather(&all), scale),
                        add(x.clone() + 0.0, gather(&all), scale),
                        add(x + 0.0, slice(), scale),
                    ];
                    for sum in sums {
                        assert_eq!(values(sum), expected);
                    }
                }
            }
        }
    }

    #[test]
    fn the_gradient_of_the_input_is_the_scale() {
        let device = Device::flex().autodiff();
        let x = Tensor::<3>::ones([4, 100, 100], &device).require_grad();
        let encoding = Tensor::<3>::ones([1, 100, 100], &Device::flex());
        for scale in [None, Some(2.5)] {
            let y = add(x.clone(), encoded(&encoding), scale) * 3.0;
            let gradient = x.grad(&y.sum().backward()).unwrap();
            let expected = 3.0 * scale.unwrap_or(1.0) as f32;
            assert!(values(gradient).iter().all(|g| *g == expected));
        }
    }

    /// One encoding for all sequences, one for each, and an input without a gradient.
    #[test]
    fn the_gradient_of_a_trained_encoding_equals_burns() {
        let autodiff = Device::flex().autodiff();
        let shape = [5, 300, 37];
        let weights = random(shape, &autodiff);
        for (encodings, device) in [
            (1, autodiff.clone()),
            (5, autodiff.clone()),
            (1, Device::flex()),
        ] {
            let (x, encoding) = (
                random(shape, &device),
                random([encodings, 300, 37], &autodiff),
            );
            let gradients = |sum: &dyn Fn(Tensor<3>, Tensor<3>) -> Tensor<3>| {
                let encoding = encoding.clone().require_grad();
                let x = match device.is_autodiff() {
                    true => x.clone().require_grad(),
                    false => x.clone(),
                };
                let y = sum(x.clone(), encoding.clone());
                let all = (y.clone() * weights.clone()).sum().backward();
                let of_x = device.is_autodiff().then(|| values(x.grad(&all).unwrap()));
                (values(y), of_x, values(encoding.grad(&all).unwrap()))
            };
            let ours = gradients(&|x, encoding| add(x, Addend::Tensor(encoding), Some(2.0)));
            let burns = gradients(&|x, encoding| x.mul_scalar(2.0).add(encoding));
            assert!(apart(&ours.0, &burns.0) < 1e-6);
            assert!(apart(&ours.2, &burns.2) < 1e-5);
            assert_eq!(ours.1, burns.1);
        }
    }
}
