//! The table against 60-digit arithmetic.

use pe_burn::{Layout, MAX_POSITION, Spectrum};

struct Reference {
    spectrum: Spectrum,
    position: usize,
    column: usize,
    value: f64,
}

/// The reference values of a file, whose lines of one spectrum follow each other.
fn references(csv: &str) -> Vec<Reference> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let lines = reader.deserialize::<(f64, usize, usize, usize, f64)>();
    lines
        .map(|line| {
            let (base, d_model, position, column, value) = line.unwrap();
            Reference {
                spectrum: Spectrum::new(d_model, base).unwrap(),
                position,
                column,
                value,
            }
        })
        .collect()
}

const NEAR: &str = include_str!("../data/sinusoidal.csv");
const FAR: &str = include_str!("../data/sinusoidal_far.csv");

#[test]
fn f32_entries_are_within_3e_8_everywhere() {
    let (near, far) = (references(NEAR), references(FAR));
    assert_eq!((near.len(), far.len()), (2059, 352));
    for r in near.iter().chain(&far) {
        let row: Vec<f32> = r.spectrum.rows(r.position..r.position + 1).unwrap();
        let error = (f64::from(row[r.column]) - r.value).abs();
        assert!(
            error <= 3.0e-8,
            "d_model {} base {} position {} column {}: {error:e}",
            r.spectrum.d_model(),
            r.spectrum.base(),
            r.position,
            r.column
        );
    }
}

#[test]
fn f64_entries_are_within_1e_15_below_2_to_the_20() {
    for r in references(NEAR).iter().filter(|r| r.position < 1 << 20) {
        let row: Vec<f64> = r.spectrum.rows(r.position..r.position + 1).unwrap();
        let error = (row[r.column] - r.value).abs();
        assert!(
            error <= 1e-15,
            "position {} column {}: {error:e}",
            r.position,
            r.column
        );
    }
}

/// With d_model 1 the only entry is sin(p), which the standard library knows to the last bit.
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
        assert_eq!(
            spectrum.rows::<f32>(50..100).unwrap(),
            whole[50 * 128..100 * 128]
        );
        assert_eq!(
            spectrum.rows::<f32>(1_023..1_026).unwrap(),
            whole[1_023 * 128..1_026 * 128]
        );
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
    assert_eq!(
        spectrum
            .rows::<f64>(MAX_POSITION..MAX_POSITION + 1)
            .unwrap()
            .len(),
        6
    );
    let error = spectrum
        .rows::<f32>(MAX_POSITION..MAX_POSITION + 2)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "start 4503599627370495 + seq 2 goes past the largest position, 4503599627370495"
    );
}
