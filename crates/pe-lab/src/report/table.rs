//! The report in a terminal.

use super::columns::{align, wrapped};
use super::comparison::Part;
use super::costs::CostSummary;
use super::language::{Bits, LanguageSummary};
use super::number::fixed;
use super::summary::{Aggregate, Group, SchemeSummary, StepsTaken, Summary, TaskSummary};
use super::words::seeds_text;
use crate::ask::steps_in_words;
use crate::stats::Interval;
use crate::task::Measure;

/// Stands for a number that does not exist.
pub(super) const DASH: &str = "-";

/// Renders the whole summary as plain text, without colours.
pub fn render(summary: &Summary) -> String {
    let summary = &summary.by_score();
    let mut out = String::from("Verdict\n");
    for line in &summary.verdict {
        out.push_str(&format!("  {line}\n"));
    }
    out.push('\n');
    if summary.tasks.len() > 1 {
        out.push_str(&render_overall(summary));
        out.push('\n');
    }
    for task in &summary.tasks {
        out.push_str(&render_task(task));
        out.push('\n');
    }
    if let Some(costs) = summary.costs.as_ref().filter(|costs| costs.quiet) {
        out.push_str(&render_costs(costs));
        out.push('\n');
    }
    wrapped(&out)
}

fn render_overall(summary: &Summary) -> String {
    let two_parts = summary.schemes.iter().any(|s| s.beyond.is_some());
    let mut header = vec!["scheme", "inside", "95 %", "IQM"];
    if two_parts {
        let beyond = match summary.resolutions() {
            true => "other sizes",
            false => "beyond",
        };
        header.extend([beyond, "95 %", "IQM"]);
    }
    let ran_here = summary.study().is_some();
    let by_distance = two_parts && ran_here && !summary.resolutions();
    if by_distance {
        header.extend(["to 1.5x", "further"]);
    }
    if ran_here {
        header.extend(["failed", "ms/step"]);
    }
    let mut rows = vec![header.into_iter().map(String::from).collect::<Vec<_>>()];
    let leaders = summary.leaders();
    for scheme in &summary.schemes {
        let mut row = vec![marked(&scheme.scheme, &leaders)];
        for part in Part::ALL.into_iter().take(1 + usize::from(two_parts)) {
            row.extend(match scheme.part(part) {
                Some(score) => [
                    fixed(score.mean, 2),
                    interval(score.interval),
                    fixed(score.iqm, 2),
                ],
                None => [DASH; 3].map(String::from),
            });
        }
        if by_distance {
            let mean = |of: &Option<Aggregate>| number(of.as_ref().map(|score| score.mean), 2);
            row.extend([mean(&scheme.near), mean(&scheme.far)]);
        }
        if ran_here {
            row.extend([scheme.failed.to_string(), number(scheme.ms_per_step, 1)]);
        }
        rows.push(row);
    }
    let all_shares = summary.tasks.iter().all(|task| task.measure.is_accuracy());
    let scores = match (ran_here, all_shares) {
        (false, _) => "scores".to_string(),
        (true, shares) => format!(
            "normalized scores (0 at the floor, 1 for {}; a failed training scores the floor)",
            if shares {
                "all correct"
            } else {
                "a perfect score"
            }
        ),
    };
    format!(
        "all tasks: mean of the {scores}, its 95 % interval over seeds, and the interquartile mean\n{}{}",
        align(&rows),
        mark_about(&leaders)
    )
}

