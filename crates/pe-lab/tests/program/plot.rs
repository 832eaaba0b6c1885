//! `pe-lab plot` as a user sees it. `guide.rs` compares whole pictures.

use std::fs;
use std::path::Path;

use crate::common::{Says, ended, failed, lab, names, rows, well};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use pe_burn::Layout;
use pe_lab::draw::colour::diverging;
use pe_lab::plot::{Encoding, heatmap, similarity};
use resvg::tiny_skia::Pixmap;

const KINDS: &str = "heatmap curves frequencies clocks similarity rotary alibi";

/// Runs `pe-lab plot` in a folder: exit code, standard output, standard error.
fn plot(arguments: &[&str], folder: &Path) -> (i32, String, String) {
    ended(lab().arg("plot").args(arguments).current_dir(folder))
}

/// The images in an SVG, decoded: width, height, colours row by row.
fn images(svg: &str) -> Vec<(u32, u32, Vec<[u8; 3]>)> {
    let encoded = svg.split("data:image/png;base64,").skip(1);
    let decoded = encoded.map(|rest| {
        let data = rest.split('"').next().unwrap();
        let png = Pixmap::decode_png(&BASE64_STANDARD.decode(data).unwrap()).unwrap();
        let colours = png.pixels().iter();
        let colours = colours.map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]);
        (png.width(), png.height(), colours.collect())
    });
    decoded.collect()
}

/// The colours of an image that shows each of `columns × rows` cells as a rectangle of one colour.
fn cells(
    (width, height, colours): &(u32, u32, Vec<[u8; 3]>),
    columns: usize,
    rows: usize,
) -> Vec<[u8; 3]> {
    let (width, height) = (*width as usize, *height as usize);
    assert_eq!((width % columns, height % rows), (0, 0));
    let (across, down) = (width / columns, height / rows);
    let first = |x: usize, y: usize| colours[y / down * down * width + x / across * across];
    for (index, colour) in colours.iter().enumerate() {
        assert_eq!(*colour, first(index % width, index / width));
    }
    let places = (0..rows).flat_map(|y| (0..columns).map(move |x| (x * across, y * down)));
    places.map(|(x, y)| first(x, y)).collect()
}

fn encoding(d_model: usize, start: usize, seq_len: usize, layout: Layout) -> Encoding {
    Encoding::new(d_model, 10_000.0, layout, start, seq_len).unwrap()
}

#[test]
fn the_colours_of_a_heat_map_are_those_of_its_values() {
    let svg = heatmap::svg(&encoding(4, 0, 2, Layout::Interleaved)).unwrap();
    let images = images(&svg);
    let colours = cells(&images[0], 4, 2);
    let (white, red) = (diverging(0.0), diverging(1.0));
    assert_eq!(colours[..4], [white, red, white, red]); // position 0: 0, 1, 0, 1
    let next = [1_f64.sin(), 1_f64.cos(), 0.01_f64.sin(), 0.01_f64.cos()];
    assert_eq!(colours[4..], next.map(diverging));
    // The bar goes from 1 on top to −1 at the bottom.
    let (_, _, bar) = &images[1];
    assert_eq!((bar[0], bar[255]), (red, diverging(-1.0)));
}

#[test]
fn the_colours_of_a_similarity_are_those_of_its_cosines() {
    let table = [vec![1.0, 0.0], vec![0.0, 2.0], vec![-3.0, 0.0]];
    let svg = similarity::svg(&table, 0, "three rows").unwrap();
    let colours = cells(&images(&svg)[0], 3, 3);
    let expected = [1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 1.0].map(diverging);
    assert_eq!(colours[..], expected);
}

#[test]
fn every_kind_draws_by_itself_as_svg_and_as_png() {
    let folder = tempfile::tempdir().unwrap();
    for kind in KINDS.split(' ') {
        let (code, stdout, stderr) = plot(&[kind], folder.path());
        assert_eq!((code, stderr.as_str()), (0, ""));
        assert_eq!(stdout, format!("wrote pe-lab-{kind}.svg\n"));
        let svg = fs::read_to_string(folder.path().join(format!("pe-lab-{kind}.svg"))).unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        // The picture says what it is.
        svg.says(if kind == "alibi" {
            "8 heads"
        } else {
            "base 10,000"
        });

        let (code, stdout, _) = plot(&[kind, "--out", "a.PNG"], folder.path());
        assert_eq!((code, stdout.as_str()), (0, "wrote a.PNG\n"));
        let png = Pixmap::decode_png(&fs::read(folder.path().join("a.PNG")).unwrap()).unwrap();
        // It has twice the size of the page.
        let [width, height] = [png.width() / 2, png.height() / 2];
        svg.says(&format!("width=\"{width}\" height=\"{height}\""));
    }
    let count = KINDS.split(' ').count() + 1;
    assert_eq!(names(folder.path()).len(), count, "nothing else is left");
}

