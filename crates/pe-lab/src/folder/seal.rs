//! Files with a digest of their content: one that was edited or damaged is refused.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::write::{read_bounded, write_whole};
use crate::data;
use crate::door::Entry;
use crate::error::LabError;

/// The field that holds the digest.
const DIGEST: &str = "digest";

/// A value, and the digest of its other fields.
#[derive(Serialize)]
struct Sealed<'a, T> {
    #[serde(flatten)]
    value: &'a T,
    digest: String,
}

/// Writes a value with named fields as JSON, whole or not at all, with a field `digest`: the SHA-256 of the other
/// fields, whatever their order and the spaces between them.
///
/// # Errors
///
/// [`LabError::File`] when the folder cannot be written.
pub fn write_sealed<T: Serialize>(file: &Entry, value: &T) -> Result<(), LabError> {
    let text = serde_json::to_string(value).map_err(LabError::content(file))?;
    let read = serde_json::from_str(&text).map_err(LabError::content(file))?;
    let digest = digest(&read);
    let text = serde_json::to_string_pretty(&Sealed { value, digest });
    write_whole(file, text.map_err(LabError::content(file))?.as_bytes())
}

/// Reads what [`write_sealed`] wrote.
///
/// # Errors
///
/// [`LabError::File`] when it cannot be read, [`LabError::Content`] when it does not hold a `T`, has no digest, or was
/// changed since it was written.
pub fn read_sealed<T: DeserializeOwned>(file: &Entry) -> Result<T, LabError> {
    let bytes = read_bounded(file)?;
    let value = serde_json::from_slice(&bytes).map_err(LabError::content(file))?;
    let mut all: Value = serde_json::from_slice(&bytes).map_err(LabError::content(file))?;
    let reason = match all.as_object_mut().and_then(|all| all.remove(DIGEST)) {
        Some(written) if written == Value::String(digest(&all)) => return Ok(value),
        Some(_) => "it is not as it was written: its digest is that of something else",
        None => "it is not as it was written: its digest is missing",
    };
    Err(LabError::content(file)(reason))
}

/// The SHA-256 of a value, written with its fields in the order of their names and without spaces.
fn digest(value: &Value) -> String {
    let mut text = String::new();
    write_sorted(value, &mut text);
    data::digest(text.as_bytes())
}

fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|field| field.0);
            text.push('{');
            for (name, field) in fields {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write_sorted(field, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_sorted(item, text);
                text.push(',');
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Kept {
        small: f32,
        name: String,
        list: Vec<f64>,
    }

    fn kept() -> Kept {
        Kept {
            small: 0.98,
            name: "a \"b\" \u{e9}\n".into(),
            list: vec![0.1 + 0.2, -0.0, 1e-300, f64::from(f32::MAX), 3.0],
        }
    }

    #[test]
    fn what_was_changed_is_refused_whatever_was_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = Entry::inside(folder.path(), "kept.json");
        write_sealed(&file, &kept()).unwrap();
        assert_eq!(read_sealed::<Kept>(&file).unwrap(), kept());
        let text = fs::read_to_string(&file).unwrap();
        // Every byte, replaced by another digit, letter or space.
        for (place, byte) in text.bytes().enumerate() {
            let other = match byte {
                b'0'..=b'8' | b'a'..=b'y' => byte + 1,
                b'9' => b'1',
                _ => continue,
            };
            let mut bytes = text.clone().into_bytes();
            bytes[place] = other;
            fs::write(&file, bytes).unwrap();
            // A changed last digit of a number may be beyond the precision of a float, so the value is the same then.
            if let Ok(value) = read_sealed::<Kept>(&file) {
                assert_eq!(value, kept(), "byte {place}");
            }
        }
    }

    #[test]
    fn order_and_spaces_do_not_matter_and_a_file_without_a_digest_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = Entry::inside(folder.path(), "kept.json");
        write_sealed(&file, &kept()).unwrap();
        let mut value: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let list = value["list"].take();
        let digest = value["digest"].take();
        let (rest, name) = ("\"small\": 0.98, \"name\":", &value["name"]);
        let text = format!("{{\"digest\":{digest},\n\n\"list\":{list}, {rest}{name}}}");
        fs::write(&file, text).unwrap();
        assert_eq!(read_sealed::<Kept>(&file).unwrap(), kept());
        let plain = serde_json::to_string(&kept()).unwrap();
        fs::write(&file, plain).unwrap();
        let error = read_sealed::<Kept>(&file).unwrap_err().to_string();
        assert!(error.contains("its digest is missing"), "{error}");
    }
}
