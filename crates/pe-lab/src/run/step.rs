//! The memory that a training step of a language model takes at least, known before it is run.

use std::collections::BTreeSet;

use crate::ask::{Tasks, TrialSpec};
use crate::device;
use crate::error::LabError;
use crate::grouped::grouped;

/// Refuses trials of a study on a vocabulary that is too large for the memory that is free, with `jobs` of them at a time. A graphics
/// card has memory of its own, and is not asked.
///
/// # Errors
///
/// [`LabError::Usage`] then.
pub fn check_room(trials: &[TrialSpec], tasks: &Tasks, jobs: usize) -> Result<(), LabError> {
    let Some(free) = pe_burn::room() else {
        return Ok(());
    };
    // Trials of a task differ in nothing that counts here, and to look a task up may take long.
    let mut seen = BTreeSet::new();
    for trial in trials.iter().filter(|trial| seen.insert(&trial.task)) {
        let task = tasks.get(&trial.task)?;
        let is_on_processor = device::lookup(&trial.device)?.kind == device::Kind::Cpu;
        if let Some(language) = task.language().filter(|_| is_on_processor) {
            let step = Step {
                batch: trial.recipe.batch_size,
                tokens: language.train_length(),
                vocabulary: task.classes(),
                jobs,
            };
            step.check(task.name(), free).map_err(LabError::Usage)?;
        }
    }
    Ok(())
}

/// What the scores of a training step are computed for: one for each entry of the vocabulary, at each token of each sequence.
struct Step {
    batch: usize,
    tokens: usize,
    vocabulary: usize,
    /// How many trials run at a time.
    jobs: usize,
}

impl Step {
    /// The bytes of the scores, of their softmax and of their gradient, which are there at the same time.
    fn bytes(&self) -> usize {
        let factors = [self.tokens, self.vocabulary, self.jobs];
        let scores = factors.into_iter().fold(self.batch, usize::saturating_mul);
        scores.saturating_mul(3 * size_of::<f32>())
    }

    /// Refuses steps that take more than the `free` bytes.
    fn check(&self, task: &str, free: usize) -> Result<(), String> {
        let needed = self.bytes();
        let shown = |number| grouped(number, ',');
        let trials = match self.jobs {
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
                shown(self.batch),
                shown(self.tokens),
                shown(self.vocabulary)
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vocabulary_is_refused_where_its_scores_do_not_fit() {
        let step = |vocabulary, jobs| Step {
            batch: 64,
            tokens: 64,
            vocabulary,
            jobs,
        };
        let needed = 3 * 4 * 64 * 64 * 65_536;
        assert_eq!(step(65_536, 1).check("data", needed), Ok(()));
        assert!(step(65_536, 2).check("data", 2 * needed - 1).is_err());
        let said = step(65_536, 1).check("data", needed - 1).unwrap_err();
        for part in [
            "data takes at least 3,221,225,472 bytes of memory",
            "3,221,225,471 are free",
            "three tensors of 64 sequences × 64 tokens × a vocabulary of 65,536",
            "--batch-size",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert!(step(usize::MAX, 2).check("data", usize::MAX - 1).is_err());
    }
}
