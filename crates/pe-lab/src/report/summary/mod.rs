//! Every number of a report: by task and scheme, inside and beyond the training lengths.
//!
//! | file | what it holds |
//! |---|---|
//! | `mod` | a study in numbers |
//! | `numbers` | what the numbers are, and which scheme leads |
//! | `overall` | one scheme over all tasks |
//! | `task` | one task, and one scheme on it |
//! | `question` | which scheme is best: the scores that the tests take |
//! | `rows` | the score of every test row |

mod numbers;
mod overall;
mod question;
mod rows;
mod task;
#[cfg(test)]
mod tests;

use serde::Serialize;

use super::answer::Answer;
use super::comparison::{Comparison, Headline, Part};
use super::costs::CostSummary;
use super::data::{Data, Origin, title};
use crate::ask::StudySpec;
use crate::stats::{Errors, MARGIN, judge};

pub use numbers::{
    ABOVE_THE_FLOOR, Aggregate, Bits, Group, LanguageRow, LanguageSummary, SchemeOverall,
    SchemeSummary, StepsTaken, TaskSummary, WrittenText, least_to_lead,
};

use numbers::leaders;
use question::Question;

/// A study in numbers, with the sentences about them.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// What was run, or where else the scores are from.
    #[serde(flatten)]
    pub origin: Origin,
    /// The answer, as values. `None` until the verdict is made.
    pub answer: Option<Answer>,
    /// What the numbers show, one line for the answer in plain words, and then a sentence per line. Empty until the verdict is
    /// made.
    pub verdict: Vec<String>,
    /// The seeds that are reported: those of the study, or those up to the last complete look.
    pub seeds: Vec<u64>,
    /// The planned looks, if the study stops when it is decided: the number of seeds of each.
    pub looks: Option<Vec<usize>>,
    /// The number of seeds of the last complete look.
    pub look: Option<usize>,
    /// The largest shares of studies in which a claim of each kind is false.
    pub errors: Errors,
    /// Two schemes are level if their means differ by less than this.
    pub margin: f64,
    /// The number of trials of these seeds.
    pub trials: usize,
    /// The number of trials with scores.
    pub finished: usize,
    /// The number of trials that have not been run yet.
    pub not_run: usize,
    /// What was found in the user's data, if the task is made of it.
    pub data: Vec<String>,
    /// What a person is warned of about these data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// The schemes over all tasks, in the order of the study.
    pub schemes: Vec<SchemeOverall>,
    /// Which scheme is best inside, and beyond.
    pub headlines: Vec<Headline>,
    /// Every pair of schemes over all tasks. Holm's correction is for all of them together.
    pub comparisons: Vec<Comparison>,
    pub tasks: Vec<TaskSummary>,
    /// What the schemes cost, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<CostSummary>,
}

impl Summary {
    /// The numbers of a study, without the verdict.
    pub fn of(data: &Data<'_>) -> Self {
        let tasks: Vec<TaskSummary> = data
            .tasks
            .iter()
            .map(|facts| TaskSummary::of(data, facts))
            .collect();
        let schemes = data.origin.schemes();
        let overall = schemes
            .iter()
            .map(|scheme| SchemeOverall::of(data, scheme, &tasks));
        let mut overall: Vec<SchemeOverall> = overall.collect();
        overall::set_scores(&mut overall, &tasks);
        let errors = data.errors();
        let questions: Vec<Question<'_>> = Part::ALL
            .into_iter()
            .map(|part| Question::of(part, &tasks, schemes))
            .filter(|question| !question.names.is_empty())
            .collect();
        let scores: Vec<_> = questions
            .iter()
            .map(|question| question.scores.clone())
            .collect();
        let answers = judge(&scores, errors, MARGIN);
        let answered = || questions.iter().zip(&answers);
        let headlines = answered().map(|(question, answer)| {
            Headline::of(question.part, &question.tasks, &question.names, answer)
        });
        let mut headlines: Vec<Headline> = headlines.collect();
        // The parts of a person's data are no tasks of their own.
        if data.origin.own_data().is_none() {
            question::set_left_out(&mut headlines, &questions, &tasks, errors);
        }
        let pairs = answers.iter().flat_map(|answer| &answer.pairs);
        let pairs = pairs.filter(|pair| pair.p.is_some()).count();
        let comparisons =
            answered().flat_map(|(question, answer)| question.comparisons(data, answer, pairs));
        let trials = tasks.len() * schemes.len() * data.seeds.len();
        Self {
            origin: data.origin.clone(),
            answer: None,
            verdict: Vec::new(),
            seeds: data.seeds.clone(),
            looks: data.look.as_ref().map(|look| look.planned.clone()),
            look: data.look.as_ref().and_then(|look| look.reached),
            errors,
            margin: MARGIN,
            trials,
            not_run: trials.saturating_sub(data.runs.len()),
            data: data.description.clone(),
            warning: data.warning.clone(),
            finished: data.runs.iter().filter(|run| run.outcome.is_ok()).count(),
            costs: data.costs.map(|costs| CostSummary {
                task: title(&costs.task, data.origin.own_data()),
                ..CostSummary::of(costs, &overall)
            }),
            schemes: overall,
            headlines,
            comparisons: comparisons.collect(),
            tasks,
        }
    }

