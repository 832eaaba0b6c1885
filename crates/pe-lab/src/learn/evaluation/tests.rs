use super::*;
use crate::ask::{ModelSpec, Scheme};
use crate::learn::testing::{model, text};
use crate::task::{Majority, Passkey, Reverse};

#[test]
fn long_sequences_go_through_in_smaller_batches() {
    let of = |tokens| chunk(tokens, 256);
    assert_eq!((of(1), of(82), of(128)), (128, 128, 128));
    assert_eq!((of(129), of(512), of(10_000)), (126, 8, 1));
    // 50,257 entries are the vocabulary of GPT-2.
    assert_eq!((chunk(64, 8_192), chunk(64, 50_257)), (128, 20));
    assert_eq!(chunk(1, usize::MAX), 1);

    let set = text().test_set(64);
    let longest = set.iter().map(|sample| sample.input.len()).max();
    assert_eq!((set.len(), longest), (59, Some(64)));
    let model = model(&text(), "learned");
    let sizes =
        |classes| -> Vec<usize> { batches(&model, &set, classes).map(<[_]>::len).collect() };
    assert_eq!(sizes(7), [59]);
    assert_eq!(sizes(50_257), [20, 20, 19]);
}

fn right(right: &[u32], asked: u32) -> Option<RowOutcomes> {
    let right = right.to_vec();
    Some(RowOutcomes::Right { right, asked })
}

#[test]
fn a_score_counted_by_hand() {
    let set: Vec<Sample> = Reverse.test_set(10).into_iter().take(2).collect();
    let mut outcomes = vec![1.0; 20];
    outcomes[3] = 0.0;
    let score = score(&Reverse, 10, &set, &outcomes, Keep::Rows);
    assert_eq!(score.rows, right(&[9, 10], 10));
    assert_eq!(score.score, Score::Accuracy(0.95));
    assert_eq!((score.exact, score.samples), (Some(0.5), 2));
    assert!(score.inside);
    assert_eq!(score.by_position.len(), 10);
    for place in &score.by_position {
        let expected = if place.position == 4 { 0.5 } else { 1.0 };
        assert_eq!(place.score, Score::Accuracy(expected));
    }
    let normalized = (0.95 - score.floor) / (1.0 - score.floor);
    assert_eq!(score.normalized(), normalized);
}

#[test]
fn scores_by_depth_are_those_of_the_answers_that_ask_there() {
    let set = Passkey.test_set(20);
    // Wrong where the mark is in the last fifth: at one of the last places of 14, from the twelfth on.
    let outcomes: Vec<f64> = set
        .iter()
        .flat_map(|sample| {
            let mark = sample.input.tokens().iter().position(|t| *t == 8).unwrap() - 1;
            vec![if mark >= 11 { 0.0 } else { 1.0 }; sample.answers.len()]
        })
        .collect();
    let one = score(&Passkey, 20, &set, &outcomes, Keep::Scores);
    let cells = one.by_depth.iter();
    let cells: Vec<(usize, f64)> = cells.map(|c| (c.fifth, c.score.value())).collect();
    assert_eq!(cells, [(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0), (4, 0.0)]);
    let asked: usize = one.by_depth.iter().map(|cell| cell.asked).sum();
    assert_eq!(asked, 512 * 3);
    let right = vec![1.0; outcomes.len()];
    let both = mean(vec![one, score(&Passkey, 20, &set, &right, Keep::Scores)]);
    assert_eq!(both.by_depth[4].score, Score::Accuracy(0.5));
    // Other tasks have none, and their results are written as before there were depths.
    let set: Vec<Sample> = Reverse.test_set(10).into_iter().take(2).collect();
    let none = score(&Reverse, 10, &set, &[0.0; 20], Keep::Scores);
    let text = serde_json::to_string(&none).unwrap();
    assert!(none.by_depth.is_empty(), "{none:?}");
    assert!(!text.contains("by_depth"), "{text}");
}

