//! Which columns and keys hold the label and the tokens.

use super::*;

#[test]
fn a_separator_in_quotes_is_none_and_excel_says_which_it_is() {
    let table = |first: &str| {
        let rows = (0..40).map(|i| format!("a, b {i};{}\n", i % 2));
        format!("{first}\n{}", rows.collect::<String>())
    };
    let plain = read("a.csv", table("text;label"), "").unwrap();
    let batch = |data: &DataTask| data.task().train_batch(1, 0, 8);
    for (first, settings) in [
        ("text;\"label, final\"", "label = 'label, final'"),
        ("sep=;\ntext;label", ""),
        ("sep=;\r\ntext;label", ""),
    ] {
        let data = read("a.csv", table(first), settings).unwrap();
        assert_eq!(batch(&data), batch(&plain), "{first}");
    }
    let wrong = refused("a.csv", table("sep=;\ntext;label") + "a;b;c\n");
    wrong.says("line 43: 3 fields, but the header has 2");
}

/// A table with a column of row numbers, one of words, and a label that is called otherwise.
fn reviews() -> String {
    let rows = (0..40).map(|i| {
        let (label, id, day) = (["good", "bad"][i % 2], 100 + i, 1 + i % 28);
        format!("{id},2024-01-{day:02},{label} it is so {},{label}\n", i % 5)
    });
    format!("id,date,text,Class\n{}", rows.collect::<String>())
}

#[test]
fn columns_that_are_no_tokens_are_asked_about_with_the_flags() {
    refused("a.csv", reviews())
        .says("no columns of the header (line 1) are called `label` … --label Class");
    refused_as("a.csv", reviews(), "label = 'Class'").says(
        "`id` sounds like no token … `date` sounds like no token … `text` holds several words beside other columns … \
         --text text (the words of one column), or --columns A,B … --tokens cells, words or characters",
    );
    let data = read("a.csv", reviews(), "text = 'text'; label = 'class'").unwrap();
    assert_eq!(
        shown_row(&data, 2),
        "BOS bad it is so 1 EOS (5 tokens), label `bad`"
    );
    data.says("label from column `Class`; tokens from column `text`; a token is a word");
    data.says("columns not read: `id`, `date`");
    let characters = "text = 'text'; label = 'class'; tokens = 'characters'";
    let data = read("a.csv", reviews(), characters).unwrap();
    shown_row(&data, 1).says("BOS g o o d \u{2423} i t");
    // A column of row numbers without a telling name.
    let numbers = (0..40).map(|i| format!("r{i},{},{},{}\n", i % 3, i % 5, i % 2));
    let numbers = format!("row,a,b,label\n{}", numbers.collect::<String>());
    refused("a.csv", &numbers).says(
        "`row` differs in every row, as the name of a row does … --text COLUMN … --columns a,b",
    );
    refused("a.csv", numbers.replacen("row", "", 1)).says(
        "the column without a name may hold … The columns are: the column without a name, `a`",
    );
    let data = read("a.csv", &numbers, "columns = ['b', 'a']").unwrap();
    assert_eq!(shown_row(&data, 2), "BOS 1 1 EOS (2 tokens), label `1`");
    let data = read("a.csv", &numbers, "columns = ['a..b']").unwrap();
    data.says("columns not read: `row`");
    // The flag is divided at the comma of a name.
    let comma = numbers.replacen(",b,", ",\"b, in C\",", 1);
    for columns in ["'b', ' in C', 'a'", "'b', ' in C..b', ' in C', 'a'"] {
        let data = read("a.csv", &comma, &format!("columns = [{columns}]")).unwrap();
        assert_eq!(shown_row(&data, 2), "BOS 1 1 EOS (2 tokens), label `1`");
    }
    for [named, said] in testing::rows(
        "
        columns = ['c']     | --columns names `c`, and there is no such column; the columns are: `row`
        columns = ['b..a']  | `b` comes after `a` in the file
        columns = ['label'] | --columns names `label`, which is the column of the label
        label = 'klass'     | --label names `klass`, and there is no such column
        label = '2'         | if the first line is a row like the others, say --no-header
        ",
    ) {
        refused_as("a.csv", &numbers, named).says(said);
    }
}

