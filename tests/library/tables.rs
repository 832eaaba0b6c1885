//! Biases of two axes: against `tests/peers/values/tables.json`, and their positions.

use std::path::Path;

use burn::module::{Module, Param};
use burn::tensor::{Device, FloatDType, Int, Tensor};
use pe_burn::embedding::Resampling;
use pe_burn::grid::{
    BeitRelativeBiasConfig, LevitRelativeBiasConfig, SwinRelativeBiasConfig,
    SwinV2RelativeBiasConfig,
};
use pe_burn::{Bias, Grid, Positions};
use pe_tests::devices;
use serde::Deserialize;

use crate::{
    assert_close, assert_says, cases, distance, loss, refusal, refused, tensor, types, values,
};

#[derive(Deserialize)]
struct Of {
    peer: String,
    heads: usize,
    window: [usize; 2],
    stride: Option<usize>,
    pretrained_window: Option<[usize; 2]>,
    parameters: Vec<Vec<f32>>,
    bias: Vec<f64>,
    gradients: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Resized {
    peer: String,
    how: Resampling,
    from: [usize; 2],
    to: [usize; 2],
    extra: usize,
    heads: usize,
    table: Vec<f32>,
    expected: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Case {
    Swin(Of),
    Beit(Of),
    Levit(Of),
    SwinV2(Of),
    Resized(Resized),
}

fn all() -> Vec<Case> {
    cases(include_str!("../peers/values/tables.json"))
}

/// The positions of a grid behind a number of prefix tokens, and how many there are.
fn grid([height, width]: [usize; 2], prefix: usize) -> (Positions, usize) {
    let grid = Grid::image(height, width).with_prefix(prefix);
    (grid.into(), grid.tokens())
}

/// The biases of all tokens to each other.
fn among(bias: &dyn Bias, (at, tokens): (Positions, usize)) -> Tensor<4> {
    bias.bias((&at, tokens), (&at, tokens))
}

/// A parameter of a number of rows.
fn matrix(numbers: &[f32], rows: usize, device: &Device) -> Param<Tensor<2>> {
    Param::from_tensor(tensor(numbers, [rows, numbers.len() / rows], device))
}

/// A bias by its table is an entry of it, written as a decimal. The gradients are sums of whole numbers.
#[test]
fn tables_of_peers() {
    let mut seen = 0;
    for case in all() {
        for device in devices() {
            let device = device.autodiff();
            let (of, bias, weight) = match &case {
                Case::Swin(of) => {
                    let mut swin = SwinRelativeBiasConfig::new(of.heads, of.window).init(&device);
                    let [rows, _] = swin.weight.val().dims();
                    swin.weight = matrix(&of.parameters[0], rows, &device);
                    (of, among(&swin, grid(of.window, 0)), swin.weight)
                }
                Case::Beit(of) => {
                    let mut beit = BeitRelativeBiasConfig::new(of.heads, of.window).init(&device);
                    let [rows, _] = beit.weight.val().dims();
                    beit.weight = matrix(&of.parameters[0], rows, &device);
                    (of, among(&beit, grid(of.window, 1)), beit.weight)
                }
                Case::Levit(of) => {
                    let stride = of.stride.unwrap();
                    let config = LevitRelativeBiasConfig::new(of.heads, of.window);
                    let mut levit = config.with_stride(stride).init(&device);
                    levit.weight = matrix(&of.parameters[0], of.heads, &device);
                    let (queries, coarse) = grid(of.window.map(|side| side.div_ceil(stride)), 0);
                    let (keys, fine) = grid(of.window, 0);
                    let bias = levit.bias((&queries, coarse), (&keys, fine));
                    (of, bias, levit.weight)
                }
                Case::SwinV2(_) | Case::Resized(_) => continue,
            };
            seen += 1;
            let about = format!("{device:?} {} {:?}", of.peer, of.window);
            assert_close(&values(bias.clone()), &of.bias, 6e-8, &about);
            let gradients = loss(bias).backward();
            let gradient = values(weight.val().grad(&gradients).unwrap());
            let about = format!("{about} gradient");
            assert_close(&gradient, &of.gradients[0], 0.0, &about);
        }
    }
    assert_eq!(seen, 14 * devices().len());
}

/// The network computes in f32: two sums of 3 and 32 terms, and a sigmoid.
#[test]
fn the_network_of_swin_v2() {
    let mut seen = 0;
    for case in all() {
        let Case::SwinV2(of) = case else { continue };
        seen += 1;
        for device in devices() {
            let device = device.autodiff();
            let [inner, inner_bias, outer] = [0, 1, 2].map(|i| &of.parameters[i]);
            let mut config = SwinV2RelativeBiasConfig::new(of.heads, of.window);
            config.pretrained_window = of.pretrained_window;
            config.hidden = inner_bias.len();
            let mut swin = config.init(&device);
            let transposed = |numbers: &[f32], rows: usize| {
                let numbers = tensor(numbers, [rows, numbers.len() / rows], &device);
                Param::from_tensor(numbers.transpose())
            };
            swin.inner.weight = transposed(inner, config.hidden);
            let inner_bias = tensor(inner_bias, [config.hidden], &device);
            swin.inner.bias = Some(Param::from_tensor(inner_bias));
            swin.outer.weight = transposed(outer, of.heads);
            let bias = among(&swin, grid(of.window, 0));
            let about = format!("{device:?} {} {:?}", of.peer, of.window);
            assert_close(&values(bias.clone()), &of.bias, 1e-6, &about);
            let gradients = loss(bias).backward();
            let matrix = |weight: &Param<Tensor<2>>| {
                values(weight.val().grad(&gradients).unwrap().transpose())
            };
            let bias = swin.inner.bias.as_ref().unwrap().val();
            for (ours, theirs) in [
                (matrix(&swin.inner.weight), &of.gradients[0]),
                (values(bias.grad(&gradients).unwrap()), &of.gradients[1]),
                (matrix(&swin.outer.weight), &of.gradients[2]),
            ] {
                // WGSL allows exp, which is in the sigmoid, a larger error than a processor's has.
                let bound = match device.supports_dtype(FloatDType::F64) {
                    true => 3e-6,
                    false => 1e-5,
                };
                assert_close(&ours, theirs, bound, &format!("{about} gradient"));
            }
        }
    }
    assert_eq!(seen, 4);
}

/// timm interpolates between distances that it rounds to f32.
#[test]
fn tables_are_resized_as_by_their_peers() {
    let mut seen = 0;
    for case in all() {
        let Case::Resized(of) = case else { continue };
        seen += 1;
        for device in devices() {
            let about = format!("{device:?} {} {:?} to {:?}", of.peer, of.from, of.to);
            let rows = of.table.len() / of.heads;
            let table = matrix(&of.table, rows, &device);
            let resized = if of.extra == 0 {
                let mut swin = SwinRelativeBiasConfig::new(of.heads, of.from).init(&device);
                swin.weight = table;
                let swin = swin.resize(of.to, of.how).unwrap();
                assert_eq!(swin.config().window, of.to);
                let tokens = of.to[0] * of.to[1];
                let bias = among(&swin, grid(of.to, 0));
                assert_eq!(bias.dims(), [1, of.heads, tokens, tokens], "{about}");
                swin.weight
            } else {
                let mut beit = BeitRelativeBiasConfig::new(of.heads, of.from).init(&device);
                beit.weight = table;
                let beit = beit.resize(of.to, of.how).unwrap();
                assert_eq!(beit.config().window, of.to);
                beit.weight
            };
            assert_close(&values(resized.val()), &of.expected, 1e-6, &about);
        }
    }
    assert_eq!(seen, 11);
}

#[test]
fn a_resized_table_is_trained_if_the_old_one_is() {
    let swin = SwinRelativeBiasConfig::new(2, [3, 3]).init(&Device::flex());
    let larger = swin.clone().resize([4, 5], Resampling::Geometric).unwrap();
    assert_eq!(larger.weight.val().dims(), [7 * 9, 2]);
    assert!(larger.weight.id != swin.weight.id && larger.train().weight.is_require_grad());
    let frozen = swin
        .clone()
        .no_grad()
        .resize([2, 3], Resampling::Bicubic)
        .unwrap();
    assert!(!frozen.train().weight.is_require_grad());
    // The same window is the same parameter.
    let same = swin.clone().resize([3, 3], Resampling::Bicubic).unwrap();
    assert_eq!(same.weight.id, swin.weight.id);
}

/// Some tokens of a window, in any order, have the biases that they have among all; so have those of a
/// window within a larger grid.
#[test]
fn some_tokens_of_a_grid_as_among_all() {
    let ids = [[4, 0, 11, 7, 7], [3, 8, 1, 2, 10]];
    for device in devices() {
        let some = |grid: Grid, ids: [[i32; 5]; 2]| {
            let ids = Tensor::<2, Int>::from_data(ids, &device);
            Positions::from_grid_ids(grid, ids).unwrap()
        };
        let swin = SwinRelativeBiasConfig::new(2, [3, 4]).init(&device);
        let v2 = SwinV2RelativeBiasConfig::new(2, [3, 4]).init(&device);
        let beit = BeitRelativeBiasConfig::new(2, [3, 4]).with_init(normal());
        let levit = LevitRelativeBiasConfig::new(2, [3, 4]).with_init(normal());
        let (beit, levit) = (beit.init(&device), levit.init(&device));
        for (prefix, bias) in [(0, &swin as &dyn Bias), (0, &v2), (1, &beit), (0, &levit)] {
            let window = Grid::image(3, 4).with_prefix(prefix);
            let all = Positions::from(window);
            let tokens = window.tokens();
            let whole = bias.bias((&all, tokens), (&all, tokens));
            let few = some(window, ids);
            let picked = |row: usize| {
                let ids = Tensor::<1, Int>::from_data(ids[row], &device);
                whole.clone().select(2, ids)
            };
            let rows = Tensor::cat(vec![picked(0), picked(1)], 0);
            let of_few = bias.bias((&few, 5), (&all, tokens));
            // Of the size of the values: those of Swin V2 go up to 16, where an f32 has steps of 1e-6.
            let largest = whole.clone().abs().max().into_scalar::<f32>();
            let bound = 1e-6 * largest.max(1.0);
            let off = distance(of_few, rows);
            assert!(off < bound, "{device:?} {bias:p}: {off:e}");

            // The same window at rows 5 and columns 6 of a grid of 100 × 10, and at its start, far apart.
            let big = Grid::image(100, 10).with_prefix(prefix);
            let place = |id: i32, corner: i32| match id - prefix as i32 {
                cell if cell < 0 => id,
                cell => prefix as i32 + corner + cell / 4 * 10 + cell % 4,
            };
            let there = [
                ids[0].map(|id| place(id, 956)),
                ids[1].map(|id| place(id, 0)),
            ];
            let moved = some(big, there);
            let (near, far) = (among(bias, (few, 5)), among(bias, (moved, 5)));
            assert!(distance(far, near) < bound, "{device:?}");
        }
    }
}

fn normal() -> burn::module::Initializer {
    burn::module::Initializer::Normal {
        mean: 0.0,
        std: 1.0,
    }
}

/// Any number of prefix tokens shares BEiT's three biases, and without one the table is Swin's.
#[test]
fn prefix_tokens_of_beit() {
    for device in devices() {
        let beit = BeitRelativeBiasConfig::new(1, [2, 3])
            .with_init(normal())
            .init(&device);
        let [rows, _] = beit.weight.val().dims();
        let table = values(beit.weight.val());
        let of = |prefix: usize| {
            let bias = values(among(&beit, grid([2, 3], prefix)));
            let rows = bias.chunks(6 + prefix).map(<[f32]>::to_vec);
            rows.collect::<Vec<_>>()
        };
        let (none, two) = (of(0), of(2));
        for (query, biases) in two.iter().enumerate() {
            for (key, bias) in biases.iter().enumerate() {
                let expected = match (query < 2, key < 2) {
                    (true, true) => table[rows - 1],
                    (false, true) => table[rows - 2],
                    (true, false) => table[rows - 3],
                    (false, false) => none[query - 2][key - 2],
                };
                assert_eq!(*bias, expected, "{device:?} {query} {key}");
            }
        }
        let mut swin = SwinRelativeBiasConfig::new(1, [2, 3]).init(&device);
        swin.weight = Param::from_tensor(beit.weight.val().slice([0..rows - 3, 0..1]));
        assert_eq!(values(among(&swin, grid([2, 3], 0))), none.concat());
    }
}

#[test]
fn positions_without_a_place_in_the_window_are_refused() {
    let device = Device::flex();
    let swin = SwinRelativeBiasConfig::new(2, [3, 4]).init(&device);
    let beit = BeitRelativeBiasConfig::new(2, [3, 4]).init(&device);
    let levit = LevitRelativeBiasConfig::new(2, [3, 4])
        .with_stride(2)
        .init(&device);
    let v2 = SwinV2RelativeBiasConfig::new(2, [3, 4]).init(&device);
    let window = Positions::from(Grid::image(3, 4));
    for bias in [&swin as &dyn Bias, &beit, &levit, &v2] {
        refused! {
            |keys| bias.try_bias((&window, 12), (&keys, 12));
            Positions::default() =>
                "this encoding needs a grid of height × width, but got positions on a line",
            Positions::from_id_rows(&[[0; 12]]).unwrap() =>
                "this encoding needs a grid of height × width, but got positions on a line",
            Positions::from_time_rows(&[[0.5; 12]]).unwrap() =>
                "this encoding needs a grid of height × width, but got positions on a line",
        }
        refused! {
            |queries| bias.try_bias(queries, (&window, 12));
            (&Positions::from(Grid::video(2, 2, 3)), 12) =>
                "this encoding needs a grid of height × width, but got a grid of frames × height × width",
            (&window, 11) => "the grid has shape [1, 12], but the input needs [1, 11]",
        }
        let nothing = bias.bias((&Grid::image(0, 4).into(), 0), (&window, 12));
        assert_eq!(nothing.dims(), [1, 2, 0, 12]);
    }
    let prefix = Positions::from(Grid::image(3, 4).with_prefix(2));
    for bias in [&swin as &dyn Bias, &levit, &v2] {
        let words = "the number of prefix tokens among queries and keys must be 0: this bias has none for them, \
                     only BEiT's has; got 2";
        assert_says(&refusal(bias.try_bias((&window, 12), (&prefix, 14))), words);
    }
    let wide = (&Positions::from(Grid::image(2, 5)), 10);
    refused! {
        |result| result;
        swin.try_bias(wide, wide) =>
            "the distance of a query and a key in columns must be at most 3, in a window of 3 × 4; got 4",
        beit.try_bias(wide, wide) =>
            "the distance of a query and a key in columns must be at most 3, in a window of 3 × 4; got 4",
        // Queries on the fine grid, where the layer has a stride.
        levit.try_bias((&window, 12), (&window, 12)) =>
            "the distance of a query and a key in rows must be at most 2, in a window of 3 × 4; got 4",
    }
}

#[test]
fn settings_out_of_bounds_are_refused() {
    let swin = SwinRelativeBiasConfig::new;
    let levit = LevitRelativeBiasConfig::new(3, [7, 7]);
    let v2 = SwinV2RelativeBiasConfig::new(3, [7, 7]);
    refused! {
        swin(0, [7, 7]) => "heads must be at least 1; got 0",
        swin(3, [7, 0]) => "window must be at least 1 and at most 16384 on each side; got 0",
        swin(3, [20_000, 7]) =>
            "window must be at least 1 and at most 16384 on each side; got 20000",
        swin(usize::MAX, [16_384, 16_384]) =>
            "1073676289 rows of width 18446744073709551615 do not fit into memory",
        BeitRelativeBiasConfig::new(3, [0, 7]) =>
            "window must be at least 1 and at most 16384 on each side; got 0",
        levit.with_stride(0) => "stride must be at least 1; got 0",
        v2.clone().with_hidden(0) => "hidden must be at least 1; got 0",
        v2.with_pretrained_window([7, 0]) =>
            "pretrained_window must be at least 1 and at most 16384 on each side; got 0",
    }
    let built = swin(3, [7, 7]).init(&Device::flex());
    let words = "window must be at least 1 and at most 16384 on each side; got 0";
    assert_says(&refusal(built.resize([0, 1], Resampling::Bicubic)), words);
}

/// The tensors of models that transformers saved, by their names in its files.
#[test]
fn tables_are_read_by_name() {
    let path = Path::new("peers/values/tables.safetensors");
    let names = [
        "swin.encoder.layers.0.blocks.0.attention.self.relative_position_bias_table",
        "swinv2.encoder.layers.0.blocks.0.attention.self.continuous_position_bias_mlp",
        "beit.encoder.layer.0.attention.attention.relative_position_bias.relative_position_bias_table",
        "levit.encoder.stages.0.layers.0.module.attention_biases",
        "levit.encoder.stages.0.layers.2.attention_biases",
    ];
    for device in devices() {
        let device = device.autodiff();
        let swin = SwinRelativeBiasConfig::new(2, [3, 3]).init_from_file(path, names[0], &device);
        let swin = swin.unwrap().weight;
        assert_eq!(swin.val().dims(), [25, 2]);
        assert_eq!(values(swin.val())[..2], raw(path, names[0])[..2]);
        let v2 = SwinV2RelativeBiasConfig::new(2, [3, 3]).init_from_file(path, names[1], &device);
        let v2 = v2.unwrap();
        assert!(v2.outer.weight.is_require_grad());
        let transposed = |weight: &Param<Tensor<2>>| values(weight.val().transpose());
        let part = |end: &str| raw(path, &format!("{}.{end}", names[1]));
        assert_eq!(transposed(&v2.inner.weight), part("0.weight"));
        assert_eq!(values(v2.inner.bias.unwrap().val()), part("0.bias"));
        assert_eq!(transposed(&v2.outer.weight), part("2.weight"));
        let beit = BeitRelativeBiasConfig::new(2, [6, 6]).init_from_file(path, names[2], &device);
        assert_eq!(values(beit.unwrap().weight.val()), raw(path, names[2]));
        for (name, stride) in [(names[3], 1), (names[4], 2)] {
            let levit = LevitRelativeBiasConfig::new(2, [3, 3]).with_stride(stride);
            let levit = levit.init_from_file(path, name, &device).unwrap();
            assert_eq!(values(levit.weight.val()), raw(path, name));
        }
    }
    let device = Device::flex();
    let error = SwinRelativeBiasConfig::new(2, [3, 4]).init_from_file(path, names[0], &device);
    let words = format!(
        "\"{}\" has shape [25, 2], but this configuration needs [35, 2]: (2 height − 1)(2 width − 1) of \
         the window, and heads",
        names[0]
    );
    assert_says(&refusal(error), &words);
    let error = SwinV2RelativeBiasConfig::new(3, [3, 3]).init_from_file(path, names[1], &device);
    let words = "… [2, 512], but this configuration needs [3, 512]: heads, and hidden width";
    assert_says(&refusal(error), words);
    let error = BeitRelativeBiasConfig::new(2, [6, 6]).init_from_file(path, "table", &device);
    let message = refusal(error);
    assert!(message.contains("has no tensor \"table\"; it has: ") && message.contains(names[0]));
}

/// The numbers of a tensor of f32 in a safetensors file.
fn raw(path: &Path, name: &str) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    assert_eq!(header[name]["dtype"], "F32");
    let offset = |i: usize| 8 + length + header[name]["data_offsets"][i].as_u64().unwrap() as usize;
    let numbers = bytes[offset(0)..offset(1)].chunks(4);
    numbers
        .map(|four| f32::from_le_bytes(four.try_into().unwrap()))
        .collect()
}

/// A bias is in the type of its table. Half precision loses digits of the entries, and none of the offsets.
#[test]
fn tables_in_other_types() {
    for device in devices() {
        let swin = SwinRelativeBiasConfig::new(2, [60, 50]).init(&device);
        let at = Tensor::<2, Int>::from_ints([[0, 49, 2_950, 2_999, 1_234]], &device);
        let at = Positions::from_grid_ids(Grid::image(60, 50), at).unwrap();
        let single = among(&swin, (at.clone(), 5));
        for dtype in types(&device) {
            let mut other = swin.clone();
            other.weight = Param::from_tensor(swin.weight.val().cast(dtype));
            let bias = among(&other, (at.clone(), 5));
            assert_eq!(bias.dtype(), dtype.into());
            let rounded = single.clone().cast(dtype);
            assert_eq!(values(bias), values(rounded), "{device:?}");

            let resized = other.resize([6, 5], Resampling::Bicubic).unwrap();
            assert_eq!(resized.weight.val().dtype(), dtype.into());
        }
    }
}
