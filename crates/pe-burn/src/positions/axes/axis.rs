//! One axis.

use serde::{Deserialize, Serialize};

/// One of the [`Axes`](super::Axes) of an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The coordinate that it encodes, counted from 0. An image has the coordinates row and column, a
    /// video frame, row and column.
    pub coordinate: usize,
    /// The number of its columns, an even number. Default: all axes have the same number; if one axis
    /// has a number, all need one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<usize>,
    /// The base of the wavelengths of this axis, where it is another than that of the encoding. A sinusoid takes one only
    /// with [`Formula::Paper`](crate::Formula::Paper).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<f64>,
    /// Multiplies its coordinate. Default: 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub scale: f64,
}

fn one() -> f64 {
    1.0
}

fn is_one(scale: &f64) -> bool {
    *scale == 1.0
}

impl Axis {
    /// The axis of a coordinate, with as many columns as the other axes.
    pub const fn new(coordinate: usize) -> Self {
        Self {
            coordinate,
            columns: None,
            base: None,
            scale: 1.0,
        }
    }

    /// Sets the number of its columns, an even number.
    pub fn with_columns(self, columns: usize) -> Self {
        let columns = Some(columns);
        Self { columns, ..self }
    }

    /// Sets the base of its wavelengths.
    pub fn with_base(self, base: f64) -> Self {
        let base = Some(base);
        Self { base, ..self }
    }

    /// Sets the factor of its coordinate, finite and above 0.
    pub fn with_scale(self, scale: f64) -> Self {
        Self { scale, ..self }
    }
}
