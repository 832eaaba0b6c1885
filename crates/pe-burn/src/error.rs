//! The one error of this crate.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};

use burn::tensor::DType;

/// What is wrong with a configuration, an input or its positions.
///
/// Where there are a value that was given and a bound that it breaks, the variant carries both and its message
/// names them. The plain methods (`embed`, `rotate`, `bias`, `init`) panic with the same message.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PositionError {
    /// A number in a configuration or an argument is out of bounds.
    #[error("{name} must be {bound}; got {value}")]
    Number {
        /// The name of the number, as the configuration or the method calls it.
        name: Cow<'static, str>,
        /// The value that was given, as it is written: all digits of a whole number.
        value: String,
        /// What the value has to be.
        bound: Cow<'static, str>,
    },

    /// Two settings contradict each other, or one is missing.
    #[error("{reason}")]
    Config {
        /// What is wrong, with the names of the settings.
        reason: Cow<'static, str>,
    },

    /// A name is not one of those that are known.
    #[error("there is no {what} named \"{name}\"; there are: {known}")]
    UnknownName {
        /// What was looked for: a positional scheme, a model type.
        what: &'static str,
        /// The name that was given.
        name: String,
        /// The names that exist.
        known: String,
    },

    /// The last axis of the input is not the width that the module was built for.
    #[error("the input has {name} {got}, but this module was built for {name} {expected}")]
    Width {
        /// The name of the width: `d_model` or `d_head`.
        name: &'static str,
        /// The width that the module was built for.
        expected: usize,
        /// The width of the input.
        got: usize,
    },

    /// Position ids, a mask or segment ids do not have the shape of the input.
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

    /// Positions are for another batch size than the input, or than the other positions.
    #[error("there are {got} {what} for a batch of {expected} rows")]
    Batch {
        /// What was counted. There must be one for each row of the batch, or a single one for all.
        what: &'static str,
        /// The batch size.
        expected: usize,
        /// How many there are.
        got: usize,
    },

    /// A position id is negative or past the largest one.
    #[error("position id {id} at row {row}, token {token} is out of range: ids go from 0 to {max}")]
    IdOutOfRange {
        /// The id.
        id: i128,
        /// Its row in the batch.
        row: usize,
        /// Its index in the row.
        token: usize,
        /// The largest id allowed.
        max: usize,
    },

    /// A time or a coordinate is not a number, or too far from 0.
    #[error(
        "{} at row {row}, token {token} is out of range: {} go from -{max} to {max}",
        number_named(*time, *axis),
        if axis.is_some() { "coordinates" } else { "times" }
    )]
    TimeOutOfRange {
        /// The time or coordinate.
        time: f64,
        /// The axis of a coordinate; `None` for a time.
        axis: Option<usize>,
        /// Its row in the batch.
        row: usize,
        /// Its index in the row.
        token: usize,
        /// The largest number allowed.
        max: usize,
    },

    /// Real-valued positions were given to a scheme that has one entry per whole position.
    #[error("{what} has one entry for each whole position, so it cannot take times")]
    NotWhole {
        /// What needs whole positions.
        what: &'static str,
    },

    /// A bias of positions alone was asked of a scheme that computes with queries and keys.
    #[error(
        "this scheme looks at queries and keys: call `score_bias` with them in place of `bias`"
    )]
    NeedsContent,

    /// What is added to scores was asked of a scheme that computes it from hidden states.
    #[error(
        "this scheme reads the hidden states of each layer: call `as_hidden_bias()` (Inkling) or `as_forget_gate()` (FoX) \
         in place of `bias` and `score_bias`"
    )]
    NeedsStates,

    /// The rows of a list differ in length.
    #[error(
        "row {row} has {got} positions, but row 0 has {expected}: every row needs the same number"
    )]
    Ragged {
        /// The first row that differs.
        row: usize,
        /// The length of row 0.
        expected: usize,
        /// The length of that row.
        got: usize,
    },

    /// `start + seq` goes past the largest position, [`MAX_POSITION`](crate::MAX_POSITION).
    #[error("start {start} + seq {seq} goes past the largest position, {max}")]
    Overflow {
        /// The first position.
        start: usize,
        /// The number of positions.
        seq: usize,
        /// The largest position allowed.
        max: usize,
    },

    /// A position is past the last one that the module has a row for.
    #[error("position {position} is past the end: this module has positions 0 to {} (max_len {max_len})", max_len.saturating_sub(1))]
    TooLong {
        /// The largest position asked for.
        position: usize,
        /// The number of positions that there are.
        max_len: usize,
    },

    /// There is not enough memory for a table or a bias: on the device that it is for, or where it is computed.
    #[error("{rows} rows of width {width} do not fit into memory")]
    TooLarge {
        /// The number of rows.
        rows: usize,
        /// Their width.
        width: usize,
    },

    /// Positions are not on the grid, or do not have the axes, that the encoding needs.
    #[error("this encoding needs {needs}, but got {got}")]
    Grid {
        /// What the encoding needs.
        needs: Cow<'static, str>,
        /// What it was given.
        got: Cow<'static, str>,
    },

    /// The device cannot compute in the data type asked for.
    #[error("{device} cannot compute in {}", dtype.name())]
    DType {
        /// The data type.
        dtype: DType,
        /// The device.
        device: String,
    },

    /// The input is quantized. Nothing can be added to packed values, and they cannot be rotated.
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
}

