//! `pe-lab` with a scheme, a task and a network of one's own.

mod burn_network;
mod cyclic;
mod same_residue;

use std::process::ExitCode;

use pe_lab::Lab;

#[global_allocator]
static ALLOCATOR: pe_lab::MiMalloc = pe_lab::MiMalloc;

fn main() -> ExitCode {
    Lab::built_in()
        .scheme("cyclic", "a trained score for each distance modulo a period", |sizes| {
            Ok(cyclic::CyclicConfig::new(sizes.heads))
        })
        .task(same_residue::SameResidue)
        .network::<burn_network::BurnNetwork>("burn", "the TransformerEncoder of burn::nn")
        .main()
}
