//! The name of the task made of a data file, and the limits of such files.

/// The name of the task that is made of the user's data.
pub const NAME: &str = "data";
/// The most parts into which rows are divided by `--folds`.
pub const MAX_FOLDS: usize = 20;
/// The most bytes of a file.
pub const MAX_BYTES: u64 = 256 << 20;
/// The fewest rows of a file; a fifth of them is held out.
pub const MIN_ROWS: usize = 20;
/// The fewest rows of a series: seven windows of eight rows.
pub const MIN_SERIES: usize = 56;
/// The most rows of a file.
pub const MAX_ROWS: usize = 1_000_000;
/// The most bytes of a line of labelled rows or of a series.
pub const MAX_LINE: usize = 16 << 20;
/// The most columns of a table.
pub const MAX_COLUMNS: usize = 10_000;
/// The most different tokens that are counted to choose a vocabulary among them.
pub const MAX_WORDS: usize = 4_000_000;
/// The most different labels.
pub const MAX_CLASSES: usize = 1_000;
/// The most tokens in a row.
pub const MAX_TOKENS: usize = 512;
/// The most characters in a label or in a token.
pub const MAX_CHARACTERS: usize = 1_000;
/// The most different tokens in the vocabulary. All other tokens share one entry.
pub const MAX_VOCABULARY: usize = 10_000;
/// The most different ids of a file of token ids.
pub const MAX_IDS: usize = 65_536;
/// The fewest characters of a plain text.
pub const MIN_CHARACTERS: usize = 2_000;
/// The most different characters in the vocabulary. All other characters share one entry.
pub const MAX_ALPHABET: usize = 1_000;
/// The smallest number of rows in a bin, and in the test beyond the training lengths.
pub(super) const MIN_TESTED: usize = 20;
