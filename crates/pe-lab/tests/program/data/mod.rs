//! Studies on a user's own data: `pe-lab compare --data FILE`, and what such data can teach a model.

mod learned;
mod refused;

use std::fs;
use std::path::Path;

use crate::common::{
    self, Says, ended, failed, json, lab, predict, small, succeeds, temporary, well,
};
use burn::tensor::Device;
use pe_lab::rng::{RngExt, generator};

fn compare(data: &Path, out: &Path) -> (i32, String, String) {
    ended(small(SHORT, out).arg("--data").arg(data))
}

/// A study that is soon over.
const SHORT: &str = "--schemes none,learned --seeds 1 --steps 2 --details";

/// Reviews whose label depends on the order of two words.
fn rows() -> String {
    let pair = |i: usize| {
        let filler = "so ".repeat(i % 5);
        format!("good,not {filler}bad {i}\nbad,bad {filler}not {i}\n")
    };
    format!("label,text\n{}", (0..40).map(pair).collect::<String>())
}

#[test]
fn a_study_on_a_file_keeps_a_copy_and_no_longer_needs_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("reviews.csv"), folder.path().join("out"));
    fs::write(&file, rows()).unwrap();
    let (stdout, stderr) = well(compare(&file, &out));
    assert!(stderr.contains("80 rows of labelled sequences"), "{stderr}");
    // After two steps nobody has learned anything, so other rows have nothing to say either.
    stdout.says("no scheme is clearly above the floor on reviews.csv");
    assert!(!stdout.contains("rows like these"), "{stdout}");
    // Every tested row has its answer.
    let result = json(&out.join("trials/data-none-1/result.json"));
    for score in result["outcome"]["finished"]["scores"].as_array().unwrap() {
        let right = score["rows"]["right"].as_array().unwrap();
        let sum: u64 = right.iter().map(|right| right.as_u64().unwrap()).sum();
        assert_eq!(score["samples"], right.len());
        assert_eq!(score["rows"]["asked"], 1);
        let accuracy = sum as f64 / right.len() as f64;
        assert!((score["accuracy"].as_f64().unwrap() - accuracy).abs() < 1e-12);
        assert!(score["by_position"].as_array().unwrap().is_empty());
    }
    let kept = fs::read_to_string(out.join("data/reviews.csv")).unwrap();
    assert_eq!(kept, rows());

    // Changed data is another study; the same data is the same.
    fs::write(&file, rows().replace("so", "very")).unwrap();
    failed(compare(&file, &out), 2).says("holds another study (it differs in: data");

    // Report, and the study again from what it left, without the file.
    fs::remove_file(&file).unwrap();
    succeeds(lab().arg("report").arg(&out));
    let elsewhere = folder.path().join("elsewhere");
    let mut again = common::compare("", &elsewhere);
    succeeds(again.arg("--study").arg(out.join("study.toml")));
    let spec = |folder: &Path| fs::read_to_string(folder.join("study.json")).unwrap();
    assert_eq!(spec(&elsewhere), spec(&out));
}

/// Runs a study of a file of the repository as its README says, but shorter.
fn of_the_repository(name: &str, flags: &str, out: &Path) -> (String, String) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let mut command = small(&format!("{SHORT} {flags}"), out);
    succeeds(command.arg("--data").arg(data.join(name)))
}

const PROMOTERS: &str = "--no-header --label 1 --text 3 --tokens characters";
const SENTENCES: &str = "--no-header --label 2";

#[test]
fn three_real_files_go_from_file_to_answer() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name);
    let (stdout, stderr) = of_the_repository("promoters.data", PROMOTERS, &out("genes"));
    stderr.says_all(&[
        "106 rows of labelled sequences",
        "2 labels: `+` 53, `-` 53",
        "all sequences have 57 tokens",
        "vocabulary: all of the 4 different tokens in training",
        "row 1 as read: BOS t a c t a g c a a t a c g c t t …",
        "… t c g t EOS (57 tokens), label `+`",
        "columns not read: `2`",
        "floor, the share of the most frequent label: 0.5",
        "no test beyond the training lengths: all sequences have 57 tokens",
    ]);
    assert!(stdout.contains("Verdict"), "{stdout}");
    let (_, stderr) = of_the_repository("amazon_cells_labelled.txt", SENTENCES, &out("sentences"));
    stderr.says_all(&[
        "1,000 rows of labelled sequences",
        "a token is a word; columns separated by a tab; no header",
        "row 2 as read: BOS Good case, Excellent value. EOS (4 tokens), label `1`",
    ]);
    let (stdout, stderr) = of_the_repository("alice.txt", "", &out("novel"));
    stderr.says_all(&[
        "characters of text",
        "tested in 88 windows of each of the lengths 64, 128, 256, 512; scored on the last 32 characters",
        "test window 1 as read: ",
    ]);
    stdout.says("bits per character by the length of the window");
    let masked = "--objective masked";
    let (_, stderr) = of_the_repository("alice.txt", masked, &out("masked"));
    stderr.says_all(&[
        "characters of plain text",
        "window 1 as read: BOS \"= CHAPTER I =",
        "floor, the share",
    ]);
}

