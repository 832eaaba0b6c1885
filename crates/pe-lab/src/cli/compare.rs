//! `pe-lab compare`: run a study.

mod about;
mod base;

use std::path::PathBuf;
use std::time::Instant;

use about::About;

use super::costs;
use super::names::Known;
use super::private::keep_as_private_as;
use super::report::{ForPaper, Show, show};
use super::rows::Rows;
use super::signals::stop_of_trials;
use super::sizes::Sizes;
use super::terminal::print_line;
use crate::ask::{
    Names, PRESETS, Plan, Scheme, Seeds, Shard, StepCount, Steps, StudySpec, TrialSpec, Until,
    check_takes_place_of, rates_in_words, task_names, test_scalings,
};
use crate::console::tell;
use crate::device::{self, DEVICES, Kind};
use crate::error::LabError;
use crate::folder::{StudyFolder, is_there, read_sealed};
use crate::grouped::counted;
use crate::report::Report;
use crate::run::{
    Budget, Crew, Estimate, Open, Progress, Study, TrialTimes, check_room, cores, in_words,
};
use crate::stats::Looks;

/// The flags of `compare`.
#[derive(Clone, Debug, clap::Args)]
pub struct CompareArgs {
    /// How much to run
    ///
    /// `quick` (three schemes, three tasks, 3 seeds, at most two minutes on two cores; with --data a first look in two
    /// minutes, as --budget 2m), `standard` (eight schemes, nine tasks, 5 seeds, an hour), `full` (as standard with 12
    /// seeds, which prove smaller differences) or `lm` (language models of characters on a novel: six schemes, 3 seeds, 8
    /// minutes). A preset's steps, training settings and model size hold for its own tasks; with --data or other --tasks the
    /// defaults apply. [default: the study in the folder of --out if there is one, standard with --data, otherwise quick]
    #[arg(long, value_name = "NAME", value_parser = Known::of(PRESETS.map(|(name, _)| name)))]
    preset: Option<String>,
    /// A file that describes the study, in place of a preset
    ///
    /// Every study writes its own as study.toml. The flags below override it.
    #[arg(long, value_name = "FILE", conflicts_with = "preset")]
    study: Option<PathBuf>,
    /// Your own data in place of the tasks (--help lists formats and options)
    ///
    /// A folder of images, or of .txt files, that has a folder for each class, which may stand inside train/ and test/ (or
    /// val/); labelled rows of a table (.csv, .tsv, .data) with a column `label`; labelled JSON lines (.jsonl, .ndjson),
    /// such as {"label": "x", "text": "a b"} or {"label": 1, "tokens": ["a", "b"]}; labelled series (.ts, .arff, of aeon,
    /// sktime and the UCR archive); sequences of DNA or protein (.fasta, .fa, .fna, .faa, .fastq, .fq), the last word of
    /// whose header is the class; a plain text (.txt, .md, .log, or of any name with --tokens characters) whose next
    /// character is to be predicted; or token ids (.npy, .bin). All but the last may be packed by gzip (reviews.csv.gz). A
    /// build with `--features parquet` reads tables of .parquet, .arrow and .feather too.
    #[arg(long, value_name = "PATH", conflicts_with = "tasks")]
    data: Option<PathBuf>,
    /// Tasks to train on, separated by commas (see `pe-lab tasks`)
    ///
    /// Such as "reverse,mqar(tokens=64,pairs=4)"; or `all`.
    #[arg(long, value_delimiter = ',', value_name = "A,B", value_parser = Known::with_all(task_names()), hide_possible_values = true)]
    tasks: Option<Vec<String>>,
    /// Train a decoder, which writes the answer token by token
    ///
    /// It sees to the left alone: it reads a prompt, writes the answer, and is scored by the exact match of whole answers.
    /// With --tasks, those whose answer can be written (see `pe-lab tasks`); with --data, rows with the columns or keys
    /// `prompt` and `answer`, or others named with --text and --label.
    #[arg(long)]
    causal: bool,
    /// Schemes to compare, separated by commas (see `pe-lab schemes`)
    ///
    /// Such as "none,rotary(base=500000)"; or `all`.
    #[arg(long, value_delimiter = ',', value_name = "A,B", value_parser = Known::with_all(Scheme::names()), hide_possible_values = true)]
    schemes: Option<Vec<String>>,
    /// How often to repeat each training: a count, or seeds such as 7,9
    ///
    /// Each has other random numbers. A count of 3 means the seeds 1, 2 and 3; a list of seeds has a comma (`7,9`, or `7,`
    /// for a single one).
    #[arg(long, value_name = "N or LIST")]
    seeds: Option<String>,
    /// Stop as soon as the best scheme is decided
    ///
    /// The results are tested after 3, 5, 8 and 12 seeds (or up to --seeds), and the study ends at the first of these looks
    /// that decides it. All looks together make a false claim no more often than a single one would.
    #[arg(long, value_name = "WHEN", value_parser = ["decided"])]
    until: Option<String>,
    /// Training steps of every task; `auto`: until it has converged
    ///
    /// A training has converged when its loss on held-out training examples no longer falls. `auto` begins with the task's
    /// own number of steps and doubles it, each time from the start of the training, until the training converges or four
    /// times that number is reached; then it trains on all examples with the steps it found. `auto:6000` sets the limit,
    /// `auto:500..6000` also the first number.
    /// [default: each task's own]
    #[arg(long, value_name = "N or auto")]
    steps: Option<StepCount>,
    /// For each scheme and task, choose the learning rate among N
    ///
    /// Before the study, N rates around --lr, each twice the one before, are trained at seed 101 for each scheme and task. If
    /// the lowest or the highest is best, up to two rates beyond it are tried. Then the two best are trained again at seeds
    /// 102 and 103. Rates are compared by the loss on held-out training examples.
    #[arg(long, value_name = "N")]
    tune: Option<usize>,
    /// A time that the study may take, such as 30m
    ///
    /// It chooses the steps first, from a quarter to all of each task's own, and with all of them as many seeds as fit,
    /// from 3 to 12. --seeds or --steps fixes one of the two.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["until", "shard"])]
    budget: Option<Budget>,
    /// After the trials, measure what each scheme costs
    ///
    /// One scheme at a time, in five rounds, of which the first tells how long it takes. As `pe-lab costs` does.
    #[arg(long, conflicts_with_all = ["shard", "dry_run"])]
    costs: bool,
    /// Scalings of RoPE that language models are tested with and not trained with, separated by commas, such as
    /// "yarn(factor=4),ntk(factor=2)"; `none` for none, `all` for the default [default: linear, ntk and yarn with the factor of the longest test, and
    /// dynamic]
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "A,B",
        hide_short_help = true
    )]
    test_scalings: Option<Vec<String>>,
    /// Folder for results; a study in it is continued
    ///
    /// It goes on where it stopped. Schemes, tasks, seeds and steps that the study in the folder does not have are added to
    /// it, and what it has is kept.
    #[arg(long, default_value = StudyFolder::DEFAULT, value_name = "FOLDER")]
    out: PathBuf,
    /// Trials to run at the same time
    ///
    /// [default: one for each processor core, one on a graphics card]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Where to compute (see `pe-lab devices`) [default: flex, the processor]
    ///
    /// BACKEND:CARD chooses a graphics card by a part of its name or by its number.
    #[arg(long, value_name = "NAME", value_parser = Known::of(DEVICES.iter().map(|device| device.name)), hide_possible_values = true)]
    device: Option<String>,
    /// Run one part of the study only, part K of N, counted from 0
    ///
    /// Each part has a folder of its own, and `pe-lab merge` makes one study of them.
    #[arg(long, value_name = "K/N", conflicts_with_all = ["until", "json", "open"])]
    shard: Option<Shard>,
    /// Say what would be run and how long it would take, and stop there
    ///
    /// Nothing is written.
    #[arg(long, conflicts_with_all = ["json", "open"])]
    dry_run: bool,
    #[command(flatten)]
    show: Show,
    #[command(flatten)]
    sizes: Sizes,
    #[command(flatten)]
    rows: Rows,
}

