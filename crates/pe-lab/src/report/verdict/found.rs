//! What the tests of a study found, as the values of its answer.

use std::mem::discriminant;

use crate::report::answer::{Achieved, Answer, Need, Positions, Standing, Top};
use crate::report::comparison::{Comparison, Headline, Part};
use crate::report::summary::{ABOVE_THE_FLOOR, Summary, TaskSummary, least_to_lead};
use crate::report::trainings;
use crate::report::words::is_control;
use crate::stats::{ENOUGH_SEEDS, FEWEST_SEEDS, Finding};
use crate::task::Measure;

/// The answer of a study.
pub(super) fn answer(summary: &Summary) -> Answer {
    if summary.finished == 0 {
        return Answer::NoScore;
    }
    let Some(first) = summary.headlines.first() else {
        return Answer::NotCompared;
    };
    let is_missing = |scheme: &String| is_control(scheme) && !is_trained(summary, scheme);
    let is_alone = |headline: &Headline| headline.order.iter().skip(1).all(is_missing);
    match (&summary.looks, summary.look, &first.order[..]) {
        (_, _, [only, ..]) if summary.headlines.iter().all(is_alone) => {
            return Answer::Alone(only.clone());
        }
        (Some(looks), None, _) => {
            return Answer::BeforeFirstLook(looks.first().copied().unwrap_or(FEWEST_SEEDS));
        }
        _ => {}
    }
    if let Some(few) = few_seeds(summary, first) {
        return few;
    }
    if trainings::all_too_short(summary) {
        return Answer::TooShort;
    }
    let positions = positions(summary, first);
    let need = positions.as_ref().map(|of| &of.found);
    // The sentence about positions already says that the control is below.
    let told = matches!(need, Some(Need::Needed | Need::Helpful));
    let parts = summary.headlines.iter().filter_map(|headline| {
        let without = told.then_some(first.part) == Some(headline.part);
        standing(summary, headline, without)
    });
    Answer::Found {
        parts: parts.collect(),
        positions,
        ranks_speed: trainings::ranks_speed(summary),
    }
}

/// The answer where no pair, inside or beyond, has seeds enough to prove anything.
fn few_seeds(summary: &Summary, headline: &Headline) -> Option<Answer> {
    let mut pairs = summary.comparisons.iter();
    let of_part = pairs.clone().filter(|pair| pair.part == headline.part);
    let fewest = of_part.flat_map(|pair| pair.seeds).min()?;
    let all_few = pairs.all(|pair| pair.finding == Finding::FewSeeds);
    let leader = headline.order.first()?;
    // Of two schemes with the same mean neither is the highest.
    let second = headline.order.get(1);
    let second = second.and_then(|of| summary.pair(headline, of));
    let tied = second.is_some_and(Comparison::is_tie);
    let highest = || Some((leader.clone(), achieved(summary, headline, leader)?));
    all_few.then(|| Answer::FewSeeds {
        seeds: fewest,
        fewest: FEWEST_SEEDS,
        enough: ENOUGH_SEEDS,
        highest: highest().filter(|_| !tied && unsolved(summary, headline).is_none()),
    })
}

