//! A study that is run in parts, merged, and submitted to a cluster.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{
    self, Ended, Says, edit_sealed, ended, failed, names, results as numbers, run_in, succeeds,
    temporary, well,
};

const PLAN: &str = "schemes = [\"none\", \"learned\"]\ntasks = [\"digits\", \"majority\"]\nseeds = 2\nsteps = 3\n\
    model = { d_model = 16, layers = 1, heads = 2, d_ff = 32 }\n";

fn plan(folder: &Path) -> PathBuf {
    let file = folder.join("study.toml");
    fs::write(&file, PLAN).unwrap();
    file
}

fn compare(plan: &Path, out: &Path) -> Command {
    let mut command = common::compare("--quiet", out);
    command.arg("--study").arg(plan);
    command
}

fn run(command: &mut Command) -> String {
    common::succeeds(command).0
}

fn merge(parts: &[&Path], out: &Path) -> Ended {
    ended(&mut common::merge(parts, out))
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
        said.says(&format!("part {shard}:"));
        trials += fs::read_dir(part.join("trials")).map_or(0, Iterator::count);
    }
    assert_eq!(trials, 8);

    // A part that is missing is named; the study can be completed later.
    let all = at("all");
    failed(merge(&[&parts[0], &parts[1]], &all), 3).says("have not been run yet");
    well(merge(&[&parts[0], &parts[1], &parts[2]], &all));
    assert_eq!(numbers(&all), numbers(&at("whole")));
    assert_eq!(numbers(&all).len(), 8);
    let result = common::json(&all.join("trials/digits-none-1/result.json"));
    let machine = &result["outcome"]["finished"]["timing"]["machine"];
    assert_ne!(machine["processor"].as_str(), Some(""), "{machine}");
    // A trial that failed in its part says why in the whole, until a part has its result.
    let trial = fs::read_dir(parts[0].join("trials")).unwrap().next();
    let trial = Path::new("trials").join(trial.unwrap().unwrap().file_name());
    let result = trial.join("result.json");
    let bytes = fs::read(parts[0].join(&result)).unwrap();
    fs::remove_file(parts[0].join(&result)).unwrap();
    let reason = trial.join("failure.json");
    fs::write(parts[0].join(&reason), "\"its process ended\"").unwrap();
    let late = at("late");
    failed(merge(&[&parts[0], &parts[1], &parts[2]], &late), 3)
        .says("has no result: its process ended");
    fs::write(parts[0].join(&result), bytes).unwrap();
    well(merge(&[&parts[0], &late], &late));
    assert!(!late.join(&reason).exists());
    // Added to a smaller study, which the verdict is to say.
    run(compare(&plan, &at("small")).args(["--seeds", "1"]));
    well(merge(&[&parts[0], &parts[1], &parts[2]], &at("small")));
    let grown = &common::json(&at("small").join("study.json"))["grown"];
    assert_eq!(grown[0]["seeds"], 1, "{grown}");
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
    failed(merge(&[&at("one"), &at("other")], &at("all")), 2).says("they differ in: tasks");
    assert!(!at("all").exists());
    failed(merge(&[&at("nowhere")], &at("all")), 2).says("holds no study");

    run(&mut compare(&plan, &at("again")));
    let file = at("again").join("trials/digits-none-1/result.json");
    // Computed otherwise, and stored as every result is.
    edit_sealed(&file, |result| {
        result["outcome"]["finished"]["scores"][0]["accuracy"] = 0.125.into()
    });
    failed(merge(&[&at("one"), &at("again")], &at("all")), 2)
        .says_all(&["are results of one trial and differ", "digits-none-1"]);
    assert!(!at("all").join("trials").exists());
}

#[test]
fn what_is_no_part_is_wrong_use() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path());
    let part = |shard: &str| {
        let mut study = compare(&plan, &folder.path().join("x"));
        ended(study.args(["--shard", shard]))
    };
    for shard in ["3/3", "1", "a/b"] {
        failed(part(shard), 2).says("such as 0/4");
    }
    let three = PLAN.replace("seeds = 2", "seeds = 3");
    fs::write(&plan, format!("until = \"decided\"\n{three}")).unwrap();
    failed(part("0/2"), 2).says("looked at as a whole");
    fs::write(&plan, format!("tune = 3\n{PLAN}")).unwrap();
    failed(part("0/2"), 2).says("learning rates of its own");
    let line = "slurm study.toml --array 2 --partition p --out x";
    failed(run_in(folder.path(), line), 2).says("take `tune` out of it");
}

