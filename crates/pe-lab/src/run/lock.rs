//! One process at a time in a folder.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::Path;

use crate::error::LabError;
use crate::folder::{Entry, create};

/// What the file of a lock holds.
const MARK: &str = "pe-lab locks this file while it works in this folder\n";

/// The lock of a folder. It is released when it is dropped, and by the operating system when the process is killed.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    _folder: Option<File>,
}

impl Lock {
    /// Locks a folder by a file in it, and by itself, since the file may be deleted while the process works.
    ///
    /// # Errors
    ///
    /// [`LabError::Busy`] when another process has locked it, [`LabError::File`] when the file cannot be written.
    pub fn of(folder: &Path, file: &Entry) -> Result<Self, LabError> {
        let busy = || LabError::Busy {
            folder: folder.to_path_buf(),
        };
        // Not every system opens and locks folders. Where it cannot be done, the file alone has to do.
        let own = File::open(folder).ok();
        let own = match own.as_ref().map(File::try_lock) {
            Some(Ok(())) => own,
            Some(Err(TryLockError::WouldBlock)) => return Err(busy()),
            Some(Err(TryLockError::Error(_))) | None => None,
        };
        let mut lock = create(file)?;
        match lock.try_lock() {
            Ok(()) => {
                mark(&mut lock).map_err(LabError::file(file))?;
                Ok(Self {
                    _file: lock,
                    _folder: own,
                })
            }
            Err(TryLockError::WouldBlock) => Err(busy()),
            Err(TryLockError::Error(error)) => Err(LabError::file(file)(error)),
        }
    }

    /// Whether a file is one that a lock was held on, and no file of that name of somebody else.
    pub fn is_marked(file: &Entry) -> bool {
        let most = MARK.len() as u64;
        file.read(most).is_ok_and(|text| text == MARK.as_bytes())
    }
}

/// Says in an empty file what it is for.
fn mark(lock: &mut File) -> io::Result<()> {
    match lock.metadata()?.len() {
        0 => lock.write_all(MARK.as_bytes()),
        _ => Ok(()),
    }
}
