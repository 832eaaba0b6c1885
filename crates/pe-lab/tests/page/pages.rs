//! The study, the guide, and every page in narrow and wide windows.

use std::fs;

use super::common::{Says, compare, succeeds, temporary};
use super::{beside_a_server, serving, settle};

/// A small study.
const STUDY: &str =
    "--quiet --schemes none,learned,sinusoidal --tasks reverse,majority --seeds 2 --steps 40";

#[test]
#[ignore = "needs Chromium: scripts/test-page"]
fn a_study_is_watched_and_every_page_fits_its_window() {
    let (folder, out) = temporary("study");
    succeeds(&mut compare(STUDY, &out));
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
        let done = "The study has finished: 11 of 12 trials done, 1 failed.";
        browser.begins(&tab, counts, done);
        let table = browser.text(&tab, "document.querySelector('#failed').textContent");
        assert_eq!(table, "reversenone2the disk was full");
        // A point's seed, by the keyboard.
        let figure = "document.querySelector('#scores [data-picture=scores-majority]')";
        let said = format!("{figure}.querySelector('output').textContent");
        browser.focus(&tab, &format!("{figure}.querySelector('canvas')"));
        browser.begins(&tab, &said, "none, seed 1, training lengths: ");
        browser.press(&tab, "ArrowRight");
        browser.begins(&tab, &said, "none, seed 2, training lengths: ");
        // A training that still runs is a line that grows.
        let trial = out.join("trials").join("reverse-none-2");
        let curve = "document.querySelector('#curves [data-picture=curves-reverse]')";
        let about = format!("{curve}.querySelector('canvas').getAttribute('aria-label')");
        browser.text(&tab, &about).says("of 5 trainings on reverse");
        let [failure, away] = [&*trial, folder.path()].map(|of| of.join("failure.json"));
        fs::rename(&failure, &away).unwrap();
        for points in [1, 2] {
            let all: Vec<_> = (0..points)
                .map(|i| serde_json::json!({"step": i * 4, "loss": 3.25}))
                .collect();
            fs::write(
                trial.join("curve.json"),
                serde_json::Value::from(all).to_string(),
            )
            .unwrap();
            browser.wait(
                &tab,
                &format!("{about}.includes('of 6 trainings on reverse, 1 of which still run')"),
            );
            browser.focus(&tab, &format!("{curve}.querySelector('canvas')"));
            browser.press(&tab, if points == 1 { "Home" } else { "ArrowRight" });
            let said = format!("{curve}.querySelector('output').textContent");
            browser.wait(
                &tab,
                &format!(
                    "{said}.startsWith('step {}: ') && {said}.includes('3.250')",
                    (points - 1) * 4
                ),
            );
        }
        fs::remove_file(trial.join("curve.json")).unwrap();
        fs::rename(away, failure).unwrap();
        let five = format!("{about}.includes('of 5 trainings on reverse')");
        browser.wait(&tab, &five);
        browser.focus(&tab, &format!("{figure}.querySelector('canvas')"));
        // Schemes are switched off, and tasks.
        browser.eval(&tab, "document.querySelector('#schemes input').click()");
        browser.press(&tab, "Home");
        browser.begins(&tab, &said, "learned, seed 1");
        browser.eval(&tab, "document.querySelector('#tasks input').click()");
        for part in ["scores", "curves"] {
            let shown = format!("document.querySelectorAll('#{part} figure:not([hidden])').length");
            assert_eq!(browser.eval(&tab, &shown), 1);
        }
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
                // The pictures of the guide are made when they come near the window.
                browser.eval(&tab, "document.querySelector('.live')?.scrollIntoView()");
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
        browser.visit(&tab, &format!("{url}report"));
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
fn the_link_opens_the_page_and_nothing_else_does() {
    beside_a_server(None, |browser, server| {
        let url = server.url();
        let tab = browser.tab();
        browser.visit(&tab, &url);
        browser.wait(
            &tab,
            "document.body?.textContent.includes('the link that `pe-lab serve` printed') ?? false",
        );
        // From a file, as `--open` leads there.
        let (_folder, way) = temporary("way.html");
        let link = server.link("study");
        fs::write(
            &way,
            format!("<meta http-equiv=\"refresh\" content=\"0; url={link}\">"),
        )
        .unwrap();
        let from = format!("file://{}", way.display());
        browser.go(&tab, &from);
        let message = "document.querySelector('#message').textContent";
        browser.begins(&tab, message, "No study was named");
        // The address has no token, and no script sees the cookie.
        assert_eq!(browser.text(&tab, "location.href"), format!("{url}study"));
        assert_eq!(browser.text(&tab, "document.cookie"), "");
        // From here every page opens, in other tabs too.
        let other = browser.open(&format!("{url}guide"));
        assert_eq!(browser.text(&other, "location.pathname"), "/guide");
        browser.go(
            &tab,
            &format!(
                "{url}?x=1&{}#a.scheme=alibi",
                &server.link("").rsplit('?').next().unwrap()
            ),
        );
        assert_eq!(browser.text(&tab, "location.search"), "?x=1");
        browser.begins(&tab, "location.hash", "#a.scheme=alibi");
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
            let control = ".control:not([hidden]) input, .control select";
            browser.focus(&tab, &format!("{live}.querySelector('{control}')"));
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
