//! Tables: a header that names the columns, one of which is the label.

mod cells;

use std::borrow::Cow;

use csv::StringRecord;

use cells::{cells_or_numbers, doubts, mixed};

use super::column::{decimal_commas, with_point};
use super::error::{Problem, SHOWN, list as items};
use super::header::{column, list};
use super::labels::Labels;
use super::quote::{column_called, columns_typed, grouped, shorten, typed};
use super::reading::{Reading, TokenKind};
use super::rows::{Collector, Tokens};
use super::sheet::{Form, Sheet};

/// The column of the prompt, where answers are written.
const PROMPT: &str = "prompt";

/// Names that a label often has in files of others.
const LABEL_NAMES: [&str; 6] = ["class", "target", "category", "y", "labels", "sentiment"];

/// Names of columns of times, if they hold numbers.
pub(super) const TIMES: [&str; 5] = ["date", "time", "datetime", "timestamp", "year"];

/// Which columns hold the label, the group and the tokens.
struct Layout<'a> {
    sheet: &'a Sheet<'a>,
    /// The column of the label. Rows to predict need none.
    label: Option<usize>,
    group: Option<usize>,
    /// The columns of the tokens, in the order in which they are read.
    tokens: Vec<usize>,
    kind: TokenKind,
}

/// Reads labelled sequences, and returns in words where they were found.
///
/// A row may have fewer fields than the header, but not more. A cell that is empty is a token of its own,
/// unless no other cell of the row comes after it: then the row ends before it.
///
/// # Errors
///
/// A [`Problem`] that names the flag to use when the header does not say which columns are the label and the
/// tokens; [`Problem::TooManyRows`].
pub(super) fn read(text: &str, form: Form, rows: &mut Collector) -> Result<Vec<String>, Problem> {
    let reading = &rows.reading.clone();
    let sheet = Sheet::of(text, reading, form)?;
    let mut layout = Layout::of(&sheet, reading, rows.labels_are)?;
    if reading.tokens.is_none() {
        layout.kind = rows.settle(layout.kind);
    }
    rows.tokens_are(layout.kind);
    if reading.text.is_none() && reading.columns.is_none() && !reading.no_header {
        layout.tokens = rows.by_name(&sheet.names, layout.tokens)?;
    }
    let commas = layout.decimal_commas(reading);
    let mut notes = layout.describe(reading);
    if layout.kind == TokenKind::Cells && reading.tokens.is_none() && !reading.is_answer() {
        notes.extend(mixed(&sheet.names, &sheet.columns, &layout.tokens));
    }
    let has_commas = rows.ways.has_commas;
    notes.extend(decimal_commas(
        &sheet.names,
        &sheet.columns,
        &commas,
        has_commas,
    )?);
    rows.ways.has_commas |= !commas.is_empty();
    let has_comma = layout.label.is_some_and(|label| commas.contains(&label));
    sheet.each(|line, row| {
        let record = match row {
            Ok(record) => record,
            Err(what) => {
                rows.reject(line, what);
                return Ok(());
            }
        };
        let label = layout.label.and_then(|label| record.get(label));
        let label = match has_comma {
            true => label.map(with_point).map(Cow::from),
            false => label.map(Cow::from),
        };
        let group = layout.group.map(|group| record.get(group).unwrap_or(""));
        let tokens = layout.tokens_of(record);
        rows.take(line, label.as_deref(), group, tokens)
    })?;
    Ok(notes)
}

/// The names of the columns that hold the tokens of labelled rows, in their order, and what a token is.
///
/// # Errors
///
/// Those of [`read`], and [`Problem::Reading`] when two of these columns have one name.
pub(super) fn token_columns(
    text: &str,
    reading: &Reading,
    form: Form,
) -> Result<(Vec<String>, TokenKind), Problem> {
    let sheet = Sheet::of(text, reading, form)?;
    let layout = Layout::of(&sheet, reading, Labels::Needed)?;
    let names = sheet.names_of(&layout.tokens);
    for name in &names {
        if sheet.names.iter().filter(|known| *known == name).count() > 1 {
            return Err(Problem::Reading(format!(
                "two columns are called {}, so that rows of another file cannot be read by name; \
                 give them names of their own",
                shorten(name)
            )));
        }
    }
    Ok((names, layout.kind))
}

