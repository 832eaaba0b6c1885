//! Greedy decoding: what a model writes after a prompt.
//!
//! A test does not decode. Greedy decoding writes the right answer exactly if at each place, after the right beginning, the
//! right class is the likeliest, so one forward pass over prompt and answer tells whether it does (`evaluation`). That
//! takes less time, and works for schemes that cannot be decoded from a cache too.

use burn::tensor::{Device, Int, Tensor, TensorData};

use super::evaluation::{chunk, likeliest, probabilities};
use super::model::Model;
use crate::error::LabError;
use crate::task::{Answer, Generation, Sample, Task};

/// What a model has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generated {
    /// The classes, without the end.
    pub answer: Vec<usize>,
    /// Whether the model wrote the end. If not, there was no room for more.
    pub ended: bool,
}

impl Generated {
    /// Adds a class, and says whether there is more to come.
    fn push(&mut self, class: usize, how: &dyn Generation) -> bool {
        match class == how.end() {
            true => self.ended = true,
            false => self.answer.push(class),
        }
        !self.ended
    }
}

/// What a model writes after each prompt: at each place the likeliest class, until it ends the answer, or until the model
/// has read as many tokens as the longest input of the task has.
///
/// Keys and values are kept in a cache where the network has one and the positions of the scheme are 0, 1, 2, …, whatever
/// the length. Elsewhere everything is computed anew for each token; where positions are random, with the mean of the
/// probabilities over several draws of them.
///
/// # Errors
///
/// [`LabError::Usage`] for a task whose answers are not written; [`LabError::Trial`] when classes cannot be read back from the
/// device.
pub fn generate(
    model: &Model,
    task: &dyn Task,
    prompts: &[Vec<usize>],
    device: &Device,
) -> Result<Vec<Generated>, LabError> {
    let Some(how) = task.generation() else {
        return Err(LabError::Usage(format!(
            "{} has no answers that are written",
            task.name()
        )));
    };
    let mut all = vec![Generated::default(); prompts.len()];
    let mut order: Vec<usize> = (0..prompts.len()).collect();
    order.sort_by_key(|row| prompts[*row].len());
    for same in order.chunk_by(|a, b| prompts[*a].len() == prompts[*b].len()) {
        for rows in same.chunks(chunk(task.max_tokens(), task.classes())) {
            let of_rows: Vec<&[usize]> = rows.iter().map(|row| &prompts[*row][..]).collect();
            let written = match decodes_from_cache(model, &of_rows) {
                true => from_cache(model, task, how, &of_rows, device)?,
                false => anew(model, task, how, &of_rows, device)?,
            };
            for (row, written) in rows.iter().zip(written) {
                all[*row] = written;
            }
        }
    }
    Ok(all)
}

/// Whether the keys of a token are the same however long the input becomes, and the network keeps them.
fn decodes_from_cache(model: &Model, prompts: &[&[usize]]) -> bool {
    let scheme = model.scheme();
    let in_order = |prompt: &&[usize]| scheme.encoding.token_positions(prompt, 0).is_none();
    model.caches().is_some()
        && scheme.max_position.is_none()
        && scheme.grid.is_none()
        && prompts.iter().all(in_order)
}

/// The answers to prompts of one length.
fn from_cache(
    model: &Model,
    task: &dyn Task,
    how: &dyn Generation,
    prompts: &[&[usize]],
    device: &Device,
) -> Result<Vec<Generated>, LabError> {
    let rows = prompts.len();
    let tensor = |tokens: Vec<i32>| {
        let seq = tokens.len() / rows;
        Tensor::<2, Int>::from_data(TensorData::new(tokens, [rows, seq]), device)
    };
    let mut all = vec![Generated::default(); rows];
    let Some(mut caches) = model.caches() else {
        return Ok(all);
    };
    let length = prompts.first().map_or(0, |prompt| prompt.len());
    let prompt = prompts.iter().flat_map(|prompt| prompt.iter());
    let mut new = tensor(prompt.map(|token| *token as i32).collect());
    for _ in length..=task.max_tokens() {
        let logits = model.decode(new, &mut caches);
        let classes = likeliest(logits, task).into_data();
        let classes: Vec<usize> = classes.iter::<i64>().map(|class| class as usize).collect();
        let mut more = false;
        for (written, class) in all.iter_mut().zip(&classes) {
            more |= !written.ended && written.push(*class, how);
        }
        if !more {
            break;
        }
        // A row that has ended goes on with any token, which no other row sees.
        let token = |class: &usize| {
            if *class == how.end() {
                0
            } else {
                how.token(*class) as i32
            }
        };
        new = tensor(classes.iter().map(token).collect());
    }
    Ok(all)
}

