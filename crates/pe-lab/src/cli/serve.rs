//! `pe-lab serve`: a web page on this machine.

use std::path::PathBuf;

use super::report::open;
use super::signals::on_stop;
use super::terminal::print_line;
use crate::error::LabError;
use crate::serve::{Server, Site};

/// The flags of `serve`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Args {
    /// The folder of a study to watch, which need not be there yet
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// The port of the page; 0 takes one that is free
    #[arg(long, value_name = "N", default_value_t = 8137)]
    port: u16,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
}

impl Args {
    /// Serves the page until Ctrl-C.
    pub fn run(self) -> Result<u8, LabError> {
        let page = match &self.folder {
            Some(_) => "study",
            None => "",
        };
        let server = Server::bind(self.port, Site::new(self.folder))?;
        let stop = server.stop();
        on_stop(move || stop.now())?;
        let address = server.url() + page;
        print_line(&format!("{address} (Ctrl-C ends it)"));
        if self.open {
            // The program that opens a page may wait for the browser, which waits for the server.
            let address = address.clone();
            std::thread::spawn(move || open(address.as_ref()));
        }
        server.run();
        Ok(0)
    }
}
