//! `pe-lab report`: the report of a study, which `compare` writes too.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::placed;
use super::private::keep_as_private_as;
use super::terminal::{print_json, print_line};
use crate::console::tell;
use crate::error::LabError;
use crate::folder::{Entry, StudyFolder, is_same, is_there, make_named_folder};
use crate::grouped::{counted, first_of};
use crate::report::{Beside, Report};
use crate::run::{Outcomes, Progress, Study, provenance};

/// The most lines of a report without `--details`, with the one that says where its files are.
const LINES: usize = 25;

/// The most trials without a result that are named.
const NAMED: usize = 10;

/// How a report is shown.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Show {
    /// Print the report as JSON
    ///
    /// Its numbers and sentences, in place of the table.
    #[arg(long)]
    pub json: bool,
    /// Print every sentence and every table of the report
    ///
    /// Without it, the answer alone is printed.
    #[arg(long, conflicts_with = "json")]
    details: bool,
    /// Print the report and errors, and nothing else
    ///
    /// No description of the data, and no progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// Open the page of the report in the browser
    #[arg(long)]
    pub open: bool,
}

/// What a paper takes of a report.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(super) struct ForPaper {
    /// Also write the folder paper/: tables and pictures, and the methods of a study
    ///
    /// Tables as Markdown and LaTeX, a paragraph of methods with its sources, and the pictures as PDF (as SVG in a build without the
    /// feature pdf).
    #[arg(long)]
    paper: bool,
    /// Leave out the titles of the pictures
    ///
    /// In the picture files and in paper/, where a caption takes their place; the page keeps its titles.
    #[arg(long)]
    no_titles: bool,
}

impl ForPaper {
    /// Whether one of these flags is given.
    pub fn is_asked(self) -> bool {
        self.paper || self.no_titles
    }

    /// Writes a report, and what a paper takes of it where that is asked for.
    pub fn write(self, report: &Report<'_>, to: &StudyFolder) -> Result<Vec<Entry>, LabError> {
        report.write(to, !self.no_titles, self.paper)
    }
}

/// The flags of `report`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ReportArgs {
    /// The study's folder, or several, to be put beside each other
    ///
    /// With several studies, name the folder for their joint report with --out.
    #[arg(value_name = "FOLDER", default_value = StudyFolder::DEFAULT)]
    folders: Vec<PathBuf>,
    /// Write the report to another folder, and leave the study as it is
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    paper: ForPaper,
    #[command(flatten)]
    show: Show,
}

impl ReportArgs {
    /// Writes the report of the study in a folder, or of several beside each other, and returns the exit code.
    pub fn run(&self) -> Result<u8, LabError> {
        let [folder] = &self.folders[..] else {
            return self.beside();
        };
        let study = Study::load(folder)?;
        keep_as_private_as(study.tasks().files())?;
        let to = match &self.out {
            None => study.folder().clone(),
            Some(out) => free(out, Some(study.folder()))?,
        };
        show(&study, &study.outcomes()?, &self.show, self.paper, &to)
    }

    /// Puts several studies beside each other.
    fn beside(&self) -> Result<u8, LabError> {
        let Some(out) = &self.out else {
            return Err(LabError::Usage(
                "several studies are put beside each other in a folder of its own: name it with --out".into(),
            ));
        };
        if self.paper.is_asked() || self.show.details {
            return Err(LabError::Usage(
                "--paper, --no-titles and --details are about one study; of several, all tables are printed, and written as Markdown and \
                 LaTeX"
                    .into(),
            ));
        }
        for (nth, folder) in self.folders.iter().enumerate() {
            if self.folders[..nth]
                .iter()
                .any(|other| is_same(other, folder))
            {
                let folder = folder.display();
                return Err(LabError::Usage(format!("{folder} is named twice")));
            }
        }
        let studies = self.folders.iter().map(|folder| Study::load(folder));
        let studies = studies.collect::<Result<Vec<_>, _>>()?;
        for study in &studies {
            keep_as_private_as(study.tasks().files())?;
        }
        let outcomes = studies
            .iter()
            .map(Study::outcomes)
            .collect::<Result<Vec<_>, _>>()?;
        let reports = studies.iter().zip(&outcomes);
        let reports: Vec<Report<'_>> = reports.map(|(study, of)| Report::of(study, of)).collect();
        let named = self.folders.iter().cloned().zip(&reports);
        let beside = Beside::of(&named.collect::<Vec<_>>());
        let to = free(out, None)?;
        let files = placed::write(&to, |to| beside.write(to))?;
        self.show
            .print(&beside.json()?, &beside.text(), &files, &to);
        Ok(0)
    }
}

