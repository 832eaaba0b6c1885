use super::*;
use crate::ask::Tuned;
use crate::data::testing::Says;
use crate::report::synthetic::{self, Synthetic, costs};
use crate::report::{brief, verdict};
use resvg::usvg::roxmltree::{Document, Node};

/// In dark mode the page changes the background and the text of its charts by their colours, which have to be those that
/// the charts are drawn in.
#[test]
fn charts_have_dark_colours_in_the_dark() {
    let page = Synthetic::large(3).page(Vec::new());
    for (attribute, colour) in [
        ("fill", "#282828"),
        ("stroke", "#282828"),
        ("stroke", "#5A5A5A"),
        ("fill", "#E4E4E4"),
    ] {
        let drawn = format!("{attribute}=\"{colour}\"");
        let rule = format!("figure svg [{drawn}] {{ {attribute}: var(--");
        assert!(page.contains(&rule), "{rule}");
        let counts = [&drawn, &rule].map(|text| page.matches(text).count());
        assert!(counts[0] > counts[1], "{drawn}");
    }
    let tree = parse(&page);
    let charts = tree.descendants().filter(|node| node.has_tag_name("svg"));
    let mut words = 0;
    for chart in charts {
        let ground = chart.children().find(Node::is_element).unwrap();
        // The rule for the background is for the first element.
        assert!(ground.has_tag_name("rect"));
        assert_eq!(ground.attribute("fill"), Some("#FFFFFF"));
        for text in chart.descendants().filter(|node| node.has_tag_name("text")) {
            // Words are in ink, which changes, or on the coloured cells of a heat map, which do not.
            let colour = text.attribute("fill").unwrap();
            let changes = colour == "#282828";
            let is_known = changes || ["#000000", "#FFFFFF"].contains(&colour);
            assert!(is_known, "{colour}");
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
        let page = synthetic::page(&data, &summary, &Encodings::default());
        check(&page);
        (text(parse(&page).root()), page)
    };
    let title = "Score against cost beyond the training lengths";
    let (words, page) = page_of(&costs(0.0));
    assert_eq!(page.matches("aria-label=\"Score against cost").count(), 2);
    words.says_all(&[
        title,
        "rotary 22 64 12.00 117 333 91 667 50",
        "rotary (0.87 for 12.0 ms",
        "`none` (no positions) (0.12 for 10.0 ms per training step) is on the front",
    ]);
    // A scheme that the study does not have is left out.
    assert!(!words.contains("gone"));
    let (words, _) = page_of(&costs(0.7));
    assert!(!words.contains(title) && !words.contains("rotary 22"));
    assert!(words.contains("Not shown: other programs kept up to 0.7 processor cores busy"));
    // A scheme that was not measured, on a system that does not tell what else ran.
    let mut some = costs(0.0);
    some.schemes.retain(|of| of.scheme != "rotary");
    let all = some.schemes.iter_mut().flat_map(|of| &mut of.at);
    all.for_each(|cost| cost.others = None);
    page_of(&some).0.says_all(&[
        "is on the front; for each other scheme that was measured",
        "The cost of rotary was not measured",
        "where it is not known whether other programs ran",
    ]);
}

/// Whatever else the page holds, a browser runs its own script and style and loads nothing.
#[test]
fn the_page_has_a_policy_that_allows_what_it_holds_and_nothing_else() {
    let svg =
        format!("<svg xmlns=\"http://www.w3.org/2000/svg\"><image {SHARP} width=\"1\"/></svg>");
    let figure = Figure {
        name: "similarity".into(),
        caption: "\u{1b}[2J\u{9b}\u{0}\" onload=\"x\u{202e}<script>y</script>".into(),
        svg,
    };
    let page = Synthetic::large(3).page(vec![figure]);
    let tree = parse(&page);
    let all = || tree.descendants().filter(Node::is_element);
    let policies = all().filter(|node| node.attribute("http-equiv").is_some());
    let [policy] = policies.collect::<Vec<_>>()[..] else {
        panic!("one policy");
    };
    let of_policy = |name| policy.attribute(name).unwrap();
    assert_eq!(of_policy("http-equiv"), "Content-Security-Policy");
    let policy = of_policy("content");
    let before = &page[..page.find("http-equiv").unwrap()];
    assert!(!before.contains("<style") && !before.contains("<script"));
    // Hashed as a browser does it: the bytes between the tags.
    for name in ["style", "script"] {
        let parts: Vec<&str> = page.split(&format!("<{name}>")).skip(1).collect();
        assert_eq!(parts.len(), 1, "{name}");
        let own = parts[0].split_once(&format!("</{name}>")).unwrap().0;
        let hash = BASE64_STANDARD.encode(Sha256::digest(own));
        policy.says(&format!("{name}-src 'sha256-{hash}'"));
        assert_eq!(all().filter(|node| node.has_tag_name(name)).count(), 1);
    }
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"));
    for node in all() {
        for attribute in node.attributes() {
            let name = attribute.name();
            let is_code = name == "style" || name.starts_with("on");
            assert!(!is_code, "{node:?}: {name}");
        }
    }
    // Characters that a browser would obey are spelled out.
    page.says_all(&[
        "\\u{1b}[2J\\u{9b}\\u{0}&quot; onload",
        "\\u{202e}&lt;script",
    ]);
    assert!(!page.contains(['\u{202e}', '\u{1b}', '\u{9b}', '\u{0}']));
}

/// Reads the page as XML, which it is after its doctype.
fn parse(page: &str) -> Document<'_> {
    let body = page.strip_prefix("<!DOCTYPE html>").unwrap();
    Document::parse(body).unwrap_or_else(|error| panic!("{error}"))
}

