//! The progress of a study or of one training: bars on a terminal, lines elsewhere, or nothing.

use std::io::IsTerminal;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::ask::TrialSpec;
use crate::console::{moves_the_cursor, tell, visible};

/// How the progress of a study is shown.
pub enum Progress {
    /// Not at all.
    Silent,
    /// A line per finished trial.
    Lines,
    /// Bars.
    Bars(Bars),
}

/// A bar for the study, and one for each trial that runs.
pub struct Bars {
    all: MultiProgress,
    study: ProgressBar,
}

impl Progress {
    /// Bars if standard error is a terminal that can show them, lines if it is not.
    pub fn to_stderr() -> Self {
        match std::io::stderr().is_terminal() && moves_the_cursor() {
            false => Self::Lines,
            true => Self::Bars(Bars {
                all: MultiProgress::new(),
                study: ProgressBar::new(0),
            }),
        }
    }

    fn bars(&self) -> Option<&Bars> {
        match self {
            Self::Bars(bars) => Some(bars),
            Self::Silent | Self::Lines => None,
        }
    }

    pub(super) fn start(&self, work: u64) {
        if let Some(bars) = self.bars() {
            // Added before it is styled: a bar outside of the group draws itself at once.
            bars.all.add(bars.study.clone());
            bars.study
                .set_style(style("study {wide_bar} {percent}%  {eta} left"));
            bars.study.set_length(work);
        }
    }

    /// Adds the bar of a trial that starts, above the bar of the study.
    pub(super) fn trial(&self, trial: &TrialSpec) -> Option<ProgressBar> {
        let bars = self.bars()?;
        let bar = bars
            .all
            .insert_before(&bars.study, ProgressBar::new(trial.most_steps() as u64));
        bar.set_style(style(match trial.auto_from {
            None => "{prefix:<28} {bar:30} {pos} of {len} steps",
            Some(_) => "{prefix:<28} {bar:30} {pos} of at most {len} steps",
        }));
        bar.set_prefix(trial.id());
        Some(bar)
    }

    /// The bar of one training, with its last loss as the message.
    pub(crate) fn training(&self, trial: &TrialSpec) -> ProgressBar {
        let Some(bars) = self.bars() else {
            return ProgressBar::hidden();
        };
        let bar = bars.all.add(ProgressBar::new(trial.steps as u64));
        bar.set_style(style(
            "{prefix:<28} {wide_bar} {pos} of {len} steps  loss {msg}  {eta} left",
        ));
        bar.set_prefix(trial.id());
        bar
    }

    pub(super) fn advance(&self, work: u64) {
        if let Some(bars) = self.bars() {
            bars.study.inc(work);
        }
    }

    pub(super) fn finished(&self, line: &str) {
        match self {
            // A terminal that was closed does not stop the study.
            Self::Bars(bars) => drop(bars.all.println(visible(line))),
            Self::Lines => tell(line),
            Self::Silent => {}
        }
    }

    pub(super) fn end(&self) {
        if let Some(bars) = self.bars() {
            bars.study.finish_and_clear();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
