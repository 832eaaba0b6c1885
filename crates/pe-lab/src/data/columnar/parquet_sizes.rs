//! The sizes that a Parquet file says of itself, checked before memory is allocated by them.
//!
//! Source: <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use super::super::error::Problem;
use super::super::limits::{MAX_BYTES, MAX_COLUMNS};
use super::table::{WIDER, broken, too_large};
use super::thrift::Thrift;

/// How deep columns may stand in each other.
const DEEPEST: usize = 50;

/// Checks what the end of a file says of its columns: their tree is no deeper and no larger than a table may have, and lists have
/// the elements that they say.
///
/// # Errors
///
/// [`Problem::Other`], [`Problem::TooManyColumns`].
pub(super) fn check_footer(bytes: &[u8]) -> Result<(), Problem> {
    let footer = footer(bytes).ok_or_else(|| damaged("it does not end as such a file"))?;
    let mut children = Vec::new();
    let read = Thrift::new(footer).fields(|thrift, number, kind| match number {
        2 => thrift.structs(kind, |thrift| {
            let mut count = 0;
            thrift.fields(|thrift, number, kind| {
                match number {
                    5 => count = thrift.number(kind)?,
                    _ => thrift.skip(kind)?,
                }
                Some(())
            })?;
            children.push(count);
            Some(())
        }),
        _ => thrift.skip(kind),
    });
    if read.is_none() {
        return Err(damaged("what it says of its columns is cut off"));
    }
    match children.first() {
        Some(columns) if *columns > MAX_COLUMNS as i64 => Err(Problem::TooManyColumns {
            line: 1,
            columns: usize::try_from(*columns).unwrap_or(usize::MAX),
        }),
        _ if is_tree(&children) => Ok(()),
        _ => Err(damaged("its columns are no tree")),
    }
}

pub(super) fn damaged(error: impl std::fmt::Display) -> Problem {
    broken("Parquet", &error.to_string())
}

/// What a file says of itself: it stands before its own length and the mark at the end.
fn footer(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_suffix(b"PAR1")?;
    let (rest, len) = rest.split_last_chunk::<4>()?;
    let len = u32::from_le_bytes(*len) as usize;
    rest.get(rest.len().checked_sub(len)?..)
}

/// Whether these counts of children, the parent before its children, are those of one tree that is not too deep.
fn is_tree(children: &[i64]) -> bool {
    // How many children are still to come, on each level.
    let mut open: Vec<i64> = vec![1];
    for count in children {
        while open.last() == Some(&0) {
            open.pop();
        }
        let Some(last) = open.last_mut() else {
            return false;
        };
        *last -= 1;
        if *count < 0 || *count > children.len() as i64 || open.len() > DEEPEST {
            return false;
        }
        open.push(*count);
    }
    open.iter().all(|left| *left == 0)
}

/// What the pages of a file unpack to.
#[derive(Default)]
struct Sum {
    bytes: u64,
    values: u64,
}

impl Sum {
    /// Counts a page, unless it is too much.
    fn add(&mut self, page: &Page<'_>) -> Result<(), Problem> {
        self.bytes = self.bytes.saturating_add(page.unpacked);
        self.values = self.values.saturating_add(page.values);
        // The text of a value takes a byte at least.
        match page.unpacked > MAX_BYTES || self.bytes > WIDER * MAX_BYTES || self.values > MAX_BYTES
        {
            true => Err(too_large()),
            false => Ok(()),
        }
    }
}

/// Checks every page of a file: that it lies in the file, and how much it unpacks to.
///
/// # Errors
///
/// [`Problem::Other`] for a file of which too much would be unpacked, and for a damaged one.
pub(super) fn check_pages(bytes: &[u8], about: &ParquetMetaData) -> Result<(), Problem> {
    let mut sum = Sum::default();
    let columns = about.row_groups().iter().flat_map(|group| group.columns());
    columns
        .into_iter()
        .try_for_each(|column| check_column(bytes, column, &mut sum))
}

fn check_column(bytes: &[u8], column: &ColumnChunkMetaData, sum: &mut Sum) -> Result<(), Problem> {
    let damaged = || damaged(format!("the pages of {} are cut off", column.column_path()));
    let packed_by = match column.compression() {
        // Its old form does not say in advance what it unpacks to.
        Compression::LZ4 => Some("the LZ4 of Hadoop"),
        Compression::BROTLI(_) => Some("brotli"),
        Compression::LZO => Some("LZO"),
        _ => None,
    };
    if let Some(name) = packed_by {
        return Err(Problem::Other(format!(
            "is a Parquet file packed by {name}, which is not read; write it with snappy, zstd or gzip"
        )));
    }
    let start = column.dictionary_page_offset();
    let start = usize::try_from(start.unwrap_or_else(|| column.data_page_offset()));
    let len = usize::try_from(column.compressed_size());
    let (Ok(start), Ok(len)) = (start, len) else {
        return Err(damaged());
    };
    let end = start.checked_add(len);
    let mut rest = end
        .and_then(|end| bytes.get(start..end))
        .ok_or_else(damaged)?;
    while !rest.is_empty() {
        let page = Page::of(&mut rest).ok_or_else(damaged)?;
        sum.add(&page)?;
        let is_gzip = matches!(column.compression(), Compression::GZIP(_));
        if is_gzip && page.is_packed && !page.unpacks_by_gzip() {
            return Err(damaged());
        }
    }
    Ok(())
}

