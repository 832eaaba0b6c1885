//! The order in which a training goes through its samples.

use std::sync::{Arc, Mutex, PoisonError};

use crate::rng::{generator, permutation};

const EPOCHS: usize = 10;
/// The batch size that the number of steps is made for.
pub(crate) const USUAL_BATCH: usize = 64;

/// Epochs over a number of samples, each in a new order.
#[derive(Debug)]
pub(crate) struct Epochs {
    /// Names the stream of random numbers, so that no other draws from it.
    purpose: &'static str,
    samples: usize,
    /// The last order that was computed, since the next batch needs it again.
    kept: Mutex<Option<Order>>,
}

/// A seed, an epoch, and the order of its samples.
type Order = (u64, usize, Arc<Vec<usize>>);

impl Epochs {
    pub fn over(samples: usize, purpose: &'static str) -> Self {
        Self {
            purpose,
            samples,
            kept: Mutex::new(None),
        }
    }

    /// The samples of batch number `step` of a seed.
    pub fn batch(&self, seed: u64, step: usize, size: usize) -> impl Iterator<Item = usize> {
        (step * size..(step + 1) * size).map(move |drawn| {
            let order = self.order(seed, drawn / self.samples);
            order[drawn % self.samples]
        })
    }

    /// The order in which an epoch goes through the samples at one seed.
    pub fn order(&self, seed: u64, epoch: usize) -> Arc<Vec<usize>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, at, order)) = kept.as_ref()
            && (*of, *at) == (seed, epoch)
        {
            return order.clone();
        }
        let mut rng = generator(self.purpose, seed, epoch as u64);
        let order = Arc::new(permutation(self.samples, &mut rng));
        *kept = Some((seed, epoch, order.clone()));
        order
    }
}

/// Ten epochs in batches of 64, but at least 200 steps, so that a small file gets enough training, and at
/// most 3,000, so that a large file does not take forever.
pub(crate) fn steps(samples: usize) -> usize {
    (samples * EPOCHS).div_ceil(USUAL_BATCH).clamp(200, 3000)
}
