//! How a study came to its number of seeds.

use crate::ask::Grown;
use crate::report::summary::Summary;
use crate::report::words::{counted, list};

/// What a study had before something was added to it, or its steps were changed.
pub(super) fn grown(before: &[Grown]) -> Option<String> {
    let had = |of: &Grown| {
        let steps = of.steps.iter();
        let steps = steps.map(|task| format!("{} on {}", task.in_words(), task.name));
        let steps: Vec<String> = steps.collect();
        let had = list(&[
            counted(of.seeds, "seed"),
            counted(of.schemes, "scheme"),
            counted(of.tasks, "task"),
        ]);
        match steps.is_empty() {
            true => had,
            false => format!("{had}, with {}", list(&steps)),
        }
    };
    let had: Vec<String> = before.iter().map(had).collect();
    (!had.is_empty()).then(|| {
        format!(
            "The study was added to or changed after it had begun, when it had {}. The tests allow for one look \
             at the results: if it was changed because of what they showed, its claims are false more often. To \
             look several times, begin a study with --until decided.",
            had.join("; then ")
        )
    })
}

/// How far a study is that stops when it is decided.
pub(super) fn looks(summary: &Summary) -> Option<String> {
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
