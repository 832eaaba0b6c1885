//! `pe-lab plot`: pictures of the sinusoidal encoding, of rotary positions and of ALiBi.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use pe_burn::{DEFAULT_BASE, Layout};

use super::terminal::print_line;
use crate::draw::{Format, without_title, write};
use crate::error::LabError;
use crate::folder::Entry;
use crate::plot::{Encoding, clocks, curves, distance, frequencies, heatmap, similarity};

/// The arguments of `pe-lab plot`.
#[derive(Clone, Debug, Args)]
pub(super) struct PlotArgs {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Clone, Debug, Subcommand)]
enum Kind {
    /// The whole table: a row for each position, a colour for each value
    Heatmap {
        #[command(flatten)]
        table: Table,
        #[command(flatten)]
        run: Run,
        #[command(flatten)]
        out: Out,
    },
    /// A few columns over the positions, and a few positions over the columns
    Curves {
        #[command(flatten)]
        table: Table,
        #[command(flatten)]
        run: Run,
        /// Columns to draw over the positions, separated by commas
        ///
        /// Without --positions nothing else is drawn. [default: four sines, each slower than the one before]
        #[arg(long, value_delimiter = ',', value_name = "J,K")]
        columns: Option<Vec<usize>>,
        /// Positions to draw over the columns, separated by commas
        ///
        /// Without --columns nothing else is drawn. [default: 0,1,10]
        #[arg(long, value_delimiter = ',', value_name = "P,Q")]
        positions: Option<Vec<usize>>,
        #[command(flatten)]
        out: Out,
    },
    /// The frequency of each pair of columns, for several bases
    Frequencies {
        /// Width of the encoding: the number of columns
        #[arg(long, default_value_t = 512, value_name = "N")]
        d_model: usize,
        /// Bases to compare, separated by commas
        #[arg(
            long,
            value_delimiter = ',',
            default_value = "1000,10000,500000",
            value_name = "B,C",
            allow_negative_numbers = true
        )]
        bases: Vec<f64>,
        #[command(flatten)]
        out: Out,
    },
    /// Pairs of columns as the hands of clocks: a dot on a circle for each position
    Clocks {
        #[command(flatten)]
        table: Table,
        /// How many positions to draw
        #[arg(long, default_value_t = 20, value_name = "N")]
        seq_len: usize,
        /// The first position
        #[arg(long, default_value_t = 0, value_name = "P")]
        start: usize,
        /// Pairs to draw; pair 0 is the fastest [default: six of them]
        #[arg(long, value_delimiter = ',', value_name = "I,J")]
        pairs: Option<Vec<usize>>,
        #[command(flatten)]
        out: Out,
    },
    /// How similar any two positions are: the cosine between their rows
    Similarity {
        #[command(flatten)]
        table: Table,
        #[command(flatten)]
        run: Run,
        #[command(flatten)]
        out: Out,
    },
    /// The score of an equal query and key over their distance, with RoPE, for several bases
    Rotary {
        /// Width of a head
        #[arg(long, default_value_t = 64, value_name = "N")]
        d_head: usize,
        /// Bases to compare, separated by commas
        #[arg(
            long,
            value_delimiter = ',',
            default_value = "500,10000,500000",
            value_name = "B,C",
            allow_negative_numbers = true
        )]
        bases: Vec<f64>,
        /// The largest distance
        #[arg(long, default_value_t = 256, value_name = "N")]
        reach: usize,
        #[command(flatten)]
        out: Out,
    },
    /// What each head of ALiBi adds to a score, over the distance
    Alibi {
        /// The number of heads
        #[arg(long, default_value_t = 8, value_name = "N")]
        heads: usize,
        /// The largest distance
        #[arg(long, default_value_t = 64, value_name = "N")]
        reach: usize,
        #[command(flatten)]
        out: Out,
    },
}

#[derive(Clone, Debug, Args)]
struct Table {
    /// Width of the encoding: the number of columns
    #[arg(long, default_value_t = 512, value_name = "N")]
    d_model: usize,
    /// The base, greater than 1; the wavelengths go from 2π to 2π × base
    #[arg(long, default_value_t = DEFAULT_BASE, value_name = "B", allow_negative_numbers = true)]
    base: f64,
    /// The order of sines and cosines
    #[arg(long, value_enum, default_value_t = LayoutName::Interleaved)]
    layout: LayoutName,
}

