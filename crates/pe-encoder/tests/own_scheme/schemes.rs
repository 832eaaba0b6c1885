//! The schemes, as a person would write them, each with its formula.

use burn::module::Param;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::activation::{log_sigmoid, softplus};
use burn::tensor::{Device, Distribution, Tensor, TensorData};
use pe_burn::{
    Bias, Embed, ForgetGate, Heads, Layout, PositionError, Positional, Positions, Rotate,
    RotateByRows, ScoreBias, Spectrum, ToTurn, Tokens, Turned, WeightBias,
};

use super::formula::{Formula, Pair};
use crate::{D_HEAD, D_MODEL, HEADS};

/// `f` of the position of every token, `[1 or batch, 1, seq, width]`.
fn of_positions(
    positions: &Positions,
    seq: usize,
    width: usize,
    device: &Device,
    f: impl Fn(usize, usize) -> f64,
) -> Result<Tensor<4>, PositionError> {
    let rows = positions.to_rows(seq)?;
    let ids = rows.iter().flatten();
    let values = ids.flat_map(|id| {
        (0..width)
            .map(|column| f(*id, column) as f32)
            .collect::<Vec<_>>()
    });
    let data = TensorData::new(values.collect::<Vec<f32>>(), [rows.len(), 1, seq, width]);
    Ok(Tensor::from_data(data, device))
}

/// The positions of the queries minus those of the keys, `[1 or batch, 1, queries, keys]`.
fn distances(
    (queries, count): Tokens,
    (keys, of_keys): Tokens,
    device: &Device,
) -> Result<Tensor<4>, PositionError> {
    let queries = of_positions(queries, count, 1, device, |id, _| id as f64)?;
    let keys = of_positions(keys, of_keys, 1, device, |id, _| id as f64)?;
    Ok(queries - keys.swap_dims(2, 3))
}

/// A factor once for the first head, twice for the second, and so on, `[1, heads, 1, 1]`.
fn by_head(factor: f32) -> Tensor<4> {
    let factors: Vec<f32> = (1..=HEADS).map(|head| factor * head as f32).collect();
    Tensor::<1>::from_floats(&factors[..], &Device::flex()).reshape([1, HEADS, 1, 1])
}

/// The speed of a pair in radians per position.
fn speed(pair: usize) -> f64 {
    1e4_f64.powf(-2.0 * pair as f64 / D_HEAD as f64)
}

/// RoPE, by the rows of a spectrum.
pub struct ByRows;

impl RotateByRows for ByRows {
    fn try_rows(
        &self,
        positions: &Positions,
        [_, seq]: [usize; 2],
        device: &Device,
    ) -> Result<Tensor<3>, PositionError> {
        let spectrum = Spectrum::new(D_HEAD, 1e4)?.with_layout(Layout::Halves);
        let ids = positions.to_rows(seq)?;
        let mut rows = Vec::<f32>::new();
        for id in ids.iter().flatten() {
            rows.extend(spectrum.rows::<f32>(*id..id + 1)?);
        }
        let data = TensorData::new(rows, [ids.len(), seq, D_HEAD]);
        Ok(Tensor::from_data(data, device))
    }
}

impl Positional for ByRows {
    fn as_rotate(&self) -> Option<&dyn Rotate> {
        Some(self)
    }
}

impl Formula for ByRows {
    fn turned(&self, x: &[f64], position: usize, _: bool) -> Vec<f64> {
        let pairs = x.chunks(2).enumerate();
        let pair = |(i, pair): (usize, &[f64])| {
            let (sin, cos) = (position as f64 * speed(i)).sin_cos();
            [pair[0] * cos - pair[1] * sin, pair[0] * sin + pair[1] * cos]
        };
        pairs.flat_map(pair).collect()
    }
}

/// RoPE of halves, by Burn's operations.
pub struct ByHand;

