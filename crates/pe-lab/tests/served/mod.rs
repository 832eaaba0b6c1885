//! A server of the page in this process, and requests to it.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use pe_lab::serve::{Server, Site};
use serde_json::Value;

/// What came back: the status, the head, the body.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

/// The token of the server at each port.
static TOKENS: Mutex<BTreeMap<u16, String>> = Mutex::new(BTreeMap::new());

/// Remembers the token in the link of a server at a port. Requests to it have it from then on.
pub fn know(port: u16, link: &str) -> String {
    let (_, token) = link.split_once("token=").expect(link);
    TOKENS.lock().unwrap().insert(port, token.into());
    token.into()
}

/// The header with the token of the server at a port.
pub fn cookie(port: u16) -> String {
    let tokens = TOKENS.lock().unwrap();
    format!("Cookie: pe-lab-{port}={}\r\n", tokens[&port])
}

/// Sends bytes as they are.
pub fn send(port: u16, request: &[u8]) -> Answer {
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

/// Asks with the token of the server.
pub fn ask(port: u16, line: &str, headers: &str) -> Answer {
    ask_without(port, line, &(cookie(port) + headers))
}

/// Asks without the token of the server.
pub fn ask_without(port: u16, line: &str, headers: &str) -> Answer {
    let request = format!("{line} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}\r\n");
    send(port, request.as_bytes())
}

pub fn get(port: u16, target: &str) -> Answer {
    ask(port, &format!("GET {target}"), "")
}

/// The numbers of a scheme: a line of JSON, and the rows of its table behind it.
fn numbers_and_rows(port: u16, query: &str) -> (Value, Vec<f32>) {
    let answer = get(port, &format!("/api/numbers?{query}"));
    assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    let end = answer.body.iter().position(|byte| *byte == b'\n').unwrap();
    let (each, rest) = answer.body[end + 1..].as_chunks::<4>();
    assert!(rest.is_empty());
    let rows = each.iter().map(|bytes| f32::from_le_bytes(*bytes));
    let numbers = serde_json::from_slice(&answer.body[..end]).unwrap();
    (numbers, rows.collect())
}

pub fn numbers(port: u16, query: &str) -> Value {
    numbers_and_rows(port, query).0
}

pub fn rows(port: u16, query: &str) -> Vec<f32> {
    numbers_and_rows(port, query).1
}

pub fn floats(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect()
}

/// Runs `test` beside a server of a folder, whose token is known.
pub fn serving(folder: Option<&Path>, test: impl FnOnce(u16)) {
    beside_a_server(folder, |server| {
        know(server.port(), &server.link(""));
        test(server.port());
    });
}

/// Runs `test` beside a server of a folder.
pub fn beside_a_server(folder: Option<&Path>, test: impl FnOnce(&Server)) {
    let server = Server::bind(0, Site::new(folder.map(Into::into))).unwrap();
    let stop = server.stop();
    thread::scope(|scope| {
        scope.spawn(|| server.run());
        // A test that fails must not wait for the server for ever.
        let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&server)));
        stop.now();
        tested.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}
