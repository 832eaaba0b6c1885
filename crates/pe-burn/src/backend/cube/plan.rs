//! How a rotation divides the columns of a head among threads.

/// This many `f32` are 16 bytes, the most that a card reads at a time.
const MOST_LANES: usize = 4;

/// What is known of a rotation when its kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// The number of columns that are read and written at a time.
    pub vector: usize,
    /// Half the number of rotated columns.
    pub pairs: usize,
    /// The number of columns after the rotated ones that are copied: 0 where the rotation is in place.
    pub copied: usize,
    pub interleaved: bool,
    pub inverse: bool,
    /// One row of angles, or one id of a row, per token serves the whole batch.
    pub shared: bool,
    /// For a projection whose heads lie side by side in memory: how many of them are rotated. The others are copied, or
    /// left as they are where the rotation is in place.
    pub first_heads: Option<usize>,
}

impl Plan {
    /// Whether both columns of a pair are in one vector.
    pub fn within(&self) -> bool {
        self.interleaved && self.vector > 1
    }

    /// The number of pairs that one thread rotates.
    pub fn pairs_of_thread(&self) -> usize {
        match self.within() {
            true => self.vector / 2,
            false => self.vector,
        }
    }

    /// The number of sines, or of cosines, that are read at a time.
    pub fn lanes(&self) -> usize {
        self.pairs_of_thread().min(MOST_LANES)
    }

    /// The indices of the two columns of a pair of this thread, each within its vector.
    pub fn columns(&self, pair: usize) -> (usize, usize) {
        match self.within() {
            true => (2 * pair, 2 * pair + 1),
            false => (pair, pair),
        }
    }

    /// The number of threads of a row that rotate a vector. The other threads copy one.
    pub fn turned(&self) -> usize {
        match self.within() {
            true => 2 * self.pairs / self.vector,
            false => self.pairs / self.vector,
        }
    }

    /// The number of threads of a row.
    pub fn threads(&self) -> usize {
        self.turned() + self.copied / self.vector
    }
}
