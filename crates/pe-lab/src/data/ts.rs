//! `.ts`, the files of series of aeon and sktime: a series and its class on each line.
//!
//! ```text
//! # a remark
//! @problemName Example
//! @dimensions 2
//! @classLabel true left right
//! @data
//! 0.5,0.7,?:1.0,1.1,1.2:left
//! ```
//!
//! The channels of a series stand between colons, the last field is its class. Series may differ in length, and `?` or `NaN`
//! is a missing value. With `@timeStamps true` a value is `(TIME,VALUE)`: see [`stamps`]. Format: <https://www.aeon-toolkit.org/en/stable/api_reference/file_specifications/ts.html>.

use super::channels::{check, check_class, steps};
use super::dates::Clock;
use super::error::Problem;
use super::labels::Labels;
use super::numbers::is_missing;
use super::quote::{counted, shorten};
use super::rows::Collector;
use super::stamps::{self, Stamped};
use super::times::Times;

/// Reads labelled series, and returns in words where they were found.
///
/// # Errors
///
/// [`Problem::Other`] for a file that has no classes or no data; lines that cannot be used are noted in `rows`.
pub(super) fn read(text: &str, rows: &mut Collector) -> Result<Vec<String>, Problem> {
    let labels = rows.labels_are;
    let mut lines = (1..).zip(text.lines().map(str::trim));
    let header = Header::of(&mut lines)?;
    if !header.has_labels() && labels == Labels::Needed {
        return Err(Problem::Other(
            "its header has neither `@classLabel true` nor `@targetLabel true`, and a class or a number is what is predicted"
                .into(),
        ));
    }
    if header.asks_number && labels == Labels::Needed {
        rows.ask_numbers();
    }
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let clock = match header.has_stamps {
        true => Some(stamps::clock(lines.clone(), rows.ways.clock)?),
        false => None,
    };
    rows.expect_times(clock.map(|clock| Times::new("the time stamps", clock)))?;
    let mut channels = header.channels;
    for (at, line) in lines {
        let mut fields: Vec<&str> = match header.has_stamps {
            true => stamps::fields(line),
            false => line.split(':').map(str::trim).collect(),
        };
        // A series to predict may have no class: then every field is a channel.
        let is_open = labels == Labels::IfAny && channels == Some(fields.len());
        let label = match header.has_labels() && !is_open {
            true => fields.pop(),
            false => None,
        };
        if fields.is_empty() {
            rows.reject(at, "has a class and no numbers".into());
            continue;
        }
        let expected = *channels.get_or_insert(fields.len());
        // Whether a word for a missing class is one of the study is not said in the header.
        let is_class = |label: &&str| labels == Labels::Needed || !is_missing(label);
        match header.series(clock, &fields, expected, label.filter(is_class)) {
            Err(what) => rows.reject(at, what),
            Ok((times, channels)) => {
                rows.measure(expected);
                let mut tokens = steps(&channels);
                tokens.times = times;
                rows.take(at, label, None, tokens)?;
            }
        }
    }
    Ok(vec![header.describe(channels.unwrap_or(1))])
}

/// What stands before the series.
#[derive(Default)]
struct Header {
    name: Option<String>,
    /// The number of channels, if the file says it.
    channels: Option<usize>,
    /// The names of the classes; none are named where the file does not list them.
    classes: Option<Vec<String>>,
    /// Whether the last field of a series is a number to be predicted.
    asks_number: bool,
    has_stamps: bool,
}

