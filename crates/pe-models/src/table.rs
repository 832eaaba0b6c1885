//! The model types of Hugging Face: what the code of each takes where its file says nothing.
//!
//! To add one, give it a line in [`FAMILIES`], in the order of the names, and its values in
//! `tests/peers/model_types.py` and `tests/peers/model_fields.py`.

use pe_burn::Layout::{Halves, Interleaved};

use crate::family::Kinds::*;
use crate::family::{
    Family, Rope, Rotates, Scale, Scalings, Sections, Share, When, Width, Windows, family,
};
use crate::kinds::PROMPT;

const GEMMA3: Rope = Rope::Older {
    groups: r#"{"sliding_attention": {"rope_theta": 1e4}, "full_attention": {"rope_theta": 1e6}}"#,
    full: "rope_theta",
    windows: "rope_local_base_freq",
    scales_windows: false,
    older: None,
};

const MODERNBERT: Rope = Rope::Older {
    groups: r#"{"sliding_attention": {"rope_theta": 1e4}, "full_attention": {"rope_theta": 16e4}}"#,
    full: "global_rope_theta",
    windows: "local_rope_theta",
    scales_windows: true,
    older: None,
};

const MODERNBERT_DECODER: Rope = Rope::Older {
    groups: r#"{"sliding_attention": {"rope_theta": 1e4}, "full_attention": {"rope_theta": 16e4}}"#,
    full: "global_rope_theta",
    windows: "local_rope_theta",
    scales_windows: true,
    older: Some((16e4, "local_rope_theta", 16e4)),
};

/// NeoMME: a base beside the groups is for both kinds.
const NEOMME: Rope = Rope::Older {
    groups: r#"{"sliding_attention": {"rope_theta": 1e4, "partial_rotary_factor": 1}, "full_attention":
        {"rope_theta": 1e6, "partial_rotary_factor": 0.25}}"#,
    full: "rope_theta",
    windows: "rope_theta",
    scales_windows: false,
    older: None,
};

const OLMO3: Rope = Rope::Older {
    groups: r#"{"sliding_attention": {"rope_theta": 5e5}, "full_attention": {"rope_theta": 5e5}}"#,
    full: "rope_theta",
    windows: "",
    scales_windows: false,
    older: Some((1e4, "rope_theta", 1e4)),
};

const GEMMA4: Rope = Rope::PerKind(
    r#"{"sliding_attention": {"rope_theta": 1e4}, "full_attention": {"rope_theta": 1e6,
        "rope_type": "proportional", "partial_rotary_factor": 0.25}}"#,
);

const APERTUS: Rope = Rope::One(
    r#"{"rope_type": "llama3", "rope_theta": 12e6, "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
        "original_max_position_embeddings": 8192}"#,
);

const CWM: Rope = Rope::One(
    r#"{"rope_type": "llama3", "rope_theta": 1e6, "factor": 16, "low_freq_factor": 1, "high_freq_factor": 4,
        "original_max_position_embeddings": 8192}"#,
);

const EMBEDDING_GEMMA2: Rope = Rope::PerKind(
    r#"{"sliding_attention": {"rope_theta": 1e4}, "full_attention": {"rope_theta": 1e6}}"#,
);

const LAGUNA: Rope = Rope::PerKind(
    r#"{"full_attention": {"rope_theta": 5e5, "partial_rotary_factor": 0.5}, "sliding_attention":
        {"rope_theta": 1e4, "partial_rotary_factor": 1}}"#,
);

const LFM3: Rope = Rope::PerKind(
    r#"{"sliding_attention": {"rope_theta": 1e4}, "full_attention": {"rope_theta": 1e6, "rope_type":
        "proportional", "partial_rotary_factor": 0.5}}"#,
);

const MELLUM: Rope = Rope::PerKind(
    r#"{"full_attention": {"rope_theta": 5e5}, "sliding_attention": {"rope_theta": 1e4}}"#,
);

const MIMO: Rope = Rope::PerKind(
    r#"{"full_attention": {"rope_theta": 5e6, "partial_rotary_factor": 0.334}, "sliding_attention":
        {"rope_theta": 1e4, "partial_rotary_factor": 0.334}}"#,
);

const MINISTRAL3: Rope = Rope::One(
    r#"{"rope_type": "yarn", "rope_theta": 1e6, "factor": 16, "beta_fast": 32, "beta_slow": 1, "mscale": 1,
        "mscale_all_dim": 1, "original_max_position_embeddings": 16384, "llama_4_scaling_beta": 0.1}"#,
);

const MISTRAL4: Rope = Rope::One(
    r#"{"rope_type": "yarn", "rope_theta": 1e4, "factor": 128, "beta_fast": 32, "beta_slow": 1, "mscale": 1,
        "mscale_all_dim": 1, "original_max_position_embeddings": 8192, "llama_4_scaling_beta": 0.1}"#,
);

