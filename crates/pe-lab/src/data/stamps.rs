//! Series with time stamps, as a `.ts` file writes them: `(2024-05-17 10:00,0.5),(2024-05-17 10:01,0.7):left`.
//!
//! A position is the number of a step, so time stamps have to rise by the same step in all series of a file.

use super::channels::{is_step, steady};
use super::dates::{Clock, SUCH_AS, Seen};
use super::quote::{grouped, shorten};

/// The time stamps of a file, of which the first step is known.
#[derive(Debug, Default)]
pub(super) struct Stamps {
    /// The step between two stamps, how they are written, and the line that tells it.
    known: Option<(f64, Clock, usize)>,
}

impl Stamps {
    /// What all stamps have in common, in words.
    pub fn describe(&self) -> Option<String> {
        let (step, clock, _) = self.known?;
        Some(format!(
            "the time stamps rise by {} in every series",
            clock.step(step)
        ))
    }

    /// The cells of the channels of a series without their stamps.
    ///
    /// # Errors
    ///
    /// With the cell that has no stamp, or with the stamp that does not lie one step after the one before.
    pub fn cells<'a>(
        &mut self,
        line: usize,
        channels: &[&'a str],
    ) -> Result<Vec<Vec<&'a str>>, String> {
        let mut first: Option<Vec<&str>> = None;
        let mut values = Vec::new();
        for (number, channel) in (1..).zip(channels) {
            let (stamps, cells) =
                pairs(channel).map_err(|what| format!("channel {number}: {what}"))?;
            values.push(cells);
            match &first {
                None => {
                    self.check(line, &stamps)?;
                    first = Some(stamps);
                }
                Some(first) => {
                    let mut both = (1..).zip(first.iter().zip(&stamps));
                    if let Some((step, (one, other))) = both.find(|(_, (one, other))| one != other)
                    {
                        return Err(format!(
                            "the time stamp of step {} is {} in channel 1 and {} in channel {number}",
                            grouped(step),
                            shorten(one),
                            shorten(other)
                        ));
                    }
                }
            }
        }
        Ok(values)
    }

    /// Checks the stamps of a series.
    fn check(&mut self, line: usize, stamps: &[&str]) -> Result<(), String> {
        let mut seen = Seen::default();
        stamps.iter().for_each(|stamp| seen.add(stamp));
        let clock = seen.clock().ok().flatten();
        let clock = clock.ok_or_else(|| {
            format!(
                "its time stamps, such as {}, are neither numbers nor dates such as {SUCH_AS}",
                shorten(stamps[0])
            )
        })?;
        let time = |(step, stamp): (usize, &&str)| {
            clock.parse(stamp).ok_or_else(|| {
                format!(
                    "the time stamp of step {step} is {}, and the others are {clock}",
                    shorten(stamp)
                )
            })
        };
        let times: Vec<f64> = (1..).zip(stamps).map(time).collect::<Result<_, _>>()?;
        let step = steady(&times).map_err(|at| {
            format!(
                "the time stamp of step {}, {}, lies {} after the one before, and that of step 2 {} after the first; positions are \
                 the numbers of steps, so time stamps have to rise by equal steps",
                grouped(at),
                shorten(stamps[at - 1]),
                clock.step(times[at - 1] - times[at - 2]),
                clock.step(times[1] - times[0])
            )
        })?;
        let Some(step) = step else { return Ok(()) };
        let (known, of, on) = *self.known.get_or_insert((step, clock, line));
        match of == clock && is_step(step, known, &times) {
            true => Ok(()),
            false => Err(format!(
                "its time stamps rise by {}, and those of line {} by {}; positions are the numbers of steps, so a step is as long in \
                 every series",
                clock.step(step),
                grouped(on),
                of.step(known)
            )),
        }
    }
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
    use super::*;

    fn cells(lines: &[&'static str]) -> Result<Vec<Vec<Vec<&'static str>>>, String> {
        let mut stamps = Stamps::default();
        let read = |(line, text): (usize, &&'static str)| stamps.cells(line, &fields(text));
        (1..).zip(lines).map(read).collect()
    }

    #[test]
    fn stamps_that_rise_by_equal_steps_leave_the_numbers_in_their_order() {
        let numbers = cells(&[
            "(0,1),(0.1,?), (0.2,-3) : (0,4),(0.1,),(0.2,6)",
            "(5,7):(5,8)",
            "(7,1),(7.1,2):(7,3),(7.1,4)",
        ]);
        assert_eq!(numbers.unwrap()[0], [["1", "?", "-3"], ["4", "", "6"]]);
        let dates = cells(&[
            "(2007-01-31 23:58:00,1.5),(2007-01-31 23:59:00,2),(2007-02-01 00:00:00,3)",
            "(2008-02-28 23:59:59,1),(2008-02-29 00:00:59,2)",
        ]);
        assert_eq!(dates.unwrap()[0], [["1.5", "2", "3"]]);
        let mut stamps = Stamps::default();
        stamps
            .cells(
                1,
                &fields("(2007-01-31 23:58:00,1.5),(2007-01-31 23:59:00,2)"),
            )
            .unwrap();
        assert_eq!(
            stamps.describe().unwrap(),
            "the time stamps rise by 1 minute in every series"
        );
        assert_eq!(
            fields("(10:00,1),(10:01,2) : a"),
            ["(10:00,1),(10:01,2)", "a"]
        );
    }

    #[test]
    fn what_is_unsteady_is_named() {
        for (lines, what) in [
            (
                &["(0,1),(1,2),(3,4)"][..],
                "the time stamp of step 3, `3`, lies 2 after the one before, and that of step 2 1 after",
            ),
            (
                &["(0,1),(1,2),(1,4)"],
                "the time stamp of step 3, `1`, lies 0 after",
            ),
            (
                &["(1,1),(0,2)"],
                "the time stamp of step 2, `0`, lies -1 after",
            ),
            (
                &["(1e-9,1),(2e-9,2),(4e-9,3)"],
                "the time stamp of step 3, `4e-9`",
            ),
            (
                &["(0,1),(1,2)", "(0,1),(2,2)"],
                "its time stamps rise by 2, and those of line 1 by 1",
            ),
            (
                &["(0,1),(1,2):(0,1),(2,2)"],
                "the time stamp of step 2 is `1` in channel 1 and `2` in channel 2",
            ),
            (
                &["(0,1),(x,2)"],
                "the time stamp of step 2 is `x`, and the others are numbers",
            ),
            (
                &["(x,1),(y,2)"],
                "its time stamps, such as `x`, are neither numbers nor dates",
            ),
            (
                &["(0,1),1,2"],
                "channel 1: step 2 is `1,2`, and with @timeStamps true it is written (TIME,NUMBER)",
            ),
            (&["(0,1) (1,2)"], "channel 1: `(1,2)` stands behind step 1"),
            (&["(0,1),(1,2"], "channel 1: step 2 is `(1,2`"),
            (&["(,1)"], "channel 1: step 1 is `(,1)`"),
            (&[""], "channel 1: step 1 is ``"),
        ] {
            let said = cells(lines).unwrap_err();
            assert!(said.contains(what), "{what}\n{said}");
        }
    }
}
