//! `mqar(tokens=64,pairs=4,vocabulary=8192)`: multi-query associative recall at the sizes of the literature.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::toy::TEST_SAMPLES;
use super::{Answer, Prompted, Readout, Sample, Task};
use crate::rng::{HostRng, RngExt, generator};

/// The exponent of the weights with which distances of queries are drawn: near ones are likelier.
const POWER: f64 = -0.99;

/// The longest test, in training lengths. Tests have 1, 2 and 4 times the tokens and pairs of the training.
const LONGEST: usize = 4;

const MOST_TOKENS: usize = 512;
const MOST_SYMBOLS: usize = 65_536;

/// `k₁ v₁ k₂ v₂ … k_D v_D`, and then the keys once more, each alone among other symbols or [blanks](Self::with_blanks): at every
/// one of these, predict the value that followed the key.
///
/// Of the vocabulary the first half are keys and the second half values. The `D` pairs are the first of the `tokens` tokens.
/// The queries stand at even distances from the last pair; a distance of `2 g` is drawn with a probability proportional to
/// `(g + 1)^-0.99`, for the first pair first, and no two are the same. All other places have any symbols. So far this is the task
/// of Arora et al., who have (`tokens`, `pairs`) = (64, 4), (128, 8), (256, 16) and (512, 64), and 8,192 symbols. Here a symbol
/// that is neither in a pair nor a query occurs once, so a key never stands where it is not asked for; and the model sees both
/// sides, unless it is a decoder's task.
///
/// The training has `tokens` tokens, and the test has as many, twice and four times as many, with `pairs` in the
/// same proportion: for (64, 4) that is (128, 8) and (256, 16). A test has 512 sequences, the same for every training with this
/// vocabulary and as many pairs for a length.
///
/// The floor is exact: without positions the answer is any of the values in the sequence, of a pair or not. Among blanks it is
/// one of the values of the pairs.
///
/// Seen here with 32 tokens, 2 pairs and 512 symbols: `t5` has an accuracy of 0.48 after 3,000 steps (seed 1), where the floor is
/// 0.07. It names one of the two values of the pairs, and not yet the one that belongs to the key. It was not measured how many
/// steps the sizes of the literature take; there the training has 100,000 sequences, many times over. If the report says that
/// trainings had not converged, take more, or `--steps auto`.
///
/// Source: S. Arora et al., *Zoology: Measuring and Improving Recall in Efficient Language Models*, ICLR 2024 (arXiv
/// 2312.04927), the task "MQAR", as its program has it (`multiquery_ar`, with `power_a` 0.01 and `random_non_queries`, which is its
/// default). The configuration of the paper's figure 2 in that program sets the latter to false: there all other places are blank.
///
/// [`Mqar`](super::Mqar) is a smaller one of several lengths, for a training of minutes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MqarOfSize {
    name: String,
    about: String,
    tokens: usize,
    pairs: usize,
    vocabulary: usize,
    /// Whether all places but those of pairs and queries are blank.
    blanks: bool,
}

impl MqarOfSize {
    /// The number of tokens if none is given.
    pub const TOKENS: usize = 64;
    /// The tokens for each pair where the pairs are not given, as in most sizes of the literature.
    pub const TOKENS_OF_PAIR: usize = 16;
    /// The number of symbols if none is given.
    pub const VOCABULARY: usize = 8_192;

    /// The task of a number of tokens, of pairs among them, and of symbols.
    ///
    /// # Errors
    ///
    /// The name of the number that is out of its bounds, the number, and its bounds in words that follow "it must be".
    pub fn new(
        tokens: usize,
        pairs: usize,
        vocabulary: usize,
    ) -> Result<Self, (&'static str, usize, String)> {
        let even = |number: usize| number.is_multiple_of(2);
        if !((4..=MOST_TOKENS).contains(&tokens) && even(tokens)) {
            let bounds = format!("an even number from 4 to {MOST_TOKENS}");
            return Err(("tokens", tokens, bounds));
        }
        if !(1..=tokens / 4).contains(&pairs) {
            let bounds = format!("from 1 to {}, a quarter of the tokens", tokens / 4);
            return Err(("pairs", pairs, bounds));
        }
        let longest = LONGEST * tokens;
        if !((longest..=MOST_SYMBOLS).contains(&vocabulary) && even(vocabulary)) {
            let bounds = format!(
                "an even number from {longest}, the tokens of the longest test, to {MOST_SYMBOLS}"
            );
            return Err(("vocabulary", vocabulary, bounds));
        }
        Ok(Self {
            name: format!("mqar(tokens={tokens},pairs={pairs},vocabulary={vocabulary})"),
            about: format!(
                "toy: {pairs} pairs of a key and a value, then the keys among other symbols (of {vocabulary}), {tokens} \
                 tokens in all; output the value of each key"
            ),
            tokens,
            pairs,
            vocabulary,
            blanks: false,
        })
    }

