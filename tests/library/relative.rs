//! Scores of rotated queries and keys depend on their distance alone, and a rotation can be inverted.

use burn::tensor::{Device, Tensor};
use pe_burn::{
    Positions, RopeScaling, RotaryPositionalEncodingConfig, Rotate, XPosPositionalEncodingConfig,
};
use pe_tests::devices;

use crate::{LAYOUTS, distance, random, values};

const D_HEAD: usize = 64;

/// Every scaling, and none.
fn scalings() -> Vec<Option<RopeScaling>> {
    let factors: Vec<String> = (0..D_HEAD / 2)
        .map(|i| (1.0 + i as f64).to_string())
        .collect();
    let factors = factors.join(", ");
    let longrope = format!(
        r#"{{"rope_type": "longrope", "factor": 32, "original_max_position_embeddings": 4096,
            "short_factor": [{factors}], "long_factor": [{factors}]}}"#
    );
    let scalings = [
        r#"{"rope_type": "linear", "factor": 4}"#,
        r#"{"rope_type": "ntk", "factor": 8}"#,
        r#"{"rope_type": "dynamic", "factor": 2, "original_max_position_embeddings": 2048}"#,
        r#"{"rope_type": "yarn", "factor": 16, "original_max_position_embeddings": 4096}"#,
        &longrope,
        r#"{"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
            "original_max_position_embeddings": 8192}"#,
    ];
    let scalings = scalings.map(|json| Some(serde_json::from_str(json).unwrap()));
    [None].into_iter().chain(scalings).collect()
}

/// A query and a key at every one of these offsets from each other, at every one of these places.
struct Pairs {
    offsets: Vec<isize>,
    places: Vec<usize>,
    query: Tensor<4>,
    key: Tensor<4>,
}

impl Pairs {
    fn new(offsets: &[isize], places: &[usize], device: &Device) -> Self {
        let vector = || random([1, 1, 1, D_HEAD], device);
        Self {
            offsets: offsets.to_vec(),
            places: places.to_vec(),
            query: vector(),
            key: vector(),
        }
    }

    /// The largest change of a score between places, in parts of |q| |k|.
    fn change(
        &self,
        rotate: impl FnOnce(Tensor<4>, Tensor<4>, &Positions) -> (Tensor<4>, Tensor<4>),
    ) -> f64 {
        let queries = self.offsets.iter().flat_map(|offset| {
            let places = self.places.iter();
            places.map(move |place| place.checked_add_signed(*offset).expect("a position"))
        });
        let keys = self.offsets.iter().flat_map(|_| self.places.clone());
        let ids: Vec<usize> = queries.chain(keys).collect();
        let shape = [1, 1, ids.len(), D_HEAD];
        let (q, k) = (
            self.query.clone().expand(shape),
            self.key.clone().expand(shape),
        );
        let (q, k) = rotate(q, k, &Positions::from_id_rows(&[ids]).unwrap());
        let (q, k) = (values(q), values(k));
        let pairs = self.offsets.len() * self.places.len();
        let scores: Vec<f64> = q[..pairs * D_HEAD]
            .chunks(D_HEAD)
            .zip(k[pairs * D_HEAD..].chunks(D_HEAD))
            .map(|(q, k)| dot(q, k))
            .collect();
        let size = norm(&values(self.query.clone())) * norm(&values(self.key.clone()));
        let of_offset = scores.chunks(self.places.len());
        of_offset
            .flat_map(|scores| scores.iter().map(|score| (score - scores[0]).abs() / size))
            .inspect(|apart| assert!(apart.is_finite(), "{apart}"))
            .fold(0.0, f64::max)
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
    products.sum()
}

fn norm(a: &[f32]) -> f64 {
    dot(a, a).sqrt()
}

#[test]
fn scores_of_rotary_depend_on_the_distance() {
    let offsets = [0, 1, 7, 512, 100_000, -3];
    let places = [3, 4, 1_000, 77_777, 500_000, 900_000];
    for device in devices() {
        let pairs = Pairs::new(&offsets, &places, &device);
        for layout in LAYOUTS {
            for scaling in scalings() {
                let about = format!("{device:?} {layout:?} {scaling:?}");
                let rope = RotaryPositionalEncodingConfig {
                    scaling,
                    ..RotaryPositionalEncodingConfig::new(D_HEAD).with_layout(layout)
                };
                let rope = rope.init(&device);
                let change = pairs.change(|q, k, at| rope.rotate(q, k, at));
                assert!(change <= 1e-5, "{about}: {change}");
            }
        }
    }
}

/// Up to positions at which its decay is still a number in f32.
#[test]
fn scores_of_xpos_depend_on_the_distance() {
    for device in devices() {
        let pairs = Pairs::new(&[0, 1, 7, 512, -3], &[3, 4, 1_000, 32_000], &device);
        for layout in LAYOUTS {
            let xpos = XPosPositionalEncodingConfig::new(D_HEAD).with_layout(layout);
            let xpos = xpos.init(&device);
            let change = pairs.change(|q, k, at| xpos.rotate(q, k, at));
            assert!(change <= 1e-5, "{device:?} {layout:?}: {change}");
        }
    }
}

/// Runs, starts and far ids, in the buffer and past it.
#[test]
fn invert_takes_the_rotation_off() {
    let far: Vec<usize> = (0..9).map(|i| i * 124_999).collect();
    let sources = [
        Positions::default(),
        Positions::from(5_000),
        Positions::from_starts([0, 999_990]),
        Positions::from_id_rows(&[far]).unwrap(),
    ];
    for device in devices() {
        let x = random([2, 3, 9, D_HEAD], &device);
        for layout in LAYOUTS {
            for scaling in scalings() {
                let about = format!("{device:?} {layout:?} {scaling:?}");
                let gain = scaling
                    .as_ref()
                    .map_or(1.0, RopeScaling::attention_factor)
                    .powi(2);
                let rope = RotaryPositionalEncodingConfig {
                    scaling,
                    ..RotaryPositionalEncodingConfig::new(D_HEAD).with_layout(layout)
                };
                let rope = rope.init(&device);
                for positions in &sources {
                    let turned = rope.rotate_queries(x.clone(), positions);
                    let moved = distance(turned.clone(), x.clone());
                    assert!(moved > 0.5, "{about} {positions:?}: {moved}");
                    let back = rope.invert(turned, positions).unwrap() / gain;
                    let off = distance(back, x.clone());
                    assert!(off <= 2e-6, "{about} {positions:?}: {off}");
                }
            }
        }
    }
}
