//! What a paper takes of a report, and scores of other programs, as a user gets them.

mod common;

use std::fs;
use std::path::Path;

use common::{ended, lab};

fn run(arguments: &[&str], folder: &Path) -> (i32, String, String) {
    ended(lab().args(arguments).current_dir(folder))
}

/// A study of two tiny trials.
fn study(out: &str, more: &[&str], folder: &Path) {
    let tiny = [
        "compare",
        "--quiet",
        "--tasks",
        "digits",
        "--schemes",
        "none,learned",
        "--seeds",
        "1",
        "--out",
        out,
    ];
    let (code, _, stderr) = run(&[&tiny, more].concat(), folder);
    assert_eq!(code, 0, "{stderr}");
}

#[test]
fn a_paper_gets_tables_methods_sources_and_pictures_without_titles() {
    let folder = tempfile::tempdir().unwrap();
    study("s", &["--steps", "2"], folder.path());
    let paper = folder.path().join("s/paper");
    assert!(!paper.exists(), "only if it is asked for");
    let titled = fs::read_to_string(folder.path().join("s/bars-digits.svg")).unwrap();
    let (code, _, stderr) = run(&["report", "s", "--paper", "--no-titles"], folder.path());
    assert_eq!(code, 0, "{stderr}");
    let read = |name: &str| fs::read_to_string(paper.join(name)).unwrap();
    assert!(
        read("table.md").contains("| Scheme |") && read("table.tex").contains("\\begin{tabular}")
    );
    assert!(read("methods.md").contains("We compared 2 positional encodings"));
    assert!(
        read("methods.tex").contains("\\cite{welch1947}")
            && read("references.bib").contains("{welch1947,")
    );
    let pdf = cfg!(feature = "pdf");
    let picture = fs::read(paper.join(if pdf {
        "bars-digits.pdf"
    } else {
        "bars-digits.svg"
    }))
    .unwrap();
    assert!(picture.starts_with(if pdf { b"%PDF" } else { b"<svg" }));
    assert_eq!(stderr.contains("--features pdf"), !pdf, "{stderr}");
    // The picture beside the page has no title either, and a name for screen readers.
    let untitled = fs::read_to_string(folder.path().join("s/bars-digits.svg")).unwrap();
    let title = |svg: &str| {
        svg.lines()
            .any(|line| line == "digits: accuracy after 2 steps")
    };
    assert!(title(&titled) && !title(&untitled));
    assert!(untitled.contains("aria-label=\"digits: accuracy after 2 steps\""));
}

#[test]
fn two_studies_stand_beside_each_other_in_a_folder_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    study("short", &["--steps", "2"], folder.path());
    study("long", &["--steps", "4"], folder.path());
    let (code, stdout, stderr) = run(&["report", "short", "long", "--out", "both"], folder.path());
    assert_eq!(code, 0, "{stderr}");
    for said in [
        "tasks.digits.steps",
        "digits at the training lengths",
        "No test compares two studies",
        "short (2 of 2 trials",
    ] {
        assert!(stdout.contains(said), "{said}: {stdout}");
    }
    for name in ["report.html", "report.md", "table.tex", "summary.json"] {
        assert!(folder.path().join("both").join(name).is_file(), "{name}");
    }
    for (arguments, said) in [
        (&["report", "short", "long"][..], "name it with --out"),
        (
            &["report", "short", "long", "--out", "long"],
            "long holds a study of its own",
        ),
        (
            &["report", "short", "gone", "--out", "both"],
            "gone holds no study",
        ),
        (
            &["report", "short", "long", "--out", "both", "--paper"],
            "--paper and --no-titles are about one study",
        ),
    ] {
        let (code, _, stderr) = run(arguments, folder.path());
        assert_eq!(code, 2, "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
    }
}

#[test]
fn scores_of_another_program_are_judged() {
    let folder = tempfile::tempdir().unwrap();
    let rows = (1..=5).flat_map(|seed| {
        let spread = f64::from(seed) / 100.0;
        [
            format!("rope,{seed},sorting,{}", 0.9 + spread),
            format!("nope,{seed},sorting,{}", 0.4 + spread),
        ]
    });
    let rows: Vec<String> = rows.collect();
    fs::write(
        folder.path().join("r.csv"),
        format!("scheme,seed,task,score\n{}\n", rows.join("\n")),
    )
    .unwrap();
    let (code, stdout, stderr) = run(&["judge", "r.csv"], folder.path());
    assert_eq!(code, 0, "{stderr}");
    assert!(
        stderr.contains("r.csv: 10 scores, 2 schemes, 1 task, 5 seeds"),
        "{stderr}"
    );
    assert!(
        stdout.starts_with("By these scores rope is best."),
        "{stdout}"
    );
    // What a table of scores does not tell is said, and nothing of it is claimed.
    assert!(
        stdout.contains("- The scores are taken as they are in r.csv"),
        "{stdout}"
    );
    assert!(!stdout.contains("no skill;"), "{stdout}");
    let (_, stdout, _) = run(&["judge", "r.csv", "--details"], folder.path());
    assert!(
        stdout.contains("rope is best of the two on sorting"),
        "{stdout}"
    );
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing is written"
    );
    let (code, _, stderr) = run(
        &["judge", "r.csv", "--out", "page", "--paper"],
        folder.path(),
    );
    assert_eq!(code, 0, "{stderr}");
    for name in [
        "report.html",
        "summary.json",
        "bars-sorting.svg",
        "paper/table.tex",
    ] {
        assert!(folder.path().join("page").join(name).is_file(), "{name}");
    }
    // Nobody knows how these were made.
    assert!(!folder.path().join("page/paper/methods.md").exists());
    fs::write(
        folder.path().join("bad.csv"),
        "scheme,seed,task,score\nrope,1,sorting,91\n",
    )
    .unwrap();
    let (code, stdout, stderr) = run(&["judge", "bad.csv"], folder.path());
    assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
    assert!(
        stderr.contains("bad.csv: line 2: the score is `91`, above 1"),
        "{stderr}"
    );
    let (code, _, stderr) = run(&["judge", "r.csv", "--paper"], folder.path());
    assert!(code == 2 && stderr.contains("--out"), "{stderr}");
}
