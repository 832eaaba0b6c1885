//! How a scheme looks: by colour, by shape of its markers, and by dashes.

use super::colour::{MAX_DISTINCT, Rgb, distinct};
use super::mark::{Marker, Stroke};
use crate::ask::Scheme;

/// The ways in which a line is dashed. Their lengths are those of dash and gap in pixels.
const DASHES: [Option<(i32, i32)>; 4] = [None, Some((9, 4)), Some((2, 3)), Some((14, 3))];

/// How a scheme looks. A scheme that the laboratory lists looks the same on every chart, whatever it is compared with.
/// Another, such as one with settings, takes the first colour that its study has not used. Where all colours are used, it
/// takes one again, with other dashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look(usize);

impl Look {
    /// The look of a scheme of a study with these schemes.
    pub fn of(scheme: &str, schemes: &[String]) -> Self {
        let listed = |name: &str| Scheme::names().position(|known| known == name);
        if let Some(own) = listed(scheme) {
            return Self(own);
        }
        let mut taken: Vec<usize> = schemes.iter().filter_map(|name| listed(name)).collect();
        let free = |taken: &[usize]| {
            let same_colour = |slot: usize| {
                let colours = taken.iter().map(|other| other % MAX_DISTINCT);
                colours
                    .filter(|colour| *colour == slot % MAX_DISTINCT)
                    .count()
            };
            // There are more places than schemes, so one of them is free.
            let places = (0..MAX_DISTINCT * (taken.len() + 1)).filter(|slot| !taken.contains(slot));
            places
                .min_by_key(|slot| (same_colour(*slot), *slot))
                .unwrap_or(0)
        };
        let others = schemes.iter().filter(|name| listed(name).is_none());
        for _ in others.take_while(|name| *name != scheme) {
            taken.push(free(&taken));
        }
        Self(free(&taken))
    }

    /// The colour of its line and its markers.
    pub fn colour(self) -> Rgb {
        distinct(self.0)
    }

    /// The shape of its markers. Schemes with the same colour have different shapes.
    pub(crate) fn marker(self) -> Marker {
        Marker::ALL[(self.0 + self.0 / MAX_DISTINCT) % Marker::ALL.len()]
    }

    /// The lengths of dash and gap of its line in pixels. The first seven looks have solid lines.
    pub fn dash(self) -> Option<(i32, i32)> {
        DASHES[(self.0 / MAX_DISTINCT) % DASHES.len()]
    }

    pub(crate) fn stroke(self) -> Stroke {
        Stroke {
            colour: self.colour(),
            dash: self.dash(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(names: &[String]) -> Vec<Look> {
        names.iter().map(|name| Look::of(name, names)).collect()
    }

    #[test]
    fn many_schemes_look_different() {
        let names: Vec<String> = (0..28).map(|i| format!("scheme {i}")).collect();
        let looks = looks(&names);
        for (i, a) in looks.iter().enumerate() {
            for b in &looks[i + 1..] {
                assert!((a.colour(), a.dash()) != (b.colour(), b.dash()));
                assert!((a.colour(), a.marker()) != (b.colour(), b.marker()));
            }
        }
    }

    /// The listed schemes `rotary` and `xpos` keep their colours, and a scheme with settings takes another one.
    #[test]
    fn a_scheme_with_settings_takes_a_colour_that_its_study_has_not_used() {
        let names = ["rotary", "rotary(base=500000)", "xpos", "rotary(share=0.5)"];
        let looks = looks(&names.map(String::from));
        for (i, a) in looks.iter().enumerate() {
            assert!(looks[i + 1..].iter().all(|b| a.colour() != b.colour()));
        }
    }

    #[test]
    fn a_listed_scheme_looks_the_same_whatever_it_is_compared_with() {
        let few = ["learned".to_string()];
        let more = ["rotary(base=10)", "none", "learned"].map(String::from);
        assert_eq!(Look::of("learned", &few), Look::of("learned", &more));
    }
}
