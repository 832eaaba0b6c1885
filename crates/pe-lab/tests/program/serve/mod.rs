//! `pe-lab serve`: who is answered and with what, and what a study looks like from there.

mod program;
mod watched;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::common::{self, Says, edit_sealed, json, small, succeeds, temporary};
use crate::served::{self, ask, ask_without, get, know, send, serving};
use serde_json::Value;

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

/// A small study, run to its end.
fn study(out: &Path) {
    let flags = "--quiet --schemes none,learned --tasks reverse,majority --seeds 2 --steps 3";
    succeeds(&mut small(flags, out));
}

/// Lets the plan of a study have these seeds.
fn plan_seeds(out: &Path, seeds: u64) {
    edit_sealed(&out.join("study.json"), |spec| {
        spec["seeds"] = (1..=seeds).collect();
    });
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
                answer.head.says(&header);
            }
            let head = ask(port, &format!("HEAD {path}"), "");
            assert_eq!((head.status, head.body.len()), (200, 0));
            assert_eq!(head.head, answer.head);
            // The policy forbids what stands inside a page, and no page may need it.
            let text = answer.text();
            for inline in ["<script>", " style=\"", " onclick=", "http://", "<style"] {
                let is_a_page = media.starts_with("text/html");
                assert!(!is_a_page || !text.contains(inline), "{path} has {inline}");
            }
        }
    });
}

/// The status of a request with these headers. OWN stands for the port of the server, OTHER for another one.
const FROM_ELSEWHERE: &str = "\
    403 Origin: http://evil.example
    403 Origin: null
    403 Origin: http://127.0.0.1:OTHER
    403 Origin: https://127.0.0.1:OWN
    403 Sec-Fetch-Site: cross-site
    403 Sec-Fetch-Site: cross-site; Sec-Fetch-Mode: no-cors
    403 Sec-Fetch-Site: same-site
    200 Sec-Fetch-Site: cross-site; Sec-Fetch-Mode: navigate
    200 Sec-Fetch-Site: same-origin; Sec-Fetch-Mode: cors
    200 Origin: http://127.0.0.1:OWN";

