//! Steps of training on one batch.

use burn::module::Module;
use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::Tensor;

/// What takes a step: forward, backward, the optimizer, and the loss read back.
pub fn steps<M: Module + Clone + 'static, B: Clone, L: Fn(&M, B) -> Tensor<1>>(
    model: M,
    batch: B,
    loss: L,
    mut optimizer: ModuleOptimizer,
) -> impl FnMut() + use<M, B, L> {
    let mut model = Some(model);
    move || {
        let before = model.take().expect("put back after every step");
        let loss = loss(&before, batch.clone());
        let gradients = GradientsParams::from_grads(loss.backward(), &before);
        model = Some(optimizer.step(1e-3, before, gradients));
        assert!(loss.into_scalar::<f32>().is_finite());
    }
}
