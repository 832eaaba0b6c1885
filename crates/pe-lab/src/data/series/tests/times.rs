//! Dates and times as others write them.

use super::*;

#[test]
fn dates_as_others_write_them_are_days_and_the_step_is_told() {
    type Write = fn((u32, u32, u32)) -> String;
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let dates = "times are dates;";
    let digits = "dates of eight digits: year, month and day";
    let zoned: Write = |(d, m, y)| format!("{y}-{m:02}-{d:02}T01:00:00.000+01:00");
    let formats: [(Write, &str); 9] = [
        (|(d, m, y)| format!("{y}{m:02}{d:02}"), digits),
        (|(d, m, y)| format!("{y}-{m:02}-{d:02}"), dates),
        (|(d, m, y)| format!("{y}/{m:02}/{d:02}"), dates),
        (|(d, m, y)| format!("{y}/{m:02}/{d:02} 00:00"), dates),
        (
            |(d, m, y)| format!("{y}-{m:02}-{d:02} 00:00:00+00:00"),
            dates,
        ),
        (zoned, dates),
        (
            |(d, m, y)| format!("{}-{d}-{y}", MONTHS[m as usize - 1]),
            dates,
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
        let data = read(&at(&times), TIMED).unwrap_or_else(|why| panic!("{}: {why}", times[0]));
        data.says(&format!("{how} … steps of time: each of 7 days"));
        batches.push(data.task().train_batch(1, 2, 8));
    }
    assert!(batches.iter().all(|batch| *batch == batches[0]));
    let times = batches[0][0].times.as_ref().unwrap();
    let mut steps = times.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(steps.all(|step| (step - 1.0).abs() < 1e-9));
}

#[test]
fn months_and_quarters_in_one_column_or_two_are_the_same_times() {
    type Write = fn(usize, usize) -> String;
    let quarters = |write: Write| -> Vec<String> {
        let of = |nth: usize| write(1950 + nth / 4, nth % 4 + 1);
        (0..280).map(of).collect()
    };
    let one = at(&quarters(|year, quarter| format!("{year} Q{quarter}")));
    let one = read(&one, TIMED).unwrap();
    one.says("steps of time: 91 days (the shortest 90 days, the longest 92 days)");
    let forms: [(&str, Write); 5] = [
        ("t", |year, quarter| format!("{year}Q{quarter}")),
        ("t", |year, quarter| {
            format!("{year}-{:02}", 3 * quarter - 2)
        }),
        ("year,quarter", |year, quarter| format!("{year};{quarter}")),
        ("year,Q", |year, quarter| format!("{year}.0;{quarter}.0")),
        ("year,month", |year, quarter| {
            format!("{year};{}", 3 * quarter - 2)
        }),
    ];
    for (name, write) in forms {
        let text = at(&quarters(write)).replacen('t', &name.replace(',', ";"), 1);
        let data = read(&text, &format!("time = '{name}'")).unwrap();
        data.says(&format!("positions are the times of `{name}`"));
        let batch = |data: &DataTask| data.task().train_batch(1, 2, 8);
        assert_eq!(batch(&data), batch(&one), "{name}");
        // The columns of the time are not read as numbers.
        assert_eq!(data.task().vector_width(), Some(1), "{name}");
    }
    let text =
        at(&quarters(|year, quarter| format!("{year};{quarter}"))).replacen('t', "year;quarter", 1);
    let wrong = read(&text, "time = 'year,month'").unwrap_err();
    wrong.says("--time names `month`, and there is no such column");
    let months = |day: usize| {
        let of = |nth: usize| format!("{}/{day}/{}", nth % 12 + 1, 1950 + nth / 12);
        read(&at(&(0..300).map(of).collect::<Vec<_>>()), TIMED)
    };
    months(1)
        .unwrap()
        .says("dates, the month before the day; steps of time: 31 days");
    let wrong = months(2).unwrap_err();
    wrong.says("dates such as `1/2/1950`, which may begin with the day or with the month");
}

#[test]
fn hours_in_a_column_of_their_own_are_those_of_a_clock() {
    type Write = fn(usize, usize) -> String;
    let hours = |write: Write| -> Vec<String> {
        let of = |nth: usize| write(nth / 24 + 1, nth % 24);
        (0..280).map(of).collect()
    };
    let one = at(&hours(|day, hour| format!("2024-03-{day:02} {hour:02}:00")));
    let one = read(&one, TIMED).unwrap();
    one.says("steps of time: each of 1 hour");
    let forms: [(&str, Write); 2] = [
        ("day,hour", |day, hour| format!("2024-03-{day:02};{hour}")),
        ("year,month,day,Hour", |day, hour| {
            format!("2024;3;{day};{hour:02}")
        }),
    ];
    for (name, write) in forms {
        let text = at(&hours(write)).replacen('t', &name.replace(',', ";"), 1);
        let data = read(&text, &format!("time = '{name}'")).unwrap();
        let batch = |data: &DataTask| data.task().train_batch(1, 2, 8);
        assert_eq!(batch(&data), batch(&one), "{name}");
    }
    let late = at(&hours(|day, hour| format!("2024-03-{day:02};{}", hour + 1)));
    let wrong = read(&late.replacen('t', "day;hour", 1), "time = 'day,hour'").unwrap_err();
    wrong.says("`day,hour` is `2024-03-01 24:00`");
}

#[test]
fn the_one_column_of_dates_is_the_time_and_two_are_asked_about() {
    let mut text = String::from("when,x,y\n");
    let mut two = String::from("when,then,y\n");
    for (row, (day, month, year)) in weeks(300).enumerate() {
        let date = format!("{year}-{month:02}-{day:02}");
        writeln!(text, "{date},{},{}", row % 5, row % 7).unwrap();
        writeln!(two, "{date},{},{}", date.replace('-', ""), row % 7).unwrap();
    }
    let data = read(&text, "").unwrap();
    data.says("time: column `when`, found by its dates; --time and --columns say otherwise");
    assert!(data.task().has_times());
    assert_eq!(data.task().vector_width(), Some(2));
    let unnamed = read(&text.replacen("when", "", 1), "").unwrap();
    unnamed.says("positions are the times of the column without a name … time: the column without a name, found");
    let counted: String = text
        .lines()
        .zip(0..)
        .map(|(line, row)| format!("{row},{line}\n"))
        .collect();
    let counted = read(&counted.replacen("0,", ",", 1), "").unwrap();
    counted.says("the column without a name counts the rows, and is not read");
    assert_eq!(counted.task().vector_width(), Some(2));
    // Naming the columns with `columns` says that no time is wanted.
    let named = read(&text, "columns = ['x']").unwrap();
    assert!(!named.task().has_times());
    let asked = read(&two, "").unwrap_err();
    asked.says("the cells of `when` and of `then` are dates; say which are the times with --time");
}
