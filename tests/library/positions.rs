//! What every kind of positions means, on every backend in the build.

use burn::tensor::{Bool, DType, Device, FloatDType, Int, Tensor};
use pe_burn::{Coordinates, Embed, Grid, Positions, SinusoidalPositionalEncodingConfig};
use pe_tests::devices;

use crate::{assert_says, distance, random, refusal, values, wide};

fn rows(at: &Positions, seq: usize) -> Vec<Vec<usize>> {
    at.to_rows(seq).unwrap()
}

#[test]
fn a_start_for_every_row() {
    assert_eq!(rows(&Positions::default(), 3), [[0, 1, 2]]);
    assert_eq!(rows(&Positions::from(7), 3), [[7, 8, 9]]);
    assert_eq!(rows(&Positions::from_starts([4, 0]), 2), [[4, 5], [0, 1]]);
    assert_eq!(rows(&Positions::from(7), 0), [[0; 0]]);
}

/// For a scheme of one's own: the same numbers as lists and as a tensor, whatever kind of positions these are.
#[test]
fn a_tensor_has_the_numbers_of_every_kind() {
    let grid = Grid::image(2, 3).with_prefix(1);
    for device in devices() {
        let mask = Tensor::<2, Bool>::from_data([[false, true, true], [true, true, true]], &device);
        let segments = Tensor::<2, Int>::from_ints([[0, 0, 1]], &device);
        for at in [
            Positions::default(),
            Positions::from(1 << 20),
            Positions::from_starts([4, 0]),
            Positions::from_id_rows(&[[3, 1, 2], [0, 0, 7]]).unwrap(),
            Positions::from_token_mask(mask),
            Positions::from_segment_ids(segments),
        ] {
            let lists = rows(&at, 3);
            let got = at.to_tensor(3, &device).unwrap();
            assert_eq!(got.dims(), [lists.len(), 3]);
            let lists: Vec<f32> = lists.iter().flatten().map(|id| *id as f32).collect();
            assert_eq!(values(got), lists, "{device:?}");
            let coordinates = at.to_coordinates(3, &device).unwrap();
            assert_eq!((coordinates.dims()[2], values(coordinates)), (1, lists));
        }
        let times = Positions::from_time_rows(&[[0.5, -2.25]]).unwrap();
        assert_eq!(values(times.to_tensor(2, &device).unwrap()), [0.5, -2.25]);
        let image = Positions::from(grid);
        let counted = values(image.to_tensor(7, &device).unwrap());
        assert_eq!(counted, [0., 1., 2., 3., 4., 5., 6.]);
        let places = image.to_coordinates(7, &device).unwrap();
        assert_eq!(places.dims(), [1, 7, 2]);
        let expected = [0, 0, 0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2].map(|place| place as f32);
        assert_eq!(values(places), expected);
        let points = Coordinates::new([[0.5, 1.0, -3.0], [2.0, 0.0, 0.25]]).unwrap();
        let points = Positions::from(points);
        assert_says(
            &refusal(points.to_tensor(2, &device)),
            "… positions on a line …",
        );
        let places = points.to_coordinates(2, &device).unwrap();
        assert_eq!(places.dims(), [1, 2, 3]);
        assert_eq!(values(places), [0.5, 1.0, -3.0, 2.0, 0.0, 0.25]);
        let other = points.to_coordinates(3, &device);
        assert_says(&refusal(other), "… tensor of coordinates …");
        let words = "positions are given in a float type; got I64";
        let whole = points.to_coordinates(2, (&device, DType::I64));
        assert_says(&refusal(whole), words);
        let whole = Positions::default().to_tensor(3, (&device, DType::I64));
        assert_says(&refusal(whole), words);
        let no_row = Positions::from_starts([]).to_tensor(4, &device);
        assert_eq!(no_row.unwrap().dims(), [0, 4]);
        let no_token = Positions::default().to_coordinates(0, &device);
        assert_eq!(no_token.unwrap().dims(), [1, 0, 1]);
        // In the type that is asked for, and beside a tensor with a gradient.
        let autodiff = device.clone().autodiff();
        let far = Positions::from((1 << 40) + 1);
        if device.supports_dtype(FloatDType::F64) {
            let exact = far.to_tensor(1, (&autodiff, DType::F64)).unwrap();
            assert_eq!(wide(exact), [(1_u64 << 40) as f64 + 1.0]);
        }
        let x = Tensor::<2>::ones([1, 1], &autodiff).require_grad();
        let gradients = (x.clone() * far.to_tensor(1, &autodiff).unwrap())
            .sum()
            .backward();
        assert_eq!(values(x.grad(&gradients).unwrap()), [(1_u64 << 40) as f32]);
    }
}

#[test]
fn a_mask_counts_real_tokens() {
    let mask = [
        [true, true, true, true],
        [false, false, true, true],
        [true, true, false, false],
        [false, true, false, true],
        [false, false, false, false],
    ];
    let expected = [
        [0, 1, 2, 3],
        [0, 0, 0, 1],
        [0, 1, 0, 0],
        [0, 0, 0, 1],
        [0, 0, 0, 0],
    ];
    for device in devices() {
        let real = Tensor::<2, Bool>::from_data(mask, &device);
        let counted = Positions::from_token_mask(real.clone());
        assert_eq!(rows(&counted, 4), expected);
        let counted = Positions::from_mask_pad(real.bool_not());
        assert_eq!(rows(&counted, 4), expected);
    }
}