/// The words of a part of the page, with backticks around what is set as code.
fn text(node: Node<'_, '_>) -> String {
    let mut words = String::new();
    let mut after_code = false;
    for part in node.descendants().filter(Node::is_text) {
        let said = part.text().unwrap_or_default();
        let is_code = part.parent().is_some_and(|of| of.has_tag_name("code"));
        match (is_code, after_code) {
            (true, _) => words.extend(["`", said, "`"]),
            // The rest of the same sentence.
            (false, true) => words.push_str(said),
            (false, false) => words.extend([" ", said]),
        }
        after_code = is_code;
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
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
                "id" => assert!(ids.insert(attribute.value()), "{}", attribute.value()),
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
        let rows = table.descendants().filter(|node| node.has_tag_name("tr"));
        let rows: Vec<usize> = rows.map(cells).collect();
        let is_even = rows.windows(2).all(|pair| pair[0] == pair[1]);
        assert!(rows.len() > 1 && is_even, "{rows:?}");
    }
    for figure in named("figure") {
        let mut parts = figure.children();
        assert!(parts.any(|node| node.has_tag_name("figcaption")));
        let mut parts = figure.children();
        let picture = parts.find(|node| node.tag_name().name() == "svg").unwrap();
        assert_eq!(picture.attribute("role"), Some("img"));
    }
}

#[test]
fn a_report_of_any_size_is_well_formed_and_complete() {
    for study in [Synthetic::large(5), Synthetic::large(2)] {
        let page = study.page(Vec::new());
        check(&page);
        let tree = parse(&page);
        let all = text(tree.root_element());
        let tasks = study.spec.tasks.iter().map(|task| task.name.as_str());
        for said in tasks.chain([
            "the loss is no longer a number at step 812",
            "here a variant, not the paper's own",
            "pe-lab compare --study study.toml --out again",
            "beta 2 0.98, clip norm 1, learning rate 0.0015, warmup steps 100",
        ]) {
            assert!(all.contains(said), "{said}");
        }
    }
}

#[test]
fn a_tuned_study_says_what_each_scheme_got() {
    let mut study = Synthetic::large(3);
    let said = study.page(Vec::new());
    check(&said);
    let nobody = "No scheme was tuned: all were trained with the learning rate 0.0015.";
    assert!(said.contains(nobody) && !said.contains("What each scheme got"));
    let mut tune = Tuned::around(&study.spec.recipe, 3, &[1]).unwrap();
    tune.keep_of("reverse", "rotary", &[Some(0.5), None, Some(0.25)]);
    study.spec.tune = Some(tune);
    let said = study.page(Vec::new());
    check(&said);
    let all = text(parse(&said).root_element());
    all.says_all(&[
        "chosen for each task among 3 (0.00075, 0.0015, 0.003)",
        "reverse rotary 0.003 0.5000 \u{2013} 0.2500 0.006 at seed 101: \u{2013} 0.003 at seed 102: \u{2013} 0.00075 at seed 102: \u{2013}",
    ]);
    assert!(!all.contains(nobody));
}

#[test]
fn the_verdict_comes_first() {
    let study = Synthetic::large(5);
    let page = study.page(Vec::new());
    let tree = parse(&page);
    let mut nodes = tree.descendants();
    let main = nodes.find(|node| node.has_tag_name("main")).unwrap();
    let first = main.children().find(Node::is_element).unwrap();
    let verdict = study.judged().verdict;
    assert!(text(first).contains(verdict[0].as_str()), "{}", text(first));
}

#[test]
fn hostile_names_are_shown_as_text() {
    let hostile = "<script>alert(1)</script>&\"'";
    let study = Synthetic::new(&[hostile, "a b"], &["\"><b>", "none"], 2)
        .score(hostile, "\"><b>", 1, &[(10, 0.9), (40, 0.5)])
        .score(hostile, "none", 1, &[(10, 0.3), (40, 0.2)])
        .fail(hostile, "none", 2, "</td><script src='x'>");
    let page = study.page(Vec::new());
    check(&page);
    let tree = parse(&page);
    let count = |name: &str| {
        tree.descendants()
            .filter(|node| node.has_tag_name(name))
            .count()
    };
    assert_eq!([count("script"), count("b")], [1, 0], "ours alone");
    assert!(text(tree.root_element()).contains(hostile));
}

#[test]
fn a_study_without_results_has_a_page() {
    let empty = Synthetic::new(&["reverse", "mine"], &["none", "a"], 2);
    let failed = empty.clone().fail("mine", "a", 1, "diverged");
    let nothing = "No trial has a score, so nothing can be said.";
    for study in [empty, failed] {
        let page = study.page(Vec::new());
        check(&page);
        // What is known about a task is still said.
        page.says_all(&[nothing, "tested at 10, 20 inside"]);
        let summary = study.judged();
        assert_eq!(summary.verdict, [nothing]);
        assert_eq!((summary.trials, summary.finished), (8, 0));
        assert_eq!(brief::render(&summary, 24), format!("{nothing}\n"));
    }
}

#[test]
fn figures_with_the_same_ids_do_not_collide() {
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\">\
                   <linearGradient id=\"g\"/><rect fill=\"url(#g)\"/></svg>";
    let figure = |name: &str| Figure {
        name: name.into(),
        caption: format!("Cosine of {name}."),
        svg: svg.into(),
    };
    let study = Synthetic::new(&["mine"], &["a"], 1).score("mine", "a", 1, &[(10, 0.9)]);
    let page = study.page(vec![figure("x"), figure("y")]);
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
