//! The scheme: attention scores get a trained number for each distance modulo a period.

use burn::config::Config;
use burn::module::{Initializer, Module, Param};
use burn::tensor::{Device, Int, Tensor, TensorData};
use pe_burn::{Bias, PositionError, Positional, Positions};
use pe_lab::SchemeConfig;

/// `--schemes "cyclic(period=5)"` sets the period: every number of a configuration is a setting.
#[derive(Config, Debug)]
pub struct CyclicConfig {
    heads: usize,
    #[config(default = 3)]
    period: usize,
}

#[derive(Module, Debug)]
pub struct Cyclic {
    /// `[heads, period]`
    scores: Param<Tensor<2>>,
}

impl SchemeConfig for CyclicConfig {
    type Scheme = Cyclic;

    fn init(&self, device: &Device) -> Result<Cyclic, PositionError> {
        if self.period == 0 {
            return Err(PositionError::Config {
                reason: "period is 0; it must be at least 1".into(),
            });
        }
        let normal = Initializer::Normal { mean: 0.0, std: 1.0 };
        let scores = normal.init([self.heads, self.period], device);
        Ok(Cyclic { scores })
    }
}

impl Positional for Cyclic {
    fn as_bias(&self) -> Option<&dyn Bias> {
        Some(self)
    }
}

impl Bias for Cyclic {
    fn try_bias(
        &self,
        (query_positions, queries): (&Positions, usize),
        (key_positions, keys): (&Positions, usize),
    ) -> Result<Tensor<4>, PositionError> {
        let [heads, period] = self.scores.dims();
        let of_queries = query_positions.to_rows(queries)?;
        let of_keys = key_positions.to_rows(keys)?;
        let rows = of_queries.iter().zip(&of_keys).map(|(of_queries, of_keys)| {
            let distances = of_queries.iter().flat_map(|q| of_keys.iter().map(move |k| (q, k)));
            let residues = distances.map(|(q, k)| (*q as i32 - *k as i32).rem_euclid(period as i32));
            let residues = TensorData::new(residues.collect::<Vec<_>>(), [queries * keys]);
            let residues = Tensor::<1, Int>::from_data(residues, &self.scores.device());
            let scores = self.scores.val().select(1, residues);
            scores.reshape([1, heads, queries, keys])
        });
        Ok(Tensor::cat(rows.collect(), 0))
    }
}
