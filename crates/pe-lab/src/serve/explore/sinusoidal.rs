//! The table of a sinusoidal encoding: rows, frequencies, similarity to one position.

use std::f64::consts::TAU;

use pe_burn::{Formula, Layout, Spectrum};

use super::super::controls::{Control, Refusal, Values};
use super::numbers::{Line, MAX_POSITION, Numbers, some, span};

/// The formulas that have a base to choose, each under the name that its library gives it.
const WITH_BASE: &[&str] = &[
    "paper",
    "tensor2tensor",
    "mlx",
    "diffusers",
    "torch_geometric",
    "keras",
    "wavelengths",
];

/// How many pairs of columns are drawn as curves and clocks.
const PAIRS: usize = 6;

pub static CONTROLS: [Control; 8] = [
    Control::whole("d_model", "d_model: the number of columns", (1, 1024), 64),
    Control::real("base", "base of the wavelengths", (1.001, 1e9), 10_000.0)
        .only("formula", WITH_BASE),
    Control::choice(
        "formula",
        "formula",
        &[
            ("paper", "the paper's"),
            ("wavelengths", "shortest and longest wavelength included"),
            ("tensor2tensor", "tensor2tensor"),
            ("fairseq", "fairseq"),
            ("marian", "Marian"),
            ("mlx", "MLX"),
            ("diffusers", "Diffusers"),
            ("torch_geometric", "PyTorch Geometric"),
            ("keras", "Keras"),
        ],
    ),
    Control::choice(
        "layout",
        "order of the columns",
        &[
            ("own", "as the formula has it"),
            ("interleaved", "interleaved: sin, cos, sin, cos"),
            ("halves", "halves: all sines, then all cosines"),
        ],
    ),
    Control::whole("start", "first position", (0, MAX_POSITION), 0),
    Control::whole("count", "positions shown", (1, 256), 100),
    Control::whole("every", "show every n-th position", (1, 1_000_000), 1),
    Control::whole("position", "similarity to position", (0, MAX_POSITION), 50),
];

/// The formula, and how a program writes it.
fn formula(values: &Values) -> (Formula, String) {
    let base = values.real("base");
    let shown = |formula: Formula| {
        let text = format!("Formula::{formula:#?}");
        (formula, text)
    };
    match values.word("formula") {
        "wavelengths" => (
            Formula::Wavelengths {
                min: TAU,
                max: TAU * base,
            },
            format!("Formula::Wavelengths {{\n    min: TAU,\n    max: TAU * {base:?},\n}}"),
        ),
        "tensor2tensor" => shown(Formula::Tensor2Tensor {
            min_timescale: 1.0,
            max_timescale: base,
        }),
        "fairseq" => (Formula::FAIRSEQ, "Formula::FAIRSEQ".into()),
        "marian" => (Formula::Marian {}, "Formula::Marian {}".into()),
        "mlx" => (
            Formula::Mlx {
                min_freq: 1.0 / base,
                max_freq: 1.0,
                scale: None,
                cos_first: false,
                full_turns: false,
            },
            format!(
                "Formula::Mlx {{\n    min_freq: 1.0 / {base:?},\n    max_freq: 1.0,\n    scale: None,\n    \
                 cos_first: false,\n    full_turns: false,\n}}"
            ),
        ),
        "diffusers" => shown(Formula::Diffusers {
            flip_sin_to_cos: false,
            downscale_freq_shift: 1.0,
            scale: 1.0,
            max_period: base,
        }),
        "torch_geometric" => (
            Formula::TorchGeometric {
                base_freq: 1.0 / base,
                granularity: 1.0,
            },
            format!(
                "Formula::TorchGeometric {{\n    base_freq: 1.0 / {base:?},\n    granularity: 1.0,\n}}"
            ),
        ),
        "keras" => shown(Formula::Keras {
            max_wavelength: base,
        }),
        _ => (
            Formula::Paper { base },
            format!("Formula::Paper {{ base: {base:?} }}"),
        ),
    }
}

fn layout(values: &Values) -> Option<Layout> {
    match values.word("layout") {
        "interleaved" => Some(Layout::Interleaved),
        "halves" => Some(Layout::Halves),
        _ => None,
    }
}