impl<'a> Layout<'a> {
    /// Finds these columns: as the flags say, and where they do not, as the names and the cells suggest.
    fn of(sheet: &'a Sheet<'a>, reading: &Reading, labels: Labels) -> Result<Self, Problem> {
        let label = match labels {
            Labels::Needed => Some(label_column(sheet, reading)?),
            Labels::IfAny => label_column(sheet, reading).ok(),
        };
        let group = reading.group.as_deref();
        let group = group.map(|name| sheet.find("--group", name)).transpose()?;
        if let (Some(name), true) = (&reading.group, group.is_some() && group == label) {
            return Err(Problem::Reading(format!(
                "--group names {}, which is the column of the label; rows of one label are not all on one side of a split",
                shorten(name)
            )));
        }
        let mut layout = Self {
            sheet,
            label,
            group,
            tokens: Vec::new(),
            kind: TokenKind::Cells,
        };
        (layout.tokens, layout.kind) = layout.find_tokens(reading)?;
        Ok(layout)
    }

    fn is_token(&self, column: usize) -> bool {
        ![self.label, self.group].contains(&Some(column))
    }

    /// The column of tokens that a flag names.
    fn find(&self, flag: &'static str, name: &str) -> Result<usize, Problem> {
        match self.sheet.find(flag, name)? {
            found if Some(found) == self.label => Err(Problem::Reading(format!(
                "{flag} names {}, which is the column of the label; say which one the label is with \
                 --label",
                shorten(name)
            ))),
            found if Some(found) == self.group => Err(Problem::Reading(format!(
                "{flag} names {}, which is the column of the group; a group is no token",
                shorten(name)
            ))),
            found => Ok(found),
        }
    }

    /// The columns of the tokens, and what a token is.
    fn find_tokens(&self, reading: &Reading) -> Result<(Vec<usize>, TokenKind), Problem> {
        let (names, columns) = (&self.sheet.names, &self.sheet.columns);
        let others: Vec<usize> = (0..names.len()).filter(|of| self.is_token(*of)).collect();
        if let ([], Some(group)) = (&others[..], self.group) {
            return Err(Problem::Reading(format!(
                "--group names {}, and beside it and the label there is no column of tokens",
                shorten(&names[group])
            )));
        }
        if let ([], Some(label)) = (&others[..], self.label) {
            return Err(Problem::Other(format!(
                "has no column beside {}; the tokens are in all the other columns. If the columns are not separated by \
                 commas, say --delimiter tab or --delimiter ';'",
                shorten(&names[label])
            )));
        }
        let one = |column: usize| (vec![column], reading.tokens.unwrap_or(TokenKind::Words));
        if let Some(name) = &reading.text {
            return Ok(one(self.find("--text", name)?));
        }
        if let Some(named) = &reading.columns {
            return self.named_tokens(named, reading);
        }
        let prompt = (reading.is_answer() && !reading.no_header)
            .then(|| column(names, PROMPT))
            .flatten();
        if let Some(column) = prompt {
            return Ok(one(column));
        }
        if let [column] = others[..] {
            return Ok(one(column));
        }
        let doubts = doubts(names, &others, columns, reading);
        if !doubts.is_empty() {
            return Err(Problem::Other(self.in_doubt(&doubts, &others)));
        }
        let found = || cells_or_numbers(names, columns, &others, reading);
        let kind = reading.tokens.map_or_else(found, Ok)?;
        Ok((others, kind))
    }

    /// Says which columns may not hold tokens, and how to name those that do.
    fn in_doubt(&self, doubts: &[(usize, String)], others: &[usize]) -> String {
        let (names, columns) = (&self.sheet.names, &self.sheet.columns);
        let shown: Vec<&String> = doubts.iter().take(SHOWN).map(|(_, why)| why).collect();
        let text = others.iter().copied().max_by_key(|c| columns[*c].texts);
        let text = text.filter(|column| columns[*column].is_text());
        let is_good = |at: &usize| doubts.iter().all(|(of, _)| of != at);
        let good: Vec<usize> = others.iter().copied().filter(is_good).collect();
        format!(
            "{}\nSay where the tokens are: --text {} (the words of one column), or --columns {} (a token per cell; FIRST..LAST names \
             a range of columns); --tokens cells, words or characters says what a token is. The columns are: {}",
            items(
                "not every column looks like a token:".into(),
                doubts.len(),
                &shown
            ),
            text.map_or("COLUMN".into(), |column| typed(&names[column])),
            match good.len() {
                0 | 1 => "A,B".into(),
                _ => columns_typed(names, &good),
            },
            list(names)
        )
    }

