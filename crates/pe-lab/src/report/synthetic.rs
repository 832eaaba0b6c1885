//! Studies with invented results, for the tests of the report.

use super::charts::Figure;
use super::data::{Data, Loss, Run};
use super::encodings::Encodings;
use super::html::{self, Charts};
use super::summary::Summary;
use super::verdict::judged;
use crate::ask::{ModelSpec, Recipe, StudySpec, TaskSteps, Tasks, Versions};
use crate::data::{DataSpec, FileSpec, Format, Reading};
use crate::learn::{Cost, CurvePoint, LengthScore, PositionScore};
use crate::rng::{RngExt, generator};
use crate::run::{Costs, Machine, Measures, SchemeCosts, Timing};
use crate::task::Score;

/// A study and its runs. Lengths up to 20 are inside training and have the floor 0.25; longer ones have
/// the floor 0.2. Only the task `mine` has one answer per sequence.
#[derive(Clone)]
pub struct Synthetic {
    pub spec: StudySpec,
    runs: Vec<(String, String, u64, Result<Measures, String>)>,
}

impl Synthetic {
    pub fn new(tasks: &[&str], schemes: &[&str], seeds: u64) -> Self {
        let steps = |name: &&str| TaskSteps {
            name: name.to_string(),
            steps: 1500,
            auto_from: None,
        };
        let spec = StudySpec {
            schemes: schemes.iter().map(|name| name.to_string()).collect(),
            tasks: tasks.iter().map(steps).collect(),
            data: None,
            seeds: (1..=seeds).collect(),
            until: None,
            recipe: Recipe::default(),
            tune: None,
            test_scalings: None,
            model: ModelSpec::default(),
            device: "flex".into(),
            versions: Versions::current(),
            grown: Vec::new(),
        };
        Self {
            spec,
            runs: Vec::new(),
        }
    }

    /// A study whose every run has scores: those that `at` gives for a task, a scheme and a seed.
    pub fn each<At: AsRef<[(usize, f64)]>>(
        tasks: &[&str],
        schemes: &[&str],
        seeds: u64,
        at: impl Fn(&str, &str, u64) -> At,
    ) -> Self {
        let mut study = Self::new(tasks, schemes, seeds);
        for task in tasks {
            for scheme in schemes {
                for seed in 1..=seeds {
                    study = study.score(task, scheme, seed, at(task, scheme, seed).as_ref());
                }
            }
        }
        study
    }

    pub fn score(mut self, task: &str, scheme: &str, seed: u64, at: &[(usize, f64)]) -> Self {
        let scores = at.iter().map(|(length, accuracy)| LengthScore {
            length: *length,
            inside: *length <= 20 || task == "digits",
            samples: 512,
            score: Score::Accuracy(*accuracy),
            exact: Some(if task == "mine" { *accuracy } else { 0.0 }),
            floor: if *length <= 20 { 0.25 } else { 0.2 },
            by_depth: Vec::new(),
            rows: None,
            by_position: (1..=*length)
                .filter(|_| task != "digits")
                .map(|position| PositionScore {
                    position,
                    score: Score::Accuracy(if position <= 20 { *accuracy } else { 0.2 }),
                })
                .collect(),
        });
        // `count` losses over 1500 steps. The part above 0.1 falls by a factor of e in every `to_a_part` of them.
        let falling = |count: usize, to_a_part: f64| {
            let loss = |i: usize| 0.1 + 2.0 * (-(i as f64) / to_a_part).exp();
            let points = (1..=count).map(|i| CurvePoint::from((i * (1500 / count), loss(i))));
            points.collect()
        };
        let measures = Measures {
            scores: scores.collect(),
            parameters: 101_000,
            position_parameters: 5_248,
            curve: falling(100, 20.0 + seed as f64),
            held_out: falling(10, 1.0),
            language: None,
            predicted: Vec::new(),
            timing: Timing {
                ms_per_step: 12.5,
                tokens_per_second: 71_234.0,
                seconds: 20.0,
                threads: Some(1),
                machine: None,
            },
        };
        self.runs
            .push((task.into(), scheme.into(), seed, Ok(measures)));
        self
    }

    /// A study of one task: the normalized scores of each scheme inside the training lengths, one for each seed.
    pub fn of_scores(task: &str, schemes: &[(&str, &[f64])]) -> Self {
        let names: Vec<&str> = schemes.iter().map(|of| of.0).collect();
        let seeds = schemes[0].1.len() as u64;
        Self::each(&[task], &names, seeds, |_, scheme, seed| {
            let (_, scores) = schemes.iter().find(|of| of.0 == scheme).unwrap();
            [(10, 0.25 + 0.75 * scores[seed as usize - 1])]
        })
    }

    fn run(&mut self, of: (&str, &str, u64)) -> Option<&mut Result<Measures, String>> {
        let mut runs = self.runs.iter_mut();
        let run = runs.find(|run| (run.0.as_str(), run.1.as_str(), run.2) == of);
        run.map(|run| &mut run.3)
    }

