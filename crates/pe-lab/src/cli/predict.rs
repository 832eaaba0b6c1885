//! `pe-lab predict`: the labels of other rows, from the best model of a study.

use std::path::PathBuf;

use super::terminal::print_exact;
use crate::ask::TrialSpec;
use crate::console::tell;
use crate::data::digest_of;
use crate::device;
use crate::error::LabError;
use crate::folder::{StudyFolder, read_sealed};
use crate::learn::{Model, probabilities};
use crate::run::{Study, Winner};

/// The arguments of `predict`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Args {
    /// The rows to predict, in a file like the one that the study was made with. It needs no labels, and
    /// labels in it are not read
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The study's folder
    #[arg(long, value_name = "FOLDER", default_value = super::compare::OUT)]
    study: PathBuf,
}

impl Args {
    /// Prints a line of CSV for every row, and returns the exit code.
    pub fn run(&self) -> Result<u8, LabError> {
        let study = Study::load(&self.study)?;
        let folder = StudyFolder::at(&self.study);
        let Some(data) = study.tasks().data() else {
            return Err(LabError::Usage(format!(
                "{} is no study of your own data; make one with `pe-lab compare --data FILE`",
                self.study.display()
            )));
        };
        let (rows, notes) = data.sequences(&self.file)?;
        notes.iter().for_each(|note| tell(note));
        for file in [folder.winner(), folder.winner_weights()] {
            if !file.exists() {
                return Err(LabError::Usage(format!(
                    "{} is not there; run `pe-lab compare` on this folder again",
                    file.display()
                )));
            }
        }
        let (winner, _): (Winner, bool) = read_sealed(&folder.winner())?;
        check(&winner, &study)?;
        let task = study.tasks().get(&winner.task)?;
        let samples = data.samples(&winner.task, &rows).unwrap_or_default();
        let most = task.max_tokens();
        let long = samples.iter().position(|sample| sample.input.len() > most);
        if let Some(row) = long {
            return Err(LabError::Usage(format!(
                "row {} has {} tokens, and the longest in the study has {}; leave it out, or shorten it",
                row + 1,
                rows[row].len(),
                most - task.framing()
            )));
        }
        let device = device::open("flex")?;
        let model = Model::init(
            &winner.model,
            task.as_ref(),
            &winner.scheme,
            winner.seed,
            &device,
        )?;
        let model = model.with_weights(&folder.winner_weights())?;
        let found = probabilities(&model, task.readout(), &samples, &device)?;
        let mut table = csv::Writer::from_writer(Vec::new());
        let failed = |error: csv::Error| LabError::Usage(error.to_string());
        table
            .write_record(["row", "prediction", "probability"])
            .map_err(failed)?;
        for (number, row) in (1..).zip(&found) {
            let best = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
            let Some((class, probability)) = best else {
                continue;
            };
            let number: usize = number;
            let cells = [
                number.to_string(),
                data.labels()[class].clone(),
                format!("{probability:.4}"),
            ];
            table.write_record(cells).map_err(failed)?;
        }
        let bytes = table
            .into_inner()
            .map_err(|error| LabError::Usage(error.to_string()))?;
        print_exact(String::from_utf8_lossy(&bytes).trim_end());
        Ok(0)
    }
}

/// Checks that the winner is a trial of the study, and that its weights are those that were kept. Those of earlier
/// versions have no digest.
fn check(winner: &Winner, study: &Study) -> Result<(), LabError> {
    let folder = study.folder();
    let trials = study.spec().trials(study.tasks())?;
    let is_winner = |trial: &TrialSpec| {
        trial.id() == winner.trial
            && trial.scheme == winner.scheme
            && trial.model == winner.model
            && trial.task == winner.task
            && trial.seed == winner.seed
    };
    if !trials.iter().any(is_winner) {
        return Err(LabError::Content {
            path: folder.winner(),
            reason: format!(
                "it is about {}, which is no trial of this study",
                winner.trial
            ),
        });
    }
    let file = folder.winner_weights();
    let kept = digest_of(&file).map_err(LabError::file(&file))?;
    match &winner.weights {
        Some(digest) if *digest != kept => Err(LabError::Content {
            path: file,
            reason: format!(
                "it does not hold the weights that {} names",
                folder.winner().display()
            ),
        }),
        _ => Ok(()),
    }
}
