//! The program as its users see it: what it prints and writes, and what it refuses.
//!
//! One test program, with a module for each subject, since linking one takes seconds and the modules run beside each other:
//! `cargo test --workspace --test program -- growth::` runs those of one.

#[path = "../bars/mod.rs"]
mod bars;
#[path = "../common/mod.rs"]
mod common;
#[path = "../rows/mod.rs"]
mod rows;
#[path = "../served/mod.rs"]
mod served;

mod around;
#[cfg(unix)]
mod attacked;
mod causal;
mod cli;
mod converged;
mod costs;
mod damaged;
mod data;
#[cfg(target_os = "linux")]
mod folders;
mod forms;
mod growth;
mod guide;
mod images;
mod inspect;
#[cfg(unix)]
mod interrupted;
#[cfg(unix)]
mod links;
mod paper;
mod plot;
mod predict;
#[cfg(unix)]
mod series;
#[cfg(unix)]
mod serve;
#[cfg(unix)]
mod shards;
#[cfg(target_os = "linux")]
mod terminal;
mod train;
mod trends;
mod tune;
