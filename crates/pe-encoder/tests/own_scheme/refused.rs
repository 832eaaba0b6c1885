//! What a scheme returns that the attention cannot use: a panic says what and why.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::tensor::{Device, Tensor};
use pe_burn::{
    Bias, ForgetGate, Heads, PositionError, Positional, Positions, Rotate, ScoreBias, ToTurn,
    Tokens, Turned, WeightBias,
};
use pe_encoder::{AttentionConfig, Cache, Kernels};

use super::schemes::{ByRows, Fox};
use crate::{D_HEAD, D_MODEL, HEADS, attention, random};

/// The message with which `call` panics.
fn message<T>(call: impl FnOnce() -> T) -> String {
    let panicked = catch_unwind(AssertUnwindSafe(call)).err().expect("refused");
    let text = panicked.downcast_ref::<String>().cloned();
    text.unwrap_or_else(|| panicked.downcast_ref::<&str>().expect("text").to_string())
}

/// Zeros of some shape at each place where a scheme acts.
#[derive(Clone, Copy)]
enum Zeros {
    Content([usize; 4]),
    Weights([usize; 4]),
    Gate([usize; 3]),
    Sides([usize; 4]),
}

impl Zeros {
    fn of<const D: usize>(shape: [usize; D]) -> Result<Tensor<D>, PositionError> {
        Ok(Tensor::zeros(shape, &Device::flex()))
    }
}

impl ScoreBias for Zeros {
    fn try_score_bias(&self, _: Heads, _: Heads) -> Result<Tensor<4>, PositionError> {
        let Self::Content(shape) = self else {
            unreachable!()
        };
        Self::of(*shape)
    }
}

impl WeightBias for Zeros {
    fn try_weight_bias(&self, _: Tokens, _: Tokens) -> Result<Tensor<4>, PositionError> {
        let Self::Weights(shape) = self else {
            unreachable!()
        };
        Self::of(*shape)
    }
}

impl ForgetGate for Zeros {
    fn try_log_gates(&self, _: usize, _: Tensor<3>) -> Result<Tensor<3>, PositionError> {
        let Self::Gate(shape) = self else {
            unreachable!()
        };
        Self::of(*shape)
    }
}

impl Rotate for Zeros {
    fn width(&self, d_head: usize) -> usize {
        // The width that is asked for, or as wide as before.
        match self {
            Self::Sides([_, _, _, width]) if *width > D_HEAD => *width,
            _ => d_head,
        }
    }

    fn try_rotate_sides(&self, _: ToTurn, _: ToTurn) -> Result<Turned, PositionError> {
        let Self::Sides(shape) = self else {
            unreachable!()
        };
        Ok([Some(Self::of(*shape)?), Some(Self::of(*shape)?)])
    }
}

/// A type with [`Bias`] has [`ScoreBias`] by that, so this is one of its own.
struct ZeroBias([usize; 4]);

impl Bias for ZeroBias {
    fn try_bias(&self, _: Tokens, _: Tokens) -> Result<Tensor<4>, PositionError> {
        Zeros::of(self.0)
    }
}

impl Positional for ZeroBias {
    fn as_bias(&self) -> Option<&dyn Bias> {
        Some(self)
    }
}

impl Positional for Zeros {
    fn as_score_bias(&self) -> Option<&dyn ScoreBias> {
        matches!(self, Self::Content(_)).then_some(self)
    }

    fn as_weight_bias(&self) -> Option<&dyn WeightBias> {
        matches!(self, Self::Weights(_)).then_some(self)
    }

    fn as_forget_gate(&self) -> Option<&dyn ForgetGate> {
        matches!(self, Self::Gate(_)).then_some(self)
    }

    fn as_rotate(&self) -> Option<&dyn Rotate> {
        matches!(self, Self::Sides(_)).then_some(self)
    }
}

/// It would be read beyond its end by a kernel, or repeated by Burn's operations.
#[test]
fn what_does_not_fit_is_refused_before_it_is_read() {
    let device = Device::flex();
    let x = random([2, 5, D_MODEL], &device);
    let fits = [2, HEADS, 5, 5];
    let mut cases: Vec<(Box<dyn Positional>, &str)> = vec![];
    for shape in [
        [1, 1, 5, 5],
        [3, HEADS, 5, 5],
        [2, HEADS, 5, 4],
        [2, HEADS, 1, 5],
    ] {
        let words = "the shape of the bias is";
        cases.push((Box::new(ZeroBias(shape)), words));
        cases.push((Box::new(Zeros::Content(shape)), words));
        cases.push((Box::new(Zeros::Weights(shape)), words));
    }
    for shape in [[1, HEADS, 5], [2, 1, 5], [2, HEADS, 1]] {
        cases.push((
            Box::new(Zeros::Gate(shape)),
            "the shape of the forget gates",
        ));
    }
    for shape in [
        [2, HEADS, 4, D_HEAD],
        [1, HEADS, 5, D_HEAD],
        [2, HEADS, 5, 2],
    ] {
        cases.push((Box::new(Zeros::Sides(shape)), "the scheme rotated"));
    }
    for shape in [[2, HEADS, 4, 16], [2, 1, 5, 16]] {
        cases.push((
            Box::new(Zeros::Sides(shape)),
            "the shape of rotated queries",
        ));
    }
    for window in [None, Some(2)] {
        for kernels in [Kernels::Auto, Kernels::Off] {
            let attention = AttentionConfig::new(D_MODEL, HEADS)
                .with_causal(true)
                .with_window(window)
                .with_kernels(kernels)
                .init(&device);
            for (scheme, words) in &cases {
                let at = Positions::default();
                let said = message(|| attention.forward(x.clone(), None, &**scheme, &at));
                assert!(said.contains(words), "{said}");
                let said = message(|| {
                    attention.forward_cached(x.clone(), &**scheme, &mut Cache::default())
                });
                assert!(said.contains(words), "{said}");
            }
            let at = Positions::default();
            for scheme in [
                Zeros::Content(fits),
                Zeros::Weights(fits),
                Zeros::Gate([2, HEADS, 5]),
                Zeros::Sides([2, HEADS, 5, 16]),
            ] {
                attention.forward(x.clone(), None, &scheme, &at);
            }
            attention.forward(x.clone(), None, &ZeroBias(fits), &at);
        }
    }
}

#[test]
fn a_forget_gate_needs_causal_attention_and_a_cache_of_its_own() {
    let device = Device::flex();
    let fox = Fox::init(2, &device);
    let x = random([2, 5, D_MODEL], &device);
    let at = Positions::default();
    let said = message(|| attention(false, &device).forward(x.clone(), None, &fox, &at));
    assert!(
        said.contains("a forget gate, which is for causal attention"),
        "{said}"
    );
    let causal = attention(true, &device);
    let schemes: [&dyn Positional; 2] = [&fox, &ByRows];
    for (first, second) in [(0, 1), (1, 0)] {
        let mut cache = Cache::default();
        causal.forward_cached(x.clone(), schemes[first], &mut cache);
        let said = message(|| causal.forward_cached(x.clone(), schemes[second], &mut cache));
        assert!(said.contains("a cache is for one scheme"), "{said}");
    }
    let said = message(|| {
        let config = AttentionConfig::new(D_MODEL, HEADS)
            .with_causal(true)
            .with_layer(2);
        config.init(&device).forward(x.clone(), None, &fox, &at)
    });
    assert_eq!(said, "there are no gates for layer 2");
}
