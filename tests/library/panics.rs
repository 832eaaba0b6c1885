//! A panic points at the line of the caller, as that of `unwrap` does.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, Location};
use std::sync::Once;

use burn::tensor::{Device, Tensor};
use pe_burn::content::InklingConfig;
use pe_burn::embedding::Time2VecConfig;
use pe_burn::gates::FoxConfig;
use pe_burn::{
    AlibiConfig, Bias, Coordinates, Embed, ForgetGate, HiddenBias,
    LearnedPositionalEmbeddingConfig, PositionalConfig, PositionalScheme, Positions,
    RotaryPositionalEncodingConfig, Rotate, ScoreBias, SinusoidalPositionalEncodingConfig,
    WeightBias,
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

/// Every function that panics with an error, once. `init` is made by one macro for all configurations.
#[test]
#[rustfmt::skip] // each call on one line, which is the line that it has to point at
fn at_the_line_of_the_caller() {
    let device = Device::flex();
    assert_points_here!(AlibiConfig::new(0).init(&device));
    assert_points_here!(PositionalConfig::Alibi(AlibiConfig::new(0)).init(&device));
    assert_points_here!(Coordinates::at([f64::NAN], 1));

    let three = Positions::from_starts([1, 2, 3]); // for a batch of two
    let sinusoidal = SinusoidalPositionalEncodingConfig::new(8).init(&device);
    assert_points_here!(sinusoidal.embed(x(8), &three));
    assert_points_here!(sinusoidal.forward(x(7)));
    assert_points_here!(LearnedPositionalEmbeddingConfig::new(8, 16).init(&device).forward(x(7)));
    assert_points_here!(Time2VecConfig::new(8, 16.0).init(&device).forward(x(7)));

    let rope = RotaryPositionalEncodingConfig::new(8).init(&device);
    assert_points_here!(rope.rotate(heads(8), heads(8), &three));
    assert_points_here!(rope.rotate_packed(x(24), [1, 1], &three));
    assert_points_here!(rope.rotate_apart((heads(8), &three), (heads(8), &three)));
    assert_points_here!(rope.rotate_bshd(heads(8), heads(8), &three));
    assert_points_here!(rope.rotate_queries(heads(8), &three));
    assert_points_here!(rope.rotate_keys(heads(8), &three));

    let (alibi, two) = (AlibiConfig::new(1).init(&device), Positions::from_starts([1, 2]));
    let last = Positions::from(usize::MAX);
    assert_points_here!(alibi.bias((&two, 4), (&three, 4)));
    assert_points_here!(alibi.distance_bias((&last, 4), (&last, 4)));
    assert_points_here!(alibi.score_bias((&heads(8), &three), (&heads(8), &two)));
    assert_points_here!(alibi.scaled_score_bias((&heads(8), &three), (&heads(8), &two)));
    let inkling = InklingConfig::new(8, 2, 1).init(&device);
    assert_points_here!(inkling.hidden_bias(1, (&x(8), &two), (&two, 3)));
    let fox = FoxConfig::new(8, 2, 1).init(&device);
    assert_points_here!(fox.log_gates(1, x(8)));

    let [alibi, erpe] = ["alibi", "erpe"].map(|name| scheme(name, [8, 2, 16], &device));
    assert_points_here!(alibi.bias((&two, 4), (&three, 4)));
    assert_points_here!(alibi.score_bias((&heads(4), &three), (&heads(4), &two)));
    assert_points_here!(erpe.weight_bias((&two, 4), (&three, 4)));
    let PositionalScheme::Erpe(erpe) = erpe else { panic!("not eRPE: {erpe}") };
    assert_points_here!(erpe.weight_bias((&two, 4), (&three, 4)));
}
