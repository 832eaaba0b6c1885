//! Queries, keys and values side by side, and what a scheme reads of them.

use burn::tensor::Tensor;

#[cfg(feature = "flex")]
use super::flex;
use crate::plain;

/// Queries, keys and values as one projection writes them, for [`attention`](super::attention), and parts of it for a scheme.
pub(crate) struct Projection {
    pub qkv: Tensor<3>,
    /// The number of heads, and the width of the values of each.
    pub heads: [usize; 2],
    parts: Parts,
}

enum Parts {
    /// They are copied when a scheme asks for them.
    Copies,
    /// Views of the projection. Their gradients come to it with that of the attention.
    #[cfg(feature = "flex")]
    Views(flex::Views),
    /// The queries, keys and values that the projection was made from.
    Given(Box<[Tensor<4>; 3]>),
}

impl Projection {
    /// A projection of queries, keys and values that are equally wide.
    pub fn new(qkv: Tensor<3>, heads: usize) -> Self {
        let heads = [heads, qkv.dims()[2] / 3 / heads];
        let parts = Parts::Copies;
        Self { qkv, heads, parts }
    }

    /// As [`new`](Self::new), on Flex without gradient checkpointing.
    #[cfg(feature = "flex")]
    pub fn viewed(qkv: Tensor<3>, heads: usize) -> Self {
        let (qkv, views) = flex::viewed(qkv);
        Self {
            parts: Parts::Views(views),
            ..Self::new(qkv, heads)
        }
    }

    /// A projection made from queries and keys that may be wider than the values, `[batch, heads, seq, width]` each, for
    /// kernels that [take them](super::Kernels::take_all_forms).
    pub fn of_parts(parts: [Tensor<4>; 3]) -> Self {
        let [_, heads, _, d_head] = parts[2].dims();
        Self {
            qkv: Tensor::cat(parts.clone().map(plain::join_heads).into(), 2),
            heads: [heads, d_head],
            parts: Parts::Given(Box::new(parts)),
        }
    }

    /// The queries (0), keys (1) or values (2), as [`plain::split_heads`] gives them.
    pub fn part(&self, which: usize) -> Tensor<4> {
        let [heads, _] = self.heads;
        match &self.parts {
            Parts::Copies => plain::split_heads(self.qkv.clone(), heads)[which].clone(),
            #[cfg(feature = "flex")]
            Parts::Views(views) => views.heads_of(self.qkv.clone(), which, heads),
            Parts::Given(parts) => parts[which].clone(),
        }
    }
}
