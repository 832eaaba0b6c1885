//! A folder of images as a task.
//!
//! | file | what it holds |
//! |---|---|
//! | `decode` | PNG and JPEG files as pixels |
//! | `size` | the size to which they are brought, the patch, and the sizes that are tested |
//! | `pack` | the file in which a study keeps them |
//! | `task` | the task |
//! | `predict` | other images, for the best model of a study |
//! | `digits_32` | the images of the laboratory |

mod decode;
mod digits_32;
mod equal;
mod pack;
mod predict;
mod size;
mod task;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use digits_32::digits_32;
pub(super) use predict::to_predict;
pub(super) use task::Images;

use super::describe::{FEW, counted};
use super::error::{BadImage, Problem, refuse};
use super::folders::{self, Bad, Folder, Found, check_folders, kept_name, left_out, most_private};
use super::format::Format;
use super::limits::MIN_ROWS;
use super::open::open_bytes;
use super::quote::{counted as counted_of, grouped, once_through, shorten};
use super::reading::Reading;
use super::spec::{DataSpec, FileSpec, Source, name_of};
use super::task::{DataTask, Made};
use super::together::Together;
use crate::task::floor::most_frequent_share;
use decode::Header;
use equal::drawn;
use pack::{Contents, Pack};
use size::{Size, Sizes, by, cropped};

/// The end of the name of the file in which a study keeps images.
const EXTENSION: &str = "images";

/// Whether images are read from here: from a folder, or from the file of a study.
pub(super) fn are_in(source: &Source) -> bool {
    let is_kept = |name| name == EXTENSION;
    is_folder(source) || source.file.extension().is_some_and(is_kept)
}

/// Whether the user named a folder. A study keeps a file.
fn is_folder(source: &Source) -> bool {
    source.inside.is_none() && source.file.is_dir()
}

/// The task made of a folder of images, or of the file in which a study keeps them.
pub(super) fn read(source: &Source) -> Result<DataTask, Problem> {
    let reading = &source.reading;
    let why = "is not about images, and this is a folder of them";
    refuse(reading.not_about_images(), why)?;
    let test = source.test.as_ref().map(|_| "--test");
    refuse(
        test,
        "is about rows; images to test on stand in a folder test beside a folder train",
    )?;
    refuse(source.folds.map(|_| "--folds"), why)?;
    refuse(source.labels.as_ref().map(|_| "--labels"), why)?;
    let (pack, file, private) = match is_folder(source) {
        true => {
            let (pack, private) = packed(&source.file, reading)?;
            (pack, kept_name(&source.file, EXTENSION), private)
        }
        false => {
            let pack = Pack::parse(open_bytes(&source.entry(&source.file))?)?;
            check(&pack.contents, reading)?;
            let file = name_of(&source.file);
            (pack, file, vec![source.file.clone()])
        }
    };
    let description = describe(&pack.contents);
    let spec = FileSpec::of(Path::new(&file), &pack.bytes);
    let spec = DataSpec::new(spec, Format::Images, reading);
    let made = Made::Images(Arc::new(Images::new(pack, &file)));
    Ok(DataTask {
        private,
        ..DataTask::of_file(source, spec, description, made)
    })
}

/// Checks that images that are kept have the sizes that are asked for.
fn check(contents: &Contents, reading: &Reading) -> Result<(), Problem> {
    let size = contents.sizes[0];
    for (asked, kept, flag) in [
        (reading.size, size[0], "--size"),
        (reading.size, size[1], "--size"),
        (reading.patch, contents.patch, "--patch"),
    ] {
        if asked.is_some_and(|asked| asked != kept) {
            return Err(Problem::Other(format!(
                "holds images of {} pixels for patches of {} × {1}, and {flag} asks for others; name the folder \
                 of the images",
                by(size),
                contents.patch
            )));
        }
    }
    Ok(())
}

/// A file whose beginning was read.
struct Image {
    path: PathBuf,
    class: usize,
    /// Whether it is in the folder of the test.
    is_test: bool,
    header: Header,
}

