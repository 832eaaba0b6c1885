//! One process at a time in a folder.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::error::LabError;
use crate::folder::{Entry, create};

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
        // Not every system can open and lock a folder. Where it cannot, only the file is locked.
        let own = File::open(folder).ok();
        let own = match own.as_ref().map(File::try_lock) {
            Some(Ok(())) => own,
            Some(Err(TryLockError::WouldBlock)) => return Err(busy()),
            Some(Err(TryLockError::Error(_))) | None => None,
        };
        let lock = create(file)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                _file: lock,
                _folder: own,
            }),
            Err(TryLockError::WouldBlock) => Err(busy()),
            Err(TryLockError::Error(error)) => Err(LabError::file(file)(error)),
        }
    }
}
