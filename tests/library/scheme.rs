//! Schemes by name, as data, and the hooks.

use burn::tensor::{Device, Distribution, Tensor};
use pe_burn::{
    Axes, Embed, Grid, LearnedPositionalEmbeddingConfig, PositionalConfig, PositionalScheme,
    Positions, Rotate, SinusoidalPositionalEncodingConfig,
};
use pe_tests::devices;

use crate::{assert_says, distance, random, refusal, scheme, values};

fn read(json: &str) -> serde_json::Result<PositionalConfig> {
    serde_json::from_str(json)
}

#[test]
fn by_name_and_as_data() {
    for name in PositionalConfig::NAMES {
        let config = PositionalConfig::by_name(name, 16, 4, 30).unwrap();
        assert_eq!(config.name(), *name);
        let json = serde_json::to_string(&config).unwrap();
        assert!(json.starts_with(&format!(r#"{{"kind":"{name}""#)), "{json}");
        assert_eq!(read(&json).unwrap(), config);
    }
    let config = read(r#"{"kind": "learned", "d_model": 16, "max_len": 30, "dropout": 0.1}"#);
    let config = config.unwrap();
    let expected = LearnedPositionalEmbeddingConfig::new(16, 30).with_dropout(0.1);
    assert_eq!(config, PositionalConfig::Learned(expected));
    let words = "there is no positional scheme named \"rotory\"; there are: none, sinusoidal, learned, time2vec, rotary, \
                 xpos, pope, alibi, t5, kerple, fire, shaw, transformer_xl, deberta, tupe, cope, erpe";
    assert_says(
        &refusal(PositionalConfig::by_name("rotory", 16, 4, 30)),
        words,
    );
    for bad in [
        r#"{"kind": "rotory"}"#,
        r#"{"kind": "none", "d_model": 3}"#,
        r#"{"kind": "sinusoidal"}"#,
    ] {
        assert!(read(bad).is_err(), "{bad}");
    }
}

#[test]
fn each_scheme_embeds_as_its_module() {
    let device = Device::flex();
    let x = random([2, 7, 16], &device);
    let sinusoidal = scheme("sinusoidal", [16, 4, 30], &device);
    let own = SinusoidalPositionalEncodingConfig::new(16).init(&device);
    let learned = scheme("learned", [16, 4, 30], &device);
    let PositionalScheme::Learned(table) = &learned else {
        panic!("not learned: {learned}");
    };
    let modules: [(&PositionalScheme, &dyn Embed); 2] = [(&sinusoidal, &own), (&learned, table)];
    for (scheme, module) in modules {
        let embedded = |by: &dyn Embed| by.embed(x.clone(), &Positions::from(3));
        assert_eq!(distance(embedded(scheme), embedded(module)), 0.0);
    }
}

#[test]
fn the_scheme_without_positions_checks_their_shape() {
    let device = Device::flex();
    let none = PositionalConfig::None {}.init(&device);
    let x = random([2, 7, 16], &device);
    let refused = none.try_embed(x, &Positions::from_starts([1, 2, 3]));
    assert_says(
        &refusal(refused),
        "there are 3 starts for a batch of 2 rows",
    );
}

/// Whether two tensors differ.
fn differ<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> bool {
    values(a) != values(b)
}

/// Each scheme enters a model at one place: it embeds, rotates, adds to the scores or to the weights. Without positions it is none.
#[test]
fn every_scheme_uses_one_hook() {
    for device in devices() {
        let x = random([2, 7, 16], &device);
        let q = Tensor::<4>::random([2, 4, 7, 4], Distribution::Default, &device);
        let keys_of_all = Tensor::<4>::random([2, 4, 10, 4], Distribution::Default, &device);
        let at = Positions::from(3);
        for name in PositionalConfig::NAMES {
            let scheme = scheme(name, [16, 4, 30], &device);
            let embeds = differ(scheme.embed(x.clone(), &at), x.clone());
            let (queries, keys) = scheme.rotate(q.clone(), q.clone(), &at);
            let rotates = differ(queries, q.clone());
            assert_eq!(differ(keys, q.clone()), rotates, "{name} on {device:?}");
            let all = Positions::default();
            let bias = scheme.score_bias((&q, &at), (&keys_of_all, &all));
            if let Some(bias) = &bias {
                let rows = if scheme.sees_content() { 2 } else { 1 };
                assert_eq!(bias.dims(), [rows, 4, 7, 10], "{name} on {device:?}");
                assert!(differ(bias.clone(), Tensor::zeros(bias.dims(), &device)));
            }
            // Without the content it is the same, or an error.
            match scheme.try_bias((&at, 7), (&all, 10)) {
                Err(error) => {
                    assert!(scheme.sees_content(), "{name}: {error}");
                    let words = "this scheme looks at queries and keys: call `score_bias` with them in place of `bias`";
                    assert_says(&error.to_string(), words);
                }
                Ok(alone) => {
                    assert!(!scheme.sees_content(), "{name}");
                    assert_eq!(alone.map(values), bias.clone().map(values), "{name}");
                }
            }
            assert_eq!(scheme.rotates(), rotates, "{name} on {device:?}");
            let of_weights = scheme.weight_bias((&at, 7), (&all, 10));
            assert!(of_weights.iter().all(|bias| bias.dims() == [1, 4, 7, 10]));
            let expected = match *name {
                "none" => [false; 4],
                "sinusoidal" | "learned" | "time2vec" => [true, false, false, false],
                "rotary" | "xpos" | "pope" => [false, true, false, false],
                "alibi" | "t5" | "kerple" | "fire" | "shaw" | "transformer_xl" | "deberta"
                | "tupe" | "cope" => [false, false, true, false],
                "erpe" => [false, false, false, true],
                other => panic!("which hook does {other} use?"),
            };
            assert_eq!(
                [embeds, rotates, bias.is_some(), of_weights.is_some()],
                expected,
                "{name} on {device:?}"
            );
        }
    }
}

/// Keys of another sequence, or of a cache that is not rotated yet.
#[test]
fn queries_and_keys_at_positions_of_their_own() {
    for device in devices() {
        let random =
            |seq| Tensor::<4>::random([2, 4, seq, 16], Distribution::Normal(0.0, 1.0), &device);
        let (q, k) = (random(3), random(7));
        let starts = Positions::from_starts([4, 2]);
        let ids = Positions::from_id_rows(&[[0, 1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 2, 3, 4]]).unwrap();
        for name in PositionalConfig::NAMES {
            let scheme = scheme(name, [64, 4, 9], &device);
            let (one, other) = scheme.rotate_apart((q.clone(), &starts), (k.clone(), &ids));
            // With other queries and keys at the same positions.
            let (queries, _) = scheme.rotate(q.clone(), random(3), &starts);
            let (_, keys) = scheme.rotate(random(7), k.clone(), &ids);
            assert_eq!(values(one), values(queries), "{name} on {device:?}");
            assert_eq!(values(other), values(keys), "{name} on {device:?}");
            let wrong = scheme.try_rotate_apart((q.clone(), &ids), (k.clone(), &starts));
            assert_eq!(wrong.is_err(), scheme.rotates(), "{name}");
        }
    }
}

/// Frequencies that depend on the length are those of the longer side for both.
#[test]
fn a_query_beyond_the_trained_length_and_keys_within_it() {
    let device = Device::flex();
    let x = Tensor::<4>::random([1, 2, 100, 4], Distribution::Normal(0.0, 1.0), &device);
    let (last, all) = (x.clone().narrow(2, 99, 1), Positions::default());
    for scaling in [
        r#"{"rope_type": "dynamic", "factor": 4, "original_max_position_embeddings": 99}"#,
        r#"{"rope_type": "longrope", "short_factor": [1, 1], "long_factor": [2, 3], "factor": 4,
            "original_max_position_embeddings": 99}"#,
    ] {
        let json = format!(r#"{{"kind": "rotary", "d_head": 4, "scaling": {scaling}}}"#);
        let config: PositionalConfig = serde_json::from_str(&json).unwrap();
        let scheme = config.init(&device);
        let (query, keys) =
            scheme.rotate_apart((last.clone(), &Positions::from(99)), (x.clone(), &all));
        let (queries, together) = scheme.rotate(x.clone(), x.clone(), &all);
        assert_eq!(values(query), values(queries.narrow(2, 99, 1)));
        assert_eq!(values(keys), values(together));
    }
}

/// The schemes that need more than the sizes of a model: as data, through their one hook.
#[test]
fn schemes_that_need_more_than_a_name_are_data() {
    let device = Device::flex();
    let grid = Grid::image(4, 4);
    for json in [
        r#"{"kind": "swin", "heads": 4, "window": [4, 5]}"#,
        r#"{"kind": "swin_v2", "heads": 4, "window": [4, 5], "pretrained_window": [7, 7], "hidden": 8}"#,
        r#"{"kind": "beit", "heads": 4, "window": [4, 5], "init": {"Constant": {"value": 2.0}}}"#,
        r#"{"kind": "levit", "heads": 4, "window": [4, 5], "init": {"Constant": {"value": 2.0}}}"#,
        r#"{"kind": "decomposed", "d_head": 4, "window": [4, 5], "init": {"Constant": {"value": 2.0}}}"#,
        r#"{"kind": "wav2vec2", "d_model": 16, "kernel": 3}"#,
        r#"{"kind": "peg", "d_model": 16}"#,
        r#"{"kind": "inkling", "d_model": 16, "heads": 4, "layers": 2}"#,
        r#"{"kind": "fox", "d_model": 16, "heads": 4, "layers": 2}"#,
        r#"{"kind": "fope", "d_head": 4, "heads": 4, "trained_len": 30}"#,
    ] {
        let config = read(json).unwrap();
        let again = serde_json::to_string(&config).unwrap();
        assert_eq!(read(&again).unwrap(), config);
        let name = config.name();
        assert!(json.starts_with(&format!(r#"{{"kind": "{name}""#)));
        assert!(
            PositionalConfig::KINDS.contains(&name) && !PositionalConfig::NAMES.contains(&name)
        );
        // Whether it is for grids; whether it embeds, biases scores, and looks at queries and keys.
        let (on_grid, hooks) = match name {
            "swin" | "swin_v2" | "beit" | "levit" => (true, [false, true, false]),
            "decomposed" => (true, [false, true, true]),
            "wav2vec2" => (false, [true, false, false]),
            "peg" => (true, [true, false, false]),
            "inkling" | "fox" | "fope" => (false, [false; 3]),
            other => panic!("which hook does {other} use?"),
        };
        let message = refusal(PositionalConfig::by_name(name, 16, 4, 30));
        assert_says(&message, &format!("{name} needs more than its name …"));
        let stray = json.replacen(',', r#", "stray": 1,"#, 1);
        assert!(read(&stray).is_err(), "{stray}");

        let axes = on_grid.then_some(Axes::HEIGHT_WIDTH);
        assert_eq!(config.axes(), axes, "{name}");
        let scheme = config.init(&device);
        let at = match on_grid {
            true => Positions::from(grid),
            false => Positions::default(),
        };
        let x = random([2, 16, 16], &device);
        let q = Tensor::<4>::random([2, 4, 16, 4], Distribution::Default, &device);
        let embeds = differ(scheme.embed(x.clone(), &at), x);
        let (queries, _) = scheme.rotate(q.clone(), q.clone(), &at);
        assert_eq!(differ(queries, q.clone()), name == "fope", "{name}");
        assert_eq!(scheme.rotates(), name == "fope");
        let bias = scheme.try_score_bias((&q, &at), (&q, &at));
        assert_eq!(scheme.sees_states(), ["inkling", "fox"].contains(&name));
        let bias = if scheme.sees_states() {
            let alone = scheme.try_bias((&at, 16), (&at, 16));
            for message in [refusal(bias), refusal(alone)] {
                assert_says(
                    &message,
                    "this scheme reads the hidden states of each layer …",
                );
            }
            None
        } else {
            bias.unwrap()
        };
        if let Some(bias) = &bias {
            assert!(differ(bias.clone(), bias.zeros_like()), "{name}");
        }
        let found = [embeds, bias.is_some(), scheme.sees_content()];
        assert_eq!(found, hooks, "{name}");
    }
    let more = PositionalConfig::KINDS.len() - PositionalConfig::NAMES.len();
    assert_eq!(more, 10);
    assert!(PositionalConfig::KINDS.starts_with(PositionalConfig::NAMES));
}
