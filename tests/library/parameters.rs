//! Parameters that were changed: by Burn, which quantizes them and puts adapters beside them, and by hand.

use burn::module::{Lora, Module, Param};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{DType, Device, Int, Tensor};
use pe_burn::content::{
    CopeConfig, DebertaConfig, Inkling, InklingConfig, Shaw, ShawConfig, TransformerXlConfig,
    TupeConfig,
};
use pe_burn::conv::{PositionalEncodingGeneratorConfig, Wav2Vec2PositionalConvConfig};
use pe_burn::embedding::{Extension, Gain, Resampling, Time2VecConfig};
use pe_burn::grid::{
    DecomposedRelativeBiasConfig, LevitRelativeBiasConfig, SwinRelativeBias,
    SwinRelativeBiasConfig, SwinV2RelativeBiasConfig,
};
use pe_burn::rotary::{FopeConfig, MixedRotaryConfig, PopeConfig};
use pe_burn::{
    Bias, Embed, FireConfig, Grid, HiddenBias, KerpleConfig, LearnedPositionalEmbedding,
    LearnedPositionalEmbeddingConfig, Positions, Rotate, ScoreBias,
    SinusoidalPositionalEncodingConfig, T5RelativeBiasConfig,
};
use pe_tests::devices;

use crate::{assert_says, distance, quantized, random, refusal};

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

/// Puts a tensor of zeros of a shape in place of a parameter, which is public. Nothing is computed from it then, and the error
/// names it.
macro_rules! misshapen {
    ($module:ident, $name:literal, $parameter:expr, $shape:expr, $call:expr) => {{
        let mut $module = $module.clone();
        let needed = $parameter.dims();
        $parameter = Param::from_tensor(Tensor::zeros($shape, &Device::flex()));
        let words = format!(
            "the parameter {} has the shape {:?}, and this module needs {needed:?}",
            $name, $shape
        );
        assert_says(&refusal($call(&$module)), &words);
    }};
}

#[test]
fn a_parameter_of_a_bias_of_distances_has_its_shape() {
    let at = Positions::default();
    let device = Device::flex();
    let pair = (&at, 4);
    let bias = |scheme: &dyn Bias| scheme.try_bias(pair, pair);
    let t5 = T5RelativeBiasConfig::new(2).init(&device);
    misshapen!(t5, "weight", t5.weight, [16, 2], bias);
    misshapen!(t5, "weight", t5.weight, [32, 4], bias);
    let kerple = KerpleConfig::new(2).init(&device);
    misshapen!(kerple, "r1", kerple.r1, [3], bias);
    misshapen!(kerple, "r2", kerple.r2, [1], bias);
    let fire = FireConfig::new(2).init(&device);
    misshapen!(fire, "c", fire.c, [2], bias);
    misshapen!(fire, "threshold", fire.threshold, [0], bias);
    misshapen!(fire, "inner", fire.inner.weight, [2, 32], bias);
    misshapen!(fire, "outer", fire.outer.weight, [32, 1], bias);
}

#[test]
fn a_parameter_of_a_bias_on_a_grid_has_its_shape() {
    let device = Device::flex();
    let image = Positions::from(Grid::image(2, 2));
    let pair = (&image, 4);
    let bias = |scheme: &dyn Bias| scheme.try_bias(pair, pair);
    let swin = SwinRelativeBiasConfig::new(2, [2, 2]).init(&device);
    misshapen!(swin, "weight", swin.weight, [25, 2], bias);
    let resized = |swin: &SwinRelativeBias| swin.clone().resize([4, 4], Resampling::Bicubic);
    misshapen!(swin, "weight", swin.weight, [25, 2], resized);
    let levit = LevitRelativeBiasConfig::new(2, [2, 2]).init(&device);
    misshapen!(levit, "weight", levit.weight, [4, 4], bias);
    let v2 = SwinV2RelativeBiasConfig::new(2, [2, 2]).init(&device);
    misshapen!(v2, "inner", v2.inner.weight, [3, 512], bias);
    misshapen!(v2, "outer", v2.outer.weight, [512, 1], bias);
    let q = random([1, 2, 4, 8], &device);
    let of_grid = |scheme: &dyn ScoreBias| scheme.try_score_bias((&q, &image), (&q, &image));
    let sam = DecomposedRelativeBiasConfig::new(8, [2, 2]).init(&device);
    misshapen!(sam, "rows", sam.rows, [1, 8], of_grid);
    misshapen!(sam, "columns", sam.columns, [3, 4], of_grid);
}

