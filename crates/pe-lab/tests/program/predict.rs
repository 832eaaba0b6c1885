//! From `compare` on images or a series to `predict` on other files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::bars::bar;
use crate::common::{self, Says, good_in as good, json, run_in as ran};
use image::RgbImage;

/// A prediction that is refused, with why.
fn refused(folder: &Path, file: &str) -> String {
    let (code, stdout, stderr) = ran(folder, &format!("predict {file} --study study"));
    assert_eq!((code, stdout.as_str()), (2, ""), "{file}: {stderr}");
    stderr
}

/// The lines of a table of predictions below its header.
fn lines(table: &str, header: &str) -> Vec<Vec<String>> {
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some(header), "{table}");
    let cells = |line: &str| line.split(',').map(String::from).collect();
    lines.map(cells).collect()
}

/// What the report says of a scheme at a length.
fn scored(folder: &Path, scheme: &str, length: &str, column: &str) -> f64 {
    common::scored(&folder.join("study"), scheme, length, column)[0]
}

fn winner(folder: &Path) -> String {
    let winner = json(&folder.join("study/winner.json"));
    winner["scheme"]["name"].as_str().unwrap().to_string()
}

/// A wave around a rising line, at a row.
fn wave(row: usize) -> f64 {
    (row as f64 * 0.7).sin() + 0.01 * row as f64
}

fn waves(rows: std::ops::Range<usize>) -> String {
    let mut text = String::from("t,x,y\n");
    for row in rows {
        writeln!(text, "{row},{},{}", row % 7, wave(row)).unwrap();
    }
    text
}

const FORECAST: &str = "compare --data series.csv --target y --time t --columns y --max-len 16 \
    --schemes none,sinusoidal --seeds 1, --steps 120 --out study --quiet";

#[test]
fn a_forecast_goes_on_with_another_table() {
    let keep = tempfile::tempdir().unwrap();
    let folder = keep.path();
    fs::write(folder.join("series.csv"), waves(0..500)).unwrap();
    good(folder, FORECAST);
    assert_eq!(winner(folder), "sinusoidal");

    // On the table of the study the predictions of the tested rows have the error of the report. Those are the rows
    // 433 to 500: the test begins with row 401, and the longest tested window has 32 rows.
    let (table, said) = good(folder, "predict series.csv --study study");
    said.says_all(&[
        "no prediction of the first 8 rows",
        "row 501 is the one after",
    ]);
    let all = lines(&table, "row,prediction");
    let rows: Vec<usize> = all.iter().map(|cells| cells[0].parse().unwrap()).collect();
    assert_eq!(rows, (9..=501).collect::<Vec<_>>());
    let predicted = |row: usize| -> f64 { all[row - 9][1].parse().unwrap() };
    let errors = (433..=500).map(|row| (predicted(row) - wave(row - 1)).abs());
    let error = errors.sum::<f64>() / 68.0;
    let told = scored(folder, "sinusoidal", "16", "value");
    assert!((error - told).abs() < 1e-5 * told, "{error} {told}");
    // The row that is not there yet.
    let naive = (wave(500) - wave(499)).abs();
    assert!((predicted(501) - wave(500)).abs() < 0.5 * naive);
    let errors = (9..=500).map(|row| (predicted(row) - wave(row - 1)).abs());
    let error = errors.sum::<f64>() / 492.0;
    let of_file =
        format!("492 predictions of rows whose number is there: mean absolute error {error:.4}");
    said.says(&of_file);

    // Other rows, with the columns in another order and without the one that the study does not read.
    let mut other = String::from("y,t\n");
    for row in 600..620 {
        writeln!(other, "{},{row}", wave(row)).unwrap();
    }
    fs::write(folder.join("other.csv"), &other).unwrap();
    let (table, _) = good(folder, "predict other.csv --study study");
    let all = lines(&table, "row,prediction");
    assert_eq!((all.len(), all[12][0].as_str()), (13, "21"));
    let last: f64 = all[12][1].parse().unwrap();
    assert!((last - wave(620)).abs() < 0.5, "{last} {}", wave(620));

    // Rows enough for the shortest window, and one too few.
    let some = |rows: usize| -> String { other.split_inclusive('\n').take(rows + 1).collect() };
    fs::write(folder.join("short.csv"), some(8)).unwrap();
    let (table, _) = good(folder, "predict short.csv --study study");
    assert_eq!(lines(&table, "row,prediction").len(), 1);
    let few = "has 7 rows, and the shortest window of the training has 8";
    let no_y = "has no column `y`, which the study reads; its columns are `z`, `t`";
    for (text, words) in [
        (some(7), few),
        (some(0), "no row"),
        (some(12).replace("y,t", "z,t"), no_y),
        (some(12).replace("y,t", "y,u"), "has no column `t`"),
        (some(12) + "x,700\n", "line 14: `y` is `x`"),
        (some(12) + ",700\n", "line 14: `y` is missing"),
        (some(12) + "1,3\n", "line 14: the time `3` lies before"),
        (some(12) + "1,900,7\n", "line 14: 3 fields"),
    ] {
        fs::write(folder.join("wrong.csv"), text).unwrap();
        let message = refused(folder, "wrong.csv");
        message.says(words);
        assert!(!message.contains("--skip-bad"), "{message}");
        assert_eq!(
            message.contains("bad line"),
            message.contains("so none can be left out")
        );
    }
    refused(folder, "nowhere.csv").says("check the path");
    refused(folder, "study").says("is not a file");
}

