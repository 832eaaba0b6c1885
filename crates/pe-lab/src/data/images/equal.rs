//! Equal images, and the draw of a test in which none of the training is.

use std::collections::{HashMap, HashSet};

use super::super::error::{Problem, SHOWN};
use super::super::quote::{grouped, shorten};
use super::super::split::in_a_fifth;

/// Images with the same pixels at the size of the training. They stay together, so that no tested image is also
/// in training.
pub struct Equal {
    /// The group of every image.
    group: Vec<usize>,
    /// The images of every group.
    groups: Vec<Vec<usize>>,
    /// The groups with more than one class.
    contradictory: usize,
}

impl Equal {
    pub fn of(pixels: &[&[u8]], classes: &[usize]) -> Self {
        let mut known: HashMap<&[u8], usize> = HashMap::new();
        let (mut group, mut groups) = (Vec::new(), Vec::<Vec<usize>>::new());
        for (image, pixels) in pixels.iter().enumerate() {
            let next = groups.len();
            let of = *known.entry(pixels).or_insert(next);
            if of == next {
                groups.push(Vec::new());
            }
            groups[of].push(image);
            group.push(of);
        }
        let differs = |images: &&Vec<usize>| {
            let first = classes[images[0]];
            images.iter().any(|image| classes[*image] != first)
        };
        let contradictory = groups.iter().filter(differs).count();
        Self {
            group,
            groups,
            contradictory,
        }
    }

    /// What is said of them.
    pub fn notes(&self, trained: &[usize], tested: &[usize]) -> Vec<String> {
        let known: HashSet<usize> = trained.iter().map(|image| self.group[*image]).collect();
        let leaked = tested
            .iter()
            .filter(|image| known.contains(&self.group[**image]));
        let (repeated, leaked) = (self.group.len() - self.groups.len(), leaked.count());
        let mut notes = Vec::new();
        if repeated > 0 {
            notes.push(format!(
                "images with the pixels of an earlier one: {}{}",
                grouped(repeated),
                match leaked {
                    0 => "; equal images are all in training or all in the test",
                    _ => "",
                }
            ));
        }
        if leaked > 0 {
            notes.push(format!(
                "images of the test that are also in training: {}; a model may know their answers by heart",
                grouped(leaked)
            ));
        }
        if self.contradictory > 0 {
            notes.push(format!(
                "equal images in more than one class: {}; not all of their answers can be correct",
                grouped(self.contradictory)
            ));
        }
        notes
    }
}

/// Draws a fifth of each class for the test. A group of equal images counts to the class of its first.
pub fn drawn(equal: &Equal, classes: &[usize], labels: &[String]) -> Result<Vec<bool>, Problem> {
    let mut of_class: Vec<Vec<&[usize]>> = vec![Vec::new(); labels.len()];
    for images in &equal.groups {
        of_class[classes[images[0]]].push(images);
    }
    let small: Vec<usize> = (0..labels.len())
        .filter(|class| of_class[*class].len() < 2)
        .collect();
    if !small.is_empty() {
        let shown = small.iter().take(SHOWN);
        let shown = shown.map(|class| {
            format!(
                "{} has {}",
                shorten(&labels[*class]),
                of_class[*class].len()
            )
        });
        let shown: Vec<String> = shown.collect();
        return Err(Problem::Images(format!(
            "every class needs two different images, one to train on and one to test on; {}{}",
            shown.join(", "),
            match small.len() - shown.len() {
                0 => String::new(),
                more => format!(", and {} more have too few", grouped(more)),
            }
        )));
    }
    let mut is_test = vec![false; classes.len()];
    for (class, groups) in of_class.iter().enumerate() {
        let sizes: Vec<usize> = groups.iter().map(|images| images.len()).collect();
        let drawn = groups.iter().zip(in_a_fifth(&sizes, class));
        for image in drawn
            .filter(|(_, drawn)| *drawn)
            .flat_map(|(images, _)| *images)
        {
            is_test[*image] = true;
        }
    }
    Ok(is_test)
}
