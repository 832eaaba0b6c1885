//! What a study can name: schemes, tasks and networks, the built-in ones and a person's own.

use std::fmt::{self, Debug};
use std::sync::{Arc, LazyLock};

use burn::module::Module;
use burn::tensor::Device;
use pe_burn::PositionError;
use pe_encoder::EncoderConfig;
use serde_json::Value;

use super::encoding::{Encoding, SchemeConfig, guarded};
use super::network::Network;
use super::sizes::Sizes;
use crate::erased::Erased;
use crate::error::LabError;
use crate::task::Task;

/// A laboratory: the schemes, tasks and networks that studies can name. [`main`](Self::main) is a program that does with
/// them all that `pe-lab` does.
///
/// ```no_run
/// # use pe_burn::RotaryPositionalEncodingConfig;
/// fn main() -> std::process::ExitCode {
///     pe_lab::Lab::built_in()
///         .scheme("slow_rotary", "RoPE with long wavelengths alone", |sizes| {
///             let config = pe_burn::PositionalConfig::Rotary(
///                 RotaryPositionalEncodingConfig::new(sizes.d_head()).with_base(1e6),
///             );
///             Ok(config)
///         })
///         .main()
/// }
/// ```
///
/// The built-in ones are added by the same calls: see [`built_in`](Self::built_in).
#[derive(Debug, Default)]
pub struct Lab {
    pub(super) schemes: Vec<SchemeEntry>,
    pub(super) tasks: Vec<TaskEntry>,
    pub(super) networks: Vec<NetworkEntry>,
    /// Whether any scheme, task or network is not built in.
    pub(super) is_extended: bool,
}

/// Where the positions of a scheme come from, unless they
/// [follow from the tokens](SchemeConfig::token_positions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PositionsFrom {
    /// 0, 1, 2, …
    #[default]
    Order,
    /// Drawn at random, sorted, for each sequence (Ruoss et al. 2023).
    Draws,
}

type Make = dyn Fn(&Sizes) -> Result<Encoding, PositionError> + Send + Sync;

/// A scheme that a study can name.
pub struct SchemeEntry {
    pub(super) name: String,
    /// What it does and where it comes from.
    pub(super) about: String,
    /// How it differs in this laboratory from its source.
    pub(super) here: Option<String>,
    pub(super) positions: PositionsFrom,
    make: Box<Make>,
    /// Reads its configuration from data.
    pub(super) read: fn(Value) -> Result<Encoding, LabError>,
}

impl SchemeEntry {
    /// A scheme with a name of small letters, digits and underscores, what it does in a line, and its configuration for a
    /// model of some sizes.
    pub fn new<C: SchemeConfig>(
        name: &str,
        about: &str,
        make: impl Fn(&Sizes) -> Result<C, PositionError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
            here: None,
            positions: PositionsFrom::Order,
            make: Box::new(move |sizes| make(sizes).map(Encoding::new)),
            read: Encoding::read::<C>,
        }
    }

    /// Says how it differs in this laboratory from its source.
    #[must_use]
    pub fn with_here(mut self, here: &str) -> Self {
        self.here = Some(here.into());
        self
    }

    /// Sets where its positions come from.
    #[must_use]
    pub fn with_positions(mut self, positions: PositionsFrom) -> Self {
        self.positions = positions;
        self
    }

    /// Its configuration for these sizes.
    pub(super) fn make(&self, sizes: &Sizes) -> Result<Encoding, LabError> {
        let what = format!("the scheme {}", self.name);
        guarded(&what, || {
            (self.make)(sizes).map_err(|error| LabError::Usage(format!("{what}: {error}")))
        })
    }
}

impl Debug for SchemeEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

type MakeTask = Box<dyn FnOnce() -> Arc<dyn Task> + Send>;

