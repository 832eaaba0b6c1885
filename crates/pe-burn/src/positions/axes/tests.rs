use super::*;

use crate::testing::{assert_says, refusal, refused};

#[test]
fn pairs_belong_to_their_axes() {
    let row = Axes::of_widths([4, 2, 6]);
    assert_eq!(row.owners(&row.pairs(12).unwrap()), [0, 0, 1, 2, 2, 2]);
    let given = PairOrder::Given(vec![2, 0, 1, 2, 0, 2]);
    let given = row.clone().with_order(given);
    assert_eq!(given.pairs(12).unwrap(), [2, 1, 3]);
    assert_eq!(given.owners(&[2, 1, 3]), [2, 0, 1, 2, 0, 2]);
    let dealt = row.with_order(PairOrder::Dealt);
    assert_eq!(dealt.owners(&dealt.pairs(12).unwrap()), [0, 1, 2, 0, 2, 2]);
    // Qwen3-VL: 24, 20 and 20 of 64 pairs; time has the pairs that the others do not take.
    let qwen3 = Axes::mrope_interleaved([24, 20, 20]);
    let by_rule = |i: usize| match i % 3 {
        1 if i < 60 => 1,
        2 if i < 60 => 2,
        _ => 0,
    };
    let expected: Vec<usize> = (0..64).map(by_rule).collect();
    assert_eq!(qwen3.owners(&qwen3.pairs(128).unwrap()), expected);
    assert_eq!(qwen3.order(), &PairOrder::Dealt);
    // Where height or width have more pairs than time, `Dealt` gives another order.
    for sections in [
        [16, 24, 24],
        [8, 12, 12],
        [20, 24, 20],
        [12, 20, 8],
        [11, 11, 10],
        [0, 2, 1],
    ] {
        let [_, height, width] = sections;
        let pairs: usize = sections.iter().sum();
        let by_rule = |i: usize| match i % 3 {
            1 if i < 3 * height => 1,
            2 if i < 3 * width => 2,
            _ => 0,
        };
        let axes = Axes::mrope_interleaved(sections);
        let expected: Vec<usize> = (0..pairs).map(by_rule).collect();
        assert_eq!(
            axes.owners(&axes.pairs(2 * pairs).unwrap()),
            expected,
            "{sections:?}"
        );
    }
    assert!(
        Axes::mrope_interleaved([usize::MAX, 1, 1])
            .pairs(128)
            .is_err()
    );
}

#[test]
fn columns_that_do_not_fit_are_refused() {
    refused! {
        |bad| bad.0.pairs(bad.1);
        (Axes::of_widths([4, 4]), 12) =>
            "the sum of the columns of all axes must be 12, the number of columns that are rotated; got 8",
        (Axes::of_widths([5, 7]), 12) =>
            "the number of columns of an axis must be even and at least 2; got 5",
        (Axes::of_widths([12, 0]), 12) =>
            "the number of columns of an axis must be even and at least 2; got 0",
        (Axes::new([Axis::new(0).with_columns(4), Axis::new(1)]), 12) =>
            "1 of 2 axes have a number of columns: give it for all of them or for none",
        (Axes::HEIGHT_WIDTH.with_unturned(3), 12) =>
            "the number of columns left unturned must be even, and less than the number of rotated columns; got 3",
        (Axes::FRAMES_HEIGHT_WIDTH.with_unturned(2), 66) =>
            "rotary_dim without the columns left unturned must be a multiple of 6, so that each of 3 axes has the same number of pairs; got 64",
    }
}

#[test]
fn coordinates_and_owners_that_do_not_fit_are_refused() {
    let given = |owners: &[usize]| Axes::HEIGHT_WIDTH.with_order(PairOrder::Given(owners.to_vec()));
    refused! {
        |bad| bad.0.pairs(bad.1);
        (Axes::new([Axis::new(0), Axis::new(2)]), 12) =>
            "the coordinate of axis 1 must be each of 0 to 1 once; got 2",
        (Axes::new([Axis::new(1), Axis::new(1)]), 12) =>
            "the coordinate of axis 1 must be each of 0 to 1 once; got 1",
        (Axes::new([]), 12) => "the number of axes must be at least 1; got 0",
        (given(&[0, 1]), 12) =>
            "the number of pairs that are given an axis must be half of 12, the number of columns that are rotated; got 2",
        (given(&[0, 2]), 4) => "the axis of a pair must be at most 1, for 2 axes; got 2",
        (given(&[0, 0]), 4) =>
            "the number of columns whose pairs are given axis 1 must be at least 2; got 0",
    }
}

#[test]
fn scales_and_bases_of_axes_that_do_not_fit_are_refused() {
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let axes = Axes::new([Axis::new(0).with_scale(scale)]);
        let words = "the scale of an axis must be finite and above 0; …";
        assert_says(&refusal(axes.pairs(12)), words);
    }
    for (axis, words) in [
        (
            Axis::new(0).with_scale(2.0),
            "an axis cannot have a scale where …",
        ),
        (Axis::new(0).with_base(100.0), "an axis can have a base …"),
    ] {
        let axes = Axes::new([axis, Axis::new(1)]);
        assert!(axes.pairs(12).is_ok());
        let on_a_line = axes.with_frequencies(AxisFrequencies::Line);
        assert_says(&refusal(on_a_line.pairs(12)), words);
    }
}

#[test]
fn data_are_names_and_objects() {
    for (name, axes) in Axes::NAMED {
        let json = format!("\"{name}\"");
        assert_eq!(serde_json::to_string(&axes).unwrap(), json);
        assert_eq!(serde_json::from_str::<Axes>(&json).unwrap(), axes);
    }
    let axes = Axes::new([
        Axis::new(1).with_columns(4).with_base(100.0),
        Axis::new(0).with_columns(8).with_scale(0.5),
    ])
    .with_order(PairOrder::Dealt)
    .with_unturned(2);
    let json = serde_json::to_string(&axes).unwrap();
    assert_eq!(serde_json::from_str::<Axes>(&json).unwrap(), axes);
    refused! {
        |json| serde_json::from_str::<Axes>(json);
        "\"width\"" =>
            "there are no axes named \"width\"; there are: height_width, width_height, frames_height_width …",
        r#"{"axes": [{"coordinate": 0, "colums": 4}]}"# => "… `colums` …",
    }
}
