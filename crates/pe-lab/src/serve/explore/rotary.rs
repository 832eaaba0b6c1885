//! The scores of a query and keys that RoPE rotates, over their distance.

use burn::tensor::{Device, Tensor, TensorData};
use pe_burn::scaling::{Dynamic, Linear, Llama3, Longrope, Ntk, Yarn};
use pe_burn::{Layout, Positions, RopeScaling, RotaryPositionalEncodingConfig, Rotate};

use super::super::controls::{Control, Refusal, Values};
use super::numbers::{Line, Numbers, QUERY, REACH, SEED, host, keys, offsets, shown, span};
use crate::rng::{RngExt, generator};

pub const D_HEAD: Control =
    Control::whole("d_head", "d_head: the width of a head", (2, 512), 64).by(2);
pub const BASE: Control = Control::real("base", "base of the wavelengths", (1.001, 1e9), 10_000.0);
pub const LAYOUT: Control = Control::choice(
    "layout",
    "which columns are a pair",
    &[
        ("interleaved", "neighbours: (0, 1), (2, 3)"),
        ("halves", "halves: (0, d/2), (1, d/2 + 1)"),
    ],
);
pub const VECTORS: Control = Control::choice(
    "vectors",
    "query and keys",
    &[
        ("equal", "all equal: every column 1"),
        ("random", "one random query, one random key"),
    ],
);

pub static CONTROLS: [Control; 11] = [
    D_HEAD,
    BASE,
    LAYOUT,
    Control::whole(
        "rotary_dim",
        "rotated columns (0: all of them)",
        (0, 512),
        0,
    )
    .by(2),
    Control::choice(
        "scaling",
        "scaling for longer inputs",
        &[
            ("none", "none"),
            ("linear", "linear: position interpolation"),
            ("ntk", "NTK"),
            ("dynamic", "dynamic NTK"),
            ("yarn", "YaRN"),
            ("llama3", "Llama 3"),
            ("longrope", "LongRoPE"),
        ],
    ),
    Control::real("factor", "factor of the scaling", (0.25, 64.0), 4.0).only(
        "scaling",
        &["linear", "ntk", "dynamic", "yarn", "llama3", "longrope"],
    ),
    Control::whole(
        "original",
        "length that it was trained on",
        (2, 1_048_576),
        128,
    )
    .only("scaling", &["dynamic", "yarn", "llama3", "longrope"]),
    VECTORS,
    SEED.only("vectors", &["random"]),
    QUERY,
    REACH,
];

pub fn layout(values: &Values) -> Layout {
    match values.word("layout") {
        "halves" => Layout::Halves,
        _ => Layout::Interleaved,
    }
}

/// How many pairs of columns turn.
fn pairs(values: &Values) -> usize {
    match values.whole("rotary_dim") {
        0 => values.whole("d_head") / 2,
        rotary_dim => rotary_dim / 2,
    }
}

/// The scaling that is asked for, and how a program writes it.
fn scaling(values: &Values) -> Option<(RopeScaling, String)> {
    let (factor, original) = (values.real("factor"), values.whole("original"));
    let written = |name: &str| format!("{name}::new({factor:?}, {original})");
    Some(match values.word("scaling") {
        "linear" => (
            Linear::new(factor).into(),
            format!("Linear::new({factor:?})"),
        ),
        "ntk" => (Ntk::new(factor).into(), format!("Ntk::new({factor:?})")),
        "dynamic" => (Dynamic::new(factor, original).into(), written("Dynamic")),
        "yarn" => (Yarn::new(factor, original).into(), written("Yarn")),
        "llama3" => (
            Llama3::new(factor, 1.0, 4.0, original).into(),
            format!("Llama3::new({factor:?}, 1.0, 4.0, {original})"),
        ),
        "longrope" => {
            let pairs = pairs(values);
            let slowest = (pairs - 1).max(1) as f64;
            let long = (0..pairs).map(|i| factor.powf(i as f64 / slowest));
            let longrope = Longrope::new(vec![1.0; pairs], long.collect(), original, factor);
            let long = format!(
                "(0..{pairs}).map(|i| {factor:?}_f64.powf(i as f64 / {slowest:?})).collect()"
            );
            let arguments = [
                format!("vec![1.0; {pairs}]"),
                long,
                original.to_string(),
                format!("{factor:?}"),
            ];
            let arguments = arguments.map(|of| format!("            {of},\n")).concat();
            (
                longrope.into(),
                format!("Longrope::new(\n{arguments}        )"),
            )
        }
        _ => return None,
    })
}

fn config(values: &Values) -> RotaryPositionalEncodingConfig {
    let rotary_dim = values.whole("rotary_dim");
    RotaryPositionalEncodingConfig {
        base: values.real("base"),
        layout: layout(values),
        rotary_dim: (rotary_dim > 0).then_some(rotary_dim),
        scaling: scaling(values).map(|of| of.0),
        ..RotaryPositionalEncodingConfig::new(values.whole("d_head"))
    }
}

