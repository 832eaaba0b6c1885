//! Whether other test rows would say the same.

use super::found;
use crate::data::DataSpec;
use crate::report::comparison::{Comparison, Headline, Part};
use crate::report::data::{file_title, tested_file};
use crate::report::summary::Summary;
use crate::report::words::{counted, fixed, list, range, spoken};
use crate::stats::OtherRows;
use crate::task::TestRows;

/// Whether other rows of a person's data would say the same. Every seed is tested on the same rows.
pub(super) fn of(summary: &Summary, headline: &Headline) -> Option<String> {
    let Some(data) = summary.origin.own_data() else {
        return of_the_laboratory(summary, headline.part);
    };
    // With folds, each task tests one part of the data; otherwise one task tests all of them.
    let mut tasks = summary.tasks.iter();
    let tested = tasks.clone().map(|of| of.samples[headline.part as usize]);
    let tested: usize = tested.sum();
    let leader = headline.order.first()?;
    if tasks.all(|task| task.rows == TestRows::Neighbours) {
        let once = headline.part == Part::Inside;
        return once.then(|| {
            format!(
                "All seeds are tested on the same part of {}: what other parts would say is not known.",
                tested_file(data)
            )
        });
    }
    if found::unsolved(summary, headline).is_some() {
        return None;
    }
    let all = tested_rows(summary, data, headline.part, tested);
    // A pair without an interval, as it has few seeds, counts as the closest: then nothing is claimed. Nor is it where others
    // have the mean of the leader.
    let closest = closest(summary, headline.part, leader);
    let known = |(pair, rows): &(&Comparison, OtherRows)| rows.interval.is_some() && !pair.is_tie();
    let Some((pair, rows)) = closest.filter(known) else {
        return Some(format!("{all}: what other rows would say is not known."));
    };
    let leader = spoken(leader);
    let evidence = evidence(data, pair, rows, tested);
    Some(match (rows.established(), headline.best) {
        (true, true) => {
            format!("{all}; other rows like these would also put {leader} first ({evidence}).")
        }
        (true, false) => format!(
            "{all}: that {leader} is best is not established on these rows, so nothing is claimed of others ({evidence})."
        ),
        (false, _) => format!(
            "{all}: that other rows like these would put {leader} first is not established ({evidence})."
        ),
    })
}

/// `All seeds are tested on the same 89 rows of reviews.csv`.
fn tested_rows(summary: &Summary, data: &DataSpec, part: Part, tested: usize) -> String {
    let rows = counted(tested, "row");
    match (part, data.folds) {
        (Part::Inside, None) => format!(
            "All seeds are tested on the same {rows} of {}",
            tested_file(data)
        ),
        (Part::Inside, Some(folds)) => format!(
            "Every seed is tested once on each of {rows} of {}, in {folds} parts",
            file_title(data)
        ),
        (Part::Beyond, _) => format!(
            "The same {rows} {}",
            match summary.resolutions() {
                true => "at other resolutions",
                false => "beyond training",
            }
        ),
    }
}

/// The leader's pair whose interval has the lowest end, among those that are not established if there are any.
fn closest<'a>(
    summary: &'a Summary,
    part: Part,
    leader: &str,
) -> Option<(&'a Comparison, OtherRows)> {
    let pairs = summary.comparisons.iter();
    pairs
        .filter(|pair| pair.part == part && pair.higher == *leader)
        .filter_map(|pair| Some((pair, pair.other_rows?)))
        .min_by(|(_, a), (_, b)| {
            let low = |of: &OtherRows| of.interval.map_or(f64::MIN, |i| i.low);
            let established = a.established().cmp(&b.established());
            established.then(low(a).total_cmp(&low(b)))
        })
}

/// `rotary against alibi: 0.03, 95 % -0.01 to 0.07 over seeds and rows; it is better on 12 rows, and worse on 7`.
fn evidence(data: &DataSpec, pair: &Comparison, rows: OtherRows, tested: usize) -> String {
    let [for_leader, against] = rows.rows;
    let unit = match (&data.reading.group, rows.units == tested) {
        (Some(_), _) => "group",
        (None, true) => "row",
        (None, false) => "different row",
    };
    let for_leader = counted(for_leader, unit);
    let interval = rows.interval.map_or(String::new(), |interval| {
        let percent = 100.0 * (1.0 - rows.error);
        let digits = usize::from(percent != 95.0) * 2;
        format!(
            ", {} % {} over seeds and rows",
            fixed(percent, digits),
            range(interval)
        )
    });
    format!(
        "{} against {}: {}{interval}; it is better on {for_leader}, and worse on {against}",
        spoken(&pair.higher),
        spoken(&pair.lower),
        fixed(rows.difference, 2),
    )
}

/// The tasks of the laboratory with real data: no run of them tells what other rows would say.
fn of_the_laboratory(summary: &Summary, part: Part) -> Option<String> {
    let tasks = summary.tasks.iter();
    let tested = tasks.filter(|task| task.samples[part as usize] > 0);
    let fixed = tested.filter(|task| task.rows != TestRows::Drawn);
    let names: Vec<&str> = fixed.map(|task| task.title.as_str()).collect();
    (part == Part::Inside && !names.is_empty()).then(|| {
        format!(
            "All seeds are tested on the same sequences of {}: what others would say is not known.",
            list(&names)
        )
    })
}
