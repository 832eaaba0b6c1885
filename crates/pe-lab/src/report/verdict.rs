//! The verdict: sentences that say what the numbers show, and nothing beyond that. The terminal, the page and
//! `summary.json` all take them from here.

use super::comparison::{Comparison, Headline, Part};
use super::data::file_title;
use super::number::fixed;
use super::summary::{SchemeOverall, SchemeSummary, Summary, TaskSummary, least_to_lead};
use crate::ask::{Tuned, in_words};
use crate::learn::STILL_FALLING;
use crate::stats::{Finding, Interval, OtherRows};
use crate::task::TestRows;

/// The loss of a scheme in its own unit, where the headline is about one task that is scored by a loss.
fn loss(summary: &Summary, headline: &Headline, scheme: &str) -> String {
    let of_task = || {
        let [only] = &headline.tasks[..] else {
            return None;
        };
        let task = summary.tasks.iter().find(|task| task.task == *only)?;
        let group = task.scheme(scheme)?.part(headline.part)?;
        let name = task.measure.name();
        (!task.measure.is_accuracy()).then(|| format!(", {} {name}", fixed(group.mean, 2)))
    };
    of_task().unwrap_or_default()
}

/// A normalized score below this counts as not above the floor.
const ABOVE_THE_FLOOR: f64 = 0.05;

/// The tasks of a headline.
fn tasks_of<'a>(
    summary: &'a Summary,
    headline: &Headline,
) -> impl Iterator<Item = &'a TaskSummary> {
    let names = headline.tasks.clone();
    let tasks = summary.tasks.iter();
    tasks.filter(move |task| names.contains(&task.task))
}

/// The name of a scheme in a sentence. `none` alone would read as "nobody".
pub fn spoken(scheme: &str) -> String {
    match scheme == "none" || scheme.starts_with("none(") {
        true => format!("no positions (`{scheme}`)"),
        false => scheme.to_string(),
    }
}

/// A list names this many schemes and counts the rest.
const NAMED: usize = 4;

/// The summary with its verdict.
pub fn judged(mut summary: Summary) -> Summary {
    summary.verdict = of_study(&summary);
    summary
}

/// The verdict on a study: what had not converged, the answers, and what to be careful about.
fn of_study(summary: &Summary) -> Vec<String> {
    if summary.finished == 0 {
        return vec!["No trial has a score, so nothing can be said.".into()];
    }
    let mut lines: Vec<String> = not_converged(summary).into_iter().collect();
    lines.extend(until_converged(summary));
    for headline in &summary.headlines {
        lines.push(answer(summary, headline));
        // Before the first planned look nothing is claimed.
        if summary.looks.is_none() || summary.look.is_some() {
            lines.extend(rows(summary, headline));
        }
    }
    if summary.headlines.is_empty() {
        lines.push(
            "No seed of any scheme has a score on every task, so nothing is compared.".into(),
        );
    }
    lines.extend(looks(summary));
    lines.extend(failed(summary));
    lines.extend(left_out(summary));
    lines.extend(unsolved(summary));
    let costs = summary.costs.iter();
    lines.extend(costs.flat_map(|costs| costs.sentences(|part| place(summary, part))));
    lines.push(tuned(summary));
    lines
}

/// Which learning rates were tried, or that none were.
fn tuned(summary: &Summary) -> String {
    let study = &summary.study;
    match &study.tune {
        None => format!(
            "No scheme was tuned: all were trained with the learning rate {}.",
            in_words(&[study.recipe.learning_rate])
        ),
        Some(tune) => format!(
            "The learning rate of every scheme was chosen for each task among {} ({}) by the loss on held-out \
             training examples at seed {}, which is not reported.{}",
            tune.rates.len(),
            in_words(&tune.rates),
            tune.seed,
            at_an_end(tune)
        ),
    }
}

/// For which schemes and tasks the lowest or the highest rate was chosen.
fn at_an_end(tune: &Tuned) -> String {
    let ends = [tune.rates.first(), tune.rates.last()];
    let chosen = tune.chosen.iter();
    let chosen = chosen.filter(|of| tune.rates.len() > 1 && ends.contains(&Some(&of.rate)));
    let names: Vec<String> = chosen
        .map(|of| format!("{} on {}", spoken(&of.scheme), of.task))
        .collect();
    let which = match names.len() {
        0 => return String::new(),
        1..=3 => list(&names),
        count => format!("{count} of {} choices", tune.chosen.len()),
    };
    format!(" For {which} the lowest or the highest was chosen: a rate beyond them may be better.")
}

