//! An axis: its ends, its labels, its name.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use super::unit::LABEL;
use crate::grouped::grouped;

/// How far outside of an axis something is drawn, in lengths of the axis. A dashed line to a loss of 1e308 would have
/// more dashes than there is memory for.
const FARTHEST: f64 = 20.0;

/// An axis: its name with its unit, its two ends, and its labels.
#[derive(Clone)]
pub(crate) struct Axis {
    pub name: String,
    pub from: f64,
    pub to: f64,
    /// The labels, each with its value.
    pub ticks: Vec<(f64, String)>,
}

/// The side of a chart on which its vertical axis is labelled.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Side {
    Left,
    Right,
}

impl Axis {
    /// An axis without a name and without labels.
    pub fn bare(from: f64, to: f64) -> Self {
        Self {
            name: String::new(),
            from,
            to,
            ticks: Vec::new(),
        }
    }

    /// An axis of real numbers with at most `most` labels, at round numbers.
    pub fn round(name: &str, ends: Range<f64>, most: usize) -> Self {
        Self {
            name: name.to_string(),
            from: ends.start,
            to: ends.end,
            ticks: round_ticks(ends, most),
        }
    }

    /// An axis of the `count` whole numbers from `first` on. It goes from 0 to `to`, and `first` lies at
    /// `place`.
    pub fn counted(name: &str, (first, count): (usize, usize), to: f64, place: f64) -> Self {
        Self {
            name: name.to_string(),
            from: 0.0,
            to,
            ticks: counted(first, count, 9)
                .into_iter()
                .map(|number| ((number - first) as f64 + place, grouped(number, ',')))
                .collect(),
        }
    }

    /// An axis of values in \[−1, 1\].
    pub fn unit(name: &str, margin: f64) -> Self {
        let ticks = [
            (-1.0, "−1.0"),
            (-0.5, "−0.5"),
            (0.0, "0.0"),
            (0.5, "0.5"),
            (1.0, "1.0"),
        ];
        Self {
            name: name.to_string(),
            from: -1.0 - margin,
            to: 1.0 + margin,
            ticks: ticks.map(|(value, label)| (value, label.into())).to_vec(),
        }
    }

    /// An axis of rows with names, the first on top. A row is as high as 1, and its label lies in its middle.
    pub fn rows(names: impl ExactSizeIterator<Item = String>) -> Self {
        let to = names.len() as f64;
        let ticks = names.enumerate();
        Self {
            ticks: ticks
                .map(|(nth, name)| (to - nth as f64 - 0.5, name))
                .collect(),
            ..Self::bare(0.0, to)
        }
    }

    /// This axis with fewer labels, if they would touch on a horizontal axis of `width` pixels.
    pub fn horizontal(mut self, width: i32) -> Self {
        let room = (width / (label_width(&self.ticks) + 14)).max(1) as usize;
        let keep = self.ticks.len().div_ceil(room).max(1);
        self.ticks = self.ticks.into_iter().step_by(keep).collect();
        self
    }

    /// The width that the labels and the name take beside a vertical axis.
    pub fn margin(&self) -> i32 {
        label_width(&self.ticks) + if self.name.is_empty() { 14 } else { 36 }
    }

    /// Where a value lies on an axis that is drawn from pixel `start` to pixel `end`.
    pub fn place(&self, value: f64, (start, end): (i32, i32)) -> i32 {
        let along = (value - self.from) / (self.to - self.from);
        // A line to a value far outside of the axis leaves the chart, and is drawn no further.
        let along = along.clamp(-FARTHEST, FARTHEST);
        start + (along * f64::from(end - start)).round() as i32
    }
}

/// `plotters` asks the axis where its values lie and what its labels are.
impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limits: (i32, i32)) -> i32 {
        self.place(*value, limits)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.iter().map(|tick| tick.0).collect()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|tick| tick.0 == *value);
        tick.map(|tick| tick.1.clone()).unwrap_or_default()
    }
}

/// The width of the widest label, in pixels.
pub(crate) fn label_width(ticks: &[(f64, String)]) -> i32 {
    let longest = ticks.iter().map(|tick| tick.1.chars().count()).max();
    longest.unwrap_or(0) as i32 * LABEL * 62 / 100
}

