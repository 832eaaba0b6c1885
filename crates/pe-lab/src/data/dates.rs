//! Times as a column writes them: numbers, or dates.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use chrono::{Datelike, Month, NaiveDate};

use super::numbers::finite;
use super::quote::shorten;

/// Formats of dates that a message names.
pub(super) const SUCH_AS: &str =
    "2024-05-17, 2024-05-17T12:30+02:00, 2024/05/17, 17-May-2024 or 2024 Q2";

/// The most bytes of a date.
const LONGEST: usize = 64;

/// In a column of dates, at most one cell in this many is something else.
const MOST: usize = 10;

/// How a column writes its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    Numbers,
    /// Dates that say themselves which part is the month.
    Dates,
    /// Year, month and day.
    EightDigits,
    /// Dates such as `17/5/2024`.
    DayFirst,
    /// Dates such as `5/17/2024`.
    MonthFirst,
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Numbers => "numbers",
            Self::Dates => "dates",
            Self::EightDigits => "dates of eight digits: year, month and day",
            Self::DayFirst => "dates, the day before the month",
            Self::MonthFirst => "dates, the month before the day",
        })
    }
}

impl Clock {
    pub fn is_dates(self) -> bool {
        self != Self::Numbers
    }

    /// The time that a cell holds: a number as it is, a date in days since 1970-01-01 (UTC where it has a zone). A month or a quarter is its
    /// first day. `None` for anything else.
    pub fn parse(self, cell: &str) -> Option<f64> {
        match self {
            Self::Numbers => finite(cell),
            Self::EightDigits => {
                let digits = Some(cell).filter(|cell| cell.len() == 8 && cell.is_ascii())?;
                let (year, rest) = digits.split_at(4);
                let (month, day) = rest.split_at(2);
                day_of(year, month, day)
            }
            Self::Dates | Self::DayFirst | Self::MonthFirst => {
                date(cell, self == Self::MonthFirst).map(|date| date.0)
            }
        }
    }

    /// A step between two times, in words.
    pub fn step(self, step: f64) -> String {
        if !self.is_dates() {
            return format!("{step:.9e}").parse().unwrap_or(step).to_string();
        }
        let units = [(1.0, "day"), (24.0, "hour"), (1_440.0, "minute")];
        let fits = units
            .into_iter()
            .find(|(in_a_day, _)| step * in_a_day > 0.999);
        let (in_a_day, unit) = fits.unwrap_or((86_400.0, "second"));
        let count = (step * in_a_day * 1e3).round() / 1e3;
        format!("{count} {unit}{}", if count == 1.0 { "" } else { "s" })
    }
}

/// What the dates of a column are, read in one order of day and month.
#[derive(Clone, Debug, Default)]
struct Order {
    dates: usize,
    last: f64,
    /// Whether a date is not later than the one before.
    goes_back: bool,
    /// Whether a date is not the first of a month.
    is_within_months: bool,
    /// A date that is none in the other order.
    only: Option<String>,
}

impl Order {
    fn add(&mut self, date: f64) {
        self.goes_back |= self.dates > 0 && date <= self.last;
        let day = NaiveDate::from_epoch_days(date.floor() as i32);
        self.is_within_months |= day.is_none_or(|day| day.day() != 1);
        (self.dates, self.last) = (self.dates + 1, date);
    }
}

/// What the cells of a column are, to tell how it writes times.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    cells: usize,
    pub numbers: usize,
    eight_digits: usize,
    /// The dates of the column, read with the day before the month, and with the month before the day.
    orders: [Order; 2],
    /// A date that is another one in the other order.
    either: Option<String>,
    /// The first cell that is neither a number nor a date.
    pub other: Option<String>,
}

