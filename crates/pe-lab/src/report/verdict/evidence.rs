//! Which scheme is best inside, or beyond, and by which tests.

use super::found;
use super::words::{loss, place, subject};
use crate::report::answer::Top;
use crate::report::comparison::{Comparison, FINDINGS, Headline};
use crate::report::sentences::because;
use crate::report::summary::{ABOVE_THE_FLOOR, Summary};
use crate::report::words::{fixed, is_control, list, number, p_text, range, spoken};
use crate::stats::Finding;

/// Which scheme is best inside, or beyond.
pub(super) fn of(summary: &Summary, headline: &Headline) -> String {
    let place = place(summary, headline.part);
    let subject = subject(summary, headline);
    let [leader, others @ ..] = &headline.order[..] else {
        return String::new();
    };
    if let Some(top) = found::unsolved(summary, headline) {
        let why = too_low(summary, headline, top, (leader, &subject));
        return format!("{place}: {why}{}", among_low(summary, headline));
    }
    let score = score(summary, headline, leader);
    // Without a model that was trained without positions, nothing is said of it.
    let others = others
        .iter()
        .filter(|of| !is_control(of) || found::is_trained(summary, of));
    let pairs = others.filter_map(|of| summary.pair(headline, of));
    let pairs: Vec<&Comparison> = pairs.collect();
    let Some(nearest) = pairs.first() else {
        return format!(
            "{place}: only {} has {} ({score} {subject}).",
            spoken(leader),
            summary.needed()
        );
    };
    let count = number(headline.order.len());
    if nearest.is_tie() {
        let tied = pairs.iter().take_while(|pair| pair.is_tie());
        let mut names = vec![spoken(leader)];
        names.extend(tied.map(|pair| spoken(&pair.lower)));
        let highest = match names.len() == headline.order.len() {
            true => String::new(),
            false => format!(", the highest of the {count}"),
        };
        let same = list(&names);
        return format!("{place}: {same} have the same mean {subject} ({score}){highest}.")
            + &findings(summary, headline.best, &pairs);
    }
    let leader = spoken(leader);
    let highest = format!("{place}: {leader} is highest of the {count} {subject} ({score}");
    if pairs.iter().all(|pair| pair.p.is_none()) {
        let (next, few) = (difference(nearest), few_seeds(&pairs));
        return format!("{highest}; next: {next}). {few} cannot tell that from chance.");
    }
    let text = match (headline.best, headline.decided) {
        (true, _) => format!(
            "{place}: {leader} is best of the {count} {subject} ({}).",
            evidence(nearest, &pairs)
        ),
        (false, true) => format!("{highest}), and level with {}.", level_with(&pairs)),
        (false, false) => format!(
            "{highest}), but that it is best is not established ({}).",
            evidence(nearest, &pairs)
        ),
    };
    text + &findings(summary, headline.best, &pairs)
}

/// With how many schemes the leader is level: `one other`, or `two others`.
fn level_with(pairs: &[&Comparison]) -> String {
    let level = pairs.iter().filter(|of| of.finding == Finding::Level);
    match level.count() {
        1 => "one other".into(),
        more => format!("{} others", number(more)),
    }
}

/// Why no scheme leads where the scores are too low.
fn too_low(
    summary: &Summary,
    headline: &Headline,
    top: Top,
    (leader, subject): (&str, &str),
) -> String {
    match top {
        Top::Unlearned(highest) => format!(
            "not solved {subject}. The highest score is {} of 1{}: too little was learned to name a scheme that leads.",
            fixed(highest, 2),
            loss(summary, headline, leader)
        ),
        _ => format!(
            "no scheme is clearly above the floor {subject} (that takes a score of {}).",
            fixed(ABOVE_THE_FLOOR, 2)
        ),
    }
}

