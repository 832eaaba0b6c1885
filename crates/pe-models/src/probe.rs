//! What a layer makes of a known query, for comparison with other code.

use alloc::format;
use alloc::vec::Vec;

use serde::Serialize;

use pe_burn::{Layout, PositionError, RotaryPositionalEncodingConfig};

use crate::config::config_error;
use crate::layers::LayerPositions;

/// What a layer makes of a known query at some positions: whoever ports the model compares it with what
/// their own code makes of that query. Made by [`LayerPositions::probe`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Probe {
    /// The query, `query[i] = (i + 1) / d_head`: the columns of a head that have positions.
    pub query: Vec<f64>,
    /// A position and the rotated query there, for each of the positions.
    pub rotated: Vec<(usize, Vec<f64>)>,
}

impl LayerPositions {
    /// The query `(i + 1) / d_head` at these positions, rotated and scaled as this layer does it; `None` where the layer
    /// does not rotate. Computed in `f64` from exact sines. Where the frequencies depend on the length of the input, the
    /// input ends at the position.
    ///
    /// # Errors
    ///
    /// Those of [`spectrum`](RotaryPositionalEncodingConfig::spectrum), and
    /// [`PositionError::Overflow`] past [`MAX_POSITION`](pe_burn::MAX_POSITION).
    ///
    /// ```
    /// use pe_models::HfConfig;
    ///
    /// let text = r#"{"model_type": "llama", "num_hidden_layers": 1, "head_dim": 4}"#;
    /// let layers = HfConfig::from_json(text)?.layers()?;
    /// let probe = layers[0].probe(&[0, 1])?.unwrap();
    /// assert_eq!(probe.query, [0.25, 0.5, 0.75, 1.0]);
    /// assert_eq!(probe.rotated[0], (0, probe.query.clone()));
    /// let (sin, cos) = 1.0_f64.sin_cos(); // of the first pair, columns 0 and 2
    /// assert!((probe.rotated[1].1[0] - (0.25 * cos - 0.75 * sin)).abs() < 1e-15);
    /// # Ok::<(), pe_burn::PositionError>(())
    /// ```
    pub fn probe(&self, positions: &[usize]) -> Result<Option<Probe>, PositionError> {
        let Some(rotary) = &self.rotary else {
            return Ok(None);
        };
        let query: Vec<f64> = (1..=rotary.d_head)
            .map(|i| i as f64 / rotary.d_head as f64)
            .collect();
        let rotated = positions.iter().map(|&position| {
            let mut row = rotate(rotary, &query, position)?;
            if let Some(scale) = self.query_scale {
                let factor = scale.factor(position);
                row.iter_mut().for_each(|x| *x *= factor);
            }
            Ok((position, row))
        });
        let rotated = rotated.collect::<Result<_, PositionError>>()?;
        Ok(Some(Probe { query, rotated }))
    }
}

/// Rotates one row at a position, which is the last of its input.
fn rotate(
    rotary: &RotaryPositionalEncodingConfig,
    row: &[f64],
    position: usize,
) -> Result<Vec<f64>, PositionError> {
    // Axes of text among images and video are turned alike on a line; those of patches alone are not.
    if rotary.axes.as_ref().is_some_and(|axes| !axes.take_lines()) {
        return Err(config_error(format!(
            "a probe is for positions on a line, but this rotation has axes {:?}",
            rotary.axes
        )));
    }
    let spectrum = rotary.spectrum(position.saturating_add(1))?;
    let sines: Vec<f64> = spectrum.rows_at(&[position])?;
    let (sin, cos) = sines.split_at(sines.len() / 2);
    let pairs = sin.len();
    let mut out = row.to_vec();
    for i in 0..pairs {
        let (a, b) = match rotary.layout {
            Layout::Interleaved => (2 * i, 2 * i + 1),
            Layout::Halves => (i, i + pairs),
        };
        let sin = if rotary.opposite { -sin[i] } else { sin[i] };
        out[a] = row[a] * cos[i] - row[b] * sin;
        out[b] = row[a] * sin + row[b] * cos[i];
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    use burn::tensor::{Device, Tensor, TensorData};
    use std::prelude::rust_2024::*;

    use pe_burn::{Positions, Rotate};

    use crate::config::HfConfig;

    fn values(tensor: Tensor<4>) -> Vec<f32> {
        tensor.into_data().iter::<f32>().collect()
    }

    /// The module of the same layer, in f32.
    #[test]
    fn a_probe_is_what_the_module_computes() {
        for text in [
            r#"{"model_type": "llama", "num_hidden_layers": 1, "head_dim": 16, "rope_theta": 5e5,
                "max_position_embeddings": 1000, "rope_scaling": {"type": "dynamic", "factor": 2}}"#,
            r#"{"model_type": "glm", "num_hidden_layers": 1, "head_dim": 16}"#,
            r#"{"model_type": "ministral3", "num_hidden_layers": 1, "head_dim": 16}"#,
        ] {
            let config = HfConfig::from_json(text).unwrap();
            let layer = &config.layers().unwrap()[0];
            let device = Device::flex();
            let module = config.init_rotary(&device).unwrap().remove(0).unwrap();
            let probe = layer.probe(&[0, 3, 100_000]).unwrap().unwrap();
            for (position, expected) in probe.rotated {
                let query: Vec<f32> = probe.query.iter().map(|x| *x as f32).collect();
                let q = Tensor::<4>::from_data(TensorData::new(query, [1, 1, 1, 16]), &device);
                let positions = Positions::from(position);
                let mut q = module.rotate_queries(q, &positions);
                if let Some(scale) = layer.query_scale {
                    q = scale.scale(q, &positions).unwrap();
                }
                for (got, expected) in values(q).into_iter().zip(expected) {
                    let off = (f64::from(got) - expected).abs();
                    assert!(off < 1e-6, "{text}, {position}: {got} for {expected}");
                }
            }
        }
    }

    #[test]
    fn a_layer_without_rotation_has_no_probe() {
        let text = r#"{"model_type": "smollm3", "num_hidden_layers": 4, "hidden_size": 64,
            "num_attention_heads": 4}"#;
        let layers = HfConfig::from_json(text).unwrap().layers().unwrap();
        assert_eq!(layers[3].probe(&[1]).unwrap(), None);
        assert!(layers[0].probe(&[usize::MAX]).is_err());
    }
}
