//! Rotations of queries and keys in every form in which models have them. Kernels read any memory layout, so it is seen here.

use burn::tensor::{Device, Distribution, Tensor};
use pe_burn::rotary::PopeConfig;
use pe_burn::{
    Layout, Positions, RotaryPositionalEncodingConfig, Rotate, XPosPositionalEncodingConfig,
};
use pe_tests::{devices, is_card};

use crate::{LAYOUTS, apart, distance, random, refusal, values};

/// Queries or keys, `[batch, heads, seq, d_head]`, as a tensor of its own, and as views of others: of a
/// projection with the heads behind the tokens, of a part of one, transposed, reversed, and one head for
/// all.
fn views(shape: [usize; 4], device: &Device) -> Vec<Tensor<4>> {
    let [batch, heads, seq, d_head] = shape;
    let random = |shape: [usize; 4]| random(shape, device);
    vec![
        random(shape),
        random([batch, seq, heads, d_head]).swap_dims(1, 2),
        random([batch, seq, 3 * heads, d_head])
            .swap_dims(1, 2)
            .narrow(1, heads, heads),
        random([batch, heads, d_head, seq]).swap_dims(2, 3),
        random(shape).flip([0, 2]),
        random([1, heads, 1, d_head]).expand(shape),
    ]
}

/// Copies that nothing else holds: one of its own, and one with the heads behind the tokens.
fn unshared(x: &Tensor<4>) -> [Tensor<4>; 2] {
    let strided = (x.clone().swap_dims(1, 2) + 0.0).swap_dims(1, 2);
    [x.clone() + 0.0, strided]
}

/// The definition, pair by pair: `(a, b) → (a cos − b sin, a sin + b cos)`. The other way round with a sign of −1.
fn by_hand(
    x: &Tensor<4>,
    starts: &[usize],
    config: &RotaryPositionalEncodingConfig,
    sign: f32,
) -> Vec<f32> {
    let [_, heads, seq, d_head] = x.dims();
    // All sines of a row before all its cosines.
    let spectrum = config.spectrum(1_000).unwrap().with_layout(Layout::Halves);
    let pairs = spectrum.d_model() / 2;
    let rows = starts
        .iter()
        .map(|start| spectrum.rows(*start..start + seq).unwrap());
    let rows: Vec<Vec<f32>> = rows.collect();
    let mut x = values(x.clone());
    for (i, x) in x.chunks_exact_mut(d_head).enumerate() {
        let (row, token) = (i / (heads * seq), i % seq);
        let (sines, cosines) = rows[row][2 * pairs * token..][..2 * pairs].split_at(pairs);
        for (pair, (sin, cos)) in sines.iter().zip(cosines).enumerate() {
            let (a, b) = match config.layout {
                Layout::Interleaved => (2 * pair, 2 * pair + 1),
                Layout::Halves => (pair, pair + pairs),
            };
            let sin = sign * sin;
            (x[a], x[b]) = (x[a] * cos - x[b] * sin, x[a] * sin + x[b] * cos);
        }
    }
    x
}

