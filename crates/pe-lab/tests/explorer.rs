//! The explorer of `pe-lab serve`: its numbers are those of the library, what is out of bounds is refused, and a
//! change takes less than 50 ms.
//!
//! The programs that it offers are in `samples`, compiled with this test. After an intended change write them with
//! `UPDATE_GOLDEN=1 cargo test --workspace --test explorer -- samples`.

mod samples;
mod served;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use burn::tensor::{Device, Tensor};
use pe_burn::{Bias, Embed, Layout, Positions, Rotate, Spectrum};
use serde_json::Value;
use served::{floats, get, numbers, rows, serving};

/// Addresses, each with the name and the value of what is wrong and the beginning of what it has to be.
const REFUSED: &str = "\
    scheme=sinusoidal&d_model=0 | d_model | 0 | a whole number from 1 to 1024
    scheme=sinusoidal&d_model=1025 | d_model | 1025 | a whole number from 1 to 1024
    scheme=sinusoidal&d_model=8.5 | d_model | 8.5 | a whole number from 1 to 1024
    scheme=sinusoidal&d_model=99999999999999999999 | d_model | 99999999999999999999 | a whole number from 1 to 1024
    scheme=sinusoidal&d_model | d_model |  | a whole number from 1 to 1024
    scheme=sinusoidal&base=1 | base | 1 | a number from 1.001 to 1000000000
    scheme=sinusoidal&base=nan | base | nan | a number from 1.001 to 1000000000
    scheme=sinusoidal&base=inf | base | inf | a number from 1.001 to 1000000000
    scheme=sinusoidal&base=2&base=3 | base | 3 | given once
    scheme=sinusoidal&base=%2 | the address | %2 | UTF-8, with two hexadecimal digits behind every %
    scheme=sinusoidal&base=%ff | the address | %ff | UTF-8, with two hexadecimal digits behind every %
    scheme=sinusoidal&start=1000000001 | start | 1000000001 | a whole number from 0 to 1000000000
    scheme=sinusoidal&start=-1 | start | -1 | a whole number from 0 to 1000000000
    scheme=sinusoidal&layout=columns | layout | columns | one of own, interleaved, halves
    scheme=sinusoidal&formula=mine | formula | mine | one of paper, wavelengths,
    scheme=rotary&scaling=mine | scaling | mine | one of none, linear,
    scheme=rotary&d_head=63 | d_head | 63 | a multiple of 2 from 2 to 512
    scheme=rotary&scaling=longrope&factor=0 | factor | 0 | a number from 0.25 to 64
    scheme=xpos&scale_base=0.5 | scale_base | 0.5 | a number from 1 to 1000000000
    scheme=xpos&scaling=yarn | scaling | yarn | a setting of this scheme: d_head, base,
    scheme=rotary&d_head=32&rotary_dim=64 | rotary_dim | 64 |
    scheme=alibi&heads=0 | heads | 0 | a whole number from 1 to 64
    scheme=t5&buckets=30 | buckets | 30 | a multiple of 4 from 4 to 256
    scheme=t5&buckets=256&max_distance=64 | max_distance | 64 |
     | scheme |  | one of sinusoidal, rotary,
    scheme=learned | scheme | learned | one of sinusoidal, rotary,
    scheme=alibi&scheme=t5 | scheme | t5 | a setting of this scheme: heads, shape, query, reach
    scheme=alibi&d_model=64 | d_model | 64 | a setting of this scheme: heads, shape, query, reach
";

#[test]
fn bad_values_are_refused_with_name_value_and_bound() {
    serving(None, |port| {
        for row in REFUSED.lines() {
            let parts: Vec<&str> = row.split('|').map(str::trim).collect();
            let [query, name, value, bound] = parts[..] else {
                panic!("{row}")
            };
            let answer = get(port, &format!("/api/numbers?{query}"));
            assert_eq!(answer.status, 400, "{query}");
            let said = answer.json();
            let is_bound = said["bound"].as_str().unwrap().starts_with(bound);
            assert!(
                said["name"] == name && said["value"] == value && is_bound,
                "{query}: {said}"
            );
            let error = said["error"].as_str().unwrap();
            assert!(error.contains(" must be "), "{error}");
        }
        let past = "/api/numbers?scheme=sinusoidal&start=1000000000&count=2";
        assert_eq!(get(port, past).json()["value"], "1000000001");
    });
}

