//! What is added to an input, before it is taken out of the table that it lies in.

use alloc::borrow::Cow;

use burn::tensor::module::embedding;
use burn::tensor::{DType, Tensor};

use crate::index::index_tensor;

/// What is added, `[1 or batch, seq, d_model]`: a tensor, or rows of a constant table
/// `[1, rows, d_model]` where they lie, for a kernel to read them there.
pub(crate) enum Encoding<'a> {
    Whole(Tensor<3>),
    /// `seq` rows from one on.
    Run {
        table: Tensor<3>,
        start: usize,
        seq: usize,
    },
    /// The rows of `seq` ids for all sequences, or for each, one after the other.
    Picked {
        table: Tensor<3>,
        ids: Cow<'a, [usize]>,
        seq: usize,
    },
}

impl Encoding<'_> {
    #[inline] // a decoding step feels the call
    pub fn tensor(self) -> Tensor<3> {
        match self {
            Self::Whole(encoding) => encoding,
            Self::Run { table, start, seq } => table.slice([0..1, start..start + seq]),
            Self::Picked { table, ids, seq } => {
                let ids = index_tensor(&ids, seq, &table.device());
                embedding(table.squeeze_dim(0), ids)
            }
        }
    }

    pub fn dtype(&self) -> DType {
        match self {
            Self::Whole(table) | Self::Run { table, .. } | Self::Picked { table, .. } => {
                table.dtype()
            }
        }
    }
}