/// A page as its header describes it.
#[derive(Default)]
struct Page<'a> {
    unpacked: u64,
    values: u64,
    /// The bytes of its levels, which are not packed.
    levels: usize,
    is_packed: bool,
    body: &'a [u8],
}

impl<'a> Page<'a> {
    /// The page at the beginning of these bytes, which are those behind it then.
    fn of(rest: &mut &'a [u8]) -> Option<Self> {
        let mut page = Self {
            is_packed: true,
            ..Self::default()
        };
        let mut thrift = Thrift::new(rest);
        let mut packed = None;
        thrift.fields(|thrift, number, kind| {
            match number {
                2 => page.unpacked = u64::try_from(thrift.number(kind)?).ok()?,
                3 => packed = usize::try_from(thrift.number(kind)?).ok(),
                // A page of data, a dictionary, and a page of data of the second version.
                5 | 7 | 8 if kind == 12 => thrift.fields(|thrift, inner, kind| {
                    match (number, inner) {
                        (_, 1) => page.values = u64::try_from(thrift.number(kind)?).ok()?,
                        (8, 5 | 6) => page.levels += usize::try_from(thrift.number(kind)?).ok()?,
                        // The type of the field is its value.
                        (8, 7) => page.is_packed = kind == 1,
                        _ => thrift.skip(kind)?,
                    }
                    Some(())
                })?,
                _ => thrift.skip(kind)?,
            }
            Some(())
        })?;
        (page.body, *rest) = thrift.rest().split_at_checked(packed?)?;
        Some(page)
    }

    /// Whether it unpacks to no more than its header says. Who reads it unpacks all of it before they compare.
    fn unpacks_by_gzip(&self) -> bool {
        let Some(packed) = self.body.get(self.levels..) else {
            return false;
        };
        let mut unpacked = MultiGzDecoder::new(packed).take(self.unpacked + 1);
        let count = std::io::copy(&mut unpacked, &mut std::io::sink());
        count.is_ok_and(|count| count <= self.unpacked)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::packed::pack;
    use super::*;

    #[test]
    fn columns_are_a_tree_or_refused() {
        let chain = |depth: usize| [vec![1; depth], vec![0]].concat();
        for tree in [vec![2, 0, 0], vec![2, 1, 0, 0], vec![0], chain(DEEPEST - 1)] {
            assert!(is_tree(&tree), "{tree:?}");
        }
        let many = i64::from(i32::MAX);
        for other in [
            vec![],
            vec![2, 0],
            vec![0, 0],
            vec![many],
            vec![-1],
            chain(100_000),
        ] {
            assert!(!is_tree(&other), "{:?}", &other[..other.len().min(4)]);
        }
    }

    /// A number of a field that follows the one before.
    fn field(out: &mut Vec<u8>, number: u64) {
        out.push(0x15);
        let mut rest = number << 1;
        while rest > 127 {
            out.push(rest as u8 | 128);
            rest >>= 7;
        }
        out.push(rest as u8);
    }

    /// A page of data whose header says these sizes.
    fn page(unpacked: u64, packed: u64, values: u64, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [0, unpacked, packed] {
            field(&mut bytes, number);
        }
        bytes.push(0x2c);
        field(&mut bytes, values);
        [&bytes[..], &[0, 0], body].concat()
    }

    #[test]
    fn a_page_that_unpacks_to_too_much_is_refused_by_its_header() {
        let sum = |unpacked, values| {
            let bytes = page(unpacked, 3, values, b"abcd");
            let mut rest = &bytes[..];
            let page = Page::of(&mut rest).unwrap();
            assert_eq!((page.body, rest), (&b"abc"[..], &b"d"[..]));
            let mut sum = Sum::default();
            (0..4).try_for_each(|_| sum.add(&page))
        };
        assert!(sum(MAX_BYTES, MAX_BYTES / 4).is_ok());
        let values = MAX_BYTES / 4 + 1;
        for (unpacked, values) in [(MAX_BYTES + 1, 1), (i32::MAX as u64, 1), (1, values)] {
            let said = sum(unpacked, values).unwrap_err().to_string();
            assert!(said.contains("more than the 268,435,456 bytes"), "{said}");
        }
        let whole = page(9, 3, 1, b"abc");
        for end in 0..whole.len() {
            assert!(Page::of(&mut &whole[..end]).is_none(), "{end}");
        }
    }

    #[test]
    fn a_gzip_page_is_not_unpacked_beyond_what_its_header_says() {
        let body = pack(&vec![0; 1 << 20]);
        let of = |unpacked| Page {
            unpacked,
            body: &body,
            ..Page::default()
        };
        assert!(of(1 << 20).unpacks_by_gzip());
        assert!(!of((1 << 20) - 1).unpacks_by_gzip());
        let cut = Page {
            body: &body[..body.len() / 2],
            ..of(1 << 20)
        };
        assert!(!cut.unpacks_by_gzip());
    }
}
