//! What the laboratory does with schemes, tasks and networks of another crate.

use std::fs;
use std::process::Stdio;

use burn::tensor::Device;
use libtest_mimic::Trial;
use pe_lab::ask::{ModelSpec, Scheme, Tasks};
use pe_lab::learn::TensorBatch;
use pe_lab::serve::Site;

use super::common::{
    SMALL, Says, failed, json, kill, results as numbers, rows, wait_until, well, words,
};
use super::programs::{good, lab, ran, small};

/// Every test.
pub fn all() -> Vec<Trial> {
    vec![
        named(a_scheme_is_compared_reported_and_listed),
        named(settings_are_checked_as_those_of_built_in_schemes),
        named(a_killed_study_goes_on),
        named(parts_merge),
        named(the_page_shows_it_and_predict_uses_it),
        named(a_scheme_that_fails_is_named_and_the_study_goes_on),
        named(positions_follow_from_tokens),
        named(rates_steps_and_costs_are_measured),
        named(a_decoder_has_gates_and_wider_queries),
        named(a_network_takes_the_place_of_the_encoder),
        named(another_program_does_not_know_its_names),
    ]
}

/// A test with the name of its function.
fn named<T: Fn() + Send + 'static>(test: T) -> Trial {
    let path = std::any::type_name::<T>();
    let name = path.rsplit("::").next().unwrap_or(path);
    Trial::test(name, move || {
        test();
        Ok(())
    })
}

fn a_scheme_is_compared_reported_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let study = "schemes = [\"none\", \"slope( most=7, alpha = 0.25)\", \"flip\"]\ntasks = [\"copy\", \"reverse\"]\n\
                 seeds = 1\nsteps = 3\n";
    fs::write(at.join("mine.toml"), study).unwrap();
    let (stdout, _) = small(at, "compare --study mine.toml --out s");
    stdout.says("slope(alpha=0.25,most=7)");
    let page = fs::read_to_string(at.join("s/report.html")).unwrap();
    page.says("scores fall with distance by trained slopes; with alpha 0.25, most 7");

    // The configuration is in the result, and so is the code: ours, and this program.
    let result = json(&at.join("s/trials/copy-slope(alpha=0.25,most=7)-1/result.json"));
    let encoding = serde_json::json!({"heads": 2, "alpha": 0.25, "most": 7});
    assert_eq!(result["spec"]["scheme"]["encoding"], encoding);
    let code = result["code"].as_str().unwrap();
    let program =
        pe_lab::data::digest_of(fs::File::open(std::env::current_exe().unwrap()).unwrap()).unwrap();
    assert_eq!(code, format!("{}-{}", pe_lab::ask::CODE, &program[..16]));
    let winner = json(&at.join("s/winner.json"));
    assert!(winner["scheme"]["encoding"].is_object(), "{winner}");

    // `all` stands for it, and the list has it.
    let (listed, _) = good(at, "schemes");
    listed.says("slope                  scores fall with distance");
    let (_, said) = good(at, "compare --schemes all --tasks copy --dry-run --out t");
    said.says_all(&["rotary", "slope, flip, abacus, "]);
}

fn settings_are_checked_as_those_of_built_in_schemes() {
    let folder = tempfile::tempdir().unwrap();
    for [name, said] in rows(
        "
        slope(alpa=1)       | the scheme slope has no setting `alpa` (did you mean `alpha`?); it has: alpha, most
        slope(heads=2)      | no setting `heads`
        slope(most=1.5)     | `most` of the scheme slope is 1.5; it must be a whole number
        slope(most=-1)      | `most` of the scheme slope is -1; it must be what its type allows
        slope(alpha=x)      | `alpha` of the scheme slope is x; it must be a number
        slope(alpha=-1)     | alpha is -1; it must be at least 0
        flip(nope_every=9)  | `nope_every` is 9, and the model has 2 layers
        abacus(nope_every=2) | no setting `nope_every`
        slop                | did you mean `slope`?
        broken(way=0)       | the scheme broken(way=0): its init panicked: there is no way 0
        ",
    ) {
        let schemes = format!("none,{name}");
        let line = format!("compare --schemes {schemes} --tasks copy");
        failed(ran(folder.path(), &line), 2).says(said);
    }
}

