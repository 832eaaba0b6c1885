//! Rotations by coordinates against the code of models: `tests/peers/values/coordinates.json`,
//! `diffusion.json` and `multimodal.json`.

use burn::module::Param;
use burn::tensor::{Device, Tensor};
use pe_burn::axes::{Axis, AxisFrequencies};
use pe_burn::coordinates::{Normalization, Part};
use pe_burn::rotary::MixedRotaryConfig;
use pe_burn::scaling::Dynamic;
use pe_burn::{
    AlibiConfig, AlibiShape, Axes, Bias, Coordinates, Embed, FireConfig, Formula, Grid,
    KerpleConfig, Layout, LearnedPositionalEmbeddingConfig, Positions,
    RotaryPositionalEncodingConfig, Rotate, SinusoidalPositionalEncodingConfig,
    T5RelativeBiasConfig, XPosPositionalEncodingConfig, convert_heads,
};
use pe_models::HfConfig;
use pe_tests::devices;
use serde::Deserialize;

use crate::{
    assert_says, assert_within, cases, distance, random, refusal, refused, tensor, values,
};

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

#[test]
fn biases_of_distances_in_space() {
    let device = Device::flex();
    let places = Coordinates::new([[0.0, 0.0], [3.0, 4.0], [-3.0, 4.0]]).unwrap();
    let places = Positions::from(places);
    let alibi = AlibiConfig::new(2).init(&device);
    let bias = values(alibi.bias((&places, 3), (&places, 3)));
    let slope = 1.0 / 16.0; // of the first of two heads
    let apart = [0.0, 5.0, 5.0, 5.0, 0.0, 6.0, 5.0, 6.0, 0.0];
    let expected = apart.map(|apart| -slope * apart);
    assert_within(&bias[..9], &expected, 1e-6, "the first head");
    let kerple = KerpleConfig::new(2).init(&device);
    assert!(kerple.try_bias((&places, 3), (&places, 3)).is_ok());

    let half_step = AlibiConfig::new(2)
        .with_shape(AlibiShape::HalfStep)
        .init(&device);
    let fire = FireConfig::new(2).init(&device);
    let t5 = T5RelativeBiasConfig::new(2).init(&device);
    for bias in [&half_step as &dyn Bias, &fire, &t5] {
        let result = bias.try_bias((&places, 3), (&places, 3));
        let line = "this encoding needs positions on a line, but got coordinates of …";
        assert_says(&refusal(result), line);
    }
    refused! {
        |queries| alibi.try_bias((&queries, 3), (&places, 3));
        Positions::default() =>
            "this encoding needs positions on a line, but got coordinates of 2 axes",
        Positions::from(Coordinates::at([0.0; 3], 3)) =>
            "this encoding needs coordinates of 3 axes, but got coordinates of 2 axes",
    }
}

#[test]
fn positions_and_axes_that_do_not_fit_are_refused() {
    let device = Device::flex();
    let places = Positions::from(Coordinates::at([1.0, 2.0], 6));
    let x = random([1, 6, 8], &device);
    let heads = x.clone().reshape([1, 1, 6, 8]);
    let line = "this encoding needs positions on a line, but got coordinates of 2 axes";
    let sinusoidal = SinusoidalPositionalEncodingConfig::new(8).init(&device);
    let learned = LearnedPositionalEmbeddingConfig::new(8, 10).init(&device);
    for pe in [&sinusoidal as &dyn Embed, &learned] {
        assert_says(&refusal(pe.try_embed(x.clone(), &places)), line);
    }
    let plain = RotaryPositionalEncodingConfig::new(8);
    let xpos = XPosPositionalEncodingConfig::new(8).init(&device);
    for pe in [&plain.init(&device) as &dyn Rotate, &xpos] {
        let result = pe.try_rotate_queries(heads.clone(), &places);
        assert_says(&refusal(result), line);
    }
    assert!(places.to_rows(6).is_err());

    let three = plain.with_axes(Axes::of_widths([2, 2, 4])).init(&device);
    refused! {
        |at| three.try_rotate_queries(heads.clone(), &at);
        places.clone() =>
            "this encoding needs a grid of frames × height × width, or coordinates of 3 axes, but got coordinates of 2 axes",
        Positions::from(Grid::image(2, 3)) => "… but got a grid of height × width",
        Positions::default() => "… but got positions on a line",
        Positions::from(Coordinates::at([1.0, 2.0, 3.0], 5)) =>
            "the tensor of coordinates has shape [1, 5], but the input needs [1, 6]",
    }
    let none = Tensor::<3>::zeros([1, 6, 0], &device);
    assert!(Positions::from_coordinates(none).is_err());
}

