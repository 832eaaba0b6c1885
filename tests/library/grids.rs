//! Encodings of grids: against their definition, and against `tests/peers/values/grids.json`.

use burn::tensor::{Device, FloatDType, Int, Tensor};
use pe_burn::scaling::{Dynamic, Yarn};
use pe_burn::{
    Axes, Embed, Formula, Grid, Layout, Positions, RotaryPositionalEncodingConfig, Rotate,
    SinusoidalPositionalEncodingConfig, Spectrum, convert_layout,
};
use pe_tests::devices;
use serde::Deserialize;

use crate::{
    LAYOUTS, assert_says, assert_within, cases, distance, random, refusal, refused, tensor, values,
};

/// Axes, a grid that is not square, and the frame, row and column of each of its tokens.
fn grids() -> Vec<(Axes, Grid, Vec<[usize; 3]>)> {
    let places = |frames: usize, height: usize, width: usize| {
        let cells = (0..frames).flat_map(move |f| (0..height).map(move |h| (f, h)));
        cells.flat_map(move |(f, h)| (0..width).map(move |w| [f, h, w]))
    };
    vec![
        (
            Axes::HEIGHT_WIDTH,
            Grid::image(3, 5),
            places(1, 3, 5).collect(),
        ),
        (
            Axes::WIDTH_HEIGHT,
            Grid::image(3, 5),
            places(1, 3, 5).collect(),
        ),
        (
            Axes::FRAMES_HEIGHT_WIDTH,
            Grid::video(2, 3, 5),
            places(2, 3, 5).collect(),
        ),
    ]
}

/// The axes of a place, in the order of their columns.
fn in_order(axes: &Axes, [frame, row, column]: [usize; 3]) -> Vec<usize> {
    match axes {
        axes if *axes == Axes::HEIGHT_WIDTH => vec![row, column],
        axes if *axes == Axes::WIDTH_HEIGHT => vec![column, row],
        _ => vec![frame, row, column],
    }
}

/// The sinusoidal encoding of a place: that of each axis, one after another, cut to `d_model` columns.
fn sinusoid(axes: &Axes, place: [usize; 3], d_model: usize, layout: Layout) -> Vec<f32> {
    let places = in_order(axes, place);
    let share = 2 * d_model.div_ceil(2 * places.len());
    let spectrum = Spectrum::new(share, 10_000.0).unwrap().with_layout(layout);
    let rows = places
        .iter()
        .flat_map(|p| spectrum.rows::<f32>(*p..p + 1).unwrap());
    rows.take(d_model).collect()
}

#[test]
fn every_axis_has_its_columns_and_prefix_tokens_have_zeros() {
    for device in devices() {
        for (axes, grid, places) in grids() {
            for d_model in [5, 6, 10, 12, 13, 64] {
                for layout in LAYOUTS {
                    let pe = SinusoidalPositionalEncodingConfig::new(d_model)
                        .with_layout(layout)
                        .with_axes(axes.clone())
                        .init(&device);
                    let of = |place| sinusoid(&axes, place, d_model, layout);
                    let expected: Vec<f32> = places.iter().copied().flat_map(of).collect();
                    let whole = Positions::from(grid);
                    let encoding = pe.encode(&whole, places.len()).unwrap();
                    assert_eq!(encoding.dims(), [1, places.len(), d_model]);
                    assert_eq!(values(encoding), expected, "{device:?} {axes:?} {d_model}");

                    let behind = Positions::from(grid.with_prefix(2));
                    let encoding = values(pe.encode(&behind, places.len() + 2).unwrap());
                    assert_eq!(encoding[..2 * d_model], vec![0.0; 2 * d_model]);
                    assert_eq!(encoding[2 * d_model..], expected);
                }
            }
        }
    }
}

