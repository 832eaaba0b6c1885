//! The cosine similarity between positions, for the encodings as they are after training.

use pe_burn::PositionalConfig;

use super::charts::{Figure, stem};
use crate::error::LabError;
use crate::plot::similarity;
use crate::run::{Study, TrialResult, read_encoding};

/// A figure for every scheme that adds something to the token embeddings: one for a fixed pattern, and
/// one per task for a trained table or trained waves. Each shows the first seed that has a result.
#[derive(Default)]
pub struct Encodings {
    pub figures: Vec<Figure>,
    /// Files that are not as the trials wrote them, and so are not drawn.
    pub damaged: Vec<String>,
}

impl Encodings {
    pub fn draw(study: &Study, results: &[TrialResult]) -> Result<Self, LabError> {
        let (mut figures, mut damaged) = (Vec::new(), Vec::new());
        for scheme in &study.spec().schemes {
            for task in &study.spec().tasks {
                let of_both = |result: &&TrialResult| {
                    result.spec.scheme.name == *scheme && result.spec.task == task.name
                };
                let Some(result) = results.iter().find(of_both) else {
                    continue;
                };
                let trial = &result.spec;
                let folder = study.folder().trial(&trial.id());
                let rows = match read_encoding(&folder, result.encoding.as_deref()) {
                    Ok(Some(rows)) => rows,
                    Ok(None) => continue,
                    Err(error) => {
                        damaged.push(error.to_string());
                        continue;
                    }
                };
                // A trained gain changes the length of the rows, and the cosine does not depend on it.
                let is_table = trial.scheme.longest().is_some();
                let waves = trial.scheme.encoding.downcast();
                let trained = is_table || matches!(waves, Some(PositionalConfig::Time2Vec(_)));
                let what = match trained {
                    true => format!("{scheme}, trained on {}", task.name),
                    false => format!("{scheme}, before and after training"),
                };
                let name = match trained {
                    true => stem(&format!("similarity-{scheme}"), &task.name),
                    false => stem("similarity", scheme),
                };
                let known = study.tasks().get(&task.name)?;
                let last = known.tokens_of(*known.train_lengths().end()) - 1;
                let mut caption = format!(
                    "How similar the vectors are that {scheme} adds at two positions: 1 means the same \
                 direction, 0 unrelated, \u{2212}1 opposite (seed {}).",
                    trial.seed
                );
                if is_table && last + 1 < rows.len() {
                    caption.push_str(&format!(
                    " Training saw the positions 0 to {last}; the rows after them keep their random \
                     initial values."
                ));
                }
                let title = format!("Cosine similarity: {what}");
                figures.push(Figure {
                    svg: similarity::svg(&rows, 0, &title)?,
                    name,
                    caption,
                });
                if !trained {
                    break;
                }
            }
        }
        Ok(Self { figures, damaged })
    }
}
