//! FASTA and FASTQ: sequences of DNA, RNA or protein. A row is a record, a token is a letter, and the class is the last
//! word of the header: `>id class`, or is in a table of classes by the id, its first word.

use super::class_table::ClassTable;
use super::error::Problem;
use super::labels::Labels;
use super::quote::{grouped, shorten};
use super::rows::{Collector, Tokens};

/// Reads the records of a file, and returns in words what was taken from where. The first character tells FASTA from
/// FASTQ.
///
/// # Errors
///
/// [`Problem::Lines`] where no record begins or a record of FASTQ ends too early, [`Problem::TooManyRows`].
pub(super) fn read(text: &str, rows: &mut Collector) -> Result<Vec<String>, Problem> {
    let mut notes = vec![match rows.classes {
        None => "label from the last word of each header; tokens from the sequence below it; a token is a letter",
        Some(_) => "id from the first word of each header; tokens from the sequence below it; a token is a letter",
    }
    .to_string()];
    let mut seen = Cases::default();
    let first = lines(text).find(|(_, line)| !line.is_empty());
    match first {
        Some((_, line)) if line.starts_with('>') => read_fasta(text, rows, &mut seen)?,
        Some((_, line)) if line.starts_with('@') => {
            read_fastq(text, rows, &mut seen)?;
            notes.push("the qualities of FASTQ are not read".into());
        }
        Some((number, line)) => {
            return Err(Problem::at_line(
                number,
                format!(
                    "begins with {}; a record of FASTA begins with `>id class`, one of FASTQ with `@id class`",
                    shorten(line)
                ),
            ));
        }
        None => return Err(Problem::Empty),
    }
    if seen.upper && seen.lower {
        notes.push("letters are in upper and in lower case, which are different tokens".into());
    }
    Ok(notes)
}

/// The lines with their numbers, without white space at their ends.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines().map(str::trim_end))
}

fn read_fasta(text: &str, rows: &mut Collector, seen: &mut Cases) -> Result<(), Problem> {
    let mut record: Option<Record> = None;
    for (number, line) in lines(text) {
        match (line.strip_prefix('>'), &mut record) {
            (Some(header), _) => {
                let before = record.replace(Record::new(number, header));
                before.map_or(Ok(()), |before| before.end(rows))?;
            }
            (None, Some(record)) => record.add(number, line, seen),
            // Before the first header only blank lines stand: see `read`.
            (None, None) => {}
        }
    }
    record.map_or(Ok(()), |last| last.end(rows))
}

fn read_fastq(text: &str, rows: &mut Collector, seen: &mut Cases) -> Result<(), Problem> {
    const FOUR: &str =
        "a record has four lines: `@id class`, the sequence, `+`, and as many qualities";
    let mut lines = lines(text);
    while let Some((number, line)) = lines.next() {
        if line.is_empty() {
            continue;
        }
        let Some(header) = line.strip_prefix('@') else {
            let what = format!("{} does not begin with `@`; {FOUR}", shorten(line));
            return Err(Problem::at_line(number, what));
        };
        let mut record = Record::new(number, header);
        let (Some(sequence), Some(plus), Some(quality)) =
            (lines.next(), lines.next(), lines.next())
        else {
            return Err(Problem::at_line(
                number,
                format!("the file ends within this record; {FOUR}"),
            ));
        };
        if !plus.1.starts_with('+') {
            let what = format!("{} does not begin with `+`; {FOUR}", shorten(plus.1));
            return Err(Problem::at_line(plus.0, what));
        }
        record.add(sequence.0, sequence.1, seen);
        record.check(quality.0, quality.1, |c| c.is_ascii_graphic(), "no quality");
        let (letters, qualities) = (sequence.1.chars().count(), quality.1.chars().count());
        if letters != qualities {
            record.bad.get_or_insert((
                quality.0,
                format!(
                    "{} qualities for the {} letters of the record of line {number}",
                    grouped(qualities),
                    grouped(letters)
                ),
            ));
        }
        record.end(rows)?;
    }
    Ok(())
}

