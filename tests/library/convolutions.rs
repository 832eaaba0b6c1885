//! Positions from convolutions: against `tests/peers/values/convolutions.json`, and their positions.

use std::path::Path;

use burn::module::Param;
use burn::tensor::{Bool, Device, Distribution, FloatDType, Int, Tensor, TensorData};
use pe_burn::conv::{
    PositionalEncodingGenerator, PositionalEncodingGeneratorConfig, Wav2Vec2PositionalConv,
    Wav2Vec2PositionalConvConfig,
};
use pe_burn::{Embed, Grid, Positions};
use pe_tests::{devices, is_card};
use serde::Deserialize;

use crate::{
    assert_close, assert_says, cases, distance, halves, loss, random, refusal, refused, tensor,
    values,
};

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Case {
    Wav2vec2 {
        kernel: usize,
        groups: usize,
        lengths: Vec<usize>,
        left: bool,
        #[serde(flatten)]
        of: Of,
    },
    Peg {
        size: [usize; 2],
        #[serde(flatten)]
        of: Of,
    },
}

#[derive(Deserialize)]
struct Of {
    peer: String,
    shape: [usize; 3],
    x: Vec<f32>,
    weight: Vec<f32>,
    bias: Vec<f32>,
    y: Vec<f64>,
    gradients: Vec<Vec<f64>>,
}

fn all() -> Vec<Case> {
    cases(include_str!("../peers/values/convolutions.json"))
}

fn wav2vec2(kernel: usize, groups: usize, of: &Of, device: &Device) -> Wav2Vec2PositionalConv {
    let d_model = of.shape[2];
    let config = Wav2Vec2PositionalConvConfig::new(d_model).with_kernel(kernel);
    let mut conv = config.with_groups(groups).init(device);
    let shape = [d_model, d_model / groups, kernel];
    conv.weight = Param::from_tensor(tensor(&of.weight, shape, device));
    conv.bias = Param::from_tensor(tensor(&of.bias, [d_model], device));
    conv
}

fn peg(of: &Of, device: &Device) -> PositionalEncodingGenerator {
    let d_model = of.shape[2];
    let mut peg = PositionalEncodingGeneratorConfig::new(d_model).init(device);
    peg.weight = Param::from_tensor(tensor(&of.weight, [d_model, 1, 3, 3], device));
    peg.bias = Param::from_tensor(tensor(&of.bias, [d_model], device));
    peg
}

/// True for a real token.
fn mask(lengths: &[usize], left: bool, seq: usize, device: &Device) -> Tensor<2, Bool> {
    let real = lengths
        .iter()
        .flat_map(|length| (0..seq).map(move |i| (if left { seq - 1 - i } else { i }) < *length));
    let real = TensorData::new(real.collect::<Vec<bool>>(), [lengths.len(), seq]);
    Tensor::from_data(real, device)
}

/// Outputs, and the gradients of the input, the weight and the bias.
#[test]
fn convolutions_of_peers() {
    let mut seen = [0, 0];
    for case in all() {
        for device in devices() {
            let device = device.autodiff();
            let (of, scheme, positions, parameters): (_, Box<dyn Embed>, _, [_; 2]);
            match &case {
                Case::Wav2vec2 {
                    kernel,
                    groups,
                    lengths,
                    left,
                    of: case,
                } => {
                    seen[0] += 1;
                    let conv = wav2vec2(*kernel, *groups, case, &device);
                    let padded = lengths.iter().any(|length| *length < case.shape[1]);
                    positions = match padded {
                        false => Positions::default(),
                        true => {
                            let mask = mask(lengths, *left, case.shape[1], &device);
                            Positions::from_token_mask(mask)
                        }
                    };
                    parameters = [flat(conv.weight.val()), flat(conv.bias.val())];
                    (of, scheme) = (case, Box::new(conv));
                }
                Case::Peg { size, of: case } => {
                    seen[1] += 1;
                    let peg = peg(case, &device);
                    positions = Positions::from(Grid::image(size[0], size[1]));
                    parameters = [flat(peg.weight.val()), flat(peg.bias.val())];
                    (of, scheme) = (case, Box::new(peg));
                }
            }
            let about = format!("{device:?} {} {:?}", of.peer, of.shape);
            let x = tensor(&of.x, of.shape, &device).require_grad();
            let y = scheme.embed(x.clone(), &positions);
            assert_close(&values(y.clone()), &of.y, 1e-6, &about);
            let gradients = loss(y).backward();
            let about = format!("{about} gradient");
            let of_x = values(x.grad(&gradients).unwrap());
            assert_close(&of_x, &of.gradients[0], 2e-6, &about);
            for (parameter, theirs) in parameters.iter().zip(&of.gradients[1..]) {
                let ours = values(parameter(&gradients));
                assert_close(&ours, theirs, 2e-6, &about);
            }
        }
    }
    assert_eq!(seen, [6, 3].map(|count| count * devices().len()));
}