/// The script of `pe-lab slurm`, with stand-ins for the commands of Slurm that write down how they are called.
#[test]
fn the_script_for_slurm_runs_a_part_and_has_a_failed_one_go_on() {
    let (folder, tools) = temporary("tools");
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
    command.args(["slurm", "--array", "2", "--partition", "long"]);
    let script = run(command.arg(&plan).arg("--out").arg(&out));
    script.says("#SBATCH --array=0-1\n#SBATCH --cpus-per-task=1\n");
    script.says("#SBATCH --partition=long\n");
    let with_tools = |bash: &mut Command| {
        let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
        let (code, ..) = ended(bash.env("PATH", path));
        let said = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        (code, said)
    };
    let part = |part: &str, restarts: &str, script: &str| {
        let file = folder.path().join("study.sbatch");
        fs::write(&file, script).unwrap();
        let mut bash = Command::new("bash");
        bash.arg(&file).env("SLURM_ARRAY_TASK_ID", part);
        bash.env("SLURM_ARRAY_JOB_ID", "77");
        with_tools(bash.env("SLURM_RESTART_COUNT", restarts))
    };
    let (code, said) = part("0", "0", &script);
    assert_eq!(code, 0);
    said.says("--dependency=afterany:77 ");
    said.says(" --partition=long --wrap=");
    assert_eq!(part("1", "0", &script), (0, String::new()));
    // A part that fails is put back into the queue, and the merge is submitted once.
    let broken = script.replace("compare --study", "compare --studdy");
    assert_ne!(broken, script);
    let requeue = (2, "scontrol requeue 77_1\n".into());
    assert_eq!(part("1", "0", &broken), requeue);
    assert_eq!(part("0", "3", &broken), (2, String::new()));
    // What the dependent job runs: with a part missing it submits the whole again.
    let wrapped = said.split("--wrap=").nth(1).unwrap();
    let merge = || with_tools(Command::new("bash").args(["-c", wrapped]));
    let aside = folder.path().join("aside");
    fs::rename(out.join("part-1"), &aside).unwrap();
    let again = format!("sbatch {}\n", out.join("array.sbatch").display());
    assert_eq!(merge(), (0, again));
    let kept = fs::read_to_string(out.join("array.sbatch")).unwrap();
    assert_eq!(kept, script);
    fs::rename(&aside, out.join("part-1")).unwrap();
    assert_eq!(merge(), (0, String::new()));
    assert_eq!(numbers(&out.join("study")).len(), 8);
    // The merge is submitted once for an array. Where it cannot be, as on nodes that may not submit, the part is trained all the same.
    assert_eq!(part("0", "1", &script), (0, String::new()));
    fs::remove_file(out.join("merge-77")).unwrap();
    fs::remove_dir_all(out.join("part-0")).unwrap();
    fs::write(tools.join("sbatch"), "#!/bin/sh\nexit 1\n").unwrap();
    assert_eq!(part("0", "0", &script), (0, String::new()));
    assert!(out.join("part-0/trials").is_dir() && !out.join("merge-77").exists());

    let mut lines = common::lab();
    lines.args(["slurm", "--array", "2", "--partition", "a\nb"]);
    failed(ended(lines.arg(&plan)), 2);
    for array in ["0", "1001"] {
        let line = format!("hyperqueue study.toml --array {array}");
        failed(run_in(folder.path(), &line), 2).says("from 1 to 1000");
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
    let trials = names(&at("whole").join("trials"));
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
    let (_, stderr) = succeeds(&mut common::compare("--seeds 3", &out));
    stderr.says("4 of them are there already");
    assert_eq!(numbers(&out)[..4], numbers(&at("whole"))[..]);

    let table = fs::read_to_string(out.join("results.csv")).unwrap();
    table.says(&format!("\n\"{NAME}\",none,1,3,"));
    let lengths =
        ["8", "16", "32"].map(|length| table.matches(&format!(",flex,{length},")).count());
    assert_eq!(lengths, [6; 3], "{table}");
    let picture = "depth-mqar_tokens_8_pairs_2_vocabulary_64_.svg";
    assert!(out.join(picture).is_file());
}
