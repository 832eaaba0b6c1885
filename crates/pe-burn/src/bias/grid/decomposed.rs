//! Decomposed relative positions of two axes: SAM, MViTv2.

#[cfg(feature = "checkpoint")]
use std::path::Path;

use alloc::vec;
use alloc::vec::Vec;

use burn::module::{Initializer, Module, Param};
use burn::tensor::{Bool, Device, Tensor, TensorData};

use super::window::{Cells, cells, check_window};
use crate::backend::memory::check_room;
use crate::bias::content::{of_heads, pick_each, score_bias, with_rows};
use crate::bias::table::zeros;
use crate::bias::{Heads, ScoreBias};
#[cfg(feature = "checkpoint")]
use crate::checkpoint::{CheckpointError, parameter};
use crate::config::{config, module};
use crate::error::{PositionError, check_size};
use crate::interpolate::linear;
use crate::tensor::{check_parameter, dequantized, indices_in, matrix};

config! {
    /// The configuration of a [`DecomposedRelativeBias`].
    pub struct DecomposedRelativeBiasConfig {
        /// The width of a head, at least 1.
        d_head: usize,
        /// The height and the width of the grid that the tables are for, at least 1 each: that of the queries or of the
        /// keys, whichever is larger.
        window: [usize; 2],
    }

    /// Tables for heads of width `d_head` and a grid of `[height, width]`; every option at its default.
    new;

    /// The initial vectors. Default: zeros, as in SAM.
    init: Initializer = zeros(),
    with_init;
}

impl DecomposedRelativeBiasConfig {
    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a `d_head` of 0 and for a window that is out of bounds,
    /// [`TooLarge`](PositionError::TooLarge) when a table does not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<DecomposedRelativeBias, PositionError> {
        let tables = self.shapes()?;
        let [rows, columns] = tables.map(|shape| matrix(&self.init, shape, device));
        let config = self.clone();
        Ok(DecomposedRelativeBias {
            rows,
            columns,
            config,
        })
    }

    /// Builds the module with the tables of a trained model, from a safetensors file or a PyTorch one; the
    /// content tells which. `name` is what the names `….rel_pos_h` and `….rel_pos_w` begin with. `init` is
    /// not used.
    ///
    /// | model | name of the attention, for each layer |
    /// |---|---|
    /// | SAM in transformers | `vision_encoder.layers.0.attn` |
    /// | SAM in its own code | `image_encoder.blocks.0.attn` |
    /// | SAM in timm | `blocks.0.attn` |
    /// | MViTv2 in timm | `stages.0.blocks.0.attn` |
    ///
    /// # Errors
    ///
    /// [`CheckpointError`], with what is wrong in the file, or with what [`try_init`](Self::try_init) refuses.
    #[cfg(feature = "checkpoint")]
    pub fn init_from_file(
        &self,
        path: impl AsRef<Path>,
        name: &str,
        device: &Device,
    ) -> Result<DecomposedRelativeBias, CheckpointError> {
        let path = path.as_ref();
        let [rows, columns] = self.shapes()?;
        let table = |axis: &str, shape, meaning| {
            let name = std::format!("{name}.rel_pos_{axis}");
            parameter(path, &name, shape, meaning, device)
        };
        let rows = table("h", rows, "2 height − 1 of the window, and d_head")?;
        let columns = table("w", columns, "2 width − 1 of the window, and d_head")?;
        let config = self.clone();
        Ok(DecomposedRelativeBias {
            rows,
            columns,
            config,
        })
    }

    /// The shapes of the tables, checked.
    fn shapes(&self) -> Result<[[usize; 2]; 2], PositionError> {
        check_size("d_head", self.d_head)?;
        check_window("window", self.window, 1)?;
        for side in self.window {
            check_room::<f32>(2 * side - 1, self.d_head)?;
        }
        Ok(self.window.map(|side| [2 * side - 1, self.d_head]))
    }
}

module!(DecomposedRelativeBiasConfig => DecomposedRelativeBias { d_head, window });

