//! Scalings of RoPE by name, with their numbers: in a training, as `rotary(scaling=yarn,factor=4)`, or in a test alone.

use std::fmt;

use pe_burn::RopeScaling;
use pe_burn::scaling::{Dynamic, Linear, Llama3, Ntk, Yarn};
use serde::{Deserialize, Serialize};

use super::settings::{Named, Setting, no_setting, wrong_value};
use crate::error::LabError;
use crate::task::Task;

/// The scalings that a name can give, with at most a factor and an original length.
pub const SCALINGS: [&str; 5] = ["linear", "ntk", "dynamic", "yarn", "llama3"];

/// The other scalings of `pe-burn`, each with the reason why a name cannot give it.
pub const OTHER_SCALINGS: [(&str, &str); 2] = [
    (
        "longrope",
        "its factors were searched for one model, pair by pair; there are none for a model that is trained here",
    ),
    (
        "proportional",
        "it is what `share` sets: the share of the pairs that turn",
    ),
];

/// The lengths that a scheme is made for, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// The longest input of the training.
    pub trained: usize,
    /// The longest of all inputs; for images, of those at the training's resolution.
    pub longest: usize,
    /// The longest input of a test, at any resolution.
    pub tested: usize,
}

impl From<usize> for Lengths {
    /// The same length for the training, for all inputs and for tests.
    fn from(longest: usize) -> Self {
        Self {
            trained: longest,
            longest,
            tested: longest,
        }
    }
}

impl Lengths {
    /// The lengths of a task. Of images, every training example fills the whole grid.
    pub fn of(task: &dyn Task) -> Self {
        let longest = task.positions();
        let trained = match task.grid() {
            Some(_) => longest,
            None => task.tokens_of(*task.train_lengths().end()),
        };
        Self {
            trained,
            longest,
            tested: task.max_tokens(),
        }
    }

    /// The scaling of this name that extends the training length to the longest length of a test.
    ///
    /// Its original length is the training length. Its factor is the longest tested length divided by the training length, at
    /// least 1; for `dynamic`, which adapts to the length of each input, it is 1.
    ///
    /// # Errors
    ///
    /// Which names there are.
    pub fn scaling(self, name: &str) -> Result<RopeScaling, String> {
        let original = self.trained.max(2);
        let factor = (self.tested as f64 / self.trained.max(1) as f64).max(1.0);
        Ok(match name {
            "linear" => Linear::new(factor).into(),
            "ntk" => Ntk::new(factor).into(),
            "dynamic" => Dynamic::new(1.0, original).into(),
            "yarn" => Yarn::new(factor, original).into(),
            // The bounds of Llama 3.1.
            "llama3" => Llama3::new(factor, 1.0, 4.0, original).into(),
            other => {
                let why = OTHER_SCALINGS.iter().find(|(name, _)| *name == other);
                let why = why.map_or(String::new(), |(name, why)| format!(" (not {name}: {why})"));
                return Err(format!("one of {}{why}", SCALINGS.join(", ")));
            }
        })
    }
}

/// A scaling with another factor.
///
/// # Errors
///
/// Which values it takes.
pub(super) fn with_factor(mut scaling: RopeScaling, value: f64) -> Result<RopeScaling, String> {
    if !(value.is_finite() && value >= 1.0) {
        return Err("a number from 1 on".into());
    }
    match &mut scaling {
        RopeScaling::Linear(Linear { factor })
        | RopeScaling::Ntk(Ntk { factor })
        | RopeScaling::Dynamic(Dynamic { factor, .. })
        | RopeScaling::Yarn(Yarn { factor, .. })
        | RopeScaling::Llama3(Llama3 { factor, .. }) => *factor = value,
        _ => return Err("left out: this scaling has none".into()),
    }
    Ok(scaling)
}

/// A scaling with another original length.
///
/// # Errors
///
/// Which values it takes.
pub(super) fn with_original(mut scaling: RopeScaling, value: f64) -> Result<RopeScaling, String> {
    let fits = (2.0..=1e9).contains(&value) && value.fract() == 0.0;
    match &mut scaling {
        RopeScaling::Dynamic(Dynamic {
            original_max_position_embeddings: original,
            ..
        })
        | RopeScaling::Yarn(Yarn {
            original_max_position_embeddings: original,
            ..
        })
        | RopeScaling::Llama3(Llama3 {
            original_max_position_embeddings: original,
            ..
        }) => match fits {
            true => *original = value as usize,
            false => return Err("a whole number from 2 on".into()),
        },
        _ => return Err("left out: linear and ntk have no original length".into()),
    }
    Ok(scaling)
}

/// A scaling that a language model is tested with and was not trained with, such as `yarn(factor=4, original=64)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TestScaling {
    name: String,
    factor: Option<f64>,
    original: Option<f64>,
}

impl TestScaling {
    /// The scalings that are tested by default.
    pub fn usual() -> Vec<Self> {
        let of = |name: &str| Self {
            name: name.into(),
            factor: None,
            original: None,
        };
        ["linear", "ntk", "yarn", "dynamic"].map(of).into()
    }