impl Seen {
    /// Looks at a cell that is not missing.
    pub fn add(&mut self, cell: &str) {
        self.cells += 1;
        if finite(cell).is_some() {
            self.numbers += 1;
            self.eight_digits += usize::from(Clock::EightDigits.parse(cell).is_some());
            return;
        }
        let both = [date(cell, false), date(cell, true)];
        let tells = both[0].is_some() != both[1].is_some();
        for (order, date) in self.orders.iter_mut().zip(&both) {
            let Some((date, _)) = date else { continue };
            order.add(*date);
            if tells && order.only.is_none() {
                order.only = Some(cell.to_string());
            }
        }
        if let ([None, None], None) = (&both, &self.other) {
            self.other = Some(cell.to_string());
        }
        if let ([Some((_, true)), _] | [_, Some((_, true))], None) = (&both, &self.either) {
            self.either = Some(cell.to_string());
        }
    }

    pub fn is_dates(&self) -> bool {
        self.cells > 0 && self.dates().max(self.eight_digits) == self.cells
    }

    fn dates(&self) -> usize {
        self.orders[0].dates.max(self.orders[1].dates)
    }

    /// Whether each date is later than the one before, in one order of day and month.
    pub fn goes_forward(&self) -> bool {
        let mut orders = self.orders.iter();
        orders.any(|order| order.dates == self.dates() && !order.goes_back)
    }

    /// Whether every cell is a date, or so many are that the others are mistakes, such as a line of words at the end. Of dates of
    /// eight digits, which may be other numbers, every cell has to be one.
    pub fn is_mostly_dates(&self) -> bool {
        let dates = self.dates();
        self.is_dates() || (dates > 0 && MOST * (self.cells - dates) <= self.cells)
    }

    /// Whether there are no cells, or all of them are missing.
    pub fn is_empty(&self) -> bool {
        self.cells == 0
    }

    pub fn is_numbers(&self) -> bool {
        self.cells > 0 && self.numbers == self.cells
    }

    /// How the column writes times: as most of its cells do. Where dates may begin with the day or with the month, the order is that of
    /// `known`, as the file before writes times; without one, that in which times go forward, or in which each is the first of a month.
    /// `None` if no cell is a time.
    ///
    /// # Errors
    ///
    /// With what the dates are, where nothing tells what they begin with, or where they can only be read in the other order than
    /// `known`.
    pub fn clock(&self, known: Option<Clock>) -> Result<Option<Clock>, String> {
        if self.numbers > self.dates() {
            return Ok(Some(match self.eight_digits == self.numbers {
                true => Clock::EightDigits,
                false => Clock::Numbers,
            }));
        }
        let Some(date) = &self.either else {
            return Ok((self.dates() > 0).then_some(Clock::Dates));
        };
        if let Some(known @ (Clock::DayFirst | Clock::MonthFirst)) = known {
            return self.in_order(known).map(Some);
        }
        let [day_first, month_first] = &self.orders;
        let rank = |order: &Order| (order.dates, !order.goes_back, !order.is_within_months);
        match rank(day_first).cmp(&rank(month_first)) {
            Ordering::Greater => Ok(Some(Clock::DayFirst)),
            Ordering::Less => Ok(Some(Clock::MonthFirst)),
            Ordering::Equal => Err(format!(
                "dates such as {}, which may begin with the day or with the month, and no other date tells; write the year first, such \
                 as 2024-05-17",
                shorten(date)
            )),
        }
    }

    /// The order of the file before, unless more of these dates can be read in the other one.
    fn in_order(&self, known: Clock) -> Result<Clock, String> {
        let [day_first, month_first] = &self.orders;
        let (same, other, parts) = match known {
            Clock::MonthFirst => (month_first, day_first, ["day", "month"]),
            _ => (day_first, month_first, ["month", "day"]),
        };
        let [first, second] = parts;
        match &other.only {
            Some(date) if other.dates > same.dates => Err(format!(
                "dates such as {}, the {first} before the {second}, and the file that was trained on has dates with the {second} before \
                 the {first}; write the year first, such as 2024-05-17",
                shorten(date)
            )),
            _ => Ok(known),
        }
    }
}

