//! A folder of texts as a task: a folder for each class, with `.txt` files in it. A text is a row, and a study keeps the texts as
//! JSON lines.

use std::iter;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::{BadImage, BadLine, Problem, refuse};
use super::folders::{
    self, Bad, Folder, Found, check_folders, inside, kept_name, left_out, most_private,
};
use super::folds::labelled;
use super::format::Format;
use super::labels::Labels;
use super::limits::{MAX_BYTES, MAX_LINE};
use super::open::{open_bytes, rows_of, text};
use super::quote::{counted, grouped};
use super::reading::{Reading, TokenKind};
use super::rows::Collector;
use super::spec::{DataSpec, FileSpec, Source};
use super::task::{DataTask, Made};
use crate::door::Entry;

/// The ends of the names of the files in which a study keeps texts, and those to test on.
const EXTENSION: &str = "jsonl";
const TEST_EXTENSION: &str = "test.jsonl";

/// Whether a folder holds texts: more `.txt` files than images.
pub(super) fn are_in(source: &Source) -> bool {
    if source.inside.is_some() || !source.file.is_dir() {
        return false;
    }
    let Ok((files, _)) = folders::files(&source.file) else {
        return false;
    };
    let count = |ends: &[&str]| {
        let has = |file: &&PathBuf| ends.iter().any(|end| has_end(file, end));
        files.iter().filter(has).count()
    };
    count(&["txt"]) > count(&["png", "jpg", "jpeg"])
}

fn has_end(file: &Path, end: &str) -> bool {
    file.extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(end))
}

/// The task made of a folder of texts.
///
/// # Errors
///
/// A [`Problem`] for settings that texts have no use for, for files that cannot be used, and for folders without something to
/// learn.
pub(super) fn read(source: &Source) -> Result<DataTask, Problem> {
    let (root, reading) = (&source.file, &source.reading);
    check(source)?;
    let Folder { train, test, notes } = folders::folder(root)?;
    check_folders(&train, test.as_ref(), "text")?;
    let (mut parts, mut bad, mut hidden) = (Vec::new(), Bad::new(root, reading.skip_bad), 0);
    let test = test.as_ref().map(|(test, _)| (test, TEST_EXTENSION));
    for (found, extension) in iter::once((&train, EXTENSION)).chain(test) {
        parts.push(Part::of(root, found, extension, &mut bad)?);
        hidden += found.hidden;
    }
    bad.check()?;
    let bad = bad.all;
    let (collector, in_file, found) = rows_of_parts(&parts, reading, bad.len())?;
    let mut specs = parts.iter().map(Part::spec);
    let file = specs.next().unwrap_or_else(|| FileSpec::of(root, &[]));
    let spec = DataSpec {
        test: specs.next(),
        folds: source.folds,
        ..DataSpec::new(file, Format::JsonLines, reading)
    };
    let (tasks, mut description) = labelled(&collector.finish(), &spec, in_file)?;
    description.push(format!(
        "a text is a file, and its label the name of its folder; a token is a {}; the study keeps the texts as lines of {}",
        reading.tokens.unwrap_or(TokenKind::Words).noun(),
        spec.file
    ));
    description.extend(notes.into_iter().chain(left_out(hidden, &bad)).chain(found));
    let files = parts.iter().flat_map(|part| &part.files);
    let private = most_private(root, files.map(PathBuf::as_path));
    let packed = parts.into_iter().map(|part| part.text.into_bytes());
    Ok(DataTask {
        private,
        packed: packed.collect(),
        ..DataTask::of_file(source, spec, description, Made::Rows(tasks))
    })
}

/// The rows of all parts, how many of them are of the first part, and what is said of them. `bad` files were left out
/// already, and count among the rows that may be left out.
fn rows_of_parts(
    parts: &[Part],
    reading: &Reading,
    bad: usize,
) -> Result<(Collector, usize, Vec<String>), Problem> {
    let of_lines = Reading {
        skip_bad: reading.skip_bad - bad,
        ..reading.clone()
    };
    let mut rows = Collector::new(&of_lines, Labels::Needed);
    let (mut notes, mut in_first) = (Vec::new(), None);
    for part in parts {
        // The first line says which keys were read.
        notes.extend(part.rows(&mut rows)?.into_iter().skip(1));
        in_first.get_or_insert(rows.len());
    }
    Ok((rows, in_first.unwrap_or(0), notes))
}

/// Whether rows that are read so may be those of a folder of texts.
pub(super) fn may_be_of(reading: &Reading) -> bool {
    about(reading).is_none()
}

/// The first setting that texts have no use for.
fn about(reading: &Reading) -> Option<String> {
    let any = Reading {
        tokens: None,
        ..reading.clone()
    };
    let images = reading.about_images().map(str::to_string);
    let records = || any.not_about_records(TokenKind::Words);
    images.or_else(records).or_else(|| reading.about_text())
}

