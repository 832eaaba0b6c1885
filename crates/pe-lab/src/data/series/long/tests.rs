use super::super::super::rows;
use super::*;
use crate::data::testing::{Says, reading, rows};

const TWO: &str = "id,time,x,y,label\na,1,0.7,?,left\nb,0,-2,,right\n\na,0,0.5,1,left\nb,0.5,3,4,right\na,2,9,9,left\n";

#[derive(Debug)]
struct Read {
    rows: rows::Rows,
    names: Vec<String>,
    notes: Vec<String>,
}

fn read_as(text: &str, labels: Labels, change: impl Fn(&mut Reading)) -> Result<Read, String> {
    let mut reading = reading(|r| {
        r.id = Some("id".into());
        r.time = Some("time".into());
    });
    change(&mut reading);
    let mut rows = Collector::new(&Reading::default());
    let form = match text.starts_with('{') {
        true => Form::JsonLines,
        false => Form::Table(None),
    };
    let notes = read(text, &reading, form, labels, None, &mut rows).and_then(|mut notes| {
        notes.extend(rows.end_file(reading.skip_bad)?);
        Ok(notes)
    });
    let notes = notes.map_err(|error| error.to_string())?;
    let names = rows.names();
    Ok(Read {
        names,
        rows: rows.finish(),
        notes,
    })
}

fn said(text: &str, change: impl Fn(&mut Reading)) -> String {
    read_as(text, Labels::Needed, change)
        .map(|_| ())
        .unwrap_err()
}

#[test]
fn a_series_is_all_rows_of_one_id_in_the_order_of_time() {
    let Read { rows, names, notes } = read_as(TWO, Labels::Needed, |_| ()).unwrap();
    assert_eq!(
        notes,
        [
            "a series is all rows of one `id`, in the order of `time` (numbers); 2 channels: `x`, `y`; label from `label`"
        ]
    );
    assert_eq!(
        (rows.channels, &names[..]),
        (Some(2), &["a".to_string(), "b".into()][..])
    );
    let words = |row: usize| -> Vec<&str> {
        rows.rows[row]
            .tokens
            .iter()
            .map(|at| rows.words[*at as usize].as_str())
            .collect()
    };
    assert_eq!(
        (words(0), words(1)),
        (vec!["0.5 1", "0.7 ?", "9 9"], vec!["-2 ?", "3 4"])
    );
    assert_eq!(rows.labels, ["left", "right"]);
    // The same as JSON lines, with other line ends, and in another order of the rows.
    let json = TWO
        .lines()
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(|line| {
            let of = |at: usize| line.split(',').nth(at).unwrap();
            let number = |at| {
                Some(of(at))
                    .filter(|cell| cell.parse::<f64>().is_ok())
                    .unwrap_or("null")
            };
            format!(
                "{{\"id\": \"{}\", \"time\": {}, \"x\": {}, \"y\": {}, \"label\": \"{}\"}}\n",
                of(0),
                of(1),
                number(2),
                number(3),
                of(4)
            )
        });
    let json: String = json.collect();
    assert_eq!(read_as(&json, Labels::Needed, |_| ()).unwrap().rows, rows);
    let mixed = TWO.replacen('\n', "\r\n", 3);
    assert_eq!(read_as(&mixed, Labels::Needed, |_| ()).unwrap().rows, rows);
}

#[test]
fn times_say_the_order_and_uneven_ones_more() {
    let uneven = TWO.replace("a,2,", "a,9,");
    let Read { rows, .. } = read_as(&uneven, Labels::Needed, |_| ()).unwrap();
    let times = rows.times.unwrap();
    assert_eq!(
        (times.row(0), times.row(1)),
        (&[0.0, 1.0, 9.0][..], &[0.0, 0.5][..])
    );
    assert_eq!(times.said_if_equal(), None);
    let at = |time: &str| format!("a,2024-01-31 {time},");
    let dates = TWO
        .replace("a,0,", &at("10:00"))
        .replace("a,1,", &at("10:01"));
    let dates = dates.replace("a,2,", &at("10:02"));
    let dates = dates
        .replace("b,0,", "b,2024-01-31,")
        .replace("b,0.5,", "b,2024-02-01,");
    let Read { rows, notes, .. } = read_as(&dates, Labels::Needed, |_| ()).unwrap();
    assert!(notes[0].contains("`time` (dates)"), "{notes:?}");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(rows.words[0], "0.5 1");
}

#[test]
fn columns_are_as_the_flags_say() {
    let twice = said(TWO, |reading| reading.group = Some("label".into()));
    twice.says("--label and --group both name `label`");
    let Read { rows, notes, .. } = read_as(TWO, Labels::Needed, |reading| {
        reading.columns = Some(vec!["y".into()]);
        reading.time = None;
    })
    .unwrap();
    assert_eq!(rows.words, ["?", "1", "9", "4"]);
    notes[0].says("in the order of the file; one channel: `y`");
    assert!(
        notes.contains(&"columns not read: `time`, `x`".to_string()),
        "{notes:?}"
    );
    let open = TWO
        .replace(",label", "")
        .replace(",left", "")
        .replace(",right", "");
    let Read { rows, .. } = read_as(&open, Labels::IfAny, |_| ()).unwrap();
    assert_eq!(rows.labels, ["?"]);
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
        a,2,9,9,left | a,2,9,9,left,1             | line 7: 6 fields, and the header has 5
        a,2,9,9,left | a,2,"9,9,left⏎a,3,1,1,left | line 7: a double quote is not closed
        ,label⏎      | ,class⏎                    | --id reads the label of each series from a column `label`
        "#,
    ) {
        let message = said(&TWO.replacen(from, to, 1), |_| ());
        assert!(message.contains(what), "{what}\n{message}");
    }
    let no_time = said(TWO, |reading| reading.time = None);
    no_time.says("the column `time` sounds like a time: say --time `time`");
    for (from, to) in [("a,2,9,9,left", ",2,9,9,left"), ("a,2,9,9", "a,2,9,9,9")] {
        let message = said(&TWO.replacen(from, to, 1), |reading| reading.skip_bad = 9);
        let cannot_be_skipped = !message.contains("--skip-bad");
        assert!(
            message.contains("line 7: ") && cannot_be_skipped,
            "{message}"
        );
    }
    let unknown = said(TWO, |reading| reading.id = Some("uid".into()));
    assert!(unknown.contains("--id names `uid`"), "{unknown}");
    let Read { names, notes, .. } = read_as(
        &TWO.replace("b,0.5,3", "b,0.5,x"),
        Labels::Needed,
        |reading| {
            reading.skip_bad = 1;
        },
    )
    .unwrap();
    assert_eq!(names, ["a"]);
    notes.last().unwrap().says("1 bad line left out");
}
