//! What is made of files, field by field.

mod trained;

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use burn::tensor::{Device, Tensor};
use pe_burn::scaling::{Dynamic, Linear, Llama3, Longrope, Yarn};
use pe_burn::{
    Coordinates, PositionError, Positions, RopeScaling, RotaryPositionalEncodingConfig, Rotate,
};
use serde_json::{Value, json};

use crate::table::FAMILIES;
use crate::{AttentionSpan, HfConfig};

fn model(file: Value) -> HfConfig {
    HfConfig::from_json(&file.to_string()).unwrap()
}

/// Fields, and these in place of or beside them.
fn with(mut fields: Value, more: &Value) -> Value {
    let mut more = more.as_object().unwrap().clone();
    fields.as_object_mut().unwrap().append(&mut more);
    fields
}

/// The rotation of a model with these fields and with heads of width 64.
fn rotary(
    model_type: &str,
    fields: Value,
) -> Result<RotaryPositionalEncodingConfig, PositionError> {
    let file = json!({"model_type": model_type, "head_dim": 64});
    model(with(file, &fields)).rotary()
}

/// Fails unless an error has these words.
#[track_caller]
fn assert_says<T>(result: Result<T, PositionError>, words: &str) {
    let message = refusal(result);
    assert!(message.contains(words), "{message}");
}

/// What an error says.
#[track_caller]
fn refusal<T>(result: Result<T, PositionError>) -> String {
    result.err().expect("an error").to_string()
}

fn scaling(model_type: &str, fields: Value) -> Option<RopeScaling> {
    rotary(model_type, fields).unwrap().scaling
}

fn message(model_type: &str, fields: Value) -> String {
    rotary(model_type, fields).unwrap_err().to_string()
}

#[test]
fn the_table_is_sorted() {
    assert!(FAMILIES.is_sorted_by(|a, b| a.name < b.name));
}

#[test]
fn a_file_of_an_older_version_is_read_as_that_version_reads_it() {
    let of = |model_type, version: &str, more: Value| {
        let file = json!({"model_type": model_type, "hidden_size": 64, "num_attention_heads": 4,
            "transformers_version": version, "max_position_embeddings": 8192});
        model(with(file, &more)).rotary().unwrap()
    };
    for (model_type, older, newer) in [
        ("cohere", 1e4, 5e5),
        ("falcon_h1", 1e5, 1e4),
        ("kyutai_speech_to_text", 1e5, 1e4),
        ("persimmon", 25e3, 1e4),
        ("qwen3_vl_moe_text", 5e6, 5e5),
        ("qwen3_vl_text", 5e6, 5e5),
    ] {
        assert_eq!(of(model_type, "4.57.1", json!({})).base, older);
        assert_eq!(of(model_type, "5.0.0.dev0", json!({})).base, newer);
    }
    let beside = json!({"original_max_position_embeddings": 512, "rope_scaling": {"type": "yarn",
        "factor": 2, "original_max_position_embeddings": 1024}});
    let length = |version| match of("llama", version, beside.clone()).scaling {
        Some(RopeScaling::Yarn(yarn)) => yarn.original_max_position_embeddings,
        other => panic!("{other:?}"),
    };
    assert_eq!([length("4.41.2"), length("5.3.0")], [1024, 512]);
}

#[test]
fn the_buffer_starts_with_the_context_of_the_model_or_the_default_if_that_is_less() {
    let max_len = |fields| rotary("llama", fields).unwrap().max_len;
    let default = RotaryPositionalEncodingConfig::new(64).max_len;
    assert_eq!(default, 5000);
    assert_eq!(max_len(json!({})), default);
    for (longest, expected) in [(131_072, default), (2048, 2048)] {
        let fields = json!({"max_position_embeddings": longest});
        assert_eq!(max_len(fields), expected);
    }
}

