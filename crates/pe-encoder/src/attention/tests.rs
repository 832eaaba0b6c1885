use super::*;
use burn::module::Param;
use burn::nn::attention::{MhaInput, MultiHeadAttention, MultiHeadAttentionConfig};
use burn::tensor::Distribution;
use pe_burn::{PositionalConfig, PositionalScheme};

use crate::testing::{difference, gradients_of, padding_of_rows, random, refused, values};

const D_MODEL: usize = 24;
const HEADS: usize = 3;

fn scheme(name: &str, device: &Device) -> PositionalScheme {
    let config = PositionalConfig::by_name(name, D_MODEL, HEADS, 64).unwrap();
    config.init(device)
}

/// Burn's attention with the weights of ours.
fn burns(ours: &Attention, device: &Device) -> MultiHeadAttention {
    let mut burns = MultiHeadAttentionConfig::new(D_MODEL, HEADS).init(device);
    let bias = ours.qkv.bias.as_ref().unwrap().val();
    let parts = [&mut burns.query, &mut burns.key, &mut burns.value];
    for (which, part) in parts.into_iter().enumerate() {
        let from = which * D_MODEL;
        let weight = ours.qkv.weight.val().narrow(1, from, D_MODEL);
        part.weight = Param::from_tensor(weight);
        part.bias = Some(Param::from_tensor(bias.clone().narrow(0, from, D_MODEL)));
    }
    burns.output = ours.output.clone();
    burns
}

#[test]
fn without_a_scheme_it_is_burns_multi_head_attention() {
    let device = Device::flex();
    let ours = AttentionConfig::new(D_MODEL, HEADS).init(&device);
    let burns = burns(&ours, &device);
    let x = Tensor::random([4, 33, D_MODEL], Distribution::Default, &device);
    let theirs = values(burns.forward(MhaInput::self_attn(x.clone())).context);
    let none = scheme("none", &device);
    for kernels in [Kernels::Auto, Kernels::Off] {
        let ours = ours.clone().with_kernels(kernels);
        let y = ours.forward(x.clone(), None, &none, &Positions::default());
        let apart = difference(&theirs, &values(y));
        assert!(apart < 2e-6, "{kernels:?}: {apart}");
    }
}

#[test]
fn dropout_changes_the_output_on_an_autodiff_device_only() {
    let device = Device::flex().autodiff();
    let without = AttentionConfig::new(D_MODEL, HEADS).init(&device);
    let mut with = without.clone();
    with.dropout = DropoutConfig::new(0.5).init();
    let x = Tensor::random([2, 9, D_MODEL], Distribution::Default, &device);
    let alibi = scheme("alibi", &device);
    let at = Positions::default();
    let expected = values(without.forward(x.clone(), None, &alibi, &at));
    let dropped = values(with.forward(x.clone(), None, &alibi, &at));
    assert!(difference(&expected, &dropped) > 0.01);

    let x = Tensor::from_data(x.into_data(), &Device::flex());
    let tested = values(with.valid().forward(x, None, &alibi.valid(), &at));
    assert!(difference(&expected, &tested) < 2e-6);
    // A frozen layer drops nothing, and needs no matrix of weights.
    assert!(with.form().dropout && drops(&with.dropout, &Tensor::<1>::zeros([1], &device)));
    let frozen = with.freeze();
    assert!(!frozen.form().dropout);
    let x = Tensor::random([2, 9, D_MODEL], Distribution::Default, &device);
    let kept = values(frozen.forward(x.clone(), None, &alibi, &at));
    assert_eq!(kept, values(without.forward(x, None, &alibi, &at)));
}

