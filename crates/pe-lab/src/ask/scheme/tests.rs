use pe_burn::{Formula, PositionalConfig};

use super::super::built_in::REFUSED;
use super::*;
use crate::data::testing::Says;
use crate::task::{Digits, Reverse};

#[test]
fn every_scheme_has_a_configuration_and_a_description() {
    for name in Scheme::names() {
        let scheme = Scheme::by_name(name, &ModelSpec::default(), 22).unwrap();
        assert_eq!(scheme.name, name);
        assert!(!Scheme::description(name).is_empty(), "{name}");
        let json = serde_json::to_string(&scheme).unwrap();
        assert_eq!(serde_json::from_str::<Scheme>(&json).unwrap(), scheme);
    }
    let known: Vec<&str> = Scheme::names().collect();
    // Each scheme of the library is here, or has a reason why not.
    for name in PositionalConfig::KINDS {
        let refused = REFUSED.iter().any(|(refused, _)| refused == name);
        assert!(known.contains(name) != refused, "{name}");
    }
    for (name, why) in REFUSED {
        let is_kind = PositionalConfig::KINDS.contains(&name);
        // These two have types of their own, which are not in the library's list of kinds.
        assert!(
            is_kind || ["mixed_rotary", "dual_chunk"].contains(&name),
            "{name}"
        );
        assert!(!why.is_empty());
    }
    let unknown = Scheme::by_name("cosine", &ModelSpec::default(), 22).unwrap_err();
    unknown.says("none, sinusoidal, learned");
}

#[test]
fn a_scheme_that_differs_from_the_library_default_of_its_name_says_so() {
    for name in PositionalConfig::NAMES {
        let default = PositionalConfig::by_name(name, 64, 4, 22).unwrap();
        let ours = Scheme::by_name(name, &ModelSpec::default(), 22)
            .unwrap()
            .encoding;
        let says_so = Scheme::description(name).contains("; here ");
        assert_eq!(says_so, ours != Encoding::new(default), "{name}");
    }
}

/// The configured length is that of the training and not that of the longest test, also where another base is set.
#[test]
fn tape_and_time2vec_have_the_length_of_the_training() {
    let lengths = Lengths {
        trained: 22,
        longest: 82,
        tested: 82,
    };
    for (name, base) in [("tape", 1e4), ("tape(base=100)", 100.0)] {
        let scheme = Scheme::for_lengths(name, &ModelSpec::default(), lengths).unwrap();
        let Some(PositionalConfig::Sinusoidal(table)) = scheme.encoding.downcast() else {
            panic!("{scheme:?}")
        };
        assert_eq!(table.formula, Formula::Tape { length: 22, base });
        assert_eq!((table.d_model, table.max_len), (64, 82));
    }
    let scheme = Scheme::for_lengths("time2vec", &ModelSpec::default(), lengths).unwrap();
    let Some(PositionalConfig::Time2Vec(waves)) = scheme.encoding.downcast() else {
        panic!("{scheme:?}")
    };
    assert_eq!((waves.d_model, waves.span), (64, 22.0));
}

#[test]
fn a_grid_is_that_of_the_task() {
    for name in ["sinusoidal_2d", "rotary_2d"] {
        let scheme = Scheme::by_name(name, &ModelSpec::default(), 64).unwrap();
        let on_digits = scheme.clone().on(&Digits).unwrap();
        assert_eq!(on_digits.grid, Some(Grid::image(8, 8)));
        let error = scheme.on(&Reverse).unwrap_err();
        error.says("the task reverse has none");
    }
    let line = Scheme::by_name("rotary", &ModelSpec::default(), 64).unwrap();
    assert_eq!(line.clone().on(&Digits).unwrap(), line);
}

#[test]
fn randomized_positions_are_drawn_for_each_sequence_as_long_as_it_is() {
    let scheme = Scheme::by_name("randomized_rotary", &ModelSpec::default(), 22).unwrap();
    let draw = |seed| {
        let mut source = scheme.for_training(seed, 3);
        source.positions(&[22, 5], 22).unwrap().to_rows(22).unwrap()
    };
    let rows = draw(1);
    assert!(rows[0].is_sorted_by(|a, b| a < b) && rows[0][21] < 2_048);
    assert!(rows[1][..5].is_sorted_by(|a, b| a < b));
    assert_eq!(rows[1][5..], [0; 17]);
    assert_eq!(rows, draw(1));
    assert_ne!(rows, draw(2));

    let plain = Scheme::by_name("rotary", &ModelSpec::default(), 22).unwrap();
    let positions = plain.for_training(1, 3).positions(&[22, 5], 22).unwrap();
    assert_eq!(positions.to_rows(3).unwrap(), [[0, 1, 2]]);
    // Where inputs are longer than the usual range of random positions, the range is extended.
    let longest = Scheme::by_name("randomized_rotary", &ModelSpec::default(), 5_000).unwrap();
    assert_eq!(longest.max_position, Some(5_000));
}

#[test]
fn only_random_positions_are_tested_more_than_once() {
    let draws = |name| {
        let scheme = Scheme::by_name(name, &ModelSpec::default(), 22).unwrap();
        scheme.for_test(10).count()
    };
    assert_eq!((draws("rotary"), draws("randomized_rotary")), (1, 8));
}
