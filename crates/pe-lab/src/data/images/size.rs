//! The size to which all images are brought, the size of a patch, and the other sizes they are tested at.

use super::super::error::Problem;
use super::super::quote::grouped;
use super::super::reading::Reading;
use super::super::together::most_frequent;
use crate::grouped::agreeing;

/// The patches along the longer side of an image, unless a flag says otherwise. 8 × 8 are 64 tokens, as
/// in the task digits, and 256 at twice the resolution.
const PATCHES: usize = 8;
/// The longer side of larger images is brought to this many pixels.
const LONGEST: usize = 64;
/// The most patches of an image in training.
pub(super) const MAX_PATCHES: usize = 256;
/// The largest side of images in training.
const MAX_SIDE: usize = 4_096;
/// The resolutions of the test beside that of the training, as shares of it.
const RESOLUTIONS: [f64; 3] = [0.75, 1.5, 2.0];

/// A height and a width.
pub(super) type Size = [usize; 2];

/// The size of images in training, and of their patches, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Height and width of an image: multiples of the patch.
    pub image: Size,
    pub patch: usize,
}

impl Sizes {
    /// The sizes for images of these sizes: what the flags say, and where they do not, what suits the commonest
    /// size.
    ///
    /// # Errors
    ///
    /// [`Problem::Reading`] when the patch of a flag does not divide its size, or for too few or too many
    /// patches.
    pub fn choose(found: &[Size], reading: &Reading) -> Result<Self, Problem> {
        let wrong = |reason: String| Err(Problem::Reading(reason));
        for (set, flag) in [(reading.size, "--size"), (reading.patch, "--patch")] {
            if let Some(side) = set.filter(|side| !(1..=MAX_SIDE).contains(side)) {
                return wrong(format!(
                    "{flag} is {side}; it takes from 1 to {MAX_SIDE} pixels"
                ));
            }
        }
        let image = match reading.size {
            Some(side) => [side; 2],
            None => bounded(most_frequent(found.iter().copied()).unwrap_or([1, 1])),
        };
        let patch = reading.patch.unwrap_or_else(|| fitting(image));
        let sizes = match reading.size {
            Some(side) if !side.is_multiple_of(patch) => {
                return wrong(match reading.patch {
                    Some(_) => format!("--size {side} is not a multiple of --patch {patch}"),
                    None => format!(
                        "--size {side} is not a multiple of {patch}, which would be the side of a patch; say \
                         another --size, or --patch"
                    ),
                });
            }
            Some(_) => Self { image, patch },
            // The nearest size that patches divide.
            None => Self {
                image: image.map(|side| ((side + patch / 2) / patch).max(1) * patch),
                patch,
            },
        };
        let [rows, columns] = sizes.patches();
        match rows.saturating_mul(columns) {
            0..=1 => wrong(format!(
                "images of {} pixels in patches of {patch} × {patch} have one patch, and a study of \
                 positions needs several; say a smaller --patch, or a larger --size",
                by(sizes.image)
            )),
            2..=MAX_PATCHES => Ok(sizes),
            count => wrong(format!(
                "images of {} pixels in patches of {patch} × {patch} have {count} patches, more than \
                 {MAX_PATCHES}; say a larger --patch, or a smaller --size",
                by(sizes.image)
            )),
        }
    }

    /// The number of rows and of columns of patches.
    pub fn patches(&self) -> Size {
        self.image.map(|side| side / self.patch)
    }

    /// The sizes that images are tested at: that of the training first. Those with as many patches as an
    /// earlier one are left out, and those of one row or column.
    pub fn tested(&self) -> Vec<Size> {
        let trained = self.patches();
        let mut tested = vec![trained];
        for resolution in RESOLUTIONS {
            let [rows, columns] =
                trained.map(|patches| (patches as f64 * resolution).round() as usize);
            let known = |known: &Size| known[0] * known[1] == rows * columns;
            if rows > 0 && columns > 0 && rows * columns > 1 && !tested.iter().any(known) {
                tested.push([rows, columns]);
            }
        }
        let pixels = |size: Size| size.map(|patches| patches * self.patch);
        tested.into_iter().map(pixels).collect()
    }
}

/// A size in words: height × width.
pub(super) fn by([height, width]: Size) -> String {
    format!("{height} × {width}")
}

