//! A task as it is while a learning rate or a number of steps is chosen: tested on examples that are held out of its
//! training data.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use pe_burn::Grid;

use super::sample::hash;
use super::{Generation, Measure, Prompted, Readout, Sample, Task, TestRows, Windows};

/// One in this many different examples is held out, or of the rows from which windows are cut.
const HELD_OUT: usize = 10;

/// The seed of the training batches among which held-out examples are looked for.
const SEED: u64 = u64::MAX;

/// Examples of each length to test on, and the batches that are looked through for them.
const SAMPLES: usize = 256;
const BATCHES: usize = 2_000;
const BATCH: usize = 64;

/// A task around another one, trained on nine tenths of its training data and tested on the rest. The test sets of the
/// other task are not used, so a choice that is made here says nothing about them.
///
/// Of separate examples, a tenth of the different ones is held out. Whether an example is held out depends on its input
/// alone, so it is held out in every training batch, of a generated task and of rows alike. Of rows with groups, whole
/// groups are held out. The held-out rows are one test set, whatever their lengths, since the task's own tests may have
/// other lengths.
///
/// Windows of one series or text overlap, so a part of the data is held out: the last tenth of what is trained on, and at least two
/// of the longest windows. A gap of one window before it belongs to neither. So no row of the data that is read or predicted in a
/// held-out window is trained on.
pub struct Tuning {
    task: Arc<dyn Task>,
    /// The rows that are trained on, where examples are windows of one row of data.
    to_train: Option<Range<usize>>,
    sets: Sets,
}

impl Tuning {
    /// The task for tuning. `None` if its training data have too few different examples to hold any out.
    pub fn of(task: Arc<dyn Task>) -> Option<Self> {
        let (to_train, sets) = divided(task.as_ref(), SAMPLES)?;
        Some(Self {
            task,
            to_train,
            sets,
        })
    }

    /// Fewer examples than this hardly tell one learning rate from another: of 20 answers, one more that is right is 0.05.
    pub const FEW: usize = 20;

    /// How many examples [`of`](Self::of) holds out, counted up to [`FEW`](Self::FEW) of each length, which takes less time. 0 where it
    /// gives no task.
    pub fn held_out(task: &dyn Task) -> usize {
        let sets = divided(task, Self::FEW).map_or(Vec::new(), |(_, sets)| sets);
        sets.iter().map(|(_, set)| set.len()).sum()
    }
}

/// The held-out examples of each length.
type Sets = Vec<(usize, Vec<Sample>)>;

/// Which rows train and which are held out, of the data from which windows of up to `longest` rows are cut. `None` if no window is
/// left to train on.
fn parts(windows: &dyn Windows, longest: usize) -> Option<[Range<usize>; 2]> {
    let rows = windows.rows();
    let held_out = rows.checked_sub((rows / HELD_OUT).max(2 * longest))?;
    let to_train = held_out.checked_sub(longest).filter(|end| *end > longest)?;
    Some([0..to_train, held_out..rows])
}

/// The rows to train on, where examples are windows, and up to so many held-out examples of each length. `None` if there are
/// none, or none that train.
fn divided(task: &dyn Task, enough: usize) -> Option<(Option<Range<usize>>, Sets)> {
    let trained = task.train_lengths();
    let parts = match task.windows() {
        Some(windows) => Some((windows, parts(windows, *trained.end())?)),
        None => None,
    };
    let mut lengths = task.test_lengths();
    lengths.retain(|length| task.is_inside(*length));
    let mixed = task.mixes_lengths() || task.test_rows() == TestRows::Independent;
    if mixed {
        lengths = lengths.pop().into_iter().collect();
    }
    let mut sets: Sets = lengths.into_iter().map(|n| (n, Vec::new())).collect();
    let mut seen = BTreeSet::new();
    let mut trains = parts.is_some();
    for step in 0..BATCHES {
        if trains && sets.iter().all(|(_, set)| set.len() >= enough) {
            break;
        }
        let batch = match &parts {
            Some((windows, [_, part])) => windows.batch_within(part.clone(), SEED, step, BATCH),
            None => task.train_batch(SEED, step, BATCH),
        };
        for sample in batch {
            let hash = hash(&sample);
            let is_held_out = parts.is_some() || is_held_out(task, &sample);
            let fits = |of: usize| mixed || task.tokens_of(of) == sample.input.len();
            let set = sets.iter_mut().find(|(of, _)| fits(*of));
            trains |= !is_held_out;
            if let Some((_, set)) = set
                && is_held_out
                && set.len() < enough
                && seen.insert(hash)
            {
                set.push(sample);
            }
        }
    }
    sets.retain(|(_, set)| !set.is_empty());
    let to_train = parts.map(|(_, [to_train, _])| to_train);
    (trains && !sets.is_empty()).then_some((to_train, sets))
}

/// Whether an example is one of those that are held out: as its task says, or by its hash. Of an answer that is written it is the
/// prompt's, so that no prompt is trained on with one answer and held out with another. The low bits of the hash depend on little of
/// the input.
fn is_held_out(task: &dyn Task, sample: &Sample) -> bool {
    let by_hash = || {
        let of = match task.generation() {
            Some(_) => Prompted::of(sample).hash(),
            None => hash(sample),
        };
        (of >> 32).is_multiple_of(HELD_OUT as u64)
    };
    task.is_apart(sample).unwrap_or_else(by_hash)
}

