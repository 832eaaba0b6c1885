//! Several axes that share the columns of an encoding.

mod axis;
mod data;

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub use axis::Axis;

use super::Grid;
use crate::error::{PositionError, check_number};

/// The axes that share the columns of an encoding: rows and columns of an image, frames of a video, or
/// coordinates of any kind.
///
/// An encoding with axes takes a [`Grid`] or [coordinates](crate::Coordinates) as positions. Every pair of columns
/// belongs to one axis, and its angle is that coordinate times the frequency of the pair. [`new`](Self::new) gives each
/// axis a block of columns, with the frequencies of an encoding that has these columns alone. The axes of models:
///
/// | models | axes |
/// |---|---|
/// | DETR; the vision towers of Qwen2-VL | [`HEIGHT_WIDTH`](Self::HEIGHT_WIDTH) |
/// | timm with `interleave_sin_cos` | `HEIGHT_WIDTH` with [`Layout::Halves`](crate::Layout::Halves): the sines of an axis before its cosines |
/// | timm by default: all sines come before all cosines | `HEIGHT_WIDTH`, and its rows through [`convert_layout`](crate::convert_layout), from interleaved to halves |
/// | MAE, SAM 2 | [`WIDTH_HEIGHT`](Self::WIDTH_HEIGHT) |
/// | the plain ViT of Big Vision | `WIDTH_HEIGHT` with [`Formula::TENSOR2TENSOR`](crate::Formula::TENSOR2TENSOR) |
/// | V-JEPA 2 | [`FRAMES_HEIGHT_WIDTH`](Self::FRAMES_HEIGHT_WIDTH) |
/// | Flux, Wan, CogVideoX, Qwen-Image, Lumina, Z-Image | [`of_widths`](Self::of_widths) |
/// | text of Qwen2-VL, Qwen2.5-VL and HunYuan-VL | [`mrope`](Self::mrope) |
/// | text of Qwen3-VL and Qwen3.5 | [`mrope_interleaved`](Self::mrope_interleaved) |
/// | Pixtral | `HEIGHT_WIDTH` with [`AxisFrequencies::Dealt`] |
/// | LTX-Video | [`PairOrder::Dealt`], and [columns left alone](Self::with_unturned) before the others |
/// | LTX-2 | the same, with weights that [`convert_heads`](crate::convert_heads) took from halves to interleaved |
///
/// As data it is the name of a constant (`"height_width"`), or an object with its fields:
///
/// ```
/// use pe_burn::{Axes, RotaryPositionalEncodingConfig};
///
/// let json = r#"{"d_head": 128, "axes": {"axes": [
///     {"coordinate": 0, "columns": 16},
///     {"coordinate": 1, "columns": 56},
///     {"coordinate": 2, "columns": 56}
/// ]}}"#;
/// let flux: RotaryPositionalEncodingConfig = serde_json::from_str(json).unwrap();
/// assert_eq!(flux.axes, Some(Axes::of_widths([16, 56, 56])));
/// ```
///
/// Code that mixes up height and width works on square images, but not with the weights of another
/// model.
#[derive(Clone, Debug, PartialEq)]
pub struct Axes {
    axes: Cow<'static, [Axis]>,
    order: PairOrder,
    frequencies: AxisFrequencies,
    unturned: usize,
}

/// The most pairs whose axes are listed one by one: more than any head has.
const MAX_LISTED: usize = 1 << 20;

/// Which pair of columns belongs to which axis.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairOrder {
    /// All pairs of the first axis, then all of the second, and so on.
    #[default]
    Row,
    /// One pair for each axis in turn; an axis that has all its pairs is passed over.
    Dealt,
    /// The axis of every pair, by its index in the list of axes.
    Given(Vec<usize>),
}

/// Which frequencies the pairs of an axis have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisFrequencies {
    /// Those of an encoding that has the columns of this axis alone.
    #[default]
    Own,
    /// Each pair has the frequency that it has without axes. A token with the same number on every axis is then encoded
    /// as on a line, so that positions on a line, those of text, are accepted too.
    Line,
    /// The frequencies without axes, dealt to the axes in turn.
    Dealt,
}

