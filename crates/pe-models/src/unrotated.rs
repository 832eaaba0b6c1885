//! Model types that do not rotate: which scheme of `pe-burn` they have, with which settings.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use pe_burn::content::DebertaConfig;
use pe_burn::conv::Wav2Vec2PositionalConvConfig;
use pe_burn::embedding::InputScale;
use pe_burn::grid::{BeitRelativeBiasConfig, SwinRelativeBiasConfig, SwinV2RelativeBiasConfig};
use pe_burn::scaling::{Fields, Value};
use pe_burn::{
    AlibiConfig, Formula, LearnedPositionalEmbeddingConfig, PositionalConfig,
    SinusoidalPositionalEncodingConfig, T5RelativeBiasConfig,
};

/// A scheme of `pe-burn`, and where a model has it: an entry of [`HfConfig::schemes`](crate::HfConfig::schemes).
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct PlacedScheme {
    /// Where the model has it, for example "embeddings of the encoder".
    pub place: &'static str,
    /// The scheme with its settings.
    pub scheme: PositionalConfig,
}

/// A field with a number, under the first of these names that a file has, or else the number.
type Size = (&'static [&'static str], usize);

/// The settings of a scheme in a file.
enum Rule {
    /// A learned table. The last number is the row of padded tokens; `None` where there is none.
    Learned(Size, Rows, Option<usize>),
    /// A learned table for tokens that `scale_embedding` scales. The code of other types ignores this field.
    Bart,
    /// Whisper's sines.
    Sines(Size, Size),
    /// A table of distances with this many heads, for both directions or one.
    T5(Size, bool),
    Deberta,
    /// A learned table, unless `position_biased_input` is false.
    DebertaRows,
    /// A table for each window of this many heads.
    Swin,
    SwinV2,
    Beit,
    Wav2Vec2,
    Bloom,
    /// transformers passes over MPT's `alibi` and `alibi_bias_max`, and the code of MPT's authors does not: a file in
    /// which they are not `true` and 8 is refused.
    Mpt,
}

/// The number of rows of a table.
enum Rows {
    /// As many as the longest input.
    Longest(Size),
    /// As `Longest`, with as many rows left out as the padding takes.
    WithoutPadding(Size),
    /// One for each patch of an image, and one for the class.
    Patches,
}

const WIDTH: &[&str] = &["hidden_size", "d_model", "n_embd"];
const HEADS: &[&str] = &["num_attention_heads", "num_heads", "n_head"];
const LONGEST: &[&str] = &["max_position_embeddings", "n_positions", "n_ctx"];

const EMBEDDINGS: &str = "embeddings";
const ENCODER: &str = "embeddings of the encoder";
const DECODER: &str = "embeddings of the decoder";

/// For each model type, the places and their schemes. A type without any learns the order of its tokens in layers that
/// are no attention, such as Mamba's, or not at all.
#[rustfmt::skip]
const TYPES: &[(&str, &[(&str, Rule)])] = &[
    ("bart", &[(ENCODER, Rule::Bart), (DECODER, Rule::Bart)]),
    ("beit", &[("scores of every layer", Rule::Beit)]),
    ("bert", &[(EMBEDDINGS, Rule::Learned((WIDTH, 768), Rows::Longest((LONGEST, 512)), None))]),
    ("bloom", &[("scores of every layer", Rule::Bloom)]),
    ("clvp_decoder", &[(EMBEDDINGS, Rule::Learned((WIDTH, 1024), Rows::Longest((LONGEST, 608)), None))]),
    ("deberta-v2", &[("scores of every layer", Rule::Deberta), (EMBEDDINGS, Rule::DebertaRows)]),
    ("electra", &[(EMBEDDINGS, Rule::Learned((&["embedding_size"], 128), Rows::Longest((LONGEST, 512)), None))]),
    ("glm5_next_text", &[]),
    ("gpt2", &[(EMBEDDINGS, Rule::Learned((WIDTH, 768), Rows::Longest((LONGEST, 1024)), None))]),
    ("hubert", &[(EMBEDDINGS, Rule::Wav2Vec2)]),
    ("jamba", &[]),
    ("kimi_linear", &[]),
    ("mbart", &[(ENCODER, Rule::Bart), (DECODER, Rule::Bart)]),
    ("moshi_depth", &[]),
    ("mpt", &[("scores of every layer", Rule::Mpt)]),
    ("mt5", &[("scores of every layer of the encoder", Rule::T5((HEADS, 6), true)),
        ("scores of every layer of the decoder", Rule::T5((HEADS, 6), false))]),
    ("nemotron_h", &[]),
    ("opt", &[(EMBEDDINGS, Rule::Learned((WIDTH, 768), Rows::Longest((LONGEST, 2048)), Some(1)))]),
    ("roberta", &[(EMBEDDINGS, Rule::Learned((WIDTH, 768), Rows::WithoutPadding((LONGEST, 512)), Some(1)))]),
    ("swin", &[("scores within the windows", Rule::Swin)]),
    ("swinv2", &[("scores within the windows", Rule::SwinV2)]),
    ("t5", &[("scores of every layer of the encoder", Rule::T5((HEADS, 8), true)),
        ("scores of every layer of the decoder", Rule::T5((HEADS, 8), false))]),
    ("vit", &[(EMBEDDINGS, Rule::Learned((WIDTH, 768), Rows::Patches, None))]),
    ("wav2vec2", &[(EMBEDDINGS, Rule::Wav2Vec2)]),
    ("whisper", &[(ENCODER, Rule::Sines((WIDTH, 384), (&["max_source_positions"], 1500))),
        (DECODER, Rule::Learned((WIDTH, 384), Rows::Longest((&["max_target_positions"], 448)), None))]),
];