/// With the same number for every distance, what is added is that number times the sum of the values of all keys that a
/// token attends to: with padding, causal and not, by kernels and by Burn's operations, without dropout and with it.
#[test]
fn what_is_added_to_weights_leaves_padding_and_later_keys_out() {
    let device = Device::flex();
    let mut erpe = scheme("erpe", &device);
    let PositionalScheme::Erpe(module) = &mut erpe else {
        panic!("{erpe}")
    };
    module.table = Param::from_tensor(module.table.val().ones_like() * 0.3);
    let none = scheme("none", &device);
    let x = Tensor::<3>::random([2, 9, D_MODEL], Distribution::Default, &device);
    let lengths = Tensor::<2, burn::tensor::Int>::from_ints([[9], [5]], &device);
    let tokens = Tensor::arange(0..9, &device).reshape([1, 9]).expand([2, 9]);
    let padding = tokens.greater_equal(lengths.expand([2, 9]));
    for (causal, kernels) in [
        (false, Kernels::Auto),
        (false, Kernels::Off),
        (true, Kernels::Auto),
        (true, Kernels::Off),
    ] {
        let config = AttentionConfig::new(D_MODEL, HEADS).with_causal(causal);
        let mut attention = config.with_kernels(kernels).init(&device);
        attention.output.weight = Param::from_tensor(Tensor::eye(D_MODEL, &device));
        let [_, _, v] = split_heads(attention.projected(Input::Whole(x.clone())), HEADS);
        let v = join_heads(v).mask_fill(padding.clone().unsqueeze_dim(2), 0.0);
        let sums = match causal {
            true => v.cumsum(1),
            false => v.sum_dim(1).expand([2, 9, D_MODEL]),
        };
        let at = Positions::default();
        let of = |scheme| attention.forward(x.clone(), Some(&padding), scheme, &at);
        let apart = difference(&values(of(&none) + sums * 0.3), &values(of(&erpe)));
        assert!(apart < 2e-6, "causal {causal}, {kernels:?}: {apart}");
    }
}

/// PoPE, whose queries and keys are twice as wide. In one piece and in blocks, with all masks, with ALiBi's strip of
/// distances and without.
#[test]
fn the_kernel_takes_queries_and_keys_that_are_wider_than_values() {
    struct Both(PositionalScheme, PositionalScheme);
    impl Positional for Both {
        fn as_rotate(&self) -> Option<&dyn pe_burn::Rotate> {
            self.0.as_rotate()
        }
        fn as_bias(&self) -> Option<&dyn pe_burn::Bias> {
            self.1.as_bias()
        }
    }
    let device = Device::flex().autodiff();
    for (seq, causal, window, bias) in [
        (1, false, None, "none"),
        (9, false, None, "alibi"),
        (9, true, Some(4), "none"),
        (150, true, None, "alibi"),
        (150, false, Some(70), "none"),
    ] {
        let scheme = Both(scheme("pope", &device), scheme(bias, &device));
        let config = AttentionConfig::new(D_MODEL, HEADS).with_causal(causal);
        let attention = config.with_window(window).init(&device);
        let x: Tensor<3> = random([2, seq, D_MODEL], &device);
        // In a window with nothing but padding the output of a token means nothing.
        let padding = padding_of_rows([2, seq], &device);
        let padding = window.is_none().then_some(&padding);
        let run = |kernels| {
            let (attention, x) = (attention.clone().with_kernels(kernels), x.clone());
            let x = x.require_grad();
            let y = attention.forward(x.clone(), padding, &scheme, &Positions::default());
            let gradients = gradients_of(y.clone());
            let of_weight = attention.qkv.weight.grad(&gradients).unwrap();
            let of_x = values(x.grad(&gradients).unwrap());
            [values(y), of_x, values(of_weight)]
        };
        let (with, without) = (run(Kernels::Auto), run(Kernels::Off));
        for (with, without) in with.iter().zip(&without) {
            let apart = difference(without, with);
            assert!(apart < 2e-6, "{seq} tokens: {apart}");
        }
    }
}

#[test]
#[should_panic(expected = "the shape of the bias")]
fn a_bias_of_one_head_is_not_repeated_where_weights_are_dropped() {
    let device = Device::flex().autodiff();
    let config = AttentionConfig::new(D_MODEL, HEADS).with_dropout(0.5);
    let of_one_head = PositionalConfig::by_name("alibi", D_MODEL, 1, 64).unwrap();
    let x = Tensor::zeros([2, 9, D_MODEL], &device);
    let (scheme, at) = (of_one_head.init(&device), Positions::default());
    config.init(&device).forward(x, None, &scheme, &at);
}

