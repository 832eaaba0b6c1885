//! Bad input gives an error that names the values, and the plain forms panic with the same message.

use burn::tensor::{Device, Tensor};
use pe_burn::PositionError::TooLarge;
use pe_burn::content::{DebertaConfig, ShawConfig, TransformerXlConfig};
use pe_burn::embedding::Time2VecConfig;
use pe_burn::{
    AlibiConfig, Axes, Bias, Embed, FireConfig, Grid, KerpleConfig, LearnedPositionalEmbedding,
    LearnedPositionalEmbeddingConfig, MAX_POSITION, PositionError, PositionalConfig, Positions,
    ScoreBias, SinusoidalPositionalEncoding, SinusoidalPositionalEncodingConfig, Spectrum,
    T5RelativeBiasConfig,
};

use crate::{assert_panics, assert_says, refusal, scheme};

fn config() -> SinusoidalPositionalEncodingConfig {
    SinusoidalPositionalEncodingConfig::new(8).with_max_len(16)
}

/// Inputs that every encoding refuses, each with the message of its error.
fn inputs() -> Vec<(Tensor<3>, Positions, &'static str)> {
    let device = Device::flex();
    let x = |batch, seq| Tensor::<3>::zeros([batch, seq, 8], &device);
    let mask =
        |batch, seq| Positions::from_token_mask(Tensor::<2>::ones([batch, seq], &device).bool());
    vec![
        (
            Tensor::zeros([2, 3, 7], &device),
            Positions::default(),
            "the input has d_model 7, but this module was built for d_model 8",
        ),
        (
            Tensor::zeros([2, 3, 1], &device),
            Positions::default(),
            "the input has d_model 1, but this module was built for d_model 8",
        ),
        (
            x(2, 3),
            Positions::from_starts([0, 1, 2]),
            "there are 3 starts for a batch of 2 rows",
        ),
        (
            x(2, 3),
            Positions::from_id_rows(&[[0, 1], [2, 3]]).unwrap(),
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
    LearnedPositionalEmbeddingConfig::new(8, 16).init(&Device::flex())
}

#[test]
fn embeddings_refuse_bad_input() {
    for scheme in [&sinusoidal() as &dyn Embed, &learned()] {
        for (x, positions, words) in inputs() {
            assert_says(&refusal(scheme.try_embed(x.clone(), &positions)), words);
            assert_panics(|| scheme.embed(x, &positions), words);
        }
    }
}

#[test]
fn forward_and_encode_refuse_positions_that_do_not_fit() {
    let long = Tensor::zeros([1, 17, 8], &Device::flex());
    let words = "position 16 is past the end: this module has positions 0 to 15 (max_len 16)";
    assert_panics(|| learned().forward(long), words);
    assert_says(&refusal(learned().encode(&Positions::from(16), 1)), words);
    let ids = Positions::from_id_rows(&[[0, 1]]).unwrap();
    let words = "the tensor of position ids has shape [1, 2], but the input needs [1, 3]";
    let error = sinusoidal().encode(&ids, 3).unwrap_err();
    assert_eq!(error.to_string(), words);
    assert_eq!(ids.to_rows(3).unwrap_err(), error);
}

/// A size that is in bounds but does not fit into memory is an error. It neither aborts nor overflows.
#[test]
fn sizes_that_do_not_fit_into_memory_are_refused() {
    let positions = 0..4_502_500_384_112_656;
    for d_model in [4_096, 4_097] {
        let error = TooLarge {
            rows: positions.len(),
            width: d_model,
        };
        let spectrum = Spectrum::new(d_model, 1e4).unwrap();
        assert_eq!(spectrum.rows::<f32>(positions.clone()), Err(error.clone()));
        let pe = SinusoidalPositionalEncodingConfig::new(d_model).with_max_len(1);
        let pe = pe.init(&Device::flex());
        let encoded = pe.encode(&Positions::default(), positions.len());
        assert_eq!(encoded.unwrap_err(), error);
    }
    // Whatever is made for each row or token counts too.
    let pe = SinusoidalPositionalEncodingConfig::new(8);
    let many = 1 << 40;
    let starts = Positions::from_starts([1, 2]);
    let line = pe.clone().init(&Device::flex());
    assert!(matches!(line.encode(&starts, many), Err(TooLarge { .. })));
    let image = Grid::image(1 << 20, 1 << 20);
    let pe = pe.with_axes(Axes::HEIGHT_WIDTH).init(&Device::flex());
    assert!(matches!(
        pe.encode(&image.into(), many),
        Err(TooLarge { .. })
    ));
    let device = Device::flex();
    let line = Positions::default();
    let wide = 1 << 45;
    let sinusoidal = SinusoidalPositionalEncodingConfig::new(wide);
    let learned = LearnedPositionalEmbeddingConfig::new(8192, 1 << 36);
    let many = usize::MAX;
    let too_large = [
        line.to_rows(wide).err(),
        Spectrum::new(wide, 1e4).err(),
        sinusoidal.try_init(&device).err(),
        learned.try_init(&device).err(),
        AlibiConfig::new(many).try_init(&device).err(),
        KerpleConfig::new(many).try_init(&device).err(),
        T5RelativeBiasConfig::new(many).try_init(&device).err(),
        FireConfig::new(8).with_hidden(many).try_init(&device).err(),
    ];
    for error in too_large {
        assert!(matches!(error, Some(TooLarge { .. })), "{error:?}");
    }
    let pairs = (&line, 1 << 20);
    for name in ["alibi", "t5", "kerple", "fire"] {
        let scheme = scheme(name, [64, 8, 9], &device);
        let error = scheme.try_bias(pairs, pairs).unwrap_err();
        assert!(matches!(error, TooLarge { .. }), "{error}");
    }
}

#[test]
fn a_quantized_input_is_refused() {
    use burn::tensor::quantization::QuantScheme;
    let device = Device::flex();
    let x = Tensor::<3>::ones([2, 3, 8], &device).quantize_dynamic(&QuantScheme::default());
    let none = PositionalConfig::None {}.init(&device);
    for scheme in [&sinusoidal() as &dyn Embed, &learned(), &none] {
        let result = scheme.try_embed(x.clone(), &Positions::default());
        let error = result.unwrap_err();
        assert_eq!(error, PositionError::Quantized);
        assert_says(&error.to_string(), "… dequantize() it first …");
    }
}

/// It needs two backends in the build, which give two devices.
#[cfg(feature = "ndarray")]
#[test]
fn an_input_on_another_device_is_refused() {
    for device in pe_tests::devices().into_iter().skip(1) {
        let x = Tensor::<3>::zeros([2, 3, 8], &device);
        for scheme in [&sinusoidal() as &dyn Embed, &learned()] {
            let result = scheme.try_embed(x.clone(), &Positions::default());
            let error = result.unwrap_err();
            assert!(matches!(error, PositionError::Device { .. }), "{error}");
            assert_says(&error.to_string(), "… move one with to_device …");
        }
    }
}

/// What is computed on the way to a bias can be larger than the bias.
#[test]
fn what_a_bias_is_made_of_has_to_fit_into_memory_too() {
    let device = Device::flex();
    let at = Positions::default();
    let heads = |seq: usize| Tensor::<4>::ones([1, 1, seq, 2], &device);
    // One number for each distance.
    let far = (&at, 1 << 40);
    let biases: [&dyn Bias; 3] = [
        &AlibiConfig::new(8).init(&device),
        &KerpleConfig::new(8).init(&device),
        &T5RelativeBiasConfig::new(8).init(&device),
    ];
    for bias in biases {
        let error = bias.try_distance_bias(far, far).err();
        assert!(matches!(error, Some(TooLarge { .. })), "{error:?}");
    }
    // A row of the table for each query.
    let shaw = ShawConfig::new(2).with_left(1 << 20).with_right(1 << 20);
    let shaw = shaw.with_values(true).init(&device);
    let (many, one) = ((&heads(1 << 20), &at), (&heads(1), &at));
    let deberta = DebertaConfig::new(2, 1).with_buckets(None);
    let deberta = deberta.with_max_distance(1 << 20).init(&device);
    let xl = TransformerXlConfig::new(2, 1).init(&device);
    let weights = Tensor::<4>::ones([1, 1, 1 << 20, 1], &device);
    let fire = FireConfig::new(1).with_hidden(1 << 20).init(&device);
    let pairs = (&at, 1 << 11);
    let time2vec = Time2VecConfig::new(4, 1.0).init(&device);
    let too_large = [
        shaw.try_score_bias(many, one).err(),
        shaw.values(weights, &at, &at).err(),
        deberta.try_score_bias(many, one).err(),
        deberta.try_score_bias(one, many).err(),
        xl.try_score_bias((&heads(1 << 21), &at), one).err(),
        fire.try_bias(pairs, pairs).err(),
        time2vec.encode(&at, 1 << 40).err(),
    ];
    for error in too_large {
        assert!(matches!(error, Some(TooLarge { .. })), "{error:?}");
    }
}
