//! Access by paths, for systems without calls relative to an open folder. Links are looked for before a file is opened, so
//! a link that takes the file's place in between is followed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::how::{How, refused};

/// A folder.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub fn at(path: &Path) -> io::Result<Self> {
        let path = match path.as_os_str().is_empty() {
            true => Path::new("."),
            false => path,
        };
        match fs::metadata(path)?.is_dir() {
            true => Ok(Self(path.to_path_buf())),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub fn open_named(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
        match self.kind(name)? {
            true => Ok(Self(self.0.join(name))),
            false => Err(refused("a link or a file is on the way to it")),
        }
    }

    pub fn open(&self, name: &OsStr, how: How) -> io::Result<File> {
        let path = self.0.join(name);
        if fs::symlink_metadata(&path).is_ok_and(|about| !about.is_file()) {
            return Err(refused("it is no file"));
        }
        let mut options = File::options();
        options.read(true);
        match how {
            How::Read => options.open(path),
            How::Write => options.write(true).create(true).truncate(false).open(path),
            How::New(_) => options.write(true).create_new(true).open(path),
        }
    }

    pub fn kind(&self, name: &OsStr) -> io::Result<bool> {
        Ok(fs::symlink_metadata(self.0.join(name))?.is_dir())
    }

    pub fn make(&self, name: &OsStr) -> io::Result<()> {
        fs::create_dir(self.0.join(name))
    }

    pub fn remove(&self, name: &OsStr, is_folder: bool) -> io::Result<()> {
        match is_folder {
            true => fs::remove_dir(self.0.join(name)),
            false => fs::remove_file(self.0.join(name)),
        }
    }

    pub fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        fs::rename(self.0.join(name), to.0.join(new))
    }

    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let entries = fs::read_dir(&self.0)?;
        entries.map(|entry| Ok(entry?.file_name())).collect()
    }
}
