//! What a paper takes of a report, and scores of other programs, as a user gets them.

use std::fs;
use std::path::Path;

use crate::common::{Says, digits, failed, names, rows, run_in, succeeds, well};

/// A study of two tiny trials.
fn study(out: &str, steps: &str, folder: &Path) {
    let flags = format!("--quiet --schemes none,learned --seeds 1 --steps {steps}");
    succeeds(&mut digits(&flags, &folder.join(out)));
}

#[test]
fn a_paper_gets_tables_methods_sources_and_pictures_without_titles() {
    let folder = tempfile::tempdir().unwrap();
    study("s", "2", folder.path());
    let paper = folder.path().join("s/paper");
    assert!(!paper.exists(), "only if it is asked for");
    let titled = fs::read_to_string(folder.path().join("s/bars-digits.svg")).unwrap();
    let (_, stderr) = well(run_in(folder.path(), "report s --paper --no-titles"));
    let read = |name: &str| fs::read_to_string(paper.join(name)).unwrap();
    for (file, said) in [
        ("table.md", "| Scheme |"),
        ("table.tex", "\\begin{tabular}"),
        ("methods.md", "We compared 2 positional encodings"),
        ("methods.tex", "\\cite{welch1947}"),
        ("references.bib", "{welch1947,"),
    ] {
        read(file).says(said);
    }
    let pdf = cfg!(feature = "pdf");
    let (picture, begin) = match pdf {
        true => ("bars-digits.pdf", b"%PDF"),
        false => ("bars-digits.svg", b"<svg"),
    };
    assert!(fs::read(paper.join(picture)).unwrap().starts_with(begin));
    assert_eq!(stderr.contains("--features pdf"), !pdf, "{stderr}");
    // The picture beside the page has no title either, and a name for screen readers.
    let untitled = fs::read_to_string(folder.path().join("s/bars-digits.svg")).unwrap();
    let title = "digits: accuracy after 2 steps";
    let has_title = |svg: &str| svg.lines().any(|line| line == title);
    assert!(has_title(&titled) && !has_title(&untitled));
    untitled.says(&format!("aria-label=\"{title}\""));
    // Its own table of results is one that can be judged.
    let (_, stderr) = well(run_in(folder.path(), "judge s/results.csv"));
    stderr.says("results.csv: 2 scores, 2 schemes, 1 task, 1 seed");
}

#[test]
fn two_studies_stand_beside_each_other_in_a_folder_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    study("short", "2", folder.path());
    study("long", "4", folder.path());
    let (stdout, _) = well(run_in(folder.path(), "report short long --out both"));
    stdout.says_all(&[
        "tasks.digits.steps",
        "digits at the training lengths",
        "No test compares two studies",
        "short (2 of 2 trials",
    ]);
    for name in ["report.html", "report.md", "table.tex", "summary.json"] {
        assert!(folder.path().join("both").join(name).is_file(), "{name}");
    }
    // What only the report of both has is no part of that of one.
    well(run_in(folder.path(), "report short --out both"));
    for (name, is_there) in [
        ("report.html", true),
        ("winner.json", true),
        ("table.tex", false),
    ] {
        assert_eq!(
            folder.path().join("both").join(name).is_file(),
            is_there,
            "{name}"
        );
    }
    for [arguments, said] in rows(
        "
        report short long                    | name it with --out
        report short ./short --out both      | ./short is named twice
        report short long --out long         | long holds a study of its own
        report short gone --out both         | gone holds no study
        report short long --out both --paper | --no-titles and --details are about one study
        report short long --out both --details | --no-titles and --details are about one study
        ",
    ) {
        failed(run_in(folder.path(), arguments), 2).says(said);
    }
}

/// The files of a folder, and what is in them.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(folder).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let bytes = fs::read(entry.path()).unwrap_or_default();
        (entry.file_name().into_string().unwrap(), bytes)
    });
    let mut files: Vec<_> = files.collect();
    files.sort();
    files
}

