//! The table against 60-digit arithmetic.

use pe_burn::Spectrum;

/// Base, width, position, column and value of an entry.
pub type Reference = (f64, usize, usize, usize, f64);

/// The reference values of a file, whose lines of one spectrum follow each other.
pub fn references(csv: &str) -> Vec<Reference> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    reader.deserialize().map(Result::unwrap).collect()
}

const NEAR: &str = include_str!("../data/sinusoidal.csv");
pub const FAR: &str = include_str!("../data/sinusoidal_far.csv");

#[test]
fn f32_entries_are_within_3e_8_everywhere() {
    let (near, far) = (references(NEAR), references(FAR));
    assert_eq!((near.len(), far.len()), (2059, 352));
    for (base, d_model, position, column, value) in near.into_iter().chain(far) {
        let spectrum = Spectrum::new(d_model, base).unwrap();
        let row: Vec<f32> = spectrum.rows(position..position + 1).unwrap();
        let error = (f64::from(row[column]) - value).abs();
        let about = format!("d_model {d_model} base {base} position {position} column {column}");
        assert!(error <= 3.0e-8, "{about}: {error:e}");
    }
}

#[test]
fn f64_entries_are_within_1e_15_below_2_to_the_20() {
    let near = references(NEAR).into_iter();
    for (base, d_model, position, column, value) in near.filter(|r| r.2 < 1 << 20) {
        let spectrum = Spectrum::new(d_model, base).unwrap();
        let row: Vec<f64> = spectrum.rows(position..position + 1).unwrap();
        let error = (row[column] - value).abs();
        assert!(
            error <= 1e-15,
            "position {position} column {column}: {error:e}"
        );
    }
}
