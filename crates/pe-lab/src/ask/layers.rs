//! Layers that differ from each other in what they do with positions.

use serde::{Deserialize, Serialize};

use crate::error::LabError;

/// Which layers have positions, and which attend to near tokens alone. Layers are counted from 1.
///
/// Layers without positions among layers with rotary ones are those of SmolLM3 and Llama 4 (every fourth; B. Yang
/// et al., *Rope to Nope and Back Again*, 2025). Local layers with every n-th one global are those of Gemma 3
/// (five local ones to one) and ModernBERT (two to one).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerRecipe {
    /// Every layer whose number is a multiple of this has no positions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nope_every: Option<usize>,
    /// Layers attend only to tokens fewer than this many places away, on both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<usize>,
    /// With `window`: every layer whose number is a multiple of this attends to all tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_every: Option<usize>,
}

impl LayerRecipe {
    /// What each of `layers` layers does: whether it has positions, and its window.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] when the model has too few layers for them to differ as asked, or when
    /// `global_every` stands without `window`.
    pub fn kinds(&self, layers: usize) -> Result<Vec<(bool, Option<usize>)>, LabError> {
        let every = [
            ("nope_every", self.nope_every),
            ("global_every", self.global_every),
        ];
        for (name, every) in every {
            let Some(every) = every else { continue };
            if every == 0 || every > layers {
                return Err(LabError::Usage(format!(
                    "`{name}` is {every}, and the model has {layers} layers, so it is about none of them; take a \
                     smaller number, or a model of more layers: --layers {every}"
                )));
            }
        }
        if self.global_every.is_some() && self.window.is_none() {
            return Err(LabError::Usage(
                "`global_every` says which layers are not local; name the `window` of the others too".into(),
            ));
        }
        let is_nth =
            |layer: usize, every: Option<usize>| every.is_some_and(|n| layer.is_multiple_of(n));
        Ok((1..=layers)
            .map(|layer| {
                let window = self.window.filter(|_| !is_nth(layer, self.global_every));
                (!is_nth(layer, self.nope_every), window)
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_counted_by_hand() {
        let recipe = LayerRecipe {
            nope_every: Some(4),
            window: Some(8),
            global_every: Some(3),
        };
        let (local, all) = (Some(8), None);
        assert_eq!(
            recipe.kinds(6).unwrap(),
            [
                (true, local),
                (true, local),
                (true, all),
                (false, local),
                (true, local),
                (true, all)
            ]
        );
        assert_eq!(LayerRecipe::default().kinds(2).unwrap(), [(true, None); 2]);
    }
}
