//! Coordinates: what takes them and refuses them, and the settings of axes that do not fit.

use burn::tensor::{Device, Tensor};
use pe_burn::axes::{Axis, AxisFrequencies};
use pe_burn::coordinates::Part;
use pe_burn::scaling::Dynamic;
use pe_burn::{
    AlibiConfig, AlibiShape, Axes, Bias, Coordinates, Embed, FireConfig, Grid, KerpleConfig,
    LearnedPositionalEmbeddingConfig, Positions, RotaryPositionalEncodingConfig, Rotate,
    SinusoidalPositionalEncodingConfig, T5RelativeBiasConfig, XPosPositionalEncodingConfig,
};

use crate::{assert_says, assert_within, distance, random, refusal, refused, values};

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
