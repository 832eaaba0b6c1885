use crate::data::testing::{Says, read};

/// A study that was made with the feature keeps such a file under its name.
#[test]
fn a_build_without_the_feature_says_how_to_build_with_it() {
    for name in ["rows.parquet", "rows.ARROW", "rows.feather"] {
        let stream = b"\xff\xff\xff\xff\x10\0\0\0";
        let magic = b"PAR1\x15\x04\x15\x20";
        for bytes in [&stream[..], magic, b"label,text\nx,a b\n", b""] {
            for settings in ["", "label = 'label'", "target = 'y'"] {
                let error = read(name, bytes, settings).unwrap_err();
                error.says("--features parquet");
            }
        }
    }
}
