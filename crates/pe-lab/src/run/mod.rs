//! Running a study: its folder, its worker processes, its results.
//!
//! | file | what it holds |
//! |---|---|
//! | `study` | [`Study`]: a spec, its tasks and its folder, and all that can be done with them |
//! | `claim` | making a folder the study's own, for one process at a time |
//! | `lock` | one process at a time in a folder |
//! | `data_copy` | the study's own copy of the user's data |
//! | `estimate` | how long the trials will take |
//! | `budget` | how many seeds and steps fit into a time |
//! | `step` | the memory that a training step takes at least |
//! | `tune` | choosing a learning rate for every scheme on every task |
//! | `winner` | the scheme that scored highest |
//! | `merge` | several folders of one study become one |
//! | `costs` | what the schemes cost, measured one at a time |
//! | `machine` | the machine that a trial ran on |
//! | `measure` | measuring what each scheme costs |
//! | `provenance` | which code computed the results |
//! | `worker` | trials as processes of their own |
//! | `progress` | bars on a terminal, lines elsewhere |
//! | `trial` | one trial: build the model, train it, test it |

mod budget;
mod claim;
mod costs;
mod data_copy;
mod estimate;
mod lock;
mod machine;
mod measure;
mod merge;
mod progress;
mod provenance;
mod step;
mod study;
mod trial;
mod tune;
mod winner;
mod worker;

pub use budget::{Budget, Fitting, Open};
pub use costs::{Costs, SchemeCosts};
pub use data_copy::{keep_data, kept_tasks};
pub use estimate::{Estimate, TrialTimes, in_words};
pub use lock::Lock;
pub(crate) use machine::join_kernels;
pub use machine::{Machine, cores};
pub use measure::serve_cost;
pub use merge::merge;
pub use progress::{Bars, Progress};
pub use provenance::{codes, provenance};
pub use step::check_room;
pub use study::{Outcomes, Study};
pub use trial::{
    MOST_BYTES, Measures, Outcome, Timing, TrialResult, read_encoding, read_weights, run_trial,
};
pub use tune::Choices;
pub use winner::Winner;
pub use worker::{Crew, Stop, serve};
