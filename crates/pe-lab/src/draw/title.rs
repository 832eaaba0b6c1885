//! A picture without its title, for a paper that has a caption below it.

use super::unit::UNIT;

/// The height of the strip at the top of a page that holds nothing but the title, in pixels.
const STRIP: i32 = 34;

/// The picture of a page without its title and the strip that it stood in. The picture keeps its name for screen readers.
pub fn without_title(svg: &str) -> String {
    // The title is the first text that a page draws.
    let rest = svg.split_once("<text").and_then(|(before, rest)| {
        let (_, after) = rest.split_once("</text>")?;
        Some(format!("{before}{}", after.trim_start_matches('\n')))
    });
    let untitled = rest.unwrap_or_else(|| svg.to_string());
    cut(&untitled).unwrap_or(untitled)
}

/// The picture without its uppermost strip. `None` if it is no page.
fn cut(svg: &str) -> Option<String> {
    let value = |name: &str| {
        let (_, rest) = svg.split_once(&format!(" {name}=\""))?;
        rest.split_once('"').map(|(value, _)| value)
    };
    let (height, view) = (value("height")?, value("viewBox")?);
    let (width, down) = view.strip_prefix("0 0 ")?.split_once(' ')?;
    let number = |text: &str| text.parse::<i32>().ok();
    let (strip, down) = (STRIP * UNIT, number(down)? - STRIP * UNIT);
    let lower = number(height)? - STRIP;
    let of = |name: &str, value: &str| format!(" {name}=\"{value}\"");
    let svg = svg.replacen(&of("height", height), &of("height", &lower.to_string()), 1);
    let own = format!("0 {strip} {width} {down}");
    Some(svg.replacen(&of("viewBox", view), &of("viewBox", &own), 1))
}

#[cfg(test)]
mod tests {
    use super::super::page::{Words, page};
    use super::*;
    use crate::data::testing::Says;

    #[test]
    fn the_title_goes_and_the_rest_stays_where_it_is() {
        let svg = page((300, 200), "The & title", &["below it".into()], |page| {
            page.text((20, 100), "in the middle", 12.0, Words::LEFT)
        })
        .unwrap();
        let without = without_title(&svg);
        let texts = |svg: &str| -> Vec<(String, String)> {
            let tree = resvg::usvg::roxmltree::Document::parse(svg).unwrap();
            let texts = tree.descendants().filter(|node| node.has_tag_name("text"));
            let text = |node: resvg::usvg::roxmltree::Node<'_, '_>| {
                let at = node.attribute("y").unwrap().to_string();
                (node.text().unwrap().trim().to_string(), at)
            };
            texts.map(text).collect()
        };
        assert_eq!(texts(&svg)[0].0, "The & title");
        assert_eq!(texts(&without), texts(&svg)[1..]);
        svg.says("width=\"300\" height=\"200\" viewBox=\"0 0 1200 800\"");
        without.says_all(&[
            "width=\"300\" height=\"166\" viewBox=\"0 136 1200 664\"",
            "aria-label=\"The &amp; title\"",
        ]);
        // What is no page is left as it is.
        assert_eq!(without_title("<svg/>"), "<svg/>");
    }
}
