//! Collects labelled token sequences, and the rows that cannot be used.

use std::borrow::Cow;

use super::class_table::ClassTable;
use super::error::Problem;
use super::header::{is_numbered, list};
use super::labels::{Labels, Missing, UNLABELLED};
use super::limits::{MAX_CHARACTERS, MAX_ROWS, MAX_TOKENS, MAX_WORDS, MIN_ROWS};
use super::numbered::Numbered;
use super::numbers;
use super::patches::{self, MAX_PATCH};
use super::quote::{grouped, shorten};
use super::reading::{Objective, Reading, TokenKind};
use super::times::Times;
use super::untaken::{SHOWN_EMPTY, Untaken};
use super::ways::Ways;
use crate::grouped::counted;

/// One labelled sequence: its tokens and its label as indices into [`Rows::words`] and [`Rows::labels`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub tokens: Vec<u32>,
    pub label: usize,
}

/// The rows of a file, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rows {
    pub rows: Vec<Row>,
    /// The group of each row, as a number. None where rows have no groups.
    pub groups: Vec<u32>,
    /// The different tokens, in the order of their first occurrence.
    pub words: Vec<String>,
    /// The different labels, sorted.
    pub labels: Vec<String>,
    /// What a token is, where a person may choose.
    pub kind: Option<TokenKind>,
    /// Where labels are answers that are written: the tokens of each, as indices into [`Rows::words`].
    pub answers: Option<Vec<Vec<u32>>>,
    /// What a token of such an answer is.
    pub written: Option<TokenKind>,
    /// Where tokens are numbers: how many each has.
    pub channels: Option<usize>,
    /// Where labels are numbers that are to be predicted: the number of each.
    pub targets: Option<Vec<f64>>,
    /// The times of the tokens, where rows have any.
    pub times: Option<Times>,
    /// The name of each row, where rows have names of their own.
    pub names: Vec<String>,
    /// How the first file writes what may be read in two ways.
    pub ways: Ways,
}

impl Rows {
    /// What tells a row from others: its tokens, and where rows have times, how long after the first each comes.
    pub fn sequence(&self, row: usize) -> Cow<'_, [u32]> {
        let tokens = &self.rows[row].tokens;
        let Some(times) = &self.times else {
            return tokens.into();
        };
        let halves = times.row(row).iter().flat_map(|since| {
            let bits = since.to_bits();
            [(bits >> 32) as u32, bits as u32]
        });
        tokens.iter().copied().chain(halves).collect()
    }

    /// Takes the times away if they tell no more than the order of the tokens, or if only the order is to count
    /// (`order_alone`). Says so in words.
    pub fn settle_times(&mut self, order_alone: bool) -> Option<String> {
        let times = self.times.as_ref()?;
        let said = times
            .said_if_equal()
            .or_else(|| order_alone.then(|| times.said_of_order()));
        if said.is_some() {
            self.times = None;
        }
        said
    }

    /// Whether labels are classes, and neither answers that are written nor numbers.
    pub fn has_classes(&self) -> bool {
        self.answers.is_none() && self.targets.is_none()
    }
}

/// The token of an empty cell.
pub(super) const EMPTY: &str = "";

/// A token as a person reads it: spaces and empty cells can be seen.
pub(super) fn shown(token: &str) -> &str {
    match token {
        EMPTY => SHOWN_EMPTY,
        " " => "\u{2423}",
        other => other,
    }
}

/// The tokens of a row that is being read. Tokens beyond the limit are only counted.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    kept: Vec<String>,
    count: usize,
    /// The number of empty cells among them.
    empty: usize,
    /// Whether empty cells at the end of the row were taken for its end.
    pub ended_by_empty: bool,
    pub times: Vec<f64>,
    /// The name of the row, where rows have names of their own.
    pub name: Option<String>,
}

impl Tokens {
    pub fn push(&mut self, token: &str) {
        self.count += 1;
        if self.count <= MAX_TOKENS * MAX_PATCH {
            // A token that is too long is an error; its beginning is enough for the message.
            let end = token.char_indices().nth(MAX_CHARACTERS + 1);
            self.kept
                .push(token[..end.map_or(token.len(), |(at, _)| at)].to_string());
        }
    }

    pub fn push_empty(&mut self) {
        self.empty += 1;
        self.push(EMPTY);
    }

    pub fn count(&self) -> usize {
        self.count
    }
}

