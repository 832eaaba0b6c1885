//! The flags that set the sizes of the model and the recipe.

use super::names::Known;
use crate::ask::Plan;

/// Sizes of the model, and how it is trained. What is not given stays as in the preset or file, whose default
/// is the reference model.
#[derive(Clone, Debug, clap::Args)]
pub struct Sizes {
    /// Elements of a token's embedding [default: 64]
    #[arg(long, value_name = "N")]
    d_model: Option<usize>,
    /// Layers of the model [default: 2]
    #[arg(long, value_name = "N")]
    layers: Option<usize>,
    /// Attention heads of each layer [default: 4]
    #[arg(long, value_name = "N")]
    heads: Option<usize>,
    /// Width of the feed-forward network [default: 256]
    #[arg(long, value_name = "N")]
    d_ff: Option<usize>,
    /// What stands between embeddings and readout, in a program with networks of its own [default: encoder]
    #[arg(long, value_name = "NAME", value_parser = Known::networks())]
    network: Option<String>,
    /// The peak of the learning rate [default: 0.0015]
    #[arg(long, value_name = "RATE")]
    lr: Option<f64>,
    /// Sequences per training step [default: 64]
    #[arg(long, value_name = "N")]
    batch_size: Option<usize>,
}

impl Sizes {
    /// The plan with what these flags set.
    pub fn apply(&self, mut plan: Plan) -> Plan {
        let set = |place: &mut usize, flag: Option<usize>| *place = flag.unwrap_or(*place);
        if [self.d_model, self.layers, self.heads, self.d_ff]
            .iter()
            .any(Option::is_some)
            || self.network.is_some()
        {
            let model = plan.model.get_or_insert_default();
            set(&mut model.d_model, self.d_model);
            set(&mut model.layers, self.layers);
            set(&mut model.heads, self.heads);
            set(&mut model.d_ff, self.d_ff);
            if let Some(network) = &self.network {
                model.network.clone_from(network);
            }
        }
        if self.lr.is_some() || self.batch_size.is_some() {
            let recipe = plan.recipe.get_or_insert_default();
            set(&mut recipe.batch_size, self.batch_size);
            recipe.learning_rate = self.lr.unwrap_or(recipe.learning_rate);
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::ask::{ModelSpec, Recipe};

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        sizes: Sizes,
    }

    #[test]
    fn flags_change_what_they_name_and_nothing_else() {
        let apply = |flags: &[&str], plan: Plan| {
            let flags = Flags::parse_from([&["pe-lab"], flags].concat());
            flags.sizes.apply(plan)
        };
        assert_eq!(apply(&[], Plan::default()), Plan::default());
        let there = Plan {
            model: Some(ModelSpec {
                d_model: 32,
                layers: 3,
                ..ModelSpec::default()
            }),
            ..Plan::default()
        };
        let plan = apply(&["--d-model", "256", "--heads", "8", "--lr", "3e-4"], there);
        let model = ModelSpec {
            d_model: 256,
            layers: 3,
            heads: 8,
            ..ModelSpec::default()
        };
        assert_eq!(plan.model, Some(model));
        let recipe = Recipe {
            learning_rate: 3e-4,
            ..Recipe::default()
        };
        assert_eq!(plan.recipe, Some(recipe));
        let plan = apply(
            &["--layers", "4", "--d-ff", "64", "--batch-size", "8"],
            Plan::default(),
        );
        let model = plan.model.unwrap();
        assert_eq!(
            (model.layers, model.d_ff, plan.recipe.unwrap().batch_size),
            (4, 64, 8)
        );
    }
}
