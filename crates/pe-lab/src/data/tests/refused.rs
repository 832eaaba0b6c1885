//! Files and lines that cannot be used are named with what is wrong.

use super::*;
use crate::data::limits::{MAX_BYTES, MAX_COLUMNS, MAX_LINE, MAX_WORDS};

#[test]
fn a_file_that_is_none_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let says = |path: &Path, parts: &str| {
        let message = DataTask::load(path).err().unwrap().to_string();
        let start = path.display().to_string();
        assert!(message.starts_with(&start), "{message}");
        message.says(parts);
    };
    says(
        &folder.path().join("no.csv"),
        "cannot be read … check the path",
    );
    says(
        folder.path(),
        "holds no folder; it takes one folder for each class",
    );
    let names = [".csv", ".jsonl", ".ndjson", ".txt"];
    refused("a.xlsx", "x").says_all(&names);
    refused("data", "x").says_all(&names);
    let large = folder.path().join("large.csv");
    let file = File::create(&large).unwrap();
    file.set_len(MAX_BYTES + 1).unwrap(); // a sparse file: nothing is written
    says(&large, "268,435,457 bytes … 268,435,456");
}

/// Each of these would take gigabytes if it were not refused early.
#[test]
fn lines_columns_and_different_tokens_have_bounds() {
    let header = "label,".repeat(3 << 20);
    refused("a.csv", &header).says("line 1 has 18,874,368 bytes … 16,777,216");
    let long = format!("{{\"label\": 1, \"text\": [{}", "0,".repeat(MAX_LINE / 2));
    refused("a.jsonl", format!("{{}}\n{long}")).says("line 2 has 16,777,2 … 16,777,216");
    let columns = |count: usize| format!("label{}\nx,1\n", ",c".repeat(count - 1));
    refused("a.csv", columns(MAX_COLUMNS + 1)).says("line 1 has 10,001 columns, more than 10,000");
    assert!(!refused("a.csv", columns(MAX_COLUMNS)).contains("columns, more than"));
    assert!(refused("a.csv", "x".repeat(MAX_LINE)).contains("no columns of the header"));
    // 400 different tokens in a row.
    let row = |row: usize| {
        let tokens = (0..400).map(|token| format!(" {:x}", row * 400 + token));
        format!("{},{}\n", row % 2, tokens.collect::<String>())
    };
    let text: String = (0..MAX_WORDS / 400 + 2).map(row).collect();
    refused("a.csv", format!("label,text\n{text}"))
        .says("more than 4,000,000 different tokens up to line 10,003 … --tokens characters");
}

/// Such a test could not tell schemes apart, so nothing is trained.
#[test]
fn a_test_whose_answers_are_all_the_same_is_refused() {
    let said = |name: &str, content: &[u8], settings: &str, floor: &str| {
        let said = refused_as(name, content, settings);
        said.says("all answers of its test at length … are the same");
        said.says(floor);
    };
    let numbers = |spelled: [&str; 2]| -> String {
        let row = |i: usize| format!("{},a b {i}\n", spelled[i % 2]);
        format!("label,text\n{}", (0..40).map(row).collect::<String>())
    };
    for spelled in [["5", "5.0"], ["0", "-0"]] {
        let (table, mean) = (
            numbers(spelled),
            "(always the mean or the median of the training)",
        );
        said("a.csv", table.as_bytes(), "objective = 'number'", mean);
    }
    let row = |i: usize| format!("w{i} x,{}\n", if i == 0 { "no" } else { "yes" });
    let answers = format!("prompt,answer\n{}", (0..40).map(row).collect::<String>());
    let most = "(always the most frequent answer)";
    said("a.csv", answers.as_bytes(), "objective = 'answer'", most);
    let next = "objective = 'next'; train_length = 8";
    said("a.txt", &[b'a'; 20_000], next, "(");
    said("a.u16.bin", &[0; 20_000], next, "(");
}

#[test]
fn a_name_that_grows_in_utf_8_is_cut() {
    let long = "\u{fffd}".repeat(251);
    let cut = short_enough(format!("{long}.csv"));
    assert_eq!(cut, format!("{}.csv", "\u{fffd}".repeat(83)));
    assert_eq!(short_enough(long).len(), 255);
    for name in ["a.csv", "", "x", &"y".repeat(255)] {
        assert_eq!(short_enough(name.to_string()), name);
    }
    assert_eq!(short_enough(format!("a.{}", "z".repeat(300))).len(), 255);
}

