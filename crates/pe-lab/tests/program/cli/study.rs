//! A study from its first trial to its report.

use serde_json::Value;

use super::*;

fn changed(file: &Path) -> SystemTime {
    fs::metadata(file).unwrap().modified().unwrap()
}

#[test]
fn a_study_writes_its_files_resumes_and_refuses_to_be_mixed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    let (stdout, stderr) = well(run(&tiny(&["--details"]), Some(&out)));
    says(&stdout, &["Verdict", "(floor)"]);
    assert!(
        !stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'),
        "no colours in a pipe"
    );
    let finished = stderr
        .lines()
        .filter(|line| line.contains("accuracy by length 64"))
        .count();
    assert_eq!(finished, 2, "one line per trial: {stderr}");

    let csv = fs::read_to_string(out.join("results.csv")).unwrap();
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(
        csv.starts_with("task,scheme,seed,steps,device,length"),
        "{csv}"
    );
    let jsonl = fs::read_to_string(out.join("results.jsonl")).unwrap();
    for line in jsonl.lines() {
        let result: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(result["outcome"]["finished"]["scores"][0]["samples"], 397);
    }
    let summary = json(&out.join("summary.json"));
    assert_eq!(summary["tasks"][0]["schemes"].as_array().unwrap().len(), 2);
    let svg = fs::read_to_string(out.join("bars-digits.svg")).unwrap();
    assert!(
        svg.starts_with("<svg") && svg.contains("accuracy on held-out data"),
        "{svg}"
    );
    let leftover = fs::read_dir(&out).unwrap().any(|entry| {
        entry
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with(".unfinished")
    });
    assert!(!leftover, "every temporary file was renamed");

    // Again: nothing is trained, and the numbers are the same.
    let result = out.join("trials/digits-learned-1/result.json");
    let before = changed(&result);
    let (code, again, stderr) = run(&tiny(&["--details"]), Some(&out));
    assert_eq!((code, &again), (0, &stdout));
    says(&stderr, &["2 of the trials were there already"]);
    assert_eq!(changed(&result), before);

    // A trial that is gone is run again, alone.
    let other = changed(&out.join("trials/digits-none-1/result.json"));
    let scores = |csv: &str| -> Vec<String> {
        let rows = csv
            .lines()
            .map(|row| row.split(',').take(14).collect::<Vec<_>>().join(","));
        rows.collect()
    };
    fs::remove_file(&result).unwrap();
    assert_eq!(run(&tiny(&[]), Some(&out)).0, 0);
    assert!(result.exists());
    assert_eq!(
        changed(&out.join("trials/digits-none-1/result.json")),
        other
    );
    let csv_again = fs::read_to_string(out.join("results.csv")).unwrap();
    assert_eq!(scores(&csv_again), scores(&csv));

    // The report alone, from the files, after the others are gone.
    for file in ["results.csv", "summary.json", "bars-digits.svg"] {
        fs::remove_file(out.join(file)).unwrap();
    }
    let out_name = out.to_string_lossy().into_owned();
    let (reported, _) = well(run(&["report", &out_name], None));
    let table = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with("wrote"));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(table(&reported), table(&run(&tiny(&[]), Some(&out)).1));
    assert!(out.join("bars-digits.svg").exists());

    // The study again from the file that it left, elsewhere: the same numbers.
    let elsewhere = folder.path().join("elsewhere");
    let plan = out.join("study.toml").to_string_lossy().into_owned();
    well(run(&["compare", "--study", &plan], Some(&elsewhere)));
    let csv_elsewhere = fs::read_to_string(elsewhere.join("results.csv")).unwrap();
    assert_eq!(scores(&csv_elsewhere), scores(&csv));

    // Another recipe is another study.
    let other = folder.path().join("other.toml");
    let text = fs::read_to_string(&plan).unwrap();
    fs::write(&other, text.replace("batch_size = 64", "batch_size = 8")).unwrap();
    let name = other.to_string_lossy().into_owned();
    refused(
        run(&["compare", "--study", &name], Some(&out)),
        2,
        &["holds another study (it differs in: recipe)"],
    );
    assert_eq!(
        fs::read_to_string(out.join("results.csv")).unwrap(),
        csv_again
    );
}

#[test]
fn results_of_other_numbers_are_never_mixed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    assert_eq!(run(&tiny(&[]), Some(&out)).0, 0);
    // A study whose numbers are of another generation.
    let older = |json: &mut Value| json["versions"]["numbers"] = 0.into();
    edit_sealed(&out.join("trials/digits-none-1/result.json"), older);
    refused(
        run(&tiny(&[]), Some(&out)),
        1,
        &["numbers 0", "their numbers differ"],
    );
    let mut spec = json(&out.join("study.json"));
    older(&mut spec);
    fs::write(out.join("study.json"), spec.to_string()).unwrap();
    refused(
        run(&tiny(&[]), Some(&out)),
        2,
        &["versions: it was made by pe-lab", "numbers 0, and this is"],
    );
}