fn render_task(task: &TaskSummary) -> String {
    let two_parts = task.has(Part::Beyond);
    let mut out = heading(task);
    let measure = task.measure.name();
    let [own, others] = task.parts();
    let first = if two_parts { own } else { &measure };
    if task.measure != Measure::Accuracy {
        out.push_str(&format!("  scores: {}\n", task.measure.axis()));
    }
    let mut header = vec!["scheme"];
    for name in [first, others].into_iter().take(1 + usize::from(two_parts)) {
        header.extend([name, "each seed"]);
        header.extend(task.has_floor().then_some("norm."));
        header.push("95 %");
    }
    if task.auto_from.is_some() {
        header.push("steps");
    }
    if task.steps > 0 {
        header.extend(["parameters", "of positions", "ms/step"]);
    }
    let mut rows = vec![header.into_iter().map(String::from).collect::<Vec<_>>()];
    let leaders = task.leaders();
    rows.extend(
        task.schemes
            .iter()
            .map(|scheme| scheme_row(task, scheme, two_parts, &leaders)),
    );
    if task.has_floor() {
        rows.push(floor_row(task, two_parts));
    }
    out.push_str(&align(&rows));
    out.push_str(mark_about(&leaders));
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
    task.schemes
        .iter()
        .for_each(|scheme| out.push_str(&remarks(scheme)));
    out
}