    /// This task with the same token, a blank, at all places but those of pairs and queries, as in figure 2 of Arora et al.: so a
    /// model sees which tokens are queries.
    pub fn with_blanks(self) -> Self {
        let (tokens, pairs, vocabulary) = (self.tokens, self.pairs, self.vocabulary);
        Self {
            name: self.name.replace(')', ",others=blanks)"),
            about: format!(
                "toy: {pairs} pairs of a key and a value (of {vocabulary} symbols), then the keys among blanks, {tokens} tokens \
                 in all; output the value of each key"
            ),
            blanks: true,
            ..self
        }
    }

    /// The token of a blank, after BOS and EOS.
    fn blank(&self) -> usize {
        self.vocabulary + 2
    }

    fn pairs_of(&self, length: usize) -> usize {
        self.pairs * length / self.tokens
    }

    fn draw(&self, rng: &mut HostRng, length: usize) -> Vec<usize> {
        let pairs = self.pairs_of(length);
        let (symbols, half) = (self.vocabulary, self.vocabulary / 2);
        let mut used = BTreeSet::new();
        let mut fresh = |rng: &mut HostRng, from: usize, to: usize| loop {
            let symbol = rng.random_range(from..to);
            if used.insert(symbol) {
                return symbol;
            }
        };
        let mut tokens = Vec::with_capacity(length);
        for _ in 0..pairs {
            tokens.push(fresh(rng, 0, half));
            tokens.push(fresh(rng, half, symbols));
        }
        for _ in 2 * pairs..length {
            tokens.push(match self.blanks {
                true => self.blank(),
                false => fresh(rng, 0, symbols),
            });
        }
        for (pair, gap) in gaps(rng, (length - 2 * pairs) / 2, pairs)
            .into_iter()
            .enumerate()
        {
            tokens[2 * pairs + 2 * gap] = tokens[2 * pair];
        }
        tokens
    }

    /// Where the queries stand in these tokens, and which pairs they ask for, counted from 0.
    fn queries(&self, tokens: &[usize]) -> Vec<(usize, usize)> {
        let pairs = self.pairs_of(tokens.len());
        let (known, rest) = tokens.split_at(2 * pairs);
        let rest = (2 * pairs..).zip(rest).step_by(2);
        rest.filter_map(|(place, query)| {
            let pair = known.iter().step_by(2).position(|key| key == query);
            Some((place, pair?))
        })
        .collect()
    }

    fn sample(&self, tokens: &[usize]) -> Sample {
        let answers = self.queries(tokens).into_iter();
        let answers = answers.map(|(place, pair)| Answer {
            position: 1 + place,
            class: tokens[2 * pair + 1] - self.vocabulary / 2,
        });
        let (bos, eos) = (self.vocabulary, self.vocabulary + 1);
        Sample::new([&[bos], tokens, &[eos]].concat(), answers.collect())
    }

    fn samples(&self, rng: &mut HostRng, length: usize, count: usize) -> Vec<Sample> {
        (0..count)
            .map(|_| self.sample(&self.draw(rng, length)))
            .collect()
    }
}

/// `count` different numbers below `space`, in the order in which they are drawn, `g` with a weight of `(g + 1)^POWER`.
///
/// Each number waits for a time of an exponential distribution whose rate is its weight; they are drawn as they arrive.
fn gaps(rng: &mut HostRng, space: usize, count: usize) -> Vec<usize> {
    let waits = (0..space).map(|gap| {
        let uniform: f64 = rng.random();
        (-(1.0 - uniform).ln() / ((gap + 1) as f64).powf(POWER), gap)
    });
    let mut waits: Vec<(f64, usize)> = waits.collect();
    waits.sort_by(|a, b| a.0.total_cmp(&b.0));
    waits.into_iter().map(|(_, gap)| gap).take(count).collect()
}

/// The expectation of `1 / (pairs + F)`, where `F` of `others` different symbols are values, drawn from `left` keys and `left`
/// values: a hypergeometric distribution, whose probabilities are found from one another up to a factor, in logarithms.
fn expected_share(pairs: usize, left: usize, others: usize) -> f64 {
    let values = others.saturating_sub(left)..=others.min(left);
    let mut log = 0.0;
    let logs = values.map(|count| {
        let here = (log, count);
        let more = (left - count) * (others - count);
        let fewer = (count + 1) * (left + count + 1 - others);
        log += (more as f64 / fewer as f64).ln();
        here
    });
    let logs: Vec<(f64, usize)> = logs.collect();
    let most = logs.iter().map(|(log, _)| *log).fold(f64::MIN, f64::max);
    let weights = logs.iter().map(|(log, count)| ((log - most).exp(), count));
    let (share, all) = weights.fold((0.0, 0.0), |(share, all), (weight, count)| {
        (share + weight / (pairs + count) as f64, all + weight)
    });
    share / all
}

