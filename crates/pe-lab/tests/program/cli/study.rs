//! A study from its first trial to its report.

use serde_json::Value;

use super::*;
use crate::common::{names, succeeds, temporary};
use pe_lab::folder::is_unfinished;

fn changed(file: &Path) -> SystemTime {
    fs::metadata(file).unwrap().modified().unwrap()
}

#[test]
fn a_study_writes_its_files_resumes_and_refuses_to_be_mixed() {
    let (folder, out) = temporary("study");
    let (stdout, stderr) = well(tiny("--details", &out));
    stdout.says_all(&["Verdict", "(floor)"]);
    assert!(
        !stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'),
        "no colours in a pipe"
    );
    let finished = stderr.matches("accuracy by length 64").count();
    assert_eq!(finished, 2, "one line per trial: {stderr}");

    let csv = fs::read_to_string(out.join("results.csv")).unwrap();
    assert_eq!(csv.lines().count(), 3, "{csv}");
    let columns = "task,scheme,seed,steps,device,length";
    assert!(csv.starts_with(columns), "{csv}");
    let jsonl = fs::read_to_string(out.join("results.jsonl")).unwrap();
    for line in jsonl.lines() {
        let result: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(result["outcome"]["finished"]["scores"][0]["samples"], 397);
    }
    let summary = json(&out.join("summary.json"));
    assert_eq!(summary["tasks"][0]["schemes"].as_array().unwrap().len(), 2);
    let svg = fs::read_to_string(out.join("bars-digits.svg")).unwrap();
    assert!(svg.starts_with("<svg"), "{svg}");
    svg.says("accuracy on held-out data");
    let mut files = names(&out).into_iter();
    assert!(!files.any(|name| is_unfinished(name.as_ref())));

    // Again: nothing is trained, and the numbers are the same.
    let result = out.join("trials/digits-learned-1/result.json");
    let before = changed(&result);
    let (code, again, stderr) = tiny("--details", &out);
    assert_eq!((code, &again), (0, &stdout));
    stderr.says("2 of the trials were there already");
    assert_eq!(changed(&result), before);

    // A trial that is gone is run again, alone.
    let none = out.join("trials/digits-none-1/result.json");
    let other = changed(&none);
    let scores = |csv: &str| -> Vec<Vec<String>> {
        let cells = |row: &str| row.split(',').take(14).map(String::from).collect();
        csv.lines().map(cells).collect()
    };
    fs::remove_file(&result).unwrap();
    assert_eq!(tiny("", &out).0, 0);
    assert!(result.exists());
    assert_eq!(changed(&none), other);
    let csv_again = fs::read_to_string(out.join("results.csv")).unwrap();
    assert_eq!(scores(&csv_again), scores(&csv));

    // The report alone, from the files, after the others are gone.
    for file in ["results.csv", "summary.json", "bars-digits.svg"] {
        fs::remove_file(out.join(file)).unwrap();
    }
    let (reported, _) = well(ended(&mut report(&out)));
    let table = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with("wrote"));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(table(&reported), table(&tiny("", &out).1));
    assert!(out.join("bars-digits.svg").exists());

    // The study again from the file that it left, elsewhere: the same numbers.
    let elsewhere = folder.path().join("elsewhere");
    let plan = out.join("study.toml");
    well(study(&format!("--study {}", plan.display()), &elsewhere));
    let csv_elsewhere = fs::read_to_string(elsewhere.join("results.csv")).unwrap();
    assert_eq!(scores(&csv_elsewhere), scores(&csv));

    // Another recipe is another study.
    let other = folder.path().join("other.toml");
    let text = fs::read_to_string(&plan).unwrap();
    fs::write(&other, text.replace("batch_size = 64", "batch_size = 8")).unwrap();
    let flags = format!("--study {}", other.display());
    failed(study(&flags, &out), 2).says(
        "holds another study (it differs in: recipe.batch_size: … 64 … there and … 8 … here)",
    );
    let kept = fs::read_to_string(out.join("results.csv")).unwrap();
    assert_eq!(kept, csv_again);
}

#[test]
fn results_of_other_numbers_are_never_mixed() {
    let (_folder, out) = temporary("study");
    assert_eq!(tiny("", &out).0, 0);
    // A study whose numbers are of another generation.
    let older = |json: &mut Value| json["versions"]["numbers"] = 0.into();
    edit_sealed(&out.join("trials/digits-none-1/result.json"), older);
    failed(tiny("", &out), 1).says_all(&["numbers 0", "their numbers differ"]);
    edit_sealed(&out.join("study.json"), older);
    failed(tiny("", &out), 2)
        .says_all(&["versions: it was made by pe-lab", "numbers 0, and this is"]);
}

