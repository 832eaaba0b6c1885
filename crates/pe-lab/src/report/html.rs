//! The report as one HTML page that needs no other file.

use std::collections::BTreeMap;
use std::iter;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use minijinja::value::{Value, ValueKind};
use minijinja::{AutoEscape, Environment};
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::charts::{self, TaskFigures};
use super::comparison::{Comparison, FINDINGS, Part};
use super::data::{Data, file_title, title};
use super::encodings::Encodings;
use super::figure::Figure;
use super::number::fixed;
use super::summary::Summary;
use super::words::p_text;
use crate::ask::{Scheme, steps_in_words};
use crate::console::visible;
use crate::draw::SHARP;
use crate::error::LabError;
use crate::folder::StudyFolder;
use crate::grouped::grouped;
use crate::learn::{STILL_FALLING, TEMPERATURE, TOKEN_STD};

const TEMPLATE: &str = include_str!("report.html");

/// The sentences of evidence that follow the picture; the others are folded.
const EVIDENCE: usize = 5;

/// Every chart of a study.
pub struct Charts {
    overview: Vec<Figure>,
    study: Vec<Figure>,
    costs: Vec<Figure>,
    tasks: Vec<TaskFigures>,
}

impl Charts {
    pub fn draw(data: &Data<'_>, summary: &Summary) -> Result<Self, LabError> {
        let summaries = data.tasks.iter().zip(&summary.tasks);
        let tasks =
            summaries.map(|(task, summary)| charts::of_task(data, task, summary.language.as_ref()));
        Ok(Self {
            overview: charts::overview::draw(&summary.by_score())?,
            study: charts::of_study(summary)?,
            costs: charts::of_costs(summary)?,
            tasks: tasks.collect::<Result<_, _>>()?,
        })
    }

    pub fn all(&self) -> impl Iterator<Item = &Figure> {
        let of_tasks = self.tasks.iter();
        let of_tasks = of_tasks.flat_map(|task| task.scores.iter().chain(&task.losses));
        let of_study = self.overview.iter().chain(&self.study);
        of_study.chain(&self.costs).chain(of_tasks)
    }
}

/// A figure as the page shows it.
#[derive(Serialize)]
struct Shown<'a> {
    title: &'a str,
    caption: &'a str,
    svg: String,
}

impl<'a> Shown<'a> {
    fn of(figure: &'a Figure) -> Self {
        Self {
            title: &figure.title,
            caption: &figure.caption,
            svg: inlined(figure),
        }
    }

    fn all(figures: impl IntoIterator<Item = &'a Figure>) -> Vec<Self> {
        figures.into_iter().map(Self::of).collect()
    }
}

/// The SVG element of a figure. Its ids get the figure's name in front, since an id may occur only once on
/// a page.
fn inlined(figure: &Figure) -> String {
    let start = figure.svg.find("<svg").unwrap_or(0);
    let own = &figure.name;
    figure.svg[start..]
        .replace(" id=\"", &format!(" id=\"{own}-"))
        // The policy of the page allows no styles but its own, which has this one for every image.
        .replace(&format!(" {SHARP}"), "")
        .replace("url(#", &format!("url(#{own}-"))
        .replace("href=\"#", &format!("href=\"#{own}-"))
}

/// A comparison as a row of a table.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    place: &'static str,
    finding: &'static str,
}

fn rows<'a>(comparisons: &'a [Comparison], [inside, beyond]: [&'static str; 2]) -> Vec<Row<'a>> {
    let row = |comparison: &'a Comparison| Row {
        comparison,
        place: match comparison.part {
            Part::Inside => inside,
            Part::Beyond => beyond,
        },
        finding: {
            let mut words = FINDINGS.iter().filter(|of| of.0 == comparison.finding);
            words.next().map_or("", |of| of.1)
        },
    };
    comparisons.iter().map(row).collect()
}

/// What the page shows of one task, apart from its summary.
#[derive(Serialize)]
struct TaskPart<'a> {
    figures: Vec<Shown<'a>>,
    /// The names of its parts.
    parts: Vec<&'static str>,
    /// The schemes that are highest.
    leaders: Vec<&'a str>,
    /// The steps of a training, in words.
    steps: String,
    /// Whether a sequence has several answers that are correct or not.
    has_exact: bool,
    /// What the scores are measured in, and the direction that is better if it is a loss.
    measure: String,
    better: &'static str,
    /// How a score is normalized, as a formula.
    normalized: &'static str,
    /// Whether it is known which score takes no skill.
    has_floor: bool,
}

