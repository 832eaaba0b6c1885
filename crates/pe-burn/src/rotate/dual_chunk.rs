//! Dual chunk attention: the positions of queries and keys.

use alloc::vec::Vec;

use burn::tensor::{Bool, Device, Tensor, TensorData};

use crate::backend::memory::check_room;
use crate::error::{PositionError, check_number, check_size};
use crate::positions::{Positions, check_run};

/// Dual chunk attention, which reads inputs much longer than a model was trained on without training: no query
/// and key are farther apart than `chunk_size`. An et al., [*Training-Free Long-Context Scaling of Large Language
/// Models*](https://arxiv.org/abs/2402.17463), 2024, §3; Qwen2.5-1M has it.
///
/// The sequence is cut into chunks of `n = chunk_size − local_window` tokens. The distance of a query and a key is
/// that of their positions below. It is the true one within a chunk, and for keys of the chunk before that are at
/// most `local_window` away.
///
/// ```text
/// key j:                          j mod n
/// query i, keys of its chunk:     i mod n
/// query i, keys of the one before: min(i mod n + n, chunk_size)
/// query i, all keys before these: min(2n − 1, chunk_size)
/// ```
///
/// Rotate the keys once, and queries once for each part; the keys that each part is for are a mask:
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor, activation::softmax};
/// use pe_burn::rotary::{ChunkPart, DualChunk};
/// use pe_burn::{Layout, Rotate, RotaryPositionalEncodingConfig};
///
/// let device = Device::flex();
/// let rope = RotaryPositionalEncodingConfig::new(64).with_layout(Layout::Halves).init(&device);
/// let chunks = DualChunk::new(24, 8)?; // of a model that was trained on 32 tokens
///
/// let random = || Tensor::<4>::random([1, 2, 100, 64], Distribution::Default, &device);
/// let (q, k, v) = (random(), random(), random());
/// let k = rope.rotate_keys(k, &chunks.keys(0, 100)?);
/// let mut scores = Tensor::<4>::zeros([1, 2, 100, 100], &device);
/// for part in ChunkPart::ALL {
///     let q = rope.rotate_queries(q.clone(), &chunks.queries(part, 0, 100)?);
///     let is_of_part = chunks.mask(part, (0, 100), (0, 100), &device)?;
///     let of_part = q.matmul(k.clone().swap_dims(2, 3)) / 8.0;
///     scores = scores.mask_where(is_of_part.unsqueeze(), of_part);
/// }
/// let future = Tensor::<2>::ones([100, 100], &device).triu(1).bool();
/// let y = softmax(scores.mask_fill(future.unsqueeze(), f32::NEG_INFINITY), 3).matmul(v);
/// # assert_eq!(y.dims(), [1, 2, 100, 64]);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
///
/// This is for causal attention. Cached keys keep their rotation. vLLM computes no part where it is not needed and leaves
/// out keys that hardly count (its sparse attention); there is no kernel for either here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "DCA")]
#[doc(alias = "dual chunk attention")]
pub struct DualChunk {
    chunk_size: usize,
    local_window: usize,
}

/// The keys that a part of [dual chunk attention](DualChunk) scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkPart {
    /// Those of the query's own chunk.
    Intra,
    /// Those of the chunk before.
    Successive,
    /// All before these.
    Inter,
}

impl ChunkPart {
    /// The three parts.
    pub const ALL: [Self; 3] = [Self::Intra, Self::Successive, Self::Inter];
}

impl DualChunk {
    /// With the two lengths of a model's `dual_chunk_attention_config` (`chunk_size`, `local_size`). In the authors' code
    /// the first is three quarters of the length in training; the second is an eighth of that length for Llama
    /// (`chunkllama_attn_replace.py`) and a sixteenth for Qwen (`chunkqwen_attn_replace.py`).
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a window of 0, and for a chunk that is not larger than the window.
    pub fn new(chunk_size: usize, local_window: usize) -> Result<Self, PositionError> {
        check_size("local_window", local_window)?;
        let (fits, bound) = (chunk_size > local_window, "larger than local_window");
        check_number(fits, "chunk_size", chunk_size, bound)?;
        Ok(Self {
            chunk_size,
            local_window,
        })
    }

    /// The number of tokens of a chunk, `chunk_size − local_window`.
    pub fn chunk_len(&self) -> usize {
        self.chunk_size - self.local_window
    }

    /// The positions of keys, tokens `start` to `start + seq` of the sequence.
    ///
    /// # Errors
    ///
    /// [`PositionError::Overflow`] past [`MAX_POSITION`](crate::MAX_POSITION), [`TooLarge`](PositionError::TooLarge) when they do not
    /// fit into memory.
    pub fn keys(&self, start: usize, seq: usize) -> Result<Positions, PositionError> {
        let chunk = self.chunk_len();
        positions(start, seq, |token| token % chunk)
    }

