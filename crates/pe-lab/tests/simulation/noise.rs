//! How the scores of made-up runs vary.

use pe_lab::rng::{HostRng, RngExt};

/// The score of a run. `shared` is a standard normal draw, the same for all tasks of a scheme at a seed.
type ScoreOf = fn(mean: f64, scheme: usize, shared: f64, rng: &mut HostRng) -> f64;

/// How the score of a run lies around the true mean of its scheme on a task.
pub struct Noise {
    pub name: &'static str,
    pub score: ScoreOf,
}

impl Noise {
    const fn new(name: &'static str, score: ScoreOf) -> Self {
        Self { name, score }
    }
}

/// A standard normal draw.
pub fn normal(rng: &mut HostRng) -> f64 {
    // Box and Muller; 1 − u is never zero.
    let (u, v) = (rng.random::<f64>(), rng.random::<f64>());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// A run is solved with this probability, and else lower by 0.93.
fn solved(mean: f64, probability: f64, rng: &mut HostRng) -> f64 {
    let lower = if rng.random::<f64>() < probability {
        0.0
    } else {
        0.93
    };
    mean + 0.93 * (1.0 - probability) - lower + 0.01 * normal(rng)
}

/// The standard deviation of most of them.
const SPREAD: f64 = 0.05;

pub const NOISES: [Noise; 10] = [
    Noise::new("Gaussian", |mean, _, _, rng| mean + SPREAD * normal(rng)),
    Noise::new("unequal", |mean, scheme, _, rng| {
        let spread = SPREAD * 4f64.powf((scheme as f64 - 3.0) / 3.0);
        mean + spread.min(0.2) * normal(rng)
    }),
    Noise::new("ties at 1", |mean, _, _, rng| {
        // The mean of the lower runs makes up for those at 1.
        let lower = 1.0 - 4.0 * (1.0 - mean);
        match rng.random::<f64>() < 0.75 {
            true => 1.0,
            false => lower + SPREAD * normal(rng),
        }
    }),
    Noise::new("bimodal", |mean, _, _, rng| {
        let side = if rng.random::<bool>() { 0.3 } else { -0.3 };
        mean + side + 0.02 * normal(rng)
    }),
    Noise::new("rare failures", |mean, _, _, rng| {
        let failure = if rng.random::<f64>() < 0.1 { 0.6 } else { 0.0 };
        mean + 0.06 - failure + 0.02 * normal(rng)
    }),
    Noise::new("shared", |mean, _, shared, rng| {
        mean + SPREAD * 0.5f64.sqrt() * (shared + normal(rng))
    }),
    Noise::new("skewed", |mean, _, _, rng| {
        let tail = -(1.0 - rng.random::<f64>()).ln();
        mean + SPREAD * (1.0 - tail)
    }),
    Noise::new("discrete", |mean, _, _, rng| {
        mean + 0.1 * (rng.random_range(0..3) as f64 - 1.0)
    }),
    Noise::new("solved or not", |mean, _, _, rng| solved(mean, 0.5, rng)),
    Noise::new("unequal laws", |mean, scheme, _, rng| match scheme % 2 {
        0 => mean + 0.01 * normal(rng),
        _ => solved(mean, 0.75, rng),
    }),
];

/// The one of this name.
pub fn noise(name: &str) -> &'static Noise {
    NOISES.iter().find(|noise| noise.name == name).unwrap()
}

/// One scheme never fails and the other one in one run of ten, by 0.6, so that their means differ by 0.06.
pub const UNSEEN: Noise = Noise::new("unseen", |mean, scheme, _, rng| {
    let fails = scheme == 1 && rng.random::<f64>() < 0.1;
    let failure = if fails { 0.6 } else { 0.0 };
    mean + 0.06 * scheme as f64 - failure + 0.002 * normal(rng)
});

/// How the scores of runs vary between the lowest and the highest that are possible.
pub struct Law {
    pub name: &'static str,
    /// The mean of every scheme.
    pub mean: f64,
    pub score: fn(scheme: usize, rng: &mut HostRng) -> f64,
}

impl Law {
    const fn new(name: &'static str, mean: f64, score: fn(usize, &mut HostRng) -> f64) -> Self {
        Self { name, mean, score }
    }
}

/// The lowest score: no answer is right, and the floor is 0.2. The highest is 1.
pub const LOWEST: f64 = -0.25;

/// A score of a beta distribution with this mean, and of this precision, between the bounds.
fn beta(mean: f64, precision: f64, rng: &mut HostRng) -> f64 {
    let x = (mean - LOWEST) / (1.0 - LOWEST);
    let (a, b) = (gamma(x * precision, rng), gamma((1.0 - x) * precision, rng));
    LOWEST + (1.0 - LOWEST) * a / (a + b)
}

/// A gamma variate (Marsaglia and Tsang 2000; one of a shape below 1 is made of one above it).
fn gamma(shape: f64, rng: &mut HostRng) -> f64 {
    if shape < 1.0 {
        let u: f64 = 1.0 - rng.random::<f64>();
        return gamma(shape + 1.0, rng) * u.powf(1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    loop {
        let x = normal(rng);
        let v = (1.0 + x / (9.0 * d).sqrt()).powi(3);
        let u = 1.0 - rng.random::<f64>();
        if v > 0.0 && u.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

/// `high` with this probability, else `low`, and a little more or less.
fn either(high: f64, low: f64, probability: f64, rng: &mut HostRng) -> f64 {
    let around = 0.01 * (2.0 * rng.random::<f64>() - 1.0);
    around
        + if rng.random::<f64>() < probability {
            high
        } else {
            low
        }
}

pub const LAWS: [Law; 8] = [
    Law::new("smooth", 0.85, |_, rng| beta(0.85, 40.0, rng)),
    Law::new("near 1", 0.97, |_, rng| beta(0.97, 20.0, rng)),
    Law::new("anywhere", 0.5, |_, rng| beta(0.5, 2.0, rng)),
    Law::new("at 1 in three of four", 0.85, |_, rng| {
        match rng.random::<f64>() < 0.75 {
            true => 1.0,
            false => beta(0.4, 20.0, rng),
        }
    }),
    Law::new("solved or not", 0.515, |_, rng| {
        either(0.98, 0.05, 0.5, rng)
    }),
    Law::new("one in ten fails", 0.92, |_, rng| {
        either(0.98, 0.38, 0.9, rng)
    }),
    Law::new("near the floor", 0.01, |_, rng| {
        either(0.01, 0.01, 0.5, rng)
    }),
    Law::new("unequal laws", 0.75, |scheme, rng| match scheme % 2 {
        0 => either(0.75, 0.75, 0.5, rng),
        _ => either(0.98, 0.06, 0.75, rng),
    }),
];

/// The one of this name.
pub fn law(name: &str) -> &'static Law {
    LAWS.iter().find(|law| law.name == name).unwrap()
}
