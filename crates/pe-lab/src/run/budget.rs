//! A study that fits into a time: how many seeds, and how many steps.

use std::str::FromStr;

use super::estimate::{TrialTimes, in_words};
use crate::ask::{StudySpec, Tasks, TrialSpec, Tuned};
use crate::error::LabError;
use crate::grouped::counted;
use crate::stats::FEWEST_SEEDS;

/// The most seeds that a budget buys: those of the preset `full`.
const MOST_SEEDS: u64 = 12;

/// The shares of a task's own steps that are tried. With fewer a study would only tell which scheme learns
/// fastest.
const SHARES: [f64; 4] = [1.0, 0.75, 0.5, 0.25];

/// A time that a study may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// The time.
    pub seconds: f64,
    /// What was spent of it already.
    pub spent: f64,
}

/// The share of a budget that is held back, since the times of a few short trials do not tell everything.
const KEPT: f64 = 0.1;

/// What a budget may choose. The command line can fix the seeds or the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// The number of seeds and the steps.
    Both,
    /// The number of seeds alone; the steps are given.
    Seeds,
    /// The steps alone; the seeds are given.
    Steps,
}

/// A study that fits, and how long it takes.
#[derive(Clone, Debug)]
pub struct Fitting {
    /// The study.
    pub spec: StudySpec,
    /// The share of each task's own steps that is trained.
    pub share: f64,
    /// The seconds that it takes.
    pub seconds: f64,
}

impl FromStr for Budget {
    type Err = String;

    /// A number and `s`, `m` or `h`: `90s`, `30m`, `1.5h`.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = || format!("`{text}` is no time; write 90s, 30m or 1.5h");
        let (number, unit) =
            text.split_at(text.len() - text.chars().last().map_or(0, char::len_utf8));
        let unit = match unit {
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            _ => return Err(wrong()),
        };
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        match number > 0.0 && number.is_finite() {
            true => Ok(Self {
                seconds: number * unit,
                spent: 0.0,
            }),
            false => Err(format!("{}; it must be finite and above 0", wrong())),
        }
    }
}

impl Budget {
    /// The budget of a first look at the user's own data.
    pub const FIRST_LOOK: Self = Self {
        seconds: 120.0,
        spent: 0.0,
    };

    /// The time that is left for a study.
    fn left(&self) -> f64 {
        self.seconds * (1.0 - KEPT) - self.spent
    }

    /// The least budget that has time for a study of so many seconds, as a person writes it.
    fn for_a_study(&self, seconds: f64) -> String {
        let needed = (seconds + self.spent) / (1.0 - KEPT);
        match needed {
            s if s < 90.0 => format!("{}s", s.ceil()),
            s if s < 5_400.0 => format!("{}m", (s / 60.0).ceil()),
            s => format!("{}h", (s / 360.0).ceil() / 10.0),
        }
    }

    /// The study with the most seeds that fits at every task's own steps, or if not even three seeds do, that
    /// with three seeds and the largest share of the steps: more steps come before more seeds, since a training
    /// that was cut short says nothing about its end.
    ///
    /// `jobs` gives the number of trials that run at a time, for a number of trials in all.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] when not even the smallest study fits; it says which one that is and how long it takes.
    pub fn fit(
        &self,
        spec: &StudySpec,
        tasks: &Tasks,
        costs: &TrialTimes,
        open: Open,
        jobs: impl Fn(usize) -> usize,
    ) -> Result<Fitting, LabError> {
        let most_seeds = (FEWEST_SEEDS as u64..=MOST_SEEDS).rev();
        let seeds: Vec<Vec<u64>> = match open != Open::Steps {
            true => most_seeds.map(|count| (1..=count).collect()).collect(),
            false => vec![spec.seeds.clone()],
        };
        let fewest = seeds.last().cloned().unwrap_or_default();
        let mut variants: Vec<(Vec<u64>, f64)> =
            seeds.into_iter().map(|seeds| (seeds, 1.0)).collect();
        if open != Open::Seeds {
            variants.extend(SHARES[1..].iter().map(|share| (fewest.clone(), *share)));
        }
        let time_of = |seeds: &[u64], share: f64, schemes: usize| {
            let (variant, rounds) = variant(spec, tasks, seeds, share, schemes)?;
            let jobs = jobs(rounds.iter().map(Vec::len).max().unwrap_or(0));
            let seconds = rounds.iter().map(|trials| costs.total(trials, jobs)).sum();
            Ok::<_, LabError>((variant, seconds))
        };
        let mut least = (0, 0.0, 0.0);
        for (seeds, share) in &variants {
            let (variant, seconds) = time_of(seeds, *share, spec.schemes.len())?;
            if seconds <= self.left() {
                return Ok(Fitting {
                    spec: variant,
                    share: *share,
                    seconds,
                });
            }
            least = (seeds.len(), *share, seconds);
        }
        // Two schemes are the fewest of a comparison.
        let mut fewer = String::new();
        if let Some((seeds, share)) = variants.last() {
            for count in (2..spec.schemes.len()).rev() {
                if time_of(seeds, *share, count)?.1 <= self.left() {
                    let names = spec.schemes[..count].join(",");
                    fewer = format!(", or fewer schemes: --schemes \"{names}\"");
                    break;
                }
            }
        }
        Err(self.too_small(least, &fewer))
    }

