//! A panic points at the line of the caller, as that of `unwrap` does.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::Once;

use burn::tensor::{Device, Tensor};
use pe_burn::content::{CopeConfig, DebertaConfig, ShawConfig, TransformerXlConfig, TupeConfig};
use pe_burn::conv::{PositionalEncodingGeneratorConfig, Wav2Vec2PositionalConvConfig};
use pe_burn::embedding::Time2VecConfig;
use pe_burn::grid::{
    BeitRelativeBiasConfig, DecomposedRelativeBiasConfig, LevitRelativeBiasConfig,
    SwinRelativeBiasConfig, SwinV2RelativeBiasConfig,
};
use pe_burn::weights::ErpeConfig;
use pe_burn::{
    AlibiConfig, Bias, Embed, FireConfig, KerpleConfig, LearnedPositionalEmbeddingConfig,
    PositionalConfig, Positions, RotaryPositionalEncodingConfig, Rotate, ScoreBias,
    SinusoidalPositionalEncodingConfig, T5RelativeBiasConfig, XPosPositionalEncodingConfig,
};

use crate::scheme;

thread_local! {
    /// File and line of the last panic of this thread.
    static LAST: RefCell<Option<(String, u32)>> = const { RefCell::new(None) };
}

/// Where `call` panics.
fn place_of_panic<T>(call: impl FnOnce() -> T) -> (String, u32) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let place = |at: &Location| (at.file().to_string(), at.line());
            LAST.set(info.location().map(place));
            before(info);
        }));
    });
    LAST.set(None);
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    assert!(result.is_err(), "this should have panicked");
    LAST.take().expect("a panic has a place")
}

/// Fails unless the call panics at its own line.
macro_rules! assert_points_here {
    ($call:expr) => {
        assert_eq!(
            place_of_panic(|| $call),
            (file!().to_string(), line!()),
            "{}",
            stringify!($call)
        )
    };
}

fn x(d_model: usize) -> Tensor<3> {
    Tensor::zeros([2, 3, d_model], &Device::flex())
}

fn heads(d_head: usize) -> Tensor<4> {
    Tensor::zeros([2, 1, 3, d_head], &Device::flex())
}

#[test]
#[rustfmt::skip] // each call on one line, which is the line that it has to point at
fn of_a_configuration() {
    let device = Device::flex();
    assert_points_here!(SinusoidalPositionalEncodingConfig::new(0).init(&device));
    assert_points_here!(LearnedPositionalEmbeddingConfig::new(0, 4).init(&device));
    assert_points_here!(Time2VecConfig::new(0, 1.0).init(&device));
    assert_points_here!(RotaryPositionalEncodingConfig::new(0).init(&device));
    assert_points_here!(XPosPositionalEncodingConfig::new(0).init(&device));
    assert_points_here!(AlibiConfig::new(0).init(&device));
    assert_points_here!(T5RelativeBiasConfig::new(0).init(&device));
    assert_points_here!(KerpleConfig::new(0).init(&device));
    assert_points_here!(FireConfig::new(0).init(&device));
    assert_points_here!(ShawConfig::new(0).init(&device));
    assert_points_here!(TransformerXlConfig::new(0, 1).init(&device));
    assert_points_here!(DebertaConfig::new(0, 1).init(&device));
    assert_points_here!(TupeConfig::new(0, 1, 4).init(&device));
    assert_points_here!(CopeConfig::new(0).init(&device));
    assert_points_here!(ErpeConfig::new(0, 4).init(&device));
    assert_points_here!(SwinRelativeBiasConfig::new(0, [2, 2]).init(&device));
    assert_points_here!(SwinV2RelativeBiasConfig::new(0, [2, 2]).init(&device));
    assert_points_here!(BeitRelativeBiasConfig::new(0, [2, 2]).init(&device));
    assert_points_here!(LevitRelativeBiasConfig::new(0, [2, 2]).init(&device));
    assert_points_here!(DecomposedRelativeBiasConfig::new(0, [2, 2]).init(&device));
    assert_points_here!(Wav2Vec2PositionalConvConfig::new(0).init(&device));
    assert_points_here!(PositionalEncodingGeneratorConfig::new(0).init(&device));
    assert_points_here!(PositionalConfig::Alibi(AlibiConfig::new(0)).init(&device));
}

