//! The ALiBi of models that do not rotate.

use alloc::format;
use alloc::string::String;

use pe_burn::{AlibiConfig, PositionError};

use crate::config::{HfConfig, config_error};

impl HfConfig {
    /// The [ALiBi](AlibiConfig) of a model of type `bloom` or `mpt`; `None` for a model type that rotates.
    ///
    /// transformers passes over MPT's `alibi` and `alibi_bias_max`, and the code of MPT's authors does not: a file
    /// in which they are not `true` and 8 is refused. So is a Falcon with `alibi`, whose code divides its biases
    /// as it does the scores, and rounds them to `bfloat16`.
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
    /// [`PositionError::Config`] for the files above and for fields that cannot be used,
    /// [`UnknownName`](PositionError::UnknownName) for a model type that is not read.
    pub fn alibi(&self) -> Result<Option<AlibiConfig>, PositionError> {
        let file = &self.fields;
        match file.text("model_type").map_err(no_alibi)? {
            Some("mpt") => self.mpt().map(Some).map_err(no_alibi),
            Some("bloom") => self.heads("n_head", 8).map(Some).map_err(no_alibi),
            Some("falcon") if file.flag("alibi").map_err(no_alibi)? == Some(true) => Err(no_alibi(
                "a falcon divides its biases as it does the scores, and rounds them to bfloat16"
                    .into(),
            )),
            _ => self.model().map(|_| None),
        }
    }

    fn mpt(&self) -> Result<AlibiConfig, String> {
        if let Some(attention) = self.fields.group("attn_config")? {
            if attention.flag("alibi")? == Some(false) {
                return Err("its `alibi` is false".into());
            }
            let most = attention.optional_number("alibi_bias_max")?.unwrap_or(8.0);
            if most != 8.0 {
                return Err(format!("`alibi_bias_max` must be 8; got {most}"));
            }
        }
        self.heads("n_heads", 16)
    }

    fn heads(&self, name: &'static str, usual: usize) -> Result<AlibiConfig, String> {
        let found = self.fields.first_length(&[name, "num_attention_heads"])?;
        match found.map_or(usual, |(_, heads)| heads) {
            0 => Err(format!("`{name}` must be at least 1; got 0")),
            heads => Ok(AlibiConfig::new(heads)),
        }
    }
}

fn no_alibi(reason: String) -> PositionError {
    config_error(format!("config.json describes no ALiBi: {reason}"))
}
