//! Which code computed the results of a study.

use std::collections::BTreeMap;

use super::trial::TrialResult;

/// How many of the results were computed by which [`CODE`](crate::ask::CODE).
pub fn codes(results: &[TrialResult]) -> BTreeMap<&str, usize> {
    let mut codes = BTreeMap::new();
    for result in results {
        *codes.entry(result.code.as_str()).or_insert(0) += 1;
    }
    codes
}

/// A sentence that different versions of the code computed these results. `None` where one version computed all of them.
pub fn provenance(results: &[TrialResult]) -> Option<String> {
    let codes = codes(results);
    let each = codes
        .iter()
        .map(|(code, count)| format!("{count} by {code}"));
    (codes.len() > 1).then(|| {
        format!(
            "the results were computed by different versions of the code: {}. If their numbers may differ, run the \
             study again in a new folder",
            each.collect::<Vec<_>>().join(", ")
        )
    })
}