fn spectrum(values: &Values) -> Result<Spectrum, Refusal> {
    let spectrum = Spectrum::new(values.whole("d_model"), formula(values).0)?;
    Ok(match layout(values) {
        Some(layout) => spectrum.with_layout(layout),
        None => spectrum,
    })
}

fn positions(values: &Values) -> Result<Vec<usize>, Refusal> {
    let [start, count, every] = ["start", "count", "every"].map(|name| values.whole(name));
    let last = start + (count - 1) * every;
    if last > MAX_POSITION as usize {
        let name = "the last position, start + (count − 1) · every,";
        let bound = format!("at most {MAX_POSITION}");
        return Err(Refusal::new(name, last.to_string(), bound));
    }
    Ok((0..count).map(|i| start + i * every).collect())
}

pub fn numbers(values: &Values) -> Result<Numbers, Refusal> {
    let spectrum = spectrum(values)?;
    let positions = positions(values)?;
    let chosen = values.whole("position");
    let similarity = positions
        .iter()
        .map(|at| spectrum.similarity(*at as isize - chosen as isize));
    let similarity = similarity.collect::<Result<_, _>>()?;
    let wavelengths = spectrum.wavelengths();
    let (count, span) = (wavelengths.len(), span(&wavelengths));
    let mut facts = vec![format!("Pairs of columns: {count}, {span}.")];
    if spectrum.offset() > 0 {
        facts.push(format!(
            "The first token has the row {} of the table.",
            spectrum.offset()
        ));
    }
    Ok(Numbers {
        facts,
        code: code(values),
        columns: spectrum.d_model(),
        rows: spectrum.rows_at(&positions)?,
        pairs: pairs(&spectrum),
        similarity,
        frequencies: vec![Line::new("ω", spectrum.frequencies())],
        positions,
        ..Numbers::default()
    })
}

/// A few pairs of columns, from the fastest to the slowest: the index, the column of the sine, and that of the
/// cosine if there is one.
fn pairs(spectrum: &Spectrum) -> Vec<(usize, usize, Option<usize>)> {
    let (count, width) = (spectrum.frequencies().len(), spectrum.d_model());
    let columns = |i: usize| {
        let (first, second) = match spectrum.layout() {
            Layout::Interleaved => (2 * i, 2 * i + 1),
            Layout::Halves => (i, count + i),
        };
        let second = (second < width).then_some(second);
        match (spectrum.cos_first(), second) {
            (true, Some(second)) => (i, second, Some(first)),
            _ => (i, first, second),
        }
    };
    some(PAIRS, count).map(columns).collect()
}

/// A program with these settings.
fn code(values: &Values) -> String {
    let (_, formula) = formula(values);
    let tau = match formula.contains("TAU") {
        true => "use std::f64::consts::TAU;\n\n",
        false => "",
    };
    let [d_model, start, count, every] =
        ["d_model", "start", "count", "every"].map(|name| values.whole(name));
    let (import, layout) = match layout(values) {
        Some(layout) => (
            "Layout, ",
            format!("\n        .with_layout(Layout::{layout:?})"),
        ),
        None => ("", String::new()),
    };
    format!(
        "{tau}use burn::tensor::Device;
use pe_burn::{{Formula, {import}PositionError, Spectrum}};
use pe_burn::{{SinusoidalPositionalEncoding, SinusoidalPositionalEncodingConfig}};

const FORMULA: Formula = {formula};

/// Adds positions to embeddings, [batch, seq, {d_model}].
pub fn encoding(device: &Device) -> Result<SinusoidalPositionalEncoding, PositionError> {{
    SinusoidalPositionalEncodingConfig::new({d_model})
        .with_formula(FORMULA){layout}
        .try_init(device)
}}

/// The rows of the picture, one behind the other: {count} × {d_model} numbers.
pub fn rows() -> Result<Vec<f32>, PositionError> {{
    let positions: Vec<usize> = ({start}..).step_by({every}).take({count}).collect();
    Spectrum::new({d_model}, FORMULA)?{layout}
        .rows_at(&positions)
}}
"
    )
}
