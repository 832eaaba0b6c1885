//! Lines for a person, on standard error.

use std::io::Write;

/// Prints a line to standard error, if anybody is there to read it. A closed terminal or a full disk behind it
/// must not end a study, which `eprintln!` would do.
pub fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
