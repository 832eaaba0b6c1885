//! The numbers of the explorer, computed by `pe-burn`: a table of sines and cosines, the scores of rotated
//! queries and keys, and biases over the distance.

mod bias;
mod numbers;
mod rotary;
mod sinusoidal;
mod xpos;

use pe_burn::PositionError;
use serde::Serialize;

use super::controls::{Control, Refusal, Values, pairs};
use crate::draw::colour::{MAX_DISTINCT, distinct, diverging};
use numbers::Numbers;

/// How many colours the page gets for the values from −1 to 1.
const SHADES: usize = 257;

/// A scheme of the explorer.
#[derive(Debug, Serialize)]
struct Scheme {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    /// Which pictures there are: `table`, or `distance` for those of a function of the distance.
    view: &'static str,
    controls: &'static [Control],
    #[serde(skip)]
    numbers: fn(&Values) -> Result<Numbers, Refusal>,
}

static SCHEMES: [Scheme; 7] = [
    Scheme {
        name: "sinusoidal",
        title: "Sinusoidal",
        about: "A vector of sines and cosines is added to each token: Vaswani et al. 2017, section 3.5.",
        view: "table",
        controls: &sinusoidal::CONTROLS,
        numbers: sinusoidal::numbers,
    },
    Scheme {
        name: "rotary",
        title: "Rotary (RoPE)",
        about: "Pairs of columns of queries and keys are rotated by their positions: Su et al. 2021.",
        view: "distance",
        controls: &rotary::CONTROLS,
        numbers: rotary::numbers,
    },
    Scheme {
        name: "xpos",
        title: "xPos",
        about: "Rotated as by RoPE, with products that decay over the distance: Sun et al. 2022, section 3.2.",
        view: "distance",
        controls: &xpos::CONTROLS,
        numbers: xpos::numbers,
    },
    Scheme {
        name: "alibi",
        title: "ALiBi",
        about: "Each head subtracts its own slope times the distance from the scores: Press et al. 2021.",
        view: "distance",
        controls: &bias::ALIBI,
        numbers: bias::alibi,
    },
    Scheme {
        name: "t5",
        title: "T5",
        about: "A trained number for each range of distances is added to the scores: Raffel et al. 2019.",
        view: "distance",
        controls: &bias::T5,
        numbers: bias::t5,
    },
    Scheme {
        name: "kerple",
        title: "KERPLE",
        about: "The scores are lowered by a trained logarithm or power of the distance: Chi et al. 2022.",
        view: "distance",
        controls: &bias::KERPLE,
        numbers: bias::kerple,
    },
    Scheme {
        name: "fire",
        title: "FIRE",
        about: "A small trained network makes a bias of the distance relative to the position: Li et al. 2023.",
        view: "distance",
        controls: &bias::FIRE,
        numbers: bias::fire,
    },
];

/// All schemes with their controls, and the colours of the pictures, as JSON.
pub fn schemes() -> Vec<u8> {
    let shade = |i: usize| diverging(2.0 * i as f64 / (SHADES - 1) as f64 - 1.0);
    let shades: Vec<_> = (0..SHADES).map(shade).collect();
    let lines: Vec<_> = (0..MAX_DISTINCT).map(distinct).collect();
    json(&serde_json::json!({"schemes": SCHEMES, "shades": shades, "lines": lines}))
}

/// The numbers of a scheme with the settings of an address: a line of JSON and, behind it, the rows of a table if the
/// scheme has one, as `f32`, little-endian, row by row. One answer has both, since each request costs a browser more
/// time than most numbers cost here.
pub fn numbers(query: &str) -> Result<Vec<u8>, Refusal> {
    let (scheme, values) = asked(query)?;
    let numbers = (scheme.numbers)(&values)?;
    let mut bytes = json(&numbers);
    bytes.push(b'\n');
    bytes.reserve_exact(4 * numbers.rows.len());
    for value in &numbers.rows {
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    Ok(bytes)
}

fn asked(query: &str) -> Result<(&'static Scheme, Values), Refusal> {
    let mut pairs = pairs(query)?;
    let name = match pairs.iter().position(|pair| pair.0 == "scheme") {
        Some(place) => pairs.remove(place).1,
        None => String::new(),
    };
    let Some(scheme) = SCHEMES.iter().find(|scheme| scheme.name == name) else {
        let names: Vec<&str> = SCHEMES.iter().map(|scheme| scheme.name).collect();
        let bound = format!("one of {}", names.join(", "));
        return Err(Refusal::new("scheme", name, bound));
    };
    Ok((scheme, Values::of(scheme.controls, &pairs)?))
}

/// Only numbers that are not finite cannot be written, and they become `null`.
fn json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain data with names as keys")
}

impl From<PositionError> for Refusal {
    fn from(error: PositionError) -> Self {
        match error {
            PositionError::Number { name, value, bound } => Self::new(&name, value, bound),
            other => Self::new(
                "the settings",
                other.to_string(),
                "such that they go together",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::numbers::offsets;
    use super::*;

    #[test]
    fn keys_are_on_both_sides_and_stay_inside() {
        let at = |query: &str| {
            let (_, values) = asked(&format!("scheme=alibi&{query}")).unwrap();
            offsets(&values)
        };
        assert_eq!(at("query=2&reach=3"), [-2, -1, 0, 1, 2, 3]);
        assert_eq!(at("query=1000000000&reach=2"), [-2, -1, 0]);
        let far = at("query=500000000&reach=1000000000");
        assert!(far.len() <= 513 && far.contains(&0));
        assert!(
            far.iter()
                .all(|offset| (0..=1_000_000_000).contains(&(500_000_000 + offset)))
        );
    }

    #[test]
    fn every_default_is_accepted() {
        for scheme in &SCHEMES {
            let text = numbers(&format!("scheme={}", scheme.name)).unwrap();
            assert!(!text.is_empty());
        }
    }
}
