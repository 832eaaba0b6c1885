//! A text or a file of token ids as a language model's task: predict the next token.

use std::io::BufReader;
#[cfg(feature = "tokenizers")]
use std::sync::Arc;

use super::error::Problem;
use super::format::Format;
use super::limits::{MAX_IDS, MAX_TOKENS, NAME};
use super::open::open_bytes;
use super::quote::{counted, grouped};
use super::reading::{Reading, TokenKind};
use super::text::Characters;
#[cfg(feature = "tokenizers")]
use super::tokenizer::Tokenizer;
use super::{npy, packed};
use crate::door::Entry;
use crate::task::{About, Alphabet, MIN_TRAIN_LENGTH, NextToken, Stream, TokenFile, fewest_tokens};

/// The tokens of a training window, if nothing else is said.
const TRAIN_LENGTH: usize = 64;

/// The task of a text that is in memory.
pub(super) fn of_text(
    text: &str,
    file: &str,
    reading: &Reading,
) -> Result<(NextToken, Vec<String>), Problem> {
    let read = Characters::of(text)?;
    let note = read.describe("held out");
    let vocabulary = read.known.len() + 1;
    let about = about(file, "character", Alphabet::Characters(read.known));
    let (task, mut lines) = task(about, Stream::Short(read.numbers), vocabulary, reading)?;
    lines.insert(1, note);
    Ok((task, lines))
}

/// Without the feature `tokenizers` no text is read by a tokenizer.
#[cfg(not(feature = "tokenizers"))]
pub(super) fn of_tokenizer(
    _text: impl FnOnce() -> Result<String, Problem>,
    _file: &str,
    tokenizer: &Entry,
    _reading: &Reading,
    _ids: Option<&Entry>,
) -> Result<(NextToken, Vec<String>), Problem> {
    Err(Problem::Other(format!(
        "is to be read by the tokenizer {}, and this build reads none: cargo run --release --features tokenizers \
         -- compare --tokens FILE",
        tokenizer.display()
    )))
}

/// The task of a text that a tokenizer reads. `ids` is a file of its tokens that an earlier reading left.
#[cfg(feature = "tokenizers")]
pub(super) fn of_tokenizer(
    text: impl FnOnce() -> Result<String, Problem>,
    file: &str,
    tokenizer: &Entry,
    reading: &Reading,
    ids: Option<&Entry>,
) -> Result<(NextToken, Vec<String>), Problem> {
    let tokenizer = Tokenizer::read(tokenizer)?;
    let tokens = match ids {
        Some(ids) => Stream::File(TokenFile::of(ids.open()?, 0, 4)?),
        None => Stream::Memory(tokenizer.encode(&text()?)?),
    };
    let vocabulary = tokenizer.vocabulary();
    let about = about(file, "token", Alphabet::Tokenizer(Arc::new(tokenizer)));
    task(about, tokens, vocabulary, reading)
}

/// The task of a file whose tokens are read window by window. `vocabulary` is what an earlier reading of the
/// file found; without it every token is looked at once.
pub(super) fn of_file(
    entry: &Entry,
    file: &str,
    format: Format,
    reading: &Reading,
    vocabulary: Option<usize>,
) -> Result<(NextToken, Vec<String>), Problem> {
    let is_bytes = format == Format::Text;
    let (start, width, count) = match is_bytes {
        true => (0, 1, None),
        false => ids(entry, reading)?,
    };
    let tokens = match is_bytes && packed::inner_name(entry).1 {
        // Nothing can be read from the middle of a stream, so that all of it is held in memory.
        true => {
            let bytes = packed::unpacked(entry, open_bytes(entry)?)?;
            Stream::Short(bytes.into_iter().map(u16::from).collect())
        }
        false => {
            let open = TokenFile::of(entry.open()?, start, width);
            Stream::File(open.map_err(|error| match error.kind() {
                std::io::ErrorKind::InvalidData => Problem::Other(error.to_string()),
                _ => Problem::from(error),
            })?)
        }
    };
    if tokens.is_empty() {
        return Err(Problem::Empty);
    }
    if let Some(count) = count.filter(|count| *count != tokens.len()) {
        return Err(Problem::Other(format!(
            "says that it holds {} ids and holds {}",
            grouped(count),
            grouped(tokens.len())
        )));
    }
    let (vocabulary, note) = match (is_bytes, vocabulary) {
        (true, _) => (256, None),
        (false, Some(known)) => (known, None),
        (false, None) => {
            let (vocabulary, note) = vocabulary_of(&tokens, width, count.is_some())?;
            (vocabulary, Some(note))
        }
    };
    let about = match is_bytes {
        true => about(file, "byte", Alphabet::Bytes),
        false => about(file, "token", Alphabet::Ids),
    };
    let (task, mut lines) = task(about, tokens, vocabulary, reading)?;
    lines.splice(1..1, note);
    Ok((task, lines))
}

