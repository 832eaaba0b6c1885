//! Parameters that were changed: by Burn, which quantizes them and puts adapters beside them, and by hand.

use burn::module::{Lora, Module, ModuleMapper, Param};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{DType, Device, Int, Tensor};
use pe_burn::content::ShawConfig;
use pe_burn::embedding::{Extension, Gain, Resampling};
use pe_burn::grid::{
    DecomposedRelativeBiasConfig, LevitRelativeBiasConfig, SwinRelativeBiasConfig,
    SwinV2RelativeBiasConfig,
};
use pe_burn::rotary::MixedRotaryConfig;
use pe_burn::{
    Bias, Embed, FireConfig, Grid, KerpleConfig, LearnedPositionalEmbedding,
    LearnedPositionalEmbeddingConfig, PositionError, Positional, PositionalConfig, Positions,
    ScoreBias, SinusoidalPositionalEncodingConfig, T5RelativeBiasConfig,
};
use pe_tests::devices;

use crate::{assert_says, distance, quantized, random, refusal, scheme};

/// For all kinds of positions, within the error of quantized values.
#[test]
fn quantized_parameters_give_nearly_the_same_result() {
    let device = Device::flex();
    let x = random([2, 6, 64], &device);
    let ids = Tensor::<2, Int>::from_data([[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]], &device);
    let mask = ids.clone().greater_equal_scalar(1);
    let kinds = [
        Positions::default(),
        Positions::from_starts([2, 0]),
        Positions::from_id_rows(&[[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]]).unwrap(),
        Positions::from_token_mask(mask),
    ];

    let learned = LearnedPositionalEmbeddingConfig::new(64, 16).init(&device);
    let packed = quantized(&learned);
    assert!(matches!(packed.weight.val().dtype(), DType::QFloat(_)));
    let gained = SinusoidalPositionalEncodingConfig::new(64)
        .with_gain(Gain::Learned(0.7))
        .init(&device);
    let gained_packed = quantized(&gained);
    for at in &kinds {
        let rows = packed.encode(at, 6).unwrap();
        assert_eq!(rows.dtype(), DType::F32);
        assert!(distance(rows, learned.encode(at, 6).unwrap()) < 0.05);
        let sum = packed.embed(x.clone(), at);
        assert!(distance(sum, learned.embed(x.clone(), at)) < 0.05);
        let sum = gained_packed.embed(x.clone(), at);
        assert!(distance(sum, gained.embed(x.clone(), at)) < 0.02);
    }
    let nothing = packed.encode(&Positions::default(), 0).unwrap();
    assert_eq!(nothing.dtype(), DType::F32);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("packed.safetensors");
    packed.save_to_file(&file, "wpe.weight").unwrap();
    let saved = learned
        .config()
        .init_from_file(&file, "wpe.weight", &device)
        .unwrap();
    let rows =
        |pe: &LearnedPositionalEmbedding, start| pe.encode(&Positions::from(start), 16).unwrap();
    assert_eq!(distance(rows(&saved, 0), rows(&packed, 0)), 0.0);
    let longer = packed.extend(32, Extension::Repeat).unwrap();
    assert!(distance(rows(&longer, 16), rows(&learned, 0)) < 0.05);

    let t5 = T5RelativeBiasConfig::new(4).init(&device);
    let kerple = KerpleConfig::new(4).init(&device);
    let fire = FireConfig::new(4).init(&device);
    let (t5_packed, kerple_packed, fire_packed) =
        (quantized(&t5), quantized(&kerple), quantized(&fire));
    for at in &kinds {
        let span = (at, 6);
        let far = [
            distance(t5_packed.bias(span, span), t5.bias(span, span)),
            distance(kerple_packed.bias(span, span), kerple.bias(span, span)),
            distance(fire_packed.bias(span, span), fire.bias(span, span)),
        ];
        assert!(far.iter().all(|far| *far < 0.1), "{far:?}");
    }

    let wide = burn::module::Initializer::Normal {
        mean: 0.0,
        std: 1.0,
    };
    let (window, tokens) = (Positions::from(Grid::image(3, 4)), 12);
    let span = (&window, tokens);
    let (swin, v2, levit) = (
        SwinRelativeBiasConfig::new(4, [3, 4]).with_init(wide.clone()),
        SwinV2RelativeBiasConfig::new(4, [3, 4]),
        LevitRelativeBiasConfig::new(4, [3, 4]).with_init(wide.clone()),
    );
    let (swin, v2, levit) = (swin.init(&device), v2.init(&device), levit.init(&device));
    let decomposed = DecomposedRelativeBiasConfig::new(4, [3, 4]).with_init(wide);
    let decomposed = decomposed.init(&device);
    let q = Tensor::<4>::ones([1, 2, tokens, 4], &device);
    let side = (&q, &window);
    let packed = quantized(&swin);
    let far = [
        distance(packed.bias(span, span), swin.bias(span, span)),
        distance(quantized(&v2).bias(span, span), v2.bias(span, span)),
        distance(quantized(&levit).bias(span, span), levit.bias(span, span)),
        distance(
            quantized(&decomposed).score_bias(side, side),
            decomposed.score_bias(side, side),
        ) / 8.0, // eight products
    ];
    assert!(far.iter().all(|far| 0.0 < *far && *far < 0.1), "{far:?}");
    let [larger, packed] = [swin, packed].map(|swin| swin.resize([5, 5], Resampling::Bicubic));
    let span = Positions::from(Grid::image(5, 5));
    let [larger, packed] =
        [larger, packed].map(|swin| swin.unwrap().bias((&span, 25), (&span, 25)));
    assert!(distance(larger, packed) < 0.1);
}

