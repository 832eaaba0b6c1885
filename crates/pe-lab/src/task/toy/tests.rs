//! Every toy task, compared with examples by hand, with a second definition, and with its published samples.

mod rows;

use super::super::{
    Addition, FirstEqLast, Majority, MissingDuplicate, ModularArithmetic, PosMod4, Reverse,
};
use super::testing::{Pairs, digest};
use super::*;
use rows::rows;

#[test]
fn every_toy_task_is_here() {
    let tasks = crate::ask::Tasks::default();
    let all: Vec<String> = tasks.names().filter(|name| name != "digits").collect();
    let mut here: Vec<&str> = rows().iter().map(|row| row.task.name()).collect();
    here.sort_by_key(|name| all.iter().position(|known| known == name));
    assert_eq!(here, all);
}

#[test]
fn answers_by_hand() {
    for row in rows() {
        for [tokens, classes] in row.by_hand {
            let classes = classes.chars().map(|c| c.to_digit(10)).enumerate();
            let expected = classes.filter_map(|(place, class)| Some((place, class? as usize)));
            let asked = (row.asked)(&row.tokens(tokens));
            assert_eq!(asked, expected.collect::<Pairs>(), "{tokens}");
        }
        for [tokens, prompt, answer] in row.written {
            let expected = Prompted {
                prompt: row.tokens(prompt),
                answer: row.tokens(answer),
            };
            let prompted = (row.prompted)(&row.tokens(tokens));
            assert_eq!(prompted, expected, "{tokens}");
        }
    }
}

#[test]
fn the_streams_are_the_published_ones() {
    for row in rows() {
        assert_eq!(digest(row.task), row.digest, "{}", row.task.name());
    }
}

#[test]
fn every_sample_follows_the_second_definition() {
    for row in rows() {
        (row.follows)(row.task, row.definition);
    }
}

#[test]
fn floors_are_what_they_are_said_to_be() {
    for row in rows() {
        let (task, name) = (row.task, row.task.name());
        for n in row.best_at {
            let best = (row.best_blind)(*n);
            assert!((best - task.floor(*n)).abs() < 1e-12, "{name} {n}: {best}");
        }
        let Some((rule, lengths, error)) = row.scored_by else {
            continue;
        };
        for n in lengths {
            let (scored, floor) = ((row.blind_rule)(*n, rule), task.floor(*n));
            let difference = (scored - floor).abs();
            assert!(difference < error, "{name} {n}: {scored} at {floor}");
        }
    }
}

#[test]
fn floors_by_hand() {
    let floors: [(&dyn Task, usize, f64); 10] = [
        (&PosMod4, 10, 0.3),
        (&PosMod4, 20, 0.25),
        (&PosMod4, 21, 6.0 / 21.0),
        (&PosMod4, 30, 8.0 / 30.0),
        (&FirstEqLast, 10, 0.5546875),
        (&FirstEqLast, 80, 0.5061383479202562),
        (&Majority, 20, 0.5),
        (&MissingDuplicate, 20, 0.5),
        // Of two digits a plus and a minus give each value alike, and 9 of 25 products are 0.
        (&ModularArithmetic, 4, (2.0 / 5.0 + 9.0 / 25.0) / 3.0),
        // One digit: 55 of 100 sums are below 10, and 10 of 100 end in 0.
        (&Addition {}, 6, (0.55 + 0.1) / 2.0),
    ];
    for (task, n, floor) in floors {
        assert!((task.floor(n) - floor).abs() < 1e-12, "{} {n}", task.name());
    }
}

#[test]
fn two_answers_are_equally_likely() {
    let tasks: [&dyn Task; 3] = [&FirstEqLast, &Majority, &MissingDuplicate];
    for task in tasks {
        for n in task.test_lengths() {
            let set = task.test_set(n);
            let ones: usize = set.iter().map(|sample| sample.answers[0].class).sum();
            // Five standard deviations of 512 fair coins.
            assert!(ones.abs_diff(256) < 57, "{} {n}: {ones}", task.name());
        }
    }
}

#[test]
fn a_sample_is_framed_by_the_two_tokens_after_the_own_ones() {
    let framed = sample::<Reverse>(&[3, 1, 4, 0]);
    assert_eq!(framed.input.tokens(), [8, 3, 1, 4, 0, 9]);
    assert_eq!(Reverse.vocabulary(), 10);
}

#[test]
fn a_length_that_a_task_does_not_have_has_no_test_set() {
    assert_eq!(Reverse.test_set(3), []);
    assert_eq!(Reverse.test_set(4).len(), 512);
    assert_eq!(MissingDuplicate.test_set(10).len(), 512);
    assert_eq!(MissingDuplicate.test_set(11), []);
}
