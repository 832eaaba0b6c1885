//! Parameters that were changed: by Burn, which quantizes them and puts adapters beside them, and by hand.

use burn::module::{Lora, Module, Param, Quantizer};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::quantization::{Calibration, QuantScheme};
use burn::tensor::{DType, Device, Int, Tensor};
use pe_burn::content::{DebertaConfig, Inkling, InklingConfig, TransformerXlConfig, TupeConfig};
use pe_burn::conv::{PositionalEncodingGeneratorConfig, Wav2Vec2PositionalConvConfig};
use pe_burn::embedding::{Extension, Gain, Resampling, Time2VecConfig};
use pe_burn::grid::{
    DecomposedRelativeBiasConfig, LevitRelativeBiasConfig, SwinRelativeBiasConfig,
    SwinV2RelativeBiasConfig,
};
use pe_burn::rotary::{FopeConfig, MixedRotaryConfig, PopeConfig};
use pe_burn::{
    Bias, Embed, FireConfig, Grid, HiddenBias, KerpleConfig, LearnedPositionalEmbeddingConfig,
    Positions, Rotate, ScoreBias, SinusoidalPositionalEncodingConfig, T5RelativeBiasConfig,
};
use pe_tests::devices;

use crate::{distance, embeddings, random, refusal};

fn quantized<M: Module>(module: &M) -> M {
    let mut quantizer = Quantizer::new(Calibration::MinMax, QuantScheme::default());
    module.clone().quantize_weights(&mut quantizer)
}