impl Task for MqarOfSize {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn source(&self) -> &str {
        "MQAR of Arora et al. 2023, ICLR 2024"
    }

    fn vocabulary(&self) -> usize {
        self.vocabulary + self.framing() + usize::from(self.blanks)
    }

    fn classes(&self) -> usize {
        self.vocabulary / 2
    }

    fn readout(&self) -> Readout {
        Readout::PerToken
    }

    fn train_lengths(&self) -> RangeInclusive<usize> {
        self.tokens..=self.tokens
    }

    fn test_lengths(&self) -> Vec<usize> {
        [1, 2, LONGEST].map(|times| times * self.tokens).to_vec()
    }

    fn framing(&self) -> usize {
        2
    }

    fn train_batch(&self, seed: u64, step: usize, size: usize) -> Vec<Sample> {
        let mut rng = generator("mqar of a size/train", seed, step as u64);
        self.samples(&mut rng, self.tokens, size)
    }

    /// The test set, which is empty for a length that the task does not have.
    fn test_set(&self, length: usize) -> Vec<Sample> {
        if !self.test_lengths().contains(&length) {
            return Vec::new();
        }
        let mut rng = generator("mqar of a size/test", 0, length as u64);
        self.samples(&mut rng, length, TEST_SAMPLES)
    }

    fn floor(&self, length: usize) -> f64 {
        let (pairs, half) = (self.pairs_of(length), self.vocabulary / 2);
        if self.blanks {
            return 1.0 / pairs as f64;
        }
        expected_share(pairs, half - pairs, length - 3 * pairs)
    }

    fn floor_about(&self) -> &str {
        "the best answer without positions"
    }

    fn steps(&self) -> usize {
        6_000
    }

    fn prompted(&self, sample: &Sample) -> Option<Prompted> {
        Some(Prompted {
            prompt: sample.input.tokens().to_vec(),
            answer: sample.answers.iter().map(|answer| answer.class).collect(),
        })
    }

    fn answer_token(&self, class: usize) -> usize {
        self.vocabulary / 2 + class
    }

