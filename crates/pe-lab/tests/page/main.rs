//! The page of `pe-lab serve` in a real browser. `scripts/test-page` runs these.

#![cfg(unix)]

mod browser;
#[path = "../common/mod.rs"]
mod common;
mod explorer;
mod pages;
mod report;

use std::path::Path;
use std::thread;

use browser::{Browser, Tab};
use pe_lab::serve::{Server, Site};

/// Runs `test` with a browser beside a server of a folder, and fails if a page reported an error.
fn serving(folder: Option<&Path>, test: impl FnOnce(&mut Browser, &str)) {
    beside_a_server(folder, |browser, server| {
        // The token of the link becomes a cookie, which every other tab has too.
        browser.open(&server.link(""));
        test(browser, &server.url());
        browser.check(server.port());
    });
}

/// Runs `test` with a browser that knows no token beside a server of a folder.
fn beside_a_server(folder: Option<&Path>, test: impl FnOnce(&mut Browser, &Server)) {
    let server = Server::bind(0, Site::new(folder.map(Into::into))).unwrap();
    let stop = server.stop();
    thread::scope(|scope| {
        scope.spawn(|| server.run());
        let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            test(&mut Browser::start(), &server);
        }));
        stop.now();
        tested.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// Waits until what is asked for is drawn.
fn settle(browser: &mut Browser, tab: &Tab) {
    browser.wait(
        tab,
        "[...document.querySelectorAll('.panel')].every(panel => panel.dataset.shown !== undefined) && \
         new Promise(done => setTimeout(() => done(true), 60))",
    );
}