fn study(more: &str) -> String {
    format!("compare --schemes slope,abacus --tasks copy --seeds 2 --jobs 1 {SMALL} {more}")
}

fn a_killed_study_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    good(at, &study("--steps 20 --out whole"));
    let line = study("--steps 20 --out killed");
    let mut study = lab();
    study.args(words(&line)).current_dir(at);
    study.stdout(Stdio::null()).stderr(Stdio::null());
    let study = study.spawn().unwrap();
    let first = at.join("killed/trials/copy-slope-1/result.json");
    wait_until(|| first.exists(), "no result");
    kill(study);
    assert!(!at.join("killed/report.html").exists());
    let (_, said) = good(at, &line);
    said.says("of the trials were there already");
    assert_eq!(numbers(&at.join("killed")), numbers(&at.join("whole")));
}

fn parts_merge() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    good(at, &study("--steps 3 --out whole"));
    for part in ["0", "1"] {
        let more = format!("--steps 3 --shard {part}/2 --out {part}");
        good(at, &study(&more));
    }
    good(at, "merge 0 1 --out merged");
    assert_eq!(numbers(&at.join("merged")), numbers(&at.join("whole")));
    assert_eq!(numbers(&at.join("merged")).len(), 4);
}

fn the_page_shows_it_and_predict_uses_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let row = |nth: usize| {
        let label = ["a", "b", "b"][nth % 3];
        format!("{} {} {},{label}\n", nth % 3, nth % 5, nth % 7)
    };
    let rows: String = (0..300).map(row).collect();
    fs::write(at.join("rows.csv"), format!("text,label\n{rows}")).unwrap();
    let study = "compare --data rows.csv --schemes slope --seeds 1 --steps 30 --out s";
    small(at, study);
    assert_eq!(json(&at.join("s/winner.json"))["scheme"]["name"], "slope");
    let (table, _) = good(at, "predict rows.csv --study s");
    assert_eq!(table.lines().count(), 301, "{table}");

    super::served::serving(Some(&at.join("s")), |port| {
        let answer = super::served::get(port, "/api/study");
        assert_eq!(answer.status, 200);
        assert!(answer.text().contains("slope"), "{}", answer.text());
    });
    let _: Option<Site> = None;
}

fn a_scheme_that_fails_is_named_and_the_study_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let schemes = "none,broken,broken(way=2),broken(way=3),broken(way=4)";
    let line =
        format!("compare --schemes {schemes} --tasks copy --seeds 1 --steps 3 --out s {SMALL}");
    let (code, stdout, stderr) = ran(folder.path(), &line);
    assert_eq!(code, 1, "{stderr}");
    let said = stdout + &stderr;
    for [trial, reason] in rows(
        "
        copy-broken-1        | a mistake in the formula
        copy-broken(way=2)-1 | diverged: the loss on held-out sequences is NaN before the first step
        copy-broken(way=3)-1 | the shape of embeddings with the scheme broken(way=3)
        copy-broken(way=4)-1 | the device of embeddings with the scheme broken(way=4)
        ",
    ) {
        said.says_all(&[trial, reason]);
    }
    let whole = folder.path().join("s/trials/copy-none-1/result.json");
    assert!(whole.exists());
    assert!(folder.path().join("s/report.html").exists());
}

fn positions_follow_from_tokens() {
    let task = Tasks::default().get("copy").unwrap();
    let sizes = ModelSpec::default();
    let scheme = Scheme::by_name("abacus(digits=1)", &sizes, 12).unwrap();
    // Symbol 0 is the only digit. The marks around the sequence are 2 and 3.
    let samples = task.test_set(10);
    let device = Device::flex();
    let places = |mut source: pe_lab::ask::PositionSource<'_>| {
        let batch = TensorBatch::new(&samples[..3], task.readout(), &device);
        let batch = batch.at(&samples[..3], &mut source).unwrap();
        batch.positions.to_rows(12).unwrap()
    };
    let expected = |tokens: &[usize], first: usize| {
        let mut places = Vec::new();
        for (nth, token) in tokens.iter().enumerate() {
            let before = tokens[..nth].iter().rev();
            let before = before.take_while(|token| **token == 0).count();
            places.push(if *token == 0 { first + before } else { 0 });
        }
        places
    };
    let tested = places(scheme.first_for_test(10));
    let inputs = samples[..3].iter().map(|sample| sample.input.tokens());
    let by_hand: Vec<Vec<usize>> = inputs.clone().map(|tokens| expected(tokens, 1)).collect();
    assert_eq!(tested, by_hand);
    // In training each sequence begins at a place of its own, the same at the same step.
    let trained = places(scheme.for_training(1, 7));
    assert_eq!(trained, places(scheme.for_training(1, 7)));
    let begins = |row: &Vec<usize>| *row.iter().filter(|place| **place > 0).min().unwrap();
    let firsts: Vec<usize> = trained.iter().map(begins).collect();
    for ((row, tokens), first) in trained.iter().zip(inputs).zip(&firsts) {
        assert_eq!(row, &expected(tokens, *first));
    }
    assert!(firsts.iter().any(|first| *first != 1), "{firsts:?}");
}

