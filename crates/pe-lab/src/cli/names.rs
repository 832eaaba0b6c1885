//! Names on the command line: which there are, for the help and for completions.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

/// Takes any text, without the spaces around it. The help lists the names; one that does not exist is an
/// error of the study, which says what may have been meant.
#[derive(Clone)]
pub(super) struct Known(Vec<String>);

impl Known {
    /// These names.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(names.into_iter().map(String::from).collect())
    }

    /// These names, and `all`.
    pub fn with_all<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of(["all"].into_iter().chain(names))
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
