//! The numbers of a report: per task and scheme, inside and beyond the training lengths.

use serde::Serialize;

use crate::evaluate::LengthScore;
use crate::study::{Study, StudySpec};
use crate::task;
use crate::trial::{Measures, Outcome, TrialResult};

/// A normalized score below this counts as "not above the floor".
const ABOVE_THE_FLOOR: f64 = 0.05;

/// A study in numbers and in words.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// What was run.
    pub study: StudySpec,
    /// What the numbers allow to say, a line each.
    pub verdict: Vec<String>,
    /// The tasks.
    pub tasks: Vec<TaskSummary>,
}

/// One task of a study.
#[derive(Clone, Debug, Serialize)]
pub struct TaskSummary {
    /// The task's name.
    pub task: String,
    /// What it asks for.
    pub about: String,
    /// Training steps.
    pub steps: usize,
    /// The tested lengths that training saw, and those beyond.
    pub lengths: [Vec<usize>; 2],
    /// The floor there, on average.
    pub floors: [Option<f64>; 2],
    /// What the floor is, in words.
    pub floor_about: String,
    /// The schemes, in the order of the study.
    pub schemes: Vec<SchemeSummary>,
}

/// One scheme on one task.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeSummary {
    /// The scheme's name.
    pub scheme: String,
    /// The score inside the training lengths.
    pub inside: Option<Group>,
    /// The score beyond them.
    pub beyond: Option<Group>,
    /// Parameters of the model.
    pub parameters: Option<usize>,
    /// Parameters of the scheme alone.
    pub position_parameters: Option<usize>,
    /// Milliseconds per training step, the mean over seeds.
    pub ms_per_step: Option<f64>,
    /// Input tokens trained on per second, the mean over seeds.
    pub tokens_per_second: Option<f64>,
    /// Seeds that did not solve the task inside the training lengths, where it can be solved.
    pub unsolved_inside: Vec<u64>,
    /// Seeds without a score, and why.
    pub failed: Vec<(u64, String)>,
}

/// The score of one scheme on a group of lengths.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The mean over seeds.
    pub mean: f64,
    /// The mean on a scale from the floor (0) to perfect (1).
    pub normalized: f64,
    /// Every seed's own score: the mean over the group's lengths.
    pub seeds: Vec<SeedScore>,
}

/// The score of one seed.
#[derive(Clone, Debug, Serialize)]
pub struct SeedScore {
    /// The seed.
    pub seed: u64,
    /// The accuracy.
    pub accuracy: f64,
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

impl Summary {
    /// Summarizes a study.
    pub fn of(study: &Study) -> Self {
        let tasks: Vec<TaskSummary> = study
            .spec
            .tasks
            .iter()
            .map(|task| TaskSummary::of(study, &task.name, task.steps))
            .collect();
        let verdict = verdict(study.spec.seeds.len(), &tasks);
        Self {
            study: study.spec.clone(),
            verdict,
            tasks,
        }
    }
}

impl TaskSummary {
    fn of(study: &Study, name: &str, steps: usize) -> Self {
        let task = task::by_name(name).ok();
        let (mut lengths, mut floors) = ([Vec::new(), Vec::new()], [None, None]);
        if let Some(task) = &task {
            let trained = task.train_lengths();
            let (inside, beyond): (Vec<_>, Vec<_>) = task
                .test_lengths()
                .into_iter()
                .partition(|length| trained.contains(length));
            floors = [&inside, &beyond].map(|group| mean(group.iter().map(|n| task.floor(*n))));
            lengths = [inside, beyond];
        }
        let floor_about = task.as_ref().map(|task| task.floor_about().to_string());
        let solved_at = task.and_then(|task| task.solved_at());
        let schemes = study
            .spec
            .schemes
            .iter()
            .map(|scheme| {
                let of_scheme = |task: &str, config: &pe_burn::PositionalConfig| {
                    task == name && config.name() == scheme
                };
                let results: Vec<&TrialResult> = study
                    .results
                    .iter()
                    .filter(|result| of_scheme(&result.spec.task, &result.spec.scheme))
                    .collect();
                let missing = study
                    .missing
                    .iter()
                    .filter(|(t, _)| of_scheme(&t.task, &t.scheme));
                let missing = missing.map(|(trial, reason)| (trial.seed, reason.clone()));
                SchemeSummary::of(scheme, &results, missing.collect(), solved_at)
            })
            .collect();
        let about = task::by_name(name)
            .map(|task| task.about().to_string())
            .unwrap_or_default();
        Self {
            task: name.to_string(),
            about,
            steps,
            lengths,
            floors,
            floor_about: floor_about.unwrap_or_default(),
            schemes,
        }
    }

