//! Pictures of an encoding, from our own tables, as SVG or PNG.
//!
//! The ones that every explanation of the encoding draws: its [`heatmap`], its [`curves`], its
//! [`frequencies`], the [`clocks`] that its pairs of columns are, and the [`similarity`] between
//! positions. Each is a function that gives back the text of an SVG; [`write()`] saves it.

pub mod clocks;
pub mod colour;
pub mod curves;
mod frame;
pub mod frequencies;
pub mod heatmap;
mod png;
mod raster;
pub mod similarity;

use std::ops::Range;
use std::path::Path;

use pe_burn::{Layout, MAX_POSITION, PositionError, Spectrum};

use crate::error::LabError;
use crate::files::write_whole;

/// The longest run of positions that is drawn.
pub const MAX_SEQ_LEN: usize = 1_000_000;
/// The widest encoding that is drawn.
pub const MAX_D_MODEL: usize = 32_768;
/// The most entries (positions × columns) that are computed for one picture: a few seconds' work.
pub const MAX_ENTRIES: usize = 1 << 30;
/// Entries that are in memory at a time.
const BLOCK: usize = 1 << 22;

/// The run of positions of a sinusoidal encoding that a picture shows.
#[derive(Clone, Debug)]
pub struct Encoding {
    spectrum: Spectrum,
    start: usize,
    seq_len: usize,
}

impl Encoding {
    /// The positions `start` to `start + seq_len − 1` of an encoding.
    ///
    /// # Errors
    ///
    /// When `d_model` or `base` give no encoding, when there are no positions, when they go past
    /// [`MAX_POSITION`], or when there is more than [`MAX_SEQ_LEN`], [`MAX_D_MODEL`] or
    /// [`MAX_ENTRIES`] allow.
    pub fn new(
        d_model: usize,
        base: f64,
        layout: Layout,
        start: usize,
        seq_len: usize,
    ) -> Result<Self, LabError> {
        let spectrum = spectrum(d_model, base)?.with_layout(layout);
        let usage = |text: String| Err(LabError::Usage(text));
        if seq_len == 0 || seq_len > MAX_SEQ_LEN {
            return usage(format!(
                "a picture shows 1 to {MAX_SEQ_LEN} positions; --seq-len {seq_len} is out of range"
            ));
        }
        if start > MAX_POSITION - (seq_len - 1) {
            return Err(LabError::Position(PositionError::Overflow {
                start,
                seq: seq_len,
                max: MAX_POSITION,
            }));
        }
        if seq_len * d_model > MAX_ENTRIES {
            return usage(format!(
                "--seq-len {seq_len} × --d-model {d_model} are {} entries, and a picture is made \
                 of at most {MAX_ENTRIES}; lower one of the two",
                seq_len * d_model
            ));
        }
        Ok(Self {
            spectrum,
            start,
            seq_len,
        })
    }

    fn d_model(&self) -> usize {
        self.spectrum.d_model()
    }

    /// The first position and how many there are.
    fn positions(&self) -> (usize, usize) {
        (self.start, self.seq_len)
    }

    /// Hands every row to `each`, in order, without having all of them in memory.
    fn for_each_row(&self, mut each: impl FnMut(&[f32])) -> Result<(), LabError> {
        let per_block = (BLOCK / self.d_model()).max(1);
        let end = self.start + self.seq_len;
        for start in (self.start..end).step_by(per_block) {
            let block: Range<usize> = start..end.min(start + per_block);
            let rows: Vec<f32> = self.spectrum.try_rows(block)?;
            rows.chunks_exact(self.d_model()).for_each(&mut each);
        }
        Ok(())
    }

    /// "d_model 512, base 10,000, positions 0 to 99", and the layout where it is not the paper's.
    fn describe(&self) -> String {
        let (first, last) = (self.start, self.start + self.seq_len - 1);
        format!(
            "{}, {}",
            describe(&self.spectrum),
            if first == last {
                format!("position {}", frame::grouped(first))
            } else {
                format!(
                    "positions {} to {}",
                    frame::grouped(first),
                    frame::grouped(last)
                )
            }
        )
    }

    /// The columns of the sine and the cosine of a pair, if it has both.
    fn pair(&self, pair: usize) -> (usize, Option<usize>) {
        let d_model = self.d_model();
        let (sin, cos) = match self.spectrum.layout() {
            Layout::Interleaved => (2 * pair, 2 * pair + 1),
            Layout::Halves => (pair, d_model.div_ceil(2) + pair),
        };
        (sin, (cos < d_model).then_some(cos))
    }
}

/// The spectrum of a width that can be drawn.
fn spectrum(d_model: usize, base: f64) -> Result<Spectrum, LabError> {
    if d_model > MAX_D_MODEL {
        return Err(LabError::Usage(format!(
            "a picture shows at most {MAX_D_MODEL} columns; --d-model {d_model} is out of range"
        )));
    }
    Ok(Spectrum::try_new(d_model, base)?)
}

fn describe(spectrum: &Spectrum) -> String {
    let layout = match spectrum.layout() {
        Layout::Interleaved => "",
        Layout::Halves => ", layout halves",
    };
    format!(
        "d_model {}, base {}{layout}",
        spectrum.d_model(),
        number(spectrum.base())
    )
}

/// A number as short as it can be told.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e9 {
        frame::grouped(value as usize)
    } else if (1e-3..1e9).contains(&value) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// A wavelength to three digits or whole tokens, whichever is more.
