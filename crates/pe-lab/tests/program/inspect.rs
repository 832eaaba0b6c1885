//! `pe-lab inspect` as a user sees it.

use std::fs;
use std::path::Path;

use crate::common::{Says, ended, failed, lab, rows, well};
use serde_json::Value;

const GEMMA: &str = r#"{"model_type": "gemma3", "initializer_range": NaN, "text_config": {
    "model_type": "gemma3_text", "head_dim": 8, "num_hidden_layers": 7, "sliding_window": 512,
    "max_position_embeddings": 32768, "rope_scaling": {"rope_type": "linear", "factor": 8.0}}}"#;

fn inspect(arguments: &[&str], folder: &Path) -> (i32, String, String) {
    ended(lab().arg("inspect").args(arguments).current_dir(folder))
}

#[test]
fn layers_are_told_in_groups_that_are_alike() {
    let folder = tempfile::tempdir().unwrap();
    // Some editors begin a file with a mark of the order of bytes.
    fs::write(
        folder.path().join("config.json"),
        format!("\u{feff}{GEMMA}"),
    )
    .unwrap();
    let (code, text, _) = inspect(&["config.json"], folder.path());
    let expected = "\
gemma3_text: 7 layers, inputs of up to 32,768 tokens

Layers 0 to 4, 6
  attention    over a window of 512 keys
  positions    RoPE: queries and keys are rotated
  columns      0 to 7 of a head
  layout       halves: column i makes a pair with column i + 4
  base         10,000
  scaling      none
  wavelengths  6.283 to 6,283 tokens, 4 pairs
  full turns   every turning pair makes one within the 32,768 tokens of training

Layer 5
  attention    full
  positions    RoPE: queries and keys are rotated
  columns      0 to 7 of a head
  layout       halves: column i makes a pair with column i + 4
  base         1,000,000
  scaling      {\"rope_type\":\"linear\",\"factor\":8.0}
  wavelengths  50.265 to 1,589,534 tokens, 4 pairs
  full turns   pairs 2, 3 make none within the 4,096 tokens of training
";
    assert_eq!((code, &*text), (0, expected));
    assert!(text.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn models_of_text_and_images_have_axes() {
    let folder = tempfile::tempdir().unwrap();
    let file = r#"{"model_type": "qwen3_vl", "text_config": {"model_type": "qwen3_vl_text",
        "num_hidden_layers": 2, "rope_parameters": {"rope_type": "default", "rope_theta": 5e6}}}"#;
    fs::write(folder.path().join("config.json"), file).unwrap();
    let (code, text, _) = inspect(&["config.json"], folder.path());
    let expected = "  axes         pairs of time 24, height 20, width 20: in turn\n";
    assert!(code == 0 && text.contains(expected), "{text}");
    let is_narrow = text.lines().all(|line| line.chars().count() <= 80);
    assert!(is_narrow, "{text}");
    let (_, json, _) = inspect(&["config.json", "--json"], folder.path());
    let json: Value = serde_json::from_str(&json).unwrap();
    let axes = &json["groups"][0]["rotation"]["axes"];
    assert_eq!(
        (&axes["order"], &axes["axes"][0]["columns"]),
        (&"dealt".into(), &48.into())
    );
}

/// A file, and what is told of it.
const TOLD: &str = r#"
    {"model_type": "qwen3_vl", "text_config": {"model_type": "qwen3_vl_text", "num_hidden_layers": 2}, "vision_config": {"model_type": "qwen3_vl", "depth": 3, "hidden_size": 64, "num_heads": 4}} | qwen3_vl_text: 2 layers … == vision_config⏎qwen3_vl_vision: 3 layers … row of a patch, then its column
    {"model_type": "t5", "num_heads": 12} | Scores of every layer of the decoder … "kind":"t5","heads":12
    {"model_type": "blip-2", "text_config": {"model_type": "opt", "hidden_size": 96}} | Embeddings … "kind":"learned","d_model":96
    {"model_type": "jamba"} | no positions: this model adds none, and rotates nothing
    {"model_type": "dia", "encoder_config": {"num_hidden_layers": 2}, "decoder_config": {"num_hidden_layers": 3}} | == decoder_config⏎dia_decoder: 3 layers … == encoder_config⏎dia_encoder: 2 layers
    {"model_type": "llama", "num_hidden_layers": 1, "head_dim": 8, "max_position_embeddings": 4096, "rope_scaling": {"type": "dynamic", "factor": 4.0}} | in short inputs; in one of 16,384 tokens:
    {"model_type": "t5gemma2_text", "num_hidden_layers": 6} | over 2047 keys before a query and 2048 after it
    {"model_type": "modernbert", "local_attention": 128} | over 64 keys on each side of a query
    {"model_type": "gemma3_text", "use_bidirectional_attention": true, "sliding_window": 512} | over 256 keys on each side of a query
    {"model_type": "modernbert-decoder", "local_attention": 128} | over a window of 64 keys
    {"model_type": "unlimited_ocr_text"} | over the prompt, and a window of 128 keys
    {"model_type": "hunyuan_vl", "head_dim": 128, "num_hidden_layers": 2, "rope_scaling": {"type": "xdrope", "alpha": 1000.0, "xdrope_section": [16, 16, 16, 16]}} | pairs of 16, 16, 16, 16, a number for each: in a row
    {"model_type": "neomme"} | pairs of row 16, column 16: in turn
    {"model_type": "nanochat"} | direction    opposite: pairs turn by minus the angle
    {"model_type": "vjepa2"} | tiled: column i of an axis turns by frequency i,"#;

#[test]
fn other_parts_and_models_that_do_not_rotate_are_told() {
    let folder = tempfile::tempdir().unwrap();
    for [file, words] in rows(TOLD) {
        fs::write(folder.path().join("config.json"), file).unwrap();
        let (text, _) = well(inspect(&["config.json"], folder.path()));
        text.says(words);
        let (_, json, _) = inspect(&["config.json", "--json"], folder.path());
        serde_json::from_str::<Value>(&json).unwrap();
    }
}

#[test]
fn json_has_the_keys_on_both_sides_and_what_is_not_read_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = r#"{"model_type": "modernbert", "local_attention": 128, "num_hidden_layers": 2, "sound_config":
        {"model_type": "llama", "rope_theta": null}}"#;
    fs::write(folder.path().join("my.json"), file).unwrap();
    let (json, _) = well(inspect(&["my.json", "--json"], folder.path()));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["groups"][1]["attention"], "64 before, 64 after");
    let reason = json["parts"][0]["not_read"].as_str().unwrap();
    assert!(
        reason.starts_with("sound_config describes no rotary encoding"),
        "{reason}"
    );
}

