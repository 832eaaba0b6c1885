//! The model types of Hugging Face: what the code of each takes where its file says nothing.
//!
//! To add one, give it a line in [`FAMILIES`], in the order of the names, and its values in
//! `tests/peers/model_types.py`.

use super::kinds::Kinds::{self, *};
use crate::layout::Layout::{self, Halves, Interleaved};

/// What the code of a model type takes where its file says nothing.
pub(super) struct Family {
    /// The `model_type` in the file.
    pub name: &'static str,
    pub layout: Layout,
    pub base: f64,
    /// The base before version 5 of transformers, where that was another.
    pub older_base: Option<f64>,
    pub share: Share,
    /// Whether the base and the share are `rotary_emb_base` and `rotary_pct` in the file.
    pub is_neox: bool,
    pub width: Width,
    /// The length that the model was trained on where longer ones are scaled; `None` for
    /// `max_position_embeddings`.
    pub original: Option<usize>,
    pub kinds: Kinds,
    pub rotates: Rotates,
    pub rope: Rope,
    pub scalings: Scalings,
    /// The `sliding_window`.
    pub window: Option<usize>,
    pub scale: Scale,
    /// The axes of text, images and video.
    pub sections: Option<(Sections, [usize; 3])>,
}

/// Which columns of a head are rotated.
#[derive(Clone, Copy)]
pub(super) enum Share {
    /// All of them, whatever the file says.
    Whole,
    /// All of them, and the code of the model fails where the file has another share.
    WholeOnly,
    /// The share that is named `partial_rotary_factor`.
    Part(f64),
    /// The number of columns that is named `rotary_dim`.
    Columns(usize),
}

/// Where the width of a head is.
#[derive(Clone, Copy)]
pub(super) enum Width {
    /// In `head_dim`, or else the given number, or else `hidden_size / num_attention_heads`.
    Head(Option<usize>),
    /// `hidden_size / num_attention_heads`, whatever `head_dim` says.
    Divided,
    /// Multi-head latent attention: only the last `qk_rope_head_dim` columns, after
    /// `qk_nope_head_dim` others, have positions. The numbers are those that a file may leave out.
    Latent { plain: usize, rotated: usize },
    /// In `kv_channels`, or else the given number.
    Channels(usize),
    /// In `head_dim`, and in `global_head_dim` for full attention.
    Global { head: usize, full: usize },
}

