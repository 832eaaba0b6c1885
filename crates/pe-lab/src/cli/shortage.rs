//! Panics of libraries that mean that the machine has run out of something.

use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::process::exit;

use crate::console::tell;

/// The bytes of address space that must be left for a backtrace: it maps the file of the program, and reads its symbols.
const BACKTRACE: usize = 256 << 20;

/// From now on a panic about what the system refuses, such as a thread, an open file or memory, ends the program with a
/// sentence and the exit code 1. Burn and the crates that it uses panic there, since they have no error to return. Other
/// panics are bugs, and are reported as usual.
pub(super) fn end_with_a_sentence() {
    let others = take_hook();
    set_hook(Box::new(move |panic| {
        match refusal(&message(panic), has_room(BACKTRACE)) {
            Some(sentence) => {
                tell(&sentence);
                exit(1);
            }
            None => others(panic),
        }
    }));
}

/// Whether so many bytes can be allocated.
fn has_room(bytes: usize) -> bool {
    Vec::<u8>::new().try_reserve_exact(bytes).is_ok()
}

fn message(panic: &PanicHookInfo<'_>) -> String {
    panic.payload_as_str().unwrap_or_default().to_string()
}

/// The sentence about a panic that quotes an error of the system, or that happens where too little memory is left for a
/// backtrace. With `RUST_BACKTRACE=1` the hook of the standard library writes one under a lock; if memory ends then, the
/// handler of failed allocations waits for the same lock for ever.
fn refusal(message: &str, has_room: bool) -> Option<String> {
    let line = message.lines().next().unwrap_or_default();
    let is_of_the_system = !has_room
        || line.contains("(os error ")
        || line.contains("Os { code: ")
        || line.contains("ThreadPoolBuildError");
    is_of_the_system.then(|| {
        format!(
            "error: the system refused what is needed: {line}. Something is at its limit, such as processes (ulimit \
             -u), open files (ulimit -n), memory (ulimit -v) or the disk; what was finished is kept, so run the same command again; a training \
             goes on with `pe-lab train --resume`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_refuses_is_said_and_a_mistake_is_a_mistake() {
        let source = std::io::Error::from_raw_os_error(11);
        for refused in [
            format!("failed to spawn thread: {source:?}"),
            format!("failed to read: {source}"),
            format!("The global thread pool: ThreadPoolBuildError {{ kind: IOError({source:?}) }}"),
        ] {
            let said = refusal(&refused, true).unwrap();
            assert!(said.starts_with("error: "), "{said}");
            assert!(said.contains(&refused), "{said}");
        }
        let mistake = "index out of bounds: the len is 3 but the index is 7";
        assert_eq!(refusal(mistake, true), None);
        assert!(refusal(mistake, false).unwrap().contains(mistake));
        assert!(has_room(1) && !has_room(isize::MAX as usize));
    }
}