#[test]
fn every_memory_layout_is_rotated_by_the_definition() {
    let shapes = [
        (1, 1, 1, 2, 2),
        (2, 4, 5, 8, 8),
        (3, 2, 7, 10, 6),
        (2, 3, 4, 7, 4), // no vector fits
        (2, 2, 33, 48, 16),
        // Decoding steps: whole registers, and some pairs that are left over.
        (1, 32, 1, 128, 128),
        (3, 5, 1, 44, 42),
        // Many tokens and many heads, for which Flex takes several threads.
        (2, 4, 600, 64, 64),
        (64, 66, 1, 64, 64),
    ];
    let autodiff = Device::flex().autodiff();
    // Without a kernel.
    let checkpointing = autodiff.clone().gradient_checkpointing();
    for device in devices().into_iter().chain([autodiff, checkpointing]) {
        let is_flex = device.clone().inner() == Device::flex();
        for (batch, heads, seq, d_head, width) in shapes {
            if batch * heads * seq * d_head > 1 << 18 && !is_flex {
                continue;
            }
            let queries = views([batch, heads, seq, d_head], &device);
            let keys = views([batch, 1, seq, d_head], &device);
            for layout in LAYOUTS {
                let config = RotaryPositionalEncodingConfig::new(d_head)
                    .with_rotary_dim(width)
                    .with_layout(layout);
                let rope = config.init(&device);
                let starts: Vec<usize> = (0..batch).map(|row| 3 + 5 * row).collect();
                for (positions, starts) in [
                    (Positions::from(7), vec![7; batch]),
                    (Positions::from_starts(starts.clone()), starts),
                ] {
                    for (i, (q, k)) in queries.iter().zip(&keys).enumerate() {
                        let about = format!("{device:?} {layout:?} {width} of {d_head}, view {i}");
                        let before = [q, k].map(|x| values(x.clone()));
                        let turned = [q, k].map(|x| by_hand(x, &starts, &config, 1.0));
                        let back = by_hand(q, &starts, &config, -1.0);
                        let check = |got: Tensor<4>, expected: &[f32]| {
                            let apart = apart(&values(got), expected);
                            assert!(apart < 1e-6, "{about}: {apart}");
                        };
                        let shared = (q.clone(), k.clone());
                        let own = unshared(q).into_iter().zip(unshared(k));
                        for (q, k) in [shared].into_iter().chain(own) {
                            let (q, k) = rope.rotate(q, k, &positions);
                            check(q, &turned[0]);
                            check(k, &turned[1]);
                        }
                        check(rope.rotate_queries(q.clone() + 0.0, &positions), &turned[0]);
                        check(rope.invert(q.clone(), &positions).unwrap(), &back);
                        check(rope.invert(q.clone() + 0.0, &positions).unwrap(), &back);
                        let after = [q, k].map(|x| values(x.clone()));
                        assert_eq!(after, before, "{about}: a shared input was changed");
                    }
                }
            }
        }
    }
}

/// Gradients of queries alone, of keys alone, and of both.
#[test]
fn gradients_are_those_of_flex() {
    let flex = Device::flex().autodiff();
    for device in devices() {
        for layout in LAYOUTS {
            let config = RotaryPositionalEncodingConfig::new(10)
                .with_rotary_dim(6)
                .with_layout(layout);
            let random = |heads| {
                Tensor::<4>::random([2, heads, 5, 10], Distribution::Default, &Device::flex())
            };
            let [q, k, of_q, of_k] = [random(4), random(2), random(4), random(2)];
            for tracked in [[true, false], [false, true], [true, true]] {
                let gradients = |device: &Device| {
                    let device = device.clone().autodiff();
                    let rope = config.init(&device);
                    let on = |x: &Tensor<4>| Tensor::<4>::from_data(x.to_data(), &device);
                    let track = |x: Tensor<4>, tracked| if tracked { x.require_grad() } else { x };
                    let (x, y) = (track(on(&q), tracked[0]), track(on(&k), tracked[1]));
                    let (q, k) = rope.rotate(x.clone(), y.clone(), &Positions::from(9));
                    // Burn starts from a one for every element.
                    let all = Tensor::cat(vec![q * on(&of_q), k * on(&of_k)], 1);
                    let gradients = all.backward();
                    [x, y].map(|x| x.grad(&gradients).map(values))
                };
                let (here, there) = (gradients(&device), gradients(&flex));
                for (one, other) in here.into_iter().zip(there) {
                    assert_eq!(one.is_some(), other.is_some());
                    let pairs = one
                        .unwrap_or_default()
                        .into_iter()
                        .zip(other.unwrap_or_default());
                    for (a, b) in pairs {
                        assert!((a - b).abs() < 1e-6, "{device:?} {layout:?}: {a} {b}");
                    }
                }
            }
        }
    }
}