/// The folder at a path, made if it is not there. It may hold a study only if the report is of that study: otherwise that
/// study's own report would be lost.
pub(super) fn free(out: &Path, of: Option<&StudyFolder>) -> Result<StudyFolder, LabError> {
    make_named_folder(out)?;
    // The study's own folder may be named in another way, as `./study`.
    if let Some(own) = of.filter(|of| is_same(of.path(), out)) {
        return Ok(own.clone());
    }
    let to = StudyFolder::at(out);
    match is_there(&to.spec())? {
        true => Err(LabError::Usage(format!(
            "{} holds a study of its own; choose another folder with --out",
            out.display()
        ))),
        false => Ok(to),
    }
}

impl Show {
    /// How the progress of trials is shown.
    pub fn progress(&self) -> Progress {
        match self.quiet {
            true => Progress::Silent,
            false => Progress::to_stderr(),
        }
    }

    /// What is printed of a report.
    pub fn text(&self, report: &Report<'_>) -> String {
        match self.details {
            true => report.table(),
            false => report.brief(LINES - 1).trim_end().to_string(),
        }
    }

    /// Prints a report, and where it was written.
    pub fn print(&self, json: &str, text: &str, files: &[Entry], to: &StudyFolder) {
        if self.json {
            print_json(json);
        } else {
            print_line(text);
            if let [page, others @ ..] = files {
                print_line(&format!(
                    "wrote {} and {} beside it",
                    page.display(),
                    counted(others.len(), "file")
                ));
            }
        }
        if self.open {
            open(&to.page());
        }
    }
}

/// Writes the report of a study to a folder and prints it. The exit code is 1 if a trial has no score.
pub(super) fn show(
    study: &Study,
    outcomes: &Outcomes,
    how: &Show,
    paper: ForPaper,
    to: &StudyFolder,
) -> Result<u8, LabError> {
    let report = Report::of(study, outcomes);
    let write = |to: &StudyFolder| paper.write(&report, to);
    let files = match to == study.folder() {
        true => write(to)?,
        false => placed::write(to, write)?,
    };
    how.print(&report.json()?, &how.text(&report), &files, to);
    if let Some(line) = provenance(&outcomes.results).filter(|_| !how.quiet) {
        tell(&line);
    }
    for (trial, reason) in &outcomes.missing {
        if let Some(reason) = reason {
            tell(&format!("{} has no result: {reason}", trial.id()));
        }
    }
    let not_run = outcomes.missing.iter().filter(|trial| trial.1.is_none());
    let not_run: Vec<String> = not_run.map(|(trial, _)| trial.id()).collect();
    if !not_run.is_empty() {
        tell(&format!(
            "{} of the trials have not been run yet: {}",
            not_run.len(),
            first_of(not_run.into_iter(), NAMED)
        ));
    }
    if !outcomes.missing.is_empty() {
        let folder = study.folder().path().display();
        tell(&format!(
            "`pe-lab compare --out {folder}` tries the missing trials again"
        ));
    }
    Ok(u8::from(outcomes.without_score() > 0))
}

/// Opens a file or the address of a page with the program that the system has for it. A system without one gets
/// a line that says so, since the report itself is written.
pub(super) fn open(file: &Path) {
    let (program, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/C", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    // With `.` in front, a name that begins with a dash is not taken for an option.
    let file = Path::new(".").join(file);
    command.args(arguments).arg(&file);
    // Messages of the browser are not shown.
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => tell(&format!(
            "{} was not opened: {program} ended with {status}",
            file.display()
        )),
        Err(error) => tell(&format!(
            "{} was not opened: {program}: {error}",
            file.display()
        )),
    }
}
