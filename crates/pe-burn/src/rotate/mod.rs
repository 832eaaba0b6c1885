//! Encodings that rotate queries and keys: RoPE and its relatives.

mod by_rows;
mod dual_chunk;
mod fope;
mod mixed;
mod packed;
mod pope;
mod query_scale;
mod rotary;
pub mod scaling;
pub(crate) mod turn;
mod xpos;

pub use by_rows::RotateByRows;
pub use dual_chunk::{ChunkPart, DualChunk};
pub use fope::{Fope, FopeConfig};
pub use mixed::{MixedRotary, MixedRotaryConfig};
pub use pope::{Pope, PopeConfig};
pub use query_scale::QueryScale;
pub use rotary::{RotaryPositionalEncoding, RotaryPositionalEncodingConfig};
pub use scaling::RopeScaling;
pub use xpos::{XPosPositionalEncoding, XPosPositionalEncodingConfig};

use alloc::format;
use alloc::vec;

use burn::tensor::{Device, Tensor};

use crate::error::{PositionError, check_width, expect};
use crate::positions::{Lookup, Positions};
use crate::tensor::check_device;

/// Queries or keys, `[batch, heads, seq, d_head]`, with their positions; `None` where there are none to rotate.
pub type ToTurn<'a> = Option<(Tensor<4>, &'a Positions)>;

/// Queries and keys after a rotation: each that was given.
pub type Turned = [Option<Tensor<4>>; 2];

/// A scheme that rotates queries and keys by their positions, as RoPE does.
///
/// An attention layer that is generic over it:
///
/// ```
/// use burn::module::Module;
/// use burn::tensor::module::attention;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::{Positions, Rotate, RotaryPositionalEncodingConfig, XPosPositionalEncodingConfig};
///
/// #[derive(Module, Debug)]
/// struct Attention<R: Module> {
///     rope: R,
/// }
///
/// impl<R: Module + Rotate> Attention<R> {
///     /// `[batch, heads, seq, d_head]` each.
///     fn forward(&self, [q, k, v]: [Tensor<4>; 3], positions: &Positions) -> Tensor<4> {
///         let (q, k) = self.rope.rotate(q, k, positions);
///         attention(q, k, v, None, None, Default::default())
///     }
/// }
///
/// let device = Device::flex();
/// let qkv = [(); 3].map(|()| Tensor::random([2, 8, 100, 64], Distribution::Default, &device));
/// let rope = RotaryPositionalEncodingConfig::new(64).init(&device);
/// let y = Attention { rope }.forward(qkv.clone(), &Positions::default());
/// let xpos = XPosPositionalEncodingConfig::new(64).init(&device);
/// let z = Attention { rope: xpos }.forward(qkv, &Positions::default());
/// # assert_eq!((y.dims(), z.dims()), ([2, 8, 100, 64], [2, 8, 100, 64]));
/// ```
#[doc(alias = "rope")]
#[doc(alias = "RoPE")]
pub trait Rotate {
    /// Rotates queries, keys, or both. Where the frequencies depend on the length of the input, they
    /// are those of the largest position of both sides.
    ///
    /// This is the only method that a scheme has to implement: all others call it. A scheme that turns pairs of
    /// columns by angles that depend on positions alone implements [`RotateByRows`] instead, and gets kernels by that.
    ///
    /// # Shapes
    ///
    /// - `queries`, `keys`: `[batch, heads, seq, d_head]`, any float type; `heads` and `seq` of the two
    ///   may differ, and `batch` and `seq` may be 0; `heads` too, where the module is not built for a number of heads
    /// - output: queries and keys, in the type of the input and, where [`width`](Self::width) does not say otherwise, in its shape
    ///
    /// # Errors
    ///
    /// [`PositionError::Width`] when a side has another `d_head` than the module,
    /// [`Device`](PositionError::Device) when it is on another device,
    /// [`Quantized`](PositionError::Quantized) when it is quantized,
    /// [`Shape`](PositionError::Shape) or [`Batch`](PositionError::Batch) when its positions are for
    /// another shape, [`Grid`](PositionError::Grid) when the scheme needs positions on a grid,
    /// [`Overflow`](PositionError::Overflow) past [`MAX_POSITION`](crate::MAX_POSITION),
    /// [`Number`](PositionError::Number) past the last position of a scheme that has one, and
    /// [`TooLarge`](PositionError::TooLarge) when the rows of the positions do not fit into memory.
    fn try_rotate_sides(&self, queries: ToTurn, keys: ToTurn) -> Result<Turned, PositionError>;

