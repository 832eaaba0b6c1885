//! The bias of the attention scores, as the kernels take it.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, DispatchKindConversion, DispatchTensor};
use burn::tensor::{FloatDType, Tensor};
use pe_burn::autodiff::Operand;

/// The bias, told apart by whether the backward pass has to compute its gradient.
pub enum Bias<B: Backend> {
    /// The scheme has no bias.
    None,
    /// A bias without parameters, as ALiBi's, or with frozen ones. It gets no gradient.
    Constant(FloatTensor<B>),
    /// A bias that depends on parameters, as T5's. It is an input of the recorded operation.
    Tracked(Operand<B>),
}

impl<B> Bias<B>
where
    B: Backend,
    DispatchTensor: DispatchKindConversion<B> + DispatchKindConversion<Autodiff<B>>,
{
    /// `bias` is of any float type; the kernels compute in `f32`.
    pub fn new(bias: Option<Tensor<4>>) -> Self {
        let Some(bias) = bias else {
            return Self::None;
        };
        match Operand::of(bias.cast(FloatDType::F32)) {
            Operand::Plain(bias) => Self::Constant(bias),
            Operand::Tracked(bias) if !bias.is_tracked() => Self::Constant(bias.into_primitive()),
            tracked => Self::Tracked(tracked),
        }
    }
}
