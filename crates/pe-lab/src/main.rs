//! The program `pe-lab`. Everything it does is in the library.

#![recursion_limit = "256"]

use std::process::ExitCode;

use clap::Parser;

/// Training makes and drops large arrays at every step. The system's allocator hands each back to
/// the kernel, which costs a third of a step; this one keeps them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match pe_lab::cli::Cli::parse().run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