fn check(source: &Source) -> Result<(), Problem> {
    let reading = &source.reading;
    reading.check()?;
    let named = |file: &Option<PathBuf>, flag: &str| file.as_ref().map(|_| flag.to_string());
    let flag = about(reading)
        .or_else(|| named(&source.tokenizer, "--tokens FILE"))
        .or_else(|| named(&source.labels, "--labels"));
    refuse(
        flag,
        "is not about a folder of texts, whose labels are the names of the folders in it",
    )?;
    refuse(
        named(&source.test, "--test"),
        "is about files of rows; texts to test on stand in a folder test beside a folder train",
    )
}

/// The texts of a folder, as a study keeps them: a line for each file.
pub(super) struct Part {
    /// The name of the file in which they are kept.
    name: String,
    text: String,
    /// The file of each line, and the folder that a person named.
    files: Vec<PathBuf>,
    root: PathBuf,
}

/// A line. Texts to predict need no label.
#[derive(Serialize)]
struct Line<'a> {
    label: Option<&'a str>,
    text: &'a str,
}

impl Part {
    fn new(root: &Path, extension: &str) -> Self {
        Self {
            name: kept_name(root, extension),
            text: String::new(),
            files: Vec::new(),
            root: root.to_path_buf(),
        }
    }

    fn spec(&self) -> FileSpec {
        FileSpec::of(Path::new(&self.name), self.text.as_bytes())
    }

    /// Reads the files of all classes. Those that cannot be used go to `bad`.
    fn of(root: &Path, found: &Found, extension: &str, bad: &mut Bad<'_>) -> Result<Self, Problem> {
        let mut part = Self::new(root, extension);
        for (label, files) in found.labels.iter().zip(&found.files) {
            for file in files {
                part.add(file, Some(label), bad)?;
            }
        }
        Ok(part)
    }

    /// All texts of a folder and of the folders inside it, for a model to predict. The label of a text is the name of the nearest
    /// folder around it that is one of these.
    ///
    /// # Errors
    ///
    /// [`Problem::Other`] for files that cannot be used, and where there is none.
    pub fn to_predict(root: &Path, labels: &[String]) -> Result<Self, Problem> {
        let (root, files) = match root.is_dir() {
            true => (root, folders::files(root)?.0),
            false => (root.parent().unwrap_or(root), vec![root.to_path_buf()]),
        };
        let (mut part, mut bad) = (Self::new(root, EXTENSION), Bad::new(root, 0));
        for file in &files {
            let inside = inside(root, file);
            let mut folders = inside.ancestors().skip(1);
            let label = folders.find_map(|folder| {
                let name = folder.file_name()?.to_str()?;
                labels.iter().find(|label| *label == name)
            });
            let label = label.map(String::as_str);
            part.add(file, label, &mut bad)?;
        }
        match (&bad.all[..], part.files.len()) {
            ([], 0) => Err(Problem::Other("holds no file; it takes .txt files".into())),
            ([], _) => Ok(part),
            ([first, ..], _) => Err(Problem::Other(format!(
                "{} of {} cannot be used, such as {first}; take them away",
                grouped(bad.all.len()),
                counted(files.len(), "file")
            ))),
        }
    }

    fn add(&mut self, file: &Path, label: Option<&str>, bad: &mut Bad<'_>) -> Result<(), Problem> {
        if let Some(line) = bad.sort_out(file, line_of(file, label)) {
            self.text.push_str(&line);
            self.text.push('\n');
            self.files.push(file.to_path_buf());
        }
        let bytes = self.text.len() as u64;
        match bytes > MAX_BYTES {
            true => Err(Problem::TooLarge { bytes }),
            false => Ok(()),
        }
    }

    pub fn names(&self) -> Vec<String> {
        let name = |file: &PathBuf| inside(&self.root, file).display().to_string();
        self.files.iter().map(name).collect()
    }

    /// Reads the texts as rows, and returns in words how.
    pub fn rows(&self, rows: &mut Collector) -> Result<Vec<String>, Problem> {
        let read = rows_of(Path::new(&self.name), Format::JsonLines, &self.text, rows);
        read.map_err(|problem| self.by_file(problem))
    }

    /// What is wrong with lines, said of their files.
    fn by_file(&self, problem: Problem) -> Problem {
        let Problem::Lines { count, shown, .. } = problem else {
            return problem;
        };
        let of = |bad: BadLine| BadImage {
            path: inside(
                &self.root,
                self.files.get(bad.line - 1).unwrap_or(&self.root),
            ),
            what: bad.what,
        };
        let shown = shown.into_iter().map(of).collect();
        Problem::BadImages { count, shown }
    }
}

