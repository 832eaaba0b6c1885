use super::*;

use alloc::vec::Vec;

#[cfg(feature = "flex")]
use burn::tensor::{FloatDType, TensorData};

use crate::Positions;
#[cfg(feature = "flex")]
use crate::testing::random;
use crate::testing::{refused, values};

#[test]
fn sizes_of_0_are_refused() {
    refused! {
        CopeConfig::new(0) => "d_head must be at least 1; got 0",
        CopeConfig::new(4).with_positions(0) => "positions must be at least 1; got 0",
    }
}

/// The kernel in `f32` against the operations in `f64`: bias and gradients, with hidden keys and sums that end at
/// documents, with one set of positions for the batch and with one for each row.
#[cfg(feature = "flex")]
#[test]
fn one_pass_equals_the_operations() {
    fn numbers_of<const D: usize>(x: Tensor<D>) -> Vec<f64> {
        x.into_data().iter().collect()
    }
    let device = Device::flex().autodiff();
    let cases = [
        ([1, 1, 1, 1], 1, 2, 5),
        ([2, 3, 5, 7], 4, 4, 3),
        ([1, 2, 40, 130], 8, 64, 63),
        ([3, 2, 300, 40], 16, 42, 63),
    ];
    for ([batch, heads, queries, keys], d_head, positions, last) in cases {
        for rows in [1, batch] {
            // The same numbers at every run: at a whole position the gradient jumps, and one that falls so near to it that
            // `f32` and `f64` are on different sides would differ.
            let random = |shape: [usize; 4]| random(shape, &device);
            // As an encoder has them: the heads of a token lie side by side.
            let [q, k] = [queries, keys].map(|seq| random([batch, seq, heads, d_head]));
            let embeddings = random([1, 1, d_head, positions]).reshape([d_head, positions]);
            let weights = random([batch, heads, queries, keys]);
            let at = |i: usize| i % keys > i / keys + 3 || i.is_multiple_of(11);
            let hidden: Vec<bool> = (0..rows * queries * keys).map(at).collect();
            let hidden = TensorData::new(hidden, [rows, 1, queries, keys]);
            let hidden = Tensor::<4, Bool>::from_data(hidden, &device.clone().inner());
            let end = |i: usize| ((i % keys / 9 + 1) * 9).min(keys) as i64;
            let ends: Vec<i64> = (0..rows * keys).map(end).collect();
            let ends = TensorData::new(ends, [rows, keys]);
            let ends = Tensor::<2, Int>::from_data(ends, &device.clone().inner());
            for ends in [None, Some(ends)] {
                let of = |dtype: FloatDType, is_kernel: bool| {
                    let leaf = |x: &Tensor<4>| x.clone().detach().cast(dtype).require_grad();
                    let (q, k) = (leaf(&q), leaf(&k));
                    let embeddings = embeddings.clone().detach().cast(dtype).require_grad();
                    let kernel = match is_kernel {
                        true => flex::contextual,
                        false => contextual,
                    };
                    let both = [&q, &k].map(|x| x.clone().swap_dims(1, 2));
                    let (hidden, ends) = (hidden.clone(), ends.clone());
                    let bias = kernel(both, embeddings.clone(), (0.5, last), hidden, ends);
                    let loss = (bias.clone() * weights.clone().cast(dtype)).sum();
                    let gradients = loss.backward();
                    let of = |x: &Tensor<4>| numbers_of(x.grad(&gradients).unwrap());
                    let of_embeddings = numbers_of(embeddings.grad(&gradients).unwrap());
                    [numbers_of(bias), of(&q), of(&k), of_embeddings]
                };
                let found = of(FloatDType::F32, true);
                let expected = of(FloatDType::F64, false);
                for (found, expected) in found.iter().zip(&expected) {
                    assert_eq!(found.len(), expected.len());
                    let largest = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
                    for (found, expected) in found.iter().zip(expected) {
                        let error = (found - expected).abs() / largest;
                        assert!(error < 5e-6, "{found} {expected} {largest}");
                    }
                }
            }
        }
    }
}

/// A score of NaN gives NaN in the bias of its key and of the keys before it.
#[test]
fn a_score_that_is_no_number_is_not_hidden() {
    let device = Device::flex();
    let cope = CopeConfig::new(1).init(&device);
    let q = Tensor::<4>::ones([1, 1, 1, 1], &device);
    let k = Tensor::<4>::from_floats([[[[0.0], [f32::NAN], [0.0]]]], &device);
    let bias = cope.score_bias((&q, &Positions::from(2)), (&k, &Positions::default()));
    let is_nan: Vec<bool> = values(bias).iter().map(|x| x.is_nan()).collect();
    assert_eq!(is_nan, [true, true, false]);
}

/// With embeddings that grow evenly the slope is the same at every position, whole ones too.
#[test]
fn whole_positions_have_a_gradient() {
    let device = Device::flex().autodiff();
    let mut cope = CopeConfig::new(1).with_positions(6).init(&device);
    let line = [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]];
    cope.embeddings = Param::from_tensor(Tensor::from_floats(line, &device));
    let q = Tensor::<4>::ones([1, 1, 1, 1], &device);
    let k = Tensor::<4>::zeros([1, 1, 4, 1], &device).require_grad();
    let bias = cope.score_bias((&q, &Positions::from(3)), (&k, &Positions::default()));
    assert_eq!(values(bias.clone()), [2.0, 1.5, 1.0, 0.5]);
    // A gate of ½ has the slope ¼, and counts for its own key and for those before it.
    let gradient = k.grad(&bias.sum().backward()).unwrap();
    assert_eq!(values(gradient), [0.25, 0.5, 0.75, 1.0]);
}

