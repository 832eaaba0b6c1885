//! The program as a process.

use std::process::Command;

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
