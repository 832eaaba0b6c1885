//! Ctrl-C, and the signals by which a program is asked to end.

use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::error::LabError;
use crate::run::Stop;

/// How long a study or a training may take to end by itself. All of its files are whole at any moment.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Calls `stop` on Ctrl-C, when the terminal is closed, and when the program is asked to end. A program that is still there
/// after `patience`, or that is asked twice, is ended with this exit code: what it waits for may never come. A signal that was
/// ignored when the program started, as `nohup` does with that of a closed terminal, stays ignored.
pub(super) fn on_stop(
    patience: Duration,
    code: i32,
    stop: impl Fn() + Send + 'static,
) -> Result<(), LabError> {
    #[cfg(unix)]
    let ignored = unix::ignored();
    let asked = AtomicBool::new(false);
    let handler = move || {
        if asked.swap(true, Ordering::SeqCst) {
            exit(code);
        }
        stop();
        let end = move || {
            thread::sleep(patience);
            exit(code);
        };
        if thread::Builder::new().spawn(end).is_err() {
            exit(code);
        }
    };
    ctrlc::set_handler(handler).map_err(|error| match error {
        ctrlc::Error::System(source) => LabError::not_started("thread")(source),
        error => LabError::Usage(format!("cannot react to Ctrl-C: {error}")),
    })?;
    #[cfg(unix)]
    unix::ignore(&ignored);
    Ok(())
}

/// A [`Stop`] for the trials of a study, which is called on the same signals.
pub(super) fn stop_of_trials() -> Result<Stop, LabError> {
    let stop = Stop::default();
    let called = stop.clone();
    on_stop(PATIENCE, 1, move || called.now())?;
    Ok(stop)
}

#[cfg(unix)]
mod unix {
    use std::mem::MaybeUninit;

    use libc::{SIG_IGN, SIGHUP, SIGINT, SIGTERM, c_int};

    /// Which of the signals that `ctrlc` handles are ignored.
    pub fn ignored() -> Vec<c_int> {
        let is_ignored = |signal: &c_int| {
            let mut now = MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: without a new action the call only writes the present one to `now`, which is large
            // enough; all its bits are valid, also where the call fails and leaves zeros.
            let action = unsafe {
                libc::sigaction(*signal, std::ptr::null(), now.as_mut_ptr());
                now.assume_init()
            };
            action.sa_sigaction == SIG_IGN
        };
        [SIGHUP, SIGINT, SIGTERM]
            .into_iter()
            .filter(is_ignored)
            .collect()
    }

    /// Ignores signals.
    pub fn ignore(signals: &[c_int]) {
        for signal in signals {
            // SAFETY: to ignore a signal installs no code that would have to be safe in a handler.
            unsafe { libc::signal(*signal, SIG_IGN) };
        }
    }
}
