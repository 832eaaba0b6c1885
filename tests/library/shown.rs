//! How modules print themselves, and what their configurations are as data.

use std::fmt::{Debug, Display};

use burn::config::Config;
use burn::tensor::Device;
use pe_burn::content::{
    CopeConfig, DebertaConfig, InklingConfig, ShawConfig, TransformerXlConfig, TupeConfig,
};
use pe_burn::conv::{PositionalEncodingGeneratorConfig, Wav2Vec2PositionalConvConfig};
use pe_burn::embedding::{Gain, Time2VecConfig};
use pe_burn::gates::FoxConfig;
use pe_burn::grid::{
    BeitRelativeBiasConfig, DecomposedRelativeBiasConfig, LevitRelativeBiasConfig,
    SwinRelativeBiasConfig, SwinV2RelativeBiasConfig,
};
use pe_burn::rotary::{FopeConfig, MixedRotaryConfig, PopeConfig};
use pe_burn::weights::ErpeConfig;
use pe_burn::{
    AlibiConfig, FireConfig, KerpleConfig, LearnedPositionalEmbeddingConfig,
    RotaryPositionalEncodingConfig, SinusoidalPositionalEncodingConfig, T5RelativeBiasConfig,
    XPosPositionalEncodingConfig,
};

use crate::{assert_says, refusal};

