//! Greedy decoding with a cache, and the mask of causal attention.

use burn::tensor::{Bool, Device, Int, Tensor};
use pe_burn::Positions;

/// Keys and values of the tokens so far, `[batch, heads, tokens, d_head]`.
pub type Cache = Option<[Tensor<4>; 2]>;

/// The new keys and values after those of the cache, which has all of them from then on. Simple, and slow for long
/// texts, since it copies them at every token; the cache of `pe-encoder` has room for more.
pub fn append(cache: &mut Cache, k: Tensor<4>, v: Tensor<4>) -> [Tensor<4>; 2] {
    let all = match cache.take() {
        Some([keys, values]) => [
            Tensor::cat(vec![keys, k], 2),
            Tensor::cat(vec![values, v], 2),
        ],
        None => [k, v],
    };
    *cache = Some(all.clone());
    all
}

/// A decoder whose layers have a cache each.
pub trait Decode {
    /// A cache for each layer, empty.
    fn caches(&self) -> Vec<Cache>;

    /// The logits of new tokens, `[batch, seq]` to `[batch, seq, vocabulary]`, at their positions. `real` is `[batch, tokens
    /// so far and new ones]`, false for padding.
    fn forward(
        &self,
        tokens: Tensor<2, Int>,
        real: &Tensor<2, Bool>,
        positions: &Positions,
        caches: &mut [Cache],
    ) -> Tensor<3>;

    /// The tokens that follow each prompt, always the likeliest. Shorter prompts are padded on the left.
    fn generate(&self, prompts: &[Vec<i64>], count: usize, device: &Device) -> Vec<Vec<i64>> {
        let mut caches = self.caches();
        let batch = prompts.len();
        let longest = prompts.iter().map(Vec::len).max().unwrap_or(0);
        let mut tokens = Tensor::<2, Int>::zeros([batch, longest], device);
        let mut is_real = tokens.clone();
        for (row, prompt) in prompts.iter().enumerate() {
            let place = [row..row + 1, longest - prompt.len()..longest];
            let ids = Tensor::<1, Int>::from_data(&prompt[..], device).unsqueeze();
            is_real = is_real.slice_assign(place.clone(), ids.ones_like());
            tokens = tokens.slice_assign(place, ids);
        }
        let mut real = is_real.bool();

        // Padding does not count: the first token of each prompt is at position 0.
        let mut positions = Positions::from_token_mask(real.clone());
        let mut out = vec![Vec::new(); batch];
        for step in 0..count {
            let logits = self.forward(tokens, &real, &positions, &mut caches);
            let last = logits.dims()[1] - 1;
            tokens = logits.narrow(1, last, 1).argmax(2).reshape([batch, 1]);
            let next = tokens.to_data().iter::<i64>().collect::<Vec<_>>();
            for (row, token) in out.iter_mut().zip(next) {
                row.push(token);
            }
            // From here on each row is one token after its last one.
            let starts: Vec<usize> = prompts.iter().map(|prompt| prompt.len() + step).collect();
            positions = Positions::from_starts(starts);
            let one = Tensor::<2, Int>::ones([batch, 1], device).bool();
            real = Tensor::cat(vec![real, one], 1);
        }
        out
    }
}

/// Prints what a decoder makes of two sequences of tokens.
pub fn print_continuations(decoder: &dyn Decode) {
    let prompts = [vec![3, 1, 4, 1, 5, 9, 2, 6], vec![2, 7, 1]];
    let continued = decoder.generate(&prompts, 12, &Device::flex());
    for (prompt, tokens) in prompts.iter().zip(continued) {
        println!("{prompt:?} → {tokens:?}");
    }
}

/// Which keys each of the last `seq` tokens does not see: later ones, padding, and those before its
/// window. `[batch, 1, seq, tokens]`, from `real`, `[batch, tokens]`.
pub fn unseen(seq: usize, real: &Tensor<2, Bool>, window: Option<usize>) -> Tensor<4, Bool> {
    let [batch, keys] = real.dims();
    let at = |from: usize| Tensor::<1, Int>::arange(from as i64..keys as i64, &real.device());
    let behind = at(keys - seq).reshape([seq, 1]) - at(0).reshape([1, keys]);
    let mut unseen = behind.clone().lower_elem(0);
    if let Some(window) = window {
        unseen = unseen.bool_or(behind.greater_equal_elem(window as i64));
    }
    let shape = [batch, 1, seq, keys];
    let padding = real.clone().bool_not().reshape([batch, 1, 1, keys]);
    let unseen = unseen.reshape([1, 1, seq, keys]).expand(shape);
    unseen.bool_or(padding.expand(shape))
}
