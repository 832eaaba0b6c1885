//! The token of a server: whoever may open the page was given it in the link that the program prints. Other accounts of
//! the same machine reach its loopback address too, and do not know it.
//!
//! The link carries it once, as `?token=…`. The answer sets a cookie that no script can read and that no page elsewhere
//! makes the browser send, and from then on the browser shows that.

use rand::TryRng;
use rand::rngs::SysRng;

use super::http::{Request, Response};
use crate::error::LabError;

/// The bytes of a token: 128 bits.
const BYTES: usize = 16;
/// What the query of a link calls it.
const NAME: &str = "token";

/// A token, drawn anew at every start.
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// A token of the operating system's random numbers.
    ///
    /// # Errors
    ///
    /// [`LabError::Machine`] when the system gives none.
    pub fn draw() -> Result<Self, LabError> {
        let mut bytes = [0; BYTES];
        SysRng.try_fill_bytes(&mut bytes).map_err(|error| {
            LabError::Machine(format!("the system gives no random numbers: {error}"))
        })?;
        Ok(Self(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    /// What stands behind the address of a page in a link.
    pub fn query(&self) -> String {
        format!("?{NAME}={}", self.0)
    }

    /// Lets a request pass whose cookie or query has the token: `Ok`, with the cookie to set if it came by its query,
    /// which is taken out of it. Every other request is refused.
    pub(super) fn admit(
        &self,
        request: &mut Request,
        port: u16,
    ) -> Result<Option<String>, Response> {
        // Cookies do not tell ports apart, and there may be a page at each.
        let cookie = format!("pe-lab-{port}");
        let mut shown = request.cookies.iter();
        if shown.any(|(name, value)| *name == cookie && self.is(value)) {
            self.cut(request);
            return Ok(None);
        }
        if self.cut(request) {
            let token = &self.0;
            return Ok(Some(format!(
                "{cookie}={token}; HttpOnly; SameSite=Strict; Path=/"
            )));
        }
        Err(refused(request))
    }

    /// Takes what a query calls a token out of it, and says whether it is this one.
    fn cut(&self, request: &mut Request) -> bool {
        let prefix = format!("{NAME}=");
        let (tokens, others): (Vec<&str>, Vec<&str>) = request
            .query
            .split('&')
            .partition(|pair| pair.starts_with(&prefix));
        let known = matches!(tokens[..], [one] if self.is(&one[prefix.len()..]));
        request.query = others.join("&");
        known
    }

    /// Whether a text is this token. How long it takes says nothing about where they differ.
    fn is(&self, text: &str) -> bool {
        let pairs = self.0.bytes().zip(text.bytes());
        let differs = pairs.fold(0, |differs, (a, b)| differs | (a ^ b));
        std::hint::black_box(differs) == 0 && self.0.len() == text.len()
    }
}

/// The refusal of a request without the token, in plain words; as JSON where a script asks.
fn refused(request: &Request) -> Response {
    let sentence = "This page opens with the link that `pe-lab serve` printed when it started: it has a token, which \
                    is new at every start. Copy the whole link from that terminal.";
    match request.path.starts_with("/api/") {
        false => Response::text(403, sentence),
        true => {
            let said =
                serde_json::json!({"error": sentence, "state": "refused", "message": sentence});
            Response::new(403, "application/json", said.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_128_bits_and_is_new_each_time() {
        let (one, other) = (Token::draw().unwrap(), Token::draw().unwrap());
        assert_eq!(one.0.len(), 32);
        assert!(one.0.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(one.0, other.0);
        assert!(!format!("{one:?}").contains(&one.0));
    }

    #[test]
    fn the_query_is_left_without_the_token() {
        let token = Token("0123456789abcdef".into());
        let inside = "a=token=0123456789abcdef";
        for (query, left, known) in [
            ("token=0123456789abcdef", "", true),
            ("a=1&token=0123456789abcdef&b=2", "a=1&b=2", true),
            ("token=0123456789abcdef&a=1", "a=1", true),
            ("a=1&token=old", "a=1", false),
            ("Token=0123456789abcdef", "Token=0123456789abcdef", false),
            ("token=0123456789abcdeF", "", false),
            ("token=0123456789abcdef&token=0123456789abcdef", "", false),
            (inside, inside, false),
        ] {
            let mut request = Request {
                query: query.into(),
                ..Request::default()
            };
            assert_eq!(token.cut(&mut request), known, "{query}");
            assert_eq!(request.query, left);
        }
    }
}
