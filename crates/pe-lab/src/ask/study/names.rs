//! The names of a plan: which tasks, schemes and scalings they stand for, and whether these fit.

use std::collections::BTreeSet;
use std::sync::Arc;

use pe_burn::scaling::Linear;

use crate::ask::model::ModelSpec;
use crate::ask::plan::{All, Names, Steps};
use crate::ask::scaling::TestScaling;
use crate::ask::scheme::Scheme;
use crate::ask::task_settings::text_length;
use crate::ask::tasks::Tasks;
use crate::data::Reading;
use crate::error::LabError;
use crate::task::{Task, text_name};

/// The names of the tasks that are asked for; all of them if none are. Steps given for a task move to its final name.
pub(super) fn task_names(
    asked: Option<Names>,
    is_causal: bool,
    tasks: &Tasks,
    reading: Option<&Reading>,
    steps: &mut Option<Steps>,
) -> Result<Vec<String>, LabError> {
    // For a decoder, `all` means only the tasks that have a decoder's form.
    let all = tasks.names().filter(|name| {
        let causal = || tasks.causal(vec![name.clone()]);
        !is_causal || causal().is_ok()
    });
    let mut names = match asked {
        Some(names) => names.list(all),
        None => all.collect(),
    };
    if tasks.data().is_none() {
        names = with_settings(names, tasks, reading, steps)?;
    }
    if is_causal {
        let causal = tasks.causal(names.clone())?;
        with_names(steps, &names, &causal);
        names = causal;
    }
    unique("task", &names)?;
    Ok(names)
}

/// The names of the schemes that are asked for, in their canonical spelling. `all` means those that fit every task.
pub(super) fn scheme_names(
    asked: Option<Names>,
    tasks: &[String],
    known: &Tasks,
    model: &ModelSpec,
) -> Result<Vec<String>, LabError> {
    let tasks = tasks.iter().map(|name| known.get(name));
    let tasks = tasks.collect::<Result<Vec<_>, LabError>>()?;
    let all = Scheme::names().filter(|name| check_fits(name, &tasks, model).is_ok());
    let schemes = asked.unwrap_or(Names::All(All::All));
    let schemes = schemes.list(all.map(str::to_string));
    let canonical = |name: &String| Ok(Scheme::by_name(name, model, 1)?.name);
    let schemes: Result<Vec<String>, LabError> = schemes.iter().map(canonical).collect();
    let schemes = schemes?;
    unique("scheme", &schemes)?;
    for name in &schemes {
        check_fits(name, &tasks, model)?;
    }
    Ok(schemes)
}

/// Checks that a scheme fits every one of some tasks.
pub(super) fn check_fits(
    scheme: &str,
    tasks: &[Arc<dyn Task>],
    model: &ModelSpec,
) -> Result<(), LabError> {
    let mut each = tasks.iter();
    each.try_for_each(|task| Scheme::check_fits(scheme, task.as_ref(), model))
}

/// Checks that some task is a language model, that some scheme takes scalings, and that no scaling is named twice.
pub(super) fn check_scalings(
    scalings: &[TestScaling],
    names: &[String],
    tasks: &Tasks,
    schemes: &[String],
    model: &ModelSpec,
) -> Result<(), LabError> {
    let is_text = |name: &String| tasks.get(name).is_ok_and(|task| task.language().is_some());
    if !names.iter().any(is_text) {
        return Err(LabError::Usage(format!(
            "--test-scalings is about language models, and none of the tasks {} is one",
            names.join(", ")
        )));
    }
    let texts: Vec<String> = scalings.iter().map(TestScaling::to_string).collect();
    if texts.is_empty() {
        return Ok(());
    }
    let scaled = |name: &String| {
        let scheme = Scheme::by_name(name, model, 1);
        scheme.is_ok_and(|of| of.encoding.with_scaling(Linear::new(2.0).into()).is_some())
    };
    if !schemes.iter().any(scaled) {
        return Err(LabError::Usage(format!(
            "--test-scalings is about rotary positions without a scaling in training, and none of the schemes {} has them",
            schemes.join(", ")
        )));
    }
    unique("scaling", &texts)
}

/// Moves the steps of each task in `names` to the name at the same place in `others`.
fn with_names(steps: &mut Option<Steps>, names: &[String], others: &[String]) {
    if let Some(Steps::ByTask(by_task)) = steps {
        for (name, other) in names
            .iter()
            .zip(others)
            .filter(|(name, other)| name != other)
        {
            let own = by_task.remove(name);
            own.map(|steps| by_task.entry(other.clone()).or_insert(steps));
        }
    }
}

/// The names of the laboratory's tasks in their canonical spelling. A training length that is asked for goes into the name
/// of a text. Steps given for a task move to its new name.
fn with_settings(
    names: Vec<String>,
    tasks: &Tasks,
    reading: Option<&Reading>,
    steps: &mut Option<Steps>,
) -> Result<Vec<String>, LabError> {
    let asked = reading.and_then(|reading| reading.train_length);
    let is_text = |name: &str| text_length(name).is_some();
    if let Some(length) = asked.filter(|_| !names.iter().any(|name| is_text(name))) {
        return Err(LabError::Usage(format!(
            "--train-length {length} is about texts, and none of the tasks {} is one: name `text` with --tasks, or a \
             file with --data",
            names.join(", ")
        )));
    }
    let renamed = |name: String| match asked.filter(|_| is_text(&name)) {
        Some(length) => Ok(text_name(length)),
        None => Ok(tasks.get(&name)?.name().to_string()),
    };
    if let Some(Steps::ByTask(by_task)) = steps {
        let own = std::mem::take(by_task).into_iter();
        let own = own.map(|(name, steps)| (renamed(name.clone()).unwrap_or(name), steps));
        *by_task = own.collect();
    }
    let names: Result<Vec<String>, LabError> = names.into_iter().map(renamed).collect();
    let mut names = names?;
    // A study that has grown may have texts of several training lengths; one length that is asked for makes them one task.
    let mut texts = 0;
    names.retain(|name| {
        texts += usize::from(is_text(name));
        asked.is_none() || !is_text(name) || texts == 1
    });
    Ok(names)
}

/// Checks that a list is not empty and that nothing is in it twice.
pub(super) fn unique<T: Ord + ToString>(what: &str, list: &[T]) -> Result<(), LabError> {
    if list.is_empty() {
        return Err(LabError::Usage(format!("name at least one {what}")));
    }
    let mut seen = BTreeSet::new();
    match list.iter().find(|item| !seen.insert(*item)) {
        Some(twice) => {
            let twice = twice.to_string();
            Err(LabError::Usage(format!(
                "the {what} `{twice}` is named twice"
            )))
        }
        None => Ok(()),
    }
}
