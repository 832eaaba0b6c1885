//! Which code computed the results of a study.

use std::collections::BTreeMap;

use super::trial::TrialResult;

/// How many of the results were computed by which [`CODE`](crate::ask::CODE); `None` where it was not recorded.
pub fn codes(results: &[TrialResult]) -> BTreeMap<Option<&str>, usize> {
    let mut codes = BTreeMap::new();
    for result in results {
        *codes.entry(result.code.as_deref()).or_insert(0) += 1;
    }
    codes
}

/// What is to be said about it: that results of different code are in one study, and that some have no digest.
/// Nothing where there is nothing to mind.
pub fn provenance(results: &[TrialResult]) -> Vec<String> {
    let codes = codes(results);
    let mut said = Vec::new();
    if codes.len() > 1 {
        let each = codes.iter().map(|(code, count)| match code {
            Some(code) => format!("{count} by {code}"),
            None => format!("{count} by one that was not recorded"),
        });
        said.push(format!(
            "the results were computed by different versions of the code: {}. If their numbers may differ, run the \
             study again in a new folder",
            each.collect::<Vec<_>>().join(", ")
        ));
    }
    if let Some(count) = codes.get(&None) {
        said.push(format!(
            "{count} of the {} results are of an earlier version and carry no digest: an edited or damaged number in \
             them would not be noticed",
            results.len()
        ));
    }
    said
}
