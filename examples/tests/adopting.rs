//! The kinds of layers of `adopting`: what is written by hand and what `pe-burn` does are the same.

#[allow(dead_code)] // its `main`
#[path = "../adopting/main.rs"]
mod adopting;

use burn::tensor::Device;

#[test]
fn every_kind_is_as_by_hand() {
    for kind in adopting::KINDS {
        kind.check(&Device::flex()).unwrap();
    }
}
