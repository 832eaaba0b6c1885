//! Linear layers on graphics cards. The products are Burn's, of matrices of all rows: those of a batch would be added up in a
//! launch of its own for the gradient of the weight.

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

/// With a bias.
#[derive(Clone, Debug)]
struct Linear(Product);

impl Operation<Cube, 2> for Product {
    fn backward(self, dy: FloatTensor<Cube>) -> [FloatTensor<Cube>; 2] {
        let (x, weight) = (tensor::<3>(self.x), tensor::<2>(self.weight));
        let (shape, of_weight) = (x.dims(), weight.dims());
        let dy = one_sequence(tensor(dy));
        let dweight = one_sequence(x).transpose().matmul(dy.clone());
        let mut dx = dy.matmul(weight.transpose().unsqueeze());
        if shape[0] > 1 {
            dx = dx.reshape(shape);
        }
        [primitive(dx), primitive(dweight.reshape(of_weight))]
    }
}

impl Operation<Cube, 3> for Linear {
    fn backward(self, dy: FloatTensor<Cube>) -> [FloatTensor<Cube>; 3] {
        let dbias = one_sequence(tensor(dy.clone())).sum_dim(1);
        let [_, _, outputs] = dbias.dims();
        let [dx, dweight] = self.0.backward(dy);
        [dx, dweight, primitive(dbias.reshape([outputs]))]
    }
}
