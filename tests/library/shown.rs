//! How modules print themselves, and what their configurations are as data. Two macros make both, so there is one module of each
//! kind here; that every scheme is read from data is in `scheme.rs`.

use std::fmt::{Debug, Display};

use burn::config::Config;
use burn::tensor::Device;
use pe_burn::embedding::Gain;
use pe_burn::gates::FoxConfig;
use pe_burn::grid::SwinRelativeBiasConfig;
use pe_burn::{FireConfig, SinusoidalPositionalEncodingConfig};

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
fn a_module_of_each_kind() {
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
        r#"{"d_model": 8, "heads": 2, "layers": 3}"#,
        FoxConfig::new(8, 2, 3),
        FoxConfig::init,
        "Fox {d_model: 8, heads: 2, layers: 3, params: 54}",
    );
    check(
        r#"{"heads": 2, "window": [2, 3]}"#,
        SwinRelativeBiasConfig::new(2, [2, 3]),
        SwinRelativeBiasConfig::init,
        "SwinRelativeBias {heads: 2, window: [2, 3], params: 30}",
    );
}

/// It has parameters only with a gain that is learned.
#[test]
fn a_sinusoidal_encoding() {
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
}
