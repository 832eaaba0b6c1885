//! A paragraph of methods: what was run and how it was judged, with the sources of the statistics.

use super::grid::{latex, markdown};
use super::references::named_in;
use super::tables::about;
use crate::ask::{ACTIVATIONS, ModelSpec, NORMS, Recipe, Schedule, StudySpec, Tuned};
use crate::learn::STILL_FALLING;
use crate::report::comparison::Part;
use crate::report::data::file_title;
use crate::report::number::fixed;
use crate::report::summary::{Summary, TaskSummary};
use crate::report::words::p_text;
use crate::stats::FEWEST_SEEDS;

/// The paragraph. A source stands as `[@key]`.
pub fn paragraph(summary: &Summary) -> String {
    let Some(study) = summary.study() else {
        return String::new();
    };
    let said = [
        compared(summary, study),
        Some(model(&study.model)),
        Some(recipe(&study.recipe)),
        Some(steps(summary)),
        study.tune.as_ref().map(tuned),
        Some(seeds(summary, study)),
        Some(scores(summary)),
        Some(intervals(summary)),
        other_rows(summary),
        Some(numbers(study)),
    ];
    said.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The paragraph as Markdown, its sources in a list below it.
pub fn markdown_of(paragraph: &str) -> String {
    let sources = named_in(paragraph);
    let mut text = markdown(paragraph);
    for source in &sources {
        text = text.replace(
            &format!("\\[@{}\\]", source.key()),
            &format!("({})", source.short()),
        );
    }
    let list = sources
        .iter()
        .map(|of| format!("- {}\n", markdown(&of.in_words())));
    format!("{text}\n\n{}", list.collect::<String>())
}

/// The paragraph as LaTeX. Its sources are those of [`bibliography`].
pub fn latex_of(paragraph: &str) -> String {
    let mut text = latex(paragraph);
    for source in named_in(paragraph) {
        text = text.replace(
            &format!(" [@{}]", source.key()),
            &format!("~\\cite{{{}}}", source.key()),
        );
    }
    format!("{text}\n")
}

/// The sources of the paragraph as BibTeX.
pub fn bibliography(paragraph: &str) -> String {
    let entries = named_in(paragraph).into_iter().map(|of| of.bibtex());
    entries.collect::<Vec<_>>().join("\n")
}

/// All names of a list. A paper names every one.
fn all<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<T> = names.into_iter().collect();
    match &names[..] {
        [] => String::new(),
        [only] => only.as_ref().to_string(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// `one seed`, `5 seeds`.
fn count(n: usize, noun: &str) -> String {
    match n {
        1 => format!("one {noun}"),
        _ => format!("{n} {noun}s"),
    }
}

fn compared(summary: &Summary, study: &StudySpec) -> Option<String> {
    let tasks = summary.tasks.iter().map(task);
    let data = study.data.as_ref().map_or(String::new(), |data| {
        let test = data.test.as_ref().map_or(String::new(), |test| {
            format!(
                ", and {} (SHA-256 {}), on which was tested",
                test.file, test.sha256
            )
        });
        format!(
            " The data are {} (SHA-256 {}){test}.",
            file_title(data),
            data.sha256
        )
    });
    Some(format!(
        "We compared {} of a transformer [@vaswani2017], {}, on {}: {}.{data}",
        count(study.schemes.len(), "positional encoding"),
        all(&study.schemes),
        count(summary.tasks.len(), "task"),
        tasks.collect::<Vec<_>>().join("; ")
    ))
}

/// A task: what it asks, at which lengths it was trained, and on what it was tested.
fn task(task: &TaskSummary) -> String {
    let lengths = |of: &[usize]| all(of.iter().map(usize::to_string));
    let unit = if task.resolutions {
        "patches"
    } else {
        "tokens"
    };
    let trained =
        task.train_lengths
            .as_ref()
            .map_or(String::new(), |of| match of.start() == of.end() {
                true => format!(", trained at {} {unit}", of.start()),
                false => format!(", trained at {} to {} {unit}", of.start(), of.end()),
            });
    let tested = Part::ALL
        .into_iter()
        .filter(|part| task.has(*part))
        .map(|part| {
            let at = part as usize;
            format!(
                "on {} of {} {unit} {}",
                count(task.samples[at], "sequence"),
                lengths(&task.lengths[at]),
                part.in_words(task.resolutions)
            )
        });
    let tested: Vec<String> = tested.collect();
    format!(
        "{}{}{trained} and tested {}",
        task.title,
        about(task),
        all(&tested)
    )
}

fn model(model: &ModelSpec) -> String {
    let ModelSpec {
        network,
        d_model,
        layers,
        heads,
        d_ff,
        norm,
        activation,
        dropout,
    } = model;
    let kind = match *network == ModelSpec::default().network {
        true => format!(
            "a {}-norm transformer {}",
            named(&NORMS, norm),
            match *dropout {
                0.0 => "without dropout".to_string(),
                dropout => format!("with a dropout of {dropout}"),
            }
        ),
        false => format!("the network {network}"),
    };
    format!(
        "The model is {kind} with {}, a width of {d_model}, {} and a feed-forward width of {d_ff} ({}).",
        count(*layers, "layer"),
        count(*heads, "head"),
        named(&ACTIVATIONS, activation)
    )
}

/// The name of a setting.
fn named<T: PartialEq>(all: &[(&'static str, T)], of: &T) -> &'static str {
    all.iter()
        .find(|(_, one)| one == of)
        .map_or("", |(name, _)| name)
}

fn recipe(recipe: &Recipe) -> String {
    let Recipe {
        batch_size,
        learning_rate,
        warmup_steps,
        beta_2,
        clip_norm,
        schedule,
        weight_decay,
    } = recipe;
    let optimizer = match *weight_decay {
        0.0 => "Adam [@kingma2015]".to_string(),
        decay => format!("AdamW [@loshchilov2019], a weight decay of {decay}"),
    };
    let then = match schedule {
        Schedule::Cosine => "falls along half a cosine [@loshchilov2017] to a hundredth of it",
        Schedule::Linear => "falls linearly to a hundredth of it",
        Schedule::Constant => "stays there",
    };
    format!(
        "It was trained with {optimizer}, with a beta2 of {beta_2}, on batches of {}; the learning rate rises linearly over \
         {}, at most half of a training, to {learning_rate} and {then}; the gradient of each parameter is scaled down to a \
         norm of at most {clip_norm}.",
        count(*batch_size, "sequence"),
        count(*warmup_steps, "step")
    )
}

fn steps(summary: &Summary) -> String {
    let falling = fixed(STILL_FALLING * 100.0, 0);
    let of_task = |task: &TaskSummary| match task.auto_from {
        None => format!("{} for {} steps", task.title, task.steps),
        Some(first) => format!(
            "{} until it had converged, for {first} to {} steps",
            task.title, task.steps
        ),
    };
    let how = match summary.tasks.iter().any(|task| task.auto_from.is_some()) {
        false => String::new(),
        true => format!(
            " The number of steps was chosen on a tenth of the training examples, held out: a training whose loss on them \
             still fell by more than {falling} % of its first value over the last quarter was run again from its start with \
             twice the steps, up to the limit; then the model was trained with these steps on all examples."
        ),
    };
    let open: usize = summary
        .tasks
        .iter()
        .flat_map(|task| &task.schemes)
        .map(|of| of.not_converged.len())
        .sum();
    let open = match open {
        0 => String::new(),
        n => format!(
            " Of {}, {n} had not converged by the rule that the held-out loss falls by at most {falling} % of its first value over \
             the last quarter.",
            count(summary.finished, "training")
        ),
    };
    let tasks = summary.tasks.iter().map(of_task);
    format!("It was trained on {}.{how}{open}", all(tasks))
}

fn tuned(tune: &Tuned) -> String {
    let rates = tune.rates.iter().map(|rate| rate.to_string());
    format!(
        "The learning rate of every encoding was chosen for each task among {} ({}), by the loss on held-out training examples at \
         seed {}, which is not reported.",
        tune.rates.len(),
        all(rates),
        tune.seed
    )
}

fn seeds(summary: &Summary, study: &StudySpec) -> String {
    let seeds = summary.seeds.iter().map(u64::to_string);
    let mut text = format!(
        "Every encoding was trained on every task with {} ({}), with the same data and the same initial values of the shared \
         weights at a seed.",
        count(summary.seeds.len(), "seed"),
        all(seeds)
    );
    if let Some(looks) = &summary.looks {
        let looks = looks.iter().map(usize::to_string);
        text.push_str(&format!(
            " The study was to stop as soon as it was decided, with looks planned at {} seeds, each with an equal share of the \
             errors.",
            all(looks)
        ));
    }
    if !study.grown.is_empty() {
        text.push_str(" The study was added to after it had begun; the errors are those of a study that is looked at once.");
    }
    let failed: usize = summary.schemes.iter().map(|of| of.failed).sum();
    let lost = summary.trials - summary.finished - failed;
    if failed > 0 {
        text.push_str(&format!(
            " Of {}, {failed} failed; a failed one scores the floor, or the lowest score of any encoding on the task if that is below it.",
            count(summary.trials, "training")
        ));
    }
    if lost > 0 {
        text.push_str(&format!(
            " Of {}, {lost} have no result and are left out.",
            count(summary.trials, "training")
        ));
    }
    text
}

fn scores(summary: &Summary) -> String {
    let losses = summary.tasks.iter().any(|task| !task.measure.is_accuracy());
    let shares = summary.tasks.iter().any(|task| task.measure.is_accuracy());
    let mut how = Vec::new();
    if shares {
        how.push("of an accuracy (accuracy - floor) / (1 - floor)");
    }
    if losses {
        how.push("of a loss 1 - loss / floor");
    }
    let over = match summary.tasks.len() {
        1 => "",
        _ => ", averaged over tasks",
    };
    format!(
        "Scores are normalized by a floor that takes no skill{over}: {}.",
        how.join(", ")
    )
}

fn intervals(summary: &Summary) -> String {
    let errors = summary.errors;
    let mut text = format!(
        "Intervals are over seeds at 95 %. That of a single encoding stays between the scores that are possible: it is Wilson's \
         [@wilson1927] with the dispersion of the runs [@wedderburn1974] and Student's t. Two encodings are compared by Welch's test [@welch1947] with Satterthwaite's degrees of \
         freedom [@satterthwaite1946], on the means of seeds, stratified over task and seed, and both again with variances pooled \
         over all encodings: the largest p and the widest interval count. Fewer than {FEWEST_SEEDS} seeds prove nothing."
    );
    if errors.headline > 0.0 {
        text.push_str(&format!(
            " The encoding with the highest mean is called best if its p against every other one is below {}, without a correction \
             [@gutmann1987] [@hung2019]; a pair is called proven if its p after Holm's correction [@holm1979] for all pairs is below \
             {}, and level if two one-sided tests [@schuirmann1987] say so, after the same correction, for a margin of {} at {}.",
            p_text(errors.headline),
            p_text(errors.pairs),
            fixed(summary.margin, 2),
            p_text(errors.level)
        ));
    }
    text
}

fn other_rows(summary: &Summary) -> Option<String> {
    let has = summary
        .comparisons
        .iter()
        .any(|pair| pair.other_rows.is_some());
    has.then(|| {
        "Whether other test rows would say the same is told by an interval over seeds and rows [@owen2007]; all seeds are tested \
         on the same rows."
            .to_string()
    })
}

fn numbers(study: &StudySpec) -> String {
    format!(
        "The numbers were computed by pe-lab {} with Burn {} on the device {}.",
        study.versions.pe_lab, study.versions.burn, study.device
    )
}
