//! Every parser of foreign bytes, on a corpus and on files made of it by random changes: an error or a value that can be
//! used, and no panic.
//!
//! `corpus/PARSER/` holds the files. Each test reads them as they are, and then some hundred random changes of them. A
//! longer run is `scripts/fuzz`, which sets `PE_FUZZ_SECONDS` for each test. A file that fails is written to
//! `target/fuzz/`, to be made small and added to the corpus.

mod common;
mod fuzzing;

use std::fs;
use std::path::{Path, PathBuf};

use common::settings;
use pe_lab::ask::{Plan, StudySpec, Tasks};
use pe_lab::data::{DataTask, Source};
use pe_lab::folder::{Entry, write_sealed};
use pe_lab::inspect::Inspection;
use pe_lab::run::TrialResult;
use pe_lab::task::{Input, Sample, Task};

/// Reads the corpus of a parser in all of these ways, and files that are made of it.
fn fuzz(parser: &str, reads: &[&dyn Fn(&Path) -> bool]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus")
        .join(parser);
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    let named = |file: PathBuf| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read(file).unwrap())
    };
    fuzzing::fuzz(parser, files.into_iter().map(named).collect(), reads);
}

/// Uses a task of foreign data as a training does.
fn check(task: &dyn Task) {
    let of = |sample: &Sample| {
        match &sample.input {
            Input::Tokens(tokens) => assert!(tokens.iter().all(|token| *token < task.vocabulary())),
            Input::Vectors { values, .. } => assert!(values.iter().all(|value| value.is_finite())),
        }
        assert!(!sample.input.is_empty());
        assert!(
            sample
                .answers
                .iter()
                .all(|answer| answer.class < task.classes().max(1))
        );
        assert!(sample.numbers.iter().all(|number| number.is_finite()));
        if let Some(times) = &sample.times {
            assert_eq!(times.len(), sample.input.len());
            assert!(times.iter().all(|time| time.is_finite()));
            assert!(times.is_sorted());
        }
    };
    task.train_batch(1, 0, 4).iter().for_each(of);
    for length in task.test_lengths() {
        assert!(task.floor(length).is_finite());
        let set = task.test_set(length);
        assert!(!set.is_empty());
        set.iter().take(4).for_each(of);
    }
}

/// Whether a file can be used that is read with these settings.
fn data(file: &Path, text: &str) -> bool {
    source(&Source {
        reading: settings(text),
        ..Source::from(file)
    })
}

fn usual(file: &Path) -> bool {
    data(file, "")
}

fn by(text: &str) -> impl Fn(&Path) -> bool {
    move |file| data(file, text)
}

fn source(source: &Source) -> bool {
    match DataTask::read(source) {
        Err(error) => {
            assert!(
                error.to_string().len() < 20_000,
                "a message as long as the file"
            );
            false
        }
        Ok(data) => {
            data.tasks().iter().for_each(|task| check(task.as_ref()));
            true
        }
    }
}

#[test]
fn csv() {
    let first = by("no_header = true; label = '1'; skip_bad = 5; max_len = 9");
    fuzz("csv", &[&usual, &first]);
}

#[test]
fn ts() {
    fuzz("ts", &[&usual]);
}

#[test]
fn arff() {
    fuzz("arff", &[&usual]);
}

#[test]
fn whole_series_of_a_long_table() {
    let strict = by("id = 'id'; time = 'time'");
    let skipping = by("id = 'id'; time = 'time'; skip_bad = 9");
    fuzz("long", &[&strict, &skipping]);
}

/// A table of classes, with the records of a FASTA file that is as it should be.
#[test]
fn tables_of_classes() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("dna.fasta");
    let sequence = |i: usize| ["ACGT", "TTGA", "GGCA"][i % 3].repeat(1 + i % 5);
    let record = |i: usize| format!(">r{i} of a kind\n{}\n", sequence(i));
    fs::write(&records, (0..30).map(record).collect::<String>()).unwrap();
    let of = |file: &Path, text| {
        source(&Source {
            labels: Some(file.to_path_buf()),
            reading: settings(text),
            ..Source::from(records.as_path())
        })
    };
    let [strict, skipping] = ["", "skip_bad = 9"].map(|text| move |file: &Path| of(file, text));
    fuzz("labels", &[&strict, &skipping]);
}

/// One text of a folder, beside texts that are as they should be.
#[test]
fn texts_of_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    for (class, text) in [("good", "not bad"), ("bad", "bad not")] {
        fs::create_dir(folder.path().join(class)).unwrap();
        for i in 0..20 {
            let file = folder.path().join(class).join(format!("{i}.txt"));
            fs::write(file, format!("so {text} {i}")).unwrap();
        }
    }
    let of = |file: &Path, text| {
        fs::copy(file, folder.path().join("good/1.txt")).unwrap();
        data(folder.path(), text)
    };
    let words = |file: &Path| of(file, "");
    let characters = |file: &Path| of(file, "tokens = 'characters'; skip_bad = 1");
    fuzz("texts", &[&words, &characters]);
}

