//! The inputs of attention as slices, of all heads and of one.

use crate::kernels::flex::products::Matrix;

/// The sizes of `qkv`, `[batch, seq, 3 · d_model]`, of the output, `[batch, seq, d_model]`, and of the
/// weights, `[batch, heads, seq, seq]`. The batch size follows from the length of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub seq: usize,
    pub d_model: usize,
    pub heads: usize,
    /// Whether a token attends only to itself and to the tokens before it.
    pub causal: bool,
}

impl Sizes {
    /// Of queries, keys and values that are `width` columns together.
    ///
    /// # Panics
    ///
    /// When heads do not share these columns: the columns of all heads have to be those of the output, whose memory is not
    /// initialized before.
    pub fn new(seq: usize, width: usize, heads: usize, causal: bool) -> Self {
        assert!(
            width.is_multiple_of(3 * heads),
            "queries, keys and values of {heads} heads are {width} columns together, which is no multiple of 3 · {heads}"
        );
        Self {
            seq,
            d_model: width / 3,
            heads,
            causal,
        }
    }

    pub fn d_head(self) -> usize {
        self.d_model / self.heads
    }

    pub fn scale(self) -> f32 {
        1.0 / (self.d_head() as f32).sqrt()
    }

    /// The number of scores of one sequence.
    pub fn scores(self) -> usize {
        self.heads * self.seq * self.seq
    }
}

/// The inputs as slices.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    pub qkv: &'a [f32],
    /// `[batch, seq]`: where it is not 0, there is no token.
    pub padding: Option<&'a [u8]>,
    /// `[1 or batch, heads, seq, seq]`
    pub bias: Option<&'a [f32]>,
    pub sizes: Sizes,
}

impl<'a> Parts<'a> {
    pub fn batch(self) -> usize {
        self.qkv.len() / (self.sizes.seq * 3 * self.sizes.d_model)
    }

    /// One head of one sequence.
    pub fn head(self, row: usize, head: usize) -> Head<'a> {
        let Sizes { seq, d_model, .. } = self.sizes;
        let qkv = &self.qkv[row * seq * 3 * d_model..][..seq * 3 * d_model];
        let [q, k, v] = [0, 1, 2].map(|which| {
            let from = which * d_model + head * self.sizes.d_head();
            Matrix::spaced(&qkv[from..], seq, self.sizes.d_head(), 3 * d_model)
        });
        Head {
            q,
            k,
            v,
            padding: self.padding.map(|all| &all[row * seq..][..seq]),
            // There is one bias for all sequences, or one for each.
            bias: self.bias.map(|all| {
                let sequence = &all[row * self.sizes.scores() % all.len()..];
                &sequence[head * seq * seq..][..seq * seq]
            }),
        }
    }
}

/// What one head of one sequence computes with.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    pub q: Matrix<'a>,
    pub k: Matrix<'a>,
    pub v: Matrix<'a>,
    /// `[seq]`
    pub padding: Option<&'a [u8]>,
    /// `[seq, seq]`
    pub bias: Option<&'a [f32]>,
}
