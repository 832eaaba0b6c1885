//! Words and positions: how alike two words of a sentence are, how alike their positions, and how
//! alike the sums of both, which are what a transformer sees.
//!
//! The words are learned here from a small text: a transformer encoder of `pe-lab` has to guess a
//! word that is hidden in each sentence.

use std::error::Error;
use std::ops::RangeInclusive;

use burn::tensor::{Device, Tensor};
use pe_burn::{Positions, SinusoidalPositionalEncodingConfig};
use pe_lab::ask::{ModelSpec, Recipe, Scheme};
use pe_lab::learn::{Job, Model, Watch, train};
use pe_lab::rng::{RngExt, generator};
use pe_lab::task::{Answer, Readout, Sample, Task};

const STEPS: usize = 400;

/// Sentences of seven words, in which words of one kind stand at the same places.
const TEXT: &str = "
    the old cat chased the grey mouse
    the old dog chased the grey rabbit
    the young cat chased the white rabbit
    the young dog chased the white mouse
    the grey cat watched the old dog
    the grey dog watched the old cat
    the white cat watched the young mouse
    the white dog watched the young rabbit
    the old mouse feared the grey cat
    the old rabbit feared the grey dog
    the young mouse feared the white dog
    the young rabbit feared the white cat
    a grey mouse watched a young cat
    a white rabbit watched a young dog
    a grey rabbit feared a old dog
    a white mouse feared a old cat
    a young dog chased a grey cat
    a young cat chased a grey mouse
    a old dog watched a white rabbit
    a old cat watched a white mouse
";

/// Guess the hidden word of a sentence.
struct Cloze {
    words: Vec<&'static str>,
    sentences: Vec<Vec<usize>>,
}

impl Cloze {
    fn new(text: &'static str) -> Self {
        let mut words: Vec<&str> = text.split_whitespace().collect();
        words.sort_unstable();
        words.dedup();
        let number = |word: &str| words.iter().position(|known| *known == word).unwrap();
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let sentences = lines
            .map(|line| line.split_whitespace().map(number).collect())
            .collect();
        Self { words, sentences }
    }

    fn number(&self, word: &str) -> usize {
        self.words.iter().position(|known| *known == word).unwrap()
    }

    /// A sentence with the word at a place hidden.
    fn asked(&self, sentence: usize, position: usize) -> Sample {
        let mut tokens = self.sentences[sentence].clone();
        let class = std::mem::replace(&mut tokens[position], self.words.len());
        Sample::new(tokens, vec![Answer { position, class }])
    }
}

impl Task for Cloze {
    fn name(&self) -> &str {
        "cloze"
    }

    fn about(&self) -> &str {
        "guess the hidden word of a sentence"
    }

    fn source(&self) -> &str {
        "this example"
    }

    fn vocabulary(&self) -> usize {
        self.words.len() + 1 // and the symbol for the hidden word
    }

    fn classes(&self) -> usize {
        self.words.len()
    }

    fn readout(&self) -> Readout {
        Readout::PerToken
    }

    fn train_lengths(&self) -> RangeInclusive<usize> {
        7..=7
    }

    fn test_lengths(&self) -> Vec<usize> {
        vec![7]
    }

    fn train_batch(&self, seed: u64, step: usize, size: usize) -> Vec<Sample> {
        let mut rng = generator("cloze", seed, step as u64);
        (0..size)
            .map(|_| {
                let sentence = rng.random_range(0..self.sentences.len());
                self.asked(sentence, rng.random_range(0..7))
            })
            .collect()
    }

    fn test_set(&self, _: usize) -> Vec<Sample> {
        let places = |sentence| (0..7).map(move |place| (sentence, place));
        let all = (0..self.sentences.len()).flat_map(places);
        all.map(|(sentence, place)| self.asked(sentence, place))
            .collect()
    }

    fn floor(&self, _: usize) -> f64 {
        0.0
    }

    fn floor_about(&self) -> &str {
        "none"
    }

    fn steps(&self) -> usize {
        STEPS
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let cloze = Cloze::new(TEXT);
    let device = Device::flex().autodiff();
    let spec = ModelSpec::default();
    let scheme = Scheme::by_name("sinusoidal", &spec, 7)?;
    let model = Model::init(&spec, &cloze, &scheme, 1, &device)?;
    let job = Job {
        task: &cloze,
        seed: 1,
        steps: STEPS,
        recipe: &Recipe::default(),
        device: &device,
    };
    let trained = train(model, job, Watch::steps(|_, _| ()))?;
    let last = &trained.losses[STEPS - 20..];
    println!(
        "{} sentences, {} words; the loss fell from {:.2} to {:.2}\n",
        cloze.sentences.len(),
        cloze.words.len(),
        trained.losses[0],
        last.iter().sum::<f64>() / last.len() as f64
    );

    let words = trained.model.tokens().expect("the words are tokens");
    let positions = SinusoidalPositionalEncodingConfig::new(spec.d_model)
        .init(&words.device())
        .encode(&Positions::default(), 7)?;
    let word = |word: &str| {
        let number = cloze.number(word);
        words
            .clone()
            .slice(number..number + 1)
            .reshape([spec.d_model])
    };
    let position = |p: usize| positions.clone().narrow(1, p, 1).reshape([spec.d_model]);

    println!("the cosine between two words of \"the old cat chased the grey mouse\":\n");
    println!("{:<32} words   positions   sums", "");
    for [(a, at_a), (b, at_b)] in [
        [("cat", 2), ("mouse", 6)],
        [("old", 1), ("grey", 5)],
        [("the", 0), ("the", 4)],
        [("old", 1), ("cat", 2)],
    ] {
        println!(
            "{:<32} {:>5.2}   {:>9.2}   {:>4.2}",
            format!("{a} (at {at_a}) and {b} (at {at_b})"),
            cosine(word(a), word(b)),
            cosine(position(at_a), position(at_b)),
            cosine(word(a) + position(at_a), word(b) + position(at_b)),
        );
    }
    println!(
        "\nThe same word twice is 1.00 as a word; its two sums differ, and that is how a transformer\n\
         tells the first from the second. Neighbours are alike for their positions alone."
    );
    Ok(())
}

fn cosine(a: Tensor<1>, b: Tensor<1>) -> f32 {
    let dot = |a: &Tensor<1>, b: &Tensor<1>| (a.clone() * b.clone()).sum().into_scalar::<f32>();
    dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
}