/// Collects rows, and notes those that cannot be used, so that one message lists several of them.
/// One collector reads one file after the other: first the rows, then those of a test file.
#[derive(Debug, Default)]
pub(super) struct Collector {
    /// How rows are read. The objective is `None` there if the labels decide what is predicted, by being numbers or not.
    pub reading: Reading,
    pub labels_are: Labels,
    /// The classes of rows by their ids, where they are in a table of their own.
    pub classes: Option<ClassTable>,
    /// How the file before writes what may be read in two ways.
    pub ways: Ways,
    /// Where rows are to be predicted: the labels of the study that are words for a missing value.
    words_of_study: Vec<String>,
    /// The rows so far. Their tokens, labels and groups are indices of the strings below.
    out: Rows,
    words: Numbered,
    labels: Numbered,
    groups: Numbered,
    untaken: Untaken,
    /// The labels of this file that are words for a missing value.
    missing: Missing,
    /// The number of rows of the files that were read before.
    before: usize,
    /// The columns that the numbers of tokens come from, where they have to be the same in all files.
    columns: Option<Vec<String>>,
    /// The names of the columns that hold the tokens of the first table.
    names: Option<Vec<String>>,
}

impl Collector {
    /// Cuts sequences, joins steps of numbers and takes labels as a person said.
    pub fn new(reading: &Reading, labels_are: Labels) -> Self {
        Self {
            reading: reading.clone(),
            labels_are,
            ..Self::default()
        }
    }

    /// For rows to be predicted, as those of a study with these ways and labels were read.
    pub fn to_predict(reading: &Reading, ways: Ways, labels: &[String]) -> Self {
        let words = labels.iter().filter(|label| numbers::is_missing(label));
        Self {
            ways,
            words_of_study: words.cloned().collect(),
            ..Self::new(reading, Labels::IfAny)
        }
    }

    /// Says what a token is. Answers that are written are divided into tokens as texts are; a cell has one or several words.
    pub fn tokens_are(&mut self, kind: TokenKind) {
        self.out.kind = Some(kind);
        if kind == TokenKind::Numbers {
            self.measure(1);
        }
        if self.reading.is_answer() {
            self.out.written = Some(match kind {
                TokenKind::Characters => kind,
                _ => TokenKind::Words,
            });
        }
    }

    /// Takes every token for `channels` numbers.
    pub fn measure(&mut self, channels: usize) {
        self.out.channels = self.out.channels.or(Some(channels));
    }

    /// Takes labels for numbers to be predicted, unless a person said that they are classes.
    pub fn ask_numbers(&mut self) {
        self.reading.objective.get_or_insert(Objective::Number);
    }

    /// Whether labels are numbers to be predicted, by what was said and not by what they look like.
    pub fn asks_numbers(&self) -> bool {
        self.reading.objective == Some(Objective::Number)
    }

    /// [`measure`](Self::measure) of numbers from these columns.
    ///
    /// # Errors
    ///
    /// [`Problem::Test`] where the columns of the file before are others.
    pub fn measure_columns(&mut self, columns: &[String]) -> Result<(), Problem> {
        self.measure(columns.len());
        match &self.columns {
            Some(before) if before != columns => Err(Problem::Test(format!(
                "its channels are {}, and those of the first file {}, in this order; name them with --columns",
                list(columns),
                list(before)
            ))),
            _ => {
                self.columns = Some(columns.to_vec());
                Ok(())
            }
        }
    }

    /// The columns with the tokens of a table that has columns of these names: those that the first table had, found by
    /// their names. Where names only count the columns, as `x1`, `x2`, …, and one table has the first columns of the other, its
    /// rows are shorter or longer and are read as they stand.
    ///
    /// # Errors
    ///
    /// [`Problem::Test`] for a column that the first table has and this one has not.
    pub fn by_name(&mut self, names: &[String], tokens: Vec<usize>) -> Result<Vec<usize>, Problem> {
        let own: Vec<String> = tokens.iter().map(|at| names[*at].clone()).collect();
        let first = self.names.get_or_insert_with(|| own.clone());
        let is_part = first.starts_with(&own) || own.starts_with(first);
        let longer = if own.len() > first.len() {
            &own
        } else {
            &*first
        };
        if *first == own || is_part && is_numbered(longer) {
            return Ok(tokens);
        }
        let find = |name: &String| {
            let mut at = (0..names.len()).filter(|at| names[*at] == *name);
            match (at.next(), at.next()) {
                (Some(at), None) => Ok(at),
                (first, _) => Err(Problem::Test(format!(
                    "it has {} {}, and the first file has one; its columns are {}",
                    if first.is_some() {
                        "several columns"
                    } else {
                        "no column"
                    },
                    shorten(name),
                    list(names)
                ))),
            }
        };
        first.iter().map(find).collect()
    }

