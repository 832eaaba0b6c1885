use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::ask::steps::StepCount;
use crate::data::testing::{Says, rows};

fn names(list: &[&str]) -> Option<Names> {
    Some(Names::These(
        list.iter().map(|name| name.to_string()).collect(),
    ))
}

fn plan(schemes: &[&str], tasks: &[&str], seeds: &[u64]) -> Plan {
    Plan {
        schemes: names(schemes),
        tasks: names(tasks),
        seeds: Some(Seeds::These(seeds.to_vec())),
        ..Plan::default()
    }
}

#[test]
fn a_study_is_schemes_times_tasks_times_seeds() {
    let plan = plan(&["none", "learned"], &["reverse", "digits"], &[1, 2]);
    let (spec, tasks) = StudySpec::of(plan).unwrap();
    let trials = spec.trials(&tasks).unwrap();
    assert_eq!(trials.len(), 8);
    let ids: BTreeSet<String> = trials.iter().map(TrialSpec::id).collect();
    assert_eq!(ids.len(), 8);
    assert!(ids.contains("reverse-learned-2"));
    assert_eq!(trials[0].steps, tasks.get("reverse").unwrap().steps());
}

#[test]
fn wrong_use_is_named() {
    let said = |changes: &str| {
        let table = |text: &str| toml::from_str::<toml::Table>(&text.replace("; ", "\n")).unwrap();
        let mut plan = table("schemes = ['none']; tasks = ['digits']; seeds = [1]");
        plan.extend(table(changes));
        let plan = Plan::parse(&plan.to_string()).unwrap();
        StudySpec::of(plan).unwrap_err().to_string()
    };
    for [changes, words] in rows(
        "
        schemes = ['rope!']                  | no scheme `rope!`
        tasks = ['x']                        | no task `x`
        schemes = ['none', 'none']           | named twice
        schemes = []                         | at least one scheme
        seeds = []                           | from 1 to 1000
        seeds = [3, 3]                       | `3` is named twice
        steps = 0                            | 0 steps were asked for `digits`
        steps = { reverse = 5 }              | `reverse`, which is not in the study
        schemes = ['rotary(nope_every=4)']   | `nope_every` is 4, and the model has 2 layers … --layers 4
        schemes = ['rotary(global_every=2)'] | name the `window`
        schemes = ['rotary(base=5, share=1)', 'rotary(share=1.0,base=5)'] | `rotary(base=5,share=1)` is named twice
        device = 'x'                         | no device `x`
        model = { heads = 5 }                | d_model 64 is not a multiple of the 5 heads
        recipe = { batch_size = 0 }          | batch_size is 0
        recipe = { learning_rate = nan }     | learning_rate is NaN
        recipe = { beta_2 = 1.0 }            | beta_2 is 1
        ",
    ) {
        said(changes).says(words);
    }
}

/// Forget gates look back: they are refused for an encoder, and the word `all` includes them only for a decoder.
#[test]
fn forget_gates_are_for_decoders() {
    let with = |schemes: Names, causal: bool| {
        StudySpec::of(Plan {
            schemes: Some(schemes),
            causal: Some(causal),
            ..plan(&[], &["reverse"], &[1])
        })
    };
    let fox = || names(&["fox", "fox_rotary(base=500)"]).unwrap();
    let refused = with(fox(), false).unwrap_err();
    refused.says("the scheme fox: a forget gate looks back only … --causal");
    let schemes = |of: Names, causal| with(of, causal).unwrap().0.schemes;
    assert_eq!(schemes(fox(), true), ["fox", "fox_rotary(base=500)"]);
    let all = |causal| schemes(Names::All(crate::ask::plan::All::All), causal);
    let (encoders, decoders) = (all(false), all(true));
    for gated in ["fox", "fox_rotary"] {
        let gated = gated.to_string();
        assert!(!encoders.contains(&gated) && decoders.contains(&gated));
    }
}

#[test]
fn the_text_of_the_laboratory_takes_a_training_length() {
    let of = |tasks: &[&str], length, steps| {
        let plan = Plan {
            steps,
            reading: Some(Reading {
                train_length: Some(length),
                ..Reading::default()
            }),
            ..plan(&["rotary"], tasks, &[1])
        };
        StudySpec::of(plan)
    };
    let by_task = BTreeMap::from([("text".to_string(), 7.into())]);
    let (spec, tasks) = of(&["text"], 128, Some(Steps::ByTask(by_task))).unwrap();
    assert_eq!(spec.tasks[0].name, "text(train_length=128)");
    assert_eq!(spec.tasks[0].steps, 7);
    let trial = &spec.trials(&tasks).unwrap()[0];
    assert_eq!(trial.id(), "text(train_length=128)-rotary-1");
    // The default length gives the plain name, and another length replaces the one in a name.
    assert_eq!(of(&["text"], 64, None).unwrap().0.tasks[0].name, "text");
    let (again, _) = of(&["text(train_length=128)"], 32, None).unwrap();
    assert_eq!(again.tasks[0].name, "text(train_length=32)");
    // Reading the plan of a spec gives the same spec.
    let text = toml::to_string(&spec.plan()).unwrap();
    let (again, _) = StudySpec::of(Plan::parse(&text).unwrap()).unwrap();
    assert_eq!(again, spec, "{text}");
    for (task, length, said) in [
        ("text", 7, "from 8 to 512"),
        ("reverse", 32, "is about texts"),
    ] {
        of(&[task], length, None).unwrap_err().says(said);
    }
    // A study that has grown may have texts of several lengths; asking for one length leaves one text.
    let (one, _) = of(&["text", "reverse", "text(train_length=16)"], 32, None).unwrap();
    let names: Vec<&str> = one.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["text(train_length=32)", "reverse"]);
}

