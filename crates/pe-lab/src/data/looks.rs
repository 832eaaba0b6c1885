//! What a file looks like whose name does not say it, and what to do with it.

use super::quote::{grouped, shorten};
use super::records::{names_of, single_blanks, sniffed};
use super::{binary, packed};

/// The number of bytes at the beginning of a file that are looked at.
pub(super) const LOOKED_AT: u64 = 1 << 16;
/// The number of lines that are looked at.
const LINES: usize = 20;
/// A message names this many columns.
const NAMED: usize = 8;

/// In words, what a file that begins with these bytes looks like, if it is not of a known binary format.
pub(super) fn looks(head: &[u8]) -> String {
    if head.starts_with(packed::MAGIC) {
        let inside = packed::head(head, LOOKED_AT);
        return match inside.is_empty() {
            true => "it is packed by gzip, and nothing can be unpacked of its beginning".into(),
            false => format!(
                "it is packed by gzip, and what is in it has to be told by the name before .gz, such as NAME.csv.gz; {}",
                of_unpacked(&inside)
            ),
        };
    }
    of_unpacked(head)
}

/// Whether a file that begins so, or what is packed in it, has a byte that no text has.
pub(super) fn has_nul(head: &[u8]) -> bool {
    match head.starts_with(packed::MAGIC) {
        true => packed::head(head, LOOKED_AT).contains(&0),
        false => head.contains(&0),
    }
}

fn of_unpacked(head: &[u8]) -> String {
    if let Some(problem) = binary::problem(head) {
        return format!("it {problem}");
    }
    if head.get(257..262) == Some(b"ustar") {
        return "it is a tar archive, which is not read; unpack it and name the file that was in it"
            .into();
    }
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return "it looks like UTF-16; save it as UTF-8".into();
    }
    match binary::text_of(head) {
        Ok(text) => of_text(
            text.trim_start_matches('\u{feff}'),
            head.len() as u64 >= LOOKED_AT,
        ),
        Err(at) => format!(
            "it is no text in UTF-8: byte {} is 0x{:02x}; token ids of two or four bytes are read from a file called \
             NAME.bin with --tokens u16 or u32",
            grouped(at + 1),
            head[at]
        ),
    }
}

/// `is_cut` says that the text goes on, so that its last line may not be whole.
fn of_text(text: &str, is_cut: bool) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    if is_cut && lines.len() > 1 {
        lines.pop();
    }
    lines.retain(|line| !line.trim().is_empty());
    lines.truncate(LINES);
    let Some(first) = lines.first() else {
        return "it is empty".into();
    };
    let is_json = |line: &&str| serde_json::from_str::<serde_json::Value>(line).is_ok();
    if first.starts_with('{') && lines.iter().all(is_json) {
        return "it looks like JSON lines: call it NAME.jsonl".into();
    }
    if first.starts_with(['{', '[']) {
        return "it looks like JSON, which is read as lines: `jq -c '.[]' FILE > NAME.jsonl` makes them of a list".into();
    }
    let begins = |line: usize, with: char| lines.get(line).is_some_and(|l| l.starts_with(with));
    if begins(0, '>') && lines.len() > 1 && !begins(1, '>') {
        return "it looks like FASTA: call it NAME.fasta".into();
    }
    let is_relation = |line: &&str| {
        line.trim_start()
            .to_ascii_lowercase()
            .starts_with("@relation")
    };
    let is_forecast = |line: &&str| line.to_ascii_lowercase().starts_with("@frequency");
    if lines.iter().any(is_forecast) {
        return "it looks like series to forecast, each on a line (.tsf), which is not read: write one of them as NAME.csv, with a \
                row for each time"
            .into();
    }
    if lines.iter().any(is_relation) {
        return "it looks like ARFF: call it NAME.arff".into();
    }
    if begins(0, '@') && begins(2, '+') {
        return "it looks like FASTQ: call it NAME.fastq".into();
    }
    match table(&lines) {
        Some(table) => format!("it looks like {table}, or call it NAME.csv"),
        None => "it looks like a plain text: call it NAME.txt, or say --tokens characters to predict its next character".into(),
    }
}

