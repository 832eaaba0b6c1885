//! Rows of positions that no buffer holds.

use pe_burn::{Positions, SinusoidalPositionalEncodingConfig};
use pe_tests::devices;

use crate::exactness::{FAR, references};
use crate::values;

/// One by one, and by ids in one call.
#[test]
fn far_rows_are_those_of_60_digits() {
    let lines = references(FAR);
    for device in devices() {
        for of_spectrum in lines.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (base, d_model, ..) = of_spectrum[0];
            let config = SinusoidalPositionalEncodingConfig::new(d_model).with_max_len(1);
            let pe = config.with_base(base).init(&device);
            let by_position = || of_spectrum.chunk_by(|a, b| a.2 == b.2);
            let ids: Vec<usize> = by_position().map(|lines| lines[0].2).collect();
            let by_id = Positions::from_id_rows(&[&ids]).unwrap();
            let by_id = values(pe.encode(&by_id, ids.len()).unwrap());
            for (of_position, by_id) in by_position().zip(by_id.chunks(d_model)) {
                let position = of_position[0].2;
                let row = pe.encode(&Positions::from(position), 1).unwrap();
                let row = values(row);
                assert_eq!(row, by_id, "{device:?}, base {base}, position {position}");
                for (.., column, value) in of_position {
                    let error = (f64::from(row[*column]) - value).abs();
                    assert!(
                        error <= 3.0e-8,
                        "{device:?}, base {base}, position {position}, column {column}: {error:e}"
                    );
                }
            }
        }
    }
}
