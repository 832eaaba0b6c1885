//! The cosine similarity between positions, for the encodings as they are after training.

use pe_burn::PositionalConfig;

use super::chart::Figure;
use crate::error::LabError;
use crate::plot::similarity;
use crate::study::Study;
use crate::trial::{TrialResult, read_encoding};

/// A picture for every scheme that adds something to its tokens: one for a fixed pattern, one per task
/// for a table that is trained, each from the first seed there is.
pub fn figures(study: &Study) -> Result<Vec<Figure>, LabError> {
    let mut figures = Vec::new();
    for scheme in &study.spec.schemes {
        for task in &study.spec.tasks {
            let of_both = |result: &&TrialResult| {
                result.spec.scheme.name == *scheme && result.spec.task == task.name
            };
            let Some(result) = study.results.iter().find(of_both) else {
                continue;
            };
            let trial = &result.spec;
            let Some(rows) = read_encoding(&trial.folder(&study.folder)) else {
                continue;
            };
            // A trained gain changes no direction.
            let trained = matches!(trial.scheme.encoding, PositionalConfig::Learned(_));
            let what = match trained {
                true => format!("{scheme}, trained on {}", task.name),
                false => format!("{scheme}, before and after training"),
            };
            let name = match trained {
                true => format!("similarity-{scheme}-{}", task.name),
                false => format!("similarity-{scheme}"),
            };
            let known = study.tasks.get(&task.name)?;
            let last = known.train_lengths().end() + known.framing() - 1;
            let mut caption = format!(
                "How alike what {scheme} adds at two positions is: 1 the same direction, 0 \
                 unrelated, \u{2212}1 opposite (seed {}).",
                trial.seed
            );
            if trained && last + 1 < rows.len() {
                caption.push_str(&format!(
                    " Training saw positions 0 to {last}; the rows behind are as random as on the \
                     first day."
                ));
            }
            let title = format!("Cosine similarity: {what}");
            figures.push(Figure {
                svg: similarity::svg(&rows, 0, &title)?,
                name,
                title,
                caption,
            });
            if !trained {
                break;
            }
        }
    }
    Ok(figures)
}
