//! Settings in parentheses after a name, such as `rotary(base=500000, share=0.25)`, and how a scheme takes them.

use super::encoding::Encoding;
use super::layers::LayerRecipe;
use super::sizes::Sizes;
use crate::error::LabError;
use crate::names::did_you_mean;

/// The settings of the layers, which schemes have beside those of their own configuration, in the order in which they stand
/// in a name. The first one is only for schemes that act in the layers.
const OF_LAYERS: [&str; 3] = ["nope_every", "window", "global_every"];

/// Sets one of [`OF_LAYERS`]; the error says which values it takes.
fn set_of_layers(layers: &mut LayerRecipe, name: &str, value: f64) -> Result<(), String> {
    match name {
        "nope_every" => layers.nope_every = Some(whole(value, 2)?),
        "window" => layers.window = Some(whole(value, 1)?),
        _ => layers.global_every = Some(whole(value, 2)?),
    }
    Ok(())
}

/// The value of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Setting<'a> {
    Number(f64),
    Word(&'a str),
}

impl std::fmt::Display for Setting<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// What a scheme with a setting does, for its description.
fn about(name: &str, value: Setting<'_>) -> String {
    let Setting::Number(value) = value else {
        return match name {
            "scaling" => format!("the scaling {value} in training and test"),
            _ => format!("{name} {value}"),
        };
    };
    match name {
        "factor" => format!("factor {value}"),
        "original" => format!("original length {value}"),
        "base" => format!("base {value} in place of 10000"),
        "init" => format!("its table starts at N(0, {value})"),
        "share" => format!("{value} of the columns of a head are rotated"),
        "nope_every" => format!("every {} layer has no positions", ordinal(value)),
        "window" => format!("local attention to tokens fewer than {value} places away"),
        "global_every" => format!("every {} layer attends to all tokens", ordinal(value)),
        _ => format!("{name} {value}"),
    }
}

/// The value as a whole number, or the error that says which numbers are allowed.
pub(super) fn whole(value: f64, least: usize) -> Result<usize, String> {
    let fits = value >= least as f64 && value <= 1e9 && value.fract() == 0.0;
    match fits {
        true => Ok(value as usize),
        false => Err(format!("a whole number from {least} on")),
    }
}