/// Which scheme is best inside, or beyond.
fn answer(summary: &Summary, headline: &Headline) -> String {
    let place = place(summary, headline.part);
    let subject = subject(summary, headline);
    let [leader, others @ ..] = &headline.order[..] else {
        return String::new();
    };
    let means = summary
        .schemes
        .iter()
        .filter_map(|of| part(of, headline.part));
    if means.clone().all(|score| score < ABOVE_THE_FLOOR) {
        return format!("{place}: no scheme got above the floor {subject}.");
    }
    let least = least_to_lead(tasks_of(summary, headline));
    if means.clone().all(|score| score < least) {
        let highest = fixed(means.fold(0.0, f64::max), 2);
        let loss = loss(summary, headline, leader);
        return format!(
            "{place}: not solved {subject}. The highest score is {highest} of 1{loss}: too little was learned to name a \
             scheme that leads."
        );
    }
    let own = summary.schemes.iter().find(|of| of.scheme == *leader);
    let score = own.and_then(|of| part(of, headline.part)).unwrap_or(0.0);
    let score = format!(
        "{} of 1{}",
        fixed(score, 2),
        loss(summary, headline, leader)
    );
    let pairs: Vec<&Comparison> = others
        .iter()
        .filter_map(|other| {
            let mut pairs = summary.comparisons.iter();
            pairs.find(|pair| pair.part == headline.part && pair.is_of(leader, other))
        })
        .collect();
    let Some(nearest) = pairs.first() else {
        return format!(
            "{place}: only {} has scores ({score} {subject}).",
            spoken(leader)
        );
    };
    let leader = spoken(leader);
    let count = number(headline.order.len());
    if headline.best {
        return format!(
            "{place}: {leader} is best of the {count} {subject} ({}).",
            evidence(nearest, &pairs)
        );
    }
    let highest = format!("{place}: {leader} is highest of the {count} {subject} ({score}");
    if headline.p.is_none() {
        let unknown = pairs.iter().filter(|pair| pair.p.is_none());
        let unknown: Vec<String> = unknown.map(|pair| spoken(&pair.lower)).collect();
        let whose = match unknown.len() < pairs.len() {
            true => format!("One seed of {}", list(&unknown)),
            false => "One seed".into(),
        };
        let next = difference(nearest);
        return format!("{highest}; next: {next}). {whose} cannot tell that from chance.");
    }
    let of = |findings: &[Finding]| -> Vec<String> {
        let pairs = pairs.iter().filter(|pair| findings.contains(&pair.finding));
        pairs.map(|pair| difference(pair)).collect()
    };
    let names = |finding: Finding| -> Vec<String> {
        let pairs = pairs.iter().filter(|pair| pair.finding == finding);
        pairs.map(|pair| spoken(&pair.lower)).collect()
    };
    let mut text = match headline.decided {
        true => format!("{highest}), and it shares the top."),
        false => format!(
            "{highest}), but that it is best is not established ({}).",
            evidence(nearest, &pairs)
        ),
    };
    let margin = fixed(summary.margin, 2);
    for (what, names) in [
        ("Proven below it".to_string(), of(&[Finding::Proven])),
        (
            "Undecided".to_string(),
            of(&[Finding::Undecided, Finding::OneSeed]),
        ),
        (format!("Level within {margin}"), names(Finding::Level)),
        ("Equal in every run".to_string(), names(Finding::Same)),
    ] {
        if !names.is_empty() {
            text.push_str(&format!(" {what}: {}.", list(&names)));
        }
    }
    text
}

/// `alibi (+0.09)`.
fn difference(pair: &Comparison) -> String {
    format!("{} (+{})", spoken(&pair.lower), fixed(pair.difference, 2))
}

/// `nearest: alibi, +0.09, 95 % 0.04 to 0.14, p 0.004; 5 seeds`, and the least certain of all pairs of the leader
/// if that is another one.
fn evidence(nearest: &Comparison, pairs: &[&Comparison]) -> String {
    let least = pairs.iter().max_by(|a, b| p_of(a).total_cmp(&p_of(b)));
    let least = match least {
        Some(least) if p_of(least) > p_of(nearest) => {
            format!("least certain: {}; ", against(least))
        }
        _ => String::new(),
    };
    let seeds = match nearest.seeds {
        [a, b] if a == b => format!("{a} seeds"),
        [a, b] => format!("{a} and {b} seeds"),
    };
    format!("nearest: {}; {least}{seeds}", against(nearest))
}

fn against(pair: &Comparison) -> String {
    let interval = pair.interval.map_or(String::new(), |interval| {
        format!(", 95 % {}", range(interval))
    });
    let p = pair
        .p
        .map_or(String::new(), |p| format!(", p {}", p_text(p)));
    format!(
        "{}, +{}{interval}{p}",
        spoken(&pair.lower),
        fixed(pair.difference, 2)
    )
}

fn range(interval: Interval) -> String {
    format!("{} to {}", fixed(interval.low, 2), fixed(interval.high, 2))
}

