//! How often the laboratory's statistics claim something false, and how often they find what is true.
//!
//! Made-up studies of eight schemes on eight tasks go through `pe_lab::stats::judge`, the function that judges real
//! ones. `docs/statistics.md` has the numbers. `cargo bench -p pe-benches --bench statistics` prints them in a
//! few minutes; a number after `--` changes how many studies there are in a cell.

use std::time::Instant;

use pe_lab::rng::{HostRng, RngExt, generator};
use pe_lab::stats::{
    Answer, Errors, Finding, Looks, MARGIN, RowScores, judge, other_rows, overall_interval,
};
use rayon::prelude::*;

const SCHEMES: usize = 8;
const TASKS: usize = 8;
const SEEDS: [usize; 4] = [3, 5, 8, 12];
const STUDIES: usize = 1_000;

/// The score of a run: `mean` is the true mean of the scheme on the task. `shared` and `own` are standard normal
/// draws, the first one the same for all tasks of a scheme at a seed.
struct Noise {
    name: &'static str,
    score: fn(mean: f64, scheme: usize, shared: f64, rng: &mut HostRng) -> f64,
    /// The standard deviation or the shift that the model needs so that its mean is `mean`.
    about: &'static str,
}

fn normal(rng: &mut HostRng) -> f64 {
    // Box and Muller; 1 − u is never zero.
    let (u, v) = (rng.random::<f64>(), rng.random::<f64>());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

const SPREAD: f64 = 0.05;

const MODELS: [Noise; 8] = [
    Noise {
        name: "Gaussian",
        about: "standard deviation 0.05",
        score: |mean, _, _, rng| mean + SPREAD * normal(rng),
    },
    Noise {
        name: "unequal",
        about: "standard deviations from 0.0125 to 0.2, by scheme",
        score: |mean, scheme, _, rng| {
            let spread = SPREAD * 4f64.powf((scheme as f64 - 3.0) / 3.0);
            mean + spread.min(0.2) * normal(rng)
        },
    },
    Noise {
        name: "ties at 1",
        about: "1 in three of four runs, else lower",
        score: |mean, _, _, rng| {
            // The mean of the lower runs makes up for those at 1.
            let lower = 1.0 - 4.0 * (1.0 - mean);
            if rng.random::<f64>() < 0.75 {
                1.0
            } else {
                lower + SPREAD * normal(rng)
            }
        },
    },
    Noise {
        name: "bimodal",
        about: "0.3 above or below, evenly, and 0.02 of noise",
        score: |mean, _, _, rng| {
            let side = if rng.random::<bool>() { 0.3 } else { -0.3 };
            mean + side + 0.02 * normal(rng)
        },
    },
    Noise {
        name: "rare failures",
        about: "one run in ten 0.6 lower, and 0.02 of noise",
        score: |mean, _, _, rng| {
            let failure = if rng.random::<f64>() < 0.1 { 0.6 } else { 0.0 };
            mean + 0.06 - failure + 0.02 * normal(rng)
        },
    },
    Noise {
        name: "shared",
        about: "half of the variance is shared by the tasks of a seed",
        score: |mean, _, shared, rng| mean + SPREAD * 0.5f64.sqrt() * (shared + normal(rng)),
    },
    Noise {
        name: "skewed",
        about: "an exponential tail to lower scores",
        score: |mean, _, _, rng| {
            let tail = -(1.0 - rng.random::<f64>()).ln();
            mean + SPREAD * (1.0 - tail)
        },
    },
    Noise {
        name: "discrete",
        about: "one of three scores, 0.1 apart",
        score: |mean, _, _, rng| mean + 0.1 * (rng.random_range(0..3) as f64 - 1.0),
    },
];

/// The scores of one question, by scheme, task and seed.
fn question(
    model: &Noise,
    truth: &[f64; SCHEMES],
    seeds: usize,
    rng: &mut HostRng,
) -> Vec<Vec<Vec<f64>>> {
    let mut schemes = vec![vec![vec![0.0; seeds]; TASKS]; SCHEMES];
    for (scheme, of_scheme) in schemes.iter_mut().enumerate() {
        for seed in 0..seeds {
            let shared = normal(rng);
            for of_task in of_scheme.iter_mut() {
                of_task[seed] = (model.score)(truth[scheme], scheme, shared, rng);
            }
        }
    }
    schemes
}

/// What happened in the studies of a cell: counts, and the numbers that they are counted of.
#[derive(Clone, Copy, Default)]
struct Counts {
    studies: f64,
    /// Studies with a false "best" in either question.
    headline: f64,
    /// Studies with a false pair in either question.
    pairs: f64,
    /// Studies with any false claim of a difference.
    any: f64,
    /// Studies that call a pair level that differs by the margin.
    level: f64,
    /// Intervals of pairs, and those that cover the truth.
    intervals: f64,
    covered: f64,
    /// Intervals of single schemes, and those that cover the truth.
    own: f64,
    own_covered: f64,
    /// True leaders that are called best, of all questions.
    best: f64,
    /// True differences between the leader and the others that are proven, and all of them.
    proven: f64,
    differences: f64,
    /// Pairs that are equal, and those of them that are called level.
    equal: f64,
    called_level: f64,
}

impl Counts {
    fn plus(self, other: Self) -> Self {
        Self {
            studies: self.studies + other.studies,
            headline: self.headline + other.headline,
            pairs: self.pairs + other.pairs,
            any: self.any + other.any,
            level: self.level + other.level,
            intervals: self.intervals + other.intervals,
            covered: self.covered + other.covered,
            own: self.own + other.own,
            own_covered: self.own_covered + other.own_covered,
            best: self.best + other.best,
            proven: self.proven + other.proven,
            differences: self.differences + other.differences,
            equal: self.equal + other.equal,
            called_level: self.called_level + other.called_level,
        }
    }

    /// Counts the claims of one study about questions with this truth.
    fn of(answers: &[Answer], scores: &[Vec<Vec<Vec<f64>>>], truth: &[f64; SCHEMES]) -> Self {
        let mut counts = Self {
            studies: 1.0,
            ..Self::default()
        };
        let highest = truth.iter().copied().fold(f64::MIN, f64::max);
        let (mut best, mut pairs, mut level) = (false, false, false);
        for (answer, schemes) in answers.iter().zip(scores) {
            let leader = truth[answer.order[0]];
            // "Best" is true only of a scheme that is above all others.
            let rivals = truth.iter().filter(|mean| **mean >= leader).count();
            best |= answer.best && rivals > 1;
            counts.best += f64::from(u8::from(answer.best && rivals == 1));
            for pair in &answer.pairs {
                let difference = truth[pair.higher] - truth[pair.lower];
                pairs |= pair.finding == Finding::Proven && difference <= 0.0;
                level |= pair.finding == Finding::Level && difference.abs() >= MARGIN;
                if let Some(interval) = pair.difference.interval() {
                    counts.intervals += 1.0;
                    let covers = interval.low <= difference && difference <= interval.high;
                    counts.covered += f64::from(u8::from(covers));
                }
                if difference.abs() < 1e-12 {
                    counts.equal += 1.0;
                    counts.called_level += f64::from(u8::from(pair.finding == Finding::Level));
                }
                if truth[pair.higher].max(truth[pair.lower]) == highest && difference.abs() > 1e-12
                {
                    counts.differences += 1.0;
                    let right = pair.finding == Finding::Proven && difference > 0.0;
                    counts.proven += f64::from(u8::from(right));
                }
            }
            for (scores, mean) in schemes.iter().zip(truth) {
                if let Some(interval) = overall_interval(scores) {
                    counts.own += 1.0;
                    let covers = interval.low <= *mean && *mean <= interval.high;
                    counts.own_covered += f64::from(u8::from(covers));
                }
            }
        }
        counts.headline = f64::from(u8::from(best));
        counts.pairs = f64::from(u8::from(pairs));
        counts.any = f64::from(u8::from(best || pairs));
        counts.level = f64::from(u8::from(level));
        counts
    }
}

/// Studies of two questions, each with the same truth.
fn cell(name: &str, model: &Noise, truth: &[f64; SCHEMES], seeds: usize, studies: usize) -> Counts {
    let counts = (0..studies).into_par_iter().map(|study| {
        let mut rng = generator(name, study as u64, seeds as u64);
        let scores = [(); 2]
            .map(|()| question(model, truth, seeds, &mut rng))
            .to_vec();
        Counts::of(&judge(&scores, Errors::default(), MARGIN), &scores, truth)
    });
    counts.reduce(Counts::default, Counts::plus)
}

/// Studies that stop at the first look that decides. Returns the counts at their end, and the mean number of
/// seeds.
fn until_decided(model: &Noise, truth: &[f64; SCHEMES], studies: usize) -> (Counts, f64) {
    let looks = Looks::up_to(Looks::most());
    let errors = Errors::default().divided(looks.seeds().len());
    let ends = (0..studies).into_par_iter().map(|study| {
        let mut rng = generator("until", study as u64, 0);
        let all = [(); 2].map(|()| question(model, truth, Looks::most(), &mut rng));
        let mut end = (Counts::default(), 0.0);
        for seeds in looks.seeds() {
            let first = |task: &Vec<f64>| task[..*seeds].to_vec();
            let scores: Vec<_> = all
                .iter()
                .map(|schemes| {
                    schemes
                        .iter()
                        .map(|tasks| tasks.iter().map(first).collect())
                        .collect()
                })
                .collect();
            let answers = judge(&scores, errors, MARGIN);
            end = (Counts::of(&answers, &scores, truth), *seeds as f64);
            if answers.iter().all(Answer::decided) {
                break;
            }
        }
        end
    });
    let sum = ends.reduce(
        || (Counts::default(), 0.0),
        |a, b| (a.0.plus(b.0), a.1 + b.1),
    );
    (sum.0, sum.1 / studies as f64)
}

/// The share of intervals over seeds and rows that cover the true difference of two schemes: a run is right on a
/// row if the sum of what the scheme, the run, the row and both together bring is above zero.
fn rows(seeds: usize, rows: usize, studies: usize) -> f64 {
    let covered: usize = (0..studies)
        .into_par_iter()
        .map(|study| {
            let mut rng = generator("rows", study as u64, (seeds * 100_000 + rows) as u64);
            // What a row brings to one scheme and not to the other does not go away with more seeds.
            let ease: Vec<[f64; 3]> = (0..rows)
                .map(|_| [(); 3].map(|()| normal(&mut rng)))
                .collect();
            let mut scheme = |own: usize| -> RowScores {
                let run = |rng: &mut HostRng| {
                    let luck = 0.3 * normal(rng);
                    let right =
                        |row: &[f64; 3]| row[0] + 0.7 * row[own] + luck + normal(rng) > -0.5;
                    ease.iter()
                        .map(right)
                        .map(|right| f64::from(u8::from(right)))
                        .collect()
                };
                (0..seeds).map(|_| run(&mut rng)).collect()
            };
            let (a, b) = (scheme(1), scheme(2));
            // Both schemes are drawn alike, so the true difference is zero.
            usize::from(
                other_rows(&a, &b, 0.05)
                    .interval
                    .is_some_and(|i| i.low <= 0.0 && 0.0 <= i.high),
            )
        })
        .sum();
    covered as f64 / studies as f64
}

/// The share of studies that call two schemes level although one of them fails in one run of ten.
fn unseen(seeds: usize, studies: usize) -> f64 {
    let called = (0..studies).into_par_iter().filter(|study| {
        let mut rng = generator("unseen", *study as u64, seeds as u64);
        let mut run = |failing: f64| {
            let failure = if rng.random::<f64>() < failing {
                0.6
            } else {
                0.0
            };
            0.9 - failure + 0.002 * normal(&mut rng)
        };
        let mut scheme = |failing| vec![(0..seeds).map(|_| run(failing)).collect()];
        let schemes = vec![scheme(0.0), scheme(0.1)];
        let answers = judge(&[schemes], Errors::default(), MARGIN);
        answers[0].pairs[0].finding == Finding::Level
    });
    called.count() as f64 / studies as f64
}

fn main() {
    let studies = std::env::args()
        .skip(1)
        .find_map(|word| word.parse().ok())
        .unwrap_or(STUDIES);
    let started = Instant::now();
    // All schemes are equal; two share the top, which is the hardest case for the headline; one leads by 0.1; pairs
    // differ by exactly the margin.
    let equal = [0.85; SCHEMES];
    let mut shared = [0.55; SCHEMES];
    (shared[0], shared[1]) = (0.85, 0.85);
    let mut ahead = equal;
    ahead[0] += 0.1;
    let mut margin = equal;
    (margin[0], margin[1]) = (0.85 + MARGIN, 0.85 - MARGIN);
    println!("{studies} studies a cell: {SCHEMES} schemes, {TASKS} tasks, two questions\n");
    for model in &MODELS {
        println!("{:<14} {}", model.name, model.about);
    }
    println!(
        "\nShares in percent. False claims: a headline where two schemes share the top and six are 0.3 below; a pair\n\
         where all are equal; either, in the worse of the two cases; level, where pairs differ by the margin. Cover:\n\
         of the 95 % intervals of pairs and of single schemes. Power: one scheme leads by 0.1; best, its pairs, and\n\
         equal pairs that are called level.\n"
    );
    println!(
        "{:<14} {:>5} {:>8} {:>6} {:>6} {:>6} {:>8} {:>7} {:>8} {:>6} {:>6}",
        "noise",
        "seeds",
        "headline",
        "pairs",
        "either",
        "level",
        "cover",
        "schemes",
        "best",
        "pairs",
        "level"
    );
    for model in &MODELS {
        for seeds in SEEDS {
            let null = cell("null", model, &equal, seeds, studies);
            let top = cell("top", model, &shared, seeds, studies);
            let apart = cell("margin", model, &margin, seeds, studies);
            let power = cell("power", model, &ahead, seeds, studies);
            let share = |part: f64, of: f64| 100.0 * part / of.max(1.0);
            println!(
                "{:<14} {:>5} {:>8.1} {:>6.1} {:>6.1} {:>6.1} {:>8.1} {:>7.1} {:>8.1} {:>6.1} {:>6.1}",
                model.name,
                seeds,
                share(top.headline, top.studies),
                share(null.pairs, null.studies),
                share(null.any.max(top.any), null.studies),
                share(apart.level, apart.studies),
                share(null.covered, null.intervals),
                share(null.own_covered, null.own),
                share(power.best, 2.0 * power.studies),
                share(power.proven, power.differences),
                share(null.called_level, null.equal),
            );
        }
    }
    println!("\nStudies that stop when they are decided (looks at 3, 5, 8 and 12 seeds)\n");
    println!(
        "{:<14} {:>8} {:>6} {:>6} {:>11} {:>8} {:>14}",
        "noise", "headline", "pairs", "either", "mean seeds", "best", "seeds, 0.1"
    );
    for model in &MODELS {
        let (null, seeds) = until_decided(model, &equal, studies);
        let (top, _) = until_decided(model, &shared, studies);
        let (power, with) = until_decided(model, &ahead, studies);
        let share = |part: f64, of: f64| 100.0 * part / of.max(1.0);
        println!(
            "{:<14} {:>8.1} {:>6.1} {:>6.1} {:>11.1} {:>8.1} {:>14.1}",
            model.name,
            share(top.headline, top.studies),
            share(null.pairs, null.studies),
            share(null.any.max(top.any), null.studies),
            seeds,
            share(power.best, 2.0 * power.studies),
            with,
        );
    }
    println!("\nTwo schemes are called level, and one of them fails in one run of ten\n");
    for seeds in SEEDS {
        println!("{seeds:>5} {:>6.1}", 100.0 * unseen(seeds, studies));
    }
    println!("\nCoverage of the 95 % interval over seeds and rows\n");
    println!("{:>5} {:>6} {:>6}", "seeds", "rows", "cover");
    for seeds in [2, 3, 5, 12] {
        for of in [50, 400] {
            println!(
                "{seeds:>5} {of:>6} {:>6.1}",
                100.0 * rows(seeds, of, studies.min(1_000))
            );
        }
    }
    println!("\n{:.0} s", started.elapsed().as_secs_f64());
}
