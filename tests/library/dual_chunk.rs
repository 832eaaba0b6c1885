//! Dual chunk attention against the code of its paper: `tests/peers/values/dual_chunk.json`.

use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor};
use pe_burn::rotary::{ChunkPart, DualChunk};
use pe_burn::{Layout, RotaryPositionalEncoding, RotaryPositionalEncodingConfig, Rotate};
use serde::Deserialize;

use crate::{assert_close, cases, tensor, values};

#[derive(Deserialize)]
struct Case {
    chunk_size: usize,
    local_window: usize,
    base: f64,
    /// Tokens, heads, columns of a head.
    shape: [usize; 3],
    q_k_v: [Vec<f32>; 3],
    /// Of all tokens but the first.
    outputs: Vec<f64>,
}

/// Attention of the queries from token `first` on to the rotated keys of all tokens.
fn attention(
    chunks: DualChunk,
    rope: &RotaryPositionalEncoding,
    q: Tensor<4>,
    [k, v]: [Tensor<4>; 2],
    first: usize,
) -> Tensor<4> {
    let ([_, heads, queries, width], tokens) = (q.dims(), k.dims()[2]);
    let device = q.device();
    let mut scores = Tensor::<4>::zeros([1, heads, queries, tokens], &device);
    for part in ChunkPart::ALL {
        let at = chunks.queries(part, first, queries).unwrap();
        let of_part = rope
            .rotate_queries(q.clone(), &at)
            .matmul(k.clone().swap_dims(2, 3));
        let mask = chunks.mask(part, (first, queries), (0, tokens), &device);
        scores = scores.mask_where(mask.unwrap().unsqueeze(), of_part);
    }
    let future = Tensor::<2>::ones([queries, tokens], &device).triu(first as i64 + 1);
    let scores =
        (scores / (width as f64).sqrt()).mask_fill(future.bool().unsqueeze(), f32::NEG_INFINITY);
    softmax(scores, 3).matmul(v)
}

#[test]
fn attention_in_chunks_as_in_the_code_of_its_paper() {
    let cases: Vec<Case> = cases(include_str!("../peers/values/dual_chunk.json"));
    assert_eq!(cases.len(), 3);
    let device = Device::flex();
    for case in cases {
        let [tokens, heads, width] = case.shape;
        let chunks = DualChunk::new(case.chunk_size, case.local_window).unwrap();
        let rope = RotaryPositionalEncodingConfig::new(width)
            .with_base(case.base)
            .with_layout(Layout::Halves)
            .init(&device);
        let [q, k, v] = case
            .q_k_v
            .each_ref()
            .map(|numbers| tensor(numbers, [1, tokens, heads, width], &device).swap_dims(1, 2));
        let k = rope.rotate_keys(k, &chunks.keys(0, tokens).unwrap());
        let about = format!("chunks of {}", case.chunk_size);
        let in_order = |y: Tensor<4>| values(y.swap_dims(1, 2));

        let all = attention(chunks, &rope, q.clone(), [k.clone(), v.clone()], 0);
        let ours = in_order(all);
        assert_close(&ours[heads * width..], &case.outputs, 2e-6, &about);
        // Token by token, with a cache of rotated keys.
        for token in [1, tokens / 2, tokens - 1] {
            let past = |x: &Tensor<4>| x.clone().narrow(2, 0, token + 1);
            let q = q.clone().narrow(2, token, 1);
            let step = attention(chunks, &rope, q, [past(&k), past(&v)], token);
            let theirs = &case.outputs[(token - 1) * heads * width..][..heads * width];
            assert_close(&in_order(step), theirs, 2e-6, &about);
        }
    }
}