/// Also among longer and other sequences, with random positions, and for every scheme on inputs with times.
#[test]
fn a_prediction_does_not_depend_on_the_other_rows() {
    let device = Device::flex();
    let set: Vec<Sample> = Majority.test_set(11).into_iter().take(5).collect();
    let longer: Vec<Sample> = Majority.test_set(21).into_iter().take(3).collect();
    let timed = |samples: &[Sample]| -> Vec<Sample> {
        let times = |sample: &Sample| (0..sample.input.len()).map(|i| (i * i) as f64 / 3.0);
        let timed = |sample: &Sample| Sample {
            times: Some(times(sample).collect()),
            ..sample.clone()
        };
        samples.iter().map(timed).collect()
    };
    let untimed = ["rotary", "randomized_rotary"].map(|name| (name, false));
    let sizes = ModelSpec::default();
    let with_times = Scheme::names_for(&Majority, &sizes).map(|name| (name, true));
    for (name, has_times) in untimed.into_iter().chain(with_times) {
        let model = model(&Majority, name);
        if model.scheme().needs_grid() {
            continue;
        }
        let (set, longer) = match has_times {
            true => (timed(&set), timed(&longer)),
            false => (set.clone(), longer.clone()),
        };
        let of = |samples: &[Sample]| {
            probabilities(&model, Readout::MeanPooled, samples, &device).unwrap()
        };
        let all = of(&[longer.clone(), set.clone()].concat());
        for (sample, among) in set.iter().zip(&all[3..]) {
            let alone = &of(std::slice::from_ref(sample))[0];
            let apart = alone.iter().zip(among).map(|(a, b)| (a - b).abs());
            let apart = apart.fold(0.0, f32::max);
            assert!(apart < 1e-5, "{name}: {alone:?} {among:?}");
            assert!(alone.iter().all(|share| share.is_finite()), "{name}");
        }
    }
}

#[test]
fn drawings_are_averaged() {
    let set: Vec<Sample> = Reverse.test_set(10).into_iter().take(2).collect();
    let mut wrong = vec![1.0; 20];
    wrong[3] = 0.0;
    let [best, other] =
        [vec![1.0; 20], wrong].map(|outcomes| score(&Reverse, 10, &set, &outcomes, Keep::Rows));
    let both = mean(vec![best.clone(), other.clone()]);
    assert_eq!((both.score.value(), both.exact), (0.975, Some(0.75)));
    assert_eq!((both.length, both.samples, both.floor), (10, 2, best.floor));
    let places = best.by_position.iter().zip(&other.by_position);
    for (mean, (a, b)) in both.by_position.iter().zip(places) {
        let both = (a.score.value() + b.score.value()) / 2.0;
        assert_eq!(mean.score.value(), both);
    }
    assert_eq!(both.rows, right(&[19, 20], 20));
    assert_eq!(mean(vec![other.clone()]), other);
}

/// The files of studies that were made before there were losses are read, and written again as they were.
#[test]
fn an_accuracy_is_stored_as_it_always_was() {
    let set: Vec<Sample> = Reverse.test_set(10).into_iter().take(1).collect();
    let mut score = score(&Reverse, 10, &set, &[1.0; 10], Keep::Rows);
    score.floor = 0.25;
    score.by_position.truncate(1);
    let stored = r#"{"length":10,"inside":true,"samples":1,"accuracy":1.0,"exact":1.0,"floor":0.25,"by_position":[{"position":1,"accuracy":1.0}],"rows":{"right":[10],"asked":10}}"#;
    assert_eq!(serde_json::to_string(&score).unwrap(), stored);
    assert_eq!(serde_json::from_str::<LengthScore>(stored).unwrap(), score);
}

#[test]
fn bits_are_those_of_the_probability_of_the_correct_class() {
    let (task, device) = (text(), Device::flex());
    let model = model(&task, "sinusoidal");
    let score = evaluate_at(&model, &task, 16, &device, Keep::Rows).unwrap();
    let set = task.test_set(16);
    let batch = TensorBatch::new(&set, Readout::PerToken, &device);
    let logits = model.forward(batch.input, None, &batch.positions, batch.read);
    let logits = logits.into_data().try_to_vec::<f32>().unwrap();
    let answers = set.iter().flat_map(|s| &s.answers).map(|a| a.class);
    let bits = logits.chunks(7).zip(answers).map(|(row, class)| {
        let sum: f64 = row.iter().map(|logit| f64::from(*logit).exp()).sum();
        -(f64::from(row[class]).exp() / sum).log2()
    });
    let bits: Vec<f64> = bits.collect();
    assert_eq!(bits.len(), 16 * set.len());
    // The last half of each window is scored.
    let scored = bits.chunks(16).flat_map(|row| &row[8..]);
    let mean = scored.sum::<f64>() / (8 * set.len()) as f64;
    assert!(matches!(score.score, Score::Bits(_)));
    let error = (score.score.value() - mean).abs();
    assert!(error < 1e-5, "{score:?}, {mean}");
    let skill = 1.0 - mean / task.floor(16);
    assert!((score.normalized() - skill).abs() < 1e-5);
    assert_eq!(score.exact, None);
    let Some(RowOutcomes::Loss { loss }) = &score.rows else {
        panic!("every row has its loss")
    };
    let of_rows = loss.iter().sum::<f64>() / set.len() as f64;
    assert!((of_rows - mean).abs() < 1e-5);
    let stored = serde_json::to_string(&score).unwrap();
    assert!(stored.contains("\"bits\":"), "{stored}");
    assert!(!stored.contains("accuracy"), "{stored}");
    let read: LengthScore = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, score);
}
