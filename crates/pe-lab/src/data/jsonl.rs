//! JSON lines: an object with a label and a sequence on every line, or with the numbers of a series.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

use csv::StringRecord;
use serde::Deserializer;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};

use super::column::Column;
use super::error::{Problem, refuse};
use super::format::LIST_OF_JSON;
use super::json::{List, Sequence, word};
use super::labels::Labels;
use super::limits::MAX_COLUMNS;
use super::numbered::Numbered;
use super::quote::shorten;
use super::reading::{Reading, TokenKind};
use super::records::check_lines;
use super::rows::{Collector, Tokens};
use super::untaken::Untaken;

/// The key of the prompt, where answers are written, unless another is named.
const PROMPT: &str = "prompt";
/// The keys of a list of tokens, and those of a text, unless another is named.
const LISTS: [&str; 2] = ["tokens", "input_ids"];
const TEXTS: [&str; 2] = ["text", "sentence"];
/// A message names this many keys.
const NAMED: usize = 8;

/// Reads labelled sequences, such as `{"label": "x", "tokens": ["a", "b"]}` or
/// `{"label": "x", "text": "a b"}`, one per line, and returns in words where they were found. Other keys and
/// blank lines are ignored.
///
/// A label is a string, a number, `true` or `false`; a token is a string or a number. The tokens of a text
/// are its words, or its characters.
///
/// # Errors
///
/// [`Problem::Reading`] for a setting that is for tables, [`Problem::TooManyRows`].
pub(super) fn read(text: &str, rows: &mut Collector) -> Result<Vec<String>, Problem> {
    if text.trim_start().starts_with('[') {
        return Err(Problem::Other(format!(
            "holds a list, and is read as lines: {LIST_OF_JSON}"
        )));
    }
    let reading = &rows.reading.clone();
    let keys = Keys::of(reading)?;
    let (kind, are_quoted) = match reading.tokens {
        None if !reading.is_answer() => {
            let (found, are_quoted) = keys.kind(text);
            match rows.settle(found) {
                // The test file has lists of numbers, but the file to train on has symbols.
                TokenKind::Cells => (TokenKind::Words, false),
                kind => (kind, are_quoted),
            }
        }
        kind => (kind.unwrap_or(TokenKind::Words), false),
    };
    rows.tokens_are(kind);
    let (mut used, mut unread) = (BTreeSet::new(), BTreeSet::new());
    for (line, text) in lines(text) {
        let found = match keys.found(text, rows.labels_are, kind) {
            Ok(found) => found,
            Err(what) => {
                rows.reject(line, what);
                continue;
            }
        };
        let mut tokens = Tokens::default();
        for (key, sequence) in found.sequences {
            match sequence {
                Sequence::List(list) => tokens = list.tokens,
                Sequence::Text(text) => Reading::split(kind, &text, |token| tokens.push(token)),
            }
            used.insert(key);
        }
        if unread.len() < 1000 {
            unread.extend(found.others);
        }
        let (label, group) = (found.label.as_deref(), found.group.as_deref());
        rows.take(line, label, group, tokens)?;
    }
    let mut notes = describe(&keys, reading, kind, &used, &unread);
    notes.extend(are_quoted.then(|| QUOTED.into()));
    Ok(notes)
}

/// Where the sequences were found, in words.
fn describe(
    keys: &Keys<'_>,
    reading: &Reading,
    kind: TokenKind,
    used: &BTreeSet<String>,
    unread: &BTreeSet<String>,
) -> Vec<String> {
    let mut lines = vec![format!(
        "{} from key {}; tokens from {};{} {}",
        keys.what,
        shorten(keys.label),
        names(used),
        match keys.group {
            Some(group) => format!(" groups from {};", shorten(group)),
            None => String::new(),
        },
        match kind {
            TokenKind::Numbers if reading.tokens.is_none() => {
                "a token is a number of a list (--tokens words reads symbols)".to_string()
            }
            _ => format!("of a text, a token is a {}", kind.noun()),
        }
    )];
    if !unread.is_empty() {
        lines.push(format!("keys not read: {}", names(unread)));
    }
    lines
}

