//! Data that are a part of the program.

use std::io::Read;

use flate2::read::GzDecoder;

/// A text that is kept packed, by gzip.
pub(crate) fn embedded(file: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("what is embedded is a text in gzip");
    text
}
