//! How a data file is read, where the file itself does not say it.

use serde::{Deserialize, Serialize};

use super::error::Problem;
use super::limits::MAX_TOKENS;
use crate::names::one_of;

/// What one token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenKind {
    /// A cell of a table. An empty cell is a token of its own.
    Cells,
    /// A word: what stands between spaces.
    Words,
    /// A character, spaces included.
    Characters,
    /// A byte of a text.
    Bytes,
    /// A number of two bytes in a file of token ids, the lower byte first.
    U16,
    /// A number of four bytes in a file of token ids, the lowest byte first.
    U32,
    /// A number, which a model reads as a number: measurements in the cells of a table or in a list.
    Numbers,
}

/// What is to be predicted, where the file leaves a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// The next token, from those before it.
    Next,
    /// Masked characters, from those around them.
    Masked,
    /// Of rows: the answer, written token by token by a decoder.
    Answer,
    /// Of rows: the class of a label, whatever labels look like.
    Class,
    /// Of rows: the number that a label is.
    Number,
}

impl Objective {
    /// Every objective with its name on the command line.
    pub const ALL: [(&str, Self); 5] = [
        ("next", Self::Next),
        ("masked", Self::Masked),
        ("answer", Self::Answer),
        ("class", Self::Class),
        ("number", Self::Number),
    ];
}

impl TokenKind {
    /// Every kind with its name on the command line.
    pub const ALL: [(&str, Self); 7] = [
        ("cells", Self::Cells),
        ("words", Self::Words),
        ("characters", Self::Characters),
        ("bytes", Self::Bytes),
        ("u16", Self::U16),
        ("u32", Self::U32),
        ("numbers", Self::Numbers),
    ];

    /// What a token of a text is called.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Cells => "text",
            Self::Words => "word",
            Self::Characters => "character",
            Self::Numbers => "number",
            Self::Bytes | Self::U16 | Self::U32 => self.name(),
        }
    }

    /// Its name on the command line.
    pub(super) fn name(self) -> &'static str {
        let known = Self::ALL.into_iter().find(|(_, kind)| *kind == self);
        known.map_or("", |(name, _)| name)
    }
}

