//! The page of `pe-lab serve` in a real browser. `scripts/test-page` runs these.

#![cfg(unix)]

mod browser;
#[path = "../common/mod.rs"]
mod common;
mod explorer;
mod pages;
mod report;
#[path = "../served/mod.rs"]
mod served;

use std::path::Path;

use browser::{Browser, Tab};
use pe_lab::serve::Server;

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
    served::beside_a_server(folder, |server| test(&mut Browser::start(), server));
}

/// Waits until what is asked for is drawn.
fn settle(browser: &mut Browser, tab: &Tab) {
    browser.wait(
        tab,
        "[...document.querySelectorAll('.panel')].every(panel => panel.dataset.shown !== undefined) && \
         new Promise(done => setTimeout(() => done(true), 60))",
    );
}
