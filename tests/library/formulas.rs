//! The sinusoids of other libraries, as their own code gives them: `tests/peers/values/formulas.json`.

use burn::tensor::{Bool, Tensor, TensorData};
use pe_burn::{
    Embed, Formula, Layout, Positions, RandomizedPositions, SinusoidalPositionalEncodingConfig,
    Spectrum,
};
use pe_tests::devices;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use serde::Deserialize;

use crate::{assert_says, cases, distance, random, refusal, refused, values};

#[derive(Deserialize)]
struct Case {
    peer: String,
    formula: Formula,
    d_model: usize,
    positions: Vec<usize>,
    rows: Vec<Vec<f64>>,
    exact_rows: Option<Vec<Vec<f64>>>,
}

/// Half the distance from 1 to the next float32: the largest share by which one rounding is off.
const ROUNDING: f64 = 1.0 / (1 << 24) as f64;

/// How many roundings of a peer's own float32 the angles of its rows are off by, at most.
///
/// `e^x` with `x` rounded is off by `x` roundings of its own size, and `|x|` goes up to ln 10⁴ = 9.2.
fn roundings(peer: &str) -> f64 {
    let library = peer.split([' ', '.']).next().unwrap();
    match (library, peer) {
        // In float64, the rows rounded once.
        (_, "transformers MarianSinusoidalPositionalEmbedding") => 0.0,
        // e^(−i · c), with c rounded, their product, the exponential, and its product with p.
        ("tensor2tensor" | "fairseq" | "diffusers" | "mlx" | "the" | "transformers", _) => {
            2.0 * 9.2 + 2.0
        }
        // 10 000^(i/n), with the quotient rounded, the power, its inverse, and the product.
        ("keras_hub" | "positional-encodings" | "x-transformers", _) => 9.2 + 3.0,
        // The power comes from float64; it, the quotient by the granularity and the product.
        ("torch_geometric", _) => 3.0,
        _ => panic!("how exact is {peer}?"),
    }
}

/// Ours are exact, so the difference is the peer's own error: its angles are off by some roundings,
/// and its sines by two. In float64, where a peer can do that, nothing of it is left.
#[test]
fn rows_of_every_peer() {
    let cases: Vec<Case> = cases(include_str!("../peers/values/formulas.json"));
    let mut peers: Vec<&str> = cases.iter().map(|case| case.peer.as_str()).collect();
    peers.sort_unstable();
    peers.dedup();
    assert_eq!(peers.len(), 11, "{peers:?}");
    for case in &cases {
        let spectrum = Spectrum::new(case.d_model, case.formula).unwrap();
        let frequencies = spectrum.frequencies();
        let ours: Vec<f64> = spectrum.rows_at(&case.positions).unwrap();
        assert!(case.positions.contains(&8_192));
        for (i, ours) in ours.chunks(case.d_model).enumerate() {
            let position = (case.positions[i] + spectrum.offset()) as f64;
            for (column, ours) in ours.iter().enumerate() {
                let pair = match spectrum.layout() {
                    Layout::Interleaved => column / 2,
                    // A last column of zeros belongs to none.
                    Layout::Halves if column == 2 * frequencies.len() => usize::MAX,
                    Layout::Halves => column % frequencies.len(),
                };
                let angle = position * frequencies.get(pair).unwrap_or(&0.0);
                let off = (ours - case.rows[i][column]).abs() / spectrum.amplitude();
                let bound = (2.0 + roundings(&case.peer) * angle) * ROUNDING;
                let Case { peer, formula, .. } = case;
                let place = format!("{peer} {formula:?}, width {}", case.d_model);
                let place = format!("{place}, position {position}, column {column}");
                assert!(off <= bound, "{place}: {off:e} is more than {bound:e}");
                if let Some(exact) = &case.exact_rows {
                    let off = (ours - exact[i][column]).abs() / spectrum.amplitude();
                    assert!(off <= 4e-15 * angle.max(1.0), "{place}: {off:e} in float64");
                }
            }
        }
    }
    let exact = cases.iter().filter(|case| case.exact_rows.is_some());
    assert!(exact.count() > cases.len() / 2);
}

#[test]
fn the_module_adds_the_rows_of_its_formula() {
    for device in devices() {
        for formula in [
            Formula::TENSOR2TENSOR,
            Formula::FAIRSEQ,
            Formula::Marian {},
            Formula::MLX,
            Formula::DIFFUSERS,
            Formula::TORCH_GEOMETRIC,
            Formula::KERAS,
        ] {
            let config = SinusoidalPositionalEncodingConfig::new(6).with_formula(formula);
            let pe = config.clone().with_max_len(10).init(&device);
            let rows: Vec<f32> = Spectrum::new(6, formula).unwrap().rows(0..20).unwrap();
            let encoded = |start, seq| values(pe.encode(&Positions::from(start), seq).unwrap());
            assert_eq!(encoded(0, 20), rows);
            assert_eq!(encoded(3, 5), rows[18..48]);
            let x = random([2, 20, 6], &device);
            let sum = x.clone() + pe.encode(&Positions::default(), 20).unwrap();
            assert_eq!(distance(pe.forward(x), sum), 0.0);
            // Another order of the same columns.
            let interleaved = config.with_layout(Layout::Interleaved).init(&device);
            let row = values(interleaved.encode(&Positions::from(7), 1).unwrap());
            let (own, halves) = (&rows[42..48], pe.spectrum().layout() == Layout::Halves);
            let expected = match halves {
                true => [own[0], own[3], own[1], own[4], own[2], own[5]],
                false => own.try_into().unwrap(),
            };
            assert_eq!(row, expected);
        }
    }
}

