//! Custom operations in Burn's autodiff graph.

use core::fmt::Debug;
use core::marker::PhantomData;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, DispatchKindConversion, DispatchTensor};
use burn::tensor::Tensor;

/// The backward pass of an operation on `N` tensors, with the state that the forward pass saved for it.
pub trait Operation<B: Backend, const N: usize>: Clone + Debug + Send + 'static {
    /// The gradient of each input, given the gradient of the output.
    fn backward(self, gradient: FloatTensor<B>) -> [FloatTensor<B>; N];
}

/// A tensor of one backend, tracked by autodiff or not, of any rank.
pub enum Operand<B: Backend> {
    /// Not tracked.
    Plain(FloatTensor<B>),
    /// Tracked: the backward pass gives it a gradient.
    Tracked(FloatTensor<Autodiff<B>>),
}

impl<B> Operand<B>
where
    B: Backend,
    DispatchTensor: DispatchKindConversion<B> + DispatchKindConversion<Autodiff<B>>,
{
    /// The operand of a tensor that is on this backend, without gradient checkpointing.
    ///
    /// # Panics
    ///
    /// When the tensor is on another backend.
    pub fn of<const D: usize>(x: Tensor<D>) -> Self {
        let found = "a tensor of backend B";
        match x.device().is_autodiff() {
            true => Self::Tracked(x.try_into_primitive::<Autodiff<B>>().expect(found)),
            false => Self::Plain(x.try_into_primitive::<B>().expect(found)),
        }
    }

    /// The tensor, of rank `D`.
    pub fn tensor<const D: usize>(self) -> Tensor<D> {
        match self {
            Self::Plain(x) => Tensor::from_primitive::<B>(x),
            Self::Tracked(x) => Tensor::from_primitive::<Autodiff<B>>(x),
        }
    }
}

/// Runs the forward pass of an operation, and records its backward pass where one of the inputs is
/// tracked.
pub fn apply<B: Backend, O: Operation<B, N>, const N: usize>(
    inputs: [Operand<B>; N],
    forward: impl FnOnce([FloatTensor<B>; N]) -> (FloatTensor<B>, O),
) -> Operand<B> {
    if inputs.iter().all(|x| matches!(x, Operand::Plain(_))) {
        let inputs = inputs.map(|x| match x {
            Operand::Plain(x) => x,
            Operand::Tracked(_) => unreachable!("checked above"),
        });
        return Operand::Plain(forward(inputs).0);
    }
    let inputs = inputs.map(|x| match x {
        Operand::Plain(x) => FloatTensor::<Autodiff<B>>::new(x),
        Operand::Tracked(x) => x,
    });
    let record = record(inputs.each_ref(), Recorded::<O>(PhantomData));
    let (output, kept) = forward(inputs.map(|x| x.into_primitive()));
    Operand::Tracked(record(output, kept))
}

/// As [`apply`], for an operation that treats every input alike: each output depends only on the input of the same index.
pub fn apply_each<B: Backend, O: Operation<B, 1>, const N: usize>(
    inputs: [Operand<B>; N],
    forward: impl FnOnce([FloatTensor<B>; N]) -> [(FloatTensor<B>, O); N],
) -> [Operand<B>; N] {
    let recorders = inputs.each_ref().map(|x| match x {
        Operand::Plain(_) => None,
        Operand::Tracked(x) => Some(record([x], Recorded::<O>(PhantomData))),
    });
    let outputs = forward(inputs.map(|x| match x {
        Operand::Plain(x) => x,
        Operand::Tracked(x) => x.into_primitive(),
    }));
    let mut recorders = recorders.into_iter();
    outputs.map(|(output, kept)| match recorders.next().flatten() {
        None => Operand::Plain(output),
        Some(record) => Operand::Tracked(record(output, kept)),
    })
}

/// Keeps the gradient of a view, which is not passed along the graph to the viewed tensor.
pub trait Kept<B: Backend>: Clone + Debug + Send + 'static {
    /// Stores the gradient. An operation earlier in the graph adds it to the gradient of the viewed tensor.
    fn keep(self, gradient: FloatTensor<B>);
}

/// As [`apply`], for a view whose gradient is [kept](Kept::keep). The viewed tensor must also get a gradient from another
/// operation.
pub fn view<B: Backend, O: Kept<B>>(
    input: Operand<B>,
    forward: impl FnOnce(FloatTensor<B>) -> (FloatTensor<B>, O),
) -> Operand<B> {
    match input {
        Operand::Plain(x) => Operand::Plain(forward(x).0),
        Operand::Tracked(x) => {
            let record = record([&x], View::<O>(PhantomData));
            let (output, kept) = forward(x.into_primitive());
            Operand::Tracked(record(output, kept))
        }
    }
}

/// Returns a closure that records the backward step of an operation on these inputs. Call it after the forward pass.
fn record<B: Backend, S: Backward<B, N>, const N: usize>(
    inputs: [&FloatTensor<Autodiff<B>>; N],
    step: S,
) -> impl FnOnce(FloatTensor<B>, S::State) -> FloatTensor<Autodiff<B>> + use<B, S, N> {
    let nodes = inputs.map(|x| x.node());
    let prepared = step.prepare::<NoCheckpointing>(nodes).compute_bound();
    move |output, kept| match prepared.stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(kept, output),
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    }
}

#[derive(Debug)]
struct Recorded<O>(PhantomData<O>);

impl<B: Backend, O: Operation<B, N>, const N: usize> Backward<B, N> for Recorded<O> {
    type State = O;

    fn backward(self, ops: Ops<O, N>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradients.consume::<B>(&ops.node);
        for (parent, gradient) in ops.parents.into_iter().zip(ops.state.backward(gradient)) {
            if let Some(parent) = parent {
                gradients.register::<B>(parent.id, gradient);
            }
        }
    }
}

#[derive(Debug)]
struct View<O>(PhantomData<O>);

impl<B: Backend, O: Kept<B>> Backward<B, 1> for View<O> {
    type State = O;

    fn backward(self, ops: Ops<O, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        ops.state.keep(gradients.consume::<B>(&ops.node));
    }
}
