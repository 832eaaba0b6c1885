//! Any positions through every scheme: errors and finite numbers, and the two forms of each hook agree.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::tensor::{Device, Int, Tensor, TensorData};
use pe_burn::axes::{AxisFrequencies, PairOrder};
use pe_burn::coordinates::{Normalization, Part};
use pe_burn::rotary::MixedRotaryConfig;
use pe_burn::{
    Axes, Coordinates, Embed, Grid, Layout, PositionError, Positional, PositionalConfig,
    PositionalScheme, Positions, RotaryPositionalEncodingConfig, Rotate,
    SinusoidalPositionalEncodingConfig,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::fuzzing::{more, runner};

pub fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().convert::<f32>().try_to_vec().unwrap()
}

const HEADS: usize = 2;
const WIDTH: usize = 8;

/// The schemes that exist only as data: those of windows and grids, and those of a line with other settings.
const DATA: [&str; 13] = [
    r#"{"kind": "swin", "heads": 2, "window": [2, 3]}"#,
    r#"{"kind": "swin_v2", "heads": 2, "window": [2, 3], "pretrained_window": [4, 4], "hidden": 4}"#,
    r#"{"kind": "beit", "heads": 2, "window": [2, 3]}"#,
    r#"{"kind": "levit", "heads": 2, "window": [2, 3]}"#,
    r#"{"kind": "decomposed", "d_head": 8, "window": [2, 3]}"#,
    r#"{"kind": "wav2vec2", "d_model": 16, "kernel": 3}"#,
    r#"{"kind": "peg", "d_model": 16}"#,
    r#"{"kind": "fox", "d_model": 16, "heads": 2, "layers": 1, "rotary": {"d_head": 8}}"#,
    r#"{"kind": "inkling", "d_model": 16, "heads": 2, "layers": 1, "d_rel": 2, "extent": 5}"#,
    r#"{"kind": "fope", "d_head": 8, "heads": 2, "trained_len": 20}"#,
    r#"{"kind": "rotary", "d_head": 8, "scaling": {"rope_type": "dynamic", "factor": 4, "original_max_position_embeddings": 5}}"#,
    r#"{"kind": "rotary", "d_head": 8, "max_len": 2, "scaling": {"rope_type": "longrope", "factor": 2,
        "short_factor": [1, 1, 1, 1], "long_factor": [1, 2, 3, 4], "original_max_position_embeddings": 5}}"#,
    r#"{"kind": "rotary", "d_head": 8, "axes": {"axes": [{"coordinate": 1, "columns": 2, "base": 50},
        {"coordinate": 0, "columns": 6, "scale": 6.28}]}}"#,
];

/// Rotations and tables with axes.
fn with_axes() -> Vec<PositionalConfig> {
    let dealt = Axes::of_widths([4, 4]).with_order(PairOrder::Dealt);
    let given = PairOrder::Given(vec![1, 0, 0, 1]);
    let rotations = [
        (Axes::HEIGHT_WIDTH, Layout::Interleaved),
        (Axes::WIDTH_HEIGHT, Layout::Halves),
        (Axes::of_widths([2, 4, 2]), Layout::Halves),
        (
            Axes::HEIGHT_WIDTH.with_frequencies(AxisFrequencies::Dealt),
            Layout::Halves,
        ),
        (dealt, Layout::Interleaved),
        (Axes::of_widths([4, 4]).with_order(given), Layout::Halves),
        (
            Axes::of_widths([2, 4]).with_unturned(2),
            Layout::Interleaved,
        ),
        (Axes::mrope([2, 1, 1]), Layout::Halves),
        (Axes::mrope_interleaved([2, 1, 1]), Layout::Halves),
    ];
    let rotary = |(axes, layout)| {
        let config = RotaryPositionalEncodingConfig::new(WIDTH).with_layout(layout);
        PositionalConfig::Rotary(config.with_axes(axes))
    };
    let tables = [
        Axes::HEIGHT_WIDTH,
        Axes::WIDTH_HEIGHT,
        Axes::of_widths([4, 6, 6]),
    ];
    let sinusoidal = |axes| {
        let config = SinusoidalPositionalEncodingConfig::new(HEADS * WIDTH);
        PositionalConfig::Sinusoidal(config.with_axes(axes))
    };
    rotations
        .map(rotary)
        .into_iter()
        .chain(tables.map(sinusoidal))
        .collect()
}

