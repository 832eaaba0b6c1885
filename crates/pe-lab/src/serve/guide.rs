//! The guide: the chapters of `docs/guide` as one page, with live pictures in the place of the drawn ones.

use std::fmt::Write;
use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, html};

/// A chapter: its file, and the live pictures at its end.
struct Chapter {
    file: &'static str,
    text: &'static str,
    live: &'static [Live],
}

/// A live picture: the settings of the explorer, which of its pictures, the settings with a slider, and what it shows.
struct Live {
    settings: &'static str,
    view: &'static str,
    sliders: &'static str,
    about: &'static str,
}

/// A picture that is drawn by `pe-lab plot`, and the live one that takes its place where scripts run.
struct Picture {
    file: &'static str,
    svg: &'static str,
    live: Live,
}

macro_rules! chapter {
    ($file:literal, $live:expr) => {
        Chapter {
            file: $file,
            text: include_str!(concat!("../../guide/", $file)),
            live: $live,
        }
    };
}

macro_rules! picture {
    ($file:literal, $view:literal, $settings:literal, $sliders:literal) => {
        Picture {
            file: $file,
            svg: include_str!(concat!("../../guide/", $file)),
            live: Live {
                settings: $settings,
                view: $view,
                sliders: $sliders,
                about: "",
            },
        }
    };
}

static CHAPTERS: [Chapter; 8] = [
    chapter!("01-why.md", &[]),
    chapter!("02-sinusoid.md", &[]),
    chapter!(
        "03-wavelengths.md",
        &[Live {
            settings: "scheme=sinusoidal&d_model=64&start=900000000&count=64",
            view: "heatmap",
            sliders: "start count",
            about: "The table far away",
        }]
    ),
    chapter!("04-shift.md", &[]),
    chapter!(
        "05-sum.md",
        &[Live {
            settings: "scheme=sinusoidal&d_model=128&count=50",
            view: "heatmap",
            sliders: "count base",
            about: "Which columns are free over a short input",
        }]
    ),
    chapter!("06-rotary.md", &[]),
    chapter!(
        "07-biases.md",
        &[
            Live {
                settings: "scheme=t5&query=200&reach=200&heads=1",
                view: "distance",
                sliders: "buckets max_distance seed",
                about: "T5, with random numbers for trained ones",
            },
            Live {
                settings: "scheme=kerple&query=100&reach=100",
                view: "distance",
                sliders: "shape r1 r2",
                about: "KERPLE",
            },
            Live {
                settings: "scheme=fire&query=600&reach=600&heads=3",
                view: "distance",
                sliders: "query c threshold seed",
                about: "FIRE, with random numbers for trained ones",
            },
        ]
    ),
    chapter!(
        "08-longer.md",
        &[Live {
            settings: "scheme=rotary&scaling=yarn&query=2000&reach=2000&original=512",
            view: "frequencies distance",
            sliders: "scaling factor original reach",
            about: "A scaling of rotary positions",
        }]
    ),
];

static PICTURES: [Picture; 7] = [
    picture!(
        "curves.svg",
        "curves",
        "scheme=sinusoidal&d_model=16&count=40",
        "d_model base count"
    ),
    picture!(
        "heatmap.svg",
        "heatmap",
        "scheme=sinusoidal&d_model=64&count=64",
        "d_model base count layout"
    ),
    picture!(
        "frequencies.svg",
        "frequencies",
        "scheme=sinusoidal&d_model=64",
        "base d_model formula"
    ),
    picture!(
        "clocks.svg",
        "clocks",
        "scheme=sinusoidal&d_model=64&count=20",
        "count start base"
    ),
    picture!(
        "similarity.svg",
        "similarity",
        "scheme=sinusoidal&d_model=64&count=200&position=100",
        "position base d_model"
    ),
    picture!(
        "rotary.svg",
        "distance",
        "scheme=rotary",
        "base d_head vectors seed reach query"
    ),
    picture!("alibi.svg", "distance", "scheme=alibi", "heads reach query"),
];

