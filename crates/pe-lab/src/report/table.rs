//! The report in a terminal.

use std::collections::BTreeMap;

use super::columns::{Columns, align, wrapped};
use super::comparison::Part;
use super::costs::{CostRow, CostSummary};
use super::summary::{
    Aggregate, Bits, Group, LanguageRow, LanguageSummary, SchemeOverall, SchemeSummary, StepsTaken,
    Summary, TaskSummary,
};
use super::words::{counted, fixed, seeds_text};
use crate::ask::steps_in_words;
use crate::stats::Interval;
use crate::task::Measure;

/// Stands for a number that does not exist.
pub(super) const DASH: &str = "-";

/// Renders the whole summary as plain text, without colours.
pub fn render(summary: &Summary) -> String {
    let summary = &summary.by_score();
    let verdict = summary.verdict.iter().map(|line| format!("  {line}\n"));
    let overall = (summary.tasks.len() > 1).then(|| render_overall(summary));
    let tasks = summary.tasks.iter().map(render_task);
    let costs = summary.costs.iter().filter(|costs| costs.quiet);
    let parts = overall.into_iter().chain(tasks);
    let parts = parts.chain(costs.map(render_costs));
    let parts: String = parts.map(|part| format!("\n{part}")).collect();
    wrapped(&format!(
        "Verdict\n{}{parts}\n",
        verdict.collect::<String>()
    ))
}

fn render_overall(summary: &Summary) -> String {
    let two_parts = summary.schemes.iter().any(|s| s.beyond.is_some());
    let ran_here = summary.study().is_some();
    let leaders = summary.leaders();
    let [_, beyond] = Part::names(summary.resolutions());
    let parts = Part::ALL.into_iter().zip(["inside", beyond]);
    let mut columns = Columns::of("scheme", |of: &SchemeOverall| marked(&of.scheme, &leaders));
    for (part, name) in parts.take(1 + usize::from(two_parts)) {
        columns.add(name, move |of| number(of.part(part).map(|of| of.mean), 2));
        columns.add("95 %", move |of| {
            interval(of.part(part).and_then(|of| of.interval))
        });
        columns.add("IQM", move |of| number(of.part(part).map(|of| of.iqm), 2));
    }
    if two_parts && ran_here && !summary.resolutions() {
        let mean = |of: &Option<Aggregate>| number(of.as_ref().map(|of| of.mean), 2);
        columns.add("to 1.5x", move |of| mean(&of.near));
        columns.add("further", move |of| mean(&of.far));
    }
    if ran_here {
        columns.add("failed", |of| of.failed.to_string());
        columns.add("ms/step", |of| number(of.ms_per_step, 1));
    }
    let all_shares = summary.tasks.iter().all(|task| task.measure.is_accuracy());
    let scores = match (ran_here, all_shares) {
        (false, _) => "scores".to_string(),
        (true, shares) => format!(
            "normalized scores (0 at the floor, 1 for {}; a failed training scores the floor, or the lowest score on its task)",
            if shares {
                "all correct"
            } else {
                "a perfect score"
            }
        ),
    };
    format!(
        "all tasks: mean of the {scores}, its 95 % interval over seeds, and the interquartile mean\n{}{}",
        align(&columns.rows(&summary.schemes)),
        mark_about(&leaders, &summary.leads_in())
    )
}

fn render_task(task: &TaskSummary) -> String {
    let leaders = task.leaders();
    let columns = columns(task, &leaders);
    let mut rows = columns.rows(&task.schemes);
    rows.extend(task.has_floor().then(|| columns.floor()));
    let mut out = heading(task);
    if task.measure != Measure::Accuracy {
        out.push_str(&format!("  scores: {}\n", task.measure.axis()));
    }
    out.push_str(&align(&rows));
    out.push_str(&mark_about(&leaders, &task.leads_in()));
    if task.has_floor() {
        out.push_str(&format!(
            "  floor: {}; norm.: 0 at the floor, 1 for {}\n",
            task.floor_about,
            task.measure.perfect()
        ));
    }
    if let Some(language) = &task.language {
        out.push_str(&render_language(task, language));
    }
    out.extend(task.schemes.iter().map(remarks));
    out
}