    /// The measures of a run, to be changed.
    pub fn measures(&mut self, task: &str, scheme: &str, seed: u64) -> &mut Measures {
        self.run((task, scheme, seed)).unwrap().as_mut().unwrap()
    }

    /// Calls `change` with the scheme, the seed and the measures of every run.
    pub fn change(mut self, mut change: impl FnMut(&str, u64, &mut Measures)) -> Self {
        for (_, scheme, seed, measures) in &mut self.runs {
            change(scheme, *seed, measures.as_mut().unwrap());
        }
        self
    }

    /// The numbers of the study with its verdict.
    pub fn judged(&self) -> Summary {
        judged(Summary::of(&self.data()))
    }

    /// Its page, with these pictures of encodings.
    pub fn page(&self, figures: Vec<Figure>) -> String {
        let encodings = Encodings {
            figures,
            damaged: Vec::new(),
        };
        page(&self.data(), &self.judged(), &encodings)
    }

    /// Lets a run fail, whatever scores it had.
    pub fn fail(mut self, task: &str, scheme: &str, seed: u64, reason: &str) -> Self {
        let failed = Err(reason.to_string());
        match self.run((task, scheme, seed)) {
            Some(run) => *run = failed,
            None => self.runs.push((task.into(), scheme.into(), seed, failed)),
        }
        self
    }

    pub fn data(&self) -> Data<'_> {
        let runs = self.runs.iter().map(|(task, scheme, seed, outcome)| Run {
            task,
            scheme,
            seed: *seed,
            outcome: match outcome {
                Ok(measures) => Ok(measures),
                Err(reason) => Err(Loss {
                    reason,
                    failed: true,
                }),
            },
        });
        Data::new(
            &self.spec,
            runs.collect(),
            vec![&self.spec.versions],
            &Tasks::default(),
        )
    }

    /// Nine tasks and ten schemes, with a failed trial: a report of full size.
    pub fn large(seeds: u64) -> Self {
        let tasks = "digits reverse bucket_sort first_eq_last shift3 prev_occurrence posmod4 majority missing_duplicate";
        let tasks: Vec<&str> = tasks.split(' ').collect();
        let schemes = "none sinusoidal learned rotary alibi t5 kerple fire randomized xpos";
        let schemes: Vec<&str> = schemes.split(' ').collect();
        let study = Self::each(&tasks, &schemes, seeds, |task, scheme, seed| {
            let place = |all: &[&str], name: &str| all.iter().position(|of| *of == name).unwrap();
            let (t, s) = (place(&tasks, task), place(&schemes, scheme));
            let mut rng = generator(&format!("large-{t}-{s}"), seed, 0);
            let skill = match s {
                0 => 0.05,
                _ => 0.6 + 0.04 * ((s * 7 + t) % 10) as f64,
            };
            let lengths: &[usize] = match task {
                "digits" => &[64],
                _ => &[10, 20, 21, 25, 30, 40, 60, 80],
            };
            let at = lengths.iter().map(|n| {
                let reach = if s % 3 == 0 { 60.0 } else { 15.0 };
                let carried = (-(n.saturating_sub(20) as f64) / reach).exp();
                let floor = if *n <= 20 { 0.25 } else { 0.2 };
                let noise = 0.03 * (rng.random::<f64>() - 0.5);
                let fades = if task == "digits" { 1.0 } else { carried };
                let accuracy: f64 = floor + (1.0 - floor) * skill * fades + noise;
                (*n, accuracy.clamp(0.0, 1.0))
            });
            at.collect::<Vec<_>>()
        });
        let reason = "the loss is no longer a number at step 812";
        study.fail(tasks[4], schemes[7], 2, reason)
    }
}

/// The spec of a file of a person's own data.
pub fn file(name: &str) -> FileSpec {
    FileSpec {
        file: name.into(),
        sha256: String::new(),
        bytes: 1,
    }
}

/// A table of a person's rows.
pub fn own_data(name: &str) -> DataSpec {
    DataSpec::new(file(name), Format::Csv, &Reading::default())
}

/// The page of a report.
pub fn page(data: &Data<'_>, summary: &Summary, encodings: &Encodings) -> String {
    let charts = Charts::draw(data, summary).unwrap();
    html::render(data, summary, &charts, encodings).unwrap()
}

/// Costs of the schemes `none` and `rotary`, and of one that no study has.
pub fn costs(others: f64) -> Costs {
    let cost = |step_ms: f64, tokens| Cost {
        tokens,
        batch_size: 64,
        step_ms,
        prefill_ms: step_ms / 50.0,
        decode_ms: None,
        peak_bytes: Some(50 << 20),
        others: Some(others),
    };
    let scheme = |name: &str, ms: f64| SchemeCosts {
        scheme: name.into(),
        at: vec![cost(ms, 22), cost(3.0 * ms, 42)],
    };
    Costs {
        task: "reverse".into(),
        device: "flex".into(),
        machine: Machine::this(),
        schemes: vec![
            scheme("none", 10.0),
            scheme("rotary", 12.0),
            scheme("gone", 1.0),
        ],
    }
}
