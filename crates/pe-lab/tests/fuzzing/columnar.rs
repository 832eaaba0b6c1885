//! A corpus of Parquet and Arrow files.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, DictionaryArray, Float64Array, Int64Array, RecordBatch,
    StringArray, TimestampMillisecondArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{WriterProperties, WriterVersion};

const ROWS: i64 = 40;

fn labels() -> ArrayRef {
    let labels = (0..ROWS).map(|row| Some(["x", "y"][row as usize % 2]));
    Arc::new(labels.collect::<DictionaryArray<Int32Type>>())
}

fn texts() -> RecordBatch {
    let text = |row| format!("a {} b {row}", ["cat", "dog"][row as usize % 2]);
    let texts: StringArray = (0..ROWS).map(|row| Some(text(row))).collect();
    RecordBatch::try_from_iter([("label", labels()), ("text", Arc::new(texts) as ArrayRef)])
        .unwrap()
}

fn numbers() -> RecordBatch {
    let halves = (0..ROWS).map(|row| (row % 7 != 0).then_some(row as f64 / 8.0));
    let whole = Int64Array::from_iter_values((0..ROWS).map(|row| row * row % 11));
    let days = Date32Array::from_iter_values((0..ROWS).map(|row| row as i32));
    let stamps = TimestampMillisecondArray::from_iter_values((0..ROWS).map(|row| row * 60_000));
    let truths: BooleanArray = (0..ROWS).map(|row| Some(row % 3 == 0)).collect();
    let columns: [(&str, ArrayRef); 6] = [
        ("label", labels()),
        ("half", Arc::new(halves.collect::<Float64Array>())),
        ("whole", Arc::new(whole)),
        ("day", Arc::new(days)),
        ("stamp", Arc::new(stamps)),
        ("truth", Arc::new(truths)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .unwrap()
}

fn lists() -> RecordBatch {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for row in 0..ROWS {
        let words = ["a", "b", "c"].iter().cycle().skip(row as usize % 3);
        lists.append_value(words.take(2 + row as usize % 5).map(Some));
    }
    let lists: ArrayRef = Arc::new(lists.finish());
    RecordBatch::try_from_iter([("label", labels()), ("tokens", lists)]).unwrap()
}

fn parquet(table: &RecordBatch, codec: Compression, version: WriterVersion) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_compression(codec)
        .set_writer_version(version)
        .set_max_row_group_row_count(Some(30));
    let mut writer =
        ArrowWriter::try_new(Vec::new(), table.schema(), Some(properties.build())).unwrap();
    writer.write(table).unwrap();
    writer.into_inner().unwrap()
}

fn arrow(table: &RecordBatch, codec: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(codec);
    let schema = table.schema();
    let mut writer =
        FileWriter::try_new_with_options(Vec::new(), &schema, options.unwrap()).unwrap();
    writer.write(table).unwrap();
    writer.into_inner().unwrap()
}

fn stream(table: &RecordBatch) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &table.schema()).unwrap();
    writer.write(table).unwrap();
    writer.into_inner().unwrap()
}

/// Tables of texts, of numbers and of lists, in every form of file that is read.
pub fn corpus() -> Vec<(String, Vec<u8>)> {
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::ZSTD(Default::default()),
        Compression::LZ4_RAW,
    ];
    let mut files = Vec::new();
    for (name, table) in [
        ("texts", texts()),
        ("numbers", numbers()),
        ("lists", lists()),
    ] {
        for (number, codec) in codecs.into_iter().enumerate() {
            let bytes = parquet(&table, codec, versions[number % 2]);
            files.push((format!("{name}-{number}.parquet"), bytes));
        }
        let packings = [
            None,
            Some(CompressionType::LZ4_FRAME),
            Some(CompressionType::ZSTD),
        ];
        for (number, codec) in packings.into_iter().enumerate() {
            files.push((format!("{name}-{number}.feather"), arrow(&table, codec)));
        }
        files.push((format!("{name}.arrow"), stream(&table)));
    }
    files
}
