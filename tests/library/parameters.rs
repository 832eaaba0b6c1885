//! Parameters that Burn has changed by its own means: quantized ones, and adapters beside them.

use burn::module::{Lora, Module, Quantizer};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::quantization::{Calibration, QuantScheme};
use burn::tensor::{DType, Device, Int, Tensor};
use pe_burn::embedding::{Extension, Gain, Resampling};
use pe_burn::grid::{
    DecomposedRelativeBiasConfig, LevitRelativeBiasConfig, SwinRelativeBiasConfig,
    SwinV2RelativeBiasConfig,
};
use pe_burn::{
    Bias, Embed, FireConfig, Grid, KerpleConfig, LearnedPositionalEmbeddingConfig, Positions,
    ScoreBias, SinusoidalPositionalEncodingConfig, T5RelativeBiasConfig,
};
use pe_tests::devices;

use crate::{distance, embeddings};

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
