//! Trainings have the losses of PyTorch, in `f64`. A process of its own: the default type of floats is set once.

mod pytorch;

use burn::tensor::{DType, Device, FloatDType};

#[test]
fn a_training_of_100_steps_has_the_losses_of_pytorch() {
    let mut device = Device::flex();
    device.configure(FloatDType::F64).unwrap();
    pytorch::compare(&device, DType::F64, |_| 1e-12);
}
