//! Whether other test rows would say the same.

use super::words::{part, tasks_of};
use crate::report::comparison::{Comparison, Headline, Part};
use crate::report::data::{file_title, tested_file};
use crate::report::number::fixed;
use crate::report::summary::{SchemeOverall, Summary, least_to_lead};
use crate::report::words::{list, range, spoken};
use crate::stats::OtherRows;
use crate::task::TestRows;

/// Whether other rows of a person's data would say the same. Every seed is tested on the same ones.
pub(super) fn of(summary: &Summary, headline: &Headline) -> Option<String> {
    let Some(data) = summary.origin.own_data() else {
        return of_the_laboratory(summary, headline.part);
    };
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
                tested_file(data)
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
            tested_file(data)
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
    let units = match (&data.reading.group, rows.units == tested) {
        (Some(_), _) => "groups",
        (None, true) => "rows",
        (None, false) => "different rows",
    };
    let evidence = format!(
        "{} against {}: {}{}; it is right more often on {for_leader} {units}, and less often on {against}",
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
        })
    );
    Some(match rows.established() {
        true => format!("{all}; other rows like these would also put {leader} first ({evidence})."),
        false => format!(
            "{all}: that other rows like these would put {leader} first is not established ({evidence})."
        ),
    })
}

/// The tasks of the laboratory with real data: no run of them tells what other rows would say.
fn of_the_laboratory(summary: &Summary, part: Part) -> Option<String> {
    let fixed = summary
        .tasks
        .iter()
        .filter(|task| task.rows != TestRows::Drawn);
    let names: Vec<&str> = fixed.map(|task| task.title.as_str()).collect();
    (part == Part::Inside && !names.is_empty()).then(|| {
        format!(
            "All seeds are tested on the same sequences of {}: what others would say is not known.",
            list(&names)
        )
    })
}
