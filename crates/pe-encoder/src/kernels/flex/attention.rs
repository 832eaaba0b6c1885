//! Attention `softmax(q kᵀ / √d_head + bias) v` in several heads (Vaswani et al. 2017, section 3.2;
//! the bias is not in the paper), and its gradients.
//!
//! A row of `qkv` holds query, key and value of a token, as one projection writes them. The heads
//! are read in place: nothing is transposed or copied. The backward pass needs the attention
//! weights, which are stored.

use std::mem::MaybeUninit;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{Bool, Tensor};
use multiversion::multiversion;
use pe_burn::autodiff::{Operand, Operation, apply};
use rayon::prelude::*;

use super::math::{exp, largest, sum};
use super::products::{Matrix, column_sums, initialized, set_product};
use super::{contiguous, elements, tensor, tensor_like};
use crate::kernels::bias::Bias;

/// As [`plain::attention`](crate::plain::attention), except that a row of padding alone gets 0.
pub fn attention(
    qkv: Tensor<3>,
    padding: Option<&Tensor<2, Bool>>,
    bias: Option<Tensor<4>>,
    heads: usize,
) -> Tensor<3> {
    let [batch, seq, width] = qkv.dims();
    // The columns of the heads have to cover the output, whose memory is not initialized.
    assert!(
        width.is_multiple_of(3 * heads),
        "{heads} heads share {width} columns"
    );
    let sizes = Sizes {
        seq,
        d_model: width / 3,
        heads,
    };
    let padding = padding.map(|padding| {
        let padding = padding.clone().without_autodiff();
        let padding = padding.try_into_primitive::<Flex>();
        contiguous(padding.expect("a mask on the device of the tensor that it masks"))
    });
    let compute = |qkv: FlexTensor, bias: Option<&FlexTensor>| {
        let padding = padding.as_ref().map(|all| &all.bytes()[..batch * seq]);
        let (y, weights) = forward(elements(&qkv), padding, bias.map(elements), sizes);
        let saved = Attention {
            qkv,
            weights,
            sizes,
        };
        (tensor(y, [batch, seq, sizes.d_model]), saved)
    };
    match Bias::new(bias, [batch, heads, seq]) {
        Bias::None => apply([Operand::of(qkv)], |[qkv]| compute(contiguous(qkv), None)),
        Bias::Constant(bias) => apply([Operand::of(qkv)], |[qkv]| {
            compute(contiguous(qkv), Some(&contiguous(bias)))
        }),
        Bias::Tracked(bias) => apply([Operand::of(qkv), bias], |inputs| {
            let [qkv, bias] = inputs.map(contiguous);
            let (y, attention) = compute(qkv, Some(&bias));
            (y, WithBias { attention, bias })
        }),
    }
    .tensor()
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct Attention {
    qkv: FlexTensor,
    /// `[batch, heads, seq, seq]`
    weights: Vec<f32>,
    sizes: Sizes,
}

impl Operation<Flex, 1> for Attention {
    fn backward(self, dy: FlexTensor) -> [FlexTensor; 1] {
        let Self {
            qkv,
            weights,
            sizes,
        } = self;
        let dy = contiguous(dy);
        let dqkv = backward(elements(&qkv), &weights, sizes, elements(&dy));
        [tensor_like(dqkv, &qkv)]
    }
}

/// What the backward pass needs when the bias gets a gradient too.
#[derive(Clone, Debug)]
struct WithBias {
    attention: Attention,
    bias: FlexTensor,
}

impl Operation<Flex, 2> for WithBias {
    fn backward(self, dy: FlexTensor) -> [FlexTensor; 2] {
        let Attention {
            qkv,
            weights,
            sizes,
        } = self.attention;
        let dy = contiguous(dy);
        let (dqkv, dbias) = backward_with_bias(
            elements(&qkv),
            &weights,
            sizes,
            elements(&dy),
            elements(&self.bias).len() < weights.len(),
        );
        [tensor_like(dqkv, &qkv), tensor_like(dbias, &self.bias)]
    }
}

/// The sizes of `qkv`, `[batch, seq, 3 · d_model]`, of the output, `[batch, seq, d_model]`, and of the
/// weights, `[batch, heads, seq, seq]`. The batch size follows from the length of a slice.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    seq: usize,
    d_model: usize,
    heads: usize,
}

