//! Rotations by coordinates against the code of models: `tests/peers/values/coordinates.json`,
//! `diffusion.json` and `multimodal.json`.

use burn::module::Param;
use burn::tensor::{Device, Tensor};
use pe_burn::axes::Axis;
use pe_burn::coordinates::{Normalization, Part};
use pe_burn::rotary::MixedRotaryConfig;
use pe_burn::scaling::Dynamic;
use pe_burn::{
    Axes, Coordinates, Formula, Grid, Layout, Positions, RotaryPositionalEncodingConfig, Rotate,
    SinusoidalPositionalEncodingConfig, convert_heads,
};
use pe_models::HfConfig;
use pe_tests::devices;
use serde::Deserialize;

use crate::{assert_within, cases, distance, random, refused, tensor, values};

#[derive(Deserialize)]
struct Case {
    peer: String,
    config: RotaryPositionalEncodingConfig,
    /// The `config.json` of a model, from which the configuration is read.
    #[serde(default)]
    model: Option<serde_json::Value>,
    #[serde(default)]
    normalized: Option<String>,
    /// The heads whose halves make pairs, where they are turned before they are split.
    #[serde(default)]
    heads: Option<usize>,
    coordinates: Vec<Vec<f64>>,
    x: Vec<Vec<f32>>,
    rotated: Vec<Vec<f64>>,
}

fn coordinates(tokens: &[Vec<f64>]) -> Positions {
    let rows = tokens.iter().flatten().map(|number| *number as f32);
    let all: Vec<f32> = rows.collect();
    let shape = [1, tokens.len(), tokens[0].len()];
    let tensor = tensor(&all, shape, &Device::flex());
    // Whole numbers and halves survive f32; others come from the host.
    match tokens
        .iter()
        .flatten()
        .zip(&all)
        .all(|(number, short)| *number == f64::from(*short))
    {
        true => Positions::from_coordinates(tensor).unwrap(),
        false => {
            let mut row = Coordinates::text(0, 0, tokens[0].len()).unwrap();
            for token in tokens {
                let here = Coordinates::text(0, 1, token.len()).unwrap();
                row = row.then(&here.shifted(token).unwrap()).unwrap();
            }
            row.into()
        }
    }
}

#[test]
fn rotations_of_every_peer() {
    let mut cases_of_all: Vec<Case> = cases(include_str!("../peers/values/coordinates.json"));
    cases_of_all.extend(cases::<Case>(include_str!(
        "../peers/values/diffusion.json"
    )));
    let mut peers: Vec<&str> = cases_of_all.iter().map(|case| case.peer.as_str()).collect();
    peers.sort_unstable();
    peers.dedup();
    assert_eq!(peers.len(), 37, "{peers:?}");
    for case in &mut cases_of_all {
        if let Some(model) = &case.model {
            let layers = HfConfig::from_json(&model.to_string())
                .unwrap()
                .layers()
                .unwrap();
            case.config = layers.last().unwrap().rotary.clone().unwrap();
        }
        let (tokens, d_head) = (case.x.len(), case.config.d_head);
        let mut positions = vec![coordinates(&case.coordinates)];
        if let Some(by) = &case.normalized {
            let by = match by.as_str() {
                "separate" => Normalization::Separate,
                "max" => Normalization::Longest,
                "min" => Normalization::Shortest,
                other => panic!("{other}"),
            };
            let patches = Coordinates::normalized(Grid::image(3, 5), by).unwrap();
            let all = Coordinates::at([0.0, 0.0], 2).then(&patches).unwrap();
            positions.push(all.into());
        }
        for device in devices() {
            let rope = case.config.init(&device);
            let x = tensor(&case.x.concat(), [1, 1, tokens, d_head], &device);
            let converted = |x: Tensor<4>, from, to| match case.heads {
                Some(heads) => convert_heads(x, heads, d_head / heads, from, to).unwrap(),
                None => x,
            };
            let (halves, interleaved) = (Layout::Halves, Layout::Interleaved);
            for positions in &positions {
                let x = converted(x.clone(), halves, interleaved);
                let ours = rope.rotate_queries(x, positions);
                let ours = values(converted(ours, interleaved, halves));
                let largest = ours.iter().fold(0_f32, |most, y| most.max(y.abs()));
                // Rounding of f32 in a product of two, and f32 sines in some of the peers.
                let (bound, about) = (
                    1e-6 * f64::from(largest),
                    format!("{device:?} {}", case.peer),
                );
                assert_within(&ours, &case.rotated.concat(), bound, &about);
            }
        }
    }
}

