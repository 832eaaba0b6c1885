//! Decomposed relative positions: against `tests/peers/values/decomposed.json`, and their positions.

use std::path::Path;

use burn::module::{Initializer, Param};
use burn::tensor::{Device, Distribution, Int, Tensor};
use pe_burn::grid::{DecomposedRelativeBias, DecomposedRelativeBiasConfig};
use pe_burn::{Grid, Positions, ScoreBias};
use pe_tests::devices;
use serde::Deserialize;

use crate::{assert_close, assert_says, cases, distance, loss, refusal, refused, tensor, values};

#[derive(Deserialize)]
struct Case {
    peer: String,
    heads: usize,
    window: [usize; 2],
    queries: [usize; 2],
    keys: [usize; 2],
    prefix: usize,
    parameters: Vec<Vec<f32>>,
    bias: Vec<f64>,
    gradients: Vec<Vec<f64>>,
}

/// Grids of queries and keys that are smaller and larger than that of the tables, and that differ. A token
/// may also be given by its id.
#[test]
fn biases_and_gradients_of_peers() {
    let cases: Vec<Case> = cases(include_str!("../peers/values/decomposed.json"));
    assert_eq!(cases.len(), 9);
    for case in &cases {
        for device in devices() {
            let device = device.autodiff();
            let d_head = 3;
            let table = |i: usize| {
                let numbers = &case.parameters[i];
                let shape = [numbers.len() / d_head, d_head];
                Param::from_tensor(tensor(numbers, shape, &device))
            };
            let mut module = DecomposedRelativeBiasConfig::new(d_head, case.window).init(&device);
            (module.rows, module.columns) = (table(1), table(2));
            let [queries, keys] = [case.queries, case.keys]
                .map(|[height, width]| Grid::image(height, width).with_prefix(case.prefix));
            let shape = [1, case.heads, queries.tokens(), d_head];
            let q = tensor(&case.parameters[0], shape, &device).require_grad();
            let k = Tensor::zeros([1, case.heads, keys.tokens(), d_head], &device);
            let ids = |grid: Grid| {
                let ids = Tensor::arange(0..grid.tokens() as i64, &device);
                Positions::from_grid_ids(grid, ids.unsqueeze()).unwrap()
            };
            for (q_at, k_at) in [
                (Positions::from(queries), Positions::from(keys)),
                (ids(queries), ids(keys)),
            ] {
                let about = format!(
                    "{device:?} {} {:?} to {:?}, tables of {:?}",
                    case.peer, case.queries, case.keys, case.window
                );
                let bias = module.score_bias((&q, &q_at), (&k, &k_at));
                assert_close(&values(bias.clone()), &case.bias, 2e-6, &about);
                let gradients = loss(bias).backward();
                let about = format!("{about} gradient");
                let of_q = values(q.grad(&gradients).unwrap());
                assert_close(&of_q, &case.gradients[0], 3e-6, &about);
                for (table, theirs) in [&module.rows, &module.columns]
                    .into_iter()
                    .zip(&case.gradients[1..])
                {
                    let ours = values(table.val().grad(&gradients).unwrap());
                    assert_close(&ours, theirs, 3e-6, &about);
                }
            }
        }
    }
}

fn random(d_head: usize, window: [usize; 2], device: &Device) -> DecomposedRelativeBias {
    let normal = Initializer::Normal {
        mean: 0.0,
        std: 1.0,
    };
    let config = DecomposedRelativeBiasConfig::new(d_head, window);
    config.with_init(normal).init(device)
}

/// Some tokens in any order, other ones in every row of a batch, have what they have among all.
#[test]
fn some_tokens_as_among_all() {
    for device in devices() {
        let module = random(4, [3, 4], &device);
        let grid = Grid::image(3, 4).with_prefix(1);
        let all = Positions::from(grid);
        let q = Tensor::<4>::random([2, 2, 13, 4], Distribution::Default, &device);
        let whole = module.score_bias((&q, &all), (&q, &all));
        assert_eq!(whole.dims(), [2, 2, 13, 13]);
        let ids = [[5, 0, 12, 5], [1, 2, 3, 7]];
        let few = Tensor::<2, Int>::from_data(ids, &device);
        let few = Positions::from_grid_ids(grid, few).unwrap();
        let row = |x: &Tensor<4>, row: usize, axis: usize| {
            let ids = Tensor::<1, Int>::from_data(ids[row], &device);
            x.clone().narrow(0, row, 1).select(axis, ids)
        };
        let picked = Tensor::cat(vec![row(&q, 0, 2), row(&q, 1, 2)], 0);
        for (queries, keys, expected) in [
            (
                (&picked, &few),
                (&q, &all),
                [row(&whole, 0, 2), row(&whole, 1, 2)],
            ),
            (
                (&q, &all),
                (&picked, &few),
                [row(&whole, 0, 3), row(&whole, 1, 3)],
            ),
        ] {
            let bias = module.score_bias(queries, keys);
            let off = distance(bias, Tensor::cat(expected.into(), 0));
            assert!(off < 1e-6, "{device:?}: {off}");
        }
    }
}

#[test]
fn bad_input_is_refused() {
    let device = Device::flex();
    let module = random(4, [3, 4], &device);
    let q = Tensor::<4>::zeros([1, 2, 12, 4], &device);
    let window = Positions::from(Grid::image(3, 4));
    refused! {
        |bad| module.try_score_bias((&bad.0, &bad.1), (&bad.0, &window));
        (q.clone(), Positions::default()) =>
            "this encoding needs a grid of height × width, but got positions on a line",
        (Tensor::<4>::zeros([1, 2, 12, 5], &device), window.clone()) =>
            "the input has d_head 5, but this module was built for d_head 4",
    }
    refused! {
        DecomposedRelativeBiasConfig::new(4, [3, 0]) =>
            "window must be at least 1 and at most 16384 on each side; got 0",
    }
    // Prefix tokens alone have no bias.
    let prefix = Positions::from(Grid::image(0, 4).with_prefix(12));
    let bias = module.score_bias((&q, &prefix), (&q, &window));
    assert!(values(bias).iter().all(|bias| *bias == 0.0));
}

#[test]
fn tables_are_read_by_name() {
    let path = Path::new("peers/values/tables.safetensors");
    let device = Device::flex();
    let config = DecomposedRelativeBiasConfig::new(2, [2, 2]);
    let name = "vision_encoder.layers.0.attn";
    let sam = config.init_from_file(path, name, &device).unwrap();
    let (rows, columns) = (values(sam.rows.val()), values(sam.columns.val()));
    assert_eq!((rows.len(), columns.len()), (6, 6));
    assert!(rows != columns && rows.iter().chain(&columns).all(|x| *x != 0.0));
    let config = DecomposedRelativeBiasConfig::new(2, [2, 3]);
    let words = format!(
        "\"{name}.rel_pos_w\" has shape [3, 2], but this configuration needs [5, 2]: 2 width − 1 of the \
         window, and d_head"
    );
    assert_says(&refusal(config.init_from_file(path, name, &device)), &words);
}