/// The size of the vocabulary of ids of `width` bytes, and what is said of it.
fn vocabulary_of(
    tokens: &Stream,
    width: usize,
    says_width: bool,
) -> Result<(usize, String), Problem> {
    let (id, at) = largest(tokens, says_width)?;
    let wide = match width == 2 && !says_width && is_every_other_zero(tokens)? {
        true => {
            "; every second of its first ids is 0, as where ids have four bytes, which --tokens u32 reads"
        }
        false => "",
    };
    let note = format!(
        "vocabulary: {}, one more than the largest id, {} (token {} of the file){wide}",
        grouped(id + 1),
        grouped(id),
        grouped(at)
    );
    Ok((id + 1, note))
}

/// Whether the first ids are 0 at each second place, and not at all others too.
fn is_every_other_zero(tokens: &Stream) -> std::io::Result<bool> {
    let first = tokens.window(0, tokens.len().min(1_000) / 2 * 2)?;
    let all_zero = |from: usize| first.iter().skip(from).step_by(2).all(|id| *id == 0);
    Ok(first.len() >= 100 && all_zero(1) && !all_zero(0))
}

/// The largest id of a file, and the first place where it is, from 0. A .npy says itself how wide an id is.
fn largest(tokens: &Stream, says_width: bool) -> Result<(usize, usize), Problem> {
    const PART: usize = 1 << 16;
    let mut largest = (0, 0);
    for from in (0..tokens.len()).step_by(PART) {
        let window = tokens.window(from, PART.min(tokens.len() - from))?;
        for (nth, id) in window.into_iter().enumerate() {
            if id >= MAX_IDS as u64 {
                // A negative number of a signed type is a large one here.
                let shown = match id as i64 {
                    negative if negative < 0 => negative.to_string(),
                    _ => grouped(id as usize),
                };
                let advice = match says_width {
                    true => "",
                    false => {
                        ". If the width of an id is another one, say --tokens u16 or --tokens u32"
                    }
                };
                return Err(Problem::Other(format!(
                    "token {} is the id {shown}; ids are from 0 to {}{advice}",
                    grouped(from + nth),
                    grouped(MAX_IDS - 1)
                )));
            }
            if id as usize > largest.0 {
                largest = (id as usize, from + nth);
            }
        }
    }
    Ok(largest)
}

/// Where the ids of a file begin, the bytes of each, and how many there are if the file says it.
fn ids(path: &Entry, reading: &Reading) -> Result<(u64, usize, Option<usize>), Problem> {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("");
    let name = name.to_ascii_lowercase();
    if name.ends_with(".npy") {
        return match reading.tokens {
            None => npy::header(&mut BufReader::new(path.open()?)),
            Some(_) => Err(Problem::Other(
                "a .npy says itself what its numbers are; leave --tokens out".into(),
            )),
        };
    }
    match reading.tokens {
        Some(TokenKind::U16) => Ok((0, 2, None)),
        Some(TokenKind::U32) => Ok((0, 4, None)),
        None if name.ends_with(".u16.bin") => Ok((0, 2, None)),
        None if name.ends_with(".u32.bin") => Ok((0, 4, None)),
        _ => Err(Problem::Other(
            "a .bin does not say how wide its ids are; say --tokens u16 or --tokens u32 (the lowest byte first), \
             or call it NAME.u16.bin or NAME.u32.bin"
                .into(),
        )),
    }
}

fn about(file: &str, token: &str, alphabet: Alphabet) -> About {
    About {
        name: NAME.into(),
        about: format!("your data: predict the next {token}"),
        source: file.into(),
        token: token.into(),
        alphabet,
    }
}

/// Checks the tokens of a training window of a text.
///
/// # Errors
///
/// What is wrong with them, for a person.
pub fn check_train_length(train_length: usize) -> Result<(), String> {
    match (MIN_TRAIN_LENGTH..=MAX_TOKENS).contains(&train_length) {
        true => Ok(()),
        false => Err(format!(
            "--train-length is {train_length}; it takes from {MIN_TRAIN_LENGTH} to {MAX_TOKENS} tokens"
        )),
    }
}