/// A trial without a score.
#[derive(Serialize)]
struct Failure<'a> {
    task: String,
    scheme: &'a str,
    seed: u64,
    reason: &'a str,
    /// What that means for the averages.
    what: &'static str,
}

/// Renders the page.
///
/// # Errors
///
/// [`LabError::Page`] when the template cannot take its values.
pub fn render(
    data: &Data<'_>,
    summary: &Summary,
    charts: &Charts,
    encodings: &Encodings,
) -> Result<String, LabError> {
    let summary = &summary.by_score();
    let two_parts = summary.tasks.iter().any(|task| task.has(Part::Beyond));
    let names = summary.part_names();
    let parts = summary.tasks.iter().zip(&charts.tasks);
    let parts: Vec<TaskPart<'_>> = parts
        .map(|(task, figures)| TaskPart {
            figures: Shown::all(&figures.scores),
            parts: match task.has(Part::Beyond) {
                true => task.parts().to_vec(),
                false => vec!["held-out"],
            },
            leaders: task.leaders(),
            steps: steps_in_words(task.auto_from, task.steps),
            has_exact: !task.has_one_answer(),
            measure: task.measure.name(),
            better: match task.measure.is_loss() {
                false => "",
                true => ", lower is better",
            },
            normalized: match task.measure.is_loss() {
                false => "",
                true => " (1 \u{2212} value / floor)",
            },
            has_floor: task.has_floor(),
        })
        .collect();
    let failures: Vec<Failure<'_>> = data
        .runs
        .iter()
        .filter_map(|run| {
            Some(Failure {
                task: title(run.task, data.origin.own_data()),
                scheme: run.scheme,
                seed: run.seed,
                reason: run.outcome.err()?.reason,
                what: match run.outcome.err()?.failed {
                    true => "scores the floor",
                    false => "left out; tried again",
                },
            })
        })
        .collect();
    let schemes = summary.origin.schemes().iter();
    let schemes: Vec<(&str, String)> = schemes
        .map(|scheme| (scheme.as_str(), Scheme::description(scheme)))
        .collect();
    let tests = summary.comparisons.iter().filter(|pair| pair.p.is_some());
    let tests = tests.count();
    let context = json!({
        "summary": summary,
        "parts": parts,
        "comparisons": rows(&summary.comparisons, names),
        "leaders": summary.leaders(),
        "file": summary.origin.own_data().map(file_title),
        "resolutions": summary.resolutions(),
        "two_parts": two_parts,
        "failures": failures,
        "schemes": schemes,
        "evidence": EVIDENCE,
        "overview": Shown::all(&charts.overview),
        "study_charts": Shown::all(&charts.study),
        "cost_charts": Shown::all(&charts.costs),
        "losses": Shown::all(charts.tasks.iter().flat_map(|task| &task.losses)),
        "figures": Shown::all(&encodings.figures),
        "damaged": encodings.damaged,
        // A study names the version that planned it.
        "version": summary.study().map_or(env!("CARGO_PKG_VERSION"), |study| &study.versions.pe_lab),
        "versions": data.versions,
        "tests": tests,
        "until_converged": summary.tasks.iter().any(|task| task.auto_from.is_some()),
        "still_falling": STILL_FALLING * 100.0,
        "token_std": TOKEN_STD,
        "temperature": TEMPERATURE,
        "script": SCRIPT,
        "policy": policy(),
        "codes": data.codes,
        "files": {
            "plan": StudyFolder::PLAN,
            "results_csv": StudyFolder::RESULTS_CSV,
            "results_jsonl": StudyFolder::RESULTS_JSONL,
            "summary": StudyFolder::SUMMARY,
        },
    });
    let failed = |error: minijinja::Error| LabError::Page {
        reason: iter::successors(Some(&error as &dyn std::error::Error), |e| e.source())
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(": "),
    };
    let mut page = Environment::new();
    page.set_auto_escape_callback(|_| AutoEscape::Html);
    page.add_filter(
        "fixed",
        |value: Value, decimals: usize| match f64::try_from(value) {
            // A true minus sign, which is as wide as a digit.
            Ok(number) => fixed(number, decimals).replace('-', "\u{2212}"),
            Err(_) => "\u{2013}".to_string(),
        },
    );
    // Settings are 32-bit floats, so only the digits of a 32-bit float are shown.
    page.add_filter("plain", |value: Value| match value.kind() {
        ValueKind::Number => f64::try_from(value.clone())
            .map_or(value.to_string(), |number| (number as f32).to_string()),
        _ => value.to_string(),
    });
    page.add_filter("p_value", |value: Value| {
        f64::try_from(value).map_or("\u{2013}".into(), p_text)
    });
    page.add_filter("thousands", |value: Value| match f64::try_from(value) {
        Ok(number) => thousands(number),
        Err(_) => "\u{2013}".into(),
    });
    // The rest stays as it is: it may hold the name of a column.
    page.add_filter("begun", |text: String| {
        let mut letters = text.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(letters).collect::<String>()
    });
    page.add_filter("value", |seed: Value| {
        let of = |name| seed.get_attr(name).ok().filter(|of| !of.is_undefined());
        ["accuracy", "bits", "error", "score"]
            .into_iter()
            .find_map(of)
    });
    page.add_filter("span", |value: Value| match value.kind() {
        ValueKind::Seq => {
            let numbers = value.try_iter().into_iter().flatten();
            let mut texts: Vec<String> = numbers
                .filter_map(|number| f64::try_from(number).ok().map(thousands))
                .collect();
            texts.dedup();
            texts.join("\u{2013}")
        }
        _ => "\u{2013}".into(),
    });
    page.add_template("report.html", TEMPLATE).map_err(failed)?;
    let template = page.get_template("report.html").map_err(failed)?;
    template.render(value(context)).map_err(failed)
}

