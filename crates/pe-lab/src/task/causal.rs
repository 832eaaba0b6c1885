//! Any task whose answer is a sequence of tokens, as a decoder has it: the prompt, then the answer, token by token.

use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use super::floor::most_frequent_share;
use super::{Generation, Measure, Prompted, Readout, Sample, Task, TestRows};

/// The ending of the name of a task in its decoder form.
const SUFFIX: &str = "(causal)";

/// The name of a task in its decoder form.
pub fn causal_name(name: &str) -> String {
    format!("{name}{SUFFIX}")
}

/// The name of the plain task, if this is the name of a decoder form.
pub fn plain_name(name: &str) -> Option<&str> {
    name.strip_suffix(SUFFIX)
}

/// A task of the laboratory, trained and tested as a decoder: see [`Task::prompted`].
///
/// The model sees to the left alone. It is trained to predict the next token of the answer and, after the last one, the
/// end; it is not trained on the prompt. A test sequence is right where greedy decoding writes exactly the whole answer and
/// its end: the score is the exact match. Lengths are those of the task, of a prompt without its answer.
///
/// The floor is the share of the most frequent answer among those that are tested.
pub struct Causal {
    task: Arc<dyn Task>,
    name: String,
    about: String,
    /// Properties of the test sets, computed when they are first needed.
    tested: OnceLock<Vec<Tested>>,
}

/// Properties of one test set.
struct Tested {
    length: usize,
    /// The tokens of its longest sample.
    tokens: usize,
    /// Whether its samples differ in length.
    mixed: bool,
    floor: f64,
}

impl Causal {
    /// The task in its decoder form.
    ///
    /// # Errors
    ///
    /// Why it cannot be one, as a sentence.
    pub fn of(task: Arc<dyn Task>) -> Result<Self, String> {
        let name = task.name();
        if task.causal() {
            return Err(format!("{name} is a decoder's task already"));
        }
        if task.grid().is_some() {
            return Err(format!(
                "{name} cannot be a decoder's task: it is about images, whose patches are seen at once"
            ));
        }
        if task.vector_width().is_some() || !task.measure().is_accuracy() {
            return Err(format!(
                "{name} cannot be a decoder's task: it is about numbers, and a decoder writes tokens"
            ));
        }
        let first = task.test_lengths().first().copied().unwrap_or(0);
        let set = task.test_set(first);
        let answers = set.iter().map(|sample| Some(task.prompted(sample)?.answer));
        let Some(answers) = answers.collect::<Option<Vec<_>>>() else {
            return Err(format!(
                "{name} cannot be a decoder's task: it does not say what is read before the answer is written \
                 (`Task::prompted`)"
            ));
        };
        if most_frequent_share(answers.into_iter()) == 1.0 {
            return Err(format!(
                "{name} is no task for a decoder: the answer is the same for every input of a length"
            ));
        }
        Ok(Self {
            name: causal_name(name),
            about: format!(
                "{}; a decoder writes {}",
                task.about(),
                task.prompted_about()
            ),
            tested: OnceLock::new(),
            task,
        })
    }

    fn samples(&self, samples: &[Sample]) -> Vec<Sample> {
        let written = samples
            .iter()
            .map(|sample| match self.task.prompted(sample) {
                Some(prompted) => prompted.sample(self),
                None => panic!(
                    "the task {} has a prompt for some samples, and none for others",
                    self.task.name()
                ),
            });
        written.collect()
    }

    fn tested(&self) -> &[Tested] {
        self.tested.get_or_init(|| {
            let lengths = self.task.test_lengths().into_iter();
            lengths.map(|length| self.told_by(length)).collect()
        })
    }

    fn told_by(&self, length: usize) -> Tested {
        let set = self.test_set(length);
        let lengths = || set.iter().map(|sample| sample.input.len());
        let answers = set.iter().map(|sample| Prompted::of(sample).answer);
        Tested {
            length,
            tokens: lengths().max().unwrap_or(0),
            mixed: lengths().min() != lengths().max(),
            floor: most_frequent_share(answers),
        }
    }

    fn of_length(&self, length: usize) -> Option<&Tested> {
        self.tested().iter().find(|tested| tested.length == length)
    }
}

impl Generation for Causal {
    fn end(&self) -> usize {
        self.task.classes()
    }

    fn token(&self, class: usize) -> usize {
        self.task.answer_token(class)
    }

    fn text(&self, answer: &[usize]) -> String {
        let classes: Vec<String> = answer.iter().map(usize::to_string).collect();
        classes.join(" ")
    }
}