/// The queries, keys and values of a projection, `[batch, heads, seq, d_head]`.
fn parts(qkv: Tensor<3>, [heads, kv_heads]: [usize; 2]) -> [Tensor<4>; 3] {
    let [batch, seq, width] = qkv.dims();
    let all = heads + 2 * kv_heads;
    let by_heads = qkv.reshape([batch, seq, all, width / all]).swap_dims(1, 2);
    let part = |first, heads| by_heads.clone().narrow(1, first, heads);
    [
        part(0, heads),
        part(heads, kv_heads),
        part(heads + kv_heads, kv_heads),
    ]
}

#[test]
fn a_projection_is_rotated_as_its_parts() {
    for device in devices() {
        for (batch, seq, d_head, width) in [(2, 5, 8, 8), (3, 7, 10, 6), (1, 300, 16, 16)] {
            for layout in LAYOUTS {
                let rope = RotaryPositionalEncodingConfig::new(d_head)
                    .with_rotary_dim(width)
                    .with_layout(layout)
                    .init(&device);
                let xpos = XPosPositionalEncodingConfig::new(d_head).init(&device);
                for heads in [[4, 4], [4, 2], [3, 1]] {
                    let all = (heads[0] + 2 * heads[1]) * d_head;
                    let qkv =
                        Tensor::<3>::random([batch, seq, all], Distribution::Default, &device);
                    let starts: Vec<usize> = (0..batch).map(|row| 3 + 40 * row).collect();
                    for positions in [Positions::from(7), Positions::from_starts(starts)] {
                        let about = format!("{device:?} {layout:?} {heads:?} {width} of {d_head}");
                        let before = values(qkv.clone());
                        for scheme in [&rope as &dyn Rotate, &xpos] {
                            let [q, k, v] = parts(qkv.clone(), heads);
                            let (q, k) = scheme.rotate(q, k, &positions);
                            // Shared with the clone, and not.
                            for projection in [qkv.clone(), qkv.clone() + 0.0] {
                                let packed = scheme.rotate_packed(projection, heads, &positions);
                                assert_eq!(packed.dims(), qkv.dims());
                                let turned = parts(packed, heads);
                                for (one, other) in turned.into_iter().zip([&q, &k, &v]) {
                                    let apart = distance(one, other.clone());
                                    assert!(apart < 1e-6, "{about}: {apart}");
                                }
                            }
                        }
                        assert_eq!(values(qkv.clone()), before, "{about}: a shared input");
                    }
                }
            }
        }
    }
}

#[test]
fn the_gradient_of_a_projection_is_that_of_its_parts() {
    for device in devices() {
        let autodiff = device.clone().autodiff();
        let rope = RotaryPositionalEncodingConfig::new(6)
            .with_rotary_dim(4)
            .init(&autodiff);
        let random =
            || Tensor::<3>::random([2, 5, 8 * 6], Distribution::Default, &device).to_data();
        let (x, slopes) = (random(), random());
        let heads = [4, 2];
        let positions = Positions::from(11);
        let gradient = |packed: bool| {
            let x = Tensor::<3>::from_data(x.clone(), &autodiff).require_grad();
            let slopes = Tensor::<3>::from_data(slopes.clone(), &autodiff);
            let y = match packed {
                true => rope.rotate_packed(x.clone(), heads, &positions),
                false => {
                    let [q, k, v] = parts(x.clone(), heads);
                    let (q, k) = rope.rotate(q, k, &positions);
                    let all = Tensor::cat(vec![q, k, v], 1).swap_dims(1, 2);
                    all.reshape([2, 5, 8 * 6])
                }
            };
            // Burn starts from a one for every element.
            x.grad(&(y * slopes).backward()).unwrap()
        };
        assert!(
            distance(gradient(true), gradient(false)) < 1e-6,
            "{device:?}"
        );
    }
}