/// The class of the record with this header, or why it has none: that of its id, or without a table of classes its last word.
fn class_of<'a>(header: &'a str, classes: Option<&'a ClassTable>) -> Result<&'a str, String> {
    // The first word is the name of the record.
    let mut words = header.split_whitespace();
    let id = words.next().unwrap_or("");
    match classes {
        Some(classes) => classes.of(id).ok_or_else(|| classes.lacks(id)),
        None => words.last().ok_or_else(|| {
            format!(
                "the header {} has no class; write it after the name, as in `>id class`, or name a table of ids and \
                 classes with --labels FILE",
                shorten(header)
            )
        }),
    }
}

/// Whether letters in upper and in lower case were seen.
#[derive(Default)]
struct Cases {
    upper: bool,
    lower: bool,
}

struct Record<'a> {
    line: usize,
    header: &'a str,
    tokens: Tokens,
    /// What is wrong with it first, and on which line.
    bad: Option<(usize, String)>,
}

impl<'a> Record<'a> {
    fn new(line: usize, header: &'a str) -> Self {
        let mut record = Self {
            line,
            header,
            tokens: Tokens::default(),
            bad: None,
        };
        let is_written = |c: char| c == '\t' || !c.is_control();
        // Column 1 is the `>` or the `@`.
        record.check(
            line,
            &format!(">{header}"),
            is_written,
            "no text of a header",
        );
        record
    }

    /// Notes the first character that may not stand on a line.
    fn check(&mut self, line: usize, text: &str, may: impl Fn(char) -> bool, is: &str) {
        if let Some((column, wrong)) = (1..).zip(text.chars()).find(|(_, c)| !may(*c)) {
            self.bad.get_or_insert_with(|| {
                (
                    line,
                    format!("{wrong:?} in column {} is {is}", grouped(column)),
                )
            });
        }
    }

    fn add(&mut self, line: usize, text: &str, seen: &mut Cases) {
        let is_letter = |c: char| c.is_ascii_alphabetic() || "*-.".contains(c);
        let is = "no letter of a sequence, nor `*`, `-` or `.`";
        self.check(line, text, is_letter, is);
        let mut buffer = [0; 4];
        for letter in text.chars() {
            seen.upper |= letter.is_ascii_uppercase();
            seen.lower |= letter.is_ascii_lowercase();
            self.tokens.push(letter.encode_utf8(&mut buffer));
        }
    }