/// Which layers with attention rotate.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rotates {
    All,
    /// Those with a window.
    Windows,
    /// Those with a window, or all where the file has no `sliding_window`.
    WindowsIfAny,
    /// Those that `no_rope_layers` has a 1 for.
    Listed,
    /// Those that `layer_rope_theta` has a base above 0 for, which is then theirs; all where there is no
    /// list, but for those of every n-th layer counted from the last one where n is above 0.
    Bases(usize),
    /// All where this field is as given, else none.
    If(&'static str, When),
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum When {
    Is(&'static str, bool),
    Flag(bool, bool),
}

/// Where the parameters of a layer's rotation are.
#[derive(Clone, Copy)]
pub(super) enum Rope {
    /// There are none: the base is that of the table, whatever the file says.
    Fixed,
    /// The base alone, beside all else: there is no scaling.
    Base,
    /// In one group for all layers, without a `rope_scaling`.
    Newer,
    /// In one group for all layers. The text is the group where the file has none.
    One(&'static str),
    /// In a group for each kind of layer, which the file has or the text stands for. An older
    /// `rope_scaling` is not read.
    PerKind(&'static str),
    /// The same, with bases beside the groups, by the name that is given for full attention and for
    /// windows. An older `rope_scaling` is for full attention, and for windows too if that is said.
    Older {
        groups: &'static str,
        full: &'static str,
        windows: &'static str,
        scales_windows: bool,
    },
}

/// Which scalings the code of a model has.
#[derive(Clone, Copy)]
pub(super) enum Scalings {
    /// Those of transformers.
    Any,
    /// And a fixed factor of the base, `alpha`, under the name "dynamic".
    Alpha,
    /// And "mrope", which scales nothing: it says that images have several coordinates.
    Sections,
    /// This one alone.
    Only(&'static str),
    /// None, or one of its own that is not read: Phi-3.5-MoE's depends on the length in another way.
    None,
}

/// The factor of the queries.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scale {
    None,
    /// Llama 4: in layers that do not rotate.
    WithoutRotation,
    /// Ministral 3: `llama_4_scaling_beta` of the parameters.
    Parameter,
}

/// Which pairs turn by which coordinate of a token among images, by the three numbers of `mrope_section`.
/// The numbers beside it are those where the file has none.
#[derive(Clone, Copy)]
pub(super) enum Sections {
    /// Time, height and width in a row.
    Row,
    /// Every second and third pair of three is for height and width, as far as their numbers go; the rest is
    /// for time.
    Dealt,
    /// Height and width in turn, and then time. The numbers are in this order too.
    TimeLast,
    /// HunYuan-VL's: halves of numbers of columns, for as many coordinates as are listed. A file without
    /// them is read for text alone.
    Columns,
}

const fn family(name: &'static str, layout: Layout) -> Family {
    Family {
        name,
        layout,
        base: 10_000.0,
        older_base: None,
        share: Share::Whole,
        is_neox: false,
        width: Width::Head(None),
        original: None,
        kinds: Alike,
        rotates: Rotates::All,
        rope: Rope::One("{}"),
        scalings: Scalings::Any,
        window: None,
        scale: Scale::None,
        sections: None,
    }
}

impl Family {
    /// The base where the file has none, in a version of transformers before 5 or a newer one.
    pub fn base_of(&self, is_older: bool) -> f64 {
        match self.older_base {
            Some(base) if is_older => base,
            _ => self.base,
        }
    }

    /// The name of the base in the file.
    pub fn base_name(&self) -> &'static str {
        match self.is_neox {
            true => "rotary_emb_base",
            false => "rope_theta",
        }
    }

    /// The name of the rotated share in the file.
    pub fn share_name(&self) -> &'static str {
        match self.is_neox {
            true => "rotary_pct",
            false => "partial_rotary_factor",
        }
    }

    const fn neox(self) -> Self {
        let is_neox = true;
        Self { is_neox, ..self }
    }

    const fn base(self, base: f64) -> Self {
        Self { base, ..self }
    }

    const fn older_base(self, base: f64) -> Self {
        let older_base = Some(base);
        Self { older_base, ..self }
    }

    const fn share(self, share: f64) -> Self {
        let share = Share::Part(share);
        Self { share, ..self }
    }

    const fn columns(self, columns: usize) -> Self {
        let share = Share::Columns(columns);
        Self { share, ..self }
    }

    const fn d_head(self, d_head: usize) -> Self {
        let width = Width::Head(Some(d_head));
        Self { width, ..self }
    }

    const fn whole_only(self) -> Self {
        let share = Share::WholeOnly;
        Self { share, ..self }
    }

    const fn channels(self, usual: usize) -> Self {
        let width = Width::Channels(usual);
        Self { width, ..self }
    }

    const fn divided(self) -> Self {
        let width = Width::Divided;
        Self { width, ..self }
    }

    const fn latent(self, plain: usize, rotated: usize) -> Self {
        let width = Width::Latent { plain, rotated };
        Self { width, ..self }
    }

    const fn global(self, head: usize, full: usize) -> Self {
        let width = Width::Global { head, full };
        Self { width, ..self }
    }

    const fn original(self, original: usize) -> Self {
        let original = Some(original);
        Self { original, ..self }
    }

    const fn kinds(self, kinds: Kinds) -> Self {
        Self { kinds, ..self }
    }

    const fn window(self, window: usize) -> Self {
        let window = Some(window);
        Self { window, ..self }
    }

    const fn rotates(self, rotates: Rotates) -> Self {
        Self { rotates, ..self }
    }

    const fn rope(self, rope: Rope) -> Self {
        Self { rope, ..self }
    }

    const fn scalings(self, scalings: Scalings) -> Self {
        Self { scalings, ..self }
    }

    const fn sections(self, kind: Sections, usual: [usize; 3]) -> Self {
        let sections = Some((kind, usual));
        Self { sections, ..self }
    }

    const fn scale(self, scale: Scale) -> Self {
        Self { scale, ..self }
    }
}

const GEMMA3: Rope = Rope::Older {
    groups: r#"{"sliding_attention": {"rope_theta": 1e4}, "full_attention": {"rope_theta": 1e6}}"#,
    full: "rope_theta",
    windows: "rope_local_base_freq",
    scales_windows: false,
};

const MODERNBERT: Rope = Rope::Older {
    groups: r#"{"sliding_attention": {"rope_theta": 1e4}, "full_attention": {"rope_theta": 16e4}}"#,
    full: "global_rope_theta",
    windows: "local_rope_theta",
    scales_windows: true,
};

const OLMO3: Rope = Rope::Older {
    groups: r#"{"sliding_attention": {"rope_theta": 5e5}, "full_attention": {"rope_theta": 5e5}}"#,
    full: "rope_theta",
    windows: "",
    scales_windows: false,
};

const GEMMA4: Rope = Rope::PerKind(
    r#"{"sliding_attention": {"rope_theta": 1e4}, "full_attention": {"rope_theta": 1e6,
        "rope_type": "proportional", "partial_rotary_factor": 0.25}}"#,
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
    ("bloom", "it has ALiBi, see `ModelConfig::alibi`"),
    ("deepseek_v4", "its layers differ by how they compress keys"),
    ("hrm_text", "each layer runs several times"),
    (
        "inkling2_text",
        "its attention has other positions than rotations",
    ),
    ("jamba", "its attention has no positions"),
    (
        "mistral_large4_text",
        "a factor of its queries has a formula of its own",
    ),
    ("mpt", "it has ALiBi, see `ModelConfig::alibi`"),
    ("nanochat", "it rotates by the opposite angle"),
    ("nemotron_h", "its attention has no positions"),
    ("neomme", "it rotates by two coordinates"),
    (
        "step3p5",
        "its bases and shares are lists, a number for each layer",
    ),
    (
        "zaya",
        "its queries are mixed with those before them, which was not compared",
    ),
];

