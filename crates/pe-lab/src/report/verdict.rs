//! The verdict: sentences that say what the numbers show, and nothing beyond that.

use super::comparison::{Comparison, Finding, LEVEL, Part, seeds_needed};
use super::number::fixed;
use super::stats::smallest_p;
use super::summary::{Summary, TaskSummary};

/// A normalized score below this counts as not above the floor.
const ABOVE_THE_FLOOR: f64 = 0.05;

/// A list names this many schemes and counts the rest.
const NAMED: usize = 4;

/// One question: which scheme is best inside, or beyond, the training lengths of one task or of all.
struct Question<'a> {
    /// Inside or beyond, in words.
    place: &'static str,
    /// The tasks with a score.
    tasks: Vec<&'a str>,
    /// The schemes with a score, the highest first, each with its normalized score: the interquartile
    /// mean over several tasks, or the mean on one.
    standings: Vec<(&'a str, f64)>,
    comparisons: Vec<&'a Comparison>,
    /// The number of comparisons that are corrected together, also those of the other part.
    family: usize,
    /// The schemes with a failed trial. Their score leaves the failed trials out.
    failing: Vec<&'a str>,
}

/// The summary with its verdicts: on the study, and on each task.
pub fn judged(mut summary: Summary) -> Summary {
    for task in &mut summary.tasks {
        task.verdict = of_task(task);
    }
    summary.verdict = of_study(&summary);
    summary
}

/// The verdict on a study: the answer, its two halves, and what to be careful about.
fn of_study(summary: &Summary) -> Vec<String> {
    if summary.finished == 0 {
        return vec!["No trial has a score, so nothing can be said.".into()];
    }
    let two_parts = summary.tasks.iter().any(|task| task.has(Part::Beyond));
    let questions: Vec<Question<'_>> = Part::ALL
        .into_iter()
        .map(|part| Question {
            place: place(part, two_parts),
            tasks: scored(&summary.tasks, part),
            standings: standings(summary.schemes.iter().filter_map(|scheme| {
                let score = scheme.part(part)?;
                let score = match scored(&summary.tasks, part).len() {
                    1 => score.mean,
                    _ => score.iqm,
                };
                Some((scheme.scheme.as_str(), score))
            })),
            comparisons: of_part(&summary.comparisons, part),
            family: tested(&summary.comparisons),
            failing: summary
                .tasks
                .iter()
                .filter(|task| task.has(part))
                .flat_map(failing)
                .collect(),
        })
        .filter(|question| !question.standings.is_empty())
        .collect();
    let mut lines = vec![headline(&questions)];
    lines.extend(questions.iter().map(Question::sentence));
    lines.extend(caution(&summary.comparisons));
    lines.extend(one_split(summary));
    lines.extend(without_score(summary));
    lines.extend(unsolved(summary));
    lines
}

/// The verdict on one task: a sentence for each part.
fn of_task(task: &TaskSummary) -> Vec<String> {
    let two_parts = task.has(Part::Beyond);
    Part::ALL
        .into_iter()
        .map(|part| Question {
            place: place(part, two_parts),
            tasks: vec![&task.task],
            standings: standings(task.schemes.iter().filter_map(|scheme| {
                Some((scheme.scheme.as_str(), scheme.part(part)?.normalized))
            })),
            comparisons: of_part(&task.comparisons, part),
            family: tested(&task.comparisons),
            failing: failing(task).collect(),
        })
        .filter(|question| !question.standings.is_empty())
        .map(|question| question.sentence())
        .collect()
}

/// The schemes of which a run of this task failed.
fn failing(task: &TaskSummary) -> impl Iterator<Item = &str> {
    let failing = task.schemes.iter().filter(|of| !of.failed.is_empty());
    failing.map(|scheme| scheme.scheme.as_str())
}

/// The tasks on which some scheme has a score in this part.
fn scored(tasks: &[TaskSummary], part: Part) -> Vec<&str> {
    let has_one = |task: &&TaskSummary| task.schemes.iter().any(|s| s.part(part).is_some());
    let scored = tasks.iter().filter(has_one);
    scored.map(|task| task.task.as_str()).collect()
}

fn place(part: Part, two_parts: bool) -> &'static str {
    match (part, two_parts) {
        (Part::Inside, true) => "inside the training lengths",
        (Part::Inside, false) => "on held-out data",
        (Part::Beyond, _) => "beyond the training lengths",
    }
}