/// How far queries at some positions are from the same at others.
fn apart(rope: &dyn Rotate, x: &Tensor<4>, one: &Positions, other: &Positions) -> f32 {
    let turned = |at| rope.rotate_queries(x.clone(), at);
    distance(turned(one), turned(other))
}

#[derive(Deserialize)]
struct Multimodal {
    peer: String,
    interval: f64,
    rows: Vec<Vec<(String, serde_json::Value)>>,
    ids: Vec<Vec<[usize; 3]>>,
    next: Vec<usize>,
}

/// In all of them a video is followed by numbers past those of its frames, so that transformers 4 and 5
/// agree.
#[test]
fn text_among_images_as_in_qwen() {
    let cases: Vec<Multimodal> = cases(include_str!("../peers/values/multimodal.json"));
    assert_eq!(cases.len(), 9);
    for case in &cases {
        let part = |(kind, size): &(String, serde_json::Value)| {
            let count = || size.as_u64().unwrap() as usize;
            let lengths = || {
                let lengths = size.as_array().unwrap().iter();
                lengths
                    .map(|n| n.as_u64().unwrap() as usize)
                    .collect::<Vec<_>>()
            };
            match kind.as_str() {
                "text" => Part::Text(count()),
                "padding" => Part::Padding(count()),
                "image" => Part::Image(Grid::image(lengths()[1], lengths()[2])),
                "video" => Part::Video {
                    grid: Grid::video(lengths()[0], lengths()[1], lengths()[2]),
                    interval: case.interval,
                },
                other => panic!("{other}"),
            }
        };
        let rows: Vec<Vec<Part>> = case
            .rows
            .iter()
            .map(|row| row.iter().map(part).collect())
            .collect();
        let (positions, next) = Positions::from_parts(&rows).unwrap();
        assert_eq!(next, case.next, "{}", case.peer);
        // A rotation by the ids that the peer has is that of our positions, on three axes.
        let device = Device::flex();
        let rope = RotaryPositionalEncodingConfig::new(12)
            .with_axes(Axes::mrope([2, 2, 2]))
            .init(&device);
        let theirs: Vec<Coordinates> = case
            .ids
            .iter()
            .map(|row| {
                let tokens: Vec<[f64; 3]> = row.iter().map(|id| id.map(|n| n as f64)).collect();
                Coordinates::new(tokens).unwrap()
            })
            .collect();
        let theirs = Positions::from_coordinate_rows(&theirs).unwrap();
        let (batch, seq) = (case.ids.len(), case.ids[0].len());
        let x = random([batch, 1, seq, 12], &device);
        let off = apart(&rope, &x, &positions, &theirs);
        assert_eq!(off, 0.0, "{} {:?}", case.peer, case.rows);
    }
}

/// Numbers go on one past the largest of a long video, not past its height and width.
#[test]
fn text_behind_a_long_video() {
    let video = Part::Video {
        grid: Grid::video(5, 2, 2),
        interval: 12.5,
    };
    let (positions, next) =
        Positions::from_parts(&[[Part::Text(1), video, Part::Text(2)]]).unwrap();
    assert_eq!(next, [1 + 50 + 1 + 2]);
    let device = Device::flex();
    let rope = RotaryPositionalEncodingConfig::new(6)
        .with_axes(Axes::mrope([1, 1, 1]))
        .init(&device);
    let frames = [0.0, 12.0, 25.0, 37.0, 50.0];
    let mut tokens = vec![[0.0; 3]];
    for frame in frames {
        for cell in 0..4 {
            tokens.push([
                1.0 + frame,
                1.0 + f64::from(cell / 2),
                1.0 + f64::from(cell % 2),
            ]);
        }
    }
    tokens.extend([[52.0; 3], [53.0; 3]]);
    let expected = Positions::from(Coordinates::new(tokens).unwrap());
    let x = random([1, 1, 23, 6], &device);
    assert_eq!(apart(&rope, &x, &positions, &expected), 0.0);
}