/// A date in days since 1970-01-01, with or without a clock, and whether it is another date if day and month change places.
fn date(cell: &str, month_first: bool) -> Option<(f64, bool)> {
    // Most cells that are no numbers are words, which is seen without taking them apart.
    if cell.len() > LONGEST || !cell.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // The clock begins behind the last `T` or space before its first colon.
    let colon = cell.find(':').unwrap_or(0);
    let (date, clock) = match cell[..colon].rfind(['T', ' ']) {
        Some(at) => (cell[..at].trim_end(), Some(&cell[at + 1..])),
        None => (cell, None),
    };
    let date = match date.contains(", ") {
        true => Cow::from(date.replace(", ", " ")),
        false => Cow::from(date),
    };
    // One field more than any date has.
    let (mut fields, mut count) = ([""; 4], 0);
    for field in date.split(['-', '/', '.', ' ']).take(fields.len()) {
        fields[count] = field;
        count += 1;
    }
    let is_year = |text: &str| digits(text, 4..=4).is_some();
    let mut is_either = false;
    let day = match fields[..count] {
        [year, month, day] if is_year(year) => day_of(year, month, day),
        [first, second, year] if digits(first, 1..=2).is_none() => day_of(year, first, second),
        [first, second, year] if digits(second, 1..=2).is_none() || date.contains('.') => {
            day_of(year, second, first)
        }
        [first, second, year] => {
            is_either = first != second;
            match month_first {
                true => day_of(year, first, second),
                false => day_of(year, second, first),
            }
        }
        _ if clock.is_some() => None,
        [year, part] if is_year(year) => month_or_quarter(year, part),
        [part, year] => month_or_quarter(year, part),
        [both] => {
            let (year, part) = both.split_at_checked(4)?;
            match part.strip_prefix(['M', 'm']) {
                Some(month) => day_of(year, &digits(month, 1..=2)?.to_string(), "1"),
                None if part.starts_with(['Q', 'q']) => month_or_quarter(year, part),
                None => None,
            }
        }
        _ => None,
    };
    let seconds = clock.map_or(Some(0.0), seconds)?;
    Some((day? + seconds / 86_400.0, is_either))
}

/// The first day of a month or of a quarter.
fn month_or_quarter(year: &str, part: &str) -> Option<f64> {
    match part.strip_prefix(['Q', 'q']) {
        Some(quarter) => {
            let quarter = digits(quarter, 1..=1).filter(|quarter| (1..=4).contains(quarter))?;
            day_of(year, &(3 * quarter - 2).to_string(), "1")
        }
        None => day_of(year, part, "1"),
    }
}

/// A day of the Gregorian calendar, counted from 1970-01-01.
fn day_of(year: &str, month: &str, day: &str) -> Option<f64> {
    let (year, day) = (digits(year, 4..=4)?, digits(day, 1..=2)?);
    let is_named = |number: &u32| {
        let name = Month::try_from(*number as u8).map_or("", |month| month.name());
        let begin = name.get(..month.len()).filter(|begin| begin.len() >= 3);
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(month))
    };
    let month = digits(month, 1..=2).or_else(|| (1..=12).find(is_named))?;
    let date = NaiveDate::from_ymd_opt(year as i32, month, day)?;
    Some(f64::from(date.to_epoch_days()))
}