/// For ordering: the pair that keeps the leader from being best comes last.
fn p_of(pair: &Comparison) -> f64 {
    pair.p.unwrap_or(1.0)
}

fn part(scheme: &SchemeOverall, part: Part) -> Option<f64> {
    scheme.part(part).map(|score| score.mean)
}

/// `Inside`, `Beyond`, or what was held out if there is one part.
fn place(summary: &Summary, part: Part) -> &'static str {
    let two_parts = summary.tasks.iter().any(|task| task.has(Part::Beyond));
    match (part, two_parts, summary.resolutions()) {
        (Part::Inside, true, false) => "Inside the training lengths",
        (Part::Inside, true, true) => "At the resolution of the training",
        (Part::Inside, false, _) => "On held-out data",
        (Part::Beyond, _, false) => "Beyond",
        (Part::Beyond, _, true) => "At other resolutions",
    }
}

/// Over what the mean is taken.
fn subject(summary: &Summary, headline: &Headline) -> String {
    match (&summary.study.data, &headline.tasks[..]) {
        (Some(data), _) => format!("on {}", file_title(data)),
        (None, [task]) => format!("on {task}"),
        (None, tasks @ ([] | [_, _] | [_, _, _])) => format!("on the mean over {}", list(tasks)),
        (None, tasks) => format!("on the mean over these {} tasks", tasks.len()),
    }
}

/// Whether other rows of a person's data would say the same. Every seed is tested on the same ones.
fn rows(summary: &Summary, headline: &Headline) -> Option<String> {
    let data = summary.study.data.as_ref()?;
    // The parts of the data, each of which is the test of a task of its own, or one test for all.
    let of_tasks = summary.tasks.iter();
    let tested: usize = of_tasks
        .map(|task| task.samples[headline.part as usize])
        .sum();
    let [leader, ..] = &headline.order[..] else {
        return None;
    };
    if summary
        .tasks
        .iter()
        .all(|task| task.rows == TestRows::Neighbours)
    {
        let once = headline.part == Part::Inside;
        return once.then(|| {
            format!(
                "All seeds are tested on the same part of {}: what other parts would say is not known.",
                data.test.as_ref().map_or(file_title(data), |test| &test.file)
            )
        });
    }
    let of_part = |of: &SchemeOverall| part(of, headline.part);
    let mut means = summary.schemes.iter().filter_map(of_part);
    let least = least_to_lead(tasks_of(summary, headline));
    if means.all(|score| score < least) {
        return None; // no scheme leads
    }
    let of_leader = |pair: &&Comparison| pair.part == headline.part && pair.higher == *leader;
    let pairs = summary.comparisons.iter().filter(of_leader);
    let said: Vec<(&Comparison, OtherRows)> = pairs
        .filter_map(|pair| Some((pair, pair.other_rows?)))
        .collect();
    let all = match (headline.part, data.folds) {
        (Part::Inside, None) => format!(
            "All seeds are tested on the same {tested} rows of {}",
            data.test
                .as_ref()
                .map_or(file_title(data), |test| &test.file)
        ),
        (Part::Inside, Some(folds)) => format!(
            "Every seed is tested once on each of {tested} rows of {}, in {folds} parts",
            file_title(data)
        ),
        (Part::Beyond, _) => format!(
            "The same {tested} rows {}",
            match summary.resolutions() {
                true => "at other resolutions",
                false => "beyond training",
            }
        ),
    };
    let unsure = said.iter().filter(|of| !of.1.established());
    let widest = |of: &&(&Comparison, OtherRows)| of.1.interval.map_or(f64::MIN, |i| i.low);
    let closest = unsure.min_by(|a, b| widest(a).total_cmp(&widest(b)));
    let closest = closest.or_else(|| said.iter().min_by(|a, b| widest(a).total_cmp(&widest(b))));
    let leader = spoken(leader);
    let Some((pair, rows)) = closest else {
        return Some(format!("{all}: what other rows would say is not known."));
    };
    let [for_leader, against] = rows.rows;
    let evidence = format!(
        "{} against {}: {}{}; {for_leader} rows for it, {against} against, sign test p {}",
        leader,
        spoken(&pair.lower),
        fixed(rows.difference, 2),
        rows.interval.map_or(String::new(), |interval| {
            let percent = 100.0 * (1.0 - rows.error);
            let digits = usize::from(percent != 95.0) * 2;
            format!(
                ", {} % {} over seeds and rows",
                fixed(percent, digits),
                range(interval)
            )
        }),
        p_text(rows.p)
    );
    Some(match rows.established() {
        true => format!("{all}; other rows like these would also put {leader} first ({evidence})."),
        false => format!(
            "{all}: that other rows like these would put {leader} first is not established ({evidence})."
        ),
    })
}

