use super::*;

use std::prelude::rust_2024::*;

use crate::testing::{assert_says, refusal, refused, values};

#[test]
fn settings_out_of_bounds_are_refused() {
    let config = LearnedPositionalEmbeddingConfig::new(8, 16);
    refused! {
        LearnedPositionalEmbeddingConfig::new(0, 16) => "d_model must be at least 1; got 0",
        LearnedPositionalEmbeddingConfig::new(8, 0) => "max_len must be at least 1; got 0",
        config.clone().with_dropout(1.5) => "… got 1.5",
        config.clone().with_input_scale(InputScale::Factor(f64::INFINITY)) => "… got inf",
        LearnedPositionalEmbeddingConfig::new(8192, 16).with_padding_index(1 << 51) =>
            "2251799813685265 rows of width 8192 do not fit into memory",
        config.clone().with_padding_index(usize::MAX) =>
            "… goes past the largest position, 4503599627370495",
    }
}

#[test]
fn rows_start_as_the_configuration_says() {
    let device = Device::flex();
    let config = LearnedPositionalEmbeddingConfig::new(64, 200);
    let weight = values(config.init(&device).weight.val());
    let mean = weight.iter().sum::<f32>() / weight.len() as f32;
    let variance = weight.iter().map(|w| (w - mean).powi(2)).sum::<f32>() / weight.len() as f32;
    assert!(
        mean.abs() < 1e-3 && (variance.sqrt() - 0.02).abs() < 1e-3,
        "{mean} {variance}"
    );

    let constant = config
        .clone()
        .with_init(Initializer::Constant { value: 3.0 })
        .init(&device);
    assert!(values(constant.weight.val()).iter().all(|w| *w == 3.0));
    for fan in [
        Initializer::XavierNormal { gain: 1.0 },
        Initializer::KaimingUniform {
            gain: 1.0,
            fan_out_only: false,
        },
    ] {
        let module = config.clone().with_init(fan).init(&device);
        assert!(values(module.weight.val()).iter().any(|w| *w != 0.0));
    }
    let sinusoid = config.with_init(TableInit::Sinusoidal).init(&device);
    assert_eq!(
        values(sinusoid.weight.val()),
        Spectrum::new(64, 1e4).unwrap().rows::<f32>(0..200).unwrap()
    );
}

#[test]
fn a_configuration_is_read_and_written_as_data() {
    let full = LearnedPositionalEmbeddingConfig::new(12, 9)
        .with_init(TableInit::Sinusoidal)
        .with_dropout(0.2)
        .with_input_scale(InputScale::SqrtDModel)
        .with_padding_index(1);
    let json = serde_json::to_string(&full).unwrap();
    assert_eq!(
        json,
        r#"{"d_model":12,"max_len":9,"init":"sinusoidal","dropout":0.2,"input_scale":"sqrt_d_model","padding_index":1}"#
    );
    let read = |json| serde_json::from_str::<LearnedPositionalEmbeddingConfig>(json).unwrap();
    assert_eq!(read(&json), full);
    let values = full.with_init(Initializer::Zeros);
    assert_eq!(read(&serde_json::to_string(&values).unwrap()), values);
}

#[test]
fn an_empty_input_is_no_error() {
    let device = Device::flex();
    let pe = LearnedPositionalEmbeddingConfig::new(3, 4).init(&device);
    let sum = pe.forward(Tensor::empty([2, 0, 3], &device));
    assert_eq!(sum.dims(), [2, 0, 3]);
    let rows = pe.encode(&Positions::default(), 0).unwrap();
    assert_eq!(rows.dims(), [1, 0, 3]);
}

#[test]
fn the_limit_is_that_of_a_table_that_was_put_in_place() {
    let device = Device::flex();
    let mut pe = LearnedPositionalEmbeddingConfig::new(2, 20).init(&device);
    pe.weight = Param::from_tensor(Tensor::ones([10, 2], &device));
    assert_eq!(pe.encode(&Positions::from(8), 2).unwrap().dims(), [1, 2, 2]);
    let x = Tensor::zeros([1, 2, 2], &device);
    let message = refusal(pe.try_embed(x.clone(), &Positions::from(9)));
    let words = "position 10 is past the end: this module has positions 0 to 9 (max_len 10)";
    assert_says(&message, words);
    pe.weight = Param::from_tensor(Tensor::ones([30, 3], &device));
    let rows = pe.encode(&Positions::from(28), 2).unwrap();
    assert_eq!(rows.dims(), [1, 2, 3]);
    let message = refusal(pe.try_embed(x, &Positions::default()));
    let words = "the input has d_model 2, but this module was built for d_model 3";
    assert_says(&message, words);
}
