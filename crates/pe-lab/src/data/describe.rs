//! What was found in labelled rows, in lines for a person.

use std::collections::HashSet;

use super::column::number;
use super::error::Problem;
use super::limits::MAX_VOCABULARY;
use super::numbers::finite;
use super::quote::{self, grouped, once_through, shorten};
use super::reading::TokenKind;
use super::rows::{Rows, shown};
use super::split::{Bin, Split};
use super::target::Target;
use crate::grouped::{agreeing, first_of};
use crate::task::floor::{most_frequent, most_frequent_share};
use crate::task::rounded;

/// The token that stands for every token outside of the vocabulary.
pub(super) const UNKNOWN: u32 = 0;

/// The description warns if fewer rows or images than this are tested.
pub(super) const FEW: usize = 50;
/// It warns if the tested rows are of fewer groups than this.
const FEW_GROUPS: usize = 5;
/// The description names this many labels and counts the rest.
const NAMED: usize = 10;
/// The description shows this many rows as they were read, and this many tokens at each end of a row.
const SHOWN_ROWS: usize = 2;
const SHOWN_TOKENS: [usize; 2] = [16, 4];
const SHOWN_STEPS: [usize; 2] = [2, 1];

/// The rows that are tested, inside the training lengths and beyond.
pub(super) fn tested(split: &Split) -> impl Iterator<Item = &usize> {
    let bins = split.inside.iter().chain(split.beyond.iter().flatten());
    bins.flat_map(|bin| &bin.rows)
}

/// The share of the tested tokens that are unknown, and one of them.
fn unknown<'a>(data: &'a Rows, split: &Split, numbers: &[u32]) -> (f64, Option<&'a str>) {
    let tokens = || tested(split).flat_map(|row| &data.rows[*row].tokens);
    let is_unknown = |token: &&u32| numbers[**token as usize] == UNKNOWN;
    let share = tokens().filter(is_unknown).count() as f64 / tokens().count().max(1) as f64;
    let example = tokens().find(is_unknown);
    (
        share,
        example.map(|word| data.words[*word as usize].as_str()),
    )
}

pub(super) fn check_unknown(data: &Rows, split: &Split, numbers: &[u32]) -> Result<(), Problem> {
    match unknown(data, split, numbers) {
        (share, Some(example)) if share > 0.5 => Err(Problem::Unknown {
            percent: 100.0 * share,
            lack: match data.words.len() > MAX_VOCABULARY {
                true => format!(
                    "are not among the {} most frequent of training",
                    grouped(MAX_VOCABULARY)
                ),
                false => "do not occur in training".into(),
            },
            example: shown(example).to_string(),
            others: other_tokens(data.kind, example),
        }),
        _ => Ok(()),
    }
}

/// What to try where tokens of this kind, such as the example, are too rare.
fn other_tokens(kind: Option<TokenKind>, example: &str) -> String {
    let numbers = match kind {
        Some(TokenKind::Characters) => return String::new(),
        _ if finite(example).or(number(example, true)).is_some() => {
            "read numbers with --tokens numbers, "
        }
        _ if has_thousands(example) => "write numbers without separators of thousands, ",
        _ => "",
    };
    let smaller = match kind {
        Some(TokenKind::Words) => "characters",
        _ => "words or characters",
    };
    format!("{numbers}read smaller tokens with --tokens {smaller}, or ")
}

/// Whether a token is a number with separators of thousands: groups of three digits, and perhaps a part after them.
fn has_thousands(token: &str) -> bool {
    let groups: Vec<&str> = token
        .trim_start_matches(['+', '-'])
        .split(['.', ','])
        .collect();
    let is_digits = |group: &&str| !group.is_empty() && group.bytes().all(|of| of.is_ascii_digit());
    let [first, middle @ .., _] = &groups[..] else {
        return false;
    };
    let is_full = middle.iter().all(|group| group.len() == 3);
    groups.iter().all(is_digits) && first.len() <= 3 && !middle.is_empty() && is_full
}

fn first_rows(data: &Rows) -> Vec<String> {
    let rows = data.rows.iter().take(SHOWN_ROWS).zip(1..);
    let each = rows.map(|(row, number)| {
        let words: Vec<&str> = row
            .tokens
            .iter()
            .map(|token| shown(&data.words[*token as usize]))
            .collect();
        // A step of several channels is longer than a word, and has spaces inside.
        let ([first, last], between) = match data.channels {
            Some(2..) => (SHOWN_STEPS, "; "),
            _ => (SHOWN_TOKENS, " "),
        };
        let text = match words.len() {
            all if all <= first + last => words.join(between),
            all => format!(
                "{} … {}",
                words[..first].join(between),
                words[all - last..].join(between)
            ),
        };
        format!(
            "row {number} as read: BOS {text} EOS ({}), {} {}",
            quote::counted(words.len(), "token"),
            noun(data),
            shorten(&data.labels[row.label])
        )
    });
    each.collect()
}

