//! Choosing a learning rate for every scheme on every task, before the study.

use super::study::Study;
use super::trial::TrialResult;
use super::worker::Crew;
use crate::ask::{ChosenRate, Recipe, Search, TrialSpec};
use crate::error::LabError;

/// The state of a study's choices of learning rates.
#[derive(Debug, Default)]
pub struct Choices {
    /// The trainings to run next.
    pub next: Vec<TrialSpec>,
    /// Placeholders for the rounds of further rates that may follow, as many as there can be. Their rates depend on losses
    /// that are not known yet, so each has the rate of one of `next`.
    pub beyond: Vec<Vec<TrialSpec>>,
    /// Placeholders for the trainings of the last round, which are those of the two best rates at other seeds.
    pub again: Vec<TrialSpec>,
    /// The number of trainings that have a result.
    pub finished: usize,
    /// What was chosen and is not in the study's spec yet.
    pub chosen: Vec<ChosenRate>,
}

impl Study {
    /// The trainings that choose a learning rate for the schemes and tasks that have none yet. Empty for a study that
    /// does not tune.
    ///
    /// # Errors
    ///
    /// When a task does not exist.
    pub fn choices(&self) -> Result<Choices, LabError> {
        let mut all = Choices::default();
        let Some(tuned) = &self.spec().tune else {
            return Ok(all);
        };
        for trial in self.spec().trials(self.tasks())? {
            let is_first = self.spec().seeds.first() == Some(&trial.seed);
            let (task, scheme) = (&trial.task, &trial.scheme.name);
            if !is_first || tuned.chosen_for(task, scheme).is_some() {
                continue;
            }
            let attempt = |rate: f64, seed: u64| TrialSpec {
                seed,
                recipe: Recipe {
                    learning_rate: rate,
                    ..trial.recipe.clone()
                },
                tuning: true,
                ..trial.clone()
            };
            let loss = |rate, seed| self.tuning_loss(&attempt(rate, seed));
            match tuned.search(task, scheme, loss) {
                Search::Chosen(chosen) => {
                    all.finished += chosen.losses.len() + chosen.further.len();
                    all.chosen.push(chosen);
                }
                Search::Train {
                    next,
                    finished,
                    beyond,
                    again,
                } => {
                    let like = attempt(next[0].0, next[0].1);
                    let next = next.into_iter().map(|of| attempt(of.0, of.1));
                    all.next.extend(next);
                    let rounds = all.beyond.len().max(beyond);
                    all.beyond.resize(rounds, Vec::new());
                    let of_beyond = all.beyond.iter_mut().take(beyond);
                    of_beyond.for_each(|round| round.push(like.clone()));
                    all.again.extend(vec![like; again]);
                    all.finished += finished;
                }
            }
        }
        Ok(all)
    }

    /// The held-out loss of a training: `None` if it has no result, `Some(None)` if it failed.
    fn tuning_loss(&self, trial: &TrialSpec) -> Option<Option<f64>> {
        let file = self.folder().trial(&trial.id()).result();
        let result = TrialResult::read(&file).ok()?;
        let same = result.versions.numbers == self.spec().versions.numbers;
        let loss = || result.measures()?.held_out.last().map(|point| point.loss);
        (result.spec == *trial && same).then(loss)
    }

    /// Runs the trainings that choose, and keeps what they chose. Nothing happens in a study that does not tune,
    /// or in which everything is chosen.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), and when a training has no result.
    pub fn tune(&mut self, crew: &Crew<'_>) -> Result<(), LabError> {
        let mut choices = self.choices()?;
        let _lock = match choices.next.is_empty() && choices.chosen.is_empty() {
            true => return Ok(()),
            false => self.claim()?,
        };
        while !choices.next.is_empty() {
            let failed = crew.run_all(&choices.next, self.tasks(), self.folder())?;
            if crew.stop.asked() {
                let left = self.choices()?;
                return Err(self.stopped(left.finished, left.next.len() + left.again.len()));
            }
            if let Some((trial, reason)) = failed.first() {
                return Err(LabError::Trial(format!(
                    "{}, which helps to choose a learning rate, has no result: {reason}",
                    trial.id()
                )));
            }
            choices = self.choices()?;
        }
        if let Some(mut tuned) = self.spec().tune.clone() {
            choices.chosen.into_iter().for_each(|of| tuned.keep(of));
            self.set_tuned(tuned);
        }
        Ok(())
    }
}