fn task(
    about: About,
    tokens: Stream,
    vocabulary: usize,
    reading: &Reading,
) -> Result<(NextToken, Vec<String>), Problem> {
    let train_length = reading.train_length.unwrap_or(TRAIN_LENGTH);
    check_train_length(train_length).map_err(Problem::Reading)?;
    let token = about.token.clone();
    let task = NextToken::new(about, tokens, vocabulary, train_length)?;
    let task = task.map_err(|short| {
        let least = match short.longest {
            Some(longest) => format!("{}, or --train-length {longest}", grouped(short.needed)),
            None => format!(
                "{} for windows of {MIN_TRAIN_LENGTH}, the shortest (--train-length)",
                grouped(fewest_tokens(MIN_TRAIN_LENGTH))
            ),
        };
        Problem::Other(format!(
            "has {}, too few to train and test on windows of {train_length}; it takes at least {least}",
            counted(short.tokens, &token)
        ))
    })?;
    let lines = task.describe();
    Ok((task, lines))
}

#[cfg(test)]
mod tests {
    use crate::data::testing::{self, Says};
    use crate::data::{DataError, DataTask};

    fn read(name: &str, bytes: &[u8], settings: &str) -> Result<DataTask, DataError> {
        testing::read(name, bytes, &format!("objective = 'next'; {settings}"))
    }

    const SHORT: &str = "train_length = 16";
    const U16: &str = "train_length = 16; tokens = 'u16'";
    const U32: &str = "train_length = 16; tokens = 'u32'";
    const BYTES: &str = "train_length = 16; tokens = 'bytes'";