impl Header {
    /// The header of a file, whose lines are read up to that on which the data begin.
    fn of<'a>(lines: &mut impl Iterator<Item = (usize, &'a str)>) -> Result<Self, Problem> {
        let mut header = Self::default();
        for (at, line) in lines {
            if line.eq_ignore_ascii_case("@data") {
                return Ok(header);
            }
            if !line.is_empty() && !line.starts_with(['#', '%']) {
                header.read(at, line)?;
            }
        }
        Err(Problem::Other(
            "has no line @data, after which the series of a .ts file stand".into(),
        ))
    }

    fn describe(&self, channels: usize) -> String {
        format!(
            "{}series of {}; the {} is the last field of a line",
            match &self.name {
                Some(name) => format!("{}: ", shorten(name)),
                None => String::new(),
            },
            match channels {
                1 => "one number at each step".to_string(),
                _ => format!("{channels} channels"),
            },
            match self.asks_number {
                false => "class",
                true => "number to be predicted",
            }
        )
    }

    /// Whether the last field of a series is its class or its number.
    fn has_labels(&self) -> bool {
        self.classes.is_some() || self.asks_number
    }

    fn read(&mut self, at: usize, line: &str) -> Result<(), Problem> {
        let wrong = |what: String| Err(Problem::Other(format!("line {at}: {what}")));
        let mut words = line.split_whitespace();
        let key = words.next().unwrap_or("").to_ascii_lowercase();
        let rest: Vec<&str> = words.collect();
        let is = |word: &str| {
            rest.first()
                .is_some_and(|first| first.eq_ignore_ascii_case(word))
        };
        match key.as_str() {
            "@problemname" => self.name = Some(rest.join(" ")),
            "@timestamps" => self.has_stamps = is("true"),
            "@univariate" if is("true") => self.channels = Some(1),
            "@dimension" | "@dimensions" => match rest.first().map(|count| count.parse()) {
                Some(Ok(count)) if count > 0 => self.channels = Some(count),
                _ => return wrong(format!("{} names no number of channels", shorten(line))),
            },
            "@classlabel" if is("true") => {
                self.classes = Some(rest[1..].iter().map(ToString::to_string).collect());
            }
            "@targetlabel" => self.asks_number = is("true"),
            key if !key.starts_with('@') => {
                return wrong(format!(
                    "{} stands before @data and is no line with @",
                    shorten(line)
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// The cells of the channels of a series, and its times if there is a `clock`, if they and its class are as the file says.
    fn series<'a>(
        &self,
        clock: Option<Clock>,
        fields: &[&'a str],
        channels: usize,
        label: Option<&str>,
    ) -> Result<Stamped<'a>, String> {
        if fields.len() != channels {
            return Err(format!(
                "{}, and there are {channels}",
                counted(fields.len(), "channel")
            ));
        }
        let split = |field: &&'a str| field.split(',').collect();
        let (times, cells) = match clock {
            Some(clock) => stamps::stamped(clock, fields)?,
            None => (Vec::new(), fields.iter().map(split).collect()),
        };
        check(&cells)?;
        if let (Some(known), Some(label)) = (&self.classes, label) {
            check_class(label, known, "@classLabel")?;
        }
        Ok((times, cells))
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::Rows;
    use super::*;
    use crate::data::testing::{Says, collected, rows};

    const TWO: &str = "# made\n@problemName Two ways\n@timeStamps false\n@dimensions 2\n@classLabel true left right\n@data\n\
                       1,2,?:4,5,6:left\n-1.5,2:0,NaN:right\n";

    fn read_all(text: &str, labels: Labels) -> Result<(Rows, Vec<String>), String> {
        collected("", labels, |rows| read(text, rows))
    }

    fn said(text: &str) -> String {
        read_all(text, Labels::Needed).unwrap_err()
    }

    #[test]
    fn a_step_has_the_numbers_of_all_channels() {
        let (rows, notes) = read_all(TWO, Labels::Needed).unwrap();
        assert_eq!(
            notes,
            ["`Two ways`: series of 2 channels; the class is the last field of a line"]
        );
        assert_eq!(rows.channels, Some(2));
        assert_eq!(rows.labels, ["left", "right"]);
        assert_eq!(rows.words, ["1 4", "2 5", "? 6", "-1.5 0", "2 ?"]);
        let lengths: Vec<usize> = rows.rows.iter().map(|row| row.tokens.len()).collect();
        assert_eq!(lengths, [3, 2]);
    }

    #[test]
    fn steady_time_stamps_leave_the_same_series_and_others_are_times() {
        let stamped = TWO.replace("@timeStamps false", "@timeStamps true");
        let stamped = stamped.replace("1,2,?:4,5,6", "(8,1),(9,2),(10,?):(8,4),(9,5),(10,6)");
        let stamped = stamped.replace("-1.5,2:0,NaN", "(0,-1.5),(1,2):(0,0),(1,NaN)");
        let settled = |text: &str| {
            let (mut rows, _) = read_all(text, Labels::Needed).unwrap();
            (rows.settle_times(false), rows)
        };
        let (note, rows) = settled(&stamped);
        note.unwrap()
            .says("the time stamps rise by 1 in every series");
        let (without, _) = read_all(TWO, Labels::Needed).unwrap();
        let ways = rows.ways;
        assert_eq!(rows, Rows { ways, ..without });
        for (from, to, times) in [
            ("(10,", "(11,", [&[0.0, 1.0, 3.0][..], &[0.0, 1.0]]),
            // Steps that are equal within each series, and differ between the two.
            ("(1,", "(2,", [&[0.0, 1.0, 2.0], &[0.0, 2.0]]),
        ] {
            let (note, rows) = settled(&stamped.replace(from, to));
            let found = rows.times.unwrap();
            assert_eq!((note, [found.row(0), found.row(1)]), (None, times));
        }
        said(&stamped.replace("(10,", "(9,"))
            .says("line 7: the time stamp of step 3, `9`, does not lie after that of the step before, `9`");
    }

    #[test]
    fn line_ends_of_windows_are_read_too() {
        let (rows, _) = read_all(&TWO.replace('\n', "\r\n"), Labels::Needed).unwrap();
        assert_eq!(rows.labels, ["left", "right"]);
    }

    #[test]
    fn series_to_predict_need_no_class() {
        let open = TWO.replace(":left", "");
        let (rows, _) = read_all(&open, Labels::IfAny).unwrap();
        assert_eq!(rows.labels, ["", "right"]);
        for word in ["?", "NA"] {
            let open = TWO.replace(":left", &format!(":{word}"));
            let (rows, _) = read_all(&open, Labels::IfAny).unwrap();
            assert_eq!(rows.labels, ["", "right"], "{word}");
            said(&open).says(&format!("the class `{word}` is not among those"));
        }
        said(&open).says("line 7: 1 channel, and there are 2");
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        for [from, to, what] in rows(
            r"
            @data⏎                      |                   | line 6: `1,2,?:4,5,6:left` stands before @data
            @timeStamps false           | @timeStamps true  | line 7: channel 1: step 1 is `1,2,?`, and with @timeStamps true it is written (TIME,NUMBER)
            @classLabel true left right | @classLabel false | neither `@classLabel true` nor `@targetLabel true`
            @classLabel true left right | @targetLabel true | line 7: the number to be predicted is `left`, which is no number
            @dimensions 2               | @dimensions two   | line 4: `@dimensions two` names no number
            4,5,6                       | 4,5               | line 7: channel 2 has 2 steps, and channel 1 has 3
            4,5,6:                      |                   | line 7: 1 channel, and there are 2
            1,2,?:4,5,6:                |                   | line 7: has a class and no numbers
            :left                       | :up               | line 7: the class `up` is not among those of @classLabel: `left`, `right`
            4,5,6                       | 4,inf,6           | line 7: `inf` is no number
            4,5,6                       | 4,x,6             | line 7: `x` is no number
            ",
        ) {
            said(&TWO.replacen(from, to, 1)).says(what);
        }
        said("@problemName Empty\n").says("has no line @data");
    }
}
