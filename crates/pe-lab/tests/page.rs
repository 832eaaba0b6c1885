//! The page of `pe-lab serve` in a real browser. `scripts/test-page` runs these.

#![cfg(unix)]

mod browser;
mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;

use browser::{Browser, Tab};
use pe_burn::{Layout, Spectrum};
use pe_lab::serve::{Server, Site};
use serde_json::Value;

/// Runs `test` with a browser beside a server of a folder, and fails if a page reported an error.
fn serving(folder: Option<&Path>, test: impl FnOnce(&mut Browser, &str)) {
    let server = Server::bind(0, Site::new(folder.map(Into::into))).unwrap();
    let url = server.url();
    let port = url
        .trim_end_matches('/')
        .rsplit(':')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let stop = server.stop();
    thread::scope(|scope| {
        scope.spawn(|| server.run());
        let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut browser = Browser::start();
            test(&mut browser, &url);
            browser.check(port);
        }));
        stop.now();
        tested.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

const PANEL: &str = "document.querySelector('[data-panel=a]')";

/// Waits until what is asked for is drawn.
fn settle(browser: &mut Browser, tab: &Tab) {
    browser.wait(
        tab,
        "[...document.querySelectorAll('.panel')].every(panel => panel.dataset.shown !== undefined) && \
         new Promise(done => setTimeout(() => done(true), 60))",
    );
}

/// The pictures of the first panel, each as its pixels, and what the page says beside them.
fn drawn(browser: &mut Browser, tab: &Tab) -> (Vec<String>, String) {
    settle(browser, tab);
    let script = format!(
        "[...{PANEL}.querySelectorAll('figure:not([hidden]) canvas')].map(canvas => canvas.toDataURL())"
    );
    let pictures = browser.eval(tab, &script);
    let pictures = pictures
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p.as_str().unwrap().to_string());
    let facts = browser.text(tab, &format!("{PANEL}.querySelector('.facts').textContent"));
    (pictures.collect(), facts)
}

/// What stands below a picture of the first panel.
fn output(browser: &mut Browser, tab: &Tab, picture: &str) -> String {
    browser.text(
        tab,
        &format!("{PANEL}.querySelector('[data-picture={picture}] output').textContent"),
    )
}

/// The number behind the last colon of a text.
fn number(text: &str) -> f64 {
    let number = text.rsplit(": ").next().unwrap();
    number
        .parse()
        .unwrap_or_else(|_| panic!("no number in {text}"))
}

#[test]
#[ignore = "needs Chromium: scripts/test-page"]
fn every_slider_changes_what_it_should() {
    serving(None, |browser, url| {
        let tab = browser.open(url);
        let schemes: Value =
            browser.eval(&tab, "fetch('/api/schemes').then(answer => answer.json())");
        let mut moved = 0;
        for scheme in schemes["schemes"].as_array().unwrap() {
            let name = scheme["name"].as_str().unwrap();
            for control in scheme["controls"].as_array().unwrap() {
                let setting = control["name"].as_str().unwrap();
                // A setting that matters only for some values of another is tried with the last of them.
                let needs = control["only"].as_array().map(|only| {
                    let values = only[1].as_array().unwrap();
                    format!(
                        "&a.{}={}",
                        only[0].as_str().unwrap(),
                        values.last().unwrap().as_str().unwrap()
                    )
                });
                let start = format!(
                    "{url}?{name}-{setting}#a.scheme={name}{}",
                    needs.unwrap_or_default()
                );
                browser.go(&tab, &start);
                let before = drawn(browser, &tab);
                let row = format!("{PANEL}.querySelector('[data-name={setting}]')");
                if control["kind"] == "choice" {
                    browser.eval(&tab, &format!("{row}.querySelector('select').focus()"));
                    browser.press(&tab, "ArrowDown");
                } else {
                    browser.eval(
                        &tab,
                        &format!("{row}.querySelector('input[type=range]').focus()"),
                    );
                    browser.press(&tab, "ArrowRight");
                }
                browser.wait(
                    &tab,
                    &format!("{PANEL}.dataset.shown.includes('{setting}=')"),
                );
                let value = browser.text(
                    &tab,
                    &format!("{row}.querySelector('select, input[type=number]').value"),
                );
                let hash = browser.text(&tab, "location.hash");
                assert!(
                    hash.contains(&format!("a.{setting}={value}")),
                    "{name} {setting}: {hash}"
                );
                let after = drawn(browser, &tab);
                // Where the distance alone counts, the position of the query changes nothing but rounding.
                let is_relative = setting == "query" && name != "fire";
                if !is_relative {
                    assert_ne!(before, after, "{setting} of {name} changes nothing");
                } else if name != "rotary" {
                    assert_eq!(before, after, "{name} depends on the position of the query");
                }
                moved += 1;
            }
        }
        assert!(moved > 40, "{moved}");
    });
}

