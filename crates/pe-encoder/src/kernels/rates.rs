//! What a step of Adam takes beside a parameter and its gradient, and what it leaves for the next one.

use burn::optim::{AdamState, AdaptiveMomentumState};
use burn::tensor::Tensor;

/// What is the same for all elements of a parameter in one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// The largest norm of the gradient; none where it is not clipped.
    pub most: Option<f32>,
    /// β₁ and β₂.
    pub keep: [f32; 2],
    /// The bias corrections of both moments in one factor, √(1 − β₂ᵗ) / (1 − β₁ᵗ), and ε √(1 − β₂ᵗ), so that it is ε beside the
    /// corrected root.
    pub correction: f32,
    pub epsilon: f32,
    pub rate: f32,
}

/// The number of the step after this state, from 1, and both moments before it: zeros where it is the first.
pub fn before<const D: usize>(
    state: Option<AdamState<D>>,
    parameter: &Tensor<D>,
) -> (usize, [Tensor<D>; 2]) {
    match state {
        Some(AdamState { momentum: of }) => (of.time + 1, [of.moment_1, of.moment_2]),
        None => (1, [(); 2].map(|()| parameter.zeros_like())),
    }
}

/// The state after step number `time`.
pub fn after<const D: usize>(time: usize, [first, second]: [Tensor<D>; 2]) -> AdamState<D> {
    AdamState::new(AdaptiveMomentumState::new(time, first, second))
}
