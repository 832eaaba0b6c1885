//! The program `pe-lab`. Everything it does is in the library.

#![recursion_limit = "256"]

use std::process::ExitCode;

use clap::Parser;

/// Training allocates and frees large arrays at every step. The system's allocator returns each to the
/// operating system, which takes a third of the time of a step; this one keeps the memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match pe_lab::cli::Cli::parse().run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            pe_lab::console::tell(&format!("error: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}
