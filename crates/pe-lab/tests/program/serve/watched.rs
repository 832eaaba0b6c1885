//! The page of a study.

use super::*;

#[test]
fn a_study_is_shown_as_it_is_and_left_as_it_is() {
    let (folder, out) = temporary("study");
    serving(Some(&out), |port| {
        let now = || get(port, "/api/study").json();
        let said = now();
        assert_eq!(said["state"], "missing");
        let message = said["message"].as_str().unwrap();
        message.says(out.to_str().unwrap());
        fs::create_dir(&out).unwrap();
        assert_eq!(now()["state"], "no_study");
        study(&out);

        let before = listing(&out);
        let said = now();
        let counts = ["planned", "done", "failed", "begun"];
        assert_eq!(counts.map(|of| said[of].as_u64().unwrap()), [8, 8, 0, 0]);
        assert_eq!(said["report"], true);
        assert_eq!(said["seconds_left"], 0.0);
        // The scores are those of the report.
        let summary = json(&out.join("summary.json"));
        // So is the verdict, and so are the colours.
        assert!(!summary["verdict"].as_array().unwrap().is_empty());
        assert_eq!(said["verdict"], summary["verdict"]);
        let bars = fs::read_to_string(out.join("bars-reverse.svg")).unwrap();
        for look in said["looks"].as_array().unwrap() {
            let colour = look["colour"].as_array().unwrap().iter();
            let hex = colour.map(|part| format!("{:02X}", part.as_u64().unwrap()));
            let hex = hex.collect::<String>();
            assert!(bars.contains(&format!("fill=\"#{hex}\"")), "{hex}");
        }
        let mut compared = 0;
        for trial in said["trials"].as_array().unwrap() {
            let of_trial = |all: &'_ Value, key: &str| -> Value {
                let mut all = all.as_array().unwrap().iter();
                all.find(|of| of[key] == trial[key]).unwrap().clone()
            };
            let task = of_trial(&summary["tasks"], "task");
            let scheme = of_trial(&task["schemes"], "scheme");
            for part in ["inside", "beyond"] {
                let seed = of_trial(&scheme[part]["seeds"], "seed");
                let [ours, theirs] =
                    [&trial[part], &seed["normalized"]].map(|of| of.as_f64().unwrap());
                assert!((ours - theirs).abs() < 1e-12, "{trial}: {theirs}");
                compared += 1;
            }
            assert!(!trial["held_out"].as_array().unwrap().is_empty(), "{trial}");
        }
        assert_eq!(compared, 16);
        let report = get(port, "/report");
        let page = fs::read(out.join("report.html")).unwrap();
        assert_eq!((report.status, &report.body), (200, &page));
        let policy = "Content-Security-Policy: sandbox allow-scripts; default-src 'none';";
        report.head.says(policy);
        assert_eq!(listing(&out), before);

        // One trial not begun, one begun, one failed, one damaged, one of another trial.
        let trial = |id: &str| out.join("trials").join(id);
        fs::remove_dir_all(trial("reverse-none-1")).unwrap();
        fs::remove_file(trial("reverse-none-2").join("result.json")).unwrap();
        fs::remove_file(trial("reverse-learned-1").join("result.json")).unwrap();
        let failure = trial("reverse-learned-1").join("failure.json");
        fs::write(failure, "\"the disk is full\"").unwrap();
        fs::write(trial("majority-none-1").join("result.json"), "{").unwrap();
        let result = |id: &str| trial(id).join("result.json");
        fs::copy(result("majority-learned-1"), result("majority-learned-2")).unwrap();
        let said = now();
        let state = |id: &str| {
            let word = |of: &Value| of.as_str().unwrap_or_default().to_string();
            let is = |t: &&Value| {
                let (task, scheme) = (word(&t["task"]), word(&t["scheme"]));
                format!("{task}-{scheme}-{}", t["seed"]) == id
            };
            let mut trials = said["trials"].as_array().unwrap().iter();
            let found = trials.find(is).unwrap();
            (word(&found["state"]), word(&found["reason"]))
        };
        assert_eq!(state("reverse-none-1").0, "waiting");
        assert_eq!(state("reverse-none-2").0, "begun");
        let failed = ("failed".into(), "the disk is full".into());
        assert_eq!(state("reverse-learned-1"), failed);
        assert!(state("majority-none-1").1.contains("cannot be read"));
        assert!(state("majority-learned-2").1.contains("another trial"));
        assert_eq!(counts.map(|of| said[of].as_u64().unwrap()), [8, 3, 3, 1]);
        assert!(said["seconds_left"].as_f64().unwrap() > 0.0);

        // The folder goes, and comes back.
        fs::rename(&out, folder.path().join("away")).unwrap();
        assert_eq!(now()["state"], "missing");
        let report = get(port, "/report");
        assert_eq!(report.status, 404);
        assert!(report.text().contains("no report"));
        fs::rename(folder.path().join("away"), &out).unwrap();
        assert_eq!(now()["state"], "study");
        assert_eq!(get(port, "/").status, 200);
    });
}