/// If a study of the user's own data takes longer than this, in seconds, a line points to a shorter one.
const LONG: f64 = 300.0;

/// The time of a study with fewer training steps than this in all is not worth measuring.
const SHORT: usize = 1_000;

impl CompareArgs {
    /// The plan of the preset, the file or the folder, with what the flags change.
    fn plan(&self) -> Result<Plan, LabError> {
        let (base, is_preset) = self.base()?;
        let until = self.until.as_ref().map(|_| Until::Decided);
        let seeds = self.seeds.as_deref().map(seeds).transpose()?;
        let scalings = self.test_scalings.clone().map(Names::from);
        let scalings = scalings.map(test_scalings);
        let flags = Plan {
            // A preset's number of seeds is for a study with one look, so `--until` takes its own number.
            seeds: seeds.or(until
                .filter(|_| is_preset)
                .map(|_| Seeds::Count(Looks::most() as u64))),
            until,
            schemes: self.schemes.clone().map(Names::from),
            tasks: self.tasks.clone().map(Names::from),
            causal: self.causal.then_some(true),
            data: self.other_data(&base),
            steps: self.steps.map(Steps::All),
            tune: self.tune,
            device: self.device.clone(),
            test_scalings: scalings.transpose()?,
            ..self.rows.plan()
        };
        let base = match is_preset {
            true => base.for_tasks_of(&flags),
            false => base,
        };
        Ok(self.sizes.apply(base.overridden_by(flags)))
    }

