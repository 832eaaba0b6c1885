use crate::data::testing::reading;
use crate::data::{DataTask, Reading, Source};

/// A study that was made with the feature keeps such a file under its name.
#[test]
fn a_build_without_the_feature_says_how_to_build_with_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["rows.parquet", "rows.ARROW", "rows.feather"] {
        let file = folder.path().join(name);
        let stream = b"\xff\xff\xff\xff\x10\0\0\0";
        let magic = b"PAR1\x15\x04\x15\x20";
        for bytes in [&stream[..], magic, b"label,text\nx,a b\n", b""] {
            std::fs::write(&file, bytes).unwrap();
            let of_label = reading(|r| r.label = Some("label".into()));
            let of_series = reading(|r| r.target = Some("y".into()));
            for reading in [Reading::default(), of_label, of_series] {
                let said = DataTask::read(&Source {
                    reading,
                    ..Source::from(file.as_path())
                });
                let said = said.unwrap_err().to_string();
                assert!(said.contains("--features parquet"), "{said}");
            }
        }
    }
}