/// What an input is made of: how its positions are given, its shape, and numbers that mostly are small.
#[derive(Clone, Debug)]
struct Case {
    kind: u8,
    batch: usize,
    seq: usize,
    numbers: Vec<i64>,
    times: Vec<f64>,
    /// Whether tokens are marked as padding besides.
    padded: bool,
}

/// The number of ways in which positions are given.
const KINDS: u8 = 15;

fn case() -> impl Strategy<Value = Case> {
    let number = prop_oneof![
        6 => -2_i64..20,
        1 => Just(i64::MAX),
        1 => Just(i64::MIN),
        1 => any::<i64>(),
        1 => Just(pe_burn::MAX_POSITION as i64),
    ];
    let wild = prop_oneof![
        6 => 0.0_f64..30.0,
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(-1e300),
        1 => any::<f64>(),
    ];
    // Of many numbers all have to be possible for positions to be made of them.
    let tame = prop_oneof![
        9 => -30.0_f64..30.0,
        1 => Just(pe_burn::MAX_POSITION as f64),
        1 => Just(-(pe_burn::MAX_POSITION as f64)),
    ];
    let shape = prop_oneof![
        3 => (0..KINDS, 0_usize..4, 0_usize..9),
        // The grids that windows are for.
        2 => (6_u8..KINDS, 1_usize..3, 6_usize..8),
    ];
    (shape, any::<bool>(), 0_u8..4).prop_flat_map(move |((kind, batch, seq), is_tame, padded)| {
        let size = (batch * seq).max(1);
        let time = match is_tame {
            true => tame.clone().boxed(),
            false => wild.clone().boxed(),
        };
        (
            prop::collection::vec(number.clone(), size),
            prop::collection::vec(time, 4 * size),
        )
            .prop_map(move |(numbers, times)| Case {
                kind,
                batch,
                seq,
                numbers,
                times,
                padded: padded == 0,
            })
    })
}

impl Case {
    /// A small number, drawn with the others.
    fn small(&self, nth: usize) -> usize {
        self.numbers[nth % self.numbers.len()].unsigned_abs() as usize
    }

    /// A grid with as many cells as there are tokens, if the height that was drawn divides them.
    fn image(&self, cells: usize) -> Grid {
        let height = 1 + self.small(0) % 3;
        match cells.is_multiple_of(height) {
            true => Grid::image(height, cells / height),
            false => Grid::image(height, 1 + self.small(1) % 4),
        }
    }

    /// A grid of any kind, with as many tokens as there are places, if it can be.
    fn grid(&self) -> Grid {
        match self.small(2) % 4 {
            0 => self.image(self.seq),
            // A class token before a window.
            1 => self.image(self.seq.saturating_sub(1)).with_prefix(1),
            2 => Grid::video(1 + self.small(3) % 2, 1 + self.small(1) % 2, 3),
            _ => self.image(self.small(3) % 9).with_prefix(self.small(1) % 4),
        }
    }

    /// The coordinates of every row of the batch.
    fn rows<const AXES: usize>(&self) -> Result<Positions, PositionError> {
        let (all, _) = self.times.as_chunks::<AXES>();
        let rows = (0..self.batch).map(|row| Coordinates::new(&all[row * self.seq..][..self.seq]));
        Positions::from_coordinate_rows(&rows.collect::<Result<Vec<_>, _>>()?)
    }

    fn ids(&self, device: &Device) -> Tensor<2, Int> {
        // The integers of this backend.
        let numbers = self.numbers[..self.batch * self.seq].iter();
        let numbers =
            numbers.map(|number| (*number).clamp(i32::MIN.into(), i32::MAX.into()) as i32);
        let data = TensorData::new(numbers.collect::<Vec<i32>>(), [self.batch, self.seq]);
        Tensor::from_data(data, device)
    }

