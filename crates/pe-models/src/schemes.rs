//! The schemes of models that do not rotate.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use pe_burn::{AlibiConfig, PositionError, PositionalConfig};

use crate::config::{HfConfig, config_error};
use crate::unrotated::{self, PlacedScheme};

impl HfConfig {
    /// The schemes of a model type that does not rotate, each with its place and the settings of the file: T5, BERT,
    /// Whisper, DeBERTa v2, Swin, BEiT, wav2vec 2.0, OPT, BART, BLOOM, MPT and relatives; `None` for a type that rotates.
    /// The list is empty for a type whose attention has no positions, such as Jamba, and where a file turns them off, as that
    /// of BEiT may. For a model of text and images the part about text is read.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use pe_models::HfConfig;
    ///
    /// let t5 = HfConfig::from_json(r#"{"model_type": "t5", "num_heads": 12}"#)?;
    /// let schemes = t5.schemes()?.unwrap();
    /// assert_eq!(schemes[1].place, "scores of every layer of the decoder");
    /// let bias = schemes[1].scheme.init(&Device::flex()); // then its weights
    /// # let _ = bias;
    /// # Ok::<(), pe_burn::PositionError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PositionError::UnknownName`] for a model type that is not known, [`Config`](PositionError::Config) for fields that
    /// cannot be used.
    pub fn schemes(&self) -> Result<Option<Vec<PlacedScheme>>, PositionError> {
        if self.like.is_none() {
            let (file, name) = self.text_part()?;
            if let Some(schemes) = unrotated::schemes(&name, file).map_err(not_read)? {
                return Ok(Some(schemes));
            }
        }
        self.model().map(|_| None)
    }

    /// The [ALiBi](AlibiConfig) of a model of type `bloom` or `mpt`; `None` for a model type that has none. A Falcon with `alibi`
    /// is refused: its code divides its biases as it does the scores, and rounds them to `bfloat16`.
    ///
    /// ```
    /// use pe_models::HfConfig;
    ///
    /// let mpt = HfConfig::from_json(r#"{"model_type": "mpt", "n_heads": 32, "d_model": 4096}"#)?;
    /// assert_eq!(mpt.alibi()?.unwrap().heads, 32);
    /// # Ok::<(), pe_burn::PositionError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`schemes`](Self::schemes), and [`PositionError::Config`] for such a Falcon.
    pub fn alibi(&self) -> Result<Option<AlibiConfig>, PositionError> {
        if let Ok((file, family)) = self.model()
            && family.name == "falcon"
            && file.flag("alibi").map_err(not_read)? == Some(true)
        {
            return Err(not_read(
                "a falcon with `alibi` divides its biases as it does the scores, and rounds them to bfloat16"
                    .into(),
            ));
        }
        let schemes = self.schemes()?.unwrap_or_default().into_iter();
        Ok(schemes
            .map(|placed| placed.scheme)
            .find_map(|scheme| match scheme {
                PositionalConfig::Alibi(alibi) => Some(alibi),
                _ => None,
            }))
    }
}

fn not_read(reason: String) -> PositionError {
    config_error(format!(
        "config.json describes no positions that are read: {reason}"
    ))
}
