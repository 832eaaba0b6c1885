//! What is to be predicted in a file, and what the file says of it.

use crate::task::{Answer, Sample};

/// What the best model of a study is to predict.
#[derive(Debug)]
pub struct ToPredict {
    /// What each prediction is about: `row`, `series` or `file`.
    pub about: &'static str,
    /// Which one each is about: the number of the row, from 1, or the name of the series or of the file.
    pub names: Vec<String>,
    /// What the model reads of each, with an answer to fill in.
    pub samples: Vec<Sample>,
    /// Where numbers are predicted: the number that each prediction is added to, in the unit of the file.
    pub from: Option<Vec<f64>>,
    /// What the file says of each, if it does: the answer that the prediction should be.
    pub truth: Vec<Option<Truth>>,
    /// What is to be said of the file, in lines for a person.
    pub notes: Vec<String>,
}

/// What a file says of a row that is predicted.
#[derive(Clone, Debug, PartialEq)]
pub enum Truth {
    /// Its label.
    Label(String),
    /// Its number, in the unit of the file.
    Number(f64),
}

/// An answer at a position that is to be filled in.
pub(super) fn open_answer(position: usize) -> Answer {
    Answer { position, class: 0 }
}
