//! Makes `RESULTS.md` of the rows that the benches print: one JSON [`Row`] a line on stdin, the text
//! that goes above the table as the only argument. Run by `scripts/bench`.

use std::io::{BufRead, stdin};

use pe_benches::Row;

fn main() {
    let header = std::env::args().nth(1).expect("the text above the table");
    println!("{header}");
    println!("| bench | ours | against | theirs | theirs ÷ ours | target | |");
    println!("|---|---|---|---|---|---|---|");
    let (mut notes, mut missing) = (Vec::new(), Vec::new());
    for line in stdin().lock().lines() {
        let line = line.expect("lines of text");
        let row: Row = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("this is not a row: {error}\n{line}"));
        print_row(&row);
        let bench = &row.bench;
        notes.extend(row.note.as_ref().map(|note| format!("- {bench}: {note}")));
        let reasons = row.missing.iter();
        missing.extend(reasons.map(|reason| format!("- {bench}: {reason}")));
    }
    for (title, lines) in [("Notes", notes), ("Not measured", missing)] {
        if !lines.is_empty() {
            println!("\n## {title}\n\n{}", lines.join("\n"));
        }
    }
}

/// A line for our number if it has a target of its own or stands alone, and one for each other way.
fn print_row(row: &Row) {
    let [ours, others @ ..] = row.ways.as_slice() else {
        panic!("{}: a row without numbers", row.bench);
    };
    let shown = |number: &pe_benches::Measured| {
        let spread = match row.rounds {
            1 => String::new(),
            _ => format!(
                " ({} to {})",
                row.unit.show(number.low),
                row.unit.show(number.high)
            ),
        };
        let threads = match number.threads {
            1 => "1 thread".to_owned(),
            threads => format!("{threads} threads"),
        };
        format!("{}{spread}, {threads}", row.unit.show(number.median))
    };
    let target = |way| {
        let target: Option<pe_benches::Target> = way;
        target.map_or(String::new(), |target| target.to_string())
    };
    let verdict = |way: &pe_benches::Measured| {
        way.target
            .map_or(String::new(), |target| match row.verdict(way, target) {
                "reached" => "reached".to_owned(),
                verdict => format!("**{verdict}**"),
            })
    };
    let bench = &row.bench;
    if others.is_empty() || ours.target.is_some() {
        println!(
            "| {bench} | {} | – | – | – | {} | {} |",
            shown(ours),
            target(ours.target),
            verdict(ours)
        );
    }
    for other in others {
        println!(
            "| {bench} | {}: {} | {} | {} | {} | {} | {} |",
            ours.name,
            shown(ours),
            other.name,
            shown(other),
            row.ratio(other),
            target(other.target),
            verdict(other)
        );
    }
}
