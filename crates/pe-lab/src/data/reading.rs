//! How a data file is read, where the file itself does not say it.

use serde::{Deserialize, Serialize};

use super::error::Problem;
use super::limits::MAX_TOKENS;

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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reading {
    /// The column or the JSON key of the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The column or the JSON key that holds the whole sequence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The columns that hold the tokens, in this order. `a..b` stands for all columns from `a` to `b`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// The column or the JSON key whose value says which rows stay together: those of one group are all trained on or
    /// all held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// What one token is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenKind>,
    /// What stands between the columns of a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
    /// Whether the first line of a table is a row, so that the columns are called 1, 2, 3 and so on.
    #[serde(skip_serializing_if = "is_false")]
    pub no_header: bool,
    /// Longer sequences are cut after this many tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_len: Option<usize>,
    /// How many lines that cannot be used may be left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub skip_bad: usize,
    /// Whether the longest rows are trained on like all others, so that nothing is tested beyond the training
    /// lengths.
    #[serde(skip_serializing_if = "is_false")]
    pub no_beyond: bool,
    /// What is to be predicted. Without it, the class of a row, and in a plain text masked characters; a [`Plan`](crate::ask::Plan)
    /// without it predicts the next token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<Objective>,
    /// The tokens of a training window, where the next token is predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train_length: Option<usize>,
    /// The column of a series that is to be predicted: its next number, or its class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The column that says of which series a row is, where each series has a label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The column of the times of a series.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The side in pixels to which images are brought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
    /// The side in pixels of the patches of images; of rows of numbers, how many steps make a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<usize>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Reading {
    /// Whether the next token is to be predicted.
    pub(super) fn is_next(&self) -> bool {
        self.objective == Some(Objective::Next)
    }

    /// Whether an answer is to be written.
    pub(super) fn is_answer(&self) -> bool {
        self.objective == Some(Objective::Answer)
    }

    /// The flag of an objective that only rows have.
    pub(super) fn objective_of_rows(&self) -> Option<&'static str> {
        match self.objective? {
            Objective::Answer => Some("--objective answer"),
            Objective::Class => Some("--objective class"),
            Objective::Number => Some("--objective number"),
            Objective::Next | Objective::Masked => None,
        }
    }

    /// The name of the column or key of the label that nobody named.
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

    /// The first setting of these flags, which stand between spaces.
    pub(super) fn first(&self, flags: &str) -> Option<&'static str> {
        self.flags()
            .find(|flag| flags.split(' ').any(|of| of == *flag))
    }

    /// The flag of the first setting that is not at its default.
    pub(crate) fn first_flag(&self) -> &'static str {
        self.flags().next().unwrap_or("--skip-bad")
    }

    /// The flag of an objective that only texts have.
    fn objective_of_text(&self) -> Option<&'static str> {
        (self.objective_of_rows().is_none()).then(|| self.first("--objective"))?
    }

    /// The flag of what a token is, if it is one of these.
    fn tokens_among(&self, kinds: &[TokenKind]) -> Option<String> {
        let found = self.tokens.filter(|kind| kinds.contains(kind));
        found.map(|kind| format!("--tokens {}", kind.name()))
    }

    /// The first setting that rows have no use for.
    pub(super) fn about_text(&self) -> Option<String> {
        let found = self.objective_of_text();
        let found = found.or_else(|| self.first("--train-length"));
        let of_ids = || self.tokens_among(&[TokenKind::Bytes, TokenKind::U16, TokenKind::U32]);
        found.map(str::to_string).or_else(of_ids)
    }

    /// The first setting of images and of their patches. Rows of numbers have patches too.
    pub(super) fn about_images(&self) -> Option<&'static str> {
        self.first("--size --patch")
    }

    /// The first setting that images have no use for.
    pub(super) fn not_about_images(&self) -> Option<&'static str> {
        let of_images = ["--size", "--patch", "--skip-bad"];
        self.flags().find(|flag| !of_images.contains(flag))
    }

    /// The first setting that a file of labelled records, which says itself what is in it, has no use for. Its tokens are of
    /// one kind.
    pub(super) fn not_about_records(&self, kind: TokenKind) -> Option<String> {
        let found = self.first("--label --text --columns --group --delimiter --no-header --target --id --causal --train-length");
        let found = found.or_else(|| self.objective_of_text());
        let tokens = self.tokens.filter(|other| *other != kind);
        let tokens = || self.tokens_among(tokens.as_slice());
        found.map(str::to_string).or_else(tokens)
    }

    /// The first setting that a series has no use for.
    pub(super) fn not_about_series(&self) -> Option<&'static str> {
        self.first(
            "--label --text --group --tokens --no-beyond --causal --objective --train-length",
        )
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
            flag.filter(|_| !self.is_next())
        };
        let found = self.objective_of_rows().or_else(masked);
        let of_rows = [TokenKind::Cells, TokenKind::Words, TokenKind::Numbers];
        let tokens = || self.tokens_among(&of_rows);
        let lines = || self.about_lines().map(str::to_string);
        found.map(str::to_string).or_else(tokens).or_else(lines)
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