#[test]
#[ignore = "needs Chromium: scripts/test-page"]
fn numbers_are_those_of_the_library_and_a_link_keeps_them() {
    serving(None, |browser, url| {
        let link = format!(
            "{url}#a.scheme=sinusoidal&a.d_model=48&a.base=500&a.layout=halves&a.start=999999937&a.count=60&\
             a.position=999999940&b.scheme=alibi&b.heads=4"
        );
        let tab = browser.open(&link);
        settle(browser, &tab);
        let spectrum = Spectrum::new(48, 500.0)
            .unwrap()
            .with_layout(Layout::Halves);
        let rows: Vec<f32> = spectrum.rows(999_999_937..999_999_997).unwrap();
        browser.eval(
            &tab,
            &format!("{PANEL}.querySelector('[data-picture=heatmap] canvas').focus()"),
        );
        let (mut column, mut row) = (0, 0);
        for key in [
            "ArrowRight",
            "ArrowRight",
            "ArrowDown",
            "ArrowDown",
            "ArrowDown",
            "End",
            "ArrowLeft",
        ] {
            browser.press(&tab, key);
            match key {
                "ArrowRight" => column += 1,
                "ArrowLeft" => column -= 1,
                "End" => column = 47,
                _ => row += 1,
            }
            let said = output(browser, &tab, "heatmap");
            let position = format!(
                "position 999\u{202f}999\u{202f}{}, column {column}: ",
                937 + row
            );
            assert!(said.starts_with(&position), "{said}");
            let exact = f64::from(rows[48 * row + column]);
            assert!(
                (number(&said) - exact).abs() <= 1e-6 * exact.abs(),
                "{said}: {exact}"
            );
        }
        browser.eval(
            &tab,
            &format!("{PANEL}.querySelector('[data-picture=similarity] canvas').focus()"),
        );
        for distance in [-3_isize, -2, -1, 0, 1] {
            let said = output(browser, &tab, "similarity");
            let exact = spectrum.similarity(distance).unwrap();
            assert!((number(&said) - exact).abs() <= 1e-6, "{said}: {exact}");
            browser.press(&tab, "ArrowRight");
        }
        let wavelengths = spectrum.frequencies();
        browser.eval(
            &tab,
            &format!("{PANEL}.querySelector('[data-picture=frequencies] canvas').focus()"),
        );
        browser.press(&tab, "End");
        let said = output(browser, &tab, "frequencies");
        let found = said
            .split(" = ")
            .nth(1)
            .unwrap()
            .split(' ')
            .next()
            .unwrap()
            .parse::<f64>()
            .unwrap();
        assert!((found / wavelengths[23] - 1.0).abs() < 1e-6, "{said}");
        // The second scheme, beside the first: the first head's slope is 1/4.
        let of_b = "document.querySelector('[data-panel=b] [data-picture=distance]')";
        browser.eval(&tab, &format!("{of_b}.querySelector('canvas').focus()"));
        browser.press(&tab, "Home");
        let said = browser.text(&tab, &format!("{of_b}.querySelector('output').textContent"));
        assert!(
            said.starts_with("key 256 before the query: -64; -16; -4; -1"),
            "{said}"
        );

        // The same link in another tab shows the same; what is changed there stays there.
        let other = browser.open(&link);
        assert_eq!(drawn(browser, &tab).1, drawn(browser, &other).1);
        browser.eval(
            &other,
            &format!("{PANEL}.querySelector('[data-name=start] input[type=range]').focus()"),
        );
        browser.press(&other, "Home");
        browser.wait(
            &other,
            &format!("!{PANEL}.dataset.shown.includes('start=999')"),
        );
        browser.wait(&other, "!location.hash.includes('a.start=999')");
        assert!(
            browser
                .text(&tab, "location.hash")
                .contains("a.start=999999937")
        );
        let code = browser.text(
            &other,
            &format!("{PANEL}.querySelector('.code').textContent"),
        );
        assert!(
            code.contains("SinusoidalPositionalEncodingConfig::new(48)")
                && code.contains("base: 500.0"),
            "{code}"
        );
    });
}

