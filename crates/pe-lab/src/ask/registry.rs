//! The laboratory of this program: what its names stand for.

use std::sync::{Arc, OnceLock};

use burn::tensor::Device;
use pe_encoder::EncoderConfig;

use super::encoding::guarded;
use super::lab::{Lab, SchemeEntry};
use super::network::Network;
use super::versions;
use crate::erased::Erased;
use crate::error::LabError;
use crate::task::Task;

/// The laboratory of this program.
static LAB: OnceLock<Lab> = OnceLock::new();

impl Lab {
    /// Makes this the laboratory of the program, which can have only one.
    ///
    /// # Panics
    ///
    /// When a name was looked up before, or the program has a laboratory already.
    pub fn install(self) {
        let before = LAB.set(self);
        assert!(
            before.is_ok(),
            "a program has one laboratory, which is set before a name is looked up"
        );
    }
}

/// The laboratory of this program: the one that its `main` set, or the built-in one.
fn lab() -> &'static Lab {
    LAB.get_or_init(Lab::built_in)
}

/// The schemes of this program, in the order in which they are listed.
pub(super) fn schemes() -> &'static [SchemeEntry] {
    &lab().schemes
}

/// The scheme of this name, which is given without settings.
///
/// # Errors
///
/// [`LabError::Unknown`], which lists the names that exist.
pub(super) fn scheme_entry(name: &str) -> Result<&'static SchemeEntry, LabError> {
    let found = schemes().iter().find(|entry| entry.name == name);
    let known = schemes().iter().map(|entry| &entry.name);
    found.ok_or_else(|| LabError::unknown("scheme", name, known))
}

/// The names of the tasks of this program, in the order in which they are listed.
pub fn task_names() -> impl Iterator<Item = &'static str> {
    lab().tasks.iter().map(|entry| entry.name.as_str())
}

/// The tasks of this program, in the order in which they are listed: those that the word `all` stands for, or the others.
pub(super) fn tasks(in_all: bool) -> impl Iterator<Item = Arc<dyn Task>> {
    let entries = lab()
        .tasks
        .iter()
        .filter(move |entry| entry.in_all == in_all);
    entries.map(|entry| (*entry.task).clone())
}

/// The task of this name. No other task is built, since images and texts take a moment.
pub(super) fn task(name: &str) -> Option<Arc<dyn Task>> {
    let entry = lab().tasks.iter().find(|entry| entry.name == name)?;
    Some((*entry.task).clone())
}

/// The networks of this program, and what they are.
pub fn networks() -> impl Iterator<Item = (&'static str, &'static str)> {
    let networks = lab().networks.iter();
    networks.map(|entry| (entry.name.as_str(), entry.about.as_str()))
}

/// The network of this name.
///
/// # Errors
///
/// [`LabError::Unknown`], which lists the names that exist; [`LabError::Usage`] when it does not take the configuration.
pub fn network(
    name: &str,
    config: &EncoderConfig,
    device: &Device,
) -> Result<Erased<dyn Network>, LabError> {
    let Some(entry) = lab().networks.iter().find(|entry| entry.name == name) else {
        let known = networks().map(|(name, _)| name);
        return Err(LabError::unknown("network", name, known));
    };
    let what = format!("the network {name}");
    guarded(&what, || {
        (entry.init)(config, device).map_err(|reason| LabError::Usage(format!("{what}: {reason}")))
    })
}

/// The [`CODE`](versions::CODE) of this program. If it has schemes, tasks or networks of its own, a digest of the program
/// is appended, so that results of two versions of it are never mixed unnoticed.
pub fn code() -> &'static str {
    static FULL: OnceLock<String> = OnceLock::new();
    FULL.get_or_init(|| match lab().is_extended {
        false => versions::CODE.into(),
        true => format!("{}-{}", versions::CODE, versions::of_program()),
    })
}
