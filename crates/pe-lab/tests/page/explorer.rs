//! The explorer: sliders, numbers, the keyboard.

use std::collections::BTreeSet;

use pe_burn::{Layout, Spectrum};
use serde_json::Value;

use super::browser::{Browser, Tab};
use super::common::Says;
use super::{beside_a_server, serving, settle};

const PANEL: &str = "document.querySelector('[data-panel=a]')";

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

/// What a selector finds in the first panel.
fn of_panel(selector: &str) -> String {
    format!("{PANEL}.querySelector('{selector}')")
}

/// What stands below a picture of the first panel.
fn output(browser: &mut Browser, tab: &Tab, picture: &str) -> String {
    let output = of_panel(&format!("[data-picture={picture}] output"));
    browser.text(tab, &format!("{output}.textContent"))
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
                let others = match (name, setting) {
                    ("rotary" | "xpos", "vectors") => "",
                    // The columns of equal vectors are alike, in whatever order.
                    ("rotary" | "xpos", _) => "&a.vectors=random",
                    // Below L the position of the query does not count.
                    ("fire", "query") => "&a.threshold=10",
                    _ => "",
                };
                // A setting that matters only for some values of another is tried with the last of them.
                let needs = control["only"].as_array().map(|only| {
                    let values = only[1].as_array().unwrap();
                    format!(
                        "&a.{}={}",
                        only[0].as_str().unwrap(),
                        values.last().unwrap().as_str().unwrap()
                    )
                });
                let needs = needs.unwrap_or_default();
                let start = format!("{url}?{name}-{setting}#a.scheme={name}{others}{needs}");
                browser.go(&tab, &start);
                let before = drawn(browser, &tab);
                let row = format!("{PANEL}.querySelector('[data-name={setting}]')");
                if control["kind"] == "choice" {
                    browser.focus(&tab, &format!("{row}.querySelector('select')"));
                    browser.press(&tab, "ArrowDown");
                    if (name, setting) == ("sinusoidal", "layout") {
                        // The first two are the same for the paper's formula.
                        browser.press(&tab, "ArrowDown");
                    }
                } else {
                    browser.focus(&tab, &format!("{row}.querySelector('input[type=range]')"));
                    browser.press(&tab, "ArrowRight");
                }
                let box_of = format!("{row}.querySelector('select, input[type=number]').value");
                let value = browser.text(&tab, &box_of);
                let asked = format!(
                    "new RegExp('\\\\b{setting}={value}(&|$)').test({PANEL}.dataset.shown)"
                );
                browser.wait(&tab, &asked);
                let hash = browser.text(&tab, "location.hash");
                hash.says(&format!("a.{setting}={value}"));
                let after = drawn(browser, &tab);
                // Where the distance alone counts, the position of the query changes nothing but rounding.
                let is_relative = setting == "query" && name != "fire";
                if !is_relative {
                    assert_ne!(before, after, "{setting} of {name} changes nothing");
                } else if !["rotary", "xpos"].contains(&name) {
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
        browser.focus(&tab, &of_panel("[data-picture=heatmap] canvas"));
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
        browser.focus(&tab, &of_panel("[data-picture=similarity] canvas"));
        for distance in [-3_isize, -2, -1, 0, 1] {
            let said = output(browser, &tab, "similarity");
            let exact = spectrum.similarity(distance).unwrap();
            assert!((number(&said) - exact).abs() <= 1e-6, "{said}: {exact}");
            browser.press(&tab, "ArrowRight");
        }
        let wavelengths = spectrum.frequencies();
        browser.focus(&tab, &of_panel("[data-picture=frequencies] canvas"));
        browser.press(&tab, "End");
        let said = output(browser, &tab, "frequencies");
        let (_, found) = said.split_once(" = ").unwrap();
        let found: f64 = found.split(' ').next().unwrap().parse().unwrap();
        assert!((found / wavelengths[23] - 1.0).abs() < 1e-6, "{said}");
        // The second scheme, beside the first: the first head's slope is 1/4.
        let of_b = "document.querySelector('[data-panel=b] [data-picture=distance]')";
        browser.focus(&tab, &format!("{of_b}.querySelector('canvas')"));
        browser.press(&tab, "Home");
        let said = format!("{of_b}.querySelector('output').textContent");
        browser.begins(&tab, &said, "key 256 before the query: -64; -16; -4; -1");

        // The same link in another tab shows the same; what is changed there stays there.
        let other = browser.open(&link);
        assert_eq!(drawn(browser, &tab).1, drawn(browser, &other).1);
        browser.focus(&other, &of_panel("[data-name=start] input[type=range]"));
        browser.press(&other, "Home");
        let shown = format!("{PANEL}.dataset.shown");
        browser.wait(&other, &format!("!{shown}.includes('start=999')"));
        browser.wait(&other, "!location.hash.includes('a.start=999')");
        let hash = browser.text(&tab, "location.hash");
        hash.says("a.start=999999937");
        let code = browser.text(&other, &format!("{}.textContent", of_panel(".code")));
        code.says_all(&["SinusoidalPositionalEncodingConfig::new(48)", "base: 500.0"]);
    });
}

