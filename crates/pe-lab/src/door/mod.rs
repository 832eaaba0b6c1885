//! The one way to the files of a study, which may come from somebody else: a link that leads out of its folder, a pipe
//! that never ends and, on Unix, a file with a second name elsewhere (a hard link) are neither read nor written.
//!
//! The folder of the study is where the user says, perhaps behind links. What lies inside is opened relative to it,
//! name by name, without following a link and without waiting, and what was opened is checked: it is a regular file, on
//! Unix with one name. Nothing is checked first and opened later, since it may be replaced in between.
//!
//! | file | what it holds |
//! |---|---|
//! | `mod` | [`Entry`]: a file or folder, and what can be done with it |
//! | `how` | how a file is opened, and the error for what is not to be opened |
//! | `unix` | the calls of the system, relative to an open folder |
//! | `other` | the same by paths, where the system has no such calls |

mod how;
#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Read};
use std::ops::Deref;
use std::path::{Component, Path, PathBuf};

use how::{How, refused};
#[cfg(not(unix))]
use other::Folder;
#[cfg(unix)]
use unix::Folder;

/// How the name of a file begins while it is being written. Sixteen hexadecimal digits follow.
const UNFINISHED: &str = ".pe-lab-unfinished-";

/// Whether a file of this name is one that [`Entry::replace`] was writing when its process was killed.
pub fn is_unfinished(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(UNFINISHED));
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    digits.is_some_and(|digits| digits.len() == 16 && digits.bytes().all(is_digit))
}

/// A name for a file that is being written.
pub fn unfinished() -> String {
    let number = RandomState::new().build_hasher().finish();
    format!("{UNFINISHED}{number:016x}")
}

/// A file or a folder: one that the user named, or one inside of a folder that may come from somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    path: PathBuf,
    /// The folder that the path must not leave; `None` for a path that the user named, which may lie behind a link.
    root: Option<PathBuf>,
}

impl Deref for Entry {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for Entry {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl Entry {
    /// What the user named, which may lie behind a link.
    pub fn named(path: impl Into<PathBuf>) -> Self {
        let (path, root) = (path.into(), None);
        Self { path, root }
    }

    /// What lies at `inside` in the folder `root`.
    pub fn inside(root: &Path, inside: impl AsRef<Path>) -> Self {
        let inside = inside.as_ref();
        Self {
            path: match inside.as_os_str().is_empty() {
                true => root.to_path_buf(),
                false => root.join(inside),
            },
            root: Some(root.to_path_buf()),
        }
    }

    /// The file or folder with this name inside of this folder.
    pub fn entry(&self, name: impl AsRef<Path>) -> Self {
        Self {
            path: self.path.join(name),
            root: self.root.clone(),
        }
    }

    /// The folder that it lies in.
    pub fn folder(&self) -> Self {
        let path = self.path.parent().unwrap_or(&self.path).to_path_buf();
        let root = self.root.clone();
        Self { path, root }
    }

    /// Opens the file to be read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidData`] when there is something else than a regular file with one name, or a link on the way.
    pub fn open(&self) -> io::Result<File> {
        if self.root.is_none() {
            let file = Folder::open_named(&self.path)?;
            return match file.metadata()?.is_file() {
                true => Ok(file),
                false => Err(refused("it is no file")),
            };
        }
        self.checked(How::Read)
    }

    /// Reads the file, which may have at most so many bytes.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), and for a larger file.
    pub fn read(&self, most: u64) -> io::Result<Vec<u8>> {
        bytes_of(self.open()?, most)
    }

    /// Opens the file to be written, and creates it if it is not there. What it holds stays.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), and when the folder cannot be written.
    pub fn create(&self) -> io::Result<File> {
        self.checked(How::Write)
    }

    fn checked(&self, how: How) -> io::Result<File> {
        let (folder, name) = self.place()?;
        let file = folder.open(&name, how)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(refused("it is no file"));
        }
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::nlink(&about) > 1 {
            return Err(refused(
                "it has a second name (a hard link), and may be part of something else; put a copy in its place",
            ));
        }
        Ok(file)
    }

    /// Puts a new file in the place of what is there: `fill` writes it under another name, it is synced, and then
    /// renamed, so that a reader finds a whole file or none. A link is replaced and not followed.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written, or with the error of `fill`.
    pub fn replace(
        &self,
        mode: u32,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let (folder, name) = self.place()?;
        let (mut file, temporary) = loop {
            let temporary = OsString::from(unfinished());
            match folder.open(&temporary, How::New(mode)) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                file => break (file?, temporary),
            }
        };
        let write = || {
            fill(&mut file)?;
            // Otherwise a crash of the system may leave an empty file under the name.
            file.sync_all()?;
            folder.rename(&temporary, &folder, &name)
        };
        write().inspect_err(|_| {
            let _ = folder.remove(&temporary, false);
        })
    }

