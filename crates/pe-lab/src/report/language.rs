//! What the report says of a language model beyond its scores inside and beyond the training lengths.

use super::data::Data;
use super::summary::{Bits, LanguageRow, LanguageSummary, WrittenText};
use crate::run::Measures;
use crate::stats::{Bounds, intervals, mean};

impl Bits {
    fn of(seeds: Vec<f64>) -> Option<Self> {
        let bits = mean(seeds.iter().copied())?;
        Some(Self {
            bits,
            interval: None, // set when all rows are known
            perplexity: bits.exp2(),
            seeds,
        })
    }
}

impl LanguageSummary {
    /// What is to be said of a task. `None` if no run of it is one of a language model.
    pub fn of(data: &Data<'_>, task: &str) -> Option<Self> {
        let mut found: Option<Self> = None;
        for scheme in data.origin.schemes() {
            let runs: Vec<(u64, &Measures)> = data.measured(task, scheme).collect();
            let measured = runs
                .iter()
                .find_map(|(seed, of)| Some((*seed, *of, of.language.as_ref()?)));
            let Some((seed, first, language)) = measured else {
                continue;
            };
            let own = found.get_or_insert_with(|| Self {
                scored: language.scored,
                stride: language.sliding.stride,
                lengths: first.scores.iter().map(|of| of.length).collect(),
                rows: Vec::new(),
                written: Vec::new(),
            });
            own.written.push(WrittenText {
                scheme: scheme.clone(),
                seed,
                prompt: language.written.prompt.clone(),
                text: language.written.text.clone(),
            });
            let all = || runs.iter().map(|run| run.1);
            let lengths = own.lengths.clone();
            let by_length = |name: Option<&str>| -> Vec<Bits> {
                let at = |length: &usize| {
                    let seeds = all().filter_map(|of| {
                        let scores = line(of, name)?;
                        let score = scores.iter().find(|score| score.length == *length)?;
                        Some(score.score.value())
                    });
                    Bits::of(seeds.collect())
                };
                lengths.iter().filter_map(at).collect()
            };
            let slid = all().filter_map(|of| Some(of.language.as_ref()?.sliding.score.value()));
            own.rows.push(LanguageRow {
                name: scheme.clone(),
                scheme: scheme.clone(),
                lengths: by_length(None),
                sliding: Bits::of(slid.collect()),
            });
            for scaled in &language.scaled {
                own.rows.push(LanguageRow {
                    name: scaled.name.clone(),
                    scheme: scheme.clone(),
                    lengths: by_length(Some(&scaled.name)),
                    sliding: None,
                });
            }
        }
        found.map(Self::with_intervals)
    }

    /// This summary with the intervals of its means: the intervals at one length share the dispersion of all runs.
    fn with_intervals(mut self) -> Self {
        for nth in 0..self.lengths.len() {
            set_intervals(
                self.rows
                    .iter_mut()
                    .filter_map(|row| row.lengths.get_mut(nth)),
            );
        }
        set_intervals(self.rows.iter_mut().filter_map(|row| row.sliding.as_mut()));
        self
    }
}

fn set_intervals<'a>(rows: impl Iterator<Item = &'a mut Bits>) {
    let rows: Vec<&mut Bits> = rows.collect();
    let scores: Vec<[Vec<f64>; 1]> = rows.iter().map(|row| [row.seeds.clone()]).collect();
    for (row, interval) in rows.into_iter().zip(intervals(&scores, Bounds::LOSS)) {
        row.interval = interval;
    }
}

