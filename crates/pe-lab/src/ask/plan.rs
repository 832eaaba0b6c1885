//! What a person asks for: a `study.toml`. The presets are such files, and flags override them.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::model::ModelSpec;
use super::recipe::Recipe;
use super::scaling::TestScaling;
use super::settings::whole_names;
use super::steps::StepCount;
use crate::data::{self, Objective, Reading, Source};
use crate::error::LabError;
use crate::grouped::once;
use crate::task::plain_name;

/// The most bytes of a `study.toml`.
const MOST_BYTES: u64 = 16 << 20;

/// A study as a person asks for it. What is left out comes from the preset, from the tasks, and from
/// the default recipe and model.
///
/// ```
/// let plan = pe_lab::ask::Plan::parse(
///     r#"
///     schemes = ["sinusoidal", "learned"] # or "all"
///     tasks = ["reverse"]                 # or "all", or data = "reviews.csv"
///     seeds = 5                           # or the seeds themselves: [7, 9]
///     steps = 500                         # or "auto", or by task: steps = { reverse = 500 }
///     device = "flex"
///
///     [recipe]
///     batch_size = 32
///
///     [model]
///     layers = 1
///     "#,
/// )
/// .unwrap();
/// assert_eq!(plan.recipe.unwrap().batch_size, 32);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The schemes.
    pub schemes: Option<Names>,
    /// The tasks.
    pub tasks: Option<Names>,
    /// Whether the tasks are a decoder's, which writes each answer token by token ([`Causal`](crate::task::Causal)). With
    /// the user's own data it determines the [`Objective`].
    pub causal: Option<bool>,
    /// A file of the user's own data, in place of the tasks.
    pub data: Option<PathBuf>,
    /// A file of rows to test on, beside `data`.
    pub test: Option<PathBuf>,
    /// The `tokenizer.json` that makes tokens of a text.
    pub tokenizer: Option<PathBuf>,
    /// A table of the classes of the rows of `data`, by their ids.
    pub labels: Option<PathBuf>,
    /// Into how many parts the rows of `data` are divided, each of which is the test of a task of its own.
    pub folds: Option<usize>,
    /// The seeds.
    pub seeds: Option<Seeds>,
    /// When to stop before every seed is run.
    pub until: Option<Until>,
    /// Training steps.
    pub steps: Option<Steps>,
    /// How many learning rates are tried for every scheme on every task before the study.
    pub tune: Option<usize>,
    /// The device.
    pub device: Option<String>,
    /// How the rows of `data` are read.
    pub reading: Option<Reading>,
    /// How to train.
    pub recipe: Option<Recipe>,
    /// The sizes of the model.
    pub model: Option<ModelSpec>,
    /// The scalings of RoPE that language models are tested with and not trained with, such as `"yarn(factor=4)"`.
    /// `["none"]` for no scalings, `"all"` for the four that are tested by default.
    #[serde(default, deserialize_with = "named_scalings")]
    pub test_scalings: Option<Vec<TestScaling>>,
}

/// When a study stops before every seed is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// `"decided"`: as soon as a planned look finds the headline decided, see
    /// [`Looks`](crate::stats::Looks).
    Decided,
}

/// Names, or the word `all`. Among names, `all` stands for all of them too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a list of names, such as [\"none\"], or \"all\""
)]
pub enum Names {
    /// `"all"`.
    All(All),
    /// These.
    These(Vec<String>),
}

/// The word `all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum All {
    /// The word itself.
    All,
}

impl Names {
    /// The names as a list, with `all` in place of the word `all`.
    pub fn list(self, all: impl Iterator<Item = String>) -> Vec<String> {
        match self {
            Self::All(All::All) => all.collect(),
            Self::These(names) if names.iter().any(|name| name == ALL) => {
                once(all.chain(names.into_iter().filter(|name| name != ALL)))
            }
            Self::These(names) => names,
        }
    }
}

