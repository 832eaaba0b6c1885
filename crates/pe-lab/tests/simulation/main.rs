//! How often the laboratory's statistics claim something false, and how often they find what is true.
//!
//! Made-up studies go through `pe_lab::stats::judge`, the function that judges real ones. The test that always runs
//! has few studies in a cell; this prints the tables of `docs/statistics-tables.md`, in minutes:
//!
//! ```sh
//! cargo test -p pe-lab --release --test simulation -- --ignored --nocapture --test-threads 1
//! ```
//!
//! `STUDIES` in the environment changes how many studies there are in a cell.

mod noise;
mod tables;

use std::ops::{Range, RangeInclusive};
use std::thread;

use noise::{LAWS, LOWEST, Law, NOISES, Noise, UNSEEN, law, noise, normal};
use pe_lab::rng::{HostRng, generator};
use pe_lab::stats::{
    Answer, Bounds, Errors, Finding, Looks, MARGIN, RowScores, intervals, judge, other_rows,
};

/// The scores of one question, by scheme, task and seed.
type Scores = Vec<Vec<Vec<f64>>>;

/// Made-up studies: their noise, the number of tasks, and the true mean and the number of seeds of every scheme.
#[derive(Clone)]
struct Design {
    noise: &'static Noise,
    tasks: usize,
    schemes: Vec<(f64, usize)>,
}

impl Design {
    fn new(noise: &'static Noise, tasks: usize, truth: &[f64], seeds: usize) -> Self {
        let schemes = truth.iter().map(|mean| (*mean, seeds)).collect();
        Self {
            noise,
            tasks,
            schemes,
        }
    }

    fn question(&self, rng: &mut HostRng) -> Scores {
        let of_scheme = |(scheme, (mean, seeds)): (usize, &(f64, usize))| {
            let mut tasks = vec![vec![0.0; *seeds]; self.tasks];
            for seed in 0..*seeds {
                let shared = normal(rng);
                for task in &mut tasks {
                    task[seed] = (self.noise.score)(*mean, scheme, shared, rng);
                }
            }
            tasks
        };
        self.schemes.iter().enumerate().map(of_scheme).collect()
    }

    /// Two questions, as inside and beyond.
    fn draw(&self, name: &str, study: usize) -> Vec<Scores> {
        let mut rng = generator(name, study as u64, self.schemes[0].1 as u64);
        (0..2).map(|_| self.question(&mut rng)).collect()
    }

    fn judged(&self, name: &str, studies: usize) -> Counts {
        counted(studies, |study| {
            let scores = self.draw(name, study);
            self.claims(&judge(&scores, Errors::default(), MARGIN))
        })
    }

    /// Studies that stop at the first look that decides.
    fn until_decided(&self, name: &str, studies: usize) -> Counts {
        let looks = Looks::up_to(Looks::most());
        let errors = Errors::default().divided(looks.seeds().len());
        counted(studies, |study| {
            let all = self.draw(name, study);
            let mut end = Counts::default();
            for seeds in looks.seeds() {
                let answers = judge(&first_seeds(&all, *seeds), errors, MARGIN);
                end = self.claims(&answers);
                end.add(What::Seeds, *seeds as f64, 1.0);
                if answers.iter().all(Answer::decided) {
                    break;
                }
            }
            end
        })
    }

    /// Studies that are looked at after each of these numbers of seeds, with the errors of one look: those with a
    /// false difference at any.
    fn looked_at(&self, seeds: RangeInclusive<usize>, studies: usize) -> Counts {
        counted(studies, |study| {
            let all = self.draw("peek", study);
            let claims_falsely = |seeds: usize| {
                let answers = judge(&first_seeds(&all, seeds), Errors::default(), MARGIN);
                self.claims(&answers).mean(What::Either) > 0.0
            };
            let mut counts = Counts::default();
            counts.add(What::Either, share(seeds.clone().any(claims_falsely)), 1.0);
            counts
        })
    }