/// The first of these keys.
fn names<'a>(keys: impl IntoIterator<Item = &'a String>) -> String {
    let first = keys.into_iter().take(NAMED);
    first.map(|key| shorten(key)).collect::<Vec<_>>().join(", ")
}

/// What is to be said of lists that hold numbers in quotation marks.
const QUOTED: &str =
    "numbers in quotation marks are read as symbols (--tokens numbers reads numbers)";
/// What is to be said of a token that is `null`, where tokens may be numbers.
const NULL: &str = "; if tokens are numbers and null is a missing one, say --tokens numbers";
const EXAMPLE: &str = r#"{"label": "x", "tokens": ["a", "b"]}"#;
const EXAMPLE_OF_ANSWERS: &str = r#"{"prompt": "2 + 3", "answer": "5"}"#;
const EXAMPLE_OF_SERIES: &str = r#"{"date": "2024-05-17", "sales": 12.5}"#;

/// The keys of all objects of a series, in the order in which they first occur, and what stands under each.
///
/// # Errors
///
/// [`Problem::Reading`] for a setting that is for tables, [`Problem::Lines`] where no line is an object,
/// [`Problem::TooManyColumns`].
pub(super) fn columns(
    text: &str,
    reading: &Reading,
) -> Result<(Vec<String>, Vec<Column>), Problem> {
    let flag = reading.first("--delimiter --no-header");
    refuse(flag, "is for tables, and this file holds JSON lines")?;
    check_lines(text)?;
    let (mut keys, mut columns) = (Numbered::default(), Vec::<Column>::new());
    let mut untaken = Untaken::default();
    for (line, text) in lines(text) {
        match cells(text) {
            Ok(cells) => {
                for (key, cell) in cells {
                    let place = keys.of(&key) as usize;
                    if place == columns.len() {
                        columns.push(Column::new(&key));
                    }
                    columns[place].add(line, cell.trim(), true);
                }
            }
            Err(what) => untaken.reject(line, what),
        }
        if columns.len() > MAX_COLUMNS {
            let columns = columns.len();
            return Err(Problem::TooManyColumns { line, columns });
        }
    }
    match columns.is_empty() {
        true => Err(untaken.problem(false)),
        false => Ok((keys.names(), columns)),
    }
}

/// Calls `each` for every line of a series that is not blank, with its number and the cells under these keys, or with what is wrong with it.
/// A key that a line lacks has an empty cell.
pub(super) fn each_row(
    text: &str,
    keys: &[String],
    mut each: impl FnMut(usize, Result<&StringRecord, String>) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let places: HashMap<&str, usize> = keys.iter().map(String::as_str).zip(0..).collect();
    for (line, text) in lines(text) {
        let record = cells(text).map(|cells| {
            let mut row = vec![""; keys.len()];
            for (key, cell) in &cells {
                row[places[key.as_str()]] = cell;
            }
            StringRecord::from(row)
        });
        each(line, record.as_ref().map_err(String::clone))?;
    }
    Ok(())
}

/// The lines that are not blank, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines().map(str::trim));
    lines.filter(|(_, line)| !line.is_empty())
}

/// The keys of an object, each with its number, text or truth value as a text, which is empty for `null`.
fn cells(line: &str) -> Result<Vec<(String, String)>, String> {
    struct Object;

    impl<'de> Visitor<'de> for Object {
        type Value = Vec<(String, String)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of numbers and texts")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut known = HashSet::new();
            let mut cells = Vec::new();
            while let Some((key, value)) = map.next_entry::<String, serde_json::Value>()? {
                if !known.insert(key.clone()) {
                    return Err(A::Error::custom(format!(
                        "duplicate field {}",
                        shorten(&key)
                    )));
                }
                let cell = word(&key, value)?;
                cells.push((key, cell));
            }
            Ok(cells)
        }
    }

    object(line, Object).map_err(|error| explain(&error, line, EXAMPLE_OF_SERIES))
}

