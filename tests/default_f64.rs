//! On a device whose default float type is f64. A process of its own: the default is set once.

use burn::module::Module;
use burn::tensor::{DType, Device, FloatDType, Tensor};
use pe_burn::content::ShawConfig;
use pe_burn::embedding::Gain;
use pe_burn::{
    AlibiConfig, Axes, Bias, Embed, Grid, Layout, LearnedPositionalEmbeddingConfig, Positions,
    RotaryPositionalEncodingConfig, Rotate, ScoreBias, SinusoidalPositionalEncodingConfig,
    Spectrum, T5RelativeBiasConfig,
};

fn numbers<const D: usize>(x: Tensor<D>) -> Vec<f64> {
    assert_eq!(x.dtype(), DType::F64);
    x.into_data().iter().collect()
}

/// The product of a row and a gain may be rounded before it is summed, or after.
fn close(a: &[f64], b: &[f64]) -> bool {
    let mut pairs = a.iter().zip(b);
    a.len() == b.len() && pairs.all(|(a, b)| (a - b).abs() <= 3e-16)
}

#[test]
fn the_buffer_is_f64_and_serves_every_type() {
    let mut device = Device::flex();
    device.configure(FloatDType::F64).unwrap();
    for gain in [1.0, 0.3] {
        let config = SinusoidalPositionalEncodingConfig::new(7).with_gain(Gain::Fixed(gain));
        let exact: Vec<f64> = Spectrum::new(7, 1e4).unwrap().rows(5..13).unwrap();
        let exact: Vec<f64> = exact.iter().map(|entry| gain * entry).collect();
        // All in the buffer, none of them, some of them.
        for max_len in [20, 1, 8] {
            let pe = config.clone().with_max_len(max_len).init(&device);
            let rows = pe.encode(&Positions::from(5), 8).unwrap();
            assert!(close(&numbers(rows), &exact));

            let x = Tensor::<3>::zeros([2, 8, 7], (&device, DType::F32));
            let y = pe.embed(x, &Positions::from(5));
            assert_eq!(y.dtype(), DType::F32);
            let rounded: Vec<f32> = exact
                .iter()
                .chain(&exact)
                .map(|entry| *entry as f32)
                .collect();
            assert_eq!(y.into_data().iter::<f32>().collect::<Vec<_>>(), rounded);

            let x = Tensor::<3>::ones([1, 8, 7], &device);
            let y = pe.embed(x, &Positions::from(5));
            let sums: Vec<f64> = exact.iter().map(|entry| 1.0 + entry).collect();
            assert!(close(&numbers(y), &sums));
        }
    }
    let learned = LearnedPositionalEmbeddingConfig::new(7, 20).init(&device);
    assert_eq!(
        learned.forward(Tensor::zeros([1, 20, 7], &device)).dtype(),
        DType::F64
    );
    assert_eq!(learned.num_params(), 140);

    grids(&device);
    content(&device);
    rotations(&device);
    biases(&device);
}

fn grids(device: &Device) {
    let pe = SinusoidalPositionalEncodingConfig::new(8)
        .with_axes(Axes::HEIGHT_WIDTH)
        .init(device);
    let rows = numbers(
        pe.encode(&Grid::image(2, 3).with_prefix(1).into(), 7)
            .unwrap(),
    );
    let axis: Vec<f64> = Spectrum::new(4, 1e4).unwrap().rows(0..3).unwrap();
    let places = (0..2).flat_map(|h| (0..3).map(move |w| (h, w)));
    let cells = places.flat_map(|(h, w)| [&axis[4 * h..][..4], &axis[4 * w..][..4]].concat());
    assert_eq!(rows[..8], [0.0; 8]);
    assert_eq!(rows[8..], cells.collect::<Vec<f64>>());
}

fn rotations(device: &Device) {
    let rope = RotaryPositionalEncodingConfig::new(4)
        .with_layout(Layout::Halves)
        .with_max_len(10)
        .init(device);
    for position in [3, 100_000] {
        let x = Tensor::<4>::from_data([[[[1.0, 2.0, 3.0, 4.0]]]], (device, DType::F64));
        let y = numbers(rope.rotate_queries(x, &Positions::from(position)));
        let row: Vec<f64> = Spectrum::new(4, 1e4)
            .unwrap()
            .with_layout(Layout::Halves)
            .rows(position..position + 1)
            .unwrap();
        let expected = [
            row[2] - 3.0 * row[0],
            2.0 * row[3] - 4.0 * row[1],
            row[0] + 3.0 * row[2],
            2.0 * row[1] + 4.0 * row[3],
        ];
        for (y, expected) in y.iter().zip(expected) {
            assert!((y - expected).abs() <= 1e-15, "{y} {expected}");
        }
    }
}

/// In the type of their parameters; ALiBi, which has none, in the type that they would have.
fn biases(device: &Device) {
    let at = Positions::default();
    let t5 = T5RelativeBiasConfig::new(2).init(device);
    let weight = numbers(t5.weight.val());
    let bias = numbers(t5.bias((&at, 3), (&at, 3)));
    assert!(bias.iter().all(|value| weight.contains(value)));
    let alibi = AlibiConfig::new(2).init(device);
    assert_eq!(alibi.bias((&at, 0), (&at, 2)).dtype(), DType::F64);
    assert_eq!(
        numbers(alibi.bias((&at, 2), (&at, 2))),
        [
            0.0,
            -0.0625,
            -0.0625,
            0.0,
            0.0,
            -0.00390625,
            -0.00390625,
            0.0
        ]
    );
}

/// What Shaw adds is linear in the table, and its gradient is the queries over the root of their width.
fn content(device: &Device) {
    let device = device.clone().autodiff();
    let shaw = ShawConfig::new(8).with_left(2).with_right(2).init(&device);
    let q = Tensor::<4>::ones([1, 1, 1, 8], &device) * 0.3;
    let at = Positions::default();
    let bias = shaw.score_bias((&q, &at), (&q, &at));
    let gradient = shaw.keys.grad(&bias.sum().backward()).unwrap();
    let expected = [
        [0.0; 8],
        [0.0; 8],
        [0.3 / 8f64.sqrt(); 8],
        [0.0; 8],
        [0.0; 8],
    ]
    .concat();
    assert!(close(&numbers(gradient), &expected));
}
