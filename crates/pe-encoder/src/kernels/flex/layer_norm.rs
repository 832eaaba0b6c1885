//! Layer normalization `γ (x − mean) / √(variance + ε) + β` over each row (Ba et al. 2016), and its
//! gradients: as an operation, and as what another operation does to the rows that it reads.

use std::borrow::Cow;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;
use multiversion::multiversion;
use pe_burn::autodiff::{Operand, Operation, apply};
use pe_burn::threads;

use super::math::sum;
use super::products::{New, initialized, rows_per_chunk, sums_of};
use super::{contiguous, elements, tensor, tensor_like};

/// As [`plain::layer_norm`](crate::plain::layer_norm): `x` is `[batch, seq, d_model]`, `gamma` and
/// `beta` are `[d_model]`.
pub fn layer_norm(x: Tensor<3>, gamma: Tensor<1>, beta: Tensor<1>, epsilon: f64) -> Tensor<3> {
    let epsilon = epsilon as f32;
    let inputs = [Operand::of(x), Operand::of(gamma), Operand::of(beta)];
    apply(inputs, |inputs| {
        let [x, gamma, beta] = inputs.map(contiguous);
        let y = forward(elements(&x), elements(&gamma), elements(&beta), epsilon);
        (
            tensor_like(y, &x),
            LayerNorm {
                x,
                norm: [gamma, beta],
                epsilon,
            },
        )
    })
    .tensor()
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct LayerNorm {
    x: FlexTensor,
    /// γ and β.
    norm: [FlexTensor; 2],
    epsilon: f32,
}

impl Operation<Flex, 3> for LayerNorm {
    fn backward(self, dy: FlexTensor) -> [FlexTensor; 3] {
        let Self { x, norm, epsilon } = self;
        let [gamma, beta] = norm.each_ref().map(elements);
        let norm = Norm {
            gamma,
            beta,
            epsilon,
        };
        let mut dy = contiguous(dy);
        let dy = &mut dy.storage_mut::<f32>()[..x.layout().num_elements()];
        let [dx, dgamma, dbeta] = backward(elements(&x), norm, dy);
        let width = [gamma.len()];
        [
            tensor_like(dx, &x),
            tensor(dgamma, width),
            tensor(dbeta, width),
        ]
    }
}

/// What an operation reads, with what its backward pass needs of it.
#[derive(Clone, Debug)]
pub struct Read {
    x: FlexTensor,
    /// γ, β and ε, where it reads the normalization of `x`.
    norm: Option<([FlexTensor; 2], f32)>,
}

impl Read {
    /// `x` as it is.
    pub fn plain(x: FlexTensor) -> Self {
        Self { x, norm: None }
    }

    /// The normalization of `x`, which is computed once more in the backward pass: it is not kept.
    pub fn normalized(x: FlexTensor, gamma: FlexTensor, beta: FlexTensor, epsilon: f64) -> Self {
        let norm = Some(([gamma, beta], epsilon as f32));
        Self { x, norm }
    }

    /// A tensor of the shape of what is read.
    pub fn tensor_like(&self, values: Vec<f32>) -> FlexTensor {
        tensor_like(values, &self.x)
    }

    pub fn rows(&self) -> Rows<'_> {
        let norm = self.norm.as_ref().map(|([gamma, beta], epsilon)| Norm {
            gamma: elements(gamma),
            beta: elements(beta),
            epsilon: *epsilon,
        });
        let x = elements(&self.x);
        Rows { x, norm }
    }

    /// The gradients of `x` and, where there is a normalization, of γ and β, from those that [`Rows::backward`] gave; and
    /// those of the weights and biases that it is multiplied by.
    pub fn gradients<const N: usize, const W: usize>(
        &self,
        [dx, mut sums]: [Vec<f32>; 2],
        of_weights: [Vec<f32>; W],
        weights: &[FlexTensor; W],
    ) -> [FlexTensor; N] {
        let mut all = vec![tensor_like(dx, &self.x)];
        if let Some(([gamma, beta], _)) = &self.norm {
            let of_beta = sums.split_off(sums.len() / 2);
            all.extend([tensor_like(sums, gamma), tensor_like(of_beta, beta)]);
        }
        let of_weights = of_weights.into_iter().zip(weights);
        all.extend(of_weights.map(|(gradient, of)| tensor_like(gradient, of)));
        all.try_into().expect("a gradient for each input")
    }
}