/// The offsets of the keys, and a line of values at them.
fn line(said: &Value, nth: usize) -> Vec<(f64, f64)> {
    let [offsets, values] = [&said["offsets"], &said["lines"][nth]["values"]].map(floats);
    assert_eq!(offsets.len(), values.len());
    offsets.into_iter().zip(values).collect()
}

#[track_caller]
fn near(value: f64, exact: f64, within: f64) {
    assert!((value - exact).abs() <= within, "{value} and {exact}");
}

#[test]
fn the_numbers_are_those_of_the_library() {
    serving(None, |port| {
        let query = "scheme=sinusoidal&d_model=33&base=500&layout=halves&start=999999000&count=100&every=10&position=999999500";
        let spectrum = Spectrum::new(33, 500.0).unwrap();
        let spectrum = spectrum.with_layout(Layout::Halves);
        let positions: Vec<usize> = (0..100).map(|i| 999_999_000 + 10 * i).collect();
        let expected = spectrum.rows_at::<f32>(&positions).unwrap();
        assert_eq!(rows(port, query), expected);
        // What stands behind a % is read, and what is not named has its default.
        let encoded = query.replace("halves", "%68alves");
        let encoded = encoded.replace("d_model", "d%5Fmodel");
        assert_eq!(rows(port, &encoded), rows(port, query));
        let said = numbers(port, query);
        let frequencies = floats(&said["frequencies"][0]["values"]);
        assert_eq!(frequencies, spectrum.frequencies());
        let similarity = |at: &usize| spectrum.similarity(*at as isize - 999_999_500).unwrap();
        let similarity: Vec<f64> = positions.iter().map(similarity).collect();
        assert_eq!(floats(&said["similarity"]), similarity);

        // q = k = ones: the score is that of the closed form, twice the sum of cosines over √d_head.
        let said = numbers(port, "scheme=rotary&d_head=32&query=1000000&reach=300");
        let spectrum = Spectrum::new(32, 10_000.0).unwrap();
        for (offset, score) in line(&said, 0) {
            let exact = spectrum.similarity(offset as isize).unwrap() * 32.0_f64.sqrt();
            near(score, exact, 2e-6);
        }

        // LongRoPE: past the trained length every frequency has a factor of its own, and up to it none.
        for (query, is_long) in [(1_000, true), (60, false)] {
            let settings = "scheme=rotary&d_head=32&scaling=longrope&factor=8&original=128";
            let said = numbers(port, &format!("{settings}&query={query}&reach=60"));
            let plain = Spectrum::new(32, 10_000.0).unwrap().frequencies();
            let frequencies = floats(&said["frequencies"][0]["values"]);
            assert_eq!(floats(&said["frequencies"][1]["values"]), plain);
            for (i, (scaled, plain)) in frequencies.iter().zip(&plain).enumerate() {
                let factor = 8.0_f64.powf(if is_long { i as f64 / 15.0 } else { 0.0 });
                assert!((scaled * factor / plain - 1.0).abs() < 1e-12, "{i}");
            }
            // Both sides are multiplied by √(1 + ln 8 / ln 128).
            let amplitude = 1.0 + 8.0_f64.ln() / 128.0_f64.ln();
            for (offset, score) in line(&said, 0) {
                let turned = frequencies.iter().map(|omega| 2.0 * (omega * offset).cos());
                let exact = amplitude * turned.sum::<f64>() / 32.0_f64.sqrt();
                near(score, exact, 4e-6);
            }
            let used = if is_long { "long" } else { "short" };
            let facts = said["facts"].to_string();
            assert!(
                facts.contains(&format!("those for {used} inputs are")),
                "{facts}"
            );
        }

        // xPos: every pair has the factor ζ^((query − key)/scale_base).
        for (query, scale_base) in [(300, 200.0), (20_000, 512.0), (999_999_000, 1e9)] {
            let settings = format!("scheme=xpos&d_head=32&scale_base={scale_base}&query={query}");
            let said = numbers(port, &format!("{settings}&reach=250"));
            let spectrum = Spectrum::new(32, 10_000.0).unwrap().frequencies();
            assert_eq!(floats(&said["frequencies"][0]["values"]), spectrum);
            let scores = line(&said, 0);
            assert_eq!(scores.len(), 501);
            for (offset, score) in scores {
                let pair = |(i, omega): (usize, &f64)| {
                    let decay = (i as f64 / 16.0 + 0.4) / 1.4;
                    2.0 * (omega * offset).cos() * decay.powf(-offset / scale_base)
                };
                let exact = spectrum.iter().enumerate().map(pair).sum::<f64>() / 32.0_f64.sqrt();
                near(score, exact, 2e-5 * exact.abs().max(1.0));
            }
        }
        // Past the range of f32 it is refused, and said how far it reaches.
        let far = get(port, "/api/numbers?scheme=xpos&query=40000&reach=10");
        assert_eq!(far.status, 400);
        let said = far.json();
        assert_eq!(said["name"], "the position");
        assert!(said["bound"].as_str().unwrap().contains("32695"), "{said}");

        let said = numbers(port, "scheme=alibi&heads=8&query=1000000000&reach=1000000");
        assert_eq!(said["lines"].as_array().unwrap().len(), 7);
        for head in 0..7 {
            // Seven of the eight heads are drawn, the last one among them.
            let slope = 2.0_f64.powi(-(if head == 6 { 8 } else { head as i32 + 1 }));
            for (offset, bias) in line(&said, head) {
                let exact = -slope * offset.abs();
                near(bias, exact, exact.abs() * 1e-6);
            }
        }

        let settings = "scheme=kerple&shape=power&r1=0.5&r2=1.5&query=100&reach=100";
        let said = numbers(port, settings);
        for (offset, bias) in line(&said, 0) {
            let exact = -0.5 * offset.abs().powf(1.5);
            near(bias, exact, 1e-5 * exact.abs());
        }

        // T5: the same bucket, the same bias; all distances from max_distance on share one.
        let said = numbers(port, "scheme=t5&heads=1&query=1000&reach=256&seed=3");
        let config = pe_burn::T5RelativeBiasConfig::new(1);
        let mut of_bucket: BTreeMap<usize, f64> = BTreeMap::new();
        for (offset, bias) in line(&said, 0) {
            let bucket = config.bucket(offset as i64);
            assert_eq!(*of_bucket.entry(bucket).or_insert(bias), bias);
        }
        assert_eq!(of_bucket.len(), 31); // bucket 16 is that of distance 0 to the right, which has none

        // FIRE: what counts is the distance relative to the position of the query, once that is past L.
        let fire = |query: &str| line(&numbers(port, &format!("scheme=fire&{query}")), 0);
        assert_ne!(
            fire("threshold=1&c=10&query=10000&reach=10000"),
            fire("threshold=1000000&c=10&query=10000&reach=10000")
        );
        assert_eq!(fire("seed=4"), fire("seed=4"));
        assert_ne!(fire("seed=4"), fire("seed=5"));
    });
}