/// The word that stands for all names.
const ALL: &str = "all";

impl From<Vec<String>> for Names {
    /// Names from a command line, divided at every comma. Those inside of parentheses belong to the settings of a
    /// scheme and divide nothing. Spaces around them, and empty ones, which an extra comma leaves, are
    /// dropped.
    fn from(names: Vec<String>) -> Self {
        let names = whole_names(names);
        let names = names.iter().map(|name| name.trim());
        let names: Vec<String> = names
            .filter(|name| !name.is_empty())
            .map(String::from)
            .collect();
        match names.iter().all(|name| name == ALL) && !names.is_empty() {
            true => Self::All(All::All),
            false => Self::These(names),
        }
    }
}

/// The scalings with these names: no scalings for `none`, and for `all` the four that are tested by default.
///
/// # Errors
///
/// [`LabError::Usage`] for a name or a number that does not exist.
pub fn test_scalings(names: Names) -> Result<Vec<TestScaling>, LabError> {
    match names {
        Names::These(names) if names == ["none"] => Ok(Vec::new()),
        Names::These(names) if names != [ALL] => {
            names.into_iter().map(TestScaling::try_from).collect()
        }
        Names::These(_) | Names::All(_) => Ok(TestScaling::usual()),
    }
}

fn named_scalings<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Vec<TestScaling>>, D::Error> {
    test_scalings(Names::deserialize(from)?)
        .map(Some)
        .map_err(D::Error::custom)
}

/// How many seeds, or which ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number of seeds, such as 3, or a list of them, such as [7, 9]"
)]
pub enum Seeds {
    /// `n`: the seeds 1 to n.
    Count(u64),
    /// These.
    These(Vec<u64>),
}

impl Seeds {
    /// The most seeds of a study.
    pub const MOST: u64 = 1000;

    /// The seeds themselves.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] for none or more than [`MOST`](Self::MOST).
    pub fn list(self) -> Result<Vec<u64>, LabError> {
        let count = match &self {
            Self::Count(count) => *count,
            Self::These(seeds) => seeds.len() as u64,
        };
        if !(1..=Self::MOST).contains(&count) {
            return Err(LabError::Usage(format!(
                "{count} seeds were asked for; a study has from 1 to {}",
                Self::MOST
            )));
        }
        Ok(match self {
            Self::Count(count) => (1..=count).collect(),
            Self::These(seeds) => seeds,
        })
    }
}

/// Training steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Steps {
    /// For every task.
    All(StepCount),
    /// For the tasks named here. Every other task keeps its own number of steps.
    ByTask(BTreeMap<String, StepCount>),
}

impl<'de> Deserialize<'de> for Steps {
    /// Written by hand, so that the error says what is wrong with a text.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;
        impl<'de> Visitor<'de> for OneOrMany {
            type Value = Steps;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a number of steps, such as 500, \"auto\", or one by task, such as { reverse = 500 }",
                )
            }

            fn visit_i64<E: Error>(self, steps: i64) -> Result<Steps, E> {
                StepCount::deserialize(steps.into_deserializer()).map(Steps::All)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Steps, E> {
                StepCount::deserialize(text.into_deserializer()).map(Steps::All)
            }

            fn visit_map<A: MapAccess<'de>>(self, tasks: A) -> Result<Steps, A::Error> {
                BTreeMap::deserialize(MapAccessDeserializer::new(tasks)).map(Steps::ByTask)
            }
        }
        deserializer.deserialize_any(OneOrMany)
    }
}

/// The presets: the name of each, and its `study.toml`.
pub const PRESETS: [(&str, &str); 4] = [
    ("quick", include_str!("../../presets/quick.toml")),
    ("standard", include_str!("../../presets/standard.toml")),
    ("full", include_str!("../../presets/full.toml")),
    ("lm", include_str!("../../presets/lm.toml")),
];

