//! What the cells of a column are. A table is gone through once before its rows are read, and every question about its columns is
//! answered from that.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::BuildHasher;

use super::dates::Seen;
use super::error::{Problem, SHOWN};
use super::numbers::{finite, is_missing, is_no_number};
use super::quote::{column_called, shorten};
use crate::grouped::first_of;

/// A column repeats soon if one of its cells occurs again before this many different ones. Of a column with numbers that
/// are not whole, no more different cells than this are remembered.
const REMEMBERED: usize = 1_000;

/// A column with more than this share of cells that hold several words is a text.
const TEXT_SHARE: f64 = 0.1;

/// In a column of measurements, at most one cell in this many is no number.
const ODD: usize = 10;

/// With fewer cells than this, it says nothing that all of them are different.
const FEWEST_DIFFERENT: usize = 20;

/// The number that a cell holds, with a decimal comma or a decimal point.
pub(super) fn number(cell: &str, has_comma: bool) -> Option<f64> {
    match has_comma && cell.contains(',') {
        false => finite(cell),
        true if cell.contains('.') => None,
        true => finite(&with_point(cell)),
    }
}

/// A number with a decimal point in place of a decimal comma.
pub(super) fn with_point(cell: &str) -> String {
    cell.replacen(',', ".", 1)
}

/// A cell of a column whose numbers have decimal commas, if they do (`has_comma`), with a decimal point. A cell that has one stays as
/// it is: its comma is no decimal comma.
pub(super) fn pointed(cell: &str, has_comma: bool) -> Cow<'_, str> {
    match has_comma && !cell.contains('.') {
        true => with_point(cell).into(),
        false => cell.into(),
    }
}

/// Whether the numbers of a column rise by equal steps, as those of a clock do.
#[derive(Clone, Debug, Default)]
pub(super) struct Steady {
    cells: usize,
    last: f64,
    shortest: f64,
    longest: f64,
    /// The most digits after a decimal point or comma.
    digits: usize,
    /// Whether a cell is no number.
    has_words: bool,
}

impl Steady {
    fn add(&mut self, cell: &str, number: Option<f64>) {
        let Some(number) = number else {
            self.has_words = true;
            return;
        };
        let step = number - self.last;
        (self.shortest, self.longest) = match self.cells {
            0 => (f64::INFINITY, f64::NEG_INFINITY),
            _ => (self.shortest.min(step), self.longest.max(step)),
        };
        let after = cell.split_once(['.', ',']).map_or("", |(_, after)| after);
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
        // Without the errors in the last bits of the numbers.
        let decimals = 10_f64.powi(self.digits.min(15) as i32);
        let rounded = (longest * decimals).round() / decimals;
        let shown = if rounded > 0.0 { rounded } else { longest };
        (!self.has_words && self.cells > 2 && shortest > 0.0 && equal).then_some(shown)
    }
}

/// What is known about the cells of a column.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    name: String,
    /// The number of cells, of those that are not empty, and of those of them with a space inside.
    cells: usize,
    filled: usize,
    pub texts: usize,
    /// The number of cells that hold a number, of those whose number is not whole, and of those that say that it is
    /// missing.
    numbers: usize,
    pub fractions: usize,
    missing: usize,
    /// Whether a cell is the name of the column.
    pub has_name: bool,
    /// The hashes of its cells, until one occurs twice, and the number of different cells before that.
    different: HashSet<u64>,
    repeats: Option<usize>,
    // The fields below leave out missing cells. Times are looked for only in series, and in rows that can be read.
    pub dates: Seen,
    pub clock: Steady,
    with_point: usize,
    /// How many numbers have a comma, the first of them with its line, and whether one shows that its comma does not mark
    /// thousands: unless three digits follow it, and one to three digits without a leading 0 stand before it.
    with_comma: usize,
    comma: Option<(usize, String)>,
    beyond_threes: bool,
    /// How many cells are no numbers, the first of them with its line, and whether there is a different one.
    words: usize,
    /// How many of these say that a number is missing, as `-` does, which may also name a class.
    no_numbers: usize,
    word: Option<(usize, String)>,
    words_differ: bool,
}

