//! Studies on files of labelled series, on records with a table of their classes, and on a folder of texts: from `compare` to
//! `predict`, and the study again from what it keeps.

use std::fs;
use std::path::Path;

use crate::common::{Says, column, failed, good_in as good, rows, run_in, temporary};

/// Runs a short study with these flags, and runs it again elsewhere from its plan, which has to be the same study.
fn compare(folder: &Path, flags: &str) -> String {
    let short = "compare --schemes none --seeds 1 --steps 2 --out study";
    let (_, said) = good(folder, &format!("{short} {flags}"));
    good(folder, "compare --study study/study.toml --out again");
    let spec = |study: &str| fs::read_to_string(folder.join(study).join("study.json")).unwrap();
    assert_eq!(spec("again"), spec("study"));
    said
}

/// What the predictions for a file are about, what the first of them is about, and how many there are.
fn predict(folder: &Path, file: &str) -> String {
    let (table, _) = good(folder, &format!("predict {file} --study study"));
    let mut names = table.lines().map(|line| line.split(',').next().unwrap());
    let [head, first] = [(); 2].map(|()| names.next().unwrap());
    format!("{head} {first} {}", names.count() + 1)
}

#[test]
fn series_of_arff() {
    let folder = tempfile::tempdir().unwrap();
    let series = |i: usize| match i % 2 {
        0 => format!("'{i},0.5,?\\n1,2,3.5',up\n"),
        _ => format!("'0.5,{i},1\\n3.5,2,1',down\n"),
    };
    let head = "@relation r\n@attribute s relational\n@attribute a numeric\n@attribute b numeric\n@attribute c numeric\n\
                @end s\n@attribute class {up,down}\n@data\n";
    let rows =
        |rows: std::ops::Range<usize>| format!("{head}{}", rows.map(series).collect::<String>());
    fs::write(folder.path().join("R_TRAIN.arff"), rows(0..30)).unwrap();
    fs::write(folder.path().join("R_TEST.arff"), rows(30..60)).unwrap();
    let said = compare(folder.path(), "--data R_TRAIN.arff");
    said.says("`r`: series of 2 channels; the class is the attribute `class`");
    said.says("tested on the rows of R_TEST.arff, which lies beside it");
    let more = rows(60..63).replace(",up\n", ",?\n");
    fs::write(folder.path().join("more.arff"), more).unwrap();
    assert_eq!(predict(folder.path(), "more.arff"), "row 1 3");
}

#[test]
fn whole_series_of_a_long_table() {
    let folder = tempfile::tempdir().unwrap();
    let steps = |i: usize| -> String {
        let of = |t: usize| {
            let y = if i.is_multiple_of(2) { t } else { 4 - t };
            format!("s{i},{t},{}.5,{y},{}\n", i % 7, ["up", "down"][i % 2])
        };
        (0..4 + i % 2).rev().map(of).collect()
    };
    let write = |name: &str, table: String| fs::write(folder.path().join(name), table).unwrap();
    let table = (0..40).map(steps).collect::<String>();
    write("long.csv", format!("id,t,x,y,class\n{table}"));
    let flags = "--data long.csv --id id --time t --label class";
    compare(folder.path(), flags).says(
        "a series is all rows of one `id`, in the order of `t` (numbers); 2 channels: `x`, `y`",
    );
    // The columns are found by their names, and a class need not be there.
    write("more.csv", "y,x,t,id\n1,0.5,0,new\n2,0.5,1,new\n".into());
    assert_eq!(predict(folder.path(), "more.csv"), "series new 1");
    // Each column of the study has to be there, and no flag of `compare` is advised.
    write("less.csv", "x,t,id\n0.5,0,new\n".into());
    failed(run_in(folder.path(), "predict less.csv --study study"), 2)
        .says("less.csv: has no column `y`, which the study reads; its columns are `x`, `t`, `id`");
    // A time without a series, and settings that are for something else.
    for [flags, what] in rows(
        "
        --time t                                | --time is about series
        --id id --time t --text x               | --text is not about whole series
        --id id --time t --label class --causal | --causal is not about whole series
        ",
    ) {
        let all = format!("compare --data long.csv --out none {flags}");
        failed(run_in(folder.path(), &all), 2).says(what);
    }
}

