//! What a study runs, as plain data.
//!
//! - [`Plan`]: what a person writes, in a `study.toml` or as flags. It may leave things open.
//! - [`StudySpec`]: a plan with nothing left open. Two studies with the same spec have the same
//!   numbers, apart from times.
//! - [`TrialSpec`]: one scheme on one task at one seed.
//! - [`Scheme`], [`Recipe`] and [`ModelSpec`]: the positional scheme, the way of training, and the
//!   sizes of the model.
//! - [`StepCount`]: for how many steps a task is trained, or that it is trained until it has converged.
//! - [`Shard`]: a part of a study, for one of several machines.
//! - [`TestScaling`]: a scaling of RoPE that a language model is tested with.
//! - [`AtResolution`]: what a scheme does with images of another resolution.
//! - [`Tasks`]: where the name of a task is looked up.
//! - [`Lab`]: the schemes, tasks and networks that have a name, the built-in ones and a person's own. A
//!   [`SchemeConfig`] makes a scheme, and a [`Network`] takes the place of the encoder.

mod built_in;
mod encoding;
mod fields;
mod interpolated;
mod lab;
mod layers;
mod model;
mod network;
mod plan;
mod positional;
mod recipe;
mod registry;
mod resolution;
mod scaling;
mod scheme;
mod settings;
mod shard;
mod sizes;
mod steps;
mod study;
mod task_settings;
mod tasks;
mod trial;
mod tuning;
mod versions;

pub use built_in::REFUSED;
pub use encoding::{Encoding, SchemeConfig};
pub use fields::{check_takes_place_of, difference_in_words, differing, fields_of};
pub use lab::{Lab, PositionsFrom, SchemeEntry};
pub use layers::LayerRecipe;
pub use model::{ACTIVATIONS, ModelSpec, NORMS};
pub use network::{ENCODER, Network};
pub use plan::{All, Names, PRESETS, Plan, Seeds, Steps, Until, test_scalings};
pub(crate) use positional::normal;
pub use recipe::{Recipe, Schedule};
pub use registry::{code, network, networks, task_names};
pub use resolution::AtResolution;
pub use scaling::{Lengths, OTHER_SCALINGS, SCALINGS, TestScaling};
pub use scheme::{PositionSource, Scheme};
pub use shard::Shard;
pub use sizes::Sizes;
pub use steps::{MAX_STEPS, StepCount, steps_in_words};
pub use study::{Grown, StudySpec, TaskSteps};
pub use tasks::Tasks;
pub use trial::{CHOOSING, TrialSpec};
pub use tuning::{Attempt, ChosenRate, Search, TUNING_SEED, Tuned, rates_in_words};
pub use versions::{CODE, Versions};