/// Keys of zeros have gates of ½, so that every second token counts, and embeddings that grow evenly give
/// the position itself.
#[test]
fn gates_are_summed_from_the_key_to_the_query() {
    let device = Device::flex();
    let mut cope = CopeConfig::new(1).with_positions(3).init(&device);
    cope.embeddings = Param::from_tensor(Tensor::from_floats([[0.0, 1.0, 2.0]], &device));
    let (q, k) = (
        Tensor::<4>::ones([1, 1, 2, 1], &device),
        Tensor::<4>::zeros([1, 1, 6, 1], &device),
    );
    let bias =
        |queries: &Positions, keys: &Positions| values(cope.score_bias((&q, queries), (&k, keys)));
    // The queries are the last two of six; the first two keys of the last query are past the end.
    let whole = [
        [2.0, 2.0, 1.5, 1.0, 0.5, 0.0],
        [2.0, 2.0, 2.0, 1.5, 1.0, 0.5],
    ];
    let (queries, keys) = (Positions::from(4), Positions::default());
    assert_eq!(bias(&queries, &keys), whole.concat());
    let far = (Positions::from((1 << 40) + 4), Positions::from(1 << 40));
    assert_eq!(bias(&far.0, &far.1), whole.concat());
    // Two documents of three tokens. The bias across documents does not matter: attention masks it.
    let ids = Positions::from_id_rows(&[[0, 1, 2, 0, 1, 2]]).unwrap();
    let segments = Tensor::<2, Int>::from_ints([[7, 7, 7, 9, 9, 9]], &device);
    let times = Positions::from_time_rows(&[[-0.5, 0.0, 0.5, -0.5, 0.0, 0.5]]).unwrap();
    let at = Positions::from(1);
    let late = Positions::from_time_rows(&[[0.0, 0.5]]).unwrap();
    let expected = [
        [1.0, 0.5, 0.0, 1.0, 0.5, 0.0],
        [1.5, 1.0, 0.5, 1.5, 1.0, 0.5],
    ];
    for (queries, keys) in [
        (&at, &ids),
        (&at, &Positions::from_segment_ids(segments)),
        (&late, &times),
    ] {
        assert_eq!(bias(queries, keys), expected.concat(), "{keys:?}");
    }
    // A row of three tokens behind three of padding, which are at position 0.
    let mask = [[false, false, false, true, true, true]];
    let padded = Positions::from_token_mask(Tensor::from_data(mask, &device));
    let found = bias(&at, &padded);
    assert_eq!(found[3..6], [1.0, 0.5, 0.0]);
    assert_eq!(found[9..12], [1.5, 1.0, 0.5]);
}

/// 4,000 tokens of another document behind three change nothing: their gates sum up to 2,000, whose neighbours among
/// numbers of 32 bits are 1.2e-4 away.
#[test]
fn sums_restart_at_each_document() {
    let device = Device::flex();
    let mut cope = CopeConfig::new(1).with_positions(4).init(&device);
    let line = Tensor::from_floats([[0.0, 1.0, 2.0, 3.0]], &device);
    cope.embeddings = Param::from_tensor(line);
    let ids: Vec<usize> = (0..3).chain(0..4_000).collect();
    let packed = Positions::from_id_rows(&[ids]).unwrap();
    let q = Tensor::<4>::ones([1, 1, 1, 1], &device);
    let gates = Tensor::<4>::from_floats([[[[0.3], [-0.7], [1.1]]]], &device);
    let others = Tensor::zeros([1, 1, 4_000, 1], &device);
    let k = Tensor::cat(vec![gates.clone(), others], 2);
    let at = Positions::from(4_000);
    let alone = values(cope.score_bias((&q, &at), (&gates, &Positions::default())));
    let among = values(cope.score_bias((&q, &at), (&k, &packed)));
    for (alone, among) in alone.iter().zip(&among) {
        assert!((alone - among).abs() < 2e-7, "{alone} {among}");
    }
}

#[test]
fn a_document_of_one_token() {
    let device = Device::flex();
    let ends = |positions: &Positions, seq| {
        let lookup = positions.lookup(None, seq).unwrap();
        ends(&lookup, &device).map(|ends| ends.into_data().iter::<i64>().collect::<Vec<_>>())
    };
    let segments = Tensor::<2, Int>::from_ints([[1, 2, 3, 3]], &device);
    let segments = Positions::from_segment_ids(segments);
    assert_eq!(ends(&segments, 4), Some(vec![1, 2, 4, 4]));
    let ids = Positions::from_id_rows(&[[0, 0, 0, 1], [0, 1, 5, 9]]).unwrap();
    assert_eq!(ends(&ids, 4), Some(vec![1, 2, 4, 4, 4, 4, 4, 4]));
    assert_eq!(
        ends(&Positions::from_id_rows(&[[0, 1, 5, 9]]).unwrap(), 4),
        None
    );
    assert_eq!(ends(&Positions::from(9), 4), None);
}

/// Where only the embeddings have gradient checkpointing, Burn's operations run.
#[test]
#[cfg(feature = "flex")]
fn embeddings_with_gradient_checkpointing() {
    let device = Device::flex();
    let with = device.clone().autodiff().gradient_checkpointing();
    let cope = CopeConfig::new(4).init(&with);
    let x = Tensor::<4>::ones([1, 1, 3, 4], &device);
    let at = Positions::default();
    let bias = cope.score_bias((&x, &at), (&x, &at));
    let gradients = bias.sum().backward();
    assert!(cope.embeddings.grad(&gradients).is_some());
}
