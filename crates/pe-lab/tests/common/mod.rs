//! The program as a process.

#![allow(dead_code, unused_imports, reason = "each test uses a part of it")]

#[path = "../../src/said.rs"]
mod said;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use pe_lab::ask::ModelSpec;
use pe_lab::data::{DataTask, Reading, Source};
use pe_lab::folder::{Entry, write_sealed};
use serde_json::Value;
use tempfile::TempDir;

pub use said::{Says, rows};

/// A model that trains and is tested in a small part of the time of the usual one, for tests of everything but the model.
pub const SMALL: &str = "--d-model 16 --layers 1 --heads 2 --d-ff 32";

/// A smaller one, for what any model says.
pub fn smallest() -> ModelSpec {
    ModelSpec {
        d_model: 16,
        layers: 1,
        heads: 2,
        d_ff: 16,
        ..ModelSpec::default()
    }
}

/// A part of a study in which there is hardly ever a trial: what a dry run says of the study comes without the time of any.
pub const NO_TRIAL: &str = "0/100000";

/// The program, to be given arguments.
pub fn lab() -> Command {
    hearing(Command::new(assert_cmd::cargo::cargo_bin!("pe-lab")))
}

/// The command, with no signal ignored: tests that run in the background or behind `nohup` ignore some, and so
/// would what they start.
pub fn hearing(mut command: Command) -> Command {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        let hear = || {
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
                // SAFETY: the call may be made between fork and exec, and installs no handler.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
            Ok(())
        };
        // SAFETY: `hear` allocates nothing and takes no lock.
        unsafe { command.pre_exec(hear) };
    }
    command
}

