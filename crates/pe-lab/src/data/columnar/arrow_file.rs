//! Files and streams of Arrow, which Feather is since its second version.
//!
//! A file is a stream between two marks, with the offsets of its messages behind it. It is read as the stream.
//!
//! Source: <https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc>.

use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{Message, MessageHeader, RecordBatch, root_as_message};

use super::super::error::Problem;
use super::super::limits::MAX_BYTES;
use super::table::{Table, WIDER, broken, too_large};

const ARROW: &str = "Arrow";

/// How a file begins and ends.
pub(super) const MAGIC: &[u8] = b"ARROW1";
/// How a stream begins: every message of it does.
pub(super) const STREAM: &[u8] = b"\xff\xff\xff\xff";

/// A stream begins at a multiple of so many bytes.
const ALIGNED: usize = 8;

/// The table as text.
pub(super) fn text(bytes: Vec<u8>) -> Result<String, Problem> {
    let from = stream(&bytes)?;
    let end = check(&bytes[from..])?;
    let mut rest = Buffer::from_vec(bytes).slice_with_length(from, end);
    let mut decoder = StreamDecoder::new();
    let mut table: Option<Table> = None;
    while !rest.is_empty() {
        let Some(batch) = decoder.decode(&mut rest).map_err(damaged)? else {
            break;
        };
        let table = match &mut table {
            Some(table) => table,
            none => none.insert(Table::new(&batch.schema())?),
        };
        table.add(&batch)?;
    }
    decoder.finish().map_err(damaged)?;
    let table = match (table, decoder.schema()) {
        (Some(table), _) => table,
        (None, Some(schema)) => Table::new(&schema)?,
        (None, None) => return Err(damaged("it says nothing of its columns")),
    };
    Ok(table.into_text())
}

/// Where the stream begins.
fn stream(bytes: &[u8]) -> Result<usize, Problem> {
    match bytes.starts_with(MAGIC) {
        false => Ok(0),
        true if bytes.len() >= 2 * ALIGNED && bytes.ends_with(MAGIC) => {
            // Some writers align the stream to more bytes, and fill them with zeros.
            let mut words = bytes.chunks(ALIGNED).skip(1);
            let before = words.position(|word| word.iter().any(|byte| *byte != 0));
            Ok(ALIGNED * (1 + before.unwrap_or(0)))
        }
        true => Err(damaged("it does not end as such a file")),
    }
}

/// Checks every message of a stream: that it lies in the file, and how much it unpacks to. Returns where the stream ends.
fn check(stream: &[u8]) -> Result<usize, Problem> {
    let (mut rest, mut sum) = (stream, 0_u64);
    while let Some((message, body)) = message(&mut rest)? {
        let batch = match message.header_type() {
            MessageHeader::RecordBatch => message.header_as_record_batch(),
            MessageHeader::DictionaryBatch => {
                let dictionary = message.header_as_dictionary_batch();
                dictionary.and_then(|dictionary| dictionary.data())
            }
            _ => None,
        };
        sum = sum.saturating_add(batch.map_or(Ok(0), |batch| unpacked(batch, body))?);
        if sum > WIDER * MAX_BYTES {
            return Err(too_large());
        }
    }
    Ok(stream.len() - rest.len())
}

/// The bytes that the buffers of a batch unpack to.
fn unpacked(batch: RecordBatch<'_>, body: &[u8]) -> Result<u64, Problem> {
    let mut sum = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let from = usize::try_from(buffer.offset());
        let len = usize::try_from(buffer.length());
        let (Ok(from), Ok(len)) = (from, len) else {
            return Err(damaged("a buffer lies outside of it"));
        };
        let bytes = from.checked_add(len).and_then(|end| body.get(from..end));
        let bytes = bytes.ok_or_else(|| damaged("a buffer lies outside of it"))?;
        // A packed buffer begins with what it unpacks to, or with -1 if it is as it is.
        let says = match (batch.compression(), bytes.first_chunk::<8>()) {
            (Some(_), Some(first)) => u64::try_from(i64::from_le_bytes(*first)).unwrap_or(0),
            _ => 0,
        };
        sum = sum.saturating_add(says.max(len as u64));
    }
    Ok(sum)
}

/// The message at the beginning of `rest` and its body; `rest` is then what follows them. `None` for the mark of the end:
/// a stream without it may be cut off between two messages.
fn message<'a>(rest: &mut &'a [u8]) -> Result<Option<(Message<'a>, &'a [u8])>, Problem> {
    let cut = || damaged("it is cut off");
    let mut number = || {
        let (first, behind) = rest.split_first_chunk::<4>()?;
        *rest = behind;
        Some(u32::from_le_bytes(*first))
    };
    let len = match number().ok_or_else(cut)? {
        u32::MAX => number().ok_or_else(cut)?,
        // Before version 0.15 nothing stood before the length.
        len => len,
    };
    if len == 0 {
        return Ok(None);
    }
    let (head, behind) = rest.split_at_checked(len as usize).ok_or_else(cut)?;
    let message = root_as_message(head).map_err(damaged)?;
    let body = usize::try_from(message.bodyLength()).map_err(damaged)?;
    let (body, behind) = behind.split_at_checked(body).ok_or_else(cut)?;
    *rest = behind;
    Ok(Some((message, body)))
}

fn damaged(error: impl std::fmt::Display) -> Problem {
    broken(ARROW, &error.to_string())
}