#[test]
fn a_study_grows_by_what_is_added_and_keeps_what_was_there() {
    let of = |plan| StudySpec::of(plan).unwrap().0;
    let earlier = of(Plan {
        steps: Some(Steps::All(300.into())),
        ..plan(&["none", "learned"], &["reverse"], &[1, 2])
    });
    let later = || of(plan(&["rotary", "none"], &["digits", "reverse"], &[2, 3]));
    let grown = later().grown_from(&earlier, |_| false);
    assert_eq!(grown.schemes, ["none", "learned", "rotary"]);
    assert_eq!(grown.seeds, [1, 2, 3]);
    let before = Grown {
        seeds: 2,
        schemes: 2,
        tasks: 1,
        steps: Vec::new(),
    };
    assert_eq!(grown.grown, std::slice::from_ref(&before));
    let again = grown.clone().grown_from(&grown, |_| false);
    assert_eq!(again.grown, std::slice::from_ref(&before));
    let steps = |spec: &StudySpec| -> Vec<(String, usize)> {
        let tasks = spec.tasks.iter();
        tasks.map(|task| (task.name.clone(), task.steps)).collect()
    };
    let own = steps(&later());
    assert_eq!(steps(&grown), [("reverse".into(), 300), own[0].clone()]);
    // Steps that are asked for replace the earlier ones, which are recorded.
    let other = later().grown_from(&earlier, |_| true);
    assert_eq!(steps(&other), [own[1].clone(), own[0].clone()]);
    let steps = earlier.tasks.clone();
    assert_eq!(other.grown, [Grown { steps, ..before }]);
    // A grown study keeps everything, so nothing stands in its way; without growing, something would be lost.
    assert!(grown.obstacles(&earlier).is_empty());
    assert_eq!(later().obstacles(&earlier), ["schemes", "seeds"]);
    assert_eq!(earlier.obstacles(&grown), ["schemes", "seeds", "tasks"]);
    // A study that stops when it is decided has planned its looks, so seeds and schemes cannot be added.
    let decided = |seeds: &[u64]| StudySpec {
        until: Some(Until::Decided),
        seeds: seeds.to_vec(),
        ..earlier.clone()
    };
    assert!(decided(&[1, 2]).obstacles(&decided(&[1, 2])).is_empty());
    assert_eq!(decided(&[1, 2, 3]).obstacles(&decided(&[1, 2])), ["seeds"]);
    let mut more = decided(&[1, 2]);
    more.schemes.push("alibi".into());
    assert_eq!(more.obstacles(&decided(&[1, 2])), ["schemes"]);
    // Such looks cannot be dropped either, nor added to a study without them.
    assert_eq!(earlier.obstacles(&decided(&[1, 2])), ["until"]);
    assert_eq!(decided(&[1, 2]).obstacles(&earlier), ["until"]);
    let mut other = grown.clone();
    other.recipe.batch_size = 32;
    assert_eq!(other.obstacles(&earlier), ["recipe"]);
}

#[test]
fn tuned_rates_go_into_the_trials_and_stay_when_a_study_grows() {
    let plan = |schemes: &[&str], steps| Plan {
        tune: Some(3),
        steps: Some(Steps::All(StepCount::Fixed(steps))),
        ..plan(schemes, &["reverse"], &[1, 2])
    };
    let (mut earlier, tasks) = StudySpec::of(plan(&["none"], 300)).unwrap();
    let tune = earlier.tune.as_mut().unwrap();
    tune.keep_of("reverse", "none", &[Some(1.0), Some(2.0), Some(3.0)]);
    let rates = |spec: &StudySpec| -> Vec<f64> {
        let trials = spec.trials(&tasks).unwrap();
        let rate = |trial: &TrialSpec| trial.recipe.learning_rate;
        trials.iter().map(rate).collect()
    };
    assert_eq!(rates(&earlier), [7.5e-4, 7.5e-4]);
    let later = |steps| StudySpec::of(plan(&["none", "rotary"], steps)).unwrap().0;
    let grown = later(300).grown_from(&earlier, |_| true);
    assert_eq!(rates(&grown), [7.5e-4, 1.5e-3, 7.5e-4, 1.5e-3]);
    assert!(grown.obstacles(&earlier).is_empty());
    // A study in which no rate is chosen yet can take the place of one with chosen rates.
    assert!(later(300).obstacles(&grown).is_empty());
    let other_steps = later(200).grown_from(&earlier, |_| true);
    assert!(other_steps.tune.unwrap().chosen.is_empty());
    let untuned = StudySpec {
        tune: None,
        ..later(300)
    };
    assert_eq!(untuned.obstacles(&earlier), ["tune"]);
    let mut other_rule = earlier.clone();
    other_rule.tune.as_mut().unwrap().again.clear();
    assert_eq!(later(300).obstacles(&other_rule), ["tune"]);
    assert_eq!(earlier.obstacles(&untuned), ["schemes", "tune"]);
    // The plan of a tuned study tunes again.
    assert_eq!(earlier.plan().tune, Some(3));
}
