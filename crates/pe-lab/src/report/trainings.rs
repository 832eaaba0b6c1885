//! What the verdict says of the trainings: which had not converged, failed or did not learn, and how their learning
//! rates were chosen.

use super::data::Origin;
use super::summary::{ABOVE_THE_FLOOR, SchemeSummary, Summary, TaskSummary};
use super::words::{counted, fixed, list, seeds_text, spoken};
use crate::ask::{ChosenRate, StudySpec, Tuned, rates_in_words};
use crate::grouped::agreeing;
use crate::learn::STILL_FALLING;

/// What is to be known before the scores: for how long was trained, and was that enough?
pub fn how_long(summary: &Summary) -> Vec<String> {
    // It is not known from scores alone.
    if summary.study().is_none() {
        return Vec::new();
    }
    let said = [too_short, not_converged, until_converged];
    said.iter().filter_map(|of| of(summary)).collect()
}

/// Which trainings failed, are missing, or did not learn their task.
pub fn without_success(summary: &Summary) -> Vec<String> {
    let said = [failed, left_out, unsolved];
    said.iter().filter_map(|of| of(summary)).collect()
}

/// Which learning rates were tried, or that none were.
pub fn tuned(study: &StudySpec) -> String {
    match &study.tune {
        None => format!(
            "No scheme was tuned: all were trained with the learning rate {}.",
            rates_in_words(&[study.recipe.learning_rate])
        ),
        Some(tune) => format!(
            "The learning rate of every scheme was chosen for each task among {} ({}) by the loss on held-out \
             training examples at seed {}, which is not reported.{}{}",
            tune.rates.len(),
            rates_in_words(&tune.rates),
            tune.seed,
            further(tune),
            at_an_end(tune)
        ),
    }
}

/// What was tried after the first rates: rates beyond them, and further seeds.
fn further(tune: &Tuned) -> String {
    let mut said = String::new();
    if tune.beyond > 0 {
        said += &format!(
            " Where the lowest or the highest of them was best, up to {} beyond it were tried.",
            tune.beyond
        );
    }
    if !tune.again.is_empty() {
        let seeds: Vec<String> = tune.again.iter().map(u64::to_string).collect();
        said += &format!(
            " The two best were trained again at seeds {}, and the one with the lower mean loss was taken.",
            list(&seeds)
        );
    }
    said
}

/// For which schemes and tasks the lowest or the highest rate of all that were tried was chosen.
fn at_an_end(tune: &Tuned) -> String {
    let is_end = |of: &&ChosenRate| {
        let further = of.further.iter().map(|of| of.rate);
        let tried: Vec<f64> = tune.rates.iter().copied().chain(further).collect();
        tried.iter().all(|rate| *rate >= of.rate) || tried.iter().all(|rate| *rate <= of.rate)
    };
    let chosen = tune
        .chosen
        .iter()
        .filter(|of| of.is_trained() && is_end(of));
    let names: Vec<String> = chosen
        .map(|of| format!("{} on {}", spoken(&of.scheme), of.task))
        .collect();
    let which = match names.len() {
        0 => return String::new(),
        1..=3 => list(&names),
        count => format!("{count} of {} choices", tune.chosen.len()),
    };
    format!(
        " For {which} the lowest or the highest of all was chosen: a rate beyond it may be better."
    )
}

/// Whether every training is too short to say anything of what a scheme can do.
pub fn all_too_short(summary: &Summary) -> bool {
    count_too_short(summary) == summary.finished && summary.finished > 0
}

fn count_too_short(summary: &Summary) -> usize {
    let of_tasks = summary.tasks.iter().flat_map(|task| &task.schemes);
    of_tasks.map(|scheme| scheme.too_short.len()).sum()
}