#[test]
fn a_study_stops_at_the_look_that_decides_it() {
    let (folder, out) = temporary("study");
    let until = "--until decided --details --schemes none,sinusoidal";
    // After one step nothing is known of digits: no look decides, and every seed is run.
    let blind = format!("{until} --steps 1 --seeds 4");
    let (stdout, _) = succeeds(&mut digits(&blind, &out));
    stdout.says_all(&["4 seeds, the last planned look", "(3 and 4 seeds)"]);
    assert!(out.join("trials/digits-none-4/result.json").exists());
    // Positions tell digits apart after some steps, and three seeds show it.
    let out = folder.path().join("clear");
    let clear = format!("{until} --steps 300 --lr 0.008 --batch-size 32");
    let (stdout, _) = succeeds(&mut digits(&clear, &out));
    let verdict = stdout.split("Verdict").nth(1).unwrap();
    verdict.says("sinusoidal is best of the two on digits");
    verdict.says_all(&["Decided after", "of up to 12 seeds"]);
    assert!(!out.join("trials/digits-none-12/result.json").exists());
    // Again, and as a report alone: the same look, and no trial is missed.
    assert_eq!(succeeds(&mut digits(&clear, &out)).0, stdout);
    let (report, _) = succeeds(report(&out).arg("--details"));
    report.says(verdict.lines().nth(1).unwrap());
    failed(study("--until bored", &out), 2).says("decided");
    let few = folder.path().join("few");
    failed(study("--until decided --seeds 2", &few), 2).says("at least 3 seeds");
    assert!(!few.exists());
}

#[test]
fn a_folder_that_is_refused_is_refused_before_anything_is_measured() {
    let (_folder, out) = temporary("mine");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("notes.txt"), "").unwrap();
    for flags in ["--steps 2", "--steps 2 --dry-run"] {
        failed(study(flags, &out), 2).says("is not empty and holds no study");
    }
}

#[test]
fn a_study_file_is_read_and_its_faults_are_named() {
    let (folder, file) = temporary("mine.toml");
    let mine = format!("--study {}", file.display());
    let out = folder.path().join("out");
    for [text, said] in rows(
        "
        schemes = ['none']⏎seed = 3      | unknown field `seed`
        steps = { sorting = 3 }          | `sorting`, which is not in the study
        [model]⏎heads = 5                | not a multiple of the 5 heads
        [recipe]⏎learning_rate = -1.0    | learning_rate is -1
        data = 'none.csv'                | none.csv
        ",
    ) {
        fs::write(&file, text).unwrap();
        failed(study(&mine, &out), 2).says(said);
        assert!(!out.exists(), "{text}");
    }
    failed(study("--study /no/such.toml", &out), 2).says("/no/such.toml: No such file");
    let plan =
        "schemes = ['none']\ntasks = ['digits']\nseeds = [7]\nsteps = 2\n[model]\nlayers = 1\n";
    fs::write(&file, plan).unwrap();
    well(study(&format!("{mine} --schemes learned"), &out));
    assert!(out.join("trials/digits-learned-7/result.json").exists());
}

#[test]
fn impossible_results_are_refused_and_a_lost_spec_is_written_again() {
    let (_folder, out) = temporary("study");
    let report = || ended(&mut report(&out));
    assert_eq!(tiny("", &out).0, 0);
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
        failed(report(), 1).says_all(&[said, "delete it and run again"]);
    }
    fs::write(&file, whole).unwrap();
    fs::remove_file(out.join("study.json")).unwrap();
    let (_, stderr) = well(tiny("", &out));
    stderr.says("2 of the trials were there already");
    // A damaged encoding is named, and costs its picture alone.
    let file = out.join("trials/digits-learned-1/encoding.csv");
    let whole = fs::read_to_string(&file).unwrap();
    let picture = |page: &str| page.contains("Cosine similarity: learned, trained on digits");
    let page = || fs::read_to_string(out.join("report.html")).unwrap();
    assert!(picture(&page()));
    let other = "it is not as it was written";
    for (content, said) in [
        (Some(whole.replacen('1', "2", 1)), other),
        (Some(String::new()), other),
        (None, "it is gone"),
    ] {
        match content {
            Some(content) => fs::write(&file, content).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let (_, stderr) = well(report());
        stderr.says_all(&[said, "encoding.csv"]);
        assert!(page().contains(said) && !picture(&page()));
    }
    fs::write(&file, whole).unwrap();
    let (code, _, stderr) = report();
    assert!(code == 0 && !stderr.contains("encoding.csv"), "{stderr}");
}

#[test]
fn a_trial_that_breaks_is_reported_and_the_others_go_on() {
    let (_folder, out) = temporary("study");
    // The first run lays the folders out; then one trial's place is taken by a file.
    assert_eq!(tiny("", &out).0, 0);
    let learned = out.join("trials/digits-learned-1/result.json");
    fs::remove_file(&learned).unwrap();
    fs::create_dir(&learned).unwrap();
    fs::write(learned.join("in-the-way"), "").unwrap();
    failed(tiny("", &out), 1).says("result.json");
}
