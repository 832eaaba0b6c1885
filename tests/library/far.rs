//! Rows of positions that no buffer holds. Graphics cards compute them themselves, from whole numbers: the exact rows, and the
//! bits of the processor.

use burn::tensor::Device;
use pe_burn::embedding::Gain;
use pe_burn::scaling::Yarn;
use pe_burn::{
    Formula, Layout, Positions, RotaryPositionalEncodingConfig, Rotate,
    SinusoidalPositionalEncodingConfig, Spectrum,
};
use pe_tests::devices;

use crate::exactness::{FAR, references};
use crate::rotary::units;
use crate::{assert_says, refusal, values};

/// Half a unit of the last place of an `f32` below 1.
const BOUND: f64 = 3.0e-8;

#[test]
fn far_rows_are_those_of_60_digits() {
    let lines = references(FAR);
    for device in devices() {
        for of_spectrum in lines.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (base, d_model, ..) = of_spectrum[0];
            let config = SinusoidalPositionalEncodingConfig::new(d_model).with_max_len(1);
            let pe = config.with_base(base).init(&device);
            for of_position in of_spectrum.chunk_by(|a, b| a.2 == b.2) {
                let position = of_position[0].2;
                let row = pe.encode(&Positions::from(position), 1).unwrap();
                let row = values(row);
                for (.., column, value) in of_position {
                    let error = (f64::from(row[*column]) - value).abs();
                    assert!(
                        error <= BOUND,
                        "{device:?}, base {base}, position {position}, column {column}: {error:e}"
                    );
                }
            }
        }
    }
}

/// Runs and ids, across the positions that 32 bits hold and up to the last one, in every order of columns.
#[test]
fn far_rows_of_every_formula() {
    let cosines_first = Formula::Diffusers {
        flip_sin_to_cos: true,
        downscale_freq_shift: 1.0,
        scale: 1.0,
        max_period: 1e4,
    };
    let formulas = [
        (Formula::default(), None, 64),
        (Formula::default(), None, 63),
        (Formula::default(), Some(Layout::Halves), 63),
        (cosines_first, None, 64),
        (cosines_first, Some(Layout::Interleaved), 63),
        (Formula::FAIRSEQ, None, 64),
        (Formula::FAIRSEQ, None, 63),
        (Formula::from(1.0001), None, 64),
    ];
    for device in devices() {
        for (formula, layout, d_model) in &formulas {
            let about = format!("{device:?}, {formula:?}, {layout:?}, {d_model}");
            let mut config = SinusoidalPositionalEncodingConfig::new(*d_model)
                .with_max_len(3)
                .with_formula(*formula);
            config.layout = *layout;
            let pe = config.init(&device);
            let spectrum = pe.spectrum();
            let last = spectrum.max_position();
            for start in [1 << 24, (1 << 32) - 20, (1 << 45) + 5, last - 40] {
                let expected: Vec<f32> = spectrum.rows(start..start + 41).unwrap();
                let rows = pe.encode(&Positions::from(start), 41).unwrap();
                assert_eq!(values(rows), expected, "{about}, from {start}");
            }
            let ids = [last, 0, 1 << 40, 1 << 32, (1 << 32) - 1, 1 << 40];
            let expected: Vec<f32> = spectrum.rows_at(&ids).unwrap();
            let positions = Positions::from_id_rows(&[&ids[..3], &ids[3..]]).unwrap();
            let rows = pe.encode(&positions, 3).unwrap();
            assert_eq!(rows.dims(), [2, 3, *d_model]);
            assert_eq!(values(rows), expected, "{about}");
            let message = refusal(pe.encode(&Positions::from(last), 2));
            assert_says(
                &message,
                &format!("… goes past the largest position, {last}"),
            );
        }
    }
}

/// A rotation of (1, 0) shows the cosine and the sine, times the attention factor.
#[test]
fn far_rows_with_an_attention_factor() {
    for (factor, amplitude) in [(40.0, 1.3688879454113936), (4.0, 1.138629436111989)] {
        let scaling = Yarn::new(factor, 4_096);
        let config = RotaryPositionalEncodingConfig::new(64)
            .with_layout(Layout::Halves)
            .with_max_len(16)
            .with_scaling(scaling);
        let rotated = |device: &Device, start: usize| -> Vec<f32> {
            let rope = config.init(device);
            let x = units(5, 64, device);
            let (q, _) = rope.rotate(x.clone(), x, &Positions::from(start));
            values(q)
        };
        let spectrum = config.spectrum(1 << 30).unwrap();
        assert!((spectrum.amplitude() - amplitude).abs() < 1e-12);
        for start in [1 << 30, (1 << 50) + 3] {
            let expected: Vec<f32> = spectrum.rows(start..start + 5).unwrap();
            for device in devices() {
                let rotated = rotated(&device, start);
                for (token, row) in rotated.chunks(64).enumerate() {
                    let (sines, cosines) = expected[64 * token..64 * token + 64].split_at(32);
                    assert_eq!(row, [cosines, sines].concat(), "{device:?}, from {start}");
                }
            }
        }
    }
}

/// Gains of either sign and of any size, also those that a card cannot multiply by.
#[test]
fn far_rows_with_a_gain() {
    for gain in [1.0, 0.5, -3.7, 1e-3, 1e17, 3e38, -1e-40, 0.0] {
        let config = SinusoidalPositionalEncodingConfig::new(64)
            .with_max_len(2)
            .with_gain(Gain::Fixed(gain));
        for device in devices() {
            let pe = config.init(&device);
            let start = (1 << 40) + 9;
            let expected: Vec<f32> = pe.spectrum().rows(start..start + 5).unwrap();
            let rows = values(pe.encode(&Positions::from(start), 5).unwrap());
            assert_eq!(rows, expected, "{device:?}, {gain}");
        }
    }
}

/// One frequency turns many times from one position to the next, one hardly.
#[test]
fn far_rows_of_given_frequencies() {
    let spectrum = Spectrum::from_frequencies(&[1_000.25, 7.0, 1e-9]).unwrap();
    let config = RotaryPositionalEncodingConfig::new(6)
        .with_max_len(2)
        .with_layout(Layout::Halves)
        .with_frequencies(vec![1_000.25, 7.0, 1e-9]);
    let start = spectrum.max_position() - 4;
    let exact: Vec<f64> = spectrum
        .with_layout(Layout::Halves)
        .rows(start..start + 4)
        .unwrap();
    for device in devices() {
        let rope = config.init(&device);
        let x = units(4, 6, &device);
        let (q, _) = rope.rotate(x.clone(), x, &Positions::from(start));
        for (token, row) in values(q).chunks(6).enumerate() {
            for (i, got) in row.iter().enumerate() {
                let exact = exact[6 * token + (i + 3) % 6];
                assert!(
                    (f64::from(*got) - exact).abs() <= BOUND,
                    "{device:?}: {got} {exact}"
                );
            }
        }
    }
}