/// What finds the gradient of a parameter, as a row.
fn flat<const D: usize>(
    parameter: Tensor<D>,
) -> Box<dyn Fn(&burn::tensor::Gradients) -> Tensor<1>> {
    Box::new(move |gradients| parameter.grad(gradients).unwrap().flatten(0, D as i32 - 1))
}

/// Padding on either side, by a mask that makes positions and by one that only marks tokens.
#[test]
fn a_padded_row_as_alone() {
    for device in devices() {
        let conv = Wav2Vec2PositionalConvConfig::new(8)
            .with_groups(2)
            .with_kernel(10);
        let conv = conv.init(&device);
        let x = random([3, 9, 8], &device);
        for left in [false, true] {
            let lengths = [9, 5, 1];
            let real = mask(&lengths, left, 9, &device);
            for positions in [
                Positions::from_token_mask(real.clone()),
                Positions::default().with_mask_pad(real.clone().bool_not()),
            ] {
                let y = conv.embed(x.clone(), &positions);
                for (row, length) in lengths.into_iter().enumerate() {
                    let start = if left { 9 - length } else { 0 };
                    let part = |x: &Tensor<3>| {
                        x.clone().slice([row..row + 1, start..start + length, 0..8])
                    };
                    let alone = conv.embed(part(&x), &Positions::default());
                    let off = distance(part(&y), alone);
                    assert!(off <= 1e-6, "{device:?} {left} {length}: {off}");
                }
            }
        }

        // An image of 2 × 3 at the top left of a grid of 4 × 5, after a class token.
        let peg = PositionalEncodingGeneratorConfig::new(8).init(&device);
        let (small, large) = (
            Grid::image(2, 3).with_prefix(1),
            Grid::image(4, 5).with_prefix(1),
        );
        let x = random([1, large.tokens(), 8], &device);
        let inside = [0, 1, 2, 3, 6, 7, 8];
        let padding = (0..large.tokens()).map(|token| !inside.contains(&token));
        let padding = TensorData::new(padding.collect::<Vec<_>>(), [1, large.tokens()]);
        let marked = Positions::from(large).with_mask_pad(Tensor::from_data(padding, &device));
        let inside = Tensor::<1, Int>::from_data(inside.map(|token| token as i32), &device);
        let y = peg.embed(x.clone(), &marked).select(1, inside.clone());
        let alone = peg.embed(x.select(1, inside), &small.into());
        assert!(distance(y, alone) <= 1e-6, "{device:?}");
    }
}

#[test]
fn prefix_tokens_stay_and_the_grid_is_as_without_them() {
    for device in devices() {
        let peg = PositionalEncodingGeneratorConfig::new(4)
            .with_kernel(5)
            .init(&device);
        let grid = Grid::image(3, 2).with_prefix(2);
        let x = random([2, 8, 4], &device);
        let y = peg.embed(x.clone(), &grid.into());
        let first = |x: &Tensor<3>| values(x.clone().slice([0..2, 0..2, 0..4]));
        assert_eq!(first(&y), first(&x), "{device:?}");
        let rest = |x: &Tensor<3>| x.clone().slice([0..2, 2..8, 0..4]);
        let alone = peg.embed(rest(&x), &Grid::image(3, 2).into());
        assert!(distance(rest(&y), alone) <= 1e-6, "{device:?}");
    }
}

/// The same convolution by the names that transformers gives it, those of before and of fairseq, and plain.
#[test]
fn weight_norm_is_folded_when_a_file_is_read() {
    let path = Path::new("peers/values/convolutions.safetensors");
    let case = all().remove(0);
    let Case::Wav2vec2 {
        kernel, groups, of, ..
    } = case
    else {
        panic!("the first case is that of the file");
    };
    let config = Wav2Vec2PositionalConvConfig::new(of.shape[2]).with_kernel(kernel);
    let config = config.with_groups(groups);
    for device in devices() {
        for name in ["encoder.pos_conv_embed.conv", "before", "plain"] {
            let conv = config.init_from_file(path, name, &device).unwrap();
            let y = conv.embed(tensor(&of.x, of.shape, &device), &Positions::default());
            assert_close(&values(y), &of.y, 1e-6, &format!("{device:?} {name}"));
        }
    }
    let device = Device::flex();
    refused! {
        |bad| bad.0.init_from_file(path, bad.1, &device);
        (config.clone(), "conv") => "… has no tensor \"conv.weight\"; it has: …",
        (config.clone().with_kernel(8), "before") =>
            "\"before.weight_g\" has shape [1, 1, 6], but this configuration needs [1, 1, 8]: \
             d_model, d_model / groups, and kernel; 1 for what weight norm sums over",
        (config.with_groups(2), "plain") =>
            "\"plain.weight\" has shape [8, 2, 6], but this configuration needs [8, 4, 6]: \
             d_model, d_model / groups, and kernel; 1 for what weight norm sums over",
    }
}