#[test]
fn the_largest_settings_are_answered() {
    serving(None, |port| {
        for query in [
            "/api/numbers?scheme=sinusoidal&d_model=1024&count=256&every=1000000&start=123456789&position=1000000000",
            "/api/numbers?scheme=rotary&d_head=512&scaling=yarn&query=500000000&reach=500000000",
            "/api/numbers?scheme=rotary&d_head=512&scaling=longrope&query=500000000&reach=500000000",
            "/api/numbers?scheme=xpos&d_head=512&scale_base=1000000000&query=500000000&reach=500000000",
            "/api/numbers?scheme=alibi&heads=64&query=500000000&reach=500000000",
            "/api/numbers?scheme=t5&heads=64&buckets=256&max_distance=16384&query=500000000&reach=500000000",
            "/api/numbers?scheme=fire&heads=64&hidden=128&query=500000000&reach=500000000",
        ] {
            assert_eq!(get(port, query).status, 200, "{query}");
        }
    });
}

/// The samples, each with its settings.
const SAMPLES: &str = "\
    sinusoidal scheme=sinusoidal&d_model=24&formula=diffusers&base=300&layout=interleaved&start=7&count=5&every=3
    plain scheme=sinusoidal
    rotary scheme=rotary&d_head=32&base=500&layout=halves&rotary_dim=16&scaling=yarn&factor=2.5&original=64&query=40&reach=30
    longrope scheme=rotary&d_head=32&base=500&rotary_dim=16&scaling=longrope&factor=2.5&original=64&query=40&reach=30
    xpos scheme=xpos&d_head=32&base=500&layout=halves&scale_base=64&query=40&reach=30
    alibi scheme=alibi&heads=4&shape=half_step&query=30&reach=20
    kerple scheme=kerple&shape=power&r1=0.25&r2=1.5&query=30&reach=20
    t5 scheme=t5&heads=2&buckets=16&max_distance=40&sides=one
