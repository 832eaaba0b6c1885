//! Dates and times as others write them.

use super::*;
use crate::data::testing::Says;

#[test]
fn dates_as_others_write_them_are_days_and_the_step_is_told() {
    type Write = fn((u32, u32, u32)) -> String;
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let formats: [(Write, &str); 9] = [
        (
            |(d, m, y)| format!("{y}{m:02}{d:02}"),
            "dates of eight digits: year, month and day",
        ),
        (|(d, m, y)| format!("{y}-{m:02}-{d:02}"), "times are dates;"),
        (|(d, m, y)| format!("{y}/{m:02}/{d:02}"), "times are dates;"),
        (
            |(d, m, y)| format!("{y}/{m:02}/{d:02} 00:00"),
            "times are dates;",
        ),
        (
            |(d, m, y)| format!("{y}-{m:02}-{d:02} 00:00:00+00:00"),
            "times are dates;",
        ),
        (
            |(d, m, y)| format!("{y}-{m:02}-{d:02}T01:00:00.000+01:00"),
            "times are dates;",
        ),
        (
            |(d, m, y)| format!("{}-{d}-{y}", MONTHS[m as usize - 1]),
            "times are dates;",
        ),
        (
            |(d, m, y)| format!("{d}/{m}/{y}"),
            "dates, the day before the month",
        ),
        (
            |(d, m, y)| format!("{m}/{d}/{y}"),
            "dates, the month before the day",
        ),
    ];
    let mut batches = Vec::new();
    for (write, how) in formats {
        let times: Vec<String> = weeks(300).map(write).collect();
        let data = read(&at(&times), timed).unwrap_or_else(|why| panic!("{}: {why}", times[0]));
        let said = said(&data);
        said.says(how);
        said.says("steps of time: each of 7 days");
        batches.push(data.task().train_batch(1, 2, 8));
    }
    assert!(batches.iter().all(|batch| *batch == batches[0]));
    let times = batches[0][0].times.as_ref().unwrap();
    assert!(
        times
            .windows(2)
            .all(|pair| (pair[1] - pair[0] - 1.0).abs() < 1e-9)
    );
}

#[test]
fn months_and_quarters_in_one_column_or_two_are_the_same_times() {
    let quarters = |write: fn(usize, usize) -> String| -> Vec<String> {
        (0..280)
            .map(|nth| write(1950 + nth / 4, nth % 4 + 1))
            .collect()
    };
    let one = at(&quarters(|year, quarter| format!("{year} Q{quarter}")));
    let one = read(&one, timed).unwrap();
    one.says("steps of time: 91 days (the shortest 90 days, the longest 92 days)");
    for (name, write) in [
        (
            "t",
            (|year, quarter| format!("{year}Q{quarter}")) as fn(usize, usize) -> String,
        ),
        ("t", |year, quarter| {
            format!("{year}-{:02}", 3 * quarter - 2)
        }),
        ("year,quarter", |year, quarter| format!("{year};{quarter}")),
        ("year,Q", |year, quarter| format!("{year}.0;{quarter}.0")),
        ("year,month", |year, quarter| {
            format!("{year};{}", 3 * quarter - 2)
        }),
    ] {
        let text = at(&quarters(write)).replacen('t', &name.replace(',', ";"), 1);
        let data = read(&text, |reading| reading.time = Some(name.into())).unwrap();
        data.says(&format!("positions are the times of `{name}`"));
        assert_eq!(
            data.task().train_batch(1, 2, 8),
            one.task().train_batch(1, 2, 8),
            "{name}"
        );
        // The columns of the time are not read as numbers.
        assert_eq!(data.task().vector_width(), Some(1), "{name}");
    }
    let text =
        at(&quarters(|year, quarter| format!("{year};{quarter}"))).replacen('t', "year;quarter", 1);
    let wrong = read(&text, |reading| reading.time = Some("year,month".into())).unwrap_err();
    wrong.says("--time names `month`, and there is no such column");
    let times: Vec<String> = (0..300)
        .map(|nth| format!("{}/1/{}", nth % 12 + 1, 1950 + nth / 12))
        .collect();
    let wrong = read(&at(&times), timed).unwrap_err();
    wrong.says("dates such as `2/1/1950`, which may begin with the day or with the month");
}

#[test]
fn the_one_column_of_dates_is_the_time_and_two_are_asked_about() {
    let mut text = String::from("when,x,y\n");
    let mut two = String::from("when,then,y\n");
    for (row, (day, month, year)) in weeks(300).enumerate() {
        writeln!(text, "{year}-{month:02}-{day:02},{},{}", row % 5, row % 7).unwrap();
        writeln!(
            two,
            "{year}-{month:02}-{day:02},{year}{month:02}{day:02},{}",
            row % 7
        )
        .unwrap();
    }
    let data = read(&text, |_| ()).unwrap();
    data.says("time: column `when`, found by its dates; --time and --columns say otherwise");
    assert!(data.task().has_times());
    assert_eq!(data.task().vector_width(), Some(2));
    // Whoever names the columns says that no time is wanted.
    let named = read(&text, |reading| reading.columns = Some(vec!["x".into()])).unwrap();
    assert!(!named.task().has_times());
    let asked = read(&two, |_| ()).unwrap_err();
    asked.says("the cells of `when` and of `then` are dates; say which are the times with --time");
}
