//! Random changes of the files of a corpus.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// How many changed files a test reads if no time is set.
const CASES: usize = 150;

/// One change: which kind, where, and with what.
type Change = (u8, u32, u32);

/// What parsers stumble over.
const PIECES: [&[u8]; 34] = [
    b"0",
    b"-1",
    b"1e308",
    b"-1e-320",
    b"1e999",
    b"NaN",
    b"inf",
    b"0.1",
    b"18446744073709551616",
    b"9223372036854775807",
    b"4294967296",
    b"65536",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"[[[[[[[[",
    b"\"",
    b"\"\"",
    b"'",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\0",
    b"\n",
    b"\r",
    b"\t",
    b",",
    b";",
    b":",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xae",
    b"  ",
];

fn changed(mut bytes: Vec<u8>, other: &[u8], changes: &[Change]) -> Vec<u8> {
    for (kind, place, what) in changes {
        let (place, what) = (*place as usize % (bytes.len() + 1), *what as usize);
        let piece = PIECES[what % PIECES.len()];
        let end = (place + what % 40).min(bytes.len());
        match kind {
            0 if place < bytes.len() => bytes[place] ^= 1 << (what % 8),
            1 if place < bytes.len() => bytes[place] = what as u8,
            2 => drop(bytes.splice(place..place, piece.iter().copied())),
            3 => drop(bytes.drain(place..end)),
            4 => {
                let part = bytes[place..end].to_vec();
                let times = 1 + what % 300;
                drop(bytes.splice(place..place, part.repeat(times)));
            }
            5 => bytes.truncate(place),
            6 => {
                let from = what % (other.len() + 1);
                let part = &other[from..(from + 200).min(other.len())];
                drop(bytes.splice(place..end, part.iter().copied()));
            }
            // The next number, or the next word of a string.
            _ => {
                let is_number = |byte: &u8| byte.is_ascii_digit() || b".-+eE".contains(byte);
                let start = bytes[place..].iter().position(u8::is_ascii_digit);
                if let Some(start) = start.map(|start| place + start) {
                    let len = bytes[start..]
                        .iter()
                        .take_while(|byte| is_number(byte))
                        .count();
                    drop(bytes.splice(start..start + len, piece.iter().copied()));
                }
            }
        }
    }
    bytes
}

/// Whether there are more cases to try: `cases` of them, or as many as fit into `PE_FUZZ_SECONDS`.
pub fn more(cases: usize) -> impl Fn(usize) -> bool {
    let started = Instant::now();
    let seconds = std::env::var("PE_FUZZ_SECONDS").ok();
    let seconds = seconds.map(|text| Duration::from_secs(text.parse().unwrap()));
    move |done| seconds.map_or(done < cases, |seconds| started.elapsed() < seconds)
}

/// What makes the cases: the same ones at every run, as a test should have, unless a time is set. Then they are new ones.
pub fn runner() -> TestRunner {
    match std::env::var_os("PE_FUZZ_SECONDS") {
        None => TestRunner::deterministic(),
        Some(_) => TestRunner::new(ProptestConfig::default()),
    }
}

/// Reads every file of the corpus in all of the ways of `reads`, and changed ones in one of them each. A way gets the name of a file in
/// a folder of its own, and says whether the file could be used.
pub fn fuzz(parser: &str, files: Vec<(String, Vec<u8>)>, reads: &[&dyn Fn(&Path) -> bool]) {
    let folder = tempfile::tempdir().unwrap();
    let used = |name: &str, bytes: &[u8], read: &dyn Fn(&Path) -> bool| {
        let file = folder.path().join(name);
        fs::write(&file, bytes).unwrap();
        catch_unwind(AssertUnwindSafe(|| read(&file))).unwrap_or_else(|panic| {
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{parser}-{name}"));
            fs::write(&kept, bytes).unwrap();
            eprintln!("the file is kept as {}", kept.display());
            resume_unwind(panic)
        })
    };
    let all = files
        .iter()
        .flat_map(|file| reads.iter().map(move |read| (file, read)));
    let whole = all
        .filter(|((name, bytes), read)| used(name, bytes, read))
        .count();
    assert!(whole > 0, "no file of the corpus can be used");
    let changes = prop::collection::vec((0_u8..8, any::<u32>(), any::<u32>()), 0..6);
    let inputs = (0..files.len(), 0..files.len(), changes, 0..reads.len());
    let mut runner = runner();
    let (mut cases, mut good) = (0, 0);
    let more = more(CASES);
    while more(cases) {
        let (file, other, changes, read) = inputs.new_tree(&mut runner).unwrap().current();
        let (name, bytes) = &files[file];
        let bytes = changed(bytes.clone(), &files[other].1, &changes);
        good += usize::from(used(name, &bytes, reads[read]));
        cases += 1;
    }
    println!("{parser}: {cases} files, {good} of them could be used");
}
