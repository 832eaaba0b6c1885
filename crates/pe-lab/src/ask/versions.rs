//! The versions of what computes a study.

use std::fs::File;

use serde::{Deserialize, Serialize};

use crate::data::digest_of;

/// The version of Burn in the lock file. Burn itself does not say which version it is.
const BURN: &str = "0.22.1";

/// The generation of the numbers: it is raised whenever the same spec gives other numbers than before.
///
/// 1: initial weights, training data and random positions are drawn from the task's name and the seed.
/// 2: `--steps auto` chooses the number of steps on examples held out of the training.
/// 3: of series and texts, whose windows overlap, `--tune` and `--steps auto` hold out a part of the data and no single windows;
///    short series have a shorter window; dates of eight digits and decimal commas are read as such.
/// 4: the loss on held-out sequences is measured before the first step too, and the rule of convergence counts from there.
/// 5: scores of attention outside kernels are multiplied by 1/√d_head and not divided by √d_head, another rounding where
///    d_head is no power of 4.
/// 6: gradients of biases by distance (ALiBi's, T5's, KERPLE's) are summed for each distance first, another rounding; CoPE's
///    sums restart at each document of a packed row.
/// 7: of a series, a column without a name that counts the rows is not read; `.` is a missing number.
/// 8: DeBERTa and CoPE multiply queries and keys by the part of their tables that occurs, another rounding.
/// 9: on Flex CoPE's bias is computed by one kernel, which adds gates in `f64`, another rounding.
/// 10: on graphics cards gradients of weights and biases over 512 rows and more are added up in groups, another rounding.
/// 11: phases of PoPE outside of their range have a gradient.
/// 12: of data with a test file, only the rows to train on have training lengths: a few longer ones of the test are no longer among them.
/// 13: of data whose examples are rows, those that `--tune` and `--steps auto` hold out are one set, of all lengths.
/// 14: on Flex the norm of a clipped gradient is added up in `f64`, another rounding.
/// 15: on Flex one kernel adds the products of queries and keys with tables of distances (Shaw's, Transformer-XL's, DeBERTa's,
///     Inkling's) and makes CoPE's scores, another rounding.
/// 16: on Flex attention takes the sums of FoX's gates as they are, another rounding, and a weight below e^-50 of the largest is 0.
/// 17: on Flex attention multiplies its scores itself by the factor of DeBERTa's and TUPE's, and CoPE's kernel leaves out keys after those
///     that a query sees; PoPE's queries and keys are made by one kernel and go through that of attention: another rounding.
/// 18: `indirect_indexing` has several queries, of a string of different symbols, and shorter lengths.
/// 19: on graphics cards the gradient of GELU is that of its formula, where it was that of the approximation by tanh;
///     TUPE's queries of positions, and Shaw's table where d_head is no power of 4, have another rounding. With groups, the rows that
///     `--tune` and `--steps auto` hold out are drawn of each label. The floor of predicted numbers is the better one of their mean and their
///     median. A scheme whose encoding follows the length is tested on batches of one length.
/// 20: the floor of `counting` is the best answer without positions. For a decoder, `--tune` and `--steps auto` hold out by the prompt alone. A
///     scaling by name has as its factor the longest tested length divided by that of the training also for images and random positions.
/// 21: a test whose scores of classes would take more than 256 MiB is divided, another rounding: of a set of 256 sequences of 64 tokens, from
///     a vocabulary of 4,097 on.
const NUMBERS: u32 = 21;

/// A digest of the code that computes the numbers of a trial: sources, data of tasks, and the dependencies that
/// compute. It also changes with a comment, so that two codes may well give the same numbers.
pub const CODE: &str = env!("PE_LAB_CODE");

/// A digest of this program. Two builds of the same sources may have different ones.
pub(super) fn of_program() -> String {
    let digest = std::env::current_exe()
        .and_then(File::open)
        .and_then(digest_of);
    // A program that cannot be read is not known to be the same as any other.
    digest.map_or_else(
        |_| format!("unread-{}", std::process::id()),
        |digest| digest[..16].into(),
    )
}

/// The versions of what computes a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// The laboratory.
    pub pe_lab: String,
    /// The framework.
    pub burn: String,
    /// The generation of the numbers. Results of different generations are never mixed.
    #[serde(default)]
    pub numbers: u32,
}

impl std::fmt::Display for Versions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            pe_lab,
            burn,
            numbers,
        } = self;
        write!(f, "pe-lab {pe_lab} with Burn {burn}, numbers {numbers}")
    }
}

impl Versions {
    /// The versions of this program.
    pub fn current() -> Self {
        Self {
            pe_lab: env!("CARGO_PKG_VERSION").into(),
            burn: BURN.into(),
            numbers: NUMBERS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_version_of_burn_is_the_locked_one() {
        // Cargo runs tests in the folder of their package. The lock file is that of the workspace, or
        // lies in the package where that was published.
        let lock = std::fs::read_to_string("../../Cargo.lock")
            .or_else(|_| std::fs::read_to_string("Cargo.lock"))
            .unwrap();
        let lock = lock.replace("\r\n", "\n");
        let entry = format!("name = \"burn\"\nversion = \"{BURN}\"\n");
        assert!(
            lock.contains(&entry),
            "set BURN to the version in Cargo.lock"
        );
    }
}
