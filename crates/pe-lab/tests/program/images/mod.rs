//! Folders of images, drawn here, as data of one's own.

mod refused;

use std::fs;
use std::path::{Path, PathBuf};

use crate::bars::bar;
use crate::common::{Says, data as read, flip, good_in, run_in, scored, smallest, temporary};
use image::{DynamicImage, ImageBuffer, ImageFormat, Luma, Rgb, RgbImage};
use pe_lab::ask::{Lengths, Scheme};
use pe_lab::data::DataTask;
use pe_lab::learn::{Keep, Model, evaluate};
use pe_lab::task::{Input, Task};
use tempfile::TempDir;

/// A folder of `each` images of either class.
fn drawn(root: &Path, each: usize, size: [u32; 2]) {
    for (class, name) in ["above", "below"].into_iter().enumerate() {
        fs::create_dir_all(root.join(name)).unwrap();
        for number in 0..each {
            let path = root.join(name).join(format!("{number:03}.png"));
            bar(class, number, size).save(path).unwrap();
        }
    }
}

fn folder(each: usize, size: [u32; 2]) -> (TempDir, PathBuf) {
    let (folder, root) = temporary("bars");
    drawn(&root, each, size);
    (folder, root)
}

fn found(root: &Path) -> DataTask {
    read(root, "").unwrap()
}

/// What is said of what was found.
fn tells(data: &DataTask) -> String {
    data.describe().join("\n")
}

/// What is wrong with a folder.
#[track_caller]
fn refused(root: &Path) -> String {
    read(root, "").unwrap_err()
}

/// The values of the first sample of a test set.
fn first(task: &dyn Task, length: usize) -> (usize, Vec<f32>) {
    match task.test_set(length).remove(0).input {
        Input::Vectors { width, values } => (width, values),
        Input::Tokens(tokens) => panic!("{tokens:?}"),
    }
}

#[test]
fn a_folder_of_classes_is_a_task() {
    let (_keep, root) = folder(20, [16, 16]);
    let data = found(&root);
    let task = data.task();
    assert_eq!(data.labels(), ["above", "below"]);
    assert_eq!((task.classes(), task.vector_width()), (2, Some(4)));
    assert_eq!(task.train_lengths(), 64..=64);
    assert_eq!(task.test_lengths(), [36, 64, 144, 256]);
    tells(&data).says_all(&[
        "40 images",
        "2 classes: `above` 20, `below` 20",
        "patches of 2 × 2 pixels (--patch): 8 × 8 of them in an image, 64 tokens of 4 numbers",
        "16 × 16 pixels (--size), as all files have",
        "grey: one number for a pixel",
        "32 images to train on, 8 to test on: a fifth of each class",
        "12 × 12 (36 patches), 24 × 24 (144 patches), 32 × 32 (256 patches)",
        "floor, the share of the most frequent class in the test: 0.500",
        "few images: each of the 8 tested is 12 % of the score",
    ]);
    // The same test at every resolution.
    let classes = |length| -> Vec<usize> {
        let set = task.test_set(length);
        set.iter().map(|sample| sample.answers[0].class).collect()
    };
    for length in task.test_lengths() {
        assert_eq!(classes(length), classes(64));
        let (width, values) = first(task.as_ref(), length);
        assert_eq!((width, values.len()), (4, 4 * length));
    }
    // Read again, it is the same data.
    assert_eq!(found(&root).spec(), data.spec());
}

#[test]
fn odd_sizes_are_brought_to_one_and_nothing_is_stretched() {
    let (_keep, root) = folder(12, [15, 22]);
    // One of another size and shape.
    let other = bar(0, 50, [40, 9]);
    other.save(root.join("above/050.png")).unwrap();
    let data = found(&root);
    // 22 pixels in patches of 3 are the nearest to eight a side.
    tells(&data).says_all(&[
        "15 × 21 pixels (--size); 25 files had another size",
        "25 of them had another aspect ratio and are cropped",
        "5 × 7 of them in an image",
    ]);
    assert_eq!(data.task().test_lengths(), [20, 35, 88, 140]);
    let task = read(&root, "size = 8; patch = 4").unwrap().task();
    assert_eq!(task.train_lengths(), 4..=4);
    assert_eq!(task.vector_width(), Some(16));
    let message = read(&root, "patch = 1").unwrap_err();
    message.says("have 330 patches, more than 256");
}

#[test]
fn grey_and_colours_are_told_apart_by_the_pixels() {
    let (_keep, root) = folder(12, [8, 8]);
    // 16 bits of grey; colours that are grey; a photograph's format.
    let deep: ImageBuffer<Luma<u16>, Vec<u16>> =
        ImageBuffer::from_fn(8, 8, |x, y| Luma([(x * 8_000 + y * 500) as u16]));
    let deep = DynamicImage::from(deep);
    deep.save(root.join("above/deep.png")).unwrap();
    let grey = RgbImage::from_fn(8, 8, |x, y| Rgb([(x * 20 + y * 9) as u8; 3]));
    grey.save(root.join("below/grey.png")).unwrap();
    let photo = bar(1, 99, [8, 8]);
    photo.save(root.join("below/photo.jpg")).unwrap();
    let data = found(&root);
    let grey = "grey: one number for a pixel; files with colours hold grey alone";
    tells(&data).says_all(&[grey, "27 images"]);
    let task = data.task();
    assert_eq!(
        (task.vector_width(), task.train_lengths()),
        (Some(1), 64..=64)
    );

    let red = RgbImage::from_pixel(8, 8, Rgb([200, 10, 10]));
    red.save(root.join("above/red.png")).unwrap();
    let data = found(&root);
    tells(&data).says("colours: three numbers for a pixel, also for the 26 grey files");
    assert_eq!(data.task().vector_width(), Some(3));
}

