use super::super::super::rows::Rows;
use super::*;
use crate::data::testing::{Says, collected, rows};

const TWO: &str = "id,time,x,y,label\na,1,0.7,?,left\nb,0,-2,,right\n\na,0,0.5,1,left\nb,0.5,3,4,right\na,2,9,9,left\n";

const ID: &str = "id = 'id'";
const TIMED: &str = "id = 'id'; time = 'time'";

fn read_as(text: &str, labels: Labels, flags: &str) -> Result<(Rows, Vec<String>), String> {
    let form = match text.starts_with('{') {
        true => Form::JsonLines,
        false => Form::Table(None),
    };
    collected(flags, labels, |rows| read(text, form, rows))
}

fn good(text: &str) -> (Rows, Vec<String>) {
    read_as(text, Labels::Needed, TIMED).unwrap()
}

fn said(text: &str, reading: &str) -> String {
    read_as(text, Labels::Needed, reading).unwrap_err()
}

#[test]
fn a_series_is_all_rows_of_one_id_in_the_order_of_time() {
    let (rows, notes) = good(TWO);
    assert_eq!(
        notes,
        [
            "a series is all rows of one `id`, in the order of `time` (numbers); 2 channels: `x`, `y`; label from `label`"
        ]
    );
    assert_eq!(rows.channels, Some(2));
    assert_eq!(rows.names, ["a", "b"]);
    let words = |row: usize| -> Vec<&str> {
        let tokens = rows.rows[row].tokens.iter();
        tokens.map(|at| &*rows.words[*at as usize]).collect()
    };
    assert_eq!(words(0), ["0.5 1", "0.7 ?", "9 9"]);
    assert_eq!(words(1), ["-2 ?", "3 4"]);
    assert_eq!(rows.labels, ["left", "right"]);
    // The same as JSON lines, with other line ends, and in another order of the rows.
    let line = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let [id, time, x, y, label] = cells[..].try_into().unwrap();
        let number = |cell: &str| {
            cell.parse::<f64>()
                .map_or("null".into(), |_| cell.to_string())
        };
        let (x, y) = (number(x), number(y));
        format!(r#"{{"id": "{id}", "time": {time}, "x": {x}, "y": {y}, "label": "{label}"}}"#)
            + "\n"
    };
    let lines = TWO.lines().skip(1).filter(|line| !line.is_empty());
    assert_eq!(good(&lines.map(line).collect::<String>()).0, rows);
    let mixed = TWO.replacen('\n', "\r\n", 3);
    assert_eq!(good(&mixed).0, rows);
}

#[test]
fn times_say_the_order_and_uneven_ones_more() {
    let uneven = TWO.replace("a,2,", "a,9,");
    let (rows, _) = good(&uneven);
    let times = rows.times.unwrap();
    assert_eq!(times.row(0), [0.0, 1.0, 9.0]);
    assert_eq!(times.row(1), [0.0, 0.5]);
    assert_eq!(times.said_if_equal(), None);
    let mut dates = TWO.to_string();
    for (time, date) in [
        ("a,0,", "a,2024-01-31 10:00,"),
        ("a,1,", "a,2024-01-31 10:01,"),
        ("a,2,", "a,2024-01-31 10:02,"),
        ("b,0,", "b,2024-01-31,"),
        ("b,0.5,", "b,2024-02-01,"),
    ] {
        dates = dates.replace(time, date);
    }
    let (rows, notes) = good(&dates);
    assert!(notes[0].contains("`time` (dates)"), "{notes:?}");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(rows.words[0], "0.5 1");
}

