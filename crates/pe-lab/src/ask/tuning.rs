//! Learning rates that are tried for every scheme before a study.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::recipe::{HIGHEST_RATE, Recipe};
use crate::error::LabError;

/// How many rates can be tried. The grid of nine reaches from a sixteenth to sixteen times the recipe's rate.
const COUNTS: std::ops::RangeInclusive<usize> = 2..=9;

/// The seed of the trainings that choose a rate. No preset reports it, and no study that tunes may report it.
pub const TUNING_SEED: u64 = 101;

/// The seeds at which the two best rates are trained again.
const AGAIN: [u64; 2] = [102, 103];

/// How many rates may be tried beyond the first ones, where the best of them is the lowest or the highest.
const BEYOND: usize = 2;

/// What is tried for every scheme on every task, and what was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// The seed of the trainings that choose.
    pub seed: u64,
    /// The learning rates that are tried first, the lowest first. They are the same for every scheme.
    pub rates: Vec<f64>,
    /// The most rates that may be tried beyond the first ones. While the best rate so far is the lowest or the highest of
    /// all, half of it or twice it is tried next.
    pub beyond: usize,
    /// The seeds at which the two best rates are trained again. Of the two the one with the lower mean loss is chosen.
    pub again: Vec<u64>,
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
    /// The rate with the lowest held-out loss; where no training has one, the lowest rate.
    pub rate: f64,
    /// The held-out loss of each of the first rates; `None` where the training failed.
    pub losses: Vec<Option<f64>>,
    /// The trainings that followed: of rates beyond the first ones, and of the two best at further seeds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<Attempt>,
}

impl ChosenRate {
    /// Whether a training has a loss, by which the rate was chosen.
    pub fn is_trained(&self) -> bool {
        self.losses
            .iter()
            .chain(self.further.iter().map(|of| &of.loss))
            .any(Option::is_some)
    }
}

/// One training that helps to choose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The learning rate.
    pub rate: f64,
    /// The seed.
    pub seed: u64,
    /// The held-out loss at the end; `None` where the training failed.
    pub loss: Option<f64>,
}

/// The state of the choice for one scheme on one task.
#[derive(Clone, Debug, PartialEq)]
pub enum Search {
    /// There are trainings left.
    Train {
        /// A rate and a seed for each of the next ones.
        next: Vec<(f64, u64)>,
        /// The number of trainings that have a result.
        finished: usize,
        /// The most rounds that may follow, each of one training with a rate beyond those that were tried.
        beyond: usize,
        /// The number of trainings of the last round, which follows those.
        again: usize,
    },
    /// All is trained.
    Chosen(ChosenRate),
}