#[test]
fn a_file_with_nothing_in_it_is_refused() {
    for name in ["a.csv", "a.jsonl", "a.txt"] {
        for content in ["", "\n\r\n \n", "\u{feff}"] {
            assert_eq!(refused(name, content), format!("{name}: is empty"));
        }
    }
    for header in ["label,text", "label,text\n", "label,text\r\n\r\n"] {
        refused("a.csv", header).says("no row of data … at least 20");
    }
}

#[test]
fn bad_rows_are_listed_with_their_lines_up_to_five() {
    let mut text = csv_of(&rows(20));
    text.push_str("\n\n,no label\nx,\nx,a,b\ny,  \n \n,\nx,a b\n,1\n,2\n");
    let message = refused("a.csv", &text);
    assert_eq!(
        message,
        "a.csv: 7 bad lines\n  \
         line 24: has no label; write one, or delete the row\n  \
         line 25: has no tokens beside the label `x`; write some, or delete the row\n  \
         line 26: 3 fields, but the header has 2; the first one too many is `b`; put a field \
         that holds a comma in double quotes\n  \
         line 27: has no tokens beside the label `y`; write some, or delete the row\n  \
         line 29: has no label; write one, or delete the row\n  \
         and 2 more\n\
         To leave them out, say --skip-bad 7"
    );
    // Lines are counted alike with Windows line ends, and after rows of several lines.
    assert_eq!(refused("a.csv", text.replace('\n', "\r\n")), message);
    let text = csv_of(&rows(20)) + "x,\"a\nb\nc\"\n,d\n";
    refused("a.csv", text).says("1 bad line\n … line 25: has no label");
}

#[test]
fn a_quote_that_is_not_closed_swallows_no_row_in_silence() {
    let text = csv_of(&rows(20)) + "x,\"a b\ny,c d\ny,e f\n";
    refused("a.csv", text).says("line 22: a double quote is not closed … goes on to line 24");
    // A closed one with a blank behind it is a row of two lines.
    for row in ["x,\"p\nq\" \n", "\"x\" ,\"p\nq\"\n"] {
        let text = csv_of(&rows(20)) + row;
        let data = good("a.csv", text);
        assert_eq!(data.describe()[0], "21 rows of labelled sequences");
    }
    // Two quotes that are not closed are as many as one that is.
    let text = csv_of(&rows(20)) + "x,\"hello\ny,\"world\ny,e f\n";
    refused("a.csv", text).says("line 22: a double quote is not closed … goes on to line 23");
}