    /// Whether anything is there, a link for example.
    ///
    /// # Errors
    ///
    /// When the system cannot tell.
    pub fn is_there(&self) -> io::Result<bool> {
        match self.place().and_then(|(folder, name)| folder.kind(&name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            about => about.map(|_| true),
        }
    }

    /// Removes the file, if it is there. A link is removed, and not what it leads to.
    ///
    /// # Errors
    ///
    /// When it cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        // In a folder that cannot be written, the system may report that even for a file that is not there.
        match self.is_there()? {
            true => gone(
                self.place()
                    .and_then(|(folder, name)| folder.remove(&name, false)),
            ),
            false => Ok(()),
        }
    }

    /// Removes a folder with everything in it, if it is there.
    ///
    /// # Errors
    ///
    /// When something cannot be removed.
    pub fn remove_all(&self) -> io::Result<()> {
        if !self.is_there()? {
            return Ok(());
        }
        let (folder, name) = self.place()?;
        if folder.kind(&name)? {
            for inside in self.names()? {
                self.entry(inside).remove_all()?;
            }
        }
        let is_folder = folder.kind(&name)?;
        gone(folder.remove(&name, is_folder))
    }

    /// Makes the folder and those on the way to it that are not there.
    ///
    /// # Errors
    ///
    /// When one of them cannot be made, or is something else.
    pub fn make_folder(&self) -> io::Result<()> {
        let mut folder = self.root()?;
        for name in self.parts()? {
            match folder.make(&name) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => made?,
            }
            folder = folder.enter(&name)?;
        }
        Ok(())
    }

    /// The names of what is in the folder, sorted; none where there is no folder.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is something else.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut folder = match &self.root {
            Some(_) => self.root()?,
            None => Folder::at(&self.path)?,
        };
        for name in self.parts()? {
            folder = match folder.enter(&name) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
                folder => folder?,
            };
        }
        let mut names = folder.names()?;
        names.sort_unstable();
        Ok(names)
    }

    /// Gives it another name, in the same folder of a study or in another one of it.
    ///
    /// # Errors
    ///
    /// When it cannot be renamed.
    pub fn rename(&self, to: &Self) -> io::Result<()> {
        let (from, name) = self.place()?;
        let (to, new) = to.place()?;
        from.rename(&name, &to, &new)
    }

    /// The open folder that it lies in, and its name there.
    fn place(&self) -> io::Result<(Folder, OsString)> {
        let Some(_) = self.root else {
            let name = self.path.file_name().ok_or(ErrorKind::InvalidInput)?;
            let parent = self.path.parent().unwrap_or(Path::new(""));
            return Ok((Folder::at(parent)?, name.into()));
        };
        let mut parts = self.parts()?;
        let name = parts.pop().ok_or(ErrorKind::InvalidInput)?;
        let mut folder = self.root()?;
        for part in parts {
            folder = folder.enter(&part)?;
        }
        Ok((folder, name))
    }

    fn root(&self) -> io::Result<Folder> {
        Folder::at(self.root.as_deref().unwrap_or(&self.path))
    }

    /// The names on the way from the root.
    fn parts(&self) -> io::Result<Vec<OsString>> {
        let Some(root) = &self.root else {
            return Ok(Vec::new());
        };
        let inside = self.path.strip_prefix(root);
        let inside = inside.map_err(|_| refused("it lies outside of the folder of its study"))?;
        let plain = |part| match part {
            Component::Normal(name) => Ok(name.to_os_string()),
            _ => Err(refused("it lies outside of the folder of its study")),
        };
        inside.components().map(plain).collect()
    }
}

/// Reads an open file, which may have at most so many bytes.
///
/// # Errors
///
/// [`ErrorKind::InvalidData`] when it has more, or the error of reading it.
pub fn bytes_of(file: File, most: u64) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    if size <= most {
        // At most one byte too many, in case it grows while it is read.
        file.take(most + 1).read_to_end(&mut bytes)?;
    }
    match size.max(bytes.len() as u64) {
        size if size > most => Err(refused(&format!(
            "it has {size} bytes, and such a file has at most {most}"
        ))),
        _ => Ok(bytes),
    }
}

/// A file that another process has removed in between counts as removed.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