/// A JSON value as the template engine's own type.
fn value(json: serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match json {
        Json::Null => Value::from(()),
        Json::Bool(flag) => Value::from(flag),
        Json::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => Value::from(whole),
            (None, Some(number)) => Value::from(number),
            (None, None) => Value::from(number.to_string()),
        },
        // Names and reasons may hold what a browser would obey.
        Json::String(text) => Value::from(visible(&text).into_owned()),
        Json::Array(items) => items.into_iter().map(value).collect(),
        Json::Object(fields) => {
            let fields = fields.into_iter();
            let fields: BTreeMap<_, _> = fields
                .map(|(name, field)| (visible(&name).into_owned(), value(field)))
                .collect();
            Value::from(fields)
        }
    }
}

/// Opens the folded parts of the page before it is printed.
const SCRIPT: &str = "addEventListener('beforeprint', function () {\
 document.querySelectorAll('details').forEach(function (part) { part.open = true; }); });";

/// What a browser may do with the page: show it, with its own style, script and pictures, and nothing else.
fn policy() -> String {
    // A browser reads every end of line as one character.
    let template = TEMPLATE.replace("\r\n", "\n");
    let (_, style) = template.split_once("<style>").unwrap_or_default();
    let (style, _) = style.split_once("</style>").unwrap_or_default();
    let hash = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(style),
        hash(SCRIPT)
    )
}

