//! Learning rates that are tried, budgets, recipes of layers and sizes, from the command line.

use std::fs;
use std::path::Path;

use crate::common::{
    Ended, SMALL, Says, compare, digits, ended, failed, names, rows, succeeds, temporary, well,
    words,
};
use pe_lab::ask::{StudySpec, Tasks, TrialSpec};
use pe_lab::folder::{StudyFolder, read_json};
use pe_lab::run::{Crew, Progress, Stop};

#[track_caller]
fn good(flags: &str, out: &Path) -> (String, String) {
    succeeds(&mut compare(flags, out))
}

fn asked(flags: &str, out: &Path) -> Ended {
    ended(&mut compare(flags, out))
}

/// The flags of a short study with a small model.
fn tiny(flags: &str) -> String {
    format!("--tasks digits --seeds 1 --steps 3 {SMALL} {flags}")
}

fn spec(out: &Path) -> StudySpec {
    read_json(&StudyFolder::at(out).spec()).unwrap()
}

/// The folders of trials whose name ends like this.
fn trials(out: &Path, end: &str) -> usize {
    let names = names(&out.join("trials"));
    names.iter().filter(|name| name.ends_with(end)).count()
}

/// The older result is of a training for another number of steps in the same folder.
#[cfg(unix)]
#[test]
fn an_older_result_is_not_taken_for_that_of_a_training_that_was_killed() {
    let (_folder, out) = temporary("study");
    good(&tiny("--details --schemes none --tune 2"), &out);
    let study = StudyFolder::at(&out);
    let old: TrialSpec = read_json(&study.trial("digits-none-101-rate-0.0015").spec()).unwrap();
    assert!(study.trial(&old.id()).result().exists());
    let new = TrialSpec { steps: 4, ..old };
    let crew = Crew {
        program: Path::new("false"), // ends without a result
        jobs: 1,
        progress: &Progress::Silent,
        stop: &Stop::default(),
    };
    let missing = crew
        .run_all(std::slice::from_ref(&new), &Tasks::default(), &study)
        .unwrap();
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0].0, new);
}

#[test]
fn every_scheme_is_tuned_with_the_same_rates_and_the_report_says_so() {
    let (folder, out) = temporary("study");
    let (stdout, stderr) = good(&tiny("--schemes none --tune 2 --details"), &out);
    stderr.says_all(&[
        "before these trials, 2 trainings to choose",
        "among 0.00075, 0.0015; then at most 2 with rates beyond these, and 4 of the two best",
        "learning rate of none on digits: 0.00",
    ]);
    stdout.says("was chosen for each task among 2");
    let said = words(&stdout).join(" ");
    said.says("The two best were trained again at seeds 102 and 103");
    let tune = spec(&out).tune.unwrap();
    let chosen = tune.chosen_for("digits", "none").unwrap();
    assert_eq!(chosen.losses.len(), 2);
    // Of two rates each is an end, so at least one beyond them is tried, and then the two best at two more seeds.
    let (beyond, again): (Vec<_>, Vec<_>) = chosen.further.iter().partition(|of| of.seed == 101);
    assert!([1, 2].contains(&beyond.len()), "{chosen:?}");
    let seeds: Vec<u64> = again.iter().map(|of| of.seed).collect();
    assert_eq!(seeds, [102, 102, 103, 103]);
    let first = tune.rates.iter().copied().zip(chosen.losses.clone());
    let all = first.chain(chosen.further.iter().map(|of| (of.rate, of.loss)));
    let all: Vec<(f64, f64)> = all.map(|of| (of.0, of.1.unwrap())).collect();
    let sum = |rate: f64| {
        let losses = all.iter().filter(|of| of.0 == rate).map(|of| of.1);
        losses.sum::<f64>()
    };
    let [one, other] = [again[0].rate, again[1].rate];
    assert_eq!(
        chosen.rate,
        if sum(one) <= sum(other) { one } else { other }
    );
    // The rate is in the trial itself, and the trainings that chose are not reported.
    let trial = &spec(&out).trials(&Tasks::default()).unwrap()[0];
    assert_eq!(trial.recipe.learning_rate, chosen.rate);
    let counts = ["-101-rate-0.00075", "-101-rate-0.0015"].map(|end| trials(&out, end));
    assert_eq!(counts, [1, 1]);
    let csv = fs::read_to_string(out.join("results.csv")).unwrap();
    let seeds = [",101,", ",102,", ",103,"];
    assert!(seeds.iter().all(|seed| !csv.contains(seed)), "{csv}");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    page.says("What each scheme got");

    // Nothing is trained twice, and a scheme that is added is tuned like the first.
    let (_, stderr) = good("", &out);
    assert!(!stderr.contains("to choose"), "{stderr}");
    good("--schemes rotary", &out);
    let grown = spec(&out).tune.unwrap();
    assert_eq!(grown.chosen_for("digits", "none"), Some(chosen));
    assert_eq!(
        (grown.chosen.len(), trials(&out, "-101-rate-0.0015")),
        (2, 2)
    );

    // Other rates are another study, and so is none.
    failed(asked("--tune 3", &out), 2).says("it differs in: tune");
    // Its own plan runs it again.
    let again = folder.path().join("again");
    let plan = out.join("study.toml");
    good(&format!("--study {}", plan.display()), &again);
    // It was not added to, as the first was.
    let mut expected = spec(&out);
    assert_eq!(expected.grown.len(), 1);
    expected.grown.clear();
    assert_eq!(spec(&again), expected);
}