/// Multiples of 1, 2 or 5 times a power of ten between two ends: the closest together of which there
/// are at most `most`. Each has as many decimals as its step.
fn round_ticks(ends: Range<f64>, most: usize) -> Vec<(f64, String)> {
    let steps = (-9..=18).flat_map(|power| [1, 2, 5].map(|digit| (digit, power)));
    for (digit, power) in steps {
        // Dividing keeps 0.2 what it is; multiplying by 0.1 would not.
        let value = |n: i64| match power {
            0.. => (n * digit) as f64 * 10_f64.powi(power),
            _ => (n * digit) as f64 / 10_f64.powi(-power),
        };
        let step = value(1);
        let first = (ends.start / step - 1e-9).ceil();
        let last = (ends.end / step + 1e-9).floor();
        if last - first + 1.0 <= most as f64 {
            let decimals = (-power).max(0) as usize;
            let label = |value: f64| match decimals {
                0 if value >= 0.0 => grouped(value as usize, ','),
                _ => format!("{value:.decimals$}").replace('-', "−"),
            };
            return (first as i64..=last as i64)
                .map(|n| (value(n), label(value(n))))
                .collect();
        }
    }
    Vec::new()
}

/// Multiples of 1, 2 or 5 times a power of ten among the `count` whole numbers from `first` on, at most
/// `most` of them. If there is none, the first number alone.
fn counted(first: usize, count: usize, most: usize) -> Vec<usize> {
    let steps = (0..19).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_usize.pow(power)));
    let among = |step: usize| {
        let start = first.div_ceil(step) * step;
        (start..first + count).step_by(step)
    };
    for step in steps {
        if among(step).count() <= most {
            let found: Vec<usize> = among(step).collect();
            return if found.is_empty() { vec![first] } else { found };
        }
    }
    vec![first]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_labelled_at_round_ones() {
        assert_eq!(counted(0, 100, 9), [0, 20, 40, 60, 80]);
        assert_eq!(counted(7, 9, 9), [7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(counted(7, 10, 9), [8, 10, 12, 14, 16]);
        assert_eq!(counted(11, 4, 1), [11]); // two multiples of 2, none of 5
        let far = pe_burn::MAX_POSITION;
        assert_eq!(counted(far, 1, 9), [far]);
    }

    #[test]
    fn what_is_far_outside_of_an_axis_is_drawn_a_little_outside() {
        let axis = Axis::bare(0.0, 2.0);
        assert_eq!(axis.place(1.0, (100, 300)), 200);
        assert_eq!(axis.place(-1.0, (100, 300)), 0);
        for (value, place) in [(1e308, 4_100), (-1e308, -3_900), (f64::INFINITY, 4_100)] {
            assert_eq!(axis.place(value, (100, 300)), place);
        }
    }

    #[test]
    fn real_numbers_are_labelled_at_round_ones() {
        for (ends, most, labels) in [
            (0.0..1.04, 6, "0.0 0.2 0.4 0.6 0.8 1.0"),
            (0.0..2500.0, 6, "0 500 1,000 1,500 2,000 2,500"),
            (0.0..0.045, 6, "0.00 0.01 0.02 0.03 0.04"),
            (-1.0..1.0, 3, "−1 0 1"),
        ] {
            let ticks = round_ticks(ends, most).into_iter();
            assert_eq!(
                ticks.map(|tick| tick.1).collect::<Vec<_>>().join(" "),
                labels
            );
        }
        assert_eq!(round_ticks(0.0..1.04, 6)[3].0, 0.6);
    }

    #[test]
    fn labels_that_would_touch_are_left_out() {
        let axis = || Axis::counted("position", (1_000_000, 90), 90.0, 0.5);
        let labels = axis().horizontal(2_000).ticks;
        assert_eq!(labels.len(), 9);
        assert_eq!(labels[1], (10.5, "1,000,010".to_string()));
        let few = axis().horizontal(300).ticks;
        let apart = (few[1].0 - few[0].0) / 90.0 * 300.0;
        assert!(apart > f64::from(label_width(&few)), "{apart}");
        assert_eq!(axis().horizontal(1).ticks.len(), 1);
    }
}
