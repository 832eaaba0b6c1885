//! Memory for tables: an error where there is not enough, and large pages for large tables.

use alloc::format;
use alloc::vec::Vec;
use core::hint::black_box;

use burn::tensor::Device;

use crate::error::PositionError;

/// The number of elements from which it is checked that memory suffices. Below, a failed allocation
/// aborts, as it does everywhere in Rust.
const CHECKED_FROM: usize = 1 << 24;

/// Refuses `rows × width` elements where the memory of the host is not enough for them.
pub(crate) fn check_room<T>(rows: usize, width: usize) -> Result<(), PositionError> {
    let too_large = PositionError::TooLarge { rows, width };
    match rows.checked_mul(width) {
        None => Err(too_large),
        Some(len) if len < CHECKED_FROM => Ok(()),
        Some(len) => {
            let mut memory = Vec::<T>::new();
            let reserved = memory.try_reserve_exact(len).is_ok();
            black_box(&memory); // or the compiler removes the unused allocation
            drop(memory);
            match reserved && room().is_none_or(|room| len.saturating_mul(size_of::<T>()) <= room) {
                true => Ok(()),
                false => Err(too_large),
            }
        }
    }
}

/// As [`check_room`], for a tensor on a device, which may have memory of its own.
pub(crate) fn check_room_on<T>(
    device: &Device,
    rows: usize,
    width: usize,
) -> Result<(), PositionError> {
    let too_large = PositionError::TooLarge { rows, width };
    let Some(len) = rows.checked_mul(width) else {
        return Err(too_large);
    };
    match len < CHECKED_FROM {
        true => Ok(()),
        false => match largest_tensor(device) {
            None => check_room::<T>(rows, width),
            Some(most) if len.saturating_mul(size_of::<T>()) <= most => Ok(()),
            Some(_) => Err(too_large),
        },
    }
}

/// As [`check_room_on`], for a tensor of this shape in `f32`.
pub(crate) fn check_shape_on<const D: usize>(
    device: &Device,
    shape: [usize; D],
) -> Result<(), PositionError> {
    let (width, rows) = shape.split_last().unwrap_or((&1, &[]));
    let rows = rows.iter().copied().fold(1, usize::saturating_mul);
    check_room_on::<f32>(device, rows, *width)
}

/// The most bytes of a tensor on a device with memory of its own; `None` for a device that computes in the memory of the
/// processor. Only a graphics card can be asked, and only with a feature for one: of others no bound is known but that of an
/// address.
fn largest_tensor(device: &Device) -> Option<usize> {
    let device = device.clone().inner();
    #[cfg(feature = "cube")]
    if super::cube::is_card(&device) {
        return Some(super::cube::largest_tensor(&device));
    }
    // This crate does not know which backends the application has enabled, so devices are told apart by name.
    let name = format!("{:?}", device.as_dispatch());
    let own = ["Flex(", "NdArray(", "LibTorch(Cpu", "Cube(Cpu"];
    let on_processor = own.iter().any(|own| name.starts_with(own));
    (!on_processor).then_some(isize::MAX as usize)
}

/// How many more bytes this process may use; `None` where the system does not say.
///
/// A successful allocation is no proof: Linux grants more than it has, and ends the process that then writes to it.
pub fn room() -> Option<usize> {
    #[cfg(all(feature = "std", target_os = "linux"))]
    return super::limits::room(std::path::Path::new("/"));
    #[cfg(not(all(feature = "std", target_os = "linux")))]
    None
}

/// The size in bytes from which large pages are requested: as in NumPy.
#[cfg(all(feature = "std", target_os = "linux"))]
const LARGE: usize = 1 << 22;

/// Requests pages of 2 MiB for memory that is about to be written for the first time.
///
/// The first write to a page of 4 KiB costs the operating system more time than computing its
/// elements. Linux gives large pages on request where it is configured so (`madvise`, the default of
/// most distributions); on other systems this does nothing. A table of 131 072 × 128 (64 MiB) takes
/// 12.7 ms with them and 23.8 ms without, on two cores.
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
