//! Names on the command line: which there are, for the help and for completions.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

use crate::ask::{PRESETS, Scheme, networks, task_names};
use crate::device::DEVICES;

/// Takes any text, without the spaces around it. The help lists the names; one that does not exist is an
/// error of the study, which says what may have been meant.
#[derive(Clone)]
pub(super) struct Known(Vec<String>);

impl Known {
    fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(names.into_iter().map(String::from).collect())
    }

    /// The schemes, and `all`.
    pub fn schemes() -> Self {
        Self::new(["all"].into_iter().chain(Scheme::names()))
    }

    /// The schemes alone.
    pub fn scheme() -> Self {
        Self::new(Scheme::names())
    }

    /// The tasks, and `all`.
    pub fn tasks() -> Self {
        Self::new(["all"].into_iter().chain(task_names()))
    }

    /// The tasks alone.
    pub fn task() -> Self {
        Self::new(task_names())
    }

    /// The networks.
    pub fn networks() -> Self {
        Self::new(networks().map(|(name, _)| name))
    }

    /// The presets.
    pub fn presets() -> Self {
        Self::new(PRESETS.map(|(name, _)| name))
    }

    /// The devices.
    pub fn devices() -> Self {
        Self::new(DEVICES.iter().map(|device| device.name))
    }
}

impl TypedValueParser for Known {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, Error> {
        let text = clap::builder::StringValueParser::new();
        let text = text.parse_ref(command, argument, value)?;
        Ok(text.trim().to_string())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}
