//! Attention `softmax(q kᵀ / √d_head + bias) v` in several heads (Vaswani et al. 2017, section 3.2;
//! the bias is not in the paper), and its gradients.
//!
//! A row of `qkv` holds query, key and value of a token, as one projection writes them; queries and keys may be wider than values.
//! The heads are read in place: nothing is transposed or copied.
//!
//! | module | |
//! |---|---|
//! | `whole` | short sequences: the attention weights are stored for the backward pass |
//! | `tiles` | long sequences: a block of queries at a time, and the backward pass computes the weights again |
//! | `cached` | new tokens and those of a cache, without gradients |
//! | `parts` | the inputs as slices, and which keys a query attends to |
//! | `softmax` | the softmax of a row of scores, with bias and masks, and its gradient |

mod cached;
mod parts;
mod softmax;
mod tiles;
mod whole;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;
use pe_burn::autodiff::{Operand, Operation, apply};

pub use cached::cached_attention;

use super::products::column_sums;
use super::{contiguous, elements, tensor, tensor_like};
use crate::kernels::bias::Bias;
use crate::plain::Mask;
use parts::{BiasParts, Parts, Sees, Sizes};

/// The longest sequence whose attention weights are stored.
const WHOLE: usize = 128;

/// As [`plain::attention`](crate::plain::attention), except that a token without a token to attend to gets 0, and so does a weight
/// below e^-50 of the largest. `heads` are their number and the width of the values of each. The scores are multiplied by a factor
/// before the bias is added. The bias may also be one number for each distance, `[1, heads, 1, 2 · seq − 1]`, or for each token,
/// `[1 or batch, heads, 1, seq]`, of which a pair adds that of the key less that of the query.
pub fn attention(
    qkv: Tensor<3>,
    mask: Mask<'_>,
    (factor, bias): (f64, Option<Tensor<4>>),
    heads: [usize; 2],
) -> Tensor<3> {
    let [batch, seq, width] = qkv.dims();
    let sees = Sees {
        causal: mask.causal,
        window: mask.window,
    };
    let sizes = Sizes::new(seq, width, heads, sees).scaled(factor);
    let padding = mask.padding.map(|padding| {
        let padding = padding.clone().without_autodiff();
        let padding = padding.try_into_primitive::<Flex>();
        contiguous(padding.expect("a mask on the device of the tensor that it masks"))
    });
    let compute = |qkv: FlexTensor, bias: Option<FlexTensor>| {
        let inputs = Inputs {
            qkv,
            padding,
            bias,
            sizes,
        };
        let (y, saved) = match seq <= WHOLE {
            true => {
                let [y, weights] = whole::forward(inputs.parts());
                (y, Saved::Weights(weights))
            }
            false => {
                let (y, sums) = tiles::forward(inputs.parts());
                (y, Saved::Sums(sums))
            }
        };
        let y = tensor(y, [batch, seq, sizes.d_model]);
        (y, Attention { inputs, saved })
    };
    match Bias::new(bias) {
        Bias::None => apply([Operand::of(qkv)], |[qkv]| compute(contiguous(qkv), None)),
        Bias::Constant(bias) => apply([Operand::of(qkv)], |[qkv]| {
            compute(contiguous(qkv), Some(contiguous(bias)))
        }),
        Bias::Tracked(bias) => apply([Operand::of(qkv), bias], |inputs| {
            let [qkv, bias] = inputs.map(contiguous);
            let (y, attention) = compute(qkv, Some(bias.clone()));
            (y, WithBias { attention, bias })
        }),
    }
    .tensor()
}

/// The inputs, kept for the backward pass.
#[derive(Clone, Debug)]
struct Inputs {
    qkv: FlexTensor,
    padding: Option<FlexTensor>,
    bias: Option<FlexTensor>,
    sizes: Sizes,
}

impl Inputs {
    fn parts(&self) -> Parts<'_> {
        let qkv = elements(&self.qkv);
        let tokens = qkv.len() / self.sizes.width();
        Parts {
            qkv,
            padding: self
                .padding
                .as_ref()
                .map(|all| &all.storage::<u8>()[..tokens]),
            bias: self.bias.as_ref().map(|bias| {
                let numbers = elements(bias);
                match bias.layout().shape().dims() {
                    // One token has one pair, whose weight is 1 whatever its bias.
                    [_, _, queries, _] if queries == self.sizes.seq => BiasParts::Pairs(numbers),
                    [_, _, _, tokens] if tokens == self.sizes.seq => BiasParts::Tokens(numbers),
                    [..] => BiasParts::Distances(numbers),
                }
            }),
            sizes: self.sizes,
        }
    }
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct Attention {
    inputs: Inputs,
    saved: Saved,
}

/// What is stored of the attention weights.
#[derive(Clone, Debug)]
enum Saved {
    /// `[batch, heads, seq, seq]`: all of them.
    Weights(Vec<f32>),
    /// `[batch, heads, seq]`: the two numbers of each row from which its weights are computed again.
    Sums(Vec<[f32; 2]>),
}

