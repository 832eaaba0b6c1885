use super::*;

use alloc::vec::Vec;

use crate::PositionError;
use crate::testing::{assert_says, refusal, refused};

fn rows(formula: Formula, d_model: usize) -> Vec<f64> {
    Spectrum::new(d_model, formula).unwrap().rows(0..3).unwrap()
}

/// `sin` and `cos` of ω_i p, each times a number, in the columns that the formula says.
#[test]
fn the_columns_are_where_the_table_says() {
    let (slow, tau) = (1e-4, core::f64::consts::TAU);
    let (sin, cos) = (libm::sin, libm::cos);
    let stable = Formula::Diffusers {
        flip_sin_to_cos: true,
        downscale_freq_shift: 0.0,
        scale: 3.0,
        max_period: 1e4,
    };
    let mlx = Formula::Mlx {
        min_freq: 1e-4,
        max_freq: 1.0,
        scale: Some(2.0),
        cos_first: true,
        full_turns: true,
    };
    let geometric = Formula::TorchGeometric {
        base_freq: 1e-4,
        granularity: 4.0,
    };
    for p in 0..3 {
        let x = p as f64;
        for (formula, expected) in [
            (Formula::FAIRSEQ, {
                let x = x + 2.0;
                [sin(x), sin(slow * x), cos(x), cos(slow * x)]
            }),
            (
                stable,
                [cos(3.0 * x), cos(0.03 * x), sin(3.0 * x), sin(0.03 * x)],
            ),
            (
                mlx,
                [
                    cos(tau * x),
                    cos(tau * slow * x),
                    sin(tau * x),
                    sin(tau * slow * x),
                ]
                .map(|y| 2.0 * y),
            ),
            (geometric, {
                let x = x / 4.0;
                [sin(x), sin(slow * x), cos(x), cos(slow * x)]
            }),
        ] {
            for (ours, expected) in rows(formula, 4)[4 * p..].iter().zip(expected) {
                assert!(
                    (ours - expected).abs() < 2e-15,
                    "{formula:?} at {p}: {ours}"
                );
            }
        }
    }
}

const FAR: usize = (1 << 40) + 5;

/// d_model, length, p and the row: sin and cos of p · 10000^(−2k/d_model) · d_model/length, computed with 120 digits in Python's
/// `decimal`.
const ROWS_OF_TAPE: [(usize, usize, usize, &[f64]); 4] = [
    (
        6,
        90,
        1,
        &[
            0.066617294923393,
            0.9977786007011223,
            0.0030943876174726118,
            0.9999952123711757,
            0.00014362897884163175,
            0.9999999896853582,
        ],
    ),
    (
        6,
        90,
        FAR,
        &[
            0.9868395803610148,
            0.161702327234014,
            -0.8764853716815206,
            0.4814284923312148,
            0.5505623348161578,
            -0.8347940557297835,
        ],
    ),
    (
        5,
        3,
        89,
        &[
            -0.6276093089969613,
            -0.7785284550100637,
            -0.5516758856249127,
            -0.8340585814077859,
            0.0934554299664406,
        ],
    ),
    (
        5,
        3,
        FAR,
        &[
            -0.6067797424374688,
            -0.7948700171521876,
            -0.050815429130768835,
            0.998708061528621,
            -0.491033714568876,
        ],
    ),
];

#[test]
fn rows_of_tape_are_those_of_120_digits() {
    for (d_model, length, position, expected) in ROWS_OF_TAPE {
        let spectrum = Spectrum::new(d_model, Formula::tape(length)).unwrap();
        let row: Vec<f64> = spectrum.rows_at(&[position]).unwrap();
        assert_eq!(row.len(), expected.len());
        for (ours, expected) in row.iter().zip(expected) {
            let error = (ours - expected).abs();
            assert!(error < 1e-14, "{d_model}, {length}, {position}: {error:e}");
        }
    }
    // A series as long as the model is wide has the paper's own rows.
    assert_eq!(rows(Formula::tape(8), 8), rows(Formula::default(), 8));
}

