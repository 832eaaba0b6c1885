//! The times of the steps of series: how they are read and told, and how those of whole series become positions.

use super::dates::Clock;
use super::error::Problem;
use super::quote::{grouped, shorten};
use pe_burn::MAX_POSITION;

/// Below this, 2^53, `f64` holds every whole number.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The time that a cell holds.
///
/// # Errors
///
/// With what the cell is, if it is no such time, or a number that `f64` rounds to another one.
pub(super) fn time_of(cell: &str, clock: Clock) -> Result<f64, String> {
    let time = clock
        .parse(cell)
        .ok_or_else(|| format!("is {}, and the other times are {clock}", shorten(cell)))?;
    let is_held = || {
        cell.parse::<i128>()
            .is_ok_and(|whole| whole == time as i128)
    };
    match time.abs() < EXACT || is_held() {
        true => Ok(time),
        false => Err(format!(
            "is {}, and from 2^53 on f64, in which times are computed, does not hold every number; count times from the first one \
             or in a larger unit",
            shorten(cell)
        )),
    }
}

/// The steps from each time to the next of the same row, the shortest first.
pub(super) fn steps_of<'a>(rows: impl Iterator<Item = &'a [f64]>) -> Vec<f64> {
    let steps = rows.flat_map(|times| times.windows(2).map(|pair| pair[1] - pair[0]));
    let mut steps: Vec<f64> = steps.collect();
    steps.sort_unstable_by(f64::total_cmp);
    steps
}

/// The middle one of sorted steps: the unit in which times become positions. 1 if there are no steps.
pub(super) fn middle(steps: &[f64]) -> f64 {
    steps.get(steps.len() / 2).copied().unwrap_or(1.0)
}

/// What is said of times that become positions: what they are called, how they are counted, and their steps, the shortest
/// first.
pub(super) fn as_positions(name: &str, counted: &str, clock: Clock, steps: &[f64]) -> [String; 2] {
    let steps = match (steps.first(), steps.last()) {
        (Some(first), Some(last)) => {
            // Equal steps differ by rounding.
            let are_equal = last - first <= 1e-6 * last;
            let [middle, first, last] = [middle(steps), *first, *last].map(|of| clock.step(of));
            match are_equal {
                true => format!("each of {middle}"),
                false => format!("{middle} (the shortest {first}, the longest {last})"),
            }
        }
        _ => String::new(),
    };
    [
        format!(
            "positions are {name}, {counted}; schemes that take only whole positions get 0, 1, 2, …"
        ),
        format!("times are {clock}; steps of time: {steps}"),
    ]
}

/// The times of whole series, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Times {
    /// What they are called, such as `the time stamps`.
    named: String,
    clock: Clock,
    /// How long after the first token of a row each of its tokens comes: in days where times are dates.
    since: Vec<Vec<f64>>,
    steps: Steps,
}

/// The steps from each time to the next, in all rows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Steps {
    /// No row has two times.
    None,
    /// All are this one.
    Equal(f64),
    Differ,
}

impl Times {
    pub fn new(named: impl Into<String>, clock: Clock) -> Self {
        Self {
            named: named.into(),
            clock,
            since: Vec::new(),
            steps: Steps::None,
        }
    }