impl Sizes {
    fn d_head(self) -> usize {
        self.d_model / self.heads
    }

    fn scale(self) -> f32 {
        1.0 / (self.d_head() as f32).sqrt()
    }

    /// The number of scores of one sequence.
    fn scores(self) -> usize {
        self.heads * self.seq * self.seq
    }

    /// The queries (`which` is 0), keys (1) or values (2) of one head, from the `qkv` of one sequence.
    fn part(self, qkv: &[f32], which: usize, head: usize) -> Matrix<'_> {
        let from = which * self.d_model + head * self.d_head();
        Matrix::spaced(&qkv[from..], self.seq, self.d_head(), 3 * self.d_model)
    }
}

/// The output and the attention weights.
///
/// `padding` is `[batch, seq]`: where it is not 0, there is no token. `bias` is
/// `[1 or batch, heads, seq, seq]`.
fn forward(
    qkv: &[f32],
    padding: Option<&[u8]>,
    bias: Option<&[f32]>,
    sizes: Sizes,
) -> (Vec<f32>, Vec<f32>) {
    let Sizes { seq, d_model, .. } = sizes;
    let d_head = sizes.d_head();
    let batch = qkv.len() / (seq * 3 * d_model);
    let mut weights = Vec::new();
    // SAFETY: every head of every sequence has its own part of both targets, the parts cover them,
    // and `set_product` initializes each.
    let out = unsafe {
        initialized(batch * seq * d_model, |out| {
            weights = initialized(batch * sizes.scores(), |weights| {
                out.par_chunks_mut(seq * d_model)
                    .zip(weights.par_chunks_mut(sizes.scores()))
                    .zip(qkv.par_chunks(seq * 3 * d_model))
                    .enumerate()
                    .for_each(|(row, ((out, weights), qkv))| {
                        let padding = padding.map(|all| &all[row * seq..][..seq]);
                        // `all` has one sequence or the whole batch.
                        let bias = bias.map(|all| &all[row * sizes.scores() % all.len()..]);
                        for (head, weights) in weights.chunks_exact_mut(seq * seq).enumerate() {
                            let [q, k, v] = [0, 1, 2].map(|which| sizes.part(qkv, which, head));
                            set_product(weights, seq, sizes.scale(), q, k.t());
                            let weights = weights.assume_init_mut();
                            let bias = bias.map(|all| &all[head * seq * seq..][..seq * seq]);
                            softmax(weights, seq, bias, padding);
                            let weights = Matrix::dense(weights, seq);
                            set_product(&mut out[head * d_head..], d_model, 1.0, weights, v);
                        }
                    });
            });
        })
    };
    (out, weights)
}

/// The gradient of `qkv`, from `dout`, the gradient of the output.
fn backward(qkv: &[f32], weights: &[f32], sizes: Sizes, dout: &[f32]) -> Vec<f32> {
    let Sizes { seq, d_model, .. } = sizes;
    // SAFETY: every head of every sequence has its own part of the target, the parts cover it, and
    // `head_backward` initializes each.
    unsafe {
        initialized(qkv.len(), |dqkv| {
            dqkv.par_chunks_mut(seq * 3 * d_model)
                .zip(qkv.par_chunks(seq * 3 * d_model))
                .zip(weights.par_chunks(sizes.scores()))
                .zip(dout.par_chunks(seq * d_model))
                .for_each(|(((dqkv, qkv), weights), dout)| {
                    let mut scratch = Vec::with_capacity(seq * seq);
                    let scores = &mut scratch.spare_capacity_mut()[..seq * seq];
                    for (head, weights) in weights.chunks_exact(seq * seq).enumerate() {
                        head_backward(dqkv, scores, qkv, weights, dout, sizes, head);
                    }
                });
        })
    }
}

