//! The files of a study: where each of them is, and how they are written.
//!
//! ```text
//! pe-lab-results/
//! ├── study.json           what the study runs; its presence makes the folder a study's
//! ├── study.toml           the same as a plan, to run the study again
//! ├── study.lock           locked while a process works on the study
//! ├── data/FILE            a copy of the user's data, if the study has any; a file called test, labels or tokenizer is in data/own
//! ├── data/test/FILE       a copy of the user's test file
//! ├── data/labels/FILE     a copy of the user's table of classes
//! ├── data/tokenizer/      a copy of the user's tokenizer, and the tokens that it made of the text
//! ├── trials/TASK-SCHEME-SEED/
//! │   ├── spec.json        what the trial runs
//! │   ├── result.json      its scores, or the reason why it has none
//! │   ├── failure.json     why the last attempt left no result
//! │   ├── curve.json       while it runs: its loss on held-out sequences so far
//! │   ├── worker.log       what its process wrote to standard error
//! │   ├── encoding.csv     what the trained scheme adds to the token embeddings
//! │   ├── weights.bpk      only on the user's data: the trained weights
//! │   ├── losses.json      only with checkpoints: the loss of every step so far
//! │   └── checkpoint/      only with checkpoints: the parts of the last two, each with its digest
//! ├── trials/TASK-SCHEME-SEED-at-STEPS/   the same at another number of steps (or auto-FIRST-LIMIT), kept for when it is asked for
//! ├── results.csv          the report: one row per trial and length
//! ├── results.jsonl        everything that was measured, one line per trial
//! ├── depths.csv           only with `mqar` or `passkey`: the scores by depth
//! ├── costs.json           what each scheme costs, if it was measured
//! ├── summary.json         the numbers and sentences of the report
//! ├── winner.json          the scheme that scored highest, as a configuration of pe-burn
//! ├── winner.bpk           only on the user's data: the weights of its best model, for `pe-lab predict`
//! ├── report.html          the report as one page
//! ├── NAME.svg             its figures
//! └── paper/               only with --paper: table.md, table.tex, methods.md, methods.tex, references.bib, NAME.pdf
//! ```

mod seal;
mod write;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub use crate::door::{Entry, is_unfinished, unfinished};
pub use seal::{read_sealed, write_sealed};
pub use write::{
    create, is_same, is_there, make_folder, make_named_folder, names, of_digest, read_bounded,
    read_json, remove, remove_all, remove_unfinished, rename, write_by, write_csv, write_json,
    write_whole,
};

use crate::data::{DataSpec, FileSpec};

const TEST: &str = "test";
const TOKENIZER: &str = "tokenizer";
const LABELS: &str = "labels";
const IDS: &str = "ids.u32.bin";

/// Where a copy of the user's file is in `folder`: in the subfolder `own` if its name is one of `others`, which the study
/// needs itself, or that of an unfinished file.
fn beside(others: &[&str], folder: &Entry, file: &str) -> Entry {
    // Some file systems do not tell capital letters from small ones.
    let is_taken = others.iter().any(|name| name.eq_ignore_ascii_case(file));
    match is_taken || is_unfinished(OsStr::new(file)) {
        true => folder.entry("own").entry(file),
        false => folder.entry(file),
    }
}

/// A file of the user's, and the study's copy of it.
pub type Copied = (FileSpec, Entry);

/// The files that data are made of, as [`DataSpec`] names them.
pub struct Copies {
    /// The rows, the text or the like.
    pub data: Copied,
    /// The file to test on.
    pub test: Option<Copied>,
    /// The `tokenizer.json`.
    pub tokenizer: Option<Copied>,
    /// The table of classes.
    pub labels: Option<Copied>,
}

/// The folder of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyFolder(PathBuf);

