//! Files that people have and that are no text: what they are, and how a text is made of them.

use super::error::Problem;

/// The bytes at the beginning of a file that tell what it is.
const HEAD: usize = 32;

/// What such a file is called, and what to do, in a build that reads it under its name; and in one that does not.
const PARQUET: (&str, &str) = match cfg!(feature = "parquet") {
    true => ("a Parquet file under another name", "call it NAME.parquet"),
    false => ("a Parquet file", BY_PANDAS),
};
const ARROW: (&str, &str) = match cfg!(feature = "parquet") {
    true => (
        "an Arrow or Feather file under another name",
        "call it NAME.arrow",
    ),
    false => ("an Arrow or Feather file", BY_ARROW),
};
const BY_PANDAS: &str = "build pe-lab with --features parquet, or write it as a table: python3 -c \"import pandas, sys; pandas.read_parquet(sys.argv[1])\
    .to_csv(sys.argv[2], index=False)\" FILE.parquet FILE.csv";
const BY_ARROW: &str = "build pe-lab with --features parquet, or write it as a table: python3 -c \"import pandas, sys; pandas.read_feather(sys.argv[1])\
    .to_csv(sys.argv[2], index=False)\" FILE.feather FILE.csv";
const BY_FEATHER: &str = "write it as a table: python3 -c \"import pandas, sys; pandas.read_feather(sys.argv[1])\
    .to_csv(sys.argv[2], index=False)\" FILE.feather FILE.csv";
const BY_OFFICE: &str = "open it in a spreadsheet and save the sheet as CSV in UTF-8";
const TO_FOLDER: &str = "name the folder of images with --data FOLDER";
const UNPACK: &str = "unpack it and name the file that was in it";

/// How files of a kind begin, what they are, and what to do.
const KINDS: [(&[u8], &str, &str); 16] = [
    (b"PAR1", PARQUET.0, PARQUET.1),
    (b"ARROW1", ARROW.0, ARROW.1),
    (b"FEA1", "a Feather file of the first version", BY_FEATHER),
    (
        b"PK\x03\x04",
        "a ZIP archive or a spreadsheet (.xlsx, .ods)",
        "of a spreadsheet, save the sheet as CSV in UTF-8; of an archive, unpack it and name the file that was in it",
    ),
    (
        b"\xd0\xcf\x11\xe0",
        "a spreadsheet of Excel (.xls)",
        BY_OFFICE,
    ),
    (
        b"\x1f\x8b",
        "packed by gzip under a name without .gz",
        "call it NAME.csv.gz if a table is in it, or unpack it with gunzip",
    ),
    (b"BZh", "packed by bzip2", UNPACK),
    (b"\xfd7zXZ\0", "packed by xz", UNPACK),
    (b"\x28\xb5\x2f\xfd", "packed by zstd", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (
        b"\x89HDF",
        "an HDF5 file",
        "write what it holds as a table of text (.csv)",
    ),
    (
        b"SQLite format 3",
        "a database of SQLite",
        "write a table of it as text: sqlite3 -header -csv FILE 'SELECT * FROM TABLE' > FILE.csv",
    ),
    (
        b"\x93NUMPY",
        "an array of NumPy",
        "of token ids, call it NAME.npy and leave out flags of tables; of numbers, write it with numpy.savetxt",
    ),
    (b"\x89PNG", "an image", TO_FOLDER),
    (b"\xff\xd8\xff", "an image", TO_FOLDER),
    (b"%PDF", "a PDF", "write the table in it as text (.csv)"),
];

/// The text with which a file begins, without a last character that is cut; or the place of the first byte that no text has.
pub(super) fn text_of(head: &[u8]) -> Result<&str, usize> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or("")
        }
        Err(error) => return Err(error.valid_up_to()),
    };
    let is_control = |byte: u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    match text.bytes().position(is_control) {
        None => Ok(text),
        Some(at) => Err(at),
    }
}

/// The problem of a file that begins with the bytes of a known binary format, unless it is text: a table may begin with a
/// column `PAR1`.
pub(super) fn problem(bytes: &[u8]) -> Option<Problem> {
    let head = &bytes[..bytes.len().min(HEAD)];
    if text_of(head).is_ok() {
        return None;
    }
    let known = KINDS.iter().find(|(begin, ..)| bytes.starts_with(begin))?;
    let (_, what, advice) = *known;
    Some(Problem::Other(format!(
        "is {what}, which is not read; {advice}"
    )))
}
