//! What the layers of a model do with positions.

use std::f64::consts::TAU;

use pe_burn::{Axes, Layout, RopeScaling};
use pe_models::{AttentionSpan, LayerPositions, Places, Probe};
use serde::Serialize;

use crate::error::LabError;

/// Layers that do the same with positions.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    pub layers: Vec<usize>,
    /// Which keys a query sees: "full", "none", "window" of an image, "sliding" or "chunked" with a length, or how many
    /// "before" and "after" it.
    pub attention: String,
    /// The rotation of queries and keys.
    pub rotation: Option<Rotation>,
    /// The factor of a query, where it grows with its position.
    pub query_factor: Option<QueryFactor>,
    #[serde(skip)]
    pub(super) positions: LayerPositions,
}

/// The factor of a query, as a function of its position.
#[derive(Clone, Debug, Serialize)]
pub struct QueryFactor {
    /// The function.
    pub formula: &'static str,
    /// How strongly it grows.
    pub beta: f64,
    /// It grows whenever the position passes a multiple of this number.
    pub length: usize,
    /// Added to the position.
    pub shift: usize,
    /// Its value at the last position of the context.
    pub at_the_last_position: f64,
}

/// The rotation of queries and keys.
#[derive(Clone, Debug, Serialize)]
pub struct Rotation {
    /// The first column of a head that it is for.
    pub first_column: usize,
    /// The number of columns that it is for.
    pub d_head: usize,
    /// The number of these that are rotated.
    pub rotary_dim: usize,
    /// Which columns make a pair.
    pub layout: Layout,
    /// Whether pairs turn the other way, by minus the angle.
    pub opposite: bool,
    /// Whether the frequencies of neighbouring columns follow each other, and start again in the middle of an axis.
    pub tiled_angles: bool,
    pub base: f64,
    /// The coordinates that share the pairs, in a model of text, images and video.
    pub axes: Option<Axes>,
    /// The scaling for longer inputs than in training.
    pub scaling: Option<RopeScaling>,
    /// What queries and keys are both multiplied by.
    pub attention_factor: f64,
    /// Where the position by which a token is rotated comes from: "row", "patch" or "centre".
    pub places: &'static str,
    /// The length of the input that `wavelengths` are for: the context, or a longer one where the frequencies change only
    /// beyond it.
    pub length: usize,
    /// The wavelength of each pair in tokens; `None` where a pair does not turn. For patches those of the first
    /// coordinate.
    pub wavelengths: Vec<Option<f64>>,
    /// The wavelengths for an input of one token, where the frequencies depend on the length of the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wavelengths_of_short_inputs: Option<Vec<Option<f64>>>,
    /// The pairs that make less than one turn in the length of training, without the scaling.
    pub never_complete: Vec<usize>,
    pub trained_on: Option<usize>,
    /// A known query and its rotation at some positions, to compare other code with; `None` for patches, which have no
    /// place in a row.
    pub probe: Option<Probe>,
}

impl Group {
    pub(super) fn new(
        layer: usize,
        positions: LayerPositions,
        context: Option<usize>,
    ) -> Result<Self, LabError> {
        let attention = match positions.span {
            AttentionSpan::Full => "full".to_string(),
            AttentionSpan::Sliding(window) => format!("sliding {window}"),
            AttentionSpan::Around { before, after } => format!("{before} before, {after} after"),
            AttentionSpan::PromptAndSliding(window) => format!("prompt, sliding {window}"),
            AttentionSpan::Chunked(length) => format!("chunked {length}"),
            AttentionSpan::Window => "window".to_string(),
            AttentionSpan::None => "none".to_string(),
            other => format!("{other:?}"),
        };
        let last = context.map_or(0, |context| context.saturating_sub(1));
        Ok(Self {
            layers: vec![layer],
            attention,
            rotation: Rotation::of(&positions, context)?,
            query_factor: positions.query_scale.map(|scale| QueryFactor {
                formula: "1 + beta * ln(1 + floor((position + shift) / length))",
                beta: scale.beta,
                length: scale.length,
                shift: scale.shift,
                at_the_last_position: scale.factor(last),
            }),
            positions,
        })
    }
}