/// A table that was fitted to another length is the one that the model computed with, what was
/// trained beside it included.
#[test]
fn adapters_become_a_part_of_a_table_that_is_changed() {
    for device in devices() {
        let autodiff = device.clone().autodiff();
        let base = LearnedPositionalEmbeddingConfig::new(8, 16).init(&autodiff);
        let rows = |pe: &LearnedPositionalEmbedding, seq| {
            let rows = pe.encode(&Positions::default(), seq);
            rows.unwrap().without_autodiff()
        };
        let before = rows(&base, 16);
        let mut adapted = base.apply_lora(Lora::new(2, 4.0));
        let mut optimizer = AdamConfig::new().init();
        for _ in 0..2 {
            let loss = (adapted.encode(&Positions::default(), 16).unwrap() - 3.0)
                .powi_scalar(2)
                .mean();
            let gradients = GradientsParams::from_grads(loss.backward(), &adapted);
            adapted = optimizer.step(0.1, adapted, gradients);
        }
        let trained = |seq| rows(&adapted, seq);
        assert!(distance(trained(16), before) > 1e-2, "nothing was trained");
        let cropped = rows(&adapted.clone().crop(5).unwrap(), 5);
        assert_eq!(distance(cropped, trained(5)), 0.0, "{device:?}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("adapted.safetensors");
        adapted.save_to_file(&file, "weight").unwrap();
        let config = LearnedPositionalEmbeddingConfig::new(8, 16);
        let saved = config.init_from_file(&file, "weight", &device).unwrap();
        assert_eq!(distance(rows(&saved, 16), trained(16)), 0.0, "{device:?}");
    }
}

/// Puts zeros of another shape in place of one parameter: longer by one on the first axis, or shorter by one on the last.
struct Misshape {
    longer: bool,
    /// How many parameters come before it, in the order in which Burn comes to them.
    before: usize,
    /// What the error says, once it is done.
    words: Option<String>,
}

impl ModuleMapper for Misshape {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let needed = param.dims();
        if self.words.is_some() || self.before > 0 {
            self.before = self.before.saturating_sub(1);
            return param;
        }
        let mut shape = needed;
        match self.longer {
            true => shape[0] += 1,
            false => shape[D - 1] -= 1,
        }
        self.words = Some(format!(
            "has the shape {shape:?}, and this module needs {needed:?}"
        ));
        Param::from_tensor(Tensor::zeros(shape, &Device::flex()))
    }
}

/// Calls every hook of a scheme, for heads of width 8.
fn call(scheme: &dyn Positional, at: &Positions) -> Result<(), PositionError> {
    let device = Device::flex();
    let (x, q) = (random([1, 4, 16], &device), random([1, 2, 4, 8], &device));
    let (span, heads) = ((at, 4), (&q, at));
    if let Some(scheme) = scheme.as_embed() {
        scheme.try_embed(x.clone(), at)?;
    }
    if let Some(scheme) = scheme.as_rotate() {
        scheme.try_rotate_keys(q.clone(), at)?;
    }
    if let Some(scheme) = scheme.as_bias() {
        scheme.try_bias(span, span)?;
    }
    if let Some(scheme) = scheme.as_score_bias() {
        scheme.try_score_bias(heads, heads)?;
    }
    if let Some(scheme) = scheme.as_weight_bias() {
        scheme.try_weight_bias(span, span)?;
    }
    if let Some(scheme) = scheme.as_hidden_bias() {
        scheme.try_hidden_bias(0, (&x, at), span)?;
    }
    if let Some(scheme) = scheme.as_forget_gate() {
        scheme.try_log_gates(0, x)?;
    }
    Ok(())
}

