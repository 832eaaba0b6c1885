use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder};
use arrow_array::{
    ArrayRef, Date32Array, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray,
    types::Int32Type,
};
use parquet::basic::Compression;

use super::super::packed::pack;
use super::tests::{arrow, batch, parquet, stream};
use crate::data::DataTask;
use crate::data::testing::{Says, read};

const ROWS: usize = 60;

fn labels() -> ArrayRef {
    let labels = (0..ROWS).map(|row| Some(["x", "y"][row % 2]));
    Arc::new(labels.collect::<DictionaryArray<Int32Type>>())
}

/// Reads a table from a file of text and from each kind of columns, and compares what was found and the first batch.
fn same(table: &RecordBatch, text: &str, name: &str, settings: &str) {
    let known = read(name, text, settings).unwrap();
    for (other, bytes) in [
        ("a.parquet", parquet(table, Compression::SNAPPY)),
        ("a.FEATHER", arrow(table, None)),
        ("a.arrow", stream(table)),
    ] {
        let found = read(other, &bytes, settings).unwrap();
        assert_eq!(found.text().replace(other, name), known.text());
        assert_eq!(found.labels(), known.labels());
        assert_eq!(found.spec().format, known.spec().format);
        assert_eq!(found.spec().sha256, crate::data::digest(&bytes));
        let batch = |data: &DataTask| format!("{:?}", data.task().train_batch(1, 0, 8));
        assert_eq!(batch(&found), batch(&known));
        let cut = read(other, &bytes[..bytes.len() / 2], settings).unwrap_err();
        cut.says(&format!("{other} … is broken"));
    }
}

#[test]
fn rows_of_texts_numbers_and_lists_are_those_of_the_text() {
    let text = |row: usize| format!("a {} \"b\", {row}", ["cat", "dog"][row % 2]);
    let texts: StringArray = (0..ROWS).map(|row| Some(text(row))).collect();
    let table = batch(vec![("label", labels()), ("a;text", Arc::new(texts))]);
    let rows = (0..ROWS).map(|row| {
        let text = text(row).replace('"', "\"\"");
        format!("{},\"{text}\"\n", ["x", "y"][row % 2])
    });
    let csv = format!("label,a;text\n{}", rows.collect::<String>());
    same(&table, &csv, "a.csv", "text = 'a;text'");

    let number = |row: usize| (row % 9 != 4).then_some(row as f64 / 8.0);
    let halves: Float64Array = (0..ROWS).map(number).collect();
    let whole = Int64Array::from_iter_values((0..ROWS).map(|row| (row * row % 7) as i64));
    let table = batch(vec![
        ("label", labels()),
        ("half", Arc::new(halves)),
        ("whole", Arc::new(whole)),
    ]);
    let rows = (0..ROWS).map(|row| {
        let half = number(row).map_or(String::new(), |number| format!("{number:?}"));
        format!("{},{half},{}\n", ["x", "y"][row % 2], row * row % 7)
    });
    let csv = format!("label,half,whole\n{}", rows.collect::<String>());
    same(&table, &csv, "a.csv", "");

    let mut lists = ListBuilder::new(Float64Builder::new());
    let list = |row: usize| (0..2 + row % 5).map(move |step| (row + step) as f64 / 4.0);
    (0..ROWS).for_each(|row| lists.append_value(list(row).map(Some)));
    let table = batch(vec![
        ("label", labels()),
        ("tokens", Arc::new(lists.finish())),
    ]);
    let rows = (0..ROWS).map(|row| {
        let (list, label): (Vec<f64>, _) = (list(row).collect(), ["x", "y"][row % 2]);
        format!("{{\"label\": \"{label}\", \"tokens\": {list:?}}}\n")
    });
    same(&table, &rows.collect::<String>(), "a.jsonl", "");
}

#[test]
fn series_and_long_tables_are_those_of_the_text() {
    let value = |row: i32| f64::from(row * row % 17) / 2.0;
    let days = Date32Array::from_iter_values(0..300);
    let values = Float64Array::from_iter_values((0..300).map(value));
    let table = batch(vec![("day", Arc::new(days)), ("y", Arc::new(values))]);
    let date = |day: i32| chrono::NaiveDate::from_epoch_days(day).unwrap();
    let rows = (0..300).map(|row| format!("{},{}\n", date(row), value(row)));
    let csv = format!("day,y\n{}", rows.collect::<String>());
    same(&table, &csv, "a.csv", "target = 'y'; time = 'day'");

    let of = |row: i64| (row / 5, row % 5, ["up", "down"][(row / 5) as usize % 2]);
    let column = |number: fn(i64) -> i64| {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values((0..200).map(number)));
        column
    };
    let ends: StringArray = (0..200).map(|row| Some(of(row).2)).collect();
    let table = batch(vec![
        ("id", column(|row| row / 5)),
        ("t", column(|row| row % 5)),
        ("end", Arc::new(ends)),
        ("v", column(|row| row * row % 23)),
    ]);
    let rows = (0..200).map(|row| {
        let (id, time, end) = of(row);
        format!("{id},{time},{end},{}\n", row * row % 23)
    });
    let csv = format!("id,t,end,v\n{}", rows.collect::<String>());
    same(
        &table,
        &csv,
        "a.csv",
        "id = 'id'; time = 't'; label = 'end'",
    );
}

#[test]
fn settings_and_names_of_other_files_are_refused() {
    let halves = Float64Array::from_iter_values((0..ROWS).map(|row| row as f64 / 2.0));
    let halves: ArrayRef = Arc::new(halves);
    let table = batch(vec![
        ("label", labels()),
        ("a", halves.clone()),
        ("b", halves),
    ]);
    let bytes = parquet(&table, Compression::SNAPPY);
    let [tab, header] =
        ["--delimiter", "--no-header"].map(|flag| format!("{flag} is about tables of text"));
    let characters = "tokens = 'characters'";
    for (name, bytes, settings, said) in [
        ("a.parquet", &bytes[..], "delimiter = \"\\t\"", &tab[..]),
        ("a.arrow", &bytes, "no_header = true", &header),
        ("a.dat", &bytes, characters, "call it NAME.parquet"),
        ("a.dat", &bytes, "", "call it NAME.parquet"),
        ("a.parquet.gz", &pack(&bytes), "", "gunzip"),
        ("a.parquet", b"", "", "is empty"),
        ("a.parquet", b"label,n\n", "", "is called NAME.csv"),
    ] {
        read(name, bytes, settings).unwrap_err().says(said);
    }
    let rows: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS as i64).rev()));
    let columns = vec![
        ("label", labels()),
        ("a", rows.clone()),
        ("__index_level_0__", rows),
    ];
    let shuffled = parquet(&batch(columns), Compression::SNAPPY);
    let told = read("a.parquet", &shuffled, "").unwrap_err();
    told.says("`__index_level_0__` sounds like no token");
    // The bytes say which of the two it is.
    assert!(read("a.arrow", &bytes, "").is_ok());
}
