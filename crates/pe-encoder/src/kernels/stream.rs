//! The residual stream: what attention and feed-forward networks read normalized, and add to.

#[cfg(feature = "cube")]
use burn::nn::Linear;
use burn::tensor::Tensor;

use super::part::{Input, Part};
use super::{Kernels, linear};
#[cfg(feature = "cube")]
use super::{Runner, check, cube};
use crate::norm::LayerNorm;

/// The whole of a part as a tensor, `[batch, seq, d_model]`.
pub(crate) fn whole(part: Part<'_>, kernels: Kernels) -> Tensor<3> {
    match part {
        Part::Whole(x) => x,
        Part::Last(x, layer) => linear(x, layer, kernels),
        #[cfg(feature = "cube")]
        Part::OneSequence(x, layer, batch) => {
            let y = linear(x, layer, kernels);
            let [_, rows, outputs] = y.dims();
            y.reshape([batch, rows / batch, outputs])
        }
    }
}

/// A sum, to which the next part is added. The part is computed from the normalization of the sum.
pub(crate) enum Stream {
    Plain(Tensor<3>),
    /// Its gradients are added by a kernel.
    #[cfg(feature = "cube")]
    OnCard(cube::Stream),
}

impl Stream {
    fn into_sum(self) -> Tensor<3> {
        match self {
            Self::Plain(x) => x,
            #[cfg(feature = "cube")]
            Self::OnCard(stream) => stream.x,
        }
    }
}

/// The stream that begins with `x`, and its normalization.
#[cfg_attr(not(feature = "cube"), expect(unused_variables))]
pub(crate) fn open(x: Tensor<3>, norm: &LayerNorm, kernels: Kernels) -> (Stream, Input<'_>) {
    #[cfg(feature = "cube")]
    if kernels.runner(&x) == Runner::Cube {
        let (gamma, beta) = super::checked(norm, &x, Runner::Cube);
        let (stream, normed) = cube::open(x, (gamma, beta, norm.epsilon as f32));
        return (Stream::OnCard(stream), Input::Whole(normed));
    }
    (Stream::Plain(x.clone()), Input::Normalized(x, norm))
}

/// The stream with a part added, and its normalization.
pub(crate) fn add<'a>(
    stream: Stream,
    part: Part<'_>,
    norm: &'a LayerNorm,
    kernels: Kernels,
) -> (Stream, Input<'a>) {
    #[cfg(feature = "cube")]
    let stream = match (stream, &part) {
        (Stream::OnCard(stream), Part::Last(x, layer) | Part::OneSequence(x, layer, _))
            if layer.bias.is_some() && !check::is_quantized(layer) =>
        {
            return add_on_card(stream, x.clone(), layer, norm);
        }
        (stream, _) => stream,
    };
    open(stream.into_sum() + whole(part, kernels), norm, kernels)
}

/// [`add`] in one launch after the product of the last layer, which has a bias.
#[cfg(feature = "cube")]
fn add_on_card<'a>(
    stream: cube::Stream,
    input: Tensor<3>,
    layer: &Linear,
    norm: &'a LayerNorm,
) -> (Stream, Input<'a>) {
    let x = &stream.x;
    let outputs = check::linear("a linear layer", layer, input.dims()[2]);
    let bias = layer.bias.as_ref().expect("a bias").val();
    let what = "what is added to the residual stream";
    let [batch, seq, d_model] = x.dims();
    let [of_batch, of_seq, _] = input.dims();
    let got = [of_batch * of_seq, outputs];
    assert_eq!(
        got,
        [batch * seq, d_model],
        "the rows and columns of {what}"
    );
    check::alike("the bias of a linear layer", &bias, "its input", x);
    let (gamma, beta) = super::checked(norm, x, Runner::Cube);
    let part = cube::product(input, layer.weight.val()).reshape(x.dims());
    check::alike(what, &part, "the stream", x);
    let norm = (gamma, beta, norm.epsilon as f32);
    let (stream, normed) = cube::add(stream, part, bias, norm);
    (Stream::OnCard(stream), Input::Whole(normed))
}