fn rates_steps_and_costs_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let study = "compare --schemes slope,flip,abacus --tasks copy --seeds 1 --out s";
    small(at, &format!("{study} --steps auto:4..8 --tune 2"));
    assert_eq!(numbers(&at.join("s")).len(), 3);
    good(at, "costs s");
    let costs = fs::read_to_string(at.join("s/report.html")).unwrap();
    costs.says("per step");
}

fn a_decoder_has_gates_and_wider_queries() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let letter = |nth: u32| char::from(b'a' + (nth * nth % 23 % 5) as u8);
    let text: String = (0..3_000).map(letter).collect();
    fs::write(at.join("t.txt"), text).unwrap();
    let study = "compare --data t.txt --schemes own_fox,flip --seeds 1 --steps 3 --out s";
    small(at, &format!("{study} --train-length 8"));
    good(at, "costs s");
    assert_eq!(numbers(&at.join("s")).len(), 2);
    // A decoder continues from a cache.
    let costs = fs::read_to_string(at.join("s/costs.json")).unwrap();
    costs.says("decode_ms");
    // Gates look back, so a task that looks both ways has no use for them.
    let study = "compare --schemes own_fox --tasks copy --out t";
    failed(ran(at, study), 2).says("the scheme own_fox: a forget gate looks back only");
    // With the answer written, it is a decoder's too.
    let (stdout, _) = small(at, &format!("{study} --causal --seeds 1, --steps 3"));
    stdout.says("exact match");
    let trial = json(&at.join("t/trials/copy(causal)-own_fox-1/result.json"));
    let scores = &trial["outcome"]["finished"]["scores"];
    assert!(scores[0]["exact_match"].is_number(), "{trial}");
}

fn a_network_takes_the_place_of_the_encoder() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let study = format!("compare --network mean --tasks copy --seeds 1 --steps 3 --out s {SMALL}");
    let of = |schemes: &str| ran(at, &format!("{study} --schemes {schemes}"));
    failed(of("none,slope"), 2)
        .says("the network mean does not take the scheme slope: it has no attention");
    well(of("none,learned,abacus"));
    let result = json(&at.join("s/trials/copy-learned-1/result.json"));
    assert_eq!(result["spec"]["model"]["network"], "mean");
    // The weight of the network, and an embedding, a table and a readout.
    let parameters = &result["outcome"]["finished"]["parameters"];
    assert_eq!(*parameters, 16 * 16 + 4 * 16 + 42 * 16 + (16 * 2 + 2));
    failed(ran(at, "compare --network meen --dry-run --out t"), 2)
        .says("there is no network `meen` (did you mean `mean`?); the networks are: encoder, mean");
}

fn another_program_does_not_know_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for [task, scheme, unknown] in rows(
        "
        copy    | none  | no task `copy`
        reverse | slope | no scheme `slope`
        ",
    ) {
        let study = format!("--tasks {task} --schemes {scheme} --seeds 1 --steps 2");
        small(at, &format!("compare {study} --out {task}"));
        let before = fs::read(at.join(task).join("results.csv")).unwrap();
        let stderr = failed(super::common::run_in(at, &format!("report {task}")), 2);
        stderr.says(unknown);
        assert!(!stderr.contains("delete"), "{stderr}");
        assert_eq!(fs::read(at.join(task).join("results.csv")).unwrap(), before);
    }
}
