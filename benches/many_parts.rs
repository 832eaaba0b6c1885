//! How long it takes to plan, merge and report a study of 20,000 trials that was run in 200 parts, and how much
//! memory.
//!
//! The results are made up; nothing is trained. `cargo bench -p pe-benches -p pe-lab --bench many_parts` writes about 800 MB
//! into the folder for temporary files, and removes them. It fails when the whole takes more than 60 s or 1 GiB.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Parser;
use pe_lab::ask::{CODE, Plan, Seeds, Shard, StudySpec, Tasks, TrialSpec};
use pe_lab::cli::Cli;
use pe_lab::folder::{StudyFolder, write_json, write_sealed};
use pe_lab::learn::{CurvePoint, LengthScore, PositionScore};
use pe_lab::rng::{RngExt, generator};
use pe_lab::run::{Machine, Measures, Outcome, Timing, TrialResult};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PARTS: usize = 200;
/// Eight schemes, nine tasks and 278 seeds are 20,016 trials.
const SEEDS: u64 = 278;
const MOST_TIME: Duration = Duration::from_secs(60);
const MOST_MEMORY: u64 = 1 << 30;

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test` runs a bench too, with this argument, and wants to know only that it starts.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let plan = Plan {
        seeds: Some(Seeds::Count(SEEDS)),
        ..Plan::preset("standard")?
    };
    let (spec, tasks) = StudySpec::of(plan.clone())?;
    let parts = write_parts(folder.path(), &spec, &tasks)?;
    println!("{} trials in {PARTS} parts", spec.trials(&tasks)?.len());
    forget_peak()?;

    let start = Instant::now();
    let (spec, tasks) = StudySpec::of(plan)?;
    let trials = spec.trials(&tasks)?;
    let shards = (0..PARTS).map(shard).collect::<Result<Vec<_>, _>>()?;
    let largest = shards
        .iter()
        .map(|shard| trials.iter().filter(|trial| shard.has(trial)).count())
        .max();
    drop(trials);
    println!(
        "planned: {:.1?}; the largest part has {} trials",
        start.elapsed(),
        largest.unwrap_or(0)
    );

    let out = folder.path().join("whole");
    let mut command: Vec<PathBuf> = ["pe-lab", "merge"].map(PathBuf::from).to_vec();
    command.extend(parts);
    command.extend(["--quiet".into(), "--out".into(), out.clone()]);
    let code = Cli::try_parse_from(command)?.run()?;
    let (elapsed, memory) = (start.elapsed(), peak()?);
    println!(
        "planned, merged and reported: {elapsed:.1?}, {} MiB at most (exit code {code})",
        memory >> 20
    );
    let page = StudyFolder::at(out).page();
    if code != 0 || !page.exists() {
        return Err("the study was not reported".into());
    }
    if elapsed > MOST_TIME || memory > MOST_MEMORY {
        return Err(format!("more than {MOST_TIME:?} or {} MiB", MOST_MEMORY >> 20).into());
    }
    Ok(())
}

fn shard(k: usize) -> Result<Shard, Box<dyn Error>> {
    Ok(format!("{k}/{PARTS}").parse()?)
}

/// Writes the folders of all parts, as `compare --shard` leaves them.
fn write_parts(
    folder: &Path,
    spec: &StudySpec,
    tasks: &Tasks,
) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let trials = spec.trials(tasks)?;
    let mut parts = Vec::new();
    for k in 0..PARTS {
        let part = StudyFolder::at(folder.join(format!("part-{k}")));
        fs::create_dir_all(part.path())?;
        write_json(&part.spec(), spec)?;
        let shard = shard(k)?;
        for trial in trials.iter().filter(|trial| shard.has(trial)) {
            let place = part.trial(&trial.id());
            fs::create_dir_all(place.path())?;
            fs::write(place.spec(), serde_json::to_vec_pretty(trial)?)?;
            let result = made_up(trial, spec, tasks)?;
            write_sealed(&place.result(), &result)?;
        }
        parts.push(part.path().to_path_buf());
    }
    Ok(parts)
}

/// A result of the size of a real one.
fn made_up(
    trial: &TrialSpec,
    spec: &StudySpec,
    tasks: &Tasks,
) -> Result<TrialResult, Box<dyn Error>> {
    let task = tasks.get(&trial.task)?;
    let mut rng = generator("made-up result", trial.seed, trial.id().len() as u64);
    let inside = *task.train_lengths().end();
    let mut accuracy = |_| task.measure().score(0.5 + 0.5 * rng.random::<f64>());
    let mut score = |length: usize| LengthScore {
        length,
        inside: length <= inside,
        samples: 512,
        score: accuracy(length),
        exact: Some(0.5),
        floor: 0.25,
        by_depth: Vec::new(),
        rows: None,
        by_position: (1..=length)
            .map(|position| PositionScore {
                position,
                score: accuracy(position),
            })
            .collect(),
    };
    let scores = task
        .test_lengths()
        .iter()
        .map(|length| score(*length))
        .collect();
    let point = |step: usize, loss: f64| CurvePoint { step, loss };
    Ok(TrialResult {
        spec: trial.clone(),
        outcome: Outcome::Finished(Measures {
            scores,
            parameters: 101_000,
            position_parameters: 0,
            curve: (1..=100).map(|i| point(15 * i, 1.0 / i as f64)).collect(),
            held_out: (1..=10).map(|i| point(150 * i, 1.0 / i as f64)).collect(),
            language: None,
            predicted: Vec::new(),
            timing: Timing {
                ms_per_step: 12.5,
                tokens_per_second: 71_234.0,
                seconds: 20.0,
                threads: Some(1),
                machine: Some(Machine::this()),
            },
        }),
        versions: spec.versions.clone(),
        code: CODE.into(),
        weights: None,
        encoding: None,
    })
}

/// Starts the count of the most memory anew.
fn forget_peak() -> std::io::Result<()> {
    fs::write("/proc/self/clear_refs", "5")
}

/// The most memory that this process held, in bytes.
fn peak() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line
        .and_then(|line| line.split_whitespace().next())
        .ok_or("no VmHWM")?;
    Ok(kib.parse::<u64>()? << 10)
}
