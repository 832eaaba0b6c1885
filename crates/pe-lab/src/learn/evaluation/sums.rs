//! Adds up what the answers of a test set scored.

use std::collections::BTreeMap;

use super::scores::{DEPTHS, DepthScore, Keep, LengthScore, PositionScore, RowOutcomes};
use crate::task::{Measure, Readout, Sample, Task};

/// The mean of several scores on one test set.
pub(super) fn mean(scores: Vec<LengthScore>) -> LengthScore {
    let of = |part: &dyn Fn(&LengthScore) -> f64| {
        scores.iter().map(part).sum::<f64>() / scores.len() as f64
    };
    let mut all = scores[0].clone();
    all.score = all.score.with(of(&|score| score.score.value()));
    all.exact = all.exact.map(|_| of(&|score| score.exact.unwrap_or(0.0)));
    for (nth, place) in all.by_position.iter_mut().enumerate() {
        let value = of(&|score| score.by_position[nth].score.value());
        place.score = place.score.with(value);
    }
    for (nth, cell) in all.by_depth.iter_mut().enumerate() {
        let value = of(&|score| score.by_depth[nth].score.value());
        cell.score = cell.score.with(value);
    }
    for other in &scores[1..] {
        match (&mut all.rows, &other.rows) {
            (
                Some(RowOutcomes::Right { right, asked }),
                Some(RowOutcomes::Right { right: r, asked: a }),
            ) => {
                *asked += a;
                right
                    .iter_mut()
                    .zip(r)
                    .for_each(|(sum, right)| *sum += right);
            }
            (Some(RowOutcomes::Loss { loss }), Some(RowOutcomes::Loss { loss: l })) => {
                loss.iter_mut().zip(l).for_each(|(sum, loss)| *sum += loss);
            }
            _ => {}
        }
    }
    if let Some(RowOutcomes::Loss { loss }) = &mut all.rows {
        loss.iter_mut().for_each(|sum| *sum /= scores.len() as f64);
    }
    all
}

/// A sum of scores, and how many they are.
#[derive(Clone, Copy, Default)]
struct Sum {
    total: f64,
    count: usize,
}

impl Sum {
    fn add(&mut self, total: f64, count: usize) {
        self.total += total;
        self.count += count;
    }

    fn mean(self) -> f64 {
        self.total / self.count.max(1) as f64
    }
}

/// What the answers of a test set scored, added up in several ways.
#[derive(Default)]
struct Sums {
    rows: Vec<Sum>,
    by_position: BTreeMap<usize, Sum>,
    by_depth: [Sum; DEPTHS],
    /// The rows whose every answer is correct.
    exact: usize,
}

impl Sums {
    /// `outcomes` are in the order of the answers.
    fn of(task: &dyn Task, set: &[Sample], outcomes: &[f64]) -> Self {
        let mut all = Self::default();
        let is_whole = task.measure() == Measure::ExactMatch;
        // Of a language model only the last answers are scored; all of them are in the curve by position.
        let scored = task
            .language()
            .map_or(usize::MAX, |language| language.scored());
        let mut left = outcomes.iter();
        for sample in set {
            let mut depths = task.depths(sample).into_iter();
            let unscored = sample.answers.len().saturating_sub(scored);
            let mut row = Sum::default();
            for (nth, (answer, outcome)) in sample.answers.iter().zip(left.by_ref()).enumerate() {
                all.by_position
                    .entry(answer.position)
                    .or_default()
                    .add(*outcome, 1);
                if let Some(depth) = depths.next() {
                    let fifth = ((depth * DEPTHS as f64) as usize).min(DEPTHS - 1);
                    all.by_depth[fifth].add(*outcome, 1);
                }
                if nth >= unscored {
                    row.add(*outcome, 1);
                }
            }
            let exact = usize::from(row.total == row.count as f64);
            all.exact += exact;
            // A written answer is one answer, right or wrong as a whole.
            all.rows.push(match is_whole {
                true => Sum {
                    total: exact as f64,
                    count: 1,
                },
                false => row,
            });
        }
        all
    }
}

/// The score of a test set. `outcomes` are the scores of its answers, in order.
pub(super) fn score(
    task: &dyn Task,
    length: usize,
    set: &[Sample],
    outcomes: &[f64],
    keep: Keep,
) -> LengthScore {
    let measure = task.measure();
    let sums = Sums::of(task, set, outcomes);
    let mut all = Sum::default();
    sums.rows
        .iter()
        .for_each(|row| all.add(row.total, row.count));
    // Where whole answers are scored, the scores by position and by depth are the share of right tokens.
    let by_place = match &measure {
        Measure::ExactMatch => Measure::Accuracy,
        other => other.clone(),
    };
    let by_position = sums.by_position.into_iter();
    let by_position = by_position.map(|(position, sum)| PositionScore {
        position,
        score: by_place.score(sum.mean()),
    });
    let by_depth = sums.by_depth.into_iter().enumerate();
    let by_depth = by_depth
        .filter(|(_, sum)| sum.count > 0)
        .map(|(fifth, sum)| DepthScore {
            fifth,
            asked: sum.count,
            score: by_place.score(sum.mean()),
        });
    let rows = match measure.is_accuracy() {
        true => RowOutcomes::Right {
            right: sums.rows.iter().map(|row| row.total as u32).collect(),
            asked: sums.rows.first().map_or(0, |row| row.count as u32),
        },
        false => RowOutcomes::Loss {
            loss: sums.rows.iter().map(|row| row.mean()).collect(),
        },
    };
    LengthScore {
        length,
        inside: task.is_inside(length),
        samples: set.len(),
        score: measure.score(all.mean()),
        exact: measure
            .is_accuracy()
            .then(|| sums.exact as f64 / set.len().max(1) as f64),
        floor: task.floor(length),
        by_position: match task.readout() {
            // After prompts of several lengths answers begin at different positions, so these have no scores.
            Readout::PerToken if task.generation().is_none() || !task.mixes_lengths() => {
                by_position.collect()
            }
            Readout::PerToken | Readout::MeanPooled => Vec::new(),
        },
        by_depth: by_depth.collect(),
        rows: (keep == Keep::Rows).then_some(rows),
    }
}