    /// What was run, if it was run here.
    pub fn study(&self) -> Option<&StudySpec> {
        self.origin.study()
    }

    /// Whether anything is tested beyond what was trained on.
    pub fn has_two_parts(&self) -> bool {
        self.tasks.iter().any(|task| task.has(Part::Beyond))
    }

    pub fn scheme(&self, name: &str) -> Option<&SchemeOverall> {
        self.schemes.iter().find(|of| of.scheme == name)
    }

    pub fn tasks_of(&self, headline: &Headline) -> impl Iterator<Item = &TaskSummary> {
        let is_asked = |task: &&TaskSummary| headline.tasks.contains(&task.name);
        self.tasks.iter().filter(is_asked)
    }

    /// The task of a headline, if it is about one alone.
    pub fn only_task_of(&self, headline: &Headline) -> Option<&TaskSummary> {
        let mut tasks = self.tasks_of(headline);
        tasks.next().filter(|_| tasks.next().is_none())
    }

    /// The pair of the leader of a headline with another scheme.
    pub fn pair(&self, headline: &Headline, other: &str) -> Option<&Comparison> {
        let leader = headline.order.first()?;
        let mut pairs = self.comparisons.iter();
        pairs.find(|pair| pair.part == headline.part && pair.is_of(leader, other))
    }

    /// What a scheme needs to be compared.
    pub fn needed(&self) -> &'static str {
        match self.tasks.len() {
            1 => "scores",
            _ => "a seed with a score on every task",
        }
    }

    /// The names of the two parts in a table.
    pub fn part_names(&self) -> [&'static str; 2] {
        match (self.has_two_parts(), self.study()) {
            (true, _) => Part::names(self.resolutions()),
            (false, None) => ["score", ""],
            (false, Some(_)) => ["held-out", ""],
        }
    }

    /// Whether all that is tested beyond training is images of other resolutions.
    pub fn resolutions(&self) -> bool {
        let mut beyond = self.tasks.iter().filter(|task| task.has(Part::Beyond));
        beyond.clone().next().is_some() && beyond.all(|task| task.resolutions)
    }

    /// The part that tables are sorted by: inside, if anything is tested there.
    fn first_part(&self) -> Part {
        match self.tasks.iter().any(|task| task.has(Part::Inside)) {
            true => Part::Inside,
            false => Part::Beyond,
        }
    }

    /// The part that the [leaders](Self::leaders) lead in, with a space before it, where there are two.
    pub fn leads_in(&self) -> String {
        let of_both = self.tasks.iter().map(TaskSummary::leads_in);
        of_both.max().unwrap_or_default()
    }

    /// The schemes with the highest mean over all tasks in the first part.
    pub fn leaders(&self) -> Vec<&str> {
        let part = self.first_part();
        let scores = self.schemes.iter();
        let scores = scores.filter_map(|of| Some((of.scheme.as_str(), of.part(part)?.mean)));
        leaders(&scores.collect::<Vec<_>>(), least_to_lead(&self.tasks))
    }

    /// These numbers with the schemes of every table sorted by their score, the highest first.
    pub fn by_score(&self) -> Self {
        let mut sorted = self.clone();
        let part = self.first_part();
        let least = |score: Option<f64>| score.unwrap_or(f64::NEG_INFINITY);
        let mean = |of: &SchemeOverall| least(of.part(part).map(|of| of.mean));
        sorted.schemes.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
        for task in &mut sorted.tasks {
            let part = task.first_part();
            let score = |of: &SchemeSummary| least(of.part(part).map(|of| of.normalized));
            task.schemes.sort_by(|a, b| score(b).total_cmp(&score(a)));
        }
        sorted
    }
}