/// 150 tokens one by one, past the end of the room twice, by the kernel, by Burn's operations, and with gradients; in
/// the middle a second sequence goes on from a clone of the cache.
#[test]
fn a_cache_grows_and_its_clones_go_their_own_way() {
    let data = Tensor::<3>::random([2, 150, D_MODEL], Distribution::Default, &Device::flex());
    let plain = AttentionConfig::new(D_MODEL, HEADS).with_causal(true);
    let attention = plain.init(&Device::flex().autodiff());
    let off = attention.clone().with_kernels(Kernels::Off);
    for attention in [attention.clone().valid(), off.valid(), attention] {
        let device = attention.output.weight.val().device();
        let x = Tensor::from_data(data.to_data(), &device);
        let rotary = scheme("rotary", &device);
        let at = Positions::default();
        let whole = attention.forward(x.clone(), None, &rotary, &at);
        let mut cache = Cache::default();
        let mut other = None;
        for token in 0..150 {
            if token == 70 {
                other = Some(cache.clone());
            }
            let step = x.clone().narrow(1, token, 1);
            let y = attention.forward_cached(step, &rotary, &mut cache);
            let expected = values(whole.clone().narrow(1, token, 1));
            let apart = difference(&expected, &values(y));
            assert!(apart < 2e-6, "token {token} on {device:?}: {apart}");
        }
        let mut other = other.expect("70 tokens came before");
        assert_eq!((cache.tokens(), other.tokens()), (150, 70));
        let other_token = x.clone().narrow(1, 149, 1);
        let y = attention.forward_cached(other_token.clone(), &rotary, &mut other);
        let other_x = Tensor::cat(vec![x.clone().narrow(1, 0, 70), other_token], 1);
        let other_whole = attention.forward(other_x, None, &rotary, &at);
        let apart = difference(&values(other_whole.narrow(1, 70, 1)), &values(y));
        assert!(apart < 2e-6, "the clone on {device:?}: {apart}");
    }
}

/// A cache that a model with autodiff began, and a bias with autodiff: as without a cache.
#[test]
fn a_cache_takes_tensors_with_and_without_autodiff() {
    let tracking = Device::flex().autodiff();
    let plain = AttentionConfig::new(D_MODEL, HEADS).with_causal(true);
    let attention = plain.init(&tracking);
    let x = Tensor::<3>::random([2, 9, D_MODEL], Distribution::Default, &Device::flex());
    let tracked = Tensor::from_data(x.to_data(), &tracking);
    let t5 = scheme("t5", &tracking);
    let at = Positions::default();
    let whole = values(attention.forward(tracked.clone(), None, &t5, &at));
    let last = &values(attention.valid().forward(x.clone(), None, &t5, &at));
    assert!(difference(&whole, last) < 2e-6);

    for begun in [true, false] {
        let mut cache = Cache::default();
        let first = match begun {
            true => {
                let prompt = tracked.clone().narrow(1, 0, 5);
                values(attention.forward_cached(prompt, &t5, &mut cache))
            }
            false => {
                let prompt = x.clone().narrow(1, 0, 5);
                values(attention.valid().forward_cached(prompt, &t5, &mut cache))
            }
        };
        let rest = x.clone().narrow(1, 5, 4);
        let rest = values(attention.valid().forward_cached(rest, &t5, &mut cache));
        let sequence = |row: usize| {
            let first = first[row * 5 * D_MODEL..][..5 * D_MODEL].iter();
            first.chain(&rest[row * 4 * D_MODEL..][..4 * D_MODEL])
        };
        let both: Vec<f32> = [0, 1].into_iter().flat_map(sequence).copied().collect();
        assert!(difference(&whole, &both) < 2e-6);
    }
}

#[test]
fn gradients_pass_through_a_cache() {
    let device = Device::flex().autodiff();
    let attention = AttentionConfig::new(D_MODEL, HEADS)
        .with_causal(true)
        .init(&device);
    let rotary = scheme("rotary", &device);
    let x = Tensor::<3>::random([2, 7, D_MODEL], Distribution::Default, &device);
    let gradient = |run: &dyn Fn(Tensor<3>) -> Tensor<3>| {
        let x = x.clone().require_grad();
        let y = run(x.clone());
        let gradients = (y.clone() * y).sum().backward();
        values(x.grad(&gradients).unwrap())
    };
    let at = Positions::default();
    let whole = gradient(&|x| attention.forward(x, None, &rotary, &at));
    let cached = gradient(&|x| {
        let mut cache = Cache::default();
        let parts = [0..4, 4..5, 5..7].map(|part| {
            let part = x.clone().slice_dim(1, part);
            attention.forward_cached(part, &rotary, &mut cache)
        });
        Tensor::cat(parts.to_vec(), 1)
    });
    assert!(difference(&whole, &cached) < 1e-5);
}