/// How labelled rows are read. The default reads a column or key `label`, and tokens in all the other columns
/// of a table.
///
/// Without an objective the class of a row is predicted, and in a plain text masked characters; a [`Plan`](crate::ask::Plan) without
/// one predicts the next token.
///
/// A field is a flag too, unless it is skipped, and its documentation is the help.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields)]
#[command(next_display_order = 60)]
pub struct Reading {
    /// The column of the label, or its key in JSON lines [default: label; with --causal, answer]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "COLUMN", hide_short_help = true)]
    pub label: Option<String>,
    /// The one column that holds the whole sequence, or its key in JSON lines [default in JSON lines: the
    /// one of tokens, input_ids, text and sentence that is there; with --causal, prompt]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(
        long,
        value_name = "COLUMN",
        conflicts_with = "columns",
        hide_short_help = true
    )]
    pub text: Option<String>,
    /// The columns that hold the tokens, in this order; A..B names all columns from A to B, and a name may hold commas [default: all but
    /// the label]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "A,B",
        hide_short_help = true
    )]
    pub columns: Option<Vec<String>>,
    /// The column, or the key in JSON lines, whose value says which rows stay together, such as a patient: all rows of a
    /// group are trained on, or all are held out, in every division of the rows (the test, --folds, and what --tune and
    /// --steps auto hold out)
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "COLUMN", hide_short_help = true)]
    pub group: Option<String>,
    /// What one token is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(skip)]
    pub tokens: Option<TokenKind>,
    /// What separates columns: one character, or one of the words `tab` and `space` (one blank or several) [default: a tab in a .tsv; otherwise the
    /// first of , tab ; | that the first line holds, or blanks]
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_delimiter"
    )]
    #[arg(long, value_name = "C", value_parser = delimiter, hide_short_help = true)]
    pub delimiter: Option<char>,
    /// The first line is a row like the others; the columns are called 1, 2, 3 and so on
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[arg(long, hide_short_help = true)]
    pub no_header: bool,
    /// Cut sequences after this many tokens, and say how many were cut [default: a row of more than 512
    /// tokens is an error]. Series: the longest window of the training [default: 32, or a
    /// seventh of the rows of a short series]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub max_len: Option<usize>,
    /// Leave out up to this many lines or images that cannot be used, and say which [default: 0]
    #[serde(skip_serializing_if = "is_zero")]
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        hide_default_value = true,
        hide_short_help = true
    )]
    pub skip_bad: usize,
    /// Train on rows of every length. Without this the longest tenth of the rows is only tested, as data
    /// beyond the training lengths
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[arg(long, hide_short_help = true)]
    pub no_beyond: bool,
    /// What to predict. Plain text: the next token, or masked characters [default: next]. Rows: the label as a class, the
    /// label as a number, or an answer that a decoder writes, as with --causal [default: number if all labels are numbers and
    /// not all are whole, else class]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "WHAT", value_parser = one_of(Objective::ALL), hide_short_help = true)]
    pub objective: Option<Objective>,
    /// The tokens of a training window of a plain text (also the task `text`) or of token ids; tests have up to 8
    /// times as many
    /// [default: 64]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub train_length: Option<usize>,
    /// Series: the column to predict. A column of numbers is forecast, one row ahead; of a column of words, the class of
    /// each row is predicted. Rows have to be in the order of time
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "COLUMN", hide_short_help = true)]
    pub target: Option<String>,
    /// Labelled series in a long table: the column, or the key in JSON lines, that says of which series a row is. All rows of
    /// one series have its label (--label); the other columns, or those of --columns, are its channels
    #[serde(skip_serializing_if = "Option::is_none")]
    // In the help it stands behind --labels.
    #[arg(
        long,
        value_name = "COLUMN",
        conflicts_with = "target",
        hide_short_help = true,
        display_order = 73
    )]
    pub id: Option<String>,
    /// Series: the column of the times, numbers or dates (2024-05-17, 2024-05-17T12:30), which become the
    /// positions; A,B joins columns, such as a year and a quarter, or a date and the column `hour` [default: the one column of dates, or
    /// else of numbers that rise by equal steps; without such a column the rows are at 0, 1, 2, …]. With --id it is also the
    /// order of the rows of a series [default: the order of the file, at 0, 1, 2, …]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "COLUMN", hide_short_help = true)]
    pub time: Option<String>,
    /// Images: bring all of them to N × N pixels [default: the most common size, reduced to at most 64 pixels along its
    /// longer side and rounded to a multiple of --patch]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub size: Option<usize>,
    /// Images: the side of a patch in pixels; a patch is a token [default: about eight patches along the longer
    /// side]. Rows of numbers: how many steps make a token, from 2 to 64 [default: one]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub patch: Option<usize>,
}

/// Reads a delimiter: one character, or the name of one that is hard to write.
fn delimiter(text: &str) -> Result<char, String> {
    let mut characters = text.chars();
    match (text, characters.next(), characters.next()) {
        ("tab" | "\\t", ..) => Ok('\t'),
        ("space", ..) => Ok(' '),
        (_, Some(one), None) => Ok(one),
        _ => Err("it takes one character, such as `;`, or one of the words tab and space".into()),
    }
}

