//! Memory for tables: an error where there is not enough, and large pages for large tables.

use alloc::format;
use alloc::vec::Vec;
use core::hint::black_box;
use core::mem::{MaybeUninit, take};

use burn::tensor::Device;

use super::threads;
use crate::error::PositionError;

/// The number of elements from which it is checked that memory suffices. Below, a failed allocation
/// aborts, as it does everywhere in Rust.
const CHECKED_FROM: usize = 1 << 24;

/// The number of bytes that are zeroed at once: from 2 KiB on the C library takes slower instructions.
const ZEROED_AT_ONCE: usize = 1 << 10;

/// `rows × width` elements, made on several threads: `write` gets the index of a row and that row with
/// those after it, `rows_per_task` of them or what is left.
///
/// The memory is not zeroed before. That would be a pass of its own, as long as half of the arithmetic of
/// a table, wherever the allocator hands out memory that was used before. Rows are zeroed when they are
/// taken, and then written while they are in the first level of the cache. With `vec![0.0; n]` instead, a
/// table of 5000 × 512 takes 81 % more instructions.
pub(crate) fn rows<T: Copy + Default + Send>(
    rows: usize,
    width: usize,
    rows_per_task: usize,
    write: impl Fn(usize, &mut NewRows<T>) + Sync,
) -> Result<Vec<T>, PositionError> {
    check_room::<T>(rows, width)?;
    let len = rows * width;
    let mut memory = Vec::with_capacity(len);
    let rest = &mut memory.spare_capacity_mut()[..len];
    use_large_pages(rest);
    if width > 0 {
        let tasks = rest.chunks_mut((rows_per_task * width).max(1)).enumerate();
        threads::for_each(tasks, |(i, rest)| {
            let mut rows = NewRows { rest, width };
            write(i * rows_per_task, &mut rows);
            rows.rest.fill(MaybeUninit::new(T::default())); // those that were not taken
        });
    }
    // SAFETY: the chunks cover all `len` elements. Taking a row initializes it, and the rows of a chunk
    // that were not taken are initialized after `write`. A panic of `write` leaves this function before
    // the length is set.
    unsafe { memory.set_len(len) };
    Ok(memory)
}

/// New rows, which are zeroed when they are taken.
pub(crate) struct NewRows<'a, T: Copy + Default> {
    rest: &'a mut [MaybeUninit<T>],
    width: usize,
}

impl<'a, T: Copy + Default> NewRows<'a, T> {
    /// The number of rows that are left.
    pub fn len(&self) -> usize {
        self.rest.len() / self.width
    }

    /// The next rows, zeroed.
    pub fn take(&mut self, rows: usize) -> &'a mut [T] {
        let (taken, rest) = take(&mut self.rest).split_at_mut(rows * self.width);
        self.rest = rest;
        for some in taken.chunks_mut(ZEROED_AT_ONCE / size_of::<T>()) {
            some.fill(MaybeUninit::new(T::default()));
        }
        // SAFETY: every element of `taken` has just been initialized.
        unsafe { &mut *(taken as *mut [MaybeUninit<T>] as *mut [T]) }
    }
}

/// Refuses `rows × width` elements where the memory of the processor has not enough for them.
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
    // Which devices there are is for the application to say, so they have no other name here.
    let name = format!("{:?}", device.as_dispatch());
    let own = ["Flex(", "NdArray(", "LibTorch(Cpu", "Cube(Cpu"];
    let on_processor = own.iter().any(|own| name.starts_with(own));
    (!on_processor).then_some(isize::MAX as usize)
}

/// How many more bytes this process may use; `None` where the system does not say.
///
/// An allocation alone does not tell: Linux grants more than it has, and ends the process that then writes to it.
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
