//! `pe-lab train` as a user sees it.

use std::fs;
use std::path::Path;

use crate::common::{
    self, Ended, SMALL, Says, ended, failed, json, lab, measured, rows, temporary, train, well,
};

fn run(flags: &str, out: &Path) -> Ended {
    ended(&mut train(flags, out))
}

#[test]
fn a_training_prints_plain_lines_into_a_pipe_and_its_scores() {
    let (_folder, out) = temporary("training");
    let arguments = format!("--task reverse --scheme learned --steps 60 {SMALL}");
    let (stdout, stderr) = well(run(&arguments, &out));
    assert!(!stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'));
    let steps: Vec<&str> = stdout.lines().filter(|l| l.starts_with("step")).collect();
    let begins = [
        "step      0 of 60  held-out loss ",
        "step     50 of 60  loss ",
        "step     50 of 60  held-out loss ",
        "step     60 of 60  loss ",
        "step     60 of 60  held-out loss ",
    ];
    assert_eq!(steps.len(), begins.len(), "{stdout}");
    for (line, begin) in steps.iter().zip(begins) {
        assert!(line.starts_with(begin), "{stdout}");
    }
    stdout.says_all(&["    80 ", "beyond training"]);
    let result = json(&out.join("result.json"));
    assert_eq!(result["spec"]["steps"], 60);
    assert!(out.join("checkpoint/model-1.bpk").exists());

    failed(run("--resume", &out), 2).says("is finished");
    let predict = ended(lab().arg("predict").arg("x.csv").arg("--study").arg(&out));
    failed(predict, 2).says("holds no study, but one training … which `pe-lab compare` makes");
    failed(run(&arguments, &out), 2).says("go on with --resume");
}

#[cfg(unix)]
#[test]
fn a_stopped_training_says_how_to_go_on_and_goes_on() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    let folder = tempfile::tempdir().unwrap();
    let (out, whole) = (folder.path().join("a"), folder.path().join("b"));
    let arguments = format!("--task reverse --steps 300 {SMALL}");
    for signal in ["-INT", "-KILL"] {
        let resume = signal == "-KILL";
        let mut command = train(if resume { "--resume" } else { &arguments }, &out);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
        // After the second 50 steps the checkpoint of the first is there.
        let lines = told.by_ref().map(Result::unwrap);
        let line = lines
            .filter(|line| line.contains("  loss "))
            .nth(1)
            .unwrap();
        let steps: [&str; 2] = if resume { ["150", "200"] } else { ["100"; 2] };
        let step = line.split_whitespace().nth(1).unwrap();
        assert!(steps.contains(&step), "{line}");
        common::send(signal, &child.id().to_string());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        if resume {
            let is_from = |step: &str| stderr.contains(&format!("from step {step} on"));
            assert!(is_from("50") || is_from("100"), "{stderr}");
        } else {
            assert_eq!(output.status.code(), Some(1), "{stderr}");
            let how = format!(
                "is kept; to go on from it: `pe-lab train --resume --out {}`",
                out.display()
            );
            stderr.says(&how);
        }
    }
    well(run("--resume", &out));
    assert_eq!(run(&arguments, &whole).0, 0);
    assert_eq!(measured(&out), measured(&whole));
}

#[test]
fn wrong_use_exits_with_2_and_leaves_nothing() {
    let (_folder, out) = temporary("x");
    for [arguments, said] in rows(
        "
        --task sorting     | there is no task `sorting`
        --scheme cosine    | there is no scheme `cosine`
        --task all         | train runs one task with one scheme and one seed
        --steps 0          | 0 steps were asked for
        --seed -1          | invalid value '-1' for '--seed
        --resume           | holds no training to go on with
        --resume --steps 5 | cannot be used with
        --device gpu       | there is no device `gpu`
        ",
    ) {
        let end = run(arguments, &out);
        assert_eq!(end.1, "", "{arguments}");
        failed(end, 2).says(said);
        assert!(!out.exists(), "{arguments}");
    }
    fs::create_dir(&out).unwrap();
    fs::write(out.join("thesis.txt"), "mine").unwrap();
    failed(run("--steps 2", &out), 2).says("is not empty");
}
