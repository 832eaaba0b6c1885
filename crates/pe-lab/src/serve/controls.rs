//! The settings of a scheme. What the sliders of the page offer is what a request may ask for: both follow from
//! the same list.

use serde::Serialize;

use crate::console::short;

/// A setting of a scheme.
#[derive(Debug, Serialize)]
pub struct Control {
    /// Its name in an address.
    pub name: &'static str,
    /// Its name on the page.
    pub label: &'static str,
    #[serde(flatten)]
    pub takes: Takes,
    /// It matters only where this other setting has one of these values.
    pub only: Option<(&'static str, &'static [&'static str])>,
}

/// What a setting takes.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Takes {
    /// A whole number, a multiple of `step`.
    Whole {
        least: u64,
        most: u64,
        /// The value if none is given.
        default: u64,
        /// It is a multiple of this.
        step: u64,
    },
    /// A real number.
    Real {
        least: f64,
        most: f64,
        /// The value if none is given.
        default: f64,
    },
    /// One of some words, each with its name on the page. The first is the default.
    Choice {
        options: &'static [(&'static str, &'static str)],
    },
}

impl Control {
    const fn new(name: &'static str, label: &'static str, takes: Takes) -> Self {
        Self {
            name,
            label,
            takes,
            only: None,
        }
    }

    /// A whole number between bounds.
    pub const fn whole(
        name: &'static str,
        label: &'static str,
        (least, most): (u64, u64),
        default: u64,
    ) -> Self {
        let takes = Takes::Whole {
            least,
            most,
            default,
            step: 1,
        };
        Self::new(name, label, takes)
    }

    /// This control, restricted to multiples of a number.
    pub const fn by(mut self, multiple: u64) -> Self {
        if let Takes::Whole { step, .. } = &mut self.takes {
            *step = multiple;
        }
        self
    }

    /// A real number between bounds.
    pub const fn real(
        name: &'static str,
        label: &'static str,
        (least, most): (f64, f64),
        default: f64,
    ) -> Self {
        let takes = Takes::Real {
            least,
            most,
            default,
        };
        Self::new(name, label, takes)
    }

    /// One of some words.
    pub const fn choice(
        name: &'static str,
        label: &'static str,
        options: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self::new(name, label, Takes::Choice { options })
    }

    /// This control, shown only for some values of another setting.
    pub const fn only(mut self, name: &'static str, values: &'static [&'static str]) -> Self {
        self.only = Some((name, values));
        self
    }

    /// The value that a text stands for, as a number; for a choice, its place in the list.
    fn read(&self, text: &str) -> Result<f64, Refusal> {
        let refused = |bound: String| Refusal::new(self.name, text, bound);
        match self.takes {
            Takes::Whole {
                least, most, step, ..
            } => {
                let value: Option<u64> = text.parse().ok();
                let fits =
                    |value: &u64| (least..=most).contains(value) && value.is_multiple_of(step);
                // Below 2^53, so exact.
                value.filter(fits).map(|value| value as f64).ok_or_else(|| {
                    refused(match step {
                        1 => format!("a whole number from {least} to {most}"),
                        _ => format!("a multiple of {step} from {least} to {most}"),
                    })
                })
            }
            Takes::Real { least, most, .. } => {
                let value: Option<f64> = text.parse().ok();
                value
                    .filter(|value| (least..=most).contains(value))
                    .ok_or_else(|| refused(format!("a number from {least} to {most}")))
            }
            Takes::Choice { options } => {
                let place = options.iter().position(|option| option.0 == text);
                place.map(|place| place as f64).ok_or_else(|| {
                    let names: Vec<&str> = options.iter().map(|option| option.0).collect();
                    refused(format!("one of {}", names.join(", ")))
                })
            }
        }
    }

    fn default(&self) -> f64 {
        match self.takes {
            Takes::Whole { default, .. } => default as f64,
            Takes::Real { default, .. } => default,
            Takes::Choice { .. } => 0.0,
        }
    }
}

/// Why a request is not computed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refusal {
    /// The name of the setting, or the part of the address, that is wrong.
    pub name: String,
    pub value: String,
    /// What the value has to be.
    pub bound: String,
}

impl Refusal {
    /// The refusal of this value for this name, with what the value has to be.
    pub fn new(name: &str, value: impl Into<String>, bound: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            bound: bound.into(),
        }
    }

    /// As JSON, with a sentence beside the parts.
    pub fn json(&self) -> Vec<u8> {
        let Self { name, value, bound } = self;
        let (name, value) = (short(name), short(value));
        let error = format!("{name} must be {bound}; got \"{value}\"");
        serde_json::json!({"error": error, "name": name, "value": value, "bound": bound})
            .to_string()
            .into_bytes()
    }
}

/// The values of all settings of a scheme.
#[derive(Debug)]
pub struct Values(Vec<(&'static Control, f64)>);

impl Values {
    /// The values in the pairs of an address; settings that it does not name have their defaults.
    pub fn of(controls: &'static [Control], pairs: &[(String, String)]) -> Result<Self, Refusal> {
        for (index, (name, value)) in pairs.iter().enumerate() {
            let refused = |bound: String| Refusal::new(name, value, bound);
            if !controls.iter().any(|control| control.name == name) {
                let names: Vec<&str> = controls.iter().map(|control| control.name).collect();
                let names = names.join(", ");
                return Err(refused(format!("a setting of this scheme: {names}")));
            }
            if pairs[..index].iter().any(|pair| pair.0 == *name) {
                return Err(refused("given once".into()));
            }
        }
        let value = |control: &'static Control| {
            let given = pairs.iter().find(|pair| pair.0 == control.name);
            let value = given.map_or(Ok(control.default()), |pair| control.read(&pair.1))?;
            Ok((control, value))
        };
        controls
            .iter()
            .map(value)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    fn get(&self, name: &str) -> (&'static Control, f64) {
        let found = self.0.iter().find(|(control, _)| control.name == name);
        *found.unwrap_or_else(|| panic!("the scheme has a setting {name}"))
    }

    /// A real number.
    ///
    /// # Panics
    ///
    /// When the scheme has no such setting.
    pub fn real(&self, name: &str) -> f64 {
        self.get(name).1
    }

    pub fn whole(&self, name: &str) -> usize {
        self.real(name) as usize
    }

    /// The word of a choice.
    pub fn word(&self, name: &str) -> &'static str {
        let (control, place) = self.get(name);
        match control.takes {
            Takes::Choice { options } => options[place as usize].0,
            _ => "",
        }
    }
}

/// The names and values behind the question mark of an address.
pub fn pairs(query: &str) -> Result<Vec<(String, String)>, Refusal> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Ok((decoded(name)?, decoded(value)?))
        })
        .collect()
}

/// A text with its `%XX` and `+` replaced by what they stand for.
fn decoded(text: &str) -> Result<String, Refusal> {
    let bound = "UTF-8, with two hexadecimal digits behind every %";
    let refused = || Refusal::new("the address", text, bound);
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || (rest.next()? as char).to_digit(16);
                let (high, low) = (digit(), digit());
                let (high, low) = high.zip(low).ok_or_else(refused)?;
                (16 * high + low) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| refused())
}