impl Plan {
    /// Reads the text of a `study.toml`.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] with the line and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, LabError> {
        let plan: Self =
            toml::from_str(text).map_err(|error| LabError::Usage(error.to_string()))?;
        if plan.data.is_some() && plan.tasks.is_some() {
            return Err(LabError::Usage(
                "`data` takes the place of `tasks`: name one of the two".into(),
            ));
        }
        Ok(plan)
    }

    /// Reads a `study.toml`. The path of a data file in it is relative to the `study.toml`.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] when the file cannot be read, or with the line that is wrong.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let text = fs::File::open(path).and_then(|file| {
            let mut text = String::new();
            file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
            match text.len() as u64 > MOST_BYTES {
                true => Err(io::Error::other(format!(
                    "it has more than {MOST_BYTES} bytes"
                ))),
                false => Ok(text),
            }
        });
        let text = text.map_err(|error| {
            LabError::Usage(format!(
                "{}: {error}; name a file such as the study.toml of any study",
                path.display()
            ))
        })?;
        let plan = Self::parse(&text)
            .map_err(|error| LabError::Usage(format!("{}: {error}", path.display())))?;
        // An empty file would ask for everything by default.
        if plan == Self::default() {
            return Err(LabError::Usage(format!(
                "{}: it is empty; name what to run, such as tasks = [\"reverse\"]",
                path.display()
            )));
        }
        Ok(plan.inside(path.parent().unwrap_or(Path::new(""))))
    }

    /// This plan, with the paths of its files resolved against `folder`.
    pub fn inside(mut self, folder: &Path) -> Self {
        let files = [
            &mut self.data,
            &mut self.test,
            &mut self.tokenizer,
            &mut self.labels,
        ];
        for file in files.into_iter().flatten() {
            *file = folder.join(&*file);
        }
        self
    }

    /// The files of the user's data, if the study is about them.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] when the plan says how to read a file and names none.
    pub fn source(&self) -> Result<Option<Source>, LabError> {
        let Some(file) = self.data.clone() else {
            // `train_length` may stand without a file: the built-in text has training windows too.
            let others = self.reading.clone().map(|reading| Reading {
                train_length: None,
                ..reading
            });
            let others = others.filter(|others| *others != Reading::default());
            let flag = others.as_ref().map_or("", Reading::first_flag);
            let set = [
                (self.test.is_some(), "--test"),
                (self.folds.is_some(), "--folds"),
                (self.tokenizer.is_some(), "--tokens"),
                (self.labels.is_some(), "--labels"),
                (others.is_some(), flag),
            ];
            return match set.into_iter().find(|(set, _)| *set) {
                None => Ok(None),
                Some((_, flag)) => Err(LabError::Usage(format!(
                    "{flag} is about data of your own; name its file with --data FILE"
                ))),
            };
        };
        let mut reading = self.reading.clone().unwrap_or_default();
        reading.objective = match reading.objective {
            None if data::predicts_next(&file, &reading) => Some(Objective::Next),
            objective => self.objective_with_causal(objective)?,
        };
        Ok(Some(Source {
            inside: None,
            file,
            test: self.test.clone(),
            folds: self.folds,
            reading,
            tokenizer: self.tokenizer.clone(),
            labels: self.labels.clone(),
            known: None,
        }))
    }

    /// The objective, or the one that `causal` implies where there is none.
    fn objective_with_causal(
        &self,
        objective: Option<Objective>,
    ) -> Result<Option<Objective>, LabError> {
        let wrong = match (objective, self.causal) {
            (None, Some(true)) => return Ok(Some(Objective::Answer)),
            (Some(Objective::Masked), Some(true)) => {
                "masked characters are predicted from both sides, and --causal is for a model that sees one: leave out \
                 one of --causal and --objective masked"
            }
            (Some(Objective::Answer), Some(false)) => {
                "an answer is written by a decoder, and causal = false asks for none: leave out one of causal = false and \
                 --objective answer"
            }
            (Some(Objective::Class | Objective::Number), Some(true)) => {
                "a class or a number is predicted by an encoder, and --causal is for a decoder, which writes answers: leave out one of \
                 --causal and --objective"
            }
            (objective, _) => return Ok(objective),
        };
        Err(LabError::Usage(wrong.into()))
    }

    /// One of the [`PRESETS`].
    ///
    /// # Errors
    ///
    /// [`LabError::Unknown`], which lists the presets.
    pub fn preset(name: &str) -> Result<Self, LabError> {
        match PRESETS.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Self::parse(text),
            None => Err(LabError::unknown(
                "preset",
                name,
                PRESETS.map(|(name, _)| name),
            )),
        }
    }

    /// This plan, which is a preset's, for the tasks that `over` asks for. Its steps, recipe and model were chosen for the
    /// preset's tasks, and are left out where `over` asks for other tasks or for data.
    pub fn for_tasks_of(self, over: &Self) -> Self {
        let same = match (&over.tasks, &self.tasks) {
            (None, _) => true,
            (Some(Names::These(asked)), Some(Names::These(own))) => {
                asked.len() == own.len() && asked.iter().all(|task| own.contains(task))
            }
            _ => false,
        };
        match same && over.data.is_none() {
            true => self,
            false => Self {
                steps: None,
                recipe: None,
                model: None,
                ..self
            },
        }
    }

    /// This plan with every field that `over` sets. Data replaces tasks, and tasks replace data.
    pub fn overridden_by(self, over: Self) -> Self {
        let data_or_tasks = over.data.is_some() || over.tasks.is_some();
        // When a task leaves the plan, so do its steps. Folds are tasks of other names.
        let refolded = over.folds.is_some() || over.data.is_some() && self.folds.is_some();
        let is_causal = over.causal.or(self.causal) == Some(true);
        let stays = |task: &String| match (&over.tasks, &over.data) {
            (Some(Names::These(tasks)), _) => {
                let all = tasks.iter().any(|name| name == ALL) && !data::is_own(task);
                // A decoder's task may be named without `(causal)`.
                let plain = plain_name(task).filter(|_| is_causal);
                all || tasks.iter().any(|name| name == task || plain == Some(name))
            }
            (Some(Names::All(_)), _) => !data::is_own(task),
            (None, Some(_)) => data::is_own(task) && !refolded,
            (None, None) => !(data::is_own(task) && refolded),
        };
        let steps = self.steps.map(|mut steps| {
            if let Steps::ByTask(by_task) = &mut steps {
                by_task.retain(|task, _| stays(task));
            }
            steps
        });
        let mut below = Self { steps, ..self };
        if data_or_tasks {
            // The settings of how a file is read are dropped with the file.
            below = Self {
                tasks: None,
                data: None,
                test: None,
                folds: None,
                tokenizer: None,
                labels: None,
                reading: None,
                ..below
            };
        }
        Self {
            schemes: over.schemes.or(below.schemes),
            tasks: over.tasks.or(below.tasks),
            causal: over.causal.or(below.causal),
            data: over.data.or(below.data),
            test: over.test.or(below.test),
            folds: over.folds.or(below.folds),
            tokenizer: over.tokenizer.or(below.tokenizer),
            labels: over.labels.or(below.labels),
            reading: match (over.reading, below.reading) {
                (Some(over), Some(below)) => Some(below.overridden_by(&over)),
                (over, below) => over.or(below),
            },
            seeds: over.seeds.or(below.seeds),
            until: over.until.or(below.until),
            steps: over.steps.or(below.steps),
            tune: over.tune.or(below.tune),
            device: over.device.or(below.device),
            recipe: over.recipe.or(below.recipe),
            model: over.model.or(below.model),
            test_scalings: over.test_scalings.or(below.test_scalings),
        }
    }
}

#[cfg(test)]
mod tests;
