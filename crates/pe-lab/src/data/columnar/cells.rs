//! One value of a column as text.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type,
};
use arrow_array::{
    AnyDictionaryArray, Array, ArrayRef, downcast_integer_array, downcast_primitive_array,
    downcast_temporal_array,
};
use arrow_schema::{DataType, TimeUnit};
use chrono::NaiveTime;

use super::super::limits::MAX_BYTES;

/// The format of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Csv,
    Json,
}

/// Whether values of this type are read.
pub(super) fn is_read(kind: &DataType) -> bool {
    use DataType as Of;
    match kind {
        Of::List(inner) | Of::LargeList(inner) | Of::FixedSizeList(inner, _) => {
            is_read(inner.data_type())
        }
        Of::Dictionary(_, values) => !is_list(values) && is_read(values),
        Of::Null | Of::Boolean | Of::Utf8 | Of::LargeUtf8 | Of::Utf8View => true,
        Of::Decimal32(..) | Of::Decimal64(..) | Of::Decimal128(..) | Of::Decimal256(..) => true,
        Of::Duration(_) => true,
        kind => kind.is_integer() || kind.is_floating() || is_of_time(kind),
    }
}

/// Whether it is a column of lists.
pub(super) fn is_list(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..)
    )
}

fn is_of_time(kind: &DataType) -> bool {
    use DataType as Of;
    matches!(
        kind,
        Of::Date32 | Of::Date64 | Of::Time32(_) | Of::Time64(_) | Of::Timestamp(..)
    )
}

/// What a type that is not read is called.
pub(super) fn name_of(kind: &DataType) -> String {
    use DataType as Of;
    match kind {
        Of::Struct(_) => "struct".into(),
        Of::Map(..) => "map".into(),
        Of::Union(..) => "union".into(),
        Of::Binary | Of::LargeBinary | Of::BinaryView | Of::FixedSizeBinary(_) => "binary".into(),
        Of::List(inner) | Of::LargeList(inner) | Of::FixedSizeList(inner, _) => {
            format!("list of {}", name_of(inner.data_type()))
        }
        other => {
            let name = other.to_string();
            name.chars().take(60).collect()
        }
    }
}

/// Writes the value of a row: whole numbers by their digits, others by the shortest that are read as the same number, dates and times as
/// ISO 8601 has them, in UTC where a column has a time zone, durations by the number of their units. What is missing, and what is not a
/// number, is an empty cell, or `null`.
///
/// # Errors
///
/// With what is wrong with the value, as the end of a sentence.
pub(super) fn write(
    array: &dyn Array,
    row: usize,
    form: Form,
    out: &mut String,
) -> Result<(), String> {
    macro_rules! decimal {
        ($kind:ty) => {
            out.push_str(&array.as_primitive::<$kind>().value_as_string(row))
        };
    }
    if array.is_null(row) {
        missing(form, out);
        return Ok(());
    }
    match array.data_type() {
        DataType::Null => missing(form, out),
        DataType::Boolean => put(array.as_boolean().value(row), out),
        kind if kind.is_integer() || matches!(kind, DataType::Duration(_)) => {
            downcast_primitive_array!(array => put(format_args!("{:?}", array.value(row)), out), _ => {})
        }
        DataType::Float16 => {
            let number = array.as_primitive::<Float16Type>().value(row);
            real(number.to_f32(), form, out)?;
        }
        DataType::Float32 => real(array.as_primitive::<Float32Type>().value(row), form, out)?,
        DataType::Float64 => real(array.as_primitive::<Float64Type>().value(row), form, out)?,
        DataType::Decimal32(..) => decimal!(Decimal32Type),
        DataType::Decimal64(..) => decimal!(Decimal64Type),
        DataType::Decimal128(..) => decimal!(Decimal128Type),
        DataType::Decimal256(..) => decimal!(Decimal256Type),
        DataType::Utf8 => push_text(array.as_string::<i32>().value(row), form, out),
        DataType::LargeUtf8 => push_text(array.as_string::<i64>().value(row), form, out),
        DataType::Utf8View => push_text(array.as_string_view().value(row), form, out),
        DataType::Dictionary(..) => word(array.as_any_dictionary(), row, form, out)?,
        DataType::List(_) => list(&array.as_list::<i32>().value(row), form, out)?,
        DataType::LargeList(_) => list(&array.as_list::<i64>().value(row), form, out)?,
        DataType::FixedSizeList(..) => list(&array.as_fixed_size_list().value(row), form, out)?,
        kind if is_of_time(kind) => {
            let time = time(array, row).ok_or("is a time of no year that is read")?;
            push_text(&time, form, out);
        }
        other => return Err(format!("is of the type {}", name_of(other))),
    }
    Ok(())
}

