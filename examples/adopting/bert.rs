//! A RoBERTa-like layer: a learned table, in which padded tokens have a row of their own.

use burn::module::Param;
use burn::tensor::module::embedding;
use burn::tensor::{Bool, Device, Int, Tensor};
use pe_burn::{Embed, LearnedPositionalEmbeddingConfig, Positions};
use pe_examples::Result;

use super::{apart, random};

const D_MODEL: usize = 32;
/// The row of padded tokens; that of position 0 is the next one.
const PADDING: usize = 1;

pub fn difference(device: &Device) -> Result<f32> {
    let x = random([2, 6, D_MODEL], device);
    let table = random([PADDING + 1 + 512, D_MODEL], device);
    let mask = |rows| Tensor::<2, Bool>::from_data(rows, device); // true for padding

    // 514 rows in the file, `max_position_embeddings`, are 512 positions.
    let mut pe = LearnedPositionalEmbeddingConfig::new(D_MODEL, 512)
        .with_padding_index(PADDING)
        .try_init(device)?;
    pe.weight = Param::from_tensor(table.clone()); // or `init_from_file`

    let right = mask([[false; 6], [false, false, false, false, true, true]]);
    let ours = pe.try_embed(x.clone(), &Positions::from_mask_pad(right.clone()))?;
    let by_hand = apart(ours, x.clone() + by_index(table, right));

    // With padding on the left, ids by index are wrong. Ours count the tokens, so that a row is as it is alone.
    let left = mask([[false; 6], [true, true, false, false, false, false]]);
    let ours = pe.try_embed(x.clone(), &Positions::from_mask_pad(left))?;
    let alone = pe.forward(x.narrow(0, 1, 1).narrow(1, 2, 4));
    let padded = apart(ours.narrow(0, 1, 1).narrow(1, 2, 4), alone);
    Ok(by_hand.max(padded))
}

/// The rows of tokens by their index in the sequence, `[batch, seq, d_model]`.
fn by_index(table: Tensor<2>, mask_pad: Tensor<2, Bool>) -> Tensor<3> {
    let [batch, seq] = mask_pad.dims();
    let first = PADDING as i64 + 1;
    let ids = Tensor::<1, Int>::arange(first..first + seq as i64, &table.device());
    let ids = ids.reshape([1, seq]).expand([batch, seq]);
    embedding(table, ids.mask_fill(mask_pad, PADDING as i64))
}
