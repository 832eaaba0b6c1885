//! The queries, keys or values of a projection, for schemes that compute with them.
//!
//! With Burn's operations they are copied, and in the backward pass copied again, into zeros, from there into others.

use burn::backend::Flex;
use burn::backend::flex::{FlexTensor, Layout};
use burn::tensor::{Shape, Tensor};
use pe_burn::autodiff::{Operand, Operation, apply};
use rayon::prelude::*;

use super::{contiguous, elements, tensor};

/// As [`plain::split_heads`](crate::plain::split_heads). The parts share the memory of the projection.
pub fn split_heads(qkv: Tensor<3>, heads: usize) -> [Tensor<4>; 3] {
    [0, 1, 2].map(|which| heads_of(qkv.clone(), which, heads))
}

/// The queries (0), keys (1) or values (2).
fn heads_of(qkv: Tensor<3>, which: usize, heads: usize) -> Tensor<4> {
    let shape @ [batch, seq, width] = qkv.dims();
    let (d_model, d_head) = (width / 3, width / 3 / heads);
    let kept = HeadsOf {
        shape,
        which,
        heads,
    };
    apply([Operand::of(qkv)], |[qkv]: [FlexTensor; 1]| {
        let qkv = contiguous(qkv);
        let shape = Shape::new([batch, heads, seq, d_head]);
        let strides = [seq * width, d_head, width, 1].map(|stride| stride as isize);
        let part = Layout::new(shape, strides.to_vec(), which * d_model);
        (qkv.with_layout(part), kept)
    })
    .tensor()
}

#[derive(Clone, Debug)]
struct HeadsOf {
    /// That of the projection.
    shape: [usize; 3],
    which: usize,
    heads: usize,
}

impl Operation<Flex, 1> for HeadsOf {
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 1] {
        let gradient = contiguous(gradient);
        let gradient = elements(&gradient);
        let [_, seq, width] = self.shape;
        let (d_model, d_head) = (width / 3, width / 3 / self.heads);
        let mut of_all = vec![0.0; self.shape.iter().product()];
        let sequences = of_all.par_chunks_mut(seq * width);
        let sequences = sequences.zip(gradient.par_chunks(seq * d_model));
        sequences.for_each(|(of_all, gradient)| {
            for (head, gradient) in gradient.chunks_exact(seq * d_head).enumerate() {
                let first = self.which * d_model + head * d_head;
                let tokens = of_all.chunks_exact_mut(width);
                for (of_token, gradient) in tokens.zip(gradient.chunks_exact(d_head)) {
                    of_token[first..][..d_head].copy_from_slice(gradient);
                }
            }
        });
        [tensor(of_all, self.shape)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use burn::tensor::{Device, Distribution};

    use crate::plain;
    use crate::testing::values;

    #[test]
    fn parts_and_their_gradients_are_those_of_burns_operations() {
        let device = Device::flex().autodiff();
        for ([batch, seq, heads, d_head], which) in [
            ([1, 1, 1, 1], 0),
            ([2, 5, 3, 4], 0),
            ([2, 5, 3, 4], 1),
            ([3, 70, 2, 8], 2),
        ] {
            let shape = [batch, seq, 3 * heads * d_head];
            let qkv = Tensor::<3>::random(shape, Distribution::Default, &device).require_grad();
            let shape = [batch, heads, seq, d_head];
            let weights = Tensor::<4>::random(shape, Distribution::Default, &device);
            let [found, expected] = [split_heads, plain::split_heads].map(|split| {
                let part = split(qkv.clone(), heads)[which].clone();
                let gradients = (part.clone() * weights.clone()).sum().backward();
                [values(part), values(qkv.grad(&gradients).unwrap())]
            });
            assert_eq!(found, expected);
        }
    }
}