/// The columns of a task: for each part the mean, the score of every seed, the normalized mean if there is a floor, and
/// its interval.
fn columns<'a>(task: &TaskSummary, leaders: &'a [&str]) -> Columns<'a, SchemeSummary> {
    let mut columns = Columns::of("scheme", |of: &SchemeSummary| marked(&of.scheme, leaders));
    columns.at_floor("(floor)");
    let [own, others] = task.parts();
    let names = match task.has(Part::Beyond) {
        true => vec![own.to_string(), others.to_string()],
        false => vec![task.measure.name()],
    };
    for (part, name) in Part::ALL.into_iter().zip(names) {
        let measure = task.measure.clone();
        columns.add(name, move |of| {
            score(&measure, of.part(part).map(|of| of.mean))
        });
        columns.at_floor(score(&task.measure, task.floors[part as usize]));
        columns.add("each seed", move |of| {
            of.part(part).map_or(DASH.into(), each_seed)
        });
        if task.has_floor() {
            columns.add("norm.", move |of| {
                number(of.part(part).map(|of| of.normalized), 2)
            });
            columns.at_floor("0.00");
        }
        columns.add("95 %", move |of| {
            interval(of.part(part).and_then(|of| of.interval))
        });
    }
    if task.auto_from.is_some() {
        columns.add("steps", |of| of.steps.map_or(DASH.into(), steps_taken));
    }
    if task.steps > 0 {
        let whole = |of: Option<usize>| of.map_or(DASH.into(), |n| n.to_string());
        columns.add("parameters", move |of| whole(of.parameters));
        columns.add("of positions", move |of| whole(of.position_parameters));
        columns.add("ms/step", |of| number(of.ms_per_step, 1));
    }
    columns
}

/// What a task is, and on what it is tested.
fn heading(task: &TaskSummary) -> String {
    let [own, others] = task.lengths.each_ref().map(|lengths| {
        let lengths = lengths.iter().map(usize::to_string);
        lengths.collect::<Vec<_>>().join(", ")
    });
    let upto = if task.mixes_lengths { "up to " } else { "" };
    let steps = steps_in_words(task.auto_from, task.steps);
    let mut out = match task.auto_from {
        None if task.steps == 0 => format!("{}\n", task.title),
        None => format!("{} ({}; {steps})\n", task.title, task.about),
        Some(_) => format!(
            "{} ({}; {steps}, until it has converged)\n",
            task.title, task.about
        ),
    };
    out += &match (
        task.has(Part::Beyond) && task.has_lengths(),
        task.resolutions,
    ) {
        (false, _) => String::new(),
        (true, true) => format!(
            "  images of the trained size: {own} patches; of other sizes: {others} patches\n"
        ),
        (true, false) if own.is_empty() => format!("  beyond training: lengths {upto}{others}\n"),
        (true, false) => {
            format!("  inside training: lengths {upto}{own}; beyond: lengths {upto}{others}\n")
        }
    };
    out + &match task.samples {
        [0, 0] => String::new(),
        [inside, 0] => format!("  tested on {}\n", counted(inside, "sequence")),
        [inside, beyond] if task.resolutions => {
            let images = counted(inside, "image");
            format!("  tested on {images}, and on {beyond} at other sizes\n")
        }
        [inside, beyond] => {
            let sequences = counted(inside, "sequence");
            format!("  tested on {sequences} inside and {beyond} beyond\n")
        }
    }
}

/// Remarks on the seeds of a scheme that did not solve the task, had not converged, failed or have no result.
fn remarks(scheme: &SchemeSummary) -> String {
    let mut out = String::new();
    let mut remark = |what: &str, seeds: &[u64], reason: &str| {
        if !seeds.is_empty() {
            let seeds = seeds_text(seeds);
            out.push_str(&format!(
                "  ! {} {what} at {seeds}{reason}\n",
                scheme.scheme
            ));
        }
    };
    let unsolved = "did not solve the task inside the training lengths";
    remark(unsolved, &scheme.unsolved_inside, "");
    remark("had not converged", &scheme.not_converged, "");
    // One line per reason, not per seed: in a study that has just started there are many seeds.
    for (what, runs) in [("failed", &scheme.failed), ("has no result", &scheme.lost)] {
        let mut reasons: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (seed, reason) in runs {
            reasons.entry(reason).or_default().push(*seed);
        }
        for (reason, seeds) in reasons {
            remark(what, &seeds, &format!(": {reason}"));
        }
    }
    out
}

