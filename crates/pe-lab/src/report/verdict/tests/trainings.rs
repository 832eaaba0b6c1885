//! Trainings that failed, are missing, or had not converged.

use super::*;
use crate::ask::Tuned;
use crate::run::Measures;

#[test]
fn a_training_within_the_warm_up_is_too_short_to_tell() {
    let mut study = study(&[("a", HIGH), ("b", LOW)]);
    study.spec.recipe.warmup_steps = 1_500;
    let short = "Every training ended within 1500 steps, the warm-up of a longer training,";
    begins(&verdict(&study)[0], short);
    // A training that stopped by itself is judged alike.
    (study.spec.tasks[0].steps, study.spec.tasks[0].auto_from) = (3000, Some(750));
    let said = verdict(&study);
    begins(&said[0], short);
    assert!(!said[1].contains("converged"), "{said:?}");
    study.spec.recipe.warmup_steps = 1_499;
    assert!(!verdict(&study)[0].contains("ended within"));
    study.spec.tasks[0].auto_from = None;
    assert!(!verdict(&study)[0].contains("ended within"));
}

#[test]
fn a_failed_training_scores_the_floor_and_the_leader_loses_by_it() {
    let study = Synthetic::each(&["mine", "yours"], &["a", "b"], 5, |_, scheme, seed| {
        let scores = if scheme == "a" { HIGH } else { LOW };
        [(10, 0.25 + 0.75 * scores[seed as usize - 1])]
    });
    let said = verdict(&study.fail("mine", "a", 3, "diverged"));
    // a: 0.91 but for one run at 0, so its mean is 0.819 and its spread is large.
    let best =
        "On held-out data: a is best of the two on the mean over mine and yours (nearest: b, +0.32";
    begins(&said[0], best);
    assert_eq!(
        said[1],
        "1 of 20 trainings failed: a on mine (seed 3). A failed training scores the floor, or the \
         lowest score of any scheme on the task if that is below it."
    );
}

#[test]
fn a_task_that_is_not_finished_leaves_its_seeds_out() {
    let mut study = Synthetic::new(&["x", "y"], &["a", "b"], 4);
    for seed in 1..=4 {
        for (scheme, normalized) in [("a", 0.9), ("b", 0.5)] {
            let at = [(10, 0.25 + 0.75 * (normalized + seed as f64 / 100.0))];
            study = study.score("x", scheme, seed, &at);
            if (scheme, seed) != ("a", 4) {
                study = study.score("y", scheme, seed, &at);
            }
        }
    }
    let said = verdict(&study);
    said[0].says("3 and 4 seeds");
    assert_eq!(
        said[1],
        "1 of 16 trials has not been run yet. A seed of a scheme counts only if it has a score on every task."
    );
}

/// Lets the held-out loss of a training fall to its end.
fn fall(measures: &mut Measures) {
    for point in &mut measures.held_out {
        point.loss = 2.0 - point.step as f64 / 1500.0;
    }
}

#[test]
fn what_had_not_converged_is_said_first() {
    let mut study = study(&[("a", HIGH), ("b", LOW)]);
    for seed in [2, 4] {
        fall(study.measures("mine", "b", seed));
    }
    verdict(&study)[0].says("a is best"); // two runs of five
    fall(study.measures("mine", "b", 5));
    let said = verdict(&study);
    begins(
        &said[0],
        "This ranks how fast schemes learn, not what they reach: b on mine (seeds 2, 4, 5) had not converged at 1500 \
         steps (the held-out loss still fell by more than 2 % of its first value",
    );
    said[1].says("a is best");
}

#[test]
fn trainings_until_they_have_converged_rank_what_is_reached() {
    let mut study = study(&[("a", HIGH), ("b", LOW)]);
    (study.spec.tasks[0].steps, study.spec.tasks[0].auto_from) = (3000, Some(1500));
    let said = verdict(&study);
    assert_eq!(
        said[0],
        "Trainings went on until they had converged, within the limit of 3000 steps: this ranks what the \
         schemes reach, not how fast they learn."
    );
    said[1].says("a is best");
    // Below the limit the steps were chosen by other examples.
    fall(study.measures("mine", "b", 2));
    verdict(&study)[0].says("within the limit");
    // Runs that met the limit take that back: seed 2 still falls, and seed 4 has no losses to show that it had converged.
    study.measures("mine", "b", 4).held_out.clear();
    for seed in [2, 4] {
        let curve = &mut study.measures("mine", "b", seed).curve;
        curve.last_mut().unwrap().step = 3000;
    }
    let short = "Too short to tell: b on mine (seed 4) ended";
    let said = verdict(&study);
    begins(&said[0], short);
    assert_eq!(
        said[1],
        "Trainings went on until they had converged, or to the limit of 3000 steps. Met the limit without converging: b on \
         mine (seeds 2, 4). Such scores tell how fast a scheme learns; the others tell what it reaches."
    );
    study.spec.tasks[0].auto_from = None;
    let said = verdict(&study);
    begins(&said[0], short);
    said[1].says("a is best"); // two runs of five
}

#[test]
fn trainings_that_converged_at_the_floor_are_named() {
    let accuracy = |scheme: &str| if scheme == "a" { 0.9 } else { 0.26 };
    let mut study = Synthetic::each(&["mine"], &["a", "b"], 2, |_, scheme, _| {
        [(10, accuracy(scheme))]
    });
    (study.spec.tasks[0].steps, study.spec.tasks[0].auto_from) = (3000, Some(1500));
    ends(
        &verdict(&study)[0],
        " Still at the floor: b on mine (every seed). A flat loss does not tell whether more steps would change that.",
    );
}

#[test]
fn a_study_of_both_says_which_tasks_went_on() {
    let mut study = Synthetic::new(&["x", "y"], &["a"], 1)
        .score("x", "a", 1, &[(10, 0.9)])
        .score("y", "a", 1, &[(10, 0.9)]);
    study.spec.tasks[1].auto_from = Some(500);
    begins(&verdict(&study)[0], "On y, trainings went on");
    fall(study.measures("x", "a", 1));
    let said = verdict(&study);
    begins(
        &said[0],
        "On x, this ranks how fast schemes learn, not what they reach: a on x (every seed) had not converged at 1500 steps",
    );
    begins(&said[1], "On y, trainings");
}

#[test]
fn a_rate_at_an_end_of_those_that_were_tried_is_said() {
    let end = "For a on mine the lowest or the highest of all was chosen: a rate beyond it may be better.";
    for (beyond, losses, said) in [
        (0, [0.1, 0.2, 0.3], end),
        (0, [0.2, 0.1, 0.3], "the lower mean loss was taken."),
        // The next rate beyond failed.
        (1, [0.1, 0.2, 0.3], "the lower mean loss was taken."),
    ] {
        let mut spec = study(&[("a", HIGH)]).spec;
        let mut tune = Tuned::around(&spec.recipe, 3, &spec.seeds).unwrap();
        tune.beyond = beyond;
        tune.keep_of("mine", "a", &losses.map(Some));
        spec.tune = Some(tune);
        ends(&crate::report::trainings::tuned(&spec), said);
    }
}
