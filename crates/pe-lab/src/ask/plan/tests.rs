use super::*;
use crate::ask::StudySpec;
use crate::data::testing::{Says, rows};
use crate::stats::FEWEST_SEEDS;

#[test]
fn every_preset_is_a_plan_of_enough_seeds() {
    for (name, _) in PRESETS {
        let plan = Plan::preset(name).unwrap();
        assert!(plan.schemes.is_some() && plan.tasks.is_some());
        // Fewer seeds prove nothing.
        let seeds = plan.seeds.unwrap().list().unwrap();
        assert!(seeds.len() >= FEWEST_SEEDS, "{name}: {seeds:?}");
    }
    // A study that does not say how many has enough too.
    let (spec, _) = StudySpec::of(Plan::parse("tasks = [\"reverse\"]").unwrap()).unwrap();
    assert!(spec.seeds.len() >= FEWEST_SEEDS, "{:?}", spec.seeds);
    let unknown = Plan::preset("slow").unwrap_err();
    unknown.says("quick, standard, full, lm");
}

#[test]
fn what_a_preset_chose_for_its_tasks_is_not_taken_for_others() {
    let asking = |text: &str| {
        let quick = Plan::preset("quick").unwrap();
        let over = Plan::parse(text).unwrap();
        quick.for_tasks_of(&over).overridden_by(over)
    };
    let quick = Plan::preset("quick").unwrap();
    assert!(quick.steps.is_some() && quick.recipe.is_some() && quick.model.is_some());
    for own in [
        "seeds = 5",
        "tasks = [\"majority\", \"shift3\", \"digits\"]",
    ] {
        let plan = asking(own);
        assert_eq!(
            (plan.recipe, plan.model),
            (quick.recipe.clone(), quick.model.clone())
        );
        let Some(Steps::ByTask(steps)) = plan.steps else {
            panic!("{own}: it has the steps of its tasks");
        };
        assert_eq!(steps["digits"], 1000.into());
    }
    let others = [
        "tasks = [\"digits\"]",
        "tasks = [\"digits\", \"shift3\", \"reverse\"]",
        "tasks = \"all\"",
        "data = \"rows.csv\"",
    ];
    for other in others {
        let plan = asking(other);
        assert_eq!(
            (plan.steps, plan.recipe, plan.model),
            (None, None, None),
            "{other}"
        );
        assert_eq!(
            (plan.schemes, plan.seeds),
            (quick.schemes.clone(), quick.seeds.clone())
        );
    }
    let own_recipe = asking("tasks = [\"reverse\"]\n[recipe]\nbatch_size = 8").recipe;
    assert_eq!(own_recipe.map(|recipe| recipe.batch_size), Some(8));
}

/// A field at its default is not written, so existing specs do not change; the error for an unknown field lists all.
#[test]
fn model_and_recipe_have_these_fields_in_a_file() {
    let read = |text: &str| Plan::parse(text).map_err(|error| error.to_string());
    let plan = read(
        "[model]\nnorm = \"post\"\nactivation = \"silu\"\ndropout = 0.1\n\
             [recipe]\nschedule = \"constant\"\nweight_decay = 0.01\nwarmup_steps = 5",
    )
    .unwrap();
    let again = read(&toml::to_string(&plan).unwrap()).unwrap();
    assert_eq!(again, plan);
    let written = |plan: &Plan| serde_json::to_value(plan).unwrap();
    let usual = Plan {
        model: Some(ModelSpec::default()),
        recipe: Some(Recipe::default()),
        ..Plan::default()
    };
    let names = |part: &str, plan: &Plan| -> Vec<String> {
        let fields = written(plan)[part].as_object().unwrap().clone();
        fields.keys().cloned().collect()
    };
    let model = names("model", &usual).join(" ");
    assert_eq!(model, "d_ff d_model heads layers");
    let recipe = names("recipe", &usual).join(" ");
    assert_eq!(
        recipe,
        "batch_size beta_2 clip_norm learning_rate warmup_steps"
    );
    for (part, added) in [
        ("model", &["network", "norm", "activation", "dropout"][..]),
        ("recipe", &["schedule", "weight_decay"]),
    ] {
        let said = read(&format!("[{part}]\nweights = 3")).unwrap_err();
        let known = names(part, &usual).into_iter();
        for name in known.chain(added.iter().map(|name| name.to_string())) {
            said.says(&format!("`{name}`"));
        }
    }
    let said = read("[model]\nnorm = \"first\"").unwrap_err();
    said.says_all(&["`pre`", "`post`"]);
    // The error for an unknown field of the plan itself lists its fields too.
    let said = read("weights = 3").unwrap_err();
    for name in "schemes causal data test_scalings recipe model".split(' ') {
        said.says(&format!("`{name}`"));
    }
}