#[test]
fn ten_thousand_positions_and_more_draw_into_small_files() {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["heatmap", "curves", "clocks", "similarity"] {
        for (seq_len, d_model) in [("10000", "512"), ("1000000", "64"), ("20", "32768")] {
            let arguments = [kind, "--seq-len", seq_len, "--d-model", d_model];
            well(plot(&arguments, folder.path()));
            let file = folder.path().join(format!("pe-lab-{kind}.svg"));
            let size = fs::metadata(file).unwrap().len();
            assert!(size < 1_500_000, "{arguments:?}: {size} bytes");
        }
    }
}

/// What is wrong use of `pe-lab plot`, and what is said of it.
const REFUSED: &str = "
    | Usage
    spiral | spiral
    heatmap --d-model 0 | d_model must be at least 1; got 0
    heatmap --d-model 40000 | at most 32768 columns; --d-model 40000
    heatmap --seq-len 0 | 1 to 1000000 positions; --seq-len 0
    similarity --seq-len 1000001 | --seq-len 1000001
    heatmap --seq-len 1000000 --d-model 2000 | 2000000000 entries, and a picture is made of at most 1073741824
    heatmap --seq-len -5 | -5
    heatmap --start 4503599627370496 | goes past the largest position, 4503599627370495
    heatmap --start 18446744073709551615 | largest position
    curves --base 0 | got 0
    curves --base -3 | got -3
    clocks --base NaN | got NaN
    clocks --base ten | ten
    heatmap --layout mixed | interleaved, halves
    curves --columns 512 | no column 512: d_model 512 has the columns 0 to 511
    curves --columns 3,3 | --columns names 3 twice
    curves --columns 0,1,2,3,4,5,6,7 | --columns takes 1 to 7 values; got 8
    curves --positions 2,2 | --positions names 2 twice
    curves --positions 18446744073709551615 | largest position
    clocks --pairs 256 | no pair 256: d_model 512 has the pairs 0 to 255
    clocks --d-model 7 --pairs 3 | pairs 0 to 2 (d_model is odd: its last sine has no cosine)
    clocks --d-model 1 | --d-model 1 has no pair of a sine and a cosine; it takes at least 2
    clocks --pairs 1,1 | --pairs names 1 twice
    clocks --pairs 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24 | --pairs takes 1 to 24 values; got 25
    frequencies --d-model 0 | at least 1
    frequencies --d-model 40000 | 40000
    frequencies --bases 100,1 | greater than 1
    frequencies --bases -2 | got -2
    frequencies --bases NaN | NaN
    frequencies --bases 500,500 | --bases names 500 twice
    frequencies --bases 2,3,4,5,6,7,8,9 | --bases takes 1 to 7 values; got 8
    rotary --d-head 0 | --d-head must be from 2 to 32768; got 0
    rotary --d-head 7 | --d-head must be even; got 7
    rotary --bases 1 | base must be finite and greater than 1
    rotary --reach 0 | --reach must be from 1 to 4503599627370495; got 0
    rotary --reach 4503599627370496 | from 1 to 4503599627370495; got 4503599627370496
    alibi --heads 0 | --heads must be from 1 to 64; got 0
    alibi --heads 65 | got 65
    alibi --reach 0 | --reach must be from 1 to
    frequencies --out a.eps | a.eps ends in none of .svg, .png and .pdf
    frequencies --out svg | svg ends in none of
";

#[test]
fn wrong_use_exits_with_2_names_the_value_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for [arguments, said] in rows(REFUSED) {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let ended = plot(&arguments, folder.path());
        assert_eq!(ended.1, "", "{arguments:?}");
        failed(ended, 2).says(said);
    }
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_file_that_cannot_be_is_named_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("folder.svg")).unwrap();
    fs::write(folder.path().join("file"), "mine").unwrap();
    for (out, said) in [
        ("folder.svg", "folder.svg: this is a folder"),
        // No user can write to this folder, not even root.
        #[cfg(target_os = "linux")]
        ("/proc/a.svg", "/proc/a.svg: "),
        (
            "no/where.svg",
            "no/where.svg: there is no folder no; make it first",
        ),
        ("file/a.svg", "there is no folder file"),
    ] {
        let ended = plot(&["frequencies", "--out", out], folder.path());
        assert_eq!(ended.1, "");
        failed(ended, 1).says(said);
    }
    assert_eq!(names(folder.path()).len(), 2);
}