    /// The columns that `--columns` names, and what a token is.
    fn named_tokens(
        &self,
        named: &[String],
        reading: &Reading,
    ) -> Result<(Vec<usize>, TokenKind), Problem> {
        let (names, columns) = (&self.sheet.names, &self.sheet.columns);
        let find = |name: &str| self.find("--columns", name);
        let tokens = ranges(names, named, find, |column| !self.is_token(column))?;
        let kind = match (reading.tokens, &tokens[..]) {
            (Some(kind), _) => kind,
            (None, [_]) => TokenKind::Words,
            (None, _) => match tokens.iter().find(|column| columns[**column].is_text()) {
                None => cells_or_numbers(names, columns, &tokens, reading)?,
                Some(column) => {
                    return Err(Problem::Reading(format!(
                        "the cells of {} hold several words; say what a token is: --tokens \
                         cells (the whole cell), words or characters",
                        shorten(&names[*column])
                    )));
                }
            },
        };
        Ok((tokens, kind))
    }
}

/// The columns that `--columns` names: one by one, or as `FIRST..LAST` without those that `hides` says.
pub(super) fn ranges(
    names: &[String],
    named: &[String],
    find: impl Fn(&str) -> Result<usize, Problem>,
    hides: impl Fn(usize) -> bool,
) -> Result<Vec<usize>, Problem> {
    // The flag is divided at commas, also at those in the names of columns.
    let commas = names.iter().map(|name| name.matches(',').count());
    let most = 2 * commas.max().unwrap_or(0) + 1;
    let ends = |name: &str| {
        name.split_once("..")
            .map(|(from, to)| [from, to].map(String::from))
    };
    let is_known = |name: &str| column(names, name).is_some();
    let is_named = |name: &str| {
        is_known(name) || ends(name).is_some_and(|ends| ends.iter().all(|name| is_known(name)))
    };
    let mut columns = Vec::new();
    let mut rest = named;
    while !rest.is_empty() {
        let mut whole = (1..=most.min(rest.len())).rev();
        let parts = whole.find(|parts| is_named(&rest[..*parts].join(",")));
        let parts = parts.unwrap_or(1);
        let name = rest[..parts].join(",");
        rest = &rest[parts..];
        match (column(names, &name), ends(&name)) {
            (None, Some([from, to])) => {
                let ends = [find(&from)?, find(&to)?];
                if ends[0] > ends[1] {
                    return Err(Problem::Reading(format!(
                        "--columns names {}, but {} comes after {} in the file",
                        shorten(&name),
                        shorten(&from),
                        shorten(&to)
                    )));
                }
                columns.extend((ends[0]..=ends[1]).filter(|column| !hides(*column)));
            }
            _ => columns.push(find(&name)?),
        }
    }
    Ok(columns)
}

fn label_column(sheet: &Sheet<'_>, reading: &Reading) -> Result<usize, Problem> {
    let (names, line) = (&sheet.names, sheet.line);
    if let Some(name) = &reading.label {
        return sheet.find("--label", name);
    }
    if reading.no_header {
        let columns = names.len();
        return Err(Problem::Other(format!(
            "without a header the columns are called 1 to {columns}; say which one is the label, such as --label {columns}"
        )));
    }
    let usual = reading.usual_label();
    let called = |same: fn(&str, &str) -> bool| {
        let columns = (0..names.len()).filter(move |column| same(&names[*column], usual));
        columns.collect::<Vec<usize>>()
    };
    let mut named = called(|name, usual| name == usual);
    if named.is_empty() {
        named = called(|name, usual| name.eq_ignore_ascii_case(usual));
    }
    if let [column] = named[..] {
        return Ok(column);
    }
    if reading.is_answer() {
        return Err(Problem::Reading(format!(
            "--causal reads a column `{PROMPT}` and writes a column `{usual}`, and the columns of line {line} are {}; name yours \
             with --text COLUMN and --label COLUMN",
            list(names)
        )));
    }
    let known = |name: &&String| LABEL_NAMES.contains(&name.to_ascii_lowercase().as_str());
    let likely = names.iter().find(known);
    Err(Problem::Other(format!(
        "{} columns of the header (line {line}) are called `label`, and it takes exactly one; {}{}; the columns are: {}",
        match named.len() {
            0 => "no".to_string(),
            count => count.to_string(),
        },
        match named.len() {
            0 => format!(
                "name it with --label {}, or say --no-header if the first line is a row like the others",
                likely.map_or("COLUMN".into(), |name| typed(name))
            ),
            _ => "give the others another name in the file".into(),
        },
        match names.iter().any(|name| name == PROMPT) {
            true => "; prompts with answers to be written take --causal".into(),
            false => series_in(sheet).map_or(String::new(), |how| format!("; {how}")),
        },
        list(names)
    )))
}

