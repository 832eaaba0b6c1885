//! One request and one response of HTTP/1.1. The head of a request is parsed by the crate `httparse`.
//!
//! Every connection carries one request without a body and one response, so nothing here waits for anything
//! but that one head. Its size and the time for it are bounded.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use crate::console::short;

/// The most bytes of a request's head.
pub const MAX_HEAD: usize = 16 * 1024;
/// The most bytes of a request's path with its query.
pub const MAX_TARGET: usize = 4 * 1024;
/// The most headers of a request.
const MAX_HEADERS: usize = 64;
/// The time in which a request has to be there whole.
const READ_WITHIN: Duration = Duration::from_secs(5);
/// The time in which a response has to be taken as a whole.
const WRITE_WITHIN: Duration = Duration::from_secs(30);
/// The most bytes that are written at once.
const PART: usize = 64 * 1024;
/// The most bytes of a refused request that are read and thrown away, so that its sender gets the answer.
const MAX_DRAINED: usize = 1 << 20;

/// What the pages may load and do: only what this server sends.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The head of a request, as far as anything here depends on it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Whether only the head of the response is asked for.
    pub head: bool,
    /// The path as it was sent, nothing decoded.
    pub path: String,
    /// What stands behind the question mark, nothing decoded.
    pub query: String,
    /// The header `Host`.
    pub host: String,
    /// The header `Origin`.
    pub origin: Option<String>,
    /// The headers `Sec-Fetch-Site` and `Sec-Fetch-Mode`.
    pub fetch: [Option<String>; 2],
    /// The names and values of the header `Cookie`.
    pub cookies: Vec<(String, String)>,
}

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    /// The media type of the body.
    pub media: &'static str,
    pub body: Vec<u8>,
    /// What the page may load and do.
    pub policy: &'static str,
    /// The cookie to set, with its attributes.
    pub cookie: Option<String>,
}

impl Response {
    pub fn new(status: u16, media: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            media,
            body: body.into(),
            policy: POLICY,
            cookie: None,
        }
    }

    pub fn text(status: u16, text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self::new(status, "text/plain; charset=utf-8", text + "\n")
    }

    /// This answer with another `Content-Security-Policy`.
    pub fn with_policy(self, policy: &'static str) -> Self {
        Self { policy, ..self }
    }
}

/// Reads the head of a request. `Err(None)` when the client left without one.
pub fn read(mut stream: &TcpStream) -> Result<Request, Option<Response>> {
    let end = Instant::now() + READ_WITHIN;
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return Err(Some(too_slow()));
        }
        match stream.read(&mut part) {
            Ok(0) => return Err(None),
            Ok(count) => bytes.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(Some(too_slow()));
            }
            Err(_) => return Err(None),
        }
        if let Some(request) = parse(&bytes).map_err(Some)? {
            return Ok(request);
        }
        if bytes.len() > MAX_HEAD {
            let reason = format!("the head of a request has at most {MAX_HEAD} bytes");
            return Err(Some(Response::text(431, reason)));
        }
    }
}

fn too_slow() -> Response {
    let seconds = READ_WITHIN.as_secs();
    Response::text(
        408,
        format!("the request was not there within {seconds} seconds"),
    )
}

/// The request in these bytes; `None` if its head is not there whole.
fn parse(bytes: &[u8]) -> Result<Option<Request>, Response> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let status = parsed.parse(bytes).map_err(|error| match error {
        httparse::Error::TooManyHeaders => {
            Response::text(431, format!("a request has at most {MAX_HEADERS} headers"))
        }
        error => Response::text(400, format!("this is no request of HTTP/1.1: {error}")),
    })?;
    let target = parsed.path.unwrap_or_default();
    if target.len() > MAX_TARGET {
        let reason = format!(
            "an address has at most {MAX_TARGET} bytes; got {}",
            target.len()
        );
        return Err(Response::text(414, reason));
    }
    if status.is_partial() {
        return Ok(None);
    }
    let head = match parsed.method {
        Some("GET") => false,
        Some("HEAD") => true,
        other => {
            let reason = format!(
                "the page can only be read: GET and HEAD are answered, {} is not",
                short(other.unwrap_or_default())
            );
            return Err(Response::text(405, reason));
        }
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let one = |name: &str| {
        let mut values = parsed
            .headers
            .iter()
            .filter(|h| h.name.eq_ignore_ascii_case(name));
        let first = values.next();
        match values.next() {
            Some(_) => Err(Response::text(
                400,
                format!("the header {name} is there twice"),
            )),
            None => Ok(first.map(|header| String::from_utf8_lossy(header.value).into_owned())),
        }
    };
    Ok(Some(Request {
        head,
        path: path.into(),
        query: query.into(),
        host: one("Host")?.unwrap_or_default(),
        origin: one("Origin")?,
        fetch: [one("Sec-Fetch-Site")?, one("Sec-Fetch-Mode")?],
        cookies: cookies(&one("Cookie")?.unwrap_or_default()),
    }))
}

