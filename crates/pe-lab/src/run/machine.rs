//! The machine that a trial ran on.

use std::fs;
use std::thread;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use crate::device;

/// The number of processor cores.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Makes the calling thread one of rayon's, which run the kernels of a training. From any other thread each kernel, and a
/// step has hundreds, would wait until one of rayon's threads has woken.
///
/// Only for a program that trains on this thread alone: where rayon has no other thread, kernels called from elsewhere
/// would wait for this one.
pub fn join_kernels() {
    // Where rayon has started its threads before, kernels run too and only take longer.
    let _ = rayon::ThreadPoolBuilder::new()
        .use_current_thread()
        .build_global();
}

/// The machine that a trial ran on. Times of different processors are never compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Its name in the network.
    pub host: String,
    /// The name of its processor as the system reports it, or else its architecture.
    pub processor: String,
    /// How many threads it runs at once.
    pub cores: usize,
    /// The graphics card, where the trial ran on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
}

impl Machine {
    /// This machine.
    pub fn this() -> Self {
        #[cfg(unix)]
        let host = rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned();
        #[cfg(not(unix))]
        let host = std::env::var("COMPUTERNAME").unwrap_or_default();
        let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = about
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        let processor = match model {
            Some((_, model)) => model.trim().to_string(),
            None => std::env::consts::ARCH.to_string(),
        };
        Self {
            host,
            processor,
            cores: cores(),
            card: None,
        }
    }

    /// This machine, with the card of a device.
    pub fn with(device: &Device) -> Self {
        let autotune = if device::AUTOTUNE { ", autotune" } else { "" };
        let card = device::name_of(device).map(|name| format!("{name}{autotune}"));
        Self {
            card,
            ..Self::this()
        }
    }

    /// What computed: the card, or else the processor.
    pub fn computer(&self) -> &str {
        self.card.as_ref().unwrap_or(&self.processor)
    }
}