/// Decomposed relative positions: the product of a query with a trained vector for the distance in rows,
/// plus its product with one for the distance in columns. Li et al., [*MViTv2: Improved Multiscale Vision
/// Transformers for Classification and Detection*](https://arxiv.org/abs/2112.01526), 2022, §4.1; without the
/// third axis, as in SAM and ViTDet.
///
/// ```text
/// bias(i, j) = q_i · (rows[y_i − y_j + height − 1] + columns[x_i − x_j + width − 1])
/// ```
///
/// for query i at row y_i and column x_i, key j likewise. All heads share the tables. Made by
/// [`DecomposedRelativeBiasConfig`].
///
/// ```
/// use burn::tensor::activation::softmax;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::grid::DecomposedRelativeBiasConfig;
/// use pe_burn::{Grid, Positions, ScoreBias};
///
/// let device = Device::flex();
/// let sam = DecomposedRelativeBiasConfig::new(64, [14, 14]).init(&device);
/// let [q, k, v] = [(); 3].map(|()| Tensor::<4>::random([1, 8, 196, 64], Distribution::Default, &device));
/// let window = Positions::from(Grid::image(14, 14));
/// let bias = sam.score_bias((&q, &window), (&k, &window)); // [batch, heads, queries, keys]
/// let y = softmax(q.matmul(k.transpose()) / 8.0 + bias, 3).matmul(v);
/// assert_eq!(y.dims(), [1, 8, 196, 64]);
/// ```
///
/// - **Scale.** As in the code of both models the query is not scaled here, though it is in its product
///   with the key.
/// - **Other sizes.** Where the larger grid of queries and keys is not that of the tables, they are
///   interpolated linearly to its size in every call, as in SAM; gradients reach the tables through that.
///   Queries on a coarser grid than keys, or the reverse, as in layers of MViTv2 that pool, are spread over
///   the finer one: a coordinate is multiplied by the quotient of the sizes, and the difference is rounded
///   towards 0.
/// - **Positions** are on a [`Grid`](crate::Grid) of height and width, whole or in part
///   ([`from_grid_ids`](crate::Positions::from_grid_ids)). Pairs with a prefix token get 0, as those with the class
///   token of MViTv2 do.
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "rel_pos_h")]
pub struct DecomposedRelativeBias {
    /// `[2 height − 1, d_head]`, as `rel_pos_h` of SAM's checkpoints.
    pub rows: Param<Tensor<2>>,
    /// `[2 width − 1, d_head]`, as `rel_pos_w` of SAM's checkpoints.
    pub columns: Param<Tensor<2>>,
    #[module(skip)]
    config: DecomposedRelativeBiasConfig,
}

impl ScoreBias for DecomposedRelativeBias {
    fn try_score_bias(&self, queries: Heads, keys: Heads) -> Result<Tensor<4>, PositionError> {
        let sizes = (None, self.config.d_head);
        let device = self.rows.lazy_device();
        score_bias(queries, keys, sizes, &device, |[(q, q_at), (_, k_at)]| {
            let device = device.clone().without_autodiff();
            let [rows, columns] = self.config.shapes()?;
            check_parameter("rows", self.rows.lazy_shape().dims(), rows)?;
            check_parameter("columns", self.columns.lazy_shape().dims(), columns)?;
            let (q_grid, _) = q_at.on_image()?;
            let (k_grid, key_ids) = k_at.on_image()?;
            let from = [q_grid.height(), q_grid.width()];
            let to = [k_grid.height(), k_grid.width()];
            let [batch, heads, q_seq, d_head] = q.dims();
            if from.contains(&0) || to.contains(&0) {
                // Prefix tokens alone.
                return Ok(Tensor::zeros(
                    [batch, heads, q_seq, k_at.seq],
                    (&q.device(), q.dtype()),
                ));
            }
            for size in [from, to] {
                check_window("the grid of queries and keys", size, d_head)?;
            }
            let q_cells = cells(&q_at, q_at.batch, 1)?;
            let [by_row, by_column] = [(0, &self.rows), (1, &self.columns)].map(|(axis, table)| {
                let places = places(&q_cells, axis);
                let entries = entries(places, from[axis], to[axis]);
                let entries = indices_in(&entries, [q_at.batch, q_seq, to[axis]], &device);
                let table = dequantized(table.val()).cast(q.dtype());
                let table = fitted(table, 2 * from[axis].max(to[axis]) - 1);
                with_rows((q.clone(), Some(table.unsqueeze())), None, 0.0, entries)
            });
            let (bias, key_prefix) = match key_ids {
                None => (of_grid([by_row, by_column], k_grid.prefix()), None),
                Some(_) => {
                    let k_cells = cells(&k_at, k_at.batch, 1)?;
                    let of = |by: Tensor<4>, axis: usize| {
                        let places = places(&k_cells, axis).map(|place| place as usize);
                        let places: Vec<usize> = places.collect();
                        let places = indices_in(&places, [k_at.batch, 1, k_at.seq], &device);
                        let places = places.expand([k_at.batch, q_seq, k_at.seq]);
                        pick_each(by, of_heads(places, batch, heads))
                    };
                    let prefix = prefix(&k_cells, [k_at.batch, 1, 1, k_at.seq], &device);
                    (of(by_row, 0) + of(by_column, 1), prefix)
                }
            };
            let query_prefix = prefix(&q_cells, [q_at.batch, 1, q_seq, 1], &device);
            let masks = [key_prefix, query_prefix].into_iter().flatten();
            Ok(masks.fold(bias, |bias, mask| {
                let shape = bias.dims();
                bias.mask_fill(mask.expand(shape), 0.0)
            }))
        })
    }
}

