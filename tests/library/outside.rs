//! Schemes of other crates: whoever implements a hook can use it in place of those of this crate.

use burn::tensor::module::attention;
use burn::tensor::{Device, Tensor};
use pe_burn::{
    AlibiConfig, Bias, Embed, Layout, PositionError, Positional, Positions,
    RotaryPositionalEncodingConfig, Rotate, RotateByRows, SinusoidalPositionalEncodingConfig,
    Spectrum, ToTurn, Tokens, Turned,
};
use pe_encoder::EncoderConfig;
use pe_tests::devices;

use crate::{distance, random, values};

/// Adds its position to every column.
struct Count;

impl Embed for Count {
    fn try_embed(&self, x: Tensor<3>, positions: &Positions) -> Result<Tensor<3>, PositionError> {
        let [_, seq, _] = x.dims();
        let rows = positions.to_rows(seq)?;
        let column: Vec<f32> = rows.concat().iter().map(|p| *p as f32).collect();
        let column = Tensor::<1>::from_data(column.as_slice(), &x.device());
        Ok(x + column.reshape([rows.len(), seq, 1]))
    }
}

/// Negates queries and keys at odd positions.
struct Flip;

impl Flip {
    fn side(&self, side: ToTurn) -> Result<Option<Tensor<4>>, PositionError> {
        let Some((x, positions)) = side else {
            return Ok(None);
        };
        let [_, _, seq, _] = x.dims();
        let rows = positions.to_rows(seq)?;
        let signs = rows
            .concat()
            .into_iter()
            .map(|p| 1.0 - 2.0 * (p % 2) as f32);
        let signs: Vec<f32> = signs.collect();
        let signs = Tensor::<1>::from_data(signs.as_slice(), &x.device());
        Ok(Some(x * signs.reshape([rows.len(), 1, seq, 1])))
    }
}

impl Rotate for Flip {
    fn try_rotate_sides(&self, queries: ToTurn, keys: ToTurn) -> Result<Turned, PositionError> {
        Ok([self.side(queries)?, self.side(keys)?])
    }
}

/// The same bias for every pair, in each of two heads.
struct Constant(Device);

impl Bias for Constant {
    fn try_bias(
        &self,
        (_, queries): Tokens,
        (_, keys): Tokens,
    ) -> Result<Tensor<4>, PositionError> {
        Ok(Tensor::full([1, 2, queries, keys], 0.5, &self.0))
    }
}

/// A layer that is generic over its hooks.
struct Layer<E, R, B> {
    embed: E,
    rotate: R,
    bias: B,
}

impl<E: Embed, R: Rotate, B: Bias> Layer<E, R, B> {
    fn forward(&self, x: Tensor<3>, positions: &Positions) -> Tensor<4> {
        let [batch, seq, d_model] = x.dims();
        let x = self.embed.embed(x, positions);
        let x = x.reshape([batch, seq, 2, d_model / 2]).swap_dims(1, 2);
        let (q, k) = self.rotate.rotate(x.clone(), x.clone(), positions);
        let bias = self.bias.bias((positions, seq), (positions, seq));
        attention(q, k, x, None, Some(bias), Default::default())
    }
}

#[test]
fn a_generic_model_takes_schemes_of_either_crate() {
    for device in devices() {
        let x = random([2, 5, 16], &device);
        let at = Positions::from(3);
        let layer = Layer {
            embed: Count,
            rotate: Flip,
            bias: Constant(device.clone()),
        };
        let outside = layer.forward(x.clone(), &at);
        let layer = Layer {
            embed: SinusoidalPositionalEncodingConfig::new(16).init(&device),
            rotate: RotaryPositionalEncodingConfig::new(8).init(&device),
            bias: AlibiConfig::new(2).init(&device),
        };
        let inside = layer.forward(x, &at);
        assert_eq!(outside.dims(), inside.dims());
        assert!(distance(outside, inside) > 1e-3, "{device:?}");
    }
}