/// Cases found in real files, in which a wrong reading gives no error.
#[test]
fn names_count_where_the_code_of_the_model_reads_them() {
    let all = json!({"head_dim": null, "hidden_size": 256, "num_attention_heads": 4,
        "rotary_pct": 0.5, "rotary_emb_base": 20_000, "rope_theta": 77_777,
        "partial_rotary_factor": 0.75});
    let neox = rotary("gpt_neox", all.clone()).unwrap();
    assert_eq!((neox.base, neox.rotary_dim), (20_000.0, Some(32)));
    let llama = rotary("llama", all.clone()).unwrap();
    assert_eq!((llama.base, llama.rotary_dim), (77_777.0, None));
    let stablelm = rotary("stablelm", all).unwrap();
    assert_eq!((stablelm.base, stablelm.rotary_dim), (77_777.0, Some(48)));

    let inside = json!({"rope_parameters": {"rope_theta": 5e5, "partial_rotary_factor": 0.5}});
    let llama = rotary("llama", inside.clone()).unwrap();
    assert_eq!((llama.base, llama.rotary_dim), (5e5, None));
    let stablelm = rotary("stablelm", inside).unwrap();
    assert_eq!((stablelm.base, stablelm.rotary_dim), (5e5, Some(32)));

    // A model card's scaling, added to a file that version 5 saved.
    let both = json!({"rope_parameters": {"rope_type": "default", "rope_theta": 5e5},
        "rope_scaling": {"type": "linear", "factor": 2}, "rope_theta": 1e6});
    let llama = rotary("llama", both).unwrap();
    assert_eq!(
        (llama.base, llama.scaling),
        (1e6, Some(Linear::new(2.0).into()))
    );
}

#[test]
fn the_lengths_are_found_where_a_model_has_them() {
    let longest = 131_072;
    let of = |model_type, fields: Value| {
        let fields = json!({"max_position_embeddings": longest, "rope_scaling": fields});
        scaling(model_type, fields)
    };
    let dynamic = json!({"type": "dynamic", "factor": 2, "original_max_position_embeddings": 8});
    assert_eq!(
        of("llama", dynamic),
        Some(Dynamic::new(2.0, longest).into())
    );
    let yarn = json!({"type": "yarn", "factor": 2});
    assert_eq!(of("llama", yarn), Some(Yarn::new(2.0, longest).into()));
    let yarn = json!({"type": "yarn", "factor": null, "original_max_position_embeddings": 16_384,
        "truncate": null});
    let expected = Yarn {
        truncate: false,
        ..Yarn::new(8.0, 16_384)
    };
    assert_eq!(of("llama", yarn), Some(expected.into()));
    let llama3 = json!({"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
        "high_freq_factor": 1});
    assert_eq!(
        of("llama", llama3),
        Some(Llama3::new(8.0, 1.0, 1.0, longest).into())
    );

    let lists = (vec![1.0; 32], vec![2.0; 32]);
    let longrope = |length, factor| {
        Some(Longrope::new(lists.0.clone(), lists.1.clone(), length, factor).into())
    };
    let fields = |more| {
        with(
            json!({"short_factor": lists.0, "long_factor": lists.1}),
            &more,
        )
    };
    // The length of Phi-3's own code, and the names that its first files have.
    for names in [
        json!({"rope_type": "longrope"}),
        json!({"type": "su"}),
        json!({"type": "yarn"}),
        json!({"type": "longrope", "original_max_position_embeddings": 1024}),
    ] {
        assert_eq!(of("phi3", fields(names)), longrope(4096, 32.0));
    }
    let own = fields(json!({"type": "longrope", "original_max_position_embeddings": 1024}));
    assert_eq!(of("llama", own.clone()), longrope(1024, 128.0));
    let beside = json!({"max_position_embeddings": longest, "rope_scaling": own,
        "original_max_position_embeddings": 2048});
    assert_eq!(scaling("phi3", beside), longrope(2048, 64.0));
    let given = fields(json!({"type": "longrope", "factor": 3}));
    assert_eq!(of("llama", given), longrope(longest, 3.0));
}

#[test]
fn fields_that_a_scaling_does_not_have_are_passed_over() {
    let fields = json!({"rope_scaling": {"type": "linear", "factor": 4,
        "original_max_position_embeddings": 1024, "finetuned": true, "deep": {"a": [1]}}});
    assert_eq!(scaling("llama", fields), Some(Linear::new(4.0).into()));
    let nothing = [
        json!({}),
        json!({"rope_scaling": null}),
        json!({"rope_scaling": {}}),
        json!({"rope_scaling": {"type": "default", "factor": 4}}),
        json!({"rope_parameters": {"rope_theta": 1e4, "mrope_section": [1, 2]}}),
    ];
    for fields in nothing {
        assert_eq!(scaling("llama", fields), None);
    }
}

#[test]
fn json_is_read_as_python_writes_it() {
    let text = r#"{"model_type": "llama", "head_dim": 8, "head_dim": 16, "initializer_range": NaN,
        "limits": [-Infinity, Infinity]}"#;
    let config = HfConfig::from_json(text).unwrap().rotary().unwrap();
    assert_eq!(config.d_head, 16);
    let text = r#"{"model_type": "llama", "head_dim": 8, "rope_theta": NaN}"#;
    let rotary = HfConfig::from_json(text).unwrap().rotary();
    assert_says(rotary, "needs a number as `rope_theta`, not \"NaN\"");
    let deep = "[".repeat(100_000);
    for (text, words) in [
        ("{", "config.json cannot be read: EOF"),
        (&deep, "config.json cannot be read: "),
    ] {
        let message = refusal(HfConfig::from_json(text));
        assert!(message.starts_with(words), "{message}");
    }
}