    /// The scaling, for inputs of these lengths.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] with the number that it does not take.
    pub fn scaling(&self, lengths: Lengths) -> Result<RopeScaling, LabError> {
        let wrong = |setting: &str, value: f64, allowed: String| {
            wrong_value(setting, "scaling", &self.to_string(), &value, &allowed)
        };
        let mut scaling = lengths.scaling(&self.name).map_err(|allowed| {
            LabError::Usage(format!(
                "`{}` is no scaling; it must be {allowed}",
                self.name
            ))
        })?;
        if let Some(factor) = self.factor {
            scaling = with_factor(scaling, factor).map_err(|of| wrong("factor", factor, of))?;
        }
        if let Some(original) = self.original {
            scaling = with_original(scaling, original)
                .map_err(|allowed| wrong("original", original, allowed))?;
        }
        Ok(scaling)
    }
}

impl TryFrom<String> for TestScaling {
    type Error = LabError;

    fn try_from(text: String) -> Result<Self, LabError> {
        let named = Named::read("scheme", &text)?;
        let mut scaling = Self {
            name: named.name.into(),
            factor: None,
            original: None,
        };
        for (name, value) in &named.settings {
            let place = match *name {
                "factor" => &mut scaling.factor,
                "original" => &mut scaling.original,
                other => {
                    let known = ["factor", "original"];
                    return Err(no_setting("scaling", named.name, other, &known));
                }
            };
            match value {
                Setting::Number(number) => *place = Some(*number),
                Setting::Word(word) => {
                    return Err(LabError::Usage(format!(
                        "`{name}` of the scaling {} is `{word}`, which is no number",
                        named.name
                    )));
                }
            }
        }
        // Checked here, so that a wrong number is an error before anything runs.
        scaling.scaling(Lengths::from(2))?;
        Ok(scaling)
    }
}

impl From<TestScaling> for String {
    fn from(scaling: TestScaling) -> Self {
        scaling.to_string()
    }
}

impl fmt::Display for TestScaling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = [("factor", self.factor), ("original", self.original)];
        let set = set
            .into_iter()
            .filter_map(|(name, value)| Some((name, Setting::Number(value?))));
        Named {
            name: &self.name,
            settings: set.collect(),
        }
        .fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::{Says, rows};

    #[test]
    fn every_scaling_of_the_library_has_a_name_or_a_reason() {
        // The library's error for an unknown scaling lists all scalings.
        let unknown = serde_json::from_str::<RopeScaling>(r#"{"rope_type": "x"}"#).unwrap_err();
        let unknown = unknown.to_string();
        let known = unknown.split("there are: ").nth(1).unwrap();
        let end = known.find(" at line").unwrap_or(known.len());
        let mut known: Vec<&str> = known[..end].split(", ").collect();
        let others = OTHER_SCALINGS.iter().map(|(name, _)| *name);
        let mut ours: Vec<&str> = SCALINGS.into_iter().chain(others).collect();
        known.sort_unstable();
        ours.sort_unstable();
        assert_eq!(ours, known, "{unknown}");
        let lengths = Lengths {
            trained: 64,
            longest: 512,
            tested: 512,
        };
        for name in SCALINGS {
            lengths.scaling(name).unwrap();
        }
        let error = lengths.scaling("longrope").unwrap_err();
        error.says_all(&["linear, ntk", "searched for one model"]);
    }

    #[test]
    fn a_factor_and_a_length_by_choice_or_those_of_the_lengths() {
        let lengths = Lengths {
            trained: 64,
            longest: 512,
            tested: 512,
        };
        let of = |text: &str| TestScaling::try_from(text.to_string());
        assert_eq!(
            of("yarn").unwrap().scaling(lengths).unwrap(),
            Yarn::new(8.0, 64).into()
        );
        let given = of("yarn( original=32, factor=2 )").unwrap();
        assert_eq!(given.to_string(), "yarn(factor=2,original=32)");
        assert_eq!(given.scaling(lengths).unwrap(), Yarn::new(2.0, 32).into());
        assert_eq!(
            of("dynamic").unwrap().scaling(lengths).unwrap(),
            Dynamic::new(1.0, 64).into()
        );
        let json = serde_json::to_string(&given).unwrap();
        assert_eq!(json, r#""yarn(factor=2,original=32)""#);
        assert_eq!(serde_json::from_str::<TestScaling>(&json).unwrap(), given);
        for [text, words] in rows(
            "
            yarm              | one of linear, ntk, dynamic, yarn, llama3
            longrope          | searched for one model
            yarn(factor=0.5)  | `factor` of the scaling yarn(factor=0.5) is 0.5
            yarn(factor=high) | `high`, which is no number
            ntk(original=64)  | no original length
            yarn(original=1)  | a whole number from 2 on
            yarn(turns=3)     | it has: factor, original
            ",
        ) {
            of(text).unwrap_err().says(words);
        }
    }
}