    fn depths(&self, sample: &Sample) -> Vec<f64> {
        let tokens = sample.input.tokens();
        let tokens = &tokens[1..tokens.len() - 1];
        let pairs = self.pairs_of(tokens.len()) as f64;
        let depth = |(_, pair): (usize, usize)| (pair as f64 + 0.5) / pairs;
        self.queries(tokens).into_iter().map(depth).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::testing::digest;
    use super::*;

    fn of(tokens: usize, pairs: usize, vocabulary: usize) -> MqarOfSize {
        MqarOfSize::new(tokens, pairs, vocabulary).unwrap()
    }

    #[test]
    fn symbols_by_hand() {
        let task = of(12, 2, 100);
        assert_eq!(task.name(), "mqar(tokens=12,pairs=2,vocabulary=100)");
        // Key 7 has the value 50, key 3 the value 99. Symbol 60 at an even distance is no key, and nothing is asked there.
        let tokens = [7, 50, 3, 99, 60, 8, 3, 70, 7, 9, 61, 10];
        let sample = task.sample(&tokens);
        let asked = sample.answers.iter().map(|a| (a.position, a.class));
        assert_eq!(asked.collect::<Vec<_>>(), [(7, 49), (9, 0)]);
        assert_eq!(task.depths(&sample), [0.75, 0.25]);
        assert_eq!(sample.input.tokens()[0], 100);
        assert_eq!(sample.input.tokens()[13], 101);
        let written = task.prompted(&sample).unwrap().answer.into_iter();
        let read: Vec<usize> = written.map(|class| task.answer_token(class)).collect();
        assert_eq!(read, [99, 50]);
    }

    #[test]
    fn the_streams_are_the_published_ones() {
        assert_eq!(
            digest(&of(64, 4, 8192)),
            "139c8d59f396862c3e78b3e853b9f614c80a7657fa195eabdf3a6a2e6add0336"
        );
    }

    #[test]
    fn every_sample_follows_the_definition() {
        for (task, steps) in [
            (of(64, 4, 8192), 20),
            (of(16, 4, 64), 20),
            (of(4, 1, 16), 20),
        ] {
            let batches = (0..steps).map(|step| task.train_batch(1, step, 32));
            let tests = task.test_lengths().into_iter().map(|n| task.test_set(n));
            for sample in batches.chain(tests).flatten() {
                follows(&task, &sample);
            }
            assert_eq!(task.test_set(task.tokens + 1), []);
        }
    }

    fn follows(task: &MqarOfSize, sample: &Sample) {
        let half = task.vocabulary / 2;
        let x = &sample.input.tokens()[1..sample.input.len() - 1];
        let pairs = task.pairs * x.len() / task.tokens;
        let keys: BTreeSet<usize> = (0..pairs).map(|pair| x[2 * pair]).collect();
        let values: BTreeSet<usize> = (0..pairs).map(|pair| x[2 * pair + 1]).collect();
        assert_eq!((keys.len(), values.len()), (pairs, pairs));
        assert!(keys.last() < Some(&half) && values.first() >= Some(&half));
        assert!(x.iter().all(|token| *token < task.vocabulary));
        // Every key occurs twice, and everything else once.
        let all: BTreeSet<usize> = x.iter().copied().collect();
        assert_eq!(all.len(), x.len() - pairs);
        let asked: BTreeSet<usize> = sample.answers.iter().map(|a| x[a.position - 1]).collect();
        assert_eq!(asked, keys);
        for answer in &sample.answers {
            let place = answer.position - 1;
            assert!(place >= 2 * pairs && place.is_multiple_of(2));
            let pair = (0..pairs).find(|pair| x[2 * pair] == x[place]).unwrap();
            assert_eq!(answer.class, x[2 * pair + 1] - half);
        }
        assert_eq!(task.depths(sample).len(), pairs);
    }

    #[test]
    fn among_blanks_nothing_but_pairs_and_queries_is_a_symbol() {
        let (task, plain) = (of(64, 4, 8192).with_blanks(), of(64, 4, 8192));
        assert_eq!(task.vocabulary(), plain.vocabulary() + 1);
        assert_eq!(task.floor(64), 0.25);
        for sample in task.train_batch(1, 0, 32) {
            let x = &sample.input.tokens()[1..65];
            assert_eq!(x.iter().filter(|token| **token == 8194).count(), 64 - 12);
            assert_eq!(sample.answers.len(), 4);
            for answer in &sample.answers {
                let key = x[answer.position - 1];
                let pair = (0..4).find(|pair| x[2 * pair] == key).unwrap();
                assert_eq!(answer.class, x[2 * pair + 1] - 4096);
            }
        }
    }

    #[test]
    fn near_queries_are_likelier_as_the_power_says() {
        let mut rng = generator("gaps", 1, 0);
        let (space, draws) = (28, 40_000);
        let mut counts = vec![0.0; space];
        for _ in 0..draws {
            counts[gaps(&mut rng, space, 1)[0]] += 1.0 / f64::from(draws);
        }
        let weights = (1..=space).map(|gap| (gap as f64).powf(POWER));
        let all: f64 = weights.clone().sum();
        for (count, weight) in counts.iter().zip(weights) {
            assert!((count - weight / all).abs() < 0.01, "{counts:?}");
        }
    }

    #[test]
    fn the_floor_is_what_any_value_of_the_sequence_scores() {
        let task = of(64, 4, 8192);
        for n in task.test_lengths() {
            let set = task.test_set(n);
            let of_sample = |sample: &Sample| {
                let tokens = sample.input.tokens();
                let values = tokens.iter().filter(|t| (4096..8192).contains(*t)).count();
                1.0 / values as f64
            };
            let scored = set.iter().map(of_sample).sum::<f64>() / set.len() as f64;
            assert!((scored - task.floor(n)).abs() < 1e-3, "{n}: {scored}");
        }
        // One pair and one other symbol, of seven keys and seven values that are left.
        assert!((of(4, 1, 16).floor(4) - (0.5 + 0.25)).abs() < 1e-12);
    }

    #[test]
    fn a_size_out_of_its_bounds_is_named_with_them() {
        for (sizes, name, bounds) in [
            ((2, 1, 8192), "tokens", "an even number from 4 to 512"),
            ((65, 4, 8192), "tokens", "an even number from 4 to 512"),
            ((514, 4, 8192), "tokens", "an even number from 4 to 512"),
            ((64, 0, 8192), "pairs", "from 1 to 16"),
            ((64, 17, 8192), "pairs", "from 1 to 16"),
            (
                (64, 4, 254),
                "vocabulary",
                "from 256, the tokens of the longest test, to 65536",
            ),
            ((64, 4, 257), "vocabulary", "an even number"),
            ((64, 4, 65538), "vocabulary", "to 65536"),
        ] {
            let (wrong, _, said) = MqarOfSize::new(sizes.0, sizes.1, sizes.2).unwrap_err();
            assert!(
                wrong == name && said.contains(bounds),
                "{sizes:?}: {wrong}: {said}"
            );
        }
        of(512, 128, 2048);
        of(512, 64, 65_536);
    }
}
