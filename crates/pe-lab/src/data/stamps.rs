//! Series with time stamps, as a `.ts` file writes them: `(2024-05-17 10:00,0.5),(2024-05-17 10:01,0.7):left`.
//!
//! All channels of a series have the same stamps, and all stamps of a file are numbers or dates of one kind.

use super::dates::{Clock, SUCH_AS, Seen};
use super::error::Problem;
use super::quote::{grouped, shorten};
use super::times::time_of;

/// The times and the cells of the channels of a series.
pub(super) type Stamped<'a> = (Vec<f64>, Vec<Vec<&'a str>>);

/// How the time stamps of these lines are written, which is the same in all of them. `known` is how the file before writes them.
///
/// # Errors
///
/// [`Problem::Other`] with a stamp that is no time, or that may be two different dates.
pub(super) fn clock<'a>(
    lines: impl Iterator<Item = (usize, &'a str)>,
    known: Option<Clock>,
) -> Result<Clock, Problem> {
    let (mut seen, mut first) = (Seen::default(), None);
    for (line, text) in lines {
        // A wrong line is reported when it is read. All channels have the same stamps, so those of the first are enough.
        let Ok((stamps, _)) = pairs(fields(text)[0]) else {
            continue;
        };
        stamps.iter().for_each(|stamp| seen.add(stamp));
        first.get_or_insert((line, stamps[0]));
    }
    let Some((line, stamp)) = first else {
        return Ok(Clock::Numbers);
    };
    let wrong = |what: String| Err(Problem::Other(what));
    match seen.clock(known) {
        Ok(Some(clock)) => Ok(clock),
        Ok(None) => wrong(format!(
            "line {line}: the time stamps, such as {}, are neither numbers nor dates such as {SUCH_AS}",
            shorten(stamp)
        )),
        Err(what) => wrong(format!("the time stamps are {what}")),
    }
}

/// The times and the cells of the channels of a series.
///
/// # Errors
///
/// With the cell that has no stamp, or with the stamp that is no time, does not lie after the one before, or is another one than
/// that of the first channel.
pub(super) fn stamped<'a>(clock: Clock, channels: &[&'a str]) -> Result<Stamped<'a>, String> {
    let (mut first, mut times): (Vec<&str>, _) = (Vec::new(), Vec::new());
    let mut values = Vec::new();
    for (number, channel) in (1..).zip(channels) {
        let (stamps, cells) = pairs(channel).map_err(|what| format!("channel {number}: {what}"))?;
        values.push(cells);
        if number == 1 {
            times = rising(clock, &stamps)?;
            first = stamps;
            continue;
        }
        let mut both = (1..).zip(first.iter().zip(&stamps));
        if let Some((step, (one, other))) = both.find(|(_, (one, other))| one != other) {
            return Err(format!(
                "the time stamp of step {} is {} in channel 1 and {} in channel {number}; a step has the numbers of all channels at \
                 one time",
                grouped(step),
                shorten(one),
                shorten(other)
            ));
        }
    }
    Ok((times, values))
}

/// The times of stamps, each of which lies after the one before.
fn rising(clock: Clock, stamps: &[&str]) -> Result<Vec<f64>, String> {
    let mut times: Vec<f64> = Vec::with_capacity(stamps.len());
    for (step, stamp) in (1..).zip(stamps) {
        let time = time_of(stamp, clock)
            .map_err(|what| format!("the time stamp of step {} {what}", grouped(step)))?;
        if let Some(before) = times.last().filter(|before| **before >= time) {
            return Err(format!(
                "the time stamp of step {}, {}, does not lie after that of the step before, {}{}",
                grouped(step),
                shorten(stamp),
                shorten(stamps[step - 2]),
                match *before == time {
                    true => ": every step takes a time of its own",
                    false => ": time stamps have to rise",
                }
            ));
        }
        times.push(time);
    }
    Ok(times)
}

/// The fields of a line: what stands between the colons that are not in brackets.
pub(super) fn fields(line: &str) -> Vec<&str> {
    let mut is_inside = false;
    let is_end = |c: char| {
        is_inside = match c {
            '(' => true,
            ')' => false,
            _ => is_inside,
        };
        c == ':' && !is_inside
    };
    line.split(is_end).map(str::trim).collect()
}

