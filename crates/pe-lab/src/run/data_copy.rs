//! The study's own copy of the user's data. Its trials read the copy, so that they need nothing from
//! outside of the folder.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Component, Path, PathBuf};

use crate::ask::Tasks;
use crate::data::{self, DataSpec, DataTask, Known, Source};
use crate::error::LabError;
use crate::folder::{Copied, Copies, Entry, StudyFolder, is_there, make_folder, write_by};

/// The tasks of a study in a folder: those of the laboratory, or the one made of the study's copy of
/// the data.
///
/// # Errors
///
/// [`LabError::ChangedData`] when a copy is not the file that the study was made with,
/// [`LabError::File`] when it cannot be read.
pub fn kept_tasks(data: Option<&DataSpec>, folder: &StudyFolder) -> Result<Tasks, LabError> {
    let Some(spec) = data else {
        return Ok(Tasks::default());
    };
    let is_windowed = is_windowed(spec, folder)?;
    let copies = folder.copies(spec);
    let path = |(_, copy): &Copied| copy.to_path_buf();
    let source = Source {
        inside: Some(folder.path().to_path_buf()),
        file: path(&copies.data),
        test: copies.test.as_ref().map(path),
        folds: spec.folds,
        reading: spec.reading.clone(),
        tokenizer: copies.tokenizer.as_ref().map(path),
        labels: copies.labels.as_ref().map(path),
        known: is_windowed.then(|| Known {
            sha256: spec.sha256.clone(),
            vocabulary: spec.vocabulary,
            ids: spec.tokenizer.as_ref().map(|_| folder.ids().to_path_buf()),
        }),
    };
    copies.tokenizer.iter().try_for_each(check)?;
    match is_windowed {
        true => drop(check_size(&copies.data)?),
        false => check_copies(spec, folder)?,
    }
    Tasks::from_source(&source)
}

/// Checks the copies of the user's data, if any, once and before any worker reads them. Data that is read window by window
/// may be larger than the memory, and is left to the workers, which check its size.
///
/// # Errors
///
/// As [`kept_tasks`].
pub(super) fn check_kept(tasks: &Tasks, folder: &StudyFolder) -> Result<(), LabError> {
    match tasks.data().map(DataTask::spec) {
        Some(spec) if !is_windowed(spec, folder)? => check_copies(spec, folder),
        _ => Ok(()),
    }
}

/// Whether the data is read window by window: the file itself, or the tokens that a tokenizer made of it.
fn is_windowed(spec: &DataSpec, folder: &StudyFolder) -> Result<bool, LabError> {
    Ok(spec.is_windowed() || (spec.tokenizer.is_some() && is_there(&folder.ids())?))
}

/// Checks that the copies of a file, of its test file and of its table of classes are the files that the study was made with.
fn check_copies(spec: &DataSpec, folder: &StudyFolder) -> Result<(), LabError> {
    let Copies {
        data, labels, test, ..
    } = folder.copies(spec);
    let all = [Some(data), labels, test];
    all.iter().flatten().try_for_each(check)
}

/// Checks that a copy has the size and the digest of the file that the study was made with. Another file may hold anything,
/// so this comes before it is parsed. A study may come from somebody else: a name that leads out of its folder, a link and
/// a pipe are not opened.
fn check(copied: &Copied) -> Result<(), LabError> {
    let opened = check_size(copied)?;
    let found = data::digest_of(opened).map_err(LabError::file(&copied.1))?;
    match found == copied.0.sha256 {
        true => Ok(()),
        false => Err(changed(copied)),
    }
}

fn changed((of, copy): &Copied) -> LabError {
    LabError::ChangedData {
        path: copy.to_path_buf(),
        file: of.file.clone(),
    }
}

/// Checks that the name of a file has no folder in it.
fn is_plain(file: &str) -> Result<(), LabError> {
    let mut parts = Path::new(file).components();
    let plain = matches!(
        (parts.next(), parts.next()),
        (Some(Component::Normal(_)), None)
    );
    match plain {
        true => Ok(()),
        false => Err(LabError::Usage(format!(
            "the study names the data file `{}`; it must be the name of a file without a folder",
            file.escape_debug()
        ))),
    }
}