impl Column {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_string(),
            ..Self::default()
        }
    }

    /// Looks at a cell. `is_series` says that it may be of a series and that its row can be read.
    pub fn add(&mut self, line: usize, cell: &str, is_series: bool) {
        self.cells += 1;
        if cell.is_empty() {
            return;
        }
        self.filled += 1;
        self.texts += usize::from(cell.contains(char::is_whitespace));
        self.has_name |= cell == self.name;
        let plain = finite(cell);
        self.numbers += usize::from(plain.is_some());
        self.fractions += usize::from(plain.is_some_and(|number| number.fract() != 0.0));
        if self.repeats.is_none() && (self.fractions == 0 || self.different.len() < REMEMBERED) {
            let hash = self.different.hasher().hash_one(cell);
            if !self.different.insert(hash) {
                self.repeats = Some(self.different.len());
                self.different = HashSet::new();
            }
        }
        if is_missing(cell) {
            self.missing += 1;
            return;
        }
        if is_series {
            self.dates.add(cell);
            self.clock.add(cell, plain.or_else(|| number(cell, true)));
        }
        self.add_present(line, cell, plain);
    }

    fn add_present(&mut self, line: usize, cell: &str, plain: Option<f64>) {
        let first = || Some((line, cell.to_string()));
        if plain.is_some() {
            self.with_point += usize::from(cell.contains('.'));
        } else if cell.contains(',') && number(cell, true).is_some() {
            self.with_comma += 1;
            self.comma = self.comma.take().or_else(first);
            let (before, after) = cell.split_once(',').unwrap_or((cell, ""));
            let before = before.trim_start_matches(['-', '+']);
            self.beyond_threes |=
                after.len() != 3 || !(1..=3).contains(&before.len()) || before.starts_with('0');
        } else {
            self.words += 1;
            self.no_numbers += usize::from(is_no_number(cell));
            self.word = self.word.take().or_else(first);
            self.words_differ |= self.word.as_ref().is_some_and(|(_, word)| word != cell);
        }
    }

    /// Whether more than a few of its cells hold several words.
    pub fn is_text(&self) -> bool {
        self.texts as f64 > TEXT_SHARE * self.filled as f64
    }

    /// Whether more than half of its cells that are not empty are numbers.
    pub fn is_mostly_numbers(&self) -> bool {
        2 * self.numbers > self.filled
    }

    /// Whether each cell that is not empty is a number, perhaps with a decimal comma, or says that it is missing.
    pub fn is_numbers_or_missing(&self) -> bool {
        self.filled - self.numbers - self.missing - self.no_numbers
            == if self.has_comma() { self.with_comma } else { 0 }
    }

    pub fn has_fractions(&self) -> bool {
        self.fractions > 0 || self.has_comma()
    }

    /// The first cell that is no number, with its line, where nearly all others are numbers and not all of them whole.
    pub fn odd_one(&self) -> Option<String> {
        let is_measured = self.has_fractions() && ODD * self.words <= self.filled;
        self.word().filter(|_| is_measured)
    }

    /// Whether one of its first cells occurs again.
    pub fn repeats_soon(&self) -> bool {
        self.repeats.is_some_and(|before| before < REMEMBERED)
    }

    /// Whether it has a different cell in each row, as the names of rows are. A number that is not whole names no row.
    pub fn is_all_different(&self) -> bool {
        let differ = self.repeats.is_none() && self.cells == self.filled;
        differ && !self.has_fractions() && self.filled >= FEWEST_DIFFERENT
    }

    /// Whether each of its times is later than the one before.
    pub fn goes_forward(&self) -> bool {
        match self.dates.is_numbers() {
            true => self.clock.shortest > 0.0,
            false => self.dates.goes_forward(),
        }
    }

    pub fn has_numbers(&self) -> bool {
        self.dates.numbers > 0 || self.with_comma > 0
    }

    pub fn has_comma(&self) -> bool {
        self.with_comma > 0 && self.with_point == 0
    }

    /// The first number with a decimal comma, and whether the commas of all numbers may as well mark thousands.
    pub fn comma(&self) -> Option<(&(usize, String), bool)> {
        let comma = self.comma.as_ref().filter(|_| self.has_comma());
        comma.map(|comma| (comma, !self.beyond_threes))
    }

    /// Whether it holds the names of classes: no numbers, or several words and fewer numbers. A single word among numbers, such
    /// as `-`, stands for a missing number however often it occurs.
    pub fn is_classes(&self) -> bool {
        let numbers = self.dates.numbers + self.with_comma;
        self.words > 0 && (numbers == 0 || (self.words_differ && numbers < self.words))
    }

    /// The first cell that is no number, with its line.
    pub fn word(&self) -> Option<String> {
        let (line, word) = self.word.as_ref()?;
        Some(format!("{} in line {line}", shorten(word)))
    }
}

/// What is to be said of columns that are read with decimal commas. Where the file before has such commas (`are_known`), it tells
/// what they are.
///
/// # Errors
///
/// [`Problem::Other`] where the comma of each number may as well mark thousands, and nothing tells.
pub(super) fn decimal_commas(
    names: &[String],
    columns: &[Column],
    read: &[usize],
    are_known: bool,
) -> Result<Option<String>, Problem> {
    let commas = read
        .iter()
        .filter_map(|at| Some((*at, columns[*at].comma()?)));
    let commas: Vec<_> = commas.collect();
    let Some((at, ((line, cell), _))) = commas.first() else {
        return Ok(None);
    };
    let mut all = commas.iter();
    if !are_known && all.all(|(_, (_, may_be_thousands))| *may_be_thousands) {
        return Err(Problem::Other(format!(
            "line {line}: {} is {}, whose comma may be a decimal comma or mark thousands, and no other number tells; write numbers \
             with a decimal point and without marks of thousands",
            column_called(&names[*at]),
            shorten(cell)
        )));
    }
    let named = commas.iter().map(|(at, _)| column_called(&names[*at]));
    Ok(Some(format!(
        "numbers with decimal commas, such as {} in line {line}: in {}",
        shorten(cell),
        first_of(named, SHOWN)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_steps_are_a_clock_and_others_are_none() {
        let step = |cells: &[&str]| {
            let mut steady = Steady::default();
            cells.iter().for_each(|cell| steady.add(cell, finite(cell)));
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