/// The class is how far apart in time the rows of a series are; its numbers are the same in every series.
#[test]
fn times_of_whole_series_are_seen_by_schemes_that_take_real_times() {
    let folder = tempfile::tempdir().unwrap();
    let visits = |patients: std::ops::Range<usize>, has_class: bool| {
        let mut text = format!("patient,day,x{}\n", if has_class { ",outcome" } else { "" });
        for patient in patients {
            let (mut day, class) = (10.0 * patient as f64, ["ill", "well"][patient % 2]);
            for visit in 0..5 + patient / 2 % 2 {
                let class = if has_class { &format!(",{class}") } else { "" };
                text += &format!("p{patient},{day},{}.5{class}\n", visit % 2);
                day += (1 + patient % 2 * 2) as f64 + ((patient + visit) * 7 % 10) as f64 / 16.0;
            }
        }
        text
    };
    fs::write(folder.path().join("visits.csv"), visits(0..160, true)).unwrap();
    let flags = "compare --data visits.csv --id patient --time day --label outcome --no-beyond \
                 --schemes none,learned,sinusoidal,rotary --seeds 1 --steps 200 --warmup 20 --lr 0.005 --d-model 16 --heads 2 \
                 --layers 1 --d-ff 32 --batch-size 32 --out study";
    let (_, said) = good(folder.path(), flags);
    let line = "positions are the times of `day`, from the start of each series, in units of their median step in training; \
                schemes that take only whole positions get 0, 1, 2, …";
    said.says(line);
    let study = folder.path().join("study");
    let of = |scheme: &str| -> f64 {
        let scores = column(&study, "accuracy", |row| row("scheme") == scheme);
        scores.into_iter().fold(1.0, f64::min)
    };
    let scores = ["none", "learned", "sinusoidal", "rotary"].map(of);
    assert!(scores[0] < 0.7 && scores[1] < 0.7, "{scores:?}");
    assert!(scores[2] > 0.9, "{scores:?}");
    let ahead = scores[2].max(scores[3]) - scores[0].max(scores[1]);
    assert!(ahead > 0.2, "{scores:?}");
    // The best model sees the times of other series, in the unit of the study.
    fs::write(folder.path().join("new.csv"), visits(160..180, false)).unwrap();
    let (table, _) = good(folder.path(), "predict new.csv --study study");
    let right = (160..).zip(table.lines().skip(1));
    let right = right.filter(|(patient, line)| line.contains(["ill", "well"][patient % 2]));
    assert!(right.count() > 16, "{table}");
}

#[test]
fn records_with_a_table_of_their_classes() {
    let folder = tempfile::tempdir().unwrap();
    let record = |i: usize| {
        let (first, end) = (["ACCA", "GTTG"][i % 2], &"AACCGGTTACGTTGCA"[i % 13..][..3]);
        format!(">r{i} a record\n{first}{}{end}\n", "ACGT".repeat(i % 3))
    };
    let class = |i: usize| format!("r{i}\t{}\n", ["a", "g"][i % 2]);
    let records = (0..60).map(record).collect::<String>();
    fs::write(folder.path().join("dna.fasta"), records).unwrap();
    let classes = format!("id\tclass\n{}", (0..60).map(class).collect::<String>());
    fs::write(folder.path().join("classes.tsv"), classes).unwrap();
    let said = compare(folder.path(), "--data dna.fasta --labels classes.tsv");
    said.says("label from `classes.tsv`, by the id; its first row is a header");
    let kept = folder.path().join("study/data/labels/classes.tsv");
    assert!(kept.is_file());
    // The last word of a header is no class, where classes are in a table.
    fs::write(folder.path().join("more.fasta"), ">x a record\nACGT\n").unwrap();
    let (table, _) = good(folder.path(), "predict more.fasta --study study");
    assert!(!table.contains("record"), "{table}");
    fs::write(folder.path().join("rows.csv"), "label,text\n").unwrap();
    let without_ids = "compare --data rows.csv --labels classes.tsv --out none";
    failed(run_in(folder.path(), without_ids), 2).says("--labels is for rows with an id");
    // A copy that was changed is another study.
    fs::write(kept, "r0,b\n").unwrap();
    let again = "compare --study study/study.toml --out study --seeds 2,3";
    failed(run_in(folder.path(), again), 2);
}

#[test]
fn a_folder_of_texts() {
    let (folder, root) = temporary("reviews");
    for (part, from) in [("train", 0), ("test", 30)] {
        for (class, text) in [("good", "not bad"), ("bad", "bad not")] {
            let of_class = root.join(part).join(class);
            fs::create_dir_all(&of_class).unwrap();
            for i in from..from + 25 {
                fs::write(of_class.join(format!("{i}.txt")), format!("so {text}\n{i}")).unwrap();
            }
        }
    }
    let said = compare(folder.path(), "--data reviews --tokens characters");
    said.says("a text is a file, and its label the name of its folder; a token is a character");
    for kept in ["data/reviews.jsonl", "data/test/reviews.test.jsonl"] {
        let lines = fs::read_to_string(folder.path().join("study").join(kept)).unwrap();
        assert_eq!(lines.lines().count(), 50, "{kept}");
    }
    let said = predict(folder.path(), "reviews/test");
    assert_eq!(said, "file bad/30.txt 50");
}