#[test]
fn schemes_of_either_crate_fit_into_a_box() {
    let device = Device::flex();
    let at = Positions::from(3);
    let x = random([2, 2, 4], &device);
    let embeds: [Box<dyn Embed>; 2] = [
        Box::new(Count),
        Box::new(SinusoidalPositionalEncodingConfig::new(4).init(&device)),
    ];
    for scheme in &embeds {
        assert_eq!(scheme.embed(x.clone(), &at).dims(), [2, 2, 4]);
    }
    let counted = embeds[0].embed(Tensor::zeros([1, 2, 2], &device), &at);
    assert_eq!(values(counted), [3.0, 3.0, 4.0, 4.0]);

    let rotates: [Box<dyn Rotate>; 2] = [
        Box::new(Flip),
        Box::new(RotaryPositionalEncodingConfig::new(4).init(&device)),
    ];
    let q = x.reshape([2, 1, 2, 4]);
    for scheme in &rotates {
        let (one, other) = scheme.rotate(q.clone(), q.clone(), &at);
        let queries = scheme.rotate_queries(q.clone(), &at);
        let keys = scheme.rotate_keys(q.clone(), &at);
        let (apart, _) = scheme.rotate_apart((q.clone(), &at), (q.clone(), &Positions::default()));
        assert_eq!(distance(one, queries.clone()), 0.0);
        assert_eq!(distance(other, keys), 0.0);
        assert_eq!(distance(apart, queries), 0.0);
    }
    let flipped = rotates[0].rotate_keys(Tensor::ones([1, 1, 2, 1], &device), &at);
    assert_eq!(values(flipped), [-1.0, 1.0]);

    let biases: [Box<dyn Bias>; 2] = [
        Box::new(Constant(device.clone())),
        Box::new(AlibiConfig::new(2).init(&device)),
    ];
    for scheme in &biases {
        assert_eq!(scheme.bias((&at, 2), (&at, 3)).dims(), [1, 2, 2, 3]);
    }
}

/// RoPE for heads of width 8, by rows on some device; and the bias of [`Constant`].
struct RowsAndConstant {
    rows_on: Option<Device>,
    bias: Constant,
}

impl RotateByRows for RowsAndConstant {
    fn try_rows(
        &self,
        positions: &Positions,
        [_, seq]: [usize; 2],
        device: &Device,
    ) -> Result<Tensor<3>, PositionError> {
        let spectrum = Spectrum::new(8, 1e4)?.with_layout(Layout::Halves);
        let ids = positions.to_rows(seq)?;
        let mut rows = Vec::<f32>::new();
        for id in ids.iter().flatten() {
            rows.extend(spectrum.rows::<f32>(*id..id + 1)?);
        }
        let device = self.rows_on.as_ref().unwrap_or(device);
        let rows = Tensor::<1>::from_data(rows.as_slice(), device);
        Ok(rows.reshape([ids.len(), seq, 8]))
    }
}

impl Positional for RowsAndConstant {
    fn as_rotate(&self) -> Option<&dyn Rotate> {
        Some(self)
    }

    fn as_bias(&self) -> Option<&dyn Bias> {
        Some(&self.bias)
    }
}

fn rows_and_constant(rows_on: Option<Device>, bias_on: &Device) -> RowsAndConstant {
    let bias = Constant(bias_on.clone());
    RowsAndConstant { rows_on, bias }
}

/// A bias that is the same for every pair changes nothing, so the encoder gives what it gives with RoPE alone.
#[test]
fn a_rotation_by_rows_is_rope_on_every_device() {
    for device in devices() {
        let rope = RotaryPositionalEncodingConfig::new(8).init(&device);
        let scheme = rows_and_constant(None, &device);
        let at = Positions::from_starts([3, 1_000]);
        let qkv = random([2, 5, 48], &device);
        let ours = rope.rotate_packed(qkv.clone(), [2, 2], &at);
        let theirs = scheme.rotate_packed(qkv, [2, 2], &at);
        assert_eq!(distance(ours, theirs), 0.0, "{device:?}");

        let device = device.autodiff();
        let encoder = EncoderConfig::new(16, 32, 2, 2).init(&device);
        let x = random([2, 9, 16], &device);
        let run = |scheme: &dyn Positional| {
            let x = x.clone().require_grad();
            let y = encoder.forward(x.clone(), None, scheme, &at);
            let gradients = (y.clone() * y.clone() * y.clone()).sum().backward();
            (y, x.grad(&gradients).expect("a gradient"))
        };
        let (ours, theirs) = (run(&rope), run(&scheme));
        assert!(distance(ours.0, theirs.0) < 2e-5, "{device:?}");
        assert!(distance(ours.1, theirs.1) < 2e-4, "{device:?}");
    }
}

/// It needs two backends in the build, which give two devices.
#[cfg(feature = "ndarray")]
#[test]
fn what_a_scheme_returns_on_another_device_is_refused() {
    let device = Device::flex();
    let encoder = EncoderConfig::new(16, 32, 2, 2).init(&device);
    for other in devices().into_iter().skip(1) {
        for (scheme, words) in [
            (rows_and_constant(None, &other), "the bias is on"),
            (
                rows_and_constant(Some(other.clone()), &device),
                "move one with to_device",
            ),
        ] {
            let x = random([2, 9, 16], &device);
            let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                encoder.forward(x, None, &scheme, &Positions::default())
            }));
            let said = *refused.unwrap_err().downcast::<String>().expect("text");
            assert!(said.contains(words), "{said}");
        }
    }
}
