//! Files that are read as their models were trained, where transformers 5.23.0 ignores a field or has another default.

use alloc::format;
use alloc::vec::Vec;

use pe_burn::RopeScaling;
use serde_json::{Value, json};

use super::{assert_says, model, rotary, with};
use crate::AttentionSpan;

/// The published files have one factor of queries and keys for both lists.
#[test]
fn phi_moe_has_the_factors_of_long_inputs_beyond_the_length_of_training() {
    let (short, long) = ([1.0, 1.125, 1.25, 1.5], [1.0, 2.0, 4.0, 8.0]);
    let of = |long_mscale: f64| {
        json!({"head_dim": 8, "max_position_embeddings": 131_072, "rope_theta": 1e4, "rope_scaling":
            {"type": "longrope", "short_factor": short, "long_factor": long, "short_mscale": 1.25,
            "long_mscale": long_mscale, "original_max_position_embeddings": 4096}})
    };
    let rotary = rotary("phimoe", of(1.25)).unwrap();
    for (seq, factors) in [(4096, short), (4097, long)] {
        let frequencies = rotary.spectrum(seq).unwrap().frequencies();
        for (i, factor) in factors.into_iter().enumerate() {
            let expected = 10_f64.powi(-(i as i32)) / factor;
            assert!(
                (frequencies[i] / expected - 1.0).abs() < 1e-12,
                "{seq}, {i}: {frequencies:?}"
            );
        }
    }
    assert_eq!(rotary.scaling.unwrap().attention_factor(), 1.25);
    assert_says(super::rotary("phimoe", of(1.5)), "`long_mscale` 1.5");
}

/// The fields of MiniMax-Text-01, whose page says that half of a head is rotated.
#[test]
fn minimax_rotates_as_many_columns_as_its_file_says() {
    let of = |fields| rotary("minimax", fields).unwrap().rotary_dim;
    let fields = json!({"head_dim": 128, "rotary_dim": 64, "rope_theta": 1e7});
    assert_eq!(of(fields), Some(64));
    assert_eq!(of(json!({"head_dim": 128})), None);
    let scaled = json!({"head_dim": 128, "rotary_dim": 64, "rope_scaling":
        {"type": "yarn", "factor": 4.0}});
    assert_eq!(of(scaled), Some(64));
    // Its code has no share by this name.
    let share = json!({"head_dim": 128, "partial_rotary_factor": 0.5});
    assert_eq!(of(share), None);
}

/// Which of eight layers have full attention.
fn full(file: Value) -> Vec<bool> {
    let layers = model(with(
        json!({"num_hidden_layers": 8, "head_dim": 128}),
        &file,
    ))
    .layers();
    let full = layers.unwrap().into_iter().map(|layer| {
        assert_eq!(layer.rotary.is_some(), layer.span == AttentionSpan::Full);
        layer.span == AttentionSpan::Full
    });
    full.collect()
}

/// The lists of MiniMax-Text-01, of the first files of MiniMax-M2, and of transformers.
#[test]
fn layers_of_minimax_have_the_attention_of_their_list() {
    let listed = |list: [u8; 8]| full(json!({"model_type": "minimax", "attn_type_list": list}));
    let every_eighth = [false, false, false, false, false, false, false, true];
    assert_eq!(listed([0, 0, 0, 0, 0, 0, 0, 1]), every_eighth);
    assert_eq!(listed([1; 8]), [true; 8]);
    let every_second = [true, false, true, false, true, false, true, false];
    assert_eq!(full(json!({"model_type": "minimax"})), every_second);
    let text_01 = json!({"model_type": "minimax_text_01", "num_hidden_layers": 8,
        "attn_type_list": [0, 0, 0, 0, 0, 0, 0, 1]});
    let like = model(text_01).like("minimax").unwrap();
    assert_eq!(like.layers().unwrap()[6].span, AttentionSpan::None);
    let short = json!({"model_type": "minimax", "num_hidden_layers": 8, "attn_type_list": [1, 0]});
    assert_says(
        model(short).layers(),
        "`attn_type_list` has 2 entries for 8 layers",
    );
}

