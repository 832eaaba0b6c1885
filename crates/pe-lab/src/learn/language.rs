//! What a language model is tested on beyond its test sets: a sliding window, scalings of RoPE that training
//! did not have, and a text that it writes.

use burn::tensor::Device;
use burn::tensor::activation::softmax;
use serde::{Deserialize, Serialize};

use super::batch::TensorBatch;
use super::evaluation::{Keep, LengthScore, evaluate_at, mean_over_draws};
use super::model::Model;
use crate::ask::{Lengths, Scheme, TestScaling};
use crate::error::LabError;
use crate::rng::{HostRng, RngExt, generator};
use crate::task::{Answer, NextToken, Readout, Sample, Score, Task};

/// A sliding window moves by at most the training length divided by this.
const STRIDE: usize = 8;
/// The tokens that a model writes.
const WRITTEN: usize = 240;
/// The temperature of what it writes: below 1, so that likely tokens become likelier.
pub const TEMPERATURE: f64 = 0.8;

/// What was measured of a language model beyond its scores by length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LanguageScores {
    /// How many of the last tokens of a window are scored.
    pub scored: usize,
    /// The score of windows of the training length on the same tokens.
    pub sliding: Sliding,
    /// The scores of the same model with a scaling of RoPE that it was not trained with.
    #[serde(default)]
    pub scaled: Vec<Scaled>,
    /// What it writes.
    pub written: Written,
}

/// The score of windows of the training length, each of which is `stride` tokens after the one before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sliding {
    /// The tokens from one window to the next, the only ones scored in it.
    pub stride: usize,
    /// The mean over all tokens that the windows of the test score too.
    #[serde(flatten)]
    pub score: Score,
}

/// How the name of a scheme ends whose scaling of RoPE is on in the test only.
pub const TEST_ONLY: &str = " (test only)";

/// The scores of a model with a scaling of RoPE that is on in the test only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaled {
    /// The scheme and the scaling, as `rotary + yarn (test only)`.
    pub name: String,
    /// The scores, by length.
    pub scores: Vec<LengthScore>,
}

/// A text that a model writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The beginning, from the held-out part of the text.
    pub prompt: String,
    /// How the model goes on, at a temperature of 0.8.
    pub text: String,
}

/// Measures a language model beyond its scores by length, also with scalings of RoPE that it was not trained with. `None` for
/// any other task.
///
/// # Errors
///
/// [`LabError::Trial`] when the answers cannot be read back from the device.
pub fn evaluate_language(
    model: &Model,
    task: &dyn Task,
    scalings: &[TestScaling],
    device: &Device,
) -> Result<Option<LanguageScores>, LabError> {
    let Some(language) = task.language() else {
        return Ok(None);
    };
    Ok(Some(LanguageScores {
        scored: language.scored(),
        sliding: sliding(model, language, device)?,
        scaled: scaled(model, task, scalings, device)?,
        written: write(model, language, device)?,
    }))
}

/// The largest stride that divides what is scored and is at most an eighth of the training length.
fn stride(language: &NextToken) -> usize {
    let most = (language.train_length() / STRIDE).max(1);
    let divides = |stride: &usize| language.scored().is_multiple_of(*stride);
    (1..=most).rev().find(divides).unwrap_or(1)
}

fn sliding(model: &Model, language: &NextToken, device: &Device) -> Result<Sliding, LabError> {
    let stride = stride(language);
    let windows = language.sliding(stride);
    let score = mean_over_draws(model, language, language.train_length(), &windows, device)?;
    Ok(Sliding { stride, score })
}

/// The scheme of a model with each scaling that it takes, each with its name. A scaling has one configuration for all
/// lengths, as a model has it in its `config.json`; without numbers of its own it is made for the longest of them. The
/// dynamic one follows the length by itself.
fn scaled_schemes(
    scheme: &Scheme,
    scalings: &[TestScaling],
    lengths: Lengths,
) -> Result<Vec<Scheme>, LabError> {
    if scheme.max_position.is_some() || lengths.longest <= lengths.trained {
        return Ok(Vec::new());
    }
    let mut schemes = Vec::new();
    for scaling in scalings {
        if let Some(encoding) = scheme.encoding.with_scaling(scaling.scaling(lengths)?) {
            schemes.push(Scheme {
                name: format!("{} + {scaling}{TEST_ONLY}", scheme.name),
                encoding,
                ..scheme.clone()
            });
        }
    }
    Ok(schemes)
}