#[test]
fn rows_of_a_group_stay_together_and_the_report_counts_groups() {
    let folder = tempfile::tempdir().unwrap();
    let [file, out] = ["visits.csv", "study"].map(|name| folder.path().join(name));
    let row = |i: usize| {
        let (patient, visit) = (i / 5, i % 5);
        let label = ["ill", "well"][patient % 2];
        format!("{label},p{patient},w{patient} x{patient} a b c d y{visit}\n")
    };
    let rows: String = (0..200).map(row).collect();
    fs::write(&file, format!("label,patient,text\n{rows}")).unwrap();
    let study = |flags: &str| {
        let mut command = small(&format!("{SHORT} --text text {flags}"), &out);
        ended(command.arg("--data").arg(&file))
    };
    // Without a word about groups the program warns.
    let (_, stderr) = well(study("--dry-run"));
    let warning = "nearly the same rows are trained on and tested";
    stderr.says_all(&[warning, "--group COLUMN"]);
    let (_, stderr) = well(study("--group patient --dry-run"));
    stderr.says_all(&[
        "groups from column `patient`",
        "40 groups of rows, each on one side",
    ]);
    assert!(!stderr.contains("nearly the same"), "{stderr}");
    well(study("--group patient --folds 2 --tune 2"));
    let plan = fs::read_to_string(out.join("study.toml")).unwrap();
    assert!(plan.contains("group = \"patient\""), "{plan}");
    let summary = json(&out.join("summary.json"));
    let found = summary["data"].to_string();
    assert!(found.contains("40 groups of rows"), "{found}");
    // Rows to predict need no groups.
    let new = folder.path().join("new.csv");
    fs::write(&new, "text\nw1 x1 a b c d y1\n").unwrap();
    let (stdout, _) = succeeds(&mut predict(&new, &out));
    assert_eq!(stdout.lines().count(), 2, "{stdout}");
    // Without groups it is another study.
    failed(study("--folds 2 --tune 2"), 2).says("holds another study");
}

#[test]
fn folds_are_tasks_of_their_own_and_a_winner_predicts() {
    let (folder, out) = temporary("study");
    let flags = format!("{PROMOTERS} --folds 3");
    let (stdout, stderr) = of_the_repository("promoters.data", &flags, &out);
    stderr.says("3 folds, each a task of its own");
    stdout.says_all(&["data-fold-1 (", "data-fold-3 ("]);
    let csv = fs::read_to_string(out.join("results.csv")).unwrap();
    let rows = csv.matches("\n\"promoters.data, data-fold-2\",").count();
    assert_eq!(rows, 2, "{csv}");
    let winner = json(&out.join("winner.json"));
    // The configuration is one that pe-burn reads.
    let encoding = winner["scheme"]["encoding"].clone();
    let encoding: pe_burn::PositionalConfig = serde_json::from_value(encoding).unwrap();
    encoding.try_init(&Device::flex()).unwrap();

    // Rows without labels, of another file name, in other words for the same columns.
    let rows = folder.path().join("new.csv");
    fs::write(&rows, "?,a,tactagcaatacgct\n?,b,ttt\n").unwrap();
    let (stdout, _) = succeeds(&mut predict(&rows, &out));
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!((lines[0], lines.len()), ("row,prediction,probability", 3));
    for (number, line) in (1..).zip(&lines[1..]) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[0], number.to_string());
        assert!(["+", "-"].contains(&cells[1]), "{line}");
        let probability: f64 = cells[2].parse().unwrap();
        assert!((0.5..=1.0).contains(&probability), "{line}");
    }
    // Its report can be written elsewhere, with the winner.
    let elsewhere = folder.path().join("elsewhere");
    succeeds(lab().arg("report").arg(&out).arg("--out").arg(&elsewhere));
    for file in "report.html winner.json winner.bpk bars-data-fold-1.svg".split(' ') {
        assert!(elsewhere.join(file).exists(), "{file}");
    }
    assert!(!elsewhere.join("study.json").exists());

    fs::write(&rows, format!("?,a,{}\n", "t".repeat(58))).unwrap();
    let refused = || failed(ended(&mut predict(&rows, &out)), 2);
    refused().says(
        "row 1 has 58 tokens, and the longest in the study, for which the model was made, has 57",
    );
    fs::remove_file(out.join("winner.bpk")).unwrap();
    fs::write(&rows, "?,a,t\n").unwrap();
    refused().says("winner.bpk is not there");
}

/// Settings of how a file is read stay with that file, however it is named, and are left out for another one, which is said.
#[test]
fn settings_of_a_study_file_are_for_its_own_data() {
    let (folder, file) = temporary("rows.csv");
    let row = |row: usize| {
        format!(
            "p{},{} w{row},{}\n",
            row / 4,
            ["a b", "c d e"][row % 2],
            ["x", "y"][row % 2]
        )
    };
    let rows = (0..80).map(row).collect::<String>();
    fs::write(&file, format!("who,text,label\n{rows}")).unwrap();
    fs::copy(&file, folder.path().join("other.csv")).unwrap();
    let plan = "data = \"rows.csv\"\nfolds = 2\nseeds = 1\nsteps = 2\nschemes = [\"none\"]\n[reading]\ngroup = \"who\"\ntext = \"text\"\n";
    fs::write(folder.path().join("study.toml"), plan).unwrap();
    let said = |data: &str| {
        let mut command = lab();
        command.current_dir(folder.path());
        let line =
            format!("compare --study study.toml --data {data} --text text --dry-run --out o");
        succeeds(command.args(line.split(' '))).1
    };
    let own = said("./rows.csv");
    assert!(
        !own.contains("left out of") && own.contains("2 folds"),
        "{own}"
    );
    said("other.csv")
        .says("left out of study.toml, since --data names another file: folds, [reading]");
}