#[test]
fn a_report_overwrites_and_deletes_no_file_of_somebody_else() {
    let folder = tempfile::tempdir().unwrap();
    study("s", "2", folder.path());
    let report = |out: &str| run_in(folder.path(), &format!("report s --out {out} --paper"));
    // Files of the names of a report's, in folders without a list and with one that does not name them.
    for (number, (name, list)) in [
        ("results.csv", None),
        ("report.html", None),
        ("summary.json", Some("report.html\n")),
        ("paper", None),
        ("results.csv", Some("")),
    ]
    .into_iter()
    .enumerate()
    {
        let out = folder.path().join(format!("mine-{number}"));
        fs::create_dir(&out).unwrap();
        let file = out.join(name);
        let file = match name {
            "paper" => {
                fs::create_dir(&file).unwrap();
                file.join("table.md")
            }
            _ => file,
        };
        fs::write(&file, "mine").unwrap();
        fs::write(out.join("notes.txt"), "mine").unwrap();
        if let Some(list) = list {
            fs::write(out.join(".pe-lab-report"), list).unwrap();
        }
        let before = contents(&out);
        let named = file.file_name().unwrap().to_str().unwrap();
        let said = [named, "no report of pe-lab has written it"];
        failed(report(&format!("mine-{number}")), 2).says_all(&said);
        assert_eq!(contents(&out), before, "{name}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    }
    // Beside the files of a report, foreign ones stay; and a report is written anew.
    let out = folder.path().join("ours");
    fs::create_dir(&out).unwrap();
    for name in ["notes.txt", ".unfinished-1", "table.md"] {
        fs::write(out.join(name), "mine").unwrap();
    }
    well(report("ours"));
    let first = contents(&out);
    let list = fs::read_to_string(out.join(".pe-lab-report")).unwrap();
    assert!(list.contains("results.csv\n") && !list.contains("notes.txt"));
    fs::write(out.join("results.csv"), "older").unwrap();
    well(report("ours"));
    assert_eq!(contents(&out), first);
}

#[test]
fn scores_of_another_program_are_judged() {
    let folder = tempfile::tempdir().unwrap();
    let head = "scheme,seed,task,score\n";
    let write = |name: &str, rows: String| {
        fs::write(folder.path().join(name), format!("{head}{rows}")).unwrap();
    };
    let rows = (1..=5).map(|seed| {
        let [rope, nope] = [0.9, 0.4].map(|score| score + f64::from(seed) / 100.0);
        format!("rope,{seed},sorting,{rope}\nnope,{seed},sorting,{nope}\n")
    });
    write("r.csv", rows.collect());
    let (stdout, stderr) = well(run_in(folder.path(), "judge r.csv"));
    stderr.says("r.csv: 10 scores, 2 schemes, 1 task, 5 seeds");
    assert!(
        stdout.starts_with("By these scores rope is best."),
        "{stdout}"
    );
    // What a table of scores does not tell is said, and nothing of it is claimed.
    stdout.says("- The scores are taken as they are in r.csv");
    assert!(!stdout.contains("no skill;"), "{stdout}");
    let (_, stdout, _) = run_in(folder.path(), "judge r.csv --details");
    stdout.says("rope is best of the two on sorting");
    assert_eq!(names(folder.path()), ["r.csv"], "nothing is written");
    well(run_in(folder.path(), "judge r.csv --out page --paper"));
    for name in "report.html summary.json bars-sorting.svg paper/table.tex".split(' ') {
        assert!(folder.path().join("page").join(name).is_file(), "{name}");
    }
    // Nobody knows how these were made.
    assert!(!folder.path().join("page/paper/methods.md").exists());
    #[cfg(unix)]
    {
        // The table may be read by its owner alone, and so may what is made of it.
        use std::os::unix::fs::PermissionsExt;
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(folder.path().join("r.csv"), private).unwrap();
        well(run_in(folder.path(), "judge r.csv --out private"));
        let made = fs::metadata(folder.path().join("private/summary.json")).unwrap();
        assert_eq!(made.permissions().mode() & 0o077, 0);
    }
    // Scores below 0, of two parts whose lengths are not known.
    let rows = (1..=5).flat_map(|seed| {
        ["inside", "beyond"].map(|part| {
            format!(
                "rope,{seed},sorting,{},{part}\nnope,{seed},sorting,0.3,{part}\n",
                -0.5 - f64::from(seed) / 100.0
            )
        })
    });
    let rows: String = rows.collect();
    fs::write(
        folder.path().join("parts.csv"),
        format!("scheme,seed,task,score,part\n{rows}"),
    )
    .unwrap();
    well(run_in(folder.path(), "judge parts.csv --out parts"));
    assert!(!folder.path().join("parts/chart-sorting.svg").exists());
    let bars = fs::read_to_string(folder.path().join("parts/bars-sorting.svg")).unwrap();
    assert!(bars.lines().any(|line| line == "−0.5"), "{bars}");
    write("bad.csv", "rope,1,sorting,91\n".into());
    let (code, stdout, stderr) = run_in(folder.path(), "judge bad.csv");
    assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
    stderr.says("bad.csv: line 2: the score is `91`, above 1");
    failed(run_in(folder.path(), "judge r.csv --paper"), 2).says("--out");
}