/// Text is on a line: M-RoPE turns it as plain RoPE does, whichever way its positions are given, and past
/// the trained length of a dynamic scaling too.
#[test]
fn multimodal_rotation_of_text_is_plain() {
    for device in devices() {
        for scaling in [None, Some(Dynamic::new(2.0, 10))] {
            let mut plain = RotaryPositionalEncodingConfig::new(16).with_layout(Layout::Halves);
            if let Some(scaling) = scaling {
                plain = plain.with_scaling(scaling);
            }
            let with_axes = |axes| plain.clone().with_axes(axes).init(&device);
            let ropes = [
                plain.init(&device),
                with_axes(Axes::mrope([2, 3, 3])),
                with_axes(Axes::mrope_interleaved([4, 2, 2])),
            ];
            let x = random([2, 3, 30, 16], &device);
            for start in [0, 100_000] {
                let text = Positions::from(Coordinates::text(start, 30, 3).unwrap());
                let line = ropes[0].rotate_queries(x.clone(), &Positions::from(start));
                for rope in &ropes[1..] {
                    let same = rope.rotate_queries(x.clone(), &Positions::from(start));
                    assert_eq!(distance(line.clone(), same), 0.0);
                    let same = rope.rotate_queries(x.clone(), &text);
                    assert!(distance(line.clone(), same) < 1e-6);
                    let back = rope.invert(rope.rotate_queries(x.clone(), &text), &text);
                    assert!(distance(back.unwrap(), x.clone()) < 1e-5);
                }
            }
        }
    }
}

#[derive(Deserialize)]
struct Mixed {
    peer: String,
    x: Vec<f32>,
    weights: Vec<f32>,
    rotated: Vec<f32>,
    frequencies: Vec<f32>,
    gradient: Vec<f32>,
}

/// timm computes in f32, as we do: entries are within 1e-6 of each other, and gradients, which are sums of
/// 15 products with coordinates up to 4, within 2e-5.
#[test]
fn learned_frequencies_as_in_timm() {
    let cases: Vec<Mixed> = cases(include_str!("../peers/values/mixed.json"));
    assert_eq!(cases.len(), 2);
    for case in &cases {
        for device in devices() {
            let device = device.autodiff();
            let by_head = |numbers: &[f32]| tensor(numbers, [1, 2, 15, 16], &device);
            let mut rope = MixedRotaryConfig::new(16, 2).init(&device);
            let frequencies = tensor(&case.frequencies, [2, 2, 8], &device);
            rope.frequencies = Param::from_tensor(frequencies);
            let grid = Positions::from(Grid::image(3, 5));
            let y = rope.rotate_queries(by_head(&case.x), &grid);
            let loss = (y.clone() * by_head(&case.weights)).sum();
            let gradient = rope.frequencies.val().grad(&loss.backward()).unwrap();
            for (ours, theirs, bound) in [
                (values(y), &case.rotated, 1e-6),
                (values(gradient), &case.gradient, 2e-5),
            ] {
                assert_within(&ours, theirs, bound, &format!("{device:?} {}", case.peer));
            }
        }
    }
}

/// A row of a batch has its own coordinates, and a decoding step those of its token.
#[test]
fn rows_of_a_batch_and_decoding() {
    for device in devices() {
        let rope = RotaryPositionalEncodingConfig::new(24)
            .with_axes(Axes::of_widths([8, 4, 12]))
            .init(&device);
        let rows = [
            Coordinates::of_grid(Grid::video(1, 2, 3)).unwrap(),
            Coordinates::text(5, 6, 3)
                .unwrap()
                .shifted(&[0.5, -3.0, 1e6])
                .unwrap(),
        ];
        let x = random([2, 2, 6, 24], &device);
        let all = Positions::from_coordinate_rows(&rows).unwrap();
        let together = rope.rotate_queries(x.clone(), &all);
        for (i, row) in rows.iter().enumerate() {
            let one = |x: Tensor<4>| x.narrow(0, i, 1);
            let alone = rope.rotate_queries(one(x.clone()), &row.clone().into());
            assert_eq!(distance(one(together.clone()), alone), 0.0);
            for token in 0..6 {
                let place: [f64; 3] = core::array::from_fn(|axis| row.values()[3 * token + axis]);
                let at = Positions::from(Coordinates::at(place, 1));
                let step = rope.rotate_queries(one(x.clone()).narrow(2, token, 1), &at);
                let among = one(together.clone()).narrow(2, token, 1);
                assert_eq!(distance(among, step), 0.0);
            }
        }
    }
}

