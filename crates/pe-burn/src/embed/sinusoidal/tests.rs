use super::super::InputScale;
use super::*;
use crate::layout::Layout;
use alloc::vec::Vec;

use burn::config::Config;

use std::prelude::rust_2024::*;
use std::{format, vec};

use burn::tensor::DType;

use crate::testing::{assert_says, distance, random, refused, values};

#[test]
fn settings_out_of_bounds_are_refused() {
    let config = || SinusoidalPositionalEncodingConfig::new(8).with_max_len(16);
    refused! {
        SinusoidalPositionalEncodingConfig::new(0) => "d_model must be at least 1; got 0",
        config().with_max_len(0) => "max_len must be at least 1; got 0",
        config().with_base(1.0) =>
            "base must be finite and greater than 1, so that the frequencies base^(-2i/d_model) decrease; got 1",
        config().with_base(-2.5) => "… decrease; got -2.5",
        config().with_base(f64::NAN) => "… decrease; got NaN",
        config().with_base(f64::INFINITY) => "… decrease; got inf",
        config().with_dropout(1.0) => "dropout must be a probability in [0, 1); got 1",
        config().with_dropout(-0.1) => "… in [0, 1); got -0.1",
        config().with_dropout(f64::NAN) => "… in [0, 1); got NaN",
        config().with_gain(Gain::Fixed(f64::NAN)) => "gain must be finite in f32; got NaN",
        config().with_gain(Gain::Learned(f64::INFINITY)) => "gain must be finite in f32; got inf",
        config().with_input_scale(InputScale::Factor(f64::NAN)) =>
            "input_scale must be finite in f32; got NaN",
        config().with_input_scale(InputScale::Factor(1e39)) =>
            "input_scale must be finite in f32; got 1000000000000000000000000000000000000000",
        config().with_max_len(crate::MAX_POSITION) =>
            "4503599627370495 rows of width 8 do not fit into memory",
        config().with_max_len(crate::MAX_POSITION + 2) =>
            "start 0 + seq 4503599627370497 goes past the largest position, 4503599627370495",
    }
}

#[test]
fn the_base_and_the_layout_are_those_of_the_configuration() {
    let device = Device::flex();
    let pe = SinusoidalPositionalEncodingConfig::new(6)
        .with_base(500.0)
        .with_layout(Layout::Halves)
        .init(&device);
    let rows: Vec<f32> = Spectrum::new(6, 500.0)
        .unwrap()
        .with_layout(Layout::Halves)
        .rows(0..9)
        .unwrap();
    assert_eq!(values(pe.encode(&Positions::default(), 9).unwrap()), rows);
    assert_eq!(pe.spectrum().layout(), Layout::Halves);
    assert_eq!(rows[6 * 8], 8_f32.sin());
    assert_eq!(rows[6 * 8 + 3], 8_f32.cos());
}

#[test]
fn the_input_is_multiplied_by_its_scale() {
    let device = Device::flex();
    let x = random([2, 5, 12], &device);
    for (scale, factor) in [
        (InputScale::None, 1.0),
        (InputScale::SqrtDModel, 12_f64.sqrt()),
        (InputScale::Factor(-0.5), -0.5),
    ] {
        let pe = SinusoidalPositionalEncodingConfig::new(12)
            .with_input_scale(scale)
            .init(&device);
        let expected = x.clone() * factor + pe.encode(&Positions::default(), 5).unwrap();
        assert_eq!(distance(pe.forward(x.clone()), expected), 0.0);
    }
}

/// In the rows of the buffer, in those that it grows by, and in rows that are picked by id.
#[test]
fn a_fixed_gain_is_rounded_once() {
    let device = Device::flex();
    let config = SinusoidalPositionalEncodingConfig::new(6).with_max_len(4);
    let gained = config.with_gain(Gain::Fixed(0.3)).init(&device);
    for positions in [
        Positions::default(),
        Positions::from(3),
        Positions::from_starts([900, 2]),
    ] {
        let ids = positions.to_rows(4).unwrap().concat();
        let rows: Vec<f64> = Spectrum::new(6, 1e4).unwrap().rows_at(&ids).unwrap();
        let expected: Vec<f32> = rows.iter().map(|entry| (0.3 * entry) as f32).collect();
        assert_eq!(values(gained.encode(&positions, 4).unwrap()), expected);
    }
}