/// What a visitor finds in the object that a line is.
fn object<'a, V: Visitor<'a>>(line: &'a str, visitor: V) -> serde_json::Result<V::Value> {
    let mut parser = serde_json::Deserializer::from_str(line);
    let found = parser.deserialize_map(visitor)?;
    parser.end().map(|()| found)
}

/// What the parser says, without its line number: it sees one line only, so that is always 1.
fn explain(error: &serde_json::Error, line: &str, example: &str) -> String {
    let text = error.to_string();
    let reason = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(reason, _)| reason);
    let rest = line.get(error.column().saturating_sub(1)..);
    // Python writes these, with or without a sign.
    let word = ["NaN", "Infinity", "-Infinity"]
        .into_iter()
        .find(|word| rest.is_some_and(|rest| rest.starts_with(word)));
    let reason = match word {
        Some(word) => format!("JSON has no {word}, and a missing number is null"),
        None => reason.to_string(),
    };
    format!(
        "{reason} (column {} of {}); a line looks like {example}",
        error.column(),
        shorten(line)
    )
}

#[derive(Clone, Copy)]
struct Keys<'a> {
    label: &'a str,
    text: Option<&'a str>,
    group: Option<&'a str>,
    /// What the label is called.
    what: &'static str,
    /// What a line looks like.
    example: &'static str,
    /// What is said of a token that is `null`.
    null: &'static str,
}

impl<'a> Keys<'a> {
    /// The keys that a person named, or else the usual ones.
    fn of(reading: &'a Reading) -> Result<Self, Problem> {
        refuse(
            reading.first("--columns --delimiter --no-header"),
            "is for tables, and this file holds JSON lines; name the key of the sequence with --text and that of the label with --label",
        )?;
        let what = reading.usual_label();
        let prompt = reading.is_answer().then_some(PROMPT);
        let keys = Self {
            label: reading.label.as_deref().unwrap_or(what),
            text: reading.text.as_deref().or(prompt),
            group: reading.group.as_deref(),
            what,
            example: match reading.is_answer() {
                true => EXAMPLE_OF_ANSWERS,
                false => EXAMPLE,
            },
            null: match reading.is_answer() {
                true => "",
                false => NULL,
            },
        };
        match keys.group {
            Some(group) if [Some(keys.label), keys.text].contains(&keys.group) => {
                Err(Problem::Reading(format!(
                    "--group names {}, which is the key of the label or of the sequence; a group is neither",
                    shorten(group)
                )))
            }
            _ => Ok(keys),
        }
    }

    /// What is in a line, or what is wrong with it.
    fn found(self, line: &str, labels: Labels, kind: TokenKind) -> Result<Found, String> {
        let example = self.example;
        if !line.starts_with('{') {
            return Err(format!(
                "{} is no JSON object; a line looks like {example}",
                shorten(line)
            ));
        }
        let found = object(line, self).map_err(|error| explain(&error, line, example))?;
        match self.fault(&found, labels, kind) {
            None => Ok(found),
            Some(what) => Err(what),
        }
    }

