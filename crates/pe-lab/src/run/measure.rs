//! Measures what the schemes of a study cost, one at a time.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::costs::{Costs, SchemeCosts};
use super::data_copy::{check_kept, kept_tasks};
use super::estimate::in_words;
use super::machine::{Machine, join_kernels};
use super::progress::Progress;
use super::study::Study;
use super::worker::Stop;
use crate::ask::TrialSpec;
use crate::device;
use crate::error::LabError;
use crate::folder::{TrialFolder, read_json, write_json};
use crate::grouped::counted;
use crate::learn::{Cost, cost_lengths, measure_cost};

/// Every scheme is measured at every length this often, in turns, so that all meet the same slow moments. The fastest
/// round counts: what disturbs a measurement makes it slower and never faster.
const ROUNDS: usize = 5;

impl Study {
    /// Measures what each scheme costs on the task with the longest inputs, one process at a time, and keeps it in
    /// the study's folder. `program` is this program; `progress` shows how long it takes, and a line for each scheme
    /// and length.
    ///
    /// # Errors
    ///
    /// When the folder is in use or cannot be written, when no trial of the task was begun, and when a measurement
    /// fails; [`LabError::Trial`] when it was stopped.
    pub fn measure_costs(
        &self,
        program: &Path,
        stop: &Stop,
        progress: &Progress,
    ) -> Result<Costs, LabError> {
        let _lock = self.claim()?;
        check_kept(self.tasks(), self.folder())?;
        let (task, schemes) = self.measured()?;
        let lengths = cost_lengths(self.tasks().get(&task)?.as_ref());
        let places: Vec<&TrialFolder> = schemes.iter().map(|(_, place)| place).collect();
        let measured = rounds(program, &places, &lengths, stop, progress);
        progress.end();
        let measured = measured?;
        let schemes = schemes.iter().zip(measured);
        let costs = Costs {
            task,
            device: self.spec().device.clone(),
            machine: Machine::with(&device::open(&self.spec().device)?),
            schemes: schemes
                .map(|((name, _), at)| SchemeCosts {
                    scheme: name.clone(),
                    at: at.iter().filter_map(|rounds| least(rounds)).collect(),
                })
                .collect(),
        };
        for of in &costs.schemes {
            for cost in &of.at {
                progress.finished(&format!(
                    "{:<24} {:>5} tokens: {:.2} ms per training step",
                    of.scheme, cost.tokens, cost.step_ms
                ));
            }
        }
        write_json(&self.folder().costs(), &costs)?;
        Ok(costs)
    }

    /// The first task of those with the longest inputs, and a trial of it that was begun for each scheme.
    fn measured(&self) -> Result<(String, Vec<(String, TrialFolder)>), LabError> {
        let trials = self.spec().trials(self.tasks())?;
        let length_of = |trial: &TrialSpec| {
            let task = self.tasks().get(&trial.task);
            task.map_or(0, |task| task.max_tokens())
        };
        let longest = trials.iter().map(length_of).max().unwrap_or(0);
        let Some(first) = trials.iter().find(|trial| length_of(trial) == longest) else {
            return Err(LabError::Usage("the study has no trial".into()));
        };
        let begun = |trial: &&TrialSpec| {
            trial.task == first.task && self.folder().trial(&trial.id()).spec().exists()
        };
        let of_task: Vec<&TrialSpec> = trials.iter().filter(begun).collect();
        let schemes = self.spec().schemes.iter().filter_map(|name| {
            let trial = of_task.iter().find(|trial| trial.scheme.name == *name)?;
            Some((name.clone(), self.folder().trial(&trial.id())))
        });
        let schemes: Vec<_> = schemes.collect();
        match schemes.is_empty() {
            false => Ok((first.task.clone(), schemes)),
            true => Err(LabError::Usage(format!(
                "no trial of {} was begun in {}, so there is nothing whose cost could be measured",
                first.task,
                self.folder().path().display()
            ))),
        }
    }
}

