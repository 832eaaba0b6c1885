use super::*;

use crate::Positions;
use crate::testing::refused;

#[test]
fn settings_out_of_bounds_are_refused() {
    let config = || DebertaConfig::new(8, 2);
    refused! {
        DebertaConfig::new(9, 2) => "d_model must be a multiple of the number of heads, 2; got 9",
        config().with_buckets(Some(5)) => "buckets must be even and at least 4; got 5",
        config().with_buckets(Some(2)) => "buckets must be even and at least 4; got 2",
        config().with_max_distance(129) =>
            "max_distance must be at least 130 and at most 1048576; got 129",
        config().with_buckets(None).with_max_distance(0) =>
            "max_distance must be at least 1 and at most 1048576; got 0",
        config().with_content_to_position(false).with_position_to_content(false) =>
            "one of content_to_position and position_to_content must be true",
    }
}

/// Past the reach the row stays what it is, up to distances that f32 does not tell apart.
#[test]
fn far_distances_share_the_last_row() {
    for (buckets, max_distance) in [
        (Some(256), 512),
        (Some(4), 4),
        (Some(4), 1 << 20),
        (Some(32), 128),
        (None, 1),
        (None, 40),
    ] {
        let config = DebertaConfig::new(8, 2)
            .with_buckets(buckets)
            .with_max_distance(max_distance);
        let (reach, last) = (config.reach(), config.rows() - 1);
        assert!(reach <= max_distance as i64 + 2, "{config:?}: {reach}");
        for distance in [reach, reach + 1, 1 << 30, 1 << 52] {
            assert_eq!(config.row(distance), 0, "{config:?}: {distance}");
            assert_eq!(config.row(-distance), last, "{config:?}: −{distance}");
        }
        assert_eq!(config.row(0), config.rows() / 2);
    }
}

/// A configuration that cannot be built has rows all the same, and no distance is too far.
#[test]
fn a_row_is_in_bounds_for_every_configuration() {
    for buckets in [Some(0), Some(1), Some(256), Some(usize::MAX), None] {
        for max_distance in [0, 1, 129, 512, usize::MAX] {
            let config = DebertaConfig::new(8, 2)
                .with_buckets(buckets)
                .with_max_distance(max_distance);
            for distance in [i64::MIN, -300, -1, 0, 1, 300, i64::MAX] {
                assert!(config.row(distance) <= config.rows(), "{config:?}");
            }
        }
    }
    refused! {
        DebertaConfig::new(1 << 30, 2) =>
            "1073741824 rows of width 1073741824 do not fit into memory",
    }
}

#[test]
fn tables_of_other_shapes_are_refused() {
    let device = Device::flex();
    let config = DebertaConfig::new(8, 2).with_buckets(Some(4));
    let (x, at) = (
        Tensor::<4>::ones([1, 2, 3, 4], &device),
        Positions::default(),
    );
    let good = || Some(Tensor::<3>::ones([2, 8, 4], &device));
    let bad = Some(Tensor::<3>::ones([2, 9, 4], &device));
    let without = config.clone().with_content_to_position(false);
    // The configuration, and the tables for keys and for queries.
    refused! {
        |rows| rows.0.score_bias_with(rows.1, rows.2, (&x, &at), (&x, &at));
        (&config, good(), bad) =>
            "position_queries must be [2, 8, 4], which are heads, rows and d_head; got [2, 9, 4]",
        (&config, None, good()) =>
            "position_keys must be [2, 8, 4], which are heads, rows and d_head; got none",
        (&without, good(), good()) =>
            "position_keys must be none, for its term is off; got [2, 8, 4]",
    }
}

#[test]
fn a_term_without_its_projection_is_refused() {
    let device = Device::flex();
    let (x, at) = (
        Tensor::<4>::ones([1, 2, 3, 4], &device),
        Positions::default(),
    );
    let config = DebertaConfig::new(8, 2).with_buckets(Some(4));
    let mut without = config.init(&device);
    let key = without.key.take();
    let mut off = config.with_content_to_position(false).init(&device);
    off.key = key;
    refused! {
        |deberta| deberta.try_scaled_score_bias((&x, &at), (&x, &at));
        without => "key must be a projection, for its term is on",
        off => "key must be none, for its term is off",
    }
}
