use super::super::rows::Rows;
use super::super::ts;
use super::*;
use crate::data::testing::{Says, collected, rows};

const WIDE: &str = "% made\n@RELATION 'Two ways'\n\n@ATTRIBUTE att0 numeric\n@attribute 'att 1' REAL % a remark\n\
                    @attribute att2 integer\n@attribute class {left,'to the right'}\n@DATA\n\
                    1,2,?,left\n-1.5, 2, 0, 'to the right'\n";
const TWO: &str = "@relation Two\n@attribute channels relational\n  @attribute att0 numeric\n\t@attribute att1 numeric\n  @attribute att2 numeric\n\
                   @end channels\n@attribute class {left,right}\n@data\n'1,2,?\\n4,5,6',left\n\"-1.5,2,?\\n0,?,NaN\",right\n";

fn read_all(text: &str, labels: Labels) -> Result<(Rows, Vec<String>), String> {
    collected("", labels, |rows| read(text, rows))
}

fn said(text: &str) -> String {
    read_all(text, Labels::Needed).unwrap_err()
}

#[test]
fn a_row_is_a_series_that_ends_where_values_are_missing_to_its_end() {
    let (rows, notes) = read_all(WIDE, Labels::Needed).unwrap();
    assert_eq!(
        notes,
        [
            "`Two ways`: series of one number at each step; the class is the attribute `class`",
            "1 row with missing values at the end: there the row ends"
        ]
    );
    assert_eq!(rows.channels, Some(1));
    assert_eq!(rows.labels, ["left", "to the right"]);
    assert_eq!(rows.words, ["1", "2", "-1.5", "0"]);
    let lengths: Vec<usize> = rows.rows.iter().map(|row| row.tokens.len()).collect();
    assert_eq!(lengths, [2, 3]);
}

#[test]
fn channels_are_the_lines_of_a_relational_cell_and_read_as_those_of_ts() {
    let (rows, notes) = read_all(TWO, Labels::Needed).unwrap();
    assert_eq!(
        notes[0],
        "`Two`: series of 2 channels; the class is the attribute `class`"
    );
    assert_eq!(rows.words, ["1 4", "2 5", "? 6", "-1.5 0", "2 ?"]);
    let same =
        "@dimensions 2\n@classLabel true left right\n@data\n1,2,?:4,5,6:left\n-1.5,2:0,?:right\n";
    let of_ts = collected("", Labels::Needed, |rows| ts::read(same, rows));
    assert_eq!(of_ts.unwrap().0, rows);
}

#[test]
fn line_ends_may_be_mixed() {
    let mixed = TWO.replacen('\n', "\r\n", 5);
    let whole = read_all(TWO, Labels::Needed).unwrap();
    assert_eq!(read_all(&mixed, Labels::Needed).unwrap(), whole);
}

#[test]
fn series_to_predict_need_no_class() {
    let (rows, _) = read_all(&WIDE.replace(",left\n", ",?\n"), Labels::IfAny).unwrap();
    assert_eq!(rows.labels, ["", "to the right"]);
    let open = WIDE.replace("@attribute class {left,'to the right'}\n", "");
    let open = open
        .replace(",left\n", "\n")
        .replace(", 'to the right'", "");
    let (rows, _) = read_all(&open, Labels::IfAny).unwrap();
    assert_eq!((rows.rows.len(), rows.labels), (2, vec![String::new()]));
}

#[test]
fn the_last_attribute_is_the_number_to_be_predicted_where_none_is_a_class() {
    let numbers = WIDE.replace("class {left,'to the right'}", "height real");
    let numbers = numbers
        .replace("left\n", "-0.5\n")
        .replace("'to the right'", "2");
    let (rows, notes) = read_all(&numbers, Labels::Needed).unwrap();
    let said_of = "the number to be predicted is the attribute `height`";
    assert!(notes[0].contains(said_of), "{notes:?}");
    assert_eq!(rows.targets, Some(vec![-0.5, 2.0]));
    let of_series = TWO.replace("class {left,right}", "height numeric");
    let of_series = of_series.replace("left\n", "1\n").replace("right\n", "2\n");
    let (rows, _) = read_all(&of_series, Labels::Needed).unwrap();
    assert_eq!(rows.targets, Some(vec![1.0, 2.0]));
    assert_eq!(rows.channels, Some(2));
    // In rows to predict it may be missing.
    let open = numbers.replace("-0.5\n", "?\n");
    let missing = said(&open);
    missing.says("the attribute `height` is missing");
    let number = "objective = 'number'";
    let (rows, _) = collected(number, Labels::IfAny, |rows| read(&open, rows)).unwrap();
    assert_eq!(rows.labels, ["", "2"]);
    // A person may take whole numbers for classes.
    let class = "objective = 'class'";
    let (rows, _) = collected(class, Labels::Needed, |rows| read(&of_series, rows)).unwrap();
    assert_eq!(rows.targets, None);
}