#[test]
fn grids_and_flat_inputs_are_summed_alike() {
    for device in devices() {
        let config = SinusoidalPositionalEncodingConfig::new(20);
        let pe = config.clone().with_axes(Axes::HEIGHT_WIDTH).init(&device);
        let x = random([2, 15, 20], &device);
        let flat = pe.embed(x.clone(), &Grid::image(3, 5).into());
        let grid = pe.forward_grid(x.clone().reshape([2, 3, 5, 20])).unwrap();
        assert_eq!(grid.dims(), [2, 3, 5, 20]);
        assert_eq!(distance(flat.clone(), grid.reshape([2, 15, 20])), 0.0);
        let encoding = pe.encode(&Grid::image(3, 5).into(), 15).unwrap();
        assert_eq!(distance(flat, x.clone() + encoding), 0.0);
        // A grid with height and width exchanged has other positions.
        let turned = pe.embed(x.clone(), &Grid::image(5, 3).into());
        assert!(distance(turned, pe.embed(x.clone(), &Grid::image(3, 5).into())) > 0.1);

        let video = config.with_axes(Axes::FRAMES_HEIGHT_WIDTH).init(&device);
        let x = random([2, 30, 20], &device);
        let grid = video
            .forward_grid(x.clone().reshape([2, 2, 3, 5, 20]))
            .unwrap();
        let flat = video.embed(x, &Grid::video(2, 3, 5).into());
        assert_eq!(distance(grid.reshape([2, 30, 20]), flat), 0.0);

        for shape in [[0, 3, 5, 20], [2, 0, 5, 20], [2, 3, 0, 20]] {
            let empty = pe.forward_grid(Tensor::<4>::zeros(shape, &device)).unwrap();
            assert_eq!(empty.dims(), shape);
        }
    }
}

/// The patches that a masked autoencoder keeps, in an order of their own in every row.
#[test]
fn some_tokens_of_a_grid_are_where_they_are_in_the_whole() {
    for device in devices() {
        for prefix in [0, 1] {
            let grid = Grid::image(4, 7).with_prefix(prefix);
            let ids = [[0_i64, 27, 5, 12], [19, 20, 6, 0]];
            let tensor = Tensor::<2, Int>::from_data(ids, &device);
            let some = Positions::from_grid_ids(grid, tensor).unwrap();

            let pe = SinusoidalPositionalEncodingConfig::new(12)
                .with_axes(Axes::WIDTH_HEIGHT)
                .init(&device);
            let rope = RotaryPositionalEncodingConfig::new(8)
                .with_axes(Axes::HEIGHT_WIDTH)
                .init(&device);
            let whole = values(pe.encode(&grid.into(), grid.tokens()).unwrap());
            let ones = Tensor::<4>::ones([1, 1, grid.tokens(), 8], &device);
            let turned = values(rope.rotate_queries(ones, &grid.into()));
            let (rows, heads) = (
                values(pe.encode(&some, 4).unwrap()),
                values(rope.rotate_queries(Tensor::ones([2, 1, 4, 8], &device), &some)),
            );
            for (i, id) in ids.as_flattened().iter().map(|id| *id as usize).enumerate() {
                assert_eq!(rows[12 * i..][..12], whole[12 * id..][..12]);
                assert_eq!(heads[8 * i..][..8], turned[8 * id..][..8]);
            }
            // On a line they are at their ids.
            let line = SinusoidalPositionalEncodingConfig::new(12).init(&device);
            let rows = ids.map(|row| row.map(|id| id as usize));
            let [some, same] = [some, Positions::from_id_rows(&rows).unwrap()]
                .map(|positions| line.encode(&positions, 4).unwrap());
            assert_eq!(distance(some, same), 0.0);
        }
    }
}

