//! `pe-lab predict`: the labels of other rows or images, the answers to other prompts, or the next numbers of a series,
//! from the best model of a study.

use std::error::Error;
use std::io::ErrorKind;
use std::path::PathBuf;

use burn::tensor::Device;

use super::terminal::print_exact;
use crate::ask::TrialSpec;
use crate::console::{short, tell};
use crate::data::{ToPredict, Truth};
use crate::device;
use crate::error::LabError;
use crate::folder::{StudyFolder, is_there, of_digest, read_sealed};
use crate::grouped::counted;
use crate::learn::{Model, generate, numbers, probabilities};
use crate::run::{MOST_BYTES, Study, Winner};
use crate::task::{Generation, Sample, Task, rounded};

/// The arguments of `predict`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct PredictArgs {
    /// What to predict: rows, an image, a text, a folder of these, or a series
    ///
    /// A text file or a folder of texts if the classes of the study had such files. A language model predicts nothing here.
    ///
    /// Rows are in a file like the one that the study was made with, and a series in a table with its columns. No labels are
    /// needed; if there are some, the program says how many predictions agree with them, or how far predicted numbers are off
    /// on average. A row may have at most as many tokens as the longest row of the study.
    #[arg(value_name = "PATH")]
    file: PathBuf,
    /// The study's folder
    #[arg(long, value_name = "FOLDER", default_value = StudyFolder::DEFAULT)]
    study: PathBuf,
}

impl PredictArgs {
    /// Prints a line of CSV for every row, and returns the exit code.
    pub fn run(&self) -> Result<u8, LabError> {
        let study = Study::load(&self.study)?;
        let folder = StudyFolder::at(&self.study);
        let Some(own) = study.tasks().data() else {
            return Err(LabError::Usage(format!(
                "{} is no study of your own data; make one with `pe-lab compare --data FILE`",
                self.study.display()
            )));
        };
        for file in [folder.winner(), folder.winner_weights()] {
            if !is_there(&file)? {
                return Err(LabError::Usage(format!(
                    "{} is not there; run `pe-lab compare --out {}` again",
                    file.display(),
                    self.study.display()
                )));
            }
        }
        let winner: Winner = read_sealed(&folder.winner())?;
        let weights = checked_weights(&winner, &study)?;
        let task = study.tasks().get(&winner.task)?;
        let data = own.to_predict(&winner.task, &self.file)?;
        data.notes.iter().for_each(|note| tell(note));
        check_lengths(task.as_ref(), &data)?;
        let device = device::open("flex")?;
        let model = Model::init(
            &winner.model,
            task.as_ref(),
            &winner.scheme,
            winner.seed,
            &device,
        )?;
        let model = model.with_weights(&folder.winner_weights(), weights)?;
        let predicted = said(&model, task.as_ref(), &data, own.labels(), &device)?;
        let columns = match (data.from.is_some(), task.generation().is_some()) {
            (false, false) => &["prediction", "probability"][..],
            (true, _) => &["prediction"],
            (false, true) => &["answer"],
        };
        let table = table(&data, columns, &predicted);
        let table = table.map_err(|error| LabError::Usage(error.to_string()))?;
        if let Some(line) = outcome(&data, &predicted, &task.measure().name()) {
            tell(&line);
        }
        if task.generation().is_none()
            && let Some(line) = unknown(&data, own.labels())
        {
            tell(&line);
        }
        print_exact(String::from_utf8_lossy(&table).trim_end());
        Ok(0)
    }
}

/// Checks that no sample is longer than what the study was tested with.
fn check_lengths(task: &dyn Task, data: &ToPredict) -> Result<(), LabError> {
    let tested = task.test_lengths().into_iter().max().unwrap_or(0);
    let longest = tested.max(*task.train_lengths().end()) + task.framing();
    // `max_tokens` includes the answer, so prompts are compared with the longest prompt.
    let most = match task.generation() {
        None => task.max_tokens(),
        Some(_) => longest,
    };
    let long = data
        .samples
        .iter()
        .position(|sample| sample.input.len() > most);
    if let Some(row) = long {
        return Err(LabError::Usage(format!(
            "{} {} has {}, and the longest in the study, for which the model was made, has {}; leave it out, or shorten it",
            data.about,
            short(&data.names[row]),
            counted(data.samples[row].input.len() - task.framing(), "token"),
            most - task.framing()
        )));
    }
    Ok(())
}

/// A line of CSV for each sample, below the names of the columns.
fn table(
    data: &ToPredict,
    columns: &[&str],
    predicted: &[Vec<String>],
) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record([data.about].iter().chain(columns))?;
    for (name, said) in data.names.iter().zip(predicted) {
        table.write_record([name].into_iter().chain(said))?;
    }
    Ok(table.into_inner()?)
}

