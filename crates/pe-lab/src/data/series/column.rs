//! What the cells of a column of a series are.

use super::super::dates::Seen;
use super::super::numbers::{finite, is_missing};
use super::super::quote::shorten;

/// The number that a cell holds, with a decimal comma or a decimal point.
pub(super) fn number(cell: &str, has_comma: bool) -> Option<f64> {
    match has_comma && cell.contains(',') {
        false => finite(cell),
        true if cell.contains('.') => None,
        true => finite(&cell.replacen(',', ".", 1)),
    }
}

/// Whether the numbers of a column rise by equal steps, as those of a clock do.
#[derive(Clone, Debug, Default)]
pub(super) struct Steady {
    cells: usize,
    last: f64,
    shortest: f64,
    longest: f64,
    /// The most digits after a decimal point.
    digits: usize,
    /// Whether a cell is no number.
    has_words: bool,
}

impl Steady {
    fn add(&mut self, cell: &str) {
        let Some(number) = number(cell, false) else {
            self.has_words = true;
            return;
        };
        let step = number - self.last;
        (self.shortest, self.longest) = match self.cells {
            0 => (f64::INFINITY, f64::NEG_INFINITY),
            _ => (self.shortest.min(step), self.longest.max(step)),
        };
        let after = cell.split_once('.').map_or("", |(_, after)| after);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        (self.cells, self.last, self.digits) = (self.cells + 1, number, self.digits.max(digits));
    }

    /// The step, if it is the same between all cells. Where numbers were rounded to some decimals, as months in parts of a year are
    /// (1949.08, 1949.17, 1949.25), it may differ by one in the last of them, unless that is much of the step.
    pub fn step(&self) -> Option<f64> {
        let rounding = match self.digits {
            0 => 0.0,
            digits => 10_f64.powi(-(digits.min(15) as i32)),
        };
        let (shortest, longest) = (self.shortest, self.longest);
        let slack = match shortest >= 4.0 * rounding {
            true => rounding,
            false => 0.0,
        };
        let equal = longest - shortest <= slack + 1e-6 * shortest;
        // Without what the last bits of the numbers add.
        let decimals = 10_f64.powi(self.digits.min(15) as i32);
        let rounded = (longest * decimals).round() / decimals;
        let shown = if rounded > 0.0 { rounded } else { longest };
        (!self.has_words && self.cells > 2 && shortest > 0.0 && equal).then_some(shown)
    }
}

/// What the cells of a column are, but for those that are missing.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    /// Numbers as programs write them, and how many of them have a decimal point.
    plain: usize,
    with_point: usize,
    /// Numbers with a comma in them, and one of them. In threes if three digits follow the comma of each, as they do if it marks
    /// thousands.
    with_comma: usize,
    comma: Option<(usize, String)>,
    beyond_threes: bool,
    /// Cells that are no numbers, the first with its line, and whether there is a different one.
    words: usize,
    word: Option<(usize, String)>,
    words_differ: bool,
    pub dates: Seen,
    pub clock: Steady,
}

impl Column {
    pub fn add(&mut self, line: usize, cell: &str) {
        if is_missing(cell) {
            return;
        }
        self.dates.add(cell);
        self.clock.add(cell);
        let first = || Some((line, cell.to_string()));
        if number(cell, false).is_some() {
            self.plain += 1;
            self.with_point += usize::from(cell.contains('.'));
        } else if number(cell, true).is_some() {
            self.with_comma += 1;
            self.comma = self.comma.take().or_else(first);
            let (before, after) = cell.split_once(',').unwrap_or((cell, ""));
            let before = before.trim_start_matches(['-', '+']).len();
            self.beyond_threes |= after.len() != 3 || !(1..=3).contains(&before);
        } else {
            self.words += 1;
            self.word = self.word.take().or_else(first);
            self.words_differ |= self.word.as_ref().is_some_and(|(_, word)| word != cell);
        }
    }

    /// Whether it holds any number.
    pub fn has_numbers(&self) -> bool {
        self.plain + self.with_comma > 0
    }

    /// Whether its numbers have decimal commas.
    pub fn has_comma(&self) -> bool {
        self.with_comma > 0 && self.with_point == 0
    }

    /// A number with a comma, and whether none shows that the comma does not mark thousands.
    pub fn comma(&self) -> Option<(&(usize, String), bool)> {
        let comma = self.comma.as_ref().filter(|_| self.has_comma());
        comma.map(|comma| (comma, !self.beyond_threes))
    }

    /// Whether it holds the names of classes: no numbers, or several words and fewer numbers. A single word among numbers, such
    /// as `-`, stands for a missing number however often it occurs.
    pub fn is_classes(&self) -> bool {
        let numbers = self.plain + self.with_comma;
        self.words > 0 && (numbers == 0 || (self.words_differ && numbers < self.words))
    }

    /// The first cell that is no number, with its line.
    pub fn word(&self) -> Option<String> {
        let (line, word) = self.word.as_ref()?;
        Some(format!("{} in line {line}", shorten(word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_steps_are_a_clock_and_others_are_none() {
        let step = |cells: &[&str]| {
            let mut steady = Steady::default();
            cells.iter().for_each(|cell| steady.add(cell));
            steady.step()
        };
        assert_eq!(step(&["0", "1", "2", "3"]), Some(1.0));
        assert_eq!(step(&["-5", "0", "5"]), Some(5.0));
        assert_eq!(step(&["0.1", "0.2", "0.3", "0.4"]), Some(0.1));
        assert_eq!(
            step(&["1949.00", "1949.08", "1949.17", "1949.25"]),
            Some(0.09)
        );
        for none in [
            &["0", "1"][..],
            &["0", "1", "3"],
            &["3", "2", "1"],
            &["1", "1", "1"],
            &["0.1", "0.2", "0.4"],
            &["1", "2", "three"],
            &["1", "three", "2", "3"],
            &[],
        ] {
            assert_eq!(step(none), None, "{none:?}");
        }
    }
}