/// The word for what is predicted of a row: label, number or answer.
fn noun(data: &Rows) -> &'static str {
    match (&data.answers, &data.targets) {
        (None, None) => "label",
        (None, Some(_)) => "number",
        (Some(_), _) => "answer",
    }
}

/// What is to be said of answers that are written.
fn describe_answers(
    data: &Rows,
    answers: &[Vec<u32>],
    split: &Split,
    numbers: &[u32],
) -> Vec<String> {
    let longest = answers.iter().map(Vec::len).max().unwrap_or(0);
    let is_unknown = |row: &&usize| {
        let answer = &answers[data.rows[**row].label];
        answer
            .iter()
            .any(|token| numbers[*token as usize] == UNKNOWN)
    };
    let unknown = tested(split).filter(is_unknown).count();
    let mut lines = vec![format!(
        "{} different answers of up to {}; a decoder writes them, and an answer is right only if every token is right and it \
         ends there",
        grouped(answers.len()),
        quote::counted(longest, "token")
    )];
    if unknown > 0 {
        lines.push(format!(
            "{} of the tested answers hold a token that training does not have, so they cannot be right",
            grouped(unknown)
        ));
    }
    lines
}

/// What was found. `measured` is what is to be said of tokens that are numbers, in the place of their vocabulary, and `target`
/// is the number to be predicted, if one is.
pub(super) fn describe(
    data: &Rows,
    split: &Split,
    numbers: &[u32],
    words: usize,
    measured: Option<String>,
    target: Option<&Target>,
) -> Vec<String> {
    let tested = split.inside.iter().flat_map(|bin| &bin.rows).count();
    let (what, asked) = match (&data.answers, target) {
        (_, Some(target)) => ("sequences", vec![target.describe(data)]),
        (None, None) => {
            let labels = data.rows.iter().map(|row| row.label);
            let labels = counted("labels", &data.labels, labels);
            ("labelled sequences", vec![labels])
        }
        (Some(answers), None) => (
            "prompts and answers",
            describe_answers(data, answers, split, numbers),
        ),
    };
    let mut lines = vec![format!("{} rows of {what}", grouped(data.rows.len()))];
    lines.extend(asked);
    lines.extend([
        lengths(data),
        measured.unwrap_or_else(|| {
            let (unknown, _) = unknown(data, split, numbers);
            vocabulary("tokens", words, MAX_VOCABULARY, "tokens tested", unknown)
        }),
        format!(
            "{} to train on, {} held out{}",
            quote::counted(split.train.len(), "row"),
            grouped(split.held_out),
            match &split.beyond {
                // The rows of a test file that are longer are among those held out.
                Err(_) if split.held_out > tested =>
                    format!(", {} of them tested", grouped(tested)),
                _ => String::new(),
            }
        ),
        once_through(split.train.len(), "rows"),
        format!(
            "tested inside the training lengths: {}",
            bins(&split.inside)
        ),
        match &split.beyond {
            Ok(beyond) => format!(
                "tested beyond the training lengths, which end at {}: {}",
                split.train_lengths.1,
                bins(beyond)
            ),
            Err(why) => format!("no test beyond the training lengths: {why}"),
        },
        floors(data, split, target),
    ]);
    lines.extend(warnings(data, split, target));
    lines.extend(first_rows(data));
    lines
}

/// What is said of a vocabulary of at most `most` entries: how many of the `found` different tokens or characters in
/// training it holds, and of what `others` names, the share `unknown` that it does not hold.
pub(super) fn vocabulary(
    what: &str,
    found: usize,
    most: usize,
    others: &str,
    unknown: f64,
) -> String {
    format!(
        "vocabulary: {} of the {} different {what} in training; of the {others}, {:.1} % are unknown",
        match found > most {
            true => format!("the {} most frequent", grouped(most)),
            false => "all".into(),
        },
        grouped(found),
        100.0 * unknown
    )
}

/// Labels or classes and how often each occurs, the most frequent ones first.
pub(super) fn counted(
    what: &str,
    labels: &[String],
    of_each: impl Iterator<Item = usize>,
) -> String {
    let mut counts = vec![0; labels.len()];
    of_each.for_each(|label| counts[label] += 1);
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|label| std::cmp::Reverse(counts[*label]));
    let of = |label: &usize| format!("{} {}", shorten(&labels[*label]), grouped(counts[*label]));
    let named = first_of(order.iter().map(of), NAMED);
    format!("{} {what}: {named}", grouped(labels.len()))
}