impl Rotation {
    fn of(layer: &LayerPositions, context: Option<usize>) -> Result<Option<Self>, LabError> {
        let Some(rotary) = &layer.rotary else {
            return Ok(None);
        };
        let trained_on = trained_on(rotary.scaling.as_ref(), context);
        let mut unscaled = rotary.clone();
        unscaled.scaling = None;
        let length = longest(rotary.scaling.as_ref(), context.unwrap_or(1));
        let frequencies = rotary.spectrum(length)?.frequencies();
        let short = rotary.spectrum(1)?.frequencies();
        let never_complete = match trained_on {
            None => Vec::new(),
            Some(length) => {
                let trained = unscaled.spectrum(length)?.frequencies();
                let turns = |omega: f64| omega * length as f64 / TAU;
                let pairs = trained.into_iter().zip(&frequencies).enumerate();
                pairs
                    .filter(|(_, (trained, now))| turns(*trained) < 1.0 && **now > 0.0)
                    .map(|(i, _)| i)
                    .collect()
            }
        };
        let mut at = vec![0, 1, 100];
        at.extend(trained_on.map(|length| length.saturating_sub(1)));
        at.extend(trained_on);
        at.extend(context.map(|length| length.saturating_sub(1)));
        at.push(131_071);
        at.sort_unstable();
        at.dedup();
        let (places, probe) = match layer.places {
            Places::Row => ("row", layer.probe(&at)?),
            Places::Patch(_) => ("patch", None),
            Places::Centre => ("centre", None),
            _ => ("other", None),
        };
        Ok(Some(Self {
            first_column: layer.columns.start,
            d_head: rotary.d_head,
            rotary_dim: rotary.rotary_dim.unwrap_or(rotary.d_head),
            layout: rotary.layout,
            opposite: rotary.opposite,
            tiled_angles: rotary.tiled_angles,
            base: rotary.base,
            axes: rotary.axes.clone(),
            scaling: rotary.scaling.clone(),
            attention_factor: rotary
                .scaling
                .as_ref()
                .map_or(1.0, RopeScaling::attention_factor),
            wavelengths_of_short_inputs: (short != frequencies).then(|| wavelengths(&short)),
            wavelengths: wavelengths(&frequencies),
            places,
            length,
            never_complete,
            trained_on,
            probe,
        }))
    }
}

fn wavelengths(frequencies: &[f64]) -> Vec<Option<f64>> {
    let of = |omega: &f64| (*omega > 0.0).then_some(TAU / omega);
    frequencies.iter().map(of).collect()
}

/// The context, or, if it is more, the length at which frequencies that depend on the length have changed: dynamic
/// scaling only does something beyond the length of training, and is taken at `factor` times that length.
fn longest(scaling: Option<&RopeScaling>, context: usize) -> usize {
    let changed = match scaling {
        Some(RopeScaling::Dynamic(dynamic)) => {
            (dynamic.factor * dynamic.original_max_position_embeddings as f64) as usize
        }
        Some(RopeScaling::Longrope(longrope)) => {
            longrope.original_max_position_embeddings.saturating_add(1)
        }
        _ => 0,
    };
    context.max(changed)
}

/// The length that the model was trained on before its context was made longer.
fn trained_on(scaling: Option<&RopeScaling>, context: Option<usize>) -> Option<usize> {
    let shorter = |factor: f64| context.map(|context| (context as f64 / factor) as usize);
    match scaling {
        Some(RopeScaling::Yarn(yarn)) => Some(yarn.original_max_position_embeddings),
        Some(RopeScaling::Dynamic(dynamic)) => Some(dynamic.original_max_position_embeddings),
        Some(RopeScaling::Longrope(longrope)) => Some(longrope.original_max_position_embeddings),
        Some(RopeScaling::Llama3(llama3)) => Some(llama3.original_max_position_embeddings),
        Some(RopeScaling::Linear(linear)) => shorter(linear.factor),
        Some(RopeScaling::Ntk(ntk)) => shorter(ntk.factor),
        _ => context,
    }
}
