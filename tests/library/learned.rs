//! The learned embedding, on every backend in the build.

use burn::module::Param;
use burn::tensor::{Bool, Device, Tensor, TensorData};
use pe_burn::embedding::{InputScale, TableInit};
use pe_burn::{
    AlibiConfig, Bias, Embed, Formula, LearnedPositionalEmbeddingConfig, PositionError, Positions,
    RandomizedPositions, SinusoidalPositionalEncodingConfig,
};
use pe_tests::devices;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{distance, random, same_with_autodiff_on_and_off, tensor, values};

#[test]
fn every_source_of_positions_picks_its_rows() {
    for device in devices() {
        let pe = LearnedPositionalEmbeddingConfig::new(3, 12)
            .with_input_scale(InputScale::Factor(0.5))
            .init(&device);
        let weight = values(pe.weight.val());
        let x = random([2, 3, 3], &device);
        let mask = [[false, true, true], [true, true, true]];
        for positions in [
            Positions::default(),
            Positions::from(9),
            Positions::from_starts([9, 2]),
            Positions::from_id_rows(&[[11, 0, 11], [4, 3, 2]]).unwrap(),
            Positions::from_token_mask(Tensor::from_data(mask, &device)),
            Positions::from_segment_ids(Tensor::from_ints([[1, 2, 2], [1, 1, 1]], &device)),
        ] {
            let encoding = pe.encode(&positions, 3).unwrap();
            let expected: Vec<f32> = positions
                .to_rows(3)
                .unwrap()
                .concat()
                .iter()
                .flat_map(|p| weight[p * 3..p * 3 + 3].to_vec())
                .collect();
            assert_eq!(
                values(encoding.clone()),
                expected,
                "{device:?} {positions:?}"
            );
            let y = pe.embed(x.clone(), &positions);
            assert_eq!(distance(y, x.clone() * 0.5 + encoding), 0.0);
        }
    }
}

#[test]
fn positions_past_the_table_are_refused() {
    let device = Device::flex();
    let pe = LearnedPositionalEmbeddingConfig::new(3, 4).init(&device);
    for (positions, seq, position) in [
        (Positions::default(), 5, 4),
        (Positions::from(4), 1, 4),
        (Positions::from_starts([0, 3]), 2, 4),
        (Positions::from_id_rows(&[[7, 0]]).unwrap(), 2, 7),
        (
            Positions::from_token_mask(Tensor::from_data([[true; 6]], &device)),
            6,
            5,
        ),
    ] {
        let error = pe.encode(&positions, seq).unwrap_err();
        let max_len = 4;
        assert_eq!(error, PositionError::TooLong { position, max_len });
        let x = Tensor::zeros([positions.to_rows(seq).unwrap().len(), seq, 3], &device);
        assert_eq!(pe.try_embed(x, &positions).unwrap_err(), error);
    }
    // Six tokens of which four are real fit.
    let mask = Positions::from_token_mask(Tensor::from_data(
        [[false, false, true, true, true, true]],
        &device,
    ));
    assert_eq!(pe.encode(&mask, 6).unwrap().dims(), [1, 6, 3]);
}

/// Backends have different types for masks and for the integers that are counted from them.
#[test]
fn a_mask_on_another_device() {
    let kinds = |device: &Device| {
        let mask = Tensor::from_data([[false, true, true], [true, true, false]], device);
        let segments = Tensor::from_data([[1, 1, 2], [3, 4, 4]], device);
        [
            Positions::from_token_mask(mask),
            Positions::from_segment_ids(segments),
        ]
    };
    let devices = devices();
    for here in &devices {
        let pe = LearnedPositionalEmbeddingConfig::new(2, 3)
            .with_padding_index(1)
            .init(here);
        let zeros = SinusoidalPositionalEncodingConfig::new(4)
            .with_formula(Formula::FAIRSEQ)
            .init(here);
        let alibi = AlibiConfig::new(2).init(here);
        let all = |at: Positions| {
            [
                values(pe.encode(&at, 3).unwrap()),
                values(zeros.encode(&at, 3).unwrap()),
                values(alibi.bias((&at, 3), (&at, 3))),
            ]
        };
        let expected = kinds(here).map(all);
        for there in &devices {
            assert_eq!(kinds(there).map(all), expected, "{there:?} to {here:?}");
        }
    }
}

