//! The angles of a rotation as a graphics card takes them.

use alloc::vec::Vec; // the macro of Burn below names it

use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Backend, Cube, ExtensionType};
use burn::tensor::{Int, Tensor};

use crate::backend::Addend;
use crate::tensor::indices_in;

/// The sines and cosines of tokens, `f32`, all sines of a row before all its cosines.
#[derive(Clone, Debug, ExtensionType)]
#[extension_type(fusion)]
pub enum Angles<B: Backend> {
    /// A row for each token, `[1 or batch, seq, width]`.
    Rows { rows: FloatTensor<B> },
    /// A table, `[1, rows, width]`, and the row of each token, `[1 or batch, seq]`: the kernel reads the rows from the table.
    ById {
        table: FloatTensor<B>,
        ids: IntTensor<B>,
    },
}

impl Angles<Cube> {
    pub fn new(rows: Addend) -> Self {
        let ids_of = |table: Tensor<3>, ids: Tensor<2, Int>| Self::ById {
            table: primitive(table),
            ids: whole_numbers(ids),
        };
        match rows {
            Addend::Gather { table, ids, seq } => {
                // The kernel does not check these ids against the end of the table.
                let (last, rows) = (ids.iter().max(), table.dims()[1]);
                let is_there = last.is_none_or(|last| *last < rows);
                assert!(is_there, "row {last:?} of a table of {rows} rows");
                let on_card = indices_in(&ids, [ids.len() / seq, seq], &table.device());
                ids_of(table, on_card)
            }
            Addend::GatherOnDevice { table, ids } => ids_of(table, *ids),
            rows => Self::Rows {
                rows: primitive(rows.into_tensor()),
            },
        }
    }
}

fn primitive(rows: Tensor<3>) -> FloatTensor<Cube> {
    let rows = rows.without_autodiff().try_into_primitive::<Cube>();
    rows.expect("rows on the device of the input")
}

fn whole_numbers<const D: usize>(tensor: Tensor<D, Int>) -> IntTensor<Cube> {
    let of = tensor.try_into_primitive::<Cube>();
    of.expect("whole numbers on a graphics card")
}