/// What the model says of each sample, as cells of a table: a label and its probability, or a number.
fn said(
    model: &Model,
    task: &dyn Task,
    data: &ToPredict,
    labels: &[String],
    device: &Device,
) -> Result<Vec<Vec<String>>, LabError> {
    if let Some(how) = task.generation() {
        return answers(model, task, how, data, device);
    }
    let mut all = Vec::with_capacity(data.samples.len());
    let readout = task.readout();
    // Windows of a series have several lengths and are not padded, so each batch has windows of one length.
    let of_lengths: Vec<&[Sample]> = match task.vector_width() {
        None => vec![&data.samples],
        Some(_) => {
            let same = |a: &Sample, b: &Sample| a.input.len() == b.input.len();
            data.samples.chunk_by(same).collect()
        }
    };
    for samples in of_lengths {
        let Some(from) = &data.from else {
            for of_sample in probabilities(model, readout, samples, device)? {
                let best = of_sample.iter().enumerate();
                if let Some((class, probability)) = best.max_by(|a, b| a.1.total_cmp(b.1)) {
                    all.push(vec![labels[class].clone(), format!("{probability:.4}")]);
                }
            }
            continue;
        };
        for number in numbers(model, readout, samples, device)? {
            let number = from[all.len()] + f64::from(number) * task.unit();
            all.push(vec![number.to_string()]);
        }
    }
    Ok(all)
}

/// What a decoder writes after each prompt.
fn answers(
    model: &Model,
    task: &dyn Task,
    how: &dyn Generation,
    data: &ToPredict,
    device: &Device,
) -> Result<Vec<Vec<String>>, LabError> {
    let prompts = data
        .samples
        .iter()
        .map(|sample| sample.input.tokens().to_vec());
    let written = generate(model, task, &prompts.collect::<Vec<_>>(), device)?;
    let open = written.iter().filter(|written| !written.ended).count();
    if open > 0 {
        tell(&format!(
            "without an end, and cut where the longest prompt and answer of the study would end: {open} of {}",
            counted(written.len(), "answer")
        ));
    }
    Ok(written
        .iter()
        .map(|written| vec![how.text(&written.answer)])
        .collect())
}

/// How the predictions compare with what the file says: the share of labels that are right, or the mean absolute error
/// of numbers. `None` where it says nothing. `measure` is the name of such a share.
fn outcome(data: &ToPredict, predicted: &[Vec<String>], measure: &str) -> Option<String> {
    let said = data.truth.iter().zip(predicted);
    let known = said.filter_map(|(truth, cells)| Some((truth.as_ref()?, cells.first()?)));
    let (mut right, mut error, mut labels, mut numbers) = (0, 0.0, 0, 0);
    for (truth, said) in known {
        match truth {
            Truth::Label(label) => {
                labels += 1;
                right += usize::from(label == said);
            }
            Truth::Number(number) => {
                numbers += 1;
                error += said
                    .parse::<f64>()
                    .map_or(f64::NAN, |said| (said - number).abs());
            }
        }
    }
    let all = predicted.len();
    if labels > 0 {
        let share = f64::from(right as u32) / f64::from(labels as u32);
        let of = match labels == all {
            true => String::new(),
            false => match all - labels {
                1 => "; 1 more has no label to compare with".into(),
                more => format!("; {more} more have no label to compare with"),
            },
        };
        return Some(format!(
            "{right} of {} with the labels that are there: {measure} {share:.3}{of}",
            match labels {
                1 => "1 prediction agrees".to_string(),
                labels => format!("{labels} predictions agree"),
            }
        ));
    }
    (numbers > 0).then(|| {
        format!(
            "{} of rows whose number is there: mean absolute error {}",
            counted(numbers, "prediction"),
            rounded(error / f64::from(numbers as u32))
        )
    })
}

/// A sentence about labels of the file that the study does not have: predictions for them cannot be right.
fn unknown(data: &ToPredict, labels: &[String]) -> Option<String> {
    let strange = data.truth.iter().filter_map(|truth| match truth {
        Some(Truth::Label(label)) if !labels.contains(label) => Some(label),
        _ => None,
    });
    let first = strange.clone().next()?;
    Some(format!(
        "the study does not have the label of {}, such as `{first}`: their predictions count as wrong",
        counted(strange.count(), "row")
    ))
}

/// The weights of the winner, which must be those of a trial of the study as it is now.
fn checked_weights(winner: &Winner, study: &Study) -> Result<Vec<u8>, LabError> {
    let folder = study.folder();
    let trials = study.spec().trials(study.tasks())?;
    let is_winner = |trial: &TrialSpec| {
        trial.id() == winner.trial
            && trial.scheme == winner.scheme
            && trial.model == winner.model
            && trial.task == winner.task
            && trial.seed == winner.seed
    };
    let wrong = |reason: String| LabError::content(&folder.winner())(reason);
    let Some(trial) = trials.iter().find(|trial| is_winner(trial)) else {
        return Err(wrong(format!(
            "it is about {}, which is no trial of this study",
            winner.trial
        )));
    };
    let result = study.result(trial)?;
    if result.is_none_or(|result| result.weights != winner.weights) {
        return Err(wrong(format!(
            "it is about a model of {} that the study no longer has; run `pe-lab compare --out {}` again",
            winner.trial,
            folder.path().display()
        )));
    }
    let file = folder.winner_weights();
    match of_digest(&file, winner.weights.as_deref(), MOST_BYTES) {
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            Err(LabError::content(&file)(format!(
                "{error}; it does not hold the weights that {} names",
                folder.winner().display()
            )))
        }
        weights => weights.map_err(LabError::file(&file)),
    }
}