    /// The width that queries and keys of width `d_head` have after the rotation: the same, if the scheme does not say
    /// otherwise. PoPE, for example, makes two columns of each.
    ///
    /// Attention still scales its scores by 1 / √`d_head`. A scheme that scales otherwise multiplies its queries by the
    /// ratio.
    fn width(&self, d_head: usize) -> usize {
        d_head
    }

    /// Rotates queries and keys that are at the same positions. With a cache of keys, rotate the new
    /// keys only, and keep them rotated.
    ///
    /// # Shapes
    ///
    /// - `q`, `k`: `[batch, heads, seq, d_head]`, any float type; the numbers of heads may differ
    /// - output: as `q` and `k`
    ///
    /// # Errors
    ///
    /// Those of [`try_rotate_sides`](Self::try_rotate_sides).
    #[inline]
    fn try_rotate(
        &self,
        q: Tensor<4>,
        k: Tensor<4>,
        positions: &Positions,
    ) -> Result<(Tensor<4>, Tensor<4>), PositionError> {
        self.try_rotate_apart((q, positions), (k, positions))
    }

    /// The panicking form of [`try_rotate`](Self::try_rotate).
    ///
    /// # Panics
    ///
    /// Where [`try_rotate`](Self::try_rotate) returns an error, with its message.
    #[track_caller]
    fn rotate(&self, q: Tensor<4>, k: Tensor<4>, positions: &Positions) -> (Tensor<4>, Tensor<4>) {
        expect(self.try_rotate(q, k, positions))
    }

