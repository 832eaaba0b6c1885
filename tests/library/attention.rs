//! Every scheme in a small attention, through its four hooks: the output for a token does not depend on how
//! the tokens are split into rows, padded and cached.

use burn::module::Initializer;
use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use pe_burn::{Embed, PositionalConfig, PositionalScheme, Positions, Rotate};
use pe_tests::devices;

use crate::{distance, random};

const D_MODEL: usize = 16;
const HEADS: usize = 4;
const D_HEAD: usize = D_MODEL / HEADS;
const MAX_LEN: usize = 64;

/// Sums over more keys, of which some have weight 0, are rounded differently.
const ROUNDING: f32 = 1e-5;

/// The schemes at their defaults, and with other settings.
fn configs() -> Vec<PositionalConfig> {
    let defaults = PositionalConfig::NAMES
        .iter()
        .map(|name| PositionalConfig::by_name(name, D_MODEL, HEADS, MAX_LEN).unwrap());
    let shapes = [
        r#"{"kind": "rotary", "d_head": 4, "layout": "halves", "rotary_dim": 2}"#,
        r#"{"kind": "rotary", "d_head": 4, "max_len": 1, "scaling": {"rope_type": "yarn",
            "factor": 4, "original_max_position_embeddings": 64}}"#,
        r#"{"kind": "xpos", "d_head": 4, "layout": "halves", "max_len": 64, "scale_base": 32}"#,
        r#"{"kind": "xpos", "d_head": 4, "rotary_dim": 2, "scale_base": 256}"#,
        r#"{"kind": "pope", "d_head": 4, "heads": 4, "max_len": 3, "init": {"Uniform": {"min": -6.28, "max": 0}}}"#,
        r#"{"kind": "alibi", "heads": 4, "shape": "half_step"}"#,
        r#"{"kind": "t5", "heads": 4, "buckets": 8, "max_distance": 20, "bidirectional": false}"#,
        r#"{"kind": "kerple", "heads": 4, "shape": "power"}"#,
        r#"{"kind": "fire", "heads": 4, "threshold": 8}"#,
        r#"{"kind": "shaw", "d_head": 4, "left": 3, "right": 0}"#,
        r#"{"kind": "transformer_xl", "d_model": 16, "heads": 4, "layout": "interleaved", "max_len": 3}"#,
        r#"{"kind": "deberta", "d_model": 16, "heads": 4, "buckets": 4, "max_distance": 9}"#,
        r#"{"kind": "deberta", "d_model": 16, "heads": 4, "buckets": null, "max_distance": 5,
            "content_to_position": false}"#,
        r#"{"kind": "tupe", "d_model": 16, "heads": 4, "max_len": 64, "relative": {"heads": 4}}"#,
        r#"{"kind": "cope", "d_head": 4, "positions": 3}"#,
        r#"{"kind": "erpe", "heads": 4, "max_len": 64, "init": {"Normal": {"mean": 0, "std": 0.3}}}"#,
    ];
    let shapes = shapes.map(|json| serde_json::from_str(json).unwrap());
    defaults.chain(shapes).collect()
}

/// The same for every scheme on every device.
fn for_each_scheme(check: impl Fn(&Attention, &Device, &str)) {
    for device in devices() {
        for config in configs() {
            let about = format!("{device:?} {config:?}");
            check(&Attention::new(&config, &device), &device, &about);
        }
    }
}

/// Attention of one layer with random projections.
struct Attention {
    scheme: PositionalScheme,
    to_heads: [Tensor<2>; 3],
}

/// Positions, and the number of tokens that have them.
type Span<'a> = (&'a Positions, usize);

impl Attention {
    fn new(config: &PositionalConfig, device: &Device) -> Self {
        let spread = (D_MODEL as f64).powf(-0.5);
        Self {
            scheme: config.init(device),
            to_heads: [(); 3].map(|()| random([D_MODEL, D_MODEL], device) * spread),
        }
    }

    /// Queries and keys, rotated, and values, `[batch, heads, seq, d_head]`.
    fn heads(&self, x: Tensor<3>, positions: &Positions) -> [Tensor<4>; 3] {
        let [batch, seq, _] = x.dims();
        let x = self.scheme.embed(x, positions);
        let [q, k, v] = self.to_heads.each_ref().map(|to_heads| {
            let y = x.clone().matmul(to_heads.clone().unsqueeze());
            y.reshape([batch, seq, HEADS, D_HEAD]).swap_dims(1, 2)
        });
        let (q, k) = self.scheme.rotate(q, k, positions);
        [q, k, v]
    }

