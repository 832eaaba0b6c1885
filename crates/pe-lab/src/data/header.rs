//! The first line of a table: which of its names a flag means, and whether it is a header at all.

use std::collections::HashSet;

use super::column::Column;
use super::error::{Problem, SHOWN};
use super::numbers::finite;
use super::quote::{column_called, grouped, shorten};
use super::reading::Reading;
use super::records::each_row;
use crate::grouped::{counted, first_of};

/// The column of this name, or of this name in other capitals if only one is.
pub(super) fn column(names: &[String], name: &str) -> Option<usize> {
    let name = name.trim();
    let exact = names.iter().position(|known| known == name);
    exact.or_else(|| {
        let mut alike = (0..names.len()).filter(|c| names[*c].eq_ignore_ascii_case(name));
        alike.next().filter(|_| alike.next().is_none())
    })
}

/// The column that a flag names.
///
/// # Errors
///
/// [`Problem::NoColumn`], and [`Problem::Reading`] for a name that several columns have.
pub(super) fn find_column(
    flag: &'static str,
    name: &str,
    names: &[String],
    no_header: bool,
) -> Result<usize, Problem> {
    let found = column(names, name).ok_or_else(|| unknown(flag, name, names, no_header))?;
    let same = numbers_of(names, &names[found]);
    match same.len() {
        1 => Ok(found),
        _ => Err(Problem::Reading(format!(
            "{flag} names {}, and the columns {} are called so; give each a name of its own in the first line",
            shorten(name),
            in_words(&same)
        ))),
    }
}

/// The numbers of the columns of this name, from 1.
fn numbers_of(names: &[String], name: &str) -> Vec<usize> {
    let same = (1..).zip(names).filter(|(_, known)| *known == name);
    same.map(|(number, _)| number).collect()
}

/// Some numbers in words, such as `2, 3 and 7`.
fn in_words(numbers: &[usize]) -> String {
    let words: Vec<String> = numbers.iter().map(usize::to_string).collect();
    match &words[..] {
        [first @ .., last] if !first.is_empty() && words.len() <= SHOWN => {
            format!("{} and {last}", first.join(", "))
        }
        _ => first_of(words.into_iter(), SHOWN),
    }
}

fn unknown(flag: &'static str, name: &str, names: &[String], no_header: bool) -> Problem {
    let mut columns = list(names);
    if name.parse::<usize>().is_ok() && !no_header {
        columns.push_str("; if the first line is a row like the others, say --no-header");
    }
    Problem::NoColumn {
        flag,
        name: name.to_string(),
        columns,
    }
}

/// The names of columns, or the first and the last of them.
pub(super) fn list(names: &[String]) -> String {
    const NAMED: usize = 8;
    first_of(names.iter().map(|name| column_called(name)), NAMED)
}

#[derive(Default)]
struct Below {
    columns: Vec<Column>,
    rows: usize,
    /// How many rows have more cells than there are names, the first of them with its line and its number of cells, and
    /// whether another of them has another number of cells.
    wider: usize,
    wide: Option<(usize, usize)>,
    widths_differ: bool,
}

impl Below {
    fn of(
        text: &str,
        delimiter: char,
        names: &[String],
        reading: &Reading,
    ) -> Result<Self, Problem> {
        // Times are asked of series, and of a table without a label, which may be one.
        let label = reading.label.as_deref().unwrap_or(reading.usual_label());
        let is_series = reading.target.is_some() || reading.id.is_some();
        let asks_times =
            is_series || numbers_of(names, label).len() > 1 || column(names, label).is_none();
        let mut below = Self {
            columns: names.iter().map(|name| Column::new(name)).collect(),
            ..Self::default()
        };
        each_row(text, delimiter, reading.no_header, |record, place| {
            below.rows += 1;
            let is_wider = record.len() > names.len();
            if is_wider {
                below.wider += 1;
                let (_, width) = *below.wide.get_or_insert((place.first, record.len()));
                below.widths_differ |= width != record.len();
            }
            let is_series = asks_times && place.quoted_well && !is_wider;
            for (column, cell) in below.columns.iter_mut().zip(record) {
                column.add(place.first, cell.trim(), is_series);
            }
            Ok(())
        })?;
        Ok(below)
    }

