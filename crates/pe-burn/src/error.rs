//! The one error of this crate.

use alloc::string::String;
use burn::tensor::DType;

/// What was wrong with a configuration, an input or its positions.
///
/// Every variant carries the numbers that were wrong and the bound that they broke. The `try_*`
/// methods return it; the plain methods panic with the same message.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PositionError {
    /// `d_model` is 0.
    #[error("d_model must be at least 1, got 0")]
    ZeroDModel,

    /// `max_len` is 0.
    #[error("max_len must be at least 1, got 0")]
    ZeroMaxLen,

    /// There are no positions to draw from.
    #[error("max_position must be at least 1, got 0")]
    ZeroMaxPosition,

    /// The last axis of the input is not the `d_model` that the module was built for.
    #[error("the input has d_model {got}, but this encoding was built for d_model {expected}")]
    DModel {
        /// The width that the module was built for.
        expected: usize,
        /// The width of the input.
        got: usize,
    },

    /// The last axis of queries or keys is not the `d_head` that the module was built for.
    #[error("the input has d_head {got}, but this encoding was built for d_head {expected}")]
    DHead {
        /// The width that the module was built for.
        expected: usize,
        /// The width of the input.
        got: usize,
    },

    /// The columns to rotate do not come in pairs, or there are not so many.
    #[error(
        "the columns to rotate come in pairs: their number must be even, from 2 to d_head {d_head}; got {rotary_dim}"
    )]
    RotaryDim {
        /// The number of columns to rotate.
        rotary_dim: usize,
        /// The width of a head.
        d_head: usize,
    },

    /// The range of xPos's decay is not a positive number.
    #[error("scale_base must be a finite number above 0; got {scale_base}")]
    ScaleBase {
        /// The number that was given.
        scale_base: f64,
    },

    /// xPos's factors are no longer numbers in the type of the input.
    #[error(
        "position {position} is too far: with scale_base {scale_base} the factors of xPos are numbers in {} up to position {max}",
        dtype.name()
    )]
    XPosTooFar {
        /// The position farthest from 0.
        position: f64,
        /// The last position at which they are.
        max: usize,
        /// The range of the decay.
        scale_base: f64,
        /// The type of the input.
        dtype: DType,
    },

    /// A row has more tokens than positions can be drawn for.
    #[error(
        "row {row} has {length} tokens: that many distinct positions cannot be drawn from {max_position} for a batch of seq {seq}"
    )]
    Draw {
        /// The row.
        row: usize,
        /// Its number of tokens.
        length: usize,
        /// How many positions there are to draw from.
        max_position: usize,
        /// The length of the batch.
        seq: usize,
    },

    /// The heads cannot share the width of the model.
    #[error("d_model {d_model} is not a multiple of the number of heads, {heads}")]
    Heads {
        /// The width of the model.
        d_model: usize,
        /// The number of heads.
        heads: usize,
    },

    /// Nothing is known of models of this kind.
    #[error("nothing is known of the model type \"{model_type}\"; known are: {known}")]
    UnknownModel {
        /// The kind of model.
        model_type: String,
        /// Those that are known.
        known: String,
    },

    /// A model's `config.json` does not describe a rotary encoding.
    #[error("the model's config makes no rotary encoding: {reason}")]
    ModelConfig {
        /// What is wrong with it.
        reason: String,
    },

    /// The number of heads is 0.
    #[error("heads must be at least 1, got 0")]
    ZeroHeads,

    /// T5's buckets cannot be shared out.
    #[error(
        "{buckets} buckets up to distance {max_distance}: their number must be a multiple of {multiple_of}, and max_distance more than {} and at most {most}",
        buckets / multiple_of
    )]
    Buckets {
        /// The number of buckets.
        buckets: usize,
        /// What it has to be a multiple of.
        multiple_of: usize,
        /// The distance of the last bucket.
        max_distance: usize,
        /// The largest such distance.
        most: usize,
    },

    /// A number of FIRE is not above 0.
    #[error("{what} must be above 0 and finite, both in f32; got {value}")]
    Fire {
        /// Which number.
        what: &'static str,
        /// The number that was given.
        value: f64,
    },

    /// Queries and keys have positions for batches of different sizes.
    #[error("the queries have positions for {queries} rows and the keys for {keys}")]
    Rows {
        /// The rows of the queries.
        queries: usize,
        /// The rows of the keys.
        keys: usize,
    },

    /// Ids are too far apart for the integers that the device has.
    #[error("positions {span} apart: this device counts distances up to {max}")]
    Span {
        /// How far they are apart.
        span: usize,
        /// The largest distance.
        max: usize,
    },

    /// The base of the wavelengths does not give a decreasing, finite spectrum.
    #[error(
        "base must be a finite number greater than 1, so that the frequencies base^(-2i/d_model) decrease; got {base}"
    )]
    Base {
        /// The base that was given.
        base: f64,
    },

    /// The shortest and the longest wavelength do not make a range.
    #[error(
        "wavelengths must go from a shortest to a longest, both finite and positive; got {min} to {max}"
    )]
    Wavelengths {
        /// The shortest.
        min: f64,
        /// The longest.
        max: f64,
    },

    /// A base and a formula are both given, and each of them says what the frequencies are.
    #[error("a formula stands in the place of a base, but base is {base}: give one of the two")]
    BaseAndFormula {
        /// The base.
        base: f64,
    },

    /// A number of a [`RopeScaling`](crate::RopeScaling) or a [`Formula`](crate::Formula) makes no
    /// sense.
    #[error("{what} must be {bound}; got {value}")]
    Number {
        /// Which number.
        what: &'static str,
        /// The number that was given.
        value: f64,
        /// What it has to be.
        bound: &'static str,
    },

    /// LongRoPE is given nothing to find its attention factor from.
    #[error(
        "longrope needs a factor, which is max_position_embeddings / original_max_position_embeddings, or an attention_factor"
    )]
    LongropeFactor,

    /// LongRoPE does not have one factor for each frequency.
    #[error("longrope has {got} factors for {expected} frequencies")]
    Factors {
        /// The number of frequencies.
        expected: usize,
        /// The number of factors.
        got: usize,
    },

    /// The dropout probability is outside `[0, 1)`.
    #[error("dropout must be a probability in [0, 1), got {dropout}")]
    Dropout {
        /// The probability that was given.
        dropout: f64,
    },

    /// A factor (the gain, the input scale) is not a finite number in `f32`, the type of the sum.
    #[error("{name} must be a finite number in f32, got {value}")]
    NotFinite {
        /// Which factor.
        name: &'static str,
        /// The value that was given.
        value: f64,
    },

    /// An explicit position is negative or past the largest one.
    #[error("position id {id} at row {row}, token {token} is out of range: ids go from 0 to {max}")]
    IdOutOfRange {
        /// The id.
        id: i128,
        /// Its row in the batch.
        row: usize,
        /// Its place in the row.
        token: usize,
        /// The largest id allowed.
        max: usize,
    },

    /// A time is not a number, or too far from 0.
    #[error(
        "time {time} at row {row}, token {token} is out of range: times go from -{max} to {max}"
    )]
    TimeOutOfRange {
        /// The time.
        time: f64,
        /// Its row in the batch.
        row: usize,
        /// Its place in the row.
        token: usize,
        /// The largest time allowed.
        max: usize,
    },

    /// Positions are times where only whole positions make sense.
    #[error(
        "{what} has one entry for each whole position: it cannot take times, which lie between them"
    )]
    NotWhole {
        /// What needs whole positions.
        what: &'static str,
    },

    /// A table cannot be cut to more rows than it has, or extended to fewer.
    #[error("{what} a table of {max_len} positions to {to}")]
    Length {
        /// What cannot be done.
        what: &'static str,
        /// The positions that the table has.
        max_len: usize,
        /// The positions that it should have.
        to: usize,
    },

    /// A table is not of the grid that it should be resized from, or cannot be resized to the other.
    #[error(
        "a table is resized from the image that it is of to another, with the same tokens in front: got {max_len} positions, from {from:?} to {to:?}"
    )]
    Resize {
        /// The positions that the table has.
        max_len: usize,
        /// The grid that it should be of.
        from: crate::Grid,
        /// The grid that it should be resized to.
        to: crate::Grid,
    },

    /// A grid has no tokens to choose from.
    #[error("the grid has no tokens: its height, its width or its number of frames is 0")]
    EmptyGrid,

    /// An encoding of a grid has positions that are not on one, or on one of other axes.
    #[error(
        "this encoding is of {needs}, but the positions are on {got}: Positions::from(Grid) gives it one"
    )]
    NoGrid {
        /// What the encoding is of.
        needs: &'static str,
        /// What the positions are on.
        got: &'static str,
    },

    /// A whole grid is given to an encoding of a line.
    #[error("this encoding is of a line: forward_grid is for a configuration with_axes")]
    NoAxes,

    /// The input of `forward_grid` has not the axes of the grid.
    #[error(
        "forward_grid takes [batch, the axes of {axes}, d_model], which are {expected} axes; got {got}"
    )]
    GridInput {
        /// What the encoding is of.
        axes: &'static str,
        /// The number of axes that the input needs.
        expected: usize,
        /// The number of axes that it has.
        got: usize,
    },

    /// The axes of a grid cannot share the columns.
    #[error("{columns} columns cannot be shared by the {axes} axes of a grid: {rule}")]
    AxisShare {
        /// The number of columns.
        columns: usize,
        /// The number of axes.
        axes: usize,
        /// What the number of columns has to be.
        rule: &'static str,
    },

    /// Frequencies that follow the length of the input are asked for on a grid, which has several.
    #[error("a grid has no one length: dynamic and longrope scaling are for encodings of a line")]
    GridScaling,

    /// `start + seq` goes past the largest position, [`MAX_POSITION`](crate::MAX_POSITION).
    #[error("start {start} + seq {seq} goes past the largest position, {max}")]
    Overflow {
        /// The first position.
        start: usize,
        /// How many follow.
        seq: usize,
        /// The largest position allowed.
        max: usize,
    },

    /// An offset between two positions is larger than any two positions are apart.
    #[error("offset {offset} is out of range: positions are at most {max} apart")]
    Offset {
        /// The offset.
        offset: isize,
        /// The largest distance.
        max: usize,
    },

    /// A table is too large for the memory.
    #[error("{rows} rows of width {d_model} are too many for the memory")]
    TooLarge {
        /// The number of rows.
        rows: usize,
        /// Their width.
        d_model: usize,
    },

    /// There is not one start for each row of the batch.
    #[error("there are {got} starts for a batch of {expected} rows")]
    Starts {
        /// The number of rows.
        expected: usize,
        /// The number of starts.
        got: usize,
    },

    /// Ids, a mask or segment ids do not have the shape of the input.
    #[error(
        "the {what} has shape [{}, {}], but the input needs [{}, {}]",
        got[0], got[1], expected[0], expected[1]
    )]
    Shape {
        /// What has the wrong shape.
        what: &'static str,
        /// `[batch, seq]` of the input.
        expected: [usize; 2],
        /// `[batch, seq]` of what was given.
        got: [usize; 2],
    },

    /// The rows of a list of ids differ in length.
    #[error(
        "row {row} has {got} position ids, but row 0 has {expected}: every row needs the same number"
    )]
    Ragged {
        /// The first row that differs.
        row: usize,
        /// The length of row 0.
        expected: usize,
        /// The length of that row.
        got: usize,
    },

    /// A position is past the last one that the module has a row for.
    #[error("position {position} is past the end: this encoding has positions 0 to {} (max_len {max_len})", max_len.saturating_sub(1))]
    TooLong {
        /// The largest position asked for.
        position: usize,
        /// The number of positions that there are.
        max_len: usize,
    },

    /// The device cannot compute in the data type asked for.
    #[error("{device} cannot compute in {}", dtype.name())]
    DType {
        /// The data type.
        dtype: DType,
        /// The device.
        device: String,
    },

    /// The input is quantized, and there is no sum of packed numbers to round.
    #[error("the input is quantized: dequantize() it first")]
    Quantized,

    /// The input is on another device than the module.
    #[error("the input is on {input}, but this module is on {module}: move one with to_device")]
    Device {
        /// The device of the input.
        input: String,
        /// The device of the module.
        module: String,
    },

    /// An odd `d_model` leaves a sine without its cosine, and no linear map shifts that one.
    #[error(
        "d_model {d_model} is odd: its last sine has no cosine, so no linear map from PE(p) to PE(p + k) exists"
    )]
    OddDModel {
        /// The width.
        d_model: usize,
    },

    /// No scheme has this name.
    #[error("there is no positional scheme named \"{name}\"; there are: {known}")]
    UnknownScheme {
        /// The name that was given.
        name: String,
        /// The names that there are.
        known: String,
    },
}

/// Unwraps the result of a `try_*` method for its panicking twin.
#[track_caller]
pub(crate) fn expect<T>(result: Result<T, PositionError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}