    /// Lines that rank the schemes inside and beyond the training lengths.
    fn verdict(&self) -> Vec<String> {
        let parts = [("inside the training lengths", 0), ("beyond them", 1)];
        parts
            .iter()
            .filter_map(|(place, part)| self.ranking(place, *part))
            .collect()
    }

    fn ranking(&self, place: &str, part: usize) -> Option<String> {
        let mut ranked: Vec<(&str, &Group)> = self
            .schemes
            .iter()
            .filter_map(|s| {
                [&s.inside, &s.beyond][part]
                    .as_ref()
                    .map(|group| (s.scheme.as_str(), group))
            })
            .collect();
        ranked.sort_by(|a, b| b.1.mean.total_cmp(&a.1.mean));
        let mut line = String::new();
        for (i, (scheme, group)) in ranked.iter().enumerate() {
            if i > 0 {
                let clear = ranked[i - 1].1.worst() > group.best();
                line.push_str(if clear { " > " } else { " ~ " });
            }
            line.push_str(&format!("{scheme} {:.3}", group.mean));
            if group.normalized < ABOVE_THE_FLOOR {
                line.push_str(" (not above the floor)");
            }
        }
        let where_to = if self.lengths[1].is_empty() {
            "on held-out data"
        } else {
            place
        };
        (!line.is_empty()).then(|| format!("{}, {where_to}: {line}", self.task))
    }
}

impl SchemeSummary {
    fn of(
        scheme: &str,
        results: &[&TrialResult],
        missing: Vec<(u64, String)>,
        solved_at: Option<f64>,
    ) -> Self {
        let measured: Vec<(u64, &Measures)> = results
            .iter()
            .filter_map(|result| Some((result.spec.seed, result.measures()?)))
            .collect();
        let inside = Group::of(&measured, |score| score.inside);
        let unsolved = |seed: &&SeedScore| solved_at.is_some_and(|at| seed.accuracy < at);
        let mut failed = missing;
        failed.extend(results.iter().filter_map(|result| match &result.outcome {
            Outcome::Failed(reason) => Some((result.spec.seed, reason.clone())),
            Outcome::Finished(_) => None,
        }));
        Self {
            scheme: scheme.to_string(),
            unsolved_inside: inside
                .iter()
                .flat_map(|group| group.seeds.iter().filter(unsolved).map(|s| s.seed))
                .collect(),
            inside,
            beyond: Group::of(&measured, |score| !score.inside),
            parameters: measured.first().map(|(_, m)| m.parameters),
            position_parameters: measured.first().map(|(_, m)| m.position_parameters),
            ms_per_step: mean(measured.iter().map(|(_, m)| m.timing.ms_per_step)),
            tokens_per_second: mean(measured.iter().map(|(_, m)| m.timing.tokens_per_second)),
            failed,
        }
    }
}

impl Group {
    fn of(measured: &[(u64, &Measures)], belongs: impl Fn(&LengthScore) -> bool) -> Option<Self> {
        let part = |pick: fn(&LengthScore) -> f64| {
            let belongs = &belongs;
            measured.iter().filter_map(move |(seed, measures)| {
                let scores = measures.scores.iter().filter(|score| belongs(score));
                mean(scores.map(pick)).map(|score| (*seed, score))
            })
        };
        let seeds =
            part(|score| score.accuracy).map(|(seed, accuracy)| SeedScore { seed, accuracy });
        Some(Self {
            mean: mean(part(|score| score.accuracy).map(|(_, score)| score))?,
            normalized: mean(part(LengthScore::normalized).map(|(_, score)| score))?,
            seeds: seeds.collect(),
        })
    }

    fn best(&self) -> f64 {
        self.seeds
            .iter()
            .map(|seed| seed.accuracy)
            .fold(f64::MIN, f64::max)
    }

