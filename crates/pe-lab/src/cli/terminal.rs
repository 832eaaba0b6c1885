//! What the commands print.

use std::io::{ErrorKind, Write};

use crate::console::tell;

/// Prints a line to standard output. A closed pipe is no error, since its reader has seen enough. Any
/// other failure, such as a full disk, ends the program.
pub(super) fn print_line(line: &str) {
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            tell(&format!("error: standard output: {error}"));
            std::process::exit(1);
        }
        _ => {}
    }
}
