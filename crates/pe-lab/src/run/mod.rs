//! Running a study: its folder, its worker processes, its results.
//!
//! | file | what it holds |
//! |---|---|
//! | `study` | [`Study`]: a spec, its tasks and its folder, and all that can be done with them |
//! | `claim` | making a folder the study's own, for one process at a time |
//! | `data_copy` | the study's own copy of the user's data |
//! | `estimate` | how long the trials will take |
//! | `budget` | how many seeds and steps fit into a time |
//! | `tune` | choosing a learning rate for every scheme on every task |
//! | `winner` | the scheme that scored highest |
//! | `merge` | several folders of one study become one |
//! | `machine` | the machine that a trial ran on |
//! | `worker` | trials as processes of their own |
//! | `progress` | bars on a terminal, lines elsewhere |
//! | `trial` | one trial: build the model, train it, test it |

mod budget;
mod claim;
mod data_copy;
mod estimate;
mod machine;
mod merge;
mod progress;
mod study;
mod trial;
mod tune;
mod winner;
mod worker;

pub use budget::{Budget, Fitting, Open};
pub use data_copy::{keep_data, kept_tasks};
pub use estimate::{Estimate, TrialTimes, in_words};
pub use machine::Machine;
pub use merge::merge;
pub use progress::{Bars, Progress};
pub use study::{Outcomes, Study};
pub use trial::{Measures, Outcome, Timing, TrialResult, read_encoding, run_trial};
pub use winner::Winner;
pub use worker::{Crew, Stop, cores, serve};