#[test]
fn layers_that_differ_have_no_common_rotation() {
    let smollm = json!({"model_type": "smollm3", "num_hidden_layers": 5, "hidden_size": 64,
        "num_attention_heads": 4});
    let smollm = model(smollm);
    let layers = smollm.layers().unwrap();
    let rotates: Vec<bool> = layers.iter().map(|layer| layer.rotary.is_some()).collect();
    assert_eq!(rotates, [true, true, true, false, true]);
    assert!(layers.iter().all(|layer| layer.span == AttentionSpan::Full));
    let message = refusal(smollm.rotary());
    let words = "layers 0 and 3 rotate differently: read its layers";
    assert!(message.ends_with(words), "{message}");
    let modules = smollm.init_rotary(&Device::flex()).unwrap();
    assert_eq!(modules.iter().filter(|module| module.is_some()).count(), 4);
}

/// The queries of Ministral 3 are multiplied by a factor beside the rotation, which `rotary` could only leave out.
#[test]
fn a_factor_of_the_queries_is_not_left_out() {
    let parameters = json!({"rope_type": "yarn", "rope_theta": 1e6, "factor": 16.0, "llama_4_scaling_beta": 0.1,
        "original_max_position_embeddings": 16384});
    let ministral = model(
        json!({"model_type": "ministral3", "num_hidden_layers": 2, "hidden_size": 64,
        "num_attention_heads": 4, "rope_parameters": parameters}),
    );
    assert!(ministral.layers().unwrap()[0].query_scale.is_some());
    let words = "queries of layer 0 are multiplied by a factor";
    assert_says(ministral.rotary(), words);
}

/// The formula of NeoMME's code: pairs turn by the row and the column in turn, with the frequencies of a line.
#[test]
fn rows_and_columns_take_turns() {
    let file = json!({"model_type": "neomme", "num_hidden_layers": 1, "head_dim": 8, "rope_parameters":
        {"full_attention": {"rope_theta": 1e4, "partial_rotary_factor": 1}}});
    let device = Device::flex();
    let rope = model(file).init_rotary(&device).unwrap().remove(0).unwrap();
    let places = Coordinates::new([[3.0, 5.0]]).unwrap();
    let q = Tensor::<4>::from_data([[[[1.0_f32, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]]]], &device);
    let turned = rope.rotate_queries(q, &Positions::from(places));
    let turned: Vec<f64> = turned.into_data().iter::<f64>().collect();
    for (pair, place) in [3.0_f64, 5.0, 3.0, 5.0].into_iter().enumerate() {
        let angle = place * 10.0_f64.powi(-(pair as i32));
        for (got, expected) in [(turned[pair], angle.cos()), (turned[pair + 4], angle.sin())] {
            assert!((got - expected).abs() < 1e-6, "{turned:?}");
        }
    }
}

#[test]
fn the_part_about_text_is_read() {
    let text = json!({"model_type": "llama", "head_dim": 32});
    let llava = json!({"model_type": "llava", "text_config": text, "head_dim": 8});
    assert_eq!(model(llava).rotary().unwrap().d_head, 32);
    // As published: the fields of the text are not in a group.
    let qwen = json!({"model_type": "qwen2_vl", "hidden_size": 256, "num_attention_heads": 4,
        "rope_theta": 1e6, "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]},
        "num_hidden_layers": 2, "vision_config": {"model_type": "qwen2_vl", "hidden_size": 8}});
    let layers = model(qwen).layers().unwrap();
    let rotary = layers[1].rotary.as_ref().unwrap();
    assert_eq!(
        (rotary.d_head, rotary.base, &rotary.scaling),
        (64, 1e6, &None)
    );
    let gemma = json!({"model_type": "gemma3", "text_config": {"num_hidden_layers": 1}});
    assert_eq!(model(gemma).layers().unwrap()[0].columns, 0..256);
}