fn ordinal(every: f64) -> String {
    let n = every as usize;
    let ending = match (n % 10, n % 100) {
        _ if n == 2 => return "second".into(),
        _ if n == 3 => return "third".into(),
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

/// A name and its settings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Named<'a> {
    /// The name without settings.
    pub name: &'a str,
    pub settings: Vec<(&'a str, Setting<'a>)>,
}

impl<'a> Named<'a> {
    /// Reads `NAME` or `NAME(SETTING=VALUE, …)` of `what`: a scheme or a task.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] when it is not written like this, when a setting is there twice, or when a value is neither a number nor
    /// a word.
    pub fn read(what: &str, text: &'a str) -> Result<Self, LabError> {
        let text = text.trim();
        let wrong = |reason: String| LabError::Usage(format!("the {what} `{text}`: {reason}"));
        let Some((name, rest)) = text.split_once('(') else {
            return Ok(Self {
                name: text,
                settings: Vec::new(),
            });
        };
        let Some(inner) = rest.strip_suffix(')') else {
            return Err(wrong("there is no `)` at its end".into()));
        };
        let mut settings: Vec<(&str, Setting<'_>)> = Vec::new();
        for part in inner.split(',') {
            let Some((key, value)) = part.split_once('=') else {
                return Err(wrong(format!(
                    "`{}` is no setting; write NAME(SETTING=NUMBER, …), such as rotary(base=500000)",
                    part.trim()
                )));
            };
            let (key, value) = (key.trim(), value.trim());
            if settings.iter().any(|(there, _)| *there == key) {
                return Err(wrong(format!("`{key}` is there twice")));
            }
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let value = match value.parse::<f64>() {
                Ok(number) => Setting::Number(number),
                Err(_) if !value.is_empty() && value.chars().all(is_word) => Setting::Word(value),
                Err(_) => {
                    return Err(wrong(format!(
                        "`{key}` is `{value}`, which is neither a number nor a word"
                    )));
                }
            };
            settings.push((key, value));
        }
        Ok(Self {
            name: name.trim(),
            settings,
        })
    }

    /// Gives a scheme these settings, and returns the canonical spelling of its name.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] when the scheme does not have a setting, or does not take its value.
    pub fn apply(
        mut self,
        encoding: &mut Encoding,
        layers: &mut Option<LayerRecipe>,
        sizes: &Sizes,
    ) -> Result<String, LabError> {
        if self.settings.is_empty() {
            return Ok(self.to_string());
        }
        let own = encoding.settings();
        let of_layers = match encoding.acts_in_layers() {
            true => &OF_LAYERS[..],
            false => &OF_LAYERS[1..],
        };
        let known: Vec<&str> = own
            .iter()
            .map(String::as_str)
            .chain(of_layers.iter().copied())
            .collect();
        // Sorted into the fixed order, since some settings depend on an earlier one.
        let place = |name: &str| known.iter().position(|known| *known == name);
        self.settings.sort_by_key(|(name, _)| place(name));
        for (name, value) in &self.settings {
            if !known.contains(name) {
                return Err(no_setting("scheme", self.name, name, &known));
            }
            let is_of_layers = OF_LAYERS.contains(name);
            let changed = match value {
                Setting::Number(value) if is_of_layers => {
                    set_of_layers(layers.get_or_insert_default(), name, *value).map(|()| None)
                }
                Setting::Word(_) if is_of_layers => Err("a number".into()),
                Setting::Number(value) => encoding.with_setting(name, *value).map(Some),
                Setting::Word(word) => encoding.with_word(name, word, sizes).map(Some),
            };
            let changed = changed
                .map_err(|allowed| wrong_value(name, "scheme", self.name, value, &allowed))?;
            if let Some(changed) = changed {
                *encoding = changed;
            }
        }
        Ok(self.to_string())
    }

    /// What the settings do, in a few words; empty without settings.
    pub fn about(&self) -> String {
        let about = self
            .settings
            .iter()
            .map(|(name, value)| about(name, *value));
        about.collect::<Vec<_>>().join(", ")
    }
}

impl std::fmt::Display for Named<'_> {
    /// The name with its settings, without spaces.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)?;
        if self.settings.is_empty() {
            return Ok(());
        }
        let settings = self.settings.iter();
        let settings = settings.map(|(name, value)| format!("{name}={value}"));
        write!(f, "({})", settings.collect::<Vec<_>>().join(","))
    }
}

/// The error for a setting that `of` does not have; `what` says whether that is a scheme or a task.
pub(super) fn no_setting(what: &str, of: &str, name: &str, known: &[&str]) -> LabError {
    let names: Vec<String> = known.iter().map(|name| name.to_string()).collect();
    LabError::Usage(format!(
        "the {what} {of} has no setting `{name}`{}; it has: {}",
        did_you_mean(name, &names),
        names.join(", ")
    ))
}

/// The error for a value that a setting of `of` does not take; `what` says whether that is a scheme or a task.
pub(super) fn wrong_value(
    name: &str,
    what: &str,
    of: &str,
    value: &dyn std::fmt::Display,
    allowed: &str,
) -> LabError {
    LabError::Usage(format!(
        "`{name}` of the {what} {of} is {value}; it must be {allowed}"
    ))
}

