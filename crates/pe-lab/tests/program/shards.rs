//! A study that is run in parts, merged, and submitted to a cluster.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{self, refused, results as numbers, says, succeeds, well};

const PLAN: &str = "schemes = [\"none\", \"learned\"]\ntasks = [\"digits\", \"majority\"]\nseeds = 2\nsteps = 3\n\
    model = { d_model = 16, layers = 1, heads = 2, d_ff = 32 }\n";

fn plan(folder: &Path) -> PathBuf {
    let file = folder.join("study.toml");
    fs::write(&file, PLAN).unwrap();
    file
}

fn compare(plan: &Path, out: &Path) -> Command {
    let mut command = common::lab();
    command
        .args(["compare", "--quiet", "--study"])
        .arg(plan)
        .arg("--out")
        .arg(out);
    command
}

fn run(command: &mut Command) -> String {
    common::succeeds(command).0
}

fn merge(parts: &[&Path], out: &Path) -> (i32, String, String) {
    common::ended(common::lab().arg("merge").args(parts).arg("--out").arg(out))
}

#[test]
fn parts_merge_to_the_study_of_one_machine() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path());
    let at = |name: &str| folder.path().join(name);
    run(&mut compare(&plan, &at("whole")));
    let parts = ["part-0", "part-1", "part-2"].map(at);
    let mut trials = 0;
    for (k, part) in parts.iter().enumerate() {
        let shard = format!("{k}/3");
        let said = run(compare(&plan, part).args(["--shard", &shard]));
        assert!(said.contains(&format!("part {shard}:")), "{said}");
        trials += fs::read_dir(part.join("trials")).map_or(0, Iterator::count);
    }
    assert_eq!(trials, 8);

    // A part that is missing is named; the study can be completed later.
    let all = at("all");
    refused(
        merge(&[&parts[0], &parts[1]], &all),
        1,
        &["have not been run yet"],
    );
    well(merge(&[&parts[0], &parts[1], &parts[2]], &all));
    assert_eq!(numbers(&all), numbers(&at("whole")));
    assert_eq!(numbers(&all).len(), 8);
    let result = common::json(&all.join("trials/digits-none-1/result.json"));
    let machine = &result["outcome"]["finished"]["timing"]["machine"];
    assert_ne!(machine["processor"].as_str(), Some(""), "{machine}");
    // The whole study and a part of it agree.
    well(merge(&[&at("whole"), &parts[0]], &at("both")));
}

#[test]
fn other_studies_and_other_results_are_not_merged() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path());
    let at = |name: &str| folder.path().join(name);
    run(&mut compare(&plan, &at("one")));
    run(compare(&plan, &at("other")).args(["--steps", "4"]));
    refused(
        merge(&[&at("one"), &at("other")], &at("all")),
        2,
        &["they differ in: tasks"],
    );
    assert!(!at("all").exists());
    refused(merge(&[&at("nowhere")], &at("all")), 2, &["holds no study"]);

    run(&mut compare(&plan, &at("again")));
    let file = at("again").join("trials/digits-none-1/result.json");
    // Computed otherwise, and stored as every result is.
    let mut other = pe_lab::run::TrialResult::read(&pe_lab::folder::Entry::named(&file)).unwrap();
    if let pe_lab::run::Outcome::Finished(measures) = &mut other.outcome {
        measures.scores[0].score = pe_lab::task::Score::Accuracy(0.125);
    }
    other.write(&pe_lab::folder::Entry::named(&file)).unwrap();
    refused(
        merge(&[&at("one"), &at("again")], &at("all")),
        2,
        &["are results of one trial and differ", "digits-none-1"],
    );
    assert!(!at("all").join("trials").exists());
}

#[test]
fn what_is_no_part_is_wrong_use() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path());
    for shard in ["3/3", "1", "a/b"] {
        let (code, _, stderr) =
            common::ended(compare(&plan, &folder.path().join("x")).args(["--shard", shard]));
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains("such as 0/4"), "{stderr}");
    }
    fs::write(&plan, format!("until = \"decided\"\n{PLAN}")).unwrap();
    let (code, _, stderr) =
        common::ended(compare(&plan, &folder.path().join("x")).args(["--shard", "0/2"]));
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("looked at as a whole"), "{stderr}");
}