/// As [`backward`], and the gradient of the bias. `shared` says that all sequences have the same bias,
/// whose gradient is then the sum over the sequences.
fn backward_with_bias(
    qkv: &[f32],
    weights: &[f32],
    sizes: Sizes,
    dout: &[f32],
    shared: bool,
) -> (Vec<f32>, Vec<f32>) {
    let Sizes { seq, d_model, .. } = sizes;
    #[cfg(test)]
    tests::BIAS_GRADIENTS.with(|count| count.set(count.get() + 1));
    let mut dscores = Vec::new();
    // SAFETY: every head of every sequence has its own part of both targets, the parts cover them,
    // and `head_backward` initializes each.
    let dqkv = unsafe {
        initialized(qkv.len(), |dqkv| {
            dscores = initialized(weights.len(), |dscores| {
                dqkv.par_chunks_mut(seq * 3 * d_model)
                    .zip(dscores.par_chunks_mut(sizes.scores()))
                    .zip(qkv.par_chunks(seq * 3 * d_model))
                    .zip(weights.par_chunks(sizes.scores()))
                    .zip(dout.par_chunks(seq * d_model))
                    .for_each(|((((dqkv, dscores), qkv), weights), dout)| {
                        let heads = weights.chunks_exact(seq * seq);
                        let heads = heads.zip(dscores.chunks_exact_mut(seq * seq));
                        for (head, (weights, scores)) in heads.enumerate() {
                            head_backward(dqkv, scores, qkv, weights, dout, sizes, head);
                        }
                    });
            });
        })
    };
    match shared {
        true => (dqkv, column_sums(&dscores, sizes.scores())),
        false => (dqkv, dscores),
    }
}

/// The backward pass of one head of one sequence: writes the gradient of its scores to `dscores`, and
/// those of its queries, keys and values to its columns of `dqkv`.
fn head_backward(
    dqkv: &mut [MaybeUninit<f32>],
    dscores: &mut [MaybeUninit<f32>],
    qkv: &[f32],
    weights: &[f32],
    dout: &[f32],
    sizes: Sizes,
    head: usize,
) {
    let Sizes { seq, d_model, .. } = sizes;
    let from = head * sizes.d_head();
    let [q, k, v] = [0, 1, 2].map(|which| sizes.part(qkv, which, head));
    let dout = Matrix::spaced(&dout[from..], seq, sizes.d_head(), d_model);
    set_product(dscores, seq, 1.0, dout, v.t());
    // SAFETY: a product initializes its whole target.
    let dscores = unsafe { dscores.assume_init_mut() };
    softmax_backward(dscores, weights, seq);
    let dscores = Matrix::dense(dscores, seq);
    let weights = Matrix::dense(weights, seq);
    let scale = sizes.scale();
    let products = [
        (scale, dscores, k),
        (scale, dscores.t(), q),
        (1.0, weights.t(), dout),
    ];
    for (which, (scale, a, b)) in products.into_iter().enumerate() {
        let target = &mut dqkv[which * d_model + from..];
        set_product(target, 3 * d_model, scale, a, b);
    }
}

/// Replaces every row of `scores` by the softmax of the row plus its bias. Padding gets weight 0.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn softmax(scores: &mut [f32], seq: usize, bias: Option<&[f32]>, padding: Option<&[u8]>) {
    let mut start = 0;
    while start < scores.len() {
        let row = &mut scores[start..start + seq];
        if let Some(bias) = bias {
            let bias = &bias[start..start + seq];
            for i in 0..seq {
                row[i] += bias[i];
            }
        }
        if let Some(padding) = padding {
            let padding = &padding[..seq];
            for i in 0..seq {
                row[i] = if padding[i] != 0 {
                    f32::NEG_INFINITY
                } else {
                    row[i]
                };
            }
        }
        let largest = largest(row);
        for i in 0..seq {
            row[i] = exp(row[i] - largest);
        }
        let all = sum(seq, |i| row[i]);
        let by = if all > 0.0 { 1.0 / all } else { 0.0 };
        for i in 0..seq {
            row[i] *= by;
        }
        start += seq;
    }
}

