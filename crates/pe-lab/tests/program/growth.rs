//! A study grows in its folder; what is there is kept.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::common::{self, Says, ended, failed, names, small, succeeds, temporary};

/// A study of small models.
#[track_caller]
fn good(flags: &str, out: &Path) -> (String, String) {
    succeeds(&mut small(flags, out))
}

/// The trials with a result, and when each was written.
fn results(out: &Path) -> Vec<(String, SystemTime)> {
    let trials = out.join("trials");
    let found = names(&trials).into_iter().filter_map(|name| {
        let result = fs::metadata(trials.join(&name).join("result.json")).ok()?;
        Some((name, result.modified().unwrap()))
    });
    found.collect()
}

const TINY: &str = "--tasks digits --schemes none,learned --seeds 1 --steps 2";

/// The time of a study is measured in a temporary folder, and the study runs without one.
#[test]
fn a_study_runs_where_no_temporary_folder_can_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let flags = "--tasks majority --schemes none --seeds 1, --steps 1000 --d-model 8 --heads 1 --d-ff 8 --layers 1 --batch-size 2";
    let mut study = common::compare(flags, &folder.path().join("out"));
    let (code, _, said) = ended(study.env("TMPDIR", folder.path().join("nowhere")));
    assert_eq!(code, 0, "{said}");
    said.says("how long it takes cannot be measured");
}

/// They are those of the study in the folder, so its schemes, steps and seeds are too.
#[test]
fn data_that_are_named_again_add_what_is_asked_for_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("rows.csv"), folder.path().join("study"));
    let rows = (0..60).map(|row| format!("{},{},{}\n", ["x", "y"][row % 2], row % 7, row % 5));
    fs::write(&file, format!("label,a,b\n{}", rows.collect::<String>())).unwrap();
    let flags = |more: &str| format!("--data {} {more}", file.display());
    good(&flags("--schemes none,learned --seeds 1 --steps 2"), &out);
    let (_, stderr) = good(&flags("--seeds 2"), &out);
    stderr.says("2 of them are there already and are kept; 2 are new");
    assert_eq!(results(&out).len(), 4);
}

#[test]
fn seeds_schemes_and_tasks_are_added_and_nothing_is_trained_twice() {
    let (_folder, out) = temporary("study");
    good(TINY, &out);
    let first = results(&out);
    assert_eq!(first.len(), 2);

    // More seeds, said in the fewest words: the rest is that of the folder.
    let (_, stderr) = good("--seeds 2", &out);
    stderr.says("2 of them are there already and are kept; 2 are new");
    let second = results(&out);
    assert_eq!(second.len(), 4);
    assert!(first.iter().all(|trial| second.contains(trial)));

    // A scheme, and a task whose steps are asked for.
    good("--schemes rotary", &out);
    let (stdout, stderr) = good("--details --tasks reverse --steps 2", &out);
    stderr.says("6 of them are there already and are kept; 6 are new");
    stdout.says_all(&["digits (", "reverse ("]);
    let last = results(&out);
    assert_eq!(last.len(), 2 * 3 * 2);
    assert!(second.iter().all(|trial| last.contains(trial)));
    let csv = fs::read_to_string(out.join("results.csv")).unwrap();
    csv.says_all(&["digits,rotary,2,", "reverse,none,1,"]);

    // What was asked for first is there: nothing runs, and the report is of the whole study.
    let (stdout, stderr) = good(&format!("{TINY} --details"), &out);
    stderr.says("12 of them are there already");
    stdout.says("reverse (");
    assert_eq!(results(&out), last);
    // The study as it is now can be run again from its file.
    let plan = fs::read_to_string(out.join("study.toml")).unwrap();
    plan.says_all(&["rotary", "reverse"]);
}

#[test]
fn what_does_not_fit_is_refused_before_anything_changes() {
    let (folder, out) = temporary("study");
    good(
        "--tasks majority,reverse --schemes none --seeds 1, --steps 2",
        &out,
    );
    let spec = || fs::read_to_string(out.join("study.json")).unwrap();
    let before = spec();
    for (flags, said) in [
        ("--tasks reverse --causal --schemes fox --steps 2", "fox"),
        (
            "--schemes rotary(base=1e300)",
            "file systems take up to 255",
        ),
    ] {
        failed(ended(&mut small(flags, &out)), 2).says(said);
        assert_eq!(spec(), before);
    }
    // A budget leaves seeds and steps as they are, and takes the rest of a file, which may name some of the tasks.
    let file = folder.path().join("more.toml");
    fs::write(
        &file,
        "schemes = ['learned']\ntasks = ['majority']\nseeds = 3\n",
    )
    .unwrap();
    good(&format!("--study {} --budget 1h", file.display()), &out);
    let trials = "majority-learned-1 majority-none-1 reverse-learned-1 reverse-none-1";
    assert_eq!(names(&out.join("trials")).join(" "), trials);
    // Of a preset, whose recipe is for its own tasks, too.
    let (_, said) = good(
        "--preset quick --tasks majority --schemes none --budget 1h",
        &out,
    );
    said.says("4 of them are there already and are kept; 0 are new");
}