#[test]
fn a_study_stops_at_the_look_that_decides_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    let study = words("compare --tasks digits --until decided --details");
    let study = [&study[..], &SMALL].concat();
    // After one step nothing is known of digits: no look decides, and every seed is run.
    let blind = words("--schemes none,sinusoidal --steps 1 --seeds 4");
    let (stdout, _) = well(run(&[&study[..], &blind].concat(), Some(&out)));
    says(
        &stdout,
        &["4 seeds, the last planned look", "(3 and 4 seeds)"],
    );
    assert!(out.join("trials/digits-none-4/result.json").exists());
    // Positions tell digits apart after some steps, and three seeds show it.
    let out = folder.path().join("clear");
    let clear = "--schemes none,sinusoidal --steps 300 --lr 0.008 --batch-size 32";
    let clear: Vec<&str> = clear.split(' ').collect();
    let clear = [&study[..], &clear[..]].concat();
    let (stdout, _) = well(run(&clear, Some(&out)));
    let verdict = stdout.split("Verdict").nth(1).unwrap();
    says(verdict, &["sinusoidal is best of the two on digits"]);
    says(verdict, &["Decided after", "of up to 12 seeds"]);
    assert!(!out.join("trials/digits-none-12/result.json").exists());
    // Again, and as a report alone: the same look, and no trial is missed.
    let (code, again, stderr) = run(&clear, Some(&out));
    assert_eq!((code, again), (0, stdout.clone()), "{stderr}");
    let name = out.to_string_lossy().into_owned();
    let (report, _) = well(run(&["report", &name, "--details"], None));
    assert!(report.contains(verdict.lines().nth(1).unwrap()), "{report}");
    refused(
        run(&["compare", "--until", "bored"], Some(&out)),
        2,
        &["decided"],
    );
}

#[test]
fn a_study_file_is_read_and_its_faults_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let name = file.to_string_lossy().into_owned();
    let out = folder.path().join("out");
    for (text, said) in [
        ("schemes = [\"none\"]\nseed = 3", "unknown field `seed`"),
        (
            "steps = { sorting = 3 }",
            "`sorting`, which is not in the study",
        ),
        ("[model]\nheads = 5", "not a multiple of the 5 heads"),
        ("[recipe]\nlearning_rate = -1.0", "learning_rate is -1"),
        ("data = \"none.csv\"", "none.csv"),
    ] {
        fs::write(&file, text).unwrap();
        let (code, _, stderr) = run(&["compare", "--study", &name], Some(&out));
        assert!(code == 2 || text.starts_with("data"), "{text}: {stderr}");
        assert!(code != 0 && stderr.contains(said), "{text}: {stderr}");
        assert!(!out.exists(), "{text}");
    }
    refused(
        run(&["compare", "--study", "/no/such.toml"], Some(&out)),
        2,
        &["/no/such.toml: No such file"],
    );
    fs::write(
        &file,
        "schemes = [\"none\"]\ntasks = [\"digits\"]\nseeds = [7]\nsteps = 2\n[model]\nlayers = 1\n",
    )
    .unwrap();
    well(run(
        &["compare", "--study", &name, "--schemes", "learned"],
        Some(&out),
    ));
    assert!(out.join("trials/digits-learned-7/result.json").exists());
}

#[test]
fn impossible_results_are_refused_and_a_lost_spec_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    let name = out.to_string_lossy().into_owned();
    assert_eq!(run(&tiny(&[]), Some(&out)).0, 0);
    let file = out.join("trials/digits-none-1/result.json");
    let whole = fs::read_to_string(&file).unwrap();
    let scores = json(&file)["outcome"]["finished"]["scores"].take();
    let with = |scores: Value| {
        edit_sealed(&file, |result| {
            result["outcome"]["finished"]["scores"] = scores
        });
        fs::read_to_string(&file).unwrap()
    };
    let mut high = scores.clone();
    high[0]["accuracy"] = 7.5.into();
    let mut floor = scores.clone();
    floor[0]["floor"] = 1.0.into();
    for (text, said) in [
        (with(high), "the accuracy 7.5"),
        (with(floor), "the floor 1"),
        (with(serde_json::json!([])), "scores at the lengths []"),
        (whole[..100].to_string(), "EOF"),
    ] {
        fs::write(&file, text).unwrap();
        refused(
            run(&["report", &name], None),
            1,
            &[said, "delete it and run again"],
        );
    }
    fs::write(&file, whole).unwrap();
    fs::remove_file(out.join("study.json")).unwrap();
    let (_, stderr) = well(run(&tiny(&[]), Some(&out)));
    says(&stderr, &["2 of the trials were there already"]);
    // A damaged encoding is named, and costs its picture alone.
    let file = out.join("trials/digits-learned-1/encoding.csv");
    let whole = fs::read_to_string(&file).unwrap();
    let picture = |page: &str| page.contains("Cosine similarity: learned, trained on digits");
    assert!(picture(
        &fs::read_to_string(out.join("report.html")).unwrap()
    ));
    for (content, said) in [
        (
            Some(whole.replacen('1', "2", 1)),
            "it is not as it was written",
        ),
        (Some(String::new()), "it is not as it was written"),
        (None, "it is gone"),
    ] {
        match content {
            Some(content) => fs::write(&file, content).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let (_, stderr) = well(run(&["report", &name], None));
        says(&stderr, &[said, "encoding.csv"]);
        let page = fs::read_to_string(out.join("report.html")).unwrap();
        assert!(page.contains(said) && !picture(&page));
    }
    fs::write(&file, whole).unwrap();
    let (code, _, stderr) = run(&["report", &name], None);
    assert!(code == 0 && !stderr.contains("encoding.csv"), "{stderr}");
}

#[test]
fn a_trial_that_breaks_is_reported_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    // The first run lays the folders out; then one trial's place is taken by a file.
    assert_eq!(run(&tiny(&[]), Some(&out)).0, 0);
    let learned = out.join("trials/digits-learned-1/result.json");
    fs::remove_file(&learned).unwrap();
    fs::create_dir(&learned).unwrap();
    fs::write(learned.join("in-the-way"), "").unwrap();
    refused(run(&tiny(&[]), Some(&out)), 1, &["result.json"]);
}
