//! The program as a process.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A model that trains and is tested in a small part of the time of the usual one, for tests of everything but the model.
pub const SMALL: [&str; 8] = [
    "--d-model",
    "16",
    "--layers",
    "1",
    "--heads",
    "2",
    "--d-ff",
    "32",
];

/// A part of a study in which there is hardly ever a trial: what a dry run says of the study comes without the time of any.
pub const NO_TRIAL: &str = "0/100000";

/// The program, to be given arguments.
pub fn lab() -> Command {
    hearing(Command::new(assert_cmd::cargo::cargo_bin!("pe-lab")))
}

/// The command, with no signal ignored: tests that run in the background or behind `nohup` ignore some, and so
/// would what they start.
pub fn hearing(mut command: Command) -> Command {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        let hear = || {
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
                // SAFETY: the call may be made between fork and exec, and installs no handler.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
            Ok(())
        };
        // SAFETY: `hear` allocates nothing and takes no lock.
        unsafe { command.pre_exec(hear) };
    }
    command
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

/// Runs the program in a folder.
pub fn run_in(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    ended(lab().args(arguments).current_dir(folder))
}

/// The end of a process that must not take more seconds than these; `None` if it does. It is -1 for one that a signal ended.
pub fn end_of(child: &mut Child, within: u64) -> Option<i32> {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(within) {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.code().unwrap_or(-1));
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

/// The exit code and what was said on standard error, of a command that might wait for ever.
pub fn ended_in_time(command: &mut Command) -> (i32, String) {
    let said = tempfile::NamedTempFile::new().unwrap();
    command.stdout(Stdio::null()).stderr(said.reopen().unwrap());
    let mut child = command.spawn().unwrap();
    let code = end_of(&mut child, 120);
    let said = fs::read_to_string(said.path()).unwrap();
    (code.unwrap_or_else(|| panic!("it hangs: {said}")), said)
}

/// Sends a signal, such as `-TERM`, to a process, or to a group of them with a `-` before its number.
#[cfg(unix)]
pub fn send(signal: &str, to: &str) {
    let sent = Command::new("kill")
        .args([signal, "--", to])
        .status()
        .unwrap();
    assert!(sent.success());
}

/// The same program behind a line of shell that sets something up first.
#[cfg(unix)]
pub fn behind(setup: &str, command: &Command) -> Command {
    let mut shell = hearing(Command::new("sh"));
    shell.args(["-c", &format!("{setup}; exec \"$@\""), "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}