/// What is said of `cut` images of another aspect ratio, with the verb for one image and for several.
pub(super) fn cropped(cut: usize, [is, are]: [&str; 2]) -> String {
    match cut {
        0 => String::new(),
        cut => format!(
            "; {} of them had another aspect ratio and {} cropped evenly on two sides",
            grouped(cut),
            agreeing(cut, is, are)
        ),
    }
}

/// A size, scaled down if its longer side is longer than [`LONGEST`].
fn bounded([height, width]: Size) -> Size {
    let longer = height.max(width);
    match longer > LONGEST {
        false => [height, width],
        true => [height, width].map(|side| {
            let scaled = (side as f64 * LONGEST as f64 / longer as f64).round();
            (scaled as usize).max(1)
        }),
    }
}

/// The side of a patch of which about [`PATCHES`] fit along the longer side: one that divides both sides if
/// there is one within twice that size.
fn fitting([height, width]: Size) -> usize {
    let least = height.max(width).div_ceil(PATCHES);
    let divides = |patch: &usize| height.is_multiple_of(*patch) && width.is_multiple_of(*patch);
    let few_left = |patch: &usize| (height / patch) * (width / patch) > 1;
    let fits = |patch: &usize| divides(patch) && few_left(patch);
    (least..=2 * least).find(fits).unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::Says;

    fn choose(found: &[Size], size: Option<usize>, patch: Option<usize>) -> Result<Sizes, String> {
        let reading = Reading {
            size,
            patch,
            ..Reading::default()
        };
        Sizes::choose(found, &reading).map_err(|problem| problem.to_string())
    }

    #[test]
    fn the_commonest_size_gets_about_eight_patches_a_side() {
        for (found, image, patch) in [
            ([28, 28], [28, 28], 4),
            ([32, 32], [32, 32], 4),
            ([8, 8], [8, 8], 1),
            ([16, 16], [16, 16], 2),
            // No patch divides 30 or 31 into about eight; the nearest sizes are taken.
            ([30, 30], [30, 30], 5),
            ([31, 31], [32, 32], 4),
            ([224, 224], [64, 64], 8),
            ([200, 300], [40, 64], 8),
            ([7, 100], [8, 64], 8),
        ] {
            let sizes = choose(&[found, [9, 9], found], None, None).unwrap();
            assert_eq!(sizes, Sizes { image, patch }, "{found:?}");
            assert!(sizes.image.iter().all(|side| side % patch == 0));
        }
    }

    #[test]
    fn flags_set_the_sizes() {
        let found = [[50, 40]];
        let of = |size, patch| choose(&found, size, patch);
        let sizes = |image, patch| Ok(Sizes { image, patch });
        assert_eq!(of(Some(24), None), sizes([24, 24], 3));
        assert_eq!(of(Some(24), Some(6)), sizes([24, 24], 6));
        assert_eq!(of(None, Some(10)), sizes([50, 40], 10));
        assert_eq!(of(None, Some(16)), sizes([48, 48], 16));
        assert_eq!(of(Some(16), Some(1)).unwrap().patches(), [16, 16]);
        let no_multiple = "--size 24 is not a multiple of --patch 5";
        for (size, patch, said) in [
            (Some(24), Some(5), no_multiple),
            (Some(31), None, "--size 31 is not a multiple of 4"),
            (Some(0), None, "--size is 0"),
            (None, Some(0), "--patch is 0"),
            (Some(24), Some(24), "have one patch"),
            (Some(64), Some(2), "have 1024 patches, more than 256"),
            (Some(usize::MAX), None, "from 1 to 4096 pixels"),
            (None, Some(usize::MAX), "from 1 to 4096 pixels"),
        ] {
            of(size, patch).unwrap_err().says(said);
        }
    }

    #[test]
    fn other_resolutions_have_other_numbers_of_patches() {
        let tested = |image, patch| Sizes { image, patch }.tested();
        assert_eq!(
            tested([32, 32], 4),
            [[32, 32], [24, 24], [48, 48], [64, 64]]
        );
        // 7 × 0.75 = 5.25 and 7 × 1.5 = 10.5 patches are rounded.
        assert_eq!(tested([7, 7], 1), [[7, 7], [5, 5], [11, 11], [14, 14]]);
        assert_eq!(tested([4, 2], 2), [[4, 2], [6, 4], [8, 4]]);
        let [height, width] = [2, 1];
        assert_eq!(tested([height, width], 1).len(), 3); // 2 × 1, 3 × 2, 4 × 2
    }
}