    fn end(self, rows: &mut Collector) -> Result<(), Problem> {
        let class = class_of(self.header, rows.classes.as_ref()).map(String::from);
        if let Some((line, what)) = self.bad {
            rows.reject(line, what);
        } else if let (Err(what), Labels::Needed) = (&class, rows.labels_are) {
            rows.reject(self.line, what.clone());
        } else if self.tokens.count() == 0 {
            let header = shorten(self.header);
            let what = format!("the header {header} has no sequence below it");
            rows.reject(self.line, what);
        } else {
            rows.take(self.line, class.ok().as_deref(), None, self.tokens)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::Rows;
    use super::*;
    use crate::data::testing::{Says, collected, rows};

    fn read_as(text: &str, labels: Labels) -> Result<(Rows, Vec<String>), String> {
        collected("", labels, |rows| read(text, rows))
    }

    fn of(text: &str) -> Vec<(String, String)> {
        let (rows, _) = read_as(text, Labels::Needed).unwrap();
        let word = |of: &u32| rows.words[*of as usize].as_str();
        let row = rows.rows.iter().map(|row| {
            let letters = row.tokens.iter().map(word);
            (rows.labels[row.label].clone(), letters.collect())
        });
        row.collect()
    }

    #[test]
    fn a_record_is_a_row_whatever_its_line_ends() {
        let fasta = "\n>one a long name  yes \r\nACGT\r\nAC-N*\n\n>two no\nGGG";
        let right = [("yes", "ACGTAC-N*"), ("no", "GGG")];
        let right = right.map(|(label, letters)| (label.to_string(), letters.to_string()));
        assert_eq!(of(fasta), right);
        let fastq = "@one yes\r\nACGTAC-N*\r\n+\r\n@>+IIIIII\n@two no\nGGG\n+two no\n@@@\n\n";
        assert_eq!(of(fastq), right);
        let (_, notes) = read_as(&fastq.replace("GGG", "ggg"), Labels::Needed).unwrap();
        let notes = notes.join("\n");
        notes.says("qualities of FASTQ are not read … upper and in lower case");
        // To be predicted, a record needs no class.
        let (rows, _) = read_as(">one\nACGT\n", Labels::IfAny).unwrap();
        assert_eq!(
            (rows.rows.len(), &rows.labels[..]),
            (1, &[String::new()][..])
        );
    }

    #[test]
    fn classes_may_stand_in_a_table_by_the_first_word_of_a_header() {
        let read_with = |table: &str, labels| {
            let text = ">one some words\nACGT\n>two\nGGG\n";
            collected("", labels, |rows| {
                let classes = ClassTable::read("classes.csv".into(), table).unwrap();
                rows.classes = Some(classes);
                read(text, rows)
            })
        };
        let (rows, notes) = read_with("id,class\none,yes\ntwo,no\n", Labels::Needed).unwrap();
        assert_eq!(rows.labels, ["no", "yes"]);
        notes[0].says("id from the first word");
        let said = read_with("one,yes\n", Labels::Needed).unwrap_err();
        said.says("line 3: `two` has no class in `classes.csv`");
        let (rows, _) = read_with("one,yes\n", Labels::IfAny).unwrap();
        assert_eq!(rows.labels, ["", "yes"]);
    }

    #[test]
    fn what_is_no_record_is_named_with_its_line_column_and_value() {
        for [text, what] in rows(
            r"
            ACGT⏎>a x⏎ACGT⏎             | line 1: begins with `ACGT`
            >a x⏎ACGT⏎AC7T⏎             | line 3: '7' in column 3 is no letter
            >a x⏎AC GT⏎                 | line 2: ' ' in column 3
            >a⏎ACGT⏎                    | line 1: the header `a` has no class
            >⏎ACGT⏎                     | line 1: the header
            >a x⏎>b y⏎ACGT⏎             | line 1: the header `a x` has no sequence
            >a x⏎ACGT⏎>b y⏎             | line 3: the header `b y` has no sequence
            @a x⏎ACGT⏎+⏎                | line 1: the file ends within this record
            @a x⏎ACGT⏎+⏎II⏎             | line 4: 2 qualities for the 4 letters of the record of line 1
            @a x⏎ACGT⏎ACGT⏎+⏎IIII⏎      | line 3: `ACGT` does not begin with `+`
            @a x⏎AC⏎+⏎II⏎b y⏎AC⏎+⏎II⏎   | line 5: `b y` does not begin with `@`
            ",
        )
        .into_iter()
        .chain([
            [">a x\nAC\0GT\n", "line 2: '\\0' in column 3"],
            [">a\0b x\nACGT\n", "line 1: '\\0' in column 3 is no text of a header"],
            [">a x\rACGT\n", "line 1: '\\r' in column 5"],
            ["@a x\nACGT\n+\nII\x01I\n", "line 4: '\\u{1}' in column 3 is no quality"],
        ]) {
            read_as(text, Labels::Needed).unwrap_err().says(what);
        }
        let long = format!(">a x\n{}\n", "ACGT\n".repeat(200_000));
        let said = read_as(&long, Labels::Needed).unwrap_err();
        assert!(
            said.contains("800,000 tokens") && said.len() < 500,
            "{said}"
        );
    }
}
