//! The task of parts that were read before.

use std::sync::Arc;

use super::{Division, Labelled};
use crate::data::measured::Measured;
use crate::data::numbers;
use crate::data::sequences::Sequences;

impl Labelled {
    /// The task of parts that were read from a file.
    pub fn prepared(
        sequences: Arc<Sequences>,
        labels: Vec<String>,
        file: &str,
        division: Division,
        numbers: Vec<u32>,
        train: Vec<usize>,
        table: Option<Vec<f64>>,
    ) -> Result<Self, &'static str> {
        let rows = sequences.count();
        let bins = || division.inside.iter().chain(&division.beyond);
        let tested = bins().flat_map(|bin| &bin.rows);
        if train.is_empty() || division.inside.is_empty() || bins().any(|bin| bin.rows.is_empty()) {
            return Err("it has no rows to train on or to test");
        }
        let apart = division.apart.iter().flatten();
        let mut named = train.iter().chain(tested).chain(apart);
        if named.any(|row| *row >= rows) {
            return Err("it names rows that it does not have");
        }
        let is_outside = |number: &u32| *number as usize >= division.words;
        if numbers.iter().any(is_outside) {
            return Err("it has a token outside of its vocabulary");
        }
        let measured = match (table, &division.scale) {
            (Some(table), Some(scale)) => {
                Some(Measured::prepared(table, scale.clone(), numbers.len())?)
            }
            _ => None,
        };
        let since = |row| sequences.since(row).unwrap_or_default();
        let fits = match (&division.times, &sequences.since) {
            (None, None) => true,
            (Some(unit), Some(_)) => (0..rows).all(|row| unit.fits(since(row))),
            _ => false,
        };
        if !fits {
            return Err("its times are no positions of its rows");
        }
        if let Some(target) = &division.target {
            let fits = |values: Vec<f64>| target.too_large(&values).is_none();
            if !numbers::values(&labels).is_some_and(fits) {
                return Err("its labels are not all numbers that can be predicted");
            }
        }
        Ok(Self::of(
            sequences, labels, file, division, numbers, train, measured,
        ))
    }
}