    /// A line with more cells than there are names, and its number of cells, if most lines have that number. Where such
    /// lines differ in it, commas inside of texts are probably not in quotes.
    fn wide(&self) -> Option<(usize, usize)> {
        let wide = self.wide.filter(|_| !self.widths_differ);
        wide.filter(|_| 2 * self.wider > self.rows)
    }

    /// Whether the first line counts the rows and the columns, as the files of scikit-learn begin: `150,4,setosa,…`.
    fn is_counted_by(&self, names: &[String]) -> bool {
        let [rows, columns, ..] = names else {
            return false;
        };
        let [rows, columns] = [rows, columns].map(|name| name.parse::<usize>().ok());
        // The column of the label is often not counted.
        let width = self.wide().map_or(names.len(), |(_, width)| width);
        rows == Some(self.rows)
            && (columns == Some(width) || columns.map(|of| of + 1) == Some(width))
    }

    /// Whether each name is what the cells below it are: a number over numbers, or a word that occurs among them. Numbers that count
    /// columns are names.
    fn is_continued_from(&self, names: &[String]) -> bool {
        let counts_columns = is_run(&numbers_among(names));
        let mut alike = 0;
        for (column, name) in self.columns.iter().zip(names) {
            let same = match column.is_mostly_numbers() {
                true => finite(name).is_some(),
                false => column.has_name,
            };
            // Where cells hardly repeat, as in a column of texts, a name that is not among them tells nothing.
            let tells_nothing =
                !column.is_mostly_numbers() && !column.repeats_soon() && !name.is_empty();
            match (same, tells_nothing) {
                (true, _) => alike += usize::from(!(column.is_mostly_numbers() && counts_columns)),
                (false, true) => {}
                (false, false) => return false,
            }
        }
        alike > 0
    }

    /// Whether columns have numbers for names: all columns, or some that hold numbers, unless these names just count
    /// columns.
    fn is_named_by_numbers(&self, names: &[String]) -> bool {
        let mut both = self.columns.iter().zip(names);
        let over = both.any(|(column, name)| column.is_mostly_numbers() && finite(name).is_some());
        let numbers = numbers_among(names);
        numbers.len() == names.len() || (over && !is_run(&numbers))
    }

    /// Why the first line is no header, and how to go on. `are_asked` says that it has every name that a flag or a study asks for.
    fn why_no_header(
        &self,
        names: &[String],
        reading: &Reading,
        are_asked: bool,
    ) -> Option<String> {
        let wide = self.wide();
        let width = wide.map_or(names.len(), |(_, width)| width);
        let is_counts = self.is_counted_by(names);
        let wanted = reading.label.as_ref().or(reading.target.as_ref());
        let is_named = wanted.is_some_and(|name| column(names, name).is_some());
        if is_counts && (wide.is_some() || !is_named) {
            return Some(format!(
                "is no header: it looks like a count of rows and columns ({} rows of {width} columns follow); write the names of the \
                 {width} columns in its place, or delete it and say --no-header, which calls the columns 1 to {width}",
                grouped(self.rows)
            ));
        }
        if let Some((at, width)) = wide {
            return Some(format!(
                "is no header: it has {}, and most lines have more, such as line {at}, which has {width}; delete it if it is a title, \
                 begin the file with a name for each column, and write cells that hold a separator in double quotes{}",
                counted(names.len(), "cell"),
                match width == names.len() + 1 {
                    true =>
                        " (a table that R writes with the names of its rows takes col.names = NA)",
                    false => "",
                }
            ));
        }
        (!is_counts && !are_asked && self.is_continued_from(names)).then(|| {
            format!(
                "is read as the names of the columns, and looks like a row as those below it; say --no-header, which calls the columns 1 \
                 to {width}, or write a line with the names above it"
            )
        })
    }
}