/// Opens a copy, and checks its name and its size. For a file that is read window by window this is the whole check, since
/// every trial does it and the file may be larger than the memory.
fn check_size(copied: &Copied) -> Result<File, LabError> {
    let (of, copy) = copied;
    is_plain(&of.file)?;
    let opened = match copy.open() {
        Err(error) if error.kind() == ErrorKind::InvalidData => return Err(changed(copied)),
        opened => opened.map_err(LabError::file(copy))?,
    };
    let about = opened.metadata().map_err(LabError::file(copy))?;
    match about.len() == of.bytes {
        true => Ok(opened),
        false => Err(changed(copied)),
    }
}

/// Copies the user's data, if any, into the folder, unless it is there already.
///
/// # Errors
///
/// [`LabError::File`] when the folder cannot be written, [`LabError::Usage`] when the file has changed
/// since it was read.
pub fn keep_data(tasks: &Tasks, folder: &StudyFolder) -> Result<(), LabError> {
    let Some(data) = tasks.data() else {
        return Ok(());
    };
    let (source, copies) = (data.source(), folder.copies(data.spec()));
    if let Some(bytes) = data.packed() {
        keep_packed(data.private(), bytes, &copies.data.1)?;
        return match (data.packed_test(), &copies.test) {
            (Some(bytes), Some((_, test))) => keep_packed(data.private(), bytes, test),
            _ => Ok(()),
        };
    }
    keep(&source.file, &copies.data)?;
    for (file, copy) in [
        (&source.tokenizer, &copies.tokenizer),
        (&source.labels, &copies.labels),
        (&source.test, &copies.test),
    ] {
        if let (Some(file), Some(copy)) = (file, copy) {
            keep(file, copy)?;
        }
    }
    let ids = folder.ids();
    if copies.tokenizer.is_some() && !is_there(&ids)? {
        write_by(&ids, mode(&source.file)?, |out| data.write_ids(out))?;
    }
    Ok(())
}

fn keep(file: &Path, (of, copy): &Copied) -> Result<(), LabError> {
    if is_there(copy)? {
        return Ok(());
    }
    make_folder(&copy.folder())?;
    let mut changed = false;
    // Private data stays private: the copy is never readable for anybody who cannot read the file.
    let written = write_by(copy, mode(file)?, |out| {
        io::copy(&mut Entry::named(file).open()?, out)?;
        out.rewind()?;
        changed = data::digest_of(out)? != of.sha256;
        match changed {
            true => Err(ErrorKind::InvalidData.into()),
            false => Ok(()),
        }
    });
    match changed {
        true => Err(LabError::Usage(format!(
            "{} was changed while it was read; run the command again",
            file.display()
        ))),
        false => written,
    }
}

/// The permissions that all of these files have in common.
fn mode_of_all<'a>(files: impl Iterator<Item = &'a Path>) -> Result<u32, LabError> {
    let mut files = files.map(mode);
    files.try_fold(0o666, |all, of| Ok(all & of?))
}

/// The permissions of a file: who may read and write it.
fn mode(file: &Path) -> Result<u32, LabError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let of = std::fs::metadata(file).map_err(LabError::file(file))?;
        Ok(of.permissions().mode() & 0o666)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(0o666)
    }
}

/// Writes the bytes that were read from the files of a folder as one file, unless it is there already.
fn keep_packed(from: &[PathBuf], bytes: &[u8], copy: &Entry) -> Result<(), LabError> {
    if is_there(copy)? {
        return Ok(());
    }
    make_folder(&copy.folder())?;
    // Whoever may not read the folder or one of its files may not read the copy.
    let mode = mode_of_all(from.iter().map(PathBuf::as_path))?;
    write_by(copy, mode, |out| out.write_all(bytes))
}