    /// What each query sees of the keys that it may see, `[batch, queries, d_model]`.
    fn see(
        &self,
        [q, k, v]: [Tensor<4>; 3],
        queries: Span,
        keys: Span,
        may: impl Fn(usize, usize, usize) -> bool,
    ) -> Tensor<3> {
        let batch = q.dims()[0];
        let bias = self.scheme.score_bias((&q, queries.0), (&k, keys.0));
        let mut scores = q.matmul(k.swap_dims(2, 3)) / (D_HEAD as f64).sqrt();
        if let Some(bias) = bias {
            scores = scores + bias;
        }
        let mut hidden = Vec::new();
        for row in 0..batch {
            for query in 0..queries.1 {
                hidden.extend((0..keys.1).map(|key| !may(row, query, key)));
            }
        }
        let hidden = TensorData::new(hidden, [batch, 1, queries.1, keys.1]);
        let hidden = Tensor::<4, Bool>::from_data(hidden, &scores.device());
        let scores = scores.mask_fill(
            hidden.clone().expand([batch, HEADS, queries.1, keys.1]),
            -1e9,
        );
        let mut weights = softmax(scores, 3);
        if let Some(bias) = self.scheme.weight_bias(queries, keys) {
            let shape = weights.dims();
            weights = weights + bias.expand(shape).mask_fill(hidden.expand(shape), 0.0);
        }
        let seen = weights.matmul(v);
        seen.swap_dims(1, 2).reshape([batch, queries.1, D_MODEL])
    }

    /// Rows at these positions, of which every token sees itself and those before it.
    fn causal(&self, x: Tensor<3>, positions: &Positions) -> Tensor<3> {
        let span = (positions, x.dims()[1]);
        let heads = self.heads(x, positions);
        self.see(heads, span, span, |_, query, key| key <= query)
    }
}

fn tokens(x: &Tensor<3>, row: usize, range: std::ops::Range<usize>) -> Tensor<3> {
    x.clone().slice([row..row + 1, range, 0..D_MODEL])
}

/// With tokens twice as far apart the output is another. Without this, the tests below would show nothing.
#[test]
fn positions_are_seen() {
    for_each_scheme(|attention, device, about| {
        let x = random([1, 9, D_MODEL], device);
        let apart: Vec<usize> = (0..9).map(|i| 2 * i).collect();
        let near = attention.causal(x.clone(), &Positions::default());
        let apart = attention.causal(x, &Positions::from_id_rows(&[apart]).unwrap());
        let change = distance(near, apart);
        match attention.scheme {
            // CoPE takes the order of tokens from positions, and counts them itself.
            PositionalScheme::None(_) | PositionalScheme::Cope(_) => {
                assert_eq!(change, 0.0, "{about}")
            }
            // It starts with zeros, if not told otherwise.
            PositionalScheme::Erpe(ref erpe) if erpe.config().init == Initializer::Zeros => {
                assert_eq!(change, 0.0, "{about}")
            }
            _ => assert!(change > 20.0 * ROUNDING, "{about}: {change}"),
        }
    });
}

/// Each document of a packed row gets the output that it gets alone.
#[test]
fn packed_documents_as_alone() {
    let packings: [&[usize]; 2] = [&[4, 1, 6, 3], &[7, 7]];
    let ids = packings.map(|lengths| -> Vec<i32> {
        let documents = lengths.iter().enumerate();
        documents
            .flat_map(|(i, length)| vec![i as i32; *length])
            .collect()
    });
    for_each_scheme(|attention, device, about| {
        let x = random([2, 14, D_MODEL], device);
        let segments = Tensor::<1, Int>::from_ints(ids.concat().as_slice(), device);
        let positions = Positions::from_segment_ids(segments.reshape([2, 14]));
        let heads = attention.heads(x.clone(), &positions);
        let span = (&positions, 14);
        let packed = attention.see(heads, span, span, |row, query, key| {
            key <= query && ids[row][key] == ids[row][query]
        });
        for (row, lengths) in packings.iter().enumerate() {
            let mut start = 0;
            for length in *lengths {
                let document = start..start + length;
                let alone = tokens(&x, row, document.clone());
                let alone = attention.causal(alone, &Positions::default());
                let off = distance(tokens(&packed, row, document), alone);
                assert!(off <= ROUNDING, "{about}: row {row} from {start}: {off}");
                start += length;
            }
        }
    });
}