/// The names of a command line that was split at every comma: the parts of one pair of parentheses are joined again.
pub(super) fn whole_names(parts: Vec<String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let is_open = |name: &String| name.matches('(').count() > name.matches(')').count();
    for part in parts {
        match names.last_mut().filter(|last| is_open(last)) {
            Some(last) => {
                last.push(',');
                last.push_str(&part);
            }
            None => names.push(part),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use pe_burn::scaling::{Dynamic, Linear, Yarn};
    use pe_burn::{PositionalConfig, PositionalScheme};

    use super::super::scaling::{Lengths, SCALINGS};
    use super::super::scheme::Scheme;
    use super::*;
    use crate::ask::ModelSpec;
    use crate::data::testing::{Says, rows};

    fn scheme(name: &str) -> Result<Scheme, LabError> {
        Scheme::by_name(name, &ModelSpec::default(), 82)
    }

    fn said(name: &str) -> String {
        scheme(name).unwrap_err().to_string()
    }

    #[test]
    fn settings_reach_the_encoding() {
        let rotary = scheme("rotary( share = 0.25, base=5e5 )").unwrap();
        assert_eq!(rotary.name, "rotary(base=500000,share=0.25)");
        let Some(PositionalConfig::Rotary(config)) = rotary.encoding.downcast() else {
            panic!("{rotary:?}")
        };
        assert_eq!((config.base, config.rotary_dim), (500_000.0, Some(4)));
        assert_eq!(rotary.layers, None);
        // The name makes the same scheme again.
        assert_eq!(scheme(&rotary.name).unwrap(), rotary);
        let json = serde_json::to_string(&rotary).unwrap();
        assert_eq!(serde_json::from_str::<Scheme>(&json).unwrap(), rotary);
        for (name, other) in [
            ("sinusoidal(base=100)", "sinusoidal"),
            ("xpos(base=100)", "xpos"),
            ("pope(base=100)", "pope"),
            ("fox_rotary(base=100)", "fox_rotary"),
            ("randomized_rotary(share=0.5)", "randomized_rotary"),
            ("learned(init=0.02)", "learned"),
            ("t5(init=0.125)", "t5"),
            ("shaw(init=1)", "shaw"),
            ("transformer_xl(init=1)", "transformer_xl"),
            ("deberta(init=1)", "deberta"),
            ("cope(init=1)", "cope"),
            ("tupe(init=0.02)", "tupe"),
            ("tupe_r(init=0.02)", "tupe_r"),
            ("erpe(init=0.02)", "erpe"),
            ("inkling(init=1)", "inkling"),
        ] {
            let with = scheme(name).unwrap();
            assert_ne!(with.encoding, scheme(other).unwrap().encoding, "{name}");
            assert_eq!(with.name, name);
        }
        // A setting at the default is another name of the same encoding.
        let same = scheme("rotary(base=10000)").unwrap();
        assert_eq!(same.encoding, scheme("rotary").unwrap().encoding);
    }

    #[test]
    fn a_table_starts_with_the_standard_deviation_of_its_name() {
        for (name, least, most) in [
            ("t5", 0.8, 1.2),
            ("t5(init=0.125)", 0.09, 0.16),
            ("t5(init=0)", 0.0, 0.0),
        ] {
            let scheme = scheme(name).unwrap();
            let config: &PositionalConfig = scheme.encoding.downcast().unwrap();
            let PositionalScheme::T5(bias) = config.try_init(&Device::flex()).unwrap() else {
                panic!("{scheme:?}")
            };
            let weight = bias.weight.val();
            let spread = (weight.clone() * weight).mean().sqrt().into_scalar::<f32>();
            assert!((least..=most).contains(&spread), "{name}: {spread}");
        }
    }

    #[test]
    fn a_scaling_stretches_the_training_to_the_longest_input_unless_it_says_otherwise() {
        let lengths = Lengths {
            trained: 22,
            longest: 88,
            tested: 88,
        };
        let of = |name: &str| {
            let scheme = Scheme::for_lengths(name, &ModelSpec::default(), lengths).unwrap();
            let Some(PositionalConfig::Rotary(config)) = scheme.encoding.downcast() else {
                panic!("{scheme:?}")
            };
            (scheme.name.clone(), config.scaling.clone().unwrap())
        };
        let (name, scaling) = of("rotary(original=16, factor=4, scaling=yarn)");
        assert_eq!(name, "rotary(scaling=yarn,factor=4,original=16)");
        assert_eq!(scaling, Yarn::new(4.0, 16).into());
        assert_eq!(of("rotary(scaling=yarn)").1, Yarn::new(4.0, 22).into());
        assert_eq!(
            of("rotary(scaling=dynamic)").1,
            Dynamic::new(1.0, 22).into()
        );
        assert_eq!(
            of("randomized_rotary(scaling=linear,factor=2)").1,
            Linear::new(2.0).into()
        );
        // Each scaling can be built, and reading its stored data gives the same scheme.
        for name in SCALINGS {
            let text = format!("rotary(scaling={name},factor=4)");
            let scheme = Scheme::for_lengths(&text, &ModelSpec::default(), lengths).unwrap();
            scheme.init(&Device::flex()).unwrap();
            let json = serde_json::to_string(&scheme).unwrap();
            assert_eq!(serde_json::from_str::<Scheme>(&json).unwrap(), scheme);
        }
        let about = Scheme::description("rotary(scaling=yarn,factor=4)");
        assert!(
            about.ends_with("; with the scaling yarn in training and test, factor 4"),
            "{about}"
        );
    }

    #[test]
    fn settings_of_layers_are_data() {
        let scheme = scheme("t5(global_every=3,window=8,nope_every=4)").unwrap();
        let layers = LayerRecipe {
            nope_every: Some(4),
            window: Some(8),
            global_every: Some(3),
        };
        assert_eq!(scheme.layers, Some(layers));
        assert_eq!(scheme.name, "t5(nope_every=4,window=8,global_every=3)");
        let json = serde_json::to_string(&scheme).unwrap();
        assert_eq!(serde_json::from_str::<Scheme>(&json).unwrap(), scheme);
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_allowed() {
        for [name, words] in rows(
            "
            rotari(base=5)                  | no scheme `rotari` … rotary
            rotary(bose=5)                  | no setting `bose` … did you mean `base`
            rotary(x=5)                     | base, share, scaling, factor, original, nope_every, window, global_every
            rotary(base)                    | `base` is no setting … SETTING=NUMBER
            rotary()                        | `` is no setting
            rotary(base=5                   | no `)` at its end
            rotary(base=5)x                 | no `)` at its end
            rotary(base=high)               | `base` of the scheme rotary is high … it must be a number
            rotary(base=1..5)               | `base` is `1..5`, which is neither a number nor a word
            rotary(window=far)              | is far; it must be a number
            rotary(scaling=yarm)            | `scaling` of the scheme rotary is yarm … one of linear, ntk, dynamic, yarn, llama3
            rotary(scaling=longrope)        | not longrope: its factors were searched for one model
            rotary(scaling=4)               | is 4; it must be one of linear
            rotary(factor=4)                | given with a scaling, such as scaling=yarn
            rotary(scaling=ntk,factor=0.5)  | is 0.5 … a number from 1 on
            rotary(scaling=ntk,original=64) | no original length
            rotary_2d(scaling=yarn)         | rotary_2d has no setting `scaling`
            rotary(base=5,base=6)           | `base` is there twice
            rotary(base=1)                  | `base` of the scheme rotary is 1 … above 1
            rotary(base=NaN)                | is NaN … above 1
            rotary(share=0.3)               | is 0.3 … 16 columns … a multiple of 0.125
            rotary(share=1.125)             | at most 1
            rotary(share=0)                 | above 0
            t5(init=-1)                     | `init` of the scheme t5 is -1 … a standard deviation, a number from 0 on
            learned(init=inf)               | is inf … a number from 0 on
            kerple(init=1)                  | kerple has no setting `init`
            alibi(base=5)                   | alibi has no setting `base` … it has: nope_every, window
            rotary_2d(share=0.5)            | rotary_2d has no setting `share`
            sinusoidal(nope_every=2)        | has no setting `nope_every` … base, window
            none(nope_every=2)              | none has no setting `nope_every`
            rotary(nope_every=1)            | is 1 … a whole number from 2 on
            rotary(window=0)                | is 0 … a whole number from 1 on
            rotary(window=2.5)              | is 2.5 … a whole number
            ",
        ) {
            said(name).says(words);
        }
    }

    #[test]
    fn a_description_names_the_settings() {
        let about = Scheme::description("rotary(base=500,nope_every=4)");
        assert!(about.contains("RoPE"), "{about}");
        assert!(
            about.ends_with("; with base 500 in place of 10000, every 4th layer has no positions"),
            "{about}"
        );
        assert_eq!(Scheme::description("rotari"), "");
        let every = [
            2.0, 3.0, 4.0, 11.0, 12.0, 13.0, 21.0, 22.0, 23.0, 112.0, 123.0,
        ]
        .map(ordinal);
        let said = "second third 4th 11th 12th 13th 21st 22nd 23rd 112th 123rd";
        assert_eq!(every.join(" "), said);
    }

    #[test]
    fn commas_inside_of_parentheses_divide_no_names() {
        let of = |text: &str| whole_names(text.split(',').map(String::from).collect());
        assert_eq!(
            of("rotary(share=0.25, base=500000),rotary(nope_every=4),none"),
            [
                "rotary(share=0.25, base=500000)",
                "rotary(nope_every=4)",
                "none"
            ]
        );
        assert_eq!(of("a,b"), ["a", "b"]);
        // After an unclosed parenthesis everything stays in one name, and no text is lost.
        assert_eq!(of("rotary(base=5,none"), ["rotary(base=5,none"]);
    }
}