#[test]
#[ignore = "needs Chromium: scripts/test-page"]
fn a_change_asks_the_server_once() {
    serving(None, |browser, url| {
        for (scheme, setting) in [
            ("sinusoidal", "base"),
            ("sinusoidal&a.d_model=512&a.count=256", "base"),
            ("rotary", "base"),
            ("fire", "c"),
        ] {
            let tab = browser.open(&format!("{url}#a.scheme={scheme}"));
            settle(browser, &tab);
            let slider = of_panel(&format!("[data-name={setting}] input[type=range]"));
            browser.focus(&tab, &slider);
            let asked = "performance.getEntriesByType('resource').filter(one => one.name.includes('/api/')).length";
            let (mut best, before) = (f64::MAX, browser.eval(&tab, asked).as_u64().unwrap());
            for _ in 0..12 {
                let before = browser.text(&tab, &format!("{PANEL}.dataset.shown"));
                browser.press(&tab, "ArrowRight");
                browser.wait(&tab, &format!("{PANEL}.dataset.shown !== '{before}'"));
                settle(browser, &tab);
                let took = browser.text(&tab, &format!("{PANEL}.dataset.took"));
                best = best.min(took.parse().unwrap());
            }
            let after = browser.eval(&tab, asked).as_u64().unwrap();
            assert_eq!(after - before, 12, "{scheme}");
            // For who changes the page. How long it takes depends on the machine and on what else runs.
            println!("{scheme}, {setting}: {best} ms from the key to the picture, the best of 12");
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
            let style = "getComputedStyle(document.activeElement).outlineStyle";
            let outline = browser.text(&tab, style);
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
        browser.focus(&tab, "document.querySelector('#both')");
        browser.press(&tab, " ");
        browser.wait(&tab, "document.querySelector('[data-panel=b]') !== null");
        browser.focus(&tab, &of_panel(".copy"));
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
    beside_a_server(None, |browser, server| {
        let tab = browser.open(&server.link(""));
        let type_in = |browser: &mut Browser, value: &str| {
            let script = format!(
                "(box => {{ box.value = '{value}'; box.dispatchEvent(new Event('input')); }})\
                 ({PANEL}.querySelector('[data-name=d_model] input[type=number]'))"
            );
            browser.eval(&tab, &script);
        };
        let error = format!("{PANEL}.querySelector('[role=alert]').textContent");
        let invalid = of_panel("[aria-invalid]");
        for value in ["0", "1025", "2.5", ""] {
            type_in(browser, value);
            let said = format!("d_model must be a whole number from 1 to 1024; got \"{value}\"");
            browser.wait(&tab, &format!("{error} === {}", serde_json::json!(said)));
            browser.wait(&tab, &format!("{invalid} !== null"));
        }
        type_in(browser, "10");
        browser.wait(&tab, &format!("{error} === '' && {invalid} === null"));
    });
}