#[test]
#[rustfmt::skip]
fn of_an_input() {
    let device = Device::flex();
    let three = Positions::from_starts([1, 2, 3]); // for a batch of two
    let sinusoidal = SinusoidalPositionalEncodingConfig::new(8).init(&device);
    assert_points_here!(sinusoidal.embed(x(8), &three));
    assert_points_here!(sinusoidal.forward(x(7)));
    let learned = LearnedPositionalEmbeddingConfig::new(8, 16).init(&device);
    assert_points_here!(learned.embed(x(8), &three));
    assert_points_here!(learned.forward(x(7)));
    let time2vec = Time2VecConfig::new(8, 16.0).init(&device);
    assert_points_here!(time2vec.forward(x(7)));
    for name in PositionalConfig::NAMES {
        let scheme = scheme(name, [8, 2, 16], &Device::flex());
        assert_points_here!(scheme.embed(x(8), &three));
        if scheme.rotates() {
            assert_points_here!(scheme.rotate(heads(4), heads(4), &three));
            assert_points_here!(scheme.rotate_apart((heads(4), &three), (heads(4), &three)));
            assert_points_here!(scheme.rotate_queries(heads(4), &three));
            assert_points_here!(scheme.rotate_keys(heads(4), &three));
        }
        if ["alibi", "t5", "kerple", "fire"].contains(name) {
            let two = Positions::from_starts([1, 2]);
            assert_points_here!(scheme.bias((&two, 4), (&three, 4)));
            assert_points_here!(scheme.score_bias((&heads(4), &three), (&heads(4), &two)));
        }
        if *name == "erpe" {
            assert_points_here!(scheme.weight_bias((&Positions::from_starts([1, 2]), 4), (&three, 4)));
        }
        if scheme.sees_content() {
            let two = Positions::from_starts([1, 2]);
            assert_points_here!(scheme.bias((&two, 4), (&two, 4)));
            assert_points_here!(scheme.score_bias((&heads(3), &two), (&heads(3), &two)));
        }
    }
    let rope = RotaryPositionalEncodingConfig::new(8).init(&device);
    assert_points_here!(rope.rotate(heads(8), heads(8), &three));
    let xpos = XPosPositionalEncodingConfig::new(8).init(&device);
    assert_points_here!(xpos.rotate_keys(heads(8), &three));
    let alibi = AlibiConfig::new(8).init(&device);
    let ids = Positions::from_id_rows(&[[1, 2]]).unwrap(); // for two tokens
    assert_points_here!(alibi.bias((&ids, 3), (&ids, 2)));
}

/// In generic code it is the line of that code.
#[test]
#[rustfmt::skip]
fn of_a_generic_function() {
    fn embed(scheme: &impl Embed, positions: &Positions) {
        assert_points_here!(scheme.embed(x(8), positions));
    }
    fn rotate(scheme: &impl Rotate, positions: &Positions) {
        assert_points_here!(scheme.rotate(heads(8), heads(8), positions));
    }
    fn score_bias(scheme: &impl ScoreBias, positions: &Positions) {
        assert_points_here!(scheme.score_bias((&heads(8), positions), (&heads(8), positions)));
    }
    fn bias(scheme: &impl Bias, positions: &Positions) {
        assert_points_here!(scheme.bias((positions, 4), (&Positions::from_starts([1, 2]), 4)));
    }
    let device = Device::flex();
    let three = Positions::from_starts([1, 2, 3]);
    embed(&SinusoidalPositionalEncodingConfig::new(8).init(&device), &three);
    embed(&LearnedPositionalEmbeddingConfig::new(8, 16).init(&device), &three);
    rotate(&RotaryPositionalEncodingConfig::new(8).init(&device), &three);
    rotate(&XPosPositionalEncodingConfig::new(8).init(&device), &three);
    bias(&AlibiConfig::new(8).init(&device), &three);
    score_bias(&AlibiConfig::new(8).init(&device), &three);
    score_bias(&ShawConfig::new(8).init(&device), &three);
}
