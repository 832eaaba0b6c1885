//! For how many steps a task is trained: a number, or until the training has converged.

use std::fmt;
use std::str::FromStr;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::grouped::counted;

/// The most steps of a training. No task gains anything from more.
pub const MAX_STEPS: usize = 10_000_000;

/// The limit of `auto` if none is given, as a multiple of the task's own number of steps.
const LIMIT: usize = 4;

/// How many training steps a person asks for.
///
/// As text it is `500`, `auto`, `auto:6000` (a limit) or `auto:500..6000` (the steps of the first training, and the
/// limit). In a `study.toml` a number stands without quotation marks.
///
/// ```
/// use pe_lab::ask::StepCount;
/// assert_eq!("auto:6000".parse(), Ok(StepCount::Auto { first: None, limit: Some(6000) }));
/// assert!("auto:0".parse::<StepCount>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepCount {
    /// This number of steps.
    Fixed(usize),
    /// Until the training has converged. A training that has not is run again from its start with twice the steps.
    Auto {
        /// The steps of the first training; if it is open, the task's own number, or the limit if that is less.
        first: Option<usize>,
        /// The most steps of a training; if it is open, four times the task's own number.
        limit: Option<usize>,
    },
}

impl StepCount {
    /// The steps of the longest training, and with `auto` those of the first, on a task whose own number is `own`.
    pub(super) fn on(self, own: usize) -> (usize, Option<usize>) {
        match self {
            Self::Fixed(steps) => (steps, None),
            Self::Auto { first, limit } => {
                let limit = limit.unwrap_or(own.saturating_mul(LIMIT));
                (limit, Some(first.unwrap_or(own).min(limit)))
            }
        }
    }
}

impl From<usize> for StepCount {
    fn from(steps: usize) -> Self {
        Self::Fixed(steps)
    }
}

impl FromStr for StepCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = || {
            format!(
                "`{text}` is neither a number of steps, such as 500, nor `auto`, `auto:6000` (a limit) or \
                 `auto:500..6000` (the steps of the first training, and the limit)"
            )
        };
        let number = |part: &str| part.trim().parse::<usize>().map_err(|_| wrong());
        let Some(rest) = text.strip_prefix("auto") else {
            return number(text).map(Self::Fixed);
        };
        let within = |steps: usize| match (1..=MAX_STEPS).contains(&steps) {
            true => Ok(Some(steps)),
            false => Err(format!(
                "`{text}` asks for {steps} steps; a training takes from 1 to {MAX_STEPS}"
            )),
        };
        let (first, limit) = match rest.strip_prefix(':') {
            None if rest.is_empty() => (None, None),
            None => return Err(wrong()),
            Some(rest) => match rest.split_once("..") {
                None => (None, within(number(rest)?)?),
                Some((first, limit)) => (within(number(first)?)?, within(number(limit)?)?),
            },
        };
        match (first, limit) {
            (Some(from), Some(to)) if from > to => Err(format!(
                "`{text}` begins with {from} steps, which is above its limit of {to}"
            )),
            _ => Ok(Self::Auto { first, limit }),
        }
    }
}

impl fmt::Display for StepCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(steps) => write!(f, "{steps}"),
            Self::Auto { first, limit } => match (first, limit) {
                (Some(first), Some(limit)) => write!(f, "auto:{first}..{limit}"),
                (None, Some(limit)) => write!(f, "auto:{limit}"),
                (_, None) => f.write_str("auto"),
            },
        }
    }
}

impl Serialize for StepCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(steps) => steps.serialize(serializer),
            Self::Auto { .. } => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for StepCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Count;
        impl Visitor<'_> for Count {
            type Value = StepCount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of steps, such as 500, or \"auto\"")
            }

            fn visit_u64<E: Error>(self, steps: u64) -> Result<StepCount, E> {
                usize::try_from(steps)
                    .map(StepCount::Fixed)
                    .map_err(|_| E::custom(format!("{steps} steps are too many")))
            }

            fn visit_i64<E: Error>(self, steps: i64) -> Result<StepCount, E> {
                let whole = u64::try_from(steps);
                let whole = whole.map_err(|_| E::custom(format!("{steps} is no number of steps")));
                self.visit_u64(whole?)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<StepCount, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Count)
    }
}

