//! The columns of a head that have positions.

use alloc::format;
use alloc::string::{String, ToString};
use core::ops::Range;

use pe_burn::scaling::Fields;

use crate::family::{Family, Width};
use crate::kinds::FULL;

/// The width of a head that no model reaches, so that its frequencies fit into memory.
const MAX_WIDTH: usize = 1 << 20;

/// The columns of a head that have positions.
pub(super) fn columns(file: &Fields, family: &Family, kind: &str) -> Result<Range<usize>, String> {
    let divided = || divided(file, family);
    let columns = match family.width {
        Width::Divided | Width::Of(_) => 0..divided()?,
        Width::Head(usual) => {
            if let (Some(usual), true) = (usual, file.is_null("head_dim") && !is_older(file)?) {
                return Err(format!("`head_dim` is null; left out, it is {usual}"));
            }
            let usual = usual.filter(|_| !file.is_null("head_dim"));
            match file.optional_length("head_dim")?.or(usual) {
                Some(width) => 0..width,
                None => 0..divided()?,
            }
        }
        Width::HeadOrDivided(_) if file.is_null("head_dim") => 0..divided()?,
        Width::HeadOrDivided(usual) => 0..file.optional_length("head_dim")?.unwrap_or(usual),
        Width::Latent { plain, rotated } => {
            let size = |name, usual| Ok::<_, String>(file.optional_length(name)?.unwrap_or(usual));
            let start = size("qk_nope_head_dim", plain)?;
            let width = size("qk_rope_head_dim", rotated)?;
            start..start.saturating_add(width)
        }
        Width::Memory => 0..of_memory(file, family)?,
        Width::Twice => match file.first_length(&["attention_head_dim", "head_dim"])? {
            Some((_, width)) => 0..width,
            None => 0..2 * divided()?,
        },
        Width::Channels(usual) => 0..file.optional_length("kv_channels")?.unwrap_or(usual),
        Width::Global { .. } if file.is_null("head_dim") => return Err("`head_dim` is null".into()),
        // A file of version 5 has it as the `head_dim` of these layers.
        Width::Global { full, .. } if kind == FULL && !file.contains("per_layer_config") => {
            0..file.optional_length("global_head_dim")?.unwrap_or(full)
        }
        Width::Global { head, .. } => 0..file.optional_length("head_dim")?.unwrap_or(head),
    };
    match columns.end {
        end if end > MAX_WIDTH => Err(format!("a head may have {MAX_WIDTH} columns; got {end}")),
        _ => Ok(columns),
    }
}

/// The width of the model, divided by the number of heads.
fn divided(file: &Fields, family: &Family) -> Result<usize, String> {
    let size = |names: &[&'static str], usual| match file.first_length(names)? {
        Some((_, size)) => Ok::<_, String>(size),
        None => Ok(usual),
    };
    let heads = size(
        &[
            "num_attention_heads",
            "n_head",
            "n_heads",
            "num_heads",
            "decoder_num_attention_heads",
        ],
        family.sizes.heads,
    )?;
    let width = match family.width {
        Width::Of(name) => size(&[name], family.sizes.width)?,
        _ => size(
            &["hidden_size", "n_embd", "n_embed", "d_model"],
            family.sizes.width,
        )?,
    };
    match heads {
        0 => Err("`num_attention_heads` must be at least 1; got 0".to_string()),
        heads if width % heads != 0 => Err(format!(
            "`hidden_size` must be a multiple of `num_attention_heads` {heads}; got {width}"
        )),
        heads => Ok(width / heads),
    }
}

/// The width of a head of SAM 2's memory.
fn of_memory(file: &Fields, family: &Family) -> Result<usize, String> {
    let size = |name: &str, usual| Ok::<_, String>(file.optional_length(name)?.unwrap_or(usual));
    let width = size("memory_attention_hidden_size", family.sizes.width)?;
    let heads = size("memory_attention_num_attention_heads", family.sizes.heads)?;
    let rate = size("memory_attention_downsample_rate", 1)?;
    let width = width.checked_div(heads.saturating_mul(rate));
    width.ok_or_else(|| {
        let name = match heads {
            0 => "memory_attention_num_attention_heads",
            _ => "memory_attention_downsample_rate",
        };
        format!("`{name}` must be at least 1; got 0")
    })
}

/// Whether the file is of a version of transformers before 5.
pub(super) fn is_older(file: &Fields) -> Result<bool, String> {
    let version = file.text("transformers_version")?;
    let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    Ok(major.is_some_and(|major| major < 5))
}
