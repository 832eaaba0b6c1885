//! What happens inside one trial: a model is built, trained and tested.
//!
//! | file | what it holds |
//! |---|---|
//! | `batch` | samples as tensors, padded and with their positions |
//! | `model` | the reference model: a small transformer encoder around one positional scheme |
//! | `training` | the training loop |
//! | `schedule` | the learning rate of every step |
//! | `held_out` | the loss on held-out sequences along a training |
//! | `losses` | the losses of a training |
//! | `checkpoints` | checkpoints, each written whole or not at all, from which a training can go on |
//! | `convergence` | whether a training has converged |
//! | `evaluation` | scores by length, by position and by depth |
//! | `generation` | what a decoder writes after a prompt |
//! | `cost` | what a scheme costs: time and memory |

mod batch;
mod checkpoints;
mod convergence;
mod cost;
mod evaluation;
mod generation;
mod held_out;
mod language;
mod losses;
mod model;
mod schedule;
#[cfg(test)]
mod testing;
mod training;

pub use batch::{InputTensor, TensorBatch};
pub use checkpoints::{Checkpoints, EPOCH, LastCheckpoint, last_checkpoint};
pub use convergence::{STILL_FALLING, has_converged};
pub use cost::{Cost, cost_lengths, measure_cost};
pub use evaluation::{
    DEPTHS, DepthScore, Keep, LengthScore, PositionScore, RowOutcomes, evaluate, forecast, numbers,
    probabilities,
};
pub use generation::{Generated, generate};
pub use language::{
    LanguageScores, Scaled, Sliding, TEMPERATURE, TEST_ONLY, Written, evaluate_language,
};
pub use losses::CurvePoint;
pub use model::{Model, TOKEN_STD, parameter_bits};
pub use training::{Job, OnHeldOut, Trained, Watch, train};
