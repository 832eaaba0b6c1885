//! `pe-lab serve`: who is answered and with what, what a study looks like from there, and that the numbers are
//! those of the library.
//!
//! The programs that the explorer offers are in `samples`, compiled with this test. After an intended change
//! write them with `UPDATE_GOLDEN=1 cargo test -p pe-lab --test serve samples`.

#![cfg(unix)]

mod common;
mod samples;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use burn::tensor::{Device, Tensor};
use pe_burn::{Bias, Embed, Layout, Positions, Rotate, Spectrum};
use pe_lab::serve::{Server, Site};
use serde_json::Value;

/// What came back: the status, the head, the body.
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

/// Sends bytes as they are.
fn send(port: u16, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    // The server may refuse before it has read all of it.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .expect("a head")
        + 4;
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = bytes[end..].to_vec();
    Answer { status, head, body }
}

fn ask(port: u16, line: &str, headers: &str) -> Answer {
    send(
        port,
        format!("{line} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}\r\n").as_bytes(),
    )
}

fn get(port: u16, target: &str) -> Answer {
    ask(port, &format!("GET {target}"), "")
}

fn numbers(port: u16, query: &str) -> Value {
    let answer = get(port, &format!("/api/numbers?{query}"));
    assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    answer.json()
}

fn rows(port: u16, query: &str) -> Vec<f32> {
    let answer = get(port, &format!("/api/rows?{query}"));
    assert_eq!(answer.status, 200, "{query}");
    let (each, rest) = answer.body.as_chunks::<4>();
    assert!(rest.is_empty());
    each.iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect()
}

fn floats(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect()
}

/// Runs `test` beside a server of a folder.
fn serving(folder: Option<&Path>, test: impl FnOnce(u16)) {
    let server = Server::bind(0, Site::new(folder.map(Into::into))).unwrap();
    let port = server
        .url()
        .trim_end_matches('/')
        .rsplit(':')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let stop = server.stop();
    thread::scope(|scope| {
        scope.spawn(|| server.run());
        // A test that fails must not wait for the server for ever.
        let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(port)));
        stop.now();
        tested.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// Every file below a folder, with its size and the time at which it was written.
fn listing(folder: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let about = entry.metadata().unwrap();
        if about.is_dir() {
            all.extend(listing(&entry.path()));
        }
        all.insert(entry.path(), (about.len(), about.modified().unwrap()));
    }
    all
}

#[test]
fn every_page_is_there_with_its_policy() {
    serving(None, |port| {
        for (path, media) in [
            ("/", "text/html; charset=utf-8"),
            ("/study", "text/html; charset=utf-8"),
            ("/guide", "text/html; charset=utf-8"),
            ("/style.css", "text/css; charset=utf-8"),
            ("/explorer.js", "text/javascript; charset=utf-8"),
            ("/guide/heatmap.svg", "image/svg+xml"),
            ("/api/schemes", "application/json"),
        ] {
            let answer = get(port, path);
            assert_eq!(answer.status, 200, "{path}");
            assert!(!answer.body.is_empty());
            for header in [
                format!("Content-Type: {media}\r\n"),
                format!("Content-Length: {}\r\n", answer.body.len()),
                "X-Content-Type-Options: nosniff\r\n".into(),
                "Content-Security-Policy: default-src 'none'; script-src 'self'; ".into(),
                "frame-ancestors 'none'\r\n".into(),
            ] {
                assert!(
                    answer.head.contains(&header),
                    "{path}: {header} in {}",
                    answer.head
                );
            }
            let head = ask(port, &format!("HEAD {path}"), "");
            assert_eq!(
                (head.status, head.body.len(), head.head),
                (200, 0, answer.head.clone())
            );
            // The policy forbids what stands inside a page, and no page may need it.
            let text = answer.text();
            for inline in ["<script>", " style=\"", " onclick=", "http://", "<style"] {
                let is_a_page = media.starts_with("text/html");
                assert!(!is_a_page || !text.contains(inline), "{path} has {inline}");
            }
        }
    });
}

