//! The schemes as the laboratory uses them.

use burn::module::Initializer;
use pe_burn::PositionalConfig;

use crate::error::LabError;

/// The names of the schemes that can be compared.
pub fn names() -> &'static [&'static str] {
    PositionalConfig::NAMES
}

/// A line about a scheme.
pub fn about(name: &str) -> &'static str {
    match name {
        "none" => "no positions at all: the control of every comparison",
        "sinusoidal" => "a fixed pattern of sines and cosines (Vaswani et al. 2017)",
        "learned" => "a trained vector for every position (Gehring et al. 2017; BERT, GPT-2)",
        _ => "",
    }
}

/// The configuration of a scheme for a model of width `d_model` and inputs of up to `max_tokens`.
///
/// Every option is at its default but one: a learned table starts as large as the sinusoidal
/// pattern, whose mean square is ½, at N(0, 0.7). Neither then has an advantage of size over the
/// other, and both stand out from the smaller token embeddings (see [`crate::model::Model`]). From
/// N(0, 0.2), as large as the tokens, `reverse` was learned more slowly: to 0.46 at 20 symbols, where
/// N(0, 0.7) came to 0.96 (seed 101, 1,500 steps at a peak of 1e-3).
///
/// The table has a row for every position up to the longest test, so that its rows beyond the
/// training lengths exist, and are as random as on the first day.
///
/// # Errors
///
/// [`LabError::UnknownScheme`], which lists the names there are.
pub fn config(name: &str, d_model: usize, max_tokens: usize) -> Result<PositionalConfig, LabError> {
    if !names().contains(&name) {
        return Err(LabError::UnknownScheme {
            name: name.to_string(),
            known: names().iter().map(|name| name.to_string()).collect(),
        });
    }
    let config = PositionalConfig::by_name(name, d_model, 4, max_tokens)?;
    Ok(match config {
        PositionalConfig::Learned(table) => {
            let like_sinusoidal = Initializer::Normal {
                mean: 0.0,
                std: 0.7,
            };
            PositionalConfig::Learned(table.with_init(like_sinusoidal))
        }
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_has_a_configuration_and_a_line_about_it() {
        for name in names() {
            assert_eq!(config(name, 64, 22).unwrap().name(), *name);
            assert!(!about(name).is_empty(), "{name}");
        }
        let message = config("cosine", 64, 22).unwrap_err().to_string();
        assert!(message.contains("none, sinusoidal, learned"), "{message}");
    }
}
