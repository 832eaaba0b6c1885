//! The configuration of RoPE, and the frequencies that it says.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use crate::config::config;
use crate::error::PositionError;
use crate::layout::{Layout, Turn, check_rotary_dim};
use crate::positions::axes::dealt;
use crate::positions::{Axes, Axis, AxisFrequencies};
use crate::rotate::scaling::RopeScaling;
use crate::spectrum::buffer::DEFAULT_MAX_LEN;
use crate::spectrum::{DEFAULT_BASE, Spectrum};

config! {
    /// The configuration of RoPE, a [`RotaryPositionalEncoding`](super::RotaryPositionalEncoding).
    pub struct RotaryPositionalEncodingConfig {
        /// The width of a head, at least 2.
        d_head: usize,
    }

    /// The paper's rotation for heads of width `d_head`; every option at its default.
    new;

    /// The number of rows that the buffer starts with, at least 1; it grows when it is used past them.
    /// Default: 5000.
    max_len: usize = DEFAULT_MAX_LEN,
    with_max_len;

    /// The wavelengths go from 2π to 2π · base; finite and greater than 1. Default: 10 000.
    base: f64 = DEFAULT_BASE,
    with_base;

    /// Which columns make a pair. Default: interleaved.
    layout: Layout = Layout::default(),
    /// Sets which columns make a pair: [`Layout::Interleaved`] for `(0, 1), (2, 3), …`, as in the
    /// paper, GPT-J and Burn; [`Layout::Halves`] for `(0, d/2), (1, d/2 + 1), …`, as in GPT-NeoX,
    /// Llama and Qwen at Hugging Face. Weights for one do not work with the other:
    /// [`convert_heads`](crate::convert_heads) converts them.
    with_layout;

    /// The number of columns of a head that are rotated, which are the first ones: even, from 2 to
    /// `d_head`. Default: all of them, for which `d_head` must be even.
    rotary_dim: Option<usize> = None,
    with_rotary_dim: usize;

    /// The scaling of the frequencies for longer inputs. Default: none.
    scaling: Option<RopeScaling> = None;

    /// The axes that share the pairs. Default: none, positions are on a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    axes: Option<Axes> = None,
    /// Sets the axes that share the pairs, for images, video and coordinates of any kind. Prefix tokens of
    /// a grid are not rotated (an attention factor scales them like all others).
    ///
    /// ```
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use pe_burn::{Axes, Grid, Positions, Rotate, RotaryPositionalEncodingConfig};
    ///
    /// let device = Device::flex();
    /// let rope = RotaryPositionalEncodingConfig::new(64)
    ///     .with_axes(Axes::HEIGHT_WIDTH)
    ///     .init(&device);
    /// let positions = Positions::from(Grid::image(14, 16).with_prefix(1));
    /// let q = Tensor::<4>::random([2, 8, 1 + 14 * 16, 64], Distribution::Default, &device);
    /// let q = rope.rotate_queries(q, &positions);
    /// # assert_eq!(q.dims(), [2, 8, 225, 64]);
    /// ```
    with_axes: Axes;

    /// The frequencies of the pairs in radians per position, in place of those of `base`; with axes that
    /// have frequencies of their own, those of each axis. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    frequencies: Option<Vec<f64>> = None;

    /// Whether the angles of each axis are repeated as a whole, as in V-JEPA 2. Default: false.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    tiled_angles: bool = false,
    /// Repeats the angles of each axis as a whole, for the weights of V-JEPA 2 alone: column `c` of the `2n`
    /// columns of an axis turns by angle `c mod n`, so that the two columns of a pair turn by angles of
    /// different pairs. That is no rotation: it cannot be inverted, and products do not depend on the distance
    /// alone. Its authors' code does so, and their models are trained with it.
    with_tiled_angles;

    /// Whether pairs turn the other way, as in nanochat and bunsen. Default: false.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    opposite: bool = false,
    /// Turns pairs the other way, by the angle −ω p: `(a, b) → (a cos + b sin, b cos − a sin)`, as nanochat and bunsen do.
    /// Scores depend on the distance in the same way, but weights that were trained with one direction do not work with the
    /// other.
    with_opposite;
}

impl RotaryPositionalEncodingConfig {
    /// Sets the scaling of the frequencies for longer inputs.
    ///
    /// ```
    /// use pe_burn::RotaryPositionalEncodingConfig;
    /// use pe_burn::scaling::Yarn;
    ///
    /// // Four times the 32 768 tokens that the model was trained on.
    /// let config = RotaryPositionalEncodingConfig::new(128).with_scaling(Yarn::new(4.0, 32_768));
    /// # config.init(&burn::tensor::Device::flex());
    /// ```
    pub fn with_scaling(self, scaling: impl Into<RopeScaling>) -> Self {
        let scaling = Some(scaling.into());
        Self { scaling, ..self }
    }

    /// Sets the frequencies of the pairs, in radians per position: a checkpoint's `inv_freq`, or those of
    /// a formula that is not here. There must be one for each pair, or with axes that have frequencies of
    /// their own for each pair of an axis. No base and no scaling applies to them.
    pub fn with_frequencies(self, frequencies: impl Into<Vec<f64>>) -> Self {
        let frequencies = Some(frequencies.into());
        Self {
            frequencies,
            ..self
        }
    }

    /// The direction in which pairs turn.
    pub(super) fn direction(&self) -> Turn {
        match self.opposite {
            true => Turn::Inverse,
            false => Turn::Forward,
        }
    }