#[test]
fn transparent_parts_are_laid_on_white() {
    let (_keep, root) = folder(12, [8, 8]);
    let of = |grey: u8, alpha: u8| {
        image::RgbaImage::from_pixel(8, 8, image::Rgba([grey, grey, grey, alpha]))
    };
    // Nothing of it is seen; half of black on white is grey; and what they look like, in the other class.
    of(3, 0).save(root.join("above/nothing.png")).unwrap();
    of(0, 128).save(root.join("above/half.png")).unwrap();
    of(255, 255).save(root.join("below/white.png")).unwrap();
    of(127, 255).save(root.join("below/grey.png")).unwrap();
    let equal = "equal images in more than one class: 2";
    tells(&found(&root)).says_all(&["laid on white: 4", equal]);
}

#[test]
fn folders_of_training_and_test_are_understood() {
    let (_whole, root) = temporary("split");
    drawn(&root.join("train"), 12, [8, 8]);
    drawn(&root.join("val"), 3, [8, 8]);
    tells(&found(&root)).says_all(&[
        "24 images to train on, 6 to test on: those in val",
        // They were drawn with the same numbers.
        "images of the test that are also in training: 6",
    ]);
    // A folder test is preferred, and the other one is not used in silence.
    drawn(&root.join("test"), 5, [8, 8]);
    fs::write(root.join("labels.csv"), "x").unwrap();
    tells(&found(&root)).says_all(&[
        "24 images to train on, 10 to test on: those in test",
        "`val` is beside train and is not read",
        "`labels.csv` is beside train and is not read",
    ]);
    // A class that training does not have.
    fs::rename(root.join("test/above"), root.join("test/aside")).unwrap();
    refused(&root).says("the class `aside` is only in test");
    fs::remove_dir_all(root.join("test/aside")).unwrap();
    let said = "left to test on: 5 images, and a score needs";
    refused(&root).says(said);
}

#[test]
fn every_scheme_is_tested_at_every_resolution() {
    let (_keep, root) = folder(12, [8, 6]);
    let task = read(&root, "patch = 2").unwrap().task();
    assert_eq!(task.test_lengths(), [6, 12, 30, 48]);
    let device = burn::tensor::Device::flex();
    let spec = smallest();
    for name in Scheme::names_for(task.as_ref(), &spec) {
        let scheme = Scheme::for_lengths(name, &spec, Lengths::of(task.as_ref())).unwrap();
        let scheme = scheme.on(task.as_ref()).unwrap();
        let model = Model::init(&spec, task.as_ref(), &scheme, 1, &device).unwrap();
        let scores = evaluate(&model, task.as_ref(), &device, Keep::Rows).unwrap();
        let lengths: Vec<(usize, bool)> = scores.iter().map(|s| (s.length, s.inside)).collect();
        let expected = [(6, false), (12, true), (30, false), (48, false)];
        assert_eq!(lengths, expected, "{name}");
    }
}

#[test]
fn a_study_of_images_from_end_to_end() {
    let (keep, root) = folder(40, [12, 12]);
    let out = keep.path().join("study");
    let run = |line: &str| good_in(keep.path(), line).1;
    let said = run(
        "compare --data bars --out study --schemes none,learned,sinusoidal_2d,rotary_2d --seeds 1, --steps 60 --patch 3",
    );
    said.says_all(&[
        "12 × 12 pixels (--size), as all files have",
        "at other resolutions these have their rows interpolated as an image (bicubic, as ViT does): learned",
        "interpolated coordinates: the same place keeps its position: sinusoidal_2d, rotary_2d",
        "at other resolutions these have no positions: none",
    ]);
    let plan = fs::read_to_string(out.join("study.toml")).unwrap();
    assert!(plan.contains("data = \"data/bars.images\""), "{plan}");
    // Where the bar is needs positions, and is soon learned with them, at twice the resolution too.
    for scheme in ["learned", "sinusoidal_2d"] {
        for length in ["16", "64"] {
            let accuracy = scored(&out, scheme, length, "accuracy")[0];
            assert!(accuracy > 0.9, "{scheme} at {length}: {accuracy}");
        }
    }
    // The study needs its own copy alone, and keeps its results.
    let before = fs::read(out.join("results.csv")).unwrap();
    fs::remove_dir_all(&root).unwrap();
    run("compare --out study --quiet");
    assert_eq!(fs::read(out.join("results.csv")).unwrap(), before);
    // A copy that was changed is found out.
    flip(&out.join("data/bars.images"), 1);
    assert_ne!(run_in(keep.path(), "report study").0, 0);
}