    /// The study that the flags ask for, with everything that a study in the folder already has.
    fn study(&self) -> Result<Study, LabError> {
        let plan = self.plan()?;
        // The steps of a study in the folder stay unless others are asked for.
        let of_file = plan.steps.clone().filter(|_| self.study.is_some());
        let (mut spec, tasks) = StudySpec::of(plan)?;
        let names: Vec<String> = spec.tasks.iter().map(|task| task.name.clone()).collect();
        let steps_asked = |task: &str| {
            self.steps.is_some()
                || of_file
                    .as_ref()
                    .is_some_and(|steps| steps.are_of(task, &names))
        };
        let folder = StudyFolder::at(&self.out);
        if is_there(&folder.spec())? {
            let there: StudySpec = read_sealed(&folder.spec())?;
            let grown = spec.grown_from(&there, steps_asked);
            check_takes_place_of(&there, &grown, &self.out)?;
            grown.check_fits(&tasks)?;
            spec = grown;
        }
        if self.shard.is_some() {
            spec.check_parts()?;
        }
        spec.check_names(&tasks)?;
        Study::new(spec, tasks, &self.out)
    }

    /// The time that the study may take, if any: a first look at own data, the preset `quick`, takes two minutes unless
    /// something else says how much to run.
    fn budget(&self) -> Option<Budget> {
        let is_open = self.seeds.is_none() && self.steps.is_none() && self.until.is_none();
        let is_new = !StudyFolder::at(&self.out).spec().exists();
        let first_look = self.data.is_some()
            && self.preset.as_deref() == Some("quick")
            && self.shard.is_none()
            && is_open;
        let budget = self.budget.or(first_look.then_some(Budget::FIRST_LOOK));
        budget.filter(|_| is_new)
    }

    /// How many of `trials` trials run at the same time, and the reason in words.
    fn jobs(&self, spec: &StudySpec, trials: usize) -> Result<(usize, String), LabError> {
        let cores = cores();
        Ok(match (self.jobs, device::lookup(&spec.device)?.kind) {
            (Some(0), _) => {
                return Err(LabError::Usage("--jobs is 0; it must be at least 1".into()));
            }
            (Some(jobs), _) if jobs > trials => (trials, "there are no more trials".to_string()),
            (Some(jobs), _) => (jobs, "as asked".to_string()),
            (None, Kind::Cpu) if trials < cores => (trials, "there are no more trials".to_string()),
            (None, Kind::Cpu) => (cores.min(trials), format!("one for each of {cores} cores")),
            (None, Kind::Gpu) => (1, "a graphics card runs one at a time".to_string()),
        })
    }

