//! Bad input gives an error that names the values, and the plain forms panic with the same message.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::module::Param;
use burn::tensor::{Device, Tensor};
use pe_burn::PositionError::TooLarge;
use pe_burn::content::{CopeConfig, DebertaConfig, ShawConfig, TransformerXlConfig};
use pe_burn::embedding::Time2VecConfig;
use pe_burn::{
    AlibiConfig, Axes, Bias, Embed, FireConfig, Grid, KerpleConfig, LearnedPositionalEmbedding,
    LearnedPositionalEmbeddingConfig, MAX_POSITION, PositionError, PositionalConfig, Positions,
    ScoreBias, SinusoidalPositionalEncoding, SinusoidalPositionalEncodingConfig, Spectrum,
    T5RelativeBiasConfig,
};

use crate::{refusal, scheme};

fn config() -> SinusoidalPositionalEncodingConfig {
    SinusoidalPositionalEncodingConfig::new(8).with_max_len(16)
}

/// The message that `f` panics with.
fn panic_message<T>(f: impl FnOnce() -> T) -> String {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => panic!("this should have panicked"),
        Err(payload) => payload
            .downcast_ref::<String>()
            .expect("a formatted message")
            .clone(),
    }
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
            assert_eq!(refusal(scheme.try_embed(x.clone(), &positions)), words);
            assert_eq!(panic_message(|| scheme.embed(x, &positions)), words);
        }
    }
}

#[test]
fn forward_and_encode_refuse_positions_that_do_not_fit() {
    let long = Tensor::zeros([1, 17, 8], &Device::flex());
    let words = "position 16 is past the end: this module has positions 0 to 15 (max_len 16)";
    assert_eq!(panic_message(|| learned().forward(long)), words);
    assert_eq!(refusal(learned().encode(&Positions::from(16), 1)), words);
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
    let too_large = [
        line.to_rows(wide).err(),
        Spectrum::new(wide, 1e4).err(),
        SinusoidalPositionalEncodingConfig::new(wide)
            .try_init(&device)
            .err(),
        LearnedPositionalEmbeddingConfig::new(8192, 1 << 36)
            .try_init(&device)
            .err(),
    ];
    for error in too_large {
        assert!(matches!(error, Some(TooLarge { .. })), "{error:?}");
    }
    let many = usize::MAX;
    let too_large = [
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

/// Rows of a table are looked up without another check, so a table of another shape is an error.
#[test]
fn tables_of_another_shape_are_refused() {
    let device = Device::flex();
    let table = |rows, columns| Param::from_tensor(Tensor::zeros([rows, columns], &device));
    let at = Positions::default();
    let mut t5 = T5RelativeBiasConfig::new(8).init(&device);
    t5.weight = table(16, 8);
    assert_eq!(
        refusal(t5.try_bias((&at, 100), (&at, 100))),
        "the parameter weight has the shape [16, 8], and this module needs [32, 8]"
    );
    t5.weight = table(32, 4);
    assert_eq!(
        refusal(t5.try_bias((&at, 1), (&at, 1))),
        "the parameter weight has the shape [32, 4], and this module needs [32, 8]"
    );

    let q = Tensor::<4>::ones([1, 2, 9, 4], &device);
    let mut shaw = ShawConfig::new(4).with_values(true).init(&device);
    shaw.values = Some(table(3, 4));
    let weights = Tensor::ones([1, 2, 9, 9], &device);
    let message = refusal(shaw.values(weights, &at, &at));
    let words = "the parameter values has the shape [3, 4], and this module needs ";
    assert!(message.starts_with(words), "{message}");
    shaw.keys = table(3, 4);
    let message = refusal(shaw.try_score_bias((&q, &at), (&q, &at)));
    let words = "the parameter keys has the shape [3, 4], and this module needs ";
    assert!(message.starts_with(words), "{message}");

    let mut cope = CopeConfig::new(4).with_positions(8).init(&device);
    cope.embeddings = table(4, 7);
    let message = refusal(cope.try_score_bias((&q, &at), (&q, &at)));
    let words = "the parameter embeddings has the shape [4, 7], and this module needs [4, 8]";
    assert_eq!(message, words);
}

#[test]
fn a_quantized_input_is_refused() {
    use burn::tensor::quantization::QuantScheme;
    let device = Device::flex();
    let x = Tensor::<3>::ones([2, 3, 8], &device).quantize_dynamic(&QuantScheme::default());
    let none = PositionalConfig::None {}.init(&device);
    for error in [
        sinusoidal()
            .try_embed(x.clone(), &Positions::default())
            .unwrap_err(),
        learned()
            .try_embed(x.clone(), &Positions::default())
            .unwrap_err(),
        none.try_embed(x, &Positions::default()).unwrap_err(),
    ] {
        assert_eq!(error, PositionError::Quantized);
        assert!(error.to_string().contains("dequantize() it first"));
    }
}

/// It needs two backends in the build, which give two devices.
#[cfg(feature = "ndarray")]
#[test]
fn an_input_on_another_device_is_refused() {
    for device in pe_tests::devices().into_iter().skip(1) {
        let x = Tensor::zeros([2, 3, 8], &device);
        for error in [
            sinusoidal()
                .try_embed(x.clone(), &Positions::default())
                .unwrap_err(),
            learned().try_embed(x, &Positions::default()).unwrap_err(),
        ] {
            assert!(matches!(error, PositionError::Device { .. }), "{error}");
            assert!(
                error.to_string().contains("move one with to_device"),
                "{error}"
            );
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
