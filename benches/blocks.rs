//! An allocator that gives a bench large blocks of memory that is new, or warm.
//!
//! Memory from the system is new: at the first touch of each page the system finds it and clears it. An allocator may
//! keep what is freed, and then it is warm. Which of the two a program sees depends on its allocator and on sizes; a
//! bench chooses.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// From this size on a block is large.
const LARGE: usize = 1 << 20;

/// glibc takes every block above 32 MiB from the system. Pages that nobody touches take no memory.
pub const ALWAYS_NEW: usize = 32 << 20;

/// The system's allocator. A large block is of new memory, or, after `give_warm(true)`, that of a block of the same size that
/// was freed before.
pub struct Blocks {
    warm: AtomicBool,
    /// The addresses and layouts of freed blocks.
    free: Mutex<[Option<(usize, Layout)>; 8]>,
}

impl Blocks {
    /// An allocator that gives new memory.
    #[allow(clippy::new_without_default)] // a default cannot be the value of a static
    pub const fn new() -> Self {
        Self {
            warm: AtomicBool::new(false),
            free: Mutex::new([None; 8]),
        }
    }

    /// Whether large blocks are to be warm. Those that were freed go back to the system.
    pub fn give_warm(&self, warm: bool) {
        self.warm.store(warm, Relaxed);
        let Ok(mut free) = self.free.lock() else {
            return;
        };
        for (address, layout) in free.iter_mut().filter_map(Option::take) {
            // SAFETY: the block was freed, and came from the system with the layout that `asked` makes.
            unsafe { System.dealloc(address as *mut u8, asked(layout)) }
        }
    }

    fn is_warm(&self, layout: Layout) -> bool {
        is_large(layout) && self.warm.load(Relaxed)
    }

    /// A freed block of this layout, if blocks are to be warm.
    fn take(&self, layout: Layout) -> Option<*mut u8> {
        if !self.is_warm(layout) {
            return None;
        }
        let mut free = self.free.lock().ok()?;
        let of = |slot: &&mut Option<(usize, Layout)>| slot.is_some_and(|(_, of)| of == layout);
        let (address, _) = free.iter_mut().find(of)?.take()?;
        Some(address as *mut u8)
    }

    /// Keeps a block that is freed, if blocks are to be warm and there is room for it.
    fn keep(&self, memory: *mut u8, layout: Layout) -> bool {
        if !self.is_warm(layout) {
            return false;
        }
        let Ok(mut free) = self.free.lock() else {
            return false;
        };
        let slot = free.iter_mut().find(|slot| slot.is_none());
        slot.map(|slot| *slot = Some((memory as usize, layout)))
            .is_some()
    }
}

fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE
}

/// What the system is asked for.
fn asked(layout: Layout) -> Layout {
    match is_large(layout) {
        true => {
            let size = layout.size().max(ALWAYS_NEW + LARGE);
            Layout::from_size_align(size, layout.align()).unwrap_or(layout)
        }
        false => layout,
    }
}

// SAFETY: memory comes from the system's allocator and goes back to it with the layout that `asked` makes of its own, or goes
// to one later block of the same layout.
unsafe impl GlobalAlloc for Blocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some(memory) = self.take(layout) {
            return memory;
        }
        unsafe { System.alloc(asked(layout)) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if let Some(memory) = self.take(layout) {
            unsafe { memory.write_bytes(0, layout.size()) };
            return memory;
        }
        unsafe { System.alloc_zeroed(asked(layout)) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if self.keep(memory, layout) {
            return;
        }
        unsafe { System.dealloc(memory, asked(layout)) }
    }
}