    /// Rotates the queries and keys of a projection that holds queries, keys and values side by side, as
    /// models with one matrix for all three have it. RoPE then needs no copy: with the feature `flex`, and
    /// with one for graphics cards, the projection is rotated in place.
    ///
    /// # Shapes
    ///
    /// - `qkv`: `[batch, seq, (heads + 2 · kv_heads) · d_head]`, any float type: a row has the heads of the
    ///   queries of a token, those of its keys, and those of its values
    /// - `heads`: `[heads, kv_heads]`
    /// - output: as `qkv`
    ///
    /// ```
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use pe_burn::{Positions, Rotate, RotaryPositionalEncodingConfig};
    ///
    /// let device = Device::flex();
    /// let rope = RotaryPositionalEncodingConfig::new(64).init(&device);
    /// // 8 heads of queries, and 2 of keys and of values.
    /// let qkv = Tensor::<3>::random([4, 100, 12 * 64], Distribution::Default, &device);
    /// let qkv = rope.rotate_packed(qkv, [8, 2], &Positions::default());
    /// assert_eq!(qkv.dims(), [4, 100, 12 * 64]);
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`try_rotate_sides`](Self::try_rotate_sides), [`PositionError::Number`] when there are no
    /// heads or when the width of `qkv` is not a multiple of their number, and [`PositionError::Config`] for a scheme
    /// that changes the [`width`](Self::width) of queries and keys.
    fn try_rotate_packed(
        &self,
        qkv: Tensor<3>,
        heads: [usize; 2],
        positions: &Positions,
    ) -> Result<Tensor<3>, PositionError> {
        apart_from_values(self, qkv, heads, positions)
    }

    /// The panicking form of [`try_rotate_packed`](Self::try_rotate_packed).
    ///
    /// # Panics
    ///
    /// Where [`try_rotate_packed`](Self::try_rotate_packed) returns an error, with its message.
    #[track_caller]
    fn rotate_packed(&self, qkv: Tensor<3>, heads: [usize; 2], positions: &Positions) -> Tensor<3> {
        expect(self.try_rotate_packed(qkv, heads, positions))
    }

    /// Rotates queries and keys that are at different positions: keys of another sequence, or of a
    /// cache that is not rotated yet.
    ///
    /// # Shapes
    ///
    /// - `queries`: `[batch, heads, queries, d_head]`; `keys`: `[batch, heads, keys, d_head]`
    /// - output: as queries and keys
    ///
    /// # Errors
    ///
    /// Those of [`try_rotate_sides`](Self::try_rotate_sides).
    #[inline]
    fn try_rotate_apart(
        &self,
        queries: (Tensor<4>, &Positions),
        keys: (Tensor<4>, &Positions),
    ) -> Result<(Tensor<4>, Tensor<4>), PositionError> {
        match self.try_rotate_sides(Some(queries), Some(keys))? {
            [Some(q), Some(k)] => Ok((q, k)),
            _ => unreachable!("every side that goes in comes out"),
        }
    }

    /// The panicking form of [`try_rotate_apart`](Self::try_rotate_apart).
    ///
    /// # Panics
    ///
    /// Where [`try_rotate_apart`](Self::try_rotate_apart) returns an error, with its message.
    #[track_caller]
    fn rotate_apart(
        &self,
        queries: (Tensor<4>, &Positions),
        keys: (Tensor<4>, &Positions),
    ) -> (Tensor<4>, Tensor<4>) {
        expect(self.try_rotate_apart(queries, keys))
    }

    /// [`try_rotate`](Self::try_rotate) for queries and keys whose heads lie side by side in each token, as candle's kernels,
    /// bunsen and FlashAttention have them. Nothing is copied for that: the rotation takes them as views.
    ///
    /// # Shapes
    ///
    /// - `q`, `k`: `[batch, seq, heads, d_head]`, any float type; the numbers of heads may differ
    /// - output: as `q` and `k`, where [`width`](Self::width) does not say otherwise
    ///
    /// ```
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use pe_burn::{Positions, Rotate, RotaryPositionalEncodingConfig};
    ///
    /// let device = Device::flex();
    /// let rope = RotaryPositionalEncodingConfig::new(64).init(&device);
    /// let q = Tensor::<4>::random([2, 100, 8, 64], Distribution::Default, &device);
    /// let k = Tensor::<4>::random([2, 100, 2, 64], Distribution::Default, &device);
    /// let (q, k) = rope.rotate_bshd(q, k, &Positions::default());
    /// assert_eq!((q.dims(), k.dims()), ([2, 100, 8, 64], [2, 100, 2, 64]));
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`try_rotate_sides`](Self::try_rotate_sides).
    fn try_rotate_bshd(
        &self,
        q: Tensor<4>,
        k: Tensor<4>,
        positions: &Positions,
    ) -> Result<(Tensor<4>, Tensor<4>), PositionError> {
        let (q, k) = self.try_rotate(q.swap_dims(1, 2), k.swap_dims(1, 2), positions)?;
        Ok((q.swap_dims(1, 2), k.swap_dims(1, 2)))
    }

    /// The panicking form of [`try_rotate_bshd`](Self::try_rotate_bshd).
    ///
    /// # Panics
    ///
    /// Where [`try_rotate_bshd`](Self::try_rotate_bshd) returns an error, with its message.
    #[track_caller]
    fn rotate_bshd(
        &self,
        q: Tensor<4>,
        k: Tensor<4>,
        positions: &Positions,
    ) -> (Tensor<4>, Tensor<4>) {
        expect(self.try_rotate_bshd(q, k, positions))
    }

    /// Rotates queries alone.
    ///
    /// # Shapes
    ///
    /// - `q`: `[batch, heads, seq, d_head]`, any float type
    /// - output: as `q`
    ///
    /// # Errors
    ///
    /// Those of [`try_rotate_sides`](Self::try_rotate_sides).
    fn try_rotate_queries(
        &self,
        q: Tensor<4>,
        positions: &Positions,
    ) -> Result<Tensor<4>, PositionError> {
        let [q, _] = self.try_rotate_sides(Some((q, positions)), None)?;
        Ok(q.expect("every side that goes in comes out"))
    }

    /// The panicking form of [`try_rotate_queries`](Self::try_rotate_queries).
    ///
    /// # Panics
    ///
    /// Where [`try_rotate_queries`](Self::try_rotate_queries) returns an error, with its message.
    #[track_caller]
    fn rotate_queries(&self, q: Tensor<4>, positions: &Positions) -> Tensor<4> {
        expect(self.try_rotate_queries(q, positions))
    }

    /// Rotates keys alone.
    ///
    /// # Shapes
    ///
    /// - `k`: `[batch, heads, seq, d_head]`, any float type
    /// - output: as `k`
    ///
    /// # Errors
    ///
    /// Those of [`try_rotate_sides`](Self::try_rotate_sides).
    fn try_rotate_keys(
        &self,
        k: Tensor<4>,
        positions: &Positions,
    ) -> Result<Tensor<4>, PositionError> {
        let [_, k] = self.try_rotate_sides(None, Some((k, positions)))?;
        Ok(k.expect("every side that goes in comes out"))
    }

    /// The panicking form of [`try_rotate_keys`](Self::try_rotate_keys).
    ///
    /// # Panics
    ///
    /// Where [`try_rotate_keys`](Self::try_rotate_keys) returns an error, with its message.
    #[track_caller]
    fn rotate_keys(&self, k: Tensor<4>, positions: &Positions) -> Tensor<4> {
        expect(self.try_rotate_keys(k, positions))
    }
}

