//! Names on a command line, and those that a person may have meant.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use strsim::levenshtein;

/// A parser for a flag that takes one of these names and gives the value of that name.
pub fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    known: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(known.map(|(name, _)| name)).try_map(move |name| {
        let found = known.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value).ok_or("no such name")
    })
}

/// Names that others give to a scheme, and its name here.
const OTHER_NAMES: [(&str, &str); 15] = [
    ("rope", "rotary"),
    ("roformer", "rotary"),
    ("nope", "none"),
    ("no", "none"),
    ("sin", "sinusoidal"),
    ("sine", "sinusoidal"),
    ("sincos", "sinusoidal"),
    ("vaswani", "sinusoidal"),
    ("absolute", "learned"),
    ("bert", "learned"),
    ("gpt2", "learned"),
    ("relative", "t5"),
    ("xrope", "xpos"),
    ("rope_2d", "rotary_2d"),
    ("rope2d", "rotary_2d"),
];

/// The known name that was probably meant by `name`: the one for which `name` is another name in use, or else the most
/// similar one, if few letters differ.
pub fn meant<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let name = name.trim().to_ascii_lowercase();
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == name);
    let other = other.and_then(|(_, here)| known.iter().find(|known| known == here));
    let near = || {
        let distances = known.iter().map(|known| (levenshtein(&name, known), known));
        let nearest = distances.min_by_key(|(distance, _)| *distance);
        // At most a third of the letters may differ.
        nearest.filter(|(distance, known)| 3 * distance <= known.len().max(3))
    };
    let found = other.or_else(|| near().map(|(_, known)| known));
    found.map(String::as_str)
}

/// A question about the name that was probably meant, to be appended to an unknown name in a message; empty if no known
/// name is similar.
pub fn did_you_mean(name: &str, known: &[String]) -> String {
    match meant(name, known) {
        Some(meant) => format!(" (did you mean `{meant}`?)"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_or_another_name_is_understood_and_nonsense_is_not() {
        let known = [
            "none",
            "sinusoidal",
            "learned",
            "rotary",
            "alibi",
            "t5",
            "digits",
        ];
        let known = known.map(String::from);
        for (name, here) in [
            ("rope", Some("rotary")),
            ("RoPE", Some("rotary")),
            ("sinusodal", Some("sinusoidal")),
            ("rotarry", Some("rotary")),
            ("digit", Some("digits")),
            ("Learned", Some("learned")),
            ("t6", Some("t5")),
            ("sorting", None),
            ("", None),
            // A name that is not among the known ones is not proposed.
            ("rope_2d", None),
        ] {
            assert_eq!(meant(name, &known), here, "{name}");
        }
        assert_eq!(did_you_mean("rope", &known), " (did you mean `rotary`?)");
    }
}