/// In fairseq and in the models that come from it.
#[test]
fn padded_tokens_of_fairseq_have_zeros_and_move_no_other() {
    for device in devices() {
        let config = SinusoidalPositionalEncodingConfig::new(8).with_formula(Formula::FAIRSEQ);
        let pe = config.init(&device);
        let real = [
            [false, false, true, true, true],
            [true, true, true, true, false],
        ];
        let real = Tensor::<2, Bool>::from_data(real, &device);
        let rows = values(pe.encode(&Positions::from_token_mask(real), 5).unwrap());
        let plain = values(pe.encode(&Positions::default(), 5).unwrap());
        let zeros = vec![0.0; 8];
        let left = [zeros.clone(), zeros.clone(), plain[..24].to_vec()].concat();
        let right = [plain[..32].to_vec(), zeros].concat();
        assert_eq!(rows, [left, right].concat());
    }
}

/// Which tokens are padding is kept for every kind of positions.
#[test]
fn padding_has_zeros_at_positions_from_the_host_too() {
    for device in devices() {
        let config = SinusoidalPositionalEncodingConfig::new(8).with_formula(Formula::FAIRSEQ);
        let pe = config.init(&device);
        let mask = |rows: &[[bool; 4]]| {
            let data = TensorData::new(rows.concat(), [rows.len(), 4]);
            Tensor::<2, Bool>::from_data(data, &device)
        };
        let one = [[true, false, false, true]];
        let two = [[true, false, false, true], [false, false, true, true]];
        let draw = RandomizedPositions::new(100).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let drawn = draw.draw(&[2, 4], 4, &mut rng).unwrap();
        let of_drawn = [[false, false, true, true], [false; 4]];
        let times = [[0.5, 1.5, 2.5, 3.5]];
        let starts = Positions::from_starts([3, 70]);
        let row = Positions::from_id_rows(&[[9, 8, 7, 6]]).unwrap();
        let ids = Tensor::from_ints([[9, 8, 7, 6], [1, 1, 2, 2]], &device);
        for (positions, padding) in [
            (Positions::from(3).with_mask_pad(mask(&two)), &two[..]),
            (starts.clone().with_mask_pad(mask(&one)), &[one[0]; 2]),
            (starts.with_mask_pad(mask(&two)), &two),
            (row.clone().with_mask_pad(mask(&one)), &one),
            // A mask with more rows than the positions.
            (row.with_mask_pad(mask(&two)), &two),
            (
                Positions::from_ids(ids).unwrap().with_mask_pad(mask(&two)),
                &two,
            ),
            (
                Positions::from_time_rows(&times)
                    .unwrap()
                    .with_mask_pad(mask(&two)),
                &two,
            ),
            (drawn.clone(), &of_drawn),
            (drawn.with_mask_pad(mask(&two)), &two),
        ] {
            let about = format!("{device:?} {positions:?}");
            let unpadded = positions.clone().with_mask_pad(mask(&[[false; 4]]));
            let unpadded = pe.encode(&unpadded, 4).unwrap();
            let batch = padding.len();
            let unpadded = values(unpadded.expand([batch, 4, 8]));
            let expected: Vec<f32> = unpadded
                .chunks(8)
                .zip(padding.concat())
                .flat_map(|(row, is_padding)| match is_padding {
                    true => vec![0.0; 8],
                    false => row.to_vec(),
                })
                .collect();
            assert_ne!(expected, unpadded, "{about}");
            let encoding = pe.encode(&positions, 4).unwrap();
            assert_eq!(encoding.dims(), [batch, 4, 8], "{about}");
            assert_eq!(values(encoding.clone()), expected, "{about}");
            let x = random([2, 4, 8], &device);
            let sum = x.clone() + encoding.expand([2, 4, 8]);
            assert_eq!(distance(pe.embed(x, &positions), sum), 0.0, "{about}");
        }
        // A mask for other sizes is refused.
        refused! {
            |bad| pe.encode(&bad.0.with_mask_pad(mask(&two)), bad.1);
            (Positions::from_id_rows(&[[1, 2, 3], [1, 2, 3]]).unwrap(), 3) =>
                "the padding mask has shape [2, 4], but the input needs [2, 3]",
            (Positions::from_starts([1, 2, 3]), 4) =>
                "there are 2 rows in the padding mask for a batch of 3 rows",
        }
    }
}

/// The base belongs to the paper's formula, so there is no base beside another one.
#[test]
fn a_base_replaces_the_formula() {
    let config = SinusoidalPositionalEncodingConfig::new(8)
        .with_formula(Formula::MLX)
        .with_base(500.0);
    assert_eq!(config.formula, Formula::Paper { base: 500.0 });
    let json = r#"{"d_model": 8, "formula": {"name": "marian"}, "base": 500.0}"#;
    let read = serde_json::from_str::<SinusoidalPositionalEncodingConfig>(json);
    assert_says(&refusal(read), "unknown field `base`, …");
}