#[test]
#[ignore = "needs Chromium: scripts/test-page"]
fn a_change_is_drawn_within_50_ms() {
    serving(None, |browser, url| {
        for (scheme, setting) in [
            ("sinusoidal", "base"),
            ("sinusoidal&a.d_model=512&a.count=256", "base"),
            ("rotary", "base"),
            ("fire", "c"),
        ] {
            let tab = browser.open(&format!("{url}#a.scheme={scheme}"));
            settle(browser, &tab);
            browser.eval(
                &tab,
                &format!(
                    "{PANEL}.querySelector('[data-name={setting}] input[type=range]').focus()"
                ),
            );
            let mut best = f64::MAX;
            for _ in 0..12 {
                let before = browser.text(&tab, &format!("{PANEL}.dataset.shown"));
                browser.press(&tab, "ArrowRight");
                browser.wait(&tab, &format!("{PANEL}.dataset.shown !== '{before}'"));
                settle(browser, &tab);
                let took: f64 = browser
                    .text(&tab, &format!("{PANEL}.dataset.took"))
                    .parse()
                    .unwrap();
                best = best.min(took);
            }
            println!("{scheme}, {setting}: {best} ms from the key to the picture");
            assert!(best < 50.0, "{scheme}: {best} ms");
        }
    });
}

#[test]
#[ignore = "needs Chromium: scripts/test-page"]
fn the_keyboard_alone_suffices() {
    serving(None, |browser, url| {
        let tab = browser.open(&format!("{url}#a.scheme=sinusoidal&b.scheme=kerple"));
        settle(browser, &tab);
        // Everything that takes the focus is reached, and is seen to have it.
        let all = "[...document.querySelectorAll('a[href], button, input, select, canvas, pre')]\
                   .filter(element => element.checkVisibility())";
        let count = browser
            .eval(&tab, &format!("{all}.length"))
            .as_u64()
            .unwrap();
        let mut seen = BTreeSet::new();
        for _ in 0..count {
            browser.press(&tab, "Tab");
            let place = browser
                .eval(&tab, &format!("{all}.indexOf(document.activeElement)"))
                .as_i64()
                .unwrap();
            assert!(place >= 0, "the focus is on nothing");
            let outline = browser.text(
                &tab,
                "getComputedStyle(document.activeElement).outlineStyle",
            );
            assert_eq!(outline, "solid", "the focus cannot be seen at {place}");
            let name = browser.eval(
                &tab,
                "(e => e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent)(document.activeElement)",
            );
            assert!(
                name.as_str().is_some_and(|name| !name.trim().is_empty()),
                "element {place} has no name"
            );
            seen.insert(place);
        }
        assert_eq!(seen.len() as u64, count);
        // The first link skips the navigation.
        browser.go(&tab, &format!("{url}?again"));
        browser.press(&tab, "Tab");
        assert_eq!(
            browser.text(&tab, "document.activeElement.className"),
            "skip"
        );
        // A second scheme, by the space bar; the code, by Enter.
        browser.eval(&tab, "document.querySelector('#both').focus()");
        browser.press(&tab, " ");
        browser.wait(&tab, "document.querySelector('[data-panel=b]') !== null");
        browser.eval(&tab, &format!("{PANEL}.querySelector('.copy').focus()"));
        browser.press(&tab, "Enter");
        browser.wait(
            &tab,
            &format!("/Copied|Selected/.test({PANEL}.querySelector('.copy').textContent)"),
        );
        // The picture that a button saves is an image of this page.
        let saved = browser.text(
            &tab,
            &format!(
                "new Promise(done => {{ HTMLAnchorElement.prototype.click = function () {{ done(this.download + ' ' + this.href); }}; \
                 {PANEL}.querySelector('[data-picture=heatmap] button').click(); }})"
            ),
        );
        assert!(
            saved.starts_with("pe-lab-heatmap.png blob:http://127.0.0.1:"),
            "{saved}"
        );
    });
}