/// Whether the columns to read are asked for by their names, as those of a study are, and all of these stand in the first line.
fn are_asked(names: &[String], reading: &Reading) -> bool {
    let asked = reading.columns.as_ref();
    asked.is_some_and(|asked| asked.iter().all(|name| names.contains(name)))
}

fn numbers_among(names: &[String]) -> Vec<f64> {
    names.iter().filter_map(|name| finite(name)).collect()
}

/// Whether names only number the columns: all are numbers, or the same words around a number, as in `x1_am`, `x2_am`.
pub(super) fn is_numbered(names: &[String]) -> bool {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let around = |name: &String| {
        let from = name.find(is_digit)?;
        let to = name[from..]
            .find(|c| !is_digit(c))
            .map_or(name.len(), |after| from + after);
        Some((name[..from].to_string(), name[to..].to_string()))
    };
    let first = names.first().and_then(around);
    numbers_among(names).len() == names.len()
        || first.is_some() && names.iter().all(|name| around(name) == first)
}

/// Whether numbers are such as name columns: 0, 1, 2 and so on, or at least three with equal steps, such as years.
fn is_run(numbers: &[f64]) -> bool {
    let steps: Vec<f64> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let Some(first) = steps.first() else {
        // What pandas calls a column without a name.
        return numbers == [0.0];
    };
    let equal = steps
        .iter()
        .all(|step| (step - first).abs() <= 1e-6 * first.abs());
    let counts = *first == 1.0 && [0.0, 1.0].contains(&numbers[0]);
    *first > 0.0 && equal && (counts || steps.len() > 1)
}

/// What the columns of a table hold, and what is odd about its header, in lines for a person.
///
/// # Errors
///
/// [`Problem::Other`] for a first line that is no header: one that counts rows and columns (unless the label or the target is
/// named as it says), one with fewer names than most rows have cells, and one that is a row like the others.
pub(super) fn survey(
    text: &str,
    delimiter: char,
    (names, line): (&[String], usize),
    reading: &Reading,
) -> Result<(Vec<Column>, Vec<String>), Problem> {
    let below = Below::of(text, delimiter, names, reading)?;
    if reading.no_header || below.rows == 0 {
        return Ok((below.columns, Vec::new()));
    }
    let first = format!(
        "line {line}, {}",
        shorten(&names.join(&delimiter.to_string()))
    );
    let are_asked = are_asked(names, reading);
    if let Some(why) = below.why_no_header(names, reading, are_asked) {
        return Err(Problem::Other(format!("{first}, {why}")));
    }
    let mut notes = Vec::new();
    if below.is_counted_by(names) {
        notes.push(format!(
            "{first}, looks like a count of rows and columns, and is read as the names of the columns"
        ));
    } else if !are_asked && below.is_named_by_numbers(names) {
        notes.push(format!(
            "{first}, names columns by numbers; if it is a row like the others, say --no-header"
        ));
    }
    notes.extend(of_one_name(names));
    Ok((below.columns, notes))
}

