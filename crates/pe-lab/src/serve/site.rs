//! Who may ask, and the list of everything there is to ask for.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::http::{Request, Response};
use super::study::Watched;
use super::token::Token;
use super::{explore, guide};
use crate::console::short;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";
const JSON: &str = "application/json";

/// The report is a page of its own, with its style and script inside. It is shown as a document without an
/// origin, which can reach nothing here.
const POLICY_OF_REPORT: &str = "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; \
                                script-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
                                form-action 'none'; frame-ancestors 'none'";

/// The files of the page: address, media type, content.
const FILES: [(&str, &str, &str); 12] = [
    ("/", HTML, include_str!("page/explorer.html")),
    ("/study", HTML, include_str!("page/study.html")),
    ("/style.css", CSS, include_str!("page/style.css")),
    ("/address.js", SCRIPT, include_str!("page/address.js")),
    ("/explorer.js", SCRIPT, include_str!("page/explorer.js")),
    ("/panel.js", SCRIPT, include_str!("page/panel.js")),
    ("/pictures.js", SCRIPT, include_str!("page/pictures.js")),
    ("/controls.js", SCRIPT, include_str!("page/controls.js")),
    ("/chart.js", SCRIPT, include_str!("page/chart.js")),
    ("/study.js", SCRIPT, include_str!("page/study.js")),
    ("/guide.js", SCRIPT, include_str!("page/guide.js")),
    ("/icon.svg", SVG, include_str!("page/icon.svg")),
];

/// Everything that the server can answer.
#[derive(Debug)]
pub struct Site {
    study: Option<Watched>,
    stopped: Arc<AtomicBool>,
}

impl Site {
    /// The page, with the study in a folder if there is one to watch. The folder need not hold a study yet.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self {
            study: folder.map(Watched::new),
            stopped: Arc::default(),
        }
    }

    pub(super) fn stopped(&self) -> Arc<AtomicBool> {
        self.stopped.clone()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// The answer to a request that came in at a port.
    ///
    /// `None` when nobody waits for it any longer, which `is_wanted` tells.
    pub(super) fn answer(
        &self,
        mut request: Request,
        port: u16,
        token: &Token,
        is_wanted: &dyn Fn() -> bool,
    ) -> Option<Response> {
        if let Some(refused) = refused(&request, port) {
            return Some(refused);
        }
        match token.admit(&mut request, port) {
            Ok(cookie) => Some(Response {
                cookie,
                ..self.admitted(&request, is_wanted)?
            }),
            Err(refused) => Some(refused),
        }
    }

    /// The answer to a request that has passed all checks.
    fn admitted(&self, request: &Request, is_wanted: &dyn Fn() -> bool) -> Option<Response> {
        let file = FILES.iter().find(|file| file.0 == request.path);
        if let Some((_, media, content)) = file {
            return Some(Response::new(200, media, *content));
        }
        let json = |json: Vec<u8>| Response::new(200, JSON, json);
        let computed = match request.path.as_str() {
            "/api/schemes" => Ok(json(explore::schemes())),
            "/api/numbers" => explore::numbers(&request.query)
                .map(|bytes| Response::new(200, "application/octet-stream", bytes)),
            "/api/study" => Ok(json(match &self.study {
                None => br#"{"state":"none"}"#.to_vec(),
                Some(study) => study.now(is_wanted)?,
            })),
            "/report" => Ok(match self.study.as_ref().map(Watched::report) {
                Some(Ok(page)) => Response::new(200, HTML, page).with_policy(POLICY_OF_REPORT),
                Some(Err(reason)) => Response::text(404, reason),
                None => Response::text(404, "no study was named: pe-lab serve FOLDER"),
            }),
            "/guide" => Ok(Response::new(200, HTML, guide::page())),
            path => Ok(match guide::picture(path) {
                Some(svg) => Response::new(200, SVG, svg),
                None => Response::text(404, "there is no such page"),
            }),
        };
        Some(computed.unwrap_or_else(|refusal| Response::new(400, JSON, refusal.json())))
    }
}

/// The refusal of a request that does not come from this machine's own page. A page elsewhere can make a
/// browser ask this server, under a name of its own that leads to the loopback address.
fn refused(request: &Request, port: u16) -> Option<Response> {
    let names = ["127.0.0.1", "localhost"];
    let is_own = |host: &str| {
        let without = names.contains(&host) && port == 80;
        without || names.iter().any(|name| *host == format!("{name}:{port}"))
    };
    if !is_own(&request.host) {
        return Some(Response::text(
            421,
            format!(
                "this is the page of pe-lab at http://127.0.0.1:{port}/, and not of the host \"{}\"",
                short(&request.host)
            ),
        ));
    }
    let foreign = match (&request.origin, &request.fetch) {
        (Some(origin), _) => !origin.strip_prefix("http://").is_some_and(is_own),
        // A link on another page may lead here; its scripts and images may not.
        (None, [Some(site), mode]) => {
            matches!(site.as_str(), "cross-site" | "same-site")
                && mode.as_deref() != Some("navigate")
        }
        _ => false,
    };
    foreign.then(|| {
        let from = request.origin.as_deref().unwrap_or("another origin");
        Response::text(
            403,
            format!("requests from the pages of {} are not answered; open http://127.0.0.1:{port}/ itself", short(from)),
        )
    })
}
