//! Models that do not rotate: the tables of their schemes have as many numbers as those of transformers have,
//! `tests/peers/values/unrotated.json`, written by `tests/peers/unrotated.py`.

use std::fmt::Debug;

use burn::module::Module;
use burn::tensor::Device;
use pe_burn::embedding::InputScale;
use pe_burn::{AlibiConfig, PositionError, PositionalConfig};
use pe_models::HfConfig;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Case {
    #[serde(rename = "type")]
    name: String,
    file: Value,
    /// The numbers in each table or convolution.
    sizes: Vec<usize>,
}

#[test]
fn tables_have_the_sizes_of_the_code() {
    let cases: Vec<Case> = serde_json::from_str(include_str!(
        "../../../../tests/peers/values/unrotated.json"
    ))
    .unwrap();
    let mut names = Vec::new();
    for Case { name, file, sizes } in &cases {
        let schemes = HfConfig::from_json(&file.to_string())
            .unwrap()
            .schemes()
            .unwrap()
            .unwrap();
        let mut ours: Vec<usize> = Vec::new();
        for placed in schemes {
            ours.push(match &placed.scheme {
                // Its code keeps them as a table that is not trained.
                PositionalConfig::Sinusoidal(sines) => sines.max_len * sines.d_model,
                scheme => scheme.init(&Device::flex()).num_params(),
            });
        }
        ours.sort_unstable();
        assert_eq!(&ours, sizes, "{name}: {file}");
        names.push(name);
    }
    names.dedup();
    assert!(
        names.len() >= 17 && cases.len() >= 30,
        "{} {}",
        names.len(),
        cases.len()
    );
}

/// Checks that each of these files is refused with a message that ends in these words.
fn refused<T: Debug>(read: impl Fn(&str) -> Result<T, PositionError>, rows: &[(&str, &str)]) {
    for (file, words) in rows {
        let error = read(file).unwrap_err().to_string();
        assert!(error.ends_with(words), "{error}");
    }
}

