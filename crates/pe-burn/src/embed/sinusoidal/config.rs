//! The configuration of the sinusoid, and the frequencies that it says.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::config::config;
use crate::embed::InputScale;
use crate::error::{PositionError, check_finite};
use crate::layout::Layout;
use crate::positions::{Axes, AxisFrequencies, PairOrder};
use crate::spectrum::buffer::DEFAULT_MAX_LEN;
use crate::spectrum::{Formula, Spectrum};

/// The factor of the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gain {
    /// A constant.
    Fixed(f64),
    /// A parameter of shape `[1]` that training adjusts, with its initial value.
    Learned(f64),
}

impl Default for Gain {
    fn default() -> Self {
        Self::Fixed(1.0)
    }
}

/// What happens at positions from `max_len` on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LengthLimit {
    /// They are encoded like all others: `max_len` is the size that the buffer starts with.
    #[default]
    None,
    /// [`PositionError::TooLong`].
    Error,
}

config! {
    /// The configuration of a [`SinusoidalPositionalEncoding`](super::SinusoidalPositionalEncoding).
    pub struct SinusoidalPositionalEncodingConfig {
        /// The width of the embeddings, at least 1. Odd is fine: the last cosine is left out.
        d_model: usize,
    }

    /// The paper's encoding for embeddings of width `d_model`; every option at its default.
    new;

    /// The number of rows that the buffer starts with, at least 1; it grows when it is used past them.
    /// Default: 5000.
    max_len: usize = DEFAULT_MAX_LEN,
    with_max_len;

    /// The formula of the frequencies: the paper's with any base, that of another library (to use
    /// weights that it trained), or a range of wavelengths. Default: the paper's, base 10 000.
    formula: Formula = Formula::default(),
    /// Sets the formula of the frequencies; a number is the base of the paper's.
    with_formula: impl Into<Formula>;

    /// Which column holds which sine and cosine. Default: that of the formula, interleaved for the
    /// paper's.
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<Layout> = None,
    /// Sets which column holds which sine and cosine, in place of the layout of the formula.
    with_layout: Layout;

    /// The axes that share the columns. Each has its own frequencies, and its columns lie side by side.
    /// Default: none, positions are on a line.
    ///
    /// The formula applies to the columns of one axis. Without widths, each of `a` axes has an encoding of
    /// width 2⌈d_model/2a⌉. Together these may be more columns than `d_model`. Then the last ones are left
    /// out; every axis must keep at least one.
    #[serde(skip_serializing_if = "Option::is_none")]
    axes: Option<Axes> = None,
    /// Sets the axes that share the columns, for images, video and coordinates of any kind: see
    /// [`forward_grid`](super::SinusoidalPositionalEncoding::forward_grid).
    with_axes: Axes;

    /// The probability, in `[0, 1)`, of zeroing an entry of the sum in training. Default: 0.
    dropout: f64 = 0.0,
    with_dropout;

    /// The factor of the input. Default: none.
    input_scale: InputScale = InputScale::default(),
    with_input_scale;

    /// The factor of the encoding. Default: `Gain::Fixed(1.0)`.
    gain: Gain = Gain::default(),
    with_gain;

    /// Whether positions from `max_len` on are encoded or refused. Default: encoded.
    length_limit: LengthLimit = LengthLimit::default(),
    with_length_limit;
}

impl SinusoidalPositionalEncodingConfig {
    /// Sets the base of the wavelengths, finite and greater than 1.
    ///
    /// Short for `with_formula(Formula::Paper { base })`.
    pub fn with_base(self, base: f64) -> Self {
        self.with_formula(base)
    }

    /// The frequencies of this many columns, with a gain.
    pub(super) fn spectrum(
        &self,
        columns: usize,
        formula: Formula,
        gain: f64,
    ) -> Result<Spectrum, PositionError> {
        let spectrum = Spectrum::new(columns, formula)?;
        let layout = self.layout.unwrap_or(spectrum.layout());
        let amplitude = gain * spectrum.amplitude();
        check_finite("gain", amplitude)?;
        Ok(spectrum.with_layout(layout).with_amplitude(amplitude))
    }

    /// The frequencies of every axis.
    pub(super) fn axis_spectra(
        &self,
        axes: &Axes,
        gain: f64,
    ) -> Result<Vec<Spectrum>, PositionError> {
        axes.check()?;
        let plain = *axes.order() == PairOrder::Row && axes.unturned() == 0;
        if !plain || axes.frequencies() != AxisFrequencies::Own {
            return Err(PositionError::config(
                "the axes of a sinusoid have their columns in a row, frequencies of their own, and no \
                 columns left unturned",
            ));
        }
        let widths = match axes.axes().iter().any(|axis| axis.columns.is_some()) {
            true => axes
                .pairs(self.d_model)?
                .iter()
                .map(|pairs| 2 * pairs)
                .collect(),
            false => vec![self.even_width(axes.count())?; axes.count()],
        };
        let each = axes.axes().iter().zip(widths);
        each.map(|(axis, width)| {
            let formula = match (axis.base, self.formula) {
                (None, formula) => formula,
                (Some(base), Formula::Paper { .. }) => Formula::Paper { base },
                (Some(base), other) => {
                    return Err(PositionError::config(format!(
                        "an axis has the base {base}, which goes with the paper's formula alone, and not with {other:?}"
                    )));
                }
            };
            let spectrum = self.spectrum(width, formula, gain)?;
            match axis.scale {
                1.0 => Ok(spectrum),
                scale => spectrum.sped_up(scale),
            }
        })
        .collect()
    }

    /// The width of the encoding of each axis, where all have the same.
    fn even_width(&self, axes: usize) -> Result<usize, PositionError> {
        let columns = self.d_model;
        let width = columns.div_ceil(2 * axes) * 2;
        match columns == 0 || columns > (axes - 1) * width {
            true => Ok(width),
            false => {
                let bound = format!(
                    "larger: with 2⌈d_model/2a⌉ columns for each of {axes} axes, none are left for the last"
                );
                Err(PositionError::number("d_model", columns, bound))
            }
        }
    }
}