/// Rotates queries and keys separately, for a module without a lookup that serves both.
fn each_side(
    queries: ToTurn,
    keys: ToTurn,
    rotate: impl Fn(Tensor<4>, &Positions) -> Result<Tensor<4>, PositionError>,
) -> Result<Turned, PositionError> {
    let side = |side: ToTurn| side.map(|(x, positions)| rotate(x, positions)).transpose();
    Ok([side(queries)?, side(keys)?])
}

/// The lookup of positions for queries or keys of a module.
#[inline]
fn lookup<'a>(
    x: &Tensor<4>,
    positions: &'a Positions,
    d_head: usize,
    device: &Device,
) -> Result<Lookup<'a>, PositionError> {
    let [batch, _, seq, _] = check_side(x, d_head, device)?;
    positions.lookup(Some(batch), seq)
}

/// Checks the width and the device of queries or keys of a module, and returns their shape.
#[inline]
fn check_side(x: &Tensor<4>, d_head: usize, device: &Device) -> Result<[usize; 4], PositionError> {
    let dims = x.dims();
    check_width("d_head", d_head, dims[3])?;
    check_device(x, device)?;
    Ok(dims)
}

/// Rotates the queries and keys of a projection, which are copied out of it.
fn apart_from_values<S: Rotate + ?Sized>(
    scheme: &S,
    qkv: Tensor<3>,
    heads: [usize; 2],
    positions: &Positions,
) -> Result<Tensor<3>, PositionError> {
    let all = packed::by_heads(qkv, heads)?.swap_dims(1, 2);
    let d_head = all.dims()[3];
    let width = scheme.width(d_head);
    if width != d_head {
        return Err(PositionError::config(format!(
            "the scheme makes queries and keys {width} wide, and a projection has heads of {d_head}: rotate them apart \
             from the values"
        )));
    }
    let [heads, kv_heads] = heads;
    let q = all.clone().narrow(1, 0, heads);
    let k = all.clone().narrow(1, heads, kv_heads);
    let v = all.narrow(1, heads + kv_heads, kv_heads);
    let shapes = [&q, &k].map(|x| x.dims());
    let (q, k) = scheme.try_rotate(q, k, positions)?;
    for (x, shape) in [&q, &k].into_iter().zip(shapes) {
        if x.dims() != shape {
            let got = x.dims();
            return Err(PositionError::config(format!(
                "the scheme rotated queries or keys of shape {shape:?} to {got:?}: the shape has to stay"
            )));
        }
    }
    Ok(packed::side_by_side(
        Tensor::cat(vec![q, k, v], 1).swap_dims(1, 2),
    ))
}
