//! The program as a process.

use std::process::Command;

/// The program, to be given arguments.
pub fn lab() -> Command {
    Command::new(assert_cmd::cargo::cargo_bin!("pe-lab"))
}

/// Runs a command to its end: exit code, standard output, standard error.
pub fn ended(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}