impl Tuned {
    /// `count` rates around that of the recipe, in steps of a factor of two: the recipe's own, then a half, twice, a
    /// quarter, four times, and so on.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] for a count out of bounds, for a study that reports a seed of the tuning, or when
    /// the highest rate is above 1.
    pub fn around(recipe: &Recipe, count: usize, seeds: &[u64]) -> Result<Self, LabError> {
        if !COUNTS.contains(&count) {
            return Err(LabError::Usage(format!(
                "{count} learning rates were asked for with --tune; it takes from {} to {}",
                COUNTS.start(),
                COUNTS.end()
            )));
        }
        let of_tuning = |seed: &&u64| **seed == TUNING_SEED || AGAIN.contains(seed);
        if let Some(seed) = seeds.iter().find(of_tuning) {
            return Err(LabError::Usage(format!(
                "the seed {seed} is one that learning rates are chosen on, so a study with --tune cannot \
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
            beyond: BEYOND,
            again: AGAIN.to_vec(),
            chosen: Vec::new(),
        })
    }

    /// The most trainings that one choice takes, for each of its rounds. A round waits for the one before.
    pub fn rounds(&self) -> Vec<usize> {
        let mut rounds = vec![self.rates.len()];
        rounds.extend(vec![1; self.beyond]);
        rounds.push(2 * self.again.len());
        rounds
    }

    /// What was chosen for a scheme on a task.
    pub fn chosen_for(&self, task: &str, scheme: &str) -> Option<&ChosenRate> {
        let mut chosen = self.chosen.iter();
        chosen.find(|chosen| chosen.task == task && chosen.scheme == scheme)
    }

    /// Stores a choice, and drops an earlier one for the same scheme and task.
    pub fn keep(&mut self, new: ChosenRate) {
        let other = |of: &ChosenRate| of.task != new.task || of.scheme != new.scheme;
        self.chosen.retain(other);
        self.chosen.push(new);
    }

    /// Stores the choice that follows if the first rates have these losses and every other training fails.
    #[cfg(test)]
    pub fn keep_of(&mut self, task: &str, scheme: &str, losses: &[Option<f64>]) {
        let loss = |rate, seed| {
            let nth = self.rates.iter().position(|known| *known == rate);
            Some(
                nth.filter(|_| seed == self.seed)
                    .and_then(|nth| losses[nth]),
            )
        };
        match self.search(task, scheme, loss) {
            Search::Chosen(chosen) => self.keep(chosen),
            Search::Train { next, .. } => panic!("{next:?} has no loss"),
        }
    }

    /// What is to be trained next for a scheme on a task, or the choice. `loss` is the loss of a rate and a seed: `None` where it
    /// was not trained yet, `Some(None)` where the training failed. Where all have failed it is the lowest rate, so that the trials fail too,
    /// and the study goes on without the scheme.
    pub fn search(
        &self,
        task: &str,
        scheme: &str,
        loss: impl Fn(f64, u64) -> Option<Option<f64>>,
    ) -> Search {
        let mut attempts: Vec<Attempt> = Vec::new();
        let mut asked: Vec<(f64, u64)> = self.rates.iter().map(|rate| (*rate, self.seed)).collect();
        while !asked.is_empty() {
            let mut next = Vec::new();
            for (rate, seed) in asked {
                match loss(rate, seed) {
                    None => next.push((rate, seed)),
                    Some(loss) => attempts.push(Attempt {
                        rate,
                        seed,
                        loss: loss.filter(|loss| loss.is_finite()),
                    }),
                }
            }
            if !next.is_empty() {
                let is_last = next.iter().any(|of| of.1 != self.seed);
                let tried = attempts.len() + next.len();
                let beyond = (self.rates.len() + self.beyond).saturating_sub(tried);
                return Search::Train {
                    next,
                    finished: attempts.len(),
                    beyond: if is_last { 0 } else { beyond },
                    again: if is_last { 0 } else { 2 * self.again.len() },
                };
            }
            asked = self.next(&attempts);
        }
        let tried = attempts.iter().map(|of| of.rate);
        let lowest = tried.min_by(f64::total_cmp).unwrap_or(self.rates[0]);
        let rate = best(&attempts).unwrap_or(lowest);
        let further = attempts.split_off(self.rates.len());
        Search::Chosen(ChosenRate {
            task: task.to_string(),
            scheme: scheme.to_string(),
            rate,
            losses: attempts.iter().map(|of| of.loss).collect(),
            further,
        })
    }

    /// The trainings that follow these: one with a rate beyond them, or those of the two best at further seeds, or none.
    fn next(&self, attempts: &[Attempt]) -> Vec<(f64, u64)> {
        if attempts.iter().any(|of| of.seed != self.seed) {
            return Vec::new();
        }
        let mut trained: Vec<&Attempt> = attempts.iter().filter(|of| of.loss.is_some()).collect();
        trained.sort_by(|a, b| {
            let by_loss = a.loss.partial_cmp(&b.loss).unwrap_or(Ordering::Equal);
            by_loss.then(a.rate.total_cmp(&b.rate))
        });
        let Some(best) = trained.first().map(|of| of.rate) else {
            return Vec::new();
        };
        if attempts.len() < self.rates.len() + self.beyond {
            let is_end = |end: Ordering| attempts.iter().all(|of| of.rate.total_cmp(&best) != end);
            if is_end(Ordering::Greater) && 2.0 * best <= HIGHEST_RATE {
                return vec![(2.0 * best, self.seed)];
            }
            if is_end(Ordering::Less) {
                return vec![(best / 2.0, self.seed)];
            }
        }
        let [first, second, ..] = trained[..] else {
            return Vec::new();
        };
        let again = self.again.iter();
        again
            .flat_map(|seed| [(first.rate, *seed), (second.rate, *seed)])
            .collect()
    }
}

/// The best of the rates that were trained most often: the one with the fewest failures, then with the lowest mean loss,
/// then the lower rate.
fn best(attempts: &[Attempt]) -> Option<f64> {
    let of_rate = |rate: f64| attempts.iter().filter(move |of| of.rate == rate);
    let most = attempts.iter().map(|of| of_rate(of.rate).count()).max()?;
    let candidates = attempts
        .iter()
        .filter(|of| of_rate(of.rate).count() == most);
    let ranked = candidates.filter_map(|of| {
        let losses: Vec<f64> = of_rate(of.rate).filter_map(|of| of.loss).collect();
        let mean = losses.iter().sum::<f64>() / losses.len() as f64;
        (!losses.is_empty()).then_some((most - losses.len(), mean, of.rate))
    });
    let least = ranked.min_by(|a, b| {
        let by_loss = a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
        by_loss.then(a.2.total_cmp(&b.2))
    });
    least.map(|of| of.2)
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
        around(3, &[103]).unwrap_err().says("the seed 103");
        let high = Recipe {
            learning_rate: 0.6,
            ..Recipe::default()
        };
        let error = Tuned::around(&high, 3, &[1]).unwrap_err();
        error.says("learning_rate is 1.2");
    }

    /// The trainings in order, and the choice, if these are the losses by rate and seed and all other trainings fail.
    fn searched(tuned: &Tuned, losses: &[(f64, u64, f64)]) -> (Vec<(f64, u64)>, f64) {
        let mut done: Vec<(f64, u64)> = Vec::new();
        loop {
            let loss = |rate: f64, seed: u64| {
                done.contains(&(rate, seed)).then(|| {
                    let known = losses.iter().find(|of| (of.0, of.1) == (rate, seed));
                    known.map(|of| of.2)
                })
            };
            match tuned.search("a", "x", loss) {
                Search::Train {
                    next,
                    finished,
                    beyond,
                    again,
                } => {
                    assert_eq!(finished, done.len());
                    done.extend(next);
                    let most = tuned.rounds().iter().sum::<usize>();
                    assert!(done.len() + beyond + again <= most, "{done:?}");
                    let is_last = done.iter().any(|of| of.1 != 101);
                    assert_eq!(again, if is_last { 0 } else { 2 * tuned.again.len() });
                }
                Search::Chosen(chosen) => {
                    assert_eq!(chosen.losses.len() + chosen.further.len(), done.len());
                    return (done, chosen.rate);
                }
            }
        }
    }

    /// Three rates of which the highest can be doubled once, since a recipe's rate is at most 1.
    fn three(beyond: usize, again: &[u64]) -> Tuned {
        Tuned {
            seed: 101,
            rates: vec![0.125, 0.25, 0.5],
            beyond,
            again: again.to_vec(),
            chosen: Vec::new(),
        }
    }

    #[test]
    fn the_lowest_loss_is_chosen_and_failures_are_not() {
        let one = three(0, &[]);
        let nan = f64::NAN;
        for (losses, chosen) in [
            ([(0.125, 101, 0.5), (0.5, 101, 0.25)].as_slice(), 0.5),
            (
                &[(0.125, 101, nan), (0.25, 101, 0.2), (0.5, 101, 0.2)],
                0.25,
            ),
            // Where none trains, the lowest: its trials fail, and the study goes on.
            (&[(0.25, 101, f64::INFINITY)], 0.125),
            (&[], 0.125),
        ] {
            let (done, rate) = searched(&one, losses);
            assert_eq!(done, [(0.125, 101), (0.25, 101), (0.5, 101)]);
            assert_eq!(rate, chosen, "{losses:?}");
        }
    }

    #[test]
    fn a_best_rate_at_an_end_is_followed() {
        let tuned = three(2, &[]);
        let tried = |losses: &[(f64, u64, f64)]| {
            let (done, chosen) = searched(&tuned, losses);
            let further = done[3..].iter().map(|of| of.0);
            (further.collect::<Vec<_>>(), chosen)
        };
        // In the middle: nothing follows.
        let inner = [(0.125, 101, 3.0), (0.25, 101, 1.0), (0.5, 101, 2.0)];
        assert_eq!(tried(&inner), (vec![], 0.25));
        // Upward, to the highest rate that a recipe may have.
        let up = [(0.125, 101, 3.0), (0.25, 101, 2.0), (0.5, 101, 1.0)];
        assert_eq!(tried(&up), (vec![1.0], 0.5));
        let up = [&up[..], &[(1.0, 101, 0.5)]].concat();
        assert_eq!(tried(&up), (vec![1.0], 1.0));
        // Downward, twice and no more.
        let down = [(0.125, 101, 1.0), (0.0625, 101, 0.5), (0.03125, 101, 0.25)];
        assert_eq!(tried(&down), (vec![0.0625, 0.03125], 0.03125));
    }

    #[test]
    fn the_two_best_are_trained_again_and_their_means_decide() {
        let tuned = three(2, &[102, 103]);
        // 0.25 is best at the first seed, and worse on the mean.
        let losses = [
            (0.125, 101, 3.0),
            (0.25, 101, 1.0),
            (0.5, 101, 1.5),
            (0.25, 102, 2.0),
            (0.5, 102, 1.5),
            (0.25, 103, 3.0),
            (0.5, 103, 1.5),
        ];
        let again = [(0.25, 102), (0.5, 102), (0.25, 103), (0.5, 103)];
        let (done, chosen) = searched(&tuned, &losses);
        assert_eq!((&done[3..], chosen), (&again[..], 0.5));
        // A rate that fails at a seed stands behind one that does not, whatever their losses.
        let (_, chosen) = searched(&tuned, &losses[..6]);
        assert_eq!(chosen, 0.25);
        // If only one rate trained, there is no second one to compare it with, and nothing more is trained.
        let (done, chosen) = searched(&tuned, &[(0.25, 101, 1.0)]);
        assert_eq!((done.len(), chosen), (3, 0.25));
    }

    #[test]
    fn a_later_choice_takes_the_place_of_an_earlier_one() {
        let mut tuned = three(0, &[]);
        for (task, rate) in [("a", 0.25), ("b", 0.25), ("a", 0.5)] {
            tuned.keep(ChosenRate {
                task: task.into(),
                scheme: "x".into(),
                rate,
                losses: Vec::new(),
                further: Vec::new(),
            });
        }
        let chosen = |task| tuned.chosen_for(task, "x").map(|of| of.rate);
        assert_eq!(
            (chosen("a"), chosen("b"), chosen("c")),
            (Some(0.5), Some(0.25), None)
        );
        assert_eq!(tuned.chosen.len(), 2);
    }
}