impl StudyFolder {
    /// Its path where none is named.
    pub const DEFAULT: &str = "pe-lab-results";
    /// The table of the report.
    pub const RESULTS_CSV: &str = "results.csv";
    /// Everything that was measured.
    pub const RESULTS_JSONL: &str = "results.jsonl";
    /// The numbers and sentences of the report.
    pub const SUMMARY: &str = "summary.json";
    /// The page of the report.
    pub const PAGE: &str = "report.html";
    /// The plan that runs the study again.
    pub const PLAN: &str = "study.toml";
    /// What the study runs.
    pub const SPEC: &str = "study.json";
    /// The lock of the process that works on the study.
    pub const LOCK: &str = "study.lock";
    /// The folder of the copies of data.
    pub const DATA: &str = "data";
    const TRIALS: &str = "trials";

    /// The study folder at a path. Nothing is read or written.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// What lies at a path inside.
    pub fn entry(&self, inside: impl AsRef<Path>) -> Entry {
        Entry::inside(&self.0, inside)
    }

    /// The file that says what the study runs.
    pub fn spec(&self) -> Entry {
        self.entry(Self::SPEC)
    }

    /// The file that is locked while a process works on the study.
    pub fn lock(&self) -> Entry {
        self.entry(Self::LOCK)
    }

    /// The plan that runs the study again.
    pub fn plan(&self) -> Entry {
        self.entry(Self::PLAN)
    }

    /// The copies of the files of these data. A test, a tokenizer and a table of classes have folders of their own, since they may
    /// have the name of the data file.
    pub fn copies(&self, data: &DataSpec) -> Copies {
        let place = self.entry(Self::DATA);
        let copied = |of: &FileSpec, place: &Entry, others: &[&str]| -> Copied {
            (of.clone(), beside(others, place, &of.file))
        };
        let in_own = |of: &Option<FileSpec>, name: &str, others: &[&str]| {
            let of = of.as_ref();
            of.map(|of| copied(of, &place.entry(name), others))
        };
        let rows = FileSpec {
            file: data.file.clone(),
            sha256: data.sha256.clone(),
            bytes: data.bytes,
        };
        Copies {
            data: copied(&rows, &place, &[TEST, TOKENIZER, LABELS]),
            test: in_own(&data.test, TEST, &[]),
            tokenizer: in_own(&data.tokenizer, TOKENIZER, &[IDS]),
            labels: in_own(&data.labels, LABELS, &[]),
        }
    }

    /// The tokens that the tokenizer made of the text.
    pub fn ids(&self) -> Entry {
        self.entry(Self::DATA).entry(TOKENIZER).entry(IDS)
    }

    /// The folders of the copies of data.
    pub fn places_of_data(&self) -> [Entry; 4] {
        let data = self.entry(Self::DATA);
        [
            data.entry(TEST),
            data.entry(TOKENIZER),
            data.entry(LABELS),
            data,
        ]
    }

    /// The folder of all trials.
    pub fn trials(&self) -> Entry {
        self.entry(Self::TRIALS)
    }

    /// The folder of the trial with this id.
    pub fn trial(&self, id: &str) -> TrialFolder {
        TrialFolder(self.trials().entry(id))
    }

    /// Where the folder of a trial is kept while the study trains for another number of steps.
    pub fn aside(&self, id: &str, steps: &str) -> TrialFolder {
        self.trial(&format!("{id}-at-{steps}"))
    }

    /// The table of the report.
    pub fn results_csv(&self) -> Entry {
        self.entry(Self::RESULTS_CSV)
    }

    /// The scores by depth, if a task of the study has them.
    pub fn depths_csv(&self) -> Entry {
        self.entry("depths.csv")
    }

    /// Everything that was measured.
    pub fn results_jsonl(&self) -> Entry {
        self.entry(Self::RESULTS_JSONL)
    }

    /// What the schemes cost, if it was measured.
    pub fn costs(&self) -> Entry {
        self.entry("costs.json")
    }

    /// The numbers and sentences of the report.
    pub fn summary(&self) -> Entry {
        self.entry(Self::SUMMARY)
    }

    /// The scheme that scored highest, and the model trained with it.
    pub fn winner(&self) -> Entry {
        self.entry("winner.json")
    }