#[test]
fn a_decided_study_waits_for_no_seeds() {
    let (_folder, out) = temporary("study");
    let flags =
        "--quiet --schemes none,learned --tasks reverse --seeds 4 --until decided --steps 3";
    succeeds(&mut small(flags, &out));
    // As if it had been decided after the first look.
    for seed in [4] {
        for scheme in ["none", "learned"] {
            fs::remove_dir_all(out.join(format!("trials/reverse-{scheme}-{seed}"))).unwrap();
        }
    }
    let file = out.join("summary.json");
    let mut summary = json(&file);
    summary["seeds"] = serde_json::json!([1, 2, 3]);
    for decided in [false, true] {
        for headline in summary["headlines"].as_array_mut().unwrap() {
            headline["decided"] = decided.into();
        }
        fs::write(&file, summary.to_string()).unwrap();
        serving(Some(&out), |port| {
            let said = get(port, "/api/study").json();
            let planned = if decided { 6 } else { 8 };
            assert_eq!(
                (&said["planned"], &said["done"]),
                (&planned.into(), &6.into())
            );
            assert_eq!(said["seconds_left"] == 0.0, decided, "{said}");
        });
    }
}

#[test]
fn the_curve_of_a_training_is_shown_while_it_runs() {
    let (_folder, out) = temporary("study");
    let flags = "--quiet --schemes none --tasks reverse --seeds 1 --steps 400";
    let running = || small(flags, &out);
    let curve = out.join("trials/reverse-none-1/curve.json");
    let of = |trial: &Value| -> Vec<(u64, f64)> {
        let points = trial["held_out"].as_array().unwrap();
        let point = |point: &Value| (point[0].as_u64().unwrap(), point[1].as_f64().unwrap());
        points.iter().map(point).collect()
    };
    serving(Some(&out), |port| {
        let trial = || get(port, "/api/study").json()["trials"][0].clone();
        let first = running().spawn().unwrap();
        let start = Instant::now();
        let seen = loop {
            let now = trial();
            if now["state"] == "begun" && of(&now).len() > 1 {
                break of(&now);
            }
            assert!(now["state"] != "done", "it ended before it was seen");
            assert!(start.elapsed() < Duration::from_secs(300), "{now}");
            thread::sleep(Duration::from_millis(20));
        };
        assert_eq!((seen[0].0, seen[1].0), (0, 50), "{seen:?}");
        let is_finite = seen[..2].iter().all(|point| point.1.is_finite());
        assert!(is_finite, "{seen:?}");
        common::kill(first);
        // What a kill leaves is removed when the study goes on, also where it is damaged.
        fs::write(&curve, "[{").unwrap();
        assert_eq!(trial()["state"], "begun");
        assert_eq!(of(&trial()), []);
        succeeds(&mut running());
        let done = trial();
        assert_eq!(done["state"], "done");
        // The same numbers as before, and more.
        assert_eq!(of(&done)[..seen.len()], seen[..]);
        assert!(of(&done).len() > seen.len());
        assert!(!curve.exists());
        // A trial that was killed long ago, and a study that is only claimed.
        fs::write(&curve, "[]").unwrap();
        succeeds(&mut running());
        assert!(!curve.exists());
    });
}

#[test]
fn nothing_outside_of_the_folder_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let [out, outside] = ["study", "outside.html"].map(|name| folder.path().join(name));
    fs::create_dir(&out).unwrap();
    fs::write(&outside, "secret").unwrap();
    serving(Some(&out), |port| {
        std::os::unix::fs::symlink(&outside, out.join("report.html")).unwrap();
        std::os::unix::fs::symlink(&outside, out.join("study.json")).unwrap();
        let report = get(port, "/report");
        assert_eq!(report.status, 404);
        report.text().says("it is no file but a link");
        let said = get(port, "/api/study").json();
        assert_eq!(said["state"], "damaged");
        let message = said["message"].as_str().unwrap();
        message.says("it is no file but a link");
        // A pipe would keep a reader waiting for ever, and a large file would fill the memory.
        fs::remove_file(out.join("report.html")).unwrap();
        common::pipe(&out.join("report.html"));
        assert_eq!(get(port, "/report").status, 404);
        fs::remove_file(out.join("report.html")).unwrap();
        let large = fs::File::create(out.join("report.html")).unwrap();
        large.set_len(1 << 40).unwrap();
        assert!(get(port, "/report").text().contains("at most"));
    });
}

#[test]
fn a_study_of_too_many_trials_is_not_shown() {
    let (_folder, out) = temporary("study");
    study(&out);
    serving(Some(&out), |port| {
        plan_seeds(&out, 5_000);
        let answer = get(port, "/api/study").json();
        assert_eq!(answer["state"], "study");
        assert_eq!(answer["planned"], 20_000);
        plan_seeds(&out, 5_001);
        let answer = get(port, "/api/study").json();
        assert_eq!(answer["state"], "damaged");
        let said = answer["message"].as_str().unwrap();
        said.says_all(&["20,004 trials", "at most 20,000"]);
    });
}

#[test]
fn trainings_that_choose_rates_are_counted() {
    let (_folder, out) = temporary("study");
    let flags = "--quiet --schemes none,learned --tasks majority --seeds 1 --tune 2 --steps 3";
    succeeds(&mut small(flags, &out));
    let trials = fs::read_dir(out.join("trials")).unwrap();
    let names = trials.map(|trial| trial.unwrap().file_name().into_string().unwrap());
    let rates = names.filter(|name| name.contains("-rate-")).count();
    assert!(rates >= 4, "{rates}");
    serving(Some(&out), |port| {
        let said = get(port, "/api/study").json();
        assert_eq!(
            (&said["choosing"], &said["done"]),
            (&rates.into(), &2.into())
        );
    });
}
