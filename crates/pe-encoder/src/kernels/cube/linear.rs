//! Linear layers on graphics cards. The products are Burn's, of matrices of all rows of the batch. From 512 rows on, the gradients of
//! weight and bias are computed in groups of rows, so that more threads work; the sum of the groups takes another launch.

use burn::backend::Cube;
use burn::backend::tensor::FloatTensor;
use burn::tensor::Tensor;
use pe_burn::autodiff::{Operand, Operation, apply};

use super::{primitive, tensor};

/// As [`plain::linear`](crate::plain::linear): `x` is `[batch, seq, inputs]`, `weight` is
/// `[inputs, outputs]`, `bias` is `[outputs]`.
pub fn linear(x: Tensor<3>, weight: Tensor<2>, bias: Tensor<1>) -> Tensor<3> {
    let inputs = [Operand::of(x), Operand::of(weight), Operand::of(bias)];
    apply(inputs, |[x, weight, bias]: [FloatTensor<Cube>; 3]| {
        let bias = tensor::<1>(bias).unsqueeze();
        let y = forward(x.clone(), weight.clone()) + bias;
        (primitive(y), Linear(Product { x, weight }))
    })
    .tensor()
}

/// [`linear`] without a bias.
pub fn product(x: Tensor<3>, weight: Tensor<2>) -> Tensor<3> {
    let inputs = [Operand::of(x), Operand::of(weight)];
    apply(inputs, |[x, weight]: [FloatTensor<Cube>; 2]| {
        let y = forward(x.clone(), weight.clone());
        (primitive(y), Product { x, weight })
    })
    .tensor()
}

fn forward(x: FloatTensor<Cube>, weight: FloatTensor<Cube>) -> Tensor<3> {
    let x = tensor::<3>(x);
    let [batch, seq, _] = x.dims();
    let y = one_sequence(x).matmul(tensor::<2>(weight).unsqueeze());
    let [_, _, outputs] = y.dims();
    match batch {
        1 => y,
        _ => y.reshape([batch, seq, outputs]),
    }
}

/// `[batch, seq, width]` as `[1, batch · seq, width]`. What has this shape is left alone: Burn fuses no operations across a
/// change of shape.
fn one_sequence(x: Tensor<3>) -> Tensor<3> {
    match x.dims() {
        [1, _, _] => x,
        [batch, seq, width] => x.reshape([1, batch * seq, width]),
    }
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct Product {
    x: FloatTensor<Cube>,
    weight: FloatTensor<Cube>,
}

/// The backward pass of a product with a bias.
#[derive(Clone, Debug)]
struct Linear(Product);

impl Operation<Cube, 2> for Product {
    fn backward(self, dy: FloatTensor<Cube>) -> [FloatTensor<Cube>; 2] {
        let (x, weight) = (tensor::<3>(self.x), tensor::<2>(self.weight));
        let (shape, of_weight) = (x.dims(), weight.dims());
        let dy = one_sequence(tensor(dy));
        let dweight = gradient_of_weight(one_sequence(x), dy.clone());
        let mut dx = dy.matmul(weight.transpose().unsqueeze());
        if shape[0] > 1 {
            dx = dx.reshape(shape);
        }
        [primitive(dx), primitive(dweight.reshape(of_weight))]
    }
}

impl Operation<Cube, 3> for Linear {
    fn backward(self, dy: FloatTensor<Cube>) -> [FloatTensor<Cube>; 3] {
        let dbias = sum_of_rows(one_sequence(tensor(dy.clone())));
        let [_, _, outputs] = dbias.dims();
        let [dx, dweight] = self.0.backward(dy);
        [dx, dweight, primitive(dbias.reshape([outputs]))]
    }
}

/// The fewest rows of a group. Burn's kernels have a thread, or a small square of them, for each number of the result, which
/// goes through all rows: where there are many rows and few columns, most of a card waits. On an NVIDIA H200 the sum of 8,192
/// rows of 128 columns takes 0.8 ms, and a gradient of `[128, 384]` from as many rows 2.7 ms. So more rows are divided into
/// groups, whose results are added up in a second launch.
const OF_GROUP: usize = 256;

/// As many numbers as keep a card busy.
const BUSY: usize = 1 << 20;

/// The largest divisor of the number of rows that makes groups of at least [`OF_GROUP`] rows, and of results of `width` numbers
/// about as many as keep a card busy.
fn groups_for(rows: usize, width: usize) -> usize {
    let most = (rows / OF_GROUP).min(BUSY.div_ceil(width.max(1)));
    let mut below = (1..=most).rev();
    below
        .find(|groups| rows.is_multiple_of(*groups))
        .unwrap_or(1)
}

/// The sum of all rows, `[1, 1, width]` of `[1, rows, width]`.
pub fn sum_of_rows(x: Tensor<3>) -> Tensor<3> {
    let [_, rows, width] = x.dims();
    let groups = groups_for(rows, width);
    if groups == 1 {
        return x.sum_dim(1);
    }
    let sums = x.reshape([groups, rows / groups, width]).sum_dim(1);
    sums.sum_dim(0)
}

/// The gradient of a weight, `[1, inputs, outputs]`, from all rows of input and gradient, `[1, rows, …]`.
fn gradient_of_weight(x: Tensor<3>, dy: Tensor<3>) -> Tensor<3> {
    let ([_, rows, inputs], [_, _, outputs]) = (x.dims(), dy.dims());
    let groups = groups_for(rows, inputs * outputs);
    if groups == 1 {
        return x.transpose().matmul(dy);
    }
    let x = x.reshape([groups, rows / groups, inputs]);
    let dy = dy.reshape([groups, rows / groups, outputs]);
    x.transpose().matmul(dy).sum_dim(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_divide_the_rows_and_have_enough_of_them() {
        for ([rows, width], groups) in [
            ([1, 64], 1),
            ([256, 64], 1),
            ([511, 64], 1),
            ([512, 64], 2),
            ([768, 64], 3),
            ([8_192, 128 * 128], 32),
            ([8_192, 128 * 384], 16),
            ([8_192, 1_024 * 4_096], 1),
            ([8_191, 64], 1), // a prime number
            ([0, 64], 1),
            ([512, 0], 2),
        ] {
            assert_eq!(groups_for(rows, width), groups, "{rows} {width}");
        }
    }
}
