//! What is added to an input or rotates it: a tensor, or rows of a table that a kernel reads in place.

use alloc::borrow::Cow;
use alloc::boxed::Box;

use burn::tensor::module::embedding;
use burn::tensor::{DType, Int, Tensor};

use crate::tensor::indices_in;

/// The right-hand side of a sum or of a rotation, `[1 or batch, seq, d_model]`.
///
/// Rows of a constant table `[1, rows, d_model]` are not copied out of it here, so that a kernel can
/// read them from the table.
#[derive(Clone)]
pub(crate) enum Addend<'a> {
    Tensor(Tensor<3>),
    /// `seq` consecutive rows of a table from row `start` on.
    Slice {
        table: Tensor<3>,
        start: usize,
        seq: usize,
    },
    /// The rows `ids` of a table: `seq` ids that serve the whole batch, or `seq` per row of it.
    Gather {
        table: Tensor<3>,
        ids: Cow<'a, [usize]>,
        seq: usize,
    },
    /// The rows of a table by ids that lie on its device, `[1 or batch, seq]`. Boxed, so that this enum stays small:
    /// every decoding step moves one.
    GatherOnDevice {
        table: Tensor<3>,
        ids: Box<Tensor<2, Int>>,
    },
}

impl Addend<'_> {
    #[inline] // keeps a decoding step fast
    pub fn into_tensor(self) -> Tensor<3> {
        match self {
            Self::Tensor(tensor) => tensor,
            Self::Slice { table, start, seq } => table.slice([0..1, start..start + seq]),
            Self::Gather { table, ids, seq } => {
                let rows = indices_in(&ids, [ids.len() / seq, seq], &table.device());
                embedding(table.squeeze_dim(0), rows)
            }
            Self::GatherOnDevice { table, ids } => embedding(table.squeeze_dim(0), *ids),
        }
    }

    /// The shape: `[1 or batch, seq, width]`.
    pub fn dims(&self) -> [usize; 3] {
        match self {
            Self::Tensor(tensor) => tensor.dims(),
            Self::Slice { table, seq, .. } => [1, *seq, table.dims()[2]],
            Self::Gather { table, ids, seq } => [ids.len() / seq, *seq, table.dims()[2]],
            Self::GatherOnDevice { table, ids } => {
                let [batch, seq] = ids.dims();
                [batch, seq, table.dims()[2]]
            }
        }
    }

    /// Whether the rows are computed from parameters and so need a gradient. The kernels that rotate compute no gradient
    /// of the rows.
    #[cfg(any(feature = "flex", feature = "cube"))]
    #[inline]
    pub fn is_tracked(&self) -> bool {
        matches!(self, Self::Tensor(tensor) if tensor.is_tracked())
    }

    pub fn dtype(&self) -> DType {
        match self {
            Self::Tensor(table)
            | Self::Slice { table, .. }
            | Self::Gather { table, .. }
            | Self::GatherOnDevice { table, .. } => table.dtype(),
        }
    }
}

impl From<Tensor<3>> for Addend<'_> {
    fn from(tensor: Tensor<3>) -> Self {
        Self::Tensor(tensor)
    }
}
