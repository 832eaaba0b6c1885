//! A part of a study, for one of several machines.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::trial::TrialSpec;
use crate::error::LabError;

/// One of `count` parts of a study. A trial is in the part that its id hashes to, so the parts share nothing,
/// need not know of each other, and stay the same when seeds or schemes are added.
///
/// ```
/// use pe_lab::ask::Shard;
///
/// let shard: Shard = "3/40".parse()?;
/// assert_eq!(shard.to_string(), "3/40");
/// assert!("40/40".parse::<Shard>().is_err()); // counted from 0
/// # Ok::<(), pe_lab::error::LabError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    count: u64,
}

impl Shard {
    /// The most parts.
    pub const MOST: u64 = 100_000;

    /// Whether the trial is in this part.
    pub fn has(self, trial: &TrialSpec) -> bool {
        let digest = Sha256::digest(trial.id());
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        u64::from_be_bytes(first) % self.count == self.index
    }
}

impl FromStr for Shard {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        let parts = text.split_once('/');
        let numbers = parts.and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((index, count)) if index < count && count <= Self::MOST => {
                Ok(Self { index, count })
            }
            _ => Err(LabError::Usage(format!(
                "`{text}` is no part of a study; it must be k/n with k from 0 to n - 1 and n up to {}, \
                 such as 0/4",
                Self::MOST
            ))),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::{Plan, Seeds, StudySpec};

    fn trials(seeds: u64) -> Vec<TrialSpec> {
        let plan = Plan {
            seeds: Some(Seeds::Count(seeds)),
            ..Plan::preset("standard").unwrap()
        };
        let (spec, tasks) = StudySpec::of(plan).unwrap();
        spec.trials(&tasks).unwrap()
    }

    #[test]
    fn every_trial_is_in_one_part_of_about_the_same_size() {
        let trials = trials(5);
        let shards: Vec<Shard> = (0..6).map(|k| format!("{k}/6").parse().unwrap()).collect();
        let sizes: Vec<usize> = shards
            .iter()
            .map(|shard| trials.iter().filter(|trial| shard.has(trial)).count())
            .collect();
        assert_eq!(sizes.iter().sum::<usize>(), trials.len());
        let even = trials.len() / 6;
        assert!(
            sizes.iter().all(|size| size.abs_diff(even) < even / 2),
            "{sizes:?}"
        );
    }

    #[test]
    fn parts_stay_the_same_when_a_study_grows() {
        let shard: Shard = "2/5".parse().unwrap();
        let ids = |trials: Vec<TrialSpec>| -> Vec<String> {
            let own = trials.iter().filter(|trial| shard.has(trial));
            own.map(TrialSpec::id).collect()
        };
        let (few, more) = (ids(trials(3)), ids(trials(7)));
        assert!(few.len() < more.len() && few.iter().all(|id| more.contains(id)));
    }

    #[test]
    fn what_is_no_part_is_refused() {
        for text in [
            "", "1", "1/", "/2", "2/2", "0/0", "-1/2", "0/100001", "1/2/3", "a/b",
        ] {
            let message = text.parse::<Shard>().unwrap_err().to_string();
            assert!(message.contains(&format!("`{text}`")), "{message}");
        }
    }
}
