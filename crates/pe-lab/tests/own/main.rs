//! Schemes, tasks and networks of another crate in a laboratory. This program is that laboratory: called with a command it
//! is `pe-lab` with them, so that the studies of the tests run it, and their workers too. Without one it runs the tests.

#[path = "../common/mod.rs"]
mod common;
mod programs;
mod schemes;
#[path = "../served/mod.rs"]
mod served;
mod tests;

use std::process::ExitCode;

use libtest_mimic::Arguments;
use pe_lab::Lab;

/// What the tests call; the rest is arguments of the tests.
const COMMANDS: [&str; 6] = ["compare", "trial", "merge", "predict", "costs", "schemes"];

fn main() -> ExitCode {
    let lab = schemes::added_to(Lab::built_in());
    let command = std::env::args().nth(1);
    if command.is_some_and(|command| COMMANDS.contains(&&command[..])) {
        return lab.main();
    }
    lab.install();
    libtest_mimic::run(&Arguments::from_args(), tests::all()).exit_code()
}
