//! A long run of tokens, of which windows are read: in memory, or in a file that need not fit into it.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

/// A long run of tokens.
#[derive(Debug)]
pub enum Stream {
    /// In memory.
    Memory(Vec<u32>),
    /// In memory, each below 65,536.
    Short(Vec<u16>),
    /// In a file of whole numbers.
    File(TokenFile),
}

/// A file of token ids: whole numbers of one width, the lowest byte first, after a header.
#[derive(Debug)]
pub struct TokenFile {
    file: Mutex<File>,
    /// Where the first id begins.
    start: u64,
    /// The bytes of an id: 1, 2, 4 or 8.
    width: usize,
    len: usize,
}

impl TokenFile {
    /// The ids of an open file, of `width` bytes each, after a header of `start` bytes.
    ///
    /// # Errors
    ///
    /// When the file does not hold a whole number of ids.
    pub fn of(file: File, start: u64, width: usize) -> Result<Self> {
        let bytes = file.metadata()?.len().saturating_sub(start);
        if !bytes.is_multiple_of(width as u64) {
            return Err(Error::new(
                ErrorKind::InvalidData,
                format!(
                    "holds {bytes} bytes of ids, which is no multiple of the {width} bytes of an id"
                ),
            ));
        }
        Ok(Self {
            file: Mutex::new(file),
            start,
            width,
            len: (bytes / width as u64) as usize,
        })
    }

    fn read(&self, from: usize, count: usize) -> Result<Vec<u64>> {
        if from + count > self.len {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; count * self.width];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.start + (from * self.width) as u64))?;
        file.read_exact(&mut bytes)?;
        let id = |bytes: &[u8]| {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(whole)
        };
        Ok(bytes.chunks_exact(self.width).map(id).collect())
    }
}

impl Stream {
    /// How many tokens there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Memory(tokens) => tokens.len(),
            Self::Short(tokens) => tokens.len(),
            Self::File(file) => file.len,
        }
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tokens `from..from + count`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or ends before them.
    pub fn window(&self, from: usize, count: usize) -> Result<Vec<u64>> {
        fn part<T: Copy + Into<u64>>(of: &[T], from: usize, count: usize) -> Result<Vec<u64>> {
            match of.get(from..from + count) {
                Some(window) => Ok(window.iter().map(|token| (*token).into()).collect()),
                None => Err(ErrorKind::UnexpectedEof.into()),
            }
        }
        match self {
            Self::Memory(tokens) => part(tokens, from, count),
            Self::Short(tokens) => part(tokens, from, count),
            Self::File(file) => file.read(from, count),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_gives_the_windows_that_memory_gives() {
        let folder = tempfile::tempdir().unwrap();
        let ids: Vec<u32> = (0..1000).map(|i| i * 37 % 251).collect();
        let memory = Stream::Memory(ids.clone());
        for width in [1, 2, 4, 8] {
            let path = folder.path().join(format!("{width}.bin"));
            let of_id = |id: &u32| u64::from(*id).to_le_bytes()[..width].to_vec();
            let bytes = [7; 5].into_iter().chain(ids.iter().flat_map(of_id));
            fs::write(&path, bytes.collect::<Vec<u8>>()).unwrap();
            let file = Stream::File(TokenFile::of(File::open(&path).unwrap(), 5, width).unwrap());
            assert_eq!((file.len(), file.is_empty()), (1000, false));
            for (from, count) in [(0, 1000), (999, 1), (500, 17), (1000, 0)] {
                let [window, expected] = [&file, &memory].map(|of| of.window(from, count).unwrap());
                assert_eq!(window, expected);
            }
            assert!(file.window(999, 2).is_err());
        }
        let short = Stream::Short(ids.iter().map(|id| *id as u16).collect());
        let [window, expected] = [&short, &memory].map(|of| of.window(500, 17).unwrap());
        assert_eq!(window, expected);
        assert!(short.window(999, 2).is_err());
        assert!(memory.window(999, 2).is_err());
        let file = File::open(folder.path().join("2.bin")).unwrap();
        let error = TokenFile::of(file, 4, 2).unwrap_err();
        assert!(error.to_string().contains("2001 bytes of ids"), "{error}");
    }
}