#[test]
fn looks_that_were_planned_are_not_dropped() {
    let (_folder, out) = temporary("study");
    let with = |more: &str| format!("--tasks digits --schemes none,learned --steps 2 {more}");
    good(&with("--seeds 3 --until decided"), &out);
    let spec = fs::read_to_string(out.join("study.json")).unwrap();
    // The same question from a preset, which says nothing of looks, with more seeds.
    for seeds in ["4", "3"] {
        let asked = with(&format!("--preset quick --seeds {seeds}"));
        failed(ended(&mut small(&asked, &out)), 2).says("until");
    }
    assert_eq!(fs::read_to_string(out.join("study.json")).unwrap(), spec);
}

#[test]
fn more_steps_keep_the_trials_of_fewer_and_give_them_back() {
    let (_folder, out) = temporary("study");
    good(TINY, &out);
    let loss = |out: &Path| {
        let first = common::results(out).remove(0);
        let curve = &first["outcome"]["finished"]["curve"];
        (first["spec"]["steps"].clone(), curve.clone())
    };
    let before = loss(&out);
    good("--steps 3", &out);
    assert_eq!(loss(&out).0, 3);
    let kept = "digits-learned-1 digits-learned-1-at-2 digits-none-1 digits-none-1-at-2";
    assert_eq!(names(&out.join("trials")).join(" "), kept);
    let (_, stderr) = good("--steps 2", &out);
    stderr.says("2 of them are there already and are kept; 0 are new");
    assert_eq!(loss(&out), before);
    // Without --steps the study keeps its own.
    let (_, stderr) = good("--seeds 1", &out);
    stderr.says("digits for 2 steps");
}

#[test]
fn the_first_study_of_the_readme_grows_by_schemes_and_seeds() {
    let (_folder, out) = temporary("study");
    // The preset `quick`, with less of everything that takes time.
    good("--steps 1 --seeds 1", &out);
    assert_eq!(results(&out).len(), 9);
    let schemes = "none,sinusoidal,learned,rotary,alibi,t5,randomized_sinusoidal,randomized_rotary";
    let (stdout, stderr) = good(&format!("--schemes {schemes} --seeds 5 --dry-run"), &out);
    stderr.says_all(&["120 trials", "9 of them are there already"]);
    assert!(stdout.starts_with("about "), "{stdout}");
    stdout.says("of a few steps");
    assert_eq!(results(&out).len(), 9);
    let spec = fs::read_to_string(out.join("study.json")).unwrap();
    assert!(!spec.contains("rotary"), "a dry run writes nothing: {spec}");
}

#[test]
fn a_dry_run_says_what_and_how_long_and_leaves_nothing() {
    let (_folder, out) = temporary("study");
    let flags = format!("{TINY} --dry-run");
    let (stdout, stderr) = good(&flags, &out);
    stderr.says("2 trials (schemes none, learned; tasks digits for 2 steps");
    assert!(stdout.starts_with("about "), "{stdout}");
    assert!(!out.exists());
    // A time that was measured: a thousand times the steps take longer.
    let seconds = |steps: &str| -> f64 {
        let flags = flags.replace("--steps 2", &format!("--steps {steps}"));
        let (stdout, _) = good(&flags, &out);
        let mut words = stdout.split_whitespace().skip(1);
        // Or "a second".
        let number: f64 = words.next().unwrap().parse().unwrap_or(1.0);
        let units = [
            ("second", 1.0),
            ("seconds", 1.0),
            ("minutes", 60.0),
            ("hours", 3600.0),
        ];
        let unit = words.next().unwrap();
        number * units.iter().find(|of| of.0 == unit).expect(unit).1
    };
    let (short, long) = (seconds("2"), seconds("20000"));
    assert!(long > 10.0 * short, "{short} {long}");
    good(TINY, &out);
    assert!(good(&flags, &out).0.contains("nothing is left to run"));
}
