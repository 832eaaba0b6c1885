//! One type says which position each token has, for every encoding.

use burn::tensor::{Bool, Device, Int, Tensor};
use pe_burn::{Embed, PositionError, Positions, SinusoidalPositionalEncodingConfig};

fn main() -> Result<(), PositionError> {
    let device = Device::flex();
    let pe = SinusoidalPositionalEncodingConfig::new(8).init(&device);
    let x = Tensor::<3>::zeros([2, 6, 8], &device);

    // Decoding with a cache of 128 tokens, the same in every row ...
    let token = Tensor::<3>::zeros([2, 1, 8], &device);
    let cached = Positions::from(128);
    show("cached decoding", &cached, 1)?;
    pe.embed(token.clone(), &cached);

    // ... and with rows that have come to different lengths.
    let ragged = Positions::from_starts([128, 17]);
    show("one start per row", &ragged, 1)?;
    pe.embed(token, &ragged);

    // Left padding: real tokens are counted, so that a padded row encodes as it would unpadded.
    let real = Tensor::<2, Bool>::from_data(
        [
            [false, false, true, true, true, true],
            [true, true, true, true, true, true],
        ],
        &device,
    );
    let padded = Positions::from_token_mask(real);
    show("left padding", &padded, 6)?;
    pe.embed(x.clone(), &padded);

    // Packing: positions restart with each document.
    let documents = Tensor::<2, Int>::from_ints([[1, 1, 1, 2, 2, 2], [1, 2, 2, 2, 2, 3]], &device);
    let packed = Positions::from_segment_ids(documents);
    show("packed documents", &packed, 6)?;
    pe.embed(x.clone(), &packed);

    // Anything else. Far positions are as exact as near ones, and cost no table.
    let ids = Positions::from_id_rows(&[[0, 0, 7, 7, 1_000_000, 16_777_215]])?;
    show("explicit ids", &ids, 6)?;
    pe.embed(x, &ids);

    // Positions that do not fit the input are an error that names both shapes.
    let wrong = pe.encode(&padded, 5).unwrap_err();
    println!("\na mask of the wrong length: {wrong}");
    Ok(())
}

fn show(name: &str, positions: &Positions, seq: usize) -> Result<(), PositionError> {
    println!("{name:18} {:?}", positions.to_rows(seq)?);
    Ok(())
}