/// The answers to prompts of one length without a cache: a forward pass over the whole sequence for each token.
fn anew(
    model: &Model,
    task: &dyn Task,
    how: &dyn Generation,
    prompts: &[&[usize]],
    device: &Device,
) -> Result<Vec<Generated>, LabError> {
    let mut all = vec![Generated::default(); prompts.len()];
    let length = prompts.first().map_or(0, |prompt| prompt.len());
    let mut tokens: Vec<Vec<usize>> = prompts.iter().map(|prompt| prompt.to_vec()).collect();
    let mut open: Vec<usize> = (0..prompts.len()).collect();
    for _ in length..=task.max_tokens() {
        let sample = |row: &usize| {
            let position = tokens[*row].len() - 1;
            Sample::new(tokens[*row].clone(), vec![Answer { position, class: 0 }])
        };
        let samples: Vec<Sample> = open.iter().map(sample).collect();
        let shares = probabilities(model, task.readout(), &samples, device)?;
        let unknown = how.unknown();
        let mut next = Vec::new();
        for (row, shares) in open.iter().zip(shares) {
            let classes = shares.iter().enumerate();
            let known = classes.filter(|(class, _)| Some(*class) != unknown);
            // Of equal probabilities the first, as `argmax` takes on a device.
            let best = known.rev().max_by(|a, b| a.1.total_cmp(b.1));
            let class = best.map_or(how.end(), |(class, _)| class);
            if all[*row].push(class, how) {
                tokens[*row].push(how.token(class));
                next.push(*row);
            }
        }
        open = next;
        if open.is_empty() {
            break;
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::evaluation::outcomes;
    use super::*;
    use crate::ask::{ModelSpec, Scheme, Tasks};
    use crate::data::testing::Says;
    use crate::task::Prompted;

    fn model(task: &dyn Task, scheme: &str) -> Model {
        let sizes = ModelSpec {
            d_model: 16,
            heads: 2,
            d_ff: 32,
            ..ModelSpec::default()
        };
        let scheme = Scheme::by_name(scheme, &sizes, task.positions()).unwrap();
        Model::init(&sizes, task, &scheme, 1, &Device::flex()).unwrap()
    }

    /// One pass over the prompt and what greedy decoding wrote finds every place right, with a cache and without one; if
    /// one place is changed, it finds that place wrong.
    #[test]
    fn one_pass_finds_right_what_greedy_decoding_writes() {
        let device = Device::flex();
        for (name, length) in [("reverse(causal)", 10), ("addition(causal)", 12)] {
            let task = Tasks::default().get(name).unwrap();
            let task = task.as_ref();
            let how = task.generation().unwrap();
            let set = task.test_set(length);
            let some = set.iter().take(12);
            let prompts: Vec<Vec<usize>> = some.map(|of| Prompted::of(of).prompt).collect();
            for scheme in "none sinusoidal learned rotary alibi t5 cope fox".split(' ') {
                let model = model(task, scheme);
                let written = generate(&model, task, &prompts, &device).unwrap();
                let of_rows: Vec<&[usize]> = prompts.iter().map(|prompt| &prompt[..]).collect();
                for of_row in of_rows.chunk_by(|a, b| a.len() == b.len()) {
                    assert!(decodes_from_cache(&model, of_row), "{scheme}");
                }
                let again: Vec<Generated> = of_rows
                    .iter()
                    .flat_map(|row| anew(&model, task, how, &[row], &device).unwrap())
                    .collect();
                assert_eq!(written, again, "{name}, {scheme}");
                for (row, (prompt, written)) in prompts.iter().zip(&written).enumerate() {
                    let mut answer = written.answer.clone();
                    answer.truncate(10);
                    let hits = |answer: &[usize]| {
                        let prompt = prompt.clone();
                        let answer = answer.to_vec();
                        let sample = Prompted { prompt, answer }.sample(how);
                        let mut source = model.scheme().first_for_test(length);
                        outcomes(&model, task, &[sample], &mut source, &device).unwrap()
                    };
                    let right = hits(&answer);
                    let all = right[..answer.len()].iter().all(|hit| *hit == 1.0);
                    assert!(all, "{name}, {scheme}: {right:?}");
                    if let Some(changed) = answer.get_mut(row % 10) {
                        *changed = (*changed + 1) % 8;
                        assert_eq!(hits(&answer)[row % 10], 0.0, "{name}, {scheme}");
                    }
                }
            }
        }
    }

    #[test]
    fn random_positions_and_other_lengths_are_no_obstacle() {
        let device = Device::flex();
        let task = Tasks::default().get("majority(causal)").unwrap();
        let of = |length: usize| Prompted::of(&task.test_set(length)[0]).prompt;
        let prompts = [of(21), of(10), of(20), of(10)];
        for scheme in ["randomized_rotary", "rotary"] {
            let model = model(task.as_ref(), scheme);
            let together = generate(&model, task.as_ref(), &prompts, &device).unwrap();
            assert_eq!(together.len(), 4);
            assert_eq!(together[1], together[3]);
            for (prompt, written) in prompts.iter().zip(&together) {
                let alone =
                    generate(&model, task.as_ref(), std::slice::from_ref(prompt), &device).unwrap();
                assert_eq!(alone, std::slice::from_ref(written), "{scheme}");
                // It stops where the longest input of the task would end.
                let tokens = prompt.len() + written.answer.len();
                let is_full = tokens == task.max_tokens() + 1;
                assert!(written.ended || is_full, "{scheme}: {tokens}");
            }
        }
        let plain = Tasks::default().get("majority").unwrap();
        let error = generate(&model(plain.as_ref(), "none"), plain.as_ref(), &[], &device);
        error.unwrap_err().says("majority has no answers");
    }
}