fn scaled(
    model: &Model,
    task: &dyn Task,
    scalings: &[TestScaling],
    device: &Device,
) -> Result<Vec<Scaled>, LabError> {
    let lengths = task.test_lengths();
    let schemes = scaled_schemes(model.scheme(), scalings, Lengths::of(task))?;
    let of = |scheme: Scheme| {
        let name = scheme.name.clone();
        let model = model.clone().with_scheme(scheme, device)?;
        let scores = lengths
            .iter()
            .map(|length| evaluate_at(&model, task, *length, device, Keep::Scores));
        let scores = scores.collect::<Result<_, LabError>>()?;
        Ok(Scaled { name, scores })
    };
    schemes.into_iter().map(of).collect()
}

/// Continues the prompt of a task. What is written becomes longer than the training length: how a model goes on
/// there is a part of what its scheme does.
fn write(model: &Model, language: &NextToken, device: &Device) -> Result<Written, LabError> {
    let prompt = language.prompt();
    let mut rng = generator("text written", 0, 0);
    // A learned table ends at the longest tested length.
    let room = model.scheme().longest().unwrap_or(usize::MAX);
    let end = (prompt.len() + WRITTEN).min(room);
    let mut tokens = prompt.clone();
    while tokens.len() < end {
        let last = Answer {
            position: tokens.len() - 1,
            class: 0,
        };
        let sample = [Sample::new(tokens.clone(), vec![last])];
        let batch = TensorBatch::new(&sample, Readout::PerToken, device);
        let mut source = model.scheme().first_for_test(tokens.len());
        let batch = batch.at(&sample, &mut source)?;
        let logits = model.forward(batch.input, None, &batch.positions, batch.read);
        let shares = softmax(logits / TEMPERATURE, 1).into_data();
        let shares: Vec<f64> = shares.iter::<f32>().map(f64::from).collect();
        tokens.push(drawn(&shares, &mut rng));
    }
    Ok(Written {
        prompt: language.text(&prompt),
        text: language.text(&tokens[prompt.len()..]),
    })
}

