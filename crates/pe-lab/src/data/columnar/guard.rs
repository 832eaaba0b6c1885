//! Panics of other crates, which a damaged file can cause.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether panics of this thread are silent.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// What `read` returns; `None` where it panics. Nothing is written to standard error then.
pub(super) fn guarded<T>(read: impl FnOnce() -> T) -> Option<T> {
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
    // Nothing is left of what it was working on.
    let read = catch_unwind(AssertUnwindSafe(read));
    IS_GUARDED.set(false);
    read.ok()
}
