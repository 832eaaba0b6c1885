//! What the report says of costs, and which schemes are on the Pareto front of score and time.

use serde::Serialize;

use super::comparison::Part;
use super::summary::SchemeOverall;
use super::words::{fixed, list, spoken};
use crate::grouped::agreeing;
use crate::run::{Costs, Machine};

/// Times that differ by less than this share count as equal: measuring them again changes them as much.
const SAME: f64 = 0.05;

/// What the schemes cost, where it was measured.
#[derive(Clone, Debug, Serialize)]
pub struct CostSummary {
    /// The task on which it was measured.
    pub task: String,
    pub device: String,
    pub machine: Machine,
    /// Sequences of a training step at the first length.
    pub batch_size: usize,
    /// The most processor cores that other programs kept busy meanwhile. `None` where the system does not tell.
    pub others: Option<f64>,
    /// Whether no other programs are known to have kept the machine busy. If they have, there are no rows.
    pub quiet: bool,
    /// Whether a token was decoded from a cache.
    pub decodes: bool,
    /// The schemes of the study that were not measured.
    pub not_measured: Vec<String>,
    /// Every scheme at every length.
    pub rows: Vec<CostRow>,
    /// The Pareto fronts of score and time, inside and beyond the training lengths.
    pub fronts: Vec<Front>,
}

/// What one scheme costs at one length.
#[derive(Clone, Debug, Serialize)]
pub struct CostRow {
    pub scheme: String,
    /// Tokens of a sequence.
    pub tokens: usize,
    /// Sequences of a training step.
    pub batch_size: usize,
    /// Milliseconds of a training step.
    pub step_ms: f64,
    /// Input tokens per second of training.
    pub trained_per_second: f64,
    /// Tokens per second of a forward pass over one sequence.
    pub prefilled_per_second: f64,
    /// Tokens per second of decoding from a cache.
    pub decoded_per_second: Option<f64>,
    /// The most memory of the training steps, in MiB.
    pub peak_mib: Option<f64>,
}

/// Score against the time of a training step at the first length.
#[derive(Clone, Debug, Serialize)]
pub struct Front {
    pub part: Part,
    /// Every scheme with a score and a cost, the cheapest first.
    pub points: Vec<FrontPoint>,
}

#[derive(Clone, Debug, Serialize)]
pub struct FrontPoint {
    pub scheme: String,
    /// Milliseconds of a training step.
    pub step_ms: f64,
    /// The mean of its normalized scores.
    pub score: f64,
    /// Whether no other scheme scores higher in no more time, or as high in less.
    pub on_front: bool,
}

impl CostSummary {
    /// What was measured, with the scores of the study's schemes. Schemes that the study does not have are left out.
    pub fn of(costs: &Costs, schemes: &[SchemeOverall]) -> Self {
        let measured = costs.schemes.iter();
        let measured: Vec<_> = measured
            .filter(|of| schemes.iter().any(|scheme| scheme.scheme == of.scheme))
            .collect();
        let quiet = costs.quiet();
        let rows = measured.iter().flat_map(|of| {
            of.at.iter().map(|cost| CostRow {
                scheme: of.scheme.clone(),
                tokens: cost.tokens,
                batch_size: cost.batch_size,
                step_ms: cost.step_ms,
                trained_per_second: cost.trained_per_second(),
                prefilled_per_second: cost.prefilled_per_second(),
                decoded_per_second: cost.decoded_per_second(),
                peak_mib: cost
                    .peak_bytes
                    .map(|bytes| bytes as f64 / (1u64 << 20) as f64),
            })
        });
        let rows: Vec<CostRow> = rows.filter(|_| quiet).collect();
        let front = |part: Part| {
            let points = schemes.iter().filter_map(|scheme| {
                let row = rows.iter().find(|row| row.scheme == scheme.scheme)?;
                let score = scheme.part(part)?.mean;
                Some((scheme.scheme.clone(), row.step_ms, score))
            });
            let points = front(points.collect());
            (!points.is_empty()).then_some(Front { part, points })
        };
        let not_measured = costs.not_measured(schemes.iter().map(|of| of.scheme.as_str()));
        let mut first = costs.schemes.iter().flat_map(|of| &of.at);
        Self {
            task: costs.task.clone(),
            device: costs.device.clone(),
            machine: costs.machine.clone(),
            batch_size: first.next().map_or(0, |cost| cost.batch_size),
            others: costs.others(),
            not_measured,
            quiet,
            decodes: rows.iter().any(|row| row.decoded_per_second.is_some()),
            fronts: Part::ALL.into_iter().filter_map(front).collect(),
            rows,
        }
    }

