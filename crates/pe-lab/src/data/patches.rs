//! Patches of series: several steps in a row that a model reads as one token, so that a long series has fewer of them.
//!
//! Patches do not overlap. Source: Nie et al. 2023, A Time Series is Worth 64 Words (PatchTST), §3.1, with the stride of the
//! length of a patch.

use super::error::Problem;
use super::reading::Reading;

/// The most steps of a patch.
pub(super) const MAX_PATCH: usize = 64;

/// Checks the steps of a patch, if rows have patches.
///
/// # Errors
///
/// [`Problem::Reading`] for a number that no patch can have.
pub(super) fn check(reading: &Reading) -> Result<(), Problem> {
    match reading.patch {
        Some(steps) if !(2..=MAX_PATCH).contains(&steps) => Err(Problem::Reading(format!(
            "--patch is {steps}; of rows of numbers it takes from 2 to {MAX_PATCH} steps"
        ))),
        _ => Ok(()),
    }
}

/// The tokens of patches of so many steps, each of which has the numbers of all channels. The last patch is filled with
/// missing values.
pub(super) fn joined(steps: &[String], of_patch: usize, channels: usize) -> Vec<String> {
    let patches = steps.chunks(of_patch);
    let token = |patch: &[String]| {
        let missing = channels * (of_patch - patch.len());
        let known = patch.iter().map(|step| match step.is_empty() {
            true => "?",
            false => step,
        });
        let all = known.chain(std::iter::repeat_n("?", missing));
        all.collect::<Vec<_>>().join(" ")
    };
    patches.map(token).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_patch_is_filled_with_missing_values() {
        let steps: Vec<String> = ["1 2", "3 ?", "5 6"].map(String::from).into();
        assert_eq!(joined(&steps, 2, 2), ["1 2 3 ?", "5 6 ? ?"]);
        assert_eq!(joined(&steps, 3, 2), ["1 2 3 ? 5 6"]);
        let empty: Vec<String> = ["1", "", "3"].map(String::from).into();
        assert_eq!(joined(&empty, 2, 1), ["1 ?", "3 ?"]);
        assert!(joined(&[], 4, 1).is_empty());
    }
}