    fn worst(&self) -> f64 {
        self.seeds
            .iter()
            .map(|seed| seed.accuracy)
            .fold(f64::MAX, f64::min)
    }
}

/// What may be said: an order, and how little a few seeds prove.
fn verdict(seeds: usize, tasks: &[TaskSummary]) -> Vec<String> {
    // A sign-flip test on n paired differences has 2^n equally likely outcomes.
    let smallest_p = 0.5f64.powi(seeds as i32 - 1);
    let caution = match seeds {
        1 => "With 1 seed this is one observation: nothing is known about chance.".to_string(),
        2..=5 => format!(
            "With {seeds} seeds this is a hint, not a proof: no paired test on {seeds} seeds can give \
             p below {smallest_p:.2} (6 seeds can give 0.03)."
        ),
        _ => format!(
            "With {seeds} seeds a paired test can give p down to {smallest_p:.1e}; none was made here."
        ),
    };
    let mut lines = vec![caution];
    lines.extend(tasks.iter().flat_map(TaskSummary::verdict));
    lines.push(
        "`>`: every seed of the one scored above every seed of the next; `~`: they overlap.".into(),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{Timing, Versions};

    fn result(study: &StudySpec, index: usize, accuracies: &[(usize, f64)]) -> TrialResult {
        let spec = study.trials().unwrap()[index].clone();
        let task = task::by_name(&spec.task).unwrap();
        let scores = accuracies.iter().map(|(length, accuracy)| LengthScore {
            length: *length,
            inside: task.train_lengths().contains(length),
            samples: 512,
            accuracy: *accuracy,
            exact: 0.0,
            floor: task.floor(*length),
            by_position: Vec::new(),
        });
        let measures = Measures {
            scores: scores.collect(),
            parameters: 1000,
            position_parameters: 10,
            curve: Vec::new(),
            timing: Timing {
                ms_per_step: 2.0,
                tokens_per_second: 5.0,
                threads: None,
            },
        };
        TrialResult {
            spec,
            outcome: Outcome::Finished(measures),
            versions: Versions::current(),
        }
    }

    fn study() -> Study {
        let names = |list: &[&str]| list.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let spec = StudySpec::new(
            &names(&["none", "learned"]),
            &names(&["reverse"]),
            &[1, 2],
            None,
            "flex",
        )
        .unwrap();
        // The order of trials: seed 1 none, seed 1 learned, seed 2 none, seed 2 learned.
        let mut results = vec![
            result(&spec, 0, &[(10, 0.30), (20, 0.20), (80, 0.19)]),
            result(&spec, 1, &[(10, 1.0), (20, 0.98), (80, 0.19)]),
            result(&spec, 2, &[(10, 0.30), (20, 0.30), (80, 0.17)]),
        ];
        let failed = Outcome::Failed("diverged".into());
        results.push(TrialResult {
            outcome: failed,
            ..result(&spec, 3, &[])
        });
        Study {
            spec,
            results,
            missing: Vec::new(),
            resumed: 0,
        }
    }

    #[test]
    fn means_seeds_and_failures_are_kept_apart() {
        let summary = Summary::of(&study());
        let task = &summary.tasks[0];
        assert_eq!(task.lengths, [vec![10, 20], vec![21, 25, 30, 40, 60, 80]]);
        let [none, learned] = &task.schemes[..] else {
            panic!("two schemes")
        };
        let inside = none.inside.as_ref().unwrap();
        assert!((inside.mean - 0.275).abs() < 1e-12);
        assert!((inside.seeds[1].accuracy - 0.30).abs() < 1e-12);
        assert_eq!(none.unsolved_inside, [1, 2]);
        assert!(learned.unsolved_inside.is_empty());
        assert_eq!(learned.failed, [(2, "diverged".to_string())]);
        assert_eq!(learned.inside.as_ref().unwrap().seeds.len(), 1);
        assert!((none.beyond.as_ref().unwrap().mean - 0.18).abs() < 1e-12);
    }

    #[test]
    fn the_verdict_is_no_stronger_than_the_seeds() {
        let summary = Summary::of(&study());
        let text = summary.verdict.join("\n");
        assert!(text.contains("With 2 seeds this is a hint"), "{text}");
        assert!(text.contains("p below 0.50"), "{text}");
        assert!(
            text.contains(
                "reverse, inside the training lengths: learned 0.990 > none 0.275 (not above the floor)"
            ),
            "{text}"
        );
        assert!(
            text.contains("beyond them: learned 0.190 (not above the floor) ~ none 0.180 (not above the floor)"),
            "{text}"
        );
    }
}
