//! Tables of binary formats that hold a table column by column: Parquet, and the files and streams of Arrow. `rows.parquet` is
//! read as the table of text that it would be: `rows.csv`, or `rows.jsonl` if a column holds lists.

#[cfg(all(test, not(feature = "parquet")))]
mod absent_tests;
#[cfg(feature = "parquet")]
mod arrow_file;
#[cfg(feature = "parquet")]
mod cells;
#[cfg(feature = "parquet")]
mod guard;
#[cfg(feature = "parquet")]
mod parquet_file;
#[cfg(all(test, feature = "parquet"))]
mod read_tests;
#[cfg(feature = "parquet")]
mod table;
#[cfg(all(test, feature = "parquet"))]
mod tests;

use super::error::{Problem, refuse};
use super::reading::Reading;
#[cfg(feature = "parquet")]
use guard::guarded;

/// How the names of such files end.
pub(super) const ENDINGS: [&str; 3] = ["parquet", "arrow", "feather"];

/// How a build is made that reads them.
pub(super) const HOW_TO_BUILD: &str =
    "cargo install --locked --path crates/pe-lab --features parquet";

/// Whether this build reads a file of such a name with these settings.
///
/// # Errors
///
/// [`Problem::Other`] where it does not, and for a name that ends in `.gz`, [`Problem::Reading`] for a setting of tables of text.
pub(super) fn check(is_packed: bool, reading: &Reading) -> Result<(), Problem> {
    if !cfg!(feature = "parquet") {
        return Err(not_in_build());
    }
    if is_packed {
        return Err(Problem::Other(
            "is a Parquet or Arrow file packed by gzip by its name; such files are packed inside: unpack it with gunzip \
             --keep FILE.gz"
                .into(),
        ));
    }
    refuse(
        reading.first("--delimiter --no-header"),
        "is about tables of text, and a file of this name says itself which columns it has",
    )
}

fn not_in_build() -> Problem {
    Problem::Other(format!(
        "is a Parquet or Arrow file by its name, and this build reads neither: {HOW_TO_BUILD}; or write it as a table: \
         python3 -c \"import pandas, sys; pandas.read_parquet(sys.argv[1]).to_csv(sys.argv[2], index=False)\" FILE.parquet \
         FILE.csv (read_feather for .feather)"
    ))
}

/// The table of these bytes as text: JSON lines if a column holds lists.
///
/// # Errors
///
/// [`Problem::Other`] for a file that is damaged or no table of such a format, in a build that reads none, for a column of another type
/// than a table of text can have, for a number that is infinite, and for a table of more than [`MAX_BYTES`](super::limits::MAX_BYTES) bytes
/// as text. [`Problem::TooManyColumns`].
#[cfg(feature = "parquet")]
pub(super) fn text(bytes: Vec<u8>) -> Result<String, Problem> {
    if bytes.is_empty() {
        return Err(Problem::Empty);
    }
    // The first bytes say which format it is, whatever its name says.
    let begins = |with: &[u8]| bytes.starts_with(with);
    if begins(b"PAR1") {
        return guarded(|| parquet_file::text(bytes));
    }
    if begins(arrow_file::MAGIC) || begins(arrow_file::STREAM) {
        return guarded(|| arrow_file::text(bytes));
    }
    Err(super::binary::problem(&bytes).unwrap_or_else(|| {
        Problem::Other(
            "is neither a Parquet file nor one of Arrow, which its name says; a table of text is called NAME.csv".into(),
        )
    }))
}

#[cfg(not(feature = "parquet"))]
pub(super) fn text(_bytes: Vec<u8>) -> Result<String, Problem> {
    Err(not_in_build())
}