impl Rotate for ByHand {
    fn try_rotate_sides(&self, queries: ToTurn, keys: ToTurn) -> Result<Turned, PositionError> {
        let side = |(x, positions): (Tensor<4>, &Positions)| {
            let ([_, _, seq, width], device) = (x.dims(), x.device());
            let pairs = width / 2;
            let angle = |id, pair| id as f64 * speed(pair);
            let sin = of_positions(positions, seq, pairs, &device, |id, i| angle(id, i).sin())?;
            let cos = of_positions(positions, seq, pairs, &device, |id, i| angle(id, i).cos())?;
            let (a, b) = (x.clone().narrow(3, 0, pairs), x.narrow(3, pairs, pairs));
            let first = a.clone() * cos.clone() - b.clone() * sin.clone();
            Ok(Tensor::cat(vec![first, a * sin + b * cos], 3))
        };
        Ok([queries.map(side).transpose()?, keys.map(side).transpose()?])
    }
}

impl Positional for ByHand {
    fn as_rotate(&self) -> Option<&dyn Rotate> {
        Some(self)
    }
}

impl Formula for ByHand {
    fn turned(&self, x: &[f64], position: usize, _: bool) -> Vec<f64> {
        let (a, b) = x.split_at(x.len() / 2);
        let turned = |i: usize| (position as f64 * speed(i)).sin_cos();
        let firsts = (0..a.len()).map(|i| a[i] * turned(i).1 - b[i] * turned(i).0);
        let seconds = (0..a.len()).map(|i| a[i] * turned(i).0 + b[i] * turned(i).1);
        firsts.chain(seconds).collect()
    }
}

/// A tenth of the sine of the distance, more in later heads, added to weights after the softmax.
pub struct AfterSoftmax;

impl WeightBias for AfterSoftmax {
    fn try_weight_bias(&self, queries: Tokens, keys: Tokens) -> Result<Tensor<4>, PositionError> {
        Ok(distances(queries, keys, &Device::flex())?.sin() * by_head(0.1))
    }
}

impl Positional for AfterSoftmax {
    fn as_weight_bias(&self) -> Option<&dyn WeightBias> {
        Some(self)
    }
}

impl Formula for AfterSoftmax {
    fn added_to_weight(&self, pair: &Pair<'_>) -> f64 {
        let [query, key] = pair.positions;
        0.1 * (pair.head + 1) as f64 * (query as f64 - key as f64).sin()
    }
}

/// Minus a tenth of the distance, more in later heads.
pub struct Ramp;

impl Bias for Ramp {
    fn try_bias(&self, queries: Tokens, keys: Tokens) -> Result<Tensor<4>, PositionError> {
        Ok(distances(queries, keys, &Device::flex())?.abs() * by_head(-0.1))
    }
}

impl Positional for Ramp {
    fn as_bias(&self) -> Option<&dyn Bias> {
        Some(self)
    }
}

impl Formula for Ramp {
    fn added(&self, pair: &Pair<'_>) -> f64 {
        let [query, key] = pair.positions;
        -0.1 * (pair.head + 1) as f64 * query.abs_diff(key) as f64
    }
}

/// The first column of the query times the sine of the distance.
pub struct Content;

impl ScoreBias for Content {
    fn try_score_bias(
        &self,
        (q, queries): Heads,
        (k, keys): Heads,
    ) -> Result<Tensor<4>, PositionError> {
        let counts = [q, k].map(|x| x.dims()[2]);
        let distances = distances((queries, counts[0]), (keys, counts[1]), &q.device())?;
        Ok(q.clone().narrow(3, 0, 1) * distances.sin())
    }
}

impl Positional for Content {
    fn as_score_bias(&self) -> Option<&dyn ScoreBias> {
        Some(self)
    }
}

impl Formula for Content {
    fn added(&self, pair: &Pair<'_>) -> f64 {
        let [query, key] = pair.positions.map(|position| position as f64);
        pair.q[0] * (query - key).sin()
    }
}

/// A scheme that acts at two places: the rotation of [`ByRows`] and the bias of [`Ramp`].
pub struct RotateAndBias;

impl Positional for RotateAndBias {
    fn as_rotate(&self) -> Option<&dyn Rotate> {
        Some(&ByRows)
    }