";

fn samples() -> impl Iterator<Item = (&'static str, &'static str)> {
    SAMPLES
        .lines()
        .filter_map(|line| line.trim().split_once(' '))
}

#[test]
fn samples_are_the_code_of_the_page() {
    serving(None, |port| {
        for (name, query) in samples() {
            let code = numbers(port, query)["code"].as_str().unwrap().to_string();
            let file =
                Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/samples/{name}.rs"));
            if std::env::var_os("UPDATE_GOLDEN").is_some() {
                fs::write(&file, &code).unwrap();
            }
            assert_eq!(fs::read_to_string(&file).unwrap(), code, "{name}");
        }
    });
}

/// The programs, which are compiled with this test, give the numbers of the page.
#[test]
fn samples_compute_what_the_page_shows() {
    let device = Device::flex();
    let query_of = |name: &str| samples().find(|sample| sample.0 == name).unwrap().1;
    serving(None, |port| {
        let some = samples::sinusoidal::encoding(&device).unwrap();
        let plain = samples::plain::encoding(&device).unwrap();
        let (of_some, of_plain) = (samples::sinusoidal::rows(), samples::plain::rows());
        for (name, sample, module, ids) in [
            ("sinusoidal", of_some, some, vec![7, 10, 13, 16, 19]),
            ("plain", of_plain, plain, (0..100).collect()),
        ] {
            let shown = rows(port, query_of(name));
            assert_eq!(shown, sample.unwrap(), "{name}");
            let zeros = Tensor::zeros([1, ids.len(), shown.len() / ids.len()], &device);
            let at = Positions::from_id_rows(&[ids]).unwrap();
            let sums = module.embed(zeros, &at).into_data();
            assert_eq!(shown, sums.try_to_vec::<f32>().unwrap(), "{name}");
        }

        let at = |ids: &[usize]| Positions::from_id_rows(&[ids]).unwrap();
        let ones = |seq: usize| Tensor::<4>::ones([1, 1, seq, 32], &device);
        let rotary = samples::rotary::rotation(&device).unwrap();
        for (name, rope) in [
            ("rotary", &rotary as &dyn Rotate),
            ("longrope", &samples::longrope::rotation(&device).unwrap()),
            ("xpos", &samples::xpos::rotation(&device).unwrap()),
        ] {
            let said = numbers(port, query_of(name));
            let keys = keys(&said, 40.0);
            let (q, k) = rope.rotate_apart((ones(1), &at(&[40])), (ones(keys.len()), &at(&keys)));
            let scores = q.matmul(k.swap_dims(2, 3)) / 32.0_f64.sqrt();
            close(&scores, &said);
        }

        let alibi = samples::alibi::bias(&device).unwrap();
        for (name, bias) in [
            ("alibi", &alibi as &dyn Bias),
            ("kerple", &samples::kerple::bias(&device).unwrap()),
        ] {
            let said = numbers(port, query_of(name));
            let keys = keys(&said, 30.0);
            close(&bias.bias((&at(&[30]), 1), (&at(&keys), keys.len())), &said);
        }
        // Its table is random; that it has the settings is all there is to compare.
        let t5 = samples::t5::bias(&device).unwrap();
        let expected = pe_burn::T5RelativeBiasConfig::new(2).with_buckets(16);
        let expected = expected.with_max_distance(40).with_bidirectional(false);
        assert_eq!(t5.config(), &expected);
    });
}

/// The positions of the keys beside a query.
fn keys(said: &Value, query: f64) -> Vec<usize> {
    let offsets = floats(&said["offsets"]).into_iter();
    offsets.map(|offset| (query + offset) as usize).collect()
}

/// The lines of an answer, one for each head, are these.
fn close(tensor: &Tensor<4>, said: &Value) {
    let ours = tensor.clone().into_data().try_to_vec::<f32>().unwrap();
    let lines = said["lines"].as_array().unwrap().iter();
    let theirs: Vec<f64> = lines.flat_map(|line| floats(&line["values"])).collect();
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.into_iter().zip(theirs) {
        near(f64::from(ours), theirs, 1e-5 * theirs.abs().max(1.0));
    }
}