fn standings<'a>(scores: impl Iterator<Item = (&'a str, f64)>) -> Vec<(&'a str, f64)> {
    let mut standings: Vec<_> = scores.collect();
    standings.sort_by(|a, b| b.1.total_cmp(&a.1));
    standings
}

/// The number of comparisons with a p.
pub fn tested(comparisons: &[Comparison]) -> usize {
    comparisons.iter().filter(|c| c.p.is_some()).count()
}

fn of_part(comparisons: &[Comparison], part: Part) -> Vec<&Comparison> {
    let of_part = comparisons.iter().filter(|c| c.part == part);
    of_part.collect()
}

impl Question<'_> {
    fn leader(&self) -> &str {
        self.standings.first().map_or("", |standing| standing.0)
    }

    fn nobody_above_the_floor(&self) -> bool {
        self.standings
            .iter()
            .all(|(_, mean)| *mean < ABOVE_THE_FLOOR)
    }

    /// What the comparison of the leader with every other scheme shows, in the order of the standings.
    fn findings(&self) -> Vec<(&str, Finding, &Comparison)> {
        let others = self.standings.iter().skip(1);
        others
            .filter_map(|(other, _)| {
                let of_both = |c: &&&Comparison| c.is_of(self.leader(), other);
                let comparison = *self.comparisons.iter().find(of_both)?;
                let finding = match comparison.finding() {
                    same @ (Finding::Nothing | Finding::Same | Finding::Unclear) => same,
                    // If trials are missing, the seeds in common may favour the scheme that is lower overall.
                    _ if comparison.higher != self.leader() => Finding::Unclear,
                    _ if self.failing.contains(&self.leader()) => Finding::Failing,
                    finding => finding,
                };
                Some((*other, finding, comparison))
            })
            .collect()
    }

    /// The leader, and the schemes that are not clearly below it.
    fn top(&self) -> Vec<&str> {
        let level = self
            .findings()
            .into_iter()
            .filter_map(|(other, finding, _)| {
                matches!(finding, Finding::Same | Finding::Unclear | Finding::Few).then_some(other)
            });
        std::iter::once(self.leader()).chain(level).collect()
    }

    /// Which scheme is ahead, for the first sentence of the verdict.
    fn answer(&self) -> String {
        let top = self.top();
        let who = match top.len() {
            _ if self.nobody_above_the_floor() => {
                return format!("no scheme got above the floor {}", self.place);
            }
            _ if self.standings.len() == 1 => format!("only {} has a score", self.leader()),
            1 => format!("{} scored highest", self.leader()),
            2 | 3 => format!("{} are too close to call at the top", list(&top)),
            n => format!("{n} schemes are too close to call at the top"),
        };
        format!("{who} {}", self.place)
    }

    fn sentence(&self) -> String {
        let mut place = self.place.to_string();
        place[..1].make_ascii_uppercase();
        if self.nobody_above_the_floor() {
            return format!("{place}, no scheme got above the floor.");
        }
        let findings = self.findings();
        let (_, mean) = self.standings[0];
        // The differences are of means; those of interquartile means may be others.
        let above = match self.tasks.len() {
            1 => "above",
            _ => "on average above",
        };
        let mut clauses = Vec::new();
        for (finding, seeds) in [
            Finding::Different,
            Finding::Agreeing,
            Finding::OneSeed,
            Finding::Few,
            Finding::Failing,
            Finding::Unclear,
            Finding::Same,
            Finding::Nothing,
        ]
        .into_iter()
        .flat_map(|finding| {
            (0..=most_seeds(self.comparisons.iter().copied()))
                .rev()
                .map(move |n| (finding, n))
        }) {
            let members: Vec<_> = findings
                .iter()
                .filter(|(_, of, comparison)| *of == finding && comparison.seeds == seeds)
                .collect();
            if members.is_empty() {
                continue;
            }
            let names: Vec<&str> = members.iter().map(|(name, ..)| *name).collect();
            let names = list(&names);
            let with_difference = |(name, _, comparison): &&(&str, Finding, &Comparison)| {
                let difference = comparison.difference.unwrap_or(0.0);
                format!("{name} by {}", fixed(difference, 2))
            };
            let by = list(&members.iter().map(with_difference).collect::<Vec<_>>());
            clauses.push(match finding {
                Finding::Different => {
                    let p = members.iter().filter_map(|m| m.2.p_holm).fold(0.0, f64::max);
                    format!(
                        "{above} {by}, which is more than chance explains (corrected p {} or less, {seeds} \
                         seeds)",
                        p_text(p)
                    )
                }
                Finding::Agreeing => format!(
                    "{above} {by}, and at every seed, but {seeds} seeds cannot prove it ({})",
                    smallest(seeds, self.family)
                ),
                Finding::OneSeed => format!("{above} {by} at the one seed there is"),
                Finding::Few => {
                    let sequences = members.iter().filter_map(|m| m.2.sequences);
                    format!(
                        "{above} {by}, which amounts to {} or fewer of the tested sequences",
                        sequences.fold(1.0, f64::max).ceil()
                    )
                }
                Finding::Failing => {
                    format!("{above} {by} where it has scores: its failed runs are left out")
                }
                Finding::Unclear => format!("not reliably above {names}"),
                Finding::Same => format!("level with {names}"),
                Finding::Nothing => format!("without a seed in common with {names}"),
            });
        }
        let clauses = match clauses.is_empty() {
            true => String::new(),
            false => format!(": {}", clauses.join("; ")),
        };
        format!(
            "{place}, {} scored {} on a scale from 0 (the floor) to 1 (all correct){clauses}.",
            self.leader(),
            fixed(mean, 2)
        )
    }
}

