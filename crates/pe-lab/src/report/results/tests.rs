//! Tables that are judged, and those that are refused.

use super::*;
use crate::data::testing::{Says, rows};

fn read(text: &str) -> Result<Results, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("results.csv");
    std::fs::write(&file, text).unwrap();
    Results::read(&file).map_err(|error| error.to_string())
}

#[test]
fn columns_may_stand_in_any_order_and_be_separated_by_semicolons() {
    let results = read("Score;seed;task; Scheme ;note\r\n0,25;2;x;b;hm\r\n1;1;x;a;\r\n").unwrap();
    assert_eq!(results.about.schemes, ["b", "a"]);
    assert_eq!(results.about.seeds, [1, 2]);
    assert_eq!(results.about.unread, ["note"]);
    assert_eq!(results.runs[0].measures.scores[0].score, Score::Given(0.25));
    let said = results.describe();
    assert_eq!(said[0], "results.csv: 2 scores, 2 schemes, 1 task, 2 seeds");
    assert_eq!(said[1], "not read: the columns note");
}

#[test]
fn the_table_of_a_study_is_read_without_what_failed() {
    let text = "task,scheme,seed,length,inside_training,floor,normalized,failure\n\
        x,a,1,20,true,0.2,0.375,\nx,a,1,40,false,0.2,-0.25,\nx,b,1,,,,,the loss is no number\n";
    let results = read(text).unwrap();
    assert_eq!(results.runs.len(), 1);
    let scores = &results.runs[0].measures.scores;
    let scores: Vec<_> = scores
        .iter()
        .map(|of| (of.length, of.inside, of.score.value()))
        .collect();
    assert_eq!(scores, [(20, true, 0.375), (40, false, -0.25)]);
    assert_eq!(results.about.unread, ["floor"]);
    results.describe()[2]
        .says("left out: 1 row of failed trainings (of b), as the column failure is filled");
    let waiting = read(&text.replace("the loss is no number", "not run yet")).unwrap();
    assert_eq!((waiting.about.failed, waiting.about.not_run), (0, 1));
    // A scaling that was on in the test only is no training: as a scheme of its own it would be compared with the scheme
    // that it scales.
    let scaled = text.replace(
        "x,b,1,,,,,the loss is no number",
        "x,a + yarn (test only),1,40,false,0.2,0.25,",
    );
    let scaled = read(&scaled).unwrap();
    assert_eq!(scaled.about.schemes, ["a"]);
    scaled.describe()[2].says("left out: 1 row of schemes with a scaling (test only)");
    // The same table as other programs rewrite it.
    let again = read(&text.replace("true", "True").replace("false", "FALSE")).unwrap();
    assert_eq!(again.runs[0].measures.scores.len(), 2);
    let none = read("task,scheme,seed,score,failure\nx,a,1,0.5,0\nx,b,1,0.5,False\n");
    assert!(none.unwrap_err().contains("all its rows, 2, are left out"));
}

#[test]
fn a_folder_is_no_table() {
    let folder = tempfile::tempdir().unwrap();
    let error = Results::read(folder.path()).unwrap_err();
    let words = "it is no file; name a table, such as the results.csv of a study";
    assert!(error.to_string().ends_with(words), "{error}");
}

/// Tables with `;` between their lines, each with the line that is named and what is said of it.
const WRONG: &str = "
    scheme,task,seed,score;a,x,1,0.5;a,x,1.5,0.5 | line 3: | the seed is `1.5`
    scheme,task,seed,score;a,x,-1,0.5 | line 2: | the seed is `-1`
    scheme,task,seed,score;a,x,1,87.3 | line 2: | the score is `87.3`, above 1
    scheme,task,seed,score;a,x,1,nan | line 2: | the score is `nan`
    scheme,task,seed,score;a,x,1,inf | line 2: | the score is `inf`
    scheme,task,seed,score;a,x,1, | line 2: | the score is empty
    scheme,task,seed,score,Score;a,x,1,0.5,0.4 | line 1 | names the column `score` twice
    scheme,task,seed,score;a,x,1,good | line 2: | the score is `good`
    scheme,task,seed,score;,x,1,0.5 | line 2: | the scheme is empty
    scheme,task,seed,score;a,,1,0.5 | line 2: | the task is empty
    scheme,task,seed,score;a,x,1 | line 2: | the score is empty
    scheme,task,seed,score;a,x,1,0,5 | line 1, | most lines have more, such as line 2, which has 5
    scheme,task,seed,score;a,x,1,0.5;a,x,2,0.5;a,x,3,0,5 | line 4: | 5 fields, but the header has 4
    scheme,task,seed,score;a,x,1,-1000001 | line 2: | the score is `-1000001`, below -1000000
    scheme,task,seed,score,note;a,x,1,0.5,\"12 inch;b,x,1,0.5,;c,x,1,0.5, | line 2: | a double quote is not closed, so that the row goes on to line 4
    scheme,task,seed,score,length;a,x,1,0.5,10;a,x,1,0.1,20;b,x,1,0.5,10 | | b on x at seed 1 has no score at length 20
    scheme,task,seed,score;a,x,1,0.5;;a,x,1,0.5 | line 4: | has a score on line 2 already
    scheme,task,seed,score; |  | no row below the names
    scheme,task,seed,score,length,part;a,x,1,0.5,0,inside | line 2: | the length is `0`
    scheme,task,seed,score,length,part;a,x,1,0.5,10,middle | line 2: | the part is `middle`
    scheme,task,seed,score,length,part;a,x,1,0.5,10, | line 2: | the part is ``
    scheme,task,seed,score,length,part;a,x,1,0.5,10,inside;b,x,1,0.5,,inside | line 3: | as that on line 2, have none
    scheme,task,seed,score,length,part;a,x,1,0.5,10,inside;b,x,1,0.5,10,beyond | line 3: | on another, line 2
    scheme,tasks,seed,score;a,x,1,0.5 | line 1 | no column `task`, but `scheme, tasks, seed, score`;
    ; |  | is empty";

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let many: String = (0..201).map(|n| format!(";s{n},x,1,0.5")).collect();
    let many = format!("scheme,task,seed,score{many} | 201 schemes | at most 200 are judged");
    for [table, line, said] in rows(WRONG).into_iter().chain(rows(&many)) {
        let error = read(&table.replace(';', "\n")).unwrap_err();
        error.says_all(&[line, said]);
    }
}
