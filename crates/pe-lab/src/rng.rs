//! Random numbers on the host. They depend on a purpose, a seed and a counter, and on nothing else.

use rand::SeedableRng;
pub use rand::{Rng, RngExt};
pub use rand_chacha::ChaCha8Rng as HostRng;

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
    fn a_permutation_holds_every_index_once() {
        let order = permutation(50, &mut generator("order", 7, 0));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
        assert_ne!(order, sorted);
    }
}
