//! The header of numpy's format `.npy`: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use std::io::Read;

use super::error::Problem;

const MAGIC: &[u8] = b"\x93NUMPY";
/// A longer header is taken for a damaged file.
const MOST: usize = 1 << 16;

/// Where the numbers of a file begin, the bytes of each, and how many there are.
///
/// # Errors
///
/// [`Problem::Other`] when it is no such file, or not one of a row of whole numbers.
pub(super) fn header(file: &mut impl Read) -> Result<(u64, usize, Option<usize>), Problem> {
    let damaged =
        || Problem::Other("is not a .npy: its first bytes are not those of numpy's format".into());
    let mut bytes = |count: usize| {
        let mut bytes = vec![0; count];
        file.read_exact(&mut bytes)
            .map(|()| bytes)
            .map_err(|_| damaged())
    };
    let start = bytes(8)?;
    if start[..6] != *MAGIC {
        return Err(damaged());
    }
    let of_length = match start[6] {
        1 => 2,
        2 | 3 => 4,
        version => {
            return Err(Problem::Other(format!(
                "is of version {version} of numpy's format; 1 to 3 can be read"
            )));
        }
    };
    let length = bytes(of_length)?;
    let length = (length.iter().rev()).fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    if length > MOST {
        return Err(damaged());
    }
    let text = String::from_utf8(bytes(length)?).map_err(|_| damaged())?;
    let dtype = field(&text, "descr").ok_or_else(damaged)?;
    let dtype = dtype.trim_matches(['\'', '"']);
    let width = width(dtype)?;
    let shape = text.split_once("'shape':").ok_or_else(damaged)?.1;
    let shape = shape
        .split_once('(')
        .and_then(|shape| shape.1.split_once(')'));
    let shape = shape.ok_or_else(damaged)?.0.trim();
    let Ok(count) = shape.trim_end_matches(',').trim().parse::<usize>() else {
        return Err(Problem::Other(format!(
            "holds an array of the shape ({shape}); token ids are in one row (in numpy: ids.reshape(-1))"
        )));
    };
    Ok(((8 + of_length + length) as u64, width, Some(count)))
}

fn width(dtype: &str) -> Result<usize, Problem> {
    match dtype {
        "|u1" | "u1" => Ok(1),
        "<u2" => Ok(2),
        "<u4" | "<i4" => Ok(4),
        "<u8" | "<i8" => Ok(8),
        other => Err(Problem::Other(format!(
            "holds numbers of the type {other}; token ids are of u1, <u2, <u4, <u8, <i4 or <i8 (in numpy: \
             ids.astype('<u4'))"
        ))),
    }
}

/// The value of a field of the header, up to the next comma.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = text.split_once(&format!("'{name}':"))?;
    Some(after.split_once(',')?.0.trim())
}