/// Reads, decodes and divides the images of a folder, and returns the file or folder that the fewest may read.
fn packed(root: &Path, reading: &Reading) -> Result<(Pack, Vec<PathBuf>), Problem> {
    let Folder { train, test, notes } = folders::folder(root)?;
    let labels = train.labels.clone();
    check_folders(&train, test.as_ref(), "image")?;
    let mut bad = Bad::new(root, reading.skip_bad);
    let mut images = headers(&train, &labels, false, &mut bad);
    if let Some((test, _)) = &test {
        images.extend(headers(test, &labels, true, &mut bad));
    }
    bad.check()?;
    let (sizes, mut contents) = undivided(&images, labels, reading)?;
    let mut decoded = decoded(images, &contents, &mut bad)?;
    let stored_as_colours = contents.coloured;
    drop_equal_channels(&mut decoded, &mut contents);

    let classes: Vec<usize> = decoded.iter().map(|of| of.image.class).collect();
    let equal = Together::equal(decoded.iter().map(|of| &of.pixels), &classes, &[]);
    let (is_test, from) = match &test {
        Some((_, name)) => {
            let is_test: Vec<bool> = decoded.iter().map(|of| of.image.is_test).collect();
            (is_test, format!("those in {name}"))
        }
        None => (
            drawn(&equal, &contents.labels)?,
            "a fifth of each class, drawn once".to_string(),
        ),
    };
    let (tested, trained): (Vec<usize>, Vec<usize>) =
        (0..decoded.len()).partition(|index| is_test[*index]);
    contents.train = trained.iter().map(|index| classes[*index]).collect();
    contents.test = tested.iter().map(|index| classes[*index]).collect();
    check_parts(&contents)?;
    contents.sizes = sizes.tested();
    contents.check_room()?;

    contents.notes = notes;
    let facts = facts(&decoded, &sizes, &contents, stored_as_colours);
    contents.notes.extend(facts);
    contents.notes.push(format!(
        "{} to train on, {} to test on: {from}",
        counted_of(trained.len(), "image"),
        grouped(tested.len())
    ));
    let hidden = train.hidden + test.map_or(0, |(test, _)| test.hidden);
    contents.notes.extend(left_out(hidden, &bad.all));
    let of_equal = equal::notes(&equal, &trained, &tested);
    contents.notes.extend(of_equal);

    let tested: Vec<&Decoded> = tested.iter().map(|index| &decoded[*index]).collect();
    let tested = at_all_sizes(&tested, &contents)?;
    let all = trained.iter().map(|index| decoded[*index].pixels.clone());
    let all = all.chain(tested);
    let files = decoded.iter().map(|of| of.image.path.as_path());
    let private = most_private(root, files);
    Ok((Pack::of(contents, all)?, private))
}

/// The sizes to which images are brought, and the contents of the file before images are held out: all are for training.
fn undivided(
    images: &[Image],
    labels: Vec<String>,
    reading: &Reading,
) -> Result<(Sizes, Contents), Problem> {
    if images.len() < MIN_ROWS {
        return Err(Problem::Other(format!(
            "has {}, too few to train on some and test on others; it takes at least {MIN_ROWS}",
            counted_of(images.len(), "image")
        )));
    }
    let found: Vec<Size> = images.iter().map(|image| image.header.size).collect();
    let sizes = Sizes::choose(&found, reading)?;
    let contents = Contents {
        labels,
        coloured: images.iter().any(|image| image.header.is_coloured),
        patch: sizes.patch,
        sizes: vec![sizes.image],
        train: images.iter().map(|image| image.class).collect(),
        test: Vec::new(),
        notes: Vec::new(),
    };
    contents.check_room()?;
    Ok((sizes, contents))
}

/// Keeps one number for a pixel if every image is grey, although files have colours.
fn drop_equal_channels(decoded: &mut [Decoded], contents: &mut Contents) {
    let is_grey = |pixels: &[u8]| pixels.chunks(3).all(|p| p[0] == p[1] && p[1] == p[2]);
    if contents.coloured && decoded.iter().all(|of| is_grey(&of.pixels)) {
        contents.coloured = false;
        for of in decoded {
            of.pixels = of.pixels.iter().copied().step_by(3).collect();
        }
    }
}

/// An image at the size of the training.
struct Decoded {
    image: Image,
    pixels: Vec<u8>,
}

fn decoded(
    images: Vec<Image>,
    contents: &Contents,
    bad: &mut Bad<'_>,
) -> Result<Vec<Decoded>, Problem> {
    let mut all = Vec::with_capacity(images.len());
    for image in images {
        let pixels = decode::decode(&image.path);
        if let Some(pixels) = bad.sort_out(&image.path, pixels) {
            let pixels = decode::at_size(&pixels, contents.sizes[0], contents.coloured);
            all.push(Decoded { image, pixels });
        }
    }
    bad.check()?;
    Ok(all)
}

/// The pixels of all tested images at the first size, then at the others, which are made of the files again and not of the
/// small images.
fn at_all_sizes(
    tested: &[&Decoded],
    contents: &Contents,
) -> Result<impl Iterator<Item = Vec<u8>> + use<>, Problem> {
    let mut at_sizes: Vec<Vec<Vec<u8>>> = vec![Vec::new(); contents.sizes.len()];
    for Decoded { image, pixels } in tested {
        at_sizes[0].push(pixels.clone());
        let whole = decode::decode(&image.path).map_err(|what| Problem::BadImages {
            count: 1,
            shown: vec![BadImage {
                path: image.path.clone(),
                what,
            }],
        })?;
        for (size, of_size) in contents.sizes.iter().zip(&mut at_sizes).skip(1) {
            of_size.push(decode::at_size(&whole, *size, contents.coloured));
        }
    }
    Ok(at_sizes.into_iter().flatten())
}

