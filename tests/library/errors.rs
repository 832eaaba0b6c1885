//! Bad input gets an error that states the numbers, and the plain forms panic with its words.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::tensor::{Device, Tensor};
use pe_burn::PositionError::TooLarge;
use pe_burn::{
    Axes, Gain, Grid, InputScale, Layout, LearnedPositionalEmbedding,
    LearnedPositionalEmbeddingConfig, MAX_POSITION, PositionError, PositionalConfig, Positions,
    RandomizedPositions, SinusoidalPositionalEncoding, SinusoidalPositionalEncodingConfig,
    Spectrum, T5RelativeBiasConfig, XPosPositionalEncodingConfig, try_convert_heads,
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
            "gain must be a finite number in f32, got NaN",
        ),
        (
            config().with_gain(Gain::Learned(f64::INFINITY)),
            "gain must be a finite number in f32, got inf",
        ),
        (
            config().with_input_scale(InputScale::Factor(f64::NAN)),
            "input_scale must be a finite number in f32, got NaN",
        ),
        (
            config().with_input_scale(InputScale::Factor(1e39)),
            "input_scale must be a finite number in f32, got 1000000000000000000000000000000000000000",
        ),
        (
            config().with_max_len(MAX_POSITION),
            "4503599627370495 rows of width 8 are too many for the memory",
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
    let config = LearnedPositionalEmbeddingConfig::new(8, 16);
    for (bad, words) in [
        (
            LearnedPositionalEmbeddingConfig::new(0, 16),
            "d_model must be at least 1, got 0",
        ),
        (
            LearnedPositionalEmbeddingConfig::new(8, 0),
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
            LearnedPositionalEmbeddingConfig::new(8192, 16).with_padding_index(Some(1 << 51)),
            "2251799813685265 rows of width 8192 are too many for the memory",
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
            "there are 3 starts for a batch of 2 rows",
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
    LearnedPositionalEmbeddingConfig::new(8, 16).init(&Device::flex())
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

/// What the crate accepts but no memory holds is an error, and not an abort or a wrapped size.
#[test]
fn sizes_beyond_memory() {
    let positions = 0..4_502_500_384_112_656;
    for d_model in [4_096, 4_097] {
        let error = TooLarge {
            rows: positions.len(),
            d_model,
        };
        let spectrum = Spectrum::new(d_model, 1e4);
        assert_eq!(
            spectrum.try_rows::<f32>(positions.clone()),
            Err(error.clone())
        );
        let pe = SinusoidalPositionalEncodingConfig::new(d_model).with_max_len(1);
        let pe = pe.init(&Device::flex());
        let encoded = pe.try_encode(&Positions::default(), positions.len());
        assert_eq!(encoded.unwrap_err(), error);
    }
    // What is made for each row or token, and not by us alone.
    let pe = SinusoidalPositionalEncodingConfig::new(8);
    let many = 1 << 40;
    let starts = Positions::from_starts([1, 2]);
    let line = pe.clone().init(&Device::flex());
    assert!(matches!(
        line.try_encode(&starts, many),
        Err(TooLarge { .. })
    ));
    let image = Grid::image(1 << 20, 1 << 20);
    let pe = pe.with_axes(Axes::HeightWidth).init(&Device::flex());
    assert!(matches!(
        pe.try_encode(&image.into(), many),
        Err(TooLarge { .. })
    ));
    let device = Device::flex();
    let line = Positions::default();
    let wide = 1 << 45;
    let too_large = [
        line.try_to_rows(wide).err(),
        Spectrum::try_new(wide, 1e4).err(),
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
    let pairs = (&line, 1 << 20);
    for scheme in ["alibi", "t5", "kerple", "fire"] {
        let scheme = PositionalConfig::by_name(scheme, 64, 8, 9)
            .unwrap()
            .init(&device);
        let error = scheme.try_bias(pairs, pairs).unwrap_err();
        assert!(matches!(error, TooLarge { .. }), "{error}");
    }
}

#[test]
fn numbers_that_leave_all_bounds() {
    let device = Device::flex();
    // No decay to speak of, so that no position is too far.
    for scale_base in [1e18, 1e307] {
        let xpos = XPosPositionalEncodingConfig::new(8).with_scale_base(scale_base);
        let xpos = xpos.with_max_len(4).init(&device);
        let x = Tensor::<4>::ones([1, 1, 2, 8], &device);
        let (q, _) = xpos.forward_at(x.clone(), x, &Positions::from(MAX_POSITION - 2));
        assert!(q.into_data().iter::<f32>().all(f32::is_finite));
    }
    // What is refused as a module still has the buckets that its formula gives.
    let t5 = T5RelativeBiasConfig::new(8).with_max_distance(8);
    assert_eq!(t5.bucket(100), 31);
    assert!(t5.try_init(&device).is_err());
    assert_eq!(
        RandomizedPositions::try_new(0),
        Err(PositionError::ZeroMaxPosition)
    );
    assert!(matches!(
        RandomizedPositions::try_new(MAX_POSITION + 2),
        Err(PositionError::Overflow { .. })
    ));
    assert!(RandomizedPositions::try_new(MAX_POSITION + 1).is_ok());
    let error = PositionError::TooLong {
        position: 0,
        max_len: 0,
    };
    assert!(error.to_string().ends_with("(max_len 0)"));
}

#[test]
fn heads_that_cannot_be_reordered() {
    let columns = |heads, rotary_dim| {
        let x = Tensor::<2>::zeros([3, 12], &Device::flex());
        try_convert_heads(x, heads, rotary_dim, Layout::Interleaved, Layout::Halves).err()
    };
    assert_eq!(columns(3, 4), None);
    assert_eq!(columns(3, 0), None);
    assert_eq!(columns(0, 4), Some(PositionError::ZeroHeads));
    let heads = PositionError::Heads {
        d_model: 12,
        heads: 5,
    };
    assert_eq!(columns(5, 2), Some(heads));
    for rotary_dim in [3, 6] {
        let error = PositionError::RotaryDim {
            rotary_dim,
            d_head: 4,
        };
        assert_eq!(columns(3, rotary_dim), Some(error));
    }
}

#[test]
fn looking_into_a_spectrum() {
    let spectrum = Spectrum::new(8, 1e4);
    let far = MAX_POSITION as isize;
    assert!((-1.0..=1.0).contains(&spectrum.similarity(far)));
    for offset in [far + 1, -far - 1, isize::MAX, isize::MIN] {
        let error = PositionError::Offset {
            offset,
            max: MAX_POSITION,
        };
        assert_eq!(spectrum.try_similarity(offset), Err(error.clone()));
        assert_eq!(spectrum.try_shift(offset), Err(error.clone()));
        assert_eq!(
            panic_message(|| spectrum.similarity(offset)),
            error.to_string()
        );
    }
    let error = PositionError::DModel {
        expected: 8,
        got: 7,
    };
    assert_eq!(spectrum.shift(1).try_apply(&[0.0; 7]), Err(error));
    let error = spectrum
        .try_rows_at::<f32>(&[3, MAX_POSITION + 1])
        .unwrap_err();
    assert!(
        matches!(error, PositionError::Overflow { start, seq: 1, .. } if start == MAX_POSITION + 1)
    );
}

#[test]
fn a_quantized_input() {
    use burn::tensor::quantization::QuantScheme;
    let device = Device::flex();
    let x = Tensor::<3>::ones([2, 3, 8], &device).quantize_dynamic(&QuantScheme::default());
    let none = PositionalConfig::None {}.init(&device);
    for error in [
        sinusoidal().try_forward(x.clone()).unwrap_err(),
        learned().try_forward(x.clone()).unwrap_err(),
        none.try_embed(x, &Positions::default()).unwrap_err(),
    ] {
        assert_eq!(error, PositionError::Quantized);
        assert!(error.to_string().contains("dequantize() it first"));
    }
}

/// Two devices need two backends in the build.
#[cfg(feature = "ndarray")]
#[test]
fn an_input_on_another_device() {
    for device in pe_tests::devices().into_iter().skip(1) {
        let x = Tensor::zeros([2, 3, 8], &device);
        for error in [
            sinusoidal().try_forward(x.clone()).unwrap_err(),
            learned().try_forward(x).unwrap_err(),
        ] {
            assert!(matches!(error, PositionError::Device { .. }), "{error}");
            assert!(
                error.to_string().contains("move one with to_device"),
                "{error}"
            );
        }
    }
}
