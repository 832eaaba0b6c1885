//! The tables of docs/statistics-tables.md: run them with `--ignored --nocapture`.

use super::*;

const SEED_COUNTS: [usize; 4] = [3, 5, 8, 12];

fn row(first: &str, numbers: impl IntoIterator<Item = f64>) {
    let numbers: Vec<String> = numbers.into_iter().map(|n| format!("{n:.1}")).collect();
    println!("| {first} | {} |", numbers.join(" | "));
}

fn studies() -> usize {
    std::env::var("STUDIES").map_or(1_000, |count| count.parse().unwrap())
}

#[test]
#[ignore = "a table of docs/statistics-tables.md"]
fn table_of_false_differences() {
    println!("\nFalse differences of eight schemes: 1, 3 and 8 tasks; 3, 5, 8 and 12 seeds each\n");
    for noise in &NOISES {
        let of = |tasks, seeds| false_differences(noise, tasks, 8, seeds, studies());
        let cells = [1, 3, 8].map(|tasks| SEED_COUNTS.map(|seeds| of(tasks, seeds)));
        row(noise.name, cells.concat());
    }
    println!("\nFalse differences on one task: 2 and 3 schemes; 3, 5, 8 and 12 seeds each\n");
    for noise in &NOISES {
        let of = |schemes, seeds| false_differences(noise, 1, schemes, seeds, studies());
        let cells = [2, 3].map(|schemes| SEED_COUNTS.map(|seeds| of(schemes, seeds)));
        row(noise.name, cells.concat());
    }
}

#[test]
#[ignore = "a table of docs/statistics-tables.md"]
fn table_of_few_seeds_against_many() {
    println!("\nFalse differences of two schemes on one task: 3 and 12, 5 and 12, 3 and 5 seeds\n");
    for noise in &NOISES {
        let of = |a, b| {
            let mut design = Design::new(noise, 1, &EQUAL[..2], a);
            design.schemes[1].1 = b;
            design.judged("few against many", studies())
        };
        // Either scheme may be the one with few.
        let cells = [(3, 12), (5, 12), (3, 5)].map(|(few, many)| {
            let both = [of(few, many), of(many, few)].map(|of| of.percent(What::Either));
            both[0].max(both[1])
        });
        row(noise.name, cells);
    }
}

#[test]
#[ignore = "a table of docs/statistics-tables.md"]
fn table_of_levels_intervals_and_power() {
    for tasks in [1, 8] {
        println!("\n{tasks} tasks: false level, cover of pairs, best, proven, found level\n");
        for noise in &NOISES {
            for seeds in SEED_COUNTS {
                let of = |truth| Design::new(noise, tasks, truth, seeds);
                let apart = of(&APART).judged("margin", studies());
                let cover = of(&EQUAL).cover("null", studies());
                let ahead = of(&AHEAD).judged("power", studies());
                let equal = of(&EQUAL).judged("null", studies());
                let cells = [
                    apart.percent(What::Level),
                    cover.percent(What::Cover),
                    ahead.percent(What::Best),
                    ahead.percent(What::Proven),
                    equal.percent(What::FoundLevel),
                ];
                row(&format!("{} | {seeds}", noise.name), cells);
            }
        }
    }
}