/// How to read a table that has a column of times as a series, or as several of them where times do not only go forward.
fn series_in(sheet: &Sheet<'_>) -> Option<String> {
    let (names, columns) = (&sheet.names, &sheet.columns);
    let is_time = |at: &usize| {
        let name = names[*at].to_ascii_lowercase();
        TIMES.contains(&name.as_str()) && columns[*at].dates.is_numbers()
    };
    let all = || 0..names.len();
    let time = all().find(|at| columns[*at].dates.is_dates());
    let time = time.or_else(|| all().find(is_time))?;
    let others = || all().filter(|at| *at != time);
    let is_channel = |at: &usize| !names[*at].is_empty() && columns[*at].dates.is_numbers();
    let mut channels: Vec<usize> = others().filter(is_channel).collect();
    let all_read = channels.len() == others().count();
    let goes_forward = columns[time].goes_forward();
    let time = typed(&names[time]);
    if !goes_forward {
        return Some(format!(
            "if the rows are the steps of several series, say which of them a row belongs to, and the class of each, with --id COLUMN \
             --label COLUMN --time {time}"
        ));
    }
    let target = channels.pop()?;
    Some(format!(
        "if the rows are measurements in the order of time, say what is to be predicted and where the times are, such as --target {} \
         --time {time}{}",
        typed(&names[target]),
        match (all_read, &channels[..]) {
            (true, _) => String::new(),
            (false, []) => format!(" --columns {}", typed(&names[target])),
            (false, read) => format!(" --columns {}", columns_typed(names, read)),
        }
    ))
}

impl Layout<'_> {
    /// The columns that are read as numbers with decimal commas: of tokens that are numbers, and a label of numbers.
    fn decimal_commas(&self, reading: &Reading) -> Vec<usize> {
        let columns = &self.sheet.columns;
        let tokens = self
            .tokens
            .iter()
            .filter(|_| self.kind == TokenKind::Numbers);
        let is_number = |at: &&usize| !reading.is_answer() && columns[**at].is_numbers_or_missing();
        let all = tokens.chain(self.label.iter().filter(is_number)).copied();
        all.filter(|at| columns[*at].has_comma()).collect()
    }

    /// The tokens of a row, up to its last cell that is not empty.
    fn tokens_of(&self, record: &StringRecord) -> Tokens {
        let has_comma = |column: usize| {
            self.kind == TokenKind::Numbers && self.sheet.columns[column].has_comma()
        };
        let cell = |column: usize| record.get(column).unwrap_or("").trim();
        let is_filled = |column: &usize| !cell(*column).is_empty();
        let filled = self
            .tokens
            .iter()
            .rposition(is_filled)
            .map_or(0, |last| last + 1);
        let mut tokens = Tokens::default();
        for column in &self.tokens[..filled] {
            match cell(*column) {
                "" => tokens.push_empty(),
                cell if has_comma(*column) => tokens.push(&with_point(cell)),
                cell => Reading::split(self.kind, cell, |token| tokens.push(token)),
            }
        }
        // A row that has fewer fields than the header ends early; empty cells at its end do the same.
        let present = self.tokens.iter().filter(|c| **c < record.len()).count();
        tokens.ended_by_empty = filled > 0 && filled < present;
        tokens
    }

    /// Where the label and the tokens were found, and what was not read.
    fn describe(&self, reading: &Reading) -> Vec<String> {
        let name = |column: usize| column_called(&self.sheet.names[column]);
        let tokens = match self.tokens[..] {
            [column] => format!("column {}", name(column)),
            [first, second] => format!("the columns {} and {}", name(first), name(second)),
            [first, .., last] => format!(
                "{} columns, {} to {}",
                grouped(self.tokens.len()),
                name(first),
                name(last)
            ),
            [] => String::new(),
        };
        let kind = match self.kind {
            TokenKind::Cells => "a token is a cell",
            TokenKind::Words => "a token is a word",
            TokenKind::Characters => "a token is a character",
            TokenKind::Numbers => {
                "a token is a cell, read as a number (--tokens cells reads symbols)"
            }
            TokenKind::Bytes | TokenKind::U16 | TokenKind::U32 => "a token is an id",
        };
        let mut lines = vec![format!(
            "{}; tokens from {tokens}; {kind}{}; columns separated by {}{}",
            match self.label {
                Some(label) => format!("{} from column {}", reading.usual_label(), name(label)),
                None => format!("no column {}", reading.usual_label()),
            },
            match self.group {
                Some(group) => format!("; groups from column {}", name(group)),
                None => String::new(),
            },
            self.sheet.separator(),
            match reading.no_header {
                true => "; no header",
                false => "",
            }
        )];
        let is_read = |column| !self.is_token(column) || self.tokens.contains(&column);
        lines.extend(self.sheet.not_read(is_read));
        lines.extend(self.sheet.notes.iter().cloned());
        lines
    }
}
