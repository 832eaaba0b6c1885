//! Finds the files, images or texts, of a folder that has one folder for each class.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::{BadImage, Problem, SHOWN};
use super::limits::MAX_CLASSES;
use super::quote::{grouped, shorten};
use super::spec::short_enough;

/// The most files of a folder.
const MAX_FILES: usize = 100_000;
/// How deep folders inside the folder of a class, or of files to predict, are read.
const MAX_DEPTH: usize = 8;
/// Files that file managers leave behind.
const LEFT_BEHIND: [&str; 2] = ["thumbs.db", "desktop.ini"];
/// What lies in the folder of a study.
const STUDY: &str = "study.json";

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The names of the classes, sorted.
    pub labels: Vec<String>,
    /// The files of each class, sorted by their paths.
    pub files: Vec<Vec<PathBuf>>,
    /// Files whose names begin with a dot, and the like.
    pub hidden: usize,
}

#[derive(Debug)]
pub(super) struct Folder {
    /// The files to train on, or all of them.
    pub train: Found,
    /// The files to test on, and the name of their folder, if they have one.
    pub test: Option<(Found, &'static str)>,
    /// What else is there and is not read, in words.
    pub notes: Vec<String>,
}

/// The folders of classes, which may stand inside `train` and `test` (or `val`).
///
/// # Errors
///
/// [`Problem::Other`] for a folder without classes, for files beside the folders of classes, and for too
/// many files or classes.
pub(super) fn folder(root: &Path) -> Result<Folder, Problem> {
    let is = |name: &str| root.join(name).is_dir();
    if !is("train") {
        return Ok(Folder {
            train: classes(root, "")?,
            test: None,
            notes: Vec::new(),
        });
    }
    let test = ["test", "val"].into_iter().find(|name| is(name));
    let mut notes = Vec::new();
    for entry in sorted(root)? {
        let name = name_of(&entry);
        if name == "train" || test == Some(name.as_str()) {
            continue;
        }
        notes.push(format!(
            "{} is beside train and is not read",
            shorten(&name)
        ));
    }
    let test = match test {
        None => None,
        Some(name) => Some((classes(&root.join(name), "")?, name)),
    };
    let advice = "; a folder called train is taken for what is trained on, so give a class of this name another one";
    Ok(Folder {
        train: classes(&root.join("train"), advice)?,
        test,
        notes,
    })
}

/// The files inside a folder of folders. `advice` is what to do where it has none.
fn classes(root: &Path, advice: &str) -> Result<Found, Problem> {
    let wrong = |reason: String| Err(Problem::Other(reason));
    let mut found = Found::default();
    let (mut files, mut count) = (Vec::new(), 0);
    for entry in sorted(root)? {
        let name = name_of(&entry);
        if is_hidden(&name) {
            found.hidden += 1;
        } else if !entry.is_dir() {
            files.push(name);
        } else if is_study(&entry) {
            found.hidden += 1;
        } else {
            let mut of_class = Vec::new();
            walk(&entry, 0, &mut of_class, &mut found.hidden, &mut count)?;
            found.labels.push(name);
            found.files.push(of_class);
        }
    }
    if found.labels.is_empty() {
        return wrong(format!(
            "{} holds no folder; it takes one folder for each class, with the PNG and JPEG files, or the .txt \
             files, of that class in it{advice}",
            root.display()
        ));
    }
    if let Some(name) = files.first() {
        return wrong(format!(
            "{} holds {} and the folders of classes; put every file of a class into its folder, and \
             other files elsewhere",
            root.display(),
            match files.len() {
                1 => format!("the file {}", shorten(name)),
                count => format!("{} files, such as {}", grouped(count), shorten(name)),
            }
        ));
    }
    if found.labels.len() > MAX_CLASSES {
        return wrong(format!(
            "{} holds {} folders, more than {} classes",
            root.display(),
            grouped(found.labels.len()),
            grouped(MAX_CLASSES)
        ));
    }
    Ok(found)
}

/// The name of the file in which a study keeps what was read from a folder.
pub(super) fn kept_name(folder: &Path, extension: &str) -> String {
    let whole = folder.canonicalize();
    let name = whole.as_deref().unwrap_or(folder).file_name();
    let name = name.map_or("folder".into(), |name| name.to_string_lossy());
    short_enough(format!("{name}.{extension}"))
}

/// Checks the folders of classes before a file is read.
///
/// # Errors
///
/// [`Problem::Other`] for a class without files, for one class alone, and for a class that is only tested. `what` is `image`
/// or `text`.
pub(super) fn check_folders(
    train: &Found,
    test: Option<&(Found, &'static str)>,
    what: &str,
) -> Result<(), Problem> {
    let empty = |found: &Found| {
        let empty = found.files.iter().position(Vec::is_empty);
        empty.map(|class| found.labels[class].clone())
    };
    let test_folder = test.map(|(found, _)| found);
    if let Some(label) = empty(train).or_else(|| test_folder.and_then(empty)) {
        return Err(Problem::Other(format!(
            "the folder {} of a class holds no {what}; delete it, or put {what}s into it",
            shorten(&label)
        )));
    }
    if let [label] = &train.labels[..] {
        return Err(Problem::Other(format!(
            "all {what}s are in one folder, {}, so there is nothing to tell apart; it takes two classes",
            shorten(label)
        )));
    }
    if let Some((test, name)) = test
        && let Some(label) = test
            .labels
            .iter()
            .find(|label| !train.labels.contains(label))
    {
        return Err(Problem::Other(format!(
            "the class {} is only in {name}, so no model can have learned it",
            shorten(label)
        )));
    }
    Ok(())
}

/// The files of a folder that cannot be used. A few may be left out.
pub(super) struct Bad<'a> {
    root: &'a Path,
    allowed: usize,
    pub all: Vec<BadImage>,
}

impl<'a> Bad<'a> {
    pub fn new(root: &'a Path, allowed: usize) -> Self {
        let all = Vec::new();
        Self { root, allowed, all }
    }