/// What the tests find among scores that are too low for a scheme to lead.
fn among_low(summary: &Summary, headline: &Headline) -> String {
    if let (true, Some(leader)) = (headline.best, headline.order.first()) {
        let leader = spoken(leader);
        return format!(" Among these low scores the tests still find {leader} best.");
    }
    let pairs = summary.comparisons.iter();
    let proven = pairs.filter(|pair| pair.part == headline.part && pair.finding == Finding::Proven);
    let names: Vec<String> = proven
        .map(|pair| format!("{} above {}", spoken(&pair.higher), difference(pair)))
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(
            " Among these low scores it is still proven: {}.",
            list(&names)
        ),
    }
}

/// `0.98 of 1 (a loss of 0.03)`.
fn score(summary: &Summary, headline: &Headline, leader: &str) -> String {
    let own = summary.scheme(leader).and_then(|of| of.part(headline.part));
    let score = own.map_or(0.0, |of| of.mean);
    let loss = loss(summary, headline, leader);
    format!("{} of 1{loss}", fixed(score, 2))
}

/// A sentence for each finding of the pairs of the leader, with the schemes of which it is found.
fn findings(summary: &Summary, is_best: bool, pairs: &[&Comparison]) -> String {
    let mut text = String::new();
    for (finding, _, what) in FINDINGS {
        // If the leader is best, only the pairs that are not proven as single pairs are worth a sentence.
        if is_best && finding != Finding::Best {
            continue;
        }
        let found = pairs.iter().filter(|pair| pair.finding == finding);
        let names: Vec<String> = found
            .map(|pair| match finding {
                Finding::Level | Finding::Same | Finding::Best => spoken(&pair.lower),
                Finding::Proven => difference(pair),
                Finding::Undecided | Finding::FewSeeds => undecided(pair),
            })
            .collect();
        let within = match finding {
            Finding::Level => format!(" within {}", fixed(summary.margin, 2)),
            _ => String::new(),
        };
        if !names.is_empty() {
            text.push_str(&format!(" {what}{within}: {}.", list(&names)));
        }
    }
    text
}

/// How many seeds there are at least, where no pair has enough.
fn few_seeds(pairs: &[&Comparison]) -> &'static str {
    match pairs.iter().flat_map(|pair| pair.seeds).min() {
        Some(1) => "One seed",
        _ => "Two seeds",
    }
}

/// `alibi (+0.09)`.
fn difference(pair: &Comparison) -> String {
    format!("{} (+{})", spoken(&pair.lower), fixed(pair.difference, 2))
}

/// `alibi (+0.56, since the runs of alibi score from 0.05 to 0.98)`.
fn undecided(pair: &Comparison) -> String {
    let why = pair.why.iter();
    let why: String = why.map(|why| format!(", since {}", because(why))).collect();
    let (name, by) = (spoken(&pair.lower), fixed(pair.difference, 2));
    format!("{name} (+{by}{why})")
}

/// `nearest: alibi, +0.09, 95 % 0.04 to 0.14, p 0.004; 5 seeds`, and the least certain of all pairs of the leader
/// if that is another one.
fn evidence(nearest: &Comparison, pairs: &[&Comparison]) -> String {
    let least = pairs.iter().max_by(|a, b| p_of(a).total_cmp(&p_of(b)));
    let least = match least {
        Some(least) if p_of(least) > p_of(nearest) => {
            format!("least certain: {}; ", against(least))
        }
        _ => String::new(),
    };
    let seeds = match nearest.seeds {
        [a, b] if a == b => format!("{a} seeds"),
        [a, b] => format!("{a} and {b} seeds"),
    };
    format!("nearest: {}; {least}{seeds}", against(nearest))
}

fn against(pair: &Comparison) -> String {
    let interval = pair.interval.map(|of| format!(", 95 % {}", range(of)));
    let p = pair.p.map(|p| format!(", p {}", p_text(p)));
    let (name, by) = (spoken(&pair.lower), fixed(pair.difference, 2));
    format!(
        "{name}, +{by}{}{}",
        interval.unwrap_or_default(),
        p.unwrap_or_default()
    )
}

/// For ordering: the pair that keeps the leader from being best comes last.
fn p_of(pair: &Comparison) -> f64 {
    pair.p.unwrap_or(1.0)
}
