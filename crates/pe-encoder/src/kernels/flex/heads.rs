//! The queries, keys or values of a projection, for schemes that compute with them.
//!
//! Burn's operations copy them. In the backward pass they copy the gradients into tensors of zeros, and copy those again.
//! Here they are views, and their gradients are added to the gradient that the projection gets from attention.

use std::sync::{Arc, Mutex, PoisonError};

use burn::backend::Flex;
use burn::backend::flex::{FlexTensor, Layout};
use burn::tensor::{Shape, Tensor};
use pe_burn::autodiff::{Kept, Operand, Operation, apply, view};
use pe_burn::threads;

use super::{contiguous, elements};

/// The gradients of views, each with the part that it is of.
type Gradients = Arc<Mutex<Vec<(Part, FlexTensor)>>>;

/// Makes views of the parts of a projection, and keeps their gradients until the gradient of the whole projection is
/// known.
#[derive(Debug)]
pub struct Views(Gradients);

/// The projection, with what makes views of it. Their gradients are added to its own.
pub fn viewed(qkv: Tensor<3>) -> (Tensor<3>, Views) {
    let gradients = Gradients::default();
    let kept = Viewed(gradients.clone());
    let qkv = apply([Operand::of(qkv)], |[qkv]: [FlexTensor; 1]| {
        (contiguous(qkv), kept)
    });
    (qkv.tensor(), Views(gradients))
}

impl Views {
    /// The queries (0), keys (1) or values (2) of [`viewed`] as [`plain::split_heads`](crate::plain::split_heads) gives them. They
    /// share the memory of the projection.
    pub fn heads_of(&self, qkv: Tensor<3>, which: usize, heads: usize) -> Tensor<4> {
        let [batch, seq, width] = qkv.dims();
        let (d_model, d_head) = (width / 3, width / 3 / heads);
        let kept = View {
            part: Part { which, heads },
            gradients: self.0.clone(),
        };
        view(Operand::of(qkv), |qkv: FlexTensor| {
            let shape = Shape::new([batch, heads, seq, d_head]);
            let strides = [seq * width, d_head, width, 1].map(|stride| stride as isize);
            let part = Layout::new(shape, strides.to_vec(), which * d_model);
            (qkv.with_layout(part), kept)
        })
        .tensor()
    }
}

#[derive(Clone, Debug)]
struct Part {
    which: usize,
    heads: usize,
}

#[derive(Clone, Debug)]
struct View {
    part: Part,
    gradients: Gradients,
}

impl Kept<Flex> for View {
    fn keep(self, gradient: FlexTensor) {
        let Self { part, gradients } = self;
        let mut gradients = gradients.lock().unwrap_or_else(PoisonError::into_inner);
        gradients.push((part, contiguous(gradient)));
    }
}

#[derive(Clone, Debug)]
struct Viewed(Gradients);

impl Operation<Flex, 1> for Viewed {
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 1] {
        let mut gradients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if gradients.is_empty() {
            return [gradient];
        }
        let mut whole = contiguous(gradient);
        let [_, seq, width] = whole.layout().shape().dims();
        let len = whole.layout().num_elements();
        let sequences = whole.storage_mut::<f32>()[..len].chunks_mut(seq * width);
        threads::for_each(sequences.enumerate(), |(sequence, whole)| {
            for (part, gradient) in gradients.iter() {
                let len = seq * width / 3;
                part.add(whole, &elements(gradient)[sequence * len..][..len], width);
            }
        });
        gradients.clear();
        [whole]
    }
}

impl Part {
    /// Adds the gradient of the part of a sequence, `[heads, seq, d_head]`, to that of the sequence, `[seq, width]`.
    fn add(&self, whole: &mut [f32], gradient: &[f32], width: usize) {
        let (d_model, d_head) = (width / 3, width / 3 / self.heads);
        let of_head = whole.len() / width * d_head;
        for (head, gradient) in gradient.chunks_exact(of_head).enumerate() {
            let first = self.which * d_model + head * d_head;
            let tokens = whole.chunks_exact_mut(width);
            for (token, gradient) in tokens.zip(gradient.chunks_exact(d_head)) {
                let sums = &mut token[first..][..d_head];
                sums.iter_mut()
                    .zip(gradient)
                    .for_each(|(sum, part)| *sum += part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use burn::tensor::Device;

    use crate::plain;
    use crate::testing::{difference, random, values};

    #[test]
    fn parts_and_their_gradients_are_those_of_burns_operations() {
        let device = Device::flex().autodiff();
        for ([batch, seq, heads, d_head], parts) in [
            ([1, 1, 1, 1], &[0][..]),
            ([2, 5, 3, 4], &[]),
            ([2, 5, 3, 4], &[0, 1]),
            ([2, 5, 3, 4], &[2, 1, 0]),
            ([2, 5, 3, 4], &[2, 2]),
            ([3, 70, 2, 8], &[2]),
        ] {
            let qkv = random([batch, seq, 3 * heads * d_head], &device).require_grad();
            let of_whole = random(qkv.dims(), &device);
            let weights = random([batch, heads, seq, d_head], &device);
            let run = |whole: Tensor<3>, part: &dyn Fn(usize) -> Tensor<4>| {
                let mut loss = (whole * of_whole.clone()).sum();
                let mut all = Vec::new();
                for which in parts {
                    let part = part(*which);
                    all.push(values(part.clone()));
                    loss = loss + (part * weights.clone()).sum();
                }
                (all, values(qkv.grad(&loss.backward()).unwrap()))
            };
            let (whole, views) = viewed(qkv.clone());
            let found = run(whole.clone(), &|which| {
                views.heads_of(whole.clone(), which, heads)
            });
            let expected = run(qkv.clone(), &|which| {
                plain::split_heads(qkv.clone(), heads)[which].clone()
            });
            assert_eq!(found.0, expected.0, "{parts:?}");
            match parts {
                // Of two views of one part the gradients are added in another order.
                [2, 2] => assert!(difference(&found.1, &expected.1) < 1e-6),
                _ => assert_eq!(found.1, expected.1, "{parts:?}"),
            }
        }
    }
}
