//! A table of a paper: its cells as data, and the same as Markdown and as LaTeX.

/// A table. Its first column names the rows and is aligned to the left, the others to the right.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// A word that no other table of the report has: the end of its label in LaTeX.
    pub name: String,
    pub caption: String,
    pub header: Vec<String>,
    pub rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its cells, one for each column.
    pub cells: Vec<String>,
    pub bold: bool,
}

/// Stands for a number that does not exist.
pub const DASH: &str = "–";

impl Grid {
    /// The table as Markdown, its caption above it.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut rule = vec!["---:"; self.header.len()];
        rule[..1.min(self.header.len())].fill("---");
        let mut out = format!("{}\n\n", markdown(&self.caption));
        out.push_str(&line(self.header.iter().map(|of| markdown(of)).collect()));
        out.push_str(&format!("|{}|\n", rule.join("|")));
        for row in &self.rows {
            let cells = row.cells.iter().map(|cell| match row.bold {
                true if !cell.is_empty() => format!("**{}**", markdown(cell)),
                _ => markdown(cell),
            });
            out.push_str(&line(cells.collect()));
        }
        out
    }

    /// The table as LaTeX, for a document of any class.
    pub fn latex(&self) -> String {
        // LaTeX takes a `*` or a `[` after the end of a row as a part of that end.
        let line = |cells: Vec<String>| {
            let row = cells.join(" & ");
            let before = if row.starts_with(['*', '[']) {
                "{}"
            } else {
                ""
            };
            format!("{before}{row} \\\\\n")
        };
        let rows = self.rows.iter().map(|row| {
            let cells = row.cells.iter().map(|cell| match row.bold {
                true if !cell.is_empty() => format!("\\textbf{{{}}}", latex(cell)),
                _ => latex(cell),
            });
            line(cells.collect())
        });
        format!(
            "\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\label{{tab:{}}}\n\\begin{{tabular}}{{l{}}}\n\\toprule\n\
             {}\\midrule\n{}\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n",
            latex(&self.caption),
            self.name,
            "r".repeat(self.header.len().saturating_sub(1)),
            line(self.header.iter().map(|of| latex(of)).collect()),
            rows.collect::<String>(),
        )
    }
}

/// What tables need in a document that does not load `booktabs`.
const RULES: &str = "% Load booktabs before this for better rules.
\\providecommand{\\toprule}{\\hline}
\\providecommand{\\midrule}{\\hline}
\\providecommand{\\bottomrule}{\\hline}
";

/// Tables as one file of Markdown.
pub fn markdown_of(grids: &[Grid]) -> String {
    let all: Vec<String> = grids.iter().map(Grid::markdown).collect();
    all.join("\n")
}

/// Tables as one file of LaTeX, for `\input`.
pub fn latex_of(grids: &[Grid]) -> String {
    let all: Vec<String> = grids.iter().map(Grid::latex).collect();
    format!("{RULES}\n{}", all.join("\n"))
}

/// A text as Markdown that says the same, on one line.
pub fn markdown(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '\\' | '|' | '*' | '_' | '<' | '>' | '[' | ']' | '`' | '#' => {
                out.extend(['\\', letter])
            }
            _ if letter.is_whitespace() || letter.is_control() => out.push(' '),
            _ => out.push(letter),
        }
    }
    out
}

/// A text as LaTeX that says the same, on one line. A minus before a digit is a minus of mathematics.
pub fn latex(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        let number_follows = letters.peek().is_some_and(char::is_ascii_digit);
        match letter {
            '-' if number_follows && !before.is_alphanumeric() => out.push_str("$-$"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', letter]),
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("$<$"),
            '>' => out.push_str("$>$"),
            '|' => out.push_str("$|$"),
            '"' => out.push_str("''"),
            '-' if letters.peek() == Some(&'-') => out.push_str("-{}"),
            '–' => out.push_str("--"),
            '×' => out.push_str("$\\times$"),
            'β' => out.push_str("$\\beta$"),
            '−' => out.push_str("$-$"),
            _ if letter.is_whitespace() || letter.is_control() => out.push(' '),
            _ => out.push(letter),
        }
        before = letter;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::Says;

    fn grid() -> Grid {
        let row = |cells: [&str; 3], bold| Row {
            cells: cells.map(String::from).to_vec(),
            bold,
        };
        Grid {
            name: "all".into(),
            caption: "Scores of a_b & 50 % | c".into(),
            header: ["Scheme", "mean", "95 %"].map(String::from).to_vec(),
            rows: vec![
                row(["rotary(base=1)", "0.91", "-0.02 to 1e-3"], true),
                row(["a|b_*c*", DASH, ""], false),
            ],
        }
    }

    #[test]
    fn markdown_keeps_what_names_say() {
        assert_eq!(
            grid().markdown(),
            "Scores of a\\_b & 50 % \\| c\n\n\
             | Scheme | mean | 95 % |\n\
             |---|---:|---:|\n\
             | **rotary(base=1)** | **0.91** | **-0.02 to 1e-3** |\n\
             | a\\|b\\_\\*c\\* | – |  |\n"
        );
        // Every row has the cells of the header, whatever the names hold.
        use pulldown_cmark::{Event, Options, Parser, TagEnd};
        let text = grid().markdown();
        let cells = Parser::new_ext(&text, Options::ENABLE_TABLES);
        let cells = cells.filter(|of| matches!(of, Event::End(TagEnd::TableCell)));
        assert_eq!(cells.count(), 3 * 3);
    }

    #[test]
    fn latex_escapes_what_it_would_obey() {
        let text = latex_of(&[grid()]);
        text.says_all(&[
            "\\caption{Scores of a\\_b \\& 50 \\% $|$ c}",
            "\\textbf{$-$0.02 to 1e-3} \\\\",
            "a$|$b\\_*c* & -- &  \\\\",
            "\\label{tab:all}\n\\begin{tabular}{lrr}\n\\toprule",
        ]);
        assert_eq!(
            latex("\\input{/etc/passwd} $x^2$ ~a\n#1 \"b\""),
            "\\textbackslash{}input\\{/etc/passwd\\} \\$x\\textasciicircum{}2\\$ \\textasciitilde{}a \\#1 \
             ''b''"
        );
    }
}