    /// The weights of the winner's model, if they were kept.
    pub fn winner_weights(&self) -> Entry {
        self.entry("winner.bpk")
    }

    /// The page of the report.
    pub fn page(&self) -> Entry {
        self.entry(Self::PAGE)
    }

    /// The folder of the tables, methods and figures for a paper.
    pub fn paper(&self) -> Entry {
        self.entry("paper")
    }

    /// The figure of this name.
    pub fn figure(&self, name: &str) -> Entry {
        self.entry(format!("{name}.svg"))
    }
}

/// The folder of one trial, or of one training of `pe-lab train`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialFolder(Entry);

impl TrialFolder {
    /// What the trial runs.
    pub const SPEC: &str = "spec.json";
    /// The lock of a training.
    pub const LOCK: &str = "train.lock";
    /// Its result.
    pub const RESULT: &str = "result.json";

    /// The folder of a training at a path. Nothing is read or written.
    pub fn at(path: impl AsRef<Path>) -> Self {
        Self(Entry::inside(path.as_ref(), ""))
    }

    /// The folder at a path of a trial of a study. Nothing is read or written.
    pub fn of_study(path: &Path) -> Self {
        let trial = Self::at(path);
        match path.file_name() {
            Some(name) => Self(trial.study().trials().entry(name)),
            None => trial,
        }
    }

    /// The folder as an entry of its study.
    pub fn entry(&self) -> &Entry {
        &self.0
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder of the study that this trial belongs to: two levels up.
    pub fn study(&self) -> StudyFolder {
        StudyFolder::at(self.0.ancestors().nth(2).unwrap_or(&self.0))
    }

    /// What the trial runs.
    pub fn spec(&self) -> Entry {
        self.0.entry(Self::SPEC)
    }

    /// Its scores, or the reason why it has none.
    pub fn result(&self) -> Entry {
        self.0.entry(Self::RESULT)
    }

    /// The file that is locked while a training of `pe-lab train` goes on.
    pub fn lock(&self) -> Entry {
        self.0.entry(Self::LOCK)
    }

    /// Why the last attempt left no result.
    pub fn failure(&self) -> Entry {
        self.0.entry("failure.json")
    }

    /// The loss on held-out sequences so far, of a trial that runs.
    pub fn curve(&self) -> Entry {
        self.0.entry("curve.json")
    }

    /// What the worker process wrote to standard error.
    pub fn worker_log(&self) -> Entry {
        self.0.entry("worker.log")
    }

    /// What the trained scheme adds to the token embeddings.
    pub fn encoding(&self) -> Entry {
        self.0.entry("encoding.csv")
    }

    /// The trained weights, kept for trials on the user's own data.
    pub fn weights(&self) -> Entry {
        self.0.entry("weights.bpk")
    }

    /// The loss of every step up to the last checkpoint.
    pub fn losses(&self) -> Entry {
        self.0.entry("losses.json")
    }

    /// The folder of the checkpoints.
    pub fn checkpoints(&self) -> Entry {
        self.0.entry("checkpoint")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_user_takes_no_name_of_the_study() {
        let data = Entry::named("data");
        let at = |file| beside(&[TEST, TOKENIZER], &data, file).to_path_buf();
        assert_eq!(at("rows.csv"), Path::new("data/rows.csv"));
        assert_eq!(at("own"), Path::new("data/own"));
        for taken in ["test", "Tokenizer", ".pe-lab-unfinished-0123456789abcdef"] {
            assert_eq!(at(taken), Path::new("data/own").join(taken));
        }
    }

    #[test]
    fn a_trial_knows_the_folder_of_its_study() {
        let study = StudyFolder::at("a/b");
        let trial = study.trial("reverse-none-1");
        assert_eq!(trial.path(), Path::new("a/b/trials/reverse-none-1"));
        assert_eq!(trial.study(), study);
        assert_eq!(TrialFolder::of_study(trial.path()), trial);
        assert_eq!(TrialFolder::at("a/b").path(), Path::new("a/b"));
    }
}
