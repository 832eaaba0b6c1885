//! [`SchemeConfig`] for the configurations of `pe-burn`: their settings, and what else the laboratory asks of them.

use burn::module::Initializer;
use burn::tensor::Device;
use pe_burn::gates::FoxConfig;
use pe_burn::{
    Axes, Formula, PositionError, PositionalConfig, PositionalScheme, RopeScaling,
    RotaryPositionalEncodingConfig,
};

use super::encoding::SchemeConfig;
use super::scaling::{Lengths, SCALINGS, with_factor, with_original};
use super::sizes::Sizes;

impl SchemeConfig for PositionalConfig {
    type Scheme = PositionalScheme;

    fn init(&self, device: &Device) -> Result<PositionalScheme, PositionError> {
        self.try_init(device)
    }

    fn settings(&self) -> Vec<String> {
        let names: &[&str] = match self {
            Self::Rotary(rotary) if rotary.axes.is_none() => {
                &["base", "share", "scaling", "factor", "original"]
            }
            Self::Sinusoidal(_) | Self::Rotary(_) | Self::XPos(_) | Self::Pope(_) => &["base"],
            Self::Fox(fox) if fox.rotary.is_some() => &["base"],
            _ if with_init(self, Initializer::Zeros).is_some() => &["init"],
            _ => &[],
        };
        names.iter().map(|name| name.to_string()).collect()
    }

    fn with_setting(&self, name: &str, value: f64) -> Result<Self, String> {
        match name {
            "share" => return with_share(self, value),
            "scaling" => return Err(format!("one of {}", SCALINGS.join(", "))),
            "factor" => return with_scaling_of(self, |scaling| with_factor(scaling, value)),
            "original" => return with_scaling_of(self, |scaling| with_original(scaling, value)),
            "init" => return started_at(self, value),
            _ => {}
        }
        if !(value.is_finite() && value > 1.0) {
            return Err("a number above 1".into());
        }
        Ok(match self.clone() {
            Self::Sinusoidal(table) => {
                let formula = match table.formula {
                    Formula::Tape { length, .. } => Formula::Tape {
                        length,
                        base: value,
                    },
                    _ => Formula::from(value),
                };
                Self::Sinusoidal(table.with_formula(formula))
            }
            Self::Rotary(rotary) => Self::Rotary(rotary.with_base(value)),
            Self::XPos(xpos) => Self::XPos(xpos.with_base(value)),
            Self::Pope(pope) => Self::Pope(pope.with_base(value)),
            Self::Fox(fox) => Self::Fox(FoxConfig {
                rotary: fox.rotary.map(|rotary| rotary.with_base(value)),
                ..fox
            }),
            other => other,
        })
    }

    fn with_word(&self, name: &str, word: &str, sizes: &Sizes) -> Result<Self, String> {
        let (Self::Rotary(rotary), "scaling") = (self, name) else {
            return Err("a number".into());
        };
        let lengths = Lengths {
            trained: sizes.trained_len,
            longest: sizes.max_len,
            tested: sizes.tested_len,
        };
        Ok(Self::Rotary(
            rotary.clone().with_scaling(lengths.scaling(word)?),
        ))
    }

    fn follows_length(&self) -> bool {
        let Self::Rotary(rotary) = self else {
            return false;
        };
        matches!(
            rotary.scaling,
            Some(RopeScaling::Dynamic(_) | RopeScaling::Longrope(_))
        )
    }

    fn axes(&self) -> Option<Axes> {
        Self::axes(self)
    }

    /// A table with a row for each whole position or distance has no values between them.
    fn takes_times(&self) -> bool {
        !matches!(
            self,
            Self::Learned(_)
                | Self::T5(_)
                | Self::Shaw(_)
                | Self::Deberta(_)
                | Self::Tupe(_)
                | Self::Erpe(_)
                | Self::Inkling(_)
        )
    }

    fn longest(&self) -> Option<usize> {
        match self {
            Self::Learned(table) => Some(table.max_len),
            Self::Tupe(tupe) => Some(tupe.max_len),
            Self::Erpe(erpe) => Some(erpe.max_len),
            _ => None,
        }
    }

    fn with_scaling(&self, scaling: RopeScaling) -> Option<Self> {
        match self {
            Self::Rotary(rotary) if rotary.scaling.is_none() && rotary.axes.is_none() => {
                Some(Self::Rotary(rotary.clone().with_scaling(scaling)))
            }
            _ => None,
        }
    }
}

/// A scheme whose table starts at N(0, `deviation`).
fn started_at(config: &PositionalConfig, deviation: f64) -> Result<PositionalConfig, String> {
    if !(deviation.is_finite() && deviation >= 0.0) {
        return Err("a standard deviation, a number from 0 on".into());
    }
    with_init(config, normal(deviation)).ok_or_else(|| "of a scheme with a trained table".into())
}

/// Initial values from N(0, `std`).
pub(crate) fn normal(std: f64) -> Initializer {
    Initializer::Normal { mean: 0.0, std }
}

/// A scheme whose trained table starts at `init`; `None` for a scheme without one.
fn with_init(config: &PositionalConfig, init: Initializer) -> Option<PositionalConfig> {
    use PositionalConfig::{Cope, Deberta, Erpe, Inkling, Learned, Shaw, T5, TransformerXl, Tupe};
    Some(match config.clone() {
        Learned(table) => Learned(table.with_init(init)),
        T5(bias) => T5(bias.with_init(init)),
        Shaw(tables) => Shaw(tables.with_init(init)),
        TransformerXl(terms) => TransformerXl(terms.with_init(init)),
        Deberta(tables) => Deberta(tables.with_init(init)),
        Cope(table) => Cope(table.with_init(init)),
        Tupe(table) => Tupe(table.with_init(init)),
        Erpe(table) => Erpe(table.with_init(init)),
        Inkling(table) => Inkling(table.with_init(init)),
        _ => return None,
    })
}

/// A rotary scheme whose scaling is changed by `with`.
fn with_scaling_of(
    config: &PositionalConfig,
    with: impl FnOnce(RopeScaling) -> Result<RopeScaling, String>,
) -> Result<PositionalConfig, String> {
    let scaled = match config {
        PositionalConfig::Rotary(rotary) => Some(rotary).zip(rotary.scaling.clone()),
        _ => None,
    };
    let (rotary, scaling) = scaled.ok_or("given with a scaling, such as scaling=yarn")?;
    let scaled = rotary.clone().with_scaling(with(scaling)?);
    Ok(PositionalConfig::Rotary(scaled))
}

/// Columns rotate in pairs, so the share must give an even number of them.
fn with_share(config: &PositionalConfig, share: f64) -> Result<PositionalConfig, String> {
    let PositionalConfig::Rotary(rotary) = config else {
        return Ok(config.clone());
    };
    let columns = share * rotary.d_head as f64;
    if !(share > 0.0 && share <= 1.0 && columns % 2.0 == 0.0) {
        return Err(format!(
            "above 0 and at most 1, such that pairs of the {} columns of a head turn: a multiple of {}",
            rotary.d_head,
            2.0 / rotary.d_head as f64
        ));
    }
    let rotary_dim = Some(columns as usize);
    Ok(PositionalConfig::Rotary(RotaryPositionalEncodingConfig {
        rotary_dim,
        ..rotary.clone()
    }))
}
