//! What ALiBi, T5, KERPLE and FIRE add to the score of a query and a key, over their distance.

use std::collections::BTreeSet;

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use pe_burn::{
    AlibiConfig, AlibiShape, Bias, FireConfig, KerpleConfig, KerpleShape, Positions,
    T5RelativeBiasConfig,
};

use super::super::controls::{Control, Refusal, Values};
use super::numbers::{Line, Numbers, QUERY, REACH, SEED, host, keys, offsets, some};
use crate::draw::colour::MAX_DISTINCT;
use crate::rng::{HostRng, RngExt, generator};

const HEADS: Control = Control::whole("heads", "heads", (1, 64), 8);

pub static ALIBI: [Control; 4] = [
    HEADS,
    Control::choice(
        "shape",
        "keys to the right of the query",
        &[
            ("symmetric", "as far as those to the left: the paper's"),
            ("half_step", "half a step farther"),
        ],
    ),
    QUERY,
    REACH,
];

pub static T5: [Control; 7] = [
    HEADS,
    Control::whole("buckets", "buckets: ranges of distances", (4, 256), 32).by(4),
    Control::whole(
        "max_distance",
        "distances from here on share a bucket",
        (2, 16_384),
        128,
    ),
    Control::choice(
        "sides",
        "keys to the right of the query",
        &[
            ("two", "have buckets of their own: an encoder"),
            ("one", "are masked: a decoder"),
        ],
    ),
    SEED,
    QUERY,
    REACH,
];

pub static KERPLE: [Control; 5] = [
    Control::choice(
        "shape",
        "function of the distance",
        &[("logarithmic", "−r₁ ln(1 + r₂ d)"), ("power", "−r₁ d^r₂")],
    ),
    Control::real("r1", "r₁: how strongly it falls", (0.01, 10.0), 1.0),
    Control::real("r2", "r₂: the scale, or the power", (0.01, 10.0), 1.0),
    QUERY,
    REACH,
];

pub static FIRE: [Control; 7] = [
    HEADS,
    Control::whole("hidden", "hidden width of the network", (1, 128), 32),
    Control::real("c", "c: the scale of distances", (0.001, 10.0), 0.1),
    Control::real(
        "threshold",
        "L: positions below L count as L",
        (1.0, 1e6),
        512.0,
    ),
    SEED,
    QUERY,
    REACH,
];

/// The biases of a module as lines, one for each head; of many heads a few.
fn lines(
    bias: &dyn Bias,
    heads: usize,
    label: impl Fn(usize) -> String,
    values: &Values,
) -> Result<Numbers, Refusal> {
    let offsets = offsets(values);
    let keys = keys(values, &offsets);
    let of_query = Positions::from_id_rows(&[[values.whole("query")]])?;
    let of_keys = Positions::from_id_rows(&[keys.as_slice()])?;
    let biases = bias.try_bias((&of_query, 1), (&of_keys, keys.len()))?;
    let biases = host(biases);
    let of_head = |head: usize| &biases[head * keys.len()..(head + 1) * keys.len()];
    let drawn = some(MAX_DISTINCT, heads);
    let shown = drawn.len();
    let fact = (shown < heads).then(|| format!("{shown} of the {heads} heads are drawn."));
    Ok(Numbers {
        facts: fact.into_iter().collect(),
        lines: drawn
            .map(|head| Line::new(label(head), of_head(head).to_vec()))
            .collect(),
        offsets,
        measure: "bias",
        ..Numbers::default()
    })
}

pub fn alibi(values: &Values) -> Result<Numbers, Refusal> {
    let shape = match values.word("shape") {
        "half_step" => AlibiShape::HalfStep,
        _ => AlibiShape::Symmetric,
    };
    let config = AlibiConfig::new(values.whole("heads")).with_shape(shape);
    let slopes = config.slopes();
    let label = |head: usize| format!("head {head}, slope {:.4}", slopes[head]);
    let alibi = config.try_init(&Device::flex())?;
    let code = format!(
        "use burn::tensor::Device;
use pe_burn::{{Alibi, AlibiConfig, AlibiShape, PositionError}};

/// Biases of attention scores: `alibi.bias((&positions, queries), (&positions, keys))`.
pub fn bias(device: &Device) -> Result<Alibi, PositionError> {{
    AlibiConfig::new({})
        .with_shape(AlibiShape::{shape:?})
        .try_init(device)
}}
",
        config.heads
    );
    Ok(Numbers {
        code,
        ..lines(&alibi, config.heads, label, values)?
    })
}

