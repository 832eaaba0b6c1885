//! What a person is asked about rows that may not be what they look like: names of whose row it is among the tokens, and numbers far from
//! all others.

use std::collections::HashMap;

use super::measured::Measured;
use super::numbers::finite;
use super::quote::{grouped, shorten};
use super::rows::{Rows, shown};

/// Only so many of the first tokens of a row are looked at.
const PLACES: usize = 64;
/// A value that is a name has this many others beside it, and rows repeat names at least this often in all.
const NAMES: usize = 5;
const REPEATS: usize = 10;

/// A number this many times as far from the median as the quartiles are from each other is far off.
const FAR: f64 = 100.0;
/// The median and the quartiles are found among about so many numbers.
const SAMPLE: usize = 100_000;

/// A question about tokens that tell the label of a row by a name, as that of a patient with several rows does. Rows with groups are
/// divided by these, so nothing is asked.
pub(super) fn names(data: &Rows) -> Option<String> {
    let length = data.rows.first()?.tokens.len();
    let is_table = length > 1 && data.rows.iter().all(|row| row.tokens.len() == length);
    if !is_table || !data.groups.is_empty() || !data.has_classes() {
        return None;
    }
    let place = (0..length.min(PLACES)).find(|place| is_name(data, *place))?;
    let token = data.rows[0].tokens[place] as usize;
    Some(format!(
        "token {} of every row, {} in the first, repeats, and rows in which it is the same have the same label: if it names whose row it is, \
         as a patient or a machine, the scores say nothing of others; --group with its column keeps its rows together, and --columns leaves \
         it out",
        place + 1,
        shorten(shown(&data.words[token]))
    ))
}

/// Whether the tokens at a place are many, repeat, and have one label each.
fn is_name(data: &Rows, place: usize) -> bool {
    let mut labels: HashMap<u32, usize> = HashMap::new();
    for row in &data.rows {
        // A number that is not whole names nobody.
        let word = data.words.get(row.tokens[place] as usize);
        if word
            .and_then(|word| finite(word))
            .is_some_and(|number| number.fract() != 0.0)
        {
            return false;
        }
        let is_told = *labels.entry(row.tokens[place]).or_insert(row.label) == row.label;
        if !is_told || 2 * labels.len() > data.rows.len() {
            return false;
        }
    }
    let least = NAMES.max(2 * data.labels.len());
    labels.len() >= least && data.rows.len() >= labels.len() + REPEATS.max(labels.len())
}

/// A question about the number that is farthest from the others of its channel among the rows to train on, if it is far off: all of them
/// are scaled by one mean and one deviation, which such a number makes useless for the others.
pub(super) fn far_off(
    data: &Rows,
    measured: &Measured,
    channels: usize,
    train: &[usize],
) -> Option<String> {
    let numbers = |channel: usize| {
        let tokens = train.iter().flat_map(|row| &data.rows[*row].tokens);
        let numbers = tokens.map(move |token| measured.step(*token as usize)[channel]);
        numbers.filter(|number| !number.is_nan())
    };
    let found = (0..channels).filter_map(|channel| farthest(|| numbers(channel)));
    let (number, times) = found.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let all = match channels {
        1 => "all tokens share one mean and one deviation",
        _ => "all numbers of a channel share one mean and one deviation",
    };
    Some(format!(
        "the number {number} is {} times as far from the median as the quartiles are from each other, and {all}, so the model hardly sees how \
         the others differ: if it stands for a missing value, leave its cell empty; if it has another unit, scale it",
        grouped(times as usize)
    ))
}

/// The number that is farthest from the median, and how many times the distance between the quartiles that is, if it is far off. Median
/// and quartiles are those of every few numbers, so that many take no memory.
fn farthest<I: Iterator<Item = f64>>(all: impl Fn() -> I) -> Option<(f64, f64)> {
    let every = (all().count() / SAMPLE).max(1);
    let mut some: Vec<f64> = all().step_by(every).collect();
    some.sort_unstable_by(f64::total_cmp);
    let at = |share: usize| some.get(some.len() * share / 4).copied();
    let (low, median, high) = (at(1)?, at(2)?, at(3)?);
    let distance = |number: &f64| (number - median).abs();
    let number = all().max_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let times = distance(&number) / (high - low);
    (high > low && times > FAR).then_some((number, times))
}

#[cfg(test)]
mod tests {
    use super::super::testing::labelled_rows;
    use super::*;

    /// Forty rows of ten names with one label each, and a token that says nothing.
    fn visits() -> Rows {
        let rows =
            (0..40_u32).map(|row| (usize::from(row % 10 < 5), vec![row % 7, 100 + row % 10]));
        Rows {
            words: (0..200).map(|word| word.to_string()).collect(),
            ..labelled_rows(rows)
        }
    }

    #[test]
    fn names_that_tell_the_label_are_asked_about() {
        let said = names(&visits()).unwrap();
        assert!(said.starts_with("token 2 of every row"), "{said}");
        let mut grouped = visits();
        grouped.groups = vec![0; 40];
        assert_eq!(names(&grouped), None);
        let mut other = visits();
        other.rows[11].label = 1 - other.rows[11].label;
        assert_eq!(names(&other), None);
        // A number that is not whole names nobody.
        let measured = Rows {
            words: (0..200).map(|word| format!("{word}.5")).collect(),
            ..visits()
        };
        assert_eq!(names(&measured), None);
        // Every row has a name of its own.
        let once =
            labelled_rows((0..40_u32).map(|row| (row as usize % 2, vec![row % 7, 100 + row])));
        assert_eq!(names(&once), None);
    }

    #[test]
    fn a_number_far_from_the_others_is_asked_about() {
        let of = |numbers: &[f64]| farthest(|| numbers.iter().copied());
        let even: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(of(&even), None);
        let sentinel = [&even[..], &[-9999.0]].concat();
        let (number, times) = of(&sentinel).unwrap();
        assert_eq!((number, times > 190.0 && times < 210.0), (-9999.0, true));
        // No distance between the quartiles is known.
        assert_eq!(of(&[1.0, 1.0, 1.0, 1.0, 500.0]), None);
        assert_eq!(of(&[]), None);
    }
}
