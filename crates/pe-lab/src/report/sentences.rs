//! The answer of a study in words that need no statistics.

use super::answer::{Achieved, Answer, Need, Positions, Standing, Top};
use super::comparison::{Part, Reason};
use super::summary::Summary;
use super::words::{capitalized, fixed, is_control, list, number, spoken};

/// Where a part was tested.
fn place(summary: &Summary, part: Part) -> &'static str {
    match (part, summary.has_two_parts(), summary.resolutions()) {
        (_, false, _) if summary.study().is_none() => "by these scores",
        (_, false, _) => "on data that was held out",
        (Part::Inside, true, false) => "at the lengths of the training",
        (Part::Beyond, true, false) => "at lengths beyond the training",
        (Part::Inside, true, true) => "at the resolution of the training",
        (Part::Beyond, true, true) => "at other resolutions",
    }
}

/// The answer, in one to three sentences.
pub fn answer(answer: &Answer, about: &Summary) -> String {
    match answer {
        Answer::NoScore => "No trial has a score, so nothing can be said.".into(),
        Answer::NotCompared => {
            "No seed of any scheme has a score on every task, so nothing is compared.".into()
        }
        Answer::Alone(scheme) => {
            format!("Only {} has {}, so nothing is compared.", plain(scheme), about.needed())
        }
        Answer::BeforeFirstLook(seeds) => {
            format!("Nothing is claimed before the first planned look, at {seeds} seeds.")
        }
        Answer::TooShort => {
            "Too short to tell: every training had as few steps as a warm-up, or ended before its loss could be followed.".into()
        }
        Answer::FewSeeds {
            seeds,
            fewest,
            enough,
            highest,
        } => {
            let seeds = match seeds {
                1 => "One seed proves".to_string(),
                more => format!("{} seeds prove", capitalized(&number(*more))),
            };
            let so_far = highest.as_ref().map_or(String::new(), |(scheme, score)| {
                format!(" So far {} is highest{}.", plain(scheme), with_score(score))
            });
            format!(
                "{seeds} nothing, whatever the scores: at least {fewest} are needed, and {enough} show a clear difference if the runs \
                 of each scheme score nearly the same{}.{so_far}",
                match about.study() {
                    Some(_) => format!(" (--seeds {enough})"),
                    None => String::new(),
                }
            )
        }
        Answer::Found {
            positions,
            parts,
            ranks_speed,
        } => {
            let mut said: Vec<String> = positions.iter().map(of_positions).collect();
            said.extend(of_parts(parts, about));
            if *ranks_speed {
                said.push(
                    "Some trainings were still improving when they ended, so this tells which schemes learn fast.".into(),
                );
            }
            said.join(" ")
        }
    }
}

/// Which scheme is highest, in one sentence where it is the same inside and beyond the lengths of the training.
fn of_parts(parts: &[Standing], about: &Summary) -> Vec<String> {
    match parts {
        [one, other] if one.top == other.top && about.has_two_parts() => {
            let [here, there] = Part::ALL.map(|part| place(about, part));
            let everywhere = format!("{here} and {}", there.replace("at lengths ", ""));
            vec![capitalized(&top(&one.top, &everywhere))]
        }
        parts => {
            let said = parts.iter().map(|of| top(&of.top, place(about, of.part)));
            said.map(|said| capitalized(&said)).collect()
        }
    }
}

fn of_positions(positions: &Positions) -> String {
    let scores = match (&positions.without, &positions.with) {
        (Achieved::Right(without, of), Achieved::Right(with, _)) => format!(
            "without them the model gets {} of {of} right, with them {}",
            percent(*without),
            percent(*with)
        ),
        (Achieved::Loss(without, what), Achieved::Loss(with, _)) => format!(
            "without them the model ends at {} ({what}), with them at {}",
            fixed(*without, 2),
            fixed(*with, 2)
        ),
        (Achieved::Given(without), Achieved::Given(with)) => format!(
            "without them the score is {}, with them {}",
            fixed(*without, 2),
            fixed(*with, 2)
        ),
        (without, with) => format!(
            "without them the score is {}, with them {} (0 takes no skill, 1 is perfect)",
            fixed(without.value(), 2),
            fixed(with.value(), 2)
        ),
    };
    match &positions.found {
        Need::Needed => format!("Positions are needed: {scores}."),
        Need::Helpful => format!("Positions help: {scores}."),
        Need::Level if positions.unlearned.is_empty() => {
            format!("Positions make no difference that matters: {scores}.")
        }
        Need::Level => format!(
            "No scheme learned {}, so it is open whether positions matter there; over all tasks they make no difference that matters: {scores}.",
            list(&positions.unlearned)
        ),
        Need::Unclear(why) => format!(
            "Whether positions are needed is not clear, since {} ({scores}).",
            because(why)
        ),
    }
}