    fn as_bias(&self) -> Option<&dyn Bias> {
        Some(&Ramp)
    }
}

impl Formula for RotateAndBias {
    fn turned(&self, x: &[f64], position: usize, is_key: bool) -> Vec<f64> {
        ByRows.turned(x, position, is_key)
    }

    fn added(&self, pair: &Pair<'_>) -> f64 {
        Ramp.added(pair)
    }
}

/// A bias by positions alone and one by content.
pub struct TwoBiases;

impl Positional for TwoBiases {
    fn as_bias(&self) -> Option<&dyn Bias> {
        Some(&Ramp)
    }

    fn as_score_bias(&self) -> Option<&dyn ScoreBias> {
        Some(&Content)
    }
}

impl Formula for TwoBiases {
    fn added(&self, pair: &Pair<'_>) -> f64 {
        Ramp.added(pair) + Content.added(pair)
    }
}

/// FoX, the forgetting transformer, with a linear layer of gates for each layer of the model.
#[derive(Clone)]
pub struct Fox {
    pub layers: Vec<Linear>,
    /// For the formula: which number of the weight of layer 1 is larger than it is, and by how much.
    shift: (usize, f64),
}

impl Fox {
    pub fn init(layers: usize, device: &Device) -> Self {
        let layer = |_| LinearConfig::new(D_MODEL, HEADS).init(device);
        Self {
            layers: (0..layers).map(layer).collect(),
            shift: (0, 0.0),
        }
    }

    pub fn shifted(&self, number: usize, by: f64) -> Self {
        let (layers, shift) = (self.layers.clone(), (number, by));
        Self { layers, shift }
    }
}

impl ForgetGate for Fox {
    fn try_log_gates(&self, layer: usize, x: Tensor<3>) -> Result<Tensor<3>, PositionError> {
        let linear = self.layers.get(layer).ok_or(PositionError::Config {
            reason: format!("there are no gates for layer {layer}").into(),
        })?;
        Ok(log_sigmoid(linear.forward(x)).swap_dims(1, 2))
    }
}

impl Positional for Fox {
    fn as_forget_gate(&self) -> Option<&dyn ForgetGate> {
        Some(self)
    }
}

impl Formula for Fox {
    fn added(&self, pair: &Pair<'_>) -> f64 {
        let linear = &self.layers[1];
        let mut weight: Vec<f64> = linear.weight.val().into_data().iter().collect();
        weight[self.shift.0] += self.shift.1;
        let bias: Vec<f64> = linear
            .bias
            .as_ref()
            .unwrap()
            .val()
            .into_data()
            .iter()
            .collect();
        let of_head = || weight.iter().skip(pair.head).step_by(HEADS);
        let [query, key] = pair.tokens;
        let log_gate = |x: &&[f64]| {
            let products = x.iter().zip(of_head()).map(|(x, w)| x * w);
            -(1.0 + (-(bias[pair.head] + products.sum::<f64>())).exp()).ln()
        };
        pair.inputs[key + 1..=query].iter().map(log_gate).sum()
    }
}

/// PoPE: a column is the length of a vector whose direction follows from the position.
#[derive(Clone)]
pub struct Pope {
    /// The phases of the keys, `[d_head]`.
    pub delta: Param<Tensor<1>>,
    /// For the formula, as that of [`Fox`].
    shift: (usize, f64),
}

impl Pope {
    pub fn init(device: &Device) -> Self {
        let delta = Tensor::random([D_HEAD], Distribution::Uniform(-3.0, 0.0), device);
        let (delta, shift) = (Param::from_tensor(delta), (0, 0.0));
        Self { delta, shift }
    }

    pub fn shifted(&self, number: usize, by: f64) -> Self {
        let (delta, shift) = (self.delta.clone(), (number, by));
        Self { delta, shift }
    }