#[test]
fn hostile_requests_get_a_clear_refusal() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("secret.txt"), "secret").unwrap();
    serving(Some(folder.path()), |port| {
        for target in [
            "/../secret.txt",
            "/%2e%2e/secret.txt",
            "/..%2fsecret.txt",
            "/..%5c..%5cetc%5cpasswd",
            "/secret.txt",
            "//etc/passwd",
            "/guide/../secret.txt",
            "/guide/%2e%2e%2fsecret.txt",
            "/guide/",
            "/report/secret.txt",
            "/style.css/",
            "/style.css%00",
            "/./style.css",
            "/STYLE.CSS",
            "/api/study/..",
            "/api",
            "http://evil.example/",
            "*",
        ] {
            let answer = get(port, target);
            assert_eq!(answer.status, 404, "{target}");
            assert!(!answer.text().contains("secret"));
        }
        for method in [
            "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get",
        ] {
            let answer = ask(port, &format!("{method} /"), "");
            assert_eq!(answer.status, 405, "{method}");
            assert!(answer.head.contains("\r\nAllow: GET, HEAD\r\n"));
        }
        let long = get(port, &format!("/{}", "a".repeat(5_000)));
        assert_eq!(long.status, 414);
        assert!(long.text().contains("4096") && long.text().contains("5001"));
        let wide = ask(port, "GET /", &format!("X: {}\r\n", "a".repeat(300_000)));
        assert_eq!(wide.status, 431);
        assert!(wide.text().contains("16384"));
        assert_eq!(ask(port, "GET /", &"X: 1\r\n".repeat(100)).status, 431);
        assert_eq!(
            send(port, b"\x16\x03\x01\x02\x00 hello\r\n\r\n").status,
            400
        );

        // A page elsewhere, and a name elsewhere that leads here.
        for headers in [
            "Origin: http://evil.example\r\n",
            "Origin: null\r\n",
            "Sec-Fetch-Site: cross-site\r\n",
        ] {
            let answer = ask(port, "GET /api/study", headers);
            assert_eq!(answer.status, 403, "{headers}");
            assert!(answer.text().contains("not answered"));
        }
        let rebound = send(
            port,
            b"GET /api/study HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        );
        assert_eq!(rebound.status, 421);
        assert!(rebound.text().contains("evil.example"));
        assert_eq!(send(port, b"GET / HTTP/1.1\r\n\r\n").status, 421);
        assert_eq!(
            ask(
                port,
                "GET /",
                &format!("Origin: http://127.0.0.1:{port}\r\n")
            )
            .status,
            200
        );
        // And it still answers.
        assert_eq!(get(port, "/").status, 200);
    });
}

#[test]
fn a_thousand_requests_at_once_beside_idle_connections() {
    serving(None, |port| {
        let expected = get(port, "/api/rows?scheme=sinusoidal").body;
        // Connections that say nothing, as browsers open them ahead.
        let idle: Vec<_> = (0..40)
            .map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap())
            .collect();
        let all = Barrier::new(1_000);
        thread::scope(|scope| {
            for _ in 0..1_000 {
                let one = || {
                    all.wait();
                    let answer = get(port, "/api/rows?scheme=sinusoidal");
                    assert_eq!((answer.status, &answer.body), (200, &expected));
                };
                thread::Builder::new()
                    .stack_size(128 << 10)
                    .spawn_scoped(scope, one)
                    .unwrap();
            }
        });
        let mut idle = idle;
        let mut said = String::new();
        idle[0].read_to_string(&mut said).unwrap();
        assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
    });
}

#[test]
fn bad_values_are_refused_with_name_value_and_bound() {
    serving(None, |port| {
        for (query, name, value) in [
            ("scheme=sinusoidal&d_model=0", "d_model", "0"),
            ("scheme=sinusoidal&d_model=1025", "d_model", "1025"),
            ("scheme=sinusoidal&base=1", "base", "1"),
            ("scheme=sinusoidal&base=nan", "base", "nan"),
            ("scheme=sinusoidal&start=1000000001", "start", "1000000001"),
            ("scheme=sinusoidal&start=-1", "start", "-1"),
            ("scheme=sinusoidal&layout=columns", "layout", "columns"),
            ("scheme=sinusoidal&formula=mine", "formula", "mine"),
            ("scheme=rotary&scaling=mine", "scaling", "mine"),
            ("scheme=rotary&d_head=63", "d_head", "63"),
            ("scheme=rotary&d_head=32&rotary_dim=64", "rotary_dim", "64"),
            ("scheme=alibi&heads=0", "heads", "0"),
            ("scheme=t5&buckets=30", "buckets", "30"),
            (
                "scheme=t5&buckets=256&max_distance=64",
                "max_distance",
                "64",
            ),
            ("scheme=learned", "scheme", "learned"),
            ("scheme=alibi&d_model=64", "d_model", "64"),
        ] {
            for path in ["/api/numbers", "/api/rows"] {
                let answer = get(port, &format!("{path}?{query}"));
                assert_eq!(answer.status, 400, "{query}");
                let said = answer.json();
                let is_other = path == "/api/rows"
                    && !query.contains("sinusoidal")
                    && said["name"] == "scheme";
                assert!(
                    is_other || (said["name"] == name && said["value"] == value),
                    "{query}: {said}"
                );
                assert!(
                    said["error"].as_str().unwrap().contains(" must be "),
                    "{said}"
                );
            }
        }
        let past = get(
            port,
            "/api/numbers?scheme=sinusoidal&start=1000000000&count=2",
        )
        .json();
        assert_eq!(past["value"], "1000000001");
    });
}

