//! Panics of libraries that mean that the machine has run out of something.

use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::process::exit;

use crate::console::tell;

/// From now on a panic about what the system refuses, such as a thread, an open file or memory, ends the program with
/// a sentence and the exit code 1. Burn and the crates below it start threads and read files without a way to say that
/// it failed. Other panics are mistakes, and stay what they are.
pub(super) fn end_with_a_sentence() {
    let others = take_hook();
    set_hook(Box::new(move |panic| match refusal(&message(panic)) {
        Some(sentence) => {
            tell(&sentence);
            exit(1);
        }
        None => others(panic),
    }));
}

fn message(panic: &PanicHookInfo<'_>) -> String {
    panic.payload_as_str().unwrap_or_default().to_string()
}

/// The sentence about a panic that quotes an error of the system.
fn refusal(message: &str) -> Option<String> {
    let line = message.lines().next().unwrap_or_default();
    let is_of_the_system = line.contains("(os error ")
        || line.contains("Os { code: ")
        || line.contains("ThreadPoolBuildError");
    is_of_the_system.then(|| {
        format!(
            "error: the system refused what is needed: {line}. Something is at its limit, such as processes (ulimit \
             -u), open files (ulimit -n), memory or the disk; what was finished is kept, so run the same command again"
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
            let said = refusal(&refused).unwrap();
            assert!(
                said.starts_with("error: ") && said.contains(&refused),
                "{said}"
            );
        }
        assert_eq!(
            refusal("index out of bounds: the len is 3 but the index is 7"),
            None
        );
    }
}