    /// Says whether the series of a file that is read now have times, and which.
    ///
    /// # Errors
    ///
    /// [`Problem::Test`] where the series of the file before have no times, or others.
    pub fn expect_times(&mut self, times: Option<Times>) -> Result<(), Problem> {
        match self.before {
            0 => {
                self.ways.clock = times.as_ref().map(Times::clock);
                self.out.times = times;
                Ok(())
            }
            _ => Times::check_others(self.out.times.as_ref(), times.as_ref()),
        }
    }

    /// What a token is in a file that is read now, where its cells alone would say `found`: a number if it was one in the
    /// file before, and none if it was none there.
    pub fn settle(&self, found: TokenKind) -> TokenKind {
        match (self.before, self.out.channels, found) {
            (0, ..) => found,
            (_, Some(_), _) => TokenKind::Numbers,
            (_, None, TokenKind::Numbers) => TokenKind::Cells,
            (_, None, _) => found,
        }
    }

    /// What is wrong with a sequence that is to hold numbers, if it is.
    fn no_numbers(&self, tokens: &Tokens) -> Option<String> {
        let channels = self.out.channels?;
        let mut kept = tokens.kept.iter();
        kept.find_map(|token| numbers::step(token, channels).err())
    }

    pub fn len(&self) -> usize {
        self.out.rows.len()
    }

    pub fn reject(&mut self, line: usize, what: String) {
        self.untaken.reject(line, what);
    }

    /// Adds a row, or notes what is wrong with it. `label` is what stands where labels stand, and `group` the name of its group, where
    /// rows have groups.
    ///
    /// # Errors
    ///
    /// [`Problem::TooManyRows`] when there are [`MAX_ROWS`] rows already, [`Problem::Other`] when there are more
    /// than [`MAX_WORDS`] different tokens.
    pub fn take(
        &mut self,
        line: usize,
        label: Option<&str>,
        group: Option<&str>,
        mut tokens: Tokens,
    ) -> Result<(), Problem> {
        let label = self.labels_are.of(label, &self.words_of_study);
        let no_number = self.no_numbers(&tokens);
        if let (Some(steps), Some(channels)) = (self.reading.patch, self.out.channels) {
            tokens.count = tokens.count.div_ceil(steps);
            tokens.kept = patches::joined(&tokens.kept, steps, channels);
            // A patch is read at the time of its first step.
            tokens.times = tokens.times.into_iter().step_by(steps).collect();
        }
        let whole = tokens.count;
        if let Some(max_len) = self.reading.max_len {
            tokens.kept.truncate(max_len);
            tokens.times.truncate(max_len);
            tokens.count = whole.min(max_len);
        }
        if let Some(what) = self.fault(label, group, &tokens, no_number) {
            self.reject(line, what);
            return Ok(());
        }
        if self.out.rows.len() == MAX_ROWS {
            return Err(Problem::TooManyRows);
        }
        if self.words.len() > MAX_WORDS {
            return Err(Problem::Other(format!(
                "has more than {} different tokens up to line {}, so that hardly any occurs twice; take its characters with \
                 --tokens characters, or a sample of its rows",
                grouped(MAX_WORDS),
                grouped(line)
            )));
        }
        self.untaken.cut += usize::from(whole > tokens.count);
        self.untaken.with_empty += usize::from(tokens.empty > 0);
        self.untaken.ended_by_empty += usize::from(tokens.ended_by_empty);
        self.missing.add(line, label);
        let label = self.labels.of(label) as usize;
        let group = group.map(|group| self.groups.of(group.trim()));
        self.out.groups.extend(group);
        if let Some(times) = &mut self.out.times {
            times.add(&tokens.times);
        }
        self.out.names.extend(tokens.name);
        let kept = tokens.kept.iter();
        let kept = kept.map(|token| numbers::spelled(token, self.out.channels));
        let tokens = kept.map(|token| self.words.of(&token)).collect();
        self.out.rows.push(Row { tokens, label });
        Ok(())
    }