#[test]
fn tables_of_other_names_delimiters_and_headers_are_read_or_answered_with_the_flag() {
    let rows = csv_of(&rows(40));
    let plain = everything(&good("a.csv", &rows));
    for (name, text) in [
        ("a.tsv", rows.replace(',', "\t")),
        ("a.csv", rows.replace(',', ";")),
        ("a.csv", rows.replace(',', "|")),
        ("a.csv", rows.replace(',', "\t")),
        ("a.csv", rows.replacen("label", "Label", 1)),
        ("a.data", rows.replacen("label", "LABEL", 1)),
    ] {
        assert_eq!(everything(&good(name, &text)), plain, "{name}: {text:.30}");
    }
    // Between tabs a quote is a character like any other.
    let quoted = format!("{}x\t\"first_x then n0 and more\n", rows.replace(',', "\t"));
    good("a.tsv", quoted);
    // Without a header, and under the name of a plain text.
    let bare = rows.replacen("label,text\n", "", 1);
    refused_as("a.csv", &bare, "no_header = true")
        .says("the columns are called 1 to 2 … --label 2");
    for name in ["a.csv", "a.txt", "a.log", "a"] {
        let data = read(name, &bare, "no_header = true; label = '1'").unwrap();
        assert_eq!(everything(&data), plain, "{name}");
    }
    let bars = read("a.csv", rows.replace(',', "#"), "delimiter = '#'").unwrap();
    assert_eq!(everything(&bars), plain);
    refused_as("a.csv", &rows, "delimiter = 'é'").says("one ASCII character");
    refused("a.json", "[]").says("one object per line … .jsonl");
    // A log is plain text, and what is about rows is refused for it.
    let log = "12:00 started\n12:01 stopped\n".repeat(100);
    good("a.log", &log);
    refused_as("a.log", &log, "tokens = 'characters'")
        .says("--tokens is for a text of which the next token is predicted … --objective masked");
}

#[test]
fn other_keys_of_json_are_understood_or_named() {
    let lines = |label: &str, key: &str, sequence: fn(usize) -> String| -> String {
        let line = |i| {
            format!(
                "{{\"id\": {i}, \"{label}\": {}, \"{key}\": {}}}\n",
                i % 2,
                sequence(i)
            )
        };
        (0..40).map(line).collect()
    };
    let list = |i: usize| format!("[101, {}, {}, 102]", i % 7, i % 5);
    let words = |i: usize| format!("\"so {} is {}\"", i % 7, i % 5);
    let ids = good("a.jsonl", lines("label", "input_ids", list));
    assert_eq!(
        shown_row(&ids, 2),
        "BOS 101 1 1 102 EOS (4 tokens), label `1`"
    );
    ids.says("label from key `label`; tokens from `input_ids` … keys not read: `id`");
    let sentence = good("a.jsonl", lines("label", "sentence", words));
    assert_eq!(
        shown_row(&sentence, 2),
        "BOS so 1 is 1 EOS (4 tokens), label `1`"
    );
    refused("a.jsonl", lines("label", "review", words)).says(
        "no key is called `tokens`, `input_ids`, `text`, `sentence` … `id`, `review` … --text KEY",
    );
    refused("a.jsonl", lines("stars", "text", words))
        .says("no key is called `label` … `id`, `stars` … --label KEY");
    let prompts: String = (0..40)
        .map(|i| format!("{{\"prompt\": \"a {i}\", \"answer\": \"b\"}}\n"))
        .collect();
    refused("a.jsonl", &prompts).says("prompts with answers to be written take --causal");
    refused("a.csv", "prompt,answer\na b,c\n")
        .says("prompts with answers to be written take --causal");
    refused("a.jsonl", format!("[\n{prompts}]")).says("holds a list, and is read as lines … jq -c");
    for sequence in [list, words] {
        let text = lines("stars", "review", sequence);
        read("a.jsonl", text, "label = 'stars'; text = 'review'").unwrap();
    }
    let both = lines("label", "text", words).replace("\"id\": ", "\"tokens\": [1, 2], \"id\": ");
    refused("a.jsonl", &both).says("has both `tokens` and `text` … --text tokens");
    read("a.jsonl", &both, "label = 'label'; text = 'text'").unwrap();
    refused_as("a.jsonl", both, "no_header = true").says("--no-header is for tables");
}

#[test]
fn a_header_needs_one_label_and_tokens() {
    let header = |line: &str| refused("a.csv", format!("\n{line}\nx,a b\n"));
    header("text,class").says("no columns of the header (line 2) … `text`, `class`");
    header("label,text,label").says("2 columns of the header");
    header("label").says("line 2, `label`, is no header: it has 1 cell");
    refused("a.csv", "label\nx\ny\n").says("no column beside `label` … --delimiter tab");
    header("a,b,c,d,e,f,g,h,i,j").says("`h` and 2 more");
    good("a.csv", csv_of(&rows(40)).replacen("label", " label ", 1));
}
