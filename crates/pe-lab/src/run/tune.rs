//! Choosing a learning rate for every scheme on every task, before the study.

use super::study::Study;
use super::trial::TrialResult;
use super::worker::Crew;
use crate::ask::{Recipe, TrialSpec};
use crate::error::LabError;

impl Study {
    /// The trainings that choose a learning rate for the schemes and tasks that have none yet, and that have no
    /// result in the folder: one for every rate. Empty for a study that does not tune.
    ///
    /// # Errors
    ///
    /// When a task does not exist.
    pub fn tuning_trials(&self) -> Result<Vec<TrialSpec>, LabError> {
        let mut trials = self.all_tuning_trials()?;
        trials.retain(|trial| self.tuning_result(trial).is_none());
        Ok(trials)
    }

    fn all_tuning_trials(&self) -> Result<Vec<TrialSpec>, LabError> {
        let Some(tuned) = &self.spec().tune else {
            return Ok(Vec::new());
        };
        let mut trials = Vec::new();
        for trial in self.spec().trials(self.tasks())? {
            let is_first = self.spec().seeds.first() == Some(&trial.seed);
            if !is_first || tuned.chosen_for(&trial.task, &trial.scheme.name).is_some() {
                continue;
            }
            trials.extend(tuned.rates.iter().map(|rate| TrialSpec {
                seed: tuned.seed,
                recipe: Recipe {
                    learning_rate: *rate,
                    ..trial.recipe.clone()
                },
                tuning: true,
                ..trial.clone()
            }));
        }
        Ok(trials)
    }

    fn tuning_result(&self, trial: &TrialSpec) -> Option<TrialResult> {
        let file = self.folder().trial(&trial.id()).result();
        let result = TrialResult::read(&file).ok()?;
        let same = result.versions.numbers == self.spec().versions.numbers;
        (result.spec == *trial && same).then_some(result)
    }

    /// Runs the trainings that choose, and keeps what they chose. Nothing happens in a study that does not tune,
    /// or in which everything is chosen.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), and when no rate trains a scheme on a task.
    pub fn tune(&mut self, crew: &Crew<'_>) -> Result<(), LabError> {
        let every = self.all_tuning_trials()?;
        if every.is_empty() {
            return Ok(());
        }
        let _lock = self.claim()?;
        let waiting = self.tuning_trials()?;
        let failed = crew.run_all(&waiting, self.tasks(), self.folder())?;
        if crew.stop.asked() {
            let left = self.tuning_trials()?.len();
            return Err(self.stopped(every.len() - left, left));
        }
        if let Some((trial, reason)) = failed.first() {
            return Err(LabError::Trial(format!(
                "{}, which helps to choose a learning rate, has no result: {reason}",
                trial.id()
            )));
        }
        let Some(mut tuned) = self.spec().tune.clone() else {
            return Ok(());
        };
        for group in every.chunks(tuned.rates.len()) {
            let loss = |trial| {
                let result = self.tuning_result(trial)?;
                result.measures()?.held_out.last().map(|point| point.loss)
            };
            let losses = group.iter().map(loss).collect();
            tuned.choose(&group[0].task, &group[0].scheme.name, losses)?;
        }
        self.set_tuned(tuned);
        Ok(())
    }
}
