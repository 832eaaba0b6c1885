use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, StringBuilder};
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Int8Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    DurationSecondArray, Float16Array, Float32Array, Float64Array, Int8Array, Int64Array,
    LargeStringArray, RecordBatch, StringArray, StructArray, Time64MicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::*;

type Half = <Float16Type as ArrowPrimitiveType>::Native;
type Columns = Vec<(&'static str, ArrayRef)>;

fn column(name: &'static str, values: impl Array + 'static) -> (&'static str, ArrayRef) {
    (name, Arc::new(values))
}

pub(super) fn batch(columns: Columns) -> RecordBatch {
    let columns = columns
        .into_iter()
        .map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

pub(super) fn parquet(batch: &RecordBatch, codec: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder().set_compression(codec).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

pub(super) fn arrow(batch: &RecordBatch, codec: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(codec);
    let (bytes, schema) = (Vec::new(), batch.schema());
    let mut writer = FileWriter::try_new_with_options(bytes, &schema, options.unwrap()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

pub(super) fn stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

/// The same table in every form of file.
fn files(batch: &RecordBatch) -> Vec<(&'static str, Vec<u8>)> {
    let of_parquet = |codec| parquet(batch, codec);
    vec![
        ("plain", of_parquet(Compression::UNCOMPRESSED)),
        ("snappy", of_parquet(Compression::SNAPPY)),
        ("gzip", of_parquet(Compression::GZIP(Default::default()))),
        ("zstd", of_parquet(Compression::ZSTD(Default::default()))),
        ("lz4", of_parquet(Compression::LZ4_RAW)),
        ("arrow", arrow(batch, None)),
        ("arrow, lz4", arrow(batch, Some(CompressionType::LZ4_FRAME))),
        ("arrow, zstd", arrow(batch, Some(CompressionType::ZSTD))),
        ("stream", stream(batch)),
    ]
}

fn said(bytes: Vec<u8>) -> String {
    text(bytes).unwrap_err().to_string()
}

fn flat() -> RecordBatch {
    let day = 86_400_000_i64;
    let words: DictionaryArray<Int8Type> = vec![Some("x"), None, Some("x")].into_iter().collect();
    let decimals = Decimal128Array::from(vec![Some(-1_250), None, Some(5)]);
    let zoned = TimestampMillisecondArray::from(vec![Some(day + 500), None, Some(-1)]);
    let halves = [0.5, -0.0, 2.0].map(Half::from_f32);
    batch(vec![
        column(
            "text",
            StringArray::from(vec![Some("a, \"b\""), Some("c\nd"), None]),
        ),
        column("{long", LargeStringArray::from(vec!["é", " ", ""])),
        column("word", words),
        column("i8", Int8Array::from(vec![Some(-128), None, Some(127)])),
        column("i64", Int64Array::from(vec![i64::MIN, 0, i64::MAX])),
        column("u64", UInt64Array::from(vec![u64::MAX, 0, 1])),
        column(
            "f16",
            halves.into_iter().map(Some).collect::<Float16Array>(),
        ),
        column(
            "f32",
            Float32Array::from(vec![Some(0.1), Some(f32::NAN), None]),
        ),
        column("f64", Float64Array::from(vec![1e300, 0.1 + 0.2, 3.0])),
        column(
            "bool",
            BooleanArray::from(vec![Some(true), Some(false), None]),
        ),
        column(
            "date",
            Date32Array::from(vec![Some(19_000), Some(-1), None]),
        ),
        column(
            "time",
            Time64MicrosecondArray::from(vec![1_500_000, 0, 86_399_000_000]),
        ),
        column(
            "stamp",
            TimestampNanosecondArray::from(vec![0, 1, day * 1_000_000]),
        ),
        column("zoned", zoned.with_timezone("+01:00")),
        column("decimal", decimals.with_precision_and_scale(9, 2).unwrap()),
    ])
}

const FLAT: &str = "text,\"{long\",word,i8,i64,u64,f16,f32,f64,bool,date,time,stamp,zoned,decimal\n\
    \"a, \"\"b\"\"\",é,x,-128,-9223372036854775808,18446744073709551615,0.5,0.1,1e300,true,2022-01-08,00:00:01.500,1970-01-01T00:00:00,1970-01-02T00:00:00.500Z,-12.50\n\
    \"c\nd\", ,,,0,0,-0.0,,0.30000000000000004,false,1969-12-31,00:00:00,1970-01-01T00:00:00.000000001,,\n\
    ,,x,127,9223372036854775807,1,2.0,,3.0,,,23:59:59,1970-01-02T00:00:00,1969-12-31T23:59:59.999Z,0.05\n";

#[test]
fn a_flat_table_is_the_same_text_in_every_form_of_file() {
    for (name, bytes) in files(&flat()) {
        assert_eq!(text(bytes).unwrap(), FLAT, "{name}");
    }
    // Parquet has no durations.
    let durations = batch(vec![column("d", DurationSecondArray::from(vec![5, -7]))]);
    assert_eq!(text(arrow(&durations, None)).unwrap(), "d\n5\n-7\n");
}

fn nested() -> RecordBatch {
    let mut words = ListBuilder::new(StringBuilder::new());
    words.append_value([Some("a"), None, Some("\"\n")]);
    words.append_null();
    words.append_value::<_, String>([]);
    let mut pairs = ListBuilder::new(ListBuilder::new(Int32Builder::new()));
    for row in 0..3 {
        pairs.values().append_value([Some(row), Some(-1)]);
        pairs.values().append_value([None]);
        pairs.append(true);
    }
    batch(vec![
        column(
            "a \"name\"",
            StringArray::from(vec![Some("x"), None, Some("\u{1}")]),
        ),
        column("words", words.finish()),
        column("pairs", pairs.finish()),
        column("number", Float64Array::from(vec![0.5, f64::NAN, 1e-7])),
    ])
}

#[test]
fn a_table_with_lists_is_json_lines() {
    let expected = r#"{"a \"name\"":"x","words":["a",null,"\"\n"],"pairs":[[0,-1],[null]],"number":0.5}
{"a \"name\"":null,"words":null,"pairs":[[1,-1],[null]],"number":null}
{"a \"name\"":"\u0001","words":[],"pairs":[[2,-1],[null]],"number":1e-7}
"#;
    for (name, bytes) in files(&nested()) {
        assert_eq!(text(bytes).unwrap(), expected, "{name}");
    }
}

#[test]
fn several_batches_and_row_groups_are_one_table() {
    let rows: Vec<i64> = (0..3000).collect();
    let whole = batch(vec![("i", Arc::new(Int64Array::from(rows)))]);
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(700));
    let mut writer =
        ArrowWriter::try_new(Vec::new(), whole.schema(), Some(properties.build())).unwrap();
    writer.write(&whole).unwrap();
    let groups = writer.into_inner().unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &whole.schema()).unwrap();
    for from in [0, 1000, 2000] {
        writer.write(&whole.slice(from, 1000)).unwrap();
    }
    let batches = writer.into_inner().unwrap();
    let expected = (0..3000).map(|i| format!("{i}\n")).collect::<String>();
    for bytes in [groups, batches] {
        assert_eq!(text(bytes).unwrap(), format!("i\n{expected}"));
    }
    // A blank line would not be read as a row.
    let gaps = batch(vec![column("i", Float64Array::from(vec![Some(1.5), None]))]);
    assert_eq!(text(arrow(&gaps, None)).unwrap(), "i\n1.5\nnull\n");
}

#[test]
fn what_no_table_of_text_can_hold_is_refused_by_its_column() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let field = arrow_schema::Field::new("x", numbers.data_type().clone(), true);
    let pair: ArrayRef = Arc::new(StructArray::from(vec![(Arc::new(field), numbers.clone())]));
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![&b"\xff"[..], b""]));
    for (column, what) in [(pair, "struct"), (bytes, "binary")] {
        let table = batch(vec![("good", numbers.clone()), ("bad", column)]);
        for bytes in [parquet(&table, Compression::SNAPPY), arrow(&table, None)] {
            let said = said(bytes);
            let expected = format!("has the column `bad` of the type {what}");
            assert!(said.contains(&expected), "{said}");
            assert!(said.contains("drop(columns=[\"bad\"])"), "{said}");
        }
    }
    let infinite = vec![0.5, f64::NEG_INFINITY];
    let table = batch(vec![("y", Arc::new(Float64Array::from(infinite)))]);
    for (_, bytes) in files(&table) {
        let said = said(bytes);
        assert!(said.starts_with("row 2: `y` is infinite"), "{said}");
    }
    let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
    assert_eq!(said(arrow(&none, None)), "has no column");
    let names: Vec<String> = (0..10_001).map(|i| i.to_string()).collect();
    let wide = names.iter().map(|name| (name, numbers.clone()));
    let wide = RecordBatch::try_from_iter(wide).unwrap();
    for bytes in [parquet(&wide, Compression::SNAPPY), arrow(&wide, None)] {
        let said = said(bytes);
        assert!(said.contains("10,001 columns, more than 10,000"), "{said}");
    }
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    for (name, bytes) in files(&flat()).into_iter().chain(files(&nested())) {
        for end in 0..bytes.len() {
            assert!(text(bytes[..end].to_vec()).is_err(), "{name} cut at {end}");
        }
        assert!(said(bytes[..bytes.len() - 1].to_vec()).contains("copy or download"));
    }
    assert_eq!(said(Vec::new()), "is empty");
    let table = said(b"label,text\n1,a b\n".to_vec());
    assert!(table.contains("called NAME.csv"), "{table}");
    assert!(said(b"PK\x03\x04\x14\0\x06".to_vec()).contains("ZIP"));
}

