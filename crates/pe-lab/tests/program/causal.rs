//! Decoders: answers that are written after their prompts, of the laboratory's tasks and of a person's own rows.

use std::fs;
use std::path::Path;

use crate::common::{
    NO_TRIAL, SMALL, Says, failed, good_in as good, json, numbers, rows, run_in as ran,
};
use serde_json::Value;

#[track_caller]
fn small(folder: &Path, line: &str) -> (String, String) {
    good(folder, &format!("{line} {SMALL} --batch-size 16"))
}

#[test]
fn a_study_of_decoders_is_planned_run_reported_grown_and_merged() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // A file says it as the flag does, and steps go by the name that a person writes.
    let study = "schemes = [\"none\", \"rotary\"]\ntasks = [\"addition\", \"majority\"]\ncausal = true\nseeds = 2\n\
                 steps = { addition = 4, majority = 3 }\n";
    fs::write(at.join("plan.toml"), study).unwrap();
    let (stdout, stderr) = small(at, "compare --study plan.toml --out s --dry-run");
    stdout.says("on this machine");
    stderr.says("addition(causal) for 4 steps, majority(causal) for 3 steps");
    assert!(!at.join("s").exists());
    let (stdout, _) = small(at, "compare --study plan.toml --out s --details");
    stdout.says("exact match");
    let result = json(&at.join("s/trials/addition(causal)-rotary-1/result.json"));
    let scores = result["outcome"]["finished"]["scores"].as_array().unwrap();
    assert_eq!(scores.len(), 8);
    for score in scores {
        let exact = score["exact_match"].as_f64().unwrap();
        assert_eq!(score["exact"].as_f64(), Some(exact));
        // One answer of 512 is the smallest part.
        assert_eq!((exact * 512.0).fract(), 0.0);
    }
    let page = fs::read_to_string(at.join("s/report.html")).unwrap();
    page.says_all(&[
        "exact match",
        "the sum after `a+b=`",
        "always the most frequent answer of the test",
    ]);
    // In parts, on several machines.
    for part in 0..2 {
        let line = format!("compare --study plan.toml --out part-{part} --shard {part}/2");
        small(at, &line);
    }
    good(at, "merge part-0 part-1 --out merged");
    assert_eq!(numbers(&at.join("merged")), numbers(&at.join("s")));
    // What is there is kept, and the encoder's task is another one.
    let more = "compare --out s --tasks majority --seeds 2 --steps 3 --schemes none,rotary";
    let (_, stderr) = small(at, more);
    stderr.says("8 of them are there already and are kept; 4 are new");
    // The report from the files, and costs with the time of a token that is decoded.
    good(at, "report s");
    let study = "compare --causal --tasks addition --schemes rotary --seeds 1, --steps 2";
    small(at, &format!("{study} --costs --out c"));
    let costs = json(&at.join("c/costs.json"));
    assert_eq!(costs["task"], "addition(causal)");
    for at in costs["schemes"][0]["at"].as_array().unwrap() {
        assert!(at["decode_ms"].as_f64().unwrap() > 0.0, "{costs}");
    }
}

#[test]
fn rates_and_steps_are_chosen_and_a_training_goes_on_as_if_it_had_not_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let flags = "--causal --tasks addition,first_eq_last --schemes none --seeds 1,";
    let tuned = format!("compare --out s --tune 3 --steps auto:2..4 {flags}");
    small(at, &tuned);
    let chosen = json(&at.join("s/study.json"))["tune"]["chosen"].take();
    assert_eq!(chosen.as_array().unwrap().len(), 2, "{chosen}");
    // Dropout draws random numbers, which are those of each step and not of what ran before it.
    for out in ["whole", "again"] {
        let flags = "--causal --task addition --dropout 0.2 --steps 100";
        let (stdout, _) = small(at, &format!("train {flags} --out {out}"));
        assert_eq!(stdout.matches("exact match").count(), 1, "{stdout}");
    }
    let losses =
        |out: &str| json(&at.join(out).join("result.json"))["outcome"]["finished"]["curve"].clone();
    assert_eq!(losses("whole"), losses("again"));
    // As if it was stopped after its last checkpoint.
    fs::remove_file(at.join("again/result.json")).unwrap();
    let (_, stderr) = good(at, "train --resume --out again");
    stderr.says("from step 50 on");
    assert_eq!(losses("whole"), losses("again"));
}