#[test]
fn bad_json_is_listed_with_line_and_column() {
    let good_lines = json_of(&rows(30));
    for [line, parts] in testing::rows(
        r#"
        {"label": "x", "tokens": ["a"}               | column 30 … {"label": "x", "tokens": ["a", "b"]}
        ["x", ["a"]]                                 | `["x", ["a"]]` is no JSON object
        {"tokens": ["a"]}                            | has no label
        {"label": null, "tokens": ["a"]}             | has no label
        {"label": " ", "tokens": ["a"]}              | has no label
        {"label": "x", "label": "y", "text": "a"}    | duplicate field `label`
        {"label": ["x"], "text": "a"}                | `label` is a list, expected a string, a number, true or false
        {"label": "x"}                               | has no tokens beside the label `x`
        {"label": "x", "tokens": []}                 | has no tokens
        {"label": "x", "text": 3}                    | invalid type: integer `3`, expected a string
        {"label": "x", "tokens": "a b"}              | expected a list of tokens
        {"label": "x", "tokens": ["a", null]}        | null, expected a token
        {"label": "x", "tokens": ["a", true]}        | boolean `true`, expected a token
        {"label": "x", "tokens": ["a", ["b"]]}       | list, expected a token
        {"label": "x", "tokens": ["a", ""]}          | token 2 is empty
        {"label": "x", "tokens": ["a"], "text": "a"} | both `tokens` and `text`
        {"label": "x", "tokens": [0.5, NaN]}         | JSON has no NaN, and a missing number is null (column 32 of
        {"label": "x", "tokens": [0.5, -Infinity]}   | Infinity, and a missing number is null (column
        "#,
    ) {
        let message = refused("a.jsonl", format!("{good_lines}\n{line}\n"));
        message.says("1 bad line\n  line 32: ");
        message.says(parts);
    }
}

#[test]
fn a_byte_that_is_not_utf8_is_found_on_its_line() {
    let mut csv = csv_of(&rows(30)).into_bytes();
    csv.extend(b"x,caf\xe9 a\ny,\xffb\n");
    let message = refused("a.csv", &csv);
    message.says(
        "2 bad lines … line 32: byte 6 of the line, 0xe9, is not UTF-8; save the file as UTF-8 … \
         line 33: byte 3 of the line, 0xff",
    );
    for name in ["a.jsonl", "a.txt"] {
        refused(name, &csv).says("line 32: byte 6");
    }
    refused("a.csv", b"\xff\xfel\0a\0").says("UTF-16 … UTF-8");
}

#[test]
fn a_line_of_a_million_characters_is_an_error_in_a_few_words() {
    let many = "ab ".repeat(350_000);
    let one = "a".repeat(1_000_000);
    let csv = |text: &str| refused("a.csv", csv_of(&rows(30)) + "x," + text + "\n");
    let message = csv(&many);
    assert!(message.len() < 400, "{} bytes", message.len());
    message.says("line 32: a sequence of 350,000 tokens … at most 512 … square of the length");
    let message = csv(&one);
    assert!(message.len() < 400, "{} bytes", message.len());
    message.says("line 32: `aaaa … …` is one label or token of more than 1,000");
    let tokens = format!(r#"{{"label": 1, "tokens": [{}1]}}"#, "1,".repeat(499_999));
    refused("a.jsonl", tokens).says("line 1: a sequence of 500,000 tokens");
    let text = format!(r#"{{"label": 1, "text": "{many}"}}"#);
    refused("a.jsonl", text).says("line 1: a sequence of 350,000 tokens");
    let deep = format!(r#"{{"label": 1, "x": {}"#, "[".repeat(1_000_000));
    refused("a.jsonl", deep).says("line 1: EOF while parsing a list (column 1000018 of");
    // A sequence of the largest number of tokens is accepted.
    let longest = "ab ".repeat(512);
    good("a.csv", csv_of(&rows(30)) + "x," + &longest + "\n");
    // A text may be all on one line.
    good("a.txt", "abc ".repeat(250_000));
}

#[test]
fn too_few_rows_one_class_and_too_many_are_refused() {
    refused("a.csv", csv_of(&rows(19))).says("has 19 rows … at least 20");
    good("a.csv", csv_of(&rows(20)));
    let mut one = rows(25);
    one.iter_mut().for_each(|row| row.0 = "same");
    refused("a.csv", csv_of(&one)).says("all 25 rows have the label `same`");
    let of = |labels: usize| {
        let row = |row| format!("{},a b {row}\n", row / 2);
        format!(
            "label,text\n{}",
            (0..2 * labels).map(row).collect::<String>()
        )
    };
    refused("a.csv", of(1001)).says("has 1,001 different labels, more than 1,000");
    assert_eq!(good("a.csv", of(1000)).task().classes(), 1000);
}

#[test]
fn a_class_that_cannot_be_on_both_sides_is_named() {
    let text = csv_of(&rows(30)) + "rare,a b\ntwin,c d\ntwin,c d\nalso,first_x then n0\n";
    assert_eq!(
        refused("a.csv", text),
        "a.csv: every label needs two different sequences, one to train on and one to test on; \
         add rows for these, or leave them out\n  \
         `also`: 1 row, 0 sequences of its own\n  \
         `rare`: 1 row, 1 sequence of its own\n  \
         `twin`: 2 rows, 1 sequence of its own"
    );
}

#[test]
fn a_text_that_says_too_little_is_refused() {
    refused("a.txt", "ab ".repeat(666)).says("has 1,998 characters … at least 2,000");
    for text in ["a".repeat(3000), "ab".repeat(2000) + &"c".repeat(1000)] {
        refused("a.txt", text).says("nothing is left to guess … length 32");
    }
}