/// The schemes whose loss still fell at the end in more than half of their runs on a task that was trained for
/// a number of steps. Said first: the study then ranks speed.
fn not_converged(summary: &Summary) -> Option<String> {
    let fixed_steps = |task: &&TaskSummary| task.auto_from.is_none();
    let which = runs_on(summary, fixed_steps, |scheme| {
        let falling = &scheme.not_converged;
        let tested = scheme.inside.as_ref().or(scheme.beyond.as_ref());
        let seeds = tested.iter().flat_map(|group| &group.seeds);
        match 2 * falling.len() > seeds.filter(|seed| !seed.failed).count() {
            true => falling.clone(),
            false => Vec::new(),
        }
    });
    let mut tasks = summary.tasks.iter().filter(fixed_steps);
    let first = tasks.next()?;
    let steps = match tasks.all(|task| task.steps == first.steps) {
        true => format!("at {} steps", first.steps),
        false => "at these numbers of steps".into(),
    };
    (!which.is_empty()).then(|| {
        format!(
            "This ranks speed of learning {steps}: {} had not converged (the held-out loss still fell by more \
             than {} % of its first value over the last quarter).",
            list(&which),
            fixed(STILL_FALLING * 100.0, 0)
        )
    })
}

/// What a study ranks whose trainings went on until they had converged, and which of them met the limit before.
fn until_converged(summary: &Summary) -> Option<String> {
    let auto = |task: &&TaskSummary| task.auto_from.is_some();
    let tasks: Vec<&TaskSummary> = summary.tasks.iter().filter(auto).collect();
    let first = tasks.first()?;
    let on = match tasks.len() == summary.tasks.len() {
        true => String::new(),
        false => {
            let names: Vec<&str> = tasks.iter().map(|task| task.title.as_str()).collect();
            format!("On {}: ", list(&names))
        }
    };
    let limits = match tasks.iter().all(|task| task.steps == first.steps) {
        true => format!("the limit of {} steps", first.steps),
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
            " {} stayed at the floor: a flat loss does not tell whether more steps would change that.",
            list(&at_floor)
        ),
    };
    let said = match which.is_empty() {
        true => format!(
            "{on}Trainings went on until they had converged, within {limits}: this ranks what the schemes reach, \
             not how fast they learn."
        ),
        false => format!(
            "{on}Trainings went on until they had converged, or to {limits}. {} had not converged there: for them \
             this still ranks speed of learning, for the others what they reach.",
            list(&which)
        ),
    };
    Some(said + &at_floor)
}

/// How far a study is that stops when it is decided.
fn looks(summary: &Summary) -> Option<String> {
    let looks = summary.looks.as_ref()?;
    let most = looks.last()?;
    let decided = !summary.headlines.is_empty() && summary.headlines.iter().all(|of| of.decided);
    let planned: Vec<String> = looks.iter().map(usize::to_string).collect();
    let shared = match looks.len() {
        1 => format!("one look is planned, at {most} seeds"),
        count => format!(
            "each of the {count} planned looks ({} seeds) has an equal share of the errors",
            list(&planned)
        ),
    };
    Some(match (summary.look, decided) {
        (None, _) => format!(
            "Before the first planned look, at {} seeds, nothing is established; {shared}.",
            looks[0]
        ),
        (Some(look), true) => format!("Decided after {look} of up to {most} seeds; {shared}."),
        (Some(look), false) if look == *most => {
            format!("Not decided after {most} seeds, the last planned look; {shared}.")
        }
        (Some(look), false) => format!("Not decided after {look} of up to {most} seeds; {shared}."),
    })
}