/// With one wrong bit in each byte in turn: an error or a text, and no panic.
#[test]
fn a_file_with_a_wrong_bit_is_read_or_refused() {
    for (_, bytes) in files(&flat()).into_iter().chain(files(&nested())) {
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1 << (place % 8);
            let _ = text(changed);
        }
    }
}

/// Sizes of an Arrow file are numbers of four or eight bytes.
#[test]
fn a_size_of_a_terabyte_is_refused_before_memory_is_taken() {
    let large = (1_u64 << 40).to_le_bytes();
    let all = files(&flat()).into_iter().chain(files(&nested()));
    for (name, bytes) in all.filter(|(name, _)| name.starts_with("arrow") || *name == "stream") {
        for place in (0..bytes.len() - 8).step_by(4) {
            let mut changed = bytes.clone();
            changed[place..place + 8].copy_from_slice(&large);
            if let Ok(text) = text(changed) {
                assert!(text.len() < 10_000, "{name} at {place}");
            }
        }
    }
}

#[test]
fn a_small_file_of_a_large_table_is_refused_with_the_bound() {
    // A dictionary holds the text once.
    let long = "a".repeat(1 << 20);
    let rows: DictionaryArray<Int8Type> = (0..300).map(|_| Some(&*long)).collect();
    let table = batch(vec![("text", Arc::new(rows))]);
    for bytes in [parquet(&table, Compression::SNAPPY), arrow(&table, None)] {
        assert!(bytes.len() < 3 << 20, "{}", bytes.len());
        let said = said(bytes);
        assert!(said.contains("more than the 268,435,456 bytes"), "{said}");
    }
}
