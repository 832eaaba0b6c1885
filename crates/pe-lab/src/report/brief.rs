//! The answer of a report in a terminal, and one small table.

use super::columns::{Columns, align, wrapped};
use super::comparison::Part;
use super::summary::{SchemeOverall, Summary, TaskSummary};
use super::table::{interval, number, score};
use super::verdict;

/// The table names this many schemes, and one more if that is the last; it counts the rest.
const NAMED: usize = 7;

/// Renders the answer, a table of the schemes, and as many of the cautions as fit into so many lines.
pub fn render(summary: &Summary, lines: usize) -> String {
    let answer = summary.verdict.first().map_or("", String::as_str);
    let mut out = wrapped(&format!("{answer}\n"));
    if summary.finished == 0 {
        return out;
    }
    out.push_str(&format!("\n{}", table(&summary.by_score())));
    let height = |text: &str| text.lines().count();
    let more = format!(
        "\n--details prints all {} paragraphs of the verdict and every table\n",
        summary.verdict.len()
    );
    let mut first = true;
    for caution in verdict::cautions(summary) {
        let said = wrapped(&format!("{}- {caution}\n", if first { "\n" } else { "" }));
        if height(&out) + height(&said) + height(&more) <= lines {
            out.push_str(&said);
            first = false;
        }
    }
    out.push_str(&more);
    out
}

fn table(summary: &Summary) -> String {
    let two_parts = summary.schemes.iter().any(|of| of.beyond.is_some());
    let has_floor = summary.tasks.iter().any(TaskSummary::has_floor);
    let names = match two_parts {
        true => Part::names(summary.resolutions()),
        false => ["score", ""],
    };
    // With one task, its score before normalization too, if there is a floor to normalize by.
    let only = match &summary.tasks[..] {
        [only] if has_floor => Some(only),
        _ => None,
    };
    let mut columns = Columns::of("scheme", |of: &SchemeOverall| of.scheme.clone());
    if let Some(task) = only {
        columns.add(task.measure.name(), |of| {
            let group = task.scheme(&of.scheme).and_then(|of| of.inside.as_ref());
            score(&task.measure, group.map(|group| group.mean))
        });
    }
    let parts = Part::ALL.into_iter().zip(names);
    for (part, name) in parts.take(1 + usize::from(two_parts)) {
        columns.add(name, move |of| number(of.part(part).map(|of| of.mean), 2));
        columns.add("95 %", move |of| {
            interval(of.part(part).and_then(|of| of.interval))
        });
    }
    if summary.schemes.iter().any(|of| of.failed > 0) {
        columns.add("failed", |of| of.failed.to_string());
    }
    let shown = match summary.schemes.len() {
        few if few <= NAMED + 1 => few,
        _ => NAMED,
    };
    let rows = columns.rows(summary.schemes.iter().take(shown));
    let rest = match summary.schemes.len() - shown {
        0 => String::new(),
        rest => format!("  and {rest} more\n"),
    };
    let lengths = match two_parts && !summary.resolutions() {
        true => "  inside: at the lengths of the training; beyond: at longer ones\n",
        false => "",
    };
    format!(
        "{}{rest}{lengths}  {}95 %: the interval of the mean over seeds\n",
        align(&rows),
        if has_floor {
            "0: no skill; 1: perfect; "
        } else {
            ""
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::Says;
    use crate::report::synthetic::Synthetic;

    #[test]
    fn a_terminal_shows_the_answer_first_and_no_more_lines_than_asked_for() {
        let many: Vec<String> = (0..14).map(|nth| format!("scheme-{nth}")).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        let at = [(10, 0.9), (40, 0.4)];
        let mut wide = Synthetic::each(&["reverse"], &names, 2, |_, _, _| at);
        wide.spec.seeds.push(3);
        for scheme in names {
            wide = wide.fail("reverse", scheme, 3, "diverged");
        }
        for study in [Synthetic::large(5), wide.clone()] {
            let summary = study.judged();
            let shown = render(&summary, 24);
            let is_narrow = shown.lines().all(|line| line.chars().count() <= 80);
            assert!(is_narrow && shown.lines().count() <= 24, "{shown}");
            let words: Vec<&str> = shown.split_whitespace().collect();
            assert!(words.join(" ").starts_with(&summary.verdict[0]), "{shown}");
            let more = format!("all {} paragraphs of the", summary.verdict.len());
            shown.says_all(&["\n--details prints ", &more, "; beyond: at longer ones\n"]);
        }
        let shown = render(&wide.judged(), 24);
        // The sentence about failed trainings fits, and is shown.
        shown.says_all(&["and 7 more", "- 14 of 42 trainings failed"]);
    }
}
