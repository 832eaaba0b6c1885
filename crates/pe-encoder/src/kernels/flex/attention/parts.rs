//! The inputs of attention as slices, of all heads and of one.

use std::ops::Range;

use crate::kernels::flex::products::Matrix;

/// The sizes of `qkv`, whose rows have the queries of all heads, their keys and their values, of the output, `[batch, seq, d_model]`,
/// and of the weights, `[batch, heads, seq, seq]`. The batch size follows from the length of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub seq: usize,
    /// The width of the values of all heads.
    pub d_model: usize,
    pub heads: usize,
    /// The widths of a head's queries, keys and values.
    widths: [usize; 3],
    pub sees: Sees,
    /// By what the products of queries and keys are multiplied.
    pub scale: f32,
}

/// Which keys a query attends to, by their places in the row.
#[derive(Clone, Copy, Debug)]
pub struct Sees {
    /// Whether a query attends only to itself and to the tokens before it.
    pub causal: bool,
    /// Only to keys fewer than this many places away.
    pub window: Option<usize>,
}

impl Sees {
    /// The keys that at least one of these queries attends to.
    #[inline(always)]
    pub fn keys(self, queries: Range<usize>, all: usize) -> Range<usize> {
        let end = match self.causal {
            true => queries.end,
            false => all,
        };
        match self.window {
            Some(window) => {
                let before = window - 1;
                let end = end.min(queries.end.saturating_add(before));
                (queries.start.saturating_sub(before)).min(end)..end
            }
            None => 0..end,
        }
    }
}

impl Sizes {
    /// The sizes for rows of `width` columns with queries, keys and values, where the values of a head are `d_head` wide.
    ///
    /// # Panics
    ///
    /// When the columns cannot be divided among the heads. The heads have to fill all columns of `qkv` and of the output,
    /// whose memory is not initialized before.
    pub fn new(seq: usize, width: usize, [heads, d_head]: [usize; 2], sees: Sees) -> Self {
        let others = width.checked_sub(heads * d_head);
        let d_query = others.filter(|others| others.is_multiple_of(2 * heads));
        let Some(d_query) = d_query.map(|others| others / (2 * heads)) else {
            panic!(
                "queries, keys and values of {heads} heads are {width} columns together, which leave no equal parts beside values of width {d_head}"
            );
        };
        Self {
            seq,
            d_model: heads * d_head,
            heads,
            widths: [d_query, d_query, d_head],
            sees,
            scale: 1.0 / (d_head as f32).sqrt(),
        }
    }

    /// The width of a row of `qkv`.
    pub fn width(self) -> usize {
        self.heads * self.widths.iter().sum::<usize>()
    }

    /// Where in a row the queries (0), keys (1) or values (2) of a head begin.
    pub fn column(self, which: usize, head: usize) -> usize {
        let before = self.widths[..which].iter().sum::<usize>();
        self.heads * before + head * self.widths[which]
    }

    /// These sizes, with scores that are multiplied by a factor.
    pub fn scaled(self, factor: f64) -> Self {
        let scale = self.scale * factor as f32;
        Self { scale, ..self }
    }

    pub fn d_head(self) -> usize {
        self.widths[2]
    }

