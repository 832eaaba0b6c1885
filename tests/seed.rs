//! Burn's random generator is one for the whole process: this test has a process of its own, so that no
//! other test draws from it.

use burn::tensor::{Device, Distribution, Tensor};
use pe_burn::LearnedPositionalEmbeddingConfig;

/// Reading a table from a file draws no random numbers.
#[test]
fn a_table_from_a_file_leaves_random_numbers_alone() {
    let device = Device::flex();
    let draw = || -> Vec<f32> {
        let random = Tensor::<1>::random([4], Distribution::Default, &device);
        random.into_data().iter().collect()
    };
    device.seed(3);
    let expected = draw();
    device.seed(3);
    LearnedPositionalEmbeddingConfig::new(8, 12)
        .with_padding_index(1)
        .init_from_file(
            "peers/checkpoints/bart/model.safetensors",
            "encoder.embed_positions.weight",
            &device,
        )
        .unwrap();
    assert_eq!(draw(), expected);
}
