//! The step of Adam for any number of parameters, as one operation that Burn's fusion queues.

use burn::backend::Cube;
use burn::backend::fusion::custom::{
    CustomOpIr, HandleContainer, OperationFn, OperationIr, StreamId, TensorIr,
};
use burn::backend::fusion::{FusionBackend, FusionRuntime};
use burn::backend::tensor::FloatTensor;
use burn::optim::AdamState;
use burn::tensor::{DType, Tensor};
use burn_cubecl::CubeBackend;

use super::adam;
use super::{primitive, tensor};
use crate::kernels::rates::{Rates, after, before};

type Handles =
    HandleContainer<<<CubeBackend as FusionBackend>::FusionRuntime as FusionRuntime>::FusionHandle>;

/// Whether the parameter is one that [`step`] can take: `f32` on a graphics card.
pub fn takes<const D: usize>(parameter: &Tensor<D>) -> bool {
    let device = parameter.device();
    parameter.dtype() == DType::F32 && !device.is_autodiff() && pe_burn::is_card(&device)
}

/// A step of Adam for a parameter: its new values, and the new state.
pub fn step<const D: usize>(
    rates: Rates,
    parameter: Tensor<D>,
    gradient: Tensor<D>,
    state: Option<AdamState<D>>,
) -> (Tensor<D>, Option<AdamState<D>>) {
    let waiting = Waiting::new(parameter, gradient, state, None);
    let mut stepped = step_all(vec![waiting], rates);
    let (parameter, state) = stepped.remove(0).into_parts();
    (parameter, Some(state))
}

/// A step of Adam for parameters of one device, in their order. Those that decay do so by the same number.
pub fn step_all(waiting: Vec<Waiting>, rates: Rates) -> Vec<Stepped> {
    let Some(first) = waiting.first() else {
        return Vec::new();
    };
    let client = first.tensors[0].client.clone();
    let mut outputs = Vec::new();
    let mut inputs = Vec::new();
    let mut times = Vec::new();
    let decay = waiting.iter().find_map(|of| of.decay).unwrap_or(1.0);
    for Waiting {
        tensors,
        time,
        decay,
    } in waiting
    {
        for x in &tensors[..3] {
            let id = client.create_empty_handle();
            outputs.push(TensorIr::uninit(id, x.shape.clone(), x.dtype));
        }
        inputs.push((tensors.map(|x| x.into_ir()), decay.is_some()));
        times.push(time);
    }
    let description = CustomOpIr {
        id: "enc_adam".into(),
        inputs: inputs.iter().flat_map(|(of, _)| of).cloned().collect(),
        outputs: outputs.clone(),
        scalars: Vec::new(),
    };
    let run = OperationFn(move |handles: &mut Handles| {
        let inputs = inputs.iter().map(|(of, decays)| adam::Inputs {
            tensors: of
                .each_ref()
                .map(|ir| handles.get_float_tensor::<CubeBackend>(ir)),
            decays: *decays,
        });
        let inputs = inputs.collect();
        let written = adam::step(inputs, rates, decay);
        for (ir, x) in outputs.iter().zip(written.into_iter().flatten()) {
            handles.register_float_tensor::<CubeBackend>(&ir.id, x);
        }
        Ok(())
    });
    let operation = OperationIr::Custom(description);
    let mut written = client
        .register(StreamId::current(), operation, run)
        .into_iter();
    let mut next = || written.next().expect("three tensors for each parameter");
    times
        .into_iter()
        .map(|time| Stepped {
            tensors: [next(), next(), next()],
            time,
        })
        .collect()
}

/// A parameter that waits for its step.
pub struct Waiting {
    /// Its values, both moments and the gradient, of the same shape.
    tensors: [FloatTensor<Cube>; 4],
    time: usize,
    /// The factor of its values before the step, if it decays.
    decay: Option<f32>,
}

/// A parameter after its step: its values and both moments.
pub struct Stepped {
    tensors: [FloatTensor<Cube>; 3],
    time: usize,
}

impl Waiting {
    pub fn new<const D: usize>(
        parameter: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<AdamState<D>>,
        decay: Option<f32>,
    ) -> Self {
        let (time, [first, second]) = before(state, &parameter);
        let tensors = [parameter, first, second, gradient].map(primitive);
        Self {
            tensors,
            time,
            decay,
        }
    }
}

impl Stepped {
    /// The new values of a parameter of rank `D`, and its state.
    pub fn into_parts<const D: usize>(self) -> (Tensor<D>, AdamState<D>) {
        let [parameter, moments @ ..] = self.tensors.map(tensor);
        (parameter, after(self.time, moments))
    }
}