/// For all kinds of positions, within the error of quantized values.
#[test]
fn quantized_parameters_give_nearly_the_same_result() {
    let device = Device::flex();
    let x = embeddings(2, 6, 64, &device);
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
    assert_eq!(
        packed.encode(&Positions::default(), 0).unwrap().dtype(),
        DType::F32
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("packed.safetensors");
    packed.save_to_file(&file, "wpe.weight").unwrap();
    let saved = learned
        .config()
        .init_from_file(&file, "wpe.weight", &device)
        .unwrap();
    let all = Positions::default();
    assert_eq!(
        distance(
            saved.encode(&all, 16).unwrap(),
            packed.encode(&all, 16).unwrap()
        ),
        0.0
    );
    let longer = packed.extend(32, Extension::Repeat).unwrap();
    assert!(
        distance(
            longer.encode(&Positions::from(16), 16).unwrap(),
            learned.encode(&kinds[0], 16).unwrap()
        ) < 0.05
    );

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
        let before = base
            .encode(&Positions::default(), 16)
            .unwrap()
            .without_autodiff();
        let mut adapted = base.apply_lora(Lora::new(2, 4.0));
        let mut optimizer = AdamConfig::new().init();
        for _ in 0..2 {
            let loss = (adapted.encode(&Positions::default(), 16).unwrap() - 3.0)
                .powi_scalar(2)
                .mean();
            let gradients = GradientsParams::from_grads(loss.backward(), &adapted);
            adapted = optimizer.step(0.1, adapted, gradients);
        }
        let trained = |seq| {
            adapted
                .encode(&Positions::default(), seq)
                .unwrap()
                .without_autodiff()
        };
        assert!(distance(trained(16), before) > 1e-2, "nothing was trained");
        let cropped = adapted.clone().crop(5).unwrap();
        let cropped = cropped
            .encode(&Positions::default(), 5)
            .unwrap()
            .without_autodiff();
        assert_eq!(distance(cropped, trained(5)), 0.0, "{device:?}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("adapted.safetensors");
        adapted.save_to_file(&file, "weight").unwrap();
        let config = LearnedPositionalEmbeddingConfig::new(8, 16);
        let saved = config.init_from_file(&file, "weight", &device).unwrap();
        let saved = saved.encode(&Positions::default(), 16).unwrap();
        assert_eq!(distance(saved, trained(16)), 0.0, "{device:?}");
    }
}

/// A public parameter may be given another shape. Nothing is computed from it then, and the error names it.
#[test]
fn a_parameter_of_another_shape_is_refused_with_its_name() {
    let device = Device::flex();
    let at = Positions::default();
    let (pair, q) = ((&at, 4), random([1, 2, 4, 8], &device));
    /// Puts a tensor of zeros of a shape in place of a parameter.
    macro_rules! refused {
        ($module:expr, $name:literal, $($field:ident).+, $shape:expr, $call:expr) => {
            let mut module = $module.clone();
            module.$($field).+ = Param::from_tensor(Tensor::zeros($shape, &device));
            let message = refusal($call(&module));
            let words = format!("the parameter {} has the shape {:?}, and this module needs ", $name, $shape);
            assert!(message.contains(&words), "{message}");
        };
    }
    let kerple = KerpleConfig::new(2).init(&device);
    let bias = |scheme: &dyn Bias| scheme.try_bias(pair, pair);
    refused!(kerple, "r1", r1, [3], bias);
    refused!(kerple, "r2", r2, [1], bias);
    let fire = FireConfig::new(2).init(&device);
    refused!(fire, "c", c, [2], bias);
    refused!(fire, "threshold", threshold, [0], bias);
    refused!(fire, "inner", inner.weight, [2, 32], bias);
    refused!(fire, "outer", outer.weight, [32, 1], bias);
    let xl = TransformerXlConfig::new(16, 2).init(&device);
    let scores = |scheme: &dyn ScoreBias| scheme.try_score_bias((&q, &at), (&q, &at));
    refused!(xl, "u", u, [1, 8], scores);
    refused!(xl, "v", v, [2, 7], scores);
    refused!(xl, "projection", projection.weight, [8, 16], scores);
    let rotated = |scheme: &dyn Rotate| scheme.try_rotate_keys(q.clone(), &at);
    let pope = PopeConfig::new(8, 2).init(&device);
    refused!(pope, "phases", phases, [1, 8], rotated);
    let fope = FopeConfig::new(8, 2, 64).init(&device);
    refused!(fope, "sines", sines, [1, 2, 2], rotated);
    refused!(fope, "cosines", cosines, [2, 2, 1], rotated);
    let mixed = MixedRotaryConfig::new(8, 2).init(&device);
    refused!(mixed, "frequencies", frequencies, [1, 2, 4], rotated);
    let time2vec = Time2VecConfig::new(8, 64.0).init(&device);
    let added = |scheme: &dyn Embed| scheme.try_embed(Tensor::zeros([1, 4, 8], &device), &at);
    refused!(time2vec, "omega", omega, [1], added);
    refused!(time2vec, "phi", phi, [9], added);
    let wide = Wav2Vec2PositionalConvConfig::new(8)
        .with_groups(2)
        .init(&device);
    refused!(wide, "weight", weight, [8, 4, 3], added);
    refused!(wide, "bias", bias, [1], added);
    let image = Positions::from(Grid::image(2, 2));
    let on_grid = |scheme: &dyn Embed| scheme.try_embed(Tensor::zeros([1, 4, 8], &device), &image);
    let peg = PositionalEncodingGeneratorConfig::new(8).init(&device);
    refused!(peg, "weight", weight, [8, 1, 5, 5], on_grid);
    refused!(peg, "bias", bias, [1], on_grid);
    let pair = (&image, 4);
    let bias = |scheme: &dyn Bias| scheme.try_bias(pair, pair);
    let swin = SwinV2RelativeBiasConfig::new(2, [2, 2]).init(&device);
    refused!(swin, "inner", inner.weight, [3, 512], bias);
    refused!(swin, "outer", outer.weight, [512, 1], bias);
    let of_grid = |scheme: &dyn ScoreBias| scheme.try_score_bias((&q, &image), (&q, &image));
    let sam = DecomposedRelativeBiasConfig::new(8, [2, 2]).init(&device);
    refused!(sam, "rows", rows, [1, 8], of_grid);
    refused!(sam, "columns", columns, [3, 4], of_grid);
    let tupe = TupeConfig::new(16, 2, 8).init(&device);
    refused!(tupe, "query", query.weight, [16, 8], scores);
    refused!(tupe, "key", key.weight, [8, 16], scores);
    let deberta = DebertaConfig::new(16, 2).init(&device);
    refused!(deberta, "embeddings", embeddings, [4, 16], scores);
    let mut other = deberta.clone();
    other.key.as_mut().unwrap().weight = Param::from_tensor(Tensor::zeros([16, 8], &device));
    let message = refusal(scores(&other));
    assert!(
        message.contains("the parameter key has the shape [16, 8]"),
        "{message}"
    );
    let inkling = InklingConfig::new(16, 2, 1).init(&device);
    let hidden = |scheme: &Inkling| {
        let x = Tensor::zeros([1, 4, 16], &device);
        scheme.try_hidden_bias(0, (&x, &at), (&at, 4))
    };
    let mut other = inkling.clone();
    other.layers[0].mix = Param::from_tensor(Tensor::zeros([16, 3], &device));
    let message = refusal(hidden(&other));
    assert!(
        message.contains("the parameter mix has the shape [16, 3]"),
        "{message}"
    );
    let mut other = inkling.clone();
    other.layers[0].profiles = Param::from_tensor(Tensor::zeros([2, 2], &device));
    let message = refusal(hidden(&other));
    assert!(
        message.contains("the parameter profiles has the shape [2, 2]"),
        "{message}"
    );
}