/// The trainings that are too short to say anything of what a scheme can do.
fn too_short(summary: &Summary) -> Option<String> {
    let which = runs(summary, |scheme| scheme.too_short.clone());
    let count = count_too_short(summary);
    // If all are, the answer says so already, and they are not listed.
    let which = match all_too_short(summary) {
        true => "Every training".to_string(),
        false => format!("Too short to tell: {}", list(&which)),
    };
    (count > 0).then(|| {
        format!(
            "{which} ended within {}, the warm-up of a longer training, or before its loss was \
             measured often enough to say whether it had converged. Such scores tell how a training begins, and no more.",
            counted(summary.study().map_or(0, |study| study.recipe.warmup_steps), "step")
        )
    })
}

/// Whether a study ranks how fast schemes learn: see [`not_converged`].
pub fn ranks_speed(summary: &Summary) -> bool {
    !still_falling(summary).is_empty()
}

fn fixed_steps(task: &&TaskSummary) -> bool {
    task.auto_from.is_none()
}

/// The schemes whose loss still fell at the end in more than half of their runs on a task that was trained for
/// a number of steps.
fn still_falling(summary: &Summary) -> Vec<String> {
    runs_on(summary, fixed_steps, |scheme| {
        let falling = &scheme.not_converged;
        match 2 * falling.len() > finished(scheme) {
            true => falling.clone(),
            false => Vec::new(),
        }
    })
}

/// How many trainings of a scheme on a task have scores of their own.
fn finished(scheme: &SchemeSummary) -> usize {
    let tested = scheme.inside.as_ref().or(scheme.beyond.as_ref());
    let seeds = tested.iter().flat_map(|group| &group.seeds);
    seeds.filter(|seed| !seed.failed).count()
}

/// Whether a training of a scheme on a task was long enough to tell something.
fn is_told(scheme: &SchemeSummary) -> bool {
    finished(scheme) > scheme.too_short.len()
}

/// Which trainings had not converged, in a sentence: the study then ranks speed.
fn not_converged(summary: &Summary) -> Option<String> {
    let which = still_falling(summary);
    let tasks: Vec<&TaskSummary> = summary.tasks.iter().filter(fixed_steps).collect();
    let first = tasks.first()?;
    let steps = match tasks.iter().all(|task| task.steps == first.steps) {
        true => format!("at {}", counted(first.steps, "step")),
        false => "at these numbers of steps".into(),
    };
    let this = match tasks.len() == summary.tasks.len() {
        true => "This".to_string(),
        false => format!("On {}, this", titles(&tasks)),
    };
    (!which.is_empty()).then(|| {
        format!(
            "{this} ranks how fast schemes learn, not what they reach: {} had not converged {steps} (the held-out \
             loss still fell by more than {} % of its first value over the last quarter of the training).",
            list(&which),
            fixed(STILL_FALLING * 100.0, 0)
        )
    })
}

fn titles(tasks: &[&TaskSummary]) -> String {
    let titles: Vec<&str> = tasks.iter().map(|task| task.title.as_str()).collect();
    list(&titles)
}

/// What a study ranks whose trainings went on until they had converged, and which of them met the limit before.
fn until_converged(summary: &Summary) -> Option<String> {
    let auto = |task: &&TaskSummary| task.auto_from.is_some() && task.schemes.iter().any(is_told);
    let tasks: Vec<&TaskSummary> = summary.tasks.iter().filter(auto).collect();
    let first = tasks.first()?;
    let trainings = match tasks.len() == summary.tasks.len() {
        true => "Trainings".to_string(),
        false => format!("On {}, trainings", titles(&tasks)),
    };
    let limits = match tasks.iter().all(|task| task.steps == first.steps) {
        true => format!("the limit of {}", counted(first.steps, "step")),
        false => "the limit of their task".into(),
    };
    let which = runs_on(summary, auto, |scheme| scheme.not_converged.clone());
    let at_floor = runs_on(summary, auto, |scheme| {
        let seeds = scheme.inside.iter().flat_map(|group| &group.seeds);
        let low = seeds.filter(|seed| !seed.failed && seed.normalized < ABOVE_THE_FLOOR);
        let low = low.map(|seed| seed.seed);
        low.filter(|seed| !scheme.not_converged.contains(seed))
            .collect()
    });
    let at_floor = match at_floor.is_empty() {
        true => String::new(),
        false => format!(
            " Still at the floor: {}. A flat loss does not tell whether more steps would change that.",
            list(&at_floor)
        ),
    };
    let said = match which.is_empty() {
        true => format!(
            "{trainings} went on until they had converged, within {limits}: this ranks what the schemes reach, \
             not how fast they learn."
        ),
        false => format!(
            "{trainings} went on until they had converged, or to {limits}. Met the limit without converging: {}. \
             Such scores tell how fast a scheme learns; the others tell what it reaches.",
            list(&which)
        ),
    };
    Some(said + &at_floor)
}

