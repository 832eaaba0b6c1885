//! The errors of the laboratory. Each message says what is wrong and what to do about it.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use pe_burn::PositionError;

use crate::data::DataError;
use crate::names::did_you_mean;

/// An error of the laboratory.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A name that does not exist, of a task, a scheme, a network, a device or a preset.
    #[error("there is no {what} `{name}`{}; the {what}s are: {}", did_you_mean(name, known), known.join(", "))]
    Unknown {
        /// What kind of thing the name should belong to, such as `task`.
        what: &'static str,
        /// The name that was given.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// A device whose cargo feature is not in this build.
    #[error(
        "`{name}` is not in this build: cargo run --release --features {feature} -- compare --device {name}"
    )]
    DeviceNotBuilt {
        /// The name that was given.
        name: String,
        /// The cargo feature that brings it.
        feature: String,
    },
    /// A device that this machine does not have, or whose driver is missing.
    #[error("there is no device for `{name}` on this machine ({about}), or its driver is missing")]
    NoDevice {
        /// The name that was given.
        name: String,
        /// What kind of device it is.
        about: String,
    },
    /// An argument or a setting is wrong.
    #[error("{0}")]
    Usage(String),
    /// The output folder holds another study.
    #[error(
        "{} holds another study (it differs in: {}); results are never mixed, and only schemes, tasks, \
         seeds and steps can be added to a study, and nothing to one with --until decided. Choose a new folder with --out, or delete this one",
        folder.display(),
        differs
    )]
    ChangedStudy {
        /// The output folder.
        folder: PathBuf,
        /// The fields of the study that differ, with both values.
        differs: String,
    },
    /// The output folder holds other files.
    #[error(
        "{} is not empty and holds no study; choose a new or an empty folder with --out",
        folder.display()
    )]
    NotAStudy {
        /// The output folder.
        folder: PathBuf,
    },
    /// Another process works on the study.
    #[error(
        "{} is in use by another pe-lab; wait until it ends, or choose another folder with --out",
        folder.display()
    )]
    Busy {
        /// The output folder.
        folder: PathBuf,
    },
    /// A folder without a study.
    #[error("{} holds no study: there is no {file} in it", folder.display())]
    NoStudy {
        /// The folder.
        folder: PathBuf,
        /// The file that is missing.
        file: &'static str,
    },
    /// The study was stopped.
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
    /// The training was stopped.
    #[error("stopped after {done} of {steps} steps")]
    Stopped {
        /// Steps that were done.
        done: usize,
        /// Steps of the whole training.
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
    /// The operating system could not start a thread or a process.
    #[error(
        "no {what} could be started: {source}. Something is at its limit: processes (ulimit -u), open files \
         (ulimit -n) or memory. What is finished is kept; run the same command again to go on"
    )]
    NotStarted {
        /// What was not started.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// The study's copy of the data has changed.
    #[error(
        "{} has changed since the study was made; put the same {file} there again",
        path.display()
    )]
    ChangedData {
        /// The copy.
        path: PathBuf,
        /// The name of the file.
        file: String,
    },
    /// A file does not hold what it should.
    #[error("{} cannot be read: {reason}; {}", path.display(), again(path))]
    Content {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The page of the report could not be made.
    #[error("the page of the report could not be made: {reason}")]
    Page {
        /// Why.
        reason: String,
    },
    /// The user's data cannot be studied.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A picture could not be drawn.
    #[error("the picture could not be drawn: {0}")]
    Drawing(String),
    /// The configuration or the positions of a scheme are wrong.
    #[error(transparent)]
    Position(#[from] PositionError),
    /// The training could not go on, for want of disk space for example. It can be tried again.
    #[error("the training stopped: {0}")]
    Machine(String),
    /// A trial has no result.
    #[error("the trial stopped: {0}")]
    Trial(String),
}

/// What to do about a file of a study that cannot be read.
fn again(path: &Path) -> String {
    match (path.file_name(), path.parent()) {
        (Some(name), Some(folder)) if name == "study.json" => format!(
            "delete it, and run `pe-lab compare --study {} --out {}`",
            folder.join("study.toml").display(),
            folder.display()
        ),
        (Some(name), Some(folder)) if name.as_encoded_bytes().starts_with(b"winner.") => format!(
            "delete it, and run `pe-lab compare --out {}`, which writes it again",
            folder.display()
        ),
        _ => "delete it and run again".into(),
    }
}

impl LabError {
    /// A [`LabError::Unknown`].
    pub fn unknown<N: Into<String>>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = N>,
    ) -> Self {
        Self::Unknown {
            what,
            name: name.into(),
            known: known.into_iter().map(Into::into).collect(),
        }
    }

    /// Turns an error of reading or writing a file into a [`LabError::File`].
    pub fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { path, source }
    }

    /// Turns an error of starting a thread or a process into a [`LabError::NotStarted`].
    pub fn not_started(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::NotStarted { what, source }
    }

    /// Turns what is wrong with the content of a file into a [`LabError::Content`].
    pub fn content<R: Display>(path: &Path) -> impl FnOnce(R) -> Self {
        let path = path.to_path_buf();
        move |reason| Self::Content {
            path,
            reason: reason.to_string(),
        }
    }

    /// The exit code of the program: 2 for wrong use, 1 for any other error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Unknown { .. }
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
            | Self::NotStarted { .. }
            | Self::Content { .. }
            | Self::ChangedData { .. }
            | Self::Page { .. }
            | Self::Drawing(_)
            | Self::Machine(_)
            | Self::Trial(_) => 1,
        }
    }
}