/// A number drawn with these probabilities.
fn drawn(shares: &[f64], rng: &mut HostRng) -> usize {
    let mut left = rng.random::<f64>() * shares.iter().sum::<f64>();
    let found = shares.iter().position(|share| {
        left -= share;
        left < 0.0
    });
    // Because of rounding, a little may be left after the last probability.
    found.unwrap_or(shares.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::evaluate;
    use crate::learn::testing::{model, text};
    use crate::task::Reverse;

    #[test]
    fn a_window_slid_by_all_that_is_scored_is_the_plain_test_at_the_training_length() {
        let (task, device) = (text(), Device::flex());
        for scheme in ["sinusoidal", "alibi", "randomized_rotary"] {
            let model = model(&task, scheme);
            let scores = evaluate(&model, &task, &device, Keep::Scores).unwrap();
            let windows = task.sliding(task.scored());
            let slid = mean_over_draws(&model, &task, 16, &windows, &device).unwrap();
            let (slid, plain) = (slid.value(), scores[0].score.value());
            assert!((slid - plain).abs() < 1e-6, "{scheme}: {slid}, {plain}");
            // With another stride the tokens have other contexts.
            let finer = sliding(&model, &task, &device).unwrap();
            assert_eq!(finer.stride, 2);
            assert!((finer.score.value() - plain).abs() > 1e-6, "{scheme}");
            // Only the last answers are scored, and all are in the curve.
            for score in &scores {
                assert_eq!(score.by_position.len(), score.length);
                let last = &score.by_position[score.length - task.scored()..];
                let mean = last.iter().map(|at| at.score.value()).sum::<f64>() / last.len() as f64;
                assert!((mean - score.score.value()).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn rotary_alone_is_tested_with_scalings_that_change_it_beyond_training() {
        let (task, device) = (text(), Device::flex());
        let plain = model(&task, "rotary");
        let scores = evaluate(&plain, &task, &device, Keep::Scores).unwrap();
        let usual = TestScaling::usual();
        let of = |model: &Model, task: &dyn Task| {
            evaluate_language(model, task, &usual, &device).unwrap()
        };
        let language = of(&plain, &task).unwrap();
        let names: Vec<&str> = language.scaled.iter().map(|of| of.name.as_str()).collect();
        let expected =
            ["linear", "ntk", "yarn", "dynamic"].map(|s| format!("rotary + {s} (test only)"));
        assert_eq!(names, expected);
        let bits = |scores: &[LengthScore]| -> Vec<f64> {
            scores.iter().map(|score| score.score.value()).collect()
        };
        let [linear, ntk, _, dynamic] = [0, 1, 2, 3].map(|i| bits(&language.scaled[i].scores));
        let plain = bits(&scores);
        assert_eq!(plain.len(), 4);
        // One factor for all lengths.
        for (linear, bits) in linear.iter().zip(&plain) {
            assert!((linear - bits).abs() > 1e-6);
        }
        // The dynamic one does nothing up to the training length, and is NTK's at the longest.
        assert!((dynamic[0] - plain[0]).abs() < 1e-6);
        assert!((dynamic[1] - plain[1]).abs() > 1e-7);
        assert!((dynamic[3] - ntk[3]).abs() < 1e-6);
        for other in ["none", "alibi", "learned", "randomized_rotary", "xpos"] {
            let language = of(&model(&task, other), &task).unwrap();
            assert!(language.scaled.is_empty(), "{other}");
        }
        assert_eq!(of(&model(&Reverse, "rotary"), &Reverse), None);
    }

    #[test]
    fn scalings_of_the_test_have_factors_by_choice() {
        let (task, device) = (text(), Device::flex());
        let of = |names: &[&str], scheme: &str| -> Vec<(String, f64)> {
            let scaling = |name: &&str| TestScaling::try_from(name.to_string()).unwrap();
            let scalings: Vec<TestScaling> = names.iter().map(scaling).collect();
            let model = model(&task, scheme);
            let language = evaluate_language(&model, &task, &scalings, &device);
            let scaled = language.unwrap().unwrap().scaled.into_iter();
            let named = scaled.map(|of| (of.name, of.scores[3].score.value()));
            named.collect()
        };
        let scalings = ["ntk", "ntk(factor=2)", "ntk(factor=8)", "llama3"];
        let [own, two, eight, llama] = &of(&scalings, "rotary")[..] else {
            panic!("four scalings")
        };
        assert_eq!(two.0, "rotary + ntk(factor=2) (test only)");
        assert_eq!(llama.0, "rotary + llama3 (test only)");
        // Windows of 16 tokens, tested at 128.
        assert_eq!(own.1, eight.1);
        assert!((two.1 - eight.1).abs() > 1e-6 && (llama.1 - eight.1).abs() > 1e-6);
        assert!(of(&[], "rotary").is_empty());
        // A training that has a scaling of its own gets no other.
        assert!(of(&["ntk"], "rotary(scaling=yarn,factor=2)").is_empty());
    }

    #[test]
    fn a_model_writes_the_same_text_each_time_and_starts_with_the_prompt() {
        let (task, device) = (text(), Device::flex());
        let of = |scheme| write(&model(&task, scheme), &task, &device).unwrap();
        let written = of("rotary");
        assert_eq!(written, of("rotary"));
        assert_eq!(written.prompt, task.text(&task.prompt()));
        assert_eq!(written.text.split(' ').count(), WRITTEN);
        // The learned table has 128 rows, and 8 are for the prompt.
        assert_eq!(of("learned").text.split(' ').count(), 120);
    }

    #[test]
    fn numbers_are_drawn_as_often_as_their_shares() {
        let mut rng = generator("drawn", 1, 0);
        let mut counts = [0; 4];
        (0..10_000).for_each(|_| counts[drawn(&[0.5, 0.0, 0.2, 0.3], &mut rng)] += 1);
        for (count, expected) in counts.into_iter().zip([5_000_i32, 0, 2_000, 3_000]) {
            assert!((count - expected).abs() < 200, "{counts:?}");
        }
        assert_eq!(counts[1], 0);
    }
}