    /// What is wrong with a row. `no_number` says which of its tokens is no number, where all are to be.
    fn fault(
        &self,
        label: &str,
        group: Option<&str>,
        tokens: &Tokens,
        no_number: Option<String>,
    ) -> Option<String> {
        if label.is_empty() && self.labels_are == Labels::Needed {
            let what = match self.out.written {
                None => "label",
                Some(_) => "answer",
            };
            return Some(format!("has no {what}; write one, or delete the row"));
        }
        if group.is_some_and(|group| group.trim().is_empty()) {
            return Some("has no group; write one, or delete the row".to_string());
        }
        if tokens.count == 0 && label == UNLABELLED {
            return Some("has no tokens; write some, or delete the row".to_string());
        }
        if tokens.count == 0 {
            return Some(format!(
                "has no tokens beside the label {}; write some, or delete the row",
                shorten(label)
            ));
        }
        if tokens.count > MAX_TOKENS {
            return Some(format!(
                "a sequence of {} tokens, which begins with {}; at most {MAX_TOKENS}, since \
                 the cost of attention grows with the square of the length: cut such \
                 sequences with --max-len {MAX_TOKENS}, join steps of numbers with --patch, or make several rows of it",
                grouped(tokens.count),
                shorten(&tokens.kept[..8].join(" "))
            ));
        }
        // Where tokens are numbers, lengths are only checked if one of them is no number.
        let are_words = self.out.channels.is_none() || no_number.is_some();
        let too_long = |text: &&str| are_words && text.chars().nth(MAX_CHARACTERS).is_some();
        let mut all = std::iter::once(label).chain(tokens.kept.iter().map(String::as_str));
        if let Some(long) = all.find(too_long) {
            return Some(format!(
                "{} is one label or token of more than {} characters; separate tokens by \
                 spaces, or take its characters with --tokens characters",
                shorten(long),
                grouped(MAX_CHARACTERS)
            ));
        }
        if self.asks_numbers() && label != UNLABELLED && numbers::finite(label).is_none() {
            return Some(format!(
                "the number to be predicted is {}, which is no number",
                shorten(label)
            ));
        }
        no_number
    }

    /// Ends a file, and returns in words what was not taken as it stands.
    ///
    /// # Errors
    ///
    /// [`Problem::Lines`] when more lines cannot be used than [`Reading::skip_bad`] allows, and where all labels are numbers but
    /// those that are missing.
    pub fn end_file(&mut self) -> Result<Vec<String>, Problem> {
        let skip_bad = self.reading.skip_bad;
        if self.reading.patch.is_some() && self.out.channels.is_none() {
            return Err(Problem::Reading(
                "--patch joins steps of numbers (or is the side of a patch of an image), and the tokens of this file are no \
                 numbers; --tokens numbers reads them as such"
                    .into(),
            ));
        }
        let untaken = std::mem::take(&mut self.untaken);
        if untaken.bad_count > skip_bad {
            // A file to train on needs at least `MIN_ROWS` rows; a test file, and rows to predict, need one.
            let least = match (self.before, self.labels_are) {
                (0, Labels::Needed) => MIN_ROWS,
                _ => 1,
            };
            return Err(untaken.problem(self.out.rows.len() - self.before >= least));
        }
        self.before = self.out.rows.len();
        let missing = std::mem::take(&mut self.missing);
        if self.labels_are == Labels::Needed && self.reading.objective.is_none() {
            missing.check(self.labels.iter())?;
        }
        let patches = self.reading.patch.map(|steps| {
            format!(
                "a token is a patch of {}; the last one of a series is filled with missing values",
                counted(steps, "step")
            )
        });
        let others = untaken.describe(&self.reading, self.out.channels.is_some());
        Ok(patches.into_iter().chain(others).collect())
    }

    pub fn finish(mut self) -> Rows {
        let mut out = self.out;
        out.ways = self.ways;
        let found = self.labels.names();
        out.labels = found.clone();
        out.labels.sort();
        let place = |name: &String| out.labels.binary_search(name).unwrap_or(0);
        let places: Vec<usize> = found.iter().map(place).collect();
        out.rows
            .iter_mut()
            .for_each(|row| row.label = places[row.label]);
        out.answers = out.written.map(|kind| {
            let mut of = |label: &String| {
                let mut tokens = Vec::new();
                Reading::split(kind, label, |token| tokens.push(self.words.of(token)));
                tokens
            };
            out.labels.iter().map(&mut of).collect()
        });
        out.targets = match (&out.answers, self.reading.objective) {
            (Some(_), _) | (None, Some(Objective::Class)) => None,
            (None, Some(Objective::Number)) => numbers::values(&out.labels),
            (None, _) => numbers::measured_values(&out.labels),
        };
        out.channels = (out.channels).map(|all| all * self.reading.patch.unwrap_or(1));
        out.words = self.words.names();
        out
    }
}

/// Whether these rows have fewer than two labels.
pub(super) fn has_one_label(rows: &[Row], of: &[usize]) -> bool {
    let mut labels = of.iter().map(|row| rows[*row].label);
    let first = labels.next();
    labels.all(|label| Some(label) == first)
}
