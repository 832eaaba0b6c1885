//! Tables as a list of columns, and columns and lines of text that fit into a terminal.

/// A table of things of one kind: the columns with their names, and what stands in each of them.
pub struct Columns<'a, T>(Vec<Column<'a, T>>);

struct Column<'a, T> {
    name: String,
    cell: Box<dyn Fn(&T) -> String + 'a>,
    floor: String,
}

impl<'a, T> Columns<'a, T> {
    /// A table with one column.
    pub fn of(name: &str, cell: impl Fn(&T) -> String + 'a) -> Self {
        let mut columns = Self(Vec::new());
        columns.add(name, cell);
        columns
    }

    pub fn add(&mut self, name: impl Into<String>, cell: impl Fn(&T) -> String + 'a) {
        self.0.push(Column {
            name: name.into(),
            cell: Box::new(cell),
            floor: String::new(),
        });
    }

    /// Sets the cell of the floor's row in the column that was added last.
    pub fn at_floor(&mut self, text: impl Into<String>) {
        if let Some(last) = self.0.last_mut() {
            last.floor = text.into();
        }
    }

    /// The names of the columns.
    pub fn header(&self) -> Vec<String> {
        self.0.iter().map(|of| of.name.clone()).collect()
    }

    /// The cells of a row.
    pub fn row(&self, of: &T) -> Vec<String> {
        self.0.iter().map(|column| (column.cell)(of)).collect()
    }

    /// The cells of the row of the floor.
    pub fn floor(&self) -> Vec<String> {
        self.0.iter().map(|of| of.floor.clone()).collect()
    }

    /// The names of the columns, and a row for each of these values.
    pub fn rows<'r>(&self, all: impl IntoIterator<Item = &'r T>) -> Vec<Vec<String>>
    where
        T: 'r,
    {
        let rows = all.into_iter().map(|of| self.row(of));
        [self.header()].into_iter().chain(rows).collect()
    }
}

/// The most characters of a line.
pub const WIDTH: usize = 80;

/// Puts columns two spaces apart. The first is aligned to the left, the others to the right. Columns that do
/// not fit into the width of a terminal come in a second table below, with the first column again, and a cell
/// that is wider than what is left breaks at its spaces.
pub fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let length = |cell: &str| cell.chars().count();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| length(cell)).max().unwrap_or(0)
    };
    let first = width(0);
    let room = WIDTH.saturating_sub(2 + first);
    // The narrowest width of a cell that breaks is that of its longest word.
    let widths: Vec<usize> = (0..columns)
        .map(|column| match width(column) + 2 <= room || column == 0 {
            true => width(column),
            false => room.saturating_sub(2),
        })
        .collect();
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let mut used = room + 1;
    for (column, width) in widths.iter().enumerate().skip(1) {
        if used + 2 + width > room {
            blocks.push(Vec::new());
            used = 0;
        }
        used += 2 + width;
        if let Some(block) = blocks.last_mut() {
            block.push(column);
        }
    }
    if blocks.is_empty() {
        blocks.push(Vec::new());
    }
    let mut out = String::new();
    for (number, block) in blocks.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        for row in rows {
            let cell = |column: usize| row.get(column).map_or("", String::as_str);
            let lines: Vec<Vec<String>> = block
                .iter()
                .map(|column| broken(cell(*column), widths[*column]))
                .collect();
            let height = lines.iter().map(Vec::len).max().unwrap_or(1).max(1);
            for line in 0..height {
                let name = if line == 0 { cell(0) } else { "" };
                let mut text = format!("  {name:<first$}");
                for (column, lines) in block.iter().zip(&lines) {
                    let part = lines.get(line).map_or("", String::as_str);
                    text.push_str(&format!("  {part:>width$}", width = widths[*column]));
                }
                out.push_str(text.trim_end());
                out.push('\n');
            }
        }
    }
    out
}

/// A text in lines of at most `width` characters, broken at its spaces. A longer word has a line of its own.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let fits = |line: &String| line.chars().count() + 1 + word.chars().count() <= width;
        match lines.last_mut().filter(|line| fits(line)) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_string()),
        }
    }
    lines
}

/// Breaks the lines of a text that are longer than a terminal is wide. What follows a break is set in by two
/// more spaces than the line.
pub fn wrapped(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if line.chars().count() <= WIDTH {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        let words = line.trim_start();
        let indent = line.len() - words.len();
        for (number, part) in broken(words, WIDTH - indent - 2).iter().enumerate() {
            let indent = indent + 2 * usize::from(number > 0);
            out.push_str(&format!("{:indent$}{part}\n", ""));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = vec![
            vec!["a".to_string(), "one".to_string()],
            vec!["long".to_string(), "1".to_string()],
        ];
        assert_eq!(align(&rows), "  a     one\n  long    1\n");
    }

    #[test]
    fn a_wide_table_comes_in_parts_and_wide_cells_break() {
        let seeds = vec!["0.123"; 30].join(" ");
        let row = |name: &str| {
            let mut row = vec![name.to_string(), seeds.clone()];
            row.extend((0..12).map(|i| format!("cell {i} wide")));
            row
        };
        let rows = vec![row("randomized_sinusoidal"), row("none")];
        let text = align(&rows);
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        // Nothing is lost, and every part names its rows.
        assert_eq!(text.matches("0.123").count(), 60);
        for i in 0..12 {
            assert_eq!(text.matches(&format!("cell {i} wide")).count(), 2, "{text}");
        }
        let parts = text.matches("randomized_sinusoidal").count();
        assert!(parts > 2 && parts == text.matches("none").count(), "{text}");
    }

    #[test]
    fn a_short_line_stays() {
        assert_eq!(wrapped("  short\n"), "  short\n");
    }
}