    /// The positions of queries, tokens `start` to `start + seq` of the sequence, for the keys of a part.
    ///
    /// # Errors
    ///
    /// Those of [`keys`](Self::keys).
    pub fn queries(
        &self,
        part: ChunkPart,
        start: usize,
        seq: usize,
    ) -> Result<Positions, PositionError> {
        positions(start, seq, |token| self.query(part, token))
    }

    /// The position of a query for the keys of a part.
    fn query(&self, part: ChunkPart, token: usize) -> usize {
        let chunk = self.chunk_len();
        let next = |place: usize| place.saturating_add(chunk).min(self.chunk_size);
        match part {
            ChunkPart::Intra => token % chunk,
            ChunkPart::Successive => next(token % chunk),
            ChunkPart::Inter => next(chunk - 1),
        }
    }

    /// The part that a key belongs to for a query. A key after the query, which causal attention does not see, counts as
    /// one of the query's own chunk.
    pub fn part(&self, query: usize, key: usize) -> ChunkPart {
        let chunk = self.chunk_len();
        match (query / chunk).saturating_sub(key / chunk) {
            0 => ChunkPart::Intra,
            1 => ChunkPart::Successive,
            _ => ChunkPart::Inter,
        }
    }

    /// Which scores are of a part, for queries and keys that are each given by the first token and the number
    /// of tokens.
    ///
    /// # Shapes
    ///
    /// - output: `[queries, keys]`, true for those of the part
    ///
    /// # Errors
    ///
    /// Those of [`keys`](Self::keys).
    pub fn mask(
        &self,
        part: ChunkPart,
        queries: (usize, usize),
        keys: (usize, usize),
        device: &Device,
    ) -> Result<Tensor<2, Bool>, PositionError> {
        for (start, seq) in [queries, keys] {
            check_run(start, seq)?;
        }
        check_room::<bool>(queries.1, keys.1)?;
        let of_query =
            |query| (keys.0..keys.0 + keys.1).map(move |key| self.part(query, key) == part);
        let mask: Vec<bool> = (queries.0..queries.0 + queries.1)
            .flat_map(of_query)
            .collect();
        let data = TensorData::new(mask, [queries.1, keys.1]);
        Ok(Tensor::from_data(data, &device.clone().without_autodiff()))
    }
}

fn positions(
    start: usize,
    seq: usize,
    of: impl Fn(usize) -> usize,
) -> Result<Positions, PositionError> {
    check_run(start, seq)?;
    check_room::<usize>(1, seq)?;
    let row: Vec<usize> = (start..start + seq).map(of).collect();
    Positions::from_id_rows(&[row])
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::MAX_POSITION;
    use crate::testing::refused;

    /// The distances of the paper's figure 2: true within a chunk and up to the window, at most the size of a chunk.
    #[test]
    fn no_key_is_farther_than_a_chunk() {
        for (size, window) in [(12, 4), (10, 7), (6, 1), (2, 1), (3072, 512)] {
            let chunks = DualChunk::new(size, window).unwrap();
            let n = chunks.chunk_len();
            assert_eq!(n, size - window);
            for query in [0, 1, n - 1, n, n + 1, 2 * n, 5 * n - 1, 7 * n + n / 2] {
                for key in 0..=query {
                    let place = chunks.query(chunks.part(query, key), query);
                    let distance = place as i64 - (key % n) as i64;
                    let truth = (query - key) as i64;
                    assert!(
                        distance >= i64::from(key != query),
                        "{query} {key}: {distance}"
                    );
                    assert!(distance <= size as i64);
                    let is_near =
                        query / n == key / n || (query / n == key / n + 1 && query % n + n <= size);
                    if is_near {
                        assert_eq!(distance, truth, "{query} {key}");
                    }
                }
            }
        }
    }

    #[test]
    fn bad_lengths_are_refused() {
        refused! {
            |bad| DualChunk::new(8, bad);
            8 => "chunk_size must be larger than local_window; got 8",
            0 => "local_window must be at least 1; got 0",
        }
        let chunks = DualChunk::new(usize::MAX, 1).unwrap();
        assert!(chunks.keys(usize::MAX, 2).is_err());
        // Past the largest position.
        assert!(chunks.queries(ChunkPart::Inter, 0, 1).is_err());
        let device = Device::flex();
        let mask = |queries, keys| chunks.mask(ChunkPart::Intra, queries, keys, &device);
        assert!(mask((0, usize::MAX), (0, 1)).is_err());
        assert_eq!(mask((3, 0), (0, 5)).unwrap().dims(), [0, 5]);
        assert!(chunks.keys(3, 0).is_ok());
        let chunks = DualChunk::new(24, 8).unwrap();
        assert!(chunks.keys(MAX_POSITION, 1).is_ok());
        assert!(chunks.keys(MAX_POSITION + 1, 0).is_ok());
        assert!(chunks.keys(MAX_POSITION, 2).is_err());
    }
}
