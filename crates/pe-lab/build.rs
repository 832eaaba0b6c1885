//! Hashes the code that computes the numbers of a trial. Every result says by which it was computed.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// What the numbers of a trial depend on: sources, and the data of the tasks. Where this package was published, the
/// other two are dependencies with a version.
const CODE: [&str; 9] = [
    "../pe-burn/src",
    "../pe-encoder/src",
    "data",
    "src/ask",
    "src/data",
    "src/learn",
    "src/rng.rs",
    "src/run/trial.rs",
    "src/task",
];

/// How the names of the dependencies begin that compute or draw numbers.
const COMPUTING: [&str; 7] = ["burn", "cubecl", "gemm", "libm", "macerator", "pe-", "rand"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut hash = Sha256::new();
    for place in CODE.map(Path::new) {
        if place.exists() {
            println!("cargo::rerun-if-changed={}", place.display());
            add(&mut hash, place);
        }
    }
    // That of the workspace, or the one that is published with the package.
    let locks = ["../../Cargo.lock", "Cargo.lock"].map(Path::new);
    if let Some(lock) = locks.into_iter().find(|lock| lock.exists()) {
        println!("cargo::rerun-if-changed={}", lock.display());
        let text = String::from_utf8_lossy(&read(lock)).into_owned();
        for package in text
            .split("[[package]]")
            .filter(|package| computes(package))
        {
            let facts = package.lines().filter(|line| {
                ["name = ", "version = ", "checksum = "]
                    .iter()
                    .any(|field| line.starts_with(field))
            });
            facts.for_each(|line| hash.update(format!("{line}\n")));
        }
    }
    let digest: String = hash.finalize()[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    println!("cargo::rustc-env=PE_LAB_CODE={digest}");
}

/// Whether a package of the lock file is one of [`COMPUTING`].
fn computes(package: &str) -> bool {
    let name = package
        .lines()
        .find_map(|line| line.strip_prefix("name = \""));
    name.is_some_and(|name| COMPUTING.iter().any(|start| name.starts_with(start)))
}

/// Adds a file, or every file of a folder in the order of their names.
fn add(hash: &mut Sha256, place: &Path) {
    if place.is_dir() {
        let entries = fs::read_dir(place).unwrap_or_else(|error| panic!("{place:?}: {error}"));
        let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        inside.sort();
        inside.iter().for_each(|place| add(hash, place));
        return;
    }
    let bytes = read(place);
    let name = place.to_string_lossy().replace('\\', "/");
    hash.update(format!("{name} {}\n", bytes.len()));
    hash.update(bytes);
}

/// The bytes of a file, with the ends of lines as they are in the repository.
fn read(file: &Path) -> Vec<u8> {
    let mut bytes = fs::read(file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    bytes.retain(|byte| *byte != b'\r');
    bytes
}