/// The page.
pub fn page() -> &'static str {
    static PAGE: LazyLock<String> = LazyLock::new(|| {
        let mut chapters = String::new();
        let mut contents = String::new();
        for (index, chapter) in CHAPTERS.iter().enumerate() {
            let number = index + 1;
            let title = chapter
                .text
                .lines()
                .next()
                .unwrap_or_default()
                .trim_start_matches("# ");
            let _ = write!(
                contents,
                "<li><a href=\"#chapter-{number}\">{}</a></li>",
                escaped(title)
            );
            let live: String = chapter.live.iter().map(|live| live.html("", "")).collect();
            let _ = write!(
                chapters,
                "<section class=\"chapter\" id=\"chapter-{number}\">{}{live}</section>",
                rendered(chapter.text)
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
    PICTURES
        .iter()
        .find(|picture| picture.file == name)
        .map(|picture| picture.svg)
}

impl Live {
    /// The place of the picture on the page; `drawn` and `alt` are the picture that it takes the place of.
    fn html(&self, drawn: &str, alt: &str) -> String {
        let image = match drawn {
            "" => String::new(),
            drawn => format!("<img src=\"/guide/{drawn}\" alt=\"{}\">", escaped(alt)),
        };
        format!(
            "<div class=\"live\" data-settings=\"{}\" data-view=\"{}\" data-sliders=\"{}\">{}{image}</div>",
            escaped(self.settings),
            self.view,
            self.sliders,
            match self.about {
                "" => String::new(),
                about => format!("<h3>{}</h3>", escaped(about)),
            },
        )
    }
}

/// A chapter as HTML: its links lead to the other chapters on the page, its pictures are live.
fn rendered(text: &str) -> String {
    let mut events: Vec<Event<'_>> = Vec::new();
    // The picture that is being read, with the words beside it so far.
    let mut open: Option<(String, String)> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match (event, &mut open) {
            (Event::Start(Tag::Image { dest_url, .. }), _) => {
                open = Some((dest_url.to_string(), String::new()));
            }
            (Event::End(TagEnd::Image), Some((file, alt))) => {
                let known = PICTURES
                    .iter()
                    .find(|picture| picture.file == file.as_str());
                let html = known
                    .map(|picture| picture.live.html(file, alt))
                    .unwrap_or_default();
                events.push(Event::Html(html.into()));
                open = None;
            }
            (Event::Text(words), Some((_, alt))) => alt.push_str(&words),
            (_, Some(_)) => {}
            (
                Event::Start(Tag::Link {
                    link_type,
                    dest_url,
                    title,
                    id,
                }),
                None,
            ) => {
                let dest_url = match chapter_of(&dest_url) {
                    Some(number) => format!("#chapter-{number}").into(),
                    None => dest_url,
                };
                events.push(Event::Start(Tag::Link {
                    link_type,
                    dest_url,
                    title,
                    id,
                }));
            }
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

/// The number of the chapter in a file.
fn chapter_of(file: &str) -> Option<usize> {
    CHAPTERS
        .iter()
        .position(|chapter| chapter.file == file)
        .map(|index| index + 1)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::explore;

    #[test]
    fn every_live_picture_has_numbers_and_every_link_a_chapter() {
        let live = CHAPTERS.iter().flat_map(|chapter| chapter.live);
        let live: Vec<&Live> = live
            .chain(PICTURES.iter().map(|picture| &picture.live))
            .collect();
        assert!(live.len() >= 13);
        let schemes: serde_json::Value = serde_json::from_slice(&explore::schemes()).unwrap();
        for live in live {
            explore::numbers(live.settings)
                .unwrap_or_else(|refusal| panic!("{}: {refusal:?}", live.settings));
            let name = live.settings.split(['=', '&']).nth(1).unwrap();
            let all = schemes["schemes"].as_array().unwrap();
            let scheme = all.iter().find(|scheme| scheme["name"] == name).unwrap();
            let known = |slider: &str| {
                scheme["controls"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|control| control["name"] == slider)
            };
            assert!(live.sliders.split(' ').all(known), "{}", live.sliders);
        }
        for chapter in &CHAPTERS {
            let links = chapter
                .text
                .split("](")
                .skip(1)
                .map(|rest| rest.split(')').next().unwrap());
            for link in links {
                let known = link.starts_with("https://")
                    || chapter_of(link).is_some()
                    || PICTURES.iter().any(|picture| picture.file == link);
                assert!(known, "{}: {link}", chapter.file);
            }
        }
        let page = page();
        assert_eq!(page.matches("<section class=\"chapter\"").count(), 8);
        assert!(!page.contains("{{") && !page.contains(".md\""));
        assert_eq!(page.matches("<img ").count(), 7);
    }
}
