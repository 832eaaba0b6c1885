//! The flags that set the sizes of the model and the recipe.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

use super::names::Known;
use crate::ask::{ModelSpec, Plan, Recipe, networks};

/// Sizes of the model, and how it is trained: the flags that [`ModelSpec`] and [`Recipe`] declare. What is not given stays as in the
/// preset or file, whose default is the reference model.
#[derive(Clone, Debug)]
pub struct Sizes(ArgMatches);

impl Sizes {
    /// The plan with what these flags set.
    pub fn apply(&self, plan: Plan) -> Plan {
        Plan {
            model: self.over(plan.model),
            recipe: self.over(plan.recipe),
            ..plan
        }
    }

    /// `before`, or else the default, with what the flags set; unchanged if they set nothing new.
    fn over<T: FromArgMatches + Clone + Default + PartialEq>(
        &self,
        before: Option<T>,
    ) -> Option<T> {
        let known = before.clone().unwrap_or_default();
        let mut value = known.clone();
        let read = value.update_from_arg_matches(&self.0);
        read.expect("the flags were read by their own parsers");
        if value == known { before } else { Some(value) }
    }
}

impl Args for Sizes {
    fn augment_args(command: Command) -> Command {
        // They update a plan, so none of them has to be given.
        let command = command.next_help_heading("Model and training");
        let command = ModelSpec::augment_args_for_update(command);
        let command = command.mut_arg("network", |flag| {
            flag.value_parser(Known::of(networks().map(|(name, _)| name)))
        });
        Recipe::augment_args_for_update(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Sizes {
    fn from_arg_matches(flags: &ArgMatches) -> Result<Self, Error> {
        Ok(Self(flags.clone()))
    }

    fn update_from_arg_matches(&mut self, flags: &ArgMatches) -> Result<(), Error> {
        self.0 = flags.clone();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};
    use pe_encoder::{Activation, Norm};

    use super::*;
    use crate::ask::Schedule;
    use crate::data::testing::Says;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        sizes: Sizes,
    }

    #[test]
    fn every_field_of_model_and_recipe_that_has_a_flag_is_set_by_it() {
        let flags = "pe-lab --norm post --activation relu --dropout 0.1 --warmup 30 --schedule linear \
                     --weight-decay 0.05";
        let plan = Flags::parse_from(flags.split_whitespace());
        let plan = plan.sizes.apply(Plan::default());
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
            let read = Flags::try_parse_from(["pe-lab", name, "none"]);
            read.map(|_| ()).unwrap_err().says(known);
        }
    }

    /// Each default is written twice, in the help and in the code.
    #[test]
    fn the_defaults_in_the_help_are_those_of_the_code() {
        let flags = Flags::command();
        let mut given = vec!["pe-lab".to_string()];
        for flag in flags.get_arguments() {
            let help = flag.get_help().unwrap().to_string();
            let (_, default) = help.rsplit_once("[default: ").expect(&help);
            given.push(format!("--{}", flag.get_long().unwrap()));
            given.push(default.trim_end_matches(']').to_string());
        }
        let given = Flags::parse_from(given);
        let plan = given.sizes.apply(Plan::default());
        assert_eq!(plan.model.unwrap_or_default(), ModelSpec::default());
        assert_eq!(plan.recipe.unwrap_or_default(), Recipe::default());
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
        let flags = ["--layers", "4", "--d-ff", "64", "--batch-size", "8"];
        let plan = apply(&flags, Plan::default());
        let (model, recipe) = (plan.model.unwrap(), plan.recipe.unwrap());
        assert_eq!([model.layers, model.d_ff, recipe.batch_size], [4, 64, 8]);
    }
}