const ULTRABERT: Rope = Rope::PerKind(
    r#"{"sliding_attention": {"rope_theta": 1e4}, "full_attention": {"rope_theta": 2560000}}"#,
);

const ZAYA: Rope = Rope::PerKind(
    r#"{"hybrid": {"rope_theta": 5e6, "partial_rotary_factor": 0.5}, "hybrid_sliding": {"rope_theta": 1e4,
        "partial_rotary_factor": 0.5}}"#,
);

/// The parameters of Llama 3.
const HIGGS: Rope = Rope::One(
    r#"{"rope_type": "llama3", "rope_theta": 5e5, "factor": 32, "low_freq_factor": 0.125,
        "high_freq_factor": 0.5, "original_max_position_embeddings": 1024}"#,
);

const GPT_OSS: Rope = Rope::One(
    r#"{"rope_type": "yarn", "factor": 32, "beta_fast": 32, "beta_slow": 1, "truncate": false,
        "original_max_position_embeddings": 4096}"#,
);

/// Model types that rotate and are not read, and why.
pub(super) const REFUSED: &[(&str, &str)] = &[
    ("beam", "a factor of its queries has a formula of its own"),
    ("blt", "its file has four models: read its `parts`"),
    ("clvp_encoder", "it rotates its values too"),
    (
        "dbrx",
        "its code ignores the base of `attn_config`, with which the published models were trained",
    ),
    ("deepseek_v4", "its layers differ by how they compress keys"),
    ("dia", "its file has two sides: read its `parts`"),
    (
        "dots3_note_text",
        "its layers with windows have heads of other widths, in fields whose names start with `swa_`",
    ),
    (
        "inkling2_text",
        "its attention has other positions than rotations",
    ),
    (
        "mistral_large4_text",
        "its frequencies and the factors of its queries are learned, and stand in its weights",
    ),
    (
        "seamless_m4t",
        "its text has sinusoidal positions; its encoder of speech rotates where its file says so",
    ),
    ("t5gemma", "its file has two sides: read its `parts`"),
    ("t5gemma2", "its file has two sides: read its `parts`"),
    (
        "deepseek_ocr2_vision",
        "its `encoder_config` is what rotates: read its `parts`",
    ),
    ("efficientloftr", "its heads turn by different frequencies"),
    (
        "gemma4_vision",
        "each half of a head rotates as a head of its own",
    ),
    (
        "lightglue",
        "its frequencies are learned, and stand in its weights",
    ),
    (
        "musicflamingo",
        "its text is read; what it makes of sound turns by seconds and by the place in a window",
    ),
    (
        "nemotron3_diarization",
        "its `audio_config` is what rotates: read its `parts`",
    ),
    (
        "nemotron_asr_streaming_encoder",
        "its relative positions are no rotations",
    ),
    ("qwen2_5_omni_dit", "only the first of its heads rotates"),
    (
        "esmfold2 nemotron3_5_transcribe_word_timestamp unlimited_ocr_vision",
        "it was not compared with its own code",
    ),
];

/// Models of text and images whose files may have the fields of their text beside the others.
pub(super) const FLAT: &[&str] = &[
    "fuyu",
    "hunyuan_vl",
    "paddleocr_vl",
    "qwen2_5_vl",
    "qwen2_vl",
];

/// Classes of models that are not read, though they have a type of the table; `architectures` names them. The linear layers of Ling 2.5
/// rotate, those of Ling 3.0 do not.
pub(super) const OTHER_CLASSES: &[(&str, &str)] =
    &[("bailing_hybrid", "BailingMoeV2_5ForCausalLM")];