/// The rows (axis 0) or columns (axis 1) of tokens; 0 for prefix tokens.
fn places(cells: &Cells, axis: usize) -> impl Iterator<Item = i64> {
    (cells.iter()).map(move |cell| cell.map_or(0, |cell| cell[axis]))
}

/// The biases of all keys of a grid, each the sum of the bias of its row and that of its column,
/// `[batch, heads, queries, side]`. Prefix tokens come first, with 0.
fn of_grid([by_row, by_column]: [Tensor<4>; 2], prefix: usize) -> Tensor<4> {
    let [batch, heads, queries, height] = by_row.dims();
    let [_, _, _, width] = by_column.dims();
    let sum = by_row.unsqueeze_dim::<5>(4) + by_column.unsqueeze_dim::<5>(3);
    let bias = sum.reshape([batch, heads, queries, height * width]);
    if prefix == 0 {
        return bias;
    }
    let options = (&bias.device(), bias.dtype());
    let zeros = Tensor::zeros([batch, heads, queries, prefix], options);
    Tensor::cat(vec![zeros, bias], 3)
}

/// The table row for each query, which is at one of `from` places, with a key at each of `to` places. Computed in `f32`,
/// as in SAM's own code: where sizes do not divide each other, a product may be just below a whole number.
fn entries(queries: impl Iterator<Item = i64>, from: usize, to: usize) -> Vec<usize> {
    let spread = |size: usize, other: usize| (other as f64 / size as f64).max(1.0);
    let of_query = spread(from, to) as f32;
    let (of_key, last) = (spread(to, from), (to - 1) as f64);
    let entry = move |query: i64, key: usize| {
        let apart = query as f32 * of_query - key as f32 * of_key as f32;
        (apart + (last * of_key) as f32) as usize
    };
    let keys = move |query: i64| (0..to).map(move |key| entry(query, key));
    queries.flat_map(keys).collect()
}

/// A table with another number of rows.
fn fitted(table: Tensor<2>, rows: usize) -> Tensor<2> {
    let [old, _] = table.dims();
    if rows == old {
        return table;
    }
    let mut shares = vec![0.0; rows * old];
    for (row, taps) in linear(old, rows).into_iter().enumerate() {
        for (place, share) in taps {
            shares[row * old + place] += share;
        }
    }
    let shares = TensorData::new(shares, [rows, old]);
    Tensor::<2>::from_data(shares, (&table.device(), table.dtype())).matmul(table)
}

/// Which tokens are prefix tokens; `None` where none is.
fn prefix(cells: &Cells, shape: [usize; 4], device: &Device) -> Option<Tensor<4, Bool>> {
    let mask: Vec<bool> = cells.iter().map(Option::is_none).collect();
    (mask.contains(&true)).then(|| Tensor::from_data(TensorData::new(mask, shape), device))
}