    /// Counts the claims of one study.
    fn claims(&self, answers: &[Answer]) -> Counts {
        let truth = |scheme: usize| self.schemes[scheme].0;
        let highest = self.schemes.iter().map(|of| of.0).fold(f64::MIN, f64::max);
        let mut counts = Counts::default();
        let (mut headline, mut pairs, mut level) = (false, false, false);
        for answer in answers {
            let leader = truth(answer.order[0]);
            // "Best" is true only of a scheme that is above all others.
            let rivals = self.schemes.iter().filter(|of| of.0 >= leader).count();
            headline |= answer.best && rivals > 1;
            counts.add(What::Best, share(answer.best && rivals == 1), 1.0);
            for pair in &answer.pairs {
                let difference = truth(pair.higher) - truth(pair.lower);
                let proven = pair.finding == Finding::Proven;
                pairs |= proven && difference <= 0.0;
                level |= pair.finding == Finding::Level && difference.abs() >= MARGIN - 1e-12;
                if difference.abs() < 1e-12 {
                    counts.add(What::FoundLevel, share(pair.finding == Finding::Level), 1.0);
                } else if truth(pair.higher).max(truth(pair.lower)) == highest {
                    counts.add(What::Proven, share(proven && difference > 0.0), 1.0);
                }
            }
        }
        for (of, claimed) in [
            (What::Headline, headline),
            (What::Pairs, pairs),
            (What::Either, headline || pairs),
            (What::Level, level),
        ] {
            counts.add(of, share(claimed), 1.0);
        }
        counts
    }

    /// How many of the 95 % intervals of pairs cover the truth.
    fn cover(&self, name: &str, studies: usize) -> Counts {
        counted(studies, |study| {
            let mut counts = Counts::default();
            let scores = self.draw(name, study);
            for answer in judge(&scores, Errors::default(), MARGIN) {
                for pair in &answer.pairs {
                    let truth = self.schemes[pair.higher].0 - self.schemes[pair.lower].0;
                    if let Some(of) = pair.difference.interval(Bounds::UpTo(1.0)) {
                        counts.add(What::Cover, share(of.low <= truth && truth <= of.high), 1.0);
                    }
                }
            }
            counts
        })
    }
}

/// The scores of the first seeds alone.
fn first_seeds(questions: &[Scores], seeds: usize) -> Vec<Scores> {
    let first = |runs: &Vec<f64>| runs[..seeds].to_vec();
    let of_scheme = |tasks: &Vec<Vec<f64>>| tasks.iter().map(first).collect();
    let of_question = |schemes: &Scores| schemes.iter().map(of_scheme).collect();
    questions.iter().map(of_question).collect()
}

fn share(of: bool) -> f64 {
    f64::from(u8::from(of))
}

/// What is counted.
#[derive(Clone, Copy)]
enum What {
    /// Studies with a false "best" in either question.
    Headline,
    /// Studies with a false pair in either question.
    Pairs,
    /// Studies with one of the two.
    Either,
    /// Studies that call a pair level which differs by the margin.
    Level,
    /// True leaders that are called best.
    Best,
    /// True differences from the leader that are proven.
    Proven,
    /// Equal pairs that are called level.
    FoundLevel,
    /// Intervals that cover the truth.
    Cover,
    /// The same of those by Student's t alone.
    CoverUnbounded,
    /// Schemes that have an interval.
    HasOne,
    /// The number of seeds at the end of a study.
    Seeds,
}

/// What happened in the studies of a cell: sums, each with the number of its terms.
#[derive(Clone, Copy, Default)]
struct Counts([[f64; 2]; 11]);

impl Counts {
    fn add(&mut self, what: What, sum: f64, of: f64) {
        let count = &mut self.0[what as usize];
        *count = [count[0] + sum, count[1] + of];
    }

    fn plus(mut self, other: Self) -> Self {
        for (count, other) in self.0.iter_mut().zip(other.0) {
            *count = [count[0] + other[0], count[1] + other[1]];
        }
        self
    }

    fn mean(&self, what: What) -> f64 {
        let [sum, of] = self.0[what as usize];
        sum / of.max(1.0)
    }

    fn percent(&self, what: What) -> f64 {
        100.0 * self.mean(what)
    }
}

/// The counts of all studies, on all cores.
fn counted(studies: usize, of: impl Fn(usize) -> Counts + Sync) -> Counts {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let part = studies.div_ceil(cores);
    let part = |core: usize| core * part..((core + 1) * part).min(studies);
    let sum = |studies: Range<usize>| studies.map(&of).fold(Counts::default(), Counts::plus);
    thread::scope(|scope| {
        let parts: Vec<_> = (0..cores)
            .map(|core| scope.spawn(move || sum(part(core))))
            .collect();
        let parts = parts.into_iter().map(|part| part.join().unwrap());
        parts.fold(Counts::default(), Counts::plus)
    })
}

