//! What the commands share: printing, and Ctrl-C.

use std::io::{ErrorKind, Write};

use crate::error::LabError;

/// Prints a line to standard output. A closed pipe is no error, since its reader has seen enough. Any
/// other failure, such as a full disk, ends the program.
pub(super) fn print_line(line: &str) {
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("error: standard output: {error}");
            std::process::exit(1);
        }
        _ => {}
    }
}

/// Calls `stop` on Ctrl-C, and when the program is asked to end.
pub(super) fn on_stop(stop: impl Fn() + Send + 'static) -> Result<(), LabError> {
    ctrlc::set_handler(stop)
        .map_err(|error| LabError::Usage(format!("cannot react to Ctrl-C: {error}")))
}