#[test]
fn classes_of_a_series_need_no_column_of_classes() {
    let keep = tempfile::tempdir().unwrap();
    let folder = keep.path();
    // Whether the number rises. Columns are standardized as in training, so there is no trend.
    let level = |row: usize| (row as f64 * 0.7).sin();
    let class = |row: usize| ["down", "up"][usize::from(level(row) > level(row - 1))];
    let mut text = String::from("y,what\n");
    for row in 1..400 {
        writeln!(text, "{},{}", level(row), class(row)).unwrap();
    }
    fs::write(folder.join("series.csv"), &text).unwrap();
    good(
        folder,
        "compare --data series.csv --target what --max-len 8 --schemes sinusoidal --seeds 1, --steps 150 --quiet --out study",
    );
    // A class that is not known is not compared.
    fs::write(
        folder.join("open.csv"),
        text.replacen("what", "What", 1) + "0.5,?\n",
    )
    .unwrap();
    let (_, said) = good(folder, "predict open.csv --study study");
    said.says("of 396 predictions agree with the labels that are there");
    said.says("1 more has no label to compare with");
    let mut other = String::from("y\n");
    for row in 500..560 {
        writeln!(other, "{}", level(row)).unwrap();
    }
    fs::write(folder.join("other.csv"), other).unwrap();
    // Where there are classes, the share of right predictions is said.
    let (_, said) = good(folder, "predict series.csv --study study");
    said.says("of 396 predictions agree with the labels that are there: accuracy 0.");
    let (table, said) = good(folder, "predict other.csv --study study");
    assert!(!said.contains("agree"), "{said}");
    said.says("no prediction of the first 3 rows");
    let all = lines(&table, "row,prediction,probability");
    let rows: Vec<usize> = all.iter().map(|cells| cells[0].parse().unwrap()).collect();
    assert_eq!(rows, (4..=60).collect::<Vec<_>>());
    let is_right = |(cells, row): &(&Vec<String>, &usize)| cells[1] == class(499 + **row);
    let right = all.iter().zip(&rows).filter(is_right).count();
    let told = scored(folder, "sinusoidal", "8", "accuracy");
    assert!(told > 0.8 && right > 45, "{right} of 57, {told}");
}

const CLASSES: [&str; 2] = ["above", "below"];

#[test]
fn images_are_predicted_as_they_were_tested() {
    let keep = tempfile::tempdir().unwrap();
    let folder = keep.path();
    for (part, each) in [("train", 30), ("test", 12)] {
        for (class, name) in CLASSES.into_iter().enumerate() {
            let place = folder.join("bars").join(part).join(name);
            fs::create_dir_all(&place).unwrap();
            for number in 0..each {
                let image = bar(class, number + 100 * usize::from(part == "test"), [12, 12]);
                image.save(place.join(format!("{number:03}.png"))).unwrap();
            }
        }
    }
    good(
        folder,
        "compare --data bars --schemes none,sinusoidal_2d --seeds 1, --steps 60 --patch 3 --quiet --out study",
    );
    assert_eq!(winner(folder), "sinusoidal_2d");

    // The test of the study: as many are right as the report says.
    let (table, said) = good(folder, "predict bars/test --study study");
    let all = lines(&table, "file,prediction,probability");
    let names: Vec<String> = CLASSES
        .iter()
        .flat_map(|name| (0..12).map(move |number| format!("{name}/{number:03}.png")))
        .collect();
    let said_of: Vec<String> = all.iter().map(|cells| cells[0].clone()).collect();
    assert_eq!(said_of, names);
    let right = all.iter().filter(|cells| cells[0].starts_with(&cells[1]));
    let right = right.count();
    let told = scored(folder, "sinusoidal_2d", "16", "accuracy");
    assert!((right as f64 / 24.0 - told).abs() < 1e-9, "{right} {told}");
    let agree = "predictions agree with the labels that are there: accuracy";
    // Most of these bars are also among those that were trained on.
    let known = "the model was trained on 20 of the 24 inputs: what is right of these says little of others";
    assert_eq!(said, format!("{known}\n{right} of 24 {agree} {told:.3}\n"));
    assert!(told > 0.9, "{told}");
    for cells in &all {
        let probability: f64 = cells[2].parse().unwrap();
        assert!((0.5..=1.0).contains(&probability), "{cells:?}");
    }

    // Larger, of another shape, in colours, in folders inside each other; and a hidden file.
    let place = folder.join("new/deeper");
    fs::create_dir_all(&place).unwrap();
    let (square, wide) = (bar(0, 300, [24, 24]), bar(1, 301, [24, 48]));
    square.save(folder.join("new/b.png")).unwrap();
    wide.save(place.join("a.png")).unwrap();
    let grey = bar(1, 302, [12, 12]);
    let coloured = RgbImage::from_fn(12, 12, |x, y| {
        let value = grey.get_pixel(x, y).0[0];
        image::Rgb([value, value, value.saturating_add(9)])
    });
    coloured.save(place.join("c.png")).unwrap();
    fs::write(folder.join("new/.hidden"), "x").unwrap();
    let (table, said) = good(folder, "predict new --study study");
    let all = lines(&table, "file,prediction,probability");
    let said_of: Vec<String> = all.iter().map(|cells| cells[..2].join(" ")).collect();
    let expected = ["b.png above", "deeper/a.png below", "deeper/c.png below"];
    assert_eq!(said_of, expected);
    said.says_all(&[
        "2 of 3 images brought to the 12 × 12 pixels of the training",
        "1 of them had another aspect ratio and was cropped",
        "hidden files and studies, which are not read: 1",
    ]);
    // A single file.
    let (table, _) = good(folder, "predict new/b.png --study study");
    let one = lines(&table, "file,prediction,probability");
    assert_eq!(
        (one.len(), &one[0][..2].join(" ")[..]),
        (1, "new/b.png above")
    );

    let (_, said) = good(folder, "predict bars --study study");
    said.says("the model was trained on 80 of the 84 inputs");

    // What is no image is named, and nothing is predicted without it.
    fs::write(folder.join("new/notes.txt"), "x").unwrap();
    let whole = fs::read(folder.join("new/b.png")).unwrap();
    fs::write(folder.join("new/cut.png"), &whole[..whole.len() / 2]).unwrap();
    refused(folder, "new").says_all(&[
        "2 of 5 files cannot be used",
        "cut.png",
        "notes.txt is neither a PNG nor a JPEG file",
    ]);
    refused(folder, "new/notes.txt").says("1 of 1 file cannot be used");
    refused(folder, "nowhere.png").says("nowhere.png");
    fs::create_dir(folder.join("empty")).unwrap();
    refused(folder, "empty").says("holds no file");
}