    fn positions(&self, device: &Device) -> Result<Positions, PositionError> {
        let (batch, seq) = (self.batch, self.seq);
        let positions = match self.kind {
            0 => Positions::default(),
            1 => Positions::from(self.small(0)),
            2 => Positions::from_starts((0..batch).map(|row| self.small(row)).collect::<Vec<_>>()),
            3 => Positions::from_ids(self.ids(device))?,
            4 => Positions::from_segment_ids(self.ids(device)),
            5 => Positions::from_token_mask(self.ids(device).greater_elem(3)),
            6 => {
                let rows = self.times[..batch * seq].chunks(seq.max(1));
                Positions::from_time_rows(&rows.map(<[f64]>::to_vec).collect::<Vec<_>>())?
            }
            7 | 8 => Positions::from(self.grid()),
            9 => self.rows::<2>()?,
            10 => self.rows::<3>()?,
            11 => {
                let axes = 1 + self.small(0) % 4;
                let numbers = self.times[..batch * seq * axes].iter();
                let numbers: Vec<f32> = numbers.map(|number| *number as f32).collect();
                let shape = [batch, seq, axes];
                Positions::from_coordinates(Tensor::from_data(
                    TensorData::new(numbers, shape),
                    device,
                ))?
            }
            12 => {
                // Steps of the kind that models take, one after the other.
                let grid = self.grid();
                let by = [
                    Normalization::Separate,
                    Normalization::Longest,
                    Normalization::Shortest,
                ];
                let cells = match self.small(4) % 3 {
                    0 => Coordinates::of_grid(grid)?,
                    _ => Coordinates::normalized(grid, by[self.small(5) % 3])?,
                };
                let cells = cells.scaled(&self.times[..grid.axes()])?;
                let cells = cells.shifted(&self.times[1..=grid.axes()])?;
                let before = seq.saturating_sub(cells.tokens());
                let text = Coordinates::text(self.small(6), before, grid.axes())?;
                Positions::from(text.then(&cells)?)
            }
            13 => Positions::from_grid_ids(self.grid(), self.ids(device))?,
            _ => {
                let grid = self.image(self.small(1) % 7);
                let row = |row: usize| {
                    let left = seq.saturating_sub(grid.tokens());
                    let before = self.small(row) % (left + 1);
                    let image = match self.small(row + 1) % 3 {
                        0 => Part::Video {
                            grid,
                            interval: self.times[row],
                        },
                        _ => Part::Image(grid),
                    };
                    [
                        Part::Padding(before / 2),
                        Part::Text(before - before / 2),
                        image,
                        Part::Text(left - before),
                    ]
                };
                let rows: Vec<_> = (0..batch).map(row).collect();
                Positions::from_parts(&rows)?.0
            }
        };
        Ok(match self.padded {
            true => positions.with_mask_pad(self.ids(device).greater_elem(12)),
            false => positions,
        })
    }
}

/// Checks that the panicking form panics with the message of the error, and otherwise gives the same numbers, which are
/// finite.
///
/// Returns whether there was no error.
fn agree<const D: usize>(
    of: &str,
    tried: Result<Vec<Tensor<D>>, PositionError>,
    plain: impl FnOnce() -> Vec<Tensor<D>>,
) -> bool {
    let plain = catch_unwind(AssertUnwindSafe(plain));
    match (tried, plain) {
        (Ok(tried), Ok(plain)) => {
            for (tried, plain) in tried.into_iter().zip(plain) {
                let (tried, plain) = (values(tried), values(plain));
                let same = tried
                    .iter()
                    .zip(&plain)
                    .all(|(a, b)| a.to_bits() == b.to_bits());
                assert!(same, "{of}: the two forms differ");
                // A bias of minus infinity masks a key.
                let may_mask = of.ends_with("adds");
                let is_good = |x: &f32| x.is_finite() || may_mask && *x == f32::NEG_INFINITY;
                assert!(tried.iter().all(is_good), "{of}: not finite");
            }
            true
        }
        (Err(error), Err(panic)) => {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            assert!(
                said.unwrap_or_default().contains(&error.to_string()),
                "{of}: {error}"
            );
            false
        }
        (tried, plain) => panic!(
            "{of}: one form gives an error ({:?}), the other none ({})",
            tried.err(),
            plain.is_ok()
        ),
    }
}