/// Files whose type is that of other models.
#[test]
fn files_of_other_models_of_a_type_are_refused() {
    let ling = |class: &str| {
        model(
            json!({"model_type": "bailing_hybrid", "num_hidden_layers": 8, "layer_group_size": 8,
            "architectures": [class]}),
        )
        .layers()
    };
    assert_says(
        ling("BailingMoeV2_5ForCausalLM"),
        "BailingMoeV2_5ForCausalLM, a class of bailing_hybrid, is not read",
    );
    assert_eq!(ling("BailingMoeV3ForCausalLM").unwrap().len(), 8);
    // The classes of all other types are passed over.
    let named = json!({"model_type": "x", "num_hidden_layers": 2, "head_dim": 64, "architectures": "XModel"});
    let assumed = model(named).like("llama").unwrap().assumptions().unwrap();
    assert!(!assumed.join("\n").contains("architectures"), "{assumed:?}");
    let zaya = json!({"model_type": "zaya", "rope_scaling": false, "zaya_layers": ["a", 16]});
    assert_says(model(zaya).layers(), "`zaya_layers` of zaya is not read");
    let mosaic = json!({"model_type": "bert", "alibi_starting_size": 512, "position_embedding_type": "absolute"});
    assert_says(model(mosaic).schemes(), "`alibi_starting_size` is not read");
}

/// Olmo-Hybrid-7B has no base.
#[test]
fn olmo_hybrid_without_a_base_does_not_rotate() {
    let rotating = |fields: Value| {
        let file = with(
            json!({"model_type": "olmo_hybrid", "num_hidden_layers": 8}),
            &fields,
        );
        let layers = model(file).layers().unwrap().into_iter().enumerate();
        let rotating = layers.filter(|(_, layer)| layer.rotary.is_some());
        rotating.map(|(i, _)| i).collect::<Vec<_>>()
    };
    let none: [usize; 0] = [];
    assert_eq!(
        rotating(json!({"rope_parameters": {"rope_theta": null}})),
        none
    );
    assert_eq!(rotating(json!({"rope_theta": null})), none);
    assert_eq!(
        rotating(json!({"rope_parameters": {"rope_theta": 5e5}, "rope_theta": null})),
        [3, 7]
    );
    assert_eq!(rotating(json!({})), [3, 7]);
}

/// adept/fuyu-8b, whose fields of text are beside the others.
#[test]
fn a_flat_file_of_fuyu_is_read_as_persimmon() {
    let file = json!({"model_type": "fuyu", "hidden_size": 4096, "num_attention_heads": 64,
        "num_hidden_layers": 2, "partial_rotary_factor": 0.5, "rope_scaling": null, "rope_theta": 25000.0});
    let model = model(file);
    assert_eq!(model.model_type().unwrap(), "persimmon");
    let rotary = model.rotary().unwrap();
    assert_eq!((rotary.base, rotary.rotary_dim), (25e3, Some(32)));
}

/// As in Python, where it counts as none.
#[test]
fn a_scaling_of_false_is_none() {
    let rotary = rotary("llama", json!({"rope_scaling": false, "rope_theta": 5e5})).unwrap();
    assert_eq!((rotary.base, rotary.scaling), (5e5, None));
}

/// The fields of nomic-embed-text-v2-moe.
#[test]
fn nomic_bert_has_the_base_and_the_share_of_its_file() {
    let of = |base: Value| {
        let file = json!({"model_type": "nomic_bert", "n_embd": 768, "n_head": 12, "n_layer": 12,
            "n_positions": 2048, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": false,
            "rotary_scaling_factor": null});
        let model = model(with(file, &base));
        model
            .rotary()
            .map(|rotary| (rotary.base, rotary.rotary_dim))
    };
    assert_eq!(
        of(json!({"rotary_emb_base": 10_000.0})).unwrap(),
        (1e4, None)
    );
    assert_eq!(of(json!({})).unwrap(), (1e3, None));
    let half = of(json!({"rotary_emb_fraction": 0.5})).unwrap();
    assert_eq!(half, (1e3, Some(32)));
    for (field, value) in [
        ("rotary_scaling_factor", json!(2)),
        ("rotary_emb_interleaved", json!(true)),
        ("rotary_emb_scale_base", json!(512)),
    ] {
        assert_says(of(json!({field: value})), &format!("`{field}`"));
    }
}