    /// The frequencies for inputs whose largest position is `seq - 1`, all sines of a row before its
    /// cosines, with the attention factor as the amplitude. With axes that do not take positions on a line,
    /// those of the first axis: [`axis_spectra`](Self::axis_spectra) has all of them.
    ///
    /// # Errors
    ///
    /// Those of [`try_init`](Self::try_init), and [`PositionError::Number`] when dynamic scaling to
    /// such a length makes the base infinite.
    pub fn spectrum(&self, seq: usize) -> Result<Spectrum, PositionError> {
        let rotary_dim = self.rotary_dim()?;
        match &self.axes {
            None => self.of_columns(rotary_dim, self.base, seq),
            Some(axes) if axes.take_lines() => {
                axes.pairs(rotary_dim)?;
                let unturned = axes.unturned();
                let turned = self.of_columns(rotary_dim - unturned, self.base, seq)?;
                Ok(turned.behind_unturned(unturned / 2))
            }
            Some(_) => {
                let has_columns = |spectrum: &Spectrum| spectrum.d_model() > 0;
                let mut spectra = self.axis_spectra(seq)?.into_iter();
                let first = spectra.find(has_columns);
                Ok(first.expect("some axis has columns"))
            }
        }
    }

    /// The frequencies of every axis, in the order of the axes, as [`spectrum`](Self::spectrum) for inputs on a line.
    /// Columns that the axes leave unturned belong to the first one, with frequency 0. Without axes there is one
    /// spectrum, that of the line. An axis without columns has a spectrum of width 0, which has no rows.
    ///
    /// # Errors
    ///
    /// Those of [`spectrum`](Self::spectrum).
    pub fn axis_spectra(&self, seq: usize) -> Result<Vec<Spectrum>, PositionError> {
        let rotary_dim = self.rotary_dim()?;
        let Some(axes) = &self.axes else {
            return Ok(vec![self.of_columns(rotary_dim, self.base, seq)?]);
        };
        let pairs = axes.pairs(rotary_dim)?;
        if self.changes_beyond().is_some() && !axes.take_lines() {
            return Err(PositionError::config(
                "dynamic and longrope scaling follow the length of a line, and a grid with axes has no \
                 single length",
            ));
        }
        let unturned = axes.unturned();
        let whole = |owners: fn(&Axes, &[usize]) -> Vec<usize>| {
            // Refuses a width that does not fit into memory, before a list of its pairs is made.
            let line = self.of_columns(rotary_dim - unturned, self.base, seq)?;
            let owners = owners(axes, &pairs);
            let of_axis = |axis| {
                let mine = (0..owners.len()).filter(|pair| owners[*pair] == axis);
                line.pick(&mine.collect::<Vec<usize>>())
            };
            Ok((0..pairs.len()).map(of_axis).collect())
        };
        let spectra: Vec<Spectrum> = match axes.frequencies() {
            AxisFrequencies::Own => {
                let base = |axis: &Axis| axis.base.unwrap_or(self.base);
                let each = axes.axes().iter().zip(&pairs);
                each.map(|(axis, pairs)| self.of_columns(2 * pairs, base(axis), seq))
                    .collect::<Result<_, _>>()?
            }
            AxisFrequencies::Line => whole(Axes::owners)?,
            AxisFrequencies::Dealt => whole(|_, pairs| dealt(pairs))?,
        };
        let scaled = spectra.into_iter().zip(axes.axes()).enumerate();
        scaled
            .map(|(i, (spectrum, axis))| {
                let spectrum = match axis.scale {
                    1.0 => spectrum,
                    scale => spectrum.sped_up(scale)?,
                };
                Ok(match i {
                    0 => spectrum.behind_unturned(unturned / 2),
                    _ => spectrum,
                })
            })
            .collect()
    }

    /// The number of columns that are rotated, the unturned ones of the axes included.
    pub(super) fn rotary_dim(&self) -> Result<usize, PositionError> {
        let rotary_dim = self.rotary_dim.unwrap_or(self.d_head);
        check_rotary_dim(rotary_dim, self.d_head)?;
        Ok(rotary_dim)
    }

    /// The frequencies of this many columns, scaled.
    fn of_columns(&self, columns: usize, base: f64, seq: usize) -> Result<Spectrum, PositionError> {
        let spectrum = match &self.frequencies {
            None => Spectrum::new(columns, base)?,
            Some(given) => {
                if self.scaling.is_some() {
                    return Err(PositionError::config(
                        "no scaling applies to given frequencies: scale the numbers instead",
                    ));
                }
                let has_base = |axes: &Axes| axes.axes().iter().any(|axis| axis.base.is_some());
                if self.axes.as_ref().is_some_and(has_base) {
                    return Err(PositionError::config(
                        "no base of an axis applies to given frequencies: leave it out",
                    ));
                }
                if 2 * given.len() != columns {
                    let bound = match self.axes.as_ref().map(Axes::frequencies) {
                        Some(AxisFrequencies::Own) => {
                            format!("{}, one for each pair of an axis", columns / 2)
                        }
                        _ => format!("{}, one for each pair", columns / 2),
                    };
                    let name = "the number of frequencies";
                    return Err(PositionError::number(name, given.len(), bound));
                }
                Spectrum::from_frequencies(given)?
            }
        };
        let spectrum = spectrum.with_layout(Layout::Halves);
        match &self.scaling {
            Some(scaling) => {
                let attention = scaling.attention_factor();
                Ok(spectrum.scaled(scaling, seq)?.with_amplitude(attention))
            }
            None => Ok(spectrum),
        }
    }

    /// The length from which on the frequencies depend on the length of the input.
    pub(super) fn changes_beyond(&self) -> Option<usize> {
        self.scaling.as_ref().and_then(RopeScaling::changes_beyond)
    }
}
