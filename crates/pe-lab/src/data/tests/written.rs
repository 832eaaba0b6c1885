//! Answers that are written after their prompts.

use super::*;
use crate::data::testing::Says;

/// Rows with a prompt and an answer: each of `rows` numbers, and the words of its digits.
fn answers(rows: usize) -> String {
    let digit =
        |digit: char| ["zero", "one", "two", "three", "four"][digit as usize - '0' as usize];
    let row = |nth: usize| {
        let number = format!("{:o}", nth).replace(['5', '6', '7'], "4");
        let words: Vec<&str> = number.chars().map(digit).collect();
        format!(
            r#"{{"prompt": "{nth} say {} {number}", "answer": "{}"}}"#,
            "very ".repeat(nth % 15),
            words.join(" ")
        )
    };
    (0..rows).map(row).collect::<Vec<_>>().join("\n")
}

fn as_answers(text: &str, name: &str, change: impl Fn(&mut Reading)) -> Result<DataTask, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let mut source = Source::from(path.as_path());
    source.reading.objective = Some(Objective::Answer);
    change(&mut source.reading);
    DataTask::read(&source).map_err(|error| error.to_string())
}

#[test]
fn answers_are_written_after_their_prompts() {
    let data = as_answers(&answers(300), "numbers.jsonl", |_| {}).unwrap();
    let task = data.task();
    assert_eq!(task.measure(), Measure::ExactMatch);
    let how = task.generation().unwrap();
    let lines = data.describe().join("\n");
    for words in [
        "300 rows of prompts and answers",
        "a decoder writes them",
        "answer from key `answer`; tokens from `prompt`",
        "of the most frequent answer",
    ] {
        assert!(lines.contains(words), "{words}: {lines}");
    }
    let (inside, beyond): (Vec<usize>, Vec<usize>) = task
        .test_lengths()
        .into_iter()
        .partition(|n| task.train_lengths().contains(n));
    assert!(!inside.is_empty() && !beyond.is_empty(), "{lines}");
    // A tested prompt is not trained on, and every sample is a prompt, its answer and the end.
    let mut tested = std::collections::BTreeSet::new();
    for length in task.test_lengths() {
        for sample in task.test_set(length) {
            assert!(sample.input.len() <= task.tokens_of(length));
            let prompted = Prompted::of(&sample);
            assert_eq!(prompted.sample(how), sample);
            tested.insert(prompted.prompt);
        }
    }
    for step in 0..30 {
        for sample in task.train_batch(1, step, 16) {
            let prompted = Prompted::of(&sample);
            assert!(!tested.contains(&prompted.prompt));
            assert!(
                prompted
                    .answer
                    .iter()
                    .all(|class| Some(*class) != how.unknown())
            );
            let words = how.text(&prompted.answer);
            assert!(
                words
                    .split(' ')
                    .all(|word| "zero one two three four".contains(word)),
                "{words}"
            );
        }
    }
}

#[test]
fn answers_of_a_table_in_characters_and_by_other_names() {
    let rows: String = (10..90).map(|n| format!("{n}+1,{},x\n", n + 1)).collect();
    let data = as_answers(
        &format!("prompt,answer,note\n{rows}"),
        "sums.csv",
        |reading| {
            reading.tokens = Some(TokenKind::Characters);
        },
    );
    let data = data.unwrap();
    let task = data.task();
    // Ten digits, a plus sign, what is unknown, BOS and EOS; and all of these but BOS and EOS and an end are classes.
    assert_eq!((task.vocabulary(), task.classes()), (14, 13));
    assert_eq!(task.max_tokens(), 4 + 2 + 2);
    let how = task.generation().unwrap();
    let sample = Prompted::of(&task.test_set(4)[0]);
    assert_eq!(how.text(&sample.answer).len(), 2);
    let number = |of: &[usize]| how.text(of).parse::<u32>().unwrap();
    assert_eq!(number(&sample.prompt[1..3]) + 1, number(&sample.answer));
    let named = format!("q,a\n{}", rows.replace(",x", ""));
    let by_name = as_answers(&named, "sums.csv", |reading| {
        reading.text = Some("q".into());
        reading.label = Some("a".into());
        reading.tokens = Some(TokenKind::Characters);
    });
    assert_eq!(by_name.unwrap().task().test_set(4), task.test_set(4));
    let said = as_answers(&named, "sums.csv", |_| {}).unwrap_err();
    for words in [
        "`prompt`",
        "`answer`",
        "`q`, `a`",
        "--text COLUMN and --label COLUMN",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let said = as_answers(r#"{"question": "x", "answer": "y"}"#, "a.jsonl", |_| {}).unwrap_err();
    assert!(said.contains("no key is called `prompt`"), "{said}");
    for (answer, kind) in [(r#"["y"]"#, "list"), (r#"{"y": 1}"#, "map")] {
        let line = format!(r#"{{"prompt": "x", "answer": {answer}}}"#);
        let said = as_answers(&line, "a.jsonl", |_| {}).unwrap_err();
        let words = format!("`answer` is a {kind}, expected a string, a number, true or false");
        assert!(said.contains(&words), "{said}");
        assert!(!said.contains("label"), "{said}");
    }
    let said = as_answers("a text\nof lines", "a.txt", |_| {}).unwrap_err();
    assert!(said.contains("--objective answer"), "{said}");
}

/// A word that no training row has cannot be written, so an answer with it is never right, whatever the model says.
#[test]
fn an_answer_with_an_unknown_word_is_said_to_be_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let row =
        |prompt: &str, answer: &str| format!(r#"{{"prompt": "{prompt}", "answer": "{answer}"}}"#);
    let train: Vec<String> = (0..40)
        .map(|n| row(&format!("w{} x{}", n % 8, n % 5), ["yes", "no"][n % 2]))
        .collect();
    std::fs::write(path("train.jsonl"), train.join("\n")).unwrap();
    let test: Vec<String> = (0..30)
        .map(|n| {
            row(
                &format!("w{} x{}", n % 8, n % 5),
                if n == 7 { "never seen" } else { "yes" },
            )
        })
        .collect();
    std::fs::write(path("test.jsonl"), test.join("\n")).unwrap();
    let mut source = Source::from(path("train.jsonl").as_path());
    source.test = Some(path("test.jsonl"));
    source.reading.objective = Some(Objective::Answer);
    let data = DataTask::read(&source).unwrap();
    let lines = data.describe().join("\n");
    lines.says("1 of the tested answers hold a token that training does not have");
    let task = data.task();
    let how = task.generation().unwrap();
    let set = task.test_set(2);
    let unknown = set.iter().filter(|sample| {
        sample
            .answers
            .iter()
            .any(|answer| Some(answer.class) == how.unknown())
    });
    assert_eq!(unknown.count(), 1);
}
