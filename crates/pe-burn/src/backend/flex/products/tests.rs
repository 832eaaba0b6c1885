use super::*;

use burn::tensor::{Device, TensorData};

use crate::testing::{random, values};

/// The row of each pair, for `[sequences, queries, keys]`: by distance, with some exceptions.
fn rows([sequences, queries, keys]: [usize; 3], width: usize) -> Tensor<3, Int> {
    let row = |i: usize| match i % 7 {
        0 => i * i % 31,
        _ => i % keys + queries - i / keys % queries,
    };
    let rows = (0..sequences * queries * keys).map(|i| (row(i) % width) as i64);
    let rows = TensorData::new(rows.collect::<Vec<i64>>(), [sequences, queries, keys]);
    Tensor::from_data(rows, &Device::flex())
}

/// The same with Burn's operations.
fn expected((x, of_x): Side, keys: Option<Side>, content: f64, rows: Tensor<3, Int>) -> Tensor<4> {
    let [batch, heads, ..] = x.dims();
    let [_, queries, k_seq] = rows.dims();
    let index = Tensor::from_inner(rows.unsqueeze_dim::<4>(1));
    let index = index.expand([batch, heads, queries, k_seq]);
    let mut sum = Tensor::zeros([batch, heads, queries, k_seq], &x.device());
    let of = |x: Tensor<4>, table: Tensor<3>, index: Tensor<4, Int>| {
        let one = table.dims()[1] == 1;
        let index = if one { index.zeros_like() } else { index };
        x.matmul(table.swap_dims(1, 2).unsqueeze()).gather(3, index)
    };
    if let Some((y, of_y)) = keys {
        sum = sum + x.clone().matmul(y.clone().transpose()) * content;
        if let Some(table) = of_y {
            sum = sum + of(y, table, index.clone().transpose()).transpose();
        }
    }
    match of_x {
        Some(table) => sum + of(x, table, index),
        None => sum,
    }
}

#[test]
fn sums_and_gradients_equal_those_of_products_and_gather() {
    let device = Device::flex().autodiff();
    for [batch, heads, queries, keys, width, d] in [
        [1, 1, 1, 1, 1, 1],
        [2, 3, 5, 7, 4, 3],
        [3, 2, 4, 1, 9, 8],
        [2, 2, 150, 130, 279, 16],
        [5, 3, 65, 40, 33, 4],
    ] {
        for (sequences, tables, of_x, of_y, content) in [
            (1, 1, Some(width), None, 0.0),
            (batch, heads, Some(width), None, 0.0),
            (1, heads, Some(width), Some(width), -0.7),
            (batch, 1, Some(width), Some(width), 0.0),
            (1, heads, Some(width), Some(1), 0.0),
            (batch, heads, None, Some(width), 0.3),
        ] {
            // As in an encoder: the heads of a token lie side by side.
            let tokens = |seq| random([batch, seq, heads, d], &device).require_grad();
            let table = |rows| random([tables, rows, d], &device).require_grad();
            let (x, y) = (tokens(queries), tokens(keys));
            let [of_x, of_y] = [of_x, of_y].map(|rows| rows.map(table));
            let with_keys = of_y.is_some() || content != 0.0;
            let rows = rows([sequences, queries, keys], width);
            let weights = random([batch, heads, queries, keys], &device);
            let of = |run: fn(Side, Option<Side>, f64, Tensor<3, Int>) -> Tensor<4>| {
                let by_head = |x: &Tensor<4>| x.clone().swap_dims(1, 2);
                let keys = with_keys.then(|| (by_head(&y), of_y.clone()));
                let sum = run((by_head(&x), of_x.clone()), keys, content, rows.clone());
                let gradients = (sum.clone() * weights.clone()).sum().backward();
                let mut all = values(sum);
                let tables = [&of_x, &of_y].map(|x| x.as_ref()?.grad(&gradients));
                all.extend(values(x.grad(&gradients).unwrap()));
                all.extend(y.grad(&gradients).into_iter().flat_map(values));
                all.extend(tables.into_iter().flatten().flat_map(values));
                all
            };
            let (found, expected) = (of(products), of(expected));
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                let bound = 1e-5 * expected.abs().max(4.0);
                assert!((found - expected).abs() < bound, "{found} {expected}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "row 2 of a table of 2")]
fn a_row_that_is_not_there_is_refused() {
    let device = Device::flex();
    let [x, table] = [1, 2].map(|rows| Tensor::<3>::zeros([1, rows, 4], &device));
    let rows = Tensor::from_data([[[2]]], &device);
    products((x.unsqueeze(), Some(table)), None, 0.0, rows);
}