impl Task for Tuning {
    fn train_batch(&self, seed: u64, step: usize, size: usize) -> Vec<Sample> {
        if let (Some(windows), Some(part)) = (self.task.windows(), &self.to_train) {
            return windows.batch_within(part.clone(), seed, step, size);
        }
        let mut left = Vec::new();
        // A larger batch has more of the same kind, so that enough are left.
        for times in [2, 8, 32, 128] {
            left = self.task.train_batch(seed, step, size * times);
            left.retain(|sample| !is_held_out(self.task.as_ref(), sample));
            if left.len() >= size {
                break;
            }
        }
        left.truncate(size);
        left
    }

    fn test_set(&self, length: usize) -> Vec<Sample> {
        let set = self.sets.iter().find(|(of, _)| *of == length);
        set.map_or(Vec::new(), |(_, set)| set.clone())
    }

    fn test_lengths(&self) -> Vec<usize> {
        self.sets.iter().map(|(length, _)| *length).collect()
    }

    // All other methods are the task's own, except `language`: longer windows are no part of the choice.

    of_the_task! {
        fn name(&self) -> &str;
        fn about(&self) -> &str;
        fn source(&self) -> &str;
        fn vocabulary(&self) -> usize;
        fn vector_width(&self) -> Option<usize>;
        fn classes(&self) -> usize;
        fn readout(&self) -> Readout;
        fn train_lengths(&self) -> RangeInclusive<usize>;
        fn is_inside(&self, length: usize) -> bool;
        fn mixes_lengths(&self) -> bool;
        fn framing(&self) -> usize;
        fn tokens_of(&self, length: usize) -> usize;
        fn measure(&self) -> Measure;
        fn generation(&self) -> Option<&dyn Generation>;
        fn causal(&self) -> bool;
        fn floor(&self, length: usize) -> f64;
        fn floor_about(&self) -> &str;
        fn solved_at(&self) -> Option<f64>;
        fn steps(&self) -> usize;
        fn unit(&self) -> f64;
        fn has_times(&self) -> bool;
        fn test_rows(&self) -> TestRows;
        fn is_apart(&self, sample: &Sample) -> Option<bool>;
        fn depths(&self, sample: &Sample) -> Vec<f64>;
        fn grid(&self) -> Option<Grid>;
        fn grid_at(&self, length: usize) -> Option<Grid>;
        fn positions(&self) -> usize;
        fn max_tokens(&self) -> usize;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Digits, Majority, Passkey, Reverse};
    use super::*;

    /// What a task is trained on in 200 steps.
    fn trained(task: &dyn Task) -> BTreeSet<u64> {
        let batches = (0..200).map(|step| task.train_batch(7, step, 64));
        let batches = batches.inspect(|batch| assert_eq!(batch.len(), 64));
        batches.flatten().map(|sample| hash(&sample)).collect()
    }

    #[test]
    fn what_is_held_out_is_never_trained_on_and_is_no_test_of_the_task() {
        let tasks: [Arc<dyn Task>; 4] = [
            Arc::new(Digits),
            Arc::new(Reverse),
            Arc::new(Majority),
            Arc::new(Passkey),
        ];
        for task in tasks {
            assert!(Tuning::held_out(task.as_ref()) >= Tuning::FEW);
            let tuning = Tuning::of(task.clone()).unwrap();
            let name = task.name();
            let trained = trained(&tuning);
            for length in tuning.test_lengths() {
                assert!(task.is_inside(length), "{name}: {length}");
                let set = tuning.test_set(length);
                assert!(set.len() > 50, "{name}: {} held out", set.len());
                for sample in &set {
                    assert_eq!(sample.input.len(), length + task.framing());
                    assert!(!trained.contains(&hash(sample)), "{name}");
                }
            }
            // One batch has one length, as the task's own.
            let batch = tuning.train_batch(3, 4, 64);
            assert!(batch.iter().all(|s| s.input.len() == batch[0].input.len()));
        }
        // Rows that are tested are held out from training anyway, so none of them is held out here.
        let tests: BTreeSet<u64> = Digits.test_set(64).into_iter().map(|s| hash(&s)).collect();
        let held_out = Tuning::of(Arc::new(Digits)).unwrap().test_set(64);
        assert!(held_out.len() > 100 && held_out.iter().all(|s| !tests.contains(&hash(s))));
        // About a tenth of the rows that train.
        let rows = trained(&Digits).len();
        let share = held_out.len() as f64 / rows as f64;
        assert!((1.0 / 15.0..1.0 / 7.0).contains(&share), "{share}");
    }

    /// A task with one training example.
    #[test]
    fn a_task_of_one_example_cannot_be_tuned() {
        struct One;
        impl super::super::Toy for One {
            const NAME: &'static str = "one";
            const ABOUT: &'static str = "";
            const SOURCE: &'static str = "";
            const TOKENS: usize = 1;
            const CLASSES: usize = 1;
            const TRAIN_LENGTHS: RangeInclusive<usize> = 10..=10;
            const TEST_LENGTHS: &'static [usize] = &[10];
            const FLOOR_ABOUT: &'static str = "";

            fn answers(_: &[usize]) -> Vec<super::super::Answer> {
                Vec::new()
            }

            fn floor_at(_: usize) -> f64 {
                0.5
            }
        }
        assert!(Tuning::of(Arc::new(One)).is_none());
        assert_eq!(Tuning::held_out(&One), 0);
    }
}