#[test]
fn a_text_has_nothing_to_predict() {
    let keep = tempfile::tempdir().unwrap();
    let folder = keep.path();
    let text = "to be or not to be, that is the question\n".repeat(60);
    fs::write(folder.join("a.txt"), text).unwrap();
    good(
        folder,
        "compare --data a.txt --train-length 8 --schemes none --seeds 1, --steps 1 --quiet --out study",
    );
    refused(folder, "a.txt").says("predictions are made for labelled rows, images and series");
}

#[test]
fn labels_and_tokens_that_the_study_does_not_have_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut text = String::from("text,label\n");
    for row in 0..105 {
        let label = if row % 2 == 0 { "even" } else { "odd" };
        writeln!(text, "a{} b{} c{},{label}", row % 3, row % 5, row % 7).unwrap();
    }
    fs::write(folder.join("rows.csv"), &text).unwrap();
    let study = "compare --data rows.csv --schemes none --seeds 1, --steps 5 --quiet --out study";
    good(folder, study);
    let other = "text,label\na0 b0 c0,even\na1 new c1,prime\n";
    fs::write(folder.join("other.csv"), other).unwrap();
    let (_, said) = good(folder, "predict other.csv --study study");
    said.says("the study does not have the label of 1 row, such as `prime`");
    said.says("1 of the 6 tokens are not in the vocabulary of the study, such as `new`");
    let (_, said) = good(folder, "predict rows.csv --study study");
    assert!(!said.contains("does not have the label"), "{said}");
    assert!(!said.contains("vocabulary of the study"), "{said}");
    said.says("this is the file of the study");
    // Some of its rows.
    let some: Vec<&str> = text.lines().take(61).collect();
    fs::write(folder.join("some.csv"), some.join("\n")).unwrap();
    let (_, said) = good(folder, "predict some.csv --study study");
    said.says(
        "the model was trained on … of the 60 inputs: what is right of these says little of others",
    );
}

#[test]
fn the_column_of_the_groups_is_no_token_of_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut text = String::from("who,v,w,label\n");
    for row in 0..120 {
        let label = ["no", "yes"][row % 2];
        writeln!(text, "P{},{},{},{label}", row / 2, row % 2, row % 7).unwrap();
    }
    fs::write(folder.join("rows.csv"), text).unwrap();
    fs::write(folder.join("new.csv"), "w,v\n3,0\n5,1\n").unwrap();
    let study =
        "compare --data rows.csv --group who --schemes none --seeds 1, --steps 5 --out study";
    let (_, said) = good(folder, &format!("{study} --quiet"));
    assert!(!said.contains("`who` to"), "{said}");
    let (table, said) = good(folder, "predict new.csv --study study");
    assert_eq!(lines(&table, "row,prediction,probability").len(), 2);
    assert!(!said.contains("vocabulary of the study"), "{said}");
    let (_, said) = good(folder, "predict rows.csv --study study");
    said.says("of 120 predictions agree with the labels");
}