#[test]
fn a_length_of_tape_that_is_no_length_is_refused() {
    for length in [0, MAX_POSITION + 1] {
        let message = refusal(Spectrum::new(4, Formula::tape(length)));
        let expected =
            "length must be at least 1, and at most the largest position, 4503599627370495; got ";
        assert_eq!(message, alloc::format!("{expected}{length}"));
    }
    let base = 1.0;
    let message = refusal(Spectrum::new(4, Formula::Tape { length: 3, base }));
    assert_says(&message, "base must be …");
}

#[test]
fn an_odd_width_ends_as_the_library_ends_it() {
    for formula in [Formula::TENSOR2TENSOR, Formula::FAIRSEQ, Formula::DIFFUSERS] {
        let (odd, even) = (rows(formula, 5), rows(formula, 4));
        for (odd, even) in odd.chunks(5).zip(even.chunks(4)) {
            assert_eq!((&odd[..4], odd[4]), (even, 0.0), "{formula:?}");
        }
    }
    for formula in [Formula::MLX, Formula::TORCH_GEOMETRIC] {
        let words = "d_model, or the columns of one axis, must be even for this formula; got 5";
        assert_says(&refusal(Spectrum::new(5, formula)), words);
    }
}

#[test]
fn widths_and_numbers_that_a_formula_cannot_work_with_are_refused() {
    for d_model in [1, 2, 3] {
        let message = refusal(Spectrum::new(d_model, Formula::FAIRSEQ));
        let expected =
            "d_model, or the columns of one axis, must be at least 4 for this formula; got ";
        assert_eq!(message, alloc::format!("{expected}{d_model}"));
    }
    for formula in [
        Formula::TENSOR2TENSOR,
        Formula::TORCH_GEOMETRIC,
        Formula::MLX, // times √(2/2)
    ] {
        assert_eq!(rows(formula, 2)[2..4], [libm::sin(1.0), libm::cos(1.0)]);
    }
    let far = Formula::Fairseq {
        padding_index: usize::MAX,
    };
    let wrong = Formula::Wavelengths { min: 4.0, max: 4.0 };
    refused! {
        |bad| Spectrum::new(bad.0, bad.1);
        (2, Formula::DIFFUSERS) => "… less than d_model/2 …",
        (0, Formula::KERAS) => "d_model must be at least 1; got 0",
        (4, far) => "padding_index must be less …",
        (4, wrong) => "the longest wavelength must be finite, and more than the shortest; got 4",
    }
    // Frequencies so high that no angle can be reduced.
    for formula in [
        Formula::Wavelengths {
            min: 1e-305,
            max: 1.0,
        },
        Formula::TorchGeometric {
            base_freq: 0.1,
            granularity: 1e-305,
        },
        Formula::Tensor2Tensor {
            min_timescale: 1e300,
            max_timescale: 1e305,
        },
    ] {
        let error = Spectrum::new(4, formula).unwrap_err();
        assert!(matches!(error, PositionError::Number { .. }), "{error}");
    }
}

#[test]
fn as_data_a_formula_is_a_name_and_the_numbers_that_are_not_its_defaults() {
    for (json, formula) in [
        (r#"{"name": "paper"}"#, Formula::default()),
        (r#"{"name": "paper", "base": 500.0}"#, Formula::from(500.0)),
        (r#"{"name": "tensor2tensor"}"#, Formula::TENSOR2TENSOR),
        (r#"{"name": "fairseq"}"#, Formula::FAIRSEQ),
        (r#"{"name": "marian"}"#, Formula::Marian {}),
        (r#"{"name": "mlx"}"#, Formula::MLX),
        (r#"{"name": "diffusers"}"#, Formula::DIFFUSERS),
        (r#"{"name": "torch_geometric"}"#, Formula::TORCH_GEOMETRIC),
        (r#"{"name": "keras"}"#, Formula::KERAS),
        (r#"{"name": "tape", "length": 90}"#, Formula::tape(90)),
    ] {
        assert_eq!(serde_json::from_str::<Formula>(json).unwrap(), formula);
        let json = serde_json::to_string(&formula).unwrap();
        assert_eq!(serde_json::from_str::<Formula>(&json).unwrap(), formula);
    }
    for wrong in [r#"{"name": "marian", "base": 3.0}"#, r#"{"name": "tape"}"#] {
        assert!(serde_json::from_str::<Formula>(wrong).is_err());
    }
}