impl Axes {
    /// Half of the columns encode the row of a token, then half its column: as the sinusoids of DETR,
    /// and the rotation in Qwen2-VL's vision tower.
    pub const HEIGHT_WIDTH: Self = Self::even(&[Axis::new(0), Axis::new(1)]);

    /// Half of the columns encode the column of a token, then half its row: as the sinusoids of MAE.
    pub const WIDTH_HEIGHT: Self = Self::even(&[Axis::new(1), Axis::new(0)]);

    /// A third of the columns each: frame, row, column.
    pub const FRAMES_HEIGHT_WIDTH: Self = Self::even(&[Axis::new(0), Axis::new(1), Axis::new(2)]);

    const NAMED: [(&'static str, Self); 3] = [
        ("height_width", Self::HEIGHT_WIDTH),
        ("width_height", Self::WIDTH_HEIGHT),
        ("frames_height_width", Self::FRAMES_HEIGHT_WIDTH),
    ];

    const fn even(axes: &'static [Axis]) -> Self {
        Self {
            axes: Cow::Borrowed(axes),
            order: PairOrder::Row,
            frequencies: AxisFrequencies::Own,
            unturned: 0,
        }
    }

    /// Axes in the order of their columns.
    pub fn new(axes: impl Into<Vec<Axis>>) -> Self {
        Self {
            axes: Cow::Owned(axes.into()),
            ..Self::even(&[])
        }
    }

    /// One axis for each coordinate, in their order, with this many columns.
    pub fn of_widths<const N: usize>(columns: [usize; N]) -> Self {
        let axis = |(i, columns)| Axis::new(i).with_columns(columns);
        let axes: Vec<Axis> = columns.into_iter().enumerate().map(axis).collect();
        Self::new(axes)
    }

    /// The multimodal rotation of Qwen2-VL (Wang et al., [2409.12191](https://arxiv.org/abs/2409.12191),
    /// §2.1): `sections` are the numbers of *pairs* for time, height and width (`mrope_section`). HunYuan-VL has
    /// four, for the token's number, column, row and image (`xdrope_section`).
    pub fn mrope<const N: usize>(sections: [usize; N]) -> Self {
        Self::of_widths(sections.map(|pairs| pairs.saturating_mul(2)))
            .with_frequencies(AxisFrequencies::Line)
    }

    /// As [`mrope`](Self::mrope), with the pairs of time, height and width in turn, as in Qwen3-VL: of every three pairs
    /// the second is for height and the third for width, until these have all their pairs; all others are for time.
    pub fn mrope_interleaved(sections: [usize; 3]) -> Self {
        let [time, height, width] = sections;
        let pairs = time.saturating_add(height).saturating_add(width);
        Self::in_turn([height, width], pairs)
    }

    /// The rule of [`mrope_interleaved`](Self::mrope_interleaved) for `pairs` pairs in all: time gets those that the rule
    /// does not give to height or width.
    pub fn in_turn([height, width]: [usize; 2], pairs: usize) -> Self {
        // How many pairs height and width get, at every third place from `offset` on.
        let within =
            |number: usize, offset: usize| number.min(pairs.saturating_sub(offset).div_ceil(3));
        let (height, width) = (within(height, 1), within(width, 2));
        let time = pairs - height - width;
        let dealt = Self::mrope([time, height, width]).with_order(PairOrder::Dealt);
        if pairs > MAX_LISTED {
            return dealt; // refused where its columns are compared with those of a head
        }
        let owner = |pair: usize| match pair % 3 {
            1 if pair / 3 < height => 1,
            2 if pair / 3 < width => 2,
            _ => 0,
        };
        let owners: Vec<usize> = (0..pairs).map(owner).collect();
        // `Dealt` goes on with two axes where one has all its pairs, but the rule gives the others to time.
        match dealt.owners(&[time, height, width]) == owners {
            true => dealt,
            false => dealt.with_order(PairOrder::Given(owners)),
        }
    }

    /// Sets which pair belongs to which axis.
    pub fn with_order(self, order: PairOrder) -> Self {
        Self { order, ..self }
    }

    /// Sets which frequencies the pairs of an axis have.
    pub fn with_frequencies(self, frequencies: AxisFrequencies) -> Self {
        Self {
            frequencies,
            ..self
        }
    }

    /// Sets the number of columns, an even number, that are not rotated: the first pairs of the layout, before
    /// those of the axes, as in LTX-Video. An attention factor multiplies them like all others. For columns
    /// after the rotated ones see [`with_rotary_dim`](crate::RotaryPositionalEncodingConfig::with_rotary_dim).
    pub fn with_unturned(self, unturned: usize) -> Self {
        Self { unturned, ..self }
    }

    /// The axes in the order of their columns.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Which pair belongs to which axis.
    pub fn order(&self) -> &PairOrder {
        &self.order
    }

    /// Which frequencies the pairs of an axis have.
    pub fn frequencies(&self) -> AxisFrequencies {
        self.frequencies
    }

    /// The number of columns that are not rotated: the first pairs of the layout.
    pub fn unturned(&self) -> usize {
        self.unturned
    }

    /// The number of coordinates of a token.
    pub fn count(&self) -> usize {
        self.axes.len()
    }

    /// Whether positions on a line have a meaning too: all pairs have the frequencies of a line.
    pub fn take_lines(&self) -> bool {
        self.frequencies == AxisFrequencies::Line
    }

    /// Refuses axes that do not describe every coordinate once, and numbers out of bounds.
    pub(crate) fn check(&self) -> Result<(), PositionError> {
        let count = self.count();
        check_number(count > 0, "the number of axes", 0, "at least 1")?;
        for (i, axis) in self.axes.iter().enumerate() {
            let coordinate = axis.coordinate;
            let before = &self.axes[..i];
            if coordinate >= count || before.iter().any(|other| other.coordinate == coordinate) {
                let bound = format!("each of 0 to {} once", count - 1);
                return Err(PositionError::number(
                    format!("the coordinate of axis {i}"),
                    coordinate,
                    bound,
                ));
            }
            let fits = axis.scale.is_finite() && axis.scale > 0.0;
            let bound = "finite and above 0";
            check_number(fits, "the scale of an axis", axis.scale, bound)?;
            if axis.scale != 1.0 && self.take_lines() {
                return Err(PositionError::config(
                    "an axis cannot have a scale where pairs have the frequencies of a line: text would be \
                     encoded otherwise than on a line",
                ));
            }
            if axis.base.is_some() && self.frequencies != AxisFrequencies::Own {
                return Err(PositionError::config(
                    "an axis can have a base of its own only where it has frequencies of its own",
                ));
            }
        }
        Ok(())
    }

    /// The number of pairs of every axis, for a rotation of `width` columns.
    ///
    /// # Errors
    ///
    /// Those of [`check`](Self::check), and [`PositionError::Number`] or
    /// [`Config`](PositionError::Config) when the columns of the axes are not `width` together.
    pub(crate) fn pairs(&self, width: usize) -> Result<Vec<usize>, PositionError> {
        self.check()?;
        let (count, unturned) = (self.count(), self.unturned);
        let fits = unturned.is_multiple_of(2) && unturned < width;
        let bound = "even, and less than the number of rotated columns";
        check_number(fits, "the number of columns left unturned", unturned, bound)?;
        let shared = width - unturned;
        if let PairOrder::Given(owners) = &self.order {
            return self.given_pairs(owners, shared);
        }
        match self
            .axes
            .iter()
            .filter(|axis| axis.columns.is_some())
            .count()
        {
            0 if shared.is_multiple_of(2 * count) => Ok(vec![shared / 2 / count; count]),
            0 => Err(PositionError::number(
                match unturned {
                    0 => "rotary_dim",
                    _ => "rotary_dim without the columns left unturned",
                },
                shared,
                format!(
                    "a multiple of {}, so that each of {count} axes has the same number of pairs",
                    2 * count
                ),
            )),
            given if given == count => {
                let columns = self.axes.iter().filter_map(|axis| axis.columns);
                // With frequencies of a line, an axis may get no columns.
                let least = match self.frequencies {
                    AxisFrequencies::Own => 2,
                    _ => 0,
                };
                let fits = |columns: &usize| *columns >= least && columns.is_multiple_of(2);
                if let Some(odd) = columns.clone().find(|columns| !fits(columns)) {
                    let name = "the number of columns of an axis";
                    let bound = format!("even and at least {least}");
                    return Err(PositionError::number(name, odd, bound));
                }
                let sum = columns.clone().fold(0, usize::saturating_add);
                match sum == shared {
                    true => Ok(columns.map(|columns| columns / 2).collect()),
                    false => Err(PositionError::number(
                        "the sum of the columns of all axes",
                        sum,
                        format!("{shared}, the number of columns that are rotated"),
                    )),
                }
            }
            given => Err(PositionError::config(format!(
                "{given} of {count} axes have a number of columns: give it for all of them or for none"
            ))),
        }
    }

    /// The number of pairs of every axis, where the axis of each pair is given.
    fn given_pairs(&self, owners: &[usize], columns: usize) -> Result<Vec<usize>, PositionError> {
        let count = self.count();
        if 2 * owners.len() != columns {
            return Err(PositionError::number(
                "the number of pairs that are given an axis",
                owners.len(),
                format!("half of {columns}, the number of columns that are rotated"),
            ));
        }
        let mut pairs = vec![0; count];
        for owner in owners {
            match pairs.get_mut(*owner) {
                Some(pairs) => *pairs += 1,
                None => {
                    let bound = format!("at most {}, for {count} axes", count - 1);
                    return Err(PositionError::number("the axis of a pair", *owner, bound));
                }
            }
        }
        for (i, (pairs, axis)) in pairs.iter().zip(self.axes.iter()).enumerate() {
            let is_short = *pairs == 0 && self.frequencies == AxisFrequencies::Own;
            if is_short || axis.columns.is_some_and(|columns| columns != 2 * pairs) {
                let columns = match axis.columns {
                    Some(columns) if !is_short => format!("{columns}"),
                    _ => "at least 2".into(),
                };
                let name = format!("the number of columns whose pairs are given axis {i}");
                return Err(PositionError::number(name, 2 * *pairs, columns));
            }
        }
        Ok(pairs)
    }

    /// The axis of every pair, by its index in the list of axes.
    pub(crate) fn owners(&self, pairs: &[usize]) -> Vec<usize> {
        match &self.order {
            PairOrder::Row => (0..pairs.len())
                .flat_map(|axis| core::iter::repeat_n(axis, pairs[axis]))
                .collect(),
            PairOrder::Dealt => dealt(pairs),
            PairOrder::Given(owners) => owners.clone(),
        }
    }

    /// What positions have to be, for errors.
    pub(crate) fn needs(&self) -> Cow<'static, str> {
        let count = self.count();
        match count {
            2 | 3 => format!("{}, or {}", grid(count), coordinates(count)).into(),
            _ => coordinates(count),
        }
    }

    /// Whether a grid has these axes.
    pub(crate) fn are_of(&self, grid: &Grid) -> bool {
        grid.axes() == self.count()
    }
}

/// A description of a grid, for errors.
pub(crate) fn grid(axes: usize) -> &'static str {
    match axes {
        2 => "a grid of height × width",
        _ => "a grid of frames × height × width",
    }
}

/// A description of coordinates, for errors.
pub(crate) fn coordinates(axes: usize) -> Cow<'static, str> {
    format!("coordinates of {axes} axes").into()
}

/// The axis of every pair, dealt in turn to the axes that do not have all their pairs yet.
pub(crate) fn dealt(pairs: &[usize]) -> Vec<usize> {
    let rounds = pairs.iter().copied().max().unwrap_or(0);
    (0..rounds)
        .flat_map(|round| (0..pairs.len()).filter(move |axis| round < pairs[*axis]))
        .collect()
}

#[cfg(test)]
mod tests;
