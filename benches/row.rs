//! One row of the results: what was measured, and what was to be reached.

use serde::{Deserialize, Serialize};

/// One comparison. It is printed as a line of JSON, which becomes a row of `RESULTS.md`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What is measured.
    pub bench: String,
    /// What the numbers are.
    pub unit: Unit,
    /// The number of rounds that a median is taken over.
    pub rounds: usize,
    /// Ours first.
    pub ways: Vec<Measured>,
    /// What could not be measured, and why.
    #[serde(default)]
    pub missing: Vec<String>,
    /// A remark for the reader.
    #[serde(default)]
    pub note: Option<String>,
}

/// What the numbers of a row are; less is better for each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Time, on the wall where nothing else is said.
    Seconds,
    /// Memory.
    Bytes,
    /// A largest absolute difference from the exact value.
    Error,
    /// How often something happens.
    Count,
}

/// One way of doing it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// What is done, and by whom.
    pub name: String,
    /// The threads it uses.
    pub threads: usize,
    /// The median over the rounds.
    pub median: f64,
    /// The lower quartile.
    pub low: f64,
    /// The upper quartile.
    pub high: f64,
    /// What our way has to reach against this one.
    #[serde(default)]
    pub target: Option<Target>,
}

/// What has to be reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// Ours is at least this many times as fast as this variant.
    Faster(f64),
    /// Ours takes at most this many times what this variant takes.
    Within(f64),
    /// Our own value is at most this.
    AtMost(f64),
}

impl Measured {
    /// The median and the quartiles of a round's numbers.
    ///
    /// # Panics
    ///
    /// When there are none.
    pub fn of(name: String, threads: usize, target: Option<Target>, mut numbers: Vec<f64>) -> Self {
        numbers.sort_by(f64::total_cmp);
        // Between two numbers in proportion.
        let quantile = |part: f64| {
            let at = (numbers.len() - 1) as f64 * part;
            let (low, high) = (numbers[at.floor() as usize], numbers[at.ceil() as usize]);
            low + (high - low) * at.fract()
        };
        Self {
            name,
            threads,
            median: quantile(0.5),
            low: quantile(0.25),
            high: quantile(0.75),
            target,
        }
    }

    /// A number that is the same every time.
    pub fn exact(name: &str, threads: usize, target: Option<Target>, number: f64) -> Self {
        Self::of(name.to_owned(), threads, target, vec![number])
    }
}

impl Target {
    /// Whether it is reached, by our number and that of the way it belongs to.
    pub fn reached(self, ours: f64, theirs: f64) -> bool {
        match self {
            Self::Faster(times) => theirs >= times * ours,
            Self::Within(times) => ours <= times * theirs,
            Self::AtMost(bound) => ours <= bound,
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Faster(times) => write!(f, "≥ {times}× as fast"),
            Self::Within(times) => write!(f, "≤ {times}× theirs"),
            Self::AtMost(bound) if *bound > 0.0 && *bound < 1e-3 => write!(f, "≤ {bound:.1e}"),
            Self::AtMost(bound) => write!(f, "≤ {bound}"),
        }
    }
}

impl Unit {
    /// A number with its unit.
    pub fn show(self, number: f64) -> String {
        match self {
            Self::Seconds if number < 1e-4 => format!("{:.3} µs", number * 1e6),
            Self::Seconds if number < 10.0 => format!("{:.3} ms", number * 1e3),
            Self::Seconds => format!("{number:.1} s"),
            Self::Bytes => format!("{:.1} MiB", number / f64::from(1 << 20)),
            Self::Error => format!("{number:.2e}"),
            Self::Count => format!("{number}"),
        }
    }
}

impl Row {
    /// Writes the row for people to stderr and as a line of JSON to stdout.
    pub fn print(&self) {
        eprintln!("\n{} (median and quartiles of {})", self.bench, self.rounds);
        for way in &self.ways {
            eprintln!(
                "{:44} {:>12} [{} .. {}] {:>9}, {} threads{}",
                way.name,
                self.unit.show(way.median),
                self.unit.show(way.low),
                self.unit.show(way.high),
                self.ratio(way),
                way.threads,
                way.target.map_or(String::new(), |target| format!(
                    "; {target}: {}",
                    self.verdict(way, target)
                ))
            );
        }
        for missing in &self.missing {
            eprintln!("not measured: {missing}");
        }
        if let Some(note) = &self.note {
            eprintln!("{note}");
        }
        let line = serde_json::to_string(self).expect("a row is plain data");
        println!("{line}");
    }

    /// This value divided by ours.
    pub fn ratio(&self, way: &Measured) -> String {
        match way.median / self.ways[0].median {
            ratio if ratio.is_finite() => format!("{ratio:.2}×"),
            _ => "–".to_owned(),
        }
    }

    /// Whether a target of one of the ways is reached, in a word.
    pub fn verdict(&self, way: &Measured, target: Target) -> &'static str {
        if target.reached(self.ways[0].median, way.median) {
            "reached"
        } else {
            "missed"
        }
    }
}
