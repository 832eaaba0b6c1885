//! The guide: the chapters of `docs/guide` as one page, with live pictures in the place of the drawn ones.

use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, html};

use crate::draw::escaped;

/// Files of the guide: the name and the text of each.
macro_rules! files {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../guide/", $name)))),*]
    };
}

const CHAPTERS: [(&str, &str); 8] = files!(
    "01-why.md" "02-sinusoid.md" "03-wavelengths.md" "04-shift.md"
    "05-sum.md" "06-rotary.md" "07-biases.md" "08-longer.md"
);

/// The pictures that are drawn by `pe-lab plot`. Where scripts run, live ones take their places.
const PICTURES: [(&str, &str); 7] = files!(
    "curves.svg" "heatmap.svg" "frequencies.svg" "clocks.svg" "similarity.svg" "rotary.svg" "alibi.svg"
);

/// A live picture: what a line of `page/live.txt` says.
struct Live {
    /// The drawn picture whose place it takes, or the chapter at whose end it stands.
    place: &'static str,
    view: &'static str,
    settings: &'static str,
    sliders: &'static str,
    about: &'static str,
}

/// The live pictures of a drawn picture or a chapter.
fn live(place: &str) -> impl Iterator<Item = Live> {
    all_live().filter(move |live| live.place == place)
}

fn all_live() -> impl Iterator<Item = Live> {
    let lines = include_str!("page/live.txt").lines();
    lines.filter(|line| !line.starts_with('#')).map(|line| {
        let mut parts = line.split(" | ");
        let mut next = || parts.next().unwrap_or_default();
        Live {
            place: next(),
            view: next(),
            settings: next(),
            sliders: next(),
            about: next(),
        }
    })
}

pub fn page() -> &'static str {
    static PAGE: LazyLock<String> = LazyLock::new(|| {
        let mut chapters = String::new();
        let mut contents = String::new();
        for (index, (file, text)) in CHAPTERS.iter().enumerate() {
            let number = index + 1;
            let title = text.lines().next().unwrap_or_default();
            let title = escaped(title.trim_start_matches("# "));
            contents += &format!("<li><a href=\"#chapter-{number}\">{title}</a></li>");
            let live: String = live(file).map(|live| live.html("")).collect();
            let text = rendered(text);
            chapters += &format!(
                "<section class=\"chapter\" id=\"chapter-{number}\">{text}{live}</section>"
            );
        }
        include_str!("page/guide.html")
            .replace("{{contents}}", &contents)
            .replace("{{chapters}}", &chapters)
    });
    &PAGE
}

/// The drawn picture at this address.
pub fn picture(path: &str) -> Option<&'static str> {
    let name = path.strip_prefix("/guide/")?;
    let picture = PICTURES.iter().find(|picture| picture.0 == name)?;
    Some(picture.1)
}

impl Live {
    /// The place of the picture on the page, with the image that it takes the place of.
    fn html(&self, image: &str) -> String {
        let about = match self.about {
            "" => String::new(),
            about => format!("<h3>{}</h3>", escaped(about)),
        };
        format!(
            "<div class=\"live\" data-settings=\"{}\" data-view=\"{}\" data-sliders=\"{}\">{about}{image}</div>",
            escaped(self.settings),
            self.view,
            self.sliders,
        )
    }
}

/// A chapter as HTML: its links lead to the other chapters on the page, its pictures are live.
fn rendered(text: &str) -> String {
    let mut text = text.to_string();
    for (index, (file, _)) in CHAPTERS.iter().enumerate() {
        text = text.replace(&format!("]({file})"), &format!("](#chapter-{})", index + 1));
    }
    let mut events: Vec<Event<'_>> = Vec::new();
    // The picture that is being read, with the words beside it so far.
    let mut open: Option<(String, String)> = None;
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
        match (event, &mut open) {
            (Event::Start(Tag::Image { dest_url, .. }), _) => {
                open = Some((dest_url.to_string(), String::new()));
            }
            (Event::End(TagEnd::Image), Some((file, alt))) => {
                let image = format!("<img src=\"/guide/{file}\" alt=\"{}\">", escaped(alt));
                let html: String = live(file).map(|live| live.html(&image)).collect();
                events.push(Event::Html(html.into()));
                open = None;
            }
            (Event::Text(words), Some((_, alt))) => alt.push_str(&words),
            (_, Some(_)) => {}
            // The page has a title of its own; that of a chapter comes below it.
            (Event::Start(Tag::Heading { .. }), None) => events.push(Event::Html("<h2>".into())),
            (Event::End(TagEnd::Heading(_)), None) => events.push(Event::Html("</h2>".into())),
            (event, None) => events.push(event),
        }
    }
    let mut page = String::new();
    html::push_html(&mut page, events.into_iter());
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::explore;

    #[test]
    fn every_live_picture_has_numbers_and_every_link_a_chapter() {
        let schemes: serde_json::Value = serde_json::from_slice(&explore::schemes()).unwrap();
        assert!(all_live().count() >= 13);
        for live in all_live() {
            let settings = live.settings;
            let numbers = explore::numbers(settings);
            numbers.unwrap_or_else(|refusal| panic!("{settings}: {refusal:?}"));
            let name = settings.split(['=', '&']).nth(1).unwrap();
            let all = schemes["schemes"].as_array().unwrap();
            let scheme = all.iter().find(|scheme| scheme["name"] == name).unwrap();
            let controls = scheme["controls"].as_array().unwrap();
            let known = |slider: &str| controls.iter().any(|of| of["name"] == slider);
            assert!(live.sliders.split(' ').all(known), "{}", live.sliders);
            let mut places = CHAPTERS.iter().chain(&PICTURES);
            assert!(places.any(|place| place.0 == live.place), "{}", live.place);
        }
        for (file, text) in CHAPTERS {
            let links = text.split("](").skip(1);
            for link in links.map(|rest| rest.split(')').next().unwrap()) {
                let mut known = CHAPTERS.iter().chain(&PICTURES);
                let is_known = link.starts_with("https://") || known.any(|of| of.0 == link);
                assert!(is_known, "{file}: {link}");
            }
        }
        let page = page();
        assert_eq!(page.matches("<section class=\"chapter\"").count(), 8);
        assert!(!page.contains("{{") && !page.contains(".md\""));
        assert_eq!(page.matches("<img ").count(), 7);
    }
}