/// The trainings that failed.
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
    let have = |n: usize| if n == 1 { "has" } else { "have" };
    let mut parts = Vec::new();
    if summary.not_run > 0 {
        let n = summary.not_run;
        parts.push(format!(
            "{n} of {} trials {} not been run yet",
            summary.trials,
            have(n)
        ));
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
            "{}. Of a scheme, only seeds with a score on every task count.",
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

/// The same of some of the tasks.
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

/// `seed 3`, or `seeds 1, 2`.
pub fn seeds_text(seeds: &[u64]) -> String {
    let numbers: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let noun = if seeds.len() == 1 { "seed" } else { "seeds" };
    format!("{noun} {}", numbers.join(", "))
}

/// A p value with up to four decimals.
pub fn p_text(p: f64) -> String {
    if p < 0.0001 {
        return "< 0.0001".into();
    }
    let text = format!("{p:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// A small number as a word.
fn number(n: usize) -> String {
    let words = [
        "none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    words
        .get(n)
        .map_or_else(|| n.to_string(), |word| word.to_string())
}

/// For example `a, b and c`. A long list ends with a count.
fn list<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let (shown, rest) = match names.len() {
        n if n > NAMED + 1 => (&names[..NAMED], Some(format!("{} more", n - NAMED))),
        _ => (&names[..], None),
    };
    let parts: Vec<&str> = shown.iter().copied().chain(rest.as_deref()).collect();
    match parts.split_last() {
        Some((last, [])) => last.to_string(),
        Some((last, first)) => format!("{} and {last}", first.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{DataSpec, Format, Reading};
    use crate::learn::{CurvePoint, RowOutcomes};
    use crate::report::data::{Data, Look};
    use crate::report::synthetic::Synthetic;
    use crate::task::Score;

    /// Schemes on one task: normalized scores inside, one a seed.
    fn study(schemes: &[(&str, &[f64])]) -> Synthetic {
        let names: Vec<&str> = schemes.iter().map(|of| of.0).collect();
        let mut study = Synthetic::new(&["mine"], &names, schemes[0].1.len() as u64);
        for (scheme, scores) in schemes {
            for (i, normalized) in scores.iter().enumerate() {
                let at = [(10, 0.25 + 0.75 * normalized)];
                study = study.score("mine", scheme, i as u64 + 1, &at);
            }
        }
        study
    }

    fn verdict(study: &Synthetic) -> Vec<String> {
        of_data(&study.data())
    }

    /// Without the line about tuning, which is the last one of every study with scores.
    fn of_data(data: &Data<'_>) -> Vec<String> {
        let mut lines = judged(Summary::of(data)).verdict;
        if data.runs.iter().any(|run| run.outcome.is_ok()) {
            let last = lines.pop().unwrap_or_default();
            assert!(last.starts_with("No scheme was tuned"), "{last}");
        }
        lines
    }

    const HIGH: &[f64] = &[0.90, 0.93, 0.91, 0.92, 0.89];
    const LOW: &[f64] = &[0.50, 0.46, 0.52, 0.49, 0.51];

    #[test]
    fn the_best_of_several_is_said_with_its_nearest() {
        let said = verdict(&study(&[
            ("b", LOW),
            ("a", HIGH),
            ("c", &[0.1, 0.12, 0.09, 0.11, 0.1]),
        ]));
        // scipy.stats.ttest_ind(HIGH, LOW, equal_var=False): p = 4.9e-9, 95 % 0.3845 to 0.4435.
        assert_eq!(
            said,
            [
                "On held-out data: a is best of the three on mine (nearest: b, +0.41, 95 % 0.38 to 0.44, \
              p < 0.0001; 5 seeds)."
            ]
        );
    }

    #[test]
    fn what_is_not_established_is_called_so_and_the_others_are_sorted() {
        let near: Vec<f64> = HIGH.iter().rev().map(|score| score - 0.01).collect();
        let said = verdict(&study(&[("a", HIGH), ("near", &near), ("low", LOW)]));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].starts_with(
                "On held-out data: a is highest of the three on mine (0.91 of 1), but that it is best is not \
                 established (nearest: near, +0.01, 95 % -0.01 to 0.03, p 0.3"
            ),
            "{said:?}"
        );
        assert!(
            said[0].ends_with("5 seeds). Proven below it: low (+0.41). Undecided: near (+0.01)."),
            "{said:?}"
        );
    }

    #[test]
    fn the_least_certain_pair_is_said_where_it_is_not_the_nearest() {
        let wild = [0.95, 0.40, 0.88, 0.45, 0.90];
        let near: Vec<f64> = HIGH.iter().map(|score| score - 0.15).collect();
        let said = verdict(&study(&[("a", HIGH), ("near", &near), ("wild", &wild)]));
        assert!(
            said[0].contains("(nearest: near, +0.15, 95 % ")
                && said[0].contains("; least certain: wild, +0.19"),
            "{said:?}"
        );
    }

    #[test]
    fn level_and_equal_are_told_apart_and_level_decides() {
        let a = [0.9000, 0.9010, 0.9005, 0.9002, 0.9008];
        let b = [0.9002, 0.9011, 0.9004, 0.9001, 0.9006];
        let said = verdict(&study(&[("a", &a), ("b", &b), ("low", LOW)]));
        assert_eq!(
            said,
            [
                "On held-out data: a is highest of the three on mine (0.90 of 1), and it shares the top. \
              Proven below it: low (+0.40). Level within 0.02: b."
            ]
        );
        let said = verdict(&study(&[("a", &[1.0; 5]), ("b", &[1.0; 5])]));
        assert!(said[0].ends_with("Equal in every run: b."), "{said:?}");
        assert!(said[0].contains("not established"), "{said:?}");
    }

    #[test]
    fn one_seed_is_one_observation() {
        assert_eq!(
            verdict(&study(&[("a", &[0.9]), ("b", &[0.5])])),
            [
                "On held-out data: a is highest of the two on mine (0.90 of 1; next: b (+0.40)). One seed cannot \
              tell that from chance."
            ]
        );
        let only_a =
            Synthetic::new(&["mine"], &["a", "b"], 1).score("mine", "a", 1, &[(10, 0.925)]);
        assert_eq!(
            verdict(&only_a)[0],
            "On held-out data: only a has scores (0.90 of 1 on mine)."
        );
    }

    #[test]
    fn a_floor_is_called_a_floor() {
        assert_eq!(
            verdict(&study(&[("a", &[0.01, 0.0]), ("b", &[-0.02, 0.0])])),
            ["On held-out data: no scheme got above the floor on mine."]
        );
    }

    #[test]
    fn a_failed_training_scores_the_floor_and_the_leader_loses_by_it() {
        let mut study = Synthetic::new(&["mine", "yours"], &["a", "b"], 5);
        for seed in 1..=5 {
            for task in ["mine", "yours"] {
                for (scheme, scores) in [("a", HIGH), ("b", LOW)] {
                    let at = [(10, 0.25 + 0.75 * scores[seed as usize - 1])];
                    study = match (task, scheme, seed) {
                        ("mine", "a", 3) => study.fail(task, scheme, seed, "diverged"),
                        _ => study.score(task, scheme, seed, &at),
                    };
                }
            }
        }
        let said = verdict(&study);
        // a: 0.91 but for one run at 0, so its mean is 0.819 and its spread is large.
        assert!(
            said[0].starts_with(
                "On held-out data: a is best of the two on the mean over mine and yours (nearest: b, +0.32"
            ),
            "{said:?}"
        );
        assert_eq!(
            said[1],
            "1 of 20 trainings failed: a on mine (seed 3). A failed training scores the floor, or the \
             lowest score of any scheme on the task if that is below it."
        );
    }

    #[test]
    fn a_task_that_is_not_finished_leaves_its_seeds_out() {
        let mut study = Synthetic::new(&["x", "y"], &["a", "b"], 3);
        for seed in 1..=3 {
            for (scheme, normalized) in [("a", 0.9), ("b", 0.5)] {
                let accuracy = 0.25 + 0.75 * (normalized + seed as f64 / 100.0);
                study = study.score("x", scheme, seed, &[(10, accuracy)]);
                if (scheme, seed) != ("a", 3) {
                    study = study.score("y", scheme, seed, &[(10, accuracy)]);
                }
            }
        }
        let said = verdict(&study);
        assert!(said[0].contains("2 and 3 seeds"), "{said:?}");
        assert_eq!(
            said[1],
            "1 of 12 trials has not been run yet. Of a scheme, only seeds with a score on every task count."
        );
    }

    #[test]
    fn inside_and_beyond_are_two_answers_each_on_its_own_tasks() {
        let mut study = Synthetic::new(&["x", "y"], &["a", "b"], 5);
        for seed in 1..=5 {
            for (scheme, inside, beyond) in [("a", HIGH, LOW), ("b", LOW, HIGH)] {
                let inside = 0.25 + 0.75 * inside[seed as usize - 1];
                let beyond = 0.2 + 0.8 * beyond[seed as usize - 1];
                study = study.score("x", scheme, seed, &[(10, inside)]);
                study = study.score("y", scheme, seed, &[(10, inside), (40, beyond)]);
            }
        }
        let said = verdict(&study);
        assert!(
            said[0].starts_with(
                "Inside the training lengths: a is best of the two on the mean over x and y ("
            ),
            "{said:?}"
        );
        assert!(
            said[1].starts_with("Beyond: b is best of the two on y ("),
            "{said:?}"
        );
    }

    #[test]
    fn what_had_not_converged_is_said_first() {
        let mut study = study(&[("a", HIGH), ("b", LOW)]);
        let mut falling = study.measures("mine", "b", 2).clone();
        let loss = |step: usize| CurvePoint {
            step,
            loss: 2.0 - step as f64 / 1500.0,
        };
        falling.held_out = (1..=10).map(|i| loss(i * 150)).collect();
        for seed in [2, 4] {
            study = study.replace("mine", "b", seed, falling.clone());
        }
        assert!(verdict(&study)[0].contains("a is best"), "two runs of five");
        let said = verdict(&study.replace("mine", "b", 5, falling));
        assert!(
            said[0].starts_with(
                "This ranks speed of learning at 1500 steps: b on mine (seeds 2, 4, 5) had not converged"
            ),
            "{said:?}"
        );
        assert!(said[1].contains("a is best"), "{said:?}");
    }

    #[test]
    fn trainings_until_they_have_converged_rank_what_is_reached() {
        let mut study = study(&[("a", HIGH), ("b", LOW)]);
        (study.spec.tasks[0].steps, study.spec.tasks[0].auto_from) = (3000, Some(1500));
        let said = verdict(&study);
        assert_eq!(
            said[0],
            "Trainings went on until they had converged, within the limit of 3000 steps: this ranks what the \
             schemes reach, not how fast they learn."
        );
        assert!(said[1].contains("a is best"), "{said:?}");
        // One run that met the limit is enough to take that back, and one without a curve shows nothing.
        let mut falling = study.measures("mine", "b", 2).clone();
        for point in &mut falling.held_out {
            point.loss = 2.0 - point.step as f64 / 1500.0;
        }
        // Below the limit the steps were chosen by other examples.
        let chosen = study.clone().replace("mine", "b", 2, falling.clone());
        assert!(verdict(&chosen)[0].contains("within the limit"));
        falling.curve.last_mut().unwrap().step = 3000;
        let mut unknown = study.measures("mine", "b", 4).clone();
        unknown.held_out.clear();
        unknown.curve.last_mut().unwrap().step = 3000;
        let study = study.replace("mine", "b", 2, falling);
        let mut study = study.replace("mine", "b", 4, unknown);
        assert_eq!(
            verdict(&study)[0],
            "Trainings went on until they had converged, or to the limit of 3000 steps. b on mine (seeds 2, 4) had \
             not converged there: for them this still ranks speed of learning, for the others what they reach."
        );
        study.spec.tasks[0].auto_from = None;
        assert!(verdict(&study)[0].contains("a is best"), "two runs of five");
    }

    #[test]
    fn trainings_that_converged_at_the_floor_are_named() {
        let mut study = Synthetic::new(&["mine"], &["a", "b"], 2);
        for seed in [1, 2] {
            study = study.score("mine", "a", seed, &[(10, 0.9)]);
            study = study.score("mine", "b", seed, &[(10, 0.26)]);
        }
        (study.spec.tasks[0].steps, study.spec.tasks[0].auto_from) = (3000, Some(1500));
        let said = verdict(&study);
        assert!(
            said[0].ends_with(
                " b on mine (every seed) stayed at the floor: a flat loss does not tell whether more steps would \
                 change that."
            ),
            "{said:?}"
        );
    }

    #[test]
    fn a_scheme_with_one_seed_is_named_beside_others_with_many() {
        let mut study = study(&[("a", HIGH), ("b", LOW)]);
        study.spec.schemes.push("c".into());
        let study = study.score("mine", "c", 1, &[(10, 0.5)]);
        let said = verdict(&study);
        let said = said
            .iter()
            .find(|said| said.contains("is highest of the"))
            .unwrap();
        assert!(
            said.contains("One seed of c cannot tell that from chance"),
            "{said}"
        );
    }

    #[test]
    fn a_study_of_both_says_which_tasks_went_on() {
        let mut study = Synthetic::new(&["x", "y"], &["a"], 1)
            .score("x", "a", 1, &[(10, 0.9)])
            .score("y", "a", 1, &[(10, 0.9)]);
        study.spec.tasks[1].auto_from = Some(500);
        let said = verdict(&study);
        assert!(said[0].starts_with("On y: Trainings went on"), "{said:?}");
        let mut falling = study.measures("x", "a", 1).clone();
        for point in &mut falling.held_out {
            point.loss = 2.0 - point.step as f64 / 1500.0;
        }
        let said = verdict(&study.replace("x", "a", 1, falling));
        assert!(
            said[0].starts_with("This ranks speed of learning at 1500 steps: a on x (every seed)"),
            "{said:?}"
        );
        assert!(said[1].starts_with("On y: Trainings"), "{said:?}");
    }

    #[test]
    fn looks_share_the_errors_and_say_when_it_is_decided() {
        // p is 0.0070: below 0.0125, and above a quarter of every error.
        let near: Vec<f64> = HIGH.iter().rev().map(|score| score - 0.036).collect();
        let study = study(&[("a", HIGH), ("b", &near)]);
        assert!(verdict(&study)[0].contains("a is best"));
        let looked = |reached| Data {
            look: Some(Look {
                planned: vec![3, 5, 8, 12],
                reached,
            }),
            ..study.data()
        };
        let said = of_data(&looked(Some(5)));
        assert!(said[0].contains("not established"), "{said:?}");
        assert_eq!(
            said[1],
            "Not decided after 5 of up to 12 seeds; each of the 4 planned looks (3, 5, 8 and 12 seeds) has an \
             equal share of the errors."
        );
        let said = of_data(&looked(None));
        assert!(said[0].contains("not established"), "{said:?}");
        assert!(
            said[1].starts_with("Before the first planned look, at 3 seeds"),
            "{said:?}"
        );
        let clear = self::study(&[("a", HIGH), ("b", LOW)]);
        let said = of_data(&Data {
            look: looked(Some(5)).look,
            ..clear.data()
        });
        assert!(said[0].contains("a is best"), "{said:?}");
        assert!(
            said[1].starts_with("Decided after 5 of up to 12 seeds"),
            "{said:?}"
        );
    }

    #[test]
    fn a_persons_file_is_named_and_its_rows_are_asked() {
        // Every seed agrees; 30 rows of 100 speak for a, and `against` rows for b.
        let said = |against: usize, folds: Option<usize>| {
            let tasks: &[&str] = match folds {
                None => &["mine"],
                Some(_) => &["mine-1", "mine-2"],
            };
            let mut study = Synthetic::new(tasks, &["a", "b"], 5);
            study.spec.data = Some(DataSpec {
                file: "reviews.csv".into(),
                format: Format::Csv,
                sha256: String::new(),
                bytes: 1,
                test: None,
                folds,
                reading: Reading::default(),
                vocabulary: None,
                tokenizer: None,
            });
            for (scheme, rows) in [("a", 30..30 + against), ("b", 0..30)] {
                for seed in 1..=5 {
                    // One row differs between seeds.
                    let right: Vec<u32> = (0..100)
                        .map(|row| u32::from(!rows.contains(&row) && row != 90 + seed as usize))
                        .collect();
                    for (task, right) in tasks.iter().zip(right.chunks(100 / tasks.len())) {
                        let samples = right.len();
                        let accuracy = right.iter().sum::<u32>() as f64 / samples as f64;
                        study = study.score(task, scheme, seed, &[(10, accuracy)]);
                        let mut measures = study.measures(task, scheme, seed).clone();
                        let score = &mut measures.scores[0];
                        (score.score, score.exact, score.samples) =
                            (Score::Accuracy(accuracy), Some(accuracy), samples);
                        let right = right.to_vec();
                        score.rows = Some(RowOutcomes::Right { right, asked: 1 });
                        study = study.replace(task, scheme, seed, measures);
                    }
                }
            }
            verdict(&study)
        };
        let clear = said(2, None);
        assert!(
            clear[0].contains("a is highest of the two on reviews.csv")
                || clear[0].contains("a is best of the two on reviews.csv"),
            "{clear:?}"
        );
        assert!(
            clear[1].starts_with(
                "All seeds are tested on the same 100 rows of reviews.csv; other rows like these would also put \
                 a first (a against b: 0.37"
            ) && clear[1].contains("30 rows for it, 2 against"),
            "{clear:?}"
        );
        let parts = said(2, Some(2));
        assert!(
            parts[1].starts_with("Every seed is tested once on each of 100 rows of reviews.csv, in 2 parts; other rows")
                && parts[1].contains("30 rows for it, 2 against"),
            "{parts:?}"
        );
        let close = said(24, None);
        assert!(
            close[1].contains("rows of reviews.csv: that other rows like these would put a first is not established")
                && close[1].contains("30 rows for it, 24 against, sign test p 0.49"),
            "{close:?}"
        );
    }

    #[test]
    fn failing_inside_is_told_apart_from_failing_beyond() {
        let study = Synthetic::new(&["reverse"], &["none", "learned"], 1)
            .score("reverse", "none", 1, &[(10, 0.3), (40, 0.2)])
            .score("reverse", "learned", 1, &[(10, 1.0), (40, 0.2)]);
        let said = verdict(&study);
        assert!(
            said[0].starts_with("Inside the training lengths: learned is highest"),
            "{said:?}"
        );
        assert_eq!(said[1], "Beyond: no scheme got above the floor on reverse.");
        assert!(
            said[2].starts_with(
                "Not solved even inside the training lengths: no positions (`none`) on reverse (every seed)."
            ),
            "{said:?}"
        );
    }

    #[test]
    fn a_study_without_scores_has_a_verdict() {
        let nothing = ["No trial has a score, so nothing can be said."];
        assert_eq!(
            verdict(&Synthetic::new(&["reverse", "mine"], &["a", "b"], 3)),
            nothing
        );
        let failed = Synthetic::new(&["mine"], &["a"], 2).fail("mine", "a", 1, "diverged");
        assert_eq!(verdict(&failed), nothing);
    }

    #[test]
    fn lists_and_p_values_read_well() {
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b"]), "a and b");
        assert_eq!(list(&["a", "b", "c", "d", "e"]), "a, b, c, d and e");
        assert_eq!(
            list(&["a", "b", "c", "d", "e", "f"]),
            "a, b, c, d and 2 more"
        );
        assert_eq!(p_text(0.5), "0.5");
        assert_eq!(p_text(0.0625), "0.0625");
        assert_eq!(p_text(1.0), "1");
        assert_eq!(p_text(0.00001), "< 0.0001");
    }
}
