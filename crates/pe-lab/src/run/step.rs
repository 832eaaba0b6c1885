//! The memory that a training takes at least, known before it is run.

use std::collections::BTreeSet;

use crate::ask::{ENCODER, ModelSpec, Tasks, TrialSpec};
use crate::device;
use crate::error::LabError;
use crate::grouped::grouped;

/// Refuses trials of a study whose model or vocabulary is too large for the memory that is free, with `jobs` of them at a
/// time. Trials on a graphics card, which has memory of its own, are not checked.
///
/// # Errors
///
/// [`LabError::Usage`] for such a trial.
pub fn check_room(trials: &[TrialSpec], tasks: &Tasks, jobs: usize) -> Result<(), LabError> {
    let Some(free) = pe_burn::room() else {
        return Ok(());
    };
    // Trials of the same task need the same memory, and looking a task up may take long.
    let mut seen = BTreeSet::new();
    for trial in trials.iter().filter(|trial| seen.insert(&trial.task)) {
        if device::lookup(&trial.device)?.kind != device::Kind::Cpu {
            continue;
        }
        if trial.model.network == ENCODER {
            check_model(&trial.model, jobs, free).map_err(LabError::Usage)?;
        }
        let task = tasks.get(&trial.task)?;
        if let Some(language) = task.language() {
            let sizes = [
                trial.recipe.batch_size,
                language.train_length(),
                task.classes(),
            ];
            check(task.name(), sizes, jobs, free).map_err(LabError::Usage)?;
        }
    }
    Ok(())
}

/// Refuses models whose layers take more than the `free` bytes: their weights, the gradients of these, and two averages of Adam for each.
fn check_model(model: &ModelSpec, jobs: usize, free: usize) -> Result<(), String> {
    let (width, layers) = (model.d_model, model.layers);
    let attention = width.saturating_mul(4);
    let each = attention.saturating_add(model.d_ff.saturating_mul(2));
    let weights = each.saturating_mul(width).saturating_mul(layers);
    let needed = weights.saturating_mul(4 * size_of::<f32>());
    let needed = needed.saturating_mul(jobs);
    let shown = |number| grouped(number, ',');
    match needed <= free {
        true => Ok(()),
        false => Err(format!(
            "the layers take at least {} bytes of memory, and {} are free: {} weights, with a gradient and two averages of Adam \
             for each, in {jobs} trials at a time. Take a smaller --d-model, --d-ff, --layers or --jobs",
            shown(needed),
            shown(free),
            shown(weights)
        )),
    }
}

/// Refuses steps that take more than the `free` bytes. The scores of a step are computed for each entry of the vocabulary, at each
/// token of each sequence, and `jobs` trials run at a time. Scores, their softmax and their gradient are there at the same time.
fn check(
    task: &str,
    [batch, tokens, vocabulary]: [usize; 3],
    jobs: usize,
    free: usize,
) -> Result<(), String> {
    let factors = [tokens, vocabulary, jobs, 3 * size_of::<f32>()];
    let needed = factors.into_iter().fold(batch, usize::saturating_mul);
    let shown = |number| grouped(number, ',');
    let trials = match jobs {
        1 => "three".to_string(),
        jobs => format!("for each of {jobs} trials at a time three"),
    };
    match needed <= free {
        true => Ok(()),
        false => Err(format!(
            "a training step on {task} takes at least {} bytes of memory, and {} are free: {trials} tensors of {} \
             sequences × {} tokens × a vocabulary of {}. Number the ids of the tokens from 0 on without gaps, or take \
             a smaller --batch-size, --train-length or --jobs",
            shown(needed),
            shown(free),
            shown(batch),
            shown(tokens),
            shown(vocabulary)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::Says;

    #[test]
    fn a_model_is_refused_where_its_weights_do_not_fit() {
        let model = ModelSpec::default();
        // Two layers of 4 · 64² + 2 · 64 · d_ff weights, four numbers for each.
        let needed = 2 * (4 * 64 * 64 + 2 * 64 * model.d_ff) * 16;
        assert_eq!(check_model(&model, 1, needed), Ok(()));
        assert!(check_model(&model, 2, needed).is_err());
        let said = check_model(&model, 1, needed - 1).unwrap_err();
        said.says("a smaller --d-model, --d-ff, --layers or --jobs");
        let d_ff = usize::MAX;
        assert!(check_model(&ModelSpec { d_ff, ..model }, 1, needed).is_err());
    }

    #[test]
    fn a_vocabulary_is_refused_where_its_scores_do_not_fit() {
        let of = |vocabulary, jobs, free| check("data", [64, 64, vocabulary], jobs, free);
        let needed = 3 * 4 * 64 * 64 * 65_536;
        assert_eq!(of(65_536, 1, needed), Ok(()));
        assert!(of(65_536, 2, 2 * needed - 1).is_err());
        of(65_536, 1, needed - 1).unwrap_err().says_all(&[
            "data takes at least 3,221,225,472 bytes of memory",
            "3,221,225,471 are free",
            "three tensors of 64 sequences × 64 tokens × a vocabulary of 65,536",
            "--batch-size",
        ]);
        assert!(of(usize::MAX, 2, usize::MAX - 1).is_err());
    }
}