#[test]
fn a_scheme_that_no_rate_trains_fails_alone() {
    let (_folder, out) = temporary("study");
    let flags = "--schemes none,learned(init=1e38) --tasks majority --seeds 1, --steps 4 --tune 2";
    let (code, _, stderr) = asked(flags, &out);
    assert_eq!(code, 1, "{stderr}");
    let results = crate::common::results(&out);
    let failed = results
        .iter()
        .filter(|result| result["outcome"]["failed"].is_string());
    assert_eq!((results.len(), failed.count()), (2, 1), "{stderr}");
    stderr.says("0.00075, the lowest, since no rate trained it");
}

#[test]
fn a_budget_chooses_or_is_refused() {
    let (folder, out) = temporary("study");
    let asked = |budget: &str| {
        let flags = format!("--schemes none --budget {budget}");
        ended(&mut digits(&flags, &out))
    };
    failed(asked("1s --steps 100000"), 2).says("3 seeds and 100 % of the steps");
    assert!(!out.exists());
    failed(asked("soon"), 2).says("write 90s, 30m or 1.5h");
    failed(asked("1h --steps 3 --seeds 2"), 2).says("at most one of --seeds and --steps");
    let (_, stderr) = well(asked("10h --steps 3"));
    stderr.says("buys 12 seeds and 100 % of the steps");
    assert_eq!(spec(&out).seeds.len(), 12);
    // The same command goes on with what it chose.
    let (_, stderr) = well(asked("10h --steps 3"));
    stderr.says("holds a study already, so --budget chooses nothing");
    assert_eq!(spec(&out).seeds.len(), 12);
    // What a file says counts as a flag does.
    let file = folder.path().join("plan.toml");
    let plan = "schemes = ['none']\ntasks = ['digits']\nseeds = [7, 8, 9]\n";
    let new = folder.path().join("new");
    for more in ["steps = 40", "until = 'decided'"] {
        fs::write(&file, format!("{plan}{more}\n")).unwrap();
        let flags = format!("--study {} --budget 1h", file.display());
        let mut command = compare(&flags, &new);
        failed(ended(&mut command), 2).says("also in a file");
        assert!(!new.exists());
    }
}

#[test]
fn recipes_of_layers_and_sizes_come_from_flags() {
    let (folder, out) = temporary("study");
    let recipes = "rotary(share=0.5, base=500000),rotary(window=4,global_every=2),t5(nope_every=3)";
    let sizes = "--d-model 32 --layers 3 --heads 2 --d-ff 48 --lr 0.001 --batch-size 8";
    let study = format!("--tasks digits --seeds 1 --steps 3 --schemes {recipes} {sizes}");
    let (stdout, _) = good(&study.replace(", ", ","), &out);
    let spec = spec(&out);
    let recipes = [
        "rotary(base=500000,share=0.5)",
        "rotary(window=4,global_every=2)",
        "t5(nope_every=3)",
    ];
    assert_eq!(spec.schemes, recipes);
    stdout.says_all(&recipes);
    let (model, recipe) = (&spec.model, &spec.recipe);
    let sizes = [model.d_model, model.layers, model.heads, model.d_ff];
    assert_eq!(sizes, [32, 3, 2, 48]);
    assert_eq!((recipe.learning_rate, recipe.batch_size), (0.001, 8));
    // A study file says the same, and other sizes are another study.
    let (_, stderr) = good("", &out);
    stderr.says("3 of them are there already");
    failed(asked("--layers 4", &out), 2).says("it differs in: model");
    for [scheme, said] in rows(
        "
        rotary(share=0.3)    | a multiple of 0.125
        rotary(nope_every=4) | the model has 2 layers
        rotary(bse=4)        | did you mean `base`?
        ",
    ) {
        let flags = format!("--tasks digits --schemes {scheme}");
        failed(asked(&flags, &folder.path().join("wrong")), 2).says(said);
    }
}

#[test]
fn a_retrieval_task_has_scores_by_depth() {
    let (_folder, out) = temporary("study");
    good(&tiny("--tasks passkey --schemes none"), &out);
    let depths = fs::read_to_string(out.join("depths.csv")).unwrap();
    let mut lines = depths.lines();
    let head = "task,scheme,seed,length,inside_training,depth_from,depth_to,answers,score,floor";
    assert_eq!(lines.next(), Some(head));
    // Eight lengths of five depths, and nothing of the task without depths.
    assert_eq!(lines.clone().count(), 40, "{depths}");
    assert!(lines.all(|line| line.starts_with("passkey,none,1,")));
    assert!(out.join("depth-passkey.svg").exists() && !out.join("depth-digits.svg").exists());
}
