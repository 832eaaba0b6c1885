//! The task: which bit is in the majority among the tokens a multiple of three away?

use pe_lab::rng::generator;
use pe_lab::task::{Answer, Toy};

#[derive(Clone, Copy, Debug)]
pub struct SameResidue;

impl Toy for SameResidue {
    const NAME: &'static str = "same_residue";
    const ABOUT: &'static str = "toy: the majority of the bits a multiple of three away, at each place";
    const SOURCE: &'static str = "this example";
    const TOKENS: usize = 2;
    const CLASSES: usize = 2;
    const STEPS: usize = 400;
    const FLOOR_ABOUT: &'static str = "always the more frequent bit of the input";

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        let ones: [usize; 3] = std::array::from_fn(|from| tokens.iter().skip(from).step_by(3).sum());
        let all: [usize; 3] = std::array::from_fn(|from| tokens.iter().skip(from).step_by(3).count());
        let class = |place: usize| usize::from(2 * ones[place % 3] > all[place % 3]);
        // Position 0 is the mark of the beginning.
        let places = 0..tokens.len();
        places.map(|place| Answer { position: place + 1, class: class(place) }).collect()
    }

    /// The accuracy of always choosing the more frequent bit, counted on 2,000 sequences: no formula is needed.
    fn floor_at(length: usize) -> f64 {
        let mut rng = generator("same_residue/floor", 0, length as u64);
        let right = (0..2_000).map(|_| {
            let tokens = Self::draw(&mut rng, length);
            let mode = usize::from(2 * tokens.iter().sum::<usize>() > length);
            let answers = Self::answers(&tokens);
            answers.iter().filter(|answer| answer.class == mode).count()
        });
        right.sum::<usize>() as f64 / (2_000 * length) as f64
    }
}