/// The line of a file, or what is wrong with it.
fn line_of(file: &Path, label: Option<&str>) -> Result<String, String> {
    if !has_end(file, "txt") {
        return Err("is no .txt file".into());
    }
    let read = open_bytes(&Entry::named(file)).and_then(|bytes| text(file, bytes));
    let text = read
        .map_err(|problem| problem.to_string())?
        .replace("\r\n", "\n");
    let line = Line { label, text: &text };
    let line = serde_json::to_string(&line).map_err(|error| error.to_string())?;
    match line.len() > MAX_LINE {
        true => Err(format!(
            "has {} bytes as a line of JSON, more than the {} of a text",
            grouped(line.len()),
            grouped(MAX_LINE)
        )),
        false => Ok(line),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::data::testing::{self, Says, load};

    /// Texts of two classes that differ in the order of two words.
    fn write(root: &Path) {
        for (class, first, second) in [("good", "not", "bad"), ("bad", "bad", "not")] {
            fs::create_dir_all(root.join(class).join("more")).unwrap();
            for i in 0..20 {
                let folder = root.join(class).join(if i % 3 == 0 { "more" } else { "" });
                let text = format!("so {first}\r\nis {second} {i}\n");
                fs::write(folder.join(format!("{i}.txt")), text).unwrap();
            }
        }
    }

    #[test]
    fn a_folder_of_texts_reads_as_the_lines_that_a_study_keeps() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("reviews");
        write(&root);
        fs::write(root.join("good/.hidden"), "x").unwrap();
        // An earlier study of it, in the folder itself.
        fs::create_dir(root.join("pe-lab-results")).unwrap();
        fs::write(root.join("pe-lab-results/study.json"), "{}").unwrap();
        for (tokens, token) in [("", "word"), ("tokens = 'characters'", "character")] {
            let data = load(&root, tokens).unwrap();
            assert_eq!(data.spec().file, "reviews.jsonl");
            assert_eq!(data.labels().len(), 2);
            data.says("40 rows of labelled sequences");
            data.says(&format!(
                "a token is a {token}; the study keeps the texts as lines of reviews.jsonl"
            ));
            data.says("hidden files and studies, which are not read: 2");
            let kept = folder.path().join("reviews.jsonl");
            fs::write(&kept, data.packed().unwrap()).unwrap();
            let again = load(&kept, tokens).unwrap();
            let of = |task: &DataTask, path: &Path| task.to_predict("data", path).unwrap();
            let (texts, lines) = (of(&data, &root), of(&again, &kept));
            let one = of(&data, &root.join("bad/1.txt"));
            assert_eq!(
                (&one.samples[..], &one.names[..]),
                (&texts.samples[..1], &["1.txt".into()][..])
            );
            assert_eq!((texts.samples, texts.truth), (lines.samples, lines.truth));
            assert_eq!((texts.about, &*texts.names[0]), ("file", "bad/1.txt"));
            assert_eq!(again.spec(), data.spec());
            let batch = |data: &DataTask| data.task().train_batch(1, 0, 8);
            assert_eq!(batch(&again), batch(&data));
        }
    }

    #[test]
    fn texts_inside_of_train_and_test_are_divided_so() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("reviews");
        write(&root.join("train"));
        write(&root.join("test"));
        let data = load(&root, "").unwrap();
        let test = data.spec().test.clone().unwrap();
        assert_eq!(test.file, "reviews.test.jsonl");
        let keep =
            |name: &str, bytes: Option<&[u8]>| testing::file(folder.path(), name, bytes.unwrap());
        let file = keep("reviews.jsonl", data.packed());
        let again = Source {
            test: Some(keep("reviews.test.jsonl", data.packed_test())),
            ..Source::from(file.as_path())
        };
        assert_eq!(DataTask::read(&again).unwrap().spec(), data.spec());
    }

    #[test]
    fn files_that_cannot_be_used_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("reviews");
        write(&root);
        let file = root.join("bad/1.txt");
        let whole = fs::read(&file).unwrap();
        for (bytes, what) in [
            (&b""[..], "1.txt is empty"),
            (b" \n", "1.txt is empty"),
            (b"a\xff", "1.txt 1 bad line"),
            (&b"a ".repeat(600), "1.txt a sequence of 600 tokens"),
        ] {
            fs::write(&file, bytes).unwrap();
            let error = load(&root, "").unwrap_err();
            error.says(&format!("{what} … --skip-bad 1"));
            load(&root, "skip_bad = 1").unwrap();
        }
        fs::write(&file, whole).unwrap();
        // One image among many texts.
        fs::write(root.join("bad/photo.png"), b"\x89PNG\r\n\x1a\n").unwrap();
        let error = load(&root, "").unwrap_err();
        error.says("1 file cannot be used\n  bad/photo.png is no .txt file … --skip-bad 1");
        fs::remove_file(root.join("bad/photo.png")).unwrap();
        fs::write(root.join("bad/readme.md"), "x").unwrap();
        let says = |settings: &str, said: &str| load(&root, settings).unwrap_err().says(said);
        says("", "bad/readme.md is no .txt file");
        fs::rename(root.join("bad/readme.md"), root.join("readme.md")).unwrap();
        says("", "the file `readme.md`");
        fs::remove_file(root.join("readme.md")).unwrap();
        fs::create_dir(root.join("none")).unwrap();
        says("", "the folder `none` of a class holds no text");
        fs::remove_dir(root.join("none")).unwrap();
        says("label = 'x'", "--label is not about a folder of texts");
        says("size = 8", "--size is not about a folder of texts");
        fs::remove_dir_all(root.join("good")).unwrap();
        says("", "all texts are in one folder, `bad`");
    }
}