/// The model types that have schemes of their own in place of rotations.
pub(crate) fn names() -> impl Iterator<Item = &'static str> + Clone {
    TYPES.iter().map(|(name, _)| *name)
}

/// Whether this model type has schemes of its own in place of rotations.
pub(crate) fn is_unrotated(model_type: &str) -> bool {
    names().any(|name| name == model_type)
}

/// The schemes of a model type that does not rotate, each with its place; `None` for all other types.
pub(crate) fn schemes(
    model_type: &str,
    file: &Fields,
) -> Result<Option<Vec<PlacedScheme>>, String> {
    let Some((_, places)) = TYPES.iter().find(|(known, _)| *known == model_type) else {
        return Ok(None);
    };
    let mut schemes = Vec::new();
    for (place, rule) in *places {
        let of_rule = rule.read(file)?.into_iter();
        schemes.extend(of_rule.map(|scheme| PlacedScheme { place, scheme }));
    }
    Ok(Some(schemes))
}

impl Rule {
    fn read(&self, file: &Fields) -> Result<Vec<PositionalConfig>, String> {
        Ok(match self {
            Self::Learned(width, rows, padding) => vec![PositionalConfig::Learned(learned(
                file, width, rows, *padding,
            )?)],
            Self::Bart => vec![PositionalConfig::Learned(bart(file)?)],
            Self::Sines(width, rows) => {
                let mut config = SinusoidalPositionalEncodingConfig::new(multiple(2, file, width)?)
                    .with_formula(Formula::TENSOR2TENSOR);
                config.max_len = size(file, rows)?;
                vec![PositionalConfig::Sinusoidal(config)]
            }
            Self::T5(heads, bidirectional) => vec![t5(file, heads, *bidirectional)?],
            Self::Deberta => deberta(file)?.into_iter().collect(),
            Self::DebertaRows if file.flag("position_biased_input")? == Some(false) => Vec::new(),
            Self::DebertaRows => {
                let width = (&["embedding_size", "hidden_size"][..], 1536);
                let rows = Rows::Longest((LONGEST, 512));
                vec![PositionalConfig::Learned(learned(
                    file, &width, &rows, None,
                )?)]
            }
            Self::Swin => swin(file, |_, heads, window| {
                PositionalConfig::Swin(SwinRelativeBiasConfig::new(heads, window))
            })?,
            Self::SwinV2 => swin_v2(file)?,
            Self::Beit => beit(file)?,
            Self::Wav2Vec2 => {
                let mut config = Wav2Vec2PositionalConvConfig::new(size(file, &(WIDTH, 768))?);
                config.kernel = size(file, &(&["num_conv_pos_embeddings"], 128))?;
                config.groups = size(file, &(&["num_conv_pos_embedding_groups"], 16))?;
                if file.flag("conv_pos_batch_norm")? == Some(true) {
                    return Err("`conv_pos_batch_norm` is not read".into());
                }
                let activation = file.text("feat_extract_activation")?.unwrap_or("gelu");
                if activation != "gelu" {
                    return Err(format!(
                        "`feat_extract_activation` must be \"gelu\"; got \"{activation}\""
                    ));
                }
                vec![PositionalConfig::Wav2Vec2(config)]
            }
            Self::Bloom => vec![alibi(file, &["n_head", "num_attention_heads"], 8)?],
            Self::Mpt => {
                if let Some(attention) = file.group("attn_config")? {
                    if attention.flag("alibi")? == Some(false) {
                        return Err("its `alibi` is false".into());
                    }
                    let most = attention.optional_number("alibi_bias_max")?.unwrap_or(8.0);
                    if most != 8.0 {
                        return Err(format!("`alibi_bias_max` must be 8; got {most}"));
                    }
                }
                vec![alibi(file, &["n_heads", "num_attention_heads"], 16)?]
            }
        })
    }
}