fn lengths(data: &Rows) -> String {
    let mut lengths: Vec<usize> = data.rows.iter().map(|row| row.tokens.len()).collect();
    lengths.sort_unstable();
    let (shortest, longest) = (lengths[0], lengths[lengths.len() - 1]);
    match shortest == longest {
        true => format!("all sequences have {}", quote::counted(longest, "token")),
        false => format!(
            "lengths {shortest} to {longest} tokens, half of them up to {}",
            lengths[(lengths.len() - 1) / 2]
        ),
    }
}

/// The rows that are tested inside the training lengths.
fn tested_inside(split: &Split) -> impl Iterator<Item = &usize> {
    split.inside.iter().flat_map(|bin| &bin.rows)
}

/// What a person is to know before the scores are believed: few rows, rows that occur twice, groups.
fn warnings(data: &Rows, split: &Split, target: Option<&Target>) -> Vec<String> {
    let (most, tested) = most_frequent(tested_inside(split).map(|row| data.rows[*row].label));
    let mut lines = Vec::new();
    if tested < FEW {
        lines.push(match target {
            None => format!(
                "few rows: each of the {tested} held-out rows is {:.0} % of the score at the training lengths, and all seeds are \
                 tested on the same ones",
                100.0 / tested as f64
            ),
            Some(_) => format!(
                "few rows: only {tested} held-out rows make the score at the training lengths, the same at every seed"
            ),
        });
    }
    if target.is_none() && tested - most < FEW / 5 {
        let others = tested - most;
        let do_not = agreeing(others, "does not", "do not");
        let each = agreeing(others, "it", "each of these");
        lines.push(format!(
            "few rows: only {others} of the {} held-out rows {do_not} have the most frequent {}; {each} is {:.0} % of the \
             normalized score at the training lengths",
            grouped(tested),
            noun(data),
            100.0 / others as f64
        ));
    }
    let (shortest, _) = split.train_lengths;
    let is_shorter = |row: &&usize| data.rows[**row].tokens.len() < shortest;
    let shorter = tested_inside(split).filter(is_shorter).count();
    if shorter > 0 {
        let are = agreeing(shorter, "is", "are");
        let they_count = agreeing(shorter, "it counts", "they count");
        lines.push(format!(
            "{} of the test file {are} shorter than the shortest row to train on ({}); {they_count} as inside the training lengths",
            quote::counted(shorter, "row"),
            quote::counted(shortest, "token")
        ));
    }
    let words = [
        "rows with the sequence",
        "equal sequences",
        "rows of the test file whose sequence is",
        &format!("sequences under more than one {}", noun(data)),
    ];
    lines.extend(split.together.notes(split.leaked, words));
    if !data.groups.is_empty() {
        lines.extend(of_groups(data, split));
    }
    lines
}

/// What is to be said of rows that have groups. As many groups are held out as fit into a fifth of the rows; where groups
/// are large, that may be a single small one.
fn of_groups(data: &Rows, split: &Split) -> Vec<String> {
    let tested: Vec<usize> = tested(split).copied().collect();
    let units = tested.iter().map(|row| split.together.of_row[*row]);
    let groups = units.collect::<HashSet<_>>().len();
    let of_all = split.together.groups_in_words(data);
    let mut lines = Vec::new();
    if groups < FEW_GROUPS {
        lines.push(format!(
            "few groups: the test is {} of {}, and says little of rows of other groups",
            quote::counted(tested.len(), "row"),
            quote::counted(groups, "group")
        ));
    }
    let left_out = match split.left_out {
        0 => String::new(),
        rows => format!(
            "; left out: {} of groups to train on that are longer than training",
            quote::counted(rows, "row")
        ),
    };
    lines.push(format!(
        "{of_all}, each on one side of the division{left_out}"
    ));
    lines
}

fn floors(data: &Rows, split: &Split, target: Option<&Target>) -> String {
    let rows = &data.rows;
    let what = match target {
        None => format!("the share of the most frequent {}", noun(data)),
        Some(_) => "the mean absolute error of the mean or the median of the training".into(),
    };
    let of = |bins: &[Bin]| {
        let tested = bins.iter().flat_map(|bin| &bin.rows);
        let labels = tested.map(|row| rows[*row].label);
        match target {
            None => format!("{:.3}", most_frequent_share(labels)),
            Some(target) => {
                let values = data.targets.as_deref().unwrap_or_default();
                rounded(target.floor(labels.map(|label| values[label])))
            }
        }
    };
    let inside = of(&split.inside);
    match &split.beyond {
        Ok(beyond) => format!("floor, {what}: {inside} inside, {} beyond", of(beyond)),
        Err(_) => format!("floor, {what}: {inside}"),
    }
}

fn bins(bins: &[Bin]) -> String {
    let each = bins.iter().map(|bin| {
        format!(
            "{} of up to {}",
            quote::counted(bin.rows.len(), "row"),
            quote::counted(bin.length, "token")
        )
    });
    each.collect::<Vec<_>>().join(", ")
}