#[test]
fn the_numbers_are_those_of_the_library() {
    serving(None, |port| {
        let query = "scheme=sinusoidal&d_model=33&base=500&layout=halves&start=999999000&count=100&every=10&position=999999500";
        let spectrum = Spectrum::new(33, 500.0)
            .unwrap()
            .with_layout(Layout::Halves);
        let positions: Vec<usize> = (0..100).map(|i| 999_999_000 + 10 * i).collect();
        assert_eq!(
            rows(port, query),
            spectrum.rows_at::<f32>(&positions).unwrap()
        );
        let said = numbers(port, query);
        assert_eq!(
            floats(&said["frequencies"][0]["values"]),
            spectrum.frequencies()
        );
        let similarity = positions
            .iter()
            .map(|p| spectrum.similarity(*p as isize - 999_999_500).unwrap());
        assert_eq!(
            floats(&said["similarity"]),
            similarity.collect::<Vec<f64>>()
        );

        // q = k = ones: the score is that of the closed form, twice the sum of cosines over √d_head.
        let said = numbers(port, "scheme=rotary&d_head=32&query=1000000&reach=300");
        let spectrum = Spectrum::new(32, 10_000.0).unwrap();
        let scores = floats(&said["lines"][0]["values"]);
        let offsets = said["offsets"].as_array().unwrap();
        assert_eq!(offsets.len(), scores.len());
        for (offset, score) in offsets.iter().zip(&scores) {
            let exact = spectrum
                .similarity(offset.as_i64().unwrap() as isize)
                .unwrap()
                * 32.0_f64.sqrt();
            assert!(
                (score - exact).abs() < 2e-6,
                "{offset}: {score} and {exact}"
            );
        }

        let said = numbers(port, "scheme=alibi&heads=8&query=1000000000&reach=1000000");
        for (head, line) in said["lines"].as_array().unwrap().iter().enumerate() {
            // Seven of the eight heads are drawn, the last one among them.
            let slope = 2.0_f64.powi(-(if head == 6 { 8 } else { head as i32 + 1 }));
            for (offset, bias) in said["offsets"]
                .as_array()
                .unwrap()
                .iter()
                .zip(floats(&line["values"]))
            {
                let exact = -slope * offset.as_f64().unwrap().abs();
                assert!(
                    (bias - exact).abs() <= exact.abs() * 1e-6,
                    "head {head}, {offset}: {bias}, {exact}"
                );
            }
        }

        let said = numbers(
            port,
            "scheme=kerple&shape=power&r1=0.5&r2=1.5&query=100&reach=100",
        );
        for (offset, bias) in said["offsets"]
            .as_array()
            .unwrap()
            .iter()
            .zip(floats(&said["lines"][0]["values"]))
        {
            let exact = -0.5 * offset.as_f64().unwrap().abs().powf(1.5);
            assert!(
                (bias - exact).abs() <= 1e-5 * exact.abs(),
                "{offset}: {bias}, {exact}"
            );
        }

        // T5: the same bucket, the same bias; all distances from max_distance on share one.
        let said = numbers(port, "scheme=t5&heads=1&query=1000&reach=256&seed=3");
        let config = pe_burn::T5RelativeBiasConfig::new(1);
        let mut of_bucket: BTreeMap<usize, f64> = BTreeMap::new();
        for (offset, bias) in said["offsets"]
            .as_array()
            .unwrap()
            .iter()
            .zip(floats(&said["lines"][0]["values"]))
        {
            let bucket = config.bucket(offset.as_i64().unwrap());
            assert_eq!(*of_bucket.entry(bucket).or_insert(bias), bias);
        }
        assert_eq!(of_bucket.len(), 31); // bucket 16 is that of distance 0 to the right, which has none

        // FIRE: what counts is the distance relative to the position of the query, once that is past L.
        let line = |query: &str| floats(&numbers(port, query)["lines"][0]["values"]);
        let (near, far) = (
            line("scheme=fire&threshold=1&c=10&query=10000&reach=10000"),
            line("scheme=fire&threshold=1000000&c=10&query=10000&reach=10000"),
        );
        assert_ne!(near, far);
        assert_eq!(line("scheme=fire&seed=4"), line("scheme=fire&seed=4"));
        assert_ne!(line("scheme=fire&seed=4"), line("scheme=fire&seed=5"));
    });
}