    /// What the verdict says, a sentence for each part.
    pub fn sentences(&self, place: impl Fn(Part) -> &'static str) -> Vec<String> {
        if !self.quiet {
            return vec![format!(
                "Costs are not compared: other programs kept up to {} processor cores busy while they were measured. \
                 Measure them again with `pe-lab costs` when the machine is idle.",
                fixed(self.others.unwrap_or(0.0), 1)
            )];
        }
        let sentence = |front: &Front| {
            let on_front = front.points.iter().filter(|point| point.on_front);
            let named: Vec<String> = on_front
                .map(|point| {
                    let (score, ms) = (fixed(point.score, 2), fixed(point.step_ms, 1));
                    format!(
                        "{} ({score} for {ms} ms per training step)",
                        spoken(&point.scheme)
                    )
                })
                .collect();
            format!(
                "{}, score for cost: {} {} on the front; for each other scheme{} one scores at least as high and takes \
                 no longer.",
                place(front.part),
                named.join(", "),
                agreeing(named.len(), "is", "are"),
                match self.not_measured.is_empty() {
                    true => "",
                    false => " that was measured",
                }
            )
        };
        let mut sentences: Vec<String> = self.fronts.iter().map(sentence).collect();
        if let (false, false) = (sentences.is_empty(), self.not_measured.is_empty()) {
            let names: Vec<String> = self.not_measured.iter().map(|name| spoken(name)).collect();
            sentences.push(format!(
                "The cost of {} was not measured; `pe-lab costs` measures every scheme with a trial.",
                list(&names)
            ));
        }
        sentences
    }
}

/// The points with the cheapest first, and which of them no other beats: by a higher score in no more time, or by the
/// same score in less time.
fn front(mut points: Vec<(String, f64, f64)>) -> Vec<FrontPoint> {
    points.sort_by(|a, b| a.1.total_cmp(&b.1));
    let beaten = |(_, ms, score): &(String, f64, f64)| {
        points.iter().any(|(_, other_ms, other_score)| {
            let no_slower = *other_ms <= ms * (1.0 + SAME);
            let faster = *other_ms < ms / (1.0 + SAME);
            (other_score > score && no_slower) || (other_score >= score && faster)
        })
    };
    let points = points.iter().map(|point| FrontPoint {
        scheme: point.0.clone(),
        step_ms: point.1,
        score: point.2,
        on_front: !beaten(point),
    });
    points.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nothing_beats_for_less_is_on_the_front() {
        let points = [
            ("none", 10.0, 0.1),
            ("slow", 20.0, 0.9),
            ("slower", 30.0, 0.9),
            ("cheap", 10.2, 0.8),
            ("worse", 19.5, 0.85),
        ];
        let points = points.map(|(name, ms, score)| (name.into(), ms, score));
        let front = front(points.to_vec());
        let on_front = front.iter().filter(|point| point.on_front);
        let on_front: Vec<&str> = on_front.map(|point| point.scheme.as_str()).collect();
        // `none` is faster than `cheap` by less than measurements differ, and so is `worse` than `slow`.
        assert_eq!(on_front, ["cheap", "slow"]);
    }
}