/// The script of `pe-lab slurm`, with stand-ins for the commands of Slurm that write down how they are called.
#[test]
fn the_script_for_slurm_runs_a_part_and_has_a_failed_one_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools");
    fs::create_dir(&tools).unwrap();
    let log = folder.path().join("log");
    for tool in ["sbatch", "scontrol"] {
        let file = tools.join(tool);
        let text = format!("#!/bin/sh\necho {tool} \"$@\" >> '{}'\n", log.display());
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let plan = plan(folder.path());
    let out = folder.path().join("my results");
    let mut command = common::lab();
    command
        .arg("slurm")
        .arg(&plan)
        .args(["--array", "2", "--partition", "long", "--out"]);
    let script = run(command.arg(&out));
    says(
        &script,
        &["#SBATCH --array=0-1\n#SBATCH --cpus-per-task=1\n"],
    );
    assert!(script.contains("#SBATCH --partition=long\n"), "{script}");
    let part = |part: &str, restarts: &str, script: &str| {
        let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
        let file = folder.path().join("study.sbatch");
        fs::write(&file, script).unwrap();
        let mut bash = Command::new("bash");
        bash.arg(&file).env("PATH", path);
        bash.env("SLURM_ARRAY_TASK_ID", part)
            .env("SLURM_ARRAY_JOB_ID", "77");
        bash.env("SLURM_RESTART_COUNT", restarts);
        let (code, ..) = common::ended(&mut bash);
        let said = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        (code, said)
    };
    let (code, said) = part("0", "0", &script);
    assert_eq!(code, 0);
    assert!(said.contains("--dependency=afterany:77 "), "{said}");
    assert!(said.contains(" --partition=long --wrap="), "{said}");
    assert_eq!(part("1", "0", &script), (0, String::new()));
    // A part that fails is put back into the queue, and the merge is submitted once.
    let broken = script.replace("compare --study", "compare --studdy");
    assert_ne!(broken, script);
    assert_eq!(
        part("1", "0", &broken),
        (2, "scontrol requeue 77_1\n".into())
    );
    assert_eq!(part("0", "3", &broken), (2, String::new()));
    // What the dependent job runs: with a part missing it submits the whole again.
    let wrapped = said.split("--wrap=").nth(1).unwrap();
    let merge = || {
        let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
        let mut bash = Command::new("bash");
        let (code, ..) = common::ended(bash.args(["-c", wrapped]).env("PATH", path));
        let said = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        (code, said)
    };
    let aside = folder.path().join("aside");
    fs::rename(out.join("part-1"), &aside).unwrap();
    let again = format!("sbatch {}\n", out.join("array.sbatch").display());
    assert_eq!(merge(), (0, again));
    assert_eq!(
        fs::read_to_string(out.join("array.sbatch")).unwrap(),
        script
    );
    fs::rename(&aside, out.join("part-1")).unwrap();
    assert_eq!(merge(), (0, String::new()));
    assert_eq!(numbers(&out.join("study")).len(), 8);

    let (code, _, stderr) = common::ended(common::lab().arg("slurm").arg(&plan).args([
        "--array",
        "2",
        "--partition",
        "a\nb",
    ]));
    assert_eq!(code, 2, "{stderr}");
    for array in ["0", "1001"] {
        let mut command = common::lab();
        command
            .arg("hyperqueue")
            .arg(&plan)
            .args(["--array", array]);
        refused(common::ended(&mut command), 2, &["from 1 to 1000"]);
    }
}

/// The settings of a task are a part of its name, wherever that is written.
#[test]
fn a_task_with_settings_is_run_in_parts_gone_on_with_and_merged() {
    const NAME: &str = "mqar(tokens=8,pairs=2,vocabulary=64)";
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let plan = at("plan.toml");
    let text = "schemes = [\"none\", \"learned\"]\nseeds = 2\ntasks = [\"mqar( pairs=2, tokens=8, vocabulary=64 )\"]\n\
                steps = { \"mqar(vocabulary=64, tokens=8, pairs=2)\" = 3 }\n[model]\nlayers = 1\n";
    fs::write(&plan, text).unwrap();
    run(&mut compare(&plan, &at("whole")));
    let trials = fs::read_dir(at("whole").join("trials")).unwrap();
    let mut trials: Vec<String> = trials
        .map(|trial| trial.unwrap().file_name().into_string().unwrap())
        .collect();
    trials.sort();
    assert_eq!(trials.len(), 4);
    assert_eq!(trials[0], format!("{NAME}-learned-1"));

    let parts = ["part-0", "part-1"].map(at);
    for (k, part) in parts.iter().enumerate() {
        run(compare(&plan, part).args(["--shard", &format!("{k}/2")]));
    }
    well(merge(&[&parts[0], &parts[1]], &at("all")));
    assert_eq!(numbers(&at("all")), numbers(&at("whole")));

    // The plan that was written runs the same study again, and a third seed is added to it by the short name.
    let written = at("whole").join("study.toml");
    assert!(fs::read_to_string(&written).unwrap().contains(NAME));
    run(&mut compare(&written, &at("again")));
    assert_eq!(numbers(&at("again")), numbers(&at("whole")));
    let out = at("again");
    let more = ["compare", "--out", out.to_str().unwrap(), "--seeds", "3"];
    let (_, stderr) = succeeds(common::lab().args(more));
    assert!(stderr.contains("4 of them are there already"), "{stderr}");
    assert_eq!(numbers(&out)[..4], numbers(&at("whole"))[..]);

    let table = fs::read_to_string(out.join("results.csv")).unwrap();
    says(&table, &[&format!("\n\"{NAME}\",none,1,3,")]);
    let lengths =
        ["8", "16", "32"].map(|length| table.matches(&format!(",flex,{length},")).count());
    assert_eq!(lengths, [6; 3], "{table}");
    let picture = "depth-mqar_tokens_8_pairs_2_vocabulary_64_.svg";
    assert!(out.join(picture).is_file());
}