    /// A file of the format of numpy.
    fn npy(version: u8, dtype: &str, order: &str, shape: &str, numbers: &[u8]) -> Vec<u8> {
        let mut header =
            format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}");
        let before = if version == 1 { 10 } else { 12 };
        while !(before + header.len() + 1).is_multiple_of(64) {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((header.len() as u16).to_le_bytes()),
            _ => bytes.extend((header.len() as u32).to_le_bytes()),
        }
        bytes.extend(header.as_bytes());
        bytes.extend(numbers);
        bytes
    }

    #[test]
    fn ids_of_every_file_are_the_same_ids() {
        let ids: Vec<u64> = (0..3_000).map(|i| i * i % 301).collect();
        let of = |width: usize| -> Vec<u8> {
            let bytes = |id: &u64| id.to_le_bytes()[..width].to_vec();
            ids.iter().flat_map(bytes).collect()
        };
        let made = [
            read("a.bin", &of(2), U16),
            read("a.bin", &of(4), U32),
            read("a.u16.bin", &of(2), SHORT),
            read("a.u32.bin", &of(4), SHORT),
            read("a.npy", &npy(1, "<u2", "False", "(3000,)", &of(2)), SHORT),
            read("a.npy", &npy(1, "<u4", "False", "(3000,)", &of(4)), SHORT),
            read("a.npy", &npy(2, "<i8", "False", "(3000,)", &of(8)), SHORT),
        ];
        let made: Vec<DataTask> = made.into_iter().map(Result::unwrap).collect();
        let first = made[0].task();
        let largest = *ids.iter().max().unwrap() as usize;
        assert_eq!([first.vocabulary(), first.classes()], [largest + 1; 2]);
        for other in &made {
            let task = other.task();
            assert_eq!(task.vocabulary(), first.vocabulary());
            assert_eq!(task.test_set(32), first.test_set(32));
            assert_eq!(task.train_batch(1, 2, 3), first.train_batch(1, 2, 3));
            assert_eq!(other.spec().vocabulary, Some(largest + 1));
        }
        let sample = &first.train_batch(1, 2, 3)[0];
        let ids: Vec<usize> = ids.iter().map(|id| *id as usize).collect();
        let is_sample = |window: &[usize]| window == sample.input.tokens();
        assert!(ids.windows(16).any(is_sample));
    }

    #[test]
    fn bad_files_of_ids_are_named() {
        let good: Vec<u8> = (0..3_000_u16)
            .flat_map(|i| (i % 90).to_le_bytes())
            .collect();
        let negative: Vec<u8> = (0..3_000_i64).flat_map(|i| (i - 7).to_le_bytes()).collect();
        let of = |dtype, shape| npy(1, dtype, "False", shape, &good);
        let negative = npy(1, "<i8", "False", "(3000,)", &negative);
        let odd = "5999 bytes of ids, which is no multiple of the 2 bytes";
        // Two ids of two bytes read as one of four are too large.
        let wide = "token 0 is the id 65,536; ids are from 0 to 65,535";
        for (name, bytes, settings, said) in [
            ("a.bin", &good[..5_999], U16, odd),
            ("a.bin", &good, SHORT, "say --tokens u16 or --tokens u32"),
            ("a.bin", &[], U16, "empty"),
            ("a.bin", &good, BYTES, "--tokens u16"),
            ("a.bin", &good, U32, wide),
            ("a.bin", &good[..1_200], U16, "600 tokens … 730"),
            ("a.npy", &of("<f4", "(1500,)"), SHORT, "of the type <f4"),
            ("a.npy", &of("<u2", "(30, 100)"), SHORT, "shape (30, 100)"),
            ("a.npy", &of(">u2", "(3000,)"), SHORT, ">u2"),
            ("a.npy", &of("<u2", "(3001,)"), SHORT, "holds 3,001 ids"),
            ("a.npy", &negative, SHORT, "the id -7"),
            ("a.npy", b"\x93NUMPY", SHORT, "not a .npy"),
            ("a.npy", &good, SHORT, "not a .npy"),
            ("a.npy", &good, U16, "leave --tokens out"),
        ] {
            read(name, bytes, settings).unwrap_err().says(said);
        }
    }

    #[cfg(not(feature = "tokenizers"))]
    #[test]
    fn a_build_without_tokenizers_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let text = "ab".repeat(5_000);
        let mut source = testing::source(folder.path(), "a.txt", text, "objective = 'next'");
        source.tokenizer = Some(folder.path().join("tokenizer.json"));
        let error = DataTask::read(&source).unwrap_err();
        error.says("--features tokenizers");
    }

    #[test]
    fn a_text_is_read_by_characters_or_bytes() {
        let text = "ab é\r\n".repeat(400);
        let by_character = read("a.txt", text.as_bytes(), SHORT).unwrap();
        let task = by_character.task();
        // a, b, space, é, the end of a line, and what is unknown.
        assert_eq!((task.name(), task.vocabulary()), ("data", 6));
        let language = task.language().unwrap();
        let written = language.text(task.test_set(16)[0].input.tokens());
        assert!("ab é\n".repeat(5).contains(&written), "{written:?}");
        let by_byte = read("a.txt", text.as_bytes(), BYTES).unwrap();
        assert_eq!(by_byte.task().vocabulary(), 256);
        let written = by_byte.task().language().unwrap().prompt();
        assert!(written.contains(&usize::from(b'\r')) && written.contains(&0xc3));
        assert!(read("a.log", text.as_bytes(), SHORT).is_ok());
    }

    #[test]
    fn ids_of_four_bytes_that_are_read_as_ids_of_two_are_noticed() {
        let ids: Vec<u8> = (0..2_000_u32)
            .flat_map(|id| (id % 50).to_le_bytes())
            .collect();
        let narrow = read("a.bin", &ids, "tokens = 'u16'; train_length = 8").unwrap();
        narrow.says("every second of its first ids is 0 … --tokens u32");
        let task = read("a.bin", &ids, "tokens = 'u32'; train_length = 8").unwrap();
        assert_eq!(task.task().vocabulary(), 50);
    }

    #[test]
    fn a_text_that_cannot_be_a_task_is_named() {
        let new = format!("{}{}", "ab".repeat(900), "xy".repeat(100));
        let text = "ab".repeat(5_000);
        for (text, settings, said) in [
            ("", SHORT, "empty"),
            (
                &"ab".repeat(364),
                SHORT,
                "728 characters … 730, or --train-length 15",
            ),
            ("a", SHORT, "has 1 character, … 370 for windows of 8"),
            (&new, SHORT, "100 % of the characters"),
            (&text, "train_length = 7", "is 7; it takes from 8 to 512"),
            (&text, "train_length = 513", "--train-length is 513"),
            (&text, "tokens = 'words'", "--tokens words"),
        ] {
            read("a.txt", text.as_bytes(), settings)
                .unwrap_err()
                .says(said);
        }
        // A text of 1,000 held-out characters has no 8 windows of 1,024.
        let left_out = read("a.txt", text.as_bytes(), "train_length = 128").unwrap();
        left_out.says("not tested at 1024");
    }
}