/// The query and the key before they are rotated.
fn vectors(values: &Values) -> [Vec<f32>; 2] {
    let width = values.whole("d_head");
    let mut rng = generator("explorer", values.whole("seed") as u64, 0);
    // Uniform with variance 1, so that the mean square is that of the vectors of ones.
    let most = 3.0_f32.sqrt();
    [(); 2].map(|()| match values.word("vectors") {
        "random" => (0..width).map(|_| rng.random_range(-most..most)).collect(),
        _ => vec![1.0; width],
    })
}

pub fn numbers(values: &Values) -> Result<Numbers, Refusal> {
    let config = config(values);
    let keys = keys(values, &offsets(values)).into_iter();
    let length = keys.fold(values.whole("query"), usize::max) + 1;
    let spectrum = config.spectrum(length)?;
    let plain = RotaryPositionalEncodingConfig {
        scaling: None,
        ..config.clone()
    };
    let mut frequencies = vec![Line::new("ω", spectrum.frequencies())];
    let mut facts = Vec::new();
    if config.scaling.is_some() {
        let plain = plain.spectrum(length)?.frequencies();
        frequencies.push(Line::new("ω without scaling", plain));
        let factor = shown(spectrum.amplitude());
        facts.push(format!("Queries and keys are both multiplied by {factor}."));
    }
    if values.word("scaling") == "longrope" {
        facts.push(about_longrope(values, length));
    }
    // Positions are given as real numbers: their rows are computed for the call, and no buffer grows to the largest.
    let rope = config.clone().with_max_len(1).try_init(&Device::flex())?;
    let wavelengths = spectrum.wavelengths();
    let (count, span) = (wavelengths.len(), span(&wavelengths));
    facts.push(format!("Pairs of columns that turn: {count}, {span}."));
    Ok(Numbers {
        facts,
        code: code(values, &config),
        frequencies,
        ..scores(&rope, values)?
    })
}

fn about_longrope(values: &Values, length: usize) -> String {
    let original = values.whole("original");
    format!(
        "LongRoPE searches a factor for each frequency. Here, for inputs longer than {original}, they go from 1 (fastest) to \
         {} (slowest) by equal ratios; for other inputs all are 1. The last position is {}, so those for {} inputs are \
         used.",
        shown(values.real("factor")),
        length - 1,
        if length > original { "long" } else { "short" },
    )
}

/// The scores of a query at a position and the same key at many, as a line over their distance.
pub fn scores(rope: &dyn Rotate, values: &Values) -> Result<Numbers, Refusal> {
    let offsets = offsets(values);
    let keys = keys(values, &offsets);
    let [q, k] = vectors(values);
    let device = Device::flex();
    let width = q.len();
    let times: Vec<f64> = keys.iter().map(|key| *key as f64).collect();
    let of_keys = Positions::from_time_rows(&[times])?;
    let of_query = Positions::from_time_rows(&[[values.real("query")]])?;
    let q = Tensor::<4>::from_data(TensorData::new(q, [1, 1, 1, width]), &device);
    let k = Tensor::<4>::from_data(TensorData::new(k, [1, 1, 1, width]), &device);
    let k = k.repeat_dim(2, keys.len());
    let (q, k) = rope.try_rotate_apart((q, &of_query), (k, &of_keys))?;
    let [q, k] = [q, k].map(host);
    let product = |k: &[f64]| q.iter().zip(k).map(|(q, k)| q * k).sum::<f64>();
    let scores = k.chunks_exact(width);
    let scores = scores.map(|k| product(k) / (width as f64).sqrt());
    Ok(Numbers {
        lines: vec![Line::new("q · k / √d_head", scores.collect())],
        offsets,
        measure: "score",
        ..Numbers::default()
    })
}

/// A program with these settings.
fn code(values: &Values, config: &RotaryPositionalEncodingConfig) -> String {
    let mut settings = format!(
        "\n        .with_base({:?})\n        .with_layout(Layout::{:?})",
        config.base, config.layout
    );
    if let Some(rotary_dim) = config.rotary_dim {
        settings += &format!("\n        .with_rotary_dim({rotary_dim})");
    }
    let mut import = String::new();
    if let Some((_, scaling)) = scaling(values) {
        settings += &format!("\n        .with_scaling({scaling})");
        let name = scaling.split(':').next().unwrap_or_default();
        import = format!("use pe_burn::scaling::{name};\n");
    }
    let d_head = config.d_head;
    format!(
        "use burn::tensor::Device;
{import}use pe_burn::{{Layout, PositionError, RotaryPositionalEncoding, RotaryPositionalEncodingConfig}};

/// Rotates queries and keys, [batch, heads, seq, {d_head}]: `rotation.rotate(q, k, &positions)`.
pub fn rotation(device: &Device) -> Result<RotaryPositionalEncoding, PositionError> {{
    RotaryPositionalEncodingConfig::new({d_head}){settings}
        .try_init(device)
}}
"
    )
}