/// The scores of a run by length: its own, or those of the scaling with this name.
pub fn line<'a>(of: &'a Measures, scaled: Option<&str>) -> Option<&'a [crate::learn::LengthScore]> {
    match scaled {
        None => Some(&of.scores),
        Some(name) => {
            let scaled = &of.language.as_ref()?.scaled;
            Some(&scaled.iter().find(|of| of.name == name)?.scores)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::Synthetic;
    use super::super::{charts, table};
    use crate::data::testing::Says;
    use crate::learn::{LanguageScores, LengthScore, PositionScore, Scaled, Sliding, Written};
    use crate::task::Score;

    /// The scores at two lengths of a model that needs these numbers of bits.
    fn scores(inside: f64, beyond: f64) -> Vec<LengthScore> {
        let by_position = |length, bits: f64| {
            let at = |position: usize| PositionScore {
                position,
                score: Score::Bits(bits + 1.0 / (position + 1) as f64),
            };
            (0..length).map(at).collect()
        };
        let at = |(length, bits)| LengthScore {
            length,
            inside: length == 64,
            samples: 256,
            score: Score::Bits(bits),
            exact: None,
            floor: 4.0,
            by_position: by_position(length, bits),
            by_depth: Vec::new(),
            rows: None,
        };
        [(64, inside), (512, beyond)].map(at).to_vec()
    }

    /// Two schemes and two seeds at two lengths: `alibi` keeps its bits, and `rotary` does not.
    fn study() -> Synthetic {
        let study = Synthetic::each(&["text"], &["alibi", "rotary"], 2, |_, _, _| []);
        study.change(|scheme, seed, measures| {
            let more = 0.02 * seed as f64;
            let beyond = if scheme == "alibi" { 2.0 } else { 5.0 };
            measures.scores = scores(2.0 + more, beyond + more);
            let scaled = (scheme == "rotary").then(|| Scaled {
                name: "rotary + yarn (test only)".into(),
                scores: scores(2.2 + more, 2.6 + more),
            });
            measures.language = Some(LanguageScores {
                scored: 32,
                sliding: Sliding {
                    stride: 8,
                    score: Score::Bits(1.9),
                },
                scaled: Vec::from_iter(scaled),
                written: Written {
                    prompt: "It is a truth".into(),
                    text: format!(" <{scheme}> {seed}"),
                },
            });
        })
    }

    #[test]
    fn a_language_model_has_rows_of_its_own_also_for_what_is_on_in_the_test_only() {
        let summary = study().judged();
        let task = &summary.tasks[0];
        let language = task.language.as_ref().unwrap();
        let names: Vec<&str> = language.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["alibi", "rotary", "rotary + yarn (test only)"]);
        assert_eq!(language.lengths, [64, 512]);
        let yarn = &language.rows[2];
        let skill = |scheme: usize| task.schemes[scheme].beyond.as_ref().unwrap().normalized;
        for (number, expected) in [
            (yarn.lengths[1].bits, 2.63),
            (yarn.lengths[1].perplexity, 2.63_f64.exp2()),
            (language.rows[0].sliding.as_ref().unwrap().bits, 1.9),
            // The skill is 1 - bits / floor, and higher is better.
            (skill(0), 1.0 - 2.03 / 4.0),
        ] {
            assert!((number - expected).abs() < 1e-9, "{number}: {expected}");
        }
        assert!(yarn.lengths[1].interval.is_some() && yarn.sliding.is_none());
        assert_eq!(language.written[1].text, " <rotary> 1");
        assert!(skill(1) < 0.0);
        let text = summary.verdict.join("\n") + &table::render(&summary);
        text.says_all(&[
            "Beyond: alibi is",
            "scores: bits per character (lower is better)",
            "2.630 (6.19)",
            "1 for no bit needed",
        ]);
        let table = table::render(&summary);
        assert!(!table.contains("accuracy"), "{table}");
        assert!(!table.contains("correct"), "{table}");
    }

    #[test]
    fn the_page_shows_bits_perplexity_and_what_is_written() {
        let study = study();
        let figures = charts::of_task(&study.data(), &study.judged().tasks[0]).unwrap();
        let names: Vec<&str> = figures.scores.iter().map(|of| of.name.as_str()).collect();
        let expected = "language-text scaling-text position-text bars-text";
        assert_eq!(names.join(" "), expected);
        let [by_length, scalings, ..] = &figures.scores[..] else {
            panic!("four figures")
        };
        // A panel for each scheme that is scaled, and in all of them the same look for a scaling.
        assert!(scalings.svg.contains("rotary: length of the window"));
        assert_eq!(scalings.svg.matches("+ yarn (test only)").count(), 1);
        assert!(!by_length.svg.contains("yarn") && by_length.svg.contains("512 (8×)"));
        let page = study.page(Vec::new());
        page.says_all(&[
            "Bits per character, inside",
            "mean bits per character, lower is better, and that of each seed",
            "&lt;rotary&gt; 1",
            "It is a truth",
            "6.19",
            "moved by 8 tokens",
        ]);
    }
}