/// The elements of what an operation reads, or of a chunk of its rows.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    x: &'a [f32],
    norm: Option<Norm<'a>>,
}

#[derive(Clone, Copy)]
struct Norm<'a> {
    gamma: &'a [f32],
    beta: &'a [f32],
    epsilon: f32,
}

impl<'a> Rows<'a> {
    /// The number of elements.
    pub fn len(self) -> usize {
        self.x.len()
    }

    /// The number of elements of the gradients of γ and β together, 0 without a normalization.
    pub fn sums(self) -> usize {
        self.norm.map_or(0, |norm| 2 * norm.gamma.len())
    }

    /// Chunks of this many elements, whole rows.
    pub fn chunks(self, len: usize) -> impl ExactSizeIterator<Item = Self> {
        self.x.chunks(len).map(move |x| Self { x, ..self })
    }

    /// What is read.
    pub fn read(self) -> Cow<'a, [f32]> {
        let Some(norm) = self.norm else {
            return Cow::Borrowed(self.x);
        };
        let Norm { gamma, beta, .. } = norm;
        let write = |y: New<'_>| normalize(y, self.x, gamma, beta, norm.epsilon);
        // SAFETY: `normalize` initializes as many elements as `x` has.
        Cow::Owned(unsafe { initialized(self.x.len(), write) })
    }

    /// Writes the gradient of `x` to `dx`. Returns [what is read](Self::read), and for each chunk of so many elements the gradients
    /// of γ and β, one after the other; without a normalization no gradients.
    ///
    /// # Safety
    ///
    /// `write` initializes every element of what it is given, which is as long as `dx`, with the gradient of what is read.
    pub unsafe fn backward(
        self,
        dx: New<'_>,
        chunk: usize,
        write: impl FnOnce(New<'_>),
    ) -> (Cow<'a, [f32]>, Vec<Vec<f32>>) {
        let Some(norm) = self.norm else {
            write(dx);
            let none = self.x.chunks(chunk).map(|_| Vec::new());
            return (Cow::Borrowed(self.x), none.collect());
        };
        assert_eq!(dx.len(), self.x.len(), "a gradient for every element");
        // SAFETY: the caller promises what `write` does.
        let mut rows = unsafe { initialized(dx.len(), write) };
        let chunks = dx.chunks_mut(chunk).zip(self.x.chunks(chunk));
        let sums = chunks.zip(rows.chunks_mut(chunk)).map(|((dx, x), rows)| {
            let mut sums = vec![0.0; 2 * norm.gamma.len()];
            normalize_backward(dx, x, norm, rows, &mut sums);
            sums
        });
        let sums = sums.collect();
        (Cow::Owned(rows), sums)
    }
}

/// The normalized rows of `x`, each as long as `gamma`.
fn forward(x: &[f32], gamma: &[f32], beta: &[f32], epsilon: f32) -> Vec<f32> {
    let chunk = rows_per_chunk(x.len() / gamma.len()) * gamma.len();
    let write = |y: New<'_>| {
        let chunks = y.chunks_mut(chunk).zip(x.chunks(chunk));
        threads::for_each(chunks, |(y, x)| normalize(y, x, gamma, beta, epsilon));
    };
    // SAFETY: `y` has as many elements as `x`, so their chunks are as long as each other, and `normalize` initializes as
    // many elements of `y` as it has of `x`.
    unsafe { initialized(x.len(), write) }
}

