//! Whether one task decides which scheme leads.

use super::found;
use super::words::place;
use crate::report::comparison::{Comparison, Headline, LeftOut};
use crate::report::summary::Summary;
use crate::report::words::{fixed, joined, spoken};
use crate::stats::EQUAL;

/// Which schemes have the highest mean if each task is left out in turn. It describes the scores, and claims nothing of them.
pub(super) fn of(summary: &Summary, headline: &Headline) -> Option<String> {
    let leader = headline.order.first()?;
    if headline.left_out.is_empty() || found::unsolved(summary, headline).is_some() {
        return None;
    }
    // Of several schemes with the same mean over all tasks none leads.
    let second = headline.order.get(1);
    if second
        .and_then(|of| summary.pair(headline, of))
        .is_some_and(Comparison::is_tie)
    {
        return None;
    }
    let leads = |of: &&LeftOut| of.highest == *leader && of.ahead >= EQUAL;
    let others: Vec<String> = (headline.left_out.iter())
        .filter(|of| !leads(of))
        .map(|of| match of.ahead < EQUAL {
            true => format!("{} (then two have the same mean)", of.task),
            false => {
                let ahead = fixed(of.ahead, 2);
                format!("{} (then {}, by {ahead})", of.task, spoken(&of.highest))
            }
        })
        .collect();
    let name = spoken(leader);
    let mut text = match others.is_empty() {
        true => format!("{name} is highest, whichever task is left out"),
        false => format!(
            "{name} is highest, except without {}",
            joined(&others, "or")
        ),
    };
    let open: Vec<String> = (headline.left_out.iter())
        .filter(|of| leads(of) && headline.best && !of.best)
        .map(|of| of.task.clone())
        .collect();
    if !open.is_empty() {
        let tasks = match open.len() {
            n if n == headline.left_out.len() => "any one of the tasks".into(),
            _ => joined(&open, "or"),
        };
        text.push_str(&format!(
            ". Without {tasks} it is no longer established as best"
        ));
    }
    let place = place(summary, headline.part);
    Some(format!("{place}, each task left out in turn: {text}."))
}

#[cfg(test)]
mod tests {
    use crate::report::summary::Summary;
    use crate::report::synthetic::Synthetic;

    /// Normalized scores of `a` and `b` on each task, with three seeds around them.
    fn said(tasks: &[(&str, f64, f64)]) -> Option<String> {
        let names: Vec<&str> = tasks.iter().map(|of| of.0).collect();
        let study = Synthetic::each(&names, &["a", "b"], 5, |task, scheme, seed| {
            let (_, a, b) = tasks.iter().find(|of| of.0 == task).unwrap();
            let score = if scheme == "a" { a } else { b } + 0.01 * (seed as f64 - 3.0);
            [(10, 0.25 + 0.75 * score)]
        });
        let summary = Summary::of(&study.data());
        super::of(&summary, &summary.headlines[0])
    }

    #[test]
    fn a_lead_that_one_task_makes_is_said_with_the_task() {
        let open = "whichever task is left out. Without x it is no longer established as best.";
        for (b_on_x, b, said_of_a) in [
            (0.1, 0.6, "except without x (then b, by 0.10)."),
            (0.1, 0.4, "whichever task is left out."),
            (0.2, 0.495, open),
        ] {
            assert_eq!(
                said(&[("x", 0.9, b_on_x), ("y", 0.5, b), ("z", 0.5, b)]).unwrap(),
                format!("On held-out data, each task left out in turn: a is highest, {said_of_a}")
            );
        }
        // Without x both have the same mean.
        let tied = said(&[("x", 0.9, 0.1), ("y", 0.5, 0.6), ("z", 0.5, 0.4)]).unwrap();
        assert!(
            tied.ends_with("a is highest, except without x (then two have the same mean)."),
            "{tied}"
        );
        // Over all tasks both have the same mean, so neither leads.
        assert_eq!(
            said(&[("x", 0.9, 0.5), ("y", 0.5, 0.9), ("z", 0.5, 0.5)]),
            None
        );
        // Two tasks leave no mean.
        assert_eq!(said(&[("x", 0.9, 0.1), ("y", 0.5, 0.6)]), None);
    }
}
