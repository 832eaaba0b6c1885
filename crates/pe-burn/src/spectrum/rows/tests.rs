use super::*;

use crate::MAX_POSITION;

use crate::testing::{assert_says, refusal};
use crate::{Formula, Layout};

/// Enough rows for several threads and for large pages; sines or cosines first, in both layouts,
/// with an even and an odd width, and with an offset.
#[test]
fn the_bits_of_a_row_do_not_depend_on_threads_or_on_the_other_rows() {
    let cosines_first = Formula::Diffusers {
        flip_sin_to_cos: true,
        downscale_freq_shift: 1.0,
        scale: 1.0,
        max_period: 1e4,
    };
    for (formula, d_model) in [
        (Formula::default(), 200),
        (Formula::default(), 201),
        (cosines_first, 201),
        (Formula::FAIRSEQ, 200),
    ] {
        let spectrum = Spectrum::new(d_model, formula).unwrap();
        let rows = 9 * ELEMENTS_PER_TASK / d_model;
        let whole: Vec<f32> = spectrum.rows(5..5 + rows).unwrap();
        for (i, row) in whole.chunks_exact(d_model).enumerate() {
            let alone: Vec<f32> = spectrum.rows(5 + i..6 + i).unwrap();
            assert_eq!(alone, row, "{formula:?}, position {}", 5 + i);
        }
        let backwards: Vec<usize> = (5..5 + rows).rev().collect();
        let picked: Vec<f32> = spectrum.rows_at(&backwards).unwrap();
        let backwards = picked.rchunks_exact(d_model);
        assert!(backwards.eq(whole.chunks_exact(d_model)), "{formula:?}");
    }
}

/// With d_model 1 the only element is sin(p), which the standard library knows to the last bit.
#[test]
fn every_position_below_2_to_the_24() {
    let spectrum = Spectrum::new(1, 10_000.0).unwrap();
    let mut worst = 0.0_f64;
    for start in (0..1 << 24).step_by(1 << 20) {
        let rows: Vec<f32> = spectrum.rows(start..start + (1 << 20)).unwrap();
        for (i, entry) in rows.iter().enumerate() {
            worst = worst.max((f64::from(*entry) - ((start + i) as f64).sin()).abs());
        }
    }
    assert!(worst <= 3.0e-8, "{worst:e}");
}

#[test]
fn a_row_has_the_same_bits_wherever_the_run_starts() {
    for base in [1e2, 1e4, 1e8] {
        let spectrum = Spectrum::new(128, base).unwrap();
        let whole: Vec<f32> = spectrum.rows(0..2_200).unwrap();
        for (start, end) in [(50, 100), (1_023, 1_026)] {
            let part: Vec<f32> = spectrum.rows(start..end).unwrap();
            assert_eq!(part, whole[start * 128..end * 128]);
        }
        let positions = [2_199, 0, 31, 32, 31, 1_024, 1_500];
        let picked: Vec<f32> = spectrum.rows_at(&positions).unwrap();
        for (row, p) in picked.chunks(128).zip(positions) {
            assert_eq!(row, &whole[p * 128..(p + 1) * 128]);
        }
    }
}

#[test]
fn layouts_are_permutations_of_each_other() {
    for d_model in [1, 2, 5, 8] {
        let interleaved: Vec<f32> = Spectrum::new(d_model, 1e4).unwrap().rows(777..778).unwrap();
        let halves: Vec<f32> = Spectrum::new(d_model, 1e4)
            .unwrap()
            .with_layout(Layout::Halves)
            .rows(777..778)
            .unwrap();
        let sines = interleaved.iter().step_by(2);
        let cosines = interleaved.iter().skip(1).step_by(2);
        let expected: Vec<f32> = sines.chain(cosines).copied().collect();
        assert_eq!(halves, expected, "d_model {d_model}");
    }
}

#[test]
fn the_ends_of_the_range() {
    let spectrum = Spectrum::new(6, 1e4).unwrap();
    assert!(spectrum.rows::<f32>(7..7).unwrap().is_empty());
    let last: Vec<f64> = spectrum.rows(MAX_POSITION..MAX_POSITION + 1).unwrap();
    assert_eq!(last.len(), 6);
    let beyond = spectrum.rows::<f32>(MAX_POSITION..MAX_POSITION + 2);
    let words = "start 4503599627370495 + seq 2 goes past the largest position, 4503599627370495";
    assert_says(&refusal(beyond), words);
}