/// Models of text and images whose files may have the fields of their text beside the others.
pub(super) const FLAT: &[&str] = &["hunyuan_vl", "paddleocr_vl", "qwen2_5_vl", "qwen2_vl"];

/// Every model type that is read, in the order of the names.
pub(super) const FAMILIES: &[Family] = &[
    family("afmoe", Halves)
        .kinds(LastOf(4, "global_attn_every_n_layers"))
        .rotates(Rotates::Windows)
        .d_head(128)
        .window(1024),
    family("apertus", Halves).base(12e6).rope(Rope::One(
        r#"{"rope_type": "llama3", "rope_theta": 12e6, "factor": 8, "low_freq_factor": 1,
            "high_freq_factor": 4, "original_max_position_embeddings": 8192}"#,
    )),
    family("arcee", Halves),
    family("aria_text", Halves),
    family("axk1", Interleaved).latent(128, 64),
    family("axk2", Interleaved).latent(128, 64),
    family("bailing_hybrid", Interleaved)
        .base(6e6)
        .latent(128, 64)
        .kinds(LinearBut(6)),
    family("bamba", Halves)
        .share(0.5)
        .kinds(Indices("attn_layer_indices")),
    family("bitnet", Halves).base(5e5),
    family("blt_patcher", Interleaved),
    family("chameleon", Halves),
    family("codegen", Interleaved)
        .columns(64)
        .divided()
        .rope(Rope::Fixed),
    family("cohere", Interleaved).base(5e5).older_base(1e4),
    family("cohere2", Interleaved)
        .kinds(LastOf(4, "sliding_window_pattern"))
        .rotates(Rotates::Windows)
        .divided()
        .window(4096),
    family("cohere2_moe", Interleaved)
        .kinds(LastOf(4, "sliding_window_pattern"))
        .rotates(Rotates::Windows)
        .rope(Rope::Newer)
        .d_head(128)
        .window(4096),
    family("cosmos3_edge_text", Halves).scalings(Scalings::None).base(1e8).d_head(128).sections(Sections::Dealt, [24, 20, 20]),
    family("cwm", Halves)
        .base(1e6)
        .d_head(128)
        .kinds(FirstOf(4, ""))
        .window(8192)
        .rope(Rope::One(
            r#"{"rope_type": "llama3", "rope_theta": 1e6, "factor": 16, "low_freq_factor": 1,
                "high_freq_factor": 4, "original_max_position_embeddings": 8192}"#,
        )),
    family("deepseek_v2", Interleaved).latent(128, 64),
    family("deepseek_v3", Interleaved).latent(128, 64),
    family("deepseek_v32", Interleaved).latent(128, 64),
    family("diffllama", Halves),
    family("diffusion_gemma_text", Halves)
        .whole_only()
        .global(256, 512)
        .kinds(FullAtTheEnd)
        .window(512)
        .rope(GEMMA4),
    family("doge", Halves),
    family("dots1", Halves).kinds(AfterFull).window(4096),
    family("embedding_gemma2_text", Halves)
        .kinds(FullAtTheEnd)
        .global(256, 512)
        .window(512)
        .rope(Rope::PerKind(
            r#"{"sliding_attention": {"rope_theta": 1e4}, "full_attention": {"rope_theta": 1e6}}"#,
        )),
    family("emu3_text_model", Halves).base(1e6),
    family("ernie4_5", Interleaved).base(5e5).d_head(128),
    family("ernie4_5_moe", Interleaved).base(5e5),
    family("ernie4_5_vl_moe_text", Interleaved).base(5e5).sections(Sections::TimeLast, [22, 22, 20]),
    family("esm", Halves).rope(Rope::Base).rotates(Rotates::If(
        "position_embedding_type",
        When::Is("rotary", false),
    )),
    family("esmc", Halves),
    family("eurobert", Halves),
    family("exaone4", Halves)
        .kinds(LastOf(4, "sliding_window_pattern"))
        .rotates(Rotates::WindowsIfAny)
        .window(4096),
    family("exaone_moe", Halves)
        .kinds(LastOf(4, "sliding_window_pattern"))
        .rotates(Rotates::WindowsIfAny)
        .window(4096),
    family("falcon", Halves)
        .divided()
        .rotates(Rotates::If("alibi", When::Flag(false, true))),
    family("falcon_h1", Halves).kinds(Hybrid),
    family("flex_olmo", Halves).base(5e5),
    family("flint", Halves)
        .kinds(Rule(|i, n| match i < 2 || i % 4 == 1 || i + 1 == n {
            true => "full_attention",
            false => "sliding_attention",
        }))
        .rotates(Rotates::Windows)
        .d_head(128)
        .window(513),
    family("gemma", Halves).d_head(256),
    family("gemma2", Halves)
        .d_head(256)
        .kinds(LastOf(2, ""))
        .window(4096),
    family("gemma3_text", Halves)
        .d_head(256)
        .kinds(LastOf(6, "sliding_window_pattern"))
        .window(4096)
        .rope(GEMMA3),
    family("gemma3n_text", Halves)
        .d_head(256)
        .kinds(LastOf(5, ""))
        .window(512)
        .rope(GEMMA3),
    family("gemma4_text", Halves)
        .global(256, 512)
        .kinds(FullAtTheEnd)
        .window(512)
        .rope(GEMMA4),
    family("gemma4_unified_text", Halves)
        .global(256, 512)
        .kinds(FullAtTheEnd)
        .window(1024)
        .rope(GEMMA4),
    family("glm", Interleaved).share(0.5).d_head(128),
    family("glm4", Interleaved).share(0.5).d_head(128),
    family("glm4_moe", Halves).share(0.5),
    family("glm4_moe_lite", Interleaved)
        .latent(192, 64)
        .whole_only(),
    family("glm4v_moe_text", Halves).share(0.5).sections(Sections::Row, [8, 12, 12]),
    family("glm4v_text", Interleaved).share(1.0).sections(Sections::Row, [8, 12, 12]),
    family("glm_image_text", Halves).share(1.0).sections(Sections::Row, [8, 12, 12]),
    family("glm_moe_dsa", Interleaved).latent(192, 64),
    family("glm_ocr_text", Interleaved).share(1.0).sections(Sections::Row, [8, 12, 12]),
    family("gpt_neox", Halves).share(0.25).neox().divided(),
    family("gpt_neox_japanese", Halves).share(1.0).neox().divided(),
    family("gpt_oss", Halves)
        .base(15e4)
        .d_head(64)
        .kinds(LastOf(2, ""))
        .window(128)
        .rope(GPT_OSS),
    family("gptj", Interleaved)
        .columns(64)
        .divided()
        .rope(Rope::Fixed),
    family("granite", Halves),
    family("granite4_vision_text", Halves),
    family("granite_docling_text", Halves),
    family("granite_swa", Halves)
        .kinds(FirstOf(4, ""))
        .rotates(Rotates::Bases(0))
        .window(128),
    family("granitemoe", Halves),
    family("granitemoe_swa", Halves)
        .kinds(FirstOf(4, ""))
        .rotates(Rotates::Bases(0))
        .window(128),
    family("granitemoehybrid", Halves)
        .kinds(Named("layer_types"))
        .rotates(Rotates::If(
            "position_embedding_type",
            When::Is("rope", false),
        )),
    family("granitemoeshared", Halves),
    family("gte", Halves).base(16e4),
    family("helium", Interleaved).base(1e5).d_head(128),
    family("higgs_audio_v2", Halves)
        .d_head(128)
        .rope(HIGGS),
    family("hunyuan_v1_dense", Halves).scalings(Scalings::Alpha),
    family("hunyuan_v1_moe", Halves).scalings(Scalings::Alpha),
    family("hunyuan_vl_text", Halves)
        .scalings(Scalings::Alpha)
        .sections(Sections::Columns, [0, 0, 0]),
    family("hy_v3", Halves).base(11_158_840.0).d_head(128),
    family("hy_v4", Halves).latent(128, 64),
    family("hyperclovax", Halves),
    family("jais2", Halves),
    family("jetmoe", Halves).channels(128),
    family("jina_embeddings_v3", Halves).base(2e4),
    family("kolibri1", Halves)
        .d_head(128)
        .rotates(Rotates::WindowsIfAny)
        .kinds(LastOf(5, ""))
        .window(513),
    family("laguna", Halves)
        .d_head(128)
        .share(1.0)
        .kinds(Full)
        .window(512)
        .rope(Rope::PerKind(
            r#"{"full_attention": {"rope_theta": 5e5, "partial_rotary_factor": 0.5},
                "sliding_attention": {"rope_theta": 1e4, "partial_rotary_factor": 1}}"#,
        )),
    family("lfm2", Halves).base(1e6).kinds(Full),
    family("lfm2_moe", Halves).base(1e6).kinds(Named("layer_types")),
    family("lfm3", Halves)
        .kinds(Rule(|i, _| match i % 4 {
            2 => "full_attention",
            0 if i > 0 => "sliding_attention",
            _ => "conv",
        }))
        .d_head(128)
        .window(256)
        .rope(Rope::PerKind(
            r#"{"sliding_attention": {"rope_theta": 1e4}, "full_attention": {"rope_theta": 1e6,
                "rope_type": "proportional", "partial_rotary_factor": 0.5}}"#,
        )),
    family("llama", Halves),
    family("llama4_text", Interleaved)
        .base(5e5)
        .d_head(128)
        .kinds(Chunked)
        .rotates(Rotates::Listed)
        .scale(Scale::WithoutRotation),
    family("longcat_flash", Interleaved)
        .base(1e7)
        .latent(128, 64),
    family("mellum", Halves)
        .d_head(128)
        .kinds(Full)
        .window(1024)
        .rope(Rope::PerKind(
            r#"{"full_attention": {"rope_theta": 5e5}, "sliding_attention": {"rope_theta": 1e4}}"#,
        )),
    family("mimo_v2_flash", Halves)
        .d_head(192)
        .share(1.0)
        .kinds(Rule(|i, _| match i == 0 || (i + 1) % 6 == 0 {
            true => "full_attention",
            false => "sliding_attention",
        }))
        .window(129)
        .rope(Rope::PerKind(
            r#"{"full_attention": {"rope_theta": 5e6, "partial_rotary_factor": 0.334},
                "sliding_attention": {"rope_theta": 1e4, "partial_rotary_factor": 0.334}}"#,
        )),
    family("minicpm3", Halves).latent(64, 32),
    family("minimax", Halves)
        .base(1e6)
        .kinds(Rule(|i, _| match i % 2 {
            1 => "linear_attention",
            _ => "full_attention",
        })),
    family("minimax_m2", Halves).base(5e6).share(1.0).d_head(128),
    family("minimax_m3_vl_text", Halves).base(5e6).share(1.0).d_head(128).kinds(Full),
    family("ministral", Halves).kinds(Sliding).window(4096),
    family("ministral3", Halves)
        .base(1e6)
        .d_head(128)
        .scale(Scale::Parameter)
        .rope(Rope::One(
            r#"{"rope_type": "yarn", "rope_theta": 1e6, "factor": 16, "beta_fast": 32, "beta_slow": 1,
                "mscale": 1, "mscale_all_dim": 1, "original_max_position_embeddings": 16384,
                "llama_4_scaling_beta": 0.1}"#,
        )),
    family("mistral", Halves).kinds(Windowed).window(4096),
    family("mistral4", Interleaved)
        .latent(64, 64)
        .scale(Scale::Parameter)
        .rope(Rope::One(
            r#"{"rope_type": "yarn", "rope_theta": 1e4, "factor": 128, "beta_fast": 32, "beta_slow": 1,
                "mscale": 1, "mscale_all_dim": 1, "original_max_position_embeddings": 8192,
                "llama_4_scaling_beta": 0.1}"#,
        )),
    family("mixtral", Halves).base(1e6).kinds(Windowed),
    family("mllama_text_model", Halves)
        .base(5e5)
        .kinds(Except("cross_attention_layers", &[3, 8, 13, 18, 23, 28, 33, 38])),
    family("modernbert", Halves)
        .kinds(FirstOf(3, "global_attn_every_n_layers"))
        .window(64)
        .rope(MODERNBERT),
    family("modernbert-decoder", Halves)
        .kinds(FirstOf(3, "global_attn_every_n_layers"))
        .window(64)
        .rope(MODERNBERT),
    family("molmo2_text", Halves).d_head(128),
    family("moshi", Halves),
    family("muse_glimmer_text", Halves)
        .d_head(128)
        .kinds(LastOf(4, ""))
        .rotates(Rotates::Bases(4))
        .window(2048),
    family("muse_spark_text", Halves)
        .d_head(64)
        .rope(Rope::One(r#"{"rope_theta": 5e5}"#))
        .kinds(Rule(|i, n| match (n - 1 - i) % 4 {
            0 => "full_attention",
            _ => "sliding_attention",
        }))
        .rotates(Rotates::Bases(4))
        .window(2048),
    family("nemotron", Halves).share(0.5),
    family("nomic_bert", Halves).base(1e3),
    family("olmo", Halves),
    family("olmo2", Halves),
    family("olmo3", Halves)
        .kinds(LastOf(4, ""))
        .window(4096)
        .rope(OLMO3),
    family("olmo_hybrid", Halves).kinds(LinearBut(4)),
    family("olmoe", Halves),
    family("openai_privacy_filter", Interleaved)
        .base(15e4)
        .kinds(Windowed)
        .window(128)
        .d_head(64)
        .rope(GPT_OSS),
    family("paddleocr_vl_text", Halves).base(5e5).d_head(128).sections(Sections::Row, [16, 24, 24]),
    family("persimmon", Halves)
        .older_base(25e3)
        .share(0.5)
        .divided(),
    family("phi", Halves).share(0.5),
    family("phi3", Halves).scalings(Scalings::Only("longrope")).share(1.0).original(4096).kinds(Windowed),
    family("phi4_multimodal", Halves)
        .scalings(Scalings::Only("longrope"))
        .share(1.0)
        .original(4096)
        .kinds(Windowed),
    family("phimoe", Halves).scalings(Scalings::None).base(1e6).kinds(Windowed),
    family("qwen2", Halves).kinds(AfterFull),
    family("qwen2_5_omni_text", Halves).base(1e6).kinds(AfterFull).sections(Sections::Row, [16, 24, 24]),
    family("qwen2_5_vl_text", Halves)
        .scalings(Scalings::Sections).base(1e6).kinds(AfterFull).sections(Sections::Row, [16, 24, 24]),
    family("qwen2_moe", Halves).kinds(AfterFull),
    family("qwen2_vl_text", Halves)
        .scalings(Scalings::Sections).base(1e6).kinds(AfterFull).sections(Sections::Row, [16, 24, 24]),
    family("qwen3", Halves).d_head(128).kinds(AfterFull),
    family("qwen3_5_moe_text", Halves)
        .share(0.25)
        .d_head(256)
        .kinds(LinearBut(4)).sections(Sections::Dealt, [11, 11, 10]),
    family("qwen3_5_text", Halves)
        .share(0.25)
        .d_head(256)
        .kinds(LinearBut(4)).sections(Sections::Dealt, [11, 11, 10]),
    family("qwen3_moe", Halves),
    family("qwen3_next", Halves)
        .share(0.25)
        .d_head(256)
        .kinds(LinearBut(4)),
    family("qwen3_omni_moe_text", Halves).base(1e6).sections(Sections::Dealt, [24, 20, 20]),
    family("qwen3_vl_moe_text", Halves).base(5e5).sections(Sections::Dealt, [24, 20, 20]),
    family("qwen3_vl_text", Halves).base(5e5).d_head(128).sections(Sections::Dealt, [24, 20, 20]),
    family("recurrent_gemma", Halves).scalings(Scalings::None)
        .share(0.5)
        .kinds(Rule(|i, _| match i % 3 {
            2 => "sliding_attention",
            _ => "linear_attention",
        }))
        .window(2048),
    family("seed_oss", Halves).d_head(128),
    family("smollm3", Halves)
        .base(2e6)
        .kinds(Full)
        .rotates(Rotates::Listed),
    family("solar_open", Halves)
        .base(1e6)
        .whole_only()
        .d_head(128),
    family("stablelm", Halves).share(0.25),
    family("starcoder2", Halves).kinds(Windowed),
    family("ultrabert", Halves)
        .kinds(LastOf(3, ""))
        .window(128)
        .rope(Rope::PerKind(
            r#"{"sliding_attention": {"rope_theta": 1e4}, "full_attention": {"rope_theta": 2560000}}"#,
        )),
    family("vaultgemma", Halves)
        .d_head(256)
        .kinds(LastOf(2, ""))
        .window(4096),
    family("youtu", Interleaved).latent(128, 64),
];