/// The gradients of `x`, γ and β. `dy` is the gradient of the normalized rows, and is overwritten by these rows.
fn backward(x: &[f32], norm: Norm<'_>, dy: &mut [f32]) -> [Vec<f32>; 3] {
    let width = norm.gamma.len();
    let chunk = rows_per_chunk(x.len() / width) * width;
    let mut sums = Vec::new();
    assert_eq!(dy.len(), x.len(), "a gradient for every element");
    let write = |dx: New<'_>| {
        let chunks = dx
            .chunks_mut(chunk)
            .zip(x.chunks(chunk))
            .zip(dy.chunks_mut(chunk));
        [sums] = sums_of(chunks, [2 * width], |((dx, x), dy)| {
            let mut sums = vec![0.0; 2 * width];
            normalize_backward(dx, x, norm, dy, &mut sums);
            vec![[sums]]
        });
    };
    // SAFETY: `dx`, `x` and `dy` have the same number of elements, so there is a chunk of each, and `normalize_backward`
    // initializes as many elements of `dx` as it has of `x`.
    let dx = unsafe { initialized(x.len(), write) };
    let beta = sums.split_off(width);
    [dx, sums, beta]
}

/// The mean of a row, and the inverse of its standard deviation.
#[inline(always)]
fn moments(row: &[f32], epsilon: f32) -> (f32, f32) {
    let n = row.len() as f32;
    let mean = sum(row.len(), |i| row[i]) / n;
    let variance = sum(row.len(), |i| (row[i] - mean) * (row[i] - mean)) / n;
    (mean, 1.0 / (variance + epsilon).sqrt())
}

/// Writes the normalized rows of `x` to `y`.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn normalize(y: New, x: &[f32], gamma: &[f32], beta: &[f32], epsilon: f32) {
    let width = gamma.len();
    let beta = &beta[..width];
    let mut start = 0;
    while start < x.len() {
        let (x, y) = (&x[start..start + width], &mut y[start..start + width]);
        let (mean, scale) = moments(x, epsilon);
        for i in 0..width {
            y[i].write((x[i] - mean) * scale * gamma[i] + beta[i]);
        }
        start += width;
    }
}

/// Writes the gradient of `x` to `dx`, and adds the gradients of γ and β to `sums`, which holds one after the other.
/// `rows` is the gradient of the normalized rows. It is overwritten by these rows, since their moments are known here.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn normalize_backward(dx: New, x: &[f32], norm: Norm, rows: &mut [f32], sums: &mut [f32]) {
    let width = norm.gamma.len();
    let (gamma, beta) = (norm.gamma, &norm.beta[..width]);
    let n = width as f32;
    let (dgamma, dbeta) = sums.split_at_mut(width);
    let (dgamma, dbeta) = (&mut dgamma[..width], &mut dbeta[..width]);
    let mut start = 0;
    while start < x.len() {
        let (x, dy) = (&x[start..start + width], &mut rows[start..start + width]);
        let dx = &mut dx[start..start + width];
        let (mean, scale) = moments(x, norm.epsilon);
        // The output does not change when `x` is shifted or scaled, so the gradient has no part
        // along ones or along `x`.
        let along_ones = sum(width, |i| dy[i] * gamma[i]) / n;
        let along_x = sum(width, |i| dy[i] * gamma[i] * (x[i] - mean)) * scale / n;
        for i in 0..width {
            let unit = (x[i] - mean) * scale;
            dgamma[i] += dy[i] * unit;
            dbeta[i] += dy[i];
            dx[i].write((dy[i] * gamma[i] - along_ones - unit * along_x) * scale);
            dy[i] = unit * gamma[i] + beta[i];
        }
        start += width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::compare;
    use burn::tensor::Device;

    #[test]
    fn output_and_gradients_are_those_of_burns_operations() {
        compare::layer_norm(&Device::flex().autodiff(), layer_norm);
    }
}
