//! One question, inside or beyond: the scores that the tests take, and the pairs that they make.

use super::numbers::{TaskSummary, complete_seeds, groups_of, possible_means};
use super::rows::{row_scores, row_units};
use crate::report::comparison::{Comparison, Headline, LeftOut, Part};
use crate::report::data::Data;
use crate::stats::{Answer, Bounds, Errors, MARGIN, judge, other_rows};

/// With fewer tasks than this, leaving one out leaves no mean over tasks.
const FEWEST_TASKS: usize = 3;

/// Sets the answers without one task, for every task of a question with at least three tasks.
pub(super) fn set_left_out(
    headlines: &mut [Headline],
    questions: &[Question<'_>],
    tasks: &[TaskSummary],
    errors: Errors,
) {
    if questions.iter().all(|of| of.tasks.len() < FEWEST_TASKS) {
        return;
    }
    for task in tasks {
        let scores: Vec<_> = questions.iter().map(|of| of.without(&task.name)).collect();
        let answers = judge(&scores, errors, MARGIN);
        for ((headline, question), answer) in headlines.iter_mut().zip(questions).zip(answers) {
            let asks = question.tasks.iter().any(|of| of.name == task.name);
            if !asks || question.tasks.len() < FEWEST_TASKS {
                continue;
            }
            let highest = answer.order.first().map(|of| question.names[*of]);
            let next = answer.of_leader().next().map(|pair| pair.difference.value);
            if let (Some(highest), Some(ahead)) = (highest, next) {
                headline.left_out.push(LeftOut {
                    task: task.name.clone(),
                    highest: highest.to_string(),
                    ahead,
                    best: answer.best,
                });
            }
        }
    }
}

/// One question: which scheme is best inside, or beyond, the training lengths.
pub(super) struct Question<'a> {
    pub(super) part: Part,
    /// The tasks on which some scheme has a score.
    pub(super) tasks: Vec<&'a TaskSummary>,
    /// The schemes with at least one seed that has a score on each of these tasks.
    pub(super) names: Vec<&'a str>,
    /// The scores of each of these schemes, by task and seed.
    pub(super) scores: Vec<Vec<Vec<f64>>>,
    /// The range in which the mean over tasks can lie.
    bounds: Bounds,
}

impl<'a> Question<'a> {
    pub(super) fn of(part: Part, tasks: &'a [TaskSummary], schemes: &'a [String]) -> Self {
        let has_one = |task: &&TaskSummary| task.schemes.iter().any(|s| s.part(part).is_some());
        let tasks: Vec<&TaskSummary> = tasks.iter().filter(has_one).collect();
        let complete = schemes.iter().filter_map(|scheme| {
            let groups = groups_of(scheme, tasks.iter().copied(), |of| of.part(part))?;
            let (_, scores) = complete_seeds(&groups);
            let has_seeds = scores.first().is_some_and(|seeds| !seeds.is_empty());
            has_seeds.then(|| (possible_means(&groups), (scheme.as_str(), scores)))
        });
        let (bounds, named): (Vec<Bounds>, Vec<_>) = complete.unzip();
        let (names, scores) = named.into_iter().unzip();
        Self {
            // The bounds follow from the tasks, and are the same for every scheme.
            bounds: bounds.first().map_or(Bounds::UpTo(1.0), |first| *first),
            part,
            tasks,
            names,
            scores,
        }
    }

    /// The scores without those on a task.
    fn without(&self, task: &str) -> Vec<Vec<Vec<f64>>> {
        let of_scheme = |scores: &Vec<Vec<f64>>| {
            let by_task = self.tasks.iter().zip(scores);
            let others = by_task.filter(|(of, _)| of.name != task);
            others.map(|(_, scores)| scores.clone()).collect()
        };
        self.scores.iter().map(of_scheme).collect()
    }

    /// The pairs of this question. `all` is the number of pairs of both questions that are tested.
    pub(super) fn comparisons(
        &self,
        data: &Data<'_>,
        answer: &Answer,
        all: usize,
    ) -> Vec<Comparison> {
        let rows = |scheme: &str| {
            data.origin.own_data()?;
            row_scores(data, &self.tasks, scheme, self.part)
        };
        let leader = answer
            .order
            .first()
            .map_or("", |leader| self.names[*leader]);
        let of_leader = rows(leader);
        let units = row_units(&self.tasks, self.part);
        let pairs = answer.pairs.iter().map(|pair| {
            let mut comparison = Comparison::of(
                (self.part, self.bounds),
                (&self.names, &self.scores),
                pair,
                all,
            );
            if comparison.higher == leader
                && let (Some(a), Some(b)) = (&of_leader, rows(&comparison.lower))
            {
                comparison.other_rows = Some(other_rows(
                    [a, &b],
                    &units,
                    data.error_of_rows(),
                    self.bounds,
                ));
            }
            comparison
        });
        pairs.collect()
    }
}
