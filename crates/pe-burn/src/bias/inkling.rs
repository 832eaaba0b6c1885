//! The relative logits of Inkling.

use alloc::vec;
use alloc::vec::Vec;

use burn::module::{Initializer, Module, Param};
use burn::tensor::{Device, Tensor};

use super::HiddenBias;
use super::content::with_rows;
use super::distances::Distances;
use super::table::small;
use crate::backend::memory::{check_room, check_shape_on};
use crate::config::{config, module};
use crate::error::{PositionError, check_number, check_size, check_width, of_layer};
use crate::layout::share_of_heads;
use crate::positions::{Positions, Tokens};
use crate::tensor::{cast, check_device, check_parameter, compute_dtype, dequantized, matrix};

/// The largest `extent`: a layer has a column for every distance up to it.
const MAX_EXTENT: usize = 1 << 20;

/// What cannot take times, for the error.
const WHAT: &str = "Inkling's table of distances";

config! {
    /// The configuration of an [`Inkling`].
    pub struct InklingConfig {
        /// The width of a token's vector, a multiple of `heads`.
        d_model: usize,
        /// The number of heads of the queries.
        heads: usize,
        /// The number of layers of the model, each of which has weights of its own.
        layers: usize,
    }

    /// The relative logits of `layers` layers; every option as in Inkling's layers that attend to all tokens.
    new;

    /// The number of profiles that a query mixes. A profile has a trained number for each distance. Default: 16.
    d_rel: usize = 16,
    with_d_rel;

    /// The number of distances that get a bias, including 0, the token itself. Farther keys get none. Default: 1024.
    extent: usize = 1024,
    with_extent;

    /// The initial weights. Default: N(0, 0.02).
    init: Initializer = small(),
    with_init;
}

impl InklingConfig {
    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a number that is out of bounds, and [`TooLarge`](PositionError::TooLarge) when the
    /// weights do not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<Inkling, PositionError> {
        let Self { d_model, heads, .. } = *self;
        share_of_heads("d_model", d_model, heads)?;
        for (name, size) in [
            ("d_model", d_model),
            ("layers", self.layers),
            ("d_rel", self.d_rel),
            ("extent", self.extent),
        ] {
            check_size(name, size)?;
        }
        let fits = self.extent <= MAX_EXTENT;
        check_number(fits, "extent", self.extent, "at most 1048576")?;
        let columns = heads.saturating_mul(self.d_rel);
        let rows = d_model.saturating_add(self.extent);
        check_room::<f32>(self.layers.saturating_mul(rows), columns)?;
        let layer = |_| RelativeLogits {
            mix: matrix(&self.init, [d_model, columns], device),
            profiles: matrix(&self.init, [self.d_rel, self.extent], device),
        };
        Ok(Inkling {
            layers: (0..self.layers).map(layer).collect(),
            config: self.clone(),
        })
    }
}

module!(InklingConfig => Inkling { d_model, heads, layers, d_rel, extent });

/// The relative logits of [Inkling](https://huggingface.co/thinkingmachines/Inkling) (Thinking Machines, 2026), which has no
/// other positions: every token mixes a few trained profiles, which say how much each distance to the left counts.
///
/// ```text
/// bias(head, i, j) = (x_i R_head) · P[:, i − j]       for 0 ≤ i − j < extent, and 0 for all other keys
/// ```
///
/// Made by [`InklingConfig`]; one module serves all layers with the same extent. The published model has two extents, of layers with full
/// attention and of those with a sliding window, so it needs two modules.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::content::InklingConfig;
/// use pe_burn::{HiddenBias, Positions};
///
/// let device = Device::flex();
/// let inkling = InklingConfig::new(512, 8, 6).init(&device); // d_model, heads, layers
/// let x = Tensor::<3>::random([2, 100, 512], Distribution::Default, &device); // what layer 0 projects
/// let at = Positions::default();
/// let bias = inkling.hidden_bias(0, (&x, &at), (&at, 100)); // [batch, heads, queries, keys]
/// assert_eq!(bias.dims(), [2, 8, 100, 100]);
/// ```
///
/// - **Sides.** Keys to the right of a query get nothing: it was made for causal attention.
/// - **Weights.** A layer has `r_proj` (transposed) and `rel_logits_proj.proj` of `InklingAttention` in transformers. That model
///   also normalizes queries and keys, divides their products by `d_head` and scales scores by the length; this is its bias alone.
/// - **Positions.** Distances are whole numbers, so that times are refused.
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "relative logits")]
pub struct Inkling {
    /// The weights of each layer of the model.
    pub layers: Vec<RelativeLogits>,
    #[module(skip)]
    config: InklingConfig,
}

/// The weights of one layer of [`Inkling`].
#[derive(Module, Debug)]
pub struct RelativeLogits {
    /// R, how much of each profile a token mixes in each head: `[d_model, heads · d_rel]`.
    pub mix: Param<Tensor<2>>,
    /// P, the profiles of distances: `[d_rel, extent]`.
    pub profiles: Param<Tensor<2>>,
}