/// In four columns each, as a rotation on a line turns them. The columns behind them stay too.
#[test]
fn every_axis_of_a_video_turns_its_pairs_and_prefix_tokens_stay() {
    let (axes, grid, places) = grids().remove(2);
    for device in devices() {
        let config = RotaryPositionalEncodingConfig::new(14).with_rotary_dim(12);
        let rope = config.with_axes(axes.clone()).init(&device);
        let line = RotaryPositionalEncodingConfig::new(4).init(&device);
        let x = random([2, 3, 2 + places.len(), 14], &device);
        let mut expected = vec![x.clone().narrow(3, 12, 2)];
        for axis in (0..3).rev() {
            let on_axis = places.iter().map(|place| place[axis]);
            let ids: Vec<usize> = [0, 0].into_iter().chain(on_axis).collect();
            let columns = x.clone().narrow(3, 4 * axis, 4);
            let turned = line.rotate_queries(columns, &Positions::from_id_rows(&[ids]).unwrap());
            expected.insert(0, turned);
        }
        let positions = Positions::from(grid.with_prefix(2));
        let y = rope.rotate_queries(x.clone(), &positions);
        assert!(
            distance(y.clone(), Tensor::cat(expected, 3)) < 1e-6,
            "{device:?}"
        );
        let back = rope.invert(y, &positions).unwrap();
        assert!(distance(back, x) < 1e-6, "{device:?}");
    }
}

#[test]
fn rows_past_the_buffer_and_in_f64_are_the_same_rows() {
    let device = Device::flex();
    let pe = SinusoidalPositionalEncodingConfig::new(8)
        .with_axes(Axes::HEIGHT_WIDTH)
        .with_max_len(4);
    let small = pe.clone().init(&device);
    let large = pe.clone().with_max_len(100).init(&device);
    let grid = Positions::from(Grid::image(2, 50));
    let rows = small.encode(&grid, 100).unwrap();
    assert_eq!(distance(rows, large.encode(&grid, 100).unwrap()), 0.0);
    let exact = small.encode_as(&grid, 100, FloatDType::F64).unwrap();
    let rounded = exact.cast(FloatDType::F32);
    assert!(distance(rounded, large.encode(&grid, 100).unwrap()) <= 6e-8);

    let limited = pe
        .with_length_limit(pe_burn::embedding::LengthLimit::Error)
        .init(&device);
    assert!(limited.encode(&Grid::image(4, 4).into(), 16).is_ok());
    let error = refusal(limited.encode(&grid, 100));
    assert_says(&error, "position 49 is past the end: …");
    // With ids only the coordinates of these tokens count. Prefix tokens have none.
    let of = |grid: Grid, id: i64| {
        Positions::from_grid_ids(grid, Tensor::from_data([[id]], &device)).unwrap()
    };
    assert!(limited.encode(&of(Grid::image(2, 50), 3), 1).is_ok());
    assert!(limited.encode(&of(Grid::image(2, 50), 4), 1).is_err());
    let nothing = Positions::from(Grid::image(0, 50).with_prefix(3));
    assert_eq!(values(limited.encode(&nothing, 3).unwrap()), [0.0; 24]);
}

/// Prefix tokens are at position 0: they are not rotated, but scaled as all tokens are.
#[test]
fn an_attention_factor_scales_every_token() {
    let device = Device::flex();
    let yarn = Yarn {
        attention_factor: Some(1.5),
        ..Yarn::new(4.0, 64)
    };
    let rope = RotaryPositionalEncodingConfig::new(8)
        .with_axes(Axes::HEIGHT_WIDTH)
        .with_scaling(yarn)
        .init(&device);
    let x = random([1, 1, 7, 8], &device);
    let y = rope.rotate_queries(x.clone(), &Grid::image(2, 3).with_prefix(1).into());
    let (x, y) = (values(x), values(y));
    for (x, y) in x[..16].iter().zip(&y) {
        assert!((1.5 * x - y).abs() < 1e-6, "{x} {y}");
    }
    let length = |row: &[f32]| row.iter().map(|x| x * x).sum::<f32>().sqrt();
    for (x, y) in x.chunks(8).zip(y.chunks(8)) {
        assert!((length(y) / length(x) - 1.5).abs() < 1e-5);
    }
}