    /// Adds a row of times, each later than the one before.
    pub fn add(&mut self, times: &[f64]) {
        for pair in times.windows(2) {
            let step = pair[1] - pair[0];
            self.steps = match self.steps {
                Steps::None => Steps::Equal(step),
                Steps::Equal(known) if is_step(step, known, times) => self.steps,
                _ => Steps::Differ,
            };
        }
        let first = times.first().copied().unwrap_or(0.0);
        self.since
            .push(times.iter().map(|time| time - first).collect());
    }

    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// How long after the first token of a row each of its tokens comes.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.since[row]
    }

    pub fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.since.iter().map(Vec::as_slice)
    }

    /// What to say in the place of these times if they tell no more than the order, as all their steps are equal.
    pub fn said_if_equal(&self) -> Option<String> {
        let named = &self.named;
        match self.steps {
            Steps::None => Some(format!("no series has two of {named}")),
            Steps::Equal(step) => Some(format!(
                "{named} rise by {} in every series, so positions are the numbers of steps",
                self.clock.step(step)
            )),
            Steps::Differ => None,
        }
    }

    /// What is said of these times where only their order is used.
    pub fn said_of_order(&self) -> String {
        format!(
            "the steps of {} differ; they say the order alone, as in the study, and each counts as one step",
            self.named
        )
    }

    /// What is said of these times where they become positions.
    pub fn describe(&self) -> [String; 2] {
        as_positions(
            &self.named,
            "from the start of each series, in units of their median step in training",
            self.clock,
            &steps_of(self.rows()),
        )
    }

    /// Checks that the times of a file that is read after this one are of the same kind.
    ///
    /// # Errors
    ///
    /// [`Problem::Test`] if it has none, or dates in the place of numbers.
    pub fn check_others(times: Option<&Self>, others: Option<&Self>) -> Result<(), Problem> {
        let kind = |times: Option<&Self>| match times {
            None => "no times",
            Some(times) if times.clock.is_dates() => "times that are dates",
            Some(_) => "times that are numbers",
        };
        match kind(times) == kind(others) {
            true => Ok(()),
            false => Err(Problem::Test(format!(
                "its series have {}, and those of the first file {}",
                kind(others),
                kind(times)
            ))),
        }
    }
}

/// Checks that the times of a file are dates if those of the study are, and numbers if not.
///
/// # Errors
///
/// [`Problem::Other`] with what they are called.
pub(super) fn check_kind(named: &str, are_dates: bool, known: bool) -> Result<(), Problem> {
    let kind = |dates: bool| if dates { "dates" } else { "numbers" };
    match are_dates == known {
        true => Ok(()),
        false => Err(Problem::Other(format!(
            "{named} are {}, and those of the study {}",
            kind(are_dates),
            kind(known)
        ))),
    }
}

/// Whether two steps are the same but for the last bits of the times that they lie between.
fn is_step(found: f64, step: f64, times: &[f64]) -> bool {
    let largest = times
        .iter()
        .fold(0.0, |largest: f64, time| largest.max(time.abs()));
    (found - step).abs() <= 8.0 * f64::EPSILON * largest + 1e-6 * step.abs()
}

/// How the times of whole series become positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    /// The time that counts as 1: the middle one of the steps of the training.
    step: f64,
    /// Whether times are dates, and `step` is in days.
    dates: bool,
}

impl Unit {
    /// The unit of these rows to train on.
    pub fn of(times: &Times, train: &[usize]) -> Result<Self, Problem> {
        let unit = Self {
            step: middle(&steps_of(train.iter().map(|row| times.row(*row)))),
            dates: times.clock.is_dates(),
        };
        unit.check(times)?;
        Ok(unit)
    }

    /// Checks that the times of rows can be positions, of which the last is [`MAX_POSITION`].
    ///
    /// # Errors
    ///
    /// [`Problem::Other`] with the first row whose times lie too far apart, or where times are dates and those of the study
    /// numbers or the other way round.
    pub fn check(&self, times: &Times) -> Result<(), Problem> {
        check_kind(&times.named, times.clock.is_dates(), self.dates)?;
        let is_too_far = |since: &[f64]| !self.fits(since);
        match times.rows().position(is_too_far) {
            None => Ok(()),
            Some(row) => Err(Problem::Other(format!(
                "series {}: {} span {}; in units of {}, the median step in training, that is past the last position, \
                 {MAX_POSITION}",
                grouped(row + 1),
                times.named,
                times
                    .clock
                    .step(times.row(row).last().copied().unwrap_or(0.0)),
                times.clock.step(self.step)
            ))),
        }
    }

    /// Whether the times of a row, counted from its first, are positions in this unit.
    pub fn fits(&self, since: &[f64]) -> bool {
        let positions = self.positions(since);
        positions
            .iter()
            .all(|at| (0.0..=MAX_POSITION as f64).contains(at))
    }