/// As in fairseq and RoBERTa: real tokens start after the padding row, which no gradient reaches.
#[test]
fn padding_has_the_padding_row_and_no_gradient() {
    for device in devices() {
        let device = device.autodiff();
        for init in [TableInit::default(), TableInit::Sinusoidal] {
            let pe = LearnedPositionalEmbeddingConfig::new(2, 3)
                .with_padding_index(1)
                .with_init(init)
                .init(&device);
            assert_eq!(pe.weight.dims(), [5, 2]);
            let weight = values(pe.weight.val());
            assert_eq!(weight[2..4], [0.0, 0.0]);

            let mask = Tensor::from_data([[false, true, true], [true, true, true]], &device);
            let positions = Positions::from_token_mask(mask);
            let rows = pe.encode(&positions, 3).unwrap();
            let picked: Vec<f32> = [1, 2, 3, 2, 3, 4]
                .iter()
                .flat_map(|row| weight[row * 2..row * 2 + 2].to_vec())
                .collect();
            assert_eq!(values(rows.clone()), picked);
            let gradients = rows.sum().backward();
            let gradient = values(pe.weight.grad(&gradients).unwrap());
            assert_eq!(gradient, [0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0]);

            // Without a mask positions are offset all the same.
            let rows = pe.encode(&Positions::from(1), 2).unwrap();
            assert_eq!(values(rows), weight[6..]);
            let ids = Positions::from_id_rows(&[[2, 0]]).unwrap();
            let rows = pe.encode(&ids, 2).unwrap();
            assert_eq!(values(rows), [&weight[8..], &weight[4..6]].concat());
            let error = pe.encode(&Positions::default(), 4).unwrap_err();
            let (position, max_len) = (3, 3);
            assert_eq!(error, PositionError::TooLong { position, max_len });
        }
    }
}

/// Which tokens are padding is kept for every kind of positions.
#[test]
fn the_padding_row_is_used_at_positions_from_the_host_too() {
    for device in devices() {
        let device = device.autodiff();
        let mut pe = LearnedPositionalEmbeddingConfig::new(2, 9)
            .with_padding_index(1)
            .init(&device);
        // A padding row that is not zeros, so that it can be told from no row at all.
        let table: Vec<f32> = (0..22).map(|i| i as f32).collect();
        pe.weight = Param::from_tensor(tensor(&table, [11, 2], &device));
        let mask = |rows: &[[bool; 3]]| {
            let data = TensorData::new(rows.concat(), [rows.len(), 3]);
            Tensor::<2, Bool>::from_data(data, &device)
        };
        let two = [[true, false, false], [false, false, true]];
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let draw = RandomizedPositions::new(9).unwrap();
        let drawn = draw.draw(&[1, 3], 3, &mut rng).unwrap();
        let marked = [
            Positions::from(4),
            Positions::from_starts([4, 0]),
            Positions::from_id_rows(&[[4, 0, 3], [8, 2, 2]]).unwrap(),
            // A mask with more rows than the positions.
            Positions::from_id_rows(&[[4, 0, 3]]).unwrap(),
        ];
        let marked = marked.map(|positions| (positions.with_mask_pad(mask(&two)), two));
        let drawn = (drawn, [[false, true, true], [false; 3]]);
        for (positions, padding) in marked.into_iter().chain([drawn]) {
            let about = format!("{device:?} {positions:?}");
            let rows = positions.to_rows(3).unwrap();
            let rows = rows.iter().cycle().take(2).flatten();
            let picked: Vec<usize> = rows
                .zip(padding.concat())
                .map(|(position, is_padding)| if is_padding { 1 } else { position + 2 })
                .collect();
            let expected: Vec<f32> = picked
                .iter()
                .flat_map(|row| [2.0 * *row as f32, 2.0 * *row as f32 + 1.0])
                .collect();
            let rows = pe.encode(&positions, 3).unwrap();
            assert_eq!(values(rows.clone()), expected, "{about}");
            let x = random([2, 3, 2], &device);
            let y = pe.embed(x.clone(), &positions);
            assert_eq!(distance(y.clone(), x + rows), 0.0, "{about}");

            let gradients = y.sum().backward();
            let gradient = values(pe.weight.grad(&gradients).unwrap());
            let uses = |row: usize| picked.iter().filter(|other| **other == row).count() as f32;
            let expected: Vec<f32> = (0..11)
                .flat_map(|row| [if row == 1 { 0.0 } else { uses(row) }; 2])
                .collect();
            assert_eq!(gradient, expected, "{about}");
        }
    }
}

#[test]
fn autodiff_on_and_off() {
    let config = LearnedPositionalEmbeddingConfig::new(4, 5).with_init(TableInit::Sinusoidal);
    same_with_autodiff_on_and_off(|device| config.init(device), 4);
}