fn top(top: &Top, place: &str) -> String {
    let names = |schemes: &[String]| list(&schemes.iter().map(|of| plain(of)).collect::<Vec<_>>());
    let better_than = |below: &[String]| match below {
        [] => String::new(),
        below => format!(", better than {}", names(below)),
    };
    match top {
        Top::Floor => format!("{place} no scheme is clearly above the floor."),
        Top::Unlearned(highest) => format!(
            "{place} too little was learned to name a scheme that is best: the highest score is {} of 1.",
            fixed(*highest, 2)
        ),
        Top::Best(scheme) => format!("{place} {} is best.", plain(scheme)),
        Top::Shared { level, same, below } if level.len() > 1 => {
            let same = match &same[..] {
                [] => String::new(),
                same => format!(" ({} had the same score in every run)", names(same)),
            };
            format!(
                "{place} {} do equally well{}{same}.",
                names(level),
                better_than(below)
            )
        }
        Top::Shared { level, same, below } => {
            let all = [&level[..], same].concat();
            format!(
                "{place} {} had the same score in every run{}.",
                names(&all),
                better_than(below)
            )
        }
        Top::Open { open, below, why } => {
            let below = match &below[..] {
                [] => String::new(),
                below => format!("; {} is better than {}", plain(&open[0]), names(below)),
            };
            format!(
                "{place} it is not clear which of {} is best, since {}{below}.",
                names(open),
                because(why)
            )
        }
    }
}

/// Why a pair is undecided, after `since`.
pub fn because(why: &Reason) -> String {
    let range = |low: &f64, high: &f64| format!("{} to {}", fixed(*low, 2), fixed(*high, 2));
    match why {
        Reason::FewSeeds(1) => "one seed of a scheme proves nothing".into(),
        Reason::FewSeeds(seeds) => format!("{} seeds of a scheme prove nothing", number(*seeds)),
        Reason::Alike => "so few runs may have the same score by chance".into(),
        Reason::Spread(scheme, low, high) => {
            let (name, range) = (spoken(scheme), range(low, high));
            format!("the runs of {name} score from {range}")
        }
        Reason::Others(scheme, low, high) => format!(
            "the runs of {} score from {}, so the few runs of other schemes may lie close together by chance",
            spoken(scheme),
            range(low, high)
        ),
        Reason::ManyPairs(pairs) => {
            format!("among {pairs} compared pairs a difference this large may be chance")
        }
    }
}

fn with_score(score: &Achieved) -> String {
    match score {
        Achieved::Right(share, of) => format!(" ({} of {of} right)", percent(*share)),
        Achieved::Loss(loss, what) => format!(" ({what}: {})", fixed(*loss, 2)),
        Achieved::Score(score) | Achieved::Given(score) => {
            format!(" ({} of 1)", fixed(*score, 2))
        }
    }
}

fn percent(share: f64) -> String {
    format!("{} %", fixed(100.0 * share, 0))
}

/// The name of a scheme in plain words, where there are such words for it.
fn plain(scheme: &str) -> String {
    match scheme {
        "sinusoidal" => "`sinusoidal` (fixed)".into(),
        of if is_control(of) => spoken(of),
        of => of.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader has to know which of the schemes in question is better than the others.
    #[test]
    fn where_it_is_not_clear_which_is_best_the_highest_is_named() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let open = Top::Open {
            open: names(&["rotary", "t5"]),
            below: names(&["alibi", "kerple"]),
            why: Reason::Alike,
        };
        assert_eq!(
            top(&open, "Beyond"),
            "Beyond it is not clear which of rotary and t5 is best, since so few runs may have the same score by chance; rotary \
             is better than alibi and kerple."
        );
    }
}