/// Writes the entry of the dictionary whose number a row has.
fn word(
    array: &dyn AnyDictionaryArray,
    row: usize,
    form: Form,
    out: &mut String,
) -> Result<(), String> {
    let keys = array.keys();
    let place = downcast_integer_array!(keys => usize::try_from(keys.value(row)).ok(), _ => None);
    let place = place.filter(|place| *place < array.values().len());
    let place = place.ok_or("has a number of a word that is not there")?;
    write(array.values().as_ref(), place, form, out)
}

fn missing(form: Form, out: &mut String) {
    if form == Form::Json {
        out.push_str("null");
    }
}

fn put(value: impl std::fmt::Display, out: &mut String) {
    // Writing to a string does not fail.
    let _ = write!(out, "{value}");
}

/// Writes a number, or a missing value for NaN. Python writes it in the same digits.
fn real(
    number: impl std::fmt::Debug + Copy + Into<f64>,
    form: Form,
    out: &mut String,
) -> Result<(), String> {
    match number.into() {
        value if value.is_finite() => {
            let _ = write!(out, "{number:?}");
        }
        value if value.is_nan() => missing(form, out),
        _ => return Err("is infinite, and no number can be; leave the row out".into()),
    }
    Ok(())
}

/// Writes a text: as a cell, in quotes where it needs them, or as JSON has it.
pub(super) fn push_text(text: &str, form: Form, out: &mut String) {
    match form {
        Form::Json => {
            // A string is always JSON.
            out.push_str(&serde_json::Value::from(text).to_string());
        }
        Form::Csv if text.contains([',', '"', '\n', '\r']) || text.starts_with('{') => {
            out.push('"');
            out.push_str(&text.replace('"', "\"\""));
            out.push('"');
        }
        Form::Csv => out.push_str(text),
    }
}

fn list(values: &ArrayRef, form: Form, out: &mut String) -> Result<(), String> {
    out.push('[');
    for row in 0..values.len() {
        if row > 0 {
            out.push(',');
        }
        write(values.as_ref(), row, form, out)?;
        // A list of nothing but missing values takes no memory before it is text.
        if out.len() as u64 > MAX_BYTES {
            return Err("is a list that is longer than all that is read".into());
        }
    }
    out.push(']');
    Ok(())
}

/// A date, a time of day, or both.
fn time(array: &dyn Array, row: usize) -> Option<String> {
    let (count, since_1970) = downcast_temporal_array!(
        array => (i64::from(array.value(row)), array.value_as_datetime(row)),
        _ => return None,
    );
    Some(match array.data_type() {
        DataType::Time32(unit) | DataType::Time64(unit) => clock(count, *unit)?,
        DataType::Timestamp(_, zone) => {
            let zone = if zone.is_some() { "Z" } else { "" };
            // As ISO 8601 has it, with a fraction if there is one.
            format!("{:?}{zone}", since_1970?)
        }
        _ => since_1970?.date().to_string(),
    })
}

/// The time of day this many units after midnight; `None` for more units than a day has, which Arrow takes for another
/// time.
fn clock(count: i64, unit: TimeUnit) -> Option<String> {
    let in_a_second = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let seconds = u32::try_from(count.div_euclid(in_a_second)).ok()?;
    let rest = u32::try_from(count.rem_euclid(in_a_second) * (1_000_000_000 / in_a_second)).ok()?;
    Some(NaiveTime::from_num_seconds_from_midnight_opt(seconds, rest)?.to_string())
}