#[test]
fn a_projection_that_has_no_such_heads_is_refused() {
    let device = Device::flex();
    let rope = RotaryPositionalEncodingConfig::new(8).init(&device);
    let qkv = |width| Tensor::<3>::zeros([2, 3, width], &device);
    for (width, heads, words) in [
        (64, [0, 2], ["heads", "at least 1"]),
        (64, [4, 0], ["kv_heads", ""]),
        (65, [4, 2], ["65", "4 of queries, 2"]),
        (64, [2, 1], ["16", "8"]), // d_head
        (64, [usize::MAX, usize::MAX], ["64", ""]),
        (0, [2, 1], ["above 0", ""]),
    ] {
        let error = refusal(rope.try_rotate_packed(qkv(width), heads, &Positions::default()));
        assert!(words.iter().all(|words| error.contains(words)), "{error}");
    }
    let empty = Tensor::<3>::zeros([0, 3, 64], &device);
    let turned = rope.try_rotate_packed(empty, [4, 2], &Positions::default());
    assert_eq!(turned.unwrap().dims(), [0, 3, 64]);
}

/// The schemes that rotate, with their widths.
fn rotations(device: &Device) -> Vec<(&'static str, Box<dyn Rotate>)> {
    let rotary = RotaryPositionalEncodingConfig::new(8);
    let xpos = XPosPositionalEncodingConfig::new(8).with_rotary_dim(4);
    vec![
        ("rotary", Box::new(rotary.init(device))),
        (
            "the other way",
            Box::new(rotary.with_rotary_dim(6).with_opposite(true).init(device)),
        ),
        ("xpos", Box::new(xpos.init(device))),
        ("pope", Box::new(PopeConfig::new(8, 2).init(device))),
    ]
}

/// `[batch, seq, heads, d_head]` gives the bits of the transposed call. PoPE has no kernel of its own on a card.
#[test]
fn heads_side_by_side_are_rotated_as_heads_apart() {
    for device in devices() {
        for seq in [1, 5, 70] {
            let (q, k) = (
                random([2, seq, 4, 8], &device),
                random([2, seq, 2, 8], &device),
            );
            for at in [Positions::from(3), Positions::from_starts([9, 2])] {
                for (name, scheme) in rotations(&device) {
                    let apart = |x: &Tensor<4>| x.clone().swap_dims(1, 2);
                    let (theirs_q, theirs_k) = scheme.rotate(apart(&q), apart(&k), &at);
                    let (ours_q, ours_k) = scheme.rotate_bshd(q.clone(), k.clone(), &at);
                    for (ours, theirs) in [(ours_q, theirs_q), (ours_k, theirs_k)] {
                        let theirs = theirs.swap_dims(1, 2);
                        assert_eq!(ours.dims(), theirs.dims());
                        let bound = if name == "pope" && is_card(&device) {
                            1e-6
                        } else {
                            0.0
                        };
                        let apart = distance(ours, theirs);
                        assert!(apart <= bound, "{device:?} {name} {seq}: {apart}");
                    }
                }
            }
        }
    }
}

/// So do its gradients.
#[test]
fn gradients_of_heads_side_by_side_are_those_of_heads_apart() {
    for device in devices() {
        let device = device.autodiff();
        let weights = random([2, 70, 2, 16], &device);
        let x = random([2, 70, 2, 8], &device);
        for (name, scheme) in rotations(&device) {
            let weights = weights.clone().narrow(3, 0, scheme.width(8));
            let gradients = |side_by_side: bool| {
                let (q, k) = (x.clone().require_grad(), x.clone().require_grad());
                let at = Positions::from(3);
                let (turned_q, turned_k) = match side_by_side {
                    true => scheme.rotate_bshd(q.clone(), k.clone(), &at),
                    false => {
                        let apart = |x: &Tensor<4>| x.clone().swap_dims(1, 2);
                        let (q, k) = scheme.rotate(apart(&q), apart(&k), &at);
                        (q.swap_dims(1, 2), k.swap_dims(1, 2))
                    }
                };
                let sum = (turned_q * weights.clone() + turned_k * weights.clone() * 2.0).sum();
                let of = sum.backward();
                [q, k].map(|x| values(x.grad(&of).unwrap()))
            };
            assert_eq!(gradients(true), gradients(false), "{device:?} {name}");
        }
    }
}