/// Reads the beginnings of the files of every class.
fn headers(found: &Found, labels: &[String], is_test: bool, bad: &mut Bad<'_>) -> Vec<Image> {
    let mut images = Vec::new();
    for (label, files) in found.labels.iter().zip(&found.files) {
        let class = labels.iter().position(|known| known == label);
        for path in files {
            let header = bad.sort_out(path, decode::header(path));
            if let (Some(header), Some(class)) = (header, class) {
                images.push(Image {
                    path: path.clone(),
                    class,
                    is_test,
                    header,
                });
            }
        }
    }
    images
}

/// Checks that there is something to learn and to score.
fn check_parts(contents: &Contents) -> Result<(), Problem> {
    let without = (0..contents.labels.len()).find(|class| !contents.train.contains(class));
    if let Some(class) = without {
        return Err(Problem::Other(format!(
            "no image of the class {} is left to train on",
            shorten(&contents.labels[class])
        )));
    }
    let first = contents.test.first();
    match contents.test.iter().all(|class| Some(class) == first) {
        false => Ok(()),
        true => Err(Problem::Other(format!(
            "left to test on: {}, and a score needs images of two classes",
            counted_of(contents.test.len(), "image")
        ))),
    }
}

/// What the files are, and what is made of them.
fn facts(
    decoded: &[Decoded],
    sizes: &Sizes,
    contents: &Contents,
    stored_as_colours: bool,
) -> Vec<String> {
    let headers = || decoded.iter().map(|of| &of.image.header);
    let count = |is: &dyn Fn(&Header) -> bool| headers().filter(|header| is(header)).count();
    let resized = count(&|header| header.size != sizes.image);
    let cut = count(&|header| header.size[0] * sizes.image[1] != header.size[1] * sizes.image[0]);
    let (coloured, transparent) = (count(&|h| h.is_coloured), count(&|h| h.is_transparent));
    let mut lines = vec![format!(
        "{} pixels (--size){}{}",
        by(sizes.image),
        match resized {
            0 => ", as all files have".to_string(),
            resized => format!("; {} had another size", counted_of(resized, "file")),
        },
        cropped(cut, ["is", "are"])
    )];
    lines.push(match (contents.coloured, stored_as_colours) {
        (true, _) if coloured == decoded.len() => "colours: three numbers for a pixel".into(),
        (true, _) => format!(
            "colours: three numbers for a pixel, also for the {} grey files",
            grouped(decoded.len() - coloured)
        ),
        (false, true) => "grey: one number for a pixel; files with colours hold grey alone".into(),
        (false, false) => "grey: one number for a pixel".into(),
    });
    if transparent > 0 {
        lines.push(format!(
            "files that may have transparent parts, which are laid on white: {}",
            grouped(transparent)
        ));
    }
    lines
}

/// What was found and how it is used, in lines for a person.
fn describe(contents: &Contents) -> Vec<String> {
    let images = contents.train.iter().chain(&contents.test);
    let patches = |size: &Size| size.map(|side| side / contents.patch);
    let trained = patches(&contents.sizes[0]);
    let mut lines = vec![
        format!("{} images", grouped(images.clone().count())),
        counted("classes", &contents.labels, images.copied()),
        format!(
            "patches of {} × {0} pixels (--patch): {} of them in an image, {} tokens of {}",
            contents.patch,
            by(trained),
            trained[0] * trained[1],
            counted_of(
                contents.patch * contents.patch * contents.channels(),
                "number"
            )
        ),
    ];
    lines.extend(contents.notes.iter().cloned());
    let others = contents.sizes[1..].iter().map(|size| {
        let [rows, columns] = patches(size);
        format!("{} ({} patches)", by(*size), rows * columns)
    });
    lines.push(format!(
        "tested at the resolution of the training, and at {} pixels",
        others.collect::<Vec<_>>().join(", ")
    ));
    lines.push(once_through(contents.train.len(), "images"));
    let floor = most_frequent_share(contents.test.iter());
    lines.push(format!(
        "floor, the share of the most frequent class in the test: {floor:.3}"
    ));
    let tested = contents.test.len();
    if tested < FEW {
        lines.push(format!(
            "few images: each of the {tested} tested is {:.0} % of the score, and all seeds are tested on the same \
             ones",
            100.0 / tested as f64
        ));
    }
    lines
}