/// The time stamps and the cells of a channel.
fn pairs(channel: &str) -> Result<(Vec<&str>, Vec<&str>), String> {
    let (mut stamps, mut cells) = (Vec::new(), Vec::new());
    let mut rest = channel;
    loop {
        let step = stamps.len() + 1;
        let pair = rest
            .trim_start()
            .strip_prefix('(')
            .and_then(|inside| inside.split_once(')'));
        let parts =
            pair.and_then(|(inside, behind)| Some((inside.rsplit_once(',')?, behind.trim_start())));
        let Some(((stamp, cell), behind)) =
            parts.filter(|((stamp, _), _)| !stamp.trim().is_empty())
        else {
            return Err(format!(
                "step {} is {}, and with @timeStamps true it is written (TIME,NUMBER)",
                grouped(step),
                shorten(rest)
            ));
        };
        stamps.push(stamp.trim());
        cells.push(cell.trim());
        match behind.strip_prefix(',') {
            Some(more) => rest = more,
            None if behind.is_empty() => return Ok((stamps, cells)),
            None => {
                return Err(format!(
                    "{} stands behind step {}, and it takes a comma",
                    shorten(behind),
                    grouped(step)
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Says, rows};
    use super::*;

    fn read(lines: &[&'static str]) -> Result<Vec<Stamped<'static>>, String> {
        let numbered = (1..).zip(lines.iter().copied());
        let clock = clock(numbered, None).map_err(|problem| problem.to_string())?;
        lines
            .iter()
            .map(|text| stamped(clock, &fields(text)))
            .collect()
    }

    #[test]
    fn stamps_are_times_and_the_numbers_keep_their_order() {
        let read_all = read(&[
            "(0,1),(0.5,?), (2,-3) : (0,4),(0.5,),(2,6)",
            "(5,7):(5,8)",
            "(-7,1),(7.1,2):(-7,3),(7.1,4)",
        ])
        .unwrap();
        assert_eq!(read_all[0].0, [0.0, 0.5, 2.0]);
        assert_eq!(read_all[0].1, [["1", "?", "-3"], ["4", "", "6"]]);
        assert_eq!(read_all[2].0, [-7.0, 7.1]);
        let dates = read(&[
            "(1970-01-01 12:00:00,1.5),(1970-01-03 00:00:00,2)",
            "(1970-02-01 00:00:00,1),(1970-02-01 06:00:00,2)",
        ]);
        let dates: Vec<Vec<f64>> = dates.unwrap().into_iter().map(|read| read.0).collect();
        assert_eq!(dates, [[0.5, 2.0], [31.0, 31.25]]);
        // One line tells for all that the day comes first.
        let mixed = read(&["(1/2/1970,1),(2/2/1970,2)", "(13/1/1970,1)"]).unwrap();
        assert_eq!(mixed[0].0, [31.0, 32.0]);
        assert_eq!(
            fields("(10:00,1),(10:01,2) : a"),
            ["(10:00,1),(10:01,2)", "a"]
        );
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        for [lines, what] in rows(
            "
            (0,1),(1,2),(1,4)               | the time stamp of step 3, `1`, does not lie after that of the step before, `1`: every step takes a time of its own
            (1,1),(0,2)                     | the time stamp of step 2, `0`, does not lie after that of the step before, `1`: time stamps have to rise
            (0,1),(1,2):(0,1),(2,2)         | the time stamp of step 2 is `1` in channel 1 and `2` in channel 2; a step has
            (0,1),(x,2)                     | the time stamp of step 2 is `x`, and the other times are numbers
            (0,1),(1,1) ⏎ (2024-01-31,1)    | the time stamp of step 1 is `2024-01-31`, and the other times are numbers
            (0,1),(inf,2)                   | the time stamp of step 2 is `inf`, and the other times are numbers
            (0,1),(9007199254740993,2)      | the time stamp of step 2 is `9007199254740993`, and from 2^53 on f64
            (x,1),(y,2)                     | line 1: the time stamps, such as `x`, are neither numbers nor dates
            (1/2/2024,1) ⏎ (3/4/2024,1)     | dates such as `1/2/2024`, which may begin with the day or with the month
            (0,1),1,2                       | channel 1: step 2 is `1,2`, and with @timeStamps true it is written (TIME,NUMBER)
            (0,1) (1,2)                     | channel 1: `(1,2)` stands behind step 1
            (0,1),(1,2                      | channel 1: step 2 is `(1,2`
            (,1)                            | channel 1: step 1 is `(,1)`
            ⏎                               | channel 1: step 1 is ``
            ",
        ) {
            let lines: Vec<&str> = lines.lines().map(str::trim).collect();
            read(&lines).unwrap_err().says(what);
        }
    }
}
