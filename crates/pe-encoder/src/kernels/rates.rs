//! What a step of Adam takes beside tensors.

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