/// Bits by length, and the perplexity in brackets.
fn render_language(task: &TaskSummary, language: &LanguageSummary) -> String {
    let cell = |of: Option<&Bits>| match of {
        Some(of) => format!("{} ({})", fixed(of.bits, 3), fixed(of.perplexity, 2)),
        None => DASH.into(),
    };
    let mut columns = Columns::of("scheme", |of: &LanguageRow| of.name.clone());
    for (nth, length) in language.lengths.iter().enumerate() {
        columns.add(format!("at {length}"), move |of| cell(of.lengths.get(nth)));
    }
    columns.add("sliding", move |of| cell(of.sliding.as_ref()));
    format!(
        "  {} by the length of the window, and perplexity in brackets; scored on the last {} tokens of each \
         window, the same at every length; sliding: a window of {}, moved by {}\n{}",
        task.measure.name(),
        language.scored,
        language.lengths.first().copied().unwrap_or(0),
        language.stride,
        align(&columns.rows(&language.rows))
    )
}

fn render_costs(costs: &CostSummary) -> String {
    let mut columns = Columns::of("scheme", |of: &CostRow| of.scheme.clone());
    columns.add("tokens", |of| of.tokens.to_string());
    columns.add("rows", |of| of.batch_size.to_string());
    columns.add("ms/step", |of| fixed(of.step_ms, 2));
    columns.add("trained/s", |of| fixed(of.trained_per_second, 0));
    columns.add("prefill/s", |of| fixed(of.prefilled_per_second, 0));
    let mut decoding = "";
    if costs.decodes {
        columns.add("decoded/s", |of| number(of.decoded_per_second, 0));
        decoding = " and of decoding from a cache";
    }
    columns.add("MiB", |of| number(of.peak_mib, 0));
    format!(
        "costs on {} on {} ({}, {}), one scheme at a time: sequences (rows) of so many tokens in a training step, its \
         milliseconds, tokens per second of training, of a forward pass over one sequence{decoding}, and the most memory of the \
         program\n{}",
        costs.task,
        costs.device,
        costs.machine.computer(),
        counted(costs.machine.cores, "thread"),
        align(&columns.rows(&costs.rows))
    )
}

/// The name of a scheme, with a mark if it leads.
fn marked(scheme: &str, leaders: &[&str]) -> String {
    match leaders.contains(&scheme) {
        true => format!("{scheme} *"),
        false => scheme.to_string(),
    }
}

/// What the mark means, if a scheme has it.
fn mark_about(leaders: &[&str], part: &str) -> String {
    match leaders {
        [] => String::new(),
        _ => format!("  *: the highest{part}; the verdict says how sure that is\n"),
    }
}

/// The mean, and the range in brackets if there is one.
fn steps_taken(steps: StepsTaken) -> String {
    let mean = fixed(steps.mean, 0);
    match steps.least == steps.most {
        true => mean,
        false => format!("{mean} ({} to {})", steps.least, steps.most),
    }
}

/// The mean score of every seed.
fn each_seed(group: &Group) -> String {
    let seeds = group.seeds.iter().map(|seed| match seed.failed {
        true => "failed".to_string(),
        false => seed.score.measure().shown(seed.score.value()),
    });
    seeds.collect::<Vec<_>>().join(" ")
}

/// A score, or a dash where there is none.
pub(super) fn score(measure: &Measure, value: Option<f64>) -> String {
    value.map_or(DASH.into(), |value| measure.shown(value))
}

/// A number, or a dash where there is none.
pub(super) fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or(DASH.into(), |value| fixed(value, decimals))
}

pub(super) fn interval(interval: Option<Interval>) -> String {
    interval.map_or(DASH.into(), |i| {
        format!("{}..{}", fixed(i.low, 2), fixed(i.high, 2))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::columns::WIDTH;
    use crate::report::synthetic::Synthetic;

    #[test]
    fn every_line_of_a_report_fits_into_a_terminal() {
        let text = render(&Synthetic::large(12).judged());
        let long: Vec<&str> = text.lines().filter(|l| l.chars().count() > WIDTH).collect();
        assert!(long.is_empty(), "{long:#?}");
    }
}
