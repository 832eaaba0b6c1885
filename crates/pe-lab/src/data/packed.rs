//! Files packed by gzip: `rows.csv.gz` is read as `rows.csv`.

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::error::Problem;
use super::limits::MAX_BYTES;
use super::quote::grouped;

/// How a gzip stream begins.
pub(super) const MAGIC: &[u8] = b"\x1f\x8b";

/// The end of the names of such files.
const ENDING: &str = ".gz";

/// The name of a file without its `.gz`, in small letters, and whether it had one.
pub(super) fn inner_name(path: &Path) -> (String, bool) {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let name = name.unwrap_or_default().to_ascii_lowercase();
    match name.strip_suffix(ENDING) {
        Some(inner) => (inner.to_string(), true),
        None => (name, false),
    }
}

/// The bytes that a file holds: those of all members of the stream if its name ends in `.gz`, otherwise its own.
///
/// # Errors
///
/// [`Problem::Other`] for a stream that is broken, ends too early or unpacks to more than [`MAX_BYTES`].
pub(super) fn unpacked(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>, Problem> {
    match inner_name(path).1 {
        true => unpack(&bytes, MAX_BYTES),
        false => Ok(bytes),
    }
}

fn unpack(bytes: &[u8], most: u64) -> Result<Vec<u8>, Problem> {
    if bytes.is_empty() {
        return Err(Problem::Empty);
    }
    if !bytes.starts_with(MAGIC) {
        return Err(Problem::Other(
            "has a name that ends in .gz, and is not packed by gzip; take the .gz off its name"
                .into(),
        ));
    }
    let mut unpacked = Vec::new();
    // One byte too many tells that there is more; the rest is never unpacked.
    let read = MultiGzDecoder::new(bytes)
        .take(most + 1)
        .read_to_end(&mut unpacked);
    if unpacked.len() as u64 > most {
        return Err(Problem::Other(format!(
            "unpacks to more than the {} bytes that are read; take a part of it",
            grouped(most as usize)
        )));
    }
    match read {
        Ok(_) => Ok(unpacked),
        Err(error) => Err(Problem::Other(format!(
            "is a gzip stream that is broken or ends too early ({error}), after {} bytes of what is in it; copy or \
             download the file again",
            grouped(unpacked.len())
        ))),
    }
}

/// The first bytes of what a stream holds, also of one that breaks off after them.
pub(super) fn head(bytes: &[u8], most: u64) -> Vec<u8> {
    let mut head = Vec::new();
    // What is wrong with the stream is said when it is read as a whole.
    let _ = MultiGzDecoder::new(bytes).take(most).read_to_end(&mut head);
    head
}

#[cfg(test)]
pub(super) fn pack(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DataTask;
    use crate::data::testing::{Says, read};

    fn said(bytes: &[u8], most: u64) -> String {
        unpack(bytes, most).unwrap_err().to_string()
    }

    #[test]
    fn all_members_are_read_and_a_stream_cut_anywhere_is_refused() {
        let rows = "a,b c d e f\n".repeat(3000);
        let (one, two) = (pack(rows.as_bytes()), pack(b"the end\n"));
        let both = [one.clone(), two].concat();
        let text = unpack(&both, MAX_BYTES).unwrap();
        assert_eq!(text, format!("{rows}the end\n").into_bytes());
        for end in 1..both.len() {
            // Between the two members the stream is whole.
            if end != one.len() {
                assert!(unpack(&both[..end], MAX_BYTES).is_err(), "{end}");
            }
        }
        for end in [10, one.len() - 1, one.len() + 5, both.len() - 4] {
            assert!(said(&both[..end], MAX_BYTES).contains("broken or ends too early"));
        }
        let behind = [&one[..], b"what is this"].concat();
        assert!(said(&behind, MAX_BYTES).contains("after 36,000 bytes"));
        let mut changed = one.clone();
        let check = changed.len() - 6;
        changed[check] ^= 1;
        assert!(said(&changed, MAX_BYTES).contains("broken"));
        assert_eq!(said(b"", 9), "is empty");
        assert!(said(b"label,text\n", 9).contains("take the .gz off"));
    }

    /// Tells rows of two classes apart, packed and as they are.
    #[test]
    fn a_packed_file_is_read_as_the_one_in_it() {
        let table = (0..40).map(|i| format!("x,a b {i}\ny,b a {i}\n"));
        let table = format!("label,text\n{}", table.collect::<String>());
        let records = (0..40).map(|i| format!(">{i} x\nAC{0}\n>{i} y\nCA{0}\n", "G".repeat(i)));
        let text = "The cat sat on the mat, and the dog did not. ".repeat(200);
        let next = "objective = 'next'";
        let bytes = "objective = 'next'; tokens = 'bytes'";
        let characters = "objective = 'next'; tokens = 'characters'";
        for (name, content, settings) in [
            ("rows.csv", table.clone(), ""),
            ("rows.TSV", table.replace(',', "\t"), ""),
            ("dna.fasta", records.collect(), ""),
            ("a.md", text.clone(), next),
            ("a.txt", text.clone(), bytes),
            ("a.rst", text.clone(), characters),
            ("a", text.clone(), bytes),
        ] {
            let plain = read(name, &content, settings).unwrap();
            let named = format!("{name}.gz");
            let bytes = pack(content.as_bytes());
            let packed = read(&named, &bytes, settings).unwrap();
            assert_eq!(packed.spec().sha256, crate::data::digest(&bytes), "{name}");
            assert_eq!(packed.spec().format, plain.spec().format, "{name}");
            assert_eq!(packed.labels(), plain.labels(), "{name}");
            let batch = |data: &DataTask| format!("{:?}", data.task().train_batch(1, 0, 8));
            assert_eq!(batch(&packed), batch(&plain), "{name}");
            let error = read(&named, &bytes[..bytes.len() - 9], settings).unwrap_err();
            error.says(&format!("{named} … ends too early"));
        }
        let gunzip = "unpack it with gunzip";
        let columns = "a table of 2 columns separated by `,`";
        for (name, bytes, settings, said) in [
            ("a.tar.gz", &pack(b"a\0b")[..], characters, "byte 2 is 0x00"),
            ("ids.npy.gz", &pack(b"\x93NUMPY"), next, gunzip),
            (
                "a.fasta",
                b">a x\nACGT\n",
                "label = 'x'",
                "--label is not about FASTA",
            ),
            ("a.dat", table.as_bytes(), "", columns),
        ] {
            read(name, bytes, settings).unwrap_err().says(said);
        }
    }

    #[test]
    fn a_small_file_that_unpacks_to_a_large_one_is_refused_with_the_bound() {
        let most = 1 << 20;
        let zeros = |count: usize| pack(&vec![b'a'; count]);
        assert_eq!(unpack(&zeros(most), most as u64).unwrap().len(), most);
        said(&zeros(most + 1), most as u64).says("more than the 1,048,576 bytes");
    }
}