fn size(file: &Fields, (names, usual): &Size) -> Result<usize, String> {
    match file.first_length(names)? {
        Some((name, 0)) => Err(format!("`{name}` must be at least 1; got 0")),
        given => Ok(given.map_or(*usual, |(_, size)| size)),
    }
}

/// A size that the code halves, or shares out.
fn multiple(of: usize, file: &Fields, sought: &Size) -> Result<usize, String> {
    match file.first_length(sought.0)? {
        Some((name, given)) if !given.is_multiple_of(of) => {
            Err(format!("`{name}` must be a multiple of {of}; got {given}"))
        }
        _ => size(file, sought),
    }
}

fn t5(file: &Fields, heads: &Size, bidirectional: bool) -> Result<PositionalConfig, String> {
    let shares = if bidirectional { 4 } else { 2 };
    let buckets = &(&["relative_attention_num_buckets"][..], 32);
    let config = T5RelativeBiasConfig::new(size(file, heads)?)
        .with_buckets(multiple(shares, file, buckets)?)
        .with_max_distance(size(file, &(&["relative_attention_max_distance"], 128))?)
        .with_bidirectional(bidirectional);
    Ok(PositionalConfig::T5(config))
}

/// The table of BART, for the encoder or the decoder.
fn bart(file: &Fields) -> Result<LearnedPositionalEmbeddingConfig, String> {
    let rows = Rows::Longest((LONGEST, 1024));
    let mut config = learned(file, &(WIDTH, 1024), &rows, Some(1))?;
    if file.flag("scale_embedding")? == Some(true) {
        config.input_scale = InputScale::SqrtDModel;
    }
    Ok(config)
}

/// A table, with the row of padded tokens that the file names where its rows are counted from there.
fn learned(
    file: &Fields,
    width: &Size,
    rows: &Rows,
    padding: Option<usize>,
) -> Result<LearnedPositionalEmbeddingConfig, String> {
    if let Some(kind) = file
        .text("position_embedding_type")?
        .filter(|kind| *kind != "absolute")
    {
        return Err(format!("`position_embedding_type` \"{kind}\" is not read"));
    }
    // MosaicBERT and DNABERT-2 have the type of BERT, biases by distance, and no table.
    if file.contains("alibi_starting_size") {
        return Err("`alibi_starting_size` is not read".into());
    }
    let mut padding = padding;
    let rows = match rows {
        Rows::Longest(longest) => size(file, longest)?,
        Rows::WithoutPadding(longest) => {
            let given = file.optional_length("pad_token_id")?;
            let index = given.or(padding).unwrap_or(0);
            padding = Some(index);
            let all = size(file, longest)?;
            all.checked_sub(index + 1).ok_or_else(|| {
                format!(
                    "`max_position_embeddings` must be more than `pad_token_id` {index}; got {all}"
                )
            })?
        }
        Rows::Patches => {
            let [rows, columns] = patches(file, 16)?;
            rows.saturating_mul(columns).saturating_add(1)
        }
    };
    let mut config = LearnedPositionalEmbeddingConfig::new(size(file, width)?, rows);
    config.padding_index = padding;
    Ok(config)
}

/// The rows and columns of the patches of an image, with the size of a patch where the file does not say it.
fn patches(file: &Fields, usual: usize) -> Result<[usize; 2], String> {
    let [image, patch] = [
        both(file, "image_size", 224)?,
        both(file, "patch_size", usual)?,
    ];
    match patch.contains(&0) {
        true => Err("`patch_size` must be at least 1; got 0".into()),
        false => Ok([image[0] / patch[0], image[1] / patch[1]]),
    }
}