/// The scores of schemes whose runs follow these laws in turn, in one study of this name.
fn drawn(
    (name, study): (&str, usize),
    laws: &[&'static Law],
    tasks: usize,
    schemes: usize,
    seeds: usize,
) -> Scores {
    let cell = (tasks * 100 + schemes * 10 + seeds) as u64;
    let mut rng = generator(name, study as u64, cell);
    let mut runs = |scheme: usize| -> Vec<Vec<f64>> {
        let score = laws[scheme % laws.len()].score;
        let mut task = || (0..seeds).map(|_| score(scheme, &mut rng)).collect();
        (0..tasks).map(|_| task()).collect()
    };
    (0..schemes).map(&mut runs).collect()
}

/// The intervals of single schemes whose runs follow a law of bounded scores: how many there are, and how many of
/// them cover its mean.
fn own_cover(
    law: &'static Law,
    tasks: usize,
    schemes: usize,
    seeds: usize,
    studies: usize,
) -> Counts {
    counted(studies, |study| {
        let mut counts = Counts::default();
        let scores = drawn(("bounded", study), &[law], tasks, schemes, seeds);
        for interval in intervals(&scores, Bounds::Between(LOWEST, 1.0)) {
            counts.add(What::HasOne, share(interval.is_some()), 1.0);
            if let Some(of) = interval {
                assert!(LOWEST <= of.low && of.high <= 1.0, "{of:?}");
                let covers = of.low <= law.mean && law.mean <= of.high;
                counts.add(What::Cover, share(covers), 1.0);
            }
        }
        counts
    })
}

/// Laws of which every second scheme follows the second, so that their means differ.
const UNLIKE: [[&str; 2]; 3] = [
    ["near 1", "near the floor"],
    ["near 1", "anywhere"],
    ["smooth", "solved or not"],
];

/// The intervals of differences of schemes, every second of which follows another law: the percentages that cover the truth, with the
/// bounds of the scores and by Student's t alone.
fn pairs_cover(
    laws: [&'static Law; 2],
    tasks: usize,
    schemes: usize,
    seeds: usize,
    studies: usize,
) -> [f64; 2] {
    let counts = counted(studies, |study| {
        let mut counts = Counts::default();
        let scores = drawn(("pairs", study), &laws, tasks, schemes, seeds);
        for pair in &judge(&[scores], Errors::default(), MARGIN)[0].pairs {
            let truth = laws[pair.higher % 2].mean - laws[pair.lower % 2].mean;
            for (what, bounds) in [
                (What::Cover, Bounds::Between(LOWEST, 1.0)),
                (What::CoverUnbounded, Bounds::UpTo(1.0)),
            ] {
                if let Some(of) = pair.difference.interval(bounds) {
                    assert_eq!(of.low > 0.0, pair.difference.p().is_some_and(|p| p < 0.05));
                    counts.add(what, share(of.low <= truth && truth <= of.high), 1.0);
                }
            }
        }
        counts
    });
    [What::Cover, What::CoverUnbounded].map(|what| counts.percent(what))
}

/// The share of intervals over seeds and rows that cover the true difference of two schemes: a run is right on a
/// row if the sum of what the scheme, the run, the row and both together bring is above zero. Of every row there are so
/// many equal ones; whether they are drawn together is `known`.
fn rows_cover(seeds: usize, rows: usize, (copies, known): (usize, bool), studies: usize) -> Counts {
    counted(studies, |study| {
        let mut rng = generator("rows", study as u64, (seeds * 100_000 + rows) as u64);
        // What a row brings to one scheme and not to the other does not go away with more seeds.
        let ease: Vec<[f64; 3]> = (0..rows)
            .map(|_| [(); 3].map(|()| normal(&mut rng)))
            .collect();
        let mut scheme = |own: usize| -> RowScores {
            let run = |rng: &mut HostRng| {
                let luck = 0.3 * normal(rng);
                let ease = ease.iter();
                // A run answers equal rows alike.
                ease.map(|row| share(row[0] + 0.7 * row[own] + luck + normal(rng) > -0.5))
                    .flat_map(|right| [right].repeat(copies))
                    .collect()
            };
            (0..seeds).map(|_| run(&mut rng)).collect()
        };
        let (a, b) = (scheme(1), scheme(2));
        let units: Vec<usize> = (0..rows * copies)
            .map(|row| if known { row / copies } else { row })
            .collect();
        // Both schemes are drawn alike, so the true difference is zero.
        let interval = other_rows([&a, &b], &units, 0.05, Bounds::UpTo(1.0)).interval;
        let covers = interval.is_some_and(|i| i.low <= 0.0 && 0.0 <= i.high);
        let mut counts = Counts::default();
        counts.add(What::Cover, share(covers), 1.0);
        counts
    })
}

const EQUAL: [f64; 8] = [0.85; 8];

/// Two schemes share the top, which is the hardest case for the headline.
const TOP: [f64; 8] = [0.85, 0.85, 0.55, 0.55, 0.55, 0.55, 0.55, 0.55];

/// One scheme leads.
const AHEAD: [f64; 8] = [0.95, 0.85, 0.85, 0.85, 0.85, 0.85, 0.85, 0.85];

/// Pairs that differ by exactly the margin.
const APART: [f64; 8] = [0.87, 0.83, 0.85, 0.85, 0.85, 0.85, 0.85, 0.85];

/// The percentage of studies with any false claim of a difference: of those whose schemes are all equal, or of those
/// of which two share the top, whichever is larger.
fn false_differences(
    noise: &'static Noise,
    tasks: usize,
    schemes: usize,
    seeds: usize,
    studies: usize,
) -> f64 {
    let of = |name, truth: &[f64]| {
        Design::new(noise, tasks, &truth[..schemes], seeds).judged(name, studies)
    };
    let (equal, top) = (of("null", &EQUAL), of("top", &TOP));
    equal.percent(What::Either).max(top.percent(What::Either))
}

/// The promise, in cells of few studies: at most 5 % of them claim a difference that is not there.
#[test]
fn few_studies_claim_a_difference_that_is_not_there() {
    for (name, tasks, schemes, seeds, most) in [
        ("Gaussian", 1, 4, 3, 5.0),
        ("Gaussian", 8, 4, 5, 5.0),
        ("unequal", 1, 4, 5, 5.0),
        ("rare failures", 1, 8, 5, 5.0),
        // Without the pooled variances, 65 and 9 % of these.
        ("solved or not", 1, 8, 3, 5.0),
        ("solved or not", 1, 8, 5, 5.0),
        ("solved or not", 3, 8, 3, 5.0),
        // What the page says of these cells is no promise kept.
        ("solved or not", 1, 2, 3, 10.0),
        ("unequal laws", 1, 8, 3, 20.0),
        ("unequal laws", 1, 8, 5, 5.0),
    ] {
        let said = false_differences(noise(name), tasks, schemes, seeds, 200);
        assert!(
            said <= most,
            "{name}, {schemes} schemes, {tasks} tasks, {seeds} seeds: {said} %"
        );
    }
}

/// The promise of the intervals of differences: they cover as much as those without bounds, but for half a percent.
#[test]
fn bounded_intervals_of_differences_cover_as_much_as_others() {
    for names in UNLIKE {
        let covered = [(3, 1), (8, 1), (5, 3)]
            .map(|(seeds, tasks)| pairs_cover(names.map(law), tasks, 3, seeds, 200));
        let [bounded, unbounded] =
            [0, 1].map(|nth| covered.iter().map(|of| of[nth]).sum::<f64>() / 3.0);
        assert!(bounded >= unbounded - 0.5, "{names:?}: {covered:?}");
    }
}

/// The promise of the intervals of single schemes, in cells of few studies.
#[test]
fn intervals_of_schemes_cover_their_means() {
    for (name, tasks, schemes, seeds, least) in [
        ("smooth", 1, 3, 3, 95.0),
        ("near 1", 1, 8, 5, 95.0),
        ("at 1 in three of four", 1, 3, 3, 95.0),
        ("solved or not", 1, 8, 3, 95.0),
        ("solved or not", 3, 3, 5, 95.0),
        ("one in ten fails", 1, 8, 8, 93.0),
        // What the page says of this cell is no promise kept.
        ("one in ten fails", 1, 3, 3, 50.0),
    ] {
        let covered = own_cover(law(name), tasks, schemes, seeds, 400).percent(What::Cover);
        assert!(
            covered >= least,
            "{name}, {schemes} schemes, {tasks} tasks, {seeds} seeds: {covered} %"
        );
    }
}

#[test]
fn equal_rows_are_no_further_evidence() {
    let of = |known| rows_cover(12, 25, (20, known), 60).percent(What::Cover);
    assert!(of(true) > 90.0, "{}", of(true));
    assert!(of(false) < 88.0, "{}", of(false));
}

#[test]
fn two_seeds_prove_nothing() {
    for name in ["Gaussian", "solved or not"] {
        let design = Design::new(noise(name), 8, &AHEAD, 2);
        let counts = design.judged("two", 50);
        for what in [
            What::Headline,
            What::Pairs,
            What::Level,
            What::Best,
            What::Proven,
            What::FoundLevel,
        ] {
            assert_eq!(counts.percent(what), 0.0, "{name}");
        }
    }
}

#[test]
fn level_does_not_end_a_study_before_a_rare_failure_has_been_seen() {
    let design = Design::new(&UNSEEN, 1, &[0.9, 0.84], 12);
    let counts = design.until_decided("unseen", 200);
    let (seeds, level) = (counts.mean(What::Seeds), counts.percent(What::Level));
    assert!(seeds >= 8.0, "{seeds}");
    assert!(level < 50.0, "{level}");
}