impl Task for Causal {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn vocabulary(&self) -> usize {
        let tokens = (0..self.task.classes()).map(|class| self.task.answer_token(class) + 1);
        tokens.max().unwrap_or(0).max(self.task.vocabulary())
    }

    fn classes(&self) -> usize {
        self.task.classes() + 1
    }

    fn readout(&self) -> Readout {
        Readout::PerToken
    }

    fn mixes_lengths(&self) -> bool {
        self.task.mixes_lengths() || self.tested().iter().any(|tested| tested.mixed)
    }

    /// An estimate, if the task does not test this length.
    fn tokens_of(&self, length: usize) -> usize {
        match self.of_length(length) {
            Some(tested) => tested.tokens,
            None => match self.told_by(length).tokens {
                0 => 2 * self.task.tokens_of(length),
                tokens => tokens,
            },
        }
    }

    fn train_batch(&self, seed: u64, step: usize, size: usize) -> Vec<Sample> {
        self.samples(&self.task.train_batch(seed, step, size))
    }

    fn test_set(&self, length: usize) -> Vec<Sample> {
        self.samples(&self.task.test_set(length))
    }

    fn measure(&self) -> Measure {
        Measure::ExactMatch
    }

    fn causal(&self) -> bool {
        true
    }

    fn generation(&self) -> Option<&dyn Generation> {
        Some(self)
    }

    fn floor(&self, length: usize) -> f64 {
        match self.of_length(length) {
            Some(tested) => tested.floor,
            None => self.told_by(length).floor,
        }
    }

    fn floor_about(&self) -> &str {
        "always the most frequent answer of the test"
    }

    /// The depths of the task's answers; the end of an answer has none.
    fn depths(&self, sample: &Sample) -> Vec<f64> {
        let prompt = Prompted::of(sample).prompt;
        self.task.depths(&Sample::new(prompt, Vec::new()))
    }

    of_the_task! {
        fn source(&self) -> &str;
        fn train_lengths(&self) -> RangeInclusive<usize>;
        fn is_inside(&self, length: usize) -> bool;
        fn test_lengths(&self) -> Vec<usize>;
        fn framing(&self) -> usize;
        fn solved_at(&self) -> Option<f64>;
        fn steps(&self) -> usize;
        fn test_rows(&self) -> TestRows;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Addition, MissingDuplicate, Mqar, Passkey, PosMod4, Reverse, Toy, Tuning};
    use super::*;
    use crate::ask::Tasks;
    use crate::data::testing::{Says, read};

    fn of(task: impl Task + 'static) -> Causal {
        Causal::of(Arc::new(task)).unwrap()
    }

    #[test]
    fn a_sample_is_the_prompt_and_the_answer_and_asks_for_what_comes_next() {
        let task = of(Reverse);
        assert_eq!(
            (task.name(), task.classes(), task.vocabulary()),
            ("reverse(causal)", 9, 10)
        );
        let sample = Reverse::prompted_of(&[3, 1, 4, 0]).sample(&task);
        // BOS 3 1 4 0 EOS, and the answer 0 4 1 3 without its end.
        assert_eq!(sample.input.tokens(), [8, 3, 1, 4, 0, 9, 0, 4, 1, 3]);
        let asked = |sample: &Sample| -> Vec<(usize, usize)> {
            let answers = sample.answers.iter();
            answers.map(|of| (of.position, of.class)).collect()
        };
        assert_eq!(asked(&sample), [(5, 0), (6, 4), (7, 1), (8, 3), (9, 8)]);
        let Prompted { prompt, answer } = Prompted::of(&sample);
        assert_eq!(prompt, [8, 3, 1, 4, 0, 9]);
        assert_eq!(answer, [0, 4, 1, 3]);
        // An empty answer is an end at once.
        let empty = Prompted {
            prompt: vec![1, 2],
            answer: Vec::new(),
        };
        assert_eq!(asked(&empty.sample(&task)), [(1, 8)]);
        assert_eq!(Prompted::of(&empty.sample(&task)), empty);
    }

    /// An answer that is a token of the task is read by a decoder as that same token.
    #[test]
    fn an_answer_is_read_as_the_token_that_it_is() {
        assert_eq!(Task::answer_token(&Mqar, 3), 16 + 3);
        assert_eq!(Task::answer_token(&Passkey, 7), 7);
        assert_eq!(Task::answer_token(&MissingDuplicate, 1), 1);
        // Classes that are no tokens come after BOS and EOS.
        assert_eq!(Task::answer_token(&PosMod4, 0), 10);
        let tasks = Tasks::default();
        let task = tasks.get("prev_occurrence(causal)").unwrap();
        assert_eq!((task.classes(), task.vocabulary()), (10, 19));
    }

