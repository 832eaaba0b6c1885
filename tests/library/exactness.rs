//! The table against 60-digit arithmetic.

use pe_burn::Spectrum;

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
