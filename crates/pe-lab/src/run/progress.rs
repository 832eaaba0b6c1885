//! The progress of a study: bars on a terminal, one line per finished trial elsewhere.

use std::io::IsTerminal;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::ask::TrialSpec;

/// Where the progress of a study is shown.
pub struct Progress(Option<Bars>);

struct Bars {
    all: MultiProgress,
    study: ProgressBar,
}

impl Progress {
    /// Bars if standard error is a terminal, lines if it is not.
    pub fn to_stderr() -> Self {
        Self(std::io::stderr().is_terminal().then(|| Bars {
            all: MultiProgress::new(),
            study: ProgressBar::new(0),
        }))
    }

    pub(super) fn start(&self, work: u64) {
        if let Some(bars) = &self.0 {
            // Added before it is styled: a bar outside of the group draws itself at once.
            bars.all.add(bars.study.clone());
            bars.study
                .set_style(style("study {wide_bar} {percent}%  {eta} left"));
            bars.study.set_length(work);
        }
    }

    /// Adds the bar of a trial that starts, above the bar of the study.
    pub(super) fn trial(&self, trial: &TrialSpec) -> Option<ProgressBar> {
        let bars = self.0.as_ref()?;
        let bar = bars
            .all
            .insert_before(&bars.study, ProgressBar::new(trial.steps as u64));
        bar.set_style(style("{prefix:<28} {bar:30} {pos} of {len} steps"));
        bar.set_prefix(trial.id());
        Some(bar)
    }

    pub(super) fn advance(&self, work: u64) {
        if let Some(bars) = &self.0 {
            bars.study.inc(work);
        }
    }

    pub(super) fn finished(&self, line: &str) {
        match &self.0 {
            // A terminal that was closed does not stop the study.
            Some(bars) => drop(bars.all.println(line)),
            None => eprintln!("{line}"),
        }
    }

    pub(super) fn end(&self) {
        if let Some(bars) = &self.0 {
            bars.study.finish_and_clear();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