/// What the leader of a part and the control show about the need of positions. `None` if there is no control, if it leads,
/// and if every training of it failed: then there is no model without positions.
fn positions(summary: &Summary, headline: &Headline) -> Option<Positions> {
    let leader = headline.order.first()?;
    let control = headline.order.iter().find(|scheme| is_control(scheme))?;
    if is_control(leader) || !is_trained(summary, control) || unsolved(summary, headline).is_some()
    {
        return None;
    }
    let pair = summary.pair(headline, control)?;
    let [with, without] = [leader, control].map(|of| mean(summary, headline.part, of));
    let found = match (&pair.finding, &pair.why) {
        // Half of a score says little where it is not known which score takes no skill.
        (Finding::Proven | Finding::Best, _)
            if 2.0 * without? < with? && summary.study().is_some() =>
        {
            Need::Needed
        }
        (Finding::Proven | Finding::Best, _) => Need::Helpful,
        (Finding::Level | Finding::Same, _) => Need::Level,
        (Finding::Undecided | Finding::FewSeeds, why) => Need::Unclear(why.clone()?),
    };
    // Both in the same unit: where trainings of one failed, its score is the mean of normalized ones.
    let [of_control, of_leader] = [control, leader].map(|of| achieved(summary, headline, of));
    let scores = match (of_control?, of_leader?) {
        of if discriminant(&of.0) == discriminant(&of.1) => of,
        _ => (Achieved::Score(without?), Achieved::Score(with?)),
    };
    let unlearned = match found {
        Need::Level => unlearned(summary, headline),
        _ => Vec::new(),
    };
    Some(Positions {
        part: headline.part,
        unlearned,
        found,
        without: scores.0,
        with: scores.1,
    })
}

/// Whether a training of a scheme has not failed.
pub(super) fn is_trained(summary: &Summary, scheme: &str) -> bool {
    summary.scheme(scheme).is_some_and(|of| of.finished > 0)
}

/// The standing in one part. `told` is true if another sentence already says that the control is below. `None` if then
/// nothing is left to say.
fn standing(summary: &Summary, headline: &Headline, told: bool) -> Option<Standing> {
    let part = headline.part;
    let [leader, others @ ..] = &headline.order[..] else {
        return None;
    };
    if let Some(top) = unsolved(summary, headline) {
        return Some(Standing { part, top });
    }
    let is_left =
        |scheme: &&String| !(is_control(scheme) && (told || !is_trained(summary, scheme)));
    let others: Vec<(&String, &Comparison)> = others
        .iter()
        .filter(is_left)
        .filter_map(|other| Some((other, summary.pair(headline, other)?)))
        .collect();
    if others.is_empty() {
        return None;
    }
    let of = |findings: &[Finding]| -> Vec<String> {
        let with = others
            .iter()
            .filter(|(_, pair)| findings.contains(&pair.finding));
        with.map(|(other, _)| (*other).clone()).collect()
    };
    let (below, level) = (of(&[Finding::Proven]), of(&[Finding::Level]));
    let same = of(&[Finding::Same]);
    let open = of(&[
        Finding::Undecided,
        Finding::FewSeeds,
        Finding::Level,
        Finding::Same,
    ]);
    let with_leader = |others: Vec<String>| [vec![leader.clone()], others].concat();
    // The pair that keeps the leader from being best: that with the largest p.
    let open_pairs = others
        .iter()
        .filter_map(|(_, pair)| Some((pair.p.unwrap_or(1.0), pair.why.as_ref()?)));
    let least_certain = open_pairs.max_by(|a, b| a.0.total_cmp(&b.0));
    let top = match least_certain {
        _ if headline.best => Top::Best(leader.clone()),
        Some((_, why)) => Top::Open {
            open: with_leader(open),
            below,
            why: why.clone(),
        },
        None => Top::Shared {
            level: with_leader(level),
            same,
            below,
        },
    };
    Some(Standing { part, top })
}

/// Why no scheme of a part leads, if none does.
pub(super) fn unsolved(summary: &Summary, headline: &Headline) -> Option<Top> {
    let means = summary
        .schemes
        .iter()
        .filter_map(|of| of.part(headline.part));
    let highest = means.map(|of| of.mean).fold(f64::NEG_INFINITY, f64::max);
    let least = least_to_lead(summary.tasks_of(headline));
    match highest {
        low if low < ABOVE_THE_FLOOR.min(least) => Some(Top::Floor),
        low if low < least => Some(Top::Unlearned(low)),
        _ => None,
    }
}