#[test]
fn decimal_commas_are_read_as_points_are() {
    let point = "id,time,x,y,label\na,0.25,7.5,?,1.5\na,1.5,1.5,9,1.5\nb,0.5,3,4,2.5\n";
    let comma = point.replace(',', ";").replace('.', ",");
    let ((points, _), (commas, notes)) = (good(point), good(&comma));
    assert!(commas.ways.has_commas);
    let ways = points.ways;
    assert_eq!(Rows { ways, ..commas }, points);
    notes[1].says("numbers with decimal commas, such as `7,5` in line 2: in `x`, `label`, `time`");
    let thousands = "id;time;x;label\na;0;1,500;left\nb;1;2,500;right\n";
    said(thousands, TIMED).says("line 2: `x` is `1,500`, whose comma may be a decimal comma");
}

#[test]
fn columns_are_as_the_flags_say() {
    let twice = said(TWO, "id = 'id'; time = 'time'; group = 'label'");
    twice.says("--label and --group both name `label`");
    let y = read_as(TWO, Labels::Needed, "id = 'id'; columns = ['y']");
    let (rows, notes) = y.unwrap();
    assert_eq!(rows.words, ["?", "1", "9", "4"]);
    notes[0].says("in the order of the file; one channel: `y`");
    notes.join("\n").says("columns not read: `time`, `x`");
    let mut open = TWO.to_string();
    for label in [",label", ",left", ",right"] {
        open = open.replace(label, "");
    }
    let (rows, _) = read_as(&open, Labels::IfAny, TIMED).unwrap();
    assert_eq!(rows.labels, [""]);
}

#[test]
fn what_cannot_be_used_is_named_with_its_lines_and_values() {
    for [from, to, what] in rows(
        r#"
        a,2,9,9,left | a,2,9,9,right              | line 7: series `a`: the label is `right`, and `left` on line 2
        a,2,9,9,left | a,2,9,9,                   | line 7: series `a`: the label `label` is empty
        a,2,9        | a,1.0,9                    | line 7: series `a`: the time `1.0` is that of line 2 too
        a,2,9        | a,x,9                      | line 7: series `a`: the time `time` is `x`, and the other times are numbers
        a,2,9        | a,inf,9                    | line 7: series `a`: the time `time` is `inf`
        a,2,9        | a,-9007199254740993,9      | line 7: series `a`: the time `time` is `-9007199254740993`, and from 2^53 on f64
        a,2,9        | a,2024-05-17,9             | line 7: series `a`: the time `time` is `2024-05-17`, and the other times are numbers
        a,2,9,9      | a,2,x,9                    | line 7: series `a`: column `x`: `x` is no number
        a,2,9,9      | a,2,9,inf                  | line 7: series `a`: column `y`: `inf` is no number
        a,2,9,9      | ,2,9,9                     | line 7: `id` is empty
        a,2,9,9,left | a,2,9,9,left,1             | line 7: 6 fields, but the header has 5; the first one too many is `1`
        a,2,9,9,left | a,2,"9,9,left⏎a,3,1,1,left | line 7: a double quote is not closed
        ,label⏎      | ,class⏎                    | --id reads the label of each series from a column `label`
        "#,
    ) {
        said(&TWO.replacen(from, to, 1), TIMED).says(what);
    }
    said(TWO, ID).says("the column `time` sounds like a time: say --time time");
    let days = TWO.replacen(",time,", ",day,", 1);
    said(&days, ID).says("the column `day` sounds like a time: say --time day");
    for (from, to) in [("a,2,9,9,left", ",2,9,9,left"), ("a,2,9,9", "a,2,9,9,9")] {
        let message = said(
            &TWO.replacen(from, to, 1),
            "id = 'id'; time = 'time'; skip_bad = 9",
        );
        message.says("line 7: ");
        assert!(!message.contains("--skip-bad"), "{message}");
    }
    said(TWO, "id = 'uid'; time = 'time'").says("--id names `uid`");
    let bad = TWO.replace("b,0.5,3", "b,0.5,x");
    let skip = "id = 'id'; time = 'time'; skip_bad = 1";
    let (rows, notes) = read_as(&bad, Labels::Needed, skip).unwrap();
    assert_eq!(rows.names, ["a"]);
    notes.last().unwrap().says("1 bad line left out");
}