/// Fails unless a hook refuses every parameter of another shape, from one on. The number of these.
fn refuses_other_shapes<M: Module + Positional>(
    scheme: &M,
    from: usize,
    at: &Positions,
    about: &str,
) -> usize {
    call(scheme, at).unwrap();
    for before in from.. {
        for longer in [true, false] {
            let mut misshape = Misshape {
                longer,
                before,
                words: None,
            };
            let misshapen = scheme.clone().map(&mut misshape);
            let Some(words) = misshape.words else {
                return before - from;
            };
            let message = refusal(call(&misshapen, at));
            let says = message.starts_with("the parameter ") && message.ends_with(&words);
            assert!(says, "{about}: {message}, and not: {words}");
        }
    }
    unreachable!("a module has an end")
}

/// Parameters are public, and nothing is computed from one that does not fit. A learned table, that of TUPE's positions too, takes its
/// sizes from its parameters.
#[test]
fn a_parameter_has_the_shape_that_its_module_needs() {
    let device = Device::flex();
    let (line, image) = (Positions::default(), Positions::from(Grid::image(2, 2)));
    let mut parameters = 0;
    for name in PositionalConfig::NAMES {
        let scheme = scheme(name, [16, 2, 8], &device);
        let from = usize::from(["learned", "tupe"].contains(name));
        parameters += refuses_other_shapes(&scheme, from, &line, name);
    }
    let on_grids = [
        r#"{"kind": "swin", "heads": 2, "window": [2, 2]}"#,
        r#"{"kind": "swin_v2", "heads": 2, "window": [2, 2]}"#,
        r#"{"kind": "beit", "heads": 2, "window": [2, 2]}"#,
        r#"{"kind": "levit", "heads": 2, "window": [2, 2]}"#,
        r#"{"kind": "decomposed", "d_head": 8, "window": [2, 2]}"#,
        r#"{"kind": "peg", "d_model": 16}"#,
    ];
    let on_lines = [
        r#"{"kind": "wav2vec2", "d_model": 16, "kernel": 3}"#,
        r#"{"kind": "inkling", "d_model": 16, "heads": 2, "layers": 1}"#,
        r#"{"kind": "fope", "d_head": 8, "heads": 2, "trained_len": 64}"#,
        r#"{"kind": "fox", "d_model": 16, "heads": 2, "layers": 1}"#,
    ];
    let on_grids = on_grids.map(|json| (json, &image));
    for (json, at) in on_grids
        .into_iter()
        .chain(on_lines.map(|json| (json, &line)))
    {
        let config: PositionalConfig = serde_json::from_str(json).unwrap();
        parameters += refuses_other_shapes(&config.init(&device), 0, at, json);
    }
    let mixed = MixedRotaryConfig::new(8, 2).init(&device);
    parameters += refuses_other_shapes(&mixed, 0, &image, "MixedRotary");
    let gained = SinusoidalPositionalEncodingConfig::new(16).with_gain(Gain::Learned(0.7));
    parameters += refuses_other_shapes(&gained.init(&device), 0, &line, "a learned gain");
    assert_eq!(parameters, 45);

    let misshapen = || Param::from_tensor(Tensor::zeros([25, 8], &device));
    let mut swin = SwinRelativeBiasConfig::new(8, [2, 2]).init(&device);
    swin.weight = misshapen();
    let words = "the parameter weight has the shape [25, 8], and this module needs [9, 8]";
    assert_says(&refusal(swin.resize([4, 4], Resampling::Bicubic)), words);
    let mut shaw = ShawConfig::new(8).with_values(true).init(&device);
    shaw.values = Some(misshapen());
    let mixed = shaw.values(Tensor::ones([1, 2, 4, 4], &device), &line, &line);
    let words = "the parameter values has the shape [25, 8], and this module needs [33, 8]";
    assert_says(&refusal(mixed), words);
}