/// The costs of every scheme at every length, in every round.
fn rounds(
    program: &Path,
    schemes: &[&TrialFolder],
    lengths: &[usize],
    stop: &Stop,
    progress: &Progress,
) -> Result<Vec<Vec<Vec<Cost>>>, LabError> {
    progress.finished(&format!(
        "measuring what each scheme costs, one at a time: {} at {}, {ROUNDS} times each",
        counted(schemes.len(), "scheme"),
        counted(lengths.len(), "length")
    ));
    progress.start((ROUNDS * schemes.len() * lengths.len()) as u64);
    let begin = Instant::now();
    let mut measured = vec![vec![Vec::new(); lengths.len()]; schemes.len()];
    for round in 0..ROUNDS {
        for (nth, place) in schemes.iter().enumerate() {
            for (at, length) in lengths.iter().enumerate() {
                measured[nth][at].push(measured_apart(program, place, *length, stop)?);
                progress.advance(1);
            }
            // The first scheme, and then the first round, tell how long the others will take.
            let done = round * schemes.len() + nth + 1;
            if done == 1 || done == schemes.len() {
                let seconds = begin.elapsed().as_secs_f64() / done as f64;
                let left = (ROUNDS * schemes.len() - done) as f64 * seconds;
                progress.finished(&format!("about {} more", in_words(left)));
            }
        }
    }
    Ok(measured)
}

/// The cost of a trial's scheme, measured by a process of its own, so that its memory is its own.
fn measured_apart(
    program: &Path,
    place: &TrialFolder,
    length: usize,
    stop: &Stop,
) -> Result<Cost, LabError> {
    let mut command = Command::new(program);
    command
        .args(["trial", "--cost", &length.to_string(), "--"])
        .arg(place.path());
    let output = stop.output(&mut command);
    let Some(output) = output.map_err(LabError::not_started("process"))? else {
        return Err(LabError::Trial(
            "stopped before all costs were measured; none were kept".into(),
        ));
    };
    let said = || String::from_utf8_lossy(&output.stderr).trim().to_string();
    if !output.status.success() {
        return Err(LabError::Trial(format!(
            "the cost of {} at {length} was not measured: its process ended with {}: {}",
            place.path().display(),
            output.status,
            said()
        )));
    }
    serde_json::from_slice(&output.stdout).map_err(LabError::content(place.path()))
}

/// The minimum over the rounds of every time and of the memory, and the maximum of the load of other programs.
fn least(rounds: &[Cost]) -> Option<Cost> {
    let first = rounds.first()?;
    let of = |part: fn(&Cost) -> Option<f64>| rounds.iter().filter_map(part).reduce(f64::min);
    Some(Cost {
        step_ms: of(|cost| Some(cost.step_ms))?,
        prefill_ms: of(|cost| Some(cost.prefill_ms))?,
        decode_ms: of(|cost| cost.decode_ms),
        peak_bytes: rounds.iter().filter_map(|cost| cost.peak_bytes).min(),
        others: rounds
            .iter()
            .filter_map(|cost| cost.others)
            .reduce(f64::max),
        ..first.clone()
    })
}

/// Measures the cost of the scheme whose trial's spec lies in a folder, and returns it as JSON. This is the hidden
/// subcommand `trial` with `--cost`.
///
/// # Errors
///
/// When the spec cannot be read or the cost cannot be measured.
pub fn serve_cost(folder: &Path, length: usize) -> Result<String, LabError> {
    join_kernels();
    let folder = TrialFolder::of_study(folder);
    let spec: TrialSpec = read_json(&folder.spec())?;
    let task = kept_tasks(spec.data.as_ref(), &folder.study())?.get(&spec.task)?;
    let device = device::open(&spec.device)?;
    let cost = measure_cost(
        &spec.model,
        &spec.recipe,
        &spec.scheme,
        task.as_ref(),
        length,
        &device,
    )?;
    serde_json::to_string(&cost).map_err(LabError::content(folder.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_rounds_the_fastest_counts_and_the_most_of_others() {
        let cost = |step_ms, others| Cost {
            tokens: 10,
            batch_size: 2,
            step_ms,
            prefill_ms: 10.0 - step_ms,
            decode_ms: None,
            peak_bytes: Some(100),
            others: Some(others),
        };
        let of = least(&[cost(3.0, 0.0), cost(9.0, 0.5), cost(4.0, 0.01)]).unwrap();
        assert_eq!([of.step_ms, of.prefill_ms], [3.0, 1.0]);
        assert_eq!(of.others, Some(0.5));
        assert_eq!((of.decode_ms, of.peak_bytes), (None, Some(100)));
        assert!(least(&[]).is_none());
    }
}