#[test]
fn json_has_a_probe_that_other_code_can_be_compared_with() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("config.json"), GEMMA).unwrap();
    let arguments = ["config.json", "--json", "--plot", "waves.svg"];
    let (text, _) = well(inspect(&arguments, folder.path()));
    let json: Value = serde_json::from_str(&text).unwrap();
    let rotation = &json["groups"][1]["rotation"];
    assert_eq!(rotation["base"], 1e6);
    let query: Vec<f64> = serde_json::from_value(rotation["probe"]["query"].clone()).unwrap();
    assert_eq!(
        query,
        (1..=8).map(|i| f64::from(i) / 8.0).collect::<Vec<_>>()
    );
    let rotated: Vec<(usize, Vec<f64>)> =
        serde_json::from_value(rotation["probe"]["rotated"].clone()).unwrap();
    let at: Vec<usize> = rotated.iter().map(|(position, _)| *position).collect();
    assert_eq!(at, [0, 1, 100, 4_095, 4_096, 32_767, 131_071]);
    for (position, row) in rotated {
        for i in 0..4 {
            let omega = 1e6_f64.powf(-2.0 * i as f64 / 8.0) / 8.0;
            let (sin, cos) = (omega * position as f64).sin_cos();
            let expected = query[i] * cos - query[i + 4] * sin;
            assert!((row[i] - expected).abs() < 1e-10, "{position}, {i}");
        }
    }
    let svg = fs::read_to_string(folder.path().join("waves.svg")).unwrap();
    assert!(svg.contains("Wavelengths of gemma3_text") && svg.contains("context: 32,768 tokens"));
}