/// A number with this many digits.
fn digits(text: &str, count: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let all = count.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

/// The seconds since midnight in UTC that a clock shows, such as `12:30`, `12:30:15.5`, `12:30Z` or `12:30+02:00`.
fn seconds(clock: &str) -> Option<f64> {
    let end = clock.find(['Z', '+', '-', ' ']).unwrap_or(clock.len());
    let (clock, zone) = clock.split_at(end);
    let mut parts = clock.splitn(3, ':');
    let hour = digits(parts.next()?, 1..=2)?;
    let minute = digits(parts.next()?, 2..=2)?;
    let second = match parts.next() {
        None => 0.0,
        Some(second) => {
            digits(second.split('.').next()?, 2..=2)?;
            second.parse::<f64>().ok().filter(|second| *second < 60.0)?
        }
    };
    let is_clock = hour < 24 && minute < 60;
    let since_midnight = f64::from(hour * 3_600 + minute * 60) + second;
    is_clock.then_some(since_midnight - ahead(zone.trim())?)
}

/// The seconds by which the clocks of a zone are ahead of UTC.
fn ahead(zone: &str) -> Option<f64> {
    if ["", "Z", "UTC", "GMT"].contains(&zone) {
        return Some(0.0);
    }
    let (sign, time) = match zone.strip_prefix('+') {
        Some(time) => (1.0, time),
        None => (-1.0, zone.strip_prefix('-')?),
    };
    let time = time.replacen(':', "", 1);
    let (hours, minutes) = match time.len() {
        2 => (digits(&time, 2..=2)?, 0),
        _ => {
            let both = digits(&time, 4..=4)?;
            (both / 100, both % 100)
        }
    };
    (hours < 24 && minutes < 60).then_some(sign * f64::from(hours * 3_600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::{Says, rows};

    /// Days, and how they are written. By Python: (datetime.date(...) - datetime.date(1970, 1, 1)).days
    const DATES: &str = "
        0        | 1970-01-01; 1970-01-01 06:00:00+06:00; 1970 Q1
        -1       | 1969-12-31
        -4324    | 1958-03
        11016    | 2000-02-29
        20088    | 2024-12-31
        -25508   | 1900-03-01
        -719162  | 0001-01-01
        1.5      | 1970-01-02T12:00
        0.25     | 1970-01-01 06:00:00Z; 1970-01-01 06:00:00+00:00; 1970-01-01 06:00 UTC; 1970-01-01 6:00
        0.00025  | 1970-01-01T00:00:21.6
        0.5      | 1970-01-01T06:00:00.000-0600; 1970-01-01T06:00-06
        14610    | 2010/01/01 00:00
        15340    | 2012/01/01; 2012/1/1
        9131     | Jan-1-1995; 1-Jan-1995; 1 January 1995; January 1, 1995; Jan 1995; 1995-Jan; 01/1995; 1995M01
        9374     | Sept 1 1995
        31       | 01.02.1970
        90       | 1970Q2
        181      | 1970-Q3
        273      | Q4 1970
        59       | 1970 3
    ";

    const NO_DATES: &str = "; x; 17; 2023-02-29; 1900-02-29; 2023-13-01; 2023-00-01; 2023-04-31; 23-04-01; 2023-04-01T24:00; \
        2023-04-01T12; 2023-04T12:00; 2023-04-01-05; 2023--04; inf; 2023-04-01T12:00:61; 2023-04-01T12:00:00+2; \
        2023-04-01T12:00:00+02:60; Ja-1-1995; Jan-32-1995; 1970 Q5; 1995M13; 1995M; 1970 Q; Q1; :;  :; T:0; é:é; 2023-04-01T:00";

    #[test]
    fn dates_are_days_since_1970() {
        for [days, cells] in rows(DATES) {
            for cell in cells.split("; ") {
                let parsed = Clock::Dates.parse(cell);
                let parsed = parsed.unwrap_or_else(|| panic!("{cell}"));
                let days: f64 = days.parse().unwrap();
                assert!((parsed - days).abs() < 1e-12, "{cell}: {parsed}");
            }
        }
        for wrong in NO_DATES.split("; ") {
            assert_eq!(Clock::Dates.parse(wrong), None, "{wrong}");
        }
        let numbers = ["17", "-1.5e2", "2024", "inf", "NaN", "2024-01"];
        let numbers = numbers.map(|cell| Clock::Numbers.parse(cell));
        let some = [17.0, -150.0, 2024.0].map(Some);
        assert_eq!(numbers[..], [&some[..], &[None; 3]].concat());
    }

    #[test]
    fn a_column_says_how_it_writes_times() {
        let seen = |cells: &[&str]| {
            let mut seen = Seen::default();
            cells.iter().for_each(|cell| seen.add(cell));
            seen
        };
        for [cells, clock, is_dates] in rows(
            "
            1; 2; 3                         | Some(Numbers)     | false
            20240131; 20240201              | Some(EightDigits) | true
            20240131; 20240232              | Some(Numbers)     | false
            20240131; 2024020               | Some(Numbers)     | false
            20240131; soon                  | Some(EightDigits) | false
            2024-01-31; 2024-02-01          | Some(Dates)       | true
            2024-01-31; 7; 2024-02-01       | Some(Dates)       | false
            12/01/2024; 13/01/2024          | Some(DayFirst)    | true
            01/12/2024; 01/13/2024          | Some(MonthFirst)  | true
            12.01.2024; 11.01.2024          | Some(Dates)       | true
            05/01/2024; 01/02/2024          | Some(DayFirst)    | true
            01/05/2024; 02/01/2024          | Some(MonthFirst)  | true
            1/1/2024; 2/1/2024; 3/1/2024    | Some(MonthFirst)  | true
            1/11/2024; 1/12/2024; 1/1/2025  | Some(DayFirst)    | true
            soon; later                     | None              | false
            ",
        ) {
            // In one order alone times go forward, or are the first of each month.
            let seen = seen(&cells.split("; ").collect::<Vec<_>>());
            assert_eq!(format!("{:?}", seen.clock(None).unwrap()), clock, "{cells}");
            assert_eq!(seen.is_dates().to_string(), is_dates, "{cells}");
        }
        assert_eq!(
            (seen(&[]).clock(None), seen(&[]).is_dates()),
            (Ok(None), false)
        );
        let mut most = vec!["2024-01-31"; 9];
        most.push("Source: the office");
        assert!(seen(&most).is_mostly_dates() && !seen(&most).is_dates());
        most[0] = "7";
        assert!(!seen(&most).is_mostly_dates());
        let either = seen(&["02/03/2024", "03/04/2024"]).clock(None);
        either
            .unwrap_err()
            .says("dates such as `02/03/2024`, which may begin with the day");
        assert!(!seen(&["2024-02", "2024-02"]).goes_forward());
        assert_eq!(Clock::DayFirst.parse("01/02/1970"), Some(31.0));
        assert_eq!(Clock::MonthFirst.parse("01/02/1970"), Some(1.0));
        assert_eq!(Clock::EightDigits.parse("19700102"), Some(1.0));
        assert_eq!(Clock::EightDigits.parse("1970012é"), None);
    }

    #[test]
    fn a_file_that_is_read_after_another_has_its_order_of_day_and_month() {
        for [known, cells, clock] in rows(
            "
            MonthFirst | 01/02/2024; 01/03/2024 | MonthFirst
            DayFirst   | 01/02/2024; 01/03/2024 | DayFirst
            MonthFirst | 05/01/2024; 01/02/2024 | MonthFirst
            DayFirst   | 2024-01-31; 2024-02-01 | Dates
            DayFirst   | 20240131; 20240201     | EightDigits
            MonthFirst | 1; 2                   | Numbers
            Dates      | 01/12/2024; 01/13/2024 | MonthFirst
            ",
        ) {
            let mut seen = Seen::default();
            cells.split("; ").for_each(|cell| seen.add(cell));
            let mut clocks = [Clock::Dates, Clock::DayFirst, Clock::MonthFirst].into_iter();
            let known = clocks.find(|clock| format!("{clock:?}") == known);
            let found = seen.clock(known).unwrap().unwrap();
            assert_eq!(format!("{found:?}"), clock, "{cells}");
        }
        let mut seen = Seen::default();
        for cell in ["12/01/2024", "13/01/2024", "2024-02-01"] {
            seen.add(cell);
        }
        assert_eq!(seen.clock(Some(Clock::DayFirst)), Ok(Some(Clock::DayFirst)));
        seen.clock(Some(Clock::MonthFirst)).unwrap_err().says(
            "dates such as `13/01/2024`, the day before the month, and the file that was trained on has dates with the month before the day",
        );
    }

    #[test]
    fn a_step_is_told_in_its_unit() {
        for (days, text) in [
            (7.0, "7 days"),
            (1.0, "1 day"),
            (1.0 / 24.0, "1 hour"),
            (1.5, "1.5 days"),
            (1.0 / 96.0, "15 minutes"),
            (1e-4, "8.64 seconds"),
        ] {
            assert_eq!(Clock::Dates.step(days), text);
        }
        assert_eq!(Clock::Numbers.step(0.08300000000008367), "0.083");
    }
}
