//! The pictures of `docs/guide` are those that `pe-lab plot` draws.
//!
//! After an intended change write them with `UPDATE_GOLDEN=1 cargo test --workspace --test program -- guide::`.

use std::fs;
use std::path::Path;

use crate::common::{self, succeeds};

const PICTURES: [(&str, &str); 7] = [
    (
        "curves.svg",
        "curves --d-model 16 --seq-len 40 --columns 0,4,8,12",
    ),
    ("heatmap.svg", "heatmap --d-model 64 --seq-len 64"),
    (
        "frequencies.svg",
        "frequencies --d-model 64 --bases 100,10000,1000000",
    ),
    ("clocks.svg", "clocks --d-model 64 --seq-len 20"),
    ("similarity.svg", "similarity --d-model 64 --seq-len 64"),
    ("rotary.svg", "rotary --d-head 64 --reach 256"),
    ("alibi.svg", "alibi --heads 8 --reach 64"),
];

#[test]
fn the_pictures_are_drawn_by_the_program() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("guide");
    let folder = tempfile::tempdir().unwrap();
    for (file, arguments) in PICTURES {
        let drawn = folder.path().join(file);
        let mut plot = common::lab();
        plot.arg("plot")
            .args(arguments.split(' '))
            .arg("--out")
            .arg(&drawn);
        succeeds(&mut plot);
        let drawn = fs::read_to_string(drawn).unwrap();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(guide.join(file), &drawn).unwrap();
        }
        assert!(
            drawn == fs::read_to_string(guide.join(file)).unwrap(),
            "{file} differs"
        );
    }
    // Every picture of the chapters is one of these, and every one of these is in a chapter.
    let mut used = Vec::new();
    for entry in fs::read_dir(&guide).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_some_and(|end| end == "md") {
            let text = fs::read_to_string(&file).unwrap();
            let images = text.split("![").skip(1);
            used.extend(images.map(|rest| rest.split(['(', ')']).nth(1).unwrap().to_string()));
        }
    }
    used.sort();
    used.dedup();
    let mut known: Vec<&str> = PICTURES.iter().map(|picture| picture.0).collect();
    known.sort();
    assert_eq!(used, known);
}