#[test]
fn what_a_file_turns_off_is_not_there_and_what_is_not_read_is_named() {
    let read = |text: &str| HfConfig::from_json(text).unwrap().schemes();
    assert_eq!(read(r#"{"model_type": "beit"}"#).unwrap(), Some(vec![]));
    assert_eq!(read(r#"{"model_type": "llama"}"#).unwrap(), None);
    let v3 = r#"{"model_type": "deberta-v2", "relative_attention": true, "position_buckets": 256, "pos_att_type": ["p2c", "c2p"],
        "max_relative_positions": -1, "position_biased_input": false}"#;
    let [one] = &read(v3).unwrap().unwrap()[..] else {
        panic!()
    };
    let PositionalConfig::Deberta(deberta) = &one.scheme else {
        panic!("{one:?}")
    };
    assert_eq!((deberta.buckets, deberta.max_distance), (Some(256), 512));
    assert!(deberta.content_to_position && deberta.position_to_content);
    let rows = [
        (
            r#"{"model_type": "bert", "position_embedding_type": "relative_key"}"#,
            "`position_embedding_type` \"relative_key\" is not read",
        ),
        (
            r#"{"model_type": "vit", "patch_size": 0}"#,
            "`patch_size` must be at least 1; got 0",
        ),
        (
            r#"{"model_type": "roberta", "max_position_embeddings": 1}"#,
            "must be more than `pad_token_id` 1; got 1",
        ),
        (
            r#"{"model_type": "t5", "num_heads": 0}"#,
            "`num_heads` must be at least 1; got 0",
        ),
        (
            r#"{"model_type": "swin", "num_heads": []}"#,
            "`num_heads` must have a number for each stage; got none",
        ),
        (
            r#"{"model_type": "whisper", "d_model": 0}"#,
            "`d_model` must be at least 1; got 0",
        ),
        (
            r#"{"model_type": "whisper", "d_model": 65}"#,
            "`d_model` must be a multiple of 2; got 65",
        ),
        (
            r#"{"model_type": "t5", "relative_attention_num_buckets": 30}"#,
            "`relative_attention_num_buckets` must be a multiple of 4; got 30",
        ),
        (
            r#"{"model_type": "wav2vec2", "num_conv_pos_embeddings": 0}"#,
            "`num_conv_pos_embeddings` must be at least 1; got 0",
        ),
        (
            r#"{"model_type": "hubert", "feat_extract_activation": "relu"}"#,
            "`feat_extract_activation` must be \"gelu\"; got \"relu\"",
        ),
        (
            r#"{"model_type": "swinv2", "use_absolute_embeddings": true}"#,
            "`use_absolute_embeddings` is not read",
        ),
    ];
    refused(read, &rows);
    let far = read(r#"{"model_type": "vit", "image_size": 1e15, "patch_size": 1}"#)
        .unwrap()
        .unwrap();
    assert!(far[0].scheme.try_init(&Device::flex()).is_err());
    let layers = |text: &str| HfConfig::from_json(text).unwrap().layers();
    let rows = [
        (
            r#"{"model_type": "bert"}"#,
            "bert does not rotate: `HfConfig::schemes` reads its positions",
        ),
        (
            r#"{"model_type": "mpt"}"#,
            "mpt does not rotate: `HfConfig::schemes` reads its positions",
        ),
    ];
    refused(layers, &rows);
}

/// The sizes of swinv2-tiny-patch4-window16-256, whose last stage has 8 × 8 patches.
#[test]
fn a_window_of_swin_v2_is_not_larger_than_its_image() {
    let file = r#"{"model_type": "swinv2", "image_size": 256, "patch_size": 4, "window_size": 16,
        "num_heads": [3, 6, 12, 24], "pretrained_window_sizes": [0, 12, 12, 6]}"#;
    let schemes = HfConfig::from_json(file).unwrap().schemes().unwrap();
    let windows = schemes
        .unwrap()
        .into_iter()
        .map(|placed| match placed.scheme {
            PositionalConfig::SwinV2(stage) => (stage.window, stage.pretrained_window),
            other => panic!("{other:?}"),
        });
    let expected = [
        ([16; 2], None),
        ([16; 2], Some([12; 2])),
        ([16; 2], Some([12; 2])),
        ([8; 2], Some([6; 2])),
    ];
    assert_eq!(windows.collect::<Vec<_>>(), expected);
}

/// BART scales its tokens where `scale_embedding` says so. The code of Whisper and of BERT passes over the field. DeBERTa's
/// embeddings can have a width of their own.
#[test]
fn fields_that_only_some_models_read() {
    let first = |file: &str| {
        let schemes = HfConfig::from_json(file).unwrap().schemes().unwrap();
        schemes.unwrap().swap_remove(0).scheme
    };
    for name in ["whisper", "bert"] {
        let plain = first(&format!(r#"{{"model_type": "{name}"}}"#));
        let scaled = first(&format!(
            r#"{{"model_type": "{name}", "scale_embedding": true}}"#
        ));
        assert_eq!(scaled, plain);
    }
    let table = |file| match first(file) {
        PositionalConfig::Learned(table) => (table.d_model, table.input_scale),
        other => panic!("{other:?}"),
    };
    for (file, expected) in [
        (r#"{"model_type": "mbart"}"#, (1024, InputScale::None)),
        (
            r#"{"model_type": "bart", "scale_embedding": true}"#,
            (1024, InputScale::SqrtDModel),
        ),
        (
            r#"{"model_type": "deberta-v2", "hidden_size": 96, "embedding_size": 48}"#,
            (48, InputScale::None),
        ),
    ] {
        assert_eq!(table(file), expected, "{file}");
    }
}

/// MPT and BLOOM have the slopes of the paper for any number of heads; a file that says otherwise is refused.
#[test]
fn alibi_of_models_that_do_not_rotate() {
    let read = |json: String| HfConfig::from_json(&json).unwrap();
    for heads in (1..=32).chain([48, 71, 112]) {
        for json in [
            format!(
                r#"{{"model_type": "mpt", "n_heads": {heads}, "attn_config": {{"alibi": true}}}}"#
            ),
            format!(r#"{{"model_type": "bloom", "num_attention_heads": {heads}}}"#),
        ] {
            let alibi = read(json).alibi().unwrap();
            assert_eq!(alibi, Some(AlibiConfig::new(heads)));
        }
    }
    let of = |json: &str| read(json.to_string()).alibi();
    assert_eq!(of(r#"{"model_type": "mpt"}"#).unwrap().unwrap().heads, 16);
    assert_eq!(of(r#"{"model_type": "bloom"}"#).unwrap().unwrap().heads, 8);
    assert_eq!(of(r#"{"model_type": "llama"}"#).unwrap(), None);
    let rows = [
        (
            r#"{"model_type": "mpt", "attn_config": {"alibi_bias_max": 16}}"#,
            "`alibi_bias_max` must be 8; got 16",
        ),
        (
            r#"{"model_type": "mpt", "attn_config": {"alibi": false}}"#,
            "its `alibi` is false",
        ),
        (
            r#"{"model_type": "bloom", "n_head": 0}"#,
            "`n_head` must be at least 1; got 0",
        ),
        (
            r#"{"model_type": "falcon", "alibi": true}"#,
            "and rounds them to bfloat16",
        ),
    ];
    refused(of, &rows);
    assert_eq!(of(r#"{"model_type": "opt"}"#).unwrap(), None);
    assert!(matches!(
        of(r#"{"model_type": "no_such"}"#),
        Err(PositionError::UnknownName { .. })
    ));
}