#[test]
fn a_change_is_computed_within_50_ms() {
    serving(None, |port| {
        for query in [
            "/api/rows?scheme=sinusoidal&d_model=1024&count=256&every=1000000&start=123456789",
            "/api/numbers?scheme=sinusoidal&d_model=1024&count=256&every=1000000&start=123456789&position=1000000000",
            "/api/numbers?scheme=rotary&d_head=512&scaling=yarn&query=500000000&reach=500000000",
            "/api/numbers?scheme=alibi&heads=64&query=500000000&reach=500000000",
            "/api/numbers?scheme=t5&heads=64&buckets=256&max_distance=100000&query=500000000&reach=500000000",
            "/api/numbers?scheme=fire&heads=64&hidden=128&query=500000000&reach=500000000",
        ] {
            // The best of a few: other tests run at the same time.
            let best = (0..12).map(|_| {
                let start = Instant::now();
                assert_eq!(get(port, query).status, 200);
                start.elapsed()
            });
            let best = best.min().unwrap();
            println!("{query}: {best:?}");
            assert!(best < Duration::from_millis(50), "{query} takes {best:?}");
        }
    });
}

/// The settings of each sample.
const SAMPLES: [(&str, &str); 6] = [
    (
        "sinusoidal",
        "scheme=sinusoidal&d_model=24&formula=diffusers&base=300&layout=interleaved&start=7&count=5&every=3",
    ),
    ("plain", "scheme=sinusoidal"),
    (
        "rotary",
        "scheme=rotary&d_head=32&base=500&layout=halves&rotary_dim=16&scaling=yarn&factor=2.5&original=64&query=40&reach=30",
    ),
    (
        "alibi",
        "scheme=alibi&heads=4&shape=half_step&query=30&reach=20",
    ),
    (
        "kerple",
        "scheme=kerple&shape=power&r1=0.25&r2=1.5&query=30&reach=20",
    ),
    (
        "t5",
        "scheme=t5&heads=2&buckets=16&max_distance=40&sides=one",
    ),
];