impl Attention {
    /// The gradient of `qkv`, from that of the output. `dbias` gets the gradient of the bias, for each sequence.
    fn backward(self, dy: FlexTensor, dbias: Option<&mut Vec<f32>>) -> FlexTensor {
        let Self { inputs, saved } = self;
        let dy = contiguous(dy);
        let dy = elements(&dy);
        let dqkv = match saved {
            Saved::Weights(weights) => whole::backward(inputs.parts(), &weights, dy, dbias),
            Saved::Sums(sums) => tiles::backward(inputs.parts(), &sums, dy, dbias),
        };
        tensor_like(dqkv, &inputs.qkv)
    }
}

impl Operation<Flex, 1> for Attention {
    fn backward(self, dy: FlexTensor) -> [FlexTensor; 1] {
        [Attention::backward(self, dy, None)]
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
        let Self { attention, bias } = self;
        #[cfg(test)]
        tests::BIAS_GRADIENTS.with(|count| count.set(count.get() + 1));
        let mut dbias = Vec::new();
        let dqkv = attention.backward(dy, Some(&mut dbias));
        // The gradient of one bias for all sequences is the sum over the sequences.
        let numbers = elements(&bias).len();
        if numbers < dbias.len() {
            dbias = column_sums(&dbias, numbers);
        }
        [dqkv, tensor_like(dbias, &bias)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::compare;
    use crate::testing::{difference, gradients_of, padding_of_rows, random, values};
    use burn::tensor::Device;
    use std::cell::Cell;

    thread_local! {
        /// How often [`backward_with_bias`] ran on this thread.
        pub static BIAS_GRADIENTS: Cell<usize> = const { Cell::new(0) };
    }

    const D_MODEL: usize = 24;
    const HEADS: usize = 3;

    /// [`super::attention`] without a factor of the scores, as for most schemes.
    fn attention(
        qkv: Tensor<3>,
        mask: Mask<'_>,
        bias: Option<Tensor<4>>,
        heads: usize,
    ) -> Tensor<3> {
        super::attention(qkv, mask, (1.0, bias), [heads, D_MODEL / HEADS])
    }

    #[test]
    fn output_and_gradients_are_those_of_burns_operations() {
        compare::attention(&Device::flex().autodiff(), &attention);
    }

    #[test]
    fn local_attention_is_that_of_burns_operations() {
        compare::local_attention(&Device::flex().autodiff(), &attention);
    }

    /// A strip has the output and the gradients of the pairs that `spread` makes of it: in one piece and in blocks, in a window and
    /// without.
    fn assert_is_spread(
        strip: impl Fn(usize, usize) -> [usize; 4],
        spread: impl Fn(Tensor<4>, usize) -> Tensor<4>,
    ) {
        let device = Device::flex().autodiff();
        for ([batch, seq], window) in [
            ([1, 2], None),
            ([3, 9], None),
            ([2, 150], None),
            ([2, 150], Some(70)),
        ] {
            let qkv = random([batch, seq, 3 * D_MODEL], &device);
            let strip = random(strip(batch, seq), &device);
            let mask = Mask {
                causal: true,
                window,
                ..Mask::default()
            };
            let run = |spread: &dyn Fn(Tensor<4>) -> Tensor<4>| {
                let (qkv, strip) = (qkv.clone().require_grad(), strip.clone().require_grad());
                let y = attention(qkv.clone(), mask, Some(spread(strip.clone())), HEADS);
                let gradients = gradients_of(y.clone());
                let of_strip = values(strip.grad(&gradients).unwrap());
                (values(y), values(qkv.grad(&gradients).unwrap()), of_strip)
            };
            let (expected, got) = (run(&|strip| spread(strip, seq)), run(&|strip| strip));
            assert_eq!((&expected.0, &expected.1), (&got.0, &got.1));
            assert!(difference(&expected.2, &got.2) < 2e-6, "{batch} × {seq}");
        }
    }

    #[test]
    fn a_bias_of_distances_is_that_of_their_pairs() {
        let rows = |strip: Tensor<4>, seq| {
            let row = |i: usize| strip.clone().narrow(3, seq - 1 - i, seq);
            Tensor::cat((0..seq).map(row).collect(), 2)
        };
        assert_is_spread(|_, seq| [1, HEADS, 1, 2 * seq - 1], rows);
    }

    #[test]
    fn a_bias_of_tokens_is_that_of_their_pairs() {
        let less = |strip: Tensor<4>, _| strip.clone() - strip.swap_dims(2, 3);
        assert_is_spread(|_, seq| [1, HEADS, 1, seq], less);
        assert_is_spread(|batch, seq| [batch, HEADS, 1, seq], less);
    }

    #[test]
    fn a_constant_bias_costs_no_gradient() {
        let device = Device::flex().autodiff();
        let qkv = random([2, 9, 3 * D_MODEL], &device);
        let bias = random([1, HEADS, 9, 9], &device);
        let run = |bias: Tensor<4>| {
            let qkv = qkv.clone().require_grad();
            let y = attention(qkv.clone(), Mask::default(), Some(bias), HEADS);
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
        let mask = Mask {
            padding: Some(&padding),
            ..Mask::default()
        };
        let with = |bias| values(attention(qkv.clone(), mask, bias, HEADS));
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
                    let y = attention(qkv.clone(), Mask::default(), Some(bias.clone()), HEADS);
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
