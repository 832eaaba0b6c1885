//! The report of a study in a folder of the user's, where only files that a report has written are overwritten.

use std::collections::BTreeSet;
use std::path::Path;

use crate::console::tell;
use crate::error::LabError;
use crate::folder::{
    Entry, StudyFolder, is_there, is_unfinished, make_folder, names, read_bounded, remove,
    remove_all, rename, unfinished, write_whole,
};

/// The file that lists what reports have written in a folder, a name on each line.
const LIST: &str = ".pe-lab-report";

/// How the names of files for a paper begin.
const PAPER: &str = "paper/";

/// Lets `report` write to a folder of the user's, and returns the paths of its files, the page first. The report is written
/// to a temporary folder inside, and its files are then moved to their places.
///
/// # Errors
///
/// [`LabError::Usage`] when a file of the same name is there that no report has written: nothing is changed then. When
/// the folder cannot be written.
pub(super) fn write(
    folder: &StudyFolder,
    report: impl FnOnce(&StudyFolder) -> Result<Vec<Entry>, LabError>,
) -> Result<Vec<Entry>, LabError> {
    for left in names(&folder.entry(""))? {
        if is_unfinished(&left) {
            remove_all(&folder.entry(left))?;
        }
    }
    let inside = folder.entry(unfinished());
    make_folder(&inside)?;
    let written =
        report(&StudyFolder::at(&*inside)).and_then(|files| place(&files, &inside, folder));
    remove_all(&inside)?;
    written
}

/// Puts the files in their places.
fn place(files: &[Entry], from: &Entry, to: &StudyFolder) -> Result<Vec<Entry>, LabError> {
    let name = |file: &'_ Entry| Some(file.strip_prefix(from).ok()?.to_str()?.to_string());
    let names: Vec<String> = files.iter().filter_map(name).collect();
    let list = to.entry(LIST);
    let listed = match is_there(&list)? {
        true => String::from_utf8_lossy(&read_bounded(&list)?).into_owned(),
        false => String::new(),
    };
    let own: BTreeSet<&str> = listed.lines().collect();
    for name in &names {
        if !own.contains(&name[..]) && is_there(&to.entry(name))? {
            return Err(LabError::Usage(format!(
                "{} is there, and no report of pe-lab has written it; move it away, or choose another folder with --out",
                to.entry(name).display()
            )));
        }
    }
    let new: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let all: String = own.union(&new).map(|name| format!("{name}\n")).collect();
    write_whole(&list, all.as_bytes())?;
    let place = |name: &String| {
        if let Some(folder) = Path::new(name).parent() {
            make_folder(&to.entry(folder))?;
        }
        rename(&from.entry(name), &to.entry(name))?;
        Ok(to.entry(name))
    };
    let placed = names.iter().map(place).collect::<Result<_, LabError>>()?;
    // What an earlier report has written and this one has not is about something else. Files for a paper stay: they may have been edited.
    let is_new = |old: &&&str| new.iter().any(|name| name.eq_ignore_ascii_case(old));
    let (kept, old): (Vec<&str>, Vec<&str>) = own
        .difference(&new)
        .filter(|old| !is_new(old))
        .partition(|old| old.starts_with(PAPER));
    for name in old {
        // The report is there, whether or not an older file can be removed.
        if let Err(error) = remove(&to.entry(name)) {
            tell(&format!(
                "a file of an earlier report is still there: {error}"
            ));
        }
    }
    if !kept.is_empty() {
        tell(&format!(
            "{} is of an earlier report; --paper writes it again",
            to.paper().display()
        ));
    }
    let list_of_all: String = new
        .iter()
        .chain(&kept)
        .map(|name| format!("{name}\n"))
        .collect();
    write_whole(&list, list_of_all.as_bytes())?;
    Ok(placed)
}