    fn side(
        &self,
        (x, positions): (Tensor<4>, &Positions),
        phases: Option<Tensor<1>>,
    ) -> Result<Tensor<4>, PositionError> {
        let ([_, _, seq, width], device) = (x.dims(), x.device());
        let mut angles = of_positions(positions, seq, width, &device, |id, column| {
            id as f64 * Self::speed(column)
        })?;
        if let Some(phases) = phases {
            angles = angles + phases.reshape([1, 1, 1, width]);
        }
        let length = softplus(x, 1.0);
        let columns = vec![length.clone() * angles.clone().cos(), length * angles.sin()];
        Ok(Tensor::cat(columns, 3))
    }

    fn speed(column: usize) -> f64 {
        1e4_f64.powf(-(column as f64) / D_HEAD as f64)
    }
}

impl Rotate for Pope {
    fn width(&self, d_head: usize) -> usize {
        2 * d_head
    }

    fn try_rotate_sides(&self, queries: ToTurn, keys: ToTurn) -> Result<Turned, PositionError> {
        let queries = queries.map(|side| self.side(side, None)).transpose()?;
        let keys = keys.map(|side| self.side(side, Some(self.delta.val())));
        Ok([queries, keys.transpose()?])
    }
}

impl Positional for Pope {
    fn as_rotate(&self) -> Option<&dyn Rotate> {
        Some(self)
    }
}

impl Formula for Pope {
    fn turned(&self, x: &[f64], position: usize, is_key: bool) -> Vec<f64> {
        let mut delta: Vec<f64> = self.delta.val().into_data().iter().collect();
        delta[self.shift.0] += self.shift.1;
        let angle = |column: usize| {
            let phase = if is_key { delta[column] } else { 0.0 };
            position as f64 * Self::speed(column) + phase
        };
        let length = |column: usize| x[column].exp().ln_1p();
        let cosines = (0..x.len()).map(|column| length(column) * angle(column).cos());
        let sines = (0..x.len()).map(|column| length(column) * angle(column).sin());
        cosines.chain(sines).collect()
    }
}

/// A rotation, both biases and a forget gate.
pub struct All<R> {
    pub rotation: R,
    pub fox: Fox,
}

impl<R: Rotate> Positional for All<R> {
    fn as_rotate(&self) -> Option<&dyn Rotate> {
        Some(&self.rotation)
    }

    fn as_bias(&self) -> Option<&dyn Bias> {
        Some(&Ramp)
    }

    fn as_score_bias(&self) -> Option<&dyn ScoreBias> {
        Some(&Content)
    }

    fn as_forget_gate(&self) -> Option<&dyn ForgetGate> {
        Some(&self.fox)
    }
}

impl<R: Formula> Formula for All<R> {
    fn turned(&self, x: &[f64], position: usize, is_key: bool) -> Vec<f64> {
        self.rotation.turned(x, position, is_key)
    }

    fn added(&self, pair: &Pair<'_>) -> f64 {
        TwoBiases.added(pair) + self.fox.added(pair)
    }
}

/// Abacus: a row of a table for the place of a digit in its number, which the tokens say.
pub struct DigitPlaces {
    /// `[places, d_model]`
    pub table: Tensor<2>,
}

impl DigitPlaces {
    /// 1, 2, 3, … in a run of digits, which are the tokens below 10, and 0 elsewhere.
    pub fn places(tokens: &[usize]) -> Vec<usize> {
        let next = |place: &mut usize, token: &usize| {
            *place = if *token < 10 { *place + 1 } else { 0 };
            Some(*place)
        };
        tokens.iter().scan(0, next).collect()
    }
}

impl Embed for DigitPlaces {
    fn try_embed(&self, x: Tensor<3>, positions: &Positions) -> Result<Tensor<3>, PositionError> {
        let [_, seq, d_model] = x.dims();
        let rows = positions.to_rows(seq)?;
        let ids: Vec<i64> = rows.iter().flatten().map(|id| *id as i64).collect();
        let ids = Tensor::from_data(TensorData::new(ids, [rows.len() * seq]), &x.device());
        Ok(x + self
            .table
            .clone()
            .select(0, ids)
            .reshape([rows.len(), seq, d_model]))
    }
}

impl Positional for DigitPlaces {
    fn as_embed(&self) -> Option<&dyn Embed> {
        Some(self)
    }
}
