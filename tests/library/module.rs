//! Both encodings as Burn modules: parameters, records, devices, autodiff.

use burn::module::{Module, Param};
use burn::store::ModuleRecord;
use burn::tensor::{Device, Tensor};
use pe_burn::grid::{BeitRelativeBiasConfig, LevitRelativeBiasConfig, SwinRelativeBiasConfig};
use pe_burn::{
    Axes, Bias, Embed, Grid, LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig,
    Positions, RotaryPositionalEncodingConfig, Rotate, SinusoidalPositionalEncoding,
    SinusoidalPositionalEncodingConfig, Spectrum, T5RelativeBiasConfig,
};
use pe_tests::devices;

use crate::{distance, random, same_with_autodiff_on_and_off, tensor, values};

fn sinusoidal(device: &Device) -> SinusoidalPositionalEncoding {
    SinusoidalPositionalEncodingConfig::new(8)
        .with_max_len(20)
        .init(device)
}

#[test]
fn the_buffer_is_not_in_the_record_and_is_there_after_a_load() {
    let device = Device::flex();
    let record = sinusoidal(&device).into_record();
    assert!(record.is_empty());
    let bytes = record.into_bytes().unwrap();
    let loaded = sinusoidal(&device).load_record(ModuleRecord::from_bytes(bytes).unwrap());
    let rows: Vec<f32> = Spectrum::new(8, 1e4).unwrap().rows(0..20).unwrap();
    let encoded = loaded.encode(&Positions::default(), 20).unwrap();
    assert_eq!(values(encoded), rows);
}

#[test]
fn the_learned_table_goes_through_a_record() {
    let device = Device::flex();
    let config = LearnedPositionalEmbeddingConfig::new(8, 20);
    let (first, second) = (config.init(&device), config.init(&device));
    let rows_of = |pe: &LearnedPositionalEmbedding| pe.encode(&Positions::default(), 20).unwrap();
    let rows = rows_of(&first);
    assert!(distance(rows.clone(), rows_of(&second)) > 0.0);
    let record = first.into_record();
    assert_eq!(record.len(), 1);
    let bytes = record.into_bytes().unwrap();
    let loaded = second.load_record(ModuleRecord::from_bytes(bytes).unwrap());
    assert_eq!(distance(rows_of(&loaded), rows), 0.0);
}

/// A module with one parameter, as the record of a table of biases has it.
#[derive(Module, Debug)]
struct Table {
    weight: Param<Tensor<2>>,
}

/// Swin, BEiT and LeViT are one type; the parameter of each keeps its name and its shape in a record.
#[test]
fn tables_of_biases_are_the_parameter_weight_of_a_record() {
    let device = Device::flex();
    let window = Positions::from(Grid::image(2, 3));
    let record = |shape: [usize; 2]| {
        let values = Tensor::arange(0..(shape[0] * shape[1]) as i64, &device).float();
        let weight = Param::from_tensor(values.reshape(shape));
        let bytes = Table { weight }.into_record().into_bytes().unwrap();
        ModuleRecord::from_bytes(bytes).unwrap()
    };
    // Of a token with itself: the offset (0, 0), in the middle of 3 × 5 offsets, first of the 2 × 3 of LeViT.
    let of_itself = |bias: Tensor<4>| values(bias.narrow(2, 0, 1).narrow(3, 0, 1));
    let at = (&window, 6);
    let swin = SwinRelativeBiasConfig::new(2, [2, 3]).init(&device);
    let swin = swin.load_record(record([15, 2]));
    assert_eq!(of_itself(swin.bias(at, at)), [14.0, 15.0]);
    let beit = BeitRelativeBiasConfig::new(2, [2, 3]).init(&device);
    let beit = beit.load_record(record([18, 2]));
    assert_eq!(of_itself(beit.bias(at, at)), [14.0, 15.0]);
    let levit = LevitRelativeBiasConfig::new(2, [2, 3]).init(&device);
    let levit = levit.load_record(record([2, 6]));
    assert_eq!(of_itself(levit.bias(at, at)), [0.0, 6.0]);
}

/// The buffer follows the module to every device in the build, and works there.
#[test]
fn moves_to_other_devices() {
    let rows: Vec<f32> = Spectrum::new(8, 1e4).unwrap().rows(0..4).unwrap();
    for from in devices() {
        for to in devices() {
            for moved in [
                sinusoidal(&from).to_device(&to),
                sinusoidal(&from).fork(&to),
            ] {
                assert_eq!(moved.devices(), std::slice::from_ref(&to));
                let x = Tensor::zeros([1, 4, 8], &to);
                assert_eq!(values(moved.forward(x)), rows, "{from:?} to {to:?}");
            }
            let learned = LearnedPositionalEmbeddingConfig::new(8, 20).init(&from);
            let weight = values(learned.encode(&Positions::default(), 4).unwrap());
            let there = learned.fork(&to).forward(Tensor::zeros([1, 4, 8], &to));
            assert_eq!(values(there), weight, "{from:?} to {to:?}");
        }
    }
}

