//! The scores of a query and keys under xPos: rotated as by RoPE, and weaker with the distance.

use burn::tensor::Device;
use pe_burn::{Spectrum, XPosPositionalEncodingConfig};

use super::super::controls::{Control, Refusal, Values};
use super::numbers::{Line, Numbers, QUERY, REACH, SEED, shown};
use super::rotary::{BASE, D_HEAD, LAYOUT, VECTORS, layout, scores};

pub static CONTROLS: [Control; 8] = [
    D_HEAD,
    BASE,
    LAYOUT,
    Control::real(
        "scale_base",
        "scale_base: positions in which the fastest pair falls to 0.29",
        (1.0, 1e9),
        512.0,
    ),
    VECTORS,
    SEED.only("vectors", &["random"]),
    QUERY,
    REACH,
];

pub fn numbers(values: &Values) -> Result<Numbers, Refusal> {
    let config = XPosPositionalEncodingConfig::new(values.whole("d_head"))
        .with_base(values.real("base"))
        .with_layout(layout(values))
        .with_scale_base(values.real("scale_base"));
    let spectrum = Spectrum::new(config.d_head, config.base)?;
    // Positions as real numbers need no buffer.
    let xpos = config.clone().with_max_len(1).try_init(&Device::flex())?;
    Ok(Numbers {
        facts: vec![
            format!(
                "In {} positions the fastest pair of columns falls to 0.29, and slower ones less far.",
                shown(config.scale_base)
            ),
            "It is made for a decoder, whose keys stand to the left: to the right scores grow with the distance."
                .into(),
        ],
        code: code(&config),
        frequencies: vec![Line::new("ω", spectrum.frequencies())],
        ..scores(&xpos, values)?
    })
}

/// A program with these settings.
fn code(config: &XPosPositionalEncodingConfig) -> String {
    let XPosPositionalEncodingConfig {
        d_head,
        base,
        layout,
        scale_base,
        ..
    } = config;
    format!(
        "use burn::tensor::Device;
use pe_burn::{{Layout, PositionError, XPosPositionalEncoding, XPosPositionalEncodingConfig}};

/// Rotates queries and keys, [batch, heads, seq, {d_head}]: `xpos.rotate(q, k, &positions)`.
pub fn rotation(device: &Device) -> Result<XPosPositionalEncoding, PositionError> {{
    XPosPositionalEncodingConfig::new({d_head})
        .with_base({base:?})
        .with_layout(Layout::{layout:?})
        .with_scale_base({scale_base:?})
        .try_init(device)
}}
"
    )
}
