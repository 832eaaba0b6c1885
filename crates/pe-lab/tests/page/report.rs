//! The report of a study in windows of a desk, a tablet and a phone.

use super::browser::{Browser, Tab};
use super::common::{compare, succeeds, temporary};
use super::serving;

/// A small study whose tables are wide: a scheme with a long name, two tasks and tests beyond training.
const STUDY: &str = "--quiet --tasks reverse,digits --seeds 3 --steps 4 \
                     --schemes none,sinusoidal,learned,rotary(share=0.25,base=500000),alibi";

fn number(browser: &mut Browser, tab: &Tab, script: &str) -> f64 {
    let value = browser.eval(tab, script);
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{script} is {value}"))
}

#[test]
#[ignore = "needs Chromium: scripts/test-page"]
fn the_report_answers_first_and_fits_every_window() {
    let (_folder, out) = temporary("study");
    succeeds(&mut compare(STUDY, &out));
    serving(Some(&out), |browser, url| {
        for (width, dark) in [1_280, 768, 420]
            .iter()
            .flat_map(|width| [(*width, false), (*width, true)])
        {
            let tab = browser.tab();
            browser.size(&tab, width, dark);
            browser.visit(&tab, &format!("{url}report"));
            browser.wait(
                &tab,
                "document.readyState === 'complete' && document.querySelector('#verdict') !== null",
            );
            let place = format!("{width}, dark: {dark}");
            // The page itself never scrolls sideways.
            let inner = number(browser, &tab, "document.documentElement.scrollWidth");
            let outer = number(browser, &tab, "document.documentElement.clientWidth");
            assert!(inner <= outer, "{place}: {inner} of {outer}");
            // Answer, picture, evidence, tables.
            let order = browser.text(
                &tab,
                "[...document.querySelector('main').children].map(part => part.className || part.getAttribute('aria-labelledby')).slice(0, 4).join(' ')",
            );
            assert_eq!(order, "verdict pair evidence summary", "{place}");
            // Whatever is not inside a frame of its own lies within the window.
            let outside = browser.text(
                &tab,
                "[...document.querySelectorAll('main *, header *')].filter(node => \
                   !node.closest('.scroll > *, figure:not(.pair) svg, details:not([open])') && \
                   node.getBoundingClientRect().right > innerWidth + 0.5).map(node => node.outerHTML.slice(0, 80)).join('\\n')",
            );
            assert_eq!(outside, "", "{place}");
            // The two pictures are whole: beside each other where there is room.
            let pictures = browser.eval(
                &tab,
                "[...document.querySelectorAll('.pair svg')].map(svg => { const box = svg.getBoundingClientRect(); return [box.left, box.right, box.top]; })",
            );
            let pictures: Vec<[f64; 3]> = serde_json::from_value(pictures).unwrap();
            assert_eq!(pictures.len(), 2, "{place}");
            assert_eq!(
                pictures[0][2] == pictures[1][2],
                width > 420,
                "{place}: {pictures:?}"
            );
            for [left, right, _] in &pictures {
                // Its words keep their size on a phone.
                assert!(right - left > 320.0, "{place}: {pictures:?}");
            }
            // Names are not broken into letters.
            let tallest = number(
                browser,
                &tab,
                "Math.max(...[...document.querySelectorAll('tbody th:first-child')].map(node => node.firstChild.textContent.length < 12 ? \
                   (range => { range.selectNodeContents(node.firstChild); return range.getBoundingClientRect().height; })(document.createRange()) : 0))",
            );
            assert!(
                tallest < 40.0,
                "{place}: a short name is {tallest} pixels high"
            );
            // Every table scrolls inside its frame, with the names of the schemes and what it is in view.
            let lost = browser.text(
                &tab,
                "[...document.querySelectorAll('table')].filter(table => { \
                   const frame = table.closest('.scroll'); \
                   if (frame === null) return true; \
                   if (table.closest('details:not([open])')) return false; \
                   frame.scrollLeft = 1e6; \
                   const box = frame.getBoundingClientRect(); \
                   const stays = [...table.querySelectorAll('tbody th:first-child, thead th:first-child, caption span')]; \
                   return !stays.every(node => { const own = node.getBoundingClientRect(); \
                     return own.left >= box.left - 1 && own.right <= box.right + 1; }); \
                 }).map(table => table.textContent.slice(0, 60)).join('\\n')",
            );
            assert_eq!(lost, "", "{place}");
            browser.eval(
                &tab,
                "document.querySelectorAll('.scroll').forEach(frame => frame.scrollLeft = 0)",
            );
            let ground = browser.text(&tab, "getComputedStyle(document.body).backgroundColor");
            assert_eq!(ground == "rgb(255, 255, 255)", !dark, "{ground}");
            browser.shot(
                &tab,
                &format!("report-{width}-{}", if dark { "dark" } else { "light" }),
            );
        }
    });
}
