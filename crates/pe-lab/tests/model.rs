//! The initial weights of a model depend on its seed alone, and trainings have the losses of PyTorch.
//!
//! Burn's random generator is global to a process. These tests have a process of their own, so that no
//! other test draws from it at the same time.

mod pytorch;

use burn::module::Module;
use burn::tensor::{DType, Device};
use pe_lab::ask::{ModelSpec, Scheme};
use pe_lab::learn::{Model, parameter_bits};
use pe_lab::task::{Digits, Reverse, Shift3, Task};

fn init(task: &dyn Task, scheme: &str, seed: u64) -> Model {
    let device = Device::flex().autodiff();
    let scheme = Scheme::by_name(scheme, &ModelSpec::default(), 82).unwrap();
    Model::init(&ModelSpec::default(), task, &scheme, seed, &device).unwrap()
}

/// The bits of every parameter: of the token embeddings, which are one tensor, of the scheme, and of
/// the encoder and the readout, which together are `after` tensors.
fn parts(model: &Model, after: usize) -> [Vec<Vec<u32>>; 3] {
    let mut tokens = parameter_bits(model);
    let after = tokens.split_off(tokens.len() - after);
    let scheme = tokens.split_off(1);
    [tokens, scheme, after]
}

#[test]
fn shared_weights_are_bit_equal_between_schemes_at_one_seed_and_differ_at_another() {
    let none = init(&Reverse, "none", 1);
    let after = parameter_bits(&none).len() - 1;
    let [tokens, scheme, rest] = parts(&none, after);
    assert!(scheme.is_empty());
    for name in Scheme::names_for(&Digits, &ModelSpec::default()) {
        let [of_tokens, _, of_rest] = parts(&init(&Reverse, name, 1), after);
        assert!(of_tokens == tokens && of_rest == rest, "{name}");
    }
    let [other_tokens, _, other_rest] = parts(&init(&Reverse, "none", 2), after);
    assert_ne!(tokens, other_tokens);
    // The last two tensors are the readout's weight and its bias.
    let (encoder, readout) = rest.split_at(after - 2);
    let (other_encoder, other_readout) = other_rest.split_at(after - 2);
    assert_ne!(encoder, other_encoder);
    assert_ne!(readout, other_readout);
    let drawn: usize = tokens.iter().chain(&rest).map(Vec::len).sum();
    assert_eq!(drawn, none.num_params());
    // Another task has the same vocabulary and the same number of classes, and weights of its own.
    let [of_task, _, rest_of_task] = parts(&init(&Shift3, "none", 1), after);
    let count = |parts: &[Vec<u32>]| parts.iter().map(Vec::len).sum::<usize>();
    assert_eq!(count(&of_task) + count(&rest_of_task), drawn);
    assert_ne!([&of_task, &rest_of_task], [&tokens, &rest]);
}

#[test]
fn a_learned_table_has_a_seed_of_its_own() {
    let after = parameter_bits(&init(&Reverse, "none", 1)).len() - 1;
    let table = |seed| {
        let [_, table, _] = parts(&init(&Reverse, "learned", seed), after);
        assert_eq!(table.iter().map(Vec::len).sum::<usize>(), 82 * 64);
        table
    };
    assert_eq!(table(1), table(1));
    assert_ne!(table(1), table(2));
}

/// On the kernels that a study takes. The largest difference was 5e-7, of losses of about 2, and with FIRE 9e-6: the gradients
/// of its network are small, and Adam divides by their size, so that their rounding counts.
#[test]
fn a_training_of_100_steps_has_the_losses_of_pytorch() {
    pytorch::compare(&Device::flex(), DType::F32, |scheme| match scheme {
        "fire" => 2e-5,
        _ => 2e-6,
    });
}
