//! What the columns of a series are scaled by.

use super::super::numbers::{or_one, standard};
use super::table::{Table, Target};

pub fn is_forecast(table: &Table) -> bool {
    table.to_predict == Target::Next
}

/// What each column is scaled by, from the rows of the training. A column of equal numbers is divided by 1.
pub fn scale(table: &Table, to_train: usize, window: usize) -> Vec<(f64, f64)> {
    let of = |(column, numbers): (usize, &Vec<f64>)| {
        let train = &numbers[..to_train];
        if column == 0 && is_forecast(table) {
            // Differences from the last number of a window, as a model reads them.
            let (mut squares, mut count) = (0.0, 0_usize);
            for (last, number) in train.iter().enumerate() {
                for before in &train[last.saturating_sub(window - 1)..last] {
                    squares += (before - number).powi(2);
                    count += 1;
                }
            }
            return (0.0, or_one((squares / count.max(1) as f64).sqrt()));
        }
        standard(train)
    };
    table.values.iter().enumerate().map(of).collect()
}