#[test]
fn samples_are_the_code_of_the_page() {
    serving(None, |port| {
        for (name, query) in SAMPLES {
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
    let query_of = |name: &str| SAMPLES.iter().find(|sample| sample.0 == name).unwrap().1;
    serving(None, |port| {
        for (name, sample) in [
            ("sinusoidal", samples::sinusoidal::rows()),
            ("plain", samples::plain::rows()),
        ] {
            assert_eq!(rows(port, query_of(name)), sample.unwrap(), "{name}");
        }
        for (name, module, width, ids) in [
            (
                "sinusoidal",
                samples::sinusoidal::encoding(&device),
                24,
                vec![7, 10, 13, 16, 19],
            ),
            (
                "plain",
                samples::plain::encoding(&device),
                64,
                (0..100).collect(),
            ),
        ] {
            let zeros = Tensor::zeros([1, ids.len(), width], &device);
            let at = Positions::from_id_rows(&[ids]).unwrap();
            let sums = module.unwrap().embed(zeros, &at).into_data();
            assert_eq!(
                rows(port, query_of(name)),
                sums.try_to_vec::<f32>().unwrap(),
                "{name}"
            );
        }

        let said = numbers(port, query_of("rotary"));
        let rope = samples::rotary::rotation(&device).unwrap();
        let keys: Vec<usize> = floats(&said["offsets"])
            .iter()
            .map(|offset| (40.0 + offset) as usize)
            .collect();
        let at = |ids: &[usize]| Positions::from_id_rows(&[ids]).unwrap();
        let ones = |seq: usize| Tensor::<4>::ones([1, 1, seq, 32], &device);
        let (q, k) = rope.rotate_apart((ones(1), &at(&[40])), (ones(keys.len()), &at(&keys)));
        let scores = q.matmul(k.swap_dims(2, 3)) / 32.0_f64.sqrt();
        close(&scores, &said);

        for (name, bias) in [
            (
                "alibi",
                &samples::alibi::bias(&device).unwrap() as &dyn Bias,
            ),
            ("kerple", &samples::kerple::bias(&device).unwrap()),
        ] {
            let said = numbers(port, query_of(name));
            let keys: Vec<usize> = floats(&said["offsets"])
                .iter()
                .map(|offset| (30.0 + offset) as usize)
                .collect();
            close(&bias.bias((&at(&[30]), 1), (&at(&keys), keys.len())), &said);
        }
        // Its table is random; that it has the settings is all there is to compare.
        let t5 = samples::t5::bias(&device).unwrap();
        let expected = pe_burn::T5RelativeBiasConfig::new(2)
            .with_buckets(16)
            .with_max_distance(40)
            .with_bidirectional(false);
        assert_eq!(t5.config(), &expected);
    });
}

/// The lines of an answer, one for each head, are these.
fn close(tensor: &Tensor<4>, said: &Value) {
    let ours = tensor.clone().into_data().try_to_vec::<f32>().unwrap();
    let theirs = said["lines"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|line| floats(&line["values"]));
    let theirs: Vec<f64> = theirs.collect();
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!(
            (f64::from(*ours) - theirs).abs() <= 1e-5 * theirs.abs().max(1.0),
            "{ours} and {theirs}"
        );
    }
}

/// A small study, run to its end.
fn study(out: &Path) {
    let (code, _, stderr) = common::ended(
        common::lab()
            .args([
                "compare",
                "--quiet",
                "--schemes",
                "none,learned",
                "--tasks",
                "reverse,majority",
            ])
            .args(["--seeds", "2", "--steps", "3", "--out"])
            .arg(out),
    );
    assert_eq!(code, 0, "{stderr}");
}

#[test]
fn a_study_is_shown_as_it_is_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    serving(Some(&out), |port| {
        let now = || get(port, "/api/study").json();
        let said = now();
        assert_eq!(said["state"], "missing");
        assert!(
            said["message"]
                .as_str()
                .unwrap()
                .contains(out.to_str().unwrap())
        );
        fs::create_dir(&out).unwrap();
        assert_eq!(now()["state"], "no_study");
        study(&out);

        let before = listing(&out);
        let said = now();
        assert_eq!(
            [
                &said["planned"],
                &said["done"],
                &said["failed"],
                &said["begun"]
            ]
            .map(|v| v.as_u64().unwrap()),
            [8, 8, 0, 0]
        );
        assert_eq!(said["report"], true);
        assert_eq!(said["seconds_left"], 0.0);
        // The scores are those of the report.
        let summary: Value =
            serde_json::from_slice(&fs::read(out.join("summary.json")).unwrap()).unwrap();
        let mut compared = 0;
        for trial in said["trials"].as_array().unwrap() {
            let tasks = summary["tasks"].as_array().unwrap();
            let task = tasks
                .iter()
                .find(|task| task["task"] == trial["task"])
                .unwrap();
            let schemes = task["schemes"].as_array().unwrap();
            let scheme = schemes
                .iter()
                .find(|scheme| scheme["scheme"] == trial["scheme"])
                .unwrap();
            for part in ["inside", "beyond"] {
                let seeds = scheme[part]["seeds"].as_array().unwrap();
                let seed = seeds
                    .iter()
                    .find(|seed| seed["seed"] == trial["seed"])
                    .unwrap();
                let (ours, theirs) = (
                    trial[part].as_f64().unwrap(),
                    seed["normalized"].as_f64().unwrap(),
                );
                assert!((ours - theirs).abs() < 1e-12, "{trial}: {theirs}");
                compared += 1;
            }
            assert!(!trial["held_out"].as_array().unwrap().is_empty(), "{trial}");
        }
        assert_eq!(compared, 16);
        let report = get(port, "/report");
        assert_eq!(
            (report.status, &report.body),
            (200, &fs::read(out.join("report.html")).unwrap())
        );
        assert!(
            report
                .head
                .contains("Content-Security-Policy: sandbox allow-scripts; default-src 'none';")
        );
        assert_eq!(listing(&out), before);

        // One trial not begun, one begun, one failed, one damaged, one of another trial.
        let trial = |id: &str| out.join("trials").join(id);
        fs::remove_dir_all(trial("reverse-none-1")).unwrap();
        fs::remove_file(trial("reverse-none-2").join("result.json")).unwrap();
        fs::remove_file(trial("reverse-learned-1").join("result.json")).unwrap();
        fs::write(
            trial("reverse-learned-1").join("failure.json"),
            "\"the disk is full\"",
        )
        .unwrap();
        fs::write(trial("majority-none-1").join("result.json"), "{").unwrap();
        fs::copy(
            trial("majority-learned-1").join("result.json"),
            trial("majority-learned-2").join("result.json"),
        )
        .unwrap();
        let said = now();
        let state = |id: &str| {
            let trials = said["trials"].as_array().unwrap();
            let is = |t: &&Value| {
                format!(
                    "{}-{}-{}",
                    t["task"].as_str().unwrap(),
                    t["scheme"].as_str().unwrap(),
                    t["seed"]
                ) == id
            };
            let found = trials.iter().find(is).unwrap();
            (
                found["state"].as_str().unwrap().to_string(),
                found["reason"].as_str().unwrap_or_default().to_string(),
            )
        };
        assert_eq!(state("reverse-none-1").0, "waiting");
        assert_eq!(state("reverse-none-2").0, "begun");
        assert_eq!(
            state("reverse-learned-1"),
            ("failed".into(), "the disk is full".into())
        );
        assert!(state("majority-none-1").1.contains("cannot be read"));
        assert!(state("majority-learned-2").1.contains("another trial"));
        assert_eq!(
            [&said["done"], &said["failed"], &said["begun"]].map(|v| v.as_u64().unwrap()),
            [3, 3, 1]
        );
        assert!(said["seconds_left"].as_f64().unwrap() > 0.0);

        // The folder goes, and comes back.
        fs::rename(&out, folder.path().join("away")).unwrap();
        assert_eq!(now()["state"], "missing");
        let report = get(port, "/report");
        assert_eq!(report.status, 404);
        assert!(report.text().contains("no report"));
        fs::rename(folder.path().join("away"), &out).unwrap();
        assert_eq!(now()["state"], "study");
        assert_eq!(get(port, "/").status, 200);
    });
}

#[test]
fn nothing_outside_of_the_folder_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (out, outside) = (
        folder.path().join("study"),
        folder.path().join("outside.html"),
    );
    fs::create_dir(&out).unwrap();
    fs::write(&outside, "secret").unwrap();
    serving(Some(&out), |port| {
        std::os::unix::fs::symlink(&outside, out.join("report.html")).unwrap();
        std::os::unix::fs::symlink(&outside, out.join("study.json")).unwrap();
        let report = get(port, "/report");
        assert_eq!(report.status, 404);
        assert!(
            report.text().contains("no regular file inside"),
            "{}",
            report.text()
        );
        let said = get(port, "/api/study").json();
        assert_eq!(said["state"], "damaged");
        assert!(
            said["message"]
                .as_str()
                .unwrap()
                .contains("no regular file inside")
        );
        // A pipe would keep a reader waiting for ever, and a large file would fill the memory.
        fs::remove_file(out.join("report.html")).unwrap();
        let pipe = std::process::Command::new("mkfifo")
            .arg(out.join("report.html"))
            .status()
            .unwrap();
        assert!(pipe.success());
        assert_eq!(get(port, "/report").status, 404);
        fs::remove_file(out.join("report.html")).unwrap();
        let large = fs::File::create(out.join("report.html")).unwrap();
        large.set_len(1 << 40).unwrap();
        assert!(get(port, "/report").text().contains("at most"));
    });
}

#[test]
fn the_program_says_where_it_is_and_ends_on_ctrl_c() {
    let folder = tempfile::tempdir().unwrap();
    let mut serve = common::lab();
    serve
        .args(["serve", "--port", "0"])
        .current_dir(folder.path());
    let mut child = serve.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    let port: u16 = said
        .split(['/', ':', ' '])
        .find_map(|part| part.parse().ok())
        .expect(&said);
    assert!(
        said.starts_with(&format!("http://127.0.0.1:{port}/")),
        "{said}"
    );
    assert_eq!(get(port, "/").status, 200);
    assert_eq!(get(port, "/api/study").json()["state"], "none");

    // A second one at the same port.
    let (code, _, stderr) =
        common::ended(common::lab().args(["serve", "--port", &port.to_string()]));
    assert_eq!(code, 2, "{stderr}");
    assert!(
        stderr.contains(&format!("port {port} is in use")) && stderr.contains("--port"),
        "{stderr}"
    );

    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::INT,
    )
    .unwrap();
    let start = Instant::now();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(listing(folder.path()).is_empty(), "nothing is written");
}
