//! A rotation by sines and cosines that a scheme of another crate computes.

use alloc::format;

use burn::tensor::{Device, Tensor};

use super::turn::{rotate, rotate_both, rotate_heads};
use super::{Rotate, ToTurn, Turned, each_side, packed};
use crate::backend::Addend;
use crate::error::PositionError;
use crate::layout::{Layout, Turn};
use crate::positions::Positions;
use crate::tensor::{cast, check_float, compute_dtype};

/// A rotation that turns the pairs of columns of queries and keys by angles that depend on positions alone, as RoPE does.
/// A scheme only gives the sines and cosines of the angles, and gets [`Rotate`] from that. Every head turns by the same
/// angles.
///
/// The rotation runs through the same kernels as [`RotaryPositionalEncoding`](crate::RotaryPositionalEncoding), in
/// place. Sines and cosines that are computed from parameters get gradients; the rotation then runs on Burn's operations.
///
/// ```
/// use burn::tensor::{Device, Tensor, TensorData};
/// use pe_burn::{PositionError, Positional, Positions, Rotate, RotateByRows};
///
/// /// Pair `i` completes a turn in `periods[i]` positions.
/// struct Clock {
///     periods: Vec<f64>,
/// }
///
/// impl RotateByRows for Clock {
///     fn try_rows(
///         &self,
///         positions: &Positions,
///         [_, seq]: [usize; 2],
///         device: &Device,
///     ) -> Result<Tensor<3>, PositionError> {
///         let ids = positions.to_rows(seq)?; // a row for each sequence, or one for all
///         let angle = |id: usize, period: &f64| std::f64::consts::TAU * id as f64 / period;
///         let row = |id: &usize| {
///             let sines = self.periods.iter().map(|period| angle(*id, period).sin() as f32);
///             let cosines = self.periods.iter().map(|period| angle(*id, period).cos() as f32);
///             sines.chain(cosines).collect::<Vec<f32>>()
///         };
///         let values: Vec<f32> = ids.iter().flatten().flat_map(row).collect();
///         let shape = [ids.len(), seq, 2 * self.periods.len()];
///         Ok(Tensor::from_data(TensorData::new(values, shape), device))
///     }
/// }
///
/// impl Positional for Clock {
///     fn as_rotate(&self) -> Option<&dyn Rotate> {
///         Some(self)
///     }
/// }
///
/// let clock = Clock { periods: vec![12.0, 60.0, 720.0] };
/// let q = Tensor::<4>::ones([2, 4, 100, 8], &Device::flex()); // the last two columns do not turn
/// let (q, k) = clock.rotate(q.clone(), q, &Positions::default());
/// # assert_eq!((q.dims(), k.dims()), ([2, 4, 100, 8], [2, 4, 100, 8]));
/// ```
pub trait RotateByRows {
    /// The sine and the cosine of the angle of every pair at every position, for a `[batch, seq]` input. A common factor
    /// of both, as in YaRN, scales the pair.
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, seq, 2 · pairs]` on `device`, any float type: all sines of a token before all its
    ///   cosines. The columns behind the first `2 · pairs` of a head stay as they are.
    ///
    /// # Errors
    ///
    /// Whatever the scheme cannot do, for example those of [`Positions::to_rows`]. The caller has checked that the
    /// positions fit such an input, and checks the shape and the device of the output.
    fn try_rows(
        &self,
        positions: &Positions,
        shape: [usize; 2],
        device: &Device,
    ) -> Result<Tensor<3>, PositionError>;

    /// Which columns of a head make a pair. Interleaved, if the scheme does not say otherwise.
    fn layout(&self) -> Layout {
        Layout::default()
    }
}

impl<R: RotateByRows + ?Sized> Rotate for R {
    fn try_rotate_sides(&self, queries: ToTurn, keys: ToTurn) -> Result<Turned, PositionError> {
        let layout = self.layout();
        match (queries, keys) {
            (Some((q, at)), Some((k, at_k))) if core::ptr::eq(at, at_k) && alike(&q, &k) => {
                let (q, k) = match rows(self, &q, at)? {
                    Some(rows) => rotate_both(q, k, rows, layout, Turn::Forward),
                    None => (q, k),
                };
                Ok([Some(q), Some(k)])
            }
            (queries, keys) => each_side(queries, keys, |x, at| {
                Ok(match rows(self, &x, at)? {
                    Some(rows) => rotate(x, rows, layout, Turn::Forward),
                    None => x,
                })
            }),
        }
    }

    fn try_rotate_packed(
        &self,
        qkv: Tensor<3>,
        heads: [usize; 2],
        positions: &Positions,
    ) -> Result<Tensor<3>, PositionError> {
        let x = packed::by_heads(qkv, heads)?.swap_dims(1, 2);
        let rows = rows(self, &x, positions)?;
        let (x, [heads, kv_heads]) = (x.swap_dims(1, 2), heads);
        Ok(packed::side_by_side(match rows {
            Some(rows) => {
                let turned = 0..heads + kv_heads;
                rotate_heads(x, rows, turned, self.layout(), Turn::Forward)
            }
            None => x,
        }))
    }
}

/// Whether one lookup and one launch serve queries and keys that are at the same positions.
fn alike(q: &Tensor<4>, k: &Tensor<4>) -> bool {
    let ([batch, heads, seq, d_head], [of_k @ .., d_head_of_k]) = (q.dims(), k.dims());
    heads > 0
        && of_k == [batch, of_k[1].max(1), seq]
        && d_head == d_head_of_k
        && q.dtype() == k.dtype()
        && q.device() == k.device()
}

/// The rows of a scheme for an input, checked, in the type that a rotation is computed in; `None` for an input without
/// elements.
fn rows<R: RotateByRows + ?Sized>(
    scheme: &R,
    x: &Tensor<4>,
    positions: &Positions,
) -> Result<Option<Addend<'static>>, PositionError> {
    let [batch, _, seq, d_head] = x.dims();
    check_float(x)?;
    positions.lookup(Some(batch), seq)?;
    if x.dims().contains(&0) {
        return Ok(None);
    }
    let device = x.device().without_autodiff();
    let rows = scheme.try_rows(positions, [batch, seq], &device)?;
    check_float(&rows)?;
    let [of, tokens, width] = rows.dims();
    if tokens != seq || (of != 1 && of != batch) {
        return Err(PositionError::Shape {
            what: "table of sines and cosines",
            expected: [batch, seq],
            got: [of, tokens],
        });
    }
    if width == 0 || !width.is_multiple_of(2) || width > d_head {
        let name = "the number of sines and cosines of a token";
        let bound = format!("even, and from 2 to the width of a head, {d_head}");
        return Err(PositionError::number(name, width, bound));
    }
    let own = rows.device().without_autodiff();
    if own != device {
        return Err(PositionError::Device {
            input: format!("{device:?}"),
            module: format!("{own:?}"),
        });
    }
    Ok(Some(cast(rows, compute_dtype(x.dtype().into())).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::string::ToString;
    use alloc::vec;

    use burn::module::Param;
    use burn::tensor::{DType, Distribution, FloatDType};

    use crate::rotary::MixedRotaryConfig;
    use crate::testing::{assert_says, distance, refusal, values};
    use crate::{Positions, RotaryPositionalEncodingConfig, Spectrum};

    /// RoPE of the first columns of a head, from the same rows as our own.
    struct Rope {
        spectrum: Spectrum,
        layout: Layout,
    }

    impl RotateByRows for Rope {
        fn try_rows(
            &self,
            positions: &Positions,
            [_, seq]: [usize; 2],
            device: &Device,
        ) -> Result<Tensor<3>, PositionError> {
            let ids = positions.to_rows(seq)?;
            let mut rows = vec![];
            for id in ids.iter().flatten() {
                rows.extend(self.spectrum.rows::<f64>(*id..id + 1)?);
            }
            let rows = Tensor::<1>::from_data(rows.as_slice(), (device, DType::F64));
            Ok(rows.reshape([ids.len(), seq, self.spectrum.d_model()]))
        }

        fn layout(&self) -> Layout {
            self.layout
        }
    }

    /// Queries and keys with as many tokens and without, in every type, apart and side by side.
    #[test]
    fn it_gives_the_bits_of_our_rope() {
        let device = Device::flex();
        let starts = Positions::from_starts([3, 40]);
        for layout in [Layout::Interleaved, Layout::Halves] {
            for width in [8, 6] {
                let spectrum = Spectrum::new(width, 1e4).unwrap();
                let spectrum = spectrum.with_layout(Layout::Halves);
                let by_rows = Rope { spectrum, layout };
                let rope = RotaryPositionalEncodingConfig::new(8)
                    .with_rotary_dim(width)
                    .with_layout(layout)
                    .init(&device);
                for dtype in [FloatDType::F32, FloatDType::F16, FloatDType::F64] {
                    let random = |heads, seq| {
                        let shape = [2, heads, seq, 8];
                        Tensor::<4>::random(shape, Distribution::Default, &device).cast(dtype)
                    };
                    let (q, k) = (random(4, 9), random(2, 9));
                    for at in [&starts, &Positions::from(7)] {
                        let ours = rope.rotate(q.clone(), k.clone(), at);
                        let theirs = by_rows.rotate(q.clone(), k.clone(), at);
                        assert_eq!(theirs.0.to_data(), ours.0.into_data());
                        assert_eq!(theirs.1.to_data(), ours.1.into_data());
                        let qkv = random(8, 9).swap_dims(1, 2).reshape([2, 9, 64]);
                        let ours = rope.rotate_packed(qkv.clone(), [4, 2], at);
                        let theirs = by_rows.rotate_packed(qkv, [4, 2], at);
                        assert_eq!(theirs.into_data(), ours.into_data());
                    }
                    let (more, at) = (random(2, 12), Positions::from(1));
                    let ours = rope.rotate_apart((q.clone(), &starts), (more.clone(), &at));
                    let theirs = by_rows.rotate_apart((q, &starts), (more, &at));
                    assert_eq!(theirs.0.to_data(), ours.0.into_data());
                    assert_eq!(theirs.1.to_data(), ours.1.into_data());
                }
            }
        }
    }

    /// One head of RoPE-Mixed on a line.
    struct Learned(Param<Tensor<3>>);

    impl RotateByRows for Learned {
        fn try_rows(
            &self,
            positions: &Positions,
            [_, seq]: [usize; 2],
            device: &Device,
        ) -> Result<Tensor<3>, PositionError> {
            let ids = positions.to_rows(seq)?;
            let ids = ids.iter().flatten().map(|id| *id as f32);
            let ids: alloc::vec::Vec<f32> = ids.collect();
            let ids = Tensor::<1>::from_floats(&ids[..], device).reshape([1, seq, 1]);
            let angles = ids * self.0.val();
            Ok(Tensor::cat(vec![angles.clone().sin(), angles.cos()], 2))
        }
    }

    #[test]
    fn rows_that_are_computed_from_parameters_give_them_gradients() {
        let device = Device::flex().autodiff();
        let mixed = MixedRotaryConfig::new(8, 1).with_axes(1).init(&device);
        let learned = Learned(mixed.frequencies.clone());
        let at = Positions::from(3);
        let x = || Tensor::<4>::random([2, 1, 6, 8], Distribution::Default, &device).require_grad();
        let weights = Tensor::<4>::random([2, 1, 6, 8], Distribution::Default, &device);
        let (q, k) = (x(), x());
        let gradients = |(turned_q, turned_k): (Tensor<4>, Tensor<4>)| {
            let loss = (turned_q * weights.clone()).sum() + (turned_k * weights.clone() * 2).sum();
            let of = loss.backward();
            let frequencies = mixed.frequencies.val().grad(&of).expect("a gradient");
            let sides = [&q, &k].map(|x| values(x.grad(&of).expect("a gradient")));
            (values(frequencies), sides)
        };
        let apart = |x: Tensor<3>, from: usize| {
            let head = x.narrow(2, 8 * from, 8);
            head.reshape([2, 6, 1, 8]).swap_dims(1, 2)
        };
        let (expected, sides) = gradients(mixed.rotate(q.clone(), k.clone(), &at));
        let both = gradients(learned.rotate(q.clone(), k.clone(), &at));
        let v = x();
        let side_by_side = [q.clone(), k.clone(), v].map(|x| x.swap_dims(1, 2));
        let qkv = Tensor::cat(side_by_side.to_vec(), 2).reshape([2, 6, 24]);
        let packed = learned.rotate_packed(qkv, [1, 1], &at);
        let packed = gradients((apart(packed.clone(), 0), apart(packed, 1)));
        for (found, of_sides) in [both, packed] {
            let near = |a: &[f32], b: &[f32]| crate::testing::apart(a, b) < 1e-4;
            assert!(near(&expected, &found), "{expected:?} {found:?}");
            assert!(near(&sides[0], &of_sides[0]) && near(&sides[1], &of_sides[1]));
        }
        assert!(expected.iter().all(|g| g.abs() > 0.01), "{expected:?}");
        let alone = learned.rotate_queries(q.clone(), &at);
        assert!(distance(alone, mixed.rotate_queries(q, &at)) < 1e-6);
    }

    /// Rows of some shape.
    struct Shaped([usize; 3]);

    impl RotateByRows for Shaped {
        fn try_rows(
            &self,
            _: &Positions,
            _: [usize; 2],
            device: &Device,
        ) -> Result<Tensor<3>, PositionError> {
            Ok(Tensor::zeros(self.0, device))
        }
    }

    #[test]
    fn rows_of_another_shape_are_refused() {
        let device = Device::flex();
        let at = Positions::default();
        let refused = |shape: [usize; 3]| {
            let (q, k) = (
                Tensor::<4>::zeros([2, 3, 5, 8], &device),
                Tensor::<4>::zeros([2, 3, 5, 8], &device),
            );
            let qkv = Tensor::<3>::zeros([2, 5, 72], &device);
            let of_both = Shaped(shape).try_rotate(q.clone(), k, &at).unwrap_err();
            let alone = Shaped(shape).try_rotate_keys(q, &at).unwrap_err();
            let packed = Shaped(shape).try_rotate_packed(qkv, [3, 3], &at);
            assert_eq!((&of_both, &of_both), (&alone, &packed.unwrap_err()));
            of_both.to_string()
        };
        let table = "the table of sines and cosines has shape";
        for (shape, words) in [
            ([3, 5, 8], "[3, 5], but the input needs [2, 5]"),
            ([1, 4, 8], "[1, 4], but the input needs [2, 5]"),
        ] {
            assert_eq!(refused(shape), alloc::format!("{table} {words}"));
        }
        for width in [0, 7, 10] {
            let words = alloc::format!(
                "the number of sines and cosines of a token must be even, and from 2 to the width of a head, 8; got {width}"
            );
            assert_says(&refused([1, 5, width]), &words);
        }
        let three = Positions::from_starts([1, 2, 3]);
        let x = Tensor::<4>::zeros([2, 3, 5, 8], &device);
        let message = refusal(Shaped([1, 5, 8]).try_rotate_queries(x, &three));
        assert_says(&message, "there are 3 starts for a batch of 2 rows");
        let empty = Tensor::<4>::zeros([2, 0, 5, 8], &device);
        let full = Tensor::<4>::zeros([2, 3, 5, 8], &device);
        let (q, k) = Shaped([1, 5, 8]).rotate(full.clone(), empty.clone(), &at);
        assert_eq!((q.dims(), k.dims()), ([2, 3, 5, 8], [2, 0, 5, 8]));
        // Keys are turned where no query is: the rows of another shape are refused.
        let refused = refusal(Shaped([9, 9, 9]).try_rotate(empty.clone(), full, &at));
        assert_says(
            &refused,
            &alloc::format!("{table} [9, 9], but the input needs [2, 5]"),
        );
        let empty = Shaped([9, 9, 9]).rotate_queries(empty, &at);
        assert_eq!(empty.dims(), [2, 0, 5, 8]);
    }
}
