//! `pe-lab slurm` and `pe-lab hyperqueue`: what to submit to a cluster, so that a study is run in parts.

use std::path::{Path, PathBuf};

use super::terminal::print_exact;
use crate::ask::{Plan, StudySpec};
use crate::console::visible;
use crate::data::shell_word;
use crate::error::LabError;
use crate::folder::StudyFolder;

/// The most tasks of an array, the usual limit of a Slurm cluster.
const MOST: usize = 1_000;

/// The arguments of both commands.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ArrayArgs {
    /// The file that describes the study
    #[arg(value_name = "STUDY")]
    study: PathBuf,
    /// How many parts to divide the study into; each is one task of the array
    #[arg(long, value_name = "N")]
    array: usize,
    /// Processor cores of each task
    #[arg(long, value_name = "N", default_value_t = 1)]
    cores: usize,
    /// Folder for the parts and for the whole study
    ///
    /// All machines need it at the same path.
    #[arg(long, value_name = "FOLDER", default_value = StudyFolder::DEFAULT)]
    out: PathBuf,
}

/// The arguments of `slurm`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct SlurmArgs {
    #[command(flatten)]
    args: ArrayArgs,
    /// The partition to run in [default: that of the cluster]
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// How long a task may take [default: that of the partition]
    ///
    /// As Slurm writes it: 04:00:00.
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
}

/// The words that both scripts share, quoted for a shell.
struct Words {
    program: String,
    study: String,
    out: String,
    whole: String,
}

impl ArrayArgs {
    /// Checks that the study can be run, and gives the words of the script.
    fn words(&self) -> Result<Words, LabError> {
        for (name, value, most) in [
            ("--array", self.array, MOST),
            ("--cores", self.cores, 1_024),
        ] {
            if !(1..=most).contains(&value) {
                return Err(LabError::Usage(format!(
                    "{name} is {value}; it must be from 1 to {most}"
                )));
            }
        }
        let (spec, _) = StudySpec::of(Plan::read(&self.study)?)?;
        spec.check_parts()
            .map_err(|error| LabError::Usage(format!("{}: {error}", self.study.display())))?;
        let absolute = |path: &Path| {
            let path = std::path::absolute(path).map_err(LabError::file(path))?;
            let text = path
                .to_str()
                .filter(|text| !text.contains(char::is_control));
            text.map(str::to_string).ok_or_else(|| {
                LabError::Usage(format!(
                    "{} cannot be written in a script; take a path in UTF-8 without line breaks",
                    visible(&path.to_string_lossy())
                ))
            })
        };
        let program = std::env::current_exe().map_err(LabError::file("pe-lab".as_ref()))?;
        let out = absolute(&self.out)?;
        Ok(Words {
            program: shell_word(&absolute(&program)?),
            study: shell_word(&absolute(&self.study)?),
            whole: shell_word(&format!("{out}/study")),
            out: shell_word(&out),
        })
    }

    /// Prints the script for HyperQueue, and returns the exit code.
    pub fn hyperqueue(&self) -> Result<u8, LabError> {
        let Words {
            program,
            study,
            out,
            whole,
        } = self.words()?;
        let (last, count, cores) = (self.array - 1, self.array, self.cores);
        print_exact(&format!(
            r#"#!/bin/bash
# Runs {study} in {count} parts on HyperQueue, then merges them. Run it again to go on.
set -euo pipefail
mkdir -p {out}
hq submit --wait --array 0-{last} --cpus {cores} --crash-limit 3 -- bash -c '
    exec "$1" compare --study "$2" --shard "$HQ_TASK_ID/{count}" --jobs {cores} --quiet \
        --out "$3/part-$HQ_TASK_ID"' part {program} {study} {out} || true
{program} merge {out}/part-* --out {whole}"#
        ));
        Ok(0)
    }
}

impl SlurmArgs {
    /// The options of Slurm that were given.
    fn asked(&self) -> Result<Vec<String>, LabError> {
        let given = [("partition", &self.partition), ("time", &self.time)];
        let given = given
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let option = |(name, value): (&str, &String)| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.,:".contains(c);
            if value.is_empty() || !value.chars().all(plain) {
                return Err(LabError::Usage(format!(
                    "--{name} is `{}`; it may hold letters, digits and -_.,: only",
                    value.escape_debug()
                )));
            }
            Ok(format!("--{name}={value}"))
        };
        given.map(option).collect()
    }

    /// Prints the script for Slurm, and returns the exit code.
    pub fn run(&self) -> Result<u8, LabError> {
        let Words {
            program,
            study,
            out,
            whole,
        } = self.args.words()?;
        let asked = self.asked()?;
        let asked_merge: String = asked.iter().map(|option| format!("{option} ")).collect();
        let asked: String = asked
            .iter()
            .map(|option| format!("#SBATCH {option}\n"))
            .collect();
        let (last, count, cores) = (self.args.array - 1, self.args.array, self.args.cores);
        let merge = format!("{program} merge {out}/part-* --out {whole}");
        print_exact(&format!(
            r#"#!/bin/bash
# Runs {study} in {count} parts, then merges them: sbatch SCRIPT. Submit it again to go on.
#SBATCH --job-name=pe-lab
#SBATCH --array=0-{last}
#SBATCH --cpus-per-task={cores}
#SBATCH --requeue
#SBATCH --open-mode=append
{asked}set -euo pipefail
part=$SLURM_ARRAY_TASK_ID
restarts=${{SLURM_RESTART_COUNT:-0}}
rounds=${{PE_LAB_ROUNDS:-3}}
mkdir -p {out}

# Once all parts have ended, one more job merges them and writes the report. If a trial is missing, since a part
# was killed, that job submits the whole again, at most three times; what is there is kept. A training that diverged (1) would
# do so again.
submitted={out}"/merge-$SLURM_ARRAY_JOB_ID"
if [ "$part" = 0 ] && [ ! -e "$submitted" ]; then
    cp "$0" {out}/array.sbatch
    again="env -u SLURM_RESTART_COUNT PE_LAB_ROUNDS=$((rounds - 1)) sbatch "{again}
    [ "$rounds" -gt 0 ] || again=false
    if sbatch --job-name=pe-lab-merge --dependency="afterany:$SLURM_ARRAY_JOB_ID" --open-mode=append \
        {asked_merge}--wrap={merge}" || {{ [ \$? -ne 1 ] && $again; }}"; then
        touch "$submitted"
    else
        echo "no job could be submitted that merges the parts; once all have ended, run:" {merge} >&2
    fi
fi

# A part that failed goes on where it stopped, at most three times; Slurm does the same with one that was
# preempted or whose machine went down.
{program} compare --study {study} --shard "$part/{count}" --jobs {cores} --quiet \
    --out {out}"/part-$part" || {{
    code=$?
    if [ "$restarts" -lt 3 ]; then
        scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$part"
    fi
    exit "$code"
}}"#,
            merge = shell_word(&merge),
            again = shell_word(&format!("{out}/array.sbatch")),
        ));
        Ok(0)
    }
}
