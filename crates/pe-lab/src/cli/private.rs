//! Files that are made from private data are private too.

use std::path::Path;

use crate::error::LabError;

/// Restricts the umask of this process, which its workers inherit: where the group or others cannot read a data file, they
/// get no access to new files.
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