/// Replaces the gradients of the weights by the gradients of the scores.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn softmax_backward(gradients: &mut [f32], weights: &[f32], seq: usize) {
    let weights = &weights[..gradients.len()];
    let mut start = 0;
    while start < gradients.len() {
        let row = &mut gradients[start..start + seq];
        let weights = &weights[start..start + seq];
        let mean = sum(seq, |i| row[i] * weights[i]);
        for i in 0..seq {
            row[i] = (row[i] - mean) * weights[i];
        }
        start += seq;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::compare;
    use crate::testing::{gradients_of, padding_of_rows, random, values};
    use burn::tensor::Device;
    use std::cell::Cell;

    thread_local! {
        /// How often [`backward_with_bias`] ran on this thread.
        pub static BIAS_GRADIENTS: Cell<usize> = const { Cell::new(0) };
    }

    const D_MODEL: usize = 24;
    const HEADS: usize = 3;

    #[test]
    fn output_and_gradients_are_those_of_burns_operations() {
        compare::attention(&Device::flex().autodiff(), attention);
    }

    #[test]
    fn output_and_gradients_with_a_bias_are_those_of_burns_operations() {
        compare::attention_with_bias(&Device::flex().autodiff(), attention);
    }

    #[test]
    fn a_constant_bias_costs_no_gradient() {
        let device = Device::flex().autodiff();
        let qkv = random([2, 9, 3 * D_MODEL], &device);
        let bias = random([1, HEADS, 9, 9], &device);
        let run = |bias: Tensor<4>| {
            let qkv = qkv.clone().require_grad();
            let y = attention(qkv.clone(), None, Some(bias), HEADS);
            BIAS_GRADIENTS.set(0);
            let gradients = gradients_of(y);
            (values(qkv.grad(&gradients).unwrap()), BIAS_GRADIENTS.get())
        };
        let (dqkv, computed) = run(bias.clone().require_grad());
        assert_eq!(computed, 1);
        // Once on the autodiff device without a gradient, once as ALiBi's bias comes.
        for constant in [bias.clone(), bias.without_autodiff()] {
            assert_eq!(run(constant), (dqkv.clone(), 0));
        }
    }

    #[test]
    fn a_bias_of_zeros_changes_no_bit() {
        let device = Device::flex();
        let qkv = random([3, 17, 3 * D_MODEL], &device);
        let zeros = Tensor::zeros([1, HEADS, 17, 17], &device);
        let padding = padding_of_rows([3, 17], &device);
        let with = |bias| values(attention(qkv.clone(), Some(&padding), bias, HEADS));
        assert_eq!(with(None), with(Some(zeros)));
    }

    #[test]
    fn the_gradient_of_a_bias_does_not_depend_on_the_number_of_threads() {
        let device = Device::flex().autodiff();
        let qkv = random([13, 29, 3 * D_MODEL], &device);
        for biases in [1, 13] {
            let bias = random([biases, HEADS, 29, 29], &device);
            let on = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                pool.unwrap().install(|| {
                    let (qkv, bias) = (qkv.clone().require_grad(), bias.clone().require_grad());
                    let y = attention(qkv.clone(), None, Some(bias.clone()), HEADS);
                    let gradients = gradients_of(y.clone());
                    let dqkv = values(qkv.grad(&gradients).unwrap());
                    [values(y), dqkv, values(bias.grad(&gradients).unwrap())]
                })
            };
            let one = on(1);
            assert_eq!(one, on(2));
            assert_eq!(one, on(5));
        }
    }
}