impl HiddenBias for Inkling {
    fn try_hidden_bias(
        &self,
        layer: usize,
        (x, queries): (&Tensor<3>, &Positions),
        (keys, k_seq): Tokens,
    ) -> Result<Tensor<4>, PositionError> {
        let InklingConfig {
            d_model,
            heads,
            d_rel,
            extent,
            ..
        } = self.config;
        let weights = of_layer(&self.layers, layer, "weights")?;
        let [batch, q_seq, width] = x.dims();
        check_width("d_model", d_model, width)?;
        let (mix, profiles) = (weights.mix.val(), weights.profiles.val());
        check_parameter("mix", mix.dims(), [d_model, heads * d_rel])?;
        check_parameter("profiles", profiles.dims(), [d_rel, extent])?;
        let device = mix.device();
        check_device(x, &device)?;
        let q_at = queries.lookup(Some(batch), q_seq)?;
        let k_at = keys.lookup(Some(batch), k_seq)?;
        let (mix, profiles) = (dequantized(mix), dequantized(profiles));
        let dtype = compute_dtype(mix.dtype().into());
        let shape = [batch, heads, q_seq, k_seq];
        if shape.contains(&0) {
            return Ok(Tensor::zeros(shape, (&device, x.dtype())));
        }
        let columns = k_seq.max(extent.saturating_add(2));
        check_shape_on(&device, [batch, heads, q_seq, columns])?;
        let mixed = cast(x.clone(), dtype).matmul(cast(mix, dtype).unsqueeze());
        let mixed = mixed.reshape([batch, q_seq, heads, d_rel]).swap_dims(1, 2);
        // The range of distances, key minus query, that occur and have a column.
        let distances = Distances::new(&q_at, &k_at, &device)?;
        let (first, last) = distances.part_of((1 - extent as i64, 0));
        let (nearest, farthest) = (-last as usize, -first as usize);
        let profiles = profiles.narrow(1, nearest, farthest - nearest + 1);
        // The rows of the table, from the farthest key to the nearest, with a row of zeros at both ends for all keys
        // beyond.
        let none = Tensor::zeros([1, d_rel], (&device, dtype.into()));
        let by_distance = cast(profiles, dtype).transpose().flip([0]);
        let table = Tensor::cat(vec![none.clone(), by_distance, none], 0);
        let rows = distances.rows_within((first - 1, last + 1), WHAT, &device)?;
        let bias = with_rows((mixed, Some(table.unsqueeze())), None, 0.0, rows);
        Ok(cast(bias, x.dtype().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use burn::tensor::FloatDType;

    use crate::testing::{refused, values};

    #[test]
    fn bad_input_is_refused_with_its_value_and_bound() {
        let device = Device::flex();
        let good = || InklingConfig::new(8, 2, 1);
        refused! {
            InklingConfig::new(9, 2, 1) => "… heads, 2; got 9",
            InklingConfig::new(8, 2, 0) => "layers must be at least 1; got 0",
            good().with_d_rel(0) => "d_rel must be at least 1; got 0",
            good().with_extent(0) => "extent must be at least 1; got 0",
            good().with_extent(MAX_EXTENT + 1) => "extent must be at most 1048576; got 1048577",
        }
        let inkling = good().init(&device);
        let at = Positions::default();
        let of_width = |width| Tensor::<3>::zeros([1, 3, width], &device);
        let times = Positions::from_time_rows(&[[0.0, 0.5, 2.0]]).unwrap();
        refused! {
            |bad| inkling.try_hidden_bias(bad.0, (&of_width(bad.1), &at), (bad.2, 3));
            (1, 8, &at) => "… layer must be below 1 …",
            (0, 9, &at) => "… d_model 9 …",
            (0, 8, &times) => "… Inkling's table …",
        }
    }

    /// One head and one profile, so that the bias is a token times a number of the profile.
    #[test]
    fn distances_to_the_left_count_up_to_the_extent() {
        let device = Device::flex();
        let mut inkling = InklingConfig::new(1, 1, 1).with_d_rel(1).with_extent(2);
        inkling.init = Initializer::Ones;
        let mut inkling = inkling.init(&device);
        inkling.layers[0].profiles =
            Param::from_tensor(Tensor::from_floats([[10.0, 20.0]], &device));
        let x = Tensor::<3>::from_floats([[[1.0], [2.0]]], &device);
        let bias = inkling.hidden_bias(0, (&x, &Positions::from(2)), (&Positions::default(), 5));
        // Distances 2 to −2, and 3 to −1.
        let expected = [[0.0, 20.0, 10.0, 0.0, 0.0], [0.0, 0.0, 40.0, 20.0, 0.0]];
        assert_eq!(values(bias), expected.concat());
        // Scores in half precision take no bias in `f32`.
        let half = x.cast(FloatDType::F16);
        for seq in [5, 0] {
            let keys = (&Positions::default(), seq);
            let bias = inkling.hidden_bias(0, (&half, &Positions::from(2)), keys);
            assert_eq!((bias.dtype(), bias.dims()[3]), (half.dtype(), seq));
        }
    }
}