fn wavelength(tokens: f64) -> String {
    match tokens {
        t if t < 9.995 => format!("{t:.2}"),
        t if t < 99.95 => format!("{t:.1}"),
        t if t < 1e9 => frame::grouped(t.round() as usize),
        t => format!("{t:.2e}"),
    }
}

/// Refuses a list that is empty, too long, or names something twice.
fn check_list<T: PartialEq + std::fmt::Display>(
    option: &str,
    list: &[T],
    most: usize,
) -> Result<(), LabError> {
    if list.is_empty() || list.len() > most {
        return Err(LabError::Usage(format!(
            "{option} takes 1 to {most} values; got {}",
            list.len()
        )));
    }
    for (index, value) in list.iter().enumerate() {
        if list[..index].contains(value) {
            return Err(LabError::Usage(format!("{option} names {value} twice")));
        }
    }
    Ok(())
}

/// The kinds of file that a picture can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Drawn by whoever opens it, sharp at any size.
    Svg,
    /// Pixels, two for each pixel of the page.
    Png,
}

impl Format {
    /// The format that a file's name ends in.
    ///
    /// # Errors
    ///
    /// When it ends in neither.
    pub fn of(file: &Path) -> Result<Self, LabError> {
        let extension = file.extension().and_then(|extension| extension.to_str());
        match extension.map(str::to_ascii_lowercase).as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            _ => Err(LabError::Usage(format!(
                "{} ends in neither .svg nor .png, and the end of the name says what is written; \
                 name the file so with --out",
                file.display()
            ))),
        }
    }
}

/// Writes a picture, whole or not at all, in the format that the file's name ends in.
///
/// # Errors
///
/// When the name ends otherwise, or the file cannot be written.
pub fn write(svg: &str, file: &Path) -> Result<(), LabError> {
    let bytes = match Format::of(file)? {
        Format::Svg => svg.as_bytes().to_vec(),
        Format::Png => png::render(svg)?,
    };
    write_whole(file, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn encoding(d_model: usize, start: usize, seq_len: usize) -> Encoding {
        Encoding::new(d_model, 10_000.0, Layout::Interleaved, start, seq_len).unwrap()
    }

    #[test]
    fn rows_come_in_order_and_all_of_them_across_blocks() {
        // Blocks of 128 rows: positions 5 to 304 are three of them.
        let encoding = encoding(MAX_D_MODEL, 5, 300);
        let mut position = 5;
        encoding
            .for_each_row(|row| {
                assert_eq!(row[0], (f64::from(position)).sin() as f32);
                assert_eq!(row[1], (f64::from(position)).cos() as f32);
                position += 1;
            })
            .unwrap();
        assert_eq!(position, 305);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused_with_value_and_bound() {
        let layout = Layout::Interleaved;
        let said = |d_model, base, start, seq_len| {
            Encoding::new(d_model, base, layout, start, seq_len)
                .unwrap_err()
                .to_string()
        };
        for (error, parts) in [
            (said(0, 1e4, 0, 1), ["d_model must be at least 1", "0"]),
            (said(32_769, 1e4, 0, 1), ["32768", "32769"]),
            (said(4, f64::NAN, 0, 1), ["base", "NaN"]),
            (said(4, -2.0, 0, 1), ["base", "-2"]),
            (said(4, 1e4, 0, 0), ["1 to 1000000", "--seq-len 0"]),
            (said(4, 1e4, 0, 1_000_001), ["1 to 1000000", "1000001"]),
            (said(2_048, 1e4, 0, 1_000_000), ["2048000000", "1073741824"]),
            (
                said(4, 1e4, MAX_POSITION, 2),
                ["4503599627370495 + seq 2", "largest position"],
            ),
            (said(4, 1e4, usize::MAX, 2), ["seq 2", "largest position"]),
        ] {
            for part in parts {
                assert!(error.contains(part), "{error}");
            }
        }
        assert!(Encoding::new(4, 1e4, layout, MAX_POSITION, 1).is_ok());
    }

    #[test]
    fn pairs_lie_where_the_layout_puts_them() {
        let halves = Encoding::new(7, 1e4, Layout::Halves, 0, 1).unwrap();
        assert_eq!(halves.pair(2), (2, Some(6)));
        assert_eq!(halves.pair(3), (3, None));
        assert_eq!(encoding(7, 0, 1).pair(2), (4, Some(5)));
        assert_eq!(encoding(7, 0, 1).pair(3), (6, None));
    }

    #[test]
    fn numbers_are_short_and_lists_are_checked() {
        assert_eq!(number(10_000.0), "10,000");
        assert_eq!(number(1.5), "1.5");
        assert_eq!(number(1e12), "1e12");
        assert_eq!(wavelength(std::f64::consts::TAU), "6.28");
        assert_eq!(wavelength(62_831.85), "62,832");
        assert!(check_list("--columns", &[1, 2], 2).is_ok());
        for (list, said) in [
            (&[][..], "got 0"),
            (&[1, 2, 3], "got 3"),
            (&[4, 4], "names 4 twice"),
        ] {
            let error = check_list("--columns", list, 2).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn the_name_says_the_format() {
        assert_eq!(Format::of(Path::new("a/b.svg")).unwrap(), Format::Svg);
        assert_eq!(Format::of(Path::new("B.PNG")).unwrap(), Format::Png);
        for wrong in ["a.pdf", "svg", "a.svg/b", ""] {
            let error = Format::of(Path::new(wrong)).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{wrong}");
        }
    }
}