    /// The study with as many seeds and steps as the budget has time for, and what was chosen.
    fn within(
        &self,
        budget: Budget,
        study: Study,
        crew: &Crew<'_>,
    ) -> Result<(Study, String), LabError> {
        let file = self.study.as_deref().map(Plan::read).transpose()?;
        let file = file.unwrap_or_default();
        let has_seeds = self.seeds.is_some() || file.seeds.is_some();
        let has_steps = self.steps.is_some() || file.steps.is_some();
        let open = match (has_seeds, has_steps, file.until) {
            (false, false, None) => Open::Both,
            (false, true, None) => Open::Seeds,
            (true, false, None) => Open::Steps,
            _ => {
                return Err(LabError::Usage(
                    "--budget chooses seeds and steps: give at most one of --seeds and --steps beside it, also in a \
                     file, and no `until`"
                        .into(),
                ));
            }
        };
        let (spec, tasks) = (study.spec(), study.tasks());
        let started = Instant::now();
        let Some(costs) = TrialTimes::measure(&spec.trials(tasks)?, tasks, crew)? else {
            return Err(LabError::Trial(
                "the time of a trial cannot be measured: a short test run failed; run without --budget, with --seeds and --steps, \
                 to see why"
                    .into(),
            ));
        };
        let left = Budget {
            spent: started.elapsed().as_secs_f64(),
            ..budget
        };
        let jobs = |trials| self.jobs(spec, trials).map_or(1, |(jobs, _)| jobs);
        let fitting = left.fit(spec, tasks, &costs, open, jobs)?;
        let line = format!(
            "the budget of {} buys {} and {:.0} % of the steps: {} {}",
            in_words(budget.seconds),
            counted(fitting.spec.seeds.len(), "seed"),
            fitting.share * 100.0,
            match fitting
                .spec
                .tasks
                .iter()
                .any(|task| task.auto_from.is_some())
            {
                false => "about",
                true => "at most about",
            },
            in_words(fitting.seconds)
        );
        Ok((Study::new(fitting.spec, tasks.clone(), &self.out)?, line))
    }

    /// Prints a line to standard error, unless the run is quiet.
    fn say(&self, line: &str) {
        if !self.show.quiet {
            tell(line);
        }
    }

    /// Prints a line: to standard output in a dry run, where it is the answer, and otherwise as [`say`](Self::say).
    fn answer(&self, line: &str) {
        match self.dry_run {
            true => print_line(line),
            false => self.say(line),
        }
    }

    /// Runs the study, and returns the exit code.
    pub fn run(&self) -> Result<u8, LabError> {
        let mut study = self.study()?;
        study.check_is_free()?;
        keep_as_private_as(study.tasks().files())?;
        let program = std::env::current_exe().map_err(LabError::file("pe-lab".as_ref()))?;
        let stop = stop_of_trials()?;
        let crew = |jobs, progress| Crew {
            program: &program,
            jobs,
            progress,
            stop: &stop,
        };
        // The memory is checked before anything is run, also before the short trials that measure the time.
        let (mut waiting, mut tuning) = (study.waiting()?, study.choices()?);
        let first = [&waiting[..], &tuning.next].concat();
        let (at_a_time, _) = self.jobs(study.spec(), first.len())?;
        check_room(&first, study.tasks(), at_a_time)?;
        let budget = self.budget();
        if let Some(budget) = budget {
            let all = study.spec().trials(study.tasks())?.len();
            let (jobs, _) = self.jobs(study.spec(), all)?;
            let (within, line) = self.within(budget, study, &crew(jobs, &Progress::Silent))?;
            study = within;
            (waiting, tuning) = (study.waiting()?, study.choices()?);
            self.answer(&line);
        } else if self.budget.is_some() {
            self.answer(&format!(
                "{} holds a study already, so --budget chooses nothing: it goes on as it is",
                self.out.display()
            ));
        }
        let (spec, tasks) = (study.spec(), study.tasks());
        let trials = spec.trials(tasks)?.len();
        waiting.retain(|trial| self.shard.is_none_or(|shard| shard.has(trial)));
        // Few trials have several cores each.
        let (jobs, why) = self.jobs(spec, waiting.len().max(tuning.next.len()).max(1))?;
        let about = About {
            spec,
            tasks,
            trials,
            waiting: waiting.len(),
            tuning: &tuning,
            shard: self.shard,
        };
        let lines = about.lines(jobs, &why, &self.out)?;
        lines.iter().for_each(|line| self.say(line));
        let all = [&waiting[..], &tuning.next].concat();
        study
            .check_choices(&all)?
            .iter()
            .for_each(|line| tell(line));
        let steps: usize = all.iter().map(|trial| trial.most_steps()).sum();
        // With a budget the time is known already, so it is not measured again.
        if budget.is_none() && (self.dry_run || (steps >= SHORT && !self.show.quiet)) {
            self.estimate(&about, &waiting, &crew(jobs, &Progress::Silent))?;
        }
        let progress = self.show.progress();
        match self.dry_run {
            true => Ok(0),
            false => self.train(study, &crew(jobs, &progress)),
        }
    }