/// What is to be said of names that several columns have.
fn of_one_name(names: &[String]) -> Vec<String> {
    let mut known = HashSet::new();
    let mut told = HashSet::new();
    let again = names
        .iter()
        .filter(|name| !name.is_empty() && !known.insert(*name));
    let again = again.filter(|name| told.insert(*name)).take(SHOWN);
    let note = |name: &String| {
        format!(
            "the columns {} are all called {}, so that neither flags nor `predict` can tell them apart",
            in_words(&numbers_of(names, name)),
            shorten(name)
        )
    };
    again.map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::super::records::names_of;
    use super::*;
    use crate::data::testing::{Says, rows};

    #[test]
    fn names_that_only_number_the_columns() {
        let of = |names: &str| {
            let names = names.split(',').map(String::from).collect::<Vec<_>>();
            is_numbered(&names)
        };
        for numbered in ["x1,x2,x3", "0.5,1.0,1.5", "-1,0,1", "d1_am,d2_am", "7"] {
            assert!(of(numbered), "{numbered}");
        }
        for named in ["a,b,c", "x1,x2,note", "x1,y2", "temperature", "d1_am,d1_pm"] {
            assert!(!of(named), "{named}");
        }
    }

    fn checked(text: &str, label: Option<&str>) -> Result<Vec<String>, String> {
        let reading = Reading {
            label: label.map(String::from),
            ..Reading::default()
        };
        let (names, line) = names_of(text, ',', false).unwrap();
        let survey = survey(text, ',', (&names, line), &reading);
        survey
            .map(|(_, notes)| notes)
            .map_err(|problem| problem.to_string())
    }

    /// A table with this first line, and rows of this kind below it.
    fn table(first: &str, kind: &str) -> String {
        let row = |row: usize| match kind {
            "iris" => format!("{}.{},3.5,{}", row % 9, row % 7, row % 3),
            "names" => format!("{}.5,3.5,{}", row % 9, ["setosa", "virginica"][row % 2]),
            "months" => format!("19{row:02}-01,{}", row * row % 17),
            "decimals" => format!("2016-{row:02},{row}.5"),
            "letters" => ["e,x", "p,x", "p,b"][row % 3].into(),
            _ => format!("c{row},1,2,3"),
        };
        let rows: String = (0..60).map(|at| row(at) + "\n").collect();
        format!("{first}\n{rows}")
    }

    #[test]
    fn a_first_line_that_is_no_header_is_refused() {
        for [first, kind, words] in rows(
            "
            60,2,setosa     | iris    | looks like a count of rows and columns (60 rows of 3 columns follow)
            60,2            | iris    | write the names of the 3 columns in its place
            Flowers of 1936 | iris    | it has 1 cell, and most lines have more, such as line 2, which has 3
            sepal,petal     | iris    | col.names = NA
            5.1,3.5,0       | iris    | looks like a row as those below it; say --no-header
            5.1,3.5,setosa  | names   | calls the columns 1 to 3
            1899-01,112     | months  | looks like a row
            e,x             | letters | looks like a row
            ",
        ) {
            let wrong = checked(&table(first, kind), None).unwrap_err();
            wrong.says(&format!("line 1, `{first}`, is  … {words}"));
        }
    }

    #[test]
    fn an_odd_header_is_told_and_a_usual_one_is_not() {
        // An index has no name, or 0 where pandas names it.
        for [first, kind, label, note] in rows(
            "
            60,2,setosa            | iris      | setosa | looks like a count
            0,1,2                  | iris      |        | names columns by numbers
            5.1,3.5,label          | iris      |        | names columns by numbers
            x,x,label              | iris      |        | the columns 1 and 2 are all called `x`
            1990,1991,1992         | names     |        | names columns by numbers
            sepal,petal,label      | iris      |        |
            0,1,label              | names     |        |
            ,petal,label           | iris      |        |
            Month,0                | decimals  |        |
            country,2019,2020,2021 | countries |        |
            ",
        ) {
            let label = Some(label).filter(|label| !label.is_empty());
            let notes = checked(&table(first, kind), label).unwrap();
            assert_eq!(notes.len(), usize::from(!note.is_empty()), "{notes:?}");
            notes.join("\n").says(note);
        }
    }

    #[test]
    fn a_name_of_two_columns_is_asked_about_where_a_flag_says_it() {
        let names = ["x", "y", "x", "Y"].map(String::from);
        let found =
            |name| find_column("--text", name, &names, false).map_err(|why| why.to_string());
        assert_eq!(found("y"), Ok(1));
        assert_eq!(found("Y"), Ok(3));
        let wrong = found("x").unwrap_err();
        wrong.says("--text names `x`, and the columns 1 and 3 are called so");
    }
}