/// A grid, and its coordinates as such, are the same positions; sinusoids have columns for each axis.
#[test]
fn a_grid_and_its_coordinates_are_the_same() {
    let device = Device::flex();
    let grid = Grid::image(3, 5);
    let (cells, places) = (
        Positions::from(grid),
        Positions::from(Coordinates::of_grid(grid).unwrap()),
    );
    let rope = RotaryPositionalEncodingConfig::new(16)
        .with_axes(Axes::WIDTH_HEIGHT)
        .init(&device);
    let x = random([1, 1, 15, 16], &device);
    assert_eq!(apart(&rope, &x, &cells, &places), 0.0);

    let config = SinusoidalPositionalEncodingConfig::new(16);
    let pe = config.clone().with_axes(Axes::HEIGHT_WIDTH).init(&device);
    let rows = |at| pe.encode(at, 15).unwrap();
    assert_eq!(distance(rows(&cells), rows(&places)), 0.0);
    // Shares of different widths, a base and a scale for one axis.
    let axes = Axes::new([
        Axis::new(1).with_columns(6).with_base(100.0),
        Axis::new(0).with_columns(10).with_scale(0.25),
    ]);
    let pe = config.clone().with_axes(axes).init(&device);
    let rows = values(pe.encode(&places, 15).unwrap());
    for (token, row) in rows.chunks(16).enumerate() {
        let (height, width) = ((token / 5) as f64, (token % 5) as f64);
        for (i, entry) in row.iter().enumerate() {
            let angle = match i {
                0..6 => width * 100_f64.powf(-2.0 * (i / 2) as f64 / 6.0),
                _ => 0.25 * height * 10_000_f64.powf(-2.0 * ((i - 6) / 2) as f64 / 10.0),
            };
            let expected = if i % 2 == 0 { angle.sin() } else { angle.cos() };
            assert!((f64::from(*entry) - expected).abs() < 3e-8, "{token} {i}");
        }
    }
    let own_base = Axes::new([Axis::new(0).with_base(100.0), Axis::new(1)]);
    let config_of = |formula| {
        config
            .clone()
            .with_formula(formula)
            .with_axes(own_base.clone())
    };
    let paper = config_of(Formula::Paper { base: 50.0 });
    assert!(paper.try_init(&device).is_ok());
    refused! {
        config_of(Formula::Marian {}) =>
            "an axis has the base 100, which goes with the paper's formula alone, and not with Marian",
        config.with_axes(Axes::mrope([3, 3, 2])) =>
            "the axes of a sinusoid have their columns in a row …",
    }
}

/// A checkpoint's own frequencies are those that a base gives.
#[test]
fn given_frequencies_are_used() {
    for device in devices() {
        let config = RotaryPositionalEncodingConfig::new(16).with_base(500.0);
        let given = config.spectrum(0).unwrap().frequencies();
        let by_base = config.init(&device);
        let by_list = RotaryPositionalEncodingConfig::new(16)
            .with_frequencies(given)
            .init(&device);
        let x = random([1, 2, 9, 16], &device);
        for start in [0, 3000, 123_456] {
            let at = Positions::from(start);
            let turned = |rope: &dyn Rotate| rope.rotate_queries(x.clone(), &at);
            assert!(distance(turned(&by_base), turned(&by_list)) < 1e-6);
        }
    }
}

/// HunYuan-VL's first files: the fields of its text beside the others, and older names.
#[test]
fn files_of_hunyuan_vl() {
    let file = |parameters: &str| {
        let json = format!(
            r#"{{"model_type": "hunyuan_vl", "head_dim": 128, "num_hidden_layers": 24, "rope_theta": 10000.0,
                "rope_scaling": {{"alpha": 1000.0, "factor": 1.0, {parameters}}}}}"#
        );
        HfConfig::from_json(&json).unwrap().rotary()
    };
    let older = file(r#""type": "xdrope", "xdrope_section": [16, 16, 16, 16]"#).unwrap();
    assert_eq!(older.axes, Some(Axes::mrope([16, 16, 16, 16])));
    let newer = file(r#""type": "dynamic", "mrope_section": [16.0, 16, 16, 16]"#).unwrap();
    assert_eq!(older, newer);
    assert_eq!(file(r#""type": "dynamic""#).unwrap().axes, None);
    refused! {
        |bad| file(bad);
        r#""type": "xdrope", "xdrope_section": [16, 16, 16]"# =>
            "… the sum of `mrope_section` must be 64, half the columns of a head; got [16, 16, 16]",
        r#""type": "xdrope", "xdrope_section": [32, 32], "mrope_section": [16, 48]"# =>
            "… `mrope_section` is [16, 48], but `xdrope_section` is [32, 32]",
        r#""type": "xdrope", "xdrope_section": [32, 32.5]"# =>
            "… needs a list of lengths as `xdrope_section`, not a list",
    }
}