/// The version of a file stands outside of its groups.
#[test]
fn a_part_is_of_the_version_of_its_file() {
    let of = |outer: &str, inner: Value| {
        let text =
            json!({"model_type": "persimmon", "hidden_size": 4096, "num_attention_heads": 64});
        let text = with(text, &inner);
        let file =
            json!({"model_type": "fuyu", "transformers_version": outer, "text_config": text});
        model(file).rotary().unwrap().base
    };
    assert_eq!(of("4.57.1", json!({})), 25e3);
    assert_eq!(of("5.3.0", json!({})), 1e4);
    assert_eq!(of("4.57.1", json!({"transformers_version": "5.3.0"})), 1e4);
    let whole = json!({"model_type": "whole", "transformers_version": "4.57.1", "sound_config":
        {"model_type": "persimmon", "hidden_size": 64, "num_attention_heads": 4}});
    let parts = model(whole).parts().unwrap();
    assert_eq!(parts[0].1.rotary().unwrap().base, 25e3);
    // An empty group still counts as none.
    let empty = json!({"model_type": "persimmon", "transformers_version": "4.57.1", "text_config": {},
        "hidden_size": 64, "num_attention_heads": 4});
    assert_eq!(model(empty).rotary().unwrap().base, 25e3);
}

/// What 4.57.1 gives layers with windows, where it had other names and defaults.
#[test]
fn windows_of_an_older_file_have_the_base_of_its_version() {
    let of = |model_type: &str, fields: Value| {
        let file = json!({"model_type": model_type, "head_dim": 64, "num_hidden_layers": 4});
        let layers = model(with(file, &fields)).layers().unwrap();
        let base_of = |i: usize| layers[i].rotary.as_ref().unwrap().base;
        [base_of(0), base_of(1), base_of(3)]
    };
    let older = |fields| with(fields, &json!({"transformers_version": "4.57.1"}));
    assert_eq!(of("olmo3", json!({})), [5e5; 3]);
    assert_eq!(of("olmo3", older(json!({}))), [1e4; 3]);
    let base = json!({"rope_theta": 1e6});
    assert_eq!(of("olmo3", base.clone()), [5e5, 5e5, 1e6]);
    assert_eq!(of("olmo3", older(base)), [1e6; 3]);
    let decoder = "modernbert-decoder";
    assert_eq!(of(decoder, json!({})), [16e4, 1e4, 16e4]);
    assert_eq!(of(decoder, older(json!({}))), [16e4; 3]);
    let base = older(json!({"local_rope_theta": 2e4}));
    assert_eq!(of(decoder, base), [16e4, 2e4, 16e4]);
    assert_eq!(of("modernbert", older(json!({}))), [16e4, 1e4, 16e4]);
}

/// By 4.57.1, a length beside LongRoPE gives its factor, whatever factor it has itself.
#[test]
fn the_factor_of_an_older_longrope_follows_from_the_length_beside_it() {
    let of = |version: &str| {
        let file = json!({"head_dim": 4, "max_position_embeddings": 8192, "transformers_version": version,
            "original_max_position_embeddings": 1024, "rope_scaling": {"type": "longrope", "factor": 3.0,
            "short_factor": [1.0, 1.0], "long_factor": [2.0, 2.0]}});
        match rotary("llama", file).unwrap().scaling {
            Some(RopeScaling::Longrope(longrope)) => longrope.factor,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!([of("4.57.1"), of("5.3.0")], [Some(8.0), Some(3.0)]);
}