#[test]
fn a_parameter_of_a_bias_by_content_has_its_shape() {
    let device = Device::flex();
    let (at, q) = (Positions::default(), random([1, 2, 4, 8], &device));
    let scores = |scheme: &dyn ScoreBias| scheme.try_score_bias((&q, &at), (&q, &at));
    let xl = TransformerXlConfig::new(16, 2).init(&device);
    misshapen!(xl, "u", xl.u, [1, 8], scores);
    misshapen!(xl, "v", xl.v, [2, 7], scores);
    misshapen!(xl, "projection", xl.projection.weight, [8, 16], scores);
    let tupe = TupeConfig::new(16, 2, 8).init(&device);
    misshapen!(tupe, "query", tupe.query.weight, [16, 8], scores);
    misshapen!(tupe, "key", tupe.key.weight, [8, 16], scores);
    let deberta = DebertaConfig::new(16, 2).init(&device);
    misshapen!(deberta, "embeddings", deberta.embeddings, [4, 16], scores);
    misshapen!(
        deberta,
        "key",
        deberta.key.as_mut().unwrap().weight,
        [16, 8],
        scores
    );
    let shaw = ShawConfig::new(8).with_values(true).init(&device);
    misshapen!(shaw, "keys", shaw.keys, [3, 8], scores);
    let mixed_values = |shaw: &Shaw| shaw.values(Tensor::ones([1, 2, 4, 4], &device), &at, &at);
    misshapen!(
        shaw,
        "values",
        *shaw.values.as_mut().unwrap(),
        [3, 8],
        mixed_values
    );
    let cope = CopeConfig::new(8).with_positions(8).init(&device);
    misshapen!(cope, "embeddings", cope.embeddings, [8, 7], scores);
    let inkling = InklingConfig::new(16, 2, 1).init(&device);
    let hidden = |scheme: &Inkling| {
        let x = Tensor::zeros([1, 4, 16], &device);
        scheme.try_hidden_bias(0, (&x, &at), (&at, 4))
    };
    misshapen!(inkling, "mix", inkling.layers[0].mix, [16, 3], hidden);
    misshapen!(
        inkling,
        "profiles",
        inkling.layers[0].profiles,
        [2, 2],
        hidden
    );
}

#[test]
fn a_parameter_of_a_rotation_and_of_an_embedding_has_its_shape() {
    let device = Device::flex();
    let (at, q) = (Positions::default(), random([1, 2, 4, 8], &device));
    let rotated = |scheme: &dyn Rotate| scheme.try_rotate_keys(q.clone(), &at);
    let pope = PopeConfig::new(8, 2).init(&device);
    misshapen!(pope, "phases", pope.phases, [1, 8], rotated);
    let fope = FopeConfig::new(8, 2, 64).init(&device);
    misshapen!(fope, "sines", fope.sines, [1, 2, 2], rotated);
    misshapen!(fope, "cosines", fope.cosines, [2, 2, 1], rotated);
    let mixed = MixedRotaryConfig::new(8, 2).init(&device);
    misshapen!(mixed, "frequencies", mixed.frequencies, [1, 2, 4], rotated);
    let time2vec = Time2VecConfig::new(8, 64.0).init(&device);
    let added = |scheme: &dyn Embed| scheme.try_embed(Tensor::zeros([1, 4, 8], &device), &at);
    misshapen!(time2vec, "omega", time2vec.omega, [1], added);
    misshapen!(time2vec, "phi", time2vec.phi, [9], added);
    let wide = Wav2Vec2PositionalConvConfig::new(8)
        .with_groups(2)
        .init(&device);
    misshapen!(wide, "weight", wide.weight, [8, 4, 3], added);
    misshapen!(wide, "bias", wide.bias, [1], added);
    let image = Positions::from(Grid::image(2, 2));
    let on_grid = |scheme: &dyn Embed| scheme.try_embed(Tensor::zeros([1, 4, 8], &device), &image);
    let peg = PositionalEncodingGeneratorConfig::new(8).init(&device);
    misshapen!(peg, "weight", peg.weight, [8, 1, 5, 5], on_grid);
    misshapen!(peg, "bias", peg.bias, [1], on_grid);
}
