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
        let ([heads, period], device) = (self.scores.dims(), self.scores.device());
        let residues = |positions: &Positions, seq| {
            let rows = positions.to_rows(seq)?; // whole positions, of each row of the batch or of one for all; times are refused
            let shape = [rows.len(), seq];
            let residues: Vec<i64> = rows.concat().iter().map(|id| (id % period) as i64).collect();
            Ok(Tensor::<2, Int>::from_data(TensorData::new(residues, shape), &device))
        };
        let of_queries = residues(query_positions, queries)?.unsqueeze_dim::<3>(2);
        let of_keys = residues(key_positions, keys)?.unsqueeze_dim(1);
        let distances = (of_queries - of_keys + period as i64) % (period as i64); // [1 or batch, queries, keys]
        let [batch, ..] = distances.dims();
        let scores = self.scores.val().select(1, distances.flatten(0, 2));
        Ok(scores.reshape([heads, batch, queries, keys]).swap_dims(0, 1))
    }
}
