//! The other parts of a file, beside its text: what reads images and sound, and the sides of an encoder-decoder.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use pe_burn::PositionError;
use pe_burn::scaling::{Fields, Value};

use crate::config::{HfConfig, find, no_rotary};
use crate::unrotated;

/// The sides of a model whose file has them as groups of these names.
const SIDES: [&str; 2] = ["encoder", "decoder"];

/// A model whose file has the sizes of both sides beside each other, with the side before the name of a field.
const BESIDE: &str = "moonshine";

/// Groups that are no part with layers of its own, or the part that the file itself is read as.
const OTHERS: [&str; 4] = [
    "text_config",
    "thinker_config",
    "quantization_config",
    "generation_config",
];

/// The types of parts that name none, by the type of the whole and the name of the part; without a row they are named after the whole.
#[rustfmt::skip]
const TYPES: &[(&str, &str, &str)] = &[
    ("blt", "decoder_config", "blt_local_decoder"),
    ("blt", "encoder_config", "blt_local_encoder"),
    ("blt", "global_config", "blt_global_transformer"),
    ("chmv2", "backbone_config", "dinov3_vit"),
    ("colqwen2", "vlm_config", "qwen2_vl"),
    ("cosmos3_omni", "vision_config", "qwen3_vl_vision"),
    ("csm", "codec_config", "mimi"),
    ("csm", "depth_decoder_config", "csm_depth_decoder_model"),
    ("deepseek_ocr2_vision", "encoder_config", "deepseek_ocr2_encoder"),
    ("diffusion_gemma", "vision_config", "gemma4_vision"),
    ("esmfold2", "esmc_config", "esmc"),
    ("glm46v", "vision_config", "glm4v_vision"),
    ("glmga", "vision_config", "glm4v_vision"),
    ("hyperclovax_vision_v2", "vision_config", "qwen2_5_vl_vision"),
    ("kyutai_speech_to_text", "codec_config", "mimi"),
    ("lasr_ctc", "encoder_config", "lasr_encoder"),
    ("lighton_ocr", "vision_config", "pixtral"),
    ("llama4", "vision_config", "llama4_vision_model"),
    ("mistral3", "vision_config", "pixtral"),
    ("mistral_large4", "vision_config", "pixtral"),
    ("moshi", "audio_encoder_config", "mimi"),
    ("nemo_speechlm", "word_timestamp_config", "nemotron3_5_transcribe_word_timestamp"),
    ("nemotron3_5_transcribe_audio", "asr_config", "nemotron3_5_transcribe_asr_audio"),
    ("neucodec", "semantic_model_config", "wav2vec2-bert"),
    ("pe_audio_video_encoder", "audio_config", "pe_audio_encoder"),
    ("pe_audio_video_encoder", "video_config", "pe_video_encoder"),
    ("pi0", "dit_config", "gemma"),
    ("qwen3_omni_moe", "code2wav_config", "qwen3_omni_moe_code2wav"),
    ("sam3_video", "tracker_config", "sam3_tracker_video"),
    ("sam3_vision_model", "backbone_config", "sam3_vit_model"),
    ("step3p7", "vision_config", "step3p5_vision"),
    ("t5gemma", "decoder", "t5_gemma_module"),
    ("t5gemma", "encoder", "t5_gemma_module"),
    ("t5gemma2", "encoder", "t5gemma2_encoder"),
    ("xcodec2", "semantic_model_config", "wav2vec2-bert"),
];

impl HfConfig {
    /// The `model_type` of the file as it is written there, if it is.
    pub fn named(&self) -> Option<&str> {
        self.fields.text("model_type").ok().flatten()
    }

    /// The parts of the file beside the text that [`layers`](Self::layers) reads, by their names there: `vision_config` and
    /// `audio_config`, and both sides of an encoder-decoder. Each is read as a file of its own type.
    ///
    /// ```
    /// use pe_models::HfConfig;
    ///
    /// let text = r#"{"model_type": "qwen3_vl", "text_config": {"num_hidden_layers": 36}, "vision_config": {"depth": 27}}"#;
    /// let config = HfConfig::from_json(text)?;
    /// let parts = config.parts()?;
    /// let (name, vision) = &parts[0];
    /// assert_eq!((name.as_str(), vision.model_type()?), ("vision_config", "qwen3_vl_vision"));
    /// assert_eq!((config.layers()?.len(), vision.layers()?.len()), (36, 27));
    /// # Ok::<(), pe_burn::PositionError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PositionError::Config`] for a group with a `model_type` that is no string.
    pub fn parts(&self) -> Result<Vec<(String, HfConfig)>, PositionError> {
        let mut parts = Vec::new();
        let mut file = &self.fields;
        loop {
            let outer = file.text("model_type").map_err(no_rotary)?.unwrap_or("");
            for name in file.names() {
                let is_part =
                    name.ends_with("_config") && !OTHERS.contains(&name) || SIDES.contains(&name);
                let Ok(Some(group)) = file.group(name) else {
                    continue;
                };
                if is_part && !group.is_empty() {
                    let own = group.text("model_type").map_err(no_rotary)?;
                    if let Some(model_type) = type_of(outer, name, own) {
                        let mut fields = group.clone();
                        fields.set("model_type", Value::Text(model_type));
                        parts.push((name.to_string(), HfConfig { fields, like: None }));
                    }
                }
            }
            if outer == BESIDE {
                parts.extend(SIDES.map(|side| (side.to_string(), side_of(file, side))));
            }
            match file.group("thinker_config") {
                Ok(Some(inner)) => file = inner,
                _ => return Ok(parts),
            }
        }
    }
}

/// The type of a part; `None` where nothing tells it.
fn type_of(outer: &str, name: &str, own: Option<&str>) -> Option<String> {
    let is_known = |name: &str| find(name).is_some() || unrotated::is_unrotated(name);
    // Published files have the type of the whole model in its parts.
    if let Some(own) = own.filter(|own| *own != outer || is_known(own)) {
        return Some(own.to_string());
    }
    let of = |(whole, part, _): &&(&str, &str, &str)| (*whole, *part) == (outer, name);
    if let Some((_, _, named)) = TYPES.iter().find(of) {
        return Some((*named).to_string());
    }
    let part = name.strip_suffix("_config").unwrap_or(name);
    let outer = outer.strip_suffix("_thinker").unwrap_or(outer);
    let names = [
        format!("{outer}_{part}"),
        format!("{outer}_{part}_encoder"),
        format!("{outer}_encoder"),
    ];
    names.into_iter().find(|name| is_known(name))
}

/// One side of a file that has both beside each other.
fn side_of(file: &Fields, side: &str) -> HfConfig {
    let mut fields = file.clone();
    for other in file.names() {
        let name = other
            .strip_prefix(side)
            .and_then(|name| name.strip_prefix('_'));
        if let (Some(name), Ok(Some(size))) = (name, file.optional_length(other)) {
            fields.set(name, Value::Number(size as f64));
        }
    }
    HfConfig { fields, like: None }
}
