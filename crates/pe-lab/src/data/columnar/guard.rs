//! Panics of other crates, which a damaged file can cause.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use super::super::error::Problem;
use super::table::broken;

thread_local! {
    /// Whether panics of this thread are silent.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// What `read` returns. The crates of Arrow check some of what a file says by an assertion: a validity buffer that is too
/// short ends in a panic of arrow-buffer 60.1. Such a panic is returned as an error, and nothing of it is written to
/// standard error.
pub(super) fn guarded<T>(read: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_GUARDED.get() {
                usual(panic);
            }
        }));
    });
    IS_GUARDED.set(true);
    // Nothing that a panic leaves unfinished is used afterwards.
    let read = catch_unwind(AssertUnwindSafe(read));
    IS_GUARDED.set(false);
    let damaged = || broken("Parquet or Arrow", "what it says of its sizes is not so");
    read.unwrap_or_else(|_| Err(damaged()))
}