/// The cache goes on as it was after a step that was refused.
#[test]
fn a_cache_of_another_float_type_is_refused() {
    let device = Device::flex();
    let attention = AttentionConfig::new(D_MODEL, HEADS).with_causal(true);
    let attention = attention.init(&device);
    let none = scheme("none", &device);
    let x = random([1, 1, D_MODEL], &device);
    let [mut cache, mut untouched] = [Cache::default(), Cache::default()];
    for cache in [&mut cache, &mut untouched] {
        attention.forward_cached(x.clone(), &none, cache);
    }
    let wide = Tensor::zeros([1, HEADS, 1, D_MODEL / HEADS], (&device, DType::F64));
    let said = refused(|| cache.extend([wide.clone(), wide], None));
    assert!(
        said.starts_with("what the new tokens have is F64 on "),
        "{said}"
    );
    let [got, expected] =
        [cache, untouched].map(|mut cache| attention.forward_cached(x.clone(), &none, &mut cache));
    assert_eq!(values(got), values(expected));
}

#[test]
#[should_panic(expected = "batch, heads and width of the tokens, and those of their cache")]
fn a_cache_of_another_batch_is_refused() {
    let device = Device::flex();
    let attention = AttentionConfig::new(D_MODEL, HEADS)
        .with_causal(true)
        .init(&device);
    let none = scheme("none", &device);
    let mut cache = Cache::default();
    for batch in [2, 1] {
        let x = Tensor::zeros([batch, 1, D_MODEL], &device);
        attention.forward_cached(x, &none, &mut cache);
    }
}

#[test]
fn bad_input_is_refused() {
    let device = Device::flex();
    let attention = AttentionConfig::new(D_MODEL, HEADS).init(&device);
    let (none, at) = (scheme("none", &device), Positions::default());
    let zeros = |seq, width| Tensor::<3>::zeros([2, seq, width], &device);
    let padding = Tensor::<2, Bool>::from_data([[false, false, true]], &device);
    for (said, words) in [
        (
            refused(|| attention.forward_cached(zeros(1, D_MODEL), &none, &mut Cache::default())),
            "a cache is for causal attention",
        ),
        (
            refused(|| attention.forward(zeros(2, D_MODEL / 2), None, &none, &at)),
            "the width of x must be d_model",
        ),
        (
            refused(|| attention.forward(zeros(3, D_MODEL), Some(&padding), &none, &at)),
            "padding must be [batch, seq]",
        ),
        (
            refused(|| {
                AttentionConfig::new(D_MODEL, HEADS)
                    .with_window(Some(0))
                    .init(&device)
            }),
            "window is 0",
        ),
    ] {
        assert!(said.contains(words), "{said}");
    }
}

/// The device of the input decides whether weights are dropped and which kernels run, so the input is moved to the
/// autodiff device of the weights, with their gradient checkpointing.
#[test]
fn an_input_without_autodiff_is_taken_as_the_weights_are() {
    let device = Device::flex();
    let x = Tensor::<3>::random([2, 9, D_MODEL], Distribution::Default, &device);
    let trained = device.clone().autodiff();
    for with_autodiff in [trained.clone(), trained.clone().gradient_checkpointing()] {
        for (name, dropout) in [("alibi", 0.5), ("t5", 0.5), ("kerple", 0.0), ("cope", 0.0)] {
            let attention = AttentionConfig::new(D_MODEL, HEADS)
                .with_dropout(dropout)
                .with_causal(true)
                .init(&with_autodiff);
            let scheme = scheme(name, &with_autodiff);
            let at = Positions::default();
            let y = attention.forward(x.clone(), None, &scheme, &at);
            if dropout == 0.0 {
                let x = Tensor::from_data(x.to_data(), &with_autodiff);
                let expected = values(attention.forward(x, None, &scheme, &at));
                assert_eq!(difference(&values(y.clone()), &expected), 0.0, "{name}");
            }
            let gradients = y.sum().backward();
            assert!(attention.qkv.weight.grad(&gradients).is_some(), "{name}");
        }
    }
}
