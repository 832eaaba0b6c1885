//! Bad input gets an error that states the numbers, and the plain forms panic with its words.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::tensor::{Device, Tensor};
use pe_burn::PositionError::TooLarge;
use pe_burn::{
    Axes, Embed, Gain, Grid, InputScale, Layout, LearnedPositionalEmbedding,
    LearnedPositionalEmbeddingConfig, MAX_POSITION, PositionError, PositionalConfig, Positions,
    RandomizedPositions, Rotate, SinusoidalPositionalEncoding, SinusoidalPositionalEncodingConfig,
    Spectrum, T5RelativeBiasConfig, XPosPositionalEncodingConfig, convert_heads,
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
            "d_model must be at least 1; got 0",
        ),
        (
            config().with_max_len(0),
            "max_len must be at least 1; got 0",
        ),
        (
            config().with_base(1.0),
            "base must be finite and greater than 1, so that the frequencies base^(-2i/d_model) decrease; got 1",
        ),
        (config().with_base(-2.5), "decrease; got -2.5"),
        (config().with_base(f64::NAN), "decrease; got NaN"),
        (config().with_base(f64::INFINITY), "decrease; got inf"),
        (
            config().with_dropout(1.0),
            "dropout must be a probability in [0, 1); got 1",
        ),
        (config().with_dropout(-0.1), "in [0, 1); got -0.1"),
        (config().with_dropout(f64::NAN), "in [0, 1); got NaN"),
        (
            config().with_gain(Gain::Fixed(f64::NAN)),
            "gain must be finite in f32; got NaN",
        ),
        (
            config().with_gain(Gain::Learned(f64::INFINITY)),
            "gain must be finite in f32; got inf",
        ),
        (
            config().with_input_scale(InputScale::Factor(f64::NAN)),
            "input_scale must be finite in f32; got NaN",
        ),
        (
            config().with_input_scale(InputScale::Factor(1e39)),
            "input_scale must be finite in f32; got 1000000000000000000000000000000000000000",
        ),
        (
            config().with_max_len(MAX_POSITION),
            "4503599627370495 rows of width 8 do not fit into memory",
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
            "d_model must be at least 1; got 0",
        ),
        (
            LearnedPositionalEmbeddingConfig::new(8, 0),
            "max_len must be at least 1; got 0",
        ),
        (config.clone().with_dropout(1.5), "got 1.5"),
        (
            config
                .clone()
                .with_input_scale(InputScale::Factor(f64::INFINITY)),
            "got inf",
        ),
        (
            LearnedPositionalEmbeddingConfig::new(8192, 16).with_padding_index(1 << 51),
            "2251799813685265 rows of width 8192 do not fit into memory",
        ),
        (
            config.clone().with_padding_index(usize::MAX),
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
fn inputs_of_the_sinusoidal_encoding() {
    for (x, positions, words) in inputs() {
        let error = sinusoidal().try_embed(x.clone(), &positions).unwrap_err();
        assert_eq!(error.to_string(), words);
        assert_eq!(panic_message(|| sinusoidal().embed(x, &positions)), words);
    }
}

#[test]
fn inputs_of_the_learned_embedding() {
    for (x, positions, words) in inputs() {
        let error = learned().try_embed(x.clone(), &positions).unwrap_err();
        assert_eq!(error.to_string(), words);
        assert_eq!(panic_message(|| learned().embed(x, &positions)), words);
    }
}

#[test]
fn other_plain_forms() {
    let long = Tensor::zeros([1, 17, 8], &Device::flex());
    let words = "position 16 is past the end: this module has positions 0 to 15 (max_len 16)";
    assert_eq!(panic_message(|| learned().forward(long)), words);
    let error = learned().encode(&Positions::from(16), 1).unwrap_err();
    assert_eq!(error.to_string(), words);
    let ids = Positions::from_id_rows(&[[0, 1]]).unwrap();
    let words = "the tensor of position ids has shape [1, 2], but the input needs [1, 3]";
    let error = sinusoidal().encode(&ids, 3).unwrap_err();
    assert_eq!(error.to_string(), words);
    assert_eq!(ids.to_rows(3).unwrap_err(), error);
}

/// What the crate accepts but no memory holds is an error, and not an abort or a wrapped size.
#[test]
fn sizes_beyond_memory() {
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
    // What is made for each row or token, and not by us alone.
    let pe = SinusoidalPositionalEncodingConfig::new(8);
    let many = 1 << 40;
    let starts = Positions::from_starts([1, 2]);
    let line = pe.clone().init(&Device::flex());
    assert!(matches!(line.encode(&starts, many), Err(TooLarge { .. })));
    let image = Grid::image(1 << 20, 1 << 20);
    let pe = pe.with_axes(Axes::HeightWidth).init(&Device::flex());
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
        let (q, _) = xpos.rotate(x.clone(), x, &Positions::from(MAX_POSITION - 2));
        assert!(q.into_data().iter::<f32>().all(f32::is_finite));
    }
    // What is refused as a module still has the buckets that its formula gives.
    let t5 = T5RelativeBiasConfig::new(8).with_max_distance(8);
    assert_eq!(t5.bucket(100), 31);
    assert!(t5.try_init(&device).is_err());
    assert_eq!(
        RandomizedPositions::new(0).unwrap_err().to_string(),
        "max_position must be at least 1; got 0"
    );
    assert!(matches!(
        RandomizedPositions::new(MAX_POSITION + 2),
        Err(PositionError::Overflow { .. })
    ));
    assert!(RandomizedPositions::new(MAX_POSITION + 1).is_ok());
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
        convert_heads(x, heads, rotary_dim, Layout::Interleaved, Layout::Halves).err()
    };
    assert_eq!(columns(3, 4), None);
    let number = |name: &'static str, value: f64, bound: &'static str| {
        Some(PositionError::Number {
            name: name.into(),
            value,
            bound: bound.into(),
        })
    };
    assert_eq!(columns(0, 4), number("heads", 0.0, "at least 1"));
    let bound = "a multiple of the number of heads, 5";
    assert_eq!(columns(5, 2), number("the last axis of x", 12.0, bound));
    for rotary_dim in [0, 3, 6] {
        let error = number("rotary_dim", rotary_dim as f64, "even, from 2 to d_head 4");
        assert_eq!(columns(3, rotary_dim), error);
    }
}

#[test]
fn looking_into_a_spectrum() {
    let spectrum = Spectrum::new(8, 1e4).unwrap();
    let far = MAX_POSITION as isize;
    assert!((-1.0..=1.0).contains(&spectrum.similarity(far).unwrap()));
    for offset in [far + 1, -far - 1, isize::MAX, isize::MIN] {
        let error = PositionError::Number {
            name: "offset".into(),
            value: offset as f64,
            bound: "at most 4503599627370495, the largest distance of two positions".into(),
        };
        assert_eq!(spectrum.similarity(offset), Err(error.clone()));
        assert_eq!(spectrum.shift_matrix(offset), Err(error));
    }
    let error = spectrum.rows_at::<f32>(&[3, MAX_POSITION + 1]).unwrap_err();
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

/// Two devices need two backends in the build.
#[cfg(feature = "ndarray")]
#[test]
fn an_input_on_another_device() {
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