fn headline(questions: &[Question<'_>]) -> String {
    let subject = |tasks: &[&str]| match tasks.len() {
        0..=3 => format!("on {}", list(tasks)),
        n => format!("over these {n} tasks"),
    };
    // If both parts have the same tasks, they are named once.
    let mut named: &[&str] = &[];
    let mut answers = Vec::new();
    for question in questions {
        let answer = question.answer();
        answers.push(match named == question.tasks {
            true => answer,
            false => format!("{}, {answer}", subject(&question.tasks)),
        });
        named = &question.tasks;
    }
    let mut answers = answers.join(", and ");
    if let Some(first) = answers.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let findings: Vec<(Finding, usize)> = questions
        .iter()
        .filter(|question| !question.nobody_above_the_floor())
        .flat_map(|question| {
            question
                .findings()
                .into_iter()
                .map(|(_, f, c)| (f, c.seeds))
        })
        .collect();
    let seeds = findings.iter().map(|finding| finding.1).max().unwrap_or(0);
    let all = |of: &[Finding]| findings.iter().all(|(finding, _)| of.contains(finding));
    let strength = if findings.is_empty() {
        "."
    } else if seeds <= 1 {
        ". One seed cannot tell that from chance."
    } else if all(&[Finding::Different]) {
        ". That is more than chance explains."
    } else if all(&[Finding::Different, Finding::Agreeing]) {
        let proven = findings.iter().any(|f| f.0 == Finding::Different);
        let family = questions.iter().map(|question| question.family).max();
        &format!(
            ". Every seed agrees, but {seeds} seeds cannot prove {} ({}).",
            if proven { "all of it" } else { "it" },
            smallest(seeds, family.unwrap_or(1))
        )
    } else {
        &match findings.iter().any(|f| f.0 == Finding::Different) {
            true => format!(". With {seeds} seeds, part of that is more than chance explains."),
            false => format!(". With {seeds} seeds this is a hint, not a proof."),
        }
    };
    format!("{answers}{strength}")
}

/// The smallest p that is possible with these seeds, before and after the correction for a family of
/// comparisons.
fn smallest(seeds: usize, family: usize) -> String {
    let smallest = smallest_p(seeds);
    let corrected = (smallest * family as f64).min(1.0);
    match family {
        0 | 1 => format!("smallest p {}", p_text(smallest)),
        _ => format!(
            "smallest p {}, {} after the correction for {family} comparisons",
            p_text(smallest),
            p_text(corrected)
        ),
    }
}

/// A caution for the user's own data: every seed is tested on the same held-out rows.
fn one_split(summary: &Summary) -> Option<String> {
    summary.study.data.as_ref()?;
    let [inside, beyond] = summary.tasks.first()?.samples;
    let beyond = match beyond {
        0 => String::new(),
        n => format!(" and {n} longer ones"),
    };
    Some(format!(
        "All seeds are tested on the same part of the data, {inside} sequences{beyond}: intervals and p \
         say what other seeds would change, not what other data would."
    ))
}

/// A caution about the number of seeds: what it can prove, and how many would be needed.
fn caution(comparisons: &[Comparison]) -> Option<String> {
    let seeds = most_seeds(comparisons);
    let tests = tested(comparisons);
    if tests == 0 {
        return None;
    }
    let needed = seeds_needed(tests);
    let smallest = smallest_p(seeds);
    let corrected = (smallest * tests as f64).min(1.0);
    let family = match tests {
        1 => String::new(),
        _ => format!(
            ", and {} after the correction for {tests} comparisons",
            p_text(corrected)
        ),
    };
    Some(match seeds {
        1 => format!(
            "With 1 seed this is one observation: nothing is known about chance. {needed} seeds or more \
             can show a difference."
        ),
        _ if corrected >= LEVEL => format!(
            "{seeds} seeds can show no difference: the smallest p that a paired test can give with them is \
             {}{family}. {needed} seeds or more can get below {LEVEL}.",
            p_text(smallest)
        ),
        _ => format!(
            "With {seeds} seeds the smallest p that a paired test can give is {}{family}.",
            p_text(smallest)
        ),
    })
}

/// The largest number of seeds of any comparison.
pub fn most_seeds<'a>(comparisons: impl IntoIterator<Item = &'a Comparison>) -> usize {
    let seeds = comparisons.into_iter().map(|comparison| comparison.seeds);
    seeds.max().unwrap_or(0)
}