/// Every hook of a scheme; whether none of them refuses the positions.
fn check(name: &str, scheme: &PositionalScheme, case: &Case, positions: &Positions) -> bool {
    let device = Device::flex();
    let [batch, seq] = [case.batch, case.seq];
    let x = Tensor::<3>::ones([batch, seq, HEADS * WIDTH], &device);
    let q = Tensor::<4>::ones([batch, HEADS, seq, WIDTH], &device);
    let embedded = scheme.try_embed(x.clone(), positions);
    let embeds = agree(&format!("{name} embeds"), embedded.map(|x| vec![x]), || {
        vec![scheme.embed(x.clone(), positions)]
    });
    let rotates = check_rotation(name, scheme, case, positions);
    let side = (&q, positions);
    let added = scheme
        .try_score_bias(side, side)
        .map(|bias| bias.into_iter().collect());
    let adds = agree(&format!("{name} adds"), added, || {
        scheme.score_bias(side, side).into_iter().collect()
    });
    let span = (positions, seq);
    let added = scheme
        .try_weight_bias(span, span)
        .map(|bias| bias.into_iter().collect());
    let adds_to_weights = agree(&format!("{name} adds to weights"), added, || {
        scheme.weight_bias(span, span).into_iter().collect()
    });
    let by_state = scheme.as_hidden_bias().is_none_or(|scheme| {
        let side = (&x, positions);
        let added = scheme.try_hidden_bias(0, side, span).map(|bias| vec![bias]);
        agree(&format!("{name} adds by hidden states"), added, || {
            vec![scheme.hidden_bias(0, side, span)]
        })
    });
    let forgets = scheme.as_forget_gate().is_none_or(|scheme| {
        let gates = scheme.try_log_gates(0, x.clone()).map(|gates| vec![gates]);
        agree(&format!("{name} forgets"), gates, || {
            vec![scheme.log_gates(0, x.clone())]
        })
    });
    // A scheme that looks at hidden states says so here.
    let adds = adds || scheme.sees_states();
    embeds && rotates && adds && adds_to_weights && by_state && forgets
}

fn check_rotation(name: &str, scheme: &dyn Rotate, case: &Case, positions: &Positions) -> bool {
    let shape = [case.batch, HEADS, case.seq, WIDTH];
    let q = Tensor::<4>::ones(shape, &Device::flex());
    let rotated = scheme
        .try_rotate(q.clone(), q.clone(), positions)
        .map(|(q, k)| vec![q, k]);
    agree(&format!("{name} rotates"), rotated, || {
        let (q, k) = scheme.rotate(q.clone(), q.clone(), positions);
        vec![q, k]
    })
}

#[test]
fn any_positions_through_every_scheme() {
    let device = Device::flex();
    let by_name = PositionalConfig::NAMES
        .iter()
        .map(|name| PositionalConfig::by_name(name, HEADS * WIDTH, HEADS, 32).unwrap());
    let data = DATA.map(|json| serde_json::from_str::<PositionalConfig>(json).unwrap());
    let configs: Vec<PositionalConfig> = by_name.chain(data).chain(with_axes()).collect();
    for kind in PositionalConfig::KINDS {
        assert!(
            configs.iter().any(|config| config.name() == *kind),
            "{kind} is not tried"
        );
    }
    let schemes: Vec<(String, PositionalScheme)> = configs
        .iter()
        .map(|config| {
            let name = serde_json::to_string(config).unwrap();
            (name, config.init(&device))
        })
        .collect();
    // Mixed rotations are no schemes, and take the same positions.
    let mixed = [1, 2].map(|axes| {
        let config = MixedRotaryConfig::new(WIDTH, HEADS).with_axes(axes);
        config.init(&device)
    });
    // What a panic says is part of the test, and not of its output.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut runner = runner();
    let (more, mut cases, mut errors) = (more(3_000), 0, 0);
    let mut taken = vec![0; schemes.len() + mixed.len()];
    let mut failed = None;
    while more(cases) && failed.is_none() {
        let case = case().new_tree(&mut runner).unwrap().current();
        cases += 1;
        let checked = catch_unwind(AssertUnwindSafe(|| {
            let positions = case.positions(&device).ok()?;
            let of_schemes = schemes
                .iter()
                .map(|(name, scheme)| check(name, scheme, &case, &positions));
            let of_mixed = mixed
                .iter()
                .map(|scheme| check_rotation("mixed", scheme, &case, &positions));
            Some(of_schemes.chain(of_mixed).collect::<Vec<bool>>())
        }));
        match checked {
            Ok(None) => errors += 1,
            Ok(Some(took)) => {
                for (count, took) in taken.iter_mut().zip(took) {
                    *count += usize::from(took && case.batch * case.seq > 0);
                }
            }
            Err(panic) => failed = Some((case, panic)),
        }
    }
    std::panic::set_hook(hook);
    if let Some((case, panic)) = failed {
        let said = panic.downcast_ref::<String>().cloned();
        panic!("{case:?}: {}", said.unwrap_or_else(|| "a panic".into()));
    }
    for (index, count) in taken.iter().enumerate() {
        let name = schemes.get(index).map_or("mixed", |scheme| &scheme.0);
        assert!(*count > 0, "{name} took none of {cases} cases");
    }
    println!("positions: {cases} cases, {errors} of them refused when they were made");
    let least = taken.iter().min().unwrap();
    println!("positions: every scheme took at least {least} of them");
}
