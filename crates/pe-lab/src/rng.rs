//! Random numbers on the host. They depend on a purpose, a seed and a counter, and on nothing else.

use rand::SeedableRng;
pub use rand::{Rng, RngExt};
pub use rand_chacha::ChaCha8Rng as HostRng;
use sha2::{Digest, Sha256};

/// A generator for one `purpose`, `seed` and `counter`.
///
/// The same three arguments give the same numbers; a change in any of them gives unrelated numbers.
/// ChaCha is used because its definition fixes its output.
///
/// # Panics
///
/// When `purpose` is longer than 24 bytes: the generator's key has no room for more.
pub fn generator(purpose: &str, seed: u64, counter: u64) -> HostRng {
    assert!(
        purpose.len() <= 24,
        "`{purpose}` is longer than 24 bytes: give this stream a shorter name"
    );
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..8 + purpose.len()].copy_from_slice(purpose.as_bytes());
    let mut rng = HostRng::from_seed(key);
    rng.set_stream(counter);
    rng
}

/// The seed of one task's random streams: the first eight bytes of the SHA-256 of the study's seed and the task's name.
///
/// What is drawn from it, the initial weights and the training data, differs between tasks, so that the runs
/// of one seed on several tasks are independent of each other.
pub fn stream_of(task: &str, seed: u64) -> u64 {
    let digest = Sha256::new()
        .chain_update(seed.to_le_bytes())
        .chain_update(task)
        .finalize();
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(bytes)
}

/// The numbers `0..n` in a random order (Fisher and Yates).
pub fn permutation(n: usize, rng: &mut HostRng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        order.swap(last, rng.random_range(0..=last));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(purpose: &str, seed: u64, counter: u64) -> u64 {
        generator(purpose, seed, counter).next_u64()
    }

    #[test]
    fn the_same_arguments_give_the_same_numbers_and_others_do_not() {
        assert_eq!(first("a", 1, 2), first("a", 1, 2));
        assert_ne!(first("a", 1, 2), first("b", 1, 2));
        assert_ne!(first("a", 1, 2), first("a", 2, 2));
        assert_ne!(first("a", 1, 2), first("a", 1, 3));
    }

    #[test]
    fn every_task_has_a_seed_of_its_own() {
        // The first eight bytes of sha256 of 8 bytes "01 00 …" and "digits", by Python's hashlib.
        assert_eq!(stream_of("digits", 1), 0x2552_defa_aaaf_b03b);
        assert_ne!(stream_of("digits", 1), stream_of("digits", 2));
        assert_ne!(stream_of("digits", 1), stream_of("reverse", 1));
    }

    #[test]
    fn a_permutation_holds_every_index_once() {
        let order = permutation(50, &mut generator("order", 7, 0));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
        assert_ne!(order, sorted);
    }
}
