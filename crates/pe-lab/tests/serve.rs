//! `pe-lab serve`: who is answered and with what, and what a study looks like from there.

#![cfg(unix)]

mod common;
mod served;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use served::{ask, ask_without, get, know, send, serving};

/// The token of the server at a port, as the tests send it.
fn token_of(port: u16) -> String {
    let cookie = served::cookie(port);
    cookie.trim().rsplit('=').next().unwrap().into()
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
        let rebound = format!(
            "GET /api/study HTTP/1.1\r\nHost: evil.example\r\n{}\r\n",
            served::cookie(port)
        );
        let rebound = send(port, rebound.as_bytes());
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
fn nobody_is_answered_without_the_token_of_the_link() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("report.html"), "the report").unwrap();
    serving(Some(folder.path()), |port| {
        let own = token_of(port);
        let other = format!("{}0", &own[..31]);
        let other = if other == own { "f".repeat(32) } else { other };
        let pages = [
            "/",
            "/study",
            "/guide",
            "/style.css",
            "/explorer.js",
            "/icon.svg",
            "/guide/heatmap.svg",
            "/report",
            "/api/schemes",
            "/api/study",
            "/api/numbers?scheme=rotary",
            "/no/such/page",
        ];
        for page in pages {
            let with = |token: &str| match page.contains('?') {
                true => format!("GET {page}&token={token}"),
                false => format!("GET {page}?token={token}"),
            };
            let refused = [
                ask_without(port, &format!("GET {page}"), ""),
                ask_without(port, &with(&other), ""),
                ask_without(port, &with(""), ""),
                ask_without(port, &with(&own[..31]), ""),
                ask_without(port, &with(&(own.clone() + "0")), ""),
                ask_without(
                    port,
                    &format!("GET {page}"),
                    &format!("Cookie: pe-lab-{port}={other}\r\n"),
                ),
                ask_without(
                    port,
                    &format!("GET {page}"),
                    &format!("Cookie: token={own}\r\n"),
                ),
            ];
            for answer in refused {
                assert_eq!(answer.status, 403, "{page}");
                let said = answer.text();
                assert!(
                    said.contains("the link that `pe-lab serve` printed"),
                    "{page}: {said}"
                );
                assert!(
                    !said.contains(&own) && !answer.head.contains("Set-Cookie"),
                    "{page}"
                );
            }
            // By the query once, and then by the cookie that came back.
            let expected = if page.starts_with("/no/") { 404 } else { 200 };
            let answer = ask_without(port, &with(&own), "");
            assert_eq!(answer.status, expected, "{page}");
            let cookie = format!("pe-lab-{port}={own}");
            let set = format!("\r\nSet-Cookie: {cookie}; HttpOnly; SameSite=Strict; Path=/\r\n");
            assert!(answer.head.contains(&set), "{}", answer.head);
            let again = format!("Cookie: a=b; {cookie}\r\n");
            let answer = ask_without(port, &format!("GET {page}"), &again);
            assert_eq!(answer.status, expected, "{page}");
            assert!(!answer.head.contains("Set-Cookie"));
        }
        // The token opens nothing to a page elsewhere.
        for headers in [
            "Origin: http://evil.example\r\n",
            "Sec-Fetch-Site: cross-site\r\n",
        ] {
            let answer = ask(port, &format!("GET /api/study?token={own}"), headers);
            assert_eq!(answer.status, 403, "{headers}");
        }
        // That of another server is none here.
        let first = own;
        serving(None, |port| {
            let said = ask_without(port, &format!("GET /?token={first}"), "");
            assert_eq!(said.status, 403);
        });
    });
}

