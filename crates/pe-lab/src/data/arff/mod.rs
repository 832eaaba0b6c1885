//! ARFF, the files of Weka: series as the UEA and UCR archive and aeon write them, and rows of numbers with a class.
//!
//! ```text
//! % a remark
//! @relation Example
//! @attribute channels relational
//!   @attribute att0 numeric
//!   @attribute att1 numeric
//! @end channels
//! @attribute class {left,right}
//! @data
//! '0.5,?\n1.0,1.1',left
//! ```
//!
//! Without the relational attribute a row is one series: `0.5,?,left`. The one nominal attribute is the class; where
//! there is none, the last attribute is the number to be predicted. `?` is a missing value. All rows of a file have the
//! same number of fields, so missing values at the end of a series are taken for its end. Format:
//! <https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/>.

mod fields;
mod header;

use super::channels::{check_class, steps};
use super::error::Problem;
use super::labels::Labels;
use super::numbers::{is_missing, number};
use super::quote::{counted, grouped, shorten};
use super::rows::Collector;
use fields::fields;
use header::{Header, Layout};

/// What stands for a missing value.
const MISSING: &str = "?";

/// Reads labelled series, and returns in words where they were found.
///
/// # Errors
///
/// [`Problem::Other`] for a file that holds no such series or no data; lines that cannot be used are noted in `rows`.
pub(super) fn read(text: &str, rows: &mut Collector) -> Result<Vec<String>, Problem> {
    let labels = rows.labels_are;
    let mut header = Header::default();
    let lines = (1..).zip(text.lines().map(str::trim));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('%'));
    let mut has_data = false;
    while !has_data {
        let Some((at, line)) = lines.next() else {
            return Err(Problem::Other(
                "has no line @data, after which the rows of an .arff file stand".into(),
            ));
        };
        has_data = header.read(at, line)?;
    }
    let layout = header.layout(labels, rows.asks_numbers())?;
    if layout.asks_number {
        rows.ask_numbers();
    }
    let mut channels = None;
    for (at, line) in lines {
        match series(line, &header, &layout, labels) {
            Err(what) => rows.reject(at, what),
            Ok(series) => {
                rows.measure(series.channels.len());
                channels.get_or_insert(series.channels.len());
                let mut tokens = steps(&series.channels);
                tokens.ended_by_empty = series.ends_early;
                rows.take(at, series.class.as_deref(), None, tokens)?;
            }
        }
    }
    let class = layout.class.as_ref();
    Ok(vec![format!(
        "{}{}; {}",
        match header.relation.as_str() {
            "" => String::new(),
            relation => format!("{}: ", shorten(relation)),
        },
        match (layout.series, channels) {
            (Some(_), Some(channels)) => format!("series of {}", counted(channels, "channel")),
            _ => "series of one number at each step".to_string(),
        },
        match class {
            Some((place, _)) => format!(
                "the {} is the attribute {}",
                match layout.asks_number {
                    false => "class",
                    true => "number to be predicted",
                },
                shorten(&header.attributes[*place].name)
            ),
            None => "no attribute is a class".to_string(),
        }
    )])
}

/// A row.
struct Series {
    /// The cells of each channel.
    channels: Vec<Vec<String>>,
    class: Option<String>,
    /// Whether missing values at the end were taken for its end.
    ends_early: bool,
}

/// The series of a line, or what is wrong with it.
fn series(line: &str, header: &Header, layout: &Layout, labels: Labels) -> Result<Series, String> {
    if line.starts_with('{') {
        return Err(
            "a sparse row, in braces, holds some of its numbers alone; write all of them, without braces".into(),
        );
    }
    let mut fields = fields(line)?;
    let attributes = &header.attributes;
    if fields.len() != attributes.len() {
        return Err(format!(
            "{} fields, and the header has {} attributes",
            grouped(fields.len()),
            grouped(attributes.len())
        ));
    }
    let class = match &layout.class {
        None => None,
        Some((place, known)) => class_of(&fields[*place], known, &attributes[*place].name, labels)?,
    };
    let mut channels = match layout.series {
        Some((place, steps)) => channels(&fields[place], steps)?,
        None => vec![numbers(&mut fields, header, layout)?],
    };
    let written = channels[0].len();
    let is_there = |cell: &String| number(cell).is_some_and(|number| !number.is_nan());
    let last = |channel: &Vec<String>| channel.iter().rposition(is_there).map_or(0, |at| at + 1);
    let length = channels.iter().map(last).max().unwrap_or(0);
    if length == 0 {
        return Err("all of its values are missing".into());
    }
    channels
        .iter_mut()
        .for_each(|channel| channel.truncate(length));
    Ok(Series {
        channels,
        class,
        ends_early: length < written,
    })
}

/// The class of a row, if it has one.
fn class_of(
    class: &str,
    known: &[String],
    attribute: &str,
    labels: Labels,
) -> Result<Option<String>, String> {
    match (class, labels) {
        (MISSING, Labels::Needed) => Err(format!(
            "the attribute {} is missing (?), and it is what is predicted",
            shorten(attribute)
        )),
        // Whether it is a class of the study is not said in the header.
        (word, Labels::IfAny) if is_missing(word) => Ok(Some(word.to_string())),
        _ => {
            check_class(
                class,
                known,
                &format!("the attribute {}", shorten(attribute)),
            )?;
            Ok(Some(class.to_string()))
        }
    }
}

/// The fields of a row that are its numbers: all but the class.
fn numbers(fields: &mut [String], header: &Header, layout: &Layout) -> Result<Vec<String>, String> {
    let class = layout.class.as_ref().map(|(place, _)| *place);
    let mut numbers = Vec::with_capacity(fields.len());
    for (place, field) in fields.iter_mut().enumerate() {
        if Some(place) == class {
            continue;
        }
        if number(field).is_none() {
            let attribute = shorten(&header.attributes[place].name);
            let what = format!("field {} (the attribute {attribute})", grouped(place + 1));
            return Err(no_number(&what, field));
        }
        numbers.push(std::mem::take(field));
    }
    Ok(numbers)
}

/// The channels of a relational cell, one on each line of it.
fn channels(cell: &str, steps: usize) -> Result<Vec<Vec<String>>, String> {
    let mut channels: Vec<Vec<String>> = Vec::new();
    for channel in cell.trim().lines() {
        let number_of = channels.len() + 1;
        let cells = channel.split(',').map(|cell| cell.trim().to_string());
        let cells: Vec<String> = cells.collect();
        if let Some(place) = cells.iter().position(|cell| number(cell).is_none()) {
            let what = format!("step {} of channel {number_of}", grouped(place + 1));
            return Err(no_number(&what, &cells[place]));
        }
        if cells.len() != steps {
            return Err(format!(
                "channel {number_of} has {}, and the header has {}",
                counted(cells.len(), "step"),
                grouped(steps)
            ));
        }
        channels.push(cells);
    }
    match channels.is_empty() {
        true => Err("the series is empty".into()),
        false => Ok(channels),
    }
}

fn no_number(what: &str, cell: &str) -> String {
    format!(
        "{what}: {} is no number; a missing value is ?",
        shorten(cell)
    )
}

#[cfg(test)]
mod tests;