/// The steps of the trainings that a trial of at most `steps` may run, each from its start: `steps` alone, or with
/// `auto` the first number, then twice as many each time, the limit last.
pub(super) fn trainings(auto_from: Option<usize>, steps: usize) -> Vec<usize> {
    let mut next = auto_from.unwrap_or(steps);
    let mut all = Vec::new();
    while next < steps && next > 0 {
        all.push(next);
        next = next.saturating_mul(2);
    }
    all.push(steps);
    all
}

/// A name for a number of steps: the number, or `auto-FIRST-LIMIT`.
pub(super) fn steps_id(auto_from: Option<usize>, steps: usize) -> String {
    match auto_from {
        None => steps.to_string(),
        Some(first) => format!("auto-{first}-{steps}"),
    }
}

/// `1500 steps`, or `1500 to 6000 steps`.
pub fn steps_in_words(auto_from: Option<usize>, steps: usize) -> String {
    match auto_from {
        Some(first) if first < steps => format!("{first} to {steps} steps"),
        _ => counted(steps, "step"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto(first: Option<usize>, limit: Option<usize>) -> StepCount {
        StepCount::Auto { first, limit }
    }

    #[test]
    fn a_count_is_read_and_written_back() {
        for (text, count) in [
            ("500", StepCount::Fixed(500)),
            ("auto", auto(None, None)),
            ("auto:6000", auto(None, Some(6000))),
            ("auto:500..6000", auto(Some(500), Some(6000))),
            ("auto:7..7", auto(Some(7), Some(7))),
        ] {
            assert_eq!(text.parse(), Ok(count));
            assert_eq!(count.to_string(), text);
        }
    }

    #[test]
    fn nonsense_is_refused_with_what_it_says() {
        for (text, said) in [
            ("autoo", "`autoo` is neither"),
            ("Auto", "`Auto` is neither"),
            ("auto:", "neither"),
            ("auto 6000", "neither"),
            ("auto:x", "neither"),
            ("auto:-5", "neither"),
            ("auto:5..", "neither"),
            ("auto:..5", "neither"),
            ("", "neither"),
            ("1.5", "neither"),
            ("auto:0", "`auto:0` asks for 0 steps"),
            ("auto:0..5", "asks for 0 steps"),
            ("auto:10000001", "from 1 to 10000000"),
            ("auto:600..500", "above its limit of 500"),
        ] {
            let message = text.parse::<StepCount>().unwrap_err();
            assert!(message.contains(said), "{text}: {message}");
        }
    }

    #[test]
    fn what_is_open_follows_from_the_task() {
        assert_eq!(StepCount::Fixed(7).on(1500), (7, None));
        assert_eq!(auto(None, None).on(1500), (6000, Some(1500)));
        assert_eq!(auto(None, Some(4000)).on(1500), (4000, Some(1500)));
        assert_eq!(auto(None, Some(200)).on(1500), (200, Some(200)));
        assert_eq!(auto(Some(50), Some(200)).on(1500), (200, Some(50)));
    }

    #[test]
    fn the_steps_double_up_to_the_limit() {
        assert_eq!(trainings(None, 300), [300]);
        assert_eq!(trainings(Some(1500), 6000), [1500, 3000, 6000]);
        assert_eq!(trainings(Some(1500), 4000), [1500, 3000, 4000]);
        assert_eq!(trainings(Some(300), 300), [300]);
        assert_eq!(trainings(Some(1), MAX_STEPS).len(), 25);
        assert_eq!(steps_in_words(Some(1500), 4000), "1500 to 4000 steps");
        assert_eq!(steps_in_words(Some(300), 300), "300 steps");
        assert_eq!(steps_in_words(None, 1), "1 step");
    }
}