/// The names and values of the header `Cookie`.
fn cookies(header: &str) -> Vec<(String, String)> {
    let pairs = header.split(';').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.trim().into(), value.trim().into()))
        .collect()
}

/// Writes a response and ends the connection. A client that has left is no error.
pub fn write(stream: &TcpStream, response: &Response, head: bool) {
    let reason = match response.status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        414 => "URI Too Long",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        _ => "Internal Server Error",
    };
    let allow = match response.status {
        405 => "Allow: GET, HEAD\r\n",
        _ => "",
    };
    let cookie = match &response.cookie {
        Some(cookie) => format!("Set-Cookie: {cookie}\r\n"),
        None => String::new(),
    };
    let mut bytes = format!(
        "HTTP/1.1 {} {reason}\r\n{allow}{cookie}Content-Type: {}\r\nContent-Length: {}\r\n\
         Content-Security-Policy: {}\r\nX-Content-Type-Options: nosniff\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\
         Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        response.status,
        response.media,
        response.body.len(),
        response.policy,
    )
    .into_bytes();
    if !head {
        bytes.extend_from_slice(&response.body);
    }
    let written = write_all(stream, &bytes);
    let _ = stream.shutdown(Shutdown::Write);
    if written.is_ok() && response.status != 200 {
        drain(stream);
    }
}

/// Writes everything in [`WRITE_WITHIN`], however slowly the client reads.
fn write_all(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    let end = Instant::now() + WRITE_WITHIN;
    for part in bytes.chunks(PART) {
        let left = end.saturating_duration_since(Instant::now());
        // Without any time left this is an error.
        stream.set_write_timeout(Some(left))?;
        stream.write_all(part)?;
    }
    Ok(())
}

/// Whether the client of a request has left. One that has closed its side of the connection has.
pub fn has_left(stream: &TcpStream) -> bool {
    let left = || {
        stream.set_nonblocking(true)?;
        let left = stream.peek(&mut [0]);
        stream.set_nonblocking(false)?;
        left
    };
    match left() {
        Ok(count) => count == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

/// Reads what is left of a refused request. The system would otherwise reset the connection, and the answer
/// would be lost.
fn drain(mut stream: &TcpStream) {
    let end = Instant::now() + Duration::from_secs(1);
    let (mut part, mut drained) = ([0; 4096], 0);
    while drained < MAX_DRAINED {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return;
        }
        match stream.read(&mut part) {
            Ok(count) if count > 0 => drained += count,
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_split_and_nothing_in_it_is_decoded() {
        let text =
            "GET /a%2e%2e/b?x=1&y=%20 HTTP/1.1\r\nhost: here\r\nOrigin: http://there\r\n\r\n";
        let request = parse(text.as_bytes()).unwrap().unwrap();
        let parts = [&request.path, &request.query, &request.host];
        assert_eq!(parts, ["/a%2e%2e/b", "x=1&y=%20", "here"]);
        assert!(!request.head);
        assert_eq!(request.origin.as_deref(), Some("http://there"));
        let cookies = [("a", "1"), ("b", "x=y"), ("d", "")]
            .map(|(name, value)| (name.to_string(), value.to_string()));
        assert_eq!(super::cookies("a=1; b=x=y;c ;d="), cookies);
        for end in 0..text.len() {
            assert_eq!(parse(&text.as_bytes()[..end]).unwrap(), None, "{end}");
        }
    }
}