#[test]
fn frequencies_and_axes_that_do_not_fit_are_refused() {
    let device = Device::flex();
    let plain = RotaryPositionalEncodingConfig::new(8);
    let given = plain.clone().with_frequencies([1.0; 4]);
    let based = Axes::new([Axis::new(0).with_base(100.0), Axis::new(1)]);
    let dealt = Axes::HEIGHT_WIDTH.with_frequencies(AxisFrequencies::Dealt);
    let fast = Axes::new([Axis::new(0).with_scale(2e6), Axis::new(1)]);
    let tiled = plain.clone().with_tiled_angles(true);
    refused! {
        plain.clone().with_frequencies([1.0, 0.5]) =>
            "the number of frequencies must be 4, one for each pair; got 2",
        plain.clone().with_frequencies([1.0, 0.5, -0.1, 0.0]) =>
            "a frequency must be from 0 to 1048576; got -0.1",
        given.clone().with_scaling(Dynamic::new(2.0, 8)) =>
            "no scaling applies to given frequencies: scale the numbers instead",
        plain.clone().with_frequencies([1.0, 0.1]).with_axes(based) =>
            "no base of an axis applies to given frequencies: leave it out",
        given.with_axes(Axes::HEIGHT_WIDTH) =>
            "the number of frequencies must be 2, one for each pair of an axis; got 4",
        RotaryPositionalEncodingConfig::new(1 << 50).with_axes(dealt) =>
            "… do not fit into memory …",
        plain.clone().with_axes(fast) =>
            "a frequency times the scale of its axis must be at most 1048576; got 2000000",
        tiled.clone().with_axes(Axes::mrope_interleaved([2, 1, 1])) => "tiled angles …",
    }
    let heads = random([1, 1, 6, 8], &device);
    let inverse = tiled.init(&device).invert(heads, &Positions::default());
    let words = "tiled angles are no rotation and have no inverse";
    assert_says(&refusal(inverse), words);
}

#[test]
fn an_axis_without_pairs_is_passed_over() {
    let device = Device::flex();
    let places = Positions::from(Coordinates::at([1.0, 2.0], 6));
    let heads = random([1, 1, 6, 8], &device);
    let plain = RotaryPositionalEncodingConfig::new(8);
    let none = Axes::of_widths([0, 8]).with_frequencies(AxisFrequencies::Dealt);
    let rope = plain.clone().with_axes(none).init(&device);
    let turned = rope.rotate_queries(heads.clone(), &places);
    let times = Positions::from_times(Tensor::from_data([[2.0; 6]], &device)).unwrap();
    let one = plain.init(&device).rotate_queries(heads, &times);
    assert!(distance(turned, one) < 1e-6);
}

/// An empty batch of a multimodal model has three axes too.
#[test]
fn an_empty_batch_of_parts() {
    let device = Device::flex();
    let rope = RotaryPositionalEncodingConfig::new(8)
        .with_axes(Axes::mrope([1, 1, 2]))
        .init(&device);
    let (positions, next) = Positions::from_parts::<[Part; 0]>(&[]).unwrap();
    let empty = rope.rotate_queries(Tensor::ones([0, 2, 0, 8], &device), &positions);
    assert_eq!((empty.dims(), next), ([0, 2, 0, 8], vec![]));
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

/// The error of a coordinate past the reach names its axis and where it is among the tokens.
#[test]
fn a_coordinate_past_the_reach_is_named_by_its_axis_row_and_token() {
    let device = Device::flex();
    let fast = Axes::new([Axis::new(0), Axis::new(1).with_scale(1024.0)]);
    let rope = RotaryPositionalEncodingConfig::new(4).with_axes(fast);
    let rope = rope.init(&device);
    let rows = [
        Coordinates::new([[0.5, 0.0], [0.0, 0.5], [1e13, 0.5]]).unwrap(),
        Coordinates::new([[0.5, 0.0], [0.0, 8_796_093_022_208.5], [1.0, 1.0]]).unwrap(),
    ];
    let positions = Positions::from_coordinate_rows(&rows).unwrap();
    let x = Tensor::<4>::ones([2, 1, 3, 4], &device);
    let words = "coordinate 8796093022208.5 of axis 1 at row 1, token 1 is out of range: coordinates go from \
                 -4398046511103 to 4398046511103";
    assert_says(&refusal(rope.try_rotate_queries(x, &positions)), words);
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