fn failed(summary: &Summary) -> Option<String> {
    let count: usize = summary.schemes.iter().map(|scheme| scheme.failed).sum();
    let which = runs(summary, |scheme| {
        scheme.failed.iter().map(|of| of.0).collect()
    });
    (count > 0).then(|| {
        format!(
            "{count} of {} trainings failed: {}. A failed training scores the floor, or the lowest \
             score of any scheme on the task if that is below it.",
            summary.trials,
            list(&which)
        )
    })
}

/// The trials without a result.
fn left_out(summary: &Summary) -> Option<String> {
    let lost: usize = summary.schemes.iter().map(|scheme| scheme.lost).sum();
    let have = |n: usize| agreeing(n, "has", "have");
    let mut parts = Vec::new();
    if summary.not_run > 0 {
        let n = summary.not_run;
        parts.push(match &summary.origin {
            Origin::Study(_) => format!(
                "{n} of {} trials {} not been run yet",
                summary.trials,
                have(n)
            ),
            Origin::Results(file) => format!(
                "{n} of {} combinations of scheme, task and seed {} no score in {}",
                summary.trials,
                have(n),
                file.file
            ),
        });
    }
    if lost > 0 {
        let which = runs(summary, |scheme| {
            scheme.lost.iter().map(|of| of.0).collect()
        });
        parts.push(format!(
            "{lost} of {} trials ended without a result: {}",
            summary.trials,
            list(&which)
        ));
    }
    (!parts.is_empty()).then(|| {
        format!(
            "{}. A seed of a scheme counts only if it has a score on every task.",
            parts.join("; ")
        )
    })
}

/// The runs that did not even solve the task inside the training lengths.
fn unsolved(summary: &Summary) -> Option<String> {
    let which = runs(summary, |scheme| scheme.unsolved_inside.clone());
    (!which.is_empty()).then(|| {
        format!(
            "Not solved even inside the training lengths: {}. The scores of these runs beyond say nothing \
             about the encoding.",
            list(&which)
        )
    })
}

/// Runs in words, such as `none on reverse (seed 2)`: those at the seeds that `pick` names.
fn runs(summary: &Summary, pick: impl Fn(&SchemeSummary) -> Vec<u64>) -> Vec<String> {
    runs_on(summary, |_| true, pick)
}

/// [`runs`] on some of the tasks.
fn runs_on(
    summary: &Summary,
    on: impl Fn(&&TaskSummary) -> bool,
    pick: impl Fn(&SchemeSummary) -> Vec<u64>,
) -> Vec<String> {
    let of_task = |task: &TaskSummary| {
        let named = task.schemes.iter().filter_map(|scheme| {
            let seeds = pick(scheme);
            let which = match seeds.len() {
                0 => return None,
                n if n == summary.seeds.len() => "every seed".into(),
                _ => seeds_text(&seeds),
            };
            Some(format!(
                "{} on {} ({which})",
                spoken(&scheme.scheme),
                task.title
            ))
        });
        named.collect::<Vec<_>>()
    };
    summary.tasks.iter().filter(on).flat_map(of_task).collect()
}