#[test]
#[ignore = "a table of docs/statistics-tables.md"]
fn table_of_looks() {
    for tasks in [1, 8] {
        println!("\nUntil decided, {tasks} tasks: false, seeds if equal, best, seeds if ahead\n");
        for noise in &NOISES {
            let of = |truth| Design::new(noise, tasks, truth, 12).until_decided("until", studies());
            let (equal, top, ahead) = (of(&EQUAL), of(&TOP), of(&AHEAD));
            let cells = [
                equal.percent(What::Either).max(top.percent(What::Either)),
                equal.mean(What::Seeds),
                ahead.percent(What::Best),
                ahead.mean(What::Seeds),
            ];
            row(noise.name, cells);
        }
    }
    println!("\nLooking after every seed from 3 to 12: 1 and 8 tasks; 2 and 8 schemes each\n");
    for noise in &NOISES {
        let of = |tasks, schemes| {
            let peeked = |truth: &[f64]| {
                let design = Design::new(noise, tasks, &truth[..schemes], 12);
                design.looked_at(3..=12, studies()).percent(What::Either)
            };
            peeked(&EQUAL).max(peeked(&TOP))
        };
        row(noise.name, [of(1, 2), of(1, 8), of(8, 2), of(8, 8)]);
    }
    println!("\nA rare failure that is called level: 3, 5, 8 and 12 seeds, and until decided\n");
    let unseen = |seeds| Design::new(&UNSEEN, 1, &[0.9, 0.84], seeds);
    let once = SEED_COUNTS.map(|seeds| unseen(seeds).judged("unseen", studies()));
    let until = unseen(12).until_decided("unseen", studies());
    row(
        "level",
        once.iter()
            .chain([&until])
            .map(|of| of.percent(What::Level)),
    );
}

#[test]
#[ignore = "a table of docs/statistics-tables.md"]
fn table_of_intervals() {
    println!(
        "\nCover of single schemes: 3, 5, 8 and 12 seeds each; 1 task and 1, 3 and 8 schemes, 8 tasks and 8 schemes\n"
    );
    for law in &LAWS {
        let of = |tasks, schemes, seeds| {
            let of = own_cover(law, tasks, schemes, seeds, studies());
            of.percent(What::Cover)
        };
        let cells = [(1, 1), (1, 3), (1, 8), (8, 8)]
            .map(|(tasks, schemes)| SEED_COUNTS.map(|seeds| of(tasks, schemes, seeds)));
        row(law.name, cells.concat());
    }
}

#[test]
#[ignore = "a table of docs/statistics-tables.md"]
fn table_of_intervals_of_differences() {
    println!(
        "\nCover of pairs, with bounds and by Student's t alone: 3, 5, 8 and 12 seeds each; 1 task and 2, 3 and 8 schemes, 8 tasks and 8 schemes\n"
    );
    for names in UNLIKE {
        let cells = [(1, 2), (1, 3), (1, 8), (8, 8)].map(|(tasks, schemes)| {
            SEED_COUNTS.map(|seeds| pairs_cover(names.map(law), tasks, schemes, seeds, studies()))
        });
        row(&names.join(", "), cells.concat().concat());
    }
}

#[test]
#[ignore = "a table of docs/statistics-tables.md"]
fn table_of_clear_differences() {
    println!(
        "\nProven, of a scheme that is 0.5 below: 3, 5 and 8 seeds each; 1 and 3 tasks, 2, 3 and 8 schemes\n"
    );
    for noise in &NOISES {
        let of = |tasks, schemes: usize, seeds| {
            let mut truth = [0.85; 8];
            truth[0] = 0.35;
            let design = Design::new(noise, tasks, &truth[..schemes], seeds);
            design.judged("clear", studies()).percent(What::Proven)
        };
        let cells = [(1, 2), (1, 3), (1, 8), (3, 2), (3, 3), (3, 8)]
            .map(|(tasks, schemes)| [3, 5, 8].map(|seeds| of(tasks, schemes, seeds)));
        row(noise.name, cells.concat());
    }
}

#[test]
#[ignore = "a table of docs/statistics-tables.md"]
fn table_of_rows() {
    println!(
        "\nCover of the 95 % interval over seeds and rows: 50 and 400 rows; 25 rows twenty times each, drawn together and alone\n"
    );
    for seeds in [3, 5, 12] {
        let of = |rows, copies| rows_cover(seeds, rows, copies, studies()).percent(What::Cover);
        let all = [
            (50, (1, true)),
            (400, (1, true)),
            (25, (20, true)),
            (25, (20, false)),
        ];
        row(
            &seeds.to_string(),
            all.map(|(rows, copies)| of(rows, copies)),
        );
    }
}