/// A task that a study can name.
pub(super) struct TaskEntry {
    pub name: String,
    /// Whether the word `all` includes it.
    pub in_all: bool,
    pub task: LazyLock<Arc<dyn Task>, MakeTask>,
}

impl Debug for TaskEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

type InitNetwork = fn(&EncoderConfig, &Device) -> Result<Erased<dyn Network>, String>;

/// A network that a study can name.
#[derive(Debug)]
pub(super) struct NetworkEntry {
    pub name: String,
    pub about: String,
    pub init: InitNetwork,
}

impl Lab {
    /// Adds a scheme: its name, what it does in a line, and its configuration for a model of some sizes.
    ///
    /// # Panics
    ///
    /// When the name is taken, or not of small letters, digits and underscores.
    #[must_use]
    pub fn scheme<C: SchemeConfig>(
        self,
        name: &str,
        about: &str,
        make: impl Fn(&Sizes) -> Result<C, PositionError> + Send + Sync + 'static,
    ) -> Self {
        self.scheme_entry(SchemeEntry::new(name, about, make))
    }

    /// Adds a scheme with more details than [`scheme`](Self::scheme) takes, such as where its positions come from.
    ///
    /// # Panics
    ///
    /// As [`scheme`](Self::scheme).
    #[must_use]
    pub fn scheme_entry(mut self, entry: SchemeEntry) -> Self {
        check_name(
            "scheme",
            &entry.name,
            self.schemes.iter().map(|there| &there.name),
        );
        self.schemes.push(entry);
        self.is_extended = true;
        self
    }

    /// Adds a task, which the word `all` includes.
    ///
    /// # Panics
    ///
    /// As [`scheme`](Self::scheme).
    #[must_use]
    pub fn task(self, task: impl Task + 'static) -> Self {
        let name = task.name().to_string();
        self.task_entry(&name, true, Box::new(|| Arc::new(task)))
    }

    /// Adds a task that is in a study only if it is named, and that is made when it is first asked for.
    ///
    /// # Panics
    ///
    /// As [`scheme`](Self::scheme).
    #[must_use]
    pub fn task_apart(
        self,
        name: &str,
        make: impl FnOnce() -> Arc<dyn Task> + Send + 'static,
    ) -> Self {
        self.task_entry(name, false, Box::new(make))
    }

    fn task_entry(mut self, name: &str, in_all: bool, make: MakeTask) -> Self {
        check_name("task", name, self.tasks.iter().map(|there| &there.name));
        self.tasks.push(TaskEntry {
            name: name.into(),
            in_all,
            task: LazyLock::new(make),
        });
        self.is_extended = true;
        self
    }

    /// Adds a network, which takes the place of the encoder in a study with `--network NAME`.
    ///
    /// # Panics
    ///
    /// As [`scheme`](Self::scheme).
    #[must_use]
    pub fn network<N: Network + Module + 'static>(mut self, name: &str, about: &str) -> Self {
        check_name(
            "network",
            name,
            self.networks.iter().map(|there| &there.name),
        );
        self.networks.push(NetworkEntry {
            name: name.into(),
            about: about.into(),
            init: |config, device| {
                Ok(Erased::new(N::init(config, device)?, |network| {
                    let network: Option<&N> = network.downcast_ref();
                    network.expect("a module keeps its type")
                }))
            },
        });
        self.is_extended = true;
        self
    }

    /// Marks everything that was added so far as built in.
    pub(super) fn all_built_in(mut self) -> Self {
        self.is_extended = false;
        self
    }
}

/// Panics unless a name is new and can stand in a list of names and in the name of a file.
fn check_name<'a>(what: &str, name: &str, mut there: impl Iterator<Item = &'a String>) {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    assert!(
        !name.is_empty() && name.chars().all(is_plain) && name != "all",
        "the {what} {name:?} needs a name of small letters, digits and underscores, other than `all`"
    );
    assert!(
        there.all(|other| other != name),
        "there are two {what}s of the name {name}"
    );
}
