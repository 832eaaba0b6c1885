//! The program `pe-lab`: the built-in laboratory.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: pe_lab::MiMalloc = pe_lab::MiMalloc;

fn main() -> ExitCode {
    pe_lab::Lab::built_in().main()
}
