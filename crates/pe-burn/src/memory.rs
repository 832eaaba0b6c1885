//! Memory for a large table: whether there is so much, and in large pages.

use alloc::vec::Vec;
use core::hint::black_box;
use core::mem::MaybeUninit;

use crate::error::PositionError;

/// Room for so many rows. Zeroing it would be a pass of its own, as long as the arithmetic.
pub(crate) fn room<T>(rows: usize, d_model: usize) -> Result<Vec<T>, PositionError> {
    let too_large = PositionError::TooLarge { rows, d_model };
    let mut entries = Vec::new();
    match rows.checked_mul(d_model) {
        Some(len) => entries.try_reserve_exact(len).map_err(|_| too_large)?,
        None => return Err(too_large),
    }
    Ok(entries)
}

/// Refuses rows for which there is no room, where somebody else is to make it.
pub(crate) fn check_room<T>(rows: usize, d_model: usize) -> Result<(), PositionError> {
    // A compiler may leave out memory that nobody uses.
    black_box(room::<T>(rows, d_model)?);
    Ok(())
}

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
