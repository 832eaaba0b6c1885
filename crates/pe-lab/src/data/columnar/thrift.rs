//! The compact protocol of Thrift, in which Parquet writes what it says of itself: just enough to look up numbers in it.
//!
//! Source: <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.

/// How deep structs and lists may stand in each other.
const DEEPEST: usize = 32;
/// The most elements of a list. Those who read it allocate them before they see the first.
const MOST: usize = 1 << 20;

const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// What is left to be read. Every method returns `None` where it ends too early or is no Thrift.
pub(super) struct Thrift<'a> {
    rest: &'a [u8],
    depth: usize,
}

impl<'a> Thrift<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            depth: 0,
        }
    }

    /// The bytes that are not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Calls `each` for every field of a struct, with its number and its type. It has to read the field.
    pub fn fields(&mut self, mut each: impl FnMut(&mut Self, i64, u8) -> Option<()>) -> Option<()> {
        self.deeper(|thrift| {
            let mut number = 0;
            loop {
                let head = thrift.byte()?;
                if head == 0 {
                    return Some(());
                }
                number = match head >> 4 {
                    0 => thrift.integer()?,
                    step => number + i64::from(step),
                };
                each(thrift, number, head & 15)?;
            }
        })
    }

    /// Calls `each` for every struct of a list of this type, to read it.
    pub fn structs(
        &mut self,
        kind: u8,
        mut each: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        let (count, of) = (kind == LIST).then(|| self.list())??;
        (of == STRUCT || count == 0).then_some(())?;
        self.deeper(|thrift| (0..count).try_for_each(|_| each(thrift)))
    }

    /// A number of this type, or `None` of another.
    pub fn number(&mut self, kind: u8) -> Option<i64> {
        match kind {
            4..=6 => self.integer(),
            _ => None,
        }
    }

    /// Passes over a value of this type.
    pub fn skip(&mut self, kind: u8) -> Option<()> {
        match kind {
            // The type of a field says whether it is true.
            1 | 2 => Some(()),
            3 => self.byte().map(drop),
            4..=6 => self.integer().map(drop),
            7 => self.take(8),
            8 => {
                let len = usize::try_from(self.varint()?).ok()?;
                self.take(len)
            }
            LIST | 10 => {
                let (count, of) = self.list()?;
                self.deeper(|thrift| (0..count).try_for_each(|_| thrift.element(of)))
            }
            11 => {
                let count = self.count()?;
                if count == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                self.deeper(|thrift| {
                    (0..count).try_for_each(|_| {
                        thrift.element(kinds >> 4)?;
                        thrift.element(kinds & 15)
                    })
                })
            }
            STRUCT => self.fields(|thrift, _, kind| thrift.skip(kind)),
            13 => self.take(16),
            _ => None,
        }
    }

    /// The number of elements of a list, and their type.
    fn list(&mut self) -> Option<(usize, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.count()?,
            few => usize::from(few),
        };
        Some((count, head & 15))
    }

    /// A number of elements, each of which takes a byte or more.
    fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.varint()?).ok()?;
        (count <= self.rest.len().min(MOST)).then_some(count)
    }

    /// Passes over an element of a list. There, a truth value is a byte.
    fn element(&mut self, kind: u8) -> Option<()> {
        match kind {
            1 | 2 => self.byte().map(drop),
            other => self.skip(other),
        }
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.depth += 1;
        let read = (self.depth <= DEEPEST).then(|| read(self)).flatten();
        self.depth -= 1;
        read
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn take(&mut self, count: usize) -> Option<()> {
        self.rest = self.rest.get(count..)?;
        Some(())
    }

    /// A number of seven bits in each byte, the last of which has no eighth.
    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(number);
            }
        }
        None
    }

    /// A number with a sign: 0, -1, 1, -2 and so on.
    fn integer(&mut self) -> Option<i64> {
        let number = self.varint()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }
}