/// A height and a width, which may be one number for both.
fn both(file: &Fields, name: &str, usual: usize) -> Result<[usize; 2], String> {
    if let Ok(length) = file.optional_length(name) {
        return Ok([length.unwrap_or(usual); 2]);
    }
    let listed = file.optional_list(name, "one length or two", Value::as_length)?;
    let listed = listed.unwrap_or_default();
    <[usize; 2]>::try_from(listed)
        .map_err(|listed| format!("`{name}` must be one length or two; got {}", listed.len()))
}

fn deberta(file: &Fields) -> Result<Option<PositionalConfig>, String> {
    if file.flag("relative_attention")? != Some(true) {
        return Ok(None);
    }
    // Both may be −1, for none.
    let above_0 = |name| {
        let number = file.optional_number(name)?;
        Ok::<_, String>(
            number
                .filter(|number| *number >= 1.0)
                .map(|number| number as usize),
        )
    };
    let longest = size(file, &(LONGEST, 512))?;
    let text = match file.text("pos_att_type") {
        Ok(text) => text.unwrap_or("").into(),
        Err(_) => {
            let names = |value: &Value| value.as_text().map(String::from);
            file.optional_list("pos_att_type", "a list of names", names)?
                .unwrap_or_default()
                .join("|")
        }
    };
    let mut config = DebertaConfig::new(size(file, &(WIDTH, 1536))?, size(file, &(HEADS, 24))?);
    config.buckets = above_0("position_buckets")?;
    config.max_distance = above_0("max_relative_positions")?.unwrap_or(longest);
    config.content_to_position = text.contains("c2p");
    config.position_to_content = text.contains("p2c");
    Ok((config.content_to_position || config.position_to_content)
        .then_some(PositionalConfig::Deberta(config)))
}

/// A table for each stage: of its number, its heads and the window of the file.
fn swin(
    file: &Fields,
    of: impl Fn(usize, usize, [usize; 2]) -> PositionalConfig,
) -> Result<Vec<PositionalConfig>, String> {
    // transformers adds this table to one token less than it has rows, which fails.
    if file.flag("use_absolute_embeddings")? == Some(true) {
        return Err("`use_absolute_embeddings` is not read".into());
    }
    let window = both(file, "window_size", 7)?;
    let heads = lengths(file, "num_heads", &[3, 6, 12, 24])?;
    if heads.is_empty() {
        return Err("`num_heads` must have a number for each stage; got none".into());
    }
    let stages = heads.into_iter().enumerate();
    Ok(stages.map(|(i, heads)| of(i, heads, window)).collect())
}

/// A window of Swin V2 is not larger than the patches of its stage, which are half as many on each side as in the stage
/// before.
fn swin_v2(file: &Fields) -> Result<Vec<PositionalConfig>, String> {
    let pretrained = lengths(file, "pretrained_window_sizes", &[])?;
    let [rows, _] = patches(file, 4)?;
    swin(file, |stage, heads, [window, _]| {
        let window = window.min(rows.checked_shr(stage as u32).unwrap_or(0));
        let mut config = SwinV2RelativeBiasConfig::new(heads, [window; 2]);
        let pretrained = pretrained.get(stage).filter(|window| **window > 0);
        config.pretrained_window = pretrained.map(|window| [*window; 2]);
        PositionalConfig::SwinV2(config)
    })
}

/// A list of lengths, or else these.
fn lengths(file: &Fields, name: &str, usual: &[usize]) -> Result<Vec<usize>, String> {
    let listed = file.optional_list(name, "a list of lengths", Value::as_length)?;
    Ok(listed.unwrap_or_else(|| usual.to_vec()))
}

/// A table of offsets where the file asks for it, and a learned one too where it asks for that.
fn beit(file: &Fields) -> Result<Vec<PositionalConfig>, String> {
    let is_set = |name| Ok::<_, String>(file.flag(name)? == Some(true));
    let mut schemes = Vec::new();
    if is_set("use_relative_position_bias")? || is_set("use_shared_relative_position_bias")? {
        let config = BeitRelativeBiasConfig::new(size(file, &(HEADS, 12))?, patches(file, 16)?);
        schemes.push(PositionalConfig::Beit(config));
    }
    if is_set("use_absolute_position_embeddings")? {
        let table = learned(file, &(WIDTH, 768), &Rows::Patches, None)?;
        schemes.push(PositionalConfig::Learned(table));
    }
    Ok(schemes)
}

fn alibi(
    file: &Fields,
    names: &'static [&'static str],
    usual: usize,
) -> Result<PositionalConfig, String> {
    let heads = size(file, &(names, usual))?;
    Ok(PositionalConfig::Alibi(AlibiConfig::new(heads)))
}
