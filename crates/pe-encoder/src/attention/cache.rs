//! The keys and values of the tokens before, for decoding.

use burn::tensor::Tensor;

use crate::kernels::check;

/// The keys and values that one [`Attention`](super::Attention) has computed so far, for decoding.
///
/// It has memory for tokens to come, so that a step writes its keys and values behind those before. When the memory is
/// full, it is replaced by memory for one and a half times as many tokens. A clone shares the memory until one of the two
/// takes a step, which copies it.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    /// As they go into the product with queries: rotated, if the scheme rotates.
    pub(super) keys: Room,
    pub(super) values: Room,
    /// For a scheme with a forget gate: the sum of the logarithms of the gates up to every token, in one column.
    pub(super) gates: Room,
    /// How many tokens of each room are used.
    tokens: usize,
}

/// Memory for keys, values or gates, `[batch, heads, room, width]`; `None` before the first tokens.
type Room = Option<Tensor<4>>;

/// The number of tokens that a new room has memory for.
const ROOM: usize = 64;

impl Cache {
    /// The number of tokens in each row of the cached batch.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Appends keys and values of further tokens, and the sums of their gates if there are gates.
    ///
    /// # Panics
    ///
    /// When they do not fit those before. The cache is then as it was.
    pub(super) fn extend(&mut self, [keys, values]: [Tensor<4>; 2], gates: Option<Tensor<4>>) {
        let seq = keys.dims()[2];
        assert!(
            self.tokens == 0 || self.gates.is_some() == gates.is_some(),
            "a cache is for one scheme: the scheme of its tokens has a forget gate and that of the new tokens has none, or the \
             other way round"
        );
        for (room, more) in [(&self.keys, &keys), (&self.values, &values)] {
            check_fits(room, more);
        }
        if let Some(gates) = &gates {
            check_fits(&self.gates, gates);
        }
        append(&mut self.keys, self.tokens, keys);
        append(&mut self.values, self.tokens, values);
        if let Some(gates) = gates {
            append(&mut self.gates, self.tokens, gates);
        }
        self.tokens += seq;
    }

    /// What a room holds, `[batch, heads, tokens, width]`.
    pub(super) fn all(&self, room: &Room) -> Tensor<4> {
        let room = room.as_ref().expect("the cache holds tokens");
        room.clone().narrow(2, 0, self.tokens)
    }
}

fn check_fits(room: &Room, more: &Tensor<4>) {
    if let Some(room) = room {
        let ([batch, heads, _, width], [of_batch, of_heads, _, of_width]) =
            (more.dims(), room.dims());
        assert_eq!(
            [batch, heads, width],
            [of_batch, of_heads, of_width],
            "batch, heads and width of the tokens, and those of their cache"
        );
        check::alike("what the new tokens have", more, "their cache", room);
    }
}

/// Writes the rows of further tokens behind the `used` tokens of a room. A room that is full is replaced by a larger one.
fn append(room: &mut Room, used: usize, more: Tensor<4>) {
    let [batch, heads, seq, width] = more.dims();
    let tokens = used + seq;
    let wider = |like: &Tensor<4>| {
        let shape = [batch, heads, (tokens + tokens / 2).max(ROOM), width];
        Tensor::zeros(shape, (&like.device(), like.dtype()))
    };
    let target = match room.take() {
        None => wider(&more),
        Some(cached) => match tokens <= cached.dims()[2] {
            true => cached,
            false => {
                let all = [0..batch, 0..heads, 0..used, 0..width];
                let cached = cached.slice(all.clone());
                wider(&cached).slice_assign(all, cached)
            }
        },
    };
    *room = Some(target.slice_assign([0..batch, 0..heads, used..tokens, 0..width], more));
}
