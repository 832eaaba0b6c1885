//! The towers of models: what reads images, video, sound and series. Their rows are as those of text.

use pe_burn::Layout::{Halves, Interleaved};

use crate::family::Kinds::{Rule, WindowsBut};
use crate::family::Patches::*;
use crate::family::{
    Family, Kinds, Places, Rope, Rotates, Scalings, When, Width, Windows, family, tower,
};

const OF_QWEN: Kinds = WindowsBut("fullatt_block_indexes", &[7, 15, 23, 31]);
const OF_MUSE: Kinds = Rule(|i, n| match i % 4 == 3 || i + 1 == n {
    true => "full_attention",
    false => "window_attention",
});
/// A base beside the parameters is passed over, since the parameters that a file leaves out have one.
const OF_LINE: Rope = Rope::One(r#"{"rope_theta": 1e4}"#);
/// What the first files of SAM 2 have in place of the parameters.
const OF_MEMORY: &str = "memory_attention_rope_theta";
const ROTARY: Rotates = Rotates::If("position_embeddings_type", When::Is("rotary", false));

/// Every tower that is read, in the order of the names.
#[rustfmt::skip]
pub(super) const TOWERS: &[Family] = &[
    tower("cohere_compass_vision", Halves, [27, 1152, 16], HeightWidth),
    family("deepseek_ocr2_encoder", Halves, [32, 4096, 32, 32768]).kinds(Kinds::AfterFull(28)).window(4096).windows(Windows::Flagged),
    tower("dinov3_vit", Halves, [12, 384, 6], Turns).places(Places::Centre).rope(Rope::Base).base(100.0).divided(),
    family("dots3_note_audio_encoder", Halves, [32, 1280, 20, 6000]).share(0.5).divided(),
    tower("dots3_note_vision_encoder", Halves, [42, 1536, 24], HeightWidth),
    tower("edgetam_video", Interleaved, [2, 256, 1], WidthHeight).width(Width::Memory).base_field(OF_MEMORY),
    tower("eomt_dinov3", Halves, [24, 1024, 16], Turns).places(Places::Centre).base(100.0).divided(),
    tower("ernie4_5_vl_moe_vision", Halves, [32, 1280, 16], HeightWidth),
    tower("exaone4_5_vision", Halves, [32, 3584, 16], HeightWidth).kinds(OF_QWEN),
    tower("glm4v_moe_vision", Halves, [24, 1536, 12], HeightWidth),
    tower("glm4v_vision", Halves, [24, 1536, 12], HeightWidth),
    tower("glm5_next_vision", Halves, [24, 1024, 16], HeightWidth),
    tower("glm_ocr_vision", Halves, [24, 1024, 16], HeightWidth),
    family("glmasr_encoder", Halves, [32, 1280, 20, 1500]).share(0.5),
    tower("inkling2_vision", Interleaved, [23, 1024, 16], WidthHeight).places(Places::Patch(1)),
    tower("kimi_k25_vision", Halves, [27, 1152, 16], InTurn),
    family("lasr_encoder", Halves, [17, 512, 8, 10000]),
    tower("lfm3_vl_vision", Halves, [14, 1024, 16], HeightWidth).base(1e6)
        .kinds(Rule(|i, _| match i >= 2 && i % 2 == 0 { true => "full_attention", false => "conv" })),
    tower("llama4_vision_model", Interleaved, [34, 768, 16], WidthHeight).places(Places::Patch(1)).divided(),
    family("mimi", Halves, [8, 512, 8, 8000]).window(250).everywhere(),
    tower("minimax_m3_vl_vision", Halves, [32, 1280, 16], Thirds),
    tower("mlcd", Halves, [48, 1664, 16], HeightWidth),
    tower("mlcd_vision_model", Halves, [48, 1664, 16], HeightWidth),
    family("moonshine", Interleaved, [6, 288, 8, 512]).share(0.9).divided(),
    family("moonshine_streaming", Interleaved, [6, 320, 8, 4096]).share(0.8).rope(OF_LINE),
    tower("muse_glimmer_vision", Halves, [50, 1536, 16], WidthHeight).places(Places::Patch(1)).kinds(OF_MUSE),
    tower("muse_spark_vision", Halves, [50, 1536, 16], WidthHeight).places(Places::Patch(1)).kinds(OF_MUSE),
    family("nemotron3_5_transcribe_asr_audio", Halves, [32, 1280, 10, 5000]).share(0.5).rope(OF_LINE),
    family("nemotron3_diarization_audio", Halves, [31, 512, 8, 5000]).share(1.0),
    family("neucodec", Halves, [12, 1024, 16, 4096]).d_head(64),
    tower("paddleocr_vl_vision", Halves, [27, 1152, 16], HeightWidth),
    family("pe_audio_encoder", Interleaved, [6, 1792, 14, 10000]).base(2e4).d_head(128),
    family("pe_audio_video_encoder", Interleaved, [6, 1792, 14, 10000]).base(2e4).d_head(128),
    family("pe_video_encoder", Interleaved, [6, 1792, 14, 10000]).base(2e4).d_head(128),
    tower("pixtral", Halves, [24, 1024, 16], FrequenciesInTurn),
    family("pocket_tts_audio_tokenizer", Halves, [2, 512, 8, 8000]).window(250).everywhere(),
    tower("qwen2_5_omni_vision_encoder", Halves, [32, 3584, 16], HeightWidth).kinds(OF_QWEN),
    tower("qwen2_5_vl_vision", Halves, [32, 3584, 16], HeightWidth).kinds(OF_QWEN),
    tower("qwen2_vl_vision", Halves, [32, 1280, 16], HeightWidth).width(Width::Of("embed_dim")),
    tower("qwen3_5_moe_vision", Halves, [27, 1152, 16], HeightWidth),
    tower("qwen3_5_vision", Halves, [27, 1152, 16], HeightWidth),
    family("qwen3_omni_moe_code2wav", Halves, [8, 1024, 16, 8000]).window(72).everywhere(),
    tower("qwen3_omni_moe_vision_encoder", Halves, [27, 1152, 16], HeightWidth),
    tower("qwen3_vl_moe_vision", Halves, [27, 1152, 16], HeightWidth),
    tower("qwen3_vl_vision", Halves, [27, 1152, 16], HeightWidth),
    tower("qwen4_exp_vision", Halves, [27, 1152, 16], HeightWidth),
    tower("sam2_video", Interleaved, [4, 256, 1], WidthHeight).width(Width::Memory).base_field(OF_MEMORY),
    tower("sam3_tracker_video", Interleaved, [4, 256, 1], WidthHeight).width(Width::Memory).base_field(OF_MEMORY),
    tower("sam3_vit_model", Interleaved, [32, 1024, 16], OfWindow).kinds(WindowsBut("global_attn_indexes", &[7, 15, 23, 31])),
    tower("sapiens2", Halves, [24, 1024, 16], Turns).places(Places::Centre).rope(Rope::Base).base(100.0).divided(),
    tower("step3p5_vision", Halves, [47, 1536, 16], WidthHeight),
    family("timesfm2_5", Halves, [20, 1280, 16, 16384]).d_head(80),
    tower("video_llama_3_vision", Halves, [12, 768, 12], HeightWidth),
    tower("vjepa2", Interleaved, [24, 1024, 16], TiledThirds).rope(Rope::Fixed).divided(),
    family("voxtral_realtime_encoder", Halves, [32, 1280, 32, 1500]).d_head(64).window(750).everywhere(),
    family("wav2vec2-bert", Halves, [24, 1024, 16, 0]).rope(Rope::Base).base_field("rotary_embedding_base").scalings(Scalings::None)
        .divided().rotates(ROTARY),
    family("wav2vec2-conformer", Halves, [12, 768, 12, 0]).rope(Rope::Base).base_field("rotary_embedding_base")
        .scalings(Scalings::None).divided().rotates(ROTARY),
    family("xcodec2", Halves, [12, 1024, 16, 4096]).d_head(64),
];
