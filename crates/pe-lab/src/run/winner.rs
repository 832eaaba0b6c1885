//! The scheme that scored highest in a study, and the best model that was trained with it.

use serde::{Deserialize, Serialize};

use super::study::Outcomes;
use super::trial::{Measures, TrialResult};
use crate::ask::{ModelSpec, Scheme, TrialSpec, Versions};

/// The scheme with the highest mean score of a study, which is not to say that it is proven better than the
/// others: that is what the report is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Winner {
    /// The scheme. Its `encoding` is a configuration of `pe-burn` (`PositionalConfig`).
    pub scheme: Scheme,
    /// Its normalized score inside the training lengths: the mean over tasks of the mean over seeds. A trial
    /// without a score counts as 0, the floor.
    pub score: f64,
    /// The trial whose model scored highest, among those of this scheme.
    pub trial: String,
    /// Its task.
    pub task: String,
    /// Its seed.
    pub seed: u64,
    /// Its normalized score inside the training lengths. It is the best of several on the same test, so it
    /// says a little more than the model can do on other data.
    pub trial_score: f64,
    /// The sizes of the model.
    pub model: ModelSpec,
    /// The versions that computed it.
    pub versions: Versions,
}

impl Winner {
    /// The winner of a study. `None` without any score. Of equal schemes, the first of the study wins.
    pub fn of(outcomes: &Outcomes) -> Option<Self> {
        let done = outcomes.results.iter().map(|result| {
            let score = result.measures().map_or(0.0, inside);
            (&result.spec, score)
        });
        // A trial that was run and left no result has no score either; one that was not run says nothing.
        let failed = outcomes
            .missing
            .iter()
            .filter(|(_, reason)| reason.is_some());
        let failed = failed.map(|(spec, _)| (spec, 0.0));
        let trials: Vec<(&TrialSpec, f64)> = done.chain(failed).collect();
        let mut schemes: Vec<&str> = Vec::new();
        for (spec, _) in &trials {
            if !schemes.contains(&spec.scheme.name.as_str()) {
                schemes.push(&spec.scheme.name);
            }
        }
        let scores = schemes
            .into_iter()
            .map(|scheme| (scheme, score(&trials, scheme)));
        let (scheme, score) =
            scores.reduce(|best, next| if next.1 > best.1 { next } else { best })?;
        let of_scheme = outcomes.results.iter();
        let of_scheme = of_scheme.filter(|result| result.spec.scheme.name == scheme);
        let scored = of_scheme.filter_map(|result| Some((result, inside(result.measures()?))));
        let (best, trial_score): (&TrialResult, f64) =
            scored.reduce(|best, next| if next.1 > best.1 { next } else { best })?;
        Some(Self {
            scheme: best.spec.scheme.clone(),
            score,
            trial: best.spec.id(),
            task: best.spec.task.clone(),
            seed: best.spec.seed,
            trial_score,
            model: best.spec.model.clone(),
            versions: best.versions.clone(),
        })
    }
}

/// The mean over tasks of a scheme's mean over seeds.
fn score(trials: &[(&TrialSpec, f64)], scheme: &str) -> f64 {
    let mut tasks: Vec<&str> = Vec::new();
    for (spec, _) in trials {
        if !tasks.contains(&spec.task.as_str()) {
            tasks.push(&spec.task);
        }
    }
    let of_tasks = tasks.iter().filter_map(|task| {
        let of_task = trials
            .iter()
            .filter(|(spec, _)| spec.task == **task && spec.scheme.name == scheme);
        mean(of_task.map(|(_, score)| *score))
    });
    mean(of_tasks).unwrap_or(0.0)
}

/// The mean normalized score inside the training lengths, weighted by what was tested at each.
fn inside(measures: &Measures) -> f64 {
    let inside = measures.scores.iter().filter(|score| score.inside);
    let (sum, samples) = inside.fold((0.0, 0), |(sum, samples), score| {
        (
            sum + score.normalized() * score.samples as f64,
            samples + score.samples,
        )
    });
    match samples {
        0 => 0.0,
        _ => sum / samples as f64,
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::{Names, Plan, Seeds, StudySpec};

    #[test]
    fn a_score_is_the_mean_over_tasks_and_a_failed_run_is_at_the_floor() {
        let names = |list: [&str; 2]| Some(Names::These(list.map(String::from).to_vec()));
        let plan = Plan {
            schemes: names(["none", "rotary"]),
            tasks: names(["reverse", "digits"]),
            seeds: Some(Seeds::Count(2)),
            ..Plan::default()
        };
        let (spec, tasks) = StudySpec::of(plan).unwrap();
        let trials = spec.trials(&tasks).unwrap();
        // Rotary is perfect but for one run without a score; of reverse there is only one run.
        let scored: Vec<(&TrialSpec, f64)> = trials
            .iter()
            .filter(|trial| trial.task == "digits" || trial.seed == 1)
            .map(|trial| match (trial.scheme.name.as_str(), trial.seed) {
                ("rotary", 2) => (trial, 0.0),
                ("rotary", _) => (trial, 1.0),
                _ => (trial, 0.8),
            })
            .collect();
        assert_eq!(scored.len(), 6);
        assert!((score(&scored, "rotary") - (1.0 + 0.5) / 2.0).abs() < 1e-12);
        assert!((score(&scored, "none") - 0.8).abs() < 1e-12);
        assert_eq!(score(&scored, "alibi"), 0.0);
        assert_eq!(
            Winner::of(&Outcomes {
                results: Vec::new(),
                seeds: Vec::new(),
                missing: Vec::new(),
                resumed: 0
            }),
            None
        );
    }
}