#[test]
fn positions_restart_with_every_segment() {
    for device in devices() {
        let segments = Tensor::<2, Int>::from_ints(
            [
                [1, 1, 1, 2, 2, 3],
                [0, 0, 0, 0, 0, 0],
                [9, -4, -4, 9, 9, 9],
                [1, 2, 1, 2, 1, 2],
            ],
            &device,
        );
        let expected = [
            [0, 1, 2, 0, 1, 0],
            [0, 1, 2, 3, 4, 5],
            [0, 0, 1, 0, 1, 2],
            [0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(rows(&Positions::from_segment_ids(segments), 6), expected);
    }
}

/// Every source of positions gives each token the encoding of its position, in the buffer and
/// past it.
#[test]
fn every_source_reaches_the_same_rows() {
    for device in devices() {
        let long = SinusoidalPositionalEncodingConfig::new(6)
            .with_max_len(64)
            .init(&device);
        for max_len in [64, 5, 1] {
            let pe = SinusoidalPositionalEncodingConfig::new(6)
                .with_max_len(max_len)
                .init(&device);
            let mask = [[false, true, true, true], [true, true, true, true]];
            let segments = [[1, 1, 2, 2], [1, 2, 2, 2]];
            let sources = [
                Positions::from(3),
                Positions::from_starts([50, 0]),
                Positions::from_ids(Tensor::from_ints([[40, 2, 2, 0], [7, 6, 5, 4]], &device))
                    .unwrap(),
                Positions::from_id_rows(&[[40, 2, 2, 0]]).unwrap(),
                Positions::from_token_mask(Tensor::from_data(mask, &device)),
                Positions::from_segment_ids(Tensor::from_ints(segments, &device)),
            ];
            for positions in sources {
                let encoding = pe.encode(&positions, 4).unwrap();
                let rows = positions.to_rows(4).unwrap();
                assert_eq!(encoding.dims(), [rows.len(), 4, 6]);
                for (i, row) in rows.iter().enumerate() {
                    for (j, &p) in row.iter().enumerate() {
                        let one = long.encode(&Positions::from(p), 1).unwrap();
                        let got = encoding.clone().slice([i..i + 1, j..j + 1, 0..6]);
                        assert_eq!(
                            distance(got, one),
                            0.0,
                            "{device:?} {positions:?} position {p}"
                        );
                    }
                }
                let x = random([2, 4, 6], &device);
                let y = pe.embed(x.clone(), &positions);
                assert_eq!(distance(y, x + encoding), 0.0, "{device:?} {positions:?}");
            }
        }
    }
}

#[test]
fn empty_inputs() {
    for device in devices() {
        let pe = SinusoidalPositionalEncodingConfig::new(6).init(&device);
        for shape in [[2, 0, 6], [0, 3, 6]] {
            assert_eq!(pe.forward(Tensor::empty(shape, &device)).dims(), shape);
        }
        let encoded = |at: Positions, seq| pe.encode(&at, seq).unwrap().dims();
        assert_eq!(encoded(Positions::default(), 0), [1, 0, 6]);
        assert_eq!(encoded(Positions::from_starts([]), 4), [0, 4, 6]);
        let none: [&[usize]; 2] = [&[], &[]];
        let ids = Positions::from_id_rows(&none).unwrap();
        let embedded = pe.embed(Tensor::empty([2, 0, 6], &device), &ids);
        assert_eq!(embedded.dims(), [2, 0, 6]);
    }
    let device = Device::flex();
    let mask = Positions::from_token_mask(Tensor::empty([2, 0], &device));
    assert_eq!(rows(&mask, 0), [[0; 0], [0; 0]]);
    let segments = Positions::from_segment_ids(Tensor::empty([0, 3], &device));
    assert_eq!(rows(&segments, 3), [[0; 0]; 0]);
}

/// An empty input has no wrong positions, and one row of positions serves every row of a batch.
#[test]
fn an_empty_input_and_one_row_for_all_rows() {
    let device = Device::flex();
    let pe = SinusoidalPositionalEncodingConfig::new(6).init(&device);
    let encoded = pe.encode(&Positions::from(usize::MAX), 0).unwrap();
    assert_eq!(encoded.dims(), [1, 0, 6]);
    let x = random([4, 3, 6], &device);
    for positions in [
        Positions::from_starts([7]),
        Positions::from_id_rows(&[[7, 8, 9]]).unwrap(),
        Positions::from_ids(Tensor::from_ints([[7, 8, 9]], &device)).unwrap(),
    ] {
        let y = pe.embed(x.clone(), &positions);
        assert_eq!(distance(y, pe.embed(x.clone(), &Positions::from(7))), 0.0);
    }
    let mask = Positions::from_token_mask(Tensor::from_data([[true; 3]], &device));
    assert_eq!(distance(pe.embed(x.clone(), &mask), pe.forward(x)), 0.0);
}

/// A mask or segment ids from the training device serve a module anywhere on that device.
#[test]
fn masks_in_an_autodiff_context() {
    for device in devices() {
        let training = device.clone().autodiff();
        let pe = SinusoidalPositionalEncodingConfig::new(6).init(&device);
        let mask = Tensor::<2, Bool>::from_data([[false, true, true]], &training);
        let mask = Positions::from_token_mask(mask);
        assert_eq!(rows(&mask, 3), [[0, 0, 1]]);
        assert_eq!(pe.encode(&mask, 3).unwrap().dims(), [1, 3, 6]);
        let segments = Tensor::<2, Int>::from_ints([[4], [4]], &training);
        assert_eq!(rows(&Positions::from_segment_ids(segments), 1), [[0], [0]]);
    }
}