/// Reads a [`delimiter`] from a file of settings.
fn read_delimiter<'de, D: serde::Deserializer<'de>>(file: D) -> Result<Option<char>, D::Error> {
    let text = Option::<String>::deserialize(file)?;
    let read = text.map(|text| delimiter(&text).map_err(serde::de::Error::custom));
    read.transpose()
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Reading {
    /// These settings with those that `over` has. The columns that rows are made of take the place of each other, and so do the target
    /// of one series and the id of several.
    pub fn overridden_by(&self, over: &Self) -> Self {
        let fields = |of: &Self| match serde_json::to_value(of) {
            Ok(serde_json::Value::Object(fields)) => fields,
            other => panic!("settings are fields of JSON: {other:?}"),
        };
        let (mut all, over) = (fields(self), fields(over));
        for (new, old) in [
            ("text", "columns"),
            ("columns", "text"),
            ("id", "target"),
            ("target", "id"),
        ] {
            if over.contains_key(new) {
                all.remove(old);
            }
        }
        all.extend(over);
        let all = serde_json::from_value(serde_json::Value::Object(all));
        all.expect("settings are read as they are written")
    }

    pub(super) fn is_next(&self) -> bool {
        self.objective == Some(Objective::Next)
    }

    pub(super) fn is_answer(&self) -> bool {
        self.objective == Some(Objective::Answer)
    }

    /// The flag of an objective that only rows have.
    pub(super) fn objective_of_rows(&self) -> Option<String> {
        self.objective_among(&[Objective::Answer, Objective::Class, Objective::Number])
    }

    /// The name of the column or key of the label, if nobody named another.
    pub(super) fn usual_label(&self) -> &'static str {
        match self.is_answer() {
            true => "answer",
            false => "label",
        }
    }

    /// Whether it names columns, so that a file of any name is read as a table.
    pub(super) fn names_columns(&self) -> bool {
        self.first("--no-header --delimiter --label --text --columns --target --id")
            .is_some()
    }

    /// Checks what can be wrong without a file.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let wrong = |reason: String| Err(Problem::Reading(reason));
        if let Some(length) = self.max_len
            && !(2..=MAX_TOKENS).contains(&length)
        {
            return wrong(format!(
                "--max-len is {length}; it takes from 2 to {MAX_TOKENS} tokens"
            ));
        }
        if self.time.is_some() && self.target.is_none() && self.id.is_none() {
            return wrong(
                "--time is about series; say which column is to be predicted with --target, or which one says of which \
                 labelled series a row is with --id"
                    .into(),
            );
        }
        if let (Some(_), Some(flag)) = (&self.id, self.not_about_whole_series()) {
            return wrong(format!(
                "{flag} is not about whole series, which --id asks for: the label of a series is a column (--label), and \
                 the other columns are its numbers"
            ));
        }
        if self.text.is_some() && self.columns.is_some() {
            return wrong("--text and --columns both say where the tokens are; keep one".into());
        }
        if self.is_answer() && self.tokens == Some(TokenKind::Numbers) {
            return wrong(
                "--tokens numbers is for rows with a class; an answer is written in words or characters".into(),
            );
        }
        match self.delimiter {
            Some(delimiter) if !delimiter.is_ascii() || matches!(delimiter, '"' | '\n' | '\r') => {
                wrong(format!(
                    "--delimiter is {delimiter:?}; it takes one ASCII character, such as `;`, or the \
                     word `tab`"
                ))
            }
            _ => Ok(()),
        }
    }

    /// The flags of all settings that are not at their defaults.
    fn flags(&self) -> impl Iterator<Item = &'static str> + use<> {
        let is_other = self.objective.is_some() && !self.is_answer();
        let set = [
            (self.label.is_some(), "--label"),
            (self.text.is_some(), "--text"),
            (self.columns.is_some(), "--columns"),
            (self.group.is_some(), "--group"),
            (self.tokens.is_some(), "--tokens"),
            (self.delimiter.is_some(), "--delimiter"),
            (self.no_header, "--no-header"),
            (self.max_len.is_some(), "--max-len"),
            (self.target.is_some(), "--target"),
            (self.id.is_some(), "--id"),
            (self.time.is_some(), "--time"),
            (self.no_beyond, "--no-beyond"),
            (self.is_answer(), "--causal"),
            (is_other, "--objective"),
            (self.train_length.is_some(), "--train-length"),
            (self.size.is_some(), "--size"),
            (self.patch.is_some(), "--patch"),
            (self.skip_bad > 0, "--skip-bad"),
        ];
        set.into_iter()
            .filter(|(set, _)| *set)
            .map(|(_, flag)| flag)
    }

    /// The first of these flags whose setting is not at its default; `flags` has spaces between them.
    pub(super) fn first(&self, flags: &str) -> Option<&'static str> {
        self.flags()
            .find(|flag| flags.split(' ').any(|of| of == *flag))
    }

    /// The flag of the first setting that is not at its default.
    pub(crate) fn first_flag(&self) -> &'static str {
        self.flags().next().unwrap_or("--skip-bad")
    }

    /// The flag of an objective that only texts have.
    fn objective_of_text(&self) -> Option<String> {
        self.objective_among(&[Objective::Next, Objective::Masked])
    }

    fn objective_among(&self, objectives: &[Objective]) -> Option<String> {
        let found = self.objective.filter(|of| objectives.contains(of))?;
        let (name, _) = Objective::ALL.into_iter().find(|(_, of)| *of == found)?;
        Some(format!("--objective {name}"))
    }

    fn tokens_among(&self, kinds: &[TokenKind]) -> Option<String> {
        let found = self.tokens.filter(|kind| kinds.contains(kind));
        found.map(|kind| format!("--tokens {}", kind.name()))
    }

    /// The first setting that rows have no use for.
    pub(super) fn about_text(&self) -> Option<String> {
        let length = || self.first("--train-length").map(str::to_string);
        let of_ids = || self.tokens_among(&[TokenKind::Bytes, TokenKind::U16, TokenKind::U32]);
        self.objective_of_text().or_else(length).or_else(of_ids)
    }

    /// The first setting of images and of their patches. Rows of numbers have patches too.
    pub(super) fn about_images(&self) -> Option<&'static str> {
        self.first("--size --patch")
    }

    pub(super) fn not_about_images(&self) -> Option<&'static str> {
        let of_images = ["--size", "--patch", "--skip-bad"];
        self.flags().find(|flag| !of_images.contains(flag))
    }

    /// The first setting that a file of labelled records, which says itself what is in it, has no use for. Its tokens are of
    /// one kind.
    pub(super) fn not_about_records(&self, kind: TokenKind) -> Option<String> {
        let found = self.first("--label --text --columns --group --delimiter --no-header --target --id --causal --train-length");
        let tokens = self.tokens.filter(|other| *other != kind);
        let tokens = || self.tokens_among(tokens.as_slice());
        let found = found.map(str::to_string);
        found.or_else(|| self.objective_of_text()).or_else(tokens)
    }

    /// The first setting that whole series, whose rows have an id, have no use for.
    fn not_about_whole_series(&self) -> Option<&'static str> {
        match self.tokens {
            Some(TokenKind::Numbers) => self.first("--target --text --causal"),
            _ => self.first("--target --text --tokens --causal"),
        }
    }

    /// The first setting that a plain text has no use for.
    pub(super) fn about_rows(&self) -> Option<String> {
        let masked = || {
            let flag = self.first("--tokens --train-length");
            flag.filter(|_| !self.is_next()).map(str::to_string)
        };
        let of_rows = [TokenKind::Cells, TokenKind::Words, TokenKind::Numbers];
        let tokens = || self.tokens_among(&of_rows);
        let lines = || self.about_lines().map(str::to_string);
        let found = self.objective_of_rows().or_else(masked);
        found.or_else(tokens).or_else(lines)
    }

    /// The first setting that only lines of labelled rows have a use for.
    pub(super) fn about_lines(&self) -> Option<&'static str> {
        self.first("--max-len --skip-bad --group --no-beyond")
    }

    /// Adds the tokens of a text.
    pub(super) fn split(kind: TokenKind, text: &str, mut push: impl FnMut(&str)) {
        match kind {
            // Bytes and ids are not of rows, and were refused: see `about_text`.
            TokenKind::Cells | TokenKind::Bytes | TokenKind::U16 | TokenKind::U32 => push(text),
            TokenKind::Words | TokenKind::Numbers => text.split_whitespace().for_each(push),
            TokenKind::Characters => {
                let mut buffer = [0; 4];
                text.trim()
                    .chars()
                    .for_each(|character| push(character.encode_utf8(&mut buffer)));
            }
        }
    }
}
