//! A study that is killed, stopped or run twice at once.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{
    self, Says, digits, failed, kill, killed_after, results, send, succeeds, temporary, wait_until,
};

/// Four trials, one after the other.
fn study(steps: &str, out: &Path) -> Command {
    let flags = "--schemes none,learned --seeds 2 --jobs 1 --batch-size 32 --steps";
    digits(&format!("{flags} {steps}"), out)
}

/// The study with trials of some tenths of a second each.
fn command(out: &Path) -> Command {
    study("100", out)
}

/// Starts the study, and waits for the line that says that its first trial is finished.
fn start(out: &Path) -> Child {
    let mut command = command(out);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut told = BufReader::new(child.stderr.as_mut().unwrap()).lines();
    assert!(told.any(|line| line.unwrap().contains("accuracy by length")));
    child
}

fn finish(out: &Path) -> String {
    succeeds(&mut command(out)).1
}

/// How many trials have a result.
fn finished(out: &Path) -> usize {
    let trials = fs::read_dir(out.join("trials")).into_iter().flatten();
    trials
        .filter(|trial| trial.as_ref().unwrap().path().join("result.json").exists())
        .count()
}

#[test]
fn a_killed_study_goes_on_to_the_numbers_of_an_unbroken_one() {
    let (folder, unbroken) = temporary("unbroken");
    finish(&unbroken);

    // Killed at several moments, from before the folder is claimed to the middle of a training.
    let broken = folder.path().join("broken");
    for milliseconds in [1, 10, 30, 60, 100] {
        killed_after(Duration::from_millis(milliseconds), &mut command(&broken));
    }
    // Killed after a trial: its result is kept.
    let child = start(&broken);
    kill(child);
    let kept = finished(&broken);
    assert!((1..4).contains(&kept), "{kept}");
    assert!(!broken.join("results.jsonl").exists());

    let said = finish(&broken);
    said.says("of the trials were there already");
    assert_eq!(results(&broken), results(&unbroken));
    assert_eq!(results(&broken).len(), 4);
}

#[test]
fn the_trial_of_a_killed_study_ends_by_itself() {
    let (_folder, out) = temporary("study");
    let child = study("100000", &out).stderr(Stdio::null()).spawn().unwrap();
    let worker = || {
        let name = out.join("trials").to_string_lossy().into_owned();
        let found = Command::new("pgrep").args(["-f", &name]).output().unwrap();
        !found.stdout.is_empty()
    };
    wait_until(worker, "no worker was started");
    // Meanwhile the folder is this study's alone.
    failed(common::ended(&mut study("100000", &out)), 2).says("in use by another pe-lab");
    kill(child);
    wait_until(|| !worker(), "the worker lives on");
}

#[test]
fn ctrl_c_stops_cleanly_and_says_how_to_go_on() {
    for signal in ["-INT", "-TERM"] {
        let (_folder, out) = temporary("study");
        let child = start(&out);
        send(signal, &child.id().to_string());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        stderr.says_all(&[
            "of 4 trials are finished and kept in",
            "Run the same command again to go on",
        ]);
        assert!(!stderr.contains("no result"), "{stderr}");
        assert_eq!(finished(&out) + left(&finish(&out)), 4);
    }
}

#[test]
fn a_trial_whose_process_is_killed_keeps_its_reason_until_it_is_tried_again() {
    let (_folder, out) = temporary("study");
    let child = start(&out);
    let name = out.join("trials").to_string_lossy().into_owned();
    // Between two trials there is no process to kill.
    let kill = || Command::new("pkill").args(["-9", "-f", &name]).status();
    wait_until(|| kill().unwrap().success(), "no trial runs");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));

    failed(common::ended(&mut common::report(&out)), 1).says("signal: 9");
    let table = fs::read_to_string(out.join("results.csv")).unwrap();
    assert_eq!(table.matches("signal: 9").count(), 1, "{table}");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    page.says("signal: 9");

    finish(&out);
    let table = fs::read_to_string(out.join("results.csv")).unwrap();
    assert!(!table.contains("signal"), "{table}");
}

/// How many trials a run had left to do.
fn left(stderr: &str) -> usize {
    let line = stderr.lines().find(|line| line.contains("accuracy by"));
    let count = line.and_then(|line| line.split_whitespace().next());
    let total = count.and_then(|count| count.split('/').nth(1));
    total.map_or(0, |total| total.parse().unwrap())
}

#[test]
fn a_stop_while_costs_are_measured_is_called_a_stop() {
    let (_folder, out) = temporary("study");
    succeeds(&mut study("2", &out));
    let mut command = common::lab();
    command.arg("costs").arg(&out).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(told.next().unwrap().unwrap().contains("measuring"));
    // Ten processes measure for some tenths of a second altogether.
    thread::sleep(Duration::from_millis(100));
    send("-INT", &child.id().to_string());
    let asked = Instant::now();
    let said: Vec<String> = told.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{said:?}");
    assert!(asked.elapsed() < Duration::from_secs(10), "{said:?}");
    let end = "stopped before all costs were measured; none were kept";
    assert!(said.last().unwrap().contains(end), "{said:?}");
    assert!(!out.join("costs.json").exists());
}
