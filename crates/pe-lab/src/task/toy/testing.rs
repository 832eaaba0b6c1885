//! What the tests of the toy tasks share.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::*;

/// Answers as (position, class).
pub type Pairs = Vec<(usize, usize)>;

/// A rule that gives an answer from the counts of the tokens and the token at which the answer is read.
pub type Rule = fn(&[usize], usize) -> usize;

/// The answers to a sequence.
pub fn asked<T: Toy>(tokens: &[usize]) -> Pairs {
    let answers = T::answers(tokens);
    answers.iter().map(|a| (a.position, a.class)).collect()
}

/// Compares the answers in training batches and test sets with a second, independent definition:
/// from the tokens without BOS and EOS to (position, class). Also checks that BOS and EOS are at the
/// two ends and nowhere else, that training covers every length and every token, and that a test set
/// has 512 sequences.
pub fn follows<T: Toy>(task: &dyn Task, definition: fn(&[usize]) -> Pairs) {
    let mut trained = BTreeSet::new();
    let mut shown = BTreeSet::new();
    let mut check = |sample: &Sample, length: usize| {
        assert_eq!(sample.input.len(), length + 2);
        let (bos, rest) = sample.input.tokens().split_first().unwrap();
        let (eos, inner) = rest.split_last().unwrap();
        assert_eq!((*bos, *eos), (T::TOKENS, T::TOKENS + 1));
        assert!(inner.iter().all(|token| *token < T::TOKENS));
        shown.extend(inner.iter().copied());
        let answers = sample.answers.iter().map(|a| (a.position, a.class));
        assert_eq!(answers.collect::<Pairs>(), definition(inner), "{inner:?}");
    };
    for step in 0..300 {
        let batch = task.train_batch(5, step, 4);
        let length = batch[0].input.len() - 2;
        trained.insert(length);
        batch.iter().for_each(|sample| check(sample, length));
    }
    for length in T::TEST_LENGTHS {
        let set = task.test_set(*length);
        assert_eq!(set.len(), 512);
        set.iter().for_each(|sample| check(sample, *length));
    }
    let lengths = T::TRAIN_LENGTHS.filter(|length| length % T::LENGTH_STEP == 0);
    assert_eq!(trained, lengths.collect());
    assert_eq!(shown, (0..T::TOKENS).collect());
    let inside = T::TEST_LENGTHS.iter().filter(|n| trained.contains(n));
    // The symbols of a string of `indirect_indexing` all differ, so it has only six tested lengths.
    let tested = if T::NAME == "indirect_indexing" { 6 } else { 8 };
    assert_eq!((inside.count(), T::TEST_LENGTHS.len()), (2, tested));
}

/// SHA-256 of the first batches of seed 1 and of all test sets.
///
/// Every number of a published study depends on these streams. If they change, by an edit or by a new
/// version of the crates for random numbers, new results cannot be compared with old ones.
pub fn digest(task: &dyn Task) -> String {
    let training = (0..50).map(|step| task.train_batch(1, step, 64));
    let test = task.test_lengths().into_iter().map(|n| task.test_set(n));
    let mut sha = Sha256::new();
    for sample in training.chain(test).flatten() {
        let answers = sample.answers.iter().flat_map(|a| [a.position, a.class]);
        for value in sample.input.tokens().iter().copied().chain(answers) {
            sha.update((value as u64).to_le_bytes());
        }
    }
    let digest = sha.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The best accuracy of a model that sees the multiset of tokens and the token at which it answers. It is
/// counted over every sequence of this length for which `possible` is true: for each multiset and
/// token, the most frequent answer is right. The formulas for floors are checked against this count.
pub fn best_blind<T: Toy>(length: usize, possible: impl Fn(&[usize]) -> bool) -> f64 {
    // For each multiset, how often each answer is right at each token.
    let mut seen: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for number in 0..T::TOKENS.pow(length as u32) {
        let digit = |place: usize| number / T::TOKENS.pow(place as u32) % T::TOKENS;
        let tokens: Vec<usize> = (0..length).map(digit).collect();
        if !possible(&tokens) {
            continue;
        }
        let Sample { input, answers, .. } = sample::<T>(&tokens);
        let tokens = input.tokens();
        let mut bag = tokens.to_vec();
        bag.sort_unstable();
        let counts = seen
            .entry(bag)
            .or_insert_with(|| vec![0; (T::TOKENS + 2) * T::CLASSES]);
        for answer in answers {
            counts[tokens[answer.position] * T::CLASSES + answer.class] += 1;
        }
    }
    let at_each_token = seen.values().flat_map(|counts| counts.chunks(T::CLASSES));
    let best: usize = at_each_token.filter_map(|counts| counts.iter().max()).sum();
    let all: usize = seen.values().flatten().sum();
    best as f64 / all as f64
}

/// The accuracy of a rule that sees the counts of the tokens and the token at which it answers,
/// on 10,000 fresh sequences.
pub fn blind_rule<T: Toy>(length: usize, rule: Rule) -> f64 {
    let mut rng = generator("rule", 1, length as u64);
    let (mut right, mut all) = (0, 0);
    for _ in 0..10_000 {
        let Sample { input, answers, .. } = sample::<T>(&T::draw(&mut rng, length));
        let tokens = input.tokens();
        let mut counts = vec![0; T::TOKENS + 2];
        tokens.iter().for_each(|token| counts[*token] += 1);
        for answer in answers {
            let said = rule(&counts[..T::TOKENS], tokens[answer.position]);
            right += usize::from(said == answer.class);
            all += 1;
        }
    }
    right as f64 / all as f64
}

/// The token with the highest count, the first of several.
pub fn mode(counts: &[usize]) -> usize {
    let highest = counts.iter().max().unwrap();
    counts.iter().position(|count| count == highest).unwrap()
}