#[derive(Clone, Debug, Args)]
struct Run {
    /// How many positions to draw
    #[arg(long, default_value_t = 100, value_name = "N")]
    seq_len: usize,
    /// The first position
    #[arg(long, default_value_t = 0, value_name = "P")]
    start: usize,
}

#[derive(Clone, Debug, Args)]
struct Out {
    /// The file to write: .svg, .png or .pdf [default: pe-lab-KIND.svg]
    ///
    /// A .pdf takes a build with the feature pdf.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Leave out the title, for a paper, where a caption takes its place
    #[arg(long)]
    no_titles: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LayoutName {
    /// sin, cos, sin, cos, …: the paper's
    Interleaved,
    /// all sines, then all cosines
    Halves,
}

impl Table {
    fn encoding(&self, start: usize, seq_len: usize) -> Result<Encoding, LabError> {
        let layout = match self.layout {
            LayoutName::Interleaved => Layout::Interleaved,
            LayoutName::Halves => Layout::Halves,
        };
        Encoding::new(self.d_model, self.base, layout, start, seq_len)
    }
}

impl Kind {
    /// Its name, and where it is written.
    fn of(&self) -> (&'static str, &Out) {
        match self {
            Self::Heatmap { out, .. } => ("heatmap", out),
            Self::Curves { out, .. } => ("curves", out),
            Self::Frequencies { out, .. } => ("frequencies", out),
            Self::Clocks { out, .. } => ("clocks", out),
            Self::Similarity { out, .. } => ("similarity", out),
            Self::Rotary { out, .. } => ("rotary", out),
            Self::Alibi { out, .. } => ("alibi", out),
        }
    }

    fn svg(&self) -> Result<String, LabError> {
        match self {
            Self::Heatmap { table, run, .. } => {
                heatmap::svg(&table.encoding(run.start, run.seq_len)?)
            }
            Self::Curves {
                table,
                run,
                columns,
                positions,
                ..
            } => {
                let encoding = table.encoding(run.start, run.seq_len)?;
                let (columns, positions) = match (columns.clone(), positions.clone()) {
                    (None, None) => (
                        curves::default_columns(&encoding),
                        curves::DEFAULT_POSITIONS.to_vec(),
                    ),
                    (columns, positions) => {
                        (columns.unwrap_or_default(), positions.unwrap_or_default())
                    }
                };
                curves::svg(&encoding, &columns, &positions)
            }
            Self::Frequencies { d_model, bases, .. } => frequencies::svg(*d_model, bases),
            Self::Clocks {
                table,
                seq_len,
                start,
                pairs,
                ..
            } => {
                let encoding = table.encoding(*start, *seq_len)?;
                let pairs = pairs
                    .clone()
                    .unwrap_or_else(|| clocks::default_pairs(&encoding));
                clocks::svg(&encoding, &pairs)
            }
            Self::Similarity { table, run, .. } => {
                similarity::of(&table.encoding(run.start, run.seq_len)?)
            }
            Self::Rotary {
                d_head,
                bases,
                reach,
                ..
            } => distance::rotary(*d_head, bases, *reach),
            Self::Alibi { heads, reach, .. } => distance::alibi(*heads, *reach),
        }
    }
}

/// Draws a picture, and prints the name of its file.
pub(super) fn run(args: &PlotArgs) -> Result<u8, LabError> {
    let (name, out) = args.kind.of();
    let file = match &out.out {
        Some(file) => file.clone(),
        None => PathBuf::from(format!("pe-lab-{name}.svg")),
    };
    // Checked first, so that no work is lost: the name of the file, and whether it can be written there.
    Format::of(&file)?;
    check_place(&file)?;
    let svg = args.kind.svg()?;
    let svg = match out.no_titles {
        true => without_title(&svg),
        false => svg,
    };
    write(&svg, &Entry::named(&file))?;
    print_line(&format!("wrote {}", file.display()));
    Ok(0)
}

/// Refuses a file that cannot be written where it is to be.
pub(super) fn check_place(file: &Path) -> Result<(), LabError> {
    use std::io::{Error, ErrorKind};
    let refused =
        |kind: ErrorKind, reason: String| Err(LabError::file(file)(Error::new(kind, reason)));
    if file.is_dir() {
        let reason = "this is a folder; name a file with --out";
        return refused(ErrorKind::IsADirectory, reason.into());
    }
    match file.parent() {
        Some(folder) if folder != Path::new("") && !folder.is_dir() => refused(
            ErrorKind::NotFound,
            format!("there is no folder {}; make it first", folder.display()),
        ),
        _ => Ok(()),
    }
}