    /// The result of a file that can be used; for any other file the reason is noted.
    pub fn sort_out<T>(&mut self, file: &Path, tried: Result<T, String>) -> Option<T> {
        let path = || inside(self.root, file);
        let keep = |what| self.all.push(BadImage { path: path(), what });
        tried.map_err(keep).ok()
    }

    pub fn check(&self) -> Result<(), Problem> {
        match self.all.len() > self.allowed {
            false => Ok(()),
            true => Err(Problem::BadImages {
                count: self.all.len(),
                shown: self.all.iter().take(SHOWN).cloned().collect(),
            }),
        }
    }
}

/// The path of a file relative to the folder that was named; a file that was named itself keeps its path.
pub(super) fn inside(root: &Path, file: &Path) -> PathBuf {
    let inside = file.strip_prefix(root).ok();
    let inside = inside.filter(|inside| !inside.as_os_str().is_empty());
    inside.unwrap_or(file).to_path_buf()
}

/// Among the files of a folder that were read, and the folders that they are in: one that the group may not read, and one
/// that others may not read, where there are such.
pub(super) fn most_private<'a>(
    root: &'a Path,
    files: impl Iterator<Item = &'a Path>,
) -> Vec<PathBuf> {
    let inside = |path: &&Path| path.starts_with(root);
    let read: BTreeSet<&Path> = files
        .flat_map(|file| file.ancestors().take_while(inside))
        .chain([root])
        .collect();
    let may_read = |path: &Path, who: u32| {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::metadata(path).map_or(0, |of| of.permissions().mode() & who)
        }
        #[cfg(not(unix))]
        {
            let _ = (path, who);
            0_u32
        }
    };
    let least = |who| read.iter().min_by_key(|path| may_read(path, who));
    [0o040, 0o004]
        .into_iter()
        .filter_map(least)
        .map(|path| path.to_path_buf())
        .collect()
}

/// What was not read.
pub(super) fn left_out(hidden: usize, bad: &[BadImage]) -> Vec<String> {
    let mut lines = Vec::new();
    if hidden > 0 {
        lines.push(format!(
            "hidden files and studies, which are not read: {}",
            grouped(hidden)
        ));
    }
    if !bad.is_empty() {
        lines.push(format!(
            "files left out because they cannot be used: {} ({})",
            grouped(bad.len()),
            first_of(bad)
        ));
    }
    lines
}

/// The first of some files, on one line.
pub(super) fn first_of(bad: &[BadImage]) -> String {
    let shown = bad.iter().take(SHOWN).map(BadImage::to_string);
    let more = (bad.len() > SHOWN).then(|| "…".to_string());
    shown.chain(more).collect::<Vec<_>>().join("; ")
}

/// All files of a folder and of the folders inside it, sorted by their paths, and how many hidden ones there are.
///
/// # Errors
///
/// [`Problem::Other`] for too many files, and for folders that lie too deep.
pub(super) fn files(root: &Path) -> Result<(Vec<PathBuf>, usize), Problem> {
    let (mut files, mut hidden, mut count) = (Vec::new(), 0, 0);
    walk(root, 0, &mut files, &mut hidden, &mut count)?;
    Ok((files, hidden))
}

fn walk(
    folder: &Path,
    depth: usize,
    files: &mut Vec<PathBuf>,
    hidden: &mut usize,
    count: &mut usize,
) -> Result<(), Problem> {
    if depth == MAX_DEPTH {
        return Err(Problem::Other(format!(
            "{} lies {MAX_DEPTH} folders deep, and deeper folders are not read",
            folder.display()
        )));
    }
    for entry in sorted(folder)? {
        if is_hidden(&name_of(&entry)) {
            *hidden += 1;
        } else if entry.is_dir() {
            match is_study(&entry) {
                true => *hidden += 1,
                false => walk(&entry, depth + 1, files, hidden, count)?,
            }
        } else {
            *count += 1;
            if *count > MAX_FILES {
                return Err(Problem::Other(format!(
                    "holds more than {} files; take a sample of them",
                    grouped(MAX_FILES)
                )));
            }
            files.push(entry);
        }
    }
    Ok(())
}

/// What is in a folder, sorted, so that the order is the same on every machine.
fn sorted(folder: &Path) -> Result<Vec<PathBuf>, Problem> {
    let unreadable = |error: std::io::Error| {
        Problem::Other(format!("{} cannot be read: {error}", folder.display()))
    };
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        entries.push(entry.map_err(unreadable)?.path());
    }
    entries.sort();
    Ok(entries)
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn is_hidden(name: &str) -> bool {
    name.starts_with('.') || LEFT_BEHIND.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether a folder is that of a study, which may lie in the folder of its data.
fn is_study(folder: &Path) -> bool {
    folder.join(STUDY).is_file()
}