#[test]
fn hostile_requests_get_a_clear_refusal() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("secret.txt"), "secret").unwrap();
    serving(Some(folder.path()), |port| {
        let targets = "/../secret.txt /%2e%2e/secret.txt /..%2fsecret.txt /..%5c..%5cetc%5cpasswd /secret.txt \
                       //etc/passwd /guide/../secret.txt /guide/%2e%2e%2fsecret.txt /guide/ /report/secret.txt \
                       /style.css/ /style.css%00 /./style.css /STYLE.CSS /api/study/.. /api http://evil.example/ *";
        for target in targets.split(' ') {
            let answer = get(port, target);
            assert_eq!(answer.status, 404, "{target}");
            assert!(!answer.text().contains("secret"));
        }
        for method in "POST PUT DELETE PATCH OPTIONS TRACE CONNECT get".split(' ') {
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
        let no_http = send(port, b"\x16\x03\x01\x02\x00 hello\r\n\r\n");
        let twice = send(port, b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
        assert_eq!((no_http.status, twice.status), (400, 400));

        // A page elsewhere, and a name elsewhere that leads here.
        for row in FROM_ELSEWHERE.lines() {
            let (status, headers) = row.trim_start().split_once(' ').unwrap();
            let [own, other] = [port, port - 1].map(|port| port.to_string());
            let headers = headers.replace("OWN", &own).replace("OTHER", &other);
            let headers = headers.replace("; ", "\r\n") + "\r\n";
            let answer = ask(port, "GET /api/study", &headers);
            assert_eq!(answer.status.to_string(), status, "{headers}");
            assert_eq!(answer.text().contains("not answered"), status == "403");
        }
        let hosts = "evil.example evil.example:PORT 127.0.0.1:PORT.evil.example 127.0.0.1 127.0.0.1:80 localhost:PORT";
        for host in hosts.split(' ') {
            let is_own = host.starts_with("localhost");
            let host = host.replace("PORT", &port.to_string());
            let cookie = served::cookie(port);
            let request = format!("GET /api/study HTTP/1.1\r\nHost: {host}\r\n{cookie}\r\n");
            let answer = send(port, request.as_bytes());
            assert_eq!(answer.status, if is_own { 200 } else { 421 }, "{host}");
            assert_eq!(answer.text().contains(&format!("\"{host}\"")), !is_own);
        }
        assert_eq!(send(port, b"GET / HTTP/1.1\r\n\r\n").status, 421);
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
        let pages = "/ /study /guide /style.css /explorer.js /icon.svg /guide/heatmap.svg /report /api/schemes \
                     /api/study /api/numbers?scheme=rotary /no/such/page";
        for page in pages.split(' ') {
            let with = |token: &str| match page.contains('?') {
                true => format!("GET {page}&token={token}"),
                false => format!("GET {page}?token={token}"),
            };
            let with_cookie = |cookie: &str| {
                let cookie = format!("Cookie: {cookie}\r\n");
                ask_without(port, &format!("GET {page}"), &cookie)
            };
            let tokens = [&other, "", &own[..31], &(own.clone() + "0")];
            let by_query = tokens.map(|token| ask_without(port, &with(token), ""));
            let cookies = [
                "a=b".to_string(),
                format!("pe-lab-{port}={other}"),
                format!("pe-lab-{port}="),
                format!("pe-lab-{}={own}", port - 1),
                format!("token={own}"),
            ];
            let by_cookie = cookies.map(|cookie| with_cookie(&cookie));
            for answer in by_query.into_iter().chain(by_cookie) {
                assert_eq!(answer.status, 403, "{page}");
                let said = answer.text();
                said.says("the link that `pe-lab serve` printed");
                let tells = said.contains(&own) || answer.head.contains("Set-Cookie");
                assert!(!tells, "{page}");
            }
            // By the query once, and then by the cookie that came back.
            let expected = if page.starts_with("/no/") { 404 } else { 200 };
            let answer = ask_without(port, &with(&own), "");
            assert_eq!(answer.status, expected, "{page}");
            let cookie = format!("pe-lab-{port}={own}");
            let set = format!("\r\nSet-Cookie: {cookie}; HttpOnly; SameSite=Strict; Path=/\r\n");
            assert!(answer.head.contains(&set), "{}", answer.head);
            let answer = with_cookie(&format!("a=b; {cookie}"));
            assert_eq!(answer.status, expected, "{page}");
            assert!(!answer.head.contains("Set-Cookie"));
        }
        // The token opens nothing to a page elsewhere.
        for header in ["Origin: http://evil.example", "Sec-Fetch-Site: cross-site"] {
            let headers = format!("{header}\r\n");
            let answer = ask(port, &format!("GET /api/study?token={own}"), &headers);
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
    let (mut child, said, _) = program::begun(&mut serve);
    let link = said.split(' ').next().unwrap();
    common::wait_until(|| seen.exists(), "nothing was opened");
    let opened = fs::read_to_string(&seen).unwrap();
    let lines: Vec<&str> = opened.lines().collect();
    assert_eq!((lines[0], lines[2]), ("1", "600"), "{opened}");
    assert!(!lines[1].contains("token"), "{opened}");
    lines[3..].join("\n").says(link);
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
        let expected = get(port, "/api/numbers?scheme=sinusoidal").body;
        // Connections that say nothing, as browsers open them ahead.
        let idle: Vec<_> = (0..40)
            .map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap())
            .collect();
        let all = Barrier::new(1_000);
        thread::scope(|scope| {
            for _ in 0..1_000 {
                let one = || {
                    all.wait();
                    let answer = get(port, "/api/numbers?scheme=sinusoidal");
                    let body = String::from_utf8_lossy(&answer.body);
                    assert_eq!(answer.status, 200, "{body}");
                    assert!(answer.body == expected, "{body}");
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
