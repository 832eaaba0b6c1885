//! The pictures of `docs/guide` are those that `pe-lab plot` draws.
//!
//! After an intended change write them with `UPDATE_GOLDEN=1 cargo test --workspace --test program -- guide::`.

use std::fs;
use std::path::Path;

use crate::common::good_in;

/// Each has the name of its kind.
const PICTURES: [&str; 7] = [
    "curves --d-model 16 --seq-len 40 --columns 0,4,8,12",
    "heatmap --d-model 64 --seq-len 64",
    "frequencies --d-model 64 --bases 100,10000,1000000",
    "clocks --d-model 64 --seq-len 20",
    "similarity --d-model 64 --seq-len 64",
    "rotary --d-head 64 --reach 256",
    "alibi --heads 8 --reach 64",
];

/// The file of a picture.
fn file_of(picture: &str) -> String {
    let (kind, _) = picture.split_once(' ').unwrap();
    format!("{kind}.svg")
}

#[test]
fn the_pictures_are_drawn_by_the_program() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("guide");
    let folder = tempfile::tempdir().unwrap();
    for picture in PICTURES {
        let file = file_of(picture);
        good_in(folder.path(), &format!("plot {picture} --out {file}"));
        let drawn = fs::read_to_string(folder.path().join(&file)).unwrap();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(guide.join(&file), &drawn).unwrap();
        }
        let kept = fs::read_to_string(guide.join(&file)).unwrap();
        assert!(drawn == kept, "{file} differs");
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
    let mut known = PICTURES.map(file_of);
    known.sort();
    assert_eq!(used, known);
}