    /// The positions of a row with BOS and EOS around it, of times counted from its first. BOS is at 0 and the first token at 1, as
    /// without times; EOS comes one unit after the last token. So times that rise by the unit are 0, 1, 2 and so on.
    pub fn positions(&self, since: &[f64]) -> Vec<f64> {
        let of = |since: &f64| 1.0 + since / self.step;
        let last = since.last().map_or(0.0, of);
        let inside = since.iter().map(of);
        std::iter::once(0.0)
            .chain(inside)
            .chain([last + 1.0])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::Says;

    fn times(rows: &[&[f64]]) -> Times {
        let mut times = Times::new("the times of `day`", Clock::Numbers);
        rows.iter().for_each(|row| times.add(row));
        times
    }

    #[test]
    fn positions_count_from_the_first_time_in_units_of_the_middle_step_of_training() {
        // Steps in training 1, 2, 4, 8: the middle one is 4. The third row is not trained on.
        let times = times(&[&[10.0, 11.0, 13.0], &[-4.0, 0.0, 8.0], &[0.0, 100.0]]);
        let unit = Unit::of(&times, &[0, 1]).unwrap();
        assert_eq!(unit.positions(times.row(0)), [0.0, 1.0, 1.25, 1.75, 2.75]);
        assert_eq!(unit.positions(times.row(1)), [0.0, 1.0, 2.0, 4.0, 5.0]);
        assert_eq!(unit.positions(times.row(2)), [0.0, 1.0, 26.0, 27.0]);
        assert_eq!(unit.positions(&[0.0]), [0.0, 1.0, 2.0]);
        assert_eq!(times.said_if_equal(), None);
        assert_eq!(
            times.describe(),
            [
                "positions are the times of `day`, from the start of each series, in units of their median step in training; \
                 schemes that take only whole positions get 0, 1, 2, …",
                "times are numbers; steps of time: 4 (the shortest 1, the longest 100)"
            ]
        );
    }

    #[test]
    fn equal_steps_say_the_order_alone_whatever_rounding_adds() {
        let tenths: Vec<f64> = (0..50).map(|i| f64::from(i) * 0.1).collect();
        let late: Vec<f64> = tenths.iter().map(|time| time + 19_000.7).collect();
        let said = times(&[&tenths, &late, &[7.0]]).said_if_equal().unwrap();
        assert_eq!(
            said,
            "the times of `day` rise by 0.1 in every series, so positions are the numbers of steps"
        );
        let more = times(&[&[0.0, 1.0, 2.0], &[0.0, 2.0, 4.0]]);
        assert_eq!(more.said_if_equal(), None);
        assert!(times(&[&[0.0], &[3.0]]).said_if_equal().is_some());
        assert_eq!(times(&[&[1e-9, 2e-9, 4e-9]]).said_if_equal(), None);
    }

    #[test]
    fn times_that_f64_rounds_are_named() {
        let of = |cell: &str| time_of(cell, Clock::Numbers);
        assert_eq!(of("9007199254740992"), Ok(EXACT));
        // Whole seconds in nanoseconds, which f64 holds.
        assert_eq!(of("1700000000000000000"), Ok(1.7e18));
        for cell in [
            "9007199254740993",
            "-1700000000000000001",
            "1e300",
            "9007199254740993.5",
        ] {
            let said = of(cell).unwrap_err();
            assert!(said.contains(cell) && said.contains("2^53"), "{said}");
        }
        let said = of("inf").unwrap_err();
        assert_eq!(said, "is `inf`, and the other times are numbers");
    }

    #[test]
    fn times_that_are_no_positions_are_named_by_their_row() {
        let few = times(&[&[0.0, 1e-3, 2e-3], &[0.0, 1e15]]);
        let said = Unit::of(&few, &[0, 1]).unwrap_err().to_string();
        said.says("series 2: the times of `day` span 1000000000000000");
        let unit = Unit {
            step: 1.0,
            dates: true,
        };
        let said = unit.check(&few).unwrap_err().to_string();
        said.says("are numbers, and those of the study dates");
    }
}