#[test]
fn what_no_decoder_can_have_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("table.csv"), "when,sales\n1,2\n2,3\n").unwrap();
    fs::write(at.join("novel.txt"), "A text.\n".repeat(600)).unwrap();
    fs::create_dir(at.join("images")).unwrap();
    let table = "label,text\nx,a b\n".to_string() + &"y,b a\n".repeat(30);
    fs::write(at.join("rows.csv"), table).unwrap();
    for [arguments, reason] in rows(
        "
        --tasks digits                                    | digits cannot be a decoder's task: it is about images
        --tasks co2                                       | co2 cannot be a decoder's task: it is about numbers
        --tasks reverse,posmod4                           | the answer is the same for every input of a length
        --tasks text(causal)                              | text is a decoder's task already
        --tasks digits_32                                 | digits_32 cannot be a decoder's task: it is about images
        --tasks sort                                      | no task `sort`
        --tasks sort(causal)                              | no task `sort`
        --tasks reverse --schemes rotary(scaling=dynamic) | turns all keys anew
        --data table.csv --target sales                   | --causal
        --data novel.txt --objective masked               | predicted from both sides
        --data images                                     | --causal is not about images
        --data rows.csv                                   | name yours with --text COLUMN and --label COLUMN
        ",
    ) {
        let line = format!("compare --causal --out s {arguments}");
        failed(ran(at, &line), 2).says(reason);
        assert!(!at.join("s").exists(), "{arguments}");
    }
    // What sees only the past is a decoder's already, and `all` leaves out what cannot be one.
    let planned = |tasks: &str| {
        let all = format!("compare --causal --schemes none --dry-run --shard {NO_TRIAL} {tasks}");
        small(at, &all).1
    };
    planned("--tasks text,reverse(causal) --steps 2")
        .says("tasks text for 2 steps, reverse(causal) for 2 steps");
    let all = planned("--tasks all --steps 1");
    all.says("reverse(causal)");
    assert!(!all.contains("digits"), "{all}");
    let (stdout, _) = good(at, "tasks");
    for (name, model) in [
        ("addition ", "[encoder; decoder with --causal]"),
        ("digits ", "[encoder]"),
        ("text ", "[decoder]"),
    ] {
        let line = stdout.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line.ends_with(model), "{line}");
    }
}

/// Rows whose answer says their last word or two again.
fn answered(count: usize) -> String {
    let words = ["red", "blue", "green", "grey"];
    let row = |nth: usize| {
        let all: Vec<&str> = (0..2 + nth % 6)
            .map(|k| words[(nth * 7 + k * k + nth / 5) % 4])
            .collect();
        let answer = all[all.len() - 1 - nth % 2..].join(" ");
        format!(
            "{{\"prompt\": \"{}\", \"answer\": \"{answer}\", \"note\": {nth}}}\n",
            all.join(" ")
        )
    };
    (0..count).map(row).collect()
}

#[test]
fn own_rows_are_answered_and_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("rows.jsonl"), answered(200)).unwrap();
    let flags = "--causal --data rows.jsonl --schemes none,learned,randomized_rotary --seeds 1,";
    let (_, stderr) = small(at, &format!("compare --out s --steps 60 {flags}"));
    stderr.says_all(&[
        "200 rows of prompts and answers",
        "answer from key `answer`",
        "keys not read: `note`",
    ]);
    // The study says how its rows are read, and goes on without the flag.
    let spec = json(&at.join("s/study.json"));
    assert_eq!(spec["data"]["reading"]["objective"], "answer");
    let again = "compare --out s --schemes none,learned,randomized_rotary";
    let (_, stderr) = small(at, again);
    stderr.says("3 of the trials were there already");
    let (stdout, stderr) = good(at, "predict rows.jsonl --study s");
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!((lines[0], lines.len()), ("row,answer", 201));
    let given = answered(200);
    let right = lines[1..].iter().zip(given.lines()).filter(|(said, row)| {
        let row: Value = serde_json::from_str(row).unwrap();
        said.split_once(',').unwrap().1 == row["answer"].as_str().unwrap()
    });
    let (right, agree) = (
        right.count(),
        "predictions agree with the labels that are there",
    );
    let share = right as f64 / 200.0;
    stderr.says(&format!("{right} of 200 {agree}: exact match {share:.3}"));
    // Prompts alone, as a table too; one that is too long is named.
    let prompts = "{\"prompt\": \"red blue\"}\n{\"prompt\": \"grey\"}\n";
    fs::write(at.join("prompts.jsonl"), prompts).unwrap();
    let (stdout, stderr) = good(at, "predict prompts.jsonl --study s");
    assert_eq!(stdout.lines().count(), 3, "{stdout}");
    assert!(!stderr.contains("exact match"), "{stderr}");
    let long = format!("{{\"prompt\": \"{}\"}}\n", "red ".repeat(60));
    fs::write(at.join("long.jsonl"), long).unwrap();
    failed(ran(at, "predict long.jsonl --study s"), 2).says("row 1 has 60 tokens");
}