/// What a task is, and on what it is tested.
fn heading(task: &TaskSummary) -> String {
    let list = |lengths: &[usize]| {
        lengths
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
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
    if task.has(Part::Beyond) && task.has_lengths() {
        let [own, others] = task.lengths.each_ref().map(|lengths| list(lengths));
        out.push_str(&match task.resolutions {
            true => format!(
                "  images of the trained size: {own} patches; of other sizes: {others} patches\n"
            ),
            false => {
                format!("  inside training: lengths {upto}{own}; beyond: lengths {upto}{others}\n")
            }
        });
    }
    match task.samples {
        [0, 0] => {}
        [inside, 0] => out.push_str(&format!("  tested on {inside} sequences\n")),
        [inside, beyond] if task.resolutions => out.push_str(&format!(
            "  tested on {inside} images, and on {beyond} at other sizes\n"
        )),
        [inside, beyond] => out.push_str(&format!(
            "  tested on {inside} sequences inside and {beyond} beyond\n"
        )),
    }
    out
}

/// What a scheme did not reach.
fn remarks(scheme: &SchemeSummary) -> String {
    let mut out = String::new();
    if !scheme.unsolved_inside.is_empty() {
        out.push_str(&format!(
            "  ! {} did not solve the task inside the training lengths at {}\n",
            scheme.scheme,
            seeds_text(&scheme.unsolved_inside)
        ));
    }
    if !scheme.not_converged.is_empty() {
        out.push_str(&format!(
            "  ! {} had not converged at {}\n",
            scheme.scheme,
            seeds_text(&scheme.not_converged)
        ));
    }
    // One line per reason, not per seed: in a study that has just started there are many seeds.
    for (what, runs) in [("failed", &scheme.failed), ("has no result", &scheme.lost)] {
        let mut reasons: Vec<&str> = runs.iter().map(|of| of.1.as_str()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        for reason in reasons {
            let of_reason = runs.iter().filter(|of| of.1 == reason);
            let seeds: Vec<u64> = of_reason.map(|of| of.0).collect();
            out.push_str(&format!(
                "  ! {} {what} at {}: {reason}\n",
                scheme.scheme,
                seeds_text(&seeds)
            ));
        }
    }
    out
}

/// Bits by length, and the perplexity in brackets.
fn render_language(task: &TaskSummary, language: &LanguageSummary) -> String {
    let mut header = vec!["scheme".to_string()];
    header.extend(language.lengths.iter().map(|length| format!("at {length}")));
    header.push("sliding".into());
    let cell = |of: Option<&Bits>| match of {
        Some(of) => format!("{} ({})", fixed(of.bits, 3), fixed(of.perplexity, 2)),
        None => DASH.into(),
    };
    let rows = language.rows.iter().map(|row| {
        let lengths = (0..language.lengths.len()).map(|nth| cell(row.lengths.get(nth)));
        let mut cells = vec![row.name.clone()];
        cells.extend(lengths);
        cells.push(cell(row.sliding.as_ref()));
        cells
    });
    let rows: Vec<Vec<String>> = [header].into_iter().chain(rows).collect();
    format!(
        "  {} by the length of the window, and perplexity in brackets; scored on the last {} tokens of each \
         window, the same at every length; sliding: a window of {}, moved by {}\n{}",
        task.measure.name(),
        language.scored,
        language.lengths.first().copied().unwrap_or(0),
        language.stride,
        align(&rows)
    )
}

fn render_costs(costs: &CostSummary) -> String {
    let mut header = vec![
        "scheme",
        "tokens",
        "rows",
        "ms/step",
        "trained/s",
        "prefill/s",
    ];
    if costs.decodes {
        header.push("decoded/s");
    }
    header.push("MiB");
    let mut rows = vec![header.into_iter().map(String::from).collect::<Vec<_>>()];
    for row in &costs.rows {
        let mut cells = vec![
            row.scheme.clone(),
            row.tokens.to_string(),
            row.batch_size.to_string(),
            fixed(row.step_ms, 2),
            fixed(row.trained_per_second, 0),
            fixed(row.prefilled_per_second, 0),
        ];
        if costs.decodes {
            cells.push(number(row.decoded_per_second, 0));
        }
        cells.push(number(row.peak_mib, 0));
        rows.push(cells);
    }
    format!(
        "costs on {} on {} ({}, {} threads), one scheme at a time: sequences (rows) of so many tokens in a training step, its \
         milliseconds, tokens per second of training, of a forward pass over one sequence{}, and the most memory of the program\n{}",
        costs.task,
        costs.device,
        costs.machine.computer(),
        costs.machine.cores,
        if costs.decodes {
            " and of decoding from a cache"
        } else {
            ""
        },
        align(&rows)
    )
}

fn scheme_row(
    task: &TaskSummary,
    scheme: &SchemeSummary,
    two_parts: bool,
    leaders: &[&str],
) -> Vec<String> {
    let mut row = vec![marked(&scheme.scheme, leaders)];
    for group in [&scheme.inside, &scheme.beyond]
        .into_iter()
        .take(1 + usize::from(two_parts))
    {
        row.extend(group_cells(group.as_ref(), task.has_floor()));
    }
    let dash = || DASH.to_string();
    if task.auto_from.is_some() {
        row.push(scheme.steps.map_or_else(dash, steps_taken));
    }
    if task.steps == 0 {
        return row;
    }
    row.push(scheme.parameters.map_or_else(dash, |n| n.to_string()));
    row.push(
        scheme
            .position_parameters
            .map_or_else(dash, |n| n.to_string()),
    );
    row.push(number(scheme.ms_per_step, 1));
    row
}

/// The name of a scheme, with a mark if it leads.
fn marked(scheme: &str, leaders: &[&str]) -> String {
    match leaders.contains(&scheme) {
        true => format!("{scheme} *"),
        false => scheme.to_string(),
    }
}

/// What the mark means, if a scheme has it.
fn mark_about(leaders: &[&str]) -> &'static str {
    match leaders {
        [] => "",
        _ => "  *: the highest; the verdict says how sure that is\n",
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

/// The mean, that of every seed, the normalized mean if there is a floor, and its interval.
fn group_cells(group: Option<&Group>, normalizes: bool) -> Vec<String> {
    let Some(group) = group else {
        return vec![DASH.to_string(); 3 + usize::from(normalizes)];
    };
    let seeds = group.seeds.iter().map(|seed| match seed.failed {
        true => "failed".to_string(),
        false => fixed(seed.score.value(), 3),
    });
    let seeds: Vec<String> = seeds.collect();
    let mut cells = vec![fixed(group.mean, 3), seeds.join(" ")];
    cells.extend(normalizes.then(|| fixed(group.normalized, 2)));
    cells.push(interval(group.interval));
    cells
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

fn floor_row(task: &TaskSummary, two_parts: bool) -> Vec<String> {
    let mut row = vec![
        "(floor)".to_string(),
        number(task.floors[0], 3),
        String::new(),
        "0.00".into(),
        String::new(),
    ];
    if two_parts {
        row.extend([
            number(task.floors[1], 3),
            String::new(),
            "0.00".into(),
            String::new(),
        ]);
    }
    if task.auto_from.is_some() {
        row.push(String::new());
    }
    row.extend([String::new(), String::new(), String::new()]);
    row
}

#[cfg(test)]
mod tests;
