//! Times as a column writes them: numbers, or dates.

/// The time that a cell holds: a number as it is, or a date (`2024-05`, `2024-05-17`, with `T` or a space
/// `12:30`, `12:30:15` or `12:30:15.5` and perhaps `Z` after it) in days since 1970-01-01. A month is its first
/// day. `None` for anything else.
pub(super) fn parse(cell: &str) -> Option<f64> {
    if let Ok(number) = cell.parse::<f64>() {
        return number.is_finite().then_some(number);
    }
    let cell = cell.strip_suffix('Z').unwrap_or(cell);
    let (date, clock) = match cell.split_once(['T', ' ']) {
        Some((date, clock)) => (date, Some(clock.trim())),
        None => (cell, None),
    };
    let mut parts = date.split('-');
    let year = digits(parts.next()?, 4)?;
    let month = digits(parts.next()?, 2)?;
    let day = match parts.next() {
        Some(day) => digits(day, 2)?,
        None if clock.is_some() => return None,
        None => 1,
    };
    if parts.next().is_some() || !(1..=12).contains(&month) || day < 1 || day > days(year, month) {
        return None;
    }
    let seconds = clock.map_or(Some(0.0), seconds)?;
    Some(days_since_1970(year, month, day) as f64 + seconds / 86_400.0)
}

/// A number of exactly so many digits.
fn digits(text: &str, count: usize) -> Option<i64> {
    let all = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

/// The seconds of a day that a clock shows.
fn seconds(clock: &str) -> Option<f64> {
    let mut parts = clock.split(':');
    let hour = digits(parts.next()?, 2).filter(|hour| *hour < 24)?;
    let minute = digits(parts.next()?, 2).filter(|minute| *minute < 60)?;
    let second = match parts.next() {
        None => 0.0,
        Some(second) => {
            let whole = second.split('.').next()?;
            digits(whole, 2)?;
            second.parse::<f64>().ok().filter(|second| *second < 60.0)?
        }
    };
    match parts.next() {
        Some(_) => None,
        None => Some((hour * 3_600 + minute * 60) as f64 + second),
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The days of a month.
fn days(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// The number of a day of the Gregorian calendar, counted from 1970-01-01.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Leap days before a year: those of all years from 0 on.
    let leaps = |year: i64| {
        let before = year - 1;
        before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400)
    };
    let years = 365 * (year - 1970) + leaps(year) - leaps(1970);
    let months: i64 = (1..month).map(|month| days(year, month)).sum();
    years + months + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_since_1970() {
        // By Python: (datetime.date(...) - datetime.date(1970, 1, 1)).days
        for (cell, days) in [
            ("1970-01-01", 0.0),
            ("1969-12-31", -1.0),
            ("1958-03", -4324.0),
            ("2000-02-29", 11_016.0),
            ("2024-12-31", 20_088.0),
            ("1900-03-01", -25_508.0),
            ("0001-01-01", -719_162.0),
            ("1970-01-02T12:00", 1.5),
            ("1970-01-01 06:00:00Z", 0.25),
            ("1970-01-01T00:00:21.6", 0.000_25),
            ("17", 17.0),
            ("-1.5e2", -150.0),
            ("2024", 2024.0),
        ] {
            let parsed = parse(cell).unwrap();
            assert!((parsed - days).abs() < 1e-12, "{cell}: {parsed}");
        }
        for wrong in [
            "",
            "x",
            "2023-02-29",
            "1900-02-29",
            "2023-13-01",
            "2023-00-01",
            "2023-04-31",
            "23-04-01",
            "2023-04-01T24:00",
            "2023-04-01T12",
            "2023-04T12:00",
            "2023/04/01",
            "2023-04-01-05",
            "inf",
            "NaN",
            "2023-04-01T12:00:61",
            "2023-04-01T12:00:00+02:00",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