#[test]
fn json_lines() {
    fuzz("jsonl", &[&usual]);
}

#[test]
fn text() {
    let next = by("objective = 'next'");
    fuzz("text", &[&usual, &next]);
}

#[test]
fn fasta() {
    let skipping = by("skip_bad = 9; max_len = 9");
    fuzz("fasta", &[&usual, &skipping]);
}

/// Changes break nearly every stream, so that only the file as it is can be used.
#[test]
fn packed() {
    fuzz("packed", &[&usual]);
}

/// Tables of texts, of numbers and of lists, as the crates of Arrow write them in every form of file that is read.
#[cfg(feature = "parquet")]
#[test]
fn columnar() {
    let of_time = by("target = 'half'; skip_bad = 9");
    let cells = by("columns = ['half', 'whole']; skip_bad = 9");
    let reads: [&dyn Fn(&Path) -> bool; 3] = [&usual, &of_time, &cells];
    fuzz("columnar", &reads);
}

#[test]
fn series() {
    let short = by("target = 'value'; time = 'time'; skip_bad = 3; max_len = 9");
    let long = by("target = 'value'; time = 'time'; skip_bad = 3");
    let class = by("target = 'class'; time = 'time'; skip_bad = 3");
    let two_columns = by("target = 'value'; time = 'year,quarter'; skip_bad = 3");
    let reads: [&dyn Fn(&Path) -> bool; 4] = [&short, &long, &class, &two_columns];
    fuzz("series", &reads);
}

#[test]
fn token_ids() {
    fuzz("ids", &[&usual]);
}

#[test]
fn plans() {
    fuzz(
        "plan",
        &[&|file| {
            let Ok(plan) = Plan::read(file) else {
                return false;
            };
            // A plan may name any file of this machine.
            if plan.data.is_some() {
                return true;
            }
            let Ok((spec, tasks)) = StudySpec::of(plan) else {
                return false;
            };
            spec.check(&tasks).unwrap();
            let text = toml::to_string(&spec.plan()).unwrap();
            assert_eq!(StudySpec::of(Plan::parse(&text).unwrap()).unwrap().0, spec);
            true
        }],
    );
}

#[test]
fn studies() {
    let tasks = Tasks::default();
    fuzz(
        "study",
        &[&|file| {
            let spec: Result<StudySpec, _> = pe_lab::folder::read_json(&Entry::named(file));
            let Ok(spec) = spec else { return false };
            spec.check(&tasks).is_ok() && spec.trials(&tasks).is_ok()
        }],
    );
}

#[test]
fn results() {
    let tasks = Tasks::default();
    fuzz(
        "result",
        &[&|file| {
            // With its old digest every change would be refused, so it gets that of what it is now.
            if let Ok(serde_json::Value::Object(mut fields)) =
                serde_json::from_slice(&fs::read(file).unwrap())
            {
                fields.remove("digest");
                write_sealed(&Entry::named(file), &fields).unwrap();
            }
            let Ok(result) = TrialResult::read(&Entry::named(file)) else {
                return false;
            };
            let Ok(task) = tasks.get(&result.spec.task) else {
                return false;
            };
            let damage = result.measures().and_then(|of| of.damage(task.as_ref()));
            if let (None, Some(measures)) = (damage, result.measures()) {
                let mut scores = measures.scores.iter();
                assert!(scores.all(|score| score.normalized().is_finite()));
            }
            // What was read can be written and is the same again.
            result.write(&Entry::named(file)).unwrap();
            assert_eq!(TrialResult::read(&Entry::named(file)).unwrap(), result);
            true
        }],
    );
}

fn inspected(inspection: &Inspection) {
    for group in &inspection.groups {
        if let Some(rotation) = &group.rotation {
            assert!(rotation.base.is_finite() && rotation.attention_factor.is_finite());
            let mut lengths = rotation.wavelengths.iter().flatten();
            assert!(
                lengths.all(|length| length.is_finite() && *length > 0.0),
                "{rotation:?}"
            );
        }
    }
    assert!(!inspection.to_string().is_empty());
    serde_json::to_string(inspection).unwrap();
}

#[test]
fn configs() {
    fuzz(
        "config",
        &[&|file| {
            let read = Inspection::read(file, None, None);
            read.iter().for_each(inspected);
            read.is_ok()
        }],
    );
}

#[test]
fn weights() {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/config/llama.json");
    fuzz(
        "safetensors",
        &[&|file| {
            let read = Inspection::read(&config, Some(file), None);
            read.iter().for_each(inspected);
            read.is_ok()
        }],
    );
}