    /// The tests of a length are those of the plain task, as long as the task says, with a floor that is a score.
    fn keeps_the_contract_of_tests(task: &Causal, plain: &dyn Task, length: usize) {
        let name = task.name();
        let set = task.test_set(length);
        assert_eq!(set.len(), plain.test_set(length).len(), "{name}");
        let longest = set.iter().map(|sample| sample.input.len()).max().unwrap();
        assert_eq!(task.tokens_of(length), longest, "{name}");
        assert!(longest <= task.max_tokens(), "{name}");
        let floor = task.floor(length);
        let damage = task.measure().score(floor).damage(floor);
        assert_eq!(damage, None, "{name} {length}");
        assert!(floor > 0.0, "{name}");
        let same = set.iter().all(|sample| sample.input.len() == longest);
        assert!(same || task.mixes_lengths(), "{name}");
    }

    /// Each token that is asked for is the next one of the input, and the last one says that the answer ends.
    fn keeps_the_contract_of_a_sample(task: &Causal, sample: &Sample) {
        let name = task.name();
        let how = task.generation().unwrap();
        let tokens = sample.input.tokens();
        assert!(tokens.len() <= task.max_tokens(), "{name}");
        let known = |token: &usize| *token < task.vocabulary();
        assert!(tokens.iter().all(known), "{name}");
        let (last, before) = sample.answers.split_last().unwrap();
        let end = (how.end(), tokens.len() - 1);
        assert_eq!((last.class, last.position), end, "{name}");
        for answer in before {
            let next = tokens[answer.position + 1];
            assert_eq!(how.token(answer.class), next, "{name}");
            assert!(answer.class < how.end(), "{name}");
        }
        let depths = task.depths(sample).len();
        assert!(depths == 0 || depths == before.len(), "{name}: {depths}");
    }

    #[test]
    fn every_task_that_a_decoder_can_have_keeps_the_contract() {
        let tasks = Tasks::default();
        let mut names = Vec::new();
        for plain in tasks.every() {
            let Ok(task) = Causal::of(plain.clone()) else {
                continue;
            };
            let name = task.name().to_string();
            for length in task.test_lengths() {
                keeps_the_contract_of_tests(&task, plain.as_ref(), length);
            }
            let trained = (0..20).flat_map(|step| task.train_batch(3, step, 8));
            for sample in trained.chain(task.test_set(task.test_lengths()[0])) {
                keeps_the_contract_of_a_sample(&task, &sample);
            }
            // A learning rate and a number of steps are chosen on examples that are held out of its training.
            let tuning = Tuning::of(Arc::new(task)).unwrap();
            assert!(tuning.causal() && tuning.generation().is_some(), "{name}");
            let has_many = |length: &usize| tuning.test_set(*length).len() > 50;
            assert!(tuning.test_lengths().iter().all(has_many), "{name}");
            names.push(name);
        }
        let expected = "reverse bucket_sort first_eq_last shift3 prev_occurrence majority missing_duplicate mqar passkey addition \
                        addition_reversed odds_first selective_copy counting indirect_indexing modular_arithmetic sort50";
        assert_eq!(names, Vec::from_iter(expected.split(' ').map(causal_name)));
    }

    /// Rows with a class do not say what is read before an answer.
    #[test]
    fn a_task_without_prompts_says_what_it_needs() {
        let rows: String = (0..40).map(|i| format!("{},a b {i}\n", i % 2)).collect();
        let data = read("rows.csv", format!("label,text\n{rows}"), "").unwrap();
        let why = Causal::of(data.tasks().remove(0)).map(|_| ()).unwrap_err();
        why.says_all(&["data cannot be", "`Task::prompted`"]);
    }

    #[test]
    fn the_floor_is_the_share_of_the_most_frequent_answer() {
        let task = of(Addition {});
        let set = task.test_set(9);
        let mut answers: Vec<Vec<usize>> = set.iter().map(|of| Prompted::of(of).answer).collect();
        answers.sort();
        let counts = answers.chunk_by(|a, b| a == b).map(<[_]>::len);
        let most = counts.max().unwrap();
        assert_eq!(task.floor(9), most as f64 / 512.0);
        // In the first task all 512 answers differ; in the second, two answers are equally likely.
        assert_eq!(of(Reverse).floor(40), 1.0 / 512.0);
        assert!((of(MissingDuplicate).floor(40) - 0.5).abs() < 0.1);
    }
}
