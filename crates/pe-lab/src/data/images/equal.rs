//! Equal images, and how a test is drawn that has no image of the training.

use std::collections::HashSet;

use super::super::error::{Problem, SHOWN};
use super::super::quote::{grouped, shorten};
use super::super::split::in_a_fifth;
use super::super::together::Together;

pub fn notes(equal: &Together, trained: &[usize], tested: &[usize]) -> Vec<String> {
    let unit = |image: &usize| equal.of_row[*image];
    let known: HashSet<usize> = trained.iter().map(unit).collect();
    let leaked = tested.iter().map(unit).filter(|unit| known.contains(unit));
    let words = [
        "images with the pixels",
        "equal images",
        "images of the test that are",
        "equal images in more than one class",
    ];
    equal.notes(leaked.count(), words)
}

/// Draws a fifth of each class for the test. Equal images count to the class of the first of them.
pub fn drawn(equal: &Together, labels: &[String]) -> Result<Vec<bool>, Problem> {
    let mut of_class: Vec<Vec<&[usize]>> = vec![Vec::new(); labels.len()];
    for unit in &equal.units {
        of_class[unit.label].push(&unit.rows);
    }
    let small: Vec<usize> = (0..labels.len())
        .filter(|class| of_class[*class].len() < 2)
        .collect();
    if !small.is_empty() {
        let shown = small.iter().take(SHOWN);
        let shown = shown.map(|class| {
            format!(
                "{} has {}",
                shorten(&labels[*class]),
                of_class[*class].len()
            )
        });
        let shown: Vec<String> = shown.collect();
        return Err(Problem::Other(format!(
            "every class needs two different images, one to train on and one to test on; {}{}",
            shown.join(", "),
            match small.len() - shown.len() {
                0 => String::new(),
                more => format!(", and {} more have too few", grouped(more)),
            }
        )));
    }
    let mut is_test = vec![false; equal.of_row.len()];
    for (class, groups) in of_class.iter().enumerate() {
        let sizes: Vec<usize> = groups.iter().map(|images| images.len()).collect();
        for (images, is_drawn) in groups.iter().zip(in_a_fifth(&sizes, class)) {
            for image in *images {
                is_test[*image] = is_drawn;
            }
        }
    }
    Ok(is_test)
}