#[test]
fn positions_and_sizes_that_do_not_fit_the_axes_are_refused() {
    let device = Device::flex();
    let sinusoidal = |d_model| SinusoidalPositionalEncodingConfig::new(d_model);
    let pe = sinusoidal(8).with_axes(Axes::HEIGHT_WIDTH).init(&device);
    let x = random([1, 6, 8], &device);
    refused! {
        |positions| pe.try_embed(x.clone(), &positions);
        Positions::default() =>
            "this encoding needs a grid of height × width, or coordinates of 2 axes, but got positions on a line",
        Positions::from(Grid::video(1, 2, 3)) =>
            "this encoding needs a grid of height × width, or coordinates of 2 axes, but got a grid of frames × height × width",
        Positions::from(Grid::image(2, 4)) =>
            "the grid has shape [1, 8], but the input needs [1, 6]",
    }
    let line = sinusoidal(8).init(&device);
    let image = x.clone().reshape([1, 2, 3, 8]);
    refused! {
        |result| result;
        pe.forward_grid(x.clone()) =>
            "this encoding needs a grid of height × width, or coordinates of 2 axes, but got an input with other axes",
        line.forward_grid(image) =>
            "this encoding needs positions on a line, since its configuration has no axes, but got an input with other axes",
    }
    // The positions of an empty input are checked too.
    let nothing = Tensor::<3>::zeros([0, 6, 8], &device);
    assert!(pe.try_embed(nothing, &Positions::default()).is_err());
    assert!(pe.encode(&Positions::default(), 0).is_err());
    let id = Tensor::<2, Int>::from_data([[1, 6]], &device);
    refused! {
        |grid| Positions::from_grid_ids(grid, id.clone());
        Grid::image(2, 3) => "position id 6 at row 0, token 1 is out of range: ids go from 0 to 5",
        Grid::image(2, 0) => "grid.tokens() must be at least 1; got 0",
    }

    for (axes, n, d_model) in [
        (Axes::HEIGHT_WIDTH, 2, 2),
        (Axes::HEIGHT_WIDTH, 2, 1),
        (Axes::FRAMES_HEIGHT_WIDTH, 3, 8),
        (Axes::FRAMES_HEIGHT_WIDTH, 3, 4),
        (Axes::FRAMES_HEIGHT_WIDTH, 3, 7),
    ] {
        let words = format!(
            "d_model must be larger: with 2⌈d_model/2a⌉ columns for each of {n} axes, none are left for the last; got {d_model}"
        );
        refused! { sinusoidal(d_model).with_axes(axes) => &words, }
    }
    let rope = |d_head| RotaryPositionalEncodingConfig::new(d_head).with_axes(Axes::HEIGHT_WIDTH);
    refused! {
        rope(6) =>
            "rotary_dim must be a multiple of 4, so that each of 2 axes has the same number of pairs; got 6",
        rope(8).with_scaling(Dynamic::new(2.0, 10)) =>
            "dynamic and longrope scaling follow the length of a line, and a grid with axes has no single length",
    }
}

#[test]
fn data_names_the_axes() {
    let json = r#"{"d_model": 8, "axes": "width_height"}"#;
    let config: SinusoidalPositionalEncodingConfig = serde_json::from_str(json).unwrap();
    assert_eq!(config.axes, Some(Axes::WIDTH_HEIGHT));
    let json = r#"{"d_head": 8, "axes": "frames_height_width"}"#;
    let config: RotaryPositionalEncodingConfig = serde_json::from_str(json).unwrap();
    assert_eq!(config.axes, Some(Axes::FRAMES_HEIGHT_WIDTH));
    for grid in [Grid::image(3, 5).with_prefix(2), Grid::video(2, 3, 5)] {
        let json = serde_json::to_string(&grid).unwrap();
        assert_eq!(serde_json::from_str::<Grid>(&json).unwrap(), grid);
    }
}

