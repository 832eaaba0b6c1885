//! `pe-lab inspect`: what positions do in a model from Hugging Face.

use std::path::PathBuf;

use clap::Args;

use super::plot::check_place;
use super::terminal::{print_json, print_line};
use crate::draw::{Format, write};
use crate::error::LabError;
use crate::folder::Entry;
use crate::inspect::{Inspection, picture};

/// The arguments of `pe-lab inspect`.
#[derive(Clone, Debug, Args)]
pub(super) struct InspectArgs {
    /// The model's config.json
    #[arg(value_name = "config.json")]
    config: PathBuf,
    /// A safetensors file with the model's weights
    ///
    /// The names and shapes of its tensors may tell which columns of a head make a pair; only the header of the file is read.
    #[arg(long, value_name = "FILE.safetensors")]
    weights: Option<PathBuf>,
    /// Read the file as one of this model type
    ///
    /// For a model whose own type is not known; what is assumed by that is said.
    #[arg(long, value_name = "MODEL_TYPE")]
    like: Option<String>,
    /// Print everything as JSON, with a probe of each group of layers
    ///
    /// A known query and its rotation at some positions, to compare other code with.
    #[arg(long)]
    json: bool,
    /// Draw the wavelengths against the context (.svg, .png or .pdf)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

pub(super) fn run(args: &InspectArgs) -> Result<u8, LabError> {
    let result = inspect(args);
    if let (true, Err(error)) = (args.json, &result) {
        let error = serde_json::json!({"error": error.to_string()});
        print_json(&error.to_string());
    }
    result
}

fn inspect(args: &InspectArgs) -> Result<u8, LabError> {
    if let Some(file) = &args.plot {
        Format::of(file)?;
        check_place(file)?;
    }
    let (weights, like) = (args.weights.as_deref(), args.like.as_deref());
    let inspection = Inspection::read(&args.config, weights, like)?;
    if args.json {
        let json = serde_json::to_string_pretty(&inspection)
            .map_err(|error| LabError::Usage(error.to_string()))?;
        print_json(&json);
    } else {
        print_line(inspection.to_string().trim_end());
    }
    if let Some(file) = &args.plot {
        write(&picture::svg(&inspection)?, &Entry::named(file))?;
        if !args.json {
            print_line(&format!("\nwrote {}", file.display()));
        }
    }
    Ok(0)
}
