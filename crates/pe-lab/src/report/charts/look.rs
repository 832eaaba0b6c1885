//! How a scheme looks: by colour, by shape of its markers, and by dashes.

use crate::ask::Scheme;
use crate::draw::colour::{MAX_DISTINCT, Rgb, distinct};
use crate::draw::{Marker, Stroke};

/// How a scheme looks. It looks the same on every chart, whatever it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look(usize);

impl Look {
    /// The look of a scheme of a study.
    pub fn of(scheme: &str, schemes: &[String]) -> Self {
        let known: Vec<&str> = Scheme::names().collect();
        let listed = known.iter().position(|name| *name == scheme);
        let in_study = || {
            let unlisted = schemes.iter().filter(|s| !known.contains(&s.as_str()));
            known.len() + unlisted.take_while(|s| *s != scheme).count()
        };
        Self(listed.unwrap_or_else(in_study))
    }

    /// The colour of its line and its markers.
    pub fn colour(self) -> Rgb {
        distinct(self.0)
    }

    /// The shape of its markers. Schemes with the same colour have different shapes.
    pub fn marker(self) -> Marker {
        Marker::ALL[(self.0 + self.0 / MAX_DISTINCT) % Marker::ALL.len()]
    }

    /// Its line. It is dashed from the eighth scheme on.
    pub fn stroke(self) -> Stroke {
        Stroke {
            colour: self.colour(),
            dash: [None, Some((9, 4)), Some((2, 3))][(self.0 / MAX_DISTINCT) % 3],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_schemes_and_more_look_different() {
        let names: Vec<String> = (0..14).map(|i| format!("scheme {i}")).collect();
        let looks: Vec<Look> = names.iter().map(|name| Look::of(name, &names)).collect();
        for (i, a) in looks.iter().enumerate() {
            for b in &looks[i + 1..] {
                let kind = |look: &Look| (look.colour(), look.marker(), look.stroke().dash);
                assert_ne!(kind(a), kind(b));
                let plain = |look: &Look| (look.marker(), look.stroke().dash);
                assert!(a.colour() != b.colour() || plain(a) != plain(b));
            }
        }
        // The look does not depend on the other schemes.
        let few = ["learned".to_string()];
        let more = ["none".to_string(), "learned".to_string()];
        assert_eq!(Look::of("learned", &few), Look::of("learned", &more));
    }
}
