//! Answers that are written after their prompts.

use super::*;
use crate::data::testing::tested_on;

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

fn as_answers(text: &str, name: &str, settings: &str) -> Result<DataTask, DataError> {
    read(name, text, &format!("objective = 'answer'; {settings}"))
}

#[test]
fn answers_are_written_after_their_prompts() {
    let data = as_answers(&answers(300), "numbers.jsonl", "").unwrap();
    let task = data.task();
    assert_eq!(task.measure(), Measure::ExactMatch);
    let how = task.generation().unwrap();
    data.says_all(&[
        "300 rows of prompts and answers",
        "a decoder writes them",
        "answer from key `answer`; tokens from `prompt`",
        "of the most frequent answer",
    ]);
    let (inside, beyond): (Vec<usize>, Vec<usize>) = task
        .test_lengths()
        .into_iter()
        .partition(|n| task.train_lengths().contains(n));
    assert!(!inside.is_empty() && !beyond.is_empty(), "{}", data.text());
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
            let mut classes = prompted.answer.iter();
            assert!(classes.all(|class| Some(*class) != how.unknown()));
            let words = how.text(&prompted.answer);
            let is_known = |word| "zero one two three four".contains(word);
            assert!(words.split(' ').all(is_known), "{words}");
        }
    }
}

#[test]
fn answers_of_a_table_in_characters_and_by_other_names() {
    let rows: String = (10..90).map(|n| format!("{n}+1,{},x\n", n + 1)).collect();
    let table = format!("prompt,answer,note\n{rows}");
    let data = as_answers(&table, "sums.csv", "tokens = 'characters'").unwrap();
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
    let by_name = "text = 'q'; label = 'a'; tokens = 'characters'";
    let by_name = as_answers(&named, "sums.csv", by_name).unwrap();
    assert_eq!(by_name.task().test_set(4), task.test_set(4));
    let said = |text: &str, name: &str| as_answers(text, name, "").unwrap_err().to_string();
    said(&named, "sums.csv").says_all(&[
        "`prompt`",
        "`answer`",
        "`q`, `a`",
        "--text COLUMN and --label COLUMN",
    ]);
    said(r#"{"question": "x", "answer": "y"}"#, "a.jsonl").says("no key is called `prompt`");
    for (answer, kind) in [(r#"["y"]"#, "list"), (r#"{"y": 1}"#, "map")] {
        let said = said(
            &format!(r#"{{"prompt": "x", "answer": {answer}}}"#),
            "a.jsonl",
        );
        said.says(&format!(
            "`answer` is a {kind}, expected a string, a number, true or false"
        ));
        assert!(!said.contains("label"), "{said}");
    }
    said("a text\nof lines", "a.txt").says("--objective answer");
}

/// A word that no training row has cannot be written, so an answer with it is never right, whatever the model says.
#[test]
fn an_answer_with_an_unknown_word_is_said_to_be_wrong() {
    let rows = |count: usize, answer: fn(usize) -> &'static str| {
        let row = |n: usize| {
            let (prompt, answer) = (format!("w{} x{}", n % 8, n % 5), answer(n));
            format!(r#"{{"prompt": "{prompt}", "answer": "{answer}"}}"#)
        };
        (0..count).map(row).collect::<Vec<_>>().join("\n")
    };
    let train = rows(40, |n| ["yes", "no"][n % 2]);
    let test = rows(30, |n| if n == 7 { "never seen" } else { "yes" });
    let answer = "objective = 'answer'";
    let data = tested_on(("train.jsonl", train), ("test.jsonl", test), answer).unwrap();
    data.says("1 of the tested answers hold a token that training does not have");
    let task = data.task();
    let how = task.generation().unwrap();
    let set = task.test_set(2);
    let has_unknown = |sample: &&Sample| {
        let mut answers = sample.answers.iter();
        answers.any(|answer| Some(answer.class) == how.unknown())
    };
    assert_eq!(set.iter().filter(has_unknown).count(), 1);
}
