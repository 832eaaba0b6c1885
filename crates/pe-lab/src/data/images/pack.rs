//! The file in which a study keeps its images: decoded, and at the sizes at which they are read.
//!
//! ```text
//! pe-lab images 1⏎
//! {"labels": …, "coloured": …, "patch": …, "sizes": …, "train": …, "test": …, "notes": …}⏎
//! the pixels, one byte for grey and three for colours, row by row:
//! every image of the training at the first size, then all images of the test at each size
//! ```

use serde::{Deserialize, Serialize};

use super::super::error::Problem;
use super::super::limits::{MAX_BYTES, MAX_CLASSES};
use super::super::quote::grouped;
use super::size::{MAX_PATCHES, Size, by};

const MAGIC: &[u8] = b"pe-lab images 1\n";
/// The most bytes of pixels. What the file says before them takes far less than 16 MiB, so the whole file can be
/// read again.
const MAX_PIXELS: u64 = MAX_BYTES - (16 << 20);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Contents {
    /// The names of the classes.
    pub labels: Vec<String>,
    /// Whether a pixel has three bytes.
    pub coloured: bool,
    /// The side of a patch in pixels.
    pub patch: usize,
    /// The sizes in pixels: that of the training, and then the others that are tested.
    pub sizes: Vec<Size>,
    /// The class of every image of the training.
    pub train: Vec<usize>,
    /// The class of every image of the test.
    pub test: Vec<usize>,
    /// What was found in the folder, in words.
    pub notes: Vec<String>,
}

impl Contents {
    pub fn channels(&self) -> usize {
        if self.coloured { 3 } else { 1 }
    }

    /// The bytes of an image of a size. `None` if they cannot be counted.
    fn image(&self, [height, width]: Size) -> Option<usize> {
        height.checked_mul(width)?.checked_mul(self.channels())
    }

    /// The bytes of all pixels. `None` if they cannot be counted.
    fn pixels(&self) -> Option<usize> {
        let train = self.image(*self.sizes.first()?)?;
        let mut all = train.checked_mul(self.train.len())?;
        for size in &self.sizes {
            all = all.checked_add(self.image(*size)?.checked_mul(self.test.len())?)?;
        }
        Some(all)
    }

    /// Checks that the pixels fit into a file, before there is memory for them.
    ///
    /// # Errors
    ///
    /// [`Problem::Other`] with the number of bytes and the bound.
    pub fn check_room(&self) -> Result<usize, Problem> {
        match self.pixels() {
            Some(bytes) if bytes as u64 <= MAX_PIXELS => Ok(bytes),
            bytes => Err(Problem::Other(format!(
                "{} images of {} pixels, and those of the test at {} sizes, take {} bytes, and a study keeps at \
                 most {}; take a sample of them, or a smaller --size",
                grouped(self.train.len() + self.test.len()),
                self.sizes.first().map_or(String::new(), |size| by(*size)),
                self.sizes.len(),
                bytes.map_or("too many".into(), grouped),
                grouped(MAX_PIXELS as usize)
            ))),
        }
    }

    /// What is wrong with a file that has these contents.
    fn fault(&self) -> Option<&'static str> {
        let sides = self.sizes.iter().flatten();
        let of_patches = |side: &usize| *side > 0 && side.is_multiple_of(self.patch);
        let classes = self.train.iter().chain(&self.test);
        let tokens = |size: &Size| (size[0] / self.patch).saturating_mul(size[1] / self.patch);
        if self.patch == 0 || self.sizes.is_empty() || !sides.clone().all(of_patches) {
            Some("its sizes are not multiples of its patch")
        } else if !(2..=MAX_PATCHES).contains(&tokens(&self.sizes[0])) {
            Some("its images have too few or too many patches")
        } else if self.train.is_empty() || self.test.is_empty() {
            Some("it has no images to train on, or none to test on")
        } else if !(2..=MAX_CLASSES).contains(&self.labels.len())
            || classes.clone().any(|class| *class >= self.labels.len())
        {
            Some("its classes and its labels do not fit")
        } else {
            None
        }
    }
}

/// The images of a study.
#[derive(Debug)]
pub(super) struct Pack {
    pub contents: Contents,
    /// The whole file.
    pub bytes: Vec<u8>,
    /// Where the pixels begin.
    start: usize,
}