/// Tables of whole numbers follow too: LibTorch has `i64` alone, WebGPU `i32`.
#[test]
fn whole_numbers_move_to_other_devices() {
    let ids = Positions::from_id_rows(&[[3, 1, 4, 1, 5, 9]]).unwrap();
    let image = Positions::from(Grid::image(2, 3));
    let rotary = RotaryPositionalEncodingConfig::new(16).with_axes(Axes::HEIGHT_WIDTH);
    for from in devices() {
        let t5 = T5RelativeBiasConfig::new(2).init(&from);
        let rope = rotary.init(&from);
        let expected = values(t5.bias((&ids, 6), (&ids, 6)));
        for to in devices() {
            let bias = t5.clone().fork(&to).bias((&ids, 6), (&ids, 6));
            assert_eq!(values(bias), expected, "{from:?} to {to:?}");
            let q = Tensor::ones([1, 2, 6, 16], &to);
            let moved = rope.clone().fork(&to).rotate_queries(q.clone(), &image);
            let new = rotary.init(&to).rotate_queries(q, &image);
            assert_eq!(values(moved), values(new), "{from:?} to {to:?}");
        }
    }
}

#[test]
fn autodiff_on_and_off() {
    same_with_autodiff_on_and_off(sinusoidal, 8);
}

#[test]
fn the_gradient_into_x_is_the_identity() {
    for device in devices() {
        for device in [
            device.clone().autodiff(),
            device.autodiff().gradient_checkpointing(),
        ] {
            let pe = sinusoidal(&device);
            let x = random([2, 5, 8], &device).require_grad();
            let weight = random([2, 5, 8], &device);
            let y = pe.embed(x.clone(), &Positions::from_starts([3, 18]));
            let gradients = (y * weight.clone()).sum().backward();
            let gradient = x.grad(&gradients).unwrap();
            assert_eq!(distance(gradient, weight.inner()), 0.0);
        }
    }
}

/// d/dw of sum(w[p] * c) is c at the rows used, summed over their uses, and zero elsewhere.
#[test]
fn the_gradient_into_the_learned_table() {
    for device in devices() {
        for device in [
            device.clone().autodiff(),
            device.autodiff().gradient_checkpointing(),
        ] {
            let pe = LearnedPositionalEmbeddingConfig::new(2, 6).init(&device);
            let x = random([2, 3, 2], &device).require_grad();
            let c = [1., 2., 3., 4., 5., 6., 10., 20., 30., 40., 50., 60.];
            let c = tensor(&c, [2, 3, 2], &device);
            let check = |positions: Positions, expected: [f32; 12]| {
                let y = pe.embed(x.clone(), &positions);
                let gradients = (y * c.clone()).sum().backward();
                let gradient = pe.weight.grad(&gradients).unwrap();
                assert_eq!(values(gradient), expected, "{device:?} {positions:?}");
                let of_x = x.grad(&gradients).unwrap();
                assert_eq!(distance(of_x, c.clone().inner()), 0.0);
            };
            check(
                Positions::from(2),
                [0., 0., 0., 0., 11., 22., 33., 44., 55., 66., 0., 0.],
            );
            check(
                Positions::from_starts([0, 3]),
                [1., 2., 3., 4., 5., 6., 10., 20., 30., 40., 50., 60.],
            );
            check(
                Positions::from_id_rows(&[[0, 0, 5], [5, 1, 0]]).unwrap(),
                [54., 66., 30., 40., 0., 0., 0., 0., 0., 0., 15., 26.],
            );
        }
    }
}

/// Dropout acts in training only, on the sum, and keeps its mean.
#[test]
fn dropout() {
    let device = Device::flex();
    let training = device.clone().autodiff();
    let config = SinusoidalPositionalEncodingConfig::new(64).with_dropout(0.25);
    let plain = SinusoidalPositionalEncodingConfig::new(64).init(&device);
    let x = random([4, 100, 64], &device);
    let exact = plain.forward(x.clone());
    let module = config.init(&training);
    for outside in [config.init(&device), module.valid()] {
        assert_eq!(distance(outside.forward(x.clone()), exact.clone()), 0.0);
    }

    let dropped = module.forward(Tensor::from_data(x.to_data(), &training));
    let (dropped, exact) = (values(dropped), values(exact));
    let mut zeros = 0;
    for (got, exact) in dropped.iter().zip(&exact) {
        if *got == 0.0 {
            zeros += 1;
        } else {
            assert!((got - exact / 0.75).abs() <= 1e-5 * exact.abs());
        }
    }
    let share = f64::from(zeros) / dropped.len() as f64;
    assert!((share - 0.25).abs() < 0.02, "{share}");
    let learned = LearnedPositionalEmbeddingConfig::new(64, 100)
        .with_dropout(0.5)
        .init(&training);
    let dropped = values(learned.forward(Tensor::ones([1, 100, 64], &training)));
    assert!(dropped.iter().filter(|x| **x == 0.0).count() > 2_500);
}
