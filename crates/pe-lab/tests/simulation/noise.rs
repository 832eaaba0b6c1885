//! How the scores of made-up runs vary.

use pe_lab::rng::{HostRng, RngExt};

/// How the score of a run lies around the true mean of its scheme on a task.
pub struct Noise {
    pub name: &'static str,
    /// `shared` is a standard normal draw, the same for all tasks of a scheme at a seed.
    pub score: fn(mean: f64, scheme: usize, shared: f64, rng: &mut HostRng) -> f64,
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
    Noise {
        name: "Gaussian",
        score: |mean, _, _, rng| mean + SPREAD * normal(rng),
    },
    Noise {
        name: "unequal",
        score: |mean, scheme, _, rng| {
            let spread = SPREAD * 4f64.powf((scheme as f64 - 3.0) / 3.0);
            mean + spread.min(0.2) * normal(rng)
        },
    },
    Noise {
        name: "ties at 1",
        score: |mean, _, _, rng| {
            // The mean of the lower runs makes up for those at 1.
            let lower = 1.0 - 4.0 * (1.0 - mean);
            match rng.random::<f64>() < 0.75 {
                true => 1.0,
                false => lower + SPREAD * normal(rng),
            }
        },
    },
    Noise {
        name: "bimodal",
        score: |mean, _, _, rng| {
            let side = if rng.random::<bool>() { 0.3 } else { -0.3 };
            mean + side + 0.02 * normal(rng)
        },
    },
    Noise {
        name: "rare failures",
        score: |mean, _, _, rng| {
            let failure = if rng.random::<f64>() < 0.1 { 0.6 } else { 0.0 };
            mean + 0.06 - failure + 0.02 * normal(rng)
        },
    },
    Noise {
        name: "shared",
        score: |mean, _, shared, rng| mean + SPREAD * 0.5f64.sqrt() * (shared + normal(rng)),
    },
    Noise {
        name: "skewed",
        score: |mean, _, _, rng| {
            let tail = -(1.0 - rng.random::<f64>()).ln();
            mean + SPREAD * (1.0 - tail)
        },
    },
    Noise {
        name: "discrete",
        score: |mean, _, _, rng| mean + 0.1 * (rng.random_range(0..3) as f64 - 1.0),
    },
    Noise {
        name: "solved or not",
        score: |mean, _, _, rng| solved(mean, 0.5, rng),
    },
    Noise {
        name: "unequal laws",
        score: |mean, scheme, _, rng| match scheme % 2 {
            0 => mean + 0.01 * normal(rng),
            _ => solved(mean, 0.75, rng),
        },
    },
];

/// The one of this name.
pub fn noise(name: &str) -> &'static Noise {
    NOISES.iter().find(|noise| noise.name == name).unwrap()
}

/// One scheme never fails and the other one in one run of ten, by 0.6, so that their means differ by 0.06.
pub const UNSEEN: Noise = Noise {
    name: "unseen",
    score: |mean, scheme, _, rng| {
        let fails = scheme == 1 && rng.random::<f64>() < 0.1;
        let failure = if fails { 0.6 } else { 0.0 };
        mean + 0.06 * scheme as f64 - failure + 0.002 * normal(rng)
    },
};