    /// The error for a budget that is too small for the smallest meaningful study, with its seeds, share of the steps and
    /// seconds.
    fn too_small(&self, (seeds, share, seconds): (usize, f64, f64), fewer: &str) -> LabError {
        LabError::Usage(format!(
            "the budget is too small: after the measurement it has {} left, and the smallest useful study, with {} and {:.0} % \
             of the steps, takes about {}; say --budget {}{fewer}",
            in_words(self.left().max(0.0)),
            counted(seeds, "seed"),
            share * 100.0,
            in_words(seconds),
            self.for_a_study(seconds)
        ))
    }
}

/// The study with these seeds, this share of the steps and the first `schemes` of its schemes, and the most trials of each
/// of its rounds: first the rounds that choose learning rates, one after the other, then the study itself.
fn variant(
    spec: &StudySpec,
    tasks: &Tasks,
    seeds: &[u64],
    share: f64,
    schemes: usize,
) -> Result<(StudySpec, Vec<Vec<TrialSpec>>), LabError> {
    let mut variant = spec.clone();
    variant.seeds = seeds.to_vec();
    variant.schemes.truncate(schemes);
    for task in &mut variant.tasks {
        task.steps = ((task.steps as f64 * share).round() as usize).max(1);
        task.auto_from = task.auto_from.map(|first| first.min(task.steps));
    }
    let trials = variant.trials(tasks)?;
    // For every scheme and task, a training that chooses a rate takes as long as a trial at one more seed.
    let once = trials.iter().filter(|of| seeds.first() == Some(&of.seed));
    let once: Vec<TrialSpec> = once.cloned().collect();
    let choices = spec.tune.as_ref().map_or(Vec::new(), Tuned::rounds);
    let repeated = |of: &usize| (0..*of).flat_map(|_| once.clone()).collect();
    let mut rounds: Vec<Vec<TrialSpec>> = choices.iter().map(repeated).collect();
    rounds.push(trials);
    Ok((variant, rounds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::Plan;
    use crate::data::testing::Says;

    #[test]
    fn times_are_read_or_refused() {
        for (text, seconds) in [
            ("90s", 90.0),
            ("30m", 1800.0),
            (" 1.5h ", 5400.0),
            ("2 m", 120.0),
        ] {
            let read = Budget {
                seconds,
                spent: 0.0,
            };
            assert_eq!(text.parse(), Ok(read), "{text}");
        }
        for text in ["", "30", "m", "-5m", "0s", "infh", "NaNs", "5d", "5µ"] {
            let message = text.parse::<Budget>().unwrap_err();
            message.says("write 90s, 30m or 1.5h");
        }
        "0s".parse::<Budget>().unwrap_err().says("above 0");
    }

    /// Two tasks; a trial takes a second, and another for every 100 steps.
    fn study(more: &str) -> (StudySpec, Tasks, TrialTimes) {
        let plan = format!("tasks = ['reverse', 'majority']\nsteps = 400\n{more}");
        let (spec, tasks) = StudySpec::of(Plan::parse(&plan).unwrap()).unwrap();
        let trials = spec.trials(&tasks).unwrap();
        let costs = TrialTimes::flat(&trials, 1.0, 0.01);
        (spec, tasks, costs)
    }

    /// A budget of which so many seconds are left.
    fn with_left(seconds: f64) -> Budget {
        Budget {
            seconds: (seconds + 1e-9) / (1.0 - KEPT),
            spent: 0.0,
        }
    }

    fn fit(seconds: f64, open: Open, tune: Option<usize>) -> Result<(usize, f64, f64), String> {
        let tune = tune.map_or(String::new(), |rates| format!("tune = {rates}"));
        let two = format!("schemes = ['none', 'rotary']\nseeds = 5\n{tune}");
        let (spec, tasks, costs) = study(&two);
        let fitting = with_left(seconds).fit(&spec, &tasks, &costs, open, |_| 2);
        let fitting = fitting.map_err(|error| error.to_string())?;
        assert!(fitting.seconds <= seconds);
        let steps = (400.0 * fitting.share) as usize;
        assert!(fitting.spec.tasks.iter().all(|task| task.steps == steps));
        Ok((fitting.spec.seeds.len(), fitting.share, fitting.seconds))
    }

    #[test]
    fn seeds_are_given_up_before_steps() {
        // Four trials of 5 s for every seed, two at a time: 10 s a seed.
        assert_eq!(fit(1000.0, Open::Both, None), Ok((12, 1.0, 120.0)));
        assert_eq!(fit(59.0, Open::Both, None), Ok((5, 1.0, 50.0)));
        assert_eq!(fit(30.0, Open::Both, None), Ok((3, 1.0, 30.0)));
        assert_eq!(fit(29.0, Open::Both, None), Ok((3, 0.75, 24.0)));
        assert_eq!(fit(12.0, Open::Both, None), Ok((3, 0.25, 12.0)));
        // What the command line fixes stays.
        assert_eq!(fit(59.0, Open::Steps, None), Ok((5, 1.0, 50.0)));
        assert_eq!(fit(30.0, Open::Steps, None), Ok((5, 0.5, 30.0)));
        assert_eq!(fit(30.0, Open::Seeds, None), Ok((3, 1.0, 30.0)));
    }

    #[test]
    fn tuning_is_paid_from_the_budget() {
        // Three rates, two beyond them and two more trainings of each of the two best cost as much as nine more seeds.
        assert_eq!(fit(129.0, Open::Both, Some(3)), Ok((3, 1.0, 120.0)));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_least() {
        for (seconds, open, least, time) in [
            (11.0, Open::Both, "3 seeds and 25", 12),
            (29.0, Open::Seeds, "3 seeds and 100", 30),
            (19.0, Open::Steps, "5 seeds and 25", 20),
        ] {
            let message = fit(seconds, open, None).unwrap_err();
            message.says(&format!(
                "{least} % of the steps, takes about {time} seconds"
            ));
        }
    }

    #[test]
    fn what_would_fit_is_said() {
        // Two tasks and three schemes at 25 % of 400 steps: 2 s a trial, so 18 s for three seeds, two at a time.
        let (spec, tasks, costs) = study("schemes = ['none', 'rotary', 'alibi']");
        let said = |seconds: f64| {
            let fitting = with_left(seconds).fit(&spec, &tasks, &costs, Open::Both, |_| 2);
            fitting.unwrap_err().to_string()
        };
        let message = said(13.0);
        message.says("after the measurement it has 13 seconds left … takes about 18 seconds");
        let end = "; say --budget 20s, or fewer schemes: --schemes \"none,rotary\"";
        assert!(message.ends_with(end), "{message}");
        assert!(said(10.0).ends_with("; say --budget 20s"));
        let spent = Budget {
            seconds: 1.0,
            spent: 90.0,
        };
        let flags = [0.0, 600.0, 7_000.0].map(|seconds| spent.for_a_study(seconds));
        assert_eq!(flags, ["2m", "13m", "2.2h"]);
    }
}
