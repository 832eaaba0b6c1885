//! What the commands print.

use std::io::{ErrorKind, IsTerminal, Write};

use crate::console::{tell, visible, visible_json};
use crate::error::LabError;

/// Prints a line for a person to standard output; characters that a terminal would act on are escaped.
pub(super) fn print_line(line: &str) {
    or_end(write_line(line));
}

/// Prints a line as [`print_line`] does, but leaves it to the caller what to do when that fails.
pub(super) fn write_line(line: &str) -> Result<(), LabError> {
    write(&visible(line))
}

/// Prints a JSON text; the same characters are written with the escapes of JSON.
pub(super) fn print_json(text: &str) {
    or_end(write(&visible_json(text)));
}

/// Prints lines for a program, such as a table or a script, unchanged; on a terminal as [`print_line`].
pub(super) fn print_exact(lines: &str) {
    match std::io::stdout().is_terminal() {
        true => print_line(lines),
        false => or_end(write(lines)),
    }
}

/// A closed pipe is no error, since its reader has seen enough. Others are, such as a full disk.
fn write(line: &str) -> Result<(), LabError> {
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(LabError::file("standard output".as_ref())(error))
        }
        _ => Ok(()),
    }
}

/// Ends the program when standard output cannot be written.
fn or_end(written: Result<(), LabError>) {
    if let Err(error) = written {
        tell(&format!("error: {error}"));
        std::process::exit(1);
    }
}