fn without_score(summary: &Summary) -> Option<String> {
    let failed = summary.trials - summary.finished - summary.not_run;
    let trials = summary.trials;
    let have = |n: usize| if n == 1 { "has" } else { "have" };
    let not_run = match summary.not_run {
        0 => None,
        n => Some(format!(
            "{n} of {trials} trials {} not been run yet",
            have(n)
        )),
    };
    if failed == 0 {
        return not_run.map(|not_run| format!("{not_run}. The averages leave that out."));
    }
    let mut which = Vec::new();
    for task in &summary.tasks {
        for scheme in task
            .schemes
            .iter()
            .filter(|scheme| !scheme.failed.is_empty())
        {
            let seeds: Vec<u64> = scheme.failed.iter().map(|failed| failed.0).collect();
            which.push(format!(
                "{} on {} ({})",
                scheme.scheme,
                task.task,
                seeds_text(&seeds)
            ));
        }
    }
    let which = match which.is_empty() {
        true => String::new(),
        false => format!(": {}", list(&which)),
    };
    Some(format!(
        "{failed} of {trials} trials failed{which}{}. The averages leave that out.",
        not_run.map_or(String::new(), |not_run| format!("; {not_run}"))
    ))
}

/// The runs that did not even solve the task inside the training lengths.
fn unsolved(summary: &Summary) -> Option<String> {
    let mut which = Vec::new();
    for task in &summary.tasks {
        for scheme in task
            .schemes
            .iter()
            .filter(|s| !s.unsolved_inside.is_empty())
        {
            let seeds = &scheme.unsolved_inside;
            let which_seeds = match seeds.len() == summary.study.seeds.len() {
                true => "every seed".into(),
                false => seeds_text(seeds),
            };
            which.push(format!(
                "{} on {} ({which_seeds})",
                scheme.scheme, task.task
            ));
        }
    }
    (!which.is_empty()).then(|| {
        format!(
            "Not solved even inside the training lengths: {}. The scores of these runs beyond say \
             nothing about the encoding.",
            list(&which)
        )
    })
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
    use crate::report::synthetic::Synthetic;

    /// Two schemes on one task: normalized scores inside, one a seed.
    fn two(a: &[f64], b: &[f64]) -> Vec<String> {
        let mut study = Synthetic::new(&["mine"], &["a", "b"], a.len() as u64);
        for (scheme, scores) in [("a", a), ("b", b)] {
            for (i, normalized) in scores.iter().enumerate() {
                let at = [(10, 0.25 + 0.75 * normalized)];
                study = study.score("mine", scheme, i as u64 + 1, &at);
            }
        }
        judged(Summary::of(&study.data())).verdict
    }

    #[test]
    fn one_seed_is_one_observation() {
        let verdict = two(&[0.9], &[0.5]);
        assert_eq!(
            verdict[0],
            "On mine, a scored highest on held-out data. One seed cannot tell that from chance."
        );
        assert_eq!(
            verdict[1],
            "On held-out data, a scored 0.90 on a scale from 0 (the floor) to 1 (all correct): above b by \
             0.40 at the one seed there is."
        );
        assert!(
            verdict[2].starts_with("With 1 seed this is one observation"),
            "{verdict:?}"
        );
        assert!(verdict[2].contains("6 seeds or more"), "{verdict:?}");
    }

    #[test]
    fn the_leader_is_that_of_the_interquartile_mean_and_an_opposed_mean_is_unclear() {
        let mut study = Synthetic::new(&["x", "y", "z"], &["a", "b"], 8);
        for seed in 1..=8 {
            for (task, of_a) in [("x", 1.0), ("y", 0.3), ("z", 0.3)] {
                for (scheme, normalized) in [("a", of_a), ("b", 0.5)] {
                    let at = [(10, 0.25 + 0.75 * normalized)];
                    study = study.score(task, scheme, seed, &at);
                }
            }
        }
        // Interquartile means 0.42 and 0.50, means 0.53 and 0.50 at every seed.
        let verdict = judged(Summary::of(&study.data())).verdict;
        assert!(
            verdict[0].starts_with("On x, y and z, b and a are too close to call"),
            "{verdict:?}"
        );
        assert!(
            verdict[1].contains("b scored 0.50") && verdict[1].contains("not reliably above a"),
            "{verdict:?}"
        );
    }

    #[test]
    fn a_part_is_said_of_the_tasks_that_have_it() {
        let mut study = Synthetic::new(&["x", "y"], &["a", "b"], 1);
        for (scheme, normalized) in [("a", 0.9), ("b", 0.5)] {
            let accuracy = 0.2 + 0.8 * normalized;
            study = study.score("x", scheme, 1, &[(10, accuracy)]);
            study = study.score("y", scheme, 1, &[(10, accuracy), (40, accuracy)]);
        }
        let verdict = judged(Summary::of(&study.data())).verdict;
        assert!(
            verdict[0].starts_with(
                "On x and y, a scored highest inside the training lengths, and on y, a scored \
                 highest beyond the training lengths."
            ),
            "{verdict:?}"
        );
    }

    #[test]
    fn two_and_five_seeds_that_agree_cannot_prove_it() {
        let verdict = two(&[0.9, 0.8], &[0.5, 0.4]);
        assert_eq!(
            verdict[0],
            "On mine, a scored highest on held-out data. Every seed agrees, but 2 seeds cannot prove it \
             (smallest p 0.5)."
        );
        let verdict = two(&[0.9, 0.8, 0.9, 0.8, 0.9], &[0.5, 0.4, 0.5, 0.4, 0.5]);
        assert!(
            verdict[0].contains("5 seeds cannot prove it (smallest p 0.0625)"),
            "{verdict:?}"
        );
        assert!(
            verdict[2].starts_with("5 seeds can show no difference"),
            "{verdict:?}"
        );
        assert!(
            verdict[2].ends_with("6 seeds or more can get below 0.05."),
            "{verdict:?}"
        );
    }

    #[test]
    fn six_seeds_that_agree_can() {
        let verdict = two(
            &[0.9, 0.8, 0.9, 0.8, 0.9, 0.9],
            &[0.5, 0.4, 0.5, 0.4, 0.5, 0.5],
        );
        assert_eq!(
            verdict[0],
            "On mine, a scored highest on held-out data. That is more than chance explains."
        );
        assert!(
            verdict[1].contains("(corrected p 0.0312 or less, 6 seeds)"),
            "{verdict:?}"
        );
        assert_eq!(
            verdict[2],
            "With 6 seeds the smallest p that a paired test can give is 0.0312."
        );
    }

    #[test]
    fn one_task_goes_by_the_mean_and_a_seed_that_failed_counts() {
        // The interquartile mean of the first would leave the last seed out: 0.95.
        let verdict = two(&[0.95, 0.95, 0.95, 0.0], &[0.9; 4]);
        assert!(verdict[1].contains("b scored 0.90"), "{verdict:?}");
    }

    #[test]
    fn a_difference_of_a_few_sequences_claims_nothing() {
        // Of 512 sequences 0.01 of the normalized score is 3.84.
        let verdict = two(&[0.91; 6], &[0.9; 6]);
        assert!(
            verdict[0].starts_with("On mine, a and b are too close to call")
                && verdict[0].ends_with("this is a hint, not a proof."),
            "{verdict:?}"
        );
        assert!(
            verdict[1]
                .ends_with("above b by 0.01, which amounts to 4 or fewer of the tested sequences."),
            "{verdict:?}"
        );
    }

    #[test]
    fn a_leader_with_failed_runs_is_ahead_where_it_has_scores() {
        let mut study = Synthetic::new(&["mine", "reverse"], &["a", "b"], 6);
        for seed in 1..=6 {
            for (scheme, normalized) in [("a", 0.9), ("b", 0.5)] {
                let (inside, beyond) = (0.25 + 0.75 * normalized, 0.2 + 0.8 * normalized);
                study = study.score("reverse", scheme, seed, &[(10, inside), (40, beyond)]);
                study = match (scheme, seed) {
                    ("a", 3) => study.fail("mine", scheme, seed, "diverged"),
                    _ => study.score("mine", scheme, seed, &[(10, inside)]),
                };
            }
        }
        let verdict = judged(Summary::of(&study.data())).verdict;
        assert!(
            verdict[0].starts_with("On mine and reverse, a scored highest inside the training"),
            "{verdict:?}"
        );
        assert!(
            verdict[1].ends_with(
                "on average above b by 0.40 where it has scores: its failed runs are left out."
            ),
            "{verdict:?}"
        );
        // Nothing failed beyond, which `mine` does not have.
        assert!(
            verdict[2].contains("above b by 0.40, and at every seed")
                || verdict[2].contains("more than chance"),
            "{verdict:?}"
        );
    }

    #[test]
    fn six_seeds_that_disagree_claim_nothing() {
        let verdict = two(
            &[0.9, 0.3, 0.9, 0.8, 0.2, 0.9],
            &[0.5, 0.4, 0.5, 0.4, 0.5, 0.5],
        );
        assert!(
            verdict[0].contains("a and b are too close to call at the top"),
            "{verdict:?}"
        );
        assert!(verdict[1].contains("not reliably above b"), "{verdict:?}");
        assert!(
            !verdict.join(" ").contains("more than chance explains ("),
            "{verdict:?}"
        );
    }

    #[test]
    fn equal_scores_are_level() {
        let verdict = two(&[0.9, 0.8], &[0.9, 0.8]);
        assert!(
            verdict[0].contains("a and b are too close to call"),
            "{verdict:?}"
        );
        assert!(verdict[1].contains("level with b"), "{verdict:?}");
    }

    #[test]
    fn a_floor_is_called_a_floor() {
        let verdict = two(&[0.01, 0.0], &[-0.02, 0.0]);
        assert_eq!(
            verdict[0],
            "On mine, no scheme got above the floor on held-out data."
        );
    }

    #[test]
    fn missing_and_failed_trials_are_counted_and_named() {
        let study = Synthetic::new(&["mine", "yours"], &["a", "b"], 2)
            .score("mine", "a", 1, &[(10, 0.9)])
            .score("mine", "b", 1, &[(10, 0.5)])
            .fail("mine", "b", 2, "diverged");
        let verdict = judged(Summary::of(&study.data())).verdict;
        let said = verdict.last().unwrap();
        assert_eq!(
            said,
            "1 of 8 trials failed: b on mine (seed 2); 5 of 8 trials have not been run yet. The averages \
             leave that out."
        );
        assert!(verdict[0].contains("One seed cannot tell"), "{verdict:?}");

        let only_a = Synthetic::new(&["mine"], &["a", "b"], 1).score("mine", "a", 1, &[(10, 0.9)]);
        let verdict = judged(Summary::of(&only_a.data())).verdict;
        assert_eq!(verdict[0], "On mine, only a has a score on held-out data.");
    }

    #[test]
    fn failing_inside_is_told_apart_from_failing_beyond() {
        let study = Synthetic::new(&["reverse"], &["none", "learned"], 1)
            .score("reverse", "none", 1, &[(10, 0.3), (40, 0.2)])
            .score("reverse", "learned", 1, &[(10, 1.0), (40, 0.2)]);
        let verdict = judged(Summary::of(&study.data())).verdict;
        assert!(
            verdict[0].contains("learned scored highest inside the training lengths, and no scheme got above the floor beyond the training lengths"),
            "{verdict:?}"
        );
        let last = verdict.last().unwrap();
        assert!(
            last.starts_with(
                "Not solved even inside the training lengths: none on reverse (every seed)."
            ),
            "{last}"
        );
    }

    #[test]
    fn a_study_without_any_result_has_a_verdict() {
        let study = Synthetic::new(&["reverse", "mine"], &["a", "b"], 3);
        assert!(!judged(Summary::of(&study.data())).verdict.is_empty());
    }

    #[test]
    fn no_result_is_no_verdict() {
        let study = Synthetic::new(&["mine"], &["a"], 2).fail("mine", "a", 1, "diverged");
        let verdict = judged(Summary::of(&study.data())).verdict;
        assert_eq!(verdict, ["No trial has a score, so nothing can be said."]);
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
