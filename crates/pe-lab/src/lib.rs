//! The laboratory: which positional encoding, for which data?
//!
//! A study trains a small transformer encoder with every positional scheme on every task, once per
//! seed, tests it, and writes a report that says which scheme did best and how sure that is.
//!
//! # The pipeline
//!
//! A study goes through four modules, in this order:
//!
//! 1. [`ask`]: what is to be run, as plain data. A [`Plan`](ask::Plan) is what a person writes; a
//!    [`StudySpec`](ask::StudySpec) is the plan with nothing left open; it has one
//!    [`TrialSpec`](ask::TrialSpec) per scheme, task and seed.
//! 2. [`run`]: a [`Study`](run::Study) owns the spec, its tasks and its folder, and runs each trial
//!    in a worker process.
//! 3. [`learn`]: what happens inside one trial. The model is built, trained and tested.
//! 4. [`report`]: the results become tables, charts, a verdict and one HTML page.
//!
//! Below them:
//!
//! - [`task`] defines what a model has to learn; [`data`] makes a task of a user's own file.
//! - [`folder`] knows the name of every file of a study.
//! - [`draw`] draws pages, axes and lines, in one set of colours; [`plot`] draws the pictures that
//!   explain an encoding.
//! - [`inspect`] tells what positions do in a model from Hugging Face.
//! - [`serve`] shows an encoding and a study on a web page.
//! - [`stats`] says what the numbers show and how sure that is, apart from any study.
//! - [`cli`] is the command line on top of all of it.
//!
//! A program of one's own adds other schemes, tasks or networks to a [`Lab`]; the built-in ones are added by the same
//! calls.
//!
//! # Imports go one way
//!
//! A module imports only from modules above it in this list:
//!
//! ```text
//! rng, grouped      random numbers on the host; thousands separators
//! console           lines on standard error
//! stats             imports rng
//! names             what a person may have meant
//! erased            a module of any type behind one type
//! door              the files of a study, without links and pipes
//! task              imports rng
//! data              imports task, door, names
//! error             imports data, names
//! device            imports error
//! folder            imports data, door
//! ask               imports task, data, folder, device, erased, and the crate pe-encoder
//! learn             imports ask
//! run               imports learn
//! draw              imports ask, folder
//! plot              imports draw
//! inspect           imports draw
//! report            imports run, learn, plot, draw, stats
//! serve             imports run, learn, draw
//! cli               imports everything
//! ```

#![warn(missing_docs)]
#![recursion_limit = "256"]

pub mod ask;
pub mod cli;
pub mod console;
pub mod data;
pub mod device;
pub mod door;
pub mod draw;
mod erased;
pub mod error;
pub mod folder;
mod grouped;
pub mod inspect;
pub mod learn;
#[cfg(any(feature = "wgpu", feature = "vulkan"))]
mod memory;
pub mod names;
pub mod plot;
pub mod report;
pub mod rng;
pub mod run;
#[cfg(test)]
mod said;
pub mod serve;
pub mod stats;
pub mod task;

pub use ask::{Lab, Network, PositionsFrom, SchemeConfig, SchemeEntry, Sizes};

/// The allocator of `pe-lab`. Training allocates and frees large arrays at every step; the system's allocator returns their
/// memory to the operating system, which takes a third of the time of a step, and this one keeps it. A program of one's own
/// uses it with two lines:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: pe_lab::MiMalloc = pe_lab::MiMalloc;
/// # fn main() {}
/// ```
pub use mimalloc::MiMalloc;
