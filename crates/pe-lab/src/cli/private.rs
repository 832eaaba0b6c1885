//! What is made of private data is private.

use std::path::Path;

use crate::error::LabError;

/// Takes the permissions of others from every file that this process and its workers make from now on, as far
/// as others cannot read the data files either.
///
/// # Errors
///
/// [`LabError::File`] when a file is not there.
pub(super) fn keep_as_private_as<'a>(
    files: impl IntoIterator<Item = &'a Path>,
) -> Result<(), LabError> {
    #[cfg(unix)]
    for file in files {
        use rustix::fs::Mode;
        use rustix::process::umask;
        use std::os::unix::fs::PermissionsExt;

        let of = std::fs::metadata(file).map_err(LabError::file(file))?;
        let mode = of.permissions().mode();
        let mut mask = Mode::empty();
        if mode & 0o040 == 0 {
            mask |= Mode::RWXG;
        }
        if mode & 0o004 == 0 {
            mask |= Mode::RWXO;
        }
        let before = umask(mask);
        umask(before | mask);
    }
    #[cfg(not(unix))]
    let _ = files;
    Ok(())
}
