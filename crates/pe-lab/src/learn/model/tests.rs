use super::*;
use crate::data::testing::Says;
use crate::learn::testing::model;
use crate::task::{Answer, Digits, Readout, Reverse, Sample};

#[test]
fn parameters_are_those_of_the_reference_model() {
    // Per layer: 4 projections 64×64 + 64, two norms, 64→256→64; around them: 10 tokens, the
    // last norm and 8 classes.
    let layer = 4 * (64 * 64 + 64) + 2 * 128 + (64 * 256 + 256) + (256 * 64 + 64);
    let shared = 10 * 64 + 2 * layer + 128 + (64 * 8 + 8);
    let none = model(&Reverse, "none");
    assert_eq!((none.num_params(), none.position_parameters()), (shared, 0));
    assert_eq!(model(&Reverse, "sinusoidal").num_params(), shared);
    // A gain is 1 parameter. T5 has 32 buckets and KERPLE 2 parameters for each of 4 heads. FIRE
    // has a network 1 → 32 → 4, c and L.
    let fire = (32 + 32) + (32 * 4 + 4) + 2;
    for (name, parameters) in [
        ("learned", 82 * 64),
        ("rotary", 0),
        ("pope", 64),
        ("alibi", 0),
        ("t5", 32 * 4),
        ("kerple", 2 * 4),
        ("fire", fire),
        ("scaled_sinusoidal", 1),
        ("time2vec", 2 * 64),
        ("tupe", 82 * 64 + 2 * 64 * 64),
        ("erpe", (2 * 82 - 1) * 4),
        ("tupe_r", 82 * 64 + 2 * 64 * 64 + 32 * 4),
        ("randomized_rotary", 0),
    ] {
        let model = model(&Reverse, name);
        assert_eq!(model.position_parameters(), parameters, "{name}");
    }
}

#[test]
fn layers_that_differ_start_with_the_same_weights_and_answer_otherwise() {
    let device = Device::flex();
    let at = Positions::default();
    let tokens = Tensor::<2, Int>::from_ints([[8, 1, 2, 3, 4, 5, 6, 9]], &device);
    let read = Tensor::<1, Int>::from_ints([2], &device);
    let of = |name: &str| {
        let model = model(&Reverse, name);
        let logits = model.forward(tokens.clone(), None, &at, Some(read.clone()));
        let logits = logits.into_data().try_to_vec::<f32>().unwrap();
        (parameter_bits(&model), logits)
    };
    let (weights, plain) = of("rotary");
    let mut seen = vec![plain];
    for name in [
        "rotary(base=100)",
        "rotary(share=0.25)",
        "rotary(nope_every=2)",
        "rotary(window=2)",
        "rotary(window=2,global_every=2)",
        "none",
    ] {
        let (of_recipe, logits) = of(name);
        assert_eq!(of_recipe, weights, "{name}");
        assert!(!seen.contains(&logits), "{name} answers as another scheme");
        seen.push(logits);
    }
    let scheme = Scheme::by_name("rotary(nope_every=3)", &ModelSpec::default(), 82).unwrap();
    let error = Model::init(&ModelSpec::default(), &Reverse, &scheme, 1, &device);
    let error = error.map(|_| ()).unwrap_err();
    error.says("the model has 2 layers");
}

#[test]
fn answers_are_read_at_their_positions_or_from_the_mean() {
    let device = Device::flex();
    let reverse = model(&Reverse, "sinusoidal");
    let tokens = Tensor::<2, Int>::from_ints([[8, 1, 2, 9], [8, 3, 4, 9]], &device);
    let at = Positions::default();
    let all = Tensor::<1, Int>::from_ints([0, 1, 2, 3, 4, 5, 6, 7], &device);
    let picked = Tensor::<1, Int>::from_ints([6, 1], &device);
    let [every, some] = [all, picked].map(|read| {
        let logits = reverse.forward(tokens.clone(), None, &at, Some(read));
        logits.into_data().try_to_vec::<f32>().unwrap()
    });
    assert_eq!(some[..8], every[48..56]);
    assert_eq!(some[8..], every[8..16]);

    let digits = model(&Digits, "none");
    let tokens = Tensor::<2, Int>::zeros([3, 64], &device);
    assert_eq!(digits.forward(tokens, None, &at, None).dims(), [3, 10]);
}

fn sequence(tokens: &[usize]) -> Sample {
    let (position, class) = (0, 0);
    Sample::new(tokens.to_vec(), vec![Answer { position, class }])
}

#[test]
fn padding_gets_no_gradient() {
    let device = Device::flex().autodiff();
    let scheme = Scheme::by_name("none", &ModelSpec::default(), 64).unwrap();
    let model = Model::init(&ModelSpec::default(), &Digits, &scheme, 1, &device).unwrap();
    let rows = [sequence(&[3, 4, 5]), sequence(&[6])];
    let batch = TensorBatch::new(&rows, Readout::MeanPooled, &device);
    let gradients = model.loss(batch).backward();
    let table = model.tokens().unwrap().grad(&gradients).unwrap();
    let table = table.into_data().try_to_vec::<f32>().unwrap();
    let of = |token: usize| table[token * 64..][..64].iter().any(|g| *g != 0.0);
    assert_eq!([of(0), of(1), of(3), of(6)], [false, false, true, true]);
}