/// What the rows of a table look like, if a text begins with them: the same number of columns, two or more, on its first lines.
pub(super) fn table_in(text: &str) -> Option<String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    table(&lines.take(LINES).collect::<Vec<_>>())
}

fn table(lines: &[&str]) -> Option<String> {
    let text = lines.join("\n");
    let delimiter = sniffed(&text);
    let text = match delimiter {
        ' ' => single_blanks(text.into()),
        _ => text.into(),
    };
    let of = |line| names_of(line, delimiter, false).map_or(Vec::new(), |(names, _)| names);
    let mut rows = text.lines().map(of);
    let names = rows
        .next()
        .filter(|names| lines.len() > 1 && names.len() > 1)?;
    if rows.any(|row| row.len() != names.len()) {
        return None;
    }
    let mut shown: Vec<String> = names.iter().take(NAMED).map(|name| shorten(name)).collect();
    if names.len() > NAMED {
        shown.push("…".into());
    }
    let separator = match delimiter {
        '\t' => "tabs".to_string(),
        ' ' => "blanks".to_string(),
        other => format!("`{other}`"),
    };
    Some(format!(
        "a table of {} columns separated by {separator} ({}): say which one is the label with --label COLUMN, and --no-header if the \
         first line is a row like the others",
        grouped(names.len()),
        shown.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::{Says, rows};

    #[test]
    fn a_file_is_told_what_it_looks_like_and_what_to_do() {
        for [text, what] in rows(
            r#"
            a;b;c;d;e⏎1;2;3;4;5⏎                             | 5 columns separated by `;` (`a`, `b`, `c`, `d`, `e`)
            name,text⏎1,"a, b"⏎                              | 2 columns separated by `,`
            Well, one⏎and two⏎and, well, three⏎              | a plain text: call it NAME.txt
            {⏎  "a": 1⏎}⏎                                    | JSON, which is read as lines
            [1,1,1,1,1,1,1,1,1,]                             | JSON, which is read as lines
            >a x⏎ACGT⏎                                       | FASTA: call it NAME.fasta
            @a x⏎ACGT⏎+⏎IIII⏎                                | FASTQ: call it NAME.fastq
            % a remark⏎@relation r⏎@attribute a numeric⏎@data⏎1 | ARFF: call it NAME.arff
            @relation r⏎@frequency yearly⏎@data⏎T1:1,2       | series to forecast, each on a line (.tsf), which is not read
            "#,
        ) {
            looks(text.as_bytes()).says(what);
        }
        let long = "x,y\n".repeat(30_000);
        let cut = &long.as_bytes()[..LOOKED_AT as usize + 1];
        let tar = [vec![b'a'; 257], b"ustar\0".to_vec()].concat();
        let blanks = b"  1.0   2.5e+00  3\n 10.0   2.5e-01  3\n";
        let marked = b"\xef\xbb\xbf{\"a\": 1}\r\n\n{\"a\": 2}\n";
        let cases: [(&[u8], &str); 11] = [
            (
                blanks,
                "3 columns separated by blanks (`1.0`, `2.5e+00`, `3`)",
            ),
            (b"a\tb\n1\t2\n", "2 columns separated by tabs"),
            (cut, "2 columns separated by `,`"),
            (marked, "JSON lines: call it NAME.jsonl"),
            (b"PAR1\x15\x04\x15\x20", "it is a Parquet file"),
            (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "it is a PDF"),
            (&tar, "a tar archive"),
            (b"\xff\xfea\0", "UTF-16"),
            (b"\x01\0\x02\0", "byte 1 is 0x01"),
            (b"abc\xff\xff", "byte 4 is 0xff"),
            (b" \n", "it is empty"),
        ];
        for (bytes, what) in cases {
            looks(bytes).says(what);
        }
        let packed = packed::pack(b"a;b\n1;2\n");
        looks(&packed).says("NAME.csv.gz; it looks like a table of 2 columns");
        looks(b"\x1f\x8b\x08").says("nothing can be unpacked");
    }
}
