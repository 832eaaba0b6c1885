//! Bad input gets an error that states the numbers, and the plain forms panic with its words.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::tensor::{Device, Tensor};
use pe_burn::{
    Gain, InputScale, LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig, MAX_POSITION,
    PositionError, Positions, SinusoidalPositionalEncoding, SinusoidalPositionalEncodingConfig,
};

fn config() -> SinusoidalPositionalEncodingConfig {
    SinusoidalPositionalEncodingConfig::new(8).with_max_len(16)
}

/// The words that `f` panics with.
fn panic_message<T>(f: impl FnOnce() -> T) -> String {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => panic!("this should have panicked"),
        Err(payload) => payload
            .downcast_ref::<String>()
            .expect("a formatted message")
            .clone(),
    }
}

#[test]
fn configurations() {
    let device = Device::flex();
    for (bad, words) in [
        (
            SinusoidalPositionalEncodingConfig::new(0),
            "d_model must be at least 1, got 0",
        ),
        (
            config().with_max_len(0),
            "max_len must be at least 1, got 0",
        ),
        (
            config().with_base(1.0),
            "base must be a finite number greater than 1, so that the frequencies base^(-2i/d_model) decrease; got 1",
        ),
        (config().with_base(-2.5), "decrease; got -2.5"),
        (config().with_base(f64::NAN), "decrease; got NaN"),
        (config().with_base(f64::INFINITY), "decrease; got inf"),
        (
            config().with_dropout(1.0),
            "dropout must be a probability in [0, 1), got 1",
        ),
        (config().with_dropout(-0.1), "in [0, 1), got -0.1"),
        (config().with_dropout(f64::NAN), "in [0, 1), got NaN"),
        (
            config().with_gain(Gain::Fixed(f64::NAN)),
            "gain must be a finite number, got NaN",
        ),
        (
            config().with_gain(Gain::Learned(f64::INFINITY)),
            "gain must be a finite number, got inf",
        ),
        (
            config().with_input_scale(InputScale::Factor(f64::NAN)),
            "input_scale must be a finite number, got NaN",
        ),
        (
            config().with_max_len(MAX_POSITION + 2),
            "start 0 + seq 4503599627370497 goes past the largest position, 4503599627370495",
        ),
    ] {
        let message = bad.try_init(&device).unwrap_err().to_string();
        assert!(message.ends_with(words), "{message}");
        assert_eq!(panic_message(|| bad.init(&device)), message);
    }
    let config = LearnedPositionalEmbeddingConfig::new(16, 8);
    for (bad, words) in [
        (
            LearnedPositionalEmbeddingConfig::new(16, 0),
            "d_model must be at least 1, got 0",
        ),
        (
            LearnedPositionalEmbeddingConfig::new(0, 8),
            "max_len must be at least 1, got 0",
        ),
        (config.clone().with_dropout(1.5), "got 1.5"),
        (
            config
                .clone()
                .with_input_scale(InputScale::Factor(f64::INFINITY)),
            "got inf",
        ),
        (
            config.clone().with_padding_index(Some(usize::MAX)),
            "goes past the largest position, 4503599627370495",
        ),
    ] {
        let message = bad.try_init(&device).unwrap_err().to_string();
        assert!(message.ends_with(words), "{message}");
        assert_eq!(panic_message(|| bad.init(&device)), message);
    }
}

/// What is wrong with an input whatever the encoding.
fn inputs() -> Vec<(Tensor<3>, Positions, &'static str)> {
    let device = Device::flex();
    let x = |batch, seq| Tensor::<3>::zeros([batch, seq, 8], &device);
    let mask =
        |batch, seq| Positions::from_token_mask(Tensor::<2>::ones([batch, seq], &device).bool());
    vec![
        (
            Tensor::zeros([2, 3, 7], &device),
            Positions::default(),
            "the input has d_model 7, but this encoding was built for d_model 8",
        ),
        (
            Tensor::zeros([2, 3, 1], &device),
            Positions::default(),
            "the input has d_model 1, but this encoding was built for d_model 8",
        ),
        (
            x(2, 3),
            Positions::from_starts([0, 1, 2]),
            "the list of starts has shape [3, 3], but the input needs [2, 3]",
        ),
        (
            x(2, 3),
            Positions::from_id_rows(&[[0, 1], [2, 3]]),
            "the tensor of position ids has shape [2, 2], but the input needs [2, 3]",
        ),
        (
            x(2, 3),
            mask(3, 2),
            "the padding mask has shape [3, 2], but the input needs [2, 3]",
        ),
        (
            x(2, 3),
            Positions::from_segment_ids(Tensor::from_ints([[1, 1, 1, 1], [1, 1, 1, 1]], &device)),
            "the tensor of segment ids has shape [2, 4], but the input needs [2, 3]",
        ),
        (
            x(1, 2),
            Positions::from(MAX_POSITION),
            "start 4503599627370495 + seq 2 goes past the largest position, 4503599627370495",
        ),
        (
            x(2, 3),
            Positions::from_starts([0, usize::MAX]),
            "start 18446744073709551615 + seq 3 goes past the largest position, 4503599627370495",
        ),
    ]
}

fn sinusoidal() -> SinusoidalPositionalEncoding {
    config().init(&Device::flex())
}

fn learned() -> LearnedPositionalEmbedding {
    LearnedPositionalEmbeddingConfig::new(16, 8).init(&Device::flex())
}

#[test]
fn inputs_of_the_sinusoidal_encoding() {
    for (x, positions, words) in inputs() {
        let error = sinusoidal()
            .try_forward_at(x.clone(), &positions)
            .unwrap_err();
        assert_eq!(error.to_string(), words);
        assert_eq!(
            panic_message(|| sinusoidal().forward_at(x, &positions)),
            words
        );
    }
}

#[test]
fn inputs_of_the_learned_embedding() {
    for (x, positions, words) in inputs() {
        let error = learned().try_forward_at(x.clone(), &positions).unwrap_err();
        assert_eq!(error.to_string(), words);
        assert_eq!(panic_message(|| learned().forward_at(x, &positions)), words);
    }
}

#[test]
fn other_plain_forms() {
    let long = Tensor::zeros([1, 17, 8], &Device::flex());
    let words = "position 16 is past the end: this encoding has positions 0 to 15 (max_len 16)";
    assert_eq!(panic_message(|| learned().forward(long)), words);
    assert_eq!(
        panic_message(|| learned().encode(&Positions::from(16), 1)),
        words
    );
    let ids = Positions::from_id_rows(&[[0, 1]]);
    let words = "the tensor of position ids has shape [1, 2], but the input needs [1, 3]";
    assert_eq!(panic_message(|| sinusoidal().encode(&ids, 3)), words);
    assert_eq!(panic_message(|| ids.to_rows(3)), words);
}

#[test]
fn a_quantized_input() {
    use burn::tensor::quantization::QuantScheme;
    let device = Device::flex();
    let x = Tensor::<3>::ones([2, 3, 8], &device).quantize_dynamic(&QuantScheme::default());
    let error = sinusoidal().try_forward(x).unwrap_err();
    assert!(matches!(error, PositionError::DType { .. }), "{error}");
}

/// Two devices need two backends in the build.
#[cfg(feature = "ndarray")]
#[test]
fn an_input_on_another_device() {
    for device in pe_tests::devices().into_iter().skip(1) {
        let x = Tensor::zeros([2, 3, 8], &device);
        let error = sinusoidal().try_forward(x).unwrap_err();
        assert!(matches!(error, PositionError::Device { .. }), "{error}");
    }
}
