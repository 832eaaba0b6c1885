//! Memory for tables: an error where there is not enough, and large pages for large tables.

use alloc::vec;
use alloc::vec::Vec;
use core::hint::black_box;

use crate::error::PositionError;

/// The number of elements from which it is checked that memory suffices. Below, a failed allocation
/// aborts, as it does everywhere in Rust.
const CHECKED_FROM: usize = 1 << 24;

/// Zeroed memory for `rows × width` elements. For large sizes the operating system hands out zeroed
/// pages, so that zeroing takes no pass of its own.
pub(crate) fn zeroed<T: Copy + Default>(
    rows: usize,
    width: usize,
) -> Result<Vec<T>, PositionError> {
    check_room::<T>(rows, width)?;
    let mut memory = vec![T::default(); rows * width];
    use_large_pages(&mut memory);
    Ok(memory)
}

/// Refuses `rows × width` elements where there is not enough memory for them.
pub(crate) fn check_room<T>(rows: usize, width: usize) -> Result<(), PositionError> {
    let too_large = PositionError::TooLarge { rows, width };
    match rows.checked_mul(width) {
        None => Err(too_large),
        Some(len) if len < CHECKED_FROM => Ok(()),
        Some(len) => {
            let mut memory = Vec::<T>::new();
            let result = memory.try_reserve_exact(len);
            black_box(&memory); // or the compiler removes the unused allocation
            result.map_err(|_| too_large)
        }
    }
}

/// The size in bytes from which large pages are requested: as in NumPy.
#[cfg(all(feature = "std", target_os = "linux"))]
const LARGE: usize = 1 << 22;

/// Requests pages of 2 MiB for memory that is about to be written for the first time.
///
/// The first write to a page of 4 KiB costs the operating system more time than computing its
/// elements. Linux gives large pages on request where it is configured so (`madvise`, the default of
/// most distributions); on other systems this does nothing.
pub(crate) fn use_large_pages<T>(memory: &mut [T]) {
    #[cfg(all(feature = "std", target_os = "linux"))]
    if size_of_val(memory) >= LARGE {
        const PAGE: usize = 4096;
        let range = memory.as_mut_ptr_range();
        let start = range.start.addr().next_multiple_of(PAGE);
        let skipped = start - range.start.addr();
        // SAFETY: the range is inside `memory`, which is borrowed mutably here, and the advice does
        // not change its contents. Where the kernel refuses, the pages stay small.
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
