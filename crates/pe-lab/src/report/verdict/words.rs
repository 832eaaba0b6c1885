//! What a headline is about, in words.

use crate::report::comparison::{Headline, Part};
use crate::report::data::tested_file;
use crate::report::summary::Summary;
use crate::report::words::{fixed, list};

/// The loss of a scheme in its own unit, where the headline is about one task that is scored by a loss.
pub(super) fn loss(summary: &Summary, headline: &Headline, scheme: &str) -> String {
    let of_task = || {
        let task = summary.only_task_of(headline)?;
        let group = task.scheme(scheme)?.part(headline.part)?;
        let name = task.measure.name();
        task.measure
            .is_loss()
            .then(|| format!(", {} {name}", fixed(group.mean, 2)))
    };
    of_task().unwrap_or_default()
}

/// `Inside`, `Beyond`, or what was held out if there is one part.
pub(super) fn place(summary: &Summary, part: Part) -> &'static str {
    match (part, summary.has_two_parts(), summary.resolutions()) {
        (Part::Inside, true, false) => "Inside the training lengths",
        (Part::Inside, true, true) => "At the resolution of the training",
        (Part::Inside, false, _) if summary.study().is_none() => "By these scores",
        (Part::Inside, false, _) => "On held-out data",
        (Part::Beyond, _, false) => "Beyond",
        (Part::Beyond, _, true) => "At other resolutions",
    }
}

/// Over what the mean is taken.
pub(super) fn subject(summary: &Summary, headline: &Headline) -> String {
    match (summary.origin.own_data(), &headline.tasks[..]) {
        (Some(data), _) => format!("on {}", tested_file(data)),
        (None, [task]) => format!("on {task}"),
        (None, tasks @ ([] | [_, _] | [_, _, _])) => format!("on the mean over {}", list(tasks)),
        (None, tasks) => format!("on the mean over these {} tasks", tasks.len()),
    }
}