    /// What a line lacks, or has too much of.
    fn fault(&self, found: &Found, labels: Labels, kind: TokenKind) -> Option<String> {
        let others = || match found.others.is_empty() {
            true => "there is no other key".to_string(),
            false => format!("the other keys are {}", names(&found.others)),
        };
        if labels == Labels::Needed && found.label.is_none() && !found.others.is_empty() {
            return Some(format!(
                "has no {}: no key is called {}; {}; name it with --label KEY{}",
                self.what,
                shorten(self.label),
                others(),
                match found.sequences.is_empty() {
                    _ if found.others.iter().any(|key| key == PROMPT) =>
                        "; prompts with answers to be written take --causal",
                    true =>
                        "; lines that are measurements in the order of time take --target KEY, and --time KEY",
                    false => "",
                }
            ));
        }
        if found.sequences.is_empty() && !found.others.is_empty() {
            return Some(format!(
                "has no tokens: no key is called {}; {}; name it with --text KEY",
                self.of_sequences(),
                others()
            ));
        }
        if let [(one, _), (other, _), ..] = &found.sequences[..] {
            return Some(format!(
                "has both `{one}` and `{other}`; say which one counts with --text {one}"
            ));
        }
        if let (Some(group), None) = (self.group, &found.group) {
            return Some(format!("has no group: no key is called {}", shorten(group)));
        }
        if kind == TokenKind::Numbers {
            return None;
        }
        let null = found
            .sequences
            .iter()
            .find_map(|(key, sequence)| match sequence {
                Sequence::List(list) => Some((key, list.null?)),
                Sequence::Text(_) => None,
            });
        null.map(|(key, number)| {
            format!(
                "token {number} of {} is null, expected a token: a string or a number{}",
                shorten(key),
                self.null
            )
        })
    }

    /// What the tokens of all lines are: numbers, as the cells of a table, if all of them are in lists, each is a number
    /// or missing, and at least one is not whole. Also whether they are symbols only for their quotation marks. Lines
    /// that cannot be read are reported later, when rows are read.
    fn kind(self, text: &str) -> (TokenKind, bool) {
        let (mut has_fractions, mut are_quoted) = (false, false);
        for (_, line) in lines(text) {
            let Ok(found) = object(line, self) else {
                continue;
            };
            for (_, sequence) in found.sequences {
                match sequence {
                    Sequence::List(list) if !list.has_names => {
                        has_fractions |= list.has_fractions;
                        are_quoted |= list.has_words;
                    }
                    _ => return (TokenKind::Words, false),
                }
            }
        }
        match has_fractions && !are_quoted {
            true => (TokenKind::Numbers, false),
            false => (TokenKind::Words, are_quoted),
        }
    }

    fn of_sequences(&self) -> String {
        match self.text {
            Some(key) => shorten(key),
            None => format!("`{}`", [LISTS, TEXTS].concat().join("`, `")),
        }
    }
}

#[derive(Default)]
struct Found {
    label: Option<String>,
    group: Option<String>,
    /// Every sequence with its key.
    sequences: Vec<(String, Sequence)>,
    /// The keys that are not read.
    others: Vec<String>,
}

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a label and a sequence")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let mut found = Found::default();
        while let Some(key) = map.next_key::<String>()? {
            let twice = |key: &str| Err(A::Error::custom(format!("duplicate field `{key}`")));
            let is_sequence = match self.text {
                Some(text) => key == text,
                None => LISTS.contains(&key.as_str()) || TEXTS.contains(&key.as_str()),
            };
            if key == self.label {
                if found.label.is_some() {
                    return twice(&key);
                }
                found.label = Some(word(&key, map.next_value()?)?);
            } else if Some(key.as_str()) == self.group {
                if found.group.is_some() {
                    return twice(&key);
                }
                found.group = Some(word(&key, map.next_value()?)?);
            } else if is_sequence {
                if found.sequences.iter().any(|(known, _)| *known == key) {
                    return twice(&key);
                }
                let sequence = if self.text.is_some() {
                    map.next_value::<Option<Sequence>>()?
                } else if LISTS.contains(&key.as_str()) {
                    map.next_value::<Option<List>>()?.map(Sequence::List)
                } else {
                    map.next_value::<Option<String>>()?.map(Sequence::Text)
                };
                found
                    .sequences
                    .extend(sequence.map(|sequence| (key, sequence)));
            } else {
                map.next_value::<IgnoredAny>()?;
                found.others.push(key);
            }
        }
        Ok(found)
    }
}