/// The bytes of a safetensors file with a tensor of this name and so many rows of two numbers.
fn safetensors(name: &str, rows: usize) -> Vec<u8> {
    let end = 8 * rows;
    let header =
        format!(r#"{{"{name}":{{"dtype":"F32","shape":[{rows},2],"data_offsets":[0,{end}]}}}}"#);
    let size = (header.len() as u64).to_le_bytes();
    [&size[..], header.as_bytes(), &vec![0; end]].concat()
}

/// Projections of queries and their rows, with the layout that they tell and what is said.
const WEIGHTS: &str = "
    model.layers.0.self_attn.q_proj.weight | 512 | halves      | 512 rows are 8 heads of width 64.
    q_proj.weight                          | 500 | halves      | not a multiple of the head's width 64
    layers.0.attention.wq.weight           | 512 | interleaved | The name is Meta's
    layers.0.attention.wq.weight           | 512 | interleaved | convert the rows
    blk.0.attn_q.weight                    | 512 | null        | the name does not tell
    h.0.attn.c_attn.weight                 | 512 | null        | tells the layout
    embed.weight                           | 512 | null        | nothing can be told";

#[test]
fn weights_tell_the_layout_where_they_can() {
    let folder = tempfile::tempdir().unwrap();
    let config = r#"{"model_type": "llama", "num_hidden_layers": 2, "head_dim": 64}"#;
    fs::write(folder.path().join("config.json"), config).unwrap();
    let told = |more: &[&str]| {
        let arguments = [&["config.json", "--weights", "w.safetensors"], more].concat();
        inspect(&arguments, folder.path())
    };
    let write = |bytes: &[u8]| fs::write(folder.path().join("w.safetensors"), bytes).unwrap();
    for [name, count, layout, said] in rows(WEIGHTS) {
        write(&safetensors(name, count.parse().unwrap()));
        well(told(&[])).0.says(said);
        let json: Value = serde_json::from_str(&well(told(&["--json"])).0).unwrap();
        let found = json["weights"]["layout"].to_string().to_lowercase();
        assert_eq!(found.trim_matches('"'), layout, "{name}");
    }
    let file = safetensors("q_proj.weight", 4);
    let most = "its header would have 18446744073709551615 bytes";
    for (bytes, words) in [
        (&file[..4], "not a safetensors file: it has 4 bytes"),
        (&[255; 40][..], most),
        (&file[..30], "its header would have"),
    ] {
        write(bytes);
        failed(told(&[]), 2).says(words);
    }
}

#[test]
fn wrong_use_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let write = |text: &str| fs::write(folder.path().join("config.json"), text).unwrap();
    for [text, words] in rows(
        r#"
                                  | ./my.json cannot be read
        {"model_type": "llama"    | ./my.json cannot be read
        {"model_type": "llama", "rope_theta": null} | ./my.json describes no rotary encoding
        {"model_type": "llama", "num_hidden_layers": 0} | `num_hidden_layers` must be at least 1; got 0
        {"model_type": "falcon", "alibi": true, "hidden_size": 2048, "num_attention_heads": 32} | ./my.json describes no positions that are read: a falcon with `alibi` divides its biases
        {"model_type": "bert2"}   | types; docs/models.md lists those that rotate queries and keys; --like TYPE
        {}                        | it has no `model_type`
        {"model_type": "no_such"} | there is no model type named "no_such"
        {"model_type": "dbrx"}    | the model type dbrx is not read: its code ignores the base
        "#,
    ) {
        fs::write(folder.path().join("my.json"), text).unwrap();
        failed(inspect(&["./my.json"], folder.path()), 2).says(words);
        failed(inspect(&["./my.json", "--json"], folder.path()), 2);
    }
    failed(inspect(&["no.json"], folder.path()), 1).says("no.json");
    write(GEMMA);
    let arguments = ["config.json", "--plot", "x.gif"];
    failed(inspect(&arguments, folder.path()), 2).says(".svg");
}