/// The tasks of a part that no scheme has learned.
fn unlearned(summary: &Summary, headline: &Headline) -> Vec<String> {
    let highest = |task: &TaskSummary| {
        let parts = task.schemes.iter().filter_map(|of| of.part(headline.part));
        parts
            .map(|of| of.normalized)
            .fold(f64::NEG_INFINITY, f64::max)
    };
    let tasks = summary.tasks_of(headline);
    let unlearned = tasks.filter(|task| highest(task) < least_to_lead([*task]));
    unlearned.map(|task| task.title.clone()).collect()
}

fn mean(summary: &Summary, part: Part, scheme: &str) -> Option<f64> {
    Some(summary.scheme(scheme)?.part(part)?.mean)
}

fn achieved(summary: &Summary, headline: &Headline, scheme: &str) -> Option<Achieved> {
    let score = || {
        let mean = mean(summary, headline.part, scheme)?;
        Some(match summary.study() {
            Some(_) => Achieved::Score(mean),
            None => Achieved::Given(mean),
        })
    };
    let Some(task) = summary.only_task_of(headline) else {
        return score();
    };
    let group = task.scheme(scheme)?.part(headline.part)?;
    // A failed training has no answers of its own.
    let failed = group.seeds.iter().any(|of| of.failed);
    Some(match &task.measure {
        Measure::Given => return score(),
        _ if failed => return score(),
        Measure::Accuracy => Achieved::Right(group.mean, task.title.clone()),
        measure => Achieved::Loss(group.mean, measure.name()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::comparison::Reason;
    use crate::report::data::Look;
    use crate::report::synthetic::Synthetic;

    fn study(schemes: &[(&str, &[f64])]) -> Synthetic {
        Synthetic::of_scores("reverse", schemes)
    }

    fn answer(study: &Synthetic) -> Answer {
        super::answer(&Summary::of(&study.data()))
    }

    fn found(study: &Synthetic) -> (Option<Positions>, Vec<Top>) {
        match answer(study) {
            Answer::Found {
                positions, parts, ..
            } => (positions, parts.into_iter().map(|of| of.top).collect()),
            other => panic!("{other:?}"),
        }
    }

    const HIGH: &[f64] = &[0.90, 0.93, 0.91, 0.92, 0.89];
    const LOW: &[f64] = &[0.10, 0.12, 0.09, 0.11, 0.13];
    const LEVEL: [f64; 5] = [0.9000, 0.9010, 0.9005, 0.9002, 0.9008];
    const WILD: &[f64] = &[0.98, 0.05, 0.97, 0.06, 0.95];

    #[test]
    fn positions_are_needed_and_two_schemes_are_level_inside_and_one_is_best_beyond() {
        let level: Vec<f64> = LEVEL.iter().rev().map(|score| score - 0.0001).collect();
        let beyond = [LOW, HIGH, &[0.50, 0.46, 0.52, 0.49, 0.51]];
        let inside = [("none", LOW), ("sinusoidal", &LEVEL), ("learned", &level)];
        let mut study = Synthetic::new(&["reverse"], &inside.map(|of| of.0), 5);
        for ((scheme, inside), beyond) in inside.into_iter().zip(beyond) {
            for (seed, (inside, beyond)) in (1..).zip(inside.iter().zip(beyond)) {
                let at = [(10, 0.25 + 0.75 * inside), (40, 0.2 + 0.8 * beyond)];
                study = study.score("reverse", scheme, seed, &at);
            }
        }
        let (positions, parts) = found(&study);
        let positions = positions.unwrap();
        assert_eq!(positions.part, Part::Inside);
        assert_eq!(positions.found, Need::Needed);
        let Achieved::Right(without, of) = positions.without else {
            panic!("a share of right answers");
        };
        assert!((without - (0.25 + 0.75 * 0.11)).abs() < 1e-9 && of == "reverse");
        // Another sentence already says that the scheme without positions is below.
        let shared = Top::Shared {
            level: ["sinusoidal", "learned"].map(String::from).to_vec(),
            same: Vec::new(),
            below: Vec::new(),
        };
        assert_eq!(parts, [shared, Top::Best("sinusoidal".into())]);
    }

    #[test]
    fn positions_that_more_than_double_no_score_are_helpful() {
        let good: &[f64] = &[0.70, 0.73, 0.71, 0.75, 0.69];
        let (positions, parts) = found(&study(&[("none", good), ("learned", HIGH)]));
        assert_eq!(positions.unwrap().found, Need::Helpful);
        assert!(parts.is_empty(), "{parts:?}");
        // Where the control leads, it is a scheme like any other.
        let (positions, parts) = found(&study(&[("none", HIGH), ("learned", LOW)]));
        assert_eq!((positions, parts), (None, vec![Top::Best("none".into())]));
    }

    #[test]
    fn level_beside_a_task_that_nobody_learned_says_which() {
        let mut study = Synthetic::new(&["reverse", "majority"], &["none", "rotary"], 5);
        for seed in 1..=5 {
            let noise = 0.001 * seed as f64;
            for (scheme, learned) in [("none", noise), ("rotary", 0.008 - noise)] {
                let score = |of: f64| [(20, 0.25 + 0.75 * of)];
                study = study.score("reverse", scheme, seed, &score(0.02));
                study = study.score("majority", scheme, seed, &score(0.9 + learned));
            }
        }
        let (positions, _) = found(&study);
        let positions = positions.unwrap();
        assert_eq!(positions.found, Need::Level);
        assert_eq!(positions.unlearned, ["reverse"]);
    }

    #[test]
    fn a_large_difference_that_is_undecided_has_its_reason() {
        let (positions, _) = found(&study(&[("none", LOW), ("learned", WILD)]));
        let Need::Unclear(Reason::Spread(name, low, high)) = positions.unwrap().found else {
            panic!("it is clear");
        };
        assert_eq!(name, "learned");
        assert!((low - 0.05).abs() < 1e-9 && (high - 0.98).abs() < 1e-9);
        let (_, parts) = found(&study(&[("a", HIGH), ("b", WILD), ("c", LOW)]));
        let [Top::Open { open, below, why }] = &parts[..] else {
            panic!("{parts:?}");
        };
        assert!(matches!(why, Reason::Spread(name, ..) if name == "b"));
        assert_eq!(open[..], ["a", "b"]);
        // The runs of the second scheme are in the pooled variance of every pair.
        assert!(below.is_empty() || below[..] == ["c"]);
    }

    #[test]
    fn one_or_two_seeds_prove_nothing_and_what_would_is_said() {
        let few = |none: &[f64], learned: &[f64]| match answer(&study(&[
            ("none", none),
            ("learned", learned),
        ])) {
            Answer::FewSeeds {
                seeds,
                fewest,
                enough,
                highest,
            } => (seeds, fewest, enough, highest.map(|of| of.0)),
            other => panic!("{other:?}"),
        };
        for seeds in [1, 2] {
            let learned = Some("learned".to_string());
            assert_eq!(few(&LOW[..seeds], &HIGH[..seeds]), (seeds, 3, 5, learned));
        }
        assert_eq!(few(&[0.01, 0.0], &[0.0, 0.02]), (2, 3, 5, None));
        // Of two equal means neither is the highest.
        assert_eq!(few(&[0.9, 0.7], &[0.7, 0.9]), (2, 3, 5, None));
        let rows = |right: [f64; 2]| right.map(|right| (right / 89.0 - 0.1) / 0.9);
        let equal = few(&rows([60.0, 66.0]), &rows([63.0, 63.0]));
        assert_eq!(equal, (2, 3, 5, None));
    }

    #[test]
    fn one_seed_inside_does_not_hide_what_is_proven_beyond() {
        let study = Synthetic::each(&["reverse"], &["a", "b"], 5, |_, scheme, seed| {
            let (inside, beyond) = if scheme == "a" {
                (0.9, HIGH)
            } else {
                (0.8, LOW)
            };
            let beyond = (40, 0.2 + 0.8 * beyond[seed as usize - 1]);
            [(10, 0.25 + 0.75 * inside), beyond]
        });
        // Only one seed of each has a score inside.
        let study = study.change(|_, seed, measures| {
            measures.scores.retain(|of| seed == 1 || !of.inside);
        });
        let (_, parts) = found(&study);
        let [Top::Open { why, .. }, best] = &parts[..] else {
            panic!("{parts:?}")
        };
        assert_eq!((why, best), (&Reason::FewSeeds(1), &Top::Best("a".into())));
    }

    #[test]
    fn of_a_control_whose_trainings_failed_nothing_is_said() {
        let mut study = study(&[("none", LOW), ("learned", HIGH)]);
        study = study.fail("reverse", "none", 1, "diverged");
        // The mean of the control holds a score that no model has, so it is not told as a share of right answers.
        let Positions { without, with, .. } = found(&study).0.unwrap();
        let scores = [&without, &with].map(|of| matches!(of, Achieved::Score(_)));
        assert_eq!(scores, [true; 2], "{without:?} {with:?}");
        for seed in 2..=5 {
            study = study.fail("reverse", "none", seed, "diverged");
        }
        assert_eq!(answer(&study), Answer::Alone("learned".into()));
        let three = self::study(&[("none", LOW), ("learned", HIGH), ("alibi", LOW)]);
        let three = (1..=5).fold(three, |study, seed| {
            study.fail("reverse", "none", seed, "diverged")
        });
        let best = Top::Best("learned".into());
        assert_eq!(found(&three), (None, vec![best]));
        let said = three.judged().verdict.join("\n");
        assert!(
            said.contains("nearest: alibi") && !said.contains("below it: `none`"),
            "{said}"
        );
    }

    /// The reason is that of the pair that keeps the leader from being best, not that of the largest difference.
    #[test]
    fn the_reason_is_that_of_the_least_certain_pair() {
        let near = [0.90, 0.91, 0.905, 0.895, 0.92];
        let (_, parts) = found(&study(&[("a", HIGH), ("b", &near), ("c", WILD)]));
        let [Top::Open { why, open, .. }] = &parts[..] else {
            panic!("{parts:?}")
        };
        assert_eq!(open[..], ["a", "b", "c"]);
        assert!(
            !matches!(why, Reason::Spread(name, ..) if name == "c"),
            "{why:?}"
        );
    }

    #[test]
    fn whoever_is_not_proven_below_the_leader_is_open() {
        let (a, b) = ([0.9; 5], [0.9; 5]);
        let near = [0.88, 0.89, 0.90, 0.89, 0.87];
        let (_, parts) = found(&study(&[("a", &a), ("b", &b), ("c", &near), ("d", WILD)]));
        let [Top::Open { open, .. }] = &parts[..] else {
            panic!("{parts:?}")
        };
        assert_eq!(open[..2], ["a", "b"]);
    }

    #[test]
    fn without_a_claim_the_reason_is_the_answer() {
        let empty = Synthetic::new(&["x"], &["a", "b"], 3);
        assert_eq!(answer(&empty), Answer::NoScore);
        let alone = study(&[("a", HIGH)]);
        assert_eq!(answer(&alone), Answer::Alone("a".into()));
        let floor: [&[f64]; 2] = [&[0.01, 0.02, 0.0], &[0.0, 0.01, 0.02]];
        let (_, parts) = found(&study(&[("a", floor[0]), ("b", floor[1])]));
        assert_eq!(parts, [Top::Floor]);
        let mut study = study(&[("a", HIGH), ("b", LOW)]);
        let mut data = study.data();
        data.look = Some(Look {
            planned: vec![3, 5],
            reached: None,
        });
        let looked = Summary::of(&data);
        assert_eq!(super::answer(&looked), Answer::BeforeFirstLook(3));
        study.spec.recipe.warmup_steps = 1_500;
        assert_eq!(answer(&study), Answer::TooShort);
    }
}