/// A temporary folder, which goes when it is dropped, and the path of something in it that is not there yet.
pub fn temporary(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

/// Runs a command to its end: exit code, standard output, standard error.
pub fn ended(command: &mut Command) -> Ended {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// The words of a line, to be given as arguments.
pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The end of a command: exit code, standard output, standard error.
pub type Ended = (i32, String, String);

/// What a command said that has ended well: standard output, standard error.
#[track_caller]
pub fn well((code, stdout, stderr): Ended) -> (String, String) {
    assert_eq!(code, 0, "{stdout}{stderr}");
    (stdout, stderr)
}

/// Runs a command that ends well.
#[track_caller]
pub fn succeeds(command: &mut Command) -> (String, String) {
    well(ended(command))
}

/// What a command said on standard error that has ended with this code.
#[track_caller]
pub fn failed((code, _, stderr): Ended, with: i32) -> String {
    assert_eq!(code, with, "{stderr}");
    stderr
}

/// Settings as `study.toml` has them, with `; ` between two: `label = 'Class'; max_len = 20`.
pub fn settings(text: &str) -> Reading {
    toml::from_str(&text.replace("; ", "\n")).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A file or folder of data that is read with these [`settings`], or what is wrong with it.
pub fn data(file: &Path, text: &str) -> Result<DataTask, String> {
    let reading = settings(text);
    let source = Source {
        reading,
        ..Source::from(file)
    };
    DataTask::read(&source).map_err(|error| error.to_string())
}

/// What a JSON file holds.
pub fn json(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

/// Edits a file that has a digest, and gives it that of what it is now: with the old one every change is refused.
pub fn edit_sealed(file: &Path, edit: impl FnOnce(&mut Value)) {
    let mut value = json(file);
    value.as_object_mut().unwrap().remove("digest").unwrap();
    edit(&mut value);
    write_sealed(&Entry::named(file), &value).unwrap();
}

/// The results of a study, without their times.
pub fn results(study: &Path) -> Vec<Value> {
    let text = fs::read_to_string(study.join("results.jsonl")).unwrap();
    let results = text.lines().map(|line| {
        let mut result: Value = serde_json::from_str(line).unwrap();
        result["outcome"]["finished"]["timing"].take();
        result
    });
    results.collect()
}

/// The same without the digests of weights, which are stored with ids that are drawn anew each time.
pub fn numbers(study: &Path) -> Vec<Value> {
    let mut results = results(study);
    for result in &mut results {
        result["weights"].take();
    }
    results
}

/// A column of `results.csv`, of those rows whose cells, by the names of their columns, are as `which` says.
pub fn column(
    study: &Path,
    name: &str,
    which: impl Fn(&dyn Fn(&str) -> String) -> bool,
) -> Vec<f64> {
    let table = fs::read_to_string(study.join("results.csv")).unwrap();
    let mut rows = table
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let at = |name: &str| head.iter().position(|known| *known == name).unwrap();
    let rows = rows.filter(|row| which(&|name| row[at(name)].to_string()));
    let cells: Vec<f64> = rows.map(|row| row[at(name)].parse().unwrap()).collect();
    assert!(!cells.is_empty(), "{table}");
    cells
}

/// A column of `results.csv`, of the rows of a scheme at a length.
pub fn scored(study: &Path, scheme: &str, length: &str, name: &str) -> Vec<f64> {
    column(study, name, |row| {
        row("scheme") == scheme && row("length") == length
    })
}

/// A study in a folder.
pub fn compare(flags: &str, out: &Path) -> Command {
    let mut command = lab();
    command.arg("compare").args(words(flags));
    command.arg("--out").arg(out);
    command
}

/// A study of small models in a folder.
pub fn small(flags: &str, out: &Path) -> Command {
    compare(&format!("{SMALL} {flags}"), out)
}

/// A study of the handwritten digits, with small models.
pub fn digits(flags: &str, out: &Path) -> Command {
    small(&format!("--tasks digits {flags}"), out)
}

/// A training in a folder.
pub fn train(flags: &str, out: &Path) -> Command {
    let mut command = lab();
    command.arg("train").args(words(flags));
    command.arg("--out").arg(out);
    command
}

/// A training on the handwritten digits, of a small model.
pub fn train_digits(steps: &str, out: &Path) -> Command {
    train(&format!("--task digits --steps {steps} {SMALL}"), out)
}

/// A training that goes on.
pub fn resume(out: &Path) -> Command {
    train("--resume", out)
}

/// What a training has measured: its result without times, and without the digest that is of the times too.
pub fn measured(training: &Path) -> Value {
    let mut result = json(&training.join("result.json"));
    result["outcome"]["finished"]["timing"].take();
    result["digest"].take();
    result
}

/// A report of the study in a folder.
pub fn report(study: &Path) -> Command {
    let mut command = lab();
    command.arg("report").arg(study);
    command
}

/// Predictions for a file by the best model of a study.
pub fn predict(file: &Path, study: &Path) -> Command {
    let mut command = lab();
    command.arg("predict").arg(file).arg("--study").arg(study);
    command
}

/// The parts of a study, made one.
pub fn merge(parts: &[&Path], to: &Path) -> Command {
    let mut command = lab();
    command.arg("merge").args(parts).arg("--out").arg(to);
    command
}

/// The names of what is in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Runs the program in a folder, with the words of a line.
pub fn run_in(folder: &Path, line: &str) -> Ended {
    ended(lab().args(words(line)).current_dir(folder))
}

/// The same, to a good end.
#[track_caller]
pub fn good_in(folder: &Path, line: &str) -> (String, String) {
    well(run_in(folder, line))
}

/// The end of a process that must not take more seconds than these; `None` if it does. It is -1 for one that a signal ended.
pub fn end_of(child: &mut Child, within: u64) -> Option<i32> {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(within) {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.code().unwrap_or(-1));
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

/// Changes one bit of a file, in the byte so far before its end.
pub fn flip(file: &Path, before_end: usize) {
    let mut bytes = fs::read(file).unwrap();
    let at = bytes.len() - before_end;
    bytes[at] ^= 1;
    fs::write(file, bytes).unwrap();
}

/// Ends a process at once.
pub fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Starts a command, and ends it after this long.
pub fn killed_after(time: Duration, command: &mut Command) {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    thread::sleep(time);
    kill(child);
}

/// Waits until something is so, for two minutes at most.
#[track_caller]
pub fn wait_until(is_so: impl Fn() -> bool, otherwise: &str) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(120), "{otherwise}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The exit code and what was said on standard error, of a command that might wait for ever.
pub fn ended_in_time(command: &mut Command) -> (i32, String) {
    let said = tempfile::NamedTempFile::new().unwrap();
    command.stdout(Stdio::null()).stderr(said.reopen().unwrap());
    let mut child = command.spawn().unwrap();
    let code = end_of(&mut child, 120);
    let said = fs::read_to_string(said.path()).unwrap();
    (code.unwrap_or_else(|| panic!("it hangs: {said}")), said)
}

/// Makes a pipe with a name.
#[cfg(unix)]
pub fn pipe(at: &Path) {
    assert!(Command::new("mkfifo").arg(at).status().unwrap().success());
}

/// Sends a signal, such as `-TERM`, to a process, or to a group of them with a `-` before its number.
#[cfg(unix)]
pub fn send(signal: &str, to: &str) {
    let sent = Command::new("kill")
        .args([signal, "--", to])
        .status()
        .unwrap();
    assert!(sent.success());
}

/// The same program behind a line of shell that sets something up first.
#[cfg(unix)]
pub fn behind(setup: &str, command: &Command) -> Command {
    let mut shell = hearing(Command::new("sh"));
    shell.args(["-c", &format!("{setup}; exec \"$@\""), "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}
