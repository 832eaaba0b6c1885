//! Tests of the files that a report has for a paper.

use super::{Row, methods, tables};
use crate::ask::{ChosenRate, Tuned};
use crate::data::testing::Says;
use crate::report::synthetic::Synthetic;

/// Two schemes on two tasks, one with lengths beyond the training.
fn study() -> Synthetic {
    let (tasks, schemes) = (["reverse", "mine"], ["none", "rotary"]);
    let study = Synthetic::each(&tasks, &schemes, 3, |task, scheme, seed| {
        let spread = 0.001 * seed as f64;
        let accuracy = if scheme == "none" { 0.4 } else { 0.9 };
        let at = [(20, accuracy + spread), (40, 0.3 + spread)];
        at[..if task == "mine" { 1 } else { 2 }].to_vec()
    });
    study.fail("mine", "none", 2, "diverged")
}

#[test]
fn tables_have_the_numbers_of_the_summary_and_the_best_first() {
    let summary = study().judged();
    let grids = tables::grids(&summary);
    let names: Vec<&str> = grids.iter().map(|grid| grid.name.as_str()).collect();
    assert_eq!(names, ["all", "task-1", "task-2"]);
    let [all, reverse, mine] = &grids[..] else {
        panic!("three tables")
    };
    let header = "Scheme|inside|95 %|beyond|95 %|Seeds|Failed";
    assert_eq!(all.header.join("|"), header);
    let mean = summary.schemes[1].inside.as_ref().unwrap().mean;
    assert_eq!(
        all.rows[0].cells[..2].join("|"),
        format!("rotary|{mean:.2}")
    );
    assert!(all.rows[0].bold && !all.rows[1].bold);
    // A failed training counts at the floor.
    assert_eq!(all.rows[1].cells[5..], ["3", "1"]);
    let header = "Scheme|accuracy, inside|normalized, inside|95 %|accuracy, beyond|normalized, beyond|95 %|parameters";
    assert_eq!(reverse.header.join("|"), header);
    assert_eq!(reverse.rows[0].cells[1], "0.902");
    assert_eq!(reverse.rows[2].cells[..4], ["(floor)", "0.250", "0.00", ""]);
    assert_eq!(mine.header.len(), 5, "held-out data alone");
    for grid in &grids {
        let is_whole = |row: &Row| row.cells.len() == grid.header.len();
        assert!(grid.rows.iter().all(is_whole), "{grid:?}");
    }
}

#[test]
fn the_methods_say_what_was_done_and_name_their_sources() {
    let mut study = study();
    let said = methods::paragraph(&study.judged()).unwrap();
    said.says_all(&[
        "We compared 2 positional encodings of a transformer [@vaswani2017], none and rotary, on 2 tasks: reverse (",
        "trained at 4 to 20 tokens and tested on 512 sequences of 20 tokens at the training lengths and on 512 sequences of 40 tokens \
         beyond the training lengths",
        "a pre-norm transformer without dropout with 2 layers, a width of 64, 4 heads and a feed-forward width of 256 (gelu)",
        "Adam [@kingma2015], with a beta2 of 0.98, on batches of 64 sequences",
        "over 100 steps, at most half of a training, to 0.0015",
        "reverse for 1500 steps and mine for 1500 steps",
        "with 3 seeds (1, 2 and 3)",
        "Of 12 trainings, 1 failed",
        "of an accuracy (accuracy - floor) / (1 - floor)",
        "Welch's test [@welch1947]",
        "below 0.0125",
        "a margin of 0.02 at 0.05",
        "on the device flex",
    ]);
    for part in "chosen for each task|looks planned|added to|bootstrap|other test rows".split('|') {
        assert!(!said.contains(part), "{part}: {said}");
    }
    study.spec.tune = Some(Tuned {
        seed: 101,
        rates: vec![0.001, 0.002],
        beyond: 2,
        again: vec![102, 103],
        chosen: Vec::<ChosenRate>::new(),
    });
    (study.spec.tasks[0].steps, study.spec.tasks[0].auto_from) = (6000, Some(1500));
    let said = methods::paragraph(&study.judged()).unwrap();
    said.says_all(&[
        "among 2 (0.001 and 0.002)",
        "up to 2 further rates were tried",
        "trained again at seeds 102 and 103, and the one with the lower mean loss was chosen",
        "reverse until it had converged, for 1500 to 6000 steps",
    ]);
}

#[test]
fn every_source_that_is_named_is_listed() {
    let said = methods::paragraph(&study().judged()).unwrap();
    let (text, tex) = (methods::markdown_of(&said), methods::latex_of(&said));
    let bib = methods::bibliography(&said);
    assert!(!text.contains('@') && !tex.contains('@'), "{text} {tex}");
    text.says_all(&[
        "(Welch 1947)",
        "\n- Welch, Bernard Lewis. The generalization of",
        "\n- Gutmann, Sam; Maymin, Zakhar. Is the selected population the best? Annals of Statistics. 1987.\n",
        "Journal of Pharmacokinetics and Biopharmaceutics. 1987.",
    ]);
    tex.says("Welch's test~\\cite{welch1947}");
    let cited = tex.split("\\cite{").skip(1);
    let cited: Vec<&str> = cited.filter_map(|rest| rest.split('}').next()).collect();
    assert!(cited.len() > 6, "{cited:?}");
    for key in cited {
        assert!(bib.contains(&format!("{{{key},\n")), "{key}");
    }
    assert!(!bib.contains("owen2007"), "of no use here");
}
