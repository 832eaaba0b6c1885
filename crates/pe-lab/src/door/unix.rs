//! The calls of the system, relative to an open folder.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{self, AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::how::{How, refused};

/// An open folder.
pub(super) struct Folder(OwnedFd);

/// Opening does not wait, for the writer of a pipe for example, and open files are not passed on to other programs.
const ALWAYS: OFlags = OFlags::NONBLOCK.union(OFlags::CLOEXEC);

impl Folder {
    /// A folder that the user named.
    pub fn at(path: &Path) -> io::Result<Self> {
        let path = match path.as_os_str().is_empty() {
            true => Path::new("."),
            false => path,
        };
        let how = OFlags::RDONLY | OFlags::DIRECTORY | ALWAYS;
        Ok(Self(fs::openat(CWD, path, how, Mode::empty())?))
    }

    /// A file that the user named, which may lie behind a link.
    pub fn open_named(path: &Path) -> io::Result<File> {
        let file = fs::openat(CWD, path, OFlags::RDONLY | ALWAYS, Mode::empty())?;
        Ok(file.into())
    }

    /// A folder in it.
    pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
        let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | ALWAYS;
        match fs::openat(&self.0, name, how, Mode::empty()) {
            Ok(folder) => Ok(Self(folder)),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(refused(&format!(
                "{} on the way to it is a link or no folder",
                name.display()
            ))),
            Err(error) => Err(error.into()),
        }
    }

    /// A file in it.
    pub fn open(&self, name: &OsStr, how: How) -> io::Result<File> {
        let (flags, mode) = match how {
            How::Read => (OFlags::RDONLY, 0),
            How::Write => (OFlags::RDWR | OFlags::CREATE, 0o666),
            How::New(mode) => (OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, mode),
        };
        let flags = flags | OFlags::NOFOLLOW | ALWAYS;
        match fs::openat(&self.0, name, flags, Mode::from_raw_mode(mode as _)) {
            Ok(file) => Ok(file.into()),
            Err(Errno::LOOP | Errno::MLINK) => Err(refused("it is no file but a link")),
            // A folder, a pipe without a reader, or a device that is not there.
            Err(Errno::ISDIR | Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP) => {
                Err(refused("it is no file"))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether what has this name is a folder.
    pub fn kind(&self, name: &OsStr) -> io::Result<bool> {
        let about = fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(about.st_mode) == FileType::Directory)
    }

    pub fn make(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777))?)
    }

    pub fn remove(&self, name: &OsStr, is_folder: bool) -> io::Result<()> {
        let flags = match is_folder {
            true => AtFlags::REMOVEDIR,
            false => AtFlags::empty(),
        };
        Ok(fs::unlinkat(&self.0, name, flags)?)
    }

    pub fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        Ok(fs::renameat(&self.0, name, &to.0, new)?)
    }

    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_os_string());
            }
        }
        Ok(names)
    }
}
