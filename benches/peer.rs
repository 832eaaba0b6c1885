//! The Python libraries to compare with: one process for a whole bench, which runs one turn of one case
//! on request.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// NumPy and PyTorch, if their Python is there. See `peers/peer.py` for what it can be asked.
pub struct Peers(Result<RefCell<Python>, String>);

/// Seconds of processor time that the peers may spend while we are measured: what it takes to read
/// a line.
const MAY_SPEND: f64 = 1e-3;

struct Python {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Peers {
    /// Starts the peers' Python from the virtual environment `$PE_BURN_VENV`, by default
    /// `pe-burn/venv` in the user's cache. Where there is none, says so and goes on without.
    ///
    /// # Panics
    ///
    /// When the environment is there and does not work.
    pub fn start() -> Self {
        let venv = venv();
        let python = venv.join("bin/python");
        if !python.exists() {
            let reason = format!("no {} (scripts/setup-backends makes it)", python.display());
            eprintln!("PEERS MISSING: {reason}");
            return Self(Err(reason));
        }
        // Cargo runs benches in the folder of their package.
        let mut process = Command::new(&python)
            .arg("peers/peer.py")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", python.display()));
        let input = process.stdin.take();
        let output = process.stdout.take().expect("a piped stdout");
        let mut python = Python {
            process,
            input,
            output: BufReader::new(output),
        };
        let hello = python.ask(&json!({"case": "versions"}));
        eprintln!("peers: {}", hello["versions"].as_str().unwrap_or("unknown"));
        Self(Ok(RefCell::new(python)))
    }

    /// Asks anything; `Err` says why there is no answer.
    ///
    /// # Errors
    ///
    /// When there are no peers, or this case does not work for them.
    pub fn ask(&self, request: &Value) -> Result<Value, String> {
        let python = self.0.as_ref().map_err(Clone::clone)?;
        let answer = python.borrow_mut().ask(request);
        match answer["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer),
        }
    }

    /// Sets a case up and calls it once, and says how many threads it uses.
    pub(crate) fn prepare(&self, case: &Value) -> Result<usize, String> {
        let answer = self.ask(&with(case, "repeat", json!(1)))?;
        Ok(answer["threads"].as_u64().expect("a number of threads") as usize)
    }

    /// The mean seconds of `repeat` calls of a case that has been set up.
    pub(crate) fn time(&self, case: &Value, repeat: usize) -> f64 {
        let answer = self
            .ask(&with(case, "repeat", json!(repeat)))
            .unwrap_or_else(|error| panic!("{case} worked before: {error}"));
        answer["seconds"].as_f64().expect("a number of seconds")
    }
}

fn venv() -> PathBuf {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = || {
        let home = || PathBuf::from(set("HOME").unwrap_or_default()).join(".cache");
        set("XDG_CACHE_HOME").map_or_else(home, PathBuf::from)
    };
    set("PE_BURN_VENV").map_or_else(|| cache().join("pe-burn/venv"), PathBuf::from)
}

fn with(case: &Value, key: &str, value: Value) -> Value {
    let mut request = case.clone();
    request[key] = value;
    request
}

impl Python {
    fn ask(&mut self, request: &Value) -> Value {
        let input = self.input.as_mut().expect("open until dropped");
        let mut answer = String::new();
        let asked = writeln!(input, "{request}").and_then(|()| self.output.read_line(&mut answer));
        match asked {
            Ok(1..) => {}
            Ok(0) | Err(_) => panic!("peer.py ended on {request}; its message is above"),
        }
        let answer: Value = serde_json::from_str(&answer)
            .unwrap_or_else(|error| panic!("peer.py answered {answer:?}: {error}"));
        if answer["idle_cpu"]
            .as_f64()
            .is_none_or(|spent| spent > MAY_SPEND)
        {
            eprintln!("peer.py did not sleep while it waited: {answer}");
        }
        answer
    }
}

impl Drop for Python {
    /// The end of its input ends the process.
    fn drop(&mut self) {
        self.input = None;
        if let Err(error) = self.process.wait() {
            eprintln!("waiting for peer.py: {error}");
        }
    }
}