/// The fixed table of Big Vision's plain ViT: sines and cosines of the column, then of the row, by `10000^(−i/(d_model/4 − 1))`.
#[test]
fn the_fixed_table_of_a_plain_vit() {
    let (d_model, [height, width]) = (16, [3, 5]);
    let pe = SinusoidalPositionalEncodingConfig::new(d_model)
        .with_formula(Formula::TENSOR2TENSOR)
        .with_axes(Axes::WIDTH_HEIGHT)
        .init(&Device::flex());
    let grid = Grid::image(height, width);
    let rows = values(pe.encode(&grid.into(), grid.tokens()).unwrap());
    let quarter = d_model / 4;
    let mut expected = Vec::new();
    for (row, column) in (0..height).flat_map(|row| (0..width).map(move |column| (row, column))) {
        for place in [column, row] {
            let angle =
                |i: usize| place as f64 * 1e4_f64.powf(-(i as f64) / (quarter as f64 - 1.0));
            expected.extend((0..quarter).map(|i| angle(i).sin() as f32));
            expected.extend((0..quarter).map(|i| angle(i).cos() as f32));
        }
    }
    assert_within(&rows, &expected, 1e-7, "the table of a plain ViT");
}

#[derive(Deserialize)]
struct Case {
    peer: String,
    axes: String,
    layout: String,
    shape: Vec<usize>,
    #[serde(default)]
    prefix: usize,
    d_model: Option<usize>,
    #[serde(default)]
    rows: Vec<Vec<f32>>,
    d_head: Option<usize>,
    #[serde(default)]
    x: Vec<Vec<f32>>,
    #[serde(default)]
    rotated: Vec<Vec<f32>>,
}

/// Their own float32 is off by some roundings of an angle, and no coordinate is past 4: 3e-6.
#[test]
fn grids_of_every_peer() {
    let cases: Vec<Case> = cases(include_str!("../peers/values/grids.json"));
    let mut peers: Vec<&str> = cases.iter().map(|case| case.peer.as_str()).collect();
    peers.sort_unstable();
    peers.dedup();
    assert_eq!(peers.len(), 10, "{peers:?}");
    for case in &cases {
        let axes = match case.axes.as_str() {
            "height_width" => Axes::HEIGHT_WIDTH,
            "width_height" => Axes::WIDTH_HEIGHT,
            "time_height_width" => Axes::FRAMES_HEIGHT_WIDTH,
            other => panic!("{other}"),
        };
        let grid = match case.shape[..] {
            [height, width] => Grid::image(height, width),
            [frames, height, width] => Grid::video(frames, height, width),
            ref other => panic!("{other:?}"),
        };
        let grid = grid.with_prefix(case.prefix);
        let layout = match case.layout.as_str() {
            "halves" => Layout::Halves,
            // All sines before all cosines: the whole row converted, and not each axis of it.
            "interleaved" | "whole_halves" => Layout::Interleaved,
            other => panic!("{other}"),
        };
        for device in devices() {
            let (ours, theirs) = match (case.d_model, case.d_head) {
                (Some(d_model), None) => {
                    let pe = SinusoidalPositionalEncodingConfig::new(d_model)
                        .with_layout(layout)
                        .with_axes(axes.clone())
                        .init(&device);
                    let rows = pe.encode(&grid.into(), grid.tokens()).unwrap();
                    let rows = match case.layout.as_str() {
                        "whole_halves" => convert_layout(rows, layout, Layout::Halves),
                        _ => rows,
                    };
                    (values(rows), case.rows.concat())
                }
                (None, Some(d_head)) => {
                    let rope = RotaryPositionalEncodingConfig::new(d_head)
                        .with_layout(layout)
                        .with_axes(axes.clone())
                        .init(&device);
                    let x = tensor(&case.x.concat(), [1, 1, grid.tokens(), d_head], &device);
                    (
                        values(rope.rotate_queries(x, &grid.into())),
                        case.rotated.concat(),
                    )
                }
                _ => panic!("{}: of a row or of a head?", case.peer),
            };
            assert_within(&ours, &theirs, 3e-6, &format!("{device:?} {}", case.peer));
        }
    }
}
