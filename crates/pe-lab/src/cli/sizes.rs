//! The flags that set the sizes of the model and the recipe.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use pe_encoder::{Activation, Norm};

use super::names::Known;
use crate::ask::{ACTIVATIONS, ModelSpec, NORMS, Plan, Recipe, Schedule};

/// Sizes of the model, and how it is trained. What is not given stays as in the preset or file, whose default
/// is the reference model.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Model and training")]
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
    #[arg(long, value_name = "N", hide_short_help = true)]
    d_ff: Option<usize>,
    /// What stands between embeddings and readout, in a program with networks of its own [default: encoder]
    #[arg(long, value_name = "NAME", value_parser = Known::networks(), hide_short_help = true)]
    network: Option<String>,
    /// Whether layers normalize before attention and feed-forward network, or after them [default: pre]
    #[arg(long, value_name = "WHERE", value_parser = one_of(NORMS), hide_short_help = true)]
    norm: Option<Norm>,
    /// The function inside of the feed-forward network [default: gelu]
    #[arg(long, value_name = "NAME", value_parser = one_of(ACTIVATIONS), hide_short_help = true)]
    activation: Option<Activation>,
    /// In training, the share of elements that are dropped of the embeddings and of what each part of a layer returns
    /// [default: 0]
    #[arg(long, value_name = "SHARE", hide_short_help = true)]
    dropout: Option<f64>,
    /// The peak of the learning rate [default: 0.0015]
    #[arg(long, value_name = "RATE")]
    lr: Option<f64>,
    /// Sequences per training step [default: 64]
    #[arg(long, value_name = "N")]
    batch_size: Option<usize>,
    /// Steps up to the peak of the learning rate, at most half of a training [default: 100]
    #[arg(long, value_name = "N", hide_short_help = true)]
    warmup: Option<usize>,
    /// The learning rate after the warm-up: it falls to a hundredth along a cosine or a line, or stays [default: cosine]
    #[arg(long, value_name = "NAME", value_parser = one_of(Schedule::ALL), hide_short_help = true)]
    schedule: Option<Schedule>,
    /// The weight decay of AdamW [default: 0]
    #[arg(long, value_name = "SHARE", hide_short_help = true)]
    weight_decay: Option<f32>,
}

/// Reads one of these names.
fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    known: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(known.map(|(name, _)| name)).try_map(move |name| {
        let found = known.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value).ok_or("no such name")
    })
}

impl Sizes {
    /// The plan with what these flags set.
    pub fn apply(&self, mut plan: Plan) -> Plan {
        let before = plan.model.clone().unwrap_or_default();
        let model = ModelSpec {
            network: self.network.clone().unwrap_or(before.network.clone()),
            d_model: self.d_model.unwrap_or(before.d_model),
            layers: self.layers.unwrap_or(before.layers),
            heads: self.heads.unwrap_or(before.heads),
            d_ff: self.d_ff.unwrap_or(before.d_ff),
            norm: self.norm.unwrap_or(before.norm),
            activation: self.activation.unwrap_or(before.activation),
            dropout: self.dropout.unwrap_or(before.dropout),
        };
        if model != before {
            plan.model = Some(model);
        }
        let before = plan.recipe.clone().unwrap_or_default();
        let recipe = Recipe {
            batch_size: self.batch_size.unwrap_or(before.batch_size),
            learning_rate: self.lr.unwrap_or(before.learning_rate),
            warmup_steps: self.warmup.unwrap_or(before.warmup_steps),
            schedule: self.schedule.unwrap_or(before.schedule),
            weight_decay: self.weight_decay.unwrap_or(before.weight_decay),
            ..before
        };
        if recipe != before {
            plan.recipe = Some(recipe);
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        sizes: Sizes,
    }

    #[test]
    fn every_field_of_model_and_recipe_that_has_a_flag_is_set_by_it() {
        let flags = "pe-lab --norm post --activation relu --dropout 0.1 --warmup 30 --schedule linear \
                     --weight-decay 0.05";
        let plan = Flags::parse_from(flags.split_whitespace())
            .sizes
            .apply(Plan::default());
        let model = ModelSpec {
            norm: Norm::Post,
            activation: Activation::Relu,
            dropout: 0.1,
            ..ModelSpec::default()
        };
        let recipe = Recipe {
            warmup_steps: 30,
            schedule: Schedule::Linear,
            weight_decay: 0.05,
            ..Recipe::default()
        };
        assert_eq!((plan.model, plan.recipe), (Some(model), Some(recipe)));
        for (name, known) in [
            ("--norm", "pre, post"),
            ("--activation", "gelu, relu, silu"),
            ("--schedule", "cosine, linear, constant"),
        ] {
            let error = Flags::try_parse_from(["pe-lab", name, "none"])
                .map(|_| ())
                .unwrap_err();
            assert!(error.to_string().contains(known), "{error}");
        }
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
