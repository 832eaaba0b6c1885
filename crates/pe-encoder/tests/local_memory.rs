//! Local attention takes memory in proportion to tokens times window: nowhere is there a matrix of queries and keys.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use burn::tensor::{Device, Tensor};
use pe_burn::gates::FoxConfig;
use pe_burn::{AlibiConfig, NoPositions, Positional, Positions};
use pe_encoder::AttentionConfig;

/// The system's allocator, counting the bytes that are held, and the most of them.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator with its arguments unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(held, Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(memory, layout) }
    }
}

/// The most bytes that `run` holds at a time, beside what was held before.
fn most_bytes(run: impl FnOnce()) -> usize {
    let before = HELD.load(Relaxed);
    MOST.store(before, Relaxed);
    run();
    MOST.load(Relaxed) - before
}

const HEADS: usize = 16;
const D_MODEL: usize = 128;

/// What makes a scheme on a device.
type MadeOn = fn(&Device) -> Box<dyn Positional>;

/// The bytes of a forward pass, and of one with its backward pass.
fn bytes(tokens: usize, window: usize, scheme: MadeOn) -> [usize; 2] {
    [Device::flex(), Device::flex().autodiff()].map(|device| {
        let attention = AttentionConfig::new(D_MODEL, HEADS)
            .with_causal(true)
            .with_window(Some(window))
            .init(&device);
        // A parameter is made when it is first asked for.
        let (one, scheme) = (Tensor::<3>::ones([1, 1, D_MODEL], &device), scheme(&device));
        attention.forward(one, None, &*scheme, &Positions::default());
        let x = Tensor::<3>::ones([1, tokens, D_MODEL], &device);
        most_bytes(|| {
            let y = attention.forward(x.clone(), None, &*scheme, &Positions::default());
            if device.is_autodiff() {
                y.sum().backward();
            }
        })
    })
}

/// A window of 512 in 8,192 tokens and 16 heads: without a bias, with one by distance, and with gates. One matrix of scores has 4.3 GB.
#[test]
fn memory_grows_with_tokens_and_not_with_their_square() {
    // On one thread: matrix products keep room of 2 MiB for each thread, from when it first takes part, which differs by run.
    let threads = rayon::ThreadPoolBuilder::new().num_threads(1);
    threads.use_current_thread().build_global().unwrap();
    let schemes: [(&str, MadeOn); 3] = [
        ("none", |_| Box::new(NoPositions {})),
        ("alibi", |device| {
            Box::new(AlibiConfig::new(HEADS).init(device))
        }),
        ("fox", |device| {
            Box::new(FoxConfig::new(D_MODEL, HEADS, 1).init(device))
        }),
    ];
    for (name, scheme) in schemes {
        let half = bytes(4_096, 512, scheme);
        let whole = bytes(8_192, 512, scheme);
        for (half, whole) in half.into_iter().zip(whole) {
            assert!(whole <= 64 << 20, "{name}: {whole} bytes");
            assert!(whole < half * 21 / 10, "{name}: {half} and {whole} bytes");
        }
    }
}