/// The program that opens pages gets a file that only this account may read, and no token among its arguments.
#[cfg(target_os = "linux")]
#[test]
fn the_token_is_not_among_the_arguments_of_a_program() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (program, seen) = (folder.path().join("xdg-open"), folder.path().join("seen"));
    let script = format!(
        "#!/bin/sh\n{{ echo \"$#\"; echo \"$1\"; stat -c %a \"$1\"; cat \"$1\"; }} > {0}.part\nmv {0}.part {0}\n",
        seen.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut serve = common::lab();
    serve.args(["serve", "--port", "0", "--open"]);
    serve.env("PATH", format!("{}:{path}", folder.path().display()));
    let mut child = serve.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut said).unwrap();
    let link = said.split(' ').next().unwrap();
    let start = Instant::now();
    while !seen.exists() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "nothing was opened"
        );
        thread::sleep(Duration::from_millis(20));
    }
    let opened = fs::read_to_string(&seen).unwrap();
    let lines: Vec<&str> = opened.lines().collect();
    assert_eq!((lines[0], lines[2]), ("1", "600"), "{opened}");
    assert!(
        !lines[1].contains("token") && lines[3..].join("\n").contains(link),
        "{opened}"
    );
    let file = PathBuf::from(lines[1]);
    assert!(file.exists());
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!file.exists());
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
            .args(common::SMALL)
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
        // So is the verdict, and so are the colours.
        assert!(!summary["verdict"].as_array().unwrap().is_empty());
        assert_eq!(said["verdict"], summary["verdict"]);
        let bars = fs::read_to_string(out.join("bars-reverse.svg")).unwrap();
        for look in said["looks"].as_array().unwrap() {
            let colour = look["colour"].as_array().unwrap().iter();
            let hex = colour.map(|part| format!("{:02X}", part.as_u64().unwrap()));
            let hex = hex.collect::<String>();
            assert!(bars.contains(&format!("fill=\"#{hex}\"")), "{hex}");
        }
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
fn the_curve_of_a_training_is_shown_while_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    let compare = || {
        let mut command = common::lab();
        command.args([
            "compare",
            "--quiet",
            "--schemes",
            "none",
            "--tasks",
            "reverse",
        ]);
        command.args(["--seeds", "1", "--steps", "150", "--out"]);
        command.arg(&out);
        command
    };
    let curve = out.join("trials/reverse-none-1/curve.json");
    let of = |trial: &Value| -> Vec<(u64, f64)> {
        let points = trial["held_out"].as_array().unwrap();
        let point = |point: &Value| (point[0].as_u64().unwrap(), point[1].as_f64().unwrap());
        points.iter().map(point).collect()
    };
    serving(Some(&out), |port| {
        let trial = || get(port, "/api/study").json()["trials"][0].clone();
        let mut running = compare().spawn().unwrap();
        let start = Instant::now();
        let seen = loop {
            let now = trial();
            if now["state"] == "begun" && of(&now).len() > 1 {
                break of(&now);
            }
            assert!(now["state"] != "done", "it ended before it was seen");
            assert!(start.elapsed() < Duration::from_secs(300), "{now}");
            thread::sleep(Duration::from_millis(20));
        };
        assert_eq!((seen[0].0, seen[1].0), (0, 50), "{seen:?}");
        assert!(
            seen[..2].iter().all(|point| point.1.is_finite()),
            "{seen:?}"
        );
        running.kill().unwrap();
        running.wait().unwrap();
        // What a kill leaves is removed when the study goes on, also where it is damaged.
        fs::write(&curve, "[{").unwrap();
        assert_eq!(
            (trial()["state"].as_str(), of(&trial())),
            (Some("begun"), vec![])
        );
        let (code, _, stderr) = common::ended(&mut compare());
        assert_eq!(code, 0, "{stderr}");
        let done = trial();
        assert_eq!(done["state"], "done");
        assert_eq!(
            of(&done)[..seen.len()],
            seen[..],
            "the same numbers as before"
        );
        assert!(of(&done).len() > seen.len());
        assert!(!curve.exists());
        // A trial that was killed long ago, and a study that is only claimed.
        fs::write(&curve, "[]").unwrap();
        let (code, _, stderr) = common::ended(&mut compare());
        assert_eq!(code, 0, "{stderr}");
        assert!(!curve.exists());
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
            report.text().contains("it is no file but a link"),
            "{}",
            report.text()
        );
        let said = get(port, "/api/study").json();
        assert_eq!(said["state"], "damaged");
        assert!(
            said["message"]
                .as_str()
                .unwrap()
                .contains("it is no file but a link")
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
    assert_eq!(ask_without(port, "GET /", "").status, 403);
    let token = know(port, said.split(' ').next().unwrap());
    assert_eq!((token.len(), said.lines().count()), (32, 1), "{said}");
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

/// The program, serving a folder, and its port.
fn started(folder: &Path) -> (Child, u16) {
    let mut serve = common::lab();
    serve.args(["serve", "--port", "0"]).arg(folder);
    let mut child = serve.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let out = child.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut said).unwrap();
    let port = said.split(['/', ':', ' ']);
    let port = port
        .filter_map(|part| part.parse().ok())
        .next()
        .expect(&said);
    know(port, said.split(' ').next().unwrap());
    (child, port)
}

/// Sends Ctrl-C, and checks that the program ends by it within two seconds, and some for a machine that is busy.
fn ends_on_ctrl_c(mut child: Child) {
    let start = Instant::now();
    common::send("-INT", &child.id().to_string());
    assert_eq!(common::end_of(&mut child, 30), Some(0));
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
}

/// A request that is sent, and whose answer is still to be read.
fn asked(port: u16, target: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let cookie = served::cookie(port);
    write!(
        stream,
        "GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{cookie}\r\n"
    )
    .unwrap();
    stream
}

/// Lets the plan of a study have these seeds.
fn plan_seeds(out: &Path, seeds: u64) {
    let file = out.join("study.json");
    let mut spec: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    spec["seeds"] = (1..=seeds).collect();
    fs::write(&file, spec.to_string()).unwrap();
}

/// The seconds of a core that a process has used.
#[cfg(target_os = "linux")]
fn used(child: &Child) -> f64 {
    let text = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let (_, behind_the_name) = text.rsplit_once(')').unwrap();
    let ticks = behind_the_name.split_whitespace().skip(11).take(2);
    ticks
        .map(|ticks| ticks.parse::<f64>().unwrap())
        .sum::<f64>()
        / 100.0
}

#[cfg(target_os = "linux")]
#[test]
fn work_ends_with_its_client_and_with_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    study(&out);
    // Results that take long to read, and are none: 64 MiB each, of which the disk has nothing.
    let seeds = 800;
    plan_seeds(&out, seeds);
    for seed in 1..=seeds {
        for scheme in ["none", "learned"] {
            let trial = out.join(format!("trials/reverse-{scheme}-{seed}"));
            fs::create_dir_all(&trial).unwrap();
            let result = fs::File::create(trial.join("result.json")).unwrap();
            result.set_len(64 << 20).unwrap();
        }
    }
    let (child, port) = started(&out);
    let client = asked(port, "/api/study");
    thread::sleep(Duration::from_secs(1));
    let at_work = used(&child);
    assert!(at_work > 0.2, "{at_work} s");
    drop(client);
    thread::sleep(Duration::from_secs(3));
    let before = used(&child);
    thread::sleep(Duration::from_secs(1));
    let after = used(&child) - before;
    assert!(after < 0.1, "it works on for nobody: {after} s");
    // A client that waits does not keep the server.
    let client = asked(port, "/api/study");
    thread::sleep(Duration::from_millis(500));
    ends_on_ctrl_c(child);
    drop(client);
}

#[test]
fn a_client_that_reads_slowly_does_not_keep_the_server() {
    let folder = tempfile::tempdir().unwrap();
    // More than the system keeps for a client that does not read.
    fs::write(folder.path().join("report.html"), vec![b'x'; 48 << 20]).unwrap();
    let (child, port) = started(folder.path());
    let mut client = asked(port, "/report");
    let mut byte = [0; 1];
    client.read_exact(&mut byte).unwrap();
    let reader = thread::spawn(move || {
        while client.read_exact(&mut byte).is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    ends_on_ctrl_c(child);
    drop(reader);
}

#[test]
fn a_study_of_too_many_trials_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    study(&out);
    serving(Some(&out), |port| {
        plan_seeds(&out, 5_000);
        let answer = get(port, "/api/study").json();
        assert_eq!(
            (&answer["state"], &answer["planned"]),
            (&"study".into(), &20_000.into())
        );
        plan_seeds(&out, 5_001);
        let answer = get(port, "/api/study").json();
        assert_eq!(answer["state"], "damaged");
        let said = answer["message"].as_str().unwrap();
        assert!(
            said.contains("20,004 trials") && said.contains("at most 20,000"),
            "{said}"
        );
    });
}
