//! Other images, read as those of a study were, for its best model to predict.

use std::path::{Path, PathBuf};

use super::super::error::Problem;
use super::super::folders::{self, Bad, inside};
use super::super::prediction::{ToPredict, Truth};
use super::super::quote::{counted, grouped};
use super::decode;
use super::size::{by, cropped};
use super::task::Images;

/// What there is to predict in an image file, or in all files of a folder and of the folders inside it. Images are
/// brought to the size of the training.
pub(in super::super) fn to_predict(task: &Images, path: &Path) -> Result<ToPredict, Problem> {
    let (files, hidden) = match path.is_dir() {
        true => folders::files(path)?,
        false => (vec![path.to_path_buf()], 0),
    };
    if files.is_empty() {
        return Err(Problem::Other(
            "holds no file; it takes PNG or JPEG files".into(),
        ));
    }
    let ([height, width], coloured) = task.read_as();
    let mut samples = Vec::with_capacity(files.len());
    let (mut resized, mut cut, mut bad) = (0, 0, Bad::new(path, 0));
    for file in &files {
        if let Some(image) = bad.sort_out(file, decode::decode(file)) {
            let own = [image.height() as usize, image.width() as usize];
            resized += usize::from(own != [height, width]);
            cut += usize::from(own[0] * width != own[1] * height);
            let pixels = decode::at_size(&image, [height, width], coloured);
            samples.push(task.sample_of(&pixels));
        }
    }
    if !bad.all.is_empty() {
        return Err(Problem::Other(format!(
            "{} of {} cannot be used: {}; take them away",
            grouped(bad.all.len()),
            counted(files.len(), "file"),
            folders::first_of(&bad.all)
        )));
    }
    let mut notes = Vec::new();
    if resized > 0 {
        let (all, size) = (counted(files.len(), "image"), by([height, width]));
        notes.push(format!(
            "{} of {all} brought to the {size} pixels of the training{}",
            grouped(resized),
            cropped(cut, ["was", "were"])
        ));
    }
    notes.extend(folders::left_out(hidden, &[]));
    let names: Vec<PathBuf> = files.iter().map(|file| inside(path, file)).collect();
    Ok(ToPredict {
        about: "file",
        truth: names.iter().map(|name| truth(task, name)).collect(),
        names: names
            .iter()
            .map(|name| name.display().to_string())
            .collect(),
        samples,
        from: None,
        notes,
    })
}

/// The label of an image: in a folder for each class, the name of its folder.
fn truth(task: &Images, name: &Path) -> Option<Truth> {
    let folder = name.parent()?.file_name()?.to_str()?;
    let label = task.labels().iter().find(|label| *label == folder);
    label.cloned().map(Truth::Label)
}
