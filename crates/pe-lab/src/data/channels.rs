//! The steps of a series whose channels are written one after the other: `1,2,3` and `4,5,6` are the steps `1 4`, `2 5` and
//! `3 6`.

use super::quote::{counted, shorten};
use super::rows::Tokens;
use crate::grouped::first_of;

/// Checks that all channels have the same number of steps.
///
/// # Errors
///
/// With the first channel that has more or fewer than the first one.
pub(super) fn check<T>(channels: &[Vec<T>]) -> Result<(), String> {
    let steps = |channel: &Vec<T>| channel.len();
    let first = channels.first().map_or(0, steps);
    match channels.iter().position(|channel| steps(channel) != first) {
        None => Ok(()),
        Some(other) => Err(format!(
            "channel {} has {}, and channel 1 has {first}",
            other + 1,
            counted(steps(&channels[other]), "step")
        )),
    }
}

/// Checks that a class is one of those that a file lists, if it lists any. `list` says where.
pub(super) fn check_class(class: &str, known: &[String], list: &str) -> Result<(), String> {
    /// A message lists so many classes and counts the rest.
    const NAMED: usize = 20;
    if known.is_empty() || known.iter().any(|name| name == class) {
        return Ok(());
    }
    Err(format!(
        "the class {} is not among those of {list}: {}",
        shorten(class),
        first_of(known.iter().map(|name| shorten(name)), NAMED)
    ))
}

/// The steps of a series, each with the cells of all channels. An empty cell is a missing value.
pub(super) fn steps<T: AsRef<str>>(channels: &[Vec<T>]) -> Tokens {
    let count = channels.iter().map(Vec::len).min().unwrap_or(0);
    let mut tokens = Tokens::default();
    for at in 0..count {
        let cells = channels.iter().map(|channel| channel[at].as_ref());
        tokens.push(&step(cells));
    }
    tokens
}

pub(super) fn step<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let cell = |cell: &'a str| match cell.trim() {
        "" => "?",
        cell => cell,
    };
    cells.map(cell).collect::<Vec<_>>().join(" ")
}
