//! What the commands print.

use std::io::{ErrorKind, IsTerminal, Write};

use crate::console::{moves_the_cursor, tell, visible, visible_json};

/// Prints a line for a person to standard output; what would be obeyed by a terminal is spelled out.
pub(super) fn print_line(line: &str) {
    write_line(&visible(line));
}

/// Prints a JSON text, with the same spelled out by its own escapes.
pub(super) fn print_json(text: &str) {
    write_line(&visible_json(text));
}

/// Prints lines for a program, such as a table or a script, as they are; on a terminal as [`print_line`].
pub(super) fn print_exact(lines: &str) {
    match std::io::stdout().is_terminal() {
        true => print_line(lines),
        false => write_line(lines),
    }
}

/// A closed pipe is no error, since its reader has seen enough. Any other failure, such as a full disk, ends the
/// program.
fn write_line(line: &str) {
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            tell(&format!("error: standard output: {error}"));
            std::process::exit(1);
        }
        _ => {}
    }
}

/// The most cells of a terminal on which the dashboard is drawn: it holds some of them in memory several times.
#[cfg(unix)]
const MOST_CELLS: usize = 1_000_000;

/// Whether standard output is a terminal of a size on which a dashboard can be drawn.
pub(super) fn has_dashboard() -> bool {
    let out = std::io::stdout();
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(&out)
        && usize::from(size.ws_row) * usize::from(size.ws_col) > MOST_CELLS
    {
        return false;
    }
    out.is_terminal() && moves_the_cursor()
}