#[test]
#[ignore = "needs Chromium: scripts/test-page"]
fn a_bad_value_is_said_and_a_good_one_goes_on() {
    let server = Server::bind(0, Site::new(None)).unwrap();
    let (url, stop) = (server.url(), server.stop());
    thread::scope(|scope| {
        scope.spawn(|| server.run());
        let tested = std::panic::catch_unwind(|| {
            let mut browser = Browser::start();
            let tab = browser.open(&url);
            let type_in = |browser: &mut Browser, value: &str| {
                let script = format!(
                    "(box => {{ box.value = '{value}'; box.dispatchEvent(new Event('input')); }})\
                     ({PANEL}.querySelector('[data-name=d_model] input[type=number]'))"
                );
                browser.eval(&tab, &script);
            };
            let error = format!("{PANEL}.querySelector('[role=alert]').textContent");
            for value in ["0", "1025", "2.5", ""] {
                type_in(&mut browser, value);
                let said =
                    format!("d_model must be a whole number from 1 to 1024; got \"{value}\"");
                browser.wait(&tab, &format!("{error} === {}", serde_json::json!(said)));
                browser.wait(
                    &tab,
                    &format!("{PANEL}.querySelector('[aria-invalid]') !== null"),
                );
            }
            type_in(&mut browser, "10");
            browser.wait(
                &tab,
                &format!("{error} === '' && {PANEL}.querySelector('[aria-invalid]') === null"),
            );
        });
        stop.now();
        tested.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// A small study, run to its end.
fn study(out: &Path) {
    let mut compare = common::lab();
    compare.args([
        "compare",
        "--quiet",
        "--schemes",
        "none,learned,sinusoidal",
        "--tasks",
        "reverse,majority",
    ]);
    compare
        .args(["--seeds", "2", "--steps", "40", "--out"])
        .arg(out);
    let (code, _, stderr) = common::ended(&mut compare);
    assert_eq!(code, 0, "{stderr}");
}

#[test]
#[ignore = "needs Chromium: scripts/test-page"]
fn a_study_is_watched_and_every_page_fits_its_window() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    study(&out);
    let failed = out.join("trials").join("reverse-none-2");
    fs::remove_file(failed.join("result.json")).unwrap();
    fs::write(failed.join("failure.json"), "\"the disk was full\"").unwrap();
    serving(Some(&out), |browser, url| {
        let tab = browser.open(&format!("{url}study"));
        browser.wait(
            &tab,
            "document.querySelectorAll('#scores figure:not([hidden])').length === 2",
        );
        let counts = "document.querySelector('#counts').textContent";
        assert!(
            browser
                .text(&tab, counts)
                .starts_with("11 of 12 trials done, 1 failed, 0 begun, 0 waiting.")
        );
        let table = browser.text(&tab, "document.querySelector('#failed').textContent");
        assert_eq!(table, "reversenone2the disk was full");
        // A point's seed, by the keyboard.
        let figure = "document.querySelector('#scores [data-picture=scores-majority]')";
        let said = format!("{figure}.querySelector('output').textContent");
        browser.eval(&tab, &format!("{figure}.querySelector('canvas').focus()"));
        assert!(
            browser
                .text(&tab, &said)
                .starts_with("none, seed 1, training lengths: ")
        );
        browser.press(&tab, "ArrowRight");
        assert!(
            browser
                .text(&tab, &said)
                .starts_with("none, seed 2, training lengths: ")
        );
        // Schemes are switched off, and tasks.
        browser.eval(&tab, "document.querySelector('#schemes input').click()");
        browser.press(&tab, "Home");
        assert!(browser.text(&tab, &said).starts_with("learned, seed 1"));
        browser.eval(&tab, "document.querySelector('#tasks input').click()");
        assert_eq!(
            browser.eval(
                &tab,
                "document.querySelectorAll('#scores figure:not([hidden])').length"
            ),
            1
        );
        assert_eq!(
            browser.eval(
                &tab,
                "document.querySelectorAll('#curves figure:not([hidden])').length"
            ),
            1
        );
        browser.wait(&tab, "document.querySelector('#failed').textContent === ''");

        // Every page, narrow and wide, light and dark.
        for path in [
            "",
            "#a.scheme=rotary&a.scaling=yarn&b.scheme=fire",
            "study",
            "guide",
        ] {
            for (width, dark) in [(400, false), (400, true), (1_600, false), (1_600, true)] {
                let tab = browser.tab();
                browser.size(&tab, width, dark);
                browser.go(&tab, &format!("{url}{path}"));
                browser.wait(&tab, "document.querySelector('figure') !== null");
                settle(browser, &tab);
                let [inner, outer] = [
                    "document.documentElement.scrollWidth",
                    "document.documentElement.clientWidth",
                ]
                .map(|width| browser.eval(&tab, width).as_u64().unwrap());
                assert!(
                    inner <= outer,
                    "{path} is {inner} wide in a window of {outer}"
                );
                let ground = browser.text(&tab, "getComputedStyle(document.body).backgroundColor");
                let light = ground == "rgb(255, 255, 255)";
                assert_eq!(light, !dark, "{ground}");
                let name = path.split(['#', '&', '=']).next().unwrap();
                let two = if path.contains("b.scheme") { "two" } else { "" };
                browser.shot(
                    &tab,
                    &format!(
                        "page-{name}{two}-{width}-{}",
                        if dark { "dark" } else { "light" }
                    ),
                );
            }
        }

        // The report, in its sandbox.
        let tab = browser.open(&format!("{url}study"));
        browser.of(
            &tab,
            "Page.navigate",
            serde_json::json!({"url": format!("{url}report")}),
        );
        browser.wait(&tab, "document.querySelector('#verdict') !== null");
        assert_eq!(browser.text(&tab, "String(self.origin)"), "null");

        // The folder goes away, and comes back.
        let tab = browser.open(&format!("{url}study"));
        browser.wait(&tab, "!document.querySelector('#study').hidden");
        fs::rename(&out, folder.path().join("away")).unwrap();
        browser.wait(
            &tab,
            "document.querySelector('#message').textContent.startsWith('There is no folder')",
        );
        fs::rename(folder.path().join("away"), &out).unwrap();
        browser.wait(&tab, "!document.querySelector('#study').hidden && document.querySelector('#message').textContent === ''");
    });
}

#[test]
#[ignore = "needs Chromium: scripts/test-page"]
fn the_pictures_of_the_guide_are_live() {
    serving(None, |browser, url| {
        let tab = browser.open(&format!("{url}guide"));
        let places = browser
            .eval(&tab, "document.querySelectorAll('.live').length")
            .as_u64()
            .unwrap();
        assert!(places >= 13, "{places}");
        for place in 0..places {
            let live = format!("document.querySelectorAll('.live')[{place}]");
            browser.eval(&tab, &format!("{live}.scrollIntoView()"));
            browser.wait(
                &tab,
                &format!("{live}.querySelector('.panel')?.dataset.shown !== undefined"),
            );
            assert_eq!(
                browser.text(
                    &tab,
                    &format!("{live}.querySelector('[role=alert]').textContent")
                ),
                ""
            );
            let canvas = format!("{live}.querySelector('canvas').toDataURL()");
            let before = browser.text(&tab, &canvas);
            browser.eval(
                &tab,
                &format!(
                    "{live}.querySelector('.control:not([hidden]) input, .control select').focus()"
                ),
            );
            let shown = format!("{live}.querySelector('.panel').dataset.shown");
            let start = browser.text(&tab, &shown);
            browser.press(&tab, "ArrowUp");
            if browser.eval(&tab, "document.activeElement.tagName") == "INPUT" {
                browser.wait(&tab, &format!("{shown} !== '{start}'"));
                // Where the query stands changes nothing for rotary positions.
                let is_relative = browser.text(&tab, &shown).contains("scheme=rotary");
                assert!(
                    is_relative || browser.text(&tab, &canvas) != before,
                    "place {place}"
                );
            }
            let link = browser.text(&tab, &format!("{live}.querySelector('.more').href"));
            assert!(link.starts_with(&format!("{url}#a.scheme=")), "{link}");
        }
    });
}