impl Pack {
    /// Puts images into a file. `pixels` gives them in the order of the file.
    pub fn of(
        contents: Contents,
        pixels: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<Self, Problem> {
        let room = contents.check_room()?;
        let text = serde_json::to_string(&contents)
            .map_err(|error| Problem::Other(format!("cannot be kept: {error}")))?;
        let mut bytes = Vec::with_capacity(MAGIC.len() + text.len() + 1 + room);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(b'\n');
        let start = bytes.len();
        for image in pixels {
            bytes.extend_from_slice(&image);
        }
        assert_eq!(bytes.len() - start, room, "every image has its size");
        Ok(Self {
            contents,
            bytes,
            start,
        })
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// [`Problem::Other`] for a file that is damaged or of another program.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, Problem> {
        let wrong = |reason: &str| {
            Err(Problem::Other(format!(
                "is not a file of images as a study keeps them: {reason}; name the folder of images"
            )))
        };
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return wrong("it does not begin as one");
        };
        let Some(line) = rest.iter().position(|byte| *byte == b'\n') else {
            return wrong("it breaks off");
        };
        let contents: Contents = match serde_json::from_slice(&rest[..line]) {
            Ok(contents) => contents,
            Err(error) => return wrong(&error.to_string()),
        };
        if let Some(fault) = contents.fault() {
            return wrong(fault);
        }
        let pixels = rest.len() - line - 1;
        if contents.pixels() != Some(pixels) {
            return wrong("it has not as many pixels as it says");
        }
        Ok(Self {
            contents,
            start: bytes.len() - pixels,
            bytes,
        })
    }

    /// The pixels of an image of the training.
    pub fn train(&self, index: usize) -> &[u8] {
        let size = self.image(self.contents.sizes[0]);
        &self.bytes[self.start + index * size..][..size]
    }

    /// The pixels of an image of the test, at one of the sizes.
    pub fn test(&self, size: usize, index: usize) -> &[u8] {
        let contents = &self.contents;
        let before = self.image(contents.sizes[0]) * contents.train.len();
        let smaller = contents.sizes[..size].iter().map(|size| self.image(*size));
        let before = before + smaller.sum::<usize>() * contents.test.len();
        let size = self.image(contents.sizes[size]);
        &self.bytes[self.start + before + index * size..][..size]
    }

    /// The bytes of an image of a size, which were counted when the file was read.
    fn image(&self, [height, width]: Size) -> usize {
        height * width * self.contents.channels()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::Says;

    fn contents() -> Contents {
        Contents {
            labels: vec!["a".into(), "b".into()],
            coloured: false,
            patch: 1,
            sizes: vec![[1, 2], [2, 3]],
            train: vec![0, 1, 1],
            test: vec![1, 0],
            notes: vec!["three\nlines".into()],
        }
    }

    /// Image number `n` has all its pixels `n`.
    fn pack() -> Pack {
        let sizes = [2, 2, 2, 2, 2, 6, 6];
        let pixels = sizes.iter().zip(0..).map(|(size, n)| vec![n; *size]);
        Pack::of(contents(), pixels).unwrap()
    }

    #[test]
    fn images_are_found_again() {
        let pack = Pack::parse(pack().bytes).unwrap();
        assert_eq!(pack.contents, contents());
        assert_eq!((pack.train(0), pack.train(2)), (&[0; 2][..], &[2; 2][..]));
        assert_eq!(
            (pack.test(0, 0), pack.test(0, 1)),
            (&[3; 2][..], &[4; 2][..])
        );
        assert_eq!(
            (pack.test(1, 0), pack.test(1, 1)),
            (&[5; 6][..], &[6; 6][..])
        );
    }

    #[test]
    fn pixels_are_counted_before_there_is_memory_for_them() {
        let of = |images: usize, sizes: Vec<Size>| {
            let contents = Contents {
                sizes,
                train: vec![0; images],
                ..contents()
            };
            contents.check_room().map_err(|problem| problem.to_string())
        };
        // 240 MiB in training, less the two of the test.
        assert_eq!(of(238, vec![[1024, 1024]]), Ok(240 << 20));
        let message = of(239, vec![[1024, 1024]]).unwrap_err();
        message.says("take 252,706,816 bytes, and a study keeps at most 251,658,240");
        let message = of(1, vec![[usize::MAX, 2]]).unwrap_err();
        message.says("take too many bytes");
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let good = pack().bytes;
        let said = |bytes: &[u8]| Pack::parse(bytes.to_vec()).unwrap_err().to_string();
        assert!(said(&good[..good.len() - 1]).contains("not as many pixels"));
        assert!(said(&[&good[..], &[0]].concat()).contains("not as many pixels"));
        assert!(said(&good[1..]).contains("does not begin"));
        assert!(said(MAGIC).contains("breaks off"));
        let altered = |change: fn(&mut Contents)| {
            let mut contents = contents();
            change(&mut contents);
            let text = serde_json::to_string(&contents).unwrap();
            said(&[MAGIC, text.as_bytes(), b"\n", &[0; 22]].concat())
        };
        assert!(altered(|c| c.patch = 0).contains("multiples"));
        assert!(altered(|c| c.patch = 2).contains("multiples"));
        assert!(altered(|c| c.sizes.clear()).contains("multiples"));
        assert!(altered(|c| c.sizes[0] = [1, 1]).contains("too few"));
        assert!(altered(|c| c.test.clear()).contains("none to test on"));
        assert!(altered(|c| c.train[0] = 2).contains("do not fit"));
        assert!(altered(|c| c.sizes[1] = [usize::MAX, usize::MAX]).contains("not as many"));
    }
}
