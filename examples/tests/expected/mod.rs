//! Small models that transformers saved, and the outputs that it computed with them: `tests/peers`.

use std::path::PathBuf;

use serde::de::DeserializeOwned;

/// The folder of a model, and what is expected of it.
pub fn read<T: DeserializeOwned>(model: &str) -> (PathBuf, T) {
    let peers = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/peers");
    let folder = PathBuf::from(peers).join(model);
    let text = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    (folder, serde_json::from_str(&text).unwrap())
}

/// Compares two lists of numbers, which must be of one length: they differ by at most 1e-4 of the largest.
pub fn assert_near(ours: &[f32], theirs: &[f32], about: &str) {
    assert_eq!(ours.len(), theirs.len(), "{about}");
    let largest = theirs.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    for (ours, theirs) in ours.iter().zip(theirs) {
        let off = (ours - theirs).abs() / largest;
        assert!(off <= 1e-4, "{about}: {ours} for {theirs}");
    }
}