    /// Measures and tells how long the trials take, with those that choose learning rates before them.
    fn estimate(
        &self,
        about: &About<'_>,
        trials: &[TrialSpec],
        crew: &Crew<'_>,
    ) -> Result<(), LabError> {
        let estimate = match Estimate::of(trials, about.tuning, about.tasks, crew) {
            // The study may still run, such as where no temporary folder can be written: only its time stays unknown.
            Err(error @ LabError::File { .. }) if !self.dry_run => {
                self.say(&format!("how long it takes cannot be measured: {error}"));
                return Ok(());
            }
            estimate => estimate?,
        };
        self.answer(&about.estimate(estimate.as_ref()));
        if let (Some(estimate), None, Some(_)) = (estimate, &self.preset, &self.data)
            && estimate.least > LONG
        {
            self.say(
                "a first look at these data takes two minutes: --preset quick; --budget TIME fits a study into any time",
            );
        }
        Ok(())
    }

    /// Trains and tests what is waiting, and shows the results; returns the exit code.
    fn train(&self, mut study: Study, crew: &Crew<'_>) -> Result<u8, LabError> {
        study.tune(crew)?;
        for chosen in study.spec().tune.iter().flat_map(|tune| &tune.chosen) {
            let rate = rates_in_words(&[chosen.rate]);
            let why = match chosen.is_trained() {
                true => "",
                false => ", the lowest, since no rate trained it",
            };
            self.say(&format!(
                "learning rate of {} on {}: {rate}{why}",
                chosen.scheme, chosen.task
            ));
        }
        if let Some(shard) = self.shard {
            return self.run_shard(&study, crew, shard);
        }
        let outcomes = study.run(crew, |so_far| Report::of(&study, so_far).decided())?;
        if outcomes.resumed > 0 {
            self.say(&format!(
                "{} of the trials were there already",
                outcomes.resumed
            ));
        }
        let outcomes = match self.costs {
            false => outcomes,
            true => {
                costs::measure(&study, crew.stop, &self.show)?;
                study.outcomes()?
            }
        };
        let paper = ForPaper::default();
        show(&study, &outcomes, &self.show, paper, study.folder())
    }

    /// Runs a part of the study, and returns the exit code: 1 if one of its trials has no result.
    fn run_shard(&self, study: &Study, crew: &Crew<'_>, shard: Shard) -> Result<u8, LabError> {
        let (finished, failed) = study.run_shard(crew, shard)?;
        for (trial, reason) in &failed {
            tell(&format!("{} has no result: {reason}", trial.id()));
        }
        print_line(&format!(
            "part {shard}: {finished} of {} trials are finished and kept in {}; `pe-lab merge` makes one study \
             of all parts",
            finished + failed.len(),
            self.out.display()
        ));
        Ok(u8::from(!failed.is_empty()))
    }
}

/// `3` means the seeds 1, 2 and 3; with a comma the text lists the seeds themselves.
fn seeds(text: &str) -> Result<Seeds, LabError> {
    let wrong = || {
        LabError::Usage(format!(
            "`{text}` is neither a number of seeds (such as 3) nor a list of them (such as 7,9)"
        ))
    };
    let number = |part: &str| part.trim().parse().map_err(|_| wrong());
    if !text.contains(',') {
        return number(text).map(Seeds::Count);
    }
    let parts = text.trim_end_matches(',').split(',').map(number);
    parts.collect::<Result<_, _>>().map(Seeds::These)
}

#[cfg(test)]
mod tests;