/// The gradient of sum(gain * PE) over two rows is twice the sum of the table, whatever the
/// checkpointing and the type of the input.
#[test]
fn a_learned_gain_is_trained() {
    struct GradientOf<'a>(&'a burn::tensor::Gradients, Vec<f32>);
    impl burn::module::ModuleVisitor for GradientOf<'_> {
        fn visit_float<const D: usize>(&mut self, param: &burn::module::Param<Tensor<D>>) {
            self.1.extend(values(param.grad(self.0).unwrap()));
        }
    }
    let config = SinusoidalPositionalEncodingConfig::new(6).with_gain(Gain::Learned(2.0));
    let table: Vec<f32> = Spectrum::new(6, 1e4).unwrap().rows(0..4).unwrap();
    let doubled: Vec<f32> = [&table[..], &table[..]]
        .concat()
        .iter()
        .map(|t| 2.0 * t)
        .collect();
    let sum = 2.0 * table.iter().sum::<f32>();
    let device = Device::flex().autodiff();
    for device in [device.clone(), device.gradient_checkpointing()] {
        let pe = config.init(&device);
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            let y = pe.forward(Tensor::zeros([2, 4, 6], (&device, dtype)));
            assert_eq!(y.dtype(), dtype);
            if dtype == DType::F32 {
                assert_eq!(values(y.clone()), doubled);
            }
            let gradients = y.sum().backward();
            let mut gradient = GradientOf(&gradients, vec![]);
            pe.visit(&mut gradient);
            assert!(
                (gradient.1[0] - sum).abs() < 1e-4 * sum.abs(),
                "{dtype:?} {:?} {sum}",
                gradient.1
            );
        }
    }
    // It is in the record, unlike the buffer.
    let record = config
        .clone()
        .with_gain(Gain::Learned(0.5))
        .init(&Device::flex())
        .into_record();
    assert_eq!(record.len(), 1);
    let loaded = config.init(&Device::flex()).load_record(record);
    let expected: Vec<f32> = table.iter().map(|t| 0.5 * t).collect();
    let rows = loaded.encode(&Positions::default(), 4).unwrap();
    assert_eq!(values(rows), expected);
}

#[test]
fn positions_past_a_length_limit_are_refused() {
    let device = Device::flex();
    let config = SinusoidalPositionalEncodingConfig::new(6).with_max_len(10);
    let open = config.init(&device);
    let limited = config.with_length_limit(LengthLimit::Error).init(&device);
    let mask = Tensor::from_data([[true; 12], [false; 12]], &device);
    let two_of_twelve = core::array::from_fn::<bool, 12, _>(|i| i >= 2);
    let padded = Tensor::from_data([two_of_twelve], &device);
    for (positions, seq, last) in [
        (Positions::default(), 10, None),
        (Positions::default(), 11, Some(10)),
        (Positions::from(10), 0, None),
        (Positions::from(9), 1, None),
        (Positions::from(9), 2, Some(10)),
        (Positions::from_starts([0, 8]), 3, Some(10)),
        (Positions::from_id_rows(&[[3, 10, 2]]).unwrap(), 3, Some(10)),
        (Positions::from_id_rows(&[[3, 9, 2]]).unwrap(), 3, None),
        (Positions::from_token_mask(mask), 12, Some(11)),
        // Twelve tokens, ten of them real: the last position is 9.
        (Positions::from_token_mask(padded), 12, None),
    ] {
        let result = limited.encode(&positions, seq);
        match last {
            None => assert_eq!(
                distance(result.unwrap(), open.encode(&positions, seq).unwrap()),
                0.0
            ),
            Some(position) => {
                let error = result.unwrap_err();
                let max_len = 10;
                assert_eq!(error, PositionError::TooLong { position, max_len });
                let words = format!(
                    "position {position} is past the end: this module has positions 0 to 9 (max_len 10)"
                );
                assert_says(&error.to_string(), &words);
                assert!(open.encode(&positions, seq).is_ok());
            }
        }
    }
}

#[test]
fn a_configuration_is_read_and_written_as_data() {
    let full = SinusoidalPositionalEncodingConfig::new(12)
        .with_max_len(7)
        .with_base(3.5)
        .with_layout(Layout::Halves)
        .with_dropout(0.2)
        .with_input_scale(InputScale::Factor(2.0))
        .with_gain(Gain::Learned(0.5))
        .with_length_limit(LengthLimit::Error);
    let json = serde_json::to_string(&full).unwrap();
    assert_eq!(
        json,
        r#"{"d_model":12,"max_len":7,"formula":{"name":"paper","base":3.5},"layout":"halves","dropout":0.2,"input_scale":{"factor":2.0},"gain":{"learned":0.5},"length_limit":"error"}"#
    );
    let read = SinusoidalPositionalEncodingConfig::load_binary(json.as_bytes());
    assert_eq!(read.unwrap(), full);
}