pub fn t5(values: &Values) -> Result<Numbers, Refusal> {
    let heads = values.whole("heads");
    let (buckets, max_distance) = (values.whole("buckets"), values.whole("max_distance"));
    let two_sides = values.word("sides") == "two";
    let config = T5RelativeBiasConfig::new(heads)
        .with_buckets(buckets)
        .with_max_distance(max_distance)
        .with_bidirectional(two_sides);
    let device = Device::flex();
    let mut t5 = config.try_init(&device)?;
    let mut rng = random(values);
    t5.weight = param([buckets, heads], &mut rng, 0.02 * 3.0_f32.sqrt());
    let code = format!(
        "use burn::tensor::Device;
use pe_burn::{{PositionError, T5RelativeBias, T5RelativeBiasConfig}};

/// Biases of attention scores: `t5.bias((&positions, queries), (&positions, keys))`. The table is trained, or
/// set: `t5.weight`, [{buckets}, {heads}].
pub fn bias(device: &Device) -> Result<T5RelativeBias, PositionError> {{
    T5RelativeBiasConfig::new({heads})
        .with_buckets({buckets})
        .with_max_distance({max_distance})
        .with_bidirectional({two_sides})
        .try_init(device)
}}
"
    );
    let mut numbers = lines(&t5, heads, |head| format!("head {head}"), values)?;
    let buckets_of = numbers.offsets.iter().map(|offset| config.bucket(*offset));
    let used = buckets_of.collect::<BTreeSet<usize>>().len();
    let drawn = format!("The keys that are drawn are in {used} of the {buckets} buckets.");
    numbers.facts.splice(..0, [drawn, BEFORE_TRAINING.into()]);
    Ok(Numbers { code, ..numbers })
}

const BEFORE_TRAINING: &str =
    "The numbers that training would learn are random here, as before a training.";

pub fn kerple(values: &Values) -> Result<Numbers, Refusal> {
    let shape = match values.word("shape") {
        "power" => KerpleShape::Power,
        _ => KerpleShape::Logarithmic,
    };
    let (r1, r2) = (values.real("r1"), values.real("r2"));
    let device = Device::flex();
    let mut kerple = KerpleConfig::new(1).with_shape(shape).try_init(&device)?;
    kerple.r1 = Param::from_tensor(Tensor::from_floats([r1 as f32], &device));
    kerple.r2 = Param::from_tensor(Tensor::from_floats([r2 as f32], &device));
    let code = format!(
        "use burn::module::Param;
use burn::tensor::{{Device, Tensor}};
use pe_burn::{{Kerple, KerpleConfig, KerpleShape, PositionError}};

/// Biases of attention scores: `kerple.bias((&positions, queries), (&positions, keys))`. Both numbers are
/// trained further.
pub fn bias(device: &Device) -> Result<Kerple, PositionError> {{
    let mut kerple = KerpleConfig::new(1)
        .with_shape(KerpleShape::{shape:?})
        .try_init(device)?;
    kerple.r1 = Param::from_tensor(Tensor::from_floats([{r1:?}], device));
    kerple.r2 = Param::from_tensor(Tensor::from_floats([{r2:?}], device));
    Ok(kerple)
}}
"
    );
    let mut numbers = lines(&kerple, 1, |_| "bias".into(), values)?;
    if shape == KerpleShape::Power && r2 > 2.0 {
        numbers.facts.push("Powers above 2 count as 2.".into());
    }
    Ok(Numbers { code, ..numbers })
}

pub fn fire(values: &Values) -> Result<Numbers, Refusal> {
    let (heads, hidden) = (values.whole("heads"), values.whole("hidden"));
    let (c, threshold) = (values.real("c"), values.real("threshold"));
    let config = FireConfig::new(heads)
        .with_hidden(hidden)
        .with_c(c)
        .with_threshold(threshold);
    let device = Device::flex();
    let mut fire = config.try_init(&device)?;
    let mut rng = random(values);
    // Drawn as a linear layer is initialized: up to 1/√inputs.
    let outer = 1.0 / (hidden as f32).sqrt();
    fire.inner.weight = param([1, hidden], &mut rng, 1.0);
    fire.inner.bias = Some(param([hidden], &mut rng, 1.0));
    fire.outer.weight = param([hidden, heads], &mut rng, outer);
    fire.outer.bias = Some(param([heads], &mut rng, outer));
    let code = format!(
        "use burn::tensor::Device;
use pe_burn::{{Fire, FireConfig, PositionError}};

/// Biases of attention scores: `fire.bias((&positions, queries), (&positions, keys))`. The network is trained, or
/// set: `fire.inner` and `fire.outer`.
pub fn bias(device: &Device) -> Result<Fire, PositionError> {{
    FireConfig::new({heads})
        .with_hidden({hidden})
        .with_c({c:?})
        .with_threshold({threshold:?})
        .try_init(device)
}}
"
    );
    let mut numbers = lines(&fire, heads, |head| format!("head {head}"), values)?;
    numbers.facts.insert(0, BEFORE_TRAINING.into());
    Ok(Numbers { code, ..numbers })
}

fn random(values: &Values) -> HostRng {
    generator("explorer", values.whole("seed") as u64, 1)
}

/// A parameter with numbers from `-most` to `most`, drawn on the host: Burn's generator is the whole process's.
fn param<const D: usize>(shape: [usize; D], rng: &mut HostRng, most: f32) -> Param<Tensor<D>> {
    let count = shape.iter().product();
    let numbers: Vec<f32> = (0..count).map(|_| rng.random_range(-most..most)).collect();
    Param::from_tensor(Tensor::from_data(
        TensorData::new(numbers, shape),
        &Device::flex(),
    ))
}
