//! Asks the system for large pages under a large table.

use core::mem::MaybeUninit;

/// The bytes from which large pages pay: NumPy's threshold for the same request.
#[cfg(all(feature = "std", target_os = "linux"))]
const LARGE: usize = 1 << 22;

/// Prepares memory that is about to be written for the first time.
///
/// A page of 4 KiB costs the system more time when it is first touched than its entries take to
/// compute. Linux gives pages of 2 MiB to whoever asks, where it is set up to (`madvise`, the
/// default of most distributions); elsewhere nothing happens.
pub(crate) fn prepare<T>(memory: &mut [MaybeUninit<T>]) {
    #[cfg(all(feature = "std", target_os = "linux"))]
    if size_of_val(memory) >= LARGE {
        const PAGE: usize = 4096;
        let range = memory.as_mut_ptr_range();
        let start = range.start.addr().next_multiple_of(PAGE);
        let skipped = start - range.start.addr();
        // SAFETY: the range lies in memory that this function has for itself, and the advice
        // changes nothing in what it holds. Where the system does not know it, the pages stay small.
        unsafe {
            libc::madvise(
                range.start.byte_add(skipped).cast(),
                size_of_val(memory) - skipped,
                libc::MADV_HUGEPAGE,
            );
        }
    }
    #[cfg(not(all(feature = "std", target_os = "linux")))]
    let _ = memory;
}
