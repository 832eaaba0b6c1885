//! What can go wrong, said so that the reader knows what to do next.

use std::path::{Path, PathBuf};

use pe_burn::PositionError;

use crate::data::DataError;

/// An error of the laboratory.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A task name that does not exist.
    #[error("there is no task `{name}`; the tasks are: {}", known.join(", "))]
    UnknownTask {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A scheme name that does not exist.
    #[error("there is no scheme `{name}`; the schemes are: {}", known.join(", "))]
    UnknownScheme {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A device name that does not exist.
    #[error("there is no device `{name}`; the devices are: {}", known.join(", "))]
    UnknownDevice {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A device whose cargo feature is not in this build.
    #[error(
        "`{name}` is not in this build: cargo run --release --features {feature} -- compare --device {name}"
    )]
    DeviceNotBuilt {
        /// What was asked for.
        name: String,
        /// The cargo feature that brings it.
        feature: String,
    },
    /// A device that this machine has not, or whose driver is not found.
    #[error("there is no device for `{name}` on this machine ({about}), or its driver is missing")]
    NoDevice {
        /// What was asked for.
        name: String,
        /// What it would be.
        about: String,
    },
    /// The same thing was named twice, or nothing was named.
    #[error("{0}")]
    Usage(String),
    /// The output folder holds another study.
    #[error(
        "{} holds another study (it differs in: {}); results are never mixed. \
         Choose a new folder with --out, or delete this one",
        folder.display(),
        differs.join(", ")
    )]
    ChangedStudy {
        /// The output folder.
        folder: PathBuf,
        /// The parts of the study that differ.
        differs: Vec<String>,
    },
    /// The output folder holds something else.
    #[error(
        "{} is not empty and holds no study; choose a new or an empty folder with --out",
        folder.display()
    )]
    NotAStudy {
        /// The output folder.
        folder: PathBuf,
    },
    /// Another process is at work on the study.
    #[error(
        "{} is in use by another pe-lab; wait until it ends, or choose another folder with --out",
        folder.display()
    )]
    Busy {
        /// The output folder.
        folder: PathBuf,
    },
    /// A folder without a study.
    #[error("{} holds no study: there is no study.json in it", folder.display())]
    NoStudy {
        /// The folder.
        folder: PathBuf,
    },
    /// A study was stopped.
    #[error(
        "stopped; {finished} of {total} trials are finished and kept in {}. \
         Run the same command again to go on",
        folder.display()
    )]
    StudyStopped {
        /// Trials with a result.
        finished: usize,
        /// Trials of the study.
        total: usize,
        /// The output folder.
        folder: PathBuf,
    },
    /// A training was stopped.
    #[error("stopped after {done} of {steps} steps")]
    Stopped {
        /// Steps done.
        done: usize,
        /// Steps asked for.
        steps: usize,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The study's copy of the data is not what it was.
    #[error(
        "{} is no longer the {file} of this study; put the same file there again",
        path.display()
    )]
    ChangedData {
        /// The copy.
        path: PathBuf,
        /// The name of the file.
        file: String,
    },
    /// A file holds something unexpected.
    #[error("{} cannot be read: {reason}; delete it and run again", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A chart could not be drawn.
    #[error("{}: the chart could not be drawn: {reason}", path.display())]
    Chart {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The user's data cannot be studied.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A picture could not be drawn.
    #[error("the picture could not be drawn: {0}")]
    Drawing(String),
    /// A scheme refused its configuration.
    #[error(transparent)]
    Position(#[from] PositionError),
    /// A trial got no result.
    #[error("the trial stopped: {0}")]
    Trial(String),
}

impl LabError {
    /// An error about a file.
    pub fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { path, source }
    }

    /// An error about what a file holds.
    pub fn content(path: &Path) -> impl FnOnce(serde_json::Error) -> Self {
        let path = path.to_path_buf();
        move |error| Self::Content {
            path,
            reason: error.to_string(),
        }
    }

    /// The exit code of the program: 2 for wrong use, 1 for everything else.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::UnknownTask { .. }
            | Self::UnknownScheme { .. }
            | Self::UnknownDevice { .. }
            | Self::DeviceNotBuilt { .. }
            | Self::NoDevice { .. }
            | Self::Usage(_)
            | Self::ChangedStudy { .. }
            | Self::NotAStudy { .. }
            | Self::Busy { .. }
            | Self::NoStudy { .. }
            | Self::Data(_)
            | Self::Position(_) => 2,
            Self::StudyStopped { .. }
            | Self::Stopped { .. }
            | Self::File { .. }
            | Self::Content { .. }
            | Self::ChangedData { .. }
            | Self::Chart { .. }
            | Self::Drawing(_)
            | Self::Trial(_) => 1,
        }
    }
}