#[test]
fn positions_that_a_convolution_cannot_use_are_refused() {
    let device = Device::flex();
    let conv = Wav2Vec2PositionalConvConfig::new(16).init(&device);
    let peg = PositionalEncodingGeneratorConfig::new(16).init(&device);
    let x = Tensor::<3>::random([1, 6, 16], Distribution::Default, &device);
    let segments = Tensor::<2, Int>::from_ints([[1, 1, 1, 2, 2, 2]], &device);
    let image = || Grid::image(2, 3);
    let some = Tensor::<2, Int>::from_ints([[1, 0, 2, 3, 4, 5]], &device);
    let some = || Positions::from_grid_ids(image(), some.clone()).unwrap();
    for (positions, got) in [
        (Positions::from(3), "positions from an offset on"),
        (Positions::from_starts([0]), "position ids or starts"),
        (
            Positions::from_id_rows(&[[0, 1, 2, 3, 4, 5]]).unwrap(),
            "position ids or starts",
        ),
        (Positions::from_time_rows(&[[0.5; 6]]).unwrap(), "times"),
        (
            Positions::from_segment_ids(segments),
            "positions of packed rows",
        ),
        (image().into(), "a grid of height × width"),
        (some(), "a grid of height × width"),
    ] {
        let words = format!(
            "this encoding needs tokens in order from position 0 on, as Positions::default() or a padding \
             mask gives them, but got {got}"
        );
        assert_says(&refusal(conv.try_embed(x.clone(), &positions)), &words);
    }
    refused! {
        |positions| peg.try_embed(x.clone(), &positions);
        Positions::default() =>
            "this encoding needs a grid of height × width, but got positions on a line",
        Positions::from(Grid::video(1, 2, 3)) =>
            "this encoding needs a grid of height × width, but got a grid of frames × height × width",
        some() =>
            "this encoding needs the whole of a grid of height × width, but got some tokens of a grid",
    }
    let wide = Tensor::<3>::zeros([1, 6, 17], &device);
    for scheme in [&conv as &dyn Embed, &peg] {
        let words = "the input has d_model 17, but this module was built for d_model 16";
        let result = scheme.try_embed(wide.clone(), &Positions::default());
        assert_says(&refusal(result), words);
    }
}

#[test]
fn empty_input_and_bad_settings() {
    let device = Device::flex();
    let conv = Wav2Vec2PositionalConvConfig::new(16).init(&device);
    let peg = PositionalEncodingGeneratorConfig::new(16).init(&device);
    for [batch, seq] in [[0, 6], [2, 0]] {
        let y = conv.embed(
            Tensor::zeros([batch, seq, 16], &device),
            &Positions::default(),
        );
        assert_eq!(y.dims(), [batch, seq, 16]);
        let grid = Grid::image(seq / 3, 3);
        let y = peg.embed(Tensor::zeros([batch, seq, 16], &device), &grid.into());
        assert_eq!(y.dims(), [batch, seq, 16]);
    }
    let prefix = Grid::image(0, 3).with_prefix(2);
    let x = random([1, 2, 16], &device);
    assert_eq!(distance(peg.embed(x.clone(), &prefix.into()), x), 0.0);

    let config = Wav2Vec2PositionalConvConfig::new(24);
    refused! {
        config.clone() => "d_model must be a multiple of the number of groups, 16; got 24",
        config.clone().with_groups(0) => "groups must be at least 1; got 0",
        config.with_kernel(0) => "kernel must be at least 1; got 0",
        Wav2Vec2PositionalConvConfig::new(0) => "d_model must be at least 1; got 0",
        PositionalEncodingGeneratorConfig::new(8).with_kernel(4) => "kernel must be odd; got 4",
    }
}

/// The sum is computed in f32, and rounded once to the type of the input.
#[test]
fn inputs_of_other_types() {
    for device in devices() {
        let conv = Wav2Vec2PositionalConvConfig::new(16).init(&device);
        let peg = PositionalEncodingGeneratorConfig::new(16).init(&device);
        let grid = Positions::from(Grid::image(3, 4));
        for (dtype, unit) in halves(&device) {
            let x = random([2, 12, 16], &device).cast(dtype);
            for (scheme, at) in [(&conv as &dyn Embed, &Positions::default()), (&peg, &grid)] {
                let y = scheme.embed(x.clone(), at);
                assert_eq!(y.dtype(), dtype.into());
                let wide = scheme
                    .embed(x.clone().cast(FloatDType::F32), at)
                    .cast(dtype);
                // Among fused operations on a card Burn's convolution may round the last place otherwise.
                let bound = if is_card(&device) { 2.0 * unit } else { 0.0 };
                assert_eq!(y.dims(), wide.dims());
                for (y, wide) in values(y).into_iter().zip(values(wide)) {
                    let apart = (y - wide).abs();
                    assert!(
                        apart <= bound * wide.abs(),
                        "{device:?} {dtype:?}: {y} {wide}"
                    );
                }
            }
        }
    }
}
