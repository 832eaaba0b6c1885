//! Parquet files.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};

use super::super::error::Problem;
use super::super::limits::MAX_BYTES;
use super::table::{Table, WIDER, broken, too_large};

/// The number of rows that are unpacked at once.
const BATCH: usize = 256;

/// The table as text.
pub(super) fn text(bytes: Vec<u8>) -> Result<String, Problem> {
    let bytes = Bytes::from(bytes);
    let about = about(&bytes)?;
    let mut table = Table::new(about.schema())?;
    let columns = about
        .metadata()
        .row_groups()
        .iter()
        .flat_map(|group| group.columns());
    let unpacked: i64 = columns.map(|column| column.uncompressed_size()).sum();
    if unpacked > (WIDER * MAX_BYTES) as i64 {
        return Err(too_large());
    }
    let rows = about.metadata().file_metadata().num_rows();
    // Views of texts point into the page or the dictionary, so that a long text that many rows share is not unpacked for each.
    let options = ArrowReaderOptions::new().with_schema(Arc::new(with_views(about.schema())));
    let about = ArrowReaderMetadata::try_new(about.metadata().clone(), options).map_err(damaged)?;
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, about);
    let batches = reader.with_batch_size(BATCH).build().map_err(damaged)?;
    for batch in batches {
        table.add(&batch.map_err(damaged)?)?;
    }
    match i64::try_from(table.rows()) {
        Ok(read) if read == rows => Ok(table.into_text()),
        _ => Err(damaged(format!(
            "it says that it has {rows} rows and has {}",
            table.rows()
        ))),
    }
}

/// What a file says of itself.
fn about(bytes: &Bytes) -> Result<ArrowReaderMetadata, Problem> {
    // The Arrow types that a writer may add are ignored: they could contradict those of Parquet.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    ArrowReaderMetadata::load(bytes, options).map_err(damaged)
}

fn with_views(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| with_view(field));
    Schema::new(fields.collect::<Vec<FieldRef>>())
}

fn with_view(field: &Field) -> FieldRef {
    let kind = match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::List(inner) => DataType::List(with_view(inner)),
        other => other.clone(),
    };
    Arc::new(field.clone().with_data_type(kind))
}

fn damaged(error: impl std::fmt::Display) -> Problem {
    broken("Parquet", &error.to_string())
}
