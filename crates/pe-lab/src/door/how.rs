//! How a file is opened, and the error for what is not to be opened.

use std::io::{self, ErrorKind};

/// How a file is opened.
#[derive(Clone, Copy)]
pub enum How {
    Read,
    /// It is created if it is not there, and not emptied.
    Write,
    /// It must not be there; it gets these permissions, less the umask of the process. Only Unix has them.
    New(#[cfg_attr(not(unix), expect(dead_code))] u32),
}

pub fn refused(reason: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, reason)
}