#[test]
fn scalings_of_a_file_are_named_as_those_of_the_command_line() {
    let of = |text: &str| Plan::parse(text).unwrap().test_scalings;
    assert_eq!(of("seeds = 3"), None);
    assert_eq!(of("test_scalings = []"), Some(Vec::new()));
    assert_eq!(of("test_scalings = ['none']"), Some(Vec::new()));
    for all in ["'all'", "['all']"] {
        assert_eq!(
            of(&format!("test_scalings = {all}")),
            Some(TestScaling::usual())
        );
    }
    let one = TestScaling::try_from("yarn(factor=4)".to_string()).unwrap();
    assert_eq!(of("test_scalings = ['yarn(factor=4)']"), Some(vec![one]));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for [text, said] in rows(
        "
        schemes = ['none']⏎seed = 3             | line 2
        seeds = 'three'                         | a number of seeds, such as 3
        seeds = -1                              | a number of seeds, such as 3
        steps = 'many'                          | a number of steps, such as 500
        steps = 'autoo'                         | `autoo` is neither
        seeds = 2⏎steps = 'auto:0'              | line 2
        steps = 'auto:0'                        | `auto:0` asks for 0 steps
        steps = -1                              | -1 is no number of steps
        steps = 1.5                             | a number of steps, such as 500
        steps = { reverse = 'auto:9..8' }       | above its limit of 8
        tasks = ['digits']⏎data = 'x.csv'       | name one of the two
        until = 'bored'                         | expected `decided`
        [recipe]⏎batch = 3                      | batch
        [model]⏎d_model = -1                    | d_model
        schemes = 'some'                        | such as [\"none\"], or \"all\"
        test_scalings = ['yarm']                | one of linear, ntk, dynamic, yarn
        ",
    ) {
        Plan::parse(text).unwrap_err().says(said);
    }
}

#[test]
fn a_flag_overrides_the_file_and_data_stands_for_tasks() {
    let plan = |text: &str| Plan::parse(text).unwrap();
    let base = plan("tasks = 'all'\nseeds = 2");
    assert_eq!(base.tasks, Some(Names::from(vec!["all".to_string()])));
    let (data, tasks) = (plan("data = 'x.csv'"), plan("tasks = ['reverse']"));
    let both = base.clone().overridden_by(data.clone());
    assert_eq!((both.tasks, both.seeds), (None, Some(Seeds::Count(2))));
    assert_eq!(both.data, Some("x.csv".into()));
    let both = data.clone().overridden_by(tasks.clone());
    assert_eq!((both.tasks, both.data), (tasks.tasks.clone(), None));
    let with_steps = Plan {
        steps: plan("steps = { reverse = 500, digits = 300, data = 200 }").steps,
        ..base.clone()
    };
    for (over, steps) in [
        (tasks, "reverse = 500"),
        (base, "reverse = 500, digits = 300"),
        (data, "data = 200"),
        // The tasks of folds have other names.
        (plan("folds = 5"), "reverse = 500, digits = 300"),
        (Plan::default(), "reverse = 500, digits = 300, data = 200"),
    ] {
        let left = plan(&format!("steps = {{ {steps} }}")).steps;
        assert_eq!(with_steps.clone().overridden_by(over).steps, left);
    }
}

#[test]
fn the_steps_of_a_decoders_task_stay_where_it_is_named_without_causal() {
    let plan = |text: &str| Plan::parse(text).unwrap();
    let steps = "[steps]\n'reverse(causal)' = 500\n'shift3(causal)' = 300\n";
    let [decoder, other] = ["causal = true\n", ""].map(|causal| plan(&format!("{causal}{steps}")));
    for (base, over, left) in [
        (&decoder, "tasks = ['reverse']", "'reverse(causal)' = 500"),
        (
            &decoder,
            "tasks = ['reverse(causal)']",
            "'reverse(causal)' = 500",
        ),
        (
            &other,
            "tasks = ['reverse']\ncausal = true",
            "'reverse(causal)' = 500",
        ),
        (&other, "tasks = ['reverse']", ""),
        (&decoder, "tasks = ['reverse']\ncausal = false", ""),
    ] {
        let left = plan(&format!("steps = {{ {left} }}")).steps;
        assert_eq!(base.clone().overridden_by(plan(over)).steps, left, "{over}");
    }
}

#[test]
fn names_of_a_command_line_are_trimmed_and_none_is_lost_beside_all() {
    let of = |text: &str| {
        let names: Vec<String> = text.split(',').map(String::from).collect();
        let all = ["a", "b", "c"].map(String::from).into_iter();
        Names::from(names).list(all)
    };
    assert_eq!(of("b, a"), ["b", "a"]);
    assert_eq!(of(" all "), ["a", "b", "c"]);
    assert_eq!(of("all,b"), ["a", "b", "c"]);
    assert_eq!(of("all,bb"), ["a", "b", "c", "bb"]);
    assert!(of(",").is_empty());
}

#[test]
fn seeds_are_counted_or_listed_within_bounds() {
    assert_eq!(Seeds::Count(3).list().unwrap(), [1, 2, 3]);
    assert_eq!(Seeds::These(vec![9, 7]).list().unwrap(), [9, 7]);
    for wrong in [Seeds::Count(0), Seeds::Count(1001), Seeds::These(vec![])] {
        wrong.list().unwrap_err().says("from 1 to 1000");
    }
}

#[test]
fn causal_and_an_objective_that_exclude_each_other_are_refused() {
    let of = |objective: &str, causal: bool| {
        let text =
            format!("data = 'a.csv'\ncausal = {causal}\nreading = {{ objective = '{objective}' }}");
        let source = Plan::parse(&text).unwrap().source();
        source.map(|source| source.unwrap().reading.objective)
    };
    for (objective, causal) in [("masked", true), ("answer", false)] {
        let said = of(objective, causal).unwrap_err();
        said.says(&format!("leave out one of … --objective {objective}"));
    }
    assert_eq!(of("answer", true).unwrap(), Some(Objective::Answer));
    assert_eq!(of("class", false).unwrap(), Some(Objective::Class));
}

#[test]
fn one_setting_of_how_a_file_is_read_leaves_the_others() {
    let of =
        |reading: &str| Plan::parse(&format!("data = \"a.csv\"\n[reading]\n{reading}")).unwrap();
    let below = of("group = 'patient'\ntokens = 'characters'\ndelimiter = ';'\nmax_len = 4");
    let over = Plan {
        reading: of("max_len = 9").reading,
        ..Plan::default()
    };
    let both = of("group = 'patient'\ntokens = 'characters'\ndelimiter = ';'\nmax_len = 9");
    assert_eq!(below.clone().overridden_by(over).reading, both.reading);
    // Other data are read in their own way.
    let other = of("max_len = 9");
    assert_eq!(below.overridden_by(other.clone()).reading, other.reading);
}

#[test]
fn a_decoder_predicts_no_class() {
    for objective in ["class", "number"] {
        let text =
            format!("data = \"a.csv\"\ncausal = true\n[reading]\nobjective = \"{objective}\"");
        let error = StudySpec::of(Plan::parse(&text).unwrap()).unwrap_err();
        error.says("leave out one of --causal and --objective");
    }
}