/// A number without decimals, with a narrow space between its thousands.
fn thousands(number: f64) -> String {
    grouped(number.round().max(0.0) as usize, '\u{202f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::Tuned;
    use crate::report::synthetic::{Synthetic, costs};
    use crate::report::verdict;
    use resvg::usvg::roxmltree::{Document, Node};

    fn page(study: &Synthetic, figures: Vec<Figure>) -> String {
        let data = study.data();
        let summary = verdict::judged(Summary::of(&data));
        let charts = Charts::draw(&data, &summary).unwrap();
        let encodings = Encodings {
            figures,
            damaged: Vec::new(),
        };
        render(&data, &summary, &charts, &encodings).unwrap()
    }

    /// In the dark the page changes the ground and the ink of its charts by their colours, which are those
    /// that the charts are drawn in.
    #[test]
    fn charts_have_dark_colours_in_the_dark() {
        let page = page(&Synthetic::large(3), Vec::new());
        for (attribute, colour) in [
            ("fill", "#282828"),
            ("stroke", "#282828"),
            ("stroke", "#5A5A5A"),
            ("fill", "#E4E4E4"),
        ] {
            let drawn = format!("{attribute}=\"{colour}\"");
            let rule = format!("figure svg [{drawn}] {{ {attribute}: var(--");
            assert!(page.contains(&rule), "{rule}");
            assert!(
                page.matches(&drawn).count() > page.matches(&rule).count(),
                "{drawn}"
            );
        }
        let tree = parse(&page);
        let charts = tree.descendants().filter(|node| node.has_tag_name("svg"));
        let mut words = 0;
        for chart in charts {
            let ground = chart.children().find(Node::is_element).unwrap();
            assert!(
                ground.has_tag_name("rect"),
                "the rule for the ground is for the first one"
            );
            assert_eq!(ground.attribute("fill"), Some("#FFFFFF"));
            for text in chart.descendants().filter(|node| node.has_tag_name("text")) {
                // Words are in ink, which changes, or on the coloured cells of a heat map, which do not.
                let colour = text.attribute("fill").unwrap();
                let changes = colour == "#282828";
                assert!(
                    changes || ["#000000", "#FFFFFF"].contains(&colour),
                    "{colour}"
                );
                words += usize::from(changes);
            }
        }
        assert!(words > 100, "{words}");
        // On a phone a chart is as large as it is drawn, and scrolls.
        assert!(page.contains("@media (max-width: 36rem) { figure { overflow-x: auto; }"));
    }

    #[test]
    fn costs_have_a_table_and_charts_unless_the_machine_was_busy() {
        let study = Synthetic::new(&["reverse"], &["none", "rotary"], 2)
            .score("reverse", "none", 1, &[(20, 0.3), (40, 0.3)])
            .score("reverse", "rotary", 1, &[(20, 0.9), (40, 0.2)]);
        let page_of = |costs: &crate::run::Costs| {
            let mut data = study.data();
            data.costs = Some(costs);
            let summary = verdict::judged(Summary::of(&data));
            let charts = Charts::draw(&data, &summary).unwrap();
            let page = render(&data, &summary, &charts, &Encodings::default()).unwrap();
            check(&page);
            (page, charts.costs.len())
        };
        let (page, charts) = page_of(&costs(0.0));
        assert_eq!(charts, 2);
        let words = text(parse(&page).root());
        assert!(words.contains("Score against cost beyond the training lengths"));
        assert!(
            words.contains("rotary 22 64 12.00 117 333 91 667 50"),
            "{words}"
        );
        let (page, charts) = page_of(&costs(0.7));
        assert_eq!(charts, 0);
        assert!(page.contains("Not shown: other programs kept up to 0.7 processor cores busy"));
    }

    /// Whatever else the page holds, a browser runs its own script and style and loads nothing.
    #[test]
    fn the_page_has_a_policy_that_allows_what_it_holds_and_nothing_else() {
        let svg = format!(
            "<?xml?><svg xmlns=\"http://www.w3.org/2000/svg\"><image {SHARP} width=\"1\"/></svg>"
        );
        let figure = Figure {
            name: "similarity".into(),
            title: "t".into(),
            caption: "\u{1b}[2J\u{9b}\u{0}\" onload=\"x\u{202e}<script>y</script>".into(),
            svg,
        };
        let page = page(&Synthetic::large(3), vec![figure]);
        let tree = parse(&page);
        let all = || tree.descendants().filter(Node::is_element);
        let policies = all().filter(|node| node.attribute("http-equiv").is_some());
        let policies: Vec<Node<'_, '_>> = policies.collect();
        assert_eq!(policies.len(), 1);
        assert_eq!(
            policies[0].attribute("http-equiv"),
            Some("Content-Security-Policy")
        );
        let policy = policies[0].attribute("content").unwrap();
        let before = &page[..page.find("http-equiv").unwrap()];
        assert!(!before.contains("<style") && !before.contains("<script"));
        // Hashed as a browser does it: the bytes between the tags.
        for name in ["style", "script"] {
            let parts: Vec<&str> = page.split(&format!("<{name}>")).skip(1).collect();
            assert_eq!(parts.len(), 1, "{name}");
            let own = parts[0].split_once(&format!("</{name}>")).unwrap().0;
            let hash = BASE64_STANDARD.encode(Sha256::digest(own));
            assert!(
                policy.contains(&format!("{name}-src 'sha256-{hash}'")),
                "{policy}"
            );
            assert_eq!(all().filter(|node| node.has_tag_name(name)).count(), 1);
        }
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"));
        for node in all() {
            for attribute in node.attributes() {
                let name = attribute.name();
                assert!(
                    name != "style" && !name.starts_with("on"),
                    "{node:?}: {name}"
                );
            }
        }
        // What a browser would obey is spelled out.
        assert!(
            page.contains("\\u{1b}[2J\\u{9b}\\u{0}&quot; onload")
                && page.contains("\\u{202e}&lt;script")
        );
        assert!(!page.contains(['\u{202e}', '\u{1b}', '\u{9b}', '\u{0}']));
    }

    /// Reads the page as XML, which it is after its doctype.
    fn parse(page: &str) -> Document<'_> {
        let body = page.strip_prefix("<!DOCTYPE html>").unwrap();
        Document::parse(body).unwrap_or_else(|error| panic!("{error}"))
    }

    fn text(node: Node<'_, '_>) -> String {
        let parts: Vec<&str> = node
            .descendants()
            .filter(|node| node.is_text())
            .filter_map(|node| node.text())
            .collect();
        parts
            .join(" ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Checks what holds for every page.
    fn check(page: &str) {
        let tree = parse(page);
        let mut ids = std::collections::BTreeSet::new();
        for node in tree.descendants().filter(Node::is_element) {
            for attribute in node.attributes() {
                match attribute.name() {
                    "src" => panic!("{} loads {}", node.tag_name().name(), attribute.value()),
                    "href" => assert!(attribute.value().starts_with('#'), "{}", attribute.value()),
                    "id" => assert!(
                        ids.insert(attribute.value()),
                        "twice: {}",
                        attribute.value()
                    ),
                    _ => {}
                }
            }
        }
        assert!(!page.contains("@import") && !page.contains("url("));
        for link in tree.descendants().filter_map(|node| node.attribute("href")) {
            assert!(ids.contains(&link[1..]), "{link} leads nowhere");
        }
        let named = |name: &'static str| tree.descendants().filter(move |n| n.has_tag_name(name));
        assert_eq!(named("h1").count(), 1);
        assert_eq!(named("main").count(), 1);
        for table in named("table") {
            assert!(table.children().any(|node| node.has_tag_name("caption")));
            let mut heads = table.descendants().filter(|node| node.has_tag_name("th"));
            assert!(heads.all(|head| head.attribute("scope").is_some()));
            // Rows are as long as the head.
            let cells = |row: Node<'_, '_>| -> usize {
                let cells = row.children().filter(Node::is_element);
                let spans =
                    cells.map(|cell| cell.attribute("colspan").map_or(1, |n| n.parse().unwrap()));
                spans.sum()
            };
            let rows: Vec<usize> = table
                .descendants()
                .filter(|node| node.has_tag_name("tr"))
                .map(cells)
                .collect();
            assert!(
                rows.len() > 1 && rows.windows(2).all(|pair| pair[0] == pair[1]),
                "{rows:?}"
            );
        }
        for figure in tree
            .descendants()
            .filter(|node| node.has_tag_name("figure"))
        {
            assert!(
                figure
                    .children()
                    .any(|node| node.has_tag_name("figcaption"))
            );
            let picture = figure
                .children()
                .find(|node| node.tag_name().name() == "svg")
                .unwrap();
            assert_eq!(picture.attribute("role"), Some("img"));
        }
    }

    #[test]
    fn a_report_of_any_size_is_well_formed_and_complete() {
        for study in [Synthetic::large(5), Synthetic::large(2)] {
            let page = page(&study, Vec::new());
            check(&page);
            let tree = parse(&page);
            let all = text(tree.root_element());
            for task in &study.spec.tasks {
                assert!(all.contains(&task.name));
            }
            assert!(all.contains("the loss is no longer a number at step 812"));
            assert!(all.contains("here a variant, not the paper's own"), "alibi");
            assert!(all.contains("pe-lab compare --study study.toml --out again"));
            assert!(
                all.contains("beta 2 0.98, clip norm 1, learning rate 0.0015, warmup steps 100"),
                "the recipe"
            );
        }
    }

    #[test]
    fn a_tuned_study_says_what_each_scheme_got() {
        let mut study = Synthetic::large(3);
        let said = page(&study, Vec::new());
        check(&said);
        let nobody = "No scheme was tuned: all were trained with the learning rate 0.0015.";
        assert!(said.contains(nobody) && !said.contains("What each scheme got"));
        let mut tune = Tuned::around(&study.spec.recipe, 3, &[1]).unwrap();
        let losses = vec![Some(0.5), None, Some(0.25)];
        tune.choose("reverse", "rotary", losses).unwrap();
        study.spec.tune = Some(tune);
        let said = page(&study, Vec::new());
        check(&said);
        let all = text(parse(&said).root_element());
        assert!(
            all.contains("chosen for each task among 3 (0.00075, 0.0015, 0.003)"),
            "verdict"
        );
        assert!(
            all.contains("reverse rotary 0.003 0.5000 \u{2013} 0.2500"),
            "{all}"
        );
        assert!(!all.contains(nobody));
    }

    #[test]
    fn the_verdict_comes_first() {
        let study = Synthetic::large(5);
        let page = page(&study, Vec::new());
        let tree = parse(&page);
        let main = tree
            .descendants()
            .find(|node| node.has_tag_name("main"))
            .unwrap();
        let first = main.children().find(Node::is_element).unwrap();
        let verdict = verdict::judged(Summary::of(&study.data())).verdict;
        assert!(text(first).contains(verdict[0].as_str()), "{}", text(first));
    }

    #[test]
    fn hostile_names_are_shown_as_text() {
        let hostile = "<script>alert(1)</script>&\"'";
        let study = Synthetic::new(&[hostile, "a b"], &["\"><b>", "none"], 2)
            .score(hostile, "\"><b>", 1, &[(10, 0.9), (40, 0.5)])
            .score(hostile, "none", 1, &[(10, 0.3), (40, 0.2)])
            .fail(hostile, "none", 2, "</td><script src='x'>");
        let page = page(&study, Vec::new());
        check(&page);
        let tree = parse(&page);
        let scripts = tree
            .descendants()
            .filter(|node| node.has_tag_name("script"));
        assert_eq!(scripts.count(), 1, "ours alone");
        assert!(!tree.descendants().any(|node| node.has_tag_name("b")));
        assert!(text(tree.root_element()).contains(hostile));
    }

    #[test]
    fn a_study_without_results_has_a_page() {
        let page = page(&Synthetic::new(&["reverse"], &["none"], 2), Vec::new());
        check(&page);
        assert!(page.contains("No trial has a score"));
    }

    #[test]
    fn figures_with_the_same_ids_do_not_collide() {
        let svg = "<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\">\
                   <linearGradient id=\"g\"/><rect fill=\"url(#g)\"/></svg>";
        let figure = |name: &str| Figure {
            name: name.into(),
            title: format!("Similarity of {name}"),
            caption: format!("Cosine of {name}."),
            svg: svg.into(),
        };
        let study = Synthetic::new(&["mine"], &["a"], 1).score("mine", "a", 1, &[(10, 0.9)]);
        let page = page(&study, vec![figure("x"), figure("y")]);
        let tree = parse(&page);
        for name in ["x-g", "y-g"] {
            let found = tree
                .descendants()
                .filter(|node| node.attribute("id") == Some(name));
            assert_eq!(found.count(), 1);
            assert!(page.contains(&format!("fill=\"url(#{name})\"")));
        }
        assert!(text(tree.root_element()).contains("Cosine of y."));
    }

    #[test]
    fn large_numbers_are_grouped() {
        assert_eq!(thousands(7.0), "7");
        assert_eq!(thousands(1234.4), "1\u{202f}234");
        assert_eq!(thousands(1_234_567.0), "1\u{202f}234\u{202f}567");
    }
}