/// A time, or a coordinate with its axis.
fn number_named(number: f64, axis: Option<usize>) -> String {
    match axis {
        None => format!("time {number}"),
        Some(axis) => format!("coordinate {number} of axis {axis}"),
    }
}

impl PositionError {
    /// This error, for tokens that come after `before` others in a row of a batch.
    pub(crate) fn in_row(mut self, of: usize, before: usize) -> Self {
        if let Self::TimeOutOfRange { row, token, .. } = &mut self {
            *row = of;
            *token += before;
        }
        self
    }

    /// This error, for coordinates along an axis.
    pub(crate) fn along(mut self, coordinate: usize) -> Self {
        if let Self::TimeOutOfRange { axis, .. } = &mut self {
            *axis = Some(coordinate);
        }
        self
    }

    /// A [`Number`](Self::Number) that is out of bounds.
    pub(crate) fn number(
        name: impl Into<Cow<'static, str>>,
        value: impl ToString,
        bound: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Number {
            name: name.into(),
            value: value.to_string(),
            bound: bound.into(),
        }
    }

    /// A [`Config`](Self::Config) error.
    pub(crate) fn config(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Config {
            reason: reason.into(),
        }
    }
}

/// Refuses a number that is out of bounds.
pub(crate) fn check_number(
    fits: bool,
    name: &'static str,
    value: impl ToString,
    bound: impl Into<Cow<'static, str>>,
) -> Result<(), PositionError> {
    match fits {
        true => Ok(()),
        false => Err(PositionError::number(name, value, bound)),
    }
}

/// Refuses an input of another width than the module's.
pub(crate) fn check_width(
    name: &'static str,
    expected: usize,
    got: usize,
) -> Result<(), PositionError> {
    match got == expected {
        true => Ok(()),
        false => Err(PositionError::Width {
            name,
            expected,
            got,
        }),
    }
}

/// The weights of a layer of the model. `what` is what the layers have.
pub(crate) fn of_layer<'a, T>(
    layers: &'a [T],
    layer: usize,
    what: &str,
) -> Result<&'a T, PositionError> {
    layers.get(layer).ok_or_else(|| {
        let bound = format!("below {}, the layers that have {what}", layers.len());
        PositionError::number("layer", layer, bound)
    })
}

/// Refuses a size of 0.
pub(crate) fn check_size(name: &'static str, size: usize) -> Result<(), PositionError> {
    check_number(size > 0, name, size, "at least 1")
}

/// Refuses a factor that is not finite in `f32`, in which sums are computed.
pub(crate) fn check_finite(name: &'static str, value: f64) -> Result<(), PositionError> {
    check_number((value as f32).is_finite(), name, value, "finite in f32")
}

/// Refuses a number that is not finite and above 0 in `f32`.
pub(crate) fn check_positive(name: &'static str, value: f64) -> Result<(), PositionError> {
    let fits = value as f32 > 0.0 && (value as f32).is_finite();
    check_number(fits, name, value, "above 0 and finite in f32")
}

/// The value of a fallible method for its panicking form: panics with the error's message, at the
/// line of the user's call.
#[track_caller]
pub(crate) fn expect<T>(result: Result<T, PositionError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_written_with_all_their_digits() {
        let most = PositionError::number("kernel", usize::MAX, "odd");
        let expected = alloc::format!("kernel must be odd; got {}", usize::MAX);
        assert_eq!(most.to_string(), expected);
        let size = check_number(false, "share", 0.1, "above 1").unwrap_err();
        assert_eq!(size.to_string(), "share must be above 1; got 0.1");
    }

    #[test]
    fn a_length_of_0_has_a_message_too() {
        let error = PositionError::TooLong {
            position: 0,
            max_len: 0,
        };
        assert!(error.to_string().ends_with("(max_len 0)"));
    }
}