    /// The number of distances between two tokens.
    pub fn distances(self) -> usize {
        2 * self.seq - 1
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
    pub bias: Option<BiasParts<'a>>,
    pub sizes: Sizes,
}

/// The bias of all heads.
#[derive(Clone, Copy)]
pub enum BiasParts<'a> {
    /// A number for each pair of tokens: `[1 or batch, heads, seq, seq]`.
    Pairs(&'a [f32]),
    /// A number for each distance between them, `[1, heads, 1, 2 · seq − 1]`, the key farthest to the left first.
    Distances(&'a [f32]),
    /// A number for each token, `[1 or batch, heads, 1, seq]`: a pair adds that of its key less that of its query.
    Tokens(&'a [f32]),
}

/// Rows of numbers, one row for each query and one number for each key.
#[derive(Clone, Copy)]
pub struct Spread<'a> {
    values: &'a [f32],
    /// The index where the first row begins, and the step to the next row: −1 for a bias by distance, where each row
    /// begins one number earlier.
    first: usize,
    step: isize,
    /// A number for each row that is subtracted from all numbers of the row, if there is one.
    taken: Option<&'a [f32]>,
}

impl<'a> Spread<'a> {
    /// Rows of `keys` numbers, one after the other.
    pub fn pairs(values: &'a [f32], keys: usize) -> Self {
        Self {
            values,
            first: 0,
            step: keys as isize,
            taken: None,
        }
    }

    /// The rows from `row` on.
    pub fn from(self, row: usize) -> Self {
        Self {
            first: self.start(row),
            taken: self.taken.map(|all| &all[row..]),
            ..self
        }
    }

    /// Some numbers of a row.
    #[inline(always)]
    pub fn row(self, row: usize, keys: Range<usize>) -> &'a [f32] {
        &self.values[self.start(row)..][keys]
    }

    /// The number to subtract from all numbers of a row.
    #[inline(always)]
    pub fn taken(self, row: usize) -> f32 {
        self.taken.map_or(0.0, |all| all[row])
    }

    #[inline(always)]
    fn start(self, row: usize) -> usize {
        self.first.wrapping_add_signed(row as isize * self.step)
    }
}

impl<'a> BiasParts<'a> {
    /// How many numbers the bias of one sequence has.
    pub fn of_sequence(self, sizes: Sizes) -> usize {
        match self {
            Self::Pairs(_) => sizes.scores(),
            Self::Distances(_) => sizes.heads * sizes.distances(),
            Self::Tokens(_) => sizes.heads * sizes.seq,
        }
    }

    /// The bias of one head of one sequence: there is one for all sequences, or one for each.
    fn head(self, row: usize, head: usize, sizes: Sizes) -> Spread<'a> {
        let Sizes { seq, .. } = sizes;
        let (Self::Pairs(all) | Self::Distances(all) | Self::Tokens(all)) = self;
        let of_sequence = self.of_sequence(sizes);
        let of_head = of_sequence / sizes.heads;
        let values = &all[row * of_sequence % all.len() + head * of_head..][..of_head];
        match self {
            Self::Pairs(_) => Spread::pairs(values, seq),
            Self::Distances(_) => Spread {
                values,
                first: seq - 1,
                step: -1,
                taken: None,
            },
            Self::Tokens(_) => Spread {
                values,
                first: 0,
                step: 0,
                taken: Some(values),
            },
        }
    }

    /// Adds the gradients of scores to the gradient of the bias of a head. The scores are those of the queries from
    /// `query` on with the keys `keys`. What is subtracted from a whole row gets no gradient: a softmax does not depend
    /// on it.
    pub fn add_gradient(
        self,
        bias: &mut [f32],
        scores: &[f32],
        query: usize,
        keys: Range<usize>,
        seq: usize,
    ) {
        let rows = scores.chunks_exact(keys.len().max(1)).enumerate();
        for (row, gradients) in rows {
            let query = query + row;
            let start = match self {
                Self::Pairs(_) => query * seq,
                Self::Distances(_) => seq - 1 - query,
                Self::Tokens(_) => 0,
            };
            let sums = &mut bias[start..][keys.clone()];
            sums.iter_mut()
                .zip(gradients)
                .for_each(|(sum, x)| *sum += x);
        }
    }
}

impl<'a> Parts<'a> {
    pub fn batch(self) -> usize {
        self.qkv.len() / (self.sizes.seq * self.sizes.width())
    }

    /// One head of one sequence.
    pub fn head(self, row: usize, head: usize) -> Head<'a> {
        let (sizes, seq) = (self.sizes, self.sizes.seq);
        let qkv = &self.qkv[row * seq * sizes.width()..][..seq * sizes.width()];
        let [q, k, v] = [0, 1, 2].map(|which| {
            let from = &qkv[sizes.column(which, head)..];
            Matrix::spaced(from, seq, sizes.widths[which], sizes.width())
        });
        Head {
            q,
            k,
            v,
            padding: self.padding.map(|all| &all[row * seq..][..seq]),
            bias: self.bias.map(|all| all.head(row, head, self.sizes)),
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
    pub bias: Option<Spread<'a>>,
}
