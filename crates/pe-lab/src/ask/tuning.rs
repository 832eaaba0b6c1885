//! Learning rates that are tried for every scheme before a study.

use serde::{Deserialize, Serialize};

use super::recipe::Recipe;
use crate::error::LabError;

/// How many rates can be tried. The grid of nine reaches from a sixteenth to sixteen times the recipe's rate.
const COUNTS: std::ops::RangeInclusive<usize> = 2..=9;

/// The seed of the trainings that choose. No preset reports it, and no study that tunes may.
pub const TUNING_SEED: u64 = 101;

/// What is tried for every scheme on every task, and what was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// The seed of the trainings that choose.
    pub seed: u64,
    /// The learning rates that are tried, the lowest first. They are the same for every scheme.
    pub rates: Vec<f64>,
    /// What was chosen so far.
    pub chosen: Vec<ChosenRate>,
}

/// The learning rate of one scheme on one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChosenRate {
    /// The task's name.
    pub task: String,
    /// The scheme's name.
    pub scheme: String,
    /// The rate with the lowest held-out loss.
    pub rate: f64,
    /// The held-out loss of every rate that was tried; `None` where the training failed.
    pub losses: Vec<Option<f64>>,
}

impl Tuned {
    /// `count` rates around that of the recipe, each twice the one before: the recipe's own, then a half, twice,
    /// a quarter, four times, and so on.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] for a count out of bounds, for a study that reports the seed of the tuning, or when
    /// the highest rate is above 1.
    pub fn around(recipe: &Recipe, count: usize, seeds: &[u64]) -> Result<Self, LabError> {
        if !COUNTS.contains(&count) {
            return Err(LabError::Usage(format!(
                "{count} learning rates were asked for with --tune; it takes from {} to {}",
                COUNTS.start(),
                COUNTS.end()
            )));
        }
        if seeds.contains(&TUNING_SEED) {
            return Err(LabError::Usage(format!(
                "the seed {TUNING_SEED} is the one that learning rates are chosen on, so a study with --tune cannot \
                 report it: choose other seeds"
            )));
        }
        let below = (count / 2) as i32;
        let rates = (0..count as i32).map(|i| recipe.learning_rate * 2.0_f64.powi(i - below));
        let rates: Vec<f64> = rates.collect();
        for learning_rate in &rates {
            let at = Recipe {
                learning_rate: *learning_rate,
                ..recipe.clone()
            };
            at.check()?;
        }
        Ok(Self {
            seed: TUNING_SEED,
            rates,
            chosen: Vec::new(),
        })
    }

    /// What was chosen for a scheme on a task.
    pub fn chosen_for(&self, task: &str, scheme: &str) -> Option<&ChosenRate> {
        let mut chosen = self.chosen.iter();
        chosen.find(|chosen| chosen.task == task && chosen.scheme == scheme)
    }

    /// Keeps the rate with the lowest loss; the lower one of two with the same.
    ///
    /// # Errors
    ///
    /// [`LabError::Trial`] when no training has a loss.
    pub fn choose(
        &mut self,
        task: &str,
        scheme: &str,
        losses: Vec<Option<f64>>,
    ) -> Result<(), LabError> {
        let finite = self.rates.iter().zip(&losses);
        let finite =
            finite.filter_map(|(rate, loss)| Some((rate, loss.filter(|loss| loss.is_finite())?)));
        let best = finite.min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((rate, _)) = best else {
            return Err(LabError::Trial(format!(
                "no learning rate of {} trained {scheme} on {task}, so none can be chosen",
                rates_in_words(&self.rates)
            )));
        };
        let rate = *rate;
        self.chosen
            .retain(|chosen| chosen.task != task || chosen.scheme != scheme);
        self.chosen.push(ChosenRate {
            task: task.to_string(),
            scheme: scheme.to_string(),
            rate,
            losses,
        });
        Ok(())
    }
}

/// Rates, separated by commas.
pub fn rates_in_words(rates: &[f64]) -> String {
    // Halves and doubles of a rate are rounded to the digits that a person would write.
    let words = rates.iter().map(|rate| (*rate as f32).to_string());
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::Says;

    fn around(count: usize, seeds: &[u64]) -> Result<Tuned, LabError> {
        Tuned::around(&Recipe::default(), count, seeds)
    }

    #[test]
    fn the_grid_is_the_same_for_every_scheme_and_holds_the_rate_of_the_recipe() {
        for count in 2..=9 {
            let rates = around(count, &[1, 2]).unwrap().rates;
            assert_eq!(rates.len(), count);
            assert!(rates.contains(&1.5e-3), "{rates:?}");
            assert!(rates.windows(2).all(|two| two[1] == 2.0 * two[0]));
        }
        assert_eq!(
            rates_in_words(&around(3, &[1]).unwrap().rates),
            "0.00075, 0.0015, 0.003"
        );
    }

    #[test]
    fn what_cannot_be_tuned_is_said() {
        around(1, &[1]).unwrap_err().says("from 2 to 9");
        around(10, &[1]).unwrap_err().says("10 learning rates");
        around(3, &[100, 101]).unwrap_err().says("the seed 101");
        let high = Recipe {
            learning_rate: 0.6,
            ..Recipe::default()
        };
        let error = Tuned::around(&high, 3, &[1]).unwrap_err();
        error.says("learning_rate is 1.2");
    }

    #[test]
    fn the_lowest_loss_is_chosen_and_failures_are_not() {
        let mut tuned = around(3, &[1]).unwrap();
        tuned
            .choose("a", "x", vec![Some(0.5), None, Some(0.25)])
            .unwrap();
        tuned
            .choose("a", "y", vec![Some(f64::NAN), Some(0.25), Some(0.25)])
            .unwrap();
        assert_eq!(tuned.chosen_for("a", "x").unwrap().rate, tuned.rates[2]);
        assert_eq!(tuned.chosen_for("a", "y").unwrap().rate, tuned.rates[1]);
        assert_eq!(tuned.chosen_for("b", "x"), None);
        tuned.choose("a", "x", vec![Some(0.1), None, None]).unwrap();
        assert_eq!(
            (tuned.chosen_for("a", "x").unwrap().rate, tuned.chosen.len()),
            (tuned.rates[0], 2)
        );
        let error = tuned.choose("a", "z", vec![None; 3]).unwrap_err();
        error.says("trained z on a");
    }
}