#[test]
fn what_is_wrong_with_the_header_is_named_with_its_line() {
    for [from, to, what] in rows(
        r#"
        @DATA⏎                  |                    | line 8: `1,2,?,left` stands before @data
        REAL                    | string             | line 5: the attribute `att 1` is a string
        REAL                    | date "yyyy"        | line 5: the attribute `att 1` is a date
        REAL                    | number             | line 5: the attribute `att 1` is of the type `number`
        REAL % a remark         |                    | line 5: the attribute `att 1` has no type
        'att 1'                 | 'att 1             | line 5: the quote of column 1 is not closed
        REAL                    | {a,b}              | line 7: the attributes `class` and `att 1` (line 5) are both nominal
        {left,'to the right'}   | {left              | line 7: the braces of the classes of `class`
        {left,'to the right'}   | {left,}            | line 7: a class of `class` has no name
        {left,'to the right'}   | numeric            | line 9: the number to be predicted is `left`, which is no number
        @ATTRIBUTE att0 numeric | @end x             | line 4: ends a relational attribute
        @ATTRIBUTE att0 numeric | @attr att0 numeric | line 4: `@attr att0 numeric` stands
        "#,
    ) {
        said(&WIDE.replacen(from, to, 1)).says(what);
    }
    for [from, to, what] in rows(
        "
        @end channels⏎                                                               |                                                                 | line 6: the attribute `class` is nominal and stands inside
        att0 numeric                                                                 | att0 relational                                                 | line 3: the attribute `att0` is relational inside
        @end channels⏎                                                               | @end channels⏎@attribute more real⏎                             | line 7: the attribute `more` is a number beside the series
        @end channels⏎                                                               | @end channels⏎@attribute b relational⏎@attribute c real⏎@end b⏎ | line 7: the attributes `b` and `channels` (line 2) are both relational
        @end channels⏎@attribute class {left,right}⏎                                 |                                                                 | line 2: the attribute `channels` does not end before @data of line 6
        @attribute att0 numeric⏎\t@attribute att1 numeric⏎  @attribute att2 numeric⏎ |                                                                 | line 2: the attribute `channels` has no attributes
        ",
    ) {
        said(&TWO.replacen(from, to, 1)).says(what);
    }
    said("@relation x\n").says("has no line @data");
    said("@relation x\n@data\n").says("has no attribute of numbers");
}

#[test]
fn what_is_wrong_with_a_row_is_named_with_its_line_field_and_value() {
    for [from, to, what] in rows(
        r"
        2,?,left   | 2,left       | line 9: 3 fields, and the header has 4 attributes
        2,?,left   | 2,?,left,{5} | line 9: 5 fields
        1,2,?,left | {0 1,3 left} | line 9: a sparse row
        1,2,?,left | 1,x,?,left   | line 9: field 2 (the attribute `att 1`): `x` is no number
        1,2,?,left | 1,2,inf,left | line 9: field 3 (the attribute `att2`): `inf` is no number
        1,2,?,left | ?,?,?,left   | line 9: all of its values are missing
        ?,left     | ?,up         | line 9: the class `up` is not among those of the attribute `class`: `left`, `to the right`
        ?,left     | ?,?          | line 9: the attribute `class` is missing
        ?,left     | ?,'left      | line 9: the quote of column 7 is not closed
        ",
    ) {
        said(&WIDE.replacen(from, to, 1)).says(what);
    }
    for [from, to, what] in rows(
        r"
        4,5,6'         | 4,5'     | line 9: channel 2 has 2 steps, and the header has 3
        \n4,5,6'       | '        | line 10: `-1.5 0` has 2 numbers, and every step before it 1
        4,5,6'         | 4,inf,6' | line 9: step 2 of channel 2: `inf` is no number
        '1,2,?\n4,5,6' | ''       | line 9: the series is empty
        4,5,6'         | 4,5,6    | line 9: the quote of column 1 is not closed
        ",
    ) {
        said(&TWO.replacen(from, to, 1)).says(what);
    }
}

#[test]
fn a_file_cut_anywhere_is_an_error_or_has_whole_rows() {
    for text in [WIDE, TWO] {
        for end in 0..text.len() {
            if let Ok((rows, _)) = read_all(&text[..end], Labels::Needed) {
                assert!(rows.rows.len() <= 2);
            }
        }
    }
}
