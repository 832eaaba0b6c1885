//! Times several ways of doing one thing in turn, so that a ratio holds when the speed of the machine
//! drifts.
//!
//! The usual harnesses time one way after the other; what matters here is the ratio between two.
//! Every comparison is written for people to stderr and as one line of JSON, a [`Row`], to stdout,
//! where `scripts/bench` gathers them.

pub mod blocks;
mod owned;
mod peer;
mod row;

use std::sync::LazyLock;
use std::time::{Duration, Instant};

pub use owned::Owned;
pub use peer::Peers;
pub use row::{Measured, Row, Target, Unit};
pub use serde_json::json;

/// How many threads this machine runs at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Makes this thread one of rayon's, which run the kernels of Flex, as the README of `pe-encoder` advises.
///
/// # Panics
///
/// When kernels have run before.
pub fn join_kernels() {
    rayon::ThreadPoolBuilder::new()
        .use_current_thread()
        .build_global()
        .expect("the first use of rayon");
}

/// The time since this was first asked.
fn wall() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

/// The processor time of this program.
fn processor() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to `time`, and to nothing else.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "a system without a clock for each program");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// One thing done in several ways: ours first, then what it is held against.
///
/// ```no_run
/// use pe_benches::{Comparison, Peers, Target, json};
///
/// let peers = Peers::start();
/// Comparison::new("table 9 x 4", 40)
///     .way("ours", 1, None, || drop(vec![0.0_f32; 36]))
///     .peer(
///         &peers,
///         "NumPy",
///         Some(Target::Faster(40.0)),
///         json!({"case": "table", "with": "numpy", "rows": 9, "d_model": 4}),
///     )
///     .run();
/// ```
pub struct Comparison<'a> {
    title: String,
    rounds: usize,
    repeat: usize,
    ways: Vec<Way<'a>>,
    missing: Vec<String>,
    note: Option<String>,
    clock: fn() -> Duration,
}

struct Way<'a> {
    name: String,
    threads: usize,
    target: Option<Target>,
    /// Takes a number of calls and returns their mean seconds, after one call that is not counted.
    time: Box<dyn FnMut(usize) -> f64 + 'a>,
}

impl<'a> Comparison<'a> {
    /// A comparison in which every way gets `rounds` turns.
    pub fn new(title: impl Into<String>, rounds: usize) -> Self {
        Self {
            title: title.into(),
            rounds,
            repeat: 1,
            ways: Vec::new(),
            missing: Vec::new(),
            note: None,
            clock: wall,
        }
    }

    /// Counts the time that processors spent on this program, on all its threads, in place of that on the wall. It is for the
    /// ways that follow.
    pub fn processor_time(self) -> Self {
        let clock = processor;
        Self { clock, ..self }
    }

    /// Times the mean of `repeat` calls in a turn, for calls that are too short for the clock.
    pub fn repeat(mut self, repeat: usize) -> Self {
        self.repeat = repeat;
        self
    }

    /// A remark for the reader of the results.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Code to time, the threads it uses, and what our way has to reach against it.
    pub fn way(
        mut self,
        name: &str,
        threads: usize,
        target: Option<Target>,
        mut call: impl FnMut() + 'a,
    ) -> Self {
        let clock = self.clock;
        let time = move |repeat| {
            call();
            let start = clock();
            (0..repeat).for_each(|_| call());
            (clock() - start).as_secs_f64() / repeat as f64
        };
        self.ways.push(Way {
            name: name.to_owned(),
            threads,
            target,
            time: Box::new(time),
        });
        self
    }

    /// A case of `peers/peer.py`, timed there. The row says so when it cannot be.
    pub fn peer(
        mut self,
        peers: &'a Peers,
        name: &str,
        target: Option<Target>,
        case: serde_json::Value,
    ) -> Self {
        match peers.prepare(&case) {
            Ok(threads) => self.ways.push(Way {
                name: name.to_owned(),
                threads,
                target,
                time: Box::new(move |repeat| peers.time(&case, repeat)),
            }),
            Err(reason) => self.missing.push(format!("{name}: {reason}")),
        }
        self
    }

    /// Measures, and prints the row; does nothing if other rows are asked for.
    pub fn run(mut self) {
        if !is_asked(&self.title) {
            return;
        }
        let mut times = vec![Vec::with_capacity(self.rounds); self.ways.len()];
        for round in 0..=self.rounds {
            // Every second round in reverse order, so that the same variant does not always profit from what
            // another one has left in the processor's caches.
            let mut order: Vec<usize> = (0..self.ways.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for way in order {
                let seconds = (self.ways[way].time)(self.repeat);
                // The first round warms up.
                if round > 0 {
                    times[way].push(seconds);
                }
            }
        }
        let ways = self.ways.into_iter().zip(times);
        Row {
            bench: self.title,
            unit: Unit::Seconds,
            rounds: self.rounds,
            ways: ways
                .map(|(way, times)| Measured::of(way.name, way.threads, way.target, times))
                .collect(),
            missing: self.missing,
            note: self.note,
        }
        .print();
    }
}

/// Whether the row of this title is asked for: each is, unless there are arguments, as in `cargo bench … -- "width 384"`, of which
/// its title has none.
fn is_asked(title: &str) -> bool {
    // `cargo bench` adds a flag of its own.
    let mut asked = std::env::args()
        .skip(1)
        .filter(|it| !it.starts_with('-'))
        .peekable();
    asked.peek().is_none() || asked.any(|part| title.contains(&part))
}