/// Fails unless the data is this configuration, an unknown field in it is refused, and its module prints itself
/// as given.
fn check<C: Config + PartialEq + Debug, M: Display>(
    json: &str,
    expected: C,
    init: fn(&C, &Device) -> M,
    shown: &str,
) {
    let config: C = serde_json::from_str(json).unwrap();
    assert_eq!(config, expected);
    let stray = json.replacen('{', r#"{"stray": 1, "#, 1);
    let message = refusal(serde_json::from_str::<C>(&stray));
    assert_says(&message, "unknown field `stray`, …");
    assert_eq!(init(&config, &Device::flex()).to_string(), shown);
}

#[test]
fn biases_of_distances() {
    check(
        r#"{"heads": 2}"#,
        AlibiConfig::new(2),
        AlibiConfig::init,
        "Alibi {heads: 2, shape: Symmetric}",
    );
    check(
        r#"{"heads": 2}"#,
        KerpleConfig::new(2),
        KerpleConfig::init,
        "Kerple {heads: 2, shape: Logarithmic, params: 4}",
    );
    check(
        r#"{"heads": 2, "hidden": 8, "c": 0.25, "threshold": 64}"#,
        FireConfig::new(2)
            .with_hidden(8)
            .with_c(0.25)
            .with_threshold(64.0),
        FireConfig::init,
        "Fire {heads: 2, hidden: 8, c: 0.25, threshold: 64, params: 36}",
    );
    check(
        r#"{"heads": 2}"#,
        T5RelativeBiasConfig::new(2),
        T5RelativeBiasConfig::init,
        "T5RelativeBias {heads: 2, buckets: 32, max_distance: 128, bidirectional: true, params: 64}",
    );
    check(
        r#"{"d_head": 2}"#,
        ShawConfig::new(2),
        ShawConfig::init,
        "Shaw {d_head: 2, left: 16, right: 16, values: false, params: 66}",
    );
    check(
        r#"{"d_model": 8, "heads": 2, "layers": 1, "extent": 10}"#,
        InklingConfig::new(8, 2, 1).with_extent(10),
        InklingConfig::init,
        "Inkling {d_model: 8, heads: 2, layers: 1, d_rel: 16, extent: 10, params: 416}",
    );
    check(
        r#"{"d_model": 8, "heads": 2}"#,
        TransformerXlConfig::new(8, 2),
        TransformerXlConfig::init,
        "TransformerXl {d_model: 8, heads: 2, base: 10000, layout: Halves, max_len: 512, params: 80}",
    );
    check(
        r#"{"d_model": 8, "heads": 2}"#,
        DebertaConfig::new(8, 2),
        DebertaConfig::init,
        "Deberta {d_model: 8, heads: 2, buckets: Some(256), max_distance: 512, content_to_position: true, position_to_content: true, params: 4240}",
    );
    check(
        r#"{"d_model": 8, "heads": 2, "max_len": 16}"#,
        TupeConfig::new(8, 2, 16),
        TupeConfig::init,
        "Tupe {d_model: 8, heads: 2, max_len: 16, params: 256}",
    );
    check(
        r#"{"d_head": 2}"#,
        CopeConfig::new(2),
        CopeConfig::init,
        "Cope {d_head: 2, positions: 64, params: 128}",
    );
    check(
        r#"{"heads": 2, "max_len": 16}"#,
        ErpeConfig::new(2, 16),
        ErpeConfig::init,
        "Erpe {heads: 2, max_len: 16, params: 62}",
    );
}

#[test]
fn biases_on_grids() {
    check(
        r#"{"heads": 2, "window": [2, 3]}"#,
        SwinRelativeBiasConfig::new(2, [2, 3]),
        SwinRelativeBiasConfig::init,
        "SwinRelativeBias {heads: 2, window: [2, 3], params: 30}",
    );
    check(
        r#"{"heads": 2, "window": [2, 3]}"#,
        BeitRelativeBiasConfig::new(2, [2, 3]),
        BeitRelativeBiasConfig::init,
        "BeitRelativeBias {heads: 2, window: [2, 3], params: 36}",
    );
    check(
        r#"{"heads": 2, "window": [2, 3], "stride": 2}"#,
        LevitRelativeBiasConfig::new(2, [2, 3]).with_stride(2),
        LevitRelativeBiasConfig::init,
        "LevitRelativeBias {heads: 2, window: [2, 3], stride: 2, params: 12}",
    );
    check(
        r#"{"heads": 2, "window": [2, 3], "pretrained_window": [4, 4]}"#,
        SwinV2RelativeBiasConfig::new(2, [2, 3]).with_pretrained_window([4, 4]),
        SwinV2RelativeBiasConfig::init,
        "SwinV2RelativeBias {heads: 2, window: [2, 3], pretrained_window: Some([4, 4]), hidden: 512, params: 2560}",
    );
    check(
        r#"{"d_head": 2, "window": [2, 3]}"#,
        DecomposedRelativeBiasConfig::new(2, [2, 3]),
        DecomposedRelativeBiasConfig::init,
        "DecomposedRelativeBias {d_head: 2, window: [2, 3], params: 16}",
    );
}

#[test]
fn embeddings() {
    check(
        r#"{"d_model": 8, "dropout": 0.1}"#,
        SinusoidalPositionalEncodingConfig::new(8).with_dropout(0.1),
        SinusoidalPositionalEncodingConfig::init,
        "SinusoidalPositionalEncoding {d_model: 8, max_len: 5000, formula: Paper { base: 10000.0 }, layout: Interleaved, axes: None, dropout: 0.1, input_scale: None, gain: Fixed(1.0), length_limit: None}",
    );
    check(
        r#"{"d_model": 8, "gain": {"learned": 1}}"#,
        SinusoidalPositionalEncodingConfig::new(8).with_gain(Gain::Learned(1.0)),
        SinusoidalPositionalEncodingConfig::init,
        "SinusoidalPositionalEncoding {d_model: 8, max_len: 5000, formula: Paper { base: 10000.0 }, layout: Interleaved, axes: None, dropout: 0, input_scale: None, gain: Learned(1.0), length_limit: None, params: 1}",
    );
    check(
        r#"{"d_model": 8, "max_len": 20}"#,
        LearnedPositionalEmbeddingConfig::new(8, 20),
        LearnedPositionalEmbeddingConfig::init,
        "LearnedPositionalEmbedding {d_model: 8, max_len: 20, init: Values(Normal { mean: 0.0, std: 0.02 }), dropout: 0, input_scale: None, padding_index: None, params: 160}",
    );
    check(
        r#"{"d_model": 8, "span": 90}"#,
        Time2VecConfig::new(8, 90.0),
        Time2VecConfig::init,
        "Time2Vec {d_model: 8, span: 90, step: 1, params: 16}",
    );
}

#[test]
fn convolutions() {
    check(
        r#"{"d_model": 8}"#,
        PositionalEncodingGeneratorConfig::new(8),
        PositionalEncodingGeneratorConfig::init,
        "PositionalEncodingGenerator {d_model: 8, kernel: 3, params: 80}",
    );
    check(
        r#"{"d_model": 32}"#,
        Wav2Vec2PositionalConvConfig::new(32),
        Wav2Vec2PositionalConvConfig::init,
        "Wav2Vec2PositionalConv {d_model: 32, kernel: 128, groups: 16, params: 8224}",
    );
}

#[test]
fn rotations() {
    check(
        r#"{"d_head": 8, "base": 500.5}"#,
        RotaryPositionalEncodingConfig::new(8).with_base(500.5),
        RotaryPositionalEncodingConfig::init,
        "RotaryPositionalEncoding {d_head: 8, max_len: 5000, base: 500.5, layout: Interleaved, rotary_dim: None, scaling: None, axes: None, frequencies: None, tiled_angles: false, opposite: false}",
    );
    check(
        r#"{"d_head": 8}"#,
        XPosPositionalEncodingConfig::new(8),
        XPosPositionalEncodingConfig::init,
        "XPosPositionalEncoding {d_head: 8, max_len: 5000, base: 10000, layout: Interleaved, scale_base: 512, rotary_dim: None}",
    );
    check(
        r#"{"d_head": 8, "heads": 2, "trained_len": 32}"#,
        FopeConfig::new(8, 2, 32),
        FopeConfig::init,
        "Fope {d_head: 8, heads: 2, trained_len: 32, base: 10000, layout: Halves, gain: 0.3, learned: false, params: 4}",
    );
    check(
        r#"{"d_head": 8, "heads": 2}"#,
        PopeConfig::new(8, 2),
        PopeConfig::init,
        "Pope {d_head: 8, heads: 2, base: 10000, max_len: 5000, params: 16}",
    );
    check(
        r#"{"d_model": 8, "heads": 2, "layers": 3}"#,
        FoxConfig::new(8, 2, 3),
        FoxConfig::init,
        "Fox {d_model: 8, heads: 2, layers: 3, params: 54}",
    );
    check(
        r#"{"d_head": 8, "heads": 2}"#,
        MixedRotaryConfig::new(8, 2),
        MixedRotaryConfig::init,
        "MixedRotary {d_head: 8, heads: 2, axes: 2, base: 10, layout: Interleaved, params: 16}",
    );
}