#[test]
fn what_a_model_lacks_is_named() {
    for (fields, words) in [
        (
            json!({"head_dim": null, "hidden_size": 64, "num_attention_heads": 0}),
            "`num_attention_heads` must be at least 1; got 0",
        ),
        (
            json!({"head_dim": null, "hidden_size": 65, "num_attention_heads": 4}),
            "`hidden_size` must be a multiple of `num_attention_heads` 4; got 65",
        ),
        (
            json!({"head_dim": 1_000_000_000_000_u64}),
            "a head may have 1048576 columns; got 1000000000000",
        ),
        (json!({"rope_theta": null}), "it has no `rope_theta`"),
        (
            json!({"rope_scaling": {"rope_type": "linear"}}),
            "linear needs `factor`",
        ),
        (
            json!({"rope_scaling": {"rope_type": "yarn", "factor": 2,
                "original_max_position_embeddings": 0.5}}),
            "needs a whole number of at least 0 as `original_max_position_embeddings`, not 0.5",
        ),
        (
            json!({"rope_scaling": {"rope_theta": "1e4"}}),
            "needs a number as `rope_theta`, not \"1e4\"",
        ),
        (
            // One group of fields for each kind of layer.
            json!({"rope_parameters": {"full_attention": {}, "rope_theta": 1e4}}),
            "it has parameters for \"full_attention\", but llama has one group for all layers",
        ),
        (
            json!({"rope_scaling": {"type": "mrope", "mrope_section": [1]}}),
            "there is no rope_type \"mrope\"; there are: linear,",
        ),
        (
            json!({"rope_scaling": {"type": "ntk", "factor": 2}}),
            "there is no rope_type \"ntk\" in transformers",
        ),
        (
            json!({"rope_scaling": {"type": "linear", "factor": 2, "partial_rotary_factor": 0.5}}),
            "a scaling with `partial_rotary_factor` 0.5, which llama does not have",
        ),
    ] {
        let message = message("llama", fields);
        let start = "config.json describes no rotary encoding: ";
        assert!(
            message.starts_with(start) && message.contains(words),
            "{message}"
        );
    }
}

#[test]
fn a_type_that_is_not_known_and_a_list_that_does_not_fit_are_named() {
    let message = message("no_such", json!({}));
    let expected = "there is no model type named \"no_such\"; there are: 255 types; docs/models.md lists those that rotate queries and keys";
    assert_eq!(message, expected);
    let many = json!({"model_type": "gemma2", "num_hidden_layers": 1e18});
    assert_says(model(many).layers(), "must be at most 10000");
    let short =
        json!({"model_type": "gemma2", "num_hidden_layers": 3, "layer_types": ["full_attention"]});
    let words = "its list of layers has 1 entries for 3 layers";
    assert_says(model(short).layers(), words);
}

#[test]
fn an_unknown_type_is_told_its_relatives_and_read_as_one_of_them() {
    let file = json!({"model_type": "qwen2_grand", "num_hidden_layers": 2, "hidden_size": 64,
        "num_attention_heads": 4, "rope_theta": 5e5, "rotary_share": 0.5});
    let message = model(file.clone()).layers().unwrap_err().to_string();
    assert!(message.len() < 300, "{message}");
    let near =
        "qwen2, qwen2_5_omni_talker, qwen2_5_omni_text, qwen2_5_vl_text, qwen2_moe, and others, ";
    assert!(message.contains(near), "{message}");
    for (name, near) in [
        ("xlm-roberta", ": bert, roberta, and others, "),
        (
            "Llama-5",
            ": llama, llama4_text, llama4_vision_model, and others, ",
        ),
        ("deberta", ": deberta-v2, and others, "),
    ] {
        assert_says(model(json!({"model_type": name})).layers(), near);
    }
    let like = model(file).like("qwen2").unwrap();
    assert_eq!(like.rotary().unwrap().base, 5e5);
    let assumed = like.assumptions().unwrap();
    for line in [
        "it rotates as the code of qwen2 does; the type of the file is \"qwen2_grand\"",
        "columns i and i + 8 of a head make a pair",
        "every layer rotates its queries and keys",
        "passed over, though the names speak of positions: `rotary_share`",
    ] {
        assert!(
            assumed.iter().any(|assumed| assumed == line),
            "{line}: {assumed:#?}"
        );
    }
    let llama = model(json!({"model_type": "llama"}));
    assert!(llama.like("no_such").is_err());
}

#[test]
fn a_part_about_text_without_a_type_has_that_of_its_model() {
    for (outer, text) in [
        ("llava", "llama"),
        ("kimi_k25", "deepseek_v3"),
        ("gemma3", "gemma3_text"),
    ] {
        let file = json!({"model_type": outer, "text_config": {"num_hidden_layers": 1}});
        assert_eq!(model(file).model_type().unwrap(), text);
    }
    let file = json!({"model_type": "kimi_k25", "text_config": {"model_type": "kimi_k2"}});
    assert_eq!(model(file).layers().unwrap().len(), 61);
}