/// A few tokens at a time, with a cache of rotated keys, as all at once.
#[test]
fn decoding_as_the_full_pass() {
    for_each_scheme(|attention, device, about| {
        let seq = 12;
        let x = random([2, seq, D_MODEL], device);
        let full = attention.causal(x.clone(), &Positions::default());
        let mut cache: Option<[Tensor<4>; 2]> = None;
        let mut start = 0;
        for count in [5, 1, 1, 3, 1, 1] {
            let end = start + count;
            let at = Positions::from(start);
            let new = x.clone().slice([0..2, start..end, 0..D_MODEL]);
            let [q, k, v] = attention.heads(new, &at);
            let [k, v] = match cache.take() {
                Some([keys, values]) => [
                    Tensor::cat(vec![keys, k], 2),
                    Tensor::cat(vec![values, v], 2),
                ],
                None => [k, v],
            };
            cache = Some([k.clone(), v.clone()]);
            let keys = Positions::default();
            let may = |_, query, key| key <= start + query;
            let seen = attention.see([q, k, v], (&at, count), (&keys, end), may);
            let off = distance(seen, full.clone().slice([0..2, start..end, 0..D_MODEL]));
            assert!(off <= ROUNDING, "{about}: from {start}: {off}");
            start = end;
        }
        assert_eq!(start, seq);
    });
}

/// Rows padded on the left, and the next token of each with a cache of them, as each row alone.
#[test]
fn left_padded_rows_as_alone() {
    let lengths = [3, 7, 5];
    let seq = 7;
    let real = |row: usize, token: usize| token + lengths[row] >= seq;
    let mask = |tokens: usize| {
        let rows = (0..3).flat_map(|row| (0..tokens).map(move |token| (row, token)));
        let mask: Vec<bool> = rows.map(|(row, token)| real(row, token)).collect();
        TensorData::new(mask, [3, tokens])
    };
    for_each_scheme(|attention, device, about| {
        let x = random([3, seq + 1, D_MODEL], device);
        let before = x.clone().slice([0..3, 0..seq, 0..D_MODEL]);
        let next = x.clone().slice([0..3, seq..seq + 1, 0..D_MODEL]);

        let positions = Positions::from_token_mask(Tensor::from_data(mask(seq), device));
        let [q, keys, values] = attention.heads(before, &positions);
        let may = |row, query, key| key <= query && real(row, key);
        let heads = [q, keys.clone(), values.clone()];
        let padded = attention.see(heads, (&positions, seq), (&positions, seq), may);

        let query = Positions::from_starts(lengths);
        let [q, k, v] = attention.heads(next, &query);
        let heads = [
            q,
            Tensor::cat(vec![keys, k], 2),
            Tensor::cat(vec![values, v], 2),
        ];
        let all = Positions::from_token_mask(Tensor::from_data(mask(seq + 1), device));
        let may = |row, _, key| real(row, key);
        let stepped = attention.see(heads, (&query, 1), (&all, seq + 1), may);

        for (row, length) in lengths.into_iter().enumerate() {
            let alone = tokens(&x, row, seq - length..seq + 1);
            let alone = attention.causal(alone, &Positions::default());
            let off = distance(
                tokens(&padded, row, seq - length..seq),
                tokens(&alone, 0, 0..length),
            );
            assert!(off <= ROUNDING, "{about}: row {row}: {off}");
            let off = distance(
                tokens(&stepped, row, 0..1),
                tokens(&alone, 0, length..length + 1),
            );
            assert!(
                off <= ROUNDING,
                "{about}: the next token of row {row}: {off}"
            );
        }
    });
}

/// Rows that start at positions of their own, as each row alone.
#[test]
fn rows_with_starts_as_alone() {
    for_each_scheme(|attention, device, about| {
        let starts = [0, 11, 40];
        let x = random([3, 6, D_MODEL], device);
        let together = attention.causal(x.clone(), &Positions::from_starts(starts));
        for (row, start) in starts.into_iter().enumerate() {
            let alone = attention.causal(tokens(&x, row, 0..6), &Positions::from(start));
            let off = distance(tokens(&together, row, 0..6), alone);
            assert!(off <= ROUNDING, "{about}: row {row}: {off}");
        }
    });
}