/// Fields that models of several parts set for their text where its group leaves them out, in place of the defaults of
/// the text's own type.
#[rustfmt::skip]
pub(super) const WHOLES: &[(&str, &str)] = &[
    ("glmasr", r#"{"hidden_size": 2048, "num_hidden_layers": 28, "num_attention_heads": 16, "max_position_embeddings": 8192}"#),
    ("pe_audio pe_audio_video pe_video", r#"{"hidden_size": 1024, "num_attention_heads": 16}"#),
    ("voxtral", r#"{"hidden_size": 3072, "num_hidden_layers": 30, "max_position_embeddings": 131072, "rope_theta": 1e8,
        "head_dim": 128}"#),
    ("voxtral_realtime", r#"{"hidden_size": 3072, "num_hidden_layers": 26, "head_dim": 128, "max_position_embeddings": 131072,
        "rope_theta": 1e6, "sliding_window": 8192}"#),
];

/// Names that files have for a type of the table.
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("EvollaModel", "evolla"),
    ("kimi_k2", "deepseek_v3"),
    ("mimi_decoder", "mimi"),
    ("mimi_encoder", "mimi"),
    (
        "pocket_tts_audio_tokenizer_decoder",
        "pocket_tts_audio_tokenizer",
    ),
    (
        "pocket_tts_audio_tokenizer_encoder",
        "pocket_tts_audio_tokenizer",
    ),
];

/// The type of the text of a model of several parts, by the model's own type, where the text does not name it. All
/// others add `_text` to their own.
#[rustfmt::skip]
pub(super) const TEXT_OF: &[(&str, &str)] = &[
    ("clvp_encoder", "clvp"),
    ("cohere2", "aya_vision cohere2_vision"),
    ("deepseek_v3", "kimi_k25"),
    ("emu3_text_model", "emu3"),
    ("exaone4", "exaone4_5"),
    ("gemma", "paligemma"),
    ("gemma3_text", "shieldgemma2"),
    ("gemma4_text", "gemma4_assistant"),
    ("gemma4_unified_text", "gemma4_unified_assistant"),
    ("glm4v_text", "glm46v glmga"),
    ("granite", "granite_speech granite_speech_plus"),
    ("hyperclovax", "hyperclovax_vision_v2"),
    ("lfm2", "lfm2_vl"),
    ("lfm3", "lfm3_vl"),
    ("llama", "deepseek_vl deepseek_vl_hybrid glmasr idefics3 janus llava llava_next llava_next_video perception_lm \
        smolvlm video_llava vipllava voxtral"),
    ("mistral", "idefics2 mistral3"),
    ("mllama_text_model", "mllama"),
    ("modernbert", "modernvbert pe_audio pe_audio_video pe_video"),
    ("nemotron_h", "nemo_speechlm nemotron_h_omni"),
    ("persimmon", "fuyu"),
    ("qwen2", "audioflamingo3 fast_vlm got_ocr2 internvl llava_onevision musicflamingo ovis2 pp_chart2table \
        qwen2_audio vibevoice vibevoice_asr video_llama_3"),
    ("qwen2_5_omni_text", "qwen2_5_omni_thinker"),
    ("qwen3", "fun_asr_nano lighton_ocr moss_transcribe_diarize qianfan_ocr qwen3_asr"),
    ("qwen3_5_text", "jev minicpm_ocr minicpmv4_6 minicpmv4_7"),
    ("qwen3_omni_moe_text", "qwen3_omni_moe_thinker"),
    ("qwen3_vl_text", "cosmos3_omni"),
    ("step3p5", "step3p7"),
    ("t5gemma2_text", "t5gemma2_encoder"),
    ("ultrabert", "ultravbert"),
];

/// Every model type that is read, in the order of the names.
#[rustfmt::skip]
pub(super) const FAMILIES: &[Family] = &[
    family("afmoe", Halves, [32, 2048, 16, 16384]).kinds(LastOf(4, "global_attn_every_n_layers")).rotates(Rotates::Windows).d_head(128)
        .window(1024),
    family("apertus", Halves, [32, 4096, 32, 65536]).base(12e6).rope(APERTUS),
    family("arcee", Halves, [32, 2560, 32, 4096]),
    family("aria_text", Halves, [32, 4096, 32, 2048]),
    family("axk1", Interleaved, [61, 7168, 64, 32768]).latent(128, 64).interleave_flag(),
    family("axk2", Interleaved, [48, 2048, 32, 131072]).latent(64, 32),
    family("bailing_hybrid", Interleaved, [42, 2560, 32, 262144]).base(6e6).latent(128, 64).kinds(LinearBut(6, "layer_group_size")),
    family("bamba", Halves, [32, 4096, 32, 262144]).shares(Share::Half).kinds(Indices("attn_layer_indices")),
    family("bitnet", Halves, [30, 2560, 20, 2048]).base(5e5),
    family("blt_global_transformer", Interleaved, [25, 2048, 16, 4096]).base(5e5).divided(),
    family("blt_local_decoder", Interleaved, [9, 1024, 16, 24576]).base(5e5).divided(),
    family("blt_local_encoder", Interleaved, [1, 1024, 16, 24576]).base(5e5).divided().unread(&["head_dim", "sliding_window"]),
    family("blt_patcher", Interleaved, [14, 768, 12, 8192]).window(512).everywhere(),
    family("chameleon", Halves, [32, 4096, 32, 4096]),
    family("codegen", Interleaved, [28, 4096, 16, 2048]).columns(64).divided().rope(Rope::Fixed),
    family("cohere", Interleaved, [40, 8192, 64, 8192]).base(5e5).older_base(1e4),
    family("cohere2", Interleaved, [40, 8192, 64, 8192]).kinds(LastOf(4, "sliding_window_pattern")).rotates(Rotates::Windows)
        .window(4096),
    family("cohere2_moe", Interleaved, [40, 8192, 64, 8192]).kinds(LastOfRest(4)).rotates(Rotates::WindowsOrDense).rope(Rope::Newer).d_head(128).window(4096),
    family("cohere_compass_text", Halves, [40, 8192, 64, 8192]).kinds(Full).window(4096).rope(Rope::PerKind("{}"))
        .sections(Sections::Dealt, [24, 20, 20]),
    family("cosmos3_edge_text", Halves, [28, 2048, 16, 131072]).scalings(Scalings::None).base(1e8).d_head(128)
        .sections(Sections::Dealt, [24, 20, 20]).rope(Rope::One(r#"{"rope_theta": 1e8}"#)),
    family("csm", Halves, [16, 2048, 32, 2048]).base(5e5),
    family("csm_depth_decoder_model", Halves, [4, 1024, 8, 33]).base(5e5),
    family("cwm", Halves, [64, 6144, 48, 131072]).base(1e6).d_head(128).kinds(FirstOf(4, "")).window(8192).rope(CWM),
    family("deepseek_ocr2_text", Halves, [32, 4096, 32, 2048]).divided(),
    family("deepseek_v2", Interleaved, [32, 4096, 32, 2048]).latent(128, 64),
    family("deepseek_v3", Interleaved, [61, 7168, 128, 4096]).latent(128, 64).interleave_flag(),
    family("deepseek_v32", Interleaved, [61, 7168, 128, 163840]).latent(128, 64),
    family("dia_decoder", Halves, [18, 2048, 16, 3072]).d_head(128),
    family("dia_encoder", Halves, [12, 1024, 16, 1024]).d_head(128),
    family("diffllama", Halves, [16, 2048, 32, 2048]),
    family("diffusion_gemma_text", Halves, [30, 2304, 8, 131072]).whole_only().global(256, 512).kinds(FullAtTheEnd(6, "")).window(512)
        .rope(GEMMA4).windows(Windows::Halved),
    family("doge", Halves, [32, 1024, 8, 2048]),
    family("dots1", Halves, [62, 4608, 32, 2048]).kinds(AfterFull(62)).window(4096),
    family("embedding_gemma2_text", Halves, [24, 512, 4, 262144]).both_sides().kinds(FullAtTheEnd(6, "sliding_window_pattern")).global(256, 512)
        .window(512).rope(EMBEDDING_GEMMA2),
    family("emu3_text_model", Halves, [32, 4096, 32, 9216]).base(1e6),
    family("ernie4_5", Interleaved, [18, 1024, 16, 131072]).base(5e5).width(Width::HeadOrDivided(128)),
    family("ernie4_5_moe", Interleaved, [28, 2560, 20, 131072]).base(5e5),
    family("ernie4_5_vl_moe_text", Interleaved, [28, 2560, 20, 131072]).base(5e5).sections(Sections::TimeLast, [22, 22, 20]),
    family("esm", Halves, [12, 768, 12, 1026]).rope(Rope::Base)
        .rotates(Rotates::If("position_embedding_type", When::Is("rotary", false))),
    family("esmc", Halves, [80, 2560, 40, 2048]),
    family("eurobert", Halves, [12, 768, 12, 8192]),
    family("evolla", Halves, [32, 4096, 32, 8192]).base(5e5),
    family("exaone4", Halves, [32, 4096, 32, 2048]).kinds(LastOf(4, "sliding_window_pattern")).rotates(Rotates::WindowsIfAny)
        .window(4096),
    family("exaone_moe", Halves, [32, 4096, 32, 2048]).kinds(LastOf(4, "sliding_window_pattern")).rotates(Rotates::WindowsIfAny)
        .window(4096),
    family("falcon", Halves, [32, 4544, 71, 2048]).divided().rotates(Rotates::If("alibi", When::Flag(false, true))).unread(&["n_embed"]),
    family("falcon_h1", Halves, [32, 4096, 32, 8192]).older_base(1e5).kinds(Hybrid),
    family("flex_olmo", Halves, [32, 4096, 32, 4096]).base(5e5),
    family("flint", Halves, [49, 2048, 32, 262144])
        .kinds(Rule(|i, n| match i < 2 || i % 4 == 1 || i + 1 == n { true => "full_attention", false => "sliding_attention" }))
        .rotates(Rotates::Windows).d_head(128).window(513),
    family("gemma", Halves, [28, 3072, 16, 8192]).d_head(256),
    family("gemma2", Halves, [26, 2304, 8, 8192]).d_head(256).kinds(LastOf(2, "")).window(4096),
    family("gemma3_text", Halves, [26, 2304, 8, 131072]).d_head(256).kinds(LastOf(6, "sliding_window_pattern")).window(4096)
        .rope(GEMMA3).windows(Windows::Halved),
    family("gemma3n_text", Halves, [35, 2048, 8, 32768]).d_head(256).kinds(LastOf(5, "")).window(512).rope(GEMMA3),
    family("gemma4_text", Halves, [30, 2304, 8, 131072]).global(256, 512).kinds(FullAtTheEnd(6, "")).window(512).rope(GEMMA4)
        .windows(Windows::Halved),
    family("gemma4_unified_text", Halves, [30, 2304, 8, 262144]).global(256, 512).kinds(FullAtTheEnd(6, "")).window(1024).rope(GEMMA4)
        .windows(Windows::Halved),
    family("glm", Interleaved, [40, 4096, 32, 131072]).share(0.5).d_head(128),
    family("glm4", Interleaved, [40, 4096, 32, 131072]).share(0.5).d_head(128),
    family("glm4_moe", Halves, [46, 4096, 96, 131072]).share(0.5),
    family("glm4_moe_lite", Interleaved, [47, 2048, 20, 202752]).latent(192, 64).whole_only().interleave_flag().unread(&["head_dim"]),
    family("glm4v_moe_text", Halves, [46, 4096, 96, 65536]).share(0.5).sections(Sections::Row, [8, 12, 12]),
    family("glm4v_text", Interleaved, [40, 4096, 32, 32768]).share(1.0).sections(Sections::Row, [8, 12, 12]),
    family("glm_image_text", Halves, [40, 4096, 32, 131072]).share(1.0).sections(Sections::Row, [8, 12, 12]),
    family("glm_moe_dsa", Interleaved, [78, 6144, 64, 202752]).latent(192, 64),
    family("glm_ocr_text", Interleaved, [16, 1024, 16, 131072]).share(1.0).sections(Sections::Row, [8, 12, 12]),
    family("gpt_neox", Halves, [44, 6144, 64, 2048]).share(0.25).neox().divided().unread(&["head_dim"]),
    family("gpt_neox_japanese", Halves, [32, 2560, 32, 2048]).share(1.0).neox().divided(),
    family("gpt_oss", Halves, [36, 2880, 64, 131072]).base(15e4).d_head(64).kinds(LastOf(2, "")).window(128).rope(GPT_OSS),
    family("gptj", Interleaved, [28, 4096, 16, 2048]).columns(64).divided().rope(Rope::Fixed),
    family("gradium_phonon_tts", Halves, [6, 768, 12, 8192]),
    family("granite", Halves, [32, 4096, 32, 2048]),
    family("granite4_vision_text", Halves, [32, 4096, 32, 2048]),
    family("granite_docling_text", Halves, [28, 1024, 16, 32768]),
    family("granite_swa", Halves, [24, 2560, 20, 8192]).kinds(FirstOf(4, "")).rotates(Rotates::Bases).window(128),
    family("granitemoe", Halves, [32, 4096, 32, 2048]),
    family("granitemoe_swa", Halves, [32, 4096, 32, 2048]).kinds(FirstOf(4, "")).rotates(Rotates::Bases).window(128),
    family("granitemoehybrid", Halves, [32, 4096, 32, 2048]).kinds(Rule(|_, _| "mamba"))
        .rotates(Rotates::If("position_embedding_type", When::Is("rope", false))).unread(&["layers_block_type"]),
    family("granitemoeshared", Halves, [32, 4096, 32, 2048]),
    family("gte", Halves, [12, 768, 12, 8192]).base(16e4),
    family("helium", Interleaved, [24, 2560, 20, 4096]).base(1e5).d_head(128),
    family("higgs_audio_v2", Halves, [28, 3072, 24, 2048]).width(Width::HeadOrDivided(128)).rope(HIGGS),
    family("hrm_text", Halves, [16, 1536, 12, 2048]).d_head(128).kinds(Cycles),
    family("hunyuan_v1_dense", Halves, [32, 4096, 32, 2048]).scalings(Scalings::Alpha),
    family("hunyuan_v1_moe", Halves, [32, 4096, 32, 2048]).scalings(Scalings::Alpha),
    family("hunyuan_vl_text", Halves, [32, 4096, 32, 2048]).scalings(Scalings::Alpha).sections(Sections::AnyNumber, [0, 0, 0]),
    family("hy_v3", Halves, [80, 4096, 64, 131072]).base(11_158_840.0).d_head(128),
    family("hy_v4", Halves, [34, 2816, 32, 262144]).latent(192, 64),
    family("hyperclovax", Halves, [32, 4096, 32, 2048]),
    family("idefics", Halves, [32, 4096, 32, 2048]).divided().unread(&["head_dim"]),
    family("internlm3", Halves, [48, 4096, 32, 32768]).width(Width::HeadOrDivided(128)),
    family("iquestcoder", Halves, [80, 5120, 40, 131072]).width(Width::HeadOrDivided(128)),
    family("jais2", Halves, [32, 3328, 26, 8192]),
    family("jetmoe", Halves, [12, 2048, 32, 4096]).width(Width::Channels(128)).unread(&["head_dim"]),
    family("jina_embeddings_v3", Halves, [24, 1024, 16, 8194]).base(2e4),
    family("kolibri1", Halves, [50, 2560, 48, 262144]).d_head(128).rotates(Rotates::WindowsIfAny).kinds(LastOf(5, "")).window(513),
    family("kyutai_speech_to_text", Halves, [48, 2048, 32, 750]).older_base(1e5),
    family("laguna", Halves, [40, 2048, 48, 131072]).d_head(128).shares(Share::PartInGroup(1.0)).kinds(Full).window(512).rope(LAGUNA),
    family("lfm2", Halves, [32, 2560, 32, 128000]).base(1e6).kinds(FullIn("full_attn_idxs")),
    family("lfm2_moe", Halves, [32, 2048, 32, 128000]).base(1e6).kinds(Listed),
    family("lfm3", Halves, [24, 2048, 16, 128000])
        .kinds(Rule(|i, _| match i % 4 { 2 => "full_attention", 0 if i > 0 => "sliding_attention", _ => "conv", })).d_head(128)
        .window(256).rope(LFM3),
    family("llama", Halves, [32, 4096, 32, 2048]),
    family("llama4_text", Interleaved, [48, 5120, 40, 131072]).base(5e5).d_head(128).kinds(Chunked).rotates(Rotates::Listed)
        .scale(Scale::WithoutRotation),
    family("longcat_flash", Interleaved, [28, 6144, 64, 131072]).base(1e7).latent(128, 64),
    family("mellum", Halves, [28, 2304, 32, 131072]).d_head(128).kinds(Full).window(1024).rope(MELLUM),
    family("mimo_v2_flash", Halves, [48, 4096, 64, 131072]).d_head(192).shares(Share::PartInGroup(0.334))
        .kinds(Rule(|i, _| match i == 0 || (i + 1) % 6 == 0 { true => "full_attention", false => "sliding_attention", })).window(129)
        .rope(MIMO).windows(Windows::OneMoreThan("sliding_window_size")),
    family("minicpm3", Halves, [62, 2560, 40, 32768]).latent(64, 32),
    // As it was trained. Version 5.23.0 of transformers rotates the whole head, and passes over `attn_type_list`.
    family("minimax", Halves, [32, 4096, 32, 131072]).base(1e6).shares(Share::WholeOrColumns).kinds(FullWhere("attn_type_list"))
        .everywhere(),
    family("minimax_m2", Halves, [62, 3072, 48, 196608]).base(5e6).shares(Share::PartOrColumns).d_head(128),
    family("minimax_m3_vl_text", Halves, [60, 6144, 64, 524288]).base(5e6).share(1.0).d_head(128),
    family("ministral", Halves, [32, 4096, 32, 131072]).kinds(Sliding).window(4096),
    family("ministral3", Halves, [34, 4096, 32, 262144]).base(1e6).d_head(128).scale(Scale::Parameter).rope(MINISTRAL3).everywhere(),
    family("mistral", Halves, [32, 4096, 32, 131072]).everywhere().window(4096),
    family("mistral4", Interleaved, [36, 4096, 32, 1048576]).latent(64, 64).scale(Scale::Parameter).rope(MISTRAL4).interleave_flag(),
    family("mixtral", Halves, [32, 4096, 32, 131072]).base(1e6).everywhere(),
    family("mllama_text_model", Halves, [40, 4096, 32, 131072]).base(5e5)
        .kinds(Except("cross_attention_layers", &[3, 8, 13, 18, 23, 28, 33, 38])),
    family("modernbert", Halves, [22, 768, 12, 8192]).both_sides().kinds(FirstOf(3, "global_attn_every_n_layers")).window(64).rope(MODERNBERT)
        .windows(Windows::PlainOrLocal),
    family("modernbert-decoder", Halves, [22, 768, 12, 8192]).kinds(FirstOf(3, "global_attn_every_n_layers")).window(64)
        .rope(MODERNBERT_DECODER).windows(Windows::PlainOrLocal),
    family("molmo2_text", Halves, [36, 4096, 32, 36864]).d_head(128).rotates(Rotates::Scaled),
    family("moshi", Halves, [32, 4096, 32, 3000]),
    family("muse_glimmer_assistant", Halves, [5, 6656, 32, 131072]).base(5e5).d_head(128).window(2048).kinds(Sliding),
    family("muse_glimmer_text", Halves, [52, 6656, 32, 131072]).d_head(128).kinds(Rule(|i, n| match (n - 1 - i) % 4 { 0 => "full_attention", _ => "sliding_attention" })).rotates(Rotates::UnlessZero(4))
        .window(2048),
    family("muse_spark_text", Halves, [62, 8192, 128, 1048576]).d_head(64).rope(Rope::One(r#"{"rope_theta": 5e5}"#))
        .kinds(Rule(|i, n| match (n - 1 - i) % 4 { 0 => "full_attention", _ => "sliding_attention", })).rotates(Rotates::UnlessZero(4))
        .window(2048),
    family("nanochat", Halves, [12, 768, 6, 2048]).opposite(),
    family("nemotron", Halves, [32, 6144, 48, 4096]).share(0.5),
    family("neomme", Halves, [17, 1024, 16, 16384]).both_sides().d_head(64).share(1.0).everywhere().window(256).windows(Windows::InTurn(1024))
        .kinds(Rule(|i, n| match (i + 1) % 6 == 0 || i + 1 == n { true => "full_attention", false => "sliding_attention" }))
        .rope(NEOMME).newer_names().sections(Sections::TwoDealt, [0, 0, 0]).unread(&["rope_scaling"]),
    // The base and the share of the published files, which version 5.23.0 of transformers ignores.
    family("nomic_bert", Halves, [12, 768, 12, 2048]).base(1e3).base_field("rotary_emb_base").shares(Share::Field("rotary_emb_fraction"))
        .unread(&["rotary_emb_interleaved", "rotary_emb_scale_base", "rotary_scaling_factor"]),
    family("olmo", Halves, [32, 4096, 32, 2048]),
    family("olmo2", Halves, [32, 4096, 32, 2048]),
    family("olmo3", Halves, [32, 4096, 32, 2048]).kinds(LastOf(4, "")).window(4096).rope(OLMO3),
    family("olmo_hybrid", Halves, [32, 3840, 30, 65536]).rotates(Rotates::WithBase)
        .kinds(Rule(|i, n| match i % 4 == 3 || (n < 4 && i + 1 == n) { true => "full_attention", false => "linear_attention" })),
    family("olmoe", Halves, [16, 2048, 16, 4096]),
    family("openai_privacy_filter", Interleaved, [8, 640, 14, 131072]).both_sides().base(15e4).everywhere().window(128).d_head(64).rope(GPT_OSS),
    family("paddleocr_vl_text", Halves, [18, 1024, 16, 131072]).base(5e5).width(Width::HeadOrDivided(128))
        .sections(Sections::Row, [16, 24, 24]),
    family("persimmon", Halves, [36, 4096, 64, 16384]).older_base(25e3).share(0.5).divided(),
    family("phi", Halves, [24, 2048, 32, 2048]).share(0.5),
    family("phi3", Halves, [32, 3072, 32, 4096]).scalings(Scalings::Only("longrope")).share(1.0).original(4096).everywhere(),
    family("phi4_multimodal", Halves, [32, 3072, 32, 131072]).scalings(Scalings::Only("longrope")).share(1.0).original(4096).everywhere(),
    family("phimoe", Halves, [32, 4096, 32, 131072]).scalings(Scalings::Mscale).base(1e6).everywhere(),
    family("pocket_tts", Halves, [6, 1024, 16, 8192]),
    family("qwen2", Halves, [32, 4096, 32, 32768]).kinds(AfterFull(28)).window(4096).windows(Windows::Flagged),
    family("qwen2_5_omni_talker", Halves, [28, 3584, 28, 32768]).base(1e6).d_head(128).kinds(AfterFull(28))
        .sections(Sections::Row, [16, 24, 24]).window(32768).windows(Windows::Flagged),
    family("qwen2_5_omni_text", Halves, [28, 3584, 28, 32768]).base(1e6).kinds(AfterFull(28)).sections(Sections::Row, [16, 24, 24])
        .window(32768).windows(Windows::Flagged),
    family("qwen2_5_vl_text", Halves, [80, 8192, 64, 32768]).scalings(Scalings::Sections).base(1e6).kinds(AfterFull(80))
        .sections(Sections::Row, [16, 24, 24]).window(4096).windows(Windows::Flagged),
    family("qwen2_moe", Halves, [24, 2048, 16, 32768]).kinds(EvenBefore(28)).window(4096).windows(Windows::Flagged),
    family("qwen2_vl_text", Halves, [80, 8192, 64, 32768]).scalings(Scalings::Sections).base(1e6).kinds(AfterFull(80))
        .sections(Sections::Row, [16, 24, 24]).window(4096).windows(Windows::Flagged),
    family("qwen3", Halves, [32, 4096, 32, 32768]).d_head(128).kinds(AfterFull(28)).window(4096).windows(Windows::Flagged),
    family("qwen3_5_moe_text", Halves, [40, 2048, 16, 32768]).share(0.25).d_head(256).kinds(LinearBut(4, "full_attention_interval"))
        .sections(Sections::Dealt, [11, 11, 10]),
    family("qwen3_5_text", Halves, [32, 4096, 16, 32768]).share(0.25).d_head(256).kinds(LinearBut(4, "full_attention_interval"))
        .sections(Sections::Dealt, [11, 11, 10]),
    family("qwen3_moe", Halves, [24, 2048, 32, 32768]).window(4096).windows(Windows::Flagged).everywhere(),
    family("qwen3_next", Halves, [48, 2048, 16, 32768]).share(0.25).d_head(256).kinds(LinearBut(4, "full_attention_interval")),
    family("qwen3_omni_moe_talker_code_predictor", Halves, [5, 1024, 16, 32768]).d_head(128).kinds(AfterFull(28)),
    family("qwen3_omni_moe_talker_text", Halves, [20, 1024, 16, 32768]).sections(Sections::Dealt, [24, 20, 20]),
    family("qwen3_omni_moe_text", Halves, [28, 2048, 28, 32768]).base(1e6).sections(Sections::Dealt, [24, 20, 20]),
    family("qwen3_vl_moe_text", Halves, [24, 2048, 16, 128000]).base(5e5).older_base(5e6).sections(Sections::Dealt, [24, 20, 20]),
    family("qwen3_vl_text", Halves, [32, 4096, 32, 128000]).base(5e5).older_base(5e6).d_head(128).sections(Sections::Dealt, [24, 20, 20]),
    family("qwen4_exp_text", Halves, [40, 2048, 16, 32768]).share(1.0).d_head(256).kinds(LinearBut(4, "full_attention_interval"))
        .sections(Sections::Dealt, [11, 11, 10]),
    family("recurrent_gemma", Halves, [26, 2560, 10, 0]).scalings(Scalings::None).share(0.5).kinds(Blocks).window(2048)
        .windows(Windows::Named("attention_window_size")),
    family("roformer", Interleaved, [12, 768, 12, 1536]).divided().rope(Rope::Fixed).unread(&["rotary_value"]),
    family("seed_oss", Halves, [64, 4096, 80, 524288]).width(Width::HeadOrDivided(128)),
    family("smollm3", Halves, [36, 2048, 16, 32768]).base(2e6).kinds(WindowsUnlessRotated).rotates(Rotates::Listed)
        .windows(Windows::Flagged),
    family("solar_open", Halves, [48, 4096, 64, 131072]).base(1e6).whole_only().d_head(128),
    family("stablelm", Halves, [32, 2560, 32, 4096]).share(0.25),
    family("starcoder2", Halves, [30, 3072, 24, 4096]).everywhere(),
    family("step3p5", Halves, [45, 4096, 64, 128000]).d_head(128).share(1.0).kinds(Full).rope(Rope::Lists)
        .unread(&["use_bidirectional_attention"]),
    family("t5_gemma_module", Halves, [26, 2304, 8, 8192]).d_head(256).kinds(LastOf(2, "")).window(4096),
    family("t5gemma2_decoder", Halves, [26, 2304, 8, 131072]).d_head(256).kinds(LastOf(6, "sliding_window_pattern")).window(4096)
        .rope(GEMMA3),
    family("t5gemma2_text", Halves, [26, 2304, 8, 131072]).d_head(256).kinds(LastOf(6, "sliding_window_pattern")).window(4096)
        .rope(GEMMA3).windows(Windows::Split),
    family("ultrabert", Halves, [32, 4096, 32, 32768]).both_sides().kinds(ByWindow(3, "attention_windows")).window(128).rope(ULTRABERT)
        .windows(Windows::FirstOf("attention_windows")).unread(&["rope_theta"]),
    family("unlimited_ocr_text", Halves, [12, 1280, 10, 32768]).divided().kinds(Rule(|_, _| PROMPT)).window(128),
    family("vaultgemma", Halves, [26, 2304, 8, 8192]).d_head(256).kinds(LastOf(2, "")).window(4096),
    family("voxtral_realtime_text", Halves, [32, 4096, 32, 131072]).everywhere().window(4096),
    family("youtu", Interleaved, [32, 2048, 16, 131072]).latent(128, 64).interleave_flag(),
    family("zamba2", Halves, [54, 2560, 32, 4096]).width(Width::Twice).kinds(Zamba)
        .rotates(Rotates::If("use_mem_rope", When::Flag(true, false))).unread(&["use_long_context"]),
    family("zaya", Halves, [40, 2048, 8, 131072]).d_head(128).shares(Share::PartInGroup(1.0)).kinds(Hybrid).rope(ZAYA)
        .unread(&["zaya_layers"]),
];
